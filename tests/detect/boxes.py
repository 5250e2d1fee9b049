# SPDX-License-Identifier: MIT
"""Boxes of detectors beside those that NumPy makes of ONNX Runtime's outputs.

    boxes.py [NET...]        MORSEL is the tool [build/morsel], MORSEL_ZOO the folder of `make bench-zoo` [~/.cache/morsel/zoo]

models/spots is always there. nudenet, an YOLOv8, and torchvision's ssdlite, whose outputs want anchors, are tried where `make bench-zoo` has left
them. Each runs in float by the tool and as its own blob; a line for each says how many boxes there are and how far they differ at most. Those of a
blob are compared with what its own outputs give, too: there nothing but the last digits may differ.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

MORSEL = os.environ.get("MORSEL", "build/morsel").split()
ZOO = os.environ.get("MORSEL_ZOO") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "morsel/zoo")


def ssdlite_anchors(side=320):
    """As many as torchvision's, of about their sizes: for a comparison any will do."""
    rows = []
    for k, cells in enumerate((20, 10, 5, 3, 2, 1)):
        size, next_size = ((0.2 + 0.15 * i) * side for i in (k, k + 1))
        shapes = [(size, size), (np.sqrt(size * next_size), ) * 2]
        shapes += [(size * np.sqrt(r), size / np.sqrt(r)) for ratio in (2, 3) for r in (ratio, 1 / ratio)]
        centres = (np.arange(cells) + 0.5) / cells * side
        rows += [(x, y, w, h) for y in centres for x in centres for w, h in shapes]
    return np.array(rows, np.float32)


def cells(side, finest=8, largest=32):
    """Of a YOLOX: the corner of each cell, and its side."""
    rows = []
    while finest <= largest:
        rows += [(x, y, finest, finest) for y in range(0, side // finest * finest, finest) for x in range(0, side // finest * finest, finest)]
        finest *= 2
    return np.array(rows, np.float32)


NETS = {
    "spots": ("models/spots/network.onnx", None, {"kind": "detections", "head": "ssd", "coordinates": "pixels", "background": False,
                                                  "threshold": 0.5, "iou": 0.3}, lambda: np.load("models/spots/anchors.npy")),
    "nudenet-320": ("float.onnx", "own.onnx", {"kind": "detections", "head": "yolov8", "threshold": 0.02, "iou": 0.45}, None),
    "ssdlite320_mobilenet_v3_large-320": ("float.onnx", "own.onnx", {"kind": "detections", "head": "ssd", "activation": "softmax",
                                                                     "coordinates": "pixels", "threshold": 0.02}, ssdlite_anchors),
}


# ---- the reference ----


def candidates(rule, anchors, outputs):
    """[N, 4] corners and [N, classes] probabilities, of one output or of two."""
    outputs = [np.squeeze(o, 0).astype(np.float64) for o in outputs]
    if rule["head"] == "yolox":
        lines = outputs[0]
        centre, size = anchors[:, :2] + lines[:, :2] * anchors[:, 2:], anchors[:, 2:] * np.exp(lines[:, 2:4])
        scores = lines[:, 4:5] * lines[:, 5:]
    elif rule["head"] == "yolov8":
        lines = outputs[0].T
        centre, size, scores = lines[:, :2], lines[:, 2:4], lines[:, 4:]
    else:
        boxes, scores = sorted(outputs, key=lambda o: o.shape[1] != 4)
        centre = anchors[:, :2] + boxes[:, :2] * 0.1 * anchors[:, 2:]
        size = anchors[:, 2:] * np.exp(boxes[:, 2:] * 0.2)
        if rule.get("activation") == "softmax":
            scores = np.exp(scores - scores.max(1, keepdims=True))
            scores /= scores.sum(1, keepdims=True)
        if rule.get("background", True):
            scores[:, 0] = -1
    return np.hstack([centre - size / 2, centre + size / 2]), scores


def overlap(one, others):
    low, high = np.maximum(one[:2], others[:, :2]), np.minimum(one[2:], others[:, 2:])
    both = np.prod(np.maximum(high - low, 0), 1)
    return both / (np.prod(one[2:] - one[:2]) + np.prod(others[:, 2:] - others[:, :2], 1) - both)


def suppressed(rule, boxes, scores):
    """Those that stay of [N, 4] corners and [N, classes] probabilities; what has no extent is no box."""
    classes, p = scores.argmax(1), scores.max(1)
    kept = []
    for i in np.argsort(-p, kind="stable"):
        if p[i] < rule["threshold"] or (boxes[i, 2:] <= boxes[i, :2]).any():
            continue
        same = [k for k in kept if classes[k] == classes[i]]
        if not same or overlap(boxes[i], boxes[same]).max() <= rule.get("iou", 0.45):
            kept.append(i)
    return [(int(classes[i]), float(p[i]), *boxes[i]) for i in kept[:100]]


def detect(rule, anchors, outputs):
    return suppressed(rule, *candidates(rule, anchors, outputs))


# ---- both ----


def found_in_all(work, network, *options):
    got = json.loads(subprocess.run([*MORSEL, "run", network, "--input", f"{work}/x.npy", "--json", *options], check=True,
                                    stdout=subprocess.PIPE).stdout)
    return [[(b["index"], b["p"], b["x0"], b["y0"], b["x1"], b["y1"]) for b in r["boxes"]] for r in got["results"]]


def found(work, network, *options):
    return found_in_all(work, network, *options)[0]


def compare(name, got, wanted, of_p, of_pixels):
    """Boxes pair up by class and place, whatever their order: equal to the last digit but one, two may change places."""
    left, worst = list(wanted), (0, 0)
    for box in got:
        near = [w for w in left if w[0] == box[0] and abs(w[1] - box[1]) <= of_p and np.abs(np.subtract(w[2:], box[2:])).max() <= of_pixels]
        if not near:
            print(f"FAIL detect {name}: {box} is not there; there are {left[:3]} ..")
            return False
        left.remove(near[0])
        worst = max(worst[0], abs(near[0][1] - box[1])), max(worst[1], np.abs(np.subtract(near[0][2:], box[2:])).max())
    if left or not wanted:
        print(f"FAIL detect {name}: {len(got)} boxes, and {len(wanted)} in the reference")
        return False
    print(f"ok detect {name}: {len(got)} boxes, p within {worst[0]:.1e}, pixels within {worst[1]:.1e}")
    return True


def picture(side):
    """A part of the spots, or an astronaut: something that each network finds."""
    if side == 32:
        whole = read_ppm("models/spots/pictures/spots.ppm")[20:52, 10:42]
    else:
        import skimage
        whole = skimage.data.astronaut()
    at = np.arange(side) * len(whole) // side
    return (whole[at][:, at].transpose(2, 0, 1)[None] / 255).astype(np.float32)


def read_ppm(path):
    data = open(path, "rb").read()
    head = data.split(None, 4)
    width, height = int(head[1]), int(head[2])
    return np.frombuffer(data[-width * height * 3:], np.uint8).reshape(height, width, 3)


def try_net(name, work):
    import onnxruntime
    path, quantized, rule, make_anchors = NETS[name]
    folder = os.path.join(ZOO, name) if quantized else ""
    path, quantized = os.path.join(folder, path), quantized and os.path.join(folder, quantized)
    if not os.path.exists(path):
        print(f"skip detect {name}: {path} is not there; make bench-zoo leaves it")
        return True
    anchors = make_anchors() if make_anchors else None
    if anchors is not None:
        np.save(f"{work}/anchors.npy", anchors)
        rule = dict(rule, anchors="anchors.npy")
    json.dump(rule, open(f"{work}/answer.json", "w"))
    session = onnxruntime.InferenceSession(path)
    entry = session.get_inputs()[0]
    x = picture(entry.shape[2])
    np.save(f"{work}/x.npy", x)
    wanted = detect(rule, anchors, session.run(None, {entry.name: x}))
    good = compare(f"{name} in float", found(work, path, "--answer", f"{work}/answer.json"), wanted, 1e-4, 0.02)
    blob = f"{work}/net.morsel"
    make = ["convert", quantized] if quantized else ["quantize", path, "--data", f"{work}/x.npy"]
    subprocess.run([*MORSEL, *make, "--answer", f"{work}/answer.json", "-o", blob], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    outputs = [f"{work}/y{i}.npy" for i in range(len(session.get_outputs()))]
    options = [part for i, o in enumerate(outputs) for part in ("--output", f"{i}={o}")]
    return compare(f"{name} as a blob", found(work, blob, *options), detect(rule, anchors, [np.load(o) for o in outputs]), 2e-6, 2e-3) and good


def main():
    good = True
    for name in sys.argv[1:] or NETS:
        with tempfile.TemporaryDirectory() as work:
            good &= try_net(name, work)
    sys.exit(not good)


if __name__ == "__main__":
    main()
