/* SPDX-License-Identifier: MIT */
/*
 * make_files FOLDER: the blobs, arrays and pictures that the scripts beside it call the tool with.
 *
 *   color.morsel   a picture's mean red, green and blue: 3 classes with labels, a rule for pictures. x float32 [1, 3, 4, 4]
 *   color2.morsel  the same for a batch of 2
 *   bytes.morsel   uint8 [1, 3, 2, 2] to the same uint8 [1, 3, 2, 2]
 *   order.morsel   copies in memory, so that pixels become planes and back: line [12] to to_planes [1, 3, 2, 2], planes to to_line
 *   stream.morsel  a built-in network whose steps stream, and whole.morsel, the same step by step
 *   most.onnx, too_long.onnx  as many nodes as a blob may have tensors for, and more than it may have steps
 *   named.onnx     200 nodes, each with the same name of 30,000 letters
 *   behind_pads.onnx, two_pads.onnx, denormal.onnx  a pool whose windows begin behind its input, a Pad with pads both as an input and
 *                  as an attribute, a product whose output's scale is denormal; each between bytes
 *   missing.onnx   in float, an Einsum whose first input is missing
 *   chosen.onnx    in float, a table whose lines are chosen by what a layer makes
 *   fused.onnx     in float, a layer with its activation in one node, as ONNX Runtime has it
 *   quotes.onnx    in float, a value with quotes in its name before a node that is refused
 *   ids.morsel     ids int32 [1, 4] to float32 [1, 4], by a text rule without tokens; a second variant gives uint8 [1, 4]
 *   two.morsel     a, b float32 [2, 3] to sum = a + b and minus = -a
 *   hostile.onnx   float_small.onnx, whose names hold all that could steer a terminal; hostile_op.onnx has such an operator, too
 *   data_*.npy     samples to quantize float_small.onnx by: sound ones and strange ones, float32 [N, 3, 32, 32]
 */
#include "tests/unit/support/blob_builder.h"
#include "tests/unit/support/joined.h"
#include "tests/unit/support/onnx_file.h"
#include "tools/base/message.h"
#include "tools/base/file.h"
#include "tools/net/nets.h"
#include "tools/base/npy.h"

#include "onnx.pb-c.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

static const char *folder;

static void write_file(const char *name, const void *data, size_t size) {
    char path[4096];
    struct failure failure;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!file_write(path, data, size, &failure)) exit(message_failure(&failure));
}

static void write_array(const char *name, enum npy_type type, uint32_t rank, const uint64_t *dims, const void *data) {
    char path[4096];
    struct failure failure;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!npy_write(path, type, dims, rank, data, &failure)) exit(message_failure(&failure));
}

static void finish(struct builder *builder, const char *name) {
    uint32_t bytes;
    uint8_t *blob = builder_finish(builder, &bytes);
    write_file(name, blob, bytes);
    free(blob);
}

static void make_color(const char *name, uint32_t batch, const char *const labels[3]) {
    struct builder b;
    const uint32_t x_dims[] = {batch, 4, 4, 3}, y_dims[] = {batch, 3};
    const struct morsel_blob_mean mean = {.outer = batch, .count = 16, .inner = 3, .multiplier = 1.0f / 16, .out_max = 255};
    const struct morsel_blob_unary unary = {.op = MORSEL_UNARY_IDENTITY, .count = batch * 3, .channels = 1};
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_UINT8, 4, x_dims, 1.0f / 255, 0);
    uint32_t means = builder_tensor(&b, MORSEL_UINT8, 2, y_dims, 8.0f / 255, 0);
    uint32_t y = builder_tensor(&b, MORSEL_FLOAT32, 2, y_dims, 1, 0);
    builder_step(&b, MORSEL_STEP_MEAN, &x, 1, means, &mean, sizeof mean, 0);
    builder_step(&b, MORSEL_STEP_UNARY, &means, 1, y, &unary, sizeof unary, 0);
    builder_input(&b, x, "x");
    b.inputs[0].onnx_type = MORSEL_FLOAT32;
    builder_output(&b, y, "scores");
    for (int i = 0; i < 3; i++) builder_label(&b, labels[i]);
    b.picture_count = 1;
    b.picture = (struct morsel_blob_picture){
        .resize = MORSEL_RESIZE_EXACT, .resize_height = 4, .resize_width = 4, .scale = 1.0f / 255, .std = {1, 1, 1}};
    finish(&b, name);
}

/* A copy of 12 bytes, whatever the shapes. */
static void copy_step(struct builder *b, uint32_t x, uint32_t y) {
    struct morsel_blob_gather gather = {.rank = 1, .dims = {12, 1, 1, 1, 1, 1}};
    int32_t table[12];
    for (int i = 0; i < 12; i++) table[i] = i;
    gather.table = builder_data(b, table, sizeof table);
    builder_step(b, MORSEL_STEP_GATHER, &x, 1, y, &gather, sizeof gather, 0);
}

static void make_bytes(void) {
    struct builder b;
    const uint32_t dims[] = {1, 2, 2, 3};
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0), y = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0);
    memcpy(b.strings + b.tensors[y].name, "<\"&\1\377\xef", 6); /* a name that XML wants care for */
    copy_step(&b, x, y);
    builder_input(&b, x, "x");
    builder_output(&b, y, "y");
    finish(&b, "bytes.morsel");
}

static void make_order(void) {
    struct builder b;
    const uint32_t dims[] = {1, 2, 2, 3}, flat[] = {12};
    builder_start(&b);
    uint32_t line = builder_tensor(&b, MORSEL_UINT8, 1, flat, 1, 0), planes = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0);
    uint32_t to_planes = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0), to_line = builder_tensor(&b, MORSEL_UINT8, 1, flat, 1, 0);
    copy_step(&b, line, to_planes);
    copy_step(&b, planes, to_line);
    builder_input(&b, line, "line");
    builder_input(&b, planes, "planes");
    builder_output(&b, to_planes, "to_planes");
    builder_output(&b, to_line, "to_line");
    finish(&b, "order.morsel");
}

static void make_two(void) {
    struct builder b;
    const uint32_t dims[] = {2, 3};
    const struct morsel_blob_binary add = {.op = MORSEL_BINARY_ADD,
                                           .rank = 1,
                                           .dims = {6, 1, 1, 1, 1, 1},
                                           .a_stride = {1},
                                           .b_stride = {1},
                                           .float_min = -__builtin_inff(),
                                           .float_max = __builtin_inff()};
    const struct morsel_blob_unary negate = {.op = MORSEL_UNARY_NEG, .count = 6, .channels = 1};
    builder_start(&b);
    uint32_t in[2] = {builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0), builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0)};
    uint32_t sum = builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0), minus = builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0);
    builder_step(&b, MORSEL_STEP_BINARY, in, 2, sum, &add, sizeof add, 0);
    builder_step(&b, MORSEL_STEP_UNARY, in, 1, minus, &negate, sizeof negate, 0);
    builder_input(&b, in[0], "a");
    builder_input(&b, in[1], "b");
    builder_output(&b, sum, "sum");
    builder_output(&b, minus, "minus");
    finish(&b, "two.morsel");
}

static void make_net(const char *name, bool no_streaming) {
    struct file_bytes blob;
    struct failure failure;
    if (!nets_blob("resnet8-32", no_streaming, 1, &blob, &failure)) /* the least arena: much streams, whatever the default is */
        exit(message_failure(&failure));
    write_file(name, blob.data, blob.size);
    file_free(&blob);
}

static void make_arrays(void) {
    uint8_t bytes[36], line[12], planes[12];
    float a[12], b[12], sum[12], minus[12], colors[3 * 48];
    double wide[6];
    for (int i = 0; i < 36; i++) bytes[i] = (uint8_t)(7 * i);
    for (int i = 0; i < 12; i++) {
        a[i] = 0.25f * (float)i;
        b[i] = (float)(100 - i);
        sum[i] = a[i] + b[i];
        minus[i] = -a[i];
    }
    for (int i = 0; i < 12; i++) { /* pixel i / 3, channel i % 3 */
        line[i] = (uint8_t)i;
        planes[i % 3 * 4 + i / 3] = (uint8_t)i;
    }
    for (int i = 0; i < 6; i++) wide[i] = a[i];
    for (int i = 0; i < 3 * 48; i++) /* picture n is all of color n */
        colors[i] = i / 48 == i % 48 / 16 ? 1 : 0;
    write_array("bytes.npy", NPY_UINT8, 4, (const uint64_t[]){1, 3, 2, 2}, bytes);
    write_array("line.npy", NPY_UINT8, 1, (const uint64_t[]){12}, line);
    write_array("planes.npy", NPY_UINT8, 4, (const uint64_t[]){1, 3, 2, 2}, planes);
    write_array("bytes3.npy", NPY_UINT8, 4, (const uint64_t[]){3, 3, 2, 2}, bytes);
    write_array("bytes_shape.npy", NPY_UINT8, 4, (const uint64_t[]){1, 2, 2, 3}, bytes);
    write_array("bytes_none.npy", NPY_UINT8, 4, (const uint64_t[]){0, 3, 2, 2}, bytes);
    write_array("bytes_type.npy", NPY_INT8, 4, (const uint64_t[]){1, 3, 2, 2}, bytes);
    write_array("a.npy", NPY_FLOAT32, 2, (const uint64_t[]){4, 3}, a);
    write_array("b.npy", NPY_FLOAT32, 2, (const uint64_t[]){4, 3}, b);
    write_array("sum.npy", NPY_FLOAT32, 2, (const uint64_t[]){4, 3}, sum);
    write_array("minus.npy", NPY_FLOAT32, 2, (const uint64_t[]){4, 3}, minus);
    write_array("a2.npy", NPY_FLOAT32, 2, (const uint64_t[]){2, 3}, a);
    write_array("a2_wide.npy", NPY_FLOAT64, 2, (const uint64_t[]){2, 3}, wide);
    write_array("minus2.npy", NPY_FLOAT32, 2, (const uint64_t[]){2, 3}, minus);
    write_array("colors.npy", NPY_FLOAT32, 4, (const uint64_t[]){3, 3, 4, 4}, colors);
}

enum { SAMPLES = 8, PLANE = 32 * 32, SAMPLE = 3 * PLANE };

static void write_samples(const char *name, uint64_t count, uint64_t side, const float *numbers) {
    write_array(name, NPY_FLOAT32, 4, (const uint64_t[]){count, 3, side, side}, numbers);
}

/* Noise within -2 .. 2, and the same with one thing wrong. */
static void make_samples(void) {
    static float numbers[SAMPLES * SAMPLE];
    uint32_t random = 1;
    for (int i = 0; i < SAMPLES * SAMPLE; i++) {
        random = random * 1664525 + 1013904223;
        numbers[i] = (float)(int32_t)random * 0x1p-30f;
    }
    write_samples("data_sound.npy", SAMPLES, 32, numbers);
    write_samples("data_two.npy", 2, 32, numbers);
    write_samples("data_none.npy", 0, 32, numbers);
    write_samples("data_small.npy", SAMPLES, 16, numbers);
    static const float odd[] = {1e6f, -1e6f, NAN, INFINITY, 3e38f};
    static const char *const names[] = {"data_outlier.npy", "data_below.npy", "data_nan.npy", "data_infinite.npy", "data_huge.npy"};
    for (int i = 0; i < 5; i++) {
        float kept = numbers[5000];
        numbers[5000] = odd[i];
        write_samples(names[i], SAMPLES, 32, numbers);
        numbers[5000] = kept;
    }
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < PLANE; k++) numbers[i * SAMPLE + PLANE + k] = 0.5f;
    write_samples("data_channel.npy", SAMPLES, 32, numbers); /* the second channel is constant */
    memset(numbers, 0, sizeof numbers);
    write_samples("data_zeros.npy", SAMPLES, 32, numbers);
}

/* One colour all over. */
static void make_picture(const char *name, int width, int height, const uint8_t rgb[3]) {
    uint8_t file[8192];
    size_t at = (size_t)snprintf((char *)file, sizeof file, "P6\n# one colour\n%d %d\n255\n", width, height);
    for (int i = 0; i < width * height; i++, at += 3) memcpy(file + at, rgb, 3);
    write_file(name, file, at);
}

static void make_compressed(void) {
    uint8_t png_file[4096], rgb[8 * 8 * 3], *jpeg_file = NULL;
    unsigned long jpeg_size = 0;
    png_alloc_size_t png_size = sizeof png_file;
    png_image png = {.version = PNG_IMAGE_VERSION, .width = 8, .height = 8, .format = PNG_FORMAT_RGB};
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    for (size_t i = 0; i < sizeof rgb; i++) rgb[i] = i % 3 ? 0 : 255;
    if (!png_image_write_to_memory(&png, png_file, &png_size, 0, rgb, 0, NULL)) exit(1);
    write_file("red.png", png_file, png_size);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &jpeg_file, &jpeg_size);
    jpeg.image_width = jpeg.image_height = 8;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < 8; y++) jpeg_write_scanlines(&jpeg, (JSAMPROW[]){rgb + y * 24}, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    write_file("red.jpg", jpeg_file, jpeg_size);
    free(jpeg_file);
}

/* CIFAR-10 binary: six records of classes 0, 1, 2, 0, 1, 2, in the class's colour but for the last, which is red. */
static void make_cifar(void) {
    static uint8_t file[6 * 3073];
    for (int i = 0; i < 6; i++) {
        file[i * 3073] = (uint8_t)(i % 3);
        memset(file + i * 3073 + 1 + (i == 5 ? 0 : i % 3) * 1024, 255, 1024);
    }
    write_file("cifar.bin", file, sizeof file);
}

static void write_graph(const char *name, struct bytes *graph, int opset) {
    struct bytes model = model_message(graph, opset);
    write_file(name, model.data, model.size);
    free(model.data);
}

/* A chain of functions, in float, whose nodes are named by what they give, or by so many letters. */
static void make_chain(const char *name, uint32_t steps, uint32_t letters) {
    struct bytes graph = {0};
    char from[16], to[16], node[1 << 15] = "";
    memset(node, 'n', letters);
    add_value(&graph, 11, "x", 1, "1,4");
    add_value(&graph, 12, "y", 1, "1,4");
    for (uint32_t i = 0; i < steps; i++) {
        snprintf(from, sizeof from, i ? "t%u" : "x", i);
        snprintf(to, sizeof to, i + 1 < steps ? "t%u" : "y", i + 1);
        add_node(&graph, letters ? node : to, "Sigmoid", from, to, "");
    }
    write_graph(name, &graph, 17);
}

/* bytes -> a node on floats -> bytes of a scale of their own; `constants` are further inputs of the node, one word each. */
static void make_between(const char *name, const char *dims, const char *op, const char *attributes, const char *constants,
                         double out_scale) {
    static const struct number half = {0.5, 0}, zero = {0, 0}, zeros[8] = {{0, 0}};
    const struct number scale = {out_scale, 0};
    struct bytes graph = {0};
    char inputs[100];
    add_value(&graph, 11, "x", ONNX_FLOAT, dims);
    add_value(&graph, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&graph, "s", ONNX_FLOAT, 0, NULL, &half, 1);
    add_constant(&graph, "t", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(&graph, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_constant(&graph, "eight", ONNX_INT64, 1, (const int64_t[]){8}, zeros, 8);
    add_node(&graph, "q", "QuantizeLinear", "x s z", "a", "");
    add_node(&graph, "d", "DequantizeLinear", "a s z", "b", "");
    snprintf(inputs, sizeof inputs, "b %s", constants);
    add_node(&graph, "the_node", op, inputs, "c", attributes);
    add_node(&graph, "q2", "QuantizeLinear", "c t z", "e", "");
    add_node(&graph, "d2", "DequantizeLinear", "e t z", "y", "");
    write_graph(name, &graph, 13);
}

/* A title, a bell, a wiped screen, ends of lines, CSI in one byte and in two, writing from right to left, bytes that are no UTF-8. */
#define HOSTILE "\033]0;x\a\033[2J\r\n\t\b\177\302\2331m\2332m\342\200\256\342\201\246\342\200\250\330\234\377\300\200\"<&>*/ \303\244"

static void soil(char **text) {
    if (!text || !*text || !**text) return;
    char *longer = malloc(strlen(*text) + sizeof HOSTILE);
    if (!longer) exit(1);
    strcpy(longer, *text);
    strcat(longer, HOSTILE);
    free(*text);
    *text = longer;
}

static void soil_values(Onnx__ValueInfo **values, size_t count) {
    for (size_t i = 0; i < count; i++) soil(&values[i]->name);
}

static void soil_names(Onnx__Model *model) {
    Onnx__Graph *graph = model->graph;
    soil(&model->producer_name);
    soil(&graph->name);
    soil_values(graph->input, graph->n_input);
    soil_values(graph->output, graph->n_output);
    soil_values(graph->value_info, graph->n_value_info);
    for (size_t i = 0; i < graph->n_initializer; i++) soil(&graph->initializer[i]->name);
    for (size_t i = 0; i < graph->n_node; i++) {
        soil(&graph->node[i]->name);
        for (size_t k = 0; k < graph->node[i]->n_input; k++) soil(&graph->node[i]->input[k]);
        for (size_t k = 0; k < graph->node[i]->n_output; k++) soil(&graph->node[i]->output[k]);
    }
}

static void write_model(const char *name, const Onnx__Model *model) {
    size_t size = onnx__model__get_packed_size(model);
    uint8_t *bytes = malloc(size);
    if (!bytes) exit(1);
    onnx__model__pack(model, bytes);
    write_file(name, bytes, size);
    free(bytes);
}

static void make_hostile(void) {
    struct file_bytes file;
    struct failure failure;
    if (!file_read("tests/cli/float_small.onnx", 1 << 20, &file, &failure)) exit(message_failure(&failure));
    Onnx__Model *model = onnx__model__unpack(NULL, file.size, file.data);
    if (!model) exit(1);
    soil_names(model);
    write_model("hostile.onnx", model);
    soil(&model->graph->node[0]->op_type);
    model->graph->node[0]->domain = strdup("domain");
    soil(&model->graph->node[0]->domain);
    write_model("hostile_op.onnx", model);
    onnx__model__free_unpacked(model, NULL);
    file_free(&file);
}

static void make_missing(void) {
    struct bytes graph = {0};
    add_value(&graph, 11, "x", ONNX_FLOAT, "2,3");
    add_value(&graph, 12, "y", ONNX_FLOAT, "3,3");
    add_node(&graph, "the_node", "Einsum", "- x", "y", "equation@ij,ik->jk");
    write_graph("missing.onnx", &graph, 13);
}

static void make_fused(void) {
    struct bytes graph = {0};
    const struct number numbers[] = {{1, 0.5}, {2, -0.5}, {3, 1}, {4, 2}};
    const int64_t dims[] = {2, 2};
    add_value(&graph, 11, "x", ONNX_FLOAT, "3,2");
    add_value(&graph, 12, "y", ONNX_FLOAT, "3,2");
    add_constant(&graph, "w", ONNX_FLOAT, 2, dims, numbers, 4);
    add_node(&graph, "layer", "ms.FusedGemm", "x w", "y", "activation@Relu");
    write_graph("fused.onnx", &graph, 13);
}

/* A table whose lines are chosen by what a layer makes. */
static void make_chosen(void) {
    struct bytes graph = {0};
    const struct number numbers[] = {{1, 0.5}, {2, -0.5}, {3, 1}, {4, 2}};
    const int64_t dims[] = {2, 2};
    add_value(&graph, 11, "x", ONNX_FLOAT, "3,2");
    add_value(&graph, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&graph, "w", ONNX_FLOAT, 2, dims, numbers, 4);
    add_constant(&graph, "one", ONNX_FLOAT, 0, NULL, &(struct number){1, 1}, 1);
    add_constant(&graph, "none", ONNX_FLOAT, 0, NULL, &(struct number){0, 0}, 1);
    add_node(&graph, "layer", "MatMul", "x w", "a", "");
    add_node(&graph, "bounds", "Clip", "a none one", "b", "");
    add_node(&graph, "cut", "Cast", "b", "i", "to:7");
    add_node(&graph, "choice", "Gather", "w i", "y", "");
    write_graph("chosen.onnx", &graph, 13);
}

/* Angles of some hundred between two layers. */
static void make_angles(void) {
    struct bytes graph = {0};
    const struct number numbers[9] = {{200, 0}, {90, 0}, {70, 0}, {30, 0}, {-50, 0}};
    const int64_t dims[] = {3, 3};
    add_value(&graph, 11, "x", ONNX_FLOAT, "1,3");
    add_value(&graph, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&graph, "w", ONNX_FLOAT, 2, dims, numbers, 9);
    add_node(&graph, "layer", "MatMul", "x w", "a", "");
    add_node(&graph, "wave", "Sin", "a", "b", "");
    add_node(&graph, "end", "MatMul", "b w", "y", "");
    write_graph("angles.onnx", &graph, 13);
}

/* Behind a layer stands what is refused, and the value between has a name that a shell would run. */
static void make_quotes(void) {
    struct bytes graph = {0};
    const struct number numbers[] = {{1, 0.5}, {2, -0.5}, {3, 1}, {4, 2}};
    const int64_t dims[] = {2, 2};
    add_value(&graph, 11, "x", ONNX_FLOAT, "3,2");
    add_value(&graph, 12, "y", ONNX_FLOAT, "3,2");
    add_constant(&graph, "w", ONNX_FLOAT, 2, dims, numbers, 4);
    add_node(&graph, "layer", "MatMul", "x w", "a';>ran;'$(>ran)", "");
    add_node(&graph, "strange", "RoiAlign", "a';>ran;'$(>ran) x", "y", "");
    write_graph("quotes.onnx", &graph, 13);
}

static uint8_t *make_lookup(enum morsel_type type) {
    static const uint8_t table[2] = {10, 20};
    const struct morsel_blob_text rule = {{0, MORSEL_TEXT_NO_INPUT, MORSEL_TEXT_NO_INPUT},
                                          .max_length = 4,
                                          .id_count = 2,
                                          .word_points = 9};
    const uint32_t words[sizeof rule / 4 + 1] = {0}, dims[] = {1, 4};
    struct builder b;
    uint32_t bytes;
    builder_start(&b);
    builder_tensor(&b, MORSEL_INT32, 2, dims, 1, 0);
    builder_tensor(&b, MORSEL_UINT8, 2, dims, 1, 0);
    const struct morsel_blob_lookup p = {2, 1, builder_data(&b, table, 2)};
    builder_step(&b, MORSEL_STEP_LOOKUP, (uint32_t[]){0}, 1, 1, &p, sizeof p, 0);
    builder_input(&b, 0, "ids");
    builder_output(&b, 1, "y");
    uint32_t at = builder_data(&b, words, sizeof words);
    uint8_t *blob = builder_finish(&b, &bytes);
    struct morsel_blob_header *h = (void *)blob;
    memcpy(blob + at, &rule, sizeof rule);
    ((struct morsel_blob_io *)(void *)(blob + h->outputs.offset))->onnx_type = type;
    h->text = (struct morsel_blob_section){at, sizeof words / 4};
    builder_seal(blob);
    return blob;
}

static void make_ids(void) {
    uint8_t *blobs[] = {make_lookup(MORSEL_FLOAT32), make_lookup(MORSEL_UINT8)};
    uint32_t bytes, list;
    uint8_t *all = joined(blobs, 2, &bytes, &list);
    write_file("ids.morsel", all, bytes);
    free(all);
    free(blobs[0]);
    free(blobs[1]);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    folder = argv[1];
    make_color("color.morsel", 1, (const char *const[]){"red", "green", "blue"});
    make_color("color2.morsel", 2, (const char *const[]){"red", "green", "blue"});
    make_color("slash.morsel", 1, (const char *const[]){"Red/or so", "dark green", "blue"});
    make_color("twins.morsel", 1, (const char *const[]){"light red", "dark green", "Light/Red"});
    make_chain("most.onnx", MORSEL_FORMAT_MAX_TENSORS - 1, 0);
    make_chain("too_long.onnx", MORSEL_FORMAT_MAX_STEPS + 1, 0);
    make_chain("named.onnx", 200, 30000);
    make_hostile();
    make_between("behind_pads.onnx", "1,3,4,4", "MaxPool", "kernel_shape=1,1 strides=2,2 pads=2,2,2,2 ceil_mode:1", "", 0.5);
    make_between("two_pads.onnx", "1,3,4,4", "Pad", "pads=0,0,3,3,0,0,3,3 mode@reflect", "eight", 0.5);
    make_between("denormal.onnx", "1,4,4", "MatMul", "", "b", 1e-45);
    make_missing();
    make_fused();
    make_chosen();
    make_angles();
    make_quotes();
    make_bytes();
    make_order();
    make_two();
    make_ids();
    make_net("stream.morsel", false);
    make_net("whole.morsel", true);
    make_arrays();
    make_samples();
    make_cifar();
    make_picture("red.ppm", 9, 5, (const uint8_t[]){255, 0, 0});
    make_picture("green.ppm", 4, 4, (const uint8_t[]){0, 200, 0});
    make_picture("blue_sky.ppm", 3, 30, (const uint8_t[]){0, 0, 255});
    make_compressed();
    write_file("cut.ppm", "P6 4 4 255\nabc", 14);
    return 0;
}
