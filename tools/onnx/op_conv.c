/* SPDX-License-Identifier: MIT */
/* Convolutions: Conv, QLinearConv, ConvInteger, com.microsoft FusedConv; ConvTranspose. */
#include "tools/onnx/operator.h"
#include <string.h>

static bool check_channels(struct onnx_context *c, const struct onnx_shape *x, const struct onnx_shape *w) {
    int64_t group = onnx_attribute_int(c->node, "group", 1);
    if (x->rank < 3 || x->rank != w->rank) return onnx_bad(c, "input and weights must have the same 3 to 5 dimensions");
    if (group < 1 || group > x->dims[1] || x->dims[1] % group || w->dims[1] != x->dims[1] / group)
        return onnx_bad(c, "%lld input channels in %lld groups do not fit weights for %lld channels a group", (long long)x->dims[1],
                        (long long)group, (long long)w->dims[1]);
    if (w->dims[0] < 1 || w->dims[0] % group)
        return onnx_bad(c, "%lld output channels cannot be shared by %lld groups", (long long)w->dims[0], (long long)group);
    return true;
}

static bool infer_conv(struct onnx_context *c, int x_input, int w_input, int bias_input) {
    const struct onnx_shape *x = onnx_in(c, x_input), *w = onnx_in(c, w_input);
    struct onnx_window window;
    const char *why;
    if (!check_channels(c, x, w)) return false;
    if (!onnx_window(c->node, x, w->dims + 2, &window, &why)) return onnx_bad(c, "%s", why);
    const struct onnx_value *bias = onnx_input(c->node, bias_input);
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != w->dims[0]))
        return onnx_bad(c, "the bias must be a list of %lld numbers, one for each output channel", (long long)w->dims[0]);
    struct onnx_shape y = {.rank = x->rank, .dims = {x->dims[0], w->dims[0]}};
    memcpy(y.dims + 2, window.out, (size_t)window.rank * sizeof window.out[0]);
    return onnx_out(c, 0, &y);
}

bool onnx_infer_conv(struct onnx_context *c) {
    return onnx_takes_numbers(c) && infer_conv(c, 0, 1, 2);
}

bool onnx_infer_conv_integer(struct onnx_context *c) {
    return infer_conv(c, 0, 1, -1);
}

bool onnx_infer_qlinear_conv(struct onnx_context *c) {
    return infer_conv(c, 0, 3, 8);
}

/* A list attribute of the spatial rank, every number from `least` to 2^31. */
static bool read_list(struct onnx_context *c, const char *name, int rank, int64_t least, int64_t *out) {
    int count = onnx_attribute_ints(c->node, name, out, rank);
    bool good = count < 0 || count == rank;
    for (int i = 0; i < rank && good; i++) good = out[i] >= least && out[i] <= INT32_MAX;
    return good || onnx_bad(c, "attribute '%s' does not fit the input", name);
}

/* stride * (in - 1) + output_padding + reach - pads, unless output_shape says it or auto_pad makes it stride * in. */
bool onnx_infer_conv_transpose(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *w = onnx_in(c, 1);
    int64_t group = onnx_attribute_int(c->node, "group", 1);
    int64_t strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1}, extra[3] = {0}, pads[6] = {0};
    int64_t given[3] = {0};
    int rank = x->rank - 2;
    if (!onnx_takes_numbers(c)) return false;
    if (rank < 1 || rank > 3 || x->rank != w->rank || x->dims[1] != w->dims[0] || group < 1 || group > INT32_MAX || w->dims[1] > INT32_MAX)
        return onnx_bad(c, "input and weights do not fit");
    if (!read_list(c, "strides", rank, 1, strides) || !read_list(c, "dilations", rank, 1, dilations) ||
        !read_list(c, "output_padding", rank, 0, extra) || !read_list(c, "pads", 2 * rank, 0, pads) ||
        !read_list(c, "output_shape", rank, 0, given))
        return false;
    const char *pad = onnx_attribute_string(c->node, "auto_pad", "NOTSET");
    struct onnx_shape y = {.rank = x->rank, .dims = {x->dims[0], w->dims[1] * group}};
    for (int i = 0; i < rank; i++) {
        int64_t kernel = w->dims[2 + i], in = x->dims[2 + i];
        if (kernel < 1 || in < 1 || kernel > INT32_MAX || in > INT32_MAX) return onnx_bad(c, "its dimensions are too large, or empty");
        int64_t reach = (kernel - 1) * dilations[i] + 1, full = strides[i] * (in - 1) + extra[i];
        y.dims[2 + i] = given[i] ? given[i] : !strncmp(pad, "SAME", 4) ? strides[i] * in : full + reach - pads[i] - pads[rank + i];
    }
    return onnx_out(c, 0, &y);
}

/* Columns [N, C * block, positions] added up to a picture of that size, where each block goes over it. */
bool onnx_infer_columns(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    struct onnx_columns f;
    if (!onnx_input_constant(c->node, 1) || !onnx_input_constant(c->node, 2)) return true;
    if (x->rank != 3) return onnx_bad(c, "its input must have 3 dimensions");
    if (!onnx_columns(c->node, &f)) return onnx_bad(c, "its size, block and attributes do not fit a picture of 2 dimensions");
    if (x->dims[1] % (f.block[0] * f.block[1]) || x->dims[2] != f.positions[0] * f.positions[1])
        return onnx_bad(c, "its columns do not fit its size and block");
    const struct onnx_shape y = {4, {x->dims[0], x->dims[1] / (f.block[0] * f.block[1]), f.size[0], f.size[1]}};
    return onnx_out(c, 0, &y);
}

bool onnx_columns(const struct onnx_node *node, struct onnx_columns *f) {
    const struct onnx_tensor *size = onnx_input_constant(node, 1), *block = onnx_input_constant(node, 2);
    const int64_t most = 1 << 20;
    int64_t pads[4] = {0};
    *f = (struct onnx_columns){.stride = {1, 1}, .dilation = {1, 1}};
    if (!size || !block || size->count != 2 || block->count != 2) return false;
    if (!onnx_is_integer(size->type) || !onnx_is_integer(block->type)) return false;
    const int strides = onnx_attribute_ints(node, "strides", f->stride, 2),
              dilations = onnx_attribute_ints(node, "dilations", f->dilation, 2);
    const int padded = onnx_attribute_ints(node, "pads", pads, 4);
    if ((strides != -1 && strides != 2) || (dilations != -1 && dilations != 2) || (padded != -1 && padded != 4)) return false;
    for (int i = 0; i < 2; i++) {
        f->size[i] = onnx_integer(size, (size_t)i), f->block[i] = onnx_integer(block, (size_t)i);
        f->pad_begin[i] = pads[i], f->pad_end[i] = pads[2 + i];
        const int64_t numbers[] = {f->size[i], f->block[i], f->stride[i], f->dilation[i]};
        for (size_t k = 0; k < 4; k++)
            if (numbers[k] < 1 || numbers[k] > most) return false;
        if (pads[i] < 0 || pads[i] > most || pads[2 + i] < 0 || pads[2 + i] > most) return false;
        const int64_t room = f->size[i] + pads[i] + pads[2 + i] - f->dilation[i] * (f->block[i] - 1) - 1;
        if (room < 0) return false;
        f->positions[i] = room / f->stride[i] + 1, f->rest[i] = room % f->stride[i];
    }
    return true;
}
