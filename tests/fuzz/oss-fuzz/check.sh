#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh FOLDER: builds in FOLDER as OSS-Fuzz does, and starts each fuzzer on its first inputs. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../../.." || exit 1
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd)
for need in clang++ zip unzip; do
    command -v $need >/dev/null || { echo "skip oss-fuzz: no $need"; exit 0; }
done
rm -rf "$folder/out"
mkdir -p "$folder/out" "$folder/work"
flags='-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link'
CC=clang CXX=clang++ CFLAGS=$flags CXXFLAGS=$flags LIB_FUZZING_ENGINE=-fsanitize=fuzzer WORK=$folder/work OUT=$folder/out \
    bash -eu tests/fuzz/oss-fuzz/build.sh || { echo "FAIL build.sh"; exit 1; }

status=0
fail() {
    echo "FAIL $1"
    status=1
}
there=$(cd "$folder/out" && for p in fuzz_*; do case $p in *.*) ;; *) echo "$p" ;; esac; done | sort)
wanted=$(for s in tests/fuzz/fuzz_*.c; do basename "$s" .c; done | sort)
if [ "$there" = "$wanted" ]; then echo "ok the programs are the fuzzers"; else fail "the programs are not the fuzzers: $there"; fi
for name in $wanted; do
    rm -rf "$folder/seeds"
    unzip -q "$folder/out/${name}_seed_corpus.zip" -d "$folder/seeds" || { fail "$name: no first inputs"; continue; }
    [ "$(find "$folder/seeds" -type f | wc -l)" -ge 100 ] || fail "$name: fewer than 100 first inputs"
    dictionary=
    [ ! -f "$folder/out/$name.dict" ] || dictionary=-dict=$folder/out/$name.dict
    if "$folder/out/$name" -runs=2000 -max_len=65536 "-artifact_prefix=$folder/" $dictionary "$folder/seeds" >"$folder/$name.log" 2>&1; then echo "ok $name"
    else fail "$name"; tail -n 20 "$folder/$name.log"; fi
done
for dictionary in tests/fuzz/oss-fuzz/*.dict; do
    [ -f "tests/fuzz/$(basename "$dictionary" .dict).c" ] || fail "$dictionary belongs to no fuzzer"
done
exit $status
