/* SPDX-License-Identifier: MIT */
/*
 * An arena in two blocks: random networks and built-in ones give the same bytes there as in one, in any number of tasks, and touch nothing
 * beside them. What open refuses of a split. test_fast [SEED]
 */
#include "tests/unit/support/stream_runs.h"

#include "tools/net/memory.h"
#include "tools/net/nets.h"

enum { GUARD = 256, NOBODYS = 0x55, NOISE = 0xee };

/* Memory between two guards. */
struct block {
    uint8_t *memory, *bytes;
    size_t count;
};

static struct block block(size_t count) {
    struct block b = {.memory = builder_aligned((uint32_t)count + 2 * GUARD), .count = count};
    b.bytes = b.memory + GUARD;
    memset(b.memory, NOBODYS, count + 2 * GUARD);
    memset(b.bytes, NOISE, count);
    return b;
}

static void close_block(struct block *b) {
    for (size_t i = 0; i < GUARD; i++)
        if (b->memory[i] != NOBODYS || b->bytes[b->count + i] != NOBODYS) fail_msg("byte %zu of a guard was written", i);
    free(b->memory);
}

/* As run(), in two blocks of exactly the bytes that are asked for; the first of `fast_lent` where there is more fast memory. */
static void compare_parted(const uint8_t *blob, size_t bytes, uint32_t tasks, uint32_t cpu, const uint8_t *want) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint32_t parted = morsel_arena_fast_bytes(&model);
    struct block fast = block(parted), slow = block(morsel_arena_bytes_for(&model, tasks) - parted);
    struct morsel_options options = {.size = sizeof options,
                                     .cpu_mask = cpu,
                                     .tasks = tasks,
                                     .parallel_for = tasks > 1 ? backwards : NULL,
                                     .fast = fast.bytes,
                                     .fast_bytes = fast.count};
    assert_int_equal(morsel_session_open(&s, &model, slow.bytes, slow.count, &options), MORSEL_OK);
    uint32_t fill = 7, at = 0;
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    for (uint32_t i = 0; i < v.bytes; i++) ((uint8_t *)v.data)[i] = (uint8_t)builder_random(&fill);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    for (uint32_t i = 0; morsel_output(&s, i, &v) == MORSEL_OK; at += v.bytes, i++) assert_memory_equal(v.data, want + at, v.bytes);
    close_block(&fast);
    close_block(&slow);
}

/* In one block and in two, on all kernels. */
static void compare_blocks(const uint8_t *blob, size_t bytes, const uint8_t *want, uint32_t want_bytes) {
    for (uint32_t tasks = 1; tasks <= 4; tasks++) {
        compare(blob, bytes, tasks, MORSEL_CPU_ALL, want, want_bytes);
        compare_parted(blob, bytes, tasks, MORSEL_CPU_ALL, want);
        if (tasks % 2) compare_parted(blob, bytes, tasks, MORSEL_CPU_C, want);
    }
}

static void random_networks_give_the_same_bytes(void **unused) {
    (void)unused;
    uint32_t parted = 0, grouped = 0, tried = 0;
    for (uint32_t seed = first + 5000; seed < first + 5120; seed++, tried++) {
        uint32_t images = seed % 4 ? 1 : 3, want_bytes;
        size_t bytes;
        struct net *whole = make_random(seed, images), *parts = make_random(seed, images);
        whole->no_streaming = true;
        uint8_t *blob = blob_of(whole, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
        free(blob);
        parts->arena_room = between(0, 2) ? 0 : 1;
        parts->fast_room = between(0, 3) ? between(64, 6000) : between(1, 100000);
        blob = blob_of(parts, &bytes);
        assert_in_range(parts->fast_bytes, 0, parts->fast_room);
        parted += parts->fast_bytes > 0;
        grouped += parts->fast_bytes && parts->group_count;
        compare_blocks(blob, bytes, want, want_bytes);
        free(blob);
        free(want);
        net_free(whole);
        net_free(parts);
    }
    current = 0;
    assert_true(parted > tried / 2 && grouped > tried / 4);
}

/* How many thousandths of a built-in network's traffic go to so much fast memory, with all of its answers checked. */
static uint32_t traffic_of(const char *name, uint32_t room, bool all_runs) {
    struct file_bytes one, two;
    struct failure failure;
    struct morsel_model model;
    struct memory memory;
    uint32_t want_bytes;
    assert_true(nets_blob(name, false, 0, &one, &failure) && nets_blob_parted(name, false, 0, room, &two, &failure));
    uint8_t *want = run(one.data, one.size, 1, MORSEL_CPU_ALL, &want_bytes);
    if (all_runs) compare_blocks(two.data, two.size, want, want_bytes);
    else compare_parted(two.data, two.size, 2, MORSEL_CPU_ALL, want);
    assert_int_equal(morsel_open(&model, two.data, two.size, 0), MORSEL_OK);
    assert_in_range(morsel_arena_fast_bytes(&model), 1, room);
    assert_true(memory_read(&model, &memory, &failure));
    assert_int_equal(memory.fast.bytes + memory.slow.bytes, morsel_arena_bytes(&model));
    assert_in_range(memory.fast.peak_bytes, 1, memory.fast.bytes);
    assert_in_range(memory.slow.peak_bytes, 1, memory.slow.bytes);
    uint32_t share = (uint32_t)(1000 * memory.fast.traffic / (memory.fast.traffic + memory.slow.traffic));
    memory_free(&memory);
    file_free(&one);
    file_free(&two);
    free(want);
    return share;
}

/* What core/README.md states. */
static void most_traffic_goes_to_fast_memory(void **unused) {
    (void)unused;
    assert_int_equal(traffic_of("ds-cnn-kws", 16384, true), 1000);
    assert_in_range(traffic_of("ds-cnn-kws", 8192, true), 850, 1000);
    assert_in_range(traffic_of("resnet8-32", 16384, true), 870, 1000);
    assert_in_range(traffic_of("mobilenetv2-224", 65536, false), 835, 1000);
    assert_in_range(traffic_of("mobilenetv2-224", 131072, false), 915, 1000);
}

/* A blob with fast memory, for each test anew. */
static uint8_t *parted_blob(const char *name, size_t *bytes) {
    struct file_bytes file;
    struct failure failure;
    assert_true(nets_blob_parted(name, false, 0, 8192, &file, &failure));
    uint8_t *blob = builder_aligned((uint32_t)file.size);
    memcpy(blob, file.data, file.size);
    *bytes = file.size;
    file_free(&file);
    return blob;
}

static void what_blocks_a_session_takes(void **unused) {
    (void)unused;
    size_t bytes;
    uint8_t *blob = parted_blob("ds-cnn-kws", &bytes);
    struct morsel_model model, closed = {0};
    struct morsel_session s;
    struct morsel_view v;
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint32_t all = morsel_arena_bytes(&model), part = morsel_arena_fast_bytes(&model);
    assert_in_range(part, 64, 8192);
    assert_int_equal(morsel_arena_fast_bytes(&closed), 0);
    assert_int_equal(morsel_arena_fast_bytes(NULL), 0);
    uint8_t *arena = builder_aligned(all), *fast = builder_aligned(part + 64);
    struct morsel_options options = {.size = sizeof options, .fast = fast, .fast_bytes = part};
    assert_int_equal(morsel_session_open(&s, &model, arena, all - part, &options), MORSEL_OK);
    assert_int_equal(morsel_session_open(&s, &model, arena, all - part - 1, &options), MORSEL_ERR_ARENA);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_run(&s), MORSEL_ERR_ARGUMENT);
    options.fast_bytes = part - 1;
    assert_int_equal(morsel_session_open(&s, &model, arena, all, &options), MORSEL_ERR_ARENA);
    options.fast_bytes = part + 64;
    assert_int_equal(morsel_session_open(&s, &model, arena, all, &options), MORSEL_OK);
    options.fast = fast + 32;
    assert_int_equal(morsel_session_open(&s, &model, arena, all, &options), MORSEL_ERR_ALIGNMENT);
    options.fast = NULL; /* as without it, whatever fast_bytes says */
    assert_int_equal(morsel_session_open(&s, &model, arena, all, &options), MORSEL_OK);
    assert_int_equal(morsel_session_open(&s, &model, arena, all - 1, &options), MORSEL_ERR_ARENA);
    free(arena);
    free(fast);
    free(blob);
}

/* A network that was converted without takes a block for it, and does not use it. */
static void a_block_that_is_not_needed_is_left_alone(void **unused) {
    (void)unused;
    struct file_bytes file;
    struct failure failure;
    uint32_t want_bytes;
    assert_true(nets_blob("ds-cnn-kws", false, 0, &file, &failure));
    uint8_t *want = run(file.data, file.size, 1, MORSEL_CPU_ALL, &want_bytes);
    for (uint32_t tasks = 1; tasks <= 4; tasks += 3) compare_parted(file.data, file.size, tasks, MORSEL_CPU_ALL, want);
    free(want);
    file_free(&file);
}

#define DAMAGED_PART(want, ...) \
    do { \
        size_t bytes; \
        uint8_t *blob = parted_blob("ds-cnn-kws", &bytes); \
        struct morsel_blob_header *h = (void *)blob; \
        struct morsel_blob_tensor *tensors = (void *)(blob + h->tensors.offset); \
        struct morsel_blob_step *steps = (void *)(blob + h->steps.offset); \
        struct morsel_model model; \
        (void)tensors, (void)steps; \
        __VA_ARGS__; \
        if (morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM) != (want)) fail_msg("%s", #__VA_ARGS__); \
        free(blob); \
    } while (0)

static uint32_t split(const struct morsel_blob_header *h) {
    return h->arena_bytes - h->fast_bytes;
}

static void no_slice_lies_in_both_parts(void **unused) {
    (void)unused;
    DAMAGED_PART(MORSEL_OK, (void)0);
    DAMAGED_PART(MORSEL_OK, h->fast_bytes = 0);
    DAMAGED_PART(MORSEL_ERR_HEADER, h->fast_bytes += 32);
    DAMAGED_PART(MORSEL_ERR_HEADER, h->fast_bytes = h->arena_bytes - h->steps.count * MORSEL_FORMAT_STEP_SLOT + 64);
    DAMAGED_PART(MORSEL_ERR_HEADER, h->fast_bytes = 0xffffffc0);
    DAMAGED_PART(MORSEL_ERR_PLAN, h->fast_bytes -= 64);
    DAMAGED_PART(MORSEL_ERR_PLAN, h->fast_bytes += 64);
    DAMAGED_PART(MORSEL_OK, h->fast_bytes = h->arena_bytes - h->steps.count * MORSEL_FORMAT_STEP_SLOT);
    /* Longer than what is before the split, and over it. */
    DAMAGED_PART(MORSEL_ERR_PLAN, steps[1].scratch_offset = split(h) - 64, steps[1].scratch_bytes = 65);
    DAMAGED_PART(MORSEL_ERR_PLAN, tensors[0].offset = split(h) - 64);
}

/* With 64 steps and more, a multiple of 64 lies between what they take and what they would with a byte less each. */
static void no_part_begins_among_the_steps(void **unused) {
    (void)unused;
    size_t bytes;
    uint8_t *blob = parted_blob("mobilenetv2-224", &bytes);
    struct morsel_blob_header *h = (void *)blob;
    struct morsel_model model;
    assert_in_range(h->steps.count, 64, 1000);
    h->fast_bytes = h->arena_bytes - h->steps.count * MORSEL_FORMAT_STEP_SLOT + 64;
    assert_int_equal(morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_ERR_HEADER);
    free(blob);
}

/* Slices of its own lie where the blob says, whose first variant has the largest of both parts. */
static void parts_of_variants_lie_in_those_of_the_first(void **unused) {
    (void)unused;
    static const struct random_net_limits limits = {30, 20, 12, 12, 6};
    static const struct blob_extras extras[3] = {{0}};
    uint32_t opened = 0, larger = 0;
    for (uint32_t seed = first; seed < first + 20; seed++) {
        struct net *nets[3];
        uint32_t slow = 0, fast = 0;
        size_t bytes;
        for (uint32_t i = 0; i < 3; i++) {
            nets[i] = random_net(seed * 3 + i, 1, &limits);
            nets[i]->fast_room = (seed + i) % 4 ? 2048 : 0;
            assert_true(plan_arena(nets[i]));
            slow = nets[i]->arena_bytes - nets[i]->fast_bytes > slow ? nets[i]->arena_bytes - nets[i]->fast_bytes : slow;
            fast = nets[i]->fast_bytes > fast ? nets[i]->fast_bytes : fast;
        }
        uint8_t *blob = blob_write_variants((const struct net *const *)nets, 3, extras, &bytes);
        struct morsel_model model, variant;
        assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
        assert_int_equal(morsel_arena_fast_bytes(&model), fast);
        assert_int_equal(morsel_arena_bytes(&model), slow + fast);
        larger += fast && slow > nets[0]->arena_bytes - nets[0]->fast_bytes;
        for (uint32_t i = 0; i < 3; i++, opened++) assert_int_equal(morsel_open_variant(&variant, &model, i, 0), MORSEL_OK);
        struct morsel_blob_header *h = (void *)blob;
        if (fast) h->fast_bytes -= 64, h->arena_bytes -= 64; /* a variant that wants more fast memory is not opened */
        enum morsel_error error = MORSEL_OK;
        if (!morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM))
            for (uint32_t i = 1; fast && !error && i < 3; i++) error = morsel_open_variant(&variant, &model, i, 0);
        else error = MORSEL_ERR_PLAN;
        if (fast) assert_int_not_equal(error, MORSEL_OK);
        for (uint32_t i = 0; i < 3; i++) net_free(nets[i]);
        free(blob);
    }
    assert_true(opened == 60 && larger);
}

int main(int argc, char **argv) {
    read_seed(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(random_networks_give_the_same_bytes, say_seed),
                                       cmocka_unit_test(most_traffic_goes_to_fast_memory),
                                       cmocka_unit_test(what_blocks_a_session_takes),
                                       cmocka_unit_test(a_block_that_is_not_needed_is_left_alone),
                                       cmocka_unit_test(no_slice_lies_in_both_parts),
                                       cmocka_unit_test(no_part_begins_among_the_steps),
                                       cmocka_unit_test(parts_of_variants_lie_in_those_of_the_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
