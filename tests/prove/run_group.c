/* SPDX-License-Identifier: MIT */
/* Proofs of core/run_group.c: row numbers of turns stay in int32, and each stage's turns join without a gap. */
#include "core/run_group.c"
#include "any.h"

#define STAGE ((int32_t)MORSEL_FORMAT_MAX_STAGE)

/* A stage as core/check_group.c lets it pass, with rows begin .. end of its `height`. */
static void any_stage(struct morsel_stage *s, const struct morsel_blob_step *step, int32_t strip, int32_t height) {
    prove_assume(step->stage_scale >= 1 & step->stage_scale <= (uint32_t)STAGE & step->stage_lead >= -STAGE & step->stage_lead <= STAGE);
    prove_assume(strip >= 1 & strip <= STAGE & height >= 1);
    prove_assume((wide)step->stage_scale * ((wide)height + strip) + 2 * STAGE <= INT32_MAX);
    prove_assume(s->begin <= s->end & s->end <= MORSEL_SIZE_LIMIT);
    if (s->begin == s->end) prove_assume(s->begin == 0);
    else prove_assume(s->end <= (wide)step->stage_scale * height + step->stage_lead); /* prove_rows_made of group.c */
}

/* Of any t that turns have, also one below the first row. */
void prove_rows_at(int32_t t, int32_t strip, int32_t height) {
    struct morsel_stage s;
    struct morsel_blob_step step;
    prove_any(&s);
    prove_any(&step);
    any_stage(&s, &step, strip, height);
    prove_assume(t < height);
    int32_t from = rows_at(&s, &step, t), to = rows_at(&s, &step, t + strip);
    prove_assert(from <= to & from >= (int32_t)s.begin & to <= (int32_t)s.end);
    wide rows = (wide)step.stage_scale * t + step.stage_lead;
    prove_assert(from == (rows < s.begin ? s.begin : rows < s.end ? rows : s.end));
}

/* Turns begin where no stage has made a row, a whole number of strips before `begin`; not one strip too early. */
void prove_find_start(int32_t begin, int32_t strip, int32_t height) {
    struct morsel_stage s[2];
    struct morsel_blob_step step[2];
    prove_any(s);
    prove_any(step);
    any_stage(&s[0], &step[0], strip, height);
    any_stage(&s[1], &step[1], strip, height);
    prove_assume(begin >= 0 & begin < height);
    int32_t least = least_start(&s[1], &step[1], least_start(&s[0], &step[0], begin));
    int32_t t = whole_strips(begin, least, strip);
    prove_assert(t <= begin & (begin - (wide)t) % strip == 0);
    for (int k = 0; k < 2; k++)
        if (s[k].begin < s[k].end) prove_assert((wide)step[k].stage_scale * t + step[k].stage_lead <= s[k].begin);
}
