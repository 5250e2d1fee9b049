/* SPDX-License-Identifier: MIT */
/* Matrix products with AVX-VNNI. */
#include "dot_avxvnni.h"

#define fc_dot morsel_dot256
#include "fc_256.h"

void morsel_fc_few_avxvnni(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) fc_block(a, u / a->blocks, u % a->blocks);
    _mm256_zeroupper();
}

void morsel_fc_blocks_avxvnni(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_rows(a, begin, end, MORSEL_FC_LEAST, morsel_conv_has_tiles_avx2, morsel_conv_lines_avxvnni, morsel_fc_few_avxvnni);
}
