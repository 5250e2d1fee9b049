/* SPDX-License-Identifier: MIT */
/* Weights in a file of their own. A model names that file, so it is only followed inside the model's own folder. */
#include "tools/onnx/internal.h"
#include "tools/base/arena.h"
#include "tools/base/text.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Tensors may share a range. What they read together is bounded by what is there to be read, each file counted once. */
enum { BYTES_FOR_ANY = 64 << 20, BYTES_FOR_EACH = 16 };

struct place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
};

static bool read_number(const char *text, uint64_t *number) {
    if (*text < '0' || *text > '9') return false;
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && !*end && *number <= INT64_MAX;
}

static bool read_place(const Onnx__Tensor *tensor, struct place *place, struct failure *failure) {
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const char *key = tensor->external_data[i]->key, *value = tensor->external_data[i]->value;
        bool good = true;
        if (!strcmp(key, "location")) place->location = value;
        else if (!strcmp(key, "offset")) good = read_number(value, &place->offset);
        else if (!strcmp(key, "length")) good = place->has_length = read_number(value, &place->length);
        if (!good)
            return failure_set(failure, STATUS_INPUT, "tensor '%s': external data has %s '%.40s', which is no number", tensor->name, key,
                               value);
    }
    if (!place->location || !*place->location)
        return failure_set(failure, STATUS_INPUT, "tensor '%s': its external data names no file", tensor->name);
    return true;
}

static bool climbs(const char *location) {
    for (const char *part = location; part; part = strchr(part, '/'), part = part ? part + 1 : NULL)
        if (part[0] == '.' && part[1] == '.' && (!part[2] || part[2] == '/')) return true;
    return false;
}

/* The real path of the file, malloc'ed, if it lies inside the folder also after symbolic links. */
static char *resolve(const Onnx__Tensor *tensor, const char *folder, const char *location, struct failure *failure) {
    char *path = NULL, *root = realpath(folder, NULL), *real = NULL;
    path = must_have(asprintf(&path, "%s%s", folder, location) < 0 ? NULL : path, strlen(folder) + strlen(location));
    if (root) real = realpath(path, NULL);
    size_t length = root ? strlen(root) : 0;
    if (!real)
        failure_set(failure, failure_status(errno), "tensor '%s': its external data file '%.100s' cannot be found beside the model: %s",
                    tensor->name, location, strerror(errno));
    else if (strncmp(real, root, length) || (real[length] != '/' && length > 1)) {
        failure_set(failure, STATUS_INPUT, "tensor '%s': its external data file '%.100s' lies outside the model's folder", tensor->name,
                    location);
        free(real);
        real = NULL;
    }
    free(path);
    free(root);
    return real;
}

/* The slot where the path is or would be; the table is never full. */
static const char **slot_of(const struct onnx_external *external, const char *path) {
    size_t i = text_hash(path) & (external->slot_count - 1);
    while (external->slots[i] && strcmp(external->slots[i], path)) i = (i + 1) & (external->slot_count - 1);
    return &external->slots[i];
}

/* Room for half as many files as there are slots. */
static void grow(struct onnx_graph *graph) {
    struct onnx_external *external = &graph->memory->external;
    const char **files;
    external->slot_count = external->slot_count ? 2 * external->slot_count : 16;
    external->slots = onnx_alloc(graph, external->slot_count * sizeof *external->slots);
    files = onnx_alloc(graph, external->slot_count / 2 * sizeof *files);
    for (size_t i = 0; i < graph->file_count; i++) *slot_of(external, graph->files[i]) = files[i] = graph->files[i];
    graph->files = files;
}

/* The graph knows which files it was read from, and how much there is. */
static void remember(struct onnx_graph *graph, const char *path, uint64_t bytes) {
    struct onnx_external *external = &graph->memory->external;
    if (2 * graph->file_count >= external->slot_count) grow(graph);
    const char **slot = slot_of(external, path);
    if (*slot) return;
    *slot = graph->files[graph->file_count++] = onnx_text(graph, "%s", path);
    external->there += bytes;
}

/* A piece that leaves its file is refused before memory is taken; so are pieces that are far more than their files together. */
static bool check_piece(struct onnx_graph *graph, const Onnx__Tensor *tensor, const struct place *place, uint64_t whole, size_t size,
                        struct failure *failure) {
    struct onnx_external *external = &graph->memory->external;
    if (place->offset > whole || size > whole - place->offset)
        return failure_set(failure, STATUS_INPUT,
                           "tensor '%s': external data file '%.100s' has %" PRIu64 " bytes, but %zu bytes from %" PRIu64
                           " on are asked for",
                           tensor->name, place->location, whole, size, place->offset);
    external->taken += size;
    if (external->taken / BYTES_FOR_EACH <= external->there || external->taken <= BYTES_FOR_ANY) return true;
    return failure_set(failure, STATUS_INPUT,
                       "tensor '%s': with it, tensors take %" PRIu64 " bytes from external data of %" PRIu64
                       "; over %d times the files is too much: let tensors of one range be one initializer",
                       tensor->name, external->taken, external->there, BYTES_FOR_EACH);
}

/* Reads exactly `size` bytes. */
static void *read_piece(struct onnx_graph *graph, const Onnx__Tensor *tensor, const char *path, const struct place *place, size_t size,
                        struct failure *failure) {
    struct stat info = {0};
    bool regular = !stat(path, &info) && S_ISREG(info.st_mode); /* asked first: opening a pipe would wait */
    FILE *file = regular ? fopen(path, "rb") : NULL;
    void *data = NULL;
    if (file) remember(graph, path, (uint64_t)info.st_size);
    if (!file)
        failure_set(failure, regular ? failure_status(errno) : STATUS_INPUT,
                    "tensor '%s': its external data file '%.100s' cannot be read%s%s", tensor->name, place->location, regular ? ": " : "",
                    regular ? strerror(errno) : "");
    else if (!check_piece(graph, tensor, place, (uint64_t)info.st_size, size, failure)) data = NULL;
    else if (!(data = arena_try(&graph->memory->arena, size)))
        failure_set(failure, STATUS_SYSTEM, "tensor '%s': no memory for %zu bytes", tensor->name, size);
    else if (fseeko(file, (off_t)place->offset, SEEK_SET) || fread(data, 1, size, file) != size) {
        failure_set(failure, STATUS_INPUT, "tensor '%s': its external data file '%.100s' cannot be read", tensor->name, place->location);
        data = NULL;
    }
    if (file) fclose(file);
    return data;
}

void *onnx_read_external(struct onnx_graph *graph, const Onnx__Tensor *tensor, const char *folder, size_t size, struct failure *failure) {
    struct place place = {0};
    if (!read_place(tensor, &place, failure)) return NULL;
    if (place.location[0] == '/' || strchr(place.location, '\\') || climbs(place.location)) {
        failure_set(failure, STATUS_INPUT, "tensor '%s': its external data file '%.100s' must lie in the model's folder", tensor->name,
                    place.location);
        return NULL;
    }
    if (place.has_length && place.length != size) {
        failure_set(failure, STATUS_INPUT, "tensor '%s' has %zu bytes but its external data %" PRIu64, tensor->name, size, place.length);
        return NULL;
    }
    char *path = resolve(tensor, folder, place.location, failure);
    void *data = path ? read_piece(graph, tensor, path, &place, size, failure) : NULL;
    free(path);
    return data;
}
