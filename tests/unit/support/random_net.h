/* SPDX-License-Identifier: MIT */
/* Random networks of steps that may stream rows, and of some that may not beside them. */
#ifndef RANDOM_NET_H
#define RANDOM_NET_H

#include "tools/net/net.h"

/* The largest that is made of each. */
struct random_net_limits {
    uint32_t rows, columns, channels, outputs, pieces;
};

/* The same for the same seed. A batch of `images`. */
struct net *random_net(uint32_t seed, uint32_t images, const struct random_net_limits *limits);

#endif
