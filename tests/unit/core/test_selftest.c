/* SPDX-License-Identifier: MIT */
/* The self-test names the kind whose kernel is wrong, whichever slot it stands in, whoever's kernel it is. */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/call.h"
#include "core/morsel.h"
#include "core/selftest.h"
#include "kernels/reference/reference.h"
#include "tests/unit/support/skip.h"

/* The slots of struct morsel_kernels in order, by the kind of steps that has them. */
static const char *const slot_kinds[] = {
    "conv",        "depthwise",
    "float_conv",  "average_pool",
    "max_pool",    "fc",
    "matmul",      "float_matmul",
    "binary",      "binary",
    "binary",      "unary",
    "lut",         "mean",
    "softmax",     "layer_norm",
    "resize",      "concat",
    "gather",      "range",
    "factors",     "quantize",
    "lookup",      "cast",
    "grid_sample", "non_max_suppression",
};
enum { SLOTS = sizeof slot_kinds / sizeof slot_kinds[0], ROWS_SLOTS = 5 };
_Static_assert(offsetof(struct morsel_kernels, refusals) == SLOTS * sizeof(morsel_cast_fn *), "a name for each slot");

static const uint32_t masks[] = {
    MORSEL_CPU_ALL,
    MORSEL_CPU_C,
    MORSEL_CPU_NEON,
    MORSEL_CPU_DOTPROD | MORSEL_CPU_NEON,
    MORSEL_CPU_AVX2,
    MORSEL_CPU_AVX2 | MORSEL_CPU_AVXVNNI,
    MORSEL_CPU_AVX2 | MORSEL_CPU_AVX512VNNI,
};
enum { MASKS = sizeof masks / sizeof masks[0] };

static void every_kernel_set_is_right(void **state) {
    (void)state;
    for (int i = 0; i < MASKS; i++)
        if (morsel_selftest(masks[i])) fail_msg("%s of mask %x", morsel_selftest(masks[i]), (unsigned)masks[i]);
}

static void the_answers_are_those_of_the_reference(void **state) {
    (void)state;
    struct morsel_kernels kernels = morsel_kernels_reference;
    assert_null(morsel_selftest_of(&kernels));
    kernels.store_flip = 0x80 ^ kernels.store_flip; /* as other machines store bytes */
    assert_null(morsel_selftest_of(&kernels));
}

static void nearly_qadd(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    morsel_qadd_c(args, begin, end);
    ((uint8_t *)args->y.data)[end - 1] ^= 1;
}

/* As in programs that have no kernels of two operands but sums of bytes. */
static void sums_of_bytes_have_an_answer_of_their_own(void **state) {
    (void)state;
    struct morsel_kernels kernels = morsel_kernels_reference;
    kernels.qmul = kernels.binary = NULL;
    assert_null(morsel_selftest_of(&kernels));
    kernels.qadd = nearly_qadd;
    assert_string_equal(morsel_selftest_of(&kernels), "binary");
}

/* Kernels that do nothing. */
static void no_rows(const void *args, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    (void)args, (void)rows, (void)y, (void)n;
}

static void no_units(const void *args, uint32_t begin, uint32_t end) {
    (void)args, (void)begin, (void)end;
}

static void a_slot_that_computes_nothing_is_named(void **state) {
    (void)state;
    for (int i = 0; i < MASKS; i++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            struct morsel_kernels kernels;
            morsel_kinds_kernels(&kernels, morsel_cpu_features() & (masks[i] ? masks[i] : UINT32_MAX));
            void (*rows)(const void *, const uint8_t *const *, uint32_t, uint32_t) = no_rows;
            void (*units)(const void *, uint32_t, uint32_t) = no_units;
            memcpy((uint8_t *)&kernels + slot * sizeof rows, slot < ROWS_SLOTS ? (void *)&rows : (void *)&units, sizeof rows);
            const char *found = morsel_selftest_of(&kernels);
            if (!found || strcmp(found, slot_kinds[slot]))
                fail_msg("slot %d of mask %x: %s", slot, (unsigned)masks[i], found ? found : "-");
        }
    }
}

/* Right but for a bit of one result. */
static void nearly_conv(const struct morsel_conv_args *args, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_conv_rows_c(args, rows, y, n);
    ((uint8_t *)args->y.data)[args->window.out_row * (y + n) - 1] ^= 1;
}

static void nearly_softmax(const struct morsel_softmax_args *args, uint32_t begin, uint32_t end) {
    uint32_t bits;
    float *y = (float *)args->y.data + args->count * end - 1;
    morsel_softmax_c(args, begin, end);
    memcpy(&bits, y, sizeof bits);
    bits ^= 1;
    memcpy(y, &bits, sizeof bits);
}

static void one_bit_of_one_result_is_seen(void **state) {
    (void)state;
    struct morsel_kernels kernels;
    morsel_kinds_kernels(&kernels, 0);
    kernels.conv = nearly_conv;
    assert_string_equal(morsel_selftest_of(&kernels), "conv");
    morsel_kinds_kernels(&kernels, 0);
    kernels.softmax = nearly_softmax;
    assert_string_equal(morsel_selftest_of(&kernels), "softmax");
}

/* --- Threads that compute in another way than C begins with: answers of floats are others then */

static void a_thread_that_rounds_otherwise_is_told(void **state) {
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 3; i++)
        for (int plain = 0; plain < 2; plain++) {
            assert_int_equal(fesetround(modes[i]), 0);
            const char *found = morsel_selftest(plain ? MORSEL_CPU_C : MORSEL_CPU_ALL);
            assert_int_equal(fesetround(FE_TONEAREST), 0);
            assert_non_null(found);
        }
}

#if defined(__SSE2__) && defined(__SSE2_MATH__)
#define FLUSH_BOTH 0x8040u
static uint32_t flush(uint32_t bits) {
    uint32_t before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(bits);
    return before;
}
#elif defined(__aarch64__)
#define FLUSH_BOTH (1u << 24)
static uint32_t flush(uint32_t bits) {
    uint64_t before, now = bits;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" ::"r"(now));
    return (uint32_t)before;
}
#endif

static void a_thread_that_flushes_subnormal_numbers_is_told(void **state) {
    (void)state;
#ifdef FLUSH_BOTH
    for (int plain = 0; plain < 2; plain++) {
        uint32_t before = flush(0);
        flush(before | FLUSH_BOTH);
        const char *found = morsel_selftest(plain ? MORSEL_CPU_C : MORSEL_CPU_ALL);
        flush(before);
        assert_non_null(found);
    }
#else
    skip_because("this machine has no such mode");
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_set_is_right),
        cmocka_unit_test(the_answers_are_those_of_the_reference),
        cmocka_unit_test(sums_of_bytes_have_an_answer_of_their_own),
        cmocka_unit_test(a_slot_that_computes_nothing_is_named),
        cmocka_unit_test(one_bit_of_one_result_is_seen),
        cmocka_unit_test(a_thread_that_rounds_otherwise_is_told),
        cmocka_unit_test(a_thread_that_flushes_subnormal_numbers_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
