#!/bin/sh
# SPDX-License-Identifier: MIT
# morsel quantize on data that is strange or wrong, and networks with channels that are: an error that says what, or scales that are sane.
# Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb=quantize title='quantize-data: '
. tests/cli/calls.sh
float=tests/cli/float_small.onnx
rule=models/cifar10/picture.json
make_files
rm -f "$work"/*.morsel

# refused PATTERN DATA [OPTION...]: exit status 1, a line with the pattern, and no blob, not even a part of one.
refused() {
    pattern=$1 data=$2
    shift 2
    "$morsel" quantize $float --data "$data" --count 0 -o "$work/x.morsel" "$@" 2>"$work/err"
    code=$?
    [ $code -eq 1 ] || { echo "exit status $code, not 1"; cat "$work/err"; return 1; }
    grep '^morsel: ' "$work/err" | grep -qE -- "$pattern" || { echo "no line has /$pattern/"; cat "$work/err"; return 1; }
    ! ls "$work" | grep -E 'morsel'
}

# sound NETWORK DATA [OPTION...]: the blob runs, and every scale is a number within 1e-9 .. $most.
most=1e4
sound() {
    net=$1 data=$2
    shift 2
    "$morsel" quantize "$net" --data "$data" --count 0 -o "$work/s.morsel" "$@" || return 1
    "$morsel" run "$work/s.morsel" --input "$work/data_sound.npy" --output "$work/y.npy" || return 1
    "$morsel" inspect "$work/s.morsel" --json | sed -n 's/.*"scale": \([^,]*\),.*/\1/p' >"$work/scales"
    rm "$work/s.morsel"
    cat "$work/scales"
    [ -s "$work/scales" ] && ! awk -v most=$most '$1 >= 1e-9 && $1 <= most { next } { print "bad" }' "$work/scales" | grep bad
}

# kept PATH DATA [OPTION...]: an output that is one of the files that samples come from is refused, and they stay as they are.
kept() {
    path=$1 data=$2
    shift 2
    cp "$path" "$work/before"
    "$morsel" quantize $float --data "$data" -o "$path" "$@" 2>"$work/err"
    code=$?
    [ $code -eq 2 ] && grep -q 'written over' "$work/err" && cmp "$path" "$work/before" || { echo "exit status $code"; cat "$work/err"; return 1; }
}
mkdir "$work/arrays" "$work/classes" "$work/classes/1"
cp "$work/data_sound.npy" "$work/arrays/some.npy"
cp models/cifar10/pictures/bird.ppm "$work/classes/1/"
verify "samples stay as they are" kept "$work/arrays/some.npy" "$work/arrays/some.npy"
verify "those of a named input" kept "$work/arrays/some.npy" "input=$work/arrays/some.npy"
verify "those in a folder" kept "$work/arrays/some.npy" "$work/arrays"
verify "pictures in a folder" kept "$work/classes/1/bird.ppm" "$work/classes" --picture $rule
# beside PATTERN VERB ARGUMENTS...: a file of weights beside the network is no output, under no name, and stays as it is.
beside() {
    pattern=$1
    shift
    "$morsel" "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq 2 ] && grep -qE "$pattern" "$work/err" && cmp "$work/net/weights.data" "$work/before" || { echo "exit status $code"; cat "$work/err"; return 1; }
}
mkdir "$work/net"
cp tests/cli/external.onnx "$work/net/"
yes '<>' | head -c 48 >"$work/net/weights.data"
cp "$work/net/weights.data" "$work/before"
ln "$work/net/weights.data" "$work/net/link.onnx"
{ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (30, 4), }"; yes '<<>' | head -c 480; } >"$work/net/x.npy"
network=$work/net/external.onnx held='weights.data would be written over: it holds weights of '
verify "weights beside the network are no blob" beside "$held" quantize "$network" --data "$work/nowhere" -o "$work/net/weights.data"
verify "nor the QDQ file" beside 'link.onnx would be written over: it holds' quantize "$network" --data "$work/nowhere" -o "$work/net/link.onnx"
verify "nor the array of convert" beside "$held" convert "$network" -o "$work/x.morsel" --c "$work/net/weights.data"
verify "nor what is left of the network" beside "$held" inspect "$network" --onnx "$work/net/weights.data"
verify "nor an output" beside 'weights.data would be written over: it is read' run "$network" --input "$work/net/x.npy" --output "$work/net/weights.data"
verify "they are read" "$morsel" quantize "$network" --data "$work/net/x.npy" -o "$work/net/e.morsel"
{ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f2', 'fortran_order': False, 'shape': (30, 4), }"; yes '<<>' | head -c 240; } >"$work/net/half.npy"
verify "samples of float16" "$morsel" quantize "$network" --data "$work/net/half.npy" -o "$work/net/e.morsel"
verify "are floats" sh -c "'$morsel' run '$network' --input '$work/net/half.npy' --output '$work/net/y.npy' && grep -q '<f4' '$work/net/y.npy'"
{ head -c 128 "$work/net/half.npy"; printf '\000\174%.0s' 1; head -c 366 "$work/net/half.npy" | tail -c 238; } >"$work/net/infinite.npy"
verify "an infinity of them is one" sh -c "! '$morsel' quantize '$network' --data '$work/net/infinite.npy' -o '$work/net/n.morsel' 2>'$work/err' &&
    grep -q 'element .0, 0. is infinite' '$work/err'"
verify "nor a picture of it" beside 'weights.data would be written over' compare "$network" "$work/net/e.morsel" --svg "$work/net/weights.data"
verify "pictures to measure accuracy on" kept "$work/classes/1/bird.ppm" "$work/data_sound.npy" --picture $rule --eval "$work/classes"

mkdir "$work/empty" "$work/text"
echo "no picture" >"$work/text/a.txt"
verify "an empty folder" refused "holds neither pictures" "$work/empty" --picture $rule
verify "a folder without pictures" refused "holds neither pictures" "$work/text" --picture $rule
verify "no samples" refused "data_none.npy.*empty" "$work/data_none.npy"
verify "samples of another size" refused "data_small.npy.*\[8, 3, 16, 16\].*\[1, 3, 32, 32\]" "$work/data_small.npy"
verify "NaN" refused "data_nan.npy: element \[1, 1, 28, 8\] is NaN" "$work/data_nan.npy"
verify "an infinity" refused "data_infinite.npy: element \[1, 1, 28, 8\] is infinite" "$work/data_infinite.npy"
printf 'P6 4 4 255\nabc' >"$work/text/cut.ppm"
verify "a picture cut short" refused "cut.ppm" "$work/text" --picture $rule
# --- a network that takes bytes, and divides them by 255 itself
bytes=tests/cli/pixels.onnx pictures=models/cifar10/pictures
echo '{"resize": {"mode": "none"}, "channels": "RGB", "scale": 1, "mean": [0, 0, 0], "std": [1, 1, 1]}' >"$work/as_they_are.json"
verify "pictures as bytes" call_says "layers +3" 0 $bytes --data $pictures --picture "$work/as_they_are.json" -o "$work/bytes.morsel"
verify "which the first layer reads" sh -c "$morsel inspect '$work/bytes.morsel' | grep -A 1 \"^input 0: 'pixels', uint8\" | grep -q 'uint8.* scale 1, zero point 0'"
verify "give nearly the float network" sh -c "$morsel compare $bytes '$work/bytes.morsel' --data $pictures --json 2>/dev/null |
    sed -n 's/^ *\"output_sqnr_db\": \([0-9]*\).*/\1/p' | { read -r db && [ \"\$db\" -ge 40 ]; }"
verify "nor does noise stop compare" sh -c "$morsel compare $bytes '$work/bytes.morsel'"
verify "a rule that divides them, too" call_says "whole numbers less than 16 apart.*pixels as they are" 1 $bytes --data $pictures --picture $rule -o "$work/x.morsel"
rm -f "$work/bytes.morsel"

for method in minmax average percentile entropy mse; do
    for data in sound two channel zeros outlier below; do
        verify "$method: $data" sound $float "$work/data_$data.npy" --method $method
    done
    most=2e18 # 2^60 and no larger, whatever the data
    verify "$method: huge" sound $float "$work/data_huge.npy" --method $method
    most=1e4
    verify "$method: dead and constant channels" sound tests/cli/float_dead.onnx "$work/data_sound.npy" --method $method
done
for option in --per-tensor --symmetric --int8 --clip-weights; do
    for data in two channel zeros outlier; do
        verify "$option: $data" sound $float "$work/data_$data.npy" $option
    done
    verify "$option: dead and constant channels" sound tests/cli/float_dead.onnx "$work/data_sound.npy" $option
done
notice() { pattern=$1; shift; "$morsel" quantize $float --data "$@" -o "$work/n.morsel" 2>"$work/err" && grep -E "notice: $pattern" "$work/err"; }
verify "constant data are noticed" notice "the data are constant" "$work/data_zeros.npy"
mkdir "$work/same" && cp models/cifar10/pictures/bird.ppm "$work/same/1.ppm" && cp models/cifar10/pictures/bird.ppm "$work/same/2.ppm"
verify "so is the same picture again" notice "the data are 2 times the same" "$work/same" --picture $rule
verify "so is one that goes far beyond the others" notice "one of the 8 samples for input 'input' goes up to 1e\+06" "$work/data_outlier.npy"
verify "in whichever direction" notice "one of the 8 samples for input 'input' goes up to 1e\+06" "$work/data_below.npy"
verify "sound ones are no notice" sh -c "! '$morsel' quantize $float --data '$work/data_sound.npy' -o '$work/n.morsel' 2>&1 | grep 'goes up'"
listed() { $morsel quantize $float --data "$work/same" --picture $rule --arena 5 -o "$work/n.morsel" --json 2>"$work/err" | tr -d '\n' | grep -oE '"notices": \[[^]]*\]' >"$work/out"; }
verify "notices are in the JSON" listed
verify "those of the data, too" says '"the data are 2 times the same sample'
verify "those of few samples" says '"2 samples: one input in 3 goes beyond the ranges'
verify "and that of the arena" says '"--arena 5 cannot be had'
verify "all that were said, once each" test "$(grep -c ': notice: ' "$work/err")" = "$(tr ',' '\n' <"$work/out" | grep -cE '^(.notices.: \[)? *"')"
sed 's/"scale": [0-9.e-]*/"scale": 1/' $rule >"$work/whole.json"
verify "a scale of 1 beside means of 0..1 is noticed" notice ".*whole.json: the rule makes values of about -2 to 1[0-9]{3}: is a .scale. of 1/255" "$work/same" \
    --picture "$work/whole.json"
printf '{"resize": {"mode": "none"}, "channels": "RGB", "scale": 1, "mean": [0, 0, 0], "std": [1, 1, 1]}' >"$work/bytes.json"
verify "bytes as they are, are none" sh -c "! '$morsel' quantize $float --data '$work/same' --picture '$work/bytes.json' -o '$work/n.morsel' 2>&1 | grep 'rule makes'"
verify "one sample is said to be few" notice "1 sample: one input in 2 goes beyond" "$work/data_two.npy" --count 1
rm "$work/n.morsel"
verify "two are not constant" sh -c "! grep -qE 'constant|same' '$work/err'"
verify "one sample" sound $float "$work/data_two.npy" --count 1

# --- which samples were taken
names() { sed -n '/"chosen"/,/\]/p' "$work/chosen" | grep -v chosen | tr -d '", ]' | grep .; }
take() { "$morsel" quantize $float --json -o "$work/t$1.morsel" --data $2 --picture $rule --count $3 --seed $4 >"$work/chosen"; }
again() { # of other choices: other pictures, as many; the same bytes from a folder that holds just these
    take 1 models/cifar10/pictures 3 0 && names >"$work/first" && take 2 models/cifar10/pictures 3 1 && names >"$work/second" || return 1
    [ "$(wc -l <"$work/first")" -eq 3 ] && ! cmp -s "$work/first" "$work/second" && mkdir "$work/three" || return 1
    while read -r picture; do cp "$picture" "$work/three/"; done <"$work/first"
    take 3 "$work/three" 0 0 && cmp "$work/t1.morsel" "$work/t3.morsel" && ! grep '"chosen"' "$work/chosen"
}
verify "says which it took" again
numbers() {
    "$morsel" quantize $float --json --data "$work/data_two.npy" --count 1 -o "$work/t1.morsel" >"$work/chosen" && names | grep -qx '[01]'
}
verify "by number where they are arrays" numbers
rm "$work"/t?.morsel

# --- stopped in the middle: the blob is there whole or not at all. What can be waited for leaves nothing else either.
stopped() {
    for after in 0.01 0.02 0.03 0.05 0.08; do
        timeout -s "$1" $after "$morsel" quantize $float --data "$work/data_sound.npy" --count 0 -o "$work/z.morsel" >"$work/log2" 2>&1
        if [ -e "$work/z.morsel" ]; then "$morsel" inspect "$work/z.morsel" >"$work/log3" || return 1; fi
        rm -f "$work/z.morsel"
        [ "$1" = KILL ] || ! ls "$work" | grep morsel || return 1
    done
}
sleeps="$work/sleeps.npy"
mkfifo "$sleeps"
interrupted() { # it waits for a pipe of labels that nobody writes to
    timeout -s INT 1 "$morsel" quantize $float --data "$work/data_sound.npy" --labels "$sleeps" -o "$work/z.morsel" 2>"$work/err"
    grep -qx 'morsel: stopped; nothing was written' "$work/err" && [ ! -e "$work/z.morsel" ]
}
verify "Ctrl-C says that nothing was written" interrupted
for signal in TERM INT HUP KILL; do
    verify "stopped by $signal" stopped $signal
done
exit $status
