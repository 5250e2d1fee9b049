/* SPDX-License-Identifier: MIT */
/* The loops with what every CPU of the architecture has, four floats at a time; and which loops a CPU gets. */
#define LANES 4
#define ROWS_AT_ONCE 4
#define LOOPS loops_plain
#include "tools/float/loops_body.h"

const struct loops *loops_here(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return &loops_avx512f;
    if (__builtin_cpu_supports("avx2")) return &loops_avx2;
#endif
    return &loops_plain;
}
