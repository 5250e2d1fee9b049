/* SPDX-License-Identifier: MIT */
/*
 * Steps that stream rows: random networks give the same bytes as step by step, in any number of tasks; and their plans hold, checked by
 * a run in the mind in which every byte of the arena knows which row of which tensor was written there last. test_stream [SEED]
 */
#include "tests/unit/support/stream_runs.h"

#include "tools/net/nets.h"

/* What stood in groups, by kind; DILATED and IN_FLOATS are windows with gaps, and steps that write floats. */
enum { DILATED = MORSEL_STEP_KIND_COUNT, IN_FLOATS, BESIDE, SEEN };

static void count_kinds(const struct net *net, uint32_t seen[SEEN]) {
    for (uint32_t i = 0; i < net->step_count; i++) {
        const struct net_step *step = net->steps[i];
        struct morsel_reach r;
        if (!step->group) {
            seen[BESIDE] += step->kind == MORSEL_STEP_AVERAGE_POOL && net->group_count;
            continue;
        }
        seen[step->kind]++;
        assert_true(plan_reach(step, &r));
        seen[DILATED] += (step->kind == MORSEL_STEP_CONV || step->kind == MORSEL_STEP_DEPTHWISE) && step->parameters.window.dilation_h > 1;
        seen[IN_FLOATS] += step->output->type == MORSEL_FLOAT32;
    }
}

static void compare_plans(uint32_t seed, uint32_t seen[SEEN]) {
    uint32_t images = seed % 4 ? 1 : 3, want_bytes;
    size_t bytes;
    struct net *whole = make_random(seed, images), *rows = make_random(seed, images);
    whole->no_streaming = true;
    rows->arena_room = between(0, 3) ? 1 : between(0, 100000);
    uint8_t *blob = blob_of(whole, &bytes);
    uint8_t *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
    free(blob);
    blob = blob_of(rows, &bytes);
    count_kinds(rows, seen);
    compare(blob, bytes, 1, MORSEL_CPU_ALL, want, want_bytes);
    compare(blob, bytes, 1, MORSEL_CPU_C, want, want_bytes);
    for (uint32_t tasks = 2; tasks < 8; tasks += 2) compare(blob, bytes, tasks, MORSEL_CPU_ALL, want, want_bytes);
    free(blob);
    free(want);
    net_free(whole);
    net_free(rows);
}

static void streaming_gives_the_same_bytes(void **unused) {
    (void)unused;
    static const uint32_t wanted[] = {MORSEL_STEP_CONV,
                                      MORSEL_STEP_DEPTHWISE,
                                      MORSEL_STEP_BINARY,
                                      MORSEL_STEP_UNARY,
                                      MORSEL_STEP_LUT,
                                      MORSEL_STEP_MAX_POOL,
                                      MORSEL_STEP_FLOAT_CONV,
                                      DILATED,
                                      IN_FLOATS,
                                      BESIDE};
    uint32_t seen[SEEN] = {0};
    for (uint32_t seed = first; seed < first + 300; seed++) compare_plans(seed, seen);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (seen[wanted[i]] < 8) print_message("# only %u of kind %u in groups\n", seen[wanted[i]], wanted[i]);
        assert_true(seen[wanted[i]] >= 8);
    }
    current = 0;
}

/* --- A run in the mind --- */

struct mind {
    const struct net *net;
    uint64_t *owner; /* of each byte: tensor, row */
};

static uint64_t tag(const struct net_buffer *b, uint32_t row) {
    return (uint64_t)b->index << 32 | row;
}

static uint32_t held(const struct net_buffer *b) {
    return b->ring_rows ? b->ring_rows : b->dims[1];
}

static uint32_t row_bytes(const struct net_buffer *b) {
    return b->rank == 4 ? b->bytes / b->dims[0] / b->dims[1] : b->bytes;
}

static uint64_t *place_of(const struct mind *m, const struct net_buffer *b, uint32_t row) {
    uint64_t at = b->rank == 4 ? (uint64_t)(row % held(b)) * row_bytes(b) : 0;
    assert_true(b->offset % MORSEL_FORMAT_ALIGN == 0 && b->offset >= m->net->step_count * MORSEL_FORMAT_STEP_SLOT);
    assert_true(b->offset + at + row_bytes(b) <= m->net->arena_bytes);
    return m->owner + b->offset + at;
}

static void write_row(const struct mind *m, const struct net_buffer *b, uint32_t row) {
    uint64_t *place = place_of(m, b, row);
    for (uint32_t i = 0; i < row_bytes(b); i++) place[i] = tag(b, row);
}

static void read_row(const struct mind *m, const struct net_buffer *b, uint32_t row) {
    const uint64_t *place = b->constant ? NULL : place_of(m, b, row);
    for (uint32_t i = 0; place && i < row_bytes(b); i++) assert_int_equal(place[i], tag(b, row));
}

static uint32_t rows_of(const struct net_buffer *b) {
    return b->rank == 4 ? b->dims[1] : 1;
}

/* The scratch of a step stands from its group's start on. */
static void touch_scratch(const struct mind *m, uint32_t s, bool write) {
    const struct net_step *step = m->net->steps[s];
    assert_true((uint64_t)step->scratch_offset + step->scratch_bytes <= m->net->arena_bytes);
    for (uint32_t i = 0; i < step->scratch_bytes; i++) {
        uint64_t *place = &m->owner[step->scratch_offset + i];
        if (write) *place = UINT64_MAX - s;
        else assert_int_equal(*place, UINT64_MAX - s);
    }
}

static void make_row(const struct mind *m, uint32_t s, uint32_t row) {
    const struct net_step *step = m->net->steps[s];
    struct morsel_reach r;
    touch_scratch(m, s, false);
    if (plan_reach(step, &r)) {
        for (uint32_t k = 0; k < step->input_count; k++)
            for (uint32_t i = 0; i < r.window; i++) {
                int64_t at = (int64_t)row * r.stride + i - r.pad;
                if (at >= 0 && at < rows_of(step->inputs[k])) read_row(m, step->inputs[k], (uint32_t)at);
            }
    }
    write_row(m, step->output, row);
}

static void run_step(const struct mind *m, uint32_t s) {
    const struct net_step *step = m->net->steps[s];
    struct morsel_reach r;
    touch_scratch(m, s, true);
    if (!plan_reach(step, &r))
        for (uint32_t k = 0; k < step->input_count; k++)
            for (uint32_t row = 0; row < rows_of(step->inputs[k]); row++) read_row(m, step->inputs[k], row);
    for (uint32_t row = 0; row < rows_of(step->output); row++) make_row(m, s, row);
}

static void run_group(const struct mind *m, const struct morsel_blob_group *g) {
    uint32_t made[MORSEL_FORMAT_MAX_GROUP] = {0};
    const struct net_step *last = m->net->steps[g->first_step + g->step_count - 1];
    int32_t strip = (int32_t)g->strip_rows;
    for (uint32_t i = 0; i < g->step_count; i++) touch_scratch(m, g->first_step + i, true);
    for (int32_t t = -strip * 200; t < (int32_t)rows_of(last->output); t += strip) {
        for (uint32_t i = 0; i < g->step_count; i++) {
            const struct net_step *step = m->net->steps[g->first_step + i];
            int32_t want = (int32_t)step->stage_scale * (t + strip) + step->stage_lead;
            for (; (int32_t)made[i] < want && made[i] < rows_of(step->output); made[i]++) make_row(m, g->first_step + i, made[i]);
        }
    }
    assert_int_equal(made[g->step_count - 1], rows_of(last->output));
}

static void walk(const struct net *net) {
    struct mind m = {net, malloc((size_t)net->arena_bytes * sizeof *m.owner)};
    memset(m.owner, 0xff, (size_t)net->arena_bytes * sizeof *m.owner);
    for (uint32_t i = 0; i < net->input_count; i++)
        for (uint32_t row = 0; row < rows_of(net->inputs[i].buffer); row++) write_row(&m, net->inputs[i].buffer, row);
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct morsel_blob_group *g = net->steps[s]->group ? &net->groups[net->steps[s]->group - 1] : NULL;
        if (g) run_group(&m, g);
        else run_step(&m, s);
        s += g ? g->step_count - 1 : 0;
    }
    for (uint32_t i = 0; i < net->output_count; i++)
        for (uint32_t row = 0; row < rows_of(net->outputs[i].buffer); row++) read_row(&m, net->outputs[i].buffer, row);
    free(m.owner);
}

static void plans_hold_row_by_row(void **unused) {
    (void)unused;
    for (uint32_t seed = first + 1000; seed < first + 1300; seed++) {
        struct net *net = make_random(seed, 1);
        net->arena_room = between(0, 3) ? 1 : between(0, 100000);
        net->fast_room = between(0, 1) ? between(64, 20000) : 0;
        assert_true(plan_arena(net));
        walk(net);
        uint32_t live;
        plan_peak(net, &live);
        assert_true(live <= net->arena_bytes);
        net_free(net);
    }
    current = 0;
}

/* Where the first cut that is tried takes more than asked for when it is placed, and a lower one does not. */
static void an_arena_of_a_built_in_network(const char *name, uint32_t asked) {
    struct file_bytes blob;
    struct failure failure;
    assert_true(nets_blob(name, false, asked, &blob, &failure));
    assert_in_range(((const struct morsel_blob_header *)(const void *)blob.data)->arena_bytes, 1, asked);
    file_free(&blob);
}

/* Whoever asks for the least or more gets no more than asked for; and a network may be planned again. */
static void an_arena_that_can_be_had_is(void **unused) {
    (void)unused;
    an_arena_of_a_built_in_network("mobilenetv2-224", 260000);
    an_arena_of_a_built_in_network("shufflenetv2-224", 240000);
    for (uint32_t seed = first + 3000; seed < first + 3020; seed++) {
        struct net *net = make_random(seed, 1), *fresh = make_random(seed, 1);
        net->arena_room = 1;
        assert_true(plan_arena(net));
        uint32_t least = net->arena_bytes, asked = least;
        for (uint32_t i = 0; i < 6; i++, asked += 64 * between(1, 60)) {
            net->arena_room = asked;
            assert_true(plan_arena(net));
            assert_in_range(net->arena_bytes, 0, asked);
        }
        fresh->arena_room = net->arena_room;
        assert_true(plan_arena(fresh));
        assert_int_equal(fresh->arena_bytes, net->arena_bytes);
        assert_int_equal(fresh->group_count, net->group_count);
        for (uint32_t i = 0; i < net->buffer_count; i++) assert_int_equal(fresh->buffers[i]->offset, net->buffers[i]->offset);
        net_free(net);
        net_free(fresh);
    }
    current = 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(streaming_gives_the_same_bytes, say_seed),
        cmocka_unit_test_teardown(plans_hold_row_by_row, say_seed),
        cmocka_unit_test_teardown(an_arena_that_can_be_had_is, say_seed),
    };
    read_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
