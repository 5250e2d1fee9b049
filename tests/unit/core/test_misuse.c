/* SPDX-License-Identifier: MIT */
/* Calls without what they need: an error each, and nothing is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "core/kind.h"
#include "core/call.h"
#include "core/check.h"
#include "core/picture.h"
#include "tests/unit/support/sample_blob.h"

#define REFUSED(call) assert_int_equal(call, MORSEL_ERR_ARGUMENT)

/* A session that is missing, empty, or half open. */
static void assert_no_session(struct morsel_session *s) {
    struct morsel_view view;
    struct morsel_step step;
    memset(&view, 0x5a, sizeof view);
    const struct morsel_view before = view;
    REFUSED(morsel_run(s));
    REFUSED(morsel_session_step(s, 0, &step));
    REFUSED(morsel_session_watch(s, NULL, NULL));
    if (s && s->model) return; /* views need no steps */
    REFUSED(morsel_input(s, 0, &view));
    REFUSED(morsel_output(s, 0, &view));
    REFUSED(morsel_input_named(s, "picture", &view));
    REFUSED(morsel_output_named(s, "scores", &view));
    assert_memory_equal(&view, &before, sizeof view);
}

static void sessions_that_are_none_are_refused(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    struct morsel_session none = {0};
    assert_no_session(NULL);
    assert_no_session(&none);
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 0), MORSEL_OK);
    none.model = &model;
    assert_no_session(&none);
    free(b.bytes);
}

static void sessions_refuse_what_is_not_theirs(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view view;
    struct morsel_step step;
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), NULL), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &view), MORSEL_OK);
    REFUSED(morsel_input(&s, 1, &view));
    REFUSED(morsel_input(&s, 0, NULL));
    assert_int_equal(morsel_output(&s, 1, &view), MORSEL_OK);
    REFUSED(morsel_output(&s, 2, &view));
    REFUSED(morsel_output(&s, 0, NULL));
    assert_int_equal(morsel_output_named(&s, "scores", &view), MORSEL_OK);
    REFUSED(morsel_output_named(&s, "score", &view));
    REFUSED(morsel_output_named(&s, "scores?", &view));
    REFUSED(morsel_output_named(&s, "", &view));
    REFUSED(morsel_output_named(&s, NULL, &view));
    REFUSED(morsel_output_named(&s, "scores", NULL));
    assert_int_equal(morsel_session_step(&s, S_COUNT - 1, &step), MORSEL_OK);
    REFUSED(morsel_session_step(&s, S_COUNT, &step));
    REFUSED(morsel_session_step(&s, 0, NULL));
    free(arena);
    free(b.bytes);
}

static void run_tasks(void *pool, uint32_t n, morsel_task *task, void *arg) {
    (void)pool;
    for (uint32_t i = 0; i < n; i++) task(arg, i);
}

/* More tasks than there can be count as the most. */
static void too_many_tasks_are_fewer(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    struct morsel_session s;
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    struct morsel_options options = {.size = sizeof options, .tasks = 1000000};
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(s.options.tasks, 1); /* nobody runs them */
    options.parallel_for = run_tasks;
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(s.options.tasks, MORSEL_MOST_TASKS);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    assert_int_equal(morsel_arena_bytes_for(&model, 0), morsel_arena_bytes(&model));
    assert_int_equal(morsel_arena_bytes_for(&model, 1), morsel_arena_bytes(&model));
    assert_int_equal(morsel_arena_bytes_for(NULL, 4), 0);
    free(arena);
    free(b.bytes);
}

static void the_part_of_no_model_is_0(void **state) {
    (void)state;
    uint32_t index = 7;
    assert_int_equal(morsel_open_part(NULL, &index), MORSEL_PART_BLOB);
    assert_int_equal(index, 0);
}

static void zero_points_are_those_of_bytes(void **state) {
    (void)state;
    uint8_t byte = 0;
    const float value = 1;
    struct morsel_view view = {.data = &byte, .bytes = 1, .type = MORSEL_UINT8, .rank = 1, .dims = {1}, .scale = 1};
    for (int32_t zero = -130; zero < 260; zero++) {
        view.type = zero < 0 ? MORSEL_INT8 : MORSEL_UINT8;
        view.zero_point = zero;
        assert_int_equal(morsel_quantize(&view, &value, 1), zero < -128 || zero > 255 ? MORSEL_ERR_ARGUMENT : MORSEL_OK);
    }
}

static void whole_numbers_end_at_both_ends(void **state) {
    (void)state;
    int32_t whole[6];
    const float values[6] = {-2147483648.0f, -3e9f, -INFINITY, 2147483648.0f, INFINITY, -2147483520.0f};
    const int32_t want[6] = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX, -2147483520};
    struct morsel_view view = {.data = whole, .bytes = 24, .type = MORSEL_INT32, .rank = 1, .dims = {6}, .scale = 1};
    assert_int_equal(morsel_quantize(&view, values, 6), MORSEL_OK);
    assert_memory_equal(whole, want, sizeof want);
}

/* --- Pictures by a rule that no blob was checked for --- */

static struct morsel_blob_picture a_rule(uint32_t resize_height, uint32_t resize_width, uint32_t crop_height, uint32_t crop_width) {
    return (struct morsel_blob_picture){0, MORSEL_RESIZE_EXACT, resize_height, resize_width, crop_height, crop_width, MORSEL_CHANNELS_RGB,
                                        1, {0, 0, 0},           {1, 1, 1}};
}

static void rules_have_sides_within_limits(void **state) {
    (void)state;
    const struct {
        struct morsel_blob_picture rule;
        int fits;
    } rules[] = {{a_rule(32768, 1, 0, 0), 1}, {a_rule(32769, 1, 0, 0), 0}, {a_rule(0, 1, 0, 0), 0},         {a_rule(1, 32768, 0, 0), 1},
                 {a_rule(1, 32769, 0, 0), 0}, {a_rule(1, 0, 0, 0), 0},     {a_rule(8, 8, 32768, 8), 1},     {a_rule(8, 8, 32769, 8), 0},
                 {a_rule(8, 8, 8, 32768), 1}, {a_rule(8, 8, 8, 32769), 0}, {a_rule(8, 8, UINT32_MAX, 8), 0}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) assert_int_equal(morsel_rule_bytes(&rules[i].rule, 9, 9) > 0, rules[i].fits);
    assert_int_equal(morsel_rule_bytes(NULL, 9, 9), 0);
}

static enum morsel_error picture(const struct morsel_blob_picture *rule, const struct morsel_view *view, size_t stride) {
    static uint8_t rgb[3 * 2 * 2], scratch[65536];
    return morsel_picture_by_rule(rule, rgb, sizeof rgb, 2, 2, stride, scratch, sizeof scratch, view, 0);
}

static void views_hold_the_whole_picture(void **state) {
    (void)state;
    uint8_t data[64];
    struct morsel_blob_picture rule = a_rule(2, 3, 0, 0);
    struct morsel_view view = {.data = data, .bytes = 18, .type = MORSEL_UINT8, .rank = 3, .dims = {3, 2, 3}, .scale = 1};
    assert_int_equal(picture(&rule, &view, 0), MORSEL_OK);
    assert_int_equal(picture(NULL, &view, 0), MORSEL_ERR_PICTURE);
    assert_int_equal(picture(&rule, &view, 5), MORSEL_ERR_ARGUMENT);
    assert_int_equal(picture(&rule, &view, SIZE_MAX / 2 + 1), MORSEL_ERR_ARGUMENT);
    for (uint32_t k = 0; k < 3; k++) { /* planes of another number, height or width */
        view.dims[k]++;
        assert_int_equal(picture(&rule, &view, 0), MORSEL_ERR_PICTURE);
        view.dims[k]--;
    }
    for (view.bytes = 0; view.bytes < 18; view.bytes++) assert_int_equal(picture(&rule, &view, 0), MORSEL_ERR_PICTURE);
    view.rank = 4;
    view.dims[0] = 2, view.dims[1] = 3, view.dims[2] = 2, view.dims[3] = 3; /* two images: 36 bytes */
    for (view.bytes = 18; view.bytes <= 36; view.bytes++)
        assert_int_equal(picture(&rule, &view, 0), view.bytes < 36 ? MORSEL_ERR_PICTURE : MORSEL_OK);
    view.type = (enum morsel_type)9;
    assert_int_equal(picture(&rule, &view, 0), MORSEL_ERR_PICTURE);
    view.type = MORSEL_INT32;
    assert_int_equal(picture(&rule, &view, 0), MORSEL_ERR_PICTURE);
}

/* A scale of NaN comes out of no blob; its steps count as 0. */
static void steps_that_are_no_numbers_are_0(void **state) {
    (void)state;
    uint8_t data[18];
    struct morsel_blob_picture rule = a_rule(2, 3, 0, 0);
    struct morsel_view view = {.data = data, .bytes = 18, .type = MORSEL_UINT8, .rank = 3, .dims = {3, 2, 3}, .scale = 1, .zero_point = 9};
    rule.scale = NAN;
    assert_int_equal(picture(&rule, &view, 0), MORSEL_OK);
    for (size_t i = 0; i < sizeof data; i++) assert_int_equal(data[i], 9);
}

/* --- Work --- */

static void work_stops_at_64_bits(void **state) {
    (void)state;
    struct morsel_blob_step step = {.kind = MORSEL_STEP_CONV};
    struct morsel_blob_tensor x = {.rank = 4, .dims = {1, 1, 1, 1 << 30}}, y = {.rank = 4, .dims = {1, 1 << 15, 1 << 15, 1}};
    struct morsel_blob_conv conv = {.window = {64, 64, 1, 1, 1, 1, 0, 0, 0, 0}, .groups = 1};
    struct morsel_step_work work = {&step, &x, &y, &conv};
    assert_true(morsel_work_conv(&work) == UINT64_MAX); /* 2^76 */
    x.dims[3] = 1 << 10;
    assert_true(morsel_work_conv(&work) == ((uint64_t)64 << 25) + ((uint64_t)1 << 56)); /* rows under windows, and products */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_that_are_none_are_refused), cmocka_unit_test(sessions_refuse_what_is_not_theirs),
        cmocka_unit_test(too_many_tasks_are_fewer),           cmocka_unit_test(the_part_of_no_model_is_0),
        cmocka_unit_test(zero_points_are_those_of_bytes),     cmocka_unit_test(whole_numbers_end_at_both_ends),
        cmocka_unit_test(rules_have_sides_within_limits),     cmocka_unit_test(views_hold_the_whole_picture),
        cmocka_unit_test(steps_that_are_no_numbers_are_0),    cmocka_unit_test(work_stops_at_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
