/* SPDX-License-Identifier: MIT */
/* One interface for a blob, a built-in network and an ONNX file: what each says of itself, and that it runs by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/blob.h"
#include "core/checksum.h"
#include "tests/unit/support/onnx_file.h"
#include "tools/network/host/float.h"
#include "tools/network/scores.h"
#include "tools/network/tensor.h"

static size_t steps, values;

static void count(void *context, const struct network_value *value) {
    (void)context;
    steps += value->step != NULL;
    values += value->value != NULL && value->count && value->data;
}

/* Zeros go in; what comes out is told. */
static void run_zeros(const struct network *network, float *scores) {
    struct failure failure;
    struct network_run *run = network_run_open(network, &failure);
    assert_non_null(run);
    float *zeros = calloc(network->inputs[0].count, sizeof *zeros);
    steps = values = 0;
    assert_true(network_put(run, 0, zeros, &failure));
    assert_true(network_compute(run, count, NULL, &failure));
    assert_true(network_scores(run, scores, &failure));
    free(zeros);
    network_run_close(run);
}

static const struct network_call blob = {.path = "models/cifar10/network.morsel"};
static const struct network_call onnx = {.path = "models/cifar10/network.onnx",
                                         .picture = "models/cifar10/picture.json",
                                         .labels = "models/cifar10/labels.txt"};

/* The blob was made of the file. */
static void a_blob_and_its_onnx_file_answer_alike(void **unused) {
    (void)unused;
    const struct network_call *calls[] = {&blob, &onnx};
    float scores[2][10];
    for (int i = 0; i < 2; i++) {
        struct network network;
        struct failure failure;
        char text[128];
        if (!network_open(&network, calls[i], &failure)) fail_msg("%s", failure.text);
        assert_int_equal(network.input_count, 1);
        assert_string_equal(strchr(tensor_describe(&network.inputs[0], text, sizeof text), ','), ", float32 [1, 3, 32, 32]");
        assert_int_equal(network.outputs[0].count, 10);
        assert_int_equal(network_images(&network), 1);
        assert_true(network_takes_pictures(&network, &failure));
        assert_string_equal(network_label(&network, 0), "airplane");
        assert_null(network_label(&network, 10));
        assert_true(network_reads(&network, calls[i]->path));
        run_zeros(&network, scores[i]);
        assert_true(i ? values > 10 && !steps : steps > 10 && !values);
        network_close(&network);
    }
    uint32_t best[2];
    for (int i = 0; i < 2; i++) scores_top(scores[i], 10, 1, &best[i]);
    assert_int_equal(best[0], best[1]);
}

static void refuse(const struct network_call *call, int status, const char *says) {
    struct network network;
    struct failure failure = {0};
    assert_false(network_open(&network, call, &failure));
    assert_int_equal(failure.status, status);
    if (!strstr(failure.text, says)) fail_msg("'%s' does not say '%s'", failure.text, says);
    network_close(&network);
}

static void what_cannot_be_opened_is_refused(void **unused) {
    (void)unused;
    refuse(&(struct network_call){.path = "no-such-net"}, STATUS_INPUT, "no network is built in");
    refuse(&(struct network_call){.path = onnx.path, .blob_only = true}, STATUS_INPUT, "of an ONNX file a blob is made first");
    refuse(&(struct network_call){.path = blob.path, .picture = onnx.picture}, STATUS_CALL, "--picture is for ONNX files");
    refuse(&(struct network_call){.path = blob.path, .no_streaming = true}, STATUS_CALL, "--no-streaming is for networks");
    refuse(&(struct network_call){.path = onnx.path, .labels = onnx.path}, STATUS_INPUT, "labels");
}

static void built_in_networks_open_by_name(void **unused) {
    (void)unused;
    struct network network;
    struct failure failure;
    float scores[12];
    assert_true(network_open(&network, &(struct network_call){.path = "ds-cnn-kws", .threads = 2}, &failure));
    assert_true(network.probabilities);
    assert_false(network_takes_pictures(&network, &failure));
    assert_int_equal(network.outputs[0].count, 12);
    run_zeros(&network, scores);
    assert_true(steps > 5);
    network_close(&network);
}

/* The blob with a step of no kind, its checksum made anew. */
static void write_damaged(const char *path) {
    struct file_bytes file;
    struct failure failure;
    assert_true(file_read(blob.path, INT32_MAX, &file, &failure));
    struct morsel_blob_header *header = (void *)file.data;
    ((struct morsel_blob_step *)(void *)(file.data + header->steps.offset))[3].kind = 99;
    header->checksum = morsel_checksum(file.data, header->blob_bytes);
    FILE *f = fopen(path, "wb");
    assert_true(f && fwrite(file.data, 1, file.size, f) == file.size && !fclose(f));
    file_free(&file);
}

static void a_damaged_blob_is_refused_by_step(void **unused) {
    (void)unused;
    char path[] = "/tmp/morsel-test-XXXXXX";
    int f = mkstemp(path);
    assert_true(f >= 0 && !close(f));
    write_damaged(path);
    refuse(&(struct network_call){.path = path}, STATUS_INPUT, ": step 3: an unknown step");
    assert_int_equal(remove(path), 0);
}

/* The blob with some KB of strings, all of which each name has, or each of many labels. */
static void write_at_length(const char *path, bool names) {
    enum { STRINGS = 1 << 18, LABELS = 1 << 13 };
    struct file_bytes file;
    struct failure failure;
    assert_true(file_read(blob.path, INT32_MAX, &file, &failure));
    const uint32_t at = (uint32_t)(file.size + 63) / 64 * 64, labels_at = at + STRINGS, bytes = labels_at + LABELS * 4;
    uint8_t *all = aligned_alloc(64, bytes);
    memset(all, 0, bytes);
    memcpy(all, file.data, file.size);
    memset(all + at + 1, 'a', STRINGS - 2);
    struct morsel_blob_header *header = (void *)all;
    struct morsel_blob_tensor *tensors = (void *)(all + header->tensors.offset);
    struct morsel_blob_step *steps_of = (void *)(all + header->steps.offset);
    uint32_t *labels = (void *)(all + labels_at);
    for (uint32_t i = 0; i < header->tensors.count; i++) tensors[i].name = names;
    for (uint32_t i = 0; i < header->steps.count; i++) steps_of[i].name = names;
    for (uint32_t i = 0; i < LABELS; i++) labels[i] = 1;
    for (uint32_t i = 0; i < 2; i++) ((struct morsel_blob_io *)(void *)(all + (i ? header->outputs : header->inputs).offset))->name = 1;
    header->strings = (struct morsel_blob_section){at, STRINGS};
    header->labels = (struct morsel_blob_section){labels_at, names ? 0 : LABELS};
    header->name = 0;
    header->blob_bytes = bytes;
    header->checksum = morsel_checksum(all, bytes);
    FILE *f = fopen(path, "wb");
    assert_true(f && fwrite(all, 1, bytes, f) == bytes && !fclose(f));
    free(all);
    file_free(&file);
}

/* 2.7 MB with 129 names of 256 KB pass; labels of 2 GB do not. */
static void what_would_be_told_at_length_is_refused(void **unused) {
    (void)unused;
    char path[] = "/tmp/morsel-test-XXXXXX";
    int f = mkstemp(path);
    struct network network;
    struct failure failure;
    assert_true(f >= 0 && !close(f));
    write_at_length(path, true);
    assert_true(network_open(&network, &(struct network_call){.path = path}, &failure));
    network_close(&network);
    write_at_length(path, false);
    refuse(&(struct network_call){.path = path}, STATUS_INPUT, "names or labels lie as morsel does not write them");
    assert_int_equal(remove(path), 0);
}

/* More than a command line names: statistics and comparisons put as many as the graph has. */
static void a_graph_has_as_many_inputs_as_it_likes(void **unused) {
    (void)unused;
    enum { INPUTS = 2000 };
    struct bytes graph = {0};
    struct failure failure;
    float numbers[INPUTS], sum = 0;
    char name[16];
    for (int i = 0; i < INPUTS; i++) {
        snprintf(name, sizeof name, "x%d", i);
        add_value(&graph, 11, name, 1, "1");
        numbers[i] = (float)i;
    }
    add_node(&graph, "sum", "Sum", "x1 x1999", "y", "");
    add_value(&graph, 12, "y", 1, "1");
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *loaded = inferred_bytes(&model);
    struct executor *executor = executor_open(loaded, &failure);
    assert_non_null(executor);
    const struct network network = network_of_executor(executor);
    struct network_run *run = network_run_open(&network, &failure);
    for (uint32_t i = 0; i < INPUTS; i++) assert_true(network_put(run, i, &numbers[i], &failure));
    assert_true(network_compute(run, NULL, NULL, &failure) && network_get(run, 0, &sum, &failure));
    assert_true(sum == 2000);
    network_run_close(run);
    executor_close(executor);
    onnx_free(loaded);
}

/* A file of one node, for remove(). */
static void write_node(char *path, const char *op, int opset, const char *inputs, const char *attributes) {
    int f = mkstemps(path, 5);
    struct bytes model = one_node(op, opset, inputs, attributes, 1);
    assert_true(f >= 0 && write(f, model.data, model.size) == (ssize_t)model.size && !close(f));
    free(model.data);
}

static void refuse_node(const char *op, int opset, const char *inputs, const char *attributes, const char *why) {
    char path[] = "/tmp/morsel-test-XXXXXX.onnx";
    write_node(path, op, opset, inputs, attributes);
    refuse(&(struct network_call){.path = path}, STATUS_INPUT, why);
    assert_int_equal(remove(path), 0);
}

/* What computes in bytes has no float form: the blob that is made of it has. */
static void a_network_of_bytes_is_run_as_a_blob(void **unused) {
    (void)unused;
    refuse_node("QLinearMatMul", 13, "u:2,2 f#0.5 u#1 u:2,2 f#0.5 u#1 f#0.5 u#1", "",
                "onnx: the network is quantized, in QOperator form: run the blob that morsel convert makes of it: ");
    refuse_node("MatMulInteger", 13, "u:2,2 u:2,2", "",
                "onnx: the network is quantized, dynamically: run the blob that morsel convert makes of it: ");
}

/* A node of inputs of two numbers each, the same in all but the last, which has others. */
static void run_node(const char *op, int opset, const char *inputs, uint32_t count, const float *numbers, const float *last, float *got) {
    char path[] = "/tmp/morsel-test-XXXXXX.onnx";
    struct network network;
    struct failure failure;
    write_node(path, op, opset, inputs, "");
    assert_true(network_open(&network, &(struct network_call){.path = path}, &failure));
    struct network_run *run = network_run_open(&network, &failure);
    for (uint32_t i = 0; i < count; i++) assert_true(network_put(run, i, i + 1 < count ? numbers : last, &failure));
    assert_true(network_compute(run, NULL, NULL, &failure) && network_get(run, 0, got, &failure));
    network_run_close(run);
    network_close(&network);
    assert_int_equal(remove(path), 0);
}

/* Of one key the answer is its value. */
static void attention_in_one_node_runs_in_float(void **unused) {
    (void)unused;
    const float numbers[2] = {0.5F, -3};
    float got[2] = {0};
    run_node("Attention", 23, "f:1,1,1,2 f:1,1,1,2 f:1,1,1,2", 3, numbers, numbers, got);
    assert_memory_equal(got, numbers, sizeof got);
    refuse_node("Attention", 23, "f:1,2,3,4 f:1,2,3,4 f:1,2,3,4", "softcap~2", "in this form; morsel takes floats, ");
}

/* A function of one number, unless something is added to that. */
static void a_bias_is_added_before_a_function(void **unused) {
    (void)unused;
    const float numbers[2] = {0.5F, -3}, bias[2] = {0.25F, 2}, sums[2] = {0.75F, -1};
    float got[2] = {0}, wanted[2] = {0};
    run_node("ms.FastGelu", 17, "f:1,2 f:2", 2, numbers, bias, got);
    run_node("ms.FastGelu", 17, "f:1,2", 1, NULL, sums, wanted);
    assert_memory_equal(got, wanted, sizeof got);
}

/* Blobs that verbs make or open themselves, too. */
static void the_environment_caps_kernels(void **unused) {
    (void)unused;
    struct network network, models;
    struct failure failure;
    assert_int_equal(setenv("MORSEL_CPU", "c", 1), 0);
    assert_true(network_open(&network, &blob, &failure));
    models = network_of_model(&network.model);
    struct network_run *run = network_run_open(&models, &failure);
    assert_non_null(run);
    assert_string_equal(network_isa(run), "c");
    network_run_close(run);
    network_close(&network);
    assert_int_equal(unsetenv("MORSEL_CPU"), 0);
}

static int take_onnx(void **unused) {
    (void)unused;
    network_take_onnx(&network_of_onnx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blob_and_its_onnx_file_answer_alike),  cmocka_unit_test(what_cannot_be_opened_is_refused),
        cmocka_unit_test(a_damaged_blob_is_refused_by_step),      cmocka_unit_test(what_would_be_told_at_length_is_refused),
        cmocka_unit_test(a_graph_has_as_many_inputs_as_it_likes), cmocka_unit_test(a_network_of_bytes_is_run_as_a_blob),
        cmocka_unit_test(attention_in_one_node_runs_in_float),    cmocka_unit_test(a_bias_is_added_before_a_function),
        cmocka_unit_test(the_environment_caps_kernels),           cmocka_unit_test(built_in_networks_open_by_name)};
    return cmocka_run_group_tests(tests, take_onnx, NULL);
}
