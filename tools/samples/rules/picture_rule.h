/* SPDX-License-Identifier: MIT */
/* The two small files that `morsel convert` takes beside the network: the picture rule and the labels. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_PICTURE_RULE_H
#define MORSEL_TOOLS_SAMPLES_RULES_PICTURE_RULE_H

#include "core/format.h"
#include "tools/base/failure.h"
#include <stdbool.h>
#include <stddef.h>

#define PICTURE_RULE_EXAMPLE \
    "{\"resize\": {\"mode\": \"short_side\", \"size\": 256}, \"crop\": [224, 224], \"channels\": \"RGB\",\n" \
    " \"scale\": 0.00392156862745098, \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}"

/* Reads a picture rule (JSON) for input 0. False: `failure` says what is wrong and where, in one line that names the file. */
bool picture_rule_read(const char *path, struct morsel_blob_picture *out, struct failure *failure);

/* Reads labels: a JSON array of strings, or a text file with one a line. They go with labels_free(). */
bool labels_read(const char *path, char ***labels, size_t *count, struct failure *failure);
void labels_free(char **labels, size_t count);

#endif
