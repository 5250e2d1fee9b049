#!/bin/sh
# SPDX-License-Identifier: MIT
# Labels, rules and metadata of a blob, changed without its network: what edit writes is what convert writes with the same options, and
# answers as before. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title='edit: '
. tests/cli/calls.sh
make_files
# make NAME ARGUMENTS..: a blob, $work/NAME.morsel.
make() {
    name=$1
    shift
    $morsel "$@" -o "$work/$name.morsel" >"$work/out" 2>"$work/err" || failed "$name was not made" "$work/err"
}
same() { verify "$1" cmp "$work/$2.morsel" "$work/$3.morsel"; }

# --- a detector: labels, two rules, metadata
spots=models/spots
quantize="quantize $spots/network.onnx --data $spots/pictures --picture $spots/picture.json"
make bare $quantize
make full $quantize --answer $spots/answer.json --labels $spots/labels.txt --set version=3 --set licence=MIT
make dressed edit "$work/bare.morsel" --answer $spots/answer.json --labels $spots/labels.txt --set licence=MIT --set version=3
same "as quantize with the same options" full dressed
make again edit "$work/full.morsel" --answer $spots/answer.json --labels $spots/labels.txt --set version=3
same "what is there already changes nothing" full again
make undressed edit "$work/full.morsel" --answer "" --labels "" --set version= --set licence=
same "and all can be taken out" bare undressed
cp "$work/full.morsel" "$work/place.morsel"
check "the blob itself is written over" 0 '^  version = 4$' edit "$work/place.morsel" -o "$work/place.morsel" --set version=4
make four $quantize --answer $spots/answer.json --labels $spots/labels.txt --set version=4 --set licence=MIT
same "and is another one then" four place
check "inspect tells metadata" 0 '^licence = MIT$' inspect "$work/place.morsel"
check "in JSON, too" 0 '^    "licence": "MIT",$' inspect "$work/place.morsel" --json
check "and edit" 0 '^    "version": "5"$' edit "$work/place.morsel" -o "$work/place.morsel" --set version=5 --json
check "control characters steer nothing" 0 'note = a\?\[31mb\?c$' edit "$work/place.morsel" -o "$work/place.morsel" --set "note=$(printf 'a\033[31mb\nc')"
verify "nor in JSON" sh -c "$morsel inspect '$work/place.morsel' --json | grep -q '\"note\": \"a.u001b.31mb.u000ac\"'"
make tagged edit "$work/full.morsel" --set '<b>=<script>&'
check "report takes it for text" 0 "tagged.html" report "$work/tagged.morsel" -o "$work/tagged.html" --runs 1
verify "and has it" grep -q '<tr><th>&#60;b&#62;</th><td class="long">&#60;script&#62;&#38;</td>' "$work/tagged.html"
check "boxes stay, with their labels" 0 '^    blue +0\.99' run "$work/dressed.morsel" $spots/pictures/spots.ppm
printf 'rot\ngruen\nblau\n' >"$work/german.txt"
make german edit "$work/full.morsel" --labels "$work/german.txt"
check "in other words" 0 '^    blau +0\.99' run "$work/german.morsel" $spots/pictures/spots.ppm
make no_picture edit "$work/full.morsel" --picture ""
check "without a picture rule" 1 "no picture rule: morsel edit --picture RULE.json gives it one" run "$work/no_picture.morsel" $spots/pictures/spots.ppm
make picture edit "$work/no_picture.morsel" --picture $spots/picture.json
same "which comes back" full picture
check "--c" 0 '^  the blob as a C array' edit "$work/full.morsel" -o "$work/c.morsel" --c "$work/net.c"
verify "declares the arena" grep -q '^#define NET_ARENA_BYTES' "$work/net.h"
printf 'int x;\n' >"$work/use.c" && : >"$work/other_use.c" && cp "$work/use.c" "$work/other.h"
check "--c spares what is not its own" 2 'was not written by it' edit "$work/full.morsel" -o "$work/c.morsel" --c "$work/other.c"

# --- every kind of step: constants move, and answers stay
label=$(printf '%0400d' 0)
wrong=
for case in tests/golden/cases/*/; do
    case=${case%/}
    $morsel convert "$case/net.onnx" -o "$work/a.morsel" >/dev/null 2>&1 &&
        $morsel edit "$work/a.morsel" -o "$work/b.morsel" --set "a=$label" >/dev/null 2>&1 || wrong="$wrong ${case##*/} (no blob)"
    set --
    for n in 0 1 2 3; do [ -f "$case/in$n.npy" ] && set -- "$@" --input "$n=$case/in$n.npy"; done
    $morsel run "$work/b.morsel" "$@" --output "0=$work/y.npy" >/dev/null 2>&1 && cmp -s "$case/out0.npy" "$work/y.npy" || wrong="$wrong ${case##*/}"
    $morsel edit "$work/b.morsel" -o "$work/b.morsel" --set a= >/dev/null 2>&1 && cmp -s "$work/a.morsel" "$work/b.morsel" ||
        wrong="$wrong ${case##*/} (and back)"
done
echo "$wrong" >"$work/log"
verify "recorded answers, $(ls tests/golden/cases | wc -l) networks" test -z "$wrong"

# --- sizes, which share labels and constants; rules follow the size
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n' >"$work/vocab.txt"
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\na\nab\n' >"$work/others.txt"
text() { printf '{"tokenizer": "%s", "max_length": 64, "pooling": "%s"}' "$1" "$2" >"$work/$3.json"; }
text vocab.txt mean text && text others.txt mean others && text vocab.txt none tokens
encoder="quantize tests/cli/encoder.onnx --dynamic --dim sequence=8,32,16"
make texts $encoder --text "$work/text.json"
make others $encoder --text "$work/others.json" --set version=2
make edited edit "$work/texts.morsel" --text "$work/others.json" --set version=2
same "another vocabulary in three sizes" others edited
make back edit "$work/edited.morsel" --text "$work/text.json" --set version=
same "and back" texts back
make plain $encoder
check "pooling is the network's" 1 'pooling is a part of the network, which .*plain.morsel was made without' \
    edit "$work/plain.morsel" -o "$work/x.morsel" --text "$work/text.json"
make tokens $encoder --text "$work/tokens.json"
make edited edit "$work/plain.morsel" --text "$work/tokens.json"
same "tokens alone" tokens edited
make bare_names $encoder --text "$work/text.json" --strip
make stripped $encoder --text "$work/others.json" --strip
make edited edit "$work/bare_names.morsel" --text "$work/others.json"
same "of a blob without names" stripped edited
rule='"channels": "RGB", "scale": 0.00392156862745098, "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}'
echo '{"resize": {"mode": "short_side", "size": 36}, "crop": [32, 32], '"$rule" >"$work/picture.json"
pictures="quantize tests/cli/free_sides.onnx --dynamic --dim height=24,32 --dim width=24,32"
make sides $pictures
make ruled $pictures --picture "$work/picture.json"
make edited edit "$work/sides.morsel" --picture "$work/picture.json"
same "pictures of two sizes" ruled edited

# --- what is refused
for call in "" "$work/full.morsel" "$work/full.morsel $work/bare.morsel -o $work/x.morsel --set a=b"; do
    # shellcheck disable=SC2086
    check "the call '${call##*/}'" 2 "morsel edit MODEL.morsel -o OUT.morsel" edit $call
done
check "nothing to change" 2 "nothing is to change" edit "$work/full.morsel" -o "$work/x.morsel"
check "a pair without a value" 2 "a key and a value are wanted, as --set version=3" edit "$work/full.morsel" -o "$work/x.morsel" --set version
check "a pair without a key" 2 "a key and a value are wanted" edit "$work/full.morsel" -o "$work/x.morsel" --set =3
check "a key that steers" 2 "holds a control character" edit "$work/full.morsel" -o "$work/x.morsel" --set "$(printf 'a\033b')=3"
check "a value that is no UTF-8" 2 "is no UTF-8" edit "$work/full.morsel" -o "$work/x.morsel" --set "a=$(printf '\377')"
printf 'a\nb\nc\nd\n' >"$work/labels.txt"
check "more labels than classes" 1 "there are 4 labels, and output 1 has scores of 3" edit "$work/full.morsel" -o "$work/x.morsel" --labels "$work/labels.txt"
sed 's/32/16/g' $spots/picture.json >"$work/small.json"
check "a picture rule that does not fit" 1 "the two do not fit" edit "$work/full.morsel" -o "$work/x.morsel" --picture "$work/small.json"
check "an answer rule that does not fit" 1 "answer rule: .*output 0 has 1 candidates" edit "$work/sides.morsel" -o "$work/x.morsel" --answer $spots/answer.json
check "a text rule for pictures" 1 "has no input 'input_ids'" edit "$work/full.morsel" -o "$work/x.morsel" --text "$work/tokens.json"
check "an ONNX file" 1 "of an ONNX file a blob is made first" edit $spots/network.onnx -o "$work/x.morsel" --set a=b
head -c 9000 "$work/full.morsel" >"$work/cut.morsel"
check "a blob that is cut" 1 "cut.morsel: " edit "$work/cut.morsel" -o "$work/x.morsel" --set a=b
check "labels that would be written over" 2 "labels.txt would be written over" edit "$work/full.morsel" -o "$work/labels.txt" --labels "$work/labels.txt"
cp $spots/answer.json $spots/anchors.npy "$work/"
check "anchors, too" 2 "anchors.npy would be written over: it holds anchors" edit "$work/bare.morsel" -o "$work/anchors.npy" --answer "$work/answer.json"
verify "they stay" cmp $spots/anchors.npy "$work/anchors.npy"
cp "$work/full.morsel" "$work/kept.morsel"
check "the blob by its array" 2 "kept.morsel would be written over: it is read" edit "$work/kept.morsel" -o "$work/x.morsel" --set a=b --c "$work/kept.morsel"
verify "it stays" cmp "$work/full.morsel" "$work/kept.morsel"
check "one file by two names" 2 "-o and --c name the same file" edit "$work/full.morsel" -o "$work/x.morsel" --set a=b --c "$work/./x.morsel"
mkfifo "$work/anchors.pipe"
sed 's/anchors.npy/anchors.pipe/' $spots/answer.json >"$work/waits.json"
check "anchors in a pipe" 1 "anchors.pipe: it is no plain file" edit "$work/full.morsel" -o "$work/x.morsel" --answer "$work/waits.json"
check "an output in ONNX" 2 "is a blob, not ONNX" edit "$work/full.morsel" -o "$work/x.onnx" --set a=b
check "-o by another name" 2 "no option .--output.; did you mean .-o.\?" edit "$work/full.morsel" --output "$work/x.morsel"
check "a dash" 2 "/dev/stdout stands for stdout" edit "$work/full.morsel" -o - --set a=b
check "a folder that is not there" 2 "cannot write .*none/x.morsel: its folder does not exist" edit "$work/full.morsel" -o "$work/none/x.morsel" --set a=b
verify "nothing was written" absent "$work/x.morsel"
verify "no temporary file is left" nothing_left
exit $status
