/* SPDX-License-Identifier: MIT */
/* The order of running, slices of the arena and groups, rule by rule: what opens, and what is refused and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/damaged.h"

#define OPERAND(step, n) INT_AT(b.header->operands.offset, b.steps[step].first_operand + (n))

/* The damage must give `error`, in part `which` with this number. */
#define BLAMED(error, which, number, ...) \
    do { \
        struct blob b = sample(); \
        struct morsel_model model; \
        uint32_t index = 99; \
        __VA_ARGS__; \
        enum morsel_error got = morsel_open(&model, b.bytes, b.count, MORSEL_SKIP_CHECKSUM); \
        enum morsel_part part = morsel_open_part(&model, &index); \
        if (got != (error) || part != (which) || index != (number)) \
            fail_msg("%s: %s, part %u, number %u", #__VA_ARGS__, morsel_error_text(got), (unsigned)part, index); \
        free(b.bytes); \
    } while (0)

#define ORDER(which, number, ...) BLAMED(MORSEL_ERR_ORDER, MORSEL_PART_##which, number, __VA_ARGS__)

/* --- Order --- */

/* Nobody reads what the last step writes. */
static void without_readers(struct blob *b) {
    b->header->outputs.count = 1;
    b->tensors[T_MATMUL].last_step = S_MATMUL;
}

static void tensors_live_from_their_writer_on(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_OK, without_readers(&b));
    ORDER(TENSOR, T_MATMUL, without_readers(&b), b.tensors[T_MATMUL].last_step = S_MATMUL - 1);
    ORDER(TENSOR, T_MATMUL, b.tensors[T_MATMUL].last_step = S_COUNT + 1);
    ORDER(TENSOR, T_MATMUL, without_readers(&b), b.tensors[T_MATMUL].last_step = MORSEL_STEP_BEFORE);
    ORDER(TENSOR, T_LUT, b.tensors[T_LUT].first_step = S_ADD);
    ORDER(TENSOR, T_LUT, b.tensors[T_LUT].first_step = MORSEL_STEP_BEFORE);
    ORDER(TENSOR, T_CONSTANT, b.tensors[T_CONSTANT].first_step = 0);
    ORDER(TENSOR, T_IN, b.inputs[0].tensor = T_CONV);
}

/* Behind the last step stands what would pass for one that writes the tensor. */
static void only_steps_write(void **state) {
    (void)state;
    struct morsel_blob_step *behind;
    ORDER(TENSOR, T_MATMUL, behind = &b.steps[S_COUNT], behind->first_operand = b.steps[S_MATMUL].first_operand + 2,
          behind->input_count = 0, b.tensors[T_MATMUL].first_step = S_COUNT);
}

static void steps_read_what_is_alive(void **state) {
    (void)state;
    ORDER(STEP, S_ADD, OPERAND(S_ADD, 0) = T_ADD);
    ORDER(STEP, S_ADD, OPERAND(S_ADD, 1) = T_ADD);
    ORDER(STEP, S_LUT, OPERAND(S_LUT, 0) = T_ADD);
    ORDER(STEP, S_DEPTHWISE, b.tensors[T_CONV].last_step = S_CONV);
    ORDER(STEP, S_LUT, OPERAND(S_LUT, 1) = T_AVERAGE, b.tensors[T_LUT].place = 1, b.tensors[T_LUT].offset = b.spare,
          b.tensors[T_LUT].first_step = MORSEL_STEP_BEFORE);
}

static void inputs_stand_before_and_outputs_behind_the_steps(void **state) {
    (void)state;
    struct morsel_blob_io *ins;
    ORDER(INPUT, 1, ins = (struct morsel_blob_io *)(void *)(b.bytes + b.spare), ins[0] = ins[1] = b.inputs[0], ins[1].tensor = T_CONV,
          b.header->inputs = (struct morsel_blob_section){b.spare, 2});
    ORDER(OUTPUT, 0, b.tensors[T_FLOAT].last_step = S_MATMUL);
    ORDER(OUTPUT, 1, b.tensors[T_MATMUL].last_step = S_MATMUL);
}

/* --- Slices --- */

/* What makes y of x: copies it, adds a number, goes along its lines, or takes means of single elements. */
static void pair_step(struct builder *b, enum morsel_step_kind kind, uint32_t from, uint32_t to) {
    struct morsel_blob_unary copy = {MORSEL_UNARY_IDENTITY, 128, 0, 0, 1, 0, 0};
    struct morsel_blob_binary sum = {MORSEL_BINARY_ADD, 2, {2, 64, 1, 1, 1, 1}, {0, 1}, {64, 1}, 1, 1, 0, 0, 255, -1, 1};
    struct morsel_blob_softmax softmax = {2, 64, 1, 0};
    struct morsel_blob_layer_norm norm = {.lines = 2, .count = 64, .epsilon = 1, .out_max = 255, .float_min = -1, .float_max = 1};
    struct morsel_blob_mean mean = {128, 1, 1, 1, 0, 255};
    uint32_t both[2] = {from, from};
    switch (kind) {
    case MORSEL_STEP_BINARY:
        both[1] = builder_constant(b, MORSEL_UINT8, 2, (uint32_t[]){2, 64}, 1, 0, (uint8_t[128]){0});
        builder_step(b, kind, both, 2, to, &sum, sizeof sum, 0);
        break;
    case MORSEL_STEP_SOFTMAX: builder_step(b, kind, &from, 1, to, &softmax, sizeof softmax, 0); break;
    case MORSEL_STEP_LAYER_NORM: builder_step(b, kind, &from, 1, to, &norm, sizeof norm, 0); break;
    case MORSEL_STEP_MEAN: builder_step(b, kind, &from, 1, to, &mean, sizeof mean, 0); break;
    default: builder_step(b, kind, &from, 1, to, &copy, sizeof copy, 0);
    }
}

/* x and its result of 128 bytes, or with `wide` of 512; x has the lower number, or with `late` the higher. */
static uint8_t *make_pair(int late, int wide, enum morsel_step_kind kind, uint32_t *count, struct morsel_blob_tensor **x,
                          struct morsel_blob_tensor **y) {
    struct builder b;
    builder_start(&b);
    for (int i = 0; i < 2; i++) builder_tensor(&b, wide && i != late ? MORSEL_FLOAT32 : MORSEL_UINT8, 2, (uint32_t[]){2, 64}, 1, 0);
    uint32_t from = late ? 1 : 0, to = 1 - from;
    pair_step(&b, kind, from, to);
    builder_data(&b, "", 1);
    builder_input(&b, from, "x");
    builder_output(&b, to, "y");
    uint8_t *blob = builder_finish(&b, count);
    *x = (struct morsel_blob_tensor *)(void *)(blob + ((struct morsel_blob_header *)(void *)blob)->tensors.offset) + from;
    *y = *x + to - from;
    return blob;
}

static enum morsel_error open_pair(int late, int wide, enum morsel_step_kind kind, uint32_t version, int32_t ahead) {
    struct morsel_blob_tensor *x, *y;
    struct morsel_model model;
    uint32_t count;
    uint8_t *blob = make_pair(late, wide, kind, &count, &x, &y);
    if (version) ((struct morsel_blob_header *)(void *)blob)->format_version = version;
    assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    x->offset = 1024;
    y->offset = (uint32_t)(1024 + ahead);
    ((struct morsel_blob_header *)(void *)blob)->arena_bytes = 4096;
    enum morsel_error error = morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM);
    free(blob);
    return error;
}

/* Element by element or along lines, from the same byte on, as many bytes, and every element of x once. */
static void a_result_covers_its_operand_or_nothing(void **state) {
    (void)state;
    for (int late = 0; late < 2; late++) {
        for (int32_t ahead = -256; ahead <= 256; ahead += 64) {
            int apart = ahead >= 128 || ahead <= -128;
            const enum morsel_error same = apart || !ahead ? MORSEL_OK : MORSEL_ERR_PLAN, other = apart ? MORSEL_OK : MORSEL_ERR_PLAN;
            assert_int_equal(open_pair(late, 0, MORSEL_STEP_UNARY, 1, ahead), same);
            assert_int_equal(open_pair(late, 0, MORSEL_STEP_BINARY, 1, ahead), other);
            assert_int_equal(open_pair(late, 0, MORSEL_STEP_LAYER_NORM, 2, ahead), same);
            assert_int_equal(open_pair(late, 0, MORSEL_STEP_SOFTMAX, 2, ahead), same);
            assert_int_equal(open_pair(late, 0, MORSEL_STEP_SOFTMAX, 1, ahead), other);
            assert_int_equal(open_pair(late, 0, MORSEL_STEP_MEAN, 2, ahead), other);
        }
        for (int32_t ahead = -576; ahead <= 192; ahead += 64) {
            int apart = ahead >= 128 || ahead <= -512;
            assert_int_equal(open_pair(late, 1, MORSEL_STEP_UNARY, 1, ahead), apart ? MORSEL_OK : MORSEL_ERR_PLAN);
        }
    }
}

/* Inputs that nobody reads are there at time 0 all the same, and there only. */
static void unread_inputs_lie_apart(void **state) {
    (void)state;
    for (int shift = 0; shift <= 64; shift += 64) {
        struct builder b;
        struct morsel_model model;
        uint32_t count;
        static const uint8_t table[256];
        builder_start(&b);
        for (int i = 0; i < 4; i++) builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 64}, 1, 0);
        struct morsel_blob_lut lut = {64, 1, 1, builder_data(&b, table, 256)};
        builder_step(&b, MORSEL_STEP_LUT, (uint32_t[]){2}, 1, 3, &lut, sizeof lut, 0);
        for (int i = 0; i < 3; i++) {
            builder_input(&b, (uint32_t)i, "x");
            b.tensors[i].first_step = MORSEL_STEP_BEFORE;
            if (i < 2) b.tensors[i].last_step = MORSEL_STEP_BEFORE;
        }
        builder_output(&b, 3, "y");
        uint8_t *blob = builder_finish(&b, &count);
        struct morsel_blob_tensor *t = (void *)(blob + ((struct morsel_blob_header *)(void *)blob)->tensors.offset);
        t[1].offset = t[0].offset + (uint32_t)shift;
        assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), shift ? MORSEL_OK : MORSEL_ERR_PLAN);
        t[1].offset = t[3].offset; /* which is written later */
        assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
        free(blob);
    }
}

static void scratch_lies_apart_from_what_is_alive(void **state) {
    (void)state;
    DAMAGED(MORSEL_OK, b.steps[S_LUT].scratch_offset = b.tensors[T_LUT].offset + 8); /* no bytes */
    DAMAGED(MORSEL_OK, b.steps[S_LUT].scratch_offset = 1);
    DAMAGED(MORSEL_OK, b.steps[S_CONV].scratch_offset = b.header->steps.count * MORSEL_FORMAT_STEP_SLOT, b.header->arena_bytes += 64,
            b.tensors[T_IN].offset = b.header->arena_bytes - 64);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = b.header->steps.count * MORSEL_FORMAT_STEP_SLOT - 64);
    DAMAGED(MORSEL_OK, b.steps[S_CONV].scratch_bytes = 64, b.steps[S_CONV].scratch_offset = b.header->arena_bytes - 64);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_bytes = 65, b.steps[S_CONV].scratch_offset = b.header->arena_bytes - 64);
    for (uint32_t by = 1; by < 64; by++) DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset -= by);
    /* One step later or earlier each: T_MAX is written by the third step, T_CONV read last by the second. */
    DAMAGED(MORSEL_OK, b.steps[S_DEPTHWISE].scratch_offset = b.tensors[T_MAX].offset);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].scratch_offset = b.tensors[T_DEPTHWISE].offset);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].scratch_offset = b.tensors[T_CONV].offset);
    DAMAGED(MORSEL_OK, b.steps[S_DEPTHWISE].scratch_offset = b.tensors[T_IN].offset);
    DAMAGED(MORSEL_OK, b.steps[S_DEPTHWISE].scratch_offset = b.steps[S_CONV].scratch_offset);
}

/* A tensor behind the last one would be in the way. */
static void only_tensors_are_in_the_way(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_blob_tensor *tensors = (void *)(b.bytes + b.spare);
    memcpy(tensors, b.tensors, T_COUNT * sizeof *tensors);
    tensors[T_COUNT] = tensors[T_IN];
    tensors[T_COUNT].offset = b.steps[S_CONV].scratch_offset;
    b.header->tensors.offset = b.spare;
    assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    free(b.bytes);
}

/* --- Groups --- */

/* The first two steps in turns of `strip` rows. Both have windows of 3 x 3 with a padding of 1: a lead of 1, and 3 rows of a ring. */
static struct morsel_blob_group *group_two(struct blob *b, uint32_t strip) {
    struct morsel_blob_group *groups = (void *)(b->bytes + b->spare);
    groups[0] = (struct morsel_blob_group){S_CONV, 2, strip};
    b->header->groups = (struct morsel_blob_section){b->spare, 1};
    for (uint32_t i = 0; i < 2; i++) b->steps[i].group = b->steps[i].stage_scale = 1;
    b->steps[S_CONV].stage_lead = 1;
    b->tensors[T_CONV].ring_rows = strip == 1 ? 3 : 4;
    return groups;
}

#define GROUPED(error, ...) DAMAGED(error, struct morsel_blob_group *g = group_two(&b, 1); (void)g; __VA_ARGS__)

static void rings_hold_what_is_read(void **state) {
    (void)state;
    GROUPED(MORSEL_OK, (void)0);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_CONV].ring_rows = 2);
    GROUPED(MORSEL_OK, b.tensors[T_CONV].ring_rows = 4);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_CONV].ring_rows = 0);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_CONV].stage_lead = 0);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_CONV].stage_lead = 2); /* a row too early for a ring of three */
    GROUPED(MORSEL_OK, b.steps[S_CONV].stage_lead = 2, b.tensors[T_CONV].ring_rows = 4);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_CONV].stage_scale = 2);
    GROUPED(MORSEL_OK, g->strip_rows = 3, b.tensors[T_CONV].ring_rows = 4);
    GROUPED(MORSEL_ERR_PLAN, g->strip_rows = 2);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_DEPTHWISE].ring_rows = 4); /* the last is whole */
}

static void stages_have_limits(void **state) {
    (void)state;
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].stage_scale = 2, b.steps[S_CONV].stage_scale = 2);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].stage_scale = 0, b.steps[S_CONV].stage_scale = 0);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].stage_lead = 1, b.steps[S_CONV].stage_lead = 2, b.tensors[T_CONV].ring_rows = 4);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].stage_lead = -1, b.steps[S_CONV].stage_lead = 1, b.tensors[T_CONV].ring_rows = 4);
    GROUPED(MORSEL_OK, b.tensors[T_CONV].ring_rows = 4, b.steps[S_CONV].stage_lead = 65536);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_CONV].ring_rows = 4, b.steps[S_CONV].stage_lead = 65537);
    GROUPED(MORSEL_OK, b.tensors[T_CONV].ring_rows = 4, g->strip_rows = 65536);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_CONV].ring_rows = 4, g->strip_rows = 65537);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_CONV].ring_rows = 4, g->strip_rows = 0);
}

static void steps_of_groups_are_counted_once(void **state) {
    (void)state;
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_MAX].group = 1);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_MAX].group = 2);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_MAX].stage_scale = 1);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_MAX].stage_lead = 1);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_CONV].group = 0, b.steps[S_CONV].stage_lead = 0, b.steps[S_CONV].stage_scale = 0);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].group = 2);
    GROUPED(MORSEL_ERR_PLAN, g->step_count = 1);
    GROUPED(MORSEL_ERR_PLAN, g->step_count = 3);
    GROUPED(MORSEL_ERR_PLAN, g->step_count = S_COUNT);
    GROUPED(MORSEL_ERR_PLAN, g->step_count = 33);
    GROUPED(MORSEL_ERR_PLAN, g->first_step = 1);
    GROUPED(MORSEL_ERR_PLAN, g->first_step = 0xffffffff);
    GROUPED(MORSEL_ERR_PLAN, g[1] = g[0], b.header->groups.count = 2);
    GROUPED(MORSEL_ERR_PLAN, b.header->groups.count = 0);
}

/* Tables over tensors of rank 2. */
static void groups_are_of_pictures(void **state) {
    (void)state;
    struct morsel_blob_group *groups;
    DAMAGED(MORSEL_ERR_PLAN, groups = (struct morsel_blob_group *)(void *)(b.bytes + b.spare), groups[0].first_step = S_LUT,
            groups[0].step_count = 2, groups[0].strip_rows = 1, b.header->groups = (struct morsel_blob_section){b.spare, 1},
            b.steps[S_LUT].group = b.steps[S_ADD].group = 1, b.steps[S_LUT].stage_scale = b.steps[S_ADD].stage_scale = 1);
}

static void rings_are_of_their_group(void **state) {
    (void)state;
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_MAX].ring_rows = 2); /* of no group */
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_IN].ring_rows = 4);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_CONV].last_step = S_MAX);
    GROUPED(MORSEL_OK, b.tensors[T_CONV].last_step = S_DEPTHWISE);
}

static void scratch_of_a_group_lies_apart(void **state) {
    (void)state;
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].scratch_offset = b.steps[S_CONV].scratch_offset);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_DEPTHWISE].scratch_offset = b.tensors[T_IN].offset);
    GROUPED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = b.tensors[T_DEPTHWISE].offset);
    GROUPED(MORSEL_OK, b.steps[S_CONV].scratch_offset = b.tensors[T_MAX].offset);
}

/* All that a group touches is alive from its first step to its last. */
static void slices_of_a_group_lie_apart(void **state) {
    (void)state;
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_CONV].offset = b.tensors[T_DEPTHWISE].offset);
    GROUPED(MORSEL_OK, b.tensors[T_DEPTHWISE].offset = b.tensors[T_IN].offset); /* behind what is still read */
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_DEPTHWISE].offset = b.tensors[T_IN].offset, b.tensors[T_IN].last_step = S_MAX);
    GROUPED(MORSEL_ERR_PLAN, b.tensors[T_DEPTHWISE].offset = b.tensors[T_IN].offset, b.tensors[T_IN].last_step = S_COUNT);
    GROUPED(MORSEL_OK, b.tensors[T_MAX].offset = b.tensors[T_IN].offset);
    GROUPED(MORSEL_OK, b.tensors[T_MAX].offset = b.tensors[T_CONV].offset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_live_from_their_writer_on),
        cmocka_unit_test(only_steps_write),
        cmocka_unit_test(steps_read_what_is_alive),
        cmocka_unit_test(inputs_stand_before_and_outputs_behind_the_steps),
        cmocka_unit_test(a_result_covers_its_operand_or_nothing),
        cmocka_unit_test(unread_inputs_lie_apart),
        cmocka_unit_test(scratch_lies_apart_from_what_is_alive),
        cmocka_unit_test(only_tensors_are_in_the_way),
        cmocka_unit_test(rings_hold_what_is_read),
        cmocka_unit_test(stages_have_limits),
        cmocka_unit_test(steps_of_groups_are_counted_once),
        cmocka_unit_test(groups_are_of_pictures),
        cmocka_unit_test(rings_are_of_their_group),
        cmocka_unit_test(scratch_of_a_group_lies_apart),
        cmocka_unit_test(slices_of_a_group_lie_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
