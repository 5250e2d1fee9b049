/* SPDX-License-Identifier: MIT */
/* The x86 kernels: each computes what its plain C namesake in kernels/kernels.h does, to the byte. */
#ifndef MORSEL_X86_H
#define MORSEL_X86_H

#include "../kernels/kernels.h"

morsel_conv_fn morsel_conv_rows_avx512vnni;
morsel_conv_fn morsel_depthwise_rows_avx512vnni;

#endif
