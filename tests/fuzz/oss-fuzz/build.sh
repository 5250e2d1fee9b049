#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Every fuzzer as OSS-Fuzz wants it, from the root of the sources: programs, libraries, first inputs and dictionaries in $OUT.
# CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, WORK and OUT are OSS-Fuzz's; check.sh sets them here.
jobs=$(nproc)
make -s -j"$jobs" QUIET=1 BUILD="$WORK/engine" OPT= WARNINGS=-w CC="$CC" CFLAGS="$CFLAGS" FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    FUZZ_LINK="$CXX $CXXFLAGS" LDFLAGS="-Wl,-rpath,'\$\$ORIGIN/lib'" fuzz-programs
# The driver writes sound inputs; it needs none of the engine's flags.
make -s -j"$jobs" QUIET=1 BUILD="$WORK/driver" WARNINGS=-w CC="$CC" CFLAGS= FUZZ_ENGINE= fuzz-programs

mkdir -p "$OUT/lib"
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    cp "$WORK/engine/tests/fuzz/$name" "$OUT/"
    # What the machine that runs it may not have.
    ldd "$OUT/$name" | awk '/libprotobuf-c|libcjson|libpng|libjpeg|libz\./ { print $3 }' | xargs -r cp -n -t "$OUT/lib"
    rm -rf "$WORK/seeds"
    mkdir -p "$WORK/seeds"
    "$WORK/driver/tests/fuzz/$name" --write "$WORK/seeds" --runs 500 >/dev/null
    case $name in fuzz_onnx | fuzz_graph) for net in tests/golden/cases/*/net.onnx; do cp "$net" "$WORK/seeds/$(basename "$(dirname "$net")")"; done ;; esac
    rm -f "$OUT/${name}_seed_corpus.zip"
    (cd "$WORK/seeds" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
    printf '[libfuzzer]\nmax_len = 65536\n' >"$OUT/$name.options"
    [ ! -f "tests/fuzz/oss-fuzz/$name.dict" ] || cp "tests/fuzz/oss-fuzz/$name.dict" "$OUT/"
done
