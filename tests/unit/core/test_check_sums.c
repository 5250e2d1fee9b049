/* SPDX-License-Identifier: MIT */
/* What a blob states of its weights is verified at open: sums, padding, proofs; and that costs no more than the blob has bytes for. */
#include <stddef.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/support/sample_blob.h"

static enum morsel_error open_sealed(struct blob *b, uint32_t flags) {
    struct morsel_model model;
    builder_seal(b->bytes);
    return morsel_open(&model, b->bytes, b->count, flags);
}

static const uint32_t sums_steps[] = {S_CONV, S_DEPTHWISE, S_FC};

static void set_up(struct blob *b, uint32_t index, struct honest_weights *w) {
    *b = sample();
    assert_true(honest_find(b->bytes, sums_steps[index], w));
    assert_int_equal(open_sealed(b, 0), MORSEL_OK);
}

/* A lie that no address depends on: refused, but for who trusts the storage. */
static void assert_lie(struct blob *b) {
    assert_int_equal(open_sealed(b, 0), MORSEL_ERR_CONSTANT);
    assert_int_equal(open_sealed(b, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
}

static void a_wrong_sum_is_refused(void **state) {
    (void)state;
    struct honest_weights w;
    struct blob b;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t c = 0; c < 16; c++)
            for (int32_t by = -1; by <= 1; by += 2) {
                set_up(&b, i, &w);
                w.sum[c] += by;
                assert_lie(&b);
                free(b.bytes);
            }
}

static int8_t *weight_at(const struct honest_weights *w, uint32_t c, uint32_t tap) {
    return w->values + tap / 4 * 64 + c * 4 + tap % 4;
}

/* With a sum that fits. */
static void padding_that_adds_something_is_refused(void **state) {
    (void)state;
    struct honest_weights w;
    struct blob b;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t c = 0; c < 16; c++) {
            set_up(&b, i, &w);
            uint32_t taps = w.taps, line = w.line, used = w.used;
            free(b.bytes);
            for (uint32_t tap = 0; tap < taps; tap++) {
                if (tap % line < used) continue;
                set_up(&b, i, &w);
                *weight_at(&w, c, tap) += 1;
                w.sum[c] += 1;
                assert_lie(&b);
                free(b.bytes);
            }
        }
}

/* Without zeros of their own, weights are padded with 0. */
static void padding_without_zeros_is_zero(void **state) {
    (void)state;
    struct honest_weights w;
    struct blob b;
    for (uint32_t i = 0; i < 2; i++) {
        set_up(&b, i, &w);
        assert_non_null(w.zero);
        ((struct morsel_blob_conv *)parameters(&b, sums_steps[i]))->sums.weight_zero = 0;
        assert_lie(&b);
        honest_make(b.bytes);
        assert_int_equal(open_sealed(&b, 0), MORSEL_OK);
        free(b.bytes);
    }
}

/* The largest sum of channel 1: with inputs from -3 to 252, by its one weight. */
static void limit_channel(struct honest_weights *w, int8_t weight, int32_t bias, float multiplier, uint8_t proof) {
    for (uint32_t k = 0; k < w->taps; k++) *weight_at(w, 1, k) = (int8_t)(w->zero ? w->zero[1] : 0);
    *weight_at(w, 1, 0) = (int8_t)(*weight_at(w, 1, 0) + weight);
    w->sum[1] = 0;
    for (uint32_t k = 0; k < w->taps; k++) w->sum[1] += *weight_at(w, 1, k);
    ((int32_t *)(uintptr_t)w->bias)[1] = bias;
    ((float *)(uintptr_t)w->multiplier)[1] = multiplier;
    w->proofs[0] = proof;
}

static void assert_proof(int8_t weight, int32_t bias, float multiplier, uint8_t proof, int holds) {
    struct honest_weights w;
    struct blob b;
    for (uint32_t i = 0; i < 3; i++) {
        set_up(&b, i, &w);
        assert_int_equal(w.input_low, 3);
        limit_channel(&w, weight, bias, multiplier, proof);
        if (holds) assert_int_equal(open_sealed(&b, 0), MORSEL_OK);
        else assert_lie(&b);
        free(b.bytes);
    }
}

static void proofs_hold_or_are_refused(void **state) {
    (void)state;
    const int32_t most = (1 << 22) - 1;
    for (int sign = -1; sign <= 1; sign += 2) {
        int32_t edge = sign > 0 ? 252 * 100 : 3 * 100; /* what a weight of 100 adds at most, in the bias's direction */
        assert_proof(100, sign * (most - edge), 0.0001f, MORSEL_PROOF_SMALL, 1);
        assert_proof(100, sign * (most + 1 - edge), 0.0001f, MORSEL_PROOF_SMALL, 0);
        assert_proof(100, sign * (most + 1 - edge), 0.0001f, MORSEL_PROOF_POSITIVE, 1);
        assert_proof(-100, sign * (most - (25500 - edge)), 0.0001f, MORSEL_PROOF_SMALL, 1);
        assert_proof(-100, sign * (most + 1 - (25500 - edge)), 0.0001f, MORSEL_PROOF_SMALL, 0);
        assert_proof(0, sign * 32000, 0.9999f, MORSEL_PROOF_SMALL, 1);
        assert_proof(0, sign * 32000, -0.9999f, MORSEL_PROOF_SMALL, 1);
        assert_proof(0, sign * 32000, 1, MORSEL_PROOF_SMALL, 0);
        assert_proof(0, sign * 32000, -1, MORSEL_PROOF_SMALL, 0);
        assert_proof(0, sign * 32000, 1, 0, 1);
    }
    assert_proof(0, 0, 0.5f, MORSEL_PROOF_POSITIVE, 1);
    assert_proof(0, 0, -0.0f, MORSEL_PROOF_POSITIVE, 1);
    assert_proof(0, 0, -1e-30f, MORSEL_PROOF_POSITIVE, 0);
    assert_proof(0, 0, -1e-30f, MORSEL_PROOF_SMALL, 1);
    assert_proof(0, INT32_MIN, 1e-30f, MORSEL_PROOF_SMALL, 0);
    assert_proof(0, INT32_MAX, 1e-30f, MORSEL_PROOF_SMALL, 0);
}

/* --- Many weights: an FC step or more --- */

struct fc_blob {
    uint8_t *bytes;
    uint32_t count;
};

enum { LAYERS_MOST = 400 };

/* `layers` products of the same input and weights, in turn with so many different limits. */
static struct fc_blob make_products(uint32_t inputs, uint32_t outputs, uint32_t layers, uint32_t limits, int with_zero) {
    struct builder b;
    struct fc_blob blob;
    uint32_t wide = (outputs + 15) / 16 * 16, deep = (inputs + 3) / 4 * 4, k[6];
    void *zeros = calloc(wide, deep > 4 ? deep : 4);
    assert_true(zeros && layers <= LAYERS_MOST);
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_INT8, 2, (uint32_t[]){1, inputs}, 0.1f, 7), y[LAYERS_MOST];
    for (uint32_t i = 0; i < layers; i++) y[i] = builder_tensor(&b, MORSEL_UINT8, 2, (uint32_t[]){1, outputs}, 0.1f, 3);
    uint32_t weights = builder_data(&b, zeros, wide * deep);
    for (uint32_t i = 0; i < 4; i++) k[i] = builder_data(&b, zeros, 4 * wide);
    uint32_t proofs = builder_data(&b, zeros, wide / 16);
    for (uint32_t i = 0; i < layers; i++) {
        int32_t low = (int32_t)(i % limits % 256), high = 255 - (int32_t)(i % limits / 256);
        struct morsel_blob_fc fc = {1, inputs, outputs, {weights, k[0], k[1], k[2], with_zero ? k[3] : 0, 0, low, high, 0, 0, proofs}};
        if (low > high) fc.sums.out_min = 0;
        builder_step(&b, MORSEL_STEP_FC, &x, 1, y[i], &fc, sizeof fc, 0);
    }
    builder_input(&b, x, "x");
    builder_output(&b, y[layers - 1], "y");
    blob.bytes = builder_finish(&b, &blob.count);
    free(zeros);
    return blob;
}

static enum morsel_error open_products(const struct fc_blob *blob) {
    struct morsel_model model;
    builder_seal(blob->bytes);
    return morsel_open(&model, blob->bytes, blob->count, 0);
}

/* Weights of all sizes; honest.c adds them up one by one, in double. A change of any single one is seen. */
static void weights_of_any_size_are_added_up(void **state) {
    (void)state;
    uint32_t random = 1, proven[2] = {0, 0};
    for (uint32_t trial = 0; trial < 60; trial++) {
        static const uint32_t depths[] = {1, 4, 511, 512, 513, 516, 1024, 1030, 3001};
        uint32_t inputs = depths[trial % 9], outputs = trial % 10 ? builder_between(&random, 1, 40) : 241; /* 16 blocks */
        struct fc_blob blob = make_products(inputs, outputs, 1, 1, trial % 2);
        struct honest_weights w;
        assert_true(honest_find(blob.bytes, 0, &w));
        for (uint32_t i = 0; i < w.channels * w.taps; i++)
            w.values[i] = trial % 3 ? (int8_t)builder_random(&random) : trial % 2 ? 127 : -128;
        for (uint32_t c = 0; c < w.channels && w.zero; c++)
            ((int32_t *)(uintptr_t)w.zero)[c] = trial % 5 ? (int32_t)builder_between(&random, 0, 255) - 128 : c % 2 ? 127 : -128;
        for (uint32_t c = 0; c < w.channels; c++) ((float *)(uintptr_t)w.multiplier)[c] = 1e-6f;
        honest_make(blob.bytes);
        assert_int_equal(open_products(&blob), MORSEL_OK);
        for (uint32_t block = 0; block < w.channels / 16; block++) proven[w.proofs[block] & MORSEL_PROOF_SMALL]++;
        uint32_t at = builder_between(&random, 0, w.channels * w.taps - 1);
        w.values[at] = (int8_t)(w.values[at] ^ 1);
        assert_int_equal(open_products(&blob), MORSEL_ERR_CONSTANT);
        free(blob.bytes);
    }
    assert_true(proven[0] > 10 && proven[1] > 10);
}

/* Inputs of int8 with the zero point 7 are -135 .. 120 steps away from it. */
static void proofs_know_the_inputs_type(void **state) {
    (void)state;
    static const int32_t edges[2] = {100 * 120, 100 * 135}; /* what a weight of 100, of -100 adds at most */
    for (int negative = 0; negative < 2; negative++)
        for (int32_t beyond = 0; beyond < 2; beyond++) {
            struct fc_blob blob = make_products(4, 16, 1, 1, 0);
            struct honest_weights w;
            assert_true(honest_find(blob.bytes, 0, &w));
            limit_channel(&w, (int8_t)(negative ? -100 : 100), (1 << 22) - 1 - edges[negative] + beyond, 0.0001f, MORSEL_PROOF_SMALL);
            assert_int_equal(open_products(&blob), beyond ? MORSEL_ERR_CONSTANT : MORSEL_OK);
            free(blob.bytes);
        }
}

/* What is stated of a block is asked of its own sixteen channels: of each of them, and of no other. */
static void every_block_states_its_own_proofs(void **state) {
    (void)state;
    const uint8_t all = MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE;
    for (uint32_t c = 0; c < 48; c++)
        for (int zeros = 0; zeros < 2; zeros++) {
            struct fc_blob blob = make_products(4, 48, 1, 1, zeros);
            struct honest_weights w;
            assert_true(honest_find(blob.bytes, 0, &w));
            int32_t *bias = (int32_t *)(uintptr_t)w.bias;
            float *multiplier = (float *)(uintptr_t)w.multiplier;
            memset(w.proofs, all, 3);
            bias[c] = (1 << 22) - 1;
            assert_int_equal(open_products(&blob), MORSEL_OK);
            bias[c]++;
            assert_int_equal(open_products(&blob), MORSEL_ERR_CONSTANT);
            w.proofs[c / 16] = MORSEL_PROOF_POSITIVE;
            assert_int_equal(open_products(&blob), MORSEL_OK);
            multiplier[c] = -1;
            assert_int_equal(open_products(&blob), MORSEL_ERR_CONSTANT);
            w.proofs[c / 16] = 0;
            assert_int_equal(open_products(&blob), MORSEL_OK);
            free(blob.bytes);
        }
}

/* Without proofs nothing is stated: sums may be of any size. */
static void absent_proofs_state_nothing(void **state) {
    (void)state;
    struct fc_blob blob = make_products(4, 16, 1, 1, 0);
    struct honest_weights w;
    struct morsel_model model = {.blob = blob.bytes};
    assert_true(honest_find(blob.bytes, 0, &w));
    ((int32_t *)(uintptr_t)w.bias)[0] = INT32_MAX;
    ((float *)(uintptr_t)w.multiplier)[0] = -1;
    w.proofs[0] = MORSEL_PROOF_SMALL;
    assert_int_equal(open_products(&blob), MORSEL_ERR_CONSTANT);
    ((struct morsel_blob_fc *)(void *)(blob.bytes + morsel_blob_step(&model, 0)->parameters))->sums.proofs = 0;
    assert_int_equal(open_products(&blob), MORSEL_OK);
    free(blob.bytes);
}

/* A step that equals one before it costs nothing once much was read; steps that differ are refused when too much is. */
static void shared_weights_are_not_read_without_end(void **state) {
    (void)state;
    static const uint32_t turns[] = {1, 2, 30};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        struct fc_blob same = make_products(320, 320, 300, turns[i], 0);
        honest_make(same.bytes);
        assert_int_equal(open_products(&same), MORSEL_OK);
        free(same.bytes);
    }
    struct fc_blob few = make_products(320, 320, 50, 300, 0), many = make_products(320, 320, 300, 300, 0);
    honest_make(few.bytes);
    honest_make(many.bytes);
    assert_int_equal(open_products(&few), MORSEL_OK);
    assert_int_equal(open_products(&many), MORSEL_ERR_CONSTANT);
    struct morsel_model model;
    uint32_t index;
    assert_int_equal(morsel_open(&model, many.bytes, many.count, 0), MORSEL_ERR_CONSTANT);
    assert_int_equal(morsel_open_part(&model, &index), MORSEL_PART_STEP);
    assert_in_range(index, 60, 120); /* 64 times the blob, of which the weights are three quarters */
    free(few.bytes);
    free(many.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_sum_is_refused),
        cmocka_unit_test(padding_that_adds_something_is_refused),
        cmocka_unit_test(padding_without_zeros_is_zero),
        cmocka_unit_test(proofs_hold_or_are_refused),
        cmocka_unit_test(proofs_know_the_inputs_type),
        cmocka_unit_test(every_block_states_its_own_proofs),
        cmocka_unit_test(absent_proofs_state_nothing),
        cmocka_unit_test(weights_of_any_size_are_added_up),
        cmocka_unit_test(shared_weights_are_not_read_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
