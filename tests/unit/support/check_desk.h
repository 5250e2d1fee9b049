/* SPDX-License-Identifier: MIT */
/* One step on a desk, before the check of its kind: tensors of any size that nobody has to hold, and constants that are there. */
#ifndef CHECK_DESK_H
#define CHECK_DESK_H

#include <stdalign.h>
#include <string.h>

#include "core/check.h"

enum { DESK_BYTES = 1 << 16, DESK_DATA = 4096, DESK_TENSORS = 4, DESK_TENSORS_AT = 256, DESK_OPERANDS_AT = 1024 };

struct desk {
    alignas(64) uint8_t bytes[DESK_BYTES]; /* the blob: a header, tensors, operands; from DESK_DATA on constants, all 0 */
    struct morsel_blob_header *header;
    struct morsel_blob_tensor *x, *b, *y; /* x is input 0, b is input 1; y comes last */
    struct morsel_blob_step step;
    struct morsel_model model;
    uint64_t read;
    uint16_t checked[MORSEL_CHECKED];
    struct morsel_check check;
    struct morsel_step_check of_step;
};

/* A step of `inputs` inputs, uint8 all. Its parameters are the caller's. Nothing is verified. */
static inline void desk_set(struct desk *d, uint32_t kind, uint32_t inputs, const void *parameters) {
    memset(d, 0, sizeof *d);
    d->header = (void *)d->bytes;
    d->header->blob_bytes = DESK_BYTES;
    d->header->tensors = (struct morsel_blob_section){DESK_TENSORS_AT, DESK_TENSORS};
    d->header->operands = (struct morsel_blob_section){DESK_OPERANDS_AT, DESK_TENSORS};
    d->header->data = (struct morsel_blob_section){DESK_DATA, DESK_BYTES - DESK_DATA};
    struct morsel_blob_tensor *tensors = (void *)(d->bytes + DESK_TENSORS_AT);
    uint32_t *operands = (void *)(d->bytes + DESK_OPERANDS_AT);
    for (uint32_t i = 0; i < DESK_TENSORS; i++) {
        operands[i] = i;
        tensors[i].rank = 4;
        tensors[i].scale = 1;
        tensors[i].bytes = 1;
        for (uint32_t k = 0; k < MORSEL_FORMAT_MAX_RANK; k++) tensors[i].dims[k] = 1;
    }
    d->x = tensors, d->b = tensors + 1, d->y = tensors + inputs;
    d->step.kind = kind;
    d->step.input_count = inputs;
    d->step.output_count = 1;
    d->model.blob = d->bytes;
    d->model.blob_bytes = DESK_BYTES;
    d->check = (struct morsel_check){
        .model = &d->model, .header = d->header, .tensors = tensors, .steps = &d->step, .read = &d->read, .checked = d->checked};
    d->of_step = (struct morsel_step_check){&d->check, &d->step, d->x, d->y, parameters};
}

/* A tensor N H W C of bytes. */
static inline void desk_shape(struct morsel_blob_tensor *t, uint32_t n, uint32_t h, uint32_t w, uint32_t c) {
    t->dims[0] = n, t->dims[1] = h, t->dims[2] = w, t->dims[3] = c;
    t->bytes = n * h * w * c * morsel_type_bytes(t->type);
}

/* `field` moved to the data's last bytes, of which there are so many: not one less will do. All other constants lie far before. */
#define DESK_ENDS(d, check, field, size) \
    do { \
        uint32_t old_ = (field), at_ = 32768; \
        (d)->header->data.count = at_ + (size); \
        (field) = DESK_DATA + at_; \
        assert_int_equal(check(&(d)->of_step), MORSEL_OK); \
        (d)->header->data.count--; \
        assert_int_equal(check(&(d)->of_step), MORSEL_ERR_CONSTANT); \
        (d)->header->data.count = DESK_BYTES - DESK_DATA; \
        (field) = old_; \
    } while (0)

#endif
