#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [PATTERN...]: the library in one file, by each compiler that a Debian machine can have, for each target that it can run or compile:
# runs, CRC of the shipped network's scores, stack of morsel_run(), code. PATTERN chooses rows by target and compiler: "cortex", "gcc-12".
# The table goes to stdout and build/portability/table.md. Exit status 1: a row answers otherwise than the library here, or fails.
# MORSEL is the tool, CC the compiler that the library was built by, NETWORK a blob in the place of the shipped network.
cd "$(dirname "$0")/../.." || exit 1
work=build/portability here=tests/portability
status=0
patterns=$*
unset MAKEFLAGS MAKELEVEL MFLAGS
mkdir -p $work || exit 1
size=$(command -v llvm-size || command -v llvm-size-14 || command -v size)

rows=0
say() { rows=$((rows + 1)); echo "| $1 | $2 | $3 | $4 | $5 | $6 |" | tee -a $work/table.md; }
broken() { say "$1" "$2" "**no**: $3" "" "" ""; tail -n 5 $work/log | sed 's/^/    /' >&2; status=1; }
wanted() { # TARGET COMPILER
    [ -n "$patterns" ] || return 0
    for pattern in $patterns; do case "$1 $2" in *"$pattern"*) return 0 ;; esac; done
    return 1
}

if [ -n "$NETWORK" ]; then set -- edit "$NETWORK"; else set -- convert models/cifar10/network.onnx; fi
python3 tools/package/amalgamate.py $work/alone >$work/log 2>&1 &&
    "${MORSEL:-build/morsel}" "$@" -o $work/net.morsel --c $work/net.S >>$work/log 2>&1 &&
    "${CC:-cc}" -std=c11 -Icore -I$work $here/portable.c $here/hosted.c $work/net.S build/libmorsel.a -o $work/program >>$work/log 2>&1 &&
    expected=$($work/program) || { cat $work/log; echo "portability: the library does not answer here" >&2; exit 1; }
hash=$(echo "$expected" | cut -d' ' -f2)
printf '| target | compiler | runs | hash | stack | code |\n|---|---|---|---|---|---|\n' | tee $work/table.md

# try TARGET COMPILER PACKAGES RUNNER PORT COMMAND...: PORT is what is linked beside the library and the network, "" where nothing is.
# RUNNER has the emulator and its package, "qemu-arm:qemu-user", a colon alone where none is needed. `rest` is the command for all but the
# library, where that is another's.
try() {
    target=$1 compiler=$2 package=$3 runner=$4 port=$5
    shift 5
    wanted "$target" "$compiler" || return
    if ! command -v "$1" >/dev/null; then say "$target" "$compiler" "not installed: $package" "" "" ""; return; fi
    # shellcheck disable=SC2086
    if ! "$@" -std=c11 -O2 -Wall -Wextra $freestanding -I$work/alone -c $work/alone/morsel.c -o $work/morsel.o >$work/log 2>&1; then
        broken "$target" "$compiler" "the library does not compile"
        return
    fi
    code=$($size $work/morsel.o | awk 'NR == 2 { print $1 }')
    if [ -z "$port" ]; then say "$target" "$compiler" "compiles" "" "" "$code"; return; fi
    [ -z "$rest" ] || { shift $#; set -- $rest; }
    # shellcheck disable=SC2086
    if ! "$@" -std=c11 -O1 -I$work/alone -I$work $here/portable.c $port $work/net.S $work/morsel.o $link -o $work/program >$work/log 2>&1; then
        broken "$target" "$compiler" "it does not link"
        return
    fi
    emulator=${runner%:*}
    if [ -n "$emulator" ] && ! command -v "${emulator%% *}" >/dev/null; then
        say "$target" "$compiler" "compiles; not installed: ${runner##*:}" "" "" "$code"
        return
    fi
    # shellcheck disable=SC2086
    timeout 600 $emulator $work/program >$work/out 2>&1 </dev/null
    cp $work/out $work/log
    judge "$(tr -d '\r' <$work/out | tail -n 1)" # a console ends lines by two characters
}

# judge ANSWER: of the row that try() is at.
judge() {
    case $1 in
    "hash $hash stack "*) say "$target" "$compiler" "yes" "$hash" "${1##* }" "$code" ;;
    "$refusal") say "$target" "$compiler" "refuses: $1" "" "" "$code" ;;
    *) broken "$target" "$compiler" "${1:-it says nothing}" ;;
    esac
}

# ---- Linux ----
refusal=none freestanding='' rest='' link=-static hosted=$here/hosted.c
native=$(uname -m)
for v in 10 11 12 13 14; do try "$native" gcc-$v gcc-$v : $hosted gcc-$v; done
for v in 14 15 16 17 18 19; do try "$native" clang-$v clang-$v : $hosted clang-$v; done
try i686 gcc gcc-i686-linux-gnu : $hosted i686-linux-gnu-gcc -msse2 -mfpmath=sse
# beside TARGET PACKAGES RUNNER GCC LINKER CLANG...: by clang, which wants nothing of the target. LINKER makes the program of it with the C library
# of PACKAGES, which are there where GCC is; else the library is compiled alone.
beside() {
    name=$1 packages=$2 by=$3 rest=$5 port=$hosted
    command -v "$4" >/dev/null || { port='' rest=''; }
    shift 5
    freestanding="-ffreestanding -isystem tests/link/include"
    try "$name" clang "clang $packages" "$by" "$port" "$@"
    rest='' freestanding=''
}
beside i686 gcc-i686-linux-gnu : i686-linux-gnu-gcc "i686-linux-gnu-gcc -msse2 -mfpmath=sse" clang --target=i686-linux-gnu -msse2
linux() { # TARGET PREFIX RUNNER LIBC OPTIONS...
    name=$1 prefix=$2 by=$3:qemu-user libc=$4
    shift 4
    try "$name" gcc "gcc-$prefix $libc" "$by" $hosted "$prefix-gcc" "$@"
    beside "$name" "gcc-$prefix $libc" "$by" "$prefix-gcc" "clang --target=$prefix $*" clang --target="$prefix" "$@"
}
linux arm64 aarch64-linux-gnu qemu-aarch64 libc6-dev-arm64-cross
linux armv7 arm-linux-gnueabihf qemu-arm libc6-dev-armhf-cross
linux riscv64 riscv64-linux-gnu qemu-riscv64 libc6-dev-riscv64-cross
refusal="this machine is big-endian; blobs are little-endian"
linux s390x s390x-linux-gnu qemu-s390x libc6-dev-s390x-cross
refusal=none

# ---- Cortex-M, on boards of qemu ----
# board NAME CODE NETWORK RAM: what cortex() links for. Cortex-M0+ has no board that holds the network, and runs on a Cortex-M3.
board() {
    machine=$1
    sed "s/@CODE@/$2/; s/@NETWORK@/$3/; s/@RAM@/$4/" $here/board.ld >$work/board.ld
}
cortex() { # TARGET OPTIONS...
    name=$1
    shift
    link="-nostartfiles -T $work/board.ld -Wl,--no-warn-rwx-segments" freestanding=
    runner="qemu-system-arm -M $machine -nographic -semihosting -kernel:qemu-system-arm"
    try "$name" gcc "gcc-arm-none-eabi libnewlib-arm-none-eabi" "$runner" $here/cortex_m.c arm-none-eabi-gcc -mthumb "$@"
    freestanding="-ffreestanding -isystem tests/link/include"
    rest="arm-none-eabi-gcc -mthumb $*"
    command -v arm-none-eabi-gcc >/dev/null || runner="arm-none-eabi-gcc:gcc-arm-none-eabi libnewlib-arm-none-eabi"
    # What clang has to be told (kernels/exact.h).
    case $1 in *-m55) shift; set -- -mcpu=cortex-m55+nomve.fp "$@" ;; esac
    try "$name" clang clang "$runner" $here/cortex_m.c clang --target=arm-none-eabi -mthumb "$@"
    rest=
}
board mps2-an385 0x0 0x100000 0x20000000
cortex "Cortex-M0+ (on M3)" -mcpu=cortex-m0plus
board mps2-an386 0x0 0x100000 0x20000000
cortex Cortex-M4 -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16
board mps2-an500 0x0 0x100000 0x20000000
cortex Cortex-M7 -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16
board mps2-an505 0x10000000 0x10100000 0x38000000
cortex Cortex-M33 -mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16
board mps3-an547 0x10000000 0x70000000 0x30000000
cortex Cortex-M55 -mcpu=cortex-m55 -mfloat-abi=hard

# ---- others ----
freestanding="-ffreestanding -isystem tests/link/include"
link="-nostdlib -fno-builtin -isystem tests/link/include -Wl,--no-entry -Wl,--export=portable -Wl,--allow-undefined -Wl,-z,stack-size=1048576"
try wasm32 clang "clang lld" "node $here/wasm.js:nodejs" $here/wasm.c clang --target=wasm32-unknown-unknown
freestanding='' link=-static
export WINEPREFIX="$PWD/$work/wine" WINEDEBUG=-all
try "x86_64, Windows" gcc gcc-mingw-w64-x86-64 "wine:wine64" $hosted x86_64-w64-mingw32-gcc
beside "x86_64, Windows" gcc-mingw-w64-x86-64 wine:wine64 x86_64-w64-mingw32-gcc x86_64-w64-mingw32-gcc clang --target=x86_64-w64-mingw32
freestanding="-ffreestanding -isystem tests/link/include"
while read -r target _; do
    case $target in '#'* | wasm32-*) ;; *) try "$target" clang clang "" "" clang --target="$target" ;; esac
done <tests/package/targets.txt
while read -r abi target options; do
    # shellcheck disable=SC2086
    case $abi in '#'*) ;; *) try "Android, $abi" clang clang "" "" clang --target="${target}21" $options ;; esac
done <tools/package/aar/abis.txt
[ $status -eq 0 ] || echo "portability: a row fails" >&2
[ $rows -gt 0 ] || { echo "portability: no row is called so: $patterns" >&2; status=1; }
exit $status
