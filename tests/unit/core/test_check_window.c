/* SPDX-License-Identifier: MIT */
/* Windows: those that fit are counted one by one here, and each constant ends with the data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/check_desk.h"

static struct desk d;

enum { POOL_LEAST = 0, POOL_MOST = 255 };

/* --- Windows along one axis --- */

struct axis {
    uint32_t in, out, kernel, stride, dilation, begin, end;
};

/* Whole windows inside the padded line. */
static uint32_t whole_windows(const struct axis *a) {
    uint32_t padded = a->begin + a->in + a->end, window = (a->kernel - 1) * a->dilation + 1, n = 0;
    while (n * a->stride + window <= padded) n++;
    return n;
}

/* Where a last window may hang over, it begins in the line, or is the only one. */
static int fits(const struct axis *a, int round_up) {
    if (!a->kernel || !a->stride || !a->dilation) return 0;
    uint32_t padded = a->begin + a->in + a->end, window = (a->kernel - 1) * a->dilation + 1, whole = whole_windows(a);
    if (!whole) return round_up && a->out == 1;
    int rest = (whole - 1) * a->stride + window < padded;
    return a->out == whole || (round_up && rest && a->out == whole + 1);
}

static void put_axis(struct morsel_blob_window *w, const struct axis *a, int down) {
    static const struct morsel_blob_window one = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    *w = one;
    if (down) w->kernel_h = a->kernel, w->stride_h = a->stride, w->dilation_h = a->dilation, w->pad_top = a->begin, w->pad_bottom = a->end;
    else w->kernel_w = a->kernel, w->stride_w = a->stride, w->dilation_w = a->dilation, w->pad_left = a->begin, w->pad_right = a->end;
    for (int k = 1; k <= 2; k++) d.x->dims[k] = d.y->dims[k] = 1;
    d.x->dims[down ? 1 : 2] = a->in;
    d.y->dims[down ? 1 : 2] = a->out;
}

static enum morsel_error check_pool(const struct axis *a, int down) {
    static struct morsel_blob_pool pool;
    pool.out_max = POOL_MOST;
    put_axis(&pool.window, a, down);
    d.of_step.parameters = &pool;
    return morsel_check_pool(&d.of_step);
}

static enum morsel_error check_float_conv(const struct axis *a, int down) {
    static struct morsel_blob_float_conv conv;
    conv = (struct morsel_blob_float_conv){.groups = 1, .weights = DESK_DATA, .out_max = 255};
    put_axis(&conv.window, a, down);
    d.of_step.parameters = &conv;
    return morsel_check_float_conv(&d.of_step);
}

static void assert_axis(const struct axis *a, int pool_fits, int conv_fits) {
    for (int down = 0; down < 2; down++) {
        desk_set(&d, MORSEL_STEP_MAX_POOL, 1, NULL);
        int pool = !check_pool(a, down), conv = !check_float_conv(a, down);
        if (pool == pool_fits && conv == conv_fits) continue;
        fail_msg("in %u out %u kernel %u stride %u dilation %u pads %u %u, down %d: pool %d, conv %d", a->in, a->out, a->kernel, a->stride,
                 a->dilation, a->begin, a->end, down, pool, conv);
    }
}

static void windows_are_as_many_as_fit(void **state) {
    (void)state;
    struct axis a;
    uint32_t taken = 0;
    desk_set(&d, MORSEL_STEP_MAX_POOL, 1, NULL);
    for (a.in = 1; a.in < 6; a.in++)
        for (a.kernel = 0; a.kernel < 4; a.kernel++)
            for (uint32_t pick = 0; pick < 4 * 3 * 3 * 3 * 5; pick++) {
                a.stride = pick % 4, a.dilation = pick / 4 % 3, a.begin = pick / 12 % 3, a.end = pick / 36 % 3, a.out = pick / 108;
                for (int down = 0; down < 2; down++) {
                    int pool = !check_pool(&a, down), conv = !check_float_conv(&a, down);
                    if (pool != fits(&a, 1) || conv != fits(&a, 0)) assert_axis(&a, fits(&a, 1), fits(&a, 0)); /* fails, and says where */
                    taken += pool;
                }
            }
    assert_true(taken > 1000);
}

static void windows_have_limits(void **state) {
    (void)state;
    assert_axis(&(struct axis){64, 1, 64, 1, 1, 0, 0}, 1, 1);
    assert_axis(&(struct axis){65, 1, 65, 1, 1, 0, 0}, 0, 0);
    assert_axis(&(struct axis){1, 1, 1, 65536, 1, 0, 0}, 1, 1);
    assert_axis(&(struct axis){1, 1, 1, 65537, 1, 0, 0}, 0, 0);
    assert_axis(&(struct axis){65537, 1, 2, 1, 65536, 0, 0}, 1, 1);
    assert_axis(&(struct axis){65538, 1, 2, 1, 65537, 0, 0}, 0, 0);
    assert_axis(&(struct axis){1, 65537, 1, 1, 1, 65536, 0}, 1, 1);
    assert_axis(&(struct axis){1, 65538, 1, 1, 1, 65537, 0}, 0, 0);
    assert_axis(&(struct axis){1, 65537, 1, 1, 1, 0, 65536}, 1, 1);
    assert_axis(&(struct axis){1, 65538, 1, 1, 1, 0, 65537}, 0, 0);
}

/* --- The steps that have windows --- */

static void pools_keep_rank_batch_and_channels(void **state) {
    (void)state;
    struct morsel_blob_pool pool = {{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 0, POOL_LEAST, POOL_MOST};
    desk_set(&d, MORSEL_STEP_MAX_POOL, 1, &pool);
    assert_int_equal(morsel_check_pool(&d.of_step), MORSEL_OK);
    d.x->rank = 3;
    assert_int_equal(morsel_check_pool(&d.of_step), MORSEL_ERR_PARAMETER);
    d.x->rank = 4, d.y->rank = 5;
    assert_int_equal(morsel_check_pool(&d.of_step), MORSEL_ERR_PARAMETER);
    d.y->rank = 4;
    for (int k = 0; k < 4; k += 3) {
        d.x->dims[k] = 2;
        assert_int_equal(morsel_check_pool(&d.of_step), MORSEL_ERR_PARAMETER);
        d.y->dims[k] = 2;
        assert_int_equal(morsel_check_pool(&d.of_step), MORSEL_OK);
    }
    for (pool.count_include_pad = 0; pool.count_include_pad < 4; pool.count_include_pad++)
        assert_int_equal(morsel_check_pool(&d.of_step), pool.count_include_pad < 2 ? MORSEL_OK : MORSEL_ERR_PARAMETER);
    pool.count_include_pad = 0, pool.out_max = 256;
    assert_int_equal(morsel_check_pool(&d.of_step), MORSEL_ERR_PARAMETER);
}

static void averages_are_not_dilated(void **state) {
    (void)state;
    struct morsel_blob_pool pool = {{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 0, POOL_LEAST, POOL_MOST};
    for (int down = 0; down < 2; down++)
        for (uint32_t dilation = 1; dilation < 4; dilation++) {
            desk_set(&d, MORSEL_STEP_AVERAGE_POOL, 1, &pool);
            pool.window.dilation_h = down ? dilation : 1;
            pool.window.dilation_w = down ? 1 : dilation;
            assert_int_equal(morsel_check_pool(&d.of_step), dilation == 1 ? MORSEL_OK : MORSEL_ERR_PARAMETER);
            d.step.kind = MORSEL_STEP_MAX_POOL;
            assert_int_equal(morsel_check_pool(&d.of_step), MORSEL_OK);
        }
}

/* All constants are the zeros at the front of the data. */
static struct morsel_blob_conv a_conv(uint32_t groups) {
    const uint32_t front = DESK_DATA;
    return (struct morsel_blob_conv){{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, groups, {front, front, front, front, 0, 0, 0, 255, 0, 0, 0}};
}

static void groups_divide_channels(void **state) {
    (void)state;
    for (uint32_t groups = 0; groups < 8; groups++)
        for (uint32_t in = 1; in < 8; in++)
            for (uint32_t out = 1; out < 8; out++) {
                struct morsel_blob_conv conv = a_conv(groups);
                struct morsel_blob_float_conv in_float = {conv.window, groups, DESK_DATA, 0, 0, 255, 0, 0, 0};
                int fit = groups && in % groups == 0 && out % groups == 0;
                desk_set(&d, MORSEL_STEP_CONV, 1, &conv);
                desk_shape(d.x, 1, 1, 1, in);
                desk_shape(d.y, 1, 1, 1, out);
                assert_int_equal(morsel_check_conv(&d.of_step), fit ? MORSEL_OK : MORSEL_ERR_PARAMETER);
                d.step.kind = MORSEL_STEP_DEPTHWISE;
                fit = in == groups && out == groups;
                assert_int_equal(morsel_check_conv(&d.of_step), fit ? MORSEL_OK : MORSEL_ERR_PARAMETER);
                d.step.kind = MORSEL_STEP_FLOAT_CONV;
                d.of_step.parameters = &in_float;
                fit = groups && in % groups == 0 && out % groups == 0;
                assert_int_equal(morsel_check_float_conv(&d.of_step), fit ? MORSEL_OK : MORSEL_ERR_PARAMETER);
            }
}

/* Above and below the picture a row of zero points stands in the scratch. */
static void padded_rows_need_scratch(void **state) {
    (void)state;
    for (uint32_t pads = 0; pads < 4; pads++)
        for (uint32_t width = 7; width < 10; width++)
            for (uint32_t scratch = 0; scratch < 64; scratch++) {
                struct morsel_blob_conv conv = a_conv(1);
                uint32_t row = (width * 3 + 3) / 4 * 4;
                conv.window.pad_top = pads & 1, conv.window.pad_bottom = pads >> 1;
                conv.window.pad_left = 1;
                desk_set(&d, MORSEL_STEP_CONV, 1, &conv);
                desk_shape(d.x, 1, 2, width, 3);
                desk_shape(d.y, 1, 2 + (pads & 1) + (pads >> 1), width + 1, 1);
                d.step.scratch_bytes = scratch;
                assert_int_equal(morsel_check_conv(&d.of_step), pads && scratch < row ? MORSEL_ERR_PARAMETER : MORSEL_OK);
            }
}

static uint32_t up(uint32_t n, uint32_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static void constants_of_convolutions_end_with_the_data(void **state) {
    (void)state;
    static const uint32_t outs[] = {1, 2, 15, 16, 17, 32, 33, 120};
    for (uint32_t pick = 0; pick < 8 * 2 * 3 * 4 * 5; pick++) {
        uint32_t groups = pick / 8 % 2 + 1, out = outs[pick % 8], depth = pick / 16 % 3 + 1, rows = pick / 48 % 4 + 1,
                 columns = pick / 192 + 1;
        struct morsel_blob_conv conv = a_conv(groups);
        uint32_t channels = groups * up(out, 16), weights = channels * rows * up(columns * depth, 4);
        conv.window.kernel_h = rows, conv.window.kernel_w = columns;
        desk_set(&d, MORSEL_STEP_CONV, 1, &conv);
        desk_shape(d.x, 1, rows, columns, depth * groups);
        desk_shape(d.y, 1, 1, 1, out * groups);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.weights, weights);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.bias, 4 * channels);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.multiplier, 4 * channels);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.weight_sum, 4 * channels);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.weight_zero, 4 * channels);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.float_bias, 4 * channels);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.proofs, channels / 16);
        channels = up(out, 16);
        conv.groups = out;
        d.step.kind = MORSEL_STEP_DEPTHWISE;
        desk_shape(d.x, 1, rows, columns, out);
        desk_shape(d.y, 1, 1, 1, out);
        DESK_ENDS(&d, morsel_check_conv, conv.sums.weights, channels * columns * up(rows, 4));
        DESK_ENDS(&d, morsel_check_conv, conv.sums.bias, 4 * channels);
    }
}

static void constants_of_float_convolutions_end_with_the_data(void **state) {
    (void)state;
    for (uint32_t pick = 0; pick < 20 * 2 * 3 * 3 * 3; pick++) {
        uint32_t groups = pick / 20 % 2 + 1, out = pick % 20 + 1, depth = pick / 40 % 3 + 1, rows = pick / 120 % 3 + 1,
                 columns = pick / 360 + 1;
        struct morsel_blob_float_conv conv = {{rows, columns, 1, 1, 1, 1, 0, 0, 0, 0}, groups, DESK_DATA, 0, 0, 255, -1, 1, 0};
        uint32_t values = rows * columns * depth * up(out * groups, 8);
        desk_set(&d, MORSEL_STEP_FLOAT_CONV, 1, &conv);
        desk_shape(d.x, 1, rows, columns, depth * groups);
        desk_shape(d.y, 1, 1, 1, out * groups);
        DESK_ENDS(&d, morsel_check_float_conv, conv.weights, 4 * values);
        DESK_ENDS(&d, morsel_check_float_conv, conv.bias, 4 * up(out * groups, 8));
        conv.weights_half = 1;
        DESK_ENDS(&d, morsel_check_float_conv, conv.weights, 2 * values);
        conv.weights_half = 2;
        assert_int_equal(morsel_check_float_conv(&d.of_step), MORSEL_ERR_PARAMETER);
    }
}

static void float_convolutions_have_ordered_limits(void **state) {
    (void)state;
    const float nan = nanf("");
    struct morsel_blob_float_conv conv = {{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 1, DESK_DATA, 0, 0, 255, 1, 1, 0};
    desk_set(&d, MORSEL_STEP_FLOAT_CONV, 1, &conv);
    assert_int_equal(morsel_check_float_conv(&d.of_step), MORSEL_OK);
    conv.float_min = 1.5f;
    assert_int_equal(morsel_check_float_conv(&d.of_step), MORSEL_ERR_PARAMETER);
    conv.float_min = nan;
    assert_int_equal(morsel_check_float_conv(&d.of_step), MORSEL_ERR_PARAMETER);
    conv.float_min = 0, conv.out_min = -1;
    assert_int_equal(morsel_check_float_conv(&d.of_step), MORSEL_ERR_PARAMETER);
}

/* Products that leave 64 bits would be small again. */
static void constants_too_large_to_count_are_refused(void **state) {
    (void)state;
    struct morsel_blob_conv conv = a_conv(1);
    conv.window.kernel_h = conv.window.kernel_w = 64;
    struct morsel_blob_float_conv in_float = {conv.window, 1, DESK_DATA, 0, 0, 255, 0, 0, 0};
    for (int depth = 20; depth < 31; depth++)
        for (int outs = 20; outs < 31; outs++) {
            desk_set(&d, MORSEL_STEP_CONV, 1, &conv);
            d.x->dims[1] = d.x->dims[2] = 64;
            d.x->dims[3] = 1u << depth, d.y->dims[3] = 1u << outs;
            assert_int_equal(morsel_check_conv(&d.of_step), MORSEL_ERR_CONSTANT);
            d.of_step.parameters = &in_float;
            for (in_float.weights_half = 0; in_float.weights_half < 2; in_float.weights_half++)
                assert_int_equal(morsel_check_float_conv(&d.of_step), MORSEL_ERR_CONSTANT);
        }
}

/* Of each group sixteen channels are stored, however few there are. */
static void channels_too_many_to_count_are_refused(void **state) {
    (void)state;
    for (int groups = 26; groups < 31; groups++) {
        struct morsel_blob_conv conv = a_conv(1u << groups);
        desk_set(&d, MORSEL_STEP_CONV, 1, &conv);
        d.x->dims[3] = d.y->dims[3] = 1u << groups;
        assert_int_equal(morsel_check_conv(&d.of_step), MORSEL_ERR_CONSTANT);
    }
}

/* Zeros of weights are the last that is read. */
static void zeros_of_weights_are_counted(void **state) {
    (void)state;
    struct morsel_blob_conv conv = a_conv(1);
    conv.sums.weight_zero = DESK_DATA;
    for (uint32_t left = 120; left < 140; left++) {
        desk_set(&d, MORSEL_STEP_CONV, 1, &conv);
        d.read = 64 * (uint64_t)DESK_BYTES - left; /* sixteen multipliers and sixteen zeros */
        assert_int_equal(morsel_check_conv(&d.of_step), left < 128 ? MORSEL_ERR_CONSTANT : MORSEL_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_as_many_as_fit),
        cmocka_unit_test(windows_have_limits),
        cmocka_unit_test(pools_keep_rank_batch_and_channels),
        cmocka_unit_test(averages_are_not_dilated),
        cmocka_unit_test(groups_divide_channels),
        cmocka_unit_test(padded_rows_need_scratch),
        cmocka_unit_test(constants_of_convolutions_end_with_the_data),
        cmocka_unit_test(constants_of_float_convolutions_end_with_the_data),
        cmocka_unit_test(float_convolutions_have_ordered_limits),
        cmocka_unit_test(constants_too_large_to_count_are_refused),
        cmocka_unit_test(channels_too_many_to_count_are_refused),
        cmocka_unit_test(zeros_of_weights_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
