/* SPDX-License-Identifier: MIT */
/* Samples out of arrays, read by parts. */
#include "tools/base/arena.h"
#include "tools/samples/data/data_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *type_name(enum onnx_type type) {
    static const char *const names[] = {"?",     "float32", "uint8", "int8",    "uint16",  "int16",  "int32",
                                        "int64", "string",  "bool",  "float16", "float64", "uint32", "uint64"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "?";
}

const char *data_describe(const struct onnx_value *value, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "'%.100s', %s [", value->name, type_name(value->type));
    for (int i = 0; i < value->shape.rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? ", " : "", (long long)value->shape.dims[i]);
    if (at < size) snprintf(text + at, size - at, "]");
    return text;
}

static bool same_dims(const uint64_t *dims, const int64_t *wanted, int count) {
    for (int i = 0; i < count; i++)
        if (dims[i] != (uint64_t)wanted[i]) return false;
    return true;
}

/* How many samples an array of this shape holds; 0 where it does not fit. */
static size_t count_samples(const struct npy *array, const struct onnx_shape *shape) {
    uint64_t first = array->rank ? array->dims[0] : 1;
    int rank = (int)array->rank;
    if (onnx_elements(shape) < 1) return 0;
    if (rank == 0 && shape->rank == 0) return 1;
    if (rank == shape->rank && first % (uint64_t)shape->dims[0] == 0 && same_dims(array->dims + 1, shape->dims + 1, rank - 1))
        return (size_t)(first / (uint64_t)shape->dims[0]);
    if (rank == shape->rank + 1 && same_dims(array->dims + 1, shape->dims, shape->rank)) return (size_t)first;
    return rank + 1 == shape->rank && shape->dims[0] == 1 && same_dims(array->dims, shape->dims + 1, rank) ? 1 : 0;
}

/* What may have happened to an array of another shape. */
static const char *shape_hint(const struct npy *array, const struct onnx_shape *shape) {
    if (array->count == 0) return "; it is empty";
    if (array->rank != 4 || shape->rank != 4) return "";
    const int64_t *d = shape->dims;
    const int64_t last[] = {d[2], d[3], d[1]}, first[] = {d[3], d[1], d[2]};
    if (same_dims(array->dims + 1, last, 3)) return "; its channels lie last: transpose(0, 3, 1, 2)";
    return same_dims(array->dims + 1, first, 3) ? "; its channels lie first: transpose(0, 2, 3, 1)" : "";
}

static bool misfits(const struct npy *array, const struct onnx_value *input, struct failure *failure) {
    char have[256], wanted[256];
    return failure_set(failure, STATUS_INPUT, "it holds %s, and the network's input is %s (a first dimension N counts samples)%s",
                       npy_describe(array, have, sizeof have), data_describe(input, wanted, sizeof wanted),
                       shape_hint(array, &input->shape));
}

/* Bytes where the network wants floats are pixels that nobody has normalized. */
static bool type_fits(const struct npy *array, const struct onnx_value *input, struct failure *failure) {
    bool real = input->type == ONNX_FLOAT || input->type == ONNX_DOUBLE || input->type == ONNX_FLOAT16;
    bool bytes = array->type == NPY_UINT8 || array->type == NPY_INT8;
    bool floats = array->type == NPY_FLOAT32 || array->type == NPY_FLOAT64 || array->type == NPY_FLOAT16;
    if (real ? !bytes : !floats) return true;
    char wanted[256];
    return failure_set(failure, STATUS_INPUT, "it holds %s, and the network's input is %s: %s", npy_type_name(array->type),
                       data_describe(input, wanted, sizeof wanted),
                       real ? "make of it what the network was trained on, astype('float32') and its mean and scale"
                            : "whole numbers are wanted");
}

static struct data_array *next(struct data_arrays *arrays, const char *path) {
    size_t bytes = (arrays->count + 1) * sizeof *arrays->list;
    arrays->list = must_have(realloc(arrays->list, bytes), bytes);
    struct data_array *array = &arrays->list[arrays->count++];
    *array = (struct data_array){.path = must_have(strdup(path), strlen(path)), .first = arrays->samples};
    return array;
}

void data_arrays_take(struct data_arrays *arrays, float *numbers, size_t samples) {
    struct data_array *array = next(arrays, "");
    array->source.array = (struct npy){.type = NPY_FLOAT32, .data = numbers};
    arrays->samples += array->samples = samples;
}

bool data_arrays_add(struct data_arrays *arrays, const char *path, struct failure *failure) {
    struct data_array *array = next(arrays, path);
    if (!npy_open(path, &array->source, failure)) return false;
    array->samples = count_samples(&array->source.array, &arrays->input->shape);
    arrays->samples += array->samples;
    bool good =
        array->samples ? type_fits(&array->source.array, arrays->input, failure) : misfits(&array->source.array, arrays->input, failure);
    return good || failure_prefix(failure, path);
}

/* "[12, 0, 5, 7]" */
static const char *place_of(const struct npy *array, size_t element, char *text, size_t size) {
    uint64_t index[NPY_RANK_MOST];
    size_t at = (size_t)snprintf(text, size, "[");
    for (uint32_t i = array->rank; i-- > 0; element /= (size_t)array->dims[i]) index[i] = element % array->dims[i];
    for (uint32_t i = 0; i < array->rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%llu", i ? ", " : "", (unsigned long long)index[i]);
    if (at < size) snprintf(text + at, size - at, "]");
    return text;
}

static bool all_finite(const struct data_array *array, size_t first, const float *numbers, size_t count, struct failure *failure) {
    char place[200];
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return failure_set(failure, STATUS_INPUT, "%s: element %s is %s: ranges can only be made of finite numbers", array->path,
                               place_of(&array->source.array, first + i, place, sizeof place), isnan(numbers[i]) ? "NaN" : "infinite");
    return true;
}

bool data_arrays_load(const struct data_arrays *arrays, size_t index, float *out, struct failure *failure) {
    size_t first = 0, end = arrays->count, elements = (size_t)onnx_elements(&arrays->input->shape);
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (arrays->list[middle].first <= index) first = middle;
        else end = middle;
    }
    const struct data_array *array = &arrays->list[first];
    size_t start = (index - array->first) * elements;
    return npy_floats(array->path, &array->source, start, elements, out, failure) && all_finite(array, start, out, elements, failure);
}

void data_arrays_close(struct data_arrays *arrays) {
    for (size_t i = 0; i < arrays->count; i++) {
        npy_close(&arrays->list[i].source);
        free(arrays->list[i].path);
    }
    free(arrays->list);
    *arrays = (struct data_arrays){0};
}
