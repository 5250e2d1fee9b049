#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dynamic quantization beside ONNX Runtime, piece by piece: every byte has to be equal.

    dynamic.py [--quick] [--keep FOLDER] [FILE.onnx...]        MORSEL is the tool, build/morsel where it is not set

A last-bit difference in a float grows to a whole step in the next quantization: end to end a comparison proves nothing. So each network is
run by ONNX Runtime without optimizations, and cut: a piece goes from the float that a DynamicQuantizeLinear reads to the floats that its
bytes become, or is that operator alone with its three results. Each piece is a network of its own, and gets the reference's own input, and
inputs that are hard: of one sign, of one value, all 0, tiny, huge. It has to give the bytes of ONNX Runtime without optimizations, and with
them where those agree.

Networks: ONNX Runtime's quantize_dynamic of small ones in all its forms, the same as ONNX Runtime optimizes them (com.microsoft), and
../shared/models/food11_quantized_dynamic.onnx where that is there. Then one cell of a DynamicQuantizeLSTM in each form.
"""
import argparse
import itertools
import os
import sys
import tempfile
import zlib

import numpy as np
import onnx
from onnx import helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process

import netbuilder
from compare import FLOAT_LIMIT, Broken, Refused, call, convert, run_blob
from dynamic_nets import CHAINS
from netbuilder import Net, quiet_session, saturates

HERE = os.path.dirname(os.path.abspath(__file__))
FOOD = os.path.join(HERE, "..", "..", "..", "shared", "models", "food11_quantized_dynamic.onnx")
MICROSOFT = {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"}


# --- networks ---

def convolutions(b):
    x = b.conv(b.input(1, 3, 17, 15), 3, 24, 3, strides=[2, 2], relu=True)
    y = b.conv(x, 24, 24, 3, group=24, bias=False)
    y = b.conv(y, 24, 40, 1)
    y = b.op("Clip", b.conv(y, 40, 40, 5, group=40, strides=[2, 2], pads=[1, 2, 2, 1]), b.const(np.float32(0)), b.const(np.float32(2)))
    y = b.conv(y, 40, 20, 3, group=4, dilations=[2, 2], pads=[2, 2, 2, 2])
    return b.out(b.op("Gemm", b.op("Flatten", b.op("GlobalAveragePool", y)), b.weight(11, 20), b.vector(11), transB=1))


def one_dimension(b):
    x = b.conv(b.input(2, 5, 33), 5, 12, [5], strides=[2], relu=True)
    return b.out(b.conv(x, 12, 12, [3], group=12))


def tokens(b):
    """Three products of one quantization, with biases or without, of rows by the batch."""
    x = b.input(2, 9, 32)
    q, k, v = [b.op("MatMul", x, b.weight(32, n)) for n in (32, 20, 7)]
    return b.out(b.op("Add", q, b.vector(32)), b.op("Relu", b.op("Add", k, b.vector(20))), v)


def wide(b):
    return b.out(b.op("Add", b.op("MatMul", b.input(3, 700), b.weight(700, 50)), b.vector(50)))


NETS = [convolutions, one_dimension, tokens, wide]


def forms(folder, quick):
    """Name and file of each network in each form."""
    options = list(itertools.product((QuantType.QUInt8, QuantType.QInt8), (False, True), (False, True)))
    if saturates():
        print("skip weights in int8 of the whole range: ONNX Runtime's sums saturate on this CPU")
        options = [o for o in options if o[0] == QuantType.QUInt8 or o[2]]
    for build in NETS:
        source = os.path.join(folder, build.__name__ + ".onnx")
        net = Net(build.__name__, 17)
        build(net)
        onnx.save(net.float_model(), source)
        prepared = source.replace(".onnx", ".prepared.onnx")
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        for kind, per_channel, reduce in options[::3] if quick else options:
            name = f"{build.__name__}-{'u8' if kind == QuantType.QUInt8 else 's8'}{'pc' if per_channel else ''}{'-reduced' if reduce else ''}"
            path = os.path.join(folder, name + ".onnx")
            quantize_dynamic(prepared, path, weight_type=kind, per_channel=per_channel, reduce_range=reduce,
                             op_types_to_quantize=["Conv", "MatMul"])
            yield name, path
            optimized = path.replace(".onnx", ".ort.onnx")
            quiet_session(path, path=optimized)
            if any(n.op_type in MICROSOFT for n in onnx.load(optimized).graph.node):
                yield name + "-ort", optimized
    for name, build in CHAINS.items():
        path = os.path.join(folder, name + ".onnx")
        onnx.save(build().model(), path)
        yield name, path
    if os.path.exists(FOOD):
        yield "food11_quantized_dynamic", FOOD
    else:
        print("skip food11_quantized_dynamic: it is not there")


# --- pieces ---

def all_values(model, feeds):
    """What ONNX Runtime computes for every value, without optimizations."""
    full = onnx.ModelProto()
    full.CopyFrom(model)
    have = {o.name for o in full.graph.output}
    full.graph.output.extend(helper.make_empty_tensor_value_info(o) for n in full.graph.node for o in n.output if o and o not in have)
    session = quiet_session(full, optimize=False)
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


class Cut:
    """The readers of each value, and what is constant."""

    def __init__(self, model, values):
        self.model, self.values = model, values
        self.constants = {i.name for i in model.graph.initializer}
        self.readers, self.made = {}, {}
        for node in model.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
            for name in node.output:
                self.made[name] = node

    def ends(self, node):
        """The floats that the outputs of a DynamicQuantizeLinear (or of an operator that has it inside) become."""
        if node.op_type == "DynamicQuantizeMatMul":
            return [self.behind(node.output[0])]
        found, seen, ready = [], set(), [o for o in node.output if o]
        while ready:
            name = ready.pop()
            for reader in self.readers.get(name, []):
                if reader.output[0] in seen:
                    continue
                seen.add(reader.output[0])
                value = self.values[reader.output[0]]
                ends = reader.op_type == "MatMulIntegerToFloat" or (reader.op_type == "Mul" and value.shape not in ((), (1,)) and
                                                                    any(self.made.get(i) and self.made[i].op_type == "Cast" for i in reader.input))
                if ends:
                    found.append(self.behind(reader.output[0]))
                else:
                    ready.append(reader.output[0])
        return sorted(set(found))

    def behind(self, name):
        """A bias and bounds belong to it."""
        while len(self.readers.get(name, [])) == 1 and name not in {o.name for o in self.model.graph.output}:
            reader = self.readers[name][0]
            others = [i for i in reader.input if i != name and i]
            if reader.op_type not in ("Add", "Relu", "Clip") or any(o not in self.constants for o in others):
                break
            name = reader.output[0]
        return name

    def extract(self, x, outputs):
        needed, ready = [], list(outputs)
        while ready:
            node = self.made.get(ready.pop())
            if node is None or node in needed or not node.output:
                continue
            needed.append(node)
            ready += [i for i in node.input if i and i != x]
        nodes = [n for n in self.model.graph.node if n in needed]
        used = {i for n in nodes for i in n.input}
        info = lambda name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(self.values[name].dtype), self.values[name].shape)
        graph = helper.make_graph(nodes, "piece", [info(x)], [info(o) for o in outputs], [i for i in self.model.graph.initializer if i.name in used])
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=min(self.model.ir_version, 10))


def pieces(model, values):
    cut = Cut(model, values)
    for node in model.graph.node:
        if node.op_type not in ("DynamicQuantizeLinear", "DynamicQuantizeMatMul") or node.input[0] in cut.constants:
            continue
        if node.op_type == "DynamicQuantizeLinear":
            yield node.name + " alone", node.input[0], cut.extract(node.input[0], list(node.output))
        for end in cut.ends(node):
            yield end, node.input[0], cut.extract(node.input[0], [end])


def inputs(x, seed):
    """The reference's own, and hard ones of its shape."""
    rng = np.random.default_rng(seed)
    like = lambda low, high: rng.uniform(low, high, x.shape).astype(np.float32)
    yield "its own", x
    yield "above 0", like(0.5, 3)
    yield "below 0", like(-7, -1)
    yield "zeros", np.zeros_like(x)
    yield "minus zeros", -np.zeros_like(x)
    yield "one value", np.full_like(x, -0.37)
    yield "few values", rng.integers(-3, 4, x.shape).astype(np.float32) / 4
    yield "tiny", like(-1, 1) * np.float32(1e-30)
    yield "huge", like(-1, 1) * np.float32(1e30)
    yield "ties", (rng.integers(-255, 256, x.shape) / 2).astype(np.float32).clip(-100, 155)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and (a == b).all() if a.dtype != np.float32 else \
        a.shape == b.shape and b.dtype == np.float32 and bool(((a.view(np.uint32) == b.view(np.uint32)) | ((a == 0) & (b == 0))).all())


class Count:
    def __init__(self):
        self.pieces = self.runs = self.bytes = self.apart = 0
        self.failed = []


def check_piece(name, x_name, piece, values, count, hard):
    plain, fused = quiet_session(piece, optimize=False), quiet_session(piece)
    names = [o.name for o in piece.graph.output]
    count.pieces += 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            blob = convert(piece, folder)
        except (Refused, Broken) as e:
            count.failed.append(f"{name}: {e}")
            return
        for what, x in itertools.islice(inputs(values[x_name], zlib.crc32(name.encode())), None if hard else 2):
            if what == "tiny" and any(n.op_type == "Floor" for n in piece.graph.node):
                continue  # a bias beyond int32 in steps of such sums: a Cast of it is not defined
            want, other = (dict(zip(names, s.run(None, {x_name: x}))) for s in (plain, fused))
            got = run_blob(blob, piece, {x_name: x}, folder)
            count.runs += 1
            for n in names:
                count.bytes += want[n].size
                agree = same(want[n], other[n])
                count.apart += not agree
                if not same(want[n], got[n]):
                    differ = int((want[n] != got[n]).sum()) if want[n].shape == got[n].shape else -1
                    count.failed.append(f"{name}, {n}, {what}: {differ} of {want[n].size} differ"
                                        f"{'' if agree else ' (and ONNX Runtime from itself)'}")


# --- morsel quantize --dynamic ---

def by_rows(x):
    """Bytes less their zero point, and the scale, of each row: core/format.h."""
    low, high = np.minimum(x.min(-1, keepdims=True), 0), np.maximum(x.max(-1, keepdims=True), 0)
    scale = ((high - low) / np.float32(255)).astype(np.float32)
    scale[scale == 0] = 1
    zero = np.rint(np.clip(-low / scale, 0, 255))
    return np.clip(np.rint(x / scale), -zero, 255 - zero).astype(np.int64), scale


def check_own_rows(folder):
    """Products whose rows have scales of their own: as numpy computes them, and the same in any company."""
    failed, rng = [], np.random.default_rng(5)
    for rows, inputs, outputs in ((1, 40, 9), (7, 33, 50), (64, 128, 96), (130, 384, 20)):
        w, bias = (rng.standard_normal(s).astype(np.float32) for s in ((inputs, outputs), outputs))
        net = Net(f"rows{rows}", 17)
        net.out(net.op("Add", net.op("MatMul", net.input(rows, inputs), net.const(w)), net.const(bias)))
        path, blob = os.path.join(folder, "rows.onnx"), os.path.join(folder, "rows.morsel")
        onnx.save(net.float_model(), path)
        code, errors = call(["quantize", path, "--dynamic", "-o", blob])
        if code:
            failed.append(f"rows {rows}: {errors.splitlines()[-1]}")
            continue
        x = (rng.standard_normal((rows, inputs)) * rng.uniform(0.01, 9, (rows, 1))).astype(np.float32)
        steps = (np.abs(w).max(0) / np.float32(127)).astype(np.float32)
        bytes_in, scale = by_rows(x)
        sums = bytes_in @ np.rint(w / steps).astype(np.int64)
        want = sums.astype(np.float32) * (scale * steps) + bias
        got = run_blob(blob, path, {"x0": x}, folder)[net.outputs[0]]
        turned = run_blob(blob, path, {"x0": x[::-1].copy()}, folder)[net.outputs[0]]
        if not same(want, got):
            failed.append(f"{rows} rows of {inputs} to {outputs}: {int((want != got).sum())} of {want.size} differ")
        if not same(got, turned[::-1]):
            failed.append(f"{rows} rows in another order are other bytes")
    return failed


# --- DynamicQuantizeLSTM ---

def recurrent(kind, direction, columns, bias):
    """One cell from a given state: its products see what ONNX Runtime's see."""
    ways, width, hidden = 2 if direction == "bidirectional" else 1, 24, 16
    rng = np.random.default_rng(zlib.crc32(f"{kind}{direction}{columns}{bias}".encode()))
    net = Net("recurrent", 17)
    limits = {"u8": (0, 256, np.uint8), "s7": (-64, 64, np.int8)}[kind]  # CPUs without VNNI saturate pairs of wider ones there
    w, r = (net.const(rng.integers(*limits[:2], (ways, n, 4 * hidden)).astype(limits[2])) for n in (width, hidden))
    shape = (ways, 4 * hidden) if columns else (ways,)
    steps = []
    for _ in range(2):
        steps += [net.const(rng.uniform(0.002, 0.01, shape).astype(np.float32)),
                  net.const(np.full(shape, 128 if kind == "u8" else 0, limits[2]))]
    b = net.const(rng.uniform(-1, 1, (ways, 8 * hidden)).astype(np.float32)) if bias else ""
    states = [net.input(ways, 1, hidden, name=name) for name in "hc"]
    x = net.input(1, 1, width, name="x")
    net.out(*net.op("DynamicQuantizeLSTM", x, w, r, b, "", *states, "", *steps, outs=3, domain=netbuilder.MICROSOFT, direction=direction,
                    hidden_size=hidden))
    return net


def check_recurrent(folder):
    """What differs is the order of additions, and the last bits of Sigmoid and Tanh."""
    failed = []
    for kind, direction, columns, bias in itertools.product(("u8", "s7"), ("forward", "reverse", "bidirectional"), (False, True), (False, True)):
        net = recurrent(kind, direction, columns, bias)
        model, name = net.float_model(), f"{kind} {direction}{' by column' if columns else ''}{' bias' if bias else ''}"
        feeds = net.feeds()
        want = dict(zip(net.outputs, quiet_session(model).run(net.outputs, feeds)))
        try:
            got = run_blob(convert(model, folder), model, feeds, folder)
        except (Refused, Broken) as e:
            failed.append(f"{name}: {e}")
            continue
        failed += [f"{name}, {n}: {np.abs(got[n] - want[n]).max():.2g}" for n in net.outputs
                   if got[n].shape != want[n].shape or not np.abs(got[n] - want[n]).max() < FLOAT_LIMIT]
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer forms, and two inputs for each piece")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="morsel-dynamic-") as folder:
        files = [(os.path.basename(f), f) for f in arguments.files] or forms(folder, arguments.quick)
        print(f"{'network':<44} {'pieces':>7} {'runs':>6} {'values':>11} {'failed':>7}  ONNX Runtime from itself")
        for name, path in files:
            model, count = onnx.load(path), Count()
            shapes = {i.name: [d.dim_value or 1 for d in i.type.tensor_type.shape.dim] for i in model.graph.input}
            rng = np.random.default_rng(zlib.crc32(name.encode()))
            feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items() if n not in {c.name for c in model.graph.initializer}}
            values = dict(feeds, **all_values(model, feeds))
            for piece_name, x, piece in pieces(model, values):
                check_piece(piece_name, x, piece, values, count, not arguments.quick and path != FOOD)
            print(f"{name:<44} {count.pieces:>7} {count.runs:>6} {count.bytes:>11} {len(count.failed):>7}  {count.apart}", flush=True)
            for text in count.failed[:5]:
                print("FAIL", text)
            failed += len(count.failed) + (count.pieces == 0)
        own = check_own_rows(folder)
        print(f"{'quantize --dynamic, by rows':<44} {'':>37} {len(own):>2}")
        cells = check_recurrent(folder)
        print(f"{'DynamicQuantizeLSTM':<44} {'':>37} {len(cells):>2}")
        for text in own + cells:
            print("FAIL", text)
        failed += len(own + cells)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
