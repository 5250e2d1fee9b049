# SPDX-License-Identifier: MIT
"""Pixels, points, vectors and classes by answer rules beside what NumPy makes of the same outputs.

    maps.py                  MORSEL is the tool [build/morsel]

models/spots, cut at a map of scores, runs on pictures of several sizes, in float and as a blob. The reference takes the tool's own output, and goes
with each pixel of the picture into the letterbox by itself. Pixels whose two best scores differ by less than rounding may be of either class.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

MORSEL = os.environ.get("MORSEL", "build/morsel").split()
SPOTS = "models/spots"
SIDES = ((96, 72), (33, 57), (200, 40), (32, 32), (31, 400))  # width, height
SIDE = 32                                                     # of the input, a letterbox


def run(*words):
    return subprocess.run([*MORSEL, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def picture(path, width, height, seed):
    """Noise, and a disc of each colour."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 60, (height, width, 3))
    y, x = np.mgrid[:height, :width]
    for c in range(3):
        r = min(width, height) / 4
        pixels[np.hypot(x - random.uniform(0, width), y - random.uniform(0, height)) < r, c] = 240
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height) + pixels.astype(np.uint8).tobytes())


def letterbox(width, height):
    """Sides of the picture in the box, and where it begins."""
    if width > height:
        inner = SIDE, max(1, round(height * SIDE / width))
    else:
        inner = max(1, round(width * SIDE / height)), SIDE
    return inner, tuple((SIDE - n) // 2 for n in inner)


def along(pixels, inner, pad, cells):
    """Of each pixel the two cells about its centre, and how far it is from the first to the second."""
    at = ((np.arange(pixels) + 0.5) * inner / pixels + pad) * cells / SIDE - 0.5
    at = np.clip(at, 0, cells - 1)
    low = np.floor(at).astype(int)
    return low, np.minimum(low + 1, cells - 1), at - low


def classes(scores, width, height):
    """[height, width]: the class, and by how much its score is larger than any other."""
    (inner_x, inner_y), (pad_x, pad_y) = letterbox(width, height)
    x0, x1, fx = along(width, inner_x, pad_x, scores.shape[2])
    y0, y1, fy = along(height, inner_y, pad_y, scores.shape[1])
    fy = fy[:, None]
    rows = scores[:, y0] * (1 - fy) + scores[:, y1] * fy
    mean = rows[:, :, x0] * (1 - fx) + rows[:, :, x1] * fx
    order = np.sort(mean, 0)
    return mean.argmax(0), order[-1] - order[-2]


def points(scores, width, height):
    (inner_x, inner_y), (pad_x, pad_y) = letterbox(width, height)
    for heat in scores:
        y, x = np.unravel_index(heat.argmax(), heat.shape)
        px, py = float(x), float(y)
        if 1 < x < heat.shape[1] - 1 and 1 < y < heat.shape[0] - 1:
            px += 0.25 * np.sign(heat[y, x + 1] - heat[y, x - 1])
            py += 0.25 * np.sign(heat[y + 1, x] - heat[y - 1, x])
        px, py = px * SIDE / heat.shape[1], py * SIDE / heat.shape[0]
        yield (px - pad_x) * width / inner_x, (py - pad_y) * height / inner_y, heat.max()


def made(work, kind, rule, as_blob, node="scores10"):
    """The words that come behind `morsel run`: a blob, or the network in float."""
    json.dump({"kind": kind, **rule}, open(f"{work}/answer.json", "w"))
    if as_blob:
        run("quantize", f"{SPOTS}/network.onnx", "--data", f"{SPOTS}/pictures", "--picture", f"{SPOTS}/picture.json", "--output-node", node,
            "--answer", f"{work}/answer.json", "-o", f"{work}/net.morsel")
        return [f"{work}/net.morsel"]
    run("inspect", f"{SPOTS}/network.onnx", "--output-node", node, "--onnx", f"{work}/cut.onnx")
    return [f"{work}/cut.onnx", "--picture", f"{SPOTS}/picture.json", "--answer", f"{work}/answer.json"]


def answered(words, path, work, *more):
    net, *options = words
    out = json.loads(run("run", net, path, *options, "--output", f"{work}/y.npy", "--json", *more))
    return out["results"][0], np.load(f"{work}/y.npy")[0].astype(np.float64)


def told(name, good, text):
    print(f"{'ok' if good else 'FAIL'} maps {name}: {text}")
    return good


def try_pixels(work, as_blob):
    words, other, unsure, pixels = made(work, "segmentation", {}, as_blob), 0, 0, 0
    for seed, (width, height) in enumerate(SIDES):
        picture(f"{work}/x.ppm", width, height, seed)
        _, scores = answered(words, f"{work}/x.ppm", work, "--mask", f"{work}/mask.npy")
        mask, (want, margin) = np.load(f"{work}/mask.npy"), classes(scores, width, height)
        close = margin < 1e-5 * np.abs(scores).max()
        other += np.count_nonzero((mask != want) & ~close)
        unsure += np.count_nonzero(close)
        pixels += mask.size
    return told("pixels" + " of a blob" * as_blob, not other and unsure < pixels / 100, f"{other} of {pixels} are of another class, {unsure} may be")


def try_points(work, as_blob):
    words, worst, count = made(work, "points", {"head": "heatmaps"}, as_blob), 0, 0
    for seed, (width, height) in enumerate(SIDES):
        picture(f"{work}/x.ppm", width, height, seed)
        result, scores = answered(words, f"{work}/x.ppm", work)
        for have, want in zip(result["points"], points(scores, width, height)):
            worst = max(worst, *(abs(have[k] - v) for k, v in zip("xyp", want)))
            count += 1
    return told("points" + " of a blob" * as_blob, worst < 1e-3 and count == 3 * len(SIDES), f"{count}, within {worst:.1e}")


def try_vectors(work, as_blob):
    words, worst = made(work, "embedding", {"normalize": True}, as_blob), 0
    for seed, (width, height) in enumerate(SIDES):
        picture(f"{work}/x.ppm", width, height, seed)
        result, scores = answered(words, f"{work}/x.ppm", work)
        worst = max(worst, np.abs(np.array(result["vector"]) - scores.reshape(-1) / np.linalg.norm(scores)).max())
    return told("vectors" + " of a blob" * as_blob, 0 < worst < 3e-7, f"within {worst:.1e}")


def try_classes(work, activation):
    """Of the shipped network, whose own output is a softmax."""
    cifar, worst = "models/cifar10", 0
    json.dump({"kind": "classes", "activation": activation, "most": 4}, open(f"{work}/answer.json", "w"))
    run("convert", f"{cifar}/network.onnx", "--picture", f"{cifar}/picture.json", "--answer", f"{work}/answer.json", "-o", f"{work}/net.morsel")
    for name in sorted(os.listdir(f"{cifar}/pictures")):
        result, scores = answered([f"{work}/net.morsel"], f"{cifar}/pictures/{name}", work)
        p = {"none": scores, "sigmoid": 1 / (1 + np.exp(-scores)), "softmax": np.exp(scores) / np.exp(scores).sum()}[activation]
        order = np.argsort(-scores, kind="stable")[:4]
        if [top["index"] for top in result["top"]] != list(order):
            return told(f"classes, {activation}", False, f"{name}: {result['top']}")
        worst = max(worst, *(abs(top["p"] - p[k]) for top, k in zip(result["top"], order)))
    return told(f"classes, {activation}", worst < 3e-7, f"within {worst:.1e}")


def main():
    good = True
    with tempfile.TemporaryDirectory() as work:
        for as_blob in (False, True):
            for attempt in (try_pixels, try_points, try_vectors):
                good &= attempt(work, as_blob)
        for activation in ("none", "sigmoid", "softmax"):
            good &= try_classes(work, activation)
    sys.exit(not good)


if __name__ == "__main__":
    main()
