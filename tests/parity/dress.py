# SPDX-License-Identifier: MIT
"""The same quantized network as other tools write it down. None of these changes a number: the answers are those of the plain model."""
import copy

import numpy as np
from onnx import helper, numpy_helper

PAIR = ("QuantizeLinear", "DequantizeLinear")


def constants_of(model):
    return {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}


def as_nodes(model):
    """Every constant a Constant node."""
    nodes = [helper.make_node("Constant", [], [i.name], value=i) for i in model.graph.initializer]
    rest = list(model.graph.node)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes + rest)


def through_identity(model):
    """Scales and zero points behind an Identity each, as TorchScript leaves shared ones."""
    names = {name for n in model.graph.node if n.op_type in PAIR for name in n.input[1:]}
    nodes = [helper.make_node("Identity", [name], [name + "/same"]) for name in sorted(names)]
    for node in model.graph.node:
        if node.op_type in PAIR:
            node.input[1:] = [name + "/same" for name in node.input[1:]]
    rest = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes + rest)


def of_one_element(model):
    """Scales and zero points of shape [1] and not []."""
    names = {name for n in model.graph.node if n.op_type in PAIR for name in n.input[1:]}
    for i in model.graph.initializer:
        if i.name in names and not i.dims:
            i.dims.append(1)


def with_casts(model):
    """PyTorch's Cast to the type that it has already, between each QuantizeLinear and DequantizeLinear."""
    constants, nodes, moved = constants_of(model), [], {}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = moved.get(name, name) if node.op_type == "DequantizeLinear" else name
        nodes.append(node)
        if node.op_type == "QuantizeLinear" and node.input[0] not in constants:
            kind = helper.np_dtype_to_tensor_dtype(constants[node.input[2]].dtype)
            moved[node.output[0]] = node.output[0] + "/cast"
            nodes.append(helper.make_node("Cast", [node.output[0]], [moved[node.output[0]]], to=kind))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def without_zeros(model):
    """Zero points that are zero left out; QuantizeLinear then gives uint8."""
    constants = constants_of(model)
    for node in model.graph.node:
        if node.op_type not in PAIR or len(node.input) < 3 or constants[node.input[2]].any():
            continue
        if node.op_type == "DequantizeLinear" or constants[node.input[2]].dtype == np.uint8:
            del node.input[2]


def microsoft(model):
    """QuantizeLinear and DequantizeLinear of the domain com.microsoft."""
    for node in model.graph.node:
        if node.op_type in PAIR:
            node.domain = "com.microsoft"


def listed_as_inputs(model):
    """Constants that are inputs, too, as the first versions of ONNX had it."""
    for i in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(i.name, i.data_type, i.dims))


def float_weights(model):
    """Weights kept in float, with a QuantizeLinear before their DequantizeLinear."""
    constants, nodes = constants_of(model), []
    for node in model.graph.node:
        values = constants.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if values is not None and values.dtype == np.int8 and values.ndim > 1 and len(node.input) > 2:
            attribute = {a.name: a.i for a in node.attribute}
            shape = [-1 if k == attribute.get("axis", 1) else 1 for k in range(values.ndim)] if constants[node.input[1]].size > 1 else []
            scale, zero = [constants[n].reshape(shape) if shape else constants[n] for n in node.input[1:3]]
            real = node.input[0] + "/float"
            exact = (values.astype(np.float64) - zero) * scale
            model.graph.initializer.append(numpy_helper.from_array(exact.astype(np.float32), real))
            nodes.append(helper.make_node("QuantizeLinear", [real, *node.input[1:]], [real + "/q"], **attribute))
            node.input[0] = real + "/q"
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def negative_axes(model):
    """The axis of weights counted from behind, as NNCF writes it."""
    constants = constants_of(model)
    for node in model.graph.node:
        for a in node.attribute:
            if node.op_type == "DequantizeLinear" and a.name == "axis" and node.input[0] in constants:
                a.i -= constants[node.input[0]].ndim


def shuffled(model):
    """Nodes in another order than the data's."""
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def pair_for_each(model):
    """Each reader of a quantized tensor has a DequantizeLinear of its own."""
    nodes, by_output = [], {n.output[0]: n for n in model.graph.node if n.op_type == "DequantizeLinear"}
    for k, node in enumerate(model.graph.node):
        for i, name in enumerate(node.input):
            if name in by_output:
                own = copy.deepcopy(by_output[name])
                own.output[0] = own.name = f"{name}/{k}/{i}"
                nodes.append(own)
                node.input[i] = own.output[0]
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


DRESSES = [as_nodes, through_identity, of_one_element, with_casts, without_zeros, microsoft, listed_as_inputs, float_weights, negative_axes,
           shuffled,
           pair_for_each]


def dressed(model, how):
    model = copy.deepcopy(model)
    how(model)
    return model


def seven_bits(model):
    """PyTorch's activations of seven bits: a Clip of the integers behind each QuantizeLinear. This one does change numbers."""
    model = copy.deepcopy(model)
    nodes, moved = [], {}
    model.graph.initializer.append(numpy_helper.from_array(np.uint8(127), "most"))
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = moved.get(name, name)
        nodes.append(node)
        if node.op_type == "QuantizeLinear":
            moved[node.output[0]] = node.output[0] + "/clip"
            nodes.append(helper.make_node("Clip", [node.output[0], "", "most"], [moved[node.output[0]]]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model
