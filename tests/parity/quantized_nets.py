#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make parity: float networks put together by chance through `morsel quantize`: the blob beside the QDQ file of the same call in ONNX Runtime.

    quantized_nets.py [--cases N] [--seed N] [--keep FOLDER]        MORSEL is the tool, build/morsel where it is not set

Networks grow as those of optimize.py do, and branch: values have several readers, outputs lie in the middle, attention has masks. Options
take turns. A step in one value may grow to many on its way through a network, so that bytes of one way to compute it say nothing of
those of another; but every step by itself is checked, and that the network is made of these steps:
- the blob gives the bytes that `morsel convert` gets from the QDQ file;
- the QDQ file, cut at all its quantized values and fed with the bytes that it gives itself, gives the same bytes again;
- cut in this way and fed with ONNX Runtime's bytes, each byte is the rounding of the number that ONNX Runtime computes without its
  optimizer, operator by operator as ONNX defines them, or it is what ONNX Runtime makes of the same bytes with its optimizer, which runs
  some operators in integers of its own (QLinearSoftmax takes 1 / scale for a whole number). Floats are within 2e-5 of the largest.
And what comes out has to be near to what the float network gives, 10 dB by any option, or the output is next to nothing beside its range.
Exit status 1 where anything failed, or nothing was compared.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import compare
import optimize
from ortgraph import cut_at_inputs, exposed, quantized_tensors

SAMPLES, TESTED = 16, 3
NEAR, FEW, LEAST_DB = 0.05, 0.02, 10
# Steps by which a number may lie beyond half a step: those are 256 at the most, and a float of 256 is known to 1.5e-5 after each rounding.
TIE = 1e-3
COUNTS = collections.Counter()
OPTIONS = ["", "", "--int8", "--symmetric", "--per-tensor", "--reduced-range", "--adaround", "--no-adaround", "--no-equalization", "--no-bias-correction",
           "--method minmax", "--clip-weights", "--exclude Conv", "--exclude Mul", "--per-tensor --symmetric --int8 --reduced-range"]


class Branches(optimize.Chance):
    """Values of earlier pieces are read again, some are outputs."""

    def __init__(self, seed):
        super().__init__(seed)
        self.kept, self.outputs = [], []

    def keep(self):
        self.kept.append((self.x, list(self.shape)))

    def join(self):
        """With an earlier value: a sum, a difference, the larger, or one behind the other."""
        same = [x for x, shape in self.kept if shape == self.shape and x != self.x]
        if same and self.chance():
            self.x = self.op(self.pick("Add", "Add", "Sub", "Max"), self.x, self.pick(*same))
        alike = [(x, s) for x, s in self.kept if len(s) == len(self.shape) and s[0] == self.shape[0] and s[2:] == self.shape[2:]]
        if alike and self.chance(3) and self.shape[1] < 16:
            other, shape = self.pick(*alike)
            self.x = self.op("Concat", other, self.x, axis=1)
            self.shape = [1, self.shape[1] + shape[1], *self.shape[2:]]

    def back(self):
        """Goes on from an earlier value; the last one is an output."""
        if self.kept and self.x != "x":
            self.outputs.append(self.x)
            self.x, shape = self.pick(*self.kept)
            self.shape = list(shape)

    def pool(self):
        if min(self.shape[2:]) < 4:
            return
        kind = self.pick("MaxPool", "AveragePool")
        more = {"count_include_pad": self.pick(0, 1)} if kind == "AveragePool" else {}
        self.x = self.op(kind, self.x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=self.pick(0, 1), **more)
        half = lambda n: -(-n // 2) if self.nodes[-1].attribute and self.ceils() else n // 2
        self.shape[2:] = [half(n) for n in self.shape[2:]]

    def ceils(self):
        return any(a.name == "ceil_mode" and a.i for a in self.nodes[-1].attribute)

    def border(self):
        """Continued along channels or pictures."""
        axis, mode = self.pick(1, 2, 3), self.pick("constant", "reflect", "edge")
        if self.shape[axis] < 2 or self.shape[axis] > 12:
            return
        pads = [0] * 8
        pads[axis], pads[4 + axis] = 1, self.pick(0, 1)
        value = self.pick(0.0, 1.5)
        if self.opset < 11:
            self.x = self.op("Pad", self.x, pads=pads, mode=mode, value=value)
        else:
            self.x = self.op("Pad", self.x, self.ints(*pads), *([self.const(value)] if mode == "constant" else []), mode=mode)
        self.shape[axis] += pads[axis] + pads[4 + axis]

    def attention(self):
        rows, width = self.shape[1:]
        q, k, v = (self.op("MatMul", self.x, self.weights(width, 4)) for _ in range(3))
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 2, 1]))
        scores = self.op("Div", scores, self.const(16.0))
        if self.chance():
            scores = self.op("Add", scores, self.const(np.triu(np.full((rows, rows), self.pick(-1e4, -3e38, -np.inf)), 1)))
        self.x = self.op("MatMul", self.op("Softmax", scores, axis=2), v)
        self.shape[2] = 4

    def model(self):
        pieces = (self.conv, self.conv, self.depthwise, self.transposed, self.padded, self.norm, self.arithmetic, self.activation,
                  self.activation, self.excite, self.residual, self.shuffle, self.pool, self.border, self.back, self.parts, self.softmax, self.normalized)
        for _ in range(self.pick(3, 6, 9)):
            self.keep()
            self.pick(*pieces)()
            self.join()
        if self.chance(3) and np.prod(self.shape[2:]) <= 64:
            self.words()
            self.attention()
        elif self.chance():
            self.head()
        info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.first)]
        outputs = [o for o in dict.fromkeys([self.x, *self.outputs]) if o != "x"] or [self.op("Identity", "x")]
        graph = helper.make_graph(self.nodes, "chance", info, [helper.make_empty_tensor_value_info(o) for o in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def session(path, optimized):
    """int8 runs in integers where its optimizer finds them, as it does on ARM by itself."""
    options = ort.SessionOptions()
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def call(*arguments):
    done = subprocess.run([*optimize.MORSEL.split(), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")


def aside(got, want):
    """The share of numbers that are not near."""
    largest = max(np.abs(want).max(initial=0), 1e-30)
    return np.mean(np.abs(got - want) > NEAR * largest) if got.size else 0.0


class Steps:
    """The QDQ network whole, cut, and in ONNX Runtime with every value before and behind its rounding."""

    def __init__(self, model, sample, folder):
        self.model, self.folder = model, folder
        self.constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        tensors = quantized_tensors(model)
        self.rounded = {n.output[0]: n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.output[0] in tensors}
        self.whole, watched = exposed(model), exposed(model)
        known = {o.name for o in watched.graph.output} | {i.name for i in model.graph.input}
        for name in dict.fromkeys(n.input[0] for n in self.rounded.values()):
            if name not in known:
                watched.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        onnx.save(watched, f"{folder}/watched.onnx")
        self.defined = session(f"{folder}/watched.onnx", False)
        self.cut, self.forced = cut_at_inputs(model, self.run_defined(sample), sample)
        onnx.save(self.cut, f"{folder}/cut.onnx")
        self.optimized = session_of_optimizer(f"{folder}/cut.onnx")
        self.blobs = {}
        for name, net in (("whole", self.whole), ("cut", self.cut)):
            os.makedirs(f"{folder}/{name}", exist_ok=True)
            self.blobs[name] = compare.convert(net, f"{folder}/{name}")

    def run_defined(self, feeds):
        names = [o.name for o in self.defined.get_outputs()]
        return {**feeds, **dict(zip(names, self.defined.run(names, feeds)))}

    def given(self, feeds, values):
        return {**feeds, **{given: values[name] for given, name in self.forced.items()}}

    def run(self, name, feeds):
        return compare.run_blob(self.blobs[name], getattr(self, name), feeds, self.folder)

    def check(self, feeds, blob):
        """What is wrong with one sample, of which the blob makes these outputs."""
        own, want = self.run("whole", feeds), self.run_defined(feeds)
        again, got = self.run("cut", self.given(feeds, own)), self.run("cut", self.given(feeds, want))
        for name, value in blob.items():
            if not np.array_equal(value, own[name]):
                yield f"{name}: the blob's bytes are not those of the QDQ file"
        for name, value in again.items():
            if not np.array_equal(value, own[name]):
                yield f"{name}: other bytes than by itself"
        other = dict(zip(got, self.optimized.run(list(got), self.given(feeds, want)))) if self.optimized else {}
        for name, value in got.items():
            if not self.right(name, value, want, other.get(name)):
                yield f"{name}: neither the rounding of ONNX Runtime's number nor its byte"

    def right(self, name, got, want, other):
        if name not in self.rounded:
            return np.abs(got - want[name]).max(initial=0) <= compare.FLOAT_LIMIT * np.abs(want[name]).max(initial=0)
        real, scale, *zero = self.rounded[name].input
        ends = np.iinfo(got.dtype)
        steps = want[real].astype(np.float64) / self.constants[scale] + (self.constants[zero[0]] if zero else 0)
        off = np.abs(np.clip(steps, ends.min, ends.max) - got) > 0.5 + TIE
        COUNTS["bytes"] += got.size
        COUNTS["theirs"] += np.count_nonzero(off)
        return not np.any(off if other is None else off & (got != other))


def in_float(blob, want):
    for name, value in want.items():
        if np.abs(blob[name] - value).max(initial=0) > optimize.CLOSE * np.abs(value).max(initial=0):
            yield f"{name}: other floats than the network's"


def session_of_optimizer(path):
    try:
        return session(path, True)
    except Exception as e:  # from opset 21 on its optimizer mixes up types of its own making
        if "output_dtype" not in str(e):
            raise
        return None


def problems_of(seed, folder):
    case = Branches(seed)
    model = case.model()
    onnx.save(model, f"{folder}/float.onnx")
    samples = np.random.default_rng(seed).standard_normal([SAMPLES, *case.first[1:]]).astype(np.float32)
    np.save(f"{folder}/samples.npy", samples)
    names = [o.name for o in model.graph.output]
    option = OPTIONS[seed % len(OPTIONS)].split()
    if "--exclude" in option and option[1] not in {n.op_type for n in model.graph.node}:
        option = []
    want = [session(f"{folder}/float.onnx", False).run(names, {"x": s[None]}) for s in samples]
    if not all(np.isfinite(o).all() for w in want for o in w):
        return []
    call("quantize", f"{folder}/float.onnx", "--data", f"{folder}/samples.npy", "--count", "0", *option, "-o", f"{folder}/q.onnx", "-o",
         f"{folder}/q.morsel")
    quantized = onnx.load(f"{folder}/q.onnx")
    onnx.checker.check_model(quantized, full_check=True)
    none = not any(n.op_type == "QuantizeLinear" for n in quantized.graph.node)  # all of it is excluded
    steps, found = None if none else Steps(quantized, {"x": samples[:1]}, folder), []
    for k in range(TESTED):
        feeds = {"x": samples[k:k + 1]}
        got = compare.run_blob(f"{folder}/q.morsel", quantized, feeds, folder)
        found += in_float(got, dict(zip(names, want[k]))) if none else steps.check(feeds, got)
        for name, real in zip(names, want[k]):
            error, signal = np.sum((got[name] - real) ** 2), np.sum(real ** 2)
            if error > signal * 10 ** (-LEAST_DB / 10) and aside(got[name], real) > FEW and np.abs(real).max() > 1e-3:
                found.append(f"{name}: {10 * np.log10(signal / error):.1f} dB")
    return [f"{f} ({' '.join(option)})" for f in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1, help="of the first network")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the last network there")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="morsel-quantize-") as work:
        folder = arguments.keep or work
        os.makedirs(folder, exist_ok=True)
        for seed in range(arguments.seed, arguments.seed + arguments.cases):
            try:
                found = problems_of(seed, folder)
            except Exception as e:
                found = [f"{type(e).__name__}: {str(e)[:300]}"]
            failed += bool(found)
            if found:
                print(f"FAIL seed {seed}: {'; '.join(found[:3])}", flush=True)
    print(f"{COUNTS['bytes']} bytes beside ONNX Runtime's, {COUNTS['theirs']} of them as its optimizer's integers alone have it")
    print(f"{arguments.cases} networks by chance, quantized: {failed} failed")
    return failed > 0 or not COUNTS["bytes"]


if __name__ == "__main__":
    sys.exit(main())
