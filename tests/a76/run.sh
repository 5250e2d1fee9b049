#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [NET|BLOB ...]: estimated Cortex-A76 cycles of one inference, without and with a model of the caches.
# A76CYCLES is the program that estimates: `A76CYCLES [--cache] --top N --per N --base 'PROGRAM WITH FEWER RUNS' -- PROGRAM ARGS`, as the
# one in the shared folder beside a checkout. TOP: hottest blocks to show.
cd "$(dirname "$0")/../.." || exit 1
program=${A76CYCLES:-../shared/tools/a76/a76cycles}
morsel=${MORSEL:-build/aarch64-linux-gnu/morsel}
if [ ! -f "$program" ]; then
    echo "skip a76: no estimator; set A76CYCLES=PROGRAM (it needs qemu-user and llvm-mca with the Neoverse N1 model)"
    exit 0
fi
[ $# -gt 0 ] || set -- mobilenetv2-224
status=0
for net in "$@"; do
    for cache in "" --cache; do
        echo "== $net, Cortex-A76${CPU:+ with kernels up to $CPU}${cache:+, with caches}"
        # shellcheck disable=SC2086
        python3 "$program" $cache --top "${TOP:-8}" --per 2 \
            --base "$morsel bench $net ${CPU:+--cpu $CPU} --runs 1 --warmup 0" -- \
            "$morsel" bench "$net" ${CPU:+--cpu $CPU} --runs 3 --warmup 0 2>/dev/null || status=1
    done
done
exit $status
