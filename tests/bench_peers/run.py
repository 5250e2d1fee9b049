# SPDX-License-Identifier: MIT
"""run.py [--cpu CAP] [--rounds N] [--batch N] [--threads N] [NET or FILE.onnx ...]: one network in Morsel and its peers, interleaved.

Each round runs every peer for a little while; the table has the median of the rounds' medians and the ratio to Morsel's.
Forms: Morsel and ONNX Runtime run the same file (for a NET: made by ONNX Runtime's quantizer, per channel); OpenVINO runs what NNCF
makes of the float network, or the file itself where there is no float one; LiteRT and ncnn are given int8 models of the same layers,
with made-up scales. CAP (avx2, avxvnni, avx512vnni) holds for Morsel and, by ONEDNN_MAX_CPU_ISA, for OpenVINO; the others have no
such switch and run as they are. --threads gives each as many threads and cores (else one). --batch gives each that many images at once, as
one tensor where it takes one (ncnn: one after the other; Morsel: each thread one after the other); times are of all of them."""
import argparse
import json
import logging
import os
import statistics
import sys
import tempfile

import peers


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peers.add_options(p, rounds=9, seconds=0.3)
    p.add_argument("--batch", type=int, default=1, help="images of a run")
    nets = ["mobilenetv2-224", "shufflenetv2-224", "resnet18-224", "resnet8-32", "ds-cnn-kws", "autoencoder-ad"]
    p.add_argument("nets", nargs="*", default=nets)
    return p.parse_args()


A = arguments()
CORES = peers.settle(A)

LOAD = round(os.getloadavg()[0], 1)  # what else the machine does

logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import topologies  # noqa: E402


def inputs_of(model, count):
    """Random pictures for calibration and for the runs."""
    into = model.graph.input[0]
    dims = [d.dim_value or 1 for d in into.type.tensor_type.shape.dim]
    random = np.random.default_rng(2)
    return into.name, [random.standard_normal(dims).astype(np.float32) for _ in range(count)]


def quantize_with_onnxruntime(model, path, work):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    name, values = inputs_of(model, 4)

    class Reader(CalibrationDataReader):
        left = [{name: v} for v in values]

        def get_next(self):
            return self.left.pop() if self.left else None

    source = os.path.join(work, "float.onnx")
    onnx.save(model, source)
    quantize_static(source, path, Reader(), quant_format=QuantFormat.QOperator, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)


def for_batch(path, batch, work):
    """The same file for so many images."""
    model = onnx.load(path)
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_value = batch
    del model.graph.value_info[:]
    to = os.path.join(work, f"batch{batch}.onnx")
    onnx.save(model, to)
    return to


def morsel(case):
    blob = os.path.join(case.work, "network.morsel")
    peers.convert(case.path, blob, case.shape)
    return peers.Morsel(blob, A, A.batch)


def onnxruntime(case):
    path = for_batch(case.path, A.batch, case.work) if A.batch > 1 else case.path
    return peers.OnnxRuntime(path, {case.input: case.values}, A, "QOperator, uint8 x int8 per channel" if case.float else "the file")


def openvino(case):
    feed = {case.input: case.values}
    if not case.float:
        return peers.OpenVino(case.path, feed, A, "the file")
    model = peers.nncf_model(os.path.join(case.work, "float.onnx"), inputs_of(case.float, 4)[1])
    return peers.OpenVino(model, feed, A, "NNCF, performance preset")


def litert(case):
    import tflite
    if not case.float:
        raise RuntimeError("a TFLite model is made of built-in networks only")
    return peers.LiteRt(topologies.make(case.name, tflite.Maker), A, A.batch)


class Ncnn(peers.Peer):
    def __init__(self, case):
        import importlib.metadata
        import ncnn
        import ncnn_model
        if not case.float:
            raise RuntimeError("an ncnn model is made of built-in networks only")
        text, binary, shape, self.into, self.out = topologies.make(case.name, ncnn_model.Maker)
        paths = [os.path.join(case.work, n) for n in ("ncnn.param", "ncnn.bin")]
        with open(paths[0], "w") as f:
            f.write(text)
        with open(paths[1], "wb") as f:
            f.write(binary)
        self.net = ncnn.Net()
        self.net.opt.num_threads, self.net.opt.use_int8_inference = A.threads, True
        if self.net.load_param(paths[0]) or self.net.load_model(paths[1]):
            raise RuntimeError("ncnn does not load the model")
        self.value = ncnn.Mat(np.random.default_rng(3).standard_normal(shape).astype(np.float32))
        self.name, self.form = "ncnn " + importlib.metadata.version("ncnn"), "int8 between convolutions, float elsewhere"
        self.run()

    def run(self):
        for _ in range(A.batch):
            extractor = self.net.create_extractor()
            extractor.input(self.into, self.value)
            status, _ = extractor.extract(self.out)
            if status:
                raise RuntimeError("ncnn does not run the model")


class Case:
    """A network: the quantized file that Morsel and ONNX Runtime share, and the float one where there is one."""

    def __init__(self, net, work):
        self.name, self.work, self.float, self.shape = os.path.basename(net), work, None, []
        self.path = net
        if not os.path.exists(net):
            self.float = topologies.make(net)
            self.path = os.path.join(work, "quantized.onnx")
            quantize_with_onnxruntime(self.float, self.path, work)
        self.input, values = inputs_of(onnx.load(self.path), 1)
        self.values = np.concatenate(inputs_of(onnx.load(self.path), A.batch)[1]) if A.batch > 1 else values[0]


def open_peers(case):
    found = []
    for kind in PEERS:
        try:
            found.append(kind(case))
        except Exception as error:  # a peer that cannot run this network is left out, and said so
            lines = str(error).splitlines() or [""]
            print(f"  {kind.__name__}: left out: {type(error).__name__}: {lines[-1 if kind is morsel else 0]}")
    if not found or not isinstance(found[0], peers.Morsel):
        sys.exit(f"{case.name}: there is nothing to compare with")
    return found


PEERS = [morsel, onnxruntime, openvino, litert, Ncnn]


def measure(net):
    with tempfile.TemporaryDirectory() as work:
        case = Case(net, work)
        times = peers.interleave(open_peers(case), A.rounds, A.seconds)
        rows = [(p.name, p.form, statistics.median(t), min(t)) for p, t in times.items()]
    ours = rows[0][2]
    for name, form, middle, least in rows:
        print(f"{case.name:28} {name:22} {middle:9.3f} {least:9.3f} {A.batch * 1e3 / middle:8.1f} {middle / ours:7.2f}  {form}")
    return {"net": case.name, "machine": peers.machine(), "load": LOAD, "cap": A.cpu, "threads": A.threads, "batch": A.batch, "rows": rows}


def main():
    print(f"threads {A.threads} on cores {', '.join(map(str, CORES))}; batch {A.batch}; {A.rounds} rounds; times in ms")
    print(f"{'network':28} {'peer':22} {'median':>9} {'least':>9} {'FPS':>8} {'/morsel':>7}  form")
    done = [measure(net) for net in A.nets]
    if A.json:
        with open(A.json, "w") as f:
            json.dump(done, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
