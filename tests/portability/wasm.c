/* SPDX-License-Identifier: MIT */
/* WebAssembly without a C library: what the library wants of <string.h>. put() is JavaScript's (wasm.js). */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *to, const void *from, size_t n) {
    return memmove(to, from, n);
}

void *memmove(void *to, const void *from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;
    for (size_t i = 0; i < n && t <= f; i++) t[i] = f[i];
    for (size_t i = n; i > 0 && t > f; i--) t[i - 1] = f[i - 1];
    return to;
}

void *memset(void *to, int value, size_t n) {
    for (unsigned char *t = to; n-- > 0;) *t++ = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}
