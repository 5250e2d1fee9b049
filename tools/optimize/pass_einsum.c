/* SPDX-License-Identifier: MIT */
/*
 * Einsum of two operands as a matrix product. Letters of both operands that stay are stacked matrices, those that go are summed, and each
 * operand's own are its rows or columns. Where they stand in that order nothing moves; several of a kind become one dimension.
 */
#include "tools/onnx/einsum.h"
#include "tools/optimize/pass.h"

#include <string.h>

enum kind { STACKED, LEFT, RIGHT, SUMMED, KINDS };

struct product {
    struct onnx_einsum e;
    char letters[KINDS][ONNX_MAX_RANK + 1]; /* in the order of the output, those that are summed in that of the left operand */
    int64_t dims[128];
};

static bool add_letter(struct product *p, enum kind kind, char letter) {
    size_t n = strlen(p->letters[kind]);
    if (n == ONNX_MAX_RANK) return false;
    p->letters[kind][n] = letter;
    return true;
}

/* False: a letter of one operand alone is summed, or a dimension is empty, or an operand's shape is not known. */
static bool read_product(const struct onnx_node *node, struct product *p) {
    const char *why;
    if (!onnx_einsum_read(node, &p->e, &why) || p->e.operands != 2) return false;
    if (node->inputs[0]->shape.rank < 0 || node->inputs[1]->shape.rank < 0) return false;
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < node->inputs[i]->shape.rank; d++) {
            char letter = p->e.in[i][d];
            bool stays = strchr(p->e.out, letter) != NULL, shared = strchr(p->e.in[1 - i], letter) != NULL;
            p->dims[(int)letter] = node->inputs[i]->shape.dims[d];
            if ((!stays && !shared) || p->dims[(int)letter] < 1) return false;
            if (!stays && !i && !add_letter(p, SUMMED, letter)) return false;
        }
    for (const char *letter = p->e.out; *letter; letter++) {
        bool left = strchr(p->e.in[0], *letter) != NULL, right = strchr(p->e.in[1], *letter) != NULL;
        if (!add_letter(p, left && right ? STACKED : left ? LEFT : RIGHT, *letter)) return false;
    }
    return true;
}

static struct onnx_value *transposed(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const char *from, const char *to) {
    struct onnx_shape shape = x->shape;
    int64_t perm[ONNX_MAX_RANK];
    if (!strcmp(from, to)) return x;
    for (int i = 0; i < shape.rank; i++) {
        perm[i] = strchr(from, to[i]) - from;
        shape.dims[i] = x->shape.dims[perm[i]];
    }
    x = graph_put(g, node, "Transpose", &x, 1, &shape);
    edit_attribute_ints(g, x->producer, "perm", perm, (size_t)shape.rank);
    return x;
}

static int64_t elements(const struct product *p, enum kind kind) {
    int64_t n = 1;
    for (const char *letter = p->letters[kind]; *letter; letter++) n *= p->dims[(int)*letter];
    return n;
}

/* Stacked matrices as they stand, or as one dimension where the rest would be more than a matrix. */
static struct onnx_value *as_matrices(struct onnx_graph *g, struct onnx_node *node, const struct product *p, struct onnx_value *x,
                                      const char *part, enum kind rows, enum kind columns) {
    struct onnx_shape shape = {.rank = 0};
    for (const char *letter = p->letters[STACKED]; *letter; letter++) shape.dims[shape.rank++] = p->dims[(int)*letter];
    shape.dims[shape.rank++] = elements(p, rows);
    shape.dims[shape.rank++] = elements(p, columns);
    if (onnx_same_shape(&x->shape, &shape)) return x;
    struct onnx_value *inputs[2] = {x, graph_int64s(g, node, part, shape.dims, shape.rank)};
    return graph_put(g, node, "Reshape", inputs, 2, &shape);
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    struct product p = {.letters = {{0}}};
    char left[3 * ONNX_MAX_RANK + 3] = "", right[3 * ONNX_MAX_RANK + 3] = "", made[3 * ONNX_MAX_RANK + 3] = "";
    if (!graph_is(node, "Einsum") || node->folded || node->inputs[0]->type != ONNX_FLOAT || !read_product(node, &p)) return false;
    if (strlen(p.letters[STACKED]) + 2 > ONNX_MAX_RANK) return false;
    strcat(strcat(strcat(left, p.letters[STACKED]), p.letters[LEFT]), p.letters[SUMMED]);
    strcat(strcat(strcat(right, p.letters[STACKED]), p.letters[SUMMED]), p.letters[RIGHT]);
    strcat(strcat(strcat(made, p.letters[STACKED]), p.letters[LEFT]), p.letters[RIGHT]);
    struct onnx_value *inputs[2] = {transposed(g, node, node->inputs[0], p.e.in[0], left),
                                    transposed(g, node, node->inputs[1], p.e.in[1], right)};
    inputs[0] = as_matrices(g, node, &p, inputs[0], "left", LEFT, SUMMED);
    inputs[1] = as_matrices(g, node, &p, inputs[1], "right", SUMMED, RIGHT);
    struct onnx_shape shape = inputs[0]->shape, whole = {.rank = 0};
    shape.dims[shape.rank - 1] = elements(&p, RIGHT);
    for (const char *letter = made; *letter; letter++) whole.dims[whole.rank++] = p.dims[(int)*letter];
    bool in_order = !strcmp(made, p.e.out), matrix = onnx_same_shape(&shape, &whole);
    if (in_order && matrix) {
        edit_become(g, node, "MatMul", "", inputs, 2);
        return true;
    }
    struct onnx_value *y = graph_put(g, node, "MatMul", inputs, 2, &shape), *reshaped[2] = {y, NULL};
    if (!matrix) reshaped[1] = graph_int64s(g, node, "shape", whole.dims, whole.rank);
    if (in_order) {
        edit_become(g, node, "Reshape", "", reshaped, 2);
        return true;
    }
    if (!matrix) y = graph_put(g, node, "Reshape", reshaped, 2, &whole);
    int64_t perm[ONNX_MAX_RANK];
    for (int i = 0; i < whole.rank; i++) perm[i] = strchr(made, p.e.out[i]) - made;
    edit_become(g, node, "Transpose", "", &y, 1);
    edit_attribute_ints(g, node, "perm", perm, (size_t)whole.rank);
    return true;
}

int pass_einsum(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) changes += change(g, g->nodes[i]);
    return changes;
}
