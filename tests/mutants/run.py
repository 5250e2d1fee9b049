# SPDX-License-Identifier: MIT
"""Mutation testing: each small change of a source (operators.py) should make a test fail.

usage: run.py [--file PATH]... [--jobs N] [--fresh] [--lines FIRST-LAST] [--most SECONDS]

Rooms and programs are built before in build/mutants (and build/mutants-arm64 for arm64/): `make mutants` does. A mutant is compiled by the
commands of the Makefile, linked to a shared library that goes before the whole one, and the programs that know its file run on it until
one fails: first what is fast and has killed many. Where some objects of a header fail, the others are not compiled: those are tried first
in which the change of a line nearby was seen.
A mutant whose objects are the same bytes as without the change is equal, those of kernels/*.h in the build of arm64, too. So is one that
equal.txt proves to be: those are tried without sanitizers. What lives so far is tried with them.
What is known from runs before it is not tried again (record.py), unless --fresh. What never ends is killed by the CPU time that it takes,
many times that of the sound library: other work on the machine decides nothing.
Exit status: 0 where no mutant lives and equal.txt names nothing else.
"""
import argparse
import atexit
import collections
import concurrent.futures
import fnmatch
import glob
import os
import pathlib
import queue
import resource
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import operators  # noqa: E402
from record import Record  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ["core", "kernels", "arm64", "x86"]
UNIT, CHECKER = "tests/unit/", ["tests/check_kernels/check_kernels", "--seed", "1", "--random-only", "--first", "--cases"]
FUZZER = ["tests/fuzz/fuzz_open", "--runs", "3000", "--seed", "1"]
NATIVE, ARM64 = ("build/mutants", "", [[]]), ("build/mutants-arm64", "aarch64-linux-gnu-", [
    ["qemu-aarch64", "-cpu", cpu, "-L", "/usr/aarch64-linux-gnu"] for cpu in ("max", "cortex-a53")])

# Files, the build that has them, and what is run on their mutants.
SUBJECTS = [
    ("core/check*.c core/model.c core/work.c core/weights.c core/kind.c core/blob.c", NATIVE, [
        [UNIT + "core/test_check*"], [UNIT + "core/test_model*"], [UNIT + "core/test_work"], [UNIT + "core/test_weights"],
        [UNIT + "core/test_kinds"], [UNIT + "core/test_own_kinds"], [UNIT + "core/test_fast"], FUZZER]),
    ("core/*", NATIVE, [[UNIT + "core/test_*"]]),
    ("kernels/*", NATIVE, [[UNIT + "kernels/test_*"], [UNIT + "core/test_quantize"], [UNIT + "core/test_picture"], CHECKER + ["40"]]),
    ("x86/*", NATIVE, [CHECKER + ["40"], *(CHECKER + ["400", "--kernel", k] for k in ("conv", "depthwise", "fc", "matmul"))]),
    ("arm64/*", ARM64, [CHECKER + ["20"], *(CHECKER + ["300", "--kernel", k] for k in ("conv", "depthwise", "fc", "matmul"))]),
]
ALSO = "kernels/*.h", *SUBJECTS[-1][1:]  # where mutants are tried that show in no object here: of what arm64 alone uses
FILES = ["core/check*.c", "core/work.c", "kernels/requant.c", "kernels/requant.h", "x86/requant_*.h", "arm64/requant_*"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1"]
SOME = 3  # objects of a header that are compiled first, the smallest
WALL_MOST = 3600  # seconds; only what waits and computes nothing comes so far, and that is no kill


class Build:
    """A build folder: its objects, the commands that made them, and programs linked to a library that can be exchanged."""

    def __init__(self, folder, cross, machines):
        self.folder, self.cross, self.machines, self.programs = folder, cross, machines, {}
        self.scratch = f"{folder}/run-{os.getpid()}"
        atexit.register(shutil.rmtree, self.scratch, ignore_errors=True)
        self.objects = sorted(o for room in ROOMS for o in glob.glob(f"{folder}/{room}/*.o"))
        if not self.objects:
            sys.exit(f"run.py: {folder} holds no library: call make mutants")
        self.commands = self.make_says(self.objects)
        self.lock, self.trying, self.sound, self.tried = threading.Lock(), threading.Lock(), {}, set()

    def make_says(self, targets):
        """The command of each target, by `make -n`, as words."""
        options = ["CROSS=" + self.cross] if self.cross else []
        make = ["make", "-nB", "--no-print-directory", "V=1", "CFLAGS=-fPIC -fvisibility=default", "BUILD=" + self.folder]
        lines = subprocess.run([*make, *options, *targets], capture_output=True, text=True, check=True).stdout.splitlines()
        said = {}
        for words in (line.split() for line in lines):
            if "-o" in words and words[words.index("-o") + 1] in targets:
                said[words[words.index("-o") + 1]] = words
        return said

    def dependents(self, source):
        """The objects that a source, or a header, is part of."""
        found = []
        for o in self.objects:
            needs = pathlib.Path(o).with_suffix(".d").read_text().replace("\\\n", " ").splitlines()[0].split()[1:]
            if source in map(os.path.normpath, needs):
                found.append(o)
        return sorted(found, key=os.path.getsize)

    def link_library(self, path, objects, options=()):
        run([self.commands[self.objects[0]][0], "-shared", *options, "-o", path, *objects])

    def sanitized(self, room):
        """The library's objects without a change, those of a room under sanitizers: where each lies."""
        with self.lock:
            if room not in self.sound:
                self.asan = run([self.commands[self.objects[0]][0], "-print-file-name=libasan.so"]).strip()
                self.sound[room] = {o: o for o in self.objects}
                for o in fnmatch.filter(self.objects, f"{self.folder}/{room}/*"):
                    self.sound[room][o] = path = f"{self.scratch}/sanitized-{o.replace('/', '-')}"
                    words = [w for w in self.commands[o] if w not in ("-MMD", "-MP")]
                    words[words.index("-o") + 1] = path
                    run([*words, "-w", *SANITIZE])
        return self.sound[room]

    def link_programs(self, names):
        library = os.path.abspath(self.scratch)
        os.makedirs(library, exist_ok=True)
        self.link_library(library + "/libmorsel.so", self.objects)
        wanted = [n for n in names if n not in self.programs]
        for name, words in self.make_says(wanted).items() if wanted else []:
            self.programs[name] = program = f"{library}/{os.path.basename(name)}"
            words = [w for w in words if w not in ("-static", self.folder + "/libmorsel.a")]
            words[words.index("-o") + 1] = program
            run([*words, "-L" + library, "-lmorsel", "-Wl,-rpath," + library])


def run(words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Trial:
    """Programs with their options on every machine of a build, fastest first, and the CPU time that each may take."""

    def __init__(self, build, orders, most):
        self.build, self.steps, self.kills, self.lock = build, [], {}, threading.Lock()
        commands = []
        for pattern, *options in orders:
            sources = glob.glob(pattern + ".c") if pattern.startswith(UNIT) else [pattern + ".c"]
            commands += [(f"{build.folder}/{s[:-2]}", options) for s in sorted(sources)]
        build.link_programs([name for name, _ in commands])
        for machine in build.machines:
            for name, options in commands:
                words, before = [*machine, build.programs[name], *options], used_time()
                if self.fails(words, "", 600):
                    sys.exit(f"run.py: {' '.join(words)} fails without any change")
                step = used_time() - before, words, os.path.relpath(name, build.folder) + ".c"
                self.steps.append(step)
        self.steps = [s for s in self.steps if s[0] <= most]
        self.start()

    def start(self):
        """Before another file: all have killed nothing so far."""
        self.kills = {id(step): [1, 2] for step in self.steps}

    def order(self):
        """By what a second of each is worth: kills by tries so far, and what a start takes."""
        with self.lock:
            return sorted(self.steps, key=lambda s: (s[0] + 0.03) * self.kills[id(s)][1] / self.kills[id(s)][0])

    def fails(self, words, mutant, seconds):
        """Whether a program fails where what `mutant` holds takes the place of the library's."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        if words[0].startswith("qemu"):
            words = [words[0], "-E", "LD_PRELOAD=" + mutant, *words[1:]]
        else:
            environment["LD_PRELOAD"] = mutant
        try:
            return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit,
                                  env=environment, timeout=WALL_MOST).returncode
        except subprocess.TimeoutExpired:
            return 0

    def killer(self, mutant, slower=1):
        """The source of a program that fails on the mutant, None where all pass."""
        for step in self.order():
            seconds, words, source = step
            failed = self.fails(words, mutant, slower * (6 * seconds + 3))
            with self.lock:
                self.kills[id(step)][0] += bool(failed)
                self.kills[id(step)][1] += 1
            if failed:
                return source
        return None


def used_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Worker:
    """A copy of the rooms in which one mutant at a time is compiled, as the Makefile would, and tried."""

    def __init__(self, build, number):
        self.build, self.folder = build, pathlib.Path(build.scratch, f"worker{number}").resolve()
        for room in ROOMS:
            shutil.copytree(ROOT / room, self.folder / room, ignore=shutil.ignore_patterns("reference"))
            os.makedirs(self.folder / build.folder / room)

    def compile(self, objects, options=()):
        """The bytes of each object, by name; None where the source does not compile."""
        for o in objects:
            words = [w for w in self.build.commands[o] if w not in ("-MMD", "-MP")] + ["-w", *options]
            if subprocess.run(words, cwd=self.folder, capture_output=True).returncode:
                return None
        return {o: (self.folder / o).read_bytes() for o in objects}

    def verdict(self, source, text, objects, originals, seen, trial, proven):
        (self.folder / source).write_text(text)
        some = seen.likely or objects[:SOME]
        made = self.compile(some)
        if made is None:
            return "no C", None
        killer = self.killer(some, trial) if some != objects and any(made[o] != originals[o] for o in some) else None
        if killer:
            return "killed", killer
        rest = self.compile([o for o in objects if o not in made])
        if rest is None:
            return "no C", None
        made.update(rest)
        changed = [o for o in objects if made[o] != originals[o]]
        if not changed:
            return "same objects", None
        seen.likely = changed[:SOME]
        if not seen.first(tuple(made[o] for o in objects)):
            return "seen before", None
        killer = self.killer(objects, trial) or (None if proven else self.killer_sanitized(source, text, objects, trial))
        return "killed" if killer else "survived", killer

    def killer(self, objects, trial):
        mutant = str(self.folder / "mutant.so")
        self.build.link_library(mutant, [str(self.folder / o) for o in objects])
        return trial.killer(mutant)

    def killer_sanitized(self, source, text, objects, trial):
        """The same with its room of the library under ASan and UBSan; emulated machines have none. The source is tried first as it was."""
        if self.build.cross:
            return None
        with self.build.trying:
            if source not in self.build.tried:
                (self.folder / source).write_text(self.original)
                if self.run_sanitized(source, objects, trial):
                    sys.exit(f"run.py: {source} fails under sanitizers without any change")
                self.build.tried.add(source)
                (self.folder / source).write_text(text)
        return self.run_sanitized(source, objects, trial)

    def run_sanitized(self, source, objects, trial):
        if self.compile(objects, SANITIZE) is None:
            return None
        mutant, whole = str(self.folder / "sanitized.so"), self.build.sanitized(source.split("/")[0])
        self.build.link_library(mutant, [str(self.folder / o) if o in objects else whole[o] for o in self.build.objects], SANITIZE)
        return trial.killer(f"{self.build.asan} {mutant}", 10)


class Seen:
    """Objects that were tried: two changes with one result count once. `likely`: some of those that the last change was seen in."""

    def __init__(self):
        self.marks, self.likely, self.lock = set(), None, threading.Lock()

    def first(self, made):
        with self.lock:
            new = hash(made) not in self.marks
            self.marks.add(hash(made))
            return new


class Proofs:
    """equal.txt: blocks of a file's name, lines "+ what only the mutant's line holds" or "+ what the original's holds => what the
    mutant's", and why nothing can tell one from the other."""

    def __init__(self, path):
        self.entries, self.used = [], set()
        for block in path.read_text().split("\n\n"):
            lines = [line for line in block.splitlines() if not line.startswith("#")]
            if lines:
                marks = [line[2:] for line in lines[1:] if line.startswith("+ ")]
                if not marks or not any(not line.startswith("+ ") for line in lines[1:]):
                    sys.exit(f"run.py: {path}: without a mutant or a reason: {lines[0]}")
                self.entries += [(lines[0], mark) for mark in marks]

    def hold(self, source, old, new):
        return [(s, mark) for s, mark in self.entries if s == source and self.fits(mark, old + "$", new + "$")]

    @staticmethod
    def fits(mark, old, new):
        before, arrow, after = mark.partition(" => ")
        return before in old and after in new if arrow else mark in new and mark not in old

    def stale(self, source):
        return [mark for s, mark in self.entries if s == source and (s, mark) not in self.used]


def try_file(source, mutants, held, text, build, trial, workers, record):
    """Of each mutant, in turn, its verdict; each is recorded as soon as it is known."""
    objects = build.dependents(source)
    trial.start()
    spare, seen = queue.Queue(), Seen()
    for w in workers:
        w.original = text
        (w.folder / source).write_text(text)
        originals = w.compile(objects)
        spare.put(w)
    if not objects or originals is None:
        sys.exit(f"run.py: {source} is part of no object")

    def one(mutant):
        worker = spare.get()
        try:
            verdict, killer = worker.verdict(source, operators.apply(text, mutant), objects, originals, seen, trial, held[mutant])
            record.put(mutant, verdict, killer)
            return mutant, verdict
        finally:
            spare.put(worker)
    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        yield from pool.map(one, mutants)
    for w in workers:
        (w.folder / source).write_text(text)
        w.compile(objects)


def chosen(arguments):
    patterns = arguments.file or FILES
    named = sorted(str(p.relative_to(ROOT)) for room in ROOMS for p in (ROOT / room).glob("*.[ch]"))
    files = [f for f in named if any(fnmatch.fnmatch(f, p) for p in patterns)]
    if not files:
        sys.exit("run.py: no such file")
    return files


def arguments_of():
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", action="append", help="a file, or a pattern, of core, kernels, x86 or arm64")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fresh", action="store_true", help="also what is known from runs before")
    parser.add_argument("--most", type=float, default=WALL_MOST, help="leave out programs that take more seconds")
    parser.add_argument("--lines", help="FIRST-LAST")
    return parser.parse_args()


class Rooms:
    """The builds, their workers and trials, each made when the first file needs it."""

    def __init__(self, jobs, most):
        self.jobs, self.most, self.builds, self.trials = jobs, most, {}, {}

    def of(self, order, programs):
        if order[0] not in self.builds:
            build = Build(*order)
            self.builds[order[0]] = build, [Worker(build, n) for n in range(self.jobs)]
        build, workers = self.builds[order[0]]
        key = order[0], str(programs)
        if key not in self.trials:
            self.trials[key] = Trial(build, programs, self.most)
        return build, self.trials[key], workers


def verdicts(source, text, mutants, held, record, room):
    """Each mutant with its verdict: those that runs before found, then the others as they are tried in what room() gives."""
    known = [(m, record.get(m, held[m])) for m in mutants]
    yield from ((m, verdict) for m, verdict in known if verdict)
    unknown = [m for m, verdict in known if not verdict]
    if unknown:
        yield from try_file(source, unknown, held, text, *room(), record)


def all_verdicts(source, text, mutants, held, fresh, rooms):
    """The same by the build that has the file; mutants of a header of ALSO that show in no object of it are tried there."""
    _, *own = next(s for s in SUBJECTS if any(fnmatch.fnmatch(source, p) for p in s[0].split()))
    also, unseen = fnmatch.fnmatch(source, ALSO[0]), []
    record = Record(ROOT / "build/mutants/record", source, text, fresh)
    for mutant, verdict in verdicts(source, text, mutants, held, record, lambda: rooms.of(*own)):
        if also and verdict == "same objects":
            unseen.append(mutant)
        else:
            yield mutant, verdict
    if unseen:
        record = Record(ROOT / "build/mutants-arm64/record", source, text, fresh)
        yield from verdicts(source, text, unseen, held, record, lambda: rooms.of(*ALSO[1:]))


def survey(source, text, mutants, fresh, proofs, rooms):
    """How many mutants of a file there are of each verdict. Prints those that live: the line as it was and as it is."""
    lines = {m: operators.changed_line(text, m) for m in mutants}
    held = {m: proofs.hold(source, *lines[m]) for m in mutants}
    counts = collections.Counter()
    for mutant, verdict in all_verdicts(source, text, mutants, held, fresh, rooms):
        if verdict != "killed":
            proofs.used.update(held[mutant])
        if verdict == "survived" and held[mutant]:
            verdict = "proven"
        counts[verdict] += 1
        if verdict == "survived":
            old, new = lines[mutant]
            print(f"    {source}:{mutant.line}: {old}\n    {' ' * len(f'{source}:{mutant.line}')}> {new}", flush=True)
    return counts


def main():
    arguments = arguments_of()
    os.chdir(ROOT)
    proofs, rooms, rows, left = Proofs(ROOT / "tests/mutants/equal.txt"), Rooms(arguments.jobs, arguments.most), [], 0
    low, high = map(int, (arguments.lines or "1-1000000").split("-"))
    for source in chosen(arguments):
        started, text = time.time(), (ROOT / source).read_text()
        mutants = [m for m in operators.mutants(text) if low <= m.line <= high]
        counts = survey(source, text, mutants, arguments.fresh, proofs, rooms)
        print(f"{source}: {time.time() - started:.0f} seconds, {counts['survived']} live", flush=True)
        rows.append((source, counts))
        left += counts["survived"]
        for mark in [] if arguments.lines else proofs.stale(source):
            print(f"    equal.txt names what no mutant of {source} holds: {mark}")
            left += 1
    rows.append(("all", sum((counts for _, counts in rows), collections.Counter())))
    print(f"{'':26} {'mutants':>8} {'killed':>8} {'equal':>8} {'live':>8}")
    for name, counts in rows:
        equal = counts["same objects"] + counts["proven"]
        mutants = counts["killed"] + equal + counts["survived"]
        print(f"{name:26} {mutants:8} {counts['killed']:8} {equal:8} {counts['survived']:8}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
