/* SPDX-License-Identifier: MIT */
/* Sound blobs by chance: one step of each kind. */
#ifndef MORSEL_TEST_SEED_STEPS_H
#define MORSEL_TEST_SEED_STEPS_H

#include "seed_parts.h"

/* A step that reads x so many times and writes y. */
static struct morsel_blob_step *seed_step(struct seed_blob *b, uint32_t kind, const void *record, uint32_t bytes, uint32_t x,
                                          uint32_t reads, uint32_t y) {
    uint32_t index = b->step_count++;
    struct morsel_blob_step *step = &b->steps[index];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->first_operand = b->operand_count;
    step->parameters = 4 * b->word_count; /* from the start of the section, until the blob is laid out */
    step->input_count = reads;
    step->output_count = 1;
    memcpy(b->words + b->word_count, record, bytes);
    b->word_count += bytes / 4;
    for (uint32_t n = 0; n < reads; n++) b->operands[b->operand_count++] = x;
    b->operands[b->operand_count++] = y;
    b->tensors[x].last_step = b->tensors[y].first_step = b->tensors[y].last_step = index;
    return step;
}

/* A tensor of x's dimensions. */
static uint32_t seed_like(struct seed_blob *b, uint32_t x, uint32_t type) {
    struct morsel_blob_tensor in = b->tensors[x];
    return seed_tensor(b, type, in.dims[0], in.dims[1], in.dims[2], in.dims[3]);
}

/* The whole range of y's type, or a part of it. */
static void seed_limits(struct seed_blob *b, uint32_t y, int32_t *low, int32_t *high) {
    int32_t least = b->tensors[y].type == MORSEL_INT8 ? -128 : 0;
    *low = least + (seed_chance(b, 3) ? (int32_t)fuzz_below(&b->random, 100) : 0);
    *high = least + 255 - (seed_chance(b, 3) ? (int32_t)fuzz_below(&b->random, 100) : 0);
}

struct seed_axis {
    uint32_t kernel, stride, dilation, pad_begin, pad_end, out;
};

static struct seed_axis seed_window(struct seed_blob *b, uint32_t in, int dilates) {
    struct seed_axis a = {seed_from(b, 1, 4), seed_from(b, 1, 3), dilates ? seed_from(b, 1, 2) : 1,
                          seed_from(b, 0, 2), seed_from(b, 0, 2), 0};
    uint32_t reach = (a.kernel - 1) * a.dilation + 1;
    if (in + a.pad_begin + a.pad_end < reach) {
        struct seed_axis plain = {1, 1, 1, 0, 0, in};
        return plain;
    }
    a.out = (in + a.pad_begin + a.pad_end - reach) / a.stride + 1;
    return a;
}

static struct morsel_blob_window seed_record(const struct seed_axis *v, const struct seed_axis *h) {
    struct morsel_blob_window w = {v->kernel,   h->kernel,    v->stride,    h->stride,  v->dilation,
                                   h->dilation, v->pad_begin, h->pad_begin, v->pad_end, h->pad_end};
    return w;
}

static void seed_conv(struct seed_blob *b, uint32_t kind) {
    uint32_t x = seed_pick(b, 0), deep = kind == MORSEL_STEP_DEPTHWISE;
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t c = in.dims[3],
             groups = deep                              ? c
                      : c % 2 == 0 && seed_chance(b, 2) ? 2
                                                        : 1,
             out = deep ? c : groups * seed_from(b, 1, 20 / groups);
    struct seed_axis v = seed_window(b, in.dims[1], 1), h = seed_window(b, in.dims[2], 1);
    struct seed_weights w = {1, c, h.kernel, v.kernel, 0, 0, 0, 0};
    struct seed_weights plain = {groups, out / groups, v.kernel, h.kernel * (c / groups), 0, 0, 0, 0};
    if (!deep) w = plain;
    seed_fill_weights(b, &w);
    uint32_t y = seed_tensor(b, seed_type(b, 1), in.dims[0], v.out, h.out, out);
    struct morsel_blob_conv p = {
        .groups = groups, .sums = {.weights = w.weights, .weight_sum = w.sum, .weight_zero = w.zero, .float_min = -5, .float_max = 5}};
    p.sums.bias = seed_integers(b, w.entries, -999, 999);
    p.sums.multiplier = seed_floats(b, w.entries, 0, 0.01f);
    p.sums.float_bias = seed_chance(b, 2) ? seed_floats(b, w.entries, -3, 3) : 0;
    p.window = seed_record(&v, &h);
    seed_limits(b, y, &p.sums.out_min, &p.sums.out_max);
    struct morsel_blob_step *step = seed_step(b, kind, &p, sizeof p, x, 1, y);
    if (!v.pad_begin && !v.pad_end) return;
    step->scratch_offset = b->arena_bytes;
    step->scratch_bytes = seed_round(in.dims[2] * c, 4);
    b->arena_bytes += seed_round(step->scratch_bytes, 64);
}

/* Float weights, of 32 bits or of 16; groups of any size, and a channel for each. */
static void seed_float_conv(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1), half = seed_chance(b, 2);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t c = in.dims[3], groups = seed_chance(b, 3) ? c : c % 2 == 0 && seed_chance(b, 2) ? 2 : 1;
    uint32_t out = groups == c && seed_chance(b, 2) ? c : groups * seed_from(b, 1, groups > 6 ? 1 : 12 / groups);
    struct seed_axis v = seed_window(b, in.dims[1], 1), h = seed_window(b, in.dims[2], 1);
    uint32_t count = seed_round(out, 8) * v.kernel * h.kernel * (c / groups);
    uint32_t y = seed_tensor(b, seed_type(b, 1), in.dims[0], v.out, h.out, out);
    struct morsel_blob_float_conv p = {.groups = groups, .float_min = -5, .float_max = 5, .weights_half = half};
    p.weights = half ? seed_integers(b, count / 2, 0, 0x7bff) : seed_floats(b, count, -1, 1);
    p.bias = seed_chance(b, 2) ? seed_floats(b, seed_round(out, 8), -3, 3) : 0;
    p.window = seed_record(&v, &h);
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, MORSEL_STEP_FLOAT_CONV, &p, sizeof p, x, 1, y);
}

static void seed_pool(struct seed_blob *b, uint32_t kind) {
    uint32_t x = seed_pick(b, 1);
    struct morsel_blob_tensor in = b->tensors[x];
    struct seed_axis v = seed_window(b, in.dims[1], kind == MORSEL_STEP_MAX_POOL),
                     h = seed_window(b, in.dims[2], kind == MORSEL_STEP_MAX_POOL);
    uint32_t y = seed_tensor(b, in.type, in.dims[0], v.out, h.out, in.dims[3]);
    struct morsel_blob_pool p = {.count_include_pad = fuzz_below(&b->random, 2)};
    p.window = seed_record(&v, &h);
    if (kind == MORSEL_STEP_MAX_POOL) b->tensors[y].scale = in.scale, b->tensors[y].zero_point = in.zero_point;
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, kind, &p, sizeof p, x, 1, y);
}

static void seed_fc(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 0), rows = b->tensors[x].dims[0], inputs = seed_elements(&b->tensors[x]) / rows,
             outputs = seed_from(b, 1, 40);
    struct seed_weights w = {1, outputs, 1, inputs, 0, 0, 0, 0};
    seed_fill_weights(b, &w);
    uint32_t y = seed_tensor(b, seed_type(b, 1), rows, 1, 1, outputs);
    struct morsel_blob_fc p = {rows,
                               inputs,
                               outputs,
                               {w.weights, seed_integers(b, w.entries, -999, 999), seed_floats(b, w.entries, 0, 0.01f), w.sum, w.zero,
                                seed_chance(b, 2) ? seed_floats(b, w.entries, -3, 3) : 0, 0, 0, -5, 5, 0}};
    seed_limits(b, y, &p.sums.out_min, &p.sums.out_max);
    seed_step(b, MORSEL_STEP_FC, &p, sizeof p, x, 1, y);
}

/* x [elements / inner, inner] with itself seen as [inner, elements / inner]. */
static void seed_matmul(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 0), inner = b->tensors[x].dims[3], rows = seed_elements(&b->tensors[x]) / inner;
    if (rows > 100) return;
    uint32_t y = seed_tensor(b, seed_type(b, 1), 1, 1, rows, rows);
    struct morsel_blob_matmul p = {1, rows, inner, rows, 1, 1, 1, 1, 0.001f, 0, 0, -5, 5};
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, MORSEL_STEP_MATMUL, &p, sizeof p, x, 2, y);
}

/* Rows of a picture's channels with themselves, transposed where they lie, or with its rows. */
static void seed_view_matmul(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 0), turned = seed_chance(b, 2);
    const struct morsel_blob_tensor in = b->tensors[x];
    const uint32_t *d = in.dims, row = d[3], middle = d[2] * row, outer = d[1] * middle;
    const int apart = row % 4 == 0 && seed_chance(b, 2);
    struct morsel_blob_view_matmul p = {{.dims = {d[0], d[1], d[2], apart ? d[2] : 1},
                                         .inner = d[3],
                                         .turned = turned,
                                         .a_stride = {outer, middle, row},
                                         .b_stride = {outer, middle, 1, apart ? row : 1},
                                         .factor = 0.001f,
                                         .float_min = -5,
                                         .float_max = 5},
                                        0,
                                        0};
    uint32_t y = seed_tensor(b, seed_type(b, 1), d[0], turned ? d[2] : d[1], turned ? d[1] : d[2], p.product.dims[3]);
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, MORSEL_STEP_VIEW_MATMUL, &p, sizeof p, x, 2, y);
}

/* y has x's shape; the second operand is x itself, or x's last pixel repeated. */
static void seed_binary(struct seed_blob *b) {
    uint32_t op = seed_from(b, 1, MORSEL_BINARY_OP_COUNT - 1), q = op <= MORSEL_BINARY_QMUL, x = seed_pick(b, !q);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t y = seed_like(b, x, seed_type(b, !q));
    uint32_t pixel = in.dims[3], image = pixel * in.dims[1] * in.dims[2], repeats = seed_chance(b, 2);
    struct morsel_blob_binary p = {op,
                                   4,
                                   {in.dims[0], in.dims[1], in.dims[2], pixel, 1, 1},
                                   {image, in.dims[2] * pixel, pixel, 1, 0, 0},
                                   {image, in.dims[2] * pixel, pixel, 1, 0, 0},
                                   seed_float(b, 2),
                                   seed_float(b, 2),
                                   seed_float(b, 99),
                                   0,
                                   0,
                                   -9,
                                   9};
    if (repeats) p.b_stride[0] = p.b_stride[1] = p.b_stride[2] = 0;
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, MORSEL_STEP_BINARY, &p, sizeof p, x, 2, y);
}

/* Steps by element or by line may write over their input where nobody else has read it, or will. */
static void seed_in_place(struct seed_blob *b, uint32_t x, uint32_t y) {
    struct morsel_blob_tensor *old = &b->tensors[x], *new = &b->tensors[y];
    if (x + 2 != b->tensor_count || old->bytes != new->bytes || seed_chance(b, 2)) return;
    new->offset = old->offset;
    old->layout |= SEED_GONE;
}

static void seed_unary(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t y = seed_like(b, x, seed_type(b, 1));
    uint32_t bytes = in.type != MORSEL_FLOAT32 && b->tensors[y].type != MORSEL_FLOAT32;
    struct morsel_blob_unary p = {fuzz_below(&b->random, bytes ? MORSEL_UNARY_OP_COUNT : MORSEL_UNARY_QAFFINE),
                                  seed_elements(&in),
                                  seed_float(b, 2),
                                  seed_float(b, 2),
                                  in.dims[3],
                                  seed_floats(b, in.dims[3], -2, 2),
                                  seed_floats(b, in.dims[3], -2, 2)};
    seed_step(b, MORSEL_STEP_UNARY, &p, sizeof p, x, 1, y);
    seed_in_place(b, x, y);
}

static void seed_lut(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 0);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t y = seed_like(b, x, seed_type(b, 1)), channels = seed_chance(b, 2) ? 1 : in.dims[3];
    int floats = b->tensors[y].type == MORSEL_FLOAT32;
    struct morsel_blob_lut p = {seed_elements(&in), channels, seed_from(b, 1, 3),
                                floats ? seed_floats(b, 256 * channels, -9, 9) : seed_bytes(b, 256 * channels)};
    seed_step(b, MORSEL_STEP_LUT, &p, sizeof p, x, 1, y);
    seed_in_place(b, x, y);
}

static void seed_mean(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t y = seed_tensor(b, seed_type(b, 1), in.dims[0], 1, 1, in.dims[3]);
    struct morsel_blob_mean p = {in.dims[0], in.dims[1] * in.dims[2], in.dims[3], 0.02f, 0, 0};
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, MORSEL_STEP_MEAN, &p, sizeof p, x, 1, y);
}

static void seed_softmax(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t y = seed_like(b, x, seed_type(b, 1));
    struct morsel_blob_softmax p = {in.dims[0] * in.dims[1], in.dims[2], in.dims[3], 0};
    if (seed_is_byte(&in) && seed_is_byte(&b->tensors[y]) && seed_chance(b, 2)) p.table = seed_floats(b, 256, 0, 1000);
    seed_step(b, MORSEL_STEP_SOFTMAX, &p, sizeof p, x, 1, y);
    seed_in_place(b, x, y);
}

static void seed_layer_norm(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t y = seed_like(b, x, seed_type(b, 1));
    struct morsel_blob_layer_norm p = {.lines = seed_elements(&in) / in.dims[3], .count = in.dims[3], .float_min = -9, .float_max = 9};
    p.centred = seed_chance(b, 2);
    p.epsilon = seed_chance(b, 4) ? 0 : 1e-5f;
    if (seed_chance(b, 2)) p.factor = seed_floats(b, p.count, -2, 2);
    if (seed_chance(b, 2)) p.term = seed_floats(b, p.count, -2, 2);
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, MORSEL_STEP_LAYER_NORM, &p, sizeof p, x, 1, y);
    seed_in_place(b, x, y);
}

static uint32_t seed_positions(struct seed_blob *b, uint32_t count, uint32_t n) {
    return seed_floats(b, count, 0, (float)(n - 1));
}

static void seed_resize(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1);
    struct morsel_blob_tensor in = b->tensors[x];
    uint32_t h = seed_from(b, 1, 6), w = seed_from(b, 1, 6), y = seed_tensor(b, seed_type(b, 1), in.dims[0], h, w, in.dims[3]);
    struct morsel_blob_resize p = {.truncate = seed_chance(b, 3), .float_min = -9, .float_max = 9};
    p.rows = seed_positions(b, h, in.dims[1]);
    p.columns = seed_positions(b, w, in.dims[2]);
    seed_limits(b, y, &p.out_min, &p.out_max);
    seed_step(b, MORSEL_STEP_RESIZE, &p, sizeof p, x, 1, y);
}

static void seed_concat(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1), pixel = b->tensors[x].dims[3], outer = seed_elements(&b->tensors[x]) / pixel;
    uint32_t y = seed_tensor(b, b->tensors[x].type, 1, 1, outer, 2 * pixel), record[3] = {outer, pixel, pixel};
    seed_step(b, MORSEL_STEP_CONCAT, record, sizeof record, x, 2, y);
}

/* Channels in another order and with a hole, pixels as they are. */
static void seed_gather(struct seed_blob *b) {
    uint32_t x = seed_pick(b, 1), pixel = b->tensors[x].dims[3], outer = seed_elements(&b->tensors[x]) / pixel, kept = seed_from(b, 1, 9);
    uint32_t y = seed_tensor(b, b->tensors[x].type, 1, 1, outer, kept), table = seed_integers(b, outer + kept, -1, (int32_t)pixel - 1);
    for (uint32_t i = 0; table && i < outer; i++) {
        int32_t start = (int32_t)(i * pixel);
        memcpy(b->data + table - DATA_START + 4 * i, &start, 4);
    }
    struct morsel_blob_gather p = {2, {outer, kept, 1, 1, 1, 1}, table, 7};
    seed_step(b, MORSEL_STEP_GATHER, &p, sizeof p, x, 1, y);
}

/* Of integers by chance, which lines they are, or what floats. Nobody else reads them. */
static uint32_t seed_indices(struct seed_blob *b) {
    uint32_t x = seed_tensor(b, MORSEL_INT32, 1, 1, seed_from(b, 1, 3), seed_from(b, 1, 6));
    b->tensors[x].layout |= SEED_GONE;
    return x;
}

static void seed_lookup(struct seed_blob *b) {
    uint32_t x = seed_indices(b), rows = seed_from(b, 1, 12), width = seed_from(b, 1, 9);
    if (seed_chance(b, 3)) b->tensors[x].type = MORSEL_FLOAT32;
    uint32_t y = seed_tensor(b, seed_type(b, 1), 1, b->tensors[x].dims[2], b->tensors[x].dims[3], width);
    int floats = b->tensors[y].type == MORSEL_FLOAT32;
    struct morsel_blob_lookup p = {rows, width, floats ? seed_floats(b, rows * width, -9, 9) : seed_bytes(b, rows * width)};
    seed_step(b, MORSEL_STEP_LOOKUP, &p, sizeof p, x, 1, y);
}

static void seed_cast(struct seed_blob *b) {
    uint32_t x = seed_indices(b), y = seed_like(b, x, MORSEL_FLOAT32);
    struct morsel_blob_cast p = {seed_elements(&b->tensors[x])};
    seed_step(b, MORSEL_STEP_CAST, &p, sizeof p, x, 1, y);
}

static void seed_any_step(struct seed_blob *b, uint32_t kind) {
    switch (kind) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_DEPTHWISE: seed_conv(b, kind); break;
    case MORSEL_STEP_FLOAT_CONV: seed_float_conv(b); break;
    case MORSEL_STEP_FC: seed_fc(b); break;
    case MORSEL_STEP_MATMUL: seed_matmul(b); break;
    case MORSEL_STEP_VIEW_MATMUL: seed_view_matmul(b); break;
    case MORSEL_STEP_BINARY: seed_binary(b); break;
    case MORSEL_STEP_UNARY: seed_unary(b); break;
    case MORSEL_STEP_LUT: seed_lut(b); break;
    case MORSEL_STEP_AVERAGE_POOL:
    case MORSEL_STEP_MAX_POOL: seed_pool(b, kind); break;
    case MORSEL_STEP_MEAN: seed_mean(b); break;
    case MORSEL_STEP_SOFTMAX: seed_softmax(b); break;
    case MORSEL_STEP_LAYER_NORM: seed_layer_norm(b); break;
    case MORSEL_STEP_RESIZE: seed_resize(b); break;
    case MORSEL_STEP_CONCAT: seed_concat(b); break;
    case MORSEL_STEP_LOOKUP: seed_lookup(b); break;
    case MORSEL_STEP_CAST: seed_cast(b); break;
    default: seed_gather(b); break;
    }
}

#endif
