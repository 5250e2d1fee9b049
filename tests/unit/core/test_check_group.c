/* SPDX-License-Identifier: MIT */
/*
 * The plans of steps that stream rows at open: one that works is taken, one that does not is refused, whoever made it.
 * test_check_group [SEED]
 */
#include "tests/unit/support/stream_runs.h"

#include "tools/net/nets_build.h"

/* --- Damaged plans --- */

static void change(uint32_t *field) {
    static const uint32_t odd[] = {0, 1, 2, 64, 0x7fffffff, 0x80000000, 0xffffffff};
    switch (between(0, 4)) {
    case 0: *field += 1; break;
    case 1: *field -= 1; break;
    case 2: *field += 64 * between(1, 40); break;
    case 3: *field -= 64 * between(1, 40); break;
    default: *field = odd[between(0, 6)]; break;
    }
}

/* One number of the plan. */
static void damage(uint8_t *blob) {
    struct morsel_blob_header *h = (struct morsel_blob_header *)(void *)blob;
    struct morsel_blob_step *step = (struct morsel_blob_step *)(void *)(blob + h->steps.offset) + between(0, h->steps.count - 1);
    struct morsel_blob_tensor *tensor = (struct morsel_blob_tensor *)(void *)(blob + h->tensors.offset) + between(0, h->tensors.count - 1);
    struct morsel_blob_group *group = (struct morsel_blob_group *)(void *)(blob + h->groups.offset) + between(0, h->groups.count - 1);
    uint32_t *fields[] = {&tensor->ring_rows, &tensor->offset,    &step->stage_scale, (uint32_t *)&step->stage_lead, &step->group,
                          &group->strip_rows, &group->step_count, &group->first_step, &step->scratch_offset,         &h->groups.count};
    change(fields[between(0, 9)]);
}

/* A plan that opens is one that works, whoever made it. */
static void damaged_plans_are_refused_or_work(void **unused) {
    (void)unused;
    uint32_t refused = 0, opened = 0;
    for (uint32_t seed = first + 2000; seed < first + 2150; seed++) {
        struct net *net = make_random(seed, seed % 5 ? 1 : 2);
        struct morsel_model model;
        size_t bytes;
        uint32_t want_bytes;
        net->arena_room = 1;
        uint8_t *blob = blob_of(net, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
        for (uint32_t i = 0; i < 60 && net->group_count; i++) {
            uint8_t *hurt = builder_aligned(bytes);
            memcpy(hurt, blob, bytes);
            damage(hurt);
            if (morsel_open(&model, hurt, bytes, MORSEL_SKIP_CHECKSUM)) refused++;
            else {
                opened++;
                compare(hurt, bytes, 1 + i % 3, MORSEL_CPU_ALL, want, want_bytes);
            }
            free(hurt);
        }
        free(blob);
        free(want);
        net_free(net);
    }
    assert_true(refused > 1000 && opened > 100);
    current = 0;
}

/* --- Rules at open --- */

static struct morsel_blob_header *header_of(uint8_t *blob) {
    return (struct morsel_blob_header *)(void *)blob;
}

static struct morsel_blob_step *step_of(uint8_t *blob, uint32_t index) {
    return (struct morsel_blob_step *)(void *)(blob + header_of(blob)->steps.offset) + index;
}

/* Operand n of a step: the inputs, then the output. */
static struct morsel_blob_tensor *operand_of(uint8_t *blob, uint32_t step, uint32_t n) {
    const uint32_t *operands = (const uint32_t *)(const void *)(blob + header_of(blob)->operands.offset);
    uint32_t index = operands[step_of(blob, step)->first_operand + n];
    return (struct morsel_blob_tensor *)(void *)(blob + header_of(blob)->tensors.offset) + index;
}

static uint32_t whole_row(const struct net_buffer *b) {
    return b->bytes / b->dims[0] / b->dims[1];
}

/* How many bytes before x the output of the group must begin by what step i reads of x, turn by turn; below 0: so far behind it may. */
static int64_t lag_by_turns(const struct net *net, const struct morsel_blob_group *g, uint32_t i, const struct net_buffer *x) {
    const struct net_step *step = net->steps[i];
    const struct net_buffer *y = net->steps[g->first_step + g->step_count - 1]->output;
    struct morsel_reach r;
    int64_t lag = -(int64_t)x->bytes;
    assert_true(plan_reach(step, &r));
    for (uint32_t t = g->strip_rows; t < y->dims[1]; t += g->strip_rows) {
        int64_t next = (int64_t)r.stride * ((int64_t)step->stage_scale * t + step->stage_lead) - r.pad;
        int64_t over = (int64_t)t * whole_row(y) - (next > 0 ? next : 0) * whole_row(x);
        lag = over > lag ? over : lag;
    }
    return lag;
}

/* Whether the group's output may begin `lead` bytes before x. */
static bool may_trail(const struct net *net, const struct morsel_blob_group *g, const struct net_buffer *x, int64_t lead) {
    uint32_t last = g->first_step + g->step_count - 1;
    const struct net_buffer *y = net->steps[last]->output;
    if (lead >= (int64_t)y->bytes || -lead >= (int64_t)x->bytes) return true;
    if (x->rank != 4 || x->dims[0] != 1 || x->last_step > last) return false;
    for (uint32_t i = g->first_step; i <= last; i++) {
        const struct net_step *step = net->steps[i];
        bool elementwise = step->kind == MORSEL_STEP_BINARY || step->kind == MORSEL_STEP_UNARY || step->kind == MORSEL_STEP_LUT;
        for (uint32_t n = 0; n < step->input_count; n++) {
            if (step->inputs[n] != x) continue;
            if (i == last && (!elementwise || lead || x->bytes != y->bytes)) return false;
            if (lag_by_turns(net, g, i, x) > lead) return false;
        }
    }
    return true;
}

/* x alone behind the arena as it was, and y so many bytes before it: open takes it where it may, and then it works. */
static void try_ahead(const uint8_t *blob, size_t bytes, const struct net *net, const struct morsel_blob_group *g, uint32_t reader,
                      uint32_t n, int64_t lead, const uint8_t *want, uint32_t want_bytes, uint32_t taken[2]) {
    uint8_t *moved = builder_aligned(bytes);
    struct morsel_model model;
    uint32_t last = g->first_step + g->step_count - 1;
    memcpy(moved, blob, bytes);
    struct morsel_blob_tensor *x = operand_of(moved, reader, n), *y = operand_of(moved, last, net->steps[last]->input_count);
    x->offset = header_of(moved)->arena_bytes + (y->bytes + 127) / 64 * 64;
    y->offset = x->offset - (uint32_t)lead;
    header_of(moved)->arena_bytes = x->offset + (x->bytes + y->bytes + 191) / 64 * 64;
    bool may = may_trail(net, g, net->steps[reader]->inputs[n], lead);
    assert_int_equal(morsel_open(&model, moved, bytes, MORSEL_SKIP_CHECKSUM), may ? MORSEL_OK : MORSEL_ERR_PLAN);
    taken[may]++;
    if (may && lead < (int64_t)y->bytes && -lead < (int64_t)x->bytes) {
        compare(moved, bytes, 1, MORSEL_CPU_ALL, want, want_bytes);
        compare(moved, bytes, 3, MORSEL_CPU_ALL, want, want_bytes);
    }
    free(moved);
}

/* About the least that each reader of x allows, where it lies side by side, and by chance. */
static void try_input(const uint8_t *blob, size_t bytes, const struct net *net, const struct morsel_blob_group *g, uint32_t reader,
                      uint32_t n, const uint8_t *want, uint32_t want_bytes, uint32_t taken[2]) {
    const struct net_buffer *x = net->steps[reader]->inputs[n], *y = net->steps[g->first_step + g->step_count - 1]->output;
    int64_t exact = lag_by_turns(net, g, reader, x), lag = exact > 0 ? (exact + 63) / 64 * 64 : exact / 64 * 64;
    int64_t sides = (y->bytes + 63) / 64 * 64, behind = (x->bytes + 63) / 64 * 64;
    int64_t aheads[] = {lag, lag - 64, lag + 64, 0, sides, sides - 64, -behind, 64 - behind, 64 * (int64_t)between(0, y->bytes / 64)};
    for (size_t i = 0; i < sizeof aheads / sizeof *aheads; i++)
        if (aheads[i] <= sides && aheads[i] >= -behind) try_ahead(blob, bytes, net, g, reader, n, aheads[i], want, want_bytes, taken);
}

static void outputs_trail_as_far_as_they_may(void **unused) {
    (void)unused;
    uint32_t taken[2] = {0};
    for (uint32_t seed = first + 4000; seed < first + 4100; seed++) {
        struct net *net = make_random(seed, seed % 9 ? 1 : 2);
        size_t bytes;
        uint32_t want_bytes;
        net->arena_room = between(0, 1);
        uint8_t *blob = blob_of(net, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
        for (uint32_t k = 0; k < net->group_count; k++) {
            const struct morsel_blob_group *g = &net->groups[k];
            const struct net_step *last = net->steps[g->first_step + g->step_count - 1];
            if (last->over) assert_true(may_trail(net, g, last->over, last->lag));
            if (last->over && last->lag) assert_false(may_trail(net, g, last->over, (int64_t)last->lag - 64));
            for (uint32_t i = g->first_step; i < g->first_step + g->step_count; i++)
                for (uint32_t n = 0; n < net->steps[i]->input_count; n++)
                    if (!net->steps[i]->inputs[n]->ring_rows) try_input(blob, bytes, net, g, i, n, want, want_bytes, taken);
        }
        free(blob);
        free(want);
        net_free(net);
    }
    assert_true(taken[0] > 100 && taken[1] > 100);
    current = 0;
}

/* In its first turns a padded stem needs x from its first row on, while the output grows; then two rows of x are done with in each turn.
 * With rows of x that are shorter than one of the output, but longer than half, what is written comes closest to what is still wanted in
 * the turn between. */
static void the_worst_turn_may_lie_between(void **unused) {
    (void)unused;
    for (uint32_t kernel = 7; kernel <= 15; kernel += 4) {
        struct maker maker;
        size_t bytes;
        uint32_t want_bytes, taken[2] = {0};
        make_start(&maker, "stem");
        struct net_buffer *x = make_picture(&maker, 48, 64, 4);
        make_end(&maker, make_conv(&maker, make_conv(&maker, x, 24, kernel, kernel, 2, RELU), 12, 1, 1, 1, PLAIN));
        struct net *net = maker.net;
        net->arena_room = 1;
        uint8_t *blob = blob_of(net, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
        assert_int_equal(net->group_count, 1);
        const struct morsel_blob_group *g = &net->groups[0];
        assert_true(g->step_count == 2 && g->strip_rows == 1);
        const struct net_buffer *y = net->steps[1]->output;
        int64_t lag = lag_by_turns(net, g, 0, x), turns = y->dims[1] - 1;
        int64_t at_last = turns * whole_row(y) - (2 * turns - kernel / 2) * whole_row(x);
        assert_true(lag >= kernel / 4 * (int64_t)whole_row(y) + 64 && lag >= at_last + 64);
        assert_true(net->steps[1]->over == x && net->steps[1]->lag == net_aligned((uint64_t)lag));
        try_input(blob, bytes, net, g, 0, 0, want, want_bytes, taken);
        assert_true(taken[0] && taken[1]);
        free(blob);
        free(want);
        net_free(net);
    }
}

/* A sum is written over what it adds, row for row: not where a window reads rows of that again which lie further back. */
static void a_sum_covers_what_it_adds_or_nothing(void **unused) {
    (void)unused;
    for (uint32_t back = 0; back < 3; back++) {
        struct maker maker;
        size_t bytes;
        uint32_t want_bytes, taken[2] = {0};
        make_start(&maker, "back");
        struct net_buffer *x = make_picture(&maker, 24, 32, 8), *y = make_conv(&maker, x, 8, 3, 3, 1, PLAIN);
        struct net *net = maker.net;
        net->steps[0]->parameters.window.pad_top = back;
        net->steps[0]->parameters.window.pad_bottom = 2 - back;
        make_end(&maker, make_sum(&maker, x, y, PLAIN));
        net->arena_room = 1;
        uint8_t *blob = blob_of(net, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
        assert_true(net->steps[1]->over == (back ? NULL : x) && !net->steps[1]->lag);
        if (net->group_count) try_input(blob, bytes, net, &net->groups[0], 0, 0, want, want_bytes, taken);
        assert_true(back || (taken[0] && taken[1]));
        free(blob);
        free(want);
        net_free(net);
    }
}

/* A group of one turn has read all of x before it writes: its output may lie over any of it. */
static void one_turn_may_cover_anything(void **unused) {
    (void)unused;
    struct maker maker;
    size_t bytes;
    uint32_t want_bytes, taken[2] = {0};
    make_start(&maker, "line");
    struct net_buffer *x = make_picture(&maker, 1, 512, 64); /* two of them are more than the first cache holds */
    make_end(&maker, make_conv(&maker, make_conv(&maker, x, 64, 1, 1, 1, RELU), 64, 1, 1, 1, PLAIN));
    struct net *net = maker.net;
    net->arena_room = 1;
    uint8_t *blob = blob_of(net, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
    assert_true(net->group_count == 1 && net->steps[1]->over == x && !net->steps[1]->lag);
    try_input(blob, bytes, net, &net->groups[0], 0, 0, want, want_bytes, taken);
    assert_true(!taken[0] && taken[1]);
    free(blob);
    free(want);
    net_free(net);
}

/* The largest scale beside the largest lead: the first turn stands at minus the lead, and there the product leaves 32 bits. */
static void the_largest_scale_stands_beside_the_largest_lead(void **unused) {
    (void)unused;
    struct maker maker;
    size_t bytes;
    uint32_t want_bytes;
    make_start(&maker, "odds");
    struct net_buffer *x = make_picture(&maker, 1, 512, 64), *far = make_conv(&maker, x, 64, 1, 1, 1, RELU);
    far = make_conv(&maker, far, 64, 1, 1, 1, RELU);
    make_end(&maker, make_sum(&maker, far, make_conv(&maker, x, 64, 1, 1, 1, RELU), PLAIN));
    struct net *net = maker.net;
    net->arena_room = 1;
    uint8_t *blob = blob_of(net, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
    assert_true(net->group_count == 2 && net->groups[0].step_count == 2);
    struct morsel_blob_header *h = header_of(blob); /* both groups become one */
    ((struct morsel_blob_group *)(void *)(blob + h->groups.offset))->step_count = 4;
    h->groups.count = 1;
    for (uint32_t i = 0; i < 4; i++) {
        struct morsel_blob_tensor *y = operand_of(blob, i, net->steps[i]->input_count);
        y->ring_rows = i < 3;
        y->offset = h->arena_bytes;
        h->arena_bytes += y->bytes;
        step_of(blob, i)->group = 1;
    }
    struct morsel_blob_conv *second = (struct morsel_blob_conv *)(void *)(blob + step_of(blob, 1)->parameters);
    second->window.stride_h = step_of(blob, 0)->stage_scale = MORSEL_FORMAT_MAX_STAGE; /* of one row: the same */
    step_of(blob, 2)->stage_lead = MORSEL_FORMAT_MAX_STAGE;
    compare(blob, bytes, 1, MORSEL_CPU_ALL, want, want_bytes);
    compare(blob, bytes, 3, MORSEL_CPU_ALL, want, want_bytes);
    free(blob);
    free(want);
    net_free(net);
}

/* Constants of elementwise steps that do not repeat with the rows: every step of a group starts with the first one at each row. */
static void constants_that_do_not_repeat_are_refused(void **unused) {
    (void)unused;
    uint32_t tried = 0;
    for (uint32_t seed = first + 5000; seed < first + 5200; seed++) {
        struct net *net = make_random(seed, 1);
        struct morsel_model model;
        size_t bytes;
        net->arena_room = 1;
        uint8_t *blob = blob_of(net, &bytes);
        for (uint32_t i = 0; i < net->step_count; i++) {
            const struct net_step *step = net->steps[i];
            uint32_t *p = (uint32_t *)(void *)(blob + step_of(blob, i)->parameters), row = step->output->dims[2] * step->output->dims[3];
            bool is_table = step->kind == MORSEL_STEP_LUT && step->parameters.lut.channels > 1;
            bool is_affine = step->kind == MORSEL_STEP_UNARY && step->parameters.unary.op == MORSEL_UNARY_AFFINE;
            if (!step->group || (!is_table && !is_affine)) continue;
            uint32_t *field = is_table ? &((struct morsel_blob_lut *)(void *)p)->inner : &((struct morsel_blob_unary *)(void *)p)->channels;
            uint32_t old = *field, channels = is_table ? step->parameters.lut.channels : 1;
            for (*field = 1; *field < old + 3; ++*field) {
                bool repeats = row % (*field * channels) == 0, data = is_table || *field <= old;
                enum morsel_error error = morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM);
                if (data) assert_int_equal(error, repeats ? MORSEL_OK : MORSEL_ERR_PLAN);
                tried += data && !repeats;
            }
            *field = old;
        }
        free(blob);
        net_free(net);
    }
    assert_true(tried > 10);
    current = 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(damaged_plans_are_refused_or_work, say_seed),
        cmocka_unit_test_teardown(outputs_trail_as_far_as_they_may, say_seed),
        cmocka_unit_test_teardown(the_worst_turn_may_lie_between, say_seed),
        cmocka_unit_test_teardown(a_sum_covers_what_it_adds_or_nothing, say_seed),
        cmocka_unit_test_teardown(one_turn_may_cover_anything, say_seed),
        cmocka_unit_test_teardown(the_largest_scale_stands_beside_the_largest_lead, say_seed),
        cmocka_unit_test_teardown(constants_that_do_not_repeat_are_refused, say_seed),
    };
    read_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
