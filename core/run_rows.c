/* SPDX-License-Identifier: MIT */
/* The last way to a kernel: row addresses for spatial kernels, places in rings for elementwise ones, straight calls for the rest. */
#include "run.h"

#define ROW_POINTERS (MORSEL_ROOMY_STACK ? 128u : MORSEL_FORMAT_MAX_WINDOW) /* those of one output row at least */

/* The arguments of task `task`: its part of the room; of a dynamic kind, the zero point that stands in front of the multipliers now. */
static const union morsel_args *own_args(const struct morsel_call *call, uint32_t task, union morsel_args *own) {
    const int is_dynamic = call->kind != morsel_kind_base(call->kind);
    if (!task && !is_dynamic) return &call->args;
    *own = call->args;
    struct morsel_room *room = task ? morsel_args_room(own, call->kind) : NULL;
    if (room && room->bytes) room->data += (size_t)task * room->bytes;
    if (is_dynamic && morsel_call_is_conv(call)) own->conv.x.qparams.zero = morsel_found_zero(morsel_call_numbers(call));
    else if (is_dynamic && !own->fc.lines) own->fc.x.qparams.zero = morsel_found_zero(own->fc.channels.multiplier - MORSEL_NUMBERS);
    return own;
}

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
static MORSEL_OWN_FRAME uint32_t find_rows(const uint8_t **rows, const struct morsel_window *w, const struct morsel_held *x,
                                           const uint8_t *padding_row, uint32_t y, uint32_t n) {
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

static void *row_at(const struct morsel_held *x, uint32_t y, uint32_t elements, const struct morsel_qparams *qparams) {
    return x->data + (size_t)place_of(x, y) * elements * morsel_element_bytes(qparams);
}

void morsel_point_binary(union morsel_args *a, const struct morsel_held *x, const struct morsel_held *y, uint32_t row, uint32_t elements) {
    a->binary.a.data = row_at(&x[0], row, elements, &a->binary.a.qparams);
    a->binary.b.data = row_at(&x[1], row, elements, &a->binary.b.qparams);
    a->binary.y.data = row_at(y, row, elements, &a->binary.y.qparams);
}

void morsel_point_unary(union morsel_args *a, const struct morsel_held *x, const struct morsel_held *y, uint32_t row, uint32_t elements) {
    a->unary.x.data = row_at(x, row, elements, &a->unary.x.qparams);
    a->unary.y.data = row_at(y, row, elements, &a->unary.y.qparams);
}

void morsel_point_lut(union morsel_args *a, const struct morsel_held *x, const struct morsel_held *y, uint32_t row, uint32_t elements) {
    a->lut.x = x->data + (size_t)place_of(x, row) * elements;
    a->lut.y = y->data + (size_t)place_of(y, row) * elements * (a->lut.is_float ? 4 : 1);
}

/* By itself, for elementwise kinds not to have its pointers on the stack, nor this their arguments. */
static __attribute__((noinline)) void run_window(const struct morsel_call *call, const struct morsel_held *x, const struct morsel_held *y,
                                                 const uint8_t *padding_row, uint32_t task, uint32_t begin, uint32_t end) {
    const uint8_t *rows[ROW_POINTERS];
    union morsel_args own;
    const union morsel_args *a = own_args(call, task, &own);
    if (a->windowed.y.data != y->data) {
        if (a != &own) own = *a;
        own.windowed.y.data = y->data;
        a = &own;
    }
    for (uint32_t n; begin < end; begin += n) {
        n = find_rows(rows, &a->windowed.window, x, padding_row, begin, together(y, begin, end - begin));
        morsel_kinds[call->kind]->run_rows(call, a, rows, place_of(y, begin), n);
    }
}

/* Elementwise kinds. */
static __attribute__((noinline)) void run_elements(const struct morsel_call *call, const struct morsel_held *x, const struct morsel_held *y,
                                                   uint32_t begin, uint32_t end) {
    const struct morsel_kind *kind = morsel_kinds[call->kind];
    union morsel_args own = call->args;
    for (uint32_t n; begin < end; begin += n) {
        n = together(y, begin, end - begin);
        for (uint32_t k = 0; k < kind->inputs; k++) n = together(&x[k], begin, n);
        kind->point(&own, x, y, begin, call->row_elements);
        kind->run(call, &own, 0, n * call->row_elements);
    }
}

void morsel_run_rows(const struct morsel_call *call, const struct morsel_held *x, const struct morsel_held *y, const uint8_t *padding_row,
                     uint32_t task, uint32_t begin, uint32_t end) {
    if (morsel_kinds[call->kind]->run_rows) run_window(call, x, y, padding_row, task, begin, end);
    else run_elements(call, x, y, begin, end);
}

void morsel_whole_pictures(const struct morsel_call *call, struct morsel_held *x, struct morsel_held *y) {
    const struct morsel_window_args *a = &call->args.windowed;
    x->data = (uint8_t *)(uintptr_t)a->x.data;
    x->rows = a->window.in_h;
    y->data = a->y.data;
    y->rows = call->units;
    x->first = y->first = 0;
}

void morsel_run_pictures(const struct morsel_call *call) {
    struct morsel_held x, y;
    uint8_t *padding_row = morsel_call_padding_row(call);
    morsel_fill_padding_row(call, padding_row);
    morsel_whole_pictures(call, &x, &y);
    morsel_run_rows(call, &x, &y, padding_row, 0, 0, call->units);
}

/* --- Calls of kernels, which core/kinds.c names --- */

void morsel_run_conv(const struct morsel_call *call, const union morsel_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    call->kernel.conv(&a->conv, rows, y, n);
}

void morsel_run_float_conv(const struct morsel_call *call, const union morsel_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    call->kernel.float_conv(&a->float_conv, rows, y, n);
}

void morsel_run_pool(const struct morsel_call *call, const union morsel_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    call->kernel.pool(&a->pool, rows, y, n);
}

void morsel_run_fc(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.fc(&a->fc, begin, end);
}

void morsel_run_matmul(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.matmul(&a->matmul, begin, end);
}

void morsel_run_binary(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.binary(&a->binary, begin, end);
}

void morsel_run_unary(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.unary(&a->unary, begin, end);
}

void morsel_run_lut(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.lut(&a->lut, begin, end);
}

void morsel_run_mean(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.mean(&a->mean, begin, end);
}

void morsel_run_float_matmul(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.float_matmul(&a->float_matmul, begin, end);
}

void morsel_run_softmax(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.softmax(&a->softmax, begin, end);
}

void morsel_run_layer_norm(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.layer_norm(&a->layer_norm, begin, end);
}

void morsel_run_resize(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.resize(&a->resize, begin, end);
}

void morsel_run_gather(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.gather(&a->gather, begin, end);
}

void morsel_run_range(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.range(&a->range, begin, end);
}

void morsel_run_factors(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.factors(&a->factors, begin, end);
}

void morsel_run_quantize(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.quantize(&a->quantize, begin, end);
}

void morsel_run_lookup(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.lookup(&a->lookup, begin, end);
}

void morsel_run_cast(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.cast(&a->cast, begin, end);
}

void morsel_run_grid_sample(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.grid_sample(&a->grid_sample, begin, end);
}

void morsel_run_non_max_suppression(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    call->kernel.non_max_suppression(&a->non_max_suppression, begin, end);
}

/* Points at input k of a concatenation, and at its place in each row of y. */
static void point_at_piece(const struct morsel_concat *c, uint32_t k, struct morsel_copy_args *copy) {
    const struct morsel_blob_concat *p = morsel_blob_at(c->model, c->step->parameters);
    const struct morsel_blob_tensor *x = morsel_blob_input(c->model, c->step, k);
    copy->y = k ? copy->y + copy->bytes : c->y;
    copy->y_stride = c->y_stride;
    copy->x = morsel_tensor_place(c->model, &c->blocks, x);
    copy->x_stride = copy->bytes = p->inner[k] * c->size;
    copy->sign_flip = morsel_stored_flip(c->model, x, c->store_flip) ^ c->y_flip;
}

void morsel_run_concat(const struct morsel_call *call, const union morsel_args *a, uint32_t begin, uint32_t end) {
    struct morsel_copy_args copy;
    for (uint32_t k = 0; k < a->concat.step->input_count; k++) {
        point_at_piece(&a->concat, k, &copy);
        call->kernel.copy(&copy, begin, end);
    }
}

void morsel_run_units(const struct morsel_call *call, uint32_t task, uint32_t begin, uint32_t end) {
    union morsel_args own;
    morsel_kinds[call->kind]->run(call, own_args(call, task, &own), begin, end);
}
