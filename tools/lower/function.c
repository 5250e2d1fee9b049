/* SPDX-License-Identifier: MIT */
/* A value of eight bits has 256 numbers at most: any chain of elementwise operators on it is a table, filled here. */
#include "tools/lower/lower.h"

float meaning_number(const struct meaning *m, uint32_t channel, int byte) {
    int32_t q = m->buffer->type == MORSEL_INT8 ? (int8_t)byte : byte;
    if (m->table) return m->table[(m->table_channels > 1 ? channel : 0) * 256 + (uint32_t)byte];
    return (float)(q - m->zero) * m->scale;
}

/* A channel takes 256 numbers in a table, and a constant by channel may be one number that Expand wrote out: a small file would take
 * gigabytes and minutes. Room follows from the constants as they stand in the file. Of networks seen, none took more than 221,184, nor
 * more than the half of its room. */
enum { LEAST_TABLE_ROOM = 1 << 13, MOST_TABLE_ROOM = 1 << 20, TABLES_OF_A_NUMBER = 8 };

size_t table_room(const struct onnx_graph *graph) {
    return onnx_room(graph, LEAST_TABLE_ROOM, TABLES_OF_A_NUMBER, MOST_TABLE_ROOM);
}

float *new_table(struct lowering *l, uint32_t channels) {
    if (channels > 1) l->table_room -= channels < l->table_room ? channels : l->table_room;
    return net_alloc(l->net, (size_t)channels * 256 * sizeof(float));
}

bool function_fits(const struct lowering *l, const struct meaning *m, uint32_t channels, uint32_t axis) {
    uint32_t own = m->table ? m->table_channels : 1, both = own > channels ? own : channels;
    if (both > 1 && both > l->table_room) return false;
    return !m->table || m->table_channels <= 1 || channels <= 1 || (m->table_axis == axis && m->table_channels == channels);
}

bool set_function(struct lowering *l, struct onnx_node *node, const struct meaning *m, struct onnx_value *out, number_fn *f,
                  const void *context, uint32_t channels, uint32_t axis) {
    uint32_t own = m->table ? m->table_channels : 1;
    uint32_t both = own > channels ? own : channels;
    if (!function_fits(l, m, channels, axis))
        return both > l->table_room ? refuse(l, node, "a table for each of %u channels: too many for what the file holds", both)
                                    : refuse(l, node, "constants by channel along two different axes in one chain are not supported");
    float *table = new_table(l, both);
    for (uint32_t c = 0; c < both; c++)
        for (int b = 0; b < 256; b++) table[c * 256 + (uint32_t)b] = f(context, channels > 1 ? c : 0, meaning_number(m, c, b));
    struct meaning made = *m;
    made.table = table;
    made.table_channels = both;
    made.table_axis = channels > 1 ? axis : m->table_axis;
    if (channels > 1) made.line_scale = made.line_offset = NULL;
    made.channel_scales = NULL;
    made.channel_zeros = NULL;
    meaning_set(l, out, made);
    return true;
}

void set_channel_table(struct lowering *l, struct meaning *m) {
    uint32_t channels = m->view.dims[1];
    float *table = new_table(l, channels);
    for (uint32_t c = 0; c < channels; c++)
        for (int b = 0; b < 256; b++)
            table[c * 256 + (uint32_t)b] =
                (float)((m->buffer->type == MORSEL_INT8 ? (int8_t)b : b) - (m->channel_zeros ? m->channel_zeros[c] : m->zero)) *
                m->channel_scales[c];
    m->table = table;
    m->table_channels = channels;
    m->table_axis = 1;
    m->dequantized = true;
}
