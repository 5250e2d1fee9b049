/* SPDX-License-Identifier: MIT */
/*
 * make_networks FOLDER COUNT [--built-in]: blobs whose answers are compared, by seed, the same each time:
 *
 *   steps-N.morsel    some steps of every kind, by the seeds of the fuzzer of morsel_open()
 *   stream-N.morsel   layers planned into the least arena, so that groups stream; some in batches
 *   whole-N.morsel    the same layers, every tensor whole
 *   NET.morsel, NET-least.morsel, NET-whole.morsel    with --built-in: the networks that are built in, in three arenas
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/seed_blob.h"
#include "tests/unit/support/honest.h"
#include "tests/unit/support/random_net.h"
#include "tools/base/message.h"
#include "tools/net/blob/blob.h"
#include "tools/net/nets.h"
#include "tools/net/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

static const char *folder;

static void write_blob(const char *kind, const char *name, const void *blob, size_t bytes) {
    char path[4096];
    struct failure failure;
    snprintf(path, sizeof path, "%s/%s%s.morsel", folder, name, kind);
    if (!file_write(path, blob, bytes, &failure)) exit(message_failure(&failure));
}

static void make_steps(uint32_t seed, const char *number) {
    enum { CAPACITY = DATA_START + SEED_DATA };
    static _Alignas(MORSEL_ALIGNMENT) uint8_t blob[CAPACITY];
    struct morsel_model model;
    size_t bytes = seed_blob(seed, blob, CAPACITY);
    if (!bytes || morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM)) {
        fprintf(stderr, "make_networks: seed %u gives no sound blob\n", (unsigned)seed);
        exit(1);
    }
    honest_make(blob);
    write_blob(number, "steps", blob, bytes);
}

static void make_layers(uint32_t seed, const char *number, const char *kind, uint32_t arena_room) {
    static const struct random_net_limits limits = {40, 24, 20, 40, 6};
    static const struct blob_extras none = {0};
    struct net *net = random_net(seed, seed % 4 ? 1 : 2, &limits);
    size_t bytes = 0;
    net->arena_room = arena_room;
    net->no_streaming = !arena_room;
    uint8_t *blob = plan_arena(net) ? blob_write(net, &none, &bytes) : NULL;
    net_free(net);
    if (!blob) {
        fprintf(stderr, "make_networks: seed %u gives no network\n", (unsigned)seed);
        exit(1);
    }
    write_blob(number, kind, blob, bytes);
    free(blob);
}

static void make_built_in(const char *name, const char *kind, bool no_streaming, uint32_t arena_room) {
    struct file_bytes blob;
    struct failure failure;
    if (!nets_blob(name, no_streaming, arena_room, &blob, &failure)) exit(message_failure(&failure));
    write_blob(kind, name, blob.data, blob.size);
    file_free(&blob);
}

static void make_all_built_in(void) {
    char names[1024];
    snprintf(names, sizeof names, "%s", nets_names());
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        make_built_in(name, "", false, 0);
        make_built_in(name, "-least", false, 1);
        make_built_in(name, "-whole", true, 0);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fputs("usage: make_networks FOLDER COUNT [--built-in]\n", stderr);
        return 2;
    }
    folder = argv[1];
    uint32_t count = (uint32_t)strtoul(argv[2], NULL, 10);
    for (uint32_t seed = 1; seed <= count; seed++) {
        char number[16];
        snprintf(number, sizeof number, "-%04u", (unsigned)seed);
        make_steps(seed, number);
        make_layers(seed, number, "stream", 1);
        make_layers(seed, number, "whole", 0);
    }
    if (argc > 3) make_all_built_in();
    return 0;
}
