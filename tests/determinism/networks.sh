#!/bin/sh
# SPDX-License-Identifier: MIT
# networks.sh FOLDER COUNT [--more]: every network whose answers are compared, as a blob in FOLDER. COUNT random ones of each kind;
# the recorded cases, the shipped network, those of the command line's tests, quantized and in float. With --more those that are built in,
# and those of ../shared where it is. MORSEL is the full tool, MAKE_NETWORKS the program of the random ones.
cd "$(dirname "$0")/../.." || exit 1
folder=$1
rm -rf "$folder"
mkdir -p "$folder" || exit 1
# shellcheck disable=SC2086
$MAKE_NETWORKS "$folder" $2 ${3:+--built-in} || exit 1
cp models/cifar10/network.morsel "$folder/cifar10.morsel" || exit 1

# make_blob NAME VERB ARGUMENTS...
make_blob() {
    blob=$1
    shift
    "$MORSEL" "$@" -o "$folder/$blob.morsel" >"$folder/log" 2>&1 || { echo "FAIL $blob is not made:" && tail -n 2 "$folder/log" && exit 1; }
}
pictures="--data models/cifar10/pictures --picture models/cifar10/picture.json"
for case in tests/golden/cases/*/; do make_blob "golden-$(basename "$case")" convert "$case/net.onnx"; done
make_blob cifar10-least convert models/cifar10/network.onnx --arena 1
make_blob cifar10-whole convert models/cifar10/network.onnx --no-streaming
for name in free_batch old_opset; do make_blob "cli-$name" convert "tests/cli/$name.onnx"; done
for name in float_small float_dead float16; do
    # shellcheck disable=SC2086
    make_blob "cli-$name" quantize "tests/cli/$name.onnx" $pictures
    # shellcheck disable=SC2086
    make_blob "cli-$name-float" quantize "tests/cli/$name.onnx" $pictures --exclude Conv --exclude Gemm --half
done
rm -f "$folder/log"
[ -n "$3" ] || exit 0
shared=../shared/models
if [ -d $shared ]; then
    for name in food11_quantized_aggressive mbv2_cifar10_int8 mlperf_ic_int8; do make_blob "$name" convert "$shared/$name.onnx"; done
    # shellcheck disable=SC2086
    make_blob mobilenetv2 quantize $shared/cifar10_mobilenetv2.onnx $pictures
    # shellcheck disable=SC2086
    make_blob mobilenetv2-float quantize $shared/cifar10_mobilenetv2.onnx $pictures --exclude Conv
else echo "skip larger networks: no ../shared"; fi
rm -f "$folder/log"
