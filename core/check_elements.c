/* SPDX-License-Identifier: MIT */
/* The parameters of everything that is not a window. */
#include "../kernels/kernels.h"
#include "check.h"

#define RATIO_MOST 1.2676506e30f /* 2^100: keeps every intermediate of a quantized add or product finite */

enum morsel_error morsel_check_fc(const struct morsel_step_check *s) {
    const struct morsel_blob_fc *p = s->parameters;
    if (morsel_product(p->rows, p->inputs) != morsel_elements(s->x)) return MORSEL_ERR_PARAMETER;
    if (morsel_product(p->rows, p->outputs) != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    struct morsel_packed w = {.channels = ((uint64_t)p->outputs + 15) / 16 * 16, .line = ((uint64_t)p->inputs + 3) / 4};
    w.padding = (uint32_t)(w.line * 4 - p->inputs);
    w.bytes = w.channels * w.line * 4; /* both at most 2^31. Proven: tests/prove, fc. */
    if (!morsel_check_dynamic(s, &p->sums, w.channels, p->rows)) return MORSEL_ERR_PARAMETER;
    return morsel_check_sums(s, &p->sums, &w);
}

/* Any batch index leads inside an operand, because it is taken modulo the operand's own batch. Proven: tests/prove, batch. */
enum morsel_error morsel_check_matmul(const struct morsel_step_check *s) {
    const struct morsel_blob_matmul *p = s->parameters;
    const struct morsel_blob_tensor *b = morsel_blob_input(s->check->model, s->step, 1);
    if (morsel_product3(p->a_batch, p->rows, p->inner) != morsel_elements(s->x)) return MORSEL_ERR_PARAMETER;
    if (morsel_product3(p->b_batch, p->inner, p->columns) != morsel_elements(b)) return MORSEL_ERR_PARAMETER;
    if (morsel_product3(p->batch, p->rows, p->columns) != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    if (!p->a_divide || !p->b_divide || !morsel_finite(p->multiplier)) return MORSEL_ERR_PARAMETER;
    return morsel_check_range(s->y, p->out_min, p->out_max, p->float_min, p->float_max) ? MORSEL_OK : MORSEL_ERR_PARAMETER;
}

/* The product of dims[0..rank) is `elements`, and unused dimensions are 1. */
static int dims_fit(const uint32_t *dims, uint32_t rank, uint32_t elements) {
    uint32_t n = 1;
    if (rank < 1 || rank > MORSEL_FORMAT_MAX_RANK) return 0;
    for (uint32_t k = 0; k < MORSEL_FORMAT_MAX_RANK; k++) {
        if (k >= rank && dims[k] != 1) return 0;
        n = morsel_product(n, dims[k]);
    }
    return n == elements;
}

/* The last element that the strides reach lies inside the operand. An addend is below 2^31 * 2^32, and the sum is checked as it grows.
 * Proven: tests/prove, strides. */
static int strides_fit(const uint32_t *dims, uint32_t rank, const uint32_t *stride, uint32_t first, uint32_t elements) {
    uint64_t last = first;
    for (uint32_t k = 0; k < rank; k++) {
        last += (uint64_t)(dims[k] - 1) * stride[k];
        if (last >= elements) return 0;
    }
    return 1;
}

/* No operand is larger than a tensor, so that no stride that is used reaches beyond one. */
enum morsel_error morsel_check_float_matmul(const struct morsel_step_check *s) {
    const struct morsel_blob_float_matmul *p = s->parameters;
    const uint32_t *d = p->dims, a[4] = {d[0], d[1], d[2], p->inner}, b[4] = {d[0], d[1], p->inner, d[3]};
    const uint32_t a_stride[4] = {p->a_stride[0], p->a_stride[1], p->a_stride[2], 1};
    const struct morsel_blob_tensor *second = morsel_blob_input(s->check->model, s->step, 1);
    if (!p->inner || morsel_product(morsel_product3(d[0], d[1], d[2]), d[3]) != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    if (p->turned > 1 || p->term_stride[3] > 1) return MORSEL_ERR_PARAMETER;
    if (!strides_fit(a, 4, a_stride, p->a_first, morsel_elements(s->x))) return MORSEL_ERR_PARAMETER;
    if (!strides_fit(b, 4, p->b_stride, p->b_first, morsel_elements(second))) return MORSEL_ERR_PARAMETER;
    const struct morsel_blob_tensor *term = s->step->input_count > 2 ? morsel_blob_input(s->check->model, s->step, 2) : NULL;
    if (term && !strides_fit(d, 4, p->term_stride, 0, morsel_elements(term))) return MORSEL_ERR_PARAMETER;
    return morsel_finite(p->factor) && p->float_min <= p->float_max ? MORSEL_OK : MORSEL_ERR_PARAMETER;
}

enum morsel_error morsel_check_view_matmul(const struct morsel_step_check *s) {
    const struct morsel_blob_view_matmul *p = s->parameters;
    if (p->product.b_stride[3] != 1 && (p->product.b_stride[2] != 1 || p->product.inner % 4)) return MORSEL_ERR_PARAMETER;
    if (!morsel_check_integers(s->y, p->out_min, p->out_max)) return MORSEL_ERR_PARAMETER;
    return morsel_check_float_matmul(s);
}

static int ratio_fits(float v) {
    return v >= -RATIO_MOST && v <= RATIO_MOST;
}

enum morsel_error morsel_check_binary(const struct morsel_step_check *s) {
    const struct morsel_blob_binary *p = s->parameters;
    const struct morsel_blob_tensor *b = morsel_blob_input(s->check->model, s->step, 1);
    if (p->op < 1 || p->op >= MORSEL_BINARY_OP_COUNT || !dims_fit(p->dims, p->rank, morsel_elements(s->y))) return MORSEL_ERR_PARAMETER;
    if (!strides_fit(p->dims, p->rank, p->a_stride, 0, morsel_elements(s->x))) return MORSEL_ERR_PARAMETER;
    if (!strides_fit(p->dims, p->rank, p->b_stride, 0, morsel_elements(b))) return MORSEL_ERR_PARAMETER;
    if (!morsel_check_integers(s->y, p->out_min, p->out_max)) return MORSEL_ERR_PARAMETER;
    if (p->op >= MORSEL_BINARY_SINCE_2 && s->check->header->format_version < 2) return MORSEL_ERR_PARAMETER;
    int in_float = p->op != MORSEL_BINARY_QADD && p->op != MORSEL_BINARY_QMUL;
    if (in_float) return p->float_min <= p->float_max ? MORSEL_OK : MORSEL_ERR_PARAMETER;
    if (!morsel_is_byte(s->x) || !morsel_is_byte(b) || !morsel_is_byte(s->y)) return MORSEL_ERR_STEP;
    return ratio_fits(p->a_ratio) && ratio_fits(p->b_ratio) && ratio_fits(p->offset) ? MORSEL_OK : MORSEL_ERR_PARAMETER;
}

enum morsel_error morsel_check_qadd(const struct morsel_step_check *s) {
    const struct morsel_blob_binary *p = s->parameters;
    return p->op == MORSEL_BINARY_QADD ? morsel_check_binary(s) : MORSEL_ERR_STEP;
}

uint32_t morsel_binary_period(const void *parameters, uint32_t n) {
    const struct morsel_blob_binary *p = parameters;
    return (uint32_t)morsel_is_contiguous(p->dims, n ? p->b_stride : p->a_stride, p->rank);
}

enum morsel_error morsel_check_unary(const struct morsel_step_check *s) {
    const struct morsel_blob_unary *p = s->parameters;
    if (p->op >= MORSEL_UNARY_OP_COUNT || p->count != morsel_elements(s->x)) return MORSEL_ERR_PARAMETER;
    if (p->count != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    if (p->alpha != p->alpha || p->beta != p->beta || !p->channels) return MORSEL_ERR_PARAMETER;
    if (p->op == MORSEL_UNARY_CLIP) return MORSEL_OK; /* limits may be infinite */
    if (!morsel_finite(p->alpha) || !morsel_finite(p->beta)) return MORSEL_ERR_PARAMETER;
    if (p->op == MORSEL_UNARY_QAFFINE && !(morsel_is_byte(s->x) && morsel_is_byte(s->y))) return MORSEL_ERR_STEP;
    if (p->op != MORSEL_UNARY_AFFINE && p->op != MORSEL_UNARY_QAFFINE) return MORSEL_OK;
    int fit = morsel_check_floats(s->check, p->affine_scale, p->channels) && morsel_check_floats(s->check, p->affine_offset, p->channels);
    return fit ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

uint32_t morsel_unary_period(const void *parameters, uint32_t n) {
    (void)n;
    return ((const struct morsel_blob_unary *)parameters)->channels;
}

enum morsel_error morsel_check_lut(const struct morsel_step_check *s) {
    const struct morsel_blob_lut *p = s->parameters;
    if (p->count != morsel_elements(s->x) || p->count != morsel_elements(s->y) || !p->channels || !p->inner) return MORSEL_ERR_PARAMETER;
    uint64_t bytes = (uint64_t)p->channels * 256 * morsel_type_bytes(s->y->type);
    return morsel_check_data(s->check, p->table, bytes) ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

/* Longer than any tensor where the product is. */
uint32_t morsel_lut_period(const void *parameters, uint32_t n) {
    const struct morsel_blob_lut *p = parameters;
    uint32_t period = p->channels == 1 ? 1 : morsel_product(p->channels, p->inner);
    (void)n;
    return period ? period : UINT32_MAX;
}

/* A sum of `count` differences of bytes stays in int32. */
enum morsel_error morsel_check_mean(const struct morsel_step_check *s) {
    const struct morsel_blob_mean *p = s->parameters;
    if (morsel_product3(p->outer, p->count, p->inner) != morsel_elements(s->x)) return MORSEL_ERR_PARAMETER;
    if (morsel_product(p->outer, p->inner) != morsel_elements(s->y) || p->count > 0x7fffffffu / 255) return MORSEL_ERR_PARAMETER;
    if (!morsel_finite(p->multiplier) || !morsel_check_integers(s->y, p->out_min, p->out_max)) return MORSEL_ERR_PARAMETER;
    return MORSEL_OK;
}

/* The table's entries are exponentials: not negative. */
enum morsel_error morsel_check_softmax(const struct morsel_step_check *s) {
    const struct morsel_blob_softmax *p = s->parameters;
    uint32_t elements = morsel_product3(p->outer, p->count, p->inner);
    if (elements != morsel_elements(s->x) || elements != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    if (!p->table) return MORSEL_OK;
    if (!morsel_is_byte(s->x) || !morsel_is_byte(s->y)) return MORSEL_ERR_PARAMETER;
    if (!morsel_check_floats(s->check, p->table, 256)) return MORSEL_ERR_CONSTANT;
    const float *table = morsel_blob_at(s->check->model, p->table);
    for (uint32_t i = 0; i < 256; i++)
        if (table[i] < 0) return MORSEL_ERR_CONSTANT;
    return MORSEL_OK;
}

enum morsel_error morsel_check_layer_norm(const struct morsel_step_check *s) {
    const struct morsel_blob_layer_norm *p = s->parameters;
    uint32_t elements = morsel_product(p->lines, p->count);
    if (elements != morsel_elements(s->x) || elements != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    if (p->centred > 1 || !morsel_finite(p->epsilon) || p->epsilon < 0) return MORSEL_ERR_PARAMETER;
    if (!morsel_check_range(s->y, p->out_min, p->out_max, p->float_min, p->float_max)) return MORSEL_ERR_PARAMETER;
    if (p->factor && !morsel_check_floats(s->check, p->factor, p->count)) return MORSEL_ERR_CONSTANT;
    return !p->term || morsel_check_floats(s->check, p->term, p->count) ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

/* Whether floats are positions among n rows or columns; a number that is none is not. */
static int are_positions(const struct morsel_step_check *s, uint32_t offset, uint32_t count, uint32_t n) {
    if (n > 1u << 24 || !morsel_check_floats(s->check, offset, count)) return 0; /* n is a float, exactly */
    const float *at = morsel_blob_at(s->check->model, offset);
    for (uint32_t i = 0; i < count; i++)
        if (at[i] < 0 || at[i] > (float)(n - 1)) return 0;
    return 1;
}

/* Whether y has x's images and channels. */
static int same_pictures(const struct morsel_blob_tensor *x, const struct morsel_blob_tensor *y) {
    return x->rank == 4 && y->rank == 4 && x->dims[0] == y->dims[0] && x->dims[3] == y->dims[3];
}

enum morsel_error morsel_check_resize(const struct morsel_step_check *s) {
    const struct morsel_blob_resize *p = s->parameters;
    const struct morsel_blob_tensor *x = s->x, *y = s->y;
    if (!same_pictures(x, y)) return MORSEL_ERR_PARAMETER;
    if (p->truncate > 1 || !morsel_check_range(y, p->out_min, p->out_max, p->float_min, p->float_max)) return MORSEL_ERR_PARAMETER;
    int fit = are_positions(s, p->rows, y->dims[1], x->dims[1]) && are_positions(s, p->columns, y->dims[2], x->dims[2]);
    return fit ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

enum morsel_error morsel_check_concat(const struct morsel_step_check *s) {
    const struct morsel_blob_concat *p = s->parameters;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < s->step->input_count; k++) {
        const struct morsel_blob_tensor *x = morsel_blob_input(s->check->model, s->step, k);
        if (morsel_product(p->outer, p->inner[k]) != morsel_elements(x)) return MORSEL_ERR_PARAMETER;
        sum += p->inner[k];
    }
    if (sum > MORSEL_SIZE_LIMIT || morsel_product(p->outer, (uint32_t)sum) != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    return MORSEL_OK;
}

/* The largest sum of one entry from each table is an element of x. */
static int entries_fit(const struct morsel_step_check *s, const int32_t *table) {
    const struct morsel_blob_gather *p = s->parameters;
    uint64_t last = 0;
    for (uint32_t k = 0; k < p->rank; k++) {
        int32_t most = 0;
        for (uint32_t i = 0; i < p->dims[k]; i++, table++) {
            if (*table < -1) return 0;
            if (*table > most) most = *table;
        }
        last += (uint32_t)most;
    }
    return last < morsel_elements(s->x);
}

enum morsel_error morsel_check_gather(const struct morsel_step_check *s) {
    const struct morsel_blob_gather *p = s->parameters;
    uint64_t entries = 0;
    if (!dims_fit(p->dims, p->rank, morsel_elements(s->y))) return MORSEL_ERR_PARAMETER;
    for (uint32_t k = 0; k < p->rank; k++) entries += p->dims[k];
    if (!morsel_check_data(s->check, p->table, 4 * entries) || !morsel_check_affords(s->check, 4 * entries)) return MORSEL_ERR_CONSTANT;
    return entries_fit(s, morsel_blob_at(s->check->model, p->table)) ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

enum morsel_error morsel_check_lookup(const struct morsel_step_check *s) {
    const struct morsel_blob_lookup *p = s->parameters;
    uint32_t elements = morsel_product(p->rows, p->width);
    if (!elements || morsel_product(morsel_elements(s->x), p->width) != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    int fit = morsel_is_byte(s->y) ? morsel_check_data(s->check, p->table, elements) : morsel_check_floats(s->check, p->table, elements);
    return fit ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

enum morsel_error morsel_check_cast(const struct morsel_step_check *s) {
    const struct morsel_blob_cast *p = s->parameters;
    return p->count == morsel_elements(s->x) && p->count == morsel_elements(s->y) ? MORSEL_OK : MORSEL_ERR_PARAMETER;
}

/* Sides are so short that kernels find places among their pixels in floats and in int32. */
enum morsel_error morsel_check_grid_sample(const struct morsel_step_check *s) {
    const struct morsel_blob_grid_sample *p = s->parameters;
    const struct morsel_blob_tensor *x = s->x, *y = s->y, *grid = morsel_blob_input(s->check->model, s->step, 1);
    if (!same_pictures(x, y) || (x->dims[1] | x->dims[2]) >= MORSEL_FORMAT_GRID_SIDE) return MORSEL_ERR_PARAMETER;
    if ((uint64_t)grid->bytes * y->dims[3] != 2 * (uint64_t)y->bytes) return MORSEL_ERR_PARAMETER; /* two floats for each pixel */
    return (p->nearest | p->corners) > 1 || p->beyond >= MORSEL_BEYOND_COUNT ? MORSEL_ERR_PARAMETER : MORSEL_OK;
}

enum morsel_error morsel_check_non_max_suppression(const struct morsel_step_check *s) {
    const struct morsel_blob_non_max_suppression *p = s->parameters;
    const uint32_t boxes = morsel_product3(p->images, p->count, 4), lists = morsel_product(p->images, p->classes);
    const uint32_t scores = morsel_elements(morsel_blob_input(s->check->model, s->step, 1));
    if (boxes != morsel_elements(s->x) || morsel_product(lists, p->count) != scores) return MORSEL_ERR_PARAMETER;
    if (morsel_product3(lists, p->most, 3) != morsel_elements(s->y)) return MORSEL_ERR_PARAMETER;
    if (p->most > p->count || p->count > s->step->scratch_bytes || p->centre > 1) return MORSEL_ERR_PARAMETER;
    return morsel_finite(p->overlap) && p->least == p->least ? MORSEL_OK : MORSEL_ERR_PARAMETER;
}
