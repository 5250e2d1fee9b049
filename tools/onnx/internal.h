/* SPDX-License-Identifier: MIT */
/* What the files of this folder share and nobody else needs: where a graph's memory is, what the file declared, names. */
#ifndef MORSEL_TOOLS_ONNX_INTERNAL_H
#define MORSEL_TOOLS_ONNX_INTERNAL_H

#include "onnx.pb-c.h"
#include "tools/base/arena.h"
#include "tools/onnx/graph.h"

enum { ONNX_MOST_IMPORTS = 256 }; /* of operator sets: each node looks for its own */

/* Names to values: open addressing, a power of two of slots, at most half full. */
struct onnx_names {
    struct onnx_value **slots;
    size_t slot_count, used;
};

/* An input of a node that is a value, or was, and the value's next such note (0: none). tools/optimize/notes.c keeps them. */
struct onnx_read {
    struct onnx_node *node;
    int input;
    size_t next;
};

struct onnx_reads {
    struct onnx_read *notes;
    size_t count, room;
    bool known; /* all reads of the graph are noted */
};

/* The names of nodes, for tools/optimize/notes.c: a set as above; `numbered` as of values. */
struct onnx_node_name {
    const char *name;
    size_t hash;
    unsigned numbered;
};
struct onnx_node_names {
    struct onnx_node_name *slots;
    size_t slot_count, used;
};

/* The opset of a domain that nodes were put in for. */
struct onnx_domain {
    const char *name;
    int opset;
    struct onnx_domain *next;
};

/* Nodes one after the other, in blocks that tools/optimize/order.c divides where they fill up. */
enum { ONNX_BLOCK_NODES = 256 };
struct onnx_block {
    size_t count, place; /* place: in the sequence */
    struct onnx_node *nodes[ONNX_BLOCK_NODES];
};
struct onnx_order {
    struct onnx_block *blocks; /* as they were made */
    size_t *sequence;          /* in which order they follow */
    size_t count, room;        /* of both; 0 blocks: graph->nodes holds the list */
    size_t seen, before_seen;  /* where one was last asked for: a place in the sequence, and how many nodes stand before it */
    struct onnx_node **list;   /* the array that graph->nodes was */
    uint64_t moved;            /* nodes that changes moved so far: the work, for a test */
};

/* Files of weights: a set of their paths as above, what they hold together and what was read of them so far, in bytes. */
struct onnx_external {
    const char **slots;
    size_t slot_count;
    uint64_t there, taken;
};

struct onnx_scope;
struct onnx_memory {
    struct arena arena; /* holds the graph, and this, as well */
    Onnx__Model *model; /* tensors, names and attributes point into it */
    struct onnx_names names;
    struct onnx_reads reads;
    struct onnx_node_names node_names;
    struct onnx_external external;
    struct onnx_order order;
    struct onnx_domain *domains;
    size_t value_room;                /* of graph->values */
    size_t node_room;                 /* of graph->nodes; 0 where nobody knows */
    size_t most_nodes;                /* to which passes may let the graph grow; 0: any */
    const struct onnx_node *outgrown; /* where it had passed that; NULL: it has not */
    size_t names_tried;               /* that edit.c asked whether they are taken: the work, for a test */
    size_t domains_tried;             /* nodes whose domain it asked for; the same */
    size_t outputs_tried;             /* outputs among which it looked for one; the same */
    size_t folded_bytes;              /* constants made by folding so far */
    size_t folded_work;               /* elements computed by folding so far */
    size_t flow_work;                 /* nodes, rounds and bytes of graphs inside of nodes so far (flow.c) */
    uint64_t flow_bytes;              /* that they take */
    const char *folder;               /* where external data may lie */
    bool rebound;                     /* a fixed dimension was overridden: what the file says of shapes is out of date */
};

/* Every value of a graph is one of these; the cast is onnx_declared(). */
struct onnx_declared {
    struct onnx_value value;
    enum onnx_type type; /* as the file says; of outputs without one, as it was inferred */
    struct onnx_shape shape;
    const char *symbols[ONNX_MAX_RANK]; /* names of free dimensions, NULL where there is none */
    size_t reads;                       /* the first note of who reads it, counted from 1 */
    const char *unreadable;             /* why a constant's data was skipped, or NULL */
    size_t hash;                        /* of the name */
    unsigned numbered;                  /* NAME_2 to this one are taken; 0: nobody asked */
    size_t output;                      /* where it stands among the graph's outputs, if it was asked */
};

static inline struct onnx_declared *onnx_declared(struct onnx_value *value) {
    return (struct onnx_declared *)value;
}

struct onnx_value *onnx_find(const struct onnx_graph *graph, const char *name);
/* The value of that name, made if it is new. */
struct onnx_value *onnx_named(struct onnx_graph *graph, const char *name);

/* Each takes the other's name, and the type that the file states for it. */
void onnx_exchange_names(struct onnx_graph *graph, struct onnx_value *a, struct onnx_value *b);
/* Drops the values that `keep` does not want, and their names. */
void onnx_keep_values(struct onnx_graph *graph, bool (*keep)(const struct onnx_value *value));
/* An empty graph; the model, where there is one, goes with it. */
struct onnx_graph *onnx_new_graph(Onnx__Model *model);

/* wire.c. Whether protobuf-c may unpack a file of these bytes: false where they are damaged, or would take far more memory than they are.
 * *taken: a bound of what it allocates. */
bool onnx_check_message(const uint8_t *bytes, size_t size, uint64_t *taken, struct failure *failure);
/* The same bound for one message of it, which protobuf-c has packed. */
uint64_t onnx_message_bytes(const ProtobufCMessageDescriptor *message, const uint8_t *bytes, size_t size);
/* load_tensor.c. The file's tensor, checked; NULL with a failure, or NULL with *unreadable where its type is not read here. */
struct onnx_tensor *onnx_read_tensor(struct onnx_graph *graph, const Onnx__Tensor *tensor, const char *folder, const char **unreadable,
                                     struct failure *failure);
/* external.c. `size` bytes of a file beside the model; NULL with a failure. */
void *onnx_read_external(struct onnx_graph *graph, const Onnx__Tensor *tensor, const char *folder, size_t size, struct failure *failure);
/* inline.c. Replaces every call of a function of the model by the function's nodes. */
bool onnx_inline_functions(Onnx__Model *model, struct failure *failure);

/* names.c. A name and where it stands: a table of them is sorted once, where many names are looked up. */
struct onnx_name {
    const char *name;
    size_t number;
};
/* By name; of equal ones the one of the least number stays. How many are left. */
size_t onnx_sort_names(struct onnx_name *names, size_t count);
const struct onnx_name *onnx_find_name(const struct onnx_name *names, size_t count, const char *name); /* NULL: it is none of them */

/* sort.c. Drops nodes that reach no output and puts the rest in an order in which they can run. */
bool onnx_sort(struct onnx_graph *graph, struct failure *failure);
/* Of each value, by all nodes. */
void onnx_count_uses(struct onnx_graph *graph);
/* Marks nodes whose outputs are all constants, drops what only they needed, counts uses. */
void onnx_prune(struct onnx_graph *graph);

/* "1x3x32x32", "scalar", "?" */
const char *onnx_shape_text(const struct onnx_shape *shape, char *text, size_t size);
const char *onnx_type_name(int type);

#endif
