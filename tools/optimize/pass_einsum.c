/* SPDX-License-Identifier: MIT */
/*
 * Einsum of one operand is a sum and a transposition. Of two it is a matrix product: letters of both that stay are stacked matrices, those
 * that go are summed, and each operand's own are its rows or columns. Where they stand in that order nothing moves; several of a kind
 * become one dimension. A constant is written anew as it is wanted.
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

/* A constant of another shape: element by element by strides of the one before. */
static struct onnx_value *moved(struct onnx_graph *g, const struct onnx_node *node, const struct onnx_value *x,
                                const struct onnx_shape *shape, const int64_t *strides) {
    struct onnx_tensor *t;
    struct onnx_value *y = edit_constant(g, onnx_text(g, "%s.operand", node->name), ONNX_FLOAT, shape, &t);
    onnx_copy_strided(x->constant, 0, strides, t);
    return y;
}

static struct onnx_value *transposed(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const char *from, const char *to) {
    struct onnx_shape shape = x->shape;
    int64_t perm[ONNX_MAX_RANK], own[ONNX_MAX_RANK], strides[ONNX_MAX_RANK];
    if (!strcmp(from, to)) return x;
    onnx_strides(&x->shape, own);
    for (int i = 0; i < shape.rank; i++) {
        perm[i] = strchr(from, to[i]) - from;
        shape.dims[i] = x->shape.dims[perm[i]];
        strides[i] = own[perm[i]];
    }
    if (x->constant) return moved(g, node, x, &shape, strides);
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
    int64_t strides[ONNX_MAX_RANK];
    onnx_strides(&shape, strides);
    if (x->constant) return moved(g, node, x, &shape, strides);
    struct onnx_value *inputs[2] = {x, graph_int64s(g, node, part, shape.dims, shape.rank)};
    return graph_put(g, node, "Reshape", inputs, 2, &shape);
}

/* Of one operand: sums over the letters that go, and those that stay in another order. */
static bool change_one(struct onnx_graph *g, struct onnx_node *node, const struct onnx_einsum *e) {
    struct onnx_value *x = node->inputs[0];
    char left[ONNX_MAX_RANK + 1] = "";
    struct onnx_shape shape = {.rank = 0};
    int64_t axes[ONNX_MAX_RANK], perm[ONNX_MAX_RANK];
    int count = 0;
    if (onnx_elements(&x->shape) < 1) return false;
    for (int d = 0; d < x->shape.rank; d++) {
        if (!strchr(e->out, e->in[0][d])) axes[count++] = d;
        else left[shape.rank] = e->in[0][d], shape.dims[shape.rank++] = x->shape.dims[d];
    }
    if (count) {
        x = graph_reduce(g, node, "ReduceSum", x, axes, count, &shape);
        edit_attribute_int(g, x->producer, "keepdims", 0);
    }
    for (int i = 0; i < shape.rank; i++) perm[i] = strchr(left, e->out[i]) - left;
    const bool in_order = !strcmp(left, e->out);
    edit_become(g, node, in_order ? "Identity" : "Transpose", "", &x, 1);
    if (!in_order) edit_attribute_ints(g, node, "perm", perm, (size_t)shape.rank);
    return true;
}

/* Constants are written anew, twice at most: of what many share each gets its own, for which the file's numbers pay. */
static bool has_room(struct onnx_graph *g, const struct onnx_node *node) {
    size_t count = 0;
    for (int i = 0; i < 2; i++) count += node->inputs[i]->constant ? 2 * node->inputs[i]->constant->count : 0;
    return graph_takes_room(g, count);
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    struct product p = {.letters = {{0}}};
    char left[3 * ONNX_MAX_RANK + 3] = "", right[3 * ONNX_MAX_RANK + 3] = "", made[3 * ONNX_MAX_RANK + 3] = "";
    const char *why;
    if (!graph_is(node, "Einsum") || node->folded || node->inputs[0]->type != ONNX_FLOAT) return false;
    if (!onnx_einsum_read(node, &p.e, &why)) return false;
    if (p.e.operands == 1) return !node->inputs[0]->constant && change_one(g, node, &p.e);
    if (node->inputs[1]->type != ONNX_FLOAT) return false;
    if (!read_product(node, &p) || strlen(p.letters[STACKED]) + 2 > ONNX_MAX_RANK || !has_room(g, node)) return false;
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
    for (size_t i = 0; graph_goes_on(g, i); i++) changes += change(g, graph_node_at(g, i));
    return changes;
}
