/* SPDX-License-Identifier: MIT */
/* Blobs made by themselves as the variants of one: they stand one behind the other, and the list behind them. */
#ifndef JOINED_H
#define JOINED_H

#include "core/morsel.h"

/* For free(), like the blobs, which stay the caller's. The first is of format 2. *list: where the list stands. */
uint8_t *joined(uint8_t *const *blobs, uint32_t count, uint32_t *bytes, uint32_t *list);

#endif
