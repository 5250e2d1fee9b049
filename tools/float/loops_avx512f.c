/* SPDX-License-Identifier: MIT */
/* The loops with AVX-512, sixteen floats at a time. */
#if defined(__x86_64__)
#define LANES 16
#define ROWS_AT_ONCE 8
#define LOOPS loops_avx512f
#include "tools/float/loops_body.h"
#else
typedef int no_loops_avx512f; /* a file must not be empty */
#endif
