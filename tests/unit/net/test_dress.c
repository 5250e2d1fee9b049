/* SPDX-License-Identifier: MIT */
/* Blobs that are written anew with other labels and metadata; and those that lie as no writer puts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/blob.h"
#include "tests/unit/support/sample_blob.h"
#include "tools/net/blob/blob.h"

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
    assert_true(blob_extras_of(&model, &extras));
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
    assert_true(blob_extras_of(&model, &extras));
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
        assert_int_equal(blob_extras_of(&model, &extras), wanted); \
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

static void a_text_rule_outside_is_refused(void **state) {
    (void)state;
    TOLD(true, h->text = (struct morsel_blob_section){64, 4});
    TOLD(false, h->text = (struct morsel_blob_section){68, 4});
    TOLD(false, h->text = (struct morsel_blob_section){0xffffffc0, 1});
    TOLD(false, h->text = (struct morsel_blob_section){64, (uint32_t)bytes / 4});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(labels_and_metadata_are_those_that_are_given),
                                       cmocka_unit_test(strings_that_share_bytes_are_refused),
                                       cmocka_unit_test(a_text_rule_outside_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
