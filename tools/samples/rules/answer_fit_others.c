/* SPDX-License-Identifier: MIT */
/* Classes, vectors and maps beside a network. */
#include "tools/samples/rules/answer_fit.h"
#include "core/answer.h"
#include <stdio.h>

static const struct answer_output *output_of(const struct answer_fit *fit) {
    return &fit->network->outputs[fit->record.output];
}

static bool misfits(const struct answer_fit *fit, const char *wanted) {
    const struct answer_output *output = output_of(fit);
    char shape[128];
    return failure_set(fit->failure, STATUS_INPUT, "output %u '%.200s' is %s; %s", fit->record.output, output->name,
                       answer_fit_shape(output, shape, sizeof shape), wanted);
}

/* --- Maps --- */

static struct morsel_map_shape shape_of(const struct answer_fit *fit, uint32_t flags) {
    return morsel_map_shape(flags, output_of(fit)->rank, output_of(fit)->dims);
}

/* The first output of rank 4, where the rule names none; else of rank 3. */
static bool find_map(struct answer_fit *fit) {
    if (fit->rule->output) return answer_fit_output(fit, fit->rule->output, &fit->record.output);
    for (uint32_t rank = 4; rank >= 3; rank--)
        for (uint32_t i = 0; i < fit->network->output_count; i++) {
            if (fit->network->outputs[i].rank != rank) continue;
            fit->record.output = i;
            return true;
        }
    return true;
}

/* Where channels stand: as the rule says, else where there are as many as are wanted (0: any number), else first. */
static bool find_layout(struct answer_fit *fit, uint32_t channels, const char *what) {
    const struct answer_output *output = output_of(fit);
    const struct morsel_map_shape first = shape_of(fit, MORSEL_ANSWER_COLUMNS), last = shape_of(fit, 0);
    char text[160];
    bool may_be_first = output->rank == 4 && fit->rule->layout != 2, may_be_last = output->rank != 4 || fit->rule->layout != 1;
    bool fits_first = may_be_first && (!channels || first.channels == channels);
    bool fits_last = may_be_last && last.images && (!channels || last.channels == channels);
    if (channels)
        snprintf(text, sizeof text, "%s wants [images, %u, height, width] or [images, height, width, %u]", what, channels, channels);
    else snprintf(text, sizeof text, "%s wants [images, channels, height, width] or [images, height, width, channels]", what);
    if (!fits_first && !fits_last) return misfits(fit, text);
    if (fits_first) fit->record.flags |= MORSEL_ANSWER_COLUMNS;
    const struct morsel_map_shape shape = fits_first ? first : last;
    snprintf(text, sizeof text, "%s wants height and width of at most %u", what, MORSEL_ANSWER_MAP_SIDE);
    return (shape.height <= MORSEL_ANSWER_MAP_SIDE && shape.width <= MORSEL_ANSWER_MAP_SIDE) || misfits(fit, text);
}

static bool fit_segmentation(struct answer_fit *fit) {
    struct morsel_blob_answer *r = &fit->record;
    const uint32_t labels = fit->network->label_count, stated = fit->rule->record.classes;
    const bool indices = r->head == MORSEL_HEAD_INDICES;
    char text[64];
    snprintf(text, sizeof text, "a segmentation by %s", fit->rule->head);
    if (!find_map(fit)) return false;
    uint32_t channels = indices ? 1 : stated;
    if (!channels && output_of(fit)->rank == 4 && shape_of(fit, 0).channels == labels) channels = labels;
    if (!find_layout(fit, channels, text)) return false;
    if (!indices) r->classes = shape_of(fit, r->flags).channels;
    else if (!stated) r->classes = labels && labels < MORSEL_NO_CLASS ? labels : MORSEL_NO_CLASS;
    if (r->classes > MORSEL_NO_CLASS) return misfits(fit, "a segmentation has 255 classes at most");
    if (r->classes == 1 && !indices) r->flags |= MORSEL_ANSWER_BACKGROUND; /* class 0 is what is below the threshold */
    else if (fit->rule->by_threshold)
        return misfits(fit, "\"threshold\" and \"activation\" are for one score a pixel: of several the largest counts");
    return answer_fit_labels(fit, r->output, "classes", r->classes == 1 && !indices ? 2 : r->classes);
}

/* --- Points --- */

/* Pixels of the input for each cell, where that takes pictures. */
static bool fit_heatmaps(struct answer_fit *fit) {
    struct morsel_blob_answer *r = &fit->record;
    const uint32_t labels = fit->network->label_count;
    uint32_t channels = fit->rule->record.classes;
    if (!find_map(fit)) return false;
    if (output_of(fit)->rank != 4)
        return misfits(fit, "head heatmaps wants [images, channels, height, width] or [images, height, width, channels]");
    if (!channels && shape_of(fit, 0).channels == labels) channels = labels;
    if (!find_layout(fit, channels, "head heatmaps")) return false;
    const struct morsel_map_shape shape = shape_of(fit, r->flags);
    r->classes = shape.channels;
    if (!fit->network->width) return true;
    r->scale[0] = (float)fit->network->width / (float)shape.width;
    r->scale[1] = (float)fit->network->height / (float)shape.height;
    return true;
}

/* How many points there are, in rows or in columns of numbers, or in one line. */
static uint32_t points_in(const struct answer_fit *fit, uint32_t flags) {
    const struct answer_output *output = output_of(fit);
    const uint32_t stated = fit->rule->record.classes, labels = fit->network->label_count;
    if (output->rank > 2) return output->dims[output->rank - (flags ? 1 : 2)];
    if (output->rank < 2) return 0;
    const uint32_t line = output->dims[1], of_labels = labels && (line == 2 * labels || line == 3 * labels) ? labels : 0;
    return stated ? stated : fit->rule->numbers ? line / fit->rule->numbers : of_labels ? of_labels : line / 2;
}

static bool fit_coordinates(struct answer_fit *fit) {
    struct morsel_blob_answer *r = &fit->record;
    const uint32_t stated = fit->rule->record.classes, numbers = fit->rule->numbers;
    if (fit->rule->output && !answer_fit_output(fit, fit->rule->output, &r->output)) return false;
    const struct answer_output *output = output_of(fit);
    for (uint32_t flags = 0; flags <= MORSEL_ANSWER_COLUMNS; flags++) {
        const uint32_t points = points_in(fit, flags);
        const struct morsel_points_shape shape = morsel_points_shape(flags, points, output->rank, output->dims);
        if (!shape.images || (stated && points != stated) || (numbers && shape.parts != numbers)) continue;
        r->classes = points;
        r->flags |= flags;
        return true;
    }
    char text[128];
    snprintf(text, sizeof text, "head coordinates wants [images, points, 2 or 3], [images, 2 or 3, points] or [images, points * numbers]");
    return misfits(fit, text);
}

static bool fit_points(struct answer_fit *fit) {
    if (!(fit->record.head == MORSEL_HEAD_HEATMAPS ? fit_heatmaps : fit_coordinates)(fit)) return false;
    if (fit->rule->unit && !answer_fit_unit(fit)) return false;
    return answer_fit_labels(fit, fit->record.output, "points", fit->record.classes);
}

/* --- Classes, a vector --- */

static bool fit_classes(const struct answer_fit *fit) {
    const struct answer_output *output = output_of(fit);
    if (fit->record.output)
        return failure_set(fit->failure, STATUS_INPUT, "classes are told of the first output: make it '%.200s' by --output-node",
                           output->name);
    return morsel_classes_images(output->rank, output->dims) || misfits(fit, "classes are [images, classes], and all behind is 1");
}

bool answer_fit_others(struct answer_fit *fit) {
    if (fit->record.kind == MORSEL_ANSWER_SEGMENTATION) return fit_segmentation(fit);
    if (fit->record.kind == MORSEL_ANSWER_POINTS) return fit_points(fit);
    if (fit->rule->output && !answer_fit_output(fit, fit->rule->output, &fit->record.output)) return false;
    if (fit->record.kind == MORSEL_ANSWER_CLASSES) return fit_classes(fit);
    const struct answer_output *output = output_of(fit);
    return morsel_embedding_images(output->rank, output->dims) || misfits(fit, "an embedding has one dimension at least");
}
