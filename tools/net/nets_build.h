/* SPDX-License-Identifier: MIT */
/* The layers that built-in networks are made of. Activations are uint8; those without a ReLU have the zero point 128, others 0. */
#ifndef MORSEL_TOOLS_NET_NETS_BUILD_H
#define MORSEL_TOOLS_NET_NETS_BUILD_H

#include "tools/net/net.h"

struct maker {
    struct net *net;
    uint64_t state; /* of the rule for weights */
    uint32_t layers;
};

enum activation { PLAIN, RELU };

void make_start(struct maker *m, const char *name);
struct net_buffer *make_picture(struct maker *m, uint32_t h, uint32_t w, uint32_t c);
struct net_buffer *make_vector(struct maker *m, uint32_t n);

/* Odd windows have the same padding on both sides; even ones so much that the output has 1 / stride of the rows and columns. */
struct net_buffer *make_conv(struct maker *m, struct net_buffer *x, uint32_t outputs, uint32_t kernel_h, uint32_t kernel_w, uint32_t stride,
                             enum activation activation);
struct net_buffer *make_depthwise(struct maker *m, struct net_buffer *x, uint32_t kernel, uint32_t stride, enum activation activation);
struct net_buffer *make_fc(struct maker *m, struct net_buffer *x, uint32_t outputs, enum activation activation);
struct net_buffer *make_sum(struct maker *m, struct net_buffer *a, struct net_buffer *b, enum activation activation);
struct net_buffer *make_max_pool(struct maker *m, struct net_buffer *x, uint32_t kernel, uint32_t stride);
struct net_buffer *make_mean(struct maker *m, struct net_buffer *x); /* over rows and columns: a vector */
struct net_buffer *make_softmax(struct maker *m, struct net_buffer *x);
struct net_buffer *make_concat(struct maker *m, struct net_buffer *a, struct net_buffer *b);
/* Channels first, first + 1 .. of x after a shuffle of two groups; x as it is where shuffle is false. */
struct net_buffer *make_part(struct maker *m, struct net_buffer *x, uint32_t first, uint32_t channels, bool shuffle);

void make_end(struct maker *m, struct net_buffer *y);

#endif
