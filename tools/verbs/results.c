/* SPDX-License-Identifier: MIT */
/* Collects answers picture by picture, and prints them as text or JSON. */
#include "tools/verbs/results.h"
#include "tools/base/message.h"
#include "tools/base/arena.h"
#include "tools/network/scores.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct result *add(struct results *results, const struct result *of) {
    size_t room = results->count + 1; /* a power of two is full */
    if (!(results->count & (results->count - 1)))
        results->list = must_have(realloc(results->list, 2 * room * sizeof *results->list), 2 * room * sizeof *results->list);
    struct result *result = &results->list[results->count++];
    *result = (struct result){.file = of->file, .image = of->image, .numbered = of->numbered, .ms = of->ms, .drawn = of->drawn};
    return result;
}

void results_add(struct results *results, const struct result *of, float *scores, size_t count) {
    uint32_t indices[RESULTS_TOP_MOST];
    struct result *result = add(results, of);
    result->top_count = (uint32_t)scores_top(scores, count, results->top, indices);
    if (!results->probabilities) scores_softmax(scores, count);
    result->top = must_calloc(result->top_count, sizeof *result->top);
    for (uint32_t i = 0; i < result->top_count; i++) result->top[i] = (struct morsel_class){indices[i], scores[indices[i]]};
}

static void *copy_of(const void *from, size_t count, size_t bytes) {
    void *to = must_calloc(count + 1, bytes);
    return memcpy(to, from, count * bytes);
}

void results_add_classes(struct results *results, const struct result *of, const struct morsel_class *classes, uint32_t count) {
    struct result *result = add(results, of);
    result->top = copy_of(classes, count, sizeof *classes);
    result->top_count = count;
}

void results_add_boxes(struct results *results, const struct result *of, const struct morsel_box *boxes, uint32_t count) {
    struct result *result = add(results, of);
    result->boxes = copy_of(boxes, count, sizeof *boxes);
    result->box_count = count;
}

void results_add_vector(struct results *results, const struct result *of, const float *vector, size_t count) {
    struct result *result = add(results, of);
    result->vector = copy_of(vector, count, sizeof *vector);
    result->vector_count = count;
}

void results_add_points(struct results *results, const struct result *of, const struct morsel_point *points, uint32_t count) {
    struct result *result = add(results, of);
    result->points = copy_of(points, count, sizeof *points);
    result->point_count = count;
}

void results_add_wrong(struct results *results, const struct result *of, const char *wrong) {
    add(results, of)->wrong = must_have(strdup(wrong), strlen(wrong) + 1);
}

static int by_pixels(const void *a, const void *b) {
    const struct results_share *x = a, *y = b;
    if (x->pixels != y->pixels) return x->pixels > y->pixels ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

void results_add_pixels(struct results *results, const struct result *of, const uint8_t *classes, uint32_t width, uint32_t height) {
    struct result *result = add(results, of);
    struct results_share shares[256];
    const size_t pixels = (size_t)width * height;
    for (uint32_t k = 0; k < 256; k++) shares[k] = (struct results_share){k, 0};
    for (size_t i = 0; i < pixels; i++) shares[classes[i]].pixels++;
    shares[MORSEL_NO_CLASS].pixels = 0;
    qsort(shares, 256, sizeof *shares, by_pixels);
    while (result->share_count < 256 && shares[result->share_count].pixels) result->share_count++;
    result->shares = copy_of(shares, result->share_count, sizeof *shares);
    result->width = width;
    result->height = height;
}

double results_share(const struct result *result, uint32_t i) {
    return (double)result->shares[i].pixels / ((double)result->width * result->height);
}

static const char *label_of(const struct results *results, uint32_t index) {
    return network_label(results->network, index);
}

/* A file's name without folders. */
static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool starts_with_label(const struct result *result, const char *label) {
    return label && *label && !strncmp(base_name(result->file), label, strlen(label));
}

static bool is_right(const struct results *results, const struct result *result) {
    return result->top_count && starts_with_label(result, label_of(results, result->top[0].index));
}

/* A name that starts with no label says nothing about the answer. */
static bool is_known(const struct results *results, const struct result *result) {
    const char *label;
    if (result->wrong) return false;
    for (uint32_t i = 0; (label = label_of(results, i)); i++)
        if (starts_with_label(result, label)) return true;
    return false;
}

size_t results_known(const struct results *results) {
    size_t known = 0;
    for (size_t i = 0; i < results->count; i++) known += is_known(results, &results->list[i]);
    return known;
}

size_t results_right(const struct results *results) {
    size_t right = 0;
    for (size_t i = 0; i < results->count; i++) right += is_right(results, &results->list[i]);
    return right;
}

static void print_boxes(const struct results *results, const struct result *result) {
    message_print("  %u found  %8.3f ms\n", result->box_count, result->ms);
    for (uint32_t i = 0; i < result->box_count; i++) {
        const struct morsel_box *box = &result->boxes[i];
        const char *label = label_of(results, box->index);
        char number[24];
        snprintf(number, sizeof number, "class %u", box->index);
        message_print("    %-16s %.4f  x %7.1f .. %7.1f  y %7.1f .. %7.1f\n", label ? label : number, (double)box->p, (double)box->x0,
                      (double)box->x1, (double)box->y0, (double)box->y1);
    }
}

static void print_vector(const struct result *result) {
    double squares = 0;
    for (size_t i = 0; i < result->vector_count; i++) squares += (double)result->vector[i] * (double)result->vector[i];
    message_print("  %zu numbers, of length %.6g:", result->vector_count, sqrt(squares));
    for (size_t i = 0; i < result->vector_count && i < 6; i++) message_print(" %.4f", (double)result->vector[i]);
    message_print("%s  %8.3f ms\n", result->vector_count > 6 ? " .." : "", result->ms);
}

static void print_points(const struct results *results, const struct result *result) {
    message_print("  %u found  %8.3f ms\n", result->point_count, result->ms);
    for (uint32_t i = 0; i < result->point_count; i++) {
        const struct morsel_point *point = &result->points[i];
        const char *label = label_of(results, point->index);
        char number[24];
        snprintf(number, sizeof number, "point %u", point->index);
        message_print("    %-16s %.4f  x %7.1f  y %7.1f\n", label ? label : number, (double)point->p, (double)point->x, (double)point->y);
    }
}

static void print_shares(const struct results *results, const struct result *result) {
    for (uint32_t i = 0; i < result->share_count && i < (results->top ? results->top : 5); i++) {
        const char *label = label_of(results, result->shares[i].index);
        if (label) message_print("  %-12s %.4f", label, results_share(result, i));
        else message_print("  class %-6u %.4f", result->shares[i].index, results_share(result, i));
    }
    message_print("  %8.3f ms\n", result->ms);
}

void results_print(const struct results *results, const struct result *result) {
    char name[64];
    const char *base = base_name(result->file);
    if (result->numbered) snprintf(name, sizeof name, "%.50s[%u]", base, result->image);
    else snprintf(name, sizeof name, "%.60s", base);
    message_print("%-20s", name);
    if (result->boxes) {
        print_boxes(results, result);
        return;
    }
    if (result->vector) {
        print_vector(result);
        return;
    }
    if (result->points) {
        print_points(results, result);
        return;
    }
    if (result->shares) {
        print_shares(results, result);
        return;
    }
    if (results->check_names) message_print("  %-5s", is_right(results, result) ? "right" : is_known(results, result) ? "wrong" : "?");
    for (uint32_t i = 0; i < result->top_count; i++) {
        const char *label = label_of(results, result->top[i].index);
        if (label) message_print("  %-12s %.4f", label, (double)result->top[i].p);
        else message_print("  class %-6u %.4f", result->top[i].index, (double)result->top[i].p);
    }
    message_print("  %8.3f ms\n", result->ms);
}

static void boxes_json(const struct results *results, const struct result *result, struct json *json) {
    json_open_array(json, "boxes");
    for (uint32_t i = 0; i < result->box_count; i++) {
        const struct morsel_box *box = &result->boxes[i];
        json_open_flat(json, NULL);
        json_text(json, "label", label_of(results, box->index));
        json_integer(json, "index", box->index);
        json_float(json, "p", box->p);
        json_float(json, "x0", box->x0);
        json_float(json, "y0", box->y0);
        json_float(json, "x1", box->x1);
        json_float(json, "y1", box->y1);
        json_close(json);
    }
    json_close_array(json);
}

static void top_json(const struct results *results, const struct result *result, struct json *json) {
    json_open_array(json, "top");
    for (uint32_t i = 0; i < result->top_count; i++) {
        json_open_flat(json, NULL);
        json_text(json, "label", label_of(results, result->top[i].index));
        json_integer(json, "index", result->top[i].index);
        json_float(json, "p", result->top[i].p);
        json_close(json);
    }
    json_close_array(json);
}

static void vector_json(const struct result *result, struct json *json) {
    json_open_array(json, "vector");
    for (size_t i = 0; i < result->vector_count; i++) json_float(json, NULL, result->vector[i]);
    json_close_array(json);
}

static void points_json(const struct results *results, const struct result *result, struct json *json) {
    json_open_array(json, "points");
    for (uint32_t i = 0; i < result->point_count; i++) {
        const struct morsel_point *point = &result->points[i];
        json_open_flat(json, NULL);
        json_text(json, "label", label_of(results, point->index));
        json_integer(json, "index", point->index);
        json_float(json, "p", point->p);
        json_float(json, "x", point->x);
        json_float(json, "y", point->y);
        json_close(json);
    }
    json_close_array(json);
}

static void shares_json(const struct results *results, const struct result *result, struct json *json) {
    json_integer(json, "width", result->width);
    json_integer(json, "height", result->height);
    json_open_array(json, "shares");
    for (uint32_t i = 0; i < result->share_count; i++) {
        json_open_flat(json, NULL);
        json_text(json, "label", label_of(results, result->shares[i].index));
        json_integer(json, "index", result->shares[i].index);
        json_number(json, "share", results_share(result, i));
        json_close(json);
    }
    json_close_array(json);
    if (results->mask) json_text(json, "mask", results->mask);
}

static void wrong_json(const struct result *result, struct json *json) {
    json_open(json, NULL);
    json_text(json, "file", result->file);
    json_text(json, "error", result->wrong);
    json_close(json);
}

static void result_json(const struct results *results, const struct result *result, struct json *json) {
    if (result->wrong) {
        wrong_json(result, json);
        return;
    }
    json_open(json, NULL);
    json_text(json, "file", result->file);
    if (result->numbered) json_integer(json, "image", result->image);
    if (result->boxes) boxes_json(results, result, json);
    else if (result->vector) vector_json(result, json);
    else if (result->points) points_json(results, result, json);
    else if (result->shares) shares_json(results, result, json);
    else top_json(results, result, json);
    if (results->check_names && is_known(results, result)) json_bool(json, "right", is_right(results, result));
    if (result->drawn) json_text(json, "drawn", result->drawn);
    json_number(json, "ms", round(result->ms * 1e6) / 1e6); /* to the nanosecond */
    json_close(json);
}

void results_json(const struct results *results, struct json *json) {
    json_open_array(json, "results");
    for (size_t i = 0; i < results->count; i++) result_json(results, &results->list[i], json);
    json_close_array(json);
    if (results->network->answer && results->network->answer->kind != MORSEL_ANSWER_CLASSES) return;
    json_text(json, "p", results->p);
}

void results_free(struct results *results) {
    for (size_t i = 0; i < results->count; i++) {
        free(results->list[i].top);
        free(results->list[i].boxes);
        free(results->list[i].vector);
        free(results->list[i].points);
        free(results->list[i].shares);
        free(results->list[i].wrong);
    }
    free(results->list);
    results->list = NULL;
    results->count = 0;
}
