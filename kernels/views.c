/* SPDX-License-Identifier: MIT */
/* Where the rows of a product of two activations lie. */
#include "kernels.h"

void morsel_view_rows(const struct morsel_views *v, uint32_t begin, uint32_t end, struct morsel_view_rows *rows) {
    const size_t batch = begin / v->rows, row = begin % v->rows, outer = batch / v->middle, middle = batch % v->middle;
    const uint32_t left = v->rows - (uint32_t)row;
    rows->a = v->a_first + outer * v->a_stride[0] + batch / v->a_divide % v->a_batch * v->a_stride[1] + row * v->a_stride[2];
    rows->b = v->b_first + outer * v->b_stride[0] + batch / v->b_divide % v->b_batch * v->b_stride[1];
    rows->y = outer * v->y_stride[0] + middle * v->y_stride[1] + row * v->y_stride[2];
    rows->term = outer * v->term_stride[0] + middle * v->term_stride[1] + row * v->term_stride[2];
    rows->n = left < end - begin ? left : end - begin;
}
