/* SPDX-License-Identifier: MIT */
/* Reads outputs as the answer rule says: classes, boxes, pixels, a vector. */
#include "tools/verbs/answers.h"
#include "core/answer.h"
#include "tools/base/arena.h"
#include "tools/network/scores.h"
#include "tools/samples/image/draw.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROOM_LEAST = 1024 };

uint32_t answers_room(const struct network *network) {
    return network->answer->most > ROOM_LEAST ? network->answer->most : ROOM_LEAST;
}

static void choose_top(const struct answers *answers, struct results *results, uint32_t top) {
    const struct network *network = answers->network;
    const bool classes = answers->kind == MORSEL_ANSWER_CLASSES;
    results->top = top ? top : classes ? network->answer->most : 5;
    if (results->top > RESULTS_TOP_MOST) results->top = RESULTS_TOP_MOST;
    if (!scores_are_classes(&network->outputs[0]) && !classes) results->top = 0;
    if (answers->kind == MORSEL_ANSWER_DETECTIONS) results->top = top ? top : answers->room;
    if (answers->kind == MORSEL_ANSWER_SEGMENTATION) results->top = top;
}

void answers_open(struct answers *answers, const struct network *network, struct results *results, uint32_t top) {
    answers->network = network;
    answers->kind = found_kind(network);
    answers->images = network_images(network);
    answers->sides = must_calloc(answers->images, 2 * sizeof *answers->sides);
    const size_t values = answers->kind == MORSEL_ANSWER_EMBEDDING ? found_width(network) : network->outputs[0].count;
    answers->values = must_calloc(values, sizeof *answers->values);
    results->network = network;
    results->probabilities = network->probabilities;
    if (answers->kind == MORSEL_ANSWER_DETECTIONS) {
        answers->room = answers_room(network);
        answers->boxes = must_calloc(answers->room, sizeof *answers->boxes);
    }
    if (answers->kind == MORSEL_ANSWER_POINTS) answers->points = must_calloc(network->answer->classes, sizeof *answers->points);
    choose_top(answers, results, top);
    if (answers->kind == MORSEL_ANSWER_CLASSES) answers->classes = must_calloc(results->top, sizeof *answers->classes);
    results->p = results->probabilities ? "the network's softmax" : "softmax over the scores";
    if (answers->kind == MORSEL_ANSWER_CLASSES && network->answer->flags & MORSEL_ANSWER_SIGMOID) {
        results->p = "sigmoid of the scores";
        results->probabilities = false;
    }
}

bool answers_read(struct answers *answers, const struct network_run *run, struct failure *failure) {
    return answers->kind != MORSEL_ANSWER_NONE || network_scores(run, answers->values, failure);
}

static bool add_boxes(struct answers *answers, const struct network_run *run, const struct found_in *in, struct results *results,
                      const struct result *of, struct failure *failure) {
    uint32_t found = 0;
    if (!found_boxes(run, in, answers->boxes, answers->room, &found, failure)) return false;
    results_add_boxes(results, of, answers->boxes, found < results->top ? found : results->top);
    return true;
}

static bool add_classes(struct answers *answers, const struct network_run *run, const struct found_in *in, struct results *results,
                        const struct result *of, struct failure *failure) {
    uint32_t found = 0;
    if (!found_classes(run, in->image, results->top, answers->classes, &found, failure)) return false;
    results_add_classes(results, of, answers->classes, found);
    return true;
}

static bool add_points(struct answers *answers, const struct network_run *run, const struct found_in *in, struct results *results,
                       const struct result *of, struct failure *failure) {
    uint32_t found = 0;
    if (!found_points(run, in, answers->points, &found, failure)) return false;
    results_add_points(results, of, answers->points, found);
    return true;
}

static bool add_vector(struct answers *answers, const struct network_run *run, const struct found_in *in, struct results *results,
                       const struct result *of, struct failure *failure) {
    if (!found_vector(run, in->image, answers->values, failure)) return false;
    results_add_vector(results, of, answers->values, found_width(answers->network));
    return true;
}

static bool add_pixels(struct answers *answers, const struct network_run *run, const struct found_in *in, struct results *results,
                       const struct result *of, struct failure *failure) {
    uint32_t width, height;
    found_map_sides(answers->network, in, &width, &height);
    const size_t pixels = (size_t)width * height;
    if (pixels > answers->pixel_room) {
        free(answers->pixels);
        answers->pixels = must_calloc(pixels, 1);
        answers->pixel_room = pixels;
    }
    if (!found_classes_of_pixels(run, in, answers->pixels, pixels, failure)) return false;
    results_add_pixels(results, of, answers->pixels, width, height);
    return true;
}

bool answers_add(struct answers *answers, const struct network_run *run, struct results *results, const struct result *of,
                 struct failure *failure) {
    const uint32_t image = of->image % answers->images, *sides = answers->sides + 2 * (size_t)image;
    const size_t count = answers->network->outputs[0].count / answers->images;
    const struct found_in in = {image, sides[0], sides[1]};
    if (answers->kind == MORSEL_ANSWER_DETECTIONS) return add_boxes(answers, run, &in, results, of, failure);
    if (answers->kind == MORSEL_ANSWER_CLASSES) return add_classes(answers, run, &in, results, of, failure);
    if (answers->kind == MORSEL_ANSWER_POINTS) return add_points(answers, run, &in, results, of, failure);
    if (answers->kind == MORSEL_ANSWER_SEGMENTATION) return add_pixels(answers, run, &in, results, of, failure);
    if (answers->kind == MORSEL_ANSWER_EMBEDDING) return add_vector(answers, run, &in, results, of, failure);
    results_add(results, of, answers->values + image * count, count);
    return true;
}

void answers_free(struct answers *answers) {
    free(answers->sides);
    free(answers->values);
    free(answers->boxes);
    free(answers->points);
    free(answers->classes);
    free(answers->pixels);
}

/* --- A picture of them --- */

/* "cat 0.93", or "class 7 0.93". */
static const char *name_of(const struct results *results, uint32_t class, double number, char *text, size_t size) {
    const char *label = network_label(results->network, class);
    char other[24];
    snprintf(other, sizeof other, "class %u", class);
    snprintf(text, size, "%.40s %.2f", label ? label : other, number);
    return text;
}

/* The worst first, so that the best lies on top. */
static void draw_boxes(const struct results *results, const struct result *result, struct image *image) {
    char text[64];
    for (uint32_t i = result->box_count; i--;) {
        const struct morsel_box *box = &result->boxes[i];
        draw_box(image, box->x0, box->y0, box->x1, box->y1, box->index, name_of(results, box->index, (double)box->p, text, sizeof text));
    }
}

/* And which colour is which class, but for one that stands for nothing. */
static void draw_pixels(const struct answers *answers, const struct results *results, const struct result *result, struct image *image) {
    const bool background = answers->network->answer->flags & MORSEL_ANSWER_BACKGROUND;
    uint32_t line = 0;
    char text[64];
    draw_classes(image, answers->pixels, MORSEL_NO_CLASS - 1, background ? 0 : MORSEL_NO_CLASS);
    for (uint32_t i = 0; i < result->share_count; i++) {
        const uint32_t class = result->shares[i].index;
        if (background && !class) continue;
        draw_line(image, line++, class, name_of(results, class, results_share(result, i), text, sizeof text));
    }
}

static void draw_points(const struct results *results, const struct result *result, struct image *image) {
    for (uint32_t i = 0; i < result->point_count; i++) {
        const struct morsel_point *point = &result->points[i];
        const char *label = network_label(results->network, point->index);
        char number[16];
        snprintf(number, sizeof number, "%u", point->index);
        draw_point(image, point->x, point->y, point->index, label ? label : number);
    }
}

bool answers_can_draw(const struct answers *answers) {
    return answers->kind == MORSEL_ANSWER_DETECTIONS || answers->kind == MORSEL_ANSWER_SEGMENTATION ||
           answers->kind == MORSEL_ANSWER_POINTS;
}

void answers_draw(const struct answers *answers, const struct results *results, struct image *image) {
    const struct result *result = &results->list[results->count - 1];
    if (result->boxes) draw_boxes(results, result, image);
    if (result->points) draw_points(results, result, image);
    if (result->shares) draw_pixels(answers, results, result, image);
}

uint8_t *answers_pack_mask(const struct answers *answers, const struct results *results, size_t *size, struct failure *failure) {
    const struct result *result = &results->list[0];
    return npy_pack(NPY_UINT8, (uint64_t[]){result->height, result->width}, 2, answers->pixels, size, failure);
}
