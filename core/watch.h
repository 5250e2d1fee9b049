/* SPDX-License-Identifier: MIT */
/* How a run tells the session's watch of the steps that it has done. */
#ifndef MORSEL_WATCH_H
#define MORSEL_WATCH_H

#include "call.h"

/* Tells the session's watch of step `index`. */
void morsel_tell_watch(const struct morsel_session *session, uint32_t index, int done);

#endif
