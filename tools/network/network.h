/* SPDX-License-Identifier: MIT */
/*
 * A network behind one interface, whatever it comes from: a blob, a built-in network, or (on the host) an ONNX file, which runs in float.
 * What goes in and comes out is as the ONNX graph states it. Each thread has a run of its own; the network is shared.
 */
#ifndef MORSEL_TOOLS_NETWORK_NETWORK_H
#define MORSEL_TOOLS_NETWORK_NETWORK_H

#include "core/format.h"
#include "core/morsel.h"
#include "tools/base/npy.h"
#include "tools/samples/image/image.h"

#define NETWORK_RANK_UNKNOWN UINT32_MAX

/* An input or an output. */
struct network_tensor {
    const char *name;
    enum npy_type type;
    bool takes_any; /* an input: arrays of whatever type are turned into this one */
    uint32_t rank;  /* NETWORK_RANK_UNKNOWN: not before network_start() */
    uint64_t dims[NPY_RANK_MOST];
    size_t count; /* elements of one run */
};

struct network_call {
    const char *path;                       /* a file, or a built-in network's name */
    const char *picture, *labels, *answer;  /* files, for an ONNX file; a blob has its own. NULL: none */
    const struct morsel_blob_picture *rule; /* in the place of `picture`; NULL: none */
    uint32_t cpu;                           /* enum morsel_cpu: kernels that may be used */
    unsigned threads;                       /* that share each step of a run; 0: one */
    bool blob_only;                         /* an ONNX file is refused, too */
    bool no_streaming;                      /* of a built-in network: as in struct net */
    long arena, arena_fast;                 /* ... its arena_room and fast_room; 0: not given */
    long variant;                           /* of a blob with several sizes; NETWORK_FITTING: the one that arrays fit, else the largest */
};
#define NETWORK_FITTING (-1)

struct network {
    const struct network_kind *kind;
    struct network_call call;
    uint32_t input_count, output_count;
    struct network_tensor *inputs, *outputs;
    bool has_rule;                             /* network_picture() works */
    bool has_text;                             /* a text rule */
    bool probabilities;                        /* the network itself ends with a softmax, or the answer rule says so */
    const struct morsel_blob_answer *answer;   /* what the outputs mean; NULL: nobody says. found.h goes by it */
    const struct morsel_blob_picture *picture; /* how pictures go in; NULL: none do */
    double open_seconds;                       /* of a blob: morsel_open() */
    /* A blob's; model.blob is NULL for others. */
    struct file_bytes blob;
    struct morsel_model model; /* the variant that is run */
    struct morsel_model whole; /* the blob as it was opened */
    uint32_t variant;
    /* A graph's in float. */
    const struct executor *executor;
    void *own; /* of the kind */
};

/* One thread's: memory and values. */
struct network_run {
    const struct network *network;
    /* Of a blob. */
    struct morsel_session session;
    size_t arena_bytes;
    size_t lent_bytes;   /* what the arena has besides, for kernels to borrow: MORSEL_LENT_MOST for each thread */
    double open_seconds; /* morsel_session_open() */
    void *own;           /* of the kind */
};

/* What a run has just computed: a step of a blob, or a value of a graph in float, whose number is `value`. Valid during the call. */
struct network_value {
    const struct morsel_step *step;
    const void *value; /* struct onnx_value */
    const float *data;
    size_t count;
};
typedef void network_watch(void *context, const struct network_value *value);

/* What a kind of network does; network_*() below call it. */
struct network_kind {
    bool (*read)(struct network *network, struct failure *failure);
    bool (*start)(struct network *network, const struct npy *arrays, struct failure *failure); /* NULL: nothing is left to do */
    void (*close)(struct network *network);
    bool (*reads)(const struct network *network, const char *path); /* files beside the call's; NULL: none */
    const char *(*label)(const struct network *network, uint32_t index);
    bool (*run_open)(struct network_run *run, struct failure *failure);
    void (*run_close)(struct network_run *run);
    bool (*put)(struct network_run *run, uint32_t input, const void *values, struct failure *failure);
    bool (*picture)(struct network_run *run, const struct image *image, uint32_t index, struct failure *failure);
    bool (*compute)(struct network_run *run, network_watch *watch, void *context, struct failure *failure);
    bool (*get)(const struct network_run *run, uint32_t output, void *values, struct failure *failure);
    bool (*scores)(const struct network_run *run, float *scores, struct failure *failure);
    void (*view)(const struct network_run *run, uint32_t output, struct morsel_view *view); /* an output as it lies there after a run */
};
extern const struct network_kind network_of_blobs;

/* From now on this kind takes the paths that end in ".onnx". */
void network_take_onnx(const struct network_kind *kind);
bool network_is_onnx(const char *path);

/*
 * In two parts: names are known after the first, all else after the second. Arrays may say what dimensions an ONNX file leaves free.
 * arrays[i] is for input i; NULL: there are none. Where one fails, network_close() is still due.
 */
bool network_read(struct network *network, const struct network_call *call, struct failure *failure);
bool network_start(struct network *network, const struct npy *arrays, struct failure *failure);
bool network_open(struct network *network, const struct network_call *call, struct failure *failure); /* both */
void network_close(struct network *network);

/* A model that is open, which stays the caller's; its inputs and outputs are not told, and there is nothing to close. */
struct network network_of_model(const struct morsel_model *model);

/* Another variant of a blob takes the place of the one that was open: before there are runs. How many there are: 1 of what is no blob. */
bool network_choose(struct network *network, uint32_t variant, struct failure *failure);
uint32_t network_variants(const struct network *network);

/* Another variant beside the one that is open, which has to outlive it. */
bool network_variant(struct network *variant, const struct network *network, uint32_t index, struct failure *failure);

/* After morsel_open() refused a blob: "step 12: ", where it was found at fault, in `text`; "" where that is no part of it. */
const char *network_part_at_fault(const struct morsel_model *model, char *text, size_t size);

/* A blob in memory, which stays the caller's. */
bool network_of_blob(struct network *network, const void *blob, size_t bytes, struct failure *failure);

/* Whether the path is a file that the network is read from. */
bool network_reads(const struct network *network, const char *path);

/* A class's name; NULL from the first that has none. The context of struct dataset_classes and of results is the network. */
const char *network_label(const void *network, uint32_t index);

/* Whether pictures can be put; says what to do where not. */
bool network_takes_pictures(const struct network *network, struct failure *failure);

/* Images of one run: the first dimension where it is that of the first input and the first output, else 1. */
uint32_t network_images(const struct network *network);

struct network_run *network_run_open(const struct network *network, struct failure *failure);
void network_run_close(struct network_run *run); /* NULL is legal */

/* An input's values, which stay where they are until network_compute() is done; or an RGB8 picture as image `index` of input 0, by the
 * network's rule. */
bool network_put(struct network_run *run, uint32_t input, const void *values, struct failure *failure);
bool network_picture(struct network_run *run, const struct image *image, uint32_t index, struct failure *failure);

/* Spends what was put. `watch` may be NULL. */
bool network_compute(struct network_run *run, network_watch *watch, void *context, struct failure *failure);

/* An output's values; output 0 as floats, whatever its type. */
bool network_get(const struct network_run *run, uint32_t output, void *values, struct failure *failure);
bool network_scores(const struct network_run *run, float *scores, struct failure *failure);

/* The best kernels that the run may use: "avx2"; "float". */
const char *network_isa(const struct network_run *run);

#endif
