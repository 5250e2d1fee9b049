#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make parity: the float executor (morsel run NET.onnx) beside ONNX Runtime.

    float.py [--quick] [--only REGEX] [--jobs N]        MORSEL is the tool, build/morsel where it is not set

Graphs of one operator with random data, ONNX's own vectors for the operators that the executor has, and whole networks with every value in
between. What moves data or gives whole numbers has to be equal; all else within 1e-5 (networks: 1e-4) of the largest value. In networks
with QuantizeLinear a sum that lies next to half a step may go to the other side: one value in fifty may be apart, and what follows from it.
Exit status 1 where anything failed.
"""
import argparse
import collections
import importlib.util
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort

import float_cases
import float_nets

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MORSEL = os.environ.get("MORSEL", "build/morsel").split()
AS_FLOATS = ("bool", "int16", "uint16", "uint32", "uint64", "float16")  # which .npy files of the tool do not have
ONE, NET = 1e-5, 1e-4  # of the largest value


class Refused(Exception):
    pass


def run_morsel(model, feeds):
    """The outputs in order."""
    with tempfile.TemporaryDirectory() as folder:
        path, arguments = os.path.join(folder, "net.onnx"), []
        onnx.save(model, path)
        for i, (name, array) in enumerate(feeds.items()):
            file = os.path.join(folder, f"in{i}.npy")
            np.save(file, array.astype(np.float32) if array.dtype.name in AS_FLOATS else array)
            arguments += ["--input", f"{name}={file}"]
        for i, output in enumerate(model.graph.output):
            arguments += ["--output", f"{output.name}={folder}/out{i}.npy"]
        done = subprocess.run(MORSEL + ["run", path] + arguments, capture_output=True, text=True, check=False)
        if done.returncode == 1:
            raise Refused(re.sub(r"^.*(\.onnx|\.npy|cannot run 1 node.*?\)): ", "", done.stderr.strip())[:150])
        if done.returncode:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        return [np.load(f"{folder}/out{i}.npy") for i in range(len(model.graph.output))]


def run_reference(model, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def difference(got, want, limit, share=0.0):
    """What is wrong, "" for nothing; the largest difference as a part of the largest value."""
    want = np.asarray(want)
    if got.shape != want.shape:
        return f"shape {list(got.shape)} instead of {list(want.shape)}", np.inf
    want, got = want.astype(np.float64), got.astype(np.float64)
    if not np.array_equal(np.isfinite(want), np.isfinite(got)):
        return "some values are finite in one and not in the other", np.inf
    finite = np.isfinite(want)
    most = np.abs(want[finite]).max(initial=0)
    apart = np.abs(want[finite] - got[finite]).max(initial=0)
    part = apart / most if most else apart
    if part < 0.1 and np.sum(np.abs(want[finite] - got[finite]) > limit * most) <= share * want.size:
        return "", part
    return (f"by {part:.3g} of the largest value" if part > limit else ""), part


def compare(model, feeds, want, limit):
    got = run_morsel(model, feeds)
    if model.graph.node[-1].op_type == "NonMaxSuppression":  # rows of -1 stand behind what was selected
        got[-1] = got[-1][got[-1][:, 0] >= 0]
    if model.graph.node[-1].op_type in ("Cast", "CastLike"):  # what becomes float16 is float here, and not rounded
        got = [g.astype(np.float16) if np.asarray(w).dtype == np.float16 else g for g, w in zip(got, want)]
    share = 0.02 if limit == NET and any(n.op_type == "QuantizeLinear" for n in model.graph.node) else 0.0
    verdicts = [difference(g, w, limit, share) for g, w in zip(got, want)]
    return "; ".join(f"{o.name}: {v}" for o, (v, _) in zip(model.graph.output, verdicts) if v), max(p for _, p in verdicts)


Net = collections.namedtuple("Net", "name make")
TASKS = []  # (kind, row, case, vector or function): workers, which are forks, take them by number


def attempt(number):
    """row, name, "passed" | "failed" | "refused", why, difference"""
    kind, row, item = TASKS[number]
    try:
        if kind == "one":
            model, feeds = item.make()
            return row, item.name, *judge(compare(model, feeds, run_reference(model, feeds), 0 if item.exact else ONE))
        if kind == "vector":
            model, feeds = item.as_it_is()
            result = compare(model, feeds, list(item.want.values()), ONE)
            if result[0]:  # where ONNX Runtime does not give it either, it decides
                result = compare(model, feeds, run_reference(model, feeds), ONE)
            return row, item.name, *judge(result)
        model, feeds = item.make()
        return row, item.name, *judge(compare(model, feeds, run_reference(model, feeds), NET))
    except Refused as e:
        return row, item.name, "refused", str(e), 0.0
    except Exception as e:
        return row, item.name, "failed", f"{type(e).__name__}: {str(e)[:300]}", np.inf


def judge(result):
    why, part = result
    return ("failed" if why else "passed"), why, part


def vectors():
    """ONNX's own for the operators that the executor has, by its table or by their function, of numbers that it takes."""
    known = set()
    for room, row in (("float", r'\{""\s*, "(\w+)",'), ("onnx", r'\{""\s*, "(\w+)",[^}]*?\.(?:function|of_two) = ')):
        with open(os.path.join(ROOT, "tools", room, "operators.c"), encoding="utf-8") as f:
            found = re.findall(row, f.read())
        if not found:
            raise SystemExit(f"tools/{room}/operators.c: no rows of the form {row}")
        known.update(found)
    where = os.path.join(ROOT, "tests", "onnx_vectors", "run.py")
    spec = importlib.util.spec_from_file_location("onnx_vectors", where)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for case in module.collect():
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type not in known or nodes[0].domain not in ("", "ai.onnx"):
            continue
        vector = module.Vector(case)
        values = [*vector.values.values(), *vector.want.values()]
        if all(isinstance(v, np.ndarray) or np.isscalar(v) for v in values):
            yield "vector", nodes[0].op_type, vector


def tasks(quick):
    for row, case in float_cases.cases():
        yield "one", row, case
    if not quick:
        yield from vectors()
    for row, name, make in float_nets.nets(quick):
        yield "net", row, Net(name or row, make)


def print_table(title, rows):
    print(f"\n{title:<34} {'cases':>6} {'passed':>7} {'failed':>7} {'refused':>8} {'largest difference':>19}")
    for row, results in rows.items():
        count = collections.Counter(state for _, state, _, _ in results)
        most = max(part for _, _, _, part in results)
        print(f"{row:<34} {len(results):>6} {count['passed']:>7} {count['failed']:>7} {count['refused']:>8} {most:>19.2g}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="without ONNX's vectors and the larger networks")
    parser.add_argument("--only", default="", help="cases whose name has this regular expression")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    start, tables = time.time(), {k: collections.OrderedDict() for k in ("one", "vector", "net")}
    TASKS.extend(t for t in tasks(arguments.quick) if re.search(arguments.only, f"{t[1]} {t[2].name}"))
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
        for (kind, _, _), (row, *result) in zip(TASKS, pool.imap(attempt, range(len(TASKS)), chunksize=4)):
            tables[kind].setdefault(row, []).append(result)
    for title, kind in (("one operator, random data", "one"), ("ONNX's own vectors", "vector"), ("networks", "net")):
        if tables[kind]:
            print_table(title, dict(sorted(tables[kind].items())) if kind == "vector" else tables[kind])
    results = [(kind, row, *r) for kind in tables for row, rs in tables[kind].items() for r in rs]
    refused = collections.Counter((row, why) for kind, row, _, state, why, _ in results if state == "refused")
    if refused:
        print("\nRefused, in the executor's words:")
        for (row, why), count in sorted(refused.items()):
            print(f"  {row:<20} {count:>3}  {why}")
    bad = [r for r in results if r[3] == "failed" or (r[3] == "refused" and r[0] != "vector")]
    for _, _, name, state, why, _ in bad:
        print(f"FAIL {name}: {state}: {why}")
    print(f"\n{time.time() - start:.0f} s\n{len(results) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad or not results else 0


if __name__ == "__main__":
    sys.exit(main())
