/* SPDX-License-Identifier: MIT */
/*
 * Mean, difference, square, mean, root, quotient, factor and term along lines, as exports and pass_norms.c spell out LayerNormalization and
 * RMSNormalization: one step, which goes through a line while it is in the cache and has no tensor between. It is looked for from its end.
 */
#include "tools/net/norms.h"

#include "tools/net/plan/plan.h"
#include "tools/net/uses.h"

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* The last lists of numbers that were looked at: whether all are finite. */
struct known {
    uint32_t next, count[8];
    const float *list[8];
    bool finite[8];
};

/* What is found of a normalization. */
struct norm {
    struct known *known;
    struct net_buffer *x;
    const float *factor, *term;
    uint32_t count; /* elements of a line; 0: not known yet */
    float epsilon;
    bool centred;
};

/* The step that makes the value for `readers` readers alone; NULL: there is none of that kind. */
static struct net_step *maker_of(const struct net_uses *u, const struct net_buffer *value, enum morsel_step_kind kind, uint32_t readers) {
    struct net_step *step = u->producers[value->index];
    if (!step || step->kind != kind || u->readers[value->index] != readers || value->type != MORSEL_FLOAT32) return NULL;
    return step;
}

static bool is_binary(const struct net_step *step, uint32_t op) {
    return step && step->kind == MORSEL_STEP_BINARY && step->parameters.binary.op == op;
}

static struct net_step *binary_of(const struct net_uses *u, const struct net_buffer *value, uint32_t op, uint32_t readers) {
    struct net_step *step = maker_of(u, value, MORSEL_STEP_BINARY, readers);
    if (!is_binary(step, op)) return NULL;
    return net_is_unlimited(step->parameters.binary.float_min, step->parameters.binary.float_max) ? step : NULL;
}

static const uint32_t *strides_of(const struct net_step *step, uint32_t k) {
    return k ? step->parameters.binary.b_stride : step->parameters.binary.a_stride;
}

static bool is_whole(const struct net_step *step, uint32_t k) {
    const struct morsel_blob_binary *p = &step->parameters.binary;
    return net_elements(step->inputs[k]) == net_elements(step->output) && morsel_is_contiguous(p->dims, strides_of(step, k), p->rank);
}

/* Whether operand k has one element for each line of `count`, or `count` elements for every line. */
static bool repeats(const struct net_step *step, uint32_t k, uint32_t count, bool by_line) {
    const struct morsel_blob_binary *p = &step->parameters.binary;
    const uint32_t *stride = strides_of(step, k);
    uint32_t inside = 1, next = 1;
    for (uint32_t i = p->rank; i--;) {
        const bool in_line = inside < count;
        if (in_line) inside *= p->dims[i];
        if (p->dims[i] == 1) continue;
        if (in_line == by_line ? stride[i] != 0 : stride[i] != next) return false;
        if (in_line != by_line) next *= p->dims[i];
    }
    return inside == count && next == net_elements(step->inputs[k]);
}

/* The mean of lines that lie in order, whose length it says or shares. */
static struct net_step *mean_of(const struct net_uses *u, struct norm *n, const struct net_buffer *value) {
    struct net_step *step = maker_of(u, value, MORSEL_STEP_MEAN, 1);
    if (!step || step->parameters.mean.inner != 1 || (n->count && step->parameters.mean.count != n->count)) return NULL;
    n->count = step->parameters.mean.count;
    return step;
}

/* The mean of squares behind the root, of which `value` is read once; gives what is squared. */
static struct net_buffer *squared(const struct net_uses *u, struct norm *n, const struct net_buffer *root) {
    struct net_step *sqrt = maker_of(u, root, MORSEL_STEP_UNARY, 1);
    if (!sqrt || sqrt->parameters.unary.op != MORSEL_UNARY_SQRT) return NULL;
    struct net_step *add = binary_of(u, sqrt->inputs[0], MORSEL_BINARY_ADD, 1);
    if (!add) return NULL;
    const uint32_t k = add->inputs[0]->constant ? 0 : 1;
    const struct net_buffer *epsilon = add->inputs[k];
    if (!epsilon->constant || epsilon->type != MORSEL_FLOAT32 || net_elements(epsilon) != 1) return NULL;
    memcpy(&n->epsilon, epsilon->constant, sizeof n->epsilon);
    struct net_step *mean = mean_of(u, n, add->inputs[1 - k]);
    struct net_step *square = mean ? binary_of(u, mean->inputs[0], MORSEL_BINARY_MUL, 1) : NULL;
    if (!square || square->inputs[0] != square->inputs[1] || !is_whole(square, 0) || !is_whole(square, 1)) return NULL;
    return n->epsilon >= 0 && isfinite(n->epsilon) ? square->inputs[0] : NULL;
}

/* What is divided: x less its mean, which two steps read three times in all, or x. */
static bool find_x(const struct net_uses *u, struct norm *n, struct net_buffer *divided) {
    const struct net_step *sub = binary_of(u, divided, MORSEL_BINARY_SUB, 3);
    struct net_step *mean = sub && is_whole(sub, 0) && repeats(sub, 1, n->count, true) ? mean_of(u, n, sub->inputs[1]) : NULL;
    n->centred = mean && mean->inputs[0] == sub->inputs[0];
    n->x = n->centred ? sub->inputs[0] : divided;
    return n->x->type == MORSEL_FLOAT32 || n->centred;
}

static bool find_quotient(const struct net_uses *u, struct norm *n, const struct net_step *div) {
    struct net_buffer *x = is_binary(div, MORSEL_BINARY_DIV) && is_whole(div, 0) ? squared(u, n, div->inputs[1]) : NULL;
    return x && x == div->inputs[0] && repeats(div, 1, n->count, true) && find_x(u, n, x);
}

/* The constant operand of a factor or a term, which may be in a record; its other operand goes to *x. NULL: it has none. */
static const struct net_buffer *list_of(const struct net_step *step, struct net_buffer **x, uint32_t *k) {
    *k = step->inputs[0]->constant ? 0 : 1;
    *x = step->inputs[1 - *k];
    const struct net_buffer *list = step->inputs[*k];
    return list->constant && list->type == MORSEL_FLOAT32 && is_whole(step, 1 - *k) ? list : NULL;
}

/* Asked once of numbers that many steps read, each by a buffer of its own. */
static bool all_finite(struct known *known, const float *numbers, uint32_t count) {
    enum { KEPT = sizeof known->list / sizeof *known->list };
    for (uint32_t i = 0; i < KEPT; i++)
        if (known->list[i] == numbers && known->count[i] == count) return known->finite[i];
    const uint32_t at = known->next++ % KEPT;
    known->list[at] = numbers;
    known->count[at] = count;
    known->finite[at] = true;
    for (uint32_t i = 0; i < count; i++)
        if (!isfinite(numbers[i])) known->finite[at] = false;
    return known->finite[at];
}

/* Whether operand k has a finite number for each element of a line. */
static bool fits_lines(const struct norm *n, const struct net_step *step, uint32_t k) {
    const struct net_buffer *list = step->inputs[k];
    return repeats(step, k, n->count, false) && all_finite(n->known, list->constant, net_elements(list));
}

/* From its last step backwards: a term, a factor, the quotient. */
static bool find_norm(const struct net_uses *u, struct norm *n, const struct net_step *last) {
    const struct net_step *term = is_binary(last, MORSEL_BINARY_ADD) ? last : NULL, *factor = NULL, *div = last;
    struct net_buffer *x = NULL;
    uint32_t in_term = 0, in_factor = 0;
    const struct net_buffer *terms = term ? list_of(term, &x, &in_term) : NULL, *factors = NULL;
    if (term && !terms) return false;
    if (term) div = binary_of(u, x, MORSEL_BINARY_MUL, 1);
    if (!div) div = binary_of(u, x, MORSEL_BINARY_DIV, 1);
    if (is_binary(div, MORSEL_BINARY_MUL)) factor = div;
    factors = factor ? list_of(factor, &x, &in_factor) : NULL;
    if (factor && !factors) return false;
    if (factor) div = binary_of(u, x, MORSEL_BINARY_DIV, 1);
    if (!div || !find_quotient(u, n, div)) return false;
    if (terms && !fits_lines(n, term, in_term)) return false;
    if (factors && !fits_lines(n, factor, in_factor)) return false;
    n->term = terms ? terms->constant : NULL;
    n->factor = factors ? factors->constant : NULL;
    return true;
}

static void become_norm(struct net_uses *u, struct net_step *step, const struct norm *n) {
    const struct morsel_blob_binary last = step->parameters.binary;
    const size_t bytes = n->count * sizeof(float);
    net_become(u, step, MORSEL_STEP_LAYER_NORM, n->x);
    struct morsel_blob_layer_norm *p = &step->parameters.layer_norm;
    p->lines = net_elements(n->x) / n->count;
    p->count = n->count;
    p->centred = n->centred;
    p->epsilon = n->epsilon;
    p->out_min = last.out_min, p->out_max = last.out_max;
    p->float_min = last.float_min, p->float_max = last.float_max;
    step->parameter_words = sizeof *p / 4;
    if (n->factor) net_add_constant(step, n->factor, bytes, offsetof(struct morsel_blob_layer_norm, factor));
    if (n->term) net_add_constant(step, n->term, bytes, offsetof(struct morsel_blob_layer_norm, term));
}

void net_merge_norms(struct net *net) {
    struct net_uses uses = net_uses_of(net);
    struct known known = {.next = 0};
    for (uint32_t i = net->step_count; i--;) {
        struct norm n = {.known = &known};
        if (net->steps[i]->kind == MORSEL_STEP_BINARY && find_norm(&uses, &n, net->steps[i])) become_norm(&uses, net->steps[i], &n);
    }
    plan_drop_dead_steps(net);
}
