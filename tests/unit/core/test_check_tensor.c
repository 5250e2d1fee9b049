/* SPDX-License-Identifier: MIT */
/* Sizes of tensors that leave 31 bits: refused at open, whatever bytes they state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/support/sample_blob.h"

/* 2^29 floats from one byte amid padding, which nobody reads: 2^31 bytes, one too many for 31 bits, must not pass as none. */
static void a_tensor_too_large_to_count_is_refused(void **state) {
    (void)state;
    struct builder b;
    struct morsel_model model;
    uint32_t count, index, dims[4] = {1, 0x8000, 0x4000, 1}, one[4] = {1, 1, 1, 1};
    float weights[8] = {1};
    builder_start(&b);
    builder_tensor(&b, MORSEL_UINT8, 4, one, 1, 0);
    builder_tensor(&b, MORSEL_FLOAT32, 4, one, 1, 0);
    builder_tensor(&b, MORSEL_FLOAT32, 4, one, 1, 0);
    struct morsel_blob_float_conv conv = {.window = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, .groups = 1, .float_min = -1, .float_max = 1};
    conv.weights = builder_data(&b, weights, sizeof weights);
    builder_step(&b, MORSEL_STEP_FLOAT_CONV, (uint32_t[]){0}, 1, 2, &conv, sizeof conv, 0);
    conv.window.pad_top = dims[1] - 1, conv.window.pad_left = dims[2] - 1;
    builder_step(&b, MORSEL_STEP_FLOAT_CONV, (uint32_t[]){0}, 1, 1, &conv, sizeof conv, 0);
    builder_input(&b, 0, "x");
    builder_output(&b, 2, "y");
    uint8_t *bytes = builder_finish(&b, &count);
    struct morsel_blob_tensor *y =
        (struct morsel_blob_tensor *)(void *)(bytes + ((struct morsel_blob_header *)(void *)bytes)->tensors.offset) + 1;
    memcpy(y->dims, dims, sizeof dims);
    for (uint32_t i = 0; i < 3; i++) {
        y->bytes = i == 0 ? 0 : i == 1 ? 0x80000000 : 4;
        builder_seal(bytes);
        assert_int_equal(morsel_open(&model, bytes, count, 0), MORSEL_ERR_SHAPE);
        assert_int_equal(morsel_open_part(&model, &index), MORSEL_PART_TENSOR);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_tensor_too_large_to_count_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
