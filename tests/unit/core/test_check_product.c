/* SPDX-License-Identifier: MIT */
/* Products of two activations that are read where they lie: their parameters up to their limits, and the first that does not pass. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "core/kind.h"
#include "tests/unit/support/check_desk.h"

static struct desk d;
static struct morsel_blob_float_matmul p;
static struct morsel_blob_tensor *term;

static void expect(enum morsel_error error) {
    assert_int_equal(morsel_check_float_matmul(&d.of_step), error);
}

static void floats_of(struct morsel_blob_tensor *t, uint32_t elements) {
    t->type = MORSEL_FLOAT32;
    t->bytes = 4 * elements;
}

/* [2, 3, 4, 5] with [2, 3, 5, 7], which begin at element 10 and 20, and a row of seven for each of the four. */
static int start(void **state) {
    (void)state;
    p = (struct morsel_blob_float_matmul){.dims = {2, 3, 4, 7},
                                          .inner = 5,
                                          .a_first = 10,
                                          .b_first = 20,
                                          .a_stride = {60, 20, 5},
                                          .b_stride = {105, 35, 7, 1},
                                          .term_stride = {0, 0, 7, 1},
                                          .factor = 0.5f,
                                          .float_max = 1};
    desk_set(&d, MORSEL_STEP_FLOAT_MATMUL, 3, &p);
    term = d.b + 1;
    floats_of(d.x, 130);
    floats_of(d.b, 230);
    floats_of(term, 28);
    floats_of(d.y, 168);
    return 0;
}

/* Not one element less of each; a field of the record moved by one. */
static void all_that_is_read_is_there(void **state) {
    (void)state;
    const struct {
        struct morsel_blob_tensor *t;
        uint32_t elements;
    } sizes[] = {{d.x, 130}, {d.b, 230}, {term, 28}};
    for (size_t i = 0; i < 3; i++) {
        expect(MORSEL_OK);
        floats_of(sizes[i].t, sizes[i].elements - 1);
        expect(MORSEL_ERR_PARAMETER);
        floats_of(sizes[i].t, sizes[i].elements);
    }
    uint32_t *const fields[] = {&p.a_first,     &p.b_first,     p.a_stride,     p.a_stride + 1, p.a_stride + 2,    p.b_stride,
                                p.b_stride + 1, p.b_stride + 2, p.b_stride + 3, p.term_stride,  p.term_stride + 1, p.term_stride + 2};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        ++*fields[i];
        expect(MORSEL_ERR_PARAMETER);
        *fields[i] = 0xffffffff;
        expect(MORSEL_ERR_PARAMETER);
        *fields[i] = 0;
        expect(MORSEL_OK); /* elements may be read more often */
        start(NULL);
    }
    p.inner = 6;
    expect(MORSEL_ERR_PARAMETER);
    p.inner = 0;
    expect(MORSEL_ERR_PARAMETER);
}

static void results_fill_y(void **state) {
    (void)state;
    for (uint32_t n = 167; n < 170; n++) {
        floats_of(d.y, n);
        expect(n == 168 ? MORSEL_OK : MORSEL_ERR_PARAMETER);
    }
    floats_of(d.y, 168);
    p.dims[0] = 0x80000002; /* 2, where the product wraps */
    expect(MORSEL_ERR_PARAMETER);
}

static void a_third_input_may_be_absent(void **state) {
    (void)state;
    assert_int_equal(morsel_kinds[MORSEL_STEP_FLOAT_MATMUL]->inputs, 2);
    assert_int_equal(morsel_kinds[MORSEL_STEP_FLOAT_MATMUL]->optional, 1);
    floats_of(term, 1); /* is not read */
    expect(MORSEL_ERR_PARAMETER);
    d.step.input_count = 2;
    expect(MORSEL_OK);
}

static void flags_and_numbers_have_limits(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    p.turned = 1;
    expect(MORSEL_OK);
    p.turned = 2;
    expect(MORSEL_ERR_PARAMETER);
    p.turned = 0;
    p.term_stride[3] = 2;
    floats_of(term, 100);
    expect(MORSEL_ERR_PARAMETER);
    p.term_stride[3] = 1;
    for (size_t i = 0; i < 3; i++) {
        p.factor = bad[i];
        expect(MORSEL_ERR_PARAMETER);
    }
    p.factor = FLT_MAX;
    p.float_max = 0;
    expect(MORSEL_OK);
    p.float_max = -1;
    expect(MORSEL_ERR_PARAMETER);
    p.float_max = NAN;
    expect(MORSEL_ERR_PARAMETER);
}

/* ---- bytes ---- */

static struct morsel_blob_view_matmul view;

static void expect_view(enum morsel_error error) {
    assert_int_equal(morsel_check_view_matmul(&d.of_step), error);
}

/* The same product with an inner dimension of 8, whose second operand has its columns, and then its k, side by side. */
static int start_view(void **state) {
    (void)state;
    view = (struct morsel_blob_view_matmul){{.dims = {2, 3, 4, 7},
                                             .inner = 8,
                                             .a_first = 10,
                                             .b_first = 20,
                                             .a_stride = {96, 32, 8},
                                             .b_stride = {168, 56, 7, 1},
                                             .factor = 0.5f,
                                             .float_max = 1},
                                            3,
                                            255};
    desk_set(&d, MORSEL_STEP_VIEW_MATMUL, 2, &view);
    d.x->type = d.b->type = d.y->type = MORSEL_UINT8;
    d.x->bytes = 10 + 192;
    d.b->bytes = 20 + 336;
    d.y->bytes = 168;
    return 0;
}

static void bytes_that_are_read_are_there(void **state) {
    (void)state;
    expect_view(MORSEL_OK);
    d.x->bytes--;
    expect_view(MORSEL_ERR_PARAMETER);
    start_view(NULL);
    d.b->bytes--;
    expect_view(MORSEL_ERR_PARAMETER);
    start_view(NULL);
    d.y->bytes--;
    expect_view(MORSEL_ERR_PARAMETER);
    start_view(NULL);
    for (size_t i = 0; i < 3; i++) {
        ++view.product.a_stride[i];
        expect_view(MORSEL_ERR_PARAMETER);
        view.product.a_stride[i] = 0; /* rows may be read more often */
        expect_view(MORSEL_OK);
        start_view(NULL);
    }
    view.product.inner = 0;
    expect_view(MORSEL_ERR_PARAMETER);
}

static void columns_lie_side_by_side_or_their_k_do(void **state) {
    (void)state;
    view.product.b_stride[2] = 1, view.product.b_stride[3] = 8;
    expect_view(MORSEL_OK);
    view.product.b_stride[2] = 2, view.product.b_stride[3] = 2;
    expect_view(MORSEL_ERR_PARAMETER);
    view.product.b_stride[2] = 1, view.product.b_stride[3] = 7;
    view.product.inner = 7;
    expect_view(MORSEL_ERR_PARAMETER); /* in fours */
    view.product.b_stride[2] = 7, view.product.b_stride[3] = 1;
    expect_view(MORSEL_OK);
}

static void limits_are_of_the_type(void **state) {
    (void)state;
    view.out_max = 256;
    expect_view(MORSEL_ERR_PARAMETER);
    view.out_max = 2;
    expect_view(MORSEL_ERR_PARAMETER);
    d.y->type = MORSEL_FLOAT32;
    d.y->bytes = 4 * 168;
    expect_view(MORSEL_OK); /* of floats they are not looked at */
    view.product.float_max = -1;
    expect_view(MORSEL_ERR_PARAMETER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_that_is_read_is_there, start),
        cmocka_unit_test_setup(results_fill_y, start),
        cmocka_unit_test_setup(a_third_input_may_be_absent, start),
        cmocka_unit_test_setup(flags_and_numbers_have_limits, start),
        cmocka_unit_test_setup(bytes_that_are_read_are_there, start_view),
        cmocka_unit_test_setup(columns_lie_side_by_side_or_their_k_do, start_view),
        cmocka_unit_test_setup(limits_are_of_the_type, start_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
