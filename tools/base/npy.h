/* SPDX-License-Identifier: MIT */
/* NumPy's .npy files, versions 1 to 3. */
#ifndef MORSEL_TOOLS_BASE_NPY_H
#define MORSEL_TOOLS_BASE_NPY_H

#include "tools/base/file.h"

enum { NPY_RANK_MOST = 16 };

enum npy_type { NPY_UINT8, NPY_INT8, NPY_INT32, NPY_FLOAT32, NPY_INT64, NPY_FLOAT64, NPY_FLOAT16, NPY_TYPE_COUNT };

struct npy {
    enum npy_type type;
    uint32_t rank;
    uint64_t dims[NPY_RANK_MOST];
    size_t count; /* elements */
    void *data;   /* row-major, little-endian */
    struct file_bytes file;
};

/* What holds float16 becomes float32. */
bool npy_read(const char *path, struct npy *npy, struct failure *failure);
void npy_free(struct npy *npy);

/* An array that stays in its file, of which parts are read: memory does not grow with it. */
struct npy_source {
    struct npy array; /* without data, but for one in Fortran order, which is read whole */
    size_t start;     /* where the data begins in the file */
};
bool npy_open(const char *path, struct npy_source *source, struct failure *failure);
void npy_close(struct npy_source *source);

/* Elements first .. first + count - 1 of the array in `path` as floats, rounded where the type holds more. Any thread may ask. */
bool npy_floats(const char *path, const struct npy_source *source, size_t first, size_t count, float *out, struct failure *failure);

/* The bytes of a file of row-major data, for free(); NULL: no memory. */
uint8_t *npy_pack(enum npy_type type, const uint64_t *dims, uint32_t rank, const void *data, size_t *size, struct failure *failure);
/* Writes it, whole or not at all. */
bool npy_write(const char *path, enum npy_type type, const uint64_t *dims, uint32_t rank, const void *data, struct failure *failure);

const char *npy_type_name(enum npy_type type); /* "float32" */
size_t npy_type_bytes(enum npy_type type);

/* "float32 [1, 3, 224, 224]" */
const char *npy_describe(const struct npy *npy, char *text, size_t size);

#endif
