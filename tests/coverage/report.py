# SPDX-License-Identifier: MIT
"""Branch coverage of folders, from what gcov knows of several builds.

usage: report.py [--least PERCENT] [--list] FOLDER,FOLDER... BUILD=GCOV...

Each BUILD is a folder of objects built with --coverage that have run, read by the gcov of its compiler. A branch of the source counts as
taken where any build, and any function that a header is part of, has taken it. --list names every branch that was never taken.
Exit status: 0 where every folder, and all of them, reach --least; 1 otherwise.
"""
import collections
import json
import pathlib
import subprocess
import sys


def read_build(build, gcov, folders, counts):
    """Adds the counts of one build: (file, line, number of branches there) -> how often each was taken."""
    notes = sorted(p.resolve() for f in folders for p in pathlib.Path(build, f).rglob("*.gcno"))
    if not notes:
        sys.exit(f"report.py: {build} holds no objects built with --coverage")
    answer = subprocess.run([gcov, "--json-format", "--stdout", "-b", *map(str, notes)], capture_output=True, text=True)
    if answer.returncode:
        sys.exit(f"report.py: {gcov}: {answer.stderr}")
    for text in answer.stdout.splitlines():
        if not text.startswith("{"):
            continue
        for source in json.loads(text)["files"]:
            name = source["file"]
            if name.split("/")[0] not in folders or name.startswith("kernels/reference/"):
                continue
            for line in source["lines"]:
                taken = [branch["count"] for branch in line["branches"]]
                if taken:
                    add(counts[name], (line["line_number"], len(taken)), taken)


def add(counts, key, taken):
    before = counts.get(key, [0] * len(taken))
    counts[key] = [a + b for a, b in zip(before, taken)]


def row(name, taken, branches, out=print):
    share = 100.0 * taken / branches if branches else 100.0
    out(f"{name:34} {branches:8} {branches - taken:8} {share:8.1f} %")
    return share


def never_taken(name, counts):
    source = pathlib.Path(name).read_text().splitlines()
    for (line, branches), taken in sorted(counts.items()):
        missing = [str(i + 1) for i, n in enumerate(taken) if not n]
        if missing:
            yield f"    {name}:{line}: {', '.join(missing)} of {branches}: {source[line - 1].strip()}"


def total(counts, names):
    taken = sum(1 for n in names for t in counts[n].values() for c in t if c)
    return taken, sum(len(t) for n in names for t in counts[n].values())


def main(words):
    least, listed = 0.0, False
    while words and words[0].startswith("--"):
        option = words.pop(0)
        if option == "--least":
            least = float(words.pop(0))
        elif option == "--list":
            listed = True
        else:
            sys.exit(__doc__)
    if len(words) < 2:
        sys.exit(__doc__)
    folders, counts, good = words[0].split(","), collections.defaultdict(dict), True
    for build in words[1:]:
        folder, gcov = build.split("=")
        read_build(folder, gcov, folders, counts)
    print(f"{'':34} {'branches':>8} {'untaken':>8} {'taken':>10}")
    for folder in folders:
        names = sorted(n for n in counts if n.startswith(folder + "/"))
        for name in names:
            row("  " + name, *total(counts, [name]))
            if listed:
                for line in never_taken(name, counts[name]):
                    print(line)
        good &= row(folder, *total(counts, names)) >= least
    good &= row("all", *total(counts, sorted(counts))) >= least
    if not good:
        print(f"FAIL less than {least:g} % of the branches are taken")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
