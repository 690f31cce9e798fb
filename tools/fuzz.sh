#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [SECONDS [NAME...]]: builds the fuzz preset and runs every harness (or those named) for
# SECONDS each, two at a time. New inputs go to build/fuzz/found, failing ones to
# build/fuzz/artifacts. One line for each harness; ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-60}
[ $# -gt 0 ] && shift
mkdir -p build
if ! { cmake --preset fuzz -DGLINT_WERROR="${WERROR:-OFF}" &&
    cmake --build --preset fuzz --target fuzzers; } >build/fuzz.build.log 2>&1 </dev/null; then
    tail -40 build/fuzz.build.log
    echo "0 passed, 1 failed"
    exit 1
fi

run_one() {
    local name=$1 out=build/fuzz/found/$1 bad=build/fuzz/artifacts/$1 log=build/fuzz/$1.log
    local flags=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1)
    mkdir -p "$out" "$bad"
    [ -f "tests/fuzz/$name.dict" ] && flags+=("-dict=tests/fuzz/$name.dict")
    if "build/fuzz/$name" "${flags[@]}" -artifact_prefix="$bad/" "$out" \
        "tests/fuzz/corpus/$name" >"$log" 2>&1 </dev/null; then
        echo "passed $name: $(sed -n 's/stat::number_of_executed_units: *//p' "$log") inputs"
    else
        tail -60 "$log"
        echo "FAILED $name: log in $log, input in $bad/"
    fi
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        names+=("$(basename "$source" .c)")
    done
fi
export -f run_one
export seconds
results=$(printf '%s\n' "${names[@]}" | xargs -P 2 -I{} bash -c 'run_one {}')
echo "$results"
passed=$(grep -c '^passed ' <<<"$results")
failed=$((${#names[@]} - passed)) # a harness that says nothing has failed
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
