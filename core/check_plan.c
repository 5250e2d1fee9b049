/* SPDX-License-Identifier: MIT */
/*
 * The order of running and the plan of the arena. Time 0 is before the first step, time i + 1 is step i, and the time after the last
 * step is when outputs are read. A tensor is alive from the time that writes it to the last that reads it, both included, and all of a
 * group that does either; MORSEL_STEP_BEFORE + 1 wraps to time 0.
 */
#include "check.h"
#include "kind.h"
#include "way.h"

static uint32_t birth(const struct morsel_check *c, const struct morsel_blob_tensor *t) {
    return morsel_group_first(c->model, t->first_step) + 1;
}

static uint32_t death(const struct morsel_check *c, const struct morsel_blob_tensor *t) {
    return morsel_group_last(c->model, t->last_step) + 1;
}

/* Whether the section of inputs or outputs names the tensor. */
static int listed(const struct morsel_check *c, const struct morsel_blob_section *section, uint32_t tensor) {
    const struct morsel_blob_io *io = morsel_blob_at(c->model, section->offset);
    for (uint32_t i = 0; i < section->count; i++)
        if (io[i].tensor == tensor) return 1;
    return 0;
}

/* Every tensor of the arena is written by the step that it names, or is an input. */
static enum morsel_error check_writer(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_tensor *t = &c->tensors[index];
    uint32_t steps = c->header->steps.count;
    if (t->place) return t->first_step == MORSEL_STEP_BEFORE ? MORSEL_OK : MORSEL_ERR_ORDER;
    if (t->last_step != MORSEL_STEP_BEFORE && t->last_step > steps) return MORSEL_ERR_ORDER;
    if (t->first_step + 1 > t->last_step + 1) return MORSEL_ERR_ORDER;
    if (t->first_step == MORSEL_STEP_BEFORE) return listed(c, &c->header->inputs, index) ? MORSEL_OK : MORSEL_ERR_ORDER;
    if (t->first_step >= steps) return MORSEL_ERR_ORDER;
    const struct morsel_blob_step *writer = &c->steps[t->first_step];
    return morsel_blob_operand(c->model, writer, writer->input_count) == index ? MORSEL_OK : MORSEL_ERR_ORDER;
}

/* A tensor that a step of FACTORS writes: check_writer() holds that it is the one that the tensor names. No step writes constants. */
static int has_numbers(const struct morsel_check *c, const struct morsel_blob_tensor *t) {
    return t->first_step < c->header->steps.count && c->steps[t->first_step].kind == MORSEL_STEP_FACTORS;
}

/* Step i reads what is alive and was written before it, and writes a tensor that names it. */
static enum morsel_error check_reads(const struct morsel_check *c, uint32_t i) {
    const struct morsel_blob_step *step = &c->steps[i];
    if (morsel_kinds[step->kind]->numbers && !has_numbers(c, morsel_blob_input(c->model, step, 1))) return MORSEL_ERR_ORDER;
    for (uint32_t n = 0; n < step->input_count; n++) {
        const struct morsel_blob_tensor *t = morsel_blob_input(c->model, step, n);
        if (!t->place && (t->first_step + 1 > i || t->last_step + 1 < i + 1)) return MORSEL_ERR_ORDER;
    }
    return morsel_blob_output(c->model, step)->first_step == i ? MORSEL_OK : MORSEL_ERR_ORDER;
}

static enum morsel_error check_input(const struct morsel_check *c, uint32_t i) {
    const struct morsel_blob_io *in = morsel_blob_at(c->model, c->header->inputs.offset);
    return c->tensors[in[i].tensor].first_step == MORSEL_STEP_BEFORE ? MORSEL_OK : MORSEL_ERR_ORDER;
}

static enum morsel_error check_output(const struct morsel_check *c, uint32_t i) {
    const struct morsel_blob_io *out = morsel_blob_at(c->model, c->header->outputs.offset);
    return c->tensors[out[i].tensor].last_step == c->header->steps.count ? MORSEL_OK : MORSEL_ERR_ORDER;
}

static int may_replace(const struct morsel_check *c, const struct morsel_blob_tensor *old, const struct morsel_blob_tensor *new) {
    if (old->last_step != new->first_step || old->offset != new->offset || old->bytes != new->bytes) return 0;
    const struct morsel_blob_step *step = &c->steps[new->first_step];
    const struct morsel_kind *kind = morsel_kinds[step->kind];
    if (step->group) return 0;
    if (kind->by_line) return c->header->format_version > 1;
    if (kind->rows != MORSEL_ROWS_SAME) return 0;
    for (uint32_t n = 0; n < step->input_count; n++)
        if (morsel_blob_input(c->model, step, n) == old && !kind->period(morsel_blob_at(c->model, step->parameters), n)) return 0;
    return 1;
}

/* Two that live during the same group: its output behind its input. */
static int may_trail(const struct morsel_check *c, const struct morsel_blob_tensor *old, const struct morsel_blob_tensor *new) {
    if (new->first_step >= c->header->steps.count || !c->steps[new->first_step].group) return 0;
    if (morsel_group_last(c->model, old->last_step) != morsel_group_last(c->model, new->first_step)) return 0;
    return morsel_ways[MORSEL_MODE_GROUP]->trails(c, &c->groups[c->steps[new->first_step].group - 1], old, new);
}

/* All pairs are tried, so what rules most of them out comes first. */
static enum morsel_error check_overlaps(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_tensor *a = &c->tensors[index];
    if (a->place) return MORSEL_OK;
    uint32_t from = birth(c, a), to = death(c, a), bytes = morsel_slice_bytes(a);
    for (const struct morsel_blob_tensor *b = c->tensors; b < a; b++) {
        if (b->place || !morsel_overlap(a->offset, bytes, b->offset, morsel_slice_bytes(b)) || from > death(c, b) || birth(c, b) > to)
            continue;
        if (may_trail(c, a, b) || may_trail(c, b, a)) continue;
        if (to == birth(c, b) && to != 0 && may_replace(c, a, b)) continue;
        if (death(c, b) == from && from != 0 && may_replace(c, b, a)) continue;
        return MORSEL_ERR_PLAN;
    }
    return MORSEL_OK;
}

/* A step's scratch against the tensors that are alive, and against that of the steps before it in its group. */
static enum morsel_error check_scratch(const struct morsel_check *c, uint32_t i) {
    const struct morsel_blob_step *step = &c->steps[i];
    uint32_t first = morsel_group_first(c->model, i), last = morsel_group_last(c->model, i);
    if (!step->scratch_bytes) return MORSEL_OK;
    for (uint32_t k = 0; k < c->header->tensors.count; k++) {
        const struct morsel_blob_tensor *t = &c->tensors[k];
        if (t->place || !morsel_overlap(step->scratch_offset, step->scratch_bytes, t->offset, morsel_slice_bytes(t))) continue;
        if (birth(c, t) <= last + 1 && first + 1 <= death(c, t)) return MORSEL_ERR_PLAN;
    }
    for (uint32_t k = first; k < i; k++)
        if (morsel_overlap(step->scratch_offset, step->scratch_bytes, c->steps[k].scratch_offset, c->steps[k].scratch_bytes))
            return MORSEL_ERR_PLAN;
    return MORSEL_OK;
}

enum morsel_error morsel_check_plan(const struct morsel_check *c) {
    const struct morsel_blob_header *h = c->header;
    enum morsel_error error = morsel_check_each(c, MORSEL_PART_TENSOR, h->tensors.count, check_writer);
    if (!error) error = morsel_check_each(c, MORSEL_PART_STEP, h->steps.count, check_reads);
    if (!error) error = morsel_check_each(c, MORSEL_PART_INPUT, h->inputs.count, check_input);
    if (!error) error = morsel_check_each(c, MORSEL_PART_OUTPUT, h->outputs.count, check_output);
    if (!error) error = morsel_check_each(c, MORSEL_PART_TENSOR, h->tensors.count, check_overlaps);
    if (!error) error = morsel_check_each(c, MORSEL_PART_STEP, h->steps.count, check_scratch);
    return error;
}
