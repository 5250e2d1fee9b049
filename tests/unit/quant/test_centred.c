/* SPDX-License-Identifier: MIT */
/* The second operand of a product of two activations has its zero point in the middle, where that costs few steps. */
#include "tests/unit/support/scheme_graph.h"

#include "tools/quant/insert/scheme.h"

static float wave(int i) {
    return (float)(i % 7 - 3) / 8;
}

static void range_of(void *context, const struct onnx_value *value, float *low, float *high) {
    (void)value;
    memcpy(low, context, sizeof *low);
    memcpy(high, (const float *)context + 1, sizeof *high);
}

/* Queries and keys with ranges of their own: the zero points of both, and of what the keys are before they are turned. */
static void check(float low, float high, bool signed_bytes, bool centred) {
    float ends[] = {low, high};
    struct onnx_graph *g = queries_and_keys(wave);
    struct scheme *s = place(g, &(struct scheme_options){.signed_bytes = signed_bytes});
    scheme_set_ranges(s, range_of, ends);
    const int32_t middle = scheme_least(&s->options) + 128;
    assert_int_equal(of(s, "t")->zero == middle, centred);
    assert_int_equal(of(s, "k")->zero, of(s, "t")->zero);
    assert_int_not_equal(of(s, "q")->zero, middle);
    const float scale = of(s, "k")->scale, largest = fmaxf(-low, high);
    assert_true(fabsf(scale - (centred ? largest / 127.5F : (high - low) / 255)) <= 1e-6F * scale);
    onnx_free(g);
}

static void second_operands_are_centred(void **state) {
    (void)state;
    check(-1.5F, 2, false, true);
    check(-2, 1.5F, true, true);
    check(-1, 3, false, false); /* half as many steps more */
    check(0, 1, false, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(second_operands_are_centred)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
