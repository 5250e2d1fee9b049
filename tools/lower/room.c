/* SPDX-License-Identifier: MIT */
/* How much memory the lowering may take: each view has an entry for every element of an axis, and views may be many. */
#include "tools/lower/lower.h"

/* Of networks seen, none took more than a third of its room. */
enum { LEAST_MEMORY = 1 << 30, BYTES_OF_A_NUMBER = 64 };

size_t memory_room(const struct onnx_graph *graph) {
    return onnx_room(graph, LEAST_MEMORY, BYTES_OF_A_NUMBER, SIZE_MAX);
}

bool has_room(const struct lowering *l, uint64_t bytes) {
    size_t taken = l->net->taken_bytes;
    return taken <= l->memory_room && bytes <= l->memory_room - taken;
}

bool room_for(struct lowering *l, struct onnx_node *node, uint64_t bytes) {
    return has_room(l, bytes) ||
           refuse(l, node, "with it, weights and tables take over %zu MB: too many for what the file holds", l->memory_room >> 20);
}
