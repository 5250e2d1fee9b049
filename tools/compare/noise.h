/* SPDX-License-Identifier: MIT */
/* Noise for a network's inputs, where no one has better data. It stays in memory. */
#ifndef MORSEL_TOOLS_COMPARE_NOISE_H
#define MORSEL_TOOLS_COMPARE_NOISE_H

#include "tools/compare/compare.h"

struct noise {
    size_t inputs, samples;
    float **numbers; /* [inputs][samples * elements of the input], as quant_data_wish has it */
};

/* `samples` (0: 30) for each input, evenly within what its bytes in the model can hold, else within -1 .. 1. */
bool noise_make(struct noise *noise, const struct comparison *c, size_t samples, uint64_t seed, struct failure *failure);
void noise_free(struct noise *noise);

#endif
