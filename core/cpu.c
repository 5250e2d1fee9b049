/* SPDX-License-Identifier: MIT */
/* Which of the library's kernels this CPU can run. */
#include "morsel.h"

#include "../kernels/kernels.h"

_Static_assert((int)MORSEL_HAS_NEON == (int)MORSEL_CPU_NEON && (int)MORSEL_HAS_DOTPROD == (int)MORSEL_CPU_DOTPROD &&
                   (int)MORSEL_HAS_I8MM == (int)MORSEL_CPU_I8MM && (int)MORSEL_HAS_AVX2 == (int)MORSEL_CPU_AVX2 &&
                   (int)MORSEL_HAS_AVXVNNI == (int)MORSEL_CPU_AVXVNNI && (int)MORSEL_HAS_AVX512VNNI == (int)MORSEL_CPU_AVX512VNNI &&
                   (int)MORSEL_HAS_AVX512VBMI == (int)MORSEL_CPU_AVX512VBMI,
               "one set of bits");

#if defined(MORSEL_CPU_FIXED)

/* A build for one machine states what that has, as -DMORSEL_CPU_FIXED="MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD". */
static uint32_t detect(void) {
    return MORSEL_CPU_FIXED;
}

#elif defined(__x86_64__)
#include <cpuid.h>

/* The register state that the system saves: bits 1, 2: xmm, ymm; 5, 6, 7: the AVX-512 registers. */
static uint32_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static uint32_t detect(void) {
    uint32_t a, b, c, d, features = 0;
    uint32_t most = __get_cpuid_max(0, NULL); /* asked once: virtual machines take a microsecond for each cpuid */
    if (most < 7) return 0;
    __cpuid(1, a, b, c, d);
    uint32_t avx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, OSXSAVE, AVX, F16C: every CPU with AVX2 has them */
    if ((c & avx) != avx) return 0;
    uint32_t state = saved_state();
    if ((state & 0x06) != 0x06) return 0;
    __cpuid_count(7, 0, a, b, c, d);
    uint32_t leaves = a;
    if (!(b & (1u << 5))) return 0;
    features = MORSEL_CPU_AVX2;
    /* AVX512: F, DQ, BW, VL and VNNI, what files named avx512vnni are compiled for */
    uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    if ((state & 0xe6) == 0xe6 && (b & avx512) == avx512 && (c & (1u << 11))) features |= MORSEL_CPU_AVX512VNNI;
    if (features & MORSEL_CPU_AVX512VNNI && c & (1u << 1)) features |= MORSEL_CPU_AVX512VBMI;
    if (!leaves) return features;
    __cpuid_count(7, 1, a, b, c, d);
    if (a & (1u << 4)) features |= MORSEL_CPU_AVXVNNI;
    return features;
}

#elif defined(__aarch64__)

/* User space may not read the ID registers unless the kernel says that it emulates them. So the system is asked, by functions that are
 * declared here: a header may be absent. */
#if defined(__linux__)
/* Says so in the auxiliary vector, which only the C library can reach. A weak reference: where an app links a C library that has it, it is
 * asked. In a freestanding link it is absent. */
extern unsigned long getauxval(unsigned long type) __attribute__((weak, visibility("default")));

static uint32_t ask_system(void) {
    if (!getauxval) return 0;
    return (getauxval(16) & (1ul << 20) ? MORSEL_CPU_DOTPROD : 0u) | /* AT_HWCAP, HWCAP_ASIMDDP */
           (getauxval(26) & (1ul << 13) ? MORSEL_CPU_I8MM : 0u);     /* AT_HWCAP2, HWCAP2_I8MM */
}

#elif defined(__APPLE__)
extern int sysctlbyname(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);

static int has(const char *name) {
    int value = 0;
    size_t bytes = sizeof value;
    return !sysctlbyname(name, &value, &bytes, NULL, 0) && value;
}

static uint32_t ask_system(void) {
    return (has("hw.optional.arm.FEAT_DotProd") ? MORSEL_CPU_DOTPROD : 0u) | (has("hw.optional.arm.FEAT_I8MM") ? MORSEL_CPU_I8MM : 0u);
}

#elif defined(_WIN32)
extern int IsProcessorFeaturePresent(unsigned long feature);

static uint32_t ask_system(void) {
    return (IsProcessorFeaturePresent(43) ? MORSEL_CPU_DOTPROD : 0u) | /* PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE */
           (IsProcessorFeaturePresent(66) ? MORSEL_CPU_I8MM : 0u);     /* PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE */
}

#else

static uint32_t ask_system(void) {
    return 0;
}

#endif

/* What the compiler was told of is there in any case. */
static uint32_t detect(void) {
    uint32_t features = MORSEL_CPU_NEON | ask_system();
#if defined(__ARM_FEATURE_DOTPROD)
    features |= MORSEL_CPU_DOTPROD;
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
    features |= MORSEL_CPU_I8MM;
#endif
    return features;
}

#else

static uint32_t detect(void) {
    return 0;
}

#endif

uint32_t morsel_cpu_features(void) {
    struct morsel_kernels table;
    return morsel_kernels_start(&table, detect());
}
