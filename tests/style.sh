#!/bin/sh
# SPDX-License-Identifier: MIT
# style.sh: what every source file keeps to: a licence line, and one that says what the file is for; at most 140 columns and 500 lines;
# the form of .clang-format; nothing unfinished. Tests are named by what they hold, and sentences of pages are short.
cd "$(dirname "$0")/.." || exit 1
status=0
check() { # NAME OUTPUT
    if [ -z "$2" ]; then echo "ok style: $1"; else echo "FAIL style: $1"; echo "$2" | head -n 20 | sed 's/^/    /'; status=1; fi
}
files=$(find core kernels arm64 x86 tools tests \( -name '*.[ch]' -o -name '*.S' ! -path 'tests/*' \) | sort)
# shellcheck disable=SC2086
check "first line is the licence" "$(for f in $files; do head -n 1 "$f" | grep -q 'SPDX-License-Identifier: MIT' || echo "$f"; done)"
# shellcheck disable=SC2086
check "the next line says what the file is for" "$(for f in $files; do awk 'NR == 1 || /^$/ || /^#define _/ { next }
    { if (!/^\/\*/) print FILENAME; exit }' "$f"; done)"
# shellcheck disable=SC2086
check "at most 140 columns" "$(awk 'length($0) > 140 { print FILENAME ":" FNR ": " length($0) }' Makefile tests/trust.mk $files)"
# shellcheck disable=SC2086
check "at most 500 lines" "$(wc -l $files | awk '$2 != "total" && $1 > 500 { print $2 ": " $1 }')"
# shellcheck disable=SC2086
check "no tabs" "$(grep -nP '\t' $files)"
# shellcheck disable=SC2086
check "no spaces at line ends" "$(grep -nE ' +$' $files)"
# Another version breaks lines elsewhere: Debian 12's is the one that decides.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    # shellcheck disable=SC2086
    check "formatted as .clang-format says (clang-format -i)" "$(clang-format --dry-run $files 2>&1 | grep -F '[-Wclang-format-violations]')"
else echo "skip style: clang-format 14 is not there"; fi
# The name of a test says what is true where it passes: a_smaller_buffer_is_refused.
check "tests are named by what they hold" "$(grep -rnoE '(cmocka_unit_test[a-z_]*|IN_FOLDER)\([a-z0-9_]+' tests/unit |
    awk -F'(' '$2 != "test" && ($2 ~ /^test_/ || split($2, words, "_") < 3)')"
check "sentences of at most 25 words" "$(sh tests/prose.sh)"
# "Proven: tests/prove, trails." or "..., rows, axis and index.", over the end of a line, too.
check "proofs that comments name are there" "$(cat core/*.[ch] kernels/*.h | tr '\n' ' ' | tr -s ' *' ' ' |
    grep -oE 'Proven: tests/prove, [a-z_0-9, ]+' | sed 's/.*prove, //; s/, / and /g; s/ and /\n/g' | tr -d ' ' | sort -u | while read -r name; do
        grep -qsw "void prove_$name" tests/prove/*.c || echo "$name"
    done)"
# Others' headers, and what the tool writes for an app, are named as well.
# shellcheck disable=SC2086
check "files that comments name are there" "$(awk 'FNR == 1 { inside = 0 } /\/\*/ { inside = 1 } inside { print } /\*\// { inside = 0 }' \
    $(git ls-files '*.c' '*.h') | grep -oE '\b[a-z][a-z_0-9]+\.(c|h|py|sh)\b' | sort -u |
    grep -vxE '(cmocka|stdio)\.h|net_use\.[ch]|model_blob\.c' | while read -r name; do
        git ls-files "*/$name" | grep -q . || git grep -nw "$name" -- '*.c' '*.h' | head -n 1
    done)"
# shellcheck disable=SC2086
check "nothing unfinished" "$(grep -nE 'TO[D]O|FIX[M]E' $files)"
# A mapping that others write would void the checks of what was read: tests/cli/inspect.sh shows that a pipe can be read, this the rest.
check "the tool reads files and maps none" "$(grep -rnE '\b(mmap|mmap64|shmat)\b' tools core --include='*.[ch]' | grep -v ':[0-9]*: *[/*]')"
# What lies at the top by accident would go to every clone.
check "nothing strays at the top level" "$(git ls-files 2>/dev/null | grep -v / |
    grep -vxE 'Makefile|CMakeLists\.txt|LICENSE|[A-Z]+\.md|\..*')"
exit $status
