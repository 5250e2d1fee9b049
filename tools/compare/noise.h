/* SPDX-License-Identifier: MIT */
/* Arrays of noise for a network's inputs, in a folder of their own, where no one has better data. */
#ifndef MORSEL_TOOLS_COMPARE_NOISE_H
#define MORSEL_TOOLS_COMPARE_NOISE_H

#include "tools/compare/compare.h"

struct noise {
    char *folder;
    size_t count; /* inputs */
    char **files;
    const char **texts; /* "NAME=FILE", as quant_data_open() takes them */
};

/* `samples` (0: 30) for each input, evenly within what its bytes in the model can hold, else within -1 .. 1. */
bool noise_make(struct noise *noise, const struct comparison *c, size_t samples, uint64_t seed, struct failure *failure);
void noise_remove(struct noise *noise); /* the files, too */

#endif
