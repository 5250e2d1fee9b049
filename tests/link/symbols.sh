#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols.sh LIBRARY.a [PREFIX]: what the library wants, gives and holds, by PREFIXnm and PREFIXreadelf.
# It may want memcpy, memmove, memset, memcmp (and getauxval, weakly); all it gives starts with morsel_; it holds nothing that is written.
library=$1
prefix=$2
label=${3:-$library}
status=0
report() { # NAME COMPLAINTS
    if [ -z "$2" ]; then echo "ok $1 $label"; else echo "FAIL $1 $label"; echo "$2" | sed 's/^/    /'; status=1; fi
}

table=$("${prefix}nm" "$library") || { echo "FAIL nm $label"; exit 1; }
defined=$(echo "$table" | awk 'NF == 3 && $2 ~ /[A-Z]/ || NF == 3 && $2 ~ /[vwu]/ { print $3 }' | sort -u)
[ -n "$defined" ] || { echo "FAIL nm $label: no symbols"; exit 1; }

# A position-independent program's own table, and the little functions that i686 finds itself with, are the compiler's.
wanted=$(echo "$table" | awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u | grep -vx -e _GLOBAL_OFFSET_TABLE_ \
    -e memcpy -e memmove -e memset -e memcmp)
report undefined "$(for name in $wanted; do echo "$defined" | grep -qx "$name" || echo "$name"; done)"
report weak "$(echo "$table" | awk 'NF == 2 && $1 ~ /[wv]/ && $2 != "getauxval" { print $2 }' | sort -u)"
report names "$(echo "$defined" | grep -v -e '^morsel_' -e '^__x86\.get_pc_thunk\.')"
report written "$("${prefix}readelf" -SW "$library" | sed 's/^ *\[ *[0-9]*\] *//' |
    awk '$2 ~ /^(PROGBITS|NOBITS|INIT_ARRAY|FINI_ARRAY)$/ && $7 ~ /W/ && $5 !~ /^0+$/ && $1 !~ /^\.data\.rel\.ro/ { print $1, $5 }')"
# What pictures, texts, variants and answers take is in programs that call it: no other object wants it. Boxes and maps go to a frame.
report apart "$(echo "$table" | awk '/^[a-z_]*\.o:$/ { object = $1 }
    NF == 2 && $1 == "U" && $2 ~ /^morsel_(text|picture|pixels|frame|variant|open_variant|detect|boxes|segment|points|classes|embedding)/ &&
        object !~ /^(text_variant|text|picture|picture_rows|detect|segment|points|classes|embedding)\.o:/ { print object, $2 }')"
# A function of AVX that others call leaves upper halves of zeros, for SSE code behind it: gcc sees to that at -O2, and not at -Os.
# What is `dirty` has written wide registers, or called what is dirty, and has no vzeroupper.
if "${prefix}objdump" -f "$library" | grep -q '^architecture: i386:x86-64'; then
    report upper "$({ echo "$defined" | sed 's/^/defined /'; "${prefix}objdump" -dr "$library"; } | awk '
        $1 == "defined" { global[$2] = 1 }
        /file format/ { object = $1 }
        /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); name = object name; next }
        /%[yz]mm/ { dirty[name] = 1 }
        /vzeroupper/ { clean[name] = 1 }
        /R_X86_64_(PC|PLT)32\t/ { sub(/[-+]0x.*/, "", $NF); calls[name, object $NF] = 1 }
        END {
            do {
                more = 0
                for (pair in calls) {
                    split(pair, two, SUBSEP)
                    if (!dirty[two[1]] && dirty[two[2]] && !clean[two[2]]) more = dirty[two[1]] = 1
                }
            } while (more)
            for (name in dirty) {
                split(name, two, ":")
                if (dirty[name] && !clean[name] && global[two[2]]) print two[2]
            }
        }')"
fi
exit $status
