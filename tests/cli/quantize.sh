#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel quantize from the command line, on a small float network and the shipped pictures. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=quantize title='quantize: '
. tests/cli/calls.sh
make_files
float=tests/cli/float_small.onnx
pictures=models/cifar10/pictures
rule=models/cifar10/picture.json

# --- what it writes
mkdir "$work/qdq" # the network is named after its file
verify "a blob and a QDQ file" call 0 $float --data $pictures --picture $rule --labels models/cifar10/labels.txt \
    -o "$work/a.morsel" -o "$work/qdq/float_small.onnx"
verify "a summary" says '^  arena bytes  [0-9]+'
verify "the QDQ file converts to the same blob" sh -c "'$morsel' convert '$work/qdq/float_small.onnx' --picture $rule \
    --labels models/cifar10/labels.txt -o '$work/b.morsel' && cmp '$work/a.morsel' '$work/b.morsel'"
verify "the blob runs" sh -c "'$morsel' run '$work/a.morsel' $pictures/bird.ppm | grep -q 'bird.ppm'"
verify "JSON" call 0 $float --data $pictures --picture $rule -o "$work/j.morsel" --json
for key in layers macs params blob_bytes arena_bytes samples; do
    verify "JSON has $key" test "$(number $key)" -gt 0
done
verify "JSON names the method" says '"method": "mse"'
verify "again, byte for byte, with any number of threads" sh -c "'$morsel' quantize $float --data $pictures --picture $rule \
    --threads 3 -o '$work/k.morsel' && cmp '$work/j.morsel' '$work/k.morsel'"
verify "JSON of what was not measured" says '"float_top1": null'
verify "JSON with a layer left in float" call 0 $float --data $pictures --picture $rule --exclude head -o "$work/f.morsel" --json
verify "names it" sh -c "grep -A1 layers_float '$work/out' | grep -q '\"head\"'"
for option in "--method minmax" "--method percentile --percentile 99" --per-tensor --symmetric --int8 --reduced-range "--count 3" \
    --no-adaround --no-bias-correction; do
    # shellcheck disable=SC2086
    verify "$option" call 0 $float --data $pictures --picture $rule $option -o "$work/o.morsel"
    verify "$option: other bytes" differs "$work/j.morsel" "$work/o.morsel"
done
verify "--adaround" call 0 $float --data $pictures --picture $rule --adaround -o "$work/o.morsel"
verify "has nothing to add where all sums are small" cmp "$work/j.morsel" "$work/o.morsel"
verify "scales that are found at run time, without data" call 0 $float --dynamic --picture $rule -o "$work/d.morsel" --json
verify "JSON names that" says '"method": "dynamic"'
verify "no layer is float" sh -c "! grep -A1 layers_float '$work/out' | grep -q head"
verify "its layers are" sh -c "'$morsel' inspect '$work/d.morsel' --json | grep -c '\"dynamic_' | grep -qvx 0"
verify "it runs" sh -c "'$morsel' run '$work/d.morsel' $pictures/bird.ppm"
verify "and is compared" sh -c "'$morsel' compare $float '$work/d.morsel' --data $pictures --json | grep -q '\"sqnr_weight_db\": [0-9]'"
verify "a layer of it in float" call_says "head .Gemm. runs in float" 0 $float --dynamic --picture $rule --exclude head -o "$work/e.morsel"
verify "other bytes" differs "$work/d.morsel" "$work/e.morsel"
verify "a layer at run time beside static ones" call 0 $float --data $pictures --picture $rule --dynamic-node head -o "$work/m.morsel"
verify "is one" sh -c "'$morsel' inspect '$work/m.morsel' --json | grep -c '\"dynamic_' | grep -qx 1"
verify "the others are static" sh -c "'$morsel' inspect '$work/m.morsel' --json | grep -c '\"conv\"' | grep -qvx 0"
verify "it is compared" sh -c "'$morsel' compare $float '$work/m.morsel' --data $pictures --json | grep -q '\"sqnr_weight_db\": [0-9]'"
verify "none is listed as float" sh -c "'$morsel' quantize $float --data $pictures --picture $rule --dynamic-node MatMul -o '$work/mm.morsel' --json |
    grep -A1 layers_float | grep -q '\[\]'"
verify "a Gemm is a MatMul" cmp "$work/m.morsel" "$work/mm.morsel"
verify "all layers of an operator" call 0 $float --data $pictures --picture $rule --dynamic-node Conv -o "$work/n.morsel"
verify "in float where both are said" call_says "head .Gemm. runs in float" 0 $float --data $pictures --picture $rule --exclude head \
    --dynamic-node head -o "$work/e.morsel"
verify "a layer inside another operator" call_says "Gemm. runs in float" 0 "$work/fused.onnx" --dynamic --exclude FusedGemm -o "$work/e.morsel"
verify "the same by the node's name" call_says "Gemm. runs in float" 0 "$work/fused.onnx" --dynamic --exclude layer -o "$work/e.morsel"
verify "lines that a layer in 8 bits chooses" call_says "notice: choice: layers in 8 bits make its indices" 0 "$work/chosen.onnx" --dynamic \
    -o "$work/e.morsel"
verify "a layer in float" call 0 "$work/chosen.onnx" --dynamic --exclude layer -o "$work/e.morsel"
verify "chooses none amiss" sh -c "! grep -q 'make its indices' '$work/err'"
verify "angles in coarse steps" call_says "notice: wave: in 8 bits its angle has steps of [1-9].* radians" 0 "$work/angles.onnx" --data "$work/a.npy" \
    -o "$work/e.morsel"
verify "angles in float" call 0 "$work/angles.onnx" --data "$work/a.npy" --exclude wave --exclude layer -o "$work/e.morsel"
verify "have none" sh -c "! grep -q 'radians' '$work/err'"
verify "all sums and none" call_says "adaround or --no-adaround" 2 $float --data $pictures --picture $rule --adaround --no-adaround -o "$work/o.morsel"
verify "the QDQ file alone" call 0 $float --data $pictures --picture $rule --format qdq -o "$work/alone.onnx"
verify "is the same file" cmp "$work/qdq/float_small.onnx" "$work/alone.onnx"
verify "and holds no rule, which is noticed" says "notice: .*alone.onnx does not hold what --picture says: give them to morsel convert, too"
verify "a layer left in float" call_says "head .Gemm. runs in float" 0 $float --data $pictures --picture $rule --exclude head -o "$work/f.morsel"
verify "an operator left in float" call_says "2 layers run in float, from stem .Conv. to depthwise .Conv." 0 $float --data $pictures --picture $rule --exclude Conv -o "$work/f.morsel"

verify "all of it left in float" call_says "layers run in float, from stem .Conv. to head .Gemm." 0 $float --data $pictures --picture $rule --exclude Conv --exclude Gemm \
    --exclude Add --exclude GlobalAveragePool -o "$work/o.morsel"
# same BLOB: whatever the kernels, the same numbers
same() {
    "$morsel" run "$1" $pictures/bird.ppm --output "$work/c.npy" --cpu c && "$morsel" run "$1" $pictures/bird.ppm --output "$work/best.npy" &&
        cmp "$work/c.npy" "$work/best.npy"
}
verify "their answers are those of plain C" same "$work/f.morsel"
verify "those of a layer at run time, too" same "$work/m.morsel"
verify "and of several" same "$work/n.morsel"
verify "its weights as 16-bit floats" call 0 $float --data $pictures --picture $rule --exclude Conv --half -o "$work/h.morsel"
verify "take less room" sh -c "[ \$(wc -c <'$work/h.morsel') -lt \$(wc -c <'$work/f.morsel') ]"
verify "and give the answers of plain C" same "$work/h.morsel"
verify "--half without a float layer" call_says "no layer has float weights" 0 $float --data $pictures --picture $rule --half -o "$work/o.morsel"

# --- TopK: it takes numbers only, and log(0) in its place is no fault of the network
top=tests/golden/cases/top
verify "TopK behind ranges of data" call 0 $top/net.onnx --data $top/in0.npy -o "$work/t.morsel"
verify "takes what it takes without" sh -c "'$morsel' quantize $top/net.onnx --dynamic -o '$work/td.morsel' &&
    for name in t td; do '$morsel' run '$work/'\$name.morsel --input $top/in0.npy --output 0='$work/'\$name.0 --output 1='$work/'\$name.1 || exit 1; done
    cmp '$work/t.0' '$work/td.0' && cmp '$work/t.1' '$work/td.1'"

# --- a network of float16
half=tests/cli/float16.onnx
verify "a network of float16" call_says "floats: values of float16 and double are float" 0 $half --data $pictures --picture $rule \
    -o "$work/h.morsel" -o "$work/h.onnx"
verify "whose QDQ file converts to the same blob" sh -c "'$morsel' convert '$work/h.onnx' --picture $rule -o '$work/i.morsel' &&
    '$morsel' run '$work/i.morsel' $pictures/bird.ppm --output '$work/i.npy' && '$morsel' run '$work/h.morsel' $pictures/bird.ppm \
    --output '$work/h.npy' && cmp '$work/i.npy' '$work/h.npy'"
verify "takes pictures in float, too" sh -c "'$morsel' run $half $pictures/bird.ppm --picture $rule --top 1 | grep -q 'class 1 '"
verify "the blob is near" sh -c "'$morsel' compare $half '$work/h.morsel' --data $pictures --json | grep -qE 'output_sqnr_db\": [4-9][0-9]'"

# --- accuracy: pictures labelled by the network itself, so that its float answers are right
label() {
    for picture in "$pictures"/*.ppm; do
        answer=$("$morsel" run "$work/j2.morsel" "$picture" --top 1 | awk 'NR == 1 {print $2}')
        mkdir -p "$work/labelled/$answer" && cp "$picture" "$work/labelled/$answer/" || return 1
    done
}
value() { sed -n "s/^ *\"$1\": \(.*[^,]\),*$/\1/p" "$work/out"; }
# Ranges so narrow that answers change, and nothing that makes up for it.
bad="--method percentile --percentile 51 --no-bias-correction --no-equalization --no-adaround"
eval_call() { call 0 $float --data $pictures --picture $rule --labels models/cifar10/labels.txt --eval "$work/labelled" "$@"; }
verify "a blob to label by" call 0 $float --data $pictures --picture $rule --labels models/cifar10/labels.txt -o "$work/j2.morsel"
verify "labels" label
verify "--eval" eval_call -o "$work/e.morsel"
verify "says when it begins" says '^morsel: 10 labelled samples of .*labelled: the float network runs$'
verify "and when it ends" says '^morsel: quantized network: top-1 100.00 %, a drop of 0, [0-9.]+ s$'
verify "a table of one attempt" says '^0 +100.00 +[+]0.00 +0 '
verify "how sure that is" says 'Standard error of so many samples: 0.00 points of top-1, at most 10.00 of the difference'
verify "few samples" says 'notice: 10 samples: one input in 11 goes beyond the ranges'
verify "which nobody asked for" sh -c "! grep -q 'asked for' '$work/err'"
verify "more are asked for than there are" call_says '10 samples, fewer than the 11 asked for' 0 $float --data $pictures --picture $rule --count 11 \
    -o "$work/e.morsel"
verify "--eval-limit" eval_call --eval-limit 4 -o "$work/e.morsel" --json
verify "takes so many" says '"eval_samples": 4,'
# shellcheck disable=SC2086
verify "--eval after bad ranges" eval_call $bad -o "$work/e.morsel" --json
for key in float_top1 int8_top1 drop layers_float attempts; do verify "JSON has $key" says "\"$key\": "; done
verify "answers are wrong" sh -c "[ '$(value float_top1)' = 1 ] && [ '$(value int8_top1)' != 1 ]"
# shellcheck disable=SC2086
verify "--max-drop keeps layers in float" eval_call $bad --max-drop 0 -o "$work/e2.morsel" --json
verify "attempt by attempt" says '^morsel: attempt 1, all layers in 8 bits$'
verify "each layer alone" says '^morsel: top-1 drops by more than 0: each of 5 layers runs in float alone, over 10 of the typical inputs$'
verify "and how many at most" says '^morsel: attempt 2 of at most 8, 1 layer in float$'
verify "no more than that" sh -c "[ \$(grep -c 'quantized network: top-1' '$work/err') -le 8 ]"
verify "a drop of none is no small drop" sh -c "! grep -q 'allows none' '$work/err'"
verify "until it holds" sh -c "[ '$(value int8_top1)' = 1 ] && [ '$(value drop)' = 0 ]"
verify "which are said" says '^    "(stem|depthwise|add|pool|head)"'
# shellcheck disable=SC2086
verify "not all of them" sh -c "[ $(sed -n '/"layers_float"/,/\]/p' "$work/out" | grep -c '^    "') -lt 5 ]"
mkdir "$work/black"
{ printf 'P6 32 32 255\n'; head -c 3072 /dev/zero; } >"$work/black/a.ppm"
cp "$work/black/a.ppm" "$work/black/b.ppm"
verify "data that show nothing" call 0 $float --data "$work/black" --picture $rule --labels models/cifar10/labels.txt --eval "$work/labelled" \
    --max-drop 0 -o "$work/e4.morsel"
verify "keep most layers in float, which is noticed" says 'notice: --max-drop 0 holds with [345] of 5 layers in float'
verify "--max-drop that no sample is" eval_call --max-drop 0.0999 -o "$work/e3.morsel"
verify "is noticed" says 'notice: --max-drop 0.0999: one of 10 labelled samples is a drop of 0.1, .* the smallest value that means more is 0.1,'
verify "--max-drop of a sample" eval_call --max-drop 0.1 -o "$work/e3.morsel"
verify "is not" sh -c "! grep -q 'allows none' '$work/err'"
verify "the smallest drop is rounded up" eval_call --eval-limit 3 --max-drop 0.3 -o "$work/e3.morsel"
verify "so that it allows one" says 'the smallest value that means more is 0.333334,'
# shellcheck disable=SC2086
verify "--max-drop that holds changes nothing" eval_call --max-drop 0 -o "$work/e3.morsel"
verify "the blob is that of no criterion" cmp "$work/j2.morsel" "$work/e3.morsel"

# --- calls and files that are at fault: nothing is written
rm -rf "$work"/*.morsel "$work"/*.onnx "$work/qdq"
verify "no data" call_says "^morsel: quantize: --data PATH is missing" 2 $float -o "$work/x.morsel"
verify "no network" call_says "one float network is wanted, 0 given" 2 --data $pictures -o "$work/x.morsel"
verify "two networks" call_says "2 given, the last being x.onnx" 2 $float x.onnx --data $pictures -o "$work/x.morsel"
verify "a blob" call_says "network.morsel is a blob already" 1 models/cifar10/network.morsel --data $pictures --picture $rule -o "$work/x.morsel"
verify "no output" call_says "-o MODEL.morsel" 2 $float --data $pictures --picture $rule
verify "two blobs" call_says "two outputs of one kind" 2 $float --data $pictures -o "$work/x.morsel" -o "$work/y.morsel"
verify "a format that is none" call_says "qdq" 2 $float --data $pictures --format int4 -o "$work/x.onnx"
verify "--format qdq without its file" call_says "OUT.onnx" 2 $float --data $pictures --format qdq -o "$work/x.morsel"
verify "a method that is none" call_says "minmax, average" 2 $float --data $pictures --method median -o "$work/x.morsel"
verify "a percentile that is none" call_says "above 50" 2 $float --data $pictures --method percentile --percentile 3x -o "$work/x.morsel"
verify "a drop that is none" call_says "share of the answers" 2 $float --data $pictures --eval x --max-drop 2 -o "$work/x.morsel"
verify "a drop of nothing" call_says "--eval DATASET" 2 $float --data $pictures --max-drop 0.1 -o "$work/x.morsel"
verify "a limit of nothing" call_says "how many pictures of --eval" 2 $float --data $pictures --eval-limit 4 -o "$work/x.morsel"
verify "labelled pictures that are not there" call 1 $float --data $pictures --picture $rule --eval "$work/nowhere" -o "$work/x.morsel"
verify "an exclusion of nothing" call_says "no node and no operator" 2 $float --data $pictures --picture $rule --exclude haed -o "$work/x.morsel"
verify "the input as output" call_says "written over" 2 $float --data $pictures --picture $rule -o $float
dynamic=../shared/models/food11_quantized_dynamic.onnx
if [ -f $dynamic ]; then
    verify "a dynamically quantized network" call_says "the float network that it was made from" 1 $dynamic --data $pictures --picture $rule \
        -o "$work/x.morsel"
else echo "skip ${title}a dynamically quantized network: no $dynamic"; fi
for option in "--data $pictures" "--method mse" --int8 --no-bias-correction --no-equalization --adaround; do
    # shellcheck disable=SC2086
    verify "it has no use for $option" call_says "and --dynamic has none" 2 $float --dynamic $option -o "$work/x.morsel"
done
verify "nor for layers at run time beside static ones" call_says "among static ones" 2 $float --dynamic --dynamic-node head -o "$work/x.morsel"
verify "a layer at run time that is not there" call_says "weights has that name" 2 $float --data $pictures --picture $rule --dynamic-node haed \
    -o "$work/x.morsel"
verify "or is none" call_says "with constant weights" 2 $float --data $pictures --picture $rule --dynamic-node Add -o "$work/x.morsel"
verify "or in a QDQ form" call_says "QDQ form has no scales" 2 $float --data $pictures --picture $rule --dynamic-node head -o "$work/x.onnx"
verify "nor a QDQ form" call_says "QDQ form has no scales" 2 $float --dynamic -o "$work/x.onnx"
verify "a percentile of another method" call_says "for --method percentile" 2 $float --data $pictures --percentile 99 -o "$work/x.morsel"
refused=tests/cli/float_refused.onnx
verify "an operator that no blob has, before the data are opened" call_says "operator Einsum" 1 $refused --data "$work/nowhere" -o "$work/x.morsel"
verify "no advice to quantize what is being quantized" sh -c "! grep -q 'is a float network' '$work/err'"
verify "beside what the float executor lacks" call_says "operator Einsum" 1 tests/cli/float_lacking.onnx --data "$work/nowhere" \
    -o "$work/x.morsel"
verify "each node once" sh -c "'$morsel' quantize tests/cli/float_lacking.onnx --data '$work/nowhere' -o '$work/x.morsel' 2>&1 |
    grep -q ': 3 nodes are not supported'"
verify "a quantized network" call_says "quantized already" 1 models/cifar10/network.onnx --data $pictures --picture $rule -o "$work/x.morsel"
mkdir "$work/empty"
verify "an empty folder" call 1 $float --data "$work/empty" --picture $rule -o "$work/x.morsel"
verify "data that is not there" call 1 $float --data "$work/nowhere" --picture $rule -o "$work/x.morsel"
verify "pictures without a rule" call 2 $float --data $pictures -o "$work/x.morsel"
verify "a full disk" call 3 $float --data $pictures --picture $rule -o /dev/full
verify "a folder that does not exist, before the data are opened" call_says "cannot write .*/nowhere/x.morsel" 2 $float --data "$work/nothing" \
    --picture $rule -o "$work/nowhere/x.morsel"
verify "nor does the QDQ file's" call_says "cannot write .*/nowhere/x.onnx" 2 $float --data "$work/nothing" --picture $rule -o "$work/nowhere/x.onnx"
verify "nothing was written" sh -c "! ls '$work' | grep -qE 'morsel|onnx'"
verify "several pictures at once" call_says "4 pictures at once.*--shape input=4,3,32,32 makes" 1 $float --data $pictures --picture $rule \
    --shape input=4,3,32,32 -o "$work/four.morsel"
verify "as it says" sh -c "'$morsel' quantize $float --data $pictures --picture $rule -o '$work/one.onnx' && '$morsel' convert '$work/one.onnx' \
    --shape input=4,3,32,32 -o '$work/four.morsel' && '$morsel' inspect '$work/four.morsel' | grep -qF '[4, 3, 32, 32]'"
exit $status
