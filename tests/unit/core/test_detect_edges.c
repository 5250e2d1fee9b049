/* SPDX-License-Identifier: MIT */
/* morsel_detect(): equal scores, what is no number, frames, errors. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/support/detector.h"

/* Candidates that are all the same: the first of them, and of each class one. */
static void equal_scores_go_by_their_number(void **state) {
    (void)state;
    struct trial t = trial_of(MORSEL_HEAD_YOLOV8, 0, 2, 0);
    struct detector d;
    struct morsel_box boxes[8];
    uint32_t count;
    float values[150 * 6];
    for (uint32_t i = 0; i < 150; i++)
        memcpy(values + 6 * i, (float[]){0.5f, 0.5f, 0.2f, 0.2f, i % 3 ? 0.75f : 0.5f, i % 3 ? 0.5f : 0.75f}, 24);
    detector_open(&d, &t);
    detector_run(&d, values, NULL);
    for (uint32_t room = 1; room < 8; room++) {
        assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, room, &count), MORSEL_OK);
        assert_int_equal(count, room < 2 ? 1 : 2);
        assert_true(boxes[0].candidate == 0 && boxes[0].index == 1);
        if (count > 1) assert_true(boxes[1].candidate == 1 && boxes[1].index == 0);
    }
    detector_close(&d);
    t.rule.iou = 1; /* all stay */
    detector_open(&d, &t);
    detector_run(&d, values, NULL);
    assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 8, &count), MORSEL_OK);
    assert_int_equal(count, 8);
    for (uint32_t i = 0; i < 8; i++) assert_int_equal(boxes[i].candidate, i);
    detector_close(&d);
}

/* Any bits as numbers: what comes out is finite, has an extent, is in order, and is in the room. */
static void what_is_no_number_is_left_out(void **state) {
    (void)state;
    static const float extremes[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 0, -0.0f, 1e-45f, 0.5f, 1, 1e20f, -1e20f, 4e9f, -1};
    static float values[150 * 9], scores[150 * 4];
    uint32_t random = 11, found = 0;
    float anchors[4 * 150];
    for (uint32_t run = 0; run < 300; run++) {
        uint32_t head = MORSEL_HEAD_YOLOV5 + run % 4, flags = builder_random(&random) & MORSEL_ANSWER_FLAGS;
        int apart = (head == MORSEL_HEAD_YOLOV8 || head == MORSEL_HEAD_SSD) && run % 3 == 0;
        struct trial t = trial_of(head, flags, 4, apart);
        struct detector d;
        struct morsel_box boxes[BOXES_MOST];
        struct morsel_frame frame = {.size = sizeof frame, .width = 100, .height = 50};
        uint32_t count, room = builder_between(&random, 1, BOXES_MOST);
        for (uint32_t i = 0; i < 150 * 9; i++) {
            uint32_t which = builder_random(&random) % 60;
            values[i] = which < sizeof extremes / sizeof *extremes ? extremes[which] : (float)chance(&random);
        }
        for (uint32_t i = 0; i < 150 * 4; i++) scores[i] = extremes[builder_random(&random) % (sizeof extremes / sizeof *extremes)];
        for (uint32_t i = 0; i < 150 * 4; i++) anchors[i] = extremes[builder_random(&random) % (sizeof extremes / sizeof *extremes)];
        t.rule.threshold = 0;
        t.rule.most = MORSEL_ANSWER_MOST;
        if (head == MORSEL_HEAD_SSD && run % 2) t.anchors = anchors, t.rule.anchors = t.candidates;
        t.with_picture = 1;
        t.picture = (struct morsel_blob_picture){
            .resize = MORSEL_RESIZE_LETTERBOX, .resize_height = SIDE, .resize_width = SIDE, .scale = 1, .std = {1, 1, 1}};
        detector_open(&d, &t);
        detector_run(&d, values, apart ? scores : NULL);
        assert_int_equal(morsel_detect(&d.session, run % 5 ? NULL : &frame, 0, boxes, room, &count), MORSEL_OK);
        assert_true(count <= room);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(boxes[i].x0 < boxes[i].x1 && boxes[i].y0 < boxes[i].y1 && boxes[i].p >= 0 && isfinite(boxes[i].p));
            assert_true(boxes[i].x0 >= -FLT_MAX && boxes[i].y0 >= -FLT_MAX && boxes[i].x1 <= FLT_MAX && boxes[i].y1 <= FLT_MAX);
            assert_true(boxes[i].index < 4 && boxes[i].candidate < 150);
            if (i) assert_true(by_p(&boxes[i - 1], &boxes[i]) < 0);
            if (run % 5 == 0) assert_true(boxes[i].x0 >= 0 && boxes[i].y0 >= 0 && boxes[i].x1 <= 100 && boxes[i].y1 <= 50);
        }
        found += count;
        detector_close(&d);
    }
    assert_in_range(found, 1000, 1000000);
}

/* A candidate whose scores all are none has no class, whatever the activation makes of it. */
static void without_a_score_there_is_no_box(void **state) {
    (void)state;
    for (uint32_t flags = 0; flags <= MORSEL_ANSWER_SOFTMAX; flags += MORSEL_ANSWER_SIGMOID)
        for (int k = 0; k < 3; k++) {
            struct trial t = trial_of(MORSEL_HEAD_YOLOV8, flags, 2, 0);
            struct detector d;
            struct morsel_box boxes[8];
            uint32_t count;
            float values[150 * 6], none = k == 0 ? NAN : k == 1 ? -INFINITY : 0.5f;
            for (uint32_t i = 0; i < 150; i++) memcpy(values + 6 * i, (float[]){0.5f, 0.5f, 0.2f, 0.2f, none, none}, 24);
            t.rule.threshold = 0;
            detector_open(&d, &t);
            detector_run(&d, values, NULL);
            assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 8, &count), MORSEL_OK);
            assert_int_equal(count, k == 2);
            detector_close(&d);
        }
}

/* Nor has one of a head that multiplies: of two numbers below 0 the product would be a p. */
static void two_scores_below_0_are_no_box(void **state) {
    (void)state;
    static const float pairs[][2] = {{-1, NAN}, {-1, -INFINITY}, {-0.9f, -0.9f}, {0.9f, -0.9f}, {-0.9f, 0.9f}, {0.9f, 0.9f}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        struct trial t = trial_of(MORSEL_HEAD_YOLOV5, 0, 2, 0);
        struct detector d;
        struct morsel_box boxes[8];
        uint32_t count;
        float values[150 * 7];
        for (uint32_t i = 0; i < 150; i++)
            memcpy(values + 7 * i, (float[]){0.5f, 0.5f, 0.2f, 0.2f, pairs[k][0], pairs[k][1], pairs[k][1]}, 28);
        t.rule.threshold = 0.5f;
        detector_open(&d, &t);
        detector_run(&d, values, NULL);
        assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 8, &count), MORSEL_OK);
        assert_int_equal(count, k == 5);
        detector_close(&d);
    }
}

/* Its overlap with itself is no number; the room is too small to look at all others at once. */
static void a_box_without_an_area_comes_once(void **state) {
    (void)state;
    struct trial t = trial_of(MORSEL_HEAD_SSD, 0, 1, 0);
    struct detector d;
    struct morsel_box boxes[3];
    uint32_t count;
    float values[150 * 5] = {-1e30f, -1e30f, 1e30f, 1e30f, 0.9f};
    for (uint32_t i = 1; i < 6; i++) memcpy(values + 5 * i, (float[]){0.1f, 0.1f, 0.2f, 0.2f, 0.8f}, 20);
    memcpy(values + 5 * 6, (float[]){0.5f, 0.5f, 0.6f, 0.6f, 0.7f}, 20);
    detector_open(&d, &t);
    detector_run(&d, values, NULL);
    assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 3, &count), MORSEL_OK);
    assert_int_equal(count, 3);
    assert_true(boxes[0].candidate == 0 && boxes[1].candidate == 1 && boxes[2].candidate == 6);
    detector_close(&d);
}

/* --- Frames --------------------------------------------------------------------------------------------------------- */

/* Boxes in the frame are those of the input, point by point, within the frame's edges; those beside it are gone. */
static void boxes_lie_in_the_frame(void **state) {
    (void)state;
    struct trial t = trial_of(MORSEL_HEAD_YOLOV8, 0, 3, 0);
    float values[150 * 7];
    uint32_t random = 21, inside = 0, outside = 0;
    t.with_picture = 1;
    t.rule.scale[0] = t.rule.scale[1] = SIDE * 1.2f;
    fill(&t, 7, 4, values, &random);
    for (uint32_t way = 0; way < 24; way++) {
        struct detector d;
        struct morsel_box in[60], out[60];
        uint32_t in_count, out_count, at = 0;
        struct morsel_frame frame = {.size = sizeof frame, .width = 200, .height = 120, .turn = way % 4 * 90, .mirror = way / 4 % 2};
        if (way >= 8) frame.left = 30, frame.top = 20, frame.region_width = 100, frame.region_height = 80;
        t.picture = (struct morsel_blob_picture){.resize = way < 16 ? MORSEL_RESIZE_LETTERBOX : MORSEL_RESIZE_EXACT,
                                                 .resize_height = SIDE,
                                                 .resize_width = SIDE,
                                                 .scale = 1,
                                                 .std = {1, 1, 1}};
        detector_open(&d, &t);
        detector_run(&d, values, NULL);
        assert_int_equal(morsel_detect(&d.session, NULL, 0, in, 60, &in_count), MORSEL_OK);
        assert_int_equal(morsel_detect(&d.session, &frame, 0, out, 60, &out_count), MORSEL_OK);
        for (uint32_t i = 0; i < in_count; i++) {
            float points[4] = {in[i].x0, in[i].y0, in[i].x1, in[i].y1};
            assert_int_equal(morsel_frame_points(&d.model, &frame, points, 2), MORSEL_OK);
            float x0 = fmaxf(0, fminf(points[0], points[2])), x1 = fminf(200, fmaxf(points[0], points[2]));
            float y0 = fmaxf(0, fminf(points[1], points[3])), y1 = fminf(120, fmaxf(points[1], points[3]));
            if (!(x0 < x1 && y0 < y1)) {
                outside++;
                continue;
            }
            assert_true(at < out_count && out[at].candidate == in[i].candidate && out[at].p == in[i].p && out[at].index == in[i].index);
            assert_true(out[at].x0 == x0 && out[at].x1 == x1 && out[at].y0 == y0 && out[at].y1 == y1);
            at++;
        }
        assert_int_equal(at, out_count);
        inside += at;
        detector_close(&d);
    }
    assert_true(inside > 100 && outside > 10);
}

/* --- Errors ---------------------------------------------------------------------------------------------------------- */

static void errors_are_told_before_anything_is_written(void **state) {
    (void)state;
    struct trial t = trial_of(MORSEL_HEAD_YOLOV8, 0, 3, 0);
    struct detector d;
    struct morsel_session closed = {0};
    struct morsel_box boxes[4];
    struct morsel_frame frame = {.size = sizeof frame, .width = 100, .height = 50}, sizeless = {.width = 100, .height = 50};
    uint32_t count = 77;
    detector_open(&d, &t);
    memset(boxes, 0xa5, sizeof boxes);
    assert_int_equal(morsel_detect(NULL, NULL, 0, boxes, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_detect(&closed, NULL, 0, boxes, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_detect(&d.session, NULL, 0, NULL, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 4, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_detect(&d.session, NULL, 1, boxes, 4, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 0, &count), MORSEL_ERR_CAPACITY);
    assert_int_equal(morsel_detect(&d.session, &frame, 0, boxes, 4, &count), MORSEL_ERR_PICTURE);
    assert_int_equal(morsel_detect(&d.session, &sizeless, 0, boxes, 4, &count), MORSEL_ERR_OPTIONS);
    detector_close(&d);
    t.rule.kind = MORSEL_ANSWER_EMBEDDING;
    detector_open(&d, &t);
    assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 4, &count), MORSEL_ERR_ANSWER);
    detector_close(&d);
    t.rule.kind = MORSEL_ANSWER_NONE;
    detector_open(&d, &t);
    assert_int_equal(morsel_detect(&d.session, NULL, 0, boxes, 4, &count), MORSEL_ERR_ANSWER);
    detector_close(&d);
    assert_int_equal(count, 77);
    for (size_t i = 0; i < sizeof boxes; i++) assert_int_equal(((uint8_t *)boxes)[i], 0xa5);
}

static void the_kind_of_a_rule_is_told(void **state) {
    (void)state;
    struct trial t = trial_of(MORSEL_HEAD_SSD, 0, 3, 1);
    struct detector d;
    uint32_t output = 77;
    t.rule.output = 0;
    detector_open(&d, &t);
    assert_int_equal(morsel_answer_kind(&d.model, &output), MORSEL_ANSWER_DETECTIONS);
    assert_int_equal(output, 0);
    detector_close(&d);
    t.rule = (struct morsel_blob_answer){.kind = MORSEL_ANSWER_EMBEDDING, .output = 1, .most = 1};
    detector_open(&d, &t);
    assert_int_equal(morsel_answer_kind(&d.model, &output), MORSEL_ANSWER_EMBEDDING);
    assert_int_equal(output, 1);
    assert_int_equal(morsel_answer_kind(NULL, &output), MORSEL_ANSWER_NONE);
    assert_int_equal(output, 0);
    detector_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_scores_go_by_their_number),
        cmocka_unit_test(what_is_no_number_is_left_out),
        cmocka_unit_test(without_a_score_there_is_no_box),
        cmocka_unit_test(two_scores_below_0_are_no_box),
        cmocka_unit_test(a_box_without_an_area_comes_once),
        cmocka_unit_test(boxes_lie_in_the_frame),
        cmocka_unit_test(errors_are_told_before_anything_is_written),
        cmocka_unit_test(the_kind_of_a_rule_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
