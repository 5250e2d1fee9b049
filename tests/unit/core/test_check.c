/* SPDX-License-Identifier: MIT */
/* Which part of a blob an error is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/sample_blob.h"

#define INT_AT(offset, i) (((int32_t *)(void *)(b.bytes + (offset)))[i])

/* The part that morsel_open() names after the damage. */
#define BLAMED(which, number, ...) \
    do { \
        struct blob b = sample(); \
        struct morsel_model model; \
        uint32_t index = 99; \
        __VA_ARGS__; \
        assert_int_not_equal(morsel_open(&model, b.bytes, b.count, MORSEL_SKIP_CHECKSUM), MORSEL_OK); \
        if (morsel_open_part(&model, &index) != (which) || index != (number)) \
            fail_msg("%s: part %u, number %u", #__VA_ARGS__, (unsigned)morsel_open_part(&model, NULL), index); \
        free(b.bytes); \
    } while (0)

static void errors_name_their_part(void **state) {
    (void)state;
    BLAMED(MORSEL_PART_BLOB, 0, b.header->magic[0] = 'm');
    BLAMED(MORSEL_PART_BLOB, 0, b.header->tensors.count = 0);
    BLAMED(MORSEL_PART_BLOB, 0, b.header->data.offset = 1);
    BLAMED(MORSEL_PART_BLOB, 0, b.header->name = b.header->strings.count);
    BLAMED(MORSEL_PART_BLOB, 0, b.picture->resize = 3);
    BLAMED(MORSEL_PART_LABEL, 1, INT_AT(b.header->labels.offset, 1) = -1);
    BLAMED(MORSEL_PART_TENSOR, T_MEAN, b.tensors[T_MEAN].name = 100000);
    BLAMED(MORSEL_PART_TENSOR, T_LUT, b.tensors[T_LUT].scale = 0);
    BLAMED(MORSEL_PART_TENSOR, T_LUT, b.tensors[T_LUT].first_step = S_COUNT); /* order */
    BLAMED(MORSEL_PART_TENSOR, T_MATMUL, b.tensors[T_FLOAT].offset = b.tensors[T_MATMUL].offset);
    BLAMED(MORSEL_PART_STEP, S_MEAN, b.steps[S_MEAN].name = 100000);
    BLAMED(MORSEL_PART_STEP, S_LUT, b.steps[S_LUT].kind = 0);
    BLAMED(MORSEL_PART_STEP, S_LUT, b.steps[S_LUT].parameters += 1);
    BLAMED(MORSEL_PART_STEP, S_MATMUL, ((struct morsel_blob_matmul *)parameters(&b, S_MATMUL))->inner += 1);
    BLAMED(MORSEL_PART_STEP, S_LUT, INT_AT(b.header->operands.offset, b.steps[S_LUT].first_operand) = T_ADD);
    BLAMED(MORSEL_PART_STEP, S_CONV, b.steps[S_CONV].scratch_offset = b.tensors[T_IN].offset);
    BLAMED(MORSEL_PART_STEP, S_ADD, b.steps[S_ADD].group = 1);
    BLAMED(MORSEL_PART_INPUT, 0, b.inputs[0].onnx_rank = 7);
    BLAMED(MORSEL_PART_OUTPUT, 1, b.outputs[1].name = 100000);
    BLAMED(MORSEL_PART_OUTPUT, 0, b.tensors[b.outputs[0].tensor].last_step = S_COUNT - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_name_their_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
