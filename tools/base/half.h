/* SPDX-License-Identifier: MIT */
/* Numbers of binary16 in files. */
#ifndef MORSEL_TOOLS_BASE_HALF_H
#define MORSEL_TOOLS_BASE_HALF_H

#include "kernels/float.h"

/* By its bits, exactly; unlike kernels, which never meet them, infinities and what is no number, too. */
static inline float half_value(uint16_t half) {
    float v = morsel_from_half(half);
    uint32_t bits;
    if ((half & 0x7c00) == 0x7c00) {
        memcpy(&bits, &v, sizeof bits);
        bits |= 0x7f800000u;
        memcpy(&v, &bits, sizeof v);
    }
    return v;
}

#endif
