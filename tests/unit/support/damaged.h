/* SPDX-License-Identifier: MIT */
/* A sample blob with a damage, and the error that opening it must give. Included after cmocka.h. */
#ifndef DAMAGED_H
#define DAMAGED_H

#include "tests/unit/support/sample_blob.h"

static inline enum morsel_error try_open(const struct blob *b, uint32_t flags) {
    struct morsel_model model;
    enum morsel_error error = morsel_open(&model, b->bytes, b->count, flags);
    if (error) assert_int_equal(morsel_arena_bytes(&model), 0); /* not open */
    return error;
}

/* The damage must give `error` in a sample that opens before it, with a checksum that is right. */
#define DAMAGED(error, ...) DAMAGED_FOR(0, error, __VA_ARGS__)
/* The same for the structure alone: what constants hold may be a lie. */
#define MISSHAPEN(error, ...) DAMAGED_FOR(MORSEL_SKIP_CHECKSUM, error, __VA_ARGS__)
#define DAMAGED_FOR(flags, error, ...) \
    do { \
        struct blob b = sample(); \
        assert_int_equal(try_open(&b, 0), MORSEL_OK); \
        __VA_ARGS__; \
        if (b.header->blob_bytes == b.count) builder_seal(b.bytes); \
        enum morsel_error got = try_open(&b, flags); \
        if (got != (error)) fail_msg("%s: %s, not %s", #__VA_ARGS__, morsel_error_text(got), morsel_error_text(error)); \
        free(b.bytes); \
    } while (0)

#define CONV(step) ((struct morsel_blob_conv *)parameters(&b, step))
#define POOL(step) ((struct morsel_blob_pool *)parameters(&b, step))
#define FC ((struct morsel_blob_fc *)parameters(&b, S_FC))
#define MATMUL ((struct morsel_blob_matmul *)parameters(&b, S_MATMUL))
#define BINARY ((struct morsel_blob_binary *)parameters(&b, S_ADD))
#define UNARY ((struct morsel_blob_unary *)parameters(&b, S_UNARY))
#define LUT ((struct morsel_blob_lut *)parameters(&b, S_LUT))
#define MEAN ((struct morsel_blob_mean *)parameters(&b, S_MEAN))
#define SOFTMAX ((struct morsel_blob_softmax *)parameters(&b, S_SOFTMAX))
#define CONCAT ((struct morsel_blob_concat *)parameters(&b, S_CONCAT))
#define GATHER ((struct morsel_blob_gather *)parameters(&b, S_GATHER))
#define FLOAT_AT(offset, i) (((float *)(void *)(b.bytes + (offset)))[i])
#define INT_AT(offset, i) (((int32_t *)(void *)(b.bytes + (offset)))[i])

#endif
