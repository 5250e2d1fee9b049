/* SPDX-License-Identifier: MIT */
/* JSON by cJSON, and its mistakes in words. */
#include "tools/samples/rules/rule_json.h"
#include "tools/base/message.h"
#include <math.h>
#include <stdio.h>
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

/* Where the text stops being JSON. A quotient is what comes to mind for a scale of 1/255. */
static void place_wrong(const char *text, const char *at, struct failure *failure) {
    int line = 1, used = 0;
    double over = 0, under = 0;
    const char *start = text, *number = at;
    for (const char *c = text; c < at; c++)
        if (*c == '\n') line++, start = c + 1;
    while (number > start && strchr("0123456789.", number[-1])) number--;
    failure_set(failure, STATUS_INPUT, "line %d is not JSON, from column %d on", line, (int)(at - start) + 1);
    size_t length = strlen(failure->text);
    if (*at == '/' && sscanf(number, "%lf/%lf%n", &over, &under, &used) == 2 && under != 0)
        snprintf(failure->text + length, sizeof failure->text - length, ": JSON does not divide; write %.15g for %.*s", over / under,
                 used < 40 ? used : 40, number);
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
    place_wrong(text, end ? end : text, failure);
    return NULL;
}
