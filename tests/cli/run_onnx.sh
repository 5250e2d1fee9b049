#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel run on ONNX files, in float, from the command line. Quantized networks between QuantizeLinear and DequantizeLinear give what ONNX
# Runtime recorded. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
morsel=${MORSEL:-build/morsel}
cases=tests/golden/cases
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

# verify NAME COMMAND...: a command that must succeed.
verify() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then echo "ok run: $name"; else
        echo "FAIL run: $name"
        head -n 12 "$work/log" | sed 's/^/    /'
        status=1
    fi
}

# call STATUS ARGUMENTS...: the exit status is that, and a failure says something that starts with "morsel: ". Output in out and err.
call() {
    want=$1
    shift
    "$morsel" run "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$want" ] || { echo "exit status $code, not $want"; cat "$work/err"; return 1; }
    [ "$want" -eq 0 ] || grep -q '^morsel: ' "$work/err" || { echo "no line that starts with 'morsel: '"; return 1; }
}
says() { grep -qE -- "$1" "$work/out" "$work/err" || { echo "no line has /$1/"; cat "$work/out" "$work/err"; return 1; }; }
call_says() { pattern=$1; shift; call "$@" && says "$pattern"; }

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
verify "pictures" call_says "no picture rule" 2 $net models/cifar10/pictures --input $x
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
