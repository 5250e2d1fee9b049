#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `morsel inspect --onnx` writes, beside the file it was made from, both in ONNX Runtime without optimizations.

    optimize.py [--cases N] [--seed N] [MODEL.onnx...]        MORSEL is the tool, build/morsel where it is not set

Without --optimized the outputs have to be equal, bit by bit. With it, within 1e-4 of the largest value of the output. Networks put together
by chance from what exporters write: batch norms and arithmetic with constants round convolutions and matrices, activations written out in
the ways of PyTorch, Keras and Paddle, pads, pools, means, reshapes, operators that opsets have changed, in every opset from 10 to 23; operands by
the number, averages and norms of windows; and
files, those of ../shared/models where that folder is there. Every file written has to pass onnx.checker. Exit status 1 where anything failed.
"""
import argparse
import collections
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MORSEL = os.environ.get("MORSEL", os.path.join(ROOT, "build", "morsel"))
CLOSE = 1e-4


class Chance:
    """A network that grows by pieces; x is its last value, of `shape`."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.opset = int(self.pick(10, 11, 12, 13, self.rng.integers(14, 24)))
        self.nodes, self.constants, self.count = [], [], 0
        self.shape = [1, self.pick(3, 4, 8), self.pick(6, 9, 12), self.pick(6, 8, 11)]
        self.first, self.x = list(self.shape), "x"

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def chance(self, of=2):
        return self.rng.integers(of) == 0

    def const(self, array, kind=np.float32):
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(array, kind), f"k{self.count}"))
        return f"k{self.count}"

    def ints(self, *numbers):
        return self.const(numbers, np.int64)

    def op(self, op, *inputs, outs=1, **attributes):
        self.count += 1
        names = [f"v{self.count}_{i}" for i in range(outs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"{op}{self.count}", **attributes))
        return names[0] if outs == 1 else names

    def values(self, *shape, low=0.5, high=1.5, signed=True):
        a = self.rng.uniform(low, high, shape)
        return self.const(a * self.rng.choice([-1, 1], shape) if signed else a)

    def weights(self, *shape):
        return self.const(self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:])))

    def clip(self, x, low, high):
        if self.opset < 11:
            return self.op("Clip", x, **({} if low is None else {"min": low}), **({} if high is None else {"max": high}))
        return self.op("Clip", x, "" if low is None else self.const(low), *([] if high is None else [self.const(high)]))

    # ---- pieces: each changes self.x and self.shape ----

    def conv(self):
        c, out, k = self.shape[1], self.pick(4, 6, 8), self.pick(1, 1, 3)
        group = 2 if self.chance(3) and c % 2 == 0 and out % 2 == 0 else 1
        if min(self.shape[2:]) < k:
            return
        args = [self.x, self.weights(out, c // group, k, k)] + ([self.values(out)] if self.chance() else [])
        pad = self.pick({}, {"pads": [k // 2] * 4}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "VALID"})
        self.x = self.op("Conv", *args, group=group, **pad)
        grown = "pads" in pad or pad.get("auto_pad") == "SAME_UPPER"
        self.shape = [1, out] + [n if grown else n - k + 1 for n in self.shape[2:]]

    def depthwise(self):
        c = self.shape[1]
        self.x = self.op("Conv", self.x, self.weights(c, 1, 3, 3), self.values(c), group=c, pads=[1, 1, 1, 1])

    def transposed(self):
        c, out, group = self.shape[1], self.pick(2, 4), self.pick(1, 2)
        if c % group or max(self.shape[2:]) > 12:
            return
        self.x = self.op("ConvTranspose", self.x, self.weights(c, out // group, 2, 2), group=group, strides=[2, 2])
        self.shape = [1, out] + [2 * n for n in self.shape[2:]]

    def padded(self):
        pads = [0, 0, 1, self.pick(0, 1), 0, 0, self.pick(0, 1), 1]
        if self.opset < 11:
            p = self.op("Pad", self.x, pads=pads)
        elif self.opset >= 18 and self.chance():
            p = self.op("Pad", self.x, self.ints(*pads[2:4], *pads[6:]), "", self.ints(2, -1))
        else:
            p = self.op("Pad", self.x, self.ints(*pads), *([self.const(0.0)] if self.chance() else []))
        grown = [self.shape[2] + pads[2] + pads[6], self.shape[3] + pads[3] + pads[7]]
        if min(grown) < 3:
            return
        kind = self.pick("Conv", "AveragePool", "MaxPool")
        if kind == "Conv":
            self.x = self.op("Conv", p, self.weights(4, self.shape[1], 3, 3))
            self.shape[1] = 4
        else:
            self.x = self.op(kind, p, kernel_shape=[3, 3])
        self.shape = self.shape[:2] + [n - 2 for n in grown]

    def norm(self):
        c = self.shape[1]
        numbers = [self.values(c), self.values(c), self.values(c), self.values(c, signed=False)]
        self.x = self.op("BatchNormalization", self.x, *numbers, epsilon=self.pick(1e-5, 1e-3))

    def arithmetic(self):
        shape = self.pick([], [1], [self.shape[1]] + [1] * (len(self.shape) - 2), [1, self.shape[1]] + [1] * (len(self.shape) - 2))
        k, op = self.values(*shape), self.pick("Add", "Sub", "Mul", "Div")
        swap = op in ("Add", "Mul", "Sub") and self.chance()
        self.x = self.op(op, *((k, self.x) if swap else (self.x, k)))

    def affine_chain(self):
        for _ in range(self.pick(2, 3, 4)):
            self.pick(self.arithmetic, self.norm)()

    def nothing(self):
        kind = self.pick("Identity", "Dropout", "Reshape", "Mul", "Add", "Pad", "Transpose")
        if kind == "Reshape":
            self.x = self.op("Reshape", self.x, self.ints(*self.shape))
        elif kind in ("Mul", "Add"):
            self.x = self.op(kind, self.x, self.const(1.0 if kind == "Mul" else 0.0))
        elif kind == "Pad":
            zeros = [0] * (2 * len(self.shape))
            self.x = self.op("Pad", self.x, pads=zeros) if self.opset < 11 else self.op("Pad", self.x, self.ints(*zeros))
        elif kind == "Transpose":
            there = [0, 2, 3, 1] if len(self.shape) == 4 else [1, 0]
            self.x = self.op("Transpose", self.op("Transpose", self.x, perm=there), perm=list(np.argsort(there)))
        else:
            self.x = self.op(kind, self.x)

    def activation(self):
        x, c = self.x, self.const
        sixth = 1 / 6
        bent = self.op("Add", x, c(3.0))
        bent = self.clip(bent, 0.0, 6.0) if self.chance() else self.op("Min", self.op("Relu", bent), c(6.0))
        gate = lambda: self.op("Div", bent, c(6.0)) if self.chance() else self.op("Mul", bent, c(sixth))
        slopes = [self.shape[1]] + [1] * (len(self.shape) - 2)
        negative = lambda: self.op("Relu", self.op("Neg", x))
        plus = lambda a, b: self.op("Add", a, b)
        half = lambda a: self.op("Mul", a, c(0.5)) if self.chance() else self.op("Div", a, c(2.0))
        forms = {
            "hard_swish_late": lambda: self.op("Div", self.op("Mul", x, bent), c(6.0)),
            "hard_swish_early": lambda: self.op("Mul", x, gate()),
            "hard_swish_gate": lambda: self.op("Mul", self.op("HardSigmoid", x, alpha=sixth, beta=0.5), x),
            "hard_sigmoid": gate,
            "hard_sigmoid_keras": lambda: self.clip(plus(self.op("Mul", x, c(0.2)), c(0.5)), 0.0, 1.0),
            "silu": lambda: self.op("Mul", x, self.op("Sigmoid", x)),
            "silu_exp": lambda: self.op("Div", x, plus(self.op("Exp", self.op("Neg", x)), c(1.0))),
            "gelu_erf": lambda: half(self.op("Mul", x, plus(self.op("Erf", self.op("Div", x, c(2 ** 0.5))), c(1.0)))),
            "gelu_tanh": lambda: half(self.op("Mul", x, plus(c(1.0), self.op("Tanh", self.op("Mul", c((2 / np.pi) ** 0.5), plus(
                x, self.op("Mul", c(0.044715), self.op("Pow", x, c(3.0))))))))),
            "relu6": lambda: self.clip(self.op("Relu", x), None, 6.0),
            "clips": lambda: self.clip(self.clip(x, -1.0, 1.5), -0.5, 2.0),
            "max": lambda: self.op("Max", c(0.0), x),
            "leaky": lambda: self.op("Max", x, self.op("Mul", x, c(0.1))),
            "prelu_keras": lambda: self.op("Sub", self.op("Relu", x), self.op("Mul", self.values(*slopes), negative())),
            "prelu": lambda: self.op("PRelu", x, self.values(*slopes)),
            "prelu_same": lambda: self.op("PRelu", x, c(np.full(slopes, 0.25))),
        }
        self.x = forms[self.pick(*forms)]()

    def excite(self):
        if self.opset >= 18:
            s = self.op("ReduceMean", self.x, self.ints(2, 3))
        else:
            s = self.op("ReduceMean", self.x, axes=[-1, -2])
        s = self.op("Conv", s, self.weights(self.shape[1], self.shape[1], 1, 1))
        self.x = self.op("Mul", self.x, self.op("Sigmoid", s))

    def many(self):
        others = [self.op("Neg", self.x), self.values(self.shape[1], 1, 1), self.x, self.values(*self.shape)]
        self.x = self.op(self.pick("Sum", "Mean", "Max", "Min"), *[others[i] for i in self.rng.permutation(4)[:int(self.pick(1, 2, 3, 4))]], self.x)

    def spread(self):
        """Pools that become others: averages with dilations, sums of powers."""
        powers = self.opset < 19 or self.chance()
        dilations = {} if self.opset < (18 if powers else 19) else {"dilations": [self.pick(1, 2), self.pick(1, 3)]}
        more = {"p": self.pick(1, 2)} if powers else {"count_include_pad": 1}
        self.x = self.op("LpPool" if powers else "AveragePool", self.x, kernel_shape=[2, 2], pads=[1, 0, 0, 1], **dilations, **more)
        spread = dilations.get("dilations", [1, 1])
        self.shape = [*self.shape[:2], self.shape[2] + 1 - spread[0], self.shape[3] + 1 - spread[1]]

    def residual(self):
        x = self.x
        c = self.shape[1]
        self.x = self.op("Conv", x, self.weights(c, c, 3, 3), pads=[1] * 4)
        self.norm()
        if self.chance():
            self.activation()
        self.x = self.op("Add", self.x, x)

    def listed(self, op, x, attribute, numbers, since=13, **more):
        """Lists that are attributes up to an opset and inputs from it on."""
        return self.op(op, x, **{attribute: list(numbers)}, **more) if self.opset < since else self.op(op, x, self.ints(*numbers), **more)

    def softmax(self):
        self.x = self.op("Softmax", self.x, axis=self.pick(1, len(self.shape) - 1, -1))

    def parts(self):
        c = self.shape[1]
        sizes, count = (1, c - 1), 2
        if self.opset < 13:
            parts = self.op("Split", self.x, axis=1, split=list(sizes), outs=count)
        else:
            parts = self.op("Split", self.x, self.ints(*sizes), axis=1, outs=count)
        self.x = self.op("Concat", *parts[::-1], axis=1)

    def squeezed(self):
        x = self.listed("Squeeze", self.listed("Unsqueeze", self.x, "axes", [self.pick(0, 2)]), "axes", [0])
        self.x = self.op("Reshape", x, self.ints(*self.shape))

    def normalized(self):
        """Along channels, pictures, groups or the last dimension."""
        c, kinds = self.shape[1], ["InstanceNormalization", "LpNormalization"]
        kinds += ["LayerNormalization"] * 2 * (self.opset >= 17) + ["GroupNormalization"] * 2 * (self.opset >= 21 and c % 2 == 0)
        kind, numbers = self.pick(*kinds), lambda *shape: [self.values(*shape), self.values(*shape)]
        if kind == "InstanceNormalization":
            self.x = self.op(kind, self.x, *numbers(c), epsilon=1e-3)
        elif kind == "LpNormalization":
            self.x = self.op(kind, self.x, axis=self.pick(-1, 1), p=self.pick(1, 2))
        elif kind == "GroupNormalization":
            self.x = self.op(kind, self.x, *numbers(c), num_groups=2)
        else:
            axis = self.pick(1, 2, 3)
            self.x = self.op(kind, self.x, *numbers(*self.shape[axis:])[:self.pick(1, 2)], axis=axis)

    def chosen(self):
        """A bound that is computed; a division that gives 0 where it divides by 0."""
        if self.opset < 11:
            return
        mean = self.listed("ReduceMean", self.x, "axes", range(1, len(self.shape)), since=18, keepdims=1)
        if self.chance():
            bound = self.op("Reshape", mean, self.ints())
            self.x = self.op("Clip", self.x, *self.pick((bound,), ("", bound), (self.const(-1.0), bound)))
            return
        mean = self.op("Mul", mean, self.const([[[[self.pick(0.0, 1.0)]]]]))
        self.x = self.op("Where", self.op("Equal", mean, self.const(0.0)), self.const(0.0), self.op("Div", self.x, mean))

    def summed(self):
        self.x = self.listed("ReduceSum", self.x, "axes", [1], keepdims=1)
        self.shape[1] = 1

    def resized(self):
        scale, mode = self.pick(2.0, 0.5), self.pick("nearest", "linear")
        if max(self.shape[2:]) > 12 or any(n % 2 for n in self.shape[2:]):
            return
        scales = self.const([1, 1, scale, scale])
        kind = self.pick({}, {"coordinate_transformation_mode": "asymmetric"}, {"coordinate_transformation_mode": "align_corners"})
        self.x = self.op("Resize", self.x, scales, mode=mode) if self.opset < 11 else \
            self.op("Resize", self.x, self.const([]), scales, mode=mode, **kind)
        self.shape[2:] = [int(n * scale) for n in self.shape[2:]]

    def shuffle(self):
        n, c, h, w = self.shape
        if c % 2:
            return
        y = self.op("Transpose", self.op("Reshape", self.x, self.ints(1, 2, c // 2, h, w)), perm=[0, 2, 1, 3, 4])
        self.x = self.op("Reshape", y, self.ints(1, c, h, w))

    def words(self):
        """Pixels as words: matrices over the last of three dimensions."""
        n, c, h, w = self.shape
        x = self.op("Transpose", self.op("Reshape", self.x, self.ints(1, c, -1)), perm=[0, 2, 1])
        for _ in range(self.pick(1, 2)):
            if self.chance():
                x = self.op("Mul", x, self.values(c))
            out = self.pick(4, 6)
            x = self.op("MatMul", x, self.weights(c, out))
            for _ in range(self.pick(0, 1, 2, 3)):
                x = self.op(self.pick("Add", "Mul", "Sub", "Div"), x, self.values(*self.pick((), (out,), (1, 1, out))))
            c = out
        self.x, self.shape = x, [1, h * w, c]

    def head(self):
        if self.chance():
            whole = {"kernel_shape": self.shape[2:]}
            self.x = self.op("GlobalAveragePool", self.x) if self.chance() else self.op("AveragePool", self.x, **whole)
            self.shape[2:] = [1, 1]
        self.x = self.op("Flatten", self.x)
        self.shape = [1, int(np.prod(self.shape))]
        for _ in range(self.pick(1, 2)):
            k, n = self.shape[1], self.pick(5, 10)
            if self.chance():
                bias = [] if self.opset > 10 and self.chance(4) else [self.values(*self.pick((n,), (1, n)))]
                self.x = self.op("Gemm", self.x, self.weights(n, k), *bias, transB=1, alpha=self.pick(1.0, 0.5), beta=self.pick(1.0, 2.0))
            else:
                self.x = self.op("MatMul", self.x, self.weights(k, n))
            self.shape = [1, n]
            for piece in (self.norm, self.arithmetic, self.activation):
                if self.chance():
                    piece()

    def model(self):
        pieces = (self.conv, self.conv, self.depthwise, self.transposed, self.padded, self.norm, self.norm, self.arithmetic,
                  self.affine_chain, self.nothing, self.activation, self.activation, self.excite, self.residual, self.shuffle, self.many,
                  self.spread,
                  self.pick(self.softmax, self.parts, self.squeezed, self.summed, self.resized, self.normalized, self.chosen))
        for _ in range(self.pick(3, 5, 8, 12)):
            self.pick(*pieces)()
        self.pick(self.head, self.words, lambda: None)()
        info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.first)]
        self.nodes.append(helper.make_node("Identity", [self.x], ["y"], name="last"))
        y = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "chance", info, y, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def session(path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feeds(runner, rng):
    """Inputs of the shapes that the written file states: all numbers."""
    return {i.name: rng.standard_normal(i.shape).astype(np.float32) for i in runner.get_inputs()}


def written(path, out, *options):
    done = subprocess.run([MORSEL, "inspect", path, "--onnx", out, *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    onnx.checker.check_model(out, full_check=True)
    return session(out)


def difference(path, folder, options, rng, shapes):
    """The largest difference beside the largest value, over all outputs."""
    new = written(path, os.path.join(folder, "out.onnx"), *options, *shapes)
    old, x = session(path), feeds(new, rng)
    batched = {i.name: i.shape[0] for i in old.get_inputs()}
    # a file whose batch is a number other than 1 is asked for 1 here
    given = {n: np.repeat(a, batched[n], 0) if isinstance(batched[n], int) and a.shape[0] != batched[n] else a for n, a in x.items()}
    worst = 0.0
    for a, b in zip(old.run(None, given), new.run(None, x)):
        a = a[:len(b)] if a.ndim else a
        if a.shape != b.shape or not np.all(np.isfinite(b) == np.isfinite(a)):
            return float("inf")
        worst = max(worst, float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(a), initial=0), 1e-30)))
    return worst


def node_count(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def check_file(path, folder, rng):
    shapes = ["--shape", "input.1=1,3,32,32"] if "mlperf" in path else []
    same = difference(path, folder, [], rng, shapes)
    close = difference(path, folder, ["--optimized"], rng, shapes)
    good = same == 0 and close <= CLOSE
    print(f"{os.path.basename(path):<36} {node_count(path):>6} {node_count(folder + '/out.onnx'):>6} {same:>9.2g} {close:>9.2g}  "
          f"{'ok' if good else 'FAIL'}", flush=True)
    return good


def check_chance(seed, folder, totals):
    case = Chance(seed)
    path = os.path.join(folder, "chance.onnx")
    onnx.save(onnx.shape_inference.infer_shapes(case.model()), path)
    rng = np.random.default_rng(seed)
    try:
        same, close = (difference(path, folder, options, rng, []) for options in ([], ["--optimized"]))
    except Exception as e:
        print(f"FAIL seed {seed}: {type(e).__name__}: {str(e)[:300]}")
        return False
    for name, where in (("before", path), ("after", folder + "/out.onnx")):
        totals[name].update(n.op_type for n in onnx.load(where).graph.node)
    if same == 0 and close <= CLOSE:
        totals["worst"] = max(totals["worst"], close)
        return True
    print(f"FAIL seed {seed}, opset {case.opset}: rewritten {same:.3g}, optimized {close:.3g}")
    return False


# Convolutions whose windows no blob has: x, weights, attributes.
WINDOWS = (((1, 1, 1000), (6, 1, 256), {"strides": [128]}), ((1, 2, 700), (5, 2, 256), {}), ((1, 3, 500), (4, 3, 70), {"strides": [3]}),
           ((1, 1, 1, 900), (7, 1, 1, 256), {"strides": [1, 2], "pads": [0, 10, 0, 3]}), ((1, 2, 90, 5), (3, 2, 66, 3), {"pads": [1] * 4}),
           ((1, 2, 5, 333), (3, 2, 3, 129), {"auto_pad": "SAME_UPPER", "strides": [2, 5]}), ((1, 1, 80, 80), (2, 1, 65, 71), {}),
           ((1, 4, 4096), (8, 4, 512), {"strides": [4], "pads": [100, 254]}), ((1, 1, 300), (2, 1, 300), {}),
           ((1, 3, 301), (5, 3, 100), {"strides": [100]}))


def check_window(number, folder, rng):
    x, w, attributes = WINDOWS[number]
    constants = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), n) for n, s in (("w", w), ("b", w[:1]))]
    node = helper.make_node("Conv", ["x", "w", "b"][:2 + number % 2], ["y"], name="conv", **attributes)
    graph = helper.make_graph([node], "window", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    path = os.path.join(folder, "window.onnx")
    onnx.save(onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)), path)
    apart = difference(path, folder, ["--optimized"], rng, [])
    largest = max(max(i.dims[2:]) for i in onnx.load(folder + "/out.onnx").graph.initializer if len(i.dims) == len(x))
    good = apart <= CLOSE and largest <= 64
    print(f"window {list(w)} over {list(x)}: {apart:.2g}, at most {largest} taps  {'ok' if good else 'FAIL'}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="of the first network")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    files = arguments.files or sorted(glob.glob(os.path.join(ROOT, "..", "shared", "models", "*.onnx")))
    rng, failed = np.random.default_rng(7), 0
    totals = {"before": collections.Counter(), "after": collections.Counter(), "worst": 0.0}
    with tempfile.TemporaryDirectory(prefix="morsel-optimize-") as folder:
        print(f"{'file':<36} {'nodes':>6} {'after':>6} {'rewritten':>9} {'optimized':>9}", flush=True)
        for path in files:
            failed += not check_file(path, folder, rng)
        failed += sum(not check_window(number, folder, rng) for number in range(len(WINDOWS)))
        bad = sum(not check_chance(seed, folder, totals) for seed in range(arguments.seed, arguments.seed + arguments.cases))
    for op in sorted(set(totals["before"]) | set(totals["after"])):
        print(f"    {op:<24} {totals['before'][op]:>6} -> {totals['after'][op]}")
    before, after = (sum(totals[k].values()) for k in ("before", "after"))
    print(f"{arguments.cases} networks by chance: {bad} failed; {before} nodes became {after}; largest difference {totals['worst']:.2g}")
    sys.exit(1 if failed + bad else 0)


if __name__ == "__main__":
    main()
