#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel bench, on blobs and networks that are built in. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
make_files

check "bench" 0 "median .* FPS" bench "$work/color.morsel" --runs 3 --warmup 0
check "bench --layers shows groups" 0 "^ +[0-9]+ +1  conv " bench resnet8-32 --runs 3 --layers --arena 1
check "bench --layers: what the steps add up to" 0 "^  [-+][0-9.]+ ms to the median above: " bench resnet8-32 --runs 3 --layers
check "bench --layers --json" 0 '"op": "mean", "isa": "c"' bench "$work/color.morsel" --runs 3 --layers --json --cpu c
check "bench of a batch" 0 "2 threads, batch 5," bench "$work/color.morsel" --batch 5 --threads 2 --runs 3
check "bench --histogram" 0 "^  200 runs: p50 [0-9.]+ ms   p95 [0-9.]+ ms   p99 [0-9.]+ ms$" bench "$work/color.morsel" --runs 200 --histogram
verify "its bins hold all runs" sh -c "[ \$(awk '\$2 == \"...\" { n += \$4 } END { print n }' '$work/out') -eq 200 ]"
verify "p50 is marked once" sh -c "[ \$(grep -cE ' p50( |$)' '$work/out') -eq 2 ]" # and once in the heading
check "bench --histogram --json" 0 '"from_ms": [-0-9.e]+, "to_ms": [-0-9.e]+, "runs": [0-9]+\}' bench "$work/color.morsel" --histogram --json
verify "its bins hold all runs, too" sh -c "[ \$(sed -n 's/.*to_ms.*\"runs\": \([0-9]*\).*/\1/p' '$work/out' | awk '{ n += \$1 } END { print n }') -eq 50 ]"
check "bench --samples" 0 "median" bench "$work/color.morsel" --runs 7 --samples "$work/runs.csv"
verify "a line a run, in order" sh -c "[ \"\$(sed 's/,[0-9.]*$//' '$work/runs.csv' | tr '\n' ' ')\" = 'variant,run,ms 0,0 0,1 0,2 0,3 0,4 0,5 0,6 ' ]"
check "bench --samples of several sizes" 0 "variant 1" bench "$work/ids.morsel" --runs 2 --samples "$work/runs.csv"
verify "each has its lines" sh -c "[ \"\$(sed 's/,[0-9.]*$//' '$work/runs.csv' | tr '\n' ' ')\" = 'variant,run,ms 0,0 0,1 1,0 1,1 ' ]"
check "bench --samples over its model" 2 "would be written over" bench "$work/color.morsel" --samples "$work/color.morsel"
check "bench --samples into no folder" 2 "cannot write" bench "$work/color.morsel" --samples "$work/none/runs.csv"
built_in bench
exit $status
