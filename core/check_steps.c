/* SPDX-License-Identifier: MIT */
/* Steps: kind, tensors and their types, where the parameters stand; and the checks of constants that the kinds share. */
#include "check.h"
#include "kind.h"

#include <string.h>

static enum morsel_error check_operands(const struct morsel_check *c, const struct morsel_blob_step *step, const struct morsel_kind *kind) {
    const struct morsel_blob_header *h = c->header;
    if (!step->input_count || step->output_count != 1) return MORSEL_ERR_STEP;
    if (kind->inputs && (step->input_count < kind->inputs || step->input_count > kind->inputs + kind->optional)) return MORSEL_ERR_STEP;
    if ((uint64_t)step->first_operand + step->input_count + 1 > h->operands.count) return MORSEL_ERR_STEP;
    if (!morsel_check_affords(c, 4 * (uint64_t)step->input_count)) return MORSEL_ERR_STEP;
    for (uint32_t n = 0; n <= step->input_count; n++)
        if (morsel_blob_operand(c->model, step, n) >= h->tensors.count) return MORSEL_ERR_STEP;
    const struct morsel_blob_tensor *y = morsel_blob_output(c->model, step);
    if (y->place || !(kind->y_types >> y->type & 1)) return MORSEL_ERR_STEP;
    for (uint32_t n = 0; n < step->input_count; n++) {
        uint32_t type = morsel_blob_input(c->model, step, n)->type, types = n && kind->numbers ? 1u << MORSEL_FLOAT32 : kind->x_types;
        if (!(types >> type & 1) || (kind->same_type && type != y->type)) return MORSEL_ERR_STEP;
    }
    return MORSEL_OK;
}

/* The parameters lie in their section, at a multiple of 4. */
static int parameters_fit(const struct morsel_check *c, const struct morsel_blob_step *step, const struct morsel_kind *kind) {
    const struct morsel_blob_section *p = &c->header->parameters;
    uint64_t bytes = kind->record + kind->record_input * (uint64_t)step->input_count;
    if (step->parameters % 4 || step->parameters < p->offset) return 0;
    return (uint64_t)step->parameters + bytes <= (uint64_t)p->offset + 4 * (uint64_t)p->count;
}

static int scratch_fits(const struct morsel_check *c, const struct morsel_blob_step *step) {
    const struct morsel_blob_header *h = c->header;
    if (!step->scratch_bytes) return 1;
    if (step->scratch_offset % MORSEL_FORMAT_ALIGN || step->scratch_offset < h->steps.count * MORSEL_FORMAT_STEP_SLOT) return 0;
    if ((uint64_t)step->scratch_offset + step->scratch_bytes > h->arena_bytes) return 0;
    return morsel_in_one_part(h, step->scratch_offset, step->scratch_bytes);
}

static int same_operands(const struct morsel_check *c, const struct morsel_blob_step *a, const struct morsel_blob_step *b) {
    for (uint32_t n = 0; n <= a->input_count; n++)
        if (memcmp(morsel_blob_input(c->model, a, n), morsel_blob_input(c->model, b, n), offsetof(struct morsel_blob_tensor, place)))
            return 0;
    return 1;
}

/* Mixes words into a number of which nothing but speed depends. */
static uint32_t mixed(uint32_t mix, const void *words, uint32_t bytes) {
    const uint32_t *w = words;
    for (uint32_t n = bytes / 4; n; n--, w++) {
        mix = (mix << 5 | mix >> 27) ^ *w;
        mix = (uint32_t)((uint64_t)mix * 0x9e3779b1u);
    }
    return mix;
}

/* Whether a step before is of the same kind, with the same parameters and operands of the same type and shape: so is what is found. The
 * last one that comes to the same place of a table is asked, so that steps are not compared by pairs. */
static int is_checked(const struct morsel_check *c, const struct morsel_blob_step *step, const struct morsel_kind *kind) {
    if (kind->record_input) return 0;
    const void *parameters = morsel_blob_at(c->model, step->parameters);
    uint32_t mix = mixed(step->kind, parameters, kind->record);
    for (uint32_t k = 0; k <= step->input_count; k++)
        mix = mixed(mix, morsel_blob_input(c->model, step, k), offsetof(struct morsel_blob_tensor, place));
    uint16_t *place = &c->checked[mix >> 16 & (MORSEL_CHECKED - 1)];
    const struct morsel_blob_step *old = *place ? &c->steps[*place - 1] : NULL;
    *place = (uint16_t)(step - c->steps + 1); /* 4,096 at most */
    if (!old || *c->read <= MORSEL_READ_MUCH * (uint64_t)c->header->blob_bytes) return 0;
    if (old->kind != step->kind || old->input_count != step->input_count || old->scratch_bytes != step->scratch_bytes) return 0;
    return !memcmp(morsel_blob_at(c->model, old->parameters), parameters, kind->record) && same_operands(c, old, step);
}

static enum morsel_error check_step(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_step *step = &c->steps[index];
    if (step->kind < 1 || step->kind >= MORSEL_STEP_KIND_COUNT) return MORSEL_ERR_STEP;
    if (c->header->format_version < 2 && step->kind >= MORSEL_STEP_SINCE_2) return MORSEL_ERR_STEP;
    const struct morsel_kind *kind = morsel_kinds[step->kind];
    if (!kind) return MORSEL_ERR_STEP; /* a program that has none of them */
    enum morsel_error error = check_operands(c, step, kind);
    if (error) return error;
    if (!parameters_fit(c, step, kind)) return MORSEL_ERR_PARAMETER;
    if (!scratch_fits(c, step)) return MORSEL_ERR_PLAN;
    if (is_checked(c, step, kind)) return MORSEL_OK;
    struct morsel_step_check s = {c, step, morsel_blob_input(c->model, step, 0), morsel_blob_output(c->model, step),
                                  morsel_blob_at(c->model, step->parameters)};
    return kind->check(&s);
}

enum morsel_error morsel_check_steps(const struct morsel_check *c) {
    return morsel_check_each(c, MORSEL_PART_STEP, c->header->steps.count, check_step);
}

/* The sum does not wrap. Proven: tests/prove, affords. */
int morsel_check_affords(const struct morsel_check *c, uint64_t bytes) {
    *c->read += bytes; /* each is at most 2^31 * 4, for at most 4,096 steps of which each reads ten */
    return *c->read <= MORSEL_READ_MOST * (uint64_t)c->header->blob_bytes;
}

int morsel_check_data(const struct morsel_check *c, uint32_t offset, uint64_t bytes) {
    const struct morsel_blob_section *d = &c->header->data;
    if (offset % MORSEL_FORMAT_ALIGN || offset < d->offset) return 0;
    return offset + bytes >= bytes && offset + bytes <= (uint64_t)d->offset + d->count;
}

int morsel_check_floats(const struct morsel_check *c, uint32_t offset, uint64_t count) {
    if (count > MORSEL_SIZE_LIMIT || !morsel_check_data(c, offset, 4 * count)) return 0;
    return morsel_check_affords(c, 4 * count) && morsel_all_finite(morsel_blob_at(c->model, offset), (uint32_t)count);
}

int morsel_check_halves(const struct morsel_check *c, uint32_t offset, uint64_t count) {
    if (count > MORSEL_SIZE_LIMIT || !morsel_check_data(c, offset, 2 * count)) return 0;
    return morsel_check_affords(c, 2 * count) && morsel_all_finite_halves(morsel_blob_at(c->model, offset), (uint32_t)count / 2);
}

/* weight_zero, float_bias and the proofs may be absent. `channels` is below 2^36. Proven: tests/prove, fc and packed. */
static int channels_fit(const struct morsel_check *c, const struct morsel_blob_sums *p, uint64_t channels) {
    if (!morsel_check_data(c, p->bias, 4 * channels) || !morsel_check_floats(c, p->multiplier, channels)) return 0;
    if (!morsel_check_data(c, p->weight_sum, 4 * channels)) return 0;
    if (p->float_bias && !morsel_check_floats(c, p->float_bias, channels)) return 0;
    if (p->proofs && !morsel_check_data(c, p->proofs, channels / 16)) return 0;
    if (!p->weight_zero) return 1;
    if (!morsel_check_data(c, p->weight_zero, 4 * channels)) return 0;
    return morsel_check_affords(c, 4 * channels) && morsel_all_small(morsel_blob_at(c->model, p->weight_zero), (uint32_t)channels);
}

enum morsel_error morsel_check_sums(const struct morsel_step_check *s, const struct morsel_blob_sums *p, const struct morsel_packed *w) {
    if (!morsel_check_range(s->y, p->out_min, p->out_max, p->float_min, p->float_max)) return MORSEL_ERR_PARAMETER;
    if (!morsel_check_data(s->check, p->weights, w->bytes) || !channels_fit(s->check, p, w->channels)) return MORSEL_ERR_CONSTANT;
    if (!s->check->verify) return MORSEL_OK;
    return morsel_check_affords(s->check, w->bytes) && morsel_verify_sums(s, p, w) ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

int morsel_check_integers(const struct morsel_blob_tensor *y, int32_t low, int32_t high) {
    int32_t least = y->type == MORSEL_INT8 ? -128 : 0;
    if (!morsel_is_byte(y)) return 1;
    return low >= least && low <= high && high <= least + 255;
}

int morsel_check_range(const struct morsel_blob_tensor *y, int32_t low, int32_t high, float float_low, float float_high) {
    return morsel_is_byte(y) ? morsel_check_integers(y, low, high) : float_low <= float_high;
}
