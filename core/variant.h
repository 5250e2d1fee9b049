/* SPDX-License-Identifier: MIT */
/* Where the variants of an open model are. What stands there is not checked before morsel_open_variant(). */
#ifndef MORSEL_VARIANT_H
#define MORSEL_VARIANT_H

#include "format.h"
#include "morsel.h"

/* The header of variant `index`, and how many bytes of the blob there are from it on, as many as a header of version 1 at least. NULL:
 * there is no such variant, or its place is none. */
const struct morsel_blob_header *morsel_variant_header(const struct morsel_model *model, uint32_t index, uint32_t *bytes);

#endif
