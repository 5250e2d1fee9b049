#!/bin/sh
# SPDX-License-Identifier: MIT
# targets.sh: the library in one file, compiled by clang for systems that nobody has here, without their headers: it wants <string.h> alone.
# What it asks of those systems about the CPU, where stand-ins answer. And features that a build states.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=build/package/targets
status=0
fail() { echo "FAIL targets $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }
rm -rf $work && mkdir -p $work || exit 1
python3 tools/package/amalgamate.py $work/alone || exit 1

# It wants of a system: TARGET NAME...
target() {
    name=$1
    shift
    if ! clang --target="$name" -std=c11 -O0 -Wall -Wextra -Werror -ffreestanding -isystem tests/link/include -I$work/alone -c $work/alone/morsel.c \
        -o $work/morsel.o >$work/log 2>&1; then
        fail "$name"
        return
    fi
    nm=$(command -v llvm-nm || command -v llvm-nm-14) || { echo "ok targets $name"; return; }
    "$nm" -u $work/morsel.o | sed 's/.* [Uw]* *//; s/^_*//' |
        grep -vx -e memcpy -e memmove -e memset -e memcmp -e bzero -e 'chkstk.*' -e 'stack_.*' >$work/wanted
    if [ "$(cat $work/wanted)" = "$*" ]; then echo "ok targets $name"
    else cp $work/wanted $work/log; fail "$name: it wants something else"; fi
}
if command -v clang >/dev/null; then
    # shellcheck disable=SC2086
    while read -r line; do case $line in '#'*) ;; *) target $line ;; esac; done <tests/package/targets.txt
    cl=$(command -v clang-cl || command -v clang-cl-14)
    if [ -z "$cl" ]; then echo "skip targets clang-cl: not there"
    elif "$cl" /c /Od /W3 /WX -fms-compatibility /clang:-ffreestanding --target=x86_64-pc-windows-msvc -imsvc tests/link/include -I$work/alone \
        $work/alone/morsel.c /Fo$work/morsel.obj >$work/log 2>&1; then echo "ok targets clang-cl"
    else fail "clang-cl"; fi
else echo "skip targets: no clang"; fi

# features NAME EXPECTED COMPILER AND OPTIONS... -- PRESENT...
features() {
    name=$1 expected=$2
    shift 2
    "$@" -std=c11 -Wall -Wextra -Werror -I. core/cpu.c tests/package/features.c -static -o $work/features >$work/log 2>&1 || fail "$name does not build"
    # shellcheck disable=SC2086
    found=$($runner $work/features $present 2>&1)
    if [ "$found" = "$expected" ]; then echo "ok features $name"; else echo "$found, not $expected" >$work/log; fail "features $name"; fi
}
present= runner=
features "that a build states" 300 "${CC:-cc}" "-DMORSEL_CPU_FIXED=MORSEL_CPU_AVX2 | MORSEL_CPU_AVXVNNI"
runner=qemu-aarch64
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v $runner >/dev/null; then
    for system in __APPLE__:FEAT_DotProd:FEAT_I8MM _WIN32:43:66; do
        IFS=: read -r macro dotprod i8mm <<END
$system
END
        as="aarch64-linux-gnu-gcc -U__linux__ -D$macro"
        # shellcheck disable=SC2086
        {
            present='' && features "$macro: none" 1 $as
            present=$dotprod && features "$macro: dot product" 3 $as
            present="$dotprod $i8mm" && features "$macro: i8mm, too" 7 $as
            present='' && features "$macro: what the compiler was told of" 3 $as -march=armv8.2-a+dotprod
        }
    done
    present='' && features "without a system" 1 aarch64-linux-gnu-gcc -U__linux__
else echo "skip features: no compiler or emulator of arm64"; fi
exit $status
