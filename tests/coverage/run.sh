#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs what counts branches: the unit tests, the kernels' checker, the recorded answers and the fuzzers on this CPU, in the build folder
# $1; checker and answers on emulated cores, in the arm64 build $2. Counts add up beside the objects. Prints what failed.
cd "$(dirname "$0")/../.." || exit 1
[ $# -eq 2 ] || { echo "usage: run.sh BUILD ARM64_BUILD" >&2; exit 2; }
native=$1 arm64=$2 status=0
find "$native" "$arm64" -name '*.gcda' -exec rm -f {} +
try() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$log" 2>&1; then echo "ok $name"; else echo "FAIL $name"; tail -n 20 "$log" | sed 's/^/    /'; status=1; fi
}
on_this_cpu() {
    log=$native/coverage.log checker=$native/tests/check_kernels/check_kernels
    for source in tests/unit/core/test_*.c tests/unit/kernels/test_*.c tests/unit/network/test_*.c; do
        case $source in *system_calls*) continue ;; esac # its processes may not even write what they took
        try "${source%.c}" "$native/${source%.c}"
    done
    try "kernels here" "$checker" --seed 1 --cases 400
    for kernel in conv depthwise gather; do try "more of $kernel" "$checker" --seed 2 --cases 1500 --random-only --kernel $kernel; done
    if command -v qemu-x86_64 >/dev/null; then
        try "kernels Penryn" qemu-x86_64 -cpu Penryn "$checker" --seed 1 --cases 20 --random-only
        # How features are found, on CPUs that lack one after the other.
        for cpu in phenom Haswell Haswell,-avx2; do
            try "features of $cpu" qemu-x86_64 -cpu $cpu "$checker" --kernel fc --cases 2 --random-only
        done
    else echo "skip kernels Penryn: no qemu-x86_64"; fi
    for fuzzer in open picture rule; do try "fuzz_$fuzzer" "$native/tests/fuzz/fuzz_$fuzzer" --runs 3000 --seed 1; done
    try "answers here" env MORSEL="$native/morsel" CONVERTER="$native/morsel" sh tests/golden/run.sh
    return $status
}
on_emulated_cpus() {
    log=$arm64/coverage.log
    for cpu in cortex-a53 cortex-a76 max; do
        try "kernels $cpu" qemu-aarch64 -cpu $cpu "$arm64/tests/check_kernels/check_kernels" --seed 1 --cases 100
        try "more of conv, $cpu" qemu-aarch64 -cpu $cpu "$arm64/tests/check_kernels/check_kernels" --seed 2 --cases 400 --random-only --kernel conv
        try "answers $cpu" env MORSEL="qemu-aarch64 -cpu $cpu $arm64/morsel" CONVERTER="$native/morsel" sh tests/golden/run.sh
    done
    return $status
}
on_emulated_cpus &
on_this_cpu || status=1
wait $! || status=1
exit $status
