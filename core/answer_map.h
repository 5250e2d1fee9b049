/* SPDX-License-Identifier: MIT */
/* Maps and lines of an output where they lie in memory. */
#ifndef MORSEL_ANSWER_MAP_H
#define MORSEL_ANSWER_MAP_H

#include "answer.h"
#include "view.h"
#include "../kernels/requant.h"

/* Of one image: channel c at y, x is element first + c * channel + y * row + x * column. */
struct morsel_answer_map {
    struct morsel_input x;
    struct morsel_map_shape shape;
    size_t first, channel, row, column;
};

/* Open has checked the shape. Channels that are last in memory are the dimension behind the images. */
struct morsel_answer_map morsel_map_of(const struct morsel_blob_answer *rule, const struct morsel_view *view, uint32_t image);

/* Channel 0 of a cell; others lie `channel` elements apart. */
static inline size_t morsel_map_cell(const struct morsel_answer_map *map, uint32_t y, uint32_t x) {
    return map->first + y * map->row + x * map->column;
}

static inline float morsel_map_value(const struct morsel_answer_map *map, size_t cell, uint32_t channel) {
    return morsel_load_float(&map->x, cell + channel * map->channel);
}

/* All numbers of one image, in the order of the ONNX graph: [channels][pixels], which are [pixels][channels] in memory. */
struct morsel_answer_line {
    struct morsel_input x;
    size_t first, pixels, channels, count;
};

struct morsel_answer_line morsel_line_of(const struct morsel_view *view, uint32_t images, uint32_t image);
float morsel_line_value(const struct morsel_answer_line *line, size_t i);

#endif
