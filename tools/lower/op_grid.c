/* SPDX-License-Identifier: MIT */
/* GridSample, in float whatever it stands between, and NonMaxSuppression at the end of a network. */
#include "tools/lower/lower.h"
#include "tools/onnx/grid.h"

/* Input i in floats, a constant too; NULL: refused. */
static struct net_buffer *floats(struct lowering *l, struct onnx_node *node, int i, enum morsel_layout layout) {
    const struct onnx_tensor *t = onnx_input_constant(node, i);
    struct meaning m, *given = t ? NULL : activation(l, node, i);
    if (t ? !meaning_constant(l, node, t, 1, 0, &m) : !given) return NULL;
    if (given) m = *given;
    if (m.buffer->type != MORSEL_FLOAT32) {
        if (!m.dequantized && !m.table) {
            refuse(l, node, "its input %d is an integer tensor", i);
            return NULL;
        }
        m.buffer = meaning_float_buffer(l, node, &m, &m.view);
        m.table = NULL;
        m.dequantized = false;
    }
    return m.buffer ? meaning_buffer(l, node, &m, layout) : NULL;
}

bool lower_grid_sample(struct lowering *l, struct onnx_node *node) {
    struct onnx_grid grid;
    const char *why;
    if (!onnx_grid_read(node, &grid, &why)) return refuse(l, node, "%s", why);
    const struct onnx_shape *shape = &node->inputs[0]->shape;
    if (shape->dims[2] >= MORSEL_FORMAT_GRID_SIDE || shape->dims[3] >= MORSEL_FORMAT_GRID_SIDE)
        return refuse(l, node, "its picture is too large: a side has fewer than 2^22 pixels");
    struct net_buffer *x = floats(l, node, 0, MORSEL_CHANNELS_LAST), *places = x ? floats(l, node, 1, MORSEL_ROW_MAJOR) : NULL;
    if (!places) return false;
    struct net_buffer *y = value_buffer(l, node->outputs[0], MORSEL_FLOAT32, MORSEL_CHANNELS_LAST, 1, 0);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_GRID_SAMPLE, node->name, x, places, y);
    step->parameters.grid_sample =
        (struct morsel_blob_grid_sample){.nearest = grid.nearest, .beyond = grid.beyond, .corners = grid.corners};
    meaning_set(l, node->outputs[0], meaning_fresh(l, y, &node->outputs[0]->shape));
    return true;
}

bool lower_suppression(struct lowering *l, struct onnx_node *node) {
    struct onnx_suppression s;
    const char *why;
    if (!onnx_suppression_read(node, &s, &why)) return refuse(l, node, "%s", why);
    struct net_buffer *boxes = floats(l, node, 0, MORSEL_ROW_MAJOR), *scores = boxes ? floats(l, node, 1, MORSEL_ROW_MAJOR) : NULL;
    if (!scores) return false;
    struct net_buffer *y = value_buffer(l, node->outputs[0], MORSEL_INT32, MORSEL_ROW_MAJOR, 1, 0);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_NON_MAX_SUPPRESSION, node->name, boxes, scores, y);
    step->parameters.non_max_suppression = (struct morsel_blob_non_max_suppression){.images = (uint32_t)s.images,
                                                                                    .classes = (uint32_t)s.classes,
                                                                                    .count = (uint32_t)s.count,
                                                                                    .most = (uint32_t)s.most,
                                                                                    .centre = s.centre,
                                                                                    .overlap = s.overlap,
                                                                                    .least = s.least};
    step->scratch_bytes = (uint32_t)s.count;
    meaning_set(l, node->outputs[0], meaning_fresh(l, y, &node->outputs[0]->shape));
    return true;
}
