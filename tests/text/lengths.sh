#!/bin/sh
# SPDX-License-Identifier: MIT
# The vector of a line does not depend on threads, kernels or the length that it is computed at: lengths.sh BLOB TEXTS.
# BLOB has several lengths; MORSEL is the tool. A length is compared on the lines that are sure to fit it: those with as few bytes.
# Prints "ok NAME" or "FAIL NAME".
morsel=${MORSEL:-build/morsel}
blob=$1 texts=$2 status=0
unset MORSEL_CPU
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# embed OUTPUT TEXTS OPTIONS..: the vectors of all lines.
embed() {
    out=$1 lines=$2
    shift 2
    $morsel embed "$blob" "$lines" -o "$out" "$@" --json >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
# same NAME A B
same() { if cmp -s "$2" "$3"; then echo "ok $1"; else echo "FAIL $1"; status=1; fi; }

embed "$work/all.npy" "$texts"
used=$(sed -n '/lines_by_variant/,/\]/p' "$work/log" | grep -c '^ *[1-9]')
if [ "$used" -gt 1 ]; then echo "ok lines of $used lengths"; else echo "FAIL lines of several lengths"; status=1; fi
for threads in 2 3; do
    embed "$work/one.npy" "$texts" --threads $threads
    same "$threads threads" "$work/all.npy" "$work/one.npy"
done
for cpu in c neon dotprod i8mm avx2 avxvnni avx512vnni; do # what the CPU has not is what it has below that
    embed "$work/one.npy" "$texts" --cpu $cpu --threads 2
    same "kernels of $cpu" "$work/all.npy" "$work/one.npy"
done
embed "$work/one.npy" "$texts" --variant 0
same "all lines at the largest length" "$work/all.npy" "$work/one.npy"
variant=1
for length in $($morsel inspect "$blob" --json | sed -n '/"variants"/,$s/^ *{"input": \[1, \([0-9]*\)\].*/\1/p' | tail -n +2); do
    awk -v most=$((length - 2)) '{ bytes = $0; gsub(/[ \t]/, "", bytes); if (length(bytes) <= most) print }' "$texts" >"$work/short.txt"
    embed "$work/one.npy" "$work/short.txt" --variant $variant
    embed "$work/two.npy" "$work/short.txt" --variant 0
    same "$(wc -l <"$work/short.txt") lines at length $length" "$work/one.npy" "$work/two.npy"
    variant=$((variant + 1))
done
[ $variant -gt 2 ] || { echo "FAIL lengths: $variant"; status=1; }
exit $status
