#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel convert --c NAME.S: a program with the assembly, by gcc and by clang, runs as one with the array, by the same header; objects for
# other systems have the symbol, the bytes and the alignment of the array's. Prints "ok NAME", "FAIL NAME" or "skip NAME: why".
cd "$(dirname "$0")/../.." || exit 1
verb=convert title='assembly: '
. tests/cli/calls.sh
network=models/cifar10/network.onnx root=$PWD
library=$root/$(dirname "${morsel##* }")/libmorsel.a
sanitize=
case $morsel in *sanitize*) sanitize=-fsanitize=address,undefined ;; esac
odd=$work/$(printf 'a "b\\ c??/d\ne')
mkdir -p "$work/array" "$odd"

verify "is written" call 0 $network -o "$work/net.morsel" --c "$work/net.S"
verify "is named" says "^$work/net.S, $work/net.h$"
verify "the array" call 0 $network -o "$work/array/net.morsel" --c "$work/array/net.c"
tail -n +2 "$work/net.h" >"$work/s.txt"
tail -n +2 "$work/array/net.h" >"$work/c.txt"
verify "declares what the array declares" cmp "$work/s.txt" "$work/c.txt"
verify "has the kinds that the array has" sh -c "cmp '$work/net_use.c' '$work/array/net_use.c' && cmp '$work/net_use.h' '$work/array/net_use.h'"

printf '#include "net.h"\n#include "core/morsel.h"\nstatic _Alignas(64) uint8_t arena[MODEL_ARENA_BYTES];\nint main(void) {\n%s\n%s\n}\n' \
    'struct morsel_model m; struct morsel_session s;' \
    'return morsel_open(&m, net_blob, sizeof net_blob, 0) || morsel_session_open(&s, &m, arena, sizeof arena, 0) || morsel_run(&s);' >"$work/main.c"
run_by() { # COMPILER
    command -v "$1" >/dev/null || { echo "skip ${title}by $1: not there"; return; }
    # shellcheck disable=SC2086
    verify "by $1" sh -c "'$1' $sanitize -Wall -Wextra -Werror -I'$work' -I. '$work/main.c' '$work/net.S' '$library' -o '$work/main' && '$work/main'"
}
run_by gcc
[ -n "$sanitize" ] || run_by clang # two sanitizers do not go together
verify "for position-independent code" "${CC:-cc}" -fPIC -shared -Wl,-z,text -o "$work/net.so" "$work/net.S"
verify "in C++" sh -c "printf '#include \"net.h\"\nint main() { return net_blob[0]; }\n' >'$work/main.cc' &&
    ${CXX:-g++} -I'$work' '$work/main.cc' '$work/net.S' -o '$work/main'"

# The path is as -o had it; a macro names another.
verify "in a folder with an odd name" call 0 $network -o "$odd/net.morsel" --c "$odd/net.S"
verify "is found" "${CC:-cc}" -std=c11 -c "$odd/net.S" -o "$work/odd.o"
command -v clang >/dev/null && verify "by clang, too" clang -std=c11 -Werror -c "$odd/net.S" -o "$work/odd_clang.o"
verify "has the same bytes" sh -c "objcopy -O binary -j .rodata.net_blob '$work/odd.o' '$work/odd.bin' && cmp '$work/odd.bin' '$work/net.morsel'"
mv "$work/net.morsel" "$work/moved.morsel"
verify "is an error where the blob is gone" sh -c "! ${CC:-cc} -c '$work/net.S' -o '$work/gone.o'"
verify "takes another path" "${CC:-cc}" -DNET_FILE="\"$work/moved.morsel\"" -c "$work/net.S" -o "$work/net.o"

echo "mine" >"$work/food.h"
verify "beside somebody else's header" call_says "food.h stands beside" 2 $network -o "$work/food.morsel" --c "$work/food.S"
verify "is not written" sh -c "[ ! -e '$work/food.S' ] && [ ! -e '$work/food.morsel' ]"

# For others' systems: what the array's object has, by the same compiler.
symbol_of() { # OBJECT: its name, and where in the section it lies
    "$nm" "$1" | sed -n 's/^\([0-9a-f]*\) [RDSrds] \(_*net_blob\)$/\2 \1/p'
}
nm=$(command -v llvm-nm || command -v llvm-nm-14) read=$(command -v llvm-readobj || command -v llvm-readobj-14)
small=tests/cli/free_batch.onnx
if command -v clang >/dev/null && [ -n "$nm" ] && [ -n "$read" ] && [ -z "$sanitize" ]; then
    call 0 $small -o "$work/net.morsel" --c "$work/net.S"
    call 0 $small -o "$work/array/net.morsel" --c "$work/array/net.c"
    for target in x86_64-linux-gnu i686-linux-gnu aarch64-linux-gnu arm-none-eabi riscv64-linux-gnu aarch64-linux-android arm64-apple-macos x86_64-apple-macos \
        x86_64-w64-mingw32 i686-w64-mingw32 aarch64-pc-windows-msvc wasm32-unknown-unknown; do
        build="clang --target=$target -ffreestanding -c"
        verify "for $target" sh -c "$build '$work/net.S' -o '$work/s.o' && $build -include stdint.h '$work/array/net.c' -o '$work/c.o'"
        symbol_of "$work/s.o" >"$work/s.symbol"
        symbol_of "$work/c.o" >"$work/c.symbol"
        verify "for $target, the array's symbol" sh -c "[ -s '$work/c.symbol' ] && cmp '$work/s.symbol' '$work/c.symbol'"
        [ $target = wasm32-unknown-unknown ] || verify "for $target, aligned to 64" sh -c \
            "'$read' --sections '$work/s.o' | grep -E 'AddressAlignment: 64$|Alignment: 6$|IMAGE_SCN_ALIGN_64BYTES'"
    done
else echo "skip ${title}for other systems: no clang with llvm-nm, or under a sanitizer"; fi
exit $status
