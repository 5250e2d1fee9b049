#!/bin/sh
# SPDX-License-Identifier: MIT
# arrows.sh: tools -> core -> kernels <- arm64, x86. What apps link includes nothing but its own headers, the compiler's, and string.h.
# The rooms of tools/ have an order, too, and no file includes what includes it. `make rooms` draws the arrows.
cd "$(dirname "$0")/../.." || exit 1
status=0
check() { # FOLDER ALLOWED-PATTERN
    [ -n "$(ls "$1"/*.[chS] 2>/dev/null)" ] || return 0
    bad=$(grep -n '^ *# *include' "$1"/*.[chS] 2>/dev/null | grep -Ev "# *include ($2)")
    if [ -z "$bad" ]; then echo "ok arrows $1"; else echo "FAIL arrows $1"; echo "$bad" | sed 's/^/    /'; status=1; fi
}
plain='<(stddef|stdint|stdbool|stdarg|limits|float|string|cpuid)\.h>'
own='"[a-z0-9_]+\.h"'
kernels='"(\.\./)?kernels/[a-z0-9_]+\.h"'
check kernels "$plain|$own"
check kernels/reference "$plain|$own|\"\.\./(kernels|pixels|requant|float|float_plain)\.h\""
check core "$plain|$own|$kernels"
check arm64 "$plain|$own|$kernels|<arm_(neon|acle)\.h>"
check x86 "$plain|$own|$kernels|<(immintrin|x86intrin)\.h>"

# No kernel knows the blob or the public header's functions.
bad=$(grep -nE 'include.*(format|blob|morsel)\.h|struct morsel_blob' kernels/*.[ch] kernels/*/*.[ch] arm64/*.[chS] x86/*.[chS] 2>/dev/null)
if [ -z "$bad" ]; then echo "ok arrows blob"; else echo "FAIL arrows blob"; echo "$bad" | sed 's/^/    /'; status=1; fi

say() { # NAME OUTPUT
    if [ -z "$2" ]; then echo "ok arrows $1"; else echo "FAIL arrows $1"; echo "$2" | sed 's/^/    /'; status=1; fi
}

# What each room of tools/ may include beside core, kernels and tools/base: the table of CONTRIBUTING.md, whose rooms never look down.
allowed=$(sed -n 's/^| `\([a-z]*\)\/` |.*| `*\([a-z ]*\)[`\/]* |$/\1: \2/p' CONTRIBUTING.md)
say "in the table of rooms" "$(echo "$allowed" | awk -F: '{ above[$1] = 1; n = split($2, knows, " ")
    for (i = 1; i <= n; i++) if (knows[i] !~ /^(core|all)$/ && !above[knows[i]]) print $1 " knows " knows[i] ", which stands below it" }
    END { if (NR < 10) print NR " rooms" }')"
say "of tools' rooms" "$(sh tests/link/rooms.sh | while read -r from to count; do
    case $from in core | kernels | arm64 | x86) continue ;; esac
    if [ "$from" = main ]; then knows="network verbs"; else knows=$(echo "$allowed" | sed -n "s/^$from: //p"); fi
    if [ "$knows" = all ]; then [ "$to" = main ] && knows= || continue; fi
    case " core kernels base $knows " in *" $to "*) ;; *) echo "$from includes $to ($count)" ;; esac
done)"

# The thread pool, which apps copy, knows the public header alone.
say "of the pool that apps copy" "$(grep -n '^ *# *include "' tools/network/pool.[ch] | grep -Ev '"(pool|morsel)\.h"')"

# Files, a source and the header of its name being one. A header's own parts may include it: NAME_*, and internal.h in its folder.
say "between files, no circle" "$(sh tests/link/rooms.sh --files | awk '
    function part_of(part, whole) { return index(part, whole "_") == 1 || (part ~ /\/internal$/ && folder(part) == folder(whole)) }
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
    function reaches(from, to, i) { # whether a way of includes leads from one to the other
        if (from == to) return 1
        if (seen[from]++) return 0
        for (i = 1; i <= degree[from]; i++) if (reaches(edge[from, i], to)) return 1
        return 0
    }
    !part_of($1, $2) && !part_of($2, $1) { edge[$1, ++degree[$1]] = $2; arrows[++n] = $1 " " $2 }
    END { for (k = 1; k <= n; k++) { split(arrows[k], ends, " "); delete seen; if (reaches(ends[2], ends[1])) print arrows[k] } }')"
exit $status
