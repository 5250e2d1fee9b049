/* SPDX-License-Identifier: MIT */
/* Makes noise, input by input. */
#include "tools/compare/noise.h"
#include "tools/base/arena.h"
#include "tools/samples/data/choice.h"

#include <math.h>
#include <stdlib.h>

static const struct compare_point *point_of(const struct onnx_value *value) {
    return ((const struct compare_value *)value->lowered)->point;
}

static float *make_one(const struct onnx_value *value, size_t samples, uint64_t *seed, struct failure *failure) {
    const struct compare_point *p = point_of(value);
    size_t count = samples * (size_t)onnx_elements(&value->shape);
    float low = value->type == ONNX_FLOAT ? -1 : 0, high = 1, *numbers = malloc(count * sizeof *numbers + 1);
    if (!numbers) {
        failure_memory(failure, count * sizeof *numbers);
        return NULL;
    }
    if (p && p->stored) {
        low = (float)(p->qparams.least - p->qparams.zero) * p->qparams.scale;
        high = (float)(p->qparams.most - p->qparams.zero) * p->qparams.scale;
    }
    for (size_t i = 0; i < count; i++) numbers[i] = low + (high - low) * (float)((double)(choice_random(seed) >> 11) * 0x1p-53);
    for (size_t i = 0; value->type != ONNX_FLOAT && i < count; i++)
        numbers[i] = rintf(numbers[i]); /* bytes that a Cast reads, ids, masks */
    return numbers;
}

bool noise_make(struct noise *noise, const struct comparison *c, size_t samples, uint64_t seed, struct failure *failure) {
    *noise = (struct noise){.inputs = c->graph->input_count, .samples = samples ? samples : 30};
    noise->numbers = must_calloc(noise->inputs, sizeof *noise->numbers);
    for (size_t i = 0; i < noise->inputs; i++)
        if (!(noise->numbers[i] = make_one(c->graph->inputs[i], noise->samples, &seed, failure))) return false;
    return true;
}

void noise_free(struct noise *noise) {
    for (size_t i = 0; i < noise->inputs; i++) free(noise->numbers[i]);
    free(noise->numbers);
}
