#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [PAGE.md...]: everything that the pages tell a reader to type is typed. Fenced blocks of a page run in order, in a folder of
# the page's own below build/docs: the repository's tree by links. In its out/ stand the files that the pages speak of (food.onnx,
# photo.jpg ...), tiny; but for README.md, which makes its own.
#   ```sh    a script; its first failing command fails it. The next block begins in the folder where it ended
#   ```c     named by its first line, /* app.c ... */; it compiles without a warning, and the next script may build it
#   ```text  below <!-- output of: COMMAND -->: what the command prints, but for times and names of kernels
# <!-- not run: WHY --> above a block leaves it out. Then the man pages: sound roff, every option of --help, examples that run.
# What a page names in passing is there: links, paths, tasks of make, options. The table of arenas is what arenas.py prints, sizes
# are what bench says, and the pictures are drawn from their figures; the README has its length.
# MORSEL is the tool [build/morsel]. Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$root/build/docs
morsel=${MORSEL:-build/morsel}
compiler=${CC:-cc}
pages=${*:-$(ls README.md CONTRIBUTING.md core/README.md kernels/README.md tools/README.md models/README.md models/*/README.md tests/README.md \
    2>/dev/null)}
status=0
unset MORSEL_CPU MAKEFLAGS MAKELEVEL MFLAGS
ok() { echo "ok $1"; }
fail() { echo "FAIL $1"; [ -z "$2" ] || tail -n 15 "$2" | sed 's/^/    /'; status=1; }

# The folder that a page's blocks run in.
furnish() { # FOLDER
    rm -rf "$1"
    mkdir -p "$1/bin" "$1/log"
    for entry in "$root"/*; do [ "$entry" = "$root/out" ] || ln -s "$entry" "$1/"; done
    ln -s "$root/$morsel" "$1/bin/morsel"
    echo "$1" >"$1/log/at"
}

# What README.md has its reader make in out/, and what is the reader's own.
fill() { # FOLDER
    mkdir -p "$1/pictures"
    for picture in models/cifar10/pictures/*.ppm; do
        class=$(basename "$picture" .ppm)
        mkdir "$1/pictures/$class"
        cp "$picture" "$1/pictures/$class/"
    done
    cp -r "$1/pictures" "$1/train"
    cp -r "$1/pictures" "$1/test"
    cp models/cifar10/network.onnx "$1/food.onnx"
    cp models/cifar10/picture.json "$1/rule.json"
    cp models/cifar10/labels.txt "$1/labels.txt"
    sed 's/.*/ein &/' models/cifar10/labels.txt >"$1/german.txt"
    cp models/cifar10/pictures/cat.ppm "$1/photo.ppm"
    cp models/cifar10/pictures/cat.ppm "$1/photo.jpg" # the tool looks into a file, not at its name
    cp tests/cli/float_small.onnx "$1/food_float.onnx"
    printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##c\n' >"$1/vocab.txt"
    echo '{"tokenizer": "vocab.txt", "max_length": 8, "pooling": "mean"}' >"$1/text.json"
    printf 'a b\nb bc\n' >"$1/lines.txt"
    cp "$1/lines.txt" "$1/sentences.txt"
    "$morsel" convert tests/cli/tokens.onnx -o "$1/minilm.morsel" --dim sequence=8 --text "$1/text.json" >/dev/null 2>&1
    cp models/spots/pictures/spots.ppm "$1/street.jpg"
    (cd models/spots && "$root/$morsel" quantize network.onnx --data pictures --picture picture.json --answer answer.json \
        --labels labels.txt -o "$1/boxes.morsel" >/dev/null 2>&1)
}

# Writes each block to FOLDER/blocks/LINE.KIND, and what is said of it to LINE.note.
extract() { # PAGE FOLDER
    mkdir -p "$2/blocks"
    awk -v folder="$2/blocks" '
        /^```/ && on { on = 0; close(file); note = ""; next }
        /^```(sh|c|text)$/ && !on { on = 1; file = sprintf("%s/%04d.%s", folder, FNR, substr($0, 4)); printf "" > file
            if (note) { print note > (file ".note"); close(file ".note") }
            next }
        /^```/ { on = 1; file = "/dev/null"; next }
        on { print > file; next }
        /^<!-- (not run|output of): / { note = $0; sub(/^<!-- /, "", note); sub(/ -->$/, "", note); next }
        NF { note = "" }' "$1"
}

# Figures of this run and this machine become N and ISA.
masked() {
    sed -E 's/avx512vnni|avxvnni|avx2|dotprod|i8mm|neon/ISA/; s/[0-9.]+ (ms|us|FPS)/N \1/g; s/(p99\/median|library) [0-9.]+/\1 N/g; s/ +/ /g' "$1"
}

run_block() { # NAME BLOCK FOLDER
    note=$(cat "$2.note" 2>/dev/null)
    at=$(cat "$3/log/at")
    case $2:$note in
    *:"not run: "*) echo "skip $1: ${note#not run: }" ;;
    *.sh:*)
        # shellcheck disable=SC2016
        if (cd "$at" && PATH="$3/bin:$PATH" timeout 300 sh -eu -c '. "$0"; pwd >"$1"' "$2" "$3/log/at" >"$3/log/log" 2>&1 </dev/null); then ok "$1"
        else fail "$1" "$3/log/log"; fi
        ;;
    *.c:*)
        name=$(sed -n '1s,^/\* \([a-z_]*\.c\).*,\1,p' "$2")
        if [ -z "$name" ]; then fail "$1: its first line names no file"; return; fi
        cp "$2" "$at/$name"
        if (cd "$at" && "$compiler" -std=c11 -Wall -Wextra -Werror -I. -I"$root/core" -c "$name" -o "$3/log/block.o" >"$3/log/log" 2>&1); then ok "$1"
        else fail "$1" "$3/log/log"; fi
        ;;
    *.text:"output of: "*)
        (cd "$at" && PATH="$3/bin:$PATH" timeout 300 sh -eu -c "${note#output of: }" >"$3/log/log" 2>&1 </dev/null)
        masked "$3/log/log" >"$3/log/is"
        masked "$2" >"$3/log/said"
        if grep -vxF -f "$3/log/is" "$3/log/said" >"$3/log/log"; then fail "$1: ${note#output of: } does not print" "$3/log/log"
        else ok "$1"; fi
        ;;
    esac
}

run_page() { # PAGE
    folder=$work/$(echo "$1" | tr '/' '_')
    furnish "$folder"
    [ "$1" = README.md ] || fill "$folder/out"
    extract "$1" "$folder"
    for block in "$folder"/blocks/*.sh "$folder"/blocks/*.c "$folder"/blocks/*.text; do [ -f "$block" ] && echo "$block"; done | sort >"$folder/log/list"
    while read -r block; do
        run_block "$1:$(basename "${block%.*}" | sed 's/^0*//')" "$block" "$folder"
    done <"$folder/log/list"
    # Links to files, from the page's own folder.
    gone=$(sed '/^```/,/^```/d' "$1" | grep -oE '\]\([^)#:]+\)|src="[^":]+"' | sed -E 's/^\]\(|^src="|[)"]$//g' | while read -r link; do
        [ -e "$(dirname "$1")/$link" ] || echo "$link"; done)
    if [ -z "$gone" ]; then ok "$1: links"; else fail "$1: links to what is not there: $gone"; fi
}

# The programs of README.md, on pictures that their page does not show.
programs() { # FOLDER
    cd "$1/out" || return
    { printf 'P6\n# Created by GIMP version 2.10.34 PNM plug-in\n32 32\n255\n'; tail -c 3072 photo.ppm; } >gimp.ppm
    if [ "$(./app <gimp.ppm)" = "$(./app <photo.ppm)" ]; then ok "app: a line of comment"; else fail "app: a line of comment"; fi
    { printf 'P6\n#\n96 72\n255\n'; tail -c 20736 ../models/spots/pictures/spots.ppm; } >gimp.ppm
    if [ "$(./boxes <gimp.ppm)" = "$(./boxes <../models/spots/pictures/spots.ppm)" ]; then ok "boxes: a line of comment"
    else fail "boxes: a line of comment"; fi
    echo "no picture" >none.ppm
    head -c 2000 photo.ppm >short.ppm
    head -c 2000 ../models/spots/pictures/spots.ppm >short_spots.ppm
    for try in "app none" "app short" "boxes none" "boxes short" "boxes short_spots"; do
        if "./${try% *}" <"${try#* }.ppm" >said 2>why || [ -s said ] || [ ! -s why ]; then fail "$try: no error"; else ok "$try: an error"; fi
    done
    cd "$root" || exit 1
}

# Paths, tasks and options that a page names between `...`.
mentions() { # PAGE
    sed '/^```/,/^```/d' "$1" | grep -oE '`[^`]+`' | tr -d '`' | sort -u >"$work/mentions"
    gone=$(grep -E '^(core|kernels|arm64|x86|tools|tests|models)/[a-zA-Z0-9_./*-]*$' "$work/mentions" | grep -v '[A-Z][A-Z][A-Z]_\|NAME' |
        while read -r path; do
            # shellcheck disable=SC2086
            ls -d $path >/dev/null 2>&1 || echo "$path"
        done
        sed -nE 's/^make ([a-z][a-z0-9-]*).*/\1/p' "$work/mentions" | sort -u | while read -r task; do
            grep -q "^$task:" Makefile tests/trust.mk || echo "make $task"
        done
        sed -nE 's/^(--[a-z0-9-]+).*/\1/p' "$work/mentions" | sort -u | while read -r option; do
            grep -qE -e "^  $option( |\$)" "$work"/help || echo "$option"
        done)
    if [ -z "$gone" ]; then ok "$1: what it names"; else fail "$1: names what is not there: $(echo "$gone" | tr '\n' ' ')"; fi
}

# A man page of each verb, from the source of --help.
man_page() { # VERB, or nothing
    page=$work/man/morsel${1:+-$1}.1
    # shellcheck disable=SC2086
    "$morsel" $1 --help=man >"$page" && "$morsel" $1 --help >"$page.help" || { fail "man $1: no page"; return; }
    lacking=$(for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" "SEE ALSO"; do
        grep -q "^\.SH $section\$" "$page" || echo "$section"; done
        sed -n '/^options:/,/^[a-z]*:$/s/^  \(-[a-z-]*\).*/\1/p' "$page.help" | sed 's/-/\\\\-/g' | while read -r option; do
        grep -q "^\.B $option" "$page" || echo "$option"; done)
    if [ -n "$lacking" ]; then fail "man $1: lacks $lacking"; else ok "man page ${1:-of the tool}"; fi
    command -v groff >/dev/null 2>&1 || return 0
    if [ -z "$(groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null)" ]; then ok "groff ${1:-of the tool}"; else fail "groff $1"; fi
}

examples() { # VERB: the commands that its page shows
    sed -n '/^examples:/,/^[a-z ]*:$/s/^  \(morsel .*\)/\1/p' "$work/man/morsel-$1.1.help" >"$work/man/$1.examples"
    while read -r command; do
        if (cd "$work/examples/out" && PATH="$work/examples/bin:$PATH" timeout 300 sh -eu -c "$command" >../log/log 2>&1 </dev/null); then ok "$command"
        else fail "$command" "$work/examples/log/log"; fi
    done <"$work/man/$1.examples"
}

picture() { # KIND FIGURES
    if ! command -v python3 >/dev/null 2>&1; then echo "skip picture $1: no python3"; return; fi
    if python3 tests/bench_peers/draw.py "$1" "$2" | cmp -s - "tests/bench_peers/$1.svg"; then ok "picture $1"
    else fail "picture $1: make figures draws it anew from $2"; fi
}

# The table of arenas, but for what another runtime takes.
arenas() { # PAGE
    if ! command -v python3 >/dev/null 2>&1; then echo "skip arenas: no python3"; return; fi
    MORSEL=$morsel python3 tests/bench_peers/arenas.py models/cifar10/network.onnx | sed -nE 's/^\| ([a-z][^ ]*) (\|[0-9 ,|]*)\|[^|]*\|$/\1 \2/p' >"$work/arenas"
    while read -r name figures; do
        grep -F -- "$figures" "$1" | grep -q "^| .\{0,1\}$name" || echo "$name $figures"
    done <"$work/arenas" >"$work/arenas.lacking"
    if [ -s "$work/arenas" ] && [ ! -s "$work/arenas.lacking" ]; then ok "$1: arenas"; else fail "$1: arenas differ" "$work/arenas.lacking"; fi
}

# Sizes in a table's rows of "| `NET` | blob | arena bytes |" are what bench says of NET.
sizes() { # PAGE
    sed -nE 's/^\| `([^`]*)`[^|]*\| ([0-9.]+ [KM]B) \| ([0-9,]+) bytes .*/\1|\2|\3/p' "$1" >"$work/sizes"
    while IFS='|' read -r net blob arena; do
        "$morsel" bench "$net" --runs 1 --warmup 0 --json | awk -v blob="$blob" -v arena="$(echo "$arena" | tr -d ,)" -v net="$net" '
            /"arena_bytes"/ { is = $2 + 0 } /"blob_bytes"/ { bytes = $2 + 0 }
            END { size = bytes < 1e6 ? sprintf("%.0f KB", bytes / 1e3) : sprintf("%.1f MB", bytes / 1e6)
                  if (is != arena || size != blob) print net ": arena " is ", blob " size }'
    done <"$work/sizes" >"$work/sizes.wrong"
    if [ -s "$work/sizes" ] && [ ! -s "$work/sizes.wrong" ]; then ok "$1: sizes"; else fail "$1: sizes differ" "$work/sizes.wrong"; fi
}

mkdir -p "$work"
{ "$morsel" --help; for verb in $("$morsel" --help=verbs); do "$morsel" "$verb" --help; done; } >"$work/help"
for page in $pages; do
    run_page "$page"
    [ "$page" != README.md ] || programs "$work/README.md"
    mentions "$page"
done
[ $# -eq 0 ] || exit $status

rm -rf "$work/man"
mkdir -p "$work/man"
furnish "$work/examples"
fill "$work/examples/out"
# Examples of --help have files that nobody makes there.
{ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }"
  head -c 12288 /dev/zero; } >"$work/examples/out/x.npy"
man_page ""
for verb in $("$morsel" --help=verbs); do
    man_page "$verb"
    examples "$verb"
done
arenas core/README.md
sizes README.md
picture latency tests/bench_peers/latency.json
picture arena core/README.md
# Whoever searches by the field's words finds ours beside them.
"$morsel" quantize --help >"$work/quantize.help"
for page in README.md tools/README.md "$work/quantize.help"; do
    lacking=$(for word in calibration preprocessing postprocessing NMS image; do grep -qw -- "$word" "$page" || echo "$word"; done)
    if [ -z "$lacking" ]; then ok "${page#"$work/"}: the field's words"; else fail "${page#"$work/"} lacks: $(echo "$lacking" | tr '\n' ' ')"; fi
done
words=$(sed '/^```/,/^```/d' README.md | wc -w)
if [ "$words" -le 900 ]; then ok "README: $words words"; else fail "README: $words words, 900 at most"; fi
exit $status
