/* SPDX-License-Identifier: MIT */
/* The tables of all step kinds and ways, for programs that bring none of their own. In an archive it is an object by itself, which then
 * stays out; where all is one file, those say MORSEL_OWN_KINDS. */
#include "kind.h"
#include "way.h"

_Static_assert(MORSEL_STEP_KIND_COUNT <= MORSEL_KINDS, "a table has room for all kinds");

#if !defined(MORSEL_OWN_KINDS)
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
    [MORSEL_STEP_GATHER] = &morsel_kind_gather,
    [MORSEL_STEP_FLOAT_CONV] = &morsel_kind_float_conv,
    [MORSEL_STEP_RANGE] = &morsel_kind_range,
    [MORSEL_STEP_FACTORS] = &morsel_kind_factors,
    [MORSEL_STEP_QUANTIZE] = &morsel_kind_quantize,
    [MORSEL_STEP_DYNAMIC_CONV] = &morsel_kind_dynamic_conv,
    [MORSEL_STEP_DYNAMIC_DEPTHWISE] = &morsel_kind_dynamic_depthwise,
    [MORSEL_STEP_DYNAMIC_FC] = &morsel_kind_dynamic_fc,
    [MORSEL_STEP_LOOKUP] = &morsel_kind_lookup,
    [MORSEL_STEP_CAST] = &morsel_kind_cast,
    [MORSEL_STEP_GRID_SAMPLE] = &morsel_kind_grid_sample,
    [MORSEL_STEP_NON_MAX_SUPPRESSION] = &morsel_kind_non_max_suppression,
    [MORSEL_STEP_VIEW_MATMUL] = &morsel_kind_view_matmul,
};

const struct morsel_way *const morsel_ways[MORSEL_WAYS] = {
    [MORSEL_MODE_GROUP] = &morsel_way_groups, [MORSEL_MODE_CHAIN] = &morsel_way_tasks, [MORSEL_WAY_RULES] = &morsel_way_rules};
#endif
