/* SPDX-License-Identifier: MIT */
/*
 * Between an engine and a fuzzer, by the linker's --wrap: counts inputs, and finds the slowest and those that hang. What it found stands in
 * a line that begins with "meter:", when the program ends. An input that hangs is kept, as MORSEL_METER says.
 *
 * Time is that of this thread on its CPU: what others take is none of it. A fuzzer runs a blob several times, of up to a million turns
 * each: so an input may take a tenth of a second, and a second for each of its megabytes. A picture that its bytes can hold may be large
 * all the same, of a thousand pixels in a byte: it may take 50 ns besides for each pixel, of which there are 2^28 at most. Sanitizers take
 * ten times as long. What takes longer, or longest so far, is tried twice more, and its least time counts. A virtual machine may be slow
 * for seconds, and its clocks do not know: what still seems to hang is tried again, seconds later.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int __real_LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
uint32_t __real_morsel_cpu_features(void);
uint32_t __wrap_morsel_cpu_features(void);

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
static const double slowdown = 10;
#else
static const double slowdown = 1;
#endif

static const double megabyte = 1 << 20, least_allowed = 0.1, a_pixel = 50e-9, long_wall = 0.001;

enum { TRIES = 3, LATER = 3 };

static struct {
    unsigned long long inputs, hangs;
    double longest; /* seconds that an input took */
    size_t size;    /* its bytes */
} meter;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tell(void) {
    printf("meter: inputs %llu taken %llu hangs %llu slowest %.4f s of %zu bytes\n", meter.inputs, fuzz_taken, meter.hangs, meter.longest,
           meter.size);
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

static int hangs(size_t size, double seconds) {
    return seconds > slowdown * (least_allowed + (double)size / megabyte + a_pixel * (double)fuzz_pixels);
}

static void note(const uint8_t *bytes, size_t size, double seconds) {
    if (seconds > meter.longest) {
        meter.longest = seconds;
        meter.size = size;
    }
    if (!hangs(size, seconds)) return;
    meter.hangs++;
    keep(bytes, size);
}

/* The least of some times: the first may hold what a machine does besides. */
static double again(const uint8_t *bytes, size_t size, double least) {
    unsigned long long taken = fuzz_taken;
    for (int i = 1; i < TRIES + LATER && (i < TRIES || hangs(size, least)); i++) {
        if (i >= TRIES) nanosleep(&(struct timespec){.tv_sec = i}, NULL);
        double start = now(CLOCK_THREAD_CPUTIME_ID);
        __real_LLVMFuzzerTestOneInput(bytes, size);
        double seconds = now(CLOCK_THREAD_CPUTIME_ID) - start;
        least = seconds < least ? seconds : least;
    }
    fuzz_taken = taken;
    return least;
}

/* The clock of a thread is a call of the kernel: the wall's comes first. */
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (!meter.inputs++) atexit(tell);
    double wall = now(CLOCK_MONOTONIC), own = now(CLOCK_THREAD_CPUTIME_ID);
    int result = __real_LLVMFuzzerTestOneInput(bytes, size);
    if (now(CLOCK_MONOTONIC) - wall <= long_wall) return result;
    double seconds = now(CLOCK_THREAD_CPUTIME_ID) - own;
    if (seconds > meter.longest || hangs(size, seconds)) note(bytes, size, again(bytes, size, seconds));
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
