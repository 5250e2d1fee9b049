#!/bin/sh
# SPDX-License-Identifier: MIT
# Several sizes of a network in one blob: --dim NAME=N,N of convert and quantize, and --variant of the verbs that run one.
# Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
make_files

# make NAME ARGUMENTS..: a blob, $work/NAME.morsel.
make() {
    name=$1
    shift
    $morsel "$@" -o "$work/$name.morsel" >"$work/out" 2>"$work/err" || failed "$name was not made" "$work/err"
}
bytes() { wc -c <"$1"; }

# --- texts ---
{
    printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n'
    for letter in a b c d e f g h i j k l m n o p q r s t u v w x y z; do echo $letter; done
    for letter in a e i o u n r s t l; do echo "##$letter"; done
} >"$work/vocab.txt"
printf '{"tokenizer": "vocab.txt", "max_length": 64, "pooling": "mean", "normalize": true}' >"$work/text.json"
awk 'function next_number() { seed = (seed * 69069 + 12345) % 2147483648; return int(seed / 65536) }
    BEGIN { for (i = 0; i < 1000; i++) {
        line = ""
        for (words = next_number() % 58; words > 0; words--) {
            letter = next_number() % 36
            line = line (letter < 26 ? " " : "") substr("abcdefghijklmnopqrstuvwxyz", letter % 26 + 1, 1)
        }
        print line
    } }' >"$work/texts.txt"
encoder="quantize tests/cli/encoder.onnx --dynamic --text $work/text.json"
make all $encoder --dim sequence=8,64,16,32
check "what was made is listed" 0 '^  variant 3    sequence=8: 3[0-9] layers' $encoder --dim sequence=8,64,16,32 -o "$work/other.morsel" --c "$work/net.c"
verify "the same bytes each time" cmp "$work/all.morsel" "$work/other.morsel"
check "as JSON" 0 '^    \{"sequence": 16, "layers"' $encoder --dim sequence=8,64,16,32 -o "$work/other.morsel" --json
arena=$(number arena_bytes)
verify "the arena of the largest is the array's" grep -q "^#define NET_ARENA_BYTES ${arena}u\$" "$work/net.h"
for length in 64 32 16 8; do make one$length $encoder --dim sequence=$length; done
verify "constants once" test "$(bytes "$work/all.morsel")" -lt $(($(bytes "$work/one64.morsel") + 30000))
MORSEL=$morsel sh tests/text/lengths.sh "$work/all.morsel" "$work/texts.txt" || status=1
variant=0
for length in 64 32 16 8; do
    $morsel embed "$work/one$length.morsel" "$work/texts.txt" -o "$work/a.npy" >"$work/out" 2>&1
    $morsel embed "$work/all.morsel" "$work/texts.txt" -o "$work/b.npy" --variant $variant >"$work/out" 2>&1
    verify "length $length as by itself" cmp "$work/a.npy" "$work/b.npy"
    variant=$((variant + 1))
done
check "run takes the shortest for a text" 0 '"variant": 3,' run "$work/all.morsel" --text "a b" --output "$work/y.npy" --json
check "run takes one that holds all texts" 0 '"variant": 2,' run "$work/all.morsel" --text "a b" --text "a b c d e f g" --json
check "run takes the one asked for" 0 '"variant": 1,' run "$work/all.morsel" --text "a b" --variant 1 --json
check "bench of each" 0 '^.* \(variant 3, \[1, 8\]\): ' bench "$work/all.morsel" --runs 1
check "bench of each, as JSON" 0 '^      "input": \[1, 16\],' bench "$work/all.morsel" --runs 1 --json
check "bench of one" 0 '\(variant 2, \[1, 16\]\)' bench "$work/all.morsel" --runs 1 --variant 2
verify "bench of one is of no other" test "$(grep -c variant "$work/out")" -eq 1
check "inspect lists them" 0 '^variants: 4, of which this is number 1' inspect "$work/all.morsel" --variant 1
check "inspect lists them as JSON" 0 '^    \{"input": \[1, 8\], "steps": ' inspect "$work/all.morsel" --json
for call in "bench" "inspect" "run --text a" "eval models/cifar10/pictures"; do
    check "$call of a variant that is not there" 2 "has 4 variants: there is no number 4" ${call%% *} "$work/all.morsel" $(echo "$call" | sed -n 's/^[a-z]* //p') --variant 4
done
check "embed of a variant that is not there" 2 "has 4 variants" embed "$work/all.morsel" "$work/texts.txt" -o "$work/y.npy" --variant 4
check "a variant of a blob that has one" 2 "has 1 variant: there is no number 1" bench "$work/one8.morsel" --variant 1
printf '{"tokenizer": "vocab.txt", "max_length": 64, "pooling": "none"}' >"$work/text.json"
make tokens $encoder --dim sequence=8,16
check "embed of vectors of tokens" 2 "grows with the length" embed "$work/tokens.morsel" "$work/texts.txt" -o "$work/y.npy"
check "embed of vectors of tokens at one length" 0 "1000 lines" embed "$work/tokens.morsel" "$work/texts.txt" -o "$work/y.npy" --variant 1
make batches $encoder --dim batch=1,2 --dim sequence=16,8
check "embed where another variant takes two texts" 1 "one text at a time" embed "$work/batches.morsel" "$work/texts.txt" -o "$work/y.npy"
check "embed where another variant gives bytes" 1 "with floats as its first output" embed "$work/ids.morsel" "$work/texts.txt" -o "$work/y.npy"
check "embed by the one that gives floats" 0 "1000 lines" embed "$work/ids.morsel" "$work/texts.txt" -o "$work/y.npy" --variant 0

# --- pictures ---
rule='"channels": "RGB", "scale": 0.00392156862745098, "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}'
echo '{"resize": {"mode": "short_side", "size": 36}, "crop": [32, 32], '"$rule" >"$work/large.json"
echo '{"resize": {"mode": "short_side", "size": 27}, "crop": [24, 24], '"$rule" >"$work/small.json"
sides() { echo "--dim height=$1 --dim width=$1"; }
picture=models/cifar10/pictures/cat.ppm
pictures="quantize tests/cli/free_sides.onnx --dynamic"
make both $pictures --picture "$work/large.json" $(sides 24,32)
make large $pictures --picture "$work/large.json" $(sides 32)
make small $pictures --picture "$work/small.json" $(sides 24)
variant=0
for size in large small; do
    $morsel run "$work/both.morsel" $picture --variant $variant --output "$work/a.npy" >"$work/out" 2>&1
    $morsel run "$work/$size.morsel" $picture --output "$work/b.npy" >"$work/out" 2>&1
    verify "the $size pictures as by themselves" cmp "$work/a.npy" "$work/b.npy"
    variant=$((variant + 1))
done
make fixed quantize tests/cli/free_sides.onnx --data models/cifar10/pictures --picture "$work/large.json" $(sides 32,24)
make alone quantize tests/cli/free_sides.onnx --data models/cifar10/pictures --picture "$work/large.json" $(sides 32)
for blob in fixed alone; do $morsel run "$work/$blob.morsel" $picture --output "$work/$blob.npy" >"$work/out" 2>&1; done
verify "ranges are those of the largest" cmp "$work/fixed.npy" "$work/alone.npy"
$morsel quantize tests/cli/free_sides.onnx --data models/cifar10/pictures --picture "$work/large.json" $(sides 32) -o "$work/q.onnx" >"$work/out" 2>&1
make smaller convert "$work/q.onnx" --shape x=1,3,24,24 --picture "$work/small.json"
$morsel run "$work/smaller.morsel" $picture --output "$work/a.npy" >"$work/out" 2>&1
$morsel run "$work/fixed.morsel" $picture --variant 1 --output "$work/b.npy" >"$work/out" 2>&1
verify "the smaller one has the same weights and ranges" cmp "$work/a.npy" "$work/b.npy"
verify "constants once, of pictures" test "$(bytes "$work/fixed.morsel")" -lt $(($(bytes "$work/alone.morsel") + 2000))
check "run of the smaller pictures" 0 "^cat.ppm " run "$work/fixed.morsel" $picture --variant 1

# --- arrays ---
# ones FILE LENGTH: int32 [1, LENGTH], all 1.
ones() {
    { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (1, $2), }" && printf '\001\000\000\000%.0s' $(seq "$2"); } >"$1"
}
make tokens convert tests/cli/tokens.onnx --dim sequence=3,5
for length in 3 5 4; do ones "$work/$length.npy" $length; done
arrays() { for name in input_ids attention_mask token_type_ids; do echo "--input $name=$work/$1.npy"; done; }
check "arrays choose the size that they fit" 0 '"shape": \[1, 3, 4\]' run "$work/tokens.morsel" $(arrays 3) --output "$work/y.npy" --json
check "arrays choose the largest" 0 '"shape": \[1, 5, 4\]' run "$work/tokens.morsel" $(arrays 5) --output "$work/y.npy" --json
check "arrays that fit none" 1 "does not fit input 'attention_mask', int32 \[1, 5\]" run "$work/tokens.morsel" $(arrays 4)
check "arrays that do not fit the one asked for" 1 "does not fit input 'attention_mask', int32 \[1, 5\]" run "$work/tokens.morsel" $(arrays 3) --variant 0

# ints FILE ROWS COLUMNS EXPRESSION: int32 [ROWS, COLUMNS], bytes by an expression of r and c.
ints() {
    { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': ($2, $3), }"
      # shellcheck disable=SC2059
      printf "$(awk -v rows="$2" -v columns="$3" "BEGIN { for (r = 0; r < rows; r++) for (c = 0; c < columns; c++) printf \"\\\\%03o\\\\000\\\\000\\\\000\", $4 }")"; } >"$1"
}
ints "$work/ids.npy" 4 16 '4 + (7 * r + 5 * c) % 36'
ints "$work/mask.npy" 4 16 '(c < 4 * r + 3)'
make quartet $encoder --dim sequence=16 --dim batch=4
make single $encoder --dim sequence=16
for blob in quartet single; do
    check "a batch: $blob" 0 "output" run "$work/$blob.morsel" --input input_ids="$work/ids.npy" --input attention_mask="$work/mask.npy" --output "$work/$blob.npy"
done
tail -c +129 "$work/quartet.npy" >"$work/quartet"
tail -c +129 "$work/single.npy" >"$work/single"
verify "a batch of four gives what each gives alone" cmp "$work/quartet" "$work/single"
verify "texts of a batch differ" test "$(od -A n -v -t x4 -w64 "$work/single" | sort -u | wc -l)" -ge 4

check "lists of two lengths" 2 "lists go together, number by number" $pictures --dim height=24,32 --dim width=24,32,40 -o "$work/x.morsel"
check "a size twice" 2 "a size is given twice" $pictures --dim height=24,32,24 --dim width=24,32,24 -o "$work/x.morsel"
check "no number" 2 "is not of the form --dim NAME=N or NAME=N,N" $pictures --dim height=24, -o "$work/x.morsel"
check "too many sizes" 2 "has more than 64 numbers" $pictures --dim height=$(seq -s , 1 65) -o "$work/x.morsel"
check "a size that the network has no form for" 1 "height=1 width=1" $pictures --picture "$work/large.json" --dim height=32,1 --dim width=32,1 -o "$work/x.morsel"
check "compare takes one size" 2 "here one is wanted, as --dim height=32" compare tests/cli/free_sides.onnx "$work/both.morsel" --dim height=24,32 --dim width=32
check "inspect takes one size" 2 "here one is wanted, as --dim height=32" inspect tests/cli/free_sides.onnx --dim height=24,32 --dim width=32
exit $status
