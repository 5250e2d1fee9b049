#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh [--long]: lines of product code by room, and how long functions are; --long lists the 20 longest.
# Lines of code are those that are neither blank nor comment alone. A function goes from the line in column 0 that names it to the `}` in
# column 0, both counted: clang-format sees to these columns.
cd "$(dirname "$0")/.." || exit 1
sources=$(find core kernels arm64 x86 tools -name '*.[chS]' | sort)

functions() { # LENGTH FILE:LINE FIRST-LINE
    # shellcheck disable=SC2086
    awk 'FNR == 1 { start = inside = 0 }
        !inside && /^[a-z].*\(/ && !/;$/ { start = FNR; name = $0 }
        !inside && start && /\) \{$/ { inside = 1 }
        /^}/ { if (inside) print FNR - start + 1, FILENAME ":" start, name; inside = start = 0 }' $sources
}

if [ "$1" = --long ]; then
    functions | sort -rn | head -n 20
    exit
fi
# shellcheck disable=SC2086
awk 'FNR == 1 {
        comment = 0
        room = FILENAME
        sub(/\/[^\/]*$/, "", room)
        if (room ~ /^tools\/[^\/]*\//) { split(room, part, "/"); room = part[1] "/" part[2] }
        files[room]++
    }
    {
        if (comment && !sub(/^.*\*\//, "")) next
        gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "")
        comment = sub(/\/\*.*$/, "")
        sub(/\/\/.*$/, "")
        if (/[^ \t]/) code[room]++
    }
    END { for (room in code) print room, files[room], code[room] }' $sources | sort |
    awk '{ printf "%-18s %4d files %6d lines of code\n", $1, $2, $3; files += $2; code += $3 }
        END { printf "%-18s %4d files %6d lines of code\n", "all", files, code }'
functions | sort -n | awk '{ l[NR] = $1 } END {
    printf "%-18s %4d; lines: median %d, 95 of 100 within %d, longest %d\n", "functions", NR, l[int((NR + 1) / 2)], l[int(NR * 0.95 + 0.5)], l[NR] }'
