/* SPDX-License-Identifier: MIT */
/* Sound blobs, half of them with steps that stream: small random networks, planned by the tool into the least arena. Included once, by the
 * fuzzer. */
#ifndef MORSEL_TEST_SEED_STREAM_H
#define MORSEL_TEST_SEED_STREAM_H

#include "fuzz.h"
#include "seed_blob.h"
#include "tests/unit/support/random_net.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* 0: none for this seed. */
static size_t seed_stream(uint64_t seed, uint8_t *out, size_t capacity) {
    static const struct random_net_limits limits = {12, 8, 8, 8, 3};
    static const struct blob_extras none = {0};
    struct net *net = random_net((uint32_t)seed, fuzz_below(&seed, 4) ? 1 : 2, &limits);
    size_t bytes = 0;
    net->arena_room = 1;
    uint8_t *blob = plan_arena(net) && net->group_count ? blob_write(net, &none, &bytes) : NULL;
    net_free(net);
    bytes = blob && bytes <= capacity ? bytes : 0;
    if (bytes) memcpy(out, blob, bytes);
    free(blob);
    return bytes;
}

static inline size_t seed_any_blob(uint64_t seed, uint8_t *bytes, size_t capacity) {
    size_t size = seed % 2 ? seed_stream(seed / 2, bytes, capacity) : 0;
    return size ? size : seed_blob(seed, bytes, capacity);
}

#endif
