/* SPDX-License-Identifier: MIT */
/* The sizes that --shape and --dim give to what a network leaves free: of a dimension one number, or several, a variant each. */
#ifndef MORSEL_TOOLS_VERBS_HOST_SIZES_H
#define MORSEL_TOOLS_VERBS_HOST_SIZES_H

#include "core/format.h"
#include "tools/base/failure.h"
#include "tools/base/options.h"
#include "tools/onnx/graph.h"

struct sizes {
    uint32_t count;                /* variants, 1 and more: the largest first */
    size_t binding_count;          /* of each */
    struct onnx_binding *bindings; /* [count][binding_count] */
    bool *listed;                  /* [binding_count]: it has a number for each variant */
    char **names;                  /* [binding_count] */
};

/* Lists of several dimensions go together: the first number of one with the first of the others. Zeroed at first; sizes_free() is due
 * where it fails, too. */
bool sizes_read(const struct option_texts *shapes, const struct option_texts *dims, struct sizes *sizes, struct failure *failure);

/* "height=96 width=128": what is particular to a variant. */
const char *sizes_text(const struct sizes *sizes, uint32_t variant, char *text, size_t size);

void sizes_free(struct sizes *sizes);

#endif
