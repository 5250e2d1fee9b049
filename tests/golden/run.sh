#!/bin/sh
# SPDX-License-Identifier: MIT
# The recorded answers of ONNX Runtime (record.py): every network in cases/ is converted, run, and its outputs compared byte for byte.
# MORSEL is the tool that runs them, with an emulator before it where it is built for another CPU; CONVERTER is the full tool, on this
# machine. Each network is run with 1, 2 and 3 threads, with plain C kernels, without its names, and with a part of its arena in fast
# memory, and its conversion is repeated; in an emulator, with 1 and 3 threads.
# Prints "ok CASE" or "FAIL CASE: why".
cd "$(dirname "$0")/../.." || exit 1
morsel=${MORSEL:-build/morsel}
converter=${CONVERTER:-build/morsel}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
emulated=
case $morsel in *" "*) emulated=yes ;; esac
unset MORSEL_CPU

# replay HOW BLOB OPTIONS...: runs the blob on the case's inputs; sets why where an output differs.
replay() {
    how=$1 blob=$2
    shift 2
    set -- "$@" --json
    n=0
    while [ -f "$case/in$n.npy" ]; do set -- "$@" --input "$n=$case/in$n.npy"; n=$((n + 1)); done
    n=0
    while [ -f "$case/out$n.npy" ]; do set -- "$@" --output "$n=$work/out$n.npy"; n=$((n + 1)); done
    # shellcheck disable=SC2086
    if ! $morsel run "$blob" "$@" >"$work/log" 2>&1; then
        why="$why; $how: $(tail -n 1 "$work/log")"
        return
    fi
    n=0
    while [ -f "$case/out$n.npy" ]; do
        differing=$(cmp -l "$case/out$n.npy" "$work/out$n.npy" 2>&1 | wc -l)
        [ "$differing" -eq 0 ] || why="$why; $how: output $n differs in $differing bytes"
        rm -f "$work/out$n.npy"
        n=$((n + 1))
    done
}

replay_more() {
    replay "2 threads" "$work/net.morsel" --threads 2
    replay "plain C" "$work/net.morsel" --cpu c
    replay "without names" "$work/bare.morsel"
    $converter convert "$case/net.onnx" -o "$work/parts.morsel" --arena-fast 2048 >/dev/null 2>&1
    replay "two blocks" "$work/parts.morsel"
    replay "two blocks, 4 threads" "$work/parts.morsel" --threads 4
    $converter convert "$case/net.onnx" -o "$work/again.morsel" >/dev/null 2>&1
    cmp -s "$work/net.morsel" "$work/again.morsel" || why="$why; its conversion is not the same each time"
}

for case in tests/golden/cases/*/; do
    case=${case%/}
    name=${case##*/}
    why=
    if $converter convert "$case/net.onnx" -o "$work/net.morsel" >"$work/log" 2>&1 &&
        $converter convert "$case/net.onnx" -o "$work/bare.morsel" --strip >"$work/log" 2>&1; then
        replay "1 thread" "$work/net.morsel" --threads 1
        replay "3 threads" "$work/net.morsel" --threads 3
        [ -n "$emulated" ] || replay_more
    else
        why="; not converted: $(grep -v ': notice: ' "$work/log" | tail -n 2 | tr '\n' ' ')"
    fi
    if [ -z "$why" ]; then echo "ok $name"; else
        echo "FAIL $name: ${why#; }"
        status=1
    fi
done
exit $status
