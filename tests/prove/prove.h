/* SPDX-License-Identifier: MIT */
/* What a harness says to the prover. Each function `prove_NAME` is a proof: its parameters are any numbers of their types. */
#ifndef PROVE_H
#define PROVE_H

#include <stdint.h>

void prove_assume(_Bool condition);        /* only what it is true of is looked at */
void prove_assert(_Bool condition);        /* a claim; it is known behind it */
void prove_any(void *object);              /* a whole variable: any bytes */
void *prove_memory(uint64_t bytes);        /* an object of so many bytes, any */
int64_t prove_offset(const void *pointer); /* where it stands in its object */
float prove_nearest(float v);              /* IEEE 754's roundToIntegralTiesToEven */
void prove_bits(void);                     /* this proof is one of bits and floats (tests/prove/README.md) */

typedef __int128 wide; /* what sums and products are in mathematics, as far as they are formed here */

#endif
