# SPDX-License-Identifier: MIT
"""Pictures and texts in Python, beside what the tool's verbs make of the same files; and the structs of morsel.h."""
import contextlib
import ctypes
import json
import dataclasses
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import morsel
import morsel._library as library
import numpy as np
from support import PICTURES, ROOT, SHIPPED, at, pixels


SPOTS = at("models/spots")


def spots():
    """The shipped detector as a blob."""
    with open(f"{SPOTS}/picture.json", encoding="utf-8") as file:
        rule = json.load(file)
    x = pixels(f"{SPOTS}/pictures/spots.ppm")
    data = np.zeros((1, 3, 32, 32), np.float32)
    data[:, :, :, :] = x[:32, :32].transpose(2, 0, 1) / 255
    return morsel.quantize(f"{SPOTS}/network.onnx", data, picture=rule, answer=f"{SPOTS}/answer.json", labels=["red", "green", "blue"],
                           metadata={"version": 3})


class Boxes(unittest.TestCase):
    def test_boxes_are_those_of_the_tool(self):
        path = f"{SPOTS}/pictures/spots.ppm"
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "spots.morsel")
            with open(file, "wb") as out:
                out.write(spots())
            want = morsel.tool("run", file, path)["results"][0]["boxes"]
            have = morsel.Model(file).detect(pixels(path))
        self.assertEqual([(b.label, b.index) for b in have], [(b["label"], b["index"]) for b in want])
        self.assertGreater(len(have), 1)
        for key in ("p", "x0", "y0", "x1", "y1"):
            np.testing.assert_allclose([getattr(b, key) for b in have], [b[key] for b in want], rtol=1e-4)

    def test_a_network_without_an_answer_rule_finds_nothing(self):
        with self.assertRaisesRegex(morsel.Error, "answer rule"):
            morsel.Model(SHIPPED).detect(pixels(PICTURES[0]))


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = morsel.Model(SHIPPED)
        cls.want = [result["top"] for result in morsel.tool("run", SHIPPED, *PICTURES, "--top", 10)["results"]]

    def same(self, have, want):
        self.assertEqual([(c.label, c.index) for c in have], [(c["label"], c["index"]) for c in want])
        np.testing.assert_allclose([c.p for c in have], [c["p"] for c in want], rtol=1e-5)

    def test_classes_are_those_of_the_tool(self):
        self.assertEqual(len(self.want), 10)
        for path, want in zip(PICTURES, self.want):
            self.same(self.model.classify(pixels(path), 10), want)
        self.same(self.model.classify(pixels(PICTURES[3]), 2), self.want[3][:2])
        for none in (0, -1):
            with self.assertRaises(ValueError):
                self.model.classify(pixels(PICTURES[3]), none)

    def test_pixels_may_lie_otherwise(self):
        rgb = pixels(PICTURES[0])
        room = np.full((40, 50, 3), 77, np.uint8)
        room[4:36, 9:41] = rgb
        alpha = np.dstack([rgb, np.full((32, 32), 9, np.uint8)])
        bgr = np.ascontiguousarray(rgb[:, :, ::-1])
        planes = np.ascontiguousarray(rgb.transpose(2, 0, 1))
        for other, name in ((room[4:36, 9:41], None), (alpha, None), (bgr, "BGR"), (bgr[:, :, ::-1], "RGB"), (planes.transpose(1, 2, 0), None),
                            (rgb[::-1][::-1], None), (np.ascontiguousarray(alpha[:, :, [2, 1, 0, 3]]), "BGRA")):
            self.same(self.model.classify(other, 10, pixels=name), self.want[0])
        self.assertNotEqual(self.model.classify(bgr, 10), self.model.classify(rgb, 10))
        gray = rgb[:, :, 0]
        self.assertEqual(self.model.classify(gray, 10), self.model.classify(np.dstack([gray] * 3), 10))
        self.assertEqual(self.model.classify(gray.copy()[:, :, None], 10), self.model.classify(gray, 10))

    def test_pictures_of_one_row_or_column_are_taken(self):
        for shape in ((1, 32, 3), (32, 1, 3), (1, 1, 3), (1, 1), (1, 1, 1)):
            large = np.random.default_rng(1).integers(0, 255, [2 * n for n in shape[:2]] + list(shape[2:]), np.uint8)
            part = large[: shape[0], : shape[1]]
            self.assertEqual(self.resized().classify(part), self.resized().classify(part.copy()))

    def resized(self):
        """The network with a rule that takes pictures of any size."""
        if not hasattr(Pictures, "blob"):
            rule = {"resize": {"mode": "exact", "size": [32, 32]}, "channels": "RGB", "scale": 1 / 255, "mean": [0.5] * 3, "std": [0.25] * 3}
            Pictures.blob = morsel.convert(at("models/cifar10/network.onnx"), picture=rule)
        return morsel.Model(Pictures.blob)

    def test_pillows_pictures_are_taken(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("no Pillow")
        picture = Image.open(PICTURES[0])
        self.same(self.model.classify(picture, 10), self.want[0])
        turned = picture.transpose(Image.Transpose.ROTATE_90)
        exif = Image.Exif()
        exif[0x0112] = 6  # as it lies it has to be turned by 90 degrees clockwise
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            turned.save(file.name, exif=exif)
            self.same(self.model.classify(Image.open(file.name), 10), self.want[0])

    def test_gray_of_16_bits_is_that_of_the_tool(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("no Pillow")
        gray = pixels(PICTURES[3]).mean(2).astype(np.uint16) * 256 + 128
        blob = self.resized()
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "deep.png")
            Image.fromarray(gray).save(file)
            self.assertEqual(blob.classify(file, 10), blob.classify((gray >> 8).astype(np.uint8), 10))
            self.assertEqual(blob.classify(Image.open(file), 10), blob.classify(file, 10))
            self.same(self.model.classify(file, 1), morsel.tool("run", SHIPPED, file, "--top", 1)["results"][0]["top"])

    def test_what_is_no_picture_is_refused(self):
        rgb = pixels(PICTURES[0])
        for wrong in (rgb.astype(np.float32), rgb[None], rgb[0, 0], b"cat.ppm", None):
            with self.assertRaises(TypeError):
                self.model.classify(wrong)
        for wrong, name in ((rgb[:, :, :2], None), (rgb, "RGBA"), (rgb, "NV12"), (rgb[:0], None)):
            with self.assertRaises(ValueError):
                self.model.classify(wrong, pixels=name)
        bare = morsel.Model(morsel.convert(at("models/cifar10/network.onnx")))
        with self.assertRaisesRegex(morsel.Error, "picture rule"):
            bare.classify(rgb)


class Texts(unittest.TestCase):
    TEXTS = ["a b", "b bc", "", "a " * 7 + "\u00e9", "c\0a"]

    def model(self, folder, sizes):
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
            file.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##c\n")
        with open(os.path.join(folder, "rule.json"), "w", encoding="utf-8") as file:
            file.write('{"tokenizer": "vocab.txt", "max_length": 8, "pooling": "mean", "normalize": true}')
        path = os.path.join(folder, "texts.morsel")
        with open(path, "wb") as file:
            file.write(morsel.convert(at("tests/cli/tokens.onnx"), dims={"sequence": sizes}, text=os.path.join(folder, "rule.json")))
        return path

    def test_vectors_are_those_of_the_tool(self):
        for sizes in (8, (4, 8)):
            with tempfile.TemporaryDirectory() as folder:
                path = self.model(folder, sizes)
                lines, vectors = os.path.join(folder, "lines.txt"), os.path.join(folder, "x.npy")
                with open(lines, "w", encoding="utf-8") as file:
                    file.write("\n".join(self.TEXTS) + "\n")
                morsel.tool("embed", path, lines, "-o", vectors)
                want = np.load(vectors)
                model = morsel.Model(path)
                self.assertEqual(model.embed(self.TEXTS).tobytes(), want.tobytes())
                self.assertEqual(model.embed(self.TEXTS[1]).tobytes(), want[1].tobytes())
                self.assertEqual([len(model.variants), model._variant_for("a")._index], [1, 0] if sizes == 8 else [2, 1])

    def test_a_network_without_a_text_rule_says_so(self):
        with self.assertRaisesRegex(morsel.Error, "text rule"):
            morsel.Model(SHIPPED).embed("a")


class Answers(unittest.TestCase):
    """By the answer rule in the blob, as the tool tells them."""

    PHOTO = at("models/spots/pictures/spots.ppm")

    def made(self, folder, rule, *outputs):
        path = os.path.join(folder, "net.morsel")
        if isinstance(rule, dict):
            rule, text = os.path.join(folder, "answer.json"), json.dumps(rule)
            with open(rule, "w", encoding="utf-8") as file:
                file.write(text)
        spots = at("models/spots")
        more = [word for name in outputs for word in ("--output-node", name)]
        morsel.tool("quantize", f"{spots}/network.onnx", "--data", f"{spots}/pictures", "--picture", f"{spots}/picture.json", "--answer", rule,
                    "--labels", f"{spots}/labels.txt", "-o", path, *more)
        return path

    def fields(self, found):
        return [dataclasses.asdict(one) for one in found]

    def test_boxes_are_those_of_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.made(folder, at("models/spots/answer.json"))
            want = morsel.tool("run", path, self.PHOTO)["results"][0]["boxes"]
            have = self.fields(morsel.Model(path).detect(pixels(self.PHOTO)))
        self.assertEqual(len(have), 4)
        for a, b in zip(have, want):
            self.assertEqual((a["label"], a["index"]), (b["label"], b["index"]))
            np.testing.assert_allclose([a[k] for k in ("p", "x0", "y0", "x1", "y1")], [b[k] for k in ("p", "x0", "y0", "x1", "y1")], rtol=1e-6)

    def test_pixels_are_those_of_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            path, mask = self.made(folder, {"kind": "segmentation"}, "scores10"), os.path.join(folder, "mask.npy")
            morsel.tool("run", path, self.PHOTO, "--mask", mask)
            have = morsel.Model(path).segment(pixels(self.PHOTO))
            self.assertEqual((have.dtype, have.shape, have.tobytes()), (np.dtype(np.uint8), (72, 96), np.load(mask).tobytes()))
        self.assertEqual(sorted(set(have.reshape(-1))), [0, 1, 2])

    def test_points_are_those_of_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.made(folder, {"kind": "points", "head": "heatmaps"}, "scores10")
            want = morsel.tool("run", path, self.PHOTO)["results"][0]["points"]
            have = self.fields(morsel.Model(path).points(pixels(self.PHOTO)))
        self.assertEqual([(a["label"], a["x"], a["y"]) for a in have], [(b["label"], b["x"], b["y"]) for b in want])
        self.assertEqual(len(have), 3)

    def test_vectors_are_those_of_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.made(folder, {"kind": "embedding", "normalize": True}, "scores10")
            want = morsel.tool("run", path, self.PHOTO)["results"][0]["vector"]
            model = morsel.Model(path)
            have = model.embed(pixels(self.PHOTO))
            both = model.embed([pixels(self.PHOTO)] * 2)
        self.assertEqual((have.shape, both.shape, have.dtype), ((3 * 8 * 8,), (2, 3 * 8 * 8), np.dtype(np.float32)))
        np.testing.assert_allclose(have, want, rtol=1e-6)
        self.assertAlmostEqual(float(np.linalg.norm(have)), 1, places=5)

    def test_classes_are_by_the_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            shipped, path = at("models/cifar10"), os.path.join(folder, "net.morsel")
            blob = morsel.convert(f"{shipped}/network.onnx", picture=f"{shipped}/picture.json",
                                  answer={"kind": "classes", "activation": "sigmoid", "most": 3})
            with open(path, "wb") as file:
                file.write(blob)
            want = morsel.tool("run", path, PICTURES[0])["results"][0]["top"]
            model = morsel.Model(path)
            have = model.classify(pixels(PICTURES[0]))
            self.assertEqual([(a.index, np.float32(a.p)) for a in have], [(b["index"], np.float32(b["p"])) for b in want])
            self.assertEqual((len(have), model.classify(pixels(PICTURES[0]), 1)), (3, have[:1]))

    def test_a_blob_without_the_rule_says_so(self):
        model, picture = morsel.Model(SHIPPED), pixels(PICTURES[0])
        for call in (model.detect, model.segment, model.points, model.embed):
            with self.assertRaisesRegex(morsel.Error, "answer rule of kind"):
                call(picture)


class Paths(unittest.TestCase):
    def test_a_path_is_opened_by_pillow(self):
        try:
            import PIL  # noqa: F401
        except ImportError:
            self.skipTest("no Pillow")
        model = morsel.Model(SHIPPED)
        for path in (PICTURES[0], pathlib.Path(PICTURES[0])):
            self.assertEqual(model.classify(path), model.classify(pixels(PICTURES[0])))
        with self.assertRaises(FileNotFoundError):
            model.classify("no such file")

    def test_without_pillow_a_path_names_it(self):
        with unittest.mock.patch.dict(sys.modules, {"PIL": None}):
            with self.assertRaisesRegex(TypeError, "picture is the path 'cat.jpg'.*Pillow.*array"):
                morsel.Model(SHIPPED).classify("cat.jpg")

    def test_help_says_what_a_method_does(self):
        for of in (morsel.Model, morsel.Session):
            for name in ("run", "classify", "detect", "segment", "points", "embed"):
                text = getattr(of, name).__doc__
                self.assertNotRegex(text, r"^See ", name)
                self.assertGreater(len(text), 60, name)


class Pages(unittest.TestCase):
    def test_examples_of_the_pages_run(self):
        try:
            import PIL  # noqa: F401
        except ImportError:
            self.skipTest("no Pillow")
        shipped = at("models/cifar10")
        files = {"food.onnx": f"{shipped}/network.onnx", "rule.json": f"{shipped}/picture.json", "labels.txt": f"{shipped}/labels.txt",
                 "photo.ppm": f"{shipped}/pictures/cat.ppm", "food_float.onnx": at("tests/cli/float_small.onnx")}
        before = os.getcwd()
        for page, count in (("README.md", 1), ("tools/package/python/README.md", 2)):
            with open(at(page), encoding="utf-8") as file:
                blocks = re.findall(r"(?<!-->\n)^```python\n(.*?)^```", file.read(), re.M | re.S)
            self.assertEqual(len(blocks), count, page)
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
                for name, path in files.items():
                    os.symlink(path, os.path.join(folder, name))
                os.chdir(folder)
                try:
                    for block in blocks:
                        exec(compile(block, page, "exec"), {})
                finally:
                    os.chdir(before)
            self.assertIn("cat" if page == "README.md" else "mse", printed.getvalue())


class Header(unittest.TestCase):
    def test_structs_are_those_of_the_header(self):
        structs = {"model": library.Model, "options": library.Options, "session": library.Session, "view": library.View,
                   "plane": library.Plane, "frame": library.Frame, "class": library.Class, "box": library.Box, "point": library.Point}
        lines, want = [], []
        for name, struct in structs.items():
            lines.append(f"sizeof(struct morsel_{name})")
            want.append(ctypes.sizeof(struct))
            for field, kind in struct._fields_:
                lines += [f"offsetof(struct morsel_{name}, {field})", f"sizeof((struct morsel_{name} *)0)->{field}"]
                want += [getattr(struct, field).offset, ctypes.sizeof(kind)]
        names = {"MORSEL_MAX_RANK": library.MAX_RANK, "MORSEL_ALIGNMENT": library.ALIGNMENT, "MORSEL_UINT8": library.UINT8,
                 "MORSEL_INT8": library.INT8, "MORSEL_INT32": library.INT32, "MORSEL_FLOAT32": library.FLOAT32,
                 "MORSEL_ROW_MAJOR": library.ROW_MAJOR, "MORSEL_CHANNELS_LAST": library.CHANNELS_LAST}
        names.update({f"MORSEL_{name}": getattr(library, name) for name in (
            "ERR_CAPACITY", "ANSWER_NONE", "ANSWER_CLASSES", "ANSWER_DETECTIONS", "ANSWER_EMBEDDING", "ANSWER_SEGMENTATION", "ANSWER_POINTS")})
        names.update({f"MORSEL_{name}": number for name, (number, _) in library.PIXELS.items()})
        lines += names.keys()
        want += names.values()
        source = '#include "core/morsel.h"\n#include <stdio.h>\nint main(void) {\n'
        source += "".join(f'    printf("%ld\\n", (long)({line}));\n' for line in lines) + "    return 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sizes.c"), "w", encoding="utf-8") as file:
                file.write(source)
            program = os.path.join(folder, "sizes")
            subprocess.run([*os.environ.get("CC", "cc").split(), f"-I{ROOT}", file.name, "-o", program], check=True)
            have = [int(line) for line in subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout.split()]
        self.assertEqual(dict(zip(lines, have)), dict(zip(lines, want)))

    def test_functions_are_those_of_the_header(self):
        with open(at("core/morsel.h"), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        with open(at("tools/package/python/exports.c"), encoding="utf-8") as file:
            text += re.sub(r"EXPORTED |/\*.*?\*/", "", file.read(), flags=re.S)
        for name, (result, *arguments) in library._FUNCTIONS.items():
            found = re.search(r"^([\w ]+?[ *])" + name + r"\(([^)]*)\)", text, re.M)
            self.assertIsNotNone(found, name)
            count = 0 if found.group(2) == "void" else found.group(2).count(",") + 1
            self.assertEqual(len(arguments), count, name)
            kind = {"c_char_p": "char *", "c_uint": "uint32_t", "c_ulong": "t", "c_int": "", "c_void_p": "*"}
            self.assertIn(kind.get(getattr(result, "__name__", ""), ""), found.group(1), name)

    def test_the_version_is_that_of_the_header(self):
        with open(at("core/morsel.h"), encoding="utf-8") as file:
            self.assertIn(f'#define MORSEL_VERSION "{morsel.__version__}"', file.read())

    def test_other_threads_run_while_c_computes(self):
        self.assertIs(type(library.lib), ctypes.CDLL)


if __name__ == "__main__":
    unittest.main()
