#!/bin/sh
# SPDX-License-Identifier: MIT
# bundle.sh: the folder of `make bundle` is taken by each build system there is: built, linked to a program, which answers as one beside the
# library does. Where a build system is not to be had, what it calls is stood in for, and its manifest is read.
# MORSEL is the tool, CC the compiler. Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=$PWD/build/package/bundle compiler=${CC:-cc} morsel=${MORSEL:-build/morsel}
model=models/cifar10/network.onnx program=$PWD/tests/consumers/static_arena.c
unset MAKEFLAGS MAKELEVEL MFLAGS
status=0
fail() { echo "FAIL bundle $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }
rm -rf "$work" && mkdir -p "$work" || exit 1
bundle=$work/morsel
sh tools/package/bundle.sh "$bundle" >"$work/log" 2>&1 || { fail "is made"; exit 1; }
if ! "$morsel" convert "$model" -o "$work/model.morsel" --c "$work/model.c" >"$work/log" 2>&1 ||
    ! "$compiler" -std=c11 -DNETWORK='"model.h"' -I"$work" -Icore "$program" "$work/model.c" build/libmorsel.a -o "$work/plain" >"$work/log" 2>&1 ||
    ! "$work/plain" >"$work/plain.txt"; then
    fail "beside the library"
    exit 1
fi
same() { # NAME PROGRAM
    if ! "$2" >"$work/app.txt" 2>"$work/log"; then fail "$1: it does not run"
    elif ! cmp "$work/app.txt" "$work/plain.txt" >"$work/log"; then fail "$1: other answers"
    else echo "ok bundle $1"; fi
}
link() { # NAME OPTIONS...: with what was installed
    name=$1
    shift
    if "$compiler" -std=c11 -DNETWORK='"model.h"' -I"$work" "$program" "$work/model.c" -o "$work/app" "$@" >"$work/log" 2>&1; then same "$name" "$work/app"
    else fail "$name: it does not link"; fi
}

if command -v cmake >/dev/null; then
    if cmake -S "$bundle" -B "$work/cmake" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_INSTALL_PREFIX="$work/installed" -DCMAKE_INSTALL_LIBDIR=lib >"$work/log" 2>&1 &&
        cmake --build "$work/cmake" >>"$work/log" 2>&1 && cmake --install "$work/cmake" >>"$work/log" 2>&1 &&
        grep -q 'morsel::morsel' "$work/installed/lib/cmake/morsel/morselConfig.cmake"; then
        link CMake -I"$work/installed/include" "$work/installed/lib/libmorsel.a"
        if sh tests/package/versions.sh "$work/installed" >"$work/log" 2>&1; then echo "ok bundle CMake's versions"; else fail "CMake's versions"; fi
    else fail CMake; fi
    for how in esp zephyr; do
        if cmake -S tests/package/stubs -B "$work/$how" -DHOW=$how -DBUNDLE="$bundle" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="-O1 -DMORSEL_PLAIN_C" \
            -DPROGRAM="$program" -DMODEL_C="$work/model.c" -DMODEL_FOLDER="$work" >"$work/log" 2>&1 && cmake --build "$work/$how" >>"$work/log" 2>&1
        then same "as a component of $how, stood in for" "$work/$how/app"
        else fail $how; fi
    done
else echo "skip bundle CMake: not installed"; fi
if command -v meson >/dev/null; then
    if CC=$compiler CFLAGS=-DMORSEL_PLAIN_C meson setup "$work/meson" "$bundle" --prefix "$work/by-meson" --libdir lib >"$work/log" 2>&1 &&
        meson install -C "$work/meson" >>"$work/log" 2>&1; then
        link Meson -I"$work/by-meson/include" -L"$work/by-meson/lib" -lmorsel -Wl,-rpath,"$work/by-meson/lib"
    else fail Meson; fi
else echo "skip bundle Meson: not installed"; fi
if command -v clang >/dev/null; then
    echo '#pragma clang module import Morsel
const char *version(void) { return morsel_version(); }' >"$work/swift.c"
    if clang -fmodules -fmodules-cache-path="$work/modules" -fmodule-map-file="$bundle/src/module.modulemap" -fsyntax-only "$work/swift.c" >"$work/log" 2>&1
    then echo "ok bundle module map"
    else fail "module map"; fi
else echo "skip bundle module map: no clang"; fi
if command -v arm-none-eabi-gcc >/dev/null; then
    for cpu in cortex-m0plus cortex-m7 cortex-m55; do
        if arm-none-eabi-gcc -mcpu=$cpu -mthumb -std=c11 -Os -Wall -Wextra -Werror -ffunction-sections -c "$bundle/src/morsel.c" -o "$work/m.o" >"$work/log" 2>&1
        then echo "ok bundle $cpu"
        else fail $cpu; fi
    done
else echo "skip bundle Cortex-M: no arm-none-eabi-gcc"; fi
python3 tests/package/manifests.py "$bundle" || status=1
exit $status
