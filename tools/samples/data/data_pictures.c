/* SPDX-License-Identifier: MIT */
/* Samples out of pictures: the path that a picture takes into a blob, in float. */
#include "core/blob.h"
#include "core/picture.h"
#include "tools/samples/data/data_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t channels_of(const struct morsel_blob_picture *rule) {
    return rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
}

/* The sides of the input, which has channels first or last; false where it has them nowhere. */
static bool sides_of(const struct morsel_view *view, uint32_t channels, uint32_t *height, uint32_t *width) {
    const uint32_t *dims = view->dims + (view->rank - 3);
    bool planes = dims[0] == channels;
    *height = dims[planes ? 1 : 0];
    *width = dims[planes ? 2 : 1];
    return planes || dims[2] == channels;
}

static bool is_bytes(enum onnx_type type) {
    return type == ONNX_UINT8 || type == ONNX_INT8;
}

static bool takes_pictures(enum onnx_type type) {
    return type == ONNX_FLOAT || type == ONNX_FLOAT16 || type == ONNX_DOUBLE || is_bytes(type);
}

/* The input as morsel_picture() takes it. */
static bool make_view(struct morsel_view *view, const struct onnx_value *input, struct failure *failure) {
    const struct onnx_shape *shape = &input->shape;
    int64_t elements = onnx_elements(shape);
    char text[256];
    if (shape->rank == 4 && shape->dims[0] > 1)
        return failure_set(failure, STATUS_INPUT,
                           "the network's input is %s: %lld pictures at once. Quantize it for one, with -o X.onnx; morsel convert X.onnx "
                           "--shape %s=%lld,%lld,%lld,%lld makes a blob for %lld of that",
                           data_describe(input, text, sizeof text), (long long)shape->dims[0], input->name, (long long)shape->dims[0],
                           (long long)shape->dims[1], (long long)shape->dims[2], (long long)shape->dims[3], (long long)shape->dims[0]);
    if ((shape->rank != 3 && shape->rank != 4) || (shape->rank == 4 && shape->dims[0] != 1) || elements < 1 || elements > INT32_MAX / 4 ||
        !takes_pictures(input->type))
        return failure_set(failure, STATUS_INPUT,
                           "the network's input is %s, and one picture is float32, uint8 or int8 [1, C, H, W] or [1, H, W, C]",
                           data_describe(input, text, sizeof text));
    *view = (struct morsel_view){.bytes = (uint32_t)elements * 4,
                                 .type = MORSEL_FLOAT32,
                                 .layout = MORSEL_ROW_MAJOR,
                                 .rank = (uint32_t)shape->rank,
                                 .scale = 1,
                                 .onnx_type = MORSEL_FLOAT32};
    for (int i = 0; i < shape->rank; i++) view->dims[i] = (uint32_t)shape->dims[i];
    return true;
}

/* Where the rule says what size it gives, that is checked before anything is read. */
static bool rule_fits(const struct morsel_view *view, const struct onnx_value *input, const struct morsel_blob_picture *rule,
                      struct failure *failure) {
    uint32_t height, width, channels = channels_of(rule);
    bool exact = morsel_resize_mode(rule) == MORSEL_RESIZE_EXACT || morsel_resize_mode(rule) == MORSEL_RESIZE_LETTERBOX;
    uint32_t out_height = rule->crop_height ? rule->crop_height : exact ? rule->resize_height : 0;
    uint32_t out_width = rule->crop_height ? rule->crop_width : exact ? rule->resize_width : 0;
    char text[256];
    if (!sides_of(view, channels, &height, &width))
        return failure_set(failure, STATUS_INPUT, "the picture rule gives %u channel%s, and the network's input is %s", channels,
                           channels > 1 ? "s" : "", data_describe(input, text, sizeof text));
    return !out_height || (out_height == height && out_width == width) ||
           failure_set(failure, STATUS_INPUT, "the picture rule gives %u x %u (height x width), and the network's input is %s", out_height,
                       out_width, data_describe(input, text, sizeof text));
}

/* A network that divides its bytes by 255 itself wants the bytes. */
static bool bytes_differ(const struct onnx_value *input, const struct morsel_blob_picture *rule, struct failure *failure) {
    bool alike = is_bytes(input->type);
    for (uint32_t c = 0; c < channels_of(rule); c++) alike = alike && fabsf(rule->scale / rule->std[c]) * 255 < 16;
    char text[256];
    return !alike || failure_set(failure, STATUS_INPUT,
                                 "the picture rule makes of black and white whole numbers less than 16 apart, and the network's input is "
                                 "%s: it wants pixels as they are, by a scale of 1, no mean, a std of 1",
                                 data_describe(input, text, sizeof text));
}

bool data_pictures_fit(struct data_pictures *pictures, const struct onnx_value *input, const struct morsel_blob_picture *rule,
                       struct failure *failure) {
    if (!rule)
        return failure_set(failure, STATUS_CALL, "pictures need a rule that says what the network makes of them: --picture RULE.json");
    if (!make_view(&pictures->view, input, failure) || !rule_fits(&pictures->view, input, rule, failure)) return false;
    if (!bytes_differ(input, rule, failure)) return false;
    pictures->rule = *rule;
    pictures->type = input->type;
    return true;
}

static bool size_misfits(const struct data_pictures *pictures, const struct image *image, struct failure *failure) {
    const struct morsel_blob_picture *rule = &pictures->rule;
    uint32_t height, width;
    sides_of(&pictures->view, channels_of(rule), &height, &width);
    return failure_set(failure, STATUS_INPUT, "the picture is %u x %u (height x width); the rule %s, and the network wants %u x %u",
                       image->height, image->width,
                       morsel_resize_mode(rule) == MORSEL_RESIZE_NONE ? "does not resize" : "resizes the short side and does not crop",
                       height, width);
}

/* As a blob's input of bytes has them: to the nearest, of two the even one, and within its type. */
static void round_to_bytes(enum onnx_type type, float *numbers, size_t count) {
    const float least = type == ONNX_INT8 ? -128 : 0;
    for (size_t i = 0; i < count; i++) numbers[i] = fminf(fmaxf(rintf(numbers[i]), least), least + 255);
}

bool data_pictures_put(const struct data_pictures *pictures, const struct image *image, float *out, struct failure *failure) {
    struct morsel_view view = pictures->view;
    size_t bytes = morsel_rule_bytes(&pictures->rule, image->width, image->height);
    if (!bytes) return size_misfits(pictures, image, failure);
    void *scratch = malloc(bytes);
    if (!scratch) return failure_memory(failure, bytes);
    view.data = out;
    size_t rgb_bytes = (size_t)image->width * image->height * 3;
    enum morsel_error error =
        morsel_picture_by_rule(&pictures->rule, image->rgb, rgb_bytes, image->width, image->height, 0, scratch, bytes, &view, 0);
    free(scratch);
    if (error == MORSEL_ERR_PICTURE) return size_misfits(pictures, image, failure);
    if (error) return failure_set(failure, STATUS_INPUT, "%s", morsel_error_text(error));
    for (size_t i = 0; i < view.bytes / sizeof *out; i++)
        if (!isfinite(out[i]))
            return failure_set(failure, STATUS_INPUT,
                               "the picture rule makes numbers that are not finite: look at its scale, mean and std");
    if (is_bytes(pictures->type)) round_to_bytes(pictures->type, out, view.bytes / sizeof *out);
    return true;
}

bool data_pictures_load(const struct data_pictures *pictures, size_t index, float *out, struct failure *failure) {
    const struct dataset_item *item = &pictures->dataset.items[index];
    struct image image;
    if (!dataset_image(&pictures->dataset, index, &image, failure)) return false;
    bool good = data_pictures_put(pictures, &image, out, failure) || failure_prefix(failure, item->path ? item->path : item->binary);
    image_free(&image);
    return good;
}

void data_pictures_close(struct data_pictures *pictures) {
    dataset_close(&pictures->dataset);
}
