/* SPDX-License-Identifier: MIT */
/* The runner: check_kernels [--seed S] [--cases N] [--kernel NAME] [--isa NAME] [--case N] [--first] [--bench|--random-only] */
#include "check.h"
#include "core/kind.h"
#include "kernels/reference/reference.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOWN 3 /* failures of a kernel that are shown */
#define CASE_SECONDS 60

static const struct family *const families[] = {
    &family_conv,         &family_depthwise, &family_fc,           &family_matmul,
    &family_qadd,         &family_qmul,      &family_binary,       &family_unary,
    &family_lut,          &family_mean,      &family_softmax,      &family_layer_norm,
    &family_average_pool, &family_max_pool,  &family_float_conv,   &family_copy,
    &family_gather,       &family_lookup,    &family_float_matmul, &family_resize,
    &family_cast,         &family_range,     &family_factors,      &family_quantize,
    &family_across,       &family_blend,     &family_grid_sample,  &family_non_max_suppression,
    &family_colors,
};
_Static_assert(sizeof families / sizeof *families ==
                   (offsetof(struct morsel_kernels, refusals) + sizeof(struct morsel_pixel_kernels)) / sizeof(any_fn *),
               "one for each slot");
#define FAMILIES (sizeof families / sizeof *families)

static const struct isa {
    const char *name;
    uint32_t bit;
} isas[] = {
    {"c", 0},
    {"neon", MORSEL_CPU_NEON},
    {"dotprod", MORSEL_CPU_DOTPROD},
    {"i8mm", MORSEL_CPU_I8MM},
    {"avx2", MORSEL_CPU_AVX2},
    {"avxvnni", MORSEL_CPU_AVXVNNI},
    {"avx512vnni", MORSEL_CPU_AVX512VNNI | MORSEL_CPU_AVX512VBMI},
};
#define ISAS (sizeof isas / sizeof *isas)

static struct {
    uint64_t seed;
    uint32_t cases;
    long only_case;
    const char *kernel, *isa;
    bool bench, random_only, first;
} options = {.cases = 400, .only_case = -1};

/* ---- faults ---- */

static sigjmp_buf after_fault;
static volatile sig_atomic_t armed;

static void on_fault(int number) {
    if (armed) siglongjmp(after_fault, number);
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_faults(void) {
    static const int faults[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGALRM};
    struct sigaction action = {.sa_handler = on_fault};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigaction(faults[i], &action, NULL);
}

static const char *fault_text(int number) {
    switch (number) {
    case SIGILL: return "an instruction that this CPU does not have (SIGILL)";
    case SIGALRM: return "it did not end within a minute";
    case SIGFPE: return "SIGFPE";
    default: return "a read or write outside its buffers (SIGSEGV)";
    }
}

/* ---- one case ---- */

static any_fn *slot_of(const struct tables *table, const struct family *f) {
    any_fn *fn;
    memcpy(&fn, (const char *)table + f->slot, sizeof fn);
    return fn;
}

/* The same case for every instruction set. */
static void make_trial(struct trial *t, const struct family *f, uint32_t number, uint32_t flip) {
    memset(t, 0, sizeof *t);
    t->number = number;
    t->bench = number < f->fixed;
    t->sign_flip = flip;
    t->slots = SLOT_INPUTS;
    t->chance.state = options.seed * 1000003u + number;
    for (const char *p = f->name; *p; p++) t->chance.state = t->chance.state * 31 + (uint8_t)*p;
    f->make(t);
    t->fill = t->chance.state ^ 0x5555;
    for (unsigned i = SLOT_INPUTS; i < t->slots; i++) memory_protect(i, t->writable && i == t->writable);
}

/* Results start as chance, equal for both, so that what is left unwritten shows too. */
static void place_output(struct trial *t, unsigned slot, bool high) {
    struct chance fill = {t->fill};
    uint8_t *y = memory_place(slot, t->y_bytes, t->y_align, high);
    chance_bytes(&fill, y, t->y_bytes);
    if (t->alias) {
        memcpy(y, t->alias_from, t->y_bytes);
        *t->alias = y;
    }
    *t->y = y;
}

/* All units in ranges of any length, in any order. */
static void call_cut(struct trial *t, const struct family *f, any_fn *fn) {
    struct chance *c = &t->chance;
    uint32_t cut = chance_one_in(c, 2) || t->units < 2 ? t->units : 1 + chance_below(c, t->units);
    for (uint32_t begin = cut, n; begin < t->units; begin += n) {
        n = 1 + chance_below(c, t->units - begin);
        f->call(t, fn, begin, begin + n);
    }
    f->call(t, fn, 0, cut);
}

static bool compare(struct trial *t, char *why, size_t size) {
    const uint8_t *want = t->expected, *got = *t->y;
    for (size_t i = 0; i < t->y_bytes; i++) {
        if (want[i] == got[i]) continue;
        uint32_t w = want[i], g = got[i];
        if (t->y_align == 4) {
            i -= i % 4;
            memcpy(&w, want + i, 4);
            memcpy(&g, got + i, 4);
        }
        snprintf(why, size, "element %zu of %zu: %#x, expected %#x", i / t->y_align, t->y_bytes / t->y_align, (unsigned)g, (unsigned)w);
        return false;
    }
    if (t->writable && !memory_intact(t->writable)) snprintf(why, size, "it wrote outside its room");
    else if (!memory_intact(SLOT_RESULT)) snprintf(why, size, "it wrote outside the output");
    else return true;
    return false;
}

/* False: the kernel is wrong, and `why` says how. */
static bool try_case(struct trial *t, const struct family *f, any_fn *reference, any_fn *fn, char *why, size_t size) {
    volatile bool kernel = false;
    int fault = sigsetjmp(after_fault, 1);
    if (fault) {
        armed = 0;
        alarm(0);
        snprintf(why, size, "%s%s", kernel ? "" : "the reference: ", fault_text(fault));
        return false;
    }
    armed = 1;
    alarm(CASE_SECONDS);
    place_output(t, SLOT_EXPECTED, false);
    t->expected = *t->y;
    f->call(t, reference, 0, t->units);
    kernel = true;
    place_output(t, SLOT_RESULT, !chance_one_in(&t->chance, 4));
    if (t->strided_pixels && !t->bench && chance_one_in(&t->chance, 3)) t->blocks = 1 + chance_below(&t->chance, 4);
    call_cut(t, f, fn);
    armed = 0;
    alarm(0);
    if (!memory_intact(SLOT_EXPECTED)) snprintf(why, size, "the reference wrote outside the output");
    return memory_intact(SLOT_EXPECTED) && compare(t, why, size);
}

/* ---- time ---- */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The shortest of several runs. */
static void time_case(struct trial *t, const struct family *f, any_fn *fn, const char *isa) {
    double best = 1e9, end = seconds() + 0.05;
    place_output(t, SLOT_RESULT, true);
    for (int i = 0; i < 3 || (seconds() < end && i < 1000); i++) {
        double start = seconds();
        f->call(t, fn, 0, t->units);
        double took = seconds() - start;
        if (took < best) best = took;
    }
    printf("%-10s %-10s %9.1f us %8.2f GMAC/s %8.3f ns/output  %s\n", f->name, isa, best * 1e6, (double)t->macs / best * 1e-9,
           best * 1e9 / (double)(t->y_bytes / t->y_align), t->text);
}

/* ---- kernels ---- */

/* What this CPU has; in a build with MORSEL_AVXVNNI_EVEX (x86/dot_avxvnni.h) AVX-VNNI where it has AVX512-VNNI. */
static uint32_t cpu_features(void) {
    uint32_t cpu = morsel_cpu_features();
#if defined(MORSEL_AVXVNNI_EVEX)
    cpu &= ~(uint32_t)MORSEL_CPU_AVXVNNI;
    if (cpu & MORSEL_CPU_AVX512VNNI) cpu |= MORSEL_CPU_AVXVNNI;
#endif
    return cpu;
}

static uint32_t case_count(const struct family *f) {
    return options.bench ? f->fixed : f->fixed + options.cases;
}

static bool check_kernel(const struct family *f, const struct isa *isa, const struct tables *table) {
    const struct tables references = {morsel_kernels_reference, morsel_pixels_reference};
    any_fn *reference = slot_of(&references, f), *fn = slot_of(table, f);
    uint32_t failed = 0, done = 0;
    static struct trial t;
    for (uint32_t i = options.random_only ? f->fixed : 0; i < case_count(f); i++) {
        char why[200];
        if (options.only_case >= 0 && (uint32_t)options.only_case != i) continue;
        make_trial(&t, f, i, table->steps.store_flip);
        t.strided_pixels = table->steps.strided_pixels;
        done++;
        if (try_case(&t, f, reference, fn, why, sizeof why)) {
            if (options.bench) time_case(&t, f, fn, isa->name);
            continue;
        }
        if (failed++ >= SHOWN) continue;
        printf("    case %u: %s\n    %s\n", (unsigned)i, t.text, why);
        printf("    again: --seed %llu --kernel %s --isa %s --case %u\n", (unsigned long long)options.seed, f->name, isa->name,
               (unsigned)i);
        if (options.first) break;
    }
    if (failed || !done) printf("FAIL %-12s %-10s %u of %u cases\n", f->name, isa->name, (unsigned)failed, (unsigned)done);
    else if (!options.bench) printf("ok   %-12s %-10s %u cases\n", f->name, isa->name, (unsigned)done);
    fflush(stdout);
    return !failed && done;
}

static void choose(struct tables *table, uint32_t cpu) {
    morsel_kinds_kernels(&table->steps, cpu);
    morsel_pixels_choose(&table->pixels, cpu);
}

/* Kernels of one instruction set that none below it had. */
static bool check_isa(const struct isa *isa, struct tables *seen, uint32_t *compared) {
    struct tables table;
    bool good = true;
    uint32_t lower = isa->bit ? isa->bit - 1 : 0;
    choose(&table, cpu_features() & (isa->bit | lower));
    for (size_t i = 0; i < FAMILIES; i++) {
        const struct family *f = families[i];
        if (options.kernel && strcmp(options.kernel, f->name)) continue;
        if (slot_of(&table, f) == slot_of(seen, f)) {
            if (options.kernel) printf("     %-12s %-10s has none of its own: it takes the one above\n", f->name, isa->name);
            continue;
        }
        good &= check_kernel(f, isa, &table);
        ++*compared;
        if (!good && options.first) break;
    }
    *seen = table;
    return good;
}

static int check_all(void) {
    struct tables seen = {0};
    uint32_t compared = 0;
    bool good = true;
    for (size_t i = 0; i < ISAS && (good || !options.first); i++) {
        bool here = !isas[i].bit || (cpu_features() & isas[i].bit);
        if (here && (!options.isa || !strcmp(options.isa, isas[i].name))) good &= check_isa(&isas[i], &seen, &compared);
        else if (here) choose(&seen, cpu_features() & (isas[i].bit | (isas[i].bit ? isas[i].bit - 1 : 0)));
    }
    if (!compared) printf("FAIL nothing was compared: no such kernel, or none of its own for an instruction set of this CPU\n");
    return good && compared ? 0 : 1;
}

/* ---- the command ---- */

static int usage(const char *word) {
    fprintf(stderr, "check_kernels: there is no option %s, or its value is missing; --help lists them\n", word);
    return 2;
}

static int help(void) {
    printf("usage: check_kernels [options]\n\n"
           "Compares the kernels in plain C and those of every instruction set that this CPU has with kernels/reference,\n"
           "byte for byte: fixed cases, then random ones.\n\n"
           "  --seed S        of the random cases [the time]\n"
           "  --cases N       random cases for each kernel [%u]\n"
           "  --kernel NAME   one kernel:",
           (unsigned)options.cases);
    for (size_t i = 0; i < FAMILIES; i++) printf("%s%s", i % 8 ? " " : i ? "\n                  " : " ", families[i]->name);
    printf("\n  --isa NAME      one instruction set:");
    for (size_t i = 0; i < ISAS; i++) printf(" %s", isas[i].name);
    printf("\n  --case N        one case, as a failure names it\n"
           "  --random-only   leaves out the fixed cases\n"
           "  --first         ends at the first case that fails\n"
           "  --bench         the fixed cases alone, with the time that each takes\n"
           "  --help          this text\n\nExit status: 0 all the same, 1 something differs, 2 the call is at fault.\n");
    return 0;
}

static bool take(const char *name, const char *value) {
    if (!value) return false;
    if (!strcmp(name, "--seed")) options.seed = strtoull(value, NULL, 0);
    else if (!strcmp(name, "--cases")) options.cases = (uint32_t)strtoul(value, NULL, 0);
    else if (!strcmp(name, "--case")) options.only_case = strtol(value, NULL, 0);
    else if (!strcmp(name, "--kernel")) options.kernel = value;
    else if (!strcmp(name, "--isa")) options.isa = value;
    else return false;
    return true;
}

int main(int argc, char **argv) {
    options.seed = (uint64_t)time(NULL);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) return help();
        if (!strcmp(argv[i], "--bench")) options.bench = true;
        else if (!strcmp(argv[i], "--random-only")) options.random_only = true;
        else if (!strcmp(argv[i], "--first")) options.first = true;
        else if (i + 1 < argc && take(argv[i], argv[i + 1])) i++;
        else return usage(argv[i]);
    }
    printf("seed %llu\n", (unsigned long long)options.seed);
    catch_faults();
    return check_all();
}
