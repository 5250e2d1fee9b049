# SPDX-License-Identifier: MIT
"""The built-in networks of `morsel bench NET` as float ONNX models with random weights, for the peers' own quantizers."""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Maker:
    """Adds nodes to a graph; a tensor is (name, channels, height, width), a vector (name, channels)."""

    def __init__(self, name):
        self.name, self.nodes, self.constants = name, [], []
        self.random = np.random.default_rng(1)

    def node(self, op, inputs, **attributes):
        out = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [out], name=out, **attributes))
        return out

    def constant(self, values):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, *shape):
        return self.constant((self.random.standard_normal(shape) * math.sqrt(2 / np.prod(shape[1:]))).astype(np.float32))

    def bias(self, n):
        return self.constant((self.random.standard_normal(n) * 0.05).astype(np.float32))

    def picture(self, h, w, c):
        self.shape = [1, c, h, w]
        return ("input", c, h, w)

    def vector(self, n):
        self.shape = [1, n]
        return ("input", n)

    def conv(self, x, outputs, kernel, stride=1, relu=True, depthwise=False):
        name, c, h, w = x
        kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        before, behind, out = [], [], []
        for size, k in zip((h, w), kernel):
            total = 2 * (k // 2) if k % 2 else max((-(-size // stride) - 1) * stride + k - size, 0)
            before.append(total // 2)
            behind.append(total - total // 2)
            out.append((size + total - k) // stride + 1)
        weights = self.weights(outputs, 1 if depthwise else c, *kernel)
        y = self.node("Conv", [name, weights, self.bias(outputs)], kernel_shape=kernel, strides=[stride, stride],
                      pads=before + behind, group=c if depthwise else 1)
        return (self.node("Relu", [y]) if relu else y, outputs, *out)

    def depthwise(self, x, stride=1, relu=True):
        return self.conv(x, x[1], 3, stride, relu, True)

    def fc(self, x, outputs, relu=False):
        y = self.node("Gemm", [x[0], self.weights(outputs, x[1]), self.bias(outputs)], transB=1)
        return (self.node("Relu", [y]) if relu else y, outputs)

    def add(self, a, b, relu=False):
        y = self.node("Add", [a[0], b[0]])
        return (self.node("Relu", [y]) if relu else y, *a[1:])

    def max_pool(self, x):
        y = self.node("MaxPool", [x[0]], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        return (y, x[1], (x[2] + 1) // 2, (x[3] + 1) // 2)

    def mean(self, x):
        return (self.node("Flatten", [self.node("GlobalAveragePool", [x[0]])]), x[1])

    def concat(self, a, b):
        return (self.node("Concat", [a[0], b[0]], axis=1), a[1] + b[1], *a[2:])

    def shuffle(self, x):
        name, c, h, w = x
        y = self.node("Reshape", [name, self.constant(np.array([1, 2, c // 2, h, w]))])
        y = self.node("Transpose", [y], perm=[0, 2, 1, 3, 4])
        return (self.node("Reshape", [y, self.constant(np.array([1, c, h, w]))]), c, h, w)

    def halves(self, x):
        name, c, h, w = x
        cut = [self.constant(np.array([v])) for v in (0, c // 2, c, 1)]
        return [(self.node("Slice", [name, cut[k], cut[k + 1], cut[3]]), c // 2, h, w) for k in (0, 1)]

    def end(self, y):
        out = helper.make_tensor_value_info(y[0], TensorProto.FLOAT, [1, y[1]])
        into = helper.make_tensor_value_info("input", TensorProto.FLOAT, self.shape)
        graph = helper.make_graph(self.nodes, self.name, [into], [out], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model)


def mobilenetv2(m):
    x = m.conv(m.picture(224, 224, 3), 32, 3, 2)
    for factor, outputs, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                          (6, 320, 1, 1)):
        for k in range(count):
            stride, before = (1 if k else first), x
            wide = m.conv(x, x[1] * factor, 1) if factor > 1 else x
            x = m.conv(m.depthwise(wide, stride), outputs, 1, relu=False)
            if stride == 1 and before[1] == outputs:
                x = m.add(before, x)
    return m.end(m.fc(m.mean(m.conv(x, 1280, 1)), 1000))


def mobilenetv1(m):
    x = m.conv(m.picture(224, 224, 3), 32, 3, 2)
    for i, outputs in enumerate((64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)):
        x = m.conv(m.depthwise(x, 2 if i in (1, 3, 5, 11) else 1), outputs, 1)
    return m.end(m.fc(m.mean(x), 1000))


def residual(m, x, outputs, stride):
    y = m.conv(m.conv(x, outputs, 3, stride), outputs, 3, relu=False)
    around = m.conv(x, outputs, 1, stride, relu=False) if stride > 1 or x[1] != outputs else x
    return m.add(y, around, relu=True)


def resnet18(m):
    x = m.max_pool(m.conv(m.picture(224, 224, 3), 64, 7, 2))
    for i in range(8):
        x = residual(m, x, 64 << i // 2, 2 if i % 2 == 0 and i else 1)
    return m.end(m.fc(m.mean(x), 1000))


def resnet8(m):
    x = m.conv(m.picture(32, 32, 3), 16, 3)
    for i in range(3):
        x = residual(m, x, 16 << i, 2 if i else 1)
    return m.end(m.fc(m.mean(x), 10))


def shufflenetv2(m):
    x = m.max_pool(m.conv(m.picture(224, 224, 3), 24, 3, 2))
    for outputs, units in ((116, 4), (232, 8), (464, 4)):
        half = outputs // 2
        for k in range(units):
            left, right = m.halves(x) if k else (m.conv(m.depthwise(x, 2, relu=False), half, 1), x)
            right = m.depthwise(m.conv(right, half, 1), 1 if k else 2, relu=False)
            x = m.shuffle(m.concat(left, m.conv(right, half, 1)))
    return m.end(m.fc(m.mean(m.conv(x, 1024, 1)), 1000))


def ds_cnn(m):
    x = m.conv(m.picture(49, 10, 1), 64, (10, 4), 2)
    for _ in range(4):
        x = m.conv(m.depthwise(x), 64, 1)
    return m.end(m.fc(m.mean(x), 12))


def autoencoder(m):
    x = m.vector(640)
    for i in range(9):
        x = m.fc(x, 8 if i == 4 else 128, relu=True)
    return m.end(m.fc(x, 640))


NETS = {"mobilenetv2-224": mobilenetv2, "mobilenetv1-224": mobilenetv1, "resnet18-224": resnet18, "shufflenetv2-224": shufflenetv2,
        "resnet8-32": resnet8, "ds-cnn-kws": ds_cnn, "autoencoder-ad": autoencoder}


def make(name, maker=Maker):
    return NETS[name](maker(name))
