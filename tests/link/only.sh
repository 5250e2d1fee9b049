#!/bin/sh
# SPDX-License-Identifier: MIT
# only.sh: an app that is linked with the table of kinds of `convert --c` (only.c) gives the bytes that it gives with all of them, has the kernels
# of those kinds and no others, and refuses networks of other kinds as it opens them. The same with the library for few instruction sets
# (ISA=), as one file, and with the kinds of two networks. What is linked of the library is printed in bytes, and has limits.
# MORSEL is the tool [build/morsel], CC the compiler. Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=build/link/only
compiler=${CC:-cc} compile=${CC:-cc}
cases=tests/golden/cases
status=0
fail() { echo "FAIL only $1"; [ ! -s $work/log ] || tail -n 10 $work/log | sed 's/^/    /'; status=1; }
check() { # WHAT TEST...
    what=$1
    shift
    : >$work/log
    if "$@"; then echo "ok only $what"; else fail "$what"; fi
}
unset MAKEFLAGS MAKELEVEL MFLAGS
rm -rf $work && mkdir -p $work || exit 1
library() { # FOLDER MAKE'S VARIABLES...
    folder=$1
    shift
    "${MAKE:-make}" -s -j2 QUIET=1 CROSS= CC="$compiler" BUILD="$folder" "$@" lib >$work/log 2>&1 && return
    fail "library $*"
    return 1
}
morsel=${MORSEL:-build/morsel}
[ -x "$morsel" ] || "${MAKE:-make}" -s -j2 QUIET=1 CROSS= tool >$work/log 2>&1 || fail "no tool"

# A multilayer perceptron, a small MobileNetV2 that has steps of other kinds, too, and one of the same kinds whose steps stream; with each
# another one that its table opens or refuses.
networks() { # NAME NET.onnx OTHER.onnx
    mkdir $work/"$1"
    "$morsel" convert "$2" -o $work/"$1"/net.morsel --c $work/"$1"/net.c >$work/log 2>&1 &&
        "$morsel" convert "$3" -o $work/"$1"/other.morsel --c $work/"$1"/other.c >$work/log 2>&1 || fail "networks"
}
networks mlp $cases/gemm_rows-qdq-u8s8pc/net.onnx $cases/mobile-qop-u8s8pc/net.onnx
networks mobile $cases/mobile-qop-u8s8pc/net.onnx models/cifar10/network.onnx
networks stream models/cifar10/network.onnx $cases/mobile-qop-u8s8pc/net.onnx

# Bytes of code and constants that a program has of the library, by the linker's map.
linked() { # MAP
    awk 'function hex(t,  i, v) {
            v = 0; t = tolower(substr(t, 3))
            for (i = 1; i <= length(t); i++) v = v * 16 + index("0123456789abcdef", substr(t, i, 1)) - 1
            return v }
        /^Linker script and memory map/ { on = 1 }
        on && /^ \.[a-z]/ { section = $1 }
        on && /(libmorsel\.a\(|morsel\.o$)/ && section ~ /^\.(text|rodata|data\.rel\.ro)/ {
            n = split($0, field, " ")
            if (hex(field[n - 2])) all += hex(field[n - 1]) }
        END { print all + 0 }' "$1"
}
# link PROGRAM NETWORK LIBRARY SOURCES AND OPTIONS...: with COMPILE, which also makes objects of the networks once.
link() {
    program=$work/$2/$1 folder=$work/$2 library=$3
    shift 3
    objects=
    for net in net other; do
        object=$folder/$net-$(echo "$compile" | tr -c 'a-z0-9\n' -).o
        objects="$objects $object"
        [ -f "$object" ] || $compile -std=c11 -O2 -Wall -Wextra -Werror -c "$folder"/$net.c -o "$object" >$work/log 2>&1 || fail "$object"
    done
    if ! $compile -std=c11 -O2 -Wall -Wextra -Werror -Icore -I"$folder" tests/link/only.c $objects "$@" "$library" -Wl,--gc-sections \
        -Wl,-Map,"$program".map -o "$program" >$work/log 2>&1; then
        fail "${program#"$work"/} does not link"
        return 1
    fi
    bytes=$(linked "$program".map)
}
kinds() { nm "$1" | sed -n 's/.* morsel_kind_\([a-z_]*\)$/\1/p' | grep -vx -e base -e reach -e streams | sort; }
uses() { sed -n 's/^#define MORSEL_USE_//p' "$1" | tr 'A-Z' 'a-z' | grep -vx -e groups -e rules | sort; }
# lacks PROGRAM PATTERN: kernels whose names are such, which the program with all has.
lacks() {
    nm "$1" >$work/symbols && nm $work/mlp/all | grep -qE " morsel_([a-z0-9_]*_)?($2)\$" || return
    ! grep -E " morsel_([a-z0-9_]*_)?($2)\$" $work/symbols
}
small() { # PROGRAM WHOLE: says how large it is; it is less than that
    echo "    ${1#"$work"/}: $bytes bytes, and $2 with all kinds"
    [ "$bytes" -gt 0 ] && [ "$bytes" -lt "$2" ]
}

library build || exit 1
for name in mlp mobile stream; do
    folder=$work/$name
    link all $name build/libmorsel.a || continue
    all=$bytes
    "$folder"/all >"$folder"/all.txt || fail "$name runs"
    check "$name, all kinds open the other, in tasks" grep -q 'error 0 .*in tasks$' "$folder"/all.txt
    link few $name build/libmorsel.a "$folder"/net_use.c || continue
    "$folder"/few >"$folder"/few.txt
    check "$name, its kinds: the same bytes" sh -c "[ -s '$folder/few.txt' ] && [ \"\$(cut -d, -f1 '$folder/all.txt')\" = \"\$(cut -d, -f1 '$folder/few.txt')\" ]"
    uses "$folder"/net_use.h >"$folder"/uses.txt
    kinds "$folder"/few >"$folder"/kinds.txt
    check "$name, its kinds and no others" cmp "$folder"/uses.txt "$folder"/kinds.txt
    check "$name, smaller" small "$folder"/few "$all"
    link tested $name build/libmorsel.a "$folder"/net_use.c -DSELFTEST && "$folder"/tested >"$folder"/tested.txt
    check "$name, the self-test passes" cmp "$folder"/few.txt "$folder"/tested.txt
    link alone $name build/libmorsel.a "$folder"/net_use.c -DMORSEL_ONE_TASK && "$folder"/alone >"$folder"/alone.txt
    sed 's/in tasks/in one task/' "$folder"/few.txt >"$folder"/one.txt
    check "$name, MORSEL_ONE_TASK" cmp "$folder"/one.txt "$folder"/alone.txt
    for function in run_chain cut_by_channels; do check "$name, one task: no $function" lacks "$folder"/alone $function; done
done
# MORSEL_ERR_STEP at a step of MORSEL_PART_STEP.
check "an unknown kind is refused" grep -q 'other: error 14 part 2 index 0,' $work/mlp/few.txt
check "groups are refused where a table has none" grep -q 'other: error 14 part 0 index 0,' $work/mobile/few.txt
# The same steps, and a picture rule beside them: refused where the table is of a network without, opened where it is not.
networks ruled models/cifar10/network.onnx models/cifar10/network.onnx
if "$morsel" convert models/cifar10/network.onnx -o $work/ruled/other.morsel --c $work/ruled/other.c --picture models/cifar10/picture.json >$work/log 2>&1 &&
    link few ruled build/libmorsel.a $work/ruled/net_use.c && $work/ruled/few >$work/ruled/few.txt &&
    link with ruled build/libmorsel.a $work/ruled/other_use.c && $work/ruled/with >$work/ruled/with.txt; then
    check "rules are refused where a table has none" grep -q 'other: error 14 part 0 index 0,' $work/ruled/few.txt
    check "rules are opened where it has" grep -q 'other: error 0 ' $work/ruled/with.txt
    check "no check of answers" lacks $work/mobile/few way_rules
else fail "rules"; fi
check "where it has, a network without is opened" grep -q 'other: error 0 ' $work/stream/few.txt
check "no groups" lacks $work/mobile/few run_group
check "of two operands sums of bytes alone" lacks $work/mobile/few 'binary_c|qmul_c|pow'
for kernel in depthwise_rows softmax resize unary binary mean matmul_rows gather; do # products of vectors may go by convolutions
    check "no kernel $kernel" lacks $work/mlp/few "${kernel}_c"
done

# Two networks: the table of both.
printf '#include "other_use.h"\n#include "net_use.c"\n' >$work/mlp/both.c
if link both mlp build/libmorsel.a $work/mlp/both.c && $work/mlp/both >$work/mlp/both.txt; then
    check "the kinds of two networks" cmp $work/mlp/all.txt $work/mlp/both.txt
else fail "the kinds of two networks"; fi
# A build that compiles every file.
if link every mlp build/libmorsel.a $work/mlp/net_use.c $work/mlp/other_use.c -DMORSEL_ALL_KINDS -Wpedantic && $work/mlp/every >$work/mlp/every.txt; then
    check "MORSEL_ALL_KINDS: none of the tables" cmp $work/mlp/all.txt $work/mlp/every.txt
else fail "MORSEL_ALL_KINDS"; fi
if command -v c++ >/dev/null; then check "the table as C++" c++ -std=c++11 -Wall -Wextra -Werror -c -x c++ $work/mlp/net_use.c -o $work/use.o
else echo "skip only the table as C++: no c++"; fi

# One file, whose own table is left out.
if command -v python3 >/dev/null && python3 tools/package/amalgamate.py $work/alone &&
    "$compiler" -std=c11 -O2 -Wall -Wextra -Werror -ffunction-sections -fdata-sections -DMORSEL_OWN_KINDS -c $work/alone/morsel.c -o $work/morsel.o >$work/log 2>&1 &&
    link one mlp $work/morsel.o $work/mlp/net_use.c && $work/mlp/one >$work/mlp/one.txt; then
    check "one file: the same" cmp $work/mlp/few.txt $work/mlp/one.txt
    check "one file: as few kinds" sh -c "[ \"\$(nm $work/mlp/one | grep -c ' morsel_kind_fc$')\" = 1 ] && ! nm $work/mlp/one | grep ' morsel_kind_conv$'"
else fail "one file"; fi

# Few instruction sets; plain C where the CPU has none of them.
sets() { # NAME ISA LEFT-OUT
    # Which sets a library has is said by its table alone.
    [ "$2" = c ] || { mkdir $work/"$1" && cp -Rp build/core build/kernels build/x86 build/arm64 build/flags $work/"$1" 2>$work/log; }
    library $work/"$1" ISA="$2" || return
    link "$1" mobile $work/"$1"/libmorsel.a $work/mobile/net_use.c || return
    $work/mobile/"$1" >$work/mobile/sets.txt
    check "ISA=$2: the same bytes" cmp $work/mobile/few.txt $work/mobile/sets.txt
    check "ISA=$2: no kernels of others" lacks $work/mobile/"$1" "$3"
    echo "    ISA=$2: $bytes bytes"
}
sets plain c 'avx2|avxvnni|avx512vnni|avx512vbmi|neon|dotprod|i8mm'
case $(uname -m) in
x86_64)
    sets avx2 avx2 'avxvnni|avx512vnni|avx512vbmi'
    sets avx512 "avx512vnni avx512vbmi" 'conv_rows_avx2|fc_blocks_avx2|avxvnni'
    ;;
aarch64) sets dotprod dotprod 'conv_rows_neon|fc_blocks_neon|i8mm' ;;
esac
check "ISA= of another machine is refused" sh -c "! '${MAKE:-make}' -s CROSS= ISA=sse lib >$work/log 2>&1 && grep -q 'no kernels for sse' $work/log"

# Other machines: the size, and on an emulator the bytes.
other() { # NAME PREFIX RUNNER OPTIONS-OF-THE-LINKER MAKE'S VARIABLES...
    name=$1 prefix=$2 runner=$3 compile="$2gcc $4"
    shift 4
    command -v "${prefix}gcc" >/dev/null || { echo "skip only $name: no ${prefix}gcc"; return; }
    if ! "${MAKE:-make}" -s -j2 QUIET=1 CROSS="$prefix" BUILD=$work/"$name" "$@" lib >$work/log 2>&1; then fail "$name: no library"; return; fi
    for kind in mlp mobile; do
        # shellcheck disable=SC2086
        link "$name" $kind $work/"$name"/libmorsel.a $work/$kind/net_use.c $uses || continue
        echo "    $name, $kind: $bytes bytes"
        most=$(echo "$limits" | sed -n "s/.*$kind=\([0-9]*\).*/\1/p")
        check "$name, $kind: at most $most bytes" test "$bytes" -le "$most"
        [ -n "$runner" ] || continue
        command -v "${runner%% *}" >/dev/null || { echo "skip only $name, $kind runs: no ${runner%% *}"; continue; }
        $runner $work/$kind/"$name" >$work/$kind/other.txt
        check "$name, $kind: the same bytes" cmp $work/$kind/few.txt $work/$kind/other.txt
    done
}
uses= limits="mlp=53248 mobile=79872"
other arm64-dotprod aarch64-linux-gnu- "qemu-aarch64 -cpu cortex-a76" -static ISA=dotprod
uses=-DMORSEL_ONE_TASK limits="mlp=12288 mobile=19968"
other cortex-m7 arm-none-eabi- "" "-mcpu=cortex-m7 -mthumb --specs=nosys.specs -Wno-error" OPT=-Os CFLAGS="-mcpu=cortex-m7 -mthumb"
# A CPU that CFLAGS name, beside the instruction sets of files.
if command -v aarch64-linux-gnu-gcc >/dev/null; then
    check "CFLAGS=-mcpu=cortex-a72" sh -c "'${MAKE:-make}' -s -j2 QUIET=1 OPT=-O1 WERROR=-Werror CROSS=aarch64-linux-gnu- CFLAGS=-mcpu=cortex-a72 \
        BUILD=$work/cpu $(ls arm64/*.c | sed "s,\(.*\)c\$,$work/cpu/\1o," | tr '\n' ' ') >$work/log 2>&1"
fi
exit $status
