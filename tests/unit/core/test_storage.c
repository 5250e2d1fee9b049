/* SPDX-License-Identifier: MIT */
/* How bytes are stored inside a network is the kernels' choice: values are the same, and inputs and outputs keep their own types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/kind.h"
#include "core/prepare.h"
#include "tests/unit/support/sample_blob.h"

/* Prepares every step again, in plain C, for bytes stored with this flip. */
static void store_with(struct morsel_session *s, uint32_t flip) {
    struct morsel_kernels kernels;
    morsel_kinds_kernels(&kernels, 0);
    kernels.store_flip = flip;
    for (uint32_t i = 0; i < s->step_count; i++) morsel_prepare(morsel_call_at(s, i), s, &kernels, &kernels, i);
}

/* A run of the blob; the arena, for free(). */
static uint8_t *run_stored(const uint8_t *blob, uint32_t bytes, uint32_t flip) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    memset(arena, 0xee, morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), NULL), MORSEL_OK);
    store_with(&s, flip);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    for (uint32_t i = 0; i < v.bytes; i++) ((uint8_t *)v.data)[i] = (uint8_t)(i * 37 + 11);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    return arena;
}

/* Every tensor of the arena, with what stands between its bytes in one run and in the other. */
static void assert_same_values(const struct blob *b, const uint8_t *plain, const uint8_t *flipped) {
    for (uint32_t k = 0; k < b->header->tensors.count; k++) {
        const struct morsel_blob_tensor *t = &b->tensors[k];
        int inside = !t->place && t->first_step != MORSEL_STEP_BEFORE && t->last_step != b->header->steps.count;
        uint8_t between = inside && morsel_is_byte(t) ? 0x80 : 0;
        for (uint32_t i = 0; !t->place && i < t->bytes; i++) assert_int_equal(plain[t->offset + i] ^ between, flipped[t->offset + i]);
    }
}

/* The sample's activations as int8: what was 0..255 becomes -128..127. */
static void make_signed(struct blob *b) {
    for (uint32_t k = 0; k < b->header->tensors.count; k++) {
        struct morsel_blob_tensor *t = &b->tensors[k];
        if (t->type != MORSEL_UINT8) continue;
        t->type = MORSEL_INT8;
        t->zero_point -= 128;
    }
    for (uint32_t i = 0; i < S_COUNT; i++) {
        int32_t *p = parameters(b, i), limits[2] = {-128, 127};
        for (uint32_t k = 0; k < 24 && i != S_CONCAT && i != S_LUT && i != S_GATHER && i != S_SOFTMAX && i != S_UNARY; k++)
            if (p[k] == 0 && p[k + 1] == 255) memcpy(p + k, limits, sizeof limits);
    }
    builder_seal(b->bytes);
}

static void stored_either_way_values_are_the_same(void **state) {
    (void)state;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        struct blob b = sample();
        if (is_signed) make_signed(&b);
        uint8_t *plain = run_stored(b.bytes, b.count, 0), *flipped = run_stored(b.bytes, b.count, 0x80);
        assert_same_values(&b, plain, flipped);
        free(plain), free(flipped), free(b.bytes);
    }
}

/* ---- the borders of a network ---- */

enum { B_IN, B_MAX, B_GATHER, B_LUT, B_CONCAT, B_ADD, B_MUL, B_AVERAGE, B_COUNT };

static uint8_t own_of(enum morsel_type type) {
    return type == MORSEL_INT8 ? 128 : 0;
}

static void add_border_steps(struct builder *b, enum morsel_type type) {
    int32_t low = -own_of(type), high = 255 + low, order[12];
    uint8_t table[256];
    for (int i = 0; i < 12; i++) order[i] = i % 5 == 4 ? -1 : 11 - i;
    for (int i = 0; i < 256; i++) table[i] = (uint8_t)(i * 7 + 3);
    struct morsel_blob_pool pool = {{2, 2, 1, 1, 1, 1, 0, 0, 0, 0}, 0, low, high};
    builder_step(b, MORSEL_STEP_MAX_POOL, (uint32_t[]){B_IN}, 1, B_MAX, &pool, sizeof pool, 0);
    struct morsel_blob_gather gather = {1, {12, 1, 1, 1, 1, 1}, builder_data(b, order, sizeof order), 0x85};
    builder_step(b, MORSEL_STEP_GATHER, (uint32_t[]){B_IN}, 1, B_GATHER, &gather, sizeof gather, 0);
    struct morsel_blob_lut lut = {12, 1, 1, builder_data(b, table, 256)};
    builder_step(b, MORSEL_STEP_LUT, (uint32_t[]){B_IN}, 1, B_LUT, &lut, sizeof lut, 0);
    uint32_t concat[3] = {2, 6, 6};
    builder_step(b, MORSEL_STEP_CONCAT, (uint32_t[]){B_IN, B_LUT}, 2, B_CONCAT, concat, sizeof concat, 0);
    struct morsel_blob_binary add = {MORSEL_BINARY_QADD, 1, {12, 1, 1, 1, 1, 1}, {1}, {1}, 0.375f, 0.25f, 3.3f, low, high, -1, 1};
    builder_step(b, MORSEL_STEP_BINARY, (uint32_t[]){B_LUT, B_IN}, 2, B_ADD, &add, sizeof add, 0);
    add.op = MORSEL_BINARY_QMUL, add.a_ratio = 0.0123f;
    builder_step(b, MORSEL_STEP_BINARY, (uint32_t[]){B_IN, B_LUT}, 2, B_MUL, &add, sizeof add, 0);
    builder_step(b, MORSEL_STEP_AVERAGE_POOL, (uint32_t[]){B_IN}, 1, B_AVERAGE, &pool, sizeof pool, 0);
}

/* Steps between an input and outputs; or `inside`: the same with a table that changes nothing before each output. */
static uint8_t *border_network(enum morsel_type type, int inside, uint32_t *bytes) {
    struct builder b;
    uint8_t same[256];
    int32_t zero = 9 - own_of(type);
    builder_start(&b);
    for (uint32_t k = 0; k < B_COUNT; k++) {
        uint32_t dims[4] = {1, k == B_MAX || k == B_AVERAGE ? 1 : 2, k == B_MAX || k == B_AVERAGE ? 1 : 2, 3};
        if (k == B_CONCAT) dims[0] = 2;
        builder_tensor(&b, type, 4, dims, 0.1f, zero);
    }
    add_border_steps(&b, type);
    for (int i = 0; i < 256; i++) same[i] = (uint8_t)i;
    for (uint32_t k = 1; inside && k < B_COUNT; k++) {
        struct morsel_blob_tensor *t = &b.tensors[k];
        struct morsel_blob_lut lut = {t->bytes, 1, 1, builder_data(&b, same, 256)};
        uint32_t out = builder_tensor(&b, type, 4, t->dims, 0.1f, zero);
        builder_step(&b, MORSEL_STEP_LUT, &k, 1, out, &lut, sizeof lut, 0);
    }
    builder_input(&b, B_IN, "x");
    for (uint32_t k = 1; k < B_COUNT; k++) builder_output(&b, inside ? k + B_COUNT - 1 : k, "y");
    return builder_finish(&b, bytes);
}

/* All outputs one behind the other. */
static uint32_t outputs_of(const uint8_t *blob, uint32_t bytes, uint32_t flip, uint8_t *to) {
    const struct morsel_blob_header *h = (const void *)blob;
    uint8_t *arena = run_stored(blob, bytes, flip);
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->outputs.count; i++) {
        const struct morsel_blob_io *io = (const struct morsel_blob_io *)(const void *)(blob + h->outputs.offset) + i;
        const struct morsel_blob_tensor *t = (const struct morsel_blob_tensor *)(const void *)(blob + h->tensors.offset) + io->tensor;
        memcpy(to + n, arena + t->offset, t->bytes);
        n += t->bytes;
    }
    free(arena);
    return n;
}

static void inputs_and_outputs_keep_their_own_type(void **state) {
    (void)state;
    const enum morsel_type types[2] = {MORSEL_UINT8, MORSEL_INT8};
    for (int i = 0; i < 2; i++) {
        uint8_t want[128], got[128];
        for (int inside = 0; inside < 2; inside++) {
            uint32_t bytes, n;
            uint8_t *blob = border_network(types[i], inside, &bytes);
            if (!inside) n = outputs_of(blob, bytes, own_of(types[i]), want);
            for (uint32_t flip = 0; flip <= 0x80; flip += 0x80) {
                n = outputs_of(blob, bytes, flip, got);
                assert_memory_equal(got, want, n);
            }
            free(blob);
        }
        for (int k = 0; k < 12; k++) { /* the gather, against its meaning */
            uint8_t entry = k % 5 == 4 ? 0x85 : (uint8_t)((11 - k) * 37 + 11);
            assert_int_equal(want[3 + k], entry);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_either_way_values_are_the_same),
        cmocka_unit_test(inputs_and_outputs_keep_their_own_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
