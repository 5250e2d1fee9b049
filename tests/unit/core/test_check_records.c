/* SPDX-License-Identifier: MIT */
/* Tensors, inputs, outputs and the picture rule at their limits: the last value that opens, and the first that does not. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/damaged.h"

/* Copies a section to the spare bytes, where more records can stand behind it. */
static void *move_section(struct blob *b, struct morsel_blob_section *s, uint32_t record) {
    memcpy(b->bytes + b->spare, b->bytes + s->offset, (size_t)s->count * record);
    s->offset = b->spare;
    return b->bytes + b->spare;
}

/* A bad record behind a section does no harm; as one more of it, it does. */
#define BEHIND(error, section, type, bad, ...) \
    do { \
        for (int more_ = 0; more_ < 2; more_++) { \
            struct blob b = sample(); \
            type *records = move_section(&b, &b.header->section, sizeof *records); \
            records[b.header->section.count] = records[0]; \
            records[b.header->section.count] bad; \
            __VA_ARGS__; \
            b.header->section.count += (uint32_t)more_; \
            assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), more_ ? (error) : MORSEL_OK); \
            free(b.bytes); \
        } \
    } while (0)

static void what_stands_behind_a_section_is_not_its_own(void **state) {
    (void)state;
    BEHIND(MORSEL_ERR_STRING, labels, uint32_t, = 0xffffffff);
    BEHIND(MORSEL_ERR_TENSOR, tensors, struct morsel_blob_tensor, .type = 9);
    BEHIND(MORSEL_ERR_SHAPE, inputs, struct morsel_blob_io, .onnx_dims[0] = 9);
    BEHIND(MORSEL_ERR_TENSOR, inputs, struct morsel_blob_io, .tensor = T_CONSTANT);
    BEHIND(MORSEL_ERR_STRING, outputs, struct morsel_blob_io, .name = 0xffffffff);
    BEHIND(MORSEL_ERR_STRING, steps, struct morsel_blob_step, .name = 0xffffffff);
}

static void strings_begin_and_end_with_0(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_OK, b.bytes[b.header->strings.offset + b.header->strings.count] = 'x'); /* behind them */
    MISSHAPEN(MORSEL_ERR_STRING, b.bytes[b.header->strings.offset + b.header->strings.count] = 'x', b.header->strings.count++);
    MISSHAPEN(MORSEL_ERR_STRING, b.bytes[b.header->strings.offset] = 'x');
    MISSHAPEN(MORSEL_OK, b.tensors[T_LUT].name = b.header->strings.count - 1);
    MISSHAPEN(MORSEL_ERR_STRING, b.tensors[T_LUT].name = b.header->strings.count);
}

static void unused_dimensions_are_1(void **state) {
    (void)state;
    for (uint32_t k = 2; k < 6; k++) {
        MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_LUT].dims[k] = 2);
        MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_LUT].dims[k] = 0);
    }
    MISSHAPEN(MORSEL_OK, b.tensors[T_LUT].rank = 6);
    MISSHAPEN(MORSEL_OK, b.tensors[T_LUT].rank = 6, b.tensors[T_LUT].dims[1] = 1, b.tensors[T_LUT].dims[5] = 3);
    MISSHAPEN(MORSEL_ERR_TENSOR, b.tensors[T_LUT].rank = 7);
    MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_LUT].rank = 1);
    MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_LUT].bytes = 11);
    MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_FLOAT].bytes = 5);
}

/* What comes after the shape of a ring is the plan's. */
static void rings_are_rows_of_pictures_in_the_arena(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_LUT].ring_rows = 1); /* of rank 2 */
    MISSHAPEN(MORSEL_ERR_PLAN, b.tensors[T_CONV].ring_rows = 4);
    MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_CONV].ring_rows = 5);
    MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_CONV].ring_rows = 4, b.tensors[T_CONV].place = 1, b.tensors[T_CONV].offset = b.spare);
}

static void scales_are_positive_and_finite(void **state) {
    (void)state;
    DAMAGED(MORSEL_OK, b.tensors[T_LUT].scale = FLT_MIN);
    DAMAGED(MORSEL_OK, b.tensors[T_LUT].scale = FLT_MAX);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].scale = -FLT_MIN);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_LUT].scale = -0.0f);
    DAMAGED(MORSEL_OK, b.tensors[T_LUT].zero_point = 0);
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_FLOAT].scale = nextafterf(1, 2));
    DAMAGED(MORSEL_ERR_QUANTIZATION, b.tensors[T_FLOAT].zero_point = -1);
}

/* Three of 64 bytes: x, its table's y, and so on; slots, then one behind the other. */
static uint8_t *chain(uint32_t *count, struct morsel_blob_tensor **tensors) {
    struct builder b;
    static const uint8_t table[256];
    builder_start(&b);
    for (int i = 0; i < 3; i++) builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){2, 32}, 1, 0);
    struct morsel_blob_lut lut = {64, 1, 1, builder_data(&b, table, 256)};
    builder_step(&b, MORSEL_STEP_LUT, (uint32_t[]){0}, 1, 1, &lut, sizeof lut, 0);
    builder_step(&b, MORSEL_STEP_LUT, (uint32_t[]){1}, 1, 2, &lut, sizeof lut, 0);
    builder_input(&b, 0, "x");
    builder_output(&b, 2, "y");
    uint8_t *blob = builder_finish(&b, count);
    *tensors = (void *)(blob + ((struct morsel_blob_header *)(void *)blob)->tensors.offset);
    return blob;
}

static void slices_lie_between_the_slots_and_the_end(void **state) {
    (void)state;
    struct morsel_blob_tensor *tensors;
    struct morsel_model model;
    uint32_t count, slots = 2 * MORSEL_FORMAT_STEP_SLOT;
    uint8_t *blob = chain(&count, &tensors);
    struct morsel_blob_header *h = (void *)blob;
    assert_int_equal(tensors[0].offset, slots);
    assert_int_equal(tensors[2].offset + 64, h->arena_bytes);
    assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    h->arena_bytes -= 64;
    assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_PLAN);
    h->arena_bytes += 64;
    tensors[0].offset = slots - 64;
    assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_PLAN);
    h->arena_bytes += 64;
    for (uint32_t by = 1; by < 64; by++) {
        tensors[0].offset = h->arena_bytes - 128 + by;
        assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_PLAN);
    }
    free(blob);
}

/* With 64 steps, a slice in the last 64 bytes of their slots. */
static void slices_begin_behind_the_last_slot(void **state) {
    (void)state;
    enum { STEPS = 64 };
    static const uint8_t table[256];
    struct builder b;
    struct morsel_model model;
    uint32_t count;
    builder_start(&b);
    for (int i = 0; i <= STEPS; i++) builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){2, 32}, 1, 0);
    struct morsel_blob_lut lut = {64, 1, 1, builder_data(&b, table, 256)};
    for (uint32_t i = 0; i < STEPS; i++) builder_step(&b, MORSEL_STEP_LUT, &i, 1, i + 1, &lut, sizeof lut, 0);
    builder_input(&b, 0, "x");
    builder_output(&b, STEPS, "y");
    uint8_t *blob = builder_finish(&b, &count);
    struct morsel_blob_tensor *x = (void *)(blob + ((struct morsel_blob_header *)(void *)blob)->tensors.offset);
    assert_int_equal(x->offset, STEPS * MORSEL_FORMAT_STEP_SLOT);
    assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    x->offset -= 64;
    assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_PLAN);
    free(blob);
}

/* --- Inputs and outputs --- */

static void shapes_of_inputs_are_their_tensors(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_OK, b.inputs[0].onnx_rank = 2, b.inputs[0].onnx_dims[0] = 6, b.inputs[0].onnx_dims[1] = 8);
    MISSHAPEN(MORSEL_OK, b.inputs[0].onnx_rank = 6, b.inputs[0].onnx_dims[0] = 3, b.inputs[0].onnx_dims[1] = 1);
    MISSHAPEN(MORSEL_ERR_TENSOR, b.inputs[0].onnx_rank = 7);
    MISSHAPEN(MORSEL_OK, b.inputs[0].onnx_type = MORSEL_FLOAT32);
    MISSHAPEN(MORSEL_ERR_TENSOR, b.inputs[0].onnx_type = MORSEL_FLOAT32 + 1);
    MISSHAPEN(MORSEL_ERR_TENSOR, b.inputs[0].tensor = T_COUNT);
    MISSHAPEN(MORSEL_ERR_TENSOR, b.header->tensors.count = T_MATMUL); /* behind them stands what is one */
    MISSHAPEN(MORSEL_OK, b.inputs[0].name = b.header->strings.count - 1);
    MISSHAPEN(MORSEL_ERR_STRING, b.inputs[0].name = b.header->strings.count);
}

/* Every order of four different dimensions: only N C H W is right for N H W C, any for a tensor in row-major order. */
static void shapes_of_channels_last_are_in_order(void **state) {
    (void)state;
    static const uint32_t dims[4] = {2, 3, 4, 5};
    for (uint32_t order = 0; order < 256; order++) {
        uint32_t at[4] = {order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6};
        if (1u << at[0] ^ 1u << at[1] ^ 1u << at[2] ^ 1u << at[3] ^ 15) continue;
        for (uint32_t rank = 3; rank <= 4; rank++) {
            struct builder b;
            struct morsel_model model;
            uint32_t count, elements = rank == 4 ? 120 : 24;
            builder_start(&b);
            builder_tensor(&b, MORSEL_UINT8, rank, dims, 1, 0);
            builder_tensor(&b, MORSEL_UINT8, rank, dims, 1, 0);
            b.tensors[0].layout = MORSEL_CHANNELS_LAST;
            uint32_t concat[2] = {1, elements};
            builder_step(&b, MORSEL_STEP_CONCAT, (uint32_t[]){0}, 1, 1, concat, sizeof concat, 0);
            builder_data(&b, concat, 4);
            builder_input(&b, 0, "x");
            builder_output(&b, 1, "y");
            for (uint32_t k = 0; k < rank; k++) b.inputs[0].onnx_dims[k] = dims[at[k]];
            int right = rank == 4 ? at[0] == 0 && at[1] == 3 && at[2] == 1 : at[0] == 0 && at[1] == 2 && at[2] == 1;
            uint64_t product = 1;
            for (uint32_t k = 0; k < rank; k++) product *= b.inputs[0].onnx_dims[k];
            uint8_t *blob = builder_finish(&b, &count);
            enum morsel_error error = morsel_open(&model, blob, count, 0);
            assert_int_equal(error, right ? MORSEL_OK : MORSEL_ERR_SHAPE);
            struct morsel_blob_tensor *x = (void *)(blob + ((struct morsel_blob_header *)(void *)blob)->tensors.offset);
            x->layout = MORSEL_ROW_MAJOR;
            assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), product == elements ? MORSEL_OK : MORSEL_ERR_SHAPE);
            free(blob);
        }
    }
}

/* Below rank 3 there are no pixels that channels could be last of: as many elements will do. */
static void shapes_of_lines_are_as_many_elements(void **state) {
    (void)state;
    MISSHAPEN(MORSEL_OK, b.tensors[T_FLOAT].layout = MORSEL_CHANNELS_LAST, b.outputs[0].onnx_rank = 2, b.outputs[0].onnx_dims[0] = 5,
              b.outputs[0].onnx_dims[1] = 1);
    MISSHAPEN(MORSEL_ERR_SHAPE, b.tensors[T_FLOAT].layout = MORSEL_CHANNELS_LAST, b.outputs[0].onnx_rank = 2, b.outputs[0].onnx_dims[0] = 5,
              b.outputs[0].onnx_dims[1] = 2);
}

/* --- Pictures --- */

static void sides_of_pictures_have_limits(void **state) {
    (void)state;
    DAMAGED(MORSEL_OK, b.picture->resize_height = b.picture->resize_width = 32768);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize_height = b.picture->resize_width = 32769);
    DAMAGED(MORSEL_OK, b.picture->resize_height = b.picture->resize_width = 1);
    for (uint32_t resize = MORSEL_RESIZE_EXACT; resize <= MORSEL_RESIZE_SHORT_SIDE; resize++) {
        DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize = resize, b.picture->resize_height = 0);
        DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize = resize, b.picture->resize_width = 0);
        DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize = resize, b.picture->resize_height = b.picture->resize_width = 0);
    }
    DAMAGED(MORSEL_OK, b.picture->resize = MORSEL_RESIZE_EXACT, b.picture->resize_height = 32768);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize = MORSEL_RESIZE_EXACT, b.picture->resize_height = 32769);
    DAMAGED(MORSEL_OK, b.picture->resize = MORSEL_RESIZE_NONE, b.picture->resize_height = 0);
}

/* The input is 4 x 4. */
static void pictures_become_as_large_as_the_input(void **state) {
    (void)state;
    for (uint32_t resize = 0; resize <= MORSEL_RESIZE_SHORT_SIDE; resize++)
        for (uint32_t sides = 0; sides < 625; sides++) {
            uint32_t rh = sides % 5 + 1, rw = sides / 5 % 5 + 1, ch = sides / 25 % 5, cw = sides / 125 % 5;
            struct blob b = sample();
            b.picture->resize = resize;
            b.picture->resize_height = rh, b.picture->resize_width = rw;
            b.picture->crop_height = ch + (ch > 0), b.picture->crop_width = cw + (cw > 0); /* 0, 2, 3, 4, 5 */
            int crops = ch || cw, right = crops ? ch == 3 && cw == 3 : resize == MORSEL_RESIZE_NONE || (rh == 4 && rw == 4);
            if (resize == MORSEL_RESIZE_SHORT_SIDE && rh != rw) right = 0;
            assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), right ? MORSEL_OK : MORSEL_ERR_PICTURE);
            free(b.bytes);
        }
}

static void every_number_of_a_picture_rule_is_looked_at(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        DAMAGED(MORSEL_ERR_PICTURE, b.picture->mean[k] = NAN);
        DAMAGED(MORSEL_ERR_PICTURE, b.picture->std[k] = INFINITY);
        DAMAGED(MORSEL_ERR_PICTURE, b.picture->std[k] = 0);
        DAMAGED(MORSEL_OK, b.picture->std[k] = -1);
    }
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->scale = INFINITY);
    DAMAGED(MORSEL_OK, b.picture->channels = MORSEL_CHANNELS_BGR);
}

/* The sample's rule: the short side to 5, a crop of 4 x 4. */
static void filters_and_letterboxes_are_those_there_are(void **state) {
    (void)state;
    DAMAGED(MORSEL_OK, b.picture->resize |= MORSEL_FILTER_LINEAR << MORSEL_RESIZE_FILTER_SHIFT);
    DAMAGED(MORSEL_OK, b.picture->resize |= MORSEL_FILTER_NEAREST << MORSEL_RESIZE_FILTER_SHIFT);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize |= 3 << MORSEL_RESIZE_FILTER_SHIFT);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize |= MORSEL_RESIZE_CORNER);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize |= 1 << MORSEL_RESIZE_FILL_SHIFT);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize = 4);
    DAMAGED(MORSEL_OK, b.picture->resize = MORSEL_RESIZE_NONE);
    DAMAGED(MORSEL_ERR_PICTURE, b.picture->resize = MORSEL_RESIZE_NONE | MORSEL_FILTER_LINEAR << MORSEL_RESIZE_FILTER_SHIFT);
    for (uint32_t size = 3; size < 6; size++)
        for (uint32_t crop = 0; crop < 5; crop += 4) {
            struct blob b = sample();
            b.picture->resize = MORSEL_RESIZE_LETTERBOX | MORSEL_RESIZE_CORNER | 0xffffffu << MORSEL_RESIZE_FILL_SHIFT;
            b.picture->resize_height = b.picture->resize_width = size;
            b.picture->crop_height = b.picture->crop_width = crop;
            assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), size == 4 && !crop ? MORSEL_OK : MORSEL_ERR_PICTURE);
            free(b.bytes);
        }
}

/* What only version 2 has: readers of version 1 do not know it. */
static void version_1_has_neither_letterboxes_nor_filters(void **state) {
    (void)state;
    static const uint32_t later[] = {MORSEL_RESIZE_LETTERBOX, MORSEL_RESIZE_EXACT | MORSEL_FILTER_LINEAR << MORSEL_RESIZE_FILTER_SHIFT,
                                     MORSEL_RESIZE_SHORT_SIDE | MORSEL_FILTER_NEAREST << MORSEL_RESIZE_FILTER_SHIFT};
    for (uint32_t version = 1; version <= 2; version++)
        for (int i = 0; i < 4; i++) {
            struct blob b = sample();
            b.header->format_version = version;
            b.picture->resize = i < 3 ? later[i] : MORSEL_RESIZE_SHORT_SIDE;
            b.picture->resize_height = b.picture->resize_width = 4;
            b.picture->crop_height = b.picture->crop_width = 0;
            assert_int_equal(try_open(&b, MORSEL_SKIP_CHECKSUM), version == 2 || i == 3 ? MORSEL_OK : MORSEL_ERR_PICTURE);
            free(b.bytes);
        }
}

static enum morsel_error open_picture(enum morsel_type type, enum morsel_layout layout, uint32_t rank, const uint32_t *dims,
                                      uint32_t channels) {
    struct builder b;
    struct morsel_model model;
    uint32_t count, concat[2] = {1, 1};
    builder_start(&b);
    for (int i = 0; i < 2; i++) builder_tensor(&b, type, rank, dims, 1, 0);
    b.tensors[0].layout = b.tensors[1].layout = layout;
    for (uint32_t k = 0; k < rank; k++) concat[1] *= dims[k];
    builder_step(&b, MORSEL_STEP_CONCAT, (uint32_t[]){0}, 1, 1, concat, sizeof concat, 0);
    builder_data(&b, concat, 4);
    builder_input(&b, 0, "x");
    builder_output(&b, 1, "y");
    b.inputs[0].onnx_rank = b.outputs[0].onnx_rank = 1;
    b.inputs[0].onnx_dims[0] = b.outputs[0].onnx_dims[0] = concat[1];
    for (int k = 1; k < 6; k++) b.inputs[0].onnx_dims[k] = b.outputs[0].onnx_dims[k] = 1;
    b.picture = (struct morsel_blob_picture){0, MORSEL_RESIZE_EXACT, 4, 5, 0, 0, channels, 1, {0, 0, 0}, {1, 1, 1}};
    b.picture_count = 1;
    uint8_t *blob = builder_finish(&b, &count);
    enum morsel_error error = morsel_open(&model, blob, count, 0);
    free(blob);
    return error;
}

/* H W C, or planes in row-major order, behind any batch; bytes or floats. */
static void pictures_are_pixels_or_planes(void **state) {
    (void)state;
    static const uint32_t planes[] = {2, 3, 4, 5}, pixels[] = {2, 4, 5, 3}, gray_planes[] = {1, 4, 5}, gray_pixels[] = {4, 5, 1};
    const uint32_t color = MORSEL_CHANNELS_RGB, gray = MORSEL_CHANNELS_GRAY;
    const enum morsel_error bad = MORSEL_ERR_PICTURE;
    for (uint32_t rank = 3; rank <= 4; rank++) {
        const uint32_t *p = planes + 4 - rank, *x = pixels + 4 - rank;
        assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, rank, p, color), MORSEL_OK);
        assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_CHANNELS_LAST, rank, p, color), bad);
        assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, rank, p, gray), bad);
        assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, rank, x, color), MORSEL_OK);
        assert_int_equal(open_picture(MORSEL_FLOAT32, MORSEL_CHANNELS_LAST, rank, x, color), MORSEL_OK);
        assert_int_equal(open_picture(MORSEL_INT8, MORSEL_CHANNELS_LAST, rank, x, gray), bad);
        assert_int_equal(open_picture(MORSEL_INT32, MORSEL_CHANNELS_LAST, rank, x, color), bad);
    }
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, 3, (const uint32_t[]){3, 4, 6}, color), bad);
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, 3, (const uint32_t[]){3, 5, 5}, color), bad);
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, 3, gray_planes, gray), MORSEL_OK);
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_CHANNELS_LAST, 3, gray_planes, gray), bad);
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_CHANNELS_LAST, 3, gray_pixels, gray), MORSEL_OK);
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, 3, gray_pixels, color), bad);
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, 2, pixels + 1, color), bad);
    assert_int_equal(open_picture(MORSEL_UINT8, MORSEL_ROW_MAJOR, 5, (const uint32_t[]){1, 2, 4, 5, 3}, color), bad);
}

/* Of two inputs the second is a picture. */
static void pictures_are_of_the_input_that_is_named(void **state) {
    (void)state;
    struct builder b;
    struct morsel_model model;
    uint32_t count, concat[3] = {1, 5, 60};
    builder_start(&b);
    builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 5}, 1, 0);
    builder_tensor(&b, MORSEL_UINT8, 3, (uint32_t[]){4, 5, 3}, 1, 0);
    builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 65}, 1, 0);
    builder_step(&b, MORSEL_STEP_CONCAT, (uint32_t[]){0, 1}, 2, 2, concat, sizeof concat, 0);
    builder_data(&b, concat, 4);
    builder_input(&b, 0, "x");
    builder_input(&b, 1, "picture");
    builder_output(&b, 2, "y");
    b.picture = (struct morsel_blob_picture){1, MORSEL_RESIZE_EXACT, 4, 5, 0, 0, MORSEL_CHANNELS_RGB, 1, {0, 0, 0}, {1, 1, 1}};
    b.picture_count = 1;
    uint8_t *blob = builder_finish(&b, &count);
    struct morsel_blob_picture *rule = (void *)(blob + ((struct morsel_blob_header *)(void *)blob)->picture.offset);
    assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    for (uint32_t input = 0; input < 4; input++) {
        rule->input = input;
        assert_int_equal(morsel_open(&model, blob, count, MORSEL_SKIP_CHECKSUM), input == 1 ? MORSEL_OK : MORSEL_ERR_PICTURE);
    }
    free(blob);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_behind_a_section_is_not_its_own),
        cmocka_unit_test(strings_begin_and_end_with_0),
        cmocka_unit_test(unused_dimensions_are_1),
        cmocka_unit_test(rings_are_rows_of_pictures_in_the_arena),
        cmocka_unit_test(scales_are_positive_and_finite),
        cmocka_unit_test(slices_lie_between_the_slots_and_the_end),
        cmocka_unit_test(slices_begin_behind_the_last_slot),
        cmocka_unit_test(shapes_of_inputs_are_their_tensors),
        cmocka_unit_test(shapes_of_lines_are_as_many_elements),
        cmocka_unit_test(pictures_are_of_the_input_that_is_named),
        cmocka_unit_test(shapes_of_channels_last_are_in_order),
        cmocka_unit_test(sides_of_pictures_have_limits),
        cmocka_unit_test(pictures_become_as_large_as_the_input),
        cmocka_unit_test(version_1_has_neither_letterboxes_nor_filters),
        cmocka_unit_test(every_number_of_a_picture_rule_is_looked_at),
        cmocka_unit_test(filters_and_letterboxes_are_those_there_are),
        cmocka_unit_test(pictures_are_pixels_or_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
