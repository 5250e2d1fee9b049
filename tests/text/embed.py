#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""all-MiniLM-L6-v2 with its real weights, by both exporters of PyTorch, beside its float network in ONNX Runtime.

    embed.py FOLDER [--lines N] [--tokens N]        MORSEL is the tool, build/morsel where it is not set

Of each form: bytes of blob and arena, the mean cosine of N lines' vectors with the float ones, and how many have the same nearest line.
Lines are summaries of this machine's Debian packages; static ranges come from others of them.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

MORSEL = os.environ.get("MORSEL", "build/morsel")
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class Sentence(torch.nn.Module):
    """Mean of the tokens that the mask has, of length 1."""

    def __init__(self, folder, attention):
        super().__init__()
        with open(f"{folder}/config.json", encoding="utf-8") as file:
            config = BertConfig(**json.load(file))
        config._attn_implementation = attention
        self.bert = BertModel(config, add_pooling_layer=False)
        weights = load_file(f"{folder}/model.safetensors")
        left = self.bert.load_state_dict({k.removeprefix("bert."): v for k, v in weights.items()}, strict=False)
        assert not left.missing_keys, left.missing_keys

    def forward(self, input_ids, attention_mask, token_type_ids):
        h = self.bert(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, return_dict=False)[0]
        m = attention_mask.unsqueeze(-1).to(h.dtype)
        return torch.nn.functional.normalize((h * m).sum(1) / m.sum(1).clamp(min=1e-9), dim=-1)


def export(folder, path, attention, dynamo):
    net = Sentence(folder, attention).eval()
    sample = tuple(torch.full((1, 16), v, dtype=torch.int64) for v in (1, 1, 0))  # of one tensor the exporter makes one input
    names = {"input_names": INPUTS, "output_names": ["sentence"]}
    if dynamo:
        free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        torch.onnx.export(net, sample, dynamo=True, opset_version=18, dynamic_shapes={k: free for k in INPUTS}, **names).save(path)
    else:
        axes = {k: {0: "batch", 1: "sequence"} for k in INPUTS}
        torch.onnx.export(net, sample, path, dynamo=False, opset_version=17, dynamic_axes=axes, **names)


def forms(folder, work):
    """What it is, its file, and the verb and options that make a blob of it."""
    for name, attention, dynamo in (("eager", "eager", False), ("sdpa", "sdpa", False), ("dynamo", "sdpa", True)):
        path = f"{work}/{name}.onnx"
        export(folder, path, attention, dynamo)
        yield f"{name}, quantize --dynamic", path, ["quantize", path, "--dynamic"]
        yield f"{name}, quantize, static", path, ["quantize", path, "--data", f"{work}/data.txt", "--method", "minmax"]
        made = f"{work}/{name}-ort.onnx"
        quantize_dynamic(path, made, per_channel=True, weight_type=QuantType.QInt8)
        yield f"{name}, quantize_dynamic", made, ["convert", made]
        options = ort.SessionOptions()
        options.optimized_model_filepath, options.log_severity_level = f"{work}/{name}-fused.onnx", 4
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        ort.InferenceSession(made, options, providers=["CPUExecutionProvider"])
        yield f"{name}, the same, optimized", options.optimized_model_filepath, ["convert", options.optimized_model_filepath]


def reference(path, tokenizer, lines):
    session, vectors = ort.InferenceSession(path, providers=["CPUExecutionProvider"]), []
    for line in lines:
        ids = np.array([tokenizer.encode(line).ids], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vectors.append(session.run(None, feeds)[0][0])
    return np.array(vectors)


def nearest(vectors):
    near = vectors @ vectors.T
    np.fill_diagonal(near, -2)
    return near.argmax(1)


def run(arguments):
    done = subprocess.run([MORSEL, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=128)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(f"{options.folder}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(options.tokens)
    text = subprocess.run(["dpkg-query", "-W", "-f=${binary:Summary}\n"], capture_output=True, text=True, check=True).stdout
    lines, want = sorted({line for line in text.splitlines() if len(line) > 15}), None
    data, lines = lines[::4], [line for i, line in enumerate(lines) if i % 4][:options.lines]
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/lines.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(f"{work}/data.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(data) + "\n")
        with open(f"{work}/rule.json", "w", encoding="utf-8") as file:
            json.dump({"tokenizer": os.path.abspath(f"{options.folder}/tokenizer.json")}, file)
        shapes = [w for name in INPUTS for w in ("--shape", f"{name}=1,{options.tokens}")]
        print("| form | blob | arena | mean cosine | same nearest |\n|---|---|---|---|---|")
        for name, path, verb in forms(options.folder, work):
            want = reference(path, tokenizer, lines) if want is None else want
            made = run([*verb, *shapes, "--text", f"{work}/rule.json", "-o", f"{work}/net.morsel", "--json"])
            run(["embed", f"{work}/net.morsel", f"{work}/lines.txt", "-o", f"{work}/y.npy", "--json"])
            y = np.load(f"{work}/y.npy")
            cosine, same = (y * want).sum(1).mean(), (nearest(y) == nearest(want)).mean()
            print(f"| {name} | {made['blob_bytes']:,} | {made['arena_bytes']:,} | {cosine:.5f} | {100 * same:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
