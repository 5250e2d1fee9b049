/* SPDX-License-Identifier: MIT */
/*
 * Tables by channel that are lines, as those of a batch norm or of a factor for each channel. As a factor and an offset they take a
 * thirtieth of the room. They are tried on all 256 bytes: a step computes what the tables hold, or they stay.
 */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

/* Of floats. Bytes have those of their type. */
struct limits {
    float low, high;
};

/* Where there is no other table before. */
void set_line(struct lowering *l, const struct meaning *before, struct onnx_value *value, const float *scale, const float *offset) {
    struct meaning made = *meaning_of(l, value);
    if (before->table) return;
    made.line_scale = scale;
    made.line_offset = offset;
    meaning_set(l, value, made);
}

/* What the runtime gives for a byte on the line of channel c, as a byte or as a float within limits. */
static bool is_on_line(const struct meaning *m, const struct net_buffer *in, const struct net_buffer *out, const void *table,
                       const struct limits *limits, uint32_t c, uint32_t b) {
    int32_t q = in->type == MORSEL_INT8 ? (int8_t)b : (int32_t)b;
    float x = (float)(q - in->zero) * in->scale, scaled = x * m->line_scale[c], y = scaled + m->line_offset[c];
    if (out->type == MORSEL_FLOAT32) return ((const float *)table)[c * 256 + b] == fminf(fmaxf(y, limits->low), limits->high);
    struct quantization to = {.type = out->type, .scale = out->scale, .zero = out->zero};
    return ((const uint8_t *)table)[c * 256 + b] == (uint8_t)quantize_value(y, &to);
}

static bool is_line(const struct meaning *m, const struct net_buffer *in, const struct net_buffer *out, const void *table,
                    const struct limits *limits) {
    for (uint32_t c = 0; c < m->table_channels; c++) {
        if (!isfinite(m->line_scale[c]) || !isfinite(m->line_offset[c])) return false; /* a table may hold what a NaN becomes */
        for (uint32_t b = 0; b < 256; b++)
            if (!is_on_line(m, in, out, table, limits, c, b)) return false;
    }
    return true;
}

/* The lowest and the highest number of tables of floats. */
static struct limits ends_of(const float *table, size_t count) {
    struct limits ends = {INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        ends.low = fminf(ends.low, table[i]);
        ends.high = fmaxf(ends.high, table[i]);
    }
    return ends;
}

/* Whether scale and offset give a channel's table from bytes as integers. */
static bool gives_table(const struct net_buffer *in, const struct net_buffer *out, const uint8_t *table, float scale, float offset) {
    const struct quantization integers = {.type = out->type, .scale = 1};
    for (int b = 0; b < 256; b++) {
        float product = (float)(in->type == MORSEL_INT8 ? (int8_t)b : b) * scale;
        if (table[b] != (uint8_t)quantize_value(product + offset, &integers)) return false;
    }
    return true;
}

/* A number and those beside it: 0, +1, -1, +2, -2 .. */
static float neighbour(float v, int number) {
    for (int i = 0; i < (number + 1) / 2; i++) v = nextafterf(v, number % 2 ? INFINITY : -INFINITY);
    return v;
}

/* The constants of QAFFINE for one channel: what it rounds differently than the line, its neighbours may not. */
static bool integer_line(const struct net_buffer *in, const struct net_buffer *out, const uint8_t *table, float *scale, float *offset) {
    const double s = (double)*scale * (double)in->scale / (double)out->scale;
    const float slope = (float)s, at_zero = (float)((double)*offset / (double)out->scale + out->zero - s * in->zero);
    for (int i = 0; i < 25 && isfinite(slope) && isfinite(at_zero); i++) {
        *scale = neighbour(slope, i / 5);
        *offset = neighbour(at_zero, i % 5);
        if (gives_table(in, out, table, *scale, *offset)) return true;
    }
    return false;
}

/* Numbers that constants by channel may be repeated to: 4 KB of a scale and an offset each. */
enum { MOST_REPEATED = 512, VECTOR = 32 };

/* How often a pixel's constants stand behind each other: so often that pixels are whole vectors, or nearly, and as many as a row has, which
 * may be taken by itself. */
static uint32_t pixels_together(const struct net_buffer *in, uint32_t channels) {
    const uint32_t wide = in->rank == 4 && in->dims[3] == channels ? in->dims[2] : 1;
    uint32_t most = 1;
    for (uint32_t n = 1; n <= wide && n * channels <= MOST_REPEATED; n++) {
        if (wide % n) continue;
        most = n;
        if (n * channels % VECTOR == 0) break;
    }
    return most;
}

void line_constants(struct lowering *l, struct net_step *step, const float *scale, const float *offset) {
    struct morsel_blob_unary *p = &step->parameters.unary;
    const uint32_t channels = p->channels, times = pixels_together(step->inputs[0], channels);
    float *scales = net_alloc(l->net, (size_t)times * channels * sizeof *scales),
          *offsets = net_alloc(l->net, (size_t)times * channels * sizeof *offsets);
    for (uint32_t i = 0; i < times * channels; i++) scales[i] = scale[i % channels], offsets[i] = offset[i % channels];
    p->channels = times * channels;
    net_add_constant(step, scales, p->channels * sizeof *scales, offsetof(struct morsel_blob_unary, affine_scale));
    net_add_constant(step, offsets, p->channels * sizeof *offsets, offsetof(struct morsel_blob_unary, affine_offset));
}

struct net_step *add_line(struct lowering *l, struct onnx_node *node, const struct meaning *m, struct net_buffer *in,
                          struct net_buffer *out, const void *table) {
    struct limits limits = {-INFINITY, INFINITY};
    struct net_buffer *whole = out;
    if (m->table_channels < 2) return NULL;
    if (!is_line(m, in, out, table, &limits)) {
        if (out->type != MORSEL_FLOAT32) return NULL;
        limits = ends_of(table, m->table_channels * (size_t)256);
        if (!is_line(m, in, out, table, &limits)) return NULL;
        whole = net_add_like(l->net, out, MORSEL_FLOAT32, net_text(l->net, "%s/line", out->name));
    }
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_UNARY, node->name, in, NULL, whole);
    uint32_t channels = m->table_channels;
    size_t bytes = channels * sizeof(float);
    float *scale = net_alloc(l->net, bytes), *offset = net_alloc(l->net, bytes);
    bool integers = out->type != MORSEL_FLOAT32;
    memcpy(scale, m->line_scale, bytes);
    memcpy(offset, m->line_offset, bytes);
    for (uint32_t c = 0; integers && c < channels; c++)
        integers = integer_line(in, out, (const uint8_t *)table + (size_t)c * 256, scale + c, offset + c);
    step->parameters.unary = (struct morsel_blob_unary){.op = integers ? MORSEL_UNARY_QAFFINE : MORSEL_UNARY_AFFINE,
                                                        .count = net_elements(in),
                                                        .channels = channels};
    line_constants(l, step, integers ? scale : m->line_scale, integers ? offset : m->line_offset);
    if (whole == out) return step;
    step = net_add_step(l->net, MORSEL_STEP_UNARY, node->name, whole, NULL, out);
    step->parameters.unary = (struct morsel_blob_unary){
        .op = MORSEL_UNARY_CLIP, .count = net_elements(in), .alpha = limits.low, .beta = limits.high, .channels = 1};
    return step;
}
