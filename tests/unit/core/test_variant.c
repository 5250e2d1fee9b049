/* SPDX-License-Identifier: MIT */
/* Variants of a network in one blob: what each is, lists and places that are damaged, and which one holds a text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/text.h"
#include "tests/unit/support/damaged.h"
#include "tests/unit/support/joined.h"

enum { LENGTHS = 3, A = 3, IDS = 5 };
static const uint32_t lengths[LENGTHS] = {8, 3, 5};

struct rule {
    struct morsel_blob_text r;
    uint32_t starts[2], actions[2], begins[2], ids[1];
    uint8_t strings[4];
};

/* "a" is a token, and all else unknown; one id stands in front and one behind. */
static const struct rule rule = {.r = {.inputs = {1, MORSEL_TEXT_NO_INPUT, MORSEL_TEXT_NO_INPUT},
                                       .max_length = 8,
                                       .id_count = IDS,
                                       .word_points = 4,
                                       .front = 1,
                                       .back = 1,
                                       .around = {1, 2},
                                       .ranges = 2,
                                       .first = 1,
                                       .strings = 1},
                                 .starts = {0, '!'},
                                 .actions = {MORSEL_TEXT_SPACE, MORSEL_TEXT_KEEP},
                                 .begins = {0, 1},
                                 .ids = {A},
                                 .strings = {'a'}};

/* A network whose second input takes `length` ids: each becomes a byte. */
static uint8_t *text_blob(uint32_t rank, uint32_t length, uint32_t *bytes) {
    static const uint8_t table[IDS] = {10, 20, 30, 40, 50};
    struct builder b;
    uint32_t dims[4] = {1, length, 1, 1}, *from = rank == 1 ? dims + 1 : dims;
    builder_start(&b);
    builder_tensor(&b, MORSEL_INT32, rank, from, 1, 0);
    builder_tensor(&b, MORSEL_INT32, rank, from, 1, 0);
    builder_tensor(&b, MORSEL_UINT8, rank, from, 1, 0);
    struct morsel_blob_lookup p = {IDS, 1, builder_data(&b, table, IDS)};
    builder_step(&b, MORSEL_STEP_LOOKUP, (uint32_t[]){1}, 1, 2, &p, sizeof p, 0);
    builder_input(&b, 0, "other");
    builder_input(&b, 1, "ids");
    builder_output(&b, 2, "y");
    uint32_t at = builder_data(&b, &rule, sizeof rule);
    uint8_t *blob = builder_finish(&b, bytes);
    ((struct morsel_blob_header *)(void *)blob)->text = (struct morsel_blob_section){at, sizeof rule / 4};
    builder_seal(blob);
    return blob;
}

/* Variants for each of the lengths. */
struct three {
    uint8_t *bytes;
    uint32_t count, *list;
    struct morsel_blob_header *header;
    struct morsel_model model;
};

static struct three three(void) {
    struct three t;
    uint8_t *blobs[LENGTHS];
    uint32_t bytes, list;
    for (int i = 0; i < LENGTHS; i++) blobs[i] = text_blob(2, lengths[i], &bytes);
    t.bytes = joined(blobs, LENGTHS, &t.count, &list);
    for (int i = 0; i < LENGTHS; i++) free(blobs[i]);
    t.list = (uint32_t *)(void *)(t.bytes + list);
    t.header = (void *)t.bytes;
    assert_int_equal(morsel_open(&t.model, t.bytes, t.count, 0), MORSEL_OK);
    return t;
}

static void a_blob_without_a_list_is_its_only_variant(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model, variant;
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 0), MORSEL_OK);
    assert_int_equal(morsel_variant_count(&model), 1);
    assert_int_equal(morsel_open_variant(&variant, &model, 0, 0), MORSEL_OK);
    assert_int_equal(morsel_arena_bytes(&variant), morsel_arena_bytes(&model));
    assert_int_equal(morsel_open_variant(&variant, &model, 1, 0), MORSEL_ERR_ARGUMENT);
    free(b.bytes);
}

/* What a session of the model makes of ids 0, 1, .. */
static void answers(const struct morsel_model *model, uint32_t length) {
    struct morsel_session session;
    struct morsel_view in, out;
    uint8_t *arena = builder_aligned(morsel_arena_bytes(model));
    assert_int_equal(morsel_session_open(&session, model, arena, morsel_arena_bytes(model), NULL), MORSEL_OK);
    assert_int_equal(morsel_input(&session, 1, &in), MORSEL_OK);
    assert_int_equal(morsel_output(&session, 0, &out), MORSEL_OK);
    assert_int_equal(out.bytes, length);
    for (uint32_t i = 0; i < length; i++) ((int32_t *)in.data)[i] = (int32_t)i;
    assert_int_equal(morsel_run(&session), MORSEL_OK);
    for (uint32_t i = 0; i < length; i++) assert_int_equal(((uint8_t *)out.data)[i], i < IDS ? 10 * (i + 1) : 50);
    free(arena);
}

static void each_variant_runs_at_its_own_length(void **state) {
    (void)state;
    struct three t = three();
    assert_int_equal(morsel_variant_count(&t.model), LENGTHS);
    answers(&t.model, lengths[0]);
    for (uint32_t i = 0; i < LENGTHS; i++) {
        struct morsel_model variant;
        for (uint32_t flags = 0; flags <= MORSEL_SKIP_CHECKSUM; flags++) {
            assert_int_equal(morsel_open_variant(&variant, &t.model, i, flags), MORSEL_OK);
            answers(&variant, lengths[i]);
        }
        assert_int_equal(morsel_variant_count(&variant), i ? 1 : LENGTHS);
    }
    assert_int_equal(morsel_open_variant(&t.model, &t.model, 1, 0), MORSEL_OK); /* in the place of what it is of */
    answers(&t.model, lengths[1]);
    free(t.bytes);
}

/* The list with a damage: how many variants are left of it. */
#define LISTED(left, ...) \
    do { \
        struct three t = three(); \
        __VA_ARGS__; \
        builder_seal(t.bytes); \
        assert_int_equal(morsel_open(&t.model, t.bytes, t.count, 0), MORSEL_OK); \
        if (morsel_variant_count(&t.model) != (left)) fail_msg("%s: %u", #__VA_ARGS__, morsel_variant_count(&t.model)); \
        struct morsel_model variant; \
        for (uint32_t i = 0; i < morsel_variant_count(&t.model); i++) morsel_open_variant(&variant, &t.model, i, 0); \
        assert_int_equal(morsel_open_variant(&variant, &t.model, left, 0), MORSEL_ERR_ARGUMENT); \
        free(t.bytes); \
    } while (0)

static void a_list_lies_in_the_blob(void **state) {
    (void)state;
    LISTED(3, (void)0);
    LISTED(2, t.header->variants.count = 2);
    LISTED(1, t.header->variants.count = 1);
    LISTED(1, t.header->variants.count = 0);
    LISTED(1, t.header->variants.count = 4); /* behind the end */
    LISTED(1, t.header->variants.count = 0x40000001);
    LISTED(1, t.header->variants.count = 0xffffffff);
    LISTED(1, t.header->variants.offset += 4);
    LISTED(1, t.header->variants.offset += 64);
    LISTED(1, t.header->variants.offset = 0xffffffc0);
    LISTED(64, t.header->variants = (struct morsel_blob_section){0, 64});
    LISTED(1, t.header->variants = (struct morsel_blob_section){0, 65});
}

/* A blob whose header ends before the list is named has none. */
static void a_short_header_has_no_list(void **state) {
    (void)state;
    struct three t = three();
    uint8_t *cut = builder_aligned(192);
    struct morsel_blob_header *h = (void *)cut;
    memcpy(cut, t.bytes, 192);
    for (uint32_t bytes = 128; bytes < 192; bytes++) {
        h->blob_bytes = bytes;
        h->variants = (struct morsel_blob_section){0, 2};
        struct morsel_model model = {.blob = cut, .blob_bytes = bytes, .opened = t.model.opened};
        assert_int_equal(morsel_variant_count(&model), bytes < sizeof *h ? 1 : 2);
        h->format_version = 1;
        assert_int_equal(morsel_variant_count(&model), 1);
        h->format_version = 2;
    }
    free(cut);
    free(t.bytes);
}

/* A damage of the blob, whose checksum is then right: what opening variant 1 gives, and which part is named. */
#define PLACED(flags, error, part, ...) \
    do { \
        struct three t = three(); \
        struct morsel_blob_header *h = (void *)(t.bytes + t.list[1]); \
        (void)h; \
        __VA_ARGS__; \
        builder_seal(t.bytes); \
        struct morsel_model variant; \
        uint32_t index; \
        assert_int_equal(morsel_open(&t.model, t.bytes, t.count, 0), MORSEL_OK); \
        enum morsel_error got = morsel_open_variant(&variant, &t.model, 1, flags); \
        if (got != (error)) fail_msg("%s: %s, not %s", #__VA_ARGS__, morsel_error_text(got), morsel_error_text(error)); \
        assert_int_equal(morsel_open_part(&variant, &index), part); \
        assert_int_equal(morsel_arena_bytes(&variant) == 0, got != MORSEL_OK); \
        free(t.bytes); \
    } while (0)

static void a_variant_is_checked_as_a_blob_is(void **state) {
    (void)state;
    PLACED(0, MORSEL_OK, MORSEL_PART_BLOB, (void)0);
    PLACED(0, MORSEL_OK, MORSEL_PART_BLOB, t.list[1] = 0);
    PLACED(0, MORSEL_ERR_SECTION, MORSEL_PART_BLOB, t.list[1] += 4);
    PLACED(0, MORSEL_ERR_SECTION, MORSEL_PART_BLOB, t.list[1] = 0xffffffc0);
    PLACED(0, MORSEL_ERR_SECTION, MORSEL_PART_BLOB, t.list[1] = (t.count - 64) / 64 * 64); /* less than a header to the end */
    PLACED(0, MORSEL_ERR_MAGIC, MORSEL_PART_BLOB, t.list[1] += 64);
    PLACED(0, MORSEL_ERR_MAGIC, MORSEL_PART_BLOB, t.list[1] = (t.count - 128) / 64 * 64);
    PLACED(0, MORSEL_ERR_VERSION, MORSEL_PART_BLOB, h->format_version = MORSEL_FORMAT_VERSION + 1);
    PLACED(0, MORSEL_ERR_TRUNCATED, MORSEL_PART_BLOB, h->blob_bytes = t.count - t.list[1] + 1);
    PLACED(0, MORSEL_OK, MORSEL_PART_BLOB, h->blob_bytes = t.count - t.list[1]);
    PLACED(0, MORSEL_ERR_SECTION, MORSEL_PART_BLOB, h->data.count = t.count);
    PLACED(0, MORSEL_ERR_SECTION, MORSEL_PART_BLOB, h->steps.offset += 4);
    PLACED(0, MORSEL_ERR_SHAPE, MORSEL_PART_TENSOR, ((struct morsel_blob_tensor *)(void *)((uint8_t *)h + h->tensors.offset))->dims[0] = 0);
    PLACED(0, MORSEL_ERR_STEP, MORSEL_PART_STEP, ((struct morsel_blob_step *)(void *)((uint8_t *)h + h->steps.offset))->kind = 0);
    PLACED(0, MORSEL_OK, MORSEL_PART_BLOB, h->checksum ^= 1); /* the model's covers it */
    PLACED(0, MORSEL_OK, MORSEL_PART_BLOB, h->variants = (struct morsel_blob_section){0, 64});
}

/* What variant 0 takes holds each: no other is opened. */
static void no_variant_wants_a_larger_arena(void **state) {
    (void)state;
    for (uint32_t flags = 0; flags <= MORSEL_SKIP_CHECKSUM; flags++) {
        PLACED(flags, MORSEL_OK, MORSEL_PART_BLOB, h->arena_bytes = t.header->arena_bytes);
        PLACED(flags, MORSEL_ERR_HEADER, MORSEL_PART_BLOB, h->arena_bytes = t.header->arena_bytes + 64);
    }
    uint8_t *blobs[2];
    uint32_t count, list;
    struct morsel_model model, variant;
    for (uint32_t i = 0; i < 2; i++) blobs[i] = text_blob(2, i ? 400 : 8, &count);
    uint8_t *all = joined(blobs, 2, &count, &list);
    assert_int_equal(morsel_open(&model, all, count, 0), MORSEL_OK);
    assert_int_equal(morsel_open_variant(&variant, &model, 1, 0), MORSEL_ERR_HEADER);
    assert_int_equal(morsel_open_variant(&variant, &model, 0, 0), MORSEL_OK);
    for (uint32_t i = 0; i < 2; i++) free(blobs[i]);
    free(all);
}

/* That the bytes are those that were written is asked of the whole. What they state of weights is asked of each. */
static void a_variant_that_lies_about_its_weights_is_refused(void **state) {
    (void)state;
    struct blob a = sample(), b = sample();
    struct morsel_model model, variant;
    uint32_t count, list;
    ((int32_t *)(void *)(b.bytes + ((struct morsel_blob_conv *)parameters(&b, S_CONV))->sums.weight_sum))[0]++;
    builder_seal(b.bytes);
    uint8_t *all = joined((uint8_t *[]){a.bytes, b.bytes}, 2, &count, &list);
    assert_int_equal(morsel_open(&model, all, count, 0), MORSEL_OK);
    assert_int_equal(morsel_open_variant(&variant, &model, 1, 0), MORSEL_ERR_CONSTANT);
    assert_int_equal(morsel_open_part(&variant, NULL), MORSEL_PART_STEP);
    assert_int_equal(morsel_open_variant(&variant, &model, 1, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    all[list] ^= 1;
    assert_int_equal(morsel_open(&model, all, count, 0), MORSEL_ERR_CHECKSUM);
    all[list] ^= 1;
    all[count - sizeof(uint32_t) - 1] ^= 1;
    assert_int_equal(morsel_open(&model, all, count, 0), MORSEL_ERR_CHECKSUM);
    free(all);
    free(a.bytes);
    free(b.bytes);
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    struct three t = three();
    struct morsel_model variant, closed = t.model;
    uint32_t index;
    closed.opened = 0;
    assert_int_equal(morsel_variant_count(NULL), 0);
    assert_int_equal(morsel_variant_count(&closed), 0);
    assert_int_equal(morsel_open_variant(NULL, &t.model, 0, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_open_variant(&variant, NULL, 0, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_open_variant(&variant, &closed, 0, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_open_variant(&variant, &t.model, LENGTHS, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_open_variant(&variant, &t.model, UINT32_MAX, 0), MORSEL_ERR_ARGUMENT);
    for (uint32_t flags = 2; flags; flags *= 2) assert_int_equal(morsel_open_variant(&variant, &t.model, 0, flags), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_variant(NULL, "a", 1, &index), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_variant(&closed, "a", 1, &index), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_variant(&t.model, "a", 1, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_variant(&t.model, NULL, 1, &index), MORSEL_ERR_ARGUMENT);
    struct blob b = sample();
    assert_int_equal(morsel_open(&variant, b.bytes, b.count, 0), MORSEL_OK);
    assert_int_equal(morsel_text_variant(&variant, "a", 1, &index), MORSEL_ERR_TEXT);
    free(b.bytes);
    free(t.bytes);
}

static uint32_t chosen(const struct morsel_model *model, const char *text) {
    uint32_t index = 99;
    assert_int_equal(morsel_text_variant(model, text, strlen(text), &index), MORSEL_OK);
    return index;
}

/* Lengths of 8, 3 and 5, of which two are spent on what stands around a text. */
static void the_shortest_line_that_holds_a_text_is_chosen(void **state) {
    (void)state;
    struct three t = three();
    static const uint32_t wanted[] = {1, 1, 2, 2, 0, 0, 0, 0, 0};
    for (size_t tokens = 0; tokens < sizeof wanted / sizeof *wanted; tokens++)
        assert_int_equal(chosen(&t.model, &"a a a a a a a a "[16 - 2 * tokens]), wanted[tokens]);
    t.list[0] = t.list[1]; /* its place is where it is, whatever the list says */
    assert_int_equal(chosen(&t.model, "a a a a"), 0);
    t.header->variants.count = 0;
    assert_int_equal(chosen(&t.model, "a"), 0);
    free(t.bytes);
}

/* Of variants that were not checked nothing outside the blob is read, and one is chosen. */
static void a_damaged_variant_is_no_harm_to_the_choice(void **state) {
    (void)state;
    struct three t = three();
    struct morsel_blob_header *h = (void *)(t.bytes + t.list[1]);
    struct morsel_blob_io *io = (void *)((uint8_t *)h + h->inputs.offset);
    h->inputs.count = 1; /* the ids are the second */
    assert_int_equal(chosen(&t.model, "a"), 2);
    h->inputs = (struct morsel_blob_section){h->inputs.offset, 0xffffffff};
    assert_int_equal(chosen(&t.model, "a"), 1);
    for (uint32_t offset = 1; offset; offset *= 2) {
        h->inputs.offset ^= offset;
        assert_in_range(chosen(&t.model, "a"), 0, 2);
        h->inputs.offset ^= offset;
    }
    h->inputs.offset = (t.count - t.list[1]) / 64 * 64;
    assert_int_equal(chosen(&t.model, "a"), 2);
    h->inputs.offset = (uint32_t)((uint8_t *)io - (uint8_t *)h);
    io[1].onnx_rank = 0xffffffff;
    assert_int_equal(chosen(&t.model, "a"), 1);
    io[1].onnx_rank = 3;
    io[1].onnx_dims[1] = io[1].onnx_dims[2] = 0xffffffff;
    assert_int_equal(chosen(&t.model, "a"), 2);
    t.list[2] = 0xffffffc0;
    assert_int_equal(chosen(&t.model, "a"), 0);
    free(t.bytes);
}

static void ids_without_a_batch_are_a_line(void **state) {
    (void)state;
    struct morsel_model model;
    uint32_t bytes, list;
    uint8_t *blobs[2] = {text_blob(1, 6, &bytes), text_blob(1, 4, &bytes)}, *all = joined(blobs, 2, &bytes, &list);
    assert_int_equal(morsel_open(&model, all, bytes, 0), MORSEL_OK);
    assert_int_equal(chosen(&model, "a a"), 1);
    assert_int_equal(chosen(&model, "a a a"), 0);
    free(blobs[0]);
    free(blobs[1]);
    free(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blob_without_a_list_is_its_only_variant),
        cmocka_unit_test(each_variant_runs_at_its_own_length),
        cmocka_unit_test(a_list_lies_in_the_blob),
        cmocka_unit_test(a_short_header_has_no_list),
        cmocka_unit_test(a_variant_is_checked_as_a_blob_is),
        cmocka_unit_test(no_variant_wants_a_larger_arena),
        cmocka_unit_test(a_variant_that_lies_about_its_weights_is_refused),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(the_shortest_line_that_holds_a_text_is_chosen),
        cmocka_unit_test(a_damaged_variant_is_no_harm_to_the_choice),
        cmocka_unit_test(ids_without_a_batch_are_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
