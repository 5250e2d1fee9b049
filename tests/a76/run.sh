#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [OPTIONS] [NET|BLOB ...]: estimated Cortex-A76 cycles of one inference (estimate.py --help). CPU: cap of the kernels. TOP: hottest
# blocks to show. A76CYCLES: another estimator to compare with, called as
# `A76CYCLES [--cache] --top N --per N --base 'PROGRAM WITH FEWER RUNS' -- PROGRAM ARGS`.
# run.sh --ready: whether there is all that it takes; says what is missing. run.sh --test: tries the estimator (test.py).
cd "$(dirname "$0")/../.." || exit 1
export PYTHONDONTWRITEBYTECODE=1
morsel=${MORSEL:-build/a76/morsel}
if ! command -v python3 >/dev/null; then
    echo "skip a76: it needs python3"
    [ "$1" != --ready ]
    exit
fi
case $1 in
--ready) exec python3 tests/a76/estimate.py --ready ;;
--test) exec python3 tests/a76/test.py ;;
esac
if [ -z "$A76CYCLES" ]; then
    exec python3 tests/a76/estimate.py --morsel "$morsel" ${CPU:+--cpu "$CPU"} ${TOP:+--top "$TOP"} "$@"
fi
[ $# -gt 0 ] || set -- mobilenetv2-224
status=0
for net in "$@"; do
    for cache in "" --cache; do
        echo "== $net, Cortex-A76${CPU:+ with kernels up to $CPU}${cache:+, with caches}"
        # shellcheck disable=SC2086
        "$A76CYCLES" $cache --top "${TOP:-8}" --per 2 --base "$morsel bench $net ${CPU:+--cpu $CPU} --runs 1 --warmup 0" -- \
            "$morsel" bench "$net" ${CPU:+--cpu $CPU} --runs 3 --warmup 0 2>/dev/null || status=1
    done
done
exit $status
