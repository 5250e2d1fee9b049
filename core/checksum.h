/* SPDX-License-Identifier: MIT */
/* The checksum of a blob: finds accidents of transport and storage, not forgery. Shared by the library and the converter. */
#ifndef MORSEL_CHECKSUM_H
#define MORSEL_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of a whole blob, aligned to 4, without the four bytes of its own checksum field. `bytes` is at least a header. */
uint32_t morsel_checksum(const void *blob, size_t bytes);

#endif
