#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel inspect on ONNX files, and what it writes. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=inspect title='inspect-onnx: '
. tests/cli/calls.sh
network=models/cifar10

check "operators" 0 "^  Conv +52$" inspect $network/network.onnx
check "inputs" 0 "^input input: float 1x3x32x32$" inspect $network/network.onnx
check "another shape" 0 "^input input: float 1x3x64x64$" inspect $network/network.onnx --shape input=1,3,64,64
check "a notice of the free batch" 0 "notice: .*batch_size.*--dim" inspect tests/cli/free_batch.onnx
check "before and after" 0 "^  nodes +7 +3$" inspect tests/cli/written_out.onnx --optimized
check "what became of the operators" 0 "^  HardSwish +0 +1$" inspect tests/cli/written_out.onnx --optimized
check "what the passes did" 0 "^  affine-before +1 " inspect tests/cli/written_out.onnx --optimized
check "JSON" 0 '"name": "affine-before", "changes": 1,' inspect tests/cli/written_out.onnx --optimized --json
verify "JSON has both" test "$(grep -c '"nodes": [0-9]' "$work/out")" -eq 2
verify "and nothing else speaks" test ! -s "$work/err"
check "the file's own opset" 0 "^tests/cli/old_opset.onnx: opset 11" inspect tests/cli/old_opset.onnx --optimized
check "and the one it is optimized in" 0 '^    "opset": 14' inspect tests/cli/old_opset.onnx --optimized --json
check "JSON of the file alone" 0 '"BatchNormalization": 1' inspect tests/cli/written_out.onnx --json
check "writes ONNX" 0 "Conv" inspect $network/network.onnx --onnx "$work/network.onnx"
check "which converts" 0 "layers" convert "$work/network.onnx" -o "$work/network.morsel" --picture $network/picture.json --labels $network/labels.txt
verify "to the same blob" cmp "$work/network.morsel" $network/network.morsel
check "writes what is left" 0 "HardSwish" inspect tests/cli/written_out.onnx --optimized --onnx "$work/left.onnx"
check "which has no more to give" 0 "^  nodes +3 +3$" inspect "$work/left.onnx" --optimized
cp $network/network.onnx "$work/mine.onnx"
check "ONNX over the model" 2 "would be written over" inspect "$work/mine.onnx" --onnx "$work/mine.onnx"
verify "leaves it alone" cmp "$work/mine.onnx" $network/network.onnx
check "a full disk" 3 "^morsel: cannot write /dev/full" inspect $network/network.onnx --onnx /dev/full
check "no such file" 1 "^morsel: .*cannot read .*missing.onnx" inspect "$work/missing.onnx"
head -c 1000 $network/network.onnx >"$work/short.onnx"
check "a damaged file" 1 "^morsel: .*short.onnx: " inspect "$work/short.onnx"
check "two files" 2 "one ONNX file is wanted, 2 given" inspect a.onnx b.onnx
check "--optimized without a file" 2 "one ONNX file is wanted, 0 given" inspect --optimized
check "a blob with --optimized" 1 "is a blob already" inspect $network/network.morsel --optimized
check "help" 0 "--optimized" inspect x.onnx --help
exit $status
