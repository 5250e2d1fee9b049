/* SPDX-License-Identifier: MIT */
/* Nodes in blocks: a change moves what stands in one of them. */
#include "tools/optimize/order.h"
#include "tools/onnx/internal.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OPENED = ONNX_BLOCK_NODES / 2 }; /* nodes of a block at first */

static struct onnx_block *block_at(const struct onnx_order *order, size_t place) {
    return &order->blocks[order->sequence[place]];
}

/* An empty block at that place of the sequence; pointers to blocks are good until the next. */
static struct onnx_block *add_block(struct onnx_order *order, size_t place) {
    if (order->count == order->room) {
        order->room = 2 * order->room + 4;
        order->blocks = must_have(realloc(order->blocks, order->room * sizeof *order->blocks), order->room * sizeof *order->blocks);
        order->sequence = must_have(realloc(order->sequence, order->room * sizeof(size_t)), order->room * sizeof(size_t));
    }
    memmove(order->sequence + place + 1, order->sequence + place, (order->count - place) * sizeof(size_t));
    order->sequence[place] = order->count;
    struct onnx_block *block = &order->blocks[order->count++];
    block->count = 0;
    for (size_t i = place; i < order->count; i++) block_at(order, i)->place = i;
    return block;
}

static void put(struct onnx_order *order, struct onnx_block *block, size_t at, struct onnx_node *node) {
    order->moved += block->count - at + 1;
    memmove(block->nodes + at + 1, block->nodes + at, (block->count - at) * sizeof(void *));
    block->nodes[at] = node;
    block->count++;
    node->number = (size_t)(block - order->blocks) + 1;
}

static void open_list(struct onnx_graph *g) {
    struct onnx_order *order = &g->memory->order;
    if (order->count) return;
    struct onnx_block *block = add_block(order, 0);
    for (size_t i = 0; i < g->node_count; i++) {
        if (block->count == OPENED) block = add_block(order, order->count);
        put(order, block, block->count, g->nodes[i]);
    }
    order->seen = order->before_seen = 0;
    order->list = g->nodes;
    if (g->memory->node_room < g->node_count) g->memory->node_room = g->node_count;
    g->nodes = NULL;
}

struct onnx_node *graph_node_at(const struct onnx_graph *g, size_t i) {
    struct onnx_order *order = &g->memory->order;
    assert(i < g->node_count);
    if (!order->count) return g->nodes[i];
    while (i < order->before_seen) order->before_seen -= block_at(order, --order->seen)->count;
    while (i - order->before_seen >= block_at(order, order->seen)->count) order->before_seen += block_at(order, order->seen++)->count;
    return block_at(order, order->seen)->nodes[i - order->before_seen];
}

static size_t place_in(const struct onnx_block *block, const struct onnx_node *node) {
    size_t at = 0;
    while (at < block->count && block->nodes[at] != node) at++;
    assert(at < block->count);
    return at;
}

/* The upper half goes into a block of its own. */
static void split(struct onnx_order *order, size_t full) {
    const size_t place = order->blocks[full].place;
    struct onnx_block *upper = add_block(order, place + 1), *lower = &order->blocks[full];
    for (size_t i = OPENED; i < lower->count; i++) put(order, upper, upper->count, lower->nodes[i]);
    lower->count = OPENED;
    if (order->seen > place) order->seen++;
}

void edit_order_insert(struct onnx_graph *g, const struct onnx_node *before, struct onnx_node *node) {
    struct onnx_order *order = &g->memory->order;
    if (before && !before->removed) open_list(g);
    else before = NULL;
    if (!order->count) { /* at the end of an array that grows by doubling */
        if (g->node_count >= g->memory->node_room) {
            g->memory->node_room = 2 * g->node_count + 64;
            struct onnx_node **nodes = onnx_alloc(g, g->memory->node_room * sizeof(void *));
            if (g->node_count) memcpy(nodes, g->nodes, g->node_count * sizeof(void *));
            g->nodes = nodes;
        }
        g->nodes[g->node_count++] = node;
        return;
    }
    size_t at = before ? before->number - 1 : order->sequence[order->count - 1];
    if (order->blocks[at].count == ONNX_BLOCK_NODES) {
        split(order, at);
        at = before ? before->number - 1 : order->sequence[order->count - 1];
    }
    struct onnx_block *block = &order->blocks[at];
    put(order, block, before ? place_in(block, before) : block->count, node);
    order->before_seen += block->place < order->seen;
    g->node_count++;
}

void edit_order_remove(struct onnx_graph *g, const struct onnx_node *node) {
    struct onnx_order *order = &g->memory->order;
    open_list(g);
    struct onnx_block *block = &order->blocks[node->number - 1];
    const size_t at = place_in(block, node);
    block->count--;
    order->moved += block->count - at;
    memmove(block->nodes + at, block->nodes + at + 1, (block->count - at) * sizeof(void *));
    order->before_seen -= block->place < order->seen;
    g->node_count--;
}

void edit_settle(struct onnx_graph *g) {
    struct onnx_order *order = &g->memory->order;
    if (!order->count) return;
    if (g->node_count > g->memory->node_room) {
        g->memory->node_room = 2 * g->node_count + 64;
        order->list = onnx_alloc(g, g->memory->node_room * sizeof(void *));
    }
    g->nodes = order->list;
    for (size_t i = 0, to = 0; i < order->count; i++) {
        const struct onnx_block *block = block_at(order, i);
        memcpy(g->nodes + to, block->nodes, block->count * sizeof(void *));
        to += block->count;
    }
    order->count = 0;
}
