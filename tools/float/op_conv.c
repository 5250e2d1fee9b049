/* SPDX-License-Identifier: MIT */
/*
 * Conv and com.microsoft FusedConv, in one and two dimensions. Three ways, by shape: each channel for itself (depthwise) over planes;
 * few results per channel as products of a vector with packed panels of weights; all else in tiles of 8 channels by 32 neighbouring
 * pixels, whose inputs are packed into a panel on the way.
 */
#include "tools/float/activate.h"
#include "tools/float/planes.h"
#include "tools/float/product.h"

#include <string.h>

enum { FEW_PIXELS = 4 };

struct conv {
    const struct loops *loops;
    int64_t batch, in_channels, channels, groups;
    struct geometry g;
    struct planes planes;  /* depthwise */
    int64_t pixels, depth; /* results of a channel; products of a result */
    size_t group_weights;
    const float *weights, *bias; /* packed; one for each channel, filled up to whole tiles within each group */
    struct activation activation;
    bool direct; /* a panel's rows are the input's own */
};

/* ---- tiles ---- */

/* Row `k` of a panel: the inputs that pixels first..first+count-1 multiply with weight k. */
static void panel_row(const struct geometry *g, const float *x, int64_t k, int64_t first, int64_t count, float *to) {
    int64_t area = g->kernel_height * g->kernel_width, ky = k % area / g->kernel_width, kx = k % g->kernel_width;
    const float *channel = x + k / area * g->height * g->width;
    int64_t oy = first / g->out_width, ox = first % g->out_width;
    for (int64_t done = 0; done < count; oy++, ox = 0) {
        int64_t run = g->out_width - ox < count - done ? g->out_width - ox : count - done;
        int64_t iy = oy * g->stride_y + ky * g->dilation_y - g->top, ix = ox * g->stride_x + kx * g->dilation_x - g->left;
        const float *row = iy >= 0 && iy < g->height ? channel + iy * g->width : NULL;
        if (row && g->stride_x == 1 && ix >= 0 && ix + run <= g->width) memcpy(to + done, row + ix, (size_t)run * sizeof *to);
        else
            for (int64_t i = 0; i < run; i++, ix += g->stride_x) to[done + i] = row && ix >= 0 && ix < g->width ? row[ix] : 0;
        done += run;
    }
}

static void fill_panel(const struct conv *c, const float *x, int64_t k, int64_t depth, int64_t first, int64_t count, float *panel) {
    for (int64_t i = 0; i < depth; i++, panel += TILE_COLUMNS) {
        if (c->direct) memcpy(panel, x + (k + i) * c->pixels + first, (size_t)count * sizeof *panel);
        else panel_row(&c->g, x, k + i, first, count, panel);
        memset(panel + count, 0, (size_t)(TILE_COLUMNS - count) * sizeof *panel);
    }
}

static void tiles_group(const struct conv *c, const float *x, const float *weights, const float *bias, float *y, float *panel) {
    int64_t channels = c->channels / c->groups;
    for (int64_t first = 0; first < c->pixels; first += TILE_COLUMNS) {
        int64_t count = c->pixels - first < TILE_COLUMNS ? c->pixels - first : TILE_COLUMNS;
        for (int64_t k = 0; k < c->depth; k += PANEL_DEPTH) {
            int64_t depth = c->depth - k < PANEL_DEPTH ? c->depth - k : PANEL_DEPTH;
            fill_panel(c, x, k, depth, first, count, panel);
            for (int64_t m = 0; m < channels; m += TILE_ROWS)
                product_tile(c->loops, weights + m * c->depth + k * TILE_ROWS, panel, (size_t)depth, y + m * c->pixels + first,
                             (size_t)c->pixels, (int)(channels - m < TILE_ROWS ? channels - m : TILE_ROWS), (int)count,
                             k ? NULL : bias + m);
        }
    }
}

/* ---- a vector for each pixel ---- */

static void vectors_group(const struct conv *c, const float *x, const float *weights, const float *bias, float *y, float *scratch) {
    int64_t channels = c->channels / c->groups;
    float *pixel = scratch, *result = scratch + c->depth;
    for (int64_t i = 0; i < c->pixels; i++) {
        for (int64_t k = 0; k < c->depth; k++)
            if (c->direct) pixel[k] = x[k * c->pixels + i];
            else panel_row(&c->g, x, k, i, 1, &pixel[k]);
        product_vector(c->loops, pixel, 1, weights, (size_t)c->depth, result, (size_t)channels);
        for (int64_t m = 0; m < channels; m++) y[m * c->pixels + i] = result[m] + bias[m];
    }
}

static void run_products(const void *plan, const struct call *call) {
    const struct conv *c = plan;
    int64_t in = c->in_channels * c->g.height * c->g.width, out = c->channels * c->pixels, channels = c->channels / c->groups;
    int64_t biases = (channels + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    for (int64_t n = 0; n < c->batch; n++) {
        for (int64_t g = 0; g < c->groups; g++) {
            const float *x = call->in[0] + n * in + g * (in / c->groups), *weights = c->weights + (size_t)g * c->group_weights;
            float *y = call->out[0] + n * out + g * (out / c->groups);
            if (c->pixels <= FEW_PIXELS) vectors_group(c, x, weights, c->bias + g * biases, y, call->scratch);
            else tiles_group(c, x, weights, c->bias + g * biases, y, call->scratch);
        }
    }
    activate(&c->activation, c->activation.adds ? call->in[3] : NULL, call->out[0], (size_t)(c->batch * out));
}

/* ---- depthwise ---- */

static void run_depthwise(const void *plan, const struct call *call) {
    const struct conv *c = plan;
    int64_t multiplier = c->channels / c->groups, area = c->g.height * c->g.width;
    for (int64_t i = 0; i < c->batch * c->groups; i++) {
        const float *const *taps = planes_cut(&c->planes, call->in[0] + i * area, 0, call->scratch);
        float *line = planes_line(&c->planes, call->scratch);
        for (int64_t m = 0; m < multiplier; m++) {
            int64_t channel = i % c->groups * multiplier + m;
            c->loops->taps(taps, c->weights + channel * c->depth, c->planes.taps, c->bias[channel], line, c->planes.line);
            planes_collect(&c->planes, line, call->out[0] + (i * multiplier + m) * c->pixels);
        }
    }
    activate(&c->activation, c->activation.adds ? call->in[3] : NULL, call->out[0], (size_t)(c->batch * c->channels * c->pixels));
}

/* ---- preparation ---- */

static bool prepare_products(struct preparation *p, struct conv *c, const float *weights) {
    int64_t channels = c->channels / c->groups;
    bool few = c->pixels <= FEW_PIXELS;
    c->group_weights = few ? packed_panels_floats(c->depth, channels) : packed_rows_floats(channels, c->depth);
    float *packed = prepare_alloc(p, c->group_weights * (size_t)c->groups * sizeof *packed);
    for (int64_t g = 0; g < c->groups; g++) {
        const float *from = weights + g * channels * c->depth;
        if (few) pack_panels(&(struct matrix){from, c->depth, channels, 1, c->depth}, packed + (size_t)g * c->group_weights);
        else pack_rows(&(struct matrix){from, channels, c->depth, c->depth, 1}, packed + (size_t)g * c->group_weights);
    }
    c->weights = packed;
    p->step->run = run_products;
    return prepare_scratch(p, few ? c->depth + channels : PANEL_DEPTH * TILE_COLUMNS);
}

/* Zeros where there is none; each group's filled up to whole tiles. */
static bool prepare_bias(struct preparation *p, struct conv *c) {
    int64_t channels = c->channels / c->groups;
    int64_t step = p->step->run == run_depthwise ? channels : (channels + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    const float *given = prepare_constant(p, 2);
    float *bias = prepare_alloc(p, (size_t)(step * c->groups) * sizeof *bias);
    if (onnx_input(p->node, 2) && !given) return cannot(p, "its bias is not constant");
    for (int64_t i = 0; i < c->channels && given; i++) bias[i / channels * step + i % channels] = given[i];
    c->bias = bias;
    return true;
}

bool prepare_conv(struct preparation *p) {
    const float *weights = prepare_constant(p, 1);
    const struct onnx_shape *x = shape_in(p, 0), *w = shape_in(p, 1);
    struct onnx_window window;
    struct conv *c = prepare_alloc(p, sizeof *c);
    if (!weights) return cannot(p, "its weights are not constant");
    if (!geometry_read(p, w->dims + 2, &window, &c->g) || !activation_read(p, &c->activation)) return false;
    const struct geometry *g = &c->g;
    c->loops = loops_here();
    c->batch = x->dims[0];
    c->in_channels = x->dims[1];
    c->channels = w->dims[0];
    c->groups = onnx_attribute_int(p->node, "group", 1);
    c->pixels = g->out_height * g->out_width;
    c->depth = w->dims[1] * g->kernel_height * g->kernel_width;
    c->direct = g->kernel_height * g->kernel_width == 1 && g->stride_x == 1 && g->stride_y == 1 && g->out_width == g->width &&
                g->out_height == g->height && !g->left && !g->top;
    p->step->run = run_depthwise;
    p->step->plan = c;
    p->reads = c->activation.adds ? 4 : 1;
    c->weights = weights;
    bool depthwise = w->dims[1] == 1 && c->groups > 1;
    return (depthwise ? planes_prepare(p, g, &c->planes) : prepare_products(p, c, weights)) && prepare_bias(p, c);
}
