/* SPDX-License-Identifier: MIT */
/* What a tokenizer asks of code points, as unicode.txt holds it; and what becomes of each by the options of BERT's normalizer. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_UNICODE_H
#define MORSEL_TOOLS_SAMPLES_RULES_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

struct unicode_options {
    bool clean, ideographs, strip, lower;
};

/* The table of struct morsel_blob_text (core/format.h). */
struct unicode_table {
    uint32_t *starts, *actions, *points;
    uint32_t ranges, point_count;
};

/* Goes with unicode_free(). */
void unicode_table(const struct unicode_options *options, struct unicode_table *out);
void unicode_free(struct unicode_table *table);

#endif
