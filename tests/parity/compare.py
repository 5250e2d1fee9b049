# SPDX-License-Identifier: MIT
"""One model in ONNX Runtime and in Morsel: which bytes differ."""
import dataclasses
import os
import subprocess
import tempfile

import numpy as np
import onnx

from netbuilder import quiet_session
from ortgraph import FLOAT_ORDER, ZERO_BEFORE_ROUNDING, Optimized, cut_at_inputs, exposed, quantized_tensors, uint8_twin

MORSEL = os.environ.get("MORSEL", "build/morsel").split()
FLOAT_LIMIT = 2e-5  # of the largest value, for float outputs of float operators


class Refused(Exception):
    pass


class Broken(Exception):
    pass


@dataclasses.dataclass
class Result:
    name: str
    tensors: int = 0
    bytes: int = 0
    differing: int = 0
    most: float = 0.0
    failed: list = dataclasses.field(default_factory=list)
    allowed: dict = dataclasses.field(default_factory=dict)  # reason -> bytes that it explains
    note: str = ""
    sqnr: float = float("inf")

    @property
    def verdict(self):
        if self.failed:
            return "FAIL"
        return "one step: " + ", ".join(sorted(self.allowed)) if self.allowed else "equal"


def call(arguments):
    done = subprocess.run(MORSEL + arguments, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def convert(model, folder, options=()):
    """The model (a path or a model) as a blob in the folder: its path."""
    path, blob = model, os.path.join(folder, "model.morsel")
    if not isinstance(model, str):
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
    code, errors = call(["convert", path, "-o", blob, *options])
    if code:
        lines = [line for line in errors.splitlines() if "notice" not in line]
        raise (Refused if code == 1 else Broken)("; ".join(lines[:4]) or f"exit status {code}")
    return blob


def run_blob(blob, model, feeds, folder, options=()):
    """The outputs by name of a blob that was made of the model; files go into the folder."""
    loaded = model if not isinstance(model, str) else onnx.load(model, load_external_data=False)
    constants = {i.name for i in loaded.graph.initializer}
    arguments = ["run", blob, *options]
    for i, name in enumerate(n.name for n in loaded.graph.input if n.name not in constants):
        np.save(f"{folder}/in{i}.npy", feeds[name])
        arguments += ["--input", f"{i}={folder}/in{i}.npy"]
    for i in range(len(loaded.graph.output)):
        arguments += ["--output", f"{i}={folder}/out{i}.npy"]
    code, errors = call(arguments)
    if code:
        raise Broken(errors.strip().splitlines()[-1] if errors.strip() else f"exit status {code}")
    return {o.name: np.load(f"{folder}/out{i}.npy") for i, o in enumerate(loaded.graph.output)}


def morsel(model, feeds, convert_options=(), run_options=()):
    """Converts the model (a path or a model) and runs it; outputs by name."""
    with tempfile.TemporaryDirectory() as folder:
        return run_blob(convert(model, folder, convert_options), model, feeds, folder, run_options)


def run_ort(model, feeds, want_graph=False, optimize=True):
    """Outputs by name; and the optimized graph."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "optimized.onnx")
        session = quiet_session(model, optimize, path=path if want_graph else None)
        names = [o.name for o in session.get_outputs()]
        return dict(zip(names, run_stacked(session, feeds))), Optimized(path) if want_graph else None


def run_stacked(session, feeds):
    """As morsel does it: a first dimension that is a multiple of the network's is run in turn."""
    inputs = session.get_inputs()
    fixed = [i.shape[0] for i in inputs if i.shape and isinstance(i.shape[0], int)]
    runs = max([feeds[i.name].shape[0] // i.shape[0] for i in inputs if i.shape and isinstance(i.shape[0], int)], default=1) if fixed else 1
    if runs <= 1:
        return session.run(None, feeds)
    parts = [session.run(None, {k: np.split(v, runs)[r] for k, v in feeds.items()}) for r in range(runs)]
    return [np.concatenate(p) for p in zip(*parts)]


def sqnr(want, got):
    noise = float(((got.astype(np.float64) - want.astype(np.float64)) ** 2).sum())
    signal = float((want.astype(np.float64) ** 2).sum())
    return float("inf") if noise == 0 else 10 * np.log10(max(signal, 1e-30) / noise)


def judge(result, name, want, got, reasons):
    """Adds one tensor to the result. `reasons`: why a step is allowed; none: every byte has to be equal."""
    if want.shape != got.shape or want.dtype != got.dtype:
        result.failed.append(f"{name}: {got.dtype} {list(got.shape)} instead of {want.dtype} {list(want.shape)}")
        return
    result.tensors += 1
    result.bytes += want.size
    if want.dtype == np.float32:
        difference = np.abs(want.astype(np.float64) - got.astype(np.float64))
        count = int((want.view(np.uint32) != got.view(np.uint32)).sum() -
     ((want == 0) & (got == 0) & (np.signbit(want) != np.signbit(got))).sum())
        top = float(difference.max(initial=0))
        within = top <= FLOAT_LIMIT * max(1.0, float(np.abs(want).max(initial=0))) and not np.isnan(difference).any()
    else:
        difference = np.abs(want.astype(np.int32) - got.astype(np.int32))
        count, top = int((difference != 0).sum()), float(difference.max(initial=0))
        within = top <= 1
    result.differing += count
    result.most = max(result.most, top)
    if not count:
        return
    if reasons and within:
        for reason in reasons:
            result.allowed[reason] = result.allowed.get(reason, 0) + count
    else:
        result.failed.append(f"{name}: {count} of {want.size} differ, by up to {top:g}" + \
                             (f" ({', '.join(sorted(reasons))} in float)" if reasons else ""))


def shift(values, names, by):
    return {k: (v.astype(np.int16) + by).astype(np.int8 if by < 0 else np.uint8) if k in names else v for k, v in values.items()}


def compare_opened(result, model, feeds, options=()):
    """Every quantized tensor, the network whole and every output."""
    opened = exposed(model)
    want, graph = run_ort(opened, feeds, want_graph=True)
    reasons = {name: graph.inexact(name) for name in want}
    if not any(reasons.values()):
        got = morsel(opened, feeds, options)
        for name in want:
            judge(result, name, want[name], got[name], set())
    else:
        result.note = "each step on ONNX Runtime's own bytes"
        compare_cut(result, model, feeds, reasons)
    return want


def one_run(model, feeds):
    """The part of the feeds that one run of the network takes."""
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input}
    return {k: v[:shapes[k][0]] if shapes[k] and shapes[k][0] else v for k, v in feeds.items()}


def compare_cut(result, model, feeds, reasons):
    """Step by step: each is given the bytes that ONNX Runtime computed before it."""
    feeds = one_run(model, feeds)
    want, _ = run_ort(exposed(model), feeds)
    cut, forced = cut_at_inputs(model, want, feeds)
    got = morsel(cut, dict(feeds, **{given: want[name] for given, name in forced.items()}))
    for name in want:
        judge(result, name, want[name], got[name], reasons[name])


def compare_twin(result, model, feeds):
    """int8 activations between pairs: ONNX Runtime computes many of them in float, but the same numbers as uint8 in integers. What is a
    sum of products there is compared to the byte, step by step."""
    twin = uint8_twin(model)
    if twin is None:
        return
    opened, feeds = exposed(twin), one_run(model, feeds)
    bytes_in = {k for k, v in feeds.items() if v.dtype == np.int8}
    want, graph = run_ort(opened, shift(feeds, bytes_in, 128), want_graph=True)
    kinds = quantized_tensors(model)
    kinds.update({o.name: o.type.tensor_type.elem_type for o in model.graph.output})
    signed = {k for k in want if kinds.get(k) == onnx.TensorProto.INT8}
    want = shift(want, signed, -128)
    cut, forced = cut_at_inputs(model, want, feeds)
    got = morsel(cut, dict(feeds, **{given: want[name] for given, name in forced.items()}))
    for name in want:
        node = graph.by_output.get(name)
        while node is not None and node.op_type == "Transpose":
            node = graph.by_output.get(node.input[0])
        if node is not None and node.op_type in ("QLinearConv", "QLinearMatMul", "QGemm", "MaxPool", "NhwcMaxPool"):
            judge(result, name + " (as uint8)", want[name], got[name], set())


def as_written(result, model, feeds, want, got):
    """What is wanted: where ONNX Runtime's optimizer changes the network's answer, and Morsel has each byte of what it was before, that."""
    if all(np.array_equal(want[name], got[name]) for name in want):
        return want
    before, _ = run_ort(model, feeds, optimize=False)
    if not all(np.array_equal(before[name], got[name]) for name in want):
        return want
    result.note = "as ONNX Runtime has it without its optimizer, which changes bytes"
    return before


def compare_plain(result, model, feeds, options=(), least_sqnr=None):
    """The model as it is, outputs only."""
    want, graph = run_ort(model, feeds, want_graph=True)
    got = morsel(model, feeds, options)
    loose = graph.all_inexact() or uint8_twin(model) is not None and graph.runs(ZERO_BEFORE_ROUNDING)
    want = as_written(result, model, feeds, want, got) if not loose else want
    for name in want:
        result.sqnr = min(result.sqnr, sqnr(want[name], got[name]))
        if not loose:
            judge(result, name + " (untouched model)", want[name], got[name], set())
    if least_sqnr is not None and result.sqnr < least_sqnr:
        result.failed.append(f"the outputs' SQNR is {result.sqnr:.1f} dB, under {least_sqnr}")


def compare_dressed(name, model, other, feeds):
    """Another way to write down the same network has to give the same outputs."""
    result = Result(name)
    try:
        want = morsel(model, feeds)
        got = morsel(other, feeds)
        for output in want:
            judge(result, output, want[output], got[output], set())
    except Refused as e:
        result.failed.append(f"refused: {e}")
    except Broken as e:
        result.failed.append(f"broken: {e}")
    return result


def compare(name, model, feeds, convert_options=(), least_sqnr=None):
    """All of the above. `model`: a model whose shapes are fixed but for the batch."""
    result = Result(name)
    try:
        compare_opened(result, model, feeds, convert_options)
        compare_twin(result, model, feeds)
        compare_plain(result, model, feeds, convert_options, least_sqnr)
    except Refused as e:
        result.failed.append(f"refused: {e}")
    except Broken as e:
        result.failed.append(f"broken: {e}")
    return result


def reasons_text(reasons):
    return [f"  ONNX Runtime's float {r} {FLOAT_ORDER[r]}" for r in sorted(reasons)]
