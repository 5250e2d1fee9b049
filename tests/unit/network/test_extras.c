/* SPDX-License-Identifier: MIT */
/* How many labels go with an output. */
#include "tests/unit/support/graph_words.h"

#include "tools/network/host/extras.h"

static bool go_with(const char *nodes, size_t count, size_t *notices) {
    static char *labels[] = {"cat", "dog", "cow", "pig"};
    struct onnx_graph *g = network(13, "1,3,4,4", nodes);
    struct onnx_report report = {0};
    struct failure failure;
    bool good = extras_check_labels("labels.txt", labels, count, g, &report, &failure);
    *notices = report.notice_count;
    onnx_report_free(&report);
    onnx_free(g);
    return good;
}

static void labels_go_with_an_output_of_classes(void **state) {
    (void)state;
    static const char one[] = "Conv x %1x3x4x4 > c; Flatten c > f; Sigmoid f > y", three[] = "Conv x %3x3x4x4 > c; Flatten c > y";
    size_t notices;
    assert_true(go_with(three, 3, &notices) && notices == 0);
    assert_true(go_with(three, 2, &notices) && notices == 1);
    assert_false(go_with(three, 4, &notices));
    assert_true(go_with(one, 1, &notices) && notices == 0);
    assert_true(go_with(one, 2, &notices) && notices == 1); /* one number decides between two */
    assert_false(go_with(one, 3, &notices));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(labels_go_with_an_output_of_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
