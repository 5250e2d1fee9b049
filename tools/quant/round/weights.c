/* SPDX-License-Identifier: MIT */
/* Weights and biases of a scheme's layers as integers. */
#include "tools/quant/insert/scheme.h"

#include <math.h>
#include <string.h>

/* A bias takes at most half of what an int32 holds: the sum of products has the other half. */
#define MOST_BIAS 0x1p30f
/* Scales of a layer lie within this factor: a channel with smaller weights adds nothing that could be told beside the others. */
#define MOST_SCALES_APART 0x1p24f

/* The index along the layer's axis of weight i, by which its scale is found: scales[c < scale_count ? c : 0]. */
static uint32_t channel_of(const struct scheme_layer *layer, size_t i) {
    size_t inner = 1;
    for (int d = layer->axis + 1; d < layer->weights->shape.rank; d++) inner *= (size_t)layer->weights->shape.dims[d];
    return (uint32_t)(i / inner % (size_t)layer->weights->shape.dims[layer->axis]);
}

static float scale_of(const struct scheme_layer *layer, size_t i) {
    return layer->scales[layer->scale_count > 1 ? channel_of(layer, i) : 0];
}

void scheme_exact_weights(const struct scheme_layer *layer, float *out) {
    const float *w = layer->weights->data;
    for (size_t i = 0; i < layer->weights->count; i++) out[i] = w[i] * layer->factor / scale_of(layer, i);
}

/* Where the outputs lie in the weights, how many come out, what a Gemm multiplies by. */
static void read_shape(struct scheme_layer *layer) {
    const struct onnx_node *node = layer->node;
    const struct onnx_shape *w = &layer->weights->shape;
    bool gemm = !strcmp(node->op, "Gemm"), product = !strcmp(node->op, "MatMul"), up = !strcmp(node->op, "ConvTranspose");
    layer->factor = gemm ? onnx_attribute_float(node, "alpha", 1) : 1;
    layer->axis = up || product || (gemm && !onnx_attribute_int(node, "transB", 0)) ? 1 : 0;
    layer->outputs = (uint32_t)(w->dims[layer->axis] * (up ? onnx_attribute_int(node, "group", 1) : 1));
}

static void read_bias(struct onnx_graph *graph, struct scheme_layer *layer) {
    bool gemm = !strcmp(layer->node->op, "Gemm");
    const struct onnx_tensor *bias = strcmp(layer->node->op, "MatMul") ? onnx_input_constant(layer->node, 2) : NULL;
    if (layer->add) bias = onnx_input_constant(layer->add, onnx_input_constant(layer->add, 0) ? 0 : 1);
    float beta = gemm ? onnx_attribute_float(layer->node, "beta", 1) : 1;
    layer->bias = onnx_alloc(graph, layer->outputs * sizeof *layer->bias);
    layer->has_bias = bias != NULL;
    for (uint32_t o = 0; bias && o < layer->outputs; o++) layer->bias[o] = (float)onnx_number(bias, bias->count > 1 ? o : 0) * beta;
}

/* sums[s] += the squared errors of the weights in scale s, each scales[s] * percent / 100. */
static void add_squared_errors(const struct scheme_layer *layer, int percent, double *sums) {
    const float *w = layer->weights->data;
    for (size_t i = 0; i < layer->weights->count; i++) {
        size_t s = layer->scale_count > 1 ? channel_of(layer, i) : 0;
        float scale = layer->scales[s] * (float)percent / 100, real = w[i] * layer->factor;
        if (!(scale > 0)) continue;
        float q = fmaxf(fminf(rintf(real / scale), (float)layer->most), (float)-layer->most);
        double error = (double)real - (double)q * (double)scale;
        sums[s] += error * error;
    }
}

/* Smaller scales clip the largest weights and round the others better. */
static void clip_scales(struct onnx_graph *graph, struct scheme_layer *layer) {
    double *least = onnx_alloc(graph, layer->scale_count * sizeof *least), *tried = onnx_alloc(graph, layer->scale_count * sizeof *tried);
    int *best = onnx_alloc(graph, layer->scale_count * sizeof *best);
    for (int percent = 100; percent >= 50; percent -= 2) {
        memset(tried, 0, layer->scale_count * sizeof *tried);
        add_squared_errors(layer, percent, tried);
        for (uint32_t s = 0; s < layer->scale_count; s++) {
            if (percent < 100 && tried[s] >= least[s]) continue;
            least[s] = tried[s];
            best[s] = percent;
        }
    }
    for (uint32_t s = 0; s < layer->scale_count; s++) layer->scales[s] = layer->scales[s] * (float)best[s] / 100;
}

/* The largest weight is the largest integer. Dead channels get the layer's largest scale, so that nothing is divided by zero. */
static void choose_scales(struct onnx_graph *graph, struct scheme_layer *layer, const struct scheme_options *options) {
    const float *w = layer->weights->data;
    layer->most = options->reduced ? 63 : 127;
    layer->scale_count = options->per_tensor ? 1 : (uint32_t)layer->weights->shape.dims[layer->axis];
    layer->scales = onnx_alloc(graph, layer->scale_count * sizeof *layer->scales);
    for (size_t i = 0; i < layer->weights->count; i++) {
        float *scale = &layer->scales[layer->scale_count > 1 ? channel_of(layer, i) : 0];
        *scale = fmaxf(*scale, fabsf(w[i] * layer->factor) / (float)layer->most);
    }
    if (options->clip_weights) clip_scales(graph, layer);
    float largest = 0;
    for (uint32_t c = 0; c < layer->scale_count; c++) largest = fmaxf(largest, layer->scales[c]);
    if (!(largest > 0x1p-60f)) largest = 1;
    for (uint32_t c = 0; c < layer->scale_count; c++) {
        layer->scales[c] = layer->scales[c] > 0 ? fmaxf(layer->scales[c], largest / MOST_SCALES_APART) : largest;
    }
}

/* Makes scales coarser where the bias in units of x_scale * scale would leave int32; the weights are rounded after it. */
static void fit_scales(struct scheme_layer *layer, float x_scale) {
    for (uint32_t o = 0; o < layer->outputs; o++) {
        float *scale = &layer->scales[o % layer->scale_count];
        while (fabsf(layer->bias[o]) > MOST_BIAS * x_scale * *scale && *scale < 0x1p100f) *scale *= 2;
    }
}

/* The layer's values from its weights by its scales, to nearest. */
static void round_weights(struct scheme_layer *layer) {
    const float *w = layer->weights->data;
    for (size_t i = 0; i < layer->weights->count; i++) {
        float q = rintf(w[i] * layer->factor / scale_of(layer, i));
        layer->values[i] = (int8_t)fmaxf(fminf(q, (float)layer->most), (float)-layer->most);
    }
}

void scheme_make_layers(struct scheme *scheme) {
    for (size_t i = 0; i < scheme->layer_count; i++) {
        struct scheme_layer *layer = &scheme->layers[i];
        read_shape(layer);
        read_bias(scheme->graph, layer);
        choose_scales(scheme->graph, layer, &scheme->options);
        if (!layer->dynamic) fit_scales(layer, scheme->values[layer->x].scale);
        layer->values = onnx_alloc(scheme->graph, layer->weights->count);
        round_weights(layer);
    }
}
