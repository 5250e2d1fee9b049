#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What Hugging Face's `tokenizers` does to each code point, as tools/samples/rules/unicode.txt holds it. BERT's rules name Unicode's
categories, and each part of that package has them from another version of Unicode: what it does is the specification, not a version.

    unicode.py           prints the file
    unicode.py --check   fails where the file differs
"""
import argparse
import pathlib
import sys

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

FILE = pathlib.Path(__file__).resolve().parents[2] / "tools/samples/rules/unicode.txt"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HEAD = """\
# What becomes of code points before WordPiece: what Hugging Face's tokenizers %s (Apache License 2.0) does, whose tables are
# those of the Unicode Character Database (Unicode License V3). Printed by tests/text/unicode.py. Numbers are hexadecimal.
#   A-B      from A to B, both included
#   A-B:C    A becomes C, and so on; A-B/2:C every second one; A:C+D two code points; A:C,D,E that and those that follow it
#   A-B=N    in the order N where combining characters are sorted
# other: removed by clean_text. space: word ends by clean_text. white: word ends by the pre-tokenizer. alone: words by themselves.
# ideograph: words by themselves by handle_chinese_chars. lower: lower case. mark: removed by strip_accents; start: those that combining
# characters are not sorted across. order: combining characters that are not removed. base: what strip_accents makes of the others."""


def normalizer(**on):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return BertNormalizer(**{**off, **on}).normalize_str


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] + 1 == c:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def span(a, b):
    return f"{a:x}" if a == b else f"{a:x}-{b:x}"


def spans(points):
    return [span(a, b) for a, b in ranges(points)]


def several(values):
    return "+".join(f"{ord(c):x}" for c in values)


def shifted(mapping):
    """Runs that move by one number, of neighbours or of every second one; the rest by itself."""
    left, out = sorted(mapping), []
    while left:
        best = [left[0]]
        if len(mapping[left[0]]) == 1:
            for step in (1, 2):
                run = [left[0]]
                by = ord(mapping[run[0]]) - run[0]
                while len(mapping.get(run[-1] + step, "")) == 1 and ord(mapping[run[-1] + step]) - run[-1] - step == by:
                    run.append(run[-1] + step)
                if len(run) > len(best):
                    best, by_two = run, step == 2
        first, last = best[0], best[-1]
        two = "/2" if len(best) > 1 and by_two else ""
        out.append(f"{span(first, last)}{two}:{several(mapping[first])}")
        left = [c for c in left if c not in set(best)]
    return out


def listed(mapping):
    return [f"{a:x}:" + ",".join(several(mapping[c]) for c in range(a, b + 1)) for a, b in ranges(mapping)]


def combining(strip, removed):
    """The order of the combining characters that stay, by what changes places; and those removed that nothing is sorted across."""
    low, high = "\U0001d165", "\U0001d16d"  # two that stay, of orders 216 and 226
    barrier = [c for c in removed if strip(f"a{high}{chr(c)}{low}") == f"a{high}{low}"]
    stay = [c for c in POINTS if c not in removed]
    moves = [c for c in stay if len(strip(f"a{chr(c)}")) == 2
             and (strip(f"a{high}{chr(c)}") == f"a{chr(c)}{high}" or strip(f"a{chr(c)}{low}") == f"a{low}{chr(c)}")]
    classes = []  # one member of each, in order
    rank = {}
    for c in moves + [ord(low), ord(high)]:
        at = 0
        for k, other in enumerate(classes):
            if strip(f"a{chr(c)}{chr(other)}") == f"a{chr(other)}{chr(c)}":
                at = k + 1
            elif strip(f"a{chr(other)}{chr(c)}") == f"a{chr(other)}{chr(c)}":
                at = None
                break
        if at is not None:
            classes.insert(at, c)
        rank[c] = None
    for c in rank:
        rank[c] = 1 + sum(other != c and strip(f"a{chr(c)}{chr(other)}") == f"a{chr(other)}{chr(c)}" for other in classes)
    return barrier, rank


def sections():
    clean, chinese = normalizer(clean_text=True), normalizer(handle_chinese_chars=True)
    strip, lower, split = normalizer(strip_accents=True), normalizer(lowercase=True), BertPreTokenizer().pre_tokenize_str
    cleaned = {c: clean(f"a{chr(c)}b") for c in POINTS}
    words = {c: [w for w, _ in split(f"a{chr(c)}b")] for c in POINTS}
    bases = {c: strip(f"a{chr(c)}b")[1:-1] for c in POINTS}
    lowers = {c: lower(f"a{chr(c)}b")[1:-1] for c in POINTS}
    removed = {c for c in POINTS if not bases[c]}
    barrier, rank = combining(strip, removed)
    yield "other", spans(c for c in POINTS if cleaned[c] == "ab")
    yield "space", spans(c for c in POINTS if cleaned[c] == "a b")
    yield "white", spans(c for c in POINTS if words[c] == ["a", "b"])
    yield "alone", spans(c for c in POINTS if words[c] == ["a", chr(c), "b"])
    yield "ideograph", spans(c for c in POINTS if chinese(f"a{chr(c)}b") == f"a {chr(c)} b")
    yield "lower", shifted({c: lowers[c] for c in POINTS if lowers[c] != chr(c)})
    yield "mark", spans(removed)
    yield "start", spans(barrier)
    yield "order", [f"{s}={k:x}" for k in sorted(set(rank.values())) for s in spans(c for c in rank if rank[c] == k)]
    yield "base", listed({c: bases[c] for c in POINTS if bases[c] not in ("", chr(c)) and not 0xAC00 <= c < 0xD7A4})


def lines(name, words):
    line, most = name, 138
    for word in words:
        while len(line) + 1 + len(word) > most:
            cut = word.rfind(",", 0, max(most - len(line), 0))  # a list goes on in the next line
            if cut > 0:
                line += " " + word[:cut]
                word = f"{int(word.split(':')[0], 16) + word.count(',', 0, cut) + 1:x}:{word[cut + 1:]}"
            yield line
            line = " "
        line += " " + word
    yield line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    text = HEAD % tokenizers.__version__ + "\n" + "".join(f"{line}\n" for name, words in sections() for line in lines(name, words))
    if not parser.parse_args().check:
        sys.stdout.write(text)
    elif text != FILE.read_text():
        sys.exit(f"{FILE} is not what tokenizers {tokenizers.__version__} does: print it anew")
    else:
        print(f"ok   unicode.txt is what tokenizers {tokenizers.__version__} does to {len(POINTS):,} code points")


if __name__ == "__main__":
    main()
