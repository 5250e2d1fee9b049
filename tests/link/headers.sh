#!/bin/sh
# SPDX-License-Identifier: MIT
# headers.sh [CC] [CXX]: each header compiles alone and twice; morsel.h as C99 without a warning, and as C++.
cd "$(dirname "$0")/../.." || exit 1
cc=${1:-cc}
cxx=${2:-c++}
status=0
try() { # NAME COMMAND...
    name=$1
    shift
    if output=$("$@" 2>&1); then echo "ok $name"; else echo "FAIL $name"; echo "$output" | head -20 | sed 's/^/    /'; status=1; fi
}
flags_for() { # HEADER: by the ISA at the end of its name, as in the Makefile
    case $1 in
    x86/*avx512*.h) echo -mavx2 -mfma -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni ;;
    x86/*avxvnni.h) echo -mavx2 -mfma -mavxvnni ;;
    x86/*.h) echo -mavx2 -mfma -mf16c ;;
    arm64/*i8mm.h) echo -march=armv8.2-a+dotprod+i8mm ;;
    arm64/*dotprod.h) echo -march=armv8.2-a+dotprod ;;
    esac
}
machine=$($cc -dumpmachine)
for header in core/*.h kernels/*.h kernels/reference/*.h x86/*.h arm64/*.h; do
    [ -f "$header" ] || continue
    grep -q "The file that includes this says" "$header" && continue # for several instruction sets
    case $header:$machine in x86/*:x86_64* | arm64/*:aarch64* | core/* | kernels/*) ;; *) continue ;; esac
    # shellcheck disable=SC2046
    printf '#include "%s"\n#include "%s"\ntypedef int not_empty;\n' "$header" "$header" |
        try "header $header" $cc -std=c11 -Wall -Wextra -Werror -Wno-unused-function $(flags_for "$header") -I. -fsyntax-only -x c -
done
printf '#include "core/morsel.h"\ntypedef int not_empty;\n' |
    try "header as C99" $cc -std=c99 -pedantic -Wall -Wextra -Werror -I. -fsyntax-only -x c -
if command -v "$cxx" >/dev/null 2>&1; then
    for standard in c++11 c++17; do
        try "header as $standard" "$cxx" -std=$standard -pedantic -Wall -Wextra -Werror -Icore -fsyntax-only tests/link/cplusplus.cc
    done
else
    echo "skip header as C++: no $cxx"
fi
exit $status
