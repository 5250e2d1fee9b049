/* SPDX-License-Identifier: MIT */
/* Floats beside exact results, and the exact functions that libm lacks. */
#ifndef MORSEL_TESTS_NEAR_H
#define MORSEL_TESTS_NEAR_H

/* Within so many units in the last place of the nearest float. */
static inline void near(const char *name, float x, double got, double want, double units) {
    int exponent;
    frexp((float)want, &exponent);
    double unit = ldexp(1, exponent < -125 ? -149 : exponent - 24), error = fabs(got - want);
    if (isinf((float)want) && got >= 3.4028234e38) return;
    if (!(error <= units * unit)) fail_msg("%s(%a) = %a, not %a: %.2f units", name, (double)x, got, want, error / unit);
}

static inline double softplus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static inline double gelu(double x) {
    return 0.5 * x * (1 + erf(x * 0.7071067811865476));
}

static inline double gelu_tanh(double x) {
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

#endif
