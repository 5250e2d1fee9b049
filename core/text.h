/* SPDX-License-Identifier: MIT */
/* What morsel_text() does, by a rule that need not stand in a blob. */
#ifndef MORSEL_TEXT_H
#define MORSEL_TEXT_H

#include "format.h"
#include "morsel.h"

/* A rule whose counts and ids are sound. What its arrays hold is not looked at: whatever it is, nothing outside them is read. */
struct morsel_text_rule {
    const struct morsel_blob_text *record;
    const uint32_t *starts, *actions, *points, *begins, *ids;
    const uint8_t *strings;
};

/* Of `count` words that begin with struct morsel_blob_text. */
enum morsel_error morsel_text_open(struct morsel_text_rule *rule, const uint32_t *words, size_t count);

/* Of an open model. */
enum morsel_error morsel_text_find(struct morsel_text_rule *rule, const struct morsel_model *model);

/* As morsel_text(); with no `ids` they are only counted. */
enum morsel_error morsel_text_by_rule(const struct morsel_text_rule *rule, const char *utf8, size_t bytes, int32_t *ids, size_t capacity,
                                      uint32_t *count);

#endif
