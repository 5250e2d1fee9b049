/* SPDX-License-Identifier: MIT */
/* What the convolution tiles of AVX-512 (conv_avx512vnni.c) know of some channel blocks, and their results where those are floats. */
#ifndef MORSEL_CONV_PART_AVX512_H
#define MORSEL_CONV_PART_AVX512_H

#include "conv_plan.h"
#include "requant_avx512.h"
#include "x86.h"

/* Some blocks of a job. */
struct part {
    const struct morsel_conv_job *job;
    struct morsel_requant512 requant;
    const int8_t *weights;
    const float *multiplier, *bias; /* bias: NULL where there is none */
    __m512i start[3];               /* bias - zero * weight_sum */
    __m512 offset[3];               /* of plain parts */
    __m512i zero[3];                /* of weights, and 256 times that, as int16s; of use with job->below */
    int plain;                      /* as requant_avx512.h says */
    int floats;                     /* results are */
    __mmask64 mask;                 /* channels that exist */
    size_t channel;                 /* the first, in y */
    uint8_t *y;                     /* of pixel 0 */
    size_t y_step;
    size_t block, pixel; /* the first of each, of the whole step */
    size_t last;         /* pixel of a tile: of a run shorter than one it stands in for those that are missing */
    const float *lines;  /* scale and zero point of each pixel, or NULL */
};

static void take_part(struct part *part, const struct morsel_conv_job *job, uint32_t block, uint32_t nb) {
    const struct morsel_channels *c = &job->args->channels;
    const __m512i x_zero = _mm512_set1_epi32(job->args->x.qparams.zero);
    uint32_t channel = job->constants + block * 16, left = job->outs - block * 16;
    part->job = job;
    part->requant = morsel_requant512(&job->args->y);
    part->floats = job->args->y.qparams.is_float != 0;
    part->y_step = morsel_y_step(&job->args->window, 1);
    part->weights = job->weights + block * job->block_bytes;
    part->multiplier = c->multiplier + channel;
    part->bias = c->float_bias ? c->float_bias + channel : NULL;
    part->plain = !part->floats && morsel_plain512(c, &job->args->y, channel / 16, nb);
    for (uint32_t b = 0; b < nb; b++) {
        __m512i sum = _mm512_loadu_si512(c->weight_sum + channel + 16 * b);
        __m512i start = _mm512_sub_epi32(_mm512_loadu_si512(c->bias + channel + 16 * b), _mm512_mullo_epi32(sum, x_zero));
        part->start[b] = part->plain ? morsel_start512(start) : start;
        if (job->below) {
            __m512i zero = _mm512_loadu_si512(c->weight_zero + channel + 16 * b);
            part->zero[b] = _mm512_mask_blend_epi16(0xaaaaaaaa, zero, _mm512_slli_epi32(zero, 24));
        }
        part->offset[b] = morsel_offset512(_mm512_loadu_ps(part->multiplier + 16 * b));
    }
    part->mask = ~(__mmask64)0 >> (64 - (left < 16 * nb ? left : 16 * nb));
    part->block = channel / 16;
    part->channel = job->first + block * 16;
}

/* A value for each of `tall` pixels, seven or eight. Named fields: compilers keep arrays that long in memory. */
struct pixels {
    __m512i p0, p1, p2, p3, p4, p5, p6, p7;
};

/* The same in memory. */
struct pixels_kept {
    __m512i p[8];
};

static inline __attribute__((always_inline)) struct pixels_kept keep_pixels(const struct pixels *s) {
    struct pixels_kept kept = {{s->p0, s->p1, s->p2, s->p3, s->p4, s->p5, s->p6, s->p7}};
    return kept;
}

/* Where results of a tile from pixel `at` on go, and what is found at run time of each. */
struct places_of_floats {
    float *y[8];
    float scale[8];
    int32_t zero[8];
};

/* Scales and zero points of eight pixels; of each as morsel_found_zero() has it. */
static void find_numbers(struct places_of_floats *to, const float *lines) {
    const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m512 numbers = _mm512_permutexvar_ps(order, _mm512_loadu_ps(lines));
    const __m256 zero = _mm512_extractf32x8_ps(numbers, 1);
    const __mmask8 within =
        _mm256_cmp_ps_mask(zero, _mm256_setzero_ps(), _CMP_GE_OQ) & _mm256_cmp_ps_mask(zero, _mm256_set1_ps(255), _CMP_LE_OQ);
    _mm256_storeu_ps(to->scale, _mm512_castps512_ps256(numbers));
    _mm256_storeu_si256((__m256i *)(void *)to->zero, _mm256_maskz_cvttps_epi32(within, zero));
}

static void find_places(struct places_of_floats *to, const struct part *part, size_t at) {
    const int whole = part->last == 7;
    uint8_t *y = part->y + at * part->y_step;
    for (size_t p = 0; p < 8; p++) {
        to->y[p] = (float *)(void *)y;
        y += p < part->last ? part->y_step : 0;
    }
    if (part->lines && whole) find_numbers(to, part->lines + 2 * at);
    for (size_t p = 0; part->lines && !whole && p < 8; p++) {
        const float *numbers = part->lines + 2 * (at + (p < part->last ? p : part->last));
        to->scale[p] = numbers[0];
        to->zero[p] = morsel_found_zero(numbers);
    }
}

/* Results in float, of some blocks. Pixels of scales of their own have zero points of their own, too. */
static __attribute__((noinline)) void store_floats(const struct part *part, size_t at, const struct pixels_kept *s, int blocks) {
    const struct morsel_conv_job *job = part->job;
    const struct morsel_channels *c = &job->args->channels;
    const __m512 low = _mm512_set1_ps(job->args->y.float_min), high = _mm512_set1_ps(job->args->y.float_max);
    const int found = part->lines != NULL;
    struct places_of_floats to;
    find_places(&to, part, at);
    for (int b = 0; b < blocks; b++) {
        const size_t channel = (size_t)(part->multiplier - c->multiplier) + 16 * (size_t)b;
        const __mmask16 mask = (__mmask16)(part->mask >> 16 * b);
        const __m512 multiplier = _mm512_loadu_ps(c->multiplier + channel);
        const __m512 bias = part->bias ? _mm512_loadu_ps(part->bias + 16 * b) : _mm512_set1_ps(-0.0f); /* adding that changes nothing */
        __m512i sum = _mm512_loadu_si512(c->weight_sum + channel);
        if (c->weight_zero)
            sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)(job->kernel_h * job->quads * 4)),
                                                           _mm512_loadu_si512(c->weight_zero + channel)));
        for (int p = 0; p < 8; p++) {
            __m512i acc = s[b].p[p];
            __m512 m = multiplier;
            if (found) {
                acc = _mm512_sub_epi32(acc, _mm512_mullo_epi32(sum, _mm512_set1_epi32(to.zero[p])));
                m = _mm512_mul_ps(m, _mm512_set1_ps(to.scale[p]));
            }
            __m512 v = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc), m), bias);
            v = _mm512_min_ps(high, _mm512_max_ps(low, v)); /* of two zeros the second, and a NaN */
            if (mask == 0xffff) _mm512_storeu_ps(to.y[p] + 16 * b, v);
            else _mm512_mask_storeu_ps(to.y[p] + 16 * b, mask, v);
        }
    }
}

#endif
