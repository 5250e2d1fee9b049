/* SPDX-License-Identifier: MIT */
/* Maxima over windows with NEON, sixteen bytes or four floats at a time; a last block that is not whole starts further left. */
#include "arm64.h"

struct limits {
    uint8x16_t min, max, x_flip, y_flip;
};

static void max_block(const struct morsel_window *w, const uint8_t *const *rows, uint32_t ox, uint32_t c, uint8_t *y,
                      const struct limits *limits) {
    uint8x16_t most = limits->min;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        uint32_t ix = ox * w->stride_w - w->pad_left;
        for (uint32_t kx = 0; rows[ky] && kx < w->kernel_w; kx++, ix += w->dilation_w)
            if (ix < w->in_w) most = vmaxq_u8(most, veorq_u8(vld1q_u8(rows[ky] + (size_t)ix * w->in_c + c), limits->x_flip));
    }
    vst1q_u8(y + c, veorq_u8(vminq_u8(most, limits->max), limits->y_flip));
}

/* A NaN is no more than what there was, nor is +0 more than -0: FMAX would take either. */
static void max_floats(const struct morsel_window *w, const uint8_t *const *rows, uint32_t ox, uint32_t c, float *y, float least) {
    float32x4_t most = vdupq_n_f32(least);
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        const float *row = (const float *)(const void *)rows[ky];
        uint32_t ix = ox * w->stride_w - w->pad_left;
        for (uint32_t kx = 0; row && kx < w->kernel_w; kx++, ix += w->dilation_w) {
            if (ix >= w->in_w) continue;
            float32x4_t x = vld1q_f32(row + (size_t)ix * w->in_c + c);
            most = vbslq_f32(vcgtq_f32(x, most), x, most);
        }
    }
    vst1q_f32(y + c, most);
}

const char *morsel_max_pool_refusal_neon(const void *args) {
    const struct morsel_pool_args *a = args;
    return a->window.out_c < (a->y.qparams.is_float ? 4 : 16) ? MORSEL_REFUSES_NARROW : NULL;
}

void morsel_max_pool_rows_neon(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    const uint32_t wide = a->y.qparams.is_float ? 4 : 16;
    struct limits limits = {vdupq_n_u8((uint8_t)a->y.out_min), vdupq_n_u8((uint8_t)a->y.out_max),
                            vdupq_n_u8((uint8_t)a->x.qparams.sign_flip), vdupq_n_u8((uint8_t)a->y.qparams.sign_flip)};
    if (morsel_max_pool_refusal_neon(a)) {
        morsel_max_pool_rows_c(a, rows, y, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ox = 0; ox < w->out_w; ox++) {
            size_t to = ((size_t)(y + i) * w->out_w + ox) * w->out_c;
            for (uint32_t c = 0; c < w->out_c; c += wide) {
                uint32_t at = c + wide <= w->out_c ? c : w->out_c - wide;
                if (wide == 4) max_floats(w, rows + (size_t)i * w->kernel_h, ox, at, (float *)a->y.data + to, a->y.float_min);
                else max_block(w, rows + (size_t)i * w->kernel_h, ox, at, (uint8_t *)a->y.data + to, &limits);
            }
        }
    }
}
