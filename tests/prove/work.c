/* SPDX-License-Identifier: MIT */
/* Proofs of core/work.c: bounds of a run's work stop at UINT64_MAX, and nothing wraps on the way. */
#include "core/work.c"
#include "any.h"

static wide at_most(wide n) {
    return n > (wide)UINT64_MAX ? (wide)UINT64_MAX : n;
}

void prove_add(uint64_t a, uint64_t b) {
    prove_assert(add(a, b) == at_most((wide)a + b));
}

void prove_times(uint64_t a, uint32_t b) {
    prove_assert(morsel_times(a, b) == at_most((wide)a * b));
}

void prove_product4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    wide three = (wide)a * b * c;
    prove_assert((wide)a * b <= (wide)UINT64_MAX);
    uint64_t p = product4(a, b, c, d);
    if (three <= (wide)UINT64_MAX) prove_assert(p == at_most(three * d));
    else if (d) prove_assert(p == UINT64_MAX);
}

void prove_up(uint32_t n, _Bool sixteen) {
    uint32_t multiple = sixteen ? 16 : 4;
    prove_assume(n <= MORSEL_SIZE_LIMIT);
    uint32_t m = up(n, multiple);
    prove_assert(m >= n & m < (wide)n + multiple & m % multiple == 0);
}

/* A window's rows and multiplications, of sound shapes: products of 32 bits are of y's elements. */
void prove_windows(uint32_t taps, uint32_t depth, uint32_t each, uint32_t groups) {
    struct morsel_blob_tensor x, y;
    struct morsel_blob_window p;
    prove_any(&x);
    prove_any(&y);
    prove_any(&p);
    any_picture(&y);
    prove_assume((wide)y.dims[0] * y.dims[1] * y.dims[2] <= MORSEL_SIZE_LIMIT);
    struct morsel_step_work w = {.x = &x, .y = &y, .parameters = &p};
    wide pixels = (wide)y.dims[0] * y.dims[1] * y.dims[2];
    if (depth) prove_assert(pixels * taps * depth >= pixels * taps); /* so that the products below are seen to grow */
    if (each) prove_assert(pixels * taps * depth * each >= pixels * taps * depth);
    uint64_t products = morsel_times(product4(y.dims[0] * y.dims[1] * y.dims[2], taps, depth, each), groups);
    prove_assert((products == UINT64_MAX) | (products >= pixels * taps) | !depth | !each | !groups);
    prove_assert(windows(&w, taps, depth, each, groups) >= products);
}

/* A group's turns; a step's scratch, output and inputs. */
void prove_group_work(uint32_t images, uint32_t height) {
    struct morsel_blob_group g;
    prove_any(&g);
    prove_assume(g.strip_rows >= 1 & g.strip_rows <= MORSEL_FORMAT_MAX_STAGE & g.step_count <= MORSEL_FORMAT_MAX_GROUP);
    prove_assume(height >= 1 & images >= 1 & (wide)height * images <= MORSEL_SIZE_LIMIT);
    uint64_t turns = (uint64_t)((height + MORSEL_FORMAT_MAX_STAGE) / g.strip_rows + 2) * g.step_count;
    prove_assert(turns < (wide)1 << 37);
    prove_assert(morsel_times(turns, images) == at_most((wide)turns * images));
}
