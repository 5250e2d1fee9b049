#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make golden: records the vectors that tests/golden/run.sh replays.

    record.py [FOLDER]      writes FOLDER/CASE/{net.onnx, in0.npy, ..., out0.npy, ...}; FOLDER is cases/ beside this file

The networks are small ones out of tests/parity/nets.py, quantized with random scales. The answers are ONNX Runtime's alone; Morsel has
no part in the recording. Only networks are taken that ONNX Runtime computes in integers, or in float operators that leave no room for
rounding (ortgraph.FLOAT_ORDER lists the others), but for the few marked so below. Networks of int8 activations between
QuantizeLinear and DequantizeLinear are recorded from their uint8 twin, which ONNX Runtime computes in integers, and moved back by 128.

Every case is drawn from its own name, so that one can be added without changing the others.
"""
import os
import shutil
import sys

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "parity"))

from compare import run_ort, shift  # noqa: E402
from dynamic_nets import CHAINS  # noqa: E402
from netbuilder import Form, feeds_for, quantize  # noqa: E402
from nets import NETS  # noqa: E402
from ortgraph import uint8_twin  # noqa: E402

QDQ, QDQ_U8, QDQ_S8 = Form(), Form(weight="u8", per_channel=False), Form(activation="s8")
QOP, QOP_U8, QOP_S8 = Form(qdq=False), Form(qdq=False, weight="u8", per_channel=False), Form(qdq=False, activation="s8")
TIES, QOP_TIES, QOP_S8_TIES = Form(ties=True), Form(qdq=False, ties=True), Form(qdq=False, activation="s8", ties=True)
ZEROS, QOP_ZEROS = Form(weight_zero=True), Form(qdq=False, weight="u8", weight_zero=True)
BYTES, QOP_BYTES_S8 = Form(byte_io=True), Form(qdq=False, activation="s8", byte_io=True)
KEPT, TENSOR = Form(keep_bounds=True, float_bias=True), Form(per_channel=False)
# Where the float sum of ONNX Runtime has room for rounding, but rounds as an exact one on this input.
IN_FLOAT = {"mean_picture", "mean_float_tail", "transposed_padded", "transposed_depthwise", "linear_of_bytes_mixed", "linear_of_bytes_twice"}

CASES = [
    ("conv_dense", QOP), ("conv_dense", QDQ_S8), ("conv_pointwise", QDQ), ("conv_pointwise_odd",
     QOP_S8), ("conv_stride", ZEROS), ("conv_stride_uneven", QDQ_U8),
    ("conv_asymmetric", QOP_U8), ("conv_uneven_pads", QOP_ZEROS), ("conv_same_lower", QDQ), ("conv_dilated", QOP_S8),
         ("conv_dilated_uneven", QDQ),
    ("conv_grouped", QDQ_S8), ("conv_grouped_odd", QOP_TIES), ("conv_whole",
     TIES), ("conv_relu", QDQ), ("conv_relu6", KEPT), ("conv_clip_inside", QDQ),
    ("conv_old", TENSOR), ("conv_bias_ends", QOP), ("conv_bias_ends", QOP_S8), ("conv_depthwise", QOP), ("conv_depthwise_stride",
     QOP_S8), ("conv_depthwise_5x5", ZEROS), ("conv_depthwise_5x5_stride", QDQ_U8),
    ("conv_depthwise_dilated", QDQ_S8), ("conv_multiplier", QOP), ("conv_one_dimension", QOP_U8), ("conv_one_dimension_depthwise", QDQ),
    ("transposed_padded", QDQ), ("transposed_depthwise", QDQ_S8),
    ("gemm_rows", QDQ), ("gemm_untransposed", QOP_S8), ("gemm_float_out", QOP), ("matmul_three",
     QOP), ("matmul_two_batched", QOP_S8), ("matmul_two_inner_broadcast", QOP),
    ("two_Add_same", QOP_TIES), ("two_Add_channel", QDQ), ("two_Add_left_row",
     QOP_S8_TIES), ("two_Add_both", TIES), ("two_Mul_channel", QOP_TIES),
    ("two_Mul_both", QOP_S8), ("two_Add_constant_channel", QDQ), ("two_Sub_same", QDQ), ("add_relu", QDQ),
    ("one_leaky", QOP), ("one_sigmoid", QOP_S8), ("one_hard_swish", QDQ), ("silu_island", QDQ), ("chain_island", QDQ), ("one_prelu", QDQ), ("one_shrink", QDQ),
     ("one_hard_tanh", QDQ),
    ("pool_MaxPool_pads", QDQ), ("pool_MaxPool_dilated", QOP_S8), ("pool_AveragePool_uneven", QOP_TIES),
         ("pool_AveragePool_padded_count", QDQ),
    ("pool_GlobalAveragePool", QOP_S8_TIES), ("mean_picture", QDQ), ("mean_float_tail",
     QOP), ("softmax_channels", QOP), ("softmax_flattened", QOP_S8), ("softmax_dropped", QDQ),
    ("concat_three", QDQ), ("concat_branches", QOP), ("move_transpose",
     QOP), ("move_reshape", QDQ), ("move_slice_back", QDQ), ("move_pad", QOP_S8),
    ("move_pad_reflect", QOP), ("move_resize_half_pixel_round_prefer_ceil",
     QOP), ("move_resize_old", QOP), ("linear_of_bytes_mixed", QOP), ("linear_of_bytes_twice", QOP_S8), ("move_gather", QDQ), ("move_tile", QOP),
    ("move_depth_to_space_crd", QOP), ("move_space_to_depth", QDQ), ("split", QDQ), ("split_old", QOP),
    ("mobile", QOP), ("mobile", QDQ_S8), ("residual", QDQ_U8), ("residual",
     QOP_S8), ("squeeze_excite", QDQ), ("shuffle", QDQ), ("attention", QOP_S8), ("upsampling", QOP),
    ("keras", BYTES), ("several", BYTES), ("several", QOP_BYTES_S8), ("batch", QDQ), ("sound", QOP),
]


def answers(name, model, feeds):
    twin = uint8_twin(model)
    if twin is None:
        values, graph = run_ort(model, feeds, want_graph=True)
    else:
        bytes_in = {k for k, v in feeds.items() if v.dtype == np.int8}
        values, graph = run_ort(twin, shift(feeds, bytes_in, 128), want_graph=True)
        values = shift(values, {k for k, v in values.items() if v.dtype == np.uint8}, -128)
    loose = graph.all_inexact()
    if loose and name not in IN_FLOAT:
        sys.exit(f"{name}: ONNX Runtime computes {', '.join(sorted(loose))} of it in float")
    return values


def write(folder, name, model, feeds, values):
    case = os.path.join(folder, name)
    os.makedirs(case)
    onnx.save(model, os.path.join(case, "net.onnx"))
    for i, graph_input in enumerate(model.graph.input):
        np.save(os.path.join(case, f"in{i}.npy"), feeds[graph_input.name])
    for i, graph_output in enumerate(model.graph.output):
        np.save(os.path.join(case, f"out{i}.npy"), values[graph_output.name])


def record(folder, name, form):
    model = quantize(NETS[name](), form)
    feeds = feeds_for(model)
    write(folder, f"{name}-{form.name}", model, feeds, answers(name, model, feeds))


def record_chain(folder, name):
    """A layer behind a DynamicQuantizeLinear: its float results are of integers, and are rounded in one way only."""
    chain = CHAINS[name]()
    model, feeds = chain.model(), chain.feeds()
    write(folder, name, model, feeds, run_ort(model, feeds)[0])


def tokens(folder):
    """Token ids and a mask: lines of tables in float, in bytes and behind a DequantizeLinear; what is looked up of them is no arithmetic."""
    rng = np.random.default_rng(list(b"tokens"))
    node, const = onnx.helper.make_node, lambda name, a: onnx.numpy_helper.from_array(np.ascontiguousarray(a), name)
    lines, last = 40, 7
    constants = [const("floats", rng.normal(size=(lines, last)).astype(np.float32)), const("bytes", rng.integers(0, 256, (lines, last), np.uint8)),
                 const("signed", rng.integers(-128, 128, (lines, last)).astype(np.int8)), const("columns", rng.uniform(.01, .1, last).astype(np.float32)),
                 const("scale", np.float32(.03)), const("zero", np.uint8(113)), const("sign_zero", np.int8(-5)), const("zeros", np.zeros(last, np.int8)),
                 const("axis", np.array([2], np.int64))]
    nodes = [node("Gather", ["floats", "ids"], ["plain"]), node("Gather", ["bytes", "ids"], ["b"]), node("DequantizeLinear", ["b", "scale", "zero"], ["of_bytes"]),
             node("DequantizeLinear", ["signed", "scale", "sign_zero"], ["s"]), node("Gather", ["s", "ids"], ["of_signed"]),
             node("DequantizeLinear", ["signed", "columns", "zeros"], ["c"], axis=1), node("Gather", ["c", "ids"], ["of_columns"]),
             node("Gather", ["floats", "ids"], ["f"]), node("QuantizeLinear", ["f", "scale", "zero"], ["q"]), node("DequantizeLinear", ["q", "scale", "zero"], ["quantized"]),
             node("Cast", ["mask"], ["m"], to=onnx.TensorProto.FLOAT), node("Unsqueeze", ["m", "axis"], ["u"]), node("Mul", ["plain", "u"], ["masked"])]
    values = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 6, last]) for n in
              ("plain", "of_bytes", "of_signed", "of_columns", "quantized", "masked")]
    inputs = [onnx.helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [2, 6]), onnx.helper.make_tensor_value_info("mask", onnx.TensorProto.INT32, [2, 6])]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "tokens", inputs, values, constants), opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    feeds = {"ids": np.array([[0, 39, -1, -40, 5, 5], rng.integers(0, lines, 6)]), "mask": np.array([[1, 1, 0, 1, 0, 3], [-1, 0, 1, 1, 1, 0]], np.int32)}
    got, _ = run_ort(model, feeds, want_graph=True)
    case = os.path.join(folder, "tokens")
    os.makedirs(case)
    onnx.save(model, os.path.join(case, "net.onnx"))
    for i, name in enumerate(feeds):
        np.save(os.path.join(case, f"in{i}.npy"), feeds[name])
    for i, value in enumerate(values):
        np.save(os.path.join(case, f"out{i}.npy"), got[value.name])


def pixels(folder):
    """Bytes that the network itself makes numbers of: a Cast, then 1/255, mean and std; as they are; and int8."""
    rng = np.random.default_rng(list(b"pixels"))
    node, const = onnx.helper.make_node, lambda name, a: onnx.numpy_helper.from_array(np.ascontiguousarray(a, np.float32), name)
    byte = lambda name, a: onnx.numpy_helper.from_array(np.array(a, np.uint8), name)
    constants = [const("c255", 255), const("mean", np.array([.485, .456, .406]).reshape(3, 1, 1)), const("std", np.array([.229, .224, .225]).reshape(3, 1, 1)),
                 const("c128", 128), const("one", 1), const("part", 1 / 255), const("step", .0187), byte("zero", 0), byte("middle", 114)]
    nodes = [node("Cast", ["x"], ["f"], to=onnx.TensorProto.FLOAT), node("Div", ["f", "c255"], ["d"]), node("Sub", ["d", "mean"], ["m"]), node("Div", ["m", "std"], ["n"]),
             node("QuantizeLinear", ["d", "part", "zero"], ["dq"]), node("QuantizeLinear", ["n", "step", "middle"], ["nq"]), node("QuantizeLinear", ["f", "one", "zero"], ["fq"]),
             node("MaxPool", ["dq"], ["pooled"], kernel_shape=[3, 3], strides=[2, 2]), node("DequantizeLinear", ["pooled", "part", "zero"], ["quotients"]),
             node("DequantizeLinear", ["nq", "step", "middle"], ["normal"]), node("DequantizeLinear", ["fq", "one", "zero"], ["numbers"]),
             node("Cast", ["s"], ["g"], to=onnx.TensorProto.FLOAT), node("Sub", ["c128", "g"], ["h"]), node("QuantizeLinear", ["h", "one", "middle"], ["hq"]),
             node("DequantizeLinear", ["hq", "one", "middle"], ["turned"])]
    shape = {"quotients": [1, 3, 7, 7], "normal": [1, 3, 16, 16], "numbers": [1, 3, 16, 16], "turned": [1, 16, 16, 3]}
    values = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, d) for n, d in shape.items()]
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, [1, 3, 16, 16]), onnx.helper.make_tensor_value_info("s", onnx.TensorProto.INT8, [1, 16, 16, 3])]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "pixels", inputs, values, constants), opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    feeds = {"x": rng.permutation(np.arange(768) % 256).astype(np.uint8).reshape(1, 3, 16, 16), "s": rng.permutation(np.arange(768) % 256).astype(np.uint8).view(np.int8).reshape(1, 16, 16, 3)}
    write(folder, "pixels", model, feeds, run_ort(model, feeds)[0])


def conditions(folder):
    """A bool and integers that come into the network: what they choose, sums of them in float, ids that are put together and looked up."""
    rng = np.random.default_rng(list(b"conditions"))
    node, const = onnx.helper.make_node, lambda name, a: onnx.numpy_helper.from_array(np.ascontiguousarray(a), name)
    types = onnx.TensorProto
    constants = [const("line", rng.normal(size=(40, 5)).astype(np.float32)), const("seven", np.float32(7)), const("one", np.int64(1)), const("axes", np.array([1, 2])),
                 const("last", np.array([1])), const("some", np.array([4, 0, 2]))]
    nodes = [node("Where", ["b", "x", "seven"], ["chosen"]), node("Not", ["b"], ["n"]), node("Unsqueeze", ["n", "axes"], ["u"]), node("Where", ["u", "seven", "s"], ["masked"]),
             node("Cast", ["b"], ["f"], to=types.FLOAT), node("Cast", ["b"], ["t"], to=types.INT64), node("Mul", ["t", "i"], ["p"]), node("Sub", ["one", "p"], ["q"]),
             node("Cast", ["q"], ["sums"], to=types.FLOAT), node("ReduceSum", ["i", "last"], ["r"]), node("Cast", ["r"], ["totals"], to=types.FLOAT),
             node("Concat", ["i", "i"], ["j"], axis=1), node("Gather", ["j", "some"], ["k"], axis=1), node("Gather", ["line", "k"], ["lines"])]
    shape = {"chosen": [2, 6], "masked": [2, 3, 4, 6], "f": [2, 6], "sums": [2, 6], "totals": [2, 1], "lines": [2, 3, 5]}
    values = [onnx.helper.make_tensor_value_info(n, types.FLOAT, d) for n, d in shape.items()]
    inputs = [onnx.helper.make_tensor_value_info(n, t, d) for n, t, d in (("b", types.BOOL, [2, 6]), ("i", types.INT64, [2, 6]), ("x", types.FLOAT, [2, 6]), ("s", types.FLOAT, [2, 3, 4, 6]))]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "conditions", inputs, values, constants), opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    feeds = {"b": rng.integers(0, 2, (2, 6)).astype(bool), "i": rng.integers(0, 40, (2, 6)), "x": rng.normal(size=(2, 6)).astype(np.float32), "s": rng.normal(size=(2, 3, 4, 6)).astype(np.float32)}
    write(folder, "conditions", model, feeds, run_ort(model, feeds)[0])


def ends(folder):
    """What exports end with, of floats some of which are equal: which is largest, which are above, below and the same."""
    rng = np.random.default_rng(list(b"ends"))
    node, types = onnx.helper.make_node, onnx.TensorProto
    const = lambda name, a: onnx.numpy_helper.from_array(np.array(a), name)
    constants = [const("half", np.float32(.5)), const("least", np.float32(-3)), const("third", np.int64(2)), const("at", rng.integers(-7, 7, (2, 4, 3, 6))),
                 const("slices", [[[1, 6], [0, 0]], [[-1, 3], [1, -7]]]), const("condition", rng.integers(0, 2, (7, 5, 6)).astype(bool))]
    nodes, shape = [], {}
    for name, op, inputs, dims, attributes in (
            ("most", "ArgMax", ["x"], [2, 1, 5, 6], {"axis": 1}), ("last", "ArgMax", ["x"], [2, 7, 5], {"axis": -1, "keepdims": 0, "select_last_index": 1}),
            ("least_of", "ArgMin", ["x"], [1, 7, 5, 6], {"axis": 0}), ("above", "Greater", ["x", "half"], [2, 7, 5, 6], {}), ("below", "Less", ["x", "y"], [2, 7, 5, 6], {}),
            ("at_least", "GreaterOrEqual", ["x", "y"], [2, 7, 5, 6], {}), ("at_most", "LessOrEqual", ["half", "x"], [2, 7, 5, 6], {}), ("same", "Equal", ["x", "y"], [2, 7, 5, 6], {})):
        nodes += [node(op, inputs, [name + "_whole"], **attributes), node("Cast", [name + "_whole"], [name], to=types.FLOAT)]
        shape[name] = dims
    nodes += [node("Hardmax", ["x"], ["hard"], axis=1), node("And", ["above_whole", "below_whole"], ["both"]), node("Not", ["both"], ["not_both"]), node("Where", ["not_both", "x", "least"], ["chosen"]),
              node("CumSum", ["x", "third"], ["sums"], exclusive=1), node("GatherElements", ["x", "at"], ["elements"], axis=1), node("GatherND", ["x", "slices"], ["lines"]),
              node("Where", ["condition", "least", "x"], ["constantly"])]
    shape.update(hard=[2, 7, 5, 6], chosen=[2, 7, 5, 6], sums=[2, 7, 5, 6], elements=[2, 4, 3, 6], lines=[2, 2, 5, 6], constantly=[2, 7, 5, 6])
    values = [onnx.helper.make_tensor_value_info(n, types.FLOAT, d) for n, d in shape.items()]
    inputs = [onnx.helper.make_tensor_value_info("x", types.FLOAT, [2, 7, 5, 6]), onnx.helper.make_tensor_value_info("y", types.FLOAT, [1, 5, 6])]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "ends", inputs, values, constants), opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    feeds = {k: (np.round(rng.normal(size=d) * 2) / 2 + 0).astype(np.float32) for k, d in (("x", (2, 7, 5, 6)), ("y", (1, 5, 6)))} # no -0
    write(folder, "ends", model, feeds, run_ort(model, feeds)[0])


def top(folder):
    """TopK of floats some of which are equal, along any axis, the largest and the least."""
    rng = np.random.default_rng(list(b"top"))
    types = onnx.TensorProto
    constants, nodes, shape = [], [], {}
    for name, k, axis, largest in (("three", 3, 1, 1), ("least", 2, -1, 0), ("all", 2, 0, 1), ("five", 5, 2, 1)):
        constants.append(onnx.numpy_helper.from_array(np.array([k]), "k_" + name))
        nodes += [onnx.helper.make_node("TopK", ["x", "k_" + name], [name, name + "_at"], axis=axis, largest=largest),
                  onnx.helper.make_node("Cast", [name + "_at"], [name + "_places"], to=types.FLOAT)]
        shape[name] = shape[name + "_places"] = [k if d == axis % 4 else n for d, n in enumerate((2, 7, 5, 6))]
    values = [onnx.helper.make_tensor_value_info(n, types.FLOAT, d) for n, d in shape.items()]
    inputs = [onnx.helper.make_tensor_value_info("x", types.FLOAT, [2, 7, 5, 6])]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "top", inputs, values, constants), opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    feeds = {"x": (np.round(rng.normal(size=(2, 7, 5, 6)) * 2) / 2 + 0).astype(np.float32)} # no -0
    write(folder, "top", model, feeds, run_ort(model, feeds)[0])


def places(folder):
    """GridSample as ONNX Runtime's fast path has it and to the nearest pixel, and NonMaxSuppression among equal scores."""
    rng = np.random.default_rng(list(b"places"))
    node, types, info = onnx.helper.make_node, onnx.TensorProto, onnx.helper.make_tensor_value_info
    const = lambda name, a: onnx.numpy_helper.from_array(np.array(a), name)
    constants = [const("still", rng.uniform(-1.3, 1.3, (2, 3, 4, 2)).astype(np.float32)), const("most", np.array([6])),
                 const("overlap", np.array([.1], np.float32)), const("least", np.array([.375], np.float32))]
    nodes, values = [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["selected"])], [info("selected", types.INT64, [None, 3])]
    for name, grid, size, attributes in (
            ("linear", "grid", [5, 7], {}), ("still_linear", "still", [3, 4], {}), ("nearest", "grid", [5, 7], {"mode": "nearest"}),
            ("edge", "grid", [5, 7], {"mode": "nearest", "padding_mode": "border", "align_corners": 1}),
            ("mirror", "grid", [5, 7], {"mode": "nearest", "padding_mode": "reflection"}),
            ("mirror_corners", "grid", [5, 7], {"mode": "nearest", "padding_mode": "reflection", "align_corners": 1})):
        nodes.append(node("GridSample", ["x", grid], [name], **attributes))
        values.append(info(name, types.FLOAT, [2, 3, *size]))
    shapes = {"x": (2, 3, 6, 5), "grid": (2, 5, 7, 2), "boxes": (2, 14, 4), "scores": (2, 3, 14)}
    inputs = [info(name, types.FLOAT, shape) for name, shape in shapes.items()]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "places", inputs, values, constants), opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
    feeds = {"x": rng.normal(size=shapes["x"]), "grid": rng.uniform(-2, 2, shapes["grid"]), "boxes": np.round(rng.uniform(0, 6, shapes["boxes"])),
             "scores": np.round(rng.uniform(0, 8, shapes["scores"])) / 8}
    feeds = {k: v.astype(np.float32) for k, v in feeds.items()}
    answers = run_ort(model, feeds)[0]
    rows = answers["selected"]
    answers["selected"] = np.concatenate([rows, np.full((2 * 3 * 6 - len(rows), 3), -1)]).astype(np.int32)  # as a blob has them
    write(folder, "places", model, feeds, answers)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "cases")
    shutil.rmtree(folder, ignore_errors=True)
    for name, form in CASES:
        record(folder, name, form)
    for name in CHAINS:
        record_chain(folder, name)
    tokens(folder)
    pixels(folder)
    conditions(folder)
    ends(folder)
    top(folder)
    places(folder)
    files = [os.path.join(d, f) for d, _, names in os.walk(folder) for f in names]
    print(f"{len(CASES) + len(CHAINS) + 6} cases, {sum(os.path.getsize(f) for f in files)} bytes in {folder}")


if __name__ == "__main__":
    main()
