/* SPDX-License-Identifier: MIT */
/* AP of boxes in order: COCO's 101 recalls, each with the best precision from there on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/verbs/judge.h"

#include <math.h>

static void ap_is_that_of_coco(void **state) {
    (void)state;
    static const struct {
        bool right[6];
        size_t found, wanted;
        double ap;
    } cases[] = {
        {{true}, 1, 1, 1},
        {{false, true}, 2, 1, 0.5},
        {{true, false}, 2, 1, 1},
        {{true}, 1, 2, 51 / 101.0}, /* recalls 0 to 0.50 */
        {{true, false, true}, 3, 2, (51 + 50 * 2 / 3.0) / 101},
        {{false, true, true}, 3, 2, 2 / 3.0}, /* the precision behind is the better one */
        {{true}, 1, 100, 2 / 101.0},          /* recall 0.01 is reached */
        {{true, true, true, true, true, true}, 6, 7, 86 / 101.0},
        {{false}, 1, 3, 0},
        {{false}, 0, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(fabs(judge_boxes_ap(cases[i].right, cases[i].found, cases[i].wanted) - cases[i].ap) < 1e-12);
    assert_true(isnan(judge_boxes_ap(cases[8].right, 1, 0)));
}

static void shares_of_nothing_are_none(void **state) {
    (void)state;
    const struct judge_counts none = {0}, some = {.wanted = 4, .found = 2, .both = 1};
    assert_true(isnan(judge_boxes_precision(&none)) && isnan(judge_boxes_recall(&none)) && isnan(judge_boxes_f1(&none)));
    assert_true(judge_boxes_precision(&some) == 0.5 && judge_boxes_recall(&some) == 0.25 && fabs(judge_boxes_f1(&some) - 1 / 3.0) < 1e-12);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ap_is_that_of_coco),
        cmocka_unit_test(shares_of_nothing_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
