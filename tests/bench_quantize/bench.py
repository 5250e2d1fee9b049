#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench-quantize: what quantizers make of CIFAR-10's MobileNetV2 and of two networks that are hard to quantize, in one table.

    bench.py [--quick] [--fresh] [--test N] [--only REGEX] [--json FILE]      MORSEL is the tool, build/morsel where it is not set

All calibrate on the same 300 training pictures, those that morsel quantize takes by itself, and are measured on the 10,000 test pictures.
Morsel's blobs run in morsel, what its peers make runs in ONNX Runtime. differ: pictures whose first answer is not the float network's; SQNR:
of the ten outputs, against the float network's. How many answers differ is chance, within about 7 for 50: rows that have an aim, and the
peers' best, are measured by other pictures (--seed), too, and what all of them come to stands beside the aim. The peers' rows are kept below
build/quantize, with the seconds that they took then; --fresh measures them again. --quick: fewer of each, and 2000 test pictures.
"""
import argparse
import importlib.metadata
import json
import os
import re
import sys
import tempfile

import numpy as np

import hard
import measure

GOALS = [  # row, answers that may differ, least SQNR
    ("Morsel, default", 50, 34.7), ("Morsel, --adaround", 45, 35.3), ("Morsel, --per-tensor", 65, 33.0)]
MOST_DROP = 0.15
SEEDS = 4  # choices of calibration pictures, for the rows that have aims
RIVALS = ("ONNX Runtime, per channel, percentile", "ONNX Runtime, per tensor, percentile")


def onnxruntime_rows(quick):
    for per_channel in (True, False):
        for method in ("Percentile",) if quick else ("MinMax", "Entropy", "Percentile"):
            yield (f"ONNX Runtime, per {'channel' if per_channel else 'tensor'}, {method.lower()}",
                   lambda s, c, t, m=method, p=per_channel: measure.quantize_with_onnxruntime(s, c, t, m, p))


def nncf_rows(quick):
    for preset in ("PERFORMANCE",) if quick else ("PERFORMANCE", "MIXED"):
        yield f"NNCF, {preset.lower()}", lambda s, c, t, p=preset: measure.quantize_with_nncf(s, c, t, p)


MORSEL_OPTIONS = [  # and whether --quick has them
    ("", True), ("--no-equalization", True), ("--no-bias-correction", True), ("--no-equalization --no-bias-correction", False),
    ("--no-adaround", True), ("--adaround", True), ("--adaround --no-equalization", False), ("--per-tensor", True), ("--per-tensor --adaround", False),
    ("--clip-weights", False), ("--symmetric", False), ("--int8", False)] + \
    [(f"--method {m}", False) for m in ("minmax", "average", "percentile", "entropy", "mse")]
HARD_OPTIONS = [("", True), ("--no-equalization", True), ("--adaround", False), ("--per-tensor", False)]


def morsel_rows(options, quick):
    """Options that this morsel does not have are left out."""
    known = measure.call("quantize", "--help")
    for text, is_quick in options:
        if (is_quick or not quick) and all(w in known for w in text.split() if w.startswith("--")):
            yield f"Morsel, {text or 'default'}", text.split()


class Bench:
    def __init__(self, a):
        self.a, self.rows, self.section, self.seed = a, [], "", 0
        self.calibration = measure.calibration()
        self.test, self.classes = measure.pictures("test", a.test)
        self.kept_at = measure.STORE / "peers.json"
        self.kept = json.loads(self.kept_at.read_text()) if self.kept_at.exists() and not a.fresh else {}

    def show(self, label, figures):
        self.rows.append({"network": self.section, "quantizer": label, "seed": self.seed, **figures})
        if "refused" in figures:
            print(f"  {label:<44} refused: {figures['refused']}", flush=True)
            return
        top1, differ, sqnr = figures["top1"], figures.get("differ", 0), figures.get("sqnr", float("inf"))
        seconds = f"{figures['seconds']:8.1f}" if "seconds" in figures else f"{'-':>8}"
        decibels = f"{sqnr:8.2f}" if np.isfinite(sqnr) else f"{'-':>8}"
        print(f"  {label:<44} {top1:7.2f} {differ:7d} {decibels} {figures['bytes'] / 1024:9.0f} {seconds}", flush=True)

    def wanted(self, label):
        return not self.a.only or re.search(self.a.only, label)

    def peers(self, source, reference, rows):
        for label, quantize in rows:
            if not self.wanted(label):
                continue
            versions = {p: importlib.metadata.version(p) for p in ("onnxruntime", "onnx", "nncf")}
            key = json.dumps([measure.fingerprint(source), label, len(self.classes), versions, f"seed {self.seed}"], sort_keys=True)
            if key not in self.kept:
                with tempfile.TemporaryDirectory() as folder:
                    target = os.path.join(folder, "quantized.onnx")
                    seconds = quantize(source, self.calibration, target)
                    figures = measure.score(measure.run_onnx(target, np.load(self.test)), reference, self.classes)
                    self.kept[key] = {**figures, "bytes": os.path.getsize(target), "seconds": seconds}
                self.kept_at.write_text(json.dumps(self.kept, indent=1))
            self.show(label, self.kept[key])

    def morsel(self, source, reference, rows):
        for label, options in rows:
            if not self.wanted(label):
                continue
            with tempfile.TemporaryDirectory() as folder:
                blob = os.path.join(folder, "quantized.morsel")
                try:
                    seconds = measure.quantize_with_morsel(source, self.calibration, blob, options)
                    figures = measure.score(measure.run_morsel(blob, self.test, folder), reference, self.classes)
                    self.show(label, {**figures, "bytes": os.path.getsize(blob), "seconds": seconds})
                except measure.Refused as e:
                    self.show(label, {"refused": str(e)})

    def head(self, title):
        print(f"\n{title}\n  {'quantizer':<44} {'top-1 %':>7} {'differ':>7} {'SQNR dB':>8} {'KB':>9} {'seconds':>8}", flush=True)

    def network(self, title, source, peers, options):
        self.section = title
        self.head(title)
        reference = measure.float_outputs(source, self.test)
        top1 = 100 * float((reference.argmax(1) == self.classes).mean())
        self.show("float, in ONNX Runtime", {"top1": top1, "bytes": os.path.getsize(source)})
        self.peers(source, reference, peers)
        self.morsel(source, reference, morsel_rows(options, self.a.quick))

    def other_pictures(self, source, peers, options):
        """The rows that have aims, and the peers' best, by other calibration pictures."""
        reference = measure.float_outputs(source, self.test)
        for self.seed in range(1, SEEDS):
            self.calibration = measure.calibration(self.seed)
            self.head(f"{self.section}, other pictures to calibrate, seed {self.seed}")
            self.peers(source, reference, [row for row in peers if row[0] in RIVALS])
            self.morsel(source, reference, [row for row in morsel_rows(options, False) if row[0] in [g[0] for g in GOALS]])
        self.seed = 0
        self.calibration = measure.calibration()

    def of(self, section, label):
        """A quantizer's rows, by seed."""
        return [r for r in self.rows if r["network"] == section and r["quantizer"] == label and "top1" in r]

    def goals(self, easy, hard_ones):
        """What the default settings and each option are held to."""
        print("\naims")
        top1 = self.of(easy, "float, in ONNX Runtime")[0]["top1"]
        for label, of_all, decibels in GOALS:
            rows, differ = self.of(easy, label), of_all * self.a.test // measure.TEST
            if rows:
                met = rows[0]["differ"] <= differ and rows[0]["sqnr"] >= decibels and rows[0]["top1"] >= top1 - MOST_DROP
                each = [r["differ"] for r in rows]
                print(f"  {label}: at most {differ} differ, {decibels} dB, {MOST_DROP} points under float: {'met' if met else 'MISSED'}; "
                      f"{np.mean(each):.1f} differ by the mean of {', '.join(map(str, each))}")
        for section in hard_ones:
            rows, top1 = self.of(section, "Morsel, default"), self.of(section, "float, in ONNX Runtime")[0]["top1"]
            if rows:
                drop = rows[0]["top1"] - top1
                print(f"  {section}: at most {hard.MOST_DROP} points under float: {'met' if drop >= -hard.MOST_DROP else 'MISSED'} ({drop:+.2f})")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--fresh", action="store_true", help="measure the peers again")
    p.add_argument("--test", type=int, help=f"test pictures (default: {measure.TEST}, --quick: 2000)")
    p.add_argument("--only", metavar="REGEX", help="quantizers whose name it matches")
    p.add_argument("--json", metavar="FILE", help="the rows, as a JSON array")
    a = p.parse_args()
    a.test = a.test or (2000 if a.quick else measure.TEST)
    measure.need_shared()
    bench = Bench(a)
    print(f"{measure.CALIBRATION} training pictures to calibrate, {a.test} test pictures to measure")
    easy, hard_ones = "MobileNetV2, CIFAR-10", {"trunks": "the same, trunks rescaled", "pairs": "with ReLU, depthwise pairs rescaled"}
    bench.network(easy, measure.FLOAT_NET, [*onnxruntime_rows(a.quick), *nncf_rows(a.quick)], MORSEL_OPTIONS)
    if not a.quick:
        bench.other_pictures(measure.FLOAT_NET, onnxruntime_rows(False), MORSEL_OPTIONS)
    with tempfile.TemporaryDirectory() as folder:
        for kind, title in hard_ones.items():
            source, _ = hard.make(kind, folder)
            bench.network(title, source, list(onnxruntime_rows(True)), HARD_OPTIONS)
    bench.goals(easy, hard_ones.values())
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(bench.rows, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
