#!/bin/sh
# SPDX-License-Identifier: MIT
# test.sh: the program of `make device`, here and by qemu-aarch64, brought by ssh to this machine, and by a stand-in for adb.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=$PWD/build/device/test
sshd=
unset MAKEFLAGS MAKELEVEL MFLAGS
rm -rf "$work" && mkdir -p "$work/there" "$work/bin" || exit 1
trap '[ -z "$sshd" ] || kill "$sshd"' EXIT
status=0
ok() { echo "ok device $1"; }
fail() { echo "FAIL device $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }

# holds NAME REPORT EXPRESSION: of the report `r`, in Python.
holds() {
    if python3 -c "import json; r = json.load(open('$2')); nets = {n['name']: n for n in r['networks']}; assert $3" >>"$work/log" 2>&1; then ok "$1"
    else fail "$1"; fi
}
# ends NAME STATUS COMMAND...
ends() {
    name=$1 expected=$2
    shift 2
    "$@" >"$work/out" 2>"$work/log"
    got=$?
    if [ $got = "$expected" ]; then ok "$name"; else echo "status $got, not $expected" >>"$work/log"; fail "$name"; fi
}

case $(uname -m) in x86_64) here=x86-64 ;; aarch64) here=arm64 ;; *) echo "skip device: no program for $(uname -m)"; exit 0 ;; esac
own=build/device/morsel-device-$here arm=build/device/morsel-device-arm64 other=
! command -v aarch64-linux-gnu-gcc >/dev/null || other=arm64
# shellcheck disable=SC2086
sh tests/device/build.sh $here $other >"$work/log" 2>&1 || { fail "is built"; exit 1; }

# A phone of two kinds of cores, one of them asleep.
core() { # NUMBER CAPACITY KHZ MIDR ONLINE
    cpu=$work/phone/sys/devices/system/cpu/cpu$1
    mkdir -p "$cpu/cpufreq" "$cpu/regs/identification"
    echo "$2" >"$cpu/cpu_capacity"
    echo "$3" >"$cpu/cpufreq/cpuinfo_max_freq"
    echo schedutil >"$cpu/cpufreq/scaling_governor"
    echo "$4" >"$cpu/regs/identification/midr_el1"
    echo "$5" >"$cpu/online"
}
for n in 0 1 2 3; do core $n 250 1800000 0x00000000412fd050 1; done
core 4 1024 2400000 0x00000000414fd0b1 1
core 5 1024 2400000 0x00000000414fd0b1 1
core 6 1024 2400000 0x00000000414fd0b1 0
ends "lists cores" 0 $own --cores --root "$work/phone"
python3 - "$work/out" >"$work/log" 2>&1 <<'END' && ok "puts the strongest first, without those asleep" || fail "puts the strongest first, without those asleep"
import json, sys
kinds = json.load(open(sys.argv[1]))["kinds"]
assert [(k["name"], k["cores"], k["max_mhz"], k["governor"]) for k in kinds] == [
    ("Cortex-A76", [4, 5], 2400, "schedutil"), ("Cortex-A55", [0, 1, 2, 3], 1800, "schedutil")], kinds
END

ends "runs here" 0 $own --quick --real --seconds 0.05 --cases 5 --json "$work/here.json"
holds "reports bytes and times" "$work/here.json" "r['good'] and not r['emulated'] and r['kernels']['compared'] > 25 and r['golden']['compared'] >= 3 \
    and len(nets) == 4 and all(n['same'] and 0 < t['min_ms'] <= t['p50_ms'] <= t['p95_ms'] <= t['p99_ms'] and t['runs'] >= 20 and t['before']['mhz'] > 100
    for n in nets.values() for t in n['times'])"
head -c 100000 models/cifar10/network.morsel >"$work/cut.morsel"
ends "says what does not open" 1 $own --quick --emulated --cases 1 --json "$work/cut.json" "$work/cut.morsel"
holds "goes on behind it" "$work/cut.json" "not r['good'] and r['emulated'] and len(nets) == 4 and not any('times' in n for n in nets.values())"
ends "refuses unknown options" 2 $own --fast

# The estimate beside it: at 1000 MHz, 2.5 million cycles are 2.5 ms.
python3 - "$work" <<'END'
import json, sys
report = json.load(open(sys.argv[1] + "/here.json"))
for network in report["networks"]:
    for row in network["times"]:
        row["after"]["mhz"] = 1000.0
json.dump(report, open(sys.argv[1] + "/slow.json", "w"))
json.dump({"models/cifar10/network.morsel": {"whole": {"cycles": 2.5e6}}}, open(sys.argv[1] + "/a76.json", "w"))
END
ends "makes a table" 0 python3 tests/device/table.py "$work/slow.json" "$work/a76.json"
if [ "$(grep -c '^| cifar10 .*| 1000 |.*| 2\.500 |' "$work/out")" = 1 ]; then ok "has the estimate beside one thread"
else cp "$work/out" "$work/log"; fail "has the estimate beside one thread"; fi

mkdir "$work/other"
cp models/cifar10/network.morsel "$work/other/network.morsel"
ends "brings no two blobs of one name" 2 sh build/device/run.sh nobody@localhost models/cifar10/network.morsel "$work/other/network.morsel"
cp models/cifar10/network.morsel "$work/other/device"
ends "brings none in the place of the program" 2 sh build/device/run.sh nobody@localhost "$work/other/device"

# To this machine by ssh, with a key and a server of its own.
brought() { # NAME: nothing is left behind
    if [ -z "$(ls "$work/there")" ]; then ok "$1 leaves nothing"; else ls "$work/there" >"$work/log"; fail "$1 leaves nothing"; fi
}
by_ssh() { MORSEL_DEVICE_TMP=$work/there MORSEL_SSH="ssh -q -F none -p $port -i $work/key -o BatchMode=yes -o UserKnownHostsFile=$work/known -o StrictHostKeyChecking=no" \
    sh build/device/run.sh "$(id -un)@127.0.0.1" "$@"; }
server=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null)
if [ -n "$server" ] && command -v ssh >/dev/null; then
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    for key in key host; do ssh-keygen -q -t ed25519 -N '' -f "$work/$key"; done
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    "$server" -D -e -f /dev/null -p "$port" -h "$work/host" -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile="$work/key.pub" -o StrictModes=no \
        -o PidFile=none -o UsePAM=no -o PasswordAuthentication=no -o PermitRootLogin=prohibit-password 2>"$work/sshd.log" &
    sshd=$!
    n=0
    until ssh-keyscan -p "$port" 127.0.0.1 >"$work/known" 2>/dev/null && [ -s "$work/known" ] || [ $n -ge 50 ]; do sleep 0.1; n=$((n + 1)); done
    ends "by ssh" 0 by_ssh --quick --emulated --out "$work/ssh.json" models/cifar10/network.morsel
    holds "by ssh, with a blob" "$work/ssh.json" "r['good'] and nets['network.morsel']['crc'] == nets['cifar10']['crc']"
    brought "by ssh"
    ends "by ssh, says what failed" 1 by_ssh --quick --emulated --out "$work/ssh-cut.json" "$work/cut.morsel"
    brought "by ssh, after a failure"
    kill $sshd && wait $sshd 2>/dev/null
    sshd=
    ends "by ssh, where nobody answers" 3 by_ssh --quick --out "$work/none.json"
else echo "skip device by ssh: no sshd; Debian has it: openssh-server"; fi

# To a phone: a stand-in for adb, whose phone is a folder here and whose CPU is qemu's.
if [ -f $arm ] && command -v qemu-aarch64 >/dev/null; then
    cat >"$work/bin/adb" <<'END'
#!/bin/sh
[ "$1 $2" = "-s phone" ] || exit 1
shift 2
case $1 in
push) case $3 in
    */device) cp "$2" "$3.real" && printf '#!/bin/sh\nexec qemu-aarch64 "$0.real" "$@"\n' >"$3" ;;
    *) cp "$2" "$3" ;;
    esac ;;
pull) cp "$2" "$3" ;;
shell) case $2 in
    "uname -m") echo aarch64 ;;
    getprop*) printf 'Phone 7\r\n' ;;
    *) exec sh -c "$2" ;;
    esac ;;
esac
END
    chmod +x "$work/bin/adb"
    ends "by adb" 0 env MORSEL_ADB="$work/bin/adb" MORSEL_DEVICE_TMP="$work/there" sh build/device/run.sh adb:phone --quick --out "$work/adb.json"
    holds "by adb: an emulator is noticed, and no times are told" "$work/adb.json" "r['good'] and r['emulated'] and r['device'].strip() == 'Phone 7' \
        and not any('times' in n for n in nets.values()) and 'neon' in r['isas']"
    holds "by adb: the same answers as here" "$work/adb.json" "{k: n['crc'] for k, n in nets.items()} == {n['name']: n['crc']
        for n in json.load(open('$work/here.json'))['networks']}"
    brought "by adb"
    ends "by adb, of no such phone" 3 env MORSEL_ADB="$work/bin/adb" sh build/device/run.sh adb:other --out "$work/none.json"
else echo "skip device by adb: no compiler or emulator of arm64"; fi
exit $status
