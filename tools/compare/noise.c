/* SPDX-License-Identifier: MIT */
/* Writes arrays of noise into a folder of their own. */
#include "tools/compare/noise.h"
#include "tools/base/npy.h"
#include "tools/samples/data/choice.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct compare_point *point_of(const struct onnx_value *value) {
    return ((const struct compare_value *)value->lowered)->point;
}

static bool write_one(const struct onnx_value *value, const char *path, size_t samples, uint64_t *seed, struct failure *failure) {
    const struct compare_point *p = point_of(value);
    uint64_t dims[ONNX_MAX_RANK + 1] = {samples};
    size_t count = samples * (size_t)onnx_elements(&value->shape);
    float low = -1, high = 1, *numbers = malloc(count * sizeof *numbers + 1);
    if (!numbers) return failure_memory(failure, count * sizeof *numbers);
    if (p && p->stored) {
        low = (float)(p->qparams.least - p->qparams.zero) * p->qparams.scale;
        high = (float)(p->qparams.most - p->qparams.zero) * p->qparams.scale;
    }
    for (int i = 0; i < value->shape.rank; i++) dims[i + 1] = (uint64_t)value->shape.dims[i];
    for (size_t i = 0; i < count; i++) numbers[i] = low + (high - low) * (float)((double)(choice_random(seed) >> 11) * 0x1p-53);
    bool good = npy_write(path, NPY_FLOAT32, dims, (uint32_t)value->shape.rank + 1, numbers, failure);
    free(numbers);
    return good;
}

static char *joined(const char *a, const char *between, const char *b) {
    size_t size = strlen(a) + strlen(between) + strlen(b) + 1;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s%s%s", a, between, b);
    return text;
}

bool noise_make(struct noise *noise, const struct comparison *c, size_t samples, uint64_t seed, struct failure *failure) {
    const char *base = getenv("TMPDIR");
    noise->files = calloc(c->graph->input_count + 1, sizeof *noise->files);
    noise->texts = calloc(c->graph->input_count + 1, sizeof *noise->texts);
    noise->folder = joined(base && *base ? base : "/tmp", "/", "morsel-XXXXXX");
    if (!noise->files || !noise->texts || !noise->folder) return failure_memory(failure, c->graph->input_count * sizeof *noise->files);
    if (!mkdtemp(noise->folder)) {
        bool bad =
            failure_set(failure, STATUS_SYSTEM, "%s: no folder can be made for the noise; give --data, or set TMPDIR", noise->folder);
        free(noise->folder);
        noise->folder = NULL;
        return bad;
    }
    for (size_t i = 0; i < c->graph->input_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu.npy", i);
        noise->files[i] = joined(noise->folder, "/", name);
        noise->texts[i] = noise->files[i] ? joined(c->graph->inputs[i]->name, "=", noise->files[i]) : NULL;
        noise->count = i + 1;
        if (!noise->texts[i]) return failure_memory(failure, 4096);
        if (!write_one(c->graph->inputs[i], noise->files[i], samples ? samples : 30, &seed, failure)) return false;
    }
    return true;
}

void noise_remove(struct noise *noise) {
    for (size_t i = 0; i < noise->count; i++) {
        if (noise->files[i]) unlink(noise->files[i]);
        free(noise->files[i]);
        free((void *)(uintptr_t)noise->texts[i]);
    }
    if (noise->folder) rmdir(noise->folder);
    free(noise->folder);
    free(noise->files);
    free(noise->texts);
}
