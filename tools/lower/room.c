/* SPDX-License-Identifier: MIT */
/* How much memory and how many steps the lowering may take: each view has an entry for every element of an axis, and views may be many. */
#include "tools/lower/lower.h"

/* Of networks seen, none took more than a twentieth of its room; 120 GroupNormalizations of 1,280 channels take nine tenths. That of a
 * file without numbers is one for any network, and grows with the largest of the arrays that a run has to hold anyway, up to a limit:
 * shapes cost a file nothing. What comes of constants alone is not held: a few nodes that each double one make any number of it. An entry
 * of a view that is walked counts as the bytes that are written meanwhile. */
enum { LEAST_MEMORY = 64 << 20, MOST_FOR_SHAPES = 1 << 28, BYTES_OF_AN_ELEMENT = 64, BYTES_OF_A_NUMBER = 64, BYTES_OF_A_WALK = 4 };

/* Whether what comes into the network has a part in the node's outputs: `answer` says so, of values in front. */
static bool has_part(const struct onnx_node *node) {
    bool has = false;
    for (int i = 0; !has && i < node->input_count; i++) has = node->inputs[i] && node->inputs[i]->answer > 0;
    return has;
}

/* Leaves `answer` 1 of all that is not of constants alone. */
static void find_parts(const struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->value_count; i++) graph->values[i]->answer = graph->values[i]->is_input ? 1 : -1;
    for (size_t n = 0; n < graph->node_count; n++) {
        const signed char answer = has_part(graph->nodes[n]) ? 1 : -1;
        for (int i = 0; i < graph->nodes[n]->output_count; i++)
            if (graph->nodes[n]->outputs[i]) graph->nodes[n]->outputs[i]->answer = answer;
    }
}

size_t memory_room(const struct onnx_graph *graph) {
    const int64_t most = (MOST_FOR_SHAPES - LEAST_MEMORY) / BYTES_OF_AN_ELEMENT;
    int64_t largest = 0;
    find_parts(graph);
    for (size_t i = 0; i < graph->value_count; i++) {
        const struct onnx_value *value = graph->values[i];
        const int64_t count = value->constant || value->answer < 0 ? 0 : onnx_elements(&value->shape);
        largest = count > largest ? count : largest;
    }
    largest = largest < most ? largest : most;
    return onnx_room(graph, LEAST_MEMORY + BYTES_OF_AN_ELEMENT * (size_t)largest, BYTES_OF_A_NUMBER, SIZE_MAX);
}

bool has_room(const struct lowering *l, uint64_t bytes) {
    uint64_t taken = l->net->taken_bytes + l->walked;
    return taken <= l->memory_room && bytes <= l->memory_room - taken;
}

bool room_for(struct lowering *l, struct onnx_node *node, uint64_t bytes) {
    return has_room(l, bytes) ||
           refuse(l, node, "with it, weights and tables take over %zu MB: too many for what the file holds", l->memory_room >> 20);
}

bool room_to_walk(struct lowering *l, struct onnx_node *node) {
    for (int i = 0; i < node->input_count; i++) {
        const struct meaning *m = node->inputs[i] ? meaning_of(l, node->inputs[i]) : NULL;
        l->walked += m && m->buffer ? BYTES_OF_A_WALK * view_walk(&m->view) : 0;
    }
    return room_for(l, node, 0);
}

/* Steps are merged and dropped later, but not so many: a network that stays too long is told before it takes memory. */
bool stays_short(struct lowering *l, struct onnx_node *node) {
    return l->net->step_count <= LOWER_MOST_STEPS ||
           refuse(l, node, "the nodes before it come to over %u steps, and a blob holds %u: cut the network into several", LOWER_MOST_STEPS,
                  MORSEL_FORMAT_MAX_STEPS);
}

bool outputs_fit(struct lowering *l) {
    const struct onnx_graph *g = l->graph;
    if (g->output_count <= MORSEL_FORMAT_MAX_IO) return true;
    struct onnx_node node = {.name = g->outputs[MORSEL_FORMAT_MAX_IO]->name,
                             .op = "Output",
                             .domain = "",
                             .opset = g->opset,
                             .inputs = &g->outputs[MORSEL_FORMAT_MAX_IO],
                             .input_count = 1};
    return refuse(l, &node, "it is one of %zu outputs, and a blob holds %u: cut the network into several", g->output_count,
                  MORSEL_FORMAT_MAX_IO);
}
