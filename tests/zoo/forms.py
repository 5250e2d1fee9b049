# SPDX-License-Identifier: MIT
"""The forms in which 8-bit networks come: each made once from the float network, kept in the network's folder."""
import os
import subprocess

import numpy as np
import onnx

import peers

SAMPLES = 30  # that the project's own quantizer sees; the others see four of them


def feeds_of(path, count):
    """Seeded noise, coarse and fine, for each input that is no constant."""
    graph = onnx.load(path, load_external_data=False).graph
    constants = {c.name for c in graph.initializer}
    shapes = {v.name: [d.dim_value or 1 for d in v.type.tensor_type.shape.dim] for v in graph.input if v.name not in constants}
    random = np.random.default_rng(2)
    return [{name: noise(random, shape) for name, shape in shapes.items()} for _ in range(count)]


def noise(random, shape):
    coarse = random.standard_normal([min(n, 8) for n in shape])
    for axis, n in enumerate(shape):
        coarse = np.repeat(coarse, -(-n // coarse.shape[axis]), axis).take(range(n), axis)
    return (coarse + 0.3 * random.standard_normal(shape)).astype(np.float32)


def prepared(folder):
    """ONNX Runtime's own preparation: shapes, constants, batch norms. Without it where it fails."""
    path = os.path.join(folder, "prepared.onnx")
    if not os.path.exists(path):
        from onnxruntime.quantization.shape_inference import quant_pre_process
        try:
            quant_pre_process(os.path.join(folder, "float.onnx"), path + ".part", skip_symbolic_shape=True)
            os.rename(path + ".part", path)
        except Exception:
            return os.path.join(folder, "float.onnx")
    return path


def by_onnxruntime(folder, to, form, activations="QUInt8", weights="QInt8", per_channel=True, **extra):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        left = feeds_of(os.path.join(folder, "float.onnx"), 4)

        def get_next(self):
            return self.left.pop() if self.left else None

    quantize_static(prepared(folder), to, Reader(), quant_format=getattr(QuantFormat, form), per_channel=per_channel,
                    activation_type=getattr(QuantType, activations), weight_type=getattr(QuantType, weights), extra_options=extra)


def by_nncf(folder, to):
    import nncf
    nncf.set_log_level(40)
    feeds = feeds_of(os.path.join(folder, "float.onnx"), 4)
    model = nncf.quantize(onnx.load(prepared(folder)), nncf.Dataset(feeds), subset_size=4, preset=nncf.QuantizationPreset.MIXED)
    onnx.save(model, to)


def by_morsel(folder, to):
    source = os.path.join(folder, "float.onnx")
    feeds = feeds_of(source, SAMPLES)
    command = [peers.MORSEL, "quantize", source, "-o", to, "-o", to.replace(".onnx", ".morsel"), "--threads", "1"]
    for name in feeds[0]:
        data = os.path.join(folder, "samples." + "".join(c if c.isalnum() else "_" for c in name) + ".npy")
        np.save(data, np.concatenate([f[name] for f in feeds]))
        command += ["--data", f"{name}={data}" if len(feeds[0]) > 1 else data]
    done = subprocess.run(command, capture_output=True, text=True)
    for file in os.listdir(folder):
        if file.startswith("samples."):
            os.remove(os.path.join(folder, file))
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


# form: how it is made. "file" is what came as it is, in 8 bits.
FORMS = {
    "own": by_morsel,
    "qop": lambda folder, to: by_onnxruntime(folder, to, "QOperator"),
    "qdq": lambda folder, to: by_onnxruntime(folder, to, "QDQ"),
    "qdq-s8": lambda folder, to: by_onnxruntime(folder, to, "QDQ", "QInt8", ActivationSymmetric=True),
    "qop-u8": lambda folder, to: by_onnxruntime(folder, to, "QOperator", weights="QUInt8", per_channel=False),
    "qdq-asym": lambda folder, to: by_onnxruntime(folder, to, "QDQ", WeightSymmetric=False),
    "nncf": by_nncf,
}


def make(form, folder, again=False):
    """The path of the form's file. What its quantizer refused it refuses again, by the same words."""
    path, refused = (os.path.join(folder, form + end) for end in (".onnx", ".refused"))
    if again or not (os.path.exists(path) or os.path.exists(refused)):
        for file in (path, refused):
            if os.path.exists(file):
                os.remove(file)
        try:
            FORMS[form](folder, path)
        except Exception as error:
            with open(refused, "w") as f:
                f.write(f"{type(error).__name__}: {error}")
    if os.path.exists(refused):
        with open(refused) as f:
            raise RuntimeError(f.read())
    return path


def nncf_of_openvino(folder, feeds):
    """The model that NNCF makes for OpenVINO itself."""
    import openvino
    path = os.path.join(folder, "openvino.xml")
    if not os.path.exists(path):
        openvino.save_model(peers.nncf_model(os.path.join(folder, "float.onnx"), feeds), path, compress_to_fp16=False)
    return path
