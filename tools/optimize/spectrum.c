/* SPDX-License-Identifier: MIT */
/* DFT and STFT as products with a matrix of waves: real and imaginary parts of all frequencies of a line of numbers. */
#include "tools/onnx/spectrum.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <math.h>

/* Two axes change places. */
static struct onnx_value *exchanged(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int a, int b) {
    int64_t perm[ONNX_MAX_RANK];
    for (int d = 0; d < x->shape.rank; d++) perm[d] = d == a ? b : d == b ? a : d;
    return a == b ? x : say_transpose(g, node, x, perm);
}

/* Of number n in a row for each of its parts: real and imaginary part of e^(-2 pi i k n / length), or of the inverse, by turns. What is
 * beyond the transform's length counts for nothing. */
static void fill_waves(const struct onnx_spectrum *s, int64_t count, float *matrix) {
    const int64_t wide = 2 * s->bins;
    for (int64_t n = 0; n < count && n < s->length; n++)
        for (int64_t k = 0; k < s->bins; k++) {
            const double turn = 6.283185307179586 * (double)(k * n % s->length) / (double)s->length;
            const double size = s->window ? onnx_number(s->window, (size_t)n) : s->inverse ? 1 / (double)s->length : 1;
            const float real = (float)(cos(turn) * size), imaginary = (float)(sin(s->inverse ? turn : -turn) * size);
            float *to = matrix + n * s->parts * wide + 2 * k;
            to[0] = real, to[1] = imaginary;
            if (s->parts == 2) to[wide] = -imaginary, to[wide + 1] = real;
        }
}

/* Lines of numbers in parts, [.., count * parts], as [.., bins, 2]. */
static struct onnx_value *spectrum_of(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *waves) {
    struct onnx_value *inputs[2] = {x, waves};
    struct onnx_shape shape = x->shape;
    shape.dims[shape.rank - 1] = waves->shape.dims[1];
    x = graph_put(g, node, "MatMul", inputs, 2, &shape);
    shape.dims[shape.rank - 1] /= 2;
    shape.dims[shape.rank++] = 2;
    return say_reshape(g, node, x, &shape);
}

/* Frames of a signal, which overlap: [batch, frames, length * parts]. */
static struct onnx_value *frames_of(struct onnx_graph *g, struct onnx_node *node, const struct onnx_spectrum *s) {
    const int64_t batch = node->inputs[0]->shape.dims[0], wide = s->length * s->parts;
    const struct onnx_shape line = {2, {batch, s->count * s->parts}}, places = {2, {s->frames, wide}},
                            shape = {3, {batch, s->frames, wide}};
    struct onnx_tensor *t;
    struct onnx_value *at = edit_constant(g, onnx_text(g, "%s.frames", node->name), ONNX_INT64, &places, &t);
    for (int64_t i = 0; i < s->frames * wide; i++) ((int64_t *)t->data)[i] = i / wide * s->step * s->parts + i % wide;
    struct onnx_value *y = say(g, node, "Gather", say_reshape(g, node, node->inputs[0], &line), at, &shape);
    edit_attribute_int(g, y->producer, "axis", 1);
    return y;
}

/* Numbers along an axis as lines of all their parts. */
static struct onnx_value *lines_of(struct onnx_graph *g, struct onnx_node *node, const struct onnx_spectrum *s) {
    struct onnx_value *x = node->inputs[0];
    const int last = x->shape.rank - 2;
    x = exchanged(g, node, x, s->axis, last);
    struct onnx_shape lines = x->shape;
    lines.dims[last] *= s->parts;
    lines.rank--;
    return say_reshape(g, node, x, &lines);
}

/* What makes small numbers large again: then steps of a 255th of the largest number are too coarse before it. */
static bool lifts_small_ones(const struct onnx_node *node) {
    double power;
    return graph_is(node, "Log") || graph_is(node, "Sqrt") ||
           (graph_is(node, "Pow") && node->input_count == 2 && graph_scalar(node->inputs[1], &power) && power < 1);
}

/* From a value to the first of these stays float, on every way on which there is one. A product with a constant is a bank of filters. */
static bool float_up_to_log(struct onnx_graph *g, const struct onnx_value *value, int *looks) {
    enum { MOST_READERS = 8 };
    struct onnx_node *readers[MOST_READERS];
    bool any = false;
    for (int i = 0, n = *looks > 0 ? edit_readers(g, value, readers, MOST_READERS) : 0; i < n && i < MOST_READERS; i++) {
        struct onnx_node *node = readers[i];
        const bool filters = graph_is(node, "MatMul") && onnx_input_constant(node, 1), last = lifts_small_ones(node);
        if (!node->output_count || !node->outputs[0] || (onnx_class_of(node) == ONNX_LAYER && !filters)) continue;
        if (!last && --*looks >= 0 && !float_up_to_log(g, node->outputs[0], looks)) continue;
        graph_stays_float(g, node);
        any = true;
    }
    return any;
}

/* Eight bits hide what has less than a 255th of the strongest tone: it stays float, what is moved before it, and what leads to a Log. */
static void keep_float_around(struct onnx_graph *g, struct onnx_node *node) {
    int looks = 64;
    graph_stays_float(g, node);
    for (struct onnx_node *n = node->inputs[0]->producer; n && onnx_class_of(n) == ONNX_MOVE; n = n->inputs[0]->producer)
        graph_stays_float(g, n);
    float_up_to_log(g, node->outputs[0], &looks);
}

bool change_spectrum(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_spectrum s;
    const char *why;
    float *numbers;
    if ((!graph_is(node, "STFT") && !graph_is(node, "DFT")) || node->inputs[0]->type != ONNX_FLOAT || !onnx_spectrum_read(node, &s, &why))
        return false;
    const int64_t count = s.frames ? s.length : s.count;
    if (s.frames && !graph_takes_room(g, (size_t)(s.frames * s.length * s.parts))) return false;
    struct onnx_value *waves = graph_matrix(g, node, count * s.parts, 2 * s.bins, &numbers);
    if (!waves) return false;
    fill_waves(&s, count, numbers);
    keep_float_around(g, node);
    struct onnx_value *x = spectrum_of(g, node, s.frames ? frames_of(g, node, &s) : lines_of(g, node, &s), waves);
    say_as(g, node, s.frames ? x : exchanged(g, node, x, s.axis, x->shape.rank - 2));
    return true;
}
