#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel eval on folders and CIFAR-10 files, of blobs and of ONNX files in float. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
make_files

check "eval of binary files" 0 '"top1": 0.833333' eval "$work/color.morsel" "$work/cifar.bin" --json --threads 2
check "eval with a limit" 0 "^4 images: top-1 100.00 %" eval "$work/color.morsel" "$work/cifar.bin" --limit 4
mkdir -p "$work/set/red" "$work/set/green" "$work/set/blue" "$work/ordered/0a" "$work/ordered/1b" "$work/mixed/red" "$work/mixed/cyan" "$work/void"
cp "$work/red.ppm" "$work/set/red/1.ppm"
cp "$work/green.ppm" "$work/set/green/1.ppm"
cp "$work/green.ppm" "$work/set/green/2.ppm"
cp "$work/red.ppm" "$work/set/blue/1.ppm"
cp "$work/red.ppm" "$work/ordered/0a/"
cp "$work/green.ppm" "$work/ordered/1b/"
mkdir -p "$work/ordered/2c" "$work/numbers/1" "$work/numbers/0" "$work/far/0" "$work/far/3" "$work/few/x" "$work/few/y" \
    "$work/spelt/DARK-green" "$work/spelt/red_or_so" "$work/twice/LIGHT_RED" "$work/twice/dark green"
for folder in numbers/0 far/0 far/3 few/x few/y spelt/red_or_so twice/LIGHT_RED; do cp "$work/red.ppm" "$work/$folder/"; done
for folder in numbers/1 spelt/DARK-green; do cp "$work/green.ppm" "$work/$folder/"; done
check "eval of a folder" 0 "^4 images: top-1 75.00 % \(3\), top-5 100.00 % \(4\)" eval "$work/color.morsel" "$work/set"
check "eval of a folder without names" 0 "^2 images: top-1 100.00 %" eval "$work/color.morsel" "$work/ordered"
check "eval: precision and recall" 0 "^ +0  red +1 +50.0 % +100.0 %$" eval "$work/color.morsel" "$work/set"
verify "a class that nothing was taken for" says '^ +2  blue +1 +- +0.0 %$'
verify "what was taken for what" says '^ +2  blue +1 +\. +\.$'
verify "the surest miss" says 'set/blue/1.ppm  is blue \(0.0003\), taken for red \(0.9993\)$'
check "eval --json of classes" 0 '"index": 0, "images": 1, "answers": 2, "precision": 0.5, "recall": 1\}' eval "$work/color.morsel" "$work/set" --json
verify "of a class that nothing was taken for" says '"answers": 0, "precision": null, "recall": 0\}'
verify "the matrix" sh -c "[ \"\$(sed -n '/confusion/,/^  \]/p' '$work/out' | tr -d ' \n')\" = '\"confusion\":[[1,0,0],[0,2,0],[1,0,0]],' ]"
verify "the surest miss in JSON" says 'set/blue/1.ppm", "label": "blue", "index": 2, "p": 0.000335.*"answer_label": "red", "answer_index": 0, "answer_p": 0.999'
check "eval of a folder with a slash" 0 "set/blue/1.ppm  is blue" eval "$work/color.morsel" "$work/set//"
verify "one slash stands behind it" sh -c "! grep -q '//' '$work/out'"
check "run of a folder with a slash" 0 "set/blue/1.ppm\"" run "$work/color.morsel" "$work/set/" --json
verify "one slash stands behind it, too" sh -c "! grep -q '//' '$work/out'"
check "eval without the worst" 0 "^4 images" eval "$work/color.morsel" "$work/set" --worst 0
verify "none is named" sh -c "! grep -q 'taken for red' '$work/out'"
check "eval of a batch of 2" 0 "^4 images: top-1 75.00 %" eval "$work/color2.morsel" "$work/set" --threads 2
check "eval of too few folders without names" 1 "2 subfolders, none of them .*3 classes: red, green, blue" eval "$work/color.morsel" "$work/few"
check "eval of names in another spelling" 0 "^2 images: top-1 100.00 %" eval "$work/slash.morsel" "$work/spelt"
check "eval of a name that two labels have" 1 "subfolder 'LIGHT_RED' is none" eval "$work/twins.morsel" "$work/twice"
check "eval of class numbers" 0 "^2 images: top-1 100.00 %" eval "$work/color.morsel" "$work/numbers"
check "eval of a class number out of range" 1 "'3' stands for class 3, and the network has classes 0 to 2" eval "$work/color.morsel" "$work/far"
check "eval of names that half fit" 1 "subfolder 'cyan' is none of .*: red, green, blue" eval "$work/color.morsel" "$work/mixed"
check "eval of pictures without subfolders" 1 "set/red has 1 picture and no subfolders: eval wants" eval "$work/color.morsel" "$work/set/red"
check "eval of an empty folder" 1 "holds no pictures" eval "$work/color.morsel" "$work/void"
check "eval of no dataset" 1 "cannot read" eval "$work/color.morsel" "$work/nothing"
check "eval of something else" 1 "neither a folder nor CIFAR-10" eval "$work/color.morsel" "$work/red.ppm"
check "eval without a picture rule" 1 "no picture rule" eval "$work/bytes.morsel" "$work/set"
cp "$work/cut.ppm" "$work/set/red/0.ppm"
check "eval of a damaged picture" 1 "cut off|damaged" eval "$work/color.morsel" "$work/set" --threads 2

reduced && exit $status

# --- as a page
rm "$work/set/red/0.ppm"
page() { if command -v python3 >/dev/null; then python3 tests/pages/check.py "$@"; else grep -q '</html>' "$1"; fi; }
check "eval --report" 0 "a.html: the same as a page$" eval "$work/color.morsel" "$work/set" --report "$work/a.html"
verify "the page" page "$work/a.html" "4 labelled pictures: top-1 75.00 % (3)" "blue taken for red" "Worst misses" "1.ppm"
verify "a picture for each miss" sh -c "[ \$(grep -o 'src=\"data:image/png;base64,' '$work/a.html' | wc -l) -eq 1 ]"
verify "no time on it" sh -c "! grep -q 'Time' '$work/a.html'"
check "eval --report --json" 0 'a.html",$' eval "$work/color.morsel" "$work/set" --report "$work/a.html" --worst 0 --json
verify "no miss on the page" sh -c "! grep -q 'base64' '$work/a.html'"
check "eval --report over a picture" 2 "would be written over" eval "$work/color.morsel" "$work/set" --report "$work/set/blue/1.ppm"
check "eval --report over the network" 2 "would be written over" eval "$work/color.morsel" "$work/set" --report "$work/color.morsel"
check "eval --report into what is no page" 2 "name it FILE.html" eval "$work/color.morsel" "$work/set" --report "$work/a.pdf"
check "eval --report to a dash" 2 "/dev/stdout stands for stdout" eval "$work/color.morsel" "$work/set" --report -
verify "eval --report: no file has that name" absent ./-
check "eval --report into no folder" 2 "cannot write" eval "$work/color.morsel" "$work/set" --report "$work/none/a.html"
verify "nothing half-written" nothing_left

# --- ONNX files, in float
verb=eval title='eval of ONNX: '
float=tests/cli/float_small.onnx
rule="--picture models/cifar10/picture.json"
pictures=models/cifar10/pictures
mkdir "$work/classes"
for picture in $pictures/*.ppm; do
    class=$(basename "$picture" .ppm)
    mkdir "$work/classes/$class" && cp "$picture" "$work/classes/$class/"
done
counts() { "$morsel" eval "$@" --json | grep -E 'images"|top1|top5'; }
# shellcheck disable=SC2086
verify "eval of the shipped network is that of its blob" sh -c "[ '$(counts models/cifar10/network.morsel "$work/classes")' = \
    '$(counts models/cifar10/network.onnx "$work/classes" $rule --labels models/cifar10/labels.txt)' ]"
# shellcheck disable=SC2086
verify "eval of a float network" call_says '^10 images: top-1 [0-9.]+ %' 0 $float "$work/classes" $rule --labels models/cifar10/labels.txt --threads 2
# shellcheck disable=SC2086
verify "eval of some pictures" call_says '^4 images' 0 $float "$work/classes" $rule --limit 4
verify "without labels classes are in order" says 'notice: there are no labels .--labels.; the subfolders are taken as classes 0 to 9'
verify "eval without a rule" call_says "no picture rule: give one by --picture" 2 $float "$work/classes"
# shellcheck disable=SC2086
verify "a rule for eval of a blob" call_says "for ONNX files" 2 models/cifar10/network.morsel "$work/classes" $rule
exit $status
