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

static void make_matmul(struct trial *t) {
    struct morsel_matmul_args *a = &t->args.matmul;
    struct chance *c = &t->chance;
    uint32_t batch = t->bench ? 4 : 1 + chance_below(c, 4);
    a->rows = t->bench ? 64 : chance_size(c, 30);
    a->inner = t->bench ? 64 : chance_size(c, 150);
    a->columns = t->bench ? 64 : chance_size(c, 100);
    if (!t->bench && chance_one_in(c, 8)) {
        a->rows = chance_size(c, 70);
        a->inner = 200 + chance_below(c, 400);
        a->columns = chance_size(c, 40);
    }
    a->a_divide = 1 + chance_below(c, 2);
    a->b_divide = 1 + chance_below(c, 2);
    a->a_batch = 1 + chance_below(c, batch);
    a->b_batch = 1 + chance_below(c, batch);
    trial_say(t, "%u of %ux%ux%u", (unsigned)batch, (unsigned)a->rows, (unsigned)a->inner, (unsigned)a->columns);
    a->a.data = make_bytes(t, (size_t)a->a_batch * a->rows * a->inner, &a->a.qparams);
    a->b.data = make_bytes(t, (size_t)a->b_batch * a->inner * a->columns, &a->b.qparams);
    make_output(t, &a->y, t->bench ? 0 : 6);
    if (t->bench) a->y.qparams.sign_flip = t->sign_flip;
    a->multiplier = chance_one_in(c, 3) ? 1.0f / (float)(1u << chance_below(c, 16)) : chance_float(c, 0.0001f, 0.02f);
    trial_kernel_room(t, &a->room);
    t->units = batch * a->rows;
    t->macs = (uint64_t)t->units * a->inner * a->columns;
    trial_output(t, &a->y.data, (size_t)t->units * a->columns, &a->y.qparams);
}

static void call_matmul(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_matmul_fn *)fn)(&t->args.matmul, begin, end);
}

const struct family family_matmul = {"matmul", offsetof(struct morsel_kernels, matmul), 1, make_matmul, call_matmul};
