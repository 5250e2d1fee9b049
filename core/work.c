/* SPDX-License-Identifier: MIT */
/* How much a run computes at most, from shapes that open has checked; what the blob states of its multiplications is never asked. */
#include "check.h"
#include "kind.h"

/* A sum that stops at UINT64_MAX. Proven: tests/prove, add. */
static uint64_t add(uint64_t a, uint64_t b) {
    return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t product4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return morsel_times(morsel_times((uint64_t)a * b, c), d);
}

/* Below 2^31 + 16, as n is. */
static uint32_t up(uint32_t n, uint32_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* Every row under a window is looked at, and may be copied; then each of `taps` pixels, `depth` deep, meets `each` outputs of a group. */
static uint64_t windows(const struct morsel_step_work *w, uint32_t taps, uint32_t depth, uint32_t each, uint32_t groups) {
    const struct morsel_blob_window *p = w->parameters;
    const uint32_t *x = w->x->dims, *y = w->y->dims;
    uint64_t rows = product4(y[0] * y[1], p->kernel_h, x[2], x[3]);
    return add(rows, morsel_times(product4(y[0] * y[1] * y[2], taps, depth, each), groups));
}

uint64_t morsel_work_conv(const struct morsel_step_work *w) {
    const struct morsel_blob_conv *p = w->parameters;
    uint32_t rows = p->window.kernel_h, columns = p->window.kernel_w, outputs = w->y->dims[3] / p->groups;
    if (morsel_kind_base(w->step->kind) == MORSEL_STEP_DEPTHWISE) return windows(w, up(rows, 4) * columns, 1, up(w->y->dims[3], 16), 1);
    return windows(w, rows * columns, up(w->x->dims[3] / p->groups, 4), up(outputs, 16), p->groups);
}

uint64_t morsel_work_float_conv(const struct morsel_step_work *w) {
    const struct morsel_blob_float_conv *p = w->parameters;
    return windows(w, p->window.kernel_h * p->window.kernel_w, w->x->dims[3] / p->groups, up(w->y->dims[3], 8), 1);
}

uint64_t morsel_work_pool(const struct morsel_step_work *w) {
    const struct morsel_blob_window *p = w->parameters;
    return windows(w, p->kernel_h * p->kernel_w, 1, w->y->dims[3], 1);
}

uint64_t morsel_work_fc(const struct morsel_step_work *w) {
    const struct morsel_blob_fc *p = w->parameters;
    return morsel_times((uint64_t)up(p->inputs, 4) * up(p->outputs, 16), p->rows);
}

/* Each row of the result may pack the second operand first, in blocks of 16 columns. */
uint64_t morsel_work_matmul(const struct morsel_step_work *w) {
    const struct morsel_blob_matmul *p = w->parameters;
    return morsel_times(product4(p->batch, p->rows, up(p->inner, 4), up(p->columns, 16)), 2);
}

/* Each row of the result may put columns of the second operand in order first. Of bytes, whose record begins alike, in fours of k. */
uint64_t morsel_work_float_matmul(const struct morsel_step_work *w) {
    const struct morsel_blob_float_matmul *p = w->parameters;
    return morsel_times(product4(p->dims[0] * p->dims[1], p->dims[2], up(p->inner, 4), up(p->dims[3], 16)), 2);
}

/* Lines are read for the maximum, the sum and the results. */
uint64_t morsel_work_softmax(const struct morsel_step_work *w) {
    return 4 * (uint64_t)morsel_elements(w->x);
}

/* Lines are read for the mean, the variance and the results. */
uint64_t morsel_work_layer_norm(const struct morsel_step_work *w) {
    return 4 * (uint64_t)morsel_elements(w->x);
}

/* Each element lies between four; GRID_SAMPLE, too. */
uint64_t morsel_work_resize(const struct morsel_step_work *w) {
    return 4 * (uint64_t)morsel_elements(w->y);
}

/* The index of an element has up to six digits. */
uint64_t morsel_work_gather(const struct morsel_step_work *w) {
    const struct morsel_blob_gather *p = w->parameters;
    return (uint64_t)morsel_elements(w->y) * p->rank;
}

/* Lines of the table, as many as y has. */
uint64_t morsel_work_lookup(const struct morsel_step_work *w) {
    return w->y->bytes;
}

uint64_t morsel_work_binary(const struct morsel_step_work *w) {
    const struct morsel_blob_binary *p = w->parameters;
    return (uint64_t)morsel_elements(w->y) * p->rank;
}

uint64_t morsel_work_concat(const struct morsel_step_work *w) {
    const struct morsel_blob_concat *p = w->parameters;
    return (uint64_t)w->step->input_count * p->outer;
}

/* Of each class, objects are compared with each that is selected. */
uint64_t morsel_work_non_max_suppression(const struct morsel_step_work *w) {
    const struct morsel_blob_non_max_suppression *p = w->parameters;
    return (uint64_t)morsel_elements(w->y) * p->count;
}

uint64_t morsel_work_elements(const struct morsel_step_work *w) {
    (void)w;
    return 0;
}

static uint64_t step_work(const struct morsel_model *model, const struct morsel_blob_step *step) {
    struct morsel_step_work w = {step, morsel_blob_input(model, step, 0), morsel_blob_output(model, step),
                                 morsel_blob_at(model, step->parameters)};
    uint64_t work = add(step->scratch_bytes, (uint64_t)w.y->bytes + 1);
    for (uint32_t n = 0; n < step->input_count; n++) work = add(work, morsel_blob_input(model, step, n)->bytes);
    return add(work, morsel_kinds[step->kind]->work(&w));
}

/* Turns of a group's steps: from the largest lead before the first row on, in strips, for each image. */
static uint64_t group_work(const struct morsel_model *model, const struct morsel_blob_group *g) {
    const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, g->first_step + g->step_count - 1));
    return morsel_times((uint64_t)((y->dims[1] + MORSEL_FORMAT_MAX_STAGE) / g->strip_rows + 2) * g->step_count, y->dims[0]);
}

uint64_t morsel_work(const struct morsel_model *model) {
    if (!morsel_arena_bytes(model)) return 0;
    const struct morsel_blob_header *h = morsel_blob_header(model);
    uint64_t work = 0;
    for (uint32_t i = 0; i < h->steps.count; i++) work = add(work, step_work(model, morsel_blob_step(model, i)));
    for (uint32_t i = 0; i < h->groups.count; i++) work = add(work, group_work(model, morsel_blob_group(model, i)));
    return work;
}
