/* SPDX-License-Identifier: MIT */
/* From an ONNX file to a blob, as `convert` and `quantize` have it in common: reading, extras, arena, C array, report. */
#ifndef MORSEL_TOOLS_VERBS_HOST_CONVERSION_H
#define MORSEL_TOOLS_VERBS_HOST_CONVERSION_H

#include "tools/net/blob/blob.h"
#include "tools/base/file.h"
#include "tools/base/json.h"
#include "tools/net/net.h"
#include "tools/onnx/graph.h"
#include "tools/base/options.h"
#include "tools/samples/rules/answer_rule.h"
#include "tools/samples/rules/text_rule.h"
#include "tools/verbs/host/metadata.h"
#include "tools/verbs/host/sizes.h"

/* What the command line says. */
struct conversion_call {
    const char *input, *output, *c_source, *picture, *text, *answer, *labels;
    struct option_texts shapes, dims, set;
    struct option_texts input_nodes, output_nodes; /* where the graph is cut */
    long batch, arena, arena_fast;
    bool strip, no_streaming, half, json;
    bool one_size; /* lists of --dim are refused */
    bool in_place; /* the output may be the input */
    bool one_said; /* a batch of 1 is asked for by --batch */
};

struct conversion;

/* The graph of a variant behind the first, ready to be lowered; the conversion frees it. NULL: refusals in the report, or a failure. */
typedef struct onnx_graph *conversion_graph(void *context, const struct conversion_call *call, const struct conversion *c, uint32_t variant,
                                            struct onnx_report *report, struct failure *failure);

/* A file of --c. NULL: it is not written. */
struct c_file {
    char *path, *text;
    size_t length;
};

/* What a conversion holds. Zeroed at first; conversion_free() lets go of it. */
struct conversion {
    struct onnx_graph *graph;
    struct onnx_report report;
    bool made;                  /* by conversion_make(), which may be called again */
    size_t kept_notices;        /* those from before it */
    bool told;                  /* conversion_notices() has said what the report has */
    struct sizes sizes;         /* a variant each */
    conversion_graph *graph_of; /* of all but the first; NULL: the file's, as it stands */
    void *graph_context;
    struct net *net, **nets;    /* net: the first variant's */
    struct onnx_graph **graphs; /* of all but the first */
    uint32_t other_arena;       /* what it would take with streaming, or without it, whichever was not asked for; 0: more than 2^31 bytes */
    struct morsel_blob_picture rule; /* for the first variant */
    struct text_rule text;
    struct answer_rule answer;
    struct metadata metadata;
    struct blob_extras extras;
    char **labels;
    size_t label_count;
    const char *more; /* what is written beside the call's files, or NULL */
    char *ends;       /* the options that cut off what is refused, by ends_find(); NULL: it does not stand at an end */
    uint8_t *blob;
    size_t blob_bytes;
    struct c_file c_files[BLOB_C_COUNT]; /* of --c; the first alone where that is a device */
};

/* Whether the options go together, and each file that would be written is one of its own and none that is read. Names the files of --c.
 * `more`: one more that is written, or NULL. */
bool conversion_check_files(const struct conversion_call *call, struct conversion *c, const char *more, struct failure *failure);

/* The paths of all that is written, by number; those that are not there are NULL. */
enum { CONVERSION_WRITTEN = BLOB_C_COUNT + 2 };
const char *conversion_written(const struct conversion_call *call, const struct conversion *c, size_t index);

/* Whether weights of the network that was read, or what its rules name, anchors and the tokenizer, come from this file. */
bool conversion_reads(const struct conversion *c, const char *path);

/* Whether nothing that is written is one of these; asked when the rules are read. */
bool conversion_sources_stay(const struct conversion_call *call, const struct conversion *c, struct failure *failure);

/* The graph of the file, cut where the call says so: nothing is inferred yet. */
struct onnx_graph *conversion_open(const struct conversion_call *call, struct onnx_report *report, struct failure *failure);

/* The graph with shapes and constants; the picture rule and the labels. No file of weights beside the network may be one that is
 * written. The sizes are those of the first variant. */
bool conversion_read(const struct conversion_call *call, struct conversion *c, struct failure *failure);

/* The graph of the file at the sizes of a variant, or NULL. */
struct onnx_graph *conversion_load(const struct conversion_call *call, const struct conversion *c, uint32_t variant,
                                   struct onnx_report *report, struct failure *failure);

/* The limits of a blob, before the work of a plan; steps that nobody needs are dropped. */
bool conversion_fits(const struct conversion_call *call, struct net *net, struct failure *failure);

/* Steps, arena and blob of a graph: of c->graph or of what was made from it; and those of the other variants. False with refusals in the
 * report (and no failure), or with a failure. What was made before is freed. */
bool conversion_make(const struct conversion_call *call, struct conversion *c, struct onnx_graph *graph, struct failure *failure);

/* The blob opens as the library has it, and the files of --c are made of it. */
bool conversion_finish(const struct conversion_call *call, struct conversion *c, struct failure *failure);

/* The blob, and the files of --c where they are wanted, put into files[0..CONVERSION_FILES); how many. */
enum { CONVERSION_FILES = 1 + BLOB_C_COUNT };
size_t conversion_files(const struct conversion_call *call, const struct conversion *c, struct file_new *files);

/* Says what was noticed on the way, and an arena that was asked for and cannot be had: before the JSON of what was made, which lists what
 * was said. */
void conversion_notices(struct conversion *c);

/* What the arena takes that holds each variant. */
uint32_t conversion_arena(const struct conversion *c);

/* layers macs params blob_bytes arena_bytes and what streams, where there is a blob; then notices, refused, and cut_off where
 * it is known. */
void conversion_json(struct json *json, const struct conversion *c);
void conversion_summary(const struct conversion_call *call, const struct conversion *c);
void conversion_summary_c(const struct conversion_call *call, const struct conversion *c); /* the files of --c, where there are any */

/* The label of a class, NULL where there is none: as dataset_classes and results ask for it, whose context the conversion is. */
const char *conversion_label(const void *conversion, uint32_t index);

void conversion_free(struct conversion *c);

#endif
