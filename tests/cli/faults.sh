#!/bin/sh
# SPDX-License-Identifier: MIT
# The tool under faults: killed, stopped, with a full or broken disk, at every step of a write; with a stdout that is full or closed. Prints "ok NAME" or "FAIL NAME".
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

# each_whole: every output is the old one or the new one.
each_whole() {
    for file in $outputs; do
        cmp -s "$work/now/$file" "$work/new/$file" || cmp -s "$work/now/$file" "$work/old/$file" || { echo "$file is neither"; return 1; }
    done
}
each_new() { for file in $outputs; do cmp "$work/now/$file" "$work/new/$file" || return 1; done; }
restore() { rm -rf "$work/now"; cp -r "$work/old" "$work/now"; }
left() { find "$work/now" -name '*.morsel-[0-9]*' | wc -l; }
call_at() { sed -n "${1}s/ .*//p" "$work/steps"; } # the name of a step's call

# writer NAME FILES ARGUMENTS...: what is tried; @/ in an argument stands for the folder of the outputs.
writer() {
    writes=$1 outputs=$2
    shift 2
    given="$*"
    rm -rf "$work/new" "$work/old" "$work/now"
    mkdir "$work/new" "$work/old"
    # shellcheck disable=SC2086,SC2046
    faulty none:0 $(echo "$given" | sed "s|@/|$work/new/|g")
    for file in $outputs; do { cat "$work/new/$file"; echo old; } >"$work/old/$file"; done
    # shellcheck disable=SC2046
    set -- $(echo "$given" | sed "s|@/|$work/now/|g")
    if [ $code -ne 0 ]; then failed "$writes writes" "$work/err"; return; fi
    grep -v '^allocations' "$work/calls" >"$work/steps"
    steps=$(wc -l <"$work/steps")
    verify "$writes, in order" in_order
    for fault in killed "full 28" "broken 5" "ended 15"; do
        # shellcheck disable=SC2086
        each_step $fault "$@"
    done
}

# in_order: each output is written, then synced, then renamed, and after the last of them its folder is synced. Of several that are written
# together all are synced before the first takes its name.
in_order() {
    # shellcheck disable=SC2086
    awk -v outputs="$outputs" -v folder="$work/new" '
        function bad(what) { print what ": " $0; failed = 1; exit 1 }
        $1 == "mkostemp" { state[$2] = "made"; open++ }
        $1 == "write" && state[$2] != "made" && state[$2] != "written" { bad("written before it was made, or after it was synced") }
        $1 == "write" { state[$2] = "written" }
        $1 == "fsync" && $2 == folder { if (!renamed) bad("nothing took its name"); synced = 1 }
        $1 == "fsync" && $2 != folder { if (state[$2] != "written") bad("nothing was written, or to another file"); state[$2] = "synced"; open-- }
        $1 == "rename" {
            if (state[$2] != "synced") bad("not synced")
            if (open) bad("another one is not synced")
            renamed++
            synced = 0
            took[$3] = 1
        }
        END {
            count = split(outputs, name, " ")
            for (i = 1; i <= count && !failed; i++) if (!took[folder "/" name[i]]) { print name[i] " did not take its name"; failed = 1 }
            if (!synced && !failed) { print "the folder is not synced"; failed = 1 }
            exit failed
        }' "$work/steps"
}

# What a call has to come to whose step was at fault; each prints what is wrong.
killed_holds() { [ $code -eq 137 ] || echo "exit status $code"; }
ended_holds() {
    [ $code -eq 143 ] || echo "exit status $code"
    [ "$(left)" -eq 0 ] || echo "files are left"
}
full_holds() {
    [ "$(left)" -eq 0 ] || echo "files are left"
    case $(call_at $step) in fchmod | unlink) # where there are no modes the file is as good, and lines that stay are gone through again
        [ $code -eq 0 ] && each_new
        return ;;
    esac
    [ $code -eq 3 ] || echo "exit status $code"
    grep -q "^morsel: .*cannot write .*$work/now/.*: $1" "$work/err" || echo "not said: $1"
}
broken_holds() { full_holds "Input/output error"; }

# each_step KIND SIGNAL-OR-ERRNO ARGUMENTS...: a fault at each step. Outputs are old or new, and the next call leaves nothing else.
each_step() {
    kind=$1 step=0 bad='' most=0
    case $kind in killed) what=9 ;; ended) what=$2; shift ;; *) what=e$2; shift ;; esac
    shift
    while [ $step -lt "$steps" ] && [ -z "$bad" ]; do
        step=$((step + 1))
        restore
        faulty step:$step=$what "$@"
        bad=$(each_whole)$(${kind}_holds "No space left")
        now=$(left)
        [ "$now" -le $most ] || most=$now
        [ $kind = killed ] || continue
        faulty none:0 "$@"
        [ $code -eq 0 ] && [ "$(left)" -eq 0 ] || bad="$bad; the next call ends with $code and leaves $(left) files"
    done
    [ $kind != killed ] || [ $most -gt 0 ] || bad="no kill left a file"
    if [ -z "$bad" ]; then echo "ok $title$writes, $kind at each of $steps steps"
    else failed "$writes, $kind at step $step, $(call_at $step): $bad" "$work/err"; fi
}

small=tests/cli/float_small.onnx
sound="--data $work/data_sound.npy --count 30 --threads 2"
# shellcheck disable=SC2086
$morsel quantize $small $sound -o "$work/small.morsel" -o "$work/small.onnx" >"$work/log" 2>&1 || failed "quantize makes a blob" "$work/log"
writer convert "a.morsel a.c a.h a_use.h a_use.c" convert tests/cli/free_batch.onnx -o @/a.morsel --c @/a.c
writer quantize "q.morsel q.onnx q.c q.h q_use.h q_use.c" quantize $small "$sound" -o @/q.morsel -o @/q.onnx --c @/q.c
writer edit "a.morsel a.c a.h a_use.h a_use.c" edit "$work/small.morsel" -o @/a.morsel --set version=3 --c @/a.c
writer compare c.svg compare $small "$work/small.morsel" --svg @/c.svg
writer "inspect of a blob" p.svg inspect "$work/color.morsel" --plan @/p.svg
writer "inspect of a network" o.onnx inspect $small --optimized --onnx @/o.onnx
writer run "sum.npy minus.npy" run "$work/two.morsel" --input "a=$work/a2.npy" --input "b=$work/a2.npy" --output sum=@/sum.npy \
    --output minus=@/minus.npy --threads 2
spots=models/spots
$morsel quantize $spots/network.onnx --data $spots/pictures --picture $spots/picture.json --answer $spots/answer.json \
        -o "$work/spots.morsel" >"$work/log" 2>&1 || failed "a detector" "$work/log"
writer "run of a picture" d.png run "$work/spots.morsel" $spots/pictures/spots.ppm --draw @/d.png
writer "run of many" t.csv run "$work/color.morsel" "$work/red.ppm" "$work/green.ppm" --csv @/t.csv
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n' >"$work/vocab.txt"
printf '{"tokenizer": "vocab.txt", "max_length": 6, "pooling": "mean"}' >"$work/text.json"
printf 'a b\nb\n' >"$work/lines.txt"
$morsel convert tests/cli/tokens.onnx -o "$work/text.morsel" --dim sequence=8 --text "$work/text.json" >"$work/log" 2>&1 ||
    failed "a blob with a text rule" "$work/log"
writer embed v.npy embed "$work/text.morsel" "$work/lines.txt" -o @/v.npy

# --- stdout that is full or closed, as text and as JSON; a file that may not grow
for given in "convert $work/small.onnx -o $work/x.morsel" "quantize $small $sound -o $work/x.morsel" "compare $small $work/small.morsel" \
    "edit $work/small.morsel -o $work/edited.morsel --set version=3" "run $work/color.morsel $work/red.ppm" "run $small --input $work/data_two.npy" "bench $work/color.morsel --runs 1" \
    "eval $work/color.morsel $work/cifar.bin" "report $work/color.morsel -o $work/x.html --runs 1" "inspect $work/small.morsel" "inspect $small --optimized" "--help" "--version" "--help=verbs"; do
    for more in "" --json; do
        case $given$more in --*--json) continue ;; esac
        # shellcheck disable=SC2086
        full() { $morsel $given $more >/dev/full 2>"$work/err"; }
        # shellcheck disable=SC2086
        closed() { $morsel $given $more >&- 2>"$work/err"; }
        for way in full closed; do
            $way
            code=$?
            if [ $code -eq 3 ] && grep -q 'morsel: cannot write to standard output: ' "$work/err"; then echo "ok $title${given%% *} $more, stdout $way"
            else failed "$given $more, stdout $way: exit status $code" "$work/err"; fi
        done
    done
done
outputs=y.morsel
rm -rf "$work/new"
mkdir "$work/new"
FAULTS_LOG=$work/calls LD_PRELOAD=$faults $morsel convert "$work/small.onnx" -o "$work/new/y.morsel" <&- >&- 2>"$work/err"
grep -v '^allocations' "$work/calls" >"$work/steps"
verify "no output takes the place of a stream that is closed" in_order
verify "what a stdout that is closed leaves is whole" cmp "$work/x.morsel" "$work/small.morsel"
: >"$work/x.morsel"
(ulimit -f 1 && $morsel convert "$work/small.onnx" -o "$work/x.morsel" >/dev/null 2>"$work/err")
code=$?
verify "a file that may not grow" sh -c "[ $code -eq 3 ] && grep -q 'cannot write .*x.morsel: File too large' '$work/err'"
verify "the former file stays, and no other" sh -c "[ ! -s '$work/x.morsel' ] && [ -z \"\$(find '$work' -name 'x.morsel-*')\" ]"
mkfifo "$work/pipe"
head -c 1 "$work/pipe" >"$work/log" &
$morsel convert models/cifar10/network.onnx -o "$work/x.morsel" --c "$work/pipe" >/dev/null 2>"$work/err"
code=$?
: 3<>"$work/pipe" # whoever waits still for a writer
wait
verify "a reader that leaves early" sh -c "[ $code -eq 141 ] || [ $code -eq 3 ]"
verify "nothing was written then" sh -c "[ ! -s '$work/x.morsel' ] && [ -z \"\$(find '$work' -name 'x.morsel-*')\" ]"

exit $status
