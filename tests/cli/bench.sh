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
built_in bench
exit $status
