/* SPDX-License-Identifier: MIT */
/* Writes a network as a blob, in the sections of core/format.h. What goes beside it, dress.c puts in. */
#include "tools/net/blob/blob.h"
#include "tools/net/blob/pieces.h"
#include "tools/base/arena.h"

#include <stdlib.h>
#include <string.h>

/* --- Constants: equal bytes once --- */

struct constants {
    struct out *out;
    bool parts; /* what another one begins with is no constant by itself: positions of a shorter text */
    uint32_t count, room;
    struct {
        const void *data;
        size_t bytes;
        uint32_t offset;
    } * known;
};

static uint32_t put_constant(struct constants *c, const void *data, size_t bytes) {
    for (uint32_t i = 0; i < c->count; i++)
        if ((c->parts ? c->known[i].bytes >= bytes : c->known[i].bytes == bytes) && !memcmp(c->known[i].data, data, bytes))
            return c->known[i].offset;
    uint32_t at = out_align(c->out);
    out_put(c->out, data, bytes);
    if (c->count < c->room) {
        c->known[c->count].data = data;
        c->known[c->count].bytes = bytes;
        c->known[c->count++].offset = at;
    }
    return at;
}

/* --- Records --- */

/* Names, or none of them. */
struct names {
    struct strings strings;
    bool strip;
};

static uint32_t put_name(struct names *names, const char *text) {
    return names->strip ? 0 : strings_put(&names->strings, text);
}

/* Where something in its arena lies in the blob's. */
static uint32_t arena_offset(const struct piece *p, uint32_t offset) {
    return offset < p->net->arena_bytes - p->net->fast_bytes ? offset : offset + p->slow_more;
}

static uint32_t put_tensors(struct out *out, const struct piece *p, struct names *names) {
    const struct net *net = p->net;
    uint32_t *index = p->index;
    uint32_t n = 0;
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        const struct net_buffer *b = net->buffers[i];
        if (!b->used) continue;
        index[i] = n++;
        struct morsel_blob_tensor t = {.type = (uint32_t)b->type,
                                       .layout = (uint32_t)b->layout,
                                       .rank = b->rank,
                                       .bytes = b->bytes,
                                       .scale = b->scale,
                                       .zero_point = b->zero,
                                       .place = b->constant != NULL,
                                       .offset = b->constant ? 0 : arena_offset(p, b->offset),
                                       .first_step = b->first_step,
                                       .last_step = b->last_step,
                                       .name = put_name(names, b->name),
                                       .ring_rows = b->ring_rows};
        memcpy(t.dims, b->dims, sizeof t.dims);
        out_put(out, &t, sizeof t);
    }
    return n;
}

static uint32_t put_operands(struct out *out, const struct net *net, const uint32_t *index) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        for (uint32_t k = 0; k < step->input_count; k++, count++) out_put(out, &index[step->inputs[k]->index], sizeof *index);
        out_put(out, &index[step->output->index], sizeof *index);
        count++;
    }
    return count;
}

static uint32_t put_parameters(struct out *out, const struct net *net, uint32_t *where) {
    uint32_t words = 0;
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        where[s] = out_put(out, step->more_words ? step->more_words : step->parameters.words, step->parameter_words * 4);
        words += step->parameter_words;
    }
    return words;
}

static void put_steps(struct out *out, const struct piece *p, struct names *names) {
    const struct net *net = p->net;
    uint32_t operand = 0;
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        struct morsel_blob_step record = {.kind = (uint32_t)step->kind,
                                          .name = put_name(names, step->name),
                                          .first_operand = operand,
                                          .input_count = step->input_count,
                                          .output_count = 1,
                                          .scratch_offset = step->scratch_bytes ? arena_offset(p, step->scratch_offset) : 0,
                                          .scratch_bytes = step->scratch_bytes,
                                          .macs_low = (uint32_t)step->macs,
                                          .macs_high = (uint32_t)(step->macs >> 32),
                                          .group = step->group,
                                          .stage_scale = step->stage_scale,
                                          .stage_lead = step->stage_lead};
        operand += step->input_count + 1;
        out_put(out, &record, sizeof record);
    }
}

static void put_io(struct out *out, const struct net_io *list, uint32_t count, const uint32_t *index, struct names *names) {
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_blob_io io = {.tensor = index[list[i].buffer->index],
                                    .onnx_type = (uint32_t)list[i].onnx_type,
                                    .onnx_rank = list[i].onnx_rank,
                                    .name = put_name(names, list[i].name)};
        memcpy(io.onnx_dims, list[i].onnx_dims, sizeof io.onnx_dims);
        out_put(out, &io, sizeof io);
    }
}

/* Whether morsel_open() reads a constant, and does not only check where it lies. */
static bool read_at_open(const struct net_step *step, size_t field) {
    if (step->kind == MORSEL_STEP_LOOKUP) return step->output->type == MORSEL_FLOAT32;
    if (!net_sums(step)) return step->kind != MORSEL_STEP_LUT;
    size_t own = field - net_sums(step);
    return own == offsetof(struct morsel_blob_sums, multiplier) || own == offsetof(struct morsel_blob_sums, weight_zero) ||
           own == offsetof(struct morsel_blob_sums, float_bias);
}

/* Whether dress.c knows the field, which moves with the constants. */
static bool moves(const struct net_step *step, size_t field) {
    size_t fields[BLOB_CONSTANTS];
    uint32_t n = blob_constants((uint32_t)step->kind, fields);
    while (n && fields[n - 1] != field) n--;
    return n;
}

/* The constants of all steps that are read at open, or all others; their offsets go into the records that were written before them. */
static void put_step_data(struct out *out, const struct piece *p, struct constants *constants, bool at_open) {
    for (uint32_t s = 0; s < p->net->step_count; s++)
        for (uint32_t k = 0; k < p->net->steps[s]->constant_count; k++) {
            const struct net_constant *c = &p->net->steps[s]->constants[k];
            if (read_at_open(p->net->steps[s], c->field) != at_open) continue;
            uint32_t at = put_constant(constants, c->data, c->bytes) - p->base;
            out->failed = out->failed || !moves(p->net->steps[s], c->field);
            if (!out->failed) memcpy(out->data + p->parameters[s] + c->field, &at, sizeof at);
        }
}

static void put_tensor_data(struct out *out, const struct piece *p, struct constants *constants) {
    for (uint32_t i = 0; i < p->net->buffer_count; i++) {
        const struct net_buffer *b = p->net->buffers[i];
        if (!b->used || !b->constant) continue;
        uint32_t at = put_constant(constants, b->constant, b->bytes) - p->base;
        size_t field = p->header.tensors.offset + p->index[i] * sizeof(struct morsel_blob_tensor);
        if (!out->failed) memcpy(out->data + p->base + field + offsetof(struct morsel_blob_tensor, offset), &at, sizeof at);
    }
}

static void set_parameters(struct out *out, const struct piece *p) {
    for (uint32_t s = 0; s < p->net->step_count; s++) {
        size_t field = p->header.steps.offset + s * sizeof(struct morsel_blob_step) + offsetof(struct morsel_blob_step, parameters);
        uint32_t at = p->parameters[s] - p->base;
        if (!out->failed) memcpy(out->data + p->base + field, &at, sizeof at);
    }
}

/* What is read at open stands together and next to the records, so that few pages of a file are touched before the first run. */
static void put_data(struct out *out, const struct piece *pieces, uint32_t count, struct constants *constants) {
    for (uint32_t i = 0; i < count; i++) put_step_data(out, &pieces[i], constants, true);
    for (uint32_t i = 0; i < count; i++) put_tensor_data(out, &pieces[i], constants);
    for (uint32_t i = 0; i < count; i++) set_parameters(out, &pieces[i]);
    for (uint32_t i = 0; i < count; i++) put_step_data(out, &pieces[i], constants, false);
}

/* Header and records of one network. */
static void write_records(struct out *out, struct piece *p, struct names *names) {
    const struct net *net = p->net;
    struct morsel_blob_header *h = &p->header;
    uint64_t macs = net_macs(net);
    p->base = out_align(out);
    out_put(out, NULL, piece_header_bytes(h));
    h->tensors = out_section(out, p->base, 0);
    h->tensors.count = put_tensors(out, p, names);
    h->operands = out_section(out, p->base, 0);
    h->operands.count = put_operands(out, net, p->index);
    h->steps = out_section(out, p->base, net->step_count);
    put_steps(out, p, names);
    h->groups = out_section(out, p->base, net->group_count);
    out_put(out, net->groups, net->group_count * sizeof *net->groups);
    h->parameters = out_section(out, p->base, 0);
    h->parameters.count = put_parameters(out, net, p->parameters);
    h->inputs = out_section(out, p->base, net->input_count);
    put_io(out, net->inputs, net->input_count, p->index, names);
    h->outputs = out_section(out, p->base, net->output_count);
    put_io(out, net->outputs, net->output_count, p->index, names);
    h->picture = out_section(out, p->base, 0);
    h->arena_bytes = net->arena_bytes + p->slow_more;
    h->fast_bytes = net->fast_bytes;
    h->macs_low = (uint32_t)macs;
    h->macs_high = (uint32_t)(macs >> 32);
    h->parameter_count = net->parameter_count > UINT32_MAX ? UINT32_MAX : (uint32_t)net->parameter_count;
}

#define SHARE(name, section) pieces_share(pieces, count, offsetof(struct morsel_blob_header, name), section)

static uint32_t slow_bytes(const struct net *net) {
    return net->arena_bytes - net->fast_bytes;
}

static uint32_t fast_bytes(const struct net *net) {
    return net->fast_bytes;
}

static uint32_t largest(const struct piece *pieces, uint32_t count, uint32_t (*bytes)(const struct net *net)) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) most = bytes(pieces[i].net) > most ? bytes(pieces[i].net) : most;
    return most;
}

/* Each part of the first one's arena holds that of any other. */
static void write_all(struct out *out, struct piece *pieces, uint32_t count, struct names *names, struct constants *constants) {
    pieces->slow_more = largest(pieces, count, slow_bytes) - slow_bytes(pieces->net);
    for (uint32_t i = 0; i < count; i++) write_records(out, &pieces[i], names);
    pieces->header.fast_bytes = largest(pieces, count, fast_bytes);
    pieces->header.arena_bytes = largest(pieces, count, slow_bytes) + pieces->header.fast_bytes;
    if (count > 1) pieces->header.variants = out_section(out, 0, count);
    for (uint32_t i = 0; count > 1 && i < count; i++) out_put(out, &pieces[i].base, sizeof pieces[i].base);
    SHARE(labels, out_section(out, 0, 0));
    for (uint32_t i = 0; i < count; i++) pieces[i].header.name = put_name(names, pieces[i].net->name);
    SHARE(strings, out_section(out, 0, (uint32_t)names->strings.text.size));
    out_put(out, names->strings.text.data, names->strings.text.size);
    uint32_t data = out_align(out);
    put_data(out, pieces, count, constants);
    out_align(out);
    SHARE(data, ((struct morsel_blob_section){data, (uint32_t)out->size - data}));
}

static void start_pieces(struct piece *pieces, const struct net *const *nets, uint32_t count, struct names *names,
                         struct constants *constants) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct net *net = nets[i];
        pieces[i] = (struct piece){.net = net, .header.format_version = net->fast_bytes ? 2 : net_format(net)};
        pieces[i].index = must_calloc(net->buffer_count + 1, sizeof *pieces[i].index);
        pieces[i].parameters = must_calloc(net->step_count + 1, sizeof *pieces[i].parameters);
        for (uint32_t s = 0; s < net->step_count; s++) constants->room += net->steps[s]->constant_count;
        constants->room += net->buffer_count;
        most += net->buffer_count + net->step_count + net->input_count + net->output_count + 1;
    }
    if (count > 1) pieces->header.format_version = 2;
    constants->known = must_calloc(constants->room + 1, sizeof *constants->known);
    strings_start(&names->strings, most);
}

/* The networks alone. */
static struct out write_nets(const struct net *const *nets, uint32_t count, bool strip) {
    struct out out = {0};
    struct constants constants = {.out = &out, .parts = count > 1};
    struct names names = {.strip = strip};
    struct piece *pieces = must_calloc(count, sizeof *pieces);
    start_pieces(pieces, nets, count, &names, &constants);
    write_all(&out, pieces, count, &names, &constants);
    out.failed = out.failed || names.strings.text.failed;
    if (!out.failed) pieces_put_headers(&out, pieces, count);
    for (uint32_t i = 0; i < count; i++) {
        free(pieces[i].index);
        free(pieces[i].parameters);
    }
    free(pieces);
    free(constants.known);
    strings_free(&names.strings);
    return out;
}

uint8_t *blob_write_variants(const struct net *const *nets, uint32_t count, const struct blob_extras *extras, size_t *bytes) {
    struct out out = write_nets(nets, count, extras->strip);
    bool bare = true;
    for (uint32_t i = 0; i < count; i++) bare = bare && !blob_dresses(&extras[i]);
    uint8_t *dressed = out.failed || bare ? NULL : blob_dress(out.data, out.size, count, extras, bytes);
    if (!out.failed && bare) {
        *bytes = out.size;
        return out.data;
    }
    free(out.data);
    return dressed;
}

uint8_t *blob_write(const struct net *net, const struct blob_extras *extras, size_t *bytes) {
    return blob_write_variants(&net, 1, extras, bytes);
}
