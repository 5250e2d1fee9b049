/* SPDX-License-Identifier: MIT */
/* morsel_classes(): order, p and what is left out, against a reference that sorts all scores. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/maps.h"

enum { CLASSES = 40 };

static struct map_trial list_of(uint32_t flags, uint32_t rank, int last) {
    return (struct map_trial){.rule = {.kind = MORSEL_ANSWER_CLASSES, .flags = flags, .most = CLASSES},
                              .rank = rank,
                              .dims = {rank > 1 ? 3 : CLASSES, rank > 1 ? CLASSES : 1, 1, 1},
                              .type = MORSEL_FLOAT32,
                              .channels_last = last};
}

static const float *sorted_scores;

static int by_score(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (sorted_scores[i] != sorted_scores[k]) return sorted_scores[i] > sorted_scores[k] ? -1 : 1;
    return i < k ? -1 : 1;
}

static double p_of(uint32_t flags, const float *scores, uint32_t index) {
    double sum = 0;
    if (flags & MORSEL_ANSWER_SIGMOID) return 1 / (1 + exp(-(double)scores[index]));
    if (!(flags & MORSEL_ANSWER_SOFTMAX)) return (double)scores[index];
    for (int k = 0; k < CLASSES; k++) sum += exp((double)scores[k] - (double)scores[index]);
    return 1 / sum;
}

static void the_best_come_first(void **state) {
    (void)state;
    static const uint32_t flags[] = {0, MORSEL_ANSWER_SIGMOID, MORSEL_ANSWER_SOFTMAX}, ranks[] = {1, 2, 4, 4};
    static const enum morsel_type types[] = {MORSEL_FLOAT32, MORSEL_UINT8, MORSEL_INT8};
    static const float thresholds[] = {0, 0.05f, 0.9f};
    uint32_t random = 4, told = 0;
    for (uint32_t way = 0; way < 108; way++) {
        struct map_trial t = list_of(flags[way % 3], ranks[way / 3 % 4], way / 3 % 4 == 3);
        struct map_network n;
        float values[3 * CLASSES];
        t.type = types[way / 12 % 3];
        t.rule.threshold = thresholds[way / 36];
        if (way % 5 == 2) t.rule.most = 7;
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (int i = 0; i < 3 * CLASSES; i++) values[i] = (float)(5 * map_chance(&random) - 2);
        map_run(&n, values);
        for (uint32_t image = 0; image < (t.rank > 1 ? 3 : 1); image++) {
            static const uint32_t rooms[] = {1, 5, CLASSES, CLASSES + 9};
            const float *scores = values + image * CLASSES;
            uint32_t order[CLASSES], count = 77;
            for (uint32_t k = 0; k < CLASSES; k++) order[k] = k;
            sorted_scores = scores;
            qsort(order, CLASSES, sizeof *order, by_score);
            for (int r = 0; r < 4; r++) {
                struct morsel_class got[CLASSES + 10];
                uint32_t room = rooms[r] < t.rule.most ? rooms[r] : t.rule.most;
                memset(got, 0xa5, sizeof got);
                assert_int_equal(morsel_classes(&n.session, image, got, rooms[r], &count), MORSEL_OK);
                assert_int_equal(*(uint8_t *)&got[room], 0xa5);
                for (uint32_t i = 0; i < count; i++) {
                    assert_int_equal(got[i].index, order[i]);
                    assert_float_equal(got[i].p, p_of(t.rule.flags, scores, order[i]), 1e-5);
                }
                told += count;
                if (count == room) continue;
                assert_true(t.rule.threshold > 0 && p_of(t.rule.flags, scores, order[count]) < (double)t.rule.threshold + 1e-5);
            }
        }
        map_close(&n);
    }
    assert_in_range(told, 5000, 30000);
}

static void what_is_no_number_is_left_out(void **state) {
    (void)state;
    struct map_trial t = list_of(0, 2, 0);
    struct map_network n;
    struct morsel_class got[CLASSES];
    float values[3 * CLASSES];
    uint32_t count;
    for (uint32_t flags = 0; flags <= MORSEL_ANSWER_SOFTMAX; flags += MORSEL_ANSWER_SIGMOID) {
        t.rule.flags = flags;
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (int i = 0; i < 3 * CLASSES; i++) values[i] = i < CLASSES ? (float)NAN : (float)i;
        values[CLASSES] = NAN;
        values[2 * CLASSES] = -INFINITY;
        map_run(&n, values);
        assert_int_equal(morsel_classes(&n.session, 0, got, CLASSES, &count), MORSEL_OK);
        assert_int_equal(count, 0);
        assert_int_equal(morsel_classes(&n.session, 1, got, CLASSES, &count), MORSEL_OK);
        assert_int_equal(count, flags == MORSEL_ANSWER_SOFTMAX ? 0 : CLASSES - 1);
        assert_int_equal(morsel_classes(&n.session, 2, got, CLASSES, &count), MORSEL_OK);
        assert_int_equal(count, flags ? CLASSES : CLASSES - 1);
        assert_true(got[0].index == CLASSES - 1 && (flags == 0 || got[CLASSES - 1].p < 1e-6f));
        map_close(&n);
    }
}

static void the_first_of_equal_scores_is_before(void **state) {
    (void)state;
    struct map_trial t = list_of(MORSEL_ANSWER_SOFTMAX, 1, 0);
    struct map_network n;
    struct morsel_class got[3];
    float values[CLASSES] = {0};
    uint32_t count;
    values[9] = values[5] = values[30] = values[31] = 2;
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    map_run(&n, values);
    assert_int_equal(morsel_classes(&n.session, 0, got, 3, &count), MORSEL_OK);
    assert_true(count == 3 && got[0].index == 5 && got[1].index == 9 && got[2].index == 30 && got[0].p == got[2].p);
    map_close(&n);
}

static void errors_are_told_before_anything_is_written(void **state) {
    (void)state;
    struct map_trial t = list_of(0, 2, 0);
    struct map_network n;
    struct morsel_session closed = {0};
    struct morsel_class got[4];
    uint32_t count = 77;
    memset(got, 0xa5, sizeof got);
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_classes(NULL, 0, got, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_classes(&closed, 0, got, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_classes(&n.session, 0, NULL, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_classes(&n.session, 0, got, 4, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_classes(&n.session, 3, got, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_classes(&n.session, 0, got, 0, &count), MORSEL_ERR_CAPACITY);
    map_close(&n);
    t.rule.kind = MORSEL_ANSWER_EMBEDDING;
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_classes(&n.session, 0, got, 4, &count), MORSEL_ERR_ANSWER);
    map_close(&n);
    assert_int_equal(count, 77);
    for (size_t i = 0; i < sizeof got; i++) assert_int_equal(((uint8_t *)got)[i], 0xa5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_come_first),
        cmocka_unit_test(what_is_no_number_is_left_out),
        cmocka_unit_test(the_first_of_equal_scores_is_before),
        cmocka_unit_test(errors_are_told_before_anything_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
