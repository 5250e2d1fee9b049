/* SPDX-License-Identifier: MIT */
/* A range of a step's units: row addresses for the spatial kernels, pieces for a concatenation, straight calls for the rest. */
#include "call.h"

#include <string.h>

#define ROW_POINTERS 256u /* at least MORSEL_FORMAT_MAX_WINDOW */

_Static_assert(ROW_POINTERS >= MORSEL_FORMAT_MAX_WINDOW, "the rows of one output row fit");

/* Where row y lies among those that are held. Calls for few rows are many, and a division takes longer than the question. */
static uint32_t place_of(const struct morsel_held *x, uint32_t y) {
    y -= x->first;
    return y < x->rows ? y : y % x->rows;
}

static const uint8_t *row_at(const struct morsel_held *x, uint32_t y, size_t bytes) {
    return x->data + place_of(x, y) * bytes;
}

/* The input rows of output rows y .. y + n: rows[i * kernel_h + ky]. Above the picture the index wraps to a huge one. `lap`: the row
 * that lies in front as long as `top` is held. */
static void find_rows(const uint8_t **rows, const struct morsel_window *w, const struct morsel_held *x, const uint8_t *padding_row,
                      uint32_t y, uint32_t n) {
    uint32_t top = y * w->stride_h > w->pad_top ? y * w->stride_h - w->pad_top : 0, lap = top - place_of(x, top);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            uint32_t iy = (y + i) * w->stride_h + ky * w->dilation_h - w->pad_top;
            uint32_t at = iy - lap;
            while (iy < w->in_h && at >= x->rows) at -= x->rows;
            rows[i * w->kernel_h + ky] = iy < w->in_h ? x->data + (size_t)at * w->in_row : padding_row;
        }
    }
}

/* A step with a window; NULL: another one. */
static const struct morsel_window *window_of(const struct morsel_call *call) {
    switch (call->kind) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_DEPTHWISE: return &call->args.conv.window;
    case MORSEL_STEP_FLOAT_CONV: return &call->args.float_conv.window;
    case MORSEL_STEP_AVERAGE_POOL:
    case MORSEL_STEP_MAX_POOL: return &call->args.pool.window;
    default: return NULL;
    }
}

static int is_conv(const struct morsel_call *call) {
    return call->kind == MORSEL_STEP_CONV || call->kind == MORSEL_STEP_DEPTHWISE;
}

static void call_kernel(const struct morsel_call *call, const union morsel_args *args, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    if (is_conv(call)) call->kernel.conv(&args->conv, rows, y, n);
    else if (call->kind == MORSEL_STEP_FLOAT_CONV) call->kernel.float_conv(&args->float_conv, rows, y, n);
    else call->kernel.pool(&args->pool, rows, y, n);
}

static const struct morsel_output *output_of(const struct morsel_call *call) {
    if (is_conv(call)) return &call->args.conv.y;
    return call->kind == MORSEL_STEP_FLOAT_CONV ? &call->args.float_conv.y : &call->args.pool.y;
}

/* Output rows y .. y + n of a picture, to rows `to` .. of a call's output, or of one that begins at `other`. Returns how many there were
 * row addresses for. */
static uint32_t window_rows(const struct morsel_call *call, const struct morsel_held *x, const uint8_t *padding_row, uint32_t y, uint32_t n,
                            uint8_t *other, uint32_t to) {
    const uint8_t *rows[ROW_POINTERS];
    const struct morsel_window *w = window_of(call);
    if (n > ROW_POINTERS || n * w->kernel_h > ROW_POINTERS) n = ROW_POINTERS / w->kernel_h;
    find_rows(rows, w, x, padding_row, y, n);
    if (!other || other == output_of(call)->data) call_kernel(call, &call->args, rows, to, n);
    else {
        union morsel_args args = call->args;
        if (is_conv(call)) args.conv.y.data = other;
        else if (call->kind == MORSEL_STEP_FLOAT_CONV) args.float_conv.y.data = other;
        else args.pool.y.data = other;
        call_kernel(call, &args, rows, to, n);
    }
    return n;
}

/* Rows counted through the batch. */
static void window_range(const struct morsel_call *call, const void *data, const uint8_t *padding_row, uint32_t begin, uint32_t end) {
    const struct morsel_window *w = window_of(call);
    for (uint32_t n; begin < end; begin += n) {
        uint32_t y = begin % w->out_h;
        struct morsel_held x = {(uint8_t *)(uintptr_t)data + (size_t)(begin / w->out_h) * w->in_h * w->in_row, w->in_h, 0};
        n = w->out_h - y < end - begin ? w->out_h - y : end - begin;
        n = window_rows(call, &x, padding_row, y, n, NULL, begin);
    }
}

static void binary_rows(const struct morsel_call *call, const struct morsel_held *in, const struct morsel_held *out, uint32_t y,
                        uint32_t n) {
    struct morsel_binary_args a = call->args.binary;
    uint32_t row = call->row_elements;
    a.a.data = row_at(&in[0], y, (size_t)row * morsel_element_bytes(&a.a.qparams));
    a.b.data = row_at(&in[1], y, (size_t)row * morsel_element_bytes(&a.b.qparams));
    a.y.data = out->data + (size_t)place_of(out, y) * row * morsel_element_bytes(&a.y.qparams);
    call->kernel.binary(&a, 0, n * row);
}

static void unary_rows(const struct morsel_call *call, const struct morsel_held *in, const struct morsel_held *out, uint32_t y,
                       uint32_t n) {
    struct morsel_unary_args a = call->args.unary;
    uint32_t row = call->row_elements;
    a.x.data = row_at(in, y, (size_t)row * morsel_element_bytes(&a.x.qparams));
    a.y.data = out->data + (size_t)place_of(out, y) * row * morsel_element_bytes(&a.y.qparams);
    call->kernel.unary(&a, 0, n * row);
}

static void lut_rows(const struct morsel_call *call, const struct morsel_held *in, const struct morsel_held *out, uint32_t y, uint32_t n) {
    struct morsel_lut_args a = call->args.lut;
    uint32_t row = call->row_elements;
    a.x = row_at(in, y, row);
    a.y = out->data + (size_t)place_of(out, y) * row * (a.is_float ? 4 : 1);
    call->kernel.lut(&a, 0, n * row);
}

/* Rows y .. that lie side by side in `x`. */
static uint32_t together(const struct morsel_held *x, uint32_t y, uint32_t n) {
    uint32_t room = x->rows - place_of(x, y);
    return n < room ? n : room;
}

/* Returns how many rows it made: at least one. */
static uint32_t some_rows(const struct morsel_call *call, const struct morsel_held *in, const struct morsel_held *out,
                          const uint8_t *padding_row, uint32_t y, uint32_t n) {
    n = together(out, y, n);
    if (window_of(call)) return window_rows(call, in, padding_row, y, n, out->data, place_of(out, y));
    n = together(&in[0], y, n);
    if (call->kind == MORSEL_STEP_BINARY) binary_rows(call, in, out, y, n = together(&in[1], y, n));
    else if (call->kind == MORSEL_STEP_UNARY) unary_rows(call, in, out, y, n);
    else lut_rows(call, in, out, y, n);
    return n;
}

void morsel_call_rows(const struct morsel_call *call, const struct morsel_held *in, const struct morsel_held *out,
                      const uint8_t *padding_row, uint32_t begin, uint32_t end) {
    while (begin < end) begin += some_rows(call, in, out, padding_row, begin, end - begin);
}

struct morsel_reach morsel_call_reach(const struct morsel_call *call) {
    const struct morsel_window *w = window_of(call);
    struct morsel_reach one = {1, 0, 1};
    if (!w) return one;
    struct morsel_reach reach = {w->stride_h, w->pad_top, (w->kernel_h - 1) * w->dilation_h + 1};
    return reach;
}

uint32_t morsel_call_first(const struct morsel_call *call, uint32_t y) {
    struct morsel_reach r = morsel_call_reach(call);
    return y * r.stride > r.pad ? y * r.stride - r.pad : 0;
}

uint32_t morsel_call_end(const struct morsel_call *call, uint32_t y, uint32_t height) {
    struct morsel_reach r = morsel_call_reach(call);
    uint32_t end = y ? (y - 1) * r.stride + r.window : 0;
    end = end > r.pad ? end - r.pad : 0;
    return end < height ? end : height;
}

static void concat_range(const struct morsel_call *call, uint32_t begin, uint32_t end) {
    const struct morsel_concat *c = &call->args.concat;
    const struct morsel_blob_concat *p = morsel_blob_at(c->model, c->step->parameters);
    struct morsel_copy_args copy = {NULL, c->y, 0, 0, c->y_stride, 0};
    for (uint32_t k = 0; k < c->step->input_count; k++) {
        const struct morsel_blob_tensor *x = morsel_blob_input(c->model, c->step, k);
        copy.x = morsel_tensor_place(c->model, c->arena, x);
        copy.bytes = p->inner[k] * c->size;
        copy.x_stride = copy.bytes;
        copy.sign_flip = morsel_stored_flip(c->model, x, c->store_flip) ^ c->y_flip;
        call->kernel.copy(&copy, begin, end);
        copy.y += copy.bytes;
    }
}

void morsel_call_range(const struct morsel_call *call, const uint8_t *padding_row, uint32_t begin, uint32_t end) {
    switch (call->kind) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_DEPTHWISE: window_range(call, call->args.conv.x.data, padding_row, begin, end); break;
    case MORSEL_STEP_FLOAT_CONV: window_range(call, call->args.float_conv.x.data, NULL, begin, end); break;
    case MORSEL_STEP_AVERAGE_POOL:
    case MORSEL_STEP_MAX_POOL: window_range(call, call->args.pool.x.data, NULL, begin, end); break;
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
