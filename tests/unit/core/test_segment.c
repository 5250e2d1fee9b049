/* SPDX-License-Identifier: MIT */
/* morsel_segment(): the class of each pixel against a reference that interpolates all scores in double. */
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

enum { FRAME_MOST = 128 * 128 };

static struct map_trial trial_of(uint32_t classes, uint32_t height, uint32_t width, int last, int hwc) {
    struct map_trial t = {.rule = {.kind = MORSEL_ANSWER_SEGMENTATION,
                                   .head = MORSEL_HEAD_SCORES,
                                   .flags = hwc ? 0 : MORSEL_ANSWER_COLUMNS,
                                   .classes = classes,
                                   .most = 1,
                                   .threshold = 0.5f,
                                   .scale = {1, 1}},
                          .rank = 4,
                          .type = MORSEL_FLOAT32,
                          .channels_last = last,
                          .with_picture = 1,
                          .picture = map_picture(0)};
    uint32_t dims[4] = {2, hwc ? height : classes, hwc ? width : height, hwc ? classes : width};
    memcpy(t.dims, dims, sizeof dims);
    return t;
}

/* Sides of the map. */
static uint32_t side_of(const struct map_trial *t, int across) {
    return t->dims[1 + (t->rule.flags & MORSEL_ANSWER_COLUMNS) + (uint32_t)across];
}

static double value_at(const struct map_trial *t, const float *values, uint32_t image, uint32_t k, uint32_t y, uint32_t x) {
    uint32_t height = side_of(t, 0), width = side_of(t, 1), channels = t->rule.head == MORSEL_HEAD_INDICES ? 1 : t->rule.classes;
    size_t at = t->rule.flags & MORSEL_ANSWER_COLUMNS ? ((size_t)k * height + y) * width + x : ((size_t)y * width + x) * channels + k;
    return (double)values[(size_t)image * height * width * channels + at];
}

/* --- The reference -------------------------------------------------------------------------------------------------- */

/* Where the centre of a frame's pixel lies in the input, from where two corners of that lie in the frame. */
static void into_input(const struct map_network *n, const struct morsel_frame *frame, double px, double py, double *x, double *y) {
    float corners[6] = {0, 0, PICTURE_WIDTH, 0, 0, PICTURE_HEIGHT};
    assert_int_equal(morsel_frame_points(&n->model, frame, corners, 3), MORSEL_OK);
    double ax = (double)corners[2] - corners[0], ay = (double)corners[3] - corners[1];
    double bx = (double)corners[4] - corners[0], by = (double)corners[5] - corners[1];
    *x = ((px - corners[0]) * ax + (py - corners[1]) * ay) / (ax * ax + ay * ay) * PICTURE_WIDTH;
    *y = ((px - corners[0]) * bx + (py - corners[1]) * by) / (bx * bx + by * by) * PICTURE_HEIGHT;
}

static double mean_at(const struct map_trial *t, const float *values, uint32_t image, uint32_t k, double y, double x) {
    double height = side_of(t, 0), width = side_of(t, 1);
    y = fmax(0, y - 0.5);
    x = fmax(0, x - 0.5);
    uint32_t y0 = (uint32_t)fmin(y, height - 1), x0 = (uint32_t)fmin(x, width - 1);
    uint32_t y1 = (uint32_t)fmin(y0 + 1, height - 1), x1 = (uint32_t)fmin(x0 + 1, width - 1);
    double fy = y - y0, fx = x - x0;
    return (1 - fy) * ((1 - fx) * value_at(t, values, image, k, y0, x0) + fx * value_at(t, values, image, k, y0, x1)) +
           fy * ((1 - fx) * value_at(t, values, image, k, y1, x0) + fx * value_at(t, values, image, k, y1, x1));
}

/* The class at a place of the map; `margin` says how far from any other it is: less than some 1e-4 may be either. */
static uint32_t class_at(const struct map_trial *t, const float *values, uint32_t image, double y, double x, double *margin) {
    double height = side_of(t, 0), width = side_of(t, 1), best = 0, second = -1e30;
    uint32_t class = 0, near_y = (uint32_t)fmin(y, height - 1), near_x = (uint32_t)fmin(x, width - 1);
    int nearest = t->rule.head == MORSEL_HEAD_INDICES || t->rule.flags & MORSEL_ANSWER_NEAREST;
    *margin = nearest ? fmin(fabs(y - rint(y)), fabs(x - rint(x))) : 1;
    if (t->rule.head == MORSEL_HEAD_INDICES) {
        double number = floor(value_at(t, values, image, 0, near_y, near_x) + 0.5);
        return number >= 0 && number < t->rule.classes ? (uint32_t)number : MORSEL_NO_CLASS;
    }
    for (uint32_t k = 0; k < t->rule.classes; k++) {
        double v = nearest ? value_at(t, values, image, k, near_y, near_x) : mean_at(t, values, image, k, y, x);
        if (k && !(v > best)) {
            second = fmax(second, v);
            continue;
        }
        if (k) second = best;
        best = v;
        class = k;
    }
    if (t->rule.classes > 1) {
        if (!nearest) *margin = best - second;
        return class;
    }
    double p = t->rule.flags & MORSEL_ANSWER_SIGMOID ? 1 / (1 + exp(-best)) : best;
    if (!nearest) *margin = fabs(p - (double)t->rule.threshold);
    return p >= (double)t->rule.threshold;
}

static int inside(const struct morsel_frame *f, uint32_t x, uint32_t y) {
    uint32_t width = f->region_width ? f->region_width : f->width - f->left,
             height = f->region_height ? f->region_height : f->height - f->top;
    return x >= f->left && x < f->left + width && y >= f->top && y < f->top + height;
}

static uint32_t unsure; /* pixels that may be either */

/* Returns pixels that are of a class and were compared; nothing is written behind the last one. */
static uint32_t try_frame(const struct map_network *n, const struct map_trial *t, const float *values, uint32_t image,
                          const struct morsel_frame *frame) {
    static uint8_t got[FRAME_MOST + 1];
    uint32_t compared = 0, pixels = frame->width * frame->height;
    assert_true(pixels <= FRAME_MOST);
    got[pixels] = 0xa5;
    assert_int_equal(morsel_segment(&n->session, frame, image, got, pixels), MORSEL_OK);
    assert_int_equal(got[pixels], 0xa5);
    for (uint32_t py = 0; py < frame->height; py++)
        for (uint32_t px = 0; px < frame->width; px++) {
            uint8_t class = got[py * frame->width + px];
            double x, y, margin;
            into_input(n, frame, px + 0.5, py + 0.5, &x, &y);
            double edge = fmin(fmin(fabs(x), fabs(PICTURE_WIDTH - x)), fmin(fabs(y), fabs(PICTURE_HEIGHT - y)));
            int seen = inside(frame, px, py) && x >= 0 && x < PICTURE_WIDTH && y >= 0 && y < PICTURE_HEIGHT;
            if (edge < 1e-3) {
                unsure++;
                continue;
            }
            if (!seen) {
                assert_int_equal(class, MORSEL_NO_CLASS);
                continue;
            }
            uint32_t wanted = class_at(t, values, image, y * side_of(t, 0) / PICTURE_HEIGHT, x * side_of(t, 1) / PICTURE_WIDTH, &margin);
            if (margin < 1e-4) {
                unsure++;
                continue;
            }
            if (class != wanted) fail_msg("pixel %u, %u: class %u, not %u", px, py, class, wanted);
            compared++;
        }
    return compared;
}

static void fill(const struct map_trial *t, float *values, uint32_t *state) {
    uint32_t count = t->dims[0] * t->dims[1] * t->dims[2] * (t->rank > 3 ? t->dims[3] : 1);
    for (uint32_t i = 0; i < count; i++) values[i] = (float)(3 * map_chance(state) - 1);
    if (t->rule.head == MORSEL_HEAD_INDICES)
        for (uint32_t i = 0; i < count; i++) values[i] = (float)floor(values[i] * 2.4);
}

static uint32_t try_trial(const struct map_trial *t, uint32_t seed) {
    static float values[2 * 9 * 64 * 64];
    struct map_network n;
    uint32_t state = seed, compared = 0;
    assert_int_equal(map_open(&n, t), MORSEL_OK);
    fill(t, values, &state);
    map_run(&n, values);
    for (uint32_t turn = 0; turn < 8; turn++) {
        struct morsel_frame frame = {.size = sizeof frame,
                                     .width = builder_between(&state, 1, 128),
                                     .height = builder_between(&state, 1, 128),
                                     .turn = turn % 4 * 90,
                                     .mirror = turn / 4};
        if (builder_random(&state) % 2 && frame.width > 9 && frame.height > 9) {
            frame.left = 3;
            frame.top = 4;
            frame.region_width = frame.width - 7;
            frame.region_height = frame.height - 5;
        }
        compared += try_frame(&n, t, values, turn % 2, &frame);
    }
    map_close(&n);
    return compared;
}

/* --- Shapes --------------------------------------------------------------------------------------------------------- */

static void pixels_have_the_class_of_the_best_score(void **state) {
    (void)state;
    uint32_t compared = 0;
    for (uint32_t way = 0; way < 48; way++) {
        struct map_trial t = trial_of(way % 2 ? 5 : 2, way % 3 ? 6 : 12, way % 4 ? 10 : 31, way / 2 % 2, way / 4 % 2);
        t.picture = map_picture(way % MAP_WAYS);
        t.type = way % 5 == 1 ? MORSEL_UINT8 : way % 5 == 2 ? MORSEL_INT8 : MORSEL_FLOAT32;
        if (way % 7 == 3) t.rule.flags |= MORSEL_ANSWER_NEAREST;
        compared += try_trial(&t, 1 + way);
    }
    assert_in_range(compared, 300000, 3000000);
    assert_true(unsure < compared / 100);
}

static void one_score_has_a_threshold(void **state) {
    (void)state;
    static const float thresholds[] = {0.25f, 0.5f, 0.9f};
    uint32_t compared = 0;
    for (uint32_t way = 0; way < 12; way++) {
        struct map_trial t = trial_of(1, 9, 13, 0, way % 2);
        t.rule.threshold = thresholds[way % 3];
        if (way % 4 > 1) t.rule.flags |= MORSEL_ANSWER_SIGMOID;
        if (way % 2 && way > 5) t.rank = 3;
        compared += try_trial(&t, 50 + way);
    }
    assert_in_range(compared, 50000, 1000000);
}

static void numbers_of_classes_are_taken_as_they_are(void **state) {
    (void)state;
    uint32_t compared = 0;
    for (uint32_t way = 0; way < 12; way++) {
        struct map_trial t = trial_of(1, 11, 17, way % 2, 0);
        t.rule.head = MORSEL_HEAD_INDICES;
        t.rule.classes = 3; /* the map has -3..4 */
        if (way % 3 == 1) t = trial_of(1, 11, 17, 0, 1), t.rank = 3, t.rule.head = MORSEL_HEAD_INDICES, t.rule.classes = 3;
        compared += try_trial(&t, 80 + way);
    }
    assert_in_range(compared, 50000, 1000000);
}

/* One pixel for each cell, and one cell for all pixels. */
static void without_a_frame_cells_stay(void **state) {
    (void)state;
    for (uint32_t way = 0; way < 8; way++) {
        struct map_trial t = trial_of(4, way % 2 ? 1 : 7, way % 2 ? 1 : 9, way / 2 % 2, way / 4);
        static float values[2 * 4 * 63];
        struct map_network n;
        uint8_t got[64];
        uint32_t random = 9 + way, height = side_of(&t, 0), width = side_of(&t, 1);
        double margin;
        t.with_picture = (int)(way % 2);
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        fill(&t, values, &random);
        map_run(&n, values);
        got[height * width] = 0xa5;
        assert_int_equal(morsel_segment(&n.session, NULL, 1, got, height * width), MORSEL_OK);
        assert_int_equal(got[height * width], 0xa5);
        t.rule.flags |= MORSEL_ANSWER_NEAREST;
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++) assert_int_equal(got[y * width + x], class_at(&t, values, 1, y + 0.5, x + 0.5, &margin));
        map_close(&n);
    }
}

/* --- What is no number ---------------------------------------------------------------------------------------------- */

static void any_bits_give_a_class_that_there_is(void **state) {
    (void)state;
    static const float extremes[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 0, -0.0f, 1e-45f, 4e9f, -1};
    uint32_t random = 3;
    for (uint32_t way = 0; way < 60; way++) {
        struct map_trial t = trial_of(way % 3 ? 3 : 1, 5, 7, 0, 0);
        static float values[2 * 3 * 35];
        static uint8_t got[50 * 40];
        struct map_network n;
        struct morsel_frame frame = {.size = sizeof frame, .width = 50, .height = 40};
        if (way % 3 == 0 && way % 2) t.rule.head = MORSEL_HEAD_INDICES, t.rule.classes = MORSEL_NO_CLASS;
        if (way % 4 == 1) t.rule.flags |= MORSEL_ANSWER_SIGMOID;
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            values[i] = builder_random(&random) % 3 ? (float)map_chance(&random) : extremes[builder_random(&random) % 10];
        map_run(&n, values);
        assert_int_equal(morsel_segment(&n.session, &frame, 0, got, sizeof got), MORSEL_OK);
        uint32_t most = t.rule.head == MORSEL_HEAD_INDICES ? 255 : t.rule.classes == 1 ? 1 : 2;
        for (size_t i = 0; i < sizeof got; i++) assert_true(got[i] <= most);
        map_close(&n);
    }
}

static void the_first_of_equal_scores_is_it(void **state) {
    (void)state;
    struct map_trial t = trial_of(3, 2, 2, 0, 0);
    float values[24] = {0};
    struct map_network n;
    uint8_t got[16 * 16];
    struct morsel_frame frame = {.size = sizeof frame, .width = 16, .height = 16};
    for (int k = 0; k < 4; k++) values[4 + k] = values[8 + k] = 0.5f;
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    map_run(&n, values);
    assert_int_equal(morsel_segment(&n.session, &frame, 0, got, sizeof got), MORSEL_OK);
    for (size_t i = 0; i < sizeof got; i++) assert_int_equal(got[i], 1);
    map_close(&n);
}

/* --- Errors ---------------------------------------------------------------------------------------------------------- */

static void errors_are_told_before_anything_is_written(void **state) {
    (void)state;
    struct map_trial t = trial_of(3, 6, 10, 0, 0);
    struct map_network n;
    struct morsel_session closed = {0};
    struct morsel_frame frame = {.size = sizeof frame, .width = 20, .height = 10}, sizeless = {.width = 20, .height = 10};
    uint8_t got[200];
    memset(got, 0xa5, sizeof got);
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_segment(NULL, &frame, 0, got, 200), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_segment(&closed, &frame, 0, got, 200), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_segment(&n.session, &frame, 0, NULL, 200), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_segment(&n.session, &frame, 2, got, 200), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_segment(&n.session, &frame, 0, got, 199), MORSEL_ERR_CAPACITY);
    assert_int_equal(morsel_segment(&n.session, NULL, 0, got, 59), MORSEL_ERR_CAPACITY);
    assert_int_equal(morsel_segment(&n.session, &sizeless, 0, got, 200), MORSEL_ERR_OPTIONS);
    map_close(&n);
    t.with_picture = 0;
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_segment(&n.session, &frame, 0, got, 200), MORSEL_ERR_PICTURE);
    map_close(&n);
    t.rule = (struct morsel_blob_answer){.kind = MORSEL_ANSWER_EMBEDDING, .most = 1};
    assert_int_equal(map_open(&n, &t), MORSEL_OK);
    assert_int_equal(morsel_segment(&n.session, &frame, 0, got, 200), MORSEL_ERR_ANSWER);
    map_close(&n);
    for (size_t i = 0; i < sizeof got; i++) assert_int_equal(got[i], 0xa5);
}

/* The widest sides and the most zoom that rules allow: a place is never far outside the map. */
static void the_longest_sides_are_walked(void **state) {
    (void)state;
    struct map_trial t = trial_of(2, 1, 2, 0, 0);
    struct map_network n;
    float values[8] = {0, 1, 1, 0};
    uint8_t *got = malloc(32768);
    assert_non_null(got);
    for (uint32_t way = 0; way < 16; way++) {
        uint32_t across = way % 2;
        struct morsel_frame frame = {.size = sizeof frame,
                                     .width = across ? 32768 : 1,
                                     .height = across ? 1 : 32768,
                                     .turn = way / 2 % 4 * 90};
        t.picture = map_picture(way / 8 ? 2 : 0);
        if (way / 8) t.picture.resize_height = t.picture.resize_width = 32768;
        assert_int_equal(map_open(&n, &t), MORSEL_OK);
        map_run(&n, values);
        enum morsel_error error = morsel_segment(&n.session, &frame, 0, got, 32768);
        assert_true(!error || error == MORSEL_ERR_PICTURE);
        for (uint32_t i = 0; !error && i < 32768; i++) assert_true(got[i] <= 1 || (got[i] == MORSEL_NO_CLASS && way / 8));
        if (!error && way == 1) assert_true(got[0] == 1 && got[32767] == 0 && got[16000] == 1 && got[16500] == 0);
        map_close(&n);
    }
    free(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_have_the_class_of_the_best_score),    cmocka_unit_test(one_score_has_a_threshold),
        cmocka_unit_test(numbers_of_classes_are_taken_as_they_are),   cmocka_unit_test(without_a_frame_cells_stay),
        cmocka_unit_test(any_bits_give_a_class_that_there_is),        cmocka_unit_test(the_first_of_equal_scores_is_it),
        cmocka_unit_test(errors_are_told_before_anything_is_written), cmocka_unit_test(the_longest_sides_are_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
