/* SPDX-License-Identifier: MIT */
/* The kind of network that an ONNX file is: it runs in float, the reference for what is made of it. */
#ifndef MORSEL_TOOLS_NETWORK_HOST_FLOAT_H
#define MORSEL_TOOLS_NETWORK_HOST_FLOAT_H

#include "tools/float/executor.h"
#include "tools/network/network.h"

extern const struct network_kind network_of_onnx;

/* A graph in memory, of which an executor was made; both stay the caller's, and there is nothing to close. */
struct network network_of_executor(const struct executor *executor);
/* The executor's own run behind one of such a network. */
struct executor_run *network_executor_run(const struct network_run *run);

#endif
