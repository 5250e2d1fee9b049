#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boxes of detectors that sort them out by themselves, by TopK or NonMaxSuppression, beside those that ONNX Runtime's kernels choose.

    selection.py [CASE...]      MORSEL is the tool [build/morsel]

Each case is a head on a small random network, with an end as an exporter writes it. The tool leaves that end out and goes by the answer rule: in
float, as a blob, and as a blob of the QDQ file. Classes are a softmax and the threshold is one half, so that a candidate has one class.
"""
import json
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

import boxes
import levels

SIDE, CELL, CLASSES, IOU, THRESHOLD, MOST = 64, 8, 5, 0.45, 0.5, 20

# What the network ends with, images, numbers more of a candidate, opset.
CASES = {
    "best": ("topk", 1, 0, 13),
    "best, opset 11": ("topk", 1, 0, 11),
    "best of a batch": ("topk", 2, 0, 18),
    "best with masks": ("topk", 1, 7, 13),
    "suppressed": ("nms", 1, 0, 13),
    "suppressed, opset 17": ("nms", 1, 0, 17),
    "suppressed with masks": ("nms", 1, 5, 13),
    "centres and points": ("nothing", 1, 6, 13),
}


class Net(levels.Net):
    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def part(self, x, begin, end, axis):
        return self.node("Slice", x, self.ints(begin), self.ints(end), self.ints(axis))

    def squeezed(self, op, x, axis, opset):
        return self.node(op, x, axes=[axis]) if opset < 13 else self.node(op, x, self.ints(axis))

    def largest(self, x, opset):
        return self.node("ReduceMax", x, axes=[-1], keepdims=0) if opset < 18 else self.node("ReduceMax", x, self.ints(-1), keepdims=0)

    def save_as(self, path, opset):
        graph = helper.make_graph(self.nodes, "selection", [self.input], self.outputs, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def candidates(net, images, more):
    """centre [images, 2, n], size, scores and, if there are, more numbers."""
    x, cells = "x", SIDE // CELL
    for channels in (3, 24, 24):
        x = net.node("Relu", net.conv(x, channels, 24, 3, 2, 1.6))
    y = net.conv(x, 24, 4 + CLASSES + more, gain=2.0)
    y = net.node("Reshape", y, net.ints(images, 4 + CLASSES + more, cells * cells))
    grid = np.stack(np.meshgrid(np.arange(cells), np.arange(cells))).reshape(1, 2, -1).astype(np.float32)
    centre = net.node("Add", net.node("Sigmoid", net.part(y, 0, 2, 1)), net.constant(grid))
    centre = net.node("Mul", centre, net.constant(np.float32(CELL)))
    size = net.node("Mul", net.node("Sigmoid", net.part(y, 2, 4, 1)), net.constant(np.float32(3 * CELL)))
    scores = net.node("Mul", net.part(y, 4, 4 + CLASSES, 1), net.constant(np.float32(2)))
    scores = net.node("Transpose", net.node("Softmax", net.node("Transpose", scores, perm=[0, 2, 1]), axis=2), perm=[0, 2, 1])
    return centre, size, scores, net.part(y, 4 + CLASSES, 4 + CLASSES + more, 1) if more else None


def corners(net, centre, size, axis):
    half = net.node("Mul", size, net.constant(np.float32(0.5)))
    return net.node("Concat", net.node("Sub", centre, half), net.node("Add", centre, half), axis=axis)


def end_by_topk(net, parts, images, more, opset):
    """The best candidates, then the best of their classes: [images, most, box, score, class, more]."""
    centre, size, scores, others = parts
    lines = net.node("Concat", corners(net, centre, size, 1), scores, *([others] if more else []), axis=1)
    lines = net.node("Transpose", lines, perm=[0, 2, 1])
    boxes_of, scores, others = (net.part(lines, a, b, 2) for a, b in ((0, 4), (4, 4 + CLASSES), (4 + CLASSES, 4 + CLASSES + max(more, 1))))
    net.nodes.append(helper.make_node("TopK", [net.largest(scores, opset), net.ints(MOST)], ["best", "at"], axis=-1))
    at = net.squeezed("Unsqueeze", "at", 2, opset)

    def gathered(x, numbers, places):
        return net.node("GatherElements", x, net.node("Tile", places, net.ints(1, 1, numbers)), axis=1)

    scores = net.node("Flatten", gathered(scores, CLASSES, at), axis=1)
    net.nodes.append(helper.make_node("TopK", [scores, net.ints(MOST)], ["p", "place"], axis=-1))
    line = net.squeezed("Unsqueeze", net.node("Div", "place", net.ints(CLASSES)), 2, opset)
    index = net.node("Cast", net.node("Mod", "place", net.ints(CLASSES)), to=TensorProto.FLOAT)
    told = [gathered(gathered(boxes_of, 4, at), 4, line), net.squeezed("Unsqueeze", "p", 2, opset), net.squeezed("Unsqueeze", index, 2, opset)]
    if more:
        told.append(gathered(gathered(others, more, at), more, line))
    net.output(net.node("Concat", *told, axis=2, name="output0"))


def end_by_suppression(net, parts, more, opset):
    """What is likely is suppressed by class, as boxes that are far apart: [1, count, box, score, class, more]."""
    centre, size, scores, others = parts
    lines = net.node("Concat", corners(net, centre, size, 1), scores, *([others] if more else []), axis=1)
    lines = net.node("Transpose", lines, perm=[0, 2, 1])
    boxes_of, scores = net.part(lines, 0, 4, 2), net.part(lines, 4, 4 + CLASSES, 2)
    first = net.constant(np.array(0, np.int64))
    best = net.node("Gather", net.largest(scores, opset), first, axis=0)
    index = net.node("Gather", net.node("ArgMax", scores, axis=-1, keepdims=0), first, axis=0)
    likely = net.node("Transpose", net.node("NonZero", net.node("Greater", best, net.constant(np.float32(THRESHOLD)))), perm=[1, 0])
    box = net.node("GatherND", net.node("Gather", boxes_of, first, axis=0), likely)
    best, index = net.node("GatherND", best, likely), net.node("GatherND", index, likely)
    far = net.node("Mul", net.node("Cast", net.squeezed("Unsqueeze", index, 1, opset), to=TensorProto.FLOAT), net.constant(np.float32(1000)))
    apart = net.squeezed("Unsqueeze", net.node("Add", box, far), 0, opset)
    best_of_all = net.node("Unsqueeze", best, net.ints(0, 1))
    limits = [net.constant(np.array([value], kind)) for value, kind in ((100, np.int64), (IOU, np.float32))]
    at = net.squeezed("Squeeze", net.node("Gather", net.node("NonMaxSuppression", apart, best_of_all, *limits), net.ints(2), axis=1), 1, opset)
    told = [net.node("Gather", box, at, axis=0), net.node("Reshape", net.node("Gather", best, at, axis=0), net.ints(-1, 1)),
            net.node("Cast", net.node("Reshape", net.node("Gather", index, at, axis=0), net.ints(-1, 1)), to=TensorProto.FLOAT)]
    if more:
        others = net.node("GatherND", net.node("Gather", net.part(lines, 4 + CLASSES, 4 + CLASSES + more, 2), first, axis=0), likely)
        told.append(net.node("Gather", others, at, axis=0))
    net.output(net.node("Reshape", net.node("Concat", *told, axis=-1), net.ints(1, -1, 6 + more), name="output0"))


def make(case, seed):
    end, images, more, opset = CASES[case]
    net = Net(images, SIDE, SIDE, seed)
    parts = centre, size, scores, others = candidates(net, images, more)
    if end == "topk":
        end_by_topk(net, parts, images, more, opset)
    elif end == "nms":
        end_by_suppression(net, parts, more, opset)
    else:
        net.output(net.node("Concat", *parts, axis=1, name="output0"))
    return net


# ---- the reference ----


def centred(box):
    return [box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2]


def chosen_by_onnxruntime(end, outputs):
    """(class, p, x0, y0, x1, y1) of each image."""
    if end != "nothing":
        return [[(int(r[5]), r[4], *r[:4]) for r in image if r[4] >= THRESHOLD] for image in outputs[0]]
    lines = outputs[0][0].T.astype(np.float64)
    whole = np.array([centred(line) for line in lines])
    return [boxes.suppressed({"threshold": THRESHOLD, "iou": IOU}, whole, lines[:, 4:4 + CLASSES])]


def chosen_of_blob(rule, outputs):
    """Of what is left of the network, in 8 bits."""
    told, scores = (x.transpose(0, 2, 1) if x.shape[1] < x.shape[2] else x for x in outputs[:2])
    if rule["head"] == "yolov8":
        told = [np.array([centred(b) for b in image]) for image in told]
    return [boxes.suppressed({"iou": 1, **rule}, b, p)[:rule["most"]] for b, p in zip(told, scores)]


# ---- both ----


def rule_of(end):
    rule = {"kind": "detections", "head": "yolov8" if end == "nothing" else "yolov10", "threshold": THRESHOLD, "most": MOST if end == "topk" else 100}
    return {**rule, **({} if end == "topk" else {"iou": IOU}), **({"classes": CLASSES} if end == "nothing" else {})}


def asks_for_iou(work, path):
    """Without one the rule would leave what the network suppresses."""
    json.dump({"kind": "detections", "head": "yolov10"}, open(f"{work}/wrong.json", "w"))
    done = subprocess.run([*boxes.MORSEL, "run", path, "--input", f"{work}/x.npy", "--answer", f"{work}/wrong.json"], capture_output=True, text=True)
    if done.returncode == 1 and "which is left to the answer rule" in done.stderr:
        return True
    print(f"FAIL selection: without an iou {done.returncode}: {done.stderr}")
    return False


def outputs_of(work, network, names, *options):
    """Boxes that are told, and the arrays they are told from."""
    files = [f"{work}/{name}.npy" for name in names]
    asked = [part for i, y in enumerate(files) for part in ("--output", f"{i}={y}")]
    return boxes.found_in_all(work, network, *options, *asked), [np.load(y).astype(np.float64) for y in files]


def try_case(case, work):
    end, images, more, opset = CASES[case]
    net, path = make(case, 1 + list(CASES).index(case)), f"{work}/float.onnx"
    net.save_as(path, opset)
    x = np.random.default_rng(5).normal(0, 1, (images, 3, SIDE, SIDE)).astype(np.float32)
    np.save(f"{work}/x.npy", x)
    json.dump(rule_of(end), open(f"{work}/answer.json", "w"))
    rule, names = ["--answer", f"{work}/answer.json"], ["boxes", "scores"] + ["others"] * bool(more)
    wanted = chosen_by_onnxruntime(end, ort.InferenceSession(path).run(None, {"x": x}))
    good = end != "nms" or asks_for_iou(work, path)
    got, in_float = outputs_of(work, path, names, *rule)
    good &= levels.compare_all(f"{case}, in float", got, wanted)
    levels.tool("quantize", path, "--data", f"{work}/x.npy", *rule, "-o", f"{work}/net.morsel", "-o", f"{work}/qdq.onnx")
    levels.tool("convert", f"{work}/qdq.onnx", *rule, "-o", f"{work}/again.morsel")
    found = [o["name"] for o in json.loads(levels.tool("inspect", f"{work}/net.morsel", "--json"))["outputs"]]
    if found != names:
        print(f"FAIL selection {case}: the blob has outputs {found}")
        return False
    got, in_bytes = outputs_of(work, f"{work}/net.morsel", names)
    good &= levels.compare_all(f"{case}, quantized", got, chosen_of_blob(rule_of(end), in_bytes))
    good &= levels.are_near(f"selection {case}", in_bytes[1], in_float[1])
    if got != boxes.found_in_all(work, f"{work}/again.morsel"):
        print(f"FAIL selection {case}: the QDQ file's blob has other boxes")
        good = False
    return good


if __name__ == "__main__":
    levels.try_all("selection", CASES, try_case)
