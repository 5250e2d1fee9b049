# SPDX-License-Identifier: MIT
"""Networks that grow in one way each, for run.py: a family is a function of n that gives an ONNX file's bytes.

    families.py --list              prints the group and the name of each
    families.py FAMILY N OUT.onnx   writes samples of the first input, too: OUT.onnx.npy
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def scalar(name, value, kind="float32"):
    return numpy_helper.from_array(np.array(value, kind), name)


def model(nodes, inputs, outputs, constants=(), opsets=None, infos=()):
    graph = helper.make_graph(nodes, "scale", inputs, outputs, list(constants), value_info=list(infos))
    imports = opsets or [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def x_and_y(shape=(1, 1, 4, 4)):
    return [helper.make_tensor_value_info(name, FLOAT, list(shape)) for name in "xy"]


def quantized(n, layer, shape=(1, 1, 4, 4)):
    """x -> n quantized layers -> y, in QDQ form: layer(i, name in, name out) gives the nodes of one, on floats."""
    constants = [scalar("s", 0.05), scalar("z", 3, np.uint8)]
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q0"])]
    for i in range(n):
        nodes.append(helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"]))
        made, more = layer(i, f"d{i}", f"f{i + 1}")
        nodes += made
        constants += more
        nodes.append(helper.make_node("QuantizeLinear", [f"f{i + 1}", "s", "z"], [f"q{i + 1}"]))
    nodes.append(helper.make_node("DequantizeLinear", [f"q{n}", "s", "z"], ["y"]))
    values = x_and_y(shape)
    return model(nodes, values[:1], values[1:], constants)


def conv(i, x, y):
    weights = numpy_helper.from_array(np.ones((1, 1, 1, 1), np.int8), f"w{i}")
    nodes = [helper.make_node("DequantizeLinear", [f"w{i}", "ws", "wz"], [f"v{i}"]), helper.make_node("Conv", [x, f"v{i}"], [y])]
    return nodes, [weights] + ([scalar("ws", 1.0), scalar("wz", 0, np.int8)] if i == 0 else [])


def convs(n):
    return quantized(n, conv)


def pools(n):
    return quantized(n, lambda i, x, y: ([helper.make_node("MaxPool", [x], [y], kernel_shape=[1, 1])], []))


def wide_pools(n):
    return quantized(n, lambda i, x, y: ([helper.make_node("MaxPool", [x], [y], kernel_shape=[3, 3], pads=[1, 1, 1, 1])], []))


def adds(n):
    return quantized(n, lambda i, x, y: ([helper.make_node("Add", [x, x if i < 2 else f"d{i - 1}"], [y])], []))


def reshapes(n):
    def layer(i, x, y):
        shape = numpy_helper.from_array(np.array([1, 16, 1, 1] if i % 2 == 0 else [1, 1, 4, 4], np.int64), f"shape{i}")
        return [helper.make_node("Reshape", [x, f"shape{i}"], [y])], [shape]
    return quantized(n + n % 2, layer)


def transposes(n):
    return quantized(n, lambda i, x, y: ([helper.make_node("Transpose", [x], [y], perm=[0, 1, 3, 2])], []))


def concats(n):
    """Of one input each: views, unless more than one step reads the last of them."""
    return quantized(n, lambda i, x, y: ([helper.make_node("Concat", [x], [y], axis=1)], []))


def sigmoids(n):
    return quantized(n, lambda i, x, y: ([helper.make_node("Sigmoid", [x], [y])], []))


def side_by_side(n):
    """n convolutions of x: constants, and nodes whose quantized results are d0 .. d(n - 1)."""
    constants = [scalar("s", 0.05), scalar("z", 3, np.uint8)]
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"])]
    for i in range(n):
        made, more = conv(i, "d", f"f{i}")
        nodes += made + requantized(f"f{i}", f"d{i}")
        constants += more
    return constants, nodes


def requantized(x, y):
    return [helper.make_node("QuantizeLinear", [x, "s", "z"], [y + "_q"]), helper.make_node("DequantizeLinear", [y + "_q", "s", "z"], [y])]


def wide(n):
    """All results are alive until they are joined behind the last."""
    constants, nodes = side_by_side(n)
    nodes += [helper.make_node("Concat", [f"d{i}" for i in range(n)], ["c"], axis=1)] + requantized("c", "y")
    values = [helper.make_tensor_value_info("x", FLOAT, [1, 1, 4, 4]), helper.make_tensor_value_info("y", FLOAT, [1, n, 4, 4])]
    return model(nodes, values[:1], values[1:], constants)


def wide_sums(n):
    """Half of the steps add up the results of the other half, each sum written over the one before."""
    half = n // 2
    constants, nodes = side_by_side(half)
    for i in range(1, half):
        nodes.append(helper.make_node("Add", [f"e{i - 1}" if i > 1 else "d0", f"d{i}"], [f"a{i}"]))
        nodes += requantized(f"a{i}", f"e{i}" if i < half - 1 else "y")
    values = x_and_y()
    return model(nodes, values[:1], values[1:], constants)


def bare(n, op, constants=(), **attributes):
    """n nodes between one QuantizeLinear and one DequantizeLinear, all on quantized bytes."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["t0"])]
    nodes += [helper.make_node(op, [f"t{i}"] + list(constants), [f"t{i + 1}"], **attributes) for i in range(n)]
    nodes.append(helper.make_node("DequantizeLinear", [f"t{n}", "s", "z"], ["y"]))
    values = x_and_y()
    shape = [numpy_helper.from_array(np.array([1, 1, 4, 4], np.int64), "shape")]
    return model(nodes, values[:1], values[1:], [scalar("s", 0.05), scalar("z", 3, np.uint8)] + shape)


def bare_reshapes(n):
    return bare(n, "Reshape", ["shape"])


def bare_transposes(n):
    return bare(n, "Transpose", perm=[0, 1, 3, 2])


def bare_pools(n):
    return bare(n, "MaxPool", kernel_shape=[1, 1])


def identities(n):
    return bare(n, "Identity")


def float_relus(n):
    nodes = [helper.make_node("Relu", [f"t{i}" if i else "x"], [f"t{i + 1}" if i < n - 1 else "y"]) for i in range(n)]
    values = x_and_y()
    return model(nodes, values[:1], values[1:])


def fan_out(n):
    nodes = [helper.make_node("Sigmoid", ["x"], [f"t{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"t{i}" for i in range(n)], ["y"], axis=1))
    values = [helper.make_tensor_value_info("x", FLOAT, [1, 1, 4, 4]), helper.make_tensor_value_info("y", FLOAT, [1, n, 4, 4])]
    return model(nodes, values[:1], values[1:])


def joined(parts, nodes):
    """A Concat of values of the shape of x."""
    nodes.append(helper.make_node("Concat", parts, ["y"], axis=1))
    values = [helper.make_tensor_value_info("x", FLOAT, [1, 1, 4, 4]), helper.make_tensor_value_info("y", FLOAT, [1, len(parts), 4, 4])]
    return model(nodes, values[:1], values[1:])


def joined_identities(n):
    """Each of the parts of one node is replaced."""
    return joined([f"t{i}" for i in range(n)], [helper.make_node("Identity", ["x"], [f"t{i}"]) for i in range(n)])


def joined_copies(n):
    """One value that is replaced is all parts of a node."""
    return joined(["t"] * n, [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Identity", ["r"], ["t"])])


def unknown_of_many(n):
    """A node that is not supported, of n constants and n outputs."""
    nodes = [helper.make_node("Foo", ["c"] * n, [f"t{i}" for i in range(n)], domain="d")]
    nodes += [helper.make_node("Relu", [x], [y]) for x, y in [("x", "y"), ("t0", "z")]]
    values = x_and_y() + [helper.make_tensor_value_info("z", FLOAT, [1])]
    return model(nodes, values[:1], values[1:], [scalar("c", 1.0)])


def refused_split(n):
    """Its axis is no integer; the file says what comes of it."""
    nodes = [helper.make_node("Split", ["x"], [f"t{i}" for i in range(n)], axis=1.0), helper.make_node("Relu", ["t0"], ["y"])]
    values = [helper.make_tensor_value_info(name, FLOAT, [1, 1]) for name in ["y"] + [f"t{i}" for i in range(n)]]
    return model(nodes, [helper.make_tensor_value_info("x", FLOAT, [1, n])], values[:1], infos=values[1:])


def unknown_nodes(n):
    """Each is refused, by the float executor and by what makes blobs."""
    nodes = [helper.make_node("Foo", [f"t{i}" if i else "x"], [f"t{i + 1}" if i < n - 1 else "y"], domain="d") for i in range(n)]
    values = x_and_y()
    return model(nodes, values[:1], values[1:], infos=[helper.make_tensor_value_info(f"t{i}", FLOAT, [1, 1, 4, 4]) for i in range(1, n)])


def dead_nodes(n):
    nodes = [helper.make_node("Sigmoid", ["x"], [f"t{i}"]) for i in range(n)] + [helper.make_node("Relu", ["x"], ["y"])]
    values = x_and_y()
    return model(nodes, values[:1], values[1:])


def constants_nodes(n):
    nodes = [helper.make_node("Constant", [], [f"c{i}"], value=scalar("", i)) for i in range(n)] + [helper.make_node("Relu", ["x"], ["y"])]
    values = x_and_y()
    return model(nodes, values[:1], values[1:])


def initializers(n):
    values = x_and_y()
    return model([helper.make_node("Relu", ["x"], ["y"])], values[:1], values[1:], [scalar(f"a_long_common_prefix_{i}", i) for i in range(n)])


def value_infos(n):
    values = x_and_y()
    infos = [helper.make_tensor_value_info(f"v{i}", FLOAT, [1]) for i in range(n)]
    return model([helper.make_node("Relu", ["x"], ["y"])], values[:1], values[1:], infos=infos)


def inputs(n):
    values = x_and_y()
    more = [helper.make_tensor_value_info(f"i{i}", FLOAT, [1]) for i in range(n)]
    return model([helper.make_node("Relu", ["x"], ["y"])], values[:1] + more, values[1:])


def outputs(n):
    values = x_and_y()
    more = [helper.make_tensor_value_info(f"o{i}", FLOAT, [1, 1, 4, 4]) for i in range(n)]
    nodes = [helper.make_node("Relu", ["x"], [name]) for name in ["y"] + [f"o{i}" for i in range(n)]]
    return model(nodes, values[:1], values[1:] + more)


def opset_imports(n):
    values = x_and_y()
    imports = [helper.make_opsetid("", 17)] + [helper.make_opsetid(f"d{i}", 1) for i in range(n)]
    nodes = [helper.make_node("Relu", [f"t{i}" if i else "x"], [f"t{i + 1}" if i < 99 else "y"]) for i in range(100)]
    return model(nodes, values[:1], values[1:], opsets=imports)


def empty_attributes(n):
    node = onnx.NodeProto(op_type="Relu", input=["x"], output=["y"])
    for _ in range(n):
        node.attribute.add()
    values = x_and_y()
    return model([node], values[:1], values[1:])


def pieces(n):
    """A graph in n pieces, which a reader of protobuf has to join."""
    values = [helper.make_tensor_value_info(name, FLOAT, [1, 1, 4, 4]) for name in "xy"]
    whole = model([helper.make_node("Relu", ["x"], ["y"])], values[:1], values[1:])
    piece = onnx.ModelProto()
    piece.graph.node.add().op_type = "Relu"
    return whole + piece.SerializeToString() * (n - 1)


def attributes(n):
    node = helper.make_node("Relu", ["x"], ["y"], **{f"a{i}": i for i in range(n)})
    values = x_and_y()
    return model([node], values[:1], values[1:])


def chain(n, op, constants=(), shape=(1, 1, 4, 4), **attributes):
    """A float network of n equal nodes."""
    names = [constant.name for constant in constants]
    nodes = [helper.make_node(op, [f"t{i}" if i else "x"] + names, [f"t{i + 1}" if i < n - 1 else "y"], **attributes) for i in range(n)]
    values = x_and_y(shape)
    return model(nodes, values[:1], values[1:], constants)


def float_products(n):
    return chain(n, "Mul", [scalar("c", 1.5)])


def float_identities(n):
    return chain(n, "Identity")


def float_transposes(n):
    return chain(n, "Transpose", perm=[0, 1, 3, 2])


def float_gathers(n):
    return chain(n, "Gather", [numpy_helper.from_array(np.array([3, 2, 1, 0], np.int64), "order")], axis=3)


def float_blocks(n):
    return chain(n, "DepthToSpace", blocksize=1)


def moved_conditions(n):
    """A condition that is moved again and again, and of each of these a Where."""
    order = numpy_helper.from_array(np.array([3, 2, 1, 0], np.int64), "order")
    values = x_and_y((1, 4, 4, 4)) + [helper.make_tensor_value_info("b", TensorProto.BOOL, [1, 1, 1, 4])]
    nodes = []
    for i in range(n // 2):
        nodes.append(helper.make_node("Gather", [f"b{i}" if i else "b", "order"], [f"b{i + 1}"], axis=3))
        nodes.append(helper.make_node("Where", [f"b{i + 1}", f"t{i}" if i else "x", "zero"], [f"t{i + 1}" if i < n // 2 - 1 else "y"]))
    return model(nodes, [values[0], values[2]], values[1:2], [order, scalar("zero", 0.0)])


def float_sums(n):
    return chain(n, "ReduceSum", [numpy_helper.from_array(np.array([3], np.int64), "axes")], keepdims=1)


def float_norms(n):
    return chain(n, "LayerNormalization", [numpy_helper.from_array(np.ones(4, np.float32), "weight")])


def batch_norms(n):
    """Each behind a convolution, whose weights take it in."""
    ones = numpy_helper.from_array(np.ones(1, np.float32), "ones")
    weights = [numpy_helper.from_array(np.ones((1, 1, 1, 1), np.float32), f"w{i}") for i in range(n)]
    nodes = []
    for i in range(n):
        nodes.append(helper.make_node("Conv", [f"t{i}" if i else "x", f"w{i}"], [f"c{i}"]))
        nodes.append(helper.make_node("BatchNormalization", [f"c{i}"] + ["ones"] * 4, [f"t{i + 1}" if i < n - 1 else "y"]))
    values = x_and_y()
    return model(nodes, values[:1], values[1:], [ones] + weights)


def split_joins(n):
    """Two halves of a sum are joined and split again."""
    nodes = []
    for i in range(n // 3):
        x, y = f"t{i}" if i else "x", f"t{i + 1}" if i < n // 3 - 1 else "y"
        nodes.append(helper.make_node("Concat", [x, x], [f"j{i}"], axis=1))
        nodes.append(helper.make_node("Split", [f"j{i}"], [f"a{i}", f"b{i}"], axis=1))
        nodes.append(helper.make_node("Add", [f"a{i}", f"b{i}"], [y]))
    values = x_and_y()
    return model(nodes, values[:1], values[1:])


def products(n):
    """Of two activations, with a Softmax behind each."""
    nodes = []
    for i in range(n // 2):
        x, y = f"t{i}" if i else "x", f"t{i + 1}" if i < n // 2 - 1 else "y"
        nodes += [helper.make_node("MatMul", [x, x], [f"p{i}"]), helper.make_node("Softmax", [f"p{i}"], [y], axis=-1)]
    values = x_and_y()
    return model(nodes, values[:1], values[1:])


def float_convs(n):
    weights = numpy_helper.from_array(np.full((1, 1, 3, 3), 0.12, np.float32), "weights")
    return chain(n, "Conv", [weights], pads=[1, 1, 1, 1])


STEPS = [convs, pools, wide_pools, adds, reshapes, transposes, concats, sigmoids, bare_pools, wide, wide_sums]
FOLDED = [bare_reshapes, bare_transposes, identities, float_relus, fan_out, dead_nodes, constants_nodes, initializers, value_infos, inputs,
          outputs, opset_imports, empty_attributes, pieces, attributes, unknown_of_many, refused_split]
OPTIMIZED = [float_relus, float_products, float_identities, float_transposes, float_sums, float_norms, batch_norms, fan_out,
             joined_identities, joined_copies, moved_conditions]
QUANTIZED = [float_relus, float_transposes, float_gathers, float_blocks, float_norms, float_convs, fan_out, split_joins, products,
             unknown_nodes]
# The first doubles its numbers, beyond all floats; the second ends before there are ranges.
CALIBRATED = [family for family in QUANTIZED if family not in (split_joins, unknown_nodes)]
GROUPS = {"steps": STEPS, "folded": FOLDED, "optimized": OPTIMIZED, "quantized": QUANTIZED, "calibrated": CALIBRATED}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print("\n".join(f"{group} {f.__name__}" for group, families in GROUPS.items() for f in families))
        sys.exit()
    network = globals()[sys.argv[1]](int(sys.argv[2]))
    with open(sys.argv[3], "wb") as out:
        out.write(network)
    if sys.argv[1] in [f.__name__ for f in QUANTIZED]:
        shape = [d.dim_value for d in onnx.load_model_from_string(network).graph.input[0].type.tensor_type.shape.dim]
        np.save(sys.argv[3] + ".npy", np.random.default_rng(1).standard_normal([4] + shape[1:], np.float32))
