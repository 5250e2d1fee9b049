/* SPDX-License-Identifier: MIT */
/* The loops with AVX2, eight floats at a time. */
#if defined(__x86_64__)
#define LANES 8
#define ROWS_AT_ONCE 4
#define LOOPS loops_avx2
#include "tools/float/loops_body.h"
#else
typedef int no_loops_avx2; /* a file must not be empty */
#endif
