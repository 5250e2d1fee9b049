#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make parity: the ranges that morsel quantize finds beside those of ONNX Runtime's calibrators, over the same samples.

    ranges.py [--verbose]                               MORSEL is the tool, build/morsel where it is not set

Extremes and their averages have to be the same but for the rounding of sums. Percentiles, of magnitudes as ONNX Runtime takes them, may lie
a bin or two of its histogram aside. The threshold of least divergence stands in a flat valley and is found in other bins, so that it may be
some per cent aside; and where many numbers are exactly 0 (behind a ReLU) there is no comparing: ONNX Runtime lets those outweigh all
others, Morsel leaves them out, as any scale keeps them. Exit status 1 where anything failed.
"""
import contextlib
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader
from onnxruntime.quantization.calibrate import CalibrationMethod, create_calibrator

import float_nets

MORSEL = os.environ.get("MORSEL", "build/morsel").split()
SAMPLES, BINS = 64, 2048
HISTOGRAM = {"num_bins": BINS}
METHODS = {  # of ONNX Runtime, and how far a range may be aside
    "minmax": (CalibrationMethod.MinMax, {}, 1e-5),
    "average": (CalibrationMethod.MinMax, {"moving_average": True}, 1e-5),
    "percentile": (CalibrationMethod.Percentile, HISTOGRAM | {"percentile": 99.9}, 3 / BINS),
    "entropy": (CalibrationMethod.Entropy, HISTOGRAM | {"num_quantized_bins": 256}, 0.1),
}


class Samples(CalibrationDataReader):
    def __init__(self, array):
        self.rest = iter(array)

    def get_next(self):
        sample = next(self.rest, None)
        return None if sample is None else {"input": sample[None]}


def make_net():
    """Values of either sign, above 0 alone, and bounded ones; small enough that no histogram leaves numbers out."""
    net = float_nets.Layers(False, 3)
    x = net.conv("input", 3, 8, 3, 2)
    y = net.conv(x, 8, 8, 3, 1, bounded=False)
    x = net.add("Relu", net.add("Add", x, y))
    x = net.conv(x, 8, 16, 1, 1, bounded=False)
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    y = net.add("Gemm", x, net.constant(net.rng.standard_normal((10, 16)) * 0.3), net.constant(net.rng.standard_normal(10) * 0.1), transB=1)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("input", [1, 3, 24, 24]), (y, [1, 10]))]
    graph = helper.make_graph(net.nodes, "net", values[:1], values[1:], net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def reference(path, samples, method, options, folder):
    calibrator = create_calibrator(path, None, os.path.join(folder, "augmented.onnx"), method, extra_options=options)
    calibrator.collect_data(Samples(samples))
    ranges = {}
    for name, data in calibrator.compute_data().items():
        low, high = (float(np.ravel(x)[0]) for x in data.range_value)
        ranges[name] = min(low, 0), max(high, 0)
    return ranges


def quantized(path, data, method, options, folder):
    out = os.path.join(folder, "qdq.onnx")
    extra = ["--percentile", str(options["percentile"])] if "percentile" in options else []
    extra += ["--symmetric"] if "num_bins" in options else []
    subprocess.run(MORSEL + ["quantize", path, "--data", data, "--count", "0", "--method", method, "--no-equalization", "-o", out] + extra, check=True,
                   capture_output=True)
    model = onnx.load(out)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    ranges = {}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and node.input[0] not in constants:
            scale, zero = float(constants[node.input[1]]), int(constants[node.input[2]])
            ranges[node.input[0]] = -zero * scale, (255 - zero) * scale
    return ranges


def main():
    verbose, failed = "--verbose" in sys.argv, 0
    with tempfile.TemporaryDirectory() as folder:
        path, data = os.path.join(folder, "net.onnx"), os.path.join(folder, "x.npy")
        samples = np.random.default_rng(5).standard_normal((SAMPLES, 3, 24, 24)).astype(np.float32)
        onnx.save(make_net(), path)
        np.save(data, samples)
        for name, (method, options, tolerance) in METHODS.items():
            with contextlib.redirect_stdout(None):
                wanted = reference(path, samples, method, options, folder)
            mine = quantized(path, data, name, options, folder)
            shared, worst = [v for v in mine if v in wanted and not (name == "entropy" and v.startswith(("Relu", "Clip")))], 0
            for value in shared:
                (low, high), (least, most) = mine[value], wanted[value]
                if options.get("num_bins"):  # the threshold alone; ONNX Runtime cuts its range where the numbers end
                    low, high, least, most = 0, (high - low) / 2, 0, max(-least, most)
                aside = abs((high - low) - (most - least)) / (most - least)
                if verbose:
                    print(f"    {value:24} {low:10.5f} .. {high:9.5f}   ONNX Runtime {least:10.5f} .. {most:9.5f}   {aside:.6f}")
                worst = max(worst, aside)
            good = len(shared) >= (4 if name == "entropy" else 6) and worst <= tolerance
            failed += not good
            print(f"{'ok' if good else 'FAIL'} ranges by {name}: {len(shared)} values, at most {worst:.2g} of the width aside "
                  f"({tolerance:.2g} may be)")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
