#!/bin/sh
# SPDX-License-Identifier: MIT
# shared.sh [CC]: the shared object exports the functions of core/morsel.h and nothing else, wants of libc what the archive does, and
# nothing in the library is for unwinding. Also by clang, where it is there.
cd "$(dirname "$0")/../.." || exit 1
status=0
report() { # NAME COMPLAINTS
    if [ -z "$2" ]; then echo "ok $1"; else echo "FAIL $1"; echo "$2" | sed 's/^/    /'; status=1; fi
}

# Declarations end at semicolons; a function's name stands before the first bracket.
functions() { # CC
    "$1" -E -P core/morsel.h | grep -v '^#' | tr '\n' ' ' | tr ';' '\n' | grep -v typedef | sed -n 's/^[^({]*\<\(morsel_[a-z0-9_]*\)(.*/\1/p' | sort
}

first=${1:-cc}
for compiler in "$first" clang; do
    command -v "$compiler" >/dev/null 2>&1 || { echo "skip shared $compiler: it is not there"; continue; }
    folder=build/link/shared-$compiler
    mkdir -p "$folder"
    made=build
    set --
    if [ "$compiler" != "$first" ]; then # as for tests/determinism
        made=build/$compiler
        set -- REDUCED=
    fi
    if ! "${MAKE:-make}" -s CROSS= CC="$compiler" BUILD="$made" "$@" lib shared >"$folder/log" 2>&1; then
        report "shared $compiler" "$(tail -n 20 "$folder/log")"
        continue
    fi
    object=$(ls -t "$made"/libmorsel.so.* | head -n 1)
    functions "$compiler" >"$folder/declared"
    [ "$(wc -l <"$folder/declared")" -gt 20 ] || report "header $compiler" "few functions found in core/morsel.h"
    nm -D --defined-only "$object" | awk '{ print $3 }' | sort >"$folder/exported"
    report "exports $compiler" "$(diff "$folder/declared" "$folder/exported")"
    report "imports $compiler" "$(nm -D --undefined-only "$object" | awk '$1 != "w" { sub(/@.*/, "", $2); print $2 }' |
        grep -vx -e memcpy -e memmove -e memset -e memcmp -e __cxa_finalize)"
    report "unwinding $compiler" "$(readelf -SW "$made/libmorsel.a" | grep -o '\.eh_frame[^ ]*' | sort | uniq -c)"
done
exit $status
