/* SPDX-License-Identifier: MIT */
/* A blob whose tensors all stay in the arena until the end of a run, so that each can be looked at. */
#ifndef MORSEL_TOOLS_COMPARE_WHOLE_H
#define MORSEL_TOOLS_COMPARE_WHOLE_H

#include "core/blob.h"
#include "tools/network/network.h"

/*
 * Changes a sound blob in place, and opens it: nothing streams, every tensor is whole and has a place of its own. It computes the same
 * bytes as before.
 */
bool whole_open(struct morsel_model *network, uint8_t *blob, size_t bytes, struct failure *failure);

/* A run of it. */
struct whole_run {
    struct network network;
    struct network_run *run;
    struct morsel_view *views; /* [tensor] what it holds once its step is done */
};
bool whole_run_open(struct whole_run *run, const struct morsel_model *model, struct failure *failure);
bool whole_compute(struct whole_run *run, struct failure *failure);
void whole_run_close(struct whole_run *run);

/* What a tensor of the arena holds after a run, in the order of ONNX: N C H W. */
void whole_values(const struct whole_run *run, uint32_t tensor, float *values);

/* Where a tensor lies in the arena. */
struct morsel_view whole_view(const struct whole_run *run, uint32_t tensor);

#endif
