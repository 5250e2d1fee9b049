#!/bin/sh
# SPDX-License-Identifier: MIT
# Answer rules from the file to boxes: convert and quantize take them, run finds, draws and tables. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=run title='detect: '
. tests/cli/calls.sh
make_files
drawn=png
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
rule '{"kind": "detections", "head": "yolov10", "output": 0}'
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
name_of="anchors that would be written over"
rule "$(cat $spots/answer.json)"
quantize 2 "anchors.npy would be written over: it holds anchors" --answer "$work/answer.json" -o "$work/anchors.npy"
verify "they stay" cmp $spots/anchors.npy "$work/anchors.npy"
check "anchors under a drawing" 2 "draw .*anchors.npy would be written over: it is read" run $spots/network.onnx $spots/pictures/spots.ppm --picture $spots/picture.json --answer "$work/answer.json" --draw "$work/anchors.npy"
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
check "of two pictures to one file" 2 "draw .*x.png: of several pictures it wants a folder" run "$net" $photo $photo --draw "$work/x.png"
check "of a network without such a rule" 2 "draw wants a network with an answer rule of detections" run "$work/color.morsel" "$work/red.ppm" --draw "$work/x.png"
check "as something else" 2 "pictures are written as .png or .ppm" run "$net" $photo --draw "$work/x.jpg"
cp $photo "$work/photo.ppm"
check "over the picture" 2 "draw .*photo.ppm would be written over: it is read" run "$net" "$work/photo.ppm" --draw "$work/photo.ppm"
check "with a table" 2 "draw is for a picture, without --csv" run "$net" $photo --draw "$work/x.png" --csv "$work/x.csv"
verify "nothing is left" sh -c "! ls '$work'/x.*"

# --- pictures of many
mkdir -p "$work/many/deep/er"
cp $photo "$work/many/a.ppm"
cp $photo "$work/many/deep/er/b.c.ppm"
cp $photo "$work/many/named"
check "--draw to a folder" 0 "4 found" run "$net" "$work/many" "$work/many/named" --draw "$work/drawn/new/"
verify "has a file for each, by their names" test "$(cd "$work/drawn/new" && find . -type f | sort | tr '\n' ' ')" = "./a.$drawn ./deep/er/b.c.$drawn ./named.$drawn "
verify "is the same as of one" cmp "$work/drawn/new/deep/er/b.c.$drawn" "$work/out.$drawn"
check "and over itself" 0 "4 found" run "$net" "$work/many" --draw "$work/drawn/new"
head -c 100 $photo >"$work/many/cut.ppm"
check "of a broken picture among others" 1 "\"drawn\": \".*/drawn/some/a.$drawn\"" run "$net" "$work/many" --draw "$work/drawn/some/" --json
verify "says which" says '"error": ".*cut.ppm: it is a damaged'
verify "draws the others" test "$(cd "$work/drawn/some" && find . -type f | sort | tr '\n' ' ')" = "./a.$drawn ./deep/er/b.c.$drawn "
rm "$work/many/cut.ppm"
check "of one to a folder" 0 "4 found" run "$net" $photo --draw "$work/drawn/one/"
verify "has its name" cmp "$work/drawn/one/spots.$drawn" "$work/out.$drawn"
cp $photo "$work/many/deep/er/a.ppm"
check "two of one name" 2 "deep/er/a.ppm and .*many/a.ppm would both become .*/drawn/two/a.$drawn" run "$net" "$work/many/deep/er/a.ppm" "$work/many/a.ppm" --draw "$work/drawn/two/"
verify "of which none is drawn" absent "$work/drawn/two"
ln -s ../../many/a.ppm "$work/drawn/one/b.$drawn"
cp $photo "$work/many/b.ppm"
check "over a picture by a link" 2 "draw .*one/b.$drawn would be written over: it is read" run "$net" "$work/many" --draw "$work/drawn/one/"
mkdir -p "$work/drawn/taken/a.$drawn"
check "where a folder has its name" 2 "taken/a.$drawn: it is a folder, and a picture is to be written there" run "$net" "$work/many" --draw "$work/drawn/taken/"
verify "and none is drawn" test "$(cd "$work/drawn/taken" && find . -type f | wc -l)" -eq 0
check "below a file" 2 "cannot write below .*photo.ppm/: Not a directory" run "$net" "$work/many" --draw "$work/photo.ppm/"
check "below a file's folder" 2 "cannot write below .*photo.ppm/deep/: Not a directory" run "$net" "$work/many" --draw "$work/photo.ppm/deep/"
check "a table has no drawings" 2 "draw is for a picture, without --csv" run "$net" "$work/many" --draw "$work/drawn/three/" --csv "$work/x.csv"
verify "no folder is made for nothing" absent "$work/drawn/three"

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
check "a detector wants boxes" 1 "no picture has boxes: NAME.txt beside NAME.jpg" eval "$net" "$work/pictures"
check "and does in a report" 1 "no picture has boxes" report "$net" --data "$work/pictures" -o "$work/page.html"

verify "one without its rule" sh -c "$morsel quantize models/spots/network.onnx --data models/spots/pictures --picture models/spots/picture.json -o '$work/plain.morsel'"
check "has no list: two dimensions are none" 1 "its first output is no list of classes" eval "$work/plain.morsel" "$work/pictures"

check "not while it is quantized, either" 1 "wants a network whose first output is a score for each class" quantize models/spots/network.onnx \
    --data models/spots/pictures --picture models/spots/picture.json -o "$work/no.morsel" --eval "$work/pictures"
printf '{"kind": "segmentation"}' >"$work/pixels0.json"
# --- quantized until boxes agree: with ranges so narrow that they do not
bad="--method percentile --percentile 51 --no-bias-correction --no-equalization --no-adaround"
name_of="--max-drop of a detector wants no labels"
# shellcheck disable=SC2086
quantize 0 "^float nodes +F1 +about +boxes" $bad --answer $spots/answer.json --max-drop 0 -o "$work/agree.morsel"
verify "it is measured on the typical inputs" says "^morsel: 1 sample of the typical inputs: the float network runs$"
verify "by boxes" says "^morsel: float network: [0-9]+ boxes"
verify "each value is rounded alone" says "^morsel: F1 drops by more than 0: each value is rounded alone, over"
verify "until all agree" says "^morsel: quantized network: [0-9]+ boxes, F1 1.0000, about the threshold 1.0000"
verify "which nodes are in float is said" says "^float: [A-Za-z0-9_]+$"
verify "and on what they were chosen" says "Nodes were chosen on these samples: --eval OTHERS measures on others"
check "boxes are as in float" 0 "^spots.ppm +4 found" run "$work/agree.morsel" $photo
name_of="--eval of a detector"
quantize 0 '"f1": 1,' --answer $spots/answer.json --eval $spots/pictures --json -o "$work/agree.morsel"
verify "has no top-1" says '"float_top1": null,'
verify "counts boxes" says '"float_boxes": [1-9][0-9]*,'
name_of="--max-drop that is held changes nothing"
quantize 0 "^0 +1.0000 +1.0000" --answer $spots/answer.json --max-drop 0.5 -o "$work/held.morsel"
quantize 0 "arena" --answer $spots/answer.json -o "$work/plain2.morsel"
verify "the blob is that of no criterion" cmp "$work/held.morsel" "$work/plain2.morsel"
name_of="--max-drop of no detector"
quantize 2 "max-drop is measured on labelled pictures: --eval DATASET" --output-node scores10 --answer "$work/pixels0.json" --max-drop 0.1 -o "$work/x.morsel"
mkdir -p "$work/black"
{ printf 'P6 32 32 255\n'; head -c 3072 /dev/zero; } >"$work/black/a.ppm"
verify "pictures of nothing" sh -c "$morsel quantize $spots/network.onnx --data $spots/pictures --picture $spots/picture.json \
    --answer $spots/answer.json --eval '$work/black' --max-drop 0.1 -o '$work/x.morsel' 2>&1 | grep -q 'the float network finds no box in 1 sample,'"

# --- a feature pyramid with outputs for each level: its red cell of 8 x 8 pixels is a box, in a picture of twice the size
levels=tests/cli/levels.onnx
{ printf 'P6 128 128 255\n'; awk 'BEGIN { for (i = 0; i < 128 * 128; i++) printf "%s", (i % 128 >= 32 && i % 128 < 48 && i >= 80 * 128 && i < 96 * 128) ? "~!!" : "!!!" }'; } >"$work/cell.ppm"
printf '{"resize": {"mode": "exact", "size": [64, 64]}, "channels": "RGB", "scale": 1, "mean": [33, 33, 33], "std": [93, 93, 93]}' >"$work/cells.json"
printf '{"kind": "detections", "head": "scrfd"}' >"$work/scrfd.json"
of_levels="--picture $work/cells.json --answer $work/scrfd.json"
box='^    class 0 +0\.99[0-9]+ +x +32\.0 \.\. +48\.0  y +80\.0 \.\. +96\.0$'
# shellcheck disable=SC2086
check "levels in float" 0 "$box" run $levels "$work/cell.ppm" $of_levels
verify "one box" says "^cell.ppm +1 found"
# shellcheck disable=SC2086
check "outputs are those that were joined" 0 "output 'scores' of 1 run$" run $levels "$work/cell.ppm" $of_levels --output 1="$work/scores.npy" --output boxes="$work/b.npy"
verify "each is there" sh -c "head -c 128 '$work/scores.npy' | grep -q '(1, 84, 1)' && head -c 128 '$work/b.npy' | grep -q '(1, 84, 4)'"
# shellcheck disable=SC2086
check "others are none" 2 "score_8=.*which one.*0: 'boxes'.*1: 'scores'" run $levels "$work/cell.ppm" $of_levels --output score_8="$work/x.npy"
printf '{"kind": "detections", "head": "picodet"}' >"$work/picodet.json"
check "levels of another head" 1 "head picodet wants a candidate for each cell.*levels of an ONNX file are joined where each has the same outputs" \
    run $levels "$work/cell.ppm" --picture "$work/cells.json" --answer "$work/picodet.json"
mkdir -p "$work/cells" && cp "$work/cell.ppm" "$work/cells"
# shellcheck disable=SC2086
check "levels are quantized" 0 "levels.morsel" quantize $levels --data "$work/cells" $of_levels -o "$work/levels.morsel" -o "$work/levels.onnx"
check "they are joined" 0 "^output 1: 'scores', .* \[1, 84, 1\]$" inspect "$work/levels.morsel"
verify "their boxes are distances" says "^answer rule: detections, output 0 and 1, head scrfd, 1 classes, 84 anchors, "
check "a blob has the box" 0 "$box" run "$work/levels.morsel" "$work/cell.ppm"
# shellcheck disable=SC2086
check "and what convert makes" 0 "again.morsel" convert "$work/levels.onnx" $of_levels -o "$work/again.morsel"
check "has it, too" 0 "$box" run "$work/again.morsel" "$work/cell.ppm"
check "beside its network" 1 "MODEL lacks 'score_8' 1x64x1.*same shapes and rules" compare $levels "$work/levels.morsel" --data "$work/cells"
# shellcheck disable=SC2086
check "whose levels are joined, too" 0 "^output SQNR" compare $levels "$work/levels.morsel" --data "$work/cells" $of_levels
# shellcheck disable=SC2086
check "on a page" 0 "page.html" report "$work/levels.morsel" $levels --data "$work/cells" --answer "$work/scrfd.json" -o "$work/page.html" --runs 3

# --- pixels
printf '{"kind": "segmentation"}' >"$work/pixels.json"
name_of="a rule of a segmentation"
quantize 0 "pixels.morsel" --output-node scores10 --answer "$work/pixels.json" --labels $spots/labels.txt -o "$work/pixels.morsel"
check "inspect tells it" 0 "^answer rule: segmentation, output 0, head scores, 3 classes, channels first, linear$" inspect "$work/pixels.morsel"
check "in JSON, too" 0 '"answer": \{"kind": "segmentation", "output": 0, "head": "scores", "classes": 3, "layout": "chw", "background": false, "filter": "linear"' \
    inspect "$work/pixels.morsel" --json
check "shares of pixels" 0 '"label": "(red|green|blue)", "index": [012], "share": 0\.[0-9]+' \
    run "$work/pixels.morsel" $photo --json --draw "$work/pixels.ppm" --mask "$work/mask.npy"
verify "of the picture's size" sh -c "grep -q '\"width\": 96' '$work/out' && grep -q '\"height\": 72' '$work/out' && grep -q 'mask.npy' '$work/out'"
mask() { # X Y: the class there
    tail -c +$((129 + 96 * $2 + $1)) "$work/mask.npy" | head -c 1 | od -An -tu1 | tr -d ' '
}
verify "the mask has each spot's class" test "$(mask 20 22)$(mask 68 25)$(mask 30 54)" = 012
verify "the picture is half in its colour" test "$(tail -c +$((14 + 3 * (54 * 96 + 30))) "$work/pixels.ppm" | head -c 3 | od -An -tu1 | awk '{ print ($3 > 200) }')" = 1
for cpu in c avx2; do $morsel run "$work/pixels.morsel" $photo --mask "$work/$cpu.npy" --cpu $cpu >/dev/null; done
verify "pixels are the same on any CPU" cmp "$work/c.npy" "$work/avx2.npy"
check "a table" 1 "1 of 4 pictures could not be read" run "$work/pixels.morsel" "$work"/set/[abcd].ppm --csv "$work/pixels.csv" --threads 2
verify "names its columns" sh -c "head -n 1 '$work/pixels.csv' | grep -qx 'file,classes,index,label,share,error'"
verify "has a line a class" test "$(grep -cE '/[ac].ppm,3,[0-2],(red|green|blue),0\.[0-9]+,$' "$work/pixels.csv")" -eq 6
verify "and one for what is no picture" grep -qE "/d.ppm,0,,,,.*damaged" "$work/pixels.csv"
check "--mask of a detector" 2 "mask wants one picture, and a network with an answer rule of segmentation" run "$net" $photo --mask "$work/x.npy"
check "--mask over the drawing" 2 "draw .*x.ppm would be written over: it is another output" run "$work/pixels.morsel" $photo --draw "$work/x.ppm" --mask "$work/x.ppm"
verify "nothing is left of them" sh -c "! ls '$work'/x.*"

# --- points
printf '{"kind": "points", "head": "heatmaps", "cell": "centre"}' >"$work/points.json"
name_of="a rule of points"
quantize 0 "points.morsel" --output-node scores10 --answer "$work/points.json" --labels $spots/labels.txt -o "$work/points.morsel"
check "inspect tells it" 0 "^answer rule: points, output 0, head heatmaps, 3 points, channels first, offset quarter, cell centre, times 4 x 4, p >= 0$" inspect "$work/points.morsel"
check "points are told" 0 "^    blue +5\.[0-9]+  x +33\.0  y +57\.0$" run "$work/points.morsel" $photo --draw "$work/points.ppm"
verify "and how many" says "^spots.ppm +3 found"
verify "a dot is where one is" test "$(tail -c +$((14 + 3 * (57 * 96 + 33))) "$work/points.ppm" | head -c 3 | od -An -tu1 | tr -s ' ')" = " 40 90 230"
check "in JSON" 0 '"label": "blue", "index": 2, "p": 5\.[0-9]+, "x": 33, "y": 57\}' run "$work/points.morsel" $photo --json
check "in a table" 0 ": 1 picture," run "$work/points.morsel" $photo --csv "$work/points.csv"
verify "with a line for each" test "$(grep -cE '^(file,points,index,label,p,x,y,error|.*spots.ppm,3,[0-2],[a-z]+,-?[0-9.]+,[0-9.]+,[0-9.]+,)$' "$work/points.csv")" -eq 4

# --- classes and vectors
printf '{"kind": "classes", "top": 2, "softmax": false, "threshold": 0.01}' >"$work/classes.json"
cifar=models/cifar10
verify "a rule of classes" sh -c "$morsel convert $cifar/network.onnx -o '$work/classes.morsel' --picture $cifar/picture.json --answer '$work/classes.json'"
check "says how many are shown" 0 '"p": "the network.s softmax"' run "$work/classes.morsel" $cifar/pictures/bird.ppm --json
verify "and no more" test "$(grep -c '"label"' "$work/out")" -eq 2
printf '{"kind": "classes", "most": 3, "activation": "sigmoid"}' >"$work/classes.json"
verify "a rule of a sigmoid" sh -c "$morsel convert $cifar/network.onnx -o '$work/classes2.morsel' --picture $cifar/picture.json --answer '$work/classes.json'"
check "is told" 0 "^answer rule: classes, output 0, sigmoid, the first 3 of p >= 0$" inspect "$work/classes2.morsel"
check "and taken" 0 '"p": "sigmoid of the scores"' run "$work/classes2.morsel" $cifar/pictures/cat.ppm --json
verify "as many as it tells" test "$(grep -c '"label"' "$work/out")" -eq 3
check "--top tells others" 0 '"p": "sigmoid' run "$work/classes2.morsel" $cifar/pictures/cat.ppm --json --top 7
verify "as many as that" test "$(grep -c '"label"' "$work/out")" -eq 7
check "in float, too" 0 '"p": "sigmoid of the scores"' run $cifar/network.onnx $cifar/pictures/cat.ppm --picture $cifar/picture.json --answer "$work/classes.json" --json
printf '{"kind": "embedding"}' >"$work/vector.json"
verify "a rule of vectors" sh -c "$morsel convert $cifar/network.onnx -o '$work/vector.morsel' --picture $cifar/picture.json --answer '$work/vector.json'"
check "gives vectors" 0 "^cat.ppm +10 numbers, of length [0-9.]+:" run "$work/vector.morsel" $cifar/pictures/cat.ppm
check "in JSON, too" 0 '"vector": \[' run "$work/vector.morsel" $cifar/pictures/cat.ppm --json
check "in a table" 0 "2 pictures" run "$work/vector.morsel" $cifar/pictures/cat.ppm $cifar/pictures/dog.ppm --csv "$work/vector.csv"
verify "names its columns" sh -c "head -n 1 '$work/vector.csv' | grep -qx 'file,v0,v1,v2,v3,v4,v5,v6,v7,v8,v9,error'"
verify "has a line each" test "$(grep -cE '^[^,]+(cat|dog).ppm(,-?[0-9.e-]+){10},$' "$work/vector.csv")" -eq 2
printf '{"kind": "embedding", "normalize": true}' >"$work/vector.json"
verify "a rule of its length" sh -c "$morsel convert $cifar/network.onnx -o '$work/unit.morsel' --picture $cifar/picture.json --answer '$work/vector.json'"
check "is told" 0 "^answer rule: embedding, output 0, normalized$" inspect "$work/unit.morsel"
check "makes it 1" 0 "10 numbers, of length 1:" run "$work/unit.morsel" $cifar/pictures/cat.ppm
check "in float, too" 0 "10 numbers, of length 1:" run $cifar/network.onnx $cifar/pictures/cat.ppm --picture $cifar/picture.json --answer "$work/vector.json"
exit $status
