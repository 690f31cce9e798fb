#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cuda_check.sh: builds, checks and measures the CUDA backend on a machine with a device, in under
# ten minutes, and prints a short table last. What cannot run counts as failed.
#
#     tools/cuda_check.sh                      everything
#     BUILD=DIR tools/cuda_check.sh            with the programs of a build that was made before
#     PARTS="ops golden" tools/cuda_check.sh   of: ops sanitizer golden speed profile
#     LAYERS=4 tools/cuda_check.sh             measures a smaller model (52: 17.8 GB in WORK)
#
# WORK (default /dev/shm) holds the model that is measured; it is removed in the end.
set -u
cd "$(dirname "$0")/.." || exit 1
parts=${PARTS:-ops sanitizer golden speed} layers=${LAYERS:-52} work=${WORK:-/dev/shm}
depths=${DEPTHS:-512,32768,120000} passed=0 failed=0
model=$work/cuda_check.gguf
table=$(mktemp)
trap 'rm -f "$table" "$model"' EXIT

has() { [[ " $parts " == *" $1 "* ]]; }

# check NAME SECONDS COMMAND...: one item of the count.
check() {
    local name=$1 limit=$2 rc=0 from=$SECONDS
    shift 2
    timeout "$limit" "$@" >"$work/cuda_check.log" 2>&1 || rc=$?
    if [ $rc -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 25 "$work/cuda_check.log"
    fi
    printf '%-34s %s, %d s\n' "$name" "$([ $rc -eq 0 ] && echo passed || echo "FAILED ($rc)")" \
        $((SECONDS - from)) | tee -a "$table"
}

if [ -z "${BUILD:-}" ]; then
    BUILD=build/release
    cmake --preset release -DGLINT_CUDA=ON >/dev/null &&
        cmake --build --preset release -j "$(nproc)" --target glint make_model test_cuda_device \
            test_golden_text test_golden_types test_same_bits test_mini || exit 1
fi
BUILD=$(cd "$BUILD" && pwd)
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
if has speed || has profile; then # the processor writes while the device checks
    "$BUILD/make_model" --real --layers "$layers" -o "$model" &
    maker=$!
fi
has ops && check "ops against the CPU" 120 "$BUILD/test_cuda_device" large
if has golden; then
    cd tests || exit 1
    export GLINT_TEST_DEVICE=cuda
    for test in test_golden_text test_golden_types test_same_bits test_mini; do
        check "$test" 90 "$BUILD/$test"
    done
    unset GLINT_TEST_DEVICE
    cd ..
fi
has sanitizer && check "compute-sanitizer memcheck" 150 compute-sanitizer --error-exitcode 9 \
    --report-api-errors no \
    "$BUILD/test_cuda_device"
if has speed || has profile; then
    wait "$maker" || failed=$((failed + 1))
fi

# bench NAME ARGUMENTS...: its rows go into the table.
bench() {
    local name=$1
    shift
    check "$name" "${LIMIT:-200}" "$BUILD/glint" bench -m "$model" --device cuda "$@"
    grep -E '^(prefill|decode)' "$work/cuda_check.log" | tee -a "$table"
}
if has speed; then
    from=$(date +%s.%N)
    check "from start to first token" 60 "$BUILD/glint" run -m "$model" --device cuda -c 4096 \
        --temp 0 -n 1 --raw -p abc
    echo "first token after $(date +%s.%N | awk -v a="$from" '{ printf "%.1f", $1 - a }') s" |
        tee -a "$table"
    bench "depth" -r 3 -p 512 -n 48 -d "$depths"
    bench "16 streams" -r 3 -p 0 -n 16 -d 2048 -np 16
    bench "32 streams" -r 3 -p 0 -n 16 -d 2048 -np 32
fi
if has profile; then
    ncu --clock-control none --launch-skip 1000 --launch-count "${LAUNCHES:-60}" \
        --metrics gpu__time_duration.sum,dram__bytes_read.sum,launch__registers_per_thread \
        --csv --page raw "$BUILD/glint" bench -m "$model" --device cuda -r 1 -p 0 -n 2 \
        -d 512 2>&1 | grep -E '^"' >"$work/ncu.csv"
    cut -d, -f5,8- "$work/ncu.csv" | head -80
fi
rm -f "$work/cuda_check.log"
echo "---- $(date +%F) ----"
cat "$table"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
