/* SPDX-License-Identifier: MIT */
/* The answer rule: whether the outputs that it names are what it says of them. */
#include "answer.h"
#include "check.h"
#include "way.h"

#include <string.h>

static uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* 0 to 1; not -0. */
static int fraction(float v) {
    return bits_of(v) <= 0x3f800000;
}

/* More than 0, and finite. */
static int positive(float v) {
    return bits_of(v) - 1 < 0x7f7fffff;
}

static const struct morsel_blob_io *output_of(const struct morsel_check *c, uint32_t index) {
    return (const struct morsel_blob_io *)morsel_blob_at(c->model, c->header->outputs.offset) + index;
}

/* Whether an output has so many images and candidates, each of so many numbers; and where its channels are last, those are the dimension
 * behind the images. */
static int shape_fits(const struct morsel_check *c, const struct morsel_blob_answer *rule, uint32_t output, uint64_t parts,
                      const struct morsel_answer_shape *like) {
    const struct morsel_blob_io *io = output_of(c, output);
    const struct morsel_blob_tensor *t = &c->tensors[io->tensor];
    struct morsel_answer_shape shape = morsel_answer_shape(rule->flags, io->onnx_rank, io->onnx_dims);
    if (shape.images != like->images || shape.candidates != like->candidates || shape.parts != parts) return 0;
    if (t->type == MORSEL_INT32 || t->layout != MORSEL_CHANNELS_LAST || t->rank < 3) return t->type != MORSEL_INT32;
    return t->dims[0] == shape.images && t->dims[t->rank - 1] == io->onnx_dims[io->onnx_rank - 2];
}

static int numbers_fit(const struct morsel_blob_answer *rule) {
    for (int k = 0; k < 2; k++)
        if (!positive(rule->scale[k]) || !morsel_finite(rule->variance[k])) return 0;
    return fraction(rule->iou);
}

static int detections_fit(const struct morsel_check *c, const struct morsel_blob_answer *rule, uint32_t words) {
    const struct morsel_blob_io *io = output_of(c, rule->output);
    struct morsel_answer_shape shape = morsel_answer_shape(rule->flags, io->onnx_rank, io->onnx_dims);
    int apart = rule->scores != rule->output, whole = rule->head == MORSEL_HEAD_YOLOV5 || rule->head == MORSEL_HEAD_YOLOV10;
    if (rule->head < MORSEL_HEAD_YOLOV5 || rule->head > MORSEL_HEAD_SSD || (apart && whole)) return 0;
    if (rule->scores >= c->header->outputs.count || !rule->classes || !numbers_fit(rule)) return 0;
    uint32_t scores = rule->head == MORSEL_HEAD_YOLOV10 ? 2 : rule->classes;
    if (!shape_fits(c, rule, rule->output, apart ? 4 : (uint64_t)morsel_answer_front(rule) + scores, &shape)) return 0;
    if (apart && !shape_fits(c, rule, rule->scores, scores, &shape)) return 0;
    if (!rule->anchors) return 1;
    int moved = rule->head == MORSEL_HEAD_SSD || rule->head == MORSEL_HEAD_YOLOV5;
    return moved && rule->anchors == shape.candidates && rule->anchors <= (words - (uint32_t)sizeof *rule / 4) / 4;
}

/* Whether an output has maps of so many channels; and where channels are last in memory, those are the dimension behind the images. */
static int maps_fit(const struct morsel_check *c, const struct morsel_blob_answer *rule, uint32_t channels) {
    const struct morsel_blob_io *io = output_of(c, rule->output);
    const struct morsel_blob_tensor *t = &c->tensors[io->tensor];
    struct morsel_map_shape shape = morsel_map_shape(rule->flags, io->onnx_rank, io->onnx_dims);
    if (!shape.images || shape.channels != channels || t->type == MORSEL_INT32) return 0;
    if (shape.height > MORSEL_ANSWER_MAP_SIDE || shape.width > MORSEL_ANSWER_MAP_SIDE) return 0;
    if (t->layout != MORSEL_CHANNELS_LAST || t->rank < 3) return 1;
    return t->dims[0] == shape.images && t->dims[t->rank - 1] == io->onnx_dims[1];
}

static int segmentation_fits(const struct morsel_check *c, const struct morsel_blob_answer *rule) {
    int known = rule->head == MORSEL_HEAD_SCORES || rule->head == MORSEL_HEAD_INDICES;
    return known && rule->classes - 1 < MORSEL_NO_CLASS && maps_fit(c, rule, rule->head == MORSEL_HEAD_INDICES ? 1 : rule->classes);
}

/* Of a layout that has channels last, memory has the images in front. */
static int images_fit(const struct morsel_check *c, uint32_t output, uint32_t images) {
    const struct morsel_blob_tensor *t = &c->tensors[output_of(c, output)->tensor];
    if (!images || t->type == MORSEL_INT32) return 0;
    return t->layout != MORSEL_CHANNELS_LAST || t->rank < 3 || t->dims[0] == images;
}

static int points_fit(const struct morsel_check *c, const struct morsel_blob_answer *rule) {
    const struct morsel_blob_io *io = output_of(c, rule->output);
    if (!rule->classes || !positive(rule->scale[0]) || !positive(rule->scale[1])) return 0;
    if (rule->head == MORSEL_HEAD_HEATMAPS) return maps_fit(c, rule, rule->classes);
    if (rule->head != MORSEL_HEAD_COORDINATES) return 0;
    return images_fit(c, rule->output, morsel_points_shape(rule->flags, rule->classes, io->onnx_rank, io->onnx_dims).images);
}

static int kind_fits(const struct morsel_check *c, const struct morsel_blob_answer *rule, uint32_t words) {
    if (rule->kind == MORSEL_ANSWER_DETECTIONS) return detections_fit(c, rule, words);
    if (rule->kind == MORSEL_ANSWER_SEGMENTATION) return segmentation_fits(c, rule);
    if (rule->kind == MORSEL_ANSWER_POINTS) return points_fit(c, rule);
    const struct morsel_blob_io *io = output_of(c, rule->output);
    if (rule->kind == MORSEL_ANSWER_CLASSES) return images_fit(c, rule->output, morsel_classes_images(io->onnx_rank, io->onnx_dims));
    return images_fit(c, rule->output, morsel_embedding_images(io->onnx_rank, io->onnx_dims));
}

static enum morsel_error check_rule(const struct morsel_check *c) {
    const struct morsel_blob_header *h = c->header;
    if (!morsel_has_answer(h)) return MORSEL_OK;
    if (h->answer.count < sizeof(struct morsel_blob_answer) / 4) return MORSEL_ERR_ANSWER;
    const struct morsel_blob_answer *rule = morsel_blob_at(c->model, h->answer.offset);
    int known = rule->kind >= MORSEL_ANSWER_CLASSES && rule->kind < MORSEL_ANSWER_COUNT && !(rule->flags & ~MORSEL_ANSWER_FLAGS);
    if (!known || rule->output >= h->outputs.count || rule->most - 1 >= MORSEL_ANSWER_MOST || !fraction(rule->threshold))
        return MORSEL_ERR_ANSWER;
    return kind_fits(c, rule, h->answer.count) ? MORSEL_OK : MORSEL_ERR_ANSWER;
}

static enum morsel_error check_rules(const struct morsel_check *c, uint32_t index) {
    (void)index;
    enum morsel_error error = morsel_check_picture(c);
    return error ? error : check_rule(c);
}

const struct morsel_way morsel_way_rules = {.check = check_rules};
