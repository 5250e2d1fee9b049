/* SPDX-License-Identifier: MIT */
/* Where a network's arena is fullest, and who fills it. */
#ifndef MORSEL_TOOLS_MEMORY_H
#define MORSEL_TOOLS_MEMORY_H

#include "core/blob.h"
#include "tools/message.h"

struct memory_peak {
    uint32_t step;
    uint32_t bytes; /* of slices in use at that step, shared bytes once, without the step slots */
};

/* Whether the tensor holds a slice of the arena at this step, or for the group of steps that it belongs to. */
bool memory_holds(const struct morsel_model *network, const struct morsel_blob_tensor *tensor, uint32_t step);

/* The fullest step. */
bool memory_find_peak(const struct morsel_model *network, struct memory_peak *peak, struct failure *failure);

#endif
