#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long all-MiniLM-L6-v2 takes on one thread, beside ONNX Runtime and OpenVINO; how that grows with length, batch and threads.

    speed.py FOLDER [--tokens N...] [--rounds N] [--growth] [--peers]       MORSEL is the tool, build/morsel where it is not set

FOLDER has model.onnx and tokenizer.json. All peers get the same float network and quantize it their way. Ranges of static forms, OpenVINO's
by NNCF and ours by `quantize --data`, come of summaries of this machine's Debian packages. Peers run in turns, and the least of all rounds
counts. Times are those of the CPU, whatever else the machine does; columns that say so have the clock's, which want a machine of their own.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

MORSEL = os.environ.get("MORSEL", "build/morsel")
LENGTHS = [8, 16, 32, 64, 128, 256, 512]
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def run(*arguments):
    done = subprocess.run([MORSEL, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def clock(blob, seconds, *options):
    return run("bench", blob, "--json", "--seconds", str(seconds), *options)["min_ms"]


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu(blob, seconds, *options):
    """Of a run: what some runs take more than few, as the rest of the program is the same."""
    few = 3
    many = few + max(5, int(seconds * 1e3 / run("bench", blob, "--json", "--runs", str(few), *options)["min_ms"]))
    taken = []
    for runs in (few, many):
        start = children()
        run("bench", blob, "--json", "--warmup", "2", "--runs", str(runs), *options)
        taken.append(children() - start)
    return (taken[1] - taken[0]) / (many - few) * 1e3


def convert(source, blob, lengths, ranges=("--dynamic",)):
    return run("quantize", source, *ranges, "--dim", "sequence=" + ",".join(map(str, lengths)), "-o", blob, "--json")


def summaries():
    text = subprocess.run(["dpkg-query", "-W", "-f=${binary:Summary}\n"], capture_output=True, text=True, check=True).stdout
    return sorted({line for line in text.splitlines() if len(line) > 15})[::7][:100]


def static_ranges(folder, work):
    """Options of quantize: those lines, tokenized as the package says."""
    with open(f"{work}/rule.json", "w", encoding="utf-8") as file:
        json.dump({"tokenizer": os.path.abspath(f"{folder}/tokenizer.json"), "pooling": "none"}, file)
    with open(f"{work}/lines.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(summaries()) + "\n")
    return "--data", f"{work}/lines.txt", "--text", f"{work}/rule.json", "--method", "minmax"


def ids(tokens, seed=1):
    rng = np.random.default_rng(seed)
    kinds = (rng.integers(1000, 30000, (1, tokens)), np.ones((1, tokens)), np.zeros((1, tokens)))
    return dict(zip(INPUTS, (k.astype(np.int64) for k in kinds)))


def cpu_of(call, seconds):
    call()
    start, count, end = time.process_time(), 0, time.perf_counter() + seconds
    while count < 5 or time.perf_counter() < end:
        call()
        count += 1
    return (time.process_time() - start) / count * 1e3


class Runtimes:
    """The network in the forms of ONNX Runtime and OpenVINO; what is not installed is left out."""

    def __init__(self, folder, work):
        import onnxruntime as ort
        from onnxruntime.quantization import QuantType, quantize_dynamic
        self.ort, self.folder, self.files = ort, folder, {"ONNX Runtime, float": f"{work}/float.onnx"}
        options = self.options()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC  # weights become constants
        options.optimized_model_filepath = f"{work}/float.onnx"
        ort.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
        for name, file, channels in (("dynamic", "tensor", False), ("dynamic by channel", "channel", True)):
            quantize_dynamic(f"{work}/float.onnx", f"{work}/{file}.onnx", per_channel=channels, weight_type=QuantType.QInt8)
            self.files[f"ONNX Runtime, {name}"] = f"{work}/{file}.onnx"

    def options(self):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        return options

    def sessions(self, tokens):
        feeds = ids(tokens)
        for name, path in self.files.items():
            session = self.ort.InferenceSession(path, self.options(), providers=["CPUExecutionProvider"])
            yield name, lambda session=session: session.run(None, feeds)
        try:
            yield "OpenVINO, NNCF's static int8", self.openvino(tokens)
        except ImportError as error:
            print(f"skip OpenVINO: {error}")

    def openvino(self, tokens):
        import nncf
        import openvino
        from tokenizers import Tokenizer
        tokenizer = Tokenizer.from_file(f"{self.folder}/tokenizer.json")
        tokenizer.enable_truncation(tokens)
        tokenizer.enable_padding(length=tokens)
        samples = [tokenizer.encode(line) for line in summaries()]
        samples = [{"input_ids": np.array([s.ids]), "attention_mask": np.array([s.attention_mask]),
                    "token_type_ids": np.array([s.type_ids])} for s in samples]
        network = openvino.convert_model(self.files["ONNX Runtime, float"])
        network.reshape({name: [1, tokens] for name in INPUTS})
        network = nncf.quantize(network, nncf.Dataset(samples), model_type=nncf.ModelType.TRANSFORMER)
        settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        request = openvino.Core().compile_model(network, "CPU", settings).create_infer_request()
        feeds = ids(tokens)
        return lambda: request.infer(feeds)


def peers(folder, work, tokens, rounds, seconds):
    blobs = {"Morsel, quantize --dynamic": f"{work}/net.morsel", "Morsel, static": f"{work}/static.morsel"}
    runtimes = Runtimes(folder, work)
    convert(f"{folder}/model.onnx", blobs["Morsel, quantize --dynamic"], tokens)
    convert(runtimes.files["ONNX Runtime, float"], blobs["Morsel, static"], tokens, static_ranges(folder, work))
    print("| tokens | " + " | ".join([*blobs, *runtimes.files, "OpenVINO, NNCF's static int8"]) + " |  [ms, ratio to the first]")
    for number, n in enumerate(sorted(tokens, reverse=True)):  # variants stand from the largest on
        calls = dict(runtimes.sessions(n))
        best = {}
        for _ in range(rounds):
            for name, blob in blobs.items():
                ours = cpu(blob, seconds, *(["--variant", str(number)] if len(tokens) > 1 else []))
                best[name] = min(best.get(name, ours), ours)
            for name, call in calls.items():
                best[name] = min(best.get(name, float("inf")), cpu_of(call, seconds))
        first = next(iter(best.values()))
        print(f"| {n} | " + " | ".join(f"{ms:.2f} ({ms / first:.2f})" for ms in best.values()) + " |", flush=True)


def growth(folder, work, seconds):
    blob = f"{work}/lengths.morsel"
    convert(f"{folder}/model.onnx", blob, LENGTHS)
    print("| tokens | ms | us a token | clock | clock, 2 threads |\n|---|---|---|---|---|")
    for number, n in reversed(list(enumerate(sorted(LENGTHS, reverse=True)))):
        which = ("--variant", str(number))
        ms, one, two = cpu(blob, seconds, *which), clock(blob, seconds, *which), clock(blob, seconds, *which, "--threads", "2")
        print(f"| {n} | {ms:.3f} | {ms * 1e3 / n:.1f} | {one:.3f} | {two:.3f} |", flush=True)
    which = ("--variant", str(sorted(LENGTHS, reverse=True).index(32)))
    print("\n| texts of 32 tokens in a run | ms a text | clock | clock, 2 threads |\n|---|---|---|---|")
    for batch in (1, 2, 4, 8, 16, 32):
        some = (*which, "--batch", str(batch))
        times = cpu(blob, seconds, *some), clock(blob, seconds, *some), clock(blob, seconds, *some, "--threads", "2")
        print(f"| {batch} | " + " | ".join(f"{ms / batch:.3f}" for ms in times) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 32])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="of each peer in a round")
    parser.add_argument("--peers", action="store_true", help="no table of growth")
    parser.add_argument("--growth", action="store_true", help="that alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        if not options.growth:
            peers(options.folder, work, options.tokens, options.rounds, options.seconds)
        if not options.peers:
            growth(options.folder, work, options.seconds)


if __name__ == "__main__":
    main()
