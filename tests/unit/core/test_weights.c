/* SPDX-License-Identifier: MIT */
/* Blocks of packed weights, against their weights one by one: sums, and what is proven of them, to the last unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "core/weights.h"
#include "tests/unit/support/blob_builder.h"

enum { CHANNELS = 16, SMALL = MORSEL_PROOF_SMALL, POSITIVE = MORSEL_PROOF_POSITIVE };

static uint32_t seed = 5;

static int32_t byte_between(int32_t low, int32_t high) {
    return (int32_t)builder_between(&seed, (uint32_t)(low + 128), (uint32_t)(high + 128)) - 128;
}

/* --- Sums --- */

/* How weights and zeros are drawn. */
enum draw { ANY, LEAST, MOST, HALVES, DRAWS };

static int32_t drawn(enum draw draw, uint32_t c) {
    if (draw == ANY) return byte_between(-128, 127);
    if (draw == HALVES) return c % 2 ? 127 : -128;
    return draw == LEAST ? -128 : 127;
}

static void weigh(uint32_t quads, enum draw weights, enum draw zeros, int with_zero) {
    int8_t *bytes = malloc(64 * (size_t)quads);
    int32_t zero[CHANNELS];
    struct morsel_weighed got[CHANNELS + 1], want[CHANNELS] = {{0, 0}};
    assert_non_null(bytes);
    memset(got, 0xa5, sizeof got);
    for (uint32_t c = 0; c < CHANNELS; c++) zero[c] = with_zero ? drawn(zeros, c) : 0;
    for (uint32_t i = 0; i < 64 * quads; i++) {
        uint32_t c = i % 64 / 4;
        bytes[i] = (int8_t)drawn(weights, i);
        want[c].sum += (uint64_t)(bytes[i] + 128);
        if (bytes[i] > zero[c]) want[c].above += (uint64_t)(bytes[i] - zero[c]);
    }
    morsel_weigh_block(got, (const uint32_t *)(void *)bytes, quads, with_zero ? zero : NULL);
    for (uint32_t c = 0; c < CHANNELS; c++) {
        assert_true(got[c].sum == want[c].sum);
        assert_true(got[c].above == want[c].above);
    }
    assert_true(got[CHANNELS].sum == 0xa5a5a5a5a5a5a5a5 && got[CHANNELS].above == 0xa5a5a5a5a5a5a5a5);
    free(bytes);
}

/* Fields of 16 bits hold the sums of 256 quads: around that, and around the four of a turn, nothing is lost. */
static void weights_are_weighed_one_by_one(void **state) {
    (void)state;
    static const uint32_t quads[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 256, 257, 258, 260, 511, 512, 513, 516, 1027};
    for (size_t i = 0; i < sizeof quads / sizeof *quads; i++)
        for (int weights = 0; weights < DRAWS; weights++) {
            weigh(quads[i], (enum draw)weights, ANY, 0);
            for (int zeros = 0; zeros < DRAWS; zeros++) weigh(quads[i], (enum draw)weights, (enum draw)zeros, 1);
        }
}

static void no_weights_weigh_nothing(void **state) {
    (void)state;
    struct morsel_weighed got[CHANNELS];
    memset(got, 0xa5, sizeof got);
    morsel_weigh_block(got, NULL, 0, NULL);
    for (uint32_t c = 0; c < CHANNELS; c++) assert_true(got[c].sum == 0 && got[c].above == 0);
}

/* --- Proofs --- */

enum { TAPS = 8 };

/* Sixteen channels of eight weights each. */
struct block {
    int8_t weight[CHANNELS][TAPS];
    int32_t zero[CHANNELS], bias[CHANNELS];
    float multiplier[CHANNELS];
    int has_zero;
    int32_t low; /* inputs are -low .. 255 - low */
};

/* Nothing is added, and multipliers are 1: small, and positive. */
static struct block a_block(int has_zero, int32_t low) {
    struct block b = {.has_zero = has_zero, .low = low};
    for (uint32_t c = 0; c < CHANNELS; c++) {
        b.multiplier[c] = 1;
        b.zero[c] = has_zero ? (int32_t)c * 17 - 128 : 0;
        memset(b.weight[c], b.zero[c], TAPS);
    }
    return b;
}

static uint32_t proofs_of(const struct block *b) {
    struct morsel_weighed weighed[CHANNELS];
    struct morsel_block_channels k = {b->bias, b->has_zero ? b->zero : NULL, b->multiplier};
    for (uint32_t c = 0; c < CHANNELS; c++) {
        weighed[c] = (struct morsel_weighed){0, 0};
        for (uint32_t t = 0; t < TAPS; t++) {
            weighed[c].sum += (uint64_t)(b->weight[c][t] + 128);
            if (b->weight[c][t] > b->zero[c]) weighed[c].above += (uint64_t)(b->weight[c][t] - b->zero[c]);
        }
    }
    return morsel_find_proofs(weighed, &k, TAPS, b->low);
}

/* The furthest that inputs drive the sum of channel c up (sign 1) or down (-1): each weight for itself. */
static int64_t furthest(const struct block *b, uint32_t c, int sign) {
    int64_t sum = (int64_t)sign * b->bias[c];
    for (uint32_t t = 0; t < TAPS; t++) {
        int64_t by = sign * (b->weight[c][t] - b->zero[c]);
        sum += by > 0 ? by * (255 - b->low) : by * -b->low;
    }
    return sum;
}

static uint32_t proofs_by_hand(const struct block *b) {
    uint32_t proofs = SMALL | POSITIVE;
    for (uint32_t c = 0; c < CHANNELS; c++) {
        int64_t up = furthest(b, c, 1), down = furthest(b, c, -1), far = up > down ? up : down;
        if (far >= 4194304 || fabsf((float)far * b->multiplier[c]) >= 32000) proofs &= POSITIVE;
        if (!(b->multiplier[c] >= 0)) proofs &= SMALL;
    }
    return proofs;
}

static void proofs_are_those_of_all_weights(void **state) {
    (void)state;
    static const float multipliers[] = {1e-4f, 0.005f, 0.01f, 0.02f, 0.07f};
    uint32_t found[4] = {0};
    for (uint32_t trial = 0; trial < 20000; trial++) {
        struct block b = a_block(trial % 2, byte_between(-128, 127) + 128);
        for (uint32_t c = 0; c < CHANNELS; c++) {
            b.zero[c] = b.has_zero ? byte_between(-128, 127) : 0;
            for (uint32_t t = 0; t < TAPS; t++) b.weight[c][t] = (int8_t)byte_between(-128, 127);
            b.multiplier[c] = multipliers[builder_between(&seed, 0, 4)] * (trial % 3 || c ? 1 : -1);
            b.bias[c] = (int32_t)builder_between(&seed, 0, 600000) - 300000;
        }
        if (trial % 5 == 0) b.bias[trial % CHANNELS] = trial % 10 ? 4190000 : -4190000;
        uint32_t proofs = proofs_of(&b);
        assert_int_equal(proofs, proofs_by_hand(&b));
        found[proofs]++;
    }
    for (uint32_t proofs = 0; proofs < 4; proofs++) assert_true(found[proofs] > 100);
}

/* Channel c has one weight that differs from its zero by `by`: biases up to which sums end below 2^22, in both directions. */
static void try_sums(uint32_t c, int32_t by, int has_zero, int32_t low) {
    const int32_t most = (1 << 22) - 1;
    struct block b = a_block(has_zero, low);
    for (uint32_t k = 0; k < CHANNELS; k++) b.multiplier[k] = 1e-6f;
    b.weight[c][c % TAPS] = (int8_t)(b.zero[c] + by);
    int32_t high = 255 - low, up = by > 0 ? by * high : by * -low, down = by > 0 ? by * low : by * -high;
    b.bias[c] = most - up;
    assert_int_equal(proofs_of(&b), SMALL | POSITIVE);
    b.bias[c] = most - up + 1;
    assert_int_equal(proofs_of(&b), POSITIVE);
    b.bias[c] = down - most;
    assert_int_equal(proofs_of(&b), SMALL | POSITIVE);
    b.bias[c] = down - most - 1;
    assert_int_equal(proofs_of(&b), POSITIVE);
}

static void small_sums_end_below_a_limit(void **state) {
    (void)state;
    static const int32_t lows[] = {0, 1, 100, 128, 254, 255};
    for (uint32_t c = 0; c < CHANNELS; c++)
        for (uint32_t i = 0; i < 6; i++)
            for (int has_zero = 0; has_zero < 2; has_zero++) {
                int32_t zero = has_zero ? (int32_t)c * 17 - 128 : 0;
                try_sums(c, 127 - zero, has_zero, lows[i]);
                try_sums(c, -128 - zero, has_zero, lows[i]);
                try_sums(c, 0, has_zero, lows[i]);
            }
}

/* A sum of that many, of either sign, times a multiplier of either sign: below 32000 to the last float. */
static void small_results_end_below_a_limit(void **state) {
    (void)state;
    static const struct {
        int32_t sum;
        float multiplier;
        int small;
    } cases[] = {{31999, 1, 1},    {32000, 1, 0},    {32000, 0.99999994f, 1}, {1, 31999.998f, 1}, {1, 32000, 0},
                 {1, 31999.5f, 1}, {1, 32000.5f, 0}, {4000000, 0.008f, 0},    {0, 1e38f, 1},      {3, INFINITY, 0}};
    for (uint32_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int sign = 0; sign < 4; sign++) {
                struct block b = a_block(0, 0);
                b.bias[c] = sign & 1 ? -cases[i].sum : cases[i].sum;
                b.multiplier[c] = sign & 2 ? -cases[i].multiplier : cases[i].multiplier;
                assert_int_equal(proofs_of(&b), (cases[i].small ? SMALL : 0) | (sign & 2 ? 0 : POSITIVE));
            }
}

/* The end that is further from 0 counts: inputs of 0 .. 255 and a weight of 100 reach from -20000 to 5500, or from -5500 to 20000. */
static void the_further_end_counts(void **state) {
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct block b = a_block(0, 0);
        b.weight[3][2] = (int8_t)(sign * 100);
        b.bias[3] = sign * -20000;
        b.multiplier[3] = 1.5999f;
        assert_int_equal(proofs_of(&b), SMALL | POSITIVE);
        b.multiplier[3] = 1.6f;
        assert_int_equal(proofs_of(&b), POSITIVE);
        b.bias[3] = sign * -5500;
        assert_int_equal(proofs_of(&b), POSITIVE);
    }
}

static void multipliers_of_0_and_more_are_positive(void **state) {
    (void)state;
    static const float multipliers[] = {0, -0.0f, 1e-45f, -1e-45f, NAN};
    for (uint32_t c = 0; c < CHANNELS; c++)
        for (uint32_t i = 0; i < 5; i++) {
            struct block b = a_block(0, 0);
            b.multiplier[c] = multipliers[i];
            assert_int_equal(proofs_of(&b) & POSITIVE, i < 3 ? POSITIVE : 0);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_weighed_one_by_one),         cmocka_unit_test(no_weights_weigh_nothing),
        cmocka_unit_test(proofs_are_those_of_all_weights),        cmocka_unit_test(small_sums_end_below_a_limit),
        cmocka_unit_test(small_results_end_below_a_limit),        cmocka_unit_test(the_further_end_counts),
        cmocka_unit_test(multipliers_of_0_and_more_are_positive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
