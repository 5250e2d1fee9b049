/* SPDX-License-Identifier: MIT */
/*
 * Networks of opsets 7 to 13 become networks of opset 14: it has scales by channel (13) and HardSwish (14). Later passes then see one form
 * of each operator. All of a network or nothing: where a node has no equal, every node stays as it is.
 */
#include "tools/optimize/pass.h"
#include "tools/onnx/resize.h"

#include <math.h>
#include <string.h>

enum { NEW_OPSET = 14, NEW_IR = 7 };

/* Shape inference has refused what has none. */
static bool has_equal(const struct onnx_node *node) {
    (void)node;
    return true;
}

/* Bounds become inputs in opset 11. */
static void raise_clip(struct onnx_graph *g, struct onnx_node *node) {
    double low = onnx_attribute_float(node, "min", -INFINITY), high = onnx_attribute_float(node, "max", INFINITY);
    struct onnx_shape scalar = {0};
    if (node->opset >= 11) return;
    edit_attribute_drop(node, "min");
    edit_attribute_drop(node, "max");
    if (low > -INFINITY) edit_set_input(g, node, 1, graph_floats(g, node, "min", &scalar, &low));
    if (high < INFINITY) edit_set_input(g, node, 2, graph_floats(g, node, "max", &scalar, &high));
}

static bool clip_has_equal(const struct onnx_node *node) {
    return node->opset >= 11 || (onnx_input(node, 0) && node->inputs[0]->type == ONNX_FLOAT);
}

/* A list of integers that was an attribute. */
static void list_to_input(struct onnx_graph *g, struct onnx_node *node, const char *attribute) {
    int64_t list[2 * ONNX_MAX_RANK];
    int count = onnx_attribute_ints(node, attribute, list, 2 * ONNX_MAX_RANK);
    if (count < 0) return;
    edit_set_input(g, node, 1, graph_int64s(g, node, attribute, list, count));
    edit_attribute_drop(node, attribute);
}

static bool short_list(const struct onnx_node *node, const char *attribute) {
    int64_t list[2 * ONNX_MAX_RANK];
    return onnx_attribute_ints(node, attribute, list, 2 * ONNX_MAX_RANK) <= 2 * ONNX_MAX_RANK;
}

/* Bounds, axes and all become inputs in opset 10. */
static void raise_slice(struct onnx_graph *g, struct onnx_node *node) {
    static const char *const names[] = {"starts", "ends", "axes"};
    int64_t list[ONNX_MAX_RANK];
    for (int i = 0; i < 3 && node->opset < 10; i++) {
        int count = onnx_attribute_ints(node, names[i], list, ONNX_MAX_RANK);
        if (count >= 0) edit_set_input(g, node, i + 1, graph_int64s(g, node, names[i], list, count));
        edit_attribute_drop(node, names[i]);
    }
}

/* Pads and value become inputs in opset 11. */
static void raise_pad(struct onnx_graph *g, struct onnx_node *node) {
    double value = onnx_attribute_float(node, "value", 0);
    struct onnx_shape scalar = {0};
    if (node->opset >= 11) return;
    list_to_input(g, node, "pads");
    edit_attribute_drop(node, "value");
    if (value != 0) edit_set_input(g, node, 2, graph_floats(g, node, "value", &scalar, &value));
}

static bool pad_has_equal(const struct onnx_node *node) {
    return node->opset >= 11 || (onnx_input(node, 0) && node->inputs[0]->type == ONNX_FLOAT && short_list(node, "pads"));
}

/* Axes become an input in opset 13. */
static void raise_axes(struct onnx_graph *g, struct onnx_node *node) {
    if (node->opset < 13) list_to_input(g, node, "axes");
}

static bool axes_have_equal(const struct onnx_node *node) {
    return short_list(node, "axes");
}

static void raise_split(struct onnx_graph *g, struct onnx_node *node) {
    if (node->opset < 13) list_to_input(g, node, "split");
}

static bool split_has_equal(const struct onnx_node *node) {
    return short_list(node, "split");
}

/* From opset 13 on along one axis, before along all dimensions from it on, as if they were one. */
static void raise_softmax(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    int64_t axis = onnx_attribute_int(node, "axis", 1), rows = 1, columns = 1, only = -1, many = 0;
    if (node->opset >= 13) return;
    axis += axis < 0 ? x->shape.rank : 0;
    for (int d = 0; d < x->shape.rank; d++) {
        *(d < axis ? &rows : &columns) *= x->shape.dims[d];
        if (d >= axis && x->shape.dims[d] != 1) {
            only = d;
            many++;
        }
    }
    if (many <= 1) {
        edit_attribute_int(g, node, "axis", only < 0 ? x->shape.rank - 1 : only);
        return;
    }
    struct onnx_shape flat = {2, {rows, columns}};
    struct onnx_value *in = edit_value(g, x->name, x->type, &flat), *out = edit_value(g, node->outputs[0]->name, x->type, &flat);
    struct onnx_value *inputs[2] = {x, graph_int64s(g, node, "flat", flat.dims, 2)};
    edit_node(g, node, "Reshape", "", NULL, inputs, 2, &in, 1)->opset = NEW_OPSET;
    edit_attribute_int(g, edit_node(g, node, node->op, "", node->name, &in, 1, &out, 1), "axis", 1);
    out->producer->opset = NEW_OPSET;
    inputs[0] = out;
    inputs[1] = graph_int64s(g, node, "shape", x->shape.dims, x->shape.rank);
    edit_become(g, node, "Reshape", "", inputs, 2);
}

static bool softmax_has_equal(const struct onnx_node *node) {
    const struct onnx_value *x = onnx_input(node, 0);
    int64_t axis = x ? onnx_attribute_int(node, "axis", 1) : 0;
    return x && x->shape.rank > 0 && onnx_elements(&x->shape) > 0 && axis >= -x->shape.rank && axis < x->shape.rank;
}

/* Upsample, and Resize of opset 10: from the corner, to the pixel before when it grows and the one behind when it shrinks. */
static void raise_resize(struct onnx_graph *g, struct onnx_node *node) {
    if (node->opset >= 11) return;
    struct onnx_tensor listed;
    const struct onnx_tensor *scales = onnx_resize_scales(node, &listed);
    struct onnx_value *inputs[3] = {node->inputs[0]};
    double numbers[ONNX_MAX_RANK];
    for (size_t i = 0; i < scales->count; i++) numbers[i] = onnx_number(scales, i);
    inputs[2] = onnx_input(node, 1) ? node->inputs[1] : graph_floats(g, node, "scales", &scales->shape, numbers);
    const char *mode = onnx_attribute_string(node, "mode", "nearest");
    bool grows = true;
    for (size_t i = 0; i < scales->count; i++) grows = grows && onnx_number(scales, i) >= 1;
    edit_become(g, node, "Resize", "", inputs, 3);
    edit_attribute_string(g, node, "mode", mode);
    edit_attribute_string(g, node, "coordinate_transformation_mode", "asymmetric");
    edit_attribute_string(g, node, "nearest_mode", grows ? "floor" : "ceil");
}

static bool resize_has_equal(const struct onnx_node *node) {
    struct onnx_tensor listed;
    const struct onnx_tensor *scales = node->opset < 11 ? onnx_resize_scales(node, &listed) : NULL;
    bool grows = true, shrinks = true;
    if (node->opset >= 11) return strcmp(onnx_attribute_string(node, "coordinate_transformation_mode", ""), "tf_half_pixel_for_nn") != 0;
    if (!scales || scales->type != ONNX_FLOAT || scales->count > ONNX_MAX_RANK || node->input_count > 2) return false;
    for (size_t i = 0; i < scales->count; i++) {
        grows = grows && onnx_number(scales, i) >= 1;
        shrinks = shrinks && onnx_number(scales, i) <= 1;
    }
    return grows || shrinks;
}

/* Its outputs beyond the first are those of training. */
static void raise_batch_norm(struct onnx_graph *g, struct onnx_node *node) {
    (void)g;
    edit_attribute_drop(node, "spatial");
    node->output_count = 1;
}

static void raise_nothing(struct onnx_graph *g, struct onnx_node *node) {
    (void)g, (void)node;
}

static const struct changed {
    const char *op;
    bool (*has_equal)(const struct onnx_node *node);
    void (*raise)(struct onnx_graph *g, struct onnx_node *node);
} changed[] = {
    {"BatchNormalization", graph_inference, raise_batch_norm},
    {"Clip", clip_has_equal, raise_clip},
    {"Pad", pad_has_equal, raise_pad},
    {"Squeeze", axes_have_equal, raise_axes},
    {"Unsqueeze", axes_have_equal, raise_axes},
    {"ReduceSum", axes_have_equal, raise_axes},
    {"Split", split_has_equal, raise_split},
    {"Softmax", softmax_has_equal, raise_softmax},
    {"LogSoftmax", softmax_has_equal, raise_softmax},
    {"Resize", resize_has_equal, raise_resize},
    {"Upsample", resize_has_equal, raise_resize},
    {"Slice", has_equal, raise_slice},
};

/* NULL: nobody knows what becomes of it. */
static const struct changed *change_of(const struct onnx_node *node) {
    static const struct changed nothing = {"", has_equal, raise_nothing};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        if (graph_is(node, changed[i].op)) return &changed[i];
    const struct onnx_operator *op = onnx_operator_of(node);
    return op && (op->function || op->traits & ONNX_UNCHANGED) ? &nothing : NULL;
}

int pass_opset(struct onnx_graph *g) {
    int changes = 0;
    if (!g->opset || g->opset >= NEW_OPSET) return 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const struct changed *change = *graph_node_at(g, i)->domain ? NULL : change_of(graph_node_at(g, i));
        if (!*graph_node_at(g, i)->domain && (!change || !change->has_equal(graph_node_at(g, i)))) return 0;
    }
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = graph_node_at(g, i);
        if (*node->domain || node->opset >= NEW_OPSET) continue;
        change_of(node)->raise(g, node); /* what it puts in front has the new opset already */
        node->opset = NEW_OPSET;
        changes++;
    }
    g->opset = NEW_OPSET;
    g->ir_version = g->ir_version < NEW_IR ? NEW_IR : g->ir_version;
    return changes;
}
