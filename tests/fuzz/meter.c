/* SPDX-License-Identifier: MIT */
/*
 * Between an engine and a fuzzer, by the linker's --wrap: counts inputs, and finds the slowest for its size and those that hang. What it
 * found stands in a line that begins with "meter:", when the program ends. An input that hangs is kept, as MORSEL_METER says.
 *
 * An input hangs that takes more than a second of this thread, and more than a second for each of its megabytes.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int __real_LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
uint32_t __real_morsel_cpu_features(void);
uint32_t __wrap_morsel_cpu_features(void);

enum { SMALL = 4096 }; /* a shorter input counts as so many bytes */

static const double megabyte = 1 << 20, long_wall = 0.001;

static struct {
    unsigned long long inputs, hangs;
    double slowest, seconds; /* seconds a megabyte; and how many it took */
    size_t size;
} meter;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tell(void) {
    printf("meter: inputs %llu hangs %llu slowest %.3f s a megabyte (%.4f s, %zu bytes)\n", meter.inputs, meter.hangs, meter.slowest,
           meter.seconds, meter.size);
    if (fuzz_report) fuzz_report(meter.inputs);
    fflush(stdout);
}

static void keep(const uint8_t *bytes, size_t size) {
    char path[4096];
    const char *folder = getenv("MORSEL_METER");
    snprintf(path, sizeof path, "%s/hang-%llu", folder ? folder : ".", meter.hangs);
    FILE *file = fopen(path, "wb");
    if (!file) return;
    fwrite(bytes, 1, size, file);
    fclose(file);
}

static void note(const uint8_t *bytes, size_t size, double seconds) {
    double megabytes = (double)(size > SMALL ? size : SMALL) / megabyte, rate = seconds / megabytes;
    if (rate > meter.slowest) {
        meter.slowest = rate;
        meter.seconds = seconds;
        meter.size = size;
    }
    if (seconds <= 1 || rate <= 1) return;
    meter.hangs++;
    keep(bytes, size);
}

/* Time that others took is none of ours, but the clock that knows it is a call of the kernel: the wall's comes first. */
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (!meter.inputs++) atexit(tell);
    double wall = now(CLOCK_MONOTONIC), own = now(CLOCK_THREAD_CPUTIME_ID);
    int result = __real_LLVMFuzzerTestOneInput(bytes, size);
    if (now(CLOCK_MONOTONIC) - wall > long_wall) note(bytes, size, now(CLOCK_THREAD_CPUTIME_ID) - own);
    return result;
}

/* The features do not change, and a virtual machine takes a microsecond or ten for each cpuid: a third of the time, if asked each time. */
uint32_t __wrap_morsel_cpu_features(void) {
    static uint32_t features;
    static int known;
    if (!known) features = __real_morsel_cpu_features();
    known = 1;
    return features;
}
