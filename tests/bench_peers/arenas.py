#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""arenas.py [FILE.onnx ...]: the table of arenas in core/README.md, of the networks that are built in and of files.

MORSEL names the tool [build/morsel]. The last column is what TensorFlow Lite Micro's own recorder says of the same topology
(pip install tflite-micro ai-edge-litert onnx numpy); without those packages, and for files, it is empty."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

MORSEL = os.environ.get("MORSEL", "build/morsel")
NETS = "mobilenetv2-224 mobilenetv1-224 resnet18-224 shufflenetv2-224 resnet8-32 ds-cnn-kws autoencoder-ad".split()
MODES = (["--arena", "1"], [], ["--no-streaming"])


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="*", metavar="FILE.onnx")
    return p.parse_args()


def call(*words):
    """What the tool says in JSON; its own message where it fails."""
    try:
        done = subprocess.run([MORSEL, *words, "--json"], stdout=subprocess.PIPE, text=True)
    except OSError as error:
        sys.exit(f"arenas.py: {MORSEL}: {error.strerror}; 'make' builds it, MORSEL names another")
    return json.loads(done.stdout) if done.returncode == 0 else sys.exit(done.returncode)


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


def stack_of_cortex_m():
    header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../core/morsel.h")
    return int(re.search(r"#define MORSEL_STACK_C (\d+)", open(header).read())[1])


def row(name, arenas, tflm, stack):
    least, *others = arenas
    cells = " | ".join([name, *(f"{a:,}" for a in (least, least + stack, *others))])
    print(f"| {cells} | {tflm:,} |" if tflm else f"| {cells} | |", flush=True)


def main():
    files, stack = arguments().files, stack_of_cortex_m()
    print("| network | `--arena 1` | with the stack on Cortex-M | default | `--no-streaming` | TFLM |\n|---|---|---|---|---|---|")
    for net in NETS:
        row(net, [arena_of_net(net, mode) for mode in MODES], arena_of_tflm(net), stack)
    for path in files:
        row(path, [arena_of_file(path, mode) for mode in MODES], None, stack)


if __name__ == "__main__":
    main()
