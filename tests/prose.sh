#!/bin/sh
# SPDX-License-Identifier: MIT
# prose.sh: sentences of at most 25 words on the pages and in the comments of core/morsel.h. Prints those that are longer.
# Tables, headings and what is fenced are no sentences; an item of a list begins one.
cd "$(dirname "$0")/.." || exit 1
awk '
    function say(  n, i, k, count, sentence, word) {
        n = split(text, sentence, /[.!?]["`*)\]]*([ \t]|$)/)
        for (i = 1; i <= n; i++) {
            count = 0
            for (k = split(sentence[i], word, /[ \t]+/); k; k--) count += word[k] ~ /[A-Za-z0-9]/
            if (count > 25) print name ":" line ": " count " words: " substr(sentence[i], 1, 90)
        }
        text = ""
    }
    function add(words) { if (text == "") { line = FNR; name = FILENAME } text = text " " words }
    FNR == 1 { say(); fenced = comment = 0 }
    FILENAME ~ /\.h$/ {
        if (!comment && !match($0, /\/\*/)) next
        if (!comment) { $0 = substr($0, RSTART + 2); comment = 1 }
        closing = sub(/\*\/.*/, "")
        starred = sub(/^ *\*+ ?/, "")
        if (/^$/ || (starred && /^    /)) say(); else add($0)
        if (closing) { say(); comment = 0 }
        next
    }
    /^ *```/ { say(); fenced = !fenced; next }
    fenced || /^#/ || /^\|/ || /^$/ || /^<!--/ { say(); next }
    /^ *([-*]|[0-9]+\.) / { say() }
    { add($0) }
    END { say() }' README.md CONTRIBUTING.md core/README.md kernels/README.md tools/README.md tests/README.md models/README.md \
    models/*/README.md core/morsel.h 2>&1
