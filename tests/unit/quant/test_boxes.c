/* SPDX-License-Identifier: MIT */
/* Boxes of two networks: which are the same, how many, and by how much their p differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/format.h"
#include "tools/quant/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 };

/* Of two images, at p >= 0.5. */
static struct boxes_rule *rule_of_two(struct onnx_graph *graph) {
    static struct onnx_value output = {.name = "y", .shape = {.rank = 3, .dims = {2, 10, 6}}}, *outputs[] = {&output};
    struct morsel_blob_answer *record = calloc(1, sizeof *record);
    *record = (struct morsel_blob_answer){.kind = MORSEL_ANSWER_DETECTIONS, .most = MOST, .threshold = 0.5F};
    graph->outputs = outputs;
    graph->output_count = 1;
    return boxes_rule_open((uint32_t *)(void *)record, sizeof *record / 4, graph);
}

static struct morsel_box box(float x, float p, uint32_t class) {
    return (struct morsel_box){.x0 = x, .x1 = x + 10, .y1 = 10, .p = p, .index = class};
}

static void boxes_pair_up(void **state) {
    (void)state;
    struct onnx_graph graph = {0};
    struct boxes_rule *rule = rule_of_two(&graph);
    assert_true(rule->images == 2 && rule->threshold == 0.5F);
    assert_true(boxes_threshold(rule, BOXES_THRESHOLDS / 2) == 0.5F && boxes_threshold(rule, 0) < 0.31F);
    struct morsel_box wanted[2 * MOST] = {box(0, 0.9F, 1), box(20, 0.8F, 1), box(40, 0.3F, 0), [MOST] = box(0, 0.6F, 2)};
    /* The second one is moved by a third of its union, the third one has come; in the other image the class is another one. */
    struct morsel_box found[2 * MOST] = {box(0, 0.9F, 1), box(23, 0.7F, 1), box(40, 0.6F, 0), [MOST] = box(0, 0.6F, 3)};
    struct boxes w = {wanted, (uint32_t[2]){3, 1}, MOST}, f = {found, (uint32_t[2]){3, 1}, MOST};
    assert_int_equal(boxes_count(rule, &w, 0.5F), 3);
    assert_int_equal(boxes_count(rule, &w, 0.25F), 4);
    assert_int_equal(boxes_count(rule, &f, 0.5F), 4);
    assert_int_equal(boxes_both(rule, &f, &w, 0.5F), 2);
    assert_int_equal(boxes_both(rule, &f, &w, 0.25F), 3);
    /* What is off by more than half the threshold counts as that, the third one; the candidate of another class is in its place. */
    assert_true(fabs(boxes_noise(rule, &f, &w) - (0.01 + 0.0625)) < 1e-6);
    /* Another candidate of that class would do, and none of another place. */
    found[MOST].candidate = 1;
    assert_true(fabs(boxes_noise(rule, &f, &w) - (0.01 + 2 * 0.0625)) < 1e-6);
    found[MOST].index = 2;
    assert_true(fabs(boxes_noise(rule, &f, &w) - (0.01 + 0.0625)) < 1e-6);
    assert_true(fabs(boxes_noise(rule, NULL, &w) - 4 * 0.0625) < 1e-6);
    assert_true(boxes_noise(rule, &w, &w) == 0);
    boxes_rule_close(rule);
}

/* Two that lie on one: the one that shares most of it is the same, the other one is one too many. */
static void each_box_is_taken_once(void **state) {
    (void)state;
    struct onnx_graph graph = {0};
    struct boxes_rule *rule = rule_of_two(&graph);
    struct morsel_box wanted[2 * MOST] = {box(0, 0.9F, 1)}, found[2 * MOST] = {box(2, 0.9F, 1), box(0, 0.8F, 1)};
    struct boxes w = {wanted, (uint32_t[2]){1, 0}, MOST}, f = {found, (uint32_t[2]){2, 0}, MOST};
    assert_int_equal(boxes_both(rule, &f, &w, 0.5F), 1);
    assert_int_equal(boxes_both(rule, &w, &f, 0.5F), 1);
    boxes_rule_close(rule);
}

static void f1_is_the_share_of_both(void **state) {
    (void)state;
    struct reference r = {0};
    struct accuracy a = {0};
    assert_true(accuracy_f1(&a, &r) == 1 && accuracy_f1_about(&a, &r) == 1);
    for (int k = 0; k < BOXES_THRESHOLDS; k++) {
        r.box_counts[k] = 10;
        a.found[k] = 10;
        a.both[k] = k == BOXES_THRESHOLDS / 2 ? 9 : 0;
    }
    assert_true(accuracy_f1(&a, &r) == 0.9 && accuracy_f1_about(&a, &r) == 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_pair_up),
        cmocka_unit_test(each_box_is_taken_once),
        cmocka_unit_test(f1_is_the_share_of_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
