/* SPDX-License-Identifier: MIT */
/*
 * An ONNX graph in memory, as the converter works on it: values and nodes, constants evaluated, every dimension a number.
 *
 * onnx_load() reads a file; onnx_cut() takes a part of it; onnx_bind() fixes its dimensions; onnx_infer() gives every value a type and a
 * shape and folds what is constant. After that nodes stand in an order in which they can run. A value is a constant, a graph input or a
 * node's output. Everything lives in the graph's own memory and goes with onnx_free().
 */
#ifndef MORSEL_TOOLS_ONNX_GRAPH_H
#define MORSEL_TOOLS_ONNX_GRAPH_H

#include "tools/base/failure.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONNX_MAX_RANK 8

/* The numbers of TensorProto.DataType. */
enum onnx_type {
    ONNX_UNKNOWN = 0,
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_UINT16 = 4,
    ONNX_INT16 = 5,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_STRING = 8,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE = 11,
    ONNX_UINT32 = 12,
    ONNX_UINT64 = 13
};

struct onnx_shape {
    int rank;                    /* -1: not known */
    int64_t dims[ONNX_MAX_RANK]; /* -1: not known */
};

/* A constant: row-major, count elements of its type. float16 and double are read as they are; 0 elements is legal. */
struct onnx_tensor {
    enum onnx_type type;
    struct onnx_shape shape;
    size_t count;
    void *data;
    /* Answers that are kept, since the data is final: 1 yes, -1 no, 0 nobody asked. Large constants have many readers. */
    signed char alike; /* whether all elements are the same bytes */
    signed char mask;  /* whether it is an attention mask, as quant/insert/masks.c says */
    signed char rises; /* whether it is 0, 1, 2 .., as optimize/pass_tables.c says */
};

struct onnx_node;

struct onnx_value {
    const char *name;
    enum onnx_type type;
    struct onnx_shape shape;
    const struct onnx_tensor *constant; /* NULL where it is not one */
    struct onnx_node *producer;         /* NULL for graph inputs and initializers */
    int uses;                           /* nodes' inputs that read it, and graph outputs */
    bool is_input, is_output;           /* of the graph */
    bool inside;                        /* of a graph inside a node (flow.c): the file has no such name */
    void *lowered;                      /* for whoever walks the graph next */
    signed char answer;                 /* the same, where a yes or no is all: 1 or -1; 0: nobody asked */
};

struct onnx_body;
struct onnx_attribute {
    const char *name;
    int type; /* AttributeProto.AttributeType: 1 FLOAT 2 INT 3 STRING 4 TENSOR 5 GRAPH 6 FLOATS 7 INTS 8 STRINGS */
    float f;
    int64_t i;
    const char *s;
    const struct onnx_tensor *t;
    size_t count; /* of floats, ints, strings */
    const float *floats;
    const int64_t *ints;
    const char *const *strings;
    struct onnx_body *body; /* a graph (flow.c); NULL where it is not read */
};

struct onnx_node {
    const char *name;                  /* never empty: the file's name, or OPERATOR_NUMBER */
    const char *op;                    /* "Conv" */
    const char *domain;                /* "" for ai.onnx, "com.microsoft" */
    int opset;                         /* of its domain */
    const struct onnx_operator *rules; /* what the table of operators says of it; NULL where it has no such, or nobody looked */
    int input_count, output_count;
    struct onnx_value **inputs;  /* NULL where an optional input is left out */
    struct onnx_value **outputs; /* NULL where an output is left out */
    size_t attribute_count;
    struct onnx_attribute *attributes;
    size_t number;    /* while a pass changes the list: which block of it, counted from 1; while it is sorted: its place */
    size_t name_hash; /* as notes.c of tools/optimize has it; 0: nobody asked */
    bool removed;     /* by a pass: it stands in no graph any more */
    bool folded;      /* all outputs are constants: nothing to run */
    bool refused;     /* by onnx_infer(): its inputs and attributes hold anything */
    bool unchecked;   /* by onnx_infer(): it does not know its inputs, which may hold anything, as its attributes may */
    bool done;        /* for whoever walks the graph next */
    bool cell;        /* one of many alike: the product of a recurrent layer's state, with the same weights in each cell */
    bool kept;        /* stays behind the Gather that it reads */
};

/* Whether inference looked at it and found no fault: else it has no trait, and matches no pattern. */
static inline bool onnx_is_checked(const struct onnx_node *node) {
    return !node->refused && !node->unchecked;
}

struct onnx_graph {
    const char *name;     /* of the file, without folder and ending */
    const char *producer; /* "pytorch 2.1" */
    int64_t ir_version;
    int opset;         /* of ai.onnx */
    bool floats_meant; /* layers with float weights are to run in float, even where nothing is quantized */
    size_t value_count, node_count, input_count, output_count;
    struct onnx_value **values;
    struct onnx_node **nodes;
    struct onnx_value **inputs;
    struct onnx_value **outputs;
    size_t numbers_read;   /* elements of all constants as the file holds them: what was read, not what was folded */
    size_t numbers_copied; /* elements of constants that passes wrote: each reader of one gets its own */
    size_t numbers_mapped; /* of affine maps that passes read */
    size_t numbers_tried;  /* results of functions that passes computed to learn what nodes are */
    size_t file_count;
    const char **files; /* with weights, beside the file itself: real paths */
    struct onnx_memory *memory;
};

/* Notices and refusals collected along the way; printed or put into JSON by the verb. */
struct onnx_refusal {
    const char *node, *op, *shapes, *why;
    int opset;
    bool malformed; /* it is no such operator's node, whoever runs it */
};
struct onnx_report {
    size_t notice_count, refusal_count;
    char **notices;
    struct onnx_refusal *refusals;
};

/* A dimension or shape given by the user: --dim batch=1, --shape input=1,3,32,32. */
struct onnx_binding {
    const char *name;
    struct onnx_shape shape; /* rank 1 for --dim */
    bool is_dim;
};

/* Reads a file (external data only beside it, inside its folder). NULL: `failure` says why (one line, no file name). */
struct onnx_graph *onnx_load(const char *path, struct failure *failure);

/* Names that a user gave, of values or of nodes; a node stands for those of its outputs that are read. */
struct onnx_names_given {
    const char *const *names;
    size_t count;
};

/* Cuts the graph, as it was read: the named values become inputs, and outputs in the place of the file's. What does not lead from the ones
 * to the others is dropped, whatever it is. Two empty lists change nothing. False: `failure` names what there is no such thing as. */
bool onnx_cut(struct onnx_graph *graph, const struct onnx_names_given *inputs, const struct onnx_names_given *outputs,
              struct onnx_report *report, struct failure *failure);

/* Makes every input dimension a number. Bindings come first. Then the batch, a free first dimension, becomes `batch` with a notice. Others
 * are an error that names them. False: `failure` says why. */
bool onnx_bind(struct onnx_graph *graph, const struct onnx_binding *bindings, size_t count, int64_t batch, struct onnx_report *report,
               struct failure *failure);

/* Sorts, infers types and shapes, folds constants and shape arithmetic; a value that cannot be inferred takes the file's value_info where
 * that agrees with the bindings, or stays unknown. Malformed nodes (missing inputs, impossible shapes) become refusals. */
bool onnx_infer(struct onnx_graph *graph, struct onnx_report *report, struct failure *failure);
/* Whether a node's inputs lead to the shapes that its outputs have, whatever a pass made of it; `why` says what does not fit. */
bool onnx_shapes_hold(struct onnx_graph *graph, struct onnx_node *node, char *why, size_t size);

void onnx_free(struct onnx_graph *graph);

/* Attributes, with the operator's default. */
const struct onnx_attribute *onnx_attribute(const struct onnx_node *node, const char *name);
int64_t onnx_attribute_int(const struct onnx_node *node, const char *name, int64_t otherwise);
float onnx_attribute_float(const struct onnx_node *node, const char *name, float otherwise);
const char *onnx_attribute_string(const struct onnx_node *node, const char *name, const char *otherwise);
/* Ints into out[0..max); the count, or -1 where the node has no such attribute. */
int onnx_attribute_ints(const struct onnx_node *node, const char *name, int64_t *out, int max);

/* A list of integers by the name of its attribute, wherever it stands: the count, 0 where there are none, or why it cannot be read. */
enum { ONNX_LATE_LIST = -1 /* known at run time only */, ONNX_NO_LIST = -2 /* malformed, or of more than `max` */ };
int onnx_integers(const struct onnx_node *node, const char *name, int64_t *out, int max);
/* Whether it belongs into an input in the node's opset. */
bool onnx_list_is_input(const struct onnx_node *node, const char *name);
/* A number from -rank to rank-1 becomes 0 to rank-1; false: it is none. */
bool onnx_axis_of(int64_t axis, int rank, int *out);
/* Which of `rank` axes a Reduce operator reduces: reduced[ONNX_MAX_RANK]. False: not known, or malformed. */
bool onnx_reduced(const struct onnx_node *node, int rank, bool *reduced);
/* Output dimension i of a Transpose is input dimension perm[i]. False: malformed. */
bool onnx_permutation(const struct onnx_node *node, int rank, int *perm);

/* Whether it has quantized operators at all. */
bool onnx_is_quantized(const struct onnx_graph *graph);

/* Input i, or NULL where it is absent. */
struct onnx_value *onnx_input(const struct onnx_node *node, int i);
/* The constant behind input i, or NULL. */
const struct onnx_tensor *onnx_input_constant(const struct onnx_node *node, int i);
/* The one axis, of the `rank` that it broadcasts to, along which a constant varies; -1: it is one number, -2: more than one. */
int onnx_varying_axis(const struct onnx_tensor *constant, int rank);
/* A Dropout that is to train, and drops some. */
bool onnx_drops(const struct onnx_node *node);

/* A window operator's geometry with auto_pad resolved: rank spatial dimensions (1, 2 or 3). False: the attributes contradict each other or
 * the shapes (`why` says how). Pads are begin then end, by dimension. */
struct onnx_window {
    int rank;
    int64_t kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3], out[3];
    bool ceil_mode, count_include_pad;
};
bool onnx_window(const struct onnx_node *node, const struct onnx_shape *x, const int64_t *weight_kernel, struct onnx_window *window,
                 const char **why);

/* What may be made of a file: `least`, and `each` for every number that it holds; `most` at most. */
size_t onnx_room(const struct onnx_graph *graph, size_t least, size_t each, size_t most);
/* Counts so many more as taken of a room. False, and none more: there is not so much left. */
bool onnx_pays(size_t *taken, size_t more, size_t room);
int64_t onnx_elements(const struct onnx_shape *shape); /* -1 where unknown or more than 2^40 */
size_t onnx_type_bytes(enum onnx_type type);           /* 0 for strings and unknown */
/* Element i of a constant of a number type, as double or int64 (floats are truncated). */
double onnx_number(const struct onnx_tensor *tensor, size_t i);
/* Whether all elements are the same bytes. The answer is kept beside them: it is asked again and again of constants that many read. */
bool onnx_all_alike(const struct onnx_tensor *tensor);
int64_t onnx_integer(const struct onnx_tensor *tensor, size_t i);

/* Memory that lives as long as the graph, zeroed; never NULL (the process ends with exit status 3 where there is none). */
void *onnx_alloc(struct onnx_graph *graph, size_t bytes);
char *onnx_text(struct onnx_graph *graph, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *onnx_copy_text(struct onnx_graph *graph, const char *text);

void onnx_notice(struct onnx_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a refusal; the shapes of the node's inputs are put into words here. */
void onnx_refuse(struct onnx_report *report, const struct onnx_node *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Of refusals from number `from` on, those of nodes that were refused before are dropped. */
void onnx_report_once(struct onnx_report *report, size_t from);
/* Drops all refusals: who changed the graph infers again. */
void onnx_report_anew(struct onnx_report *report);
void onnx_report_free(struct onnx_report *report);

#endif
