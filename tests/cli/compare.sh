#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel compare from the command line, on a small float network and the shipped pictures. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=compare title='compare: '
. tests/cli/calls.sh
float=tests/cli/float_small.onnx
pictures=models/cifar10/pictures
rule=models/cifar10/picture.json
export TMPDIR="$work/temporary"
mkdir "$TMPDIR"

layers() { [ "$(grep -c '"sqnr_own_db"' "$work/out")" -eq "$1" ]; } # and inputs
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }
data="--data $pictures --picture $rule"

# shellcheck disable=SC2086
"$morsel" quantize $float $data -o "$work/a.morsel" -o "$work/a.onnx" >"$work/log" 2>&1 || cat "$work/log"
# shellcheck disable=SC2086
"$morsel" quantize $float $data --strip -o "$work/stripped.morsel" >"$work/log" 2>&1 || cat "$work/log"

# --- what it says
# shellcheck disable=SC2086
verify "a blob" call_says '^output SQNR [0-9.]+ dB over 10 samples' 0 $float "$work/a.morsel" $data
verify "names layers" says 'Conv +stem$'
verify "and dead channels" says '0 whatever the sample, .* 2 of 8 of depthwise'
# shellcheck disable=SC2086
verify "one layer alone" call_says '4 more: --limit 0' 0 $float "$work/a.morsel" $data --limit 1
verify "the rule is the blob's" call_says '^output SQNR' 0 $float "$work/a.morsel" --data $pictures
# shellcheck disable=SC2086
verify "JSON" call 0 $float "$work/a.morsel" $data --json
verify "JSON has all layers" layers 6
for key in name op sqnr_weight_db sqnr_own_db sqnr_out_db cosine clipped rescaled_channels; do
    verify "JSON has $key" says "\"$key\": "
done
verify "the output is near" above "$(number output_sqnr_db)" 30
cp "$work/out" "$work/blob.json"
# shellcheck disable=SC2086
verify "a QDQ file" call 0 $float "$work/a.onnx" $data --json
verify "gives the same figures" sh -c "sed 2,3d '$work/out' >'$work/1'; sed 2,3d '$work/blob.json' | cmp - '$work/1'"
# shellcheck disable=SC2086
verify "with three threads" call 0 $float "$work/a.morsel" $data --json --threads 3
verify "the same figures" cmp "$work/out" "$work/blob.json"
# shellcheck disable=SC2086
"$morsel" quantize $float $data --exclude Conv -o "$work/mixed.morsel" >"$work/log" 2>&1
# shellcheck disable=SC2086
verify "layers left in float" call_says ' 120\.0 .*Conv +stem$' 0 $float "$work/mixed.morsel" $data
verify "noise" call_says 'without --data the inputs are noise' 0 $float "$work/a.morsel" --count 4
verify "of four samples" says 'over 4 samples'
"$morsel" quantize $float --dynamic -o "$work/dynamic.morsel" >"$work/log" 2>&1
# shellcheck disable=SC2086
verify "rounding at run time" call_says '^ +[45][0-9]\.[0-9] .*Conv +stem$' 0 $float "$work/dynamic.morsel" $data
"$morsel" quantize $float --dynamic --output-node relu -o "$work/one.morsel" >"$work/log" 2>&1
# shellcheck disable=SC2086
verify "of a single layer" call_says '^ +[45][0-9]\.[0-9] .*Conv +stem$' 0 $float "$work/one.morsel" --output-node relu $data
encoder="tests/cli/encoder.onnx"
"$morsel" quantize $encoder --dynamic --dim sequence=8 -o "$work/encoder.morsel" >"$work/log" 2>&1
verify "sizes are those of the blob" call_says '^ +[45][0-9]\.[0-9] .*MatMul +MatMul_12$' 0 $encoder "$work/encoder.morsel"
verify "noise of ids" says 'Input +input_ids$'
verify "a normalization has its name" says 'LayerNormalization_4$'
verify "but others are what they are" call_says "MODEL lacks 'input_ids' 1x9" 1 $encoder "$work/encoder.morsel" --dim sequence=9
verify "leaves no file" sh -c "[ -z \"\$(ls '$TMPDIR')\" ]"
# shellcheck disable=SC2086
verify "a picture" call 0 $float "$work/a.morsel" $data --svg "$work/a.svg"
verify "has a group for each layer" sh -c "[ \$(grep -c '<g data-layer=' '$work/a.svg') -eq 5 ] && tail -n 1 '$work/a.svg' | grep -q '</svg>'"

# shellcheck disable=SC2086
"$morsel" quantize $float $data --method percentile --percentile 60 -o "$work/clipped.morsel" >"$work/log" 2>&1
# shellcheck disable=SC2086
verify "ranges that clip" call_says ' [1-9][0-9.]* % +Conv +stem$' 0 $float "$work/clipped.morsel" $data

# --- calls and files that are at fault
verify "one file" call_says "FLOAT.onnx and MODEL" 2 $float
verify "the wrong way round" call_says "the float network comes first" 2 "$work/a.onnx" $float
verify "a model in float" call_says "is a float network: .*morsel quantize" 1 $float $float
verify "a file that is not there" call 1 $float "$work/nowhere.morsel"
verify "a float network that is not there" call 1 "$work/nowhere.onnx" "$work/a.morsel"
verify "a stripped blob" call_says "without the names" 1 $float "$work/stripped.morsel" --data $pictures
verify "another network" call_says "no value inside the two networks has the same name and size: FLOAT has 'c1' 1x8x16x16, .*; MODEL has " 1 \
    $float models/cifar10/network.morsel --data $pictures
verify "says nothing of it" test ! -s "$work/out"
verify "another input" call_says "not the same inputs, .*: MODEL lacks 'input' 1x3x64x64, and has 'input' 1x3x32x32" 1 $float "$work/a.morsel" \
    --data $pictures --shape input=1,3,64,64
verify "data that is not there" call 1 $float "$work/a.morsel" --data "$work/nowhere"
verify "no rule" call 2 $float "$work/a.onnx" --data $pictures
verify "the model as picture" call_says "written over" 2 $float "$work/a.morsel" --svg "$work/a.morsel"
selecting=tests/golden/cases/places/net.onnx
"$morsel" convert $selecting -o "$work/b.morsel" >"$work/log" 2>&1 || cat "$work/log"
verify "numbers of objects stand aside" call_says '^output SQNR 120.00 dB' 0 $selecting "$work/b.morsel"
cp $pictures/bird.ppm "$work/bird.ppm"
verify "the data as picture" call_says "written over" 2 $float "$work/a.morsel" --data "$work/bird.ppm" --svg "$work/bird.ppm"
verify "no folder for the picture" call_says "cannot write" 2 $float "$work/a.morsel" --data "$work/nothing" --svg "$work/none/a.svg"
verify "a full disk" call 3 $float "$work/a.morsel" --data $pictures --svg /dev/full
exit $status
