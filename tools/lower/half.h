/* SPDX-License-Identifier: MIT */
/* Weights of float layers as IEEE binary16: half the bytes, eleven bits of each number. */
#ifndef MORSEL_TOOLS_LOWER_HALF_H
#define MORSEL_TOOLS_LOWER_HALF_H

#include "tools/net/net.h"
#include "tools/onnx/graph.h"

/* The bits of the nearest binary16, ties to even; infinite from 65520 on. */
uint16_t half_of(float v);

/* Halves the weights of every float layer. One whose weights binary16 does not hold stays as it is, with a notice. */
void half_net(struct net *net, struct onnx_report *report);

#endif
