/* SPDX-License-Identifier: MIT */
/* What readers of JSON files have in common: parsing, and what is said of keys. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_RULE_JSON_H
#define MORSEL_TOOLS_SAMPLES_RULES_RULE_JSON_H

#include "tools/base/failure.h"
#include "tools/base/file.h"
#include <cjson/cJSON.h>
#include <stdint.h>

/* The whole file as one JSON value, for cJSON_Delete(); NULL: `failure` names the line. */
cJSON *rule_parse(const struct file_bytes *file, struct failure *failure);

/* Every key is one of `keys` (ended by NULL) and stands once. */
bool rule_keys(const cJSON *object, const char *const *keys, struct failure *failure);

/* NULL: "key is missing". */
const cJSON *rule_member(const cJSON *object, const char *key, struct failure *failure);

/* Whether it is a whole number from `least` to `most`. */
bool rule_whole(const cJSON *item, double least, double most, uint32_t *out);

/* Always false; status 1. */
bool rule_wrong(struct failure *failure, const char *what);

#endif
