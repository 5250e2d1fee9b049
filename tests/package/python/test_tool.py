# SPDX-License-Identifier: MIT
"""The tool's verbs in Python: their bytes, their words, and what stops them."""
import html
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import morsel
import numpy as np
from support import SHIPPED, at, case, products_saturate

TOOL = at(os.environ.get("MORSEL", "build/morsel"))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def by_tool(*words, name="x.morsel"):
    """What the tool itself writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        subprocess.run([TOOL, *words, "-o", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return read(path)


class Bytes(unittest.TestCase):
    def test_a_converted_network_is_the_tools(self):
        onnx, rule, labels = at("models/cifar10/network.onnx"), at("models/cifar10/picture.json"), at("models/cifar10/labels.txt")
        want = by_tool("convert", onnx, "--picture", rule, "--labels", labels)
        blob = morsel.convert(onnx, picture=rule, labels=labels)
        self.assertEqual(blob, want)
        self.assertEqual(blob.report["blob_bytes"], len(want))
        with open(labels, encoding="utf-8") as file:
            names = file.read().split()
        with open(rule, encoding="utf-8") as file:
            again = morsel.convert(read(onnx), labels=names, picture=json.load(file))
        self.assertEqual(again, want)  # the file's name is network.onnx in both
        options = ("--strip", "--no-streaming", "--shape", "input=2,3,32,32", "--output-node", "output", "--batch", "2")
        self.assertEqual(morsel.convert(onnx, strip=True, streaming=False, shapes={"input": (2, 3, 32, 32)}, output_nodes="output", batch=2),
                         by_tool("convert", onnx, *options))

    def test_notices_are_warnings(self):
        onnx = at("models/cifar10/network.onnx")
        with self.assertWarnsRegex(UserWarning, "2 labels, and output 'output' has 10 classes") as caught:
            blob = morsel.convert(onnx, labels=["a", "b"])
        self.assertEqual(os.path.basename(caught.filename), "test_tool.py")
        self.assertIn("2 labels", blob.report["notices"][0])
        with self.assertWarnsRegex(UserWarning, "2 labels") as caught:
            morsel.edit(blob, labels=["a", "b"])
        self.assertEqual(os.path.basename(caught.filename), "test_tool.py")
        with self.assertWarnsRegex(UserWarning, "4 samples: one input in 5 goes"):
            morsel.quantize(at("tests/cli/float_small.onnx"), np.random.rand(4, 3, 32, 32).astype("f"))

    def test_what_was_optimized_is_no_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            blob = morsel.quantize(at("tests/cli/float_small.onnx"), dynamic=True)
        self.assertTrue(any(notice.startswith("optimized, ") for notice in blob.report["notices"]))
        self.assertFalse(any("optimized" in str(warning.message) for warning in caught))

    def test_a_path_is_no_option(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                shutil.copy(at("models/cifar10/network.onnx"), "--strip")
                blob = morsel.convert("--strip")
                with open("-o", "wb") as file:
                    file.write(blob)
                edited = morsel.edit("-o", metadata={"a": 1})
            finally:
                os.chdir(before)
        self.assertEqual(morsel.Model(blob).inputs[0].name, "input")
        self.assertEqual(morsel.Model(edited).metadata, {"a": "1"})

    def test_a_key_of_metadata_stays_one(self):
        with self.assertRaisesRegex(ValueError, "'a=b'"):
            morsel.edit(SHIPPED, metadata={"a=b": "c"})

    def test_an_edited_blob_is_the_tools(self):
        want = by_tool("edit", SHIPPED, "--set", "version=3", "--labels", "")
        blob = morsel.edit(SHIPPED, labels="", metadata={"version": 3, "gone": None})
        self.assertEqual(blob, want)
        self.assertEqual(morsel.edit(SHIPPED, labels=[], metadata={"version": 3}), want)
        self.assertEqual(morsel.Model(blob).metadata, {"version": "3"})
        self.assertEqual(morsel.Model(blob).labels, [])
        self.assertEqual(morsel.edit(blob, labels=at("models/cifar10/labels.txt"), metadata={"version": None}), read(SHIPPED))
        self.assertEqual(morsel.Model(SHIPPED).metadata, {})
        onnx = at("models/cifar10/network.onnx")
        self.assertEqual(morsel.convert(onnx, metadata={"b": "x=y", "a": 1}), by_tool("convert", onnx, "--set", "a=1", "--set", "b=x=y"))

    def test_a_report_is_shown_and_saved(self):
        report = morsel.report(SHIPPED, options=["--runs", 3])
        self.assertTrue(report.html.startswith("<!DOCTYPE html>"))
        self.assertEqual(html.unescape(report._repr_html_().split('srcdoc="')[1].split('"')[0]), report.html)
        with tempfile.TemporaryDirectory() as folder:
            report.save(os.path.join(folder, "report.html"))
            self.assertEqual(read(os.path.join(folder, "report.html")).decode(), report.html)
            self.assertEqual(os.listdir(folder), ["report.html"])
            os.mkdir(os.path.join(folder, "taken.html"))
            with self.assertRaises(OSError):
                report.save(os.path.join(folder, "taken.html"))
            self.assertEqual(sorted(os.listdir(folder)), ["report.html", "taken.html"])

    def test_a_quantized_network_is_the_tools(self):
        onnx = at("tests/cli/float_small.onnx")
        report = morsel.tool("inspect", onnx)
        shape = [64, *report["inputs"][0]["shape"][1:]]
        data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.npy")
            np.save(path, data)
            want = by_tool("quantize", onnx, "--data", path, "--count", "32", "--method", "minmax", "--exclude", "add", "--no-adaround")
            options = {"count": 32, "method": "minmax", "exclude": "add", "options": ["--no-adaround"]}
            name = report["inputs"][0]["name"]
            for given in (data, path, [path], {name: data}, np.asfortranarray(data)):
                self.assertEqual(morsel.quantize(onnx, given, **options), want)
            want = by_tool("quantize", onnx, "--data", path, "--count", "32", name="x.onnx")
            self.assertEqual(morsel.quantize(onnx, path, form="qdq", count=32), want)
        self.assertEqual(morsel.quantize(onnx, dynamic=True), by_tool("quantize", onnx, "--dynamic"))

    def test_new_inputs_give_the_bytes_of_onnx_runtime(self):
        if not importlib.util.find_spec("onnxruntime"):
            self.skipTest("no onnxruntime")
        import onnxruntime

        for name in ("conv_dense-qop-u8s8pc", "residual-qop-s8s8pc", "pool_GlobalAveragePool-qop-s8s8pc-ties", "several-qop-s8s8pc-byteio"):
            if "u8s8" in name and products_saturate():
                continue
            blob, inputs, _ = case(name)
            session = onnxruntime.InferenceSession(at(f"tests/golden/cases/{name}/net.onnx"), providers=["CPUExecutionProvider"])
            model, random = morsel.Model(blob), np.random.default_rng(5)
            for _ in range(20):
                given = [random.standard_normal(x.shape).astype(np.float32) * 2 if x.dtype.kind == "f" else
                         random.integers(np.iinfo(x.dtype).min, np.iinfo(x.dtype).max, x.shape, x.dtype, endpoint=True) for x in inputs]
                want = session.run(None, {t.name: x for t, x in zip(model.inputs, given)})
                self.assertEqual([y.tobytes() for y in model.run(given)], [y.tobytes() for y in want], name)


class Words(unittest.TestCase):
    def test_a_refusal_is_in_the_tools_words(self):
        path = at("tests/cli/float_refused.onnx")
        told = subprocess.run([TOOL, "convert", path, "-o", "/dev/null"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
        with self.assertRaises(morsel.ToolError) as caught:
            morsel.convert(path)
        self.assertEqual((caught.exception.code, str(caught.exception)), (1, told.stderr.rstrip("\n").replace("morsel: ", "")))
        self.assertIn("Einsum", [refused["op"] for refused in caught.exception.report["refused"]])

    def test_calls_at_fault_say_so(self):
        for call, code in ((lambda: morsel.convert(b"no network"), 1), (lambda: morsel.convert("no such file"), 1),
                           (lambda: morsel.quantize(at("tests/cli/float_small.onnx")), 2), (lambda: morsel.tool("dance"), 2),
                           (lambda: morsel.convert(SHIPPED, labels=["a\nb"], shapes={"x": (0,)}), 2)):
            with self.assertRaises(morsel.ToolError) as caught:
                call()
            self.assertEqual(caught.exception.code, code, caught.exception)
            self.assertGreater(len(str(caught.exception)), 10)
        with self.assertRaises(ValueError):
            morsel.quantize("x.onnx", form="dance")

    def test_an_error_names_the_argument(self):
        small, onnx = at("tests/cli/float_small.onnx"), at("models/cifar10/network.onnx")
        for call, says in ((lambda: morsel.convert(onnx, picture={"mode": 3}), "picture: key"),
                           (lambda: morsel.convert(onnx, answer={"kind": "dance"}), "answer: "),
                           (lambda: morsel.convert(onnx, labels=["x" * 2000]), "labels: "),
                           (lambda: morsel.convert(b"no network"), "network: "),
                           (lambda: morsel.edit(b"no blob", labels=""), "blob: "),
                           (lambda: morsel.quantize(small, np.zeros((40, 2), np.float32)), "data: "),
                           (lambda: morsel.quantize(small, at("models/cifar10/pictures")), "picture=$"),
                           (lambda: morsel.quantize(small), "data= is missing"),
                           (lambda: morsel.quantize(small, dynamic=True, exclude="nothing"), "exclude= nothing: no node")):
            with self.assertRaisesRegex(morsel.ToolError, says) as caught:
                call()
            for foreign in ("morsel-", "tools/README", "--data", "--picture", "--exclude"):
                self.assertNotIn(foreign, str(caught.exception))

    def test_samples_may_come_from_an_iterator(self):
        small, samples = at("tests/cli/float_small.onnx"), np.random.default_rng(1).normal(size=(40, 3, 32, 32)).astype(np.float32)
        self.assertEqual(morsel.quantize(small, iter(samples)), morsel.quantize(small, samples))
        with self.assertRaisesRegex(TypeError, "data is samples .* not object"):
            morsel.quantize(small, object())

    def test_progress_is_told_line_by_line(self):
        lines = []
        morsel.convert(at("models/cifar10/network.onnx"), labels=["a", "b"], progress=lines.append)
        self.assertEqual(len([line for line in lines if "2 labels" in line]), 1)

    def test_the_package_is_the_tool(self):
        script = os.path.join(os.path.dirname(morsel.__file__), "__main__.py")
        for call in ([sys.executable, "-m", "morsel"], [sys.executable, "-S", script]):
            told = subprocess.run([*call, "run", SHIPPED, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout
            self.assertEqual(told, subprocess.run([TOOL, "run", SHIPPED, "--help"], stdout=subprocess.PIPE, check=True).stdout)
            self.assertEqual(subprocess.run([*call, "dance"], stderr=subprocess.DEVNULL).returncode, 2)


class Stops(unittest.TestCase):
    """The labels are a pipe that nobody writes to: the tool waits for them as long as it takes."""

    def wait(self, act):
        """Calls convert(), and act(pid of the tool) when it has opened the pipe. What was raised, and what was left of its files."""
        with tempfile.TemporaryDirectory() as folder:
            pipe, rooms = os.path.join(folder, "pipe"), os.path.join(folder, "rooms")
            os.mkfifo(pipe)
            os.mkdir(rooms)
            held = []

            def watch():
                while not held:
                    try:
                        held.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))  # as soon as the other end is opened
                    except OSError:
                        time.sleep(0.01)
                with open(f"/proc/self/task/{threading.main_thread().native_id}/children", encoding="ascii") as file:
                    self.child = int(file.read().split()[0])
                act(self.child)

            before, tempfile.tempdir = tempfile.tempdir, rooms
            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            try:
                morsel.convert(at("models/cifar10/network.onnx"), labels=pipe)
            except BaseException as error:
                watcher.join(60)
                return error, os.listdir(rooms)
            finally:
                tempfile.tempdir = before
                for fd in held:
                    os.close(fd)
        self.fail("nothing was raised")

    def test_an_interrupt_stops_a_conversion(self):
        error, left = self.wait(lambda child: os.kill(os.getpid(), signal.SIGINT))
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assertEqual(left, [])
        self.assertFalse(os.path.exists(f"/proc/{self.child}"))

    def test_a_tool_that_is_killed_is_an_error(self):
        error, left = self.wait(lambda child: os.kill(child, signal.SIGKILL))
        self.assertIsInstance(error, morsel.ToolError)
        self.assertEqual((error.code, left), (-signal.SIGKILL, []))
        self.assertIn("9", str(error))

    def test_the_tool_itself_hears_an_interrupt(self):
        error, _ = self.wait(lambda child: os.kill(child, signal.SIGINT))
        self.assertIsInstance(error, morsel.ToolError)
        self.assertEqual(error.code, -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
