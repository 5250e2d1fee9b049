/* SPDX-License-Identifier: MIT */
/* Scales and zero points that are found at run time: only what a step of FACTORS writes is read as such, whoever wrote the blob. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/blob_builder.h"
#include "tests/unit/support/honest.h"

/* A layer of K inputs and N outputs: x, its ends, the numbers and others of their shape, bytes, sums. */
enum { K = 8, N = 16, NUMBERS = MORSEL_FORMAT_NUMBERS + 2 * N };
enum { T_X, T_ENDS, T_NUMBERS, T_BYTES, T_SUMS, T_GIVEN, T_STORED, T_COPY, T_COUNT };
enum { S_RANGE, S_FACTORS, S_COPY, S_QUANTIZE, S_FC, S_COUNT };

struct made {
    uint8_t *bytes;
    uint32_t count;
};

static void add_tensors(struct builder *b) {
    static const float stored[NUMBERS] = {1};
    static const uint32_t numbers[] = {NUMBERS};
    builder_tensor(b, MORSEL_FLOAT32, 2, (uint32_t[]){1, K}, 1, 0);
    builder_tensor(b, MORSEL_FLOAT32, 2, (uint32_t[]){1, 2}, 1, 0);
    builder_tensor(b, MORSEL_FLOAT32, 1, numbers, 1, 0);
    builder_tensor(b, MORSEL_UINT8, 2, (uint32_t[]){1, K}, 1, 0);
    builder_tensor(b, MORSEL_FLOAT32, 2, (uint32_t[]){1, N}, 1, 0);
    builder_tensor(b, MORSEL_FLOAT32, 1, numbers, 1, 0);
    builder_constant(b, MORSEL_FLOAT32, 1, numbers, 1, 0, stored);
    builder_tensor(b, MORSEL_FLOAT32, 1, numbers, 1, 0);
}

/* QUANTIZE and DYNAMIC_FC take their numbers from these tensors. */
static struct made make(uint32_t for_bytes, uint32_t for_sums) {
    struct builder b;
    static const int8_t weights[N * K] = {1};
    static const float factors[N] = {1};
    struct made made;
    builder_start(&b);
    add_tensors(&b);
    uint32_t zeros = builder_data(&b, (int32_t[N]){0}, 4 * N), ones = builder_data(&b, factors, sizeof factors);
    struct morsel_blob_range range = {K};
    struct morsel_blob_factors found = {1, N, ones, 0};
    struct morsel_blob_unary copy = {.op = MORSEL_UNARY_IDENTITY, .count = NUMBERS, .channels = 1};
    struct morsel_blob_quantize quantize = {1, K};
    struct morsel_blob_fc fc = {1, K, N, {.bias = zeros, .multiplier = ones, .float_min = -9, .float_max = 9}};
    fc.sums.weights = builder_data(&b, weights, sizeof weights);
    fc.sums.weight_sum = builder_data(&b, (int32_t[N]){0}, 4 * N);
    builder_step(&b, MORSEL_STEP_RANGE, (uint32_t[]){T_X}, 1, T_ENDS, &range, sizeof range, 0);
    builder_step(&b, MORSEL_STEP_FACTORS, (uint32_t[]){T_ENDS}, 1, T_NUMBERS, &found, sizeof found, 0);
    builder_step(&b, MORSEL_STEP_UNARY, (uint32_t[]){T_NUMBERS}, 1, T_COPY, &copy, sizeof copy, 0);
    builder_step(&b, MORSEL_STEP_QUANTIZE, (uint32_t[]){T_X, for_bytes}, 2, T_BYTES, &quantize, sizeof quantize, 0);
    builder_step(&b, MORSEL_STEP_DYNAMIC_FC, (uint32_t[]){T_BYTES, for_sums}, 2, T_SUMS, &fc, sizeof fc, 0);
    builder_input(&b, T_X, "x");
    builder_input(&b, T_GIVEN, "given");
    builder_output(&b, T_SUMS, "y");
    made.bytes = builder_finish(&b, &made.count);
    honest_make(made.bytes);
    return made;
}

/* Where another step, an input or a constant of the same shape stands in, the step that reads it is refused. */
static void only_factors_give_numbers(void **state) {
    (void)state;
    static const uint32_t kinds[] = {T_NUMBERS, T_GIVEN, T_STORED, T_COPY};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 4; k++) {
            struct made made = make(kinds[i], kinds[k]);
            struct morsel_model model;
            uint32_t index;
            enum morsel_error error = morsel_open(&model, made.bytes, made.count, 0);
            assert_int_equal(error, i || k ? MORSEL_ERR_ORDER : MORSEL_OK);
            if (error) {
                assert_int_equal(morsel_open_part(&model, &index), MORSEL_PART_STEP);
                assert_int_equal(index, i ? S_QUANTIZE : S_FC);
            }
            free(made.bytes);
        }
}

/* A tensor that is a result of FACTORS by its own word alone. */
static void numbers_are_those_of_the_step_that_writes_them(void **state) {
    (void)state;
    struct made made = make(T_GIVEN, T_NUMBERS);
    struct morsel_blob_header *h = (void *)made.bytes;
    struct morsel_blob_tensor *tensors = (void *)(made.bytes + h->tensors.offset);
    struct morsel_model model;
    uint32_t index;
    tensors[T_GIVEN].first_step = S_FACTORS;
    assert_int_equal(morsel_open(&model, made.bytes, made.count, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_ORDER);
    assert_int_equal(morsel_open_part(&model, &index), MORSEL_PART_TENSOR);
    assert_int_equal(index, T_GIVEN);
    free(made.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_factors_give_numbers),
        cmocka_unit_test(numbers_are_those_of_the_step_that_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
