# SPDX-License-Identifier: MIT
"""The topologies as int8 TFLite models (weights by channel, activations int8), written with LiteRT's own schema. Scales and weights are
made up: what is timed does not depend on them. Windows of stride 2 are padded as SAME, with as many taps as the others."""
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

OP, OPTIONS = schema.BuiltinOperator, schema.BuiltinOptions
VERSIONS = {OP.CONV_2D: 3, OP.DEPTHWISE_CONV_2D: 3, OP.FULLY_CONNECTED: 4, OP.ADD: 2, OP.CONCATENATION: 2, OP.MAX_POOL_2D: 2, OP.MEAN: 2,
            OP.TRANSPOSE: 2, OP.SPLIT: 2}
SCALE = 0.05


class Maker:
    """The methods of topologies.Maker; tensors are (index, channels, height, width)."""

    def __init__(self, name):
        self.name, self.random, self.codes = name, np.random.default_rng(1), {}
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.description = 3, name.encode()
        self.model.operatorCodes, self.model.buffers, self.model.subgraphs = [], [schema.BufferT()], [self.graph]
        self.graph.tensors, self.graph.operators = [], []

    def tensor(self, shape, kind=schema.TensorType.INT8, scale=(SCALE,), zero=0, values=None, axis=0):
        t, q = schema.TensorT(), schema.QuantizationParametersT()
        t.shape, t.type, t.name, t.buffer = list(shape), kind, f"t{len(self.graph.tensors)}".encode(), 0
        if scale is not None:
            q.scale, q.zeroPoint, q.quantizedDimension = list(map(float, scale)), [zero] * len(scale), axis
            t.quantization = q
        if values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(values.tobytes(), np.uint8)
            t.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def operator(self, code, inputs, outputs, options=None, kind=0):
        if code not in self.codes:
            c = schema.OperatorCodeT()
            c.builtinCode, c.deprecatedBuiltinCode, c.version = code, min(code, 127), VERSIONS.get(code, 1)
            self.codes[code] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(c)
        o = schema.OperatorT()
        o.opcodeIndex, o.inputs, o.outputs = self.codes[code], list(inputs), list(outputs)
        o.builtinOptionsType, o.builtinOptions = kind, options
        self.graph.operators.append(o)

    def activation(self, shape, relu):
        return self.tensor(shape, zero=-128 if relu else 0)

    def integers(self, values):
        values = np.array(values, np.int32)
        return self.tensor(values.shape, schema.TensorType.INT32, None, values=values)

    def weights(self, shape, outputs, axis):
        scales = np.full(outputs, 0.4 / np.sqrt(np.prod(shape) / outputs) / 60)
        w = self.tensor(shape, scale=scales, values=self.random.integers(-127, 128, shape).astype(np.int8), axis=axis)
        bias = self.random.integers(-2000, 2000, outputs).astype(np.int32)
        return w, self.tensor([outputs], schema.TensorType.INT32, scales * SCALE, values=bias)

    def picture(self, h, w, c):
        self.input = self.activation([1, h, w, c], False)
        return (self.input, c, h, w)

    def vector(self, n):
        self.input = self.activation([1, n], False)
        return (self.input, n)

    def conv(self, x, outputs, kernel, stride=1, relu=True, depthwise=False):
        index, c, h, w = x
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        out = (-(-h // stride), -(-w // stride))
        y = self.activation([1, *out, outputs], relu)
        options = schema.DepthwiseConv2DOptionsT() if depthwise else schema.Conv2DOptionsT()
        options.padding, options.strideH, options.strideW = schema.Padding.SAME, stride, stride
        options.dilationHFactor = options.dilationWFactor = 1
        options.fusedActivationFunction = int(relu)
        if depthwise:
            options.depthMultiplier = 1
        inputs = self.weights([1, kh, kw, c] if depthwise else [outputs, kh, kw, c], outputs, 3 if depthwise else 0)
        self.operator(OP.DEPTHWISE_CONV_2D if depthwise else OP.CONV_2D, [index, *inputs], [y], options,
                      OPTIONS.DepthwiseConv2DOptions if depthwise else OPTIONS.Conv2DOptions)
        return (y, outputs, *out)

    def depthwise(self, x, stride=1, relu=True):
        return self.conv(x, x[1], 3, stride, relu, True)

    def fc(self, x, outputs, relu=False):
        y, options = self.activation([1, outputs], relu), schema.FullyConnectedOptionsT()
        options.fusedActivationFunction = int(relu)
        self.operator(OP.FULLY_CONNECTED, [x[0], *self.weights([outputs, x[1]], outputs, 0)], [y], options, OPTIONS.FullyConnectedOptions)
        return (y, outputs)

    def add(self, a, b, relu=False):
        y, options = self.activation([1, a[2], a[3], a[1]], relu), schema.AddOptionsT()
        options.fusedActivationFunction = int(relu)
        self.operator(OP.ADD, [a[0], b[0]], [y], options, OPTIONS.AddOptions)
        return (y, *a[1:])

    def max_pool(self, x):
        index, c, h, w = x
        y, options = self.activation([1, h // 2, w // 2, c], True), schema.Pool2DOptionsT()
        options.padding, options.strideH, options.strideW, options.filterHeight, options.filterWidth = schema.Padding.SAME, 2, 2, 3, 3
        self.operator(OP.MAX_POOL_2D, [index], [y], options, OPTIONS.Pool2DOptions)
        return (y, c, h // 2, w // 2)

    def mean(self, x):
        y, options = self.activation([1, x[1]], True), schema.ReducerOptionsT()
        self.operator(OP.MEAN, [x[0], self.integers([1, 2])], [y], options, OPTIONS.ReducerOptions)
        return (y, x[1])

    def concat(self, a, b):
        y, options = self.activation([1, a[2], a[3], a[1] + b[1]], True), schema.ConcatenationOptionsT()
        options.axis = 3
        self.operator(OP.CONCATENATION, [a[0], b[0]], [y], options, OPTIONS.ConcatenationOptions)
        return (y, a[1] + b[1], *a[2:])

    def reshape(self, index, shape):
        y, options = self.activation(shape, True), schema.ReshapeOptionsT()
        options.newShape = shape
        self.operator(OP.RESHAPE, [index, self.integers(shape)], [y], options, OPTIONS.ReshapeOptions)
        return y

    def shuffle(self, x):
        index, c, h, w = x
        y = self.activation([1, h, w, c // 2, 2], True)
        self.operator(OP.TRANSPOSE, [self.reshape(index, [1, h, w, 2, c // 2]), self.integers([0, 1, 2, 4, 3])], [y],
                      schema.TransposeOptionsT(), OPTIONS.TransposeOptions)
        return (self.reshape(y, [1, h, w, c]), c, h, w)

    def halves(self, x):
        index, c, h, w = x
        parts, options = [self.activation([1, h, w, c // 2], True) for _ in range(2)], schema.SplitOptionsT()
        options.numSplits = 2
        self.operator(OP.SPLIT, [self.integers(3), index], parts, options, OPTIONS.SplitOptions)
        return [(p, c // 2, h, w) for p in parts]

    def end(self, y):
        self.graph.inputs, self.graph.outputs, self.graph.name = [self.input], [y[0]], self.name.encode()
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
