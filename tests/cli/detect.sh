#!/bin/sh
# SPDX-License-Identifier: MIT
# Answer rules from the file to boxes: convert and quantize take them, run finds, draws and tables. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=run title='detect: '
. tests/cli/calls.sh
make_files
spots=models/spots photo=models/spots/pictures/spots.ppm
rules="--picture $spots/picture.json --answer $spots/answer.json --labels $spots/labels.txt"
rule() { # TEXT: an answer rule
    cp $spots/anchors.npy "$work/"
    printf '%s' "$1" >"$work/answer.json"
}
quantize() { # STATUS PATTERN OPTIONS...
    status_wanted=$1 pattern_wanted=$2
    shift 2
    # shellcheck disable=SC2086
    check "$name_of" "$status_wanted" "$pattern_wanted" quantize $spots/network.onnx --data $spots/pictures --picture $spots/picture.json "$@"
}

# --- into the blob
name_of="a rule is taken"
quantize 0 "spots.morsel" --answer $spots/answer.json --labels $spots/labels.txt -o "$work/spots.morsel"
net=$work/spots.morsel
check "inspect tells it" 0 "^answer rule: detections, output 0 and 1, head ssd, 3 classes, 128 anchors, the first 100 of p >= 0.5 and IoU <= 0.3$" inspect "$net"
check "in JSON, too" 0 '"answer": \{"kind": "detections", "output": 0, "head": "ssd", "scores": 1, "classes": 3, "anchors": 128, "threshold": 0.5, "iou": 0.3,' \
    inspect "$net" --json
check "the blob is of format 2" 0 '"format_version": 2' inspect "$net" --json
name_of="a head that does not fit"
rule '{"kind": "detections", "head": "yolov10"}'
quantize 1 "answer rule: .*answer.json: output 0 'boxes' is \[1, 128, 4\]; head yolov10 wants \[images, candidates, 6\]" --answer "$work/answer.json" -o "$work/x.morsel"
name_of="an unknown kind"
rule '{"kind": "masks"}'
quantize 1 '"kind" is none of "classes", "detections", "embedding"' --answer "$work/answer.json" -o "$work/x.morsel"
name_of="more labels than classes"
printf 'a\nb\nc\nd\n' >"$work/labels.txt"
quantize 1 "there are 4 labels, and output 1 has scores of 3" --answer $spots/answer.json --labels "$work/labels.txt" -o "$work/x.morsel"
name_of="a rule that would be written over"
rule '{"kind": "embedding"}'
quantize 2 "answer.json would be written over" --answer "$work/answer.json" -o "$work/answer.json"
verify "nothing was written" sh -c "! ls '$work'/x.morsel"

# --- boxes
check "boxes are told" 0 "^    blue +0\.99[0-9]+ +x +15\.[0-9] \.\. +45\.[0-9]  y +39\.[0-9] \.\. +69\.[0-9]$" run "$net" $photo
verify "and how many" says "^spots.ppm +4 found"
check "in JSON" 0 '"label": "green", "index": 1, "p": 0\.9[0-9]+, "x0": 52\.[0-9]+, "y0": 12\.[0-9]+, "x1": 82\.[0-9]+, "y1": 42\.' run "$net" $photo --json
verify "there are as many" test "$(grep -c '"label"' "$work/out")" -eq 4
verify "and no classes" sh -c "! grep -q '\"top\"' '$work/out'"
check "--top cuts them off" 0 "^spots.ppm +2 found" run "$net" $photo --top 2
# shellcheck disable=SC2086
check "the float network finds the same" 0 "^    blue +0\.99[0-9]+ +x +15\.[0-9] \.\. +45\.[0-9]  y +39\.[0-9]" run $spots/network.onnx $photo $rules
verify "and as many" says "^spots.ppm +4 found"
for cpu in c avx2; do
    $morsel run "$net" $photo --json --cpu $cpu | grep label >"$work/$cpu.boxes"
done
verify "boxes are the same on any CPU" cmp "$work/c.boxes" "$work/avx2.boxes"
check "the rule is the blob's" 2 "answer is for ONNX files" run "$net" $photo --answer $spots/answer.json

# --- a picture of them
check "--draw" 0 "4 found" run "$net" $photo --draw "$work/out.ppm"
verify "writes a picture of the same size" sh -c "head -c 12 '$work/out.ppm' | tr '\n' ' ' | grep -q '^P6 96 72 255'"
check "as PNG" 0 "4 found" run "$net" $photo --draw "$work/out.png"
verify "is one" sh -c "od -An -c -N 4 '$work/out.png' | grep -q 'P   N   G'"
# The frame of the box about the blue square, which begins at 15.3, 39.3: its left side is of the colour of class 2.
verify "has a frame where the box is" test "$(tail -c +$((14 + 3 * (60 * 96 + 15))) "$work/out.ppm" | head -c 3 | od -An -tu1 | tr -s ' ')" = " 40 90 230"
check "of two pictures" 2 "draw wants one picture" run "$net" $photo $photo --draw "$work/x.png"
check "of a network without such a rule" 2 "and a network with an answer rule of detections" run "$work/color.morsel" "$work/red.ppm" --draw "$work/x.png"
check "as something else" 2 "pictures are written as .png or .ppm" run "$net" $photo --draw "$work/x.jpg"
cp $photo "$work/photo.ppm"
check "over the picture" 2 "draw .*photo.ppm would be written over: it is read" run "$net" "$work/photo.ppm" --draw "$work/photo.ppm"
check "with a table" 2 "draw is for a picture, without --csv" run "$net" $photo --draw "$work/x.png" --csv "$work/x.csv"
verify "nothing is left" sh -c "! ls '$work'/x.*"

# --- a table
mkdir "$work/set"
cp $photo "$work/set/a.ppm"
printf 'P6 8 8 255\n%0192d' 0 >"$work/set/b.ppm"
cp $photo "$work/set/c.ppm"
head -c 100 $photo >"$work/set/d.ppm"
check "a table" 1 "1 of 4 pictures could not be read" run "$net" "$work/set" --csv "$work/boxes.csv" --threads 2
verify "names its columns" sh -c "head -n 1 '$work/boxes.csv' | grep -qx 'file,boxes,index,label,p,x0,y0,x1,y1,error'"
verify "has a line a box" test "$(grep -cE '/[ac].ppm,4,[0-2],(red|green|blue),0\.[0-9]+,[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+,$' "$work/boxes.csv")" -eq 8
verify "one for a picture without" grep -qx "$work/set/b.ppm,0,,,,,,,," "$work/boxes.csv"
verify "and one for what is no picture" grep -qE "/d.ppm,0,,,,,,,,.*damaged" "$work/boxes.csv"
# A call that was stopped within the lines of the last picture but one: they are made again, the others are not.
printf '%s\n' "$work/set/a.ppm" "$work/set/b.ppm" "$work/set/c.ppm" >"$work/list"
verify "a whole table" sh -c "$morsel run '$net' - --csv '$work/whole.csv' <'$work/list'"
mkfifo "$work/set/wait.ppm"
printf '%s\n' "$work/set/a.ppm" "$work/set/wait.ppm" >"$work/list2"
# shellcheck disable=SC2086
$morsel run "$net" - --csv "$work/whole2.csv" <"$work/list2" >/dev/null 2>&1 &
tries=0
until [ "$(grep -c a.ppm "$work/whole2.csv.partial" 2>/dev/null)" = 4 ] || [ $tries -gt 1200 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -9 $!
wait $! 2>/dev/null
head -n 4 "$work/whole2.csv.partial" >"$work/cut" # three of the four boxes of a.ppm
cp "$work/whole2.csv.partial" "$work/whole3.csv.partial"
verify "goes on behind whole pictures" sh -c "$morsel run '$net' - --csv '$work/whole3.csv' <'$work/list' 2>&1 | grep -q 'goes on behind 1 of 3'"
verify "with the same table" cmp "$work/whole.csv" "$work/whole3.csv"
cp "$work/cut" "$work/whole4.csv.partial"
verify "not behind a part of one" sh -c "! $morsel run '$net' - --csv '$work/whole4.csv' <'$work/list' 2>&1 | grep 'goes on'"
verify "which is made again" cmp "$work/whole.csv" "$work/whole4.csv"

mkdir -p "$work/pictures/red"
cp "$work"/*.ppm "$work/pictures/red/"
check "a detector has no accuracy in classes" 1 "by its answer rule it gives no classes" eval "$net" "$work/pictures"
check "nor has it in a report" 1 "by its answer rule it gives no classes" report "$net" --data "$work/pictures" -o "$work/page.html"

verify "nor without its rule" sh -c "$morsel quantize models/spots/network.onnx --data models/spots/pictures --picture models/spots/picture.json -o '$work/plain.morsel'"
check "as two dimensions are no list" 1 "its first output is no list of classes" eval "$work/plain.morsel" "$work/pictures"

check "not while it is quantized, either" 1 "wants a network whose first output is a score for each class" quantize models/spots/network.onnx \
    --data models/spots/pictures --picture models/spots/picture.json -o "$work/no.morsel" --eval "$work/pictures"

# --- classes and vectors
printf '{"kind": "classes", "top": 2, "softmax": false, "threshold": 0.01}' >"$work/classes.json"
cifar=models/cifar10
verify "a rule of classes" sh -c "$morsel convert $cifar/network.onnx -o '$work/classes.morsel' --picture $cifar/picture.json --answer '$work/classes.json'"
check "says how many are shown" 0 '"p": "the network.s softmax"' run "$work/classes.morsel" $cifar/pictures/cat.ppm --json
verify "and no more" test "$(grep -c '"label"' "$work/out")" -eq 2
printf '{"kind": "embedding"}' >"$work/vector.json"
verify "a rule of vectors" sh -c "$morsel convert $cifar/network.onnx -o '$work/vector.morsel' --picture $cifar/picture.json --answer '$work/vector.json'"
check "gives vectors" 0 "^cat.ppm +10 numbers, of length [0-9.]+:" run "$work/vector.morsel" $cifar/pictures/cat.ppm
check "which are no table of classes" 2 "wants one input, and boxes by an answer rule, or a list of classes" \
    run "$work/vector.morsel" $cifar/pictures/cat.ppm --csv "$work/vector.csv"
check "in JSON, too" 0 '"embedding": \[' run "$work/vector.morsel" $cifar/pictures/cat.ppm --json
exit $status
