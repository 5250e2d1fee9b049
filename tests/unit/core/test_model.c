/* SPDX-License-Identifier: MIT */
/* Opening damaged blobs: each kind of damage has its error, and none is worse than an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "core/checksum.h"
#include "tests/unit/support/damaged.h"

static void the_sample_opens(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 0), MORSEL_OK);
    assert_int_equal(morsel_arena_bytes(&model), b.header->arena_bytes);
    assert_int_equal(morsel_input_count(&model), 1);
    assert_int_equal(morsel_output_count(&model), 2);
    assert_string_equal(morsel_label(&model, 1), "dog");
    assert_null(morsel_label(&model, 2));
    assert_int_equal(morsel_label_count(&model), 2);
    assert_string_equal(morsel_network_name(&model), (const char *)b.bytes + b.header->strings.offset + b.header->name);
    uint32_t index = 9;
    assert_int_equal(morsel_open_part(&model, &index), MORSEL_PART_BLOB);
    assert_int_equal(index, 0);
    free(b.bytes);
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    assert_int_equal(morsel_open(NULL, b.bytes, b.count, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_open(&model, NULL, b.count, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 2), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_open(&model, b.bytes + 4, b.count - 4, 0), MORSEL_ERR_ALIGNMENT);
    for (uint32_t n = 0; n < b.count; n++) {
        uint8_t *cut = builder_aligned(n);
        memcpy(cut, b.bytes, n);
        assert_int_equal(morsel_open(&model, cut, n, 0), MORSEL_ERR_TRUNCATED);
        free(cut);
    }
    assert_int_equal(morsel_arena_bytes(NULL), 0);
    assert_int_equal(morsel_input_count(&model), 0);
    assert_int_equal(morsel_output_count(&model), 0);
    assert_null(morsel_label(&model, 0));
    assert_int_equal(morsel_label_count(&model), 0);
    assert_int_equal(morsel_label_count(NULL), 0);
    assert_string_equal(morsel_network_name(&model), "");
    assert_string_equal(morsel_network_name(NULL), "");
    assert_int_equal(morsel_open_part(NULL, NULL), MORSEL_PART_BLOB);
    free(b.bytes);
}

static void a_damaged_header_is_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_MAGIC, b.header->magic[7] = 0);
    DAMAGED(MORSEL_ERR_VERSION, b.header->format_version = MORSEL_FORMAT_VERSION + 1);
    DAMAGED(MORSEL_ERR_VERSION, b.header->format_version = 0);
    DAMAGED(MORSEL_ERR_TRUNCATED, b.header->blob_bytes += 1);
    DAMAGED(MORSEL_ERR_HEADER, b.header->blob_bytes = 100);
    DAMAGED(MORSEL_ERR_HEADER, b.header->tensors.count = 0);
    DAMAGED(MORSEL_ERR_HEADER, b.header->tensors.count = 0xffffffff);
    DAMAGED(MORSEL_ERR_HEADER, b.header->steps.count = MORSEL_FORMAT_MAX_STEPS + 1);
    DAMAGED(MORSEL_ERR_HEADER, b.header->inputs.count = MORSEL_FORMAT_MAX_IO + 1);
    DAMAGED(MORSEL_ERR_HEADER, b.header->outputs.count = 0);
    DAMAGED(MORSEL_ERR_HEADER, b.header->outputs.count = MORSEL_FORMAT_MAX_IO + 1);
    DAMAGED(MORSEL_ERR_HEADER, b.header->picture.count = 2);
    DAMAGED(MORSEL_ERR_HEADER, b.header->strings.count = 0);
    DAMAGED(MORSEL_ERR_HEADER, b.header->arena_bytes += 1);
    DAMAGED(MORSEL_ERR_HEADER, b.header->arena_bytes = 64);
    DAMAGED(MORSEL_ERR_HEADER, b.header->arena_bytes = 0x80000000);
    DAMAGED(MORSEL_ERR_SECTION, b.header->tensors.offset += 4);
    DAMAGED(MORSEL_ERR_SECTION, b.header->tensors.offset = 0);
    DAMAGED(MORSEL_ERR_SECTION, b.header->steps.offset = 0xffffffc0);
    DAMAGED(MORSEL_ERR_SECTION, b.header->operands.count = 0x40000001);
    DAMAGED(MORSEL_ERR_SECTION, b.header->labels.count = 0x40000000);
    DAMAGED(MORSEL_ERR_SECTION, b.header->strings.count = 0xffffffff);
    DAMAGED(MORSEL_ERR_SECTION, b.header->data.count = b.count);
    DAMAGED(MORSEL_ERR_SECTION, b.header->parameters.count = 0x3fffffff);
}

static void damaged_bytes_fail_the_checksum(void **state) {
    (void)state;
    struct blob b = sample();
    for (uint32_t i = 28; i < b.count; i++) { /* before that, errors of their own; 16..19 is the checksum */
        b.bytes[i] ^= 1;
        assert_int_equal(try_open(&b, 0), MORSEL_ERR_CHECKSUM);
        b.bytes[i] ^= 1;
    }
    b.header->checksum ^= 0x80000000;
    assert_int_equal(try_open(&b, 0), MORSEL_ERR_CHECKSUM);
    assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    free(b.bytes);
}

/* Any length, in a buffer that ends there; any one byte but those of the checksum itself counts, and so does the length. */
static void the_checksum_sees_every_byte(void **state) {
    (void)state;
    for (uint32_t n = sizeof(struct morsel_blob_header); n < 200; n++) {
        uint8_t *bytes = builder_aligned(n);
        for (uint32_t i = 0; i < n; i++) bytes[i] = (uint8_t)(i * i);
        uint32_t sum = morsel_checksum(bytes, n);
        for (uint32_t i = 0; i < n; i++) {
            int own = i >= offsetof(struct morsel_blob_header, checksum) && i < offsetof(struct morsel_blob_header, checksum) + 4;
            bytes[i] ^= 0x40;
            if ((morsel_checksum(bytes, n) == sum) != own) fail_msg("byte %u of %u", (unsigned)i, (unsigned)n);
            bytes[i] ^= 0x40;
        }
        if (n > sizeof(struct morsel_blob_header)) assert_int_not_equal(morsel_checksum(bytes, n - 1), sum);
        free(bytes);
    }
}

static void damaged_strings_are_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_STRING, b.header->name = b.header->strings.count);
    DAMAGED(MORSEL_ERR_STRING, b.bytes[b.header->strings.offset] = 'x');
    DAMAGED(MORSEL_ERR_STRING, b.bytes[b.header->strings.offset + b.header->strings.count - 1] = 'x');
    DAMAGED(MORSEL_ERR_STRING, INT_AT(b.header->labels.offset, 1) = -1);
    DAMAGED(MORSEL_ERR_STRING, b.tensors[T_MEAN].name = 100000);
    DAMAGED(MORSEL_ERR_STRING, b.steps[S_MEAN].name = 100000);
    DAMAGED(MORSEL_ERR_STRING, b.inputs[0].name = 100000);
    DAMAGED(MORSEL_ERR_STRING, b.outputs[1].name = 100000);
}

static void damaged_tensors_are_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_TENSOR, b.tensors[T_LUT].type = 4);
    DAMAGED(MORSEL_ERR_TENSOR, b.tensors[T_LUT].layout = 2);
    DAMAGED(MORSEL_ERR_TENSOR, b.tensors[T_LUT].rank = 7);
    DAMAGED(MORSEL_ERR_TENSOR, b.tensors[T_LUT].place = 2);
    DAMAGED(MORSEL_ERR_TENSOR, b.inputs[0].tensor = T_COUNT);
    DAMAGED(MORSEL_ERR_TENSOR, b.outputs[0].tensor = T_CONSTANT);
    DAMAGED(MORSEL_ERR_TENSOR, b.inputs[0].onnx_type = 9);
    DAMAGED(MORSEL_ERR_TENSOR, b.inputs[0].onnx_rank = 7);
    DAMAGED(MORSEL_ERR_SHAPE, b.tensors[T_LUT].dims[0] = 0);
    DAMAGED(MORSEL_ERR_SHAPE, b.tensors[T_LUT].dims[0] = 0x80000001);
    DAMAGED(MORSEL_ERR_SHAPE, b.tensors[T_LUT].dims[5] = 2);
    DAMAGED(MORSEL_ERR_SHAPE, b.tensors[T_LUT].bytes += 1);
    DAMAGED(MORSEL_ERR_SHAPE, b.tensors[T_IN].dims[0] = 0x10000, b.tensors[T_IN].dims[1] = 0x10000);
    DAMAGED(MORSEL_ERR_SHAPE, b.inputs[0].onnx_dims[2] = 5);
    DAMAGED(MORSEL_ERR_SHAPE, b.inputs[0].onnx_dims[1] = 4, b.inputs[0].onnx_dims[2] = 3);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].scale = 0);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].scale = -1);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].scale = NAN);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].scale = INFINITY);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].zero_point = 256);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_CONSTANT].zero_point = -129);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_FLOAT].scale = 2);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_FLOAT].zero_point = 1);
    DAMAGED(MORSEL_ERR_CONSTANT, b.tensors[T_CONSTANT].offset += 1);
    DAMAGED(MORSEL_ERR_CONSTANT, b.tensors[T_CONSTANT].offset = b.header->tensors.offset);
    DAMAGED(MORSEL_ERR_CONSTANT, b.tensors[T_CONSTANT].offset = 0xffffffc0);
}

static void damaged_steps_are_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_LUT].kind = 0);
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_LUT].kind = MORSEL_STEP_KIND_COUNT);
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_LUT].input_count = 0);
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_LUT].input_count = 2);
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_LUT].output_count = 2);
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_CONCAT].input_count = 0xffffffff);
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_LUT].first_operand = 0xffffffff);
    DAMAGED(MORSEL_ERR_STEP, INT_AT(b.header->operands.offset, 0) = T_COUNT);
    DAMAGED(MORSEL_ERR_STEP, b.tensors[T_LUT].place = 1, b.tensors[T_LUT].offset = b.header->data.offset);
    DAMAGED(MORSEL_ERR_STEP, b.steps[S_UNARY].kind = MORSEL_STEP_AVERAGE_POOL);
    DAMAGED(MORSEL_ERR_PARAMETER, b.steps[S_LUT].parameters += 1);
    DAMAGED(MORSEL_ERR_PARAMETER, b.steps[S_LUT].parameters = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, b.steps[S_LUT].parameters = 0xfffffffc);
    DAMAGED(MORSEL_ERR_PARAMETER, b.header->parameters.count -= 1);
}

static void damaged_windows_are_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.kernel_h = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.kernel_w = 65);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.stride_h = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.stride_w = 0x80000000);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.dilation_h = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.dilation_w = 0xffffffff);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.pad_top = 0xffffffff);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->window.pad_left = 2);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->groups = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->groups = 2);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_DEPTHWISE)->groups = 1);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->sums.out_min = -1);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->sums.out_max = 256);
    DAMAGED(MORSEL_ERR_PARAMETER, CONV(S_CONV)->sums.out_min = 9, CONV(S_CONV)->sums.out_max = 8);
    DAMAGED(MORSEL_ERR_PARAMETER, b.steps[S_CONV].scratch_bytes = 11);
    DAMAGED(MORSEL_ERR_PARAMETER, b.tensors[T_MAX].rank = 3, b.tensors[T_MAX].dims[2] = 6, b.tensors[T_MAX].dims[3] = 1);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.weights += 1);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.weights = 0);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.weights = b.header->data.offset + b.header->data.count - 64);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.bias = 0);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.multiplier = 4);
    DAMAGED(MORSEL_ERR_CONSTANT, FLOAT_AT(CONV(S_CONV)->sums.multiplier, 15) = NAN);
    DAMAGED(MORSEL_ERR_CONSTANT, FLOAT_AT(CONV(S_CONV)->sums.multiplier, 2) = INFINITY);
    DAMAGED(MORSEL_ERR_CONSTANT, INT_AT(CONV(S_CONV)->sums.weight_zero, 0) = 128);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.weight_sum = 0xffffffc0);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.float_bias = 0x7fffffc0);
    DAMAGED(MORSEL_ERR_CONSTANT, CONV(S_CONV)->sums.proofs += 1);
    DAMAGED(MORSEL_ERR_CONSTANT, FC->sums.proofs = b.header->data.offset + b.header->data.count);
    DAMAGED(MORSEL_ERR_PARAMETER, POOL(S_MAX)->window.stride_h = 1);
    DAMAGED(MORSEL_ERR_PARAMETER, POOL(S_MAX)->window.kernel_h = 70);
    DAMAGED(MORSEL_ERR_PARAMETER, POOL(S_MAX)->count_include_pad = 2);
    DAMAGED(MORSEL_ERR_PARAMETER, POOL(S_MAX)->out_max = 300);
    DAMAGED(MORSEL_OK, b.tensors[T_MAX].zero_point = 4); /* a maximum takes bytes as they are */
    DAMAGED(MORSEL_ERR_PARAMETER, POOL(S_AVERAGE)->window.dilation_h = 2, POOL(S_AVERAGE)->window.pad_bottom = 1);
}

static void damaged_elements_are_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_PARAMETER, FC->inputs = 7);
    DAMAGED(MORSEL_ERR_PARAMETER, FC->rows = 0x80000001, FC->outputs = 10);
    DAMAGED(MORSEL_ERR_PARAMETER, FC->sums.out_max = 256);
    DAMAGED(MORSEL_ERR_CONSTANT, FC->sums.weights += 4);
    DAMAGED(MORSEL_ERR_CONSTANT, FC->sums.bias = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, MATMUL->inner = 6);
    DAMAGED(MORSEL_ERR_PARAMETER, MATMUL->batch = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, MATMUL->b_batch = 2);
    DAMAGED(MORSEL_ERR_PARAMETER, MATMUL->a_divide = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, MATMUL->b_divide = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, MATMUL->multiplier = NAN);
    DAMAGED(MORSEL_ERR_PARAMETER, MATMUL->out_min = 256);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->op = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->op = MORSEL_BINARY_OP_COUNT);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->rank = 7);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->rank = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->dims[0] = 5);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->a_stride[0] = 4);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->b_stride[0] = 0xffffffff);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->a_ratio = NAN);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->b_ratio = 1e38f);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->offset = INFINITY);
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->op = MORSEL_BINARY_ADD, BINARY->float_min = NAN);
    DAMAGED(MORSEL_ERR_PARAMETER, UNARY->op = MORSEL_UNARY_OP_COUNT);
    DAMAGED(MORSEL_ERR_PARAMETER, UNARY->count = 4);
    DAMAGED(MORSEL_ERR_PARAMETER, UNARY->alpha = NAN);
    DAMAGED(MORSEL_ERR_PARAMETER, UNARY->channels = 0);
    DAMAGED(MORSEL_ERR_CONSTANT, UNARY->affine_scale = 0);
    DAMAGED(MORSEL_ERR_CONSTANT, FLOAT_AT(UNARY->affine_offset, 0) = NAN);
    DAMAGED(MORSEL_ERR_PARAMETER, LUT->count = 13);
    DAMAGED(MORSEL_ERR_PARAMETER, LUT->inner = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, LUT->channels = 0);
    DAMAGED(MORSEL_ERR_CONSTANT, LUT->channels = 0xffffffff);
    DAMAGED(MORSEL_ERR_CONSTANT, LUT->table = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, MEAN->count = 5);
    DAMAGED(MORSEL_ERR_PARAMETER, MEAN->outer = 2, MEAN->count = 2);
    DAMAGED(MORSEL_ERR_PARAMETER, MEAN->multiplier = INFINITY);
    DAMAGED(MORSEL_ERR_PARAMETER, MEAN->out_min = -1);
    DAMAGED(MORSEL_ERR_PARAMETER, SOFTMAX->count = 6);
    DAMAGED(MORSEL_ERR_CONSTANT, SOFTMAX->table += 8);
    DAMAGED(MORSEL_ERR_CONSTANT, FLOAT_AT(SOFTMAX->table, 255) = NAN);
    DAMAGED(MORSEL_ERR_CONSTANT, FLOAT_AT(SOFTMAX->table, 3) = -1);
    DAMAGED(MORSEL_ERR_PARAMETER, CONCAT->outer = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, CONCAT->inner[0] = 4);
    DAMAGED(MORSEL_ERR_PARAMETER, CONCAT->inner[1] = 0x40000003);
    DAMAGED(MORSEL_ERR_PARAMETER, GATHER->rank = 0);
    DAMAGED(MORSEL_ERR_PARAMETER, GATHER->dims[1] = 7);
    DAMAGED(MORSEL_ERR_CONSTANT, GATHER->table = 4);
    DAMAGED(MORSEL_ERR_CONSTANT, INT_AT(GATHER->table, 0) = -2);
    DAMAGED(MORSEL_ERR_CONSTANT, INT_AT(GATHER->table, 0) = 19);
    DAMAGED(MORSEL_ERR_CONSTANT, INT_AT(GATHER->table, 9) = 0x7fffffff);
}

/* Moves a constant to the spare bytes and lets the data end right behind it: that opens, one byte less does not. */
#define ENDS_AT(field, size) \
    do { \
        MISSHAPEN(MORSEL_OK, field = b.spare, b.header->data.count = b.spare - b.header->data.offset + (size)); \
        MISSHAPEN(MORSEL_ERR_CONSTANT, field = b.spare, b.header->data.count = b.spare - b.header->data.offset + (size)-1); \
    } while (0)

static void constants_end_within_the_data(void **state) {
    (void)state;
    ENDS_AT(CONV(S_CONV)->sums.weights, 3 * 12 * 16); /* 3 rows of pad4(3 * 3), sixteen channels */
    ENDS_AT(CONV(S_CONV)->sums.bias, 64);
    ENDS_AT(CONV(S_CONV)->sums.multiplier, 64);
    ENDS_AT(CONV(S_CONV)->sums.weight_sum, 64);
    ENDS_AT(CONV(S_CONV)->sums.weight_zero, 64);
    ENDS_AT(CONV(S_CONV)->sums.float_bias, 64);
    ENDS_AT(CONV(S_CONV)->sums.proofs, 1);
    ENDS_AT(CONV(S_DEPTHWISE)->sums.weights, 3 * 4 * 16);
    ENDS_AT(CONV(S_DEPTHWISE)->sums.bias, 64);
    ENDS_AT(FC->sums.weights, 16 * 8);
    ENDS_AT(FC->sums.multiplier, 64);
    ENDS_AT(LUT->table, 256);
    ENDS_AT(UNARY->affine_scale, 20);
    ENDS_AT(UNARY->affine_offset, 20);
    ENDS_AT(SOFTMAX->table, 1024);
    ENDS_AT(GATHER->table, 40);
    ENDS_AT(b.tensors[T_CONSTANT].offset, 10);
}

static void values_at_their_limits_open(void **state) {
    (void)state;
    DAMAGED(MORSEL_OK, b.tensors[T_LUT].zero_point = 255);
    DAMAGED(MORSEL_OK, b.tensors[T_CONSTANT].zero_point = -128);
    DAMAGED(MORSEL_OK, b.tensors[T_CONSTANT].zero_point = 127);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_CONSTANT].zero_point = 128);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].zero_point = -1);
    MISSHAPEN(MORSEL_OK, INT_AT(CONV(S_CONV)->sums.weight_zero, 0) = 127, INT_AT(CONV(S_CONV)->sums.weight_zero, 1) = -128);
    DAMAGED(MORSEL_ERR_CONSTANT, INT_AT(CONV(S_CONV)->sums.weight_zero, 15) = -129);
    DAMAGED(MORSEL_OK, INT_AT(GATHER->table, 0) = 18);                    /* 18 + 5 is the last element of 24 */
    DAMAGED(MORSEL_OK, BINARY->a_stride[0] = 0, BINARY->a_stride[1] = 5); /* 2 * 5 of 12 */
    DAMAGED(MORSEL_ERR_PARAMETER, BINARY->a_stride[0] = 0, BINARY->a_stride[1] = 6);
    DAMAGED(MORSEL_OK, CONV(S_CONV)->sums.out_min = 255, CONV(S_CONV)->sums.out_max = 255);
    DAMAGED(MORSEL_OK, UNARY->op = MORSEL_UNARY_CLIP, UNARY->alpha = -INFINITY, UNARY->beta = INFINITY);
    DAMAGED(MORSEL_ERR_PARAMETER, UNARY->op = MORSEL_UNARY_CLIP, UNARY->beta = NAN);
    DAMAGED(MORSEL_ERR_PARAMETER, UNARY->op = MORSEL_UNARY_EXP, UNARY->beta = INFINITY);
    DAMAGED(MORSEL_OK, b.steps[S_CONV].scratch_bytes = 64);
    DAMAGED(MORSEL_OK, b.header->name = b.header->strings.count - 1);
}

/* The table step writes over its input, which nobody reads later. */
static void replace_lut_input(struct blob *b) {
    int32_t *operands = (int32_t *)(void *)(b->bytes + b->header->operands.offset);
    operands[b->steps[S_ADD].first_operand + 1] = T_LUT;
    b->tensors[T_AVERAGE].last_step = S_LUT;
    b->tensors[T_LUT].offset = b->tensors[T_AVERAGE].offset;
}

static void damaged_plans_are_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_LUT].offset += 4);
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_LUT].offset = 0);
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_LUT].offset = b.header->arena_bytes);
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_LUT].offset = 0xffffffc0);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset += 4);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = 64);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = b.header->arena_bytes);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_bytes = 0xffffffff);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = b.tensors[T_IN].offset);
    DAMAGED(MORSEL_ERR_PLAN, b.steps[S_CONV].scratch_offset = b.tensors[T_CONV].offset);
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_CONV].offset = b.tensors[T_IN].offset);
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_LUT].offset = b.tensors[T_AVERAGE].offset);  /* T_AVERAGE is read later */
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_FLOAT].offset = b.tensors[T_MATMUL].offset); /* both are outputs */
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_ADD].offset = b.tensors[T_AVERAGE].offset, BINARY->b_stride[0] = 0);
    DAMAGED(MORSEL_OK, b.tensors[T_ADD].offset = b.tensors[T_AVERAGE].offset);
    DAMAGED(MORSEL_OK, b.tensors[T_DEPTHWISE].offset = b.tensors[T_IN].offset);
    DAMAGED(MORSEL_OK, replace_lut_input(&b));
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_AVERAGE].offset = b.tensors[T_MAX].offset); /* a pool reads its neighbours */
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_MAX].offset = b.tensors[T_DEPTHWISE].offset);
    DAMAGED(MORSEL_ERR_PLAN, b.tensors[T_GATHER].offset = b.tensors[T_CONCAT].offset);
    DAMAGED(MORSEL_OK, b.steps[S_DEPTHWISE].scratch_offset = b.tensors[T_IN].offset);
    DAMAGED(MORSEL_OK, b.steps[S_CONV].scratch_offset = b.tensors[T_DEPTHWISE].offset); /* written by the next step */
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_LUT].first_step = S_ADD);
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_LUT].first_step = S_COUNT);
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_LUT].first_step = MORSEL_STEP_BEFORE);
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_LUT].last_step = S_LUT);
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_LUT].last_step = S_COUNT + 1);
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_LUT].last_step = MORSEL_STEP_BEFORE);
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_CONSTANT].first_step = 0);
    DAMAGED(MORSEL_ERR_ORDER, b.tensors[T_FLOAT].last_step = S_MATMUL);
    DAMAGED(MORSEL_ERR_ORDER, INT_AT(b.header->operands.offset, b.steps[S_LUT].first_operand) = T_ADD); /* written later */
    DAMAGED(MORSEL_ERR_ORDER, INT_AT(b.header->operands.offset, b.steps[S_ADD].first_operand) = T_ADD); /* written by itself */
    DAMAGED(MORSEL_ERR_ORDER, b.header->inputs.count = 0, b.header->picture.count = 0);
}

static void damaged_pictures_are_refused(void **state) {
    (void)state;
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->input = 1);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize = 3);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->channels = 3);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->channels = MORSEL_CHANNELS_GRAY);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize_height = 0);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize_width = 6);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize_height = b.picture->resize_width = 40000);
    DAMAGED(MORSEL_OK, b.picture->resize_height = b.picture->resize_width = 3); /* a crop larger than that is padded with black */
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->crop_height = 5);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->crop_height = b.picture->crop_width = 0);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->scale = NAN);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->mean[1] = INFINITY);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->std[2] = 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_opens),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_damaged_header_is_refused),
        cmocka_unit_test(damaged_bytes_fail_the_checksum),
        cmocka_unit_test(the_checksum_sees_every_byte),
        cmocka_unit_test(damaged_strings_are_refused),
        cmocka_unit_test(damaged_tensors_are_refused),
        cmocka_unit_test(damaged_steps_are_refused),
        cmocka_unit_test(damaged_windows_are_refused),
        cmocka_unit_test(damaged_elements_are_refused),
        cmocka_unit_test(constants_end_within_the_data),
        cmocka_unit_test(values_at_their_limits_open),
        cmocka_unit_test(damaged_plans_are_refused),
        cmocka_unit_test(damaged_pictures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
