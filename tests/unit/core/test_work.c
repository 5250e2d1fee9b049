/* SPDX-License-Identifier: MIT */
/* morsel_work(): no less than a run's multiplications and bytes, not much more, and never a number that wraps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_model_has_no_work),
        cmocka_unit_test_teardown(work_is_more_than_macs_but_not_much, say_seed),
        cmocka_unit_test(each_kind_counts_what_it_reads),
        cmocka_unit_test(work_without_end_is_told),
    };
    read_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
