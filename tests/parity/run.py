#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make parity: Morsel beside ONNX Runtime, tensor by tensor.

    run.py [--quick] [--only REGEX] [--random N] [--jobs N]        MORSEL is the tool, build/morsel where it is not set

Every quantized tensor of every network is compared. Where ONNX Runtime computes in integers, all bytes have to be equal. Where it computes
in float (read off its optimized graph), each step is given ONNX Runtime's own bytes, and may differ by one step at the most, and that only
for operators whose float arithmetic cannot be met from outside; they are listed with the reason below the table. Networks of int8
activations between QuantizeLinear and DequantizeLinear are also compared with the same network in uint8, which ONNX Runtime computes in
integers. Where ONNX Runtime's optimizer changes the answer of a whole network, every byte has to be as it was without the optimizer.
Exit status 1 where anything failed.
"""
import argparse
import collections
import multiprocessing
import re
import sys
import time
import traceback

import onnxruntime as ort

import models
from compare import Result, compare, compare_dressed, reasons_text


def one(case):
    try:
        model, feeds = case.make()
    except Exception as e:  # what makes the networks is not what is tested, but nothing may be lost unseen
        return case, Result(case.name, failed=[f"could not be made: {type(e).__name__}: {str(e)[:200]}"])
    try:
        if case.other:
            return case, compare_dressed(case.name, model, case.other(model), feeds)
        return case, compare(case.name, model, feeds, case.options, case.least_sqnr)
    except Exception as e:
        where = traceback.extract_tb(e.__traceback__)[-1]
        return case, Result(case.name, failed=[f"{type(e).__name__} in {where.name}: {str(e)[:300]}"])


class Table:
    """Results by row, in the order in which they came."""

    def __init__(self):
        self.rows = collections.OrderedDict()

    def add(self, row, result):
        self.rows.setdefault(row, []).append(result)

    @staticmethod
    def line(row, results):
        allowed = collections.Counter()
        for r in results:
            allowed.update(r.allowed)
        failed = sum(bool(r.failed) for r in results)
        verdict = f"FAIL ({failed} of {len(results)})" if failed else "one step: " + ", ".join(sorted(allowed)) if allowed else "equal"
        sqnr = min(r.sqnr for r in results)
        name = row if len(results) == 1 else f"{row} ({len(results)})"
        tensors, size, differing = [sum(getattr(r, k) for r in results) for k in ("tensors", "bytes", "differing")]
        return (f"{name:<44} {tensors:>7} {size:>12} {differing:>9} {max(r.most for r in results):>8.3g} "
                f"{'=' if sqnr == float('inf') else f'{sqnr:.1f}':>6}  {verdict}")

    def reasons(self):
        return {reason for results in self.rows.values() for r in results for reason in r.allowed}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a part of the networks, in under a minute")
    parser.add_argument("--only", default="", help="networks whose name has this regular expression")
    parser.add_argument("--random", type=int, default=models.RANDOM_NETS, help="so many random networks")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    start, table, failures = time.time(), Table(), []
    cases = [c for c in models.cases(arguments.random) if re.search(arguments.only, c.name) and (c.quick or not arguments.quick)]
    print(f"ONNX Runtime {ort.__version__}, {len(cases)} networks; dB: SQNR of the untouched networks' outputs, = where all are equal\n")
    print(f"{'network':<44} {'tensors':>7} {'bytes':>12} {'differing':>9} {'max step':>8} {'dB':>6}  verdict", flush=True)
    with multiprocessing.Pool(arguments.jobs, maxtasksperchild=400) as pool:
        row, results = None, []
        for case, result in pool.imap(one, cases, chunksize=1):
            if case.row != row and results:
                print(Table.line(row, results), flush=True)
                results = []
            row = case.row
            results.append(result)
            table.add(row, result)
            failures += [(result.name, f) for f in result.failed]
        if results:
            print(Table.line(row, results))
    for name, failure in failures[:60]:
        print(f"FAIL {name}: {failure}")
    reasons = table.reasons()
    if reasons:
        print("\nWhere a step is allowed (given equal bytes before it):")
        print("\n".join(reasons_text(reasons)))
    bad = len({name for name, _ in failures})
    drawn = [r for row, results in table.rows.items() if row.startswith("random") for r in results]
    if drawn:
        refused = collections.Counter(re.sub(r"\S*\d\S*", "#", f) for r in drawn for f in r.failed if f.startswith("refused"))
        print(f"\n{len(drawn)} random networks: {sum(refused.values())} refused, {sum(not r.failed for r in drawn)} as they should be, "
              f"{sum(not r.failed and not r.allowed for r in drawn)} of them equal in every byte")
        for why, count in refused.most_common():
            print(f"  {count:>5}  {why[:200]}")
    print(f"\n{time.time() - start:.0f} s")
    print(f"{len(cases) - bad} passed, {bad} failed")
    return 1 if bad or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
