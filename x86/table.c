/* SPDX-License-Identifier: MIT */
/* The x86 kernels. None is written yet: every slot keeps plain C, and no feature is asked for. */
#include "../kernels/kernels.h"

uint32_t morsel_kernels_x86(struct morsel_kernels *table, uint32_t cpu) {
    (void)table;
    (void)cpu;
    return 0;
}
