#!/bin/sh
# SPDX-License-Identifier: MIT
# --output-node and --input-node: a network cut anywhere, and the options that a refusal names. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=quantize title='cut: '
. tests/cli/calls.sh
make_files
scikit=tests/cli/scikit.onnx # a pipeline as skl2onnx writes it: Scaler, a perceptron, ArgMax, ArrayFeatureExtractor, ZipMap
small=tests/cli/float_small.onnx

# --- what is refused at the ends of a network is told with what cuts it off
verify "scikit-learn's ends" call_says "ZipMap .*does not have this operator of ai.onnx.ml" 1 $scikit --dynamic -o "$work/x.morsel"
verify "with the line that cuts them off" says \
    "^morsel: $scikit: what is refused stands at an end of it: cut it off with --input-node variable --output-node out_activations_result$"
verify "which is the last one" sh -c "tail -n 1 '$work/err' | grep -q 'cut it off'"
verify "nothing is written" absent "$work/x.morsel"
verify "in JSON, too" call_says '"cut_off": "--input-node variable --output-node out_activations_result"' 1 $scikit --dynamic -o "$work/x.morsel" --json
ends="--input-node variable --output-node out_activations_result"
verify "an input without a shape" call_says "input 'variable' has no shape in the file; give one with --shape variable=" 1 $scikit --dynamic \
    -o "$work/x.morsel" $ends
verify "cut as it says" call 0 $scikit --dynamic -o "$work/cut.morsel" $ends --shape variable=1,4
verify "it is nearly the float network" sh -c "$morsel compare $scikit '$work/cut.morsel' $ends --shape variable=1,4 --json 2>/dev/null |
    sed -n 's/^ *\"output_sqnr_db\": \([0-9]*\).*/\1/p' | { read -r db && [ \"\$db\" -ge 25 ]; }"
LC_ALL=C sed 's/Clip/Clop/' $small >"$work/amid.onnx"
verify "what is refused amid layers" call_says "clip .Clop.* is not supported|does not have this operator" 1 "$work/amid.onnx" --dynamic -o "$work/x.morsel"
verify "is not told to be cut" sh -c "! grep -q 'cut it off' '$work/err'"

verify "a name that a shell would run is told" call_says "cut it off with" 1 "$work/quotes.onnx" --dynamic -o "$work/x.morsel"
word=$(sed -n 's/.*cut it off with --output-node //p' "$work/err")
verify "as one word of the shell" sh -c "cd '$work' && eval \"set -- \$1\" && [ \$# -eq 1 ] && [ ! -e ran ] && printf %s \"\$1\" >word" sh "$word"
verify "which is its name" call 0 "$work/quotes.onnx" --dynamic -o "$work/x.morsel" --output-node "$(cat "$work/word")"
rm -f "$work/x.morsel"

# --- anywhere: two halves, one after the other, give what the whole gives
part() { half=$1; shift; $morsel inspect $small --onnx "$work/$half.onnx" "$@" 2>/dev/null; }
runs() { $morsel run "$1" --input "$2" --output "$3" >/dev/null; }
verify "the half before a node" part first --output-node add
verify "ends there" sh -c "$morsel inspect '$work/first.onnx' | grep -q '^output a: float 1x8x16x16'"
verify "the half behind it" part second --input-node add --shape a=1,8,16,16
verify "begins there" sh -c "$morsel inspect '$work/second.onnx' | grep -q '^input a: float 1x8x16x16' && ! $morsel inspect '$work/second.onnx' | grep -q Conv"
verify "the first runs" runs "$work/first.onnx" "$work/data_two.npy" "$work/a.npy"
verify "the second runs" runs "$work/second.onnx" "$work/a.npy" "$work/halves.npy"
verify "the whole runs" runs $small "$work/data_two.npy" "$work/whole.npy"
verify "and is both" cmp "$work/halves.npy" "$work/whole.npy"
verify "several outputs" sh -c "$morsel inspect $small --output-node r1 --output-node pool 2>/dev/null | grep -c '^output' | grep -qx 2"
verify "the network's own output" call 0 $small --dynamic -o "$work/a.morsel" --output-node head
verify "the whole network" call 0 $small --dynamic -o "$work/b.morsel"
verify "are one blob" cmp "$work/a.morsel" "$work/b.morsel"
verb=convert
verify "convert cuts, too" call 0 models/cifar10/network.onnx -o "$work/c.morsel" --output-node flat_quantized
verify "at bytes" sh -c "$morsel inspect '$work/c.morsel' | grep -q 'output.*flat_quantized.*uint8'"

# --- what is no place to cut
check "a name that is none" 2 "float_small.onnx: --output-node poll: no node and no value has that name; did you mean 'pool'" inspect $small --output-node poll
check "an input behind the outputs" 2 "--input-node p: nothing that leads to an output" inspect $small --input-node p --output-node add
check "a constant" 2 "--output-node w1: it is a constant" quantize $small --dynamic -o "$work/x.morsel" --output-node w1
check "of a blob" 2 "no option '--output-node'" inspect "$work/a.morsel" --output-node head
exit $status
