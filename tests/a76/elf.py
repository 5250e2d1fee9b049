# SPDX-License-Identifier: MIT
"""The code and the symbols of a static 64-bit little-endian ELF program."""
import struct

PT_LOAD, SHT_SYMTAB, STT_FUNC = 1, 2, 2


class Program:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little-endian ELF program")
        segments, sections = struct.unpack_from("<QQ", self.bytes, 32)
        segment_size, segment_count, section_size, section_count = struct.unpack_from("<HHHH", self.bytes, 54)
        self.segments = []
        for i in range(segment_count):
            kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", self.bytes, segments + i * segment_size)
            if kind == PT_LOAD:
                self.segments.append((address, offset, size))
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, sections + i * section_size) for i in range(section_count)]
        self.functions = sorted({f for h in headers if h[1] == SHT_SYMTAB for f in self._functions(h, headers[h[6]][4])})

    def _functions(self, table, strings):
        for at in range(table[4], table[4] + table[5], table[9]):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.bytes, at)
            if info & 15 == STT_FUNC and section:
                start = strings + name
                yield value, size, self.bytes[start:self.bytes.index(b"\0", start)].decode()

    def words(self, address, count):
        """`count` instructions from an address on, or None where that is not in the file."""
        for base, offset, size in self.segments:
            if base <= address and address + 4 * count <= base + size:
                return struct.unpack_from(f"<{count}I", self.bytes, offset + address - base)
        return None

    def find(self, name):
        """(address, size) of a function, or None."""
        return next(((value, size) for value, size, known in self.functions if known == name), None)

    def place(self, address):
        """An address in words: function+offset."""
        for value, size, name in self.functions:
            if value <= address < value + size:
                return f"{name}+{address - value:#x}"
        return f"{address:#x}"
