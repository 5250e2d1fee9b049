/* SPDX-License-Identifier: MIT */
/* Attention by some heads at a time gives the same bits as by all at once, and no tensor of all heads' scores stands between. */
#include "tools/net/heads.h"

#include "tests/unit/support/stream_runs.h"

#include <math.h>

enum { HEADS = 5, TOKENS = 6, DEPTH = 4, WIDTH = HEADS * DEPTH };

/* How an attention is spelled. */
struct spelling {
    uint32_t outer;
    enum { NO_MASK, MASK_OF_SUM, MASK_OF_SUM_LEFT, MASK_OF_PRODUCT } mask;
    bool by_head;   /* the mask differs from head to head */
    bool turned;    /* the result lies by token */
    bool collapsed; /* the sum goes over heads and the rest as over two dimensions */
    bool seen;      /* somebody else reads the scores */
};

static struct net_buffer *tensor(struct net *net, uint32_t elements) {
    return net_add_buffer(net, MORSEL_FLOAT32, MORSEL_ROW_MAJOR, 1, &elements, "");
}

static struct net_buffer *input(struct net *net, uint32_t elements, const char *name) {
    struct net_buffer *x = tensor(net, elements);
    net_add_io(net, false, (struct net_io){x, MORSEL_FLOAT32, 1, {elements}, name});
    return x;
}

static struct net_buffer *add_mask(struct net *net, const struct spelling *s, struct net_buffer *scores, struct net_buffer *mask) {
    struct net_buffer *y = tensor(net, net_elements(scores));
    const bool left = s->mask == MASK_OF_SUM_LEFT;
    struct net_step *step = net_add_step(net, MORSEL_STEP_BINARY, "sum", left ? mask : scores, left ? scores : mask, y);
    const uint32_t lines = TOKENS * TOKENS, head = s->by_head ? lines : 0;
    struct morsel_blob_binary p = {.op = MORSEL_BINARY_ADD, .rank = 4, .dims = {s->outer, HEADS, TOKENS, TOKENS, 1, 1}};
    const uint32_t whole[4] = {HEADS * lines, lines, TOKENS, 1}, term[4] = {0, head, TOKENS, 1};
    memcpy(left ? p.b_stride : p.a_stride, whole, sizeof whole);
    memcpy(left ? p.a_stride : p.b_stride, term, sizeof term);
    if (s->collapsed)
        p = (struct morsel_blob_binary){
            .op = MORSEL_BINARY_ADD, .rank = 2, .dims = {s->outer * HEADS, lines, 1, 1, 1, 1}, .a_stride = {lines, 1}, .b_stride = {0, 1}};
    p.a_ratio = p.b_ratio = 1;
    p.float_min = -INFINITY;
    p.float_max = INFINITY;
    step->parameters.binary = p;
    return y;
}

static struct net *attention(const struct spelling *s) {
    const uint32_t scores = s->outer * HEADS * TOKENS * TOKENS, values = s->outer * TOKENS * WIDTH;
    const uint32_t term[4] = {0, s->by_head ? TOKENS * TOKENS : 0, TOKENS, 1};
    struct net *net = net_new("attention");
    struct net_buffer *q = input(net, values, "q"), *k = input(net, values, "k"), *v = input(net, values, "v");
    struct net_buffer *mask = input(net, s->by_head ? HEADS * TOKENS * TOKENS : TOKENS * TOKENS, "mask");
    struct morsel_blob_float_matmul p = {.dims = {s->outer, HEADS, TOKENS, TOKENS},
                                         .inner = DEPTH,
                                         .a_stride = {TOKENS * WIDTH, DEPTH, WIDTH},
                                         .b_stride = {TOKENS * WIDTH, DEPTH, 1, WIDTH},
                                         .factor = 0.5f,
                                         .float_min = -INFINITY,
                                         .float_max = INFINITY};
    struct net_buffer *x = tensor(net, scores), *shares = tensor(net, scores), *y = tensor(net, values);
    struct net_step *step = net_add_step(net, MORSEL_STEP_FLOAT_MATMUL, "scores", q, k, x);
    if (s->mask == MASK_OF_PRODUCT) {
        step->inputs = net_alloc(net, 3 * sizeof *step->inputs);
        step->inputs[0] = q, step->inputs[1] = k, step->inputs[2] = mask;
        step->input_count = 3;
        memcpy(p.term_stride, term, sizeof term);
    }
    step->parameters.float_matmul = p;
    if (s->seen) net_add_io(net, true, (struct net_io){x, MORSEL_FLOAT32, 1, {scores}, "seen"});
    if (s->mask == MASK_OF_SUM || s->mask == MASK_OF_SUM_LEFT) x = add_mask(net, s, x, mask);
    step = net_add_step(net, MORSEL_STEP_SOFTMAX, "softmax", x, NULL, shares);
    step->parameters.softmax = (struct morsel_blob_softmax){scores / TOKENS, TOKENS, 1, 0};
    step = net_add_step(net, MORSEL_STEP_FLOAT_MATMUL, "values", shares, v, y);
    p = (struct morsel_blob_float_matmul){.dims = {s->outer, HEADS, TOKENS, DEPTH},
                                          .inner = TOKENS,
                                          .turned = s->turned,
                                          .a_stride = {HEADS * TOKENS * TOKENS, TOKENS * TOKENS, TOKENS},
                                          .b_stride = {TOKENS * WIDTH, DEPTH, WIDTH, 1},
                                          .factor = 1,
                                          .float_min = -INFINITY,
                                          .float_max = INFINITY};
    step->parameters.float_matmul = p;
    net_add_io(net, true, (struct net_io){y, MORSEL_FLOAT32, 1, {values}, "y"});
    return net;
}

/* The largest tensor that steps make, in floats. */
static uint32_t largest(const struct net *net) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < net->step_count; i++)
        if (net_elements(net->steps[i]->output) > most) most = net_elements(net->steps[i]->output);
    return most;
}

/* Runs with `room` for scores, or as it is where that is 0; returns the steps. */
static uint32_t run_with_room(const struct spelling *s, uint32_t room, float *y, uint32_t *most) {
    struct net *net = attention(s);
    struct morsel_model model;
    struct morsel_session session;
    size_t bytes;
    if (room) net_split_heads(net, room);
    *most = largest(net);
    uint8_t *blob = blob_of(net, &bytes);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    void *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&session, &model, arena, morsel_arena_bytes(&model), NULL), MORSEL_OK);
    for (uint32_t i = 0; i < 4; i++) {
        struct morsel_view x;
        assert_int_equal(morsel_input(&session, i, &x), MORSEL_OK);
        for (uint32_t e = 0; e < morsel_view_elements(&x); e++) ((float *)x.data)[e] = (float)((e * 37 + i * 11) % 23) / 8 - 1;
    }
    assert_int_equal(morsel_run(&session), MORSEL_OK);
    struct morsel_view out;
    assert_int_equal(morsel_output(&session, s->seen ? 1 : 0, &out), MORSEL_OK);
    memcpy(y, out.data, morsel_view_elements(&out) * sizeof *y);
    const uint32_t steps = net->step_count;
    free(arena);
    free(blob);
    net_free(net);
    return steps;
}

static void expect(const struct spelling *s, uint32_t room, uint32_t steps, bool splits) {
    float whole[2 * TOKENS * WIDTH], parts[2 * TOKENS * WIDTH];
    uint32_t most;
    run_with_room(s, 0, whole, &most);
    assert_int_equal(most, s->outer * HEADS * TOKENS * TOKENS);
    assert_int_equal(run_with_room(s, room, parts, &most), steps);
    assert_memory_equal(whole, parts, s->outer * TOKENS * WIDTH * sizeof *whole);
    assert_int_equal(most < s->outer * HEADS * TOKENS * TOKENS, splits);
}

static void some_heads_at_a_time_give_the_same(void **state) {
    (void)state;
    const uint32_t head = TOKENS * TOKENS * 4;
    for (int mask = NO_MASK; mask <= MASK_OF_PRODUCT; mask++)
        for (int turned = 0; turned < 2; turned++) {
            const struct spelling s = {.outer = 1, .mask = mask, .turned = turned};
            expect(&s, 1, 3 * 5 + 1, true);        /* a head is the least */
            expect(&s, 2 * head, 3 * 3 + 1, true); /* two, two and one */
            expect(&s, 4 * head, 3 * 2 + 1, true); /* three and two: even parts */
            expect(&s, HEADS * head, 3, false);    /* there is room for all; a mask joins its product */
            const struct spelling two = {.outer = 2, .mask = mask, .turned = turned};
            expect(&two, 2 * head, 3 * 5 + 1, true); /* heads of a batch go together */
        }
    const struct spelling collapsed = {.outer = 1, .mask = MASK_OF_SUM, .collapsed = true};
    expect(&collapsed, 2 * head, 3 * 3 + 1, true);
}

static void what_heads_share_or_others_see_stays(void **state) {
    (void)state;
    const struct spelling by_head = {.outer = 1, .mask = MASK_OF_SUM, .by_head = true}, in_product = {1, MASK_OF_PRODUCT, true, 0, 0, 0};
    expect(&by_head, 1, 3, false);
    expect(&in_product, 1, 3, false);
    const struct spelling seen = {.outer = 1, .mask = MASK_OF_SUM, .seen = true}, plain = {.outer = 1, .seen = true};
    expect(&seen, 1, 4, false);
    expect(&plain, 1, 3, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(some_heads_at_a_time_give_the_same),
                                       cmocka_unit_test(what_heads_share_or_others_see_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
