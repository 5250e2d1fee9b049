/* SPDX-License-Identifier: MIT */
/* What is refused at a network's ends, and the options that cut it off. */
#ifndef MORSEL_TOOLS_VERBS_HOST_ENDS_H
#define MORSEL_TOOLS_VERBS_HOST_ENDS_H

#include "tools/verbs/host/conversion.h"

/* Where layers stand between what is refused and one end of the network, and none at the other: "--output-node X", for c->ends. */
void ends_find(const struct conversion_call *call, struct conversion *c);

/* A line on stderr that says so, where there is something to say. */
void ends_print(const struct conversion_call *call, const struct conversion *c);

#endif
