#!/bin/sh
# SPDX-License-Identifier: MIT
# The tool's command line: MORSEL is the tool, FILES the program from make_files.c. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
files=${FILES:-${BUILD:-build}/tests/cli/make_files}
unset MORSEL_CPU
"$files" "$work" || { echo "FAIL the test's files cannot be made"; exit 1; }

nothing_left() { [ -z "$(find "$work" -name '*.[A-Za-z0-9][A-Za-z0-9][A-Za-z0-9][A-Za-z0-9][A-Za-z0-9][A-Za-z0-9]' ! -name '*.morsel')" ]; }

# --- the call
check "no verb" 2 "a verb is missing"
check "unknown verb" 2 "did you mean 'inspect'" inspekt
check "help" 0 "^usage: morsel VERB" --help
check "version" 0 "^morsel [0-9]+\.[0-9]+\.[0-9]+$" --version
for verb in run bench eval inspect; do
    check "$verb --help" 0 "^usage: morsel $verb " $verb --help
    check "$verb without a model" 2 "morsel $verb MODEL" $verb
    check "$verb with an unknown option" 2 "no option '--jsn'; did you mean '--json'" $verb "$work/color.morsel" --jsn
done
check "an option without its value" 2 "--runs wants a value" bench "$work/color.morsel" --runs
check "a value that is no number" 2 "--runs wants a whole number" bench "$work/color.morsel" --runs ten
check "a value out of range" 2 "--threads wants a whole number from 1" run "$work/color.morsel" --threads 0
check "a value for a flag" 2 "--json takes no value" bench "$work/color.morsel" --json=yes
check "unknown kernels" 2 "--cpu sse names no kernels" bench "$work/color.morsel" --cpu sse
other=$(case $(uname -m) in x86_64) echo neon ;; *) echo avx2 ;; esac)
case $morsel in qemu-aarch64*) other=avx2 ;; esac
check "kernels of another machine" 0 "notice: --cpu $other: .* plain C runs" bench "$work/color.morsel" --runs 1 --cpu $other
MORSEL_CPU=mmx
export MORSEL_CPU
check "unknown kernels in MORSEL_CPU" 2 "MORSEL_CPU=mmx names no kernels" inspect "$work/color.morsel"
unset MORSEL_CPU

# --- the model's file
head -c 300 "$work/color.morsel" >"$work/cut.morsel"
{ head -c 200 "$work/color.morsel"; printf 'Z'; tail -c +202 "$work/color.morsel"; } >"$work/damaged.morsel"
echo "hello" >"$work/text.onnx"
: >"$work/empty.morsel"
for verb in run bench inspect; do
    more=
    [ $verb = run ] && more=$work/red.ppm
    # shellcheck disable=SC2086
    {
        check "$verb: no file" 1 "cannot read .*none.morsel: No such file" $verb "$work/none.morsel" $more
        check "$verb: a folder" 1 "it is a folder" $verb "$work" $more
        check "$verb: a cut blob" 1 "cut.morsel: " $verb "$work/cut.morsel" $more
        check "$verb: a damaged blob" 1 "damaged.morsel: " $verb "$work/damaged.morsel" $more
        check "$verb: an empty blob" 1 "empty.morsel: " $verb "$work/empty.morsel" $more
        [ $verb = run ] && more="--input $work/none.npy"
        # the full tool reads ONNX files, the reduced one says how they become blobs
        check "$verb: no ONNX file but its name" 1 "morsel convert|not an ONNX model" $verb "$work/text.onnx" $more
    }
done
check "bench of a name" 1 "no network is built in under that name; these are: .*mobilenetv2-224" bench mobilenet

# --- run on pictures
check "run" 0 "red.ppm +red +0\.99.* green .* blue " run "$work/color.morsel" "$work/red.ppm"
check "run on several" 0 "blue_sky.ppm +blue" run "$work/color.morsel" "$work/red.ppm" "$work/green.ppm" "$work/blue_sky.ppm" --top 1
check "run checks names" 0 "3 of 3 right" run "$work/color.morsel" "$work/red.ppm" "$work/green.ppm" "$work/blue_sky.ppm" --check-names
cp "$work/red.ppm" "$work/photo.ppm"
check "a name that is no label" 0 "photo.ppm +\? " run "$work/color.morsel" "$work/red.ppm" "$work/photo.ppm" --check-names
check "does not count" 0 "^1 of 1 right" run "$work/color.morsel" "$work/red.ppm" "$work/photo.ppm" --check-names
check "a batch says whose time it is" 0 "times are those of a whole batch" run "$work/color2.morsel" "$work/red.ppm"
check "run of a batch of 2" 0 "3 of 3 right" run "$work/color2.morsel" "$work/red.ppm" "$work/green.ppm" "$work/blue_sky.ppm" --check-names
check "run --json" 0 '"label": "green", "index": 1' run "$work/color.morsel" "$work/green.ppm" --json --top 1
check "run with threads" 0 "red.ppm +red" run "$work/color.morsel" "$work/red.ppm" --threads 3
check "run with plain C" 0 "red.ppm +red" run "$work/color.morsel" "$work/red.ppm" --cpu c
check "run on a cut picture" 1 "cut.ppm: it is a damaged PGM or PPM" run "$work/color.morsel" "$work/cut.ppm"
check "run on no picture" 1 "color.morsel: it is not a" run "$work/color.morsel" "$work/color.morsel"
check "run on nothing" 2 "nothing to run on" run "$work/color.morsel"
check "run on both" 2 "one or the other" run "$work/color.morsel" "$work/red.ppm" --input "$work/a.npy"
check "run without a picture rule" 1 "no picture rule" run "$work/bytes.morsel" "$work/red.ppm"

# --- run on arrays
check "identity" 0 "y.npy: output 'y'" run "$work/bytes.morsel" --input "$work/bytes.npy" --output "$work/y.npy"
verify "identity gives the same file" cmp "$work/bytes.npy" "$work/y.npy"
check "stacked" 0 "3 runs" run "$work/bytes.morsel" --input "x=$work/bytes3.npy" --output "y=$work/y3.npy"
verify "stacked runs give the same file" cmp "$work/bytes3.npy" "$work/y3.npy"
check "layouts" 0 "to_line" run "$work/order.morsel" --input "line=$work/line.npy" --input "planes=$work/planes.npy" \
    --output "to_planes=$work/p.npy" --output "to_line=$work/l.npy"
verify "pixels to planes" cmp "$work/planes.npy" "$work/p.npy"
verify "planes to pixels" cmp "$work/line.npy" "$work/l.npy"
check "two inputs, two outputs" 0 "minus" run "$work/two.morsel" --input "a=$work/a.npy" --input "1=$work/b.npy" \
    --output "sum=$work/s.npy" --output "minus=$work/m.npy"
verify "first output" cmp "$work/sum.npy" "$work/s.npy"
verify "second output" cmp "$work/minus.npy" "$work/m.npy"
check "float64 is converted with a notice" 0 "notice: .*a2_wide.npy was converted to float32" run "$work/two.morsel" \
    --input "a=$work/a2_wide.npy" --input "b=$work/a2.npy" --output "minus=$work/m2.npy"
verify "float64 gives the same" cmp "$work/minus2.npy" "$work/m2.npy"
check "an array to classify" 0 "colors.npy\[2\] +blue" run "$work/color.morsel" --input "$work/colors.npy"
check "an output that is no list of classes" 0 "'y', uint8 \[1, 3, 2, 2\] is no list of classes" run "$work/bytes.morsel" --input "$work/bytes.npy"
check "a picture with an output" 0 "red.ppm +red" run "$work/color.morsel" "$work/red.ppm" --output "$work/scores.npy"
verify "the output of a picture" [ "$(wc -c <"$work/scores.npy")" -eq 140 ]
check "a wrong shape" 1 "uint8 \[1, 2, 2, 3\].*'x', uint8 \[1, 3, 2, 2\]" run "$work/bytes.morsel" --input "$work/bytes_shape.npy"
check "no rows" 1 "but not 0" run "$work/bytes.morsel" --input "$work/bytes_none.npy"
check "a wrong type" 1 "int8 \[1, 3, 2, 2\].*'x', uint8 \[1, 3, 2, 2\]" run "$work/bytes.morsel" --input "$work/bytes_type.npy"
check "an array that is none" 1 "not a .npy file" run "$work/bytes.morsel" --input "$work/red.ppm"
check "an unknown input" 2 "which one" run "$work/two.morsel" --input "c=$work/a.npy" --input "b=$work/b.npy"
check "an input without a name" 2 "which one" run "$work/two.morsel" --input "$work/a.npy" --input "b=$work/b.npy"
check "a missing input" 2 "input 'b'.* has no file" run "$work/two.morsel" --input "a=$work/a.npy"
check "an input twice" 2 "given twice" run "$work/two.morsel" --input "a=$work/a.npy" --input "a=$work/a.npy"
check "inputs that disagree" 1 "for 1 runs, the files before it for 2" run "$work/two.morsel" --input "a=$work/a.npy" --input "b=$work/a2.npy"
check "an output in no folder" 2 "cannot write .*nowhere/y.npy" run "$work/bytes.morsel" --input "$work/bytes.npy" --output "$work/nowhere/y.npy"
check "an output that is a folder" 2 "cannot write" run "$work/bytes.morsel" --input "$work/bytes.npy" --output "$work"
if [ -c /dev/full ]; then
    check "an output on a full disk" 3 "No space left" run "$work/bytes.morsel" --input "$work/bytes.npy" --output /dev/full
    $morsel inspect "$work/color.morsel" >/dev/full 2>"$work/err"
    verify "stdout on a full disk" [ $? -eq 3 ]
fi
cp "$work/bytes.npy" "$work/both.npy"
ln -s both.npy "$work/link.npy"
check "an output over its input" 2 "link.npy would be written over: it is read" run "$work/bytes.morsel" --input "$work/both.npy" --output "$work/link.npy"
check "an output over the model" 2 "it is read as well" run "$work/bytes.morsel" --input "$work/both.npy" --output "$work/bytes.morsel"
check "an output over another" 2 "it is another output" run "$work/order.morsel" --input "line=$work/line.npy" \
    --input "planes=$work/planes.npy" --output "to_planes=$work/same.npy" --output "to_line=$work/same.npy"
verify "the input is left" cmp "$work/both.npy" "$work/bytes.npy"
check "a wrong input writes nothing" 1 "where the network's" run "$work/bytes.morsel" --input "$work/bytes_type.npy" --output "$work/none.npy"
verify "no output file after a failure" absent "$work/none.npy"
verify "no temporary files" nothing_left

# --- the other verbs
check "inspect" 0 "^arena: [0-9]+ bytes" inspect "$work/color.morsel"
check "inspect shows the rule" 0 "resize exact 4 x 4, RGB" inspect "$work/color.morsel"
check "inspect --json" 0 '"onnx_shape": \[1, 3, 4, 4\]' inspect "$work/color.morsel" --json

# --- inspect: groups, and who holds the arena
# The bytes of all holders are the peak, and no more than the arena.
holders_sum() { awk -F'[ ,]+' '/"arena_bytes"/ { arena = $NF ? $NF : $(NF - 1) } /"arena_peak"/ { inside = 1 }
    inside && /^    "bytes"/ { sub(/,/, ""); peak = $NF } inside && /"what"/ { match($0, /"bytes": [0-9]+/); sum += substr($0, RSTART + 9, RLENGTH - 9) }
    /"blob_bytes"/ { inside = 0 } END { print sum, peak, arena; exit !(peak > 0 && sum == peak && peak <= arena) }' "$1"; }
# Slices of the picture that overlap in time and in bytes are outputs over inputs; the fullest step is the peak of the JSON (its 2nd argument).
slices_apart() { awk -v peak="$(sed -n '/"arena_peak"/,/"holders"/s/^    "bytes": \([0-9]*\),*$/\1/p' "$2")" '
    function value(name) { match($0, name "=\"-?[0-9]+"); return substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) + 0 }
    / data-kind=/ { n++; tensor[n] = /data-kind="(whole|ring)"/ ? value("data-index") : -2; first[n] = value("data-first"); last[n] = value("data-last")
        from[n] = value("data-offset"); to[n] = from[n] + value("data-bytes"); over[n] = value("data-over"); if (over[n] >= 0) overs++ }
    END { for (i = 1; i <= n; i++) for (s = first[i]; s <= last[i]; s++) live[s] += to[i] - from[i]
        for (i = 1; i <= n; i++) for (k = i + 1; k <= n; k++) {
            low = from[i] > from[k] ? from[i] : from[k]; high = to[i] < to[k] ? to[i] : to[k]
            begin = first[i] > first[k] ? first[i] : first[k]; end = last[i] < last[k] ? last[i] : last[k]
            if (low >= high || begin > end) continue
            if (over[i] != tensor[k] && over[k] != tensor[i]) { print "slices", i, k, "overlap"; bad = 1 }
            for (s = begin; s <= end; s++) live[s] -= high - low }
        for (s in live) if (live[s] > most) most = live[s]
        print n, "slices,", overs + 0, "over inputs, most", most, "peak", peak; exit bad || !n || most != peak }' "$1"; }
well_formed() {
    if command -v xmllint >/dev/null; then xmllint --noout "$1"
    elif command -v python3 >/dev/null; then python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1"
    else grep -q '^<svg xmlns=' "$1" && tail -n 1 "$1" | grep -q '^</svg>$'; fi
}
for net in stream whole color two bytes; do
    check "inspect --plan: $net" 0 "^arena: [0-9]+ bytes, fullest at step [0-9]+ .*with [0-9]+ bytes:" inspect "$work/$net.morsel" --plan "$work/$net.svg"
    verify "the picture is XML: $net" well_formed "$work/$net.svg"
    check "inspect --json, with the same picture: $net" 0 '"what": "whole", "tensor": ' inspect "$work/$net.morsel" --json --plan "$work/again.svg"
    cp "$work/out" "$work/$net.json"
    verify "the same bytes: $net" cmp "$work/$net.svg" "$work/again.svg"
    verify "holders add up to the peak: $net" holders_sum "$work/$net.json"
    verify "slices are apart, and fill the peak: $net" slices_apart "$work/$net.svg" "$work/$net.json"
done
check "inspect shows groups" 0 "^ +group 1, steps [0-9]+ to [0-9]+: [0-9]+ rows? of the last one at a time; rings [0-9]+ bytes" inspect "$work/stream.morsel"
check "inspect shows rings" 0 " ring [0-9]+ of 32 " inspect "$work/stream.morsel"
check "inspect: what holds the peak" 0 "^ +[0-9]+  ring of [0-9]+ of [0-9]+ rows " inspect "$work/stream.morsel"
$morsel inspect "$work/stream.morsel" >"$work/stream.txt"
verify "lines of at most 140 columns" awk 'length($0) > 140 { exit 1 } END { exit NR < 40 }' "$work/stream.txt"
verify "groups in the JSON" grep -qE '"group": 1, "first_step": [0-9]+, "step_count": [0-9]+, "strip_rows": [0-9]+, "ring_bytes": [1-9]' "$work/stream.json"
verify "rows of a step in the JSON" grep -qE '"group": 1, "rows_at_a_time": [1-9]' "$work/stream.json"
verify "rings in the JSON" grep -qE '"ring_rows": [1-9][0-9]*, "slice_bytes": [1-9]' "$work/stream.json"
verify "outputs over inputs in the picture" grep -q 'data-over="[0-9]' "$work/stream.svg"
verify "no groups where every tensor is whole" sh -c "! grep -qE 'data-kind=.ring|class=.group. x=.[0-9.]*. y=.88' '$work/whole.svg' && grep -q '\"groups\": \[\]' '$work/whole.json'"
check "a picture over the model" 2 "would be written over" inspect "$work/two.morsel" --plan "$work/two.morsel"
check "a picture in no folder" 2 "cannot write .*nowhere/a.svg" inspect "$work/two.morsel" --plan "$work/nowhere/a.svg"
[ -c /dev/full ] && check "a picture on a full disk" 3 "No space left" inspect "$work/two.morsel" --plan /dev/full
verify "no temporary files of pictures" nothing_left

check "bench" 0 "median .* FPS" bench "$work/color.morsel" --runs 3 --warmup 0
check "bench --layers shows groups" 0 "^ +[0-9]+ +1  conv " bench resnet8-32 --runs 3 --layers --arena 1
check "bench --layers: what the steps add up to" 0 "^  [-+][0-9.]+ ms to the median above: " bench resnet8-32 --runs 3 --layers
check "bench --layers --json" 0 '"op": "mean", "isa": "c"' bench "$work/color.morsel" --runs 3 --layers --json --cpu c
for verb in bench inspect; do
    check "$verb of a file with --arena" 2 "--arena is for networks that are built in" $verb "$work/color.morsel" --arena 5000
    check "$verb of a file with --no-streaming" 2 "--no-streaming is for networks that are built in" $verb "$work/color.morsel" --no-streaming
    check "$verb with --arena and --no-streaming" 2 "exclude each other" $verb resnet8-32 --arena 5000 --no-streaming
    check "$verb with an arena that cannot be had" 0 "notice: --arena 5000 cannot be had: the least .* 23808 bytes" $verb resnet8-32 --arena 5000
    check "$verb with the least arena" 0 "arena:? 23808 bytes" $verb resnet8-32 --arena 1
    verify "no notice then" sh -c "! grep notice '$work/err'"
done
check "inspect of a name" 1 "no network is built in under that name; these are: .*mobilenetv2-224" inspect mobilenet
check "bench of a batch" 0 "2 threads, batch 5," bench "$work/color.morsel" --batch 5 --threads 2 --runs 3
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
exit $status
