#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh user@board|adb[:serial] [--a76 ESTIMATE.json] [--out REPORT.json] [--quick] [--seconds S] [--emulated] [BLOB...]
# Brings the program of `make device` and blobs to a board by ssh, or to a phone by adb; runs it; fetches its report; removes all it brought.
# Prints a table to paste. ESTIMATE.json is what `make a76 A76="--json ESTIMATE.json NET..."` wrote of the same networks.
#   MORSEL_SSH          the command [ssh], as "ssh -p 2222 -i key"
#   MORSEL_DEVICE_TMP   a folder there, on a file system that programs may run from [/tmp, by adb /data/local/tmp]
# Exit status: that of the program: 0 all bytes are right, 1 some are not; 3: it did not get as far.
here=$(cd "$(dirname "$0")" && pwd) || exit 3
ssh=${MORSEL_SSH:-ssh}
say() { echo "run.sh: $*" >&2; }
usage() { sed -n '3,8s/^# //p' "$0" >&2; exit 2; }

target=$1 estimate='' out=device-report.json options='' blobs=
case $target in '' | -*) usage ;; esac
shift
while [ $# -gt 0 ]; do
    case $1 in
    --a76) estimate=$2; [ -f "$2" ] || usage; shift 2 ;;
    --out) out=$2; [ -n "$2" ] || usage; shift 2 ;;
    --seconds) options="$options --seconds $2"; [ "$2" -gt 0 ] || usage; shift 2 ;;
    --quick | --emulated) options="$options $1"; shift ;;
    -*) usage ;;
    *) break ;;
    esac
done
plain() { basename "$1" | tr -c '[:alnum:]._\n-' _; }
for blob in "$@"; do
    [ -f "$blob" ] || { say "there is no $blob"; exit 2; }
    # All lie in one folder there, beside the program and its report.
    case " $blobs device report.json " in *" $(plain "$blob") "*) say "$blob: its name is taken there; name it otherwise"; exit 2 ;; esac
    blobs="$blobs $(plain "$blob")"
done

# there COMMAND: runs it on the device, in its shell.  put FILE NAME, get NAME FILE: to and from the folder.
case $target in
adb | adb:*)
    serial=${target#adb}
    serial=${serial#:}
    adb() { command "${MORSEL_ADB:-adb}" ${serial:+-s "$serial"} "$@" </dev/null; }
    there() { adb shell "$1"; }
    put() { adb push "$1" "$folder/$2" >/dev/null; }
    get() { adb pull "$folder/$1" "$2" >/dev/null; }
    name=$(there 'getprop ro.product.model' 2>/dev/null | tr -d '\r' | tr -c '[:alnum:] ._-' ' ')
    base=${MORSEL_DEVICE_TMP:-/data/local/tmp}
    ;;
*)
    # shellcheck disable=SC2086
    there() { $ssh "$target" "$1" </dev/null; }
    # shellcheck disable=SC2086
    put() { $ssh "$target" "cat >'$folder/$2'" <"$1"; }
    get() { there "cat '$folder/$1'" >"$2"; }
    name=
    base=${MORSEL_DEVICE_TMP:-/tmp}
    ;;
esac

machine=$(there 'uname -m' | tr -d '\r') || { say "$target does not answer"; exit 3; }
case $machine in
aarch64 | arm64 | armv8*) architecture=arm64 ;;
armv7*) architecture=armv7 ;;
riscv64) architecture=riscv64 ;;
x86_64) architecture=x86-64 ;;
*) say "there is no program for $machine"; exit 3 ;;
esac
program=$here/morsel-device-$architecture
if [ ! -f "$program" ]; then
    "${MAKE:-make}" -s -C "$here/../.." device DEVICE_FOR=$architecture >&2 || exit 3
    program=$here/../../build/device/morsel-device-$architecture
fi

folder=
clean() { [ -z "$folder" ] || there "rm -rf '$folder'"; folder=; }
trap clean EXIT
trap 'clean; exit 3' INT TERM HUP
folder=$base/morsel-device-$$-$(date +%s)
there "umask 077; mkdir '$folder'" || { folder=; say "no folder can be made in $base of $target"; exit 3; }
put "$program" device && there "chmod 700 '$folder/device'" || { say "the program cannot be brought"; exit 3; }
for blob in "$@"; do
    put "$blob" "$(plain "$blob")" || { say "$blob cannot be brought"; exit 3; }
done
there "cd '$folder' && ./device --json report.json ${name:+--name '$name'} $options $blobs"
status=$?
[ $status -le 1 ] && get report.json "$out" || { say "there is no report: the program ended with $status"; exit 3; }
clean
python3 "$here/table.py" "$out" ${estimate:+"$estimate"} || exit 3
exit $status
