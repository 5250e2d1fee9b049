#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What picks by places that a network computes, beside ONNX Runtime: TopK of few and of many, and GatherElements, Gather and GatherND behind
it, as detectors choose their queries.

    computed_places.py [--quick] [--seeds N]        MORSEL is the tool, build/morsel where it is not set

Blobs of floats and the float executor. Nothing is computed of what is picked: all is equal.
"""
import os
import sys

import numpy as np

from attention import compare_all


def spread(b, at, shape, axis, width):
    """An index of one line of places, for all elements of `shape`, as the two exporters of PyTorch write it."""
    wide = [*shape[:axis], shape[axis], width]
    if b.pick(True, False):
        return b.op("Expand", at, b.ints(*wide))
    return b.op("Tile", b.op("Expand", at, b.ints(*shape[:axis + 1], 1)), b.ints(*[1] * (axis + 1), width))


def top(b):
    rank = b.pick(1, 2, 3)
    shape = [int(b.rng.integers(1, 6)) for _ in range(rank)]
    axis = int(b.rng.integers(rank))
    n = shape[axis] = int(b.rng.integers(18, 200))
    x = b.input(*shape)
    if b.pick(True, False):  # many that are equal
        x = b.op("Round", b.op("Mul", x, b.const(np.float32(3))))
    k = int(b.rng.integers(1, n + 1))
    values, places = b.op("TopK", x, b.ints(k), outs=2, axis=b.pick(axis, axis - rank), largest=b.pick(0, 1))
    return b.out(values, b.op("Cast", places, to=1)) if b.pick(True, False) else b.out(values, places)


def queries(b):
    """Rows by the best of their scores: of one kind, or of three, as boxes, features and scores."""
    batch, n, width = b.pick(1, 2), int(b.rng.integers(20, 300)), b.pick(1, 4, 7, 16, 33)
    k = int(b.rng.integers(1, n + 1))
    scores = b.input(batch, n, 5)
    best = b.op("ReduceMax", scores, axes=[-1], keepdims=0)
    _, places = b.op("TopK", best, b.ints(k), outs=2, axis=1)
    at, picked = b.op("Unsqueeze", places, b.ints(-1)), []
    for i in range(b.pick(1, 3)):
        x = b.input(batch, n, width)
        picked.append(b.op("GatherElements", x, spread(b, at, [batch, k], 1, width), axis=1))
        width = b.pick(4, 5)
    return b.out(*picked, b.op("GatherElements", scores, spread(b, at, [batch, k], 1, 5), axis=b.pick(1, -2)))


def elements(b):
    """By an index for each element: the least of another tensor, or the best of it."""
    rank = b.pick(1, 2, 3)
    shape = [int(b.rng.integers(1, 8)) for _ in range(rank)]
    axis = int(b.rng.integers(rank))
    shape[axis] = int(b.rng.integers(2, 60))
    x, y = b.input(*shape), b.input(*shape)
    if b.pick(True, False):
        _, at = b.op("TopK", y, b.ints(int(b.rng.integers(1, shape[axis] + 1))), outs=2, axis=axis, largest=b.pick(0, 1))
    else:
        at = b.op("ArgMax", y, axis=axis)
    if b.pick(True, False):
        at = b.op("Sub", at, b.ints(b.pick(1, shape[axis])))  # from -1, or from the end
    return b.out(b.op("GatherElements", x, at, axis=axis))


def gathered(b):
    """Gather along any axis by a list or a table of places, few or many; GatherND of one picture."""
    rank, many = b.pick(2, 3, 4), b.pick(40, 400)
    shape = [int(b.rng.integers(1, 5)) for _ in range(rank)]
    axis = int(b.rng.integers(rank))
    shape[axis] = many
    x, y = b.input(*shape), b.input(b.pick(1, 2, 3), many)
    _, at = b.op("TopK", y, b.ints(int(b.rng.integers(1, many + 1))), outs=2)
    if b.pick(True, False):
        at = b.op("Sub", at, b.ints(many))
    if b.pick(True, False):
        return b.out(b.op("Gather", x, at, axis=axis))
    first = b.pick(1, 1, 3)  # of one picture or of several
    x = b.input(first, many, b.pick(1, 6, 32))
    at = b.op("Unsqueeze", at, b.ints(-1))
    which = b.op("Mod", at, b.ints(first))
    return b.out(b.op("GatherND", x, b.op("Concat", which, at, axis=-1)))


def nearest(b):
    """Pixels at coordinates that are computed, kept within the picture, as discrete deformable attention reads them."""
    h, w, k = (int(b.rng.integers(2, 30)) for _ in range(3))
    at = b.op("Add", b.op("Mul", b.input(2, k, 2), b.const(np.array([h, w], np.float32))), b.const(np.float32(0.5)))
    at = b.op("Cast", at, to=7)
    sides = [b.op("Clip", b.op("Gather", at, b.ints(i), axis=2), b.const(np.int64(0)), b.const(np.int64(n - 1))) for i, n in ((0, h), (1, w))]
    batch = b.const(np.repeat(np.arange(2), k).reshape(2, k, 1))
    return b.out(b.op("GatherND", b.input(2, h, w, b.pick(1, 8, 12)), b.op("Concat", batch, *sides, axis=-1)))


def best_of_all(b):
    """Of all scores of all classes, as the ends of RT-DETR and of YOLOv10 choose: which box, and which class."""
    batch, n, classes = b.pick(1, 2), int(b.rng.integers(10, 120)), b.pick(1, 3, 7, 80)
    k = int(b.rng.integers(1, n * classes + 1))
    scores = b.op("Reshape", b.input(batch, n, classes), b.ints(batch, n * classes))
    values, places = b.op("TopK", scores, b.ints(k), outs=2, axis=-1)
    box, label = b.op("Div", places, b.ints(classes)), b.op("Mod", places, b.ints(classes))
    if b.pick(True, False):
        label = b.op("Sub", places, b.op("Mul", box, b.ints(classes)))
    at = spread(b, b.op("Unsqueeze", box, b.ints(-1)), [batch, k], 1, 4)
    return b.out(values, b.op("GatherElements", b.input(batch, n, 4), at, axis=1), b.op("Cast", label, to=1))


def divided(b):
    """Whole numbers of both signs, cut and rounded down."""
    n = int(b.rng.integers(18, 300))
    _, places = b.op("TopK", b.input(n), b.ints(n), outs=2)
    a, by = b.op("Sub", places, b.ints(int(b.rng.integers(0, n)))), b.const(b.rng.integers(1, 40, b.pick(1, n)))
    return b.out(*[b.op("Cast", y, to=1) for y in (b.op("Div", a, by), b.op("Mod", a, by), b.op("Mod", a, by, fmod=1))])


def main():
    kinds = (top, queries, elements, gathered, nearest, best_of_all, divided)
    return compare_all("computed places", __doc__, kinds, limit=0, converts=False)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
