#!/bin/sh
# SPDX-License-Identifier: MIT
# size.sh NAME LIBRARY BYTES [PREFIX-]: code and constants of the whole library are BYTES at most. Other compilers than Debian 12's gcc make
# other sizes: nothing is asked of these. Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
name=$1 library=$2 most=$3 prefix=$4
compiler=$(readelf -p .comment "$library" 2>/dev/null | sed -n 's/.*GCC: .* \([0-9]*\)\.[0-9.]*$/gcc \1/p' | sort -u)
if [ "$compiler" != "gcc 12" ]; then echo "skip size $name: made by ${compiler:-another compiler}, the limit is gcc 12's"; exit 0; fi
bytes=$("${prefix}size" -A "$library" | awk '/^\.(text|rodata)/ { all += $2 } END { print all + 0 }')
if [ "$bytes" -gt 0 ] && [ "$bytes" -le "$most" ]; then echo "ok size $name, $bytes of $most bytes"
else echo "FAIL size $name: $bytes bytes, $most are the most"; exit 1; fi
