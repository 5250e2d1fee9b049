#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/text/cases anew: small tokenizers of the BERT kind, and what Hugging Face's `tokenizers` makes of lines by each of them.
tests/unit/samples/test_text_cases.c reads them."""
import json
import pathlib
import random

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing, RobertaProcessing, TemplateProcessing

CASES = pathlib.Path(__file__).parent / "cases"
WORDS = ("the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what all were "
         "when your can said there use an each which she do how their if will up other about out many then them these so some her would make "
         "like him into time has look two more write go see number no way could people my than first water been call who oil its now find "
         "long down day did get come made may part").split()
ENDS = "s es ing ed er ly tion ment ness ful less able ism".split()
SINGLE = ("abcdefghijklmnopqrstuvwxyz0123456789ABCÄäÉéñß.,;:!?-_'\"()[]<>#$%&*+/=@\\^`{|}~αβγσςабвйיאاनम東京漢字가각がか"
          "\ufffd\u200d\u0301\u0327\u08d4\u302e\U0001d165\U0001d16d\U0001d157€…“”·")
LINES = ["", " ", "the people", "The PEOPLE!", "waters's waterless, unwaterable", "naïve Ünïcôdé ÀÉÎ", "İstanbul ıI", "ΑΒΓΣς ΆΈ", "АБВЙй",
         "東京漢字 and 東の京", "豈更車 廓", "가각힣 한국", "がぎ ガ", "नमस्ते नम", "שלום אָ", "can't won't e-mail a.b.c", "3.14 1,000 $5 50%", "[CLS] in [SEP] the [MASK] text",
         "[sep] [ SEP ] [[SEP]] [SEP[SEP]]", "<s>the</s> <s >", "## ##s the##s", "a\tb\rc\x0bd\x0ce\x85f\xa0g\u2003h\u2028i\u3000j", "\x01\x7f\xad\u200b\ufeffthe\ue000",
         "\u200dthe\u200d p\u200deople", "x" * 99, "x" * 100, "x" * 101, "the" * 33, "the" * 34, "é" * 100, "é" * 101, "가" * 33, "가" * 34, "q" * 400,
         "a\u0301\u0327b", "a\U0001d16d\U0001d165b", "a\U0001d16d\u0301\U0001d165b", "a\U0001d16d\u034f\U0001d165b", "a\u302e\U0001d165\u08d4\u302eb", "\U0001d15e \U0001d160",
         "≠ ≮ \u037e \u0387 \u2000 \u2126 \u212a", "€5… “the” · ¿no?", "a" * 30 + " " + "the " * 60, "\ufffd the\ufffd", "ŉ ĳ ǅ ﬁ ẞ ſ", "𝐀𝐁 𐐀𐐨 😀the😀", "\u09dc \u0958 \u0344 \u0f73"]
DAMAGED = [b"the\xff people", b"\xc3", b"a\xc3", b"\xc3\xa9\xc3", b"\xc0\x80a", b"\xe0\x80\x80a", b"\xe0\xa0a", b"\xed\xa0\x80a", b"\xf0\x80\x80\x80a",
           b"\xf0\x90\x80a", b"\xf4\x90\x80\x80a", b"\xf5\x80a", b"\x80\x80the\xbf", b"\xe2\x82", b"\xe2\x82\xac\xe2\x82", b"\xf0\x9f\x98", b"[SEP\xff]", b"a\xf1\x80\x80\xe1\x80\xc2b"]


def vocabulary(front):
    tokens = list(front)
    for token in WORDS + list(SINGLE) + ["##" + e for e in ENDS] + ["##" + c for c in SINGLE if c not in "qQ#[]"] + ["##the", "東京", "##\u1161", "##\u11a8"]:
        if token not in tokens:
            tokens.append(token)
    return {token: i for i, token in enumerate(tokens)}


def noise(generator, count):
    pool = [chr(c) for c in range(0x21, 0x600)] + list(SINGLE) * 8 + [" "] * 200 + WORDS * 3 + ENDS
    for _ in range(count):
        yield "".join(generator.choice(pool) for _ in range(generator.randrange(1, 12)))


def tokenizer(name, front, options, processor, length, unknown="[UNK]"):
    vocab = vocabulary(front)
    made = Tokenizer(WordPiece(vocab, unk_token=unknown))
    made.normalizer, made.pre_tokenizer = BertNormalizer(**options), BertPreTokenizer()
    made.add_special_tokens([t for t in front if t[0] in "[<"])
    if processor:
        made.post_processor = processor(vocab)
    made.enable_truncation(length)
    path = CASES / f"{name}.json"
    if name == "vocabulary":
        path = CASES / "vocab.txt"
        path.write_text("".join(f"{t}\n" for t in vocab), newline="")
    else:
        path.write_text(made.to_str(pretty=False) + "\n")
    return name, path.name, length, made


def main():
    CASES.mkdir(exist_ok=True)
    bert, roberta = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
    template = lambda v: TemplateProcessing(single="[CLS] [CLS] $A [SEP]", special_tokens=[("[CLS]", v["[CLS]"]), ("[SEP]", v["[SEP]"])])
    made = [tokenizer("vocabulary", bert, {}, lambda v: BertProcessing(("[SEP]", v["[SEP]"]), ("[CLS]", v["[CLS]"])), 16),
            tokenizer("usual", bert, {}, template, 128),
            tokenizer("cased", bert, {"lowercase": False}, lambda v: BertProcessing(("[SEP]", v["[SEP]"]), ("[CLS]", v["[CLS]"])), 24),
            tokenizer("kept", roberta, {"strip_accents": False}, lambda v: RobertaProcessing(("</s>", v["</s>"]), ("<s>", v["<s>"])), 60),
            tokenizer("bare", bert, {"clean_text": False, "handle_chinese_chars": False, "strip_accents": True, "lowercase": False}, None, 40)]
    out = {}
    for name, file, length, t in made:
        lines = LINES + list(noise(random.Random(name), 40))
        out[name] = {"tokenizer": file, "max_length": length, "lines": [[line, t.encode(line).ids] for line in lines if "\0" not in line],
                     "damaged": [[line.hex(), t.encode(line.decode("utf-8", "replace")).ids] for line in DAMAGED]}
    texts = [f'"{name}": {{"tokenizer": "{c["tokenizer"]}", "max_length": {c["max_length"]},\n  "lines": [\n'
             + ",\n".join("    " + json.dumps(line) for line in c["lines"]) + '],\n  "damaged": [\n'
             + ",\n".join("    " + json.dumps(line) for line in c["damaged"]) + "]}" for name, c in out.items()]
    (CASES / "cases.json").write_text("{" + ",\n ".join(texts) + "}\n")
    print(sum(len(c["lines"]) + len(c["damaged"]) for c in out.values()), "lines by", len(out), "tokenizers")


if __name__ == "__main__":
    main()
