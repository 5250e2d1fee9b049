/* SPDX-License-Identifier: MIT */
/*
 * A float network beside what was made of it: which layer is to blame?
 *
 *   compare_match     values of the float graph that the blob has too: the points at which the two are held side by side
 *   compare_measure   both run over the data
 *   compare_warn      what is often the cause
 *   compare_json, compare_text, compare_svg, compare_draw
 */
#ifndef MORSEL_TOOLS_COMPARE_COMPARE_H
#define MORSEL_TOOLS_COMPARE_COMPARE_H

#include "core/blob.h"
#include "tools/compare/metrics.h"
#include "tools/optimize/linear.h"
#include "tools/base/json.h"
#include "tools/samples/data/data.h"
#include "tools/quant/calibrate/observe.h"

#define COMPARE_NONE 0xffffffffu
/* From fewer numbers nothing is concluded of factors, and of what was added. */
#define COMPARE_SEEN_LEAST 8

/* A layer's weights in the blob as floats, in the order of the float graph's constant. */
struct compare_weights {
    struct linear linear; /* of the float graph */
    float *values;        /* [linear.weights->count]; as they lie in the blob, which may be rescaled by channel */
    float *bias;          /* [linear.out_channels]; the same */
    float *steps;         /* [linear.out_channels]; what one integer is worth, 0 where weights are floats */
    bool dynamic;         /* the input is quantized when the model runs, */
    int dynamic_axis;     /* each row along this axis by itself; -1: all of it */
};

/* A value of the float graph that the blob has. */
struct compare_point {
    struct onnx_value *value;
    struct onnx_node *node; /* the layer that it comes out of, before its Relu; NULL: an input of the network */
    uint32_t tensor;        /* of the blob */
    bool stored;            /* as bytes */
    struct metric_qparams qparams;
    float floor, ceiling;            /* numbers beyond are all alike to those that read it, and count as these */
    size_t count, channels, inner;   /* channels: 1 where there is none; inner: numbers of one channel side by side */
    struct metric_sums *sums;        /* [channels]: float numbers x, the model's y, over all data */
    struct metric_sums *inside;      /* the same without those that the ends of the bytes cut off */
    struct compare_weights *weights; /* NULL: none, or they cannot be told */

    double sqnr_weight, sqnr_own, sqnr_out, cosine, clipped;
    size_t rescaled;   /* channels that the model holds times a factor, or with a number added */
    size_t dead, died; /* channels that are 0 in float; that are 0 in the model alone */
};

/* Of each value of the float graph; its `lowered` points here. */
struct compare_value {
    struct compare_point *point;
    float *factors;  /* [channels]: the model's numbers are the float ones times these; NULL: all 1 */
    float *shifts;   /* [channels]: ... after these were added; NULL: all 0 */
    bool movable;    /* numbers may have been added to its channels */
    float low, high; /* of the float network over all data */
};

struct comparison {
    struct onnx_graph *graph;           /* float, optimized */
    const struct morsel_model *network; /* whole_open() */
    const struct quant_data *data;
    unsigned threads;
    struct onnx_report *report; /* warnings */

    size_t value_count, point_count;
    struct compare_value *values;
    struct compare_point *points;                /* in the order of the graph */
    const struct compare_weights **node_weights; /* of each node, by its number; NULL where it has none */
    uint32_t *tensors;                           /* that have a name, by it; of equal names in their order */
    size_t tensor_count;
    uint64_t looks;            /* at nodes and tensors, to match the two: the work, for a test */
    struct observer *observer; /* of what the model's points take on, under the names of the float graph */
    double output_sqnr;
};

/* False: the two have not the same inputs and outputs, or nothing inside in common. */
bool compare_match(struct comparison *c, struct failure *failure);
bool compare_measure(struct comparison *c, struct failure *failure);
void compare_warn(struct comparison *c);
void compare_close(struct comparison *c);

/* `order` has room for point_count: the layers, worst first, where `worst`, else as they stand in the network; how many. */
size_t compare_layers(const struct comparison *c, bool worst, const struct compare_point **order);
void compare_json(struct json *json, const struct comparison *c);
void compare_text(const struct comparison *c, size_t most);
bool compare_svg(const struct comparison *c, const char *path, struct failure *failure);
void compare_draw(const struct comparison *c, FILE *file, bool in_page); /* in_page: its style colours the drawing */

/* --- Parts --- */

/* What may stand behind a value's name in that of a tensor: nothing, and what quantizers name its bytes. */
enum { COMPARE_ENDINGS = 3 };
extern const char *const compare_endings[COMPARE_ENDINGS];
/* A tensor's dimensions in the order of ONNX. */
struct onnx_shape compare_tensor_shape(const struct morsel_blob_tensor *tensor);

/* After the points are found. False, and what does not match: an input or output of the float network that MODEL has not; values inside
 * both, and none that they have in common. */
bool compare_ends_fit(const struct comparison *c, struct failure *failure);
bool compare_insides_fit(const struct comparison *c, struct failure *failure);

/* NULL: the step has no weights, or not those of the node. In the graph's memory. */
struct compare_weights *compare_weights(const struct comparison *c, struct onnx_node *node, uint32_t tensor);

/* Along which a value's channels lie; -1: it has none. */
int compare_axis(const struct onnx_value *value);
size_t compare_channels(const struct onnx_value *value);

/* Where numbers may have been added; the factors of all values, from the points' sums and the weights; what was added, from those and the
 * biases. In this order. */
void compare_find_movable(struct comparison *c);
void compare_find_factors(struct comparison *c);
void compare_find_shifts(struct comparison *c);
float compare_factor(const struct comparison *c, const struct onnx_value *value, size_t channel);
float compare_shift(const struct onnx_value *value, size_t channel);

/* The node's weights in the model; NULL: they cannot be told. */
const struct compare_weights *compare_weights_of(const struct comparison *c, const struct onnx_node *node);

/* Input 0 of the node, as it is read when it was quantized at run time: each row along `axis` by itself, or all of it (-1). */
struct onnx_value *compare_dynamic_input(struct onnx_graph *g, struct onnx_node *node, int axis);

/* The float graph with the blob's weights, each layer reading the float network's values. Its inputs are those of the graph, then one for
 * each point that is none. `points` has room for all of them. In memory of its own. */
struct onnx_graph *compare_own_graph(const struct comparison *c);

#endif
