#!/bin/sh
# SPDX-License-Identifier: MIT
# What all verbs do alike: the call, and a model's file that is none. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/../.." || exit 1
verb='' title=''
. tests/cli/calls.sh
make_files

# --- the call
check "no verb" 2 "a verb is missing"
check "unknown verb" 2 "did you mean 'inspect'" inspekt
$morsel --help=verbs | grep -qx convert || check "a verb of the whole tool" 2 "this build has no converter" convert
check "help" 0 "^usage: morsel VERB" --help
check "version" 0 "^morsel [0-9]+\.[0-9]+\.[0-9]+$" --version
for verb in run bench eval inspect embed; do
    check "$verb --help" 0 "^usage: morsel $verb " $verb --help
    check "$verb without a model" 2 "morsel $verb MODEL" $verb
    check "$verb with an unknown option" 2 "no option '--jsn'; did you mean '--json'" $verb "$work/color.morsel" --jsn
done
for verb in $($morsel --help=verbs); do
    verify "$verb --help in 96 columns" sh -c "! $morsel $verb --help | grep -E '.{97}'"
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
for verb in inspect run bench eval $($morsel --help=verbs | grep -x -e quantize -e compare); do
    check "$verb with unknown kernels in MORSEL_CPU" 2 "MORSEL_CPU=mmx names no kernels" $verb "$work/color.morsel"
done
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

exit $status
