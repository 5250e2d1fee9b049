# SPDX-License-Identifier: MIT
"""The theory of bits: words are bit vectors, floats are those of IEEE 754. theory.py says when it serves."""
import struct

import z3

from ir import Unsupported
from theory import Float, Word, both, either, negate

SORTS = {16: z3.Float16, 32: z3.Float32, 64: z3.Float64}
NEAREST = z3.RNE


class Bits:
    def __init__(self):
        self.path = None

    def term(self, word):
        return z3.BitVecVal(word.term, word.width) if isinstance(word.term, int) else word.term

    def made(self, width, term, high=None):
        """`high`: it is no larger than that."""
        term = z3.simplify(term)
        return Word(width, term.as_long() if z3.is_bv_value(term) else term, 0, min((1 << width) - 1, high if high is not None else 1 << width))

    @staticmethod
    def most(op, a, b):
        """An upper bound of the result that needs no solver; None: none but that of its width."""
        if op in ("and", "or", "xor"):
            return min(a.high, b.high) if op == "and" else (1 << max(a.high, b.high).bit_length()) - 1
        if op in ("add", "mul"):
            exact = a.high + b.high if op == "add" else a.high * b.high
            return exact if exact < 1 << a.width else None
        return a.high >> b.term if op == "lshr" and isinstance(b.term, int) else None

    def constant(self, width, value):
        return Word(width, value % (1 << width))

    def fresh(self, width, name):
        return Word(width, z3.BitVec(name, width), 0, (1 << width) - 1)

    def fresh_float(self, width, name):
        return Float(width, z3.fpBVToFP(z3.BitVec(name, width), SORTS[width]()))

    def unsigned(self, word):
        return word.term, 0, (1 << word.width) - 1

    def binary(self, op, a, b):
        x, y = self.term(a), self.term(b)
        made = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "and": lambda: x & y, "or": lambda: x | y,
                "xor": lambda: x ^ y, "shl": lambda: x << y, "lshr": lambda: z3.LShR(x, y), "ashr": lambda: x >> y,
                "udiv": lambda: z3.UDiv(x, y), "urem": lambda: z3.URem(x, y), "sdiv": lambda: x / y, "srem": lambda: z3.SRem(x, y)}
        return self.made(a.width, made[op](), self.most(op, a, b))

    def overflows(self, op, signed, a, b):
        most = self.most(op, a, b)
        if most is not None and most < 1 << a.width - signed and max(a.high, b.high) < 1 << a.width - signed:
            return self.binary(op, a, b), False
        more = a.width if op == "mul" else 1
        extend = z3.SignExt if signed else z3.ZeroExt
        x, y = extend(more, self.term(a)), extend(more, self.term(b))
        exact = x + y if op == "add" else x - y if op == "sub" else x * y
        word = z3.Extract(a.width - 1, 0, exact)
        over = z3.simplify(extend(more, word) != exact)
        return self.made(a.width, word), True if z3.is_true(over) else False if z3.is_false(over) else over

    def truth(self, word):
        return bool(word.term) if isinstance(word.term, int) else word.truth if word.truth is not None else word.term != 0

    def from_truth(self, truth, width):
        if isinstance(truth, bool):
            return Word(width, int(truth))
        return Word(width, z3.If(truth, z3.BitVecVal(1, width), z3.BitVecVal(0, width)), truth=truth)

    def compared(self, predicate, a, b):
        x, y = self.term(a), self.term(b)
        if a is b:
            return predicate in ("eq", "ule", "uge", "sle", "sge")
        if predicate == "ne" and isinstance(b.term, int) and b.term == 0 and a.truth is not None:
            return a.truth
        made = {"eq": lambda: x == y, "ne": lambda: x != y, "ult": lambda: z3.ULT(x, y), "ule": lambda: z3.ULE(x, y),
                "ugt": lambda: z3.UGT(x, y), "uge": lambda: z3.UGE(x, y), "slt": lambda: x < y, "sle": lambda: x <= y,
                "sgt": lambda: x > y, "sge": lambda: x >= y}[predicate]()
        made = z3.simplify(made)
        return True if z3.is_true(made) else False if z3.is_false(made) else made

    def extended(self, word, width, signed):
        if word.truth is not None and not signed:
            return self.from_truth(word.truth, width)
        if word.whole is not None and word.whole.width == width and not (signed and word.high >> word.width - 1):
            return word.whole
        extend = z3.SignExt if signed else z3.ZeroExt
        known = not signed or not word.high >> word.width - 1
        return self.made(width, extend(width - word.width, self.term(word)), word.high if known else None)

    def truncated(self, word, width):
        if word.truth is not None:
            return self.from_truth(word.truth, width)
        made = self.made(width, z3.Extract(width - 1, 0, self.term(word)), word.high)
        made.whole = word if word.high < 1 << width else None
        return made

    def selected(self, condition, a, b):
        if a.truth is not None and b.truth is not None:
            return self.from_truth(either(both(condition, a.truth), both(negate(condition), b.truth)), a.width)
        return self.made(a.width, z3.If(condition, self.term(a), self.term(b)), max(a.high, b.high))

    def split(self, word, byte, count):
        return self.made(8 * count, z3.Extract(8 * (byte + count) - 1, 8 * byte, self.term(word)))

    def joined_bytes(self, parts):
        terms = [self.term(word) for _, word in reversed(parts)]
        made = self.made(8 * sum(count for count, _ in parts), z3.Concat(*terms) if len(terms) > 1 else terms[0])
        made.parts = parts
        return made

    # ---- floats ----

    def float_bits(self, value, name):
        return self.made(value.width, z3.fpToIEEEBV(value.term))

    def bits_float(self, word):
        return Float(word.width, z3.simplify(z3.fpBVToFP(self.term(word), SORTS[word.width]())))

    def float_constant(self, width, text):
        if text.startswith("0x"):
            value = struct.unpack(">d", int(text[2:], 16).to_bytes(8, "big"))[0]
        else:
            value = float(text)
        if width == 32:
            bits = int.from_bytes(struct.pack(">f", value), "big")
        else:
            bits = int.from_bytes(struct.pack(">d", value), "big")
        return self.bits_float(Word(width, bits))

    def float_op(self, op, values, width):
        a, b = values[0].term, values[-1].term
        made = {"fadd": lambda: z3.fpAdd(NEAREST(), a, b), "fsub": lambda: z3.fpSub(NEAREST(), a, b),
                "fmul": lambda: z3.fpMul(NEAREST(), a, b), "fdiv": lambda: z3.fpDiv(NEAREST(), a, b), "fneg": lambda: z3.fpNeg(a)}[op]()
        return Float(width, z3.simplify(made))

    def float_compared(self, predicate, a, b, name):
        x, y = a.term, b.term
        kinds = {"eq": z3.fpEQ, "ne": z3.fpNEQ, "lt": z3.fpLT, "le": z3.fpLEQ, "gt": z3.fpGT, "ge": z3.fpGEQ}
        unordered = z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y))
        if predicate in ("uno", "ord"):
            made = unordered if predicate == "uno" else z3.Not(unordered)
        elif predicate[0] == "o":
            made = z3.And(z3.Not(unordered), kinds[predicate[1:]](x, y))
        else:
            made = z3.Or(unordered, kinds[predicate[1:]](x, y))
        made = z3.simplify(made)
        return True if z3.is_true(made) else False if z3.is_false(made) else made

    def converted(self, op, value, width, name):
        if op in ("sitofp", "uitofp"):
            to = z3.fpSignedToFP if op == "sitofp" else z3.fpUnsignedToFP
            return Float(width, z3.simplify(to(NEAREST(), self.term(value), SORTS[width]())))
        if op in ("fptosi", "fptoui"):
            to = z3.fpToSBV if op == "fptosi" else z3.fpToUBV
            return self.made(width, to(z3.RTZ(), value.term, z3.BitVecSort(width)))
        if op in ("fpext", "fptrunc"):
            return Float(width, z3.simplify(z3.fpFPToFP(NEAREST(), value.term, SORTS[width]())))
        raise Unsupported(op)

    def fits(self, op, value, width):
        """Whether the conversion of a float to an integer is defined."""
        whole = z3.fpRoundToIntegral(z3.RTZ(), value.term)
        sort = SORTS[value.width]()
        least, end = (-(1 << width - 1), 1 << width - 1) if op == "fptosi" else (0, 1 << width)
        return z3.And(z3.Not(z3.fpIsNaN(whole)), z3.fpGEQ(whole, z3.FPVal(least, sort)), z3.fpLT(whole, z3.FPVal(end, sort)))
