/* SPDX-License-Identifier: MIT */
/* What errors say in words, and which version of the library this is. */
#include "morsel.h"

static const char *const texts[MORSEL_ERR_COUNT] = {
    [MORSEL_OK] = "no error",
    [MORSEL_ERR_ARGUMENT] = "a null pointer; no such index or name; a size out of range; a model that is not open; no view",
    [MORSEL_ERR_ALIGNMENT] = "the blob or the arena does not start at a multiple of 64 bytes",
    [MORSEL_ERR_ENDIAN] = "this machine is big-endian; blobs are little-endian",
    [MORSEL_ERR_TRUNCATED] = "cut short, or no blob: fewer bytes than a header, or than it says",
    [MORSEL_ERR_MAGIC] = "not a Morsel blob",
    [MORSEL_ERR_VERSION] = "a blob of a format version that this library does not know",
    [MORSEL_ERR_CHECKSUM] = "the blob is damaged: its bytes do not match its checksum",
    [MORSEL_ERR_HEADER] = "the blob's header has a count or a field out of range",
    [MORSEL_ERR_SECTION] = "a section lies outside the blob or is misaligned",
    [MORSEL_ERR_STRING] = "a name or a label lies outside the strings or does not end",
    [MORSEL_ERR_TENSOR] = "a tensor has an unknown type, layout, rank or place",
    [MORSEL_ERR_SHAPE] = "a tensor's dimensions are zero, too large, or differ from its bytes",
    [MORSEL_ERR_QUANTIZATION] = "a scale is not positive and finite, or a zero point is outside its type",
    [MORSEL_ERR_STEP] = "an unknown step, or one with the wrong number or types of tensors",
    [MORSEL_ERR_PARAMETER] = "a step's parameters do not fit its tensors",
    [MORSEL_ERR_CONSTANT] = "weights or a table lie outside the blob's data, are misaligned or hold bad values",
    [MORSEL_ERR_ORDER] = "a step reads a tensor that no step before it has written",
    [MORSEL_ERR_PLAN] = "an arena slice lies outside the arena, or two live ones overlap",
    [MORSEL_ERR_PICTURE] = "the blob has no picture rule, or one that does not fit its input",
    [MORSEL_ERR_ARENA] = "the arena is too small: morsel_arena_bytes() says what it needs",
    [MORSEL_ERR_SCRATCH] = "the scratch memory is too small: morsel_picture_bytes() or morsel_frame_bytes() says what it needs",
    [MORSEL_ERR_CAPACITY] = "a buffer holds less than a view (morsel_view_elements()), picture or text",
    [MORSEL_ERR_TEXT] = "the blob has no text rule, or a damaged one",
    [MORSEL_ERR_ANSWER] = "the blob has no answer rule of this kind, or one that does not fit its outputs",
    [MORSEL_ERR_OPTIONS] = "options without their size, or with fields or flags of a newer library",
};

const char *morsel_error_text(enum morsel_error error) {
    if ((unsigned)error >= MORSEL_ERR_COUNT) return "an unknown error";
    return texts[error];
}

const char *morsel_version(void) {
    return MORSEL_VERSION;
}

uint32_t morsel_version_number(void) {
    return MORSEL_VERSION_NUMBER;
}
