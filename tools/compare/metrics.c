/* SPDX-License-Identifier: MIT */
/* Sums over pairs of numbers, and the figures that come of them. */
#include "tools/compare/metrics.h"
#include "tools/quant/equalize/equalize.h"
#include <math.h>

bool metric_same_infinity(float x, float y) {
    return isinf(x) && x == y;
}

void metric_add(struct metric_sums *sums, const float *x, const float *y, size_t count) {
    double xx = 0, xy = 0, yy = 0, all = 0, other = 0;
    size_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        double a = (double)x[i], b = (double)y[i];
        if (metric_same_infinity(x[i], y[i])) {
            left_out++;
            continue;
        }
        xx += a * a;
        xy += a * b;
        yy += b * b;
        all += a;
        other += b;
    }
    sums->xx += xx;
    sums->xy += xy;
    sums->yy += yy;
    sums->x += all;
    sums->y += other;
    sums->count += (double)(count - left_out);
}

void metric_merge(struct metric_sums *into, const struct metric_sums *from) {
    into->xx += from->xx;
    into->xy += from->xy;
    into->yy += from->yy;
    into->x += from->x;
    into->y += from->y;
    into->count += from->count;
}

struct metric_sums metric_centred(const struct metric_sums *sums) {
    struct metric_sums s = *sums;
    double n = fmax(s.count, 1);
    s.xx = fmax(0, s.xx - s.x * s.x / n);
    s.xy -= s.x * s.y / n;
    s.yy = fmax(0, s.yy - s.y * s.y / n);
    s.x = s.y = 0;
    return s;
}

struct metric_sums metric_restored(const struct metric_sums *sums, double factor, double shift) {
    struct metric_sums s = *sums;
    s.xy = s.xy / factor - shift * s.x;
    s.yy = s.yy / (factor * factor) - 2 * shift * s.y / factor + shift * shift * s.count;
    s.y = s.y / factor - shift * s.count;
    return s;
}

double metric_noise(const struct metric_sums *sums) {
    double noise = sums->xx - 2 * sums->xy + sums->yy;
    return noise < 0 ? 0 : noise;
}

double metric_sqnr(double signal, double noise) {
    if (isnan(signal) || isnan(noise)) /* the model gives what is no number */
        return -METRIC_MOST;
    if (!(noise > 0)) return METRIC_MOST;
    return fmin(METRIC_MOST, fmax(-METRIC_MOST, 10 * log10(signal / noise)));
}

double metric_cosine(double xx, double xy, double yy) {
    if (xx > 0 && yy > 0) return xy / sqrt(xx) / sqrt(yy);
    return xx > 0 || yy > 0 ? 0 : 1;
}

double metric_factor(const struct metric_sums *sums) {
    if (!(sums->xx > 0) || !(metric_cosine(sums->xx, sums->xy, sums->yy) > 0.9)) return 0;
    return exp2(rint(EQUALIZE_STEPS_AN_OCTAVE * log2(sums->xy / sums->xx)) / EQUALIZE_STEPS_AN_OCTAVE);
}

static float steps_of(const struct metric_qparams *qparams, struct metric_channel channel, float y) {
    return rintf((y + channel.shift) * channel.factor / qparams->scale) + (float)qparams->zero;
}

float metric_stored(const struct metric_qparams *qparams, struct metric_channel channel, float y) {
    float steps = fmaxf((float)qparams->least, fminf((float)qparams->most, steps_of(qparams, channel, y)));
    return (steps - (float)qparams->zero) * qparams->scale / channel.factor - channel.shift;
}

bool metric_clips(const struct metric_qparams *qparams, struct metric_channel channel, float x) {
    float steps = steps_of(qparams, channel, x);
    return steps < (float)qparams->least || steps > (float)qparams->most;
}
