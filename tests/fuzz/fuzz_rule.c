/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a picture rule and as an answer rule (JSON), and that beside outputs. Rules may name files of anchors: sound ones, of other
 * shapes and types, and cut off. Links the tool's files and libcjson.
 *
 *     fuzz_rule [--runs N] [--seconds N] [--seed N] [RULE.json...]        (driver.c has the rest of the command line)
 */
#include "as_file.h"
#include "fuzz.h"
#include "tools/samples/rules/answer_rule.h"
#include "tools/samples/rules/picture_rule.h"

#include <stdlib.h>

static unsigned long long with_anchors;

int fuzz_report(unsigned long long runs) {
    printf("   %llu rules came with anchors\n", with_anchors);
    return runs < 1000 || with_anchors > 0;
}

enum { ANCHORS = 6, NUMBERS = 9 * 4 };

/* The paths of files of anchors. */
static const char *anchors(uint32_t which) {
    static const char *const heads[ANCHORS] = {"{'descr': '<f4', 'fortran_order': False, 'shape': (9, 4), }",
                                               "{'descr': '<f4', 'fortran_order': True, 'shape': (9, 4), }",
                                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }",
                                               "{'descr': '<f8', 'fortran_order': False, 'shape': (9, 2), }",
                                               "{'descr': '<f4', 'fortran_order': False, 'shape': (36,), }",
                                               "{'descr': '<f4', 'fortran_order': False, 'shape': (90, 4), }"};
    static char paths[ANCHORS][32];
    char start[129];
    float numbers[NUMBERS];
    if (*paths[which]) return paths[which];
    fuzz_fill(numbers, sizeof numbers, which);
    snprintf(start, sizeof start, "\x93NUMPY\x01%c%c%c%-117s\n", 0, 118, 0, heads[which]);
    int file = memfd_create("anchors", 0);
    if (file < 0 || write(file, start, 128) != 128 || write(file, numbers, sizeof numbers) != (ssize_t)sizeof numbers) {
        perror("memfd");
        exit(3);
    }
    snprintf(paths[which], sizeof paths[which], "/proc/self/fd/%d", file);
    return paths[which];
}

static size_t seed_answer_rule(uint64_t *state, uint8_t *bytes, size_t capacity) {
    static const char *const heads[] = {"yolov5", "yolov8", "yolov10", "ssd",     "retinaface", "yolox",
                                        "scrfd",  "yunet",  "picodet", "nanodet", "x"};
    static const char *const more[] = {"\"classes\": 2",
                                       "\"output\": \"a\"",
                                       "\"scores\": 1",
                                       "\"activation\": \"softmax\"",
                                       "\"coordinates\": \"pixels\"",
                                       "\"order\": \"yx\"",
                                       "\"variances\": [0.1, 0.2]",
                                       "\"background\": false",
                                       "\"anchors\": \"/dev/null\"",
                                       "\"background\": true",
                                       "\"cell\": \"centre\""};
    char named[64];
    snprintf(named, sizeof named, "\"anchors\": \"%s\"", anchors(fuzz_below(state, ANCHORS)));
    int length = snprintf((char *)bytes, capacity, "{\"kind\": \"%s\", \"head\": \"%s\", \"threshold\": %u.5, \"iou\": 0.%u, %s}",
                          fuzz_below(state, 4) ? "detections" : "classes", heads[fuzz_below(state, 11)], fuzz_below(state, 2),
                          fuzz_below(state, 100), fuzz_below(state, 3) ? more[fuzz_below(state, 11)] : named);
    return length < 0 ? 0 : (size_t)length;
}

static size_t seed_map_rule(uint64_t *state, uint8_t *bytes, size_t capacity) {
    static const char *const more[] = {"\"classes\": 2",          "\"output\": \"b\"",
                                       "\"head\": \"indices\"",   "\"activation\": \"sigmoid\"",
                                       "\"layout\": \"hwc\"",     "\"background\": true",
                                       "\"filter\": \"nearest\"", "\"threshold\": 0.25"};
    static const char *const of_points[] = {"\"points\": 2",        "\"output\": \"c\"",    "\"numbers\": 3",
                                            "\"offset\": \"none\"", "\"cell\": \"centre\"", "\"coordinates\": \"unit\"",
                                            "\"order\": \"yx\"",    "\"threshold\": 0.25"};
    const char *const *list = fuzz_below(state, 2) ? more : of_points;
    const char *head = fuzz_below(state, 2) ? "\"points\", \"head\": \"heatmaps\"" : "\"points\", \"head\": \"coordinates\"";
    int length = snprintf((char *)bytes, capacity, "{\"kind\": %s, %s, %s}", list == more ? "\"segmentation\"" : head,
                          list[fuzz_below(state, 8)], list[fuzz_below(state, 8)]);
    return length < 0 ? 0 : (size_t)length;
}

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static const char *const resizes[] = {"{\"mode\": \"short_side\", \"size\": 256}", "{\"mode\": \"exact\", \"size\": [32, 40]}",
                                          "{\"mode\": \"none\"}", "{\"mode\": 1e999, \"size\": [-1]}", "[]"};
    static const char *const numbers[] = {"[0.485, 0.456, 0.406]", "[0]", "[1, 2, 3, 4]", "0.5", "[1e40, -0, \"x\"]", "null"};
    uint64_t state = seed;
    if (fuzz_below(&state, 2)) return (fuzz_below(&state, 3) ? seed_answer_rule : seed_map_rule)(&state, bytes, capacity);
    int length =
        snprintf((char *)bytes, capacity,
                 "{\"resize\": %s, \"crop\": [%u, %u], \"channels\": \"%s\", \"scale\": %s, \"mean\": %s, \"std\": %s}",
                 resizes[fuzz_below(&state, 5)], fuzz_below(&state, 300), fuzz_below(&state, 70000), fuzz_below(&state, 2) ? "RGB" : "GRAY",
                 fuzz_below(&state, 3) ? "0.0039" : "0", numbers[fuzz_below(&state, 6)], numbers[fuzz_below(&state, 6)]);
    return length < 0 ? 0 : (size_t)length;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct morsel_blob_picture rule = {0};
    struct failure failure = {0};
    if (!picture_rule_read(as_file(bytes, size), &rule, &failure) && !*failure.text) abort();
    /* The last two are boxes and scores of the cells of 40 x 8 pixels. */
    static const struct answer_output outputs[] = {{"a", 3, {1, 6, 9}},  {"b", 3, {1, 4, 9}},    {"c", 3, {1, 9, 2}},
                                                   {"d", 0, {0}},        {"e", 4, {1, 1, 7, 5}}, {"f", 4, {1, 9, 7, 2}},
                                                   {"g", 3, {1, 10, 4}}, {"h", 3, {1, 10, 2}}};
    enum { OUTPUTS = sizeof outputs / sizeof *outputs };
    struct answer_rule answer;
    bool read = answer_rule_read(as_file(bytes, size), &answer, &failure);
    for (uint32_t k = 0; read && k < OUTPUTS; k++) {
        const struct answer_network network = {outputs + k, OUTPUTS - k, k < 5 ? 8 * (5 - k) : 0, 8, k, k % 3};
        uint32_t *words = NULL;
        size_t count;
        *failure.text = 0;
        if (answer_rule_fit(&answer, &network, &words, &count, &failure)) {
            size_t behind = count - sizeof(struct morsel_blob_answer) / 4;
            if (count < sizeof(struct morsel_blob_answer) / 4 || words[3] >= OUTPUTS - k || behind != 4 * (size_t)words[6]) abort();
            with_anchors += words[6] > 0;
        } else if (!*failure.text) abort();
        free(words);
    }
    answer_rule_free(&answer);
    if (!read && !*failure.text) abort();
    return 0;
}
