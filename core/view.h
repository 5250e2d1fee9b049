/* SPDX-License-Identifier: MIT */
/* What the bytes of a view mean to a kernel. */
#ifndef MORSEL_VIEW_H
#define MORSEL_VIEW_H

#include "morsel.h"

#include "../kernels/kernels.h"

/* Views hold the bytes of their own type, but for `sign_flip`. */
struct morsel_qparams morsel_view_qparams(const struct morsel_view *view);

#endif
