/* SPDX-License-Identifier: MIT */
/* Layers with random weights, whose scales keep activations within their bytes. */
#include "tools/net/nets_build.h"

#include <math.h>
#include <string.h>

#define SCALE 0.02f /* of every activation */

static uint32_t up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

/* A linear congruence (Knuth's MMIX); the high bits. */
static uint32_t next(struct maker *m) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->state >> 40);
}

static struct net_buffer *add_buffer(struct maker *m, uint32_t rank, const uint32_t *dims, enum activation activation, const char *what) {
    const char *name = net_text(m->net, "%s%u", what, m->layers);
    struct net_buffer *y = net_add_buffer(m->net, MORSEL_UINT8, rank == 4 ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR, rank, dims, name);
    y->scale = SCALE;
    y->zero = activation == RELU ? 0 : 128;
    y->qualified = true;
    return y;
}

static struct net_step *add_step(struct maker *m, enum morsel_step_kind kind, struct net_buffer *a, struct net_buffer *b,
                                 struct net_buffer *y) {
    m->layers++;
    return net_add_step(m->net, kind, y->name, a, b, y);
}

static void add_io(struct maker *m, bool output, struct net_buffer *buffer) {
    struct net_io io = {.buffer = buffer, .onnx_type = MORSEL_FLOAT32, .onnx_rank = buffer->rank, .name = buffer->name};
    memcpy(io.onnx_dims, buffer->dims, sizeof io.onnx_dims);
    if (buffer->rank == 4) {
        io.onnx_dims[1] = buffer->dims[3];
        io.onnx_dims[2] = buffer->dims[1];
        io.onnx_dims[3] = buffer->dims[2];
    }
    net_add_io(m->net, output, io);
}

void make_start(struct maker *m, const char *name) {
    *m = (struct maker){.net = net_new(name), .state = 1};
}

struct net_buffer *make_picture(struct maker *m, uint32_t h, uint32_t w, uint32_t c) {
    struct net_buffer *x = add_buffer(m, 4, (uint32_t[]){1, h, w, c}, PLAIN, "input");
    add_io(m, false, x);
    return x;
}

struct net_buffer *make_vector(struct maker *m, uint32_t n) {
    struct net_buffer *x = add_buffer(m, 2, (uint32_t[]){1, n}, PLAIN, "input");
    add_io(m, false, x);
    return x;
}

void make_end(struct maker *m, struct net_buffer *y) {
    add_io(m, true, y);
}

/* ---- weights ---- */

/* A layer's packed weights: `channels` of `taps` stored ones, of which row_used of every `row` are real. */
struct layer {
    uint32_t channels, taps, row, row_used;
};

/* Weights of -127..127, and multipliers that keep the values spread from layer to layer: with inputs of all sizes a sum deviates by about
 * 73 * 110 * sqrt(taps). */
static void add_weights(struct maker *m, struct net_step *step, const struct layer *layer) {
    uint32_t wide = up(layer->channels, 16);
    int8_t *w = net_alloc(m->net, (size_t)wide * layer->taps);
    int32_t *bias = net_alloc(m->net, wide * sizeof *bias), *sum = net_alloc(m->net, wide * sizeof *sum);
    float *multiplier = net_alloc(m->net, wide * sizeof *multiplier), deviation = 8030 * sqrtf((float)layer->taps);
    for (uint32_t c = 0; c < layer->channels; c++) {
        for (uint32_t k = 0; k < layer->taps; k++) {
            if (k % layer->row >= layer->row_used) continue;
            int8_t v = (int8_t)((int32_t)(next(m) % 255) - 127);
            w[((size_t)(c / 16) * (layer->taps / 4) + k / 4) * 64 + c % 16 * 4 + k % 4] = v;
            sum[c] += v;
        }
        bias[c] = (int32_t)(next(m) % 4096) - 2048;
        multiplier[c] = (120 + (float)(next(m) % 64)) / deviation;
    }
    size_t sums = net_sums(step);
    net_add_constant(step, w, (size_t)wide * layer->taps, sums + offsetof(struct morsel_blob_sums, weights));
    net_add_constant(step, bias, wide * sizeof *bias, sums + offsetof(struct morsel_blob_sums, bias));
    net_add_constant(step, multiplier, wide * sizeof *multiplier, sums + offsetof(struct morsel_blob_sums, multiplier));
    net_add_constant(step, sum, wide * sizeof *sum, sums + offsetof(struct morsel_blob_sums, weight_sum));
    net_add_proofs(m->net, step);
    m->net->parameter_count += (uint64_t)layer->channels * (layer->taps / layer->row * layer->row_used + 1);
}

static void pad(uint32_t in, uint32_t kernel, uint32_t stride, uint32_t *before, uint32_t *behind, uint32_t *out) {
    uint32_t least = ((in + stride - 1) / stride - 1) * stride + kernel, total = least > in ? least - in : 0;
    *before = kernel % 2 ? kernel / 2 : total / 2;
    *behind = kernel % 2 ? kernel / 2 : total - total / 2;
    *out = (in + *before + *behind - kernel) / stride + 1;
}

static struct net_step *add_window(struct maker *m, enum morsel_step_kind kind, struct net_buffer *x, uint32_t outputs,
                                   const uint32_t kernel[2], uint32_t stride, enum activation activation) {
    struct morsel_blob_conv p = {
        .window = {.kernel_h = kernel[0], .kernel_w = kernel[1], .stride_h = stride, .stride_w = stride, .dilation_h = 1, .dilation_w = 1},
        .groups = kind == MORSEL_STEP_DEPTHWISE ? outputs : 1,
        .sums = {.out_max = 255, .float_min = -INFINITY, .float_max = INFINITY}};
    uint32_t dims[4] = {x->dims[0], 0, 0, outputs};
    pad(x->dims[1], kernel[0], stride, &p.window.pad_top, &p.window.pad_bottom, &dims[1]);
    pad(x->dims[2], kernel[1], stride, &p.window.pad_left, &p.window.pad_right, &dims[2]);
    struct net_buffer *y = add_buffer(m, 4, dims, activation, kind == MORSEL_STEP_DEPTHWISE ? "depthwise" : "conv");
    struct net_step *step = add_step(m, kind, x, NULL, y);
    step->parameters.conv = p;
    if (p.window.pad_top || p.window.pad_bottom) step->scratch_bytes = up(x->dims[2] * x->dims[3], 4);
    step->macs = (uint64_t)net_elements(y) * (x->dims[3] / p.groups) * kernel[0] * kernel[1];
    return step;
}

struct net_buffer *make_conv(struct maker *m, struct net_buffer *x, uint32_t outputs, uint32_t kernel_h, uint32_t kernel_w, uint32_t stride,
                             enum activation activation) {
    struct net_step *step = add_window(m, MORSEL_STEP_CONV, x, outputs, (uint32_t[]){kernel_h, kernel_w}, stride, activation);
    uint32_t row = kernel_w * x->dims[3];
    add_weights(m, step, &(struct layer){outputs, kernel_h * up(row, 4), up(row, 4), row});
    return step->output;
}

struct net_buffer *make_depthwise(struct maker *m, struct net_buffer *x, uint32_t kernel, uint32_t stride, enum activation activation) {
    struct net_step *step = add_window(m, MORSEL_STEP_DEPTHWISE, x, x->dims[3], (uint32_t[]){kernel, kernel}, stride, activation);
    add_weights(m, step, &(struct layer){x->dims[3], kernel * up(kernel, 4), up(kernel, 4), kernel});
    return step->output;
}

struct net_buffer *make_fc(struct maker *m, struct net_buffer *x, uint32_t outputs, enum activation activation) {
    uint32_t inputs = net_elements(x);
    struct net_buffer *y = add_buffer(m, 2, (uint32_t[]){1, outputs}, activation, "fc");
    struct net_step *step = add_step(m, MORSEL_STEP_FC, x, NULL, y);
    step->parameters.fc = (struct morsel_blob_fc){.rows = 1,
                                                  .inputs = inputs,
                                                  .outputs = outputs,
                                                  .sums = {.out_max = 255, .float_min = -INFINITY, .float_max = INFINITY}};
    step->macs = (uint64_t)inputs * outputs;
    add_weights(m, step, &(struct layer){outputs, up(inputs, 4), up(inputs, 4), inputs});
    return y;
}

/* ---- without weights ---- */

struct net_buffer *make_sum(struct maker *m, struct net_buffer *a, struct net_buffer *b, enum activation activation) {
    struct net_buffer *y = add_buffer(m, 4, a->dims, activation, "add");
    struct net_step *step = add_step(m, MORSEL_STEP_BINARY, a, b, y);
    float ratio = 0.7f; /* a sum is wider than what it adds */
    step->parameters.binary = (struct morsel_blob_binary){.op = MORSEL_BINARY_QADD,
                                                          .rank = 1,
                                                          .dims = {net_elements(y), 1, 1, 1, 1, 1},
                                                          .a_stride = {1},
                                                          .b_stride = {1},
                                                          .a_ratio = ratio,
                                                          .b_ratio = ratio,
                                                          .offset = (float)y->zero - (ratio * (float)a->zero + ratio * (float)b->zero),
                                                          .out_max = 255,
                                                          .float_min = -INFINITY,
                                                          .float_max = INFINITY};
    return y;
}

struct net_buffer *make_max_pool(struct maker *m, struct net_buffer *x, uint32_t kernel, uint32_t stride) {
    struct morsel_blob_pool p = {
        .window = {.kernel_h = kernel, .kernel_w = kernel, .stride_h = stride, .stride_w = stride, .dilation_h = 1, .dilation_w = 1},
        .out_max = 255};
    uint32_t dims[4] = {x->dims[0], 0, 0, x->dims[3]};
    pad(x->dims[1], kernel, stride, &p.window.pad_top, &p.window.pad_bottom, &dims[1]);
    pad(x->dims[2], kernel, stride, &p.window.pad_left, &p.window.pad_right, &dims[2]);
    struct net_buffer *y = add_buffer(m, 4, dims, PLAIN, "pool");
    y->zero = x->zero;
    add_step(m, MORSEL_STEP_MAX_POOL, x, NULL, y)->parameters.pool = p;
    return y;
}

struct net_buffer *make_mean(struct maker *m, struct net_buffer *x) {
    uint32_t pixels = x->dims[1] * x->dims[2];
    struct net_buffer *y = add_buffer(m, 2, (uint32_t[]){x->dims[0], x->dims[3]}, PLAIN, "mean");
    y->zero = x->zero;
    add_step(m, MORSEL_STEP_MEAN, x, NULL, y)->parameters.mean = (struct morsel_blob_mean){
        .outer = x->dims[0], .count = pixels, .inner = x->dims[3], .multiplier = 1 / (float)pixels, .out_max = 255};
    return y;
}

struct net_buffer *make_softmax(struct maker *m, struct net_buffer *x) {
    struct net_buffer *y = add_buffer(m, 2, x->dims, RELU, "softmax");
    struct net_step *step = add_step(m, MORSEL_STEP_SOFTMAX, x, NULL, y);
    float *table = net_alloc(m->net, 256 * sizeof *table);
    for (int i = 0; i < 256; i++) table[i] = expf((float)(i - 255) * x->scale);
    y->scale = 1.0f / 256;
    step->parameters.softmax = (struct morsel_blob_softmax){.outer = 1, .count = net_elements(x), .inner = 1};
    net_add_constant(step, table, 256 * sizeof *table, offsetof(struct morsel_blob_softmax, table));
    return y;
}

struct net_buffer *make_concat(struct maker *m, struct net_buffer *a, struct net_buffer *b) {
    struct net_buffer *y = add_buffer(m, 4, (uint32_t[]){1, a->dims[1], a->dims[2], a->dims[3] + b->dims[3]}, RELU, "concat");
    struct net_step *step = add_step(m, MORSEL_STEP_CONCAT, a, b, y);
    step->more_words = net_alloc(m->net, 3 * sizeof *step->more_words);
    step->parameter_words = 3;
    step->more_words[0] = y->dims[1] * y->dims[2];
    step->more_words[1] = a->dims[3];
    step->more_words[2] = b->dims[3];
    return y;
}

struct net_buffer *make_part(struct maker *m, struct net_buffer *x, uint32_t first, uint32_t channels, bool shuffle) {
    uint32_t pixels = x->dims[1] * x->dims[2], half = x->dims[3] / 2;
    struct net_buffer *y = add_buffer(m, 4, (uint32_t[]){1, x->dims[1], x->dims[2], channels}, RELU, "part");
    struct net_step *step = add_step(m, MORSEL_STEP_GATHER, x, NULL, y);
    int32_t *table = net_alloc(m->net, (pixels + channels) * sizeof *table);
    for (uint32_t i = 0; i < pixels; i++) table[i] = (int32_t)(i * x->dims[3]);
    for (uint32_t i = first; i < first + channels; i++) table[pixels + i - first] = (int32_t)(shuffle ? i % 2 * half + i / 2 : i);
    step->parameters.gather = (struct morsel_blob_gather){.rank = 2, .dims = {pixels, channels, 1, 1, 1, 1}};
    net_add_constant(step, table, (pixels + channels) * sizeof *table, offsetof(struct morsel_blob_gather, table));
    return y;
}
