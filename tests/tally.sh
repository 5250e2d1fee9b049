#!/bin/sh
# SPDX-License-Identifier: MIT
# tally.sh FOLDER NAME COMMAND...   runs a test program and counts its lines "ok ...", "not ok ..." or "FAIL ...", "skip ...";
#                                   a program without such lines is one test, decided by its exit status
# tally.sh FOLDER --broken NAME     notes that a stage did not get as far as running
# tally.sh FOLDER --total           adds everything up; exit status 1 where anything failed, or nothing ran
# The exit status is that of the test, or 0 where TALLY_GO_ON is set: the total tells.
folder=$1
shift
mkdir -p "$folder"

case $1 in
--broken)
    echo "0 1 0" >"$folder/$2-broken.count"
    echo "FAIL $2: it did not get as far as running"
    exit 0
    ;;
--total)
    cat "$folder"/*.count 2>/dev/null | awk '{ p += $1; f += $2; s += $3 }
        END { if (s) printf "%d skipped\n", s; printf "%d passed, %d failed\n", p, f; exit f > 0 || p == 0 }'
    exit
    ;;
esac

name=$1
shift
log=$folder/$name.log
start=$(date +%s)
"$@" >"$log" 2>&1
code=$?
skipped=$(grep -cE '^skip |^(not )?ok .*# SKIP' "$log")
passed=$(grep -E '^ok ' "$log" | grep -vc '# SKIP')
failed=$(grep -E '^(not ok|FAIL)' "$log" | grep -vc '# SKIP') # cmocka calls a skipped test "not ok"
if [ $code -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
if [ $code -eq 0 ] && [ "$failed" -gt 0 ]; then code=1; fi
if [ $code -eq 0 ] && [ $((passed + skipped)) -eq 0 ]; then passed=1; fi
echo "$passed $failed $skipped" >"$folder/$name.count"
printf '%-36s %4d passed %3d failed %3d skipped  %4d s\n' "$name" "$passed" "$failed" "$skipped" $(($(date +%s) - start))
if [ "$failed" -gt 0 ]; then
    grep -E '^(not ok|FAIL)' "$log" | head -n 40
    echo "--- the end of $log:"
    tail -n 40 "$log"
    echo "---"
fi
[ -n "$TALLY_GO_ON" ] || exit $code
