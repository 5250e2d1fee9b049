/* SPDX-License-Identifier: MIT */
/* Resize and Upsample, nearest: each axis is read by an index list. */
#include "tools/lower/lower.h"
#include "tools/onnx/resize.h"

#include <string.h>

static bool resize_axis(struct lowering *l, struct onnx_node *node, struct meaning *m, int axis) {
    struct onnx_resize r;
    const char *why;
    if (!onnx_resize_read(node, axis, &r, &why))
        return refuse(l, node, "%s", why);
    if (onnx_resize_keeps(&r))
        return true;
    int32_t *indices = net_alloc(l->net, ((size_t)r.out + 1) * sizeof *indices);
    for (int64_t k = 0; k < r.out; k++)
        if ((indices[k] = (int32_t)onnx_resize_nearest(&r, k)) < 0)
            return refuse(l, node, "tf_crop_and_resize beyond the picture is not supported");
    m->view = view_pick(l->net, &m->view, (uint32_t)axis, (uint32_t)r.out, indices);
    return true;
}

bool lower_resize(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), made;
    const char *mode = onnx_attribute_string(node, "mode", "nearest");
    if (!m)
        return false;
    if (strcmp(mode, "nearest"))
        return refuse(l, node, "mode %s is not supported, only nearest", mode);
    made = *m;
    if (made.table && made.table_channels > 1) {
        made.buffer = meaning_float_buffer(l, node, &made, &made.view);
        made.table = NULL;
        made.real = false;
    }
    for (uint32_t axis = 0; made.buffer && axis < made.view.rank; axis++)
        if (!resize_axis(l, node, &made, (int)axis))
            return false;
    if (!made.buffer)
        return false;
    meaning_set(l, node->outputs[0], made);
    return true;
}
