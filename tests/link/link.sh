#!/bin/sh
# SPDX-License-Identifier: MIT
# link.sh [BLOB]: all link tests. Links tests/link/bare.c with the library and nothing else, no C library either, also for big pages, and
# runs that where it can run: with the library as each compiler makes it in the folders that other tests build in, and for i686 without a
# hosted C's headers. With a blob (the shipped network unless given) the program runs it, and all machines must print the same.
# Then the headers, the includes, programs that link few kinds of steps, and those that know only what is installed (tests/consumers).
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
build=build/link
blob=${1:-$(ls models/*/*.morsel 2>/dev/null | head -n 1)}
flags="-std=c11 -O2 -Wall -Wextra -Werror -ffp-contract=off -ffreestanding -isystem tests/link/include -I."
bare="-nostdlib -static -fno-pie -fno-stack-protector"
status=0
expected=
ok() { echo "ok $1"; }
fail() { echo "FAIL $1"; status=1; }

run() { # NAME RUNNER PROGRAM
    output=$($2 "$3") || { fail "run $1 (exit status $?)"; return; }
    if [ -n "$expected" ] && [ "$output" != "$expected" ]; then fail "run $1: $output, not $expected"; return; fi
    expected=$output
    ok "run $1 $output"
}

toolchain() { # NAME COMPILER PREFIX RUNNER FOLDER MAKE'S VARIABLES...: the library is of FOLDER
    name=$1 compiler=$2 prefix=$3 runner=$4 library=$5/libmorsel.a machine=
    shift 5
    if ! command -v "$compiler" >/dev/null 2>&1; then echo "skip link $name: no $compiler"; return; fi
    case $name in i686*) machine="-msse2 -mfpmath=sse" ;; esac
    mkdir -p "$build/$name"
    if ! "${MAKE:-make}" -s QUIET=1 lib CROSS= "$@" >"$build/$name/log" 2>&1; then
        fail "build $name"; tail -n 20 "$build/$name/log"; return
    fi
    sh tests/link/symbols.sh "$library" "$prefix" "$name" || status=1
    for page in default 16384 65536; do
        program=$build/$name/bare_$page
        size=
        [ $page = default ] || size=-Wl,-z,max-page-size=$page
        # shellcheck disable=SC2086
        if ! "$compiler" $flags $machine $bare $size ${blob:+-DBLOB="\"$blob\""} -o "$program" tests/link/bare.c "$library" \
            >"$build/$name/log" 2>&1; then
            fail "link $name $page"; tail -n 20 "$build/$name/log"; continue
        fi
        ok "link $name pages $page"
        if [ -n "$runner" ] && ! command -v "${runner%% *}" >/dev/null 2>&1; then
            echo "skip run $name: no ${runner%% *}"
        else
            run "$name pages $page" "$runner" "$program"
        fi
    done
}

[ -n "$blob" ] || echo "skip run of a network: no models/*/*.morsel"
toolchain cc "${CC:-cc}" "" "" build BUILD=build
if [ "$(uname -m)" = x86_64 ]; then
    toolchain clang clang "" "" build/clang REDUCED= CC=clang BUILD=build/clang
    toolchain i686 i686-linux-gnu-gcc i686-linux-gnu- "" "$build/i686" OPT=-O1 CC=i686-linux-gnu-gcc AR=i686-linux-gnu-ar BUILD="$build/i686" \
        CFLAGS="-ffreestanding -isystem tests/link/include"
    toolchain aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu- "qemu-aarch64 -cpu cortex-a76" build/aarch64-linux-gnu CROSS=aarch64-linux-gnu- \
        BUILD=build/aarch64-linux-gnu
fi
sh tests/link/headers.sh "${CC:-cc}" "${CXX:-c++}" || status=1
sh tests/link/arrows.sh || status=1
sh tests/link/shared.sh "${CC:-cc}" || status=1
sh tests/link/only.sh || status=1
sh tests/consumers/run.sh || status=1
exit $status
