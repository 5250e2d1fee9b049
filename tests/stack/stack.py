#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stack.py FOLDER...: how deep the stack of each public function gets, by the compiler's own call graph.

Each FOLDER holds the library built by gcc with -fcallgraph-info=su and without -fipa-icf: a .ci beside each object. Frames are added up
along the deepest path. Function pointers are resolved by the tables of kernels and step kinds, and by RULES below: a caller that no rule
knows is an error, and so are recursion and frames without a bound. What libc takes for memcpy() and its kin is left out.

A function that no path leads to is an error, too, where all machines are given. Prints the deepest by instruction set. With --check, none
may be above what core/morsel.h states, nor a machine's deepest far below.
"""
import argparse
import glob
import os
import re
import sys

LEVELS = {"x86": ["c", "avx2", "avxvnni", "avx512vnni", "avx512vbmi"], "arm64": ["c", "neon", "dotprod", "i8mm"], "c": ["c"]}
OUTSIDE = {"morsel_exp", "morsel_erf", "morsel_sigmoid", "morsel_tanh", "morsel_picture_by_rule"}  # for tools and tests alone
LIBC = {"memcpy", "memmove", "memset", "memcmp", "getauxval", "__getauxval", "bcmp"}
KINDS = r"\.(\w+) = (morsel_\w+)"  # fields of core/kinds.c; `kernels` are table.c's
SLOTS = r"(?:table|t)->(\w+) = (morsel_\w+);"
REFUSALS = r"\.(\w+) = (morsel_\w*refusal\w*)"

# Who calls through a pointer: what it may point to. "kinds F": field F of the table of kinds; "kinds pointed": `run` of those
# with `point`; "slots": every kernel; "slots F": those of one slot; "refusals"; "app": the caller's own function. Else a pattern of functions.
RULES = [
    (r"may_replace|is_by_row|morsel_kind_streams", "kinds period"),
    (r"check_step", "kinds check"),
    (r"morsel_prepare", "kinds prepare"),
    (r"morsel_kinds_kernels", "kinds kernels"),
    (r"morsel_work", "kinds work"),
    (r"takes|table_for|fill_step", "refusals"),
    (r"morsel_check_each", r"core/check_\w+\.c:check_(group|member|pair|ring|writer|reads|input|output|overlaps|scratch|step|tensor|label|step_name)"),
    (r"tell", "app"),
    (r"morsel_run", r"core/run\.c:run_as_task"),
    (r"run_entries", r"core/run\.c:run_steps|morsel_run_shares|morsel_start_tasks|morsel_run_group|morsel_run_chain|core/watch\.c:tell"),
    (r"run_steps", "kinds run_pictures"),
    (r"morsel_session_open|take_blocks", "morsel_count_bands"),
    (r"check_rules|check_parts|morsel_check_blob", r"core/check_answer\.c:check_rules"),
    (r"morsel_run_group", r"core/watch\.c:tell"),
    (r"check_overlaps|may_trail", "morsel_check_trails"),
    (r"morsel_plan_chains", r"core/plan_chain\.c:make_chain|morsel_make_group"),
    (r"morsel_plan_split", r"morsel_cut_by_channels|morsel_share_steps"),
    (r"morsel_selftest_of|try_\w+", "slots|refusals"),
    (r"morsel_run_units", "kinds run"),
    (r"run_elements", "kinds pointed|kinds point"),
    (r"run_window", "kinds run_rows"),
    (r"morsel_run_conv", "slots conv|slots depthwise"),
    (r"morsel_run_pool", "slots average_pool|slots max_pool"),
    (r"morsel_run_binary", "slots qadd|slots qmul|slots binary"),
    (r"morsel_run_concat", "slots copy"),
    (r"morsel_run_(\w+)", r"slots \1"),
    (r"for_runs", r"kernels/binary\.c:\w+_run"),
    (r"x86/matmul_avx2\.c:(matmul_packed|packed_rows)", r"newest x86/matmul_avx2\.c:by_avx\w+"),
    (r"x86/matmul_avx2\.c:by_\w+", r"newest morsel_conv_has_tiles_\w+|newest morsel_conv_lines_\w+|newest morsel_fc_blocks_\w+"),
    (r"arm64/matmul_neon\.c:(matmul_packed|packed_rows)", r"newest morsel_fc_short_\w+"),
    (r"(morsel_)?conv_by_fc|multiply_windows", r"newest morsel_fc_few_\w+"),
    (r"morsel_fc_rows", r"newest morsel_conv_has_tiles_\w+|newest morsel_conv_lines_\w+|newest morsel_fc_few_\w+"),
    (r"x86/conv_avx2\.c:run_(pixels|blocks)", r"widen_\w+"),
    (r"morsel_words_tile_avx2", r"tile_[46]x(8|16)"),
    (r"morsel_float_conv", r"[^:]*:(eight_)?each_row(_c)?|morsel_float_each_row_c"),
    (r"take_pixel", r"[^:]*:(eight_)?take_bytes(_c)?"),
    (r"run_strips?", r"[^:]*:(eight_)?(take_bytes|add_taps|store)(_c)?"),
    (r"morsel_for_pairs", r"(sum|product|add|multiply)_line|morsel_q(add|mul)_c"),
    (r"morsel_max_pool_rows_c", r"kernels/pool\.c:max_(bytes|floats)"),
    (r"morsel_mean_lines", r"sum_line_of_bytes|morsel_sum_bytes\w*|sum_line\w*"),
    (r"morsel_multiply|multiply_lines|find_factors", r"kernels/conv\.c:(take_windows|store)|kernels/matmul\.c:((fc|matmul)_(lines|store)|matmul_columns)"),
    (r"morsel_softmax_bytes|finish_line", r"eight_divide|divide_some"),
    (r"core/picture_rows\.c:\w+|morsel_picture_rows", r"morsel_(across|blend|colors)_\w+"),
    (r"morsel_turn_run|turn_rows", r"turn_plain|morsel_turn_(tile|few)"),
    (r"x86/conv_plan\.c:run_zeros", r"newest x86/conv_\w+\.c:run_pixels"),
    (r"x86/conv_plan\.c:run_pixels", r"newest x86/conv_\w+\.c:run_pixels|x86/conv_plan\.c:run_zeros"),
    (r"x86/conv_avx512vnni\.c:run_pixels", r"x86/conv_avx512vnni\.c:(run_\d|plain_|prefetch_)\w+"),
    (r"dw_run_rows|dw_piece\w*", r"dw_windows(_3|_two)?"),
    (r"x86/depthwise_avx512vnni\.c:run_rows", r"x86/depthwise_avx512vnni\.c:\w+_(stride_[12]|of_any)"),
    (r"in_place", r"newest morsel_conv_has_tiles_\w+|newest morsel_conv_lines_\w+"),
    (r"run_span", r"morsel_tile_\w+|tile_\w+"),
]


def plain(title):
    """Without what the compiler adds to the names of its copies."""
    return re.sub(r"(\.(constprop|isra|part|cold)(\.\d+)?)+$", "", title)


class Library:
    def __init__(self, folder):
        self.frames, self.edges, self.where = {}, {}, {}
        self.faults = []
        for path in glob.glob(folder + "/**/*.ci", recursive=True):
            self.read(path)
        if not self.frames:
            sys.exit(f"stack.py: {folder} holds no .ci")
        machine = [d for d in ("x86", "arm64") if os.path.isdir(f"{folder}/{d}")]
        self.machine = machine[0] if machine else "c"
        self.name = os.path.basename(folder)

    def read(self, path):
        for line in open(path):
            node = re.match(r'node: \{ title: "([^"]+)" label: "[^\\]+\\n([^:]+):\d+:\d+\\n(\d+) bytes \(([a-z,]+)\)', line)
            edge = re.match(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', line)
            if node:
                title, _, size, kind = node.groups()
                self.frames[title], self.where[title] = int(size), path
                if kind == "dynamic":
                    self.faults.append(f"{title}: a frame without a bound")
            elif edge:
                self.edges.setdefault(edge[1], set()).add(edge[2])

    def level_of(self, title):
        """The instruction set in a function's name, or else its file's; 0: plain C."""
        levels = LEVELS[self.machine]
        names = [plain(title), os.path.basename(self.where.get(title, "")).removesuffix(".ci")]
        return next((levels.index(n) for n in (name.rsplit("_", 1)[-1] for name in names) if n in levels), 0)

    def resolve(self, caller, level):
        """What a caller's pointers may point to."""
        for who, what in RULES:
            match = re.fullmatch(who, plain(caller)) or re.fullmatch(who, plain(caller).rsplit(":", 1)[-1])
            if match:
                what = match.expand(what) if what.startswith("slots ") else what
                found = {t for part in self.parts(what) for t in self.targets(part, level)}
                if not found and what not in ("app", "refusals"):
                    self.faults.append(f"{caller}: {what} names no function")
                return found
        self.faults.append(f"{caller}: no rule says what its function pointer is")
        return set()

    @staticmethod
    def parts(what):
        """Words that name tables stand for themselves; the rest is one pattern."""
        words = what.split("|")
        named = [w for w in words if re.match(r"slots|kinds|refusals|app$|newest", w)]
        return what.split("|") if named == words else [*[w for w in named if w != what], *(["|".join(w for w in words if w not in named)])]

    def targets(self, what, level):
        if what == "app":
            return set()
        if what == "refusals":
            return {f for f in self.tables["refusals"] if f in self.frames}
        if what.startswith("kinds"):
            return {f for field, f in self.tables["kinds"] if field == what.split()[1]}
        if what.startswith("slots"):
            chosen = {}
            for field, function in self.tables["slots"]:
                if self.level_of(function) <= level:
                    chosen[field] = function
            return {f for field, f in chosen.items() if what in ("slots", "slots " + field)}
        newest, what = what.startswith("newest "), what.removeprefix("newest ")
        found = {t for t in self.frames if self.level_of(t) <= level
                 and (re.fullmatch(what, plain(t)) or re.fullmatch(what, plain(t).rsplit(":", 1)[-1]))}
        most = max(map(self.level_of, found), default=0)
        return {t for t in found if not newest or self.level_of(t) == most}

    def depth(self, function, level, seen, on_path=()):
        """The deepest path from a function: its bytes and its names."""
        if function in seen:
            return seen[function]
        if function in on_path:
            self.faults.append("recursion: " + " -> ".join([*on_path[on_path.index(function):], function]))
            return 0, []
        if function not in self.frames:
            if function not in LIBC and not function.startswith("__aeabi_"):  # arithmetic that a CPU has no instruction for
                self.faults.append(f"{function}: no frame is known")
            return 0, []
        best = 0, []
        for target in sorted(self.edges.get(function, ())):
            for each in sorted(self.resolve(function, level)) if target == "__indirect_call" else [target]:
                found = self.depth(each, level, seen, (*on_path, function))
                best = max(best, found, key=lambda b: b[0])
        arrived = {"x86_64": 8, "i686": 4}.get(self.name, 0)  # a call pushes where it came from, which no frame counts
        seen[function] = best[0] + self.frames[function] + arrived, [function, *best[1]]
        return seen[function]


def public_functions():
    text = re.sub(r"/\*.*?\*/|^#.*?$", " ", open("core/morsel.h").read(), flags=re.S | re.M)
    return sorted({m for statement in text.split(";") if "typedef" not in statement
                    for m in re.findall(r"\b(morsel_\w+)\(", statement.split("{")[-1])[:1]})


def stated():
    return {m[1].lower(): int(m[2]) for m in re.finditer(r"#define MORSEL_STACK_(\w+) (\d+)", open("core/morsel.h").read())}


def unreached(libraries, seen):
    """Functions that no public one gets to, on any machine: a pointer leads there that RULES do not know of."""
    return [f"{f}: no call leads to it, so RULES miss a pointer"
            for f in sorted({f for library in libraries for f in library.frames} - seen - OUTSIDE)]


def read(folder, kinds):
    library = Library(folder)
    tables = "".join(open(p).read() for p in ["kernels/table.c", *([f"{library.machine}/table.c"] if library.machine != "c" else [])])
    pointed = [("pointed", run) for row in kinds.split(";") if ".point = " in row for run in re.findall(r"\.run = (morsel_\w+)", row)]
    library.tables = {"kinds": re.findall(KINDS, kinds) + pointed, "slots": re.findall(SLOTS, tables),
                      "refusals": [f for _, f in re.findall(REFUSALS, tables)] + re.findall(r"refusals\.\w+ = (\w+)", tables)}
    return library


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("folders", nargs="+")
    options.add_argument("--check", action="store_true")
    options.add_argument("--paths", action="store_true", help="the deepest path of each column")
    options = options.parse_args()
    kinds, limits, functions = open("core/kinds.c").read(), stated(), public_functions()
    columns, most, faults, all_seen = {}, {}, set(), set()
    libraries = [read(folder, kinds) for folder in options.folders]
    for library in libraries:
        for level, name in enumerate(LEVELS[library.machine]):
            seen = {}
            column = columns[library.name, name] = {f: library.depth(f, level, seen) for f in functions if f in library.frames}
            limit = "arm64" if library.name in ("i686", "riscv64") else library.machine  # SSE2, 64 bits: morsel.h says so
            deepest = max(column.values(), key=lambda found: found[0])
            most[limit] = max(most.get(limit, 0), deepest[0])
            all_seen.update(seen)
            if options.paths:
                print(f"{library.name}/{name}: " + " -> ".join(f"{f} {library.frames[f]}" for f in deepest[1]))
        faults.update(f"{library.name}: {fault}" for fault in library.faults)
    complete = {"x86", "arm64"} <= {library.machine for library in libraries}
    if complete:
        faults.update(unreached(libraries, all_seen))
    for fault in sorted(faults):
        print("FAIL stack", fault)
    for title, shown in (("morsel_run", {"morsel_run"}), ("all others", {*functions} - {"morsel_run"})):
        print(title + ":", ", ".join(f"{'/'.join(k)} {max(c[f][0] for f in shown if f in c)}" for k, c in columns.items()))
    status = bool(faults)
    for limit, found in most.items() if options.check else ():
        right = found <= limits[limit] and (found >= limits[limit] * 4 // 5 or not complete)
        print(f"{'ok' if right else 'FAIL'} stack {limit}: {found} bytes by the call graph, morsel.h states {limits[limit]}")
        status |= not right
    sys.exit(status)


if __name__ == "__main__":
    main()
