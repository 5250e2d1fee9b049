#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [--quick]: one table of the answers of all networks, by every kernel set of this CPU and of emulated ones, in 1 to 8 tasks, in
# builds by several compilers and options. --quick: a part of the networks, in the builds that `make test` has anyway. Compilers that may
# fuse are tried by tests/package/amalgamation.sh then.
# `make determinism` calls it. MORSEL is the full tool, MAKE_NETWORKS the program of the random networks, CC the compiler of both, MAKE make.
# JOBS columns at a time; NETWORKS random ones of each kind.
# Exit status 1: an answer differs, or a column does not build or run.
cd "$(dirname "$0")/../.." || exit 1
work=build/determinism
here=$(uname -m)
export MORSEL="${MORSEL:-build/morsel}" MAKE_NETWORKS="${MAKE_NETWORKS:-build/tests/determinism/make_networks}" MAKE="${MAKE:-make}"
unset MAKEFLAGS MAKELEVEL MFLAGS MORSEL_CPU

# What a machine's tools are called, and what runs its programs. Others than this one are emulated.
machine() {
    cross= runner= small=
    case $1 in
    "$here") ;;
    i686) cross=i686-linux-gnu- small=-DMORSEL_ROOMY_STACK=0 ;; # x86-64 runs it; with the tiles of microcontrollers
    aarch64) cross=aarch64-linux-gnu- runner="qemu-aarch64 -cpu max" ;;
    armv7) cross=arm-linux-gnueabihf- runner=qemu-arm ;;
    riscv64) cross=riscv64-linux-gnu- runner=qemu-riscv64 ;;
    esac
}

# Networks above this much work are left out: emulators and programs that are not optimized take tens of times longer.
work_most() { # OPT
    case $runner:$1 in
    :O0 | :*threads) echo 60000000 ;;
    :*) echo 18000000000000000000 ;;
    *:O0) echo 2000000 ;;
    *:*foreign) echo 1000000 ;;
    *) echo "${EMULATED_MOST:-60000000}" ;;
    esac
}

# column MACHINE COMPILER OPT [FOLDER]: builds and runs. COMPILER is gcc, clang, or cc for CC; OPT is O0 .. O3, then perhaps -threads.
# Or -foreign: with options as of a build system that knows nothing of ours, where gcc may fuse products and sums.
# FOLDER is one that other tests build in.
column() {
    name=$1.$2.$3 opt=${3%%-*} threads= flags= reduced=1 compiler=$2
    machine "$1"
    case $2 in
    cc) compiler=${CC:-cc} ;;
    gcc) compiler=${cross}gcc ;;
    *) [ -z "$cross" ] || compiler="clang --target=${cross%-}" ;;
    esac
    for needed in ${cross:+"${cross}gcc"} "${compiler%% *}" ${runner%% *}; do
        command -v "$needed" >/dev/null || { echo "skip $name: no $needed" && return; }
    done
    [ -z "$4" ] || [ -n "$cross" ] || reduced=
    start=$(date +%s)
    case $3 in
    *-threads) threads=--threads ;;
    *-foreign) flags="-std=gnu11 -ffp-contract=$([ "$2" = clang ] && echo on || echo fast)" ;; # clang's fast heeds no source
    esac
    set -- "$1" "$2" "$3" "${4:-$work/$name}"
    if ! $MAKE -s QUIET=1 REDUCED=$reduced CROSS="$cross" CC="$compiler" OPT="-$opt" CFLAGS="$small${flags:+ $flags}" BUILD="$4" answers-program >"$work/$name.log" 2>&1; then
        echo "FAIL $name: it does not build"
        tail -n 20 "$work/$name.log"
        return 1
    fi
    # shellcheck disable=SC2086
    if ! $runner "$4/tests/determinism/answers" --work "$(work_most "$3")" $threads "$work"/networks/*.morsel \
        >"$work/answers/$name.part" 2>"$work/$name.log"; then
        echo "FAIL $name: it does not run"
        tail -n 5 "$work/$name.log"
        return 1
    fi
    mv "$work/answers/$name.part" "$work/answers/$name.txt"
    echo "$name: $(grep -vc large "$work/answers/$name.txt") runs, $(($(date +%s) - start)) s"
}

if [ "$1" = --column ]; then
    shift
    column "$@"
    exit
fi
quick= count=100 more=--more # 400 take some hours
if [ "$1" = --quick ]; then
    quick=1 count=30 more=
    export EMULATED_MOST=5000000
fi
mkdir -p $work && rm -rf $work/answers && mkdir $work/answers || exit 1
sh tests/determinism/networks.sh $work/networks "${NETWORKS:-$count}" $more || exit 1

# A line a column. The slow ones come first.
columns() {
    if [ -n "$quick" ]; then
        [ "$here" = aarch64 ] || echo "aarch64 gcc O2 build/aarch64-linux-gnu"
        [ "$here" != x86_64 ] || echo "i686 gcc O2 build/i686-linux-gnu"
        printf '%s\n' "$here cc O2 build" "$here clang O2 build/clang"
        return
    fi
    [ "$here" = aarch64 ] || printf 'aarch64 %s\n' "gcc O2" "gcc O3" "clang O3" "gcc O0" "gcc O2-foreign" "clang O2-foreign"
    printf '%s\n' "riscv64 gcc O2" "armv7 gcc O2" "armv7 clang O3"
    for compiler in gcc clang; do
        for opt in O0 O1 O2 O3; do printf '%s\n' "$here $compiler $opt"; done
        [ "$here" != x86_64 ] || printf '%s\n' "i686 $compiler O0" "i686 $compiler O2" "i686 $compiler O3"
    done
    printf '%s\n' "$here gcc O2-threads" "$here gcc O2-foreign" "$here clang O2-foreign"
}
status=0
columns | xargs -P "${JOBS:-2}" -L 1 sh tests/determinism/run.sh --column || status=1
sh tests/determinism/compare.sh --all $work/networks $work/answers/*.txt >$work/table.txt
sh tests/determinism/compare.sh $work/networks $work/answers/*.txt || status=1
exit $status
