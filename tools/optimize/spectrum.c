/* SPDX-License-Identifier: MIT */
/* DFT and STFT as products with a matrix of waves: real and imaginary parts of all frequencies of a line of numbers. */
#include "tools/onnx/spectrum.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <math.h>

/* ---- what stays float with them ---- */

static bool is_spectrum(const struct onnx_node *node) {
    return (graph_is(node, "STFT") || graph_is(node, "DFT")) && onnx_is_checked(node) && !node->folded && onnx_input(node, 0) &&
           node->output_count && node->outputs[0];
}

/* What makes small numbers large again: then steps of a 255th of the largest number are too coarse before it. */
static bool is_root(const struct onnx_node *node) {
    double power;
    if (graph_is(node, "Pow")) return onnx_input(node, 1) && graph_scalar(node->inputs[1], &power) && power < 1;
    return graph_is(node, "Log") || graph_is(node, "Sqrt") || graph_is(node, "ReduceL2") || graph_is(node, "ReduceLogSum") ||
           graph_is(node, "ReduceLogSumExp");
}

/* A bank of filters: a product with a constant, on either side, or a convolution of single elements. */
static bool is_bank(const struct onnx_node *node) {
    const struct onnx_tensor *left = onnx_input_constant(node, 0), *right = onnx_input_constant(node, 1);
    if (graph_is(node, "MatMul") || graph_is(node, "Gemm")) return !left != !right;
    if (!graph_is(node, "Conv") || !right || left || onnx_attribute_int(node, "group", 1) != 1) return false;
    for (int d = 2; d < right->shape.rank; d++)
        if (right->shape.dims[d] != 1) return false;
    return true;
}

static bool is_real(const struct onnx_value *value) {
    return value->type == ONNX_FLOAT || value->type == ONNX_FLOAT16 || value->type == ONNX_DOUBLE;
}

/* Floats, element by element or elsewhere, and sums of them. */
static bool passes(const struct onnx_node *node) {
    const enum onnx_class class = onnx_class_of(node);
    if (node->folded || node->output_count < 1 || !node->outputs[0] || !is_real(node->outputs[0])) return false;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && !node->inputs[i]->constant && !is_real(node->inputs[i])) return false;
    return class == ONNX_FUNCTION || class == ONNX_PAIR || class == ONNX_MOVE || class == ONNX_JOIN || is_root(node) || is_bank(node) ||
           graph_is(node, "Sum") || graph_is(node, "ReduceSum") || graph_is(node, "ReduceSumSquare");
}

/* How many banks of filters lie between a spectrum and what a node gives, and between that and the next root. */
struct way {
    uint8_t before, behind;
};
enum { MOST_BANKS = 1, NO_WAY = MOST_BANKS + 1 };

/* That of the node that makes a value; NULL: none in the list does. */
static struct way *way_of(const struct onnx_graph *g, struct way *ways, const struct onnx_value *value) {
    const struct onnx_node *node = value ? value->producer : NULL;
    return node && node->number < g->node_count && g->nodes[node->number] == node ? &ways[node->number] : NULL;
}

static uint8_t more(uint8_t banks, const struct onnx_node *node) {
    return banks < NO_WAY && is_bank(node) ? banks + 1 : banks;
}

static void lower_to(uint8_t *least, uint8_t banks) {
    if (banks < *least) *least = banks;
}

static void find_ways_behind(const struct onnx_graph *g, struct way *ways) {
    for (size_t n = g->node_count; n-- > 0;) {
        const struct onnx_node *node = g->nodes[n];
        const uint8_t banks = !passes(node) ? NO_WAY : is_root(node) ? 0 : more(ways[n].behind, node);
        for (int i = 0; i < node->input_count; i++) {
            struct way *way = way_of(g, ways, node->inputs[i]);
            if (way) lower_to(&way->behind, banks);
        }
    }
}

static void keep_ways_float(struct onnx_graph *g, struct way *ways) {
    for (size_t n = 0; n < g->node_count; n++) {
        struct onnx_node *node = g->nodes[n];
        uint8_t banks = NO_WAY;
        for (int i = 0; i < node->input_count; i++) {
            const struct way *way = way_of(g, ways, node->inputs[i]);
            if (way) lower_to(&banks, way->before);
        }
        banks = more(banks, node);
        if (is_spectrum(node)) ways[n].before = 0;
        else if (passes(node) && banks + (is_root(node) ? 0 : ways[n].behind) <= MOST_BANKS) {
            graph_stays_float(g, node);
            ways[n].before = banks;
        }
    }
}

static void keep_moves_float(struct onnx_graph *g, struct onnx_node *node) {
    while (node && onnx_class_of(node) == ONNX_MOVE && !onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) {
        graph_stays_float(g, node);
        node = onnx_input(node, 0) ? node->inputs[0]->producer : NULL;
    }
}

/* Eight bits hide what has less than a 255th of the strongest tone. Each node is looked at twice, however many spectra there are. */
void spectra_keep_float(struct onnx_graph *g) {
    bool any = false;
    for (size_t i = 0; i < g->node_count && !any; i++) any = is_spectrum(graph_node_at(g, i));
    if (!any) return;
    edit_settle(g);
    struct way *ways = onnx_alloc(g, g->node_count * sizeof *ways);
    for (size_t n = 0; n < g->node_count; n++) {
        g->nodes[n]->number = n;
        ways[n] = (struct way){NO_WAY, NO_WAY};
    }
    find_ways_behind(g, ways);
    keep_ways_float(g, ways);
    for (size_t n = 0; n < g->node_count; n++)
        if (is_spectrum(g->nodes[n])) keep_moves_float(g, g->nodes[n]->inputs[0]->producer);
}

/* ---- products ---- */

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
    x = say_exchanged(g, node, x, s->axis, last);
    struct onnx_shape lines = x->shape;
    lines.dims[last] *= s->parts;
    lines.rank--;
    return say_reshape(g, node, x, &lines);
}

bool change_spectrum(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_spectrum s;
    const char *why;
    float *numbers;
    if (!is_spectrum(node) || !is_real(node->inputs[0]) || !onnx_spectrum_read(node, &s, &why)) return false;
    const int64_t count = s.frames ? s.length : s.count;
    if (s.frames && !graph_takes_room(g, (size_t)(s.frames * s.length * s.parts))) return false;
    struct onnx_value *waves = graph_matrix(g, node, count * s.parts, 2 * s.bins, &numbers);
    if (!waves) return false;
    fill_waves(&s, count, numbers);
    graph_stays_float(g, node);
    struct onnx_value *x = spectrum_of(g, node, s.frames ? frames_of(g, node, &s) : lines_of(g, node, &s), waves);
    say_as(g, node, s.frames ? x : say_exchanged(g, node, x, s.axis, x->shape.rank - 2));
    return true;
}
