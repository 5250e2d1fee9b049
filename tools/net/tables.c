/* SPDX-License-Identifier: MIT */
/*
 * Steps that are functions of one tensor's bytes become one table: a table of a table, arithmetic with a constant, and with two such
 * functions of the same bytes, as an activation that is spelled out in integers. The runtime's own kernels fill the tables, with all 256
 * bytes as their input. A table is not looked through where others read it, too.
 */
#include "tools/net/tables.h"

#include "tools/net/plan/plan.h"
#include "tools/net/uses.h"

#include "kernels/kernels.h"

#include <string.h>

struct merging {
    struct net *net;
    struct net_uses uses;
};

/* Where a value's bytes come from, and what they are for each byte there. */
struct origin {
    const struct net_buffer *value;
    struct net_buffer *buffer; /* NULL: the value is one constant byte */
    uint8_t table[256];
};

static bool is_byte(const struct net_buffer *b) {
    return b->type == MORSEL_UINT8 || b->type == MORSEL_INT8;
}

static const void *table_of(const struct net_step *step) {
    return step && step->kind == MORSEL_STEP_LUT && step->parameters.lut.channels == 1 ? step->constants[0].data : NULL;
}

static struct origin origin_of(const struct merging *m, struct net_buffer *value) {
    const struct net_step *producer = m->uses.producers[value->index];
    const uint8_t *table = m->uses.readers[value->index] == 1 ? table_of(producer) : NULL;
    struct origin o = {.value = value, .buffer = table ? producer->inputs[0] : value};
    for (int b = 0; b < 256; b++) o.table[b] = table ? table[b] : (uint8_t)b;
    if (!value->constant) return o;
    o.buffer = NULL;
    memset(o.table, *(const uint8_t *)value->constant, sizeof o.table);
    return o;
}

/* Makes the step a table over the origin's bytes, with entries of the output's type. */
static void become_table(struct merging *m, struct net_step *step, struct net_buffer *x, const void *entries) {
    size_t bytes = 256 * net_type_bytes(step->output->type);
    void *table = net_alloc(m->net, bytes);
    memcpy(table, entries, bytes);
    net_become(&m->uses, step, MORSEL_STEP_LUT, x);
    step->parameters.lut = (struct morsel_blob_lut){.count = net_elements(x), .channels = 1, .inner = 1};
    step->parameter_words = sizeof step->parameters.lut / 4;
    net_add_constant(step, table, bytes, offsetof(struct morsel_blob_lut, table));
}

static void merge_table(struct merging *m, struct net_step *step) {
    const struct origin o = origin_of(m, step->inputs[0]);
    const uint8_t *old = table_of(step);
    uint32_t size = net_type_bytes(step->output->type);
    uint8_t entries[256 * sizeof(float)];
    if (!o.buffer || o.buffer == o.value) return;
    for (uint32_t b = 0; b < 256; b++) memcpy(entries + b * size, old + o.table[b] * size, size);
    become_table(m, step, o.buffer, entries);
}

static struct morsel_qparams qparams_of(const struct net_buffer *b) {
    const uint32_t flip = b->type == MORSEL_INT8 ? 0x80 : 0;
    return (struct morsel_qparams){.scale = b->scale, .zero = b->zero + (int32_t)flip, .sign_flip = flip, .own = (int32_t)flip};
}

/* What the step gives for 256 pairs of bytes. */
static void compute(const struct net_step *step, const uint8_t *a, const uint8_t *b, uint8_t *y) {
    const struct morsel_blob_binary *p = &step->parameters.binary;
    const struct morsel_qparams q = qparams_of(step->output);
    struct morsel_binary_args args = {.a = {a, qparams_of(step->inputs[0])},
                                      .b = {b, qparams_of(step->inputs[1])},
                                      .y = {y, q, p->out_min + q.own, p->out_max + q.own, p->float_min, p->float_max},
                                      .op = p->op,
                                      .rank = 1,
                                      .dims = {256},
                                      .a_stride = {1},
                                      .b_stride = {1},
                                      .a_ratio = p->a_ratio,
                                      .b_ratio = p->b_ratio,
                                      .offset = p->offset};
    morsel_binary_fn *fn = p->op == MORSEL_BINARY_QADD ? morsel_qadd_c : p->op == MORSEL_BINARY_QMUL ? morsel_qmul_c : morsel_binary_c;
    fn(&args, 0, 256);
}

/* Whether an operand is read in the order of the output, or is one element. */
static bool operand_fits(const struct net_step *step, uint32_t k) {
    const struct morsel_blob_binary *p = &step->parameters.binary;
    const struct net_buffer *x = step->inputs[k];
    if (!is_byte(x)) return false;
    if (x->constant) return net_elements(x) == 1;
    return net_elements(x) == net_elements(step->output) && morsel_is_contiguous(p->dims, k ? p->b_stride : p->a_stride, p->rank);
}

static void merge_binary(struct merging *m, struct net_step *step) {
    uint8_t entries[256];
    if (!is_byte(step->output) || !operand_fits(step, 0) || !operand_fits(step, 1)) return;
    const struct origin a = origin_of(m, step->inputs[0]), b = origin_of(m, step->inputs[1]);
    struct net_buffer *x = a.buffer ? a.buffer : b.buffer;
    if (!x || (a.buffer && b.buffer && a.buffer != b.buffer)) return;
    compute(step, a.table, b.table, entries);
    become_table(m, step, x, entries);
}

void net_merge_tables(struct net *net) {
    struct merging m = {net, net_uses_of(net)};
    for (uint32_t i = 0; i < net->step_count; i++) {
        struct net_step *step = net->steps[i];
        if (table_of(step)) merge_table(&m, step);
        else if (step->kind == MORSEL_STEP_BINARY) merge_binary(&m, step);
    }
    plan_drop_dead_steps(net);
}
