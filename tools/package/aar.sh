#!/bin/sh
# SPDX-License-Identifier: MIT
# aar.sh FOLDER [ABI...]: FOLDER/morsel-VERSION.aar, the library as one file compiled for Android, in the layout of Prefab: modules `morsel`, a
# shared object for pages of 4 and 16 KB, and `morsel_static`. It appears whole or not at all; FOLDER/aar is what is inside.
#
# No NDK is needed. Clang and lld know the targets, and of a C library memcpy, memmove, memset, memcmp and getauxval are wanted, which Android's
# libc.so has: a stub of that name stands in for it in the link. The NDK's start files register destructors, of which there are none here, and
# put in a note that names the NDK. CLANG and the LLVM_ names below take those of an NDK as well. What an NDK has alone are the divisions of armv7:
# ARM_BUILTINS=.../libclang_rt.builtins-arm-android.a makes a shared object for armeabi-v7a; without it there is the static module, which
# the app's own NDK links with them.
cd "$(dirname "$0")/../.." || exit 1
folder=${1:?aar.sh FOLDER [ABI...]}
shift
clang=${CLANG:-clang} ar=${LLVM_AR:-llvm-ar} strip=${LLVM_STRIP:-llvm-strip}
api=21
version=$(sed -n 's/^#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
number=$(echo "${version%%-*}" | awk -F. '{ print $1 * 1000000 + $2 * 1000 + $3 }')
for program in "$clang" ld.lld "$ar" "$strip" python3; do
    command -v "$program" >/dev/null || { echo "aar.sh: there is no $program: Debian's packages are clang, lld, llvm, python3" >&2; exit 1; }
done
root=$folder/aar
rm -rf "$root" && mkdir -p "$root/prefab/modules" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fill() { # FILE TARGET: a template
    sed -e "s/@version@/$version/g" -e "s/@number@/$number/g" -e "s/@api@/$api/g" -e "s/@abi@/$abi/g" -e "s/@static@/$static/g" \
        "tools/package/aar/$1" >"$2"
}

# An ABI's folder of a module, with its description.
place() { # MODULE FILE
    at=$root/prefab/modules/$1/libs/android.$abi
    mkdir -p "$at" && cp "$2" "$at/" && fill abi.json "$at/abi.json"
}

build() { # ABI TARGET OPTIONS...
    abi=$1 target=$2$api
    shift 2
    set -- --target="$target" "$@"
    "$clang" "$@" -std=c11 -O2 -fPIC -ffreestanding -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -isystem tests/link/include \
        -c "$work/morsel.c" -o "$work/morsel.o" &&
        rm -f "$work/libmorsel.a" && "$ar" rcsD "$work/libmorsel.a" "$work/morsel.o" && static=true && place morsel_static "$work/libmorsel.a" || return 1
    builtins=
    case $abi in
        armeabi-v7a)
            builtins=$ARM_BUILTINS
            [ -n "$builtins" ] || { echo "aar.sh: armeabi-v7a: the static module alone, as ARM_BUILTINS is not set" >&2; return 0; } ;;
    esac
    set -- "$@" -nostdlib -fuse-ld=lld -shared
    "$clang" "$@" -Wl,-soname,libc.so "$work/libc.c" -ffreestanding -fno-builtin -o "$work/libc.so" &&
        "$clang" "$@" -Wl,-soname,libmorsel.so -Wl,-z,max-page-size=16384 -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections \
            -Wl,--hash-style=both -Wl,--build-id=sha1 -Wl,--exclude-libs,ALL "$work/morsel.o" $builtins "$work/libc.so" -o "$work/libmorsel.so" &&
        "$strip" --strip-unneeded "$work/libmorsel.so" && static=false && place morsel "$work/libmorsel.so" &&
        mkdir -p "$root/jni/$abi" && cp "$work/libmorsel.so" "$root/jni/$abi/"
}

python3 tools/package/amalgamate.py "$work" >/dev/null || exit 1
cat >"$work/libc.c" <<'END'
void memcpy(void) {}
void memmove(void) {}
void memset(void) {}
void memcmp(void) {}
void getauxval(void) {}
#ifdef __arm__
void __aeabi_memcpy(void) {}
void __aeabi_memcpy4(void) {}
void __aeabi_memcpy8(void) {}
void __aeabi_memmove(void) {}
void __aeabi_memset(void) {}
void __aeabi_memclr(void) {}
void __aeabi_memclr4(void) {}
void __aeabi_memclr8(void) {}
#endif
END
while read -r abi target options; do
    case $abi in '#'*) continue ;; esac
    case " $* " in "  " | *" $abi "*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    build "$abi" "$target" $options || { echo "aar.sh: $abi does not build" >&2; exit 1; }
done <tools/package/aar/abis.txt
for module in morsel morsel_static; do
    at=$root/prefab/modules/$module
    mkdir -p "$at/include" && cp "$work/morsel.h" "$at/include/" && fill module.json "$at/module.json" || exit 1
done
fill prefab.json "$root/prefab/prefab.json" && fill AndroidManifest.xml "$root/AndroidManifest.xml" && mkdir -p "$root/META-INF" &&
    cp LICENSE "$root/META-INF/" || exit 1
# The same bytes each time, and libraries where the loader could map them.
python3 - "$root" "$folder/morsel-$version.aar" <<'END' || exit 1
import pathlib
import sys
import zipfile

root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
part = out.with_suffix(".part")
with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as aar:
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        aar.writestr(zipfile.ZipInfo(path.relative_to(root).as_posix(), (1980, 1, 1, 0, 0, 0)), path.read_bytes(), zipfile.ZIP_DEFLATED)
part.replace(out)
END
echo "$folder/morsel-$version.aar: $(wc -c <"$folder/morsel-$version.aar") bytes"
