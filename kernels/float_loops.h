/* SPDX-License-Identifier: MIT */
/*
 * Floats eight at a time, for instruction sets that have so many at hand. Lanes are outputs or channels, so that each sum keeps the order
 * of plain C. The file that includes this says before what they are:
 *
 *     eight                              eight floats
 *     eight_load, eight_save             from and to floats, at any address
 *     eight_load_half                    from eight binary16
 *     eight_all                          one float in all places
 *     eight_add, eight_mul, eight_scale  each result rounded, nothing fused; eight_scale by one float
 *     eight_sqrt                         the root, correctly rounded
 *     eight_number(a, x, y)              a NaN in `a` gives y, all else x
 *     eight_sub, eight_div and others    float_functions.h says what
 *     struct eight_reader, eight_reader  how eight bytes become floats; eight_load_bytes reads them
 *     struct eight_writer, eight_writer  how results become elements of y; eight_write stores n of eight, from one on, and
 *                                        eight_write_steps what is in steps of y already, as bytes
 */
#ifndef MORSEL_FLOAT_LOOPS_H
#define MORSEL_FLOAT_LOOPS_H

#include "float.h"
#include "float_conv.h"
#include "float_functions.h"

#include "float_activations.h"
#include "softmax.h"
#include "walk.h"

EIGHT_INLINE eight eight_weights(const void *w, size_t i, uint32_t half) {
    return half ? eight_load_half((const uint16_t *)w + i) : eight_load((const float *)w + i);
}

static void eight_take_bytes(const struct morsel_input *x, size_t at, uint32_t n, float *to) {
    struct eight_reader r = eight_reader(&x->qparams);
    for (; n >= 8; n -= 8, at += 8, to += 8) eight_save(to, eight_load_bytes(&r, (const uint8_t *)x->data + at));
    if (n) morsel_load_floats(x, at, 1, n, to);
}

/* ---- outputs with inputs in common ---- */

EIGHT_INLINE eight eight_more(eight sum, eight v, float x) {
    return eight_add(sum, eight_scale(v, x));
}

/* Eight pixels, the inputs of each `step` behind those of the one before, with a block of outputs. */
static void eight_pixels(const float *x, size_t step, uint32_t taps, const void *weights, size_t at, uint32_t half, float (*sums)[8]) {
    eight s0 = eight_load(sums[0]), s1 = eight_load(sums[1]), s2 = eight_load(sums[2]), s3 = eight_load(sums[3]);
    eight s4 = eight_load(sums[4]), s5 = eight_load(sums[5]), s6 = eight_load(sums[6]), s7 = eight_load(sums[7]);
    for (; taps; taps--, x++, at += 8) {
        eight v = eight_weights(weights, at, half);
        s0 = eight_more(s0, v, x[0]);
        s1 = eight_more(s1, v, x[step]);
        s2 = eight_more(s2, v, x[2 * step]);
        s3 = eight_more(s3, v, x[3 * step]);
        s4 = eight_more(s4, v, x[4 * step]);
        s5 = eight_more(s5, v, x[5 * step]);
        s6 = eight_more(s6, v, x[6 * step]);
        s7 = eight_more(s7, v, x[7 * step]);
    }
    eight_save(sums[0], s0);
    eight_save(sums[1], s1);
    eight_save(sums[2], s2);
    eight_save(sums[3], s3);
    eight_save(sums[4], s4);
    eight_save(sums[5], s5);
    eight_save(sums[6], s6);
    eight_save(sums[7], s7);
}

/* A pixel with four blocks of outputs, the weights of each `next` behind those of the one before. Or with up to `last`, which then stands
 * for those after it too, with the same result. */
static void eight_blocks(const float *x, uint32_t taps, const void *weights, size_t at, size_t next, uint32_t half, float (*sums)[8],
                         uint32_t last) {
    size_t b1 = last < 1 ? last : 1, b2 = last < 2 ? last : 2, b3 = last < 3 ? last : 3;
    float *to1 = sums[b1 * MORSEL_FLOAT_PIXELS], *to2 = sums[b2 * MORSEL_FLOAT_PIXELS], *to3 = sums[b3 * MORSEL_FLOAT_PIXELS];
    eight s0 = eight_load(sums[0]), s1 = eight_load(to1), s2 = eight_load(to2), s3 = eight_load(to3);
    for (; taps; taps--, x++, at += 8) {
        s0 = eight_more(s0, eight_weights(weights, at, half), *x);
        s1 = eight_more(s1, eight_weights(weights, at + b1 * next, half), *x);
        s2 = eight_more(s2, eight_weights(weights, at + b2 * next, half), *x);
        s3 = eight_more(s3, eight_weights(weights, at + b3 * next, half), *x);
    }
    eight_save(sums[0], s0);
    eight_save(to1, s1);
    eight_save(to2, s2);
    eight_save(to3, s3);
}

static void eight_add_taps(struct morsel_float_strip *s, const float *x, size_t step, uint32_t k, uint32_t n) {
    const void *weights = s->args->weights;
    uint32_t half = s->args->half;
    size_t next = (size_t)s->taps * 8;
    for (uint32_t b = 0, p = 0; b < s->blocks;) {
        size_t at = (s->block + b) * next + (size_t)k * 8;
        if (s->pixels == MORSEL_FLOAT_PIXELS) {
            eight_pixels(x, step, n, weights, at, half, s->sums[b++]);
            continue;
        }
        eight_blocks(x + p * step, n, weights, at, next, half, s->sums[b] + p, s->blocks - b - 1);
        if (++p == s->pixels) p = 0, b += 4;
    }
}

static void eight_store(const struct morsel_float_conv_args *a, uint32_t channel, uint32_t from, uint32_t end, float (*sums)[8],
                        uint32_t pixels, size_t at) {
    struct eight_writer w = eight_writer(&a->y);
    eight bias = a->bias ? eight_load(a->bias + channel) : eight_all(0); /* a sum is never -0: 0 changes none */
    uint32_t first = from > channel ? from - channel : 0, n = (end - channel < 8 ? end - channel : 8) - first;
    at = at * a->window.out_c + channel + first;
    for (uint32_t p = 0; p < pixels; p++, at += a->window.out_c)
        eight_write(&w, a->y.data, at, first, n, eight_add(eight_load(sums[p]), bias));
}

/* ---- an input for each output ---- */

#define EIGHT_COLUMNS 128u /* of all rows of a window, that are gathered */
#define EIGHT_ROWS 16u

/* Four pixels, channels c .. c + 8. x: the first pixel's inputs in each row of the window; steps from column to column, pixel to pixel. */
static void eight_four_pixels(const struct morsel_float_conv_args *a, const float *const *x, size_t column, size_t pixel, uint32_t c,
                              float (*sums)[8]) {
    const struct morsel_window *w = &a->window;
    size_t wide = (w->out_c + 7) / 8 * 8, weights = c;
    eight s0 = eight_all(0), s1 = s0, s2 = s0, s3 = s0;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        const float *in = x[ky];
        for (uint32_t kx = 0; kx < w->kernel_w; kx++, in += column, weights += wide) {
            eight v = eight_weights(a->weights, weights, a->half);
            s0 = eight_add(s0, eight_mul(v, eight_load(in)));
            s1 = eight_add(s1, eight_mul(v, eight_load(in + pixel)));
            s2 = eight_add(s2, eight_mul(v, eight_load(in + 2 * pixel)));
            s3 = eight_add(s3, eight_mul(v, eight_load(in + 3 * pixel)));
        }
    }
    eight_save(sums[0], s0);
    eight_save(sums[1], s1);
    eight_save(sums[2], s2);
    eight_save(sums[3], s3);
}

/* `columns` columns of a row from the one `left` on, channels c .. c + 8, as floats: 0 for padding. */
static void eight_gather(const struct morsel_float_conv_args *a, const uint8_t *row, uint32_t left, uint32_t columns, uint32_t c,
                         float *to) {
    struct eight_reader r = eight_reader(&a->x.qparams);
    for (uint32_t end = left + columns; left != end; left++, to += 8) {
        size_t at = (size_t)left * a->window.in_c + c;
        eight v = eight_all(0);
        if (row && left < a->window.in_w)
            v = a->x.qparams.is_float ? eight_load((const float *)(const void *)row + at) : eight_load_bytes(&r, row + at);
        eight_save(to, v);
    }
}

/* Up to four pixels of a row from column ox on, channels c .. c + 8: from where they lie, or from where they are gathered. */
static void eight_four(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t ox, uint32_t columns, uint32_t whole,
                       uint32_t c, float (*sums)[8]) {
    const struct morsel_window *w = &a->window;
    uint32_t left = ox * w->stride_w - w->pad_left; /* left of the picture: huge */
    uint32_t inside = whole && left < w->in_w && left + columns - 1 < w->in_w;
    size_t step = inside ? w->in_c : 8;
    float gathered[EIGHT_COLUMNS * 8], *to = gathered;
    const float *x[EIGHT_ROWS];
    for (uint32_t ky = 0; ky < w->kernel_h; ky++, to += columns * 8) {
        x[ky] = inside ? (const float *)(const void *)rows[ky] + (size_t)left * w->in_c + c : to;
        if (!inside) eight_gather(a, rows[ky], left, columns, c, to);
    }
    eight_four_pixels(a, x, step * w->dilation_w, step * w->stride_w, c, sums);
}

/* The last eight channels overlap with those before them, and the last four pixels too, unless there are fewer. */
static void eight_each_row(const struct morsel_float_conv_args *a, const uint8_t *const *rows, size_t at) {
    const struct morsel_window *w = &a->window;
    uint32_t columns = 3 * w->stride_w + (w->kernel_w - 1) * w->dilation_w + 1, whole = a->x.qparams.is_float;
    uint32_t pixels = w->out_w < 4 ? w->out_w : 4;
    if (w->out_c < 8 || w->kernel_h > EIGHT_ROWS || columns > EIGHT_COLUMNS / w->kernel_h) {
        morsel_float_each_row_c(a, rows, at);
        return;
    }
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) whole &= rows[ky] != NULL;
    for (uint32_t first = 0; first < w->out_w; first += 4) {
        uint32_t ox = w->out_w - first < pixels ? w->out_w - pixels : first;
        for (uint32_t channel = 0; channel < w->out_c; channel += 8) {
            uint32_t c = w->out_c - channel < 8 ? w->out_c - 8 : channel;
            float sums[4][8];
            eight_four(a, rows, ox, columns, whole, c, sums);
            eight_store(a, c, c, w->out_c, sums, pixels, at + ox);
        }
    }
}

static const struct morsel_float_isa eight_isa = {eight_take_bytes, eight_add_taps, eight_store, eight_each_row};

/* ---- element by element ---- */

EIGHT_INLINE eight eight_read(const struct eight_reader *r, const struct morsel_input *x, size_t i) {
    return x->qparams.is_float ? eight_load((const float *)x->data + i) : eight_load_bytes(r, (const uint8_t *)x->data + i);
}

/* The first n of eight, `step` elements apart; 0 in the other places. */
static eight eight_read_some(const struct morsel_input *x, size_t i, uint32_t step, uint32_t n) {
    float v[MORSEL_LANES];
    morsel_load_floats(x, i, step, n, v);
    return eight_load(v);
}

/* The first n of eight floats, 0 in the other places. */
EIGHT_INLINE eight eight_first(const float *v, uint32_t n) {
    float some[8] = {0};
    if (n == 8) return eight_load(v);
    memcpy(some, v, n * sizeof *some);
    return eight_load(some);
}

/* eight_write by a call, for what is behind much work or rare: the code of it stands once. */
static __attribute__((noinline)) void eight_put(const struct eight_writer *w, void *y, size_t i, uint32_t n, eight v) {
    eight_write(w, y, i, 0, n, v);
}

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
    case MORSEL_UNARY_TANH: return eight_tanh(v);
    case MORSEL_UNARY_AFFINE: return eight_add(eight_mul(v, scale), offset);
    case MORSEL_UNARY_EXP: return eight_exp(v);
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
        eight v = n == 8 ? eight_read(&r, &a->x, begin) : eight_read_some(&a->x, begin, 1, n);
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

/* ---- two operands ---- */

EIGHT_INLINE eight eight_combine(uint32_t op, eight a, eight b) {
    switch (op) {
    case MORSEL_BINARY_ADD: return eight_add(a, b);
    case MORSEL_BINARY_SUB: return eight_sub(a, b);
    case MORSEL_BINARY_MUL: return eight_mul(a, b);
    case MORSEL_BINARY_DIV: return eight_div(a, b);
    case MORSEL_BINARY_MAX: return eight_number(a, eight_select(b, a, a, b), a);
    case MORSEL_BINARY_MASK: return eight_select(eight_all(0), b, a, eight_all(0));
    case MORSEL_BINARY_PRELU: return eight_select(a, eight_all(0), eight_mul(a, b), a);
    default: return eight_number(a, eight_select(a, b, a, b), a);
    }
}

/* An operand along a line: in order, or one element for all. */
struct eight_operand {
    const struct morsel_input *x;
    struct eight_reader reader;
    size_t at;
    uint32_t step; /* 0 or 1 */
};

EIGHT_INLINE eight eight_next(const struct eight_operand *o, eight same, uint32_t i) {
    return o->step ? eight_read(&o->reader, o->x, o->at + i) : same;
}

/* n elements of y from `first` on. An operand in place is y at the same elements: they are read before they are written. */
static void eight_binary_line(const struct morsel_binary_args *args, const struct eight_writer *w, const struct eight_operand *a,
                              const struct eight_operand *b, uint32_t first, uint32_t n) {
    const eight same_a = eight_all(a->step ? 0 : morsel_load_float(a->x, a->at)),
                same_b = eight_all(b->step ? 0 : morsel_load_float(b->x, b->at));
    for (uint32_t i = 0, now; i < n; i += now) {
        now = n - i < 8 ? n - i : 8;
        eight va = now == 8 ? eight_next(a, same_a, i) : eight_read_some(a->x, a->at + (size_t)i * a->step, a->step, now);
        eight vb = now == 8 ? eight_next(b, same_b, i) : eight_read_some(b->x, b->at + (size_t)i * b->step, b->step, now);
        eight_write(w, args->y.data, first + i, 0, now, eight_combine(args->op, va, vb));
    }
}

/* Line by line where an operand repeats. */
static void eight_binary(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    const uint32_t last = args->rank - 1;
    const struct eight_writer w = eight_writer(&args->y);
    struct eight_operand a = {&args->a, eight_reader(&args->a.qparams), begin, 1}, b = {&args->b, eight_reader(&args->b.qparams), begin, 1};
    struct morsel_walk walk;
    if (morsel_float_pair_refusal(args)) {
        morsel_binary_c(args, begin, end);
        return;
    }
    if (morsel_is_in_order(args)) {
        eight_binary_line(args, &w, &a, &b, begin, end - begin);
        return;
    }
    a.step = args->a_stride[last];
    b.step = args->b_stride[last];
    if (a.step > 1 || b.step > 1) {
        morsel_binary_c(args, begin, end);
        return;
    }
    morsel_walk_start(&walk, args->dims, args->rank, begin, end);
    for (uint32_t n; (n = morsel_walk_run(&walk)) != 0; morsel_walk_next(&walk, n)) {
        a.at = morsel_walk_offset(&walk, args->a_stride);
        b.at = morsel_walk_offset(&walk, args->b_stride);
        eight_binary_line(args, &w, &a, &b, walk.begin, n);
    }
}

/* ---- along lines ---- */

static float eight_sum(eight v) {
    float partial[8];
    eight_save(partial, v);
    return morsel_add_eight(partial);
}

/* Means of lines that lie in order, units begin .. end. */
static void eight_mean_lines(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++) {
        const size_t first = (size_t)begin * a->count;
        eight sum = eight_all(0);
        uint32_t i = 0;
        for (; a->count - i >= 8; i += 8) sum = eight_add(sum, eight_load((const float *)a->x.data + first + i));
        if (i < a->count) sum = eight_add(sum, eight_read_some(&a->x, first + i, 1, a->count - i));
        morsel_store_float(&a->y, begin, eight_sum(sum) / (float)a->count);
    }
}

/* Of floats. Eight lines side by side, each in its order; fewer are left to plain C. */
static void eight_mean(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    const struct eight_writer w = eight_writer(&a->y);
    if (a->inner == 1) {
        eight_mean_lines(a, begin, end);
        return;
    }
    for (uint32_t line; begin < end; begin = line) {
        uint32_t at = begin % a->inner;
        line = a->inner - at < end - begin ? begin + a->inner - at : end;
        const float *x = (const float *)a->x.data + (size_t)(begin / a->inner) * a->count * a->inner + at;
        for (; line - begin >= 8; begin += 8, x += 8) {
            eight sum = eight_all(0);
            for (uint32_t i = 0; i < a->count; i++) sum = eight_add(sum, eight_load(x + (size_t)i * a->inner));
            eight_put(&w, a->y.data, begin, 8, eight_div(sum, eight_all((float)a->count)));
        }
        if (begin < line) morsel_mean_c(a, begin, line);
    }
}

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
    if (n == 8) return eight_exp_below(eight_sub(eight_read(r, &a->x, i), most));
    eight_save(exponentials, eight_exp_below(eight_sub(eight_read_some(&a->x, i, 1, n), most)));
    return eight_first(exponentials, n);
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
