# SPDX-License-Identifier: MIT
"""
Objects of bytes: what the harness, functions and the code under proof declare. A pointer is an object and an offset in it, and every access
is proven to lie inside. An object that the harness left open holds any bytes: they get values as they are read.
"""
from ir import Unsupported
from theory import Float, Word


class Pointer:
    __slots__ = ("object", "offset")

    def __init__(self, object_, offset):
        self.object, self.offset = object_, offset  # object: its number, None for a null pointer, a name for a function


class Object:
    def __init__(self, name, size, is_open=False):
        self.name, self.size, self.is_open = name, size, is_open
        self.cells = {}    # offset -> (bytes, value)
        self.unclear = {}  # (id of an offset's term, bytes) -> (offset, value), since the last write
        self.is_constant = False

    def copy(self):
        other = Object(self.name, self.size, self.is_open)
        other.cells, other.unclear, other.is_constant = dict(self.cells), dict(self.unclear), self.is_constant
        return other


class Memory:
    """The access of one state to its objects; `theory` makes values, `prove` shows that accesses are right."""

    def __init__(self, objects=None):
        self.objects = {k: o.copy() for k, o in objects.items()} if objects else {}
        self.count = max(self.objects, default=0)

    def copy(self):
        return Memory(self.objects)

    def new(self, name, size, is_open=False):
        self.count += 1
        self.objects[self.count] = Object(name, size, is_open)
        return self.count

    def find(self, state, pointer, count, what):
        """The object, the offset: an integer where it is one. Proves that `count` bytes there are its own."""
        if not isinstance(pointer, Pointer) or not isinstance(pointer.object, int):
            raise state.failed(f"{what}: no pointer to an object")
        found = self.objects[pointer.object]
        offset, low, high = state.theory.signed(pointer.offset) if not isinstance(pointer.offset.term, int) else (
            signed(pointer.offset), 0, 0)
        if isinstance(offset, int) and isinstance(found.size, int):
            if not 0 <= offset <= found.size - count:
                raise state.failed(f"{what} outside {found.name}: byte {offset} of {found.size}")
            return found, offset
        size = found.size if isinstance(found.size, int) else state.theory.unsigned(found.size)[0]
        if not (isinstance(size, int) and low >= 0 and high <= size - count):
            state.prove(offset >= 0, f"{what} before {found.name}")
            state.prove(offset + count <= size, f"{what} behind {found.name}")
        return found, offset

    # ---- reading ----

    def load(self, state, pointer, count, kind):
        """kind: int, float or pointer."""
        found, offset = self.find(state, pointer, count, "read")
        if not isinstance(offset, int):
            return self.load_unclear(state, found, offset, count, kind)
        cell = found.cells.get(offset)
        if cell and cell[0] == count:
            return self.as_kind(state, cell[1], kind, found.name)
        pieces = self.pieces(state, found, offset, count, kind)
        if len(pieces) == 1 and pieces[0][0] == count:
            return self.as_kind(state, pieces[0][1], kind, found.name)
        words = [(n, self.as_kind(state, value, "int", found.name)) for n, value in pieces]
        if any(isinstance(word, Pointer) for _, word in words):
            raise Unsupported(f"a part of a pointer in {found.name}")
        return self.as_kind(state, state.theory.joined_bytes(words), kind, found.name)

    def as_kind(self, state, value, kind, name):
        if kind == "float" and isinstance(value, Word):
            return state.theory.bits_float(value)
        if kind == "int" and isinstance(value, Float):
            return state.theory.float_bits(value, state.name(name))
        if kind == "pointer" and not isinstance(value, Pointer):
            if isinstance(value, Word) and value.term == 0 and isinstance(value.term, int):
                return Pointer(None, value)
            raise Unsupported(f"a pointer out of bytes of {name}")
        return value

    def open_value(self, state, found, name, count, kind):
        if not found.is_open:
            raise state.failed(f"read of {name}, which nothing has written")
        if kind == "pointer":
            raise Unsupported(f"a pointer out of open bytes: {name}")
        if kind == "float":
            return state.theory.fresh_float(8 * count, state.name(name))
        return state.theory.fresh(8 * count, state.name(name))

    def load_unclear(self, state, found, offset, count, kind):
        """At an offset that is no number: any value, and the same for the same offset until something is written."""
        key = (offset.get_id(), count)
        if key not in found.unclear:
            if not found.is_open:
                raise Unsupported(f"{found.name}[..], whose index is no number")
            found.unclear[key] = (offset, self.open_value(state, found, f"{found.name}[{len(found.unclear)}]", count, kind))
        return self.as_kind(state, found.unclear[key][1], kind, found.name)

    def pieces(self, state, found, offset, count, kind):
        """[(bytes, value)] from `offset` on; what is open becomes a value."""
        made, at, end = [], offset, offset + count
        starts = sorted(k for k, (n, _) in found.cells.items() if k < end and k + n > offset)
        for start in starts + [None]:
            gap = min(start, end) if start is not None else end
            while at < gap:
                n = gap - at if kind != "bytes" else min(gap - at, 4 - at % 4)
                found.cells[at] = (n, self.open_value(state, found, f"{found.name}+{at}", n, "int" if kind == "bytes" else kind))
                made.append((n, found.cells[at][1]))
                at += n
            if start is None:
                break
            n, value = found.cells[start]
            first, last = max(start, offset), min(start + n, end)
            if (first, last) != (start, start + n):
                value = self.as_kind(state, value, "int", found.name)
                if isinstance(value, Pointer):
                    raise Unsupported(f"a part of a pointer in {found.name}")
                value = state.theory.split(value, first - start, last - first)
            made.append((last - first, value))
            at = last
        return made

    # ---- writing ----

    def store(self, state, pointer, count, value):
        found, offset = self.find(state, pointer, count, "write")
        if found.is_constant:
            raise state.failed(f"write to {found.name}, which is constant")
        found.unclear = {}
        if not isinstance(offset, int):
            found.cells, found.is_open = {}, True  # any of its bytes may have changed
            found.unclear[(offset.get_id(), count)] = (offset, value)
            return
        self.clear(state, found, offset, count)
        parts = value.parts if isinstance(value, Word) and value.parts else [(count, value)]
        for n, part in parts:
            found.cells[offset] = (n, part)
            offset += n

    def clear(self, state, found, offset, count):
        end = offset + count
        for start in [k for k, (n, _) in found.cells.items() if k < end and k + n > offset]:
            n, value = found.cells.pop(start)
            value = self.as_kind(state, value, "int", found.name) if start < offset or start + n > end else value
            if start < offset:
                found.cells[start] = (offset - start, state.theory.split(value, 0, offset - start))
            if start + n > end:
                found.cells[end] = (start + n - end, state.theory.split(value, end - start, start + n - end))

    def copy_bytes(self, state, to, source, count):
        if count == 0:
            return
        found, offset = self.find(state, source, count, "read")
        target, at = self.find(state, to, count, "write")
        if not isinstance(offset, int) or not isinstance(at, int):
            raise Unsupported("a copy whose place is no number")
        if not found.is_open:  # padding between members was never written
            cells = [(k, n, v) for k, (n, v) in sorted(found.cells.items()) if k >= offset and k + n <= offset + count]
            inside = sum(n for k, (n, _) in found.cells.items() if k < offset + count and k + n > offset)
            if inside == sum(n for _, n, _ in cells):
                self.clear(state, target, at, count)
                target.unclear = {}
                for k, n, value in cells:
                    target.cells[at + k - offset] = (n, value)
                return
        pieces = self.pieces(state, found, offset, count, "bytes")
        self.clear(state, target, at, count)
        target.unclear = {}
        for n, value in pieces:
            target.cells[at] = (n, value)
            at += n

    def fill(self, state, to, byte, count):
        if count == 0:
            return
        target, at = self.find(state, to, count, "write")
        if not isinstance(at, int) or not isinstance(byte.term, int):
            raise Unsupported("a fill whose place or value is no number")
        self.clear(state, target, at, count)
        target.unclear = {}
        end = at + count
        while at < end:
            n = 8 if at % 8 == 0 and end - at >= 8 else 4 if at % 4 == 0 and end - at >= 4 else 1
            target.cells[at] = (n, state.theory.constant(8 * n, int.from_bytes(bytes([byte.term % 256]) * n, "little")))
            at += n

    def forget(self, state, number):
        """Any value instead of each that it holds; pointers still point into the same objects."""
        found = self.objects[number]
        found.unclear = {}
        for at, (n, value) in list(found.cells.items()):
            found.cells[at] = (n, anything_like(state, value, f".{found.name}+{at}"))


def anything_like(state, value, name):
    if isinstance(value, Pointer):
        if not isinstance(value.object, int):
            return value
        return Pointer(value.object, state.theory.fresh(64, state.name(name)))
    if isinstance(value, Float):
        return state.theory.fresh_float(value.width, state.name(name))
    return state.theory.fresh(value.width, state.name(name))


def signed(word):
    value = word.term % (1 << word.width)
    return value - (1 << word.width) if value >> word.width - 1 else value
