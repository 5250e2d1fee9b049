/* SPDX-License-Identifier: MIT */
/* How fast a core runs and how hot it is, before and after it was measured. */
#include "device.h"
#include "tools/base/clock.h"

#include <stdio.h>

enum { ADDS = 100, TURNS = 2000, TRIES = 7 };

/* Some cycles of each of ADDS instructions that wait for each other: the time of a turn tells the clock, whatever the system states.
 * x86 gets multiplications, of three cycles since 2008: sums with constants are folded by some of its cores. */
#if defined(__aarch64__) || defined(__arm__)
enum { CYCLES = 1 };
#define CHAIN(x, y) __asm__ volatile(".rept 100\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(y))
#elif defined(__riscv)
enum { CYCLES = 1 };
#define CHAIN(x, y) __asm__ volatile(".rept 100\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(y))
#elif defined(__x86_64__)
enum { CYCLES = 3 };
#define CHAIN(x, y) __asm__ volatile(".rept 100\n\timul %1, %0\n\t.endr" : "+r"(x) : "r"(y))
#else
enum { CYCLES = 0 };
#define CHAIN(x, y) ((x) += (y))
#endif

static double measured_mhz(void) {
    double best = 1e9;
    unsigned long x = 1, y = 3;
    for (int try = 0; try < TRIES; try++) {
        double start = clock_seconds();
        for (int turn = 0; turn < TURNS; turn++) CHAIN(x, y);
        double took = clock_seconds() - start;
        if (took < best) best = took;
    }
    return (double)ADDS * TURNS * CYCLES / best * 1e-6;
}

static double hottest(void) {
    double hottest = 0;
    for (int zone = 0; zone < 64; zone++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", zone);
        double celsius = (double)read_number(path) / 1000;
        if (celsius > hottest && celsius < 150) hottest = celsius;
    }
    return hottest;
}

static uint64_t frequency(unsigned core, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/%s", core, name);
    return read_number(path);
}

struct condition condition_now(unsigned core) {
    uint64_t allowed = frequency(core, "scaling_max_freq"), able = frequency(core, "cpuinfo_max_freq");
    return (struct condition){.mhz = measured_mhz(),
                              .stated_mhz = (double)frequency(core, "scaling_cur_freq") / 1000,
                              .celsius = hottest(),
                              .capped = allowed && allowed < able};
}
