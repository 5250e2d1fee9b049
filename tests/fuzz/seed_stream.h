/* SPDX-License-Identifier: MIT */
/* Sound blobs, half of them with steps that stream: small random networks, planned by the tool into the least arena. Some have variants.
 * Included once, by the fuzzer. */
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
    if (!fuzz_below(&seed, 3)) net->fast_room = 64 * fuzz_between(&seed, 1, 40);
    uint8_t *blob = plan_arena(net) && net->group_count ? blob_write(net, &none, &bytes) : NULL;
    net_free(net);
    bytes = blob && bytes <= capacity ? bytes : 0;
    if (bytes) memcpy(out, blob, bytes);
    free(blob);
    return bytes;
}

/* One network for batches of 2 and 1, which share what is alike; and another one beside them. 0: none for this seed. */
static size_t seed_variants(uint64_t seed, uint8_t *out, size_t capacity) {
    static const struct random_net_limits limits = {10, 6, 6, 6, 3};
    uint32_t words[SEED_TEXT_WORDS], count = fuzz_between(&seed, 2, 3), first = (uint32_t)seed;
    struct net *nets[3];
    struct blob_extras extras[3] = {{0}};
    bool planned = true;
    if (fuzz_below(&seed, 2)) extras[0].text_words = seed_text(&seed, words);
    for (uint32_t i = 0; i < count; i++) {
        nets[i] = random_net(first + i / 2, i ? 1 : 2, &limits);
        nets[i]->arena_room = 1;
        if (fuzz_below(&seed, 2)) nets[i]->fast_room = 64 * fuzz_between(&seed, 1, 40);
        planned = plan_arena(nets[i]) && planned;
        extras[i].text_words = extras[0].text_words;
        extras[i].text = extras[0].text_words ? words : NULL;
    }
    size_t bytes = 0;
    uint8_t *blob = planned ? blob_write_variants((const struct net *const *)nets, count, extras, &bytes) : NULL;
    for (uint32_t i = 0; i < count; i++) net_free(nets[i]);
    bytes = blob && bytes <= capacity ? bytes : 0;
    if (bytes) memcpy(out, blob, bytes);
    free(blob);
    return bytes;
}

static inline size_t seed_any_blob(uint64_t seed, uint8_t *bytes, size_t capacity) {
    if (seed % 8 == 7) {
        size_t several = seed_variants(seed / 8, bytes, capacity);
        if (several) return several;
    }
    size_t size = seed % 2 ? seed_stream(seed / 2, bytes, capacity) : 0;
    return size ? size : seed_blob(seed, bytes, capacity);
}

#endif
