/* SPDX-License-Identifier: MIT */
/* Blobs with a damaged byte or some damaged words: what opens runs, within its arena. Sanitizers watch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/sample_blob.h"

#define INT_AT(offset, i) (((int32_t *)(void *)(b.bytes + (offset)))[i])

/* Opens the damaged blob without its checksum; where it opens, runs it. */
static void open_and_run(const struct blob *b) {
    struct morsel_model model;
    struct morsel_session session;
    if (morsel_open(&model, b->bytes, b->count, MORSEL_SKIP_CHECKSUM) != MORSEL_OK) return;
    if (morsel_arena_bytes(&model) > 1 << 20) return;
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    memset(arena, 0x5a, morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&session, &model, arena, morsel_arena_bytes(&model), NULL), MORSEL_OK);
    assert_int_equal(morsel_run(&session), MORSEL_OK);
    for (uint32_t i = 0; i < morsel_output_count(&model); i++) {
        struct morsel_view view;
        assert_int_equal(morsel_output(&session, i, &view), MORSEL_OK);
        float *values = malloc((size_t)view.bytes * 4);
        assert_int_equal(morsel_dequantize(&view, values, view.bytes), MORSEL_OK);
        assert_true(strlen(view.name) < b->count);
        free(values);
    }
    for (uint32_t i = 0; morsel_label(&model, i) && i < 100; i++) assert_true(strlen(morsel_label(&model, i)) < b->count);
    free(arena);
}

static void no_single_byte_can_do_harm(void **state) {
    (void)state;
    struct blob b = sample();
    const uint8_t masks[] = {0x01, 0x80, 0xff, 0x10};
    for (uint32_t i = 0; i < b.count; i++) {
        for (uint32_t m = 0; m < sizeof masks; m++) {
            b.bytes[i] ^= masks[m];
            open_and_run(&b);
            b.bytes[i] ^= masks[m];
        }
    }
    struct morsel_model model;
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 0), MORSEL_OK);
    free(b.bytes);
}

/* Several words at once take values that checks trip over. */
static void no_random_words_can_do_harm(void **state) {
    (void)state;
    uint32_t seed = 11;
    const uint32_t values[] = {0,          1,          2,          3,          63,         64,         128,       255,
                               0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0xffffffc0, 0x7fc00000, 0x7f800000};
    for (int round = 0; round < 20000; round++) {
        struct blob b = sample();
        for (uint32_t n = builder_between(&seed, 1, 3); n > 0; n--) {
            uint32_t word = builder_between(&seed, 5, b.count / 4 - 1), pick = builder_between(&seed, 0, 16);
            INT_AT(0, word) = pick < 15 ? (int32_t)values[pick] : (int32_t)builder_between(&seed, 0, 4000);
        }
        open_and_run(&b);
        free(b.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_single_byte_can_do_harm),
        cmocka_unit_test(no_random_words_can_do_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
