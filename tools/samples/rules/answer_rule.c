/* SPDX-License-Identifier: MIT */
/* Reads the answer rule. */
#include "tools/samples/rules/answer_rule.h"
#include "tools/samples/rules/rule_json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20 };

/* What a head is called, and what holds where the rule does not say. */
static const struct {
    const char *name;
    uint32_t head, flags;
    float iou;
} heads[] = {
    {"yolov5", MORSEL_HEAD_YOLOV5, 0, 0.45f},
    {"yolov7", MORSEL_HEAD_YOLOV5, 0, 0.45f},
    {"yolox", MORSEL_HEAD_YOLOV5, 0, 0.45f},
    {"yolov8", MORSEL_HEAD_YOLOV8, 0, 0.45f},
    {"yolov9", MORSEL_HEAD_YOLOV8, 0, 0.45f},
    {"yolov11", MORSEL_HEAD_YOLOV8, 0, 0.45f},
    {"yolo11", MORSEL_HEAD_YOLOV8, 0, 0.45f},
    {"yolov10", MORSEL_HEAD_YOLOV10, 0, 1},
    {"ssd", MORSEL_HEAD_SSD, MORSEL_ANSWER_BACKGROUND, 0.45f},
    {"retinaface", MORSEL_HEAD_SSD, MORSEL_ANSWER_BACKGROUND, 0.4f},
    {"scrfd", MORSEL_HEAD_SSD, MORSEL_ANSWER_DISTANCES, 0.4f},
    {"yunet", MORSEL_HEAD_SSD, 0, 0.3f},
    {"picodet", MORSEL_HEAD_SSD, MORSEL_ANSWER_DISTANCES, 0.5f},
    {"nanodet", MORSEL_HEAD_SSD, MORSEL_ANSWER_DISTANCES, 0.6f},
};
enum { HEADS = sizeof heads / sizeof *heads };

enum { BINS = 8 /* 0 to 7 cells: what PicoDet and NanoDet are trained with */, BINS_MOST = 64 };

/* Heads whose boxes are told in cells, as answer_rule.h has it. */
static const struct {
    const char *name;
    bool centre, levels, product;
    int bins;
} in_cells[] = {
    {"yolox", false, false, false, 0},    {"scrfd", false, true, false, 0},      {"yunet", false, true, true, 0},
    {"picodet", true, true, false, BINS}, {"nanodet", false, true, false, BINS},
};

static const char *const kinds[MORSEL_ANSWER_COUNT] = {"none", "classes", "detections", "embedding", "segmentation", "points"};

/* --- Values of keys; each leaves things as they are where its key is absent --- */

static bool none_of(const char *key, const char *const *names, size_t count, struct failure *failure) {
    char list[256] = "";
    for (size_t i = 0; i < count; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s\"%s\"", i ? ", " : "", names[i]);
    }
    return failure_set(failure, STATUS_INPUT, "\"%s\" is none of %s", key, list);
}

static bool read_choice(const cJSON *root, const char *key, const char *const *names, size_t count, uint32_t *out,
                        struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    for (size_t i = 0; item && cJSON_IsString(item) && i < count; i++)
        if (!strcmp(item->valuestring, names[i])) {
            *out = (uint32_t)i;
            return true;
        }
    return !item || none_of(key, names, count, failure);
}

static bool read_fraction(const cJSON *root, const char *key, float *out, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (!item) return true;
    *out = (float)item->valuedouble + 0.0f; /* -0 becomes 0 */
    return (cJSON_IsNumber(item) && *out >= 0 && *out <= 1) || failure_set(failure, STATUS_INPUT, "\"%s\" is no number from 0 to 1", key);
}

static bool read_count(const cJSON *root, const char *key, uint32_t *out, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    return !item || rule_whole(item, 1, MORSEL_ANSWER_MOST, out) ||
           failure_set(failure, STATUS_INPUT, "\"%s\" is no whole number from 1 to %u", key, MORSEL_ANSWER_MOST);
}

static bool read_flag(const cJSON *root, const char *key, uint32_t flag, uint32_t *flags, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (!item) return true;
    *flags = cJSON_IsTrue(item) ? *flags | flag : *flags & ~flag;
    return cJSON_IsBool(item) || failure_set(failure, STATUS_INPUT, "\"%s\" is neither true nor false", key);
}

/* An output by its name, or by its number. */
static bool read_output(const cJSON *root, const char *key, char **out, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    char digits[16];
    uint32_t number;
    if (!item) return true;
    bool numbered = rule_whole(item, 0, MORSEL_FORMAT_MAX_IO - 1, &number);
    if (!numbered && !(cJSON_IsString(item) && *item->valuestring))
        return failure_set(failure, STATUS_INPUT, "\"%s\" wants the name of an output, or its number", key);
    if (numbered) snprintf(digits, sizeof digits, "%u", number);
    *out = strdup(numbered ? digits : item->valuestring);
    return *out || failure_memory(failure, 16);
}

static bool read_variances(const cJSON *root, float *out, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "variances");
    bool good = !item || (cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2);
    const cJSON *element = item && good ? item->child : NULL;
    for (int k = 0; element && k < 2; k++, element = element->next) {
        out[k] = (float)element->valuedouble;
        good = good && cJSON_IsNumber(element) && isfinite(out[k]);
    }
    return good || rule_wrong(failure, "\"variances\" wants two numbers, as [0.1, 0.2]");
}

/* --- Anchors --- */

/* As it stands, or in the folder of the rule. */
static bool read_anchors(const char *rule, const cJSON *root, struct answer_rule *out, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "anchors");
    char path[4096];
    if (!item) return true;
    if (!cJSON_IsString(item) || !*item->valuestring) return rule_wrong(failure, "\"anchors\" wants the name of an .npy file");
    const char *slash = *item->valuestring == '/' ? NULL : strrchr(rule, '/');
    int length = snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - rule) + 1 : 0, rule, item->valuestring);
    if (length < 0 || (size_t)length >= sizeof path) return rule_wrong(failure, "the path of \"anchors\" is too long");
    if (!(out->anchors_path = strdup(path))) return failure_memory(failure, strlen(path));
    if (!file_is_plain(path, failure) || !npy_read(path, &out->anchors, failure)) return false;
    const struct npy *a = &out->anchors;
    bool fits = a->type == NPY_FLOAT32 && a->rank == 2 && a->dims[1] == 4 && a->dims[0] >= 1 && a->dims[0] <= UINT32_MAX / 64;
    char text[256];
    return fits ||
           failure_set(failure, STATUS_INPUT, "\"anchors\": %s is %s; wanted is float32 [candidates, 4]: centre x, centre y, width, height",
                       path, npy_describe(a, text, sizeof text));
}

/* --- The rule --- */

static bool read_head(const cJSON *root, struct answer_rule *out, struct failure *failure) {
    const char *names[HEADS];
    uint32_t index = 0;
    for (size_t i = 0; i < HEADS; i++) names[i] = heads[i].name;
    if (!rule_member(root, "head", failure) || !read_choice(root, "head", names, HEADS, &index, failure)) return false;
    snprintf(out->head, sizeof out->head, "%s", heads[index].name);
    out->record.head = heads[index].head;
    out->record.flags = heads[index].flags;
    out->record.iou = heads[index].iou;
    for (size_t i = 0; i < sizeof in_cells / sizeof *in_cells; i++) {
        if (strcmp(in_cells[i].name, out->head) != 0) continue;
        out->cells = true;
        out->centre = in_cells[i].centre;
        out->levels = in_cells[i].levels;
        out->product = in_cells[i].product;
        out->bins = in_cells[i].bins;
    }
    return true;
}

static bool read_bins(const cJSON *root, struct answer_rule *out, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "bins");
    uint32_t bins = 0;
    if (!item) return true;
    if (!out->bins) return rule_wrong(failure, "\"bins\" are of heads \"picodet\" and \"nanodet\"");
    if (!rule_whole(item, 2, BINS_MOST, &bins)) return rule_wrong(failure, "\"bins\" is no whole number from 2 to 64");
    out->bins = (int)bins;
    return true;
}

/* Cells become anchors, in pixels of the input. */
static bool read_cells(const cJSON *root, bool unit, struct answer_rule *out, struct failure *failure) {
    static const char *const cells[] = {"corner", "centre"};
    uint32_t centre = out->centre;
    if (!out->levels && cJSON_GetObjectItemCaseSensitive(root, "cell"))
        return rule_wrong(failure, "\"cell\" is of heads \"scrfd\", \"yunet\", \"picodet\" and \"nanodet\"");
    if (!read_choice(root, "cell", cells, 2, &centre, failure) || !read_bins(root, out, failure)) return false;
    out->centre = centre != 0;
    if (out->cells && (unit || cJSON_GetObjectItemCaseSensitive(root, "variances")))
        return failure_set(failure, STATUS_INPUT,
                           "head \"%s\" has boxes in cells: it takes neither \"variances\" nor \"coordinates\" of unit size", out->head);
    if (out->cells) out->record.variance[0] = out->record.variance[1] = 1;
    return true;
}

static bool read_detections(const char *path, const cJSON *root, struct answer_rule *out, struct failure *failure) {
    static const char *const keys[] = {"kind",    "head",      "threshold",  "iou",         "most",       "output",
                                       "scores",  "classes",   "activation", "coordinates", "background", "order",
                                       "anchors", "variances", "cell",       "bins",        NULL};
    static const char *const activations[] = {"none", "sigmoid", "softmax"}, *const places[] = {"pixels", "unit"},
                             *const orders[] = {"xy", "yx"};
    struct morsel_blob_answer *r = &out->record;
    uint32_t activation = 0, unit, y_first = 0;
    if (!rule_keys(root, keys, failure) || !read_head(root, out, failure)) return false;
    r->threshold = 0.25f;
    r->most = 100;
    r->variance[0] = 0.1f;
    r->variance[1] = 0.2f;
    unit = r->head == MORSEL_HEAD_SSD && !out->cells;
    bool good = read_fraction(root, "threshold", &r->threshold, failure) && read_fraction(root, "iou", &r->iou, failure) &&
                read_count(root, "most", &r->most, failure) && read_count(root, "classes", &r->classes, failure) &&
                read_output(root, "output", &out->output, failure) && read_output(root, "scores", &out->scores, failure) &&
                read_choice(root, "activation", activations, 3, &activation, failure) &&
                read_choice(root, "coordinates", places, 2, &unit, failure) && read_choice(root, "order", orders, 2, &y_first, failure) &&
                read_flag(root, "background", MORSEL_ANSWER_BACKGROUND, &r->flags, failure) && read_variances(root, r->variance, failure) &&
                read_anchors(path, root, out, failure) && read_cells(root, unit, out, failure);
    if (!good) return false;
    out->unit = unit;
    r->flags |= (activation == 1) * MORSEL_ANSWER_SIGMOID | (activation == 2) * MORSEL_ANSWER_SOFTMAX | y_first * MORSEL_ANSWER_Y_FIRST;
    if (out->anchors.data && (r->head != MORSEL_HEAD_SSD || out->cells)) return rule_wrong(failure, "\"anchors\" are for head \"ssd\"");
    return out->anchors.data || strcmp(out->head, "retinaface") ||
           rule_wrong(failure, "head \"retinaface\" wants \"anchors\": an .npy file, float32 [candidates, 4]");
}

/* "layout" of maps; that of the network, where it is not said. */
static bool read_layout(const cJSON *root, struct answer_rule *out, struct failure *failure) {
    static const char *const layouts[] = {"chw", "hwc"};
    uint32_t layout = 0;
    out->layout = cJSON_GetObjectItemCaseSensitive(root, "layout") ? 1 : 0;
    if (!read_choice(root, "layout", layouts, 2, &layout, failure)) return false;
    out->layout += out->layout ? layout : 0;
    return true;
}

static bool read_segmentation(const cJSON *root, struct answer_rule *out, struct failure *failure) {
    static const char *const keys[] = {"kind",      "head",   "output",     "classes", "activation",
                                       "threshold", "filter", "background", "layout",  NULL};
    static const char *const names[] = {"scores", "indices"}, *const activations[] = {"none", "sigmoid"},
                             *const filters[] = {"linear", "nearest"};
    struct morsel_blob_answer *r = &out->record;
    uint32_t head = 0, activation = 0, nearest = 0;
    r->threshold = 0.5f;
    r->most = 1;
    bool good = rule_keys(root, keys, failure) && read_choice(root, "head", names, 2, &head, failure) &&
                read_output(root, "output", &out->output, failure) && read_count(root, "classes", &r->classes, failure) &&
                read_choice(root, "activation", activations, 2, &activation, failure) &&
                read_fraction(root, "threshold", &r->threshold, failure) && read_choice(root, "filter", filters, 2, &nearest, failure) &&
                read_flag(root, "background", MORSEL_ANSWER_BACKGROUND, &r->flags, failure) && read_layout(root, out, failure);
    if (!good) return false;
    r->head = MORSEL_HEAD_SCORES + head;
    snprintf(out->head, sizeof out->head, "%s", names[head]);
    r->flags |= activation * MORSEL_ANSWER_SIGMOID | nearest * MORSEL_ANSWER_NEAREST;
    out->by_threshold = cJSON_GetObjectItemCaseSensitive(root, "threshold") || activation;
    if (r->classes > MORSEL_NO_CLASS) return rule_wrong(failure, "\"classes\" of a segmentation are 255 at most");
    return !head || !(out->by_threshold || nearest) ||
           rule_wrong(failure, "head \"indices\" has classes' numbers: \"activation\", \"threshold\" and \"filter\" are of scores");
}

static bool read_points(const cJSON *root, struct answer_rule *out, struct failure *failure) {
    static const char *const keys[] = {"kind",        "head",  "output", "points", "numbers", "activation", "threshold",
                                       "coordinates", "order", "layout", "offset", "cell",    NULL};
    static const char *const names[] = {"heatmaps", "coordinates"}, *const activations[] = {"none", "sigmoid"},
                             *const places[] = {"pixels", "unit"}, *const orders[] = {"xy", "yx"}, *const offsets[] = {"none", "quarter"},
                             *const cells[] = {"corner", "centre"};
    struct morsel_blob_answer *r = &out->record;
    uint32_t head = 0, activation = 0, unit = 0, y_first = 0, quarter = 1, centre = 0;
    r->most = 1;
    if (!rule_keys(root, keys, failure) || !rule_member(root, "head", failure)) return false;
    bool good = read_choice(root, "head", names, 2, &head, failure) && read_output(root, "output", &out->output, failure) &&
                read_count(root, "points", &r->classes, failure) && read_count(root, "numbers", &out->numbers, failure) &&
                read_choice(root, "activation", activations, 2, &activation, failure) &&
                read_fraction(root, "threshold", &r->threshold, failure) && read_choice(root, "coordinates", places, 2, &unit, failure) &&
                read_choice(root, "order", orders, 2, &y_first, failure) && read_layout(root, out, failure) &&
                read_choice(root, "offset", offsets, 2, &quarter, failure) && read_choice(root, "cell", cells, 2, &centre, failure);
    if (!good) return false;
    r->head = MORSEL_HEAD_HEATMAPS + head;
    snprintf(out->head, sizeof out->head, "%s", names[head]);
    out->unit = unit;
    r->flags |= activation * MORSEL_ANSWER_SIGMOID | y_first * MORSEL_ANSWER_Y_FIRST;
    if (!head) r->flags |= quarter * MORSEL_ANSWER_QUARTER | centre * MORSEL_ANSWER_CENTRE;
    static const char *const of_maps[] = {"layout", "offset", "cell"}, *const of_numbers[] = {"numbers", "coordinates", "order"};
    for (int k = 0; k < 3; k++) {
        const char *key = (head ? of_maps : of_numbers)[k];
        if (cJSON_GetObjectItemCaseSensitive(root, key))
            return failure_set(failure, STATUS_INPUT, "\"%s\" is for head \"%s\"", key, names[!head]);
    }
    return !out->numbers || out->numbers == 2 || out->numbers == 3 || rule_wrong(failure, "\"numbers\" of a point are 2 or 3: x, y, p");
}

/* "softmax": true and "top" are older words for "activation": "softmax" and "most". */
static bool read_classes(const cJSON *root, struct answer_rule *out, struct failure *failure) {
    static const char *const keys[] = {"kind", "output", "activation", "most", "softmax", "top", "threshold", NULL};
    static const char *const activations[] = {"none", "sigmoid", "softmax"};
    struct morsel_blob_answer *r = &out->record;
    uint32_t activation = 0;
    r->most = 5;
    bool good = rule_keys(root, keys, failure) && read_output(root, "output", &out->output, failure) &&
                read_choice(root, "activation", activations, 3, &activation, failure) &&
                read_flag(root, "softmax", MORSEL_ANSWER_SOFTMAX, &r->flags, failure) && read_count(root, "top", &r->most, failure) &&
                read_count(root, "most", &r->most, failure) && read_fraction(root, "threshold", &r->threshold, failure);
    if (!good) return false;
    static const char *const pairs[][2] = {{"activation", "softmax"}, {"most", "top"}};
    for (int k = 0; k < 2; k++)
        if (cJSON_GetObjectItemCaseSensitive(root, pairs[k][0]) && cJSON_GetObjectItemCaseSensitive(root, pairs[k][1]))
            return failure_set(failure, STATUS_INPUT, "\"%s\" and \"%s\" say the same: leave one out", pairs[k][0], pairs[k][1]);
    r->flags |= (activation == 1) * MORSEL_ANSWER_SIGMOID | (activation == 2) * MORSEL_ANSWER_SOFTMAX;
    return true;
}

/* What rules say that have no other word for it. */
static void set_usual(struct morsel_blob_answer *r, uint32_t kind) {
    *r = (struct morsel_blob_answer){.kind = kind, .iou = 1, .scale = {1, 1}, .most = kind == MORSEL_ANSWER_EMBEDDING};
}

void answer_rule_embedding(struct answer_rule *out) {
    set_usual(&out->record, MORSEL_ANSWER_EMBEDDING);
}

static bool read_embedding(const cJSON *root, struct answer_rule *out, struct failure *failure) {
    static const char *const keys[] = {"kind", "output", "normalize", NULL};
    return rule_keys(root, keys, failure) && read_output(root, "output", &out->output, failure) &&
           read_flag(root, "normalize", MORSEL_ANSWER_NORMALIZE, &out->record.flags, failure);
}

static bool read_rule(const char *path, const cJSON *root, struct answer_rule *out, struct failure *failure) {
    if (!cJSON_IsObject(root)) return rule_wrong(failure, "it is not a JSON object");
    if (!rule_member(root, "kind", failure) || !read_choice(root, "kind", kinds + 1, MORSEL_ANSWER_COUNT - 1, &out->record.kind, failure))
        return false;
    set_usual(&out->record, out->record.kind + 1);
    if (out->record.kind == MORSEL_ANSWER_DETECTIONS) return read_detections(path, root, out, failure);
    if (out->record.kind == MORSEL_ANSWER_SEGMENTATION) return read_segmentation(root, out, failure);
    if (out->record.kind == MORSEL_ANSWER_POINTS) return read_points(root, out, failure);
    return (out->record.kind == MORSEL_ANSWER_CLASSES ? read_classes : read_embedding)(root, out, failure);
}

bool answer_rule_read(const char *path, struct answer_rule *out, struct failure *failure) {
    struct file_bytes file;
    memset(out, 0, sizeof *out);
    if (!file_read(path, FILE_MOST, &file, failure)) return false;
    cJSON *root = rule_parse(&file, failure);
    bool good = root && read_rule(path, root, out, failure);
    if (!good) {
        failure_prefix(failure, path);
        failure_prefix(failure, "answer rule");
    }
    cJSON_Delete(root);
    file_free(&file);
    return good;
}

bool answer_rule_has_labels(const struct answer_rule *rule) {
    const uint32_t kind = rule->record.kind;
    return kind == MORSEL_ANSWER_DETECTIONS || kind == MORSEL_ANSWER_SEGMENTATION || kind == MORSEL_ANSWER_POINTS;
}

void answer_rule_free(struct answer_rule *rule) {
    free(rule->output);
    free(rule->scores);
    free(rule->anchors_path);
    npy_free(&rule->anchors);
}
