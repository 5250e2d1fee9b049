/* SPDX-License-Identifier: MIT */
/* Lists of readers and a set of names, made when they are first asked for. */
#include "tools/optimize/notes.h"
#include "tools/optimize/order.h"
#include "tools/base/text.h"
#include "tools/onnx/internal.h"
#include "tools/onnx/operator.h"
#include <stdlib.h>
#include <string.h>

/* --- Reads: a note is made where a node begins to read, and never taken back. Who asks looks whether it still does. --- */

static void add_note(struct onnx_graph *g, struct onnx_node *node, int input) {
    struct onnx_reads *reads = &g->memory->reads;
    if (reads->count == reads->room) {
        reads->room = reads->room ? 2 * reads->room : 1024;
        size_t bytes = reads->room * sizeof *reads->notes;
        reads->notes = must_have(realloc(reads->notes, bytes), bytes);
    }
    struct onnx_declared *declared = onnx_declared(node->inputs[input]);
    reads->notes[reads->count] = (struct onnx_read){node, input, declared->reads};
    declared->reads = ++reads->count;
}

static void note_all(struct onnx_graph *g) {
    g->memory->reads.known = true;
    g->memory->reads.count = 0;
    for (size_t i = 0; i < g->node_count; i++)
        for (int k = 0; k < graph_node_at(g, i)->input_count; k++)
            if (graph_node_at(g, i)->inputs[k]) add_note(g, graph_node_at(g, i), k);
}

void edit_note_read(struct onnx_graph *g, struct onnx_node *node, int input) {
    if (node->inputs[input] && g->memory->reads.known) add_note(g, node, input);
}

struct onnx_node *edit_pop_reader(struct onnx_graph *g, struct onnx_value *value, int *input) {
    if (!g->memory->reads.known) note_all(g);
    size_t *first = &onnx_declared(value)->reads;
    if (!*first) return NULL;
    struct onnx_read note = g->memory->reads.notes[*first - 1];
    *first = note.next;
    *input = note.input;
    return note.node;
}

static bool still_reads(const struct onnx_read *note, const struct onnx_value *value) {
    return !note->node->removed && !note->node->folded && onnx_input(note->node, note->input) == value;
}

struct onnx_node *edit_next_reader(struct onnx_graph *g, struct onnx_value *value, size_t *at) {
    if (!g->memory->reads.known) note_all(g);
    const struct onnx_read *notes = g->memory->reads.notes;
    *at = *at ? notes[*at - 1].next : onnx_declared(value)->reads;
    while (*at && !still_reads(&notes[*at - 1], value)) *at = notes[*at - 1].next;
    return *at ? notes[*at - 1].node : NULL;
}

/* --- Names of nodes --- */

/* The slot where the name is or would be; the table is never full. */
static struct onnx_node_name *slot_of(const struct onnx_node_names *names, const char *name, size_t hash) {
    size_t i = hash & (names->slot_count - 1);
    while (names->slots[i].name && (names->slots[i].hash != hash || strcmp(names->slots[i].name, name)))
        i = (i + 1) & (names->slot_count - 1);
    return &names->slots[i];
}

static void enter(struct onnx_node_names *names, const struct onnx_node_name *entry) {
    struct onnx_node_name *slot = slot_of(names, entry->name, entry->hash);
    names->used += !slot->name;
    if (!slot->name || entry->numbered) *slot = *entry;
}

/* With room for as many again. */
static void enter_all(struct onnx_graph *g) {
    struct onnx_node_names *names = &g->memory->node_names, old = *names;
    size_t slots = 256;
    while (slots < 4 * (g->node_count + names->used)) slots *= 2;
    *names = (struct onnx_node_names){must_calloc(slots, sizeof *names->slots), slots, 0};
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = graph_node_at(g, i);
        if (!node->name_hash) node->name_hash = text_hash(node->name);
        enter(names, &(struct onnx_node_name){node->name, node->name_hash, 0});
    }
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].name) enter(names, &old.slots[i]);
    free(old.slots);
}

unsigned *edit_node_numbered(struct onnx_graph *g, const char *name) {
    struct onnx_node_names *names = &g->memory->node_names;
    if (!names->slot_count) enter_all(g);
    struct onnx_node_name *slot = slot_of(names, name, text_hash(name));
    g->memory->names_tried++;
    return slot->name ? &slot->numbered : NULL;
}

void edit_note_node_name(struct onnx_graph *g, const char *name) {
    struct onnx_node_names *names = &g->memory->node_names;
    if (!names->slot_count) return;
    if (2 * names->used >= names->slot_count) enter_all(g);
    enter(names, &(struct onnx_node_name){name, text_hash(name), 0});
}

void edit_forget(struct onnx_graph *g) {
    struct onnx_node_names *names = &g->memory->node_names;
    free(names->slots);
    *names = (struct onnx_node_names){0};
    for (size_t i = 0; i < g->value_count && g->memory->reads.known; i++) onnx_declared(g->values[i])->reads = 0;
    g->memory->reads.known = false;
}
