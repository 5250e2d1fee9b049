#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel eval and report of a detector: boxes beside labels, and beside those of the float network. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title='eval of boxes: '
. tests/cli/calls.sh
reduced && { echo "skip ${title}the tool makes no blobs"; exit 0; }
make_files
spots=models/spots photo=models/spots/pictures/spots.ppm
rules="--picture $spots/picture.json --answer $spots/answer.json --labels $spots/labels.txt"
net=$work/spots.morsel set=$work/set
# shellcheck disable=SC2086
verify "a blob" call_says "spots.morsel" 0 quantize $spots/network.onnx --data $spots/pictures $rules -o "$net"

# As make.py draws them: centre, half a side, colour, of 96 x 72 pixels.
true_boxes() {
    awk '{ printf "%d %.6f %.6f %.6f %.6f\n", $4, $1 / 96, $2 / 72, 2 * $3 / 96, 2 * $3 / 72 }' <<'END'
20 22 9 0
68 25 15 1
30 54 13 2
80 58 9 0
END
}
mkdir -p "$set/images" "$set/labels"
for name in a b c d; do cp $photo "$set/images/$name.ppm"; done
true_boxes >"$set/labels/a.txt"
true_boxes | sed 1d >"$set/labels/b.txt"       # one is found besides
{ true_boxes; echo '1 .1 .9 .1 .1'; echo '1 .9 .1 .1 .1'; } >"$set/labels/c.txt" # two are not found
: >"$set/labels/d.txt"                         # shows nothing

cp "$set/labels/a.txt" "$work/all.txt"
mkdir "$work/one" && cp $photo "$work/one/a.ppm" && cp "$work/all.txt" "$work/one/a.txt"
check "all are found" 0 "^1 images: precision 100.0 %, recall 100.0 %, F1 1.0000 of boxes with p >= 0.5, mAP@0.5 1.0000, " eval "$net" "$work/one"
verify "no picture is worst" sh -c "! grep -q 'worst' '$work/out'"
check "some are" 0 "^4 images: precision 68.8 %, recall 84.6 %, F1 0.7586 of boxes with p >= 0.5, mAP@0.5 0\.[0-9]{4}, " eval "$net" "$set"
verify "by class" says "^ +1  green +5 +4 +75.0 % +60.0 %  0.6667  0\.[0-9]{4}$"
verify "and all" says "^ +all +13 +16 +68.8 % +84.6 %  0.7586  0\.[0-9]{4}$"
verify "the worst first" sh -c "sed -n '/^worst/{n;p;n;p;n;p;}' '$work/out' | sed 's/.*images.//' | tr '\n' ' ' | grep -qx \
    'd.ppm  0 of 0 found, 4 besides c.ppm  4 of 6 found, 0 besides b.ppm  3 of 3 found, 1 besides '"
check "in threads" 0 "precision 68.8 %, recall 84.6 %" eval "$net" "$set" --threads 2
check "--limit takes from all over" 0 "^2 images: precision 100.0 %, recall 80.0 %" eval "$net" "$set/images" --limit 2
verify "the third one" says "c.ppm  4 of 6 found, 0 besides"
check "--json" 0 '"images": 4,$' eval "$net" "$set" --json
verify "counts" test "$(number boxes) $(number found) $(number both)" = "13 16 11"
verify "threshold and IoU" test "$(number threshold) $(number iou)" = "0.5 0.5"
verify "classes in JSON" says '"label": "green", "index": 1, "boxes": 5, "found": 4, "both": 3, "precision": 0.75, "recall": 0.6, "f1": 0.66666.*"ap50": 0\.'
verify "the worst in JSON" says 'd.ppm", "boxes": 0, "found": 4, "both": 0\}'
verify "no top-1" sh -c "! grep -q top1 '$work/out'"
# shellcheck disable=SC2086
check "a float network" 0 "precision 68.8 %, recall 84.6 %" eval $spots/network.onnx "$set" $rules
rm "$set/labels/d.txt"
check "a picture without labels" 0 "notice: 1 of 4 pictures have no file of labels: they count as showing nothing" eval "$net" "$set"
mkdir "$work/inside" "$work/inside/labels" && cp $photo "$work/inside/a.ppm" && cp "$work/all.txt" "$work/inside/labels/a.txt"
check "labels in a folder beside" 0 "recall 100.0 %" eval "$net" "$work/inside/a.ppm"

# --- beside the float network
float="--against $spots/network.onnx --answer $spots/answer.json"
# shellcheck disable=SC2086
check "beside float" 0 "^1 images: .*F1 1.0000 " eval "$net" $spots/pictures $float
verify "says so" says "^wanted are the boxes of $spots/network.onnx$"
# shellcheck disable=SC2086
check "labels are not read" 0 '"against": "models/spots/network.onnx",$' eval "$net" "$set" $float --json
verify "boxes of the network" test "$(number boxes)" = 16
check "without a rule" 2 "which of its outputs are boxes is told by --answer RULE.json" eval "$net" "$set" --against $spots/network.onnx
check "a rule without it" 2 "answer is for ONNX files|--answer" eval "$net" "$set" --answer $spots/answer.json
# shellcheck disable=SC2086
check "of classes" 2 "against: the network is no detector by its answer rule" eval models/cifar10/network.morsel $spots/pictures $float
# Another input behind that of the picture, and a node that reads it.
{ cat $spots/network.onnx; printf ':0\012\014\012\001e\022\001f"\004ReluZ\017\012\001e\022\012\012\010\010\001\022\004\012\002\010\001'
    printf 'b\017\012\001f\022\012\012\010\010\001\022\004\012\002\010\001'; } >"$work/two.onnx"
check "a float network of two inputs" 1 "against .*two.onnx: it has 2 inputs; boxes are counted of networks with one" \
    eval "$net" "$set" --against "$work/two.onnx" --answer $spots/answer.json

# --- labels that are none
mkdir "$work/bare" && cp $photo "$work/bare/"
check "no labels at all" 1 "bare: no picture has boxes: NAME.txt beside NAME.jpg" eval "$net" "$work/bare"
check "no pictures" 1 "holds no pictures" eval "$net" "$set/labels"
bad() { printf '%b' "$2" >"$work/one/a.txt"; check "$1" 1 "$3" eval "$net" "$work/one"; }
bad "four numbers" '0 .5 .5 .1 .1\n0 .5 .5 .1\n' "one/a.txt:2: a box is five numbers, class x y width height; there are fewer"
bad "an outline" '0 .5 .5 .1 .1 .2 .2\n' "a.txt:1: .*there are more"
bad "a class that is none" '\n3 .5 .5 .1 .1' "a.txt:2: class 3; the network has classes 0 to 2"
bad "pixels" '0 48 36 10 10' "a.txt:1: x is 48; it is a share of the picture's side"
bad "words" 'red .5 .5 .1 .1' "a.txt:1: class is no number: 'red "
rm "$work/one/a.txt"
if mkfifo "$work/one/a.txt" 2>/dev/null; then check "a pipe" 1 "a.txt" eval "$net" "$work/one"; fi
rm -f "$work/one/a.txt" && ln -s a.txt "$work/one/a.txt"
check "a file that is there and cannot be read" 1 "a.txt" eval "$net" "$work/one"
rm "$work/one/a.txt" && cp "$work/all.txt" "$work/one/a.txt"
mkdir "$work/rule" && cp $spots/anchors.npy "$work/rule/" && sed 's/"background": false/"background": true/' $spots/answer.json >"$work/rule/answer.json"
check "classes from the background on" 1 "a.ppm: its labels have class 0, the background by the answer rule: classes begin at 1" \
    eval $spots/network.onnx "$work/one" --picture $spots/picture.json --answer "$work/rule/answer.json"

# --- as a page
page() { if command -v python3 >/dev/null; then python3 tests/pages/check.py "$@"; else grep -q '</html>' "$1"; fi; }
check "--report" 0 "a.html: the same as a page$" eval "$net" "$set" --report "$work/a.html"
verify "the page" page "$work/a.html" "4 pictures with 13 boxes" "mAP at IoU 0.5" "AP at 0.5" "Worst pictures" "4 of 6 found, 0 besides"
verify "a picture for each" sh -c "[ \$(grep -o 'src=\"data:image/png;base64,' '$work/a.html' | wc -l) -eq 3 ]"
mkdir "$work/dark" && { printf 'P6\n8 8\n255\n' && head -c 192 /dev/zero; } >"$work/dark/a.ppm" && : >"$work/dark/a.txt"
check "nothing wanted or found" 0 "^1 images: precision -, recall -, F1 - .*mAP@0.5 -, " eval "$net" "$work/dark" --report "$work/dark.html"
verify "no number there either" sh -c "! grep -q nan '$work/dark.html'"
check "--report over labels" 2 "name it FILE.html" eval "$net" "$set" --report "$set/labels/a.txt"
check "report" 0 "what it is, memory, time, answers" report "$net" --data "$set" -o "$work/r.html" --runs 2
verify "its page" page "$work/r.html" "F1 of the boxes" "4 pictures with 13 boxes" "Worst pictures"
check "report --json" 0 '"map50": 0\.' report "$net" --data "$set" -o "$work/r.html" --runs 2 --json
check "report beside float" 0 "layers beside float, answers" report "$net" $spots/network.onnx --data "$set" -o "$work/r.html" --runs 2
check "report without labels" 1 "no picture has boxes" report "$net" --data "$work/bare" -o "$work/r.html" --runs 2
exit $status
