/* SPDX-License-Identifier: MIT */
/* Weights and biases out of a blob, in the places that they have in the float graph. Layouts: core/format.h. */
#include "core/kind.h"
#include "tools/compare/compare.h"
#include "tools/optimize/pass.h"
#include "tools/quant/equalize/outliers.h"

#include <math.h>
#include <string.h>

/* A layer's step as a convolution, whatever it is. */
struct layer {
    const struct comparison *c;
    const struct morsel_blob_step *step;
    const struct morsel_blob_tensor *x, *y;
    struct morsel_blob_conv p;
    uint32_t inputs, outputs;  /* of one group */
    uint32_t sizes[3];         /* H W C of a picture in memory that a product goes over, flattened; 0: none */
    uint32_t order[3];         /* which of these axes comes first, second and last where the graph flattens it */
    bool is_float, half, each; /* float weights; of 16 bits; a filter for each channel */
    uint32_t panel;            /* of a FLOAT_MATMUL: columns that lie side by side */
};

static uint32_t up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

static const struct morsel_blob_step *writer_of(const struct comparison *c, const struct morsel_blob_tensor *tensor) {
    const uint32_t step = tensor->first_step;
    return step < morsel_blob_header(c->network)->steps.count ? morsel_blob_step(c->network, step) : NULL;
}

/* Where a step makes bytes of what a FLOAT_MATMUL gives, that is the layer. */
static const struct morsel_blob_step *layer_of(const struct comparison *c, uint32_t tensor) {
    const struct morsel_blob_step *step = writer_of(c, morsel_blob_tensor(c->network, tensor)), *before = NULL;
    if (step && step->kind == MORSEL_STEP_UNARY) before = writer_of(c, morsel_blob_input(c->network, step, 0));
    return before && before->kind == MORSEL_STEP_FLOAT_MATMUL ? before : step;
}

/* Constant weights [panels][inputs][panel]. */
static bool read_rows(struct layer *l) {
    const struct morsel_blob_tensor *w = morsel_blob_input(l->c->network, l->step, 1),
                                    *bias = l->step->input_count > 2 ? morsel_blob_input(l->c->network, l->step, 2) : NULL;
    if (w->place != 1 || w->rank != 3 || (bias && bias->place != 1)) return false;
    l->p = (struct morsel_blob_conv){.window = {.kernel_h = 1, .kernel_w = 1},
                                     .groups = 1,
                                     .sums = {.weights = w->offset, .bias = bias ? bias->offset : 0}};
    l->inputs = w->dims[1];
    l->outputs = w->dims[0] * w->dims[2];
    l->panel = w->dims[2];
    l->is_float = true;
    return true;
}

static void read_product(struct layer *l, const struct morsel_blob_fc *fc) {
    l->p = (struct morsel_blob_conv){.window = {.kernel_h = 1, .kernel_w = 1}, .groups = 1, .sums = fc->sums};
    l->inputs = fc->inputs;
    l->outputs = fc->outputs;
    if (l->x->layout == MORSEL_CHANNELS_LAST && l->x->rank == 4 && fc->inputs == l->x->dims[1] * l->x->dims[2] * l->x->dims[3])
        memcpy(l->sizes, l->x->dims + 1, sizeof l->sizes);
}

static bool read_layer(struct layer *l, const struct linear *linear) {
    const void *p = morsel_blob_at(l->c->network, l->step->parameters);
    uint32_t kind = morsel_kind_base(l->step->kind);
    l->x = morsel_blob_input(l->c->network, l->step, 0);
    l->y = morsel_blob_output(l->c->network, l->step);
    if (kind == MORSEL_STEP_FC) {
        read_product(l, p);
    } else if (kind == MORSEL_STEP_CONV || kind == MORSEL_STEP_DEPTHWISE) {
        l->p = *(const struct morsel_blob_conv *)p;
    } else if (kind == MORSEL_STEP_FLOAT_CONV) {
        const struct morsel_blob_float_conv *conv = p;
        l->p = (struct morsel_blob_conv){.window = conv->window,
                                         .groups = conv->groups,
                                         .sums = {.weights = conv->weights, .bias = conv->bias}};
        l->is_float = true;
        l->half = conv->weights_half;
    } else if (kind != MORSEL_STEP_FLOAT_MATMUL || !read_rows(l)) {
        return false;
    }
    if (kind != MORSEL_STEP_FC && kind != MORSEL_STEP_FLOAT_MATMUL) {
        if (l->x->rank != 4 || l->y->rank != 4) return false;
        l->inputs = l->x->dims[3] / l->p.groups;
        l->outputs = l->y->dims[3] / l->p.groups;
    }
    l->each = kind == MORSEL_STEP_DEPTHWISE || (l->is_float && l->p.groups > 1 && l->inputs == 1 && l->outputs == 1);
    const uint32_t parts = kind == MORSEL_STEP_FC && linear->in_channels + OUTLIERS_PARTS == l->inputs ? OUTLIERS_PARTS : 0;
    return linear->groups == l->p.groups && linear->window == l->p.window.kernel_h * l->p.window.kernel_w &&
           linear->in_channels == (int64_t)(l->inputs - parts) * l->p.groups &&
           /* parts of outliers stand behind */ linear->out_channels == (int64_t)l->outputs * l->p.groups;
}

/* The index of output o's constants. */
static size_t channel_place(const struct layer *l, uint32_t o) {
    if (l->each || l->is_float) return o;
    return (size_t)(o / l->outputs) * up(l->outputs, 16) + o % l->outputs;
}

/* Of the weight between output o and input i of its group. */
static size_t byte_place(const struct layer *l, uint32_t o, uint32_t i, uint32_t y, uint32_t x) {
    uint32_t quads = up(l->p.window.kernel_h, 4) / 4, row = up(l->p.window.kernel_w * l->inputs, 4), k = y * row + x * l->inputs + i;
    if (l->each) return ((((size_t)(o / 16) * l->p.window.kernel_w + x) * quads + y / 4) * 16 + o % 16) * 4 + y % 4;
    size_t group = (size_t)(o / l->outputs) * up(l->outputs, 16) * l->p.window.kernel_h * row;
    uint32_t own = o % l->outputs;
    return group + (((size_t)(own / 16) * (l->p.window.kernel_h * row / 4) + k / 4) * 16 + own % 16) * 4 + k % 4;
}

static size_t float_place(const struct layer *l, uint32_t o, uint32_t i, uint32_t y, uint32_t x) {
    uint32_t all = l->outputs * l->p.groups, tap = y * l->p.window.kernel_w + x, taps = l->p.window.kernel_h * l->p.window.kernel_w;
    if (l->each) return (size_t)tap * up(all, 8) + o;
    if (l->panel) return ((size_t)(o / l->panel) * l->inputs + i) * l->panel + o % l->panel;
    return (((size_t)(o / 8) * taps + tap) * l->inputs + i) * 8 + o % 8;
}

/* What one step of output o's integers is worth. */
static float unit(const struct layer *l, size_t at) {
    const float *multiplier = morsel_blob_at(l->c->network, l->p.sums.multiplier);
    return multiplier[at] * (morsel_is_byte(l->y) ? l->y->scale : 1) / l->x->scale;
}

static float weight(const struct layer *l, uint32_t o, uint32_t i, uint32_t y, uint32_t x) {
    const void *weights = morsel_blob_at(l->c->network, l->p.sums.weights);
    if (l->is_float) {
        const struct onnx_tensor tensor = {.type = l->half ? ONNX_FLOAT16 : ONNX_FLOAT, .data = (void *)(uintptr_t)weights};
        return (float)onnx_number(&tensor, float_place(l, o, i, y, x));
    }
    const int32_t *zero = morsel_blob_optional(l->c->network, l->p.sums.weight_zero);
    size_t at = channel_place(l, o);
    return (float)(((const int8_t *)weights)[byte_place(l, o, i, y, x)] - (zero ? zero[at] : 0)) * unit(l, at);
}

static float bias(const struct layer *l, uint32_t o) {
    const void *constants = morsel_blob_optional(l->c->network, l->p.sums.bias);
    size_t at = channel_place(l, o);
    if (l->is_float) return constants ? ((const float *)constants)[at] : 0;
    const float *more = morsel_blob_optional(l->c->network, l->p.sums.float_bias);
    float whole = constants ? (float)((const int32_t *)constants)[at] * l->x->scale * unit(l, at) : 0;
    return more ? whole + more[at] * (morsel_is_byte(l->y) ? l->y->scale : 1) : whole;
}

/* Input i of the graph's flattened picture in that of memory. */
static uint32_t flat_place(const struct layer *l, uint32_t i) {
    const uint32_t *s = l->sizes, *order = l->order;
    uint32_t at[3];
    at[order[2]] = i % s[order[2]];
    at[order[1]] = i / s[order[2]] % s[order[1]];
    at[order[0]] = i / s[order[2]] / s[order[1]];
    return (at[0] * s[1] + at[1]) * s[2] + at[2];
}

static float weight_of_element(const struct layer *l, const struct linear *linear, size_t e) {
    int64_t in, out;
    linear_place(linear, (int64_t)e, &in, &out);
    uint32_t tap = (uint32_t)((int64_t)e % linear->window), i = (uint32_t)in % l->inputs;
    if (graph_is(linear->node, "ConvTranspose")) /* its weights are turned by half a turn */
        tap = (uint32_t)linear->window - 1 - tap;
    if (l->sizes[0]) i = flat_place(l, i);
    return weight(l, (uint32_t)out, i, tap / l->p.window.kernel_w, tap % l->p.window.kernel_w);
}

static void read_values(const struct layer *l, const struct linear *linear, float *values) {
    for (size_t e = 0; e < linear->weights->count; e++) values[e] = weight_of_element(l, linear, e);
}

/* The graph may turn the picture before it flattens it: C H W as ONNX has it, H W C as Keras. Of all orders the one whose weights are most
 * like the float ones is right. */
static void find_order(struct layer *l, const struct linear *linear, float *values) {
    static const uint32_t orders[6][3] = {{2, 0, 1}, {0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}};
    double most = -INFINITY;
    size_t best = 0;
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        double alike = 0;
        memcpy(l->order, orders[k], sizeof l->order);
        read_values(l, linear, values);
        for (size_t e = 0; e < linear->weights->count; e++) alike += (double)values[e] * onnx_number(linear->weights, e);
        best = alike > most ? k : best;
        most = alike > most ? alike : most;
    }
    memcpy(l->order, orders[best], sizeof l->order);
}

const struct compare_weights *compare_weights_of(const struct comparison *c, const struct onnx_node *node) {
    return c->node_weights[node->number];
}

/* A second input of several lines has a scale and a zero point for each row. */
static void read_dynamic(const struct layer *l, struct compare_weights *w) {
    w->dynamic = morsel_kind_base(l->step->kind) != l->step->kind;
    w->dynamic_axis = w->dynamic && morsel_blob_input(l->c->network, l->step, 1)->rank > 1 ? w->linear.in_axis : -1;
}

struct compare_weights *compare_weights(const struct comparison *c, struct onnx_node *node, uint32_t tensor) {
    struct layer l = {.c = c, .step = layer_of(c, tensor)};
    struct linear linear;
    if (!l.step || !linear_read(node, &linear) || !read_layer(&l, &linear)) return NULL;
    struct compare_weights *w = onnx_alloc(c->graph, sizeof *w);
    w->linear = linear;
    read_dynamic(&l, w);
    w->values = onnx_alloc(c->graph, linear.weights->count * sizeof *w->values);
    w->bias = onnx_alloc(c->graph, (size_t)linear.out_channels * sizeof *w->bias);
    w->steps = onnx_alloc(c->graph, (size_t)linear.out_channels * sizeof *w->steps);
    if (l.sizes[0]) find_order(&l, &linear, w->values);
    read_values(&l, &linear, w->values);
    for (uint32_t o = 0; o < linear.out_channels; o++) {
        w->bias[o] = bias(&l, o);
        w->steps[o] = l.is_float ? 0 : unit(&l, channel_place(&l, o));
    }
    return w;
}
