/* SPDX-License-Identifier: MIT */
/* Einsum, element by element: in networks that are optimized it is a matrix product. */
#include "tools/float/operator.h"
#include "tools/onnx/einsum.h"
#include "tools/onnx/operator.h"

#include <string.h>

struct einsum {
    int operands;
    struct onnx_shape out, sum; /* what an element of the output is for, and what is summed for it */
    int64_t out_strides[2][ONNX_MAX_RANK], sum_strides[2][ONNX_MAX_RANK];
};

static void run_einsum(const void *plan, const struct call *call) {
    const struct einsum *e = plan;
    int64_t index[ONNX_MAX_RANK] = {0}, at[2] = {0}, count = onnx_elements(&e->out), terms = onnx_elements(&e->sum);
    for (int64_t i = 0; i < count; i++) {
        int64_t inner[ONNX_MAX_RANK] = {0}, from[2] = {at[0], at[1]};
        float sum = 0;
        for (int64_t k = 0; k < terms; k++) {
            sum += call->in[0][from[0]] * (e->operands > 1 ? call->in[1][from[1]] : 1);
            onnx_advance(&e->sum, inner, 2, (const int64_t(*)[ONNX_MAX_RANK])e->sum_strides, from);
        }
        call->out[0][i] = sum;
        onnx_advance(&e->out, index, 2, (const int64_t(*)[ONNX_MAX_RANK])e->out_strides, at);
    }
}

/* How far apart the elements of an operand lie along a letter; 0 where it has none. */
static int64_t stride_of(const struct onnx_shape *x, const char *letters, char letter) {
    int64_t strides[ONNX_MAX_RANK] = {0};
    const char *at = strchr(letters, letter);
    onnx_strides(x, strides);
    return at ? strides[at - letters] : 0;
}

bool prepare_einsum(struct preparation *p) {
    struct einsum *plan = prepare_alloc(p, sizeof *plan);
    struct onnx_einsum e;
    const char *why;
    if (!onnx_einsum_read(p->node, &e, &why)) return cannot(p, "%s", why);
    plan->operands = e.operands;
    plan->out = *shape_out(p, 0);
    for (int i = 0; i < e.operands; i++)
        for (const char *letter = e.in[i]; *letter; letter++) {
            int64_t dim = shape_in(p, i)->dims[letter - e.in[i]];
            const char *out = strchr(e.out, *letter), *before = i ? strchr(e.in[0], *letter) : NULL;
            if (out || before) continue;
            if (plan->sum.rank == ONNX_MAX_RANK) return cannot(p, "it sums over more than %d dimensions", ONNX_MAX_RANK);
            for (int k = 0; k < e.operands; k++) plan->sum_strides[k][plan->sum.rank] = stride_of(shape_in(p, k), e.in[k], *letter);
            plan->sum.dims[plan->sum.rank++] = dim;
        }
    for (int d = 0; d < plan->out.rank; d++)
        for (int k = 0; k < e.operands; k++) plan->out_strides[k][d] = stride_of(shape_in(p, k), e.in[k], e.out[d]);
    p->step->run = run_einsum;
    p->step->plan = plan;
    return true;
}
