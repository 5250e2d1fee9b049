/* SPDX-License-Identifier: MIT */
/*
 * Four lanes take the little-endian 32-bit words in turn, each step lane = rotate(lane ^ word, 5) * prime: a bijection of the lane for
 * any word and of the word for any lane, so no change of a single word goes unseen. The rest of the bytes count as a word padded with
 * zeros, and the length is mixed in at the end.
 */
#include "checksum.h"

#include "format.h"

#define CHECKSUM_AT offsetof(struct morsel_blob_header, checksum)

static uint32_t mix(uint32_t lane, uint32_t word) {
    lane ^= word;
    return (lane << 5 | lane >> 27) * 0x9e3779b1u;
}

static uint32_t word_at(const uint8_t *p, size_t left) {
    uint32_t word = 0;
    for (size_t i = 0; i < 4 && i < left; i++) word |= (uint32_t)p[i] << 8 * i;
    return word;
}

uint32_t morsel_checksum(const void *blob, size_t bytes) {
    const uint8_t *p = blob;
    uint32_t lanes[4] = {0x811c9dc5u, 0x01000193u, 0xcbf29ce4u, 0x84222325u};
    size_t i = 0;
    for (; bytes - i >= 16; i += 16) {
        for (size_t k = 0; k < 4; k++) lanes[k] = mix(lanes[k], i + 4 * k == CHECKSUM_AT ? 0 : word_at(p + i + 4 * k, 4));
    }
    for (size_t k = 0; i < bytes; i += 4, k++) lanes[k] = mix(lanes[k], word_at(p + i, bytes - i));
    uint32_t sum = mix(0, (uint32_t)bytes);
    for (size_t k = 0; k < 4; k++) sum = mix(sum, lanes[k]);
    return sum ^ sum >> 16;
}
