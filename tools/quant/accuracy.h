/* SPDX-License-Identifier: MIT */
/* How right a float network is on labelled samples, and a blob made of it beside it. */
#ifndef MORSEL_TOOLS_QUANT_ACCURACY_H
#define MORSEL_TOOLS_QUANT_ACCURACY_H

#include "tools/float/executor.h"
#include "tools/base/failure.h"
#include "tools/samples/data/data.h"

/* What the float network gave: its first output, sample by sample. */
struct reference {
    const struct quant_data *data;
    size_t samples, width; /* numbers of the first output in one sample */
    bool labelled;         /* the data have classes */
    float *outputs;        /* [samples][width] */
    size_t right;          /* first answers that are the class */
};

struct accuracy {
    size_t right, changed; /* first answers that are the class, that are not the float network's */
    double sqnr_db;        /* of the first output; INFINITY where nothing differs */
    double run_ms;         /* the shortest of some runs in one thread */
};

/* All samples through the float network. reference_free() lets go of it. */
bool accuracy_of_float(struct reference *reference, const struct onnx_graph *graph, const struct executor *executor,
                       const struct quant_data *data, bool labelled, unsigned threads, struct failure *failure);
void reference_free(struct reference *reference);

/* The same samples through a blob. */
bool accuracy_of_blob(struct accuracy *accuracy, const struct reference *reference, const void *blob, size_t blob_bytes, unsigned threads,
                      struct failure *failure);

#endif
