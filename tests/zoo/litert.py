# SPDX-License-Identifier: MIT
"""litert.py FOLDER ...: each network's float.onnx as litert.tflite in 8 bits, by onnx2tf and LiteRT's own quantizer.

What they cannot take leaves its reason in litert.refused. That quantizer takes no pads but of zeros: those of a maximum become zeros,
which takes the same time."""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np


def float_model(folder, work):
    source = os.path.join(folder, "prepared.onnx")
    if not os.path.exists(source):
        source = os.path.join(folder, "float.onnx")
    tool = os.path.join(os.path.dirname(sys.executable), "onnx2tf")
    done = subprocess.run([tool, "-i", source, "-o", work, "-n"], capture_output=True, text=True)
    made = [f for f in os.listdir(work) if f.endswith("_float32.tflite")]
    if not made:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "Error" in line]
        raise RuntimeError("onnx2tf: " + (lines[0] if lines else f"status {done.returncode}"))
    return os.path.join(work, made[0])


def pad_with_zeros(path):
    from ai_edge_litert import schema_py_generated as schema
    import flatbuffers
    with open(path, "rb") as f:
        model = schema.ModelT.InitFromPackedBuf(f.read(), 0)
    codes = [max(c.builtinCode, c.deprecatedBuiltinCode) for c in model.operatorCodes]
    for graph in model.subgraphs:
        for operator in graph.operators:
            if codes[operator.opcodeIndex] == schema.BuiltinOperator.PADV2:
                operator.inputs, operator.builtinOptions = operator.inputs[:2], schema.PadOptionsT()
                operator.builtinOptionsType = schema.BuiltinOptions.PadOptions
    for code, kind in zip(model.operatorCodes, codes):
        if kind == schema.BuiltinOperator.PADV2:
            code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.PAD
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    with open(path, "wb") as f:
        f.write(builder.Output())


def quantized(path, to):
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe
    interpreter = Interpreter(model_path=path)
    random = np.random.default_rng(2)
    data = {}
    for key in interpreter.get_signature_list():
        shapes = {n: d["shape"] for n, d in interpreter.get_signature_runner(key).get_input_details().items()}
        data[key] = [{n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()} for _ in range(4)]
    q = quantizer.Quantizer(path)
    q.load_quantization_recipe(recipe.static_wi8_ai8())
    q.quantize(q.calibrate(data)).export_model(to, overwrite=True)


def runs(path):
    """Some models that were made divide by zero, or crash: another process tries."""
    code = ("import sys; from ai_edge_litert.interpreter import Interpreter; i = Interpreter(model_path=sys.argv[1]); "
            "i.allocate_tensors(); i.invoke()")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [""])[-1] if done.returncode > 0 else f"signal {-done.returncode}")


def make(folder):
    to, refused = (os.path.join(folder, "litert" + end) for end in (".tflite", ".refused"))
    if os.path.exists(to) or os.path.exists(refused):
        return
    try:
        with tempfile.TemporaryDirectory() as work:
            model = float_model(folder, work)
            pad_with_zeros(model)
            made = os.path.join(work, "int8.tflite")
            quantized(model, made)
            runs(made)
            shutil.move(made, to)
    except Exception as error:
        with open(refused, "w") as f:
            f.write(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        make(name)
