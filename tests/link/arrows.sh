#!/bin/sh
# SPDX-License-Identifier: MIT
# arrows.sh: tools -> core -> kernels <- arm64, x86. What apps link includes nothing but its own headers, the compiler's, and string.h.
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
check kernels/reference "$plain|$own|\"\.\./(kernels|requant|float)\.h\""
check core "$plain|$own|$kernels"
check arm64 "$plain|$own|$kernels|<arm_(neon|acle)\.h>"
check x86 "$plain|$own|$kernels|<(immintrin|x86intrin)\.h>"

# No kernel knows the blob or the public header's functions.
bad=$(grep -nE 'include.*(format|blob|morsel)\.h|struct morsel_blob' kernels/*.[ch] kernels/*/*.[ch] arm64/*.[chS] x86/*.[chS] 2>/dev/null)
if [ -z "$bad" ]; then echo "ok arrows blob"; else echo "FAIL arrows blob"; echo "$bad" | sed 's/^/    /'; status=1; fi
exit $status
