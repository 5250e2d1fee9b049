/* SPDX-License-Identifier: MIT */
/* A range of a step's units: row addresses for the spatial kernels, pieces for a concatenation, straight calls for the rest. */
#include "call.h"

#include <string.h>

#define ROW_POINTERS 256u /* at least MORSEL_FORMAT_MAX_WINDOW */

_Static_assert(ROW_POINTERS >= MORSEL_FORMAT_MAX_WINDOW, "the rows of one output row fit");

/* The input rows of output rows y .. y + n of one image: rows[i * kernel_h + ky]. Above the picture the index wraps to a huge one. */
static void find_rows(const uint8_t **rows, const struct morsel_window *w, const uint8_t *image, const uint8_t *outside, uint32_t y,
                      uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            uint32_t iy = (y + i) * w->stride_h + ky * w->dilation_h - w->pad_top;
            rows[i * w->kernel_h + ky] = iy < w->in_h ? image + (size_t)iy * w->in_row : outside;
        }
    }
}

/* Output rows from `begin` on that one call takes: within an image, and no more than there are row addresses for. */
static uint32_t chunk(const struct morsel_window *w, uint32_t begin, uint32_t end) {
    uint32_t n = w->out_h - begin % w->out_h, most = ROW_POINTERS / w->kernel_h;
    if (n > end - begin) n = end - begin;
    return n < most ? n : most;
}

static void call_rows(const struct morsel_call *call, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    if (call->kind == MORSEL_STEP_CONV || call->kind == MORSEL_STEP_DEPTHWISE) call->kernel.conv(&call->args.conv, rows, y, n);
    else if (call->kind == MORSEL_STEP_REAL_CONV) call->kernel.real_conv(&call->args.real_conv, rows, y, n);
    else call->kernel.pool(&call->args.pool, rows, y, n);
}

/* `outside` stands for the rows outside the picture: a row of zero points, or NULL. */
static void rows_range(const struct morsel_call *call, const struct morsel_window *w, const void *data, const uint8_t *outside,
                       uint32_t begin, uint32_t end) {
    const uint8_t *rows[ROW_POINTERS];
    for (uint32_t n; begin < end; begin += n) {
        const uint8_t *image = (const uint8_t *)data + (size_t)(begin / w->out_h) * w->in_h * w->in_row;
        n = chunk(w, begin, end);
        find_rows(rows, w, image, outside, begin % w->out_h, n);
        call_rows(call, rows, begin, n);
    }
}

static void concat_range(const struct morsel_call *call, uint32_t begin, uint32_t end) {
    const struct morsel_concat *c = &call->args.concat;
    const struct morsel_blob_concat *p = morsel_blob_at(c->model, c->step->parameters);
    struct morsel_copy_args copy = {NULL, c->y, 0, 0, c->y_stride, 0};
    for (uint32_t k = 0; k < c->step->input_count; k++) {
        const struct morsel_blob_tensor *x = morsel_blob_input(c->model, c->step, k);
        copy.x = x->place ? (const uint8_t *)morsel_blob_at(c->model, x->offset) : c->arena + x->offset;
        copy.bytes = p->inner[k] * c->size;
        copy.x_stride = copy.bytes;
        copy.flip = morsel_stored_flip(c->model, x, c->store_flip) ^ c->y_flip;
        call->kernel.copy(&copy, begin, end);
        copy.y += copy.bytes;
    }
}

void morsel_call_range(const struct morsel_call *call, uint32_t begin, uint32_t end) {
    const struct morsel_conv_args *conv = &call->args.conv;
    const struct morsel_real_conv_args *real = &call->args.real_conv;
    const struct morsel_pool_args *pool = &call->args.pool;
    switch (call->kind) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_DEPTHWISE: rows_range(call, &conv->window, conv->x.data, conv->outside, begin, end); break;
    case MORSEL_STEP_REAL_CONV: rows_range(call, &real->window, real->x.data, NULL, begin, end); break;
    case MORSEL_STEP_AVERAGE_POOL:
    case MORSEL_STEP_MAX_POOL: rows_range(call, &pool->window, pool->x.data, NULL, begin, end); break;
    case MORSEL_STEP_FC: call->kernel.fc(&call->args.fc, begin, end); break;
    case MORSEL_STEP_MATMUL: call->kernel.matmul(&call->args.matmul, begin, end); break;
    case MORSEL_STEP_BINARY: call->kernel.binary(&call->args.binary, begin, end); break;
    case MORSEL_STEP_UNARY: call->kernel.unary(&call->args.unary, begin, end); break;
    case MORSEL_STEP_LUT: call->kernel.lut(&call->args.lut, begin, end); break;
    case MORSEL_STEP_MEAN: call->kernel.mean(&call->args.mean, begin, end); break;
    case MORSEL_STEP_SOFTMAX: call->kernel.softmax(&call->args.softmax, begin, end); break;
    case MORSEL_STEP_CONCAT: concat_range(call, begin, end); break;
    default: call->kernel.gather(&call->args.gather, begin, end); break;
    }
}
