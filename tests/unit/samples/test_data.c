/* SPDX-License-Identifier: MIT */
/* Samples out of pictures and arrays: the numbers that a blob's bytes are made of, in the graph's layout; choices; what is wrong with data.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/picture.h"
#include "tools/base/npy.h"
#include "tools/samples/data/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { W = 5, H = 4, SAMPLE = 3 * W * H };

static char folder[64];

static const char *at(const char *name) {
    static char paths[8][200];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int start(void **unused) {
    (void)unused;
    strcpy(folder, "/tmp/morsel_data_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int finish(void **unused) {
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void make_folder(const char *name) {
    assert_int_equal(mkdir(at(name), 0777), 0);
}

static void put_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(at(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static uint8_t pixel(unsigned seed, unsigned i) {
    return (uint8_t)((seed * 131 + i * 37 + i * i * 11) & 255);
}

/* A picture whose bytes its seed gives. */
static void put_picture(const char *name, unsigned seed, unsigned width, unsigned height) {
    uint8_t bytes[4096];
    size_t size = (size_t)sprintf((char *)bytes, "P6 %u %u 255\n", width, height);
    for (unsigned i = 0; i < 3 * width * height; i++) bytes[size++] = pixel(seed, i);
    put_file(name, bytes, size);
}

static void put_array(const char *name, enum npy_type type, uint32_t rank, const uint64_t *dims, const void *data) {
    struct failure failure;
    if (!npy_write(at(name), type, dims, rank, data, &failure)) fail_msg("%s", failure.text);
}

/* A graph with up to two inputs. */
struct inputs {
    struct onnx_value values[2], *list[2];
    struct onnx_graph graph;
};

static struct onnx_graph *graph_of(struct inputs *inputs, int count, int rank, const int64_t *dims) {
    static const char *const names[] = {"x", "y"};
    memset(inputs, 0, sizeof *inputs);
    for (int i = 0; i < count; i++) {
        inputs->values[i] = (struct onnx_value){.name = names[i], .type = ONNX_FLOAT, .shape = {.rank = rank}, .is_input = true};
        memcpy(inputs->values[i].shape.dims, dims, (size_t)rank * sizeof *dims);
        inputs->list[i] = &inputs->values[i];
    }
    inputs->graph = (struct onnx_graph){.inputs = inputs->list, .input_count = (size_t)count};
    return &inputs->graph;
}

static const int64_t planes[] = {1, 3, H, W}, pixels[] = {1, H, W, 3};
static const struct morsel_blob_picture plain = {.resize = MORSEL_RESIZE_NONE,
                                                 .scale = 0.01f,
                                                 .mean = {0.1f, 0.2f, 0.3f},
                                                 .std = {2, 0.7f, 3}};

static struct quant_data *open_paths(const struct onnx_graph *graph, const struct morsel_blob_picture *rule, size_t count, const char *a,
                                     const char *b, struct failure *failure) {
    const char *paths[] = {a, b};
    struct quant_data_wish wish = {.paths = paths, .path_count = b ? 2 : a ? 1 : 0, .count = count, .seed = 7, .rule = rule};
    return quant_data_open(&wish, graph, failure);
}

static struct quant_data *must_open(const struct onnx_graph *graph, const struct morsel_blob_picture *rule, const char *a, const char *b) {
    struct failure failure = {0};
    struct quant_data *data = open_paths(graph, rule, 0, a, b, &failure);
    if (!data) fail_msg("%s", failure.text);
    return data;
}

static void must_load(const struct quant_data *data, size_t index, float *x, float *y) {
    struct failure failure = {0};
    float *inputs[] = {x, y};
    if (!quant_data_load(data, index, inputs, &failure)) fail_msg("%s", failure.text);
}

/* The failure is an input's or a call's, and says this. */
static void check_failure(const struct failure *failure, const char *text, const char *name) {
    if ((failure->status != STATUS_INPUT && failure->status != STATUS_CALL) || !strstr(failure->text, text) || !strstr(failure->text, name))
        fail_msg("status %d: '%s' lacks '%s' or '%s'", failure->status, failure->text, text, name);
}

static void refuse(const struct onnx_graph *graph, const struct morsel_blob_picture *rule, const char *a, const char *b, const char *text,
                   const char *name) {
    struct failure failure = {0};
    struct quant_data *data = open_paths(graph, rule, 0, a, b, &failure);
    if (data) fail_msg("taken, though '%s'", text);
    check_failure(&failure, text, name);
}

static void refuse_load(const struct quant_data *data, size_t index, const char *text, const char *name) {
    float x[2 * SAMPLE], y[2 * SAMPLE], *inputs[] = {x, y};
    struct failure failure = {0};
    assert_false(quant_data_load(data, index, inputs, &failure));
    check_failure(&failure, text, name);
}

/* --- Pictures --- */

/* (pixel * scale - mean) / std, in the graph's layout; and quantized they are what morsel_picture() puts into a byte view. */
static void pictures_become_what_the_rule_says(void **unused) {
    (void)unused;
    struct inputs inputs;
    make_folder("pictures");
    make_folder("pictures/a");
    make_folder("pictures/a/deep");
    make_folder("pictures/b");
    put_picture("pictures/2.ppm", 2, W, H);
    put_picture("pictures/1.ppm", 1, W, H);
    put_picture("pictures/a/deep/3.PPM", 3, W, H);
    put_picture("pictures/b/4.ppm", 4, W, H);
    put_file("pictures/b/readme.txt", "no picture", 10);
    put_file("pictures/b/.hidden.ppm", "no picture", 10);
    assert_int_equal(symlink("..", at("pictures/b/loop")), 0);
    for (int last = 0; last < 2; last++) {
        struct quant_data *data = must_open(graph_of(&inputs, 1, 4, last ? pixels : planes), &plain, at("pictures"), NULL);
        assert_int_equal(quant_data_count(data), 4);
        for (unsigned k = 0; k < 4; k++) {
            float x[SAMPLE];
            must_load(data, k, x, NULL);
            for (unsigned i = 0; i < SAMPLE; i++) {
                unsigned c = i % 3, place = i / 3;
                float wanted = (float)pixel(k + 1, i) * plain.scale;
                wanted = wanted - plain.mean[c];
                wanted = wanted / plain.std[c];
                assert_memory_equal(&x[last ? i : c * W * H + place], &wanted, sizeof wanted);
            }
        }
        quant_data_close(data);
    }
}

static void picture_bytes_become_samples(void **unused) {
    (void)unused;
    const struct morsel_blob_picture rule = {.resize = MORSEL_RESIZE_SHORT_SIDE,
                                             .resize_height = 7,
                                             .resize_width = 7,
                                             .crop_height = H,
                                             .crop_width = W,
                                             .channels = MORSEL_CHANNELS_BGR,
                                             .scale = 0.01f,
                                             .mean = {0.1f, 0.2f, 0.3f},
                                             .std = {2, 0.7f, 3}};
    struct inputs inputs;
    uint8_t rgb[3 * 13 * 9], wanted[SAMPLE], mine[SAMPLE], scratch[4096];
    float x[SAMPLE];
    for (unsigned i = 0; i < sizeof rgb; i++) rgb[i] = pixel(9, i);
    put_picture("large.ppm", 9, 13, 9);
    struct morsel_view view = {.data = wanted,
                               .bytes = SAMPLE,
                               .type = MORSEL_INT8,
                               .layout = MORSEL_CHANNELS_LAST,
                               .rank = 4,
                               .dims = {1, H, W, 3},
                               .scale = 0.003f,
                               .zero_point = -20,
                               .onnx_type = MORSEL_FLOAT32,
                               .onnx_rank = 4,
                               .onnx_dims = {1, 3, H, W}};
    assert_int_equal(morsel_picture_by_rule(&rule, rgb, sizeof rgb, 13, 9, 0, scratch, sizeof scratch, &view, 0), MORSEL_OK);
    struct quant_data *data = must_open(graph_of(&inputs, 1, 4, planes), &rule, at("large.ppm"), NULL);
    must_load(data, 0, x, NULL);
    view.data = mine;
    assert_int_equal(morsel_quantize(&view, x, SAMPLE), MORSEL_OK);
    assert_memory_equal(mine, wanted, SAMPLE);
    quant_data_close(data);
}

/* To the nearest, of two the even one, and no further than bytes go. */
static void inputs_of_bytes_get_whole_numbers(void **unused) {
    (void)unused;
    struct inputs inputs;
    struct morsel_blob_picture rule = plain;
    float x[SAMPLE];
    put_picture("bytes.ppm", 9, W, H);
    for (int type = ONNX_UINT8; type <= ONNX_INT8; type++) {
        const float least = type == ONNX_INT8 ? -128 : 0;
        struct onnx_graph *graph = graph_of(&inputs, 1, 4, planes);
        graph->inputs[0]->type = (enum onnx_type)type;
        rule.scale = 1.5f;
        for (int c = 0; c < 3; c++) rule.mean[c] = 100, rule.std[c] = 1;
        struct quant_data *data = must_open(graph, &rule, at("bytes.ppm"), NULL);
        must_load(data, 0, x, NULL);
        for (unsigned i = 0; i < SAMPLE; i++) {
            unsigned c = i / (W * H), at_pixel = i % (W * H);
            float wanted = rintf((float)pixel(9, 3 * at_pixel + c) * 1.5f - 100);
            assert_float_equal(x[i], fminf(fmaxf(wanted, least), least + 255), 0);
        }
        quant_data_close(data);
        rule.scale = 1.0f / 255;
        refuse(graph, &rule, at("bytes.ppm"), NULL, "less than 16 apart", "it wants pixels as they are");
    }
}

static void bad_pictures_are_refused(void **unused) {
    (void)unused;
    static const int64_t gray[] = {1, 1, H, W}, flat[] = {1, 10}, larger[] = {1, 3, 8, 8}, two[] = {2, 3, H, W};
    struct inputs inputs;
    struct morsel_blob_picture rule = plain;
    make_folder("empty");
    make_folder("empty/inside");
    make_folder("bad");
    put_picture("bad/1.ppm", 1, W, H);
    put_file("bad/2.jpg", "not a picture", 13);
    put_picture("bad/3.ppm", 1, W, H + 1);
    put_picture("bad/4.ppm", 1, W, H);
    struct onnx_graph *graph = graph_of(&inputs, 1, 4, planes);
    refuse(graph, &plain, at("empty"), NULL, "holds neither pictures", "empty");
    refuse(graph, &plain, at("missing"), NULL, "No such file", "missing");
    refuse(graph, NULL, at("bad"), NULL, "--picture", "rule");
    refuse(graph, &plain, NULL, NULL, "no data", "");
    struct quant_data *data = must_open(graph, &plain, at("bad"), NULL);
    float x[SAMPLE];
    must_load(data, 0, x, NULL);
    refuse_load(data, 1, "not a", "bad/2.jpg");
    refuse_load(data, 2, "the picture is 5 x 5 (height x width); the rule does not resize, and the network wants 4 x 5", "bad/3.ppm");
    must_load(data, 3, x, NULL);
    quant_data_close(data);
    refuse(graph_of(&inputs, 1, 4, gray), &plain, at("bad"), NULL, "gives 3 channels", "'x', float32 [1, 1, 4, 5]");
    refuse(graph_of(&inputs, 1, 2, flat), &plain, at("bad"), NULL, "one picture is", "[1, 10]");
    refuse(graph_of(&inputs, 1, 4, two), &plain, at("bad"), NULL, "float32 [2, 3, 4, 5]: 2 pictures at once", "--shape x=2,3,4,5 makes");
    refuse(graph_of(&inputs, 2, 4, planes), &plain, at("bad"), NULL, "NAME=PATH", "'y'");
    rule.resize = MORSEL_RESIZE_EXACT;
    rule.resize_height = 8;
    rule.resize_width = 9;
    refuse(graph_of(&inputs, 1, 4, larger), &rule, at("bad"), NULL, "gives 8 x 9 (height x width)", "[1, 3, 8, 8]");
    rule = plain;
    rule.scale = 1e38f;
    data = must_open(graph_of(&inputs, 1, 4, planes), &rule, at("bad"), NULL);
    refuse_load(data, 0, "not finite", "bad/1.ppm");
    quant_data_close(data);
}

/* --- CIFAR-10, classes, seeds --- */

static void put_records(const char *name, unsigned first, unsigned count) {
    uint8_t *bytes = malloc(count * 3073);
    for (unsigned r = 0; r < count; r++)
        for (unsigned i = 0; i < 3073; i++) bytes[r * 3073 + i] = i ? pixel(first + r, i - 1) : (uint8_t)((first + r) * (first + r) % 10);
    put_file(name, bytes, count * 3073);
    free(bytes);
}

static const char *no_label(const void *ctx, uint32_t index) {
    (void)ctx;
    (void)index;
    return NULL;
}

static void cifar_files_become_samples(void **unused) {
    (void)unused;
    static const int64_t dims[] = {1, 3, 32, 32};
    struct inputs inputs;
    struct onnx_graph *graph = graph_of(&inputs, 1, 4, dims);
    struct morsel_blob_picture rule = {.resize = MORSEL_RESIZE_NONE, .scale = 1, .std = {1, 1, 1}};
    float x[3072];
    make_folder("cifar");
    make_folder("cifar/below");
    put_records("cifar/below/data_batch_1.bin", 0, 12);
    put_records("cifar/below/data_batch_2.bin", 12, 8);
    struct quant_data *data = must_open(graph, &rule, at("cifar"), NULL);
    assert_int_equal(quant_data_count(data), 20);
    for (unsigned k = 0; k < 20; k++) {
        must_load(data, k, x, NULL);
        assert_int_equal(quant_data_class(data, k), k * k % 10);
        for (unsigned i = 0; i < 3072; i++) assert_true(x[i] == (float)pixel(k, i));
    }
    quant_data_close(data);
    const struct dataset_classes classes = {10, no_label, NULL};
    const char *path = at("cifar/below");
    struct failure failure = {0};
    struct quant_data_wish wish = {.paths = &path, .path_count = 1, .count = 12, .seed = 3, .rule = &rule, .classes = &classes};
    data = quant_data_open(&wish, graph, &failure);
    assert_non_null(data);
    unsigned seen[10] = {0};
    assert_int_equal(quant_data_count(data), 12);
    for (unsigned k = 0; k < 12; k++) seen[quant_data_class(data, k)]++;
    for (unsigned c = 0; c < 10; c++) /* squares end in 0, 1, 4, 5, 6, 9; of 20 two end in 0 and two in 5 */
        assert_int_equal(seen[c], c == 0 || c == 1 || c == 4 || c == 5 || c == 6 || c == 9 ? 2 : 0);
    quant_data_close(data);
    put_file("odd.bin", "12345", 5);
    refuse(graph, &rule, at("odd.bin"), NULL, "no multiple of 3073", "odd.bin");
}

static void a_seed_chooses_other_samples(void **unused) {
    (void)unused;
    struct inputs inputs;
    struct onnx_graph *graph = graph_of(&inputs, 1, 1, (const int64_t[]){1});
    struct failure failure = {0};
    float numbers[500], first[2][20], x;
    for (int i = 0; i < 500; i++) numbers[i] = (float)i;
    put_array("row.npy", NPY_FLOAT32, 1, (const uint64_t[]){500}, numbers);
    const char *path = at("row.npy");
    int same = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct quant_data_wish wish = {.paths = &path, .path_count = 1, .count = 20, .seed = seed / 2};
        struct quant_data *data = quant_data_open(&wish, graph, &failure);
        assert_int_equal(quant_data_count(data), 20);
        for (size_t i = 0; i < 20; i++) {
            must_load(data, i, &x, NULL);
            if (seed == 1) assert_true(x == first[0][i]);
            same += seed == 2 && x == first[0][i];
            first[seed / 2][i] = x;
        }
        quant_data_close(data);
    }
    assert_true(same < 5);
}

/* --- Arrays --- */

static void arrays_become_samples(void **unused) {
    (void)unused;
    enum { N = 6 };
    static const struct {
        uint32_t rank;
        uint64_t dims[5];
        size_t samples;
    } forms[] = {{4, {N, 3, H, W}, N}, {5, {N, 1, 3, H, W}, N}, {3, {3, H, W}, 1}, {4, {1, 3, H, W}, 1}, {5, {1, 1, 3, H, W}, 1}};
    struct inputs inputs;
    struct onnx_graph *graph = graph_of(&inputs, 1, 4, planes);
    float numbers[N * SAMPLE], x[SAMPLE];
    double wide[N * SAMPLE];
    int64_t whole[N * SAMPLE];
    for (int i = 0; i < N * SAMPLE; i++) {
        numbers[i] = (float)i * 0.37f - 11;
        wide[i] = (double)i * 0.1;
        whole[i] = i - 100;
    }
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        put_array("a.npy", NPY_FLOAT32, forms[f].rank, forms[f].dims, numbers);
        struct quant_data *data = must_open(graph, NULL, at("a.npy"), NULL);
        assert_int_equal(quant_data_count(data), forms[f].samples);
        for (size_t k = 0; k < forms[f].samples; k++) {
            must_load(data, k, x, NULL);
            assert_memory_equal(x, numbers + k * SAMPLE, sizeof x);
        }
        quant_data_close(data);
    }
    put_array("d.npy", NPY_FLOAT64, 4, forms[0].dims, wide);
    put_array("l.npy", NPY_INT64, 4, forms[0].dims, whole);
    struct quant_data *data = must_open(graph, NULL, at("d.npy"), at("l.npy")); /* one behind the other */
    assert_int_equal(quant_data_count(data), 2 * N);
    must_load(data, 2, x, NULL);
    assert_true(x[5] == (float)wide[2 * SAMPLE + 5]);
    must_load(data, N + 3, x, NULL);
    assert_true(x[7] == (float)whole[3 * SAMPLE + 7]);
    quant_data_close(data);
}

/* More than is read at once, from every part of the file; and Fortran order. */
static void long_arrays_are_read_from_every_part(void **unused) {
    (void)unused;
    enum { N = 3, LONG = 40000 };
    struct inputs inputs;
    struct onnx_graph *graph = graph_of(&inputs, 1, 2, (const int64_t[]){1, LONG});
    float *numbers = malloc(N * LONG * sizeof *numbers), *x = malloc(LONG * sizeof *x);
    for (int i = 0; i < N * LONG; i++) numbers[i] = (float)i;
    put_array("long.npy", NPY_FLOAT32, 2, (const uint64_t[]){N, LONG}, numbers);
    struct quant_data *data = must_open(graph, NULL, at("long.npy"), NULL);
    for (size_t k = 0; k < N; k++) {
        must_load(data, k, x, NULL);
        assert_memory_equal(x, numbers + k * LONG, LONG * sizeof *x);
    }
    quant_data_close(data);
    char file[200];
    size_t size = (size_t)sprintf(file, "%cNUMPY%c%cv%c{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 0x93, 1, 0, 0);
    while (size < 128) file[size++] = ' ';
    memcpy(file + size, (const float[]){0, 3, 1, 4, 2, 5}, 24);
    put_file("fortran.npy", file, size + 24);
    data = must_open(graph_of(&inputs, 1, 2, (const int64_t[]){1, 3}), NULL, at("fortran.npy"), NULL);
    must_load(data, 1, x, NULL);
    assert_true(quant_data_count(data) == 2 && x[0] == 3 && x[1] == 4 && x[2] == 5);
    quant_data_close(data);
    free(numbers);
    free(x);
}

static void several_inputs_go_together(void **unused) {
    (void)unused;
    struct inputs inputs;
    struct onnx_graph *graph = graph_of(&inputs, 2, 2, (const int64_t[]){1, 2});
    float x[2], y[2], a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40, 50, 60};
    char first[200], second[200], third[200];
    make_folder("many");
    put_array("many/1.npy", NPY_FLOAT32, 1, (const uint64_t[]){2}, b);
    put_array("many/2.npy", NPY_FLOAT32, 2, (const uint64_t[]){2, 2}, b + 2);
    put_array("x.npy", NPY_FLOAT32, 2, (const uint64_t[]){3, 2}, a);
    put_array("short.npy", NPY_FLOAT32, 2, (const uint64_t[]){2, 2}, a);
    snprintf(first, sizeof first, "x=%s", at("x.npy"));
    snprintf(second, sizeof second, "y=%s", at("many"));
    snprintf(third, sizeof third, "y=%s", at("short.npy"));
    struct quant_data *data = must_open(graph, NULL, first, second);
    assert_int_equal(quant_data_count(data), 3);
    for (size_t k = 0; k < 3; k++) {
        must_load(data, k, x, y);
        assert_true(x[0] == a[2 * k] && x[1] == a[2 * k + 1] && y[0] == b[2 * k] && y[1] == b[2 * k + 1]);
    }
    quant_data_close(data);
    refuse(graph, NULL, first, NULL, "has no data", "'y'");
    refuse(graph, NULL, first, third, "3 samples for input 'x' and 2 for 'y'", "");
    refuse(graph, NULL, at("x.npy"), NULL, "for which input?", "'x', float32 [1, 2]; 'y'");
    refuse(graph, NULL, "z=none.npy", NULL, "for which input?", "z=none.npy");
    refuse(graph_of(&inputs, 1, 2, (const int64_t[]){1, 2}), NULL, at("many"), at("pictures"), "both given", "");
}

static void bad_arrays_are_refused(void **unused) {
    (void)unused;
    struct inputs inputs;
    struct onnx_graph *graph = graph_of(&inputs, 1, 4, planes);
    float numbers[4 * SAMPLE] = {0};
    uint8_t bytes[2 * SAMPLE] = {0};
    put_array("last.npy", NPY_FLOAT32, 4, (const uint64_t[]){4, H, W, 3}, numbers);
    refuse(graph, NULL, at("last.npy"), NULL, "float32 [4, 4, 5, 3], and the network's input is 'x', float32 [1, 3, 4, 5]", "last.npy");
    refuse(graph, NULL, at("last.npy"), NULL, "transpose(0, 3, 1, 2)", "channels lie last");
    put_array("flat.npy", NPY_FLOAT32, 2, (const uint64_t[]){4, SAMPLE}, numbers);
    refuse(graph, NULL, at("flat.npy"), NULL, "holds float32 [4, 60]", "");
    put_array("none.npy", NPY_FLOAT32, 4, (const uint64_t[]){0, 3, H, W}, numbers);
    refuse(graph, NULL, at("none.npy"), NULL, "empty", "none.npy");
    put_array("bytes.npy", NPY_UINT8, 4, (const uint64_t[]){2, 3, H, W}, bytes);
    refuse(graph, NULL, at("bytes.npy"), NULL, "holds uint8", "astype");
    put_file("text.npy", "not an array", 12);
    refuse(graph, NULL, at("text.npy"), NULL, "not a .npy file", "text.npy");
    put_file("pack.npz", "PK", 2);
    refuse(graph, NULL, at("pack.npz"), NULL, "archive", "pack.npz");
    make_folder("mixed");
    put_picture("mixed/a.ppm", 1, W, H);
    put_array("mixed/b.npy", NPY_FLOAT32, 4, (const uint64_t[]){4, 3, H, W}, numbers);
    refuse(graph, &plain, at("mixed"), NULL, "1 .npy files and 1 others", "a.ppm");
    numbers[2 * SAMPLE + 1 * H * W + 3 * W + 2] = NAN;
    numbers[3 * SAMPLE] = -INFINITY;
    put_array("nan.npy", NPY_FLOAT32, 4, (const uint64_t[]){4, 3, H, W}, numbers);
    struct quant_data *data = must_open(graph, NULL, at("nan.npy"), NULL);
    refuse_load(data, 2, "element [2, 1, 3, 2] is NaN", "nan.npy");
    refuse_load(data, 3, "element [3, 0, 0, 0] is infinite", "nan.npy");
    assert_int_equal(truncate(at("nan.npy"), 200), 0);
    refuse_load(data, 1, "shorter", "nan.npy");
    quant_data_close(data);
    refuse(graph, NULL, at("nan.npy"), NULL, "its shape needs", "nan.npy");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pictures_become_what_the_rule_says),
                                       cmocka_unit_test(picture_bytes_become_samples),
                                       cmocka_unit_test(inputs_of_bytes_get_whole_numbers),
                                       cmocka_unit_test(bad_pictures_are_refused),
                                       cmocka_unit_test(cifar_files_become_samples),
                                       cmocka_unit_test(a_seed_chooses_other_samples),
                                       cmocka_unit_test(arrays_become_samples),
                                       cmocka_unit_test(long_arrays_are_read_from_every_part),
                                       cmocka_unit_test(several_inputs_go_together),
                                       cmocka_unit_test(bad_arrays_are_refused)};
    return cmocka_run_group_tests(tests, start, finish);
}
