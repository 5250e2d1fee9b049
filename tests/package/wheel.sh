#!/bin/sh
# SPDX-License-Identifier: MIT
# wheel.sh [PREFIX-]: `make wheel`; what the wheel holds and whether its tag is true; then it is installed where there is no compiler, and used
# by tests/package/python. With a prefix as of CROSS= it is the wheel of another machine: its shared object runs in an emulator.
# The Python is build/venv's where that is there, or one that has numpy. MORSEL is the tool that answers are compared with.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
cross=$1
work=build/package/wheel${cross:+-${cross%-}}
status=0
unset MAKEFLAGS MAKELEVEL MFLAGS MORSEL_CPU
ok() { echo "ok wheel $1"; }
fail() { echo "FAIL wheel $1"; tail -n 15 "$work/log" | sed 's/^/    /'; status=1; }
command -v python3 >/dev/null || { echo "skip wheel: no python3"; exit 0; }
rm -rf "$work" && mkdir -p "$work" || exit 1
if "${MAKE:-make}" -s QUIET=1 CROSS="$cross" wheel >"$work/log" 2>&1; then ok "is built"; else fail "is built"; exit 1; fi
wheel=$(tail -n 1 "$work/log")
python3 -m zipfile -e "$wheel" "$work/files" || exit 1

# Each file is in RECORD with its sum, and RECORD names no other.
if python3 - "$work/files" >"$work/log" 2>&1 <<'END'
import base64, csv, glob, hashlib, os, sys
folder = sys.argv[1]
record = glob.glob(folder + "/*.dist-info/RECORD")[0]
stated = {name: total for name, total, _ in csv.reader(open(record))}
have = {os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names}
assert have == set(stated), have ^ set(stated)
for name in have - {os.path.relpath(record, folder)}:
    total = base64.urlsafe_b64encode(hashlib.sha256(open(os.path.join(folder, name), "rb").read()).digest()).rstrip(b"=").decode()
    assert stated[name] == "sha256=" + total, name
wanted = {"morsel/__init__.py", "morsel/py.typed", "morsel/libmorsel.so"}
assert wanted <= have, wanted - have
END
then ok "is what its RECORD says"; else fail "is what its RECORD says"; fi

# The tag: no symbol is of a newer glibc, one is of that; and nothing is needed but what each system has, or lies beside.
objects=$(ls "$work"/files/morsel/*.so*)
# shellcheck disable=SC2086
newest=$({ echo 2.17; "${cross}objdump" -T $objects | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//'; } | sort -V | tail -n 1)
machine=$("${cross}objdump" -f "$work/files/morsel/libmorsel.so" | sed -n 's/^architecture: \([^,]*\),.*/\1/p' | sed 's/i386:x86-64/x86_64/')
echo "$wheel: glibc $newest, $machine" >"$work/log"
case $wheel in *-py3-none-manylinux_$(echo "$newest" | tr . _)_"$machine".whl) ok "tag: glibc $newest, $machine" ;; *) fail "tag" ;; esac
# shellcheck disable=SC2086
"${cross}objdump" -p $objects | awk '$1 == "NEEDED" { print $2 }' | sort -u | while read -r needed; do
    case $needed in libc.so.6 | libm.so.6 | libpthread.so.0 | ld-linux-*) ;; *) [ -f "$work/files/morsel/$needed" ] || echo "$needed" ;; esac
done >"$work/log"
if [ -s "$work/log" ]; then fail "needs what is not there"; else ok "needs nothing else"; fi
"${cross}nm" -D --defined-only "$work/files/morsel/libmorsel.so" | awk '{ print $3 }' | grep -v '^morsel_' >"$work/log"
if [ -s "$work/log" ]; then fail "exports other names"; else ok "exports its own names"; fi

if [ -n "$cross" ]; then
    # The tool in the shared object, by a program that knows its name alone.
    emulator=qemu-${cross%%-*}
    command -v "$emulator" >/dev/null || { echo "skip wheel in an emulator: no $emulator"; exit $status; }
    cat >"$work/load.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    int (*tool)(int, char **) = library ? (int (*)(int, char **))dlsym(library, "morsel_tool") : NULL;
    if (!tool) return fprintf(stderr, "%s\n", dlerror()), 3;
    return tool(argc - 1, argv + 1);
}
END
    golden=tests/golden/cases/conv_dense-qop-u8s8pc
    if "${cross}gcc" "$work/load.c" -o "$work/load" -ldl >"$work/log" 2>&1 &&
        "${MORSEL:-build/morsel}" convert $golden/net.onnx -o "$work/net.morsel" >>"$work/log" 2>&1 &&
        "$emulator" -L "/usr/${cross%-}" "$work/load" "$work/files/morsel/libmorsel.so" run "$work/net.morsel" --input $golden/in0.npy \
            --output "$work/out.npy" >>"$work/log" 2>&1 && cmp $golden/out0.npy "$work/out.npy" >>"$work/log" 2>&1; then ok "in an emulator"
    else fail "in an emulator"; fi
    exit $status
fi

python=
for one in "$PWD/build/venv/bin/python" python3 /usr/bin/python3; do
    if [ -z "$python" ] && "$one" -c 'import numpy' 2>/dev/null; then python=$one; fi
done
[ -n "$python" ] || { echo "skip wheel is used: no Python with numpy"; exit $status; }
python=$("$python" -c 'import sys; print(sys.executable)')
if "$python" -m pip --version >/dev/null 2>&1; then
    if env PATH=/nowhere "$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$work/installed" "$wheel" \
        >"$work/log" 2>&1; then ok "is installed"; else fail "is installed"; exit 1; fi
else
    echo "skip wheel is installed: no pip"
    cp -r "$work/files" "$work/installed"
fi
if [ "$("$python" "$work/installed/morsel/__main__.py" --version)" = "$("${MORSEL:-build/morsel}" --version)" ]; then ok "is the tool"
else fail "is the tool"; fi
MORSEL=${MORSEL:-build/morsel} CC=${CC:-cc} PYTHONPATH="$PWD/$work/installed" PYTHONDONTWRITEBYTECODE=1 "$python" tests/package/python/run.py ||
    status=1
exit $status
