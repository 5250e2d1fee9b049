# SPDX-License-Identifier: MIT
"""Networks, pictures and figures that the measurements of morsel quantize share.

Pictures come from CIFAR-10 (SHARED/data, unpacked once below build/quantize), decoded and normalized as the network's picture rule says:
a picture is what it is for Morsel and for its peers. Everything that takes long and cannot change is kept below build/quantize.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("SHARED", ROOT.parent / "shared"))
STORE = ROOT / "build" / "quantize"
FLOAT_NET = SHARED / "models" / "cifar10_mobilenetv2.onnx"
RULE = SHARED / "models" / "cifar10.picture.json"
ARCHIVE = SHARED / "data" / "cifar10_jpeg.tar.zst"
MORSEL = os.environ.get("MORSEL", "build/morsel").split()
CALIBRATION = 300
TEST = 10000


class Refused(Exception):
    """Morsel's own words on why not."""


def need_shared():
    """Skips, with a notice, where the float network or the pictures are not there."""
    missing = [str(p) for p in (FLOAT_NET, RULE, ARCHIVE) if not p.exists()]
    if missing:
        print(f"skipped: {', '.join(missing)} not there (SHARED=folder says where they are)")
        sys.exit(0)


# ---- pictures ----------------------------------------------------------------------------------------------------------------------------

def unpacked():
    """The folder of CIFAR-10's pictures: train/CLASS/*.jpg, test/CLASS/*.jpg."""
    folder = STORE / "cifar10"
    if not (folder / "test").is_dir():
        print("unpacking CIFAR-10 ...", file=sys.stderr)
        STORE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=STORE) as work:
            subprocess.run(["tar", "--zstd", "-xf", str(ARCHIVE), "-C", work], check=True)
            top = next(p.parent for p in pathlib.Path(work).rglob("test") if p.is_dir())
            os.rename(top, folder)
    return folder


def tensor(path, rule):
    """A picture as the network's input."""
    from PIL import Image
    height, width = rule["resize"]["size"]
    picture = Image.open(path).convert("RGB").resize((width, height), Image.BILINEAR)
    pixels = np.asarray(picture, np.float32) * np.float32(rule["scale"])
    return ((pixels - np.float32(rule["mean"])) / np.float32(rule["std"])).transpose(2, 0, 1)


def pictures(part, count):
    """The first `count` pictures of a part, as many of each class: a path to the array that holds them, and their classes."""
    path, labels = STORE / f"{part}-{count}.npy", STORE / f"{part}-{count}-classes.npy"
    if not path.exists() or not labels.exists():
        rule = json.loads(RULE.read_text())
        folders = sorted(p for p in (unpacked() / part).iterdir() if p.is_dir())
        files = [(f, c) for c, folder in enumerate(folders) for f in sorted(folder.iterdir())[:count // len(folders)]]
        np.save(labels, np.array([c for _, c in files]))
        save(path, np.stack([tensor(f, rule) for f, _ in files]).astype(np.float32))
    return path, np.load(labels)


def calibration(seed=0):
    """The training pictures that morsel quantize takes by itself, by its seed: a path to the array that holds them. Everybody gets these."""
    path = STORE / f"train-{CALIBRATION}-seed{seed}.npy"
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            told = call("quantize", FLOAT_NET, "--data", unpacked() / "train", "--picture", RULE, "--seed", seed, "--count", CALIBRATION,
                        "--method", "minmax", "--no-adaround", "--no-equalization", "--no-bias-correction", "--json",
                        "-o", os.path.join(folder, "unused.morsel"))
        rule = json.loads(RULE.read_text())
        save(path, np.stack([tensor(f, rule) for f in json.loads(told)["chosen"]]).astype(np.float32))
    return path


def save(path, array):
    """Whole or not at all: a later run trusts what it finds."""
    np.save(str(path) + ".new.npy", array)
    os.rename(str(path) + ".new.npy", path)


def fingerprint(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


# ---- running -----------------------------------------------------------------------------------------------------------------------------

def run_onnx(path, samples, batch=100):
    """The first output of an ONNX file in ONNX Runtime, over all samples."""
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    into = session.get_inputs()[0]
    fixed = into.shape[0] if into.shape and isinstance(into.shape[0], int) else 0
    step = fixed or batch
    return np.concatenate([session.run(None, {into.name: samples[i:i + step]})[0] for i in range(0, len(samples), step)])


def float_outputs(path, samples_path):
    """The same, of a float network: kept."""
    store = STORE / f"float-{fingerprint(path)}-{pathlib.Path(samples_path).stem}.npy"
    if not store.exists():
        save(store, run_onnx(path, np.load(samples_path)))
    return np.load(store)


def call(*arguments):
    """Runs morsel; Refused with its words where it fails."""
    done = subprocess.run(MORSEL + [str(a) for a in arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "notice" not in line]
        raise Refused("; ".join(lines[:3]) or f"exit status {done.returncode}")
    return done.stdout


def run_morsel(model, samples_path, folder):
    output = os.path.join(folder, "output.npy")
    call("run", model, "--input", samples_path, "--output", output)
    return np.load(output)


# ---- quantizers --------------------------------------------------------------------------------------------------------------------------

def quantize_with_morsel(source, calibration, target, options=()):
    """Seconds that it took."""
    start = time.monotonic()
    call("quantize", source, "--data", calibration, "--count", 0, "-o", target, *options)
    return time.monotonic() - start


def quantize_with_onnxruntime(source, calibration, target, method="MinMax", per_channel=True):
    """Its static quantizer as its own documents advise: shapes inferred and the graph optimized first."""
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    samples = np.load(calibration)

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rest = iter(samples)

        def get_next(self):
            sample = next(self.rest, None)
            return None if sample is None else {name: sample[None]}

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        prepared = os.path.join(folder, "prepared.onnx")
        name = input_name(source)
        with quiet():
            try:
                quant_pre_process(str(source), prepared)
            except Exception:  # its symbolic shapes do not know all that Paddle writes
                quant_pre_process(str(source), prepared, skip_symbolic_shape=True)
            quantize_static(prepared, str(target), Reader(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                            calibrate_method=getattr(CalibrationMethod, method))
    return time.monotonic() - start


def quantize_with_nncf(source, calibration, target, preset="PERFORMANCE"):
    import logging
    logging.disable(logging.WARNING)
    import nncf
    import onnx
    samples = np.load(calibration)
    start = time.monotonic()
    model = onnx.load(str(source))
    name = model.graph.input[0].name
    with quiet():
        data = nncf.Dataset([{name: sample[None]} for sample in samples])
        onnx.save(nncf.quantize(model, data, preset=getattr(nncf.QuantizationPreset, preset), subset_size=len(samples)), str(target))
    return time.monotonic() - start


def input_name(path):
    import onnx
    model = onnx.load(str(path), load_external_data=False)
    constants = {t.name for t in model.graph.initializer}
    return next(i.name for i in model.graph.input if i.name not in constants)


class quiet:
    """Peers print progress of their own."""

    def __enter__(self):
        self.old = os.dup(1), os.dup(2)
        self.null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(self.null, 1)
        os.dup2(self.null, 2)

    def __exit__(self, *_):
        for old, number in zip(self.old, (1, 2)):
            os.dup2(old, number)
            os.close(old)
        os.close(self.null)


# ---- figures -----------------------------------------------------------------------------------------------------------------------------

def sqnr(want, got):
    want, got = want.astype(np.float64).ravel(), got.astype(np.float64).ravel()
    noise = float(((got - want) ** 2).sum())
    return float("inf") if noise == 0 else 10 * float(np.log10(max(float((want ** 2).sum()), 1e-30) / noise))


def score(outputs, reference, classes):
    """Top-1 in per cent, answers that are not the float network's, SQNR in dB."""
    answers = outputs.argmax(1)
    return {"top1": 100 * float((answers == classes).mean()), "differ": int((answers != reference.argmax(1)).sum()),
            "sqnr": sqnr(reference, outputs)}
