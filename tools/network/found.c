/* SPDX-License-Identifier: MIT */
/* The library's functions by the answer rule, called for the views of a run. */
#include "tools/network/found.h"
#include "core/answer.h"
#include <math.h>

/* The output that the rule speaks of. */
static struct morsel_view view_of(const struct network_run *run, uint32_t output) {
    struct morsel_view view = {0};
    run->network->kind->view(run, output, &view);
    return view;
}

static struct morsel_frame frame_of(const struct found_in *in) {
    return (struct morsel_frame){.size = sizeof(struct morsel_frame), .width = in->width, .height = in->height};
}

static bool told(enum morsel_error error, struct failure *failure) {
    return !error || failure_set(failure, STATUS_INPUT, "%s", morsel_error_text(error));
}

uint32_t found_kind(const struct network *network) {
    return network->answer ? network->answer->kind : MORSEL_ANSWER_NONE;
}

bool found_boxes(const struct network_run *run, const struct found_in *in, struct morsel_box *boxes, uint32_t room, uint32_t *count,
                 struct failure *failure) {
    const struct morsel_blob_answer *rule = run->network->answer;
    const struct morsel_view boxes_of = view_of(run, rule->output), scores_of = view_of(run, rule->scores);
    const struct morsel_frame frame = frame_of(in);
    if (!told(morsel_detect_by_rule(rule, &boxes_of, &scores_of, in->image, boxes, room, count), failure)) return false;
    if (in->width) *count = morsel_boxes_by_rule(run->network->picture, &frame, boxes, *count);
    return true;
}

static double area(const struct morsel_box *b) {
    return ((double)b->x1 - (double)b->x0) * ((double)b->y1 - (double)b->y0);
}

double found_overlap(const struct morsel_box *a, const struct morsel_box *b) {
    const double wide = fmin((double)a->x1, (double)b->x1) - fmax((double)a->x0, (double)b->x0);
    const double high = fmin((double)a->y1, (double)b->y1) - fmax((double)a->y0, (double)b->y0);
    return wide > 0 && high > 0 ? wide * high / (area(a) + area(b) - wide * high) : 0;
}

void found_map_sides(const struct network *network, const struct found_in *in, uint32_t *width, uint32_t *height) {
    const struct network_tensor *output = &network->outputs[network->answer->output];
    uint32_t dims[MORSEL_MAX_RANK] = {0};
    for (uint32_t k = 0; k < output->rank && k < MORSEL_MAX_RANK; k++) dims[k] = (uint32_t)output->dims[k];
    const struct morsel_map_shape shape = morsel_map_shape(network->answer->flags, output->rank, dims);
    *width = in->width ? in->width : shape.width;
    *height = in->width ? in->height : shape.height;
}

bool found_classes_of_pixels(const struct network_run *run, const struct found_in *in, uint8_t *classes, size_t room,
                             struct failure *failure) {
    const struct morsel_blob_answer *rule = run->network->answer;
    const struct morsel_view view = view_of(run, rule->output);
    const struct morsel_frame frame = frame_of(in);
    return told(morsel_segment_by_rule(rule, run->network->picture, &view, in->width ? &frame : NULL, in->image, classes, room), failure);
}

bool found_points(const struct network_run *run, const struct found_in *in, struct morsel_point *points, uint32_t *count,
                  struct failure *failure) {
    const struct morsel_blob_answer *rule = run->network->answer;
    const struct morsel_view view = view_of(run, rule->output);
    const struct morsel_frame frame = frame_of(in);
    const struct morsel_frame *at = in->width ? &frame : NULL;
    return told(morsel_points_of_rule(rule, run->network->picture, &view, at, in->image, points, rule->classes, count), failure);
}

bool found_classes(const struct network_run *run, uint32_t image, uint32_t top, struct morsel_class *classes, uint32_t *count,
                   struct failure *failure) {
    struct morsel_blob_answer rule = *run->network->answer;
    const struct morsel_view view = view_of(run, rule.output);
    rule.most = top;
    return told(morsel_classes_by_rule(&rule, &view, image, classes, top, count), failure);
}

size_t found_width(const struct network *network) {
    const struct network_tensor *output = &network->outputs[network->answer->output];
    return output->rank > 1 ? output->count / (size_t)output->dims[0] : output->count;
}

bool found_vector(const struct network_run *run, uint32_t image, float *values, struct failure *failure) {
    const struct morsel_blob_answer *rule = run->network->answer;
    const struct morsel_view view = view_of(run, rule->output);
    uint32_t count;
    return told(morsel_embedding_by_rule(rule, &view, image, values, found_width(run->network), &count), failure);
}
