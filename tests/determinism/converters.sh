#!/bin/sh
# SPDX-License-Identifier: MIT
# converters.sh MAKE_GRAPHS TOOL OTHER: what the passes leave of every operator's network is the same bytes from both tools, which two
# compilers made. C leaves the order of arguments to the compiler, and names of new nodes follow it.
cd "$(dirname "$0")/../.." || exit 1
work=build/determinism/graphs
rm -rf "$work"
mkdir -p "$work" || exit 1
"$1" "$work" || exit 1
count=0
for graph in "$work"/*.onnx; do
    "$2" inspect "$graph" --optimized --onnx "$work/one" >"$work/log" 2>&1
    code=$?
    "$3" inspect "$graph" --optimized --onnx "$work/other" >>"$work/log" 2>&1
    [ $? = $code ] || { echo "FAIL converters: $graph is taken by one of them alone" && tail -n 2 "$work/log" && exit 1; }
    [ $code = 0 ] || continue
    cmp "$work/one" "$work/other" || { echo "FAIL converters: of $graph" && exit 1; }
    count=$((count + 1))
done
rm -rf "$work"
[ $count -gt 200 ] || { echo "FAIL converters: $count networks alone were taken" && exit 1; }
echo "ok converters: $count networks, the same bytes by both compilers"
