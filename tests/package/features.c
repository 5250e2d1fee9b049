/* SPDX-License-Identifier: MIT */
/* features PRESENT...: the features that core/cpu.c finds, in hexadecimal, where a system of others' says that these are present. It is
 * compiled as for that system, whose functions stand here; targets.sh does it. */
#include "kernels/kernels.h"

#include "core/morsel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **present;

int sysctlbyname(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes) {
    if (new || new_bytes || *old_bytes != sizeof(int)) exit(1);
    if (!strcmp(name, "hw.optional.arm.FEAT_I8MM") && !present[0]) return -1; /* systems that do not know of it */
    const char *feature = strrchr(name, '.') + 1;
    int value = 0;
    for (char **each = present; *each; each++) value |= !strcmp(*each, feature);
    memcpy(old, &value, sizeof value);
    return 0;
}

int IsProcessorFeaturePresent(unsigned long feature) {
    for (char **each = present; *each; each++)
        if (strtoul(*each, NULL, 10) == feature) return 1;
    return 0;
}

/* Kernels for all there is. */
uint32_t morsel_kernels_start(struct morsel_kernels *table, uint32_t cpu) {
    (void)table;
    return cpu;
}

int main(int argc, char **argv) {
    (void)argc;
    present = argv + 1;
    printf("%x\n", (unsigned)morsel_cpu_features());
    return 0;
}
