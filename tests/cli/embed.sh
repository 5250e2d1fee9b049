#!/bin/sh
# SPDX-License-Identifier: MIT
# Text rules: --text of convert, and morsel embed. The network's vector of token i is i, 2 i, 0, 10. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh

# vectors NAME TEXTS WORDS..: the floats that the lines of a text become.
vectors() {
    name=$1 lines=$2
    shift 2
    printf "$lines" >"$work/lines.txt"
    if ! $morsel embed "$work/text.morsel" "$work/lines.txt" -o "$work/v.npy" --threads 2 >"$work/out" 2>"$work/err"; then fail "$name" "it failed"; return; fi
    got=$(od -A n -t f4 -j 128 -v "$work/v.npy" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//')
    if [ "$got" = "$*" ]; then pass "$name"; else fail "$name" "$got"; fi
}
# rule FIELDS: writes the text rule, and converts the network by it.
rule() {
    printf '{"tokenizer": "vocab.txt", "max_length": 6, %s}' "$1" >"$work/text.json"
    $morsel convert tests/cli/tokens.onnx -o "$work/text.morsel" --dim sequence="${2:-8}" --text "$work/text.json" >"$work/out" 2>"$work/err" ||
        fail "a rule with $1" "it was not converted"
}
pass() { echo "ok $1"; }
fail() { echo "FAIL $1: $2"; status=1; }

printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##c\n' >"$work/vocab.txt"
rule '"pooling": "mean"'
vectors "the mean of the tokens that are there" 'a b\r\n\na a a a a a a' 3.5 7 0 10 2.5 5 0 10 3.5 7 0 10
rule '"pooling": "first"'
vectors "the first token's vector" 'a b' 2 4 0 10
rule '"pooling": "none"' 4
vectors "no pooling, and padding" 'b' 2 4 0 10 5 10 0 10 3 6 0 10 0 0 0 10
rule '"pooling": "none"' 3
vectors "a network shorter than the rule" 'b a' 2 4 0 10 5 10 0 10 3 6 0 10
rule '"pooling": "mean", "normalize": true'
vectors "vectors of length 1" 'a' 0.24913645 0.4982729 0 0.8304548
check "embed says what it did" 0 '"width": 4,' embed "$work/text.morsel" "$work/lines.txt" -o "$work/v.npy" --json
check "run of texts" 0 '"file": "a b"' run "$work/text.morsel" --text "a b" --text "b" --output "$work/v.npy" --json
check "run of a text says so" 0 "output 'sentence_embedding'.* of 1 run" run "$work/text.morsel" --text "a" --output "$work/w.npy"
$morsel embed "$work/text.morsel" "$work/lines.txt" -o "$work/one.npy" >"$work/out" 2>&1
tail -c 16 "$work/one.npy" >"$work/one"
tail -c 16 "$work/w.npy" >"$work/other"
verify "run and embed give the same" cmp "$work/one" "$work/other"
check "run of a text shows its vector" 0 '^a +4 numbers' run "$work/text.morsel" --text "a"
check "run of a text has it in JSON" 0 '"vector"' run "$work/text.morsel" --text "a" --json
check "run of nothing" 2 'or texts by --text' run "$work/text.morsel" --input 1="$work/v.npy"
check "inspect of a text rule" 0 '^text rule: 7 tokens, a text of at most 6, 2 of them around it, ids to input 1, mask to input 0' inspect "$work/text.morsel"
check "inspect of a text rule in JSON" 0 '"text": .*"tokens": 7, "max_length": 6' inspect "$work/text.morsel" --json
check "inspect of no text rule" 0 '"text": null' inspect models/cifar10/network.morsel --json
check "run of a text without a rule" 1 "has no text rule" run models/cifar10/network.morsel --text "a"
check "run of a text and a tensor" 2 "a run takes one or the other" run "$work/text.morsel" --text "a" --input x.npy
check "embed without a text rule" 1 "has no text rule" embed models/cifar10/network.morsel "$work/lines.txt" -o "$work/v.npy"
if printf 'a b\nb\n' | $morsel embed "$work/text.morsel" - -o "$work/piped.npy" >"$work/out" 2>&1 && printf 'a b\nb' >"$work/two.txt" &&
    $morsel embed "$work/text.morsel" "$work/two.txt" -o "$work/two.npy" >"$work/out" 2>&1 && cmp "$work/piped.npy" "$work/two.npy"; then
    pass "lines of stdin"
else fail "lines of stdin" "other vectors, or none"; fi
: >"$work/empty.txt"
check "embed of no line" 1 "holds no line" embed "$work/text.morsel" "$work/empty.txt" -o "$work/v.npy"
check "embed over its input" 2 "would be written over" embed "$work/text.morsel" "$work/lines.txt" -o "$work/lines.txt"
check "embed without an output" 2 "an output are wanted" embed "$work/text.morsel" "$work/lines.txt"
printf '{"tokenizer": "vocab.txt", "max_length": 6}' >"$work/rule.json"
check "a text rule for a network without token ids" 1 "no input 'input_ids'" convert models/cifar10/network.onnx -o "$work/x.morsel" --text "$work/rule.json"
check "pooling without vectors of tokens" 1 "pooling wants vectors of tokens" convert models/cifar10/network.onnx -o "$work/x.morsel" --text "$work/text.json"
check "an output over the tokenizer" 2 "vocab.txt would be written over: it holds the tokenizer" convert tests/cli/tokens.onnx -o "$work/vocab.txt" --dim sequence=8 --text "$work/text.json"
{ cat "$work/vocab.txt" && seq 100 200; } >"$work/longer.txt"
printf '{"tokenizer": "longer.txt", "max_length": 6, "pooling": "mean"}' >"$work/longer.json"
check "a tokenizer longer than the table" 1 'longer.txt: it has 108 tokens, and the network a table of' convert tests/cli/tokens.onnx -o "$work/x.morsel" --dim sequence=8 --text "$work/longer.json"
check "an edit to such a one" 1 'longer.txt: it has 108 tokens, and the network a table of' edit "$work/text.morsel" --text "$work/longer.json" -o "$work/x.morsel"
$morsel edit "$work/text.morsel" --text "$work/text.json" --answer "" -o "$work/x.morsel" >"$work/out" 2>&1
check "an edit takes the answer rule of a pooling out" 0 '"answer": null' inspect "$work/x.morsel" --json
$morsel edit "$work/x.morsel" --text "$work/text.json" -o "$work/x.morsel" >"$work/out" 2>&1
check "and puts it back" 0 'answer rule: embedding' inspect "$work/x.morsel"
printf '{"tokenizer": "vocab.txt", "max_length": 6, "pooling": "none"}' >"$work/none.json"
$morsel convert tests/cli/tokens.onnx -o "$work/tokens.morsel" --dim sequence=8 --text "$work/none.json" >"$work/out" 2>&1
$morsel edit "$work/tokens.morsel" --text "$work/text.json" -o "$work/x.morsel" >"$work/out" 2>&1
check "but not where the network has no pooling" 0 '"answer": null' inspect "$work/x.morsel" --json
head -n 6 "$work/vocab.txt" >"$work/shorter.txt"
printf '{"tokenizer": "shorter.txt", "max_length": 6}' >"$work/shorter.json"
check "a rule without a pooling" 0 'without "pooling" the outputs stay' convert tests/cli/tokens.onnx -o "$work/x.morsel" --dim sequence=8 --text "$work/shorter.json"
mkfifo "$work/pipe"
printf '{"tokenizer": "pipe", "max_length": 6}' >"$work/waits.json"
check "a tokenizer in a pipe" 1 "pipe: it is no plain file" convert tests/cli/tokens.onnx -o "$work/x.morsel" --dim sequence=8 --text "$work/waits.json"
check "an output over the text rule" 2 "would be written over" convert tests/cli/tokens.onnx -o "$work/text.json" --text "$work/text.json"

# Lines as samples of a float network.
printf '{"tokenizer": "vocab.txt", "max_length": 6, "pooling": "none"}' >"$work/none.json"
printf 'a b\nb a c\r\n\na a a' >"$work/data.txt"
float="tests/cli/encoder.onnx --dim sequence=8"
# shellcheck disable=SC2086
{
    check "lines to quantize" 0 '"samples": 4' quantize $float --text "$work/none.json" --data "$work/data.txt" -o "$work/q.morsel" --json
    check "lines of two files" 0 '"samples": 6' quantize $float --text "$work/none.json" --data "$work/two.txt" --data "$work/data.txt" -o "$work/q.morsel" --json
    check "lines to compare" 0 '^output SQNR [0-9.]+ dB over 4 samples' compare $float "$work/q.morsel" --data "$work/data.txt"
    check "token ids are compared" 0 'Input +input_ids$' compare $float "$work/q.morsel" --data "$work/data.txt" --limit 0
    check "lines without a text rule" 2 'lines of text want a text rule' quantize $float --data "$work/data.txt" -o "$work/q.morsel"
    check "no lines" 1 'holds no line' quantize $float --text "$work/none.json" --data "$work/empty.txt" -o "$work/q.morsel"
    check "an output over the lines" 2 'would be written over' quantize $float --text "$work/none.json" --data "$work/data.txt" -o "$work/data.txt"
}
exit $status
