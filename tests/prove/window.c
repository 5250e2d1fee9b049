/* SPDX-License-Identifier: MIT */
/* Proofs of core/check_window.c: windows over pictures, and the sizes of weights. */
#include "core/check_window.c"
#include "prove.h"

static void any_axis(const struct axis *a, int round_up) {
    prove_assume(a->in >= 1 & a->in <= MORSEL_SIZE_LIMIT & a->out >= 1 & a->out <= MORSEL_SIZE_LIMIT);
    prove_assume(axis_fits(a, round_up));
}

/* No sum of the check itself wraps, and each window ends in the padded picture; with round_up the last one begins less than a stride behind
 * it. */
void prove_axis(_Bool round_up) {
    struct axis a;
    prove_any(&a);
    any_axis(&a, round_up);
    wide padded = (wide)a.in + a.pad_begin + a.pad_end, window = (wide)(a.kernel - 1) * a.dilation + 1;
    prove_assert(window <= 63 * 65536 + 1 & padded < (wide)1 << 32);
    if (!round_up) prove_assert(((wide)a.out - 1) * a.stride + window <= padded);
    else prove_assert(((wide)a.out - 1) * a.stride < padded + a.stride);
}

/* One more window would not fit. */
void prove_axis_whole(void) {
    struct axis a;
    prove_any(&a);
    any_axis(&a, 0);
    prove_assert((wide)a.out * a.stride + (wide)(a.kernel - 1) * a.dilation + 1 > (wide)a.in + a.pad_begin + a.pad_end);
}

/* The index of core/run_rows.c, modulo 2^32, is below `in` exactly where it is inside the picture, and then it is that. */
void prove_index(uint32_t out, uint32_t tap, _Bool round_up) {
    struct axis a;
    prove_any(&a);
    any_axis(&a, round_up);
    prove_assume(out < a.out & tap < a.kernel);
    prove_assert((wide)out * a.stride <= ((wide)a.out - 1) * a.stride);
    prove_assert((wide)tap * a.dilation <= (wide)(a.kernel - 1) * a.dilation);
    wide exact = (wide)out * a.stride + (wide)tap * a.dilation - a.pad_begin;
    prove_assert(exact >= -65536 & exact < ((wide)1 << 31) + ((wide)1 << 23));
    prove_assert(((exact & 0xffffffff) < a.in) == (exact >= 0 & exact < a.in));
}

static wide at_most(wide n) {
    return n > (wide)UINT64_MAX ? (wide)UINT64_MAX : n;
}

static void any_step(struct morsel_step_check *s, struct morsel_blob_conv *p) {
    const uint32_t *x = s->x->dims, *y = s->y->dims;
    prove_assume(x[3] >= 1 & x[3] <= MORSEL_SIZE_LIMIT & y[3] >= 1 & y[3] <= MORSEL_SIZE_LIMIT);
    prove_assume(p->window.kernel_h >= 1 & p->window.kernel_h <= 64 & p->window.kernel_w >= 1 & p->window.kernel_w <= 64);
    prove_assume(p->groups >= 1 & p->groups <= x[3] & p->groups <= y[3]);
}

/* Weights of a convolution are as many bytes as kernels read, or UINT64_MAX where those are more; nothing wraps on the way. */
void prove_packed(void) {
    struct morsel_blob_conv p;
    struct morsel_blob_tensor x, y;
    struct morsel_blob_step step;
    prove_any(&p);
    prove_any(&x);
    prove_any(&y);
    step.kind = MORSEL_STEP_CONV;
    struct morsel_step_check s = {NULL, &step, &x, &y, &p};
    any_step(&s, &p);
    struct morsel_packed w = packed_of(&s);
    wide taps = (wide)p.window.kernel_w * (x.dims[3] / p.groups), outs = ((wide)(y.dims[3] / p.groups) + 15) / 16 * 16;
    prove_assert(taps < (wide)1 << 37);
    prove_assert(w.line == (taps + 3) / 4 & w.padding <= 3 & w.line * 4 - w.padding == taps);
    prove_assert(w.channels == outs * p.groups & w.channels < (wide)1 << 36);
    wide channel = (wide)w.line * (4 * p.window.kernel_h);
    prove_assert(channel < (wide)1 << 44);
    prove_assert(outs <= UINT32_MAX);
    prove_assert(w.bytes == morsel_times(morsel_times((uint64_t)channel, (uint32_t)outs), p.groups)); /* prove_times: exact, or the most */
}

void prove_packed_depthwise(void) {
    struct morsel_blob_conv p;
    struct morsel_blob_tensor x, y;
    struct morsel_blob_step step;
    prove_any(&p);
    prove_any(&x);
    prove_any(&y);
    step.kind = MORSEL_STEP_DEPTHWISE;
    struct morsel_step_check s = {NULL, &step, &x, &y, &p};
    any_step(&s, &p);
    prove_assume(p.groups == x.dims[3] & p.groups == y.dims[3]);
    struct morsel_packed w = packed_of(&s);
    prove_assert(w.line >= 1 & w.line <= 16 & w.padding <= 3 & w.line * 4 - w.padding == p.window.kernel_h);
    prove_assert(w.channels >= y.dims[3] & w.channels < (wide)y.dims[3] + 16);
    prove_assert(w.channels * (wide)p.window.kernel_w < (wide)1 << 38);
    prove_assert(w.bytes == w.channels * (wide)p.window.kernel_w * ((wide)w.line * 4));
    prove_assert(w.bytes < (wide)1 << 44);
}

/* Weights of a float convolution: a product that leaves 64 bits stays at their most, and is not cut off. */
void prove_float_taps(void) {
    struct morsel_blob_float_conv p;
    struct morsel_blob_tensor x, y;
    prove_any(&p);
    prove_any(&x);
    prove_any(&y);
    struct morsel_step_check s = {NULL, NULL, &x, &y, &p};
    prove_assume(p.window.kernel_h <= 64 & p.window.kernel_w <= 64 & p.groups >= 1);
    prove_assume(x.dims[3] <= MORSEL_SIZE_LIMIT & y.dims[3] <= MORSEL_SIZE_LIMIT);
    uint32_t depth = s.x->dims[3] / p.groups;
    prove_assert((wide)depth * p.window.kernel_h <= (wide)1 << 37);
    prove_assert((wide)depth * p.window.kernel_h * p.window.kernel_w < (wide)1 << 43);
    uint64_t taps = (uint64_t)depth * p.window.kernel_h * p.window.kernel_w;
    uint32_t outputs = (s.y->dims[3] + 7) / 8 * 8;
    prove_assert(outputs == ((wide)s.y->dims[3] + 7) / 8 * 8);
    prove_assert(morsel_times(taps, outputs) == at_most((wide)taps * outputs));
}
