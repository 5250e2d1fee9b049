/* SPDX-License-Identifier: MIT */
/* What the checksum sees beyond single bytes (test_damage.c, test_check.c): pairs of bits, words that changed places, blocks of zeros. */
#include "core/checksum.h"
#include "core/format.h"
#include "tests/unit/support/blob_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 96, BYTES = 4 * WORDS, OWN = offsetof(struct morsel_blob_header, checksum) / 4 };

static uint32_t *some_words(void) {
    uint32_t *words = (uint32_t *)(void *)builder_aligned(BYTES);
    for (uint32_t i = 0; i < WORDS; i++) words[i] = i * i * 0x9e3779b1u;
    return words;
}

/* In every word but the checksum's own. */
static void no_pair_of_bits_cancels(void **state) {
    (void)state;
    uint32_t *words = some_words(), sum = morsel_checksum(words, BYTES);
    for (uint32_t i = 0; i < 32 * WORDS; i++) {
        if (i / 32 == OWN) continue;
        words[i / 32] ^= 1u << i % 32;
        for (uint32_t k = i + 1; k < 32 * WORDS; k++) {
            words[k / 32] ^= 1u << k % 32;
            if (morsel_checksum(words, BYTES) == sum) fail_msg("bits %u and %u", (unsigned)i, (unsigned)k);
            words[k / 32] ^= 1u << k % 32;
        }
        words[i / 32] ^= 1u << i % 32;
    }
    free(words);
}

static void words_cannot_change_places(void **state) {
    (void)state;
    uint32_t *words = some_words(), sum = morsel_checksum(words, BYTES);
    for (uint32_t i = 0; i < WORDS; i++)
        for (uint32_t k = i + 1; k < WORDS; k++) {
            uint32_t a = words[i], b = words[k];
            words[i] = b;
            words[k] = a;
            if (morsel_checksum(words, BYTES) == sum) fail_msg("words %u and %u", (unsigned)i, (unsigned)k);
            words[i] = a;
            words[k] = b;
        }
    free(words);
}

/* A sector that was never written, and the end of a file. */
static void zeros_and_truncations_are_seen(void **state) {
    (void)state;
    for (uint32_t at = 0; at + 64 <= BYTES; at += 4) {
        uint32_t *words = some_words(), sum = morsel_checksum(words, BYTES);
        memset((uint8_t *)words + at, 0, 64);
        assert_int_not_equal(morsel_checksum(words, BYTES), sum);
        free(words);
    }
    uint32_t *words = some_words();
    memset(words + WORDS / 2, 0, BYTES / 2);
    for (uint32_t n = BYTES / 2; n < BYTES; n++) /* only zeros are missing */
        assert_int_not_equal(morsel_checksum(words, n), morsel_checksum(words, BYTES));
    free(words);
}

static uint32_t step(uint32_t lane, uint32_t word) {
    uint32_t x = lane ^ word;
    return (x ^ x >> 15) * ((1u << 21) + (1u << 12) + 1);
}

/* Word by word, as core/checksum.c defines it. */
static uint32_t by_definition(const uint8_t *bytes, uint32_t count) {
    uint32_t lanes[16], sum = step(0, count);
    for (uint32_t k = 0; k < 16; k++) lanes[k] = (k + 1) * 0x85ebca6bu;
    for (uint32_t i = 0; i < (count + 63) / 64 * 16; i++) {
        uint32_t word = 0;
        for (uint32_t k = 0; k < 4 && i != OWN; k++) word |= 4 * i + k < count ? (uint32_t)bytes[4 * i + k] << 8 * k : 0;
        lanes[i % 16] = step(lanes[i % 16], word);
    }
    for (uint32_t k = 0; k < 16; k++) sum = step(sum, lanes[k]);
    return sum ^ sum >> 16;
}

/* Blobs that were written once are opened by what comes later: the number is a part of the format. */
static void the_sum_is_that_of_the_format(void **state) {
    (void)state;
    uint32_t *words = some_words();
    for (uint32_t n = 64; n <= BYTES; n++) assert_int_equal(morsel_checksum(words, n), by_definition((const uint8_t *)words, n));
    assert_int_equal(morsel_checksum(words, BYTES), 0x251d6891);
    assert_int_equal(morsel_checksum(words, 101), 0x1ae8bacd);
    free(words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pair_of_bits_cancels),
        cmocka_unit_test(words_cannot_change_places),
        cmocka_unit_test(zeros_and_truncations_are_seen),
        cmocka_unit_test(the_sum_is_that_of_the_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
