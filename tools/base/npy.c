/* SPDX-License-Identifier: MIT */
/*
 * A file is: \x93NUMPY, a version of two bytes, the header's length (2 bytes in version 1, 4 in 2 and 3, little-endian), the header, the
 * data. The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 224, 224), }
 */
#include "tools/base/npy.h"
#include "tools/base/half.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *descr, *name;
    size_t bytes;
} types[NPY_TYPE_COUNT] = {
    [NPY_UINT8] = {"|u1", "uint8", 1},     [NPY_INT8] = {"|i1", "int8", 1},   [NPY_INT32] = {"<i4", "int32", 4},
    [NPY_FLOAT32] = {"<f4", "float32", 4}, [NPY_INT64] = {"<i8", "int64", 8}, [NPY_FLOAT64] = {"<f8", "float64", 8},
    [NPY_FLOAT16] = {"<f2", "float16", 2},
};

const char *npy_type_name(enum npy_type type) {
    return types[type].name;
}

size_t npy_type_bytes(enum npy_type type) {
    return types[type].bytes;
}

const char *npy_describe(const struct npy *npy, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "%s [", types[npy->type].name);
    for (uint32_t i = 0; i < npy->rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%llu", i ? ", " : "", (unsigned long long)npy->dims[i]);
    if (at < size) snprintf(text + at, size - at, "]");
    return text;
}

static bool wrong(struct failure *failure, const char *what) {
    return failure_set(failure, STATUS_INPUT, "it is not a .npy file that can be read: %s", what);
}

/* What stands behind 'key': in the header, NULL where the key is missing. */
static const char *value_of(const char *header, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (!at) return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at++ != ':') return NULL;
    return at + strspn(at, " ");
}

static bool read_type(const char *header, struct npy *npy, struct failure *failure) {
    const char *descr = value_of(header, "descr");
    if (!descr || *descr != '\'') return wrong(failure, "its header lacks a simple 'descr'");
    descr++;
    size_t length = strcspn(descr, "'");
    if (!strncmp(descr, "|b1'", 4)) descr = "|u1'"; /* truth values are bytes, 0 or 1 */
    for (int i = 0; i < NPY_TYPE_COUNT; i++) {
        bool order_matters = types[i].bytes > 1;
        if (length == 3 && !strncmp(descr + 1, types[i].descr + 1, 2) && (!order_matters || *descr == '<')) {
            npy->type = (enum npy_type)i;
            return true;
        }
    }
    return failure_set(failure, STATUS_INPUT,
                       "it holds the type '%.*s'; taken are little-endian float32, float64, float16, uint8, int8, bool, int32 and int64",
                       length < 20 ? (int)length : 20, descr);
}

static bool read_shape(const char *header, struct npy *npy, struct failure *failure) {
    const char *at = value_of(header, "shape");
    uint64_t count = 1;
    if (!at || *at++ != '(') return wrong(failure, "its header lacks a 'shape'");
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, " ,")) {
        char *end;
        if (!isdigit((unsigned char)*at) || npy->rank == NPY_RANK_MOST)
            return wrong(failure, "its 'shape' is no tuple of up to 16 numbers");
        uint64_t dim = strtoull(at, &end, 10);
        if (dim > INT32_MAX || (dim && count > SIZE_MAX / 8 / dim)) return wrong(failure, "its 'shape' is larger than any memory");
        count *= dim;
        npy->dims[npy->rank++] = dim;
        at = end;
    }
    npy->count = (size_t)count;
    return true;
}

/* Fortran order to row-major: the first index runs fastest in the file. */
static bool to_row_major(struct npy *npy, struct failure *failure) {
    size_t bytes = types[npy->type].bytes;
    uint8_t *file = aligned_alloc(64, (npy->count * bytes + 64) / 64 * 64), *from = npy->data;
    uint64_t at[NPY_RANK_MOST] = {0};
    if (!file) return failure_memory(failure, npy->count * bytes);
    for (size_t i = 0; i < npy->count; i++) {
        size_t to = 0;
        for (uint32_t k = 0; k < npy->rank; k++) to = to * (size_t)npy->dims[k] + (size_t)at[k];
        memcpy(file + to * bytes, from + i * bytes, bytes);
        for (uint32_t k = 0; k < npy->rank && ++at[k] == npy->dims[k]; k++) at[k] = 0;
    }
    file_free(&npy->file);
    npy->file.data = file;
    npy->file.size = npy->count * bytes;
    npy->data = file;
    return true;
}

/* In place of the data, which has half the bytes. */
static bool widen(struct npy *npy, struct failure *failure) {
    size_t bytes = npy->count * sizeof(float);
    float *wide = aligned_alloc(64, (bytes + 64) / 64 * 64);
    const uint16_t *halves = npy->data;
    if (!wide) return failure_memory(failure, bytes);
    for (size_t i = 0; i < npy->count; i++) wide[i] = half_value(halves[i]);
    file_free(&npy->file);
    npy->file.data = (uint8_t *)wide;
    npy->file.size = bytes;
    npy->data = wide;
    npy->type = NPY_FLOAT32;
    return true;
}

/* Whether the header says Fortran order, which for one dimension is no difference. */
static bool is_fortran(const char *header, const struct npy *npy) {
    const char *order = value_of(header, "fortran_order");
    return order && !strncmp(order, "True", 4) && npy->rank > 1;
}

/* Where the data starts, and the header as a string; 0 where the file is damaged. */
static size_t split(const struct file_bytes *file, char **header) {
    const uint8_t *p = file->data;
    if (file->size < 12 || memcmp(p, "\x93NUMPY", 6) || p[6] < 1 || p[6] > 3) return 0;
    size_t length = (size_t)p[8] | (size_t)p[9] << 8, start = 10;
    if (p[6] > 1) {
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
        start = 12;
    }
    if (length > file->size - start || length > 65535) return 0;
    *header = strndup((const char *)p + start, length);
    return start + length;
}

static bool has_bytes(const struct npy *npy, size_t have, struct failure *failure) {
    size_t need = npy->count * types[npy->type].bytes;
    return have == need || failure_set(failure, STATUS_INPUT, "it holds %zu bytes of data where its shape needs %zu", have, need);
}

static bool parse(const char *header, size_t start, struct npy *npy, struct failure *failure) {
    if (!read_type(header, npy, failure) || !read_shape(header, npy, failure)) return false;
    size_t need = npy->count * types[npy->type].bytes;
    if (!has_bytes(npy, npy->file.size - start, failure)) return false;
    /* To the front, so that the elements are aligned. */
    memmove(npy->file.data, npy->file.data + start, need);
    npy->data = npy->file.data;
    return (!is_fortran(header, npy) || to_row_major(npy, failure)) && (npy->type != NPY_FLOAT16 || widen(npy, failure));
}

/* What the first bytes of a file say; `whole` is its size. */
static bool parse_source(const struct file_bytes *front, uint64_t whole, struct npy_source *source, bool *fortran,
                         struct failure *failure) {
    char *header = NULL;
    bool good = false;
    source->start = split(front, &header);
    if (!source->start) wrong(failure, "its first bytes are not a header of version 1, 2 or 3");
    else if (!header) failure_memory(failure, source->start);
    else
        good = read_type(header, &source->array, failure) && read_shape(header, &source->array, failure) &&
               has_bytes(&source->array, (size_t)whole - source->start, failure);
    *fortran = good && is_fortran(header, &source->array);
    free(header);
    return good;
}

static bool open_source(const char *path, struct npy_source *source, bool *fortran, struct failure *failure) {
    enum { FRONT = 65536 + 16 };
    struct file_bytes front = {malloc(FRONT), 0};
    uint64_t whole;
    *source = (struct npy_source){0};
    if (!front.data) return failure_memory(failure, FRONT);
    bool good = file_read_part(path, 0, front.data, FRONT, &front.size, &whole, failure);
    if (good && !(good = parse_source(&front, whole, source, fortran, failure))) failure_prefix(failure, path);
    free(front.data);
    return good;
}

/* Whether it has the header and the size of an array, so that none but such is read whole. A pipe tells neither ahead. */
static bool is_array(const char *path, struct failure *failure) {
    struct npy_source source;
    struct failure piped;
    bool fortran;
    return !file_is_plain(path, &piped) || open_source(path, &source, &fortran, failure);
}

bool npy_read(const char *path, struct npy *npy, struct failure *failure) {
    char *header = NULL;
    memset(npy, 0, sizeof *npy);
    if (!is_array(path, failure) || !file_read(path, SIZE_MAX / 4, &npy->file, failure)) return false;
    size_t start = split(&npy->file, &header);
    bool good = false;
    if (!start) wrong(failure, "its first bytes are not a header of version 1, 2 or 3");
    else if (!header) failure_memory(failure, start);
    else good = parse(header, start, npy, failure);
    free(header);
    if (!good) {
        npy_free(npy);
        failure_prefix(failure, path);
    }
    return good;
}

void npy_free(struct npy *npy) {
    file_free(&npy->file);
    npy->data = NULL;
}

/* --- Arrays that stay in their files --- */

bool npy_open(const char *path, struct npy_source *source, struct failure *failure) {
    bool fortran;
    return open_source(path, source, &fortran, failure) && (!fortran || npy_read(path, &source->array, failure));
}

void npy_close(struct npy_source *source) {
    npy_free(&source->array);
}

static float float_at(enum npy_type type, const uint8_t *at) {
    double wide;
    int64_t integer;
    int32_t word;
    float number;
    uint16_t half;
    switch (type) {
    case NPY_UINT8: return (float)*at;
    case NPY_INT8: return (float)(int8_t)*at;
    case NPY_INT32: memcpy(&word, at, sizeof word); return (float)word;
    case NPY_INT64: memcpy(&integer, at, sizeof integer); return (float)integer;
    case NPY_FLOAT64: memcpy(&wide, at, sizeof wide); return (float)wide;
    case NPY_FLOAT16: memcpy(&half, at, sizeof half); return half_value(half);
    default: memcpy(&number, at, sizeof number); return number;
    }
}

bool npy_floats(const char *path, const struct npy_source *source, size_t first, size_t count, float *out, struct failure *failure) {
    enum { BYTES = 1 << 16 };
    size_t width = types[source->array.type].bytes, got;
    const uint8_t *whole = source->array.data;
    for (size_t i = 0; whole && i < count; i++) out[i] = float_at(source->array.type, whole + (first + i) * width);
    uint8_t *part = whole ? NULL : malloc(BYTES);
    bool good = whole || part || failure_memory(failure, BYTES);
    for (size_t at = 0; part && good && at < count; at += BYTES / width) {
        size_t n = count - at < BYTES / width ? count - at : BYTES / width;
        good = file_read_part(path, source->start + (first + at) * width, part, n * width, &got, NULL, failure) &&
               (got == n * width || failure_set(failure, STATUS_INPUT, "%s has become shorter meanwhile", path));
        for (size_t i = 0; good && i < n; i++) out[at + i] = float_at(source->array.type, part + i * width);
    }
    free(part);
    return good;
}

/* The header of version 1, padded with spaces so that the data starts at a multiple of 64. */
static size_t make_header(enum npy_type type, const uint64_t *dims, uint32_t rank, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", types[type].descr);
    for (uint32_t i = 0; i < rank; i++)
        at += (size_t)snprintf(text + at, size - at, "%llu%s", (unsigned long long)dims[i], rank == 1 || i + 1 < rank ? ", " : "");
    at += (size_t)snprintf(text + at, size - at, "), }");
    while ((10 + at + 1) % 64) text[at++] = ' ';
    text[at++] = '\n';
    return at;
}

uint8_t *npy_pack(enum npy_type type, const uint64_t *dims, uint32_t rank, const void *data, size_t *size, struct failure *failure) {
    char header[512];
    size_t length = make_header(type, dims, rank, header, sizeof header), bytes = types[type].bytes;
    for (uint32_t i = 0; i < rank; i++) bytes *= (size_t)dims[i];
    *size = 10 + length + bytes;
    uint8_t *file = malloc(*size);
    if (!file) {
        failure_memory(failure, *size);
        return NULL;
    }
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (uint8_t)length;
    file[9] = (uint8_t)(length >> 8);
    memcpy(file + 10, header, length);
    if (bytes) memcpy(file + 10 + length, data, bytes);
    return file;
}

bool npy_write(const char *path, enum npy_type type, const uint64_t *dims, uint32_t rank, const void *data, struct failure *failure) {
    size_t size;
    uint8_t *file = npy_pack(type, dims, rank, data, &size, failure);
    bool good = file && file_write(path, file, size, failure);
    free(file);
    return good;
}
