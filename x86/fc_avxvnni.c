/* SPDX-License-Identifier: MIT */
/* Matrix products with AVX-VNNI. */
#define MORSEL_BELOW_1
#include "dot_avxvnni.h"

#define fc_dot morsel_dot256
#include "fc_256.h"

void morsel_fc_blocks_avxvnni(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    if (morsel_fits256(a->channels.multiplier, NULL, (size_t)a->blocks * 16)) fc_blocks(a, begin, end);
    else morsel_fc_blocks_c(a, begin, end);
}
