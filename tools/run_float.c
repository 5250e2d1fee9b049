/* SPDX-License-Identifier: MIT */
#include "tools/run_float.h"
#include "tools/clock.h"
#include "tools/conversion.h"
#include "tools/file.h"
#include "tools/float/executor.h"
#include "tools/json.h"
#include "tools/npy.h"

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
    struct onnx_graph *graph;
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
        if (strlen(list[i].value->name) == length && !strncmp(list[i].value->name, text, length))
            return i;
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
        if (bound->path)
            return failure_set(failure, STATUS_CALL, "%s: '%s' is given twice", option, bound->value->name);
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
    if (array->rank != (uint32_t)shape->rank)
        return false;
    *runs = 1;
    for (int i = 0; i < shape->rank; i++) {
        uint64_t want = (uint64_t)shape->dims[i], have = array->dims[i];
        if (i == 0 && want && have && have % want == 0)
            *runs = (size_t)(have / want);
        else if (want != have)
            return false;
    }
    return true;
}

static bool load(struct job *job, const char *path, const struct option_texts *inputs, const struct option_texts *outputs,
                 struct failure *failure) {
    job->graph = conversion_load(path, failure);
    if (!job->graph)
        return false;
    job->runs = 1;
    job->input_count = job->graph->input_count;
    job->output_count = job->graph->output_count;
    if (job->input_count > MOST || job->output_count > MOST)
        return failure_set(failure, STATUS_INPUT, "%s has more than %d inputs or outputs", path, MOST);
    for (size_t i = 0; i < job->input_count; i++)
        job->inputs[i].value = job->graph->inputs[i];
    for (size_t i = 0; i < job->output_count; i++)
        job->outputs[i].value = job->graph->outputs[i];
    if (!bind(job->inputs, job->input_count, inputs, "--input", failure) ||
        !bind(job->outputs, job->output_count, outputs, "--output", failure))
        return false;
    for (size_t i = 0; i < job->input_count; i++) {
        struct bound *input = &job->inputs[i];
        if (!input->path)
            return failure_set(failure, STATUS_CALL, "input '%s' has no file: give it by --input", input->value->name);
        if (!npy_read(input->path, &input->array, failure))
            return false;
    }
    return true;
}

/* Dimensions that the network leaves free, but for the batch, are the arrays'. */
static size_t shapes_of_arrays(const struct job *job, struct onnx_binding *bindings) {
    size_t count = 0;
    for (size_t i = 0; i < job->input_count; i++) {
        const struct onnx_shape *shape = &job->inputs[i].value->shape;
        const struct npy *array = &job->inputs[i].array;
        struct onnx_binding binding = {.name = job->inputs[i].value->name, .shape = *shape};
        bool free_one = shape->rank < 0;
        if (array->rank > ONNX_MAX_RANK || (shape->rank >= 0 && array->rank != (uint32_t)shape->rank))
            continue; /* said by fits() */
        binding.shape.rank = (int)array->rank;
        for (int d = 0; d < binding.shape.rank; d++) {
            bool is_free = shape->rank < 0 || shape->dims[d] < 0;
            free_one = free_one || (d && is_free);
            if (is_free)
                binding.shape.dims[d] = d || shape->rank < 0 ? (int64_t)array->dims[d] : 1;
        }
        if (free_one)
            bindings[count++] = binding;
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
    char error[512];
    struct onnx_report report = {0};
    size_t count = shapes_of_arrays(job, bindings);
    bool good = onnx_bind(job->graph, bindings, count, 1, &report, error, sizeof error) &&
                onnx_infer(job->graph, &report, error, sizeof error);
    onnx_report_free(&report);
    if (!good)
        return failure_set(failure, STATUS_INPUT, "%s: %s", path, error);
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
    if (!input->floats)
        return failure_memory(failure, array->count * sizeof(float));
    for (size_t i = 0; i < array->count; i++)
        input->floats[i] = number(array, i);
    return true;
}

static bool prepare(struct job *job, struct failure *failure) {
    for (size_t i = 0; i < job->input_count; i++)
        if (!take_input(job, &job->inputs[i], failure))
            return false;
    for (size_t i = 0; i < job->output_count; i++) {
        struct bound *output = &job->outputs[i];
        output->count = (size_t)onnx_elements(&output->value->shape);
        if (output->path && !(output->floats = calloc(job->runs * output->count + 1, sizeof(float))))
            return failure_memory(failure, job->runs * output->count * sizeof(float));
    }
    return true;
}

/* No output goes where something is read from, or where another output goes. */
static bool files_differ(const struct job *job, const char *model, struct failure *failure) {
    for (size_t i = 0; i < job->output_count; i++) {
        const char *path = job->outputs[i].path;
        bool read = file_same(path, model), written = false;
        for (size_t k = 0; k < job->input_count; k++)
            read = read || file_same(path, job->inputs[k].path);
        for (size_t k = 0; k < i; k++)
            written = written || (file_same(path, job->outputs[k].path) && strncmp(path, "/dev/", 5));
        if (read || written)
            return failure_set(failure, STATUS_CALL, "--output %s would be written over: it is %s as well", path,
                               read ? "read" : "another output");
    }
    return true;
}

static bool run_all(struct job *job, double *seconds, struct failure *failure) {
    const float *inputs[MOST];
    double start = clock_seconds();
    for (size_t run = 0; run < job->runs; run++) {
        for (size_t i = 0; i < job->input_count; i++)
            inputs[i] = job->inputs[i].floats + run * job->inputs[i].count;
        if (!executor_run(job->run, inputs, NULL, NULL, failure))
            return false;
        for (size_t i = 0; i < job->output_count; i++) {
            struct bound *output = &job->outputs[i];
            size_t count;
            const float *from = executor_output(job->run, i, &count);
            if (output->floats && count)
                memcpy(output->floats + run * count, from, count * sizeof *from);
        }
    }
    *seconds = clock_seconds() - start;
    return true;
}

static bool write_outputs(const struct job *job, bool json, struct failure *failure) {
    for (size_t i = 0; i < job->output_count; i++) {
        const struct bound *output = &job->outputs[i];
        const struct onnx_shape *shape = &output->value->shape;
        uint64_t dims[ONNX_MAX_RANK + 1] = {job->runs};
        uint32_t rank = (uint32_t)shape->rank;
        if (!output->path)
            continue;
        for (uint32_t k = 0; k < rank; k++)
            dims[k] = (uint64_t)shape->dims[k];
        dims[0] = rank ? dims[0] * job->runs : job->runs;
        rank = rank || job->runs == 1 ? rank : 1;
        if (!npy_write(output->path, NPY_FLOAT32, dims, rank, output->floats, failure))
            return false;
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
    onnx_free(job->graph);
}

static void print_json(const struct job *job, double ms) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    json_integer(&json, "runs", (int64_t)job->runs);
    json_number(&json, "ms", ms);
    json_open_array(&json, "outputs");
    for (size_t i = 0; i < job->output_count; i++) {
        const struct onnx_shape *shape = &job->outputs[i].value->shape;
        uint32_t dims[ONNX_MAX_RANK];
        for (int k = 0; k < shape->rank; k++)
            dims[k] = (uint32_t)shape->dims[k]; /* the executor has no dimension beyond 2^28 */
        json_open_flat(&json, NULL);
        json_text(&json, "name", job->outputs[i].value->name);
        json_text(&json, "type", "float32");
        json_dims(&json, "shape", dims, (uint32_t)shape->rank);
        json_text(&json, "file", job->outputs[i].path);
        json_close(&json);
    }
    json_close_array(&json);
    json_close(&json);
}

bool run_float(const char *path, const struct option_texts *inputs, const struct option_texts *outputs, bool json,
               struct failure *failure) {
    static struct job job;
    double seconds;
    bool good = load(&job, path, inputs, outputs, failure) && files_differ(&job, path, failure) && open_graph(&job, path, failure) &&
                prepare(&job, failure) && run_all(&job, &seconds, failure) && write_outputs(&job, json, failure);
    if (good && json)
        print_json(&job, seconds * 1e3 / (double)job.runs);
    else if (good)
        printf("%.1f ms a run, in float on one thread\n", seconds * 1e3 / (double)job.runs);
    job_free(&job);
    return good;
}
