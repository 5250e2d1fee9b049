#!/bin/sh
# SPDX-License-Identifier: MIT
# rooms.sh [--files]: the arrows that includes draw between rooms: who includes whom, from how many files. --files draws them between
# files, a source and the header of its name being one. Lines of "FROM TO COUNT"; arrows.sh holds them against what is allowed.
cd "$(dirname "$0")/../.." || exit 1
# A header in quotes is beside its reader, or named from the project's folder. The schema's header is made, and no room's.
find core kernels arm64 x86 tools -name '*.[chS]' | sort | xargs grep -H '^ *# *include "' | awk -v files="$1" '
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
    function exists(path, line) { if (!(path in known)) { known[path] = (getline line < path) >= 0; close(path) } return known[path] }
    function plain(path) { while (sub(/[^\/.]+\/\.\.\//, "", path)); return path }
    function room(path, part, n) {
        if (files) { sub(/\.[^.]*$/, "", path); return path }
        n = split(path, part, "/")
        return part[1] != "tools" ? part[1] : n == 2 ? "main" : part[2]
    }
    {
        from = substr($0, 1, index($0, ":") - 1)
        match($0, /"[^"]*"/); to = substr($0, RSTART + 1, RLENGTH - 2)
        if (exists(plain(folder(from) "/" to))) to = plain(folder(from) "/" to)
        else if (!exists(to)) next
        if (room(from) != room(to) && !seen[from, room(to)]++) count[room(from) " " room(to)]++
    }
    END { for (arrow in count) print arrow, count[arrow] }' | sort
