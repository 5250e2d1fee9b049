/* SPDX-License-Identifier: MIT */
/* The table of step kinds: every row is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/kind.h"

static void every_kind_has_its_row(void **state) {
    (void)state;
    for (uint32_t k = 1; k < MORSEL_STEP_KIND_COUNT; k++) {
        const struct morsel_kind *kind = morsel_kinds[k];
        if (!kind->name[0] || !kind->x_types || !kind->y_types || !kind->record || !kind->check || !kind->prepare || !kind->work ||
            !kind->kernels)
            fail_msg("kind %u", k);
        assert_int_equal(kind->record % 4, 0);
        assert_int_equal(kind->record_input % 4, 0);
        assert_true(kind->record_input || kind->inputs);
        assert_true(kind->sums + (kind->sums ? sizeof(struct morsel_blob_sums) : 0) <= kind->record);
    }
}

static void what_runs_a_kind_fits_its_rows(void **state) {
    (void)state;
    for (uint32_t k = 1; k < MORSEL_STEP_KIND_COUNT; k++) {
        const struct morsel_kind *kind = morsel_kinds[k];
        int same = kind->rows == MORSEL_ROWS_SAME;
        if ((kind->run_rows != NULL) != morsel_kind_windows(k) || (kind->run == NULL) != morsel_kind_windows(k)) fail_msg("%s", kind->name);
        if ((kind->point != NULL) != same || (kind->period != NULL) != same) fail_msg("%s", kind->name);
        assert_true(!morsel_kind_windows(k) || kind->record >= sizeof(struct morsel_blob_window));
    }
}

static void names_are_told_apart(void **state) {
    (void)state;
    assert_null(morsel_kinds[0]);
    for (uint32_t k = 1; k < MORSEL_STEP_KIND_COUNT; k++)
        for (uint32_t j = 1; j < k; j++) assert_string_not_equal(morsel_kinds[k]->name, morsel_kinds[j]->name);
}

static void rows_of_a_window_reach_as_far_as_its_dilation(void **state) {
    (void)state;
    const struct morsel_blob_conv conv = {.window = {.kernel_h = 3, .stride_h = 2, .dilation_h = 4, .pad_top = 1}};
    struct morsel_reach reach = morsel_kind_reach(MORSEL_STEP_CONV, &conv);
    assert_int_equal(reach.stride, 2);
    assert_int_equal(reach.window, 9);
    assert_int_equal(reach.pad, 1);
    const struct morsel_blob_unary unary = {.channels = 6};
    reach = morsel_kind_reach(MORSEL_STEP_UNARY, &unary);
    assert_int_equal(reach.stride, 1);
    assert_int_equal(reach.window, 1);
    assert_int_equal(reach.pad, 0);
}

static void constants_repeat_within_a_row_of_a_group(void **state) {
    (void)state;
    const struct morsel_blob_unary unary = {.channels = 6};
    const struct morsel_blob_lut lut = {.channels = 4, .inner = 3}, huge = {.channels = 1u << 31, .inner = 1u << 31};
    struct morsel_blob_binary binary = {.rank = 2, .dims = {4, 6}, .a_stride = {6, 1}, .b_stride = {6, 1}};
    const struct morsel_blob_pool pool = {.window = {.kernel_h = 2}};
    assert_true(morsel_kind_streams(MORSEL_STEP_UNARY, &unary, 1, 12));
    assert_false(morsel_kind_streams(MORSEL_STEP_UNARY, &unary, 1, 8));
    assert_true(morsel_kind_streams(MORSEL_STEP_LUT, &lut, 1, 24));
    assert_false(morsel_kind_streams(MORSEL_STEP_LUT, &lut, 1, 18));
    assert_false(morsel_kind_streams(MORSEL_STEP_LUT, &huge, 1, 16));
    assert_true(morsel_kind_streams(MORSEL_STEP_BINARY, &binary, 2, 6));
    binary.b_stride[0] = 0;
    assert_false(morsel_kind_streams(MORSEL_STEP_BINARY, &binary, 2, 6));
    assert_true(morsel_kind_streams(MORSEL_STEP_MAX_POOL, &pool, 1, 6));
    assert_false(morsel_kind_streams(MORSEL_STEP_AVERAGE_POOL, &pool, 1, 6));
    assert_false(morsel_kind_streams(MORSEL_STEP_FC, &pool, 1, 6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_row),
        cmocka_unit_test(what_runs_a_kind_fits_its_rows),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(rows_of_a_window_reach_as_far_as_its_dilation),
        cmocka_unit_test(constants_repeat_within_a_row_of_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
