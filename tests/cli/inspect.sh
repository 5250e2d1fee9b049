#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel inspect on blobs, the picture of their arena, and on ONNX files. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
make_files

check "inspect" 0 "^arena: [0-9]+ bytes" inspect "$work/color.morsel"
check "inspect: the stack" 0 "^stack: [1-9][0-9]+ bytes at most" inspect "$work/color.morsel"
check "inspect --json: the stack" 0 "\"stack_bytes\": [1-9][0-9]+" inspect "$work/color.morsel" --json
$morsel inspect "$work/bytes.morsel" >"$work/names.txt"
verify "names steer no terminal" sh -c "grep -q '<\"&?' '$work/names.txt' && ! grep -q '[[:cntrl:]]' '$work/names.txt'"
check "inspect shows the rule" 0 "resize exact 4 x 4, RGB" inspect "$work/color.morsel"
check "inspect --json" 0 '"onnx_shape": \[1, 3, 4, 4\]' inspect "$work/color.morsel" --json

# Whatever is no blob is refused by its front: of 3 GB no more is read.
truncate -s 3G "$work/large.bin"
check "inspect: a large file that is no blob" 1 "large.bin: not a Morsel blob" inspect "$work/large.bin"
rm -f "$work/large.bin"
check "inspect: a device without an end" 1 "/dev/zero is larger than [0-9]+ bytes" inspect /dev/zero

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

check "inspect of a name" 1 "no network is built in under that name; these are: .*mobilenetv2-224" inspect mobilenet

# --- networks that are built in
if ! reduced; then
    check "an option of blobs on an ONNX file" 2 "--arena is for blobs and networks that are built in, not for an ONNX file" \
        inspect tests/cli/float_small.onnx --arena 1
    check "what is built in is no ONNX file" 2 "resnet8-32 is built in, and no ONNX file: --optimized is for" inspect resnet8-32 --optimized
fi
built_in inspect

# --- ONNX files
reduced && exit $status
verb=inspect title='inspect of ONNX: '
network=models/cifar10

check "operators" 0 "^  Conv +52$" inspect $network/network.onnx
check "inputs" 0 "^input input: float 1x3x32x32$" inspect $network/network.onnx
check "another shape" 0 "^input input: float 1x3x64x64$" inspect $network/network.onnx --shape input=1,3,64,64
check "a notice of the free batch" 0 "notice: .*batch_size.*--dim" inspect tests/cli/free_batch.onnx
check "before and after" 0 "^  nodes +7 +3$" inspect tests/cli/decomposed.onnx --optimized
check "what became of the operators" 0 "^  HardSwish +0 +1$" inspect tests/cli/decomposed.onnx --optimized
check "what the passes did" 0 "^  affine-before +1 " inspect tests/cli/decomposed.onnx --optimized
check "JSON" 0 '"name": "affine-before", "changes": 1,' inspect tests/cli/decomposed.onnx --optimized --json
verify "JSON has both" test "$(grep -c '"nodes": [0-9]' "$work/out")" -eq 2
verify "and nothing else speaks" test ! -s "$work/err"
check "the file's own opset" 0 "^tests/cli/old_opset.onnx: opset 11" inspect tests/cli/old_opset.onnx --optimized
check "and the one it is optimized in" 0 '^    "opset": 14' inspect tests/cli/old_opset.onnx --optimized --json
check "JSON of the file alone" 0 '"BatchNormalization": 1' inspect tests/cli/decomposed.onnx --json
check "writes ONNX" 0 "Conv" inspect $network/network.onnx --onnx "$work/network.onnx"
check "which converts" 0 "layers" convert "$work/network.onnx" -o "$work/network.morsel" --picture $network/picture.json --labels $network/labels.txt
verify "to the same blob" cmp "$work/network.morsel" $network/network.morsel
check "writes what is left" 0 "HardSwish" inspect tests/cli/decomposed.onnx --optimized --onnx "$work/left.onnx"
check "which has no more to give" 0 "^  nodes +3 +3$" inspect "$work/left.onnx" --optimized
cp $network/network.onnx "$work/mine.onnx"
check "ONNX over the model" 2 "would be written over" inspect "$work/mine.onnx" --onnx "$work/mine.onnx"
verify "leaves it alone" cmp "$work/mine.onnx" $network/network.onnx
check "a full disk" 3 "^morsel: cannot write /dev/full" inspect $network/network.onnx --onnx /dev/full
check "no such file" 1 "^morsel: .*cannot read .*absent.onnx" inspect "$work/absent.onnx"
head -c 1000 $network/network.onnx >"$work/short.onnx"
check "a damaged file" 1 "^morsel: .*short.onnx: " inspect "$work/short.onnx"
check "two files" 2 "one ONNX file is wanted, 2 given" inspect a.onnx b.onnx
check "--optimized without a file" 2 "one ONNX file is wanted, 0 given" inspect --optimized
check "a blob with --optimized" 1 "is a blob already" inspect $network/network.morsel --optimized
check "help" 0 "--optimized" inspect x.onnx --help
# A mapping that others write would void the checks: what is checked is a copy. A pipe can only be read.
cat models/cifar10/network.morsel | $morsel inspect /dev/stdin >"$work/out" 2>"$work/err"
verify "a blob is read, not mapped" grep -q '^network: format' "$work/out"

exit $status
