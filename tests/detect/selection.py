#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boxes of detectors that sort them out by themselves, by TopK or NonMaxSuppression, beside those that ONNX Runtime's kernels choose.

    selection.py [CASE...]      MORSEL is the tool [build/morsel]

Each case is a head on a small random network, with an end as an exporter writes it. The tool leaves that end out and goes by the answer rule: in
float, as a blob, and as a blob of the QDQ file. Classes are a softmax and the threshold is one half, so that a candidate has one class.
"""
import json
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

import boxes
import levels

SIDE, CELL, CLASSES, IOU, THRESHOLD, MOST = 64, 8, 5, 0.45, 0.5, 20

# Head of the rule, what the network ends with, images, numbers more of a candidate, opset.
CASES = {
    "yolov10": ("yolov10", "topk", 1, 0, 13),
    "yolov10 of opset 11": ("yolov10", "topk", 1, 0, 11),
    "yolov10 with a batch": ("yolov10", "topk", 2, 0, 18),
    "yolov10 with masks": ("yolov10", "topk", 1, 7, 13),
    "boxes and scores to suppress": ("ssd", "nms", 1, 0, 13),
    "boxes and scores to suppress, turned": ("ssd", "nms turned", 1, 0, 17),
    "corners to suppress, with masks": ("yolov10", "nms", 1, 5, 13),
    "centres to suppress": ("yolov8", "nms of centres", 1, 0, 13),
    "centres and points to suppress": ("yolov8", "nms of centres", 1, 6, 13),
    "centres by a matrix": ("yolov7", "nms by a matrix", 1, 0, 13),
    "centres and points": ("yolov8", "nothing", 1, 6, 13),
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


def end_by_suppression(net, boxes_of, scores, opset, others=None, **attributes):
    """Boxes [1, n, 4] and scores [1, classes, n] become boxes, scores and classes of those that stay."""
    limits = [net.constant(np.array([value], kind)) for value, kind in ((100, np.int64), (IOU, np.float32), (THRESHOLD, np.float32))]
    chosen = net.node("NonMaxSuppression", boxes_of, scores, *limits, **attributes)
    index, at = (net.squeezed("Squeeze", net.node("Gather", chosen, net.ints(k), axis=1), 1, opset) for k in (1, 2))
    boxes_of = net.squeezed("Squeeze", boxes_of, 0, opset)
    net.output(net.node("Gather", boxes_of, at, axis=0, name="kept_boxes"))
    net.output(net.node("GatherND", scores, chosen, name="kept_scores"))
    net.output(net.node("Cast", index, to=TensorProto.FLOAT, name="kept_classes"))
    if others:
        others = net.node("Transpose", others, perm=[0, 2, 1])
        net.output(net.node("Gather", net.squeezed("Squeeze", others, 0, opset), at, axis=0, name="kept_others"))


def make(case, seed):
    head, end, images, more, opset = CASES[case]
    net = Net(images, SIDE, SIDE, seed)
    parts = centre, size, scores, others = candidates(net, images, more)
    if end == "topk":
        end_by_topk(net, parts, images, more, opset)
    elif end in ("nms", "nms turned"):
        boxes_of = net.node("Transpose", corners(net, centre, size, 1), perm=[0, 2, 1])
        if end == "nms":  # scores were lines, too, and a box is told after them
            scores = net.node("Transpose", scores, perm=[0, 2, 1])
            scores = net.node("Transpose", scores, perm=[0, 2, 1])
        end_by_suppression(net, boxes_of, scores, opset, others=others)
    elif end == "nms by a matrix":
        lines = net.node("Concat", centre, size, net.node("Sigmoid", net.part(centre, 0, 1, 1)), scores, axis=1)
        lines = net.node("Transpose", lines, perm=[0, 2, 1])
        turn = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5]], np.float32)
        scores = net.node("Mul", net.part(lines, 5, 5 + CLASSES, 2), net.part(lines, 4, 5, 2))
        scores = net.node("Transpose", scores, perm=[0, 2, 1])
        end_by_suppression(net, net.node("MatMul", net.part(lines, 0, 4, 2), net.constant(turn)), scores, opset)
    else:
        lines = net.node("Concat", centre, size, scores, *([others] if more else []), axis=1, name="output0" if end == "nothing" else None)
        if end == "nothing":
            net.output(lines)
        else:
            lines = net.node("Transpose", lines, perm=[0, 2, 1])
            scores = net.node("Transpose", net.part(lines, 4, 4 + CLASSES, 2), perm=[0, 2, 1])
            end_by_suppression(net, net.part(lines, 0, 4, 2), scores, opset, center_point_box=1)
    return net


# ---- the reference ----


def centred(box):
    return [box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2]


def chosen_by_onnxruntime(case, outputs):
    """(class, p, x0, y0, x1, y1) of each image."""
    head, end, images, more, opset = CASES[case]
    if end == "topk":
        return [[(int(r[5]), r[4], *r[:4]) for r in image if r[4] >= THRESHOLD] for image in outputs[0]]
    if end == "nothing":
        lines = outputs[0][0].T.astype(np.float64)
        whole = np.array([centred(line) for line in lines])
        return [boxes.suppressed({"threshold": THRESHOLD, "iou": IOU}, whole, lines[:, 4:4 + CLASSES])]
    told = [centred(b) for b in outputs[0]] if end == "nms of centres" else outputs[0]
    return [[(int(c), p, *b) for b, p, c in zip(told, *outputs[1:3])]]


def chosen_of_blob(rule, outputs):
    """Of what is left of the network, in 8 bits."""
    head, rule = rule["head"], {"threshold": THRESHOLD, "iou": rule.get("iou", 1), "most": rule["most"]}
    outputs = [x.transpose(0, 2, 1) if x.shape[1] < x.shape[2] else x for x in outputs]
    if len(outputs) == 1 and head == "yolov7":
        return [boxes.suppressed(rule, np.array([centred(line) for line in x]), x[:, 4:5] * x[:, 5:]) for x in outputs[0]]
    if len(outputs) == 1:
        outputs = np.split(outputs[0], [4], axis=2)
    told = [np.array([centred(b) for b in image]) if head == "yolov8" else image for image in outputs[0]]
    return [boxes.suppressed(rule, b, p)[:rule["most"]] for b, p in zip(told, outputs[1])]


# ---- both ----


def wrong_rules(head, end):
    """What else a rule may say, and why it would be wrong."""
    if head in ("yolov10", "ssd"):
        yield {"head": "yolov8", "background": False}, "the network sorts out corners by TopK" if end == "topk" else "head yolov8 wants"
    elif end == "nms of centres":
        yield {"head": "yolov10"}, "the network suppresses those of centre and size"
    if end != "topk" and head in ("yolov10", "ssd"):
        yield {"iou": 1}, "which is left to the rule"


def refused(work, path, rule, why):
    json.dump(rule, open(f"{work}/wrong.json", "w"))
    done = subprocess.run([*boxes.MORSEL, "run", path, "--input", f"{work}/x.npy", "--answer", f"{work}/wrong.json"], capture_output=True, text=True)
    if done.returncode == 1 and why in done.stderr:
        return True
    print(f"FAIL selection: {rule} ended with {done.returncode}: {done.stderr}")
    return False


def try_case(case, work):
    head, end, images, more, opset = CASES[case]
    net, path = make(case, 1 + list(CASES).index(case)), f"{work}/float.onnx"
    net.save_as(path, opset)
    x = np.random.default_rng(5).normal(0, 1, (images, 3, SIDE, SIDE)).astype(np.float32)
    np.save(f"{work}/x.npy", x)
    rule = {"kind": "detections", "head": head, "threshold": THRESHOLD, "most": MOST if end == "topk" else 100}
    if end != "topk":
        rule["iou"] = IOU
    if head == "ssd":
        rule.update(coordinates="pixels", background=False)
    if more and head == "yolov8":
        rule["classes"] = CLASSES
    good = end == "nothing" or all(refused(work, path, {**rule, **other}, why) for other, why in wrong_rules(head, end))
    json.dump(rule, open(f"{work}/answer.json", "w"))
    told, rule = rule, ["--answer", f"{work}/answer.json"]
    wanted = chosen_by_onnxruntime(case, ort.InferenceSession(path).run(None, {"x": x}))
    good &= levels.compare_all(f"{case}, in float", boxes.found_in_all(work, path, *rule), wanted)
    levels.tool("quantize", path, "--data", f"{work}/x.npy", *rule, "-o", f"{work}/net.morsel", "-o", f"{work}/qdq.onnx")
    levels.tool("convert", f"{work}/qdq.onnx", *rule, "-o", f"{work}/again.morsel")
    names = [o["name"] for o in json.loads(levels.tool("inspect", f"{work}/net.morsel", "--json"))["outputs"]]
    apart = head in ("yolov10", "ssd") or more
    if names != (["boxes", "scores"] + ["others"] * bool(more) if apart else ["candidates"]):
        print(f"FAIL selection {case}: the blob has outputs {names}")
        return False
    files = [f"{work}/{name}.npy" for name in names]
    asked = [part for i, y in enumerate(files) for part in ("--output", f"{i}={y}")]
    got = boxes.found_in_all(work, f"{work}/net.morsel", *asked)
    good &= levels.compare_all(f"{case}, quantized", got, chosen_of_blob(told, [np.load(y).astype(np.float64) for y in files]))
    in_float = [name.replace(".npy", ".float.npy") for name in files]
    boxes.found_in_all(work, path, *rule, *[part for i, y in enumerate(in_float) for part in ("--output", f"{i}={y}")])
    aside = [np.sqrt(np.mean((np.load(a) - np.load(b)) ** 2)) for a, b in zip(files, in_float)]
    if apart and aside[1] > levels.SCORES_ASIDE:
        print(f"FAIL selection {case}: scores of the blob are {aside[1]:.4f} from float on average: they share a scale with others")
        good = False
    if got != boxes.found_in_all(work, f"{work}/again.morsel"):
        print(f"FAIL selection {case}: the QDQ file's blob has other boxes")
        good = False
    return good


def main():
    good = True
    for case in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as work:
            good &= try_case(case, work)
    print(f"selection: {'passed' if good else 'FAILED'}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
