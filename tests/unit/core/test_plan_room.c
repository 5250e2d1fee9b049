/* SPDX-License-Identifier: MIT */
/* What is lent to kernels lies in the arena, beside all that is alive while they run; or behind it, where there is more than asked. */
#include "tests/unit/support/stream_runs.h"

#include "core/call.h"
#include "core/check.h"

static uint32_t lent, behind; /* rooms that are not empty, in the arena and behind it */
static uint32_t misplaced;    /* steps without scratch that say where it is */

/* Steps first .. last, which run with others in between. */
static void check_entry(const struct morsel_session *s, const struct morsel_room *room, uint32_t first, uint32_t last, uint32_t tasks) {
    const struct morsel_model *m = s->model;
    uint32_t from = (uint32_t)(room->data - s->arena), bytes = room->bytes * tasks;
    assert_int_equal(from % MORSEL_ALIGNMENT, 0);
    assert_int_equal(room->bytes % MORSEL_ALIGNMENT, 0);
    assert_true(from >= s->step_count * MORSEL_FORMAT_STEP_SLOT && from + bytes <= morsel_arena_bytes(m));
    assert_true(morsel_in_one_part(morsel_blob_header(m), from, bytes));
    for (uint32_t i = 0; i < morsel_blob_header(m)->tensors.count; i++) {
        const struct morsel_blob_tensor *t = morsel_blob_tensor(m, i);
        uint32_t birth = morsel_group_first(m, t->first_step) + 1, death = morsel_group_last(m, t->last_step) + 1;
        if (t->place || birth > last + 1 || death < first + 1) continue;
        assert_false(morsel_overlap(from, bytes, t->offset, morsel_slice_bytes(t)));
    }
    for (uint32_t i = first; i <= last; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(m, i);
        if (step->scratch_bytes) assert_false(morsel_overlap(from, bytes, step->scratch_offset, step->scratch_bytes));
    }
}

/* `asked` bytes of arena are for tensors, and for bands of tasks; `longer` are not. */
static void check_behind(const struct morsel_session *s, const struct morsel_room *room, uint32_t asked, uint32_t longer, uint32_t tasks) {
    const size_t from = (size_t)(room->data - s->arena), bands = s->bands > 1 ? s->bands - 1 : 0;
    assert_int_equal(from % MORSEL_ALIGNMENT, 0);
    assert_true(from >= morsel_arena_bytes(s->model) + (bands ? s->spare_bytes + bands * s->band_bytes : 0));
    assert_true(from + (size_t)room->bytes * tasks <= asked + longer);
}

static void check_rooms(const uint8_t *blob, size_t bytes, uint32_t tasks, uint32_t longer) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_options options = {.size = sizeof options, .tasks = tasks, .parallel_for = backwards};
    assert_int_equal(morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    uint32_t arena_bytes = morsel_arena_bytes_for(&model, tasks);
    uint8_t *arena = builder_aligned(arena_bytes + longer);
    assert_int_equal(morsel_session_open(&s, &model, arena, arena_bytes + longer, &options), MORSEL_OK);
    for (uint32_t i = 0, last; i < s.step_count; i = last + 1) {
        const struct morsel_call *entry = morsel_call_at(&s, i);
        last = i + entry->count - 1;
        for (uint32_t k = i; k <= last; k++) {
            struct morsel_room *room = morsel_args_room(&morsel_call_at(&s, k)->args, morsel_call_at(&s, k)->kind);
            if (room) assert_true(room->bytes + MORSEL_ALIGNMENT > longer / entry->tasks);
            if (!room || !room->bytes) continue;
            if (room->data >= s.behind) check_behind(&s, room, arena_bytes, longer, entry->tasks), behind++;
            else check_entry(&s, room, i, last, entry->tasks), lent++;
        }
    }
    free(arena);
}

/* Where a step has no scratch, a blob may say that it is anywhere but inside what lives. */
static void misplace_nothing(uint8_t *blob, size_t bytes) {
    struct morsel_model model;
    const struct morsel_blob_header *h = (const void *)blob;
    struct morsel_blob_step *step = (void *)(blob + h->steps.offset);
    for (uint32_t i = 0; i < h->steps.count; i++) {
        if (step[i].scratch_bytes) continue;
        step[i].scratch_offset = between(1, h->arena_bytes);
        if (morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM)) step[i].scratch_offset = 0;
        else misplaced++;
    }
}

static void rooms_lie_beside_what_is_alive(void **unused) {
    (void)unused;
    for (uint32_t seed = first; seed < first + 60; seed++) {
        for (uint32_t images = 1; images <= 2; images++) {
            size_t bytes;
            struct net *net = make_random(seed, images);
            if (seed % 2) plan_groups(net, seed % 4 == 1 ? 0 : 1);
            if (seed % 3) net->fast_room = between(64, 6000);
            uint8_t *blob = blob_of(net, &bytes);
            if (seed / 2 % 2) misplace_nothing(blob, bytes);
            for (uint32_t tasks = 1; tasks <= 3; tasks++) check_rooms(blob, bytes, tasks, 0), check_rooms(blob, bytes, tasks, 30000);
            free(blob);
            net_free(net);
        }
    }
    assert_true(lent > 100 && behind > 100 && misplaced > 100);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(rooms_lie_beside_what_is_alive, say_seed)};
    read_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
