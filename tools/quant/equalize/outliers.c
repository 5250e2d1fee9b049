/* SPDX-License-Identifier: MIT */
/* Finds channels that are far larger than others, and splits them. */
#include "tools/quant/equalize/outliers.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less than so much of a finer scale is not worth it. */
static const float worth = 1.5F;
/* From here on Gelu is hardly anything but x, and below it is what the next part has. */
static const float least = 3;

/* A product, its bias, a Gelu, and the product that reads it. */
struct site {
    struct onnx_node *before, *add, *gelu, *behind;
    int bias; /* input of the Add */
    int64_t channels;
};

static bool is_matrix(struct onnx_node *node, struct linear *l) {
    return graph_is(node, "MatMul") && linear_read(node, l);
}

static bool find_before(struct site *s) {
    struct onnx_value *sum;
    struct linear l;
    const struct onnx_value *x = s->gelu->inputs[0];
    if (!graph_alone(x) || !graph_is(x->producer, "Add") || !graph_constant_and_other(x->producer, &s->bias, &sum)) return false;
    const struct onnx_tensor *bias = x->producer->inputs[s->bias]->constant;
    if (!graph_alone(sum) || !is_matrix(sum->producer, &l) || bias->type != ONNX_FLOAT || bias->shape.rank != 1) return false;
    s->add = x->producer;
    s->before = sum->producer;
    s->channels = l.out_channels;
    return bias->shape.dims[0] == s->channels && s->channels > OUTLIERS_PARTS;
}

static bool find_site(const struct onnx_graph *g, struct onnx_node *node, struct site *s) {
    struct linear l;
    *s = (struct site){.gelu = node};
    if ((strcmp(node->op, "Gelu") != 0 && strcmp(node->op, "FastGelu") != 0) || node->folded || !node->inputs[0] ||
        !graph_alone(node->outputs[0]))
        return false;
    if (!find_before(s) || edit_readers(g, node->outputs[0], &s->behind, 1) != 1) return false;
    return is_matrix(s->behind, &l) && s->behind->inputs[0] == node->outputs[0] && l.in_channels == s->channels;
}

static bool excluded(const struct scheme_options *options, const struct site *s) {
    return scheme_excludes(options, s->before) || scheme_excludes(options, s->add) || scheme_excludes(options, s->gelu) ||
           scheme_excludes(options, s->behind);
}

/* --- What is split --- */

static int by_size(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static uint32_t parts_of(float high, float most) {
    return high > most ? (uint32_t)fminf(ceilf(high / most) - 1, OUTLIERS_PARTS + 1) : 0;
}

static uint32_t parts_of_all(const struct observed *seen, float most) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < seen->channels && all <= OUTLIERS_PARTS; i++) all += parts_of(seen->channel_high[i], most);
    return all;
}

/* A tenth above the largest of those that stay whole, or more, as few parts as there may be. 0: nothing is worth it. */
static float find_most(struct onnx_graph *g, const struct observed *seen) {
    float *sizes = onnx_alloc(g, seen->channels * sizeof *sizes);
    memcpy(sizes, seen->channel_high, seen->channels * sizeof *sizes);
    qsort(sizes, seen->channels, sizeof *sizes, by_size);
    float most = fmaxf(sizes[OUTLIERS_PARTS] * 1.1F, least);
    if (!isfinite(sizes[0]) || !isfinite(most)) return 0;
    while (parts_of_all(seen, most) > OUTLIERS_PARTS) most *= 1.05F;
    return sizes[0] >= worth * most ? most : 0;
}

static struct outliers_split split_of(struct onnx_graph *g, const struct site *s, const struct observed *seen) {
    struct outliers_split split = {.node = s->gelu->name, .most = find_most(g, seen)};
    for (uint32_t i = 0; split.most > 0 && i < seen->channels; i++)
        for (uint32_t k = 1; k <= parts_of(seen->channel_high[i], split.most); k++) {
            split.from[split.count] = i;
            split.times[split.count++] = k;
        }
    return split;
}

/* --- The graph --- */

static struct onnx_value *longer(struct onnx_graph *g, const struct onnx_node *node, const char *part, struct onnx_shape shape, int axis,
                                 float **data) {
    struct onnx_tensor *tensor;
    shape.dims[axis] += OUTLIERS_PARTS;
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s.%s", node->name, part), ONNX_FLOAT, &shape, &tensor);
    *data = tensor->data;
    return value;
}

/* Columns of the first weights, and numbers of the bias. What is no part is the first channel again. */
static void widen(struct onnx_graph *g, const struct site *s, const struct outliers_split *split) {
    const struct onnx_tensor *weights = s->before->inputs[1]->constant, *bias = s->add->inputs[s->bias]->constant;
    const float *w = weights->data, *b = bias->data;
    const size_t columns = (size_t)s->channels, all = columns + OUTLIERS_PARTS;
    float *to;
    struct onnx_value *value = longer(g, s->before, "parts", weights->shape, 1, &to);
    for (size_t row = 0; row < (size_t)weights->shape.dims[0]; row++) {
        memcpy(to + row * all, w + row * columns, columns * sizeof *to);
        for (uint32_t k = 0; k < OUTLIERS_PARTS; k++) to[row * all + columns + k] = w[row * columns + split->from[k]];
    }
    edit_set_input(g, s->before, 1, value);
    value = longer(g, s->add, "parts", bias->shape, 0, &to);
    memcpy(to, b, columns * sizeof *to);
    for (uint32_t k = 0; k < OUTLIERS_PARTS; k++) to[columns + k] = b[split->from[k]] - (float)split->times[k] * split->most;
    edit_set_input(g, s->add, s->bias, value);
}

/* Rows of the weights behind; 0 for channels that are no parts. */
static void lengthen(struct onnx_graph *g, const struct site *s, const struct outliers_split *split) {
    const struct onnx_tensor *weights = s->behind->inputs[1]->constant;
    const float *w = weights->data;
    const size_t width = (size_t)weights->shape.dims[1];
    float *to;
    struct onnx_value *value = longer(g, s->behind, "parts", weights->shape, 0, &to);
    memcpy(to, w, weights->count * sizeof *to);
    for (uint32_t k = 0; k < split->count; k++) memcpy(to + weights->count + k * width, w + split->from[k] * width, width * sizeof *to);
    edit_set_input(g, s->behind, 1, value);
}

static void grow(struct onnx_value *value) {
    value->shape.dims[value->shape.rank - 1] += OUTLIERS_PARTS;
}

static bool apply(struct onnx_graph *g, const struct site *s, const struct outliers_split *split) {
    const double most = (double)split->most;
    const struct onnx_shape scalar = {0};
    const size_t rows = (size_t)s->before->inputs[1]->shape.dims[0] + (size_t)s->behind->inputs[1]->shape.dims[1] + 1;
    if (!graph_takes_room(g, ((size_t)s->channels + OUTLIERS_PARTS) * rows)) return false;
    widen(g, s, split);
    lengthen(g, s, split);
    grow(s->before->outputs[0]);
    grow(s->add->outputs[0]);
    grow(s->gelu->outputs[0]);
    struct onnx_value *inputs[2] = {s->gelu->outputs[0], graph_floats(g, s->gelu, "most", &scalar, &most)};
    edit_set_input(g, s->behind, 0, graph_put(g, s->behind, "Min", inputs, 2, &inputs[0]->shape));
    return true;
}

struct outliers outliers_split(struct onnx_graph *g, const struct scheme_options *options, struct observer *observer) {
    const size_t nodes = g->node_count;
    struct onnx_node **list = onnx_alloc(g, nodes * sizeof *list);
    struct outliers out = {.list = NULL};
    struct site s;
    memcpy(list, g->nodes, nodes * sizeof *list);
    for (size_t n = 0; n < nodes; n++) {
        if (!find_site(g, list[n], &s) || excluded(options, &s)) continue;
        const struct observed *seen = observer_of(observer, s.gelu->outputs[0]);
        if (!seen || seen->broken || seen->channels != (uint64_t)s.channels || seen->axis != s.gelu->outputs[0]->shape.rank - 1) continue;
        const struct outliers_split split = split_of(g, &s, seen);
        if (!split.count || !apply(g, &s, &split)) continue;
        if (!out.list) out.list = onnx_alloc(g, nodes * sizeof *out.list);
        out.list[out.count++] = split;
        out.parts += split.count;
    }
    if (out.count) edit_clean(g);
    return out;
}

void outliers_repeat(struct onnx_graph *g, const struct outliers *outliers) {
    const size_t nodes = g->node_count;
    struct onnx_node **list = onnx_alloc(g, nodes * sizeof *list);
    struct site s;
    memcpy(list, g->nodes, nodes * sizeof *list);
    for (size_t n = 0, next = 0; n < nodes && next < outliers->count; n++)
        for (size_t k = 0; k < outliers->count; k++)
            if (!strcmp(list[n]->name, outliers->list[k].node) && find_site(g, list[n], &s) && apply(g, &s, &outliers->list[k])) next++;
    if (outliers->count) edit_clean(g);
}
