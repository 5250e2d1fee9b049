/* SPDX-License-Identifier: MIT */
/* What tiles of seven pixels do seldom, once for AVX2 and AVX-VNNI. */
#define MORSEL_BELOW_1
#include "seven_avx2.h"

/* Where windows of n pixels stand, and their results. */
static void find_places(struct morsel_part256 *part, const struct morsel_lines *lines, size_t n) {
    part->x_places = morsel_places_in(lines, n);
    part->y_places = morsel_places(part->y_step, n);
}

/* Field by field: at -Os gcc fills a struct and copies it byte after byte, which takes as long as a tile. */
void morsel_take_part_avx2(struct morsel_part256 *part, const struct morsel_conv_job *job, const struct morsel_lines *lines, uint32_t block,
                           size_t pixel, size_t n, const __m256i *starts) {
    const struct morsel_conv_args *a = job->args;
    const uint32_t channel = job->constants + block * 16, left = job->outs - block * 16;
    part->job = job;
    part->weights = job->weights + block * job->block_bytes;
    part->multiplier = a->channels.multiplier + channel;
    part->bias = a->channels.float_bias ? a->channels.float_bias + channel : NULL;
    part->requant = morsel_requant256(&a->y, a->y.qparams.zero);
    part->start[0] = morsel_start256(&a->channels, channel, a->x.qparams.zero);
    part->start[1] = morsel_start256(&a->channels, channel + 8, a->x.qparams.zero);
    part->starts = job->below ? starts : NULL;
    part->channels = left < 16 ? left : 16;
    part->seldom = part->bias || a->y.qparams.is_float;
    part->last = n < 7 ? (uint32_t)n - 1 : 6;
    part->lines = job->kept ? (const float *)job->kept + 2 * pixel : NULL;
    part->y_step = morsel_y_step(&a->window, 1);
    part->y = (uint8_t *)a->y.data + pixel * part->y_step + (size_t)(job->first + block * 16) * morsel_element_bytes(&a->y.qparams);
    if (lines) find_places(part, lines, n);
    _mm256_zeroupper();
}

void morsel_start_zeros_avx2(const struct morsel_part256 *part, __m256i *room, size_t at) {
    const struct morsel_conv_job *job = part->job;
    const size_t block = (size_t)(part->weights - job->weights) / job->block_bytes;
    const int32_t *zeros = job->args->channels.weight_zero + job->constants + block * 16;
    for (size_t i = 0; i < 14; i++) {
        __m256i zero = _mm256_loadu_si256((const __m256i *)(const void *)(zeros + i / 7 * 8));
        zero = _mm256_blend_epi16(zero, _mm256_slli_epi32(zero, 24), 0xaa); /* and 256 times that */
        room[i] = _mm256_add_epi32(part->start[i / 7], _mm256_madd_epi16(zero, _mm256_set1_epi32(job->below[at + i % 7])));
    }
    _mm256_zeroupper();
}

void morsel_sum_below_avx2(int32_t *below, const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t n) {
    const uint32_t bytes = job->quads * 4, zeros = job->kernel_h * bytes * (uint32_t)job->args->x.qparams.zero;
    const __m256i none = _mm256_setzero_si256();
    for (size_t p = 0; p < n; p++) {
        const size_t from = morsel_place(lines, p);
        __m256i sums = none;
        __m128i s = _mm256_castsi256_si128(none);
        for (uint32_t ky = 0; ky < job->kernel_h; ky++) {
            const uint8_t *x = lines->map ? morsel_map_find(lines->map, ky, p) : lines->line[ky] + from, *end = x + bytes;
            int32_t four = 0;
            for (; end - x >= 32; x += 32)
                sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_loadu_si256((const __m256i *)(const void *)x), none));
            for (; end - x >= 8; x += 8)
                s = _mm_add_epi64(s, _mm_sad_epu8(_mm_loadl_epi64((const __m128i *)(const void *)x), _mm256_castsi256_si128(none)));
            if (x != end) memcpy(&four, x, 4);
            s = _mm_add_epi64(s, _mm_sad_epu8(_mm_cvtsi32_si128(four), _mm256_castsi256_si128(none)));
        }
        s = _mm_add_epi64(s, _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
        int32_t less = (int32_t)(zeros - (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(s, _mm_unpackhi_epi64(s, s))));
        below[p] = (int32_t)(((uint32_t)(less >> 8) << 16) | ((uint32_t)less & 255));
    }
    _mm256_zeroupper();
}

void morsel_store_floats_avx2(const struct morsel_part256 *part, size_t at, const __m256i *sums, size_t n, uint32_t first) {
    const struct morsel_conv_job *job = part->job;
    const struct morsel_channels *c = &job->args->channels;
    const size_t channel = (size_t)(part->multiplier - c->multiplier) + first;
    const __m256 low = _mm256_set1_ps(job->args->y.float_min), high = _mm256_set1_ps(job->args->y.float_max);
    const __m256 multiplier = _mm256_loadu_ps(c->multiplier + channel);
    const size_t left = part->channels - first;
    float some[8];
    __m256i sum = _mm256_loadu_si256((const __m256i *)(const void *)(c->weight_sum + channel));
    if (c->weight_zero) {
        const __m256i zero = _mm256_loadu_si256((const __m256i *)(const void *)(c->weight_zero + channel));
        sum = _mm256_sub_epi32(sum, _mm256_mullo_epi32(zero, _mm256_set1_epi32((int32_t)(job->kernel_h * job->quads * 4))));
    }
    for (size_t to = at; to < at + n; to++, sums++) {
        const float *line = part->lines ? part->lines + 2 * to : NULL;
        const __m256i less = part->lines ? _mm256_mullo_epi32(sum, _mm256_set1_epi32(morsel_found_zero(line))) : _mm256_setzero_si256();
        const __m256 m = part->lines ? _mm256_mul_ps(multiplier, _mm256_set1_ps(line[0])) : multiplier;
        __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(*sums, less)), m);
        if (part->bias) v = _mm256_add_ps(v, _mm256_loadu_ps(part->bias + first));
        v = _mm256_min_ps(high, _mm256_max_ps(low, v)); /* of two zeros the second, and a NaN */
        float *y = (float *)(void *)(part->y + to * part->y_step) + first;
        if (left >= 8) {
            _mm256_storeu_ps(y, v);
            continue;
        }
        _mm256_storeu_ps(some, v);
        memcpy(y, some, left * sizeof *y);
    }
    _mm256_zeroupper();
}

void morsel_store_copies_avx2(const struct morsel_part256 *part, size_t at, const struct morsel_seven256 *a,
                              const struct morsel_seven256 *b) {
    const struct morsel_places *o = &part->y_places;
    uint8_t *y = part->y + at * part->y_step;
    const size_t place[8] = {0, o->p1, o->p2, o->p3, o->p4, o->p5, o->p6, o->p6};
    __m256i first[8] = {a->p0, a->p1, a->p2, a->p3, a->p4, a->p5, a->p6, a->p6};
    __m256i second[8] = {b->p0, b->p1, b->p2, b->p3, b->p4, b->p5, b->p6, b->p6};
    if (part->job->args->y.qparams.is_float) {
        morsel_store_floats_avx2(part, at, first, part->last + 1, 0);
        if (part->channels > 8) morsel_store_floats_avx2(part, at, second, part->last + 1, 8);
        return;
    }
    for (uint32_t i = 0; i < 8; i += 2)
        morsel_store_2x16(part, y + place[i], y + place[i + 1], first[i], second[i], first[i + 1], second[i + 1], part->channels,
                          part->bias);
    _mm256_zeroupper();
}
