/* SPDX-License-Identifier: MIT */
/* Where a layer's patches lie in its input. */
#include "tools/quant/round/patch.h"

#include <string.h>

static bool conv_patch(const struct scheme_layer *layer, struct patch *p) {
    const struct onnx_shape *x = &layer->node->inputs[0]->shape, *w = &layer->weights->shape;
    struct onnx_window window;
    const char *why;
    if (x->rank < 3 || x->rank > 4 || !onnx_window(layer->node, x, w->dims + 2, &window, &why)) return false;
    int last = window.rank - 1;
    bool flat = window.rank == 1;
    p->images = x->dims[0];
    p->groups = onnx_attribute_int(layer->node, "group", 1);
    p->channels = w->dims[1];
    p->in_h = flat ? 1 : x->dims[2];
    p->in_w = x->dims[2 + last];
    p->out_h = flat ? 1 : window.out[0];
    p->out_w = window.out[last];
    p->kernel_h = flat ? 1 : window.kernel[0];
    p->kernel_w = window.kernel[last];
    p->stride_h = flat ? 1 : window.stride[0];
    p->stride_w = window.stride[last];
    p->dilation_h = flat ? 1 : window.dilation[0];
    p->dilation_w = window.dilation[last];
    p->pad_top = flat ? 0 : window.pad_begin[0];
    p->pad_left = window.pad_begin[last];
    p->length = p->channels * p->kernel_h * p->kernel_w;
    p->rows = w->dims[0] / p->groups;
    p->column_step = 1;
    p->row_step = p->in_w;
    p->channel_step = p->in_h * p->in_w;
    p->image_step = p->channel_step * p->channels * p->groups;
    p->weight_row = p->length;
    p->weight_column = 1;
    p->weight_group = p->rows * p->length;
    return true;
}

/* Rows of the input are the columns of a picture one row high. */
static bool product_patch(const struct scheme_layer *layer, struct patch *p) {
    const struct onnx_shape *x = &layer->node->inputs[0]->shape, *w = &layer->weights->shape;
    if (w->rank != 2 || x->rank < 1 || onnx_attribute_int(layer->node, "transA", 0)) return false;
    p->images = p->groups = p->kernel_h = p->kernel_w = p->stride_h = p->stride_w = p->dilation_h = p->dilation_w = 1;
    p->in_h = p->out_h = 1;
    p->length = p->channels = w->dims[1 - layer->axis];
    p->rows = w->dims[layer->axis];
    p->in_w = p->out_w = onnx_elements(&layer->node->inputs[0]->shape) / p->length;
    p->channel_step = 1;
    p->column_step = p->length;
    p->weight_row = layer->axis ? 1 : p->length;
    p->weight_column = layer->axis ? p->rows : 1;
    return x->dims[x->rank - 1] == p->length;
}

bool patch_of(const struct scheme_layer *layer, struct patch *patch) {
    *patch = (struct patch){0};
    if (layer->dynamic) return false; /* its input has no scale before it runs */
    bool known = !strcmp(layer->node->op, "Conv") ? conv_patch(layer, patch)
                                                  : strcmp(layer->node->op, "ConvTranspose") && product_patch(layer, patch);
    patch->positions = patch->images * patch->out_h * patch->out_w;
    return known;
}

/* The upper left element of a patch, which may lie outside of the picture. */
struct corner {
    int64_t at, y, x;
};

static struct corner corner_of(const struct patch *p, int64_t group, int64_t position) {
    int64_t image = position / (p->out_h * p->out_w), place = position % (p->out_h * p->out_w);
    int64_t y = place / p->out_w * p->stride_h - p->pad_top, x = place % p->out_w * p->stride_w - p->pad_left;
    int64_t at = image * p->image_step + group * p->channels * p->channel_step + y * p->row_step + x * p->column_step;
    return (struct corner){at, y, x};
}

/* One element of all patches, `down` and `along` from their corners. */
static void gather_element(const struct patch *p, const float *x, const struct corner *corners, int count, int64_t channel, int64_t down,
                           int64_t along, float *to) {
    int64_t step = channel * p->channel_step + down * p->row_step + along * p->column_step;
    for (int i = 0; i < count; i++) {
        int64_t row = corners[i].y + down, column = corners[i].x + along;
        bool inside = row >= 0 && row < p->in_h && column >= 0 && column < p->in_w;
        to[i] = inside ? x[corners[i].at + step] : 0;
    }
}

void patch_gather(const struct patch *p, const float *x, int64_t group, const int64_t *positions, int count, float *to, int stride) {
    struct corner corners[PATCH_BLOCK];
    for (int i = 0; i < count; i++) corners[i] = corner_of(p, group, positions[i]);
    for (int64_t c = 0; c < p->channels; c++)
        for (int64_t y = 0; y < p->kernel_h; y++)
            for (int64_t k = 0; k < p->kernel_w; k++, to += stride)
                gather_element(p, x, corners, count, c, y * p->dilation_h, k * p->dilation_w, to);
}
