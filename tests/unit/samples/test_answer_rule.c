/* SPDX-License-Identifier: MIT */
/* Answer rules: what is taken, which outputs they find, and what each mistake is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/blob.h"
#include "tools/base/file.h"
#include "tools/base/npy.h"
#include "tools/samples/rules/answer_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64], anchors_path[80];
static struct failure failure;

static int make_file(void **state) {
    (void)state;
    strcpy(path, "/tmp/morsel_test_XXXXXX");
    int fd = mkstemp(path);
    snprintf(anchors_path, sizeof anchors_path, "%s.npy", path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    unlink(anchors_path);
    return unlink(path);
}

static void put(const char *text) {
    assert_true(file_write(path, text, strlen(text), &failure));
}

/* The rule of the file beside a network; the record is all 0 where it does not fit. */
static struct morsel_blob_answer fit(const char *text, const struct answer_output *outputs, uint32_t count, uint32_t labels) {
    struct morsel_blob_answer record = {0};
    struct answer_rule rule;
    const struct answer_network network = {outputs, count, 240, 320, labels, 0};
    uint32_t *words = NULL;
    size_t size = 0;
    put(text);
    if (answer_rule_read(path, &rule, &failure) && answer_rule_fit(&rule, &network, &words, &size, &failure)) {
        memcpy(&record, words, sizeof record);
        assert_int_equal(size, sizeof record / 4 + 4 * (size_t)record.anchors);
    }
    free(words);
    answer_rule_free(&rule);
    return record;
}

static const struct answer_output one[] = {{"output0", 3, {1, 84, 8400}}};
static const struct answer_output end_to_end[] = {{"output0", 3, {1, 300, 6}}};
static const struct answer_output unsorted[] = {{"boxes", 3, {1, 300, 4}}, {"scores", 3, {1, 300, 91}}, {"more", 3, {1, 300, 32}}};
static const struct answer_output pair[] = {{"scores", 3, {1, 3234, 91}}, {"boxes", 3, {1, 3234, 4}}};

static void what_is_not_said_has_its_default(void **state) {
    (void)state;
    struct morsel_blob_answer r = fit("{\"kind\": \"detections\", \"head\": \"yolov8\"}", one, 1, 0);
    const struct morsel_blob_answer wanted = {.kind = MORSEL_ANSWER_DETECTIONS,
                                              .head = MORSEL_HEAD_YOLOV8,
                                              .flags = MORSEL_ANSWER_COLUMNS,
                                              .classes = 80,
                                              .most = 100,
                                              .threshold = 0.25f,
                                              .iou = 0.45f,
                                              .scale = {1, 1},
                                              .variance = {0.1f, 0.2f}};
    assert_memory_equal(&r, &wanted, sizeof r);
    r = fit("{\"kind\": \"detections\", \"head\": \"yolov10\"}", end_to_end, 1, 0);
    assert_int_equal(r.head, MORSEL_HEAD_YOLOV10);
    assert_true(r.iou == 1 && !r.flags && r.classes == MORSEL_ANSWER_MOST);
    r = fit("{\"kind\": \"detections\", \"head\": \"yolov10\"}", end_to_end, 1, 80);
    assert_int_equal(r.classes, 80);
    r = fit("{\"kind\": \"detections\", \"head\": \"yolov10\"}", unsorted, 3, 0); /* what is sorted out by the rule */
    assert_true(r.head == MORSEL_HEAD_SSD && r.output == 0 && r.scores == 1 && r.iou == 1 && !r.flags && r.classes == 91 &&
                r.scale[0] == 1);
}

static void every_key_is_read(void **state) {
    (void)state;
    struct morsel_blob_answer r =
        fit("{\"kind\": \"detections\", \"head\": \"ssd\", \"threshold\": 0.5, \"iou\": 0.75, \"most\": 7, \"output\": \"boxes\", "
            "\"scores\": 0,\n"
            " \"classes\": 91, \"activation\": \"softmax\", \"coordinates\": \"unit\", \"background\": true, \"order\": \"yx\",\n"
            " \"variances\": [0.5, 0.25]}",
            pair, 2, 0);
    const struct morsel_blob_answer wanted = {.kind = MORSEL_ANSWER_DETECTIONS,
                                              .head = MORSEL_HEAD_SSD,
                                              .flags = MORSEL_ANSWER_SOFTMAX | MORSEL_ANSWER_BACKGROUND | MORSEL_ANSWER_Y_FIRST,
                                              .output = 1,
                                              .classes = 91,
                                              .most = 7,
                                              .threshold = 0.5f,
                                              .iou = 0.75f,
                                              .scale = {320, 240},
                                              .variance = {0.5f, 0.25f}};
    assert_memory_equal(&r, &wanted, sizeof r);
    r = fit(
        "{\"kind\": \"detections\", \"head\": \"ssd\", \"activation\": \"sigmoid\", \"coordinates\": \"pixels\", \"background\": false}",
        pair, 2, 0);
    assert_int_equal(r.flags, MORSEL_ANSWER_SIGMOID);
    assert_true(r.output == 1 && r.scores == 0 && r.scale[0] == 1);
    static const struct answer_output line[] = {{"scores", 2, {1, 10}}};
    r = fit("{\"kind\": \"classes\", \"output\": 0, \"activation\": \"sigmoid\", \"most\": 2}", line, 1, 0);
    assert_true(r.kind == MORSEL_ANSWER_CLASSES && r.flags == MORSEL_ANSWER_SIGMOID && r.most == 2 && r.threshold == 0);
    r = fit("{\"kind\": \"classes\", \"output\": 0, \"softmax\": true, \"top\": 3, \"threshold\": 0.125}", line, 1, 0);
    assert_true(r.kind == MORSEL_ANSWER_CLASSES && r.output == 0 && r.flags == MORSEL_ANSWER_SOFTMAX && r.most == 3);
    assert_true(r.threshold == 0.125f);
    r = fit("{\"kind\": \"embedding\", \"output\": \"boxes\"}", pair, 2, 0);
    assert_true(r.kind == MORSEL_ANSWER_EMBEDDING && r.output == 1);
}

static void outputs_are_found_by_their_shapes(void **state) {
    (void)state;
    static const struct answer_output split[] = {{"x", 3, {1, 3, 40}}, {"boxes", 3, {1, 4, 2100}}, {"scores", 3, {1, 18, 2100}}};
    static const struct answer_output turned[] = {{"o", 3, {1, 8400, 84}}};
    struct morsel_blob_answer r = fit("{\"kind\": \"detections\", \"head\": \"yolov8\"}", split, 3, 18);
    assert_true(r.output == 1 && r.scores == 2 && r.classes == 18 && r.flags == MORSEL_ANSWER_COLUMNS);
    r = fit("{\"kind\": \"detections\", \"head\": \"yolov8\"}", turned, 1, 0);
    assert_true(r.classes == 80 && r.flags == 0);
    r = fit("{\"kind\": \"detections\", \"head\": \"yolov5\"}", turned, 1, 0);
    assert_true(r.classes == 79 && r.flags == 0);
}

static void anchors_stand_behind_the_rule(void **state) {
    (void)state;
    static const struct answer_output small[] = {{"b", 3, {1, 2, 4}}, {"s", 3, {1, 2, 3}}};
    static const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    char text[256];
    struct answer_rule rule;
    uint32_t *words = NULL;
    size_t size = 0;
    const struct answer_network network = {small, 2, 10, 20, 0, 0};
    assert_true(npy_write(anchors_path, NPY_FLOAT32, (uint64_t[]){2, 4}, 2, values, &failure));
    snprintf(text, sizeof text, "{\"kind\": \"detections\", \"head\": \"retinaface\", \"anchors\": \"%s\"}",
             strrchr(anchors_path, '/') + 1);
    put(text);
    assert_true(answer_rule_read(path, &rule, &failure));
    assert_true(answer_rule_fit(&rule, &network, &words, &size, &failure));
    assert_int_equal(size, sizeof(struct morsel_blob_answer) / 4 + 8);
    assert_memory_equal(words + sizeof(struct morsel_blob_answer) / 4, values, sizeof values);
    free(words);
    answer_rule_free(&rule);
    fit(text, pair, 2, 0);
    assert_non_null(strstr(failure.text, "\"anchors\" are 2, and output 1 has 3234 candidates"));
}

/* Of a picture of 320 x 240: 40 x 30, 20 x 15 and 10 x 8 cells, the last of which are cut; with 64 pixels 5 x 4 more. */
static void cells_of_a_yolox_become_anchors(void **state) {
    (void)state;
    static const struct answer_output usual[] = {{"o", 3, {1, 1580, 6}}}, larger[] = {{"o", 3, {1, 1600, 6}}};
    static const char text[] = "{\"kind\": \"detections\", \"head\": \"yolox\"}";
    struct answer_rule rule;
    uint32_t *words = NULL;
    size_t size = 0;
    const struct answer_network network = {usual, 1, 240, 320, 0, 0}, none = {usual, 1, 0, 0, 0, 0};
    put(text);
    assert_true(answer_rule_read(path, &rule, &failure) && answer_rule_fit(&rule, &network, &words, &size, &failure));
    const struct morsel_blob_answer *record = (const void *)words;
    const float *anchors = (const float *)(const void *)(record + 1);
    assert_true(record->head == MORSEL_HEAD_YOLOV5 && record->anchors == 1580 && record->classes == 1);
    assert_true(record->variance[0] == 1 && record->variance[1] == 1 && record->scale[0] == 1);
    assert_memory_equal(anchors + 4 * 41, ((float[]){8, 8, 8, 8}), 16);
    assert_memory_equal(anchors + 4 * 1201, ((float[]){16, 0, 16, 16}), 16);
    assert_memory_equal(anchors + 4 * 1579, ((float[]){9 * 32, 7 * 32, 32, 32}), 16);
    free(words);
    words = NULL;
    assert_false(answer_rule_fit(&rule, &none, &words, &size, &failure));
    assert_non_null(strstr(failure.text, "give a picture rule, too"));
    answer_rule_free(&rule);
    assert_int_equal(fit(text, larger, 1, 0).anchors, 1600);
    fit(text, one, 1, 0);
    assert_non_null(strstr(failure.text, "for each cell of 8, 16 and 32 pixels: 1580 of 320 x 240, and output 0 has 8400"));
    fit("{\"kind\": \"detections\", \"head\": \"yolox\", \"variances\": [1, 1]}", usual, 1, 0);
    assert_non_null(strstr(failure.text, "it takes neither \"variances\""));
    fit("{\"kind\": \"detections\", \"head\": \"yolox\", \"coordinates\": \"unit\"}", usual, 1, 0);
    assert_non_null(strstr(failure.text, "nor \"coordinates\" of unit size"));
}

/* A cell has as many anchors as there are candidates for it; 128 pixels: 3 x 2 more. */
static void cells_of_levels_have_anchors(void **state) {
    (void)state;
    static const struct answer_output two[] = {{"boxes", 3, {1, 3160, 4}}, {"scores", 3, {1, 3160, 1}}, {"points", 3, {1, 3160, 10}}};
    static const struct answer_output five[] = {{"boxes", 3, {1, 1606, 4}}, {"scores", 3, {1, 1606, 7}}};
    struct answer_rule rule;
    uint32_t *words = NULL;
    size_t size = 0;
    const struct answer_network network = {two, 3, 240, 320, 0, 0};
    put("{\"kind\": \"detections\", \"head\": \"scrfd\", \"cell\": \"centre\"}");
    assert_true(answer_rule_read(path, &rule, &failure) && answer_rule_fit(&rule, &network, &words, &size, &failure));
    const struct morsel_blob_answer *record = (const void *)words;
    const float *anchors = (const float *)(const void *)(record + 1);
    assert_true(record->head == MORSEL_HEAD_SSD && record->flags == MORSEL_ANSWER_DISTANCES && record->anchors == 3160);
    assert_true(record->output == 0 && record->scores == 1 && record->classes == 1 && record->iou == 0.4f);
    assert_memory_equal(anchors + 4 * 82, ((float[]){12, 12, 8, 8}), 16);
    assert_memory_equal(anchors + 4 * 83, ((float[]){12, 12, 8, 8}), 16);
    assert_memory_equal(anchors + 4 * 3159, ((float[]){9.5f * 32, 7.5f * 32, 32, 32}), 16);
    free(words);
    answer_rule_free(&rule);
    static const struct {
        const char *head;
        float iou, first[2]; /* the first cell's place */
        uint32_t flags;
    } usual[] = {{"scrfd", 0.4f, {0, 0}, MORSEL_ANSWER_DISTANCES},
                 {"yunet", 0.3f, {0, 0}, 0},
                 {"picodet", 0.5f, {4, 4}, MORSEL_ANSWER_DISTANCES},
                 {"nanodet", 0.6f, {0, 0}, MORSEL_ANSWER_DISTANCES}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        char text[100];
        snprintf(text, sizeof text, "{\"kind\": \"detections\", \"head\": \"%s\"}", usual[i].head);
        put(text);
        assert_true(answer_rule_read(path, &rule, &failure) && answer_rule_fit(&rule, &network, &words, &size, &failure));
        record = (const void *)words;
        assert_true(record->iou == usual[i].iou && record->flags == usual[i].flags && record->variance[0] == 1 && record->variance[1] == 1);
        assert_memory_equal(record + 1, usual[i].first, sizeof usual[i].first);
        free(words);
        answer_rule_free(&rule);
    }
    const struct answer_network pictures = {two, 3, 240, 320, 0, 2};
    assert_true(answer_rule_read(path, &rule, &failure) && !answer_rule_fit(&rule, &pictures, &words, &size, &failure));
    assert_non_null(strstr(failure.text, "output 0 has boxes of 1 pictures, and the network takes 2 at once"));
    answer_rule_free(&rule);
    assert_int_equal(fit("{\"kind\": \"detections\", \"head\": \"picodet\"}", five, 2, 7).anchors, 1606);
    assert_int_equal(fit("{\"kind\": \"detections\", \"head\": \"nanodet\"}", five, 2, 7).flags, MORSEL_ANSWER_DISTANCES);
    assert_int_equal(fit("{\"kind\": \"detections\", \"head\": \"yunet\"}", two, 3, 0).flags, 0);
    fit("{\"kind\": \"detections\", \"head\": \"yolox\"}", (struct answer_output[]){{"o", 3, {1, 3160, 6}}}, 1, 0);
    assert_non_null(strstr(failure.text, "1580 of 320 x 240, and output 0 has 3160"));
    fit("{\"kind\": \"detections\", \"head\": \"scrfd\"}", one, 1, 0);
    assert_non_null(strstr(failure.text, "head scrfd wants boxes and scores of each level in outputs of their own"));
    fit("{\"kind\": \"detections\", \"head\": \"scrfd\", \"bins\": 8}", two, 3, 0);
    assert_non_null(strstr(failure.text, "\"bins\" are of heads"));
    fit("{\"kind\": \"detections\", \"head\": \"picodet\", \"bins\": 65}", two, 3, 0);
    assert_non_null(strstr(failure.text, "\"bins\" is no whole number from 2 to 64"));
    fit("{\"kind\": \"detections\", \"head\": \"scrfd\"}", pair, 2, 0);
    assert_non_null(strstr(failure.text, "head scrfd wants a candidate for each cell of 8, 16 and 32 pixels: 1580 of 320 x 240"));
    fit("{\"kind\": \"detections\", \"head\": \"ssd\", \"cell\": \"centre\"}", pair, 2, 0);
    assert_non_null(strstr(failure.text, "\"cell\" is of heads \"scrfd\""));
    fit("{\"kind\": \"detections\", \"head\": \"yunet\", \"variances\": [1, 1]}", two, 3, 0);
    assert_non_null(strstr(failure.text, "head \"yunet\" has boxes in cells: it takes neither \"variances\""));
}

/* Without a picture rule 1 or 3 channels tell what a picture is; where neither is there, nothing is found. */
static void sides_are_of_the_first_input(void **state) {
    (void)state;
    static const struct answer_output inputs[] = {{"x", 4, {1, 3, 20, 30}}, {"x", 4, {1, 20, 30, 3}}, {"x", 4, {1, 1, 20, 30}},
                                                  {"x", 3, {3, 20, 30}},    {"x", 4, {1, 7, 20, 30}}, {"x", 2, {1, 3}}};
    struct morsel_blob_picture rule = {.channels = MORSEL_CHANNELS_RGB};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct answer_network network = {.output_count = 0};
        answer_rule_sides(&network, &inputs[i], NULL);
        assert_true(network.height == (i < 4 ? 20 : 0) && network.width == (i < 4 ? 30 : 0));
        network.height = 0;
        answer_rule_sides(&network, &inputs[i], &rule);
        assert_true(i == 2 || i == 4 || network.height == (i < 4 ? 20 : 0));
    }
}

static void maps_are_found_by_their_shapes(void **state) {
    (void)state;
    static const struct answer_output maps[] = {
        {"x", 2, {1, 9}}, {"aux", 3, {1, 60, 80}}, {"y", 4, {1, 21, 60, 80}}, {"z", 4, {1, 60, 80, 2}}, {"one", 4, {1, 1, 60, 80}}};
    struct morsel_blob_answer r = fit("{\"kind\": \"segmentation\"}", maps, 5, 0);
    assert_true(r.kind == MORSEL_ANSWER_SEGMENTATION && r.head == MORSEL_HEAD_SCORES && r.output == 2 && r.classes == 21);
    assert_true(r.flags == MORSEL_ANSWER_COLUMNS && r.threshold == 0.5f && r.most == 1);
    r = fit("{\"kind\": \"segmentation\", \"output\": \"z\", \"filter\": \"nearest\", \"background\": true}", maps, 5, 2);
    assert_true(r.output == 3 && r.classes == 2 && r.flags == (MORSEL_ANSWER_NEAREST | MORSEL_ANSWER_BACKGROUND));
    r = fit("{\"kind\": \"segmentation\", \"output\": \"z\"}", maps, 5, 0);
    assert_true(r.classes == 60 && r.flags == MORSEL_ANSWER_COLUMNS);
    r = fit("{\"kind\": \"segmentation\", \"output\": \"z\", \"layout\": \"hwc\"}", maps, 5, 0);
    assert_true(r.classes == 2 && r.flags == 0);
    r = fit("{\"kind\": \"segmentation\", \"output\": \"one\", \"activation\": \"sigmoid\", \"threshold\": 0.25}", maps, 5, 2);
    assert_true(r.classes == 1 && r.threshold == 0.25f);
    assert_int_equal(r.flags, MORSEL_ANSWER_COLUMNS | MORSEL_ANSWER_SIGMOID | MORSEL_ANSWER_BACKGROUND);
    r = fit("{\"kind\": \"segmentation\", \"output\": \"aux\", \"head\": \"indices\"}", maps, 5, 7);
    assert_true(r.head == MORSEL_HEAD_INDICES && r.classes == 7 && r.flags == 0);
    r = fit("{\"kind\": \"segmentation\", \"output\": \"aux\", \"head\": \"indices\"}", maps, 5, 0);
    assert_int_equal(r.classes, MORSEL_NO_CLASS);
    static const struct {
        const char *more, *told;
        uint32_t labels;
    } cases[] = {
        {"\"output\": \"x\"", "output 0 'x' is [1, 9]; a segmentation by scores wants [images, channels, height, width] or", 0},
        {"\"classes\": 20", "output 2 'y' is [1, 21, 60, 80]; a segmentation by scores wants [images, 20, height, width] or", 0},
        {"\"classes\": 256", "\"classes\" of a segmentation are 255 at most", 0},
        {"\"threshold\": 0.5", "\"threshold\" and \"activation\" are for one score a pixel", 0},
        {"\"filter\": \"cubic\"", "\"filter\" is none of \"linear\", \"nearest\"", 0},
        {"\"layout\": 1", "\"layout\" is none of \"chw\", \"hwc\"", 0},
        {"\"head\": \"ssd\"", "\"head\" is none of \"scores\", \"indices\"", 0},
        {"\"head\": \"indices\", \"filter\": \"nearest\"", "head \"indices\" has classes' numbers", 0},
        {"\"head\": \"indices\"", "output 2 'y' is [1, 21, 60, 80]; a segmentation by indices wants [images, 1, height, width]", 0},
        {"\"iou\": 1", "key \"iou\" is unknown", 0},
        {"\"background\": false", "there are 22 labels, and output 2 has classes of 21", 22},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[160];
        *failure.text = 0;
        snprintf(text, sizeof text, "{\"kind\": \"segmentation\", %s}", cases[i].more);
        r = fit(text, maps, 5, cases[i].labels);
        if (r.kind || !strstr(failure.text, cases[i].told)) fail_msg("%s: %s", text, failure.text);
    }
}

static void points_are_found_by_their_shapes(void **state) {
    (void)state;
    static const struct answer_output heat[] = {{"h", 4, {1, 17, 60, 80}}}, last[] = {{"h", 4, {1, 60, 80, 17}}},
                                      rows[] = {{"r", 3, {1, 17, 3}}}, columns[] = {{"c", 3, {1, 2, 17}}}, line[] = {{"l", 2, {1, 42}}},
                                      four[] = {{"m", 4, {1, 1, 17, 3}}};
#define HEAT "{\"kind\": \"points\", \"head\": \"heatmaps\""
#define NUMBERS "{\"kind\": \"points\", \"head\": \"coordinates\""
    struct morsel_blob_answer r = fit(HEAT "}", heat, 1, 0);
    assert_true(r.kind == MORSEL_ANSWER_POINTS && r.head == MORSEL_HEAD_HEATMAPS && r.classes == 17 && r.threshold == 0);
    assert_true(r.flags == (MORSEL_ANSWER_COLUMNS | MORSEL_ANSWER_QUARTER) && r.scale[0] == 4 && r.scale[1] == 4);
    r = fit(HEAT ", \"offset\": \"none\", \"cell\": \"centre\", \"activation\": \"sigmoid\", \"threshold\": 0.25}", last, 1, 17);
    assert_int_equal(r.flags, MORSEL_ANSWER_CENTRE | MORSEL_ANSWER_SIGMOID);
    assert_true(r.classes == 17 && r.scale[0] == 4 && r.threshold == 0.25f);
    r = fit(NUMBERS ", \"coordinates\": \"unit\", \"order\": \"yx\"}", rows, 1, 0);
    assert_true(r.classes == 17 && r.flags == MORSEL_ANSWER_Y_FIRST && r.scale[0] == 320 && r.scale[1] == 240);
    r = fit(NUMBERS "}", columns, 1, 0);
    assert_true(r.classes == 17 && r.flags == MORSEL_ANSWER_COLUMNS && r.scale[0] == 1);
    r = fit(NUMBERS "}", four, 1, 17);
    assert_true(r.classes == 17 && r.flags == 0);
    assert_int_equal(fit(NUMBERS "}", line, 1, 0).classes, 21);
    assert_int_equal(fit(NUMBERS "}", line, 1, 14).classes, 14);
    assert_int_equal(fit(NUMBERS ", \"numbers\": 3}", line, 1, 0).classes, 14);
    assert_int_equal(fit(NUMBERS ", \"points\": 14}", line, 1, 0).classes, 14);
    static const struct {
        const char *text, *told;
        const struct answer_output *output;
        uint32_t labels;
    } cases[] = {
        {"{\"kind\": \"points\"}", "key \"head\" is missing", heat, 0},
        {HEAT "}", "output 0 'r' is [1, 17, 3]; head heatmaps wants [images, channels", rows, 18},
        {HEAT ", \"points\": 16}", "head heatmaps wants [images, 16, height, width] or", heat, 0},
        {HEAT ", \"order\": \"yx\"}", "\"order\" is for head \"coordinates\"", heat, 0},
        {HEAT "}", "there are 18 labels, and output 0 has points of 17", heat, 18},
        {NUMBERS ", \"cell\": \"centre\"}", "\"cell\" is for head \"heatmaps\"", rows, 0},
        {NUMBERS ", \"numbers\": 4}", "\"numbers\" of a point are 2 or 3", rows, 0},
        {NUMBERS ", \"numbers\": 2}", "output 0 'r' is [1, 17, 3]; head coordinates wants [images, points, 2 or 3]", rows, 0},
        {NUMBERS ", \"points\": 16}", "head coordinates wants", rows, 0},
        {NUMBERS "}", "head coordinates wants", heat, 0},
        {NUMBERS ", \"points\": 4}", "[1, 42]; head coordinates wants", line, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        *failure.text = 0;
        r = fit(cases[i].text, cases[i].output, 1, cases[i].labels);
        if (r.kind || !strstr(failure.text, cases[i].told)) fail_msg("%s: %s", cases[i].text, failure.text);
    }
}

static void a_list_of_classes_is_no_detector(void **state) {
    (void)state;
    static const struct answer_output line[] = {{"logits", 2, {1, 10}}};
    assert_false(fit("{\"kind\": \"detections\", \"head\": \"yolov8\"}", line, 1, 0).kind);
    assert_string_equal(failure.text, "output 0 'logits' is [1, 10]; head yolov8 wants [images, candidates, 4 + classes] or "
                                      "[images, 4 + classes, candidates]");
    assert_false(fit("{\"kind\": \"detections\", \"head\": \"yolov5\"}", line, 1, 10).kind);
    assert_non_null(strstr(failure.text, "output 0 'logits' is [1, 10]; head yolov5 wants"));
}

static void mistakes_are_told(void **state) {
    (void)state;
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"[]", "it is not a JSON object"},
        {"{", "line 1 is not JSON"},
        {"{}", "key \"kind\" is missing"},
        {"{\"kind\": \"masks\"}", "\"kind\" is none of \"classes\", \"detections\", \"embedding\""},
        {"{\"kind\": \"detections\"}", "key \"head\" is missing"},
        {"{\"kind\": \"detections\", \"head\": \"yolov3\"}", "\"head\" is none of \"yolov5\", "},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"threshhold\": 1}", "did you mean \"threshold\"?"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"threshold\": 1.5}", "\"threshold\" is no number from 0 to 1"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"iou\": \"much\"}", "\"iou\" is no number from 0 to 1"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"most\": 0}", "\"most\" is no whole number from 1 to 65536"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"output\": -1}", "\"output\" wants the name of an output, or its number"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"output\": \"z\"}",
         "the network has no output 'z'; its outputs are 0: 'output0'"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"activation\": 1}",
         "\"activation\" is none of \"none\", \"sigmoid\", \"softmax\""},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"coordinates\": 1}", "\"coordinates\" is none of \"pixels\", \"unit\""},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"order\": 1}", "\"order\" is none of \"xy\", \"yx\""},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"background\": 1}", "\"background\" is neither true nor false"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"variances\": [1]}", "\"variances\" wants two numbers, as [0.1, 0.2]"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"anchors\": 1}", "\"anchors\" wants the name of an .npy file"},
        {"{\"kind\": \"detections\", \"head\": \"yolov8\", \"classes\": 81}",
         "output 0 'output0' is [1, 84, 8400]; head yolov8 wants [images, "
         "candidates, 4 + 81] or [images, 4 + 81, candidates]"},
        {"{\"kind\": \"detections\", \"head\": \"yolov10\"}", "head yolov10 wants [images, candidates, 6] or [images, 6, candidates]"},
        {"{\"kind\": \"detections\", \"head\": \"yolov5\", \"scores\": 0}", "head yolov5 has boxes and scores in one output"},
        {"{\"kind\": \"detections\", \"head\": \"retinaface\"}", "head \"retinaface\" wants \"anchors\""},
        {"{\"kind\": \"classes\", \"head\": \"yolov8\"}", "key \"head\" is unknown"},
        {"{\"kind\": \"classes\", \"softmax\": true, \"activation\": \"none\"}", "\"activation\" and \"softmax\" say the same"},
        {"{\"kind\": \"classes\"}", "output 0 'output0' is [1, 84, 8400]; classes are [images, classes], and all behind is 1"},
        {"{\"kind\": \"embedding\", \"softmax\": true}", "key \"softmax\" is unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        *failure.text = 0;
        struct morsel_blob_answer r = fit(cases[i].text, one, 1, 0);
        if (r.kind || !strstr(failure.text, cases[i].told)) fail_msg("%s: %s", cases[i].text, failure.text);
    }
    fit("{\"kind\": \"detections\", \"head\": \"yolov8\"}", one, 1, 81);
    assert_non_null(
        strstr(failure.text, "there are 81 labels, and output 0 has scores of 80: 'output0' is [1, 84, 8400], for head yolov8"));
    fit("{\"kind\": \"classes\", \"output\": \"boxes\"}", pair, 2, 0);
    assert_non_null(strstr(failure.text, "classes are told of the first output: make it 'boxes' by --output-node"));
    fit("{\"kind\": \"detections\", \"head\": \"ssd\", \"output\": 1, \"scores\": 0, \"classes\": 90}", pair, 2, 0);
    assert_non_null(strstr(failure.text, "\"classes\" is 90, and output 0 has scores of 91"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_said_has_its_default, make_file, remove_file),
        cmocka_unit_test_setup_teardown(every_key_is_read, make_file, remove_file),
        cmocka_unit_test_setup_teardown(outputs_are_found_by_their_shapes, make_file, remove_file),
        cmocka_unit_test_setup_teardown(anchors_stand_behind_the_rule, make_file, remove_file),
        cmocka_unit_test_setup_teardown(cells_of_a_yolox_become_anchors, make_file, remove_file),
        cmocka_unit_test_setup_teardown(cells_of_levels_have_anchors, make_file, remove_file),
        cmocka_unit_test(sides_are_of_the_first_input),
        cmocka_unit_test_setup_teardown(maps_are_found_by_their_shapes, make_file, remove_file),
        cmocka_unit_test_setup_teardown(points_are_found_by_their_shapes, make_file, remove_file),
        cmocka_unit_test_setup_teardown(a_list_of_classes_is_no_detector, make_file, remove_file),
        cmocka_unit_test_setup_teardown(mistakes_are_told, make_file, remove_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
