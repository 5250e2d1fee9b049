# SPDX-License-Identifier: MIT
"""
make prove: each function `prove_NAME` of tests/prove/*.c, for all inputs. A line for each: PROVEN, FAILED with an input that shows it, or
UNKNOWN; the last line counts. Seconds of a proof are those of the processor. Nothing but PROVEN is a success.

    run.py [--self-test] [--list] [--jobs N] [--root FOLDER] [REGEX]
"""
import argparse
import multiprocessing
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

import ir
import machine
import sabotage
from path import Failed, Statistics, Unknown

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = "signed-integer-overflow,unsigned-integer-overflow,shift,integer-divide-by-zero,bounds,implicit-conversion,float-cast-overflow"


def compiled(root, file):
    """The harness with the sources that it includes, as clang's IR: not optimized, with all checks as traps."""
    command = ["clang", "-std=c11", "-O0", "-gline-tables-only", "-g", "-S", "-emit-llvm", "-o", "-", f"-I{root}", "-Wall", "-Wextra",
               "-Werror", "-Wno-unused-function", "-Wno-bitwise-instead-of-logical", "-fno-discard-value-names", f"-fsanitize={CHECKS}", "-fsanitize-trap=all",
               f"-fsanitize-ignorelist={HERE}/wraps.txt", str(file)]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise ir.Unsupported(f"{file.name} does not compile:\n{found.stderr}")
    return ir.Module(found.stdout)


def proofs_of(module):
    return [name[7:] for name in module.functions if name.startswith("@prove_")]


def prove(job):
    """(name, PROVEN, FAILED or UNKNOWN, why, seconds, questions to the solver, paths)"""
    root, file, name = job
    start, before = time.process_time(), Statistics.queries
    runner = None
    try:
        runner = machine.Machine(compiled(root, file), "prove_" + name)
        runner.run()
        verdict, why = "PROVEN", ""
    except Failed as failure:
        verdict, why = "FAILED", str(failure)
    except Unknown as failure:
        verdict, why = "UNKNOWN", str(failure)
    except ir.Unsupported as failure:
        verdict, why = "UNKNOWN", f"not modelled: {failure}"
    except Exception as failure:  # of the prover itself: it has proven nothing
        verdict, why = "UNKNOWN", f"the prover failed: {failure!r} at {traceback.extract_tb(failure.__traceback__)[-1]}"
    return name, verdict, why, time.process_time() - start, Statistics.queries - before, runner.paths if runner else 0


def run_all(jobs, workers):
    """Results in the order of the jobs. Each has a process of its own: a solver that has proven others takes other ways, and may give up."""
    with multiprocessing.Pool(max(workers, 1), maxtasksperchild=1) as pool:
        yield from pool.imap(prove, jobs)


def find_jobs(root, pattern):
    jobs = []
    for file in sorted(HERE.glob("*.c")):
        names = re.findall(r"^void prove_(\w+)\(", file.read_text(), re.M)
        jobs += [(root, file, name) for name in names if re.search(pattern, name)]
    return jobs


def run_proofs(jobs, workers):
    start, proven = time.monotonic(), 0
    for name, verdict, why, seconds, queries, paths in run_all(jobs, workers):
        proven += verdict == "PROVEN"
        print(f"{verdict:8} {name:34} {seconds:6.1f} s  {paths:4} paths {queries:5} questions" + (f"\n    {why}" if why else ""), flush=True)
    print(f"{len(jobs)} proofs, {proven} proven, {time.monotonic() - start:.0f} s")
    return 0 if jobs and proven == len(jobs) else 1


def run_sabotages(root, pattern, workers):
    """Each change of a source, in a copy of it, has to make the proof fail that stands beside it."""
    files = {name: file for _, file, name in find_jobs(root, "")}
    chosen = [s for s in sabotage.LIST if re.search(pattern, s[3])]
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for number, (source, old, new, name) in enumerate(chosen):
            copy = pathlib.Path(folder) / str(number)
            sabotage.copy_changed(root, copy, source, old, new)
            jobs.append((copy, files[name], name))
        caught = 0
        for (source, old, new, _), (name, verdict, why, seconds, _, _) in zip(chosen, run_all(jobs, workers)):
            caught += verdict == "FAILED"
            shown = why.replace(folder + "/", "")[:160]
            print(f"{'caught' if verdict == 'FAILED' else 'MISSED':8} {name:34} {seconds:6.1f} s  {source}: {old} -> {new}\n    {verdict} {shown}",
                  flush=True)
    print(f"{len(chosen)} sabotages, {caught} caught")
    return 0 if chosen and caught == len(chosen) else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--self-test", action="store_true", help="alter the sources: each proof has to fail")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--root", default=HERE.parent.parent, type=pathlib.Path)
    options = parser.parse_args()
    jobs = find_jobs(options.root, options.pattern)
    if options.list:
        print("\n".join(name for _, _, name in jobs))
        return 0
    if options.self_test:
        return run_sabotages(options.root, options.pattern, options.jobs)
    return run_proofs(jobs, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
