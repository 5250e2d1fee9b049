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

static struct morsel_qparams qparams_of(const struct morsel_preparation *w, const struct morsel_blob_tensor *t) {
    struct morsel_qparams qparams = {1, 0, 0, 1, 0};
    if (!morsel_is_byte(t)) return qparams;
    qparams.scale = t->scale;
    qparams.sign_flip = flip_of(w, t);
    qparams.own = (int32_t)own_flip(t);
    qparams.zero = t->zero_point + qparams.own;
    qparams.is_float = 0;
    return qparams;
}

static uint8_t *place_of(const struct morsel_preparation *w, const struct morsel_blob_tensor *t) {
    return morsel_tensor_place(w->model, &w->blocks, t);
}

static struct morsel_input input_of(const struct morsel_preparation *w, uint32_t n) {
    const struct morsel_blob_tensor *t = morsel_blob_input(w->model, w->step, n);
    struct morsel_input x = {place_of(w, t), qparams_of(w, t)};
    return x;
}

static struct morsel_output output_of(const struct morsel_preparation *w, int32_t out_min, int32_t out_max, float float_min,
                                      float float_max) {
    const struct morsel_blob_tensor *t = morsel_blob_output(w->model, w->step);
    struct morsel_output y = {place_of(w, t), qparams_of(w, t), 0, 0, float_min, float_max};
    y.out_min = out_min + y.qparams.own;
    y.out_max = out_max + y.qparams.own;
    return y;
}

/* An output without limits of its own: the whole range of its type. */
static struct morsel_output whole_output(const struct morsel_preparation *w) {
    struct morsel_output y = output_of(w, 0, 0, -infinity(), infinity());
    y.out_min = 0;
    y.out_max = 255;
    return y;
}

static struct morsel_output sums_output(const struct morsel_preparation *w, const struct morsel_blob_sums *p) {
    return output_of(w, p->out_min, p->out_max, p->float_min, p->float_max);
}

/* Whether the table's kernel takes these arguments; else plain C does. */
static int takes(morsel_refusal_fn *refusal, const void *args) {
    return !refusal || !refusal(args);
}

static uint32_t output_elements(const struct morsel_preparation *w) {
    return morsel_elements(morsel_blob_output(w->model, w->step));
}

static struct morsel_window window_of(const struct morsel_preparation *w, const struct morsel_blob_window *p) {
    const struct morsel_blob_tensor *x = morsel_blob_input(w->model, w->step, 0);
    const struct morsel_blob_tensor *y = morsel_blob_output(w->model, w->step);
    struct morsel_window win = {
        .in_h = x->dims[1],
        .in_w = x->dims[2],
        .in_c = x->dims[3],
        .out_h = y->dims[1],
        .out_w = y->dims[2],
        .out_c = y->dims[3],
        .kernel_h = p->kernel_h,
        .kernel_w = p->kernel_w,
        .stride_h = p->stride_h,
        .stride_w = p->stride_w,
        .dilation_h = p->dilation_h,
        .dilation_w = p->dilation_w,
        .pad_top = p->pad_top,
        .pad_left = p->pad_left,
        .in_row = x->dims[2] * x->dims[3] * morsel_type_bytes(x->type),
        .out_row = y->dims[2] * y->dims[3] * morsel_type_bytes(y->type),
    };
    return win;
}

static struct morsel_channels channels_of(const struct morsel_preparation *w, const struct morsel_blob_sums *p) {
    struct morsel_channels channels = {
        morsel_blob_at(w->model, p->bias),
        morsel_blob_at(w->model, p->multiplier),
        morsel_blob_at(w->model, p->weight_sum),
        morsel_blob_optional(w->model, p->weight_zero),
        morsel_blob_optional(w->model, p->float_bias),
        morsel_blob_optional(w->model, p->proofs),
    };
    return channels;
}

/* Of a dynamic kind: the constants of channels that FACTORS computes, in place of the record's. Kernels are chosen by those before. */
static void take_numbers(const struct morsel_call *call, const struct morsel_preparation *w, struct morsel_channels *channels) {
    if (!morsel_kinds[call->kind]->numbers) return;
    const struct morsel_blob_tensor *t = morsel_blob_input(w->model, w->step, 1);
    channels->multiplier = (const float *)(const void *)place_of(w, t) + MORSEL_NUMBERS;
    channels->bias = (const int32_t *)(const void *)(channels->multiplier + (t->dims[0] - MORSEL_NUMBERS) / 2);
}

void morsel_prepare_conv(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_conv *p = w->parameters;
    struct morsel_conv_args *a = &call->args.conv;
    a->window = window_of(w, &p->window);
    a->x = input_of(w, 0);
    a->y = sums_output(w, &p->sums);
    a->padding_row = p->window.pad_top || p->window.pad_bottom ? morsel_arena_at(w->model, &w->blocks, w->step->scratch_offset) : NULL;
    a->padding_row_bytes = a->padding_row ? (a->window.in_row + 3) / 4 * 4 : 0;
    a->weights = morsel_blob_at(w->model, p->sums.weights);
    a->channels = channels_of(w, &p->sums);
    a->groups = p->groups;
    a->prefetch = a->prefetch_bytes = a->prefetch_row = 0;
    a->prefetch_rows = a->window.out_h;
    if (morsel_kind_base(call->kind) == MORSEL_STEP_CONV)
        call->kernel.conv = takes(w->kernels->refusals.conv, a) ? w->kernels->conv : w->plain->conv;
    else call->kernel.conv = takes(w->kernels->refusals.depthwise, a) ? w->kernels->depthwise : w->plain->depthwise;
    call->units = morsel_blob_output(w->model, w->step)->dims[0] * a->window.out_h;
    take_numbers(call, w, &a->channels);
}

void morsel_prepare_float_conv(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_float_conv *p = w->parameters;
    struct morsel_float_conv_args *a = &call->args.float_conv;
    a->window = window_of(w, &p->window);
    a->x = input_of(w, 0);
    a->y = output_of(w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->weights = morsel_blob_at(w->model, p->weights);
    a->bias = morsel_blob_optional(w->model, p->bias);
    a->groups = p->groups;
    a->half = p->weights_half;
    call->kernel.float_conv = w->kernels->float_conv;
    call->units = morsel_blob_output(w->model, w->step)->dims[0] * a->window.out_h;
}

void morsel_prepare_pool(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_pool *p = w->parameters;
    struct morsel_pool_args *a = &call->args.pool;
    a->window = window_of(w, &p->window);
    a->x = input_of(w, 0);
    a->y = output_of(w, p->out_min, p->out_max, -infinity(), infinity());
    a->count_include_pad = p->count_include_pad;
    a->padded_h = a->window.in_h + p->window.pad_top + p->window.pad_bottom;
    a->padded_w = a->window.in_w + p->window.pad_left + p->window.pad_right;
    call->kernel.pool = call->kind == MORSEL_STEP_MAX_POOL ? w->kernels->max_pool : w->kernels->average_pool;
    if (call->kind == MORSEL_STEP_MAX_POOL && !takes(w->kernels->refusals.max_pool, a)) call->kernel.pool = w->plain->max_pool;
    call->units = morsel_blob_output(w->model, w->step)->dims[0] * a->window.out_h;
}

void morsel_prepare_fc(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_fc *p = w->parameters;
    struct morsel_fc_args *a = &call->args.fc;
    int by_line = morsel_kinds[call->kind]->numbers && morsel_blob_input(w->model, w->step, 1)->rank == 2;
    a->x = input_of(w, 0);
    a->y = sums_output(w, &p->sums);
    a->weights = morsel_blob_at(w->model, p->sums.weights);
    a->channels = channels_of(w, &p->sums);
    a->rows = p->rows;
    a->inputs = p->inputs;
    a->outputs = p->outputs;
    a->blocks = (p->outputs + 15) / 16;
    a->lines = by_line ? (const float *)(const void *)place_of(w, morsel_blob_input(w->model, w->step, 1)) : NULL;
    call->kernel.fc = takes(w->kernels->refusals.fc, a) ? w->kernels->fc : w->plain->fc;
    call->units = a->rows * a->blocks;
    if (!by_line) take_numbers(call, w, &a->channels);
}

void morsel_prepare_matmul(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_matmul *p = w->parameters;
    struct morsel_matmul_args *a = &call->args.matmul;
    a->a = input_of(w, 0);
    a->b = input_of(w, 1);
    a->y = output_of(w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->rows = p->rows;
    a->inner = p->inner;
    a->columns = p->columns;
    a->a_batch = p->a_batch;
    a->a_divide = p->a_divide;
    a->b_batch = p->b_batch;
    a->b_divide = p->b_divide;
    a->multiplier = p->multiplier;
    call->kernel.matmul = takes(w->kernels->refusals.matmul, a) ? w->kernels->matmul : w->plain->matmul;
    call->units = p->batch * p->rows;
}

void morsel_prepare_float_matmul(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_float_matmul *p = w->parameters;
    struct morsel_float_matmul_args *a = &call->args.float_matmul;
    const uint32_t *dims = p->dims;
    a->a = (const float *)input_of(w, 0).data + p->a_first;
    a->b = (const float *)input_of(w, 1).data + p->b_first;
    a->term = w->step->input_count > 2 ? input_of(w, 2).data : NULL;
    a->y = output_of(w, 0, 0, p->float_min, p->float_max);
    a->middle = dims[1];
    a->rows = dims[2];
    a->inner = p->inner;
    a->columns = dims[3];
    memcpy(a->a_stride, p->a_stride, sizeof a->a_stride);
    memcpy(a->b_stride, p->b_stride, sizeof a->b_stride);
    memcpy(a->term_stride, p->term_stride, sizeof a->term_stride);
    a->y_stride[0] = dims[1] * dims[2] * dims[3];
    a->y_stride[1] = (p->turned ? 1 : dims[2]) * dims[3];
    a->y_stride[2] = (p->turned ? dims[1] : 1) * dims[3];
    a->factor = p->factor;
    call->kernel.float_matmul = w->kernels->float_matmul;
    call->units = dims[0] * dims[1] * dims[2];
}

void morsel_prepare_binary(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_binary *p = w->parameters;
    struct morsel_binary_args *a = &call->args.binary;
    a->a = input_of(w, 0);
    a->b = input_of(w, 1);
    a->y = output_of(w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->op = p->op;
    a->rank = p->rank;
    memcpy(a->dims, p->dims, sizeof a->dims);
    memcpy(a->a_stride, p->a_stride, sizeof a->a_stride);
    memcpy(a->b_stride, p->b_stride, sizeof a->b_stride);
    a->a_ratio = p->a_ratio;
    a->b_ratio = p->b_ratio;
    a->offset = p->offset;
    call->kernel.binary = takes(w->kernels->refusals.binary, a) ? w->kernels->binary : w->plain->binary;
    if (p->op == MORSEL_BINARY_QADD) call->kernel.binary = takes(w->kernels->refusals.qadd, a) ? w->kernels->qadd : w->plain->qadd;
    if (p->op == MORSEL_BINARY_QMUL) call->kernel.binary = takes(w->kernels->refusals.qmul, a) ? w->kernels->qmul : w->plain->qmul;
    call->units = output_elements(w);
}

void morsel_prepare_unary(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_unary *p = w->parameters;
    struct morsel_unary_args *a = &call->args.unary;
    a->x = input_of(w, 0);
    a->y = whole_output(w);
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
    const struct morsel_blob_tensor *x = morsel_blob_input(w->model, w->step, 0), *y = morsel_blob_output(w->model, w->step);
    a->x = place_of(w, x);
    a->y = place_of(w, y);
    a->x_flip = flip_of(w, x) ^ own_flip(x);
    a->y_flip = flip_of(w, y) ^ own_flip(y);
    a->table = morsel_blob_at(w->model, p->table);
    a->channels = p->channels;
    a->inner = p->inner;
    a->is_float = !morsel_is_byte(y);
    call->kernel.lut = takes(w->kernels->refusals.lut, a) ? w->kernels->lut : w->plain->lut;
    call->units = p->count;
}

void morsel_prepare_mean(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_mean *p = w->parameters;
    struct morsel_mean_args *a = &call->args.mean;
    a->x = input_of(w, 0);
    a->y = output_of(w, p->out_min, p->out_max, -infinity(), infinity());
    a->count = p->count;
    a->inner = p->inner;
    a->multiplier = p->multiplier;
    call->kernel.mean = takes(w->kernels->refusals.mean, a) ? w->kernels->mean : w->plain->mean;
    call->units = p->outer * p->inner;
}

void morsel_prepare_layer_norm(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_layer_norm *p = w->parameters;
    struct morsel_layer_norm_args *a = &call->args.layer_norm;
    a->x = input_of(w, 0);
    a->y = output_of(w, p->out_min, p->out_max, p->float_min, p->float_max);
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
    const struct morsel_blob_tensor *x = morsel_blob_input(w->model, w->step, 0), *y = morsel_blob_output(w->model, w->step);
    struct morsel_resize_args *a = &call->args.resize;
    a->x = input_of(w, 0);
    a->y = output_of(w, p->out_min, p->out_max, p->float_min, p->float_max);
    a->rows = morsel_blob_at(w->model, p->rows);
    a->columns = morsel_blob_at(w->model, p->columns);
    a->in_h = x->dims[1];
    a->in_w = x->dims[2];
    a->out_h = y->dims[1];
    a->out_w = y->dims[2];
    a->channels = y->dims[3];
    a->truncate = p->truncate;
    call->kernel.resize = w->kernels->resize;
    call->units = y->dims[0] * y->dims[1];
}

/* Whole steps of `scale` in 1, rounded down; floats from 2^23 on are whole already. */
static float whole_steps(float scale) {
    float steps = 1 / scale;
    return steps < 8388608.0f ? (float)(int32_t)steps : steps;
}

void morsel_prepare_softmax(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_softmax *p = w->parameters;
    struct morsel_softmax_args *a = &call->args.softmax;
    a->x = input_of(w, 0);
    a->y = whole_output(w);
    a->table = morsel_blob_optional(w->model, p->table);
    a->levels = whole_steps(a->y.qparams.scale);
    a->count = p->count;
    a->inner = p->inner;
    call->kernel.softmax = takes(w->kernels->refusals.softmax, a) ? w->kernels->softmax : w->plain->softmax;
    call->units = p->outer * p->inner;
}

void morsel_prepare_concat(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_concat *p = w->parameters;
    struct morsel_concat *a = &call->args.concat;
    const struct morsel_blob_tensor *y = morsel_blob_output(w->model, w->step);
    a->model = w->model;
    a->step = w->step;
    a->blocks = w->blocks;
    a->y = place_of(w, y);
    a->y_stride = y->bytes / p->outer;
    a->size = morsel_type_bytes(y->type);
    a->y_flip = flip_of(w, y);
    a->store_flip = w->kernels->store_flip;
    call->kernel.copy = w->kernels->copy;
    call->units = p->outer;
}

void morsel_prepare_gather(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_gather *p = w->parameters;
    struct morsel_gather_args *a = &call->args.gather;
    const struct morsel_blob_tensor *y = morsel_blob_output(w->model, w->step);
    a->x = place_of(w, morsel_blob_input(w->model, w->step, 0));
    a->y = place_of(w, y);
    a->table = morsel_blob_at(w->model, p->table);
    a->rank = p->rank;
    memcpy(a->dims, p->dims, sizeof a->dims);
    a->size = morsel_type_bytes(y->type);
    a->fill = morsel_is_byte(y) ? p->fill ^ flip_of(w, y) ^ own_flip(y) : p->fill;
    a->sign_flip = flip_of(w, morsel_blob_input(w->model, w->step, 0)) ^ flip_of(w, y);
    call->kernel.gather = takes(w->kernels->refusals.gather, a) ? w->kernels->gather : w->plain->gather;
    call->units = morsel_elements(y);
}

void morsel_prepare_range(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_range *p = w->parameters;
    struct morsel_range_args *a = &call->args.range;
    a->x = input_of(w, 0).data;
    a->y = output_of(w, 0, 0, 0, 0).data;
    a->elements = morsel_elements(morsel_blob_input(w->model, w->step, 0));
    a->count = p->count;
    call->kernel.range = w->kernels->range;
    call->units = output_elements(w) / 2;
}

void morsel_prepare_factors(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_factors *p = w->parameters;
    struct morsel_factors_args *a = &call->args.factors;
    a->x = input_of(w, 0).data;
    a->y = output_of(w, 0, 0, 0, 0).data;
    a->lines = p->lines;
    a->pieces = morsel_elements(morsel_blob_input(w->model, w->step, 0)) / 2 / p->lines;
    a->channels = p->channels;
    a->factor = morsel_blob_optional(w->model, p->factor);
    a->bias = morsel_blob_optional(w->model, p->bias);
    call->kernel.factors = w->kernels->factors;
    call->units = 1;
}

void morsel_prepare_quantize(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_quantize *p = w->parameters;
    struct morsel_quantize_args *a = &call->args.quantize;
    a->x = input_of(w, 0).data;
    a->numbers = input_of(w, 1).data;
    a->y = output_of(w, 0, 0, 0, 0).data;
    a->elements = output_elements(w);
    a->count = p->count;
    a->by_line = p->lines > 1;
    a->sign_flip = flip_of(w, morsel_blob_output(w->model, w->step));
    call->kernel.quantize = w->kernels->quantize;
    call->units = (a->elements - 1) / p->count + 1;
}

void morsel_prepare_lookup(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_lookup *p = w->parameters;
    struct morsel_lookup_args *a = &call->args.lookup;
    const struct morsel_blob_tensor *y = morsel_blob_output(w->model, w->step);
    a->x = (const int32_t *)(const void *)place_of(w, morsel_blob_input(w->model, w->step, 0));
    a->y = place_of(w, y);
    a->table = morsel_blob_at(w->model, p->table);
    a->rows = p->rows;
    a->bytes = p->width * morsel_type_bytes(y->type);
    a->sign_flip = morsel_is_byte(y) ? flip_of(w, y) ^ own_flip(y) : 0;
    call->kernel.lookup = w->kernels->lookup;
    call->units = morsel_elements(morsel_blob_input(w->model, w->step, 0));
}

void morsel_prepare_cast(struct morsel_call *call, const struct morsel_preparation *w) {
    const struct morsel_blob_cast *p = w->parameters;
    call->args.cast.x = (const int32_t *)(const void *)place_of(w, morsel_blob_input(w->model, w->step, 0));
    call->args.cast.y = (float *)(void *)place_of(w, morsel_blob_output(w->model, w->step));
    call->kernel.cast = w->kernels->cast;
    call->units = p->count;
}

void morsel_prepare(struct morsel_call *call, const struct morsel_session *session, const struct morsel_kernels *kernels,
                    const struct morsel_kernels *plain, uint32_t index) {
    const struct morsel_blob_step *step = morsel_blob_step(session->model, index);
    const struct morsel_preparation work = {session->model, morsel_session_blocks(session),
                                            step,           morsel_blob_at(session->model, step->parameters),
                                            kernels,        plain};
    const struct morsel_blob_tensor *y = morsel_blob_output(session->model, step);
    call->kind = (uint8_t)step->kind;
    call->row_elements = y->dims[2] * y->dims[3];
    morsel_kinds[step->kind]->prepare(call, &work);
}
