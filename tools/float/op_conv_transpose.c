/* SPDX-License-Identifier: MIT */
/*
 * ConvTranspose in one and two dimensions. The products of 32 neighbouring inputs with all weights come out in tiles, [output channel and
 * tap][input]. Each is added where it belongs.
 */
#include "tools/float/operator.h"
#include "tools/float/product.h"

#include <string.h>

struct conv_transpose {
    const struct loops *loops;
    int64_t batch, in_channels, channels, groups; /* channels: of the output */
    int64_t height, width, out_height, out_width;
    int64_t kernel_y, kernel_x, stride_y, stride_x, dilation_y, dilation_x, top, left;
    int64_t rows;         /* of a group: output channels times taps */
    size_t group_weights; /* floats */
    const float *weights, *bias;
};

/* Adds the products of one output channel and tap with `count` inputs from `first` on. */
static void scatter(const struct conv_transpose *c, int64_t tap, int64_t first, int64_t count, const float *products, float *y) {
    int64_t ky = tap / c->kernel_x, kx = tap % c->kernel_x;
    for (int64_t i = 0; i < count; i++) {
        int64_t oy = (first + i) / c->width * c->stride_y + ky * c->dilation_y - c->top;
        int64_t ox = (first + i) % c->width * c->stride_x + kx * c->dilation_x - c->left;
        if (oy >= 0 && oy < c->out_height && ox >= 0 && ox < c->out_width) y[oy * c->out_width + ox] += products[i];
    }
}

static void run_group(const struct conv_transpose *c, const float *x, const float *weights, float *y, float *scratch) {
    static const float zeros[TILE_ROWS];
    int64_t area = c->height * c->width, depth = c->in_channels / c->groups, taps = c->kernel_y * c->kernel_x;
    float *panel = scratch, *products = scratch + PANEL_DEPTH * TILE_COLUMNS;
    for (int64_t first = 0; first < area; first += TILE_COLUMNS) {
        int64_t count = area - first < TILE_COLUMNS ? area - first : TILE_COLUMNS;
        for (int64_t k = 0; k < depth; k += PANEL_DEPTH) {
            int64_t deep = depth - k < PANEL_DEPTH ? depth - k : PANEL_DEPTH;
            pack_panels(&(struct matrix){x + k * area + first, deep, count, area, 1}, panel);
            for (int64_t r = 0; r < c->rows; r += TILE_ROWS)
                product_tile(c->loops, weights + r * depth + k * TILE_ROWS, panel, (size_t)deep, products + r * TILE_COLUMNS, TILE_COLUMNS,
                             TILE_ROWS, TILE_COLUMNS, k ? NULL : zeros);
        }
        for (int64_t r = 0; r < c->rows; r++)
            scatter(c, r % taps, first, count, products + r * TILE_COLUMNS, y + r / taps * c->out_height * c->out_width);
    }
}

static void run_conv_transpose(const void *plan, const struct call *call) {
    const struct conv_transpose *c = plan;
    int64_t in = c->in_channels * c->height * c->width, area = c->out_height * c->out_width, out = c->channels * area;
    for (int64_t n = 0; n < c->batch; n++) {
        float *y = call->out[0] + n * out;
        for (int64_t i = 0; i < out; i++) y[i] = c->bias ? c->bias[i / area] : 0;
        for (int64_t g = 0; g < c->groups; g++)
            run_group(c, call->in[0] + n * in + g * (in / c->groups), c->weights + (size_t)g * c->group_weights, y + g * (out / c->groups),
                      call->scratch);
    }
}

/* From [input channel][output channel and tap] of each group to packed rows of what the output reads. */
static void pack(struct preparation *p, struct conv_transpose *c, const float *weights) {
    int64_t depth = c->in_channels / c->groups;
    c->group_weights = packed_rows_floats(c->rows, depth);
    float *packed = prepare_alloc(p, c->group_weights * (size_t)c->groups * sizeof *packed);
    for (int64_t g = 0; g < c->groups; g++)
        pack_rows(&(struct matrix){weights + g * depth * c->rows, c->rows, depth, 1, c->rows}, packed + (size_t)g * c->group_weights);
    c->weights = packed;
}

struct transposed_axis {
    int64_t stride, dilation, pad;
};

/* What is cut off where the output begins: the pads, or half of what makes the output as large as it is stated. */
static struct transposed_axis read_axis(const struct preparation *p, int i) {
    int64_t strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1}, extra[3] = {0}, pads[6] = {0}, stated[3] = {0};
    const struct onnx_shape *x = shape_in(p, 0), *w = shape_in(p, 1), *y = shape_out(p, 0);
    const char *pad = onnx_attribute_string(p->node, "auto_pad", "NOTSET");
    onnx_attribute_ints(p->node, "strides", strides, 3);
    onnx_attribute_ints(p->node, "dilations", dilations, 3);
    onnx_attribute_ints(p->node, "output_padding", extra, 3);
    onnx_attribute_ints(p->node, "pads", pads, 6);
    bool sized = onnx_attribute_ints(p->node, "output_shape", stated, 3) > 0 || !strncmp(pad, "SAME", 4);
    struct transposed_axis a = {strides[i], dilations[i], strcmp(pad, "VALID") ? pads[i] : 0};
    if (sized) {
        int64_t full = strides[i] * (x->dims[2 + i] - 1) + extra[i] + (w->dims[2 + i] - 1) * dilations[i] + 1;
        int64_t cut = full - y->dims[2 + i] > 0 ? full - y->dims[2 + i] : 0;
        a.pad = !strcmp(pad, "SAME_UPPER") ? cut / 2 : cut - cut / 2;
    }
    return a;
}

static bool read_shapes(struct preparation *p, struct conv_transpose *c) {
    const struct onnx_shape *x = shape_in(p, 0), *w = shape_in(p, 1), *y = shape_out(p, 0);
    int rank = x->rank - 2, last = rank - 1;
    c->groups = onnx_attribute_int(p->node, "group", 1);
    if (rank != 1 && rank != 2) return cannot(p, "it runs over %d dimensions; 1 and 2 are supported", rank);
    if (c->groups < 1 || x->dims[1] % c->groups || onnx_elements(w) == 0 || onnx_elements(x) == 0)
        return cannot(p, "its channels do not fit its groups");
    struct transposed_axis ay = {1, 1, 0}, ax = read_axis(p, last);
    if (last) ay = read_axis(p, 0);
    *c = (struct conv_transpose){.loops = loops_here(),
                                 .batch = x->dims[0],
                                 .in_channels = x->dims[1],
                                 .channels = y->dims[1],
                                 .groups = c->groups,
                                 .height = last ? x->dims[2] : 1,
                                 .width = x->dims[2 + last],
                                 .out_height = last ? y->dims[2] : 1,
                                 .out_width = y->dims[2 + last],
                                 .kernel_y = last ? w->dims[2] : 1,
                                 .kernel_x = w->dims[2 + last],
                                 .stride_y = ay.stride,
                                 .stride_x = ax.stride,
                                 .dilation_y = ay.dilation,
                                 .dilation_x = ax.dilation,
                                 .top = ay.pad,
                                 .left = ax.pad};
    c->rows = w->dims[1] * c->kernel_y * c->kernel_x;
    return true;
}

bool prepare_conv_transpose(struct preparation *p) {
    struct conv_transpose *c = prepare_alloc(p, sizeof *c);
    const float *weights = prepare_constant(p, 1);
    if (!weights) return cannot(p, "its weights are not constant");
    if (!read_shapes(p, c)) return false;
    c->bias = prepare_constant(p, 2);
    if (onnx_input(p->node, 2) && (!c->bias || onnx_elements(shape_in(p, 2)) != c->channels))
        return cannot(p, "its bias is not a constant list of %lld numbers", (long long)c->channels);
    pack(p, c, weights);
    p->step->plan = c;
    p->step->run = run_conv_transpose;
    p->reads = 1;
    return prepare_scratch(p, PANEL_DEPTH * TILE_COLUMNS + (c->rows + TILE_ROWS) * TILE_COLUMNS);
}
