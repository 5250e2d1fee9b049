/* SPDX-License-Identifier: MIT */
/* Matrix products with AVX2. */
#include "dot_avx2.h"

MORSEL_INLINE __m256i fc_dot(__m256i acc, __m256i u, __m256i w) {
    return morsel_dot_pairs(acc, u, morsel_pairs(w));
}

#include "fc_256.h"

void morsel_fc_few_avx2(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) fc_block(a, u / a->blocks, u % a->blocks);
    _mm256_zeroupper();
}

void morsel_fc_blocks_avx2(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_rows(a, begin, end, MORSEL_FC_LEAST, morsel_conv_has_tiles_avx2, morsel_conv_lines_avx2, morsel_fc_few_avx2);
}
