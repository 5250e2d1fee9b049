/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a NumPy file, read whole and in parts. Links the tool's files.
 *
 *     fuzz_npy [--runs N] [--seconds N] [--seed N] [X.npy...]        (driver.c has the rest of the command line)
 */
#include "as_file.h"
#include "fuzz.h"
#include "tools/base/npy.h"

#include <string.h>

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static const char *const types[] = {"|u1", "|i1", "<i4", "<f4", "<i8", "<f8", ">f4", "<f2", "|b1", "<U3"};
    static const char *const shapes[] = {
        "()", "(3,)", "(1, 3, 4, 4)", "(2, 0)", "(65536, 65536)", "(99999999999999999999,)", "(-1,)", "(1,1,1,1,1,1,1,1,)"};
    uint64_t state = seed;
    char header[256];
    int version = (int)fuzz_between(&state, 1, 3), prefix = version == 1 ? 10 : 12;
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", types[fuzz_below(&state, 10)],
                          fuzz_below(&state, 4) ? "False" : "True", shapes[fuzz_below(&state, 8)]);
    int padded = (prefix + length + 1 + 63) / 64 * 64 - prefix;
    size_t size = (size_t)(prefix + padded) + fuzz_below(&state, 400);
    if (size > capacity) return 0;
    memset(bytes, ' ', size);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    memset(bytes + 7, 0, (size_t)prefix - 7);
    bytes[8] = (uint8_t)padded;
    bytes[9] = (uint8_t)(padded >> 8);
    memcpy(bytes + prefix, header, (size_t)length);
    bytes[prefix + padded - 1] = '\n';
    return size;
}

/* Read in parts, as floats: the file that is whole is so here. */
static void read_parts(const char *path, const struct npy *npy) {
    enum { MOST = 1 << 16 };
    static float values[MOST];
    struct failure failure = {0};
    struct npy_source source;
    size_t count = npy->count < MOST ? npy->count : MOST, first = npy->count - count;
    if (!npy_open(path, &source, &failure)) abort();
    if (source.array.count != npy->count || source.array.rank != npy->rank) abort();
    if (!npy_floats(path, &source, first, count, values, &failure)) abort();
    for (size_t i = 0; npy->type == NPY_FLOAT32 && source.array.type == NPY_FLOAT32 && i < count; i++)
        if (memcmp(&values[i], (const float *)npy->data + first + i, sizeof(float))) abort();
    npy_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct failure failure = {0};
    struct npy npy = {0};
    struct npy_source source;
    const char *path = as_file(bytes, size);
    char text[200];
    volatile uint8_t sum = 0;
    if (npy_read(path, &npy, &failure)) {
        npy_describe(&npy, text, sizeof text);
        for (size_t i = 0; i < npy.count * npy_type_bytes(npy.type); i++) sum = (uint8_t)(sum + ((const uint8_t *)npy.data)[i]);
        read_parts(path, &npy);
        npy_free(&npy);
        return 0;
    }
    if (!failure.text[0] || !failure.status) abort();
    if (npy_open(path, &source, &failure)) npy_close(&source);
    return 0;
}
