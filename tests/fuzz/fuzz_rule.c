/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a picture rule and as an answer rule (JSON), and that beside outputs. Links the tool's files and libcjson.
 *
 *     fuzz_rule [--runs N] [--seconds N] [--seed N] [RULE.json...]        (driver.c has the rest of the command line)
 */
#include "as_file.h"
#include "fuzz.h"
#include "tools/samples/rules/answer_rule.h"
#include "tools/samples/rules/picture_rule.h"

#include <stdlib.h>

static size_t seed_answer_rule(uint64_t *state, uint8_t *bytes, size_t capacity) {
    static const char *const heads[] = {"yolov5", "yolov8", "yolov10", "ssd", "retinaface", "x"};
    static const char *const more[] = {"\"classes\": 2",
                                       "\"output\": \"a\"",
                                       "\"scores\": 1",
                                       "\"activation\": \"softmax\"",
                                       "\"coordinates\": \"pixels\"",
                                       "\"order\": \"yx\"",
                                       "\"variances\": [0.1, 0.2]",
                                       "\"background\": false",
                                       "\"anchors\": \"/dev/null\""};
    int length = snprintf((char *)bytes, capacity, "{\"kind\": \"%s\", \"head\": \"%s\", \"threshold\": %u.5, \"iou\": 0.%u, %s}",
                          fuzz_below(state, 4) ? "detections" : "classes", heads[fuzz_below(state, 6)], fuzz_below(state, 2),
                          fuzz_below(state, 100), more[fuzz_below(state, 9)]);
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
    static const struct answer_output outputs[] = {{"a", 3, {1, 6, 9}}, {"b", 3, {1, 4, 9}},    {"c", 3, {1, 9, 2}},
                                                   {"d", 0, {0}},       {"e", 4, {1, 1, 7, 5}}, {"f", 4, {1, 9, 7, 2}}};
    struct answer_rule answer;
    bool read = answer_rule_read(as_file(bytes, size), &answer, &failure);
    for (uint32_t k = 0; read && k < 6; k++) {
        const struct answer_network network = {outputs + k, 6 - k, 8 * k, 8, k};
        uint32_t *words = NULL;
        size_t count;
        *failure.text = 0;
        if (answer_rule_fit(&answer, &network, &words, &count, &failure)) {
            if (count < sizeof(struct morsel_blob_answer) / 4 || words[3] >= 6 - k) abort();
        } else if (!*failure.text) abort();
        free(words);
    }
    answer_rule_free(&answer);
    if (!read && !*failure.text) abort();
    return 0;
}
