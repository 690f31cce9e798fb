#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cross_check.sh — builds for 64-bit Arm with Debian's cross compiler and runs the tests of the CPU
# tiers under qemu-user: a machine without Arm sees that the NEON tiers are right (not how fast
# they are). Installs what it needs (Debian or Ubuntu, as root). About ten minutes on two cores.
# The last line is `N passed, N failed`.
#
#     tools/cross_check.sh [TEST...]
set -eu
cd "$(dirname "$0")/.."
if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null ||
    [ ! -e /usr/lib/aarch64-linux-gnu/libcmocka.so ]; then
    dpkg --add-architecture arm64
    apt-get update -q
    apt-get install -y -q --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
        qemu-user libc6:arm64 libcmocka-dev:arm64 libjpeg62-turbo-dev:arm64 libpng-dev:arm64 \
        libwebp-dev:arm64 libgif-dev:arm64
fi
cmake -S . -B build/aarch64 -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
    -DCMAKE_LIBRARY_ARCHITECTURE=aarch64-linux-gnu -DCMAKE_FIND_ROOT_PATH=/usr -DGLINT_WERROR=ON \
    -DGLINT_CUDA=OFF -DGLINT_SERVE=OFF -DGLINT_STORE=OFF -DGLINT_EDIT=OFF -DGLINT_TIFF=OFF \
    -DGLINT_AVIF=OFF -DGLINT_HEIC=OFF
[ $# -gt 0 ] || set -- test_cpu test_simd_neon test_rows test_half test_codec test_attention \
    test_matmul test_golden_text
cmake --build build/aarch64 --target "$@"
passed=0 failed=0
cd tests
for test in "$@"; do
    if qemu-aarch64 "../build/aarch64/$test" >"../build/aarch64/$test.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -20 "../build/aarch64/$test.log"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
