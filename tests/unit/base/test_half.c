/* SPDX-License-Identifier: MIT */
/* binary16: what the runtime reads is what its definition says, and what the converter writes is the nearest of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "kernels/float.h"
#include "tools/base/half.h"
#include "tools/lower/half.h"

#define FINITE 0x7c00 /* as many, of each sign */

/* Sign, five bits of exponent, ten of fraction. */
static double value_of(uint32_t bits) {
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double v = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -v : v;
}

static void every_half_is_read_exactly(void **state) {
    (void)state;
    for (uint32_t sign = 0; sign < 0x10000; sign += 0x8000)
        for (uint32_t size = 0; size < FINITE; size++) {
            float want = (float)value_of(sign | size), got = morsel_from_half((uint16_t)(sign | size));
            assert_memory_equal(&want, &got, sizeof want);
            got = half_value((uint16_t)(sign | size));
            assert_memory_equal(&want, &got, sizeof want);
        }
}

static void files_may_have_what_is_not_finite(void **state) {
    (void)state;
    assert_true(half_value(0x7c00) == INFINITY && half_value(0xfc00) == -INFINITY);
    for (uint32_t rest = 1; rest < 0x400; rest++)
        assert_true(isnan(half_value((uint16_t)(FINITE + rest))) && isnan(half_value((uint16_t)(0x8000 + FINITE + rest))));
}

/* Every one itself, the midpoint to the next, and the floats on both sides of that. */
static void floats_go_to_the_nearest_half(void **state) {
    (void)state;
    for (uint32_t sign = 0; sign < 0x10000; sign += 0x8000)
        for (uint32_t size = 0; size + 1 < FINITE; size++) {
            double here = value_of(sign | size), next = value_of(sign | (size + 1));
            float middle = (float)((here + next) / 2); /* exact: one bit more */
            assert_int_equal(half_of((float)here), sign | size);
            assert_int_equal(half_of(middle), sign | (size + (size & 1)));
            assert_int_equal(half_of(nextafterf(middle, (float)here)), sign | size);
            assert_int_equal(half_of(nextafterf(middle, (float)next)), sign | (size + 1));
        }
}

static void what_is_too_large_is_infinite(void **state) {
    (void)state;
    assert_int_equal(half_of(65504), 0x7bff);
    assert_int_equal(half_of(nextafterf(65520, 0)), 0x7bff);
    assert_int_equal(half_of(65520), 0x7c00);
    assert_int_equal(half_of(-65520), 0xfc00);
    assert_int_equal(half_of(1e30f), 0x7c00);
    assert_int_equal(half_of(1e-30f), 0);
    assert_int_equal(half_of(-1e-45f), 0x8000);
}

/* A net of float layers, each with eight outputs of one input. */
static struct net_step *add_layer(struct net *net, const char *name, float *weights) {
    const uint32_t dims[4] = {1, 1, 1, 1}, out[4] = {1, 1, 1, 8};
    struct net_buffer *x = net_add_buffer(net, MORSEL_FLOAT32, MORSEL_CHANNELS_LAST, 4, dims, "x");
    struct net_buffer *y = net_add_buffer(net, MORSEL_FLOAT32, MORSEL_CHANNELS_LAST, 4, out, "y");
    struct net_step *step = net_add_step(net, MORSEL_STEP_FLOAT_CONV, name, x, NULL, y);
    static const float bias[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    net_add_constant(step, bias, sizeof bias, offsetof(struct morsel_blob_float_conv, bias));
    net_add_constant(step, weights, 8 * sizeof *weights, offsetof(struct morsel_blob_float_conv, weights));
    return step;
}

static void layers_are_halved(void **state) {
    (void)state;
    float good[8] = {1, -2, 0.1f, 65504, 0, 1e-6f, 3, 4}, large[8] = {1, 65520}, small[8] = {1e-5f, -2e-5f}, zeros[8] = {0};
    struct net *net = net_new("n");
    struct onnx_report report = {0};
    struct net_step *steps[4] = {add_layer(net, "good", good), add_layer(net, "large", large), add_layer(net, "small", small),
                                 add_layer(net, "zeros", zeros)};
    half_net(net, &report);
    for (int i = 0; i < 4; i++) {
        bool halved = i == 0 || i == 3;
        assert_int_equal(steps[i]->parameters.float_conv.weights_half, halved);
        assert_int_equal(steps[i]->constants[1].bytes, halved ? 16 : 32);
        assert_int_equal(steps[i]->constants[0].bytes, 32);
    }
    const uint16_t *to = steps[0]->constants[1].data;
    for (int i = 0; i < 8; i++) assert_int_equal(to[i], half_of(good[i]));
    assert_int_equal(report.notice_count, 2);
    assert_non_null(strstr(report.notices[0], "large keeps weights of 32 bits: a weight of 65520 is too large"));
    assert_non_null(strstr(report.notices[1], "small keeps weights of 32 bits"));
    onnx_report_free(&report);
    net_free(net);
}

static void a_net_without_float_layers_is_noticed(void **state) {
    (void)state;
    struct net *net = net_new("n");
    struct onnx_report report = {0};
    half_net(net, &report);
    assert_int_equal(report.notice_count, 1);
    onnx_report_free(&report);
    net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_read_exactly),
        cmocka_unit_test(floats_go_to_the_nearest_half),
        cmocka_unit_test(what_is_too_large_is_infinite),
        cmocka_unit_test(layers_are_halved),
        cmocka_unit_test(a_net_without_float_layers_is_noticed),
        cmocka_unit_test(files_may_have_what_is_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
