/* SPDX-License-Identifier: MIT */
/* Which fields of the steps' records are offsets of constants, as core/format.h describes them. */
#include "core/kind.h"
#include "tools/net/blob/pieces.h"
#include <string.h>

static const size_t of_sums[] = {offsetof(struct morsel_blob_sums, weights),     offsetof(struct morsel_blob_sums, bias),
                                 offsetof(struct morsel_blob_sums, multiplier),  offsetof(struct morsel_blob_sums, weight_sum),
                                 offsetof(struct morsel_blob_sums, weight_zero), offsetof(struct morsel_blob_sums, float_bias),
                                 offsetof(struct morsel_blob_sums, proofs)};
_Static_assert(sizeof of_sums / sizeof *of_sums == BLOB_CONSTANTS, "as many as a record has");

static const struct {
    enum morsel_step_kind kind;
    uint32_t count;
    size_t fields[2];
} of_kinds[] = {
    {MORSEL_STEP_FLOAT_CONV, 2, {offsetof(struct morsel_blob_float_conv, weights), offsetof(struct morsel_blob_float_conv, bias)}},
    {MORSEL_STEP_UNARY, 2, {offsetof(struct morsel_blob_unary, affine_scale), offsetof(struct morsel_blob_unary, affine_offset)}},
    {MORSEL_STEP_LUT, 1, {offsetof(struct morsel_blob_lut, table)}},
    {MORSEL_STEP_SOFTMAX, 1, {offsetof(struct morsel_blob_softmax, table)}},
    {MORSEL_STEP_LAYER_NORM, 2, {offsetof(struct morsel_blob_layer_norm, factor), offsetof(struct morsel_blob_layer_norm, term)}},
    {MORSEL_STEP_RESIZE, 2, {offsetof(struct morsel_blob_resize, rows), offsetof(struct morsel_blob_resize, columns)}},
    {MORSEL_STEP_GATHER, 1, {offsetof(struct morsel_blob_gather, table)}},
    {MORSEL_STEP_FACTORS, 2, {offsetof(struct morsel_blob_factors, factor), offsetof(struct morsel_blob_factors, bias)}},
    {MORSEL_STEP_LOOKUP, 1, {offsetof(struct morsel_blob_lookup, table)}},
};

uint32_t blob_constants(uint32_t kind, size_t fields[BLOB_CONSTANTS]) {
    size_t sums = morsel_kinds[kind]->sums;
    for (uint32_t i = 0; sums && i < BLOB_CONSTANTS; i++) fields[i] = sums + of_sums[i];
    if (sums) return BLOB_CONSTANTS;
    for (size_t i = 0; i < sizeof of_kinds / sizeof *of_kinds; i++) {
        if (of_kinds[i].kind != kind) continue;
        memcpy(fields, of_kinds[i].fields, of_kinds[i].count * sizeof *fields);
        return of_kinds[i].count;
    }
    return 0;
}
