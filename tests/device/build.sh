#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh [ARCHITECTURE...]: `make device`. build/device/morsel-device-ARCHITECTURE for each that there is a compiler for [all], and
# beside them run.sh and table.py. Exit status 1: one of those that were named cannot be built.
cd "$(dirname "$0")/../.." || exit 1
out=build/device status=0
mkdir -p $out || exit 1
native=$(${CC:-cc} -dumpmachine)

# one ARCHITECTURE PREFIX PACKAGES: where the prefix is that of this machine, its own compiler builds.
one() {
    case " $wanted " in *" $1 "* | "  ") ;; *) return ;; esac
    rm -f $out/morsel-device-"$1"
    case $native in
    "${2%%-*}"*) set -- "$1" "" REDUCED=1 BUILD=build/demo ;;
    *)
        if ! command -v "${2}gcc" >/dev/null; then
            echo "skip $1: no ${2}gcc; Debian has it: $3"
            [ -z "$wanted" ] || status=1
            return
        fi
        set -- "$1" "$2" "CROSS=$2" "BUILD=build/${2%-}"
        ;;
    esac
    if "${MAKE:-make}" --no-print-directory -s -j"${JOBS:-2}" QUIET=1 "$3" "$4" device-program &&
        "${2}strip" -o $out/morsel-device-"$1" "${4#BUILD=}/tests/device/device"; then echo "$out/morsel-device-$1"
    else
        echo "FAIL $1"
        status=1
    fi
}

wanted=$*
for name in $wanted; do
    case $name in arm64 | armv7 | riscv64 | x86-64) ;; *) echo "build.sh: there is no program for $name"; exit 1 ;; esac
done
one arm64 aarch64-linux-gnu- "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
one armv7 arm-linux-gnueabihf- "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"
one riscv64 riscv64-linux-gnu- "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
one x86-64 x86_64-linux-gnu- "gcc-x86-64-linux-gnu libc6-dev-amd64-cross"
cp tests/device/run.sh tests/device/table.py $out/ && echo "$out/run.sh user@board|adb[:serial]"
exit $status
