/* SPDX-License-Identifier: MIT */
/* A scheme for the same network at another size of its inputs. */
#ifndef MORSEL_TOOLS_QUANT_INSERT_TRANSFER_H
#define MORSEL_TOOLS_QUANT_INSERT_TRANSFER_H

#include "tools/base/failure.h"
#include "tools/quant/insert/scheme.h"

/*
 * The graph is of the same file, optimized by the same passes: the same nodes and values by their names, other dimensions. It gets what was
 * chosen for the scheme's graph: which nodes run in integers, scales, the layers' weights and biases, and constants that equalization has
 * changed. `original` is the scheme's graph as it was before that (it may be the graph itself). Constants that differ from size to size, as
 * positions do, stay as they are. NULL: the two do not fit, or a layer's weights differ. The scheme and its graph have to outlive it.
 */
struct scheme *scheme_transfer(const struct scheme *from, const struct onnx_graph *original, struct onnx_graph *graph,
                               struct failure *failure);

#endif
