#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh BUILD NETWORK PICTURES: what `make demo` shows.
build=$1
network=$2
pictures=$3
if [ ! -f "$network" ]; then
    echo "demo: $network is missing" >&2
    exit 1
fi
echo
echo "The pictures in $pictures, the network's first three answers with their probabilities, and the time of a run:"
"$build/morsel" run "$network" "$pictures"/*.ppm --top 3 --check-names || exit
echo
"$build/morsel" bench "$network" --runs 50 --warmup 5 || exit
# What an app that calls all of the library links, as `make size` counts it; without tables for debuggers.
library=$(size -A "$build/libmorsel.a" 2>/dev/null | awk '/^\.(text|rodata)/ { all += $2 } END { if (all) print all }' 2>/dev/null)
[ -z "$library" ] || echo "  library $library bytes of code and constants at most (make size), no heap, no dependencies"
