/* SPDX-License-Identifier: MIT */
/* Pairs of key and value in a blob: found by key and by number, and refused where their strings lie outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/blob.h"
#include "tests/unit/support/blob_builder.h"

enum { PAIRS = 4 };
static const char *const words[PAIRS][2] = {{"licence", "MIT"}, {"run", "4f1e"}, {"run", "behind the first"}, {"version", ""}};

/* A network of one step with the pairs; `at`: where they stand. */
static uint8_t *blob_of(uint32_t *bytes, uint32_t *at) {
    struct builder b;
    uint32_t dims[1] = {4}, pairs[PAIRS * 2];
    uint8_t table[256];
    for (int i = 0; i < 256; i++) table[i] = (uint8_t)(255 - i);
    builder_start(&b);
    builder_tensor(&b, MORSEL_UINT8, 1, dims, 1, 0);
    builder_tensor(&b, MORSEL_UINT8, 1, dims, 1, 0);
    struct morsel_blob_lut p = {4, 1, 1, builder_data(&b, table, 256)};
    builder_step(&b, MORSEL_STEP_LUT, (uint32_t[]){0}, 1, 1, &p, sizeof p, 0);
    builder_input(&b, 0, "x");
    builder_output(&b, 1, "y");
    for (uint32_t i = 0; i < PAIRS * 2; i++) builder_label(&b, words[i / 2][i % 2]);
    memcpy(pairs, b.labels, sizeof pairs);
    *at = builder_data(&b, pairs, sizeof pairs);
    uint8_t *blob = builder_finish(&b, bytes);
    ((struct morsel_blob_header *)(void *)blob)->metadata = (struct morsel_blob_section){*at, PAIRS};
    builder_seal(blob);
    return blob;
}

static void values_are_found_by_their_keys(void **state) {
    (void)state;
    uint32_t bytes, at;
    uint8_t *blob = blob_of(&bytes, &at);
    struct morsel_model model;
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    assert_string_equal(morsel_metadata(&model, "licence"), "MIT");
    assert_string_equal(morsel_metadata(&model, "run"), "4f1e");
    assert_string_equal(morsel_metadata(&model, "version"), "");
    static const char *const none[] = {"", "r", "ru", "runs", "Run", "MIT", "versio", "licence "};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_null(morsel_metadata(&model, none[i]));
    assert_null(morsel_metadata(&model, NULL));
    free(blob);
}

static void pairs_are_found_by_their_numbers(void **state) {
    (void)state;
    uint32_t bytes, at;
    uint8_t *blob = blob_of(&bytes, &at);
    struct morsel_model model;
    const char *value = "";
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    assert_int_equal(morsel_metadata_count(&model), PAIRS);
    for (uint32_t i = 0; i < PAIRS; i++) {
        assert_string_equal(morsel_metadata_at(&model, i, &value), words[i][0]);
        assert_string_equal(value, words[i][1]);
        assert_string_equal(morsel_metadata_at(&model, i, NULL), words[i][0]);
    }
    assert_null(morsel_metadata_at(&model, PAIRS, &value));
    assert_null(value);
    assert_null(morsel_metadata_at(&model, UINT32_MAX, NULL));
    free(blob);
}

static void there_are_none_where_nothing_says_so(void **state) {
    (void)state;
    uint32_t bytes, at;
    uint8_t *blob = blob_of(&bytes, &at);
    struct morsel_blob_header *h = (void *)blob;
    struct morsel_model model = {0};
    assert_int_equal(morsel_metadata_count(NULL), 0);
    assert_int_equal(morsel_metadata_count(&model), 0);
    assert_null(morsel_metadata(NULL, "run"));
    assert_null(morsel_metadata(&model, "run"));
    assert_null(morsel_metadata_at(&model, 0, NULL));
    h->format_version = 1; /* whose header ends before */
    builder_seal(blob);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    assert_int_equal(morsel_metadata_count(&model), 0);
    assert_null(morsel_metadata(&model, "run"));
    h->format_version = 2;
    model.blob_bytes = h->blob_bytes = (uint32_t)(offsetof(struct morsel_blob_header, metadata) + sizeof h->metadata) - 1;
    assert_int_equal(morsel_metadata_count(&model), 0);
    h->blob_bytes++;
    assert_int_equal(morsel_metadata_count(&model), PAIRS);
    free(blob);
}

/* The damage gives an error, in the pair `number` where that is one. */
#define REFUSED(error, part, number, ...) \
    do { \
        uint32_t bytes, at, index; \
        uint8_t *blob = blob_of(&bytes, &at); \
        struct morsel_blob_header *h = (void *)blob; \
        struct morsel_blob_pair *pairs = (void *)(blob + at); \
        struct morsel_model model; \
        (void)h, (void)pairs; \
        __VA_ARGS__; \
        builder_seal(blob); \
        assert_int_equal(morsel_open(&model, blob, bytes, 0), error); \
        assert_int_equal(morsel_open_part(&model, &index), part); \
        assert_int_equal(index, number); \
        assert_int_equal(morsel_metadata_count(&model), (error) ? 0 : h->metadata.count); \
        free(blob); \
    } while (0)

static void strings_and_sections_lie_in_the_blob(void **state) {
    (void)state;
    REFUSED(MORSEL_OK, MORSEL_PART_BLOB, 0, (void)0);
    REFUSED(MORSEL_OK, MORSEL_PART_BLOB, 0, pairs[3].value = h->strings.count - 1);
    REFUSED(MORSEL_ERR_STRING, MORSEL_PART_METADATA, 3, pairs[3].value = h->strings.count);
    REFUSED(MORSEL_ERR_STRING, MORSEL_PART_METADATA, 2, pairs[2].key = h->strings.count);
    REFUSED(MORSEL_ERR_STRING, MORSEL_PART_METADATA, 0, pairs[0].key = UINT32_MAX);
    REFUSED(MORSEL_ERR_SECTION, MORSEL_PART_BLOB, 0, h->metadata.offset += 4);
    REFUSED(MORSEL_ERR_SECTION, MORSEL_PART_BLOB, 0, h->metadata.offset = 64);
    REFUSED(MORSEL_ERR_SECTION, MORSEL_PART_BLOB, 0, h->metadata.offset = 0xffffffc0);
    REFUSED(MORSEL_ERR_SECTION, MORSEL_PART_BLOB, 0, h->metadata.count = (bytes - at) / 8 + 1);
    REFUSED(MORSEL_ERR_SECTION, MORSEL_PART_BLOB, 0, h->metadata.count = 0x20000000);
    REFUSED(MORSEL_ERR_SECTION, MORSEL_PART_BLOB, 0, h->metadata.count = UINT32_MAX);
    REFUSED(MORSEL_OK, MORSEL_PART_BLOB, 0, h->metadata = (struct morsel_blob_section){UINT32_MAX, 0});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_found_by_their_keys), cmocka_unit_test(pairs_are_found_by_their_numbers),
                                       cmocka_unit_test(there_are_none_where_nothing_says_so),
                                       cmocka_unit_test(strings_and_sections_lie_in_the_blob)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
