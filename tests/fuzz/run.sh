#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh: builds every fuzzer (below build/fuzz) under the address and undefined-behaviour sanitizers and runs it: RUNS damaged inputs
# each (2000 unless set), or for FUZZ_SECONDS in all. FUZZ_SEED chooses which. Where the shipped network exists, its blob is damaged too.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure. The line of a failure says how to see it again.
cd "$(dirname "$0")/../.." || exit 1
build=build/fuzz
runs=${RUNS:-2000}
seed=${FUZZ_SEED:-1}
compiler=${CC:-cc}
flags="-std=c11 -Wall -Wextra -Werror -ffp-contract=off -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow
    -fno-sanitize-recover=all"
status=0
export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"

if ! "${MAKE:-make}" -s CROSS= BUILD=$build OPT="$(echo "$flags" | tr -d '\n' | sed 's/.*-O1/-O1/')" lib tool >$build.log 2>&1; then
    echo "FAIL fuzz build: the library and the tool"
    tail -n 20 $build.log
    exit 1
fi

packages="libprotobuf-c libcjson libpng libjpeg"
cflags="-D_GNU_SOURCE -I. -Itests/fuzz -I$build/generated $(pkg-config --cflags $packages)"
libs="$(pkg-config --libs $packages) -lm -lpthread"
count=$(ls tests/fuzz/fuzz_*.c | wc -l)
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    # shellcheck disable=SC2086
    if ! "$compiler" $flags $cflags "$source" tests/fuzz/driver.c tests/unit/support/*.c \
        -o $build/"$name" $build/libtool.a $build/libmorsel.a $libs >$build.log 2>&1; then
        echo "FAIL $name: does not compile"
        tail -n 20 $build.log
        status=1
        continue
    fi
    limit="--runs $runs"
    [ -z "$FUZZ_SECONDS" ] || limit="--seconds $((FUZZ_SECONDS / count + 1))"
    corpus=
    if [ "$name" = fuzz_open ]; then corpus=$(find models -name '*.morsel' -size -4000k 2>/dev/null); fi
    # shellcheck disable=SC2086
    if $build/"$name" $limit --seed "$seed" $corpus >$build.log 2>&1; then
        cat $build.log
    else
        echo "FAIL $name: $(grep -E '(crashes|hangs|at run)' $build.log | tail -n 1)"
        grep -E 'ERROR|runtime error|differ|does not|nobody' $build.log | head -n 3
        status=1
    fi
done
exit $status
