#!/bin/sh
# SPDX-License-Identifier: MIT
# Each verb without memory: one allocation fails in each call, of all those that it makes ALLOCATIONS_MOST evenly (0: every one).
# `make failing-allocations` tries every one. Prints "ok NAME: FIGURES" or "FAIL NAME: FIGURES".
cd "$(dirname "$0")/../.." || exit 1
verb='' title='allocations: '
. tests/cli/calls.sh
make_files
most=${ALLOCATIONS_MOST:-12}
preload=${FAULTS_SO:-${BUILD:-build}/tests/faults/preload.so}
allocations=${preload%/*}/allocations
small=tests/cli/float_small.onnx
rule=models/cifar10/picture.json
labels=models/cifar10/labels.txt
pictures=models/cifar10/pictures
mkdir -p "$work/f/out"
out=$work/f/out
# shellcheck disable=SC2086
$morsel quantize $small --data "$work/data_sound.npy" --count 30 --picture $rule --labels $labels -o "$work/q.morsel" -o "$work/q.onnx" \
    >"$work/log" 2>&1 || failed "quantize" "$work/log"
cp tests/cli/external.onnx "$work"
head -c 432 /dev/zero >"$work/weights.data"
mkdir "$work/set" "$work/set/red" "$work/set/green" "$work/set/blue"
cp "$work/red.ppm" "$work/set/red"
cp "$work/green.ppm" "$work/set/green"
cp "$work/blue_sky.ppm" "$work/set/blue"

# fails NAME ARGUMENTS...
fails() {
    rm -rf "$out"
    mkdir "$out"
    name=$1
    shift
    "$allocations" "$preload" "$work/f" "$most" "$name" "$morsel" "$@" || status=1
}
fails convert convert "$work/q.onnx" -o "$out/a.morsel" --c "$out/a.c" --picture $rule --labels $labels
fails "convert --json" convert tests/cli/free_batch.onnx -o "$out/a.morsel" --json
fails edit edit "$work/q.morsel" -o "$out/a.morsel" --labels $labels --picture $rule --set version=3 --set licence=MIT --c "$out/a.c"
fails "edit, a part out" edit "$work/q.morsel" -o "$out/a.morsel" --labels "" --json
fails "inspect, weights outside" inspect "$work/external.onnx" --onnx "$out/a.onnx"
fails "quantize, arrays" quantize $small --data "$work/data_sound.npy" --count 30 -o "$out/q.morsel" -o "$out/q.onnx" --threads 2
fails "quantize, pictures" quantize $small --data $pictures --picture $rule --labels $labels -o "$out/q.morsel" --method entropy --threads 1
fails "quantize --max-drop" quantize $small --data $pictures --picture $rule --labels $labels --eval "$work/cifar.bin" --max-drop 0 \
    -o "$out/q.morsel" --method percentile --json
fails compare compare $small "$work/q.morsel" --svg "$out/c.svg"
fails "compare, pictures" compare $small "$work/q.onnx" --data $pictures --picture $rule --json
fails "inspect of a blob" inspect "$work/stream.morsel" --plan "$out/p.svg"
fails "inspect --json" inspect "$work/q.morsel" --json
fails "inspect of a network" inspect $small --optimized --onnx "$out/o.onnx"
fails "inspect of a built-in network" inspect resnet8-32
fails "run of a picture" run "$work/q.morsel" $pictures/cat.ppm --threads 2
fails "run of a JPEG" run "$work/color.morsel" "$work/red.jpg"
fails "run of a PNG" run "$work/color.morsel" "$work/red.png" --json
fails "run of arrays" run "$work/two.morsel" --input "a=$work/a.npy" --input "b=$work/b.npy" --output "sum=$out/sum.npy" --json
fails "run in float" run $small --picture $rule --labels $labels $pictures/cat.ppm
fails "eval of a folder" eval "$work/color.morsel" "$work/set" --threads 2
fails "eval of CIFAR-10" eval "$work/color.morsel" "$work/cifar.bin" --json
fails "eval in float" eval $small "$work/cifar.bin" --picture $rule --labels $labels
# Times differ from call to call: what is written is not held against another.
fails report report "$work/color.morsel" --data "$work/set" -o "$work/r.html" --runs 2 --json
fails "report beside float" report "$work/q.morsel" $small --data "$work/data_sound.npy" -o "$work/r.html" --runs 2 --json
# Each of these calls goes on behind what the one before it wrote of the table.
fails "run --csv" run "$work/color.morsel" "$work/set" --csv "$work/t.csv" --threads 2
spots=models/spots
# shellcheck disable=SC2086
$morsel quantize $spots/network.onnx --data $spots/pictures --picture $spots/picture.json --answer $spots/answer.json -o "$work/s.morsel" \
    -o "$work/s.onnx" >"$work/log" 2>&1 || failed "quantize a detector" "$work/log"
fails "convert --answer" convert "$work/s.onnx" -o "$out/s.morsel" --picture $spots/picture.json --answer $spots/answer.json --labels $spots/labels.txt
fails "run --draw" run "$work/s.morsel" $spots/pictures/spots.ppm --draw "$out/d.png"
mkdir "$work/many"
cp $spots/pictures/spots.ppm "$work/many/"
cp $spots/pictures/spots.ppm "$work/many/again.ppm"
fails "run --draw of many" run "$work/s.morsel" "$work/many" --draw "$out/"
fails "run --answer" run $spots/network.onnx $spots/pictures/spots.ppm --picture $spots/picture.json --answer $spots/answer.json
fails "inspect, cut" inspect $small --output-node add --onnx "$out/h.onnx"
fails "bench --samples" bench "$work/color.morsel" --runs 2 --samples "$work/b.csv" --histogram
fails bench bench "$work/color.morsel" --runs 2 --warmup 0 --layers --json
fails "bench of a built-in network" bench resnet8-32 --runs 1 --warmup 0 --threads 2
exit $status
