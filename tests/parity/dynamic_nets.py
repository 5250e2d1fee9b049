# SPDX-License-Identifier: MIT
"""One layer behind a DynamicQuantizeLinear, as quantizers write it: CHAINS maps a name to a function that builds the network."""
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from netbuilder import MICROSOFT, finish, saturates

CHAINS = {}


class Chain:
    """Nodes and constants; `whole` gives every result of the quantization as an output, too."""

    def __init__(self, name, shape):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.name, self.shape = name, shape
        self.nodes, self.constants = [], {}
        self.outputs = []

    def const(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def op(self, op, *inputs, outs=1, domain="", **attributes):
        outputs = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outs)]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, domain=domain, **attributes))
        return outputs[0] if outs == 1 else outputs

    def scales(self, count):
        return self.const(self.rng.uniform(0.002, 0.02, () if count is None else count).astype(np.float32))

    def floats(self, *shape, size=1.0):
        return self.const(self.rng.uniform(-size, size, shape).astype(np.float32))

    def weights(self, kind, shape):
        kind = "s7" if kind == "s8" and saturates() else kind
        low, high, kind = {"u8": (0, 255, np.uint8), "s8": (-128, 127, np.int8), "s7": (-64, 63, np.int8), "u7": (40, 167, np.uint8)}[kind]
        return self.const(self.rng.integers(low, high + 1, shape).astype(kind))

    def zeros(self, kind, count=None):
        low, high, kind = {"u": (100, 150, np.uint8), "s": (-20, 20, np.int8), "0": (0, 0, np.int8)}[kind]
        return self.const(self.rng.integers(low, high + 1, () if count is None else count).astype(kind))

    def model(self, opset=17):
        graph = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_empty_tensor_value_info(o) for o in self.outputs],
                                  [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        return finish(graph, opset)

    def feeds(self):
        return {"x": (self.rng.standard_normal(self.shape) * 1.7).astype(np.float32)}


def chain(*shape, **arguments):
    def register(fn):
        def build():
            c = Chain(fn.__name__, list(shape))
            fn(c, **arguments)
            return c
        CHAINS[fn.__name__] = build
        return fn
    return register


def conv(c, w, zeros, scale, bias=None, old_bias=None, **attributes):
    """ConvInteger and what stands behind it; `old_bias` becomes integers of the sums, as quantizers wrote it once."""
    q, s, z = c.op("DynamicQuantizeLinear", "x", outs=3)
    y = c.op("ConvInteger", q, w, z, *([zeros] if zeros else []), **attributes)
    factors = c.op("Mul", s, scale)
    if old_bias:
        steps = c.op("Cast", c.op("Floor", c.op("Div", old_bias, c.op("Mul", s, scale))), to=TensorProto.INT32)
        shape = c.const(np.array([1, -1] + [1] * (len(c.shape) - 2), np.int64))
        y = c.op("Add", y, c.op("Reshape", steps, shape))
    y = c.op("Mul", c.op("Cast", y, to=TensorProto.FLOAT), factors)
    return c.op("Add", y, bias) if bias else y


def product(c, w, zeros, scale, q=None):
    q, s, z = q or c.op("DynamicQuantizeLinear", "x", outs=3)
    y = c.op("Cast", c.op("MatMulInteger", q, w, z, *([zeros] if zeros else [])), to=TensorProto.FLOAT)
    return c.op("Mul", y, c.op("Mul", s, scale))


@chain(3, 70)
def dynamic_alone(c):
    c.outputs = c.op("DynamicQuantizeLinear", "x", outs=3)


@chain(1, 3, 9, 7)
def dynamic_conv_dense(c):
    c.outputs = [c.op("Relu", conv(c, c.weights("u7", (18, 3, 3, 3)), c.zeros("u"), c.scales(None), c.floats(1, 18, 1, 1), pads=[1, 1, 1, 1]))]


@chain(2, 8, 6, 5)
def dynamic_conv_zeros(c):
    """Weights with zero points that 8 bits do not hold once they are taken off."""
    c.outputs = [conv(c, c.weights("u8", (20, 8, 1, 1)), c.zeros("u"), c.scales(1), old_bias=c.floats(20, size=3))]


@chain(1, 20, 9, 8)
def dynamic_conv_depthwise(c):
    y = conv(c, c.weights("s7", (20, 1, 3, 3)), None, c.scales(None), old_bias=c.floats(20, size=3), pads=[1, 1, 1, 1], group=20)
    c.outputs = [c.op("Clip", y, c.const(np.float32(0)), c.const(np.float32(6)))]


@chain(1, 8, 9, 9)
def dynamic_conv_grouped(c):
    y = conv(c, c.weights("u8", (12, 2, 3, 3)), c.zeros("u"), c.scales((12, 1, 1)), c.floats(12, 1, 1), pads=[2, 0, 1, 3], strides=[2, 1], group=4)
    c.outputs = [y]


@chain(1, 5, 21)
def dynamic_conv_line(c):
    c.outputs = [conv(c, c.weights("s8", (7, 5, 3)), c.zeros("s"), c.scales(None), pads=[1, 1], dilations=[2])]


@chain(6, 50)
def dynamic_matmul(c):
    c.outputs = [c.op("Add", product(c, c.weights("s8", (50, 35)), c.zeros("s", 35), c.scales(35)), c.floats(35))]


@chain(2, 5, 32)
def dynamic_matmul_three(c):
    q = c.op("DynamicQuantizeLinear", "x", outs=3)
    one = product(c, c.weights("s8", (32, 32)), c.zeros("0"), c.scales(None), q)
    two = c.op("Add", c.floats(9), product(c, c.weights("u8", (32, 9)), c.zeros("u"), c.scales(1), q))
    c.outputs = [one, c.op("Relu", two), product(c, c.weights("u8", (32, 17)), c.zeros("u", 17), c.scales(17), q)]


@chain(4, 33)
def dynamic_microsoft(c):
    y = c.op("DynamicQuantizeMatMul", "x", c.weights("s8", (33, 20)), c.scales(20), c.zeros("0", 20), c.floats(20), domain=MICROSOFT)
    q, s, z = c.op("DynamicQuantizeLinear", "x", outs=3)
    w, ws, wz = c.weights("u8", (33, 12)), c.scales(1), c.zeros("u")
    c.outputs = [y, c.op("MatMulIntegerToFloat", q, w, s, ws, z, wz, c.floats(12), domain=MICROSOFT),
                 c.op("DynamicQuantizeMatMul", "x", w, ws, domain=MICROSOFT)]
