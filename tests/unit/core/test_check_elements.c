/* SPDX-License-Identifier: MIT */
/* The parameters of steps without a window: what passes up to its limits, and the first that does not. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/check_desk.h"

static struct desk d;

static uint32_t up(uint32_t n, uint32_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static void bytes_of(struct morsel_blob_tensor *t, uint32_t type, uint32_t elements) {
    t->type = type;
    t->bytes = elements * morsel_type_bytes(type);
}

#define PASSES(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_OK)
#define REFUSED(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_ERR_PARAMETER)
#define CONSTANT(check) assert_int_equal(morsel_check_##check(&d.of_step), MORSEL_ERR_CONSTANT)
/* With another value in between. */
#define REFUSED_WITH(check, field, value) \
    do { \
        __typeof__(field) before_ = (field); \
        (field) = (value); \
        REFUSED(check); \
        (field) = before_; \
        PASSES(check); \
    } while (0)

/* --- Products --- */

static struct morsel_blob_fc an_fc(uint32_t rows, uint32_t inputs, uint32_t outputs) {
    const uint32_t front = DESK_DATA;
    struct morsel_blob_fc fc = {rows, inputs, outputs, {front, front, front, front, 0, 0, 0, 255, 0, 0, 0}};
    return fc;
}

static void products_with_weights_are_of_their_tensors(void **state) {
    (void)state;
    struct morsel_blob_fc fc = an_fc(2, 3, 5);
    desk_set(&d, MORSEL_STEP_FC, 1, &fc);
    bytes_of(d.x, MORSEL_UINT8, 6);
    bytes_of(d.y, MORSEL_UINT8, 10);
    PASSES(fc);
    REFUSED_WITH(fc, d.x->bytes, 9);
    REFUSED_WITH(fc, d.y->bytes, 9);
    REFUSED_WITH(fc, fc.outputs, 6);
    REFUSED_WITH(fc, fc.inputs, 2);
    REFUSED_WITH(fc, fc.sums.out_max, 256);
}

static void constants_of_products_end_with_the_data(void **state) {
    (void)state;
    for (uint32_t inputs = 1; inputs < 10; inputs++)
        for (uint32_t outputs = 1; outputs < 50; outputs++) {
            struct morsel_blob_fc fc = an_fc(1, inputs, outputs);
            desk_set(&d, MORSEL_STEP_FC, 1, &fc);
            d.x->bytes = inputs, d.y->bytes = outputs;
            DESK_ENDS(&d, morsel_check_fc, fc.sums.weights, up(outputs, 16) * up(inputs, 4));
            DESK_ENDS(&d, morsel_check_fc, fc.sums.bias, 4 * up(outputs, 16));
        }
}

/* Verified, with sums that fit: a weight behind the last input must be 0. */
static void the_padding_of_products_is_known(void **state) {
    (void)state;
    for (uint32_t inputs = 1; inputs < 10; inputs++)
        for (uint32_t k = 0; k < up(inputs, 4); k++) {
            struct morsel_blob_fc fc = an_fc(1, inputs, 1);
            desk_set(&d, MORSEL_STEP_FC, 1, &fc);
            d.x->bytes = inputs, d.y->bytes = 1;
            d.check.verify = 1;
            fc.sums.weights = DESK_DATA + 1024;
            fc.sums.weight_sum = DESK_DATA + 2048;
            d.bytes[fc.sums.weights + k / 4 * 64 + k % 4] = d.bytes[fc.sums.weight_sum] = 1;
            if (k < inputs) PASSES(fc);
            else CONSTANT(fc);
        }
}

static void products_of_two_are_of_their_tensors(void **state) {
    (void)state;
    struct morsel_blob_matmul m = {6, 5, 7, 11, 2, 3, 3, 1, 1, 0, 255, 0, 0};
    desk_set(&d, MORSEL_STEP_MATMUL, 2, &m);
    d.x->bytes = 2 * 5 * 7, d.b->bytes = 3 * 7 * 11, d.y->bytes = 6 * 5 * 11;
    PASSES(matmul);
    REFUSED_WITH(matmul, d.x->bytes, 71);
    REFUSED_WITH(matmul, d.b->bytes, 232);
    REFUSED_WITH(matmul, d.y->bytes, 331);
    REFUSED_WITH(matmul, m.a_divide, 0);
    REFUSED_WITH(matmul, m.b_divide, 0);
    REFUSED_WITH(matmul, m.multiplier, INFINITY);
    REFUSED_WITH(matmul, m.multiplier, nanf(""));
    REFUSED_WITH(matmul, m.out_min, -1);
    bytes_of(d.y, MORSEL_FLOAT32, 6 * 5 * 11);
    m.out_min = -1; /* not looked at */
    PASSES(matmul);
    REFUSED_WITH(matmul, m.float_min, 1);
    REFUSED_WITH(matmul, m.float_min, nanf(""));
    m.float_min = -INFINITY, m.float_max = INFINITY;
    PASSES(matmul);
}

/* --- Elements of one and two inputs --- */

static struct morsel_blob_binary a_binary(uint32_t op) {
    return (struct morsel_blob_binary){op, 2, {4, 3, 1, 1, 1, 1}, {3, 1}, {3, 1}, 1, 1, 1, 0, 255, -1, 1};
}

static void set_binary(const struct morsel_blob_binary *p) {
    desk_set(&d, MORSEL_STEP_BINARY, 2, p);
    d.header->format_version = MORSEL_FORMAT_VERSION;
    d.x->bytes = d.b->bytes = d.y->bytes = 12;
}

static void binary_operations_are_those_there_are(void **state) {
    (void)state;
    for (uint32_t op = 0; op < MORSEL_BINARY_OP_COUNT + 2; op++) {
        struct morsel_blob_binary p = a_binary(op);
        set_binary(&p);
        if (op >= 1 && op < MORSEL_BINARY_OP_COUNT) PASSES(binary);
        else REFUSED(binary);
        assert_int_equal(morsel_check_qadd(&d.of_step), op == MORSEL_BINARY_QADD ? MORSEL_OK : MORSEL_ERR_STEP);
    }
}

/* Those before masks are of each. */
static void masks_are_of_format_2(void **state) {
    (void)state;
    for (uint32_t op = 1; op <= MORSEL_BINARY_MASK; op++) {
        struct morsel_blob_binary p = a_binary(op);
        set_binary(&p);
        for (uint32_t version = 1; version <= MORSEL_FORMAT_VERSION; version++) {
            d.header->format_version = version;
            if (version > 1 || op < MORSEL_BINARY_MASK) PASSES(binary);
            else REFUSED(binary);
        }
    }
}

/* A rank of 1 to 6, and behind it 1s. */
static void binary_dimensions_are_those_of_y(void **state) {
    (void)state;
    for (uint32_t rank = 0; rank < 9; rank++) {
        struct morsel_blob_binary p = {MORSEL_BINARY_ADD, rank, {1, 1, 1, 1, 1, 1}, {0}, {0}, 1, 1, 1, 0, 255, -1, 1};
        set_binary(&p);
        d.y->bytes = 1;
        if (rank < 1 || rank > 6) {
            REFUSED(binary);
            continue;
        }
        PASSES(binary);
        for (uint32_t k = 0; k < 6; k++) {
            p.dims[k] = d.y->bytes = 2;
            if (k < rank) PASSES(binary);
            else REFUSED(binary);
            d.y->bytes = 1;
            REFUSED(binary);
            p.dims[k] = 1;
        }
    }
}

static void strides_end_in_their_operand(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 6; k++) {
        struct morsel_blob_binary p = {MORSEL_BINARY_ADD, 6, {1, 1, 1, 1, 1, 1}, {0}, {0}, 1, 1, 1, 0, 255, -1, 1};
        set_binary(&p);
        p.dims[k] = d.y->bytes = 4;
        p.a_stride[k] = 3, d.x->bytes = 10;
        p.b_stride[k] = 5, d.b->bytes = 16;
        PASSES(binary);
        REFUSED_WITH(binary, d.x->bytes, 9);
        REFUSED_WITH(binary, d.b->bytes, 15);
        REFUSED_WITH(binary, p.a_stride[k], 0x40000000);
        REFUSED_WITH(binary, p.b_stride[k], 0xffffffff);
    }
}

/* Strides behind the rank are not used. */
static void strides_behind_the_rank_do_not_matter(void **state) {
    (void)state;
    struct morsel_blob_binary p = a_binary(MORSEL_BINARY_ADD);
    set_binary(&p);
    p.dims[2] = 1, p.a_stride[2] = p.b_stride[2] = 99;
    PASSES(binary);
}

static void sums_in_integers_are_of_bytes(void **state) {
    (void)state;
    for (uint32_t op = 1; op < MORSEL_BINARY_OP_COUNT; op++)
        for (uint32_t floats = 0; floats < 8; floats++) {
            struct morsel_blob_binary p = a_binary(op);
            set_binary(&p);
            bytes_of(d.x, floats & 1 ? MORSEL_FLOAT32 : MORSEL_INT8, 12);
            bytes_of(d.b, floats & 2 ? MORSEL_FLOAT32 : MORSEL_UINT8, 12);
            bytes_of(d.y, floats & 4 ? MORSEL_FLOAT32 : MORSEL_UINT8, 12);
            int integers = op == MORSEL_BINARY_QADD || op == MORSEL_BINARY_QMUL;
            assert_int_equal(morsel_check_binary(&d.of_step), integers && floats ? MORSEL_ERR_STEP : MORSEL_OK);
        }
}

static void ratios_are_at_most_2_to_100(void **state) {
    (void)state;
    const float most = ldexpf(1, 100), more = nextafterf(most, INFINITY), less[] = {most, -most, 0}, too_much[] = {more, -more, nanf("")};
    struct morsel_blob_binary p = a_binary(MORSEL_BINARY_QADD);
    float *fields[] = {&p.a_ratio, &p.b_ratio, &p.offset};
    set_binary(&p);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            *fields[k] = less[i];
            PASSES(binary);
            REFUSED_WITH(binary, *fields[k], too_much[i]);
        }
}

static void binary_results_are_limited(void **state) {
    (void)state;
    struct morsel_blob_binary p = a_binary(MORSEL_BINARY_QADD);
    set_binary(&p);
    REFUSED_WITH(binary, p.out_min, -1);
    REFUSED_WITH(binary, p.out_max, 256);
    p.op = MORSEL_BINARY_DIV;
    REFUSED_WITH(binary, p.out_max, 256);
    p.float_min = p.float_max = 0.5f;
    PASSES(binary);
    REFUSED_WITH(binary, p.float_max, 0.25f);
    REFUSED_WITH(binary, p.float_max, nanf(""));
    p.a_ratio = INFINITY; /* not used in float */
    PASSES(binary);
}

static void the_period_of_an_operand_is_its_own(void **state) {
    (void)state;
    struct morsel_blob_binary p = a_binary(MORSEL_BINARY_ADD);
    assert_int_equal(morsel_binary_period(&p, 0), 1);
    assert_int_equal(morsel_binary_period(&p, 1), 1);
    p.a_stride[0] = 0;
    assert_int_equal(morsel_binary_period(&p, 0), 0);
    assert_int_equal(morsel_binary_period(&p, 1), 1);
    p.a_stride[0] = 3, p.b_stride[1] = 0;
    assert_int_equal(morsel_binary_period(&p, 0), 1);
    assert_int_equal(morsel_binary_period(&p, 1), 0);
}

static void unary_steps_have_limits(void **state) {
    (void)state;
    struct morsel_blob_unary p = {MORSEL_UNARY_EXP, 12, 0, 0, 1, 0, 0};
    desk_set(&d, MORSEL_STEP_UNARY, 1, &p);
    d.x->bytes = d.y->bytes = 12;
    PASSES(unary);
    for (p.op = 0; p.op < MORSEL_UNARY_OP_COUNT + 2; p.op++) {
        if (p.op == MORSEL_UNARY_AFFINE || p.op == MORSEL_UNARY_QAFFINE) continue;
        if (p.op < MORSEL_UNARY_OP_COUNT) PASSES(unary);
        else REFUSED(unary);
    }
    p.op = MORSEL_UNARY_EXP;
    REFUSED_WITH(unary, d.x->bytes, 11);
    REFUSED_WITH(unary, d.y->bytes, 11);
    REFUSED_WITH(unary, p.count, 11);
    REFUSED_WITH(unary, p.channels, 0);
    REFUSED_WITH(unary, p.alpha, INFINITY);
    REFUSED_WITH(unary, p.beta, INFINITY);
    p.op = MORSEL_UNARY_CLIP, p.alpha = -INFINITY, p.beta = INFINITY;
    PASSES(unary);
    REFUSED_WITH(unary, p.alpha, nanf(""));
    REFUSED_WITH(unary, p.beta, nanf(""));
    p = (struct morsel_blob_unary){MORSEL_UNARY_AFFINE, 12, 0, 0, 7, DESK_DATA, DESK_DATA};
    DESK_ENDS(&d, morsel_check_unary, p.affine_scale, 28);
    DESK_ENDS(&d, morsel_check_unary, p.affine_offset, 28);
    assert_int_equal(morsel_unary_period(&p, 0), 7);
    p.op = MORSEL_UNARY_QAFFINE;
    PASSES(unary);
    DESK_ENDS(&d, morsel_check_unary, p.affine_scale, 28);
    DESK_ENDS(&d, morsel_check_unary, p.affine_offset, 28);
    bytes_of(d.y, MORSEL_FLOAT32, 12);
    assert_int_equal(morsel_check_unary(&d.of_step), MORSEL_ERR_STEP);
    bytes_of(d.y, MORSEL_INT8, 12);
    bytes_of(d.x, MORSEL_FLOAT32, 12);
    assert_int_equal(morsel_check_unary(&d.of_step), MORSEL_ERR_STEP);
}

/* --- Tables --- */

static void tables_of_functions_are_of_their_tensors(void **state) {
    (void)state;
    for (uint32_t type = 0; type <= MORSEL_FLOAT32; type++) {
        struct morsel_blob_lut p = {12, 3, 2, DESK_DATA};
        desk_set(&d, MORSEL_STEP_LUT, 1, &p);
        d.x->bytes = 12;
        bytes_of(d.y, type, 12);
        PASSES(lut);
        REFUSED_WITH(lut, d.x->bytes, 13);
        REFUSED_WITH(lut, d.y->bytes, d.y->bytes + morsel_type_bytes(type));
        REFUSED_WITH(lut, p.channels, 0);
        REFUSED_WITH(lut, p.inner, 0);
        DESK_ENDS(&d, morsel_check_lut, p.table, 3 * 256 * morsel_type_bytes(type));
    }
}

static void tables_repeat_after_all_channels(void **state) {
    (void)state;
    struct morsel_blob_lut p = {12, 1, 5, 0};
    assert_int_equal(morsel_lut_period(&p, 0), 1); /* one table: wherever a row begins */
    p.channels = 2;
    assert_int_equal(morsel_lut_period(&p, 0), 10);
    p.channels = 3, p.inner = 0x7fffffff / 3;
    assert_int_equal(morsel_lut_period(&p, 0), 0x7fffffff / 3 * 3);
    p.inner++;
    assert_true(morsel_lut_period(&p, 0) == UINT32_MAX);
}

static void gathered_dimensions_are_those_of_y(void **state) {
    (void)state;
    for (uint32_t rank = 0; rank < 9; rank++) {
        struct morsel_blob_gather p = {rank, {1, 1, 1, 1, 1, 1}, DESK_DATA, 0};
        desk_set(&d, MORSEL_STEP_GATHER, 1, &p);
        if (rank < 1 || rank > 6) {
            REFUSED(gather);
            continue;
        }
        DESK_ENDS(&d, morsel_check_gather, p.table, 4 * rank);
        for (uint32_t k = 0; k < 6; k++) {
            p.dims[k] = d.y->bytes = 3;
            if (k < rank) DESK_ENDS(&d, morsel_check_gather, p.table, 4 * (rank + 2));
            else REFUSED(gather);
            p.dims[k] = d.y->bytes = 1;
        }
    }
}

/* The sum of each table's largest entry is an element of x; -1 is none. */
static void gathered_elements_are_those_of_x(void **state) {
    (void)state;
    struct morsel_blob_gather p = {2, {2, 3, 1, 1, 1, 1}, DESK_DATA, 0};
    int32_t entries[5] = {40, 7, 30, -1, 100};
    desk_set(&d, MORSEL_STEP_GATHER, 1, &p);
    int32_t *table = (int32_t *)(void *)(d.bytes + DESK_DATA);
    memcpy(table, entries, sizeof entries);
    d.y->bytes = 6, d.x->bytes = 141;
    PASSES(gather);
    table[5] = 1000; /* behind the tables */
    PASSES(gather);
    d.x->bytes = 140;
    CONSTANT(gather);
    table[2] = table[4] = -1;
    d.x->bytes = 41;
    PASSES(gather);
    for (uint32_t k = 0; k < 5; k++) {
        int32_t old = table[k];
        table[k] = -2;
        CONSTANT(gather);
        table[k] = old;
    }
    memset(table, 0, sizeof entries);
    d.x->bytes = 1;
    PASSES(gather);
    table[1] = INT32_MAX, table[4] = INT32_MAX; /* 2^32 - 2 */
    d.x->bytes = 0x7fffffff;
    CONSTANT(gather);
}

/* Each step may read its tables; all together, 64 times the blob. */
static void tables_are_counted_as_they_are_read(void **state) {
    (void)state;
    struct morsel_blob_gather p = {2, {2, 3, 1, 1, 1, 1}, DESK_DATA, 0};
    desk_set(&d, MORSEL_STEP_GATHER, 1, &p);
    d.y->bytes = 6;
    const uint64_t most = 64 * (uint64_t)DESK_BYTES;
    for (uint32_t read = 0; read < 48; read++) {
        d.read = most - read;
        assert_int_equal(morsel_check_gather(&d.of_step), read >= 20 ? MORSEL_OK : MORSEL_ERR_CONSTANT);
        assert_true(d.read == most - read + 20);
    }
}

/* --- Means, exponentials, pieces --- */

static void means_have_limits(void **state) {
    (void)state;
    struct morsel_blob_mean p = {2, 3, 5, 0.25f, 0, 255};
    const uint32_t most = 0x7fffffff / 255;
    desk_set(&d, MORSEL_STEP_MEAN, 1, &p);
    d.x->bytes = 30, d.y->bytes = 10;
    PASSES(mean);
    REFUSED_WITH(mean, d.x->bytes, 31);
    REFUSED_WITH(mean, d.y->bytes, 11);
    REFUSED_WITH(mean, p.multiplier, INFINITY);
    REFUSED_WITH(mean, p.out_max, 256);
    p.outer = p.inner = 1, d.y->bytes = 1;
    p.count = d.x->bytes = most;
    PASSES(mean);
    p.count = d.x->bytes = most + 1;
    REFUSED(mean);
}

static void exponentials_of_bytes_are_not_negative(void **state) {
    (void)state;
    struct morsel_blob_softmax p = {2, 3, 5, 0};
    desk_set(&d, MORSEL_STEP_SOFTMAX, 1, &p);
    d.x->bytes = d.y->bytes = 30;
    PASSES(softmax);
    REFUSED_WITH(softmax, d.x->bytes, 31);
    REFUSED_WITH(softmax, d.y->bytes, 31);
    p.table = DESK_DATA + 1024;
    float *table = (float *)(void *)(d.bytes + p.table);
    table[-1] = table[256] = -1; /* around it */
    PASSES(softmax);
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = -FLT_MIN;
        CONSTANT(softmax);
        table[i] = FLT_MAX;
        PASSES(softmax);
    }
    DESK_ENDS(&d, morsel_check_softmax, p.table, 1024);
    for (uint32_t floats = 1; floats < 4; floats++) {
        bytes_of(d.x, floats & 1 ? MORSEL_FLOAT32 : MORSEL_UINT8, 30);
        bytes_of(d.y, floats & 2 ? MORSEL_FLOAT32 : MORSEL_UINT8, 30);
        REFUSED(softmax);
        p.table = 0;
        PASSES(softmax);
        p.table = DESK_DATA;
    }
}

static void pieces_make_up_the_whole(void **state) {
    (void)state;
    uint32_t p[3] = {4, 3, 2};
    desk_set(&d, MORSEL_STEP_CONCAT, 2, p);
    d.x->bytes = 12, d.b->bytes = 8, d.y->bytes = 20;
    PASSES(concat);
    REFUSED_WITH(concat, d.x->bytes, 11);
    REFUSED_WITH(concat, d.b->bytes, 9);
    REFUSED_WITH(concat, d.y->bytes, 21);
    REFUSED_WITH(concat, p[1], 2);
    REFUSED_WITH(concat, p[2], 1);
    p[0] = 1;
    p[1] = d.x->bytes = 0x7ffffffe, p[2] = d.b->bytes = 1, d.y->bytes = 0x7fffffff;
    PASSES(concat);
    p[1] = d.x->bytes = 0x7fffffff, d.y->bytes = 0;
    REFUSED(concat);
    struct morsel_blob_tensor *tensors = d.x;
    uint32_t four[4] = {1, 0x7fffffff, 0x7fffffff, 3}; /* 2^32 + 1 */
    desk_set(&d, MORSEL_STEP_CONCAT, 3, four);
    for (uint32_t k = 0; k < 3; k++) tensors[k].bytes = four[k + 1];
    d.y->bytes = 1;
    REFUSED(concat);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_weights_are_of_their_tensors),
        cmocka_unit_test(constants_of_products_end_with_the_data),
        cmocka_unit_test(the_padding_of_products_is_known),
        cmocka_unit_test(products_of_two_are_of_their_tensors),
        cmocka_unit_test(masks_are_of_format_2),
        cmocka_unit_test(binary_operations_are_those_there_are),
        cmocka_unit_test(binary_dimensions_are_those_of_y),
        cmocka_unit_test(strides_end_in_their_operand),
        cmocka_unit_test(strides_behind_the_rank_do_not_matter),
        cmocka_unit_test(sums_in_integers_are_of_bytes),
        cmocka_unit_test(ratios_are_at_most_2_to_100),
        cmocka_unit_test(binary_results_are_limited),
        cmocka_unit_test(the_period_of_an_operand_is_its_own),
        cmocka_unit_test(unary_steps_have_limits),
        cmocka_unit_test(tables_of_functions_are_of_their_tensors),
        cmocka_unit_test(tables_repeat_after_all_channels),
        cmocka_unit_test(gathered_dimensions_are_those_of_y),
        cmocka_unit_test(gathered_elements_are_those_of_x),
        cmocka_unit_test(tables_are_counted_as_they_are_read),
        cmocka_unit_test(means_have_limits),
        cmocka_unit_test(exponentials_of_bytes_are_not_negative),
        cmocka_unit_test(pieces_make_up_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
