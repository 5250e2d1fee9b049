# SPDX-License-Identifier: MIT
# What the scripts beside this one share. Each goes to the project's folder, says by `verb` which verb call() is of and by `title` what
# its tests are called by, and reads this file. MORSEL is the tool, with an emulator before it where it is built for another CPU.
# MAKE_FILES is the program from make_files.c. Gives a folder $work, which goes when the script ends, and `status`, what it ends with.
morsel=${MORSEL:-build/morsel}
unset MORSEL_CPU
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
status=0

# failed NAME FILE...: says so, with the beginning of the files.
failed() {
    echo "FAIL $title$1"
    shift
    cat "$@" | head -n 12 | sed 's/^/    /'
    status=1
}

# verify NAME COMMAND...: a command that must succeed.
verify() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then echo "ok $title$name"; else failed "$name" "$work/log"; fi
}

# call STATUS ARGUMENTS...: the exit status is that, and a failure says something that starts with "morsel: ". Output in out and err.
call() {
    want=$1
    shift
    # shellcheck disable=SC2086
    $morsel $verb "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$want" ] || { echo "exit status $code, not $want"; cat "$work/err"; return 1; }
    [ "$want" -eq 0 ] || grep -q '^morsel: ' "$work/err" || { echo "no line that starts with 'morsel: '"; return 1; }
}

# says PATTERN: a line of what the last call wrote has it.
says() { grep -qE -- "$1" "$work/out" "$work/err" || { echo "no line has /$1/"; cat "$work/out" "$work/err"; return 1; }; }
call_says() { pattern=$1; shift; call "$@" && says "$pattern"; }

# check NAME STATUS PATTERN VERB ARGUMENTS...: the tool's exit status, and a pattern that its output (both streams) has; a failure has one
# line on stderr that starts with "morsel: ".
check() {
    name=$1 want=$2 pattern=$3
    shift 3
    # shellcheck disable=SC2086
    $morsel "$@" >"$work/out" 2>"$work/err"
    code=$?
    why=
    [ $code -eq "$want" ] || why="; exit status $code, not $want"
    grep -qE -- "$pattern" "$work/out" "$work/err" || why="$why; no line has /$pattern/"
    if [ "$want" -ne 0 ]; then
        [ "$(grep -vc ': notice: ' "$work/err")" -eq 1 ] || why="$why; not one line on stderr"
        grep -q '^morsel: ' "$work/err" || why="$why; stderr does not start with 'morsel: '"
    fi
    if [ -z "$why" ]; then echo "ok $title$name"; else failed "$name: ${why#; }" "$work/out" "$work/err"; fi
}

# number KEY: of the last call's JSON.
number() { sed -n "s/^ *\"$1\": \([-0-9.]*\),*$/\1/p" "$work/out"; }
absent() { [ ! -e "$1" ]; }
differs() { ! cmp -s "$1" "$2"; }
# nothing_left: no temporary file of a write that failed.
nothing_left() { [ -z "$(find "$work" -name '*.morsel-[0-9]*')" ]; }
# reduced: the tool is one of few verbs, that reads blobs alone.
reduced() { ! $morsel convert --help >/dev/null 2>&1; }

# make_files: the blobs, arrays and pictures that make_files.c lists, in $work.
make_files() { "${MAKE_FILES:-${BUILD:-build}/tests/cli/make_files}" "$work" || { echo "FAIL ${title}its files cannot be made"; exit 1; }; }

# built_in VERB: what bench and inspect say of networks that are built in.
built_in() {
    check "$1 of a file with --arena" 2 "--arena is for networks that are built in" $1 "$work/color.morsel" --arena 5000
    check "$1 of a file with --no-streaming" 2 "--no-streaming is for networks that are built in" $1 "$work/color.morsel" --no-streaming
    check "$1 with --arena and --no-streaming" 2 "exclude each other" $1 resnet8-32 --arena 5000 --no-streaming
    check "$1 with an arena that cannot be had" 0 "notice: --arena 5000 cannot be had: the least .* 23808 bytes" $1 resnet8-32 --arena 5000
    check "$1 with the least arena" 0 "arena:? 23808 bytes" $1 resnet8-32 --arena 1
    verify "no notice then" sh -c "! grep notice '$work/err'"
}
