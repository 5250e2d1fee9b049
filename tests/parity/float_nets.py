# SPDX-License-Identifier: MIT
"""Whole networks for the float executor: MobileNetV2 with random weights, the trained one, and QDQ forms of small nets."""
import functools
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import models

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "models")


class Layers:
    """Convolutions put together as PyTorch exports them, with weights as a training would begin with."""

    def __init__(self, batch_norm, seed=0):
        self.rng, self.batch_norm = np.random.default_rng(seed), batch_norm
        self.nodes, self.constants = [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), f"w{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, cin, cout, kernel, stride, group=1, bounded=True):
        width = cin // group * kernel * kernel
        inputs = [x, self.constant(self.rng.standard_normal((cout, cin // group, kernel, kernel)) * np.sqrt(2 / width))]
        if not self.batch_norm:
            inputs.append(self.constant(self.rng.standard_normal(cout) * 0.1))
        y = self.add("Conv", *inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
        if self.batch_norm:
            numbers = [self.rng.uniform(0.8, 1.2, cout), self.rng.standard_normal(cout) * 0.1, self.rng.standard_normal(cout) * 0.1,
                       self.rng.uniform(0.8, 1.2, cout)]
            y = self.add("BatchNormalization", y, *[self.constant(n) for n in numbers])
        return self.add("Clip", y, self.constant(0), self.constant(6)) if bounded else y


def mobilenet_v2(size=224, batch_norm=False):
    net, channels = Layers(batch_norm), 32
    x = net.conv("input", 3, 32, 3, 2)
    for expansion, cout, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                             (6, 320, 1, 1)):
        for k in range(repeats):
            inner = channels * expansion
            y = net.conv(x, channels, inner, 1, 1) if expansion > 1 else x
            y = net.conv(y, inner, inner, 3, 1 if k else stride, group=inner)
            y = net.conv(y, inner, cout, 1, 1, bounded=False)
            x, channels = net.add("Add", x, y) if k else y, cout
    x = net.add("Flatten", net.add("GlobalAveragePool", net.conv(x, 320, 1280, 1, 1)))
    net.add("Gemm", x, net.constant(net.rng.standard_normal((1000, 1280)) * 0.03), net.constant(net.rng.standard_normal(1000) * 0.1), transB=1)
    return finished(net, [1, 3, size, size])


def finished(net, shape):
    graph = helper.make_graph(net.nodes, "net", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)], [], net.constants)
    return with_all_outputs(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)), {
        "input": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}


def with_all_outputs(model):
    """Every value that a node computes becomes an output."""
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        model.graph.output.extend(helper.make_empty_tensor_value_info(o) for o in node.output if o and o not in known)
    return model


def trained():
    model = onnx.load(os.path.join(SHARED, "cifar10_mobilenetv2.onnx"))
    return with_all_outputs(model), {"input": np.random.default_rng(1).standard_normal((1, 3, 32, 32)).astype(np.float32)}


# Forms of the quantized networks that the converter is tried on: simulated in float, every value beside ONNX Runtime's.
FORMS = (models.Form(), models.Form(activation="s8", symmetric=True, move_scales=True), models.Form(keep_bounds=True, float_bias=True))


def small(name, form):
    net = models.NETS[name]()
    model = models.quantize(net, models.form_for(net, form))
    return with_all_outputs(model), models.feeds_for(model, seed=5)


def nets(quick):
    """Row, name, what makes the model and its inputs."""
    yield "MobileNetV2 with batch norm at 96", "", functools.partial(mobilenet_v2, 96, True)
    if os.path.exists(SHARED):
        yield "MobileNetV2 of CIFAR-10", "", trained
    if not quick:
        yield "MobileNetV2 at 224", "", mobilenet_v2
    for form in FORMS:
        for name in list(models.NETS)[::10 if quick else 2]:
            yield f"small nets {form.name}", name, functools.partial(small, name, form)
