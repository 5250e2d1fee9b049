#!/bin/sh
# SPDX-License-Identifier: MIT
# What tests/tally.sh makes of programs that pass, fail, skip, and end before they are through. Prints "ok NAME" or "FAIL NAME".
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset TALLY_GO_ON # of the stage that this is a part of
status=0

# counts NAME PASSED FAILED SKIPPED SCRIPT: so many of each, and the tally fails where one failed.
counts() {
    sh tests/tally.sh "$work/each" it sh -c "$5" >"$work/out" 2>&1
    code=$?
    if [ "$(cat "$work/each/it.count")" = "$2 $3 $4" ] && [ $((code != 0)) -eq $(($3 != 0)) ]; then
        echo "ok tally: $1"
    else
        echo "FAIL tally: $1: exit status $code, and $(cat "$work/each/it.count")"
        sed 's/^/    /' "$work/out"
        status=1
    fi
}

group='echo 1..2; echo "ok 1 - a"; echo "ok 2 - b"; echo "# ok - tests"'
skips='echo "# skipped: no such CPU"; echo "not ok 2 - b # SKIP"'
counts "a program without lines" 1 0 0 true
counts "one that fails" 0 1 0 false
counts "a script" 2 0 1 'echo ok a; echo "ok b"; echo "skip c: why"'
counts "a script that fails" 1 1 0 'echo ok a; echo "FAIL b"; exit 1'
counts "a failure that the status hides" 1 1 0 'echo ok a; echo "FAIL b"'
counts "a group" 2 0 0 "$group"
counts "two groups" 4 0 0 "$group; $group"
counts "a group that skips" 1 0 1 "echo 1..2; echo 'ok 1 - a'; $skips"
counts "a group that ends early" 1 1 0 'echo 1..3; echo "ok 1 - a"'
counts "the second of two that does" 3 1 0 "$group; echo 1..2; echo 'ok 1 - a'"
counts "a group of which none is told" 0 1 0 'echo 1..3'
counts "one that crashes" 1 1 0 'echo 1..3; echo "ok 1 - a"; exit 139'
counts "one that ends amid a line" 1 1 0 'echo 1..3; echo "ok 1 - a"; printf "# hal"'
counts "one that fails, and crashes" 1 2 0 'echo 1..3; echo "ok 1 - a"; echo "not ok 2 - b"; exit 139'
exit $status
