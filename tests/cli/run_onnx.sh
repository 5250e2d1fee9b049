#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel run on ONNX files, in float, from the command line. Quantized networks between QuantizeLinear and DequantizeLinear give what ONNX
# Runtime recorded. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=run title='run: '
. tests/cli/calls.sh
cases=tests/golden/cases

for name in squeeze_excite-qdq-u8s8pc residual-qdq-u8u8pt shuffle-qdq-u8s8pc conv_grouped-qdq-s8s8pc move_gather-qdq-u8s8pc \
    pool_AveragePool_padded_count-qdq-u8s8pc gemm_rows-qdq-u8s8pc; do
    verify "$name" call 0 $cases/$name/net.onnx --input $cases/$name/in0.npy --output "$work/y.npy"
    verify "$name is what was recorded" cmp "$work/y.npy" $cases/$name/out0.npy
done
net=$cases/squeeze_excite-qdq-u8s8pc/net.onnx x=$cases/squeeze_excite-qdq-u8s8pc/in0.npy
verify "a time" says '^[0-9.]+ ms a run, in float on one thread$'
verify "the same bytes again" call 0 $net --input $x --output "$work/z.npy"
verify "are the same" sh -c "cmp '$work/z.npy' $cases/squeeze_excite-qdq-u8s8pc/out0.npy"
verify "JSON" call_says '"outputs": \[' 0 $net --input $x --output "$work/z.npy" --json
verify "JSON and nothing else" sh -c "head -n 1 '$work/out' | grep -q '^{$'"
verify "an input and an output by number" call 0 $net --input 0=$x --output "0=$work/n.npy"
verify "the same bytes once more" cmp "$work/n.npy" $cases/squeeze_excite-qdq-u8s8pc/out0.npy
verify "operators that it does not have" call_says "the float executor cannot run [0-9]+ nodes?: '[^']*' \(QLinear[^']*and [0-9]+ more: [^:]*; '" 1 \
    $cases/residual-qop-s8s8pc/net.onnx --input $cases/residual-qop-s8s8pc/in0.npy
verify "says what to do" says "QOperator form: run the blob"
verify "no input" call_says "there is nothing to run on|has no file" 2 $net
verify "an array that does not fit" call_says "gemm_rows.*which does not fit input" 1 $net --input $cases/gemm_rows-qdq-u8s8pc/in0.npy
verify "two arrays for one input" call_says "given twice" 2 $net --input $x --input $x
verify "no such array" call_says "nothing.npy" 1 $net --input "$work/nothing.npy"
verify "pictures and arrays" call_says "both given" 2 $net models/cifar10/pictures/bird.ppm --input $x
float=tests/cli/float_small.onnx
rule="--picture models/cifar10/picture.json"
pictures=models/cifar10/pictures
verify "pictures without a rule" call_says "no picture rule: give one by --picture" 2 $float $pictures/bird.ppm
# shellcheck disable=SC2086
verify "a rule without pictures" call_says "name some behind the network" 2 $float --input $x $rule
# shellcheck disable=SC2086
verify "a folder" call_says "is a folder: name pictures" 2 $float $pictures $rule
# shellcheck disable=SC2086
verify "pictures" call_says '^frog.ppm +class [0-9]+ +0.[0-9]+' 0 $float $pictures/bird.ppm $pictures/frog.ppm $rule
# shellcheck disable=SC2086
verify "with labels" call_says '^bird.ppm +[a-z]+ +0.[0-9]+' 0 $float $pictures/bird.ppm $rule --labels models/cifar10/labels.txt --top 2
# shellcheck disable=SC2086
verify "in JSON as of a blob" call_says '"file": ".*/bird.ppm"' 0 $float $pictures/bird.ppm $rule --labels models/cifar10/labels.txt --json
for key in results top label index p ms outputs isa; do verify "JSON has $key" says "\"$key\": "; done
cp $pictures/bird.ppm "$work/bird.ppm"
# shellcheck disable=SC2086
verify "an output over a picture" call_says "would be written over" 2 $float "$work/bird.ppm" $rule --output "$work/bird.ppm"
# What a picture becomes is what the blob's input would be: a network in 8 bits gives nearly the same.
verify "a rule for a blob" call_says "for ONNX files" 2 models/cifar10/network.morsel $pictures/bird.ppm $rule
answers() { "$morsel" run "$@" --top 1 | awk '/ppm/ {print $1, $2}'; }
# shellcheck disable=SC2086
verify "the shipped network answers as its blob" sh -c "[ '$(answers models/cifar10/network.morsel $pictures/*.ppm)' = \
    '$(answers models/cifar10/network.onnx $pictures/*.ppm $rule --labels models/cifar10/labels.txt)' ]"

# --- morsel eval
mkdir "$work/classes"
for picture in $pictures/*.ppm; do
    class=$(basename "$picture" .ppm)
    mkdir "$work/classes/$class" && cp "$picture" "$work/classes/$class/"
done
counts() { "$morsel" eval "$@" --json | grep -E 'images"|top1|top5'; }
# shellcheck disable=SC2086
verify "eval of the shipped network is that of its blob" sh -c "[ '$(counts models/cifar10/network.morsel "$work/classes")' = \
    '$(counts models/cifar10/network.onnx "$work/classes" $rule --labels models/cifar10/labels.txt)' ]"
evaluates() { pattern=$1; want=$2; shift 2; "$morsel" eval "$@" >"$work/out" 2>"$work/err"; code=$?; [ $code -eq "$want" ] && says "$pattern"; }
# shellcheck disable=SC2086
verify "eval of a float network" evaluates '^10 images: top-1 [0-9.]+ %' 0 $float "$work/classes" $rule --labels models/cifar10/labels.txt --threads 2
# shellcheck disable=SC2086
verify "eval of some pictures" evaluates '^4 images' 0 $float "$work/classes" $rule --limit 4
verify "without labels classes are in order" says 'notice: there are no labels .--labels.; the subfolders are taken as classes 0 to 9'
verify "eval without a rule" evaluates "no picture rule: give one by --picture" 2 $float "$work/classes"
# shellcheck disable=SC2086
verify "a rule for eval of a blob" evaluates "for ONNX files" 2 models/cifar10/network.morsel "$work/classes" $rule
cp $x "$work/both.npy"
verify "an output over an input" call_says "would be written over" 2 $net --input "$work/both.npy" --output "$work/both.npy"
verify "is left alone" cmp "$work/both.npy" $x
cp $net "$work/net.onnx"
verify "an output over the network" call_says "would be written over" 2 "$work/net.onnx" --input $x --output "$work/net.onnx"
verify "is refused before it is read" cmp "$work/net.onnx" $net
verify "an output that cannot be written" call 2 $net --input $x --output "$work/none/y.npy"
head -c 2000 $net >"$work/cut.onnx"
verify "a file cut short" call_says "cut.onnx" 1 "$work/cut.onnx" --input $x
verify "no such network" call_says "nothing.onnx" 1 "$work/nothing.onnx" --input $x
exit $status
