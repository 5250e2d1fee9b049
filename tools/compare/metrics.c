/* SPDX-License-Identifier: MIT */
#include "tools/compare/metrics.h"
#include "tools/quant/equalize.h"
#include <math.h>

bool metric_same_infinity(float x, float y) {
    return isinf(x) && x == y;
}

void metric_add(struct metric_sums *sums, const float *x, const float *y, size_t count) {
    double xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        double a = (double)x[i], b = (double)y[i];
        if (metric_same_infinity(x[i], y[i]))
            continue;
        xx += a * a;
        xy += a * b;
        yy += b * b;
    }
    sums->xx += xx;
    sums->xy += xy;
    sums->yy += yy;
}

void metric_merge(struct metric_sums *into, const struct metric_sums *from) {
    into->xx += from->xx;
    into->xy += from->xy;
    into->yy += from->yy;
}

double metric_noise(const struct metric_sums *sums, double factor) {
    double noise = sums->xx - 2 * sums->xy / factor + sums->yy / (factor * factor);
    return noise < 0 ? 0 : noise;
}

double metric_sqnr(double signal, double noise) {
    if (isnan(signal) || isnan(noise)) /* the model gives what is no number */
        return -METRIC_MOST;
    if (!(noise > 0))
        return METRIC_MOST;
    return fmin(METRIC_MOST, fmax(-METRIC_MOST, 10 * log10(signal / noise)));
}

double metric_cosine(double xx, double xy, double yy) {
    if (xx > 0 && yy > 0)
        return xy / sqrt(xx) / sqrt(yy);
    return xx > 0 || yy > 0 ? 0 : 1;
}

double metric_factor(const struct metric_sums *sums) {
    if (!(sums->xx > 0) || !(metric_cosine(sums->xx, sums->xy, sums->yy) > 0.9))
        return 0;
    return exp2(rint(EQUALIZE_STEPS_AN_OCTAVE * log2(sums->xy / sums->xx)) / EQUALIZE_STEPS_AN_OCTAVE);
}

float metric_stored(const struct metric_code *code, float factor, float y) {
    float steps = rintf(y * factor / code->scale) + (float)code->zero;
    steps = fmaxf((float)code->least, fminf((float)code->most, steps));
    return (steps - (float)code->zero) * code->scale / factor;
}

bool metric_clips(const struct metric_code *code, float factor, float x) {
    float steps = rintf(x * factor / code->scale) + (float)code->zero;
    return steps < (float)code->least || steps > (float)code->most;
}
