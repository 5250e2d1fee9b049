#!/bin/sh
# SPDX-License-Identifier: MIT
# cmake.sh: a project of its own (tests/package/consumer) takes the library as CMake's users do: from what make installed and from what CMake
# installed, static and shared, as a copy in its tree, and fetched as an archive. The network becomes C while it is built. Each program
# answers as one that is built without CMake. MORSEL is the tool, CC the compiler.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
source=$PWD work=$PWD/build/package/cmake compiler=${CC:-cc}
morsel=${MORSEL:-build/morsel} model=$PWD/models/cifar10/network.onnx program=$PWD/tests/consumers/static_arena.c
unset MAKEFLAGS MAKELEVEL MFLAGS
status=0
command -v cmake >/dev/null || { echo "skip cmake: not installed"; exit 0; }
rm -rf "$work" && mkdir -p "$work" || exit 1
fail() { echo "FAIL cmake $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }

if ! "$morsel" convert "$model" -o "$work/model.morsel" --c "$work/model.c" >"$work/log" 2>&1 || ! "${MAKE:-make}" -s lib >>"$work/log" 2>&1 ||
    ! "$compiler" -std=c11 -I"$work" -Icore "$program" build/libmorsel.a -o "$work/plain" >>"$work/log" 2>&1 || ! "$work/plain" >"$work/plain.txt"; then
    fail "beside a program without it"
    exit 1
fi

configure() { cmake -DCMAKE_C_COMPILER="$compiler" "$@" >"$work/log" 2>&1; }
installed() { # FOLDER OPTIONS...: CMake's own installation below it
    folder=$work/$1
    shift
    configure -S "$source" -B "$folder-build" -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR=lib "$@" &&
        cmake --build "$folder-build" -j "${JOBS:-2}" >>"$work/log" 2>&1 && cmake --install "$folder-build" >>"$work/log" 2>&1
}
consumer() { # NAME OPTIONS...
    name=$1 folder=$work/consumer-$(echo "$1" | tr -d ', ')
    shift
    if ! configure -S tests/package/consumer -B "$folder" -DMODEL="$model" -DPROGRAM="$program" "$@" ||
        ! cmake --build "$folder" -j "${JOBS:-2}" >>"$work/log" 2>&1; then fail "$name"
    elif ! "$folder/app" >"$work/app.txt" || ! cmp -s "$work/app.txt" "$work/plain.txt"; then fail "$name: other answers"
    else echo "ok cmake $name"; fi
}

if "${MAKE:-make}" -s CROSS= install PREFIX="$work/by-make" DESTDIR= >"$work/log" 2>&1; then
    mv "$work/by-make" "$work/moved" # it may be
    consumer "find_package, of make install" -DHOW=find -DCMAKE_PREFIX_PATH="$work/moved"
else fail "make install"; fi
plain="-DMORSEL_PLAIN_C=ON -DCMAKE_BUILD_TYPE=Debug" # which compiles in less time
for kind in static shared; do # kernels of instruction sets are in the first alone, as they take long to compile
    options=-DBUILD_SHARED_LIBS=OFF
    [ $kind = static ] || options="-DBUILD_SHARED_LIBS=ON $plain"
    # shellcheck disable=SC2086
    if installed $kind $options; then
        consumer "find_package, $kind" -DHOW=find -DCMAKE_PREFIX_PATH="$work/$kind" -DMORSEL_EXECUTABLE="$source/$morsel"
        library=$(find "$work/$kind/lib" -name 'libmorsel.so' -o -name 'libmorsel.a')
        nm -D "$library" 2>/dev/null | awk '$2 == "T" && $3 !~ /^morsel_/ { print $3 }' >"$work/log"
        [ ! -s "$work/log" ] || fail "$kind: it exports what is not the header's"
    else fail "$kind"; fi
done
export OPT=-O0 # of the tool, which this one makes, too
# shellcheck disable=SC2086
consumer "add_subdirectory" -DHOW=add -DSOURCE="$source" $plain
unset OPT
# few NAME OPTIONS...: the kinds of two networks and no others
few() {
    consumer "$@" -DUSED=ONLY_USED -DOTHER="$source/tests/golden/cases/move_gather-qdq-u8s8pc/net.onnx"
    nm "$folder/app" | sed -n 's/.* morsel_kind_\([a-z_]*\)$/\1/p' | grep -vx -e reach -e streams | sort | tr '\n' ' ' >"$work/kinds.txt"
    if [ "$(cat "$work/kinds.txt")" = "conv depthwise fc gather mean qadd " ]; then echo "ok cmake $1: their kinds"
    else cp "$work/kinds.txt" "$work/log"; fail "$1: other kinds"; fi
}
few "find_package, only used" -DHOW=find -DCMAKE_PREFIX_PATH="$work/static" -DMORSEL_EXECUTABLE="$source/$morsel"
# shellcheck disable=SC2086
few "add_subdirectory, only used" -DHOW=add -DSOURCE="$source" -DMORSEL_EXECUTABLE="$source/$morsel" $plain
# In the folder that was built with all of them: the table alone is another one.
installed static -DMORSEL_ISA="avx2;neon" || fail "MORSEL_ISA"
few "MORSEL_ISA, only used" -DHOW=find -DCMAKE_PREFIX_PATH="$work/static" -DMORSEL_EXECUTABLE="$source/$morsel"
if nm "$folder/app" | grep -E 'avxvnni|avx512|_rows_(dotprod|i8mm)' >"$work/log"; then fail "MORSEL_ISA: kernels of others"; else echo "ok cmake MORSEL_ISA"; fi
if git archive --format=tar.gz -o "$work/morsel.tar.gz" HEAD 2>"$work/log"; then
    # shellcheck disable=SC2086
    consumer "FetchContent, plain C" -DHOW=fetch -DARCHIVE="$work/morsel.tar.gz" $plain -DMORSEL_EXECUTABLE="$source/$morsel"
else echo "skip cmake FetchContent: no git"; fi
exit $status
