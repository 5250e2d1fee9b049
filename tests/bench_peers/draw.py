#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""draw.py latency FILE.json | draw.py arena PAGE.md: the README's pictures, as SVG on stdout.

FILE.json is what `make bench-peers PEERS="--json FILE.json"` writes; the median of each peer's rounds is drawn, a network a panel.
PAGE.md holds the table that arenas.py prints; a network with a figure for TFLM is a row."""
import html
import json
import re
import sys

PANEL, ROW, TOP, COLUMNS = 268, 19, 58, 3
OURS, THEIRS, INK, PALE = "#1f6feb", "#9aa4af", "#1f2328", "#59636e"


def text(x, y, words, size=12, fill=INK, anchor="start", weight="normal"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(words)}</text>')


def bar(x, y, width, fill):
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{max(width, 1.5):.1f}" height="13" rx="2" fill="{fill}"/>'


def picture(width, height, title, note, parts):
    """A card of its own colour, so that it reads on a light page and on a dark one."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif">',
        f"<title>{html.escape(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="#ffffff" stroke="#d1d9e0"/>',
        text(16, 25, title, 15, weight="600"), text(16, 43, note, 11, PALE), *parts, "</svg>", ""])


def milliseconds(value):
    return f"{value:.{3 if value < 0.1 else 2 if value < 1 else 1}f} ms"


def panel(x, y, case):
    """A network: a bar a peer, as long as its time by that of the slowest."""
    rows = [(name.split()[0], middle) for name, _, middle, _ in case["rows"]]
    most = max(middle for _, middle in rows)
    parts = [text(x, y, case["net"], 12, weight="600")]
    for i, (name, middle) in enumerate(rows):
        at, length = y + 8 + ROW * i, 104 * middle / most
        parts += [text(x + 70, at + 11, name, 11, PALE, "end"), bar(x + 76, at, length, THEIRS if i else OURS),
                  text(x + 80 + length, at + 11, milliseconds(middle), 11)]
    return parts


def latency(path):
    with open(path) as f:
        cases = json.load(f)
    rows = max(len(case["rows"]) for case in cases)
    step, lines, parts = 30 + ROW * rows, -(-len(cases) // COLUMNS), []
    for i, case in enumerate(cases):
        parts += panel(16 + PANEL * (i % COLUMNS), TOP + 12 + step * (i // COLUMNS), case)
    first = cases[0]
    note = f"Median, {first['threads']} thread, batch {first['batch']}, {first['machine']} held to {first['cap']}; shorter is better."
    if max(case["load"] for case in cases) > first["threads"] + 1:
        note += " Measured on a busy machine."
    return picture(32 + PANEL * COLUMNS, TOP + step * lines, "One inference, beside other runtimes", note, parts)


def table(path):
    """[(network, default arena, TFLM's)] out of the page's table."""
    with open(path) as f:
        rows = re.findall(r"^\| ([\w-]+)[^|]*\| [\d,]+ \| [\d,]+ \| ([\d,]+) \| [\d,]+ \| ([\d,]+) \|$", f.read(), re.M)
    return [(name, *(int(n.replace(",", "")) for n in numbers)) for name, *numbers in rows]


def arena(path):
    parts, y = [], TOP
    for name, ours, theirs in table(path):
        longest = max(ours, theirs)
        for i, (size, fill) in enumerate([(ours, OURS), (theirs, THEIRS)]):
            length, at = 560 * size / longest, y + 16 * i
            parts += [bar(150, at, length, fill), text(156 + length, at + 11, f"{size / 1000:,.1f} KB", 11)]
        parts.append(text(142, y + 19, name, 12, anchor="end"))
        y += 42
    parts += [bar(640, 16, 13, OURS), text(658, 27, "Morsel", 11), bar(728, 16, 13, THEIRS), text(746, 27, "TFLM", 11)]
    return picture(32 + PANEL * COLUMNS, y + 4, "The arena, beside TensorFlow Lite Micro", "All that a run changes, batch 1; each network by its larger bar.", parts)


def main():
    kinds = {"latency": latency, "arena": arena}
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    sys.stdout.write(kinds[sys.argv[1]](sys.argv[2]))


if __name__ == "__main__":
    main()
