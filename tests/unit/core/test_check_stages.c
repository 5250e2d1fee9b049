/* SPDX-License-Identifier: MIT */
/* Groups of hand-made pools, one number at a time: the limits of what check_group.c takes. */
#include "core/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = MORSEL_FORMAT_MAX_GROUP + 4, MOST = MORSEL_FORMAT_MAX_STAGE };

/* Step i reads tensor i and writes tensor i + 1. */
static struct {
    struct morsel_blob_header header;
    struct morsel_blob_tensor tensors[ROOM + 1];
    struct morsel_blob_step steps[ROOM];
    struct morsel_blob_group groups[2];
    uint32_t operands[2 * ROOM + 3];
    struct morsel_blob_pool pools[ROOM];
} blob;
static struct morsel_model model, report;

static uint32_t place_of(const void *part) {
    return (uint32_t)((const uint8_t *)part - (const uint8_t *)&blob);
}

/* The steps first .. first + count - 1 as group `number`, from 1; all but the last write rings. */
static void set_group(uint32_t number, uint32_t first, uint32_t count) {
    blob.groups[number - 1] = (struct morsel_blob_group){first, count, 1};
    for (uint32_t i = first; i < first + count; i++) {
        blob.steps[i].group = number;
        blob.steps[i].stage_scale = 1;
        blob.tensors[i + 1].ring_rows = i < first + count - 1 ? 4 : 0;
    }
}

/* `count` steps in one group. */
static void set_up(uint32_t count) {
    memset(&blob, 0, sizeof blob);
    model = (struct morsel_model){.blob = (const uint8_t *)&blob, .blob_bytes = sizeof blob};
    blob.header.tensors = (struct morsel_blob_section){place_of(blob.tensors), count + 1};
    blob.header.steps = (struct morsel_blob_section){place_of(blob.steps), count};
    blob.header.groups = (struct morsel_blob_section){place_of(blob.groups), 1};
    blob.header.operands = (struct morsel_blob_section){place_of(blob.operands), 2 * count};
    for (uint32_t i = 0; i <= count; i++) {
        struct morsel_blob_tensor *t = &blob.tensors[i];
        *t = (struct morsel_blob_tensor){.type = MORSEL_UINT8, .layout = MORSEL_CHANNELS_LAST, .rank = 4, .bytes = 8 * 4 * 16};
        t->dims[0] = 1, t->dims[1] = 8, t->dims[2] = 4, t->dims[3] = 16, t->dims[4] = t->dims[5] = 1;
        t->offset = 65536 * i;
        t->first_step = i ? i - 1 : MORSEL_STEP_BEFORE;
        t->last_step = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        blob.operands[2 * i] = i;
        blob.operands[2 * i + 1] = i + 1;
        blob.pools[i] = (struct morsel_blob_pool){{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 0, 0, 255};
        blob.steps[i] =
            (struct morsel_blob_step){.kind = MORSEL_STEP_MAX_POOL, .input_count = 1, .output_count = 1, .first_operand = 2 * i};
        blob.steps[i].parameters = place_of(&blob.pools[i]);
    }
    set_group(1, 0, count);
}

static const struct morsel_check desk = {
    .report = &report, .model = &model, .header = &blob.header, .tensors = blob.tensors, .steps = blob.steps, .groups = blob.groups};

static enum morsel_error check(void) {
    return morsel_check_groups(&desk);
}

/* Makes a sum of step i, of tensors a and b. */
static void set_sum(uint32_t i, uint32_t a, uint32_t b) {
    static const struct morsel_blob_binary sum = {
        .op = MORSEL_BINARY_QADD, .rank = 1, .dims = {8 * 4 * 16}, .a_stride = {1}, .b_stride = {1}};
    uint32_t y = blob.operands[blob.steps[i].first_operand + 1];
    memcpy(&blob.pools[ROOM - 3], &sum, sizeof sum);
    memcpy(&blob.operands[2 * ROOM], (uint32_t[]){a, b, y}, 12);
    blob.steps[i] = (struct morsel_blob_step){.kind = MORSEL_STEP_BINARY,
                                              .input_count = 2,
                                              .output_count = 1,
                                              .first_operand = 2 * ROOM,
                                              .parameters = place_of(&blob.pools[ROOM - 3]),
                                              .group = blob.steps[i].group,
                                              .stage_scale = blob.steps[i].stage_scale};
}

#define REFUSED(count, ...) \
    do { \
        set_up(count); \
        assert_int_equal(check(), MORSEL_OK); \
        __VA_ARGS__; \
        assert_int_equal(check(), MORSEL_ERR_PLAN); \
    } while (0)

static void groups_have_two_steps_or_some_more(void **state) {
    (void)state;
    for (uint32_t count = 1; count <= MORSEL_FORMAT_MAX_GROUP + 1; count++) {
        set_up(count);
        assert_int_equal(check(), count >= 2 && count <= MORSEL_FORMAT_MAX_GROUP ? MORSEL_OK : MORSEL_ERR_PLAN);
    }
}

static void groups_stand_in_the_order_of_their_steps(void **state) {
    (void)state;
    set_up(6);
    blob.header.groups.count = 2;
    for (uint32_t i = 0; i < 2; i++) blob.steps[i].group = blob.steps[i].stage_scale = blob.tensors[i + 1].ring_rows = 0;
    set_group(1, 2, 2);
    set_group(2, 4, 2);
    assert_int_equal(check(), MORSEL_OK);
    set_group(1, 4, 2);
    set_group(2, 2, 2);
    assert_int_equal(check(), MORSEL_ERR_PLAN);
}

static void stages_make_pictures_of_their_group(void **state) {
    (void)state;
    REFUSED(3, blob.steps[1].group = 0);
    REFUSED(3, blob.steps[0].group = 2, blob.header.groups.count = 2, blob.groups[1] = blob.groups[0]);
    REFUSED(3, blob.tensors[2].rank = 3);
    REFUSED(3, blob.tensors[2].dims[0] = 2);
}

/* Two pools, the second of this stride and padding: the first makes that many rows in a turn, and from `lead` on. */
static enum morsel_error check_pair(uint32_t stride, uint32_t pad, uint32_t scale, int32_t lead) {
    set_up(2);
    blob.pools[1].window.stride_h = stride;
    blob.pools[1].window.pad_top = pad;
    blob.steps[0].stage_scale = scale;
    blob.steps[0].stage_lead = lead;
    blob.tensors[1].ring_rows = 8 * MOST;
    return check();
}

static void scales_and_leads_have_limits(void **state) {
    (void)state;
    assert_int_equal(check_pair(MOST, 0, MOST, 0), MORSEL_OK);
    assert_int_equal(check_pair(MOST + 1, 0, MOST + 1, 0), MORSEL_ERR_PLAN);
    assert_int_equal(check_pair(0, 0, 0, 1), MORSEL_ERR_PLAN);
    assert_int_equal(check_pair(1, MOST, 1, -MOST), MORSEL_OK);
    assert_int_equal(check_pair(1, MOST + 1, 1, -MOST - 1), MORSEL_ERR_PLAN);
    assert_int_equal(check_pair(1, 0, 1, MOST), MORSEL_OK);
    assert_int_equal(check_pair(1, 0, 1, MOST + 1), MORSEL_ERR_PLAN);
}

/* scale * (height + strip) + 2 * MOST is an int32. */
static void row_numbers_stay_in_int32(void **state) {
    (void)state;
    set_up(2);
    for (uint32_t more = 0; more < 2; more++) {
        blob.tensors[2].dims[1] = INT32_MAX - 2 * MOST - 1 + more;
        assert_int_equal(check(), more ? MORSEL_ERR_PLAN : MORSEL_OK);
    }
}

static void inputs_are_there_before_the_group_or_come_in_rings(void **state) {
    (void)state;
    /* Something whole that says it comes from the group's first step. */
    REFUSED(3, blob.tensors[0].first_step = 0);
    /* A ring that nobody reads, or someone behind the group. */
    REFUSED(3, blob.tensors[1].last_step = MORSEL_STEP_BEFORE);
    REFUSED(3, blob.tensors[1].last_step = 3);
    /* A ring that the step itself writes. */
    REFUSED(3, blob.operands[2] = 2);
    /* A ring of another group, which says that nobody there reads it later. */
    set_up(4);
    blob.header.groups.count = 2;
    set_group(1, 0, 2);
    set_group(2, 2, 2);
    blob.operands[4] = 1;
    assert_int_equal(check(), MORSEL_ERR_PLAN);
}

static void rings_are_written_by_steps(void **state) {
    (void)state;
    set_up(2);
    blob.tensors[0].ring_rows = 4;
    blob.operands[0] = 3; /* so that nobody reads it */
    blob.tensors[3] = blob.tensors[2];
    blob.tensors[3].first_step = MORSEL_STEP_BEFORE;
    blob.tensors[0].first_step = 2;
    blob.steps[2].group = 1;
    assert_int_equal(check(), MORSEL_ERR_PLAN);
}

static const struct morsel_blob_unary plain = {.op = MORSEL_UNARY_IDENTITY, .count = 8 * 4 * 16, .channels = 1};

/* Rows of a function of one value, with one number of its input changed. */
#define ROWS_OF(...) \
    do { \
        set_up(2); \
        memcpy(blob.pools, &plain, sizeof plain); \
        blob.steps[0].kind = MORSEL_STEP_UNARY; \
        __VA_ARGS__; \
        rows = morsel_check_rows(&model, &blob.steps[0]); \
    } while (0)

static void rows_that_stay_are_those_of_one_picture(void **state) {
    (void)state;
    int rows;
    ROWS_OF((void)0);
    assert_true(rows);
    ROWS_OF(blob.tensors[0].rank = 3);
    assert_false(rows);
    ROWS_OF(blob.tensors[0].place = 1);
    assert_false(rows);
    for (int k = 0; k < 4; k++) {
        ROWS_OF(blob.tensors[0].dims[k] += 1);
        assert_false(rows);
    }
}

static void all_that_is_added_has_the_rows_of_the_sum(void **state) {
    (void)state;
    for (uint32_t other = 0; other < 2; other++) {
        set_up(3);
        set_sum(0, other ? 3 : 0, other ? 0 : 3);
        assert_true(morsel_check_rows(&model, &blob.steps[0]));
        blob.tensors[3].dims[1] = 1;
        assert_false(morsel_check_rows(&model, &blob.steps[0]));
    }
}

/* Tensor 3 is there before the group, whose last step adds it. */
static void an_output_lies_over_one_input_at_most(void **state) {
    (void)state;
    for (uint32_t over = 0; over < 4; over++) {
        set_up(2);
        set_sum(1, 1, 3);
        blob.tensors[3] = blob.tensors[0];
        blob.tensors[0].offset = over & 1 ? blob.tensors[2].offset : 0;
        blob.tensors[3].offset = over & 2 ? blob.tensors[2].offset : 65536 * 3;
        assert_int_equal(check(), over == 3 ? MORSEL_ERR_PLAN : MORSEL_OK);
    }
}

/* Whether the output of two steps may begin `lead` bytes before their input. The pools make turns of a row of 64 bytes. */
#define TRAILS(lead, ...) (set_up(2), blob.tensors[0].offset = 65536 * 2 + (lead), __VA_ARGS__, trails())
static int trails(void) {
    return morsel_check_trails(&desk, &blob.groups[0], &blob.tensors[0], &blob.tensors[2]);
}

static void outputs_trail_behind_pictures_that_nobody_reads_again(void **state) {
    (void)state;
    assert_true(TRAILS(0, (void)0));
    assert_false(TRAILS(-64, (void)0));
    assert_false(TRAILS(0, blob.tensors[0].rank = 3));
    assert_false(TRAILS(0, blob.tensors[0].dims[0] = 2));
    assert_false(TRAILS(0, blob.tensors[0].ring_rows = 1));
    assert_true(TRAILS(0, blob.tensors[0].last_step = 1));
    assert_false(TRAILS(0, blob.tensors[0].last_step = 2));
    assert_false(TRAILS(0, blob.tensors[0].last_step = MORSEL_STEP_BEFORE));
    assert_false(TRAILS(0, blob.operands[3] = 1)); /* it is not the output */
}

/* The last step reads the input, too. */
static void the_last_step_reads_and_writes_element_by_element(void **state) {
    (void)state;
    struct morsel_blob_tensor *x = &blob.tensors[0];
    assert_true(TRAILS(0, set_sum(1, 1, 0)));
    assert_true(TRAILS(0, set_sum(1, 0, 1)));
    assert_false(TRAILS(64, set_sum(1, 1, 0)));
    assert_false(TRAILS(64, set_sum(1, 0, 1)));
    assert_false(TRAILS(0, set_sum(1, 1, 0), x->type = MORSEL_FLOAT32, x->bytes *= 4)); /* lower rows of a larger picture */
    assert_false(TRAILS(0, blob.operands[2] = 0));                                      /* a pool reads beside its place */
}

/* Rows of x are of 128 bytes, those of the output of 64. The first three turns read none that is gone in the end. */
static void the_last_turn_before_rows_go_counts(void **state) {
    (void)state;
    for (uint32_t lead = 0; lead <= 256; lead += 64)
        assert_int_equal(TRAILS(lead, blob.steps[0].stage_lead = -3, blob.tensors[0].dims[3] = 32), lead >= 3 * 64);
    for (uint32_t lead = 0; lead <= 256; lead += 64) /* by padding */
        assert_int_equal(TRAILS(lead, blob.pools[0].window.pad_top = 3, blob.tensors[0].dims[3] = 32), lead >= 3 * 64);
}

/* Row 2^34 of rows of 2^30 bytes: the product leaves 64 bits. */
static void rows_far_behind_every_output_are_no_question(void **state) {
    (void)state;
    assert_true(TRAILS(-64, blob.tensors[0].dims[2] = 1 << 26, blob.tensors[2].dims[1] = 5, blob.steps[0].stage_scale = MOST,
                       blob.pools[0].window.stride_h = MOST));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_have_two_steps_or_some_more),
        cmocka_unit_test(groups_stand_in_the_order_of_their_steps),
        cmocka_unit_test(stages_make_pictures_of_their_group),
        cmocka_unit_test(scales_and_leads_have_limits),
        cmocka_unit_test(row_numbers_stay_in_int32),
        cmocka_unit_test(inputs_are_there_before_the_group_or_come_in_rings),
        cmocka_unit_test(rings_are_written_by_steps),
        cmocka_unit_test(rows_that_stay_are_those_of_one_picture),
        cmocka_unit_test(all_that_is_added_has_the_rows_of_the_sum),
        cmocka_unit_test(an_output_lies_over_one_input_at_most),
        cmocka_unit_test(outputs_trail_behind_pictures_that_nobody_reads_again),
        cmocka_unit_test(the_last_step_reads_and_writes_element_by_element),
        cmocka_unit_test(the_last_turn_before_rows_go_counts),
        cmocka_unit_test(rows_far_behind_every_output_are_no_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
