/* SPDX-License-Identifier: MIT */
/* AffineGrid, GridSample, and NonMaxSuppression with room for all that it could select. */
#include "kernels/ops.h"
#include "tools/onnx/grid.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <string.h>

bool onnx_grid_read(const struct onnx_node *node, struct onnx_grid *grid, const char **why) {
    static const char *const paddings[] = {
        [MORSEL_BEYOND_NOTHING] = "zeros", [MORSEL_BEYOND_EDGE] = "border", [MORSEL_BEYOND_MIRROR] = "reflection"};
    const char *mode = onnx_attribute_string(node, "mode", "linear"), *padding = onnx_attribute_string(node, "padding_mode", "zeros");
    const int64_t corners = onnx_attribute_int(node, "align_corners", 0);
    *grid = (struct onnx_grid){.nearest = !strcmp(mode, "nearest"), .corners = corners == 1, .beyond = MORSEL_BEYOND_COUNT};
    for (uint32_t i = 0; i < MORSEL_BEYOND_COUNT; i++)
        if (!strcmp(padding, paddings[i])) grid->beyond = i;
    *why = "its mode is none of linear (bilinear) and nearest: export it with one of those";
    if (!grid->nearest && strcmp(mode, "linear") && strcmp(mode, "bilinear")) return false;
    *why = "its padding_mode is none of zeros, border and reflection";
    if (grid->beyond == MORSEL_BEYOND_COUNT) return false;
    *why = "its align_corners is neither 0 nor 1";
    return corners == 0 || corners == 1;
}

bool onnx_infer_grid_sample(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *grid = onnx_in(c, 1);
    if (!onnx_takes_numbers(c)) return false;
    if (x->rank != 4) return onnx_bad(c, "only pictures N C H W are supported, and its input has %d dimensions", x->rank);
    if (grid->rank != 4 || grid->dims[0] != x->dims[0] || grid->dims[3] != 2) return onnx_bad(c, "its grid is not N x H x W x 2");
    const struct onnx_shape y = {.rank = 4, .dims = {x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]}};
    return onnx_out(c, 0, &y);
}

/* Of pictures: matrices [N, 2, 3], a size N C H W. */
bool onnx_infer_affine_grid(struct onnx_context *c) {
    const struct onnx_shape *theta = onnx_in(c, 0), *list = onnx_in(c, 1);
    const struct onnx_tensor *size = onnx_input_constant(c->node, 1);
    if (!onnx_takes_numbers(c)) return false;
    if (theta->rank != 3 || theta->dims[1] != 2 || theta->dims[2] != 3 || list->rank != 1 || list->dims[0] != 4)
        return onnx_bad(c, "only pictures are supported: matrices N x 2 x 3, and a size N C H W");
    if (!size) return onnx_bad(c, "its size is no constant");
    struct onnx_shape y = {.rank = 4, .dims = {theta->dims[0], 0, 0, 2}};
    for (int i = 1; i < 3; i++) {
        y.dims[i] = onnx_integer(size, (size_t)(i + 1));
        if (y.dims[i] < 1 || y.dims[i] > 1 << 15) return onnx_bad(c, "its size is not from 1 to 32768 pixels a side");
    }
    return onnx_out(c, 0, &y);
}

/* Input i, one number; `otherwise` where it is left out. False: it is not constant. */
static bool read_number(const struct onnx_node *node, int i, float otherwise, float *number) {
    const struct onnx_tensor *t = onnx_input_constant(node, i);
    *number = otherwise;
    if (!onnx_input(node, i)) return true;
    if (!t || t->type != ONNX_FLOAT || t->count != 1) return false;
    *number = (float)onnx_number(t, 0);
    return true;
}

bool onnx_suppression_read(const struct onnx_node *node, struct onnx_suppression *s, const char **why) {
    const struct onnx_shape *boxes = &node->inputs[0]->shape, *scores = &node->inputs[1]->shape;
    const struct onnx_tensor *most = onnx_input_constant(node, 2);
    const int64_t centre = onnx_attribute_int(node, "center_point_box", 0);
    *s = (struct onnx_suppression){scores->dims[0], scores->dims[1], scores->dims[2], 0, centre == 1, 0, 0};
    *why = "its boxes are not N x objects x 4, or its scores not N x classes x objects";
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[0] != s->images || boxes->dims[1] != s->count || boxes->dims[2] != 4)
        return false;
    *why = "its max_output_boxes_per_class is not one constant number: how many rows its result may have follows from it";
    if (onnx_input(node, 2) && (!most || most->type != ONNX_INT64 || most->count != 1)) return false;
    *why = "its max_output_boxes_per_class is 0 or left out: it selects nothing";
    if (!most || onnx_integer(most, 0) < 1) return false;
    s->most = onnx_integer(most, 0) < s->count ? onnx_integer(most, 0) : s->count;
    *why = "its iou_threshold is not one constant number of 0 to 1";
    if (!read_number(node, 3, 0, &s->overlap) || !(s->overlap >= 0 && s->overlap <= 1)) return false;
    *why = "its score_threshold is not one constant number";
    if (!read_number(node, 4, -INFINITY, &s->least) || isnan(s->least)) return false;
    *why = "its center_point_box is neither 0 nor 1";
    return centre == 0 || centre == 1;
}

/* What a Clip keeps a value above; -inf: it is of none. */
static double least_of(const struct onnx_value *value) {
    const struct onnx_node *clip = value->producer;
    if (!clip || strcmp(clip->op, "Clip") || *clip->domain) return -INFINITY;
    if (clip->opset < 11) return (double)onnx_attribute_float(clip, "min", -INFINITY);
    const struct onnx_tensor *least = onnx_input_constant(clip, 1);
    return least && least->count == 1 ? onnx_number(least, 0) : -INFINITY;
}

/* Objects of no area overlap none, and without a threshold each has its row, whose score a Clip keeps above -inf. */
static bool suppresses_none(const struct onnx_node *node) {
    const struct onnx_tensor *boxes = onnx_input_constant(node, 0);
    const bool empty = boxes && boxes->count && onnx_all_alike(boxes) && onnx_number(boxes, 0) == 0;
    return empty && !onnx_input(node, 4) && least_of(node->inputs[1]) > -INFINITY;
}

/* How many rows count is found at run time. Who computes with them would take those that stand for none as well. */
static bool is_read(const struct onnx_value *value) {
    return value->uses > value->is_output;
}

bool onnx_infer_suppression(struct onnx_context *c) {
    struct onnx_suppression s;
    const char *why;
    if (!onnx_takes_numbers(c)) return false;
    if (!onnx_suppression_read(c->node, &s, &why)) return onnx_bad(c, "%s", why);
    if (is_read(c->node->outputs[0]) && !suppresses_none(c->node))
        return onnx_bad(c, "what follows depends on how many objects it selects: end the network here, by --output-node %.80s",
                        c->node->outputs[0]->name);
    if (s.images * s.classes > INT32_MAX / 3 || s.images * s.classes * s.most > INT32_MAX / 3)
        return onnx_bad(c, "its result would be too large");
    const struct onnx_shape y = {.rank = 2, .dims = {s.images * s.classes * s.most, 3}};
    return onnx_out(c, 0, &y);
}
