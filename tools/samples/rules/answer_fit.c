/* SPDX-License-Identifier: MIT */
/* An answer rule beside a network: which outputs it speaks of, and whether their shapes are those of the head. */
#include "tools/samples/rules/answer_fit.h"
#include "core/answer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *answer_fit_shape(const struct answer_output *output, char *text, size_t size) {
    size_t at = 0;
    *text = 0;
    for (uint32_t k = 0; k < output->rank && at < size; k++)
        at += (size_t)snprintf(text + at, size - at, "%s%u", k ? ", " : "[", output->dims[k]);
    if (at < size) snprintf(text + at, size - at, output->rank ? "]" : "[]");
    return text;
}

bool answer_fit_output(const struct answer_fit *fit, const char *name, uint32_t *index) {
    char *end;
    for (uint32_t i = 0; i < fit->network->output_count; i++)
        if (!strcmp(fit->network->outputs[i].name, name)) {
            *index = i;
            return true;
        }
    unsigned long number = strtoul(name, &end, 10);
    *index = (uint32_t)number;
    if (*name && !*end && number < fit->network->output_count) return true;
    char list[512] = "";
    for (uint32_t i = 0; i < fit->network->output_count && strlen(list) < 400; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%u: '%.60s'", i ? ", " : "", i, fit->network->outputs[i].name);
    }
    return failure_set(fit->failure, STATUS_INPUT, "the network has no output '%.200s'; its outputs are %s", name, list);
}

bool answer_fit_labels(const struct answer_fit *fit, uint32_t output, const char *what, uint32_t most) {
    const uint32_t labels = fit->network->label_count;
    const struct answer_output *of = &fit->network->outputs[output];
    char shape[128];
    return labels <= most ||
           failure_set(fit->failure, STATUS_INPUT, "there are %u labels, and output %u has %s of %u: '%.200s' is %s, for head %s", labels,
                       output, what, most, of->name, answer_fit_shape(of, shape, sizeof shape), fit->rule->head);
}

/* What an output has to be, in words. */
static const char *wants(const struct answer_fit *fit, bool apart, char *text, size_t size) {
    uint32_t front = morsel_answer_front(&fit->record), stated = fit->rule->record.classes;
    char numbers[32];
    if (apart || fit->record.head == MORSEL_HEAD_YOLOV10) snprintf(numbers, sizeof numbers, "%d", apart ? 4 : 6);
    else if (stated) snprintf(numbers, sizeof numbers, "%u + %u", front, stated);
    else snprintf(numbers, sizeof numbers, "%u + classes", front);
    snprintf(text, size, "[images, candidates, %s] or [images, %s, candidates]", numbers, numbers);
    return text;
}

static bool misfits(const struct answer_fit *fit, uint32_t index, const char *wanted) {
    const struct answer_output *output = &fit->network->outputs[index];
    char shape[128];
    return failure_set(fit->failure, STATUS_INPUT, "output %u '%.200s' is %s; head %s wants %s", index, output->name,
                       answer_fit_shape(output, shape, sizeof shape), fit->rule->head, wanted);
}

static struct morsel_answer_shape shape_of(const struct answer_fit *fit, uint32_t index, uint32_t flags) {
    const struct answer_output *output = &fit->network->outputs[index];
    return morsel_answer_shape(flags, output->rank, output->dims);
}

/* Whether two outputs have as many candidates, and the first has four numbers of each. */
static bool is_pair(const struct answer_fit *fit, uint32_t boxes, uint32_t scores, uint32_t flags) {
    struct morsel_answer_shape b = shape_of(fit, boxes, flags), s = shape_of(fit, scores, flags);
    return boxes != scores && b.images && b.parts == 4 && s.images == b.images && s.candidates == b.candidates;
}

/* Corners and scores of all candidates, where selection_cut() took away what chooses. */
static bool is_unsorted(const struct answer_fit *fit) {
    return fit->record.head == MORSEL_HEAD_YOLOV10 && !fit->rule->output && !fit->rule->scores && fit->network->output_count > 1 &&
           is_pair(fit, 0, 1, 0);
}

/* Boxes and scores in outputs of their own, where the rule names neither. */
static bool find_pair(struct answer_fit *fit) {
    uint32_t count = fit->network->output_count;
    for (uint32_t columns = 0; columns <= MORSEL_ANSWER_COLUMNS; columns++)
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < count; k++) {
                if (!is_pair(fit, i, k, columns)) continue;
                fit->record.output = i;
                fit->record.scores = k;
                return true;
            }
    return false;
}

static bool find_outputs(struct answer_fit *fit) {
    const struct answer_rule *rule = fit->rule;
    bool may_be_two = fit->record.head == MORSEL_HEAD_SSD || fit->record.head == MORSEL_HEAD_YOLOV8;
    if (rule->scores && !may_be_two)
        return failure_set(fit->failure, STATUS_INPUT, "\"scores\": head %s has boxes and scores in one output", rule->head);
    if (!rule->output && !rule->scores && may_be_two && fit->network->output_count > 1 && find_pair(fit)) return true;
    if (rule->levels && !rule->scores)
        return misfits(fit, 0,
                       "boxes and scores of each level in outputs of their own, or of all: [images, candidates, 4] and [.., classes]");
    if (rule->output && !answer_fit_output(fit, rule->output, &fit->record.output)) return false;
    fit->record.scores = fit->record.output;
    return !rule->scores || answer_fit_output(fit, rule->scores, &fit->record.scores);
}

/* Whether an output may hold so many numbers of each candidate. 0: any number, from `least` on. A single candidate is a list of classes,
 * as [1, 10], where no anchors say how many there are. */
static bool takes(const struct answer_fit *fit, uint32_t columns, uint32_t exact, uint32_t least) {
    struct morsel_answer_shape s = shape_of(fit, fit->record.output, columns);
    return s.images && (exact ? s.parts == exact : s.parts >= least && (s.candidates > 1 || fit->rule->anchors.data));
}

/* Along which dimension the candidates lie: where both would do, along the longer one. */
static bool find_columns(struct answer_fit *fit) {
    struct morsel_blob_answer *r = &fit->record;
    bool apart = r->scores != r->output;
    uint32_t front = morsel_answer_front(r);
    uint32_t exact = apart ? 4 : r->head == MORSEL_HEAD_YOLOV10 ? 6 : fit->rule->record.classes ? front + fit->rule->record.classes : 0;
    bool rows = takes(fit, 0, exact, front + 1), columns = takes(fit, MORSEL_ANSWER_COLUMNS, exact, front + 1);
    struct morsel_answer_shape s = shape_of(fit, r->output, 0);
    char text[128];
    if (!rows && !columns) return misfits(fit, r->output, wants(fit, apart, text, sizeof text));
    if (columns && (!rows || s.parts > s.candidates)) r->flags |= MORSEL_ANSWER_COLUMNS;
    return true;
}

static bool find_classes(struct answer_fit *fit) {
    struct morsel_blob_answer *r = &fit->record;
    struct morsel_answer_shape boxes = shape_of(fit, r->output, r->flags), scores = shape_of(fit, r->scores, r->flags);
    uint32_t stated = fit->rule->record.classes, found = scores.parts;
    char text[96];
    if (r->head == MORSEL_HEAD_YOLOV10) {
        r->classes = stated ? stated : fit->network->label_count ? fit->network->label_count : MORSEL_ANSWER_MOST;
        return true;
    }
    if (r->scores == r->output) found -= morsel_answer_front(r);
    if (r->flags & MORSEL_ANSWER_COLUMNS) snprintf(text, sizeof text, "[%u, classes, %u]", boxes.images, boxes.candidates);
    else snprintf(text, sizeof text, "[%u, %u, classes]", boxes.images, boxes.candidates);
    if (scores.images != boxes.images || scores.candidates != boxes.candidates) return misfits(fit, r->scores, text);
    r->classes = found;
    return !stated || stated == found ||
           failure_set(fit->failure, STATUS_INPUT, "\"classes\" is %u, and output %u has scores of %u", stated, r->scores, found);
}

void answer_rule_sides(struct answer_network *network, const struct answer_output *input, const struct morsel_blob_picture *picture) {
    const uint32_t *dims = input->dims + (input->rank == 4), channels = picture && picture->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    if (input->rank != 3 && input->rank != 4) return;
    bool first = dims[0] == channels || (!picture && dims[0] == 1), last = dims[2] == channels || (!picture && dims[2] == 1);
    if (!first && !last && !picture) return;
    network->height = first ? dims[1] : dims[0];
    network->width = first ? dims[2] : dims[1];
    network->images = input->rank == 4 ? input->dims[0] : 1;
}

bool answer_fit_unit(struct answer_fit *fit) {
    const struct answer_network *n = fit->network;
    if (!n->height || !n->width)
        return failure_set(fit->failure, STATUS_INPUT,
                           "\"coordinates\" are of unit size, and what the network takes is no picture: give a picture rule, too");
    fit->record.scale[0] = (float)n->width;
    fit->record.scale[1] = (float)n->height;
    return true;
}

/* Cells of the finest map first, row by row, each as often as it has anchors. There are those of 8, 16 and 32 pixels, and those of
 * one map more or two where that is how many candidates there are. */
enum { CELL_FINEST = 8, CELL_USUAL = 32, CELL_MOST = 128, CELL_ANCHORS = 16 };

/* A strided convolution with padding has one cell more where part of one is left. */
static uint32_t cells_along(uint32_t pixels, uint32_t side) {
    return pixels / side + (pixels % side != 0);
}

static uint64_t cells_of(const struct answer_network *n, uint32_t largest) {
    uint64_t count = 0;
    for (uint32_t side = CELL_FINEST; side <= largest; side *= 2)
        count += (uint64_t)cells_along(n->width, side) * cells_along(n->height, side);
    return count;
}

/* Of each cell; 0: the candidates are no cells. */
static uint32_t anchors_of_cells(const struct answer_fit *fit, uint32_t candidates) {
    const uint32_t anchors_most = fit->rule->levels ? CELL_ANCHORS : 1, largest = fit->rule->levels ? CELL_MOST : CELL_MOST / 2;
    for (uint32_t side = CELL_USUAL; side <= largest; side *= 2) {
        const uint64_t cells = cells_of(fit->network, side);
        if (cells && candidates % cells == 0 && candidates / cells <= anchors_most) return (uint32_t)(candidates / cells);
    }
    return 0;
}

static bool find_cells(struct answer_fit *fit) {
    const struct answer_network *n = fit->network;
    const struct morsel_answer_shape shape = shape_of(fit, fit->record.output, fit->record.flags);
    const uint32_t candidates = shape.candidates;
    if (n->images && shape.images != n->images)
        return failure_set(fit->failure, STATUS_INPUT, "output %u has boxes of %u pictures, and the network takes %u at once",
                           fit->record.output, shape.images, n->images);
    if (!n->height || !n->width)
        return failure_set(fit->failure, STATUS_INPUT,
                           "head %s has boxes in cells of the picture, and what the network takes is none: give a picture rule, too",
                           fit->rule->head);
    if (!anchors_of_cells(fit, candidates))
        return failure_set(fit->failure, STATUS_INPUT,
                           "head %s wants a candidate for each cell of 8, 16 and 32 pixels: %llu of %u x %u, and output %u has %u%s",
                           fit->rule->head, (unsigned long long)cells_of(n, CELL_USUAL), n->width, n->height, fit->record.output,
                           candidates, fit->rule->levels ? "; levels of an ONNX file are joined where each has the same outputs" : "");
    fit->record.anchors = candidates;
    return true;
}

/* Behind the record: of each cell its corner, or its centre, and its side. */
static void put_cells(const struct answer_fit *fit, uint32_t *words) {
    const struct answer_network *n = fit->network;
    const uint32_t y_first = fit->record.flags & MORSEL_ANSWER_Y_FIRST, each = anchors_of_cells(fit, fit->record.anchors);
    const float offset = fit->rule->centre ? 0.5F : 0;
    uint32_t at = 0;
    for (uint32_t side = CELL_FINEST; at < fit->record.anchors; side *= 2)
        for (uint32_t y = 0; y < cells_along(n->height, side); y++)
            for (uint32_t x = 0; x < cells_along(n->width, side); x++) {
                const float size = (float)side, left = ((float)x + offset) * size, top = ((float)y + offset) * size;
                const float cell[4] = {y_first ? top : left, y_first ? left : top, size, size};
                for (uint32_t k = 0; k < each; k++) memcpy(words + 4 * (size_t)at++, cell, sizeof cell);
            }
}

static bool find_anchors(struct answer_fit *fit) {
    const struct npy *anchors = &fit->rule->anchors;
    uint32_t candidates = shape_of(fit, fit->record.output, fit->record.flags).candidates;
    if (fit->rule->cells) return find_cells(fit);
    if (!anchors->data) return true;
    if (anchors->dims[0] != candidates)
        return failure_set(fit->failure, STATUS_INPUT, "\"anchors\" are %u, and output %u has %u candidates", (uint32_t)anchors->dims[0],
                           fit->record.output, candidates);
    fit->record.anchors = candidates;
    return true;
}

static bool fit_detections(struct answer_fit *fit) {
    if (is_unsorted(fit)) fit->record.head = MORSEL_HEAD_SSD;
    return find_outputs(fit) && find_columns(fit) && find_classes(fit) && (!fit->rule->unit || answer_fit_unit(fit)) && find_anchors(fit) &&
           answer_fit_labels(fit, fit->record.scores, "scores", fit->record.classes);
}

bool answer_rule_fit(const struct answer_rule *rule, const struct answer_network *network, uint32_t **words, size_t *count,
                     struct failure *failure) {
    struct answer_fit fit = {rule, network, rule->record, failure};
    if (!network->output_count) return failure_set(failure, STATUS_INPUT, "the network has no output");
    bool good = rule->record.kind == MORSEL_ANSWER_DETECTIONS ? fit_detections(&fit) : answer_fit_others(&fit);
    if (!good) return false;
    size_t anchors = 4 * (size_t)fit.record.anchors;
    *count = sizeof fit.record / 4 + anchors;
    if (!(*words = malloc(4 * *count))) return failure_memory(failure, 4 * *count);
    memcpy(*words, &fit.record, sizeof fit.record);
    if (rule->cells) put_cells(&fit, *words + sizeof fit.record / 4);
    else if (anchors) memcpy(*words + sizeof fit.record / 4, rule->anchors.data, 4 * anchors);
    return true;
}
