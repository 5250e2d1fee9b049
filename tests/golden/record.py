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


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "cases")
    shutil.rmtree(folder, ignore_errors=True)
    for name, form in CASES:
        record(folder, name, form)
    for name in CHAINS:
        record_chain(folder, name)
    files = [os.path.join(d, f) for d, _, names in os.walk(folder) for f in names]
    print(f"{len(CASES) + len(CHAINS)} cases, {sum(os.path.getsize(f) for f in files)} bytes in {folder}")


if __name__ == "__main__":
    main()
