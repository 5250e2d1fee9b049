/* SPDX-License-Identifier: MIT */
/* Reads the picture rule and the labels, and says what is wrong with them. */
#include "tools/samples/rules/picture_rule.h"
#include "tools/base/text.h"
#include "tools/samples/rules/rule_json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 16 << 20, SIDE_MOST = 32768 };

static bool side(const cJSON *item, uint32_t *out) {
    return rule_whole(item, 1, SIDE_MOST, out);
}

/* [height, width] */
static bool sides(const cJSON *item, uint32_t *height, uint32_t *width) {
    return cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2 && side(item->child, height) && side(item->child->next, width);
}

/* One of `names`; it is left as it is where the key is absent. */
static bool read_choice(const cJSON *object, const char *key, const char *const *names, uint32_t count, uint32_t *out,
                        struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    char list[64] = "";
    if (!item) return true;
    for (uint32_t i = 0; i < count; i++) {
        size_t at = strlen(list);
        if (cJSON_IsString(item) && !strcmp(item->valuestring, names[i])) {
            *out = i;
            return true;
        }
        snprintf(list + at, sizeof list - at, "%s\"%s\"", i ? ", " : "", names[i]);
    }
    return failure_set(failure, STATUS_INPUT, "\"%s\" in \"resize\" is none of %s", key, list);
}

/* One number for all channels, or one for each; gray has one. */
static bool read_fill(const cJSON *resize, uint32_t channels, uint32_t *fill, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(resize, "fill");
    uint32_t value[3] = {0, 0, 0}, count = channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    bool list = cJSON_IsArray(item), good = !list || (uint32_t)cJSON_GetArraySize(item) == count;
    if (!item) return true;
    const cJSON *element = list ? item->child : item;
    for (uint32_t c = 0; good && c < count; c++, element = list ? element->next : element) good = rule_whole(element, 0, 255, &value[c]);
    *fill = value[0] | value[1] << 8 | value[2] << 16;
    return good || rule_wrong(failure, "\"fill\" in \"resize\" wants a number from 0 to 255, or one for each channel");
}

static bool read_box(const cJSON *resize, const cJSON *size, struct morsel_blob_picture *out, struct failure *failure) {
    static const char *const places[] = {"centre", "corner"};
    uint32_t corner = 0, fill = 0;
    if (!sides(size, &out->resize_height, &out->resize_width))
        return rule_wrong(failure, "\"resize\" with mode \"letterbox\" wants \"size\": [height, width], each 1 to 32768");
    if (out->crop_height) return rule_wrong(failure, "\"crop\" beside a letterbox: what comes out has the letterbox's size");
    if (!read_choice(resize, "place", places, 2, &corner, failure) || !read_fill(resize, out->channels, &fill, failure)) return false;
    out->resize |= (corner ? MORSEL_RESIZE_CORNER : 0) | fill << MORSEL_RESIZE_FILL_SHIFT;
    return true;
}

/* By the mode; `out` has channels and crop. */
static bool read_size(const cJSON *resize, uint32_t mode, struct morsel_blob_picture *out, struct failure *failure) {
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(resize, "size");
    if (mode != MORSEL_RESIZE_LETTERBOX &&
        (cJSON_GetObjectItemCaseSensitive(resize, "fill") || cJSON_GetObjectItemCaseSensitive(resize, "place")))
        return rule_wrong(failure, "\"fill\" and \"place\" in \"resize\" are for mode \"letterbox\"");
    if (mode == MORSEL_RESIZE_LETTERBOX) return read_box(resize, size, out, failure);
    if (mode == MORSEL_RESIZE_NONE)
        return size ? rule_wrong(failure, "\"resize\" has mode \"none\" and a \"size\" all the same")
                    : !out->resize || rule_wrong(failure, "\"resize\" has mode \"none\" and a \"filter\" all the same");
    if (mode == MORSEL_RESIZE_EXACT)
        return sides(size, &out->resize_height, &out->resize_width) ||
               rule_wrong(failure, "\"resize\" with mode \"exact\" wants \"size\": [height, width], each 1 to 32768");
    bool good = side(size, &out->resize_height);
    out->resize_width = out->resize_height;
    return good || rule_wrong(failure, "\"resize\" with mode \"short_side\" wants \"size\": one whole number, 1 to 32768");
}

static const char *const resize_keys[] = {"mode", "size", "filter", "place", "fill", NULL};

static bool read_resize(const cJSON *root, struct morsel_blob_picture *out, struct failure *failure) {
    static const char *const modes[] = {"none", "exact", "short_side", "letterbox"}, *const filters[] = {"antialias", "linear", "nearest"};
    const cJSON *resize = rule_member(root, "resize", failure);
    uint32_t mode = 0, filter = 0;
    if (!resize) return false;
    if (!cJSON_IsObject(resize)) return rule_wrong(failure, "\"resize\" is not an object like {\"mode\": \"short_side\", \"size\": 256}");
    if (!rule_member(resize, "mode", failure) || !rule_keys(resize, resize_keys, failure)) return failure_prefix(failure, "\"resize\"");
    if (!read_choice(resize, "mode", modes, 4, &mode, failure) || !read_choice(resize, "filter", filters, 3, &filter, failure))
        return false;
    out->resize = filter << MORSEL_RESIZE_FILTER_SHIFT;
    if (!read_size(resize, mode, out, failure)) return false;
    out->resize |= mode;
    return true;
}

static bool read_crop(const cJSON *root, struct morsel_blob_picture *out, struct failure *failure) {
    const cJSON *crop = cJSON_GetObjectItemCaseSensitive(root, "crop");
    if (!crop) return true;
    return sides(crop, &out->crop_height, &out->crop_width) ||
           rule_wrong(failure, "\"crop\" wants [height, width], each 1 to 32768; leave it out for no crop");
}

static bool read_channels(const cJSON *root, struct morsel_blob_picture *out, struct failure *failure) {
    static const char *const names[] = {[MORSEL_CHANNELS_RGB] = "RGB", [MORSEL_CHANNELS_BGR] = "BGR", [MORSEL_CHANNELS_GRAY] = "GRAY"};
    const cJSON *channels = rule_member(root, "channels", failure);
    if (!channels) return false;
    for (uint32_t i = 0; cJSON_IsString(channels) && i < 3; i++) {
        if (!strcmp(channels->valuestring, names[i])) {
            out->channels = i;
            return true;
        }
    }
    return rule_wrong(failure, "\"channels\" is none of \"RGB\", \"BGR\", \"GRAY\"");
}

static bool number(const cJSON *item, float *out) {
    if (!cJSON_IsNumber(item) || !isfinite((float)item->valuedouble)) return false;
    *out = (float)item->valuedouble;
    return true;
}

/* One number for each channel. */
static bool read_numbers(const cJSON *root, const char *key, int count, float *out, struct failure *failure) {
    const cJSON *item = rule_member(root, key, failure);
    if (!item) return false;
    bool good = cJSON_IsArray(item) && cJSON_GetArraySize(item) == count;
    const cJSON *element = good ? item->child : NULL;
    for (int i = 0; good && i < count; i++, element = element->next) good = number(element, &out[i]);
    return good || failure_set(failure, STATUS_INPUT, "\"%s\" wants an array of %d number%s, one for each channel", key, count,
                               count > 1 ? "s" : "");
}

static bool read_normalization(const cJSON *root, struct morsel_blob_picture *out, struct failure *failure) {
    int count = out->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    const cJSON *scale = rule_member(root, "scale", failure);
    if (!scale) return false;
    if (!number(scale, &out->scale) || out->scale == 0) return rule_wrong(failure, "\"scale\" wants one number that is not 0");
    if (!read_numbers(root, "mean", count, out->mean, failure) || !read_numbers(root, "std", count, out->std, failure)) return false;
    for (int i = 0; i < count; i++)
        if (out->std[i] == 0) return rule_wrong(failure, "\"std\" has a 0: it is divided by");
    return true;
}

/* Several keys that are missing are named at once; a single one by whoever reads it. */
static bool has_keys(const cJSON *root, struct failure *failure) {
    static const char *const keys[] = {"resize", "channels", "scale", "mean", "std"};
    char list[64] = "";
    int missing = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t at = strlen(list);
        if (cJSON_GetObjectItemCaseSensitive(root, keys[i])) continue;
        snprintf(list + at, sizeof list - at, "%s\"%s\"", missing ? ", " : "", keys[i]);
        missing++;
    }
    return missing < 2 || failure_set(failure, STATUS_INPUT, "keys %s are missing; 'morsel convert --help' shows a whole rule", list);
}

/* Keys of "resize" that stand beside it. */
static bool belongs_there(const cJSON *root, struct failure *failure) {
    for (const char *const *key = resize_keys; *key; key++)
        if (cJSON_GetObjectItemCaseSensitive(root, *key))
            return failure_set(failure, STATUS_INPUT,
                               "key \"%s\" belongs into \"resize\": {\"resize\": {\"mode\": \"short_side\", \"size\": 256}, ...}", *key);
    return true;
}

static bool read_rule(const cJSON *root, struct morsel_blob_picture *out, struct failure *failure) {
    static const char *const keys[] = {"resize", "crop", "channels", "scale", "mean", "std", NULL};
    if (!cJSON_IsObject(root)) return rule_wrong(failure, "it is not a JSON object");
    *out = (struct morsel_blob_picture){.std = {1, 1, 1}};
    if (!belongs_there(root, failure)) return false;
    return rule_keys(root, keys, failure) && has_keys(root, failure) && read_channels(root, out, failure) &&
           read_crop(root, out, failure) && read_resize(root, out, failure) && read_normalization(root, out, failure);
}

bool picture_rule_read(const char *path, struct morsel_blob_picture *out, struct failure *failure) {
    struct file_bytes file;
    if (!file_read(path, FILE_MOST, &file, failure)) return false;
    cJSON *root = rule_parse(&file, failure);
    bool good = root && read_rule(root, out, failure);
    if (!good) {
        failure_prefix(failure, path);
        failure_prefix(failure, "picture rule");
    }
    cJSON_Delete(root);
    file_free(&file);
    return good;
}

void labels_free(char **labels, size_t count) {
    for (size_t i = 0; labels && i < count; i++) free(labels[i]);
    free(labels);
}

static bool labels_from_json(const cJSON *root, char **labels, size_t *count, struct failure *failure) {
    for (const cJSON *item = root->child; item; item = item->next) {
        if (!cJSON_IsString(item)) return failure_set(failure, STATUS_INPUT, "element %zu of the array is not a string", *count);
        if (!(labels[*count] = strdup(item->valuestring))) return failure_memory(failure, strlen(item->valuestring) + 1);
        ++*count;
    }
    return true;
}

/* Hugging Face: {"0": "cat", "1": "dog"}, alone or as "id2label" of a config.json. Each number below their count stands there once. */
static bool labels_from_object(const cJSON *root, char **labels, size_t *count, struct failure *failure) {
    const cJSON *named = cJSON_GetObjectItemCaseSensitive(root, "id2label"), *all = cJSON_IsObject(named) ? named : root;
    char key[24];
    *count = (size_t)cJSON_GetArraySize(all);
    for (const cJSON *item = all->child; item; item = item->next) {
        const unsigned long k = strtoul(item->string, NULL, 10);
        snprintf(key, sizeof key, "%lu", k);
        if (k >= *count || strcmp(key, item->string) || labels[k] || !cJSON_IsString(item))
            return failure_set(failure, STATUS_INPUT,
                               "it is a JSON object, and \"%.60s\" is no class of %zu with a name of its own; a line each, a JSON array or "
                               "{\"0\": \"cat\", \"1\": \"dog\"}, as \"id2label\" of a config.json, is wanted",
                               item->string, *count);
        if (!(labels[k] = strdup(item->valuestring))) return failure_memory(failure, strlen(item->valuestring) + 1);
    }
    return true;
}

/* One a line; a line's end may be \r\n, and the last line may lack it. */
static bool labels_from_text(const struct file_bytes *file, char **labels, size_t *count, struct failure *failure) {
    const char *at = (const char *)file->data, *end = at + file->size;
    at += text_mark(at);
    if (memchr(at, 0, (size_t)(end - at))) return rule_wrong(failure, "it is not a text file: it holds a 0 byte");
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        size_t length = (size_t)(stop - at);
        length -= length && at[length - 1] == '\r';
        if (!(labels[*count] = strndup(at, length))) return failure_memory(failure, length + 1);
        ++*count;
        at = stop + 1;
    }
    return true;
}

static bool read_labels(const struct file_bytes *file, char ***labels, size_t *count, struct failure *failure) {
    const char *text = (const char *)file->data;
    size_t most = 1, blank = text_mark(text);
    blank += strspn(text + blank, " \t\r\n");
    for (size_t i = 0; i < file->size; i++) most += text[i] == '\n' || text[i] == ',';
    if (!(*labels = calloc(most, sizeof **labels))) return failure_memory(failure, most * sizeof **labels);
    if (text[blank] != '[' && text[blank] != '{') return labels_from_text(file, *labels, count, failure);
    cJSON *root = rule_parse(file, failure);
    bool good = root && (cJSON_IsObject(root) ? labels_from_object : labels_from_json)(root, *labels, count, failure);
    cJSON_Delete(root);
    return good;
}

static bool labels_are_short(char *const *labels, size_t count, struct failure *failure) {
    for (size_t i = 0; i < count; i++)
        if (strlen(labels[i]) > TEXT_LABEL_MOST)
            return failure_set(failure, STATUS_INPUT, "label %zu has %zu bytes, and each box or point tells its own: at most %d fit", i,
                               strlen(labels[i]), (int)TEXT_LABEL_MOST);
    return true;
}

bool labels_read(const char *path, char ***labels, size_t *count, struct failure *failure) {
    struct file_bytes file;
    *labels = NULL;
    *count = 0;
    if (!file_read(path, FILE_MOST, &file, failure)) return false;
    bool good = read_labels(&file, labels, count, failure);
    if (good && !*count) good = rule_wrong(failure, "it holds no label");
    good = good && labels_are_short(*labels, *count, failure);
    if (!good) {
        labels_free(*labels, *count);
        *labels = NULL;
        *count = 0;
        failure_prefix(failure, path);
        failure_prefix(failure, "labels");
    }
    file_free(&file);
    return good;
}
