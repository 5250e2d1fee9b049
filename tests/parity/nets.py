# SPDX-License-Identifier: MIT
"""Small networks for every operator that the converter takes: NETS maps a name to a function that builds the float net."""
import functools

import numpy as np

from netbuilder import Net

NETS = {}


def net(opset=13, **arguments):
    def register(fn):
        NETS[fn.__name__] = lambda: fn(Net(fn.__name__, opset), **arguments)
        return fn
    return register


def many(fn, opset=13, **named):
    """Registers fn(net, *arguments) under fn's name and each key."""
    for key, arguments in named.items():
        name = fn.__name__ + "_" + key
        NETS[name] = functools.partial(lambda n, a, o: fn(Net(n, o), *a), name,
                                       arguments if isinstance(arguments, tuple) else (arguments,), opset)


# --- convolutions

def conv(b, cin, cout, kernel, size, attributes):
    x = b.input(1, cin, *size)
    return b.out(b.conv(x, cin, cout, kernel, **attributes))


many(conv,
     dense=(5, 18, 3, (7, 9), {}), pointwise=(16, 32, 1, (5, 6), {}), pointwise_odd=(7, 3, 1, (3, 3), {}),
     stride=(3, 16, 3, (11, 10), dict(strides=[2, 2])), stride_uneven=(4, 5, (3, 2), (11, 10), dict(strides=[3, 1], pads=[0, 0, 0, 0])),
     asymmetric=(3, 8, 3, (8, 8), dict(strides=[2, 2], pads=[0, 0, 1, 1])), uneven_pads=(4, 6, 3, (6, 7), dict(pads=[2, 0, 1, 3])),
     same_upper=(3, 8, 3, (8, 9), dict(strides=[2, 2], auto_pad="SAME_UPPER")),
     same_lower=(3, 8, 4, (8, 9), dict(strides=[2, 2], auto_pad="SAME_LOWER")),
     valid=(3, 8, 3, (8, 9), dict(auto_pad="VALID")), dilated=(6, 8, 3, (9, 9), dict(dilations=[2, 2], pads=[2, 2, 2, 2])),
     dilated_uneven=(3, 4, (2, 3), (9, 9), dict(dilations=[3, 1], strides=[1, 2], pads=[1, 1, 1, 1])),
     no_bias=(8, 8, 3, (6, 6), dict(bias=False)),
     grouped=(12, 20, 3, (6, 6), dict(group=4)), grouped_odd=(6, 9, 1, (4, 5), dict(group=3)),
     large=(3, 4, 7, (9, 9), dict(strides=[2, 2])),
     whole=(4, 10, (5, 6), (5, 6), dict(pads=[0, 0, 0, 0])), relu=(5, 9, 3, (6, 6), dict(relu=True)), row=(4, 4, (1, 5), (5, 9), {}),
     column=(4, 4, (5, 1), (9, 5), {}),
     depthwise=(16, 16, 3, (7, 8), dict(group=16)), depthwise_stride=(24, 24, 3, (9, 8), dict(group=24, strides=[2, 2])),
     depthwise_5x5=(8, 8, 5, (9, 8), dict(group=8)), depthwise_5x5_stride=(10, 10, 5, (9, 8), dict(group=10, strides=[2, 2])),
     depthwise_asymmetric=(8, 8, 3, (8, 8), dict(group=8, strides=[2, 2], pads=[0, 0, 1, 1])),
     depthwise_dilated=(5, 5, 3, (9, 9), dict(group=5, dilations=[2, 2])),
     depthwise_relu=(16, 16, 3, (6, 6), dict(group=16, relu=True)), multiplier=(6, 12, 3, (6, 6), dict(group=6)),
     one_dimension=(4, 12, [5], (20,), dict(strides=[2])), one_dimension_depthwise=(8, 8, [3], (15,), dict(group=8)),
     one_dimension_dilated=(3, 6, [3], (15,), dict(dilations=[4], pads=[8, 0])), deep=(160, 16, 3, (4, 4), {}))
many(conv, opset=10, old=(4, 8, 3, (6, 6), dict(relu=True)))
many(conv, opset=21, new=(4, 8, 3, (6, 6), dict(relu=True)))
many(conv, opset=23, newest=(4, 8, 3, (6, 6), dict(relu=True)))


@net()
def softmax_dropped(b):
    """ONNX Runtime drops a Relu and a Clip that the QuantizeLinear behind them makes needless."""
    x = b.conv(b.input(1, 3, 6, 5), 3, 8, 1)
    y = b.op("Clip", b.op("Softmax", x, axis=1), b.const(np.float32(0)), b.const(np.float32(1)))
    return b.out(b.op("Relu", b.op("Softmax", x, axis=3)), y)


@net()
def softmax_bounded(b):
    """And leaves one that bounds something."""
    x = b.conv(b.input(1, 3, 6, 5), 3, 8, 1)
    return b.out(b.op("Clip", b.op("Softmax", x, axis=2), b.const(np.float32(0.05)), ""))


@net()
def conv_bias_ends(b):
    """What ONNX Runtime's quantizer writes for channels with hardly any weight; here they have some, and sums wrap."""
    b.bias_ends = True
    x = b.conv(b.input(1, 5, 8, 9), 5, 18, 3)
    x = b.conv(b.conv(x, 18, 18, 3, group=18), 18, 7, 1)
    return b.out(b.op("Gemm", b.op("Flatten", x), b.weight(9, 7 * 72), b.vector(9), transB=1))


@net()
def conv_relu6(b):
    x = b.conv(b.input(1, 3, 8, 8), 3, 12, 3)
    x = b.op("Clip", x, b.const(np.float32(0)), b.const(np.float32(0.8)))
    return b.out(b.conv(x, 12, 8, 1))


@net(opset=10)
def conv_clip_attributes(b):
    x = b.op("Clip", b.conv(b.input(1, 3, 8, 8), 3, 12, 3), min=-0.5, max=0.75)
    return b.out(b.conv(x, 12, 8, 1))


@net()
def conv_clip_inside(b):
    x = b.conv(b.input(1, 3, 8, 8), 3, 12, 3)
    x = b.op("Clip", x, b.const(np.float32(-0.25)), b.const(np.float32(0.5)))
    return b.out(b.conv(x, 12, 8, 1))


@net()
def conv_float_out(b):
    return b.out(b.keep_float(b.conv(b.input(1, 3, 6, 6), 3, 8, 3)))


def transposed(b, cin, cout, kernel, size, attributes):
    x = b.input(1, cin, *size)
    return b.out(b.conv(b.conv_transpose(x, cin, cout, kernel, **attributes), cout, 3, [1] * len(size)))


many(transposed,
     plain=(6, 9, (2, 2), (5, 6), dict(strides=[2, 2])), apart_relu=(6, 5, (3, 2), (4, 5), dict(strides=[3, 2], relu=True)),
     apart_one=(9, 1, (2, 2), (6, 7), dict(strides=[2, 2])), apart_line=(5, 6, (4,), (9,), dict(strides=[4], bias=False)),
     padded=(5, 7, (3, 3), (4, 6), dict(strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])),
     four=(8, 4, (4, 4), (5, 5), dict(strides=[2, 2], pads=[1, 1, 1, 1], relu=True)), stride_one=(4, 6, (3, 3), (6, 5), {}),
     uneven=(3, 5, (3, 2), (5, 4), dict(strides=[3, 1], pads=[0, 1, 2, 0])),
     dilated=(4, 5, (3, 3), (5, 5), dict(strides=[2, 1], dilations=[2, 3])),
     grouped=(6, 8, (3, 3), (4, 5), dict(group=2, strides=[2, 2])),
     depthwise=(6, 6, (4, 4), (4, 5), dict(group=6, strides=[2, 2], bias=False)),
     cut=(4, 4, (2, 2), (6, 6), dict(pads=[2, 1, 1, 2], strides=[1, 2])), wide_stride=(3, 4, (2, 2), (4, 4), dict(strides=[3, 3])),
     output_shape=(4, 5, (3, 3), (4, 4), dict(strides=[2, 2], output_shape=[8, 7])),
     same_upper=(4, 5, (3, 4), (4, 4), dict(strides=[2, 2], auto_pad="SAME_UPPER")),
     same_lower=(4, 5, (3, 4), (4, 4), dict(strides=[2, 2], auto_pad="SAME_LOWER")),
     one_dimension=(4, 6, (4,), (9,), dict(strides=[2], pads=[1, 1])), one_by_one=(7, 5, (1, 1), (4, 4), {}))


# --- products

def gemm(b, rows, inner, columns, bias, attributes):
    x = b.input(rows, inner)
    w = b.weight(columns, inner) if attributes.get("transB") else b.weight(inner, columns, spread=np.sqrt(columns / inner))
    return b.out(b.op("Gemm", x, w, *([b.vector(columns)] if bias else []), **attributes))


many(gemm, plain=(1, 40, 10, True, dict(transB=1)), untransposed=(1, 33, 17, True, {}), rows=(5, 24, 16, True, dict(transB=1)),
     no_bias=(2, 16, 8, False, dict(transB=1)), alpha=(1, 32, 12, False, dict(transB=1, alpha=0.5)))


@net()
def gemm_relu(b):
    x = b.op("Relu", b.op("Gemm", b.input(2, 20), b.weight(24, 20), b.vector(24), transB=1))
    return b.out(b.op("Gemm", x, b.weight(10, 24), b.vector(10), transB=1))


@net()
def gemm_float_out(b):
    return b.out(b.keep_float(b.op("Gemm", b.input(2, 20), b.weight(24, 20), b.vector(24), transB=1)))


def matmul(b, shape, columns):
    return b.out(b.op("MatMul", b.input(*shape), b.weight(shape[-1], columns, spread=np.sqrt(columns / shape[-1]))))


many(matmul, plain=((4, 24), 12), three=((2, 5, 16), 9), four=((1, 2, 3, 8), 6), vector_like=((1, 31), 7))


def matmul_two(b, left, right):
    return b.out(b.op("MatMul", b.input(*left), b.input(*right)))


many(matmul_two, plain=((5, 7), (7, 6)), batched=((2, 3, 4, 8), (2, 3, 8, 5)), left_shared=((4, 8), (3, 8, 5)),
     right_shared=((3, 4, 8), (8, 5)),
     inner_broadcast=((2, 1, 3, 4), (1, 5, 4, 2)))


@net()
def matmul_add(b):
    x = b.op("MatMul", b.input(3, 24), b.weight(24, 16, spread=0.8))
    return b.out(b.op("Add", b.keep_float(x), b.plain_floats(16)))


@net()
def matmul_left_constant(b):
    return b.out(b.op("MatMul", b.floats(4, 6), b.input(6, 5)))


# --- two operands

def two(b, op, left, right, constant=False):
    a = b.input(*left)
    return b.out(b.op(op, a, b.floats(*right, low=0.3) if constant else b.input(*right)))


PAIRS = dict(same=((2, 3, 4, 5), (2, 3, 4, 5)), channel=((1, 6, 4, 5), (1, 6, 1, 1)), pixel=((1, 6, 4, 5), (1, 1, 4, 5)),
             left_channel=((1, 6, 1, 1), (1, 6, 4, 5)),
             both=((1, 6, 1, 5), (1, 1, 4, 5)), row=((3, 7), (7,)), left_row=((7,), (3, 7)), one=((2, 3, 4), (1,)),
             left_one=((1,), (2, 3, 4)), column=((5, 7), (5, 1)),
             left_column=((5, 1), (5, 7)))
for key, (left, right) in PAIRS.items():
    for op in ("Add", "Mul"):
        many(two, **{f"{op}_{key}": (op, left, right)})
for op in ("Sub", "Div", "Max", "Min"):
    many(two, **{f"{op}_same": (op, (1, 3, 4, 4), (1, 3, 4, 4)), f"{op}_channel": (op, (1, 3, 4, 4), (1, 3, 1, 1))})
for op in ("Add", "Mul", "Sub", "Div"):
    many(two, **{f"{op}_constant_channel": (op, (1, 6, 4, 4), (1, 6, 1, 1), True), f"{op}_constant": (op, (1, 6, 4, 4), (), True),
                 f"{op}_constant_whole": (op, (1, 6, 4, 4), (1, 6, 4, 4), True), f"{op}_constant_last": (op, (2, 5, 6), (6,), True)})


@net()
def two_sum(b):
    return b.out(b.op("Sum", b.input(1, 4, 5), b.input(1, 4, 5)))


@net()
def add_itself(b):
    x = b.conv(b.input(1, 3, 6, 6), 3, 8, 3)
    return b.out(b.op("Add", x, x))


@net()
def add_relu(b):
    x = b.input(1, 8, 5, 5)
    return b.out(b.op("Relu", b.op("Add", x, b.conv(x, 8, 8, 3))))


# --- functions of one number

def one(b, op, attributes=None, domain=""):
    return b.out(b.op(op, b.input(1, 5, 6, 7), domain=domain, **(attributes or {})))


many(one, relu="Relu", leaky=("LeakyRelu", dict(alpha=0.1)), leaky_default="LeakyRelu", sigmoid="Sigmoid", tanh="Tanh",
     hard_sigmoid="HardSigmoid",
     hard_sigmoid_sixth=("HardSigmoid", dict(alpha=1 / 6)), erf="Erf", exp="Exp", absolute="Abs", negative="Neg", elu="Elu",
     softplus="Softplus")
many(one, softsign="Softsign", selu="Selu", celu=("Celu", dict(alpha=0.7)), thresholded=("ThresholdedRelu", dict(alpha=0.4)),
     shrink=("Shrink", dict(lambd=0.4, bias=0.1)))
many(one, opset=14, hard_swish="HardSwish")
many(one, opset=18, mish="Mish")
many(one, opset=20, gelu="Gelu", gelu_tanh=("Gelu", dict(approximate="tanh")))
many(one, gelu_microsoft=("Gelu", None, "com.microsoft"), quick_gelu=("QuickGelu", None, "com.microsoft"))
many(one, tangent="Tan", arc_tangent="Atan", sinh="Sinh", cosh="Cosh", asinh="Asinh")
many(one, sine="Sin", cosine="Cos", sign="Sign", floor="Floor", ceil="Ceil", round="Round")


@net()
def one_clip(b):
    return b.out(b.op("Clip", b.input(1, 5, 6), b.const(np.float32(-0.7)), b.const(np.float32(0.9))))


@net()
def one_hard_tanh(b):
    return b.out(b.op("Min", b.op("Max", b.input(1, 5, 6), b.const(np.float32(-1))), b.const(np.float32(1))))


@net()
def one_clip_above(b):
    return b.out(b.op("Clip", b.input(1, 5, 6), "", b.const(np.float32(0.9))))


@net()
def one_sqrt(b):
    return b.out(b.op("Sqrt", b.op("Relu", b.input(1, 5, 6))))


@net()
def one_log(b):
    x = b.op("Clip", b.input(1, 5, 6), b.const(np.float32(0.1)))
    return b.out(b.op("Log", x), b.op("Reciprocal", x), b.op("Pow", x, b.const(np.float32(1.5))))


@net()
def one_square(b):
    return b.out(b.op("Pow", b.input(1, 5, 6), b.const(np.float32(2))))


@net()
def one_prelu(b):
    x = b.op("PRelu", b.input(1, 5, 6, 4), b.plain_floats(5, 1, 1, low=0))
    return b.out(b.op("PRelu", x, b.plain_floats(1, low=0)))


@net()
def batch_norm(b):
    x = b.conv(b.input(1, 3, 6, 6), 3, 8, 3)
    v = [b.plain_floats(8, low=lo, high=hi) for lo, hi in ((0.5, 1.5), (-0.3, 0.3), (-0.2, 0.6), (0.5, 2))]
    x = b.op("BatchNormalization", x, *v)
    return b.out(b.conv(b.op("Relu", x), 8, 4, 1))


@net()
def silu(b):
    x = b.conv(b.input(1, 3, 6, 6), 3, 8, 3)
    return b.out(b.op("Mul", x, b.op("Sigmoid", x)))


@net()
def silu_island(b):
    x = b.conv(b.input(1, 3, 6, 6), 3, 8, 3)
    return b.out(b.op("Mul", x, b.keep_float(b.op("HardSigmoid", x))))


@net()
def fake_quantized(b):
    """What PyTorch's training leaves: a Div and a BatchNormalization between a convolution and its QuantizeLinear."""
    x = b.keep_float(b.conv(b.input(1, 3, 6, 6), 3, 8, 3))
    x = b.keep_float(b.op("Div", x, b.plain_floats(1, 8, 1, 1, low=0.5, high=2)))
    v = [b.plain_floats(8, low=lo, high=hi) for lo, hi in ((0.5, 1.5), (-0.3, 0.3), (-0.2, 0.6), (0.5, 2))]
    x = b.op("Relu", b.keep_float(b.op("BatchNormalization", x, *v)))
    return b.out(b.conv(x, 8, 4, 1))


@net()
def chain_island(b):
    x = b.keep_float(b.op("Mul", b.conv(b.input(1, 3, 6, 6), 3, 8, 3), b.plain_floats(1, 8, 1, 1)))
    x = b.keep_float(b.op("Add", x, b.plain_floats(8, 1, 1)))
    return b.out(b.conv(b.op("Relu", x), 8, 4, 1))


# --- pools and means

def pool(b, op, size, attributes):
    return b.out(b.op(op, b.input(1, 5, *size), **attributes))


WINDOWS = dict(plain=((8, 8), dict(kernel_shape=[2, 2], strides=[2, 2])),
               pads=((7, 9), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
               uneven=((7, 9), dict(kernel_shape=[3, 2], strides=[1, 2], pads=[1, 0, 0, 1])),
               ceil=((7, 8), dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
               same=((7, 8), dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")),
               one_dimension=((15,), dict(kernel_shape=[3], strides=[2])))
for op in ("MaxPool", "AveragePool"):
    many(pool, **{f"{op}_{k}": (op, *v) for k, v in WINDOWS.items()})
many(pool, MaxPool_dilated=("MaxPool", (9, 9), dict(kernel_shape=[2, 3], dilations=[3, 2])),
     MaxPool_whole=("MaxPool", (5, 4), dict(kernel_shape=[5, 4])),
     AveragePool_padded_count=("AveragePool", (7, 9), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)),
     AveragePool_ceil_padded=(
    "AveragePool", (8, 8), dict(
        kernel_shape=[
            3, 3], strides=[
                2, 2], pads=[
                    1, 1, 1, 1], ceil_mode=1, count_include_pad=1)),
     AveragePool_whole=("AveragePool", (6, 5), dict(kernel_shape=[6, 5])), GlobalAveragePool=("GlobalAveragePool", (7, 6), {}),
     GlobalAveragePool_1d=("GlobalAveragePool", (17,), {}), GlobalMaxPool=("GlobalMaxPool", (7, 6), {}))


def mean(b, shape, axes, keep):
    axes = dict(axes=axes) if axes else {}
    return b.out(b.op("ReduceMean", b.input(*shape), keepdims=keep, **axes))


MEANS = dict(picture=((1, 6, 5, 4), [2, 3], 1), picture_flat=((1, 6, 5, 4), [-1, -2], 0), channels=((1, 6, 5, 4), [1], 1),
             row=((2, 5, 9), [2], 0), middle=((2, 5, 9), [1], 0),
             apart=((1, 4, 5, 6), [1, 3], 1), all=((1, 4, 5), None, 1))
many(mean, **MEANS)


@net(opset=18)
def mean_axes_input(b):
    return b.out(b.op("ReduceMean", b.input(1, 6, 5, 4), b.ints(2, 3), keepdims=0))


@net()
def mean_float_tail(b):
    """As in MLPerf Tiny's ResNet: the mean is taken in float and handed on through a Squeeze."""
    x = b.op("Relu", b.conv(b.input(1, 3, 8, 8), 3, 16, 3, strides=[2, 2]))
    x = b.keep_float(b.op("ReduceMean", x, axes=[2, 3], keepdims=1))
    x = b.op("Squeeze", x, b.ints(2, 3))
    return b.out(b.op("Gemm", x, b.weight(10, 16), b.vector(10), transB=1))


# --- softmax

def softmax(b, shape, attributes):
    return b.out(b.op("Softmax", b.input(*shape), **attributes))


many(softmax, last=((3, 10), dict(axis=-1)), channels=((1, 6, 4, 5), dict(axis=1)), middle=((2, 7, 3), dict(axis=1)),
     default=((2, 3, 9), {}))
many(softmax, opset=12, flattened=((2, 3, 4), dict(axis=1)), last_old=((4, 10), dict(axis=1)))


@net()
def softmax_float_out(b):
    x = b.op("Gemm", b.input(2, 20), b.weight(10, 20, spread=2), b.vector(10), transB=1)
    return b.out(b.keep_float(b.op("Softmax", x)))


# --- joins and moves

def concat(b, axis, *shapes):
    return b.out(b.op("Concat", *[b.input(*s) for s in shapes], axis=axis))


many(concat, channels=(1, (1, 3, 4, 4), (1, 5, 4, 4)), three=(1, (1, 3, 4, 4), (1, 16, 4, 4), (1, 1, 4, 4)),
     rows=(2, (1, 3, 2, 4), (1, 3, 5, 4)), last=(-1, (2, 5), (2, 3)),
     one=(1, (1, 3, 4, 4)))


@net()
def concat_branches(b):
    x = b.conv(b.input(1, 3, 8, 8), 3, 8, 3, relu=True)
    y = b.conv(x, 8, 8, 1)
    x = b.op("Concat", x, y, b.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), x, axis=1)
    return b.out(b.conv(x, 32, 6, 1))


def move(b, shape, op, arguments, attributes):
    """The operator between two convolutions, so that its bytes are channels-last, and alone."""
    x = b.conv(b.input(*shape), shape[1], 8, 3) if len(shape) == 4 else b.input(*shape)
    x = b.op(op, x, *[a if isinstance(a, str) else b.const(a) for a in arguments], **attributes)
    return b.out(x)


def i64(*values):
    return np.array(values, np.int64)


PICTURE = (1, 3, 6, 8)
many(move, reshape=(PICTURE, "Reshape", [i64(1, 16, 4, 6)], {}), reshape_flat=(PICTURE, "Reshape", [i64(0, -1)], {}),
     flatten=(PICTURE, "Flatten", [], {}),
     flatten_two=(PICTURE, "Flatten", [], dict(axis=2)), transpose=(PICTURE, "Transpose", [], dict(perm=[0, 2, 3, 1])),
     transpose_reverse=((2, 3, 4), "Transpose", [], {}),
     slice=(PICTURE, "Slice", [i64(1, 0), i64(5, 2**62), i64(2, 3), i64(1, 2)], {}),
     slice_back=(PICTURE, "Slice", [i64(-1), i64(-2**62), i64(3), i64(-1)], {}),
     slice_channels=(PICTURE, "Slice", [i64(2), i64(6), i64(1)], {}), pad=(PICTURE, "Pad", [i64(0, 0, 1, 2, 0, 0, 3, 0)], {}),
     pad_edge=(PICTURE, "Pad", [i64(0, 0, 1, 2, 0, 0, 3, 0)], dict(mode="edge")),
     pad_reflect=(PICTURE, "Pad", [i64(0, 0, 1, 2, 0, 0, 3, 1)], dict(mode="reflect")),
     pad_crop=(PICTURE, "Pad", [i64(0, 0, -1, 2, 0, 0, 1, -2)], {}), expand=((1, 4, 1), "Expand", [i64(3, 4, 5)], {}),
     tile=((2, 3), "Tile", [i64(2, 3)], {}),
     gather=(PICTURE, "Gather", [i64(3, 0, -1, 3)], dict(axis=1)), gather_one=((2, 5, 4), "Gather", [np.int64(2)], dict(axis=1)),
     depth_to_space=(PICTURE, "DepthToSpace", [], dict(blocksize=2)),
     depth_to_space_crd=(PICTURE, "DepthToSpace", [], dict(blocksize=2, mode="CRD")),
     space_to_depth=(PICTURE, "SpaceToDepth", [], dict(blocksize=2)), identity=(PICTURE, "Identity", [], {}),
     unsqueeze=((2, 5), "Unsqueeze", [i64(0, 3)], {}),
     squeeze=((1, 5, 1, 4), "Squeeze", [i64(0)], {}))
for mode in ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"):
    for nearest in ("floor", "round_prefer_floor", "round_prefer_ceil", "ceil"):
        many(move, **{f"resize_{mode}_{nearest}": (PICTURE, "Resize", ["", np.array([1, 1, 2, 1.5], np.float32)],
                                                   dict(mode="nearest", coordinate_transformation_mode=mode, nearest_mode=nearest))})
def linear(b, shape, scales, attributes):
    x = b.conv(b.input(*shape), shape[1], 8, 3)
    return b.out(b.conv(b.op("Resize", x, "", b.const(np.array(scales, np.float32)), mode="linear", **attributes), 8, 4, 1))


def linear_of_bytes(b, scales, attributes):
    """Where ONNX Runtime cuts off what is behind the point. Its sums are exact where the scales are powers of two."""
    b.blends_bytes = True
    x = b.conv(b.input(*PICTURE), PICTURE[1], 8, 3)
    y = b.op("Resize", x, "", b.const(np.array(scales, np.float32)), mode="linear", **attributes)
    return b.out(b.conv(y, 8, 4, 1), b.op("Add", b.conv(x, 8, 5, 1), b.floats(5, 1, 1)))


many(linear_of_bytes, twice=([1, 1, 2, 2], {}), mixed=([1, 1, 4, 0.5], {}),
     asymmetric=([1, 1, 2, 4], dict(coordinate_transformation_mode="asymmetric")))
many(linear, twice=(PICTURE, [1, 1, 2, 2], {}), corners=(PICTURE, [1, 1, 2, 3], dict(coordinate_transformation_mode="align_corners")),
     uneven=(PICTURE, [1, 1, 1.5, 2.5], dict(coordinate_transformation_mode="asymmetric")), smaller=(PICTURE, [1, 1, 0.5, 0.75], {}),
     pytorch=(PICTURE, [1, 1, 4, 1], dict(coordinate_transformation_mode="pytorch_half_pixel")))
def sampled(b, attributes):
    """In float between layers in bytes; the grid is constant, or comes from outside."""
    x = b.conv(b.input(*PICTURE), PICTURE[1], 8, 3)
    y = b.op("GridSample", x, b.const(b.rng.uniform(-1.2, 1.2, (PICTURE[0], 7, 6, 2)).astype(np.float32)), **attributes)
    return b.out(b.conv(y, 8, 4, 1))


many(sampled, opset=16, linear=({},), nearest=(dict(mode="nearest", padding_mode="border"),))
many(
    move, resize_sizes=(
        PICTURE, "Resize", [
            "", "", i64(
                1, 8, 13, 5)], dict(
                    mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")))
many(move, opset=10, resize_old=(PICTURE, "Resize", [np.array([1, 1, 2, 3], np.float32)], dict(mode="nearest")),
     squeeze_old=((1, 5, 1, 4), "Squeeze", [], dict(axes=[2])),
     unsqueeze_old=((5, 4), "Unsqueeze", [], dict(axes=[1])), pad_old=((2, 4, 3), "Identity", [], {}))
@net()
def pad_function_by_channel(b):
    """A function with a number for each channel, continued along the channels: each keeps its number."""
    x = b.keep_float(b.op("Mul", b.input(1, 4, 5, 6), b.plain_floats(4, 1, 1, low=0.2, high=2)))
    return b.out(b.op("Pad", b.keep_float(b.op("Softplus", x)), b.ints(0, 1, 0, 1, 0, 2, 0, 0), mode="reflect"))


many(move, opset=19, pad_wrap=(PICTURE, "Pad", [i64(0, 0, 1, 2, 0, 0, 3, 1)],
     dict(mode="wrap")), pad_axes=(PICTURE, "Pad", [i64(1, 1), "", i64(3)], {}))


@net()
def split(b):
    x = b.conv(b.input(1, 3, 6, 6), 3, 12, 3)
    parts = b.op("Split", x, b.ints(2, 4, 6), outs=3, axis=1)
    return b.out(*parts[:2], b.conv(parts[2], 6, 4, 1))


@net(opset=11)
def split_old(b):
    x = b.conv(b.input(1, 3, 6, 6), 3, 12, 3)
    left, right = b.op("Split", x, outs=2, axis=1)
    return b.out(b.op("Add", left, right))


# --- whole networks

def inverted(b, x, cin, mid, cout, stride, relu6):
    def bound(t):
        return b.op("Clip", t, b.const(np.float32(0)), b.const(np.float32(6))) if relu6 else b.op("Relu", t)
    y = bound(b.conv(x, cin, mid, 1))
    y = bound(b.conv(y, mid, mid, 3, group=mid, strides=[stride, stride]))
    y = b.conv(y, mid, cout, 1)
    return b.op("Add", x, y) if cin == cout and stride == 1 else y


@net()
def mobile(b):
    x = b.conv(b.input(1, 3, 16, 16), 3, 8, 3, relu=True, strides=[2, 2])
    x = inverted(b, x, 8, 24, 12, 2, True)
    x = inverted(b, x, 12, 36, 12, 1, True)
    x = b.conv(x, 12, 32, 1, relu=True)
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    return b.out(b.op("Gemm", x, b.weight(10, 32), b.vector(10), transB=1))


@net()
def residual(b):
    x = b.conv(b.input(1, 3, 16, 16), 3, 16, 3, relu=True)
    y = b.conv(b.conv(x, 16, 16, 3, relu=True), 16, 16, 3)
    x = b.op("Relu", b.op("Add", x, y))
    y = b.conv(b.conv(x, 16, 24, 3, relu=True, strides=[2, 2]), 24, 24, 3)
    x = b.op("Relu", b.op("Add", b.conv(x, 16, 24, 1, strides=[2, 2]), y))
    x = b.op("Reshape", b.op("AveragePool", x, kernel_shape=[8, 8]), b.ints(1, -1))
    return b.out(b.op("Gemm", x, b.weight(10, 24), b.vector(10), transB=1))


@net()
def squeeze_excite(b):
    x = b.conv(b.input(1, 3, 12, 12), 3, 16, 3, relu=True, strides=[2, 2])
    s = b.op("GlobalAveragePool", x)
    s = b.op("Sigmoid", b.conv(b.conv(s, 16, 4, 1, relu=True), 4, 16, 1))
    return b.out(b.conv(b.op("Mul", x, s), 16, 8, 1))


@net()
def shuffle(b):
    x = b.conv(b.input(1, 3, 12, 12), 3, 16, 3, relu=True, strides=[2, 2])
    left, right = b.op("Split", x, b.ints(8, 8), outs=2, axis=1)
    right = b.conv(b.conv(right, 8, 8, 3, group=8), 8, 8, 1, relu=True)
    x = b.op("Concat", left, right, axis=1)
    x = b.op("Reshape", b.op("Transpose", b.op("Reshape", x, b.ints(1, 2, 8, 6, 6)), perm=[0, 2, 1, 3, 4]), b.ints(1, 16, 6, 6))
    return b.out(b.conv(x, 16, 8, 1))


@net()
def attention(b):
    x = b.input(1, 6, 16)

    def heads(t):
        return b.op("Transpose", b.op("Reshape", t, b.ints(1, 6, 2, 8)), perm=[0, 2, 1, 3])
    q, k, v = [heads(b.op("MatMul", x, b.weight(16, 16))) for _ in range(3)]
    a = b.op("Softmax", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])))
    y = b.op("Reshape", b.op("Transpose", b.op("MatMul", a, v), perm=[0, 2, 1, 3]), b.ints(1, 6, 16))
    return b.out(b.op("Add", x, b.op("MatMul", y, b.weight(16, 16))))


@net()
def layer_norm(b):
    """As PyTorch wrote it before there was an operator."""
    x = b.op("Add", b.input(1, 6, 16), b.op("MatMul", b.input(1, 6, 16), b.weight(16, 16)))
    d = b.op("Sub", x, b.op("ReduceMean", x, axes=[-1]))
    v = b.op("ReduceMean", b.op("Pow", d, b.const(np.float32(2))), axes=[-1])
    x = b.op("Div", d, b.op("Sqrt", b.op("Add", v, b.const(np.float32(1e-5)))))
    x = b.op("Add", b.op("Mul", x, b.plain_floats(16)), b.plain_floats(16))
    return b.out(b.op("MatMul", x, b.weight(16, 8)))


@net(opset=17)
def layer_norm_operator(b):
    x = b.op("Add", b.input(1, 6, 16), b.input(1, 6, 16))
    x = b.op("LayerNormalization", x, b.plain_floats(16), b.plain_floats(16), axis=-1)
    return b.out(b.op("MatMul", x, b.weight(16, 8)))


@net()
def instance_norm_operator(b):
    x = b.conv(b.input(1, 3, 10, 10), 3, 8, 3, pads=[1, 1, 1, 1])
    x = b.op("InstanceNormalization", x, b.plain_floats(8), b.plain_floats(8))
    return b.out(b.conv(x, 8, 6, 3, relu=True))


@net()
def instance_norm_in_integers(b):
    """Its factors and terms are bytes, as ONNX Runtime's quantizer leaves them."""
    x = b.conv(b.input(1, 3, 10, 10), 3, 8, 3)
    x = b.op("InstanceNormalization", x, b.floats(8), b.floats(8))
    return b.out(b.conv(x, 8, 6, 3, relu=True))


@net()
def maxima_of_pictures(b):
    """Over both sides, larger than a window of a blob."""
    x = b.conv(b.input(1, 3, 70, 9), 3, 8, 3)
    return b.out(b.op("ReduceMax", x, axes=[2, 3], keepdims=0), b.op("ReduceMin", x, axes=[2, 3]))


@net(14)
def triangles(b):
    x = b.op("MatMul", b.input(1, 6, 16), b.weight(16, 9))
    return b.out(b.op("Trilu", x, upper=0), b.op("Trilu", x, b.ints(2)))


@net()
def upsampling(b):
    x = b.conv(b.input(1, 3, 12, 12), 3, 8, 3, relu=True, strides=[2, 2])
    y = b.conv(x, 8, 12, 3, relu=True, strides=[2, 2])
    y = b.op("Resize", y, "", b.const(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
             coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return b.out(b.conv(b.op("Concat", x, y, axis=1), 20, 6, 3))


@net()
def keras(b):
    """Channels last outside, as tf2onnx writes it."""
    x = b.op("Transpose", b.input(1, 12, 12, 3), perm=[0, 3, 1, 2])
    x = b.conv(x, 3, 8, 3, relu=True, strides=[2, 2], pads=[0, 0, 1, 1])
    x = b.op("Transpose", b.conv(x, 8, 8, 3, group=8), perm=[0, 2, 3, 1])
    x = b.op("Reshape", x, b.ints(1, -1))
    return b.out(b.op("MatMul", x, b.weight(288, 10, spread=0.2)))


@net()
def several(b):
    """Two inputs, three outputs, one of them read again."""
    x = b.conv(b.input(1, 3, 10, 10), 3, 8, 3, relu=True)
    y = b.conv(b.input(1, 4, 10, 10), 4, 8, 3)
    s = b.op("Add", x, y)
    return b.out(y, b.conv(s, 8, 6, 3, strides=[2, 2]), b.op("GlobalAveragePool", s))


@net()
def batch(b):
    x = b.conv(b.input(3, 3, 8, 8), 3, 8, 3, relu=True, strides=[2, 2])
    x = b.op("Flatten", b.op("GlobalAveragePool", b.op("Add", x, b.conv(x, 8, 8, 3, group=8))))
    return b.out(b.op("Gemm", x, b.weight(10, 8), b.vector(10), transB=1))


@net()
def sound(b):
    """One dimension: a small keyword spotter."""
    x = b.conv(b.input(1, 8, 40), 8, 16, [5], relu=True, strides=[2])
    x = b.conv(b.conv(x, 16, 16, [3], group=16), 16, 16, [1], relu=True)
    x = b.op("Flatten", b.op("GlobalAveragePool", b.op("MaxPool", x, kernel_shape=[2], strides=[2])))
    return b.out(b.op("Gemm", x, b.weight(6, 16), b.vector(6), transB=1))
