# SPDX-License-Identifier: MIT
"""
What a word of bits is to the solver, in one of two theories.

Integers: a word of w bits is an integer modulo 2^w, with bounds that hold for it. Sums and products stay what they are in mathematics until
somebody asks for the word's value: only then, and only if the bounds do not exclude it, is it brought into range. So products of 64 bits
are products of integers, which solvers are good at; masks and shifts have to be by constants.

Bits: a word is a bit vector, a float is IEEE 754's. For code that works on bits, with few multiplications.
"""
import z3

from ir import Unsupported


class Word:
    __slots__ = ("width", "term", "low", "high", "parts", "truth", "zeros", "whole")

    def __init__(self, width, term, low=None, high=None, parts=None, truth=None, zeros=0):
        self.width, self.term = width, term
        if high is None:
            low, high = 0, (1 << width) - 1
        self.low, self.high = (term, term) if isinstance(term, int) else (low, high)
        self.parts = parts  # [(bytes, word)] it was read from
        self.truth = truth  # the bool that this is 0 or 1 of
        self.zeros = zeros  # so many low bits are 0
        self.whole = None  # the wider word that this is, cut off where it has no bits


class Float:
    """In the theory of integers nothing is known of a float: term is None."""
    __slots__ = ("width", "term")

    def __init__(self, width, term=None):
        self.width, self.term = width, term


def both(a, b):
    if a is False or b is False:
        return False
    return b if a is True else a if b is True else z3.And(a, b)


def either(a, b):
    return negate(both(negate(a), negate(b)))


def negate(a):
    return not a if isinstance(a, bool) else a.arg(0) if z3.is_not(a) else z3.Not(a)


def to_z3(a):
    return z3.BoolVal(a) if isinstance(a, bool) else a


def choose(condition, a, b):
    return z3.If(condition, z3.IntVal(a) if isinstance(a, int) else a, z3.IntVal(b) if isinstance(b, int) else b)


def compare(predicate, a, b):
    """Of integers or terms."""
    return {"eq": lambda: a == b, "ne": lambda: a != b, "lt": lambda: a < b, "le": lambda: a <= b, "gt": lambda: a > b,
            "ge": lambda: a >= b}[predicate]()


class Integers:
    def __init__(self):
        self.path = None  # of the state that runs: known bounds, and what is asked of the solver

    def constant(self, width, value):
        return Word(width, value % (1 << width))

    def fresh(self, width, name):
        term = z3.Int(name)
        self.path.add(z3.And(term >= 0, term < (1 << width)), False)
        return Word(width, term, 0, (1 << width) - 1)

    def fresh_float(self, width, name):
        return Float(width)

    def bounds(self, word):
        return self.path.bounds(word.term, word.low, word.high)

    def unsigned(self, word):
        return self.in_range(word, 0, 1 << word.width)

    def signed(self, word):
        return self.in_range(word, -(1 << word.width - 1), 1 << word.width - 1)

    def in_range(self, word, least, end):
        """The term, its bounds: least <= term < end."""
        size, term = 1 << word.width, word.term
        low, high = self.bounds(word)
        if isinstance(term, int):
            value = (term - least) % size + least
            return value, value, value
        if low < least and self.path.holds(term >= least):
            low = self.path.learn(term, least, high)[0]
        if high >= end and self.path.holds(term < end):
            high = self.path.learn(term, low, end - 1)[1]
        if low >= least and high < end:
            return term, low, high
        if low >= least - size and high < end:
            return choose(term < least, term + size, term), least, end - 1
        if low >= least and high < end + size:
            return choose(term >= end, term - size, term), least, end - 1
        return ((term - least) % size + least if least else term % size), least, end - 1

    def word(self, width, term, low, high, zeros=0):
        if isinstance(term, int):
            return Word(width, term % (1 << width))
        if low == high:
            return Word(width, low % (1 << width))
        if high - low > (1 << 2 * width + 8):  # no interval to speak of
            return Word(width, term % (1 << width), 0, (1 << width) - 1)
        return Word(width, term, low, high, zeros=zeros)

    def binary(self, op, a, b):
        width = a.width
        if width == 1 and op in ("and", "or", "xor", "add"):
            x, y = self.truth(a), self.truth(b)
            made = {"and": lambda: both(x, y), "or": lambda: either(x, y)}.get(op, lambda: self.differ(x, y))()
            return self.from_truth(made, 1)
        if op in ("add", "sub", "mul"):
            return self.exact(op, a, b)
        return getattr(self, op)(a, b)

    def differ(self, x, y):
        if isinstance(x, bool):
            return negate(y) if x else y
        return (negate(x) if y else x) if isinstance(y, bool) else z3.Xor(x, y)

    def exact(self, op, a, b):
        (al, ah), (bl, bh) = self.bounds(a), self.bounds(b)
        x, y = a.term, b.term
        if op == "add":
            return self.word(a.width, x + y, al + bl, ah + bh, min(a.zeros, b.zeros))
        if op == "sub":
            if isinstance(x, int) and x == 0 and not isinstance(y, int) and y.decl().kind() == z3.Z3_OP_UMINUS:
                return self.word(a.width, y.arg(0), -bh, -bl)
            return self.word(a.width, x - y, al - bh, ah - bl)
        corners = [p * q for p in (al, ah) for q in (bl, bh)]
        zeros = self.trailing(a) + self.trailing(b)
        return self.word(a.width, x * y, min(corners), max(corners), zeros)

    @staticmethod
    def trailing(word):
        if isinstance(word.term, int):
            return (word.term & -word.term).bit_length() - 1 if word.term else word.width
        return word.zeros

    def overflows(self, op, signed, a, b):
        """The word, and whether the exact result is none of its type."""
        view = self.signed if signed else self.unsigned
        (x, xl, xh), (y, yl, yh) = view(a), view(b)
        exact = self.exact(op, Word(a.width, x, xl, xh, zeros=a.zeros), Word(b.width, y, yl, yh, zeros=b.zeros))
        least, end = (-(1 << a.width - 1), 1 << a.width - 1) if signed else (0, 1 << a.width)
        term = x + y if op == "add" else x - y if op == "sub" else x * y
        low, high = self.path.bounds(term, exact.low, exact.high) if not isinstance(term, int) else (term, term)
        if low >= least and high < end:
            return exact, False
        if isinstance(term, int):
            return exact, True
        outside = [term < least] if low < least else []
        outside += [term >= end] if high >= end else []
        return exact, z3.Or(*outside)

    def truth(self, word):
        if word.truth is not None:
            return word.truth
        term, low, high = self.unsigned(word)
        return term != 0 if not isinstance(term, int) else bool(term)

    def from_truth(self, truth, width):
        if isinstance(truth, bool):
            return Word(width, int(truth))
        return Word(width, choose(truth, 1, 0), 0, 1, truth=truth)

    def divided(self, a, b, signed):
        view = self.signed if signed else self.unsigned
        (x, xl, xh), (y, yl, yh) = view(a), view(b)
        if isinstance(x, int) and isinstance(y, int):
            q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            return (q, q, q), (x - q * y,) * 3
        if signed and not (xl >= 0 and yl > 0):
            return self.divided_signed((x, xl, xh), (y, yl, yh))
        if isinstance(y, int):
            if not signed and y & (y - 1) == 0 and a.zeros >= y.bit_length() - 1:
                pass
            return (x / y, xl // y, xh // y), (x % y, 0, min(y - 1, xh))
        return self.path.quotient(x, xl, xh, y, max(yl, 1), yh)

    def divided_signed(self, a, b):
        (x, xl, xh), (y, yl, yh) = a, b
        if yl <= 0:
            raise Unsupported("a signed division whose divisor may be below 1")
        # Towards 0, by a quotient of numbers that are not below it.
        size = choose(x >= 0, x, -x)
        (q, ql, qh), (r, rl, rh) = self.path.quotient(size, 0, max(abs(xl), abs(xh)), y, yl, yh) if not isinstance(y, int) else (
            (size / y, 0, max(abs(xl), abs(xh)) // y), (size % y, 0, y - 1))
        return (choose(x >= 0, q, -q), -qh, qh), (choose(x >= 0, r, -r), -rh, rh)

    def udiv(self, a, b):
        return self.word(a.width, *self.divided(a, b, False)[0])

    def urem(self, a, b):
        return self.word(a.width, *self.divided(a, b, False)[1])

    def sdiv(self, a, b):
        return self.word(a.width, *self.divided(a, b, True)[0])

    def srem(self, a, b):
        return self.word(a.width, *self.divided(a, b, True)[1])

    def by(self, b):
        if isinstance(b.term, int):
            return b.term
        low, high = self.bounds(b)
        if low == high:
            return low
        raise Unsupported("a shift that is no constant, in the theory of integers")

    def shl(self, a, b):
        k = self.by(b)
        return self.exact("mul", a, Word(a.width, 1 << k)) if k < a.width else Word(a.width, 0)

    def lshr(self, a, b):
        term, low, high = self.unsigned(a)
        k = self.by(b)
        return self.word(a.width, term >> k if isinstance(term, int) else term / (1 << k), low >> k, high >> k)

    def ashr(self, a, b):
        term, low, high = self.signed(a)
        k = self.by(b)
        return self.word(a.width, term >> k if isinstance(term, int) else term / (1 << k), low >> k, high >> k)

    def xor(self, a, b):
        if isinstance(a.term, int):
            a, b = b, a
        if isinstance(a.term, int):
            return Word(a.width, a.term ^ b.term % (1 << a.width))
        if isinstance(b.term, int) and b.term % (1 << b.width) == (1 << b.width) - 1:
            low, high = self.bounds(a)
            return self.word(a.width, -1 - a.term, -1 - high, -1 - low)
        raise Unsupported("xor in the theory of integers")

    def __getattr__(self, name):
        if name == "and":
            return self.masked
        if name == "or":
            return self.joined
        raise AttributeError(name)

    @staticmethod
    def truths(a, b):
        """Of two words that are 0 or 1 of a condition; None where one is not."""
        found = [w.truth if w.truth is not None else bool(w.term) if w.term in (0, 1) and isinstance(w.term, int) else None for w in (a, b)]
        return None if None in found else found

    def masked(self, a, b):
        if self.truths(a, b):
            return self.from_truth(both(*self.truths(a, b)), a.width)
        if isinstance(a.term, int):
            a, b = b, a
        (x, xl, xh), (mask, ml, _) = self.unsigned(a), self.unsigned(b)
        if isinstance(x, int):
            return Word(a.width, x & mask)
        if not isinstance(mask, int):
            raise Unsupported("a mask that is no constant, in the theory of integers")
        if mask == 0:
            return Word(a.width, 0)
        shift = (mask & -mask).bit_length() - 1
        bits = mask >> shift
        if bits & (bits + 1):
            raise Unsupported("a mask with gaps, in the theory of integers")
        part = x / (1 << shift) if shift else x
        if xh >> shift > bits:
            part = part % (bits + 1)
        return self.word(a.width, part * (1 << shift) if shift else part, 0, min(mask, xh), shift)

    def joined(self, a, b):
        if self.truths(a, b):
            return self.from_truth(either(*self.truths(a, b)), a.width)
        (x, xl, xh), (y, yl, yh) = self.unsigned(a), self.unsigned(b)
        if isinstance(x, int) and isinstance(y, int):
            return Word(a.width, x | y)
        if yh < 1 << self.trailing(a) or xh < 1 << self.trailing(b):
            return self.word(a.width, x + y, xl + yl, xh + yh, min(self.trailing(a), self.trailing(b)))
        raise Unsupported("or of bits that may meet, in the theory of integers")

    def compared(self, predicate, a, b):
        if predicate in ("eq", "ne") and b.term == 0 and isinstance(b.term, int) and a.truth is not None:
            return a.truth if predicate == "ne" else negate(a.truth)
        signed = predicate.startswith("s")
        if predicate in ("eq", "ne"):
            name, signed = predicate, min(self.bounds(a)[0], self.bounds(b)[0]) < 0
        else:
            name = predicate[1:]
        view = self.signed if signed else self.unsigned
        (x, xl, xh), (y, yl, yh) = view(a), view(b)
        decided = decide(name, xl, xh, yl, yh)
        if decided is not None:
            return decided
        if x is y:
            return name in ("eq", "le", "ge")
        return compare(name, x, y)

    def extended(self, word, width, signed):
        if word.truth is not None and not signed:
            return self.from_truth(word.truth, width)
        term, low, high = (self.signed if signed else self.unsigned)(word)
        return self.word(width, term, low, high, word.zeros)

    def truncated(self, word, width):
        if word.truth is not None:
            return self.from_truth(word.truth, width)
        if width == 1:
            term, _, high = self.unsigned(word)
            if not isinstance(term, int) and high <= 1:
                return Word(1, term, 0, 1, truth=term != 0)
            return self.word(1, term & 1 if isinstance(term, int) else term % 2, 0, 1)
        low, high = self.bounds(word)
        return self.word(width, word.term, low, high, word.zeros)

    def selected(self, condition, a, b):
        if a.truth is not None and b.truth is not None:
            return self.from_truth(either(both(condition, a.truth), both(negate(condition), b.truth)), a.width)
        (al, ah), (bl, bh) = self.bounds(a), self.bounds(b)
        return self.word(a.width, choose(condition, a.term, b.term), min(al, bl), max(ah, bh), min(self.trailing(a), self.trailing(b)))

    def split(self, word, byte, count):
        """`count` bytes of a word, from `byte` on."""
        term, low, high = self.unsigned(word)
        if isinstance(term, int):
            return Word(8 * count, term >> 8 * byte & (1 << 8 * count) - 1)
        if byte:
            term, high = term / (1 << 8 * byte), high >> 8 * byte
        if high >= 1 << 8 * count:
            term, high = term % (1 << 8 * count), (1 << 8 * count) - 1
        return self.word(8 * count, term, 0, high)

    def joined_bytes(self, parts):
        """[(bytes, word)], the lowest first."""
        term, high, at = 0, 0, 0
        for count, part in parts:
            value, _, most = self.unsigned(part)
            term, high = (value * (1 << at) + term if at else value), high + (most << at)
            at += 8 * count
        made = self.word(at, term, 0, high)
        made.parts = parts
        return made

    def float_bits(self, value, name):
        return self.fresh(value.width, name)

    def bits_float(self, word):
        return Float(word.width)

    def float_constant(self, width, text):
        return Float(width)

    def float_op(self, op, values, width):
        return Float(width)

    def float_compared(self, predicate, a, b, name):
        return z3.Bool(name)

    def converted(self, op, value, width, name):
        return self.fresh(width, name) if op in ("fptosi", "fptoui") else Float(width)

    @staticmethod
    def fits(op, value, width):
        return True


def decide(name, xl, xh, yl, yh):
    """What the bounds say of a comparison; None: nothing."""
    if name in ("gt", "ge"):
        return decide("lt" if name == "gt" else "le", yl, yh, xl, xh)
    if name == "lt":
        return True if xh < yl else False if xl >= yh else None
    if name == "le":
        return True if xh <= yl else False if xl > yh else None
    apart = xh < yl or yh < xl
    same = xl == xh == yl == yh
    if apart or same:
        return same == (name == "eq")
    return None
