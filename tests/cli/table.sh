#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel run on folders and lists of pictures, and its table; stopped and called again. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=run title='table: '
. tests/cli/calls.sh
make_files
net=$work/color.morsel
mkdir -p "$work/set/deep/er, and \"quoted\"" "$work/none"
cp "$work/red.ppm" "$work/set/"
cp "$work/green.ppm" "$work/set/deep/"
cp "$work/blue_sky.ppm" "$work/set/deep/er, and \"quoted\"/"
echo text >"$work/set/notes.txt"

# --- folders and lists
check "of a folder" 0 "^3 of 3 right" run "$net" "$work/set" --check-names
check "of a folder, in JSON" 0 '"file": ".*/set/deep/green.ppm"' run "$net" "$work/set" --json
check "of a folder without pictures" 1 "none holds no picture: .jpg" run "$net" "$work/none"
find "$work/set" -name '*.ppm' >"$work/list"
verify "of a list" sh -c "$morsel run '$net' - --check-names <'$work/list' | grep -q '^3 of 3 right'"
mkdir -p "$work/dag/level30"
cp "$work/red.ppm" "$work/dag/level30/"
level=30
while [ $level -gt 0 ]; do # each of them has two names in the one before
    level=$((level - 1))
    mkdir "$work/dag/level$level"
    ln -s ../level$((level + 1)) "$work/dag/level$level/x"
    ln -s ../level$((level + 1)) "$work/dag/level$level/y"
done
# shellcheck disable=SC2086
timeout 60 $morsel run "$net" "$work/dag/level0" --csv "$work/dag.csv" >"$work/out" 2>&1
verify "of folders with many names by links: each counts once" grep -q 'dag.csv: 1 picture,' "$work/out"
verify "under the first" grep -q 'dag/level0/\(x/\)\{30\}red.ppm,0,red' "$work/dag.csv"
rm -rf "$work/dag" "$work"/dag.csv*
check "of an empty list" 1 "names no picture" run "$net" - </dev/null

# --- the table
check "is written" 0 "answers.csv: 3 pictures, .* with 2 threads" run "$net" "$work/set" --csv "$work/answers.csv" --threads 2
cat >"$work/want" <<END
file,index,label,p,error
$work/set/red.ppm,0,red,P,
$work/set/deep/green.ppm,1,green,P,
"$work/set/deep/er, and ""quoted""/blue_sky.ppm",2,blue,P,
END
sed 's/,[01]\.[0-9]*,$/,P,/' "$work/answers.csv" >"$work/have"
verify "has a line a picture" cmp "$work/want" "$work/have"
verify "leaves nothing beside it" sh -c "! ls '$work'/*.partial"
check "with one thread" 0 "one.csv" run "$net" "$work/set" --csv "$work/one.csv"
verify "is the same with one thread" cmp "$work/answers.csv" "$work/one.csv"
check "of a batch of 2" 0 "two.csv" run "$work/color2.morsel" "$work/set" --csv "$work/two.csv"
verify "is the same of a batch" cmp "$work/answers.csv" "$work/two.csv"
check "with --top 2" 0 "top.csv" run "$net" "$work/set" --csv "$work/top.csv" --top 2
verify "names its columns" grep -qx 'file,index,label,p,index2,label2,p2,error' "$work/top.csv"
verify "on stdout" sh -c "$morsel run '$net' '$work/set' --csv /dev/stdout | grep -q 'red.ppm,0,red,'"
check "in JSON" 0 '"resumed": 0' run "$net" "$work/set" --csv "$work/json.csv" --json
for key in file images broken images_per_s threads isa; do verify "JSON has $key" says "\"$key\": "; done

yes "$work/red.ppm" | head -n 20000 >"$work/many"
verify "of 20,000 pictures in 60 MB" sh -c 'ulimit -v 60000; "$1" --version || exit 0; "$1" run "$2" - --csv /dev/null <"$3"' sh \
    "$morsel" "$net" "$work/many"

# --- what is no picture
cp "$work/cut.ppm" "$work/set/deep/"
check "of a broken picture" 1 "1 of 4 pictures could not be read" run "$net" "$work/set" --csv "$work/broken.csv"
verify "says what is wrong" grep -q 'cut.ppm,,,,.*it is a damaged PGM or PPM' "$work/broken.csv"
verify "has the others" sh -c "grep -v cut.ppm '$work/broken.csv' | cmp - '$work/answers.csv'"
check "of a broken picture in a batch" 1 "1 of 4 pictures could not be read" run "$work/color2.morsel" "$work/set" --csv "$work/pair.csv"
verify "is the same in a batch" cmp "$work/broken.csv" "$work/pair.csv"
rm "$work/set/deep/cut.ppm"

# --- calls at fault
check "to a dash" 2 "csv /dev/stdout writes to stdout" run "$net" "$work/set" --csv -
verify "no file has that name" absent ./-
check "without pictures" 2 "nothing to run on" run "$net" --csv "$work/x.csv"
check "with --output" 2 "csv is for pictures, without" run "$net" "$work/set" --csv "$work/x.csv" --output "$work/y.npy"
check "over a picture" 2 "would be written over" run "$net" "$work/set" --csv "$work/set/red.ppm"
check "over the network" 2 "would be written over" run "$net" "$work/set" --csv "$net"
cp models/cifar10/picture.json "$work/rule.json"
check "over the rule" 2 "would be written over" run models/cifar10/network.onnx "$work/set" --picture "$work/rule.json" --csv "$work/rule.json"
check "in no folder" 2 "cannot write" run "$net" "$work/set" --csv "$work/nowhere/x.csv"
check "of a network without classes" 1 "no picture rule" run "$work/bytes.morsel" "$work/set" --csv "$work/x.csv"
mkfifo "$work/set/pipe.ppm"
check "a pipe in a folder keeps nobody waiting" 0 "[0-9] pictures" run "$net" "$work/set" --csv "$work/piped.csv"
rm "$work/set/pipe.ppm" "$work/piped.csv"
verify "leaves nothing behind" sh -c "! ls '$work'/x.csv* '$work'/*.partial"

# --- stopped, and called again: the second picture keeps the tool waiting, as nobody writes to that pipe
printf '%s\n' "$work/red.ppm" "$work/pipe.ppm" "$work/blue_sky.ppm" >"$work/list"
begin() { # [MODEL [OPTION...]]
    [ $# -gt 0 ] || set -- "$net"
    rm -f "$work/pipe.ppm"
    mkfifo "$work/pipe.ppm"
    # shellcheck disable=SC2086
    $interrupt $morsel run "$@" - --csv "$work/long.csv" <"$work/list" >"$work/out" 2>"$work/err" &
    stopped=$!
    tries=0
    until grep -q red.ppm "$work/long.csv.partial" 2>/dev/null; do
        sleep 0.05
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || break
    done
}
end() {
    kill -9 $stopped
    wait $stopped 2>/dev/null
    rm -f "$work/pipe.ppm"
    cp "$work/green.ppm" "$work/pipe.ppm"
}
interrupt=
stop() { begin "$@" && end; }
again() { check "$1" 0 "$2" run "$net" - --csv "$work/long.csv" <"$work/list"; }
if env --default-signal=INT true 2>/dev/null; then # a shell's jobs ignore interrupts
    interrupt="env --default-signal=INT"
    begin
    kill -INT $stopped
    wait $stopped 2>/dev/null
    verify "Ctrl-C ends it by the signal" test $? -eq 130
    verify "and says how far it is" says '^morsel: stopped after 1 of 3; the same call goes on$'
    interrupt=
    rm -f "$work/pipe.ppm" "$work"/*.partial
else
    echo "skip ${title}Ctrl-C: env has no --default-signal"
fi
stop
verify "is not there before it is whole" test ! -e "$work/long.csv"
again "goes on" "long.csv.partial: goes on behind 1 of 3 pictures"
verify "is whole then" sh -c "[ \$(wc -l <'$work/long.csv') -eq 4 ] && ! ls '$work'/*.partial"
cp "$work/long.csv" "$work/whole.csv"
rm "$work/long.csv"
stop "$net"
printf '%s' "$work/blue_sky.ppm,0,r" >>"$work/long.csv.partial"
again "goes on behind half a line" "goes on behind 1 of 3 pictures"
verify "is as if nothing had been" cmp "$work/whole.csv" "$work/long.csv"
stop "$net"
sed -i 's/,0,red,/,1,green,/' "$work/long.csv.partial"
touch "$net"
again "begins anew with another network" "long.csv: 3 pictures"
verify "takes nothing from the former" cmp "$work/whole.csv" "$work/long.csv"

# --- what stands where the lines go
rm "$work/long.csv"
stop
cp "$work/long.csv.partial" "$work/stopped"
anew() { # NAME: of lines that somebody has edited none is taken, and the table is as if nothing had been
    again "$1" "long.csv: 3 pictures"
    verify "$1: no line is taken" sh -c "! grep -q 'goes on' '$work/err'"
    verify "$1: the table is whole" cmp "$work/whole.csv" "$work/long.csv"
}
edited() { # NAME SCRIPT: with the lines of a call that was stopped, edited
    sed "$2" "$work/stopped" >"$work/long.csv.partial"
    anew "$1"
}
edited "with a field too many" '2s/,$/,,/'
edited "with a field too few" '2s/,0,/,/'
edited "with a quote that nothing ends" '2s/,0,/,"0,/'
edited "with a reason" '2s/$/lost/'
edited "with the end of another system" '2s/$/\r/'
edited "with another answer" '2s/,0,red,[0-9.]*,$/,2,blue,0.111111,/'
edited "with the time of another picture" '3s/\./.1/'
edited "without its stamp" 3d
sed 3p "$work/stopped" >"$work/long.csv.partial"
again "with its stamp twice" "goes on behind 1 of 3 pictures"
verify "with its stamp twice: the table is whole" cmp "$work/whole.csv" "$work/long.csv"
cp "$work/stopped" "$work/long.csv.partial"
mv "$work/red.ppm" "$work/kept.ppm"
cp "$work/blue_sky.ppm" "$work/red.ppm"
again "of a picture that was replaced" "long.csv: 3 pictures"
verify "takes no answer of the former" grep -q 'red.ppm,2,blue,' "$work/long.csv"
cp "$work/stopped" "$work/long.csv.partial"
cp "$work/kept.ppm" "$work/red.ppm"
anew "of a picture with another time"
mv "$work/kept.ppm" "$work/red.ppm"
{ head -n 1 "$work/stopped"; printf '%s\0,red,0.9,\n' "$work/red.ppm,0"; } >"$work/long.csv.partial"
anew "with a 0 amid a line"
head -c 300 /dev/zero >>"$work/stopped" # as a system that went down may leave it
cp "$work/stopped" "$work/long.csv.partial"
again "with zeros behind the lines" "goes on behind 1 of 3 pictures"
verify "with zeros behind the lines: the table is whole" cmp "$work/whole.csv" "$work/long.csv"
printf 'morsel run' >"$work/long.csv.partial"
anew "with half of the first line"

apart() { # NAME: what is not of a call that was stopped stays, and the call ends at once
    # shellcheck disable=SC2086
    timeout 60 $morsel run "$net" "$work/set" --csv "$work/apart.csv" >"$work/out" 2>"$work/err"
    code=$?
    verify "beside $1" sh -c "[ $code -eq 2 ] && grep -q 'apart.csv.partial stands beside the table' '$work/err' && [ ! -e '$work/apart.csv' ]"
}
echo mine >"$work/precious"
ln -s precious "$work/apart.csv.partial"
apart "a link"
verify "what it names stays" grep -qx mine "$work/precious"
ln -sf nothing "$work/apart.csv.partial"
apart "a link to nothing"
verify "what it names is not made" absent "$work/nothing"
rm "$work/apart.csv.partial"
cp "$work/precious" "$work/apart.csv.partial"
apart "a file of somebody's"
verify "it stays" cmp "$work/precious" "$work/apart.csv.partial"
rm "$work/apart.csv.partial"
mkfifo "$work/apart.csv.partial"
apart "a pipe"
rm "$work/apart.csv.partial"
cp "$work/red.ppm" "$work/apart.csv.partial"
check "of a picture that stands there" 2 "stands beside the table" run "$net" "$work/apart.csv.partial" --csv "$work/apart.csv"
verify "the picture stays" cmp "$work/red.ppm" "$work/apart.csv.partial"
rm "$work/apart.csv.partial"

# --- two at once
begin
check "while another call writes it" 2 "long.csv.partial: another call writes it" run "$net" "$work/set" --csv "$work/long.csv"
end
again "goes on after that" "goes on behind 1 of 3 pictures"
reduced && exit $status
printf '%s\n' one two three four five six seven eight nine ten >"$work/labels"
float="tests/cli/float_small.onnx --picture models/cifar10/picture.json --labels $work/labels"
# shellcheck disable=SC2086
stop $float
sed 's/^/another /' "$work/labels" >"$work/labels2" && mv "$work/labels2" "$work/labels"
# shellcheck disable=SC2086
verify "begins anew with other labels" sh -c "$morsel run $float - --csv '$work/long.csv' <'$work/list' && [ \$(grep -c ',another ' '$work/long.csv') -eq 3 ]"
exit $status
