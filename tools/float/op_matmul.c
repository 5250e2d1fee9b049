/* SPDX-License-Identifier: MIT */
/* Matrix products: Gemm, and MatMul over any number of matrices. A right side that is constant is packed once. */
#include "tools/float/product.h"
#include "tools/float/operator.h"
#include "tools/onnx/operator.h"

#include <string.h>

/* So few rows are each multiplied for themselves. */
enum { FEW_ROWS = 3 };

struct matmul {
    const struct loops *loops;
    struct matrix a, b;   /* one of each; data is filled in at run time */
    int64_t matrices;     /* of the output */
    int64_t *a_at, *b_at; /* [matrices]: where each begins */
    const float *packed;  /* panels of b, one matrix of them, or NULL */
    float alpha, beta;
    int64_t c_row, c_column; /* Gemm: strides of what is added; 0 where it repeats */
    bool adds;
};

/* y = a times packed panels of b. */
static void multiply(const struct matmul *m, const float *a_data, const float *panels, float *y, float *scratch) {
    struct matrix a = m->a;
    size_t depth = (size_t)a.columns, columns = (size_t)m->b.columns;
    a.data = a_data;
    if (a.rows <= FEW_ROWS) {
        for (int64_t i = 0; i < a.rows; i++)
            product_vector(m->loops, a_data + i * a.row, (size_t)a.column, panels, depth, y + (size_t)i * columns, columns);
        return;
    }
    static const float zeros[TILE_ROWS];
    pack_rows(&a, scratch);
    for (size_t j = 0; j < columns; j += TILE_COLUMNS, panels += depth * TILE_COLUMNS)
        for (int64_t i = 0; i < a.rows; i += TILE_ROWS)
            product_tile(m->loops, scratch + (size_t)i * depth, panels, depth, y + (size_t)i * columns + j, columns,
                         (int)(a.rows - i < TILE_ROWS ? a.rows - i : TILE_ROWS),
                         (int)(columns - j < TILE_COLUMNS ? columns - j : TILE_COLUMNS), zeros);
}

static void run_matmul(const void *plan, const struct call *call) {
    const struct matmul *m = plan;
    size_t rows = packed_rows_floats(m->a.rows, m->a.columns);
    float *panels = call->scratch + rows;
    const float *have = NULL;
    for (int64_t i = 0; i < m->matrices; i++) {
        const float *b = m->packed ? m->packed : call->in[1] + m->b_at[i];
        if (!m->packed && b != have) {
            struct matrix right = m->b;
            right.data = have = b;
            pack_panels(&right, panels);
        }
        multiply(m, call->in[0] + m->a_at[i], m->packed ? m->packed : panels, call->out[0] + i * m->a.rows * m->b.columns, call->scratch);
    }
}

static void run_gemm(const void *plan, const struct call *call) {
    const struct matmul *m = plan;
    float *y = call->out[0];
    run_matmul(plan, call);
    if (m->alpha != 1)
        for (int64_t i = 0; i < m->a.rows * m->b.columns; i++) y[i] *= m->alpha;
    for (int64_t i = 0; i < m->a.rows && m->adds; i++)
        for (int64_t j = 0; j < m->b.columns; j++) y[i * m->b.columns + j] += m->beta * call->in[2][i * m->c_row + j * m->c_column];
}

/* Packs the right side where it is constant and the same for all. */
static bool prepare_product(struct preparation *p, struct matmul *m, bool one_right) {
    const float *right = one_right ? prepare_constant(p, 1) : NULL;
    m->loops = loops_here();
    p->step->plan = m;
    if (right) {
        struct matrix b = m->b;
        b.data = right;
        float *packed = prepare_alloc(p, packed_panels_floats(b.rows, b.columns) * sizeof *packed);
        pack_panels(&b, packed);
        m->packed = packed;
    }
    size_t panels = right ? 0 : packed_panels_floats(m->b.rows, m->b.columns);
    return prepare_scratch(p, (int64_t)(packed_rows_floats(m->a.rows, m->a.columns) + panels));
}

bool prepare_gemm(struct preparation *p) {
    struct matmul *m = prepare_alloc(p, sizeof *m);
    const struct onnx_shape *a = shape_in(p, 0), *b = shape_in(p, 1), *y = shape_out(p, 0);
    bool trans_a = onnx_attribute_int(p->node, "transA", 0) != 0, trans_b = onnx_attribute_int(p->node, "transB", 0) != 0;
    int64_t depth = a->dims[!trans_a];
    m->a = (struct matrix){NULL, y->dims[0], depth, trans_a ? 1 : a->dims[1], trans_a ? a->dims[1] : 1};
    m->b = (struct matrix){NULL, depth, y->dims[1], trans_b ? 1 : b->dims[1], trans_b ? b->dims[1] : 1};
    m->matrices = 1;
    m->a_at = m->b_at = prepare_alloc(p, sizeof *m->a_at);
    m->alpha = onnx_attribute_float(p->node, "alpha", 1);
    m->beta = onnx_attribute_float(p->node, "beta", 1);
    m->adds = onnx_input(p->node, 2) && m->beta != 0;
    if (m->adds) {
        int64_t strides[ONNX_MAX_RANK] = {0};
        onnx_broadcast_strides(shape_in(p, 2), y, strides);
        m->c_row = strides[0];
        m->c_column = strides[1];
    }
    p->step->run = run_gemm;
    return prepare_product(p, m, true);
}

/* Where the matrices of an input begin, for each one of the output. */
static int64_t *matrix_places(struct preparation *p, const struct onnx_shape *x, const struct onnx_shape *batch, int64_t count) {
    struct onnx_shape own = {.rank = x->rank > 2 ? x->rank - 2 : 0};
    int64_t strides[1][ONNX_MAX_RANK] = {{0}}, index[ONNX_MAX_RANK] = {0}, at[1] = {0};
    int64_t size = x->dims[x->rank - 1] * (x->rank > 1 ? x->dims[x->rank - 2] : 1);
    int64_t *places = prepare_alloc(p, (size_t)(count + 1) * sizeof *places);
    memcpy(own.dims, x->dims, (size_t)own.rank * sizeof own.dims[0]);
    onnx_broadcast_strides(&own, batch, strides[0]);
    for (int64_t i = 0; i < count; i++) {
        places[i] = at[0] * size;
        onnx_advance(batch, index, 1, (const int64_t(*)[ONNX_MAX_RANK])strides, at);
    }
    return places;
}

bool prepare_matmul(struct preparation *p) {
    struct matmul *m = prepare_alloc(p, sizeof *m);
    const struct onnx_shape *a = shape_in(p, 0), *b = shape_in(p, 1);
    struct onnx_shape batch = *shape_out(p, 0);
    int64_t depth = a->dims[a->rank - 1], rows = a->rank > 1 ? a->dims[a->rank - 2] : 1, columns = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    batch.rank -= (a->rank > 1) + (b->rank > 1);
    m->matrices = shape_part(&batch, 0, batch.rank);
    if (a->rank > 2 && b->rank <= 2) { /* one right side: all left ones are one matrix */
        rows *= m->matrices;
        m->matrices = 1;
        batch.rank = 0;
        m->a_at = prepare_alloc(p, sizeof *m->a_at);
    } else {
        m->a_at = matrix_places(p, a, &batch, m->matrices);
    }
    m->b_at = matrix_places(p, b, &batch, m->matrices);
    m->a = (struct matrix){NULL, rows, depth, depth, 1};
    m->b = (struct matrix){NULL, depth, columns, columns, 1};
    p->step->run = run_matmul;
    return prepare_product(p, m, shape_part(b, 0, b->rank - 2 > 0 ? b->rank - 2 : 0) == 1);
}
