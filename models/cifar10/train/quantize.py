#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes network.onnx from the float network: static quantization by ONNX Runtime, uint8 activations, int8 weights by channel.

    quantize.py cifar10_mobilenetv2.onnx TRAINING_PICTURES network.onnx

TRAINING_PICTURES holds a folder for each class; 30 pictures of each (the first by name) calibrate, by percentile.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image

PER_CLASS = 30
rule = json.loads((pathlib.Path(__file__).parent.parent / "picture.json").read_text())


def tensor(path):
    """A picture as the network's input, by the picture rule."""
    height, width = rule["resize"]["size"]
    picture = Image.open(path).convert("RGB").resize((width, height), Image.BILINEAR)
    pixels = np.asarray(picture, np.float32) * np.float32(rule["scale"])
    return ((pixels - np.float32(rule["mean"])) / np.float32(rule["std"])).transpose(2, 0, 1)[None]


class Pictures(CalibrationDataReader):
    def __init__(self, folder):
        names = [p for c in sorted(pathlib.Path(folder).iterdir()) if c.is_dir() for p in sorted(c.iterdir())[:PER_CLASS]]
        print(f"{len(names)} pictures")
        self.pictures = iter(names)

    def get_next(self):
        path = next(self.pictures, None)
        return None if path is None else {"input": tensor(path)}


def main():
    source, pictures, target = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        prepared = folder + "/prepared.onnx"
        quant_pre_process(source, prepared)
        quantize_static(prepared, target, Pictures(pictures), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod.Percentile)


if __name__ == "__main__":
    main()
