/* SPDX-License-Identifier: MIT */
/* What a prepared call says of its step, and where tensors lie. */
#include "call.h"

#include <string.h>

_Static_assert(offsetof(struct morsel_conv_args, y) == offsetof(struct morsel_window_args, y) &&
                   offsetof(struct morsel_float_conv_args, y) == offsetof(struct morsel_window_args, y) &&
                   offsetof(struct morsel_pool_args, y) == offsetof(struct morsel_window_args, y),
               "arguments begin alike");

const struct morsel_window *morsel_call_window(const struct morsel_call *call) {
    return morsel_kind_windows(call->kind) ? &call->args.windowed.window : NULL;
}

uint32_t morsel_call_parts(const struct morsel_call *call) {
    if (call->split == MORSEL_SPLIT_BLOCKS) return (call->args.conv.window.out_c + 15) / 16;
    return call->split == MORSEL_SPLIT_ROWS ? call->units / call->row_elements : call->units;
}

size_t morsel_call_part_bytes(const struct morsel_call *call) {
    const struct morsel_window *w = &call->args.conv.window;
    if (morsel_kind_base(call->kind) == MORSEL_STEP_FC) return ((size_t)call->args.fc.inputs + 3) / 4 * 64;
    if (morsel_kind_base(call->kind) == MORSEL_STEP_DEPTHWISE) return (size_t)w->kernel_w * ((w->kernel_h + 3) / 4) * 64;
    return (size_t)w->kernel_h * ((w->kernel_w * w->in_c + 3) / 4) * 64;
}

struct morsel_room *morsel_args_room(union morsel_args *args, uint32_t kind) {
    switch (morsel_kind_base(kind)) {
    case MORSEL_STEP_CONV:
    case MORSEL_STEP_DEPTHWISE: return &args->conv.room;
    case MORSEL_STEP_FC: return &args->fc.room;
    case MORSEL_STEP_MATMUL:
    case MORSEL_STEP_VIEW_MATMUL: return &args->matmul.room;
    case MORSEL_STEP_FLOAT_CONV: return &args->float_conv.room;
    case MORSEL_STEP_FLOAT_MATMUL: return &args->float_matmul.room;
    case MORSEL_STEP_SOFTMAX: return &args->softmax.room;
    default: return NULL;
    }
}

uint8_t *morsel_call_padding_row(const struct morsel_call *call) {
    return morsel_call_is_conv(call) ? call->args.conv.padding_row : NULL;
}

void morsel_fill_padding_row(const struct morsel_call *call, uint8_t *padding_row) {
    const struct morsel_conv_args *a = &call->args.conv;
    const float *numbers = morsel_call_numbers(call);
    int32_t zero = numbers ? morsel_found_zero(numbers) : a->x.qparams.zero;
    if (padding_row) memset(padding_row, (int)((uint32_t)zero ^ a->x.qparams.sign_flip), a->padding_row_bytes);
}

uint32_t morsel_stored_flip(const struct morsel_model *model, const struct morsel_blob_tensor *t, uint32_t store_flip) {
    int outside = t->place || t->first_step == MORSEL_STEP_BEFORE || t->last_step == morsel_blob_header(model)->steps.count;
    if (!morsel_is_byte(t)) return 0;
    return !outside ? store_flip : t->type == MORSEL_INT8 ? 0x80 : 0;
}

struct morsel_blocks morsel_session_blocks(const struct morsel_session *session) {
    struct morsel_blocks blocks = {session->arena, session->fast, session->behind};
    return blocks;
}

uint8_t *morsel_arena_at(const struct morsel_model *model, const struct morsel_blocks *blocks, uint32_t offset) {
    uint32_t from = morsel_fast_from(morsel_blob_header(model));
    return offset < from ? blocks->arena + offset : blocks->fast + (offset - from);
}

uint8_t *morsel_tensor_place(const struct morsel_model *model, const struct morsel_blocks *blocks, const struct morsel_blob_tensor *t) {
    if (t->place) return (uint8_t *)(uintptr_t)morsel_blob_at(model, t->offset);
    if (t->first_step != MORSEL_STEP_BEFORE) {
        const struct morsel_call *writer = (const void *)(blocks->arena + (size_t)t->first_step * MORSEL_FORMAT_STEP_SLOT);
        if (writer->moved) return blocks->behind;
    }
    return morsel_arena_at(model, blocks, t->offset);
}

uint8_t *morsel_band_memory(const struct morsel_session *session, uint32_t index) {
    return session->behind + session->spare_bytes + (size_t)(index - 1) * session->band_bytes;
}

void morsel_view_tensor(struct morsel_view *view, const struct morsel_session *session, const struct morsel_blob_tensor *t) {
    const struct morsel_blocks blocks = morsel_session_blocks(session);
    memset(view, 0, sizeof *view);
    view->data = morsel_tensor_place(session->model, &blocks, t);
    view->bytes = t->bytes;
    view->type = (enum morsel_type)t->type;
    view->layout = (enum morsel_layout)t->layout;
    view->rank = t->rank;
    memcpy(view->dims, t->dims, sizeof view->dims);
    view->scale = t->scale;
    view->zero_point = t->zero_point;
}
