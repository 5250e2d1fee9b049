/* SPDX-License-Identifier: MIT */
/* Operators of two operands and means, eight floats at a time. The file that includes this says what `eight` is: see float_loops.h. */
#ifndef MORSEL_FLOAT_PAIRS_H
#define MORSEL_FLOAT_PAIRS_H

#include "float_elements.h"
#include "walk.h"

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

/* Sums of floats in order, which take most of the time of networks in float: eight by eight, and how many that makes. */
static uint32_t eight_add_floats(const struct eight_writer *w, const float *a, const float *b, float *y, uint32_t n) {
    struct eight_writer floats = *w;
    uint32_t i = 0;
    floats.is_float = 1;
    for (; n - i >= 8; i += 8) eight_write(&floats, y, i, 0, 8, eight_add(eight_load(a + i), eight_load(b + i)));
    return i;
}

static int eight_adds_floats(const struct morsel_binary_args *args, const struct eight_operand *a, const struct eight_operand *b) {
    return args->op == MORSEL_BINARY_ADD && a->step && b->step && a->x->qparams.is_float && b->x->qparams.is_float &&
           args->y.qparams.is_float;
}

/* n elements of y from `first` on, eight at least. An operand in place is y at the same elements: they are read before they are written.
 * The last eight are computed first and written at the end, so that no rest is left that is read element by element. */
static void eight_binary_line(const struct morsel_binary_args *args, const struct eight_writer *w, const struct eight_operand *a,
                              const struct eight_operand *b, uint32_t first, uint32_t n) {
    const eight same_a = eight_all(a->step ? 0 : morsel_load_float(a->x, a->at)),
                same_b = eight_all(b->step ? 0 : morsel_load_float(b->x, b->at));
    uint32_t i = n - 8;
    eight end, *last = &end;
    do {
        eight v = eight_combine(args->op, eight_next(a, same_a, i), eight_next(b, same_b, i));
        if (last) {
            *last = v;
            last = NULL;
            i = 0;
            if (eight_adds_floats(args, a, b))
                i = eight_add_floats(w, (const float *)a->x->data + a->at, (const float *)b->x->data + b->at, (float *)args->y.data + first,
                                     n);
        } else {
            eight_write(w, args->y.data, first + i, 0, 8, v);
            i += 8;
        }
    } while (n > i + 8);
    eight_put(w, args->y.data, first + n - 8, 8, end);
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
    if (morsel_is_in_order(args) && end - begin >= 8) {
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
        if (n < 8) {
            /* The first run may be the end of a longer line. Any other short one is the last of all, or all lines are as short. */
            const uint32_t stop = walk.begin == begin ? begin + n : end;
            morsel_binary_c(args, walk.begin, stop);
            if (stop == end) return;
            continue;
        }
        eight_binary_line(args, &w, &a, &b, walk.begin, n);
    }
}

/* ---- means ---- */

/* Means of lines that lie in order, units begin .. end. */
static void eight_mean_lines(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++) {
        const float *x = (const float *)a->x.data + (size_t)begin * a->count;
        eight sum = eight_all(0);
        for (uint32_t i = 0; i < a->count; i += 8) sum = eight_add(sum, eight_first(x + i, a->count - i < 8 ? a->count - i : 8));
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

#endif
