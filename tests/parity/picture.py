#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""morsel_picture() beside Pillow, OpenCV and NumPy, on random pictures of random sizes and on real ones.

    picture.py [--cases N] [--seed N] [--cc CC] [PICTURE...]
    picture.py --golden          prints the rows of tests/unit/core/test_picture.c

Compiles the library in plain C into a shared object (in a temporary folder), hands it a rule in a blob that holds nothing else, and compares
every value of the input with the reference: convert("L"), Image.resize(BILINEAR or NEAREST), cv2.resize(INTER_LINEAR), the size and crop rules
of torchvision and the letterbox of YOLO's tools in a few lines of Python, (pixel * scale - mean) / std in float32, ONNX QuantizeLinear. More than one step of difference fails; how many differ at all is
printed. Exit status 1 on a failure.
"""
import argparse
import ctypes as c
import glob
import os
import random
import struct
import subprocess
import sys
import tempfile

import cv2
import numpy as np
from PIL import Image

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
NONE, EXACT, SHORT_SIDE, LETTERBOX = 0, 1, 2, 3
ANTIALIAS, LINEAR, NEAREST = 0, 1, 2
RGB, BGR, GRAY = 0, 1, 2
UINT8, INT8, FLOAT32 = 0, 1, 3
ROW_MAJOR, CHANNELS_LAST = 0, 1


class Model(c.Structure):
    _fields_ = [("blob", c.c_void_p), ("blob_bytes", c.c_uint32), ("opened", c.c_uint32), ("error_part", c.c_uint32),
                ("error_index", c.c_uint32)]


class View(c.Structure):
    _fields_ = [("data", c.c_void_p), ("bytes", c.c_uint32), ("type", c.c_uint32), ("layout", c.c_uint32), ("rank", c.c_uint32),
                ("dims", c.c_uint32 * 6), ("scale", c.c_float), ("zero_point", c.c_int32), ("name", c.c_char_p),
                ("onnx_type", c.c_uint32), ("onnx_rank", c.c_uint32), ("onnx_dims", c.c_uint32 * 6), ("sign_flip", c.c_uint32)]


# Where the header has the rule's place, how long header and rule are, and what marks a model as open: as this tree's headers say.
LAYOUT = """#include "core/blob.h"
#include <stddef.h>
const uint32_t layout[4] = {offsetof(struct morsel_blob_header, picture), sizeof(struct morsel_blob_header),
                            sizeof(struct morsel_blob_picture), MORSEL_OPENED};
"""


def build(cc, folder):
    sources = sorted(glob.glob(ROOT + "/core/*.c") + glob.glob(ROOT + "/kernels/*.c")) + [os.path.join(folder, "layout.c")]
    with open(sources[-1], "w", encoding="utf-8") as f:
        f.write(LAYOUT)
    path = os.path.join(folder, "picture.so")
    subprocess.run([cc, "-std=c11", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-DMORSEL_PLAIN_C", "-I" + ROOT,
                    "-o", path] + sources, check=True)
    lib = c.CDLL(path)
    lib.place, lib.header_bytes, lib.rule_bytes, lib.opened_mark = (c.c_uint32 * 4).in_dll(lib, "layout")
    lib.morsel_picture_bytes.restype = c.c_size_t
    lib.morsel_picture_bytes.argtypes = [c.c_void_p, c.c_uint32, c.c_uint32]
    lib.morsel_picture.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t, c.c_uint32, c.c_uint32, c.c_size_t, c.c_void_p,
                                   c.c_size_t, c.c_void_p, c.c_uint32]
    return lib


def word(rule):
    """The field `resize`: mode, filter, place and fill."""
    fill = rule["fill"]
    return rule["resize"] | rule["filter"] << 4 | rule["corner"] << 7 | fill[0] << 8 | fill[1] << 16 | fill[2] << 24


def blob(lib, rule):
    """A header whose one section is the rule (struct morsel_blob_header, struct morsel_blob_picture), and the rule."""
    record = struct.pack("<7If3f3f", 0, word(rule), *rule["resize_size"], *rule["crop"], rule["channels"], rule["scale"],
                         *rule["mean"], *rule["std"])
    assert len(record) == lib.rule_bytes
    head = bytearray(lib.header_bytes)
    struct.pack_into("<II", head, lib.place, lib.header_bytes, 1)
    return bytes(head) + record


def resized(rule, width, height):
    if rule["resize"] == EXACT:
        return rule["resize_size"][1], rule["resize_size"][0]
    if rule["resize"] == SHORT_SIDE:
        size = rule["resize_size"][0]
        short, long = min(width, height), max(width, height)
        return (size, int(size * long / short)) if width <= height else (int(size * long / short), size)
    if rule["resize"] == LETTERBOX:
        most = min(rule["resize_size"][0] / height, rule["resize_size"][1] / width)
        return max(round(width * most), 1), max(round(height * most), 1)
    return width, height


def boxed(pixels, rule):
    """A letterbox as YOLO's tools make it: the smaller half of what is left in front."""
    height, width = rule["resize_size"]
    down, across = height - pixels.shape[0], width - pixels.shape[1]
    top, left = (0, 0) if rule["corner"] else (down // 2, across // 2)
    out = np.empty((height, width, pixels.shape[2]), np.uint8)
    out[:] = rule["fill"][:pixels.shape[2]]
    out[top:top + pixels.shape[0], left:left + pixels.shape[1]] = pixels
    return out


def resize(image, rule):
    size = resized(rule, image.width, image.height)
    if rule["filter"] == LINEAR:
        return cv2.resize(np.asarray(image), size, interpolation=cv2.INTER_LINEAR).reshape(size[1], size[0], -1)
    if rule["filter"] == NEAREST:
        return nearest(image, size)
    return np.asarray(image.resize(size, Image.Resampling.BILINEAR)).reshape(size[1], size[0], -1)


def nearest(image, size):
    """Pillow's NEAREST. Where a centre lies on the edge of two pixels, its sums of doubles decide: there the second is taken."""
    index = [(2 * np.arange(n) + 1) * old // (2 * n) for n, old in zip(size, image.size)]
    edge = [(2 * np.arange(n) + 1) * old % (2 * n) == 0 for n, old in zip(size, image.size)]
    exact = np.asarray(image).reshape(image.height, image.width, -1)[index[1]][:, index[0]]
    pillow = np.asarray(image.resize(size, Image.Resampling.NEAREST)).reshape(exact.shape)
    if (exact != pillow)[~edge[1]][:, ~edge[0]].any():
        raise SystemExit(f"nearest: Pillow takes other pixels from {image.size} to {size}")
    return exact


def crop(pixels, height, width):
    """torchvision's center_crop on an array."""
    h, w = pixels.shape[:2]
    if height > h or width > w:
        dh, dw = max(height - h, 0), max(width - w, 0)
        pixels = np.pad(pixels, ((dh // 2, (dh + 1) // 2), (dw // 2, (dw + 1) // 2), (0, 0)))
        h, w = pixels.shape[:2]
    top, left = int(round((h - height) / 2.0)), int(round((w - width) / 2.0))
    return pixels[top:top + height, left:left + width]


def reference(picture, rule):
    """The float32 values, [H, W, C]."""
    image = Image.fromarray(picture)
    if rule["channels"] == GRAY:
        image = image.convert("L")
    pixels = resize(image, rule)
    if rule["crop"][0]:
        pixels = crop(pixels, *rule["crop"])
    if rule["channels"] == BGR:
        pixels = pixels[:, :, ::-1]
    if rule["resize"] == LETTERBOX:
        pixels = boxed(pixels, rule)
    n = pixels.shape[2]
    return (pixels.astype(np.float32) * np.float32(rule["scale"]) - np.float32(rule["mean"][:n])) / np.float32(rule["std"][:n])


def quantized(values, kind, scale, zero):
    if kind == FLOAT32:
        return values
    low = -128 if kind == INT8 else 0
    return np.clip(np.rint(values / np.float32(scale)) + zero, low, low + 255).astype(np.int8 if kind == INT8 else np.uint8)


def ours(lib, picture, rule, kind, layout, rank, scale, zero, shape):
    height, width = picture.shape[:2]
    data = np.frombuffer(blob(lib, rule), np.uint8)
    memory = np.zeros(data.size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    memory[start:start + data.size] = data
    model = Model(memory.ctypes.data + start, data.size, lib.opened_mark)
    h, w, n = shape
    dims = [2, h, w, n] if layout == CHANNELS_LAST else [2, n, h, w]
    dims = dims if rank == 4 else dims[1:]
    dtype = {UINT8: np.uint8, INT8: np.int8, FLOAT32: np.float32}[kind]
    out = np.zeros(dims, dtype)
    view = View(out.ctypes.data, out.nbytes, kind, layout, rank, (c.c_uint32 * 6)(*dims), scale, zero)
    scratch = np.zeros(lib.morsel_picture_bytes(c.byref(model), width, height), np.uint8)
    error = lib.morsel_picture(c.byref(model), picture.ctypes.data, picture.nbytes, width, height, 3 * width, scratch.ctypes.data,
                               scratch.nbytes, c.byref(view), 1 if rank == 4 else 0)
    if error:
        raise SystemExit(f"morsel_picture: error {error} for {width}x{height} and {rule}")
    image = out[1] if rank == 4 else out
    return image if layout == CHANNELS_LAST else image.transpose(1, 2, 0)


def random_size(rng):
    pick = rng.random()
    if pick < 0.1:
        return rng.choice([1, 2, 3]), rng.choice([1, 2, 5, 700, 4000])
    if pick < 0.6:
        return rng.randint(1, 80), rng.randint(1, 80)
    return rng.randint(1, 900), rng.randint(1, 900)


def random_rule(rng):
    mode = rng.choice([NONE, EXACT, EXACT, SHORT_SIDE, SHORT_SIDE, LETTERBOX, LETTERBOX])
    size = (rng.randint(1, 260), rng.randint(1, 260))
    if mode == SHORT_SIDE:
        size = (size[0], size[0])
    crop_size = (rng.randint(1, 260), rng.randint(1, 260)) if rng.random() < 0.6 and mode != LETTERBOX else (0, 0)
    fill = tuple(rng.randint(0, 255) for _ in range(3)) if mode == LETTERBOX else (0, 0, 0)
    scale, mean, std = rng.choice([(1 / 255, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), (1.0, (0, 0, 0), (1, 1, 1)),
                                   (1.0, (127.5, 127.5, 127.5), (127.5, 127.5, 127.5))])
    return {"resize": mode, "filter": rng.choice([ANTIALIAS, LINEAR, NEAREST]) if mode != NONE else ANTIALIAS, "fill": fill,
            "corner": rng.randint(0, 1) if mode == LETTERBOX else 0, "resize_size": size, "crop": crop_size, "channels": rng.choice([RGB, RGB, BGR, GRAY]),
            "scale": scale, "mean": mean, "std": std}


def random_pixels(rng, width, height):
    noise = np.random.default_rng(rng.getrandbits(32))
    kind = rng.random()
    if kind < 0.5:
        return noise.integers(0, 256, (height, width, 3), np.uint8)
    if kind < 0.7:
        return noise.choice(np.array([0, 255], np.uint8), (height, width, 3))
    ramp = np.add.outer(np.arange(height) * 255 / max(height - 1, 1), np.arange(width) * 255 / max(width - 1, 1)) / 2
    return np.ascontiguousarray(np.stack([ramp, 255 - ramp, ramp[::-1]], 2).astype(np.uint8))


def compare(lib, rng, picture, rule, totals):
    expected = reference(picture, rule)
    linear = rule["filter"] == LINEAR  # OpenCV's own sums differ by a pixel value, which may be more than a step
    kind = FLOAT32 if linear else rng.choice([UINT8, INT8, FLOAT32])
    top = float(np.abs(expected).max()) or 1.0
    scale = float(np.float32(top * rng.choice([2, 1.5, 0.5]) / 255)) if rng.random() < 0.8 else float(np.float32(1.0))
    zero = rng.randint(0, 255) - (128 if kind == INT8 else 0)
    got = ours(lib, picture, rule, kind, rng.choice([ROW_MAJOR, CHANNELS_LAST]), rng.choice([3, 4]), scale, zero, expected.shape)
    want = quantized(expected, kind, scale, zero)
    if kind == FLOAT32:  # in steps of one pixel value
        step = rule["scale"] / np.float32(rule["std"][:expected.shape[2]])
        difference = np.abs(got - want) / step
    else:
        difference = np.abs(got.astype(np.int32) - want.astype(np.int32))
    if difference.max() > 1.0001:
        print("FAIL", picture.shape, rule, difference.max())
    totals["linear" if linear else "values"] += want.size
    totals["opencv" if linear else "differ"] += int(np.count_nonzero(got != want))
    totals["worst"] = max(totals["worst"], float(difference.max()))


def run(lib, rng, options, totals):
    for _ in range(options.cases):
        width, height = random_size(rng)
        rule = random_rule(rng)
        w, h = resized(rule, width, height)
        if 1 <= w <= 20000 and 1 <= h <= 20000:
            compare(lib, rng, random_pixels(rng, width, height), rule, totals)
            totals["random"] += 1
    for path in options.pictures:
        picture = np.array(Image.open(path).convert("RGB"))
        for rule in [random_rule(rng) for _ in range(20)]:
            compare(lib, rng, picture, rule, totals)
        totals["real"] += 1


GOLDEN = [  # width, height, resize, (height, width), crop, channels
    (1, 1, EXACT, (1, 1), (0, 0), RGB), (1, 1, EXACT, (5, 3), (0, 0), RGB), (7, 5, NONE, (0, 0), (0, 0), RGB),
    (7, 5, NONE, (0, 0), (0, 0), GRAY), (8, 8, EXACT, (4, 4), (0, 0), RGB), (31, 17, EXACT, (17, 9), (0, 0), RGB),
    (31, 17, EXACT, (9, 31), (0, 0), BGR), (31, 17, EXACT, (13, 11), (0, 0), GRAY), (13, 29, EXACT, (41, 37), (0, 0), RGB),
    (20, 30, EXACT, (7, 19), (0, 0), RGB), (20, 30, EXACT, (7, 19), (5, 6), GRAY), (20, 30, EXACT, (9, 24), (4, 4), BGR),
    (1, 4000, EXACT, (32, 32), (0, 0), RGB), (4000, 1, EXACT, (32, 32), (0, 0), RGB), (1, 4000, SHORT_SIDE, (32, 32), (32, 32), RGB),
    (4000, 2, SHORT_SIDE, (16, 16), (16, 16), GRAY), (97, 61, SHORT_SIDE, (33, 33), (24, 24), RGB),
    (61, 97, SHORT_SIDE, (33, 33), (24, 25), RGB), (61, 97, SHORT_SIDE, (33, 33), (25, 24), BGR),
    (10, 6, NONE, (0, 0), (9, 15), RGB), (10, 6, SHORT_SIDE, (4, 4), (7, 3), GRAY), (10, 6, EXACT, (3, 3), (8, 8), BGR),
    (640, 480, SHORT_SIDE, (36, 36), (32, 32), RGB),
    (31, 17, EXACT, (17, 9), (0, 0), RGB, NEAREST), (13, 29, EXACT, (41, 37), (0, 0), RGB, NEAREST), (20, 30, EXACT, (7, 20), (5, 6), GRAY, NEAREST),
    (640, 480, SHORT_SIDE, (36, 36), (32, 32), RGB, NEAREST), (61, 97, LETTERBOX, (40, 50), (0, 0), BGR, ANTIALIAS, 0, (1, 2, 3)),
    (97, 61, LETTERBOX, (40, 50), (0, 0), GRAY, NEAREST, 1, (114, 0, 0)), (640, 480, LETTERBOX, (32, 64), (0, 0), RGB, ANTIALIAS, 1, (114, 114, 114)),
    (3, 300, LETTERBOX, (64, 64), (0, 0), RGB, ANTIALIAS, 0, (9, 8, 7))]
SAMPLES = [  # of INTER_LINEAR, which others' sums may differ from by one: width, height, to height, width
    (5, 4, 3, 3), (7, 3, 5, 4), (3, 3, 5, 7)]


def golden_pixels(width, height):
    state, values = 1, bytearray()
    for _ in range(width * height * 3):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append(state >> 24)
    return np.frombuffer(bytes(values), np.uint8).reshape(height, width, 3)


def print_golden():
    resizes, orders = ["NONE", "EXACT", "SHORT_SIDE", "LETTERBOX"], ["RGB", "BGR", "GRAY"]
    for width, height, mode, size, crop_size, channels, *more in GOLDEN:
        how, corner, fill = (more + [ANTIALIAS, 0, (0, 0, 0)][len(more):])
        rule = {"resize": mode, "resize_size": size, "crop": crop_size, "channels": channels, "filter": how, "corner": corner, "fill": fill,
                "scale": 1, "mean": (0, 0, 0), "std": (1, 1, 1)}
        values = reference(golden_pixels(width, height), rule).astype(np.uint8)
        mark = 2166136261
        for byte in values.tobytes():
            mark = ((mark ^ byte) * 16777619) & 0xFFFFFFFF
        extra = "" if word(rule) < LETTERBOX else f" | 0x{word(rule) & ~15:x}"
        print("    {{{}, {}, {{0, MORSEL_RESIZE_{}{}, {}, {}, {}, {}, MORSEL_CHANNELS_{}, PLAIN}}, {}, {}, 0x{:08x}}},".format(
            width, height, resizes[mode], extra, *size, *crop_size, orders[channels], *values.shape[:2], mark))
    for width, height, to_height, to_width in SAMPLES:
        values = cv2.resize(golden_pixels(width, height), (to_width, to_height), interpolation=cv2.INTER_LINEAR)
        print("    {{{}, {}, {}, {}, {{{}}}}},".format(width, height, to_height, to_width, ", ".join(map(str, values.ravel()))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("pictures", nargs="*")
    options = parser.parse_args()
    if options.golden:
        print_golden()
        return 0
    if not options.pictures:
        options.pictures = sorted(glob.glob(ROOT + "/models/*/pictures/*.*") + glob.glob(ROOT + "/../shared/data/*.jpg"))
    totals = {"random": 0, "real": 0, "values": 0, "differ": 0, "linear": 0, "opencv": 0, "worst": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        lib = build(options.cc, folder)
        run(lib, random.Random(options.seed), options, totals)
    good = totals["values"] > 0 and totals["linear"] > 0 and totals["worst"] <= 1.0001
    print("{} picture: {random} random and {real} real pictures, {values} values, {differ} differ from Pillow; "
          "of {linear} of INTER_LINEAR {opencv} from OpenCV; worst by {worst:g} steps"
          .format("ok" if good else "FAIL", **totals))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
