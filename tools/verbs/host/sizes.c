/* SPDX-License-Identifier: MIT */
/* Reads --shape and --dim. */
#include "tools/verbs/host/sizes.h"
#include "tools/base/arena.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "name=1,3,32,32" */
struct given {
    const char *text;
    size_t name; /* bytes of it */
    size_t count;
    int64_t numbers[MORSEL_FORMAT_MAX_VARIANTS];
};

static bool read_given(const char *text, bool is_dim, struct given *given, struct failure *failure) {
    const char *equals = strrchr(text, '='), *at = equals ? equals + 1 : NULL;
    const char *form = is_dim ? "--dim NAME=N or NAME=N,N,.." : "--shape NAME=1,3,224,224";
    size_t most = is_dim ? MORSEL_FORMAT_MAX_VARIANTS : ONNX_MAX_RANK;
    if (!equals || equals == text) return failure_set(failure, STATUS_CALL, "'%s' is not of the form %s", text, form);
    *given = (struct given){.text = text, .name = (size_t)(equals - text)};
    for (;; at++) {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (given->count == most) return failure_set(failure, STATUS_CALL, "'%s' has more than %zu numbers", text, most);
        if (end == at || errno || n < 1 || n > INT32_MAX || (*end && *end != ','))
            return failure_set(failure, STATUS_CALL, "'%s' is not of the form %s, with whole numbers from 1 on", text, form);
        given->numbers[given->count++] = n;
        at = end;
        if (!*end) return true;
    }
}

/* All lists are equally long. */
static bool count_variants(const struct given *dims, size_t count, struct sizes *sizes, struct failure *failure) {
    const struct given *first = NULL;
    sizes->count = 1;
    for (size_t i = 0; i < count; i++) {
        if (dims[i].count == 1) continue;
        if (first && dims[i].count != first->count)
            return failure_set(failure, STATUS_CALL, "--dim %s and --dim %s: lists go together, number by number, and are equally long",
                               first->text, dims[i].text);
        first = &dims[i];
        sizes->count = (uint32_t)first->count;
    }
    return true;
}

/* How much larger than another variant it is, by what the two have in lists. */
static double volume(const struct given *dims, size_t count, uint32_t variant) {
    double product = 1;
    for (size_t i = 0; i < count; i++)
        if (dims[i].count > 1) product *= (double)dims[i].numbers[variant];
    return product;
}

/* order[k]: which of the given numbers variant k has. Equal ones stay as they were given. */
static bool put_in_order(const struct given *dims, size_t count, uint32_t variants, uint32_t *order, struct failure *failure) {
    for (uint32_t k = 0; k < variants; k++) {
        uint32_t at = k;
        for (; at && volume(dims, count, order[at - 1]) < volume(dims, count, k); at--) order[at] = order[at - 1];
        order[at] = k;
    }
    for (uint32_t k = 1; k < variants; k++)
        for (uint32_t j = 0; j < k; j++) {
            bool same = true;
            for (size_t i = 0; i < count; i++) same = same && (dims[i].count == 1 || dims[i].numbers[k] == dims[i].numbers[j]);
            if (same) return failure_set(failure, STATUS_CALL, "--dim %s: a size is given twice", dims[0].text);
        }
    return true;
}

static void bind(struct sizes *sizes, size_t index, const struct given *given, bool is_dim, const uint32_t *order) {
    char *name = sizes->names[index] = must_calloc(given->name + 1, 1);
    memcpy(name, given->text, given->name);
    sizes->listed[index] = is_dim && given->count > 1;
    for (uint32_t k = 0; k < sizes->count; k++) {
        struct onnx_binding *b = &sizes->bindings[k * sizes->binding_count + index];
        *b = (struct onnx_binding){.name = name, .is_dim = is_dim, .shape.rank = is_dim ? 1 : (int)given->count};
        for (int i = 0; i < b->shape.rank; i++) b->shape.dims[i] = given->numbers[sizes->listed[index] ? order[k] : (uint32_t)i];
    }
}

bool sizes_read(const struct option_texts *shapes, const struct option_texts *dims, struct sizes *sizes, struct failure *failure) {
    size_t shape_count = (size_t)shapes->count, dim_count = (size_t)dims->count, all = shape_count + dim_count;
    uint32_t order[MORSEL_FORMAT_MAX_VARIANTS];
    struct given *given = must_calloc(all + 1, sizeof *given);
    bool good = true;
    for (size_t i = 0; good && i < all; i++)
        good = read_given(i < shape_count ? shapes->values[i] : dims->values[i - shape_count], i >= shape_count, &given[i], failure);
    good = good && count_variants(given + shape_count, dim_count, sizes, failure) &&
           put_in_order(given + shape_count, dim_count, sizes->count, order, failure);
    if (good) {
        sizes->binding_count = all;
        sizes->bindings = must_calloc(sizes->count * (all + 1), sizeof *sizes->bindings);
        sizes->listed = must_calloc(all + 1, sizeof *sizes->listed);
        sizes->names = must_calloc(all + 1, sizeof *sizes->names);
        for (size_t i = 0; i < all; i++) bind(sizes, i, &given[i], i >= shape_count, order);
    }
    free(given);
    return good;
}

const char *sizes_text(const struct sizes *sizes, uint32_t variant, char *text, size_t size) {
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < sizes->binding_count && at < size; i++) {
        const struct onnx_binding *b = &sizes->bindings[variant * sizes->binding_count + i];
        if (!sizes->listed[i]) continue;
        at += (size_t)snprintf(text + at, size - at, "%s%.100s=%" PRId64, at ? " " : "", b->name, b->shape.dims[0]);
    }
    return text;
}

void sizes_free(struct sizes *sizes) {
    for (size_t i = 0; sizes->names && i < sizes->binding_count; i++) free(sizes->names[i]);
    free(sizes->names);
    free(sizes->listed);
    free(sizes->bindings);
    *sizes = (struct sizes){0};
}
