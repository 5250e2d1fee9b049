#!/bin/sh
# SPDX-License-Identifier: MIT
# versions.sh PREFIX: which versions of what is installed there find_package(morsel) of CMake takes: the same first two numbers, or a range with
# it inside. Says what is wrong; exit status 1 then.
cd "$(dirname "$0")/../.." || exit 1
prefix=$(cd "${1:?versions.sh PREFIX}" && pwd) work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
major=${version%%.*} rest=${version#*.}
minor=${rest%%.*}
next=$major.$((minor + 1))
{
    printf 'cmake_minimum_required(VERSION 3.19)\nproject(versions C)\n'
    while read -r taken asked; do
        printf 'find_package(morsel %s QUIET)\nif(morsel_FOUND)\n  set(morsel_FOUND yes)\nelse()\n  set(morsel_FOUND no)\nendif()\n' "$asked"
        printf 'if(NOT morsel_FOUND STREQUAL "%s")\n  message(SEND_ERROR "%s: ${morsel_FOUND}")\nendif()\nunset(morsel_DIR CACHE)\n' "$taken" "$asked"
    done
} >"$work/CMakeLists.txt" <<END
yes
yes $major
yes $major.$minor
yes $version
yes $version EXACT
no $major.$minor.9999
no $next
no 99.0
yes $major.0...$next
yes $major.$minor...$major.$minor.9999
yes $version...$version
no $major.0...<$version
no $next...99
END
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
