# SPDX-License-Identifier: MIT
"""Small float networks, written down in a few lines each, and their quantized forms.

A Net is a list of ONNX nodes over random weights. quantize() runs it once in float to learn the range of every tensor, then writes it
down in integers: as QDQ (pairs around float operators) or QOperator (QLinearConv and its like), with the types, zero points and scales
that a Form asks for. Quantizing here and not with a quantizer reaches corners that quantizers avoid.
"""
import dataclasses
import os
import zlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
# Operators that hand on what they get: their output keeps the scale of their input.
MOVES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Pad", "Resize", "Expand", "Tile", "Gather",
         "DepthToSpace", "SpaceToDepth", "MaxPool", "Identity", "Dropout", "GlobalMaxPool"}
# Those of them that ONNX Runtime has on 8 bits.
MOVES_ON_BYTES = MOVES - {"GlobalMaxPool"}
QLINEAR = {"Conv", "MatMul", "Gemm", "Add", "Mul", "GlobalAveragePool", "AveragePool", "Concat", "Sigmoid", "LeakyRelu", "Softmax"}
BOUNDS = {"Relu", "Clip"}


@dataclasses.dataclass
class Node:
    op: str
    inputs: list
    outputs: list
    attributes: dict
    domain: str = ""


class Net:
    def __init__(self, name, opset=13):
        self.name, self.opset = name, opset
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.inputs, self.outputs = [], {}, []
        self.constants, self.weights, self.raw, self.plain, self.count = {}, set(), set(), set(), 0
        self.bias_ends = False  # QOperator: biases near the ends of int32, where sums wrap
        self.blends_bytes = False  # QOperator: a linear Resize of bytes

    def fresh(self, hint):
        self.count += 1
        return f"{hint}{self.count}"

    def input(self, *shape, name=None):
        name = name or f"x{len(self.inputs)}"
        self.inputs[name] = list(shape)
        return name

    def op(self, op, *inputs, outs=1, domain="", **attributes):
        outputs = [self.fresh(op.lower()) for _ in range(outs)]
        self.nodes.append(Node(op, list(inputs), outputs, attributes, domain))
        return outputs[0] if outs == 1 else outputs

    def const(self, array):
        """A constant; one of floats beside an activation is quantized as one."""
        name = self.fresh("c")
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def floats(self, *shape, low=-1.0, high=1.0):
        return self.const(self.rng.uniform(low, high, shape).astype(np.float32))

    def plain_floats(self, *shape, low=-1.0, high=1.0):
        """Constants that stay float in every form."""
        name = self.floats(*shape, low=low, high=high)
        self.plain.add(name)
        return name

    def weight(self, *shape, spread=1.0):
        name = self.const((self.rng.standard_normal(shape) * spread / np.sqrt(max(1, np.prod(shape[1:])))).astype(np.float32))
        self.weights.add(name)
        return name

    def conv(self, x, cin, cout, kernel, bias=True, group=1, relu=False, **attributes):
        kernel = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel, kernel]
        w = self.weight(cout, cin // group, *kernel)
        if not any(a in attributes for a in ("pads", "auto_pad")):
            attributes["pads"] = [k // 2 for k in kernel] * 2
        if group != 1:
            attributes["group"] = group
        more = [self.vector(cout)] if bias else []
        x = self.op("Conv", x, w, *more, kernel_shape=kernel, **attributes)
        return self.op("Relu", x) if relu else x

    def conv_transpose(self, x, cin, cout, kernel, bias=True, group=1, relu=False, **attributes):
        w = self.weight(cin, cout // group, *kernel, spread=np.sqrt(cout / cin))
        more = [self.vector(cout)] if bias else []
        if group != 1:
            attributes["group"] = group
        x = self.op("ConvTranspose", x, w, *more, **attributes)
        return self.op("Relu", x) if relu else x

    def vector(self, n):
        name = self.floats(n, low=-0.5, high=0.5)
        self.weights.add(name)
        return name

    def keep_float(self, x):
        """No QuantizeLinear after this tensor."""
        self.raw.add(x)
        return x

    def out(self, *xs):
        self.outputs += xs
        return self

    def float_model(self, every=False):
        graph = helper.make_graph(
            [helper.make_node(n.op, n.inputs, n.outputs, domain=n.domain, **n.attributes) for n in self.nodes], self.name,
            [helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in self.inputs.items()],
            [helper.make_empty_tensor_value_info(o) for o in ([o for n in self.nodes for o in n.outputs] if every else self.outputs)],
            [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        return finish(graph, self.opset)

    def feeds(self, seed=0, spread=1.3):
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return {k: (rng.standard_normal(v) * spread).astype(np.float32) for k, v in self.inputs.items()}

    def floats_of_all(self):
        """Every tensor's values on four random inputs."""
        session = quiet_session(self.float_model(every=True), optimize=False)
        names = [o.name for o in session.get_outputs()]
        runs = [self.feeds(seed) for seed in range(4)]
        values = [dict(f, **dict(zip(names, session.run(None, f)))) for f in runs]
        return {k: np.stack([v[k] for v in values]) for k in values[0]}


def finish(graph, opset):
    return helper.make_model(graph, producer_name="morsel tests", ir_version=min(10, onnx.helper.find_min_ir_version_for(
        [helper.make_opsetid("", min(opset, 21))])) if opset <= 21 else 11,
        opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])


def saturates():
    """Whether ONNX Runtime's sums of u8 x s8 do, as on x86 without VNNI: weights of 8 bits prove nothing there."""
    if os.uname().machine != "x86_64" or not os.path.exists("/proc/cpuinfo"):
        return False
    with open("/proc/cpuinfo") as f:
        return "_vnni" not in f.read()


def quiet_session(model, optimize=True, path=None, threads=1):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if not optimize:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    if path:
        options.optimized_model_filepath = path
    network = model if isinstance(model, str) else model.SerializeToString()
    if saturates():
        options.add_session_config_entry("session.x64quantprecision", "1")  # whole sums
    try:
        return ort.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        if not optimize or not saturates():
            raise
        return quiet_session(model, False, path, threads)  # of s8 by s8 its optimizer then makes nodes that it has no kernels for


@dataclasses.dataclass(frozen=True)
class Form:
    qdq: bool = True
    activation: str = "u8"      # u8, s8
    weight: str = "s8"          # s8, u8
    per_channel: bool = True
    weight_zero: bool = False   # weights with a zero point of their own (by channel where per_channel)
    ties: bool = False          # scales are powers of two: half-way cases by the thousand
    symmetric: bool = False     # activations centred on zero
    float_bias: bool = False    # QDQ: biases stay float
    byte_io: bool = False       # the graph's inputs and outputs are 8-bit tensors
    keep_bounds: bool = False   # QDQ: a pair between an operator and its Relu or Clip
    move_scales: bool = False   # QDQ: operators that move data get another scale behind them
    mixed: bool = False         # QDQ: some tensors int8, some uint8
    wild: bool = False          # scales up to eight times as coarse or fine as the values ask for

    @property
    def name(self):
        text = ("qdq-" if self.qdq else "qop-") + self.activation + self.weight + ("pc" if self.per_channel else "pt")
        return text + "".join("-" + k for k in ("weight_zero", "ties", "symmetric", "float_bias", "byte_io", "keep_bounds", "move_scales",
                                                  "mixed", "wild")
                              if getattr(self, k)).replace("_", "")


def code_range(kind):
    return (0, 255, np.uint8) if kind == "u8" else (-128, 127, np.int8)


class Writer:
    """Writes the quantized graph, node by node."""

    def __init__(self, net, form):
        self.net, self.form = net, form
        self.values = net.floats_of_all()
        self.nodes, self.initializers, self.types = [], [], {}
        self.numbers = {}   # float tensor -> (scale, zero point) of its bytes
        self.bytes = {}     # float tensor -> name of its 8-bit tensor
        self.real = {}      # float tensor -> name under which it can be read as float
        self.users = {}
        for node in net.nodes:
            for i in node.inputs:
                self.users.setdefault(i, []).append(node)

    def add(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0] + "/" + op, domain=domain, **attributes))

    def const(self, name, array):
        if name not in {i.name for i in self.initializers}:
            self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    # --- numbers

    def scale_of(self, tensor, low, high):
        other = self.form.mixed and zlib.crc32(tensor.encode()) % 2
        lo, hi, kind = code_range({"u8": "s8", "s8": "u8"}[self.form.activation] if other else self.form.activation)
        low, high = min(low, 0.0), max(high, 0.0)
        if self.form.symmetric:
            high = max(-low, high)
            low = -high
        scale = max((high - low) / 255, 1e-4) * 0.93  # a few values saturate
        if self.form.wild:
            scale = self.wild(tensor, scale)
        scale = max(scale, self.least_scale(tensor))
        if self.form.ties:
            scale = 2.0 ** np.round(np.log2(scale) + (0.5 if scale == self.least_scale(tensor) else 0))
        scale = np.float32(scale)
        zero = (0 if lo else 128) if self.form.symmetric else int(np.clip(np.rint(lo - low / scale), lo, hi))
        return scale, zero, kind

    def wild(self, tensor, scale):
        """Finer ones clip, and make multipliers above 1."""
        return max(scale * 2.0 ** (zlib.crc32((self.net.name + tensor).encode()) % 7 - 3), 1e-4)

    def least_scale(self, tensor):
        """Of more than 148 steps for each element a Softmax of bytes overflows in ONNX Runtime."""
        for n in self.net.nodes:
            if n.op == "Softmax" and tensor in n.outputs and "random" in self.net.name:
                return 1 / 140 / self.values[tensor].shape[1:][n.attributes["axis"]]
        return 0

    def learn(self, tensor):
        if tensor not in self.numbers:
            v = self.values[tensor] if tensor in self.values else self.net.constants[tensor]
            self.numbers[tensor] = self.scale_of(tensor, float(v.min()), float(v.max()))
        return self.numbers[tensor]

    def pair(self, tensor):
        scale, zero, kind = self.learn(tensor)
        return [self.const(tensor + "_scale", scale), self.const(tensor + "_zero", kind(zero))]

    # --- weights and constants

    def weight_numbers(self, name, axis):
        w, form = self.net.constants[name], self.form
        lo, hi, kind = code_range(form.weight)
        rest = tuple(i for i in range(w.ndim) if i != axis) if form.per_channel and axis is not None else None
        low, high = np.minimum(w.min(axis=rest, keepdims=rest is not None), 0), np.maximum(w.max(axis=rest, keepdims=rest is not None), 0)
        if form.weight_zero or lo == 0 and not form.per_channel:
            scale = np.maximum((high - low) / 255, 1e-6)
            zero = np.rint(lo - low / scale)
        else:
            scale, zero = np.maximum(np.maximum(high, -low) / 127, 1e-6), np.zeros_like(low) + (0 if lo else 128)
        if form.ties:
            scale = 2.0 ** np.round(np.log2(scale))
        scale = np.asarray(scale, np.float32)
        codes = np.clip(np.rint(w / scale) + zero, lo, hi).astype(kind)
        return codes, scale.reshape(-1) if rest else scale.reshape(()
                                    ), zero.astype(kind).reshape(-1) if rest else zero.astype(kind).reshape(())

    def weight(self, name, axis):
        codes, scale, zero = self.weight_numbers(name, axis)
        return [self.const(name + "_codes", codes), self.const(name + "_scale", scale), self.const(name + "_zero", zero)], scale

    def bias(self, name, x_scale, w_scale):
        scale = np.asarray(x_scale * w_scale, np.float32)
        codes = np.clip(np.rint(self.net.constants[name] / scale), -2**30, 2**30).astype(np.int32)
        if self.net.bias_ends and not self.form.qdq:
            codes[::3], codes[1::3] = 2147268975, -2147483648
        return self.const(name + "_codes", codes), scale

    def weight_axis(self, node):
        if node.op == "Conv":
            return 0
        if node.op == "ConvTranspose":
            return 1
        if node.op == "Gemm":
            return 0 if node.attributes.get("transB") else 1
        return self.net.constants[node.inputs[1]].ndim - 1

    # --- reading a tensor

    def as_bytes(self, tensor):
        """Name of the 8-bit tensor, its scale's, its zero point's."""
        if tensor in self.net.constants and tensor not in self.bytes:
            scale, zero, kind = self.learn(tensor)
            codes = np.clip(np.rint(self.net.constants[tensor] / scale) + zero, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)
            self.bytes[tensor] = self.const(tensor + "_codes", codes)
        return [self.bytes[tensor]] + self.pair(tensor)

    def as_float(self, tensor, quantized_constants=True):
        constant = self.net.constants.get(tensor)
        if constant is not None and (not quantized_constants or constant.dtype != np.float32 or tensor in self.net.plain):
            return self.const(tensor, constant)
        if tensor not in self.real:
            name = tensor + "_real"
            self.add("DequantizeLinear", self.as_bytes(tensor), [name])
            self.real[tensor] = name
        return self.real[tensor]

    # --- writing one

    def quantized(self, tensor):
        """The float tensor `tensor` has been written: give it bytes."""
        self.add("QuantizeLinear", [tensor] + self.pair(tensor), [tensor + "_q"])
        self.bytes[tensor] = tensor + "_q"

    def followed(self, node):
        """The Relu and Clip that join the operator; the last tensor."""
        last = node.outputs[0]
        chain = []
        while not self.form.keep_bounds and len(self.users.get(
            last, [])) == 1 and self.users[last][0].op in BOUNDS and last not in self.net.outputs:
            chain.append(self.users[last][0])
            last = chain[-1].outputs[0]
        return chain, last

    def float_node(self, node, inputs):
        self.add(node.op, inputs, node.outputs, domain=node.domain, **node.attributes)

    def float_inputs(self, node):
        arithmetic = node.op in ("Add", "Mul", "Sub", "Div", "MatMul", "Concat", "Sum", "InstanceNormalization") and self.form.qdq
        return [self.as_float(i, arithmetic) if i else "" for i in node.inputs]

    def write_output(self, node):
        for o in node.outputs:
            if o in self.net.raw:
                self.real[o] = o
            elif o in self.users or o in self.net.outputs:
                if node.op in MOVES and not self.form.move_scales and node.inputs[0] in self.numbers:
                    self.numbers[o] = self.numbers[node.inputs[0]]
                self.quantized(o)

    def qdq_weights(self, node):
        x, w = self.as_float(node.inputs[0]), node.inputs[1]
        axis = self.weight_axis(node)
        names, scale = self.weight(w, axis)
        attributes = {"axis": axis} if scale.ndim else {}
        self.add("DequantizeLinear", names, [w + "_real"], **attributes)
        inputs = [x, w + "_real"]
        if len(node.inputs) > 2:
            b = node.inputs[2]
            if self.form.float_bias:
                inputs.append(self.const(b, self.net.constants[b]))
            else:
                each = np.tile(scale, node.attributes.get("group", 1)) if node.op == "ConvTranspose" and scale.ndim else scale
                codes, bias_scale = self.bias(b, self.learn(node.inputs[0])[0], each)
                more = {"axis": 0} if bias_scale.ndim else {}
                self.add("DequantizeLinear", [codes, self.const(b + "_scale", bias_scale)], [b + "_real"], **more)
                inputs.append(b + "_real")
        return inputs

    def qdq_node(self, node):
        weighted = node.op in ("Conv", "ConvTranspose", "Gemm", "MatMul") and len(node.inputs) > 1 and node.inputs[1] in self.net.weights
        self.float_node(node, self.qdq_weights(node) if weighted else self.float_inputs(node))
        chain, last = self.followed(node)
        if not chain or node.op in MOVES:
            self.write_output(node)
            return
        for bound in chain:
            self.float_node(bound, [bound.inputs[0]] + [self.as_float(i, False) if i else "" for i in bound.inputs[1:]])
            self.done.add(id(bound))
        self.write_output(chain[-1])

    def qop_weighted(self, node, out):
        names, scale = self.weight(node.inputs[1], self.weight_axis(node))
        bias = [self.bias(node.inputs[2], self.learn(node.inputs[0])[0], scale)[0]] if len(node.inputs) > 2 else []
        x = self.as_bytes(node.inputs[0])
        if node.op == "Conv":
            self.add("QLinearConv", x + names + self.pair(out) + bias, [out + "_q"], **node.attributes)
        elif node.op == "Gemm":
            attributes = {k: v for k, v in node.attributes.items() if k != "beta"}
            raw = out in self.net.raw  # its output is float, then
            self.add("QGemm", x + names + (bias or [""]) + ([] if raw else self.pair(out)),
                     [out if raw else out + "_q"], domain=MICROSOFT, **attributes)
        else:
            self.add("QLinearMatMul", x + names + self.pair(out), [out + "_q"])

    def qop_plain(self, node, out):
        ins = [self.as_bytes(i) for i in node.inputs]
        y = self.pair(out)
        if node.op == "MatMul":
            self.add("QLinearMatMul", ins[0] + ins[1] + y, [out + "_q"])
        elif node.op == "Concat":
            self.add("QLinearConcat", y + sum(ins, []), [out + "_q"], domain=MICROSOFT, **node.attributes)
        else:
            attributes = dict(node.attributes)
            if node.op == "Softmax":
                attributes = {"axis": attributes.get("axis", -1 if self.net.opset >= 13 else 1), "opset": self.net.opset}
            self.add("QLinear" + node.op, sum(ins, []) + y, [out + "_q"], domain=MICROSOFT, **attributes)

    def qop_node(self, node):
        if node.op in MOVES_ON_BYTES and node.inputs[0] in self.bytes and (node.attributes.get("mode") != "linear" or self.net.blends_bytes):
            inputs = [self.bytes[node.inputs[0]]] + [self.as_float(i, False) if i else "" for i in node.inputs[1:]]
            if node.op == "Pad" and len(inputs) > 2:
                inputs[2] = self.const(node.outputs[0] + "_fill", self.learn(node.inputs[0])[2](self.learn(node.inputs[0])[1]))
            elif node.op == "Pad" and node.attributes.get("mode", "constant") == "constant":
                inputs.append(self.const(node.outputs[0] + "_fill", self.learn(node.inputs[0])[2](self.learn(node.inputs[0])[1])))
            self.add(node.op, inputs, [o + "_q" for o in node.outputs], **node.attributes)
            for o in node.outputs:
                self.numbers[o], self.bytes[o] = self.numbers[node.inputs[0]], o + "_q"
            return
        if node.op == "ConvTranspose":  # has no integer form, and ONNX Runtime quantizes float weights here, as it sees fit
            self.qdq_node(node)
            return
        weighted = node.op in ("Conv", "Gemm", "MatMul") and node.inputs[1] in self.net.weights
        raw = node.outputs[0] in self.net.raw
        if weighted and raw and node.op != "Gemm":
            self.qdq_node(node)
            return
        whole = all(i in self.bytes or i in self.net.constants and i not in self.net.plain for i in node.inputs)
        if node.op not in QLINEAR or not whole or raw and node.op != "Gemm":
            self.float_node(node, self.float_inputs(node))
            self.write_output(node)
            return
        chain, out = self.followed(node)
        self.done.update(id(bound) for bound in chain)
        (self.qop_weighted if weighted else self.qop_plain)(node, out)
        (self.real if raw else self.bytes)[out] = out if raw else out + "_q"

    # --- the whole

    def graph_inputs(self):
        infos = []
        for name, shape in self.net.inputs.items():
            kind = TensorProto.FLOAT
            if self.form.byte_io:
                kind = TensorProto.UINT8 if self.form.activation == "u8" else TensorProto.INT8
                self.bytes[name] = name
                self.learn(name)
            elif name in self.net.raw:
                self.real[name] = name
            else:
                self.quantized(name)
            infos.append(helper.make_tensor_value_info(name, kind, shape))
        return infos

    def graph_outputs(self):
        names = []
        for o in self.net.outputs:
            if o in self.net.raw:
                names.append(o)
            elif self.form.byte_io:
                names.append(self.bytes[o])
            else:
                names.append(self.as_float(o))
        return [helper.make_empty_tensor_value_info(n) for n in names]

    def model(self):
        self.done = set()
        infos = self.graph_inputs()
        for node in self.net.nodes:
            if id(node) not in self.done:
                (self.qdq_node if self.form.qdq else self.qop_node)(node)
        graph = helper.make_graph(self.nodes, self.net.name, infos, self.graph_outputs(), self.initializers)
        return with_output_types(finish(graph, self.net.opset))


def with_output_types(model):
    """Shapes and types of the outputs, as ONNX Runtime infers them."""
    session = quiet_session(model, optimize=False)
    kinds = {"tensor(float)": TensorProto.FLOAT, "tensor(uint8)": TensorProto.UINT8, "tensor(int8)": TensorProto.INT8}
    del model.graph.output[:]
    for o in session.get_outputs():
        model.graph.output.append(helper.make_tensor_value_info(o.name, kinds[o.type], [
                                  d if isinstance(d, int) else None for d in o.shape]))
    return model


def quantize(net, form):
    return Writer(net, form).model()


def feeds_for(model, seed=0, spread=1.3):
    """Random values for each input of a model."""
    rng = np.random.default_rng(seed)
    constants = {i.name for i in model.graph.initializer}
    feeds = {}
    for i in model.graph.input:
        if i.name in constants:
            continue
        shape = [d.dim_value or 1 for d in i.type.tensor_type.shape.dim]
        kind = i.type.tensor_type.elem_type
        if kind == TensorProto.FLOAT:
            feeds[i.name] = (rng.standard_normal(shape) * spread).astype(np.float32)
        else:
            lo, hi, kind = code_range("u8" if kind == TensorProto.UINT8 else "s8")
            feeds[i.name] = rng.integers(lo, hi + 1, shape).astype(kind)
    return feeds
