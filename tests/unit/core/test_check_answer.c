/* SPDX-License-Identifier: MIT */
/* The answer rule at its limits: the last value that opens, and the first that does not. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/blob.h"
#include "tests/unit/support/blob_builder.h"

/* What is opened: a network that copies its inputs, whose outputs have these shapes, and the rule. */
struct trial {
    uint32_t rank[2], dims[2][4];
    enum morsel_type type;
    enum morsel_layout layout; /* of the first input and output */
    uint32_t lines, columns;   /* the first output's shape to the graph; 0: as it lies in memory */
    uint32_t maps[4];          /* the first output to the graph; a 0 ends it, and in front it is as it lies in memory */
    uint32_t output_lack;      /* outputs that the header does not count; their records stand behind those that it does */
    struct morsel_blob_answer rule;
    uint32_t anchor_lack; /* words that the section is shorter than the rule says */
    uint32_t version;
    int nameless; /* a section all the same */
};

static const struct morsel_blob_answer yolov8 = {.kind = MORSEL_ANSWER_DETECTIONS,
                                                 .head = MORSEL_HEAD_YOLOV8,
                                                 .flags = MORSEL_ANSWER_COLUMNS,
                                                 .classes = 3,
                                                 .most = 100,
                                                 .threshold = 0.25f,
                                                 .iou = 0.45f,
                                                 .scale = {1, 1},
                                                 .variance = {0.1f, 0.2f}};

static enum morsel_error open_trial(const struct trial *trial) {
    static float anchors[4 * 64];
    struct builder b;
    struct morsel_model model;
    uint32_t bytes;
    builder_start(&b);
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t x = builder_tensor(&b, trial->type, trial->rank[k], trial->dims[k], 1, 0);
        uint32_t y = builder_tensor(&b, trial->type, trial->rank[k], trial->dims[k], 1, 0);
        uint32_t concat[2] = {1, 1};
        if (trial->rank[k] == 4) b.tensors[x].layout = b.tensors[y].layout = MORSEL_ROW_MAJOR;
        for (uint32_t d = 0; d < trial->rank[k]; d++) concat[1] *= trial->dims[k][d];
        if (!k && trial->layout) b.tensors[x].layout = b.tensors[y].layout = trial->layout;
        builder_step(&b, MORSEL_STEP_CONCAT, &x, 1, y, concat, sizeof concat, 0);
        builder_input(&b, x, k ? "x1" : "x0");
        builder_output(&b, y, k ? "y1" : "y0");
        for (uint32_t d = 0; d < trial->rank[k]; d++)
            b.inputs[k].onnx_dims[d] = b.outputs[k].onnx_dims[d] = trial->dims[k][d]; /* which are turned of rank 4 */
        for (int end = 0; end < 2 && !k && trial->lines; end++) {
            struct morsel_blob_io *io = end ? b.outputs : b.inputs;
            *io = (struct morsel_blob_io){io->tensor, io->onnx_type, 2, {trial->lines, trial->columns, 1, 1, 1, 1}, io->name};
        }
    }
    if (trial->maps[0]) b.outputs[0].onnx_rank = trial->maps[3] ? 4 : 3, memcpy(b.outputs[0].onnx_dims, trial->maps, sizeof trial->maps);
    builder_data(&b, anchors, 4);
    b.answer = trial->rule;
    if (trial->nameless) b.answer.kind = 1;
    b.answer.anchors = trial->rule.anchors < 64 ? trial->rule.anchors : 0;
    b.anchors = anchors;
    uint8_t *blob = builder_finish(&b, &bytes);
    struct morsel_blob_header *h = (void *)blob;
    if (h->answer.count) memcpy(blob + h->answer.offset, &trial->rule, sizeof trial->rule);
    h->answer.count -= trial->anchor_lack;
    h->outputs.count -= trial->output_lack;
    if (trial->version) h->format_version = trial->version;
    builder_seal(blob);
    enum morsel_error error = morsel_open(&model, blob, bytes, 0);
    assert_int_equal(morsel_answer_kind(&model, NULL), error || trial->version == 1 ? MORSEL_ANSWER_NONE : trial->rule.kind);
    free(blob);
    return error;
}

/* The network's first output is [1, 7, 5], the second one [1, 2, 5]: the sound rule is of the first alone. */
static struct trial sound(void) {
    return (struct trial){.rank = {3, 3}, .dims = {{1, 7, 5}, {1, 2, 5}}, .type = MORSEL_FLOAT32, .rule = yolov8};
}

#define OPENS(error, ...) \
    do { \
        struct trial t = sound(); \
        __VA_ARGS__; \
        enum morsel_error got = open_trial(&t); \
        if (got != (error)) fail_msg("%s: %s, not %s", #__VA_ARGS__, morsel_error_text(got), morsel_error_text(error)); \
    } while (0)
#define REFUSED(...) OPENS(MORSEL_ERR_ANSWER, __VA_ARGS__)
#define TAKEN(...) OPENS(MORSEL_OK, __VA_ARGS__)

static void every_kind_has_a_number(void **state) {
    (void)state;
    TAKEN((void)t);
    TAKEN(t.rule.kind = 0); /* there is none */
    REFUSED(t.rule.kind = 0, t.nameless = 1);
    TAKEN(t.rule.kind = MORSEL_ANSWER_CLASSES, t.dims[0][2] = 1);
    TAKEN(t.rule.kind = MORSEL_ANSWER_EMBEDDING);
    REFUSED(t.rule.kind = MORSEL_ANSWER_COUNT);
    REFUSED(t.rule.kind = 0xffffffff);
    REFUSED(t.rule.flags |= MORSEL_ANSWER_FLAGS + 1);
    REFUSED(t.rule.flags |= 0x80000000);
    TAKEN(t.rule.flags |= MORSEL_ANSWER_FLAGS);
    for (uint32_t lack = 1; lack < sizeof yolov8 / 4; lack++) REFUSED(t.anchor_lack = lack);
}

static void blobs_of_version_1_have_none(void **state) {
    (void)state;
    TAKEN(t.version = 1, t.rule.kind = 77);
    REFUSED(t.version = 2, t.rule.kind = 77);
}

static void outputs_are_those_there_are(void **state) {
    (void)state;
    const struct morsel_blob_answer classes = {.kind = MORSEL_ANSWER_CLASSES, .most = 1};
    TAKEN(t.rule = classes, t.dims[0][2] = 1);
    TAKEN(t.rule = classes, t.rule.output = 1, t.dims[1][2] = 1);
    REFUSED(t.rule = classes, t.rule.output = 2);
    REFUSED(t.rule = classes, t.rule.output = 0xffffffff);
    REFUSED(t.rule.output = 2);
    REFUSED(t.rule.scores = 2);
    REFUSED(t.rule.scores = 0xffffffff);
    REFUSED(t.dims[0][1] = 4, t.rule.classes = 2, t.rule.scores = 1, t.output_lack = 1);
    REFUSED(t.rule = classes, t.rule.output = 1, t.dims[1][2] = 1, t.output_lack = 1);
}

static void numbers_are_in_their_ranges(void **state) {
    (void)state;
    static const float wrong[] = {-0.001f, 1.0000001f, 1.001f, -0.0f, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REFUSED(t.rule.threshold = wrong[i]);
        REFUSED(t.rule.iou = wrong[i]);
    }
    TAKEN(t.rule.threshold = 0, t.rule.iou = 0);
    TAKEN(t.rule.threshold = 1, t.rule.iou = 1);
    REFUSED(t.rule.most = 0);
    TAKEN(t.rule.most = 1);
    TAKEN(t.rule.most = MORSEL_ANSWER_MOST);
    REFUSED(t.rule.most = MORSEL_ANSWER_MOST + 1);
    for (int k = 0; k < 2; k++) {
        REFUSED(t.rule.scale[k] = 0);
        REFUSED(t.rule.scale[k] = -1);
        REFUSED(t.rule.scale[k] = NAN);
        REFUSED(t.rule.scale[k] = INFINITY);
        REFUSED(t.rule.variance[k] = NAN);
        REFUSED(t.rule.variance[k] = -INFINITY);
        TAKEN(t.rule.scale[k] = FLT_MAX);
        TAKEN(t.rule.scale[k] = 1e-45f);
        TAKEN(t.rule.variance[k] = -1);
    }
}

static void heads_have_their_shapes(void **state) {
    (void)state;
    REFUSED(t.rule.head = 0);
    REFUSED(t.rule.head = MORSEL_HEAD_SSD + 1);
    for (uint32_t rows = 0; rows < 2; rows++)
        for (uint32_t parts = 1; parts < 12; parts++)
            for (uint32_t head = MORSEL_HEAD_YOLOV5; head <= MORSEL_HEAD_SSD; head++) {
                uint32_t right = head == MORSEL_HEAD_YOLOV10 ? 6 : head == MORSEL_HEAD_YOLOV5 ? 8 : 7;
                OPENS(parts == right ? MORSEL_OK : MORSEL_ERR_ANSWER, t.rule.head = head, t.rule.flags = rows ? 0 : MORSEL_ANSWER_COLUMNS,
                      t.dims[0][1 + rows] = parts, t.dims[0][2 - rows] = 9);
            }
    REFUSED(t.rule.classes = 0, t.dims[0][1] = 4);
    REFUSED(t.rule.classes = 4);
    REFUSED(t.rule.classes = 0xfffffffc, t.dims[0][1] = 8); /* 4 more than that wraps */
    REFUSED(t.rule.classes = 0xffffffff, t.dims[0][1] = 3);
    REFUSED(t.type = MORSEL_INT32);
    TAKEN(t.type = MORSEL_INT8);
    TAKEN(t.rank[0] = 2, t.dims[0][0] = 7, t.dims[0][1] = 5);
    REFUSED(t.rank[0] = 1, t.dims[0][0] = 7);
    TAKEN(t.dims[0][0] = 4); /* a batch */
}

static void two_outputs_agree(void **state) {
    (void)state;
#define PAIR t.dims[0][1] = 4, t.rule.scores = 1, t.rule.classes = 2
    TAKEN(PAIR);
    TAKEN(PAIR, t.rule.head = MORSEL_HEAD_SSD);
    REFUSED(PAIR, t.rule.head = MORSEL_HEAD_YOLOV5);
    REFUSED(PAIR, t.rule.head = MORSEL_HEAD_YOLOV10);
    REFUSED(PAIR, t.dims[0][1] = 5);
    REFUSED(PAIR, t.rule.scores = 2);
    REFUSED(PAIR, t.rule.scores = 0xffffffff);
    REFUSED(PAIR, t.rule.classes = 3);
    REFUSED(PAIR, t.dims[1][2] = 6); /* candidates */
    REFUSED(PAIR, t.dims[1][0] = 2); /* images */
    TAKEN(PAIR, t.dims[1][0] = 2, t.dims[0][0] = 2);
    REFUSED(PAIR, t.rank[1] = 1, t.dims[1][0] = 10);
}

static void anchors_are_one_a_candidate(void **state) {
    (void)state;
#define SSD t.rule.head = MORSEL_HEAD_SSD
    TAKEN(SSD, t.rule.anchors = 5);
    REFUSED(SSD, t.rule.anchors = 4);
    REFUSED(SSD, t.rule.anchors = 6);
    REFUSED(SSD, t.rule.anchors = 5, t.anchor_lack = 1);
    REFUSED(SSD, t.rule.anchors = 0x40000005);
    REFUSED(t.rule.anchors = 5);
}

/* Of maps the channels are counted where they stand, and sides have a limit. */
static void segmentations_have_their_maps(void **state) {
    (void)state;
#define MAP(a, b, c) \
    t.rule.kind = MORSEL_ANSWER_SEGMENTATION, t.rule.head = MORSEL_HEAD_SCORES, t.rank[0] = 4, t.dims[0][0] = 1, t.dims[0][1] = a, \
    t.dims[0][2] = b, t.dims[0][3] = c
    TAKEN(MAP(3, 5, 7));
    TAKEN(MAP(3, 5, 7), t.dims[0][0] = 2, t.type = MORSEL_INT8);
    TAKEN(MAP(5, 7, 3), t.rule.flags = 0);
    REFUSED(MAP(5, 7, 3));
    REFUSED(MAP(3, 5, 7), t.rule.flags = 0);
    REFUSED(MAP(3, 5, 7), t.type = MORSEL_INT32);
    REFUSED(MAP(3, 5, 7), t.rule.output = 1);
    REFUSED(MAP(3, 5, 7), t.rule.head = 0);
    REFUSED(MAP(3, 5, 7), t.rule.head = MORSEL_HEAD_SSD);
    REFUSED(MAP(3, 5, 7), t.rule.head = MORSEL_HEAD_INDICES + 1);
    REFUSED(MAP(0, 5, 7), t.dims[0][1] = 1, t.rule.classes = 0);
    TAKEN(MAP(255, 1, 2), t.rule.classes = 255);
    REFUSED(MAP(256, 1, 2), t.rule.classes = 256);
    TAKEN(MAP(3, 1, 32768));
    TAKEN(MAP(3, 32768, 1));
    REFUSED(MAP(3, 1, 32769));
    REFUSED(MAP(3, 32769, 1));
    TAKEN(MAP(1, 5, 7), t.rule.head = MORSEL_HEAD_INDICES);
    TAKEN(MAP(1, 5, 7), t.rule.head = MORSEL_HEAD_INDICES, t.rule.classes = 255);
    REFUSED(MAP(1, 5, 7), t.rule.head = MORSEL_HEAD_INDICES, t.rule.classes = 256);
    REFUSED(MAP(3, 5, 7), t.rule.head = MORSEL_HEAD_INDICES);
    TAKEN(MAP(5, 7, 1), t.rank[0] = 3, t.rule.flags = 0, t.rule.classes = 1);
    REFUSED(MAP(1, 5, 7), t.rank[0] = 3, t.rule.classes = 1);
    REFUSED(MAP(5, 7, 1), t.rank[0] = 2, t.rule.flags = 0, t.rule.classes = 1);
#define LAST(a, b, c, d) t.rule.classes = 1, t.layout = MORSEL_CHANNELS_LAST, t.maps[0] = a, t.maps[1] = b, t.maps[2] = c, t.maps[3] = d
    TAKEN(MAP(7, 1, 1), t.rank[0] = 2, t.dims[0][0] = 5, t.rule.flags = 0, LAST(1, 5, 7, 0));
    REFUSED(MAP(7, 7, 1), t.rank[0] = 3, LAST(1, 1, 7, 7));
}

static void points_have_maps_or_numbers(void **state) {
    (void)state;
#define HEAT(a, b, c) MAP(a, b, c), t.rule.kind = MORSEL_ANSWER_POINTS, t.rule.head = MORSEL_HEAD_HEATMAPS
#define NUMBERS(a, b) \
    t.rule.kind = MORSEL_ANSWER_POINTS, t.rule.head = MORSEL_HEAD_COORDINATES, t.rule.flags = 0, t.dims[0][1] = a, t.dims[0][2] = b
    TAKEN(HEAT(3, 5, 7));
    REFUSED(HEAT(4, 5, 7));
    REFUSED(HEAT(3, 5, 7), t.rule.head = MORSEL_HEAD_COORDINATES + 1);
    REFUSED(HEAT(3, 5, 7), t.rule.head = 0);
    REFUSED(HEAT(3, 5, 7), t.rule.scale[1] = 0);
    REFUSED(HEAT(3, 5, 7), t.rule.scale[0] = INFINITY);
    REFUSED(HEAT(3, 1, 32769));
    TAKEN(HEAT(300, 1, 2), t.rule.classes = 300);
    TAKEN(NUMBERS(3, 2));
    TAKEN(NUMBERS(3, 3));
    REFUSED(NUMBERS(3, 3), t.rule.head = MORSEL_HEAD_COORDINATES + 1);
    REFUSED(NUMBERS(3, 1));
    REFUSED(NUMBERS(3, 4));
    REFUSED(NUMBERS(2, 3));
    REFUSED(NUMBERS(3, 2), t.type = MORSEL_INT32);
    REFUSED(NUMBERS(3, 2), t.rule.classes = 0);
    TAKEN(NUMBERS(2, 3), t.rule.flags = MORSEL_ANSWER_COLUMNS);
    REFUSED(NUMBERS(4, 3), t.rule.flags = MORSEL_ANSWER_COLUMNS);
    TAKEN(NUMBERS(6, 1), t.rank[0] = 2);
    TAKEN(NUMBERS(9, 1), t.rank[0] = 2);
    REFUSED(NUMBERS(8, 1), t.rank[0] = 2);
    REFUSED(NUMBERS(9, 1), t.rank[0] = 2, t.rule.classes = 0);
    REFUSED(NUMBERS(6, 1), t.rank[0] = 1, t.dims[0][0] = 6);
    TAKEN(NUMBERS(1, 3), t.rank[0] = 4, t.dims[0][3] = 2);
    REFUSED(NUMBERS(2, 3), t.rank[0] = 4, t.dims[0][3] = 2);
}

static void classes_are_a_line(void **state) {
    (void)state;
#define LINE(r, a, b, c) \
    t.rule.kind = MORSEL_ANSWER_CLASSES, t.rank[0] = r, t.dims[0][0] = a, t.dims[0][1] = b, t.dims[0][2] = c, t.dims[0][3] = 1
    TAKEN(LINE(1, 7, 1, 1));
    TAKEN(LINE(2, 1, 7, 1));
    TAKEN(LINE(2, 3, 7, 1));
    TAKEN(LINE(4, 3, 7, 1));
    TAKEN(LINE(2, 1, 7, 1), t.type = MORSEL_UINT8);
    REFUSED(LINE(2, 1, 7, 1), t.type = MORSEL_INT32);
    REFUSED(LINE(3, 1, 7, 2));
    REFUSED(LINE(4, 1, 7, 1), t.dims[0][3] = 2);
}

static void embeddings_have_a_dimension(void **state) {
    (void)state;
#define VECTOR t.rule.kind = MORSEL_ANSWER_EMBEDDING
    TAKEN(VECTOR);
    TAKEN(VECTOR, t.rule.flags = MORSEL_ANSWER_NORMALIZE);
    TAKEN(VECTOR, t.rank[0] = 1, t.dims[0][0] = 7);
    REFUSED(VECTOR, t.rank[0] = 0);
    REFUSED(VECTOR, t.type = MORSEL_INT32);
    REFUSED(VECTOR, t.rule.output = 2);
}

/* Where channels are last in memory its first dimension is the images; two dimensions, and other layouts, may lie as they like. */
static void images_are_in_front(void **state) {
    (void)state;
#define IN_FRONT(r, a, b, c) LINE(r, a, b, c), t.layout = MORSEL_CHANNELS_LAST, t.lines = 2, t.columns = 7
    TAKEN(IN_FRONT(3, 2, 1, 7));
    REFUSED(IN_FRONT(3, 1, 2, 7));
    REFUSED(IN_FRONT(3, 1, 2, 7), t.rule.kind = MORSEL_ANSWER_EMBEDDING);
    TAKEN(IN_FRONT(3, 1, 2, 7), t.layout = MORSEL_ROW_MAJOR);
    TAKEN(IN_FRONT(2, 1, 14, 1));
}

/* Of a section that lies outside nothing is read. It may end where the blob ends, and no word behind that. */
static void the_section_lies_in_the_blob(void **state) {
    (void)state;
    for (int way = 0; way < 7; way++) {
        struct builder b;
        struct morsel_model model;
        uint32_t bytes, concat[2] = {1, 35}, dims[3] = {1, 7, 5};
        builder_start(&b);
        builder_tensor(&b, MORSEL_FLOAT32, 3, dims, 1, 0);
        builder_tensor(&b, MORSEL_FLOAT32, 3, dims, 1, 0);
        builder_step(&b, MORSEL_STEP_CONCAT, (uint32_t[]){0}, 1, 1, concat, sizeof concat, 0);
        builder_data(&b, concat, 4);
        builder_input(&b, 0, "x");
        builder_output(&b, 1, "y");
        b.answer = yolov8;
        uint8_t *blob = builder_finish(&b, &bytes);
        struct morsel_blob_header *h = (void *)blob;
        if (way == 1) h->answer.offset += 4;
        if (way == 2) h->answer.offset = h->blob_bytes + 64;
        if (way == 3) h->answer.count = 0xffffffff;
        if (way == 4) h->answer.offset = 64;
        if (way >= 5) h->answer.count = (h->blob_bytes - h->answer.offset) / 4 + (way == 6);
        builder_seal(blob);
        assert_int_equal(morsel_open(&model, blob, bytes, 0), way && way != 5 ? MORSEL_ERR_SECTION : MORSEL_OK);
        free(blob);
    }
}

/* Memory [N, H, W, C] is [N, C, H * W] to the graph, and nothing else of rank 3. The last two shapes are of a
 * batch of 2 that is not named, and of integers. */
static void channels_that_are_last_are_the_second_dimension(void **state) {
    (void)state;
    static const uint32_t shapes[][3] = {{1, 7, 20}, {1, 20, 7}, {1, 4, 35}, {1, 10, 14}, {1, 7, 20}, {1, 7, 20}};
    for (size_t i = 0; i < 6; i++)
        for (uint32_t columns = 0; columns < 3; columns++) { /* 2: a map */
            struct builder b;
            struct morsel_model model;
            uint32_t bytes, concat[2] = {1, 140}, dims[4] = {1 + (i == 4), 4 - 2 * (i == 4), 5, 7};
            builder_start(&b);
            builder_tensor(&b, i == 5 ? MORSEL_INT32 : MORSEL_FLOAT32, 4, dims, 1, 0);
            builder_tensor(&b, i == 5 ? MORSEL_INT32 : MORSEL_FLOAT32, 4, dims, 1, 0);
            builder_step(&b, MORSEL_STEP_CONCAT, (uint32_t[]){0}, 1, 1, concat, sizeof concat, 0);
            builder_data(&b, concat, 4);
            builder_input(&b, 0, "x");
            builder_output(&b, 1, "y");
            b.outputs[0].onnx_rank = 3;
            memcpy(b.outputs[0].onnx_dims, shapes[i], sizeof shapes[i]);
            b.answer = yolov8;
            b.answer.flags = columns % 2;
            b.answer.classes = columns < 2 ? shapes[i][2 - columns] - 4 : 1;
            if (columns == 2) b.answer.kind = MORSEL_ANSWER_SEGMENTATION, b.answer.head = MORSEL_HEAD_SCORES;
            uint8_t *blob = builder_finish(&b, &bytes);
            enum morsel_error error = morsel_open(&model, blob, bytes, 0);
            assert_int_equal(error, i == 0 && b.answer.classes ? MORSEL_OK : MORSEL_ERR_ANSWER);
            free(blob);
        }
}

/* So it is where memory is [N, L, C]; two dimensions are lines and columns, whatever the layout is called. */
static void few_dimensions_have_channels_too(void **state) {
    (void)state;
#define LINES t.layout = MORSEL_CHANNELS_LAST, t.dims[0][1] = 5, t.dims[0][2] = 7
    TAKEN(LINES, t.lines = 7, t.columns = 5);
    REFUSED(LINES, t.lines = 5, t.columns = 7, t.rule.flags = 0);
    REFUSED(LINES, t.lines = 7, t.columns = 5, t.dims[0][0] = 5, t.dims[0][1] = 1);
    TAKEN(t.layout = MORSEL_CHANNELS_LAST, t.rank[0] = 2, t.dims[0][0] = 7, t.dims[0][1] = 5, t.lines = 7, t.columns = 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_number),          cmocka_unit_test(blobs_of_version_1_have_none),
        cmocka_unit_test(outputs_are_those_there_are),      cmocka_unit_test(numbers_are_in_their_ranges),
        cmocka_unit_test(heads_have_their_shapes),          cmocka_unit_test(two_outputs_agree),
        cmocka_unit_test(anchors_are_one_a_candidate),      cmocka_unit_test(segmentations_have_their_maps),
        cmocka_unit_test(points_have_maps_or_numbers),      cmocka_unit_test(classes_are_a_line),
        cmocka_unit_test(embeddings_have_a_dimension),      cmocka_unit_test(images_are_in_front),
        cmocka_unit_test(the_section_lies_in_the_blob),     cmocka_unit_test(channels_that_are_last_are_the_second_dimension),
        cmocka_unit_test(few_dimensions_have_channels_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
