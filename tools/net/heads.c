/* SPDX-License-Identifier: MIT */
/*
 * Attention: a product of queries and keys, a mask added, Softmax along its lines, a product with values. Written out, the scores of all
 * heads stand whole between: heads x n x n floats. Heads do not see each other, so that some of them at a time do the same in the memory of
 * those, which stays in the cache; their results are put side by side. A mask that is made behind the product is added by it all the same.
 */
#include "tools/net/heads.h"

#include "tools/net/plan/plan.h"
#include "tools/net/uses.h"

#include "kernels/kernels.h"

#include <string.h>

/* Steps beyond which no attention is split. */
enum { STEPS_MOST = MORSEL_FORMAT_MAX_STEPS / 2 };

typedef struct morsel_blob_float_matmul product;

static bool is_plain_float(const struct net_buffer *b) {
    return b->type == MORSEL_FLOAT32 && !b->constant;
}

/* The product that makes the value for one reader alone; NULL: something else does. */
static struct net_step *product_of(const struct net_uses *u, const struct net_buffer *value) {
    struct net_step *step = u->producers[value->index];
    return step && step->kind == MORSEL_STEP_FLOAT_MATMUL && u->readers[value->index] == 1 ? step : NULL;
}

/* ---- masks ---- */

/* How far apart in an operand of a sum the elements are that are `apart` in the result, up to `span` of them. False: not evenly. */
static bool stride_of(const struct morsel_blob_binary *p, const uint32_t *strides, uint32_t apart, uint64_t span, uint32_t *stride) {
    uint64_t inner = 1;
    for (uint32_t i = p->rank; i--; inner *= p->dims[i]) {
        if (apart >= inner * p->dims[i]) continue;
        *stride = (uint32_t)(apart / inner) * strides[i];
        return apart % inner == 0 && span <= inner * p->dims[i];
    }
    return false;
}

/* The strides of a sum's operand along the dimensions of a product whose result is the other one. */
static bool term_strides(const struct morsel_blob_binary *sum, const uint32_t *strides, product *p) {
    uint64_t apart = 1;
    for (uint32_t i = 4; i--; apart *= p->dims[i]) {
        p->term_stride[i] = 0;
        if (p->dims[i] > 1 && !stride_of(sum, strides, (uint32_t)apart, apart * p->dims[i], &p->term_stride[i])) return false;
    }
    return p->term_stride[3] < 2;
}

/* Whether operand k of the sum is the result of `made`, as it lies, and the other one can be its third input: then *p is both. */
static bool takes_term(const struct net_step *sum, uint32_t k, const struct net_step *made, product *p) {
    const struct morsel_blob_binary *s = &sum->parameters.binary;
    const uint32_t *whole = k ? s->b_stride : s->a_stride, *term = k ? s->a_stride : s->b_stride;
    *p = made->parameters.float_matmul;
    if (made->input_count != 2 || p->turned || !net_is_unlimited(p->float_min, p->float_max) || !is_plain_float(sum->inputs[1 - k]))
        return false;
    if (net_elements(made->output) != net_elements(sum->output) || !morsel_is_contiguous(s->dims, whole, s->rank)) return false;
    p->float_min = s->float_min;
    p->float_max = s->float_max;
    return term_strides(s, term, p);
}

/* A product, and the sum of its result and a mask: one step, in the sum's place. */
static void merge_mask(struct net *net, struct net_uses *u, struct net_step *sum) {
    if (sum->kind != MORSEL_STEP_BINARY || sum->parameters.binary.op != MORSEL_BINARY_ADD || sum->output->type != MORSEL_FLOAT32) return;
    for (uint32_t k = 0; k < 2; k++) {
        const struct net_step *made = product_of(u, sum->inputs[k]);
        product p;
        if (!made || !takes_term(sum, k, made, &p)) continue;
        struct net_buffer *const inputs[] = {made->inputs[0], made->inputs[1], sum->inputs[1 - k]};
        net_become(u, sum, MORSEL_STEP_FLOAT_MATMUL, inputs[0]);
        sum->inputs = net_alloc(net, sizeof inputs);
        memcpy(sum->inputs, inputs, sizeof inputs);
        sum->input_count = 3;
        for (uint32_t i = 1; i < 3; i++) u->readers[inputs[i]->index]++;
        sum->parameters.float_matmul = p;
        sum->parameter_words = sizeof p / 4;
        sum->macs = made->macs;
        return;
    }
}

/* ---- heads ---- */

struct attention {
    const struct net_step *scores, *softmax;
    struct net_step *values; /* the product with them, the last step */
    uint32_t heads, outer, at_a_time;
};

static bool lies_as_made(const product *scores, const product *values) {
    const uint32_t *d = scores->dims;
    if (values->a_first || memcmp(d, values->dims, 3 * sizeof *d) || values->inner != d[3]) return false;
    const uint64_t apart[3] = {(uint64_t)d[1] * d[2] * d[3], (uint64_t)d[2] * d[3], d[3]};
    for (int i = 0; i < 3; i++)
        if (d[i] > 1 && values->a_stride[i] != apart[i]) return false;
    return true;
}

static bool along_lines(const struct net_step *softmax, const product *scores) {
    const struct morsel_blob_softmax *p = &softmax->parameters.softmax;
    return p->inner == 1 && !p->table && !softmax->constant_count && p->count == scores->dims[3] && is_plain_float(softmax->output);
}

/* The attention that the product ends, if it is one and the scores of its heads are more than `room` bytes. */
static bool find_attention(const struct net_uses *u, struct net_step *values, uint32_t room, struct attention *a) {
    if (values->kind != MORSEL_STEP_FLOAT_MATMUL || values->input_count != 2 || u->readers[values->inputs[0]->index] != 1) return false;
    a->values = values;
    a->softmax = u->producers[values->inputs[0]->index];
    if (!a->softmax || a->softmax->kind != MORSEL_STEP_SOFTMAX) return false;
    a->scores = product_of(u, a->softmax->inputs[0]);
    if (!a->scores) return false;
    const product *p = &a->scores->parameters.float_matmul;
    if (p->turned || !along_lines(a->softmax, p) || !lies_as_made(p, &values->parameters.float_matmul)) return false;
    if (a->scores->input_count > 2 && p->term_stride[1]) return false;
    a->heads = p->dims[1];
    a->outer = p->dims[0];
    const uint64_t head = 4 * (uint64_t)p->dims[0] * p->dims[2] * p->dims[3];
    uint32_t most = head < room ? (uint32_t)(room / head) : 1, parts = (a->heads + most - 1) / most;
    a->at_a_time = (a->heads + parts - 1) / parts;
    return parts > 1;
}

/* The same step for `count` heads from `first` on. */
static struct net_step *copy_of(struct net *net, const struct net_step *from, uint32_t first, uint32_t count, struct net_buffer *y) {
    struct net_step *step =
        net_add_step(net, from->kind, net_text(net, "%s/heads_%u_%u", from->name, first, first + count - 1), NULL, NULL, y);
    step->inputs = net_alloc(net, from->input_count * sizeof *step->inputs);
    memcpy(step->inputs, from->inputs, from->input_count * sizeof *step->inputs);
    step->input_count = from->input_count;
    step->parameters = from->parameters;
    return step;
}

static struct net_buffer *floats(struct net *net, const struct net_step *step, uint32_t first, const uint32_t *dims) {
    return net_add_buffer(net, MORSEL_FLOAT32, MORSEL_ROW_MAJOR, 4, dims, net_text(net, "%s/heads_%u", step->output->name, first));
}

/* Gives what they make: [outer, heads, rows, columns], or turned. */
static struct net_buffer *add_heads(struct net *net, const struct attention *a, uint32_t first, uint32_t count) {
    product s = a->scores->parameters.float_matmul, v = a->values->parameters.float_matmul;
    s.dims[1] = v.dims[1] = count;
    s.a_first += first * s.a_stride[1];
    s.b_first += first * s.b_stride[1];
    v.b_first += first * v.b_stride[1];
    v.a_stride[0] = count * s.dims[2] * s.dims[3];
    const uint32_t dims[4] = {v.dims[0], v.turned ? v.dims[2] : count, v.turned ? count : v.dims[2], v.dims[3]};
    struct net_buffer *scores = floats(net, a->scores, first, s.dims), *shares = floats(net, a->softmax, first, s.dims);
    struct net_buffer *y = floats(net, a->values, first, dims);
    struct net_step *step = copy_of(net, a->scores, first, count, scores);
    step->parameters.float_matmul = s;
    step->macs = (uint64_t)net_elements(scores) * s.inner;
    step = copy_of(net, a->softmax, first, count, shares);
    step->inputs[0] = scores;
    step->parameters.softmax.outer = net_elements(scores) / s.dims[3];
    step = copy_of(net, a->values, first, count, y);
    step->inputs[0] = shares;
    step->parameters.float_matmul = v;
    step->macs = (uint64_t)net_elements(y) * v.inner;
    return y;
}

/* Adds steps for all heads; the last step of the attention puts their results side by side. */
static void split(struct net *net, const struct attention *a) {
    const product v = a->values->parameters.float_matmul;
    const uint32_t parts = (a->heads + a->at_a_time - 1) / a->at_a_time;
    struct net_buffer **results = net_alloc(net, parts * sizeof *results);
    uint32_t *words = net_alloc(net, (parts + 1) * sizeof *words);
    words[0] = v.turned ? v.dims[0] * v.dims[2] : v.dims[0];
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t first = i * a->at_a_time, left = a->heads - first, count = left < a->at_a_time ? left : a->at_a_time;
        results[i] = add_heads(net, a, first, count);
        words[i + 1] = count * v.dims[3] * (v.turned ? 1 : v.dims[2]);
    }
    struct net_step *step = a->values;
    step->kind = MORSEL_STEP_CONCAT;
    step->inputs = results;
    step->input_count = parts;
    step->more_words = words;
    step->parameter_words = parts + 1;
    step->macs = 0;
}

/* Steps begin[i] .. begin[i + 1], which stand behind the first `count`, go in front of step i. */
static void put_in_order(struct net *net, const uint32_t *begin, uint32_t count) {
    struct net_step **all = net_alloc(net, (net->step_count + 1) * sizeof *all);
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = begin[i]; k < begin[i + 1]; k++) all[n++] = net->steps[k];
        all[n++] = net->steps[i];
    }
    if (n) memcpy(net->steps, all, n * sizeof *all);
}

void net_split_heads(struct net *net, uint32_t room) {
    struct net_uses uses = net_uses_of(net);
    const uint32_t count = net->step_count;
    uint32_t *begin = net_alloc(net, (count + 1) * sizeof *begin);
    for (uint32_t i = 0; i < count; i++) merge_mask(net, &uses, net->steps[i]);
    for (uint32_t i = 0; i < count; i++) {
        struct attention a = {.heads = 0};
        begin[i] = net->step_count;
        if (net->step_count < STEPS_MOST && find_attention(&uses, net->steps[i], room, &a)) split(net, &a);
    }
    begin[count] = net->step_count;
    put_in_order(net, begin, count);
    plan_drop_dead_steps(net);
}
