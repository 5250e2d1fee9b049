#!/bin/sh
# SPDX-License-Identifier: MIT
# amalgamation.sh: morsel.c and morsel.h in a folder of their own, compiled by each compiler there is for each machine that can be run,
# also with options that a careless build has. Each answers for every network, kernel set and number of tasks as the library does.
# MORSEL, MAKE_NETWORKS, ANSWERS are the tool and the programs of tests/determinism; CC is one of the compilers.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=build/package/amalgamation
here=$(uname -m)
status=0
fail() { echo "FAIL amalgamation $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }
rm -rf $work && mkdir -p $work || exit 1
export MAKE_NETWORKS="${MAKE_NETWORKS:-build/tests/determinism/make_networks}" MORSEL="${MORSEL:-build/morsel}"
if ! python3 tools/package/amalgamate.py $work/alone || ! sh tests/determinism/networks.sh $work/networks 12 >$work/log 2>&1; then
    fail "is made"
    exit 1
fi
answers() { "$@" --work 3000000 $work/networks/*.morsel; } # small networks: emulators run them, too
answers "${ANSWERS:-build/tests/determinism/answers}" >$work/library.txt 2>$work/log || { fail "beside the library"; exit 1; }

# Kernel sets differ by machine; a network's sum does not.
sums() { awk '!/large/ { print $1, $4 }' "$1" | sort -u; }
sums $work/library.txt >$work/library.sums

warn="-Wall -Wextra -Werror"
try() { # NAME RUNNER COMPILER AND OPTIONS...; as C11, unless these say otherwise
    name=$1 runner=$2
    shift 2
    command -v "$1" >/dev/null || { echo "skip amalgamation $name: no $1"; return; }
    [ -z "$runner" ] || command -v "$runner" >/dev/null || { echo "skip amalgamation $name: no $runner"; return; }
    case " $* " in *" -std="*) ;; *) set -- "$@" -std=c11 ;; esac
    if ! "$@" -I$work/alone -c $work/alone/morsel.c -o $work/morsel.o >$work/log 2>&1 ||
        ! "$@" -D_POSIX_C_SOURCE=200809L -I. -Icore tests/determinism/answers.c tools/network/pool.c $work/morsel.o -static -lpthread \
            -o $work/answers >$work/log 2>&1; then
        fail "$name: it does not build"
        return
    fi
    answers $runner $work/answers >$work/answers.txt 2>$work/log || { fail "$name: it does not run"; return; }
    sums $work/answers.txt >$work/answers.sums
    if ! cmp $work/library.sums $work/answers.sums >$work/log; then fail "$name: other answers than the library's"
    elif [ -z "$runner" ] && [ "${name%plain C}" = "$name" ] && ! cmp $work/library.txt $work/answers.txt >$work/log; then
        fail "$name: other kernels than the library's"
    else echo "ok amalgamation $name, $(grep -vc large $work/answers.txt) runs"; fi
}
# shellcheck disable=SC2086
{
    try "${CC:-cc}" "" "${CC:-cc}" -O1 $warn # -O2: tests/link/only.sh
    try "${CC:-cc}, plain C" "" "${CC:-cc}" -O1 $warn -DMORSEL_PLAIN_C
    try "clang" "" clang -O1 $warn
    # gcc fuses with expensive optimizations alone; the rest of -O2 takes half as long again.
    [ "$here" != x86_64 ] || try "gcc, contraction allowed" "" gcc -O1 -fexpensive-optimizations -march=x86-64-v3 -ffp-contract=fast
    [ "$here" != x86_64 ] || try "i686" env i686-linux-gnu-gcc -O1 -msse2 -mfpmath=sse
    # As gcc is when nobody says anything: GNU's C, where it may fuse, and computes with binary16 where a CPU has it.
    [ "$here" = aarch64 ] || try "aarch64" qemu-aarch64 aarch64-linux-gnu-gcc -std=gnu11 -mcpu=cortex-a76 -O1 -fexpensive-optimizations $warn
    [ "$here" = aarch64 ] || try "aarch64, clang" qemu-aarch64 clang --target=aarch64-linux-gnu -O1 $warn
}
# Compilers that are told of a CPU: what it has, and what the one file adds to it.
for options in "aarch64-linux-gnu-gcc -mcpu=neoverse-n2" "aarch64-linux-gnu-gcc -mcpu=a64fx" "aarch64-linux-gnu-gcc -std=c11 -mcpu=cortex-a53"; do
    command -v "${options%% *}" >/dev/null || { echo "skip amalgamation $options: no compiler"; continue; }
    # shellcheck disable=SC2086
    if $options -O0 $warn -I$work/alone -c $work/alone/morsel.c -o $work/morsel.o >$work/log 2>&1; then echo "ok amalgamation $options"
    else fail "$options"; fi
done
# It leaves nothing behind for what comes after it in a file.
printf '#include "morsel.c"\n#include <stdio.h>\nint main(void) { return puts("%%") < 0; }\n' >$work/behind.c
if "${CC:-cc}" -O0 -I$work/alone $work/behind.c -o $work/behind >$work/log 2>&1 && $work/behind >/dev/null; then echo "ok amalgamation nothing behind it"
else fail "nothing behind it"; fi
# Clang fuses whatever a source says where it is told to: the self-test sees it, in a build where answers differ.
if [ "$here" = x86_64 ] && grep -qw fma /proc/cpuinfo && command -v clang >/dev/null; then
    clang -std=c11 -O1 -DMORSEL_PLAIN_C -march=x86-64-v3 -ffp-contract=fast -I$work/alone -D_POSIX_C_SOURCE=200809L -I. tests/determinism/answers.c tools/network/pool.c \
        $work/alone/morsel.c -lpthread -o $work/answers >$work/log 2>&1 && answers $work/answers >$work/answers.txt 2>$work/log
    if grep -q 'the self-test finds' $work/log; then echo "ok amalgamation fused by clang: $(sed 's/.*: //' $work/log)"; else fail "fused by clang"; fi
else echo "skip amalgamation fused by clang: no clang for x86-64, or no CPU with FMA"; fi
# What no source can undo is an error. Clang names some of these options by no macro.
refuses() { # NAME COMPILER AND OPTIONS...
    name=$1
    shift
    command -v "$1" >/dev/null || { echo "skip amalgamation $name: no $1"; return; }
    "$@" -I$work/alone -E $work/alone/morsel.c >/dev/null 2>$work/log
    if grep -q 'error.*Compile Morsel without' $work/log; then echo "ok amalgamation refuses $name"; else fail "refuses $name"; fi
}
for option in -ffast-math -Ofast -ffinite-math-only; do
    refuses "gcc $option" gcc -O2 $option
    refuses "clang $option" clang -O2 $option
done
refuses "float vectors of MVE by clang" clang --target=arm-none-eabi -mthumb -mcpu=cortex-m55 -mfloat-abi=hard -ffreestanding -isystem tests/link/include
# gcc is told to make none.
if command -v arm-none-eabi-gcc >/dev/null; then
    arm-none-eabi-gcc -mthumb -mcpu=cortex-m55 -mfloat-abi=hard -std=c11 -O3 -I$work/alone -S $work/alone/morsel.c -o $work/morsel.s >$work/log 2>&1
    grep -E 'v(mul|add|sub|fma|cvt)[a-z]*\.[a-z0-9.]*f(32|16)[a-z0-9.]*[[:space:]]+q' $work/morsel.s >>$work/log
    if [ -s $work/morsel.s ] && ! [ -s $work/log ] && grep -q 'vldr.*[[:space:]]q' $work/morsel.s; then echo "ok amalgamation no float vectors of MVE"
    else fail "float vectors of MVE"; fi
else echo "skip amalgamation float vectors of MVE: no arm-none-eabi-gcc"; fi
refuses "gcc -funsafe-math-optimizations" gcc -O2 -funsafe-math-optimizations
exit $status
