/* SPDX-License-Identifier: MIT */
/*
 * Functions of real numbers without libm: the same bits on every CPU, because they are made of IEEE additions, multiplications
 * and divisions in one order. Worked in double and rounded once to float at the end, with a relative error below 1e-7.
 */
#ifndef MORSEL_REAL_H
#define MORSEL_REAL_H

float morsel_exp(float x);
float morsel_sigmoid(float x);
float morsel_tanh(float x);
float morsel_erf(float x);
float morsel_sqrt(float x); /* correctly rounded; a NaN below 0 */

/* e^x in double, relative error below 1e-14; 0 below -700, infinite above 700. */
double morsel_exp_wide(double x);

#endif
