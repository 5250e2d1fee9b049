#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh: installs into a folder of its own (below build/consumers) and builds programs that know only what is there: through pkg-config,
# through CMake, as C++, and with the network as a C array in a static arena. All of them must print the same output bytes. The README's
# example has to answer as the tool does.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
source=$PWD/tests/consumers
work=$PWD/build/consumers
prefix=$work/prefix
compiler=${CC:-cc}
status=0
fail() { echo "FAIL $1"; [ -z "$2" ] || tail -n 10 "$2" | sed 's/^/    /'; status=1; }
same() { # NAME: its output beside the first
    if [ ! -s "$work/$1.out" ]; then fail "$1: prints nothing"
    elif cmp -s "$work/$1.out" "$work/pkg-config.out"; then echo "ok $1"
    else fail "$1: prints other bytes"; fi
}

rm -rf "$work"
mkdir -p "$work"
if ! "${MAKE:-make}" -s CROSS= install PREFIX="$prefix" DESTDIR= >"$work/log" 2>&1; then
    fail install "$work/log"
    exit 1
fi
missing=$(for file in bin/morsel include/morsel.h lib/libmorsel.a lib/pkgconfig/morsel.pc \
    share/man/man1/morsel.1 share/man/man1/morsel-run.1; do [ -f "$prefix/$file" ] || echo "$file"; done)
if [ -z "$missing" ]; then echo "ok install"; else fail "install: no $missing"; exit 1; fi
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
if [ "$(pkg-config --modversion morsel)" = "$("$prefix/bin/morsel" --version 2>/dev/null | awk '{ print $2 }')" ]; then echo "ok version"
else fail "version: the tool and morsel.pc differ"; fi

network=$(ls models/*/network.onnx 2>/dev/null | head -n 1)
if [ -z "$network" ]; then echo "skip consumers: no models/*/network.onnx"; exit $status; fi
if ! "$prefix/bin/morsel" convert "$network" -o "$work/network.morsel" --c "$work/model.c" >"$work/log" 2>&1; then
    fail "convert --c" "$work/log"
    exit 1
fi

flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror"
# shellcheck disable=SC2046,SC2086
if "$compiler" $flags "$source/run_zero.c" $(pkg-config --cflags --libs morsel) -o "$work/run_zero" >"$work/log" 2>&1; then
    "$work/run_zero" "$work/network.morsel" >"$work/pkg-config.out" || fail "pkg-config: does not run"
    same pkg-config
else
    fail pkg-config "$work/log"
fi

# The pool of threads that apps copy.
mkdir "$work/copied" && cp tools/network/pool.[ch] "$work/copied"
# shellcheck disable=SC2046,SC2086
if "$compiler" $flags $(pkg-config --cflags morsel) -c "$work/copied/pool.c" -o "$work/copied/pool.o" >"$work/log" 2>&1; then echo "ok pool.c, copied"
else fail "pool.c, copied" "$work/log"; fi

# The objects of the archive are made for both.
# shellcheck disable=SC2086
if "${MAKE:-make}" -s CROSS= shared >"$work/log" 2>&1 &&
    "$compiler" $flags -I"$prefix/include" "$source/run_zero.c" "$(ls -t build/libmorsel.so.* | head -n 1)" -Wl,-rpath,"$PWD/build" \
        -o "$work/run_shared" >"$work/log" 2>&1; then
    "$work/run_shared" "$work/network.morsel" >"$work/shared.out" || fail "shared: does not run"
    same shared
else
    fail shared "$work/log"
fi

# shellcheck disable=SC2046,SC2086
if "$compiler" $flags -I"$work" "$source/static_arena.c" $(pkg-config --cflags --libs morsel) -o "$work/static_arena" >"$work/log" 2>&1; then
    "$work/static_arena" >"$work/static-arena.out" || fail "static arena: does not run"
    same static-arena
else
    fail "static arena" "$work/log"
fi

# The array compiled by itself, the program with the header alone: as C and as C++.
separate() { # NAME COMPILER FLAGS...
    name=$1 compile=$2
    shift 2
    # shellcheck disable=SC2046
    if "$compile" "$@" -Wall -Wextra -Werror -c "$work/model.c" -o "$work/model.o" >"$work/log" 2>&1 &&
        "$compile" "$@" -Wall -Wextra -Werror -DNETWORK='"model.h"' -I"$work" $(pkg-config --cflags morsel) -c "$source/static_arena.c" \
            -o "$work/$name.o" >>"$work/log" 2>&1 &&
        "$compile" "$work/$name.o" "$work/model.o" $(pkg-config --libs morsel) -o "$work/$name" >>"$work/log" 2>&1; then
        "$work/$name" >"$work/$name.out" || fail "$name: does not run"
        same "$name"
    else
        fail "$name" "$work/log"
    fi
}
separate header-c "$compiler" -std=c11
separate tasks "$compiler" -std=c11 -DIN_TASKS
if command -v c++ >/dev/null 2>&1; then separate header-c++ c++ -x c++ -std=c++11; else echo "skip header-c++: not installed"; fi

# The README's program must find in the shipped pictures what the tool finds.
model=models/cifar10
awk '/^```c$/ { on = 1; next } /^```/ { if (on) exit } on' README.md >"$work/readme.c"
# shellcheck disable=SC2046,SC2086
if ! [ -s "$work/readme.c" ] || ! "$prefix/bin/morsel" convert "$network" -o "$work/food.morsel" --c "$work/food.c" --picture $model/picture.json \
    --labels $model/labels.txt >"$work/log" 2>&1; then
    fail "readme: no example or no array" "$work/log"
elif "$compiler" $flags -I"$work" "$work/readme.c" "$work/food.c" $(pkg-config --cflags --libs morsel) -o "$work/readme" >"$work/log" 2>&1; then
    for picture in $model/pictures/*.ppm; do "$work/readme" <"$picture"; done >"$work/readme.out" 2>"$work/log"
    "$prefix/bin/morsel" run "$work/food.morsel" $model/pictures/*.ppm --top 1 --json | sed -n 's/.*"label": "\([a-z]*\)".*/\1/p' >"$work/tool.out"
    if [ "$(wc -l <"$work/tool.out")" -eq 10 ] && cmp -s "$work/tool.out" "$work/readme.out"; then echo "ok readme"
    else fail "readme: answers other than the tool's" "$work/readme.out"; fi
else
    fail readme "$work/log"
fi

# shellcheck disable=SC2046
if ! command -v c++ >/dev/null 2>&1; then
    echo "skip readme-c++: not installed"
elif c++ -x c++ -std=c++11 -Wall -Wextra -Werror -I"$work" -fsyntax-only "$work/readme.c" $(pkg-config --cflags morsel) >"$work/log" 2>&1; then
    echo "ok readme-c++"
else
    fail readme-c++ "$work/log"
fi

if command -v cmake >/dev/null 2>&1; then
    if cmake -S "$source" -B "$work/cmake" >"$work/log" 2>&1 && cmake --build "$work/cmake" >>"$work/log" 2>&1; then
        "$work/cmake/run_zero" "$work/network.morsel" >"$work/cmake.out" || fail "cmake: does not run"
        same cmake
    else
        fail cmake "$work/log"
    fi
else
    echo "skip cmake: not installed"
fi

if command -v c++ >/dev/null 2>&1; then
    # shellcheck disable=SC2046
    if c++ -std=c++11 -Wall -Wextra -Werror tests/link/cplusplus.cc $(pkg-config --cflags --libs morsel) -o "$work/cplusplus" >"$work/log" 2>&1 &&
        "$work/cplusplus"; then echo "ok c++"; else fail "c++" "$work/log"; fi
else
    echo "skip c++: not installed"
fi

if "${MAKE:-make}" -s CROSS= uninstall PREFIX="$prefix" DESTDIR= >"$work/log" 2>&1 && [ -z "$(find "$prefix" -type f)" ]; then echo "ok uninstall"
else fail "uninstall: leaves $(find "$prefix" -type f)" "$work/log"; fi

# Below a folder whose name a shell would take apart: where the words of an unquoted command point, nothing is made or removed.
mkdir -p "$work/it's" && : >"$work/it's/a"
odd="$work/it's/a & b"
if "${MAKE:-make}" -s CROSS= install PREFIX="$odd" DESTDIR= >"$work/log" 2>&1 &&
    eval "set -- $(PKG_CONFIG_PATH="$odd/lib/pkgconfig" pkg-config --cflags --libs morsel)" &&
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L "$source/run_zero.c" "$@" -o "$work/run_odd" >>"$work/log" 2>&1 &&
    "$work/run_odd" "$work/network.morsel" >"$work/odd-names.out"; then same odd-names
else fail "odd-names" "$work/log"; fi
if "${MAKE:-make}" -s CROSS= uninstall PREFIX="$odd" DESTDIR= >"$work/log" 2>&1 && [ "$(find "$work/it's" -type f)" = "$work/it's/a" ]; then
    echo "ok uninstall of odd names"
else fail "uninstall of odd names: leaves $(find "$work/it's" -type f)" "$work/log"; fi
exit $status
