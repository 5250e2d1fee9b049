#!/bin/sh
# SPDX-License-Identifier: MIT
# Names that would steer a terminal, in networks, labels and paths: nothing of them reaches stdout or stderr. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title='hostile names: '
. tests/cli/calls.sh
make_files

# What HOSTILE of make_files.c holds, but for '/', '*' and the NUL that no path can have.
evil=$(printf 'x\033]0;y\007\033[2J\r\n\tz\b\177\302\2331m\2332m\342\200\256\342\201\246\342\200\250\330\234\377\300\200"<&>\303\244')
folder="$work/d$evil"
mkdir "$folder"

# clean FILE: UTF-8 without control characters but line ends, C1, turns of direction, Unicode's ends of lines.
clean() {
    iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1 || { echo "$1 is no UTF-8"; return 1; }
    if LC_ALL=C grep -anPm 1 '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$1"; then
        echo "it stands in $1"
        return 1
    fi
}

# said: what tames names leaves a trace where they were.
said() { grep -q '?' "$work/out" "$work/err" || grep -q '\\u001b' "$work/out"; }

# tame NAME STATUS ARGUMENTS...: the exit status; both streams are clean, and hold a name at all. The lines of JSON are as many as ever.
tame() {
    name=$1 want=$2
    shift 2
    # shellcheck disable=SC2086
    $morsel "$@" >"$work/out" 2>"$work/err"
    code=$?
    if [ $code -ne "$want" ]; then failed "$name: exit status $code, not $want" "$work/err"
    elif ! clean "$work/out" >"$work/log" || ! clean "$work/err" >>"$work/log"; then failed "$name" "$work/log"
    elif ! said; then failed "$name: no name is said" "$work/out" "$work/err"
    else echo "ok $title$name"; fi
}
# json NAME ...: the same, and what is on stdout is JSON, or nothing.
json() {
    tame "$@" --json
    if [ -s "$work/out" ] && command -v python3 >/dev/null; then verify "$1 is valid" python3 -m json.tool "$work/out"; fi
}
both() { # NAME STATUS ARGUMENTS...: as text and as JSON
    tame "$@"
    called=$1
    shift
    json "$called, JSON" "$@"
}

# --- networks
cp "$work/hostile.onnx" "$folder/net$evil.onnx"
net="$folder/net$evil.onnx"
for i in 0 1 2 3 4 5 6 7 8 9; do printf '%s\n' "$i$(printf '%s' "$evil" | tr -d '\n\r')"; done >"$work/labels$evil"
set -- --data "$work/data_sound.npy" --count 30
both quantize 0 quantize "$net" "$@" -o "$folder/a$evil.morsel" -o "$folder/a$evil.onnx"
tame "quantize with labels and C" 0 quantize "$net" "$@" -o "$folder/a$evil.morsel" --c "$folder/c$evil.c" --labels "$work/labels$evil"
verify "the header of --c is clean" clean "$folder/c$evil.h"
verify "it compiles" "${CC:-cc}" -fsyntax-only -x c "$folder/c$evil.h"
tame "quantize without data" 1 quantize "$net" --data "$folder/none$evil.npy" -o "$work/b.morsel"
both "quantize, nodes left out" 0 quantize "$net" "$@" -o "$work/b.morsel" --exclude Conv
tame convert 0 convert "$folder/a$evil.onnx" -o "$folder/b$evil.morsel"
both "convert of a float network" 1 convert "$net" -o "$work/b.morsel"
both "quantize of a foreign operator" 1 quantize "$work/hostile_op.onnx" "$@" -o "$work/b.morsel"
both "inspect of a blob" 0 inspect "$folder/a$evil.morsel" --plan "$work/plan.svg"
verify "the drawing is clean" clean "$work/plan.svg"
both "inspect of a network" 0 inspect "$net" --optimized
json "inspect of a foreign operator" 0 inspect "$work/hostile_op.onnx"
both compare 0 compare "$net" "$folder/a$evil.morsel" --svg "$work/compare.svg"
verify "its drawing is clean" clean "$work/compare.svg"
both report 0 report "$folder/a$evil.morsel" "$net" -o "$folder/p$evil.html" --runs 1
verify "its page is clean" clean "$folder/p$evil.html"
if command -v python3 >/dev/null; then verify "its page is sound" python3 tests/pages/check.py "$folder/p$evil.html"; fi
both "compare of others" 1 compare "$net" "$work/color.morsel"
tame "bench by layers" 0 bench "$folder/a$evil.morsel" --runs 1 --layers
json "bench, JSON" 0 bench "$folder/a$evil.morsel" --runs 1 --layers
both "run of arrays" 0 run "$folder/a$evil.morsel" --input "$work/data_two.npy" --output "$folder/y$evil.npy"
both "run in float" 0 run "$net" --input "$work/data_two.npy" --output "$folder/y$evil.npy"
both "run of an input that is not there" 2 run "$net" --input "no$evil=$work/data_two.npy"
both "run of another array" 1 run "$net" --input "$work/a.npy"

# --- pictures, arrays, rules, labels
printf 'red%s\ngreen%s\nblue\n' "$(printf '%s' "$evil" | tr -d '\n\r')" x >"$work/labels.txt"
cp "$work/red.ppm" "$folder/red$evil.ppm"
both "run of pictures" 0 run "$work/color.morsel" "$folder/red$evil.ppm"
both "run of no picture" 1 run "$work/color.morsel" "$work/red.ppm" "$folder/none$evil.ppm"
cp "$work/cut.ppm" "$folder/cut$evil.ppm"
both "run of a damaged picture" 1 run "$work/color.morsel" "$folder/cut$evil.ppm"
printf 'hello' >"$folder/bad$evil.npy"
both "run of a damaged array" 1 run "$work/two.morsel" --input "a=$folder/bad$evil.npy" --input "b=$work/a2.npy" --output "sum=$work/y.npy"
mkdir "$folder/set" "$folder/set/red" "$folder/set/green$evil"
cp "$work/red.ppm" "$folder/set/red"
cp "$work/green.ppm" "$folder/set/green$evil"
both "eval of folders that are no labels" 1 eval "$work/color.morsel" "$folder/set"
both "eval of nothing" 1 eval "$work/color.morsel" "$folder/none$evil"
both "a rule that is none" 1 run "$net" "$work/red.ppm" --picture "$folder/bad$evil.npy"
printf '{"k%s": 1}' "$(printf '%s' "$evil" | tr -d '"\n\r')" >"$folder/rule$evil.json"
both "a rule with foreign keys" 1 run "$net" "$work/red.ppm" --picture "$folder/rule$evil.json"

# --- the call
for verb in $($morsel --help=verbs); do
    tame "$verb: no such file" 1 "$verb" "$folder/none$evil.onnx" $(
        case $verb in
        convert) echo "-o $work/b.morsel" ;; quantize) echo "--data $work/data_sound.npy -o $work/b.morsel" ;;
        compare) echo "$work/color.morsel" ;; run) echo "--input $work/a.npy" ;; eval) echo "$work" ;;
        edit) echo "-o $work/b.morsel --set a=b" ;;
        embed) echo "$work/red.ppm -o $work/e.npy" ;; report) echo "-o $work/r.html" ;; esac)
    tame "$verb: no such option" 2 "$verb" "--$evil"
    $morsel "$verb" --help | grep -q -- '--cpu' && tame "$verb: no such value" 2 "$verb" "$work/color.morsel" --cpu "$evil"
done
tame "no such verb" 2 "verb$evil"
MORSEL_CPU=$evil
export MORSEL_CPU
tame "no such kernels" 2 run "$net"

exit $status
