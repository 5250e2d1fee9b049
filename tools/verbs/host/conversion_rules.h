/* SPDX-License-Identifier: MIT */
/* The rules and labels of a conversion beside the network, and the blob that is made of both: a part of conversion.h. */
#ifndef MORSEL_TOOLS_VERBS_HOST_CONVERSION_RULES_H
#define MORSEL_TOOLS_VERBS_HOST_CONVERSION_RULES_H

#include "tools/verbs/host/conversion.h"

/* Whether labels and answer rule go with the graph: asked before there is a net. */
bool rules_fit(const struct conversion_call *call, struct conversion *c, struct failure *failure);

/* The blob of all nets, with the rules that fit each. */
bool rules_write(const struct conversion_call *call, struct conversion *c, struct failure *failure);

#endif
