/* SPDX-License-Identifier: MIT */
/* Convolutions that the tiles do not take: a matrix product with a row for each window. */
#include "conv_plan.h"

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

#define RESULTS_AT_ONCE 4096u /* bytes of results that do not lie in order, and are copied */
#define STACK_RESULTS 1024u   /* the same where they are on the stack, beside windows of MORSEL_WINDOW_STACK */

struct product {
    const struct morsel_conv_args *args;
    struct morsel_fc_args fc;    /* of a group */
    uint32_t row_k, group, most; /* rows of the product at a time */
    int in_order;                /* results lie as the product gives them */
    morsel_fc_fn *run;
    uint8_t *windows, *results;
    _Alignas(64) uint8_t stack[MORSEL_WINDOW_STACK + STACK_RESULTS];
};

static int has_room(const struct morsel_conv_args *a) {
    return a->room.bytes >= MORSEL_WINDOW_BYTES + RESULTS_AT_ONCE;
}

/* Rows of the product at a time; 0: not one. */
static uint32_t rows_of_product(const struct morsel_conv_args *a, int in_order, int roomy) {
    const uint32_t most = (roomy ? MORSEL_WINDOW_BYTES : MORSEL_WINDOW_STACK) / (a->window.kernel_h * morsel_row_k(a));
    const uint32_t results = roomy ? RESULTS_AT_ONCE : STACK_RESULTS;
    return in_order ? most : least(most, results / (a->window.out_c / a->groups * morsel_element_bytes(&a->y.qparams)));
}

static int is_in_order(const struct morsel_conv_args *a) {
    return a->groups == 1 && morsel_y_step(&a->window, morsel_element_bytes(&a->y.qparams)) == a->window.out_c;
}

static void start_product(struct product *p, const struct morsel_conv_args *a, morsel_fc_fn *run) {
    const struct morsel_window *w = &a->window;
    const uint32_t outs = w->out_c / a->groups;
    p->args = a;
    p->run = run;
    p->row_k = morsel_row_k(a);
    p->in_order = is_in_order(a);
    p->fc = (struct morsel_fc_args){.x = a->x, .y = a->y, .outputs = outs, .blocks = (outs + 15) / 16};
    p->fc.inputs = w->kernel_h * p->row_k;
    p->fc.x.qparams.sign_flip = 0; /* windows are copied as what their bytes mean */
    p->most = rows_of_product(a, p->in_order, has_room(a));
    p->windows = has_room(a) ? a->room.data : p->stack;
    p->results = p->windows + (has_room(a) ? MORSEL_WINDOW_BYTES : MORSEL_WINDOW_STACK);
}

static void choose_group(struct product *p, uint32_t group) {
    const struct morsel_channels *c = &p->args->channels;
    const size_t block = (size_t)group * p->fc.blocks, at = block * 16;
    p->group = group;
    p->fc.weights = p->args->weights + at * p->fc.inputs;
    p->fc.channels = (struct morsel_channels){.bias = c->bias + at, .multiplier = c->multiplier + at, .weight_sum = c->weight_sum + at};
    if (c->weight_zero) p->fc.channels.weight_zero = c->weight_zero + at;
    if (c->float_bias) p->fc.channels.float_bias = c->float_bias + at;
    if (c->proofs) p->fc.channels.proofs = c->proofs + block;
}

/* Windows ox .. ox + n over the rows of one output row, whose results go to pixels from `pixel` on. */
static void multiply_windows(struct product *p, const uint8_t *const *rows, uint32_t ox, uint32_t n, size_t pixel) {
    const struct morsel_window *w = &p->args->window;
    const size_t size = morsel_element_bytes(&p->args->y.qparams), step = morsel_y_step(w, (uint32_t)size);
    uint8_t *y = (uint8_t *)p->args->y.data + (pixel * step + p->group * p->fc.outputs) * size, *to = p->windows;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t ky = 0; ky < w->kernel_h; ky++, to += p->row_k) morsel_copy_windows(p->args, to, rows[ky], ox + i, 1, p->group);
    p->fc.x.data = p->windows;
    p->fc.y.data = p->in_order ? y : p->results;
    p->fc.rows = n;
    p->run(&p->fc, 0, n * p->fc.blocks);
    for (uint32_t i = 0; !p->in_order && i < n; i++)
        memcpy(y + i * step * size, p->results + i * p->fc.outputs * size, p->fc.outputs * size);
}

static __attribute__((noinline)) void conv_by_fc(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n,
                                                 morsel_fc_fn *run) {
    const struct morsel_window *w = &a->window;
    struct product p;
    start_product(&p, a, run);
    for (uint32_t group = 0; group < a->groups; group++) {
        choose_group(&p, group);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t ox = 0, now; ox < w->out_w; ox += now) {
                now = least(w->out_w - ox, p.most);
                multiply_windows(&p, rows + (size_t)i * w->kernel_h, ox, now, (size_t)(y + i) * w->out_w + ox);
            }
    }
}

void morsel_conv_by_fc(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_fc_fn *run) {
    if (rows_of_product(a, is_in_order(a), has_room(a))) conv_by_fc(a, rows, y, n, run);
    else morsel_conv_rows_c(a, rows, y, n);
}

int morsel_conv_fits_fc(const struct morsel_conv_args *a) {
    return rows_of_product(a, is_in_order(a), 1) != 0;
}
