/* SPDX-License-Identifier: MIT */
/* Tables of names in order. */
#include "tools/onnx/internal.h"
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b) {
    const struct onnx_name *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int compare_name(const void *name, const void *row) {
    return strcmp(name, ((const struct onnx_name *)row)->name);
}

size_t onnx_sort_names(struct onnx_name *names, size_t count) {
    size_t kept = 0;
    if (count) qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp(names[kept - 1].name, names[i].name)) names[kept++] = names[i];
    return kept;
}

const struct onnx_name *onnx_find_name(const struct onnx_name *names, size_t count, const char *name) {
    return count ? bsearch(name, names, count, sizeof *names, compare_name) : NULL;
}
