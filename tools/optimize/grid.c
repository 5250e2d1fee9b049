/* SPDX-License-Identifier: MIT */
/* AffineGrid: the places of all pixels, in rows x, y, 1, times the matrix of a picture. */
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

/* The middle of pixel i of n, from -1 to 1: between the edges of the picture, or between the middles of its first and its last pixel. */
static float place(int64_t i, int64_t n, bool corners) {
    if (!corners) return (float)((2.0 * (double)i + 1) / (double)n - 1);
    return n > 1 ? (float)(2.0 * (double)i / (double)(n - 1) - 1) : -1;
}

bool change_affine_grid(struct onnx_graph *g, struct onnx_node *node) {
    float *numbers;
    if (!graph_is(node, "AffineGrid") || node->outputs[0]->shape.rank != 4) return false;
    const struct onnx_shape *y = &node->outputs[0]->shape;
    const int64_t n = y->dims[0], h = y->dims[1], w = y->dims[2];
    const bool corners = onnx_attribute_int(node, "align_corners", 0) != 0;
    struct onnx_value *places = graph_matrix(g, node, h * w, 3, &numbers);
    if (!places) return false;
    for (int64_t i = 0; i < h * w; i++) {
        numbers[3 * i] = place(i % w, w, corners);
        numbers[3 * i + 1] = place(i / w, h, corners);
        numbers[3 * i + 2] = 1;
    }
    graph_stays_float(g, node);
    const struct onnx_shape lines = {3, {n, h * w, 2}}, all = *y;
    struct onnx_value *line = say(g, node, "MatMul", places, say_turned(g, node, node->inputs[0]), &lines);
    say_as(g, node, say_reshape(g, node, line, &all));
    return true;
}
