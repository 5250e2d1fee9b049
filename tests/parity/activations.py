#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make parity: functions of one number that run in float, beside ONNX Runtime's in float and beside exact ones.

    activations.py [--only REGEX]        MORSEL is the tool, build/morsel where it is not set

Each function is computed three times:
- alone, of 2^18 floats of all sizes: the same bytes by plain C and by the CPU's kernels. The table has the largest difference to ONNX
  Runtime, and of both to the exact result, in units of the larger of 1e-6 times the result and 1e-7: below 1 is as good as float.
- behind a convolution, both left in float by `quantize --exclude`: within 1e-5 of the largest value.
- in a QDQ file that leaves it in float between two convolutions in bytes: within one step.
Exit status 1 where anything failed.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from netbuilder import MICROSOFT, Form, Net, feeds_for, quantize, quiet_session

MORSEL = os.environ.get("MORSEL", "build/morsel").split()
SHAPE = (1, 8, 128, 256)
LIMIT = 2.0


def erf(x):
    import math
    return np.vectorize(math.erf)(x)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def slopes(rng, *shape):
    return rng.uniform(-0.5, 1.5, shape).astype(np.float32)


# name: operator, domain, opset, attributes, constant beside x, exact function of x and the constant
CASES = {
    "Elu": ("Elu", "", 16, {"alpha": 0.7}, None, lambda x, c: np.where(x < 0, np.float32(0.7) * np.expm1(np.minimum(x, 0)), x)),
    "Selu": ("Selu", "", 16, {}, None,
             lambda x, c: np.float32(1.05070102) * np.where(x < 0, np.float32(1.67326319) * np.expm1(np.minimum(x, 0)), x)),
    "Celu": ("Celu", "", 16, {"alpha": 2.5}, None, lambda x, c: np.where(x < 0, 2.5 * np.expm1(np.minimum(x, 0) / 2.5), x)),
    "Softplus": ("Softplus", "", 16, {}, None, lambda x, c: softplus(x)),
    "Softsign": ("Softsign", "", 16, {}, None, lambda x, c: x / (1 + np.abs(x))),
    "Mish": ("Mish", "", 18, {}, None, lambda x, c: x * np.tanh(softplus(x))),
    "ThresholdedRelu": ("ThresholdedRelu", "", 16, {"alpha": 0.3}, None, lambda x, c: np.where(x > np.float32(0.3), x, 0)),
    "Shrink": ("Shrink", "", 16, {"lambd": 0.5, "bias": 0.25}, None,
               lambda x, c: np.where(x < -0.5, x + 0.25, np.where(x > 0.5, x - 0.25, 0))),
    "Gelu": ("Gelu", "", 20, {}, None, lambda x, c: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "Gelu_tanh": ("Gelu", "", 20, {"approximate": "tanh"}, None,
                  lambda x, c: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))),
    "QuickGelu": ("QuickGelu", MICROSOFT, 16, {}, None, lambda x, c: x / (1 + np.exp(-1.702 * x))),
    "Sigmoid": ("Sigmoid", "", 16, {}, None, lambda x, c: 1 / (1 + np.exp(-x))),
    "HardSigmoid": ("HardSigmoid", "", 16, {}, None, lambda x, c: np.clip(np.float32(0.2) * x + 0.5, 0, 1)),
    "HardSwish": ("HardSwish", "", 16, {}, None, lambda x, c: x * np.clip(x / 6 + 0.5, 0, 1)),
    "LeakyRelu": ("LeakyRelu", "", 16, {}, None, lambda x, c: np.where(x < 0, np.float32(0.01) * x, x)),
    "PRelu_one": ("PRelu", "", 16, {}, lambda r: slopes(r, 1), lambda x, c: np.where(x < 0, x * c, x)),
    "PRelu_channel": ("PRelu", "", 16, {}, lambda r: slopes(r, SHAPE[1], 1, 1), lambda x, c: np.where(x < 0, x * c, x)),
    "PRelu_each": ("PRelu", "", 16, {}, lambda r: slopes(r, *SHAPE[1:]), lambda x, c: np.where(x < 0, x * c, x)),
    "Tanh": ("Tanh", "", 16, {}, None, lambda x, c: np.tanh(x)),
    "Erf": ("Erf", "", 16, {}, None, lambda x, c: erf(x)),
    "Exp": ("Exp", "", 16, {}, None, lambda x, c: np.exp(x)),
    "Log": ("Log", "", 16, {}, None, lambda x, c: np.log(x)),
    "Sqrt": ("Sqrt", "", 16, {}, None, lambda x, c: np.sqrt(x)),
    "Reciprocal": ("Reciprocal", "", 16, {}, None, lambda x, c: 1 / x),
    "Pow_half": ("Pow", "", 16, {}, lambda r: np.float32(0.5), lambda x, c: np.power(x, c)),
    "Pow_cube": ("Pow", "", 16, {}, lambda r: np.float32(3), lambda x, c: np.power(x, c)),
    "Pow_inverse": ("Pow", "", 16, {}, lambda r: np.float32(-1), lambda x, c: np.power(x, c)),
    "Pow_channel": ("Pow", "", 16, {}, lambda r: r.uniform(-2, 3, (SHAPE[1], 1, 1)).astype(np.float32), lambda x, c: np.power(x, c)),
    "Abs": ("Abs", "", 16, {}, None, lambda x, c: np.abs(x)),
    "Neg": ("Neg", "", 16, {}, None, lambda x, c: -x),
    "Sign": ("Sign", "", 16, {}, None, lambda x, c: np.sign(x)),
    "Floor": ("Floor", "", 16, {}, None, lambda x, c: np.floor(x)),
    "Ceil": ("Ceil", "", 16, {}, None, lambda x, c: np.ceil(x)),
    "Round": ("Round", "", 16, {}, None, lambda x, c: np.rint(x)),
    "Sin": ("Sin", "", 16, {}, None, lambda x, c: np.sin(x)),
    "Cos": ("Cos", "", 16, {}, None, lambda x, c: np.cos(x)),
    "Tan": ("Tan", "", 16, {}, None, lambda x, c: np.tan(x)),
    "Asin": ("Asin", "", 16, {}, None, lambda x, c: np.arcsin(x)),
    "Acos": ("Acos", "", 16, {}, None, lambda x, c: np.arccos(x)),
    "Atan": ("Atan", "", 16, {}, None, lambda x, c: np.arctan(x)),
    "Sinh": ("Sinh", "", 16, {}, None, lambda x, c: np.sinh(x)),
    "Cosh": ("Cosh", "", 16, {}, None, lambda x, c: np.cosh(x)),
    "Asinh": ("Asinh", "", 16, {}, None, lambda x, c: np.arcsinh(x)),
    "Acosh": ("Acosh", "", 16, {}, None, lambda x, c: np.arccosh(x)),
    "Atanh": ("Atanh", "", 16, {}, None, lambda x, c: np.arctanh(x)),
}
POSITIVE = ("Log", "Sqrt", "Pow_half", "Pow_channel", "Reciprocal", "Pow_inverse", "Acosh")
WITHIN_ONE = ("Asin", "Acos", "Atanh")
NEAR = WITHIN_ONE + ("Tan",)  # in networks: next to a pole nothing is comparable
ANGLES = NEAR + ("Sin", "Cos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh")
EDGES = (0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1000, -1000, 88.5, -88.5, 1e-30, -0.5)


class Failed(Exception):
    pass


def call(*arguments, cpu=None):
    done = subprocess.run([*MORSEL, *arguments], capture_output=True, text=True, check=False,
                          env=dict(os.environ, MORSEL_CPU=cpu) if cpu else None)
    if done.returncode:
        raise Failed(f"{arguments[0]}: exit status {done.returncode}: {(done.stderr + done.stdout).strip()[-300:]}")


def run(folder, network, x, cpu=None):
    np.save(f"{folder}/x.npy", x)
    call("run", network, "--input", f"{folder}/x.npy", "--output", f"{folder}/y.npy", cpu=cpu)
    return np.load(f"{folder}/y.npy")


def reference(model, x):
    session = quiet_session(model, optimize=False)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def node_model(name, shape):
    op, domain, opset, attributes, constant, _ = CASES[name]
    rng = np.random.default_rng(len(name))
    constants = [numpy_helper.from_array(constant(rng), "c")] if constant else []
    graph = helper.make_graph([helper.make_node(op, ["x"] + ["c"] * len(constants), ["y"], domain=domain, **attributes)], name,
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], constants)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])


def numbers(name):
    rng, n = np.random.default_rng(len(name)), int(np.prod(SHAPE))
    x = rng.standard_normal(n) * np.exp(rng.uniform(-12, 4, n))
    if name in POSITIVE:
        x = np.abs(x) + (1 if name == "Acosh" else 1e-30)
    if name in WITHIN_ONE:
        x = np.tanh(x)
    if name in ANGLES:
        x[:len(EDGES)] = EDGES
    return x.astype(np.float32).reshape(SHAPE)


def distance(got, want):
    """In units of what float can be expected to give."""
    want = want.astype(np.float64)
    if np.any(np.isnan(got) != np.isnan(want)):
        return np.inf
    infinite, finite = np.abs(want) > 3.5e38, np.abs(want) < 3e38
    if np.any(got[infinite] != np.sign(want[infinite]) * np.inf):
        return np.inf
    apart = np.abs(got.astype(np.float64)[finite] - want[finite]) / np.maximum(1e-6 * np.abs(want[finite]), 1e-7)
    return float(apart.max(initial=0))


def alone(name, folder):
    model, x = node_model(name, SHAPE), numbers(name)
    onnx.save(model, f"{folder}/net.onnx")
    call("convert", f"{folder}/net.onnx", "-o", f"{folder}/net.morsel")
    plain, fast = run(folder, f"{folder}/net.morsel", x, "c"), run(folder, f"{folder}/net.morsel", x)
    if plain.tobytes() != fast.tobytes():
        raise Failed(f"{np.sum(plain != fast)} of {plain.size} differ between plain C and the CPU's kernels")
    constant = [numpy_helper.to_array(i).astype(np.float64) for i in model.graph.initializer]
    with np.errstate(all="ignore"):
        exact = CASES[name][5](x.astype(np.float64), constant[0] if constant else None)
    theirs = reference(model, x)
    figures = distance(fast, theirs), distance(fast, exact), distance(theirs, exact)
    if figures[1] > max(LIMIT, figures[2]):
        raise Failed(f"{figures[1]:.2f} from the exact result, ONNX Runtime {figures[2]:.2f}")
    if name in ("Sin", "Cos") and not np.abs(run(folder, f"{folder}/net.morsel", x * np.float32(1e6))[np.isfinite(x)]).max() <= 1:
        raise Failed("beyond -1 .. 1")
    return figures


def small_net(name, between_bytes):
    op, domain, opset, attributes, constant, _ = CASES[name]
    b = Net("activation_" + name, max(opset, 13))
    x = b.conv(b.input(1, 4, 12, 10), 4, SHAPE[1], 3)
    more = []
    if constant:
        shape = (SHAPE[1], 1, 1) if name.endswith("channel") else (SHAPE[1], 12, 10) if name.endswith("each") else ()
        more = [b.plain_floats(*shape, low=0.1)] if op == "PRelu" else [b.const(np.full(shape, constant(b.rng).flat[0], np.float32))]
        b.plain.add(more[0])
    if name in POSITIVE:
        least = 1.25 if name == "Acosh" else 0.5
        x = b.op("Add", b.op("Abs", b.keep_float(x)), b.plain_floats(1, low=least, high=least + 0.5))
    if name in NEAR:
        x = b.op("Mul", b.op("Tanh", b.keep_float(x)), b.const(np.float32(0.9)))
    y = b.op(op, b.keep_float(x), *more, domain=domain, **attributes)
    if between_bytes:
        y = b.conv(y, SHAPE[1], 6, 1)
    return b.out(y)


def left_out(name, folder):
    net = small_net(name, False)
    model = net.float_model()
    onnx.save(model, f"{folder}/net.onnx")
    feeds = np.concatenate([list(net.feeds(seed).values())[0] for seed in range(40)])
    np.save(f"{folder}/data.npy", feeds)
    call("quantize", f"{folder}/net.onnx", "--data", f"{folder}/data.npy", "--exclude", "Conv", "--exclude", CASES[name][0], "-o",
         f"{folder}/net.morsel")
    got, want = run(folder, f"{folder}/net.morsel", feeds[:1]), reference(model, feeds[:1])
    apart = np.abs(got - want).max() / np.abs(want).max()
    if apart > (1e-5 if name not in POSITIVE + NEAR else 0.05):  # whose Abs, or Tanh, is in bytes
        raise Failed(f"left in float: {apart:.2g} of the largest value")


def between(name, folder):
    model = quantize(small_net(name, True), Form())
    feeds = feeds_for(model)
    x = list(feeds.values())[0]
    onnx.save(model, f"{folder}/net.onnx")
    call("convert", f"{folder}/net.onnx", "-o", f"{folder}/net.morsel")
    got, want = run(folder, f"{folder}/net.morsel", x), reference(model, x)
    step = min(np.diff(np.unique(want)), default=0)
    if np.abs(got - want).max() > 1.01 * step:
        raise Failed(f"between bytes: {np.abs(got - want).max() / step:.2g} steps")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    failures = passed = 0
    print(f"{'function':<18} {'to ONNX Runtime':>16} {'to exact':>9} {'ONNX Runtime to exact':>22}")
    for name in CASES:
        if not re.search(arguments.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for part in (alone, left_out, between):
                try:
                    figures = part(name, folder)
                    passed += 1
                    if figures:
                        print(f"{name:<18} {figures[0]:>16.2f} {figures[1]:>9.2f} {figures[2]:>22.2f}", flush=True)
                except Failed as e:
                    failures += 1
                    print(f"FAIL {name}: {e}", flush=True)
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
