/* SPDX-License-Identifier: MIT */
/* Three dots in the equation of an Einsum: which dimensions they stand for, and where they cannot. */
#include "tests/unit/support/onnx_file.h"
#include "tools/onnx/internal.h"

static const struct row {
    const char *inputs, *equation, *y; /* y: the shape, or why it is refused */
} rows[] = {
    {"f:2,3,4 f:4,5", "...ij,jk->...ik", "2x3x5"},
    {"f:2,7,3,4 f:7,4,5", "...ij,...jk->...ik", "2x7x3x5"},
    {"f:2,3,4 f:2,4,5", "...ij,...jk", "2x3x5"},
    {"f:3,4", "...ji->ij...", "4x3"},
    {"f:2,3,4,5", "a...->...a", "3x4x5x2"},
    {"f:2,3", "ij...->ji", "3x2"}, /* they stand for none */
    {"f:2", "...ab->a", "malformed"},
    {"f:2,2,2", "...a...->...a", "malformed"},
    {"f:2,2", "a..b->ab", "malformed"},
    {"f:2,2,3 f:3,3,2", "...ab,...bc->...ac", "is 2 and 3"},
};

static void check_equation(const struct row *row) {
    char equation[64], shape[100];
    struct failure failure = {0};
    struct onnx_report report = {0};
    snprintf(equation, sizeof equation, "equation@%s", row->equation);
    struct bytes model = one_node("Einsum", 13, row->inputs, equation, 1);
    struct onnx_graph *g = load_bytes(&model, &failure);
    assert_non_null(g);
    assert_true(onnx_bind(g, NULL, 0, 1, &report, &failure) && onnx_infer(g, &report, &failure));
    const char *said = report.refusal_count ? report.refusals[0].why : onnx_shape_text(&g->outputs[0]->shape, shape, sizeof shape);
    if (!strstr(said, row->y)) fail_msg("%s of %s: %s, not %s", row->equation, row->inputs, said, row->y);
    onnx_report_free(&report);
    onnx_free(g);
}

static void dots_are_the_dimensions_without_a_letter(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_equation(&rows[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(dots_are_the_dimensions_without_a_letter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
