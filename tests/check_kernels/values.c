/* SPDX-License-Identifier: MIT */
/* Values of inputs, weights and constants: chance, and the extremes where kernels go wrong. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *trial_room(struct trial *t, size_t bytes, size_t align) {
    return memory_place(t->slots++, bytes, align, !chance_one_in(&t->chance, 4));
}

void trial_kernel_room(struct trial *t, struct morsel_room *room) {
    if (!t->bench && chance_one_in(&t->chance, 2)) return;
    room->bytes = 64 * (t->bench ? 2048 : chance_below(&t->chance, chance_one_in(&t->chance, 2) ? 1024 : 64));
    t->writable = t->slots;
    room->data = memory_place(t->slots++, room->bytes, 64, true);
    chance_bytes(&t->chance, room->data, room->bytes);
    trial_say(t, " room %u", (unsigned)room->bytes);
}

void trial_say(struct trial *t, const char *format, ...) {
    size_t length = strlen(t->text);
    va_list args;
    va_start(args, format);
    vsnprintf(t->text + length, sizeof t->text - length, format, args);
    va_end(args);
}

void trial_output(struct trial *t, void **y, size_t elements, const struct morsel_qparams *qparams) {
    t->y = y;
    t->y_align = qparams->is_float ? 4 : 1;
    t->y_bytes = elements * t->y_align;
}

struct morsel_qparams make_qparams(struct chance *c) {
    static const int32_t zeros[] = {0, 1, 127, 128, 129, 254, 255};
    struct morsel_qparams qparams = {chance_float(c, 0.001f, 0.1f), 0, chance_one_in(c, 2) ? 0x80 : 0, 0, chance_one_in(c, 2) ? 128 : 0};
    qparams.zero = chance_one_in(c, 2) ? zeros[chance_below(c, 7)] : (int32_t)chance_below(c, 256);
    return qparams;
}

struct morsel_qparams float_qparams(void) {
    struct morsel_qparams qparams = {1, 0, 0, 1, 0};
    return qparams;
}

void make_values(struct trial *t, uint8_t *to, size_t n, const struct morsel_qparams *qparams) {
    struct chance *c = &t->chance;
    static const char *const words[] = {"", "", "", "", " x all lowest", " x all highest", " x extremes", " x mostly zero point"};
    uint32_t kind = t->bench ? 0 : chance_below(c, 8);
    trial_say(t, "%s", words[kind]);
    for (size_t i = 0; i < n; i++) {
        uint32_t u = chance_next(c) & 255;
        if (kind == 4) u = 0;
        if (kind == 5) u = 255;
        if (kind == 6) u = u & 1 ? 255 : 0;
        if (kind == 7 && u >= 32) u = (uint32_t)qparams->zero;
        to[i] = (uint8_t)(u ^ qparams->sign_flip);
    }
}

void make_floats(struct trial *t, float *to, size_t n) {
    struct chance *c = &t->chance;
    static const float odd[] = {0, -0.0f, 1, -1, 0.5f, 1.5f, 2.5f, FLT_MAX, -FLT_MAX, FLT_MIN, INFINITY, -INFINITY, NAN, 1e-45f};
    uint32_t kind = t->bench ? 0 : chance_below(c, 4);
    for (size_t i = 0; i < n; i++) {
        to[i] = chance_float(c, -8, 8);
        if (kind == 1) to[i] = (float)chance_range(c, -300, 300) / 2; /* ties of a scale that is a power of two */
        if (kind == 2 && chance_one_in(c, 4)) to[i] = odd[chance_below(c, sizeof odd / sizeof *odd)];
    }
}

void make_output(struct trial *t, struct morsel_output *y, uint32_t float_one_in) {
    struct chance *c = &t->chance;
    y->qparams = make_qparams(c);
    y->out_min = 0;
    y->out_max = 255;
    y->float_min = -INFINITY;
    y->float_max = INFINITY;
    uint32_t limits = !t->tame ? chance_below(c, 4) : t->bench || !chance_one_in(c, 6) ? 3 : 1;
    if (limits == 0) y->out_min = y->qparams.zero;                  /* relu */
    if (limits == 2) y->qparams.zero = 0, y->qparams.sign_flip = 0; /* relu with all its range, inside a network */
    if (limits == 1) y->out_min = (int32_t)chance_below(c, 256), y->out_max = chance_range(c, y->out_min, 255);
    if (limits == 1 && chance_one_in(c, 2)) { /* nearly all the range, which some have cheaper arithmetic for */
        y->out_min = (int32_t)chance_below(c, 2), y->out_max = 255 - (int32_t)chance_below(c, 2);
        if (chance_one_in(c, 2)) y->qparams.zero = 0, y->qparams.sign_flip = 0;
    }
    if (t->tame) {
        y->qparams.sign_flip = t->sign_flip;
        if (chance_one_in(c, 2)) y->qparams.zero = 0;
        float_one_in = 0;
    }
    if (float_one_in && chance_one_in(c, float_one_in)) {
        y->qparams = float_qparams();
        if (limits == 0) y->float_min = 0, y->float_max = 6;
    }
    if (y->qparams.is_float) trial_say(t, " y float");
    else
        trial_say(t, " y flip %u zero %d in %d..%d", (unsigned)y->qparams.sign_flip, (int)y->qparams.zero, (int)y->out_min,
                  (int)y->out_max);
}

/* ---- weights ---- */

static int8_t weight(struct chance *c, uint32_t kind, uint32_t k) {
    int8_t v = (int8_t)chance_range(c, -128, 127);
    switch (kind) {
    case 0: return -128;
    case 1: return 127;
    case 2: return k & 1 ? 127 : -128;
    case 3: return 0;
    case 4: return (int8_t)(v / 2); /* never a saturated sum of two products */
    case 5: return (int8_t)(v / 4);
    case 6: return chance_one_in(c, 12) ? v : (int8_t)(v / 4); /* saturated here and there */
    case 7: return chance_one_in(c, 50) ? v : (int8_t)(v / 4);
    case 8: /* pairs of 128 and 129, the least that is too much (255 * 129 > 32767); fours of which k0 + k1 and k0 + k2 are */
        if (k / 4 % 8 == 5) return (int8_t)(k % 4 == 0 ? 100 : k % 4 == 3 ? v / 8 : 50);
        if (k / 4 % 8 != 3 || k % 4 > 1) return (int8_t)(v / 4);
        v = (int8_t)(64 + (k % 2 && chance_one_in(c, 8)));
        return k / 32 % 2 ? v : (int8_t)-v;
    default: return v;
    }
}

/* Exactness ends at these for one trick or another: 2^22 and 2^23 (shifted floats), 2^24 (floats), 2^31 (int32). */
static int32_t edge(struct chance *c) {
    static const int32_t edges[] = {1 << 22, 1 << 23, 1 << 24, 1 << 25, INT32_MAX - 2, 32768, 0};
    int32_t v = edges[chance_below(c, 7)] + chance_range(c, -2, 2);
    return chance_one_in(c, 2) ? -v : v;
}

static float power_of_two(int32_t exponent) {
    return ldexpf(1, exponent);
}

/* So that sums of this size fall inside a byte, or a little beyond; often a power of two, for ties. */
static float multiplier(struct chance *c, float size, bool wild) {
    static const float odd[] = {FLT_MAX, FLT_MIN, 1, 0.5f, 1e-45f, -1, -40, -FLT_MAX};
    float m = chance_float(c, 20, 300) / (size < 1 ? 1 : size);
    if (wild && chance_one_in(c, 40)) return odd[chance_below(c, 8)];
    return chance_one_in(c, 3) ? power_of_two((int32_t)floorf(log2f(m))) : m;
}

/* What the blob would state: whatever bytes and zero point the inputs have. */
static void prove(const struct weights *w, uint32_t e, const struct morsel_channels *to, uint8_t *proofs) {
    const int8_t *data = w->data + (size_t)(e / 16) * w->taps * 16 + e % 16 * 4;
    double most = fabs((double)to->bias[e]);
    for (uint32_t k = 0; k < w->taps; k++)
        most += 255 * fabs((double)data[(size_t)(k / 4) * 64 + k % 4] - (to->weight_zero ? to->weight_zero[e] : 0));
    if (most >= 1 << 22 || !(most * fabs((double)to->multiplier[e]) < 31999)) proofs[e / 16] &= (uint8_t)~MORSEL_PROOF_SMALL;
    if (!(to->multiplier[e] >= 0)) proofs[e / 16] &= (uint8_t)~MORSEL_PROOF_POSITIVE;
}

/* One channel. Edge channels have no weights, so that the bias is the sum. */
static void make_channel(struct trial *t, const struct weights *w, uint32_t e, struct morsel_channels *to, uint32_t kind) {
    struct chance *c = &t->chance;
    int8_t *data = w->data + (size_t)(e / 16) * w->taps * 16 + e % 16 * 4;
    int32_t zero = to->weight_zero && w->zeros >> (e / 16 % 32) & 1 ? chance_range(c, -128, 127) : 0, sum = 0;
    bool wild = w->wild >> (e / 16 % 32) & 1, lone = e % 16 == w->lone && w->lones >> (e / 16 % 32) & 1 && !to->weight_zero;
    bool at_edge = lone || (wild && !to->weight_zero && chance_one_in(c, 8));
    if (chance_one_in(c, kind >= 6 && kind <= 8 ? 64 : 4)) kind = chance_below(c, 10);
    if (at_edge) kind = 3;
    for (uint32_t k = 0; k < w->taps; k++) {
        int8_t v = k % w->row < w->row_used ? weight(c, kind, k) : (int8_t)zero;
        data[(size_t)(k / 4) * 64 + k % 4] = v;
        sum += v;
    }
    float size = 4000 * sqrtf((float)w->taps);
    if (kind < 2) size *= sqrtf((float)w->taps);
    int32_t bias = at_edge ? edge(c) : chance_range(c, -(int32_t)size, (int32_t)size);
    if (at_edge) size = fabsf((float)bias);
    if (wild && chance_one_in(c, 64)) bias = (int32_t)chance_next(c); /* sums that wrap */
    ((int32_t *)to->bias)[e] = bias;
    bool far = at_edge && (lone || chance_one_in(c, 2)); /* beyond int32, or nearly */
    ((float *)to->multiplier)[e] = far ? chance_float(c, lone ? 1 : 0.2f, lone ? 2 : w->far_most) : multiplier(c, size, wild);
    if (lone) ((int32_t *)to->bias)[e] = bias < 0 ? -INT32_MAX : INT32_MAX;
    if (w->negative >> (e / 16 % 32) & 1 && chance_one_in(c, 8)) ((float *)to->multiplier)[e] *= -1;
    ((int32_t *)to->weight_sum)[e] = sum;
    if (to->weight_zero) ((int32_t *)to->weight_zero)[e] = zero;
    if (to->float_bias) ((float *)to->float_bias)[e] = chance_one_in(c, 2) ? (float)chance_range(c, -99, 99) / 2 : chance_float(c, -50, 50);
    if (to->float_bias && far) {
        float much = chance_float(c, 0.5e9f, w->far_most == 1 ? 1e9f : 2e9f); /* kernels have limits on either */
        ((int32_t *)to->bias)[e] = bias < 0 ? -INT32_MAX : INT32_MAX;
        ((float *)to->float_bias)[e] = bias < 0 ? -much : much;
    }
}

struct morsel_channels make_channels(struct trial *t, struct weights *w, const struct morsel_output *y) {
    struct chance *c = &t->chance;
    size_t size = (size_t)w->entries * 4, bytes = (size_t)w->entries * w->taps;
    struct morsel_channels to = {0};
    void *rooms[5] = {0};
    bool odd = !t->bench && !t->tame, zero = !t->bench && chance_one_in(c, 6);
    bool float_bias = odd && chance_one_in(c, y->qparams.is_float ? 2 : 4);
    w->data = trial_room(t, bytes, 64);
    bool calm = t->bench || (t->tame ? !chance_one_in(c, 5) : chance_one_in(c, float_bias ? 4 : 2));
    w->wild = calm ? 0 : odd && chance_one_in(c, 2) ? UINT32_MAX : chance_next(c) & chance_next(c);
    static const float limits[] = {0.5f, 1, 1.7f}; /* two that kernels have, and beyond */
    w->far_most = limits[chance_below(c, 3)];
    w->lones = chance_one_in(c, 2) ? UINT32_MAX : chance_next(c);
    w->lone = t->bench || !chance_one_in(c, 6) ? 16 : chance_one_in(c, 2) ? 0 : chance_below(c, 16);
    w->negative = t->bench || !chance_one_in(c, 8) ? 0 : chance_next(c);
    w->zeros = chance_one_in(c, 2) ? UINT32_MAX : chance_next(c) & chance_next(c);
    memset(w->data, 0, bytes);
    for (unsigned i = 0; i < 5; i++) {
        if ((i == 3 && !zero) || (i == 4 && !float_bias)) continue;
        rooms[i] = trial_room(t, size, 64);
        memset(rooms[i], 0, size);
    }
    to.bias = rooms[0], to.multiplier = rooms[1], to.weight_sum = rooms[2], to.weight_zero = rooms[3], to.float_bias = rooms[4];
    uint32_t kind = t->bench ? 9 : chance_below(c, 10);
    for (uint32_t e = 0; e < w->entries; e++)
        if (e % w->padded < w->per_group) make_channel(t, w, e, &to, kind);
    if (t->bench || !chance_one_in(c, 4)) {
        uint8_t *proofs = trial_room(t, w->entries / 16, 1);
        memset(proofs, MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE, w->entries / 16);
        for (uint32_t e = 0; e < w->entries; e++) prove(w, e, &to, proofs);
        to.proofs = proofs;
    }
    trial_say(t, "%s%s weights %u", zero ? " weight_zero" : "", float_bias ? " float_bias" : "", (unsigned)kind);
    return to;
}
