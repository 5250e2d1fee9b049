/* SPDX-License-Identifier: MIT */
/* Blobs that are written anew with other labels and metadata; and those that lie as no writer puts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/blob.h"
#include "tests/unit/support/sample_blob.h"
#include "tests/unit/support/stream_runs.h"
#include "tools/base/text.h"
#include "tools/net/blob/blob.h"
#include "tools/net/blob/pieces.h"

static unsigned long long compared;

int strcmp(const char *a, const char *b) {
    compared++;
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

static void extras_free(struct blob_extras *extras) {
    free((void *)(uintptr_t)extras->labels);
    free((void *)(uintptr_t)extras->metadata);
}

/* The sample as dress.c writes it: with labels and metadata of its own. */
static uint8_t *dressed(const struct blob *b, size_t *bytes) {
    static char *labels[] = {"one", "", "three"};
    static const struct blob_word words[] = {{"key", "value"}, {"licence", "MIT"}};
    struct morsel_model model;
    struct blob_extras extras;
    assert_int_equal(morsel_open(&model, b->bytes, b->count, 0), MORSEL_OK);
    assert_true(blob_extras_of(&model, 1, &extras));
    extras_free(&extras);
    extras.labels = labels;
    extras.label_count = 3;
    extras.metadata = words;
    extras.metadata_count = 2;
    return blob_dress(b->bytes, b->count, 1, &extras, bytes);
}

static void labels_and_metadata_are_those_that_are_given(void **state) {
    (void)state;
    struct blob b = sample();
    struct morsel_model model;
    size_t bytes, more;
    uint8_t *blob = dressed(&b, &bytes);
    assert_non_null(blob);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    assert_int_equal(morsel_label_count(&model), 3);
    assert_string_equal(morsel_label(&model, 1), "");
    assert_string_equal(morsel_label(&model, 2), "three");
    assert_string_equal(morsel_metadata(&model, "licence"), "MIT");
    assert_int_equal(morsel_metadata_count(&model), 2);
    struct blob_extras extras;
    assert_true(blob_extras_of(&model, 1, &extras));
    uint8_t *again = blob_dress(blob, bytes, 1, &extras, &more);
    assert_int_equal(more, bytes);
    assert_memory_equal(again, blob, bytes);
    extras_free(&extras);
    free(again);
    free(blob);
    free(b.bytes);
}

/* The damage of a sample that opens after it; whether its extras can be told. */
#define TOLD(wanted, ...) \
    do { \
        struct blob b = sample(); \
        size_t bytes; \
        uint8_t *blob = dressed(&b, &bytes); \
        struct morsel_blob_header *h = (void *)blob; \
        uint32_t *labels = (uint32_t *)(void *)(blob + h->labels.offset); \
        struct morsel_blob_pair *pairs = (void *)(blob + h->metadata.offset); \
        struct morsel_model model; \
        struct blob_extras extras; \
        (void)labels, (void)pairs; \
        __VA_ARGS__; \
        assert_int_equal(morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_OK); \
        assert_int_equal(blob_extras_of(&model, 1, &extras), wanted); \
        extras_free(&extras); \
        free(blob); \
        free(b.bytes); \
    } while (0)

/* A few bytes of a hostile blob would be written at length. */
static void strings_that_share_bytes_are_refused(void **state) {
    (void)state;
    TOLD(true, (void)0);
    TOLD(true, pairs[1].value = 0);
    TOLD(false, memset(blob + h->strings.offset + 1, 'a', h->strings.count - 2); labels[0] = labels[1] = 1);
    TOLD(false, memset(blob + h->strings.offset + 1, 'a', h->strings.count - 2); pairs[0].key = 1; pairs[1].value = 2);
}

/* An answer tells one with each box. */
static void long_labels_are_refused(void **state) {
    (void)state;
    char label[TEXT_LABEL_MOST + 2] = {0}, *labels[] = {label};
    memset(label, 'x', TEXT_LABEL_MOST);
    for (int more = 0; more < 2; more++) {
        struct blob b = sample();
        struct blob_extras extras = {.labels = labels, .label_count = 1};
        struct morsel_model model;
        size_t bytes;
        label[TEXT_LABEL_MOST] = more ? 'x' : 0;
        uint8_t *blob = blob_dress(b.bytes, b.count, 1, &extras, &bytes);
        assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
        assert_int_equal(blob_strings_fit(&model, 1), !more);
        free(blob);
        free(b.bytes);
    }
}

static void a_text_rule_outside_is_refused(void **state) {
    (void)state;
    TOLD(true, h->text = (struct morsel_blob_section){64, 4});
    TOLD(false, h->text = (struct morsel_blob_section){68, 4});
    TOLD(false, h->text = (struct morsel_blob_section){0xffffffc0, 1});
    TOLD(false, h->text = (struct morsel_blob_section){64, (uint32_t)bytes / 4});
}

/* Else each of 64 variants might have all of a blob for its records, and for each kind of them. */
static void records_that_share_bytes_are_refused(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct blob b = sample();
        size_t bytes, again_bytes;
        uint8_t *blob = dressed(&b, &bytes), *again;
        struct morsel_blob_header *h = (void *)blob;
        struct morsel_model model;
        struct blob_extras extras;
        if (more) h->operands.count = ((uint32_t)bytes - h->operands.offset) / 4;
        if (more) h->parameters.count = ((uint32_t)bytes - h->parameters.offset) / 4;
        assert_int_equal(morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
        assert_true(blob_extras_of(&model, 1, &extras));
        again = blob_dress(blob, bytes, 1, &extras, &again_bytes);
        assert_int_equal(again == NULL, more);
        extras_free(&extras);
        free(again);
        free(blob);
        free(b.bytes);
    }
}

/* Variants have together what one has alone. */
static void variants_share_the_room_of_names(void **state) {
    (void)state;
    for (uint32_t variants = 1; variants <= 64; variants *= 64) {
        struct blob b = sample();
        size_t bytes;
        uint8_t *blob = dressed(&b, &bytes);
        struct morsel_blob_header *h = (void *)blob;
        struct morsel_model model;
        struct blob_extras extras;
        h->strings = (struct morsel_blob_section){h->data.offset, h->data.count};
        memset(blob + h->strings.offset, 'a', h->strings.count);
        blob[h->strings.offset] = blob[h->strings.offset + h->strings.count - 1] = 0;
        h->labels.count = h->metadata.count = h->name = 0;
        for (uint32_t i = 0; i < h->tensors.count; i++) ((struct morsel_blob_tensor *)(void *)(blob + h->tensors.offset))[i].name = 1;
        for (uint32_t i = 0; i < h->steps.count; i++) ((struct morsel_blob_step *)(void *)(blob + h->steps.offset))[i].name = 1;
        model = (struct morsel_model){.blob = blob, .blob_bytes = (uint32_t)bytes, .opened = MORSEL_OPENED};
        assert_int_equal(blob_extras_of(&model, variants, &extras), variants == 1);
        extras_free(&extras);
        free(blob);
        free(b.bytes);
    }
}

/* Written anew, all that its variants say; and how many bytes it takes. */
static uint8_t *dressed_again(const uint8_t *blob, size_t bytes, size_t *more) {
    struct morsel_model model, variants[2];
    struct blob_extras extras[2];
    assert_int_equal(morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(morsel_open_variant(&variants[i], &model, i, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
        assert_true(blob_extras_of(&variants[i], 2, &extras[i]));
    }
    uint8_t *again = blob_dress(blob, bytes, 2, extras, more);
    assert_non_null(again);
    for (uint32_t i = 0; i < 2; i++) extras_free(&extras[i]);
    return again;
}

/* Two networks and a text rule, which the header of the first does not tell. */
static uint8_t *variants_of(uint32_t seed, size_t *bytes) {
    static const uint32_t words[4] = {0};
    struct net *nets[2];
    struct blob_extras extras[2];
    for (uint32_t i = 0; i < 2; i++) {
        nets[i] = make_random(seed + i, 1);
        extras[i] = (struct blob_extras){.text = words, .text_words = 4};
        assert_true(plan_arena(nets[i]));
    }
    uint8_t *all = blob_write_variants((const struct net *const *)nets, 2, extras, bytes);
    assert_non_null(all);
    ((struct morsel_blob_header *)(void *)all)->text.count = 0;
    for (uint32_t i = 0; i < 2; i++) net_free(nets[i]);
    return all;
}

/* What all share is the first one's: the second has a text rule in vain, and is of the version that the rest of it needs. */
static void a_variant_has_no_text_rule_of_its_own(void **state) {
    (void)state;
    uint32_t old = 0;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        size_t bytes, more;
        uint8_t *all = variants_of(seed, &bytes), *once = dressed_again(all, bytes, &bytes), *twice = dressed_again(once, bytes, &more);
        const struct morsel_blob_header *h = (void *)once;
        uint32_t second = ((const uint32_t *)(const void *)(once + h->variants.offset))[1];
        old += ((const struct morsel_blob_header *)(const void *)(once + second))->format_version == 1;
        assert_int_equal(bytes, more);
        assert_memory_equal(once, twice, bytes);
        free(twice);
        free(once);
        free(all);
    }
    assert_true(old > 0);
}

/* As tables of names were made by. */
static uint32_t fnv1a(const char *name) {
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

static void names_chosen_to_meet_do_not(void **state) {
    enum { MANY = 4096 };
    struct strings strings = {0};
    char name[16];
    (void)state;
    strings_start(&strings, MANY);
    compared = 0;
    for (unsigned i = 0, found = 0; found < MANY; i++) {
        snprintf(name, sizeof name, "%x", i);
        if (fnv1a(name) % (2 * MANY) >= 16) continue;
        assert_true(strings_put(&strings, name));
        found++;
    }
    print_message("%llu names compared\n", compared);
    assert_in_range(compared, 1, MANY * MANY / 8);
    strings_free(&strings);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(labels_and_metadata_are_those_that_are_given),
                                       cmocka_unit_test(strings_that_share_bytes_are_refused),
                                       cmocka_unit_test(long_labels_are_refused),
                                       cmocka_unit_test(a_text_rule_outside_is_refused),
                                       cmocka_unit_test(records_that_share_bytes_are_refused),
                                       cmocka_unit_test(variants_share_the_room_of_names),
                                       cmocka_unit_test(a_variant_has_no_text_rule_of_its_own),
                                       cmocka_unit_test(names_chosen_to_meet_do_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
