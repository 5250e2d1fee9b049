# SPDX-License-Identifier: MIT
"""What holds on a path, and what the solver says of it. Work is limited by the solver's own count of steps, never by a clock."""
import z3

from theory import to_z3

QUICK, LONG = 400_000, 60_000_000  # z3's rlimit: what is only good to know, and what is to be proven


class Failed(Exception):
    """A claim that does not hold, with a counterexample."""


class Unknown(Exception):
    """The solver gave up."""


class Statistics:
    queries = 0


VARIABLES, VARIABLES_BY_NAME = {}, {}  # of this process; by their ids


def zero_of(variable):
    sort = variable.sort()
    return z3.IntVal(0) if sort == z3.IntSort() else z3.BoolVal(False) if sort == z3.BoolSort() else z3.BitVecVal(0, sort.size())


def variables_of(term, known):
    """Ids of the variables in a term, each subterm once."""
    found, seen, todo = set(), set(), [term]
    while todo:
        t = todo.pop()
        key = t.get_id()
        if key in seen:
            continue
        seen.add(key)
        if key in known:
            found |= known[key][1]
        elif z3.is_const(t) and t.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.add(key)
            VARIABLES[key] = VARIABLES_BY_NAME[t.decl().name(), str(t.sort())] = t
        else:
            todo.extend(t.children())
    known[term.get_id()] = (term, frozenset(found))  # the term too: ids of what is gone are used again
    return known[term.get_id()][1]


class Path:
    known = {}
    of_bits = False  # which solver: a process has one theory at a time

    def __init__(self, other=None):
        self.constraints = list(other.constraints) if other else []
        self.ranges = dict(other.ranges) if other else {}  # id of a term -> (term, low, high)
        self.quotients = dict(other.quotients) if other else {}
        self.asked = dict(other.asked) if other else {}
        self.names = dict(other.names) if other else {}
        # One input that takes this path, as values by ids of variables, or None where none is at hand; and one that a question found.
        self.values = other.values if other else {}
        self.found = other.found if other else None

    # ---- bounds ----

    def bounds(self, term, low, high):
        if isinstance(term, int):
            return term, term
        found = self.ranges.get(term.get_id())
        return (max(low, found[1]), min(high, found[2])) if found else (low, high)

    def learn(self, term, low, high):
        found = self.ranges.get(term.get_id())
        if found:
            low, high = max(low, found[1]), min(high, found[2])
        self.ranges[term.get_id()] = (term, low, high)
        return low, high

    def add(self, condition, notes=True):
        if self.found and self.found[0].eq(to_z3(condition)):
            self.values = self.found[1]
        elif not self.true_of_values(condition):
            self.values = None
        self.found = None
        self.keep(condition, notes)

    def true_of_values(self, condition):
        if self.values is None or isinstance(condition, bool):
            return condition is True
        pairs = [(VARIABLES[v], self.values.get(v, zero_of(VARIABLES[v]))) for v in variables_of(condition, self.known)]
        return z3.is_true(z3.simplify(z3.substitute(condition, pairs)))

    def keep(self, condition, notes):
        if isinstance(condition, bool):
            if not condition:
                self.constraints.append(z3.BoolVal(False))
            return
        if z3.is_and(condition):
            for part in condition.children():
                self.keep(part, True)
            return
        if z3.is_not(condition) and z3.is_or(condition.arg(0)):
            for part in condition.arg(0).children():
                self.keep(z3.Not(part), True)
            return
        self.constraints.append(condition)
        if notes or z3.is_le(condition) or z3.is_ge(condition):
            self.note(condition)

    def note(self, condition):
        """Bounds that a comparison gives."""
        no = z3.is_not(condition)
        c = condition.arg(0) if no else condition
        kinds = {z3.Z3_OP_LE: "le", z3.Z3_OP_GE: "ge", z3.Z3_OP_LT: "lt", z3.Z3_OP_GT: "gt", z3.Z3_OP_EQ: "eq"}
        kind = kinds.get(c.decl().kind())
        if not kind or c.num_args() != 2 or not z3.is_int(c.arg(0)):
            return
        if no:
            kind = {"le": "gt", "ge": "lt", "lt": "ge", "gt": "le", "eq": None}[kind]
        a, b = c.arg(0), c.arg(1)
        if kind in ("gt", "ge"):
            a, b, kind = b, a, "lt" if kind == "gt" else "le"
        if kind is None:
            return
        (al, ah), (bl, bh) = self.range_of(a), self.range_of(b)
        less = int(kind == "lt")
        if bh is not None:
            self.bound(a, None, bh - less)
        if al is not None:
            self.bound(b, al + less, None)
        if kind == "eq":
            self.bound(a, bl, None)
            self.bound(b, None, ah)

    def range_of(self, term):
        if z3.is_int_value(term):
            return term.as_long(), term.as_long()
        found = self.ranges.get(term.get_id())
        return (found[1], found[2]) if found else (None, None)

    def bound(self, term, low, high):
        if z3.is_int_value(term) or (low is None and high is None):
            return
        found = self.ranges.get(term.get_id(), (term, -1 << 200, 1 << 200))
        low = found[1] if low is None else max(low, found[1])
        high = found[2] if high is None else min(high, found[2])
        self.ranges[term.get_id()] = (term, low, high)

    def quotient(self, x, xl, xh, y, yl, yh):
        """(quotient, low, high), (remainder, low, high) of x >= 0 by y > 0, as new variables: solvers know products, not divisions."""
        key = (x if isinstance(x, int) else x.get_id(), y.get_id())
        if key not in self.quotients:
            name = len(self.quotients)
            q, r = z3.Int(f".q{name}.{key[0]}.{key[1]}"), z3.Int(f".r{name}.{key[0]}.{key[1]}")
            self.quotients[key] = (x, y, q, r)
            for condition in (q * y + r == x, r >= 0, r < y, q >= 0, q <= x):
                self.add(condition)
        _, _, q, r = self.quotients[key]
        self.learn(q, 0, xh // yl)
        self.learn(r, 0, min(xh, yh - 1))
        return (q, xl // yh, xh // yl), (r, 0, min(xh, yh - 1))

    # ---- the solver ----

    def slice(self, condition):
        """The constraints that have to do with it. An answer `unsat` of fewer constraints is one of all."""
        wanted = set(variables_of(condition, self.known))
        rest = [(c, variables_of(c, self.known)) for c in self.constraints]
        taken, grew = [], True
        while grew:
            grew, left = False, []
            for c, variables in rest:
                if variables & wanted or not variables:
                    taken.append(c)
                    wanted |= variables
                    grew = True
                else:
                    left.append((c, variables))
            rest = left
        return taken

    def ask(self, condition, limit, all_of_them=False):
        """sat, unsat or unknown, and the model where sat."""
        Statistics.queries += 1
        constraints = self.constraints if all_of_them else self.slice(condition)
        shares = [1.0] if limit <= QUICK else [0.15, 0.5, 0.35]
        solvers = z3.Solver, lambda: z3.SolverFor("QF_NIA"), lambda: z3.Tactic("smt").solver()
        if self.of_bits:
            shares, solvers = [1.0], [lambda: z3.SolverFor("QF_FPBV")]
        for share, make in zip(shares, solvers):
            solver = make()
            solver.set("rlimit", int(limit * share))
            solver.add(*constraints)
            solver.add(condition)
            try:
                found = solver.check()
            except z3.Z3Exception:
                continue
            if found != z3.unknown:
                return found, solver.model() if found == z3.sat else None
        return z3.unknown, None

    def holds(self, condition):
        """Whether it surely does."""
        if isinstance(condition, bool):
            return condition
        if self.values is not None and not self.true_of_values(condition):
            return False
        key = condition.get_id()
        if key not in self.asked:
            self.asked[key] = (condition, self.ask(z3.Not(condition), QUICK)[0] == z3.unsat)
        elif not self.asked[key][1]:  # more may be known by now
            self.asked[key] = (condition, self.ask(z3.Not(condition), QUICK)[0] == z3.unsat)
        return self.asked[key][1]

    def may(self, condition):
        """Whether it can be true, or the solver does not know."""
        if isinstance(condition, bool):
            return condition
        if self.true_of_values(condition):
            return True
        found, model = self.ask(condition, 10 * QUICK)
        if found == z3.sat and self.values is not None:
            new = {VARIABLES_BY_NAME[d.name(), str(d.range())].get_id(): model[d] for d in model.decls()
                   if (d.name(), str(d.range())) in VARIABLES_BY_NAME}
            self.found = condition, {**self.values, **new}
        return found != z3.unsat

    def is_real(self):
        """Whether there is an input that takes this path."""
        return self.values is not None or self.ask(z3.BoolVal(True), LONG, True)[0] == z3.sat

    def prove(self, condition, what):
        """That it holds; from then on it is known."""
        if condition is True:
            return
        wrong = z3.BoolVal(True) if condition is False else z3.Not(condition)
        found, model = self.ask(wrong, LONG)
        if found == z3.sat:
            found, model = self.ask(wrong, LONG, True)
            if found == z3.sat:
                raise Failed(f"{what}: {self.example(model)}")
        if found == z3.unknown:
            raise Unknown(what)
        self.add(condition)

    @staticmethod
    def example(model):
        values = {d.name(): model[d] for d in model.decls() if d.arity() == 0 and not d.name().startswith(".")}
        return ", ".join(f"{name} = {value}" for name, value in sorted(values.items())) or "always"
