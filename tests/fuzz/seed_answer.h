/* SPDX-License-Identifier: MIT */
/* Sound blobs by chance: an answer rule, for outputs that are made to look like a detector's, or as they are. */
#ifndef MORSEL_TEST_SEED_ANSWER_H
#define MORSEL_TEST_SEED_ANSWER_H

#include "seed_parts.h"

/* How many numbers of a candidate stand in front of the scores. */
static uint32_t seed_front(uint32_t head) {
    return head == MORSEL_HEAD_YOLOV5 ? 5 : 4;
}

/* An output [N, C, H, W] becomes [N, C, H * W], the same values. */
static void seed_flat(struct morsel_blob_io *io) {
    io->onnx_rank = 3;
    io->onnx_dims[2] *= io->onnx_dims[3];
    io->onnx_dims[3] = 1;
}

static int seed_is_flat(const struct seed_blob *b, const struct morsel_blob_io *io) {
    return b->tensors[io->tensor].rank == 4 && b->tensors[io->tensor].type != MORSEL_INT32;
}

/* A head of the first output, or of two outputs, where their channels are enough for one. Returns words; 0: none. */
static uint32_t seed_answer(struct seed_blob *b, uint8_t *outputs, uint32_t count, uint32_t *words) {
    struct morsel_blob_answer rule = {.kind = 1 + seed_chance(b, 4),
                                      .most = seed_from(b, 1, 40),
                                      .threshold = (float)fuzz_below(&b->random, 3) / 4,
                                      .iou = (float)fuzz_below(&b->random, 5) / 4,
                                      .scale = {1 + seed_float(b, 0.9f), 32},
                                      .variance = {0.1f, seed_float(b, 2)}};
    struct morsel_blob_io io[2];
    uint32_t n = sizeof rule / 4, more = fuzz_below(&b->random, MORSEL_ANSWER_FLAGS + 1) & ~MORSEL_ANSWER_COLUMNS;
    memcpy(io, outputs, sizeof io[0] * (count < 2 ? count : 2));
    uint32_t channels = io[0].onnx_dims[1], cells = io[0].onnx_dims[2] * io[0].onnx_dims[3];
    if (seed_chance(b, 3)) return 0;
    rule.head = seed_from(b, MORSEL_HEAD_YOLOV5, MORSEL_HEAD_SSD);
    rule.flags = MORSEL_ANSWER_COLUMNS | more;
    int two = count > 1 && channels == 4 && seed_is_flat(b, &io[1]) && io[1].onnx_dims[0] == io[0].onnx_dims[0] &&
              io[1].onnx_dims[2] * io[1].onnx_dims[3] == cells;
    if (rule.head == MORSEL_HEAD_YOLOV10 && channels != 6) rule.head = MORSEL_HEAD_SSD;
    rule.classes = two ? io[1].onnx_dims[1] : channels - seed_front(rule.head);
    rule.scores = (uint32_t)two;
    if (two) rule.head = MORSEL_HEAD_SSD;
    if (seed_is_flat(b, &io[0]) && (two || channels > seed_front(rule.head))) rule.kind = MORSEL_ANSWER_DETECTIONS;
    else rule.kind = cells == 1 && seed_is_flat(b, &io[0]) ? MORSEL_ANSWER_CLASSES : MORSEL_ANSWER_EMBEDDING;
    if (seed_is_flat(b, &io[0]) && io[0].onnx_rank == 4 && (rule.kind == MORSEL_ANSWER_EMBEDDING || seed_chance(b, 3))) {
        const uint32_t points = seed_chance(b, 2);
        rule.kind = points ? MORSEL_ANSWER_POINTS : MORSEL_ANSWER_SEGMENTATION;
        rule.head = points ? MORSEL_HEAD_HEATMAPS : MORSEL_HEAD_SCORES;
        rule.classes = channels;
    }
    for (int k = 0; rule.kind == MORSEL_ANSWER_DETECTIONS && k <= two; k++) seed_flat(&io[k]);
    memcpy(outputs, io, sizeof io[0] * (count < 2 ? count : 2));
    if (b->tensors[io[0].tensor].type == MORSEL_INT32) return 0;
    if (rule.kind == MORSEL_ANSWER_DETECTIONS && !two && cells > 1 && cells < 4 && seed_chance(b, 2)) {
        rule.kind = MORSEL_ANSWER_POINTS;
        rule.head = MORSEL_HEAD_COORDINATES;
        rule.flags &= ~MORSEL_ANSWER_COLUMNS;
        rule.classes = channels;
    }
    if (rule.kind == MORSEL_ANSWER_DETECTIONS && rule.head == MORSEL_HEAD_SSD && cells <= 16 && seed_chance(b, 2)) {
        rule.anchors = cells;
        for (uint32_t i = 0; i < 4 * cells; i++, n++) {
            float value = seed_float(b, 4);
            memcpy(&words[n], &value, 4);
        }
    }
    memcpy(words, &rule, sizeof rule);
    return n;
}

#endif
