/* SPDX-License-Identifier: MIT */
/* morsel_work(): no less than a run's multiplications and bytes, not much more; it never wraps; and each kind to the unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/support/check_desk.h"
#include "tests/unit/support/sample_blob.h"
#include "tests/unit/support/stream_runs.h"

static uint64_t work_of(const uint8_t *blob, size_t bytes, struct morsel_model *model) {
    assert_int_equal(morsel_open(model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    return morsel_work(model);
}

static uint64_t tensor_bytes(const struct morsel_model *model) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < morsel_blob_header(model)->tensors.count; i++) bytes += morsel_blob_tensor(model, i)->bytes;
    return bytes;
}

static void a_closed_model_has_no_work(void **state) {
    (void)state;
    struct morsel_model model = {0};
    assert_true(morsel_work(NULL) == 0);
    assert_true(morsel_work(&model) == 0);
}

/* Here the blob's own count of multiplications is true. */
static void work_is_more_than_macs_but_not_much(void **state) {
    (void)state;
    uint32_t streams = 0;
    for (uint32_t seed = first; seed < first + 60; seed++) {
        struct net *net = make_random(seed, seed % 5 ? 1 : 2);
        struct morsel_model model;
        size_t bytes;
        uint64_t macs = 0, window_rows = 64;
        net->arena_room = seed % 2;
        uint8_t *blob = blob_of(net, &bytes);
        uint64_t work = work_of(blob, bytes, &model);
        for (uint32_t i = 0; i < morsel_blob_header(&model)->steps.count; i++) macs += morsel_step_macs(morsel_blob_step(&model, i));
        streams += morsel_blob_header(&model)->groups.count;
        assert_true(work >= macs + tensor_bytes(&model));
        /* Few channels are padded to 16, and inputs to 4; a group may take 65,536 turns before its first row. */
        uint64_t turns = (uint64_t)MORSEL_FORMAT_MAX_STAGE * 2 * 32 * morsel_blob_header(&model)->groups.count;
        assert_true(work <= 64 * macs + window_rows * tensor_bytes(&model) + turns);
        free(blob);
        net_free(net);
    }
    current = 0;
    assert_true(streams > 10);
}

/* The sample's kinds by hand, but for groups. */
static void each_kind_counts_what_it_reads(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    uint64_t work = work_of(b.bytes, b.count, &model), bytes = 0;
    for (uint32_t i = 0; i < b.header->steps.count; i++) {
        bytes += b.steps[i].scratch_bytes + morsel_blob_output(&model, &b.steps[i])->bytes + 1;
        for (uint32_t n = 0; n < b.steps[i].input_count; n++) bytes += morsel_blob_input(&model, &b.steps[i], n)->bytes;
    }
    uint64_t conv = 4 * 3 * 4 * 3 + 16 * 9 * 4 * 16, depthwise = 4 * 3 * 4 * 3 + 16 * 4 * 3 * 16;
    uint64_t pools = 2 * 2 * 4 * 3 + 4 * 4 * 3 + (2 * 2 * 2 * 3 + 4 * 4 * 3), add = 2 * 12, concat = 2 * 4, gather = 2 * 24;
    uint64_t fc = 8 * 16, softmax = 4 * 5, matmul = 2 * 8 * 16;
    assert_int_equal(work, bytes + conv + depthwise + pools + add + concat + gather + fc + softmax + matmul);
    free(b.bytes);
}

/* A few KB may ask for hours, and for more than 64 bits can count. */
static void work_without_end_is_told(void **state) {
    (void)state;
    struct builder b;
    uint32_t bytes;
    struct morsel_model model;
    builder_start(&b);
    uint32_t a = builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1 << 28, 1}, 1, 0);
    uint32_t c = builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, 1}, 1, 0);
    uint32_t y = builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1 << 28, 1}, 1, 0);
    struct morsel_blob_matmul matmul = {1, 1 << 28, 1, 1, 1, 1, 1, 1, 1, 0, 255, 0, 0};
    builder_step(&b, MORSEL_STEP_MATMUL, (uint32_t[]){a, c}, 2, y, &matmul, sizeof matmul, 0);
    builder_input(&b, a, "a");
    builder_input(&b, c, "c");
    builder_output(&b, y, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    assert_true(bytes < 6000);
    assert_true(work_of(blob, bytes, &model) > 30000000000u);
    free(blob);
}

/* --- Each kind by itself --- */

static struct desk d;

/* A step on the desk: x is 2 x 7 x 5 x 6, y is 2 x 3 x 11 x 20. */
static struct morsel_step_work a_step(uint32_t kind, const void *parameters) {
    desk_set(&d, kind, 1, parameters);
    desk_shape(d.x, 2, 7, 5, 6);
    desk_shape(d.y, 2, 3, 11, 20);
    return (struct morsel_step_work){&d.step, d.x, d.y, parameters};
}

/* For each row of y three rows of x, and for each pixel of y what is under a window of 3 x 2. */
static void windows_count_rows_and_taps(void **state) {
    (void)state;
    const uint64_t rows = 2 * 3 * 3 * 5 * 6, pixels = 2 * 3 * 11;
    struct morsel_blob_conv conv = {{3, 2, 1, 1, 1, 1, 0, 0, 0, 0}, 2, {0}};
    struct morsel_blob_float_conv in_float = {conv.window, 2, 0, 0, 0, 0, 0, 0, 0};
    struct morsel_blob_pool pool = {conv.window, 0, 0, 0};
    struct morsel_step_work w = a_step(MORSEL_STEP_CONV, &conv);
    assert_int_equal(morsel_work_conv(&w), rows + pixels * (3 * 2) * 4 * 16 * 2); /* 3 channels are 4, 10 outputs 16, in 2 groups */
    w = a_step(MORSEL_STEP_DEPTHWISE, &conv);
    assert_int_equal(morsel_work_conv(&w), rows + pixels * (4 * 2) * 32); /* 3 rows are 4, 20 channels 32 */
    w = a_step(MORSEL_STEP_FLOAT_CONV, &in_float);
    assert_int_equal(morsel_work_float_conv(&w), rows + pixels * (3 * 2) * 3 * 24); /* 20 outputs are 24 */
    w = a_step(MORSEL_STEP_MAX_POOL, &pool);
    assert_int_equal(morsel_work_pool(&w), rows + pixels * (3 * 2) * 20);
}

/* Nothing is added to what is a whole number of blocks. */
static void whole_blocks_are_not_padded(void **state) {
    (void)state;
    struct morsel_blob_conv conv = {{4, 3, 1, 1, 1, 1, 0, 0, 0, 0}, 1, {0}};
    struct morsel_blob_float_conv in_float = {conv.window, 1, 0, 0, 0, 0, 0, 0, 0};
    struct morsel_step_work w = a_step(MORSEL_STEP_CONV, &conv);
    d.x->dims[3] = 8, d.y->dims[3] = 16;
    const uint64_t rows = 2 * 3 * 4 * 5 * 8, pixels = 2 * 3 * 11;
    assert_int_equal(morsel_work_conv(&w), rows + pixels * 12 * 8 * 16);
    d.step.kind = MORSEL_STEP_DEPTHWISE;
    assert_int_equal(morsel_work_conv(&w), rows + pixels * 12 * 16);
    w.parameters = &in_float;
    assert_int_equal(morsel_work_float_conv(&w), rows + pixels * 12 * 8 * 16);
}

static void other_kinds_count_elements(void **state) {
    (void)state;
    struct morsel_blob_fc fc = {.rows = 3, .inputs = 5, .outputs = 17};
    struct morsel_blob_matmul matmul = {.batch = 3, .rows = 5, .inner = 6, .columns = 17};
    struct morsel_blob_float_matmul floats = {.dims = {3, 2, 5, 17}, .inner = 6};
    struct morsel_blob_gather gather = {.rank = 5};
    struct morsel_blob_non_max_suppression objects = {.count = 7};
    struct morsel_blob_binary binary = {.rank = 3};
    uint32_t concat[8] = {0};
    ((struct morsel_blob_concat *)(void *)concat)->outer = 7;
    struct morsel_step_work w = a_step(MORSEL_STEP_FC, &fc);
    assert_int_equal(morsel_work_fc(&w), 3 * 8 * 32);
    w = a_step(MORSEL_STEP_MATMUL, &matmul);
    assert_int_equal(morsel_work_matmul(&w), 2 * 3 * 5 * 8 * 32);
    w = a_step(MORSEL_STEP_FLOAT_MATMUL, &floats);
    assert_int_equal(morsel_work_float_matmul(&w), 2 * 3 * 2 * 5 * 8 * 32);
    w = a_step(MORSEL_STEP_VIEW_MATMUL, &floats); /* its record begins with that */
    assert_int_equal(morsel_kinds[MORSEL_STEP_VIEW_MATMUL]->work(&w), 2 * 3 * 2 * 5 * 8 * 32);
    w = a_step(MORSEL_STEP_SOFTMAX, NULL);
    assert_int_equal(morsel_work_softmax(&w), 4 * 2 * 7 * 5 * 6);
    w = a_step(MORSEL_STEP_LAYER_NORM, NULL);
    assert_int_equal(morsel_work_layer_norm(&w), 4 * 2 * 7 * 5 * 6);
    w = a_step(MORSEL_STEP_RESIZE, NULL);
    assert_int_equal(morsel_work_resize(&w), 4 * 2 * 3 * 11 * 20);
    w = a_step(MORSEL_STEP_GATHER, &gather);
    assert_int_equal(morsel_work_gather(&w), 2 * 3 * 11 * 20 * 5);
    w = a_step(MORSEL_STEP_LOOKUP, NULL);
    assert_int_equal(morsel_work_lookup(&w), d.y->bytes);
    assert_true(d.y->bytes >= 2 * 3 * 11 * 20);
    w = a_step(MORSEL_STEP_GRID_SAMPLE, NULL);
    assert_int_equal(morsel_kinds[MORSEL_STEP_GRID_SAMPLE]->work(&w), 4 * 2 * 3 * 11 * 20);
    w = a_step(MORSEL_STEP_NON_MAX_SUPPRESSION, &objects);
    assert_int_equal(morsel_work_non_max_suppression(&w), 2 * 3 * 11 * 20 * 7);
    w = a_step(MORSEL_STEP_BINARY, &binary);
    assert_int_equal(morsel_work_binary(&w), 2 * 3 * 11 * 20 * 3);
    w = a_step(MORSEL_STEP_CONCAT, concat);
    d.step.input_count = 9;
    assert_int_equal(morsel_work_concat(&w), 9 * 7);
    assert_int_equal(morsel_work_elements(&w), 0);
}

/* --- Numbers without end --- */

static uint64_t product(uint64_t a, uint64_t b) {
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Products of two tensors, of all sizes: to the unit up to 2^64 - 1, where they stay. */
static void products_are_exact_or_the_most(void **state) {
    (void)state;
    uint32_t random = 7, ended = 0, large = 0;
    for (uint32_t trial = 0; trial < 50000; trial++) {
        uint32_t n[4];
        for (uint32_t k = 0; k < 4; k++) n[k] = (builder_random(&random) | 1) >> builder_between(&random, 1, 31);
        struct morsel_blob_matmul p = {.batch = n[0], .rows = n[1], .inner = n[2], .columns = n[3]};
        struct morsel_step_work w = {.parameters = &p};
        uint64_t inner = ((uint64_t)n[2] + 3) / 4 * 4, columns = ((uint64_t)n[3] + 15) / 16 * 16;
        uint64_t want = product(product(product((uint64_t)n[0] * n[1], inner), columns), 2), got = morsel_work_matmul(&w);
        assert_true(got == want);
        ended += got == UINT64_MAX;
        large += got != UINT64_MAX && got >> 62;
    }
    assert_true(ended > 1000 && large > 100);
    struct morsel_blob_matmul p = {.batch = 1 << 16, .rows = 1 << 16, .inner = 1 << 15, .columns = 1 << 15};
    struct morsel_step_work w = {.parameters = &p};
    assert_true(morsel_work_matmul(&w) == (uint64_t)1 << 63);
    p.inner = 1 << 16;
    assert_true(morsel_work_matmul(&w) == UINT64_MAX);
}

static void sums_stay_at_the_most(void **state) {
    (void)state;
    struct morsel_blob_pool pool = {{64, 64, 1, 1, 1, 1, 0, 0, 0, 0}, 0, 0, 0};
    struct morsel_step_work w = a_step(MORSEL_STEP_MAX_POOL, &pool);
    d.x->dims[2] = d.x->dims[3] = 1u << 30; /* the rows alone are 2 * 3 * 64 * 2^60 */
    assert_true(morsel_work_pool(&w) == UINT64_MAX);
}

/* --- Groups --- */

static uint64_t turns_of(const struct morsel_model *model, const struct morsel_blob_group *g) {
    const struct morsel_blob_tensor *y = morsel_blob_output(model, morsel_blob_step(model, g->first_step + g->step_count - 1));
    uint64_t turns = 2; /* one that begins before the first lead, and one for what is left */
    for (uint32_t row = g->strip_rows; row <= y->dims[1] + 65536; row += g->strip_rows) turns++;
    return turns * g->step_count * y->dims[0];
}

/* Beside what its steps do by themselves: each step in each turn, for each picture. */
static void groups_count_turns(void **state) {
    (void)state;
    uint32_t streams = 0;
    for (uint32_t seed = first; seed < first + 30; seed++) {
        struct net *net = make_random(seed, 1);
        struct morsel_model model;
        size_t bytes;
        net->arena_room = 1;
        uint8_t *blob = blob_of(net, &bytes);
        work_of(blob, bytes, &model);
        struct morsel_blob_header *h = (void *)blob;
        struct morsel_blob_group *groups = (void *)(blob + h->groups.offset);
        for (uint32_t trial = 0; trial < 12; trial++) {
            uint32_t count = h->groups.count;
            uint64_t turns = 0, work;
            for (uint32_t i = 0; i < count; i++) {
                const struct morsel_blob_step *last = morsel_blob_step(&model, groups[i].first_step + groups[i].step_count - 1);
                struct morsel_blob_tensor *y = (struct morsel_blob_tensor *)(void *)(blob + h->tensors.offset);
                y[morsel_blob_operand(&model, last, last->input_count)].dims[0] = trial % 3 + 1;
                groups[i].strip_rows = trial % 4 + 1;
            }
            for (uint32_t i = 0; i < count; i++) turns += turns_of(&model, &groups[i]);
            work = morsel_work(&model);
            h->groups.count = 0;
            assert_true(work - morsel_work(&model) == turns);
            h->groups.count = count;
        }
        streams += h->groups.count;
        free(blob);
        net_free(net);
    }
    current = 0;
    assert_true(streams > 10);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_model_has_no_work),     cmocka_unit_test_teardown(work_is_more_than_macs_but_not_much, say_seed),
        cmocka_unit_test(each_kind_counts_what_it_reads), cmocka_unit_test(work_without_end_is_told),
        cmocka_unit_test(windows_count_rows_and_taps),    cmocka_unit_test(whole_blocks_are_not_padded),
        cmocka_unit_test(other_kinds_count_elements),     cmocka_unit_test(products_are_exact_or_the_most),
        cmocka_unit_test(sums_stay_at_the_most),          cmocka_unit_test_teardown(groups_count_turns, say_seed),
    };
    read_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
