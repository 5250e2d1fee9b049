#!/bin/sh
# SPDX-License-Identifier: MIT
# demo_text.sh BUILD FOLDER: what `make demo-text` shows. FOLDER has MiniLM's model.onnx and tokenizer.json.
build=$1
folder=$2
lines=models/sentences.txt
work=$build/demo-text
mkdir -p "$work" || exit
blob=$work/minilm.morsel
if [ -z "$(find "$blob" -newer "$build/morsel" 2>/dev/null)" ]; then
    echo '{"tokenizer": "'"$(cd "$folder" && pwd)"'/tokenizer.json", "pooling": "mean", "normalize": true}' >"$work/rule.json"
    "$build/morsel" quantize "$folder/model.onnx" --dynamic --dim sequence=32 --text "$work/rule.json" -o "$blob" >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
fi
# The program is the one of the page.
sed -n '/^\/\* nearest\.c/,/^```/p' models/README.md | sed '/^```/d' >"$work/nearest.c"
"${CC:-cc}" -O2 -Icore "$work/nearest.c" "$build/libmorsel.a" -o "$work/nearest" || exit
echo
echo "Of the $(wc -l <$lines) lines in $lines, the nearest to each sentence by models/README.md's nearest.c:"
while read -r sentence; do
    printf '%-44s ' "$sentence"
    "$work/nearest" "$blob" "$sentence" <$lines || exit
done <<'SENTENCES'
How do I reset my phone?
I'd like to return these trousers.
Where do I get the train to the plane?
My internet is down.
Why is the sea sometimes lower?
It is freezing in my flat.
The little boy twisted his foot.
When do we have to pay the state?
SENTENCES
echo
"$build/morsel" bench "$blob" --runs 50
