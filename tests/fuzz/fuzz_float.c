/* SPDX-License-Identifier: MIT */
/*
 * Bytes as an ONNX file, through the float executor. Links the tool's files.
 *
 *     fuzz_float [--runs N] [--seconds N] [--seed N] [MODEL.onnx...]        (driver.c has the rest of the command line)
 *
 * Besides what sanitizers see: what does not open has a reason, and a graph gives the same bits twice, in two runs' memory.
 */
#include "as_file.h"
#include "fuzz.h"
#include "seed_graph.h"
#include "tools/float/executor.h"

#include <stdlib.h>

enum { ELEMENTS_MOST = 1 << 18, WORK_MOST = 1 << 24 };

/* ---- seeds: every operator there is (seed_graph.h), and float operators, each with attributes that it knows and inputs of about the
 * right kind ---- */

/* Inputs: x a value of the graph, w a float constant with the channels of x, c any float constant, i a list of integers, s a number.
 * Attributes: name and kind, L a list, I a number, F a float, T a text. */
struct recipe {
    const char *op, *inputs, *attributes;
};

static const struct recipe recipes[] = {
    {"Conv", "xw", "kernel_shape L strides L pads L dilations L auto_pad T group I"},
    {"Conv", "xw", "pads L"},
    {"ConvTranspose", "xw", "strides L pads L output_padding L output_shape L auto_pad T group I"},
    {"MaxPool", "x", "kernel_shape L strides L pads L dilations L ceil_mode I auto_pad T"},
    {"AveragePool", "x", "kernel_shape L strides L pads L ceil_mode I count_include_pad I"},
    {"Gemm", "xcc", "transA I transB I alpha F beta F"},
    {"MatMul", "xc", ""},
    {"MatMul", "xx", ""},
    {"GlobalAveragePool", "x", ""},
    {"ReduceMean", "x", "axes L keepdims I"},
    {"ReduceSum", "xi", "keepdims I noop_with_empty_axes I"},
    {"ReduceMax", "x", "axes L keepdims I"},
    {"ArgMax", "x", "axis I keepdims I select_last_index I"},
    {"Softmax", "x", "axis I"},
    {"LogSoftmax", "x", "axis I"},
    {"BatchNormalization", "xcccc", "epsilon F"},
    {"InstanceNormalization", "xcc", ""},
    {"GroupNormalization", "xcc", "num_groups I"},
    {"LayerNormalization", "xcc", "axis I"},
    {"RMSNormalization", "xc", "axis I"},
    {"LpNormalization", "x", "axis I p I"},
    {"LRN", "x", "size I alpha F beta F"},
    {"Add", "xc", ""},
    {"Mul", "xx", ""},
    {"Max", "xcx", ""},
    {"Where", "ccx", ""},
    {"PRelu", "xc", ""},
    {"Clip", "xss", ""},
    {"Cast", "x", "to I"},
    {"LeakyRelu", "x", "alpha F"},
    {"HardSwish", "x", ""},
    {"Transpose", "x", "perm L"},
    {"Slice", "xiiii", ""},
    {"Split", "xi", "axis I num_outputs I"},
    {"Concat", "xxc", "axis I"},
    {"Expand", "xi", ""},
    {"Tile", "xi", ""},
    {"Gather", "xi", "axis I"},
    {"Reshape", "xi", "allowzero I"},
    {"Unsqueeze", "xi", ""},
    {"Squeeze", "x", ""},
    {"Pad", "xis", "mode T"},
    {"DepthToSpace", "x", "blocksize I mode T"},
    {"SpaceToDepth", "x", "blocksize I"},
    {"Resize", "x-c", "mode T coordinate_transformation_mode T nearest_mode T"},
    {"Resize", "x--i", "mode T coordinate_transformation_mode T"},
    {"GridSample", "xc", "mode T padding_mode T align_corners I"},
    {"NonMaxSuppression", "xxiss", "center_point_box I"},
    {"QuantizeLinear", "xs", "axis I"},
    {"QuantizeLinear", "xc", "axis I"},
    {"DequantizeLinear", "xs", ""},
};

static int constant_for(struct seed_onnx *m, char kind) {
    int64_t dims[5];
    int rank = (int)onnx_below(m, 5);
    for (int i = 0; i < 5; i++) dims[i] = 1 + onnx_below(m, 4);
    if (kind == 'w') {
        dims[1] = onnx_below(m, 4) ? m->values[0].c : dims[1];
        return onnx_constant(m, TYPE_FLOAT, dims, 4);
    }
    if (kind == 'i') return onnx_constant(m, TYPE_INT64, dims, 1);
    return onnx_constant(m, TYPE_FLOAT, dims, kind == 's' ? 0 : rank);
}

static void add_attributes(struct seed_onnx *m, const char *text) {
    static const char *const words[] = {"SAME_UPPER", "SAME_LOWER",    "VALID", "nearest", "linear",  "asymmetric",         "half_pixel",
                                        "floor",      "align_corners", "CRD",   "edge",    "reflect", "tf_crop_and_resize", "wrap"};
    char name[40], kind;
    int length;
    for (; sscanf(text, "%39s %c%n", name, &kind, &length) == 2; text += length) {
        int64_t values[6];
        if (onnx_below(m, 3) == 0) continue;
        int count = onnx_below(m, 8) ? !strcmp(name, "pads") || !strcmp(name, "perm") ? 4 : 2 : (int)onnx_below(m, 6);
        for (int i = 0; i < count; i++) values[i] = onnx_below(m, 4) ? 1 + (int64_t)onnx_below(m, 2) : onnx_any_int(m);
        if (kind == 'L') onnx_ints(m, name, values, count);
        else if (kind == 'I') onnx_int(m, name, onnx_any_int(m));
        else if (kind == 'F') onnx_float_number(m, name, (float)onnx_below(m, 9) / 4 - 1);
        else onnx_string(m, name, PICK(m, words));
    }
}

static int add_recipe(struct seed_onnx *m) {
    const struct recipe *r = &recipes[onnx_below(m, sizeof recipes / sizeof *recipes)];
    int inputs[8], count = 0, last = m->count - 1;
    for (const char *kind = r->inputs; *kind; kind++)
        inputs[count++] = *kind == '-' ? -1 : *kind == 'x' ? (onnx_below(m, 2) ? 0 : last) : constant_for(m, *kind);
    add_attributes(m, r->attributes);
    return onnx_node(m, r->op, "", inputs, count, (struct seed_value){.type = TYPE_FLOAT});
}

static size_t seed_floats(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static struct seed_onnx m;
    memset(&m, 0, sizeof m);
    m.random = seed;
    m.opset = 10 + (int)onnx_below(&m, 14);
    int size = 1 + (int)onnx_below(&m, 9);
    int x = onnx_new(&m, (struct seed_value){TYPE_FLOAT, 1, 1 + (int)onnx_below(&m, 5), size, size + (int)onnx_below(&m, 3)});
    onnx_value_info(&m, 11, x, 1);
    for (uint32_t n = 1 + onnx_below(&m, 3); n > 0; n--) {
        x = add_recipe(&m);
        onnx_value_info(&m, 12, x, 0);
    }
    return seed_finish(&m, bytes, capacity);
}

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    return seed % 2 ? seed_graph(seed, bytes, capacity) : seed_floats(seed, bytes, capacity);
}

/* ---- what is promised ------------------------------------------------------------------------------------------------- */

/* Legal networks that would take long are no defect. */
static int small(const struct onnx_graph *graph) {
    int64_t work = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct onnx_node *node = graph->nodes[i];
        int64_t of_node = 1, kernel[3] = {1, 1, 1};
        onnx_attribute_ints(node, "kernel_shape", kernel, 3);
        for (int k = 0; k < node->input_count + node->output_count; k++) {
            const struct onnx_value *value = k < node->input_count ? node->inputs[k] : node->outputs[k - node->input_count];
            int64_t elements = value ? onnx_elements(&value->shape) : 0;
            if (elements > ELEMENTS_MOST) return 0;
            of_node = k < 2 || k == node->input_count ? of_node * (elements > 1 ? elements : 1) : of_node;
        }
        for (int k = 0; k < 3; k++)
            if (kernel[k] < 0 || kernel[k] > 1000) return 0;
        work += of_node < WORK_MOST ? of_node * kernel[0] : WORK_MOST;
        if (work >= WORK_MOST) return 0;
    }
    return 1;
}

static void run_twice(const struct onnx_graph *graph, const struct executor *executor) {
    struct executor_run *runs[2];
    struct failure failure;
    float **inputs = calloc(graph->input_count + 1, sizeof *inputs);
    bool good = true;
    for (size_t i = 0; i < graph->input_count; i++) {
        int64_t count = onnx_elements(&graph->inputs[i]->shape);
        inputs[i] = malloc((size_t)(count > 0 ? count : 0) * sizeof(float) + 1);
        for (int64_t k = 0; k < count; k++) inputs[i][k] = (float)(k * 37 % 101 - 50) / 8;
    }
    for (int k = 0; k < 2; k++) {
        if (!(runs[k] = executor_run_open(executor, &failure))) exit(3);
        good = executor_run(runs[k], (const float *const *)inputs, NULL, NULL, &failure) && good;
    }
    for (size_t i = 0; i < graph->output_count && good; i++) {
        size_t count;
        const float *one = executor_output(runs[0], i, &count), *other = executor_output(runs[1], i, &count);
        if (count && memcmp(one, other, count * sizeof *one)) abort();
    }
    for (size_t i = 0; i < graph->input_count; i++) free(inputs[i]);
    free(inputs);
    executor_run_close(runs[0]);
    executor_run_close(runs[1]);
}

static void execute(struct onnx_graph *graph, struct onnx_report *report) {
    struct failure failure = {0};
    if (!onnx_bind(graph, NULL, 0, 1, report, &failure) || !onnx_infer(graph, report, &failure) || !small(graph)) return;
    struct executor *executor = executor_open(graph, &failure);
    if (!executor && !*failure.text) abort();
    if (executor) run_twice(graph, executor);
    executor_close(executor);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct onnx_report report = {0};
    struct failure failure = {0};
    struct onnx_graph *graph = onnx_load(as_file(bytes, size), &failure);
    if (graph) execute(graph, &report);
    onnx_report_free(&report);
    if (graph) onnx_free(graph);
    return 0;
}
