#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [build] [test] [ci]: installs what a build needs and this machine lacks.
# Looks at what works (a compiler that compiles, a header that is found), not at package lists, so
# that tools from elsewhere count. On Debian and Ubuntu it says what it will install and calls apt,
# as root or through sudo; elsewhere it prints the package names. Does nothing when all is there.
set -u
cd "$(dirname "$0")/.." || exit 1

# One row a need: group | what it is | Debian, Ubuntu | Fedora | Arch | macOS (Homebrew)
needs='
build | compiler     | gcc libc6-dev         | gcc glibc-devel     | gcc         | llvm
build | cmake        | cmake                 | cmake               | cmake       | cmake
build | ninja        | ninja-build           | ninja-build         | ninja       | ninja
build | libedit      | libedit-dev         | libedit-devel       | libedit     | libedit
build | png          | libpng-dev            | libpng-devel        | libpng      | libpng
build | jpeg         | libjpeg-dev           | libjpeg-turbo-devel | libjpeg-turbo | jpeg-turbo
build | webp         | libwebp-dev           | libwebp-devel       | libwebp     | webp
build | gif          | libgif-dev            | giflib-devel        | giflib      | giflib
build | microhttpd   | libmicrohttpd-dev     | libmicrohttpd-devel | libmicrohttpd | libmicrohttpd
build | sqlite       | libsqlite3-dev        | sqlite-devel        | sqlite      | sqlite
build | gnutls       | libgnutls28-dev       | gnutls-devel        | gnutls      | gnutls
build | curl         | libcurl4-gnutls-dev   | libcurl-devel       | curl        | curl
test  | cmocka       | libcmocka-dev         | libcmocka-devel     | cmocka      | cmocka
test  | python       | python3               | python3             | python      | python
test  | openssl      | openssl             | openssl             | openssl     | openssl
test  | tmux         | tmux                | tmux                | tmux        | tmux
test  | tiff         | libtiff-dev         | libtiff-devel       | libtiff     | libtiff
test  | avif         | libavif-dev         | libavif-devel       | libavif     | libavif
test  | heif         | libheif-dev         | libheif-devel       | libheif     | libheif
test  | jsonschema   | python3-jsonschema    | python3-jsonschema  | python-jsonschema | python
ci    | fuzzer       | clang @clang-runtime@ | clang compiler-rt   | clang compiler-rt | llvm
ci    | clang-format | @clang-format@        | clang-tools-extra   | clang       | clang-format@14
ci    | chromium     | @chromium@            | chromium-headless   | chromium    | chromium
ci    | node         | nodejs              | nodejs              | nodejs      | node
ci    | npm          | npm                 | nodejs-npm          | npm         | node
ci    | git          | git                   | git                 | git         | git
'

has() {
    case $1 in
        compiler)
            echo 'int main(void) { return 0; }' | cc -std=c11 -x c -o /dev/null - 2>/dev/null ;;
        cmocka)
            printf '#include <%s.h>\n' stdarg stddef setjmp stdint cmocka |
                cc -E -x c - >/dev/null 2>&1 ;;
        libedit)
            echo '#include <histedit.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        png) echo '#include <png.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        jpeg) printf '#include <%s.h>\n' stdio jpeglib | cc -E -x c - >/dev/null 2>&1 ;;
        webp) echo '#include <webp/demux.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        gif) echo '#include <gif_lib.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        # Optional in a build; the tests have pictures for each.
        tiff) echo '#include <tiffio.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        avif) echo '#include <avif/avif.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        heif) echo '#include <libheif/heif.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        microhttpd)
            echo '#include <microhttpd.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        sqlite) echo '#include <sqlite3.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        gnutls) echo '#include <gnutls/crypto.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        curl) echo '#include <curl/curl.h>' | cc -E -x c - >/dev/null 2>&1 ;;
        python) command -v python3 >/dev/null ;;
        jsonschema)
            python3 -c 'import jsonschema' 2>/dev/null ||
                /usr/bin/python3 -c 'import jsonschema' 2>/dev/null || [ "$(uname)" = Darwin ] ;;
        fuzzer)
            echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d[0] == n; }' |
                clang -fsanitize=fuzzer,address,undefined -x c -o /dev/null - 2>/dev/null ;;
        chromium) python3 tests/server/browser.py >/dev/null 2>&1 ;;
        clang-format) tools/check_tree.py --find-clang-format >/dev/null 2>&1 ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# Debian names that carry a version. The runtime has a package of its own in newer releases.
debian_name() {
    local version
    case $1 in
        @clang-runtime@)
            version=$(apt-cache depends clang | grep -o 'clang-[0-9]*$' | head -1)
            version=${version#clang-}
            if apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1; then
                echo "libclang-rt-$version-dev"
            else
                echo "libclang-common-$version-dev"
            fi ;;
        @clang-format@)
            # Version 14 decides the layout. Where it is not packaged the format is not checked.
            apt-cache show clang-format-14 >/dev/null 2>&1 && echo clang-format-14 ;;
        @chromium@) # the smaller one where it is packaged
            if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
                echo chromium-headless-shell
            else
                echo chromium
            fi ;;
        *) echo "$1" ;;
    esac
}

groups=" ${*:-build test ci} "
missing=() debian=() fedora=() arch=() macos=()
while IFS='|' read -r group what d f a m; do
    group=${group// /} what=${what// /}
    [ -n "$what" ] && [[ $groups == *" $group "* ]] || continue
    has "$what" && continue
    missing+=("$what")
    # shellcheck disable=SC2206 # the columns are lists of words
    debian+=($d) fedora+=($f) arch+=($a) macos+=($m)
done <<<"$needs"

[ ${#missing[@]} -eq 0 ] && exit 0
echo "setup: missing here: ${missing[*]}"

if ! command -v apt-get >/dev/null; then
    echo "setup: please install the packages yourself:"
    echo "  Fedora: sudo dnf install ${fedora[*]}"
    echo "  Arch:   sudo pacman -S ${arch[*]}"
    echo "  macOS:  brew install ${macos[*]}"
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: neither root nor sudo; please install as root: apt-get install ${debian[*]}"
        exit 1
    fi
    as_root=(sudo)
fi
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null
}
mkdir -p build
log=build/setup.log

apt update -q >$log 2>&1 ||
    echo "setup: the package lists could not be renewed; using the old ones"
packages=()
for name in "${debian[@]}"; do
    real=$(debian_name "$name")
    [ -n "$real" ] && packages+=("$real")
done
if [ ${#packages[@]} -eq 0 ]; then
    echo "setup: not packaged here: ${missing[*]}; going on without"
    exit 0
fi
echo "setup: installing with apt: ${packages[*]}"
if ! apt install -q -y --no-install-recommends "${packages[@]}" >$log 2>&1; then
    cat $log
    echo "setup: apt could not install: ${packages[*]}"
    exit 1
fi
