/* SPDX-License-Identifier: MIT */
/* Runs of a network that are timed: what `bench` prints, and `report` draws. */
#ifndef MORSEL_TOOLS_VERBS_BENCH_H
#define MORSEL_TOOLS_VERBS_BENCH_H

#include "tools/network/network.h"
#include "tools/network/pool.h"
#include "tools/verbs/latency.h"

struct bench {
    struct network_call call;
    struct network network;
    struct network_run *run;
    long runs, seconds, warmup, threads, batch;
    bool layers;
    uint8_t **inputs; /* what is written into each input before every run, of one image after the other */
    uint32_t input_count;
    /* For a batch of several times the network's own: so many images, each run whole by one of some threads. */
    uint32_t images; /* 0: the network's own batch */
    struct pool *pool;
    struct network_run *crowd[POOL_THREADS_MOST];
    double first_ms;
    struct latency latency;
    double *step_ms; /* [step] median, with `layers` */
};

/* Opens call.path and times it as the fields say; bench_free() lets go of it, whatever came of it. */
bool bench_run(struct bench *bench, struct failure *failure);
void bench_free(struct bench *bench);

/* A step by its number: name, kind, whose kernel. What all of them took. */
struct morsel_step bench_step(const struct bench *bench, uint32_t index);
double bench_all_steps_ms(const struct bench *bench);
size_t bench_arena_bytes(const struct bench *bench);
size_t bench_lent_bytes(const struct bench *bench); /* what the arenas have besides */
double bench_open_us(const struct bench *bench);

#endif
