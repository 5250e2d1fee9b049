/* SPDX-License-Identifier: MIT */
/* Random networks: layers by chance, of windows and sizes that streaming finds hard. */
#include "tests/unit/support/random_net.h"

#include "tests/unit/support/blob_builder.h"
#include "tools/net/nets_build.h"

#include <math.h>

struct random {
    struct maker maker;
    const struct random_net_limits *limits;
    uint32_t state;
};

static uint32_t between(struct random *r, uint32_t low, uint32_t high) {
    return builder_between(&r->state, low, high);
}

static bool chance(struct random *r, uint32_t one_in) {
    return !between(r, 0, one_in - 1);
}

static struct net_step *last_step(struct random *r) {
    return r->maker.net->steps[r->maker.net->step_count - 1];
}

/* --- Windows --- */

/* The window of the step that wrote y, which is odd, gets gaps, or its padding another place; y is as large as before. */
static struct net_buffer *bend(struct random *r, struct net_buffer *y) {
    uint32_t *p = last_step(r)->parameters.words, *pads = p + 6; /* kernel, stride, dilation (h, w), pads (top, left, bottom, right) */
    for (uint32_t axis = 0; axis < 2; axis++) {
        uint32_t dilation = chance(r, 3) ? between(r, 2, 3) : 1;
        if (p[axis] % 2 == 0) continue;
        p[4 + axis] = dilation;
        pads[axis] *= dilation;
        pads[2 + axis] *= dilation;
        uint32_t moved = chance(r, 4) ? between(r, 0, pads[axis]) : 0;
        pads[axis] -= moved;
        pads[2 + axis] += moved;
    }
    return y;
}

static struct net_buffer *conv(struct random *r, struct net_buffer *x, uint32_t outputs, uint32_t kernel, uint32_t stride,
                               enum activation activation) {
    return bend(r, make_conv(&r->maker, x, outputs, kernel, kernel, stride, activation));
}

static struct net_buffer *depthwise(struct random *r, struct net_buffer *x, uint32_t kernel, uint32_t stride) {
    return bend(r, make_depthwise(&r->maker, x, kernel, stride, RELU));
}

static struct net_buffer *max_pool(struct random *r, struct net_buffer *x) {
    struct net_buffer *y = make_max_pool(&r->maker, x, 2 * between(r, 0, 1) + 1, between(r, 1, 2));
    y->type = x->type;
    y->scale = x->scale;
    if (x->type == MORSEL_FLOAT32) y->bytes *= 4;
    return bend(r, y);
}

/* No step of a group. */
static struct net_buffer *average_pool(struct random *r, struct net_buffer *x) {
    struct net_buffer *y = max_pool(r, x);
    struct net_step *step = last_step(r);
    step->kind = MORSEL_STEP_AVERAGE_POOL;
    struct morsel_blob_pool *p = &step->parameters.pool;
    struct morsel_blob_window *w = &p->window;
    w->pad_top = w->pad_bottom = w->kernel_h / 2;
    w->pad_left = w->pad_right = w->kernel_w / 2;
    w->dilation_h = w->dilation_w = 1;
    p->count_include_pad = between(r, 0, 1);
    return y;
}

/* --- Element by element --- */

static struct net_buffer *like(struct random *r, struct net_buffer *x, enum morsel_type type) {
    struct net_buffer *y = net_add_like(r->maker.net, x, type, "");
    y->scale = type == MORSEL_FLOAT32 ? 1 : 0.02f;
    y->zero = type == MORSEL_FLOAT32 ? 0 : 128;
    y->qualified = true;
    return y;
}

static float *floats(struct random *r, uint32_t count) {
    float *values = net_alloc(r->maker.net, count * sizeof *values);
    for (uint32_t i = 0; i < count; i++) values[i] = (float)between(r, 0, 4000) / 1000 - 2;
    return values;
}

/* Tables by channel, for all at once, or (which no group takes) in an order that does not repeat with the rows. */
static struct net_buffer *table(struct random *r, struct net_buffer *x, enum morsel_type type) {
    struct net_buffer *y = like(r, x, type);
    struct net_step *step = net_add_step(r->maker.net, MORSEL_STEP_LUT, "table", x, NULL, y);
    uint32_t channels = chance(r, 2) ? 1 : chance(r, 3) ? 3 : x->dims[3], entries = 256 * channels;
    uint8_t *bytes = net_alloc(r->maker.net, entries);
    for (uint32_t i = 0; i < entries; i++) bytes[i] = (uint8_t)between(r, 0, 255);
    const void *data = type == MORSEL_FLOAT32 ? (const void *)floats(r, entries) : bytes;
    step->parameters.lut = (struct morsel_blob_lut){.count = net_elements(x), .channels = channels, .inner = between(r, 1, 2)};
    net_add_constant(step, data, entries * net_type_bytes(type), offsetof(struct morsel_blob_lut, table));
    return y;
}

static struct net_buffer *unary(struct random *r, struct net_buffer *x, enum morsel_type type) {
    static const uint32_t ops[] = {MORSEL_UNARY_IDENTITY, MORSEL_UNARY_LEAKY_RELU, MORSEL_UNARY_HARD_SWISH, MORSEL_UNARY_AFFINE,
                                   MORSEL_UNARY_AFFINE,   MORSEL_UNARY_TANH,       MORSEL_UNARY_ABS};
    struct net_buffer *y = like(r, x, type);
    struct net_step *step = net_add_step(r->maker.net, MORSEL_STEP_UNARY, "unary", x, NULL, y);
    struct morsel_blob_unary *p = &step->parameters.unary;
    *p = (struct morsel_blob_unary){.op = chance(r, 3) ? between(r, 0, MORSEL_UNARY_OP_COUNT - 1) : ops[between(r, 0, 6)],
                                    .count = net_elements(x),
                                    .alpha = 1 / 6.0f,
                                    .beta = 0.5f,
                                    .channels = 1};
    if (p->op == MORSEL_UNARY_QAFFINE && (x->type == MORSEL_FLOAT32 || type == MORSEL_FLOAT32)) p->op = MORSEL_UNARY_AFFINE;
    if (p->op != MORSEL_UNARY_AFFINE && p->op != MORSEL_UNARY_QAFFINE) return y;
    p->channels = chance(r, 5) ? x->dims[3] + 1 : x->dims[3]; /* one more does not repeat with the rows */
    for (uint32_t i = 0; i < 2; i++)
        net_add_constant(step, floats(r, p->channels), p->channels * sizeof(float),
                         i ? offsetof(struct morsel_blob_unary, affine_offset) : offsetof(struct morsel_blob_unary, affine_scale));
    return y;
}

static struct net_buffer *float_sum(struct random *r, struct net_buffer *a, struct net_buffer *b, enum morsel_type type) {
    struct net_buffer *y = like(r, a, type);
    struct net_step *step = net_add_step(r->maker.net, MORSEL_STEP_BINARY, "sum", a, b, y);
    step->parameters.binary = (struct morsel_blob_binary){.op = MORSEL_BINARY_ADD,
                                                          .rank = 1,
                                                          .dims = {net_elements(y), 1, 1, 1, 1, 1},
                                                          .a_stride = {1},
                                                          .b_stride = {1},
                                                          .out_max = 255,
                                                          .float_min = -INFINITY,
                                                          .float_max = INFINITY};
    return y;
}

/* --- Dynamic quantization --- */

static struct net_buffer *flat(struct random *r, uint32_t rows, uint32_t columns) {
    return net_add_buffer(r->maker.net, MORSEL_FLOAT32, MORSEL_ROW_MAJOR, columns ? 2 : 1, (uint32_t[]){rows, columns ? columns : 1}, "");
}

/* A convolution of bytes, 1 x 1 or depthwise, whose input is quantized by what it is at run time: made as one of constants first. */
static struct net_buffer *dynamic(struct random *r, struct net_buffer *x) {
    struct net_buffer *in = unary(r, x, MORSEL_FLOAT32), *bytes = net_add_like(r->maker.net, x, MORSEL_UINT8, "");
    bytes->qualified = true;
    uint32_t count = between(r, 1, net_elements(x)), at = r->maker.net->step_count;
    struct net_buffer *ends = flat(r, (net_elements(x) - 1) / count + 1, 2);
    struct net_buffer *y = chance(r, 2) ? depthwise(r, bytes, 3, between(r, 1, 2)) : conv(r, bytes, between(r, 1, 40), 1, 1, PLAIN);
    struct net_step *layer = last_step(r), *range, *factors, *quantize;
    uint32_t channels = (y->dims[3] + 15) / 16 * 16;
    struct net_buffer *numbers = flat(r, MORSEL_FORMAT_NUMBERS + 2 * channels, 0);
    range = net_add_step(r->maker.net, MORSEL_STEP_RANGE, "range", in, NULL, ends);
    range->parameters.range.count = count;
    factors = net_add_step(r->maker.net, MORSEL_STEP_FACTORS, "factors", ends, NULL, numbers);
    factors->parameters.factors = (struct morsel_blob_factors){.lines = 1, .channels = channels};
    float *factor = net_alloc(r->maker.net, channels * sizeof *factor);
    for (uint32_t c = 0; c < channels; c++) factor[c] = 0.001f * (float)between(r, 1, 9);
    net_add_constant(factors, factor, channels * sizeof *factor, offsetof(struct morsel_blob_factors, factor));
    if (chance(r, 2)) net_add_constant(factors, floats(r, channels), channels * sizeof *factor, offsetof(struct morsel_blob_factors, bias));
    quantize = net_add_step(r->maker.net, MORSEL_STEP_QUANTIZE, "quantize", in, numbers, bytes);
    quantize->parameters.quantize = (struct morsel_blob_quantize){.lines = 1, .count = count};
    layer->kind = layer->kind == MORSEL_STEP_CONV ? MORSEL_STEP_DYNAMIC_CONV : MORSEL_STEP_DYNAMIC_DEPTHWISE;
    layer->inputs[layer->input_count++] = numbers;
    for (uint32_t k = 0; k < layer->constant_count; k++) /* what is proven holds for one zero point */
        if (layer->constants[k].field == net_sums(layer) + offsetof(struct morsel_blob_sums, proofs))
            layer->constants[k--] = layer->constants[--layer->constant_count];
    layer->parameters.conv.sums.float_min = -3;
    layer->parameters.conv.sums.float_max = 3;
    y->type = MORSEL_FLOAT32;
    y->scale = 1;
    y->zero = 0;
    y->bytes *= 4;
    struct net_step **steps = r->maker.net->steps; /* it comes last */
    for (uint32_t i = at; i + 1 < r->maker.net->step_count; i++) steps[i] = steps[i + 1];
    steps[r->maker.net->step_count - 1] = layer;
    return unary(r, y, MORSEL_UINT8);
}

/* --- Pieces --- */

/* A convolution of floats. */
static struct net_buffer *float_conv(struct random *r, struct net_buffer *x, enum morsel_type type) {
    struct net *net = r->maker.net;
    uint32_t outputs = between(r, 1, 6), kernel = 2 * between(r, 0, 1) + 1, taps = kernel * kernel * x->dims[3];
    struct net_buffer *y = net_add_buffer(net, type, x->layout, 4, (uint32_t[]){1, x->dims[1], x->dims[2], outputs}, "");
    y->scale = type == MORSEL_FLOAT32 ? 1 : 0.02f;
    y->zero = type == MORSEL_FLOAT32 ? 0 : 128;
    y->qualified = true;
    struct net_step *step = net_add_step(net, MORSEL_STEP_FLOAT_CONV, "float", x, NULL, y);
    uint32_t pad = kernel / 2;
    step->parameters.float_conv = (struct morsel_blob_float_conv){.window = {kernel, kernel, 1, 1, 1, 1, pad, pad, pad, pad},
                                                                  .groups = 1,
                                                                  .out_max = 255,
                                                                  .float_min = -INFINITY,
                                                                  .float_max = INFINITY};
    enum { BLOCK = 8 }; /* of outputs, the padding among them */
    net_add_constant(step, floats(r, BLOCK * taps), BLOCK * taps * sizeof(float), offsetof(struct morsel_blob_float_conv, weights));
    net_add_constant(step, floats(r, BLOCK), BLOCK * sizeof(float), offsetof(struct morsel_blob_float_conv, bias));
    return bend(r, y);
}

/* Some steps whose tensors are floats. */
static struct net_buffer *add_float(struct random *r, struct net_buffer *x) {
    struct net_buffer *y = chance(r, 2) ? table(r, x, MORSEL_FLOAT32) : unary(r, x, MORSEL_FLOAT32), *z = y;
    if (chance(r, 2)) z = float_conv(r, y, MORSEL_FLOAT32);
    if (chance(r, 3)) z = chance(r, 2) ? max_pool(r, z) : average_pool(r, z);
    else if (chance(r, 2) && z->dims[3] == y->dims[3]) z = float_sum(r, y, z, MORSEL_FLOAT32);
    return unary(r, z, MORSEL_UINT8);
}

/* An inverted residual, with its sum where shapes allow; now and then with an elementwise step on the way. */
static struct net_buffer *add_block(struct random *r, struct net_buffer *x) {
    uint32_t stride = between(r, 1, 2), outs = chance(r, 2) ? x->dims[3] : between(r, 1, r->limits->outputs);
    struct net_buffer *y = make_conv(&r->maker, x, x->dims[3] * between(r, 1, 4), 1, 1, 1, RELU);
    if (chance(r, 4)) y = chance(r, 2) ? table(r, y, MORSEL_UINT8) : unary(r, y, MORSEL_UINT8);
    y = make_conv(&r->maker, depthwise(r, y, chance(r, 2) ? 3 : 5, stride), outs, 1, 1, 1, PLAIN);
    return stride == 1 && outs == x->dims[3] ? make_sum(&r->maker, x, y, PLAIN) : y;
}

/* Two convolutions beside each other and their sum. */
static struct net_buffer *add_branches(struct random *r, struct net_buffer *x) {
    uint32_t stride = between(r, 1, 3), outs = between(r, 1, r->limits->channels), kernel = 2 * between(r, 0, 2) + 1;
    struct net_buffer *a = conv(r, conv(r, x, between(r, 1, r->limits->channels), kernel, stride, RELU), outs, 3, 1, PLAIN);
    struct net_buffer *b = conv(r, x, outs, 1, stride, PLAIN);
    return chance(r, 3) ? float_sum(r, a, b, MORSEL_UINT8) : make_sum(&r->maker, a, b, RELU);
}

static struct net_buffer *add_piece(struct random *r, struct net_buffer *x) {
    const uint32_t outs = between(r, 1, r->limits->outputs);
    switch (between(r, 0, 12)) {
    case 0: return make_conv(&r->maker, x, outs, between(r, 1, 5), between(r, 1, 5), between(r, 1, 3), RELU);
    case 1: return conv(r, x, outs, 2 * between(r, 0, 2) + 1, between(r, 1, 3), RELU);
    case 2: return depthwise(r, x, 2 * between(r, 0, 3) + 1, between(r, 1, 3));
    case 3: return max_pool(r, x);
    case 4: return average_pool(r, x);
    case 5: return table(r, x, MORSEL_UINT8);
    case 6: return unary(r, x, MORSEL_UINT8);
    case 7: return add_float(r, x);
    case 8: return add_branches(r, x);
    case 9: return dynamic(r, x);
    default: return add_block(r, x);
    }
}

/* --- The network --- */

static void make_batch(struct net *net, uint32_t images) {
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        if (net->buffers[i]->rank != 4) continue; /* the pieces of a batch are longer, and as many */
        net->buffers[i]->bytes *= images;
        net->buffers[i]->dims[0] *= images;
    }
    for (uint32_t i = 0; i < net->output_count; i++) net->outputs[i].onnx_dims[0] = images;
    for (uint32_t i = 0; i < net->input_count; i++) net->inputs[i].onnx_dims[0] = images;
    for (uint32_t i = 0; i < net->step_count; i++) {
        union net_parameters *p = &net->steps[i]->parameters;
        switch (net->steps[i]->kind) {
        case MORSEL_STEP_BINARY: p->binary.dims[0] *= images; break;
        case MORSEL_STEP_UNARY: p->unary.count *= images; break;
        case MORSEL_STEP_LUT: p->lut.count *= images; break;
        case MORSEL_STEP_RANGE: p->range.count *= images; break;
        case MORSEL_STEP_QUANTIZE: p->quantize.count *= images; break;
        default: break;
        }
    }
}

struct net *random_net(uint32_t seed, uint32_t images, const struct random_net_limits *limits) {
    struct random r = {.limits = limits, .state = seed * 2654435761u + 1};
    r.state = r.state ? r.state : 1;
    make_start(&r.maker, "random");
    struct net_buffer *x =
        make_picture(&r.maker, between(&r, 1, limits->rows), between(&r, 1, limits->columns), between(&r, 1, limits->channels));
    for (uint32_t i = 0, n = between(&r, 1, limits->pieces); i < n; i++) {
        x = add_piece(&r, x);
        if (chance(&r, 8)) make_end(&r.maker, x); /* a result in the middle */
    }
    make_end(&r.maker, x);
    make_batch(r.maker.net, images);
    return r.maker.net;
}
