/* SPDX-License-Identifier: MIT */
/* Floats into views and out of them: order, rounding, capacities, views that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "core/morsel.h"

static void quantize_changes_the_layout(void **state) {
    (void)state;
    int8_t data[2 * 3 * 2];
    /* memory: N = 1, H = 2, W = 1, C = 3 twice over W; ONNX order: channel by channel */
    struct morsel_view view = {.data = data,
                               .bytes = 12,
                               .type = MORSEL_INT8,
                               .layout = MORSEL_CHANNELS_LAST,
                               .rank = 4,
                               .dims = {1, 2, 2, 3},
                               .scale = 0.5f,
                               .zero_point = 10};
    const float values[12] = {0, 1, 2, 3, 10, 11, 12, 13, -20, -21, 1e9f, NAN};
    const int8_t want[12] = {10, 30, -30, 12, 32, -32, 14, 34, 127, 16, 36, -128};
    float back[12];
    assert_int_equal(morsel_quantize(&view, values, 12), MORSEL_OK);
    assert_memory_equal(data, want, 12);
    assert_int_equal(morsel_dequantize(&view, back, 12), MORSEL_OK);
    for (int i = 0; i < 10; i++) assert_true(back[i] == values[i]);
    assert_true(back[10] == 58.5f && back[11] == -69);
}

static void float_and_int32_views_keep_their_values(void **state) {
    (void)state;
    float data[4], back[4];
    int32_t whole[4];
    const float values[4] = {1.5f, -2.5f, 3e9f, NAN};
    struct morsel_view view = {.data = data, .bytes = 16, .type = MORSEL_FLOAT32, .rank = 2, .dims = {2, 2}, .scale = 1};
    assert_int_equal(morsel_quantize(&view, values, 4), MORSEL_OK);
    assert_memory_equal(data, values, 16);
    view.type = MORSEL_INT32;
    view.data = whole;
    assert_int_equal(morsel_quantize(&view, values, 4), MORSEL_OK);
    assert_int_equal(whole[0], 2);
    assert_int_equal(whole[1], -2);
    assert_int_equal(whole[2], INT32_MAX);
    assert_int_equal(whole[3], 0);
    assert_int_equal(morsel_dequantize(&view, back, 4), MORSEL_OK);
    assert_true(back[0] == 2 && back[1] == -2);
    assert_int_equal(morsel_quantize(NULL, values, 4), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_quantize(&view, NULL, 4), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_dequantize(&view, NULL, 4), MORSEL_ERR_ARGUMENT);
}

static void int32_views_round_half_to_even(void **state) {
    (void)state;
    int32_t whole[8];
    const float values[8] = {0.5f, 1.5f, 2.5f, 2.75f, -0.5f, -1.5f, -3.75f, 3.25f};
    const int32_t want[8] = {0, 2, 2, 3, 0, -2, -4, 3};
    struct morsel_view view = {.data = whole, .bytes = 32, .type = MORSEL_INT32, .rank = 1, .dims = {8}, .scale = 1};
    assert_int_equal(morsel_quantize(&view, values, 8), MORSEL_OK);
    assert_memory_equal(whole, want, 32);
}

/* 12 bytes in a view, and room for as many floats between guards. */
struct guarded {
    float before, values[12], after;
};

static struct morsel_view bytes_view(uint8_t *data) {
    return (struct morsel_view){.data = data,
                                .bytes = 12,
                                .type = MORSEL_UINT8,
                                .layout = MORSEL_CHANNELS_LAST,
                                .rank = 4,
                                .dims = {1, 2, 2, 3},
                                .scale = 0.5f,
                                .zero_point = 10};
}

static void smaller_buffers_are_refused_before_anything_is_written(void **state) {
    (void)state;
    uint8_t data[14], untouched[14];
    struct guarded room;
    memset(data, 0xa5, sizeof data);
    memcpy(untouched, data, sizeof data);
    struct morsel_view view = bytes_view(data + 1);
    for (size_t count = 0; count < 12; count++) {
        for (unsigned i = 0; i < 12; i++) room.values[i] = 77;
        assert_int_equal(morsel_dequantize(&view, room.values, count), MORSEL_ERR_CAPACITY);
        for (unsigned i = 0; i < 12; i++) assert_true(room.values[i] == 77);
        assert_int_equal(morsel_quantize(&view, room.values, count), MORSEL_ERR_CAPACITY);
        assert_memory_equal(data, untouched, sizeof data);
    }
}

static void buffers_that_are_large_enough_are_used_as_far_as_needed(void **state) {
    (void)state;
    uint8_t data[14];
    struct guarded room;
    memset(data, 0xa5, sizeof data);
    struct morsel_view view = bytes_view(data + 1);
    for (size_t count = 12; count < 15; count++) {
        for (unsigned i = 0; i < 12; i++) room.values[i] = (float)i;
        room.before = room.after = 77;
        assert_int_equal(morsel_quantize(&view, room.values, count), MORSEL_OK);
        assert_true(data[0] == 0xa5 && data[13] == 0xa5 && data[1] == 10 && data[2] == 18);
        assert_int_equal(morsel_dequantize(&view, room.values, count), MORSEL_OK);
        assert_true(room.before == 77 && room.after == 77 && room.values[11] == 11);
    }
    assert_int_equal(morsel_view_elements(&view), 12);
}

/* Damages a good view in one field: it has no elements, and neither function touches it. */
#define NO_VIEW(...) \
    do { \
        struct morsel_view view = bytes_view(data); \
        float values[12] = {0}; \
        __VA_ARGS__; \
        assert_int_equal(morsel_view_elements(&view), 0); \
        assert_int_equal(morsel_quantize(&view, values, 12), MORSEL_ERR_ARGUMENT); \
        assert_int_equal(morsel_dequantize(&view, values, 12), MORSEL_ERR_ARGUMENT); \
    } while (0)

static void views_that_are_none_are_refused(void **state) {
    (void)state;
    uint8_t data[12] = {0};
    float values[12] = {0};
    struct morsel_view view = bytes_view(data);
    NO_VIEW(view.rank = MORSEL_MAX_RANK + 1);
    NO_VIEW(view.rank = UINT32_MAX);
    NO_VIEW(view.dims[3] = 0);
    NO_VIEW(view.dims[3] = 4);
    NO_VIEW(view.bytes = 13);
    NO_VIEW(view.bytes = 11);
    NO_VIEW(view.type = MORSEL_FLOAT32);
    NO_VIEW(view.type = (enum morsel_type)4);
    NO_VIEW(view.type = (enum morsel_type) - 1);
    NO_VIEW(view.dims[0] = 0x10000, view.dims[1] = 0x10000, view.dims[2] = 0x10000, view.dims[3] = 0x10000);
    NO_VIEW(view.type = MORSEL_INT32, view.dims[0] = 0x40000003, view.dims[1] = view.dims[2] = view.dims[3] = 1); /* 4 * that is 12 */
    NO_VIEW(view.rank = 3, view.dims[0] = view.dims[1] = 0, view.dims[2] = 0);
    assert_int_equal(morsel_view_elements(NULL), 0);
    view.data = NULL;
    assert_int_equal(morsel_quantize(&view, values, 12), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_dequantize(&view, values, 12), MORSEL_ERR_ARGUMENT);
    view = bytes_view(data);
    view.zero_point = INT32_MAX;
    assert_int_equal(morsel_quantize(&view, values, 12), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_quantize(NULL, values, 12), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_dequantize(NULL, values, 12), MORSEL_ERR_ARGUMENT);
    struct morsel_view scalar = {.data = data, .bytes = 1, .scale = 1};
    assert_int_equal(morsel_view_elements(&scalar), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantize_changes_the_layout),
        cmocka_unit_test(float_and_int32_views_keep_their_values),
        cmocka_unit_test(int32_views_round_half_to_even),
        cmocka_unit_test(smaller_buffers_are_refused_before_anything_is_written),
        cmocka_unit_test(buffers_that_are_large_enough_are_used_as_far_as_needed),
        cmocka_unit_test(views_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
