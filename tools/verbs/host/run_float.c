/* SPDX-License-Identifier: MIT */
#include "tools/verbs/host/run_float.h"
#include "tools/base/clock.h"
#include "tools/verbs/host/conversion.h"
#include "tools/base/file.h"
#include "tools/float/executor.h"
#include "tools/base/folder.h"
#include "tools/base/json.h"
#include "tools/base/npy.h"
#include "tools/samples/data/data.h"
#include "tools/verbs/results.h"
#include "tools/network/scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512 };

/* A value of the graph with the file that it comes from or goes to. */
struct bound {
    const struct onnx_value *value;
    const char *path; /* NULL: not asked for */
    struct npy array; /* inputs */
    size_t count;     /* of one run */
    float *floats;    /* of all runs */
};

struct job {
    const struct run_float_call *call;
    struct conversion conversion; /* the graph; the picture rule, the labels */
    struct onnx_graph *graph;
    struct quant_data *data; /* pictures; NULL: arrays */
    struct results results;
    float *scores;
    struct executor *executor;
    struct executor_run *run;
    struct bound inputs[MOST], outputs[MOST];
    size_t input_count, output_count, runs;
};

bool run_float_wanted(const char *path) {
    size_t length = strlen(path);
    return length > 5 && !strcmp(path + length - 5, ".onnx");
}

/* The index that NAME of "NAME=FILE" stands for: a name, else a number; `count` for neither. */
static size_t find_name(const struct bound *list, size_t count, const char *text, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i].value->name) == length && !strncmp(list[i].value->name, text, length)) return i;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    return length && end == text + length && number < count ? number : count;
}

/* Gives each "FILE" or "NAME=FILE" its value. */
static bool bind(struct bound *list, size_t count, const struct option_texts *texts, const char *option, struct failure *failure) {
    for (int i = 0; i < texts->count; i++) {
        const char *text = texts->values[i], *equals = strchr(text, '=');
        size_t at = equals ? find_name(list, count, text, (size_t)(equals - text)) : count;
        bool named = at < count;
        if (!named && count != 1)
            return failure_set(failure, STATUS_CALL, "%s %.100s: which one? Say NAME=FILE.npy, a name or a number; the first is '%.200s'",
                               option, text, count ? list[0].value->name : "");
        struct bound *bound = &list[named ? at : 0];
        if (bound->path) return failure_set(failure, STATUS_CALL, "%s: '%s' is given twice", option, bound->value->name);
        bound->path = named ? equals + 1 : text;
    }
    return true;
}

static float number(const struct npy *array, size_t i) {
    switch (array->type) {
    case NPY_UINT8: return ((const uint8_t *)array->data)[i];
    case NPY_INT8: return ((const int8_t *)array->data)[i];
    case NPY_INT32: return (float)((const int32_t *)array->data)[i];
    case NPY_INT64: return (float)((const int64_t *)array->data)[i];
    case NPY_FLOAT64: return (float)((const double *)array->data)[i];
    default: return ((const float *)array->data)[i];
    }
}

/* The graph's shape, but for the first dimension, which may be a multiple. */
static bool fits(const struct npy *array, const struct onnx_shape *shape, size_t *runs) {
    if (array->rank != (uint32_t)shape->rank) return false;
    *runs = 1;
    for (int i = 0; i < shape->rank; i++) {
        uint64_t want = (uint64_t)shape->dims[i], have = array->dims[i];
        if (i == 0 && want && have && have % want == 0) *runs = (size_t)(have / want);
        else if (want != have) return false;
    }
    return true;
}

static bool read_arrays(struct job *job, struct failure *failure) {
    if (!job->call->inputs->count)
        return failure_set(failure, STATUS_CALL, "there is nothing to run on: give --input X.npy, or pictures and --picture RULE.json");
    for (size_t i = 0; i < job->input_count; i++) {
        struct bound *input = &job->inputs[i];
        if (!input->path) return failure_set(failure, STATUS_CALL, "input '%s' has no file: give it by --input", input->value->name);
        if (!npy_read(input->path, &input->array, failure)) return false;
    }
    return true;
}

/* Of pictures the file alone says what the network takes. */
static bool read_graph(struct job *job, struct failure *failure) {
    const struct run_float_call *call = job->call;
    const struct conversion_call read = {.input = call->path, .picture = call->picture, .labels = call->labels, .batch = 1};
    if (call->picture_count && call->inputs->count)
        return failure_set(failure, STATUS_CALL, "pictures and --input are both given; a run takes one or the other");
    if (call->picture_count && !call->picture)
        return failure_set(failure, STATUS_CALL, "an ONNX file has no picture rule: give one by --picture RULE.json");
    if (call->picture && !call->picture_count)
        return failure_set(failure, STATUS_CALL, "--picture is for pictures: name some behind the network");
    if (call->picture_count
            ? !conversion_read(&read, &job->conversion, failure)
            : !(job->conversion.graph = conversion_load(call->path, failure)) || !conversion_extras(&read, &job->conversion, failure))
        return false;
    job->graph = job->conversion.graph;
    return true;
}

static bool load(struct job *job, struct failure *failure) {
    const struct run_float_call *call = job->call;
    if (!read_graph(job, failure)) return false;
    job->runs = 1;
    job->input_count = job->graph->input_count;
    job->output_count = job->graph->output_count;
    if (job->input_count > MOST || job->output_count > MOST)
        return failure_set(failure, STATUS_INPUT, "%s has more than %d inputs or outputs", call->path, MOST);
    for (size_t i = 0; i < job->input_count; i++) job->inputs[i].value = job->graph->inputs[i];
    for (size_t i = 0; i < job->output_count; i++) job->outputs[i].value = job->graph->outputs[i];
    return bind(job->inputs, job->input_count, call->inputs, "--input", failure) &&
           bind(job->outputs, job->output_count, call->outputs, "--output", failure) && (call->picture_count || read_arrays(job, failure));
}

/* Dimensions that the network leaves free, but for the batch, are the arrays'. */
static size_t shapes_of_arrays(const struct job *job, struct onnx_binding *bindings) {
    size_t count = 0;
    for (size_t i = 0; i < job->input_count; i++) {
        const struct onnx_shape *shape = &job->inputs[i].value->shape;
        const struct npy *array = &job->inputs[i].array;
        struct onnx_binding binding = {.name = job->inputs[i].value->name, .shape = *shape};
        bool free_one = shape->rank < 0;
        if (array->rank > ONNX_MAX_RANK || (shape->rank >= 0 && array->rank != (uint32_t)shape->rank)) continue; /* said by fits() */
        binding.shape.rank = (int)array->rank;
        for (int d = 0; d < binding.shape.rank; d++) {
            bool is_free = shape->rank < 0 || shape->dims[d] < 0;
            free_one = free_one || (d && is_free);
            if (is_free) binding.shape.dims[d] = d || shape->rank < 0 ? (int64_t)array->dims[d] : 1;
        }
        if (free_one) bindings[count++] = binding;
    }
    return count;
}

/* Operators of QOperator form have no float form. */
static bool add_advice(const struct onnx_graph *graph, struct failure *failure) {
    size_t length = strlen(failure->text);
    for (size_t i = 0; i < graph->node_count; i++)
        if (!strncmp(graph->nodes[i]->op, "QLinear", 7) || !strcmp(graph->nodes[i]->op, "QGemm")) {
            snprintf(failure->text + length, sizeof failure->text - length,
                     "; the network is quantized, in QOperator form: run the blob that morsel convert makes of it");
            break;
        }
    return false;
}

static bool open_graph(struct job *job, const char *path, struct failure *failure) {
    static struct onnx_binding bindings[MOST];
    struct onnx_report report = {0};
    size_t count = shapes_of_arrays(job, bindings);
    bool good = job->call->picture_count ||
                (onnx_bind(job->graph, bindings, count, 1, &report, failure) && onnx_infer(job->graph, &report, failure));
    onnx_report_free(&report);
    if (!good) return failure_prefix(failure, path);
    job->executor = executor_open(job->graph, failure);
    job->run = job->executor ? executor_run_open(job->executor, failure) : NULL;
    return job->run || add_advice(job->graph, failure) || failure_prefix(failure, path);
}

static bool take_input(struct job *job, struct bound *input, struct failure *failure) {
    const struct npy *array = &input->array;
    char text[256];
    size_t runs;
    input->count = (size_t)onnx_elements(&input->value->shape);
    if (!fits(array, &input->value->shape, &runs) || (input != job->inputs && runs != job->runs))
        return failure_set(failure, STATUS_INPUT, "%s is %s, which does not fit input '%s' of the network, or not the inputs before it",
                           input->path, npy_describe(array, text, sizeof text), input->value->name);
    job->runs = runs;
    input->floats = malloc(array->count * sizeof(float) + 1);
    if (!input->floats) return failure_memory(failure, array->count * sizeof(float));
    for (size_t i = 0; i < array->count; i++) input->floats[i] = number(array, i);
    return true;
}

/* One picture at a time. */
static bool take_pictures(struct job *job, struct failure *failure) {
    const struct run_float_call *call = job->call;
    const struct quant_data_wish wish = {.paths = (const char *const *)call->pictures,
                                         .path_count = call->picture_count,
                                         .rule = job->conversion.extras.picture};
    for (size_t i = 0; i < call->picture_count; i++)
        if (folder_is(call->pictures[i]))
            return failure_set(failure, STATUS_CALL, "%s is a folder: name pictures; morsel eval takes folders", call->pictures[i]);
    if (!(job->data = quant_data_open(&wish, job->graph, failure))) return false;
    struct bound *input = &job->inputs[0];
    input->count = quant_data_elements(job->data, 0);
    input->floats = malloc(input->count * sizeof(float) + 1);
    job->runs = call->picture_count;
    return input->floats || failure_memory(failure, input->count * sizeof(float));
}

/* The first output: a list of classes, or nothing that has a best one. */
static bool prepare_results(struct job *job, struct failure *failure) {
    const struct onnx_value *value = job->outputs[0].value;
    const struct onnx_shape *shape = &value->shape;
    bool classes = job->output_count && shape->rank && (shape->rank == 1 || shape->dims[0] == 1);
    for (int i = 2; classes && i < shape->rank; i++) classes = shape->dims[i] == 1;
    job->results = (struct results){.label = conversion_label, .source = &job->conversion, .top = classes ? job->call->top : 0};
    job->results.check_names = job->call->check_names;
    job->results.probabilities = classes && value->producer && !strcmp(value->producer->op, "Softmax");
    job->scores = malloc((size_t)onnx_elements(shape) * sizeof(float) + 1);
    return job->scores || failure_memory(failure, (size_t)onnx_elements(shape) * sizeof(float));
}

static bool prepare(struct job *job, struct failure *failure) {
    if (job->call->picture_count && !take_pictures(job, failure)) return false;
    for (size_t i = 0; i < job->input_count && !job->data; i++)
        if (!take_input(job, &job->inputs[i], failure)) return false;
    if (job->output_count && !prepare_results(job, failure)) return false;
    for (size_t i = 0; i < job->output_count; i++) {
        struct bound *output = &job->outputs[i];
        output->count = (size_t)onnx_elements(&output->value->shape);
        if (output->path && !(output->floats = calloc(job->runs * output->count + 1, sizeof(float))))
            return failure_memory(failure, job->runs * output->count * sizeof(float));
    }
    return true;
}

/* No output goes where something is read from, or where another output goes. */
static bool files_differ(const struct job *job, struct failure *failure) {
    const struct run_float_call *call = job->call;
    for (size_t i = 0; i < job->output_count; i++) {
        const char *path = job->outputs[i].path;
        bool read = file_same(path, call->path) || file_same(path, call->picture) || file_same(path, call->labels), written = false;
        read = read || conversion_reads(&job->conversion, path);
        for (size_t k = 0; k < job->input_count; k++) read = read || file_same(path, job->inputs[k].path);
        for (size_t k = 0; k < call->picture_count; k++) read = read || file_same(path, call->pictures[k]);
        for (size_t k = 0; k < i; k++) written = written || (file_same(path, job->outputs[k].path) && strncmp(path, "/dev/", 5));
        if (read || written)
            return failure_set(failure, STATUS_CALL, "--output %s would be written over: it is %s as well", path,
                               read ? "read" : "another output");
    }
    return true;
}

/* The answer of a run; kept for JSON, printed where no output is asked for. */
static bool add_result(struct job *job, size_t run, double seconds, struct failure *failure) {
    const struct run_float_call *call = job->call;
    const char *file = job->data ? call->pictures[run] : job->inputs[0].path;
    size_t count;
    const float *from = executor_output(job->run, 0, &count);
    if (!job->results.top || !count) return true;
    memcpy(job->scores, from, count * sizeof *from);
    if (!results_add(&job->results, file, (uint32_t)run, !job->data && job->runs > 1, job->scores, count, seconds * 1e3, failure))
        return false;
    if (!call->json && (job->data || !call->outputs->count)) results_print(&job->results, &job->results.list[job->results.count - 1]);
    return true;
}

static bool run_once(struct job *job, size_t run, double *seconds, struct failure *failure) {
    const float *inputs[MOST];
    for (size_t i = 0; i < job->input_count; i++) inputs[i] = job->inputs[i].floats + (job->data ? 0 : run * job->inputs[i].count);
    if (job->data && !quant_data_load(job->data, run, &job->inputs[0].floats, failure)) return false;
    double start = clock_seconds();
    if (!executor_run(job->run, inputs, NULL, NULL, failure)) return false;
    double end = clock_seconds();
    *seconds += end - start;
    for (size_t i = 0; i < job->output_count; i++) {
        struct bound *output = &job->outputs[i];
        size_t count;
        const float *from = executor_output(job->run, i, &count);
        if (output->floats && count) memcpy(output->floats + run * count, from, count * sizeof *from);
    }
    return !job->output_count || add_result(job, run, end - start, failure);
}

static bool run_all(struct job *job, double *seconds, struct failure *failure) {
    *seconds = 0;
    for (size_t run = 0; run < job->runs; run++)
        if (!run_once(job, run, seconds, failure)) return false;
    return true;
}

static bool write_outputs(const struct job *job, bool json, struct failure *failure) {
    for (size_t i = 0; i < job->output_count; i++) {
        const struct bound *output = &job->outputs[i];
        const struct onnx_shape *shape = &output->value->shape;
        uint64_t dims[ONNX_MAX_RANK + 1] = {job->runs};
        uint32_t rank = (uint32_t)shape->rank;
        if (!output->path) continue;
        for (uint32_t k = 0; k < rank; k++) dims[k] = (uint64_t)shape->dims[k];
        dims[0] = rank ? dims[0] * job->runs : job->runs;
        rank = rank || job->runs == 1 ? rank : 1;
        if (!npy_write(output->path, NPY_FLOAT32, dims, rank, output->floats, failure)) return false;
        if (!json)
            printf("%s: output '%s' of %zu run%s in float\n", output->path, output->value->name, job->runs, job->runs > 1 ? "s" : "");
    }
    return true;
}

static void job_free(struct job *job) {
    for (size_t i = 0; i < MOST; i++) {
        npy_free(&job->inputs[i].array);
        free(job->inputs[i].floats);
        free(job->outputs[i].floats);
    }
    executor_run_close(job->run);
    executor_close(job->executor);
    quant_data_close(job->data);
    results_free(&job->results);
    free(job->scores);
    conversion_free(&job->conversion);
}

static void print_json(const struct job *job, double ms) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    if (job->results.top) results_json(&job->results, &json);
    json_integer(&json, "runs", (int64_t)job->runs);
    json_number(&json, "ms", ms);
    json_open_array(&json, "outputs");
    for (size_t i = 0; i < job->output_count; i++) {
        const struct onnx_shape *shape = &job->outputs[i].value->shape;
        uint32_t dims[ONNX_MAX_RANK];
        for (int k = 0; k < shape->rank; k++) dims[k] = (uint32_t)shape->dims[k]; /* the executor has no dimension beyond 2^28 */
        json_open_flat(&json, NULL);
        json_text(&json, "name", job->outputs[i].value->name);
        json_text(&json, "type", "float32");
        json_dims(&json, "shape", dims, (uint32_t)shape->rank);
        json_text(&json, "file", job->outputs[i].path);
        json_close(&json);
    }
    json_close_array(&json);
    json_text(&json, "isa", "float");
    json_close(&json);
}

static void print_ending(const struct job *job, double ms) {
    const struct results *results = &job->results;
    if (results->check_names) printf("%zu of %zu right\n", results_right(results), results_known(results));
    if (results->count && (job->data || !job->call->outputs->count))
        printf("the numbers are %s\n", results->probabilities ? "the network's own probabilities" : "a softmax over the network's scores");
    printf("%.1f ms a run, in float on one thread\n", ms);
}

bool run_float(const struct run_float_call *call, struct failure *failure) {
    static struct job job;
    double seconds;
    job.call = call;
    bool good = load(&job, failure) && files_differ(&job, failure) && open_graph(&job, call->path, failure) && prepare(&job, failure) &&
                run_all(&job, &seconds, failure) && write_outputs(&job, call->json, failure);
    if (good && call->json) print_json(&job, seconds * 1e3 / (double)job.runs);
    else if (good) print_ending(&job, seconds * 1e3 / (double)job.runs);
    job_free(&job);
    return good;
}
