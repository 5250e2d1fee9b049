# SPDX-License-Identifier: MIT
"""LLVM's text of a translation unit, as clang -O0 writes it: types with their sizes, constants, functions of blocks of instructions."""
import re

TOKEN = re.compile(
    r'c"(?:[^"\\]|\\..)*"|[%@]"[^"]*"|[%@][-\w$.]+|"[^"]*"|![\w.]+|-?\d+\.\d+e[-+]\d+|0x[KLMHR]?[0-9A-F]+|-?\d+|[\w.]+|[()\[\]{}<>,=*!#:]')
INT, FLOAT, POINTER, ARRAY, STRUCT, VOID, FUNCTION = "int", "float", "pointer", "array", "struct", "void", "function"
FLOATS = {"half": 16, "float": 32, "double": 64}
# Words between an operand's type and the operand, which say nothing that matters here.
ATTRIBUTES = {"noundef", "zeroext", "signext", "nonnull", "noalias", "nocapture", "readonly", "writeonly", "inreg", "immarg", "readnone",
              "returned", "nest", "swiftself", "dso_local", "inbounds", "nsw", "nuw", "exact", "fast", "volatile", "tail", "musttail",
              "notail", "captures", "none", "fastcc", "nofpclass", "range"}


class Unsupported(Exception):
    """What the prover does not model. A proof that meets it fails."""


class Instruction:
    __slots__ = ("op", "result", "type", "operands", "extra", "place")

    def __init__(self, op, result, type_, operands, extra, place):
        self.op, self.result, self.type, self.operands, self.extra, self.place = op, result, type_, operands, extra, place


class Function:
    def __init__(self, name, result, parameters):
        self.name, self.result, self.parameters = name, result, parameters  # (register, type, bytes by value or 0)
        self.blocks, self.order, self.places = {}, [], None
        self.variables = {}  # name -> [(line, register of its alloca)]
        self.definitions = {}  # register -> instruction


class Reader:
    """Tokens of a line, in order."""

    def __init__(self, module, text):
        self.module, self.tokens, self.at = module, TOKEN.findall(text), 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def take(self, token):
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def expect(self, token):
        if not self.take(token):
            raise Unsupported(f"IR: {token} expected at {' '.join(self.tokens[self.at:self.at + 8])}")

    def list(self, end, item):
        items = []
        while not self.take(end):
            items.append(item())
            self.take(",")
        return items

    def type(self):
        token = self.next()
        if re.fullmatch(r"i\d+", token):
            found = (INT, int(token[1:]))
        elif token in FLOATS:
            found = (FLOAT, FLOATS[token])
        elif token in ("void", "metadata", "label", "opaque"):
            found = (VOID,)
        elif token == "ptr":
            found = (POINTER,)
        elif token == "{":
            found = (STRUCT, tuple(self.list("}", self.type)))
        elif token in "[<":
            count = int(self.next())
            self.expect("x")
            found = (ARRAY, count, self.type())
            self.next()
        elif token.startswith("%"):
            found = ("named", token)
        else:
            raise Unsupported(f"IR: no type: {token}")
        while self.peek() in ("*", "("):
            if self.take("*"):
                found = (POINTER,)
            else:
                self.next()
                self.list(")", lambda: self.next() if self.peek() == "." or self.peek() == "..." else self.type())
                found = (FUNCTION, found)
        return found

    def attributes(self):
        by_value = None
        while True:
            token = self.peek()
            if token in ATTRIBUTES:
                self.next()
            elif token in ("align", "dereferenceable", "dereferenceable_or_null"):
                self.next()
                if self.take("("):
                    self.next()
                    self.expect(")")
                else:
                    self.next()
            elif token in ("byval", "sret"):
                self.next()
                self.expect("(")
                by_value = (token, self.type())
                self.expect(")")
            else:
                return by_value

    def value(self, type_):
        """An operand: a register, or a constant."""
        token = self.next()
        if token.startswith("%"):
            return ("register", token)
        if token.startswith("@"):
            return ("global", token)
        if token in ("true", "false"):
            return ("int", int(token == "true"))
        if token in ("null", "undef", "poison", "zeroinitializer"):
            return (token,)
        if token == "getelementptr":
            self.attributes()
            self.expect("(")
            source = self.type()
            self.expect(",")
            operands = self.list(")", self.typed)
            return ("gep", source, operands)
        if token in ("bitcast", "ptrtoint", "inttoptr"):
            self.expect("(")
            operand = self.typed()
            self.expect("to")
            self.type()
            self.expect(")")
            return operand[1]
        if token in ("{", "["):
            return ("items", self.list("}" if token == "{" else "]", self.typed))
        if token.startswith('c"'):
            return ("bytes", re.sub(rb"\\([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), token[2:-1].encode("latin-1")))
        if re.fullmatch(r"-?\d+", token) and type_[0] != FLOAT:
            return ("int", int(token))
        if type_[0] == FLOAT:
            return ("float", token)
        raise Unsupported(f"IR: no value: {token}")

    def typed(self):
        type_ = self.type()
        by_value = self.attributes()
        return (type_, self.value(type_), by_value)


class Module:
    def __init__(self, text):
        self.types, self.globals, self.functions, self.metadata = {}, {}, {}, {}
        lines = text.split("\n")
        for line in lines:
            if line.startswith("%") and " = type " in line:
                name, body = line.split(" = type ", 1)
                self.types[name] = body
            elif line.startswith("!"):
                key, _, body = line.partition(" = ")
                self.metadata[key] = body
        at = 0
        while at < len(lines):
            line = lines[at]
            if line.startswith("@"):
                self.read_global(line)
            elif line.startswith("define "):
                at = self.read_function(lines, at)
            at += 1

    def resolve(self, type_):
        while type_[0] == "named":
            body = self.types[type_[1]]
            type_ = Reader(self, body).type()
        return type_

    def size(self, type_):
        return self.layout(type_)[0]

    def layout(self, type_):
        """Size, alignment."""
        type_ = self.resolve(type_)
        if type_[0] in (INT, FLOAT):
            size = 1
            while size * 8 < type_[1]:
                size *= 2
            return size, min(size, 16)
        if type_[0] in (POINTER, FUNCTION):
            return 8, 8
        if type_[0] == ARRAY:
            size, align = self.layout(type_[2])
            return size * type_[1], align
        if type_[0] == STRUCT:
            at, most = 0, 1
            for member in type_[1]:
                size, align = self.layout(member)
                at = (at + align - 1) // align * align + size
                most = max(most, align)
            return (at + most - 1) // most * most, most
        raise Unsupported(f"size of {type_}")

    def member(self, type_, index):
        """Offset and type of a struct's member."""
        at = 0
        for k, member in enumerate(self.resolve(type_)[1]):
            size, align = self.layout(member)
            at = (at + align - 1) // align * align
            if k == index:
                return at, member
            at += size
        raise Unsupported("no such member")

    def read_global(self, line):
        match = re.match(r'(@(?:"[^"]*"|[-\w$.]+)) = (.*?)\b(global|constant) (.*)', line)
        if match:
            self.globals[match[1]] = (match[4], "external" in match[2].split(), match[3] == "constant")

    def global_value(self, name):
        text, external, _ = self.globals[name]
        reader = Reader(self, text)
        type_ = reader.type()
        return type_, None if external else reader.value(type_)

    def place(self, line):
        """FILE:LINE of an instruction."""
        match = re.search(r"!dbg (!\d+)", line)
        return match[1] if match else None

    def place_text(self, key):
        body = self.metadata.get(key or "", "")
        line = re.search(r"line: (\d+)", body)
        scope = re.search(r"scope: (!\d+)", body)
        while scope:
            inner = self.metadata.get(scope[1], "")
            file = re.search(r"\bfile: (!\d+)", inner)
            if file:
                name = re.search(r'filename: "([^"]*)"', self.metadata[file[1]])[1]
                return f"{name}:{line[1] if line else 0}"
            scope = re.search(r"scope: (!\d+)", inner)
        return "?"

    def read_function(self, lines, at):
        head = lines[at]
        name = re.search(r"(@[-\w$.]+)\(", head)
        before = head[:name.start()].split()
        words = [w for w in before if w not in ("define", "internal", "dso_local", "hidden", "linkonce_odr", "available_externally",
                                                "private", "noundef", "zeroext", "signext")]
        result = Reader(self, " ".join(words)).type()
        reader = Reader(self, head[name.end():])

        def parameter():
            type_ = reader.type()
            by_value = reader.attributes()
            return reader.next(), type_, by_value
        function = Function(name[1], result, reader.list(")", parameter))
        block = None
        at += 1
        while lines[at] != "}":
            line = lines[at]
            label = re.match(r"([-\w$.]+):", line)
            if label:
                block = []
                function.blocks["%" + label[1]] = block
                function.order.append("%" + label[1])
            elif line.startswith("  "):
                while line.count("[") > line.count("]"):  # a switch goes on over lines
                    at += 1
                    line += " " + lines[at].strip()
                if "@llvm.dbg.declare" in line:
                    self.read_variable(function, line)
                elif "@llvm.dbg." not in line and "@llvm.lifetime" not in line:
                    instruction = self.read_instruction(line)
                    block.append(instruction)
                    function.definitions[instruction.result] = instruction
            at += 1
        self.functions[function.name] = function
        return at

    def read_variable(self, function, line):
        match = re.search(r"metadata [^%]*(?:%struct\.[\w.]+|%union\.[\w.]+)?[^%]*(%[-\w$.]+), metadata (!\d+), metadata !DI", line)
        registers = re.findall(r"%[-\w$.]+", line.split(", metadata")[0])
        if match and registers:
            body = self.metadata[match[2]]
            name = re.search(r'name: "([^"]*)"', body)
            line_number = re.search(r"line: (\d+)", body)
            if name:
                function.variables.setdefault(name[1], []).append((int(line_number[1]) if line_number else 0, registers[-1]))

    def read_instruction(self, line):
        place = self.place(line)
        text = re.sub(r", !\w+ !\d+.*$| #\d+.*$", "", line.strip())
        reader = Reader(self, text)
        result = None
        if len(reader.tokens) > 1 and reader.tokens[1] == "=":
            result = reader.next()
            reader.next()
        op = reader.next()
        while op in ("tail", "musttail", "notail"):
            op = reader.next()
        type_, operands, extra = self.read_operands(reader, op)
        return Instruction(op, result, type_, operands, extra, place)

    def read_operands(self, r, op):
        """(type of the result, typed operands, what else)"""
        r.attributes()
        if op == "alloca":
            return (POINTER,), [], r.type()
        if op == "load":
            type_ = r.type()
            r.expect(",")
            return type_, [r.typed()], None
        if op == "store":
            value = r.typed()
            r.expect(",")
            return None, [value, r.typed()], None
        if op == "getelementptr":
            source = r.type()
            operands = []
            while r.take(","):
                operands.append(r.typed())
            return (POINTER,), operands, source
        if op == "br":
            if r.take("label"):
                return None, [], [r.next()]
            condition = r.typed()
            r.expect(",")
            r.expect("label")
            yes = r.next()
            r.expect(",")
            r.expect("label")
            return None, [condition], [yes, r.next()]
        if op == "switch":
            value = r.typed()
            r.expect(",")
            r.expect("label")
            targets = [(None, r.next())]
            r.expect("[")
            while not r.take("]"):
                constant = r.typed()[1][1]
                r.expect(",")
                r.expect("label")
                targets.append((constant, r.next()))
            return None, [value], targets
        if op == "ret":
            return None, [] if r.peek() == "void" else [r.typed()], None
        if op == "unreachable":
            return None, [], None
        if op == "call":
            type_ = r.type()
            r.attributes()
            if type_[0] == FUNCTION:
                type_ = type_[1]
            callee = r.value((POINTER,))
            r.expect("(")
            operands = r.list(")", lambda: (r.next(), r.next(), None) if r.peek() == "metadata" else r.typed())
            return type_, operands, callee
        if op in ("icmp", "fcmp"):
            predicate = r.next()
            a = r.typed()
            r.expect(",")
            return (INT, 1), [a, (a[0], r.value(a[0]), None)], predicate
        if op in ("zext", "sext", "trunc", "bitcast", "ptrtoint", "inttoptr", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc"):
            a = r.typed()
            r.expect("to")
            return r.type(), [a], None
        if op == "phi":
            type_ = r.type()
            incoming = []
            while r.take("[") or (r.take(",") and r.take("[")):
                value = r.value(type_)
                r.expect(",")
                incoming.append((r.next(), value))
                r.expect("]")
            return type_, [], incoming
        if op in ("select", "extractvalue", "insertvalue"):
            operands = [r.typed()]
            while r.take(","):
                if re.fullmatch(r"\d+", r.peek()):
                    break
                operands.append(r.typed())
            return operands[-1][0], operands, [int(t) for t in r.tokens[r.at:] if t.isdigit()]
        if op in ("fneg", "freeze"):
            a = r.typed()
            return a[0], [a], None
        a = r.typed()
        r.expect(",")
        return a[0], [a, (a[0], r.value(a[0]), None)], None
