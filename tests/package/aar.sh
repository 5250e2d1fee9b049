#!/bin/sh
# SPDX-License-Identifier: MIT
# aar.sh: the package for Android. Its layout is Prefab's. A shared object of an app is linked with each module by clang for
# aarch64-linux-android, and its ELF is looked at; and the package's own library answers as the library does, beside another C library under an
# emulator. ABIS="arm64-v8a x86 .." says for which ABIs it is made; armeabi-v7a is compiled in any case.
# MORSEL is the tool, CC the compiler. Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=$PWD/build/package/aar compiler=${CC:-cc} morsel=${MORSEL:-build/morsel}
status=0
fail() { echo "FAIL aar $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }
# NAME COMMAND...
verify() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then echo "ok aar $name"; else fail "$name"; fi
}
for program in clang ld.lld llvm-ar llvm-strip llvm-readelf llvm-nm; do
    command -v "$program" >/dev/null || { echo "skip aar: no $program"; exit 0; }
done
rm -rf "$work" && mkdir -p "$work/stub" || exit 1
# shellcheck disable=SC2086
if ! sh tools/package/aar.sh "$work" ${ABIS:-arm64-v8a} armeabi-v7a >"$work/log" 2>&1; then
    fail "is made"
    exit 1
fi

# --- the layout
version=$(sed -n 's/^#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
cat >"$work/layout.py" <<'END'
import json
import sys
import zipfile
aar, version, abis = zipfile.ZipFile(sys.argv[1]), sys.argv[2], sys.argv[3].split()
names = set(aar.namelist())
def load(path, **expected):
    found = json.loads(aar.read(path))
    assert all(found.get(key) == value for key, value in expected.items()), (path, found)
assert aar.testzip() is None
assert b'package="io.morsel"' in aar.read("AndroidManifest.xml") and version.encode() in aar.read("AndroidManifest.xml")
load("prefab/prefab.json", schema_version=2, name="morsel", version=version, dependencies=[])
for module, static, file in (("morsel", False, "libmorsel.so"), ("morsel_static", True, "libmorsel.a")):
    root = f"prefab/modules/{module}"
    load(f"{root}/module.json", export_libraries=[], library_name="libmorsel")
    assert aar.read(f"{root}/include/morsel.h")
    for abi in abis + ["armeabi-v7a"] * static:
        load(f"{root}/libs/android.{abi}/abi.json", abi=abi, api=21, stl="none", static=static)
        assert aar.read(f"{root}/libs/android.{abi}/{file}")[:4] == (b"!<ar" if static else b"\x7fELF")
for abi in abis:
    assert aar.read(f"jni/{abi}/libmorsel.so") == aar.read(f"prefab/modules/morsel/libs/android.{abi}/libmorsel.so")
assert "@" not in "".join(aar.read(n).decode() for n in names if n.endswith((".json", ".xml"))), "a template is not filled in"
END
verify "has the layout of Prefab" python3 "$work/layout.py" "$work/morsel-$version.aar" "$version" "${ABIS:-arm64-v8a}"

# --- an app's shared object
cat >"$work/app.c" <<'END'
#include <morsel.h>
int app_answer(const void *blob, size_t bytes) {
    struct morsel_model model;
    return morsel_open(&model, blob, bytes, 0);
}
END
printf '#include <stddef.h>\nvoid memcpy(void) {}\nvoid memset(void) {}\nvoid memcmp(void) {}\nvoid memmove(void) {}\n' >"$work/libc.c"
modules=$work/aar/prefab/modules
target="clang --target=aarch64-linux-android21 -nostdlib -fuse-ld=lld -shared -fPIC -ffreestanding -fno-builtin"
$target -Wl,-soname,libc.so "$work/libc.c" -o "$work/libc.so" 2>"$work/log" || fail "a stub of libc.so"
# NEEDED AND EXPORTED NAMES: of $work/libapp.so, and that its segments can be mapped in pages of 16 KB.
look() {
    llvm-readelf -dW "$work/libapp.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ' >"$work/needed"
    llvm-nm -D --defined-only "$work/libapp.so" | awk '{ print $3 }' | sort | tr '\n' ' ' >"$work/exported"
    llvm-readelf -lW "$work/libapp.so" | awk '$1 == "LOAD" { n++; if ($NF != "0x4000") exit 1 } END { exit !n }' || { echo "LOAD segments"; return 1; }
    ! llvm-readelf -dW "$work/libapp.so" | grep TEXTREL || return 1
    echo "needed $(cat "$work/needed"), exported $(cat "$work/exported")"
    [ "$(cat "$work/needed")" = "$1 " ] && [ "$(cat "$work/exported")" = "$2 " ]
}
for module in morsel_static/libs/android.arm64-v8a/libmorsel.a morsel/libs/android.arm64-v8a/libmorsel.so; do
    if $target -std=c11 -I"$modules/morsel/include" -Wl,-z,max-page-size=16384 -Wl,-z,defs -Wl,--gc-sections -Wl,--exclude-libs,ALL \
        "$work/app.c" "$modules/$module" "$work/libc.so" -o "$work/libapp.so" >"$work/log" 2>&1; then
        case $module in *.a) needed=libc.so ;; *) needed="libc.so libmorsel.so" ;; esac
        verify "an app is linked with ${module##*/}" look "${needed}" app_answer
    else fail "an app is linked with ${module##*/}"; fi
done
cp "$modules/morsel/libs/android.arm64-v8a/libmorsel.so" "$work/libapp.so"
verify "the library exports the functions of morsel.h alone" look libc.so "$(clang -E -P core/morsel.h | tr '\n' ' ' | tr ';' '\n' | grep -v typedef |
    sed -n 's/^[^({]*\<\(morsel_[a-z0-9_]*\)(.*/\1/p' | sort | tr '\n' ' ' | sed 's/ $//')"
verify "armv7 wants no more of a C library than memory functions" sh -c "! llvm-nm -u '$modules/morsel_static/libs/android.armeabi-v7a/libmorsel.a' |
    awk 'NF == 2 && \$2 !~ /^(mem(cpy|set|cmp|move)|__aeabi_(mem(cpy|set|clr|move)[48]?|u?idiv(mod)?|l2[fd]|[fd]2lz|uldivmod))\$/' | grep ."

# --- its answers: what it wants of libc.so is found in the emulated machine's C library, beside which an empty one stands
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
    program="-std=c11 -DNETWORK=\"model.h\" -I$work tests/consumers/static_arena.c $work/model.c"
    echo >"$work/empty.c"
    "$morsel" convert models/cifar10/network.onnx -o "$work/model.morsel" --c "$work/model.c" >"$work/log" 2>&1 || fail "a network"
    # shellcheck disable=SC2086
    if "$compiler" $program -Icore build/libmorsel.a -o "$work/plain" >"$work/log" 2>&1 && "$work/plain" >"$work/plain.txt" 2>"$work/log" &&
        aarch64-linux-gnu-gcc -shared -nostdlib -Wl,-soname,libc.so "$work/empty.c" -o "$work/stub/libc.so" >"$work/log" 2>&1 &&
        aarch64-linux-gnu-gcc $program -I"$modules/morsel/include" "$modules/morsel/libs/android.arm64-v8a/libmorsel.so" \
            -Wl,--allow-shlib-undefined -o "$work/app" >"$work/log" 2>&1; then
        verify "it runs under an emulator" sh -c "qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH='$work/stub:$modules/morsel/libs/android.arm64-v8a' \
            '$work/app' >'$work/app.txt'"
        verify "and gives the library's answers" cmp "$work/app.txt" "$work/plain.txt"
    else fail "programs beside it"; fi
else echo "skip aar answers: no compiler or emulator of arm64"; fi
exit $status
