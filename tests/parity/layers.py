#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `morsel compare` says of each layer, beside figures made here from what ONNX Runtime computes.

    layers.py [--every] [FLOAT.onnx...]        MORSEL is the tool, build/morsel where it is not set

Each float network is quantized by ONNX Runtime (QDQ and QOperator) and by `morsel quantize`. Then
- output: the SQNR of the outputs is that of ONNX Runtime running both files, within 0.01 dB (1 dB for our own file, whose rescaled layers
  may round otherwise where ONNX Runtime keeps them in floats);
- network: the SQNR of every value in the network, of the QDQ file by ONNX Runtime without optimizations, within 1 dB (it rounds in floats);
- own, weights: each layer with the weights and the bias of the QDQ file put into the float network, its output rounded: within 0.02 dB
  (weights of channels that are 0 in both networks, whatever the sample, do nothing and do not count);
- damage: with the weights of one layer set to zero, that layer is named first, of ONNX Runtime's QDQ file and of our own, whose channels
  may be rescaled and moved: some 16 layers, each in turn; with --every all of them.
Exit status 1 where anything failed. Networks: the small one of tests/cli, and the float one of ../shared/models where that is there.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

EVERY = "--every" in sys.argv[1:]
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MORSEL = os.environ.get("MORSEL", os.path.join(ROOT, "build", "morsel"))
failed = 0


def check(good, text):
    global failed
    failed += not good
    if not good:
        print("FAIL", text, flush=True)


def session(model, optimized=True):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model if isinstance(model, str) else model.SerializeToString(), options)


def run(s, x):
    """Every output, samples stacked."""
    names = [o.name for o in s.get_outputs()]
    runs = [s.run(names, {s.get_inputs()[0].name: x[i:i + 1]}) for i in range(len(x))]
    return {name: np.stack([r[k] for r in runs]).astype(np.float64) for k, name in enumerate(names)}


def sqnr(x, y):
    noise = ((x - y) ** 2).sum()
    return min(120.0, 10 * np.log10((x ** 2).sum() / noise)) if noise > 0 else 120.0


def with_outputs(path, names):
    model = onnx.load(path)
    have = {o.name for o in model.graph.output}
    model.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in names if n not in have)
    return model


def all_values(path, x):
    return run(session(with_outputs(path, [o for n in onnx.load(path).graph.node for o in n.output]), False), x)


class Samples(CalibrationDataReader):
    def __init__(self, name, x):
        self.rest = iter([{name: x[i:i + 1]} for i in range(len(x))])

    def get_next(self):
        return next(self.rest, None)


def compare(float_path, model, data):
    done = subprocess.run([MORSEL, "compare", float_path, model, "--data", data, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode:
        raise SystemExit(f"{model}: {done.stderr}")
    return json.loads(done.stdout)


def dequantized(qdq, names):
    """Constants behind a DequantizeLinear, as they are in the network."""
    return {k: v[0] for k, v in run(session(with_outputs(qdq, names), False), np.zeros(SHAPE, np.float32)).items() if k in names}


def layer_alone(optimized, node, weights, bias):
    model = onnx.load(optimized)
    target = next(n for n in model.graph.node if n.name == node)
    for i, value in ((1, weights), (2, bias)):
        if value is not None:
            name = f"{node}/own{i}"
            model.graph.initializer.append(numpy_helper.from_array(value.astype(np.float32), name))
            target.input[i] = name
    return model


def model_values(have, layer):
    return have.get(layer["value"] + "_DequantizeLinear_Output", have[layer["value"]])


def busy_channels(wanted, model, count):
    """Of a layer in front of a Relu or Clip from 0: what lies below comes out as 0."""
    wanted, model = (np.moveaxis(v[:, 0], 1, 0).reshape(v.shape[2], -1) for v in (wanted, model))
    busy = (wanted > 0).any(axis=1) | (model != 0).any(axis=1)
    return busy if len(busy) == count else np.ones(count, bool)


def check_own(optimized, qdq, layers, values, have, x):
    model = onnx.load(qdq)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    quantizers = {n.input[0]: n for n in model.graph.node if n.op_type == "QuantizeLinear"}
    ends = {n.output[0]: n for n in model.graph.node if n.op_type == "DequantizeLinear"}
    quantizers.update({o.name: ends[o.name] for o in model.graph.output if o.name in ends})
    nodes = {n.name: n for n in model.graph.node}
    count = 0
    for layer in layers:
        node = nodes.get(layer["name"])
        if layer["sqnr_weight_db"] is None or node is None or layer["rescaled_channels"]:
            continue
        found = dequantized(qdq, list(node.input[1:]))
        bias = found.get(node.input[2]) if len(node.input) > 2 else None
        weights = found[node.input[1]].astype(np.float64)
        y = run(session(with_outputs_of(layer_alone(optimized, layer["name"], weights, bias), layer["value"]), False), x)[layer["value"]]
        if layer["value"] in quantizers:
            scale, zero = (constants[n].astype(np.float64) for n in quantizers[layer["value"]].input[1:3])
            y = (np.clip(np.rint(y / scale) + zero, 0, 255) - zero) * scale
        original = next(numpy_helper.to_array(t) for t in onnx.load(optimized).graph.initializer
                        if t.name == next(n for n in onnx.load(optimized).graph.node if n.name == layer["name"]).input[1])
        busy = busy_channels(values[layer["value"]], model_values(have, layer), len(weights))
        own, weight = sqnr(values[layer["value"]], y), sqnr(original[busy].astype(np.float64), weights[busy])
        check(abs(own - layer["sqnr_own_db"]) < 0.02, f"{layer['name']}: own {layer['sqnr_own_db']}, not {own:.4f}")
        check(abs(weight - layer["sqnr_weight_db"]) < 0.02, f"{layer['name']}: weights {layer['sqnr_weight_db']}, not {weight:.4f}")
        count += 1
    return count


def with_outputs_of(model, name):
    if name not in {o.name for o in model.graph.output}:
        model.graph.output.append(helper.make_empty_tensor_value_info(name))
    return model


def check_damage(float_path, qdq, layers, data, folder):
    count = 0
    for layer in layers[::1 if EVERY else max(1, len(layers) // 16)]:
        model = onnx.load(qdq)
        node = next((n for n in model.graph.node if n.name == layer["name"]), None)
        if layer["sqnr_weight_db"] is None or node is None:
            continue
        pair = next(n for n in model.graph.node if n.output and n.output[0] == node.input[1])
        for tensor in model.graph.initializer:
            if tensor.name == pair.input[0]:
                tensor.CopyFrom(numpy_helper.from_array(np.zeros_like(numpy_helper.to_array(tensor)), tensor.name))
        path = os.path.join(folder, "damaged.onnx")
        onnx.save(model, path)
        worst = compare(float_path, path, data)["layers"][0]
        check(worst["name"] == layer["name"], f"{layer['name']} is damaged, and {worst['name']} is named first")
        count += 1
    return count


def check_network(path, folder):
    global SHAPE
    data, optimized = os.path.join(folder, "x.npy"), os.path.join(folder, "optimized.onnx")
    SHAPE = (1, 3, 32, 32)
    x = np.random.default_rng(3).normal(size=(8,) + SHAPE[1:]).astype(np.float32)
    np.save(data, x)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    subprocess.run([MORSEL, "inspect", path, "--optimized", "--onnx", optimized], **quiet)
    files = [os.path.join(folder, name) for name in ("qdq.onnx", "qoperator.onnx", "own.onnx")]
    for file, form in zip(files, (QuantFormat.QDQ, QuantFormat.QOperator)):
        quantize_static(optimized, file, Samples("input", x), quant_format=form, per_channel=True, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8)
    subprocess.run([MORSEL, "quantize", path, "--data", data, "-o", files[2]], **quiet)
    values = all_values(optimized, x)
    output = onnx.load(path).graph.output[0].name
    for file in files:
        said = compare(path, file, data)
        wanted, name = sqnr(values[output], run(session(file), x)[output]), os.path.basename(file)
        check(abs(said["output_sqnr_db"] - wanted) < (1 if file == files[2] else 0.01), f"{name}: output {said['output_sqnr_db']}, not {wanted:.4f}")
        own = damaged = inner = 0
        if file == files[0]:
            have = all_values(file, x)
            for layer in said["layers"]:
                wanted = sqnr(values[layer["value"]], model_values(have, layer))
                check(abs(layer["sqnr_out_db"] - wanted) < 1, f"{layer['name']}: network {layer['sqnr_out_db']}, not {wanted:.4f}")
                inner += 1
            own = check_own(optimized, file, said["layers"], values, have, x)
        if file != files[1]:
            damaged = check_damage(path, file, said["layers"], data, folder)
        print(f"{os.path.basename(path):<28} {name:<16} {len(said['layers']):>3} layers, output {said['output_sqnr_db']:.2f} dB; checked: "
              f"network {inner}, own and weights {own}, damage {damaged}", flush=True)


def main():
    small = os.path.join(ROOT, "tests", "cli", "float_small.onnx")
    files = [a for a in sys.argv[1:] if a != "--every"] or [small] + glob.glob(os.path.join(ROOT, "..", "shared", "models", "cifar10_mobilenetv2.onnx"))
    with tempfile.TemporaryDirectory(prefix="morsel-layers-") as folder:
        for path in files:
            check_network(path, folder)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
