/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and pools. An index of the picture, out * stride + tap * dilation - pad, taken modulo 2^32, is below `in` exactly where it
 * is inside. For in < 2^31, pads, strides and dilations are at most 65536, and kernels at most 64. So the largest value before the
 * subtraction is below 2^31 + 2^23, and no two values become the same. Proven: tests/prove, axis and index.
 */
#include "check.h"
#include "kind.h"

#define MOST 65536u

struct axis {
    uint32_t in, out, kernel, stride, dilation, pad_begin, pad_end;
};

/* Whether `out` windows fit; `round_up`: a last window may hang over the padding. */
static int axis_fits(const struct axis *a, int round_up) {
    if (a->kernel < 1 || a->kernel > MORSEL_FORMAT_MAX_WINDOW || a->stride < 1 || a->stride > MOST) return 0;
    if (a->dilation < 1 || a->dilation > MOST || a->pad_begin > MOST || a->pad_end > MOST) return 0;
    uint32_t padded = a->in + a->pad_begin + a->pad_end, window = (a->kernel - 1) * a->dilation + 1;
    uint32_t room = padded < window ? 0 : padded - window;
    if (padded < window && !round_up) return 0;
    uint32_t out = room / a->stride + 1;
    return a->out == out || (round_up && room % a->stride && a->out == out + 1);
}

static int window_fits(const struct morsel_step_check *s, const struct morsel_blob_window *w, int round_up) {
    const struct morsel_blob_tensor *x = s->x, *y = s->y;
    if (x->rank != 4 || y->rank != 4 || x->dims[0] != y->dims[0]) return 0;
    struct axis rows = {x->dims[1], y->dims[1], w->kernel_h, w->stride_h, w->dilation_h, w->pad_top, w->pad_bottom};
    struct axis columns = {x->dims[2], y->dims[2], w->kernel_w, w->stride_w, w->dilation_w, w->pad_left, w->pad_right};
    return axis_fits(&rows, round_up) && axis_fits(&columns, round_up);
}

enum morsel_error morsel_check_pool(const struct morsel_step_check *s) {
    const struct morsel_blob_pool *p = s->parameters;
    if (!window_fits(s, &p->window, 1) || s->x->dims[3] != s->y->dims[3]) return MORSEL_ERR_PARAMETER;
    if (!morsel_check_integers(s->y, p->out_min, p->out_max) || p->count_include_pad > 1) return MORSEL_ERR_PARAMETER;
    int dilated = p->window.dilation_h != 1 || p->window.dilation_w != 1;
    return dilated && s->step->kind == MORSEL_STEP_AVERAGE_POOL ? MORSEL_ERR_PARAMETER : MORSEL_OK;
}

/* The constants of a step; bytes stay at UINT64_MAX where they are too many to count. All factors are checked to be below 2^31. Proven:
 * tests/prove, packed and packed_depthwise. */
static struct morsel_packed packed_of(const struct morsel_step_check *s) {
    const struct morsel_blob_conv *p = s->parameters;
    uint32_t depth = s->x->dims[3] / p->groups, outs = s->y->dims[3] / p->groups;
    struct morsel_packed w;
    if (morsel_kind_base(s->step->kind) == MORSEL_STEP_DEPTHWISE) {
        w.line = (p->window.kernel_h + 3) / 4;
        w.padding = (uint32_t)w.line * 4 - p->window.kernel_h;
        w.channels = ((uint64_t)outs * p->groups + 15) / 16 * 16;
        w.bytes = w.channels * p->window.kernel_w * (w.line * 4); /* < 2^32 * 2^6 * 2^6 */
        return w;
    }
    uint64_t taps = (uint64_t)p->window.kernel_w * depth; /* < 2^37 */
    w.line = (taps + 3) / 4;
    w.padding = (uint32_t)(w.line * 4 - taps);
    outs = (outs + 15) / 16 * 16;
    w.channels = (uint64_t)outs * p->groups; /* < 2^36 */
    w.bytes = morsel_times(morsel_times(w.line * (4 * p->window.kernel_h), outs), p->groups);
    return w;
}

static int shapes_fit(const struct morsel_step_check *s, const struct morsel_blob_window *window, uint32_t groups) {
    if (!window_fits(s, window, 0) || !groups || s->x->dims[3] % groups || s->y->dims[3] % groups) return 0;
    return morsel_kind_base(s->step->kind) != MORSEL_STEP_DEPTHWISE || (groups == s->x->dims[3] && groups == s->y->dims[3]);
}

/* No count of weights leaves 64 bits. Proven: tests/prove, float_taps. */
enum morsel_error morsel_check_float_conv(const struct morsel_step_check *s) {
    const struct morsel_blob_float_conv *p = s->parameters;
    if (!shapes_fit(s, &p->window, p->groups) || !(p->float_min <= p->float_max)) return MORSEL_ERR_PARAMETER;
    if (!morsel_check_integers(s->y, p->out_min, p->out_max)) return MORSEL_ERR_PARAMETER;
    if (p->weights_half > 1) return MORSEL_ERR_PARAMETER;
    uint32_t outputs = (s->y->dims[3] + 7) / 8 * 8;
    uint64_t taps = (uint64_t)(s->x->dims[3] / p->groups) * p->window.kernel_h * p->window.kernel_w; /* < 2^43: float_taps */
    uint64_t weights = morsel_times(taps, outputs);                                                  /* a multiple of 8, or too many */
    int fit = p->weights_half ? morsel_check_halves(s->check, p->weights, weights) : morsel_check_floats(s->check, p->weights, weights);
    return fit && (!p->bias || morsel_check_floats(s->check, p->bias, outputs)) ? MORSEL_OK : MORSEL_ERR_CONSTANT;
}

/* Sums wrap at 2^32 in every kernel alike, as int32s of unsigned arithmetic do: a blob whose sums leave int32 gives wrong numbers, the same
 * everywhere, and nothing worse. The converter refuses it. */
enum morsel_error morsel_check_conv(const struct morsel_step_check *s) {
    const struct morsel_blob_conv *p = s->parameters;
    if (!shapes_fit(s, &p->window, p->groups)) return MORSEL_ERR_PARAMETER;
    uint32_t row = s->x->dims[2] * s->x->dims[3];
    if ((p->window.pad_top || p->window.pad_bottom) && s->step->scratch_bytes < (row + 3) / 4 * 4) return MORSEL_ERR_PARAMETER;
    struct morsel_packed w = packed_of(s);
    if (!morsel_check_dynamic(s, &p->sums, w.channels, 1)) return MORSEL_ERR_PARAMETER;
    return morsel_check_sums(s, &p->sums, &w);
}
