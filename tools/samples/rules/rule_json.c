/* SPDX-License-Identifier: MIT */
/* JSON by cJSON, and its mistakes in words. */
#include "tools/samples/rules/rule_json.h"
#include "tools/base/message.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool rule_wrong(struct failure *failure, const char *what) {
    return failure_set(failure, STATUS_INPUT, "%s", what);
}

bool rule_keys(const cJSON *object, const char *const *keys, struct failure *failure) {
    for (const cJSON *item = object->child; item; item = item->next) {
        const char *const *key = keys;
        while (*key && strcmp(*key, item->string)) key++;
        if (!*key) {
            const char *near = message_nearest(item->string, keys);
            return failure_set(failure, STATUS_INPUT, "key \"%s\" is unknown%s%s%s", item->string, near ? "; did you mean \"" : "",
                               near ? near : "", near ? "\"?" : "");
        }
        for (const cJSON *other = item->next; other; other = other->next)
            if (!strcmp(other->string, item->string)) return failure_set(failure, STATUS_INPUT, "key \"%s\" stands twice", item->string);
    }
    return true;
}

const cJSON *rule_member(const cJSON *object, const char *key, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item) failure_set(failure, STATUS_INPUT, "key \"%s\" is missing", key);
    return item;
}

bool rule_whole(const cJSON *item, double least, double most, uint32_t *out) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most) ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (uint32_t)item->valuedouble;
    return true;
}

/* cJSON gives NULL for what is no JSON and for want of memory alike. */
static size_t lacking;

static void *take(size_t size) {
    void *memory = malloc(size);
    if (!memory) lacking = size;
    return memory;
}

cJSON *rule_parse(const struct file_bytes *file, struct failure *failure) {
    const char *end = NULL, *text = (const char *)file->data;
    lacking = 0;
    cJSON_InitHooks(&(cJSON_Hooks){take, free});
    cJSON *root = cJSON_ParseWithLengthOpts(text, file->size + 1, &end, 1);
    if (root) return root;
    if (lacking) {
        failure_memory(failure, lacking);
        return NULL;
    }
    int line = 1;
    for (const char *at = text; end && at < end; at++) line += *at == '\n';
    failure_set(failure, STATUS_INPUT, "line %d is not JSON", line);
    return NULL;
}
