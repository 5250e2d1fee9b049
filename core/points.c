/* SPDX-License-Identifier: MIT */
/*
 * Heat maps become points: each stands where its map is highest, or a quarter of a cell beside, towards the higher neighbour. That is how
 * "Simple Baselines for Human Pose Estimation" decodes, within the same edges. Outputs that have coordinates are read.
 *
 * A NaN is in no comparison true, and every comparison here asks for what is good.
 */
#include "answer_map.h"
#include "picture.h"
#include "../kernels/float.h"

/* +1, -1, or 0 where both are as high. */
static float towards(float before, float behind) {
    return (float)((behind > before) - (behind < before));
}

/* False: the map has no number. */
static int find_highest(const struct morsel_blob_answer *rule, const struct morsel_answer_map *map, uint32_t k,
                        struct morsel_point *point) {
    const uint32_t height = map->shape.height, width = map->shape.width;
    uint32_t best_x = 0, best_y = 0;
    float best = -FLT_MAX;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            float value = morsel_map_value(map, morsel_map_cell(map, y, x), k);
            if (!(value > best)) continue;
            best = value;
            best_x = x;
            best_y = y;
        }
    point->p = best;
    point->x = (float)best_x;
    point->y = (float)best_y;
    if (rule->flags & MORSEL_ANSWER_CENTRE) {
        point->x = point->x + 0.5f;
        point->y = point->y + 0.5f;
    }
    if (!(rule->flags & MORSEL_ANSWER_QUARTER) || best_x < 2 || best_y < 2 || best_x + 1 >= width || best_y + 1 >= height)
        return best > -FLT_MAX;
    size_t cell = morsel_map_cell(map, best_y, best_x);
    point->x = point->x + 0.25f * towards(morsel_map_value(map, cell - map->column, k), morsel_map_value(map, cell + map->column, k));
    point->y = point->y + 0.25f * towards(morsel_map_value(map, cell - map->row, k), morsel_map_value(map, cell + map->row, k));
    return best > -FLT_MAX;
}

static void read_numbers(const struct morsel_blob_answer *rule, const struct morsel_answer_line *line, uint32_t parts, uint32_t k,
                         struct morsel_point *point) {
    const int columns = (rule->flags & MORSEL_ANSWER_COLUMNS) != 0;
    const size_t first = columns ? k : (size_t)k * parts, step = columns ? rule->classes : 1;
    const float a = morsel_line_value(line, first), b = morsel_line_value(line, first + step);
    const int y_first = (rule->flags & MORSEL_ANSWER_Y_FIRST) != 0;
    point->x = y_first ? b : a;
    point->y = y_first ? a : b;
    point->p = parts == 3 ? morsel_line_value(line, first + 2 * step) : 1;
}

/* What is told of it: p, pixels of the input. False: it is no number, or p is below the threshold. */
static int finish(const struct morsel_blob_answer *rule, int has_p, struct morsel_point *point) {
    if (has_p && rule->flags & MORSEL_ANSWER_SIGMOID) point->p = morsel_sigmoid(point->p);
    point->x = point->x * rule->scale[0];
    point->y = point->y * rule->scale[1];
    int finite = point->x >= -FLT_MAX && point->x <= FLT_MAX && point->y >= -FLT_MAX && point->y <= FLT_MAX;
    return finite && point->p >= -FLT_MAX && point->p <= FLT_MAX && (rule->threshold == 0 || point->p >= rule->threshold);
}

static uint32_t points_of_maps(const struct morsel_blob_answer *rule, const struct morsel_answer_map *map, struct morsel_point *points) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < rule->classes; k++) {
        points[count].index = k;
        if (find_highest(rule, map, k, &points[count]) && finish(rule, 1, &points[count])) count++;
    }
    return count;
}

static uint32_t points_of_numbers(const struct morsel_blob_answer *rule, const struct morsel_answer_line *line, uint32_t parts,
                                  struct morsel_point *points) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < rule->classes; k++) {
        points[count].index = k;
        read_numbers(rule, line, parts, k, &points[count]);
        count += (uint32_t)finish(rule, parts == 3, &points[count]);
    }
    return count;
}

/* Those of the input become those of the frame. */
static enum morsel_error place_in_frame(const struct morsel_blob_picture *picture, const struct morsel_frame *frame,
                                        struct morsel_point *points, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        float at[2] = {points[i].x, points[i].y};
        enum morsel_error error = morsel_points_by_rule(picture, frame, at, 1);
        if (error) return error;
        points[i].x = at[0];
        points[i].y = at[1];
    }
    return MORSEL_OK;
}

enum morsel_error morsel_points_of_rule(const struct morsel_blob_answer *rule, const struct morsel_blob_picture *picture,
                                        const struct morsel_view *view, const struct morsel_frame *frame, uint32_t image,
                                        struct morsel_point *points, size_t capacity, uint32_t *count) {
    const int heat = rule->head == MORSEL_HEAD_HEATMAPS;
    struct morsel_points_shape shape = {0, 0};
    float nowhere[2];
    if (heat) shape.images = morsel_map_shape(rule->flags, view->onnx_rank, view->onnx_dims).images;
    else shape = morsel_points_shape(rule->flags, rule->classes, view->onnx_rank, view->onnx_dims);
    if (image >= shape.images) return MORSEL_ERR_ARGUMENT;
    if (capacity < rule->classes) return MORSEL_ERR_CAPACITY;
    enum morsel_error error = frame ? morsel_points_by_rule(picture, frame, nowhere, 0) : MORSEL_OK;
    if (error) return error;
    if (heat) {
        const struct morsel_answer_map map = morsel_map_of(rule, view, image);
        *count = points_of_maps(rule, &map, points);
    } else {
        const struct morsel_answer_line line = morsel_line_of(view, shape.images, image);
        *count = points_of_numbers(rule, &line, shape.parts, points);
    }
    return frame ? place_in_frame(picture, frame, points, *count) : MORSEL_OK;
}

enum morsel_error morsel_points(const struct morsel_session *session, const struct morsel_frame *frame, uint32_t image,
                                struct morsel_point *points, size_t capacity, uint32_t *count) {
    const struct morsel_blob_answer *rule;
    struct morsel_view view;
    if (!points || !count) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_answer_of(session, MORSEL_ANSWER_POINTS, &rule, &view);
    if (error) return error;
    return morsel_points_of_rule(rule, morsel_picture_rule(session->model), &view, frame, image, points, capacity, count);
}
