/* SPDX-License-Identifier: MIT */
/* A program whose tables lack groups, rules and a kind: networks with these do not open, and those without them run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/kind.h"
#include "core/way.h"
#include "tests/unit/support/blob_builder.h"
#include "tests/unit/support/random_net.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

/* In the place of core/kinds_all.c, which stays out of the program. */
const struct morsel_kind *const morsel_kinds[MORSEL_KINDS] = {
    [MORSEL_STEP_CONV] = &morsel_kind_conv,
    [MORSEL_STEP_DEPTHWISE] = &morsel_kind_depthwise,
    [MORSEL_STEP_FC] = &morsel_kind_fc,
    [MORSEL_STEP_MATMUL] = &morsel_kind_matmul,
    [MORSEL_STEP_FLOAT_MATMUL] = &morsel_kind_float_matmul,
    [MORSEL_STEP_BINARY] = &morsel_kind_binary,
    [MORSEL_STEP_UNARY] = &morsel_kind_unary,
    [MORSEL_STEP_LUT] = &morsel_kind_lut,
    [MORSEL_STEP_AVERAGE_POOL] = &morsel_kind_average_pool,
    [MORSEL_STEP_MAX_POOL] = &morsel_kind_max_pool,
    [MORSEL_STEP_MEAN] = &morsel_kind_mean,
    [MORSEL_STEP_SOFTMAX] = &morsel_kind_softmax,
    [MORSEL_STEP_LAYER_NORM] = &morsel_kind_layer_norm,
    [MORSEL_STEP_RESIZE] = &morsel_kind_resize,
    [MORSEL_STEP_CONCAT] = &morsel_kind_concat,
    [MORSEL_STEP_CAST] = &morsel_kind_cast,
    [MORSEL_STEP_GRID_SAMPLE] = &morsel_kind_grid_sample,
    [MORSEL_STEP_NON_MAX_SUPPRESSION] = &morsel_kind_non_max_suppression,
    [MORSEL_STEP_VIEW_MATMUL] = &morsel_kind_view_matmul,
    [MORSEL_STEP_FLOAT_CONV] = &morsel_kind_float_conv,
    [MORSEL_STEP_RANGE] = &morsel_kind_range,
    [MORSEL_STEP_FACTORS] = &morsel_kind_factors,
    [MORSEL_STEP_QUANTIZE] = &morsel_kind_quantize,
    [MORSEL_STEP_DYNAMIC_CONV] = &morsel_kind_dynamic_conv,
    [MORSEL_STEP_DYNAMIC_DEPTHWISE] = &morsel_kind_dynamic_depthwise,
    [MORSEL_STEP_DYNAMIC_FC] = &morsel_kind_dynamic_fc,
    [MORSEL_STEP_LOOKUP] = &morsel_kind_lookup,
};
const struct morsel_way *const morsel_ways[MORSEL_WAYS] = {[MORSEL_MODE_CHAIN] = &morsel_way_tasks};

static uint32_t groups_of(const uint8_t *blob) {
    return ((const struct morsel_blob_header *)(const void *)blob)->groups.count;
}

static void networks_with_groups_do_not_open(void **state) {
    (void)state;
    static const struct random_net_limits limits = {12, 8, 8, 8, 3};
    static const struct blob_extras none = {0};
    uint32_t found[2] = {0, 0};
    for (uint32_t seed = 1; seed < 60; seed++) {
        struct net *net = random_net(seed, 1, &limits);
        struct morsel_model model;
        size_t bytes = 0;
        net->arena_room = seed % 3 ? 1 : 0;
        uint8_t *blob = plan_arena(net) ? blob_write(net, &none, &bytes) : NULL;
        assert_non_null(blob);
        int grouped = groups_of(blob) > 0;
        assert_int_equal(morsel_open(&model, blob, bytes, 0), grouped ? MORSEL_ERR_STEP : MORSEL_OK);
        assert_int_equal(model.error_part, MORSEL_PART_BLOB);
        found[grouped]++;
        free(blob);
        net_free(net);
    }
    assert_in_range(found[0], 5, 60);
    assert_in_range(found[1], 5, 60);
}

/* One step, and as many picture rules. */
static enum morsel_error open_small(enum morsel_step_kind kind, uint32_t pictures) {
    struct builder b;
    struct morsel_model model;
    static const float table[4] = {1, 2, 3, 4};
    uint32_t bytes, dims[2] = {2, 2}, concat[2] = {1, 4};
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0), y = builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0);
    builder_step(&b, kind, &x, 1, y, concat, sizeof concat, 0);
    builder_data(&b, table, sizeof table);
    builder_input(&b, x, "x");
    builder_output(&b, y, "y");
    b.picture_count = pictures;
    uint8_t *blob = builder_finish(&b, &bytes);
    enum morsel_error error = morsel_open(&model, blob, bytes, 0);
    free(blob);
    return error;
}

static void networks_with_another_kind_do_not_open(void **state) {
    (void)state;
    assert_int_equal(open_small(MORSEL_STEP_CONCAT, 0), MORSEL_OK);
    assert_null(morsel_kinds[MORSEL_STEP_GATHER]);
    assert_int_equal(open_small(MORSEL_STEP_GATHER, 0), MORSEL_ERR_STEP);
}

static void networks_with_rules_do_not_open(void **state) {
    (void)state;
    assert_int_equal(open_small(MORSEL_STEP_CONCAT, 1), MORSEL_ERR_STEP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_with_groups_do_not_open),
        cmocka_unit_test(networks_with_another_kind_do_not_open),
        cmocka_unit_test(networks_with_rules_do_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
