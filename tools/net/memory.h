/* SPDX-License-Identifier: MIT */
/* Who lives where in a network's arena, from when to when, and who fills it where it is fullest. */
#ifndef MORSEL_TOOLS_NET_MEMORY_H
#define MORSEL_TOOLS_NET_MEMORY_H

#include "core/blob.h"
#include "tools/base/failure.h"

enum memory_kind {
    MEMORY_CALLS,   /* the slots of all steps, at the arena's front */
    MEMORY_WHOLE,   /* a whole tensor */
    MEMORY_RING,    /* some rows of one */
    MEMORY_SCRATCH, /* of a step */
};

#define MEMORY_NONE 0xffffffffu

/* What a group of steps touches lives from its first step to its last. */
struct memory_slice {
    enum memory_kind kind;
    uint32_t index; /* the tensor; SCRATCH: the step */
    uint32_t offset, bytes;
    uint32_t first, last; /* steps: alive at both and between them */
    uint32_t over;        /* the tensor that it is written over, in place or trailing; MEMORY_NONE. Holders: if that one is alive still */
    uint32_t over_last;   /* that one's last step */
    uint32_t own;         /* holders: bytes that none of the others counts; what lies over an input counts there */
};

/* The arena's two parts: fast memory, and what is before it. */
struct memory_part {
    uint32_t bytes, peak_step, peak_bytes;
    uint64_t traffic; /* bytes of tensors and scratch that a run reads and writes there (plan/traffic.h) */
};

struct memory {
    struct memory_slice *slices; /* CALLS, then WHOLE and RING in the order of tensors, then SCRATCH */
    uint32_t count;
    uint32_t *live; /* [step]: bytes in use there, shared ones once, slots included */
    uint32_t peak_step, peak_bytes;
    struct memory_slice *holders; /* the slices that are alive there, the largest part first; their own bytes add up to peak_bytes */
    uint32_t holder_count;
    struct memory_part slow, fast; /* fast.bytes: 0 where all is in one */
};

bool memory_read(const struct morsel_model *network, struct memory *memory, struct failure *failure);
void memory_free(struct memory *memory);

static inline bool memory_alive(const struct memory_slice *slice, uint32_t step) {
    return slice->first <= step && step <= slice->last;
}

const char *memory_kind_name(enum memory_kind kind); /* "ring" */

/* Of the verbs that plan: --arena (0: not given) and --no-streaming together are an error; an arena that cannot be had gets a notice. */
bool memory_call_fits(long arena, bool no_streaming, struct failure *failure);
void memory_notice(long asked, uint32_t bytes);
/* --arena-fast, of which the plan uses so many bytes: none is worth a notice. */
void memory_notice_fast(long asked, uint32_t bytes);

#endif
