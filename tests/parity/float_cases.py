# SPDX-License-Identifier: MIT
"""Graphs of one operator with random data, for every operator and attribute of the float executor."""
import platform
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int8): TensorProto.INT8,
         np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int32): TensorProto.INT32, np.dtype(np.bool_): TensorProto.BOOL,
         np.dtype(np.int16): TensorProto.INT16, np.dtype(np.uint16): TensorProto.UINT16, np.dtype(np.float64): TensorProto.DOUBLE}
# What moves data, or gives whole numbers, is the same to the bit.
EXACT = {"Relu", "Clip", "Abs", "Neg", "Floor", "Ceil", "Round", "Max", "Min", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin",
         "ArgMax", "ArgMin", "Concat", "Split", "Slice", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Dropout",
         "Cast", "Expand", "Tile", "Pad", "Gather", "Compress", "ScatterND", "ScatterElements", "Scatter", "GatherElements", "GatherND",
         "ReverseSequence", "OneHot", "IsNaN", "DepthToSpace", "SpaceToDepth", "QuantizeLinear", "DequantizeLinear", "Where", "NonMaxSuppression", "Equal", "Greater", "Less", "GreaterOrEqual",
         "LessOrEqual", "And", "Or", "Xor", "Not", "Sign"}
# So is Resize in both modes, where ONNX Runtime's compiler does not fuse its multiplications with its additions.
if platform.machine() in ("x86_64", "AMD64"):
    EXACT.add("Resize")


class Constant:
    """An input that is a constant of the model."""

    def __init__(self, array):
        self.array = np.asarray(array)


class Case:
    """One node: arrays are the graph's inputs, Constants initializers, None left out."""

    def __init__(self, name, op, *inputs, opset=13, domain="", outputs=1, **attributes):
        self.name, self.op, self.inputs, self.opset, self.domain = f"{op} {name}".strip(), op, inputs, opset, domain
        self.outputs, self.attributes = outputs, attributes
        self.exact = op in EXACT

    def make(self):
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, name="the_node", domain=self.domain, **self.attributes)
        feeds = {n: x for n, x in zip(names, self.inputs) if isinstance(x, np.ndarray)}
        graph = helper.make_graph(
            [node], "one", [helper.make_tensor_value_info(n, TYPES[x.dtype], x.shape) for n, x in feeds.items()],
            [helper.make_empty_tensor_value_info(n) for n in outputs],
            [numpy_helper.from_array(x.array, n) for n, x in zip(names, self.inputs) if isinstance(x, Constant)])
        opsets = [helper.make_opsetid("", self.opset)] + ([helper.make_opsetid(MICROSOFT, 1)] if self.domain else [])
        return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


def uniform(name, *shape, low=-3.0, high=3.0):
    return np.random.default_rng(zlib.crc32(f"{name}{shape}".encode())).uniform(low, high, shape).astype(np.float32)


def ints(*values):
    return Constant(np.array(values, np.int64))


def floats(*values):
    return Constant(np.array(values[0] if len(values) == 1 else values, np.float32))


def weights(name, *shape):
    return Constant(uniform(name, *shape, low=-1, high=1))


def convolutions():
    def conv(name, x, w, bias=True, **attributes):
        inputs = [uniform(name, *x), weights(name, *w)] + ([weights(name, w[0])] if bias else [])
        return Case(f"{name} {list(x)} {list(w)}", "Conv", *inputs, **attributes)

    yield conv("pointwise", (1, 13, 9, 11), (21, 13, 1, 1))
    yield conv("pointwise deep", (2, 300, 7, 7), (40, 300, 1, 1))
    yield conv("pointwise of one pixel", (1, 70, 1, 1), (37, 70, 1, 1))
    yield conv("pointwise stride", (1, 16, 9, 9), (8, 16, 1, 1), strides=[2, 2], bias=False)
    yield conv("pointwise pads", (1, 5, 6, 6), (3, 5, 1, 1), pads=[1, 0, 2, 1])
    yield conv("dense", (1, 3, 17, 19), (10, 3, 3, 3), pads=[1, 1, 1, 1])
    yield conv("dense deep", (1, 40, 12, 12), (33, 40, 3, 3), pads=[1, 1, 1, 1])
    yield conv("stride", (1, 3, 20, 20), (16, 3, 3, 3), pads=[0, 1, 2, 1], strides=[2, 3])
    yield conv("dilated", (1, 4, 15, 16), (5, 4, 3, 2), dilations=[2, 3], pads=[2, 1, 0, 3])
    yield conv("large kernel", (1, 3, 30, 30), (6, 3, 7, 7), pads=[3, 3, 3, 3], strides=[2, 2])
    yield conv("whole", (1, 6, 5, 5), (9, 6, 5, 5))
    yield conv("two by one results", (1, 6, 6, 5), (9, 6, 5, 5))
    yield conv("grouped", (1, 12, 8, 8), (18, 4, 3, 3), group=3, pads=[1, 1, 1, 1])
    yield conv("grouped of one pixel", (1, 12, 3, 3), (18, 4, 3, 3), group=3)
    yield conv("batch", (3, 4, 8, 8), (5, 4, 3, 3))
    for kernel, stride, dilation, size in ((3, 1, 1, 14), (3, 2, 1, 15), (5, 2, 1, 12), (3, 1, 2, 9), (5, 3, 2, 21), (2, 4, 1, 13)):
        pad = kernel // 2 * dilation
        yield conv(f"depthwise {kernel} {stride} {dilation}", (2, 6, size, size + 1), (6, 1, kernel, kernel), group=6,
                   strides=[stride, stride], dilations=[dilation, dilation], pads=[pad, pad, pad, 0])
    yield conv("depthwise multiplier", (1, 4, 9, 9), (12, 1, 3, 3), group=4, pads=[1, 1, 1, 1])
    yield conv("depthwise long", (1, 3, 4, 200), (3, 1, 3, 3), group=3, pads=[1, 1, 1, 1])
    yield conv("one dimension", (1, 5, 40), (7, 5, 3), pads=[1, 2], strides=[2])
    yield conv("one dimension depthwise", (1, 5, 40), (5, 1, 9), group=5, pads=[8, 0])
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield conv(pad, (1, 3, 10, 11), (4, 3, 3, 4), auto_pad=pad, strides=[2, 3])
    for activation, parameters in (("Relu", None), ("Clip", [0.0, 6.0]), ("LeakyRelu", [0.1]), ("Sigmoid", None), ("Tanh", None),
                                   ("HardSigmoid", [0.3, 0.4])):
        more = {"activation_params": parameters} if parameters else {}
        yield Case(activation, "FusedConv", uniform("x", 1, 6, 8, 8), weights("w", 9, 6, 3, 3), weights("b", 9), domain=MICROSOFT,
                   activation=activation, **more)
    yield Case("adds", "FusedConv", uniform("x", 1, 6, 8, 8), weights("w", 9, 6, 3, 3), weights("b", 9), uniform("z", 1, 9, 6, 6),
               domain=MICROSOFT, activation="Relu")


def transposed():
    def conv(name, x, w, bias=True, **attributes):
        group = attributes.get("group", 1)
        inputs = [uniform(name, *x), weights(name, *w)] + ([weights(name, w[1] * group)] if bias else [])
        return Case(f"{name} {list(x)} {list(w)}", "ConvTranspose", *inputs, **attributes)

    yield conv("plain", (1, 5, 6, 7), (5, 4, 3, 3))
    yield conv("stride", (1, 5, 6, 7), (5, 4, 2, 2), strides=[2, 2])
    yield conv("pads", (2, 5, 6, 7), (5, 9, 4, 3), strides=[2, 3], pads=[1, 0, 2, 1], bias=False)
    yield conv("output padding", (1, 3, 5, 5), (3, 4, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])
    yield conv("dilated", (1, 3, 5, 5), (3, 4, 3, 3), dilations=[2, 3])
    yield conv("grouped", (1, 6, 5, 5), (6, 2, 3, 3), group=3, strides=[2, 2])
    yield conv("depthwise", (1, 6, 5, 5), (6, 1, 4, 4), group=6, strides=[2, 2], pads=[1, 1, 1, 1])
    yield conv("deep", (1, 200, 9, 9), (200, 11, 2, 2), strides=[2, 2])
    yield conv("one dimension", (1, 4, 9), (4, 3, 5), strides=[3])
    yield conv("shape", (1, 3, 5, 6), (3, 4, 3, 3), strides=[3, 2], output_shape=[14, 12])
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield conv(pad, (1, 3, 5, 6), (3, 4, 4, 3), auto_pad=pad, strides=[3, 2])
        yield conv(pad + " shape", (1, 3, 5, 6), (3, 4, 4, 3), auto_pad=pad, strides=[3, 2], output_shape=[14, 11])


def products():
    for rows in (1, 2, 3, 4, 17):
        yield Case(f"{rows}", "Gemm", uniform("a", rows, 50), weights("b", 50, 37), weights("c", 37))
    yield Case("transB", "Gemm", uniform("a", 5, 50), weights("b", 37, 50), weights("c", 37), transB=1)
    yield Case("transA alpha beta", "Gemm", uniform("a", 50, 5), weights("b", 50, 37), weights("c", 5, 1), transA=1, alpha=0.5, beta=-2.0)
    yield Case("number", "Gemm", uniform("a", 5, 50), weights("b", 50, 37), floats(3.0))
    yield Case("no bias", "Gemm", uniform("a", 5, 50), weights("b", 50, 37))
    yield Case("moving", "Gemm", uniform("a", 5, 50), uniform("b", 33, 50), uniform("c", 5, 33), transB=1)
    yield Case("old", "Gemm", uniform("a", 5, 50), weights("b", 50, 37), weights("c", 37), opset=10)
    for a, b in (((4, 6), (6, 9)), ((1, 6), (6, 100)), ((6,), (6, 9)), ((4, 6), (6,)), ((6,), (6,)), ((2, 3, 4, 8), (2, 3, 8, 5)),
                 ((2, 3, 4, 8), (8, 5)), ((4, 8), (3, 8, 5)), ((2, 1, 4, 8), (1, 3, 8, 5)), ((1, 197, 64), (64, 192)), ((3, 1, 4), (3, 4, 1)),
                 ((2, 3, 8), (8,)), ((8,), (3, 8, 5)), ((1, 4, 50, 32), (1, 4, 32, 50))):
        yield Case(f"{a} {b}", "MatMul", uniform("a", *a), uniform("b", *b))
        yield Case(f"{a} constant {b}", "MatMul", uniform("a", *a), weights("b", *b))
    yield Case("constant left", "MatMul", weights("a", 7, 6), uniform("b", 2, 6, 9))


def einsums():
    for equation, left, right in (("bik,bkj->bij", (2, 3, 4), (2, 4, 5)), ("B G H I D, B G H J D -> B G H I J", (2, 3, 2, 4, 5), (2, 3, 2, 6, 5)),
                                  ("ij,jk", (3, 4), (4, 5)), ("za,ab", (3, 4), (4, 5)), ("abcd,cdef->aebf", (2, 3, 4, 5), (4, 5, 3, 2)),
                                  ("i,j->ji", (3,), (4,)), ("i,i->", (7,), (7,)), ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)),
                                  ("ab,bc->c", (3, 4), (4, 5)), ("abc,abc->ba", (2, 3, 4), (2, 3, 4))):
        yield Case(equation, "Einsum", uniform("x", *left), uniform("y", *right), equation=equation)
    yield Case("one", "Einsum", uniform("x", 2, 3, 4), equation="abc->cb")


def pools():
    for op in ("MaxPool", "AveragePool"):
        for name, shape, attributes in (
                ("plain", (1, 3, 8, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
                ("pads", (2, 3, 9, 10), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
                ("uneven", (1, 3, 9, 10), {"kernel_shape": [3, 2], "strides": [1, 3], "pads": [0, 1, 2, 0]}),
                ("ceil", (1, 3, 10, 11), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
                ("ceil pads", (1, 3, 10, 12), {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1, "pads": [1, 1, 1, 1]}),
                ("whole", (1, 3, 7, 7), {"kernel_shape": [7, 7]}),
                ("SAME_UPPER", (1, 3, 10, 11), {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_UPPER"}),
                ("SAME_LOWER", (1, 3, 10, 11), {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"}),
                ("VALID", (1, 3, 10, 11), {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "VALID"}),
                ("one dimension", (1, 3, 30), {"kernel_shape": [5], "strides": [2], "pads": [2, 1]})):
            yield Case(name, op, uniform(name, *shape), opset=12, **attributes)
            if op == "AveragePool" and "ceil_mode" not in attributes:
                yield from (Case(f"{name} {p}", "LpPool", uniform(name, *shape), opset=22, p=p, **attributes) for p in (1, 2))
            if op == "AveragePool":
                yield Case(name + " counting", op, uniform(name, *shape), opset=19, count_include_pad=1, **attributes)
        yield Case("dilated", op, uniform("x", 1, 3, 12, 12), opset=19, kernel_shape=[3, 2], dilations=[2, 3], pads=[1, 1, 1, 1])
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield Case("", op, uniform("x", 2, 5, 7, 6))
        yield Case("one dimension", op, uniform("x", 2, 5, 31))


def reductions():
    for op in ("Mean", "Sum", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        x = uniform(op, 2, 3, 4, 5, low=0.1 if op == "LogSum" else -2, high=2)
        for axes in ([1], [0, 2], [2, 3], [-1], [0, 1, 2, 3]):
            for keep in (0, 1):
                if op == "Sum":
                    yield Case(f"{axes} {keep}", "ReduceSum", x, ints(*axes), keepdims=keep)
                else:
                    yield Case(f"{axes} {keep}", "Reduce" + op, x, axes=axes, keepdims=keep)
        yield Case("all", "Reduce" + op, x)
        yield Case("18", "Reduce" + op, x, ints(1, -1), opset=18)
        yield Case("18 none", "Reduce" + op, x, opset=18, noop_with_empty_axes=0)
    yield Case("noop", "ReduceMean", uniform("x", 2, 3), opset=18, noop_with_empty_axes=1)
    for op in ("ArgMax", "ArgMin"):
        for axis in (0, 1, -1):
            for keep in (0, 1):
                yield Case(f"{axis} {keep}", op, np.round(uniform(op, 3, 4, 5)), axis=axis, keepdims=keep, select_last_index=keep)
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for direction in ("forward", "reverse", "bidirectional"):
            ways = 2 if direction == "bidirectional" else 1
            w, r = (Constant(uniform(name, ways, gates * 4, width)) for name, width in (("w", 3), ("r", 4)))
            bias, state = Constant(uniform("bias", ways, 8 * gates)), uniform("state", ways, 2, 4)
            yield Case(direction, op, uniform("x", 5, 2, 3), w, r, outputs=2, direction=direction, hidden_size=4)
            after = dict(linear_before_reset=1) if op == "GRU" else {}
            yield Case(f"{direction} from a state", op, uniform("x", 1, 2, 3), w, r, bias, None, state, outputs=2, direction=direction,
                       hidden_size=4, **after)
    for op in ("Softmax", "LogSoftmax"):
        for axis in (0, 1, 2, -1):
            yield Case(f"{axis}", op, uniform(op, 3, 4, 5, low=-9, high=9), axis=axis)
            yield Case(f"{axis} old", op, uniform(op, 3, 4, 5, low=-9, high=9), axis=axis, opset=11)
        yield Case("default", op, uniform(op, 3, 4, 5))
        yield Case("old default", op, uniform(op, 3, 4, 5), opset=12)


def normalizations():
    for shape in ((2, 5, 6, 7), (3, 5), (2, 5, 9)):
        yield Case(f"{shape}", "BatchNormalization", uniform("x", *shape), weights("s", 5), weights("b", 5), weights("m", 5),
                   Constant(uniform("v", 5, low=0.1)), epsilon=1e-3)
    yield Case("", "InstanceNormalization", uniform("x", 2, 5, 6, 7), weights("s", 5), weights("b", 5), epsilon=1e-3)
    for axis, scale in ((-1, (7,)), (2, (6, 7)), (1, (5, 6, 7))):
        yield Case(f"{axis}", "LayerNormalization", uniform("x", 2, 5, 6, 7), weights("s", *scale), weights("b", *scale), opset=17,
                   axis=axis)
    yield Case("no shift", "LayerNormalization", uniform("x", 2, 5, 6, 7), weights("s", 7), opset=17, epsilon=1e-3)
    for axis in (-1, 2):
        yield Case(f"{axis}", "RMSNormalization", uniform("x", 2, 5, 6, 7), weights("s", *(2, 5, 6, 7)[axis:]), opset=23, axis=axis)
    yield Case("", "MeanVarianceNormalization", uniform("x", 2, 3, 6, 7))
    yield from (Case(f"{axes}", "MeanVarianceNormalization", uniform("x", 2, 3, 6, 7), axes=axes) for axes in ([0, 1, 2, 3], [2, 3]))
    for axis in (-1, 1):
        for power in (1, 2):
            yield Case(f"{axis} {power}", "LpNormalization", uniform("x", 2, 5, 6, 7), axis=axis, p=power)
    for size in (1, 3, 5):
        yield Case(f"{size}", "LRN", uniform("x", 2, 7, 5, 6), size=size, alpha=0.02, beta=0.6, bias=1.5)
    yield Case("21", "GroupNormalization", uniform("x", 2, 6, 4, 5), weights("s", 6), weights("b", 6), opset=21, num_groups=3)


def arithmetic():
    shapes = (((2, 3, 4, 5), (2, 3, 4, 5)), ((2, 3, 4, 5), (3, 1, 1)), ((2, 3, 4, 5), (5,)), ((2, 3, 4, 5), ()), ((4, 1), (2, 3, 4, 5)),
              ((1, 3, 1, 5), (2, 1, 4, 1)), ((1, 6, 7, 7), (1, 6, 1, 1)), ((3, 1), (1, 4)), ((1,), (1, 1)), ((2, 3, 4, 1), (2, 3, 4, 5)))
    for op in ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"):
        low = 0.3 if op in ("Pow", "Div") else -3
        for a, b in shapes:
            x, y = uniform(op + "a", *a, low=low), uniform(op + "b", *b, low=low)
            if op in ("Equal", "GreaterOrEqual", "LessOrEqual"):
                x, y = np.asarray(np.round(x)), np.asarray(np.round(y))
            yield Case(f"{a} {b}", op, x, y)
        yield Case("constant", op, uniform("a", 2, 3, 4, low=low), weights("b", 3, 1))
        yield Case("same twice", op, *[uniform("a", 2, 3, low=low)] * 2)
    yield Case("square", "Pow", uniform("a", 2, 3), floats(2.0))
    yield Case("cube", "Pow", uniform("a", 2, 3), floats(3.0))
    yield Case("root", "Pow", uniform("a", 2, 3, low=0.1), floats(0.5))
    for op in ("Max", "Min", "Sum", "Mean"):
        yield Case("three", op, uniform("a", 2, 1, 4), uniform("b", 3, 1), uniform("c", 1))
        yield Case("one", op, uniform("a", 2, 1, 4))
        yield Case("first is small", op, uniform("a", 4), uniform("b", 3, 4), uniform("c", 2, 3, 4))
    for op in ("And", "Or", "Xor"):
        yield Case("", op, uniform("a", 2, 3, 4) > 0, uniform("b", 3, 1) > 0)
    for slope in ((4,), (3, 1), (2, 3, 4), (1,)):
        yield Case(f"{slope}", "PRelu", uniform("x", 2, 3, 4), weights("s", *slope))
    yield Case("", "Where", uniform("c", 2, 3, 1) > 0, uniform("a", 3, 4), uniform("b", 1))
    yield Case("constants", "Where", uniform("c", 2, 3) > 0, floats(1.0), floats(-1e9))


def functions():
    wide = uniform("wide", 3, 50, low=-12, high=12)
    for op, attributes in (("Relu", {}), ("LeakyRelu", {}), ("LeakyRelu", {"alpha": 0.2}), ("ThresholdedRelu", {"alpha": 0.7}), ("Elu", {}),
                           ("Elu", {"alpha": 0.5}), ("Selu", {}), ("Selu", {"alpha": 2.0, "gamma": 1.5}), ("Celu", {}),
                           ("Celu", {"alpha": 0.7}), ("Sigmoid", {}), ("HardSigmoid", {}), ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
                           ("HardSwish", {"opset": 14}), ("Mish", {"opset": 18}), ("Softplus", {}), ("Softsign", {}), ("Tanh", {}), ("Erf", {}),
                           ("Gelu", {"opset": 20}), ("Gelu", {"opset": 20, "approximate": "tanh"}), ("Exp", {}), ("Abs", {}), ("Neg", {}),
                           ("Sign", {}), ("Floor", {}), ("Ceil", {}), ("Reciprocal", {}), ("Sin", {}), ("Cos", {}),
                           ("Tan", {}), ("Atan", {}), ("Sinh", {}), ("Cosh", {}), ("Asinh", {})):
        yield Case(f"{attributes}" if attributes else "", op, wide, **attributes)
    yield Case("", "Shrink", wide)
    yield Case("numbers", "Shrink", wide, lambd=1.5, bias=0.3)
    yield Case("half", "Round", np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 3.2, -3.7], np.float32))
    yield Case("Microsoft's", "Gelu", wide, domain=MICROSOFT)
    yield Case("", "BiasGelu", wide, weights("b", wide.shape[-1]), domain=MICROSOFT)
    yield Case("", "FastGelu", wide, domain=MICROSOFT)
    yield Case("bias", "FastGelu", wide, weights("b", wide.shape[-1]), domain=MICROSOFT)
    yield Case("", "IsNaN", np.where(wide > 0, wide, np.float32(np.nan)))
    yield Case("", "QuickGelu", wide, domain=MICROSOFT)
    yield Case("alpha", "QuickGelu", wide, domain=MICROSOFT, alpha=0.8)
    for op in ("Asin", "Acos", "Atanh"):
        yield Case("", op, uniform("inside", 2, 30, low=-0.99, high=0.99))
    yield Case("", "Acosh", uniform("above", 2, 30, low=1, high=9))
    for op in ("Log", "Sqrt"):
        yield Case("", op, uniform(op, 3, 50, low=1e-3, high=40))
    yield Case("", "Not", wide > 0)
    for low, high in ((-1.0, 1.0), (None, 1.0), (-1.0, None), (None, None), (2.0, -2.0)):
        yield Case(f"{low} {high}", "Clip", wide, *[None if b is None else floats(b) for b in (low, high)])
    low, high = np.array(-1.25, np.float32), np.array(2.75, np.float32)
    yield Case("computed", "Clip", wide, low, high)
    yield Case("computed, above below", "Clip", wide, high, low)
    yield Case("computed below", "Clip", wide, low)
    yield Case("computed above", "Clip", wide, None, high)
    yield Case("old", "Clip", wide, opset=10, min=-1.0, max=6.0)
    yield Case("int8", "Clip", np.arange(-128, 128).astype(np.int8), Constant(np.int8(-5)), Constant(np.int8(99)))
    small = uniform("x", 3, 7, low=-100, high=100)
    for to in (TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.DOUBLE):
        yield Case(f"{to}", "Cast", small, to=to)
    yield Case("int64 to float", "Cast", np.arange(-9, 9), to=TensorProto.FLOAT)
    yield Case("bool to float", "Cast", small > 0, to=TensorProto.FLOAT)


def moves():
    x = uniform("x", 2, 3, 4, 5)
    for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (1, 0, 2, 3), (0, 1, 3, 2), (3, 2, 1, 0), (0, 1, 2, 3)):
        yield Case(f"{perm}", "Transpose", x, perm=list(perm))
    yield Case("default", "Transpose", x)
    for shape in ((2, -1), (0, 3, -1), (120,), (2, 3, 4, 5), (1, 2, 1, 60)):
        yield Case(f"{shape}", "Reshape", x, ints(*shape))
    for axis in (0, 1, 2, 4, -1):
        yield Case(f"{axis}", "Flatten", x, axis=axis)
    ones = uniform("x", 1, 3, 1, 5)
    yield Case("all", "Squeeze", ones)
    yield Case("2", "Squeeze", ones, ints(2))
    yield Case("old", "Squeeze", ones, opset=11, axes=[0])
    yield Case("", "Unsqueeze", x, ints(0, -1))
    yield Case("old", "Unsqueeze", x, opset=11, axes=[1, 2])
    yield Case("", "Identity", x)
    yield Case("", "Dropout", x)
    yield Case("ratio", "Dropout", x, floats(0.3))
    for starts, ends, axes, steps in (((1,), (3,), (2,), (1,)), ((0, -4), (9, -1), (1, 3), (2, 1)), ((-1,), (-99,), (3,), (-2,)),
                                      ((3, 2), (0, -99), (2, 1), (-1, -1)), ((1,), (2**62,), (0,), (2**40,)), ((2,), (2,), (2,), (1,))):
        yield Case(f"{starts} {ends} {axes} {steps}", "Slice", x, ints(*starts), ints(*ends), ints(*axes), ints(*steps))
    yield Case("plain", "Slice", x, ints(0, 1), ints(1, 3))
    yield Case("old", "Slice", x, starts=[0, 1], ends=[1, 3], axes=[0, 2], opset=9)
    for axis, parts in ((1, (1, 2)), (3, (2, 3)), (-2, (1, 1, 2)), (0, (1, 1)), (1, (0, 3))):
        yield Case(f"{axis} {parts}", "Split", x, ints(*parts), axis=axis, outputs=len(parts))
        yield Case(f"{axis} {parts} old", "Split", x, axis=axis, split=list(parts), opset=11, outputs=len(parts))
    yield Case("even", "Split", x, axis=2, outputs=2)
    yield Case("nearly even", "Split", x, axis=3, outputs=3, opset=18, num_outputs=3)
    for axis in (0, 1, 2, -1):
        other = list(x.shape)
        other[axis] = 2
        yield Case(f"{axis}", "Concat", x, uniform("y", *other), x, axis=axis)
    yield Case("one", "Concat", x, axis=1)
    yield Case("constant", "Concat", uniform("x", 2, 3), weights("y", 2, 4), axis=1)
    for shape in ((2, 3, 4), (1,), (3, 1), (2, 1, 4)):
        yield Case(f"{shape}", "Expand", uniform("x", 3, 1), ints(*shape))
    for repeats in ((1, 2, 1, 3), (2, 1, 1, 1), (1, 1, 1, 1), (1, 0, 1, 1)):
        yield Case(f"{repeats}", "Tile", x, ints(*repeats))
    for axis, indices in ((0, [1, 0, 1]), (1, [[2, -1], [0, 1]]), (3, [-5, 4]), (-2, 3)):
        yield Case(f"{axis} {indices}", "Gather", x, Constant(np.array(indices, np.int64)), axis=axis)
        yield Case(f"{axis} {indices} moving", "Gather", x, np.array(indices, np.int64), axis=axis)
    for axis, indices in ((1, [[[[0, 2], [1, -1]]]]), (-1, [[[[4, -5, 0]]]]), (0, [[[[1, 0, 1, 1, -2]]]])):
        yield Case(f"{axis}", "GatherElements", x, Constant(np.array(indices, np.int64)), axis=axis)
        yield Case(f"{axis} moving", "GatherElements", x, np.array(indices, np.int64), axis=axis)
    for indices in ([1], [[0], [-1], [0]], [[0, 2], [1, -3]], [[[1, 2, 3, -5]], [[0, 0, 0, 0]]]):
        yield Case(f"{indices}", "GatherND", x, Constant(np.array(indices, np.int64)))
        yield Case(f"{indices} moving", "GatherND", x, np.array(indices, np.int64))
    for lengths, axes in (([2, 1, 2], {}), ([3, 1], dict(batch_axis=0, time_axis=1)), ([1, 2, 2], dict(batch_axis=1, time_axis=0))):
        yield Case(f"{lengths}", "ReverseSequence", x, Constant(np.array(lengths, np.int64)), **axes)
        yield Case(f"{lengths} moving", "ReverseSequence", x, np.array(lengths, np.int64), **axes)
    for axis in (0, 1, -1):  # -8 and 7 lie outside
        for numbers in ((0, 1), (-1.5, 2)):
            yield Case(f"{axis} {numbers}", "OneHot", np.arange(-8, 8).reshape(2, 8), ints(7), Constant(np.array(numbers, np.float32)),
                       axis=axis)
    for b in (2, 3):
        y = uniform("d", 2, 2 * b * b, 3, 4)
        for mode in ("DCR", "CRD"):
            yield Case(f"{b} {mode}", "DepthToSpace", y, blocksize=b, mode=mode)
        yield Case(f"{b}", "SpaceToDepth", uniform("s", 2, 3, 2 * b, 3 * b), blocksize=b)


def borders():
    x = uniform("x", 2, 3, 4, 5)
    for mode in ("constant", "reflect", "edge", "wrap"):
        opset = 19 if mode == "wrap" else 13
        for pads in ((0, 0, 1, 2, 0, 0, 3, 1), (1, 0, 0, 0, 0, 2, 0, 0), (0, 0, 3, 4, 0, 0, 3, 4)):
            if mode == "reflect" and pads[0]:
                pads = (1, 2, 0, 0, 1, 2, 0, 0)
            yield Case(f"{mode} {pads}", "Pad", x, ints(*pads), mode=mode, opset=opset)
    yield Case("value", "Pad", x, ints(0, 0, 1, 2, 0, 0, 3, 1), floats(-7.5))
    yield Case("cuts", "Pad", x, ints(0, 0, -1, 2, 0, 0, 0, -2), floats(1.0))
    yield Case("axes", "Pad", x, ints(1, 2, 3, 4), floats(1.0), ints(-1, 1), opset=18)
    yield Case("old", "Pad", x, pads=[0, 0, 1, 1, 0, 0, 1, 1], mode="reflect", opset=10)
    yield Case("old value", "Pad", x, pads=[0, 0, 1, 1, 0, 0, 1, 1], value=2.5, opset=10)


def spectra():
    """Of powers of two: others ONNX Runtime computes by longer ones, with less precision."""
    def whole(n):
        return Constant(np.int64(n))

    hann = Constant((0.5 - 0.5 * np.cos(np.arange(64) * (np.pi / 32))).astype(np.float32))
    yield Case("window", "STFT", uniform("x", 2, 500), whole(20), hann, opset=17)
    yield Case("one part", "STFT", uniform("x", 1, 301, 1), whole(64), hann, whole(64), opset=17)
    yield Case("two-sided", "STFT", uniform("x", 2, 100), whole(7), None, whole(32), opset=17, onesided=0)
    yield Case("complex", "STFT", uniform("x", 1, 64, 2), whole(16), None, whole(16), opset=17, onesided=0)
    for axis in (1, 2):
        yield Case(f"axis {axis}", "DFT", uniform("x", 2, 16, 32, 1), opset=17, axis=axis)
        yield Case(f"one-sided {axis}", "DFT", uniform("x", 2, 16, 32, 1), opset=17, axis=axis, onesided=1)
        yield Case(f"complex {axis}", "DFT", uniform("x", 2, 16, 32, 2), opset=17, axis=axis)
        yield Case(f"inverse {axis}", "DFT", uniform("x", 2, 16, 32, 2), None, whole(axis), opset=20, inverse=1)
    yield Case("longer", "DFT", uniform("x", 3, 20, 1), whole(32), opset=17)
    yield Case("shorter", "DFT", uniform("x", 3, 20, 2), whole(16), opset=17)
    yield Case("length of one", "DFT", uniform("x", 3, 1, 2), opset=17)


def resizes():
    x = uniform("x", 1, 3, 5, 6)
    modes = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric")
    for transformation in modes:
        opset = 19 if transformation == "half_pixel_symmetric" else 13
        for scales in ((1, 1, 2, 2), (1, 1, 1.6, 0.7), (1, 1, 3, 1), (1, 1, 0.4, 0.3)):
            for mode, more in (("nearest", {"nearest_mode": "floor"}), ("nearest", {"nearest_mode": "round_prefer_ceil"}), ("linear", {})):
                yield Case(f"{mode} {transformation} {scales} {list(more.values())}", "Resize", x, None, floats(*scales), mode=mode,
                           coordinate_transformation_mode=transformation, opset=opset, **more)
        for size in ((9, 4), (1, 1), (5, 6), (13, 17)):
            for mode in ("nearest", "linear"):
                yield Case(f"{mode} {transformation} {size}", "Resize", x, None, None, ints(1, 3, *size), mode=mode, opset=opset,
                           coordinate_transformation_mode=transformation)
    for mode in ("nearest", "linear"):
        yield Case(f"{mode} 7", "Upsample", x, opset=7, scales=[1.0, 1.0, 2.0, 3.0], mode=mode)
        yield Case(f"{mode} 9", "Upsample", x, floats(1, 1, 2, 2.5), opset=9, mode=mode)
        yield Case(f"{mode} 10", "Resize", x, floats(1, 1, 2, 2), opset=10, mode=mode)
        yield Case(f"{mode} 10 down", "Resize", x, floats(1, 1, 0.6, 0.6), opset=10, mode=mode)
        for roi in ((0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9), (0, 0, -0.2, 0.1, 1, 1, 0.6, 1.3)):
            yield Case(f"{mode} crop {roi}", "Resize", x, floats(*roi), None, ints(1, 3, 4, 5), mode=mode, extrapolation_value=9.0,
                       coordinate_transformation_mode="tf_crop_and_resize")
    for case in cubic_resizes(x, modes):
        case.exact = False  # its weights are computed in double, and the two axes in another order
        yield case
    yield Case("channels last", "Resize", uniform("x", 1, 5, 6, 3), None, floats(1, 2, 2, 1), mode="linear")
    yield Case("channels last, rows", "Resize", uniform("x", 2, 5, 6, 3), None, floats(1, 1.7, 1, 1), mode="linear")
    yield Case("two dimensions", "Resize", uniform("x", 5, 6), None, floats(2, 2), mode="linear")
    yield Case("rows", "Resize", uniform("x", 2, 3, 7), None, floats(1, 1, 2.5), mode="linear")
    yield Case("volumes", "Resize", uniform("x", 2, 3, 4, 5, 6), None, floats(1, 1, 2, 0.6, 3), mode="linear")
    yield Case("volumes, crop", "Resize", uniform("x", 1, 2, 4, 5, 6), floats(0, 0, 0, -0.2, 0.1, 1, 1, 0.7, 0.9, 1.2), None,
               ints(1, 2, 3, 6, 7), mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)


def cubic_resizes(x, modes):
    for transformation in modes:
        more = {"mode": "cubic", "coordinate_transformation_mode": transformation, "opset": 19 if transformation == "half_pixel_symmetric" else 13}
        for scales in ((1, 1, 2, 2), (1, 1, 1.6, 0.7), (1, 1, 3, 1), (1, 1, 0.4, 0.3)):
            yield Case(f"cubic {transformation} {scales}", "Resize", x, None, floats(*scales), **more)
        yield Case(f"cubic {transformation} sizes", "Resize", x, None, None, ints(1, 3, 13, 17), **more)
        yield Case(f"cubic {transformation} inside", "Resize", x, None, floats(1, 1, 2.5, 1.5), cubic_coeff_a=-0.5, exclude_outside=1, **more)
    yield Case("cubic two dimensions", "Resize", uniform("x", 5, 6), None, floats(2, 3), mode="cubic")
    yield Case("cubic crop", "Resize", x, floats(0, 0, -0.2, 0.1, 1, 1, 0.6, 1.3), None, ints(1, 3, 4, 5), mode="cubic", extrapolation_value=9.0,
               coordinate_transformation_mode="tf_crop_and_resize")


def grids():
    x = uniform("x", 2, 3, 5, 6)
    far = np.array([-1, 1, 0, -0.5, 3, -7.25, 40, -1000, 1.5, -1.001], np.float32)
    for beyond in ("zeros", "border", "reflection"):
        for corners in (0, 1):
            for mode, opset in (("linear", 20), ("nearest", 20), ("bilinear", 16)):
                kind = dict(mode=mode, padding_mode=beyond, align_corners=corners, opset=opset)
                yield Case(f"{mode} {beyond} {corners}", "GridSample", x, uniform("grid", 2, 4, 7, 2, low=-1.5, high=1.5), **kind)
                yield Case(f"{mode} {beyond} {corners} far", "GridSample", x, np.resize(far, (2, 3, 7, 2)), **kind)
    for corners in (0, 1):
        yield Case(f"{corners}", "AffineGrid", uniform("theta", 2, 2, 3), ints(2, 3, 5, 4), align_corners=corners, opset=20)
    yield Case("one pixel", "AffineGrid", uniform("theta", 1, 2, 3), ints(1, 3, 1, 1), opset=20)
    yield Case("plain", "GridSample", x, Constant(uniform("grid", 2, 4, 7, 2, low=-1.5, high=1.5)), opset=16)
    yield Case("one pixel", "GridSample", uniform("x", 1, 2, 1, 1), uniform("grid", 1, 4, 7, 2), opset=16)


def suppressions():
    """Each selects all that there is room for."""
    boxes, scores = uniform("boxes", 2, 9, 4, low=0, high=1), uniform("scores", 2, 3, 9, low=0, high=1)
    for centre in (0, 1):
        for most, overlap in ((1, 0.5), (2, 0.9), (3, 0.99)):
            yield Case(f"{centre} {most}", "NonMaxSuppression", boxes, scores, ints(most), floats([overlap]), center_point_box=centre)
    yield Case("all", "NonMaxSuppression", boxes, scores, ints(100), floats([1.0]))
    yield Case("equal scores", "NonMaxSuppression", boxes, np.round(scores * 2) / 2, ints(9), floats([1.0]))


def quantization():
    x = uniform("x", 2, 3, 4, 5, low=-20, high=20)
    ties = (np.arange(-40, 40) / 4).astype(np.float32).reshape(2, 40)
    for kind in (np.uint8, np.int8):
        zero = 7 if kind == np.uint8 else -3
        yield Case(f"{kind.__name__}", "QuantizeLinear", x, floats(0.1), Constant(kind(zero)))
        yield Case(f"{kind.__name__} ties", "QuantizeLinear", ties, floats(0.5), Constant(kind(zero)))
        yield Case(f"{kind.__name__} axis", "QuantizeLinear", x, floats(0.1, 0.2, 0.3), Constant(np.array([1, 2, 3], kind)), axis=1)
        codes = np.random.default_rng(1).integers(-100 if kind == np.int8 else 0, 100, (2, 3, 4, 5)).astype(kind)
        yield Case(f"{kind.__name__}", "DequantizeLinear", codes, floats(0.1), Constant(kind(zero)))
        yield Case(f"{kind.__name__} axis", "DequantizeLinear", codes, floats(0.1, 0.2, 0.3), Constant(np.array([1, 2, 3], kind)), axis=-3)
    yield Case("no zero point", "QuantizeLinear", x, floats(0.1))
    yield Case("int32", "DequantizeLinear", np.arange(-9, 9, dtype=np.int32), floats(0.1))
    for kind in (np.int16, np.uint16):
        yield Case(f"{kind.__name__}", "QuantizeLinear", x, floats(0.001), Constant(kind(5)), opset=21)


def cases():
    import float_places  # which read this module
    import float_volumes
    for family in (convolutions, transposed, products, einsums, pools, float_places.choices, float_places.scatters, float_places.columns,
                   reductions,
                   normalizations, arithmetic, functions, spectra, moves, borders, resizes, grids, suppressions, quantization,
                   float_volumes.volumes):
        for case in family():
            yield family.__name__, case
