/* SPDX-License-Identifier: MIT */
/* Strings, labels, metadata, tensors, inputs and outputs, and the picture rule. */
#include "check.h"

/* Where version 1 has its fields, as files that were written once hold them. */
_Static_assert(offsetof(struct morsel_blob_header, text) == MORSEL_FORMAT_HEADER_1, "version 1");
_Static_assert(sizeof(struct morsel_blob_window) == 40 && sizeof(struct morsel_blob_sums) == 44, "version 1");
_Static_assert(offsetof(struct morsel_blob_window, stride_h) == 8 && offsetof(struct morsel_blob_window, dilation_h) == 16 &&
                   offsetof(struct morsel_blob_window, pad_top) == 24 && offsetof(struct morsel_blob_window, pad_bottom) == 32,
               "version 1");
_Static_assert(offsetof(struct morsel_blob_sums, weight_sum) == 12 && offsetof(struct morsel_blob_sums, float_bias) == 20 &&
                   offsetof(struct morsel_blob_sums, out_min) == 24 && offsetof(struct morsel_blob_sums, float_min) == 32 &&
                   offsetof(struct morsel_blob_sums, proofs) == 40,
               "version 1");
_Static_assert(offsetof(struct morsel_blob_conv, groups) == 40 && offsetof(struct morsel_blob_conv, sums) == 44 &&
                   sizeof(struct morsel_blob_conv) == 88,
               "version 1");
_Static_assert(offsetof(struct morsel_blob_fc, sums) == 12 && sizeof(struct morsel_blob_fc) == 56, "version 1");
_Static_assert(offsetof(struct morsel_blob_float_conv, weights) == 44 && offsetof(struct morsel_blob_float_conv, weights_half) == 68 &&
                   sizeof(struct morsel_blob_float_conv) == 72,
               "version 1");
_Static_assert(offsetof(struct morsel_blob_pool, count_include_pad) == 40 && sizeof(struct morsel_blob_pool) == 52, "version 1");

static int string_fits(const struct morsel_check *c, uint32_t offset) {
    return offset < c->header->strings.count; /* the last byte of all strings is 0 */
}

static enum morsel_error check_strings(const struct morsel_check *c) {
    const struct morsel_blob_header *h = c->header;
    const char *strings = morsel_blob_string(c->model, 0);
    if (strings[0] || strings[h->strings.count - 1] || !string_fits(c, h->name)) return MORSEL_ERR_STRING;
    return MORSEL_OK;
}

static enum morsel_error check_label(const struct morsel_check *c, uint32_t index) {
    const uint32_t *labels = morsel_blob_at(c->model, c->header->labels.offset);
    return string_fits(c, labels[index]) ? MORSEL_OK : MORSEL_ERR_STRING;
}

static enum morsel_error check_pair(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_pair *pairs = morsel_blob_at(c->model, c->header->metadata.offset);
    return string_fits(c, pairs[index].key) && string_fits(c, pairs[index].value) ? MORSEL_OK : MORSEL_ERR_STRING;
}

static enum morsel_error check_step_name(const struct morsel_check *c, uint32_t index) {
    return string_fits(c, c->steps[index].name) ? MORSEL_OK : MORSEL_ERR_STRING;
}

/* Elements of dims[0..rank), 0 where a dimension is 0 or the product exceeds 2^31 - 1. */
static uint32_t elements_of(const uint32_t *dims, uint32_t rank) {
    uint32_t n = 1;
    for (uint32_t k = 0; k < rank; k++) n = morsel_product(n, dims[k]);
    return n;
}

static enum morsel_error check_quantization(const struct morsel_blob_tensor *t) {
    if (!morsel_is_byte(t)) return t->scale == 1 && t->zero_point == 0 ? MORSEL_OK : MORSEL_ERR_QUANTIZATION;
    int32_t low = t->type == MORSEL_INT8 ? -128 : 0;
    if (!(t->scale > 0) || !morsel_finite(t->scale)) return MORSEL_ERR_QUANTIZATION;
    return t->zero_point >= low && t->zero_point <= low + 255 ? MORSEL_OK : MORSEL_ERR_QUANTIZATION;
}

static enum morsel_error check_place(const struct morsel_check *c, const struct morsel_blob_tensor *t) {
    const struct morsel_blob_header *h = c->header;
    if (t->place == 1) return morsel_check_data(c, t->offset, t->bytes) ? MORSEL_OK : MORSEL_ERR_CONSTANT;
    if (t->offset % MORSEL_FORMAT_ALIGN || t->offset < h->steps.count * MORSEL_FORMAT_STEP_SLOT) return MORSEL_ERR_PLAN;
    if (t->offset > h->arena_bytes || morsel_slice_bytes(t) > h->arena_bytes - t->offset) return MORSEL_ERR_PLAN;
    return morsel_in_one_part(h, t->offset, morsel_slice_bytes(t)) ? MORSEL_OK : MORSEL_ERR_PLAN;
}

static enum morsel_error check_tensor(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_tensor *t = &c->tensors[index];
    if (!string_fits(c, t->name)) return MORSEL_ERR_STRING;
    if (t->type > MORSEL_FLOAT32 || t->layout > MORSEL_CHANNELS_LAST) return MORSEL_ERR_TENSOR;
    if (t->rank > MORSEL_MAX_RANK || t->place > 1) return MORSEL_ERR_TENSOR;
    uint32_t bytes = morsel_product(elements_of(t->dims, t->rank), morsel_type_bytes(t->type)); /* 0: empty, or too large */
    if (!bytes || bytes != t->bytes) return MORSEL_ERR_SHAPE;
    for (uint32_t k = t->rank; k < MORSEL_MAX_RANK; k++)
        if (t->dims[k] != 1) return MORSEL_ERR_SHAPE;
    if (t->ring_rows && (t->place || t->rank != 4 || t->ring_rows > t->dims[1])) return MORSEL_ERR_SHAPE;
    enum morsel_error error = check_quantization(t);
    return error ? error : check_place(c, t);
}

/* The ONNX shape: N C H W for CHANNELS_LAST N H W C where the ranks agree, else as many elements. */
static int onnx_shape_fits(const struct morsel_blob_tensor *t, const struct morsel_blob_io *io) {
    if (elements_of(io->onnx_dims, io->onnx_rank) != morsel_elements(t)) return 0;
    if (t->layout != MORSEL_CHANNELS_LAST || io->onnx_rank != t->rank || t->rank < 3) return 1;
    if (io->onnx_dims[0] != t->dims[0] || io->onnx_dims[1] != t->dims[t->rank - 1]) return 0;
    for (uint32_t k = 2; k < t->rank; k++)
        if (io->onnx_dims[k] != t->dims[k - 1]) return 0;
    return 1;
}

static enum morsel_error check_io(const struct morsel_check *c, const struct morsel_blob_io *io) {
    if (io->tensor >= c->header->tensors.count || c->tensors[io->tensor].place) return MORSEL_ERR_TENSOR;
    if (io->onnx_type > MORSEL_FLOAT32 || io->onnx_rank > MORSEL_MAX_RANK) return MORSEL_ERR_TENSOR;
    if (!onnx_shape_fits(&c->tensors[io->tensor], io)) return MORSEL_ERR_SHAPE;
    return string_fits(c, io->name) ? MORSEL_OK : MORSEL_ERR_STRING;
}

static enum morsel_error check_input(const struct morsel_check *c, uint32_t index) {
    return check_io(c, (const struct morsel_blob_io *)morsel_blob_at(c->model, c->header->inputs.offset) + index);
}

static enum morsel_error check_output(const struct morsel_check *c, uint32_t index) {
    return check_io(c, (const struct morsel_blob_io *)morsel_blob_at(c->model, c->header->outputs.offset) + index);
}

enum morsel_error morsel_check_records(const struct morsel_check *c) {
    const struct morsel_blob_header *h = c->header;
    enum morsel_error error = check_strings(c);
    if (!error) error = morsel_check_each(c, MORSEL_PART_LABEL, h->labels.count, check_label);
    if (!error && morsel_has_metadata(h)) error = morsel_check_each(c, MORSEL_PART_METADATA, h->metadata.count, check_pair);
    if (!error) error = morsel_check_each(c, MORSEL_PART_STEP, h->steps.count, check_step_name);
    if (!error) error = morsel_check_each(c, MORSEL_PART_TENSOR, h->tensors.count, check_tensor);
    if (!error) error = morsel_check_each(c, MORSEL_PART_INPUT, h->inputs.count, check_input);
    if (!error) error = morsel_check_each(c, MORSEL_PART_OUTPUT, h->outputs.count, check_output);
    return error;
}

static int side_fits(uint32_t side) {
    return side >= 1 && side <= 32768;
}

/* What the rule makes of any picture is as large as the input; without resize and crop the picture itself has to be. */
static int size_fits(const struct morsel_blob_picture *p, uint32_t height, uint32_t width) {
    uint32_t mode = morsel_resize_mode(p);
    if (mode != MORSEL_RESIZE_NONE && (!side_fits(p->resize_height) || !side_fits(p->resize_width))) return 0;
    if (mode == MORSEL_RESIZE_SHORT_SIDE && p->resize_height != p->resize_width) return 0;
    int crops = p->crop_height || p->crop_width;
    if (crops) return mode != MORSEL_RESIZE_LETTERBOX && p->crop_height == height && p->crop_width == width;
    return mode == MORSEL_RESIZE_NONE || (p->resize_height == height && p->resize_width == width);
}

/* Each bit is one that this version of the format has, and that goes with the mode. */
static int resize_fits(const struct morsel_blob_picture *p, uint32_t version) {
    uint32_t mode = morsel_resize_mode(p);
    if (version < 2 && p->resize > MORSEL_RESIZE_SHORT_SIDE) return 0;
    if (mode > MORSEL_RESIZE_LETTERBOX || morsel_resize_filter(p) > MORSEL_FILTER_NEAREST) return 0;
    return mode == MORSEL_RESIZE_LETTERBOX || p->resize < (mode == MORSEL_RESIZE_NONE ? 1 : MORSEL_RESIZE_CORNER);
}

static int numbers_fit(const struct morsel_blob_picture *p) {
    if (!morsel_finite(p->scale)) return 0;
    for (int k = 0; k < 3; k++)
        if (!morsel_finite(p->mean[k]) || !morsel_finite(p->std[k]) || p->std[k] == 0) return 0;
    return 1;
}

enum morsel_error morsel_check_picture(const struct morsel_check *c) {
    const struct morsel_blob_header *h = c->header;
    if (!h->picture.count) return MORSEL_OK;
    const struct morsel_blob_picture *p = morsel_blob_at(c->model, h->picture.offset);
    if (p->input >= h->inputs.count || !resize_fits(p, h->format_version)) return MORSEL_ERR_PICTURE;
    if (p->channels > MORSEL_CHANNELS_GRAY) return MORSEL_ERR_PICTURE;
    const struct morsel_blob_io *io = (const struct morsel_blob_io *)morsel_blob_at(c->model, h->inputs.offset) + p->input;
    const struct morsel_blob_tensor *t = &c->tensors[io->tensor];
    if ((t->rank != 3 && t->rank != 4) || t->type == MORSEL_INT32 || !numbers_fit(p)) return MORSEL_ERR_PICTURE;
    const uint32_t *d = t->dims + (t->rank - 3), channels = p->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    int planes = t->layout == MORSEL_ROW_MAJOR && d[0] == channels && size_fits(p, d[1], d[2]);
    int pixels = d[2] == channels && size_fits(p, d[0], d[1]); /* a row-major N H W C, as Keras exports it, too */
    return planes || pixels ? MORSEL_OK : MORSEL_ERR_PICTURE;
}
