#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel run on blobs, with pictures and arrays, and on ONNX files in float. Quantized networks between QuantizeLinear and
# DequantizeLinear give what ONNX Runtime recorded. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
make_files

# --- run on pictures
check "run" 0 "red.ppm +red +0\.99.* green .* blue " run "$work/color.morsel" "$work/red.ppm"
check "run on several" 0 "blue_sky.ppm +blue" run "$work/color.morsel" "$work/red.ppm" "$work/green.ppm" "$work/blue_sky.ppm" --top 1
check "run checks names" 0 "3 of 3 right" run "$work/color.morsel" "$work/red.ppm" "$work/green.ppm" "$work/blue_sky.ppm" --check-names
cp "$work/red.ppm" "$work/photo.ppm"
check "a name that is no label" 0 "photo.ppm +\? " run "$work/color.morsel" "$work/red.ppm" "$work/photo.ppm" --check-names
check "does not count" 0 "^1 of 1 right" run "$work/color.morsel" "$work/red.ppm" "$work/photo.ppm" --check-names
check "a batch says whose time it is" 0 "times are those of a whole batch" run "$work/color2.morsel" "$work/red.ppm"
check "run of a batch of 2" 0 "3 of 3 right" run "$work/color2.morsel" "$work/red.ppm" "$work/green.ppm" "$work/blue_sky.ppm" --check-names
check "run --json" 0 '"label": "green", "index": 1' run "$work/color.morsel" "$work/green.ppm" --json --top 1
check "run with threads" 0 "red.ppm +red" run "$work/color.morsel" "$work/red.ppm" --threads 3
check "run with plain C" 0 "red.ppm +red" run "$work/color.morsel" "$work/red.ppm" --cpu c
check "run on a cut picture" 1 "cut.ppm: it is a damaged PGM or PPM" run "$work/color.morsel" "$work/cut.ppm"
check "run on a cut picture in JSON" 1 '"error": ".*cut.ppm: it is a damaged PGM or PPM' run "$work/color.morsel" "$work/cut.ppm" --json
verify "tells that one is" test "$(number broken) $(number runs)" = "1 0"
for kind in color color2; do # in a run of its own, and in a batch with others
    check "a cut picture stops no others, $kind" 1 "red.ppm +right  red +0\.99" run "$work/$kind.morsel" "$work/cut.ppm" "$work/red.ppm" "$work/green.ppm" --check-names
    verify "which are told" says "green.ppm +right  green +0\.99"
    verify "and it is not" sh -c "! grep -q cut.ppm '$work/out' && grep -q 'cut.ppm: it is a damaged' '$work/err'"
    verify "nor counted" says "^2 of 2 right"
    check "nor in JSON, $kind" 1 '"file": ".*green.ppm"' run "$work/$kind.morsel" "$work/green.ppm" "$work/red.ppm" "$work/cut.ppm" --json
    verify "whose document is whole" test "$(head -c 1 "$work/out")$(tail -n 1 "$work/out") $(number broken)" = "{} 1"
    verify "and says what is wrong" says '"error": ".*cut.ppm: it is a damaged PGM or PPM'
    verify "with an answer for the others alone" test "$(grep -c '"top"' "$work/out")" -eq 2
done
check "a picture that is not there" 1 '"error": ".*cannot read .*nowhere.ppm' run "$work/color.morsel" "$work/red.ppm" "$work/nowhere.ppm" --json
check "an output has no row for what is cut" 1 "cut.ppm: it is a damaged" run "$work/color.morsel" "$work/red.ppm" "$work/cut.ppm" --output "$work/rows.npy"
verify "and is not written" absent "$work/rows.npy"
check "run on no picture" 1 "color.morsel: it is not a" run "$work/color.morsel" "$work/color.morsel"
check "run on nothing" 2 "nothing to run on" run "$work/color.morsel"
check "run on both" 2 "one or the other" run "$work/color.morsel" "$work/red.ppm" --input "$work/a.npy"
check "run without a picture rule" 1 "no picture rule" run "$work/bytes.morsel" "$work/red.ppm"

# --- run on arrays
check "identity" 0 "y.npy: output 'y'" run "$work/bytes.morsel" --input "$work/bytes.npy" --output "$work/y.npy"
verify "identity gives the same file" cmp "$work/bytes.npy" "$work/y.npy"
check "stacked" 0 "3 runs" run "$work/bytes.morsel" --input "x=$work/bytes3.npy" --output "y=$work/y3.npy"
verify "stacked runs give the same file" cmp "$work/bytes3.npy" "$work/y3.npy"
check "layouts" 0 "to_line" run "$work/order.morsel" --input "line=$work/line.npy" --input "planes=$work/planes.npy" \
    --output "to_planes=$work/p.npy" --output "to_line=$work/l.npy"
verify "pixels to planes" cmp "$work/planes.npy" "$work/p.npy"
verify "planes to pixels" cmp "$work/line.npy" "$work/l.npy"
check "two inputs, two outputs" 0 "minus" run "$work/two.morsel" --input "a=$work/a.npy" --input "1=$work/b.npy" \
    --output "sum=$work/s.npy" --output "minus=$work/m.npy"
verify "first output" cmp "$work/sum.npy" "$work/s.npy"
verify "second output" cmp "$work/minus.npy" "$work/m.npy"
check "float64 is converted with a notice" 0 "notice: .*a2_wide.npy was converted to float32" run "$work/two.morsel" \
    --input "a=$work/a2_wide.npy" --input "b=$work/a2.npy" --output "minus=$work/m2.npy"
verify "float64 gives the same" cmp "$work/minus2.npy" "$work/m2.npy"
check "an array to classify" 0 "colors.npy\[2\] +blue" run "$work/color.morsel" --input "$work/colors.npy"
check "an output that is no list of classes" 0 "'y', uint8 \[1, 3, 2, 2\] is no list of classes" run "$work/bytes.morsel" --input "$work/bytes.npy"
check "a picture with an output" 0 "red.ppm +red" run "$work/color.morsel" "$work/red.ppm" --output "$work/scores.npy"
verify "the output of a picture" [ "$(wc -c <"$work/scores.npy")" -eq 140 ]
check "a wrong shape" 1 "uint8 \[1, 2, 2, 3\].*'x', uint8 \[1, 3, 2, 2\]" run "$work/bytes.morsel" --input "$work/bytes_shape.npy"
check "no rows" 1 "but not 0" run "$work/bytes.morsel" --input "$work/bytes_none.npy"
check "a wrong type" 1 "int8 \[1, 3, 2, 2\].*'x', uint8 \[1, 3, 2, 2\]" run "$work/bytes.morsel" --input "$work/bytes_type.npy"
check "an array that is none" 1 "not a .npy file" run "$work/bytes.morsel" --input "$work/red.ppm"
truncate -s 20G "$work/big.npy" # of zeros, and none of them on the disk
verify "a large file that is no array is not read" sh -c \
    'ulimit -v 900000; "$1" --version || exit 0; "$1" run "$2" --input "$3" 2>&1 | grep "its first bytes are not a header"' sh \
    "$morsel" "$work/bytes.morsel" "$work/big.npy"
rm "$work/big.npy"
verify "an array from a pipe" sh -c "cat '$work/bytes.npy' | $morsel run '$work/bytes.morsel' --input /dev/stdin"
check "an unknown input" 2 "which one" run "$work/two.morsel" --input "c=$work/a.npy" --input "b=$work/b.npy"
check "an input without a name" 2 "which one" run "$work/two.morsel" --input "$work/a.npy" --input "b=$work/b.npy"
check "a missing input" 2 "input 'b'.* has no file" run "$work/two.morsel" --input "a=$work/a.npy"
check "an input twice" 2 "given twice" run "$work/two.morsel" --input "a=$work/a.npy" --input "a=$work/a.npy"
check "inputs that disagree" 1 "for 1 runs, the files before it for 2" run "$work/two.morsel" --input "a=$work/a.npy" --input "b=$work/a2.npy"
check "an output to a dash" 2 "/dev/stdout stands for stdout" run "$work/bytes.morsel" --input "$work/bytes.npy" --output -
check "an output in no folder" 2 "cannot write .*nowhere/y.npy" run "$work/bytes.morsel" --input "$work/bytes.npy" --output "$work/nowhere/y.npy"
check "an output that is a folder" 2 "cannot write" run "$work/bytes.morsel" --input "$work/bytes.npy" --output "$work"
if [ -c /dev/full ]; then
    check "an output on a full disk" 3 "No space left" run "$work/bytes.morsel" --input "$work/bytes.npy" --output /dev/full
    check "one of two outputs on a full disk" 3 "No space left" run "$work/order.morsel" --input "line=$work/line.npy" \
        --input "planes=$work/planes.npy" --output "to_planes=$work/half.npy" --output "to_line=/dev/full"
    verify "the other one is not written" absent "$work/half.npy"
    $morsel inspect "$work/color.morsel" >/dev/full 2>"$work/err"
    verify "stdout on a full disk" [ $? -eq 3 ]
fi
cp "$work/bytes.npy" "$work/both.npy"
ln -s both.npy "$work/link.npy"
check "an output over its input" 2 "link.npy would be written over: it is read" run "$work/bytes.morsel" --input "$work/both.npy" --output "$work/link.npy"
check "an output over the model" 2 "it is read as well" run "$work/bytes.morsel" --input "$work/both.npy" --output "$work/bytes.morsel"
check "an output over another" 2 "it is another output" run "$work/order.morsel" --input "line=$work/line.npy" \
    --input "planes=$work/planes.npy" --output "to_planes=$work/same.npy" --output "to_line=$work/same.npy"
verify "the input is left" cmp "$work/both.npy" "$work/bytes.npy"
check "a wrong input writes nothing" 1 "where the network's" run "$work/bytes.morsel" --input "$work/bytes_type.npy" --output "$work/none.npy"
verify "no output file after a failure" absent "$work/none.npy"
verify "no temporary files" nothing_left

# --- ONNX files, in float
reduced && exit $status
verb=run title='run of ONNX: '
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
verify "a folder" call_says "^truck.ppm " 0 $float $pictures $rule
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
