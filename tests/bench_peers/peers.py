# SPDX-License-Identifier: MIT
"""Morsel and the runtimes beside it, each behind run() and time(): what run.py and ../zoo/run.py measure with."""
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MORSEL = os.environ.get("MORSEL", os.path.join(HERE, "../../build/morsel"))
ONEDNN = {"avx2": "AVX2", "avxvnni": "AVX2_VNNI", "avx512vnni": "AVX512_CORE_VNNI"}


def add_options(p, rounds, seconds):
    p.add_argument("--cpu", default="avx512vnni", choices=sorted(ONEDNN), help="the most that Morsel and OpenVINO take; others know no cap")
    p.add_argument("--rounds", type=int, default=rounds)
    p.add_argument("--seconds", type=float, default=seconds, help="of each peer in a round")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the last core to run on")
    p.add_argument("--json", help="a file for the figures")


def settle(options):
    """The cap and the cores, before any of the runtimes is imported."""
    cap = ONEDNN[options.cpu]
    os.environ.update(ONEDNN_MAX_CPU_ISA=cap, DNNL_MAX_CPU_ISA=cap, OMP_NUM_THREADS=str(options.threads))
    cores = sorted(c for c in os.sched_getaffinity(0) if c <= options.core)[-options.threads:]
    if len(cores) < options.threads:
        sys.exit(f"{options.threads} threads want as many cores; there are {len(cores)}")
    os.sched_setaffinity(0, cores)
    return cores


def machine():
    """The processor's name, as it says it itself."""
    with open("/proc/cpuinfo") as f:
        names = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return names[0] if names else os.uname().machine


class Peer:
    """run() is one inference; name and form say what runs."""

    def time(self, seconds):
        times, end = [], time.perf_counter() + seconds
        self.run()
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            self.run()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e3


class Morsel(Peer):
    """A blob, by `morsel bench`."""

    def __init__(self, blob, options, batch=1):
        self.name, self.form, self.runs = "morsel " + options.cpu, "the same file", 3
        self.command = [MORSEL, "bench", blob, "--cpu", options.cpu, "--json", "--warmup", "2", "--threads", str(options.threads),
                        *(["--batch", str(batch)] if batch > 1 else [])]

    def time(self, seconds):
        out = json.loads(subprocess.run([*self.command, "--runs", str(self.runs)], capture_output=True, text=True, check=True).stdout)
        self.runs = max(3, min(2000, int(seconds * 1e3 / out["median_ms"])))
        return out["median_ms"]


def convert(path, blob, options=()):
    """Raises with the converter's own words where it takes no such file."""
    done = subprocess.run([MORSEL, "convert", path, "-o", blob, *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


class OnnxRuntime(Peer):
    def __init__(self, path, feed, options, form):
        import onnxruntime
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads = options.threads, 1
        o.log_severity_level = 3
        self.name, self.form, self.feed = "onnxruntime " + onnxruntime.__version__, form, feed
        self.session = onnxruntime.InferenceSession(path, o, ["CPUExecutionProvider"])

    def run(self):
        return self.session.run(None, self.feed)


class OpenVino(Peer):
    """A model in memory, or a file that it reads; feed has an array for each input by name."""

    def __init__(self, model, feed, options, form):
        import openvino
        core = openvino.Core()
        if isinstance(model, str):
            model = core.read_model(model)
        model.reshape({name: list(value.shape) for name, value in feed.items()})
        self.name, self.form = "openvino " + openvino.__version__.split("-")[0], form + ", " + ONEDNN[options.cpu]
        self.compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": options.threads, "PERFORMANCE_HINT": "LATENCY",
                                                          "ENABLE_CPU_PINNING": False})
        self.request = self.compiled.create_infer_request()
        for name, value in feed.items():
            self.request.set_tensor(name, openvino.Tensor(value))

    def run(self):
        self.request.infer()


class LiteRt(Peer):
    """A TFLite model by its bytes, with random inputs."""

    def __init__(self, content, options, batch=1):
        import importlib.metadata
        import numpy as np
        from ai_edge_litert.interpreter import Interpreter
        self.name, self.form = "litert " + importlib.metadata.version("ai-edge-litert"), "int8 TFLite, by channel, XNNPACK"
        self.interpreter = Interpreter(model_content=content, num_threads=options.threads)
        if batch > 1:
            into = self.interpreter.get_input_details()[0]
            self.interpreter.resize_tensor_input(into["index"], [batch, *into["shape"][1:]])
        self.interpreter.allocate_tensors()
        for into in self.interpreter.get_input_details():
            values = np.random.default_rng(3).integers(-128, 128, into["shape"])
            self.interpreter.set_tensor(into["index"], values.astype(into["dtype"]))

    def run(self):
        self.interpreter.invoke()


def nncf_model(path, feeds):
    """What NNCF makes of a float network by these inputs."""
    import nncf
    import openvino
    nncf.set_log_level(40)
    return nncf.quantize(openvino.convert_model(path), nncf.Dataset(feeds), subset_size=len(feeds))


def interleave(peers, rounds, seconds):
    """The times of each, as many as there are rounds; each round begins with another one."""
    times = {p: [] for p in peers}
    for r in range(rounds):
        first = r % len(peers)
        for p in peers[first:] + peers[:first]:
            times[p].append(p.time(seconds))
    return times
