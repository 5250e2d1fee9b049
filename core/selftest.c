/* SPDX-License-Identifier: MIT */
/* Each kernel computes a few values from bytes that a formula makes, and a checksum of them is known. The shapes are small, and such that
 * the kernels of instruction sets take them. */
#include "selftest.h"

#include "call.h"

#include <string.h>

#define INPUTS 160 /* bytes that are stored as kernels want them */
#define FLOATS 64
#define SUBNORMAL 13 /* which float is one */
#define RESULTS 128  /* bytes */
#define PIXELS 8
#define CHANNELS 16

/* On the stack, which may be that of a task of a microcontroller: what is not read at the same time shares its place. */
#define ALIGNED (MORSEL_OWN_KERNELS ? MORSEL_ALIGNMENT : 8)
struct trial {
    const struct morsel_kernels *kernels;
    union morsel_args args;
    struct morsel_channels channels;
    struct morsel_qparams type; /* of what is read and written */
    uint32_t seed, sum;
    union {
        struct {
            _Alignas(ALIGNED) uint8_t x[INPUTS];
            float multiplier[CHANNELS];
            union {
                struct {
                    int32_t bias[CHANNELS], weight_sum[CHANNELS];
                };
                float scale_offset[2 * CHANNELS];
            };
        };
        _Alignas(ALIGNED) float floats[FLOATS];
    };
    _Alignas(ALIGNED) uint8_t y[RESULTS];
};

/* Bytes that are not stored in other ways: of every fourth a 0, as where windows of three rows are padded. */
#define BYTE(i) (((i) * (i)*2654435761u + (i)*40503u) >> 24)
#define FOUR(i) BYTE(i), BYTE((i) + 1), BYTE((i) + 2), 0
#define SIXTEEN(i) FOUR(i), FOUR((i) + 4), FOUR((i) + 8), FOUR((i) + 12)
#define OF_64(i) SIXTEEN(i), SIXTEEN((i) + 16), SIXTEEN((i) + 32), SIXTEEN((i) + 48)
_Alignas(MORSEL_ALIGNMENT) static const uint8_t weights[] = {OF_64(3u), OF_64(67u), OF_64(131u), OF_64(195u)};

/* Three lines of nineteen bytes in any order, the last one of padding. */
static const int32_t places[] = {0, 9, -1, 0, 7, 14, 2, 9, 16, 4, 11, 18, 6, 13, 1, 8, 15, 3, 10, 17, 5, 12};
static const float between[] = {0, 0.3f, 0.7f, 1}, numbers[] = {0.021f, 113};

static uint32_t next(struct trial *t) {
    return t->seed = t->seed * 1664525u + 1013904223u;
}

#define BIT(kind) (1u << MORSEL_STEP_##kind)

static void make_floats(struct trial *t) {
    const uint32_t subnormal = 0x00345678;                                                     /* 0 where a thread flushes those */
    for (int i = 0; i < FLOATS; i++) t->floats[i] = (float)((int32_t)next(t) >> 8) * 0x1p-21f; /* -4..4, in as many bits as a float has */
    memcpy(&t->floats[SUBNORMAL], &subnormal, sizeof subnormal);
}

static void make_bytes(struct trial *t) {
    uint32_t flip = t->kernels->store_flip;
    for (int i = 0; i < INPUTS; i++) t->x[i] = (uint8_t)(next(t) >> 24 ^ flip);
    for (int i = 0; i < CHANNELS; i++) {
        t->bias[i] = (int32_t)next(t) >> 20;
        t->multiplier[i] = (float)(next(t) >> 9 | 1 << 23) * 0x1p-32f;
    }
    t->channels = (struct morsel_channels){.bias = t->bias, .multiplier = t->multiplier, .weight_sum = t->weight_sum};
}

/* Of so many quads of weights of sixteen channels. */
static void sum_weights(struct trial *t, int quads) {
    memset(t->weight_sum, 0, sizeof t->weight_sum);
    for (int i = 0; i < quads * 64; i++) t->weight_sum[i / 4 % CHANNELS] += (int8_t)weights[i];
}

/* Small numbers among the arguments of a kind's kernel. */
struct setting {
    uint8_t kind, word, value;
};
#define SET(kind, member, value) \
    { MORSEL_STEP_##kind, offsetof(union morsel_args, member) / 4, value }
static const struct setting settings[] = {
    SET(CONV, conv.groups, 1),
    SET(CONV, conv.prefetch_rows, 1),
    SET(DEPTHWISE, conv.groups, CHANNELS),
    SET(DEPTHWISE, conv.prefetch_rows, 1),
    SET(FLOAT_CONV, float_conv.groups, 1),
    SET(AVERAGE_POOL, pool.padded_h, 3),
    SET(AVERAGE_POOL, pool.padded_w, PIXELS + 2),
    SET(FC, fc.rows, 5),
    SET(FC, fc.inputs, CHANNELS),
    SET(FC, fc.outputs, CHANNELS),
    SET(FC, fc.blocks, 1),
    SET(MATMUL, matmul.views.rows, 4),
    SET(MATMUL, matmul.views.inner, 16),
    SET(MATMUL, matmul.views.columns, 8),
    SET(MATMUL, matmul.views.a_batch, 1),
    SET(MATMUL, matmul.views.a_divide, 1),
    SET(MATMUL, matmul.views.b_batch, 1),
    SET(MATMUL, matmul.views.b_divide, 1),
    SET(MATMUL, matmul.views.middle, 1),
    SET(MATMUL, matmul.views.a_stride[2], 16),
    SET(MATMUL, matmul.views.b_stride[2], 8),
    SET(MATMUL, matmul.views.b_stride[3], 1),
    SET(MATMUL, matmul.views.y_stride[2], 8),
    SET(FLOAT_MATMUL, float_matmul.views.middle, 1),
    SET(FLOAT_MATMUL, float_matmul.views.a_batch, 1),
    SET(FLOAT_MATMUL, float_matmul.views.a_divide, 1),
    SET(FLOAT_MATMUL, float_matmul.views.b_batch, 1),
    SET(FLOAT_MATMUL, float_matmul.views.b_divide, 1),
    SET(FLOAT_MATMUL, float_matmul.views.rows, 2),
    SET(FLOAT_MATMUL, float_matmul.views.inner, 9),
    SET(FLOAT_MATMUL, float_matmul.views.columns, 16),
    SET(FLOAT_MATMUL, float_matmul.views.a_stride[2], 9),
    SET(FLOAT_MATMUL, float_matmul.views.b_stride[2], 5),
    SET(FLOAT_MATMUL, float_matmul.views.b_stride[3], 1),
    SET(FLOAT_MATMUL, float_matmul.views.y_stride[2], 16),
    SET(BINARY, binary.rank, 1),
    SET(BINARY, binary.dims[0], 31),
    SET(BINARY, binary.a_stride[0], 1),
    SET(BINARY, binary.b_stride[0], 1),
    SET(UNARY, unary.channels, CHANNELS),
    SET(LUT, lut.channels, 1),
    SET(LUT, lut.inner, 1),
    SET(MEAN, mean.count, 7),
    SET(MEAN, mean.inner, CHANNELS),
    SET(SOFTMAX, softmax.count, 13),
    SET(SOFTMAX, softmax.inner, 1),
    SET(LAYER_NORM, layer_norm.count, 15),
    SET(LAYER_NORM, layer_norm.centred, 1),
    SET(RESIZE, resize.in_h, 2),
    SET(RESIZE, resize.in_w, 2),
    SET(RESIZE, resize.out_h, 2),
    SET(RESIZE, resize.out_w, 4),
    SET(RESIZE, resize.channels, CHANNELS),
    SET(GATHER, gather.rank, 2),
    SET(GATHER, gather.dims[0], 3),
    SET(GATHER, gather.dims[1], 19),
    SET(GATHER, gather.size, 1),
    SET(LOOKUP, lookup.rows, 6),
    SET(LOOKUP, lookup.bytes, 20),
    SET(GRID_SAMPLE, grid_sample.sides[0], 3),
    SET(GRID_SAMPLE, grid_sample.sides[1], 2),
    SET(GRID_SAMPLE, grid_sample.channels, 4),
    SET(GRID_SAMPLE, grid_sample.pixels, 8),
    SET(GRID_SAMPLE, grid_sample.beyond, MORSEL_BEYOND_MIRROR),
    SET(NON_MAX_SUPPRESSION, non_max_suppression.images, 1),
    SET(NON_MAX_SUPPRESSION, non_max_suppression.classes, 2),
    SET(NON_MAX_SUPPRESSION, non_max_suppression.count, 11),
    SET(NON_MAX_SUPPRESSION, non_max_suppression.most, 5),
    SET(RANGE, range.elements, 61),
    SET(RANGE, range.count, 30),
    SET(FACTORS, factors.lines, 1),
    SET(FACTORS, factors.pieces, 3),
    SET(FACTORS, factors.channels, CHANNELS / 2),
    SET(QUANTIZE, quantize.elements, 61),
    SET(QUANTIZE, quantize.count, 61),
};

static void set(struct trial *t, uint32_t kind) {
    memset(&t->args, 0, sizeof t->args);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const uint32_t value = settings[i].value;
        if (settings[i].kind == kind) memcpy((uint8_t *)&t->args + settings[i].word * 4, &value, sizeof value);
    }
}

static void set_input(struct trial *t, struct morsel_input *x, uint32_t skipped) {
    x->data = (const uint8_t *)(t->type.is_float ? (const void *)t->floats : t->x) + skipped;
    x->qparams = t->type;
}

static void set_output(struct trial *t, struct morsel_output *y) {
    y->data = t->y;
    y->qparams = t->type;
    y->out_min = 3;
    y->out_max = 250;
    y->float_min = -3e38f;
    y->float_max = 3e38f;
}

/* How the arguments of many kernels begin. */
struct ends {
    struct morsel_input x;
    struct morsel_output y;
};

static void set_ends(struct trial *t, void *args) {
    struct ends *ends = args;
    set_input(t, &ends->x, 0);
    set_output(t, &ends->y);
}

#if MORSEL_OWN_KERNELS
typedef void any_fn(void);

/* What plain C has at that place of the table. */
static any_fn *plain_at(size_t place) {
    struct morsel_kernels plain;
    any_fn *fn;
    morsel_kinds_kernels(&plain, 0);
    memcpy(&fn, (const uint8_t *)&plain + place, sizeof fn);
    return fn;
}

static int takes(morsel_refusal_fn *refusal, const void *args) {
    return !refusal || !refusal(args);
}
#define TAKEN(t, slot, args) \
    (takes((t)->kernels->refusals.slot, args) ? (t)->kernels->slot \
                                              : (__typeof__((t)->kernels->slot))plain_at(offsetof(struct morsel_kernels, slot)))
#else
#define TAKEN(t, slot, args) ((t)->kernels->slot) /* plain C refuses nothing */
#endif

/* One row of eight pixels, by a window over `side` rows and columns. */
static void try_window(struct trial *t, uint32_t kind) {
    const struct morsel_kernels *k = t->kernels;
    union morsel_args *a = &t->args;
    struct morsel_window *w = &a->windowed.window;
    const uint32_t side = kind == MORSEL_STEP_CONV || kind == MORSEL_STEP_FLOAT_CONV ? 1 : 3;
    const uint8_t *rows[] = {t->x, t->x + 16, t->x + 32};
    set_ends(t, &a->windowed.x);
    w->in_w = w->out_w = PIXELS;
    w->in_c = w->out_c = CHANNELS;
    w->in_h = w->kernel_h = w->kernel_w = side;
    w->out_h = w->stride_h = w->stride_w = w->dilation_h = w->dilation_w = 1;
    w->pad_left = side / 2;
    w->in_row = w->out_row = PIXELS * CHANNELS;
    if (kind == MORSEL_STEP_FLOAT_CONV) {
        rows[0] = (const uint8_t *)t->floats;
        w->in_w = w->out_w = 4;
        w->in_c = 2;
        w->out_c = 8;
        w->in_row = 4 * 2 * sizeof(float);
        w->out_row = 4 * 8 * sizeof(float);
        a->float_conv.weights = t->floats + 16;
        a->float_conv.bias = t->floats + 48;
        k->float_conv(&a->float_conv, rows, 0, 1);
    } else if (kind == MORSEL_STEP_AVERAGE_POOL) k->average_pool(&a->pool, rows, 0, 1);
    else if (kind == MORSEL_STEP_MAX_POOL) TAKEN(t, max_pool, a)(&a->pool, rows, 0, 1);
    else {
        sum_weights(t, side == 3 ? 3 : CHANNELS / 4);
        a->conv.weights = (const int8_t *)weights;
        a->conv.channels = t->channels;
        if (side == 3) TAKEN(t, depthwise, a)(&a->conv, rows, 0, 1);
        else TAKEN(t, conv, a)(&a->conv, rows, 0, 1);
    }
}

/* `narrow`: a product of floats of more rows than a tile has, and of columns that lie apart. */
static void try_product(struct trial *t, uint32_t kind, uint32_t narrow) {
    const struct morsel_kernels *k = t->kernels;
    union morsel_args *a = &t->args;
    if (kind == MORSEL_STEP_FC) {
        sum_weights(t, CHANNELS / 4);
        set_ends(t, a);
        a->fc.weights = (const int8_t *)weights;
        a->fc.channels = t->channels;
        TAKEN(t, fc, a)(&a->fc, 0, 5);
    } else if (kind == MORSEL_STEP_MATMUL) {
        set_input(t, &a->matmul.a, 0);
        set_input(t, &a->matmul.b, 32);
        set_output(t, &a->matmul.y);
        a->matmul.multiplier = t->multiplier[0];
        TAKEN(t, matmul, a)(&a->matmul, 0, 4);
    } else {
        a->float_matmul.a = t->floats;
        a->float_matmul.b = t->floats + 8;
        set_output(t, &a->float_matmul.y);
        a->float_matmul.factor = 0.3f;
        if (narrow) {
            a->float_matmul.views.rows = 7;
            a->float_matmul.views.columns = a->float_matmul.views.y_stride[2] = 4;
            a->float_matmul.views.b_stride[2] = 1;
            a->float_matmul.views.b_stride[3] = 5;
        }
        k->float_matmul(&a->float_matmul, 0, a->float_matmul.views.rows);
    }
}

static void try_pairs(struct trial *t, uint32_t op) {
    struct morsel_binary_args *a = &t->args.binary;
    set_input(t, &a->a, 0);
    set_input(t, &a->b, 32);
    set_output(t, &a->y);
    a->op = op;
    a->a_ratio = 0.0061f;
    a->b_ratio = 0.93f;
    a->offset = 1.7f;
    if (op == MORSEL_BINARY_QADD) TAKEN(t, qadd, a)(a, 0, 31);
    else if (op == MORSEL_BINARY_QMUL) TAKEN(t, qmul, a)(a, 0, 31);
    else TAKEN(t, binary, a)(a, 0, 31);
}

static void try_function(struct trial *t, uint32_t op) {
    struct morsel_unary_args *a = &t->args.unary;
    set_ends(t, a);
    a->op = op;
    a->alpha = 0.31f;
    a->beta = 0.67f;
    a->scale = t->floats + 16;
    if (op == MORSEL_UNARY_QAFFINE) {
        a->scale = t->scale_offset;
        for (int i = 0; i < 2 * CHANNELS; i++) t->scale_offset[i] = t->multiplier[i % CHANNELS] * (i < CHANNELS ? 301 : 503);
    }
    a->offset = a->scale + CHANNELS;
    t->kernels->unary(a, 0, 31);
}

/* Along lines. */
static void try_lines(struct trial *t, uint32_t kind) {
    const struct morsel_kernels *k = t->kernels;
    union morsel_args *a = &t->args;
    set_ends(t, a);
    if (kind == MORSEL_STEP_MEAN) {
        a->mean.multiplier = 0.143f;
        TAKEN(t, mean, a)(&a->mean, 0, CHANNELS);
    } else if (kind == MORSEL_STEP_SOFTMAX) {
        TAKEN(t, softmax, a)(&a->softmax, 0, 2);
    } else if (kind == MORSEL_STEP_LAYER_NORM) {
        a->layer_norm.factor = t->floats + 8;
        a->layer_norm.term = t->floats + 16;
        a->layer_norm.epsilon = 1e-5f;
        k->layer_norm(&a->layer_norm, 0, 2);
    } else {
        a->resize.rows = a->resize.columns = between;
        k->resize(&a->resize, 0, 2);
    }
}

/* Bytes as they lie, and numbers that are found at run time. */
static void try_places(struct trial *t, uint32_t kind) {
    const struct morsel_kernels *k = t->kernels;
    union morsel_args *a = &t->args;
    float *to = (float *)(void *)t->y;
    if (kind == MORSEL_STEP_CONCAT) {
        const struct morsel_copy_args copy = {t->x, t->y, 17, 19, 23, 0};
        k->copy(&copy, 0, 5);
    } else if (kind == MORSEL_STEP_LUT) {
        a->lut.x = t->x;
        a->lut.y = t->y;
        a->lut.table = weights;
        a->lut.x_flip = a->lut.y_flip = t->type.sign_flip;
        TAKEN(t, lut, a)(&a->lut, 0, 123);
    } else if (kind == MORSEL_STEP_GATHER) {
        a->gather.x = t->x;
        a->gather.y = t->y;
        a->gather.table = places;
        a->gather.fill = 7 ^ t->type.sign_flip;
        TAKEN(t, gather, a)(&a->gather, 0, 3 * 19);
    } else if (kind == MORSEL_STEP_LOOKUP) {
        a->lookup.x = places;
        a->lookup.table = t->x;
        a->lookup.y = t->y;
        k->lookup(&a->lookup, 0, 6);
    } else if (kind == MORSEL_STEP_CAST) {
        a->cast.x = (const int32_t *)(const void *)weights;
        a->cast.y = to;
        k->cast(&a->cast, 0, 31);
    } else if (kind == MORSEL_STEP_GRID_SAMPLE) {
        a->grid_sample.x = a->grid_sample.grid = t->floats;
        a->grid_sample.y = to;
        k->grid_sample(&a->grid_sample, 0, 8);
    } else if (kind == MORSEL_STEP_NON_MAX_SUPPRESSION) {
        a->non_max_suppression.boxes = a->non_max_suppression.scores = t->floats;
        a->non_max_suppression.y = (int32_t *)(void *)t->y;
        a->non_max_suppression.gone = (uint8_t *)t->weight_sum; /* behind the floats */
        k->non_max_suppression(&a->non_max_suppression, 0, 1);
    } else if (kind == MORSEL_STEP_RANGE) {
        a->range.x = t->floats;
        a->range.y = to;
        k->range(&a->range, 0, 3);
    } else if (kind == MORSEL_STEP_FACTORS) {
        a->factors.x = t->floats;
        a->factors.y = to;
        a->factors.factor = t->floats + 16;
        a->factors.bias = t->floats + 32;
        k->factors(&a->factors, 0, 1);
    } else {
        a->quantize.x = t->floats;
        a->quantize.y = t->y;
        a->quantize.numbers = numbers;
        a->quantize.sign_flip = t->type.sign_flip;
        k->quantize(&a->quantize, 0, 1);
    }
}

#define WINDOWS (BIT(CONV) | BIT(DEPTHWISE) | BIT(FLOAT_CONV) | BIT(AVERAGE_POOL) | BIT(MAX_POOL))
#define PRODUCTS (BIT(FC) | BIT(MATMUL) | BIT(FLOAT_MATMUL))
#define LINES (BIT(MEAN) | BIT(SOFTMAX) | BIT(LAYER_NORM) | BIT(RESIZE))
#define FLOATS_OUT \
    (BIT(FLOAT_CONV) | BIT(FLOAT_MATMUL) | BIT(SOFTMAX) | BIT(LAYER_NORM) | BIT(CAST) | BIT(RANGE) | BIT(FACTORS) | BIT(GRID_SAMPLE) | \
     BIT(NON_MAX_SUPPRESSION))

/* `op` of kinds that have several. Results tell where one is missing, and do not depend on how bytes are stored. */
static void try_kind(struct trial *t, uint32_t kind, uint32_t op) {
    const uint32_t bit = 1u << kind;
    const int is_byte = bit & BIT(BINARY) ? op < MORSEL_BINARY_ADD : bit & BIT(UNARY) ? op == MORSEL_UNARY_QAFFINE : !(bit & FLOATS_OUT);
    t->type = is_byte ? (struct morsel_qparams){0.0437f, 113, t->kernels->store_flip, 0, 0} : (struct morsel_qparams){1, 0, 0, 1, 0};
    t->seed = 18;
    if (is_byte && kind != MORSEL_STEP_QUANTIZE) make_bytes(t);
    else make_floats(t);
    set(t, kind);
    memset(t->y, (int)t->type.sign_flip, sizeof t->y);
    if (bit & WINDOWS) try_window(t, kind);
    else if (bit & PRODUCTS) try_product(t, kind, op);
    else if (bit & BIT(BINARY)) try_pairs(t, op);
    else if (bit & BIT(UNARY)) try_function(t, op);
    else if (bit & LINES) try_lines(t, kind);
    else try_places(t, kind);
    for (size_t i = 0; i < sizeof t->y; i++) t->sum = (t->sum ^ t->y[i] ^ t->type.sign_flip) * 16777619u;
}

/* By kind; 0: the kernels are those of another kind. tests/unit/core/test_selftest.c holds kernels/reference against them. */
static const uint32_t answers[MORSEL_STEP_KIND_COUNT] = {
    [MORSEL_STEP_CONV] = 0xf252e028,       [MORSEL_STEP_DEPTHWISE] = 0xae50e1f1,    [MORSEL_STEP_FC] = 0xd9e753b5,
    [MORSEL_STEP_MATMUL] = 0xad1be149,     [MORSEL_STEP_BINARY] = 0x76f7ffa5,       [MORSEL_STEP_UNARY] = 0x10af439e,
    [MORSEL_STEP_LUT] = 0x170e5fe1,        [MORSEL_STEP_AVERAGE_POOL] = 0xc022ef18, [MORSEL_STEP_MAX_POOL] = 0x0b5af4c2,
    [MORSEL_STEP_MEAN] = 0x64d83a21,       [MORSEL_STEP_SOFTMAX] = 0xca7eafc8,      [MORSEL_STEP_CONCAT] = 0xfdc663e5,
    [MORSEL_STEP_GATHER] = 0x608a504d,     [MORSEL_STEP_FLOAT_CONV] = 0xcc55487a,   [MORSEL_STEP_FLOAT_MATMUL] = 0x245679d5,
    [MORSEL_STEP_LAYER_NORM] = 0xd02439ea, [MORSEL_STEP_RESIZE] = 0xd2bbba7a,       [MORSEL_STEP_RANGE] = 0xeabb6ace,
    [MORSEL_STEP_FACTORS] = 0x4fbe5032,    [MORSEL_STEP_QUANTIZE] = 0x3c100011,     [MORSEL_STEP_LOOKUP] = 0x1918c7d9,
    [MORSEL_STEP_CAST] = 0xd5753e7f,       [MORSEL_STEP_GRID_SAMPLE] = 0xf7f7c4c2,  [MORSEL_STEP_NON_MAX_SUPPRESSION] = 0x6dee5eab,
};

#define QADD_ANSWER 0x25a061c4 /* of programs whose sums are of bytes alone: core/kinds.c */

const char *morsel_selftest_of(const struct morsel_kernels *kernels) {
    struct trial t;
    t.kernels = kernels;
    for (uint32_t kind = 1; kind < MORSEL_STEP_KIND_COUNT; kind++) {
        if (!answers[kind] || !morsel_kinds[kind]) continue;
        uint32_t op = 0, most = 1, answer = answers[kind];
        if (kind == MORSEL_STEP_BINARY) op = MORSEL_BINARY_QADD, most = MORSEL_BINARY_OP_COUNT;
        if (kind == MORSEL_STEP_BINARY && !kernels->binary) most = op + 1, answer = QADD_ANSWER;
        if (kind == MORSEL_STEP_UNARY) most = MORSEL_UNARY_OP_COUNT;
        if (kind == MORSEL_STEP_FLOAT_MATMUL) most = 2;
        for (t.sum = 2166136261u; op < most; op++) try_kind(&t, kind, op);
        if (t.sum != answer) return morsel_kinds[kind]->name;
    }
    return NULL;
}

const char *morsel_selftest(uint32_t cpu_mask) {
    struct morsel_kernels kernels;
    morsel_kinds_kernels(&kernels, morsel_cpu_features() & (cpu_mask ? cpu_mask : UINT32_MAX));
    return morsel_selftest_of(&kernels);
}
