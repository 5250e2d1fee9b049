/* SPDX-License-Identifier: MIT */
/* The frame of a blob at its limits: the last value that passes, and the first that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/damaged.h"

/* A count that passes is beyond the sections of a blob this small. */
static void counts_pass_up_to_their_limits(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_ERR_SECTION, b.header->tensors.count = MORSEL_FORMAT_MAX_TENSORS);
    MISSHAPEN(MORSEL_ERR_HEADER, b.header->tensors.count = MORSEL_FORMAT_MAX_TENSORS + 1);
    MISSHAPEN(MORSEL_ERR_SECTION, b.header->inputs.count = MORSEL_FORMAT_MAX_IO);
    MISSHAPEN(MORSEL_ERR_HEADER, b.header->inputs.count = MORSEL_FORMAT_MAX_IO + 1);
    MISSHAPEN(MORSEL_ERR_SECTION, b.header->outputs.count = MORSEL_FORMAT_MAX_IO);
    MISSHAPEN(MORSEL_ERR_HEADER, b.header->outputs.count = MORSEL_FORMAT_MAX_IO + 1);
    MISSHAPEN(MORSEL_ERR_SECTION, b.header->groups.count = S_COUNT);
    MISSHAPEN(MORSEL_ERR_HEADER, b.header->groups.count = S_COUNT + 1);
    MISSHAPEN(MORSEL_ERR_STRING, b.header->strings.count = 1);
    MISSHAPEN(MORSEL_OK, b.header->outputs.count = 1, b.tensors[T_MATMUL].last_step = S_MATMUL);
}

static void a_blob_may_have_one_tensor_and_no_step(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_OK, b.header->tensors.count = 1, b.header->steps.count = 0, b.header->outputs.count = 1, b.outputs[0] = b.inputs[0],
              b.tensors[0].last_step = 0);
    MISSHAPEN(MORSEL_ERR_ORDER, b.header->tensors.count = 1, b.header->steps.count = 0, b.header->outputs.count = 1,
              b.outputs[0] = b.inputs[0], b.tensors[0].last_step = 1);
}

/* With an arena for as many steps, and none less. */
static void an_arena_holds_a_slot_for_each_step(void **state) {
    (void)state;
    const uint32_t slots = MORSEL_FORMAT_MAX_STEPS * MORSEL_FORMAT_STEP_SLOT, largest = 0x7fffffc0;
    MISSHAPEN(MORSEL_ERR_SECTION, b.header->steps.count = MORSEL_FORMAT_MAX_STEPS, b.header->arena_bytes = slots);
    MISSHAPEN(MORSEL_ERR_HEADER, b.header->steps.count = MORSEL_FORMAT_MAX_STEPS, b.header->arena_bytes = slots - 64);
    MISSHAPEN(MORSEL_ERR_HEADER, b.header->steps.count = MORSEL_FORMAT_MAX_STEPS + 1, b.header->arena_bytes = largest);
    MISSHAPEN(MORSEL_OK, b.header->arena_bytes = largest);
    MISSHAPEN(MORSEL_ERR_HEADER, b.header->arena_bytes = 0x80000000);
    for (uint32_t part = 1; part < MORSEL_FORMAT_ALIGN; part++) MISSHAPEN(MORSEL_ERR_HEADER, b.header->arena_bytes += part);
}

/* Nothing behind the sections is read: the buffer may be said to be as long as a blob can be. */
static void blobs_are_as_large_as_the_header_or_31_bits(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    const size_t huge = 0x80000000u;
    b.header->blob_bytes = 0x7fffffff;
    assert_int_equal(morsel_open(&model, b.bytes, huge, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    b.header->blob_bytes = 0x80000000;
    assert_int_equal(morsel_open(&model, b.bytes, huge, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_HEADER);
    b.header->blob_bytes = MORSEL_FORMAT_HEADER_1;
    assert_int_equal(morsel_open(&model, b.bytes, b.count, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_SECTION);
    assert_int_equal(morsel_open(&model, b.bytes, MORSEL_FORMAT_HEADER_1, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_SECTION);
    b.header->blob_bytes = MORSEL_FORMAT_HEADER_1 - 1;
    assert_int_equal(morsel_open(&model, b.bytes, b.count, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_HEADER);
    assert_int_equal(morsel_open(&model, b.bytes, MORSEL_FORMAT_HEADER_1 - 1, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_TRUNCATED);
    free(b.bytes);
}

static void addresses_are_multiples_of_64(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    uint8_t *room = builder_aligned(b.count + 64);
    for (uint32_t by = 0; by <= 64; by++) {
        memcpy(room + by, b.bytes, b.count);
        assert_int_equal(morsel_open(&model, room + by, b.count, 0), by % 64 ? MORSEL_ERR_ALIGNMENT : MORSEL_OK);
    }
    free(room);
    free(b.bytes);
}

/* Section `index` of the header, and the bytes of its records. */
static struct morsel_blob_section *section(const struct blob *b, uint32_t index, uint32_t *record) {
    static const uint32_t records[] = {sizeof(struct morsel_blob_tensor),
                                       4,
                                       sizeof(struct morsel_blob_step),
                                       sizeof(struct morsel_blob_group),
                                       4,
                                       sizeof(struct morsel_blob_io),
                                       sizeof(struct morsel_blob_io),
                                       sizeof(struct morsel_blob_picture),
                                       4,
                                       1,
                                       1};
    *record = records[index];
    return &b->header->tensors + index;
}

enum { SECTIONS = 11 };

/* Moved to the blob's last bytes, with as many records as fit, and one more. What they hold there is another question. */
static void sections_end_within_the_blob(void **state) {
    (void)state;
    for (uint32_t i = 0; i < SECTIONS; i++) {
        struct blob b = sample();
        uint32_t record;
        struct morsel_blob_section *s = section(&b, i, &record);
        int one = s == &b.header->picture; /* there is one at most, and the blob ends behind it */
        s->offset = b.header->blob_bytes - 128;
        s->count = one ? 1 : 128 / record;
        if (one) {
            b.header->blob_bytes = s->offset + record;
            b.header->labels.count = 0;
            b.header->strings = (struct morsel_blob_section){b.spare, 1};
        }
        assert_int_not_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_SECTION);
        if (one) b.header->blob_bytes--;
        else s->count++;
        assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_SECTION);
        free(b.bytes);
    }
}

/* Behind the header, at multiples of 64. */
static void sections_begin_behind_the_header(void **state) {
    (void)state;
    for (uint32_t i = 0; i < SECTIONS; i++) {
        struct blob b = sample();
        uint32_t record;
        struct morsel_blob_section *s = section(&b, i, &record);
        if (!s->count) s->count = 1; /* groups */
        for (uint32_t offset = 0; offset <= 192; offset += 4) {
            s->offset = offset;
            if (offset < MORSEL_FORMAT_HEADER_1 || offset % 64) assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_SECTION);
            else assert_int_not_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_SECTION);
        }
        free(b.bytes);
    }
}

static void an_empty_section_may_stand_anywhere(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_OK, b.header->labels = (struct morsel_blob_section){0, 0});
    MISSHAPEN(MORSEL_OK, b.header->labels = (struct morsel_blob_section){64, 0});
    MISSHAPEN(MORSEL_OK, b.header->labels = (struct morsel_blob_section){b.header->blob_bytes, 0});
    MISSHAPEN(MORSEL_ERR_SECTION, b.header->labels = (struct morsel_blob_section){b.header->blob_bytes + 64, 0});
    MISSHAPEN(MORSEL_ERR_SECTION, b.header->labels = (struct morsel_blob_section){32, 0});
}

static void the_first_and_the_last_record_are_looked_at(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_ERR_STRING, INT_AT(b.header->labels.offset, 0) = -1);
    MISSHAPEN(MORSEL_ERR_STRING, INT_AT(b.header->labels.offset, 1) = -1);
    MISSHAPEN(MORSEL_OK, INT_AT(b.header->labels.offset, 2) = -1); /* there are two */
    MISSHAPEN(MORSEL_ERR_TENSOR, b.tensors[0].type = 4);
    MISSHAPEN(MORSEL_ERR_TENSOR, b.tensors[T_COUNT - 1].type = 4);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[0].kind = 0);
    MISSHAPEN(MORSEL_ERR_STEP, b.steps[S_COUNT - 1].kind = 0);
}

enum { STEPS = 65, CHANNELS = 8192, EACH = 4 + 2 * 4 * CHANNELS };

/* Steps of an affine function of one element that read 8,192 scales and offsets each, and name one input. As long as a step reads. */
static uint8_t *make_readers(uint32_t steps) {
    struct builder b;
    uint32_t count;
    uint8_t *zeros = calloc(STEPS, 64 + 4 * CHANNELS);
    builder_start(&b);
    for (uint32_t i = 0; i <= steps; i++) builder_tensor(&b, MORSEL_FLOAT32, 1, (uint32_t[]){1}, 1, 0);
    uint32_t data = builder_data(&b, zeros, STEPS * 64 + 4 * CHANNELS);
    for (uint32_t i = 0; i < steps; i++) {
        struct morsel_blob_unary affine = {MORSEL_UNARY_AFFINE, 1, 0, 0, CHANNELS, data, data + 64 * i};
        builder_step(&b, MORSEL_STEP_UNARY, &i, 1, i + 1, &affine, sizeof affine, 0);
    }
    builder_input(&b, 0, "x");
    builder_output(&b, steps, "y");
    uint8_t *blob = builder_finish(&b, &count), *longer = builder_aligned(EACH);
    assert_true(count < EACH);
    memset(longer, 0, EACH);
    memcpy(longer, blob, count);
    free(blob);
    free(zeros);
    return longer;
}

/* 64 of them read 64 times as many bytes as there are, and the next has no more than its operand to ask for. */
static void all_that_is_read_is_counted(void **state) {
    (void)state;
    for (uint32_t more = 0; more < 2; more++)
        for (uint32_t less = 0; less < 2; less++) {
            struct morsel_model model;
            uint8_t *blob = make_readers(64 + more);
            ((struct morsel_blob_header *)(void *)blob)->blob_bytes = EACH - less;
            enum morsel_error want = less ? MORSEL_ERR_CONSTANT : more ? MORSEL_ERR_STEP : MORSEL_OK;
            assert_int_equal(morsel_open(&model, blob, EACH, MORSEL_SKIP_CHECKSUM), want);
            free(blob);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_pass_up_to_their_limits),
        cmocka_unit_test(a_blob_may_have_one_tensor_and_no_step),
        cmocka_unit_test(an_arena_holds_a_slot_for_each_step),
        cmocka_unit_test(blobs_are_as_large_as_the_header_or_31_bits),
        cmocka_unit_test(addresses_are_multiples_of_64),
        cmocka_unit_test(sections_end_within_the_blob),
        cmocka_unit_test(sections_begin_behind_the_header),
        cmocka_unit_test(an_empty_section_may_stand_anywhere),
        cmocka_unit_test(the_first_and_the_last_record_are_looked_at),
        cmocka_unit_test(all_that_is_read_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
