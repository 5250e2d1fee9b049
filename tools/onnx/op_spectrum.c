/* SPDX-License-Identifier: MIT */
/* DFT and STFT, and the windows that they want: HannWindow, HammingWindow, BlackmanWindow. */
#include "tools/onnx/operator.h"
#include "tools/onnx/spectrum.h"

#include <math.h>
#include <string.h>

/* A constant of one whole number; `otherwise` where the node has no such input. */
static bool read_whole(const struct onnx_node *node, int input, int64_t otherwise, int64_t *out) {
    const struct onnx_tensor *t = onnx_input_constant(node, input);
    *out = otherwise;
    if (!onnx_input(node, input)) return true;
    if (!t || t->count != 1 || !onnx_is_integer(t->type)) return false;
    *out = onnx_integer(t, 0);
    return true;
}

/* Of real or complex numbers; 0: of neither. */
static int parts_of(int64_t dimension) {
    return dimension == 1 || dimension == 2 ? (int)dimension : 0;
}

/* Longer ones would be matrices of more than 2^28 numbers. */
static bool sized(const struct onnx_node *node, struct onnx_spectrum *s) {
    s->bins = onnx_attribute_int(node, "onesided", !strcmp(node->op, "STFT")) ? s->length / 2 + 1 : s->length;
    return s->length >= 1 && s->length <= 1 << 14;
}

static bool read_dft(const struct onnx_node *node, struct onnx_spectrum *s, const char **why) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    int64_t axis = onnx_attribute_int(node, "axis", 1);
    *why = "its axis or its length is no constant";
    if (x->rank < 2 || (node->opset >= 20 && !read_whole(node, 2, -2, &axis))) return false;
    *why = "its axis is none that its input has, or is the last";
    if (!onnx_axis_of(axis, x->rank, &s->axis) || s->axis == x->rank - 1) return false;
    s->parts = parts_of(x->dims[x->rank - 1]);
    s->count = x->dims[s->axis];
    s->inverse = onnx_attribute_int(node, "inverse", 0) != 0;
    *why = "its axis or its length is no constant";
    if (!read_whole(node, 1, s->count, &s->length)) return false;
    *why = "its length is not from 1 to 16384";
    return sized(node, s);
}

static bool read_stft(const struct onnx_node *node, struct onnx_spectrum *s, const char **why) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    const struct onnx_value *window = onnx_input(node, 2);
    *why = "its input is not of [batch, length], [batch, length, 1] or [batch, length, 2]";
    if (x->rank < 2 || x->rank > 3) return false;
    s->axis = 1;
    s->parts = x->rank == 3 ? parts_of(x->dims[2]) : 1;
    s->count = x->dims[1];
    s->window = onnx_input_constant(node, 2);
    *why = "its step, its length or its window is no constant";
    if (!read_whole(node, 1, 0, &s->step) || (window && !s->window)) return false;
    if (!read_whole(node, 3, window ? (int64_t)s->window->count : 0, &s->length)) return false;
    *why = "its window is not as long as its frames, which are from 1 to 16384";
    if (!sized(node, s) || (window && (int64_t)s->window->count != s->length)) return false;
    *why = "its step is below 1, or its input is shorter than a frame";
    if (s->step < 1 || s->count < s->length) return false;
    s->frames = (s->count - s->length) / s->step + 1;
    return true;
}

bool onnx_spectrum_read(const struct onnx_node *node, struct onnx_spectrum *s, const char **why) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    *s = (struct onnx_spectrum){.parts = 1};
    *why = "a dimension of its input is above 2^31";
    for (int d = 0; d < x->rank; d++)
        if (x->dims[d] > INT32_MAX) return false;
    if (strcmp(node->op, "STFT") ? !read_dft(node, s, why) : !read_stft(node, s, why)) return false;
    *why = "its input is neither real nor complex: its last dimension is not 1 or 2";
    if (!s->parts) return false;
    *why = "it is inverse and onesided";
    return s->bins == s->length || !s->inverse;
}

bool onnx_infer_spectrum(struct onnx_context *c) {
    struct onnx_spectrum s;
    const char *why;
    const struct onnx_shape *x = onnx_in(c, 0);
    if (!onnx_takes_numbers(c)) return false;
    if (!onnx_spectrum_read(c->node, &s, &why)) return onnx_bad(c, "%s", why);
    struct onnx_shape y = {.rank = 4, .dims = {x->dims[0], s.frames, s.bins, 2}};
    if (s.frames) return onnx_out(c, 0, &y);
    y = *x;
    y.dims[s.axis] = s.bins;
    y.dims[y.rank - 1] = 2;
    return onnx_out(c, 0, &y);
}

bool onnx_infer_window(struct onnx_context *c) {
    int64_t size;
    const int64_t type = onnx_attribute_int(c->node, "output_datatype", ONNX_FLOAT);
    if (type != ONNX_FLOAT && type != ONNX_FLOAT16 && type != ONNX_DOUBLE) return onnx_bad(c, "it is of no kind of float");
    if (!onnx_input_constant(c->node, 0)) return true;
    if (!read_whole(c->node, 0, 0, &size) || size < 0) return onnx_bad(c, "its size is not a whole number from 0 on");
    const struct onnx_shape y = {.rank = 1, .dims = {size}};
    return onnx_out(c, 0, &y);
}

/* a - b cos(t) + c cos(2t), t a turn along the window, or along all of it but the last element. Of a single element t is 0. */
void onnx_fold_window(struct onnx_context *c) {
    const char *op = c->node->op;
    const bool blackman = !strcmp(op, "BlackmanWindow");
    const double a = !strcmp(op, "HannWindow") ? 0.5 : blackman ? 0.42 : 25.0 / 46, b = blackman ? 0.5 : 1 - a, twice = blackman ? 0.08 : 0;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    const double turn = y ? (double)y->count - !onnx_attribute_int(c->node, "periodic", 1) : 0;
    for (size_t i = 0; y && i < y->count; i++) {
        const double t = turn > 0 ? 6.283185307179586 * (double)i / turn : 0;
        onnx_store_number(y, i, a - b * cos(t) + twice * cos(2 * t));
    }
}
