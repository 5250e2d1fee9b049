/* SPDX-License-Identifier: MIT */
/* Products of float rows with constant weights. Kernels of FLOAT_MATMUL go through the weights once for six rows, FLOAT_CONV's for fewer:
 * at 768 inputs and outputs they take 2.3 times as long with AVX2. Of one or two rows FLOAT_CONV takes half as long. */
#include "tools/lower/rows.h"
#include "tools/lower/lower.h"

#include <stdlib.h>
#include <string.h>

/* Kernels read columns in panels of sixteen. Where these do not come out even they have to be made at run time, by more rows. */
enum { LEAST_ROWS = 4, LEAST_WEIGHTS = 1 << 16, PANEL = 16 };

static bool is_whole_range(const struct net_buffer *y, const struct morsel_blob_float_conv *p) {
    return p->out_min == type_min(y->type) && p->out_max == type_max(y->type);
}

static bool fits(const struct net_step *step) {
    const struct morsel_blob_float_conv *p = &step->parameters.float_conv;
    const struct morsel_blob_window *w = &p->window;
    const struct net_buffer *x = step->inputs[0], *y = step->output;
    if (step->kind != MORSEL_STEP_FLOAT_CONV || p->weights_half || p->groups != 1 || x->rank != 4 || y->rank != 4) return false;
    if (w->kernel_h * w->kernel_w * w->stride_h * w->stride_w != 1 || (w->pad_top | w->pad_left | w->pad_bottom | w->pad_right))
        return false;
    const uint32_t inner = x->dims[3], columns = y->dims[3];
    if (x->dims[1] * x->dims[2] != 1 || (uint64_t)inner * columns < LEAST_WEIGHTS) return false; /* a picture's rows may stream */
    return y->type == MORSEL_FLOAT32 || is_whole_range(y, p);
}

static bool has_rows(const struct net_step *step) {
    const uint32_t inner = step->inputs[0]->dims[3], rows = net_elements(step->inputs[0]) / inner;
    return rows >= (step->output->dims[3] % PANEL ? 2 * LEAST_ROWS : LEAST_ROWS);
}

static bool is_alike(const struct net_step *a, const struct net_step *b) {
    return a->kind == b->kind && !strcmp(a->name, b->name);
}

/* In all nets: their blob holds the weights once. */
static bool pays(struct net *const *nets, uint32_t count, const struct net_step *step) {
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t i = 0; i < nets[n]->step_count; i++)
            if (is_alike(nets[n]->steps[i], step) && !(fits(nets[n]->steps[i]) && has_rows(nets[n]->steps[i]))) return false;
    return true;
}

static const float *constant_of(const struct net_step *step, size_t field) {
    for (uint32_t i = 0; i < step->constant_count; i++)
        if (step->constants[i].field == field) return step->constants[i].data;
    return NULL;
}

/* Of blocks of eight columns [block][inner][8], as many at a time as `wide`: [columns / wide][inner][wide]. */
static const float *by_inner(struct net *net, const float *blocks, uint32_t inner, uint32_t columns, uint32_t wide) {
    float *b = net_alloc(net, (size_t)inner * columns * sizeof *b), *to = b;
    for (uint32_t first = 0; first < columns; first += wide)
        for (uint32_t k = 0; k < inner; k++)
            for (uint32_t c = first; c < first + wide; c++) *to++ = blocks[((size_t)(c / 8) * inner + k) * 8 + c % 8];
    return b;
}

static void add_rows(struct net *net, const struct net_step *old) {
    const struct morsel_blob_float_conv *p = &old->parameters.float_conv;
    struct net_buffer *x = old->inputs[0], *y = old->output;
    const uint32_t inner = x->dims[3], columns = y->dims[3], rows = net_elements(x) / inner;
    const uint32_t wide = columns % PANEL ? columns : PANEL, dims[3] = {columns / wide, inner, wide};
    const float *weights = constant_of(old, offsetof(struct morsel_blob_float_conv, weights)),
                *bias = constant_of(old, offsetof(struct morsel_blob_float_conv, bias));
    if (x->type != MORSEL_FLOAT32) {
        x = net_add_like(net, x, MORSEL_FLOAT32, net_text(net, "%s/floats", old->name));
        net_add_identity(net, old->name, old->inputs[0], x);
    }
    if (y->type != MORSEL_FLOAT32) y = net_add_like(net, y, MORSEL_FLOAT32, net_text(net, "%s/sums", old->name));
    struct net_step *step = net_add_step(net, MORSEL_STEP_FLOAT_MATMUL, old->name, x,
                                         net_add_floats(net, by_inner(net, weights, inner, columns, wide), 3, dims), y);
    if (bias) {
        struct net_buffer *const inputs[] = {step->inputs[0], step->inputs[1], net_add_floats(net, bias, 1, &columns)};
        step->inputs = net_alloc(net, sizeof inputs);
        memcpy(step->inputs, inputs, sizeof inputs);
        step->input_count = 3;
    }
    step->parameters.float_matmul = (struct morsel_blob_float_matmul){.dims = {1, dims[0], rows, wide},
                                                                      .inner = inner,
                                                                      .turned = 1,
                                                                      .a_stride = {0, 0, inner},
                                                                      .b_stride = {0, inner * wide, wide, 1},
                                                                      .term_stride = {0, bias ? wide : 0, 0, bias != NULL},
                                                                      .factor = 1,
                                                                      .float_min = p->float_min,
                                                                      .float_max = p->float_max};
    step->macs = old->macs;
    if (y != old->output) net_add_identity(net, old->name, y, old->output);
}

static bool is_among(const struct net_step *step, struct net_step *const *list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (is_alike(step, list[i])) return true;
    return false;
}

static void change(struct net *net, struct net_step *const *list, uint32_t listed) {
    struct net_step **old = net->steps;
    const uint32_t count = net->step_count;
    net->steps = NULL;
    net->step_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (fits(old[i]) && is_among(old[i], list, listed)) add_rows(net, old[i]);
        else net_push_step(net, old[i]);
    }
    free(old);
}

void rows_change(struct net *const *nets, uint32_t count) {
    struct net_step **list = net_alloc(nets[0], nets[0]->step_count * sizeof *list);
    uint32_t listed = 0;
    for (uint32_t i = 0; i < nets[0]->step_count; i++)
        if (fits(nets[0]->steps[i]) && pays(nets, count, nets[0]->steps[i])) list[listed++] = nets[0]->steps[i];
    for (uint32_t n = 0; n < count; n++) change(nets[n], list, listed);
}
