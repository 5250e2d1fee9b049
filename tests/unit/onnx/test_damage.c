/* SPDX-License-Identifier: MIT */
/* Damaged files: an error or a graph, never a crash. Meant to run under ASan and UBSan too, which see what a crash hides. */
#include "tests/unit/support/onnx_file.h"
#include "tests/unit/support/skip.h"

#define SHARED "../shared/models/"

/* A fixed sequence, so that a failure can be had again. */
static uint32_t random_state;

static uint32_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}

/* A small network with a bit of everything that is read: windows, shape arithmetic, lists of all kinds, functions. */
static struct bytes rich_model(void) {
    static const struct number ones[36] = {{1, 1}, {2, 2}, {3, 3}};
    static const int64_t weights[4] = {4, 1, 3, 3}, one[1] = {1};
    struct bytes graph = {0}, function = {0}, inner = node_message("i", "Relu", "a", "b", "");
    add_value(&graph, 11, "x", 1, "batch,1,9,9");
    add_value(&graph, 12, "y", 1, NULL);
    add_value(&graph, 13, "c", 1, "batch,4,5,5");
    add_constant(&graph, "w", 1, 4, weights, ones, 36);
    add_constant(&graph, "zero", 7, 0, NULL, ones + 5, 1);
    add_constant(&graph, "axes", 7, 1, one, ones + 5, 1);
    add_constant(&graph, "two", 7, 1, one, ones + 1, 1);
    add_constant(&graph, "scale", 1, 0, NULL, ones, 1);
    add_node(&graph, "conv", "Conv", "x w", "c", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1 group:1 dilations=1,1");
    add_node(&graph, "pool", "MaxPool", "c", "p", "kernel_shape=2,2 strides=2,2 ceil_mode:1");
    add_node(&graph, "f", "my.F", "p", "q", "");
    add_node(&graph, "s", "Shape", "q", "s", "");
    add_node(&graph, "g", "Gather", "s zero", "g", "axis:0");
    add_node(&graph, "u", "Unsqueeze", "g axes", "u", "");
    add_node(&graph, "r", "Range", "zero g scale_i", "range", "");
    add_node(&graph, "k", "Constant", "", "scale_i", "value_int:1");
    add_node(&graph, "l", "Slice", "s axes two", "sl", "");
    add_node(&graph, "o", "Concat", "u axes sl range", "o", "axis:0");
    add_node(&graph, "e", "ReduceProd", "o axes", "e", "keepdims:1");
    add_node(&graph, "m", "Max", "e u", "shape", "");
    add_node(&graph, "cs", "ConstantOfShape", "shape", "zeros", "");
    add_node(&graph, "q", "QuantizeLinear", "q scale", "quantized", "axis:1");
    add_node(&graph, "dq", "DequantizeLinear", "quantized scale", "d", "axis:1");
    add_node(&graph, "tile", "Tile", "zeros two", "t", "");
    add_node(&graph, "row", "Unsqueeze", "t axes", "row", "");
    add_node(&graph, "flat", "Flatten", "d", "flat", "axis:1");
    add_node(&graph, "out", "Concat", "flat row", "y", "axis:-1");
    struct bytes model = model_message(&graph, 18);
    put_text(&function, 1, "F");
    put_text(&function, 10, "my");
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_message(&function, 7, &inner);
    put_message(&model, 25, &function);
    return model;
}

/* What came out of a file; a graph must keep its promises. */
static void check_promises(const struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct onnx_node *node = graph->nodes[i];
        assert_true(node->name[0] != 0);
        for (int k = 0; k < node->output_count; k++) {
            const struct onnx_value *value = node->outputs[k];
            if (value && value->constant) assert_int_equal(value->constant->count, onnx_elements(&value->shape));
            if (value && value->shape.rank >= 0) assert_true(onnx_elements(&value->shape) >= 0);
        }
    }
}

/* 1: a graph, 0: an error. */
static int read_all(const char *path) {
    struct failure failure = {0};
    struct onnx_report report = {0};
    struct onnx_graph *graph = onnx_load(path, &failure);
    int good = graph && onnx_bind(graph, NULL, 0, 1, &report, &failure) && onnx_infer(graph, &report, &failure);
    if (good) check_promises(graph);
    else assert_true(failure.text[0] != 0);
    onnx_free(graph);
    onnx_report_free(&report);
    return good;
}

static int read_bytes(const unsigned char *bytes, size_t size) {
    write_scratch("damaged.onnx", bytes, size);
    return read_all(scratch_path("damaged.onnx"));
}

/* One to eight bytes changed, moved or flipped. */
static void damage(unsigned char *bytes, size_t size) {
    for (uint32_t i = 1 + next_random() % 8; i--;) {
        unsigned char *at = &bytes[next_random() % size];
        switch (next_random() % 4) {
        case 0: *at ^= (unsigned char)(1u << next_random() % 8); break;
        case 1: *at = (unsigned char)next_random(); break;
        case 2: *at = 0xff; break;
        default: *at = bytes[next_random() % size]; break;
        }
    }
}

static void damage_often(const unsigned char *bytes, size_t size, int rounds) {
    unsigned char *copy = malloc(size);
    int read = 0;
    assert_non_null(copy);
    for (int i = 0; i < rounds; i++) {
        memcpy(copy, bytes, size);
        damage(copy, size);
        read += read_bytes(copy, size);
    }
    free(copy);
    assert_in_range(read, 1, rounds - 1); /* some damage is harmless, most is not: else the test reaches nothing */
}

/* Undamaged, all of it is understood: what is damaged below reaches far. */
static void check_whole(const struct bytes *model) {
    struct failure failure = {0};
    struct onnx_report report = {0};
    write_scratch("whole.onnx", model->data, model->size);
    struct onnx_graph *graph = onnx_load(scratch_path("whole.onnx"), &failure);
    if (!graph || !onnx_bind(graph, NULL, 0, 1, &report, &failure) || !onnx_infer(graph, &report, &failure)) fail_msg("%s", failure.text);
    if (report.refusal_count) fail_msg("%s: %s", report.refusals[0].node, report.refusals[0].why);
    assert_true(onnx_elements(&graph->outputs[0]->shape) > 0);
    onnx_free(graph);
    onnx_report_free(&report);
}

static void truncated_files_do_no_harm(void **state) {
    (void)state;
    struct bytes model = rich_model();
    check_whole(&model);
    for (size_t size = 1; size < model.size; size++) read_bytes(model.data, size);
    free(model.data);
}

static void changed_files_do_no_harm(void **state) {
    (void)state;
    struct bytes model = rich_model();
    random_state = 2463534242u;
    damage_often(model.data, model.size, 4000);
    free(model.data);
}

/* The files of the shared folder beside a checkout. */
static void damaged_models_do_no_harm(void **state) {
    (void)state;
    static const char *const names[] = {"food11_quantized_aggressive.onnx", "mbv2_cifar10_int8.onnx", "mlperf_ic_int8.onnx",
                                        "food11_quantized_dynamic.onnx"};
    int found = 0;
    random_state = 88675123u;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[200];
        snprintf(path, sizeof path, SHARED "%s", names[i]);
        FILE *file = fopen(path, "rb");
        if (!file) continue;
        static unsigned char bytes[4 << 20];
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        found++;
        if (size == sizeof bytes) continue;
        assert_int_equal(read_all(path), 1);
        for (int k = 0; k < 20; k++) read_bytes(bytes, 1 + next_random() % size);
        damage_often(bytes, size, 60);
    }
    if (!found) skip_because("no models in " SHARED);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(truncated_files_do_no_harm), cmocka_unit_test(changed_files_do_no_harm),
                                       cmocka_unit_test(damaged_models_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
