# SPDX-License-Identifier: MIT
"""
Runs a harness function on symbols, on every path that an input can take. clang has put its checks (overflow, shifts, division, bounds,
conversions) into the code as branches to a trap: to reach one is a failure, and so is an access outside an object.
"""
import z3

from bits import Bits
from ir import ARRAY, FLOAT, INT, POINTER, STRUCT, Unsupported
from loops import Loops
from memory import Memory, Pointer
from path import Failed, Path
from theory import Float, Integers, Word, negate, to_z3

TRAPS = {0: "addition overflows", 1: "builtin unreachable", 3: "division by zero or overflow", 5: "float to integer overflows",
         7: "implicit conversion changes the value", 11: "missing return", 12: "multiplication overflows", 13: "negation overflows",
         18: "index out of bounds", 19: "pointer overflows", 20: "shift out of bounds", 21: "subtraction overflows", 22: "type mismatch"}
PURE = {"load", "getelementptr", "icmp", "fcmp", "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "zext", "sext", "trunc",
        "bitcast", "fadd", "fsub", "fmul", "fdiv", "fneg", "sitofp", "uitofp", "fpext", "fptrunc"}
MOST_STEPS = 400_000


class Frame:
    def __init__(self, function, result=None, after=None):
        self.function, self.result, self.after = function, result, after
        self.block, self.previous, self.at = None, None, 0
        self.registers, self.cut, self.own, self.targets = {}, set(), [], {}

    def copy(self):
        other = Frame(self.function, self.result, self.after)
        other.block, other.previous, other.at = self.block, self.previous, self.at
        other.registers, other.cut, other.own = dict(self.registers), set(self.cut), list(self.own)
        other.targets = self.targets
        return other


class State:
    def __init__(self, machine, other=None):
        self.machine, self.theory = machine, machine.theory
        self.frames = [f.copy() for f in other.frames] if other else []
        self.memory = other.memory.copy() if other else Memory()
        self.path = Path(other.path if other else None)
        self.globals = dict(other.globals) if other else {}
        self.place = other.place if other else None

    def name(self, name):
        count = self.path.names[name] = self.path.names.get(name, 0) + 1
        return name if count == 1 else f"{name}'{count}"

    def where(self):
        return self.machine.module.place_text(self.place)

    def prove(self, condition, what):
        self.path.prove(condition, f"{self.where()}: {what}")

    def failed(self, what):
        """It happens on this path, if an input takes it."""
        found, model = self.path.ask(z3.BoolVal(True), 10_000_000, True)
        return Failed(f"{self.where()}: {what}: {Path.example(model) if model is not None else found}")


class Machine:
    def __init__(self, module, function):
        self.module, self.start = module, module.functions["@" + function]
        calls = [i for b in self.start.blocks.values() for i in b if i.op == "call"]
        self.theory = Bits() if any(i.extra == ("global", "@prove_bits") for i in calls) else Integers()
        Path.of_bits = isinstance(self.theory, Bits)
        self.claims = {i.place: False for i in calls if i.extra == ("global", "@prove_assert")}
        self.loops = Loops(module)
        self.steps, self.paths = 0, 0

    def run(self):
        state = State(self)
        frame = self.enter(state, self.start, None)
        self.theory.path = state.path
        for register, type_, _ in self.start.parameters:
            frame.registers[register] = self.parameter(type_, register[1:])
        work = [state]
        while work:
            state = work.pop()
            self.theory.path = state.path
            self.paths += 1
            while state.frames:
                more = self.step(state)
                if more is not None:
                    work.extend(more)
                    break
        missed = [self.module.place_text(p) for p, reached in self.claims.items() if not reached]
        if missed:
            raise Failed(f"{missed[0]}: nothing is shown to reach this claim: it says nothing")

    def parameter(self, type_, name):
        if type_[0] == INT:
            return self.theory.fresh(type_[1], name)
        if type_[0] == FLOAT:
            return self.theory.fresh_float(type_[1], name)
        raise Unsupported("a parameter of a proof that is no number")

    @staticmethod
    def enter(state, function, result, after=None):
        frame = Frame(function, result, after)
        frame.block = function.order[0]
        state.frames.append(frame)
        return frame

    # ---- operands ----

    def operand(self, state, operand):
        type_, value = operand[0], operand[1]
        return self.value(state, type_, value)

    def value(self, state, type_, value):
        kind = value[0]
        if kind == "register":
            return state.frames[-1].registers[value[1]]
        type_ = self.module.resolve(type_)
        if kind == "int":
            return self.theory.from_truth(bool(value[1]), 1) if type_[1] == 1 else self.theory.constant(type_[1], value[1])
        if kind == "float":
            return self.theory.float_constant(type_[1], value[1])
        if kind in ("null", "zeroinitializer", "undef", "poison"):
            return self.zero(type_)
        if kind == "global":
            return self.global_pointer(state, value[1])
        if kind == "gep":
            operands = [self.operand(state, o) for o in value[2]]
            return self.element(operands[0], operands[1:], value[1])
        if kind == "items":
            return [self.value(state, t, v) for t, v, _ in value[1]]
        raise Unsupported(f"constant {kind}")

    def zero(self, type_):
        type_ = self.module.resolve(type_)
        if type_[0] == INT:
            return self.theory.constant(type_[1], 0)
        if type_[0] == POINTER:
            return Pointer(None, self.theory.constant(64, 0))
        if type_[0] == FLOAT:
            return self.theory.bits_float(self.theory.constant(type_[1], 0))
        if type_[0] == ARRAY:
            return [self.zero(type_[2]) for _ in range(type_[1])]
        return [self.zero(t) for t in type_[1]]

    def global_pointer(self, state, name):
        zero = self.theory.constant(64, 0)
        if name in self.module.functions or name not in self.module.globals:
            return Pointer(name, zero)
        if name not in state.globals:
            type_, value = self.module.global_value(name)
            number = state.memory.new(name[1:], self.module.size(type_), value is None)
            state.globals[name] = number
            if value is not None:
                self.initialize(state, Pointer(number, zero), type_, value)
            state.memory.objects[number].is_constant = self.module.globals[name][2]
        return Pointer(state.globals[name], zero)

    def initialize(self, state, pointer, type_, value):
        type_ = self.module.resolve(type_)
        if value[0] in ("zeroinitializer", "undef"):
            state.memory.fill(state, pointer, self.theory.constant(8, 0), self.module.size(type_))
        elif value[0] == "bytes":
            for k, byte in enumerate(value[1]):
                state.memory.store(state, self.moved(pointer, k), 1, self.theory.constant(8, byte))
        elif value[0] == "items":
            state.memory.fill(state, pointer, self.theory.constant(8, 0), self.module.size(type_))
            for k, (item_type, item, _) in enumerate(value[1]):
                at = self.module.member(type_, k)[0] if type_[0] == STRUCT else k * self.module.size(type_[2])
                self.initialize(state, self.moved(pointer, at), item_type, item)
        else:
            self.store(state, pointer, type_, self.value(state, type_, value))

    def moved(self, pointer, by):
        return Pointer(pointer.object, self.theory.binary("add", pointer.offset, self.theory.constant(64, by)))

    def element(self, pointer, indexes, type_):
        """getelementptr"""
        at = pointer.offset
        for k, index in enumerate(indexes):
            if k:
                type_ = self.module.resolve(type_)
            if k and type_[0] == STRUCT:
                offset, type_ = self.module.member(type_, index.term)
                at = self.theory.binary("add", at, self.theory.constant(64, offset))
                continue
            if k:
                type_ = type_[2]
            wide = index if index.width == 64 else self.theory.extended(index, 64, True)
            scale = self.theory.constant(64, self.module.size(type_))
            at = self.theory.binary("add", at, self.theory.binary("mul", wide, scale))
        return Pointer(pointer.object, at)

    # ---- memory by type ----

    def load(self, state, pointer, type_):
        type_ = self.module.resolve(type_)
        if type_[0] == STRUCT:
            return [self.load(state, self.moved(pointer, at), t)
                    for at, t in (self.module.member(type_, k) for k in range(len(type_[1])))]
        if type_[0] == ARRAY:
            size = self.module.size(type_[2])
            return [self.load(state, self.moved(pointer, k * size), type_[2]) for k in range(type_[1])]
        value = state.memory.load(state, pointer, self.module.size(type_), type_[0])
        if type_[0] == INT and isinstance(value, Word) and value.width != type_[1]:
            value = self.theory.truncated(value, type_[1])
        return value

    def store(self, state, pointer, type_, value):
        type_ = self.module.resolve(type_)
        if type_[0] in (STRUCT, ARRAY):
            for k, item in enumerate(value):
                at, t = self.module.member(type_, k) if type_[0] == STRUCT else (k * self.module.size(type_[2]), type_[2])
                self.store(state, self.moved(pointer, at), t, item)
            return
        size = self.module.size(type_)
        if isinstance(value, Word) and value.width != 8 * size:
            value = self.theory.extended(value, 8 * size, False)
        state.memory.store(state, pointer, size, value)

    # ---- steps ----

    def step(self, state):
        """Runs an instruction. None: goes on; else the states that go on instead."""
        frame = state.frames[-1]
        instruction = frame.function.blocks[frame.block][frame.at]
        frame.at += 1
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unsupported(f"more than {MOST_STEPS} steps: a loop without an invariant?")
        state.place = instruction.place or state.place
        return getattr(self, "run_" + instruction.op, self.run_value)(state, frame, instruction)

    def run_value(self, state, frame, i):
        values = [self.operand(state, o) for o in i.operands]
        frame.registers[i.result] = self.compute(state, i, values)

    def compute(self, state, i, values):
        op, theory = i.op, self.theory
        if op == "load":
            return self.load(state, values[0], i.type)
        if op == "getelementptr":
            return self.element(values[0], values[1:], i.extra)
        if op in ("bitcast", "ptrtoint", "inttoptr", "freeze"):
            if isinstance(values[0], Float) and i.type[0] == INT:
                return theory.float_bits(values[0], state.name(".bits"))
            return theory.bits_float(values[0]) if i.type[0] == FLOAT and isinstance(values[0], Word) else values[0]
        if op in ("zext", "sext"):
            return theory.extended(values[0], i.type[1], op == "sext") if isinstance(values[0], Word) else values[0]
        if op == "trunc":
            return theory.truncated(values[0], i.type[1])
        if op == "icmp":
            return theory.from_truth(self.compare(state, i.extra, *values), 1)
        if op == "fcmp":
            return theory.from_truth(self.float_compare(state, i.extra, *values), 1)
        if op == "select":
            return self.select(theory.truth(values[0]), values[1], values[2])
        if op == "extractvalue":
            return values[0][i.extra[0]]
        if op == "insertvalue":
            made = list(values[0])
            made[i.extra[0]] = values[1]
            return made
        if op in ("fadd", "fsub", "fmul", "fdiv", "fneg"):
            return theory.float_op(op, values, i.type[1])
        if op in ("fptosi", "fptoui"):
            if values[0].term is not None:
                state.prove(theory.fits(op, values[0], i.type[1]), "float to integer overflows")
            return theory.converted(op, values[0], i.type[1], state.name(".int"))
        if op in ("sitofp", "uitofp", "fpext", "fptrunc"):
            return theory.converted(op, values[0], i.type[1], state.name(".float"))
        if isinstance(values[0], Pointer) or isinstance(values[-1], Pointer):
            return self.of_pointers(op, *values)
        return theory.binary(op, *values)

    def of_pointers(self, op, a, b):
        if op == "sub" and isinstance(a, Pointer) and isinstance(b, Pointer) and a.object == b.object:
            return self.theory.binary("sub", a.offset, b.offset)
        if op == "urem" and isinstance(b, Word) and b.term in (1, 2, 4, 8, 16, 32, 64):  # objects lie at multiples of 64
            return self.theory.binary("urem", a.offset, b)
        raise Unsupported(f"{op} of pointers")

    def compare(self, state, predicate, a, b):
        if not isinstance(a, Pointer) and not isinstance(b, Pointer):
            return self.theory.compared(predicate, a, b)
        if not isinstance(a, Pointer) or not isinstance(b, Pointer):
            raise Unsupported("a pointer compared with a number")
        if a.object == b.object:
            return self.theory.compared(predicate, a.offset, b.offset)
        if predicate in ("eq", "ne"):
            return predicate == "ne"
        raise state.failed("pointers to different objects are compared")

    def float_compare(self, state, predicate, a, b):
        if a.term is None or b.term is None:
            return z3.Bool(state.name(".float"))
        return self.theory.float_compared(predicate, a, b, None)

    def select(self, condition, a, b):
        if isinstance(condition, bool):
            return a if condition else b
        if isinstance(a, Word):
            return self.theory.selected(condition, a, b)
        if isinstance(a, Float):
            return Float(a.width, None if a.term is None or b.term is None else z3.If(condition, a.term, b.term))
        if isinstance(a, Pointer) and a.object == b.object:
            return Pointer(a.object, self.theory.selected(condition, a.offset, b.offset))
        raise Unsupported("a choice of two objects")

    def run_select(self, state, frame, i):
        """Of two objects by a condition: two paths."""
        values = [self.operand(state, o) for o in i.operands]
        condition = self.theory.truth(values[0])
        if isinstance(values[1], Pointer) and not isinstance(condition, bool) and values[1].object != values[2].object:
            return self.fork(state, [(condition, lambda s: s.frames[-1].registers.__setitem__(i.result, values[1])),
                                     (negate(condition), lambda s: s.frames[-1].registers.__setitem__(i.result, values[2]))])
        frame.registers[i.result] = self.select(condition, values[1], values[2])
        return None

    def fork(self, state, ways):
        made = []
        for condition, action in ways:
            if condition is False or (condition is not True and not state.path.may(condition)):
                continue
            other = State(self, state)
            self.theory.path = other.path
            other.path.add(condition)
            made.append(other)
            action(other)
        return [s for s in made if s.frames]

    def run_alloca(self, state, frame, i):
        number = state.memory.new(i.result[1:], self.module.size(i.extra))
        frame.own.append(number)
        frame.registers[i.result] = Pointer(number, self.theory.constant(64, 0))

    def run_store(self, state, frame, i):
        value, pointer = [self.operand(state, o) for o in i.operands]
        self.store(state, pointer, i.operands[0][0], value)

    def run_phi(self, state, frame, i):
        value = dict(i.extra)[frame.previous]
        frame.registers[i.result] = self.value(state, i.type, value)

    def run_unreachable(self, state, frame, i):
        raise state.failed("reaches what is said to be unreachable")

    def trap(self, function, block):
        first = function.blocks[block][0]
        if first.op == "call" and first.extra == ("global", "@llvm.ubsantrap"):
            return TRAPS.get(first.operands[0][1][1], "undefined behaviour")
        return "reaches what is said to be unreachable" if first.op == "unreachable" else None

    def run_br(self, state, frame, i):
        if not i.operands:
            return self.jump(state, i.extra[0])
        condition = self.theory.truth(self.operand(state, i.operands[0]))
        yes, no = i.extra
        for good, target, other in ((condition, yes, no), (negate(condition), no, yes)):
            what = self.trap(frame.function, other)
            if what:
                state.prove(good, what)
                return self.jump(state, target)
        if isinstance(condition, bool):
            return self.jump(state, yes if condition else no)
        if isinstance(self.theory, Bits) and self.merge(state, frame, condition, yes, no):
            return None
        return self.fork(state, [(negate(condition), lambda s: self.jump(s, no)), (condition, lambda s: self.jump(s, yes))])

    def arm(self, function, block):
        """Where a block leads that only computes; None where it does more."""
        *inner, last = function.blocks[block]
        pure = all(i.op in PURE for i in inner) and last.op == "br" and not last.operands
        return last.extra[0] if pure else None

    def merge(self, state, frame, condition, yes, no):
        """c ? a : b, && and || of what is only computed: a choice of values instead of two paths."""
        function = frame.function
        ends = self.arm(function, yes), self.arm(function, no)
        join = yes if ends[1] == yes else no if ends[0] == no else ends[0] if ends[0] and ends[0] == ends[1] else None
        if not join or function.blocks[join][0].op != "phi" or join in self.loops.find(function):
            return False
        for block in (yes, no):
            for i in function.blocks[block][:-1] if block != join else ():
                self.run_value(state, frame, i)
        before = [block if block != join else frame.block for block in (yes, no)]
        chosen, at = {}, 0
        for i in function.blocks[join]:
            if i.op != "phi":
                break
            ways = dict(i.extra)
            if not all(b in ways for b in before):
                return False
            chosen[i.result] = self.select(condition, *(self.value(state, i.type, ways[b]) for b in before))
            at += 1
        frame.registers.update(chosen)
        frame.previous, frame.block, frame.at = frame.block, join, at
        self.loops.arrive(self, state)
        return True

    def run_switch(self, state, frame, i):
        value = self.operand(state, i.operands[0])
        ways, rest = [], True
        for constant, target in i.extra[1:]:
            equal = self.theory.compared("eq", value, self.theory.constant(value.width, constant))
            ways.append((equal, lambda s, target=target: self.jump(s, target)))
            rest = False if rest is False or equal is True else z3.And(to_z3(rest), to_z3(negate(equal)))
        ways.append((rest, lambda s: self.jump(s, i.extra[0][1])))
        return self.fork(state, ways)

    def jump(self, state, target):
        frame = state.frames[-1]
        frame.previous, frame.block, frame.at = frame.block, target, 0
        self.loops.arrive(self, state)

    def run_ret(self, state, frame, i):
        value = self.operand(state, i.operands[0]) if i.operands else None
        state.frames.pop()
        for number in frame.own:
            del state.memory.objects[number]
        if frame.after:
            frame.after(state, value)
        elif frame.result and state.frames:
            state.frames[-1].registers[frame.result] = value

    # ---- calls ----

    def run_call(self, state, frame, i):
        name = i.extra[1]
        if i.extra[0] == "register":
            pointer = frame.registers[name]
            if not isinstance(pointer.object, str):
                raise state.failed("a call of what is no function")
            name = pointer.object
        values = [self.operand(state, o) for o in i.operands if o[0] != "metadata"]
        if name.startswith("@llvm.") and ".with.overflow." in name:
            word, over = self.theory.overflows(name[7:10], name[6] == "s", *values)
            frame.registers[i.result] = [word, self.theory.from_truth(over, 1)]
        elif name in self.module.functions:
            self.call(state, self.module.functions[name], values, i)
        else:
            builtin = getattr(self, "call_" + name[1:].replace("llvm.", "").split(".")[0], None)
            if not builtin:
                raise Unsupported(f"call of {name}")
            result = builtin(state, values)
            if i.result:
                frame.registers[i.result] = result

    def call(self, state, function, values, i):
        frame = self.enter(state, function, i.result if i else None)
        for (register, _, by_value), value in zip(function.parameters, values):
            if by_value and by_value[0] == "byval":
                size = self.module.size(by_value[1])
                own = Pointer(state.memory.new(register[1:], size), self.theory.constant(64, 0))
                frame.own.append(own.object)
                state.memory.copy_bytes(state, own, value, size)
                value = own
            frame.registers[register] = value

    @staticmethod
    def number(word):
        if not isinstance(word.term, int):
            raise Unsupported("a count of bytes that is no number")
        return word.term

    def call_memcpy(self, state, values):
        state.memory.copy_bytes(state, values[0], values[1], self.number(values[2]))
        return values[0]

    call_memmove = call_memcpy

    def call_memset(self, state, values):
        byte = self.theory.truncated(values[1], 8) if values[1].width > 8 else values[1]
        state.memory.fill(state, values[0], byte, self.number(values[2]))
        return values[0]

    def call_memcmp(self, state, values):
        """0 exactly where all bytes are equal."""
        count, equal = self.number(values[2]), True
        for at in range(0, count, 4):
            n = min(4, count - at)
            a, b = (state.memory.load(state, self.moved(p, at), n, "int") for p in values[:2])
            same = self.theory.compared("eq", a, b)
            equal = same if equal is True else z3.And(to_z3(equal), to_z3(same))
        return self.theory.from_truth(negate(equal), 32)

    def call_prove_bits(self, state, values):
        return None

    def call_prove_nearest(self, state, values):
        return Float(values[0].width, z3.fpRoundToIntegral(z3.RNE(), values[0].term))

    def call_prove_any(self, state, values):
        found = state.memory.objects[values[0].object]
        found.is_open, found.cells, found.unclear = True, {}, {}

    def call_prove_memory(self, state, values):
        """Bytes whose number is any."""
        size = values[0].term if isinstance(values[0].term, int) else values[0]
        return Pointer(state.memory.new("memory", size, True), self.theory.constant(64, 0))

    def call_prove_offset(self, state, values):
        return values[0].offset

    def call_prove_assume(self, state, values):
        condition = self.theory.truth(values[0])
        if not state.path.may(condition):
            state.frames = []
            return
        state.path.add(condition)

    def call_prove_assert(self, state, values):
        if not self.claims.get(state.place, True):
            self.claims[state.place] = state.path.is_real()
        state.prove(self.theory.truth(values[0]), "the claim")

    call_prove_lemma = call_prove_assert
