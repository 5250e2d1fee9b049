#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make onnx-vectors: ONNX's own vectors (package onnx, backend node tests) for every operator in the converter's table.

    run.py [--only REGEX] [--all]        MORSEL is the tool, build/morsel where it is not set; --all lists every vector refused

A vector is a model of one operator, its inputs and its outputs. The converter wants networks, so what is no activation (weights, scales,
axes, shapes) becomes a constant of the model. Each vector is tried in two forms:

  as it is    float or 8-bit, compared with the vector's outputs: to the bit for operators that move data or give integers, else with
              the tolerance that the vector states; float16 and double as the floats that they become
  quantized   float operators between QuantizeLinear and DequantizeLinear with uint8 activations (weights int8), in front and behind,
              compared with ONNX's reference evaluator on that model: at most one step, in at most one value in fifty

A vector counts as taken where the converter takes one of its forms, and as passed where every form that was taken is right. An operator
set that is newer than the converter reads is stated as the newest that it does read where the operator is the same in both. RUNTIME_DECIDES
lists vectors whose outputs are ONNX Runtime's instead.
Exit status 1 where a form that was taken is wrong.
"""
import argparse
import collections
import copy
import multiprocessing
import os
import re
import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))

from compare import Broken, Refused, morsel  # noqa: E402

NEWEST = 28
# Which inputs are activations; of an operator that is not listed, the first.
ALL = range(1000)
ACTIVATIONS = {"QLinearMatMul": (0, 3), "GridSample": (0, 1), "NonMaxSuppression": (0, 1), **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Concat", "MatMul"), ALL)}
WEIGHTED = {"Conv": 0, "Gemm": None, "MatMul": None}
MOVES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Pad", "Resize", "Upsample", "Expand", "Tile",
         "Gather",
         "DepthToSpace", "SpaceToDepth", "MaxPool", "GlobalMaxPool", "Identity", "Dropout", "Cast", "Concat", "Relu", "Clip", "Abs", "Neg",
         "Max", "Min"}
# Where ONNX Runtime gives something else it is that which networks were trained and exported for, and what has to come out.
RUNTIME_DECIDES = {  # corners: 0.6 * 4 = 2.4 counts as the length of an output of 2 numbers, 0.8 * 4 = 3.2 as that of one of 3
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}


def operators():
    """The converter's tables: what it has an operator for, and what it writes out."""
    found = set()
    for path, row in (("tools/lower/lower.c", r'\{""\s*, "(\w+)", lower_'), ("tools/optimize/pass_norms.c", r'\{"(\w+)", change_'),
                      ("tools/onnx/operators.c", r'\{"", "(\w+)",[^}]*\.class = ONNX_(?:FUNCTION|PAIR)')):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            found.update(re.findall(row, f.read()))
    return sorted(found)


def collect():
    from onnx.backend.test.case.node import collect_testcases
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return collect_testcases(None)


def signature(op, version):
    """What an operator takes, but for the types: new ones are what most new versions bring."""
    if not onnx.defs.has(op, version):
        return None
    schema = onnx.defs.get_schema(op, version)
    return sorted(schema.attributes), [i.name for i in schema.inputs], [o.name for o in schema.outputs]


def restated(model, ops):
    """The model's operator set as one that the converter reads, where that changes no operator in it."""
    model = copy.deepcopy(model)
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version > NEWEST:
            same = all(signature(o, NEWEST) == signature(o, opset.version) for o in ops)
            opset.version = NEWEST if same else opset.version
    return model


def array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


class Vector:
    def __init__(self, case):
        self.name, self.rtol, self.atol = case.name, case.rtol, case.atol
        self.ops = [n.op_type for n in case.model.graph.node]
        self.row = self.ops[0] if len(self.ops) == 1 else "(functions)"
        self.model = restated(case.model, self.ops)
        linear = any(a.name == "mode" and a.s in (b"linear", b"cubic") for n in case.model.graph.node for a in n.attribute)
        self.exact = self.row in MOVES and not (self.row == "Resize" and linear)
        inputs, outputs = case.data_sets[0]
        self.values = {i.name: array(v) for i, v in zip(self.model.graph.input, inputs)}
        self.want = {o.name: array(v) for o, v in zip(self.model.graph.output, outputs)}

    def activations(self):
        node = self.model.graph.node[0]
        chosen = ACTIVATIONS.get(node.op_type, (0,)) if len(self.ops) == 1 else (0,)
        names = [n for i, n in enumerate(node.input) if i in chosen and n in self.values]
        return names or list(self.values)[:1]

    def as_it_is(self):
        """Constants folded in."""
        model, keep = copy.deepcopy(self.model), self.activations()
        graph = model.graph
        for name, value in self.values.items():
            if name not in keep:
                graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        inputs = [i for i in graph.input if i.name in keep]
        del graph.input[:]
        graph.input.extend(inputs)
        for info in [*graph.input, *graph.output]:
            known = self.values.get(info.name, self.want.get(info.name))
            kind = info.type.tensor_type.elem_type
            info.CopyFrom(helper.make_tensor_value_info(info.name, kind, list(np.shape(known))))
        return model, {k: self.values[k] for k in keep}

    def is_float(self):
        """Whether there is a quantized form."""
        floats = [self.values[k] for k in self.activations()] + list(self.want.values())
        return (len(self.ops) == 1 and not self.row.startswith(("QLinear", "Quantize", "Dequantize", "Cast"))
                and all(np.asarray(v).dtype == np.float32 and np.size(v) and np.isfinite(v).all() for v in floats))

    def quantized(self):
        """The model between pairs, its inputs, and what ONNX's reference evaluator makes of the same numbers."""
        model, feeds = self.as_it_is()
        graph, node = model.graph, model.graph.node[0]
        made = Pairs(graph, self.values)
        for i, name in enumerate(node.input):
            if name in feeds:
                node.input[i] = made.pair(name, name, self.values[name])
        weight = node.input[1] if node.op_type in WEIGHTED and len(node.input) > 1 else None
        if weight and weight not in feeds and not weight.endswith("/float"):
            node.input[1] = made.weight(weight)
        before = list(made.nodes)
        made.nodes.clear()
        for info in graph.output:
            made.rename_output(node, info.name)
            # Quantizers give Softmax 1/256, and only there ONNX Runtime's own quantized one, which the converter follows, is exact.
            values = np.array([255 / 256], np.float32) if self.row == "Softmax" else self.want[info.name]
            made.pair(info.name + "/raw", info.name, values, last=info.name)
        nodes = before + list(graph.node) + made.nodes
        del graph.node[:]
        graph.node.extend(nodes)
        rounded = {k: made.rounded.get(k, v) for k, v in self.values.items()}
        outputs = ReferenceEvaluator(self.model).run(None, rounded)
        return model, feeds, [made.through(o.name, v) for o, v in zip(graph.output, outputs)]


class Pairs:
    """QuantizeLinear and DequantizeLinear, and what they need."""

    def __init__(self, graph, values):
        self.graph, self.values, self.nodes = graph, values, []
        self.numbers = {}  # tensor -> scale, zero point
        self.rounded = {}  # tensor -> its values behind the pair

    def const(self, name, value):
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def pair(self, tensor, name, values, last=None):
        low, high = min(float(np.min(values)), 0.0), max(float(np.max(values)), 0.0)
        scale = np.float32(max((high - low) / 255, 1e-3))
        zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255))
        self.numbers[name] = scale, zero
        self.rounded[name] = self.through(name, values)
        numbers = [self.const(name + "/scale", scale), self.const(name + "/zero", zero)]
        self.nodes.append(helper.make_node("QuantizeLinear", [tensor, *numbers], [name + "/q"], name=name + "/Quantize"))
        self.nodes.append(helper.make_node("DequantizeLinear", [name + "/q", *numbers], [last or name + "/float"],
                                           name=name + "/Dequantize"))
        return last or name + "/float"

    def through(self, name, values):
        """What a pair of that tensor's numbers makes of the values."""
        scale, zero = self.numbers[name]
        codes = np.clip(np.rint(np.asarray(values, np.float32) / scale) + int(zero), 0, 255)
        return ((codes - int(zero)) * scale).astype(np.float32)

    def weight(self, name):
        w = self.values[name]
        scale = np.float32(max(np.abs(w).max() / 127, 1e-6))
        rounded = np.clip(np.rint(w / scale), -127, 127)
        self.rounded[name] = (rounded * scale).astype(np.float32)
        codes = self.const(name + "/codes", rounded.astype(np.int8))
        numbers = [self.const(name + "/scale", scale), self.const(name + "/zero", np.int8(0))]
        self.nodes.append(helper.make_node("DequantizeLinear", [codes, *numbers], [name + "/float"], name=name + "/Dequantize"))
        return name + "/float"

    @staticmethod
    def rename_output(node, name):
        for i, output in enumerate(node.output):
            if output == name:
                node.output[i] = name + "/raw"


def wrong_as_it_is(vector, got):
    for name, want in vector.want.items():
        want = np.asarray(want)
        if want.dtype == np.float16 and got[name].dtype == np.float32 and vector.row.startswith(("Cast", "(functions)")):  # which is float in the blob, and a Cast would round
            got[name] = got[name].astype(np.float16).astype(np.float32)
        if want.dtype in (np.float16, np.float64):
            want = want.astype(np.float32)
        if vector.row == "NonMaxSuppression":  # in a blob it has room for all, and behind what was selected rows of -1
            rows = np.full((len(got[name]) - len(want), 3), -1)
            want = np.concatenate([want, rows]).astype(np.int32)
        if got[name].shape != want.shape or got[name].dtype != want.dtype:
            return f"{name}: {got[name].dtype} {list(got[name].shape)} instead of {want.dtype} {list(want.shape)}"
        exact = vector.exact or want.dtype != np.float32
        if exact and not np.array_equal(got[name], want, equal_nan=want.dtype == np.float32):
            return f"{name}: {int((got[name] != want).sum())} of {want.size} differ"
        if not exact and not np.allclose(got[name], want, vector.rtol, vector.atol, equal_nan=True):
            return f"{name}: by up to {np.abs(got[name] - want).max():g}"
    return ""


def wrong_quantized(model, got, want):
    scales = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    for info, expected in zip(model.graph.output, want):
        if got[info.name].shape != expected.shape:
            return f"{info.name}: shape {list(got[info.name].shape)} instead of {list(expected.shape)}"
        steps = np.rint((got[info.name].astype(np.float64) - expected) / scales[info.name + "/scale"])
        if np.abs(steps).max(initial=0) > 1 or (steps != 0).sum() > 0.02 * steps.size:
            return f"{info.name}: {int((steps != 0).sum())} of {steps.size} differ, by up to {np.abs(steps).max():g} steps"
    return ""


def reason_of(error):
    """The converter's own words, without the node."""
    text = re.sub(r"^morsel: ", "", str(error).split("; morsel:")[0])
    return re.sub(r"^.*?\): ", "", re.sub(r"^/[^ ]*: ", "", text))


def attempt(make):
    """"taken" and what is wrong, "refused" and why."""
    try:
        return "taken", make()
    except Refused as e:
        return "refused", reason_of(e)
    except Broken as e:
        return "taken", str(e)


def runtime(model, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def try_vector(vector):
    def plain():
        model, feeds = vector.as_it_is()
        if vector.name in RUNTIME_DECIDES:
            vector.want = dict(zip(vector.want, runtime(model, feeds)))
        return wrong_as_it_is(vector, morsel(model, feeds))

    def quantized():
        model, feeds, want = vector.quantized()
        if vector.name in RUNTIME_DECIDES:
            want = runtime(model, feeds)
        return wrong_quantized(model, morsel(model, feeds), want)

    if not all(isinstance(v, np.ndarray) or np.isscalar(v) for v in [*vector.values.values(), *vector.want.values()]):
        return vector.row, vector.name, [("as it is", "refused", "inputs or outputs that are sequences or optional")]
    forms = [("as it is", *attempt(plain))]
    if vector.is_float():
        forms.append(("quantized", *attempt(quantized)))
    return vector.row, vector.name, forms


def print_table(rows):
    print(f"{'operator':<20} {'vectors':>7} {'taken':>6} {'passed':>6} {'refused':>7}   forms taken: as it is, quantized")
    totals = collections.Counter()
    for row in sorted(rows):
        results = rows[row]
        taken = [forms for _, forms in results if any(f[1] == "taken" for f in forms)]
        right = [forms for forms in taken if not any(f[1] == "taken" and f[2] for f in forms)]
        plain, quantized = [sum(f[0] == form and f[1] == "taken" for forms in taken for f in forms) for form in ("as it is", "quantized")]
        numbers = (len(results), len(taken), len(right), len(results) - len(taken))
        for key, number in zip("vtpr", numbers):
            totals[key] += number
        print(f"{row:<20} {numbers[0]:>7} {numbers[1]:>6} {numbers[2]:>6} {numbers[3]:>7}   {plain:>4} {quantized:>4}")
    print(f"{'all':<20} {totals['v']:>7} {totals['t']:>6} {totals['p']:>6} {totals['r']:>7}")
    return totals


def print_refusals(rows, every):
    reasons = collections.defaultdict(list)
    for row, results in rows.items():
        for name, forms in results:
            if not any(f[1] == "taken" for f in forms):
                reasons[row, forms[-1][2]].append(name)
    print("\nRefused, in the converter's words:")
    for (row, reason), names in sorted(reasons.items()):
        print(f"  {row:<20} {len(names):>3}  {reason}" + ("".join("\n" + " " * 30 + n for n in names) if every else ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="vectors whose name has this regular expression")
    parser.add_argument("--all", action="store_true", help="name every vector that is refused")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    known, cases = set(operators()), collect()
    vectors = [Vector(c) for c in cases if c.model.graph.node and re.search(arguments.only, c.name)
               and all(n.op_type in known | {"Constant",
                                             "CastLike"} for n in c.model.graph.node) and c.model.graph.node[-1].op_type in known]
    with multiprocessing.Pool(arguments.jobs) as pool:
        results = pool.map(try_vector, vectors, chunksize=4)
    rows = collections.defaultdict(list)
    for row, name, forms in results:
        rows[row].append((name, forms))
    totals = print_table(rows)
    print_refusals(rows, arguments.all)
    without = sorted(known - set(rows))
    if without and not arguments.only:
        print("\nWithout vectors: " + ", ".join(without))
    for results in rows.values():
        for name, forms in results:
            for form, state, text in forms:
                if state == "taken" and text:
                    print(f"FAIL {name}, {form}: {text}")
    failed = totals["t"] - totals["p"]
    print(f"\n{totals['p']} passed, {failed} failed")
    return 1 if failed or not totals["p"] else 0


if __name__ == "__main__":
    sys.exit(main())
