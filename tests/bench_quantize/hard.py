#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks that compute the same as another in float and are hard to quantize.

    hard.py --check [--test N] [--verbose]      makes both, quantizes them, fails where the drop is over half a point (part of make parity)
    hard.py trunks|pairs FLOAT.onnx OUT.onnx    writes one

trunks: the channels of every trunk (what is carried between blocks, and no ReLU6 clips) rescaled by powers of two up to 64, in the
convolutions that write it and those that read it; additions within a trunk stay consistent.
pairs: ReLU6 becomes ReLU (another network, to be measured against itself), and the channels between an expansion, its depthwise convolution
and its projection are rescaled the same way.
Powers of two leave every float product and sum as it was: both networks give the very numbers of the originals.
"""
import argparse
import os
import shutil
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

import measure

OCTAVES = 6
MOST_DROP = 0.5


class Network:
    """A float network whose convolutions' weights can be changed by channel."""

    def __init__(self, path):
        self.model = onnx.load(str(path))
        self.nodes = self.model.graph.node
        self.weights = {t.name: numpy_helper.to_array(t).copy() for t in self.model.graph.initializer}
        self.producer = {o: n for n in self.nodes for o in n.output}
        self.readers = {}
        for node in self.nodes:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def is_depthwise(self, node):
        return node.op_type == "Conv" and any(a.name == "group" and a.i > 1 for a in node.attribute)

    def scale_outputs(self, conv, factors):
        self.weights[conv.input[1]] *= factors[:, None, None, None]
        if len(conv.input) > 2:
            self.weights[conv.input[2]] *= factors

    def scale_inputs(self, conv, factors):
        by = factors[:, None, None, None] if self.is_depthwise(conv) else factors[None, :, None, None]
        self.weights[conv.input[1]] /= by

    def save(self, path):
        for t in self.model.graph.initializer:
            t.CopyFrom(numpy_helper.from_array(self.weights[t.name], t.name))
        onnx.save(self.model, str(path))


def factors_of(random, count):
    return (2.0 ** random.integers(0, OCTAVES + 1, count)).astype(np.float32)


def trunk_of(net, start):
    """All values that additions tie to this one, and the convolutions that write and read them."""
    values, rest = set(), [start]
    writers, readers = [], []
    while rest:
        value = rest.pop()
        if value in values:
            continue
        values.add(value)
        made = net.producer[value]
        if made.op_type == "Add":
            rest += made.input
        else:
            assert made.op_type == "Conv", made.op_type
            writers.append(made)
        for node in net.readers.get(value, []):
            if node.op_type == "Add":
                rest += list(node.input) + list(node.output)
            else:
                assert node.op_type == "Conv", node.op_type
                readers.append(node)
    return values, writers, readers


def rescale_trunks(source, target, seed=1):
    net, random, done = Network(source), np.random.default_rng(seed), set()
    count = 0
    for node in net.nodes:
        value = node.output[0]
        if node.op_type != "Conv" or value in done or any(n.op_type not in ("Conv", "Add") for n in net.readers[value]):
            continue
        values, writers, readers = trunk_of(net, value)
        done |= values
        factors = factors_of(random, len(net.weights[writers[0].input[1]]))
        for conv in writers:
            net.scale_outputs(conv, factors)
        for conv in readers:
            net.scale_inputs(conv, factors)
        count += 1
    net.save(target)
    return count


def with_plain_relu(source, target):
    """The network with ReLU in place of every Clip."""
    model = onnx.load(str(source))
    for i, node in enumerate(model.graph.node):
        if node.op_type == "Clip":
            model.graph.node[i].CopyFrom(helper.make_node("Relu", node.input[:1], node.output, name=node.name))
    onnx.save(model, str(target))


def rescale_pairs(source, target, seed=1):
    """The channels that go into a depthwise convolution, and those that come out of it, through ReLU."""
    net, random, count = Network(source), np.random.default_rng(seed), 0
    for depthwise in [n for n in net.nodes if net.is_depthwise(n)]:
        before = net.producer[net.producer[depthwise.input[0]].input[0]]
        relu = net.readers[depthwise.output[0]][0]
        after = net.readers[relu.output[0]][0]
        assert [before.op_type, relu.op_type, after.op_type] == ["Conv", "Relu", "Conv"]
        for first, second in ((before, depthwise), (depthwise, after)):
            factors = factors_of(random, len(net.weights[first.input[1]]))
            net.scale_outputs(first, factors)
            net.scale_inputs(second, factors)
            count += 1
    net.save(target)
    return count


def make(kind, folder, source=None, seed=1):
    """The hard network and the one that it equals: paths."""
    source, hard = str(source or measure.FLOAT_NET), os.path.join(folder, f"{kind}.onnx")
    if kind == "trunks":
        changed = rescale_trunks(source, hard, seed)
    else:
        source, plain = os.path.join(folder, "relu.onnx"), source
        with_plain_relu(plain, source)
        changed = rescale_pairs(source, hard, seed)
    assert changed > 0
    return hard, source


def equal_in_float(hard, easy, samples):
    """How far apart the float outputs are, of the largest."""
    want, got = measure.run_onnx(easy, samples), measure.run_onnx(hard, samples)
    return float(np.abs(want - got).max() / np.abs(want).max())


def check(test_count, verbose, seed):
    measure.need_shared()
    calibration = measure.calibration()
    test, classes = measure.pictures("test", test_count)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("trunks", "pairs"):
            hard, easy = make(kind, folder, seed=seed)
            apart = equal_in_float(hard, easy, np.load(test)[:100])
            reference = measure.float_outputs(hard, test)
            blob = os.path.join(folder, f"{kind}.morsel")
            measure.quantize_with_morsel(hard, calibration, blob)
            figures = measure.score(measure.run_morsel(blob, test, folder), reference, classes)
            top1 = 100 * float((reference.argmax(1) == classes).mean())
            fine = apart <= 1e-5 and figures["top1"] >= top1 - MOST_DROP
            failed += not fine
            print(f"{'ok' if fine else 'FAIL'} hard: {kind}: {top1:.2f} % in float, {figures['top1']:.2f} % quantized, {figures['differ']} of "
                  f"{len(classes)} answers differ, SQNR {figures['sqnr']:.1f} dB; {apart:.1e} from the easy network in float")
            if verbose:
                other = os.path.join(folder, "other.onnx")
                measure.quantize_with_onnxruntime(hard, calibration, other)
                figures = measure.score(measure.run_onnx(other, np.load(test)), reference, classes)
                print(f"    ONNX Runtime's quantizer: {figures['top1']:.2f} %, {figures['differ']} differ, SQNR {figures['sqnr']:.1f} dB")
    return 1 if failed else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--check", action="store_true")
    p.add_argument("--test", type=int, default=2000, help="test pictures")
    p.add_argument("--seed", type=int, default=1, help="of the factors")
    p.add_argument("--verbose", action="store_true", help="beside ONNX Runtime's quantizer")
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    if a.check:
        return check(a.test, a.verbose, a.seed)
    if len(a.files) != 3 or a.files[0] not in ("trunks", "pairs"):
        p.error("trunks|pairs FLOAT.onnx OUT.onnx, or --check")
    with tempfile.TemporaryDirectory() as folder:
        hard, _ = make(a.files[0], folder, a.files[1], a.seed)
        shutil.copyfile(hard, a.files[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
