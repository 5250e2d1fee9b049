/* SPDX-License-Identifier: MIT */
/* Tables of names in order, and the hash of the others. */
#include "tools/onnx/internal.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

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

/*
 * SipHash-1-3 with a key of this process: names that all meet in one slot, and cost the square of their number, cannot be chosen ahead.
 * What is made of a file does not depend on it: tables are looked up, never read in their order.
 */
static uint64_t key[2];
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void make_key(void) {
    if (getentropy(key, sizeof key)) key[0] = (uint64_t)(uintptr_t)malloc, key[1] = (uint64_t)(uintptr_t)&key; /* better than none */
}

static uint64_t turned(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4]) {
    v[0] += v[1], v[1] = turned(v[1], 13) ^ v[0], v[0] = turned(v[0], 32);
    v[2] += v[3], v[3] = turned(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = turned(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = turned(v[1], 17) ^ v[2], v[2] = turned(v[2], 32);
}

size_t onnx_hash_name(const char *name) {
    pthread_once(&key_once, make_key);
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    size_t left = strlen(name);
    uint64_t word = (uint64_t)left << 56, last = 0;
    for (; left >= 8; left -= 8, name += 8) {
        uint64_t eight;
        memcpy(&eight, name, 8);
        v[3] ^= eight, mix(v), v[0] ^= eight;
    }
    memcpy(&last, name, left);
    word |= last;
    v[3] ^= word, mix(v), v[0] ^= word, v[2] ^= 0xff;
    mix(v), mix(v), mix(v);
    return (size_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}
