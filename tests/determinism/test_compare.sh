#!/bin/sh
# SPDX-License-Identifier: MIT
# test_compare.sh FOLDER: compare.sh finds what a run of run.sh left in FOLDER equal, and notices what is changed there: one answer, one
# that is missing, a build without one of its kernel sets. Prints "ok NAME" or "FAIL NAME"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
folder=$1 status=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# verdict NAME STATUS PATTERN: what compare.sh says of $work
verdict() {
    sh tests/determinism/compare.sh "$folder/networks" "$work"/*.txt >"$work/log"
    if [ $? -eq "$2" ] && grep -q "$3" "$work/log"; then echo "ok $1"; else
        echo "FAIL $1" && tail -n 3 "$work/log" | sed 's/^/    /'
        status=1
    fi
    cp "$folder"/answers/*.txt "$work/"
}
cp "$folder"/answers/*.txt "$work/" || exit 1
one=$(ls "$work/$(uname -m)".*.txt | head -n 1) # one of several builds for this machine
row="golden-mobile-qop-u8s8pc c 3 "
verdict "answers are equal" 0 ", 0 differ\$"
sed -i "s/^\\($row\\).*/\\100000000/" "$one"
verdict "one other answer is noticed" 1 ", 1 differ\$"
sed -i "s/^\\(steps-0007 c 8 \\).*/\\100000000/" "$one"
verdict "one other answer of a random network is noticed" 1 "^steps-\\*.* DIFFER "
sed -i "/^$row/d" "$one"
verdict "a missing answer is noticed" 1 "1 networks without 8 answers"
sed -i "/ c [1-8] /d" "$one"
verdict "a build without plain C is noticed" 1 "^FAIL .* c: no answers"
exit $status
