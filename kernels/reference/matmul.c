/* SPDX-License-Identifier: MIT */
/* What matrix products mean: of an activation and weights, and of two activations. */
#include "reference.h"
#include "sums.h"

/* The row's scale times the channel's. */
static void put_by_line(const struct morsel_fc_args *a, uint32_t row, uint32_t o, uint32_t sum) {
    float multiplier = a->lines[2 * (size_t)row] * a->channels.multiplier[o];
    const float *bias = a->channels.float_bias ? &a->channels.float_bias[o] : NULL;
    morsel_store_sum(&a->y, (size_t)row * a->outputs + o, morsel_signed(sum + (uint32_t)a->channels.bias[o]), multiplier, bias);
}

void morsel_fc_blocks_reference(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        uint32_t row = u / a->blocks, first = u % a->blocks * 16;
        const uint8_t *x = (const uint8_t *)a->x.data + (size_t)row * a->inputs;
        struct morsel_qparams qparams = a->x.qparams;
        if (a->lines) qparams.zero = morsel_found_zero(a->lines + 2 * (size_t)row);
        for (uint32_t o = first; o < a->outputs && o < first + 16; o++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < a->inputs; k++)
                sum += (uint32_t)(morsel_integer(&qparams, x[k]) * morsel_weight(a->weights, &a->channels, (a->inputs + 3) / 4 * 4, o, k));
            if (!a->lines) morsel_put_sum(&a->y, (size_t)row * a->outputs + o, sum, &a->channels, o);
            else put_by_line(a, row, o, sum);
        }
    }
}

/* Each product is rounded, then each sum, in the order of k; factor and term likewise. */
void morsel_float_matmul_reference(const struct morsel_float_matmul_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++) {
        const struct morsel_float_rows row = morsel_float_rows(a, begin, begin + 1);
        for (size_t c = 0; c < a->views.columns; c++) {
            float sum = 0;
            for (size_t k = 0; k < a->views.inner; k++) {
                const float product = row.a[k] * row.b[k * a->views.b_stride[2] + c * a->views.b_stride[3]];
                sum = sum + product;
            }
            sum = sum * a->factor;
            if (row.term) sum = sum + row.term[c * a->views.term_stride[3]];
            morsel_store_float(&a->y, (size_t)(row.y - (float *)a->y.data) + c, sum);
        }
    }
}

void morsel_matmul_rows_reference(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        size_t row = u % a->views.rows, batch = u / a->views.rows, outer = batch / a->views.middle;
        size_t a_at = batch / a->views.a_divide % a->views.a_batch, b_at = batch / a->views.b_divide % a->views.b_batch;
        const uint8_t *x = (const uint8_t *)a->a.data + a->views.a_first + outer * a->views.a_stride[0] + a_at * a->views.a_stride[1] +
                           row * a->views.a_stride[2];
        const uint8_t *z = (const uint8_t *)a->b.data + a->views.b_first + outer * a->views.b_stride[0] + b_at * a->views.b_stride[1];
        size_t y = outer * a->views.y_stride[0] + batch % a->views.middle * a->views.y_stride[1] + row * a->views.y_stride[2];
        for (uint32_t c = 0; c < a->views.columns; c++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < a->views.inner; k++)
                sum += (uint32_t)(morsel_integer(&a->a.qparams, x[k]) *
                                  morsel_integer(&a->b.qparams, z[(size_t)k * a->views.b_stride[2] + (size_t)c * a->views.b_stride[3]]));
            morsel_store_sum(&a->y, y + c, morsel_signed(sum), a->multiplier, NULL);
        }
    }
}
