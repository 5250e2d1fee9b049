/* SPDX-License-Identifier: MIT */
/* Matrix products: with constant weights, and of two activations. */
#include "check.h"

#include <float.h>
#include <string.h>

#define DEEP 32896u /* inputs whose sum may exceed 2^23: all are the highest */

struct fc_shape {
    uint32_t rows, inputs, outputs;
};
static const struct fc_shape fc_shapes[] = {
    {1, 1280, 1000}, {1, 512, 1000}, {1, 640, 128}, {1, 128, 128}, {1, 64, 12}, {8, 256, 256}, {17, 1536, 48},
};

/* A scale and a zero point for each row. */
static const float *make_lines(struct trial *t, uint32_t rows) {
    float *lines = trial_room(t, 2 * (size_t)rows * sizeof *lines, 4);
    for (uint32_t i = 0; i < rows; i++) {
        lines[2 * i] = chance_float(&t->chance, 0.001f, 0.1f);
        lines[2 * i + 1] = (float)chance_below(&t->chance, 256);
    }
    trial_say(t, " by line");
    return lines;
}

/* Rows with the largest scale there is, whose multipliers may be infinite. Half of them have sums of 0, as far as biases are: NaNs. */
static void make_infinite(struct trial *t, const struct morsel_fc_args *a, uint8_t *x, uint32_t biases) {
    float *lines = (float *)a->lines;
    if (chance_one_in(&t->chance, 2)) memset((int32_t *)a->channels.bias, 0, biases * sizeof(int32_t));
    for (uint32_t i = 0; i < a->rows; i++) {
        if (!chance_one_in(&t->chance, 4)) continue;
        lines[2 * i] = FLT_MAX / 255 * 2;
        int zero = (int)(a->x.qparams.sign_flip ^ (uint32_t)lines[2 * i + 1]);
        if (chance_one_in(&t->chance, 2)) memset(x + (size_t)i * a->inputs, zero, a->inputs);
    }
}

static void make_fc(struct trial *t) {
    struct morsel_fc_args *a = &t->args.fc;
    struct chance *c = &t->chance;
    struct fc_shape s = {chance_one_in(c, 2) ? 1 : chance_size(c, 20), chance_size(c, 300), chance_size(c, 150)};
    if (chance_one_in(c, 8)) s.inputs = 200 + chance_below(c, 900), s.outputs = chance_size(c, 40);
    if (chance_one_in(c, 8)) s.rows = chance_size(c, 70), s.outputs = chance_size(c, 40);
    if (chance_one_in(c, 8)) s.rows = 8 + chance_below(c, 12), s.inputs = 1132 + 4 * chance_below(c, 40);
    if (chance_one_in(c, 12)) s.rows = 480 + chance_below(c, 200), s.inputs = chance_size(c, 24), s.outputs = chance_size(c, 24);
    if (chance_one_in(c, 24)) s.rows = 4 + chance_below(c, 3), s.inputs = DEEP + chance_below(c, 64), s.outputs = 1 + chance_below(c, 4);
    if (t->bench) s = fc_shapes[t->number];
    trial_say(t, "%u rows of %u to %u", (unsigned)s.rows, (unsigned)s.inputs, (unsigned)s.outputs);
    uint8_t *x = trial_room(t, (size_t)s.rows * s.inputs, 1);
    a->x.qparams = make_qparams(c);
    if (t->bench) a->x.qparams.sign_flip = t->sign_flip;
    if (s.inputs >= DEEP) a->x.qparams.zero = 0;
    trial_say(t, " x flip %u zero %d", (unsigned)a->x.qparams.sign_flip, (int)a->x.qparams.zero);
    make_values(t, x, (size_t)s.rows * s.inputs, &a->x.qparams);
    if (s.inputs >= DEEP) memset(x, (int)(a->x.qparams.sign_flip ^ 255), (size_t)s.rows * s.inputs);
    a->x.data = x;
    make_output(t, &a->y, t->bench ? 0 : 6);
    if (t->bench) a->y.qparams.sign_flip = t->sign_flip;
    struct weights w = {.per_group = s.outputs, .padded = (s.outputs + 15) / 16 * 16, .row_used = s.inputs};
    w.entries = w.padded;
    w.taps = w.row = (s.inputs + 3) / 4 * 4;
    a->channels = make_channels(t, &w, &a->y);
    a->lines = a->y.qparams.is_float && chance_one_in(c, 2) ? make_lines(t, s.rows) : NULL;
    a->weights = w.data;
    a->rows = s.rows;
    a->inputs = s.inputs;
    a->outputs = s.outputs;
    a->blocks = w.entries / 16;
    if (a->lines && chance_one_in(c, 4)) make_infinite(t, a, x, w.entries);
    trial_kernel_room(t, &a->room);
    t->units = a->rows * a->blocks;
    t->macs = (uint64_t)s.rows * s.inputs * s.outputs;
    trial_output(t, &a->y.data, (size_t)s.rows * s.outputs, &a->y.qparams);
}

static void call_fc(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_fc_fn *)fn)(&t->args.fc, begin, end);
}

const struct family family_fc = {
    "fc", offsetof(struct morsel_kernels, fc), sizeof fc_shapes / sizeof *fc_shapes, make_fc, call_fc,
};

/* ---- two activations ---- */

static const uint8_t *make_bytes(struct trial *t, size_t n, struct morsel_qparams *qparams) {
    uint8_t *data = trial_room(t, n, 1);
    *qparams = make_qparams(&t->chance);
    if (t->bench) qparams->sign_flip = t->sign_flip;
    trial_say(t, " flip %u zero %d", (unsigned)qparams->sign_flip, (int)qparams->zero);
    make_values(t, data, n, qparams);
    return data;
}

/* Row-major; what is smaller repeats. Returns the batch. */
static uint32_t make_whole_operands(struct trial *t, struct morsel_views *v) {
    struct chance *c = &t->chance;
    const uint32_t batch = t->bench ? 4 : 1 + chance_below(c, 4);
    v->middle = v->b_stride[3] = 1;
    v->a_divide = 1 + chance_below(c, 2);
    v->b_divide = 1 + chance_below(c, 2);
    v->a_batch = 1 + chance_below(c, batch);
    v->b_batch = 1 + chance_below(c, batch);
    v->a_stride[2] = v->inner;
    v->b_stride[2] = v->y_stride[2] = v->columns;
    v->a_stride[1] = v->rows * v->inner;
    v->b_stride[1] = v->inner * v->columns;
    v->y_stride[0] = v->rows * v->columns;
    return batch;
}

/* Views: heads that lie side by side, or whole; columns that lie apart; results that are turned. */
static uint32_t make_views(struct trial *t, struct morsel_views *v) {
    struct chance *c = &t->chance;
    const uint32_t outer = 1 + chance_below(c, 2), apart = 1 + chance_below(c, 3), turned = chance_below(c, 2);
    const int columns_apart = v->inner % 4 == 0 && chance_one_in(c, 2);
    v->middle = v->a_batch = v->b_batch = 1 + chance_below(c, 3);
    v->a_divide = v->b_divide = 1;
    v->a_stride[2] = v->inner * apart + (chance_one_in(c, 4) ? chance_below(c, 9) : 0);
    v->a_stride[1] = chance_one_in(c, 2) ? v->inner : v->rows * v->a_stride[2];
    v->a_stride[0] = chance_one_in(c, 4) ? 0 : v->middle * v->a_stride[1] + chance_below(c, 9);
    v->b_stride[2] = columns_apart ? 1 : v->columns + chance_below(c, 40);
    v->b_stride[3] = columns_apart ? v->inner + chance_below(c, 40) : 1;
    v->b_stride[1] = chance_one_in(c, 3) ? 0 : 1 + chance_below(c, v->columns + v->inner);
    v->b_stride[0] = chance_below(c, 99);
    v->y_stride[0] = v->middle * v->rows * v->columns;
    v->y_stride[1] = (turned ? 1 : v->rows) * v->columns;
    v->y_stride[2] = (turned ? v->middle : 1) * v->columns;
    trial_say(t, " apart %u %u turned %u", (unsigned)v->a_stride[2], (unsigned)v->b_stride[3], (unsigned)turned);
    return outer * v->middle;
}

/* How many elements the strides span. */
static size_t spanned(const struct morsel_views *v, uint32_t batch, uint32_t of_middle, const uint32_t *stride, uint32_t one, uint32_t two,
                      uint32_t two_step) {
    const size_t outer = (batch - 1) / v->middle;
    return outer * stride[0] + (size_t)(of_middle - 1) * stride[1] + (size_t)(one - 1) * stride[2] + (size_t)(two - 1) * two_step + 1;
}

static void make_matmul(struct trial *t) {
    struct morsel_matmul_args *a = &t->args.matmul;
    struct morsel_views *v = &a->views;
    struct chance *c = &t->chance;
    v->rows = t->bench ? 64 : chance_size(c, 30);
    v->inner = t->bench ? 64 : chance_size(c, 150);
    v->columns = t->bench ? 64 : chance_size(c, 100);
    if (!t->bench && chance_one_in(c, 8)) {
        v->rows = chance_size(c, 70);
        v->inner = 200 + chance_below(c, 400);
        v->columns = chance_size(c, 40);
    }
    if (!t->bench && chance_one_in(c, 2)) v->inner = (v->inner + 3) / 4 * 4;
    const uint32_t batch = t->bench || chance_one_in(c, 2) ? make_whole_operands(t, v) : make_views(t, v);
    trial_say(t, " %u of %ux%ux%u", (unsigned)batch, (unsigned)v->rows, (unsigned)v->inner, (unsigned)v->columns);
    a->a.data = make_bytes(t, spanned(v, batch, v->a_batch, v->a_stride, v->rows, v->inner, 1), &a->a.qparams);
    a->b.data = make_bytes(t, spanned(v, batch, v->b_batch, v->b_stride, v->inner, v->columns, v->b_stride[3]), &a->b.qparams);
    make_output(t, &a->y, t->bench ? 0 : 6);
    if (t->bench) a->y.qparams.sign_flip = t->sign_flip;
    a->multiplier = chance_one_in(c, 3) ? 1.0f / (float)(1u << chance_below(c, 16)) : chance_float(c, 0.0001f, 0.02f);
    trial_kernel_room(t, &a->room);
    t->units = batch * v->rows;
    t->macs = (uint64_t)t->units * v->inner * v->columns;
    trial_output(t, &a->y.data, (size_t)t->units * v->columns, &a->y.qparams);
}

static void call_matmul(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_matmul_fn *)fn)(&t->args.matmul, begin, end);
}

const struct family family_matmul = {"matmul", offsetof(struct morsel_kernels, matmul), 1, make_matmul, call_matmul};
