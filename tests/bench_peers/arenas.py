#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The README's table of arenas: arenas.py [FILE.onnx ...]. MORSEL is the tool. The last column is what TensorFlow Lite Micro's own recorder
says of the same topology (pip install tflite-micro ai-edge-litert onnx numpy); without those packages it is left out."""
import json
import os
import re
import subprocess
import sys
import tempfile

MORSEL = os.environ.get("MORSEL", "build/morsel")
NETS = "mobilenetv2-224 mobilenetv1-224 resnet18-224 shufflenetv2-224 resnet8-32 ds-cnn-kws autoencoder-ad".split()
MODES = (["--arena", "1"], [], ["--no-streaming"])


def call(*arguments):
    return json.loads(subprocess.run([MORSEL, *arguments, "--json"], check=True, capture_output=True, text=True).stdout)


def arena_of_net(net, mode):
    return call("bench", net, "--runs", "1", "--warmup", "0", *mode)["arena_bytes"]


def arena_of_file(path, mode):
    with tempfile.TemporaryDirectory() as folder:
        return call("convert", path, "-o", os.path.join(folder, "a.morsel"), *mode)["arena_bytes"]


def arena_of_tflm(net):
    """Printed by the library itself, so in a process whose output is read."""
    code = ("import sys, tflite, topologies; from tflite_micro.python.tflite_micro import runtime; "
            "runtime.Interpreter.from_bytes(topologies.make(sys.argv[1], tflite.Maker), arena_size=1 << 26).print_allocations()")
    done = subprocess.run([sys.executable, "-c", code, net], capture_output=True, text=True, cwd=os.path.dirname(os.path.abspath(__file__)))
    found = re.search(r"Arena allocation total (\d+) bytes", done.stdout + done.stderr)
    return int(found[1]) if found else None


def row(name, arenas, tflm):
    cells = [f"{a:,}" for a in arenas] + [f"{tflm:,}" if tflm else "-"]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main():
    print("| network | least | default | step by step | TFLM |\n|---|---|---|---|---|")
    for net in NETS:
        row(net, [arena_of_net(net, mode) for mode in MODES], arena_of_tflm(net))
    for path in sys.argv[1:]:
        row(path, [arena_of_file(path, mode) for mode in MODES], None)


if __name__ == "__main__":
    main()
