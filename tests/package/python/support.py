# SPDX-License-Identifier: MIT
"""What the tests of the package share: the repository's files, and networks that are converted once."""
import functools
import glob
import os
import platform

import morsel
import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SHIPPED = os.path.join(ROOT, "models/cifar10/network.morsel")
PICTURES = sorted(glob.glob(os.path.join(ROOT, "models/cifar10/pictures/*.ppm")))


def at(path):
    return os.path.join(ROOT, path)


def case(name):
    """Of tests/golden: the blob, the inputs and the recorded outputs."""
    folder = at("tests/golden/cases/" + name)

    def tensors(kind):
        count = len(glob.glob(f"{folder}/{kind}*.npy"))
        return [np.load(f"{folder}/{kind}{i}.npy") for i in range(count)]

    return blob(f"{folder}/net.onnx"), tensors("in"), tensors("out")


@functools.lru_cache(maxsize=None)
def blob(path):
    return morsel.convert(path)


def cases():
    return sorted(os.listdir(at("tests/golden/cases")))


def products_saturate():
    """Whether this CPU is one where ONNX Runtime adds two products of uint8 and int8 in 16 bits: x86 without VNNI."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    with open("/proc/cpuinfo") as file:
        return not any("vnni" in line for line in file if line.startswith("flags"))


def pixels(path):
    """A PPM without comments."""
    with open(path, "rb") as file:
        kind, width, height, most, data = file.read().split(maxsplit=4)
    assert kind == b"P6" and most == b"255"
    # split() takes what looks like space off the pixels' front: they are counted from the end.
    size = int(width) * int(height) * 3
    with open(path, "rb") as file:
        data = file.read()[-size:]
    return np.frombuffer(data, np.uint8).reshape(int(height), int(width), 3)
