/* SPDX-License-Identifier: MIT */
/* Chains weigh rows made twice by multiplications that a blob merely states: any number of them opens, and gives the same bytes. */
#include "tests/unit/support/stream_runs.h"

#include "core/call.h"
#include "tools/net/nets_build.h"

enum { SIDE = 28, TASKS = 4 };

/* Inverted residuals, which tasks go through without waiting; between two of their steps one whose output has a single row. */
static struct net *make_pooled(void) {
    struct maker maker;
    make_start(&maker, "unread");
    struct net_buffer *x = make_conv(&maker, make_picture(&maker, SIDE, SIDE, 3), 32, 3, 3, 2, RELU), *pooled[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 5; i++) {
        struct net_buffer *y = make_depthwise(&maker, make_conv(&maker, x, 192, 1, 1, 1, RELU), 3, 1, RELU);
        if (i == 0 || i == 3) pooled[i > 0] = make_max_pool(&maker, x, SIDE / 2, SIDE / 2);
        x = make_sum(&maker, x, make_conv(&maker, y, 32, 1, 1, 1, PLAIN), PLAIN);
    }
    struct net_buffer *side = make_fc(&maker, make_mean(&maker, make_sum(&maker, pooled[0], pooled[1], PLAIN)), 70, PLAIN);
    make_end(&maker, make_sum(&maker, make_fc(&maker, make_mean(&maker, x), 70, PLAIN), side, PLAIN));
    return maker.net;
}

static struct morsel_blob_step *step_of(uint8_t *blob, uint32_t index) {
    const struct morsel_blob_header *h = (const struct morsel_blob_header *)(const void *)blob;
    return (struct morsel_blob_step *)(void *)(blob + h->steps.offset) + index;
}

/* The sum of the two pools reads the first one twice: nobody reads the second. Returns its step. */
static uint32_t leave_unread(uint8_t *blob) {
    const struct morsel_blob_header *h = (const struct morsel_blob_header *)(const void *)blob;
    uint32_t *operands = (uint32_t *)(void *)(blob + h->operands.offset), pools[2], n = 0;
    for (uint32_t i = 0; i < h->steps.count; i++)
        if (step_of(blob, i)->kind == MORSEL_STEP_MAX_POOL) pools[n++] = i;
    assert_int_equal(n, 2);
    uint32_t unread = operands[step_of(blob, pools[1])->first_operand + 1];
    for (uint32_t i = 0; i < h->operands.count; i++)
        if (i != step_of(blob, pools[1])->first_operand + 1 && operands[i] == unread)
            operands[i] = operands[step_of(blob, pools[0])->first_operand + 1];
    ((struct morsel_blob_tensor *)(void *)(blob + h->tensors.offset))[unread].last_step = pools[1];
    return pools[1];
}

/* As a blob states them, whatever is true. */
static void state_macs(uint8_t *blob, uint64_t macs) {
    for (uint32_t i = 0; i < ((const struct morsel_blob_header *)(const void *)blob)->steps.count; i++) {
        step_of(blob, i)->macs_low = (uint32_t)macs;
        step_of(blob, i)->macs_high = (uint32_t)(macs >> 32);
    }
}

/* Whether that step stands in a chain. */
static bool chained(const uint8_t *blob, size_t bytes, uint32_t index) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_options options = {.size = sizeof options, .tasks = TASKS, .parallel_for = backwards};
    assert_int_equal(morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    uint32_t arena_bytes = morsel_arena_bytes_for(&model, TASKS);
    uint8_t *arena = builder_aligned(arena_bytes);
    assert_int_equal(morsel_session_open(&s, &model, arena, arena_bytes, &options), MORSEL_OK);
    bool inside = morsel_call_at(&s, index)->mode == MORSEL_MODE_CHAIN;
    free(arena);
    return inside;
}

/* All that a blob can state. For a step of no rows less its one row of some 2^32 units the product must not leave 64 bits. */
static void any_number_of_stated_macs_opens(void **unused) {
    (void)unused;
    static const uint64_t macs[] = {UINT64_MAX, ((uint64_t)1 << 40) - 1, ((uint64_t)1 << 39) + 12345, (uint64_t)1 << 38, 256, 255, 1, 0};
    for (size_t i = 0; i < sizeof macs / sizeof *macs; i++) {
        size_t bytes;
        uint32_t want_bytes;
        struct net *net = make_pooled();
        uint8_t *blob = blob_of(net, &bytes);
        uint32_t unread = leave_unread(blob);
        uint8_t *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
        state_macs(blob, macs[i]);
        assert_true(chained(blob, bytes, unread));
        for (uint32_t tasks = 2; tasks <= TASKS; tasks++) compare(blob, bytes, tasks, MORSEL_CPU_ALL, want, want_bytes);
        free(blob);
        free(want);
        net_free(net);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_stated_macs_opens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
