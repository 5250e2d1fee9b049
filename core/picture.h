/* SPDX-License-Identifier: MIT */
/* What morsel_picture() does, by a rule that need not stand in a blob. */
#ifndef MORSEL_PICTURE_H
#define MORSEL_PICTURE_H

#include "format.h"
#include "morsel.h"

/* Scratch for pictures of this size; 0: the rule does not go with it. */
size_t morsel_rule_bytes(const struct morsel_blob_picture *rule, uint32_t width, uint32_t height);

/* As morsel_picture(). No rule: MORSEL_ERR_PICTURE. */
enum morsel_error morsel_picture_by_rule(const struct morsel_blob_picture *rule, const uint8_t *rgb, size_t rgb_bytes, uint32_t width,
                                         uint32_t height, size_t stride, void *scratch, size_t scratch_bytes,
                                         const struct morsel_view *view, uint32_t image);

#endif
