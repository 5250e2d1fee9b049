/* SPDX-License-Identifier: MIT */
/*
 * Steps whose scales and zero points are found at run time. No zero point is taken from a blob: FACTORS makes them, within 0..255 whatever
 * it reads, and only what FACTORS writes is read as such (core/check_plan.c).
 */
#include "check.h"
#include "kind.h"

/* Pieces of `count` elements, of which the last may be shorter. */
static uint32_t pieces_of(uint32_t elements, uint32_t count) {
    return (elements - 1) / count + 1;
}

enum morsel_error morsel_check_range_step(const struct morsel_step_check *s) {
    const struct morsel_blob_range *p = s->parameters;
    if (!p->count) return MORSEL_ERR_PARAMETER;
    uint32_t pieces = pieces_of(morsel_elements(s->x), p->count);
    int fit = s->y->rank == 2 && s->y->dims[0] == pieces && s->y->dims[1] == 2;
    return fit ? MORSEL_OK : MORSEL_ERR_PARAMETER;
}

/* Whether a tensor has the shape of FACTORS' results: of more than one line, a scale and a zero point for each ... */
static int has_lines(const struct morsel_blob_tensor *t, uint32_t lines) {
    return t->rank == 2 && t->dims[0] == lines && t->dims[1] == 2;
}

/* ... and of one line, `channels` factors and as many biases: fewer than 2^37, as channels are fewer than 2^36. Proven: tests/prove, fc and
 * packed. */
static int has_channels(const struct morsel_blob_tensor *t, uint64_t channels) {
    return t->rank == 1 && t->dims[0] == MORSEL_FORMAT_NUMBERS + 2 * channels;
}

enum morsel_error morsel_check_factors(const struct morsel_step_check *s) {
    const struct morsel_blob_factors *p = s->parameters;
    if (!p->lines || morsel_elements(s->x) % 2 || morsel_elements(s->x) / 2 % p->lines) return MORSEL_ERR_PARAMETER;
    if (p->channels % 16 || (p->lines > 1 && p->channels)) return MORSEL_ERR_PARAMETER;
    if (!(p->lines > 1 ? has_lines(s->y, p->lines) : has_channels(s->y, p->channels))) return MORSEL_ERR_PARAMETER;
    if (!p->channels) return p->factor || p->bias ? MORSEL_ERR_PARAMETER : MORSEL_OK;
    if (!morsel_check_floats(s->check, p->factor, p->channels)) return MORSEL_ERR_CONSTANT;
    return !p->bias || morsel_check_floats(s->check, p->bias, p->channels) ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

/* Bytes of QUANTIZE: scale 1 and zero point 0 say that their numbers stand elsewhere. */
static int is_found(const struct morsel_blob_tensor *t) {
    return t->scale == 1 && t->zero_point == 0;
}

enum morsel_error morsel_check_quantize(const struct morsel_step_check *s) {
    const struct morsel_blob_quantize *p = s->parameters;
    const struct morsel_blob_tensor *numbers = morsel_blob_input(s->check->model, s->step, 1);
    uint32_t elements = morsel_elements(s->y);
    if (morsel_elements(s->x) != elements || !p->count || !p->lines || !is_found(s->y)) return MORSEL_ERR_PARAMETER;
    if (p->lines > 1 && morsel_product(p->lines, p->count) != elements) return MORSEL_ERR_PARAMETER;
    if (p->lines > 1) return has_lines(numbers, p->lines) ? MORSEL_OK : MORSEL_ERR_PARAMETER;
    return numbers->rank == 1 && numbers->dims[0] >= MORSEL_FORMAT_NUMBERS ? MORSEL_OK : MORSEL_ERR_PARAMETER;
}

int morsel_check_dynamic(const struct morsel_step_check *s, const struct morsel_blob_sums *p, uint64_t channels, uint32_t rows) {
    if (!morsel_kinds[s->step->kind]->numbers) return 1;
    const struct morsel_blob_tensor *numbers = morsel_blob_input(s->check->model, s->step, 1);
    if (!is_found(s->x) || p->proofs) return 0;
    return (rows > 1 && has_lines(numbers, rows)) || has_channels(numbers, channels);
}
