/* SPDX-License-Identifier: MIT */
/* Quantization whose numbers are found at run time: the ends of pieces, scales and zero points, bytes. */
#include "check.h"

#include <float.h>
#include <math.h>

/* So many elements in pieces of `count`. */
static uint32_t make_pieces(struct trial *t, uint32_t *elements, uint32_t *count) {
    struct chance *c = &t->chance;
    *count = t->bench ? 4096 : chance_one_in(c, 3) ? chance_size(c, 2000) : chance_size(c, 100);
    *elements = t->bench ? 4096 * 48 : chance_one_in(c, 2) ? chance_size(c, 3000) : *count * chance_size(c, 20);
    trial_say(t, "%u by %u", (unsigned)*elements, (unsigned)*count);
    return (*elements - 1) / *count + 1;
}

/* Odd ones among floats of one size. */
static void make_mixed(struct trial *t, float *to, size_t n, float size) {
    static const float odd[] = {0, -0.0f, INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45f, -1e-45f};
    struct chance *c = &t->chance;
    uint32_t one_in = t->bench || chance_one_in(c, 2) ? 0 : chance_one_in(c, 2) ? 3 : 200;
    float low = chance_one_in(c, 4) ? size / 2 : -size, high = chance_one_in(c, 4) ? -size / 3 : size;
    for (size_t i = 0; i < n; i++)
        to[i] = one_in && chance_one_in(c, one_in) ? odd[chance_below(c, 10)] : chance_float(c, low < high ? low : high, high);
}

static void make_range(struct trial *t) {
    struct morsel_range_args *a = &t->args.range;
    t->units = make_pieces(t, &a->elements, &a->count);
    float *x = trial_room(t, a->elements * sizeof *x, 4);
    make_mixed(t, x, a->elements, 3);
    a->x = x;
    struct morsel_qparams floats = float_qparams();
    trial_output(t, (void **)&a->y, 2 * (size_t)t->units, &floats);
}

static void call_range(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_range_fn *)fn)(&t->args.range, begin, end);
}

static void make_factors(struct trial *t) {
    struct morsel_factors_args *a = &t->args.factors;
    struct chance *c = &t->chance;
    a->lines = chance_one_in(c, 2) ? 1 : chance_size(c, 30);
    a->pieces = a->lines > 1 && chance_one_in(c, 2) ? 1 : chance_size(c, 64);
    a->channels = a->lines > 1 ? 0 : 16 * chance_below(c, 9);
    trial_say(t, "%u lines of %u pieces, %u channels", (unsigned)a->lines, (unsigned)a->pieces, (unsigned)a->channels);
    size_t pairs = (size_t)a->lines * a->pieces;
    float *x = trial_room(t, 2 * pairs * sizeof *x, 4), *factor = trial_room(t, a->channels * sizeof *factor + 4, 4), *bias = NULL;
    make_mixed(t, x, 2 * pairs, chance_one_in(c, 4) ? 1e-30f : chance_one_in(c, 4) ? 3e38f : 3);
    for (uint32_t i = 0; i < a->channels; i++) factor[i] = chance_one_in(c, 30) ? 0 : chance_float(c, -0.001f, 0.02f);
    if (a->channels && chance_one_in(c, 2)) {
        bias = trial_room(t, a->channels * sizeof *bias, 4);
        for (uint32_t i = 0; i < a->channels; i++) bias[i] = chance_float(c, -4, 4);
    }
    a->x = x;
    a->factor = a->channels ? factor : NULL;
    a->bias = bias;
    t->units = 1;
    struct morsel_qparams floats = float_qparams();
    trial_output(t, (void **)&a->y, a->lines > 1 ? 2 * (size_t)a->lines : MORSEL_NUMBERS + 2 * (size_t)a->channels, &floats);
}

static void call_factors(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_factors_fn *)fn)(&t->args.factors, begin, end);
}

/* Scales of any size; values near ties of them. */
static void make_quantize(struct trial *t) {
    static const float odd[] = {1e-45f, FLT_MIN, 1e-38f, 1e30f, FLT_MAX, 1, 0.5f, 0, NAN, INFINITY};
    struct morsel_quantize_args *a = &t->args.quantize;
    struct chance *c = &t->chance;
    t->units = make_pieces(t, &a->elements, &a->count);
    a->by_line = !t->bench && chance_one_in(c, 2);
    if (a->by_line) a->elements = a->count * t->units;
    a->sign_flip = t->bench ? t->sign_flip : chance_one_in(c, 2) ? 0x80 : 0;
    uint32_t lines = a->by_line ? t->units : 1;
    float *x = trial_room(t, a->elements * sizeof *x, 4), *numbers = trial_room(t, 2 * (size_t)lines * sizeof *numbers, 4);
    for (uint32_t l = 0; l < lines; l++) {
        numbers[2 * l] = !t->bench && chance_one_in(c, 6) ? odd[chance_below(c, 10)] : chance_float(c, 0.001f, 0.1f);
        numbers[2 * l + 1] = !t->bench && chance_one_in(c, 20) ? NAN : (float)chance_below(c, 256);
    }
    make_mixed(t, x, a->elements, numbers[0] * 255 < FLT_MAX ? numbers[0] * 255 : 3);
    for (uint32_t i = 0; i < a->elements; i++) {
        if (t->bench || !chance_one_in(c, 3)) continue;
        x[i] = numbers[a->by_line ? 2 * (i / a->count) : 0] * ((float)chance_range(c, -255, 255) + 0.5f);
        if (chance_one_in(c, 2)) x[i] = nextafterf(x[i], chance_one_in(c, 2) ? INFINITY : -INFINITY);
    }
    a->x = x;
    a->numbers = numbers;
    struct morsel_qparams bytes = {1, 0, a->sign_flip, 0, 0};
    trial_output(t, (void **)&a->y, a->elements, &bytes);
}

static void call_quantize(const struct trial *t, any_fn *fn, uint32_t begin, uint32_t end) {
    ((morsel_quantize_fn *)fn)(&t->args.quantize, begin, end);
}

const struct family family_range = {"range", offsetof(struct morsel_kernels, range), 1, make_range, call_range};
const struct family family_factors = {"factors", offsetof(struct morsel_kernels, factors), 0, make_factors, call_factors};
const struct family family_quantize = {"quantize", offsetof(struct morsel_kernels, quantize), 1, make_quantize, call_quantize};
