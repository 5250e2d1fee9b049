#!/bin/sh
# SPDX-License-Identifier: MIT
# compare.sh [--all] NETWORKS FILE...: one table of answers. NETWORKS is the folder of the blobs; each FILE holds the lines of `answers`
# from one build, and is named MACHINE.COMPILER.OPTIONS.txt. A row a network, a column for each machine's kernels. A cell has the CRC that
# all builds and all counts of tasks agree on, "DIFFER" where they do not, and "." where the network is too large for the machine.
# Random networks are folded to a row for each kind, the sum of their CRCs; --all prints each.
# Then a line for each build and its kernels, and which run differs from the row's first. Exit status 1: one differs, or a run is missing.
all=0
if [ "$1" = --all ]; then all=1 && shift; fi
folder=$1
shift
ls "$folder" | sed -n 's/\.morsel$//p' | awk -v all="$all" '
    function number(hex,  i, n) {
        for (i = 1; i <= 8; i++) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
        return n
    }
    function hex(n) { return sprintf("%04x%04x", int(n / 65536), n % 65536) }
    function cell(network, machine) {
        return bad[network, machine] ? "DIFFER" : (network, machine) in crc ? crc[network, machine] : "."
    }
    function print_row(name, row,  i) {
        printf "%-50s", name
        for (i = 1; i <= machines; i++) printf " %*s", wide[i], row[i]
        print ""
    }
    # Adds a network to the row that it is folded into, and prints the row where another begins.
    function fold(kind, network,  i, c) {
        if (kind != folded) {
            if (folded != "") print_row(folded " (" members ")", sum)
            folded = kind
            members = 0
            for (i in sum) delete sum[i]
        }
        members++
        for (i = 1; network != "" && i <= machines; i++) {
            c = cell(network, machine[i])
            if (members == 1) sum[i] = c
            else if (c == "DIFFER" || sum[i] == "DIFFER") sum[i] = "DIFFER"
            else if (c == "." || sum[i] == ".") sum[i] = "."
            else sum[i] = hex((number(c) + number(sum[i])) % 4294967296)
        }
    }
    FILENAME == "-" { networks[++network_count] = $1; next }
    FNR == 1 {
        build = FILENAME
        sub(/.*\//, "", build)
        sub(/\.txt$/, "", build)
        builds[++build_count] = build
        split(build, part, ".")
        machine_of[build] = part[1]
    }
    NF == 2 && $2 == "large" { large[build, $1] = 1; next }
    NF != 4 || $4 !~ /^[0-9a-f]+$/ || length($4) != 8 { print "FAIL " build ": no answer: " $0; broken = 1; next }
    {
        name = machine_of[build] "/" $2
        if (!(name in seen)) { seen[name] = ++machines; machine[machines] = name; isa_of[machines] = $2; wide[machines] = length(name) > 8 ? length(name) : 8 }
        if (!((build, $2) in column)) { column[build, $2] = ++columns; column_build[columns] = build; column_isa[columns] = $2 }
        done[build, $2, $1]++
        runs[build, $2]++
        run_count++
        if (!($1 in first)) { first[$1] = $4; whose[$1] = build " " $2 " in " $3 }
        if (!(($1, name) in crc)) crc[$1, name] = $4
        if ($4 != first[$1]) {
            bad[$1, name] = 1
            differ[build, $2]++
            differing++
            if (!told[build, $2, $1]++) say[++says] = $1 ": " build " " $2 " in " $3 " tasks: " $4 "; " whose[$1] ": " first[$1]
        }
    }
    END {
        for (i = 1; i <= machines; i++) head[i] = machine[i]
        print_row("network", head)
        for (n = 1; n <= network_count; n++) {
            network = networks[n]
            kind = network
            if (!all && sub(/-[0-9][0-9][0-9][0-9]$/, "-*", kind)) { fold(kind, network); continue }
            fold("", "")
            for (i = 1; i <= machines; i++) row[i] = cell(network, machine[i])
            print_row(network, row)
        }
        fold("", "")
        print ""
        for (c = 1; c <= columns; c++) {
            build = column_build[c]
            isa = column_isa[c]
            missing = 0
            for (n = 1; n <= network_count; n++)
                if (!((build, networks[n]) in large) && done[build, isa, networks[n]] != 8) missing++
            verdict = differ[build, isa] || missing ? "FAIL" : "ok"
            printf "%s %s %s: %d runs", verdict, build, isa, runs[build, isa]
            if (differ[build, isa]) printf ", %d differ", differ[build, isa]
            if (missing) printf ", %d networks without 8 answers", missing
            print ""
            if (missing) broken = 1
        }
        for (b = 1; b <= build_count; b++)
            for (i = 1; i <= machines; i++)
                if (machine[i] == machine_of[builds[b]] "/" isa_of[i] && !((builds[b], isa_of[i]) in column)) {
                    print "FAIL " builds[b] " " isa_of[i] ": no answers"
                    broken = 1
                }
        for (i = 1; i <= 20 && i <= says; i++) print "    " say[i]
        printf "%d runs, %d networks, %d columns, %d differ\n", run_count, network_count, columns, differing
        exit broken || differing || !run_count || columns < 2
    }' - "$@"
