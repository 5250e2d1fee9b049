/* SPDX-License-Identifier: MIT */
/*
 * What a file's message would take in memory, counted from its bytes before protobuf-c unpacks it: two bytes of a file can become a
 * struct of 250. The schema's descriptors lead the walk. No message of onnx.proto contains itself, which bounds its depth.
 */
#include "tools/onnx/flow.h"
#include <inttypes.h>

enum {
    VARINT = 0,
    EIGHT_BYTES = 1,
    LENGTH_PREFIXED = 2,
    FOUR_BYTES = 5,
    MOST_VARINT = 10, /* bytes */
    MOST_MERGES = 64, /* of a message that a field holds once: each copies what came before */
    BLOCK = 16,       /* the C library's own bytes for each block, and its rounding */
    NOTE = 64,        /* protobuf-c's of each field while it unpacks a message: 32 bytes, in lists that double */
    NOTES_FREE = 16,
};

/* Networks are mostly weights and take 1.0 to 1.4 times their file. Nodes of short names without weights take 17 times. */
enum { BYTES_FOR_ANY = 64 << 20, BYTES_FOR_EACH = 32 };

struct walk {
    const uint8_t *start;
    uint64_t taken, most; /* bytes */
    struct failure *failure;
};

/* A part of the file that is left to read. */
struct span {
    const uint8_t *at, *end;
};

static bool damaged(struct failure *failure) {
    return failure_set(failure, STATUS_INPUT, "not an ONNX model, or a damaged one: its protobuf message cannot be read");
}

static bool read_varint(struct span *s, uint64_t *value) {
    *value = 0;
    for (int i = 0; i < MOST_VARINT && s->at < s->end; i++) {
        uint8_t byte = *s->at++;
        *value |= (uint64_t)(byte & 127) << 7 * i;
        if (byte < 128) return true;
    }
    return false;
}

/* Behind the tag: what a field holds. */
static bool read_content(struct span *s, unsigned wire, struct span *content) {
    uint64_t length = wire == EIGHT_BYTES ? 8 : 4;
    if (wire == VARINT) {
        content->at = s->at;
        bool whole = read_varint(s, &length);
        content->end = s->at;
        return whole;
    }
    if (wire == LENGTH_PREFIXED && !read_varint(s, &length)) return false;
    if ((wire != LENGTH_PREFIXED && wire != EIGHT_BYTES && wire != FOUR_BYTES) || length > (size_t)(s->end - s->at)) return false;
    *content = (struct span){s->at, s->at + length};
    s->at += length;
    return true;
}

static size_t element_bytes(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    default: return 4;
    }
}

/* Numbers one behind the other: every varint ends in one byte below 128. */
static size_t packed_count(const struct span *content, ProtobufCType type) {
    size_t bytes = (size_t)(content->end - content->at), count = 0;
    if (type == PROTOBUF_C_TYPE_FLOAT || type == PROTOBUF_C_TYPE_FIXED32 || type == PROTOBUF_C_TYPE_SFIXED32) return bytes / 4;
    if (type == PROTOBUF_C_TYPE_DOUBLE || type == PROTOBUF_C_TYPE_FIXED64 || type == PROTOBUF_C_TYPE_SFIXED64) return bytes / 8;
    for (size_t i = 0; i < bytes; i++) count += content->at[i] < 128;
    return count;
}

/* What the field takes beside the message that it is a part of; without what a message in it takes. */
static size_t field_bytes(const ProtobufCFieldDescriptor *field, unsigned wire, const struct span *content) {
    size_t bytes = wire == LENGTH_PREFIXED ? (size_t)(content->end - content->at) : 0;
    if (!field) return sizeof(ProtobufCMessageUnknownField) + BLOCK + (size_t)(content->end - content->at) + MOST_VARINT;
    bool own_block = field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES;
    size_t block = own_block ? bytes + 1 + BLOCK : 0;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) return block;
    size_t count = wire == LENGTH_PREFIXED && !own_block && field->type != PROTOBUF_C_TYPE_MESSAGE ? packed_count(content, field->type) : 1;
    return 2 * count * element_bytes(field->type) + block; /* two pieces of a message, and the whole, while they are joined */
}

/* For a message's n-th field; the first lists are on protobuf-c's stack. */
static size_t notes_bytes(size_t n) {
    return n <= NOTES_FREE ? 0 : n == NOTES_FREE + 1 ? n * NOTE : NOTE;
}

static const ProtobufCFieldDescriptor *known_field(const ProtobufCMessageDescriptor *message, uint64_t tag) {
    return tag >> 3 <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(message, (unsigned)(tag >> 3)) : NULL;
}

static bool too_much(const struct walk *w, const ProtobufCMessageDescriptor *message, uint64_t tag, size_t count, size_t byte) {
    const ProtobufCFieldDescriptor *field = known_field(message, tag);
    return failure_set(w->failure, STATUS_INPUT,
                       "would take over %" PRIu64 " MB of memory to read, which no network of its size needs; at byte %zu a %s has its "
                       "field %zu, number %" PRIu64 "%s%s",
                       w->most >> 20, byte, message->short_name, count, tag >> 3, field ? ": " : "", field ? field->name : "");
}

static bool walk_message(struct walk *w, const ProtobufCMessageDescriptor *message, struct span s) {
    size_t fields = 0, merges = 0;
    w->taken += message->sizeof_message + BLOCK;
    while (s.at < s.end) {
        size_t byte = (size_t)(s.at - w->start);
        struct span content;
        uint64_t tag;
        if (!read_varint(&s, &tag) || !read_content(&s, tag & 7, &content)) return damaged(w->failure);
        const ProtobufCFieldDescriptor *field = known_field(message, tag);
        w->taken += field_bytes(field, tag & 7, &content) + notes_bytes(++fields);
        if (w->taken > w->most) return too_much(w, message, tag, fields, byte);
        if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE || (tag & 7) != LENGTH_PREFIXED) continue;
        if (field->label != PROTOBUF_C_LABEL_REPEATED && ++merges > MOST_MERGES)
            return failure_set(w->failure, STATUS_INPUT, "has a %s in over %d pieces, '%s' at byte %zu; write it in one",
                               message->short_name, MOST_MERGES, field->name, byte);
        if (!walk_message(w, field->descriptor, content)) return false;
    }
    return true;
}

bool onnx_check_message(const uint8_t *bytes, size_t size, uint64_t *taken, struct failure *failure) {
    struct walk w = {bytes, 0, BYTES_FOR_ANY + (uint64_t)size * BYTES_FOR_EACH, failure};
    bool good = walk_message(&w, &onnx__model__descriptor, (struct span){bytes, bytes + size});
    *taken = w.taken;
    return good;
}

bool onnx_check_body(const uint8_t *bytes, size_t size, uint64_t *taken, struct failure *failure) {
    struct walk w = {bytes, *taken, BYTES_FOR_ANY + (uint64_t)size * BYTES_FOR_EACH, failure};
    bool good = walk_message(&w, &onnx__graph__descriptor, (struct span){bytes, bytes + size});
    *taken = w.taken;
    return good;
}

uint64_t onnx_message_bytes(const ProtobufCMessageDescriptor *message, const uint8_t *bytes, size_t size) {
    struct failure ignored; /* protobuf-c packed it */
    struct walk w = {bytes, 0, UINT64_MAX, &ignored};
    walk_message(&w, message, (struct span){bytes, bytes + size});
    return w.taken;
}
