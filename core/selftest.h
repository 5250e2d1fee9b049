/* SPDX-License-Identifier: MIT */
/* The self-test of a table of kernels. */
#ifndef MORSEL_SELFTEST_H
#define MORSEL_SELFTEST_H

struct morsel_kernels;

/* NULL: each kernel of the table gives the known answer. Else the name of the first kind of steps whose kernel does not. */
const char *morsel_selftest_of(const struct morsel_kernels *kernels);

#endif
