/* SPDX-License-Identifier: MIT */
/* morsel_detect(): heads and suppression against a reference that knows all candidates at once. */
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

/* --- The reference -------------------------------------------------------------------------------------------------- */

static double iou_of(const struct morsel_box *a, const struct morsel_box *b) {
    double w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0), h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0);
    if (w <= 0 || h <= 0) return 0;
    double first = ((double)a->x1 - a->x0) * ((double)a->y1 - a->y0), second = ((double)b->x1 - b->x0) * ((double)b->y1 - b->y0);
    return w * h / (first + second - w * h);
}

/* The numbers of a candidate side by side: boxes, then scores. */
static void line_of(const struct trial *t, const float *values, uint32_t parts, uint32_t image, uint32_t i, double *line) {
    for (uint32_t k = 0; k < parts; k++) {
        size_t at = t->rule.flags & MORSEL_ANSWER_COLUMNS ? (size_t)k * t->candidates + i : (size_t)i * parts + k;
        line[k] = (double)values[(size_t)image * parts * t->candidates + at];
    }
}

static double activated(const struct trial *t, const double *scores, uint32_t k) {
    double sum = 0;
    if (t->rule.flags & MORSEL_ANSWER_SIGMOID) return 1 / (1 + exp(-scores[k]));
    if (!(t->rule.flags & MORSEL_ANSWER_SOFTMAX)) return scores[k];
    for (uint32_t c = 0; c < t->rule.classes; c++) sum += exp(scores[c] - scores[k]);
    return 1 / sum;
}

static struct morsel_box decode(const struct trial *t, const double *line, const double *scores, uint32_t i) {
    const struct morsel_blob_answer *r = &t->rule;
    struct morsel_box box = {.candidate = i};
    double p = 0, xywh[4];
    if (r->head == MORSEL_HEAD_YOLOV10) {
        box.index = (uint32_t)lrint(line[5]);
        p = line[4];
    } else {
        const double *s = scores ? scores : line + (r->head == MORSEL_HEAD_YOLOV5 ? 5 : 4);
        uint32_t background = (r->flags & MORSEL_ANSWER_BACKGROUND) != 0;
        box.index = background;
        for (uint32_t k = background; k < r->classes; k++)
            if (s[k] > s[box.index]) box.index = k;
        p = activated(t, s, box.index);
        if (r->head == MORSEL_HEAD_YOLOV5) p *= r->flags & MORSEL_ANSWER_SIGMOID ? 1 / (1 + exp(-line[4])) : line[4];
    }
    memcpy(xywh, line, sizeof xywh);
    int turned = (r->flags & MORSEL_ANSWER_Y_FIRST) != 0, centred = r->head <= MORSEL_HEAD_YOLOV8;
    for (int k = 0; t->anchors && k < 2; k++) {
        const float *a = t->anchors + 4 * i;
        double unit = (double)r->variance[0] * (double)a[k + 2];
        centred = !(r->flags & MORSEL_ANSWER_DISTANCES);
        xywh[k] = (double)a[k] + (centred ? line[k] : -line[k]) * unit;
        xywh[k + 2] = centred ? (double)a[k + 2] * exp(line[k + 2] * (double)r->variance[1]) : (double)a[k] + line[k + 2] * unit;
    }
    double corner[4] = {xywh[0], xywh[1], xywh[2], xywh[3]};
    for (int k = 0; centred && k < 2; k++) {
        corner[k] = xywh[k] - xywh[k + 2] / 2;
        corner[k + 2] = xywh[k] + xywh[k + 2] / 2;
    }
    box.x0 = (float)(corner[turned] * (double)r->scale[0]);
    box.y0 = (float)(corner[!turned] * (double)r->scale[1]);
    box.x1 = (float)(corner[2 + turned] * (double)r->scale[0]);
    box.y1 = (float)(corner[2 + !turned] * (double)r->scale[1]);
    box.p = (float)p;
    return box;
}

static uint32_t reference(const struct trial *t, const float *first, const float *second, uint32_t image, struct morsel_box *out) {
    struct morsel_box *all = calloc(t->candidates, sizeof *all);
    double line[64], scores[64];
    uint32_t count = 0, kept = 0;
    assert_non_null(all);
    for (uint32_t i = 0; i < t->candidates; i++) {
        line_of(t, first, t->parts, image, i, line);
        if (second) line_of(t, second, t->scores, image, i, scores);
        struct morsel_box box = decode(t, line, second ? scores : NULL, i);
        if (box.p >= t->rule.threshold && box.x0 < box.x1 && box.y0 < box.y1) all[count++] = box;
    }
    qsort(all, count, sizeof *all, by_p);
    for (uint32_t i = 0; i < count && kept < t->rule.most; i++) {
        int free_of = 1;
        for (uint32_t k = 0; k < kept; k++)
            if (out[k].index == all[i].index && iou_of(&out[k], &all[i]) > (double)t->rule.iou) free_of = 0;
        if (free_of) out[kept++] = all[i];
    }
    free(all);
    return kept;
}

/* --- Heads ---------------------------------------------------------------------------------------------------------- */

static void compare(const struct morsel_box *got, uint32_t count, const struct morsel_box *wanted, uint32_t wanted_count) {
    for (uint32_t i = 0; i < count && i < wanted_count; i++) {
        assert_int_equal(got[i].candidate, wanted[i].candidate);
        assert_int_equal(got[i].index, wanted[i].index);
        assert_float_equal(got[i].p, wanted[i].p, 1e-5);
        assert_float_equal(got[i].x0, wanted[i].x0, 1e-4);
        assert_float_equal(got[i].y0, wanted[i].y0, 1e-4);
        assert_float_equal(got[i].x1, wanted[i].x1, 1e-4);
        assert_float_equal(got[i].y1, wanted[i].y1, 1e-4);
    }
    assert_int_equal(count, wanted_count);
}

/* What comes out for any room is the front of what the reference has; nothing is written behind the room. Returns how many. */
static uint32_t try_rooms(struct detector *d, const struct trial *t, const float *first, const float *second) {
    static const uint32_t rooms[] = {1, 2, 3, 7, 30, 60, BOXES_MOST};
    static struct morsel_box wanted[BOXES_MOST], got[BOXES_MOST + 1];
    uint32_t all = 0;
    for (uint32_t image = 0; image < t->images; image++) {
        uint32_t full = reference(t, first, second, image, wanted);
        for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++) {
            uint32_t count = 77;
            memset(got, 0xa5, sizeof got);
            assert_int_equal(morsel_detect(&d->session, NULL, image, got, rooms[r], &count), MORSEL_OK);
            compare(got, count, wanted, full < rooms[r] ? full : rooms[r]);
            assert_int_equal(((uint8_t *)&got[rooms[r]])[0], 0xa5);
        }
        all += full;
    }
    return all;
}

/* As the network has them: a byte stands for the nearest of its 256 values. */
static float *outputs_of(struct detector *d, uint32_t index) {
    struct morsel_view view;
    assert_int_equal(morsel_output(&d->session, index, &view), MORSEL_OK);
    float *values = malloc(4 * (size_t)morsel_view_elements(&view));
    assert_non_null(values);
    assert_int_equal(morsel_dequantize(&view, values, morsel_view_elements(&view)), MORSEL_OK);
    return values;
}

static uint32_t try_head(const struct trial *t, uint32_t seed) {
    struct detector d;
    uint32_t state = seed, front = t->rule.head == MORSEL_HEAD_YOLOV5 ? 4 : t->scores ? 9 : 4;
    size_t count = (size_t)t->images * t->candidates;
    float *first = malloc(4 * count * t->parts), *second = t->scores ? malloc(4 * count * t->scores) : NULL;
    assert_non_null(first);
    fill(t, t->parts, front, first, &state);
    if (second) fill(t, t->scores, 0, second, &state);
    detector_open(&d, t);
    detector_run(&d, first, second);
    float *y0 = outputs_of(&d, 0), *y1 = second ? outputs_of(&d, 1) : NULL;
    uint32_t found = try_rooms(&d, t, y0, y1);
    free(y0);
    free(y1);
    free(first);
    free(second);
    detector_close(&d);
    return found;
}

static void heads_are_decoded(void **state) {
    (void)state;
    static const uint32_t activations[] = {0, MORSEL_ANSWER_SIGMOID, MORSEL_ANSWER_SOFTMAX};
    uint32_t tried = 0;
    for (uint32_t head = MORSEL_HEAD_YOLOV5; head <= MORSEL_HEAD_SSD; head++)
        for (uint32_t a = 0; a < 3; a++)
            for (uint32_t more = 0; more < 8; more++) {
                uint32_t flags = activations[a] | (more & 1 ? MORSEL_ANSWER_COLUMNS : 0) | (more & 2 ? MORSEL_ANSWER_BACKGROUND : 0) |
                                 (more & 4 ? MORSEL_ANSWER_Y_FIRST : 0);
                int may_be_apart = head == MORSEL_HEAD_YOLOV8 || head == MORSEL_HEAD_SSD;
                if (head == MORSEL_HEAD_YOLOV10 && (a || more & 2)) continue;
                if (head == MORSEL_HEAD_YOLOV5 && a == 2) continue;
                for (int apart = 0; apart <= may_be_apart; apart++, tried++) {
                    struct trial t = trial_of(head, flags, 4, apart);
                    assert_in_range(try_head(&t, 1 + tried), 5, 60);
                }
            }
    assert_int_equal(tried, 4 + 16 + 48 + 48);
}

static void anchors_move_and_grow(void **state) {
    (void)state;
    float anchors[4 * 150];
    uint32_t random = 5;
    for (uint32_t i = 0; i < 4 * 150; i++) anchors[i] = (float)(i % 4 < 2 ? chance(&random) : 0.05 + 0.3 * chance(&random));
    for (uint32_t flags = 0; flags <= MORSEL_ANSWER_Y_FIRST; flags += MORSEL_ANSWER_Y_FIRST) {
        struct trial t = trial_of(MORSEL_HEAD_SSD, flags | MORSEL_ANSWER_SOFTMAX | MORSEL_ANSWER_BACKGROUND, 4, 1);
        t.anchors = anchors;
        t.rule.anchors = t.candidates;
        assert_in_range(try_head(&t, 99), 5, 60);
        t = trial_of(MORSEL_HEAD_YOLOV5, flags, 4, 0); /* as YOLOX has them: cells */
        t.anchors = anchors;
        t.rule.anchors = t.candidates;
        t.rule.variance[0] = t.rule.variance[1] = 1;
        assert_in_range(try_head(&t, 99), 5, 60);
        t = trial_of(MORSEL_HEAD_SSD, flags | MORSEL_ANSWER_DISTANCES, 4, 1); /* as SCRFD has them */
        t.anchors = anchors;
        t.rule.anchors = t.candidates;
        t.rule.variance[0] = 0.75f;
        assert_in_range(try_head(&t, 99), 5, 60);
    }
}

static void bytes_layouts_and_batches_are_all_the_same(void **state) {
    (void)state;
    for (uint32_t type = MORSEL_UINT8; type <= MORSEL_FLOAT32; type++)
        for (int last = 0; last < 2; last++)
            for (uint32_t columns = 0; columns < 2; columns++) {
                if (type == MORSEL_INT32) continue;
                struct trial t = trial_of(MORSEL_HEAD_YOLOV8, columns ? MORSEL_ANSWER_COLUMNS : 0, 3, 0);
                t.type = (enum morsel_type)type;
                t.channels_last = last;
                t.images = 3;
                assert_in_range(try_head(&t, 7), 15, 180);
                t.rule.head = MORSEL_HEAD_YOLOV10; /* whose classes are numbers: as a byte has them, not quite whole */
                t.parts = 6;
                assert_in_range(try_head(&t, 8), 15, 180);
            }
}

static void thresholds_and_counts_are_the_rules(void **state) {
    (void)state;
    static const float ious[] = {0, 0.2f, 0.7f, 1};
    uint32_t before = 0;
    for (int k = 0; k < 4; k++) {
        struct trial t = trial_of(MORSEL_HEAD_YOLOV8, 0, 2, 0);
        t.rule.iou = ious[k];
        t.rule.most = 400;
        uint32_t found = try_head(&t, 3);
        assert_true(found > before);
        before = found;
    }
    struct trial t = trial_of(MORSEL_HEAD_YOLOV8, 0, 2, 0);
    t.rule.most = 4;
    assert_int_equal(try_head(&t, 3), 4);
    t.rule.threshold = 1;
    assert_int_equal(try_head(&t, 3), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_decoded),
        cmocka_unit_test(anchors_move_and_grow),
        cmocka_unit_test(bytes_layouts_and_batches_are_all_the_same),
        cmocka_unit_test(thresholds_and_counts_are_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
