/* SPDX-License-Identifier: MIT */
/* What the tool says about a network's steps beyond what the blob holds. */
#ifndef MORSEL_TOOLS_NET_STEPS_H
#define MORSEL_TOOLS_NET_STEPS_H

#include "core/blob.h"
#include "tools/network/model.h"

const char *steps_kind_name(uint32_t kind); /* "conv" */

/* For each step of a model with a session, the ISA of the kernel that it got: "c", "avx2". free() gives the array back. */
const char **steps_isa(const struct model *model, struct failure *failure);

static inline uint64_t steps_macs(const struct morsel_blob_step *step) {
    return (uint64_t)step->macs_high << 32 | step->macs_low;
}

#endif
