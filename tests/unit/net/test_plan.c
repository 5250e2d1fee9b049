/* SPDX-License-Identifier: MIT */
/* The arena plan of random networks, checked by walking it: every byte knows which tensor wrote it last. */
#include "tools/net/plan/plan.h"
#include "tools/net/plan/plan_groups.h"
#include "tools/net/plan/plan_slices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t seed;
static uint32_t kind_count = 4; /* with 5 there are steps along lines, which make a network one of format 2 */

static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static struct net_buffer *any_buffer(struct net *net) {
    return net->buffers[below(net->buffer_count)];
}

/* LUT and LAYER_NORM may write over their input, BINARY over either, CONV over none and with scratch. */
static void add_step(struct net *net) {
    static const enum morsel_step_kind kinds[] = {MORSEL_STEP_CONV, MORSEL_STEP_LUT, MORSEL_STEP_BINARY, MORSEL_STEP_CONCAT,
                                                  MORSEL_STEP_LAYER_NORM};
    enum morsel_step_kind kind = kinds[below(kind_count)];
    struct net_buffer *a = below(3) ? net->buffers[net->buffer_count - 1] : any_buffer(net);
    struct net_buffer *b = kind == MORSEL_STEP_BINARY ? any_buffer(net) : NULL;
    uint32_t size = kind == MORSEL_STEP_CONV || kind == MORSEL_STEP_CONCAT ? 1 + below(5000) : net_elements(a);
    struct net_buffer *y = net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "");
    struct net_step *step = net_add_step(net, kind, "", a, b, y);
    if (kind == MORSEL_STEP_CONV && below(2)) step->scratch_bytes = 1 + below(300);
    if (b) {
        struct morsel_blob_binary *p = &step->parameters.binary;
        p->rank = 1;
        p->dims[0] = size;
        p->a_stride[0] = 1;
        p->b_stride[0] = net_elements(b) == size ? 1 : 0;
    }
}

static struct net *random_net(uint32_t steps) {
    struct net *net = net_new("random");
    uint32_t inputs = 1 + below(3), size;
    for (uint32_t i = 0; i < inputs; i++) {
        size = 1 + below(3000);
        net_add_io(net, false, (struct net_io){.buffer = net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "")});
    }
    if (below(2)) {
        size = 100;
        net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "")->constant = "";
    }
    for (uint32_t i = 0; i < steps; i++) add_step(net);
    for (uint32_t i = 0; i < 1 + below(3); i++) net_add_io(net, true, (struct net_io){.buffer = any_buffer(net)});
    net_add_io(net, true, (struct net_io){.buffer = net->buffers[net->buffer_count - 1]});
    return net;
}

static void claim(uint32_t *owner, const struct net *net, uint32_t offset, uint32_t bytes, uint32_t who) {
    assert_true(offset % MORSEL_FORMAT_ALIGN == 0);
    assert_true(offset >= net->step_count * MORSEL_FORMAT_STEP_SLOT);
    assert_true((uint64_t)offset + bytes <= net->arena_bytes);
    uint32_t split = net->arena_bytes - net->fast_bytes;
    assert_true(offset >= split || offset + bytes <= split);
    for (uint32_t i = 0; i < bytes; i++) owner[offset + i] = who;
}

static void expect_whole(const uint32_t *owner, const struct net_buffer *b) {
    for (uint32_t i = 0; i < b->bytes && !b->constant; i++) assert_int_equal(owner[b->offset + i], b->index);
}

/* Runs the plan in the mind; each step reads its inputs while its scratch is in use, then writes. */
static void walk(const struct net *net) {
    uint32_t *owner = malloc(net->arena_bytes * sizeof *owner + 1);
    assert_non_null(owner);
    memset(owner, 0xff, net->arena_bytes * sizeof *owner);
    for (uint32_t i = 0; i < net->input_count; i++)
        claim(owner, net, net->inputs[i].buffer->offset, net->inputs[i].buffer->bytes, net->inputs[i].buffer->index);
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        if (step->scratch_bytes) claim(owner, net, step->scratch_offset, step->scratch_bytes, 0x80000000u + s);
        for (uint32_t k = 0; k < step->input_count; k++) expect_whole(owner, step->inputs[k]);
        if (step->kind == MORSEL_STEP_CONV || step->kind == MORSEL_STEP_CONCAT) /* reads on while it writes */
            claim(owner, net, step->output->offset, step->output->bytes, step->output->index);
        bool over = step->kind == MORSEL_STEP_BINARY || step->kind == MORSEL_STEP_LUT || step->kind == MORSEL_STEP_LAYER_NORM;
        for (uint32_t k = 0; k < step->input_count && !over; k++) expect_whole(owner, step->inputs[k]);
        claim(owner, net, step->output->offset, step->output->bytes, step->output->index);
        if (step->kind == MORSEL_STEP_BINARY && step->parameters.binary.b_stride[0] == 0) /* an operand that repeats stays */
            expect_whole(owner, step->inputs[1]);
    }
    for (uint32_t i = 0; i < net->output_count; i++) expect_whole(owner, net->outputs[i].buffer);
    free(owner);
}

static void random_plans_keep_every_tensor_whole(void **state) {
    (void)state;
    for (seed = 1; seed < 400;) {
        uint64_t round = seed;
        struct net *net = random_net(1 + below(40));
        net->fast_room = below(2) ? below(12000) : 0;
        assert_true(plan_arena(net));
        walk(net);
        uint32_t live;
        plan_peak(net, &live);
        assert_true(net->step_count == 0 || net->arena_bytes >= live / 2);
        assert_in_range(net->fast_bytes, 0, net->fast_room);
        net_free(net);
        seed = round + 1;
    }
}

static void steps_along_lines_write_over_their_input(void **state) {
    static const uint32_t size = 1000;
    kind_count = 5;
    random_plans_keep_every_tensor_whole(state);
    kind_count = 4;
    for (int format = 1; format <= 2; format++) {
        struct net *net = net_new("lines");
        struct net_buffer *b[4];
        for (int i = 0; i < 4; i++) b[i] = net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "");
        net_add_io(net, false, (struct net_io){.buffer = b[0]});
        net_add_step(net, MORSEL_STEP_SOFTMAX, "", b[0], NULL, b[1]);
        net_add_step(net, format == 2 ? MORSEL_STEP_LAYER_NORM : MORSEL_STEP_SOFTMAX, "", b[1], NULL, b[2]);
        net_add_step(net, MORSEL_STEP_SOFTMAX, "", b[2], NULL, b[3]);
        net_add_io(net, true, (struct net_io){.buffer = b[3]});
        assert_true(plan_arena(net));
        for (int i = 0; i < 3; i++) assert_int_equal(b[i]->offset == b[i + 1]->offset, format == 2);
        net_free(net);
    }
}

/* A search that ends too soon finds larger arenas: these are as small as a search to its end has found them. */
static void random_arenas_are_as_small_as_can_be_found(void **state) {
    (void)state;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 300; i++) {
        seed = i;
        struct net *net = random_net(1 + below(12));
        assert_true(plan_arena(net));
        bytes += net->arena_bytes;
        net_free(net);
    }
    assert_true(bytes <= 2639104);
}

static void steps_that_nobody_needs_are_dropped(void **state) {
    (void)state;
    struct net *net = net_new("dead");
    uint32_t size = 64;
    struct net_buffer *x = net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "x"), *y[3];
    for (int i = 0; i < 3; i++) y[i] = net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "y");
    net_add_io(net, false, (struct net_io){.buffer = x});
    net_add_step(net, MORSEL_STEP_LUT, "dead", x, NULL, y[0]);
    net_add_step(net, MORSEL_STEP_LUT, "first", x, NULL, y[1]);
    net_add_step(net, MORSEL_STEP_LUT, "second", y[1], NULL, y[2]);
    net_add_io(net, true, (struct net_io){.buffer = y[2]});
    assert_true(plan_arena(net));
    assert_int_equal(net->step_count, 2);
    assert_string_equal(net->steps[0]->name, "first");
    assert_false(y[0]->used);
    /* Two lookups one over the other: one slice serves all three tensors. */
    assert_int_equal(net->arena_bytes, 2 * MORSEL_FORMAT_STEP_SLOT + 64);
    net_free(net);
}

static void an_arena_beyond_two_gigabytes_is_refused(void **state) {
    (void)state;
    struct net *net = net_new("large");
    uint32_t size = 1u << 30;
    struct net_buffer *x = net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "x");
    struct net_buffer *y = net_add_buffer(net, MORSEL_UINT8, MORSEL_ROW_MAJOR, 1, &size, "y");
    net_add_io(net, false, (struct net_io){.buffer = x});
    net_add_step(net, MORSEL_STEP_CONV, "conv", x, NULL, y);
    net_add_io(net, true, (struct net_io){.buffer = y});
    assert_false(plan_arena(net));
    net_free(net);
}

/* The lag by its words: at every strip but the first. */
static int64_t lag_by_strips(const struct plan_trail *p) {
    int64_t lag = 0;
    for (int64_t t = p->strip; t < p->height; t += p->strip) {
        int64_t next = p->slope * t + p->offset, own = t * p->written - (next > 0 ? next : 0) * p->kept;
        lag = own > lag ? own : lag;
    }
    return lag;
}

static void a_lag_is_the_most_of_all_strips(void **state) {
    (void)state;
    static const int64_t bytes[][2] = {{1, 1}, {5, 2}, {2, 5}, {9, 1}, {1, 9}, {6, 3}};
    uint32_t above = 0;
    for (uint32_t n = 0; n < 6 * 4 * 13 * 6 * 41; n++) {
        struct plan_trail p = {.strip = 1 + n / 6 % 4,
                               .height = n / 24 % 13,
                               .slope = n / 312 % 6,
                               .offset = (int64_t)(n / 1872 % 41) - 25,
                               .written = bytes[n % 6][0],
                               .kept = bytes[n % 6][1]};
        assert_int_equal(plan_lag(&p), lag_by_strips(&p));
        above += plan_lag(&p) > 0;
    }
    assert_in_range(above, 1, 6 * 4 * 13 * 6 * 41 - 1);
    /* 2^26 rows in one strip each: what stands still does so for 2^25 of them. */
    struct plan_trail tall = {.strip = 1, .height = 1u << 26, .slope = 2, .offset = -(1 << 26), .written = 3, .kept = 4};
    assert_int_equal(plan_lag(&tall), (int64_t)3 << 25);
}

/* A group begins anywhere and has up to 32 steps: each looks twice at what reads it, however many strips there may be. */
static void few_looks_find_the_groups(void **state) {
    (void)state;
    enum { LONG = 1000, HIGH = 64 };
    const uint32_t dims[4] = {1, HIGH, 8, 8};
    struct net *net = net_new("test");
    struct net_buffer *x = net_add_buffer(net, MORSEL_UINT8, MORSEL_CHANNELS_LAST, 4, dims, "x");
    net_add_io(net, false, (struct net_io){.buffer = x});
    for (int i = 0; i < LONG; i++) {
        struct net_buffer *y = net_add_buffer(net, MORSEL_UINT8, MORSEL_CHANNELS_LAST, 4, dims, "y");
        net_add_step(net, MORSEL_STEP_LUT, "step", x, NULL, y)->parameters.lut.channels = 1;
        x = y;
    }
    net_add_io(net, true, (struct net_io){.buffer = x});
    assert_true(plan_arena(net));
    assert_in_range(net->looks, LONG, LONG * 32 * 32);
    net_free(net);
}

/* A stair that was placed from its top down: each step of it is in the way of a slice that was put past the one below. */
static void stairs_are_passed_in_a_few_rounds(void **state) {
    (void)state;
    enum { STAIRS = 400 };
    static struct slice stairs[STAIRS];
    struct slice *placed[STAIRS], slice = {.bytes = 128};
    uint32_t solid = 0, top = 64 * (STAIRS + 1);
    const struct skyline sky = {1, &solid, &top};
    uint64_t work = 0;
    for (uint32_t i = 0; i < STAIRS; i++) {
        stairs[i] = (struct slice){.bytes = 64, .offset = top - 64 * (i + 1)};
        placed[i] = &stairs[i];
    }
    assert_int_equal(plan_lowest_gap(placed, STAIRS, &sky, &slice, &work), top);
    assert_in_range(work, STAIRS, 20 * STAIRS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stairs_are_passed_in_a_few_rounds),        cmocka_unit_test(random_plans_keep_every_tensor_whole),
        cmocka_unit_test(steps_along_lines_write_over_their_input), cmocka_unit_test(random_arenas_are_as_small_as_can_be_found),
        cmocka_unit_test(steps_that_nobody_needs_are_dropped),      cmocka_unit_test(an_arena_beyond_two_gigabytes_is_refused),
        cmocka_unit_test(a_lag_is_the_most_of_all_strips),          cmocka_unit_test(few_looks_find_the_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
