/* SPDX-License-Identifier: MIT */
/* More equations than unknowns, some of them wrong: the best solution, and how far each unknown is from certain. */
#ifndef MORSEL_TOOLS_COMPARE_EQUATIONS_H
#define MORSEL_TOOLS_COMPARE_EQUATIONS_H

#include "tools/optimize/pass.h"

/* sum over i of weights[row][i] * unknown[i] = wanted[row] */
struct equations {
    size_t rows, unknowns;
    double *weights, *wanted; /* [rows][unknowns], [rows] */
    double noise;             /* at least so much is off in an equation whose weights have the norm 1 */
    double left;              /* the share, in squares, of what all of them want that the solution does not give */
};

struct equations *equations_make(struct onnx_graph *g, size_t rows, size_t unknowns, double noise);

/*
 * By least squares, once equations that fit none of what most others say are left out; `solution` comes with a first guess, which stays
 * where the equations leave things open. doubts[i]: the standard error. False: there are no more equations than unknowns, so that nothing
 * tells a right one from a wrong one.
 */
bool equations_solve(struct onnx_graph *g, struct equations *e, double *solution, double *doubts);

/* Whether most of what the equations with unknown i ask for is what `solution` gives. */
bool equations_explained(const struct equations *e, const double *solution, size_t i);

#endif
