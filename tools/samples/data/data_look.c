/* SPDX-License-Identifier: MIT */
/* Whether samples are worth making ranges from. */
#include "tools/base/arena.h"
#include "tools/samples/data/data.h"
#include "tools/base/message.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 30 };

/* Two samples, all inputs of each one behind the other. */
struct pair {
    size_t inputs, elements;
    float *first, *next, **places;
};

static void pair_open(struct pair *p, const struct quant_data *data) {
    *p = (struct pair){.inputs = quant_data_inputs(data)};
    for (size_t i = 0; i < p->inputs; i++) p->elements += quant_data_elements(data, i);
    p->first = must_calloc(p->elements + 1, sizeof *p->first);
    p->next = must_calloc(p->elements + 1, sizeof *p->next);
    p->places = must_calloc(p->inputs, sizeof *p->places);
}

static void pair_close(struct pair *p) {
    free(p->first);
    free(p->next);
    free(p->places);
}

static bool load(struct pair *p, const struct quant_data *data, size_t sample, float *to, struct failure *failure) {
    for (size_t i = 0; i < p->inputs; i++) {
        p->places[i] = to;
        to += quant_data_elements(data, i);
    }
    return quant_data_load(data, sample, p->places, failure);
}

/* Each number is the one before it: no input but a single number, a single number has nothing to vary. */
static bool is_constant(const float *numbers, size_t count) {
    return count > 1 && !memcmp(numbers, numbers + 1, (count - 1) * sizeof *numbers);
}

/* Most data end this with their second sample. */
static bool compare_all(const struct quant_data *data, struct pair *p, bool *alike, bool *constant, struct failure *failure) {
    size_t count = quant_data_count(data), bytes = p->elements * sizeof *p->first;
    if (!load(p, data, 0, p->first, failure)) return false;
    *constant = is_constant(p->first, p->elements);
    *alike = count > 1;
    for (size_t i = 1; i < count && (*alike || *constant); i++) {
        if (!load(p, data, i, p->next, failure)) return false;
        *alike = *alike && !memcmp(p->first, p->next, bytes);
        *constant = *constant && is_constant(p->next, p->elements);
    }
    return true;
}

bool quant_data_look(const struct quant_data *data, struct failure *failure) {
    struct pair p;
    bool alike = false, constant = false;
    size_t count = quant_data_count(data);
    pair_open(&p, data);
    bool good = compare_all(data, &p, &alike, &constant, failure);
    pair_close(&p);
    if (!good) return false;
    if (constant) message_notice("the data are constant: every sample is one number all over; ranges made from them fit no real input");
    else if (alike) message_notice("the data are %zu times the same sample: ranges made from it fit hardly any other input", count);
    if (count < FEW)
        message_notice("%zu sample%s: one input in %zu goes beyond the ranges that so few show, in each single value; some hundred typical "
                       "samples are better, %d the least",
                       count, count == 1 ? "" : "s", count + 1, FEW);
    return true;
}
