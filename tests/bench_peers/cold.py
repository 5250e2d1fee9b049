# SPDX-License-Identifier: MIT
"""cold.py [--cpu CAP] [--rounds N] [NET or FILE.onnx ...]: from a file on the disk to the first answer, each time in a fresh process.

Columns, medians of the rounds, which take turns: `session` until a run can begin (Morsel: mmap, open, session; the peers: their session
from the file's path), `first` run, both together, a steady run, and how many of those the first answer takes. The file is in the
system's page cache, but none of it is mapped; `(disk)`: Morsel with the file not even there. Imports of packages are not counted.
`peak` is the peak of resident memory (VmHWM of the process: ru_maxrss would count its parent's) after the first answer, in MB, and
`own` what it has grown by since the packages were imported and before the file was looked at; Morsel's is that of a whole C program.
Forms of the networks, CAP and threads are those of run.py."""
import argparse
import importlib
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MORSEL = os.environ.get("MORSEL", os.path.join(HERE, "../../build/morsel"))
COLD = os.environ.get("COLD", os.path.join(HERE, "../../build/tests/bench_peers/cold"))


def peak_mb():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


# --- one answer of a peer, in a process of its own: each gives back what makes a session and runs it once

def onnxruntime_first(path):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3

    def session():
        s = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        into = s.get_inputs()[0]
        feed = {into.name: np.zeros([d if isinstance(d, int) else 1 for d in into.shape], np.float32)}
        return lambda: s.run(None, feed)
    return "onnxruntime " + onnxruntime.__version__, session


def openvino_first(path):
    import numpy as np
    import openvino

    def session():
        core = openvino.Core()
        model = core.read_model(path)
        shape = [d.get_length() if d.is_static else 1 for d in model.inputs[0].partial_shape]
        model.reshape(shape)
        hints = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False}
        compiled = core.compile_model(model, "CPU", hints)
        request = compiled.create_infer_request()
        request.set_input_tensor(openvino.Tensor(np.zeros(shape, np.float32)))
        return request.infer
    return "openvino " + openvino.__version__.split("-")[0], session


def litert_first(path):
    import importlib.metadata
    from ai_edge_litert.interpreter import Interpreter
    import numpy as np

    def session():
        interpreter = Interpreter(model_path=path, num_threads=1)
        interpreter.allocate_tensors()
        into = interpreter.get_input_details()[0]
        interpreter.set_tensor(into["index"], np.zeros(into["shape"], np.int8))
        return interpreter.invoke
    return "litert " + importlib.metadata.version("ai-edge-litert"), session


FIRST = {"onnxruntime": onnxruntime_first, "openvino": openvino_first, "litert": litert_first}


def peer_process(kind, path):
    name, session = FIRST[kind](path)
    before, start = peak_mb(), time.perf_counter()
    run = session()
    made = time.perf_counter()
    run()
    answered, peak = time.perf_counter(), peak_mb()
    steady = []
    for _ in range(10):
        begin = time.perf_counter()
        run()
        steady.append(time.perf_counter() - begin)
    print(json.dumps({"name": name, "session": (made - start) * 1e3, "first": (answered - made) * 1e3,
                      "steady": statistics.median(steady) * 1e3, "peak": peak, "own": peak - before}))


# --- the table

def ask_peer(kind, path):
    command = [sys.executable, os.path.abspath(__file__), "--peer", kind, path]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def ask_morsel(name, blob, *options):
    got = json.loads(subprocess.run([COLD, blob, "--runs", "10", *options], capture_output=True, text=True, check=True).stdout)
    return {"name": name, "session": (got["all_us"] - got["first_us"]) * 1e-3, "first": got["first_us"] * 1e-3,
            "steady": got["steady_us"] * 1e-3, "peak": got["peak_kb"] / 1024, "own": (got["peak_kb"] - got["peak_before_kb"]) / 1024,
            "open": got["open_us"]}


def write_openvino(case, run):
    """A network that NNCF quantized takes a file of its own; a quantized ONNX file is read as it is."""
    if not case.float:
        return case.path
    import nncf
    import openvino
    nncf.set_log_level(40)
    model = openvino.convert_model(os.path.join(case.work, "float.onnx"))
    model = nncf.quantize(model, nncf.Dataset(run.inputs_of(case.float, 4)[1]), subset_size=4)
    path = os.path.join(case.work, "openvino.xml")
    openvino.save_model(model, path)
    return path


def write_litert(case, run):
    if not case.float:
        raise RuntimeError("a TFLite model is made of built-in networks only")
    path = os.path.join(case.work, "network.tflite")
    with open(path, "wb") as f:
        f.write(run.topologies.make(case.name, importlib.import_module("tflite").Maker))
    return path


def ways_of(case, run):
    """Everything that is asked in each round."""
    blob = run.Morsel(case).blob
    ways = [lambda: ask_morsel("morsel", blob), lambda: ask_morsel("morsel, checksum", blob, "--checksum"),
            lambda: ask_morsel("morsel, mapped whole", blob, "--populate"),
            lambda: ask_morsel("morsel (disk)", blob, "--dropped"), lambda: ask_peer("onnxruntime", case.path)]
    for kind, write in (("openvino", write_openvino), ("litert", write_litert)):
        try:
            path = write(case, run)
            ways.append(lambda kind=kind, path=path: ask_peer(kind, path))
        except Exception as error:  # a peer that cannot take this network is left out, and said so
            print(f"  {kind}: left out: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    return ways


def measure(net, rounds, run):
    with tempfile.TemporaryDirectory() as work:
        ways = ways_of(run.Case(net, work), run)
        got = [[] for _ in ways]
        for _ in range(rounds):
            for way, list_ in zip(ways, got):
                list_.append(way())
    rows = []
    for list_ in got:
        row = {key: statistics.median(g[key] for g in list_) for key in list_[0] if key != "name"}
        row["name"] = list_[0]["name"]
        both = row["session"] + row["first"]
        rows.append(row)
        opened = f"  open {row['open']:.0f} us" if "open" in row else ""
        print(f"{os.path.basename(net):18} {row['name']:20} {row['session']:9.3f} {row['first']:9.3f} {both:9.3f} {row['steady']:8.3f} "
              f"{both / row['steady']:7.2f} {row['peak']:7.1f} {row['own']:6.1f}{opened}")
    return {"net": net, "rows": rows}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cpu", default="avx512vnni", choices=("avx2", "avxvnni", "avx512vnni"), help="of OpenVINO; Morsel takes what there is")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    p.add_argument("--json", help="a file for the figures")
    p.add_argument("nets", nargs="*", default=["mobilenetv2-224"])
    a = p.parse_args()
    sys.argv[1:] = ["--cpu", a.cpu, "--core", str(a.core)]
    import run  # takes its own arguments, and binds this process and those that it starts
    logging.disable(logging.WARNING)
    print(f"one thread on core {a.core}, {a.rounds} rounds, times in ms, memory in MB")
    print(f"{'network':18} {'':20} {'session':>9} {'first':>9} {'together':>9} {'steady':>8} {'/steady':>7} {'peak':>7} {'own':>6}")
    done = [measure(net, a.rounds, run) for net in a.nets]
    if a.json:
        with open(a.json, "w") as f:
            json.dump(done, f, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer_process(*sys.argv[2:4])
    else:
        main()
