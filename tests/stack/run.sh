#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [--quick]: how much stack the public functions take, by two methods, beside what core/morsel.h states.
# Measured on painted stacks (painted.c) with the shipped network and those of the determinism test: here, on emulated arm64, on i686. With
# the shipped one alone on an emulated Cortex-M7, where its compiler and qemu-system-arm are installed (tests/portability). And by gcc's call
# graph (stack.py), for those, riscv64, and Cortex-M. --quick: this machine's call graph alone, and arm64 as it was built.
# Needs gcc 10 or later. Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=build/stack
make="${MAKE:-make}"
status=0
folders=
here=$(uname -m)
export MORSEL="${MORSEL:-build/morsel}" MAKE_NETWORKS="${MAKE_NETWORKS:-build/tests/determinism/make_networks}"
unset MAKEFLAGS MAKELEVEL MFLAGS MORSEL_CPU
export CCACHE_DISABLE=1 # which gives an object back without its call graph

fail() {
    echo "FAIL $1"
    tail -n 10 $work/log
    status=1
}

# build NAME PREFIX FLAGS: the library with a call graph.
build() {
    command -v "$2gcc" >/dev/null || { echo "skip stack $1: no $2gcc"; return 1; }
    if $make -s -j2 QUIET=1 CROSS="$2" CC="$2gcc" BUILD=$work/$1 CFLAGS="-fcallgraph-info=su -fno-ipa-icf $3" lib >$work/log 2>&1; then
        folders="$folders $work/$1"
        return
    fi
    fail "stack $1: it does not build"
    return 1
}

# measure NAME PREFIX RUNNER LIBRARY FLAGS: with FLAGS as the library has them
measure() {
    if [ -n "$3" ] && ! command -v "$3" >/dev/null; then echo "skip painted $1: no $3"; return; fi
    # shellcheck disable=SC2086
    if ! "$2gcc" $5 -std=c11 -O1 -Wall -Wextra -Werror -I. -static -o $work/painted-$1 tests/stack/painted.c "$4" -lpthread >$work/log 2>&1; then
        fail "painted $1: it does not build"
        return
    fi
    $3 $work/painted-$1 models/cifar10/network.morsel $work/networks/*.morsel >$work/painted.txt || status=1
    sed "s/painted/painted $1/" $work/painted.txt
}

mkdir -p $work || exit 1
echo 'int x;' | gcc -fcallgraph-info=su -c -x c -o $work/try.o - 2>/dev/null || { echo "skip stack: no gcc 10 or later"; exit 0; }
$make -s QUIET=1 all networks-program >$work/log 2>&1 && sh tests/determinism/networks.sh $work/networks 10 >>$work/log 2>&1 ||
    { fail "stack: no networks"; exit 1; }

build "$here" "" && measure "$here" "" "" "$work/$here/libmorsel.a"
if [ "$1" = --quick ]; then
    made=build/aarch64-linux-gnu/libmorsel.a
    [ ! -f $made ] || measure aarch64 aarch64-linux-gnu- qemu-aarch64 $made
else
    [ "$here" = aarch64 ] || { build aarch64 aarch64-linux-gnu- && measure aarch64 aarch64-linux-gnu- qemu-aarch64 $work/aarch64/libmorsel.a; }
    [ "$here" != x86_64 ] || { build i686 i686-linux-gnu- && measure i686 i686-linux-gnu- "" $work/i686/libmorsel.a -msse2; }
    build riscv64 riscv64-linux-gnu- && measure riscv64 riscv64-linux-gnu- qemu-riscv64 $work/riscv64/libmorsel.a
    build cortex-m7 arm-none-eabi- "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16"
    build cortex-m0 arm-none-eabi- "-mcpu=cortex-m0 -mthumb"
fi
# shellcheck disable=SC2086
if command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null; then
    took=$(sh tests/portability/run.sh Cortex-M7 2>$work/log | sed -n 's/^| Cortex-M7 | gcc | yes | [0-9a-f]* | \([0-9]*\) .*/\1/p')
    most=$(sed -n 's/^#define MORSEL_STACK_C //p' core/morsel.h)
    if [ "${took:-0}" -gt 0 ] && [ "$took" -le "$most" ]; then echo "ok painted cortex-m7 c: run $took of $most"
    else fail "painted cortex-m7 c: ${took:-no figure} of $most"; fi
else echo "skip painted cortex-m7: no arm-none-eabi-gcc, qemu-system-arm"; fi
python3 tests/stack/stack.py --check $folders || status=1
exit $status
