/* SPDX-License-Identifier: MIT */
/* What is counted of answers: which classes are recognized worst, and what is confused most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/verbs/judge.h"

#include <math.h>
#include <stdlib.h>

enum { IMAGES = 9, CLASSES = 5 };
static const uint32_t truths[IMAGES] = {0, 0, 0, 1, 1, 2, 2, 4, 4}, said[IMAGES] = {0, 2, 2, 0, 1, 0, 2, 1, 1};

static void confusions_come_by_their_number(void **state) {
    (void)state;
    static const struct judge_pair wanted[] = {{0, 2, 2}, {4, 1, 2}, {1, 0, 1}, {2, 0, 1}};
    struct dataset_item items[IMAGES];
    struct judge_answer answers[IMAGES];
    size_t misses[IMAGES] = {0};
    struct judge judge = {.classes = CLASSES, .dataset = {.count = IMAGES, .items = items}, .answers = answers, .misses = misses};
    for (size_t i = 0; i < IMAGES; i++) {
        items[i] = (struct dataset_item){.class = truths[i]};
        answers[i] = (struct judge_answer){.class = said[i]};
        if (truths[i] != said[i]) misses[judge.miss_count++] = i;
    }
    for (size_t most = 0; most < 6; most++) {
        struct judge_pair pairs[6];
        size_t have = judge_pairs(&judge, pairs, most);
        assert_int_equal(have, most < 4 ? most : 4);
        for (size_t i = 0; i < have; i++) {
            assert_int_equal(pairs[i].truth, wanted[i].truth);
            assert_int_equal(pairs[i].answer, wanted[i].answer);
            assert_int_equal(pairs[i].images, wanted[i].images);
        }
    }
}

static void classes_come_by_their_recall(void **state) {
    (void)state;
    struct judge_class of[CLASSES] = {{3, 3, 1}, {2, 3, 1}, {2, 3, 1}, {0, 0, 0}, {2, 0, 0}};
    struct judge judge = {.classes = CLASSES, .of = of};
    size_t order[CLASSES];
    assert_int_equal(judge_order(&judge, order), 4); /* class 3 has no pictures */
    static const size_t wanted[4] = {4, 0, 1, 2};
    for (size_t i = 0; i < 4; i++) assert_int_equal(order[i], wanted[i]);
    assert_true(isnan(judge_recall(&of[3])) && isnan(judge_precision(&of[3])) && isnan(judge_precision(&of[4])));
    assert_true(judge_recall(&of[4]) == 0 && judge_precision(&of[1]) == 1.0 / 3 && judge_recall(&of[1]) == 0.5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confusions_come_by_their_number),
        cmocka_unit_test(classes_come_by_their_recall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
