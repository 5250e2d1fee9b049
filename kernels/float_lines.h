/* SPDX-License-Identifier: MIT */
/* Elementwise operators of one operand and the softmax, eight floats at a time. The file that includes this says what `eight` is: see
 * float_loops.h. */
#ifndef MORSEL_FLOAT_LINES_H
#define MORSEL_FLOAT_LINES_H

#include "float_elements.h"

#include "float_activations.h"
#include "softmax.h"

/* ---- element by element ---- */

EIGHT_INLINE eight eight_linear_step(eight x, float alpha, float beta) {
    const eight zero = eight_all(0), one = eight_all(1), v = eight_horner(x, eight_all(alpha), beta);
    const eight w = eight_select(v, zero, zero, v);
    return eight_select(one, w, one, w);
}

/* The limits of CLIP hold as those of y; AFFINE takes its constants from `channel` on. */
EIGHT_INLINE eight eight_apply(const struct morsel_unary_args *a, eight v, eight scale, eight offset) {
    const eight zero = eight_all(0);
    switch (a->op) {
    case MORSEL_UNARY_LEAKY_RELU: return eight_select(v, zero, eight_scale(v, a->alpha), v);
    case MORSEL_UNARY_HARD_SIGMOID: return eight_linear_step(v, a->alpha, a->beta);
    case MORSEL_UNARY_HARD_SWISH: return eight_mul(v, eight_linear_step(v, a->alpha, a->beta));
    case MORSEL_UNARY_AFFINE: return eight_add(eight_mul(v, scale), offset);
    case MORSEL_UNARY_SQRT: return eight_sqrt(v);
    case MORSEL_UNARY_ABS: return eight_abs(v);
    case MORSEL_UNARY_NEG: return eight_scale(v, -1);
    case MORSEL_UNARY_IDENTITY:
    case MORSEL_UNARY_CLIP: return v;
    default: return eight_activation(a->op, v, a->alpha, a->beta);
    }
}

/* Elements begin .. end, which with AFFINE belong to channels from `channel` on. */
static void eight_unary_line(const struct morsel_unary_args *a, const struct morsel_output *y, uint32_t begin, uint32_t end,
                             uint32_t channel) {
    const struct eight_reader r = eight_reader(&a->x.qparams);
    const struct eight_writer w = eight_writer(y);
    const int affine = a->op == MORSEL_UNARY_AFFINE;
    eight scale = eight_all(0), offset = scale;
    for (uint32_t n; begin < end; begin += n, channel += n) {
        n = end - begin < 8 ? end - begin : 8;
        eight v = n == 8 ? eight_read(&r, &a->x, begin) : eight_read_some(&a->x, begin, n);
        if (affine) scale = eight_first(a->scale + channel, n), offset = eight_first(a->offset + channel, n);
        eight_write(&w, y->data, begin, 0, n, eight_apply(a, v, scale, offset));
    }
}

/* CLIP: two limits one after the other are those of the second, with the first ones limited by it. */
static void eight_unary(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    struct morsel_output y = a->y;
    if (a->op == MORSEL_UNARY_CLIP && !(a->alpha <= a->beta)) {
        morsel_unary_c(a, begin, end);
        return;
    }
    if (a->op == MORSEL_UNARY_CLIP) {
        y.float_min = morsel_clamp(a->alpha, a->y.float_min, a->y.float_max);
        y.float_max = morsel_clamp(a->beta, a->y.float_min, a->y.float_max);
    }
    if (a->op != MORSEL_UNARY_AFFINE) eight_unary_line(a, &y, begin, end, 0);
    else
        for (uint32_t channel, n; begin < end; begin += n) {
            channel = begin % a->channels;
            n = a->channels - channel < end - begin ? a->channels - channel : end - begin;
            eight_unary_line(a, &y, begin, begin + n, channel);
        }
}

/* ---- the softmax ---- */

/* The largest of a line; no NaN is. */
static float eight_largest(const struct morsel_input *x, const struct eight_reader *r, size_t first, uint32_t count) {
    float largest[8], most = -FLT_MAX;
    eight v = eight_all(most);
    uint32_t i = 0;
    for (; count - i >= 8; i += 8) {
        eight next = eight_read(r, x, first + i);
        v = eight_select(v, next, next, v);
    }
    eight_save(largest, v);
    for (uint32_t o = 0; o < 8; o++) most = largest[o] > most ? largest[o] : most;
    for (; i < count; i++) {
        float next = morsel_load_float(x, first + i);
        most = next > most ? next : most;
    }
    return most;
}

/* Elements i and on of a line, and the largest: exponentials, n of eight, 0 in the other places. */
EIGHT_INLINE eight eight_exponentials(const struct morsel_softmax_args *a, const struct eight_reader *r, size_t i, uint32_t n, eight most) {
    float exponentials[8];
    if (n == 8) return eight_exp_weight(eight_sub(eight_read(r, &a->x, i), most));
    eight_save(exponentials, eight_exp_weight(eight_sub(eight_read_some(&a->x, i, n), most)));
    return eight_some(exponentials, n);
}

/* A line in order. Exponentials wait in y where y is of floats. */
static void eight_softmax_line(const struct morsel_softmax_args *a, size_t first) {
    const struct eight_reader r = eight_reader(&a->x.qparams);
    const struct eight_writer w = eight_writer(&a->y);
    const uint32_t kept = a->y.qparams.is_float, whole = a->count / 8 * 8, rest = a->count % 8;
    const eight most = eight_all(eight_largest(&a->x, &r, first, a->count));
    float *y = (float *)a->y.data + first, last[8];
    eight sum = eight_all(0);
    for (uint32_t i = 0; i < whole; i += 8) {
        const eight v = eight_exponentials(a, &r, first + i, 8, most);
        if (kept) eight_save(y + i, v);
        sum = eight_add(sum, v);
    }
    const eight tail = rest ? eight_exponentials(a, &r, first + whole, rest, most) : eight_all(0);
    if (rest) sum = eight_add(sum, tail);
    eight_save(last, tail);
    sum = eight_all(eight_sum(sum));
    for (uint32_t i = 0; i < whole; i += 8)
        eight_write(&w, a->y.data, first + i, 0, 8,
                    eight_div(kept ? eight_load(y + i) : eight_exponentials(a, &r, first + i, 8, most), sum));
    if (rest) eight_put(&w, a->y.data, first + whole, rest, eight_div(eight_load(last), sum));
}

/* Of lines of bytes. The last eight overlap with those before them, unless there are fewer. */
static void eight_divide(const struct morsel_softmax_args *a, const float *exponentials, float sum, uint32_t n, uint8_t *to) {
    const struct eight_writer w = eight_writer(&a->y);
    const eight all = eight_all(sum), none = eight_all(0);
    const uint32_t now = n < 8 ? n : 8;
    for (uint32_t first = 0; first < n; first += 8) {
        uint32_t i = n - first < now ? n - now : first;
        eight v = eight_div(eight_scale(eight_first(exponentials + i, now), a->levels), all);
        eight_write_steps(&w, to, i, 0, now, eight_number(v, v, none));
    }
}

static void eight_softmax(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    if (a->table) morsel_softmax_bytes(a, eight_divide, begin, end);
    else if (morsel_softmax_refusal(a)) morsel_softmax_c(a, begin, end);
    else
        for (; begin < end; begin++) eight_softmax_line(a, (size_t)begin * a->count);
}

#endif
