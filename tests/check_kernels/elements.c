/* SPDX-License-Identifier: MIT */
/* Elementwise operators, tables, means and softmax. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- operands with broadcasting ---- */

struct operand {
    uint32_t stride[MORSEL_KERNEL_MAX_RANK];
    size_t elements;
    bool whole; /* every dimension in full: y may be written over it */
};

/* Strides of an operand that repeats along some dimensions; `last`: along all but the last. */
static struct operand make_operand(struct chance *c, const uint32_t *dims, uint32_t rank, bool whole, bool last) {
    struct operand o = {.elements = 1, .whole = whole};
    uint32_t kind = whole ? 0 : chance_below(c, 4); /* 1: one value; 2: by the last dimension; 3: any */
    if (last) kind = 2;
    for (uint32_t k = rank; k-- > 0;) {
        bool repeats = kind == 1 || (kind == 2 && k + 1 < rank) || (kind == 3 && chance_one_in(c, 2));
        o.stride[k] = repeats ? 0 : (uint32_t)o.elements;
        if (!repeats) o.elements *= dims[k];
    }
    if (kind == 0) o.whole = true;
    return o;
}

/* Bytes or floats of an operand, in new memory. */
static struct morsel_input make_values_of(struct trial *t, size_t elements, bool is_float) {
    struct morsel_input x = {NULL, is_float ? float_qparams() : make_qparams(&t->chance)};
    if (t->bench) x.qparams.sign_flip = t->sign_flip;
    void *data = trial_room(t, is_float ? elements * 4 : elements, is_float ? 4 : 1);
    if (is_float) make_floats(t, data, elements);
    else make_values(t, data, elements, &x.qparams);
    trial_say(t, is_float ? " float" : " flip %u zero %d own %d", (unsigned)x.qparams.sign_flip, (int)x.qparams.zero, (int)x.qparams.own);
    x.data = data;
    return x;
}

static void may_alias(struct trial *t, struct morsel_input *x, size_t elements, const struct morsel_qparams *y) {
    size_t bytes = x->qparams.is_float ? elements * 4 : elements;
    if (x->qparams.is_float != y->is_float || bytes != t->y_bytes || t->alias || !chance_one_in(&t->chance, 4)) return;
    t->alias = &x->data;
    t->alias_from = x->data;
    trial_say(t, " in place");
}

static void make_dims(struct trial *t, struct morsel_binary_args *a) {
    struct chance *c = &t->chance;
    a->rank = 1 + chance_below(c, chance_one_in(c, 3) ? 6 : 3);
    for (uint32_t k = 0; k < MORSEL_KERNEL_MAX_RANK; k++) a->dims[k] = 1;
    for (uint32_t k = 0; k < a->rank; k++) a->dims[k] = k + 1 == a->rank ? chance_size(c, 200) : 1 + chance_below(c, 5);
    if (!t->bench) return;
    for (uint32_t k = 0; k < MORSEL_KERNEL_MAX_RANK; k++) a->dims[k] = 1;
    a->rank = 1 + t->number;
    a->dims[0] = t->number ? 14 * 14 : 14 * 14 * 96;
    a->dims[1] = t->number ? 96 : 1;
}

static void make_ratios(struct trial *t, struct morsel_binary_args *a) {
    struct chance *c = &t->chance;
    a->a_ratio = chance_one_in(c, 3) ? ldexpf(1, chance_range(c, -5, 1)) : chance_float(c, 0.01f, 2);
    a->b_ratio = chance_one_in(c, 3) ? ldexpf(1, chance_range(c, -5, 1)) : chance_float(c, -0.5f, 2);
    a->offset = chance_one_in(c, 3) ? (float)chance_range(c, -99, 99) / 2 : chance_float(c, -128, 128);
    if (a->op == MORSEL_BINARY_QMUL)
        a->a_ratio = chance_one_in(c, 3) ? ldexpf(1, chance_range(c, -10, -3)) : chance_float(c, 0.0005f, 0.1f);
    if (chance_one_in(c, 20)) a->a_ratio = chance_one_in(c, 2) ? 1e30f : 1e-30f;
}

static void make_two(struct trial *t, uint32_t op, bool floats) {
    struct morsel_binary_args *a = &t->args.binary;
    struct chance *c = &t->chance;
    size_t elements = 1;
    a->op = op;
    make_dims(t, a);
    for (uint32_t k = 0; k < a->rank; k++) elements *= a->dims[k];
    struct operand x = make_operand(c, a->dims, a->rank, t->bench || chance_one_in(c, 2), false);
    struct operand y = make_operand(c, a->dims, a->rank, t->bench ? !t->number : chance_one_in(c, 2), t->bench && t->number);
    memcpy(a->a_stride, x.stride, sizeof x.stride);
    memcpy(a->b_stride, y.stride, sizeof y.stride);
    trial_say(t, "%zu elements of rank %u, a has %zu, b %zu:", elements, (unsigned)a->rank, x.elements, y.elements);
    a->a = make_values_of(t, x.elements, floats && chance_one_in(c, 2));
    a->b = make_values_of(t, y.elements, floats && chance_one_in(c, 2));
    make_output(t, &a->y, floats ? 2 : 0);
    if (t->bench && floats) a->op = t->number ? MORSEL_BINARY_MUL : MORSEL_BINARY_ADD;
    if (t->bench) a->y.qparams.sign_flip = t->sign_flip;
    make_ratios(t, a);
    t->units = (uint32_t)elements;
    t->macs = elements;
    trial_output(t, &a->y.data, elements, &a->y.qparams);
    if (x.whole) may_alias(t, &a->a, x.elements, &a->y.qparams);
    if (y.whole) may_alias(t, &a->b, y.elements, &a->y.qparams);
}

static void make_qadd(struct trial *t) {
    make_two(t, MORSEL_BINARY_QADD, false);
}

static void make_qmul(struct trial *t) {
    make_two(t, MORSEL_BINARY_QMUL, false);
}

static void make_binary(struct trial *t) {
    make_two(t, (uint32_t)chance_range(&t->chance, MORSEL_BINARY_ADD, MORSEL_BINARY_OP_COUNT - 1), true);
}

static void call_binary(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_binary_fn *)fn)(&t->args.binary, begin, end);
}

/* ---- one operand ---- */

static void make_unary(struct trial *t) {
    struct morsel_unary_args *a = &t->args.unary;
    struct chance *c = &t->chance;
    uint32_t n = t->bench ? 14 * 14 * 96 : chance_size(c, 500);
    static const uint32_t fixed[] = {MORSEL_UNARY_IDENTITY, MORSEL_UNARY_AFFINE,  MORSEL_UNARY_HARD_SWISH, MORSEL_UNARY_SIGMOID,
                                     MORSEL_UNARY_ERF,      MORSEL_UNARY_QAFFINE, MORSEL_UNARY_GELU};
    a->op = t->bench ? fixed[t->number] : chance_below(c, MORSEL_UNARY_OP_COUNT);
    if (!t->bench && chance_one_in(c, 4)) a->op = chance_below(c, MORSEL_UNARY_CLIP + 1);
    trial_say(t, "op %u, %u elements:", (unsigned)a->op, (unsigned)n);
    const bool bytes = a->op == MORSEL_UNARY_QAFFINE;
    a->x = make_values_of(t, n, t->bench && a->op == MORSEL_UNARY_GELU ? true : !bytes && chance_one_in(c, 2));
    make_output(t, &a->y, t->bench && a->op == MORSEL_UNARY_GELU ? 1 : bytes ? 0 : 2);
    a->alpha = a->op == MORSEL_UNARY_CLIP ? chance_float(c, -4, 0) : chance_float(c, 0, 1);
    a->beta = a->op == MORSEL_UNARY_CLIP ? chance_float(c, 0, 6) : chance_float(c, 0, 1);
    if (a->op == MORSEL_UNARY_CLIP && chance_one_in(c, 4)) a->alpha = 0;
    if (a->op == MORSEL_UNARY_CLIP && chance_one_in(c, 8)) a->alpha = a->beta + 1; /* no one forbids it */
    a->channels = 1 + chance_below(c, n < 40 ? n : 40);
    float *constants[2];
    for (int k = 0; k < 2; k++) {
        constants[k] = trial_room(t, a->channels * sizeof(float), 4);
        for (uint32_t i = 0; i < a->channels; i++) constants[k][i] = bytes && k ? chance_float(c, -300, 300) : chance_float(c, -2, 2);
    }
    a->scale = constants[0];
    a->offset = constants[1];
    t->units = n;
    t->macs = n;
    trial_output(t, &a->y.data, n, &a->y.qparams);
    may_alias(t, &a->x, n, &a->y.qparams);
}

static void call_unary(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_unary_fn *)fn)(&t->args.unary, begin, end);
}

static void make_lut(struct trial *t) {
    struct morsel_lut_args *a = &t->args.lut;
    struct chance *c = &t->chance;
    struct morsel_qparams any = make_qparams(c), y = make_qparams(c);
    uint32_t n = t->bench ? 14 * 14 * 96 : chance_size(c, 2000);
    y.is_float = !t->bench && chance_one_in(c, 4);
    a->is_float = y.is_float;
    a->channels = t->bench || chance_one_in(c, 2) ? 1 : chance_size(c, 40);
    a->inner = chance_one_in(c, 2) ? 1 : chance_size(c, 40);
    a->x_flip = chance_one_in(c, 2) ? 0x80 : 0;
    a->y_flip = !a->is_float && chance_one_in(c, 2) ? 0x80 : 0;
    trial_say(t, "%u elements, %u tables, inner %u, flips %u %u", (unsigned)n, (unsigned)a->channels, (unsigned)a->inner,
              (unsigned)a->x_flip, (unsigned)a->y_flip);
    uint8_t *x = trial_room(t, n, 1);
    uint8_t *table = trial_room(t, (size_t)a->channels * 256 * (a->is_float ? 4 : 1), 64);
    make_values(t, x, n, &any);
    chance_bytes(c, table, (size_t)a->channels * 256 * (a->is_float ? 4 : 1));
    a->x = x;
    a->table = table;
    t->units = n;
    t->macs = n;
    trial_output(t, &a->y, n, &y);
    if (a->is_float || !chance_one_in(c, 4)) return;
    t->alias = (const void **)(void *)&a->x;
    t->alias_from = x;
    trial_say(t, " in place");
}

static void call_lut(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_lut_fn *)fn)(&t->args.lut, begin, end);
}

/* ---- along a dimension ---- */

static void make_mean(struct trial *t) {
    struct morsel_mean_args *a = &t->args.mean;
    struct chance *c = &t->chance;
    bool along = t->bench ? t->number > 0 : chance_one_in(c, 3); /* a line that lies in order */
    uint32_t outer = t->bench ? (along ? 1024 : 1) : 1 + chance_below(c, along ? 40 : 3);
    a->count = t->bench ? (along ? 96 : 49) : chance_one_in(c, 8) ? 200 + chance_below(c, 500) : chance_size(c, 70);
    a->inner = along ? 1 : t->bench ? 1280 : chance_size(c, 150);
    size_t n = (size_t)outer * a->count * a->inner;
    trial_say(t, "%u x %u x %u:", (unsigned)outer, (unsigned)a->count, (unsigned)a->inner);
    a->x = make_values_of(t, n, !t->bench && chance_one_in(c, 6));
    make_output(t, &a->y, t->bench ? t->number == 2 : 4);
    float near = chance_float(c, 0.2f, 3) / (float)a->count;
    a->multiplier = chance_one_in(c, 3) ? ldexpf(1, (int)floorf(log2f(near))) : near;
    t->units = outer * a->inner;
    t->macs = n;
    trial_output(t, &a->y.data, t->units, &a->y.qparams);
}

static void call_mean(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_mean_fn *)fn)(&t->args.mean, begin, end);
}

static void make_softmax(struct trial *t) {
    struct morsel_softmax_args *a = &t->args.softmax;
    struct chance *c = &t->chance;
    uint32_t outer = t->bench ? (t->number == 2 ? 147 : 4) : 1 + chance_below(c, chance_one_in(c, 4) ? 12 : 3);
    bool bytes = t->bench ? t->number != 1 : chance_one_in(c, 2);
    a->count = t->bench ? (t->number == 2 ? 49 : 1000) : chance_one_in(c, 6) ? 200 + chance_below(c, 600) : chance_size(c, 200);
    a->inner = t->bench ? 1 : chance_one_in(c, 2) ? 1 : chance_size(c, 20);
    size_t n = (size_t)outer * a->count * a->inner;
    trial_say(t, "%u x %u x %u%s:", (unsigned)outer, (unsigned)a->count, (unsigned)a->inner, bytes ? " by table" : "");
    a->x = make_values_of(t, n, !bytes && chance_one_in(c, 2));
    make_output(t, &a->y, bytes ? 0 : 2);
    if (bytes) {
        float *table = trial_room(t, 256 * sizeof *table, 64);
        float odd = chance_one_in(c, 2) ? 0 : FLT_MAX; /* quotients that are no numbers */
        bool sound = t->bench || !chance_one_in(c, 12);
        for (int i = 0; i < 256; i++) table[i] = sound ? expf((float)(i - 255) * a->x.qparams.scale) : odd;
        a->table = table;
    }
    a->levels = chance_one_in(c, 2) ? 256 : chance_float(c, 1, 300);
    trial_kernel_room(t, &a->room);
    t->units = outer * a->inner;
    t->macs = n;
    trial_output(t, &a->y.data, n, &a->y.qparams);
    may_alias(t, &a->x, n, &a->y.qparams);
}

static void call_softmax(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_softmax_fn *)fn)(&t->args.softmax, begin, end);
}

static float *make_list(struct trial *t, uint32_t n) {
    float *list = trial_room(t, n * sizeof *list, 64);
    for (uint32_t i = 0; i < n; i++) list[i] = chance_float(&t->chance, -2, 2);
    return list;
}

static void make_layer_norm(struct trial *t) {
    struct morsel_layer_norm_args *a = &t->args.layer_norm;
    struct chance *c = &t->chance;
    t->units = t->bench ? 128 : chance_size(c, 12);
    a->count = t->bench ? 384 : chance_one_in(c, 6) ? 200 + chance_below(c, 600) : chance_size(c, 100);
    a->centred = t->bench || !chance_one_in(c, 4);
    a->epsilon = chance_one_in(c, 8) ? 0 : 1e-5f;
    size_t n = (size_t)t->units * a->count;
    trial_say(t, "%u x %u%s:", (unsigned)t->units, (unsigned)a->count, a->centred ? "" : " as it is");
    a->x = make_values_of(t, n, t->bench ? t->number != 1 : chance_one_in(c, 2));
    make_output(t, &a->y, t->bench ? t->number == 0 : 2);
    if (t->bench || !chance_one_in(c, 4)) a->factor = make_list(t, a->count);
    if (t->bench || !chance_one_in(c, 4)) a->term = make_list(t, a->count);
    t->macs = n;
    trial_output(t, &a->y.data, n, &a->y.qparams);
    may_alias(t, &a->x, n, &a->y.qparams);
}

static void call_layer_norm(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_layer_norm_fn *)fn)(&t->args.layer_norm, begin, end);
}

/* Strides along dims from the last one of `order` out, some of them 0, where a dimension repeats. How many elements they reach. */
static size_t make_strides(struct trial *t, const uint32_t *dims, const uint32_t *order, uint32_t *stride, bool repeats) {
    size_t elements = 1;
    for (uint32_t i = 4; i-- > 0;) {
        uint32_t k = order[i];
        stride[k] = repeats && chance_one_in(&t->chance, 3) ? 0 : (uint32_t)elements;
        if (stride[k]) elements *= dims[k];
        if (i && chance_one_in(&t->chance, 6)) elements += chance_below(&t->chance, 5); /* gaps */
    }
    return elements;
}

static void make_float_matmul(struct trial *t) {
    static const uint32_t orders[][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {0, 3, 1, 2}, {3, 0, 1, 2}};
    static const uint32_t shapes[][4] = {{12, 128, 32, 128}, {12, 128, 128, 32}};
    struct morsel_float_matmul_args *a = &t->args.float_matmul;
    struct morsel_views *v = &a->views;
    struct chance *c = &t->chance;
    const uint32_t *shape = shapes[t->number % 2], outer = t->bench ? 1 : 1 + chance_below(c, 3);
    v->middle = t->bench ? shape[0] : 1 + chance_below(c, 3);
    v->a_batch = v->b_batch = v->middle;
    v->a_divide = v->b_divide = 1;
    v->rows = t->bench ? shape[1] : chance_size(c, 20);
    v->inner = t->bench ? shape[2] : chance_one_in(c, 6) ? 1 + chance_below(c, 300) : chance_size(c, 40);
    v->columns = t->bench ? shape[3] : chance_size(c, 40);
    const uint32_t a_dims[4] = {outer, v->middle, v->rows, v->inner}, b_dims[4] = {outer, v->middle, v->inner, v->columns};
    const uint32_t dims[4] = {outer, v->middle, v->rows, v->columns}, turned = t->bench ? t->number : chance_below(c, 2);
    uint32_t a_stride[4];
    size_t a_size = make_strides(t, a_dims, orders[t->bench ? !t->number : chance_below(c, 2)], a_stride, !t->bench && chance_one_in(c, 4));
    size_t b_size = make_strides(t, b_dims, orders[t->bench ? t->number ? 1 : 3 : chance_below(c, COUNT(orders))], v->b_stride,
                                 !t->bench && chance_one_in(c, 4));
    size_t term_size = make_strides(t, dims, orders[0], v->term_stride, true);
    if (a_stride[3] != 1) a_size += v->inner;
    memcpy(v->a_stride, a_stride, sizeof v->a_stride);
    trial_say(t, "%u x %u x [%u, %u] x [%u, %u]%s:", (unsigned)outer, (unsigned)v->middle, (unsigned)v->rows, (unsigned)v->inner,
              (unsigned)v->inner, (unsigned)v->columns, turned ? " turned" : "");
    a->a = make_values_of(t, a_size, true).data;
    a->b = make_values_of(t, b_size, true).data;
    if (v->term_stride[3] > 1) v->term_stride[3] = 0;
    if (t->bench ? !t->number : chance_one_in(c, 2)) a->term = make_values_of(t, term_size, true).data;
    make_output(t, &a->y, 1);
    v->y_stride[0] = v->middle * v->rows * v->columns;
    v->y_stride[1] = (turned ? 1 : v->rows) * v->columns;
    v->y_stride[2] = (turned ? v->middle : 1) * v->columns;
    a->factor = chance_one_in(c, 2) ? 1 : chance_float(c, -2, 2);
    trial_kernel_room(t, &a->room);
    t->units = outer * v->middle * v->rows;
    t->macs = (uint64_t)t->units * v->inner * v->columns;
    trial_output(t, &a->y.data, (size_t)t->units * v->columns, &a->y.qparams);
}

static void call_float_matmul(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_float_matmul_fn *)fn)(&t->args.float_matmul, begin, end);
}

const struct family family_float_matmul = {"float_matmul", offsetof(struct morsel_kernels, float_matmul), 2, make_float_matmul,
                                           call_float_matmul};
/* Positions among n, in any order: ends, whole numbers and those between. */
static float *make_positions(struct trial *t, uint32_t count, uint32_t n) {
    float *at = trial_room(t, count * sizeof *at, 64);
    for (uint32_t i = 0; i < count; i++) {
        at[i] = chance_one_in(&t->chance, 3) ? (float)chance_below(&t->chance, n) : chance_float(&t->chance, 0, (float)(n - 1));
        if (t->bench) at[i] = (float)i * (float)(n - 1) / (float)count;
    }
    return at;
}

static void make_resize(struct trial *t) {
    struct morsel_resize_args *a = &t->args.resize;
    struct chance *c = &t->chance;
    const uint32_t images = t->bench ? 1 : chance_size(c, 3);
    a->in_h = t->bench ? 16 : chance_size(c, 6);
    a->in_w = t->bench ? 16 : chance_size(c, 6);
    a->out_h = t->bench ? 128 : chance_size(c, 12);
    a->out_w = t->bench ? 128 : chance_size(c, 12);
    a->channels = t->bench ? 21 : chance_size(c, 40);
    a->truncate = !t->bench && chance_one_in(c, 3);
    t->units = images * a->out_h;
    trial_say(t, "%u x %u x %u -> %u x %u%s:", (unsigned)a->in_h, (unsigned)a->in_w, (unsigned)a->channels, (unsigned)a->out_h,
              (unsigned)a->out_w, a->truncate ? " cut off" : "");
    a->x = make_values_of(t, (size_t)images * a->in_h * a->in_w * a->channels, t->bench ? t->number != 1 : chance_one_in(c, 2));
    make_output(t, &a->y, t->bench ? t->number == 0 : 2);
    a->rows = make_positions(t, a->out_h, a->in_h);
    a->columns = make_positions(t, a->out_w, a->in_w);
    t->macs = (uint64_t)t->units * a->out_w * a->channels;
    trial_output(t, &a->y.data, (size_t)t->macs, &a->y.qparams);
}

static void call_resize(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_resize_fn *)fn)(&t->args.resize, begin, end);
}

const struct family family_qadd = {"qadd", offsetof(struct morsel_kernels, qadd), 2, make_qadd, call_binary};
const struct family family_qmul = {"qmul", offsetof(struct morsel_kernels, qmul), 2, make_qmul, call_binary};
const struct family family_binary = {"binary", offsetof(struct morsel_kernels, binary), 2, make_binary, call_binary};
const struct family family_unary = {"unary", offsetof(struct morsel_kernels, unary), 7, make_unary, call_unary};
const struct family family_lut = {"lut", offsetof(struct morsel_kernels, lut), 1, make_lut, call_lut};
const struct family family_mean = {"mean", offsetof(struct morsel_kernels, mean), 3, make_mean, call_mean};
const struct family family_softmax = {"softmax", offsetof(struct morsel_kernels, softmax), 3, make_softmax, call_softmax};
const struct family family_layer_norm = {"layer_norm", offsetof(struct morsel_kernels, layer_norm), 2, make_layer_norm, call_layer_norm};
const struct family family_resize = {"resize", offsetof(struct morsel_kernels, resize), 2, make_resize, call_resize};
