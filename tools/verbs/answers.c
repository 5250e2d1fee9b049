/* SPDX-License-Identifier: MIT */
/* Reads outputs as the answer rule says: classes, boxes, a vector. */
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

static bool is_vector(const struct network *network) {
    return network->answer && network->answer->kind == MORSEL_ANSWER_EMBEDDING;
}

/* The output that is read as floats. */
static uint32_t output_of(const struct network *network) {
    return is_vector(network) ? network->answer->output : 0;
}

bool answers_open(struct answers *answers, const struct network *network, struct results *results, uint32_t top, struct failure *failure) {
    const struct network_tensor *output = &network->outputs[output_of(network)];
    const bool classes = network->answer && network->answer->kind == MORSEL_ANSWER_CLASSES;
    if (is_vector(network) && output->type != NPY_FLOAT32)
        return failure_set(failure, STATUS_INPUT, "output '%s' is of %s, and an embedding of float32", output->name,
                           npy_type_name(output->type));
    answers->network = network;
    answers->images = network_images(network);
    answers->sides = must_calloc(answers->images, 2 * sizeof *answers->sides);
    answers->values = must_calloc(output->count, sizeof *answers->values);
    results->network = network;
    results->probabilities = network->probabilities;
    results->threshold = classes ? network->answer->threshold : 0;
    results->top = top ? top : classes ? network->answer->most : 5;
    if (results->top > RESULTS_TOP_MOST) results->top = RESULTS_TOP_MOST;
    if (!scores_are_classes(output) && !classes) results->top = 0;
    if (!network_detects(network)) return true;
    answers->room = answers_room(network);
    answers->boxes = must_calloc(answers->room, sizeof *answers->boxes);
    results->top = top ? top : answers->room;
    return true;
}

bool answers_read(struct answers *answers, const struct network_run *run, struct failure *failure) {
    if (network_detects(answers->network)) return true;
    return is_vector(answers->network) ? network_get(run, answers->network->answer->output, answers->values, failure)
                                       : network_scores(run, answers->values, failure);
}

bool answers_find(const struct network_run *run, uint32_t image, const uint32_t *sides, struct morsel_box *boxes, uint32_t room,
                  uint32_t *count, struct failure *failure) {
    const struct network_boxes found = {image, sides[0], sides[1], boxes, room, count};
    return network_detect(run, &found, failure);
}

bool answers_add(struct answers *answers, const struct network_run *run, struct results *results, const struct result *of,
                 struct failure *failure) {
    const struct network *network = answers->network;
    const uint32_t image = of->image % answers->images;
    const size_t count = network->outputs[output_of(network)].count / answers->images;
    uint32_t found = 0;
    if (network_detects(network)) {
        if (!answers_find(run, image, answers->sides + 2 * image, answers->boxes, answers->room, &found, failure)) return false;
        results_add_boxes(results, of->file, of->image, of->numbered, answers->boxes, found < results->top ? found : results->top, of->ms);
    } else if (is_vector(network)) {
        results_add_vector(results, of->file, of->image, of->numbered, answers->values + image * count, count, of->ms);
    } else {
        results_add(results, of->file, of->image, of->numbered, answers->values + image * count, count, of->ms);
    }
    return true;
}

void answers_free(struct answers *answers) {
    free(answers->sides);
    free(answers->values);
    free(answers->boxes);
}

/* The worst first, so that the best lies on top. */
bool answers_draw(const struct results *results, const char *picture, const char *path, struct failure *failure) {
    const struct result *result = &results->list[0];
    struct image image;
    if (!image_read(picture, &image, failure)) return false;
    for (uint32_t i = result->box_count; i--;) {
        const struct morsel_box *box = &result->boxes[i];
        const char *label = network_label(results->network, box->index);
        char text[64], number[24];
        snprintf(number, sizeof number, "class %u", box->index);
        snprintf(text, sizeof text, "%.40s %.2f", label ? label : number, (double)box->p);
        draw_box(&image, box->x0, box->y0, box->x1, box->y1, box->index, text);
    }
    bool good = draw_write(path, &image, failure);
    image_free(&image);
    return good;
}
