/* SPDX-License-Identifier: MIT */
/* From a step of the blob to a call: every choice that a run would otherwise repeat is made here. */
#include "prepare.h"

#include "kind.h"

#include <string.h>

static uint32_t own_flip(const struct morsel_blob_tensor *t) {
    return t->type == MORSEL_INT8 ? 0x80 : 0;
}

static float infinity(void) {
    uint32_t bits = 0x7f800000;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t flip_of(const struct morsel_preparation *w, const struct morsel_blob_tensor *t) {
    return morsel_stored_flip(w->model, t, w->kernels->store_flip);
}

static void *place_of(const struct morsel_preparation *w, const struct morsel_blob_tensor *t) {
    return morsel_tensor_place(w->model, &w->blocks, t);
}

/* Arguments are filled where they stand: structs that are returned would be copied there, in more code than fills them. */
static void take_qparams(struct morsel_qparams *q, const struct morsel_preparation *w, const struct morsel_blob_tensor *t) {
    *q = (struct morsel_qparams){1, 0, 0, 1, 0};
    if (!morsel_is_byte(t)) return;
    q->scale = t->scale;
    q->sign_flip = flip_of(w, t);
    q->own = (int32_t)own_flip(t);
    q->zero = t->zero_point + q->own;
    q->is_float = 0;
}

static const struct morsel_blob_tensor *input(const struct morsel_preparation *w, uint32_t n) {
    return morsel_blob_input(w->model, w->step, n);
}

static __attribute__((noinline)) void *input_at(const struct morsel_preparation *w, uint32_t n) {
    return place_of(w, input(w, n));
}

static void take_input(struct morsel_input *x, const struct morsel_preparation *w, uint32_t n) {
    x->data = input_at(w, n);
    take_qparams(&x->qparams, w, input(w, n));
}

static void take_output(struct morsel_output *y, const struct morsel_preparation *w, int32_t out_min, int32_t out_max, float float_min,
                        float float_max) {
    y->data = w->y_at;
    take_qparams(&y->qparams, w, w->y);
    y->out_min = out_min + y->qparams.own;
    y->out_max = out_max + y->qparams.own;
    y->float_min = float_min;
    y->float_max = float_max;
}

/* Without limits of its own for floats. */
static void take_limited_output(struct morsel_output *y, const struct morsel_preparation *w, int32_t out_min, int32_t out_max) {
    take_output(y, w, out_min, out_max, -infinity(), infinity());
}

/* The whole range of its type. */
static void take_whole_output(struct morsel_output *y, const struct morsel_preparation *w) {
    take_limited_output(y, w, 0, 0);
    y->out_min = 0;
    y->out_max = 255;
}

static void take_sums_output(struct morsel_output *y, const struct morsel_preparation *w, const struct morsel_blob_sums *p) {
    take_output(y, w, p->out_min, p->out_max, p->float_min, p->float_max);
}

/* The table whose kernel takes these arguments: of plain C, where the best one refuses them. */
static const struct morsel_kernels *table_for(const struct morsel_preparation *w, morsel_refusal_fn *refusal, const void *args) {
    return !refusal || !refusal(args) ? w->kernels : w->plain;
}

static void take_window(struct morsel_window *win, const struct morsel_preparation *w, const struct morsel_blob_window *p) {
    win->in_h = w->x->dims[1];
    win->in_w = w->x->dims[2];
    win->in_c = w->x->dims[3];
    win->out_h = w->y->dims[1];
    win->out_w = w->y->dims[2];
    win->out_c = w->y->dims[3];
    win->kernel_h = p->kernel_h;
    win->kernel_w = p->kernel_w;
    win->stride_h = p->stride_h;
    win->stride_w = p->stride_w;
    win->dilation_h = p->dilation_h;
    win->dilation_w = p->dilation_w;
    win->pad_top = p->pad_top;
    win->pad_left = p->pad_left;
    win->in_row = w->x->dims[2] * w->x->dims[3] * morsel_type_bytes(w->x->type);
    win->out_row = w->y->dims[2] * w->y->dims[3] * morsel_type_bytes(w->y->type);
}

static void take_channels(struct morsel_channels *c, const struct morsel_preparation *w, const struct morsel_blob_sums *p) {
    c->bias = morsel_blob_at(w->model, p->bias);
    c->multiplier = morsel_blob_at(w->model, p->multiplier);
    c->weight_sum = morsel_blob_at(w->model, p->weight_sum);
    c->weight_zero = morsel_blob_optional(w->model, p->weight_zero);
    c->float_bias = morsel_blob_optional(w->model, p->float_bias);
    c->proofs = morsel_blob_optional(w->model, p->proofs);
}

/* Of a dynamic kind: the constants of channels that FACTORS computes, in place of the record's. Kernels are chosen by those before. */
static void take_numbers(const struct morsel_call *call, const struct morsel_preparation *w, struct morsel_channels *channels) {
    if (!morsel_kinds[call->kind]->numbers) return;
    const struct morsel_blob_tensor *t = input(w, 1);
    channels->multiplier = (const float *)place_of(w, t) + MORSEL_NUMBERS;
    channels->bias = (const int32_t *)(const void *)(channels->multiplier + (t->dims[0] - MORSEL_NUMBERS) / 2);
}

void morsel_prepare_conv(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_conv *p = w->parameters;
    struct morsel_conv_args *a = &call->args.conv;
    take_window(&a->window, w, &p->window);
    take_input(&a->x, w, 0);
    take_sums_output(&a->y, w, &p->sums);
    a->padding_row = p->window.pad_top || p->window.pad_bottom ? morsel_arena_at(w->model, &w->blocks, w->step->scratch_offset) : NULL;
    a->padding_row_bytes = a->padding_row ? (a->window.in_row + 3) / 4 * 4 : 0;
    a->weights = morsel_blob_at(w->model, p->sums.weights);
    take_channels(&a->channels, w, &p->sums);
    a->groups = p->groups;
    a->prefetch = a->prefetch_bytes = a->prefetch_row = 0;
    a->prefetch_rows = a->window.out_h;
    if (morsel_kind_base(call->kind) == MORSEL_STEP_CONV) call->kernel.conv = table_for(w, w->kernels->refusals.conv, a)->conv;
    else call->kernel.conv = table_for(w, w->kernels->refusals.depthwise, a)->depthwise;
    call->units = w->y->dims[0] * a->window.out_h;
    take_numbers(call, w, &a->channels);
}

void morsel_prepare_float_conv(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_float_conv *p = w->parameters;
    struct morsel_float_conv_args *a = &call->args.float_conv;
    take_window(&a->window, w, &p->window);
    take_input(&a->x, w, 0);
    take_output(&a->y, w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->weights = morsel_blob_at(w->model, p->weights);
    a->bias = morsel_blob_optional(w->model, p->bias);
    a->groups = p->groups;
    a->half = p->weights_half;
    call->kernel.float_conv = w->kernels->float_conv;
    call->units = w->y->dims[0] * a->window.out_h;
}

void morsel_prepare_pool(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_pool *p = w->parameters;
    struct morsel_pool_args *a = &call->args.pool;
    take_window(&a->window, w, &p->window);
    take_input(&a->x, w, 0);
    take_limited_output(&a->y, w, p->out_min, p->out_max);
    a->count_include_pad = p->count_include_pad;
    a->padded_h = a->window.in_h + p->window.pad_top + p->window.pad_bottom;
    a->padded_w = a->window.in_w + p->window.pad_left + p->window.pad_right;
    call->kernel.pool = w->kernels->average_pool;
    if (call->kind == MORSEL_STEP_MAX_POOL) call->kernel.pool = table_for(w, w->kernels->refusals.max_pool, a)->max_pool;
    call->units = w->y->dims[0] * a->window.out_h;
}

void morsel_prepare_fc(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_fc *p = w->parameters;
    struct morsel_fc_args *a = &call->args.fc;
    int by_line = morsel_kinds[call->kind]->numbers && input(w, 1)->rank == 2;
    take_input(&a->x, w, 0);
    take_sums_output(&a->y, w, &p->sums);
    a->weights = morsel_blob_at(w->model, p->sums.weights);
    take_channels(&a->channels, w, &p->sums);
    a->rows = p->rows;
    a->inputs = p->inputs;
    a->outputs = p->outputs;
    a->blocks = (p->outputs + 15) / 16;
    a->lines = by_line ? input_at(w, 1) : NULL;
    call->kernel.fc = table_for(w, w->kernels->refusals.fc, a)->fc;
    call->units = a->rows * a->blocks;
    if (!by_line) take_numbers(call, w, &a->channels);
}

_Static_assert(offsetof(struct morsel_views, y_stride) == offsetof(struct morsel_blob_float_matmul, factor) &&
                   offsetof(struct morsel_views, inner) == offsetof(struct morsel_blob_float_matmul, inner) &&
                   offsetof(struct morsel_views, a_stride) == offsetof(struct morsel_blob_float_matmul, a_stride) &&
                   offsetof(struct morsel_views, term_stride) == offsetof(struct morsel_blob_float_matmul, term_stride),
               "views are as blobs have them");

static void take_views(struct morsel_call *call, struct morsel_views *v, const struct morsel_blob_float_matmul *p) {
    memcpy(v, p, offsetof(struct morsel_views, y_stride));
    v->a_batch = v->b_batch = v->middle;
    v->a_divide = v->b_divide = 1;
    v->y_stride[0] = v->middle * v->rows * v->columns;
    v->y_stride[1] = (v->turned ? 1 : v->rows) * v->columns;
    v->y_stride[2] = (v->turned ? v->middle : 1) * v->columns;
    call->units = v->outer * v->middle * v->rows;
}

static void prepare_views(struct morsel_call *call, const struct morsel_preparation *w, const struct morsel_blob_float_matmul *p,
                          int32_t out_min, int32_t out_max) {
    struct morsel_matmul_args *a = &call->args.matmul;
    take_views(call, &a->views, p);
    take_input(&a->a, w, 0);
    take_input(&a->b, w, 1);
    take_output(&a->y, w, out_min, out_max, p->float_min, p->float_max);
    a->multiplier = p->factor;
    call->kernel.matmul = table_for(w, w->kernels->refusals.matmul, a)->matmul;
}

void morsel_prepare_view_matmul(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_view_matmul *p = w->parameters;
    prepare_views(call, w, &p->product, p->out_min, p->out_max);
}

void morsel_prepare_matmul(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_matmul *p = w->parameters;
    const struct morsel_blob_float_matmul whole = {.dims = {p->batch, 1, p->rows, p->columns},
                                                   .inner = p->inner,
                                                   .a_stride = {0, p->rows * p->inner, p->inner},
                                                   .b_stride = {0, p->inner * p->columns, p->columns, 1},
                                                   .factor = p->multiplier,
                                                   .float_min = p->float_min,
                                                   .float_max = p->float_max};
    struct morsel_views *v = &call->args.matmul.views;
    prepare_views(call, w, &whole, p->out_min, p->out_max);
    v->a_batch = p->a_batch;
    v->a_divide = p->a_divide;
    v->b_batch = p->b_batch;
    v->b_divide = p->b_divide;
}

void morsel_prepare_float_matmul(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_float_matmul *p = w->parameters;
    struct morsel_float_matmul_args *a = &call->args.float_matmul;
    take_views(call, &a->views, p);
    a->a = (const float *)w->x_at;
    a->b = input_at(w, 1);
    a->term = w->step->input_count > 2 ? input_at(w, 2) : NULL;
    take_output(&a->y, w, 0, 0, p->float_min, p->float_max);
    a->factor = p->factor;
    call->kernel.float_matmul = w->kernels->float_matmul;
}

void morsel_prepare_binary(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_binary *p = w->parameters;
    struct morsel_binary_args *a = &call->args.binary;
    take_input(&a->a, w, 0);
    take_input(&a->b, w, 1);
    take_output(&a->y, w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->op = p->op;
    a->rank = p->rank;
    memcpy(a->dims, p->dims, sizeof a->dims);
    memcpy(a->a_stride, p->a_stride, sizeof a->a_stride);
    memcpy(a->b_stride, p->b_stride, sizeof a->b_stride);
    a->a_ratio = p->a_ratio;
    a->b_ratio = p->b_ratio;
    a->offset = p->offset;
    call->kernel.binary = table_for(w, w->kernels->refusals.binary, a)->binary;
    if (p->op == MORSEL_BINARY_QADD) call->kernel.binary = table_for(w, w->kernels->refusals.qadd, a)->qadd;
    if (p->op == MORSEL_BINARY_QMUL) call->kernel.binary = table_for(w, w->kernels->refusals.qmul, a)->qmul;
    call->units = morsel_elements(w->y);
}

void morsel_prepare_unary(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_unary *p = w->parameters;
    struct morsel_unary_args *a = &call->args.unary;
    take_input(&a->x, w, 0);
    take_whole_output(&a->y, w);
    a->op = p->op;
    a->channels = p->channels;
    a->alpha = p->alpha;
    a->beta = p->beta;
    a->scale = morsel_blob_optional(w->model, p->affine_scale);
    a->offset = morsel_blob_optional(w->model, p->affine_offset);
    call->kernel.unary = w->kernels->unary;
    call->units = p->count;
}

void morsel_prepare_lut(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_lut *p = w->parameters;
    struct morsel_lut_args *a = &call->args.lut;
    a->x = w->x_at;
    a->y = w->y_at;
    a->x_flip = flip_of(w, w->x) ^ own_flip(w->x);
    a->y_flip = flip_of(w, w->y) ^ own_flip(w->y);
    a->table = morsel_blob_at(w->model, p->table);
    a->channels = p->channels;
    a->inner = p->inner;
    a->is_float = !morsel_is_byte(w->y);
    call->kernel.lut = table_for(w, w->kernels->refusals.lut, a)->lut;
    call->units = p->count;
}

void morsel_prepare_mean(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_mean *p = w->parameters;
    struct morsel_mean_args *a = &call->args.mean;
    take_input(&a->x, w, 0);
    take_limited_output(&a->y, w, p->out_min, p->out_max);
    a->count = p->count;
    a->inner = p->inner;
    a->multiplier = p->multiplier;
    call->kernel.mean = table_for(w, w->kernels->refusals.mean, a)->mean;
    call->units = p->outer * p->inner;
}

void morsel_prepare_layer_norm(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_layer_norm *p = w->parameters;
    struct morsel_layer_norm_args *a = &call->args.layer_norm;
    take_input(&a->x, w, 0);
    take_output(&a->y, w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->factor = p->factor ? morsel_blob_at(w->model, p->factor) : NULL;
    a->term = p->term ? morsel_blob_at(w->model, p->term) : NULL;
    a->count = p->count;
    a->centred = p->centred;
    a->epsilon = p->epsilon;
    call->kernel.layer_norm = w->kernels->layer_norm;
    call->units = p->lines;
}

void morsel_prepare_resize(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_resize *p = w->parameters;
    struct morsel_resize_args *a = &call->args.resize;
    take_input(&a->x, w, 0);
    take_output(&a->y, w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->rows = morsel_blob_at(w->model, p->rows);
    a->columns = morsel_blob_at(w->model, p->columns);
    a->in_h = w->x->dims[1];
    a->in_w = w->x->dims[2];
    a->out_h = w->y->dims[1];
    a->out_w = w->y->dims[2];
    a->channels = w->y->dims[3];
    a->truncate = p->truncate;
    call->kernel.resize = w->kernels->resize;
    call->units = w->y->dims[0] * w->y->dims[1];
}

/* Whole steps of `scale` in 1, rounded down; floats from 2^23 on are whole already. */
static float whole_steps(float scale) {
    float steps = 1 / scale;
    return steps < 8388608.0f ? (float)(int32_t)steps : steps;
}

void morsel_prepare_softmax(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_softmax *p = w->parameters;
    struct morsel_softmax_args *a = &call->args.softmax;
    take_input(&a->x, w, 0);
    take_whole_output(&a->y, w);
    a->table = morsel_blob_optional(w->model, p->table);
    a->levels = whole_steps(a->y.qparams.scale);
    a->count = p->count;
    a->inner = p->inner;
    call->kernel.softmax = table_for(w, w->kernels->refusals.softmax, a)->softmax;
    call->units = p->outer * p->inner;
}

void morsel_prepare_concat(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_concat *p = w->parameters;
    struct morsel_concat *a = &call->args.concat;
    a->model = w->model;
    a->step = w->step;
    a->blocks = w->blocks;
    a->y = w->y_at;
    a->y_stride = w->y->bytes / p->outer;
    a->size = morsel_type_bytes(w->y->type);
    a->y_flip = flip_of(w, w->y);
    a->store_flip = w->kernels->store_flip;
    call->kernel.copy = w->kernels->copy;
    call->units = p->outer;
}

void morsel_prepare_gather(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_gather *p = w->parameters;
    struct morsel_gather_args *a = &call->args.gather;
    a->x = w->x_at;
    a->y = w->y_at;
    a->table = morsel_blob_at(w->model, p->table);
    a->rank = p->rank;
    memcpy(a->dims, p->dims, sizeof a->dims);
    a->size = morsel_type_bytes(w->y->type);
    a->fill = morsel_is_byte(w->y) ? p->fill ^ flip_of(w, w->y) ^ own_flip(w->y) : p->fill;
    a->sign_flip = flip_of(w, w->x) ^ flip_of(w, w->y);
    morsel_find_line(a);
    call->kernel.gather = table_for(w, w->kernels->refusals.gather, a)->gather;
    call->units = morsel_elements(w->y);
}

void morsel_prepare_range(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_range *p = w->parameters;
    struct morsel_range_args *a = &call->args.range;
    a->x = w->x_at;
    a->y = w->y_at;
    a->elements = morsel_elements(w->x);
    a->count = p->count;
    call->kernel.range = w->kernels->range;
    call->units = morsel_elements(w->y) / 2;
}

void morsel_prepare_factors(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_factors *p = w->parameters;
    struct morsel_factors_args *a = &call->args.factors;
    a->x = w->x_at;
    a->y = w->y_at;
    a->lines = p->lines;
    a->pieces = morsel_elements(w->x) / 2 / p->lines;
    a->channels = p->channels;
    a->factor = morsel_blob_optional(w->model, p->factor);
    a->bias = morsel_blob_optional(w->model, p->bias);
    call->kernel.factors = w->kernels->factors;
    call->units = 1;
}

void morsel_prepare_quantize(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_quantize *p = w->parameters;
    struct morsel_quantize_args *a = &call->args.quantize;
    a->x = w->x_at;
    a->numbers = input_at(w, 1);
    a->y = w->y_at;
    a->elements = morsel_elements(w->y);
    a->count = p->count;
    a->by_line = p->lines > 1;
    a->sign_flip = flip_of(w, w->y);
    call->kernel.quantize = w->kernels->quantize;
    call->units = (a->elements - 1) / p->count + 1;
}

void morsel_prepare_lookup(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_lookup *p = w->parameters;
    struct morsel_lookup_args *a = &call->args.lookup;
    a->x = w->x_at;
    a->y = w->y_at;
    a->table = morsel_blob_at(w->model, p->table);
    a->rows = p->rows;
    a->floats = w->x->type == MORSEL_FLOAT32 ? MORSEL_WHOLE_FLOATS : 0;
    call->units = w->x->bytes / 4;
    a->bytes = w->y->bytes / call->units;
    a->sign_flip = flip_of(w, w->y) ^ own_flip(w->y);
    call->kernel.lookup = w->kernels->lookup;
}

void morsel_prepare_cast(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_cast *p = w->parameters;
    call->args.cast.x = w->x_at;
    call->args.cast.y = w->y_at;
    call->kernel.cast = w->kernels->cast;
    call->units = p->count;
}

void morsel_prepare_grid_sample(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_grid_sample *p = w->parameters;
    struct morsel_grid_sample_args *a = &call->args.grid_sample;
    a->x = w->x_at;
    a->grid = input_at(w, 1);
    a->y = w->y_at;
    a->sides[0] = w->x->dims[2];
    a->sides[1] = w->x->dims[1];
    a->channels = w->y->dims[3];
    a->pixels = w->y->dims[1] * w->y->dims[2];
    a->nearest = p->nearest;
    a->beyond = p->beyond;
    a->corners = p->corners;
    call->kernel.grid_sample = w->kernels->grid_sample;
    call->units = w->y->dims[0] * a->pixels;
}

void morsel_prepare_non_max_suppression(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_non_max_suppression *p = w->parameters;
    struct morsel_non_max_suppression_args *a = &call->args.non_max_suppression;
    a->boxes = w->x_at;
    a->scores = input_at(w, 1);
    a->y = w->y_at;
    a->gone = morsel_arena_at(w->model, &w->blocks, w->step->scratch_offset);
    a->images = p->images;
    a->classes = p->classes;
    a->count = p->count;
    a->most = p->most;
    a->centre = p->centre;
    a->overlap = p->overlap;
    a->least = p->least;
    call->kernel.non_max_suppression = w->kernels->non_max_suppression;
    call->units = 1;
}

void morsel_prepare(struct morsel_call *call, const struct morsel_session *session, const struct morsel_kernels *kernels,
                    const struct morsel_kernels *plain, uint32_t index) {
    const struct morsel_blob_step *step = morsel_blob_step(session->model, index);
    struct morsel_preparation work = {.model = session->model,
                                      .blocks = morsel_session_blocks(session),
                                      .step = step,
                                      .parameters = morsel_blob_at(session->model, step->parameters),
                                      .x = morsel_blob_input(session->model, step, 0),
                                      .y = morsel_blob_output(session->model, step),
                                      .kernels = kernels,
                                      .plain = plain};
    work.x_at = place_of(&work, work.x);
    work.y_at = place_of(&work, work.y);
    call->kind = (uint8_t)step->kind;
    call->row_elements = work.y->dims[2] * work.y->dims[3];
    morsel_kinds[step->kind]->prepare(call, &work);
}
