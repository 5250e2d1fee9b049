#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel convert from the command line, on the shipped network and on damaged copies of it. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=convert title='convert: '
. tests/cli/calls.sh
network=models/cifar10
free=tests/cli/free_batch.onnx # of any batch

make_files

# --- what a blob holds
verify "4,095 steps" call 0 "$work/most.onnx" -o "$work/most.morsel"
check "names that a blob would tell at length" 1 "names of nodes are too long for a blob that small" convert "$work/named.onnx" -o "$work/named.morsel"
check "without them it is one" 0 "200" convert "$work/named.onnx" -o "$work/named.morsel" --strip
check "and opens" 0 "200 steps" inspect "$work/named.morsel"
verify "more are told" call_says "comes to 4097 steps, and a blob holds 4096: cut it" 1 "$work/too_long.onnx" -o "$work/too_long.morsel"
verify "and nothing is written" test ! -e "$work/too_long.morsel"

# --- what no blob can say is refused, and what it says opens
verify "a pool whose windows begin behind its input" call_says "the_node .MaxPool.*pads" 1 "$work/behind_pads.onnx" -o "$work/behind.morsel"
verify "a product whose scales are too far apart" call_says "the_node .MatMul.*scales are too far apart" 1 "$work/denormal.onnx" -o "$work/denormal.morsel"
verify "a NaN that is added to one channel of bytes" call 0 tests/cli/nan_term.onnx -o "$work/nan.morsel"
verify "are no blobs" test ! -e "$work/behind.morsel" -a ! -e "$work/denormal.morsel"
verify "pads as an input, none, count; as an attribute they are of before" call_says "layers +0" 0 "$work/two_pads.onnx" -o "$work/two_pads.morsel"
verify "and the blob opens" sh -c "$morsel inspect '$work/two_pads.morsel' >/dev/null"

# --- what it writes
verify "the shipped network" call 0 $network/network.onnx -o "$work/a.morsel" --picture $network/picture.json --labels $network/labels.txt
verify "gives the shipped blob, byte for byte" cmp "$work/a.morsel" $network/network.morsel
verify "a summary" says '^  arena bytes  [0-9]+'
verify "a summary says what streams" says '^  streaming    [0-9]+ of the layers, in [0-9]+ groups; without it the arena takes 340480 bytes'
verify "JSON" call 0 $network/network.onnx -o "$work/j.morsel" --json
for key in layers macs params blob_bytes arena_bytes; do
    verify "JSON has $key" test "$(number $key)" -gt 0
done
verify "JSON states the blob's size" test "$(number blob_bytes)" -eq "$(wc -c <"$work/j.morsel")"
arena=$(number arena_bytes)
verify "JSON refuses nothing" says '"refused": \[\]'
verify "JSON says what streams" test "$(number groups)" -gt 0
verify "JSON has the arena without streaming" test "$(number arena_bytes_no_streaming)" -gt "$arena"
verify "no streaming" call_says "streaming    none, as asked; with it the arena takes $arena bytes" 0 $network/network.onnx -o "$work/n.morsel" \
    --no-streaming
verify "an arena that cannot be had" call_says "notice: --arena 1000 cannot be had: the least for this network are [0-9]+ bytes" 0 \
    $network/network.onnx -o "$work/n.morsel" --arena 1000
verify "an arena without streaming" call_says "exclude each other" 2 $network/network.onnx -o "$work/o.morsel" --no-streaming --arena 1000
# Of the arena, what is used most goes into a block of its own; the answers are the same.
verify "fast memory" call_says "fast memory  [0-9]+ of these bytes; [0-9]+ beside it" 0 $network/network.onnx -o "$work/parts.morsel" \
    --arena-fast 49152 --c "$work/parts.c" --picture $network/picture.json --labels $network/labels.txt
fast=$(sed -n 's/^#define PARTS_ARENA_FAST_BYTES \([0-9]*\)u$/\1/p' "$work/parts.h")
slow=$(sed -n 's/^#define PARTS_ARENA_SLOW_BYTES \([0-9]*\)u$/\1/p' "$work/parts.h")
verify "is no more than was given" test "$fast" -gt 24576 -a "$fast" -le 49152
verify "both make the arena" grep -q "^#define PARTS_ARENA_BYTES $((fast + slow))u$" "$work/parts.h"
verify "and stand for the first network" grep -q "^#define MODEL_ARENA_SLOW_BYTES PARTS_ARENA_SLOW_BYTES$" "$work/parts.h"
$morsel inspect "$work/parts.morsel" >"$work/parts.txt"
verify "inspect tells both" grep -qE "^ +$fast  of them in fast memory, fullest at step [0-9]+ with [0-9]+ bytes$" "$work/parts.txt"
verify "and how much goes there" grep -qE '^traffic: .* a run to tensors and scratch, 9[0-9]\.[0-9] % of it to fast memory$' "$work/parts.txt"
verify "inspect --json, too" sh -c "$morsel inspect '$work/parts.morsel' --json |
    grep -qE '\"arena_fast\": \{\"bytes\": $fast, \"peak_bytes\": [0-9]+, \"peak_step\": [0-9]+, \"traffic\": [0-9]+\}'"
table() { $morsel run "$1" $network/pictures --top 10 --csv "$2" --threads "$3" >/dev/null; }
for threads in 1 4; do
    table $network/network.morsel "$work/one$threads.csv" $threads
    table "$work/parts.morsel" "$work/two$threads.csv" $threads
    verify "the same answers, threads: $threads" sh -c "[ \$(wc -l <'$work/one$threads.csv') -gt 10 ] && cmp '$work/one$threads.csv' '$work/two$threads.csv'"
done
printf '#include "parts.c"\n#include "core/morsel.h"\nstatic _Alignas(64) uint8_t slow[MODEL_ARENA_SLOW_BYTES], fast[MODEL_ARENA_FAST_BYTES];\nint main(void) {\n%s\n%s\n}\n' \
    'struct morsel_model m; struct morsel_session s; struct morsel_options o = {.size = sizeof o, .fast = fast, .fast_bytes = sizeof fast};' \
    'return morsel_open(&m, MODEL_BLOB, MODEL_BLOB_BYTES, 0) || morsel_session_open(&s, &m, slow, sizeof slow, &o) || morsel_run(&s);' >"$work/blocks.c"
verify "an app runs in two blocks of their size" sh -c \
    "${CC:-cc} -std=c11 -Wall -Wextra -Werror -I'$work' -I. '$work/blocks.c' $(dirname "$morsel")/libmorsel.a -fsanitize=address,undefined -o '$work/blocks' && '$work/blocks'"
verify "fast memory for nothing" call_says "notice: --arena-fast 1: no tensor of this network fits there" 0 $network/network.onnx \
    -o "$work/n.morsel" --arena-fast 1
verify "then the blob is that of before" cmp -s "$work/n.morsel" "$work/j.morsel"
verify "stripped" call 0 $network/network.onnx -o "$work/s.morsel" --strip
verify "no names in a stripped blob" sh -c "! grep -q 'conv44' '$work/s.morsel' && grep -q 'conv44' '$work/j.morsel'"
verify "a C array" call 0 $network/network.onnx -o "$work/c.morsel" --c "$work/model.c"
printf '#include "model.c"\n#include "core/morsel.h"\nstatic _Alignas(64) uint8_t arena[MODEL_ARENA_BYTES];\nint main(void) {\n%s\n%s\n}\n' \
    'struct morsel_model m; struct morsel_session s;' \
    'return morsel_open(&m, MODEL_BLOB, MODEL_BLOB_BYTES, 0) || morsel_session_open(&s, &m, arena, sizeof arena, 0) || morsel_run(&s);' >"$work/main.c"
verify "the C array compiles and runs in its arena" sh -c \
    "${CC:-cc} -std=c11 -Wall -Wextra -Werror -I'$work' -I. '$work/main.c' $(dirname "$morsel")/libmorsel.a -fsanitize=address,undefined -o '$work/main' && '$work/main'"
verify "MODEL_ARENA_BYTES is the arena" grep -q "ARENA_BYTES ${arena}u" "$work/model.c"
verify "the header beside it says so too" grep -q "MODEL_ARENA_BYTES ${arena}u" "$work/model.h"
verify "both are named" says "^$work/model.c, $work/model.h$"
verify "and so is what an app links" says "^$work/model_use.c, $work/model_use.h$"
verify "the kinds of its steps are those of inspect" sh -c \
    "'$morsel' inspect '$work/c.morsel' --json | sed -n 's/.*\"kind\": \"\\([a-z_]*\\)\".*/\1/p' | sort -u >'$work/kinds' &&
    sed -n 's/^#define MORSEL_USE_//p' '$work/model_use.h' | tr 'A-Z' 'a-z' | sed 's/^qadd$/binary/' |
    grep -vx -e groups -e rules | sort | cmp - '$work/kinds' && [ -s '$work/kinds' ]"
# Names whose macros would be those of every network: the program says the size of the blob, and of the arena.
for name in model_arena model_blob model_arena_fast; do
    call 0 $network/network.onnx -o "$work/c.morsel" --c "$work/$name.c" >/dev/null
    printf '#include <stdio.h>\n#include "%s.h"\nint main(void) { printf("%%u %%u", (unsigned)MODEL_BLOB_BYTES, (unsigned)sizeof MODEL_BLOB); }\n' \
        "$name" >"$work/says.c"
    verify "--c $name.c" sh -c "${CC:-cc} -Werror -I '$work' '$work/says.c' '$work/$name.c' -o '$work/says' && \
        [ \"\$('$work/says')\" = \"\$(wc -c <'$work/c.morsel') \$(wc -c <'$work/c.morsel')\" ]"
done
# Header and array in one file; and what would be taken for another network of that name.
printf '#include "model.h"\n#include "model.c"\n#include "model.h"\nint main() { return sizeof model_blob != MODEL_BYTES || model_blob[1] != 79; }\n' >"$work/both.c"
for compiler in "${CC:-cc} -std=c11 -x c" "${CXX:-g++} -std=c++11 -x c++"; do
    verify "header and array in one file: $compiler" sh -c "$compiler -Wall -Wextra -Werror '$work/both.c' -o '$work/both' && '$work/both'"
done
mkdir "$work/twin"
call 0 $free -o "$work/twin/model.morsel" --c "$work/twin/model.c" >/dev/null
printf '#include "model.h"\n#include "twin/model.h"\n' >"$work/twins.c"
verify "two networks of one name in one file" sh -c "! ${CC:-cc} -I'$work' -c '$work/twins.c' -o '$work/twins.o' 2>'$work/err'"
verify "are an error" says "two networks are called model"
verify "C++ as --c" call_says "y.cpp: name the C file, FILE.c" 2 $network/network.onnx -o "$work/x.morsel" --c "$work/y.cpp"
verify "a header as --c" call_says "name the C file" 2 $network/network.onnx -o "$work/x.morsel" --c "$work/y.h"
verify "a blob named as ONNX" call_says "-o .*x.onnx: what is written is a blob.*name it .*x.morsel$" 2 $network/network.onnx -o "$work/x.onnx"
verify "nothing was written" sh -c "! ls '$work' | grep -E '^[xy][.]'"
verify "a blob named as something else" call_says "notice: .*c.tflite gets a blob" 0 $network/network.onnx -o "$work/c.tflite"
echo "mine" >"$work/food.h"
verify "a header of somebody else's" call_says "food.h stands beside" 2 $network/network.onnx -o "$work/x.morsel" --c "$work/food.c"
verify "is left alone, and nothing else is written" sh -c "grep -q '^mine$' '$work/food.h' && [ ! -e '$work/food.c' ] && [ ! -e '$work/x.morsel' ]"
echo "mine" >"$work/meal_use.c"
verify "a table of somebody else's" call_says "meal_use.c stands beside" 2 $network/network.onnx -o "$work/x.morsel" --c "$work/meal.c"
verify "is left alone, too" sh -c "grep -q '^mine$' '$work/meal_use.c' && [ ! -e '$work/meal.c' ] && [ ! -e '$work/x.morsel' ]"
verify "an array that cannot be written" call 2 $network/network.onnx -o "$work/x.morsel" --c "$work/none/model.c"
verify "keeps the blob from being written" absent "$work/x.morsel"
verify "a free batch" call 0 $free -o "$work/b1.morsel" --json
verify "is taken as 1, which is noticed" says "notice: .*batch_size.*--dim"
one=$(number macs)
verify "--dim" call 0 $free -o "$work/b.morsel" --dim batch_size=2 --json
verify "--dim 2 doubles the work" test "$(number macs)" -eq $((2 * one))
verify "--batch" call 0 $free -o "$work/b2.morsel" --batch 2
verify "--batch gives what --dim gives" cmp "$work/b.morsel" "$work/b2.morsel"
verify "--shape" call 0 $free -o "$work/b3.morsel" --shape input=2,3,32,32
verify "--shape gives what --dim gives" cmp "$work/b.morsel" "$work/b3.morsel"
verify "another size by --shape" call 0 $network/network.onnx -o "$work/b4.morsel" --shape input=1,3,48,64
verify "--dim of no input" call_says "no input has a dimension named 'nosuch'" 2 $free -o "$work/x.morsel" --dim nosuch=1

verify "--shape of a batch of 2" call 0 $network/network.onnx -o "$work/b3.morsel" --shape input=2,3,32,32
verify "is not noticed: it was asked for" sh -c "! grep -q fixes '$work/err'"
batch=$(ls -d tests/golden/cases/batch-*)/net.onnx
verify "a batch that the file fixes" call 0 "$batch" -o "$work/f.morsel"
verify "is noticed" says "notice: input '.*': the file fixes its first dimension at [0-9]+; .*--shape .*=1,"
verify "one that --batch 1 cannot change" call_says "--batch 1: the file fixes the first dimension of input '.*' at [0-9]+; --shape .*=1,... changes it" 2 \
    "$batch" -o "$work/f1.morsel" --batch 1
verify "a free one of 1, asked for" call 0 $free -o "$work/b5.morsel" --batch 1

# --- letterboxes and filters
echo '{"resize": {"mode": "letterbox", "size": [32, 32], "fill": [1, 2, 3], "place": "corner", "filter": "linear"}, "channels": "RGB", "scale": 1,
 "mean": [0, 0, 0], "std": [1, 1, 1]}' >"$work/box.json"
verify "a letterbox" call 0 $network/network.onnx -o "$work/box.morsel" --picture "$work/box.json"
verify "which inspect prints" sh -c "'$morsel' inspect '$work/box.morsel' | grep -q 'resize letterbox 32 x 32 (linear), corner, fill 1 2 3, RGB'"
verify "and lists as a rule" sh -c "'$morsel' inspect '$work/box.morsel' --json | tr -d ' \\n' | grep -q \
    '\"resize\":{\"mode\":\"letterbox\",\"size\":\[32,32\],\"filter\":\"linear\",\"place\":\"corner\",\"fill\":\[1,2,3\]}'"
verify "of format 2" sh -c "'$morsel' inspect '$work/box.morsel' --json | grep -q '\"format_version\": 2'"
verify "takes pictures of any size" sh -c "'$morsel' run '$work/box.morsel' $network/pictures/cat.ppm >'$work/out'"
sed 's/32, 32/32, 31/' "$work/box.json" >"$work/narrow.json"
verify "of another size" call_says "resizes to 32 x 31 .*3 channels; .*'input' is \[1, 3, 32, 32\]" 1 $network/network.onnx -o "$work/x.morsel" --picture "$work/narrow.json"

# --- pictures of a size that the rule leaves alone
printf '{"resize": {"mode": "none"}, "channels": "RGB", "scale": 1, "mean": [0, 0, 0], "std": [1, 1, 1]}' >"$work/none.json"
printf 'P6 2 3 255\n123456789012345678' >"$work/small.ppm"
verify "a rule without a resize" call 0 $network/network.onnx -o "$work/n.morsel" --picture "$work/none.json"
verify "wants pictures of the input's size" sh -c "! '$morsel' run '$work/n.morsel' '$work/small.ppm' 2>'$work/err'"
verify "and says which" says 'small.ppm: the picture is 3 x 2 \(height x width\).*does not resize, so 32 x 32 is wanted'

# --- labels that do not go with the network
labels() { printf "$1" >"$work/labels.txt"; call "${2:-0}" $network/network.onnx -o "$work/l.morsel" --labels "$work/labels.txt"; }
verify "2 labels for 10 classes" labels 'a\nb\n'
verify "are noticed" says "notice: .*labels.txt holds 2 labels, and output 'output' has 10 classes"
verify "one less than classes" labels '1\n2\n3\n4\n5\n6\n7\n8\n9\n'
verify "may be the background's" says "notice: .*if class 0 is the background, the file wants a first line for it"
rm -f "$work/l.morsel"
verify "one more" labels '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n' 1
verify "is an error" says "^morsel: .*labels.txt holds 11 labels, and output 'output' has 10 classes: the labels are another network's"
verify "that leaves nothing" test ! -e "$work/l.morsel"
verify "one more, a blank line" labels '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n\n' 1
verify "is told" says "holds 11 labels, and output 'output' has 10 classes: its last line is blank"
verify "10 labels, one of them blank" labels 'a\nb\n\nd\ne\nf\ng\nh\ni\nj\n'
verify "is noticed" says "notice: .*labels.txt: label 3 of 10 is blank"
verify "and nothing else of the labels" sh -c "! grep -q holds '$work/err'"
verify "10 labels" labels '1\n2\n3\n4\n5\n6\n7\n8\n9\nten'
verify "are not noticed" sh -c "! grep -q labels '$work/err'"

# --- what it cannot take
LC_ALL=C sed 's/GlobalAveragePool/GlobalAverageXool/g; s/Gemm/Gexm/g' $network/network.onnx >"$work/unknown.onnx"
echo old >"$work/kept.morsel"
verify "unknown operators" call 1 "$work/unknown.onnx" -o "$work/kept.morsel" --json
verify "each is named: the first" says 'GlobalAverageXool is not supported'
verify "each is named: the second" says 'Gexm is not supported'
verify "no notices where nothing was written" sh -c "! grep -q notice: '$work/err'"
verify "the same as text" call 1 "$work/unknown.onnx" -o "$work/kept.morsel"
verify "a summary by operator and reason" says '^morsel: +1 x Gexm: operator Gexm is not supported'
verify "a file that is quantized is not said to be float" sh -c "! grep -q 'a float network' '$work/err'"
LC_ALL=C sed 's/DequantizeLinear/DexuantizeLinear/g; s/QuantizeLinear/XuantizeLinear/g' $network/network.onnx >"$work/float.onnx"
verify "a file without quantization is called float" call_says 'float.onnx is a float network: .*morsel quantize' 1 "$work/float.onnx" -o "$work/kept.morsel"
LC_ALL=C sed 's/QuantizeLinear/DynamicXxLinea/g' $network/network.onnx >"$work/dynamic.onnx"
verify "in one line" sh -c "[ \$(wc -l <'$work/err') -eq 1 ]"
verify "nor what its sound nodes lack" sh -c "! grep -q 'is not supported' '$work/err'"
verify "a malformed node of it is named" call_says "^morsel: the_node .Einsum, .*: input 0 is missing" 1 "$work/missing.onnx" -o "$work/kept.morsel"
verify "and that it is in the way" says 'missing.onnx: 1 node is malformed; nothing was written'
verify "a dynamic operator that is not taken is named" call_says 'DynamicXxLinea is not supported' 1 "$work/dynamic.onnx" -o "$work/kept.morsel"
verify "JSON again" call 1 "$work/unknown.onnx" -o "$work/kept.morsel" --json
for key in node op opset shape why; do
    verify "a refusal in JSON has $key" says "\"$key\": "
done
verify "what stood there stays" grep -q '^old$' "$work/kept.morsel"
verify "a float constant where QLinearMul wants bytes" call_says "neither int8 nor uint8" 1 tests/cli/float_operand.onnx -o "$work/x.morsel"
verify "a name that no input has" call_says "no input.*inptu" 2 $network/network.onnx -o "$work/x.morsel" --shape inptu=1,3,32,32
verify "a shape of another rank" call 2 $network/network.onnx -o "$work/x.morsel" --shape input=1,3,32
verify "a picture rule of another size" call_says "resizes to 32 x 32 .*3 channels; .*'input' is \[1, 3, 48, 64\]" 1 $network/network.onnx -o "$work/x.morsel" --picture $network/picture.json --shape input=1,3,48,64
verify "no such file" call_says "nothing.onnx" 1 "$work/nothing.onnx" -o "$work/x.morsel"
LC_ALL=C sed 's/\x08\x09\x12/\x08\x05\x12/' tests/cli/flag.onnx >"$work/short.onnx"
verify "an input of another type" call_says "^morsel: flag .Input, opset 13, int16 8.: only float32" 1 "$work/short.onnx" -o "$work/x.morsel"
verify "a condition" call 0 tests/cli/flag.onnx -o "$work/flag.morsel"
verify "is bytes" sh -c "$morsel inspect '$work/flag.morsel' | grep -q \"^input 1: 'flag', uint8\""
verify "token ids" call 0 tests/cli/ids.onnx -o "$work/ids.morsel"
verify "a blob instead of ONNX" call_says "network.morsel is a blob already" 1 $network/network.morsel -o "$work/x.morsel"
head -c 1000000 $network/network.onnx >"$work/cut.onnx"
verify "a file cut short" call 1 "$work/cut.onnx" -o "$work/x.morsel"
verify "a folder instead of a file" call 1 "$work" -o "$work/x.morsel"
verify "no output named" call_says "-o MODEL.morsel" 2 $network/network.onnx
verify "two networks" call 2 $network/network.onnx $network/network.onnx -o "$work/x.morsel"
verify "an option that does not exist" call_says "did you mean '--strip'" 2 $network/network.onnx -o "$work/x.morsel" --stripp
verify "a shape that is no shape" call_says "of the form --shape" 2 $network/network.onnx -o "$work/x.morsel" --shape input=1,x
verify "a folder that does not exist" call 2 $network/network.onnx -o "$work/none/x.morsel"
verify "a dash" call_says "/dev/stdout stands for stdout" 2 $network/network.onnx -o -
verify "no file is named a dash" absent ./-
verify "a full disk" sh -c '[ ! -e /dev/full ] || { "$1" convert "$2" -o /dev/full; [ $? -eq 3 ]; }' sh "$morsel" $network/network.onnx
truncate -s 1900M "$work/large.onnx"
# A sanitizer's own memory is beyond such a limit.
verify "no memory" sh -c 'ulimit -v 900000; "$1" --version || exit 0; "$1" convert "$2/large.onnx" -o "$2/x.morsel"; [ $? -eq 3 ]' sh \
    "$morsel" "$work"
verify "nothing was written" absent "$work/x.morsel"
exit $status
