#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""amalgamate.py FOLDER: the whole library as FOLDER/morsel.c, beside FOLDER/morsel.h. `make amalgamation` calls it.

Files come one after the other, those of an instruction set between pragmas that allow it. A header comes where it is first needed, once; one that
reads macros of the file that includes it comes each time. What two files name alike gets the file's name behind it; a file's macros end with it.
Which flags an instruction set wants is read from the Makefile."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = {"x86": "defined(__x86_64__)", "arm64": "defined(__aarch64__)"}
ISA_ORDER = ("", "neon", "dotprod", "i8mm", "avx2", "avxvnni", "avx512vnni", "avx512vbmi")
SHORT_ISAS = {"avx512": "avx512vnni"}  # of headers, whose names say what several files share
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?:\.|->)\s*\w+|(?:struct|union|enum)\s+\w+|\w+|[^\w]", re.S)
INCLUDE = re.compile(r"^# *include ([\"<])([^\">]+)[\">].*\n", re.M)


def isa_flags():
    """From the Makefile: {isa: flags}, a variable in them replaced."""
    flags = {}
    for isa, text in re.findall(r"^isa_flags_(\w+) := *(.*)$", (ROOT / "Makefile").read_text(), re.M):
        flags[isa] = re.sub(r"\$\(isa_flags_(\w+)\)", lambda m: flags[m.group(1)], text)
    return flags


def isa_of(path):
    isa = path.stem.rsplit("_", 1)[-1]
    isa = SHORT_ISAS.get(isa, isa)
    if path.parent.name not in MACHINES:
        return ""
    return isa if isa in ISA_ORDER else "avx2" if path.parent.name == "x86" and path.suffix == ".h" else ""


def targets(isa):
    """What the pragmas name: gcc's target, what it adds to a newer CPU's, and clang's."""
    words = isa_flags()[isa].split()
    arch = [word[2:] for word in words if word.startswith("-march=")]
    features = [name for word in arch for name in word.split("+")[1:]]
    names = [word[2:] for word in words if word.startswith("-m") and not word.startswith("-march=")]
    return ",".join(arch + names), "".join("+" + name for name in features), ",".join(features + names)


# What -mcpu=... gives the rest an architecture would take away from functions, and assemblers know no features of an older one.
NEWER = "defined(__ARM_FEATURE_DOTPROD) || defined(__ARM_FEATURE_SVE) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)"


class Source:
    """A file: its text, what it defines at file scope, its macros, and what it includes."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        plain = re.sub(r"/\*.*?\*/|__attribute__\(\(.*?\)\) ?", "", self.text, flags=re.S)
        self.guard = re.search(r"^#ifndef (\w+_H)\n#define \1$", plain, re.M)
        self.macros = [m for m in re.findall(r"^# *define (\w+)", plain, re.M) if not self.guard or m != self.guard.group(1)]
        self.names = set(re.findall(r"^(?:static|[A-Z0-9_]*INLINE)\b[^;={}]*?\b(\w+)\(", plain, re.M))
        self.names |= set(re.findall(r"^static [^(;{}=]*?\b(\w+)(?:\[[^\]]*\])*\s*(?:=|;)", plain, re.M))
        self.names |= set(re.findall(r"^(?:typedef )?((?:struct|union|enum) \w+) \{", plain, re.M))
        self.names |= set(re.findall(r"^typedef [^;{]*?\b(\w+)\s*;", plain, re.M))
        self.names |= set(re.findall(r"^\} (\w+);", plain, re.M))
        for body in re.findall(r"^enum(?: \w+)? \{([^}]*)\}", plain, re.M):
            self.names |= set(re.findall(r"(?:^|,)\s*(\w+)", body))
        self.includes = [self.find(name) for kind, name in INCLUDE.findall(self.text) if kind == '"']

    def find(self, name):
        beside = (self.path.parent / name).resolve()
        return beside if beside.exists() else (ROOT / name).resolve()

    def machine(self):
        return self.path.parent.name if self.path.parent.name in MACHINES else ""


def read_all():
    sources = {}
    for room in ("core", "kernels", *MACHINES):
        for path in sorted((ROOT / room).glob("*.[ch]")):
            sources[path] = Source(path)
    return sources


MARK = "The file that includes this says"


def find_parametric(headers):
    """Headers that read types and functions of the file that includes them: all of such a header is that file's own."""
    some = {s.path for s in headers if MARK in s.text}
    return close(some, headers)


def find_switched(sources, headers, parametric):
    """Headers whose functions read a macro of the file that includes them, or whose macros another header has, too: types stay the same."""
    of_files = {m for s in sources.values() if s.path.suffix == ".c" for m in s.macros}
    some = set()
    for s in headers:
        tested = set(re.findall(r"\w+", " ".join(re.findall(r"^# *if.*", s.text, re.M))))
        others = {m for o in headers if o is not s and {s.machine(), o.machine()} != set(MACHINES) for m in o.macros + sorted(o.names)}
        if tested & of_files or others & {*s.macros, *s.names}:
            some.add(s.path)
    return close(some, headers) - parametric


def close(some, headers):
    """With what includes them."""
    while more := {s.path for s in headers if s.path not in some and some & set(s.includes)}:
        some |= more
    return some


# Where it stands in for MSVC, clang leaves out of immintrin.h what options do not allow, whatever attributes functions have.
AS_MSVC = """#if defined(__clang__) && defined(_MSC_VER)
""" + "".join(f"#include <{name}intrin.h>\n" for name in "smm avx avx2 f16c fma avx512f avx512vl avx512bw avx512dq avx512vlbw avx512vldq "
                "avx512vnni avx512vlvnni avx512vbmi avx512vbmivl avxvnni".split()) + "#endif\n"

DEFINED = re.compile(r"^(?!static|typedef|#|/)\w[^{};=#/()]*?\b(\w+)\([^{};#/]*\) \{\n", re.M)
TYPED = re.compile(r"^(?!typedef|static)(\w+_fn) (\w+), ([\w, ]+);\n", re.M)
PROTOTYPE = re.compile(r"^(?!static|typedef|#|/)(?:\w[^{};=#/()]*?\b(\w+)\([^{};=#/]*\)|\w+_fn (\w+));[^\n]*\n", re.M)
TYPE = re.compile(r"^(?:/\*(?:(?!\*/).)*\*/\n)?(?:struct|union|enum)(?: \w+)? \{.*?^\};\n", re.M | re.S)


class Writer:
    def __init__(self, sources):
        headers = [s for s in sources.values() if s.path.suffix == ".h"]
        self.sources, self.parametric = sources, find_parametric(headers)
        self.switched = find_switched(sources, headers, self.parametric)
        self.repeated = self.parametric | self.switched
        self.out, self.done, self.isa = [], {ROOT / "core" / "morsel.h"}, ""
        self.kept = set()  # macros of headers that have come, for all
        self.homes = {name: isa_of(s.path) for s in sources.values() if s.path.suffix == ".c" for name in DEFINED.findall(s.text)}
        self.definers = collections.Counter()
        for s in sources.values():
            for name in s.names:
                self.definers[name] += 1

    def turn_to(self, isa):
        """Which instructions functions from here on may use."""
        if isa not in isa_flags() or not any(targets(isa)):
            isa = ""
        if isa == self.isa:
            return
        if self.isa:
            self.out.append("#if defined(__clang__)\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n")
        if isa:
            gcc, added, clang = targets(isa)
            newer = f'#elif {NEWER}\n#pragma GCC push_options\n#pragma GCC target("{added}")\n' if added else ""
            self.out.append(f'#if defined(__clang__)\n#pragma clang attribute push(__attribute__((target("{clang}"))), apply_to = function)\n'
                            f'{newer}#else\n#pragma GCC push_options\n#pragma GCC target("{gcc}")\n#endif\n')
        self.isa = isa

    def header(self, path, file):
        """`file` includes it."""
        source = self.sources[path]
        if path in (self.in_file if path in self.repeated else self.done):
            return
        (self.in_file if path in self.repeated else self.done).add(path)
        text = source.text
        if source.guard:
            text = text[text.index(source.guard.group(0)) + len(source.guard.group(0)):text.rindex("#endif")]
        if path in self.repeated:
            self.macros += source.macros
        else:
            self.kept |= set(source.macros)
        if path in self.switched:
            text = TYPE.sub("", text) if path in self.done else text
            self.done.add(path)
        self.body(source, text, file, isa_of(file.path) if path in self.repeated else isa_of(path))

    def body(self, source, text, file, isa):
        """The text with its includes in place, under the names that `file` gives."""
        self.turn_to(isa)
        self.out.append(f"\n/* ---- {source.path.relative_to(ROOT)} ---- */\n")
        at = 0
        for include in INCLUDE.finditer(text):
            self.part(self.renamed(text[at:include.start()], source, file), source, isa)
            at = include.end()
            if include.group(1) == "<":
                self.out.append(include.group(0) + (AS_MSVC if "immintrin" in include.group(2) else ""))
                continue
            self.header(source.find(include.group(2)), file)
            self.turn_to(isa)
        self.part(self.renamed(text[at:], source, file), source, isa)

    def part(self, text, source, isa):
        """A header's prototypes stand where those instructions are allowed with which they are defined: clang takes them for others else."""
        at = 0
        while TYPED.search(text):
            text = TYPED.sub(r"\1 \2;\n\1 \3;\n", text)
        for one in PROTOTYPE.finditer(text) if source.machine() and source.path.suffix == ".h" else ():
            self.out.append(text[at:one.start()])
            self.turn_to(self.homes.get(one.group(1) or one.group(2), ""))
            self.out.append(one.group(0))
            at = one.end()
            if text[at:].strip() and not PROTOTYPE.match(text, at):
                self.turn_to(isa)
        self.out.append(text[at:])

    def renames(self, source, file):
        """Names of this text that another file may have: those of headers that come again, those that two files define."""
        names = set()
        for path in {file.path, *self.reached(file)}:
            s = self.sources[path]
            if path in self.parametric:
                names |= s.names
            elif path in self.switched:
                names |= {n for n in s.names if " " not in n}
            elif s is file:
                names |= {n for n in s.names if self.definers[n] > 1}
        return names

    def reached(self, source, seen=None):
        seen = set() if seen is None else seen
        for path in source.includes:
            if path not in seen:
                seen.add(path)
                self.reached(self.sources[path], seen)
        return seen

    def renamed(self, text, source, file):
        if source is not file and source.path not in self.repeated:
            return text
        names, suffix = self.file_names, "_in_" + file.path.stem
        return "".join(t + suffix if t in names else t for t in TOKEN.findall(text))

    def file(self, path):
        source = self.sources[path]
        self.in_file, self.macros = set(), list(source.macros)
        self.file_names = self.renames(source, source)
        self.body(source, source.text, source, isa_of(path))
        self.out += [f"#undef {macro}\n" for macro in dict.fromkeys(self.macros) if macro not in self.kept]

    def write(self):
        files = [s.path for s in self.sources.values() if s.path.suffix == ".c"]
        for room in ("core", "kernels", *MACHINES):
            some = sorted((p for p in files if p.parent.name == room), key=lambda p: (ISA_ORDER.index(isa_of(p)), p))
            if room in MACHINES:
                self.out.append(f"\n#if {MACHINES[room]} && !defined(MORSEL_PLAIN_C)\n")
                before = set(self.done)
            for path in some:
                self.file(path)
            self.turn_to("")
            if room in MACHINES:
                self.out.append(f"#endif /* {MACHINES[room]} */\n")
                self.done = before  # what came between the two is not there for the other machine
        return "".join(self.out)


HEAD = """/* SPDX-License-Identifier: MIT */
/*
 * Morsel {version} in one file, made by `make amalgamation`: compile it with morsel.h beside it. Every instruction set of the machine is
 * inside; -DMORSEL_PLAIN_C leaves them out.
 */
#include "morsel.h"

{system}
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang diagnostic ignored "-Wpragma-clang-attribute"
#endif
#if defined(__ELF__) || defined(__MACH__)
#pragma GCC visibility push(hidden)
#endif
"""
TAIL = """
#if defined(__ELF__) || defined(__MACH__)
#pragma GCC visibility pop
#endif
"""


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    public = (ROOT / "core" / "morsel.h").read_text()
    version = re.search(r'#define MORSEL_VERSION "([^"]*)"', public).group(1)
    sources = read_all()
    system = {name for s in sources.values() if not s.machine() for kind, name in INCLUDE.findall(s.text) if kind == "<"} - {"cpuid.h"}
    head = HEAD.format(version=version, system="".join(f"#include <{name}>\n" for name in sorted(system)))
    text = head + Writer(sources).write() + TAIL
    for name, content in (("morsel.c", text), ("morsel.h", public)):
        whole = folder / (name + ".new")
        whole.write_text(content)
        whole.replace(folder / name)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main()
