#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boxes of detectors whose feature pyramid has outputs for each level, beside those that NumPy makes of ONNX Runtime's outputs.

    levels.py [CASE...]      MORSEL is the tool [build/morsel]

Each case is a head on a small random network, with outputs as an exporter leaves them. The tool runs it in float and as a blob that was made with
the same rule. What it joins to "boxes" and "scores" is compared with what the heads' papers say of each level, from the network's own outputs.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import boxes

BINS = 8

# Head, height, width, anchors of a cell, classes, levels, form of outputs, numbers of points.
CASES = {
    "scrfd": ("scrfd", 96, 64, 2, 1, 3, "flat", 0),
    "scrfd with points": ("scrfd", 64, 96, 2, 1, 3, "flat", 10),
    "scrfd of one anchor": ("scrfd", 64, 64, 1, 1, 3, "rows", 10),
    "scrfd with a batch": ("scrfd", 64, 64, 2, 1, 3, "batch", 10),
    "scrfd in maps": ("scrfd", 64, 96, 2, 1, 3, "maps", 10),
    "scrfd of five levels": ("scrfd", 128, 256, 1, 3, 5, "rows", 0),
    "picodet": ("picodet", 100, 76, 1, 10, 4, "rows", 0),
    "picodet of as many classes as bins": ("picodet", 64, 64, 1, 4 * BINS, 4, "rows", 0),
    "picodet in maps": ("picodet", 64, 96, 1, 5, 4, "maps", 0),
    "picodet of three levels": ("picodet", 64, 96, 1, 2, 3, "rows", 0),
    "picodet, joined": ("picodet", 100, 76, 1, 10, 4, "joined", 0),
    "nanodet": ("nanodet", 96, 64, 1, 6, 4, "one", 0),
    "nanodet of three levels": ("nanodet", 104, 72, 1, 6, 3, "one", 0),
    "yunet": ("yunet", 96, 64, 1, 1, 3, "rows", 10),
    "yunet in maps": ("yunet", 64, 64, 1, 1, 3, "maps", 0),
}
SCORES_ASIDE = 0.015  # of a scale of their own; in one with bins of NanoDet it was 0.026


class Net:
    """A convolution for each halving, and of each level one for each of its outputs."""

    def __init__(self, images, height, width, seed):
        self.rng, self.nodes, self.weights, self.outputs, self.count = np.random.default_rng(seed), [], [], [], 0
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [images, 3, height, width])

    def node(self, op, *inputs, name=None, **attributes):
        self.count += 1
        name = name or f"v{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def constant(self, array):
        self.count += 1
        self.weights.append(numpy_helper.from_array(array, f"c{self.count}"))
        return f"c{self.count}"

    def conv(self, x, inputs, outputs, kernel=1, stride=1, gain=1.0):
        w = self.rng.normal(0, gain / np.sqrt(inputs * kernel * kernel), (outputs, inputs, kernel, kernel)).astype(np.float32)
        b = self.rng.normal(0, 0.1, outputs).astype(np.float32)
        return self.node("Conv", x, self.constant(w), self.constant(b), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                         pads=[kernel // 2] * 4)

    def output(self, name):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "levels", [self.input], self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def rows_of(net, x, numbers, form, images):
    """As an exporter leaves a level's map: as it is, or turned to rows."""
    if form == "maps":
        return x
    turned = net.node("Transpose", x, perm=[0, 2, 3, 1])
    shape = [-1, numbers] if form == "flat" else [images, -1, numbers]
    return net.node("Reshape", turned, net.constant(np.array(shape, np.int64)))


def make(case, seed):
    """The network; of each level what its parts are called: scores first, then boxes, then points."""
    head, height, width, anchors, classes, levels, form, points = CASES[case]
    images = 2 if form == "batch" else 1
    net = Net(images, height, width, seed)
    x, channels = "x", 3
    parts = [classes] + ([1] if head == "yunet" else []) + [4 * (BINS if head in ("picodet", "nanodet") else 1)] + ([points] if points else [])
    maps = []
    for k in range(3 + levels - 1):
        x, channels = net.node("Relu", net.conv(x, channels, 24, 3, 2, 1.6)), 24
        if k >= 2:
            maps.append([net.conv(x, 24, anchors * p, gain=2.0) for p in parts])
    scored = 2 if head == "yunet" else 1
    for level in maps:
        for i in range(scored):
            level[i] = net.node("Sigmoid", level[i])
        if head == "scrfd":
            level[1] = net.node("Abs", level[1])
    rows = [[rows_of(net, m, p, form, images) for m, p in zip(level, parts)] for level in maps]
    if form == "one":
        rows = [[net.node("Concat", *level, axis=2)] for level in rows]
    if form in ("one", "joined"):
        rows = [[net.node("Concat", *[level[i] for level in rows], axis=1) for i in range(len(rows[0]))]]
    for i in range(len(rows[0])):  # as most exporters order them: all levels of one part, then of the next
        for level in rows:
            net.output(level[i])
    return net, parts


# ---- the reference ----


def rule_of(case):
    return {"kind": "detections", "head": CASES[case][0], "threshold": 0.52, "iou": 0.4}


def cells(side, pixels):
    return -(-pixels // side)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def levels_of(case, arrays, parts):
    """[images, candidates of all levels, numbers] of each part."""
    head, height, width, anchors, classes, levels, form, points = CASES[case]
    if form == "one":
        return [arrays[0][..., :classes], arrays[0][..., classes:]]
    if form == "joined":
        return arrays
    per_part = [arrays[i * levels:(i + 1) * levels] for i in range(len(parts))]
    joined = []
    for p, level in zip(parts, per_part):
        if form == "maps":
            level = [a.transpose(0, 2, 3, 1) for a in level]
        images = 2 if form == "batch" else 1
        joined.append(np.concatenate([a.reshape(images, -1, p) for a in level], 1))
    return joined


def raw(case, arrays, parts):
    """Boxes and scores of all levels, as the tool joins them."""
    joined = [a.astype(np.float64) for a in levels_of(case, arrays, parts)]
    head = CASES[case][0]
    if head == "yunet":
        return joined[2], np.sqrt(joined[0] * joined[1])
    scores, boxes = joined[:2]
    if head in ("picodet", "nanodet"):
        boxes = (softmax(boxes.reshape(*boxes.shape[:2], 4, BINS)) * np.arange(BINS)).sum(-1)
    return boxes, scores


def corners(case, boxes):
    head, height, width, anchors, classes, levels, form, points = CASES[case]
    at = []
    for k in range(levels):
        side = 8 << k
        y, x = np.mgrid[:cells(side, height), :cells(side, width)]
        offset = 0.5 if head == "picodet" else 0
        grid = np.stack([(x.ravel() + offset) * side, (y.ravel() + offset) * side, np.full(x.size, side)], 1)
        at.append(np.repeat(grid, anchors, 0))
    at = np.concatenate(at)
    centre, side, boxes = at[:, :2], at[:, 2:], boxes.astype(np.float64)
    if head == "yunet":
        centre, half = centre + boxes[..., :2] * side, np.exp(boxes[..., 2:]) * side / 2
        return np.concatenate([centre - half, centre + half], -1)
    return np.concatenate([centre - boxes[..., :2] * side, centre + boxes[..., 2:] * side], -1)


def suppressed_all(case, told, scores):
    return [boxes.suppressed(rule_of(case), b, s) for b, s in zip(corners(case, told), scores)]


# ---- both ----


def tool(*words):
    done = subprocess.run([*boxes.MORSEL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def compare_all(name, got, wanted):
    good = len(got) == len(wanted)
    for i, (g, w) in enumerate(zip(got, wanted)):
        good &= boxes.compare(name + (f", picture {i}" if len(wanted) > 1 else ""), g, w, 1e-4, 0.02)
    return good


def are_near(name, scores, in_float):
    """Scores that share a scale with boxes are not."""
    aside = np.sqrt(np.mean((scores - in_float) ** 2))
    if aside > SCORES_ASIDE:
        print(f"FAIL {name}: scores of the blob are {aside:.4f} from float on average: they share a scale with others")
    return aside <= SCORES_ASIDE


def try_case(case, work):
    head, height, width, anchors, classes, levels, form, points = CASES[case]
    net, parts = make(case, list(CASES).index(case))
    path = f"{work}/float.onnx"
    net.save(path)
    images = 2 if form == "batch" else 1
    x = np.random.default_rng(5).normal(0, 1, (images, 3, height, width)).astype(np.float32)
    np.save(f"{work}/x.npy", x)
    json.dump(rule_of(case), open(f"{work}/answer.json", "w"))
    rule = ["--answer", f"{work}/answer.json"]
    session = ort.InferenceSession(path)
    in_float = raw(case, session.run(None, {"x": x}), parts)
    wanted = suppressed_all(case, *in_float)
    good = compare_all(f"{case}, in float", boxes.found_in_all(work, path, *rule), wanted)
    tool("quantize", path, "--data", f"{work}/x.npy", *rule, "-o", f"{work}/net.morsel", "-o", f"{work}/qdq.onnx")
    tool("convert", f"{work}/qdq.onnx", *rule, "-o", f"{work}/again.morsel")
    outputs = [o["name"] for o in json.loads(tool("inspect", f"{work}/net.morsel", "--json"))["outputs"]]
    if outputs != ["boxes", "scores"] + (["points"] if points else []):
        print(f"FAIL levels {case}: the blob has outputs {outputs}")
        return False
    before = None
    for blob in "net", "again":
        files = [f"{work}/{o}.npy" for o in ("boxes", "scores")]
        got = boxes.found_in_all(work, f"{work}/{blob}.morsel", *[part for i, y in enumerate(files) for part in ("--output", f"{i}={y}")])
        good &= compare_all(f"{case}, {'quantized' if blob == 'net' else 'converted'}", got, suppressed_all(case, *map(np.load, files)))
        if before not in (None, got):
            print(f"FAIL levels {case}: the QDQ file's blob has other boxes")
            good = False
        before = got
    return are_near(f"levels {case}", np.load(files[1]), in_float[1]) and good


def try_all(name, cases, try_one):
    """Those that the call names, or all, each in a folder of its own; ends the program."""
    good = True
    for case in sys.argv[1:] or cases:
        with tempfile.TemporaryDirectory() as work:
            good &= try_one(case, work)
    print(f"{name}: {'passed' if good else 'FAILED'}")
    sys.exit(not good)


if __name__ == "__main__":
    try_all("levels", CASES, try_case)
