# SPDX-License-Identifier: MIT
"""Graphs of one operator that chooses elements, or puts them in places, by constants."""
import numpy as np

from float_cases import Case, Constant, uniform


def choices():
    x, few = uniform("x", 4, 3, 2), np.array([1, 0, 1], bool)
    yield from (Case(f"{axis}", "Compress", x, Constant(few), axis=axis) for axis in (0, 1, -2))
    yield Case("flat", "Compress", x, Constant(np.arange(20) % 3 == 1))


def grid(*ranges):
    """Places of a slice, as PyTorch writes what is assigned to it."""
    return Constant(np.stack(np.meshgrid(*[np.arange(*r) for r in ranges], indexing="ij"), -1).astype(np.int64))


def scatters():
    x, rng = uniform("data", 3, 4, 5), np.random.default_rng(7)
    boxes = {"inside": ((1, 3), (1, 3), (2, 4)), "first": ((0, 1), (0, 4), (0, 5)), "last": ((0, 3), (3, 4), (0, 5)),
             "all": ((0, 3), (0, 4), (0, 5)), "steps": ((0, 3, 2), (0, 4), (0, 5, 3)), "planes": ((1, 3),), "rows": ((0, 3), (1, 4))}
    for name, ranges in boxes.items():
        put = uniform(name, *[len(range(*r)) for r in ranges], *x.shape[len(ranges):])
        yield Case(name, "ScatterND", x, grid(*ranges), put, opset=18)
        for reduction in ("add", "mul", "max", "min") if name != "steps" else ():
            yield Case(f"{name} {reduction}", "ScatterND", x, grid(*ranges), put, opset=18, reduction=reduction)
    some = np.stack([rng.permutation(12)[:5] // 4, rng.integers(-4, 4, 5)], -1)
    yield Case("some", "ScatterND", x, Constant(some[np.unique(some % [3, 4], axis=0, return_index=True)[1]]),
               uniform("u", len(np.unique(some % [3, 4], axis=0)), 5), opset=16)
    for axis, size in ((0, 3), (1, 4), (-1, 5)):
        order = np.argsort(rng.random(x.shape), axis)
        yield Case(f"{axis}", "ScatterElements", x, Constant(order), uniform("u", *x.shape), axis=axis)
        yield Case(f"{axis} in order", "ScatterElements", x, Constant(np.sort(order, axis)), uniform("u", *x.shape), axis=axis)
        few = np.take(order, range(size - 2), axis)[:2, :3, :3]
        yield Case(f"{axis} few", "ScatterElements", x, Constant(few), uniform("u", *few.shape), axis=axis)
    yield Case("old", "Scatter", x, Constant(few), uniform("u", *few.shape), axis=-1, opset=10)


def columns():
    for name, size, block, more in (("plain", (6, 8), (2, 4), {"strides": [2, 4]}), ("overlap", (6, 7), (3, 3), {"pads": [1, 1, 1, 1]}),
                                    ("steps", (8, 9), (3, 2), {"strides": [2, 3], "pads": [1, 0, 0, 1]}), ("dilated", (7, 8), (2, 3), {"dilations": [2, 1]})):
        pads, steps, spread = more.get("pads", [0] * 4), more.get("strides", [1, 1]), more.get("dilations", [1, 1])
        places = [(size[i] + pads[i] + pads[2 + i] - spread[i] * (block[i] - 1) - 1) // steps[i] + 1 for i in range(2)]
        yield Case(name, "Col2Im", uniform(name, 2, 3 * block[0] * block[1], places[0] * places[1]), Constant(np.array(size)),
                   Constant(np.array(block)), opset=18, **more)
