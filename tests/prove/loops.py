# SPDX-License-Identifier: MIT
"""
Loops without a bound, by induction. A harness states what a loop keeps, in a function `_Bool keeps_FUNCTION_N(...)`: N counts the function's
loops from 1, and the parameters are named as variables of the function, whose values they get. It is proven where the loop is
reached; then all that the loop may write gets any value of which it holds; a turn starts there, and at its end it is proven again.
"""
from ir import Unsupported
from memory import Pointer
from theory import negate


class Loop:
    def __init__(self, function, header, blocks, invariant):
        self.function, self.header, self.blocks, self.invariant = function, header, blocks, invariant


class Loops:
    def __init__(self, module):
        self.module, self.of_function = module, {}

    def find(self, function):
        """{header: Loop} of those that have an invariant."""
        if function.name not in self.of_function:
            found = {}
            for number, header in enumerate(self.headers(function)):
                invariant = self.module.functions.get(f"@keeps_{function.name[1:]}_{number + 1}")
                if invariant:
                    found[header] = Loop(function, header, self.body(function, header), invariant)
            self.of_function[function.name] = found
        return self.of_function[function.name]

    @staticmethod
    def next_of(function, block):
        last = function.blocks[block][-1]
        if last.op == "br":
            return last.extra
        return [target for _, target in last.extra] if last.op == "switch" else []

    def headers(self, function):
        """Blocks that a later one jumps back to, as they stand in the source: clang writes blocks in that order."""
        order = {block: k for k, block in enumerate(function.order)}
        return sorted({t for b in function.order for t in self.next_of(function, b) if order[t] <= order[b]}, key=order.get)

    def body(self, function, header):
        order = {block: k for k, block in enumerate(function.order)}
        before = {}
        for b in function.order:
            for t in self.next_of(function, b):
                before.setdefault(t, []).append(b)
        blocks, todo = {header}, [b for b in before[header] if order[b] >= order[header]]
        while todo:
            b = todo.pop()
            if b not in blocks:
                blocks.add(b)
                todo.extend(before.get(b, []))
        return blocks

    # ---- what a loop writes ----

    def root(self, function, value):
        """What a pointer comes from: ("own", register of an alloca), ("at", root): what lies there, or ("parameter", k)."""
        if value[0] == "global":
            return ("global", value[1])
        if value[0] == "gep":
            return self.root(function, value[2][0][1])
        if value[0] != "register":
            return ("nothing",)
        names = [p[0] for p in function.parameters]
        if value[1] in names:
            return ("parameter", names.index(value[1]))
        i = function.definitions[value[1]]
        if i.op == "alloca":
            return ("own", i.result)
        if i.op in ("getelementptr", "bitcast"):
            return self.root(function, i.operands[0][1])
        if i.op == "load":
            inner = self.root(function, i.operands[0][1])
            return self.stored_once(function, inner) or ("at", inner)
        raise Unsupported(f"{function.name}: a loop writes through a pointer out of {i.op}")

    def stored_once(self, function, root):
        """A variable that holds a parameter and nothing else is that parameter."""
        if root[0] != "own":
            return None
        stores = [i for b in function.blocks.values() for i in b if i.op == "store" and i.operands[1][1] == ("register", root[1])]
        names = [p[0] for p in function.parameters]
        if len(stores) == 1 and stores[0].operands[0][1][0] == "register" and stores[0].operands[0][1][1] in names:
            return ("parameter", names.index(stores[0].operands[0][1][1]))
        return None

    def written(self, function, blocks, seen=()):
        """Roots of all that these blocks may write."""
        found = set()
        for i in (i for b in blocks for i in function.blocks[b]):
            if i.op == "store":
                found.add(self.root(function, i.operands[1][1]))
            elif i.op == "call":
                found |= self.written_by_call(function, i, seen)
        return found

    def written_by_call(self, function, i, seen):
        name = i.extra[1]
        if i.extra[0] != "global":
            raise Unsupported(f"{function.name}: a loop calls through a pointer")
        if any(word in name for word in ("memcpy", "memmove", "memset")):
            return {self.root(function, i.operands[0][1])}
        callee = self.module.functions.get(name)
        if not callee:
            return set()
        if name in seen:
            raise Unsupported(f"{name} calls itself")
        found = set()
        for root in self.written(callee, callee.order, (*seen, name)):
            found |= self.in_caller(function, i, root)
        return found

    def in_caller(self, function, i, root):
        if root[0] == "at":
            return {("at", inner) for inner in self.in_caller(function, i, root[1])}
        if root[0] == "parameter":
            return {self.root(function, i.operands[root[1]][1])}
        if root[0] == "global":
            return {root}
        return set()  # its own variables are gone when it returns

    def number(self, state, root):
        """The object that a root leads to in this state; None: none yet."""
        frame = state.frames[-1]
        if root[0] == "own":
            return frame.registers[root[1]].object
        if root[0] == "parameter":
            return frame.registers[frame.function.parameters[root[1]][0]].object
        if root[0] == "at":
            inner = self.number(state, root[1])
            targets = {v.object for _, v in state.memory.objects[inner].cells.values() if isinstance(v, Pointer)}
            if not targets:
                return None
            if len(targets) > 1:
                raise Unsupported("a loop writes through one of several pointers")
            return targets.pop()
        raise Unsupported(f"a loop writes to {root}")

    # ---- the induction ----

    def arrive(self, machine, state):
        """A jump has reached a block."""
        frame = state.frames[-1]
        for header, loop in self.find(frame.function).items():
            if frame.block not in loop.blocks:
                frame.cut.discard(header)
        loop = self.find(frame.function).get(frame.block)
        if not loop:
            return
        if loop.header in frame.cut:
            for number, pointers in frame.targets[loop.header].items():
                if pointers != self.pointers(state, number):
                    raise Unsupported(f"{loop.invariant.name}: a pointer goes to another object")
            self.ask(machine, state, loop, "the loop keeps its invariant", self.stop)
        else:
            self.ask(machine, state, loop, "the invariant holds before the loop", lambda s: self.begin(machine, s, loop))

    @staticmethod
    def pointers(state, number):
        """Which objects the pointers in an object lead to."""
        return {at: v.object for at, (_, v) in state.memory.objects[number].cells.items() if isinstance(v, Pointer)}

    @staticmethod
    def stop(state):
        state.frames = []

    def ask(self, machine, state, loop, what, then):
        place = state.place

        def after(s, value):
            s.place = place
            s.prove(machine.theory.truth(value), what)
            then(s)
        self.evaluate(machine, state, loop, after)

    def begin(self, machine, state, loop):
        frame = state.frames[-1]
        frame.cut.add(loop.header)
        numbers = {self.number(state, root) for root in self.written(loop.function, loop.blocks)} - {None}
        frame.targets = {**frame.targets, loop.header: {n: self.pointers(state, n) for n in numbers if isinstance(n, int)}}
        for number in frame.targets[loop.header]:
            state.memory.forget(state, number)

        def after(s, value):
            condition = machine.theory.truth(value)
            if not s.path.may(condition):
                s.frames = []
            else:
                s.path.add(condition)
        self.evaluate(machine, state, loop, after)

    def evaluate(self, machine, state, loop, after):
        """Calls the invariant with the variables' values."""
        frame, values = state.frames[-1], []
        for register, type_, _ in loop.invariant.parameters:
            pointer = frame.registers[self.variable(loop, register[1:])]
            is_array = loop.function.definitions[self.variable(loop, register[1:])].extra[0] in ("array", "named")
            values.append(pointer if is_array else machine.load(state, pointer, type_))
        inner = machine.enter(state, loop.invariant, None, after)
        for (register, _, _), value in zip(loop.invariant.parameters, values):
            inner.registers[register] = value

    @staticmethod
    def variable(loop, name):
        """Of several of that name the one that is declared in or before the loop, and latest."""
        found = loop.function.variables.get(name)
        if not found:
            raise Unsupported(f"{loop.invariant.name}: no variable {name}")
        inside = [loop.function.definitions[r] for _, r in found if r in loop.function.definitions]
        if len(inside) == 1:
            return inside[0].result
        used = [i for i in inside if any(i.result == o[1][1] for b in loop.blocks for k in loop.function.blocks[b]
                                         for o in k.operands if o[1] and o[1][0] == "register")]
        if len(used) != 1:
            raise Unsupported(f"{loop.invariant.name}: which {name}?")
        return used[0].result


__all__ = ["Loops", "negate"]
