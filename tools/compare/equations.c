/* SPDX-License-Identifier: MIT */
/* Least squares over equations of which some are wrong. */
#include "tools/compare/equations.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 4, OUTLIER = 4, NOISES = 16 };
static const double ridge = 1e-6; /* rows have the norm 1 */

struct equations *equations_make(struct onnx_graph *g, size_t rows, size_t unknowns, double noise) {
    struct equations *e = onnx_alloc(g, sizeof *e);
    *e = (struct equations){.rows = rows, .unknowns = unknowns, .noise = noise};
    e->weights = graph_doubles(g, (int64_t)(rows * unknowns));
    e->wanted = graph_doubles(g, (int64_t)rows);
    return e;
}

static double left_over(const struct equations *e, size_t row, const double *solution) {
    double rest = e->wanted[row];
    for (size_t i = 0; i < e->unknowns; i++) rest -= e->weights[row * e->unknowns + i] * solution[i];
    return rest;
}

/* 1 over the norm of a row; 0: it says nothing. */
static double *weigh_rows(struct onnx_graph *g, const struct equations *e, size_t *kept) {
    double *weights = graph_doubles(g, (int64_t)e->rows);
    *kept = 0;
    for (size_t row = 0; row < e->rows; row++) {
        double norm = 0;
        for (size_t i = 0; i < e->unknowns; i++) norm += e->weights[row * e->unknowns + i] * e->weights[row * e->unknowns + i];
        weights[row] = norm > 0 && isfinite(norm) && isfinite(e->wanted[row]) ? 1 / sqrt(norm) : 0;
        *kept += weights[row] > 0;
    }
    return weights;
}

/* --- One solution --- */

/* The lower triangle of the normal matrix, and its Cholesky factor in its place. */
static void factorize(const struct equations *e, const double *row_weights, double *matrix) {
    size_t n = e->unknowns;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) matrix[i * n + k] = i == k ? ridge : 0;
    for (size_t row = 0; row < e->rows; row++) {
        const double *w = e->weights + row * n;
        double square = row_weights[row] * row_weights[row];
        for (size_t i = 0; i < n && square > 0; i++)
            for (size_t k = 0; k <= i && w[i] != 0; k++) matrix[i * n + k] += square * w[i] * w[k];
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k <= i; k++) {
            double rest = matrix[i * n + k];
            for (size_t j = 0; j < k; j++) rest -= matrix[i * n + j] * matrix[k * n + j];
            matrix[i * n + k] = i == k ? sqrt(fmax(rest, ridge)) : rest / matrix[k * n + k];
        }
    }
}

/* From unknown `first` on: factor * solution = wanted, in place. */
static void substitute(const double *factor, size_t n, size_t first, double *wanted) {
    for (size_t i = first; i < n; i++) {
        for (size_t k = first; k < i; k++) wanted[i] -= factor[i * n + k] * wanted[k];
        wanted[i] /= factor[i * n + i];
    }
}

static void improve(struct onnx_graph *g, const struct equations *e, const double *row_weights, const double *factor, double *solution) {
    size_t n = e->unknowns;
    double *step = graph_doubles(g, (int64_t)n);
    for (size_t row = 0; row < e->rows; row++) {
        double pull = row_weights[row] > 0 ? row_weights[row] * row_weights[row] * left_over(e, row, solution) : 0;
        for (size_t i = 0; i < n && pull != 0; i++) step[i] += pull * e->weights[row * n + i];
    }
    substitute(factor, n, 0, step);
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) step[i] -= factor[k * n + i] * step[k];
        step[i] /= factor[i * n + i];
        solution[i] += step[i];
    }
}

/* --- Equations that are wrong --- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sizes_left(struct onnx_graph *g, const struct equations *e, const double *row_weights, const double *solution) {
    double *sizes = graph_doubles(g, (int64_t)e->rows);
    for (size_t row = 0; row < e->rows; row++) sizes[row] = row_weights[row] > 0 ? row_weights[row] * fabs(left_over(e, row, solution)) : 0;
    return sizes;
}

/* How many equations were left out: those far beyond the middle one of all. */
static size_t leave_out(struct onnx_graph *g, const struct equations *e, double *row_weights, size_t kept, const double *solution) {
    const double *sizes = sizes_left(g, e, row_weights, solution);
    double *sorted = graph_doubles(g, (int64_t)kept);
    size_t count = 0, out = 0;
    for (size_t row = 0; row < e->rows; row++)
        if (row_weights[row] > 0) sorted[count++] = sizes[row];
    qsort(sorted, kept, sizeof *sorted, by_size);
    double most = OUTLIER * fmax(e->noise, 1.4826 * sorted[kept / 2] * sqrt((double)kept / (double)(kept - e->unknowns)));
    for (size_t row = 0; row < e->rows && kept - out > e->unknowns + 1; row++) {
        out += sizes[row] > most;
        row_weights[row] = sizes[row] > most ? 0 : row_weights[row];
    }
    return out;
}

static double noise_of(struct onnx_graph *g, const struct equations *e, const double *row_weights, size_t kept, const double *solution) {
    const double *sizes = sizes_left(g, e, row_weights, solution);
    double sum = 0;
    for (size_t row = 0; row < e->rows; row++) sum += sizes[row] * sizes[row];
    return fmax(e->noise, sqrt(sum / (double)(kept - e->unknowns)));
}

/* Of all equations, those left out as well. Where they want hardly more than noise there is nothing to give. */
static double share_left(struct onnx_graph *g, const struct equations *e, const double *row_weights, const double *solution) {
    const double *sizes = sizes_left(g, e, row_weights, solution);
    double left = 0, asked = (double)e->rows * (NOISES * e->noise) * (NOISES * e->noise);
    for (size_t row = 0; row < e->rows; row++) {
        double wanted = row_weights[row] > 0 ? row_weights[row] * e->wanted[row] : 0;
        left += sizes[row] * sizes[row];
        asked += wanted * wanted;
    }
    return asked > 0 ? left / asked : 0;
}

bool equations_solve(struct onnx_graph *g, struct equations *e, double *solution, double *doubts) {
    size_t n = e->unknowns, kept, all, out = 0;
    double *row_weights = weigh_rows(g, e, &kept), *factor = graph_doubles(g, (int64_t)(n * n));
    if (kept <= n) return false;
    for (int round = 0; round < ROUNDS && (round == 0 || out); round++) {
        factorize(e, row_weights, factor);
        improve(g, e, row_weights, factor, solution);
        out = round + 1 < ROUNDS ? leave_out(g, e, row_weights, kept, solution) : 0;
        kept -= out;
    }
    e->left = share_left(g, e, weigh_rows(g, e, &all), solution);
    double noise = noise_of(g, e, row_weights, kept, solution);
    double *unit = graph_doubles(g, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = i; k < n; k++) unit[k] = k == i;
        substitute(factor, n, i, unit);
        for (size_t k = i; k < n; k++) sum += unit[k] * unit[k];
        doubts[i] = noise * sqrt(sum);
    }
    return true;
}

bool equations_explained(const struct equations *e, const double *solution, size_t i) {
    double asked = 0, left = 0;
    for (size_t row = 0; row < e->rows; row++) {
        double w = e->weights[row * e->unknowns + i], rest = w != 0 ? w * left_over(e, row, solution) : 0;
        asked += w * w * e->wanted[row] * e->wanted[row];
        left += rest * rest;
    }
    return left * 16 < asked;
}
