#!/bin/sh
# SPDX-License-Identifier: MIT
# make_targets.sh [--all]: any target, with any -j, from a clean folder. Prints "ok NAME" or "FAIL NAME"; exit status 1 after a failure.
# Every object of the tests and one of each room is asked for alone, so that nothing else can have made by chance what it needs.
# With --all every program and library follows, each with -j4 from a clean folder: some minutes.
# Compilers do not compile here: a stand-in lets the real one read the source with all its headers, and leaves an empty file; where it
# should link or pack, it only looks whether all that it is given is there.
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
cat >"$work/stand-in" <<'END'
#!/bin/sh
case " $* " in *" -dumpmachine "* | *" -fsyntax-only "*) exec ${REAL_CC:-cc} "$@" ;; esac
out= compile= before=
for word in "$@"; do
    case $before in -o | rcs) out=$word ;; esac
    case $word in
    -c) compile=1 ;;
    *.o | *.a) [ "$word" = "$out" ] || [ -f "$word" ] || { echo "$out: no $word" >&2; exit 1; } ;;
    esac
    before=$word
done
[ -z "$compile" ] || ${REAL_CC:-cc} -E "$@" || exit 1
: >"$out"
END
chmod +x "$work/stand-in"

# alone NAME JOBS TARGET: from a clean folder.
alone() {
    rm -rf "$work/build"
    if REAL_CC=${CC:-cc} ${MAKE:-make} -s -j"$2" CROSS= QUIET=1 BUILD="$work/build" CC="$work/stand-in" AR="$work/stand-in" "$3" \
        >"$work/log" 2>&1 && [ -e "$3" ]; then return 0; fi
    echo "FAIL $1 alone"
    grep -v '^  [A-Z]* ' "$work/log" | head -n 6 | sed 's/^/    /'
    status=1
    return 1
}

all=$1
count=0
for source in tests/unit/*/*.c tests/fuzz/*.c tests/cli/*.c tests/check_kernels/*.c tests/determinism/*.c tests/device/*.c tests/soak/*.c \
    $(for room in $(find core kernels tools -type d); do ls "$room"/*.c 2>/dev/null | head -n 1; done); do
    alone "${source%.c}.o" 1 "$work/build/${source%.c}.o" && count=$((count + 1))
done
[ $status -ne 0 ] || echo "ok $count objects, each alone"
[ -n "$all" ] || exit $status

for target in libmorsel.a libtool.a morsel tests/cli/make_files tests/check_kernels/check_kernels tests/bench_peers/cold \
    tests/determinism/answers tests/determinism/make_networks tests/soak/soak \
    $(ls tests/unit/*/test_*.c tests/fuzz/fuzz_*.c | sed 's/\.c$//'); do
    alone "$target" 4 "$work/build/$target" && echo "ok $target alone, with -j4"
done
exit $status
