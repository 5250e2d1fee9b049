/* SPDX-License-Identifier: MIT */
/* The geometry of convolutions and pools. */
#include "tools/onnx/graph.h"
#include <string.h>

/* Attributes stay below 2^31 and dimensions below 2^40, so nothing here leaves int64. */
#define MOST INT32_MAX

static const char *read_list(const struct onnx_node *node, const char *name, int rank, int64_t least, int64_t *out) {
    int count = onnx_attribute_ints(node, name, out, rank);
    if (count < 0) return NULL;
    if (count != rank) return "attributes and input disagree in the number of spatial dimensions";
    for (int i = 0; i < rank; i++)
        if (out[i] < least || out[i] > MOST)
            return least ? "kernel_shape, strides and dilations must be 1 or more" : "negative pads are not taken";
    return NULL;
}

static const char *read_pads(const struct onnx_node *node, struct onnx_window *w) {
    int64_t pads[6] = {0};
    const char *why = read_list(node, "pads", 2 * w->rank, 0, pads);
    for (int i = 0; i < w->rank; i++) {
        w->pad_begin[i] = pads[i];
        w->pad_end[i] = pads[w->rank + i];
    }
    return why;
}

/* Output size ceil(input / stride); the padding that this takes is halved, the odd one going to the end or the beginning. */
static void pad_same(struct onnx_window *w, int i, int64_t in, bool upper) {
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
    int64_t out = (in + w->stride[i] - 1) / w->stride[i];
    int64_t total = (out - 1) * w->stride[i] + reach - in;
    if (total < 0) total = 0;
    w->pad_begin[i] = upper ? total / 2 : total - total / 2;
    w->pad_end[i] = total - w->pad_begin[i];
}

static const char *resolve_pads(const struct onnx_node *node, const struct onnx_shape *x, struct onnx_window *w) {
    const char *pad = onnx_attribute_string(node, "auto_pad", "NOTSET");
    bool upper = !strcmp(pad, "SAME_UPPER");
    if (!*pad || !strcmp(pad, "NOTSET")) return read_pads(node, w);
    if (!strcmp(pad, "VALID")) return NULL;
    if (!upper && strcmp(pad, "SAME_LOWER")) return "auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER";
    for (int i = 0; i < w->rank; i++) pad_same(w, i, x->dims[2 + i], upper);
    return NULL;
}

/* The number of windows; with ceil_mode the last may hang over the end, but must begin on the input or the padding before it. */
static bool count_windows(const struct onnx_shape *x, struct onnx_window *w, int i) {
    int64_t in = x->dims[2 + i], reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
    int64_t room = in + w->pad_begin[i] + w->pad_end[i] - reach;
    if (room < 0 || in < 1) return false;
    w->out[i] = (room + (w->ceil_mode ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
    if (w->ceil_mode && (w->out[i] - 1) * w->stride[i] >= in + w->pad_begin[i]) w->out[i]--;
    return true;
}

bool onnx_window(const struct onnx_node *node, const struct onnx_shape *x, const int64_t *weight_kernel, struct onnx_window *window,
                 const char **why) {
    *window = (struct onnx_window){.rank = x->rank - 2, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    int rank = window->rank;
    *why = NULL;
    if (rank < 1 || rank > 3 || onnx_elements(x) < 0) {
        *why = "its input must have 1 to 3 dimensions after batch and channels";
        return false;
    }
    *why = read_list(node, "kernel_shape", rank, 1, window->kernel);
    for (int i = 0; i < rank && weight_kernel && !*why; i++) {
        if (weight_kernel[i] < 1 || weight_kernel[i] > MOST || (window->kernel[i] && window->kernel[i] != weight_kernel[i]))
            *why = "kernel_shape does not agree with the weights";
        window->kernel[i] = weight_kernel[i];
    }
    if (!*why && !window->kernel[0]) *why = "kernel_shape is missing";
    if (!*why) *why = read_list(node, "strides", rank, 1, window->stride);
    if (!*why) *why = read_list(node, "dilations", rank, 1, window->dilation);
    if (!*why) *why = resolve_pads(node, x, window);
    if (*why) return false;
    window->ceil_mode = onnx_attribute_int(node, "ceil_mode", 0) != 0;
    window->count_include_pad = onnx_attribute_int(node, "count_include_pad", 0) != 0;
    for (int i = 0; i < rank && !*why; i++)
        if (window->ceil_mode && (window->pad_begin[i] >= window->kernel[i] || window->pad_end[i] >= window->kernel[i]))
            *why = "with ceil_mode, pads must be smaller than the window"; /* as in ONNX Runtime: or windows saw padding alone */
        else if (!count_windows(x, window, i)) *why = "the window is larger than the padded input";
    return !*why;
}
