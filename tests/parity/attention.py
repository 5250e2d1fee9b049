#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attention in float beside ONNX Runtime: random networks of float products, masks in the forms of exports, and what ONNX Runtime fuses.

    attention.py [--quick] [--seeds N]        MORSEL is the tool, build/morsel where it is not set

Blobs, whose layers stay float (`quantize --dynamic --exclude`), and by the float executor what it has the operators of: what differs is the order
of additions, and no result by more than 2e-5 of the largest.
"""
import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compare import FLOAT_LIMIT, Broken, call, run_blob
from netbuilder import MICROSOFT, Net, finish, quiet_session

LOWEST = np.finfo(np.float32).min


class Graph(Net):
    """Inputs of floats, masks of 0 and 1, and ids below 50."""

    def __init__(self, seed):
        super().__init__(f"attention{seed}", 17)
        self.kinds = {}

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def integers(self, kind, *shape, type=TensorProto.INT64):
        name = self.input(*shape, name=f"{kind}{len(self.inputs)}")
        self.kinds[name] = kind, type
        return name

    def model(self):
        graph = helper.make_graph(
            [helper.make_node(n.op, n.inputs, n.outputs, domain=n.domain, **n.attributes) for n in self.nodes], self.name,
            [helper.make_tensor_value_info(k, self.kinds.get(k, (0, TensorProto.FLOAT))[1], v) for k, v in self.inputs.items()],
            [helper.make_empty_tensor_value_info(o) for o in self.outputs], [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        return finish(graph, self.opset)

    def feeds(self, seed=0, spread=1.3):
        feeds, rng = super().feeds(seed, spread), np.random.default_rng(seed)
        for name, (kind, type_) in self.kinds.items():
            numbers = rng.integers(0, 50 if kind == "ids" else 2, self.inputs[name])
            if kind == "mask":  # ones, then zeros: what lengths say, too
                numbers = (np.arange(numbers.shape[-1]) < rng.integers(1, numbers.shape[-1] + 1, (*numbers.shape[:-1], 1))).astype(int)
            feeds[name] = numbers.astype(np.int64 if type_ == TensorProto.INT64 else np.int32)
        return feeds

    def scalar(self, value):
        return self.const(np.float32(value))


def mask_of(b, batch, n, form):
    """What is added to [batch, heads, n, n]."""
    mask = b.integers("mask", batch, n)
    wide = b.op("Unsqueeze", b.op("Unsqueeze", mask, b.ints(1)), b.ints(2))
    if form == "cast":
        return b.op("Mul", b.op("Sub", b.scalar(1), b.op("Cast", wide, to=TensorProto.FLOAT)), b.scalar(b.pick(-1e4, LOWEST)))
    if form == "lengths":  # positions below how many there are
        return b.op("Where", b.op("Equal", wide, b.ints(1)), b.scalar(0), b.scalar(-1e9))
    keys = b.op("Cast", wide, to=TensorProto.BOOL)
    if form == "gather":
        index = np.stack(np.broadcast_arrays(np.arange(batch)[:, None, None, None], np.arange(n)), -1).astype(np.int64)
        keys = b.op("GatherND", b.op("Cast", mask, to=TensorProto.BOOL), b.const(index))
    if form == "and":
        causal = b.const(np.tril(np.ones((1, 1, n, n), bool)))
        keys = b.op("And", causal, b.op("Or", keys, b.const(np.eye(n, dtype=bool)[None, None])))
    if form == "expand":
        keys = b.op("Not", b.op("Not", b.op("Expand", keys, b.ints(batch, 1, n, n))))
    return b.op("Where", keys, b.scalar(0), b.scalar(b.pick(-np.inf, LOWEST)))


def heads(b, x, batch, n, count, size):
    return b.op("Transpose", b.op("Reshape", x, b.ints(batch, n, count, size)), perm=[0, 2, 1, 3])


def attention(b):
    batch, n, count, size = b.pick(1, 1, 2, 3), int(b.rng.integers(1, 40)), b.pick(1, 2, 3), int(b.rng.integers(1, 40))
    wide = count * size
    if b.pick(True, False):
        q, k, v = b.op("Split", b.input(batch, n, 3 * wide), b.ints(wide, wide, wide), outs=3, axis=2)
    else:
        q, k, v = b.input(batch, n, wide), b.input(batch, n, wide), b.input(batch, n, wide)
    q, k, v = (heads(b, t, batch, n, count, size) for t in (q, k, v))
    if b.pick(True, False, False):
        q, k = b.op("Mul", q, b.scalar(0.4)), b.op("Mul", k, b.scalar(0.4))
    s = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    scale = b.pick("Mul", "Div", None)
    if scale:
        s = b.op(scale, s, b.scalar(0.2 if scale == "Mul" else np.sqrt(size)))
    if b.pick(True, False, False):
        s = b.op("Add", b.plain_floats(1, count, n, n), s)
    form = b.pick(None, "cast", "lengths", "where", "gather", "and", "expand")
    if form:
        s = b.op("Add", s, mask_of(b, batch, n, form))
    p = b.op("Softmax", s, axis=-1)
    if form and b.pick(True, False):
        p = b.op("Where", b.op("IsNaN", p), b.scalar(0), p)
    o = b.op("MatMul", p, v)
    if b.pick(True, False):
        return b.out(b.op("Reshape", b.op("Transpose", o, perm=[0, 2, 1, 3]), b.ints(batch, n, wide)))
    return b.out(b.op("Relu", o))


def products(b):
    """Of parts of tensors, in any order, of operands that repeat."""
    d = [int(b.rng.integers(1, 9)) for _ in range(2)] + [int(b.rng.integers(1, 40)) for _ in range(3)]
    rank = b.pick(2, 3, 4, 5)
    lead = ([b.pick(1, 2)] * 3 + d[:2])[-(rank - 2):] if rank > 2 else []

    def operand(rows, columns, repeats):
        dims = [1 if repeats and b.pick(True, False) else n for n in lead] + [rows, columns]
        if b.pick(True, False):  # cut out of something larger
            axis = int(b.rng.integers(len(dims)))
            more = [n + 3 * (i == axis) for i, n in enumerate(dims)]
            order = [int(i) for i in b.rng.permutation(len(dims))]
            x = b.op("Transpose", b.input(*[more[i] for i in order]), perm=[int(i) for i in np.argsort(order)])
            return b.op("Slice", x, b.ints(2), b.ints(2 + dims[axis]), b.ints(axis))
        return b.input(*dims)
    y = b.op("MatMul", operand(d[2], d[3], False), operand(d[3], d[4], True))
    tail = b.pick("none", "factor", "term", "both", "clip")
    if tail in ("factor", "both"):
        y = b.op("Mul", b.scalar(-0.3), y)
    if tail in ("term", "both"):
        y = b.op("Add", y, b.input(*b.pick((d[4],), (1,), (d[2], 1), (*lead, d[2], d[4]))))
    return b.out(b.op("Clip", y, b.scalar(-1), b.scalar(2)) if tail == "clip" else y)


def fused(b):
    """Operators of ONNX Runtime's optimizers, one behind the other."""
    batch, n, count, size = b.pick(1, 1, 2), int(b.rng.integers(1, 20)), b.pick(1, 2, 4), b.pick(16, 23, 32)
    wide = count * size
    norm = lambda: (b.plain_floats(wide, low=0.5), b.plain_floats(wide))
    mask = b.integers("mask", batch, n, type=TensorProto.INT32)
    masked = b.pick(True, False)
    if b.pick(True, False):
        ids, types = (b.integers(kind, batch, n, type=TensorProto.INT32) for kind in ("ids", "types"))
        outs = b.op("EmbedLayerNormalization", ids, types, *[b.floats(rows, wide) for rows in (50, 30, 2)], *norm(), mask, outs=2,
                    domain=MICROSOFT, epsilon=1e-5)
        x, mask = outs[0], b.pick(outs[1], mask)
    else:
        x = b.input(batch, n, wide)
    x = b.op("MatMul", x, b.weight(wide, wide))
    options = {"scale": 0.3} if b.pick(True, False) else {}
    options |= {"mask_filter_value": -300.0} if b.pick(True, False) else {}
    y = b.op("Attention", x, b.weight(wide, 3 * wide), b.plain_floats(3 * wide), *([mask] if masked else []), domain=MICROSOFT, num_heads=count,
             **options)
    bias = [b.plain_floats(wide)] if b.pick(True, False) else []
    x, _, _, total = b.op("SkipLayerNormalization", y, x, *norm(), *bias, outs=4, domain=MICROSOFT, epsilon=1e-5)
    y = b.op("BiasGelu", x, b.plain_floats(wide), domain=MICROSOFT) if b.pick(True, False) else \
        b.op("FastGelu", x, *([b.plain_floats(wide)] if b.pick(True, False) else []), domain=MICROSOFT)
    turn_a, turn_b = b.pick((1, 0), (0, 1))
    y = b.op("FusedMatMul", y, total, domain=MICROSOFT, alpha=0.25, transA=turn_a, transB=turn_b)
    return b.out(y, x)


def whole(b):
    """Attention in one node, of ai.onnx and of ONNX Runtime, in forms that differ by masks, terms, heads and sizes."""
    batch, queries, keys, count, size = b.pick(1, 2), int(b.rng.integers(1, 20)), int(b.rng.integers(1, 20)), b.pick(1, 2, 4), b.pick(4, 7, 16)
    form, wide, causal = b.pick("standard", "flat", "apart", "packed"), count * size, b.pick(True, False)
    options = {"scale": 0.3} if b.pick(True, False) else {}
    if form in ("standard", "flat"):
        b.opset, each, mask = 23, b.pick(1, 2), []
        keys = queries if causal else keys
        shape = (lambda n, heads: (batch, heads, n, size)) if form == "standard" else (lambda n, heads: (batch, n, heads * size))
        heads = {} if form == "standard" else {"q_num_heads": count * each, "kv_num_heads": count}
        q, k, v = b.input(*shape(queries, count * each)), b.input(*shape(keys, count)), b.input(*shape(keys, count))
        if b.pick(True, False):
            mask = [b.plain_floats(b.pick(batch, 1), b.pick(count * each, 1), queries, keys)]
        elif not causal:
            mask = [b.op("Cast", b.integers("mask", batch, 1, queries, keys), to=TensorProto.BOOL)]
        return b.out(b.op("Attention", q, k, v, *mask, is_causal=int(causal), **heads, **options))
    if form == "apart":
        more = [b.pick("", b.plain_floats(3 * wide)), b.integers("mask", batch, keys, type=TensorProto.INT32)][:b.pick(0, 1, 2)]
        q, k, v = b.input(batch, queries, wide), b.input(batch, keys, wide), b.input(batch, keys, wide)
        return b.out(b.op("MultiHeadAttention", q, k, v, *more, domain=MICROSOFT, num_heads=count, **options))
    return b.out(b.op("Attention", b.input(batch, queries, wide), b.weight(wide, 3 * wide), b.plain_floats(3 * wide), domain=MICROSOFT,
                      num_heads=count, unidirectional=int(causal), **options))


def embedded(b):
    """QEmbedLayerNormalization: tables, gamma and beta in bytes, as quantize_dynamic writes it of an optimized file."""
    batch, n, wide, kind = b.pick(1, 2), int(b.rng.integers(1, 20)), b.pick(16, 23, 32), b.pick(np.uint8, np.int8)
    limits = np.iinfo(kind)
    integers = lambda *shape: b.rng.integers(limits.min, limits.max + 1, shape).astype(kind)
    ids, types = (b.integers(name, batch, n, type=TensorProto.INT32) for name in ("ids", "types"))
    parts, segments = [(50, wide), (30, wide), (2, wide), (wide,), (wide,)], b.pick(True, False)
    there = [segments or i != 2 for i in range(5)]
    values = [b.const(integers(*shape)) if is_there else "" for shape, is_there in zip(parts, there)]
    scales = [b.scalar(b.rng.uniform(0.005, 0.02)) if is_there else "" for is_there in there]
    zeros = [b.const(integers()) if is_there else "" for is_there in there]
    x = b.op("QEmbedLayerNormalization", ids, types if segments else "", *values, b.integers("mask", batch, n, type=TensorProto.INT32),
             *scales, *zeros, outs=2, domain=MICROSOFT, epsilon=1e-5)[0]
    return b.out(b.op("MatMul", x, b.weight(wide, wide)))


def rotary(b):
    """RotaryEmbedding of ai.onnx and of ONNX Runtime: of 3 and 4 dimensions, of all of a head or a part, with ids and without."""
    batch, n, count, half, more = b.pick(1, 2), int(b.rng.integers(1, 20)), b.pick(1, 2, 3), b.pick(1, 4, 8), b.pick(0, 0, 3)
    size, lines, options = 2 * half + more, n + 5, {"interleaved": b.pick(0, 1)}
    flat, microsoft, told = b.pick(True, False), b.pick(True, False), b.pick("ids", "constants", "none")
    shape = (batch, n, count * size) if flat else (batch, count, n, size)
    if more or flat:
        options |= {"num_heads": count}
    if more:
        options |= {"rotary_embedding_dim": 2 * half}
    b.opset = 17 if microsoft else 23
    tables = lambda *d: [b.plain_floats(*d) if told == "ids" or b.pick(True, False) else b.input(*d) for _ in range(2)]
    x = b.op("Mul", b.input(*shape), b.scalar(0.7))
    if told == "none" and not microsoft:
        return b.out(b.op("RotaryEmbedding", x, *tables(batch, n, half), **options))
    if told == "none":  # one number: where the text begins
        return b.out(b.op("RotaryEmbedding", x, b.ints(3), *tables(lines, half), domain=MICROSOFT, **options))
    ids = b.const(b.rng.integers(0, lines, (batch, n))) if told == "constants" else b.integers("mask", batch, n)
    tables = tables(lines, half)
    inputs = [ids, *tables] if microsoft else [*tables, ids]
    return b.out(b.op("RotaryEmbedding", x, *inputs, **({"domain": MICROSOFT} if microsoft else {}), **options))


def compare(model, feeds, folder, converts=True):
    """The largest difference, as a part of the largest value. A network without a float product goes through convert, where that takes it."""
    path, blob = f"{folder}/net.onnx", f"{folder}/net.morsel"
    onnx.save(model, path)
    layers = {n.op_type for n in model.graph.node} & {"Attention", "MultiHeadAttention", "MatMul", "RotaryEmbedding"}
    excluded = [word for name in sorted(layers) for word in ("--exclude", name)]
    code, errors = call(["quantize", path, "--dynamic", *excluded, "-o", blob] if layers - {"MatMul"} or not converts else
                        ["convert", path, "-o", blob])
    if code:
        raise Broken("; ".join(line for line in errors.splitlines() if "notice" not in line)[:300])
    session, most = quiet_session(model, optimize=False), 0.0
    wanted = session.run(None, feeds)
    quantized = any(n.op_type.startswith("QEmbed") for n in model.graph.node)  # which the float executor leaves to blobs
    for network in [blob] if quantized else [blob, path]:
        got = run_blob(network, model, feeds, folder)
        for output, want in zip(session.get_outputs(), wanted):
            have = got[output.name]
            if have.shape != want.shape or not np.isfinite(have).all():
                raise Broken(f"{have.shape} of {want.shape}, or no numbers")
            most = max(most, float(np.abs(have - want).max() / max(np.abs(want).max(), 1e-3)))
    return most


def compare_all(what, usage, kinds, limit, converts=True):
    """Random networks of each kind, by the options of the command line. True: one differs by more than the limit."""
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int)
    options = parser.parse_args()
    seeds, failed = options.seeds or (8 if options.quick else 60), 0
    for build in kinds:
        worst = 0.0
        for seed in range(seeds):
            b = Graph(f"-{build.__name__}-{seed}")
            build(b)
            try:
                with tempfile.TemporaryDirectory() as folder:
                    off = compare(b.model(), b.feeds(seed), folder, converts)
            except Broken as e:
                off = np.inf
                print(f"FAIL {b.name}: {e}")
            if limit < off < np.inf:
                print(f"FAIL {b.name}: differs by {off:.2g} of the largest")
            failed += off > limit
            worst = max(worst, off)
        print(f"{build.__name__:12} {seeds} networks, at most {worst:.2g} of the largest value apart")
    print(f"{'FAIL' if failed else 'ok'} {what}: {failed} of {len(kinds) * seeds} networks differ")
    return failed > 0


def main():
    return compare_all("attention", __doc__, (attention, products, fused, embedded, whole, rotary), FLOAT_LIMIT)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
