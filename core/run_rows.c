/* SPDX-License-Identifier: MIT */
/* The last way to a kernel: row addresses for spatial kernels, places in rings for elementwise ones, straight calls for the rest. */
#include "run.h"

#define ROW_POINTERS 256u

_Static_assert(ROW_POINTERS >= MORSEL_FORMAT_MAX_WINDOW, "the rows of one output row fit");

/* Where row y lies among those that are held. Calls for few rows are many, and a division takes longer than the question. */
static uint32_t place_of(const struct morsel_held *x, uint32_t y) {
    y -= x->first;
    return y < x->rows ? y : y % x->rows;
}

/* Rows y .. that lie side by side in `x`, `n` at most. */
static uint32_t together(const struct morsel_held *x, uint32_t y, uint32_t n) {
    uint32_t room = x->rows - place_of(x, y);
    return n < room ? n : room;
}

/* The input rows of output rows y .. y + n: rows[i * kernel_h + ky]; returns how many output rows there was room for. Above the picture
 * the index wraps to a huge one. `lap`: the row that lies in front as long as `top` is held. */
static uint32_t find_rows(const uint8_t **rows, const struct morsel_window *w, const struct morsel_held *x, const uint8_t *padding_row,
                          uint32_t y, uint32_t n) {
    const uint8_t *data = x->data;
    if (y >= w->out_h) { /* of a batch, which is whole */
        data += (size_t)(y / w->out_h) * w->in_h * w->in_row;
        y %= w->out_h;
    }
    if (n > w->out_h - y) n = w->out_h - y;
    if (n > ROW_POINTERS || n * w->kernel_h > ROW_POINTERS) n = ROW_POINTERS / w->kernel_h;
    uint32_t top = y * w->stride_h > w->pad_top ? y * w->stride_h - w->pad_top : 0, lap = top - place_of(x, top);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            uint32_t iy = (y + i) * w->stride_h + ky * w->dilation_h - w->pad_top;
            uint32_t at = iy - lap;
            while (iy < w->in_h && at >= x->rows) at -= x->rows;
            *rows++ = iy < w->in_h ? data + (size_t)at * w->in_row : padding_row;
        }
    }
    return n;
}

static void *output_of(const struct morsel_call *call) {
    if (morsel_call_is_conv(call)) return call->args.conv.y.data;
    return call->kind == MORSEL_STEP_FLOAT_CONV ? call->args.float_conv.y.data : call->args.pool.y.data;
}

/* The arguments for an output that begins at `data`: the call's own where it does. */
static const union morsel_args *args_for(const struct morsel_call *call, union morsel_args *own, void *data) {
    if (output_of(call) == data) return &call->args;
    *own = call->args;
    if (morsel_call_is_conv(call)) own->conv.y.data = data;
    else if (call->kind == MORSEL_STEP_FLOAT_CONV) own->float_conv.y.data = data;
    else own->pool.y.data = data;
    return own;
}

static void *row_at(const struct morsel_held *x, uint32_t y, uint32_t elements, const struct morsel_qparams *qparams) {
    return x->data + (size_t)place_of(x, y) * elements * morsel_element_bytes(qparams);
}

/* Points the arguments of an elementwise step at row y; returns how many of n rows lie side by side everywhere. */
static uint32_t point_at(const struct morsel_call *call, union morsel_args *a, const struct morsel_held *x, const struct morsel_held *y,
                         uint32_t row, uint32_t n) {
    uint32_t elements = call->row_elements;
    n = together(&x[0], row, n);
    if (call->kind == MORSEL_STEP_BINARY) {
        a->binary.a.data = row_at(&x[0], row, elements, &a->binary.a.qparams);
        a->binary.b.data = row_at(&x[1], row, elements, &a->binary.b.qparams);
        a->binary.y.data = row_at(y, row, elements, &a->binary.y.qparams);
        return together(&x[1], row, n);
    }
    if (call->kind == MORSEL_STEP_UNARY) {
        a->unary.x.data = row_at(&x[0], row, elements, &a->unary.x.qparams);
        a->unary.y.data = row_at(y, row, elements, &a->unary.y.qparams);
    } else {
        a->lut.x = x->data + (size_t)place_of(x, row) * elements;
        a->lut.y = y->data + (size_t)place_of(y, row) * elements * (a->lut.is_float ? 4 : 1);
    }
    return n;
}

void morsel_run_rows(const struct morsel_call *call, const struct morsel_held *x, const struct morsel_held *y, const uint8_t *padding_row,
                     uint32_t begin, uint32_t end) {
    const struct morsel_window *w = morsel_call_window(call);
    const uint8_t *rows[ROW_POINTERS];
    union morsel_args own;
    const union morsel_args *a = w ? args_for(call, &own, y->data) : &own;
    if (!w) own = call->args;
    for (uint32_t n; begin < end; begin += n) {
        n = together(y, begin, end - begin);
        n = w ? find_rows(rows, w, x, padding_row, begin, n) : point_at(call, &own, x, y, begin, n);
        uint32_t to = place_of(y, begin), elements = n * call->row_elements;
        switch (call->kind) {
        case MORSEL_STEP_CONV:
        case MORSEL_STEP_DEPTHWISE: call->kernel.conv(&a->conv, rows, to, n); break;
        case MORSEL_STEP_FLOAT_CONV: call->kernel.float_conv(&a->float_conv, rows, to, n); break;
        case MORSEL_STEP_AVERAGE_POOL:
        case MORSEL_STEP_MAX_POOL: call->kernel.pool(&a->pool, rows, to, n); break;
        case MORSEL_STEP_BINARY: call->kernel.binary(&a->binary, 0, elements); break;
        case MORSEL_STEP_UNARY: call->kernel.unary(&a->unary, 0, elements); break;
        default: call->kernel.lut(&a->lut, 0, elements); break;
        }
    }
}

void morsel_whole_pictures(const struct morsel_call *call, struct morsel_held *x, struct morsel_held *y) {
    const struct morsel_input *in = &call->args.pool.x;
    if (morsel_call_is_conv(call)) in = &call->args.conv.x;
    if (call->kind == MORSEL_STEP_FLOAT_CONV) in = &call->args.float_conv.x;
    x->data = (uint8_t *)(uintptr_t)in->data;
    x->rows = morsel_call_window(call)->in_h;
    y->data = output_of(call);
    y->rows = call->units;
    x->first = y->first = 0;
}

/* Points at input k of a concatenation, and at its place in each row of y. */
static void point_at_piece(const struct morsel_concat *c, uint32_t k, struct morsel_copy_args *copy) {
    const struct morsel_blob_concat *p = morsel_blob_at(c->model, c->step->parameters);
    const struct morsel_blob_tensor *x = morsel_blob_input(c->model, c->step, k);
    copy->y = k ? copy->y + copy->bytes : c->y;
    copy->y_stride = c->y_stride;
    copy->x = morsel_tensor_place(c->model, c->arena, x);
    copy->x_stride = copy->bytes = p->inner[k] * c->size;
    copy->sign_flip = morsel_stored_flip(c->model, x, c->store_flip) ^ c->y_flip;
}

void morsel_run_units(const struct morsel_call *call, uint32_t begin, uint32_t end) {
    struct morsel_copy_args copy;
    switch (call->kind) {
    case MORSEL_STEP_FC: call->kernel.fc(&call->args.fc, begin, end); break;
    case MORSEL_STEP_MATMUL: call->kernel.matmul(&call->args.matmul, begin, end); break;
    case MORSEL_STEP_BINARY: call->kernel.binary(&call->args.binary, begin, end); break;
    case MORSEL_STEP_UNARY: call->kernel.unary(&call->args.unary, begin, end); break;
    case MORSEL_STEP_LUT: call->kernel.lut(&call->args.lut, begin, end); break;
    case MORSEL_STEP_MEAN: call->kernel.mean(&call->args.mean, begin, end); break;
    case MORSEL_STEP_SOFTMAX: call->kernel.softmax(&call->args.softmax, begin, end); break;
    case MORSEL_STEP_CONCAT:
        for (uint32_t k = 0; k < call->args.concat.step->input_count; k++) {
            point_at_piece(&call->args.concat, k, &copy);
            call->kernel.copy(&copy, begin, end);
        }
        break;
    default: call->kernel.gather(&call->args.gather, begin, end); break;
    }
}
