/* SPDX-License-Identifier: MIT */
/* The arm64 kernels. None is written yet: every slot keeps plain C, and no feature is asked for. */
#include "../kernels/kernels.h"

uint32_t morsel_kernels_arm64(struct morsel_kernels *table, uint32_t cpu) {
    (void)table;
    (void)cpu;
    return 0;
}
