/* SPDX-License-Identifier: MIT */
/* Softmax along a dimension, in plain C: of bytes by a table of exponentials (ONNX Runtime's QLinearSoftmax), else in float. */
#include "float.h"
#include "float_plain.h"
#include "requant.h"
#include "softmax.h"

const char *morsel_softmax_refusal(const void *args) {
    const struct morsel_softmax_args *a = args;
    return !a->table && a->inner != 1 ? MORSEL_REFUSES_ORDER : NULL;
}

/* The first element of line u. */
static size_t first_of(const struct morsel_softmax_args *a, uint32_t u) {
    return (size_t)(u / a->inner) * a->count * a->inner + u % a->inner;
}

enum { LINES = 4, BYTES = 256, STACK_KEPT = MORSEL_ROOMY_STACK ? 256 : 16 };

/* Lines of bytes whose sums are made side by side: each is a chain of additions, as its order is part of the result. */
struct lines {
    size_t first[LINES];       /* elements */
    const float *table[LINES]; /* by byte in the unsigned domain */
    uint32_t most[LINES];
    float sum[LINES];
    float *kept[LINES]; /* exponentials of lines that are not longer than `most_kept` */
    uint32_t most_kept;
    uint8_t *results; /* of each value or each element of a line */
};

static inline void larger_sixteen(uint8_t *restrict most, const uint8_t *restrict x, uint8_t flip) {
    for (uint32_t o = 0; o < MORSEL_LANES; o++) most[o] = (x[o] ^ flip) > most[o] ? x[o] ^ flip : most[o];
}

/* The largest of a line, in the unsigned domain. The last sixteen overlap with those before them. */
static uint32_t largest_byte(const struct morsel_softmax_args *a, size_t first) {
    const uint8_t *x = (const uint8_t *)a->x.data + first, flip = (uint8_t)a->x.qparams.sign_flip;
    uint8_t some[MORSEL_LANES] = {0}, most = 0;
    uint32_t i = 0;
    if (a->inner == 1 && a->count >= MORSEL_LANES) {
        for (; a->count - i >= MORSEL_LANES; i += MORSEL_LANES) larger_sixteen(some, x + i, flip);
        larger_sixteen(some, x + a->count - MORSEL_LANES, flip);
        i = a->count;
    }
    for (uint32_t o = 0; o < 8; o++) some[o] = some[o] > some[o + 8] ? some[o] : some[o + 8];
    for (uint32_t o = 0; o < 8; o++) most = some[o] > most ? some[o] : most;
    for (; i < a->count; i++) {
        uint8_t u = x[(size_t)i * a->inner] ^ flip;
        if (u > most) most = u;
    }
    return most;
}

/* `kept` says whether the exponentials are; a constant. */
static inline void sum_lines(const struct morsel_softmax_args *a, struct lines *l, int kept) {
    const uint8_t *x0 = (const uint8_t *)a->x.data + l->first[0], *x1 = (const uint8_t *)a->x.data + l->first[1];
    const uint8_t *x2 = (const uint8_t *)a->x.data + l->first[2], *x3 = (const uint8_t *)a->x.data + l->first[3];
    const float *t0 = l->table[0], *t1 = l->table[1], *t2 = l->table[2], *t3 = l->table[3];
    const uint32_t count = a->count, flip = a->x.qparams.sign_flip;
    const size_t step = a->inner;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0, *k0 = l->kept[0], *k1 = l->kept[1], *k2 = l->kept[2], *k3 = l->kept[3];
    for (uint32_t i = 0; i < count; i++, x0 += step, x1 += step, x2 += step, x3 += step) {
        const float e0 = t0[*x0 ^ flip], e1 = t1[*x1 ^ flip], e2 = t2[*x2 ^ flip], e3 = t3[*x3 ^ flip];
        s0 += e0, s1 += e1, s2 += e2, s3 += e3;
        if (kept) k0[i] = e0, k1[i] = e1, k2[i] = e2, k3[i] = e3;
    }
    l->sum[0] = s0, l->sum[1] = s1, l->sum[2] = s2, l->sum[3] = s3;
}

static void divide_some(const struct morsel_softmax_args *a, const float *exponentials, float sum, uint32_t n, uint8_t *to) {
    struct morsel_output y = a->y;
    float v[MORSEL_LANES];
    y.data = to;
    for (uint32_t i = 0, now; i < n; i += now) {
        now = n - i < MORSEL_LANES ? n - i : MORSEL_LANES;
        if (now < MORSEL_LANES) memset(v, 0, sizeof v);
        memcpy(v, exponentials + i, now < MORSEL_LANES ? now * sizeof *v : sizeof v);
        for (uint32_t o = 0; o < MORSEL_LANES; o++) v[o] = v[o] * a->levels / sum;
        for (uint32_t o = 0; o < MORSEL_LANES; o++) v[o] = v[o] == v[o] ? v[o] : 0;
        morsel_store_steps(&y, i, now, v, y.qparams.zero);
    }
}

/* Line o, whose sum is known. A long one has fewer values than elements: the result of each value is looked up. */
static void finish_line(const struct morsel_softmax_args *a, morsel_divide_fn *divide, const struct lines *l, uint32_t o) {
    const uint8_t *x = (const uint8_t *)a->x.data + l->first[o], flip = (uint8_t)a->x.qparams.sign_flip;
    uint8_t *y = (uint8_t *)a->y.data + l->first[o], *results = l->results;
    if (a->count > l->most_kept) {
        divide(a, l->table[o], l->sum[o], l->most[o] + 1, results);
        for (size_t i = 0, n = (size_t)a->count * a->inner; i < n; i += a->inner) y[i] = results[x[i] ^ flip];
        return;
    }
    divide(a, l->kept[o], l->sum[o], a->count, a->inner == 1 ? y : results);
    for (uint32_t i = 0; a->inner != 1 && i < a->count; i++) y[(size_t)i * a->inner] = results[i];
}

/* Exponentials are looked up by their distance to the largest. Where fewer lines are left, the last one stands for those that lack. */
void morsel_softmax_bytes(const struct morsel_softmax_args *a, morsel_divide_fn *divide, uint32_t begin, uint32_t end) {
    struct lines l;
    union { /* longer lines than these are kept in the room, or not at all */
        float kept[LINES][STACK_KEPT];
        uint8_t results[BYTES];
    } stack;
    uint8_t few[STACK_KEPT];
    l.most_kept = a->room.bytes >= LINES * BYTES * sizeof(float) ? BYTES : STACK_KEPT;
    l.results = a->count > STACK_KEPT ? stack.results : few;
    for (uint32_t o = 0; o < LINES; o++) l.kept[o] = l.most_kept > STACK_KEPT ? (float *)(void *)a->room.data + o * BYTES : stack.kept[o];
    for (uint32_t n; begin < end; begin += n) {
        n = end - begin < LINES ? end - begin : LINES;
        for (uint32_t o = 0; o < LINES; o++) {
            l.first[o] = o < n ? first_of(a, begin + o) : l.first[o - 1];
            l.most[o] = o < n ? largest_byte(a, l.first[o]) : l.most[o - 1];
            l.table[o] = a->table + (255 - l.most[o]);
        }
        if (a->count > l.most_kept) sum_lines(a, &l, 0);
        else sum_lines(a, &l, 1);
        for (uint32_t o = 0; o < n; o++) finish_line(a, divide, &l, o);
    }
}

/* Sixteen elements of a line from element i on, or as many as there are; 0 in the other places. */
static uint32_t load_some(const struct morsel_softmax_args *a, size_t first, uint32_t i, float *v) {
    uint32_t n = a->count - i < MORSEL_LANES ? a->count - i : MORSEL_LANES;
    morsel_load_floats(&a->x, first + (size_t)i * a->inner, a->inner, n, v);
    return n;
}

/* Less `most`, that is. */
static uint32_t exponentials_of_some(const struct morsel_softmax_args *a, size_t first, uint32_t i, float most, float *v) {
    uint32_t n = load_some(a, first, i, v);
    for (uint32_t o = 0; o < MORSEL_LANES; o++) v[o] = eight_exp_weight(v[o] - most);
    return n;
}

static MORSEL_OWN_FRAME void softmax_floats(const struct morsel_softmax_args *a, size_t first) {
    float v[MORSEL_LANES], partial[8] = {0}, most = -FLT_MAX;
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = load_some(a, first, i, v);
        for (uint32_t o = 0; o < n; o++) most = v[o] > most ? v[o] : most;
    }
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = exponentials_of_some(a, first, i, most, v);
        for (uint32_t o = 0; o < n; o++) partial[o % 8] += v[o];
    }
    const float sum = morsel_add_eight(partial);
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = exponentials_of_some(a, first, i, most, v);
        for (uint32_t o = 0; o < n; o++) morsel_store_float(&a->y, first + (size_t)(i + o) * a->inner, v[o] / sum);
    }
}

void morsel_softmax_c(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    if (a->table) morsel_softmax_bytes(a, divide_some, begin, end);
    else
        for (; begin < end; begin++) softmax_floats(a, first_of(a, begin));
}
