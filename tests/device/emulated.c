/* SPDX-License-Identifier: MIT */
/* Whether this CPU is a program: what times would be of. */
#include "device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* This program is static: whatever else has code in its memory runs it. /proc/thread-self is what emulators do not make up; those that
 * make up /proc/self/exe, too, still show their own code here. */
static bool other_code(void) {
    char own[512], line[768];
    bool other = false;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    FILE *maps = fopen("/proc/thread-self/maps", "r");
    own[length > 0 ? length : 0] = 0;
    while (maps && length > 0 && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/'), *rights = strchr(line, ' ');
        line[strcspn(line, "\n")] = 0;
        if (path && rights && rights[3] == 'x' && strcmp(path, own)) other = true;
    }
    if (maps) fclose(maps);
    return other;
}

/* Fields of /proc/cpuinfo that only kernels of other CPUs write. */
static bool other_cpuinfo(void) {
#if defined(__x86_64__)
    static const char *const foreign[] = {"CPU implementer", "isa\t"};
#elif defined(__riscv)
    static const char *const foreign[] = {"CPU implementer", "vendor_id"};
#else
    static const char *const foreign[] = {"vendor_id", "isa\t"};
#endif
    char line[512];
    bool other = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) other |= !strncmp(line, foreign[i], strlen(foreign[i]));
    if (file) fclose(file);
    return other;
}

const char *emulated_why(void) {
    char compatible[64];
    if (other_code()) return "code of another program runs this one";
    if (other_cpuinfo()) return "/proc/cpuinfo is of another CPU";
    /* qemu-system's board; with KVM, which computes on the CPU itself, as well: who knows better says so. */
    if (!strcmp(read_line("/proc/device-tree/compatible", compatible, sizeof compatible), "linux,dummy-virt"))
        return "the board is a virtual one (linux,dummy-virt); --real, where its CPU is not";
    return NULL;
}
