#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make device-answers: what ONNX Runtime answers to the shipped pictures with the shipped network, for tests/device/golden.c.

    record.py OUT.inc

Morsel has no part in it. A line a picture, in the order of their names: the ten scores as floats in hexadecimal.
"""
import glob
import json
import os
import sys

import numpy as np
import onnxruntime

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "cifar10")


def values_of(picture, rule):
    """As PyTorch's ToTensor and Normalize compute them."""
    with open(picture, "rb") as f:
        pixels = np.frombuffer(f.read()[-32 * 32 * 3:], np.uint8).reshape(32, 32, 3).astype(np.float32)
    values = (pixels * np.float32(rule["scale"]) - np.array(rule["mean"], np.float32)) / np.array(rule["std"], np.float32)
    return values.transpose(2, 0, 1)[None]


def main():
    with open(os.path.join(MODEL, "picture.json")) as f:
        rule = json.load(f)
    exact = onnxruntime.SessionOptions()
    exact.add_session_config_entry("session.x64quantprecision", "1")  # no sums that saturate where the CPU has no VNNI
    session = onnxruntime.InferenceSession(os.path.join(MODEL, "network.onnx"), exact, providers=["CPUExecutionProvider"])
    with open(sys.argv[1], "w") as out:
        for picture in sorted(glob.glob(os.path.join(MODEL, "pictures", "*.ppm"))):
            scores = session.run(None, {"input": values_of(picture, rule)})[0][0]
            out.write("{" + ", ".join(float(v).hex().replace("0000000p", "p") + "f" for v in scores) + "},\n")


if __name__ == "__main__":
    main()
