# SPDX-License-Identifier: MIT
"""What ONNX Runtime makes of a quantized model, and models cut open between its quantized tensors.

ONNX Runtime runs what lies between two quantized tensors either in integers (QLinearConv and its like, which are compared to the byte)
or in float (DequantizeLinear, the float operator, QuantizeLinear). Which of the two is read off the graph that it optimizes to.
"""
import copy
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BYTES = (TensorProto.UINT8, TensorProto.INT8)
QUANTIZED_TYPE = {"QuantizeLinear": 2, "QLinearConv": 7, "QLinearMatMul": 7, "QGemm": 8, "QLinearAdd": 7, "QLinearMul": 7,
                  "QLinearConcat": 1}

CONVOLUTION = "sums products of floats in the order of its blocked kernels (MlasConv); the exact sum differs in the last bits"
PRODUCT = "sums products of floats in the order of its blocked kernels (MlasGemm); the exact sum differs in the last bits"
# Where ONNX Runtime computes in float, a value that falls half way between two steps may round to the other one. Why that cannot be
# met from outside:
FLOAT_ORDER = {
    "Conv": CONVOLUTION,
    "FusedConv": CONVOLUTION,
    "ConvTranspose": CONVOLUTION,
    "Resize": "blends four neighbours of floats in an order of its own; the exact sum differs in the last bits",
    "Upsample": "blends four neighbours of floats in an order of its own; the exact sum differs in the last bits",
    "MatMul": PRODUCT,
    "Gemm": PRODUCT,
    "FusedGemm": PRODUCT,
    "FusedMatMul": PRODUCT,
    "ReduceMean": "sums floats in the order of Eigen's vector reduction; the exact sum differs in the last bits",
    "GlobalAveragePool": "sums floats in four lanes or one (MlasPool), as its layout pass decides; the exact sum differs in the last bits",
    "AveragePool": "sums columns of floats, then the columns (MlasPool); the exact sum differs in the last bits",
    "Softmax": "takes exp from a polynomial, sums in 16 lanes, multiplies by a reciprocal (MlasComputeSoftmax): up to 5e-7 off",
    "Sigmoid": "is a rational approximation (MlasComputeLogistic), up to 1.7e-7 off",
    "QuickGelu": "takes the sigmoid from a rational approximation (MlasComputeLogistic)",
    "Tanh": "is a rational approximation (MlasComputeTanh), up to 3.1e-7 off",
    "Erf": "is a polynomial (MlasComputeErf)",
    "Gelu": "takes erf from a polynomial (MlasComputeErf)",
    "FastGelu": "takes tanh from a rational approximation (MlasComputeTanh)",
    "Exp": "is a polynomial (MlasComputeExp)",
    "Elu": "takes exp from Eigen's polynomial",
    "Softplus": "takes exp and log from Eigen's polynomials",
    "BatchNormalization": "multiplies and adds in another order (scale and mean folded first)",
}


def kinds_of(model):
    """Types of a model's tensors, as far as shape inference finds them."""
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except onnx.shape_inference.InferenceError:
        pass
    graph = model.graph
    kinds = {v.name: v.type.tensor_type.elem_type for v in [*graph.value_info, *graph.input, *graph.output]}
    kinds.update({i.name: i.data_type for i in graph.initializer})
    return kinds


def quantized_tensors(model):
    """Name -> type of each 8-bit tensor that an operator computes (not one that only hands on, not a constant's)."""
    constants, kinds = {i.name for i in model.graph.initializer}, kinds_of(model)
    constants.update(n.output[0] for n in model.graph.node if n.op_type == "Constant")
    found = {}
    for node in model.graph.node:
        quantize = node.op_type == "QuantizeLinear" and node.input[0] not in constants
        if quantize or node.op_type.startswith("QLinear") or node.op_type == "QGemm":
            found[node.output[0]] = kinds.get(node.output[0]) or kind_of_output(node, kinds)
    return {k: v for k, v in found.items() if v in BYTES}


def kind_of_output(node, kinds):
    """By the zero point, where shape inference does not know the operator (those of com.microsoft)."""
    at = QUANTIZED_TYPE.get(node.op_type, 4)
    if len(node.input) > at:
        return kinds.get(node.input[at], TensorProto.UINT8)
    return TensorProto.FLOAT if node.op_type == "QGemm" else TensorProto.UINT8


def exposed(model):
    """The model with every quantized tensor an output, too."""
    model = copy.deepcopy(model)
    have = {o.name for o in model.graph.output}
    for name, kind in quantized_tensors(model).items():
        if name not in have:
            model.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    return model


def cut_at_inputs(model, values, feeds):
    """Each quantized tensor ends in an output; what reads it reads a new input of the same shape instead. Also returns input -> tensor."""
    model = copy.deepcopy(model)
    for info in model.graph.input:
        for dim, size in zip(info.type.tensor_type.shape.dim, feeds[info.name].shape if info.name in feeds else ()):
            dim.dim_value = size
    tensors, forced = quantized_tensors(model), {}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name in tensors:
                forced[name + "/given"] = name
                node.input[i] = name + "/given"
    have = {o.name for o in model.graph.output}
    for given, name in forced.items():
        model.graph.input.append(helper.make_tensor_value_info(given, tensors[name], values[name].shape))
    for name, kind in tensors.items():
        if name not in have:
            model.graph.output.append(helper.make_tensor_value_info(name, kind, values[name].shape))
    del model.graph.value_info[:]
    return model, forced


# --- the same model in uint8

# These add the zero point before they round; where ONNX Runtime turns int8 into uint8 on its own, ties and their neighbours move.
ZERO_BEFORE_ROUNDING = {"QLinearAdd", "QLinearMul", "QLinearAveragePool"}

WEIGHT_INPUT = {"Conv": (1, 2), "ConvTranspose": (1, 2), "Gemm": (1, 2), "MatMul": (1,)}


def uint8_twin(model):
    """A QDQ model of int8 activations with every activation's bytes and zero point 128 higher: the same numbers, which ONNX Runtime then
    computes in integers. None where there is none."""
    kinds = kinds_of(model)
    if any(n.op_type.startswith("QLinear") or n.op_type == "QGemm" for n in model.graph.node):
        return None
    model = copy.deepcopy(model)
    graph = model.graph
    constants = {i.name: i for i in graph.initializer}
    readers = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            readers.setdefault(name, []).append((node, i))

    def shifted(name, suffix="/u8"):
        if name + suffix not in constants:
            new = numpy_helper.from_array((numpy_helper.to_array(constants[name]).astype(np.int16) + 128).astype(np.uint8), name + suffix)
            graph.initializer.append(new)
            constants[new.name] = new
        return name + suffix

    def is_weight(node):
        return all(i in WEIGHT_INPUT.get(r.op_type, ()) for r, i in readers.get(node.output[0], []))

    changed, written_here = False, set()  # weights that the graph itself quantizes
    for node in graph.node:
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            if any(kinds.get(t) == TensorProto.INT8 for t in node.input):
                return None
            continue
        if len(node.input) < 3 or node.input[2] not in constants or constants[node.input[2]].data_type != TensorProto.INT8:
            continue
        source = node.input[0]
        if node.op_type == "DequantizeLinear" and source in constants:
            if is_weight(node):
                continue
            node.input[0] = shifted(source)
        elif source in constants:
            written_here.update(node.output)
            continue
        elif source in written_here:
            continue
        node.input[2] = shifted(node.input[2])
        changed = True
    for info in [*graph.input, *graph.output]:
        if info.type.tensor_type.elem_type == TensorProto.INT8 and info.name not in constants:
            info.type.tensor_type.elem_type = TensorProto.UINT8
    del graph.value_info[:]
    return model if changed else None


# --- the optimized graph

class Optimized:
    """How ONNX Runtime comes to each tensor."""

    def __init__(self, path):
        model = onnx.load(path)
        os.unlink(path)
        self.nodes = list(model.graph.node)
        self.by_output = {o: n for n in self.nodes for o in n.output}

    def float_work(self, tensor):
        """The float operators between `tensor` and the quantized tensors (or the graph's float inputs) that it is computed from."""
        node = self.by_output.get(tensor)
        while node is not None and node.op_type == "Transpose":
            node = self.by_output.get(node.input[0])
        if node is None or node.op_type not in ("QuantizeLinear", "DequantizeLinear") and (
                node.op_type.startswith("QLinear") or node.op_type in ("QGemm", "MaxPool", "NhwcMaxPool")):
            return set()
        work, seen, queue = set(), set(), [node] if node.op_type != "DequantizeLinear" else []
        while queue:
            node = queue.pop()
            work.add(node.op_type)
            for name in node.input:
                before = self.by_output.get(name)
                if before is None or name in seen:
                    continue
                seen.add(name)
                quantized = before.op_type.startswith("QLinear") or before.op_type in ("QuantizeLinear", "DequantizeLinear", "QGemm")
                if not quantized:
                    queue.append(before)
        return work

    def inexact(self, tensor):
        return {w for w in self.float_work(tensor) if w in FLOAT_ORDER}

    def runs(self, operators):
        return any(n.op_type in operators for n in self.nodes)

    def all_inexact(self):
        return {n.op_type for n in self.nodes if n.op_type in FLOAT_ORDER}

