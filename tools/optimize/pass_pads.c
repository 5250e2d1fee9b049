/* SPDX-License-Identifier: MIT */
/*
 * A border of zeros made by Pad becomes the padding of the window behind it: a convolution, or an average that counts its padding. So it
 * does for a maximum over values that are not negative: one more zero changes nothing there.
 */
#include "tools/optimize/pass.h"
#include <string.h>

/* Zeros round the spatial dimensions only: begin and end for each of them. */
static bool read_zeros(const struct onnx_node *pad, int64_t *begin, int64_t *end) {
    int64_t pads[2 * ONNX_MAX_RANK], axes[ONNX_MAX_RANK];
    int rank = pad->inputs[0]->shape.rank, count = onnx_integers(pad, "pads", pads, 2 * ONNX_MAX_RANK);
    int axis_count = onnx_integers(pad, "axes", axes, ONNX_MAX_RANK), axis;
    double value = pad->opset < 11 ? onnx_attribute_float(pad, "value", 0) : 0;
    if (strcmp(onnx_attribute_string(pad, "mode", "constant"), "constant") || axis_count < 0 || rank < 3) return false;
    if (pad->opset >= 11 && onnx_input(pad, 2) && !graph_scalar(onnx_input(pad, 2), &value)) return false;
    int listed = axis_count ? axis_count : rank;
    if (value != 0 || count != 2 * listed) return false;
    memset(begin, 0, ONNX_MAX_RANK * sizeof *begin);
    memset(end, 0, ONNX_MAX_RANK * sizeof *end);
    for (int i = 0; i < listed; i++) {
        if (!onnx_axis_of(axis_count ? axes[i] : i, rank, &axis) || pads[i] < 0 || pads[listed + i] < 0 ||
            (axis < 2 && (pads[i] || pads[listed + i])))
            return false;
        if (axis >= 2) {
            begin[axis - 2] = pads[i];
            end[axis - 2] = pads[listed + i];
        }
    }
    return true;
}

/* Known to be 0 or more. */
static bool not_negative(const struct onnx_value *value, int depth) {
    const struct onnx_node *node = value->producer;
    double low = -1;
    if (!node || !depth) return false;
    if (onnx_has(node, ONNX_NOT_NEGATIVE)) return true;
    if (graph_is(node, "MaxPool") || graph_is(node, "AveragePool")) return not_negative(node->inputs[0], depth - 1);
    if (!graph_is(node, "Clip")) return false;
    return node->opset < 11 ? onnx_attribute_float(node, "min", -1) >= 0 : graph_scalar(onnx_input(node, 1), &low) && low >= 0;
}

/* Whether the window gives the same when the zeros are its own padding. ONNX Runtime wants a pool's padding smaller than its window. */
static bool takes_zeros(const struct onnx_node *node, const struct onnx_window *w, const int64_t *begin, const int64_t *end,
                        const struct onnx_value *x) {
    bool none_yet = true;
    if (graph_is(node, "Conv")) return true;
    for (int i = 0; i < w->rank; i++) {
        if (w->pad_begin[i] + begin[i] >= w->kernel[i] || w->pad_end[i] + end[i] >= w->kernel[i] || w->dilation[i] != 1 || w->ceil_mode)
            return false;
        none_yet = none_yet && !w->pad_begin[i] && !w->pad_end[i];
    }
    if (graph_is(node, "AveragePool")) return w->count_include_pad || none_yet;
    return graph_is(node, "MaxPool") && (node->output_count < 2 || !node->outputs[1]) && not_negative(x, 4);
}

static bool fold(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *padded = onnx_input(node, 0);
    int64_t begin[ONNX_MAX_RANK], end[ONNX_MAX_RANK], pads[6];
    struct onnx_window w;
    const char *why;
    bool conv = graph_is(node, "Conv");
    if (!conv && !graph_is(node, "AveragePool") && !graph_is(node, "MaxPool")) return false;
    struct onnx_node *pad = padded && graph_alone(padded) && padded->type == ONNX_FLOAT ? padded->producer : NULL;
    if (!graph_is(pad, "Pad") || !onnx_input(pad, 0)) return false;
    if (conv && (!onnx_input(node, 1) || node->inputs[1]->shape.rank != padded->shape.rank)) return false;
    if (!onnx_window(node, &padded->shape, conv ? node->inputs[1]->shape.dims + 2 : NULL, &w, &why) || !read_zeros(pad, begin, end) ||
        !takes_zeros(node, &w, begin, end, pad->inputs[0]))
        return false;
    for (int i = 0; i < w.rank; i++) {
        pads[i] = w.pad_begin[i] + begin[i];
        pads[w.rank + i] = w.pad_end[i] + end[i];
    }
    edit_attribute_drop(node, "auto_pad");
    edit_attribute_ints(g, node, "pads", pads, 2 * (size_t)w.rank);
    if (graph_is(node, "AveragePool")) edit_attribute_int(g, node, "count_include_pad", 1);
    return graph_bypass(g, pad, pad->inputs[0]);
}

int pass_pads(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) changes += fold(g, graph_node_at(g, i));
    return changes;
}
