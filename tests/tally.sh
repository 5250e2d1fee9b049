#!/bin/sh
# SPDX-License-Identifier: MIT
# tally.sh FOLDER NAME COMMAND...   runs a test program and counts its lines "ok ...", "not ok ..." or "FAIL ...", "skip NAME: why";
#                                   a program without such lines is one test, decided by its exit status. Of one that says ahead how many
#                                   there will be ("1..3", as cmocka does of each group), fewer are a failure
# tally.sh FOLDER --broken NAME     notes that a stage did not get as far as running
# tally.sh FOLDER --skip NAME WHY   notes a program that cannot run here
# tally.sh FOLDER --total           adds everything up, says what was skipped and why; exit status 1 where anything failed, or nothing ran
# The exit status is that of the test, or 0 where TALLY_GO_ON is set: the total tells.
folder=$1
shift
mkdir -p "$folder"

line() { printf '%-36s %4d passed %3d failed %3d skipped  %4d s\n' "$@"; }

case $1 in
--broken)
    echo "0 1 0" >"$folder/$2-broken.count"
    echo "FAIL $2: it did not get as far as running"
    exit 0
    ;;
--skip)
    echo "0 0 1" >"$folder/$2.count"
    echo "$2: $3" >"$folder/$2.skips"
    line "$2" 0 0 1 0
    exit 0
    ;;
--total)
    cat "$folder"/*.skips 2>/dev/null | awk 'NR == 1 { print "skipped:" } { print "    " $0 }'
    cat "$folder"/*.count 2>/dev/null | awk '{ p += $1; f += $2; s += $3 }
        END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }'
    exit
    ;;
esac

name=$1
shift
log=$folder/$name.log
start=$(date +%s)
"$@" >"$log" 2>&1
code=$?
short=$(awk -v name="$name" '/^1\.\.[0-9]+$/ { sub(/^1\.\./, ""); planned += $0 }
    /^(not )?ok / { told++ }
    END { if (told + 0 < planned) printf "FAIL %s: it told of %d tests, and planned %d", name, told, planned }' "$log")
[ -z "$short" ] || printf '\n%s\n' "$short" >>"$log" # the line before may have no end
# What is skipped, a line each. A program of cmocka calls a skipped test "not ok", and says "skipped: why" before (tests/unit/support/skip.h).
awk -v name="$name" '/^skip / { sub(/^skip /, ""); print name ": " $0 }
    /skipped: / { why = $0; sub(/.*skipped: /, "", why) }
    /^(not )?ok .*# SKIP/ { sub(/.*# SKIP */, ""); print name ": " $0 ": " (why ? why : "it does not say why"); why = "" }' "$log" >"$folder/$name.skips"
skipped=$(wc -l <"$folder/$name.skips")
passed=$(grep -E '^ok ' "$log" | grep -vc '# SKIP')
failed=$(grep -E '^(not ok|FAIL)' "$log" | grep -vc '# SKIP')
if [ $code -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
if [ $code -eq 0 ] && [ "$failed" -gt 0 ]; then code=1; fi
if [ $code -eq 0 ] && [ $((passed + skipped)) -eq 0 ]; then passed=1; fi
echo "$passed $failed $skipped" >"$folder/$name.count"
line "$name" "$passed" "$failed" "$skipped" $(($(date +%s) - start))
if [ "$failed" -gt 0 ]; then
    grep -E '^(not ok|FAIL)' "$log" | head -n 40
    echo "--- the end of $log:"
    tail -n 40 "$log"
    echo "---"
fi
[ -n "$TALLY_GO_ON" ] || exit $code
