#!/bin/sh
# SPDX-License-Identifier: MIT
# The tool under faults: killed, stopped, with a full disk, at every point of a write. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title='faults: '
. tests/cli/calls.sh
make_files
faults=${FAULTS_SO:-${BUILD:-build}/tests/faults/preload.so}
# ASan would be the first library that is loaded.
ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
export ASAN_OPTIONS

# faulty FAULT ARGUMENTS...: the tool with a fault on order, as tests/faults/preload.c reads it; what it says in out and err, `code`.
faulty() {
    fault=$1
    shift
    # shellcheck disable=SC2086
    { FAULTS=$fault FAULTS_LOG=$work/calls LD_PRELOAD=$faults $morsel "$@" >"$work/out" 2>"$work/err"; } 2>/dev/null
    code=$?
}

# each_whole: every output of the writer is the old one or the new one, and what stands beside them is none that a killed process left.
each_whole() {
    for file in $outputs; do
        cmp -s "$work/now/$file" "$work/new/$file" || cmp -s "$work/now/$file" "$work/old/$file" || { echo "$file is neither"; return 1; }
    done
}
restore() { rm -rf "$work/now"; cp -r "$work/old" "$work/now"; }
left() { find "$work/now" -name '*.morsel-[0-9]*' | wc -l; }

# writer VERB FILES ARGUMENTS...: what is tried; F/ in an argument stands for the folder of the outputs.
writer() {
    name=$1 outputs=$2
    shift 2
    given="$*"
    rm -rf "$work/new" "$work/old" "$work/now"
    mkdir "$work/new" "$work/old"
    # shellcheck disable=SC2086,SC2046
    faulty none:0 $(echo "$given" | sed "s|F/|$work/new/|g")
    for file in $outputs; do { cat "$work/new/$file"; echo old; } >"$work/old/$file"; done
    # shellcheck disable=SC2046
    set -- $(echo "$given" | sed "s|F/|$work/now/|g")
    if [ $code -ne 0 ]; then failed "$name writes" "$work/err"; return; fi
    steps=$(grep -cvE '^(unlink|allocations)' "$work/calls")
    killed "$@"
}

# Killed at each step: outputs are old or new, and the next call leaves nothing else.
killed() {
    step=0 bad='' most=0
    while [ $step -lt "$steps" ] && [ -z "$bad" ]; do
        step=$((step + 1))
        restore
        faulty step:$step=9 "$@"
        [ $code -eq 137 ] || bad="step $step: exit status $code"
        each_whole >"$work/log" || bad="step $step: $(cat "$work/log")"
        now=$(left)
        [ "$now" -le $most ] || most=$now
        faulty none:0 "$@"
        [ $code -eq 0 ] || bad="step $step: the next call fails"
        [ "$(left)" -eq 0 ] || bad="step $step: the next call leaves $(left) files"
    done
    [ $most -gt 0 ] || bad="no kill left a file"
    if [ -z "$bad" ]; then echo "ok $title$name, killed at each of $steps steps"; else failed "$name, killed: $bad" "$work/err"; fi
}

small=tests/cli/float_small.onnx
sound="--data $work/data_sound.npy --count 30 --threads 2"
# shellcheck disable=SC2086
$morsel quantize $small $sound -o "$work/small.morsel" >"$work/log" 2>&1 || failed "quantize makes a blob" "$work/log"
writer convert "a.morsel a.c a.h" convert tests/cli/free_batch.onnx -o F/a.morsel --c F/a.c
writer quantize "q.morsel q.onnx q.c q.h" quantize $small "$sound" -o F/q.morsel -o F/q.onnx --c F/q.c
writer compare c.svg compare $small "$work/small.morsel" --svg F/c.svg
writer "inspect of a blob" p.svg inspect "$work/color.morsel" --plan F/p.svg
writer "inspect of a network" o.onnx inspect $small --optimized --onnx F/o.onnx
writer run "sum.npy minus.npy" run "$work/two.morsel" --input "a=$work/a2.npy" --input "b=$work/a2.npy" --output sum=F/sum.npy \
    --output minus=F/minus.npy --threads 2

exit $status
