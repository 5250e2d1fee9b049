/* SPDX-License-Identifier: MIT */
/*
 * Sixteen lanes take the 32-bit words in turn. A step is x = lane ^ word; lane = (x ^ x >> 15) * prime. For any word it is a bijection of
 * the lane, and for any lane one of the word: no change of a single word goes unseen. A flipped bit never leaves a step as a single one,
 * which another flipped bit could undo. The lanes do not wait for each other: a multiplication can begin in each cycle, and where there
 * are vectors, compilers use them. The prime is 2^21 + 2^12 + 1: two shifts and two additions where vectors cannot multiply. The last
 * bytes count as a block padded with zeros, and the length is mixed in at the end. Words are read as the machine has them: only
 * little-endian machines write and open blobs.
 */
#include "checksum.h"

#include "format.h"

#include <string.h>

#define LANES 16u
#define BLOCK (4 * LANES)
#define OWN_WORD (offsetof(struct morsel_blob_header, checksum) / 4)

_Static_assert(OWN_WORD < LANES && sizeof(struct morsel_blob_header) >= BLOCK, "the checksum stands in the first block");

static inline uint32_t mix(uint32_t lane, uint32_t word) {
    lane ^= word;
    return (lane ^ lane >> 15) * 0x00201001u;
}

/* Unrolled by hand, so that the lanes stay in registers. */
static inline void mix_four(uint32_t *lanes, const uint32_t *words) {
    lanes[0] = mix(lanes[0], words[0]);
    lanes[1] = mix(lanes[1], words[1]);
    lanes[2] = mix(lanes[2], words[2]);
    lanes[3] = mix(lanes[3], words[3]);
}

static void mix_blocks(uint32_t *to, const uint32_t *words, size_t blocks) {
    uint32_t lanes[LANES];
    for (size_t k = 0; k < LANES; k++) lanes[k] = to[k];
    for (; blocks; blocks--, words += LANES) {
        mix_four(lanes, words);
        mix_four(lanes + 4, words + 4);
        mix_four(lanes + 8, words + 8);
        mix_four(lanes + 12, words + 12);
    }
    for (size_t k = 0; k < LANES; k++) to[k] = lanes[k];
}

uint32_t morsel_checksum(const void *blob, size_t bytes) {
    const uint32_t *words = blob;
    uint32_t lanes[LANES], block[LANES], sum = mix(0, (uint32_t)bytes);
    for (uint32_t k = 0; k < LANES; k++) lanes[k] = (k + 1) * 0x85ebca6bu;
    memcpy(block, words, BLOCK);
    block[OWN_WORD] = 0;
    mix_blocks(lanes, block, 1);
    mix_blocks(lanes, words + LANES, bytes / BLOCK - 1);
    if (bytes % BLOCK) {
        memset(block, 0, BLOCK);
        memcpy(block, words + bytes / BLOCK * LANES, bytes % BLOCK);
        mix_blocks(lanes, block, 1);
    }
    for (uint32_t k = 0; k < LANES; k++) sum = mix(sum, lanes[k]);
    return sum ^ sum >> 16;
}
