#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh: a page of `morsel report` in a headless Chromium: in light and dark, and as wide as a phone. The browser's console stays empty,
# and the page does not scroll sideways. The pictures of it, to be looked at, lie in build/pages. MORSEL is the tool [build/morsel].
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=$PWD/build/pages
morsel=${MORSEL:-build/morsel}
status=0
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$browser" ] || { echo "skip pages: no Chromium (apt-get install chromium)"; exit 0; }
rm -rf "$work"
mkdir -p "$work/classes"
for picture in models/cifar10/pictures/*.ppm; do
    class=$(basename "$picture" .ppm)
    mkdir "$work/classes/$class" && cp "$picture" "$work/classes/$class/"
done
float=tests/cli/float_small.onnx
"$morsel" quantize $float --data models/cifar10/pictures --picture models/cifar10/picture.json --labels models/cifar10/labels.txt \
    -o "$work/small.morsel" >"$work/log" 2>&1 && "$morsel" report "$work/small.morsel" $float --data "$work/classes" -o "$work/small.html" \
    >>"$work/log" 2>&1 || { echo "FAIL pages: there is none"; cat "$work/log"; exit 1; }

browse() { # ARGUMENTS: stdout to $work/out, the log to $work/log
    timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr --user-data-dir="$work/profile" \
        --virtual-time-budget=5000 "$@" >"$work/out" 2>"$work/log"
}
say() { if [ -z "$2" ]; then echo "ok pages: $1"; else echo "FAIL pages: $1"; echo "$2" | sed 's/^/    /'; status=1; fi; }
console() { grep CONSOLE "$work/log"; [ -s "$1" ] || echo "no picture: $(tail -n 2 "$work/log")"; }

browse --window-size=1280,2400 --screenshot="$work/light.png" "file://$work/small.html"
say "light" "$(console "$work/light.png")"
browse --window-size=1280,2400 --blink-settings=preferredColorScheme=0 --screenshot="$work/dark.png" "file://$work/small.html"
say "dark" "$(console "$work/dark.png")"
say "they differ" "$(cmp -s "$work/light.png" "$work/dark.png" && echo "dark is light")"

# A window has a least width, a frame has none. What is in it tells how wide it came out: the page's own policy forbids that script.
echo '<script>addEventListener("load", () => parent.postMessage(document.documentElement.scrollWidth + " of " + innerWidth, "*"))</script>' >"$work/script"
sed -e '/http-equiv/d' -e "/<\/main>/r $work/script" "$work/small.html" >"$work/probe.html"
for width in 320 390; do
    echo "<title>none</title><body style=\"margin:0\"><script>onmessage = e => { document.title = e.data }</script>
        <iframe src=\"probe.html\" style=\"border:0;width:${width}px;height:5000px\"></iframe>" >"$work/phone.html"
    browse --dump-dom "file://$work/phone.html"
    said=$(sed -n 's/.*<title>\(.*\)<\/title>.*/\1/p' "$work/out" | head -n 1)
    say "$width pixels do" "$([ "$said" = "$width of $width" ] || echo "$said")"
    browse --window-size=$width,5000 --screenshot="$work/phone$width.png" "file://$work/phone.html"
    say "a picture of it" "$(console "$work/phone$width.png")"
done
exit $status
