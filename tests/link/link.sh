#!/bin/sh
# SPDX-License-Identifier: MIT
# link.sh [BLOB]: all link tests. Builds the library without a C library for every compiler there is (below BUILD, build/link unless
# set), links tests/link/bare.c with it and nothing else, also for big pages, and runs that where it can run. With a blob (the shipped
# network unless given) the program runs it, and all machines must print the same.
# Then the headers, the includes, programs that link few kinds of steps, and those that know only what is installed (tests/consumers).
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build/link}
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

toolchain() { # NAME COMPILER PREFIX RUNNER
    name=$1; compiler=$2; prefix=$3; runner=$4; machine=
    if ! command -v "$compiler" >/dev/null 2>&1; then echo "skip link $name: no $compiler"; return; fi
    case $name in i686*) machine="-msse2 -mfpmath=sse" ;; esac
    mkdir -p "$build/$name"
    # shellcheck disable=SC2086
    case $name in gcc) opt=-O2 ;; *) opt=-O1 ;; esac # sooner compiled; other tests have -O2 of these
    if ! "${MAKE:-make}" -s lib OPT=$opt CROSS= CC="$compiler" AR="${prefix}ar" BUILD="$build/$name" CFLAGS="-ffreestanding -isystem tests/link/include" \
        >"$build/$name/log" 2>&1; then
        fail "build $name"; tail -n 20 "$build/$name/log"; return
    fi
    library=$build/$name/libmorsel.a
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
native=$(uname -m)
case $native in
x86_64)
    toolchain gcc gcc "" ""
    toolchain clang clang "" ""
    toolchain i686 i686-linux-gnu-gcc i686-linux-gnu- ""
    toolchain aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu- "qemu-aarch64 -cpu cortex-a76"
    ;;
*)
    toolchain cc cc "" ""
    ;;
esac
sh tests/link/headers.sh "${CC:-cc}" "${CXX:-c++}" || status=1
sh tests/link/arrows.sh || status=1
sh tests/link/shared.sh "${CC:-cc}" || status=1
sh tests/link/only.sh || status=1
sh tests/consumers/run.sh || status=1
exit $status
