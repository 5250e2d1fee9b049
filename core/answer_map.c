/* SPDX-License-Identifier: MIT */
/* Where maps and lines lie. */
#include "answer_map.h"

struct morsel_answer_map morsel_map_of(const struct morsel_blob_answer *rule, const struct morsel_view *view, uint32_t image) {
    const uint32_t *dims = view->onnx_dims;
    size_t a = dims[1], b = dims[2], c = view->onnx_rank == 4 ? dims[3] : 1;
    int turned = view->layout == MORSEL_CHANNELS_LAST && view->rank >= 3;
    size_t steps[3] = {turned ? 1 : b * c, turned ? a * c : c, turned ? a : 1};
    uint32_t columns = rule->flags & MORSEL_ANSWER_COLUMNS;
    struct morsel_answer_map map = {{view->data, morsel_view_qparams(view)},
                                    morsel_map_shape(rule->flags, view->onnx_rank, view->onnx_dims),
                                    (size_t)image * a * b * c,
                                    steps[columns ? 0 : 2],
                                    steps[columns],
                                    steps[1 + columns]};
    return map;
}

struct morsel_answer_line morsel_line_of(const struct morsel_view *view, uint32_t images, uint32_t image) {
    size_t count = morsel_view_elements(view) / images;
    size_t channels = view->layout == MORSEL_CHANNELS_LAST && view->rank >= 3 ? view->dims[view->rank - 1] : 1;
    struct morsel_answer_line line = {{view->data, morsel_view_qparams(view)}, image * count, count / channels, channels, count};
    return line;
}

float morsel_line_value(const struct morsel_answer_line *line, size_t i) {
    size_t at = line->channels == 1 ? i : i % line->pixels * line->channels + i / line->pixels;
    return morsel_load_float(&line->x, line->first + at);
}
