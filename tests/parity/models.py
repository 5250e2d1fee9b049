# SPDX-License-Identifier: MIT
"""The networks of `make parity`: those beside the checkout, those that quantizers make of one of them, and small ones of our own."""
import contextlib
import dataclasses
import functools
import io
import json
import logging
import os
import shutil
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import helper
from PIL import Image

from compare import MORSEL, run_ort
from dress import DRESSES, dressed, seven_bits
from netbuilder import Form, feeds_for, quantize, with_output_types
from nets import NETS
from ortgraph import exposed, quantized_tensors
from random_nets import random_net

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARED = os.path.join(ROOT, "..", "shared")
CALIBRATION, TEST = 32, 3


@dataclasses.dataclass
class Case:
    name: str
    row: str                    # the table's line that it counts for
    make: object                # -> model, feeds
    options: tuple = ()         # of morsel convert
    least_sqnr: float = None
    quick: bool = False
    other: object = None        # model -> another way to write it down, compared with the model itself


def shared(*path):
    return os.path.join(SHARED, *path)


# --- pictures

def picture(path, rule):
    """A picture as the network's input, as the rule says."""
    image = Image.open(path).convert("RGB")
    resize = rule["resize"]
    if resize["mode"] == "short_side":
        w, h = image.size
        size = resize["size"]
        image = image.resize((size * w // min(w, h), size * h // min(w, h)), Image.BILINEAR)
    if "crop" in rule:
        height, width = rule["crop"]
        left, top = (image.width - width) // 2, (image.height - height) // 2
        image = image.crop((left, top, left + width, top + height))
    x = np.asarray(image, np.float32) * np.float32(rule["scale"])
    return ((x - np.array(rule["mean"], np.float32)) / np.array(rule["std"], np.float32)).transpose(2, 0, 1)[None].astype(np.float32)


def rule_of(name):
    with open(shared("models", name), encoding="utf-8") as f:
        return json.load(f)


@functools.lru_cache
def cifar(part, count):
    """Pictures of CIFAR-10, one class after the other; random ones where the archive or zstd is missing."""
    rng = np.random.default_rng(7)
    archive = shared("data", "cifar10_jpeg.tar.zst")
    if not (os.path.exists(archive) and shutil.which("zstd")):
        print("notice: no CIFAR-10 pictures (the archive or zstd is missing): random ones instead")
        return rng.standard_normal((count, 3, 32, 32)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        names = subprocess.run(f"zstd -dc '{archive}' | tar t", shell=True, check=True, capture_output=True, text=True).stdout.split()
        by_class = {}
        for name in sorted(n for n in names if n.endswith(".jpg") and f"{part}/" in n):
            by_class.setdefault(os.path.dirname(name), []).append(name)
        classes = sorted(by_class)
        chosen = [by_class[classes[i % len(classes)]][i // len(classes)] for i in range(count)]
        subprocess.run(f"zstd -dc '{archive}' | tar x -C '{folder}' " + " ".join(chosen), shell=True, check=True)
        rule = rule_of("cifar10.picture.json")
        return np.concatenate([picture(os.path.join(folder, c), rule) for c in chosen])


def real_and_random(pictures, seed=3):
    rng = np.random.default_rng(seed)
    return np.concatenate([pictures, (rng.standard_normal(pictures[:1].shape) * 1.3).astype(np.float32)])


# --- the networks beside the checkout

def food11():
    return (onnx.load(shared("models", "food11_quantized_aggressive.onnx")),
            {"input": real_and_random(picture(shared("data", "food.jpg"), rule_of("food11.picture.json")))})


def mbv2():
    return onnx.load(shared("models", "mbv2_cifar10_int8.onnx")), {"input.1": real_and_random(cifar("test", TEST))}


def mlperf():
    return onnx.load(shared("models", "mlperf_ic_int8.onnx")), {"input.1": real_and_random(cifar("test", 15))}


def middle(fraction, length):
    """A run of `length` quantized tensors out of the middle of mbv2_cifar10_int8: all of them are outputs, what they read is inputs."""
    model = onnx.load(shared("models", "mbv2_cifar10_int8.onnx"))
    values, _ = run_ort(exposed(model), {"input.1": cifar("test", TEST)[:1]})
    graph, tensors = model.graph, quantized_tensors(model)
    names = list(tensors)
    ends = names[int(len(names) * fraction) + 1:][:length]
    by_output, constants = {o: n for n in graph.node for o in n.output}, {i.name for i in graph.initializer}
    keep, given, queue = set(), {}, list(ends)
    while queue:
        name = queue.pop()
        if name in tensors and name not in ends:
            given[name] = values[name]
        elif name in by_output and name not in keep:
            keep.add(name)
            queue += by_output[name].input
    nodes = [n for n in graph.node if n.output[0] in keep]
    used = {i for n in nodes for i in n.input}
    part = helper.make_graph(
        nodes, "middle", [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in given.items()],
        [helper.make_tensor_value_info(e, tensors[e], values[e].shape) for e in ends],
        [i for i in graph.initializer if i.name in used & constants])
    return helper.make_model(part, ir_version=model.ir_version, opset_imports=model.opset_import), given


# --- what quantizers make of cifar10_mobilenetv2.onnx

class Feeds:
    """Calibration data in the form that ONNX Runtime's quantizer asks for."""

    def __init__(self, pictures):
        self.pictures, self.at = pictures, 0

    def get_next(self):
        self.at += 1
        return {"input": self.pictures[self.at - 1:self.at]} if self.at <= len(self.pictures) else None

    def rewind(self):
        self.at = 0

    def __len__(self):
        return len(self.pictures)

    def set_range(self, start_index, end_index):
        self.pictures, self.at = self.pictures[start_index:end_index], 0


@functools.lru_cache
def prepared():
    from onnxruntime.quantization.shape_inference import quant_pre_process
    logging.disable(logging.CRITICAL)
    path = os.path.join(tempfile.mkdtemp(prefix="morsel-parity-"), "prepared.onnx")
    quant_pre_process(shared("models", "cifar10_mobilenetv2.onnx"), path)
    return path


def quantized_by_ort(qdq, activation, weight, per_channel, method, extra=None):
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    source = prepared()
    path = os.path.join(os.path.dirname(source), f"{os.getpid()}.onnx")
    kinds = {"s8": QuantType.QInt8, "u8": QuantType.QUInt8}
    with contextlib.redirect_stdout(io.StringIO()):
        quantize_static(source, path, Feeds(cifar("train", CALIBRATION)), quant_format=QuantFormat.QDQ if qdq else QuantFormat.QOperator,
                        activation_type=kinds[activation], weight_type=kinds[weight], per_channel=per_channel,
                        calibrate_method=CalibrationMethod[method], extra_options=extra or {})
    model = onnx.load(path)
    os.unlink(path)
    return model, {"input": real_and_random(cifar("test", TEST - 1))}


def quantized_by_nncf(preset):
    import nncf
    logging.disable(logging.CRITICAL)
    model = onnx.load(shared("models", "cifar10_mobilenetv2.onnx"))
    data = nncf.Dataset([{"input": p[None]} for p in cifar("train", CALIBRATION)])
    with contextlib.redirect_stdout(io.StringIO()):  # its progress bars
        model = nncf.quantize(model, data, subset_size=CALIBRATION, preset=nncf.QuantizationPreset[preset])
    return model, {"input": cifar("test", 8)}


def batch_of_four():
    model, _ = quantized_by_ort(True, "u8", "s8", True, "MinMax")
    return model, {"input": cifar("test", 8)}


def quantizer_cases():
    for qdq in (False, True):
        for activation, weight in (("u8", "s8"), ("u8", "u8"), ("s8", "s8")):
            for per_channel in (True, False):
                for method in ("MinMax", "Entropy", "Percentile"):
                    name = f"ort {'QDQ' if qdq else 'QOperator'} {activation} {weight} {'channel' if per_channel else 'tensor'} {method}"
                    quick = method == "Percentile" and weight == "s8" and per_channel
                    yield Case(name, name, functools.partial(quantized_by_ort, qdq, activation, weight, per_channel, method), quick=quick)
    for key, value in (("ActivationSymmetric", True), ("QuantizeBias", False), ("AddQDQPairToWeight", True),
                       ("QDQKeepRemovableActivations", True),
                       ("WeightSymmetric", False), ("DedicatedQDQPair", True)):
        name = f"ort QDQ u8 s8 {key}={value}"
        per_channel = key != "WeightSymmetric"
        yield Case(name, name, functools.partial(quantized_by_ort, True, "u8", "s8", per_channel, "MinMax", {key: value}))
    for options in QUANTIZE:
        name = " ".join(["morsel quantize", *options])
        yield Case(name, name, functools.partial(cifar_by_morsel, options), quick=not options)
    yield Case("ort QDQ u8 s8, --batch 4", "ort QDQ u8 s8, --batch 4", batch_of_four, ("--batch", "4"), quick=True)
    for preset in ("PERFORMANCE", "MIXED"):
        yield Case(f"nncf {preset.lower()}", f"nncf {preset.lower()}", functools.partial(quantized_by_nncf, preset), least_sqnr=40.0,
                   quick=preset == "MIXED")


def shared_cases():
    one = ("--shape", "input.1=1,3,32,32")
    yield Case("food11_quantized_aggressive", "food11_quantized_aggressive", food11, quick=True)
    yield Case("mbv2_cifar10_int8", "mbv2_cifar10_int8", mbv2, quick=True)
    yield Case("mlperf_ic_int8 --shape 1", "mlperf_ic_int8 --shape 1", mlperf, one, quick=True)
    yield Case("mlperf_ic_int8 batch 16", "mlperf_ic_int8 batch 16", mlperf)
    for fraction, length in ((0.1, 6), (0.45, 9), (0.8, 12)):
        name = f"mbv2_cifar10_int8, from {int(fraction * 100)} % on"
        yield Case(name, name, functools.partial(middle, fraction, length), quick=fraction == 0.45)


# --- our own

FORMS = [Form(), Form(weight="u8", per_channel=False), Form(activation="s8"), Form(qdq=False),
         Form(qdq=False, weight="u8", per_channel=False),
         Form(qdq=False, activation="s8"), Form(ties=True), Form(qdq=False, ties=True), Form(weight_zero=True),
         Form(
    qdq=False, weight="u8", weight_zero=True), Form(
        qdq=False, activation="s8", ties=True, byte_io=True), Form(
            byte_io=True, symmetric=True),
         Form(keep_bounds=True, float_bias=True), Form(activation="s8", symmetric=True, move_scales=True), Form(move_scales=True),
         Form(mixed=True),
         Form(mixed=True, weight="u8", per_channel=False, float_bias=True)]
QUICK_FORMS = {FORMS[i] for i in (0, 2, 3, 6, 7)}


def form_for(net, form):
    """Before opset 13 a DequantizeLinear has no axis, and before opset 11 ONNX Runtime cannot turn a float bias into integers."""
    if form.qdq and net.opset < 13:
        form = dataclasses.replace(form, per_channel=False)
    if form.float_bias and net.opset < 11:
        form = dataclasses.replace(form, float_bias=False)
    # ONNX Runtime's float and quantized average pools count a window beyond the padding differently, and with mixed types it depends on
    # whether its intermediates are looked at which of the two runs.
    if net.name == "pool_AveragePool_ceil_padded":
        form = dataclasses.replace(form, mixed=False)
    return form


def small(name, form):
    net = NETS[name]()
    model = quantize(net, form_for(net, form))
    return model, feeds_for(model, seed=FORMS.index(form))


def family(name):
    """The table's line that a net counts for."""
    words = name.split("_")
    if words[0] in ("conv", "gemm", "pool", "mean", "softmax", "concat", "one", "split", "matmul", "transposed"):
        return words[0]
    return "_".join(words[:2]) if words[0] in ("two", "move") else name


QUANTIZE = ((), ("--int8", "--method", "minmax"), ("--symmetric", "--per-tensor", "--reduced-range", "--method", "percentile"))


def quantized_by_morsel(name, options):
    """The float net through `morsel quantize`: ONNX Runtime has to get from its QDQ file what Morsel gets."""
    net = NETS[name]()
    with tempfile.TemporaryDirectory() as folder:
        source, made = [os.path.join(folder, n) for n in ("float.onnx", "made.onnx")]
        onnx.save(with_output_types(net.float_model()), source)
        arguments = [source, "-o", made, *options]
        runs = [net.feeds(seed) for seed in range(4)]
        for key in net.inputs:
            np.save(os.path.join(folder, key + ".npy"), np.stack([r[key] for r in runs]))
            arguments += ["--data", f"{key}={os.path.join(folder, key)}.npy"]
        done = subprocess.run([*MORSEL, "quantize", *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        onnx.checker.check_model(made, full_check=True)
        return onnx.load(made), net.feeds(9)


def cifar_by_morsel(options):
    with tempfile.TemporaryDirectory() as folder:
        data, made = [os.path.join(folder, n) for n in ("data.npy", "made.onnx")]
        np.save(data, cifar("train", CALIBRATION))
        subprocess.run([*MORSEL, "quantize", shared("models", "cifar10_mobilenetv2.onnx"), "--data", data, "-o", made, *options], check=True,
                       capture_output=True)
        return onnx.load(made), {"input": real_and_random(cifar("test", TEST - 1))}


# Float ends whose functions differ from ONNX Runtime's in the last bit.
NOT_QUANTIZED = {"one_softsign", "one_selu", "one_celu", "one_log", "one_sine", "one_cosine", "one_tangent", "one_arc_tangent", "one_sinh",
                 "one_cosh", "one_asinh"}


def quantize_cases():
    for name in NETS:
        for options in QUANTIZE if name not in NOT_QUANTIZED else ():
            yield Case(f"quantize {name} {' '.join(options)}", "morsel quantize, small networks",
                       functools.partial(quantized_by_morsel, name, options), quick=not options)


def net_cases():
    families = list(dict.fromkeys(map(family, NETS)))
    for name in sorted(NETS, key=lambda n: families.index(family(n))):
        for form in FORMS:
            yield Case(f"{name} {form.name}", "net " + family(name), functools.partial(small, name, form),
                       quick=form in QUICK_FORMS)


DRESSED = ("mobile", "residual", "squeeze_excite", "shuffle", "attention", "upsampling", "keras", "several", "sound", "conv_clip_inside",
           "gemm_relu",
           "concat_branches", "batch_norm", "split", "mean_float_tail", "one_leaky", "pool_MaxPool_pads", "matmul_add")


def dressed_cases():
    """Each of them is compared with ONNX Runtime in plain dress above."""
    for how in DRESSES:
        for name in DRESSED:
            for form in (FORMS[0], FORMS[2], FORMS[3]):
                yield Case(f"{name} {form.name} {how.__name__}", "written: " + how.__name__.replace("_", " "),
                           functools.partial(small, name, form),
                           quick=form is FORMS[0], other=functools.partial(dressed, how=how))
    for name in DRESSED:
        yield Case(f"{name} seven_bits", "written: seven bits", functools.partial(small_in_seven_bits, name), quick=True)


RANDOM_NETS, NARROW = 600, 300


def random_form(seed):
    form = FORMS[seed % len(FORMS)]
    return dataclasses.replace(form, wild=seed // len(FORMS) % 2 == 1) if seed >= NARROW else form


def random_one(seed):
    model = quantize(random_net(seed, seed >= NARROW), random_form(seed))
    return model, feeds_for(model, seed=seed)


def random_cases(count):
    for seed in range(count):
        name = "random networks" if seed < NARROW else "random networks, drawn wide"
        yield Case(f"random {seed} {random_form(seed).name}", name, functools.partial(random_one, seed),
                   quick=seed < 60 or NARROW <= seed < NARROW + 30)


def small_in_seven_bits(name):
    model, feeds = small(name, FORMS[0])
    return seven_bits(model), feeds


def cases(random=RANDOM_NETS):
    if os.path.exists(shared("models", "mbv2_cifar10_int8.onnx")):
        yield from shared_cases()
        yield from quantizer_cases()
    else:
        print(f"notice: {shared('models')} does not exist: only the small networks are compared")
    yield from net_cases()
    yield from quantize_cases()
    yield from dressed_cases()
    yield from random_cases(random)
