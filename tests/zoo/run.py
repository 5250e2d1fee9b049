# SPDX-License-Identifier: MIT
"""run.py [options] [NETWORK ...]: networks that others made, in the forms in which they come, in Morsel and beside other runtimes.

NETWORK may be a pattern (resnet*) or a folder of the cache; left out: all. --forms chooses forms. Files are made once and kept in
MORSEL_ZOO, else in ~/.cache/morsel/zoo. For each form of a network: does Morsel take it, are its outputs ONNX Runtime's, how large is
the blob beside the file, and the time of both, of OpenVINO on the same file, of OpenVINO on what NNCF makes of the float network, of
LiteRT on what its own quantizer makes of it, and of ONNX Runtime on the float network itself. All forms of a network take turns in one run. The ratio is that of the fastest of these peers
to Morsel: below 1.0 another is faster. Below the table stand the slowest steps of such rows, and what was refused."""
import argparse
import fnmatch
import json
import logging
import math
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../bench_peers"))
import peers  # noqa: E402

CACHE = os.environ.get("MORSEL_ZOO") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "morsel/zoo")
GIVEN = {"shared_mbv2_cifar10": "mbv2_cifar10_int8.onnx", "shared_mlperf_ic": "mlperf_ic_int8.onnx"}
SHARED = os.path.join(HERE, "../../../shared/models")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peers.add_options(p, rounds=7, seconds=0.15)
    p.add_argument("--forms", default="own,qop,qdq,qdq-s8,qop-u8,qdq-asym,nncf", help="separated by commas")
    p.add_argument("--quick", action="store_true", help="three short rounds")
    p.add_argument("--make", action="store_true", help="make the files, measure nothing")
    p.add_argument("--keep", action="store_true", help="do not quantize anew by a newer Morsel")
    p.add_argument("--least", action="store_true", help="compare the least of the rounds, for a machine that has other work")
    p.add_argument("--report", nargs="+", metavar="JSON", help="no run: the tables of such figures")
    p.add_argument("networks", nargs="*")
    return p.parse_args()


A = arguments()
if A.quick:
    A.rounds, A.seconds = 3, 0.05
CORES = peers.settle(A)
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import forms  # noqa: E402
import packaged  # noqa: E402


def first_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def outputs_of_morsel(blob, feed, names):
    with tempfile.TemporaryDirectory() as work:
        command = [peers.MORSEL, "run", blob, "--cpu", A.cpu]
        for i, (name, value) in enumerate(feed.items()):
            np.save(os.path.join(work, f"in{i}.npy"), value)
            command += ["--input", f"{name}={work}/in{i}.npy"]
        for i, name in enumerate(names):
            command += ["--output", f"{name}={work}/out{i}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("run: " + first_line(done.stderr))
        return [np.load(os.path.join(work, f"out{i}.npy")) for i in range(len(names))]


def difference(ours, theirs):
    """The share of the numbers that differ, and the largest difference as a share of the output's own largest number."""
    count = sum(t.size for t in theirs)
    differ = sum(int(np.sum(o.reshape(-1) != t.reshape(-1))) for o, t in zip(ours, theirs))
    far = [float(np.max(np.abs(o.astype(float).reshape(-1) - t.astype(float).reshape(-1))) / max(float(np.max(np.abs(t))), 1e-30))
           for o, t in zip(ours, theirs) if t.size]
    return differ / count, max(far)


def opens_in_openvino(path, note):
    """OpenVINO crashes on some files: another process tries first, and what came of it is kept."""
    if not os.path.exists(note) or os.path.getmtime(note) < os.path.getmtime(path):
        code = "import sys, openvino; openvino.Core().compile_model(sys.argv[1], 'CPU')"
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        with open(note, "w") as f:
            f.write("" if done.returncode == 0 else first_line(done.stderr.replace("Traceback (most recent call last):", ""))
                    if done.returncode > 0 else f"signal {-done.returncode}")
    said = open(note).read()
    if said:
        print(f"  {path}: without OpenVINO: {said[:160]}", flush=True)
    return not said


class Row:
    """A form of a network: what became of it in Morsel, and its peers."""

    def __init__(self, network, form):
        self.network, self.form, self.refused, self.made, self.peers = network, form, None, True, {}
        self.differ = self.far = self.size = self.blob_bytes = None

    def make(self, case):
        self.blob = os.path.join(case.folder, self.form + ".morsel")
        try:
            self.path = case.path_of(self.form)
        except Exception as error:
            self.made, self.refused = self.form == "own", first_line(error) if self.form != "own" else str(error)
            return False
        return True

    def open(self, case):
        try:
            peers.convert(self.path, self.blob)
            self.blob_bytes = os.path.getsize(self.blob)
            self.size = self.blob_bytes / os.path.getsize(self.path)
            self.peers["morsel"] = peers.Morsel(self.blob, A)
        except Exception as error:
            self.refused = str(error)
        self.open_peer("ort", lambda: peers.OnnxRuntime(self.path, case.feed, A, "the file"))
        if opens_in_openvino(self.path, os.path.join(case.folder, self.form + ".openvino")):
            self.open_peer("ov", lambda: peers.OpenVino(self.path, case.feed, A, "the file"))
        if "ort" in self.peers and "morsel" in self.peers:
            try:
                names = [o.name for o in self.peers["ort"].session.get_outputs()]
                self.differ, self.far = difference(outputs_of_morsel(self.blob, case.feed, names), self.peers["ort"].run())
            except Exception as error:
                self.refused = "its answers: " + str(error)

    def open_peer(self, name, make):
        try:
            self.peers[name] = make()
        except Exception as error:
            print(f"  {self.network} {self.form}: without {name}: {first_line(error)[:160]}", flush=True)

    def figures(self, times, common):
        """Times in ms by peer; those of the float network's peers are common to all rows of a network."""
        take = min if A.least else statistics.median
        t = {name: take(times[p]) for name, p in {**common, **self.peers}.items()}
        others = {name: ms for name, ms in t.items() if name != "morsel"}
        best = min(others, key=others.get) if others else None
        ratio = others[best] / t["morsel"] if best and "morsel" in t else None
        return {"network": self.network, "form": self.form, "refused": self.refused, "made": self.made, "differ": self.differ,
                "far": self.far, "size": self.size, "blob_bytes": self.blob_bytes, "ms": t, "best": best, "ratio": ratio,
                "slow": self.steps() if ratio is not None and ratio < 1.05 else []}

    def steps(self):
        command = [peers.MORSEL, "bench", self.blob, "--cpu", A.cpu, "--layers", "--json", "--runs", "9", "--threads", str(A.threads)]
        out = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        layers = sorted(out["layers"], key=lambda s: -s["ms"])[:8]
        return [{**s, "share": s["ms"] / out["all_steps_ms"]} for s in layers]


class Case:
    """A network's folder in the cache."""

    def __init__(self, name):
        self.name, self.folder = name, os.path.join(CACHE, name)
        os.makedirs(self.folder, exist_ok=True)
        self.float = os.path.join(self.folder, "float.onnx")
        if name in packaged.NETS and not os.path.exists(self.float):
            packaged.make(name, CACHE, self.float)
        if name in GIVEN:
            self.float, self.forms, source = None, ["file"], os.path.join(SHARED, GIVEN[name])
        elif "-qat-" in name:
            self.forms, source, self.qat, self.float = ["file"], self.float, self.float, None
        else:
            self.forms, source = A.forms.split(","), self.float
        self.source = source
        self.feed = forms.feeds_of(source, 1)[0]

    def path_of(self, form):
        if form == "file":
            return self.source
        path = os.path.join(self.folder, form + ".onnx")
        newer = form == "own" and not A.keep and os.path.exists(path) and os.path.getmtime(path) < os.path.getmtime(peers.MORSEL)
        return forms.make(form, self.folder, newer)

    def measure(self):
        rows = [Row(self.name, form) for form in self.forms]
        there = [r for r in rows if r.make(self)]
        common = {}
        if self.float:
            ir, tflite = model_of_openvino(self), model_of_litert(self)
            if A.make:
                return []
            opener = rows[0].open_peer
            opener("ort-float", lambda: peers.OnnxRuntime(self.float, self.feed, A, "float"))
            if ir:
                opener("ov-nncf", lambda: peers.OpenVino(ir, self.feed, A, "NNCF"))
            if tflite:
                opener("litert", lambda: peers.LiteRt(tflite, A))
            common = {k: rows[0].peers.pop(k) for k in ("ort-float", "ov-nncf", "litert") if k in rows[0].peers}
        if A.make:
            return []
        for row in there:
            row.open(self)
        entries = list(common.values()) + [p for r in there for p in r.peers.values()]
        times = peers.interleave(entries, A.rounds, A.seconds) if entries else {}
        return [r.figures(times, common) for r in rows]


def model_of_litert(case):
    """By a Python of its own, which LITERT_PYTHON names: the packages want other versions than the peers do."""
    path, refused = (os.path.join(case.folder, "litert" + end) for end in (".tflite", ".refused"))
    if os.environ.get("LITERT_PYTHON") and not (os.path.exists(path) or os.path.exists(refused)):
        subprocess.run([os.environ["LITERT_PYTHON"], os.path.join(HERE, "litert.py"), case.folder], capture_output=True)
    if os.path.exists(path):
        with open(path, "rb") as f:
            return f.read()
    said = first_line(open(refused).read()) if os.path.exists(refused) else "no model was made"
    print(f"  {case.name}: without LiteRT: {said[:160]}", flush=True)
    return None


def model_of_openvino(case):
    try:
        return forms.nncf_of_openvino(case.folder, forms.feeds_of(case.float, 4))
    except Exception as error:
        print(f"  {case.name}: NNCF: {first_line(error)[:160]}", flush=True)
    return None


HEAD = f"{'network':34} {'form':9} {'morsel':>9} {'ort':>9} {'ov':>9} {'ov-nncf':>9} {'litert':>9} {'ort-float':>9} {'ratio':>6} {'best':9} {'blob':>6}  bytes"


def line(row):
    t = row["ms"]
    cell = [f"{t[n]:9.3f}" if n in t else f"{'-':>9}" for n in ("morsel", "ort", "ov", "ov-nncf", "litert", "ort-float")]
    if row["differ"] is None:
        same = "no such form" if not row["made"] else "refused" if "morsel" not in t else "ONNX Runtime has no answer"
    else:
        same = "equal" if row["differ"] == 0 else f"{row['differ']:.1%} differ, by {row['far']:.1%} at most"
    ratio = f"{row['ratio']:6.2f}" if row["ratio"] else f"{'-':>6}"
    size = f"{row['size']:6.2f}" if row["size"] else f"{'-':>6}"
    return f"{row['network']:34} {row['form']:9} {' '.join(cell)} {ratio} {row['best'] or '-':9} {size}  {same}"


def report(rows):
    taken = sorted((r for r in rows if r["ratio"]), key=lambda r: r["ratio"])
    print("\n" + HEAD)
    for r in taken:
        print(line(r))
    refused = [r for r in rows if r["refused"] and r["made"]]
    if taken:
        mean = math.exp(statistics.fmean(math.log(r["ratio"]) for r in taken))
        print(f"\n{len({r['network'] for r in rows})} networks, {len(taken)} rows: geometric mean {mean:.2f}, "
              f"{sum(r['ratio'] < 1 for r in taken)} below 1.0, {sum(r['differ'] == 0 for r in taken)} equal to ONNX Runtime, "
              f"{sum(r['size'] > 1.05 for r in taken)} blobs above 1.05 of the file, {len(refused)} refused")
    for r in refused:
        print(f"\nrefused: {r['network']} {r['form']}")
        print("    " + r["refused"][:1200].replace("\n", "\n    "))
    for r in (r for r in rows if not r["made"]):
        print(f"\nnot made: {r['network']} {r['form']}: {r['refused'][:200]}")
    for r in (r for r in taken if r["slow"]):
        print(f"\n{r['network']} {r['form']}, {r['ratio']:.2f}: {os.path.join(CACHE, r['network'], r['form'])}.morsel")
        for s in r["slow"]:
            print(f"    {s['ms']:8.3f} ms {s['share']:6.1%} {s['op']:12} {s['isa']:12} {s['gmacs']:7.1f} GMAC/s  "
                  f"{s['input']} -> {s['output']}  {s['name']}")
    return 0


def chosen():
    here = [n for n in sorted(os.listdir(CACHE)) if os.path.exists(os.path.join(CACHE, n, "float.onnx"))] if os.path.isdir(CACHE) else []
    names = here + [n for n in packaged.NETS if n not in here] + [g for g, f in GIVEN.items() if os.path.exists(os.path.join(SHARED, f))]
    if not A.networks:
        return names
    found = [n for p in A.networks for n in fnmatch.filter(names, p)]
    return list(dict.fromkeys(found)) or sys.exit(f"no such network; there are: {' '.join(names)}")


def main():
    if A.report:
        return report([row for path in A.report for row in json.load(open(path))["rows"]])
    load = round(os.getloadavg()[0], 1)
    print(f"{peers.machine()}, {A.cpu}, threads {A.threads} on cores {', '.join(map(str, CORES))}; {A.rounds} rounds; load {load}; "
          f"times in ms, {'least' if A.least else 'medians'}")
    if A.cpu != "avx512vnni":
        print("ONNX Runtime and LiteRT know no such cap: they take what the CPU has")
    print(HEAD)
    rows = []
    for name in chosen():
        try:
            found = Case(name).measure()
        except Exception as error:  # a network that cannot even be looked at: the others are measured
            print(f"  {name}: {type(error).__name__}: {first_line(error)[:200]}", flush=True)
            continue
        rows += found
        for row in found:
            print(line(row), flush=True)
        if A.json:
            with open(A.json, "w") as f:
                json.dump({"machine": peers.machine(), "load": load, "threads": A.threads, "cap": A.cpu, "rows": rows}, f, indent=1)
    return 0 if A.make else report(rows)


if __name__ == "__main__":
    sys.exit(main())
