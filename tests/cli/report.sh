#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel report: a page that stands alone, whatever files say. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
make_files
reduced && exit $status
small=tests/cli/float_small.onnx
rule=models/cifar10/picture.json
pictures=models/cifar10/pictures
page() { # FILE TEXT...: it is sound, and says that
    if command -v python3 >/dev/null; then python3 tests/pages/check.py "$@"; else grep -q '</html>' "$1"; fi
}
has() { grep -qF -- "$1" "$work/a.html" || { echo "the page has no $1"; return 1; }; }
without() { ! grep -qF -- "$1" "$work/a.html"; }
mkdir "$work/set" "$work/void"
for class in 0 1 2; do mkdir "$work/set/$class"; cp "$work/green.ppm" "$work/set/$class/a.ppm"; done
cp "$work/red.jpg" "$work/set/2/b&\"<i>.jpg"

# --- one model
check "report" 0 "^.*a.html: [0-9]+ bytes: what it is, memory, time$" report "$work/color.morsel" -o "$work/a.html" --runs 3
verify "the page" page "$work/a.html" "What it is" "Memory" "an arena of " "Time of a run" "p50 " "Time by step" "red, green, blue"
verify "no answers on it" without "Worst misses"
check "report of a built-in network" 0 "bytes" report resnet8-32 -o "$work/a.html" --runs 3
verify "its page" page "$work/a.html" "groups of which stream" "resnet8-32"
check "report --json" 0 '"median_ms": [0-9.e-]+$' report "$work/color.morsel" -o "$work/a.html" --runs 1 --json

printf '{"kind": "classes", "activation": "softmax", "most": 2}' >"$work/two.json"
check "a blob with an answer rule" 0 "answer" edit "$work/color.morsel" -o "$work/two.morsel" --answer "$work/two.json"
check "report of it" 0 "bytes" report "$work/two.morsel" -o "$work/a.html" --runs 1
verify "its page tells the rule" page "$work/a.html" "answer rule" "classes, output 0, softmax, the first 2 of p >= 0"

# --- answers
check "report of labelled pictures" 0 ", answers$" report "$work/color.morsel" --data "$work/set" -o "$work/a.html" --runs 3
verify "its page" page "$work/a.html" "4 labelled pictures: top-1 25.00 % (1)" "red taken for green" "Of 3 wrong answers" 'b&"<i>.jpg'
verify "a picture for each miss" sh -c "[ \$(grep -o 'src=\"data:image/png;base64,' '$work/a.html' | wc -l) -eq 3 ]"
if command -v python3 >/dev/null; then
    # The picture is that of the file, 4 x 4 and all green: it is decoded as the tool decodes it.
    grep -o 'base64,[^"]*' "$work/a.html" | sed -n 2p | sed 's/base64,//' | base64 -d >"$work/shown.png"
    verify "it is the picture" call_says 'shown.png +green' 0 run "$work/color.morsel" "$work/shown.png"
fi
check "report --worst 1" 0 "answers" report "$work/color.morsel" --data "$work/set" --worst 1 -o "$work/a.html" --runs 1
verify "one picture" sh -c "[ \$(grep -o 'src=\"data:image/png;base64,' '$work/a.html' | wc -l) -eq 1 ]"
check "report of data that are no labelled pictures" 1 "holds no pictures" report "$work/color.morsel" --data "$work/void" -o "$work/b.html" --runs 1
check "report of no data" 1 "cannot read" report "$work/color.morsel" --data "$work/nothing" -o "$work/b.html" --runs 1

# --- beside the float network
labels=$work/labels
{ printf '<script>alert(1)</script>\n"onload="alert(2)\n</title></style><b>\n<img src=x>\n&lt;\n'"'x'"'\n<!-- \n]]>\n\\u003c\nhttp://x/\n'; } >"$labels"
mkdir "$work/classes"
n=0
for picture in $pictures/*.ppm; do mkdir "$work/classes/$n" && cp "$picture" "$work/classes/$n/"; n=$((n + 1)); done
# shellcheck disable=SC2086
verify "a blob whose labels are hostile" call 0 quantize $small --data $pictures --picture $rule --labels "$labels" -o "$work/q.morsel"
check "report beside float" 0 "layers beside float, answers$" report "$work/q.morsel" $small --data "$work/classes" -o "$work/a.html" --runs 3
verify "its page" page "$work/a.html" "Beside the float network" "depthwise" "Worst misses" "in float" '<script>alert(1)</script>' '"onload="alert(2)' \
    '</title></style><b>' 'http://x/'
verify "nothing of it is markup" without '<script'
verify "nor a way out of an attribute" without '"onload'
compared=$($morsel compare $small "$work/q.morsel" --data "$work/classes" --json | sed -n 's/.*"output_sqnr_db": \([0-9]*\.[0-9]\).*/\1/p')
verify "the figure of compare" has "At the output: $compared"
verify "the counts of eval" sh -c "$morsel eval $work/q.morsel $work/classes --json | grep -q '\"top1_count\": \
$(sed -n 's/.*labelled pictures: top-1 [0-9.]* % (\([0-9]*\)).*/\1/p' "$work/a.html"),'"
check "report of samples without labels" 0 "layers beside float$" report "$work/q.morsel" $small --data "$work/data_sound.npy" -o "$work/a.html" --runs 1
verify "says so" says "notice: no answers on the page"
check "report on noise" 0 "layers beside float$" report "$work/q.morsel" $small -o "$work/a.html" --runs 1
verify "the page says so" has "of noise"
check "report of another float network" 1 "." report "$work/color.morsel" $small -o "$work/b.html" --runs 1
check "report of an ONNX file" 1 "." report $small -o "$work/b.html" --runs 1

# --- a float network of free sizes
verify "a blob of two sizes" call 0 quantize tests/cli/free_sides.onnx --data $pictures --picture $rule --dim height=24,32 --dim width=24,32 -o "$work/sides.morsel"
check "report of a float network of free sizes" 0 "layers beside float" report "$work/sides.morsel" tests/cli/free_sides.onnx -o "$work/a.html" --runs 1
check "of which one is given" 1 "give it with --dim width=NUMBER" report "$work/sides.morsel" tests/cli/free_sides.onnx --dim height=32 -o "$work/b.html" --runs 1
check "which are given" 0 "layers beside float" report "$work/sides.morsel" tests/cli/free_sides.onnx --dim height=32 --dim width=32 -o "$work/a.html" --runs 1
check "report of a smaller size beside float" 2 "goes without FLOAT.onnx" report "$work/sides.morsel" tests/cli/free_sides.onnx --variant 1 -o "$work/b.html"
check "report of a cut network" 0 "layers beside float" report "$work/q.morsel" $small --output-node add --data $pictures -o "$work/a.html" --runs 1
# --- names of nodes and values, of the network and of files: "stem", a node that all drawings name, becomes as many letters of markup
LC_ALL=C sed 's/stem/<p">/g' $small >"$work/<i title=\"x\">.onnx"
verify "a network whose names are hostile" call 0 quantize "$work/<i title=\"x\">.onnx" --data $pictures --picture $rule -o "$work/n<i \">.morsel"
check "report of it" 0 "layers beside float" report "$work/n<i \">.morsel" "$work/<i title=\"x\">.onnx" -o "$work/a.html" --runs 1
verify "its page" page "$work/a.html" '<p">' '<i title="x">.onnx' 'n<i ">.morsel'
verify "no name is markup" sh -c "! grep -q '<p\"\\|<i title\\|<i \">' '$work/a.html'"
verify "nor in the drawing of memory" sh -c "$morsel inspect '$work/n<i \">.morsel' --plan '$work/p.svg' && grep -q '&#60;p&#34;' '$work/p.svg' && ! grep -q '<p\"' '$work/p.svg'"

# --- what is written
verify "nothing was" absent "$work/b.html"
check "report without -o" 2 "a model and -o FILE.html are wanted" report "$work/color.morsel"
check "report over its model" 2 "would be written over" report "$work/color.morsel" -o "$work/color.morsel" --runs 1
cp $small "$work/float.onnx"
check "report over its float network" 2 "would be written over" report "$work/q.morsel" "$work/float.onnx" -o "$work/float.onnx" --runs 1
check "report over a picture" 2 "would be written over" report "$work/color.morsel" --data "$work/set" -o "$work/set/1/a.ppm" --runs 1
check "report into what is no page" 2 "a.pdf: what is written is a page of HTML; name it FILE.html" report "$work/color.morsel" -o "$work/a.pdf"
check "report to a dash" 2 "/dev/stdout stands for stdout" report "$work/color.morsel" -o -
verify "report: no file has that name" absent ./-
check "report into no folder" 2 "cannot write" report "$work/color.morsel" -o "$work/none/a.html"
[ -c /dev/full ] && check "report on a full disk" 3 "No space left" report "$work/color.morsel" -o /dev/full --runs 1
verify "nothing half-written" nothing_left
exit $status
