/* SPDX-License-Identifier: MIT */
/* Writes a network as a blob, in the sections of core/format.h. */
#include "tools/net/blob/blob.h"
#include "tools/base/arena.h"

#include "core/checksum.h"

#include <stdlib.h>
#include <string.h>

/* --- A buffer that grows, in sections that start at multiples of 64 --- */

struct out {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

static void out_reserve(struct out *out, size_t bytes) {
    if (out->failed || bytes > INT32_MAX - out->size) {
        out->failed = true;
        return;
    }
    if (out->size + bytes <= out->room) return;
    size_t room = (out->size + bytes) * 2 + 4096;
    room = (room + MORSEL_FORMAT_ALIGN - 1) / MORSEL_FORMAT_ALIGN * MORSEL_FORMAT_ALIGN;
    uint8_t *more = must_have(aligned_alloc(MORSEL_FORMAT_ALIGN, room), room);
    if (out->size) memcpy(more, out->data, out->size);
    free(out->data);
    out->data = more;
    out->room = room;
}

static uint32_t out_put(struct out *out, const void *data, size_t bytes) {
    uint32_t at = (uint32_t)out->size;
    out_reserve(out, bytes);
    if (out->failed || !bytes) return at;
    if (data) memcpy(out->data + out->size, data, bytes);
    else memset(out->data + out->size, 0, bytes);
    out->size += bytes;
    return at;
}

static uint32_t out_align(struct out *out) {
    out_put(out, NULL, (MORSEL_FORMAT_ALIGN - out->size % MORSEL_FORMAT_ALIGN) % MORSEL_FORMAT_ALIGN);
    return (uint32_t)out->size;
}

static struct morsel_blob_section section(struct out *out, uint32_t count) {
    return (struct morsel_blob_section){out_align(out), count};
}

/* --- Strings: each once --- */

struct strings {
    struct out text;
    bool strip;
    uint32_t *known, room; /* where those so far begin, by their hashes; 0: none. The room is a power of 2, and half of it stays free */
};

static uint32_t *slot_of_string(const struct strings *s, const char *text) {
    uint32_t slot = 2166136261u;
    for (const char *c = text; *c; c++) slot = (slot ^ (uint8_t)*c) * 16777619u;
    for (slot %= s->room; s->known[slot] && strcmp((const char *)s->text.data + s->known[slot], text); slot = (slot + 1) % s->room) {}
    return &s->known[slot];
}

static uint32_t put_string(struct strings *s, const char *text) {
    if (!text || !text[0] || s->text.failed) return 0;
    uint32_t *slot = slot_of_string(s, text);
    if (!*slot) *slot = out_put(&s->text, text, strlen(text) + 1);
    return *slot;
}

static uint32_t put_name(struct strings *s, const char *text) {
    return s->strip ? 0 : put_string(s, text);
}

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

/* A network on its way into the blob. Its header stands at `base`, from which its offsets count. */
struct piece {
    const struct net *net;
    uint32_t base, *index, *parameters; /* of each buffer: its tensor; of each step: where its parameters stand in all */
    struct morsel_blob_header header;
};

static uint32_t put_tensors(struct out *out, const struct net *net, struct strings *strings, uint32_t *index) {
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
                                       .offset = b->constant ? 0 : b->offset,
                                       .first_step = b->first_step,
                                       .last_step = b->last_step,
                                       .name = put_name(strings, b->name),
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

static void put_steps(struct out *out, const struct net *net, struct strings *strings) {
    uint32_t operand = 0;
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        struct morsel_blob_step record = {.kind = (uint32_t)step->kind,
                                          .name = put_name(strings, step->name),
                                          .first_operand = operand,
                                          .input_count = step->input_count,
                                          .output_count = 1,
                                          .scratch_offset = step->scratch_offset,
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

static void put_io(struct out *out, const struct net_io *list, uint32_t count, const uint32_t *index, struct strings *strings) {
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_blob_io io = {.tensor = index[list[i].buffer->index],
                                    .onnx_type = (uint32_t)list[i].onnx_type,
                                    .onnx_rank = list[i].onnx_rank,
                                    .name = put_name(strings, list[i].name)};
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

/* The constants of all steps that are read at open, or all others; their offsets go into the records that were written before them. */
static void put_step_data(struct out *out, const struct piece *p, struct constants *constants, bool at_open) {
    for (uint32_t s = 0; s < p->net->step_count; s++)
        for (uint32_t k = 0; k < p->net->steps[s]->constant_count; k++) {
            const struct net_constant *c = &p->net->steps[s]->constants[k];
            if (read_at_open(p->net->steps[s], c->field) != at_open) continue;
            uint32_t at = put_constant(constants, c->data, c->bytes) - p->base;
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

static size_t header_bytes(const struct morsel_blob_header *h) {
    return h->format_version == 1 ? MORSEL_FORMAT_HEADER_1 : sizeof *h;
}

/* A section of one network, whose records follow. */
static struct morsel_blob_section own(struct out *out, const struct piece *p, uint32_t count) {
    return (struct morsel_blob_section){out_align(out) - p->base, count};
}

/* Header and records of one network. */
static void write_records(struct out *out, struct piece *p, const struct blob_extras *extras, struct strings *strings) {
    const struct morsel_blob_picture *picture = extras->picture;
    const struct net *net = p->net;
    struct morsel_blob_header *h = &p->header;
    uint64_t macs = net_macs(net);
    p->base = out_align(out);
    out_put(out, NULL, header_bytes(h));
    h->tensors = own(out, p, 0);
    h->tensors.count = put_tensors(out, net, strings, p->index);
    h->operands = own(out, p, 0);
    h->operands.count = put_operands(out, net, p->index);
    h->steps = own(out, p, net->step_count);
    put_steps(out, net, strings);
    h->groups = own(out, p, net->group_count);
    out_put(out, net->groups, net->group_count * sizeof *net->groups);
    h->parameters = own(out, p, 0);
    h->parameters.count = put_parameters(out, net, p->parameters);
    h->inputs = own(out, p, net->input_count);
    put_io(out, net->inputs, net->input_count, p->index, strings);
    h->outputs = own(out, p, net->output_count);
    put_io(out, net->outputs, net->output_count, p->index, strings);
    h->picture = own(out, p, picture != NULL);
    out_put(out, picture, picture ? sizeof *picture : 0);
    if (extras->answer) h->answer = own(out, p, (uint32_t)extras->answer_words);
    if (extras->answer) out_put(out, extras->answer, extras->answer_words * sizeof *extras->answer);
    h->arena_bytes = net->arena_bytes;
    h->macs_low = (uint32_t)macs;
    h->macs_high = (uint32_t)(macs >> 32);
    h->parameter_count = net->parameter_count > UINT32_MAX ? UINT32_MAX : (uint32_t)net->parameter_count;
}

static void put_labels(struct out *out, const struct blob_extras *extras, struct strings *strings) {
    for (uint32_t i = 0; i < extras->label_count; i++) {
        const char *text = extras->labels[i]; /* labels are many, and hardly ever equal */
        uint32_t label = text[0] ? out_put(&strings->text, text, strlen(text) + 1) : 0;
        out_put(out, &label, sizeof label);
    }
}

/* All networks name the section that was written for them. */
static void share(struct piece *pieces, uint32_t count, size_t field, struct morsel_blob_section section) {
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_blob_section seen = {section.offset - pieces[i].base, section.count};
        memcpy((uint8_t *)&pieces[i].header + field, &seen, sizeof seen);
    }
}
#define SHARE(name, section) share(pieces, count, offsetof(struct morsel_blob_header, name), section)

static void write_all(struct out *out, struct piece *pieces, uint32_t count, const struct blob_extras *extras, struct strings *strings,
                      struct constants *constants) {
    for (uint32_t i = 0; i < count; i++) {
        write_records(out, &pieces[i], &extras[i], strings);
        if (pieces[i].net->arena_bytes > pieces->header.arena_bytes) pieces->header.arena_bytes = pieces[i].net->arena_bytes;
    }
    if (count > 1) pieces->header.variants = section(out, count);
    for (uint32_t i = 0; count > 1 && i < count; i++) out_put(out, &pieces[i].base, sizeof pieces[i].base);
    SHARE(labels, section(out, extras->label_count));
    put_labels(out, extras, strings);
    for (uint32_t i = 0; i < count; i++) pieces[i].header.name = put_name(strings, pieces[i].net->name);
    SHARE(strings, section(out, (uint32_t)strings->text.size));
    out_put(out, strings->text.data, strings->text.size);
    uint32_t data = out_align(out);
    put_data(out, pieces, count, constants);
    out_align(out);
    SHARE(data, ((struct morsel_blob_section){data, (uint32_t)out->size - data}));
    if (!extras->text) return;
    SHARE(text, section(out, (uint32_t)extras->text_words));
    out_put(out, extras->text, extras->text_words * sizeof *extras->text);
    out_align(out);
}

/* The oldest version that can say what the network needs. */
static uint32_t version_of(const struct net *net, const struct blob_extras *extras) {
    bool newer = extras->text || extras->answer || (extras->picture && extras->picture->resize > MORSEL_RESIZE_SHORT_SIDE);
    return newer ? 2 : net_format(net);
}

/* From the last on, as the checksum of one covers the headers behind it. */
static void put_headers(struct out *out, struct piece *pieces, uint32_t count) {
    while (count--) {
        struct morsel_blob_header *h = &pieces[count].header;
        uint8_t *to = out->data + pieces[count].base;
        memcpy(h->magic, MORSEL_MAGIC, sizeof h->magic);
        h->blob_bytes = (uint32_t)out->size - pieces[count].base;
        memcpy(to, h, header_bytes(h));
        h->checksum = morsel_checksum(to, h->blob_bytes);
        memcpy(to, h, header_bytes(h));
    }
}

static void start_pieces(struct piece *pieces, const struct net *const *nets, uint32_t count, const struct blob_extras *extras,
                         struct strings *strings, struct constants *constants) {
    uint32_t names = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct net *net = nets[i];
        pieces[i] = (struct piece){.net = net, .header.format_version = version_of(net, &extras[i])};
        pieces[i].index = must_calloc(net->buffer_count + 1, sizeof *pieces[i].index);
        pieces[i].parameters = must_calloc(net->step_count + 1, sizeof *pieces[i].parameters);
        for (uint32_t s = 0; s < net->step_count; s++) constants->room += net->steps[s]->constant_count;
        constants->room += net->buffer_count;
        names += net->buffer_count + net->step_count + net->input_count + net->output_count + 1;
    }
    if (count > 1) pieces->header.format_version = 2;
    constants->known = must_calloc(constants->room + 1, sizeof *constants->known);
    for (strings->room = 2; strings->room < 2 * names;) strings->room *= 2;
    strings->known = must_calloc(strings->room, sizeof *strings->known);
}

uint8_t *blob_write_variants(const struct net *const *nets, uint32_t count, const struct blob_extras *extras, size_t *bytes) {
    struct out out = {0};
    struct constants constants = {.out = &out, .parts = count > 1};
    struct strings strings = {.strip = extras->strip};
    struct piece *pieces = must_calloc(count, sizeof *pieces);
    start_pieces(pieces, nets, count, extras, &strings, &constants);
    out_put(&strings.text, "", 1);
    write_all(&out, pieces, count, extras, &strings, &constants);
    out.failed = out.failed || strings.text.failed;
    if (!out.failed) put_headers(&out, pieces, count);
    for (uint32_t i = 0; i < count; i++) {
        free(pieces[i].index);
        free(pieces[i].parameters);
    }
    free(pieces);
    free(constants.known);
    free(strings.text.data);
    free(strings.known);
    *bytes = out.size;
    if (!out.failed) return out.data;
    free(out.data);
    return NULL;
}

uint8_t *blob_write(const struct net *net, const struct blob_extras *extras, size_t *bytes) {
    return blob_write_variants(&net, 1, extras, bytes);
}
