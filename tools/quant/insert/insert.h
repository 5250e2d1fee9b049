/* SPDX-License-Identifier: MIT */
/* A scheme written down as a QDQ graph. */
#ifndef MORSEL_TOOLS_QUANT_INSERT_INSERT_H
#define MORSEL_TOOLS_QUANT_INSERT_INSERT_H

#include "tools/quant/insert/scheme.h"

/*
 * A copy of the scheme's graph, which has to outlive it, with a QuantizeLinear and a DequantizeLinear behind each quantized value. The
 * layers' weights are int8 constants, their biases int32 constants behind a DequantizeLinear. Values keep their names: `NAME` is the float
 * value in front of the pair, NAME_quantized and NAME_dequantized come out of it. Where NAME is an output of the graph, it is what comes
 * out of the pair. Below opset 13, where DequantizeLinear has no axis, both operators are those of the domain com.microsoft.
 *
 * A layer's bias may have been changed since its values were rounded, by anything that leaves it within int32.
 */
struct onnx_graph *insert(const struct scheme *scheme);

#endif
