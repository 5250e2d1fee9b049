/* SPDX-License-Identifier: MIT */
/* Cores by kind: what /sys/devices/system/cpu states of each, and /proc/cpuinfo where it does not. */
#include "device.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *read_line(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    text[0] = 0;
    if (file && !fgets(text, (int)size, file)) text[0] = 0;
    if (file) fclose(file);
    text[strcspn(text, "\n")] = 0;
    return text;
}

uint64_t read_number(const char *path) {
    char text[64];
    return strtoull(read_line(path, text, sizeof text), NULL, 0);
}

/* A file of one core: "/sys/devices/system/cpu/cpu3/cpu_capacity". */
static const char *core_path(const char *root, unsigned core, const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/%s", root, core, name);
    return path;
}

/* ---- names ---- */

static const struct part {
    uint32_t midr; /* implementer << 24 | part, from the CPU's manual */
    const char *name;
} parts[] = {
    {0x41000c07, "Cortex-A7"},       {0x41000c09, "Cortex-A9"},     {0x41000c0f, "Cortex-A15"},      {0x41000d03, "Cortex-A53"},
    {0x41000d04, "Cortex-A35"},      {0x41000d05, "Cortex-A55"},    {0x41000d07, "Cortex-A57"},      {0x41000d08, "Cortex-A72"},
    {0x41000d09, "Cortex-A73"},      {0x41000d0a, "Cortex-A75"},    {0x41000d0b, "Cortex-A76"},      {0x41000d0c, "Neoverse N1"},
    {0x41000d0d, "Cortex-A77"},      {0x41000d0e, "Cortex-A76AE"},  {0x41000d40, "Neoverse V1"},     {0x41000d41, "Cortex-A78"},
    {0x41000d42, "Cortex-A78AE"},    {0x41000d44, "Cortex-X1"},     {0x41000d46, "Cortex-A510"},     {0x41000d47, "Cortex-A710"},
    {0x41000d48, "Cortex-X2"},       {0x41000d49, "Neoverse N2"},   {0x41000d4b, "Cortex-A78C"},     {0x41000d4d, "Cortex-A715"},
    {0x41000d4e, "Cortex-X3"},       {0x41000d4f, "Neoverse V2"},   {0x41000d80, "Cortex-A520"},     {0x41000d81, "Cortex-A720"},
    {0x41000d82, "Cortex-X4"},       {0x51000802, "Kryo 385 Gold"}, {0x51000803, "Kryo 385 Silver"}, {0x51000804, "Kryo 485 Gold"},
    {0x51000805, "Kryo 485 Silver"},
};

/* What /proc/cpuinfo says of a core: the value behind a key in its part of the file, or before the first core. */
static bool cpuinfo(const char *root, unsigned core, const char *key, char *value, size_t size) {
    char path[512], line[512];
    long current = -1;
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon) continue;
        *colon = 0;
        for (char *end = colon; end > line && (end[-1] == '\t' || end[-1] == ' '); *--end = 0) continue;
        if (!strcmp(line, "processor")) current = strtol(colon + 1, NULL, 10);
        if (strcmp(line, key) || (current >= 0 && current != (long)core)) continue;
        snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        value[strcspn(value, "\n")] = 0;
        found = true;
    }
    if (file) fclose(file);
    return found;
}

static uint32_t midr_of(const char *root, unsigned core) {
    char value[64];
    uint64_t midr = read_number(core_path(root, core, "regs/identification/midr_el1"));
    if (midr) return (uint32_t)(midr & 0xff000000u) | (uint32_t)(midr >> 4 & 0xfff);
    if (!cpuinfo(root, core, "CPU implementer", value, sizeof value)) return 0;
    uint32_t implementer = (uint32_t)strtoul(value, NULL, 0);
    if (!cpuinfo(root, core, "CPU part", value, sizeof value)) return 0;
    return implementer << 24 | (uint32_t)strtoul(value, NULL, 0);
}

static void name_kind(const char *root, struct kind *kind, unsigned core) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].midr == kind->midr) snprintf(kind->name, sizeof kind->name, "%s", parts[i].name);
    if (kind->name[0]) return;
    if (kind->midr) snprintf(kind->name, sizeof kind->name, "implementer 0x%02x part 0x%03x", kind->midr >> 24, kind->midr & 0xfff);
    else if (!cpuinfo(root, core, "model name", kind->name, sizeof kind->name) &&
             !cpuinfo(root, core, "uarch", kind->name, sizeof kind->name))
        snprintf(kind->name, sizeof kind->name, "unknown");
}

/* ---- kinds ---- */

static bool usable(const char *root, unsigned core, bool ours, const cpu_set_t *allowed) {
    char text[64];
    if (ours && !CPU_ISSET(core, allowed)) return false;
    if (!strcmp(read_line(core_path(root, core, "online"), text, sizeof text), "0")) return false;
    if (ours) return true;
    FILE *there = fopen(core_path(root, core, "uevent"), "r");
    if (there) fclose(there);
    return there || read_number(core_path(root, core, "cpu_capacity"));
}

static struct kind kind_of(const char *root, unsigned core) {
    struct kind kind = {.count = 1, .cores = {core}};
    kind.capacity = (uint32_t)read_number(core_path(root, core, "cpu_capacity"));
    kind.mhz = (uint32_t)(read_number(core_path(root, core, "cpufreq/cpuinfo_max_freq")) / 1000);
    kind.midr = midr_of(root, core);
    read_line(core_path(root, core, "cpufreq/scaling_governor"), kind.governor, sizeof kind.governor);
    name_kind(root, &kind, core);
    return kind;
}

static bool alike(const struct kind *a, const struct kind *b) {
    return a->capacity == b->capacity && a->mhz == b->mhz && a->midr == b->midr && !strcmp(a->name, b->name);
}

static int stronger(const void *a, const void *b) {
    const struct kind *x = a, *y = b;
    if (x->capacity != y->capacity) return x->capacity < y->capacity ? 1 : -1;
    if (x->mhz != y->mhz) return x->mhz < y->mhz ? 1 : -1;
    return x->cores[0] < y->cores[0] ? -1 : 1;
}

unsigned cores_find(const char *root, bool ours, struct kind kinds[KINDS_MOST]) {
    unsigned count = 0;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (ours && sched_getaffinity(0, sizeof allowed, &allowed)) CPU_SET(0, &allowed);
    for (unsigned core = 0; core < CORES_MOST; core++) {
        if (!usable(root, core, ours, &allowed)) continue;
        struct kind kind = kind_of(root, core);
        unsigned k = 0;
        while (k < count && !alike(&kinds[k], &kind)) k++;
        if (k < count) kinds[k].cores[kinds[k].count++] = core;
        else if (count < KINDS_MOST) kinds[count++] = kind;
    }
    qsort(kinds, count, sizeof *kinds, stronger);
    return count;
}

void cores_json(struct json *json, const struct kind *kinds, unsigned count) {
    json_open_array(json, "kinds");
    for (unsigned k = 0; k < count; k++) {
        json_open_flat(json, NULL);
        json_text(json, "name", kinds[k].name);
        json_integer(json, "capacity", kinds[k].capacity);
        json_integer(json, "max_mhz", kinds[k].mhz);
        json_text(json, "governor", kinds[k].governor[0] ? kinds[k].governor : NULL);
        json_dims(json, "cores", kinds[k].cores, kinds[k].count);
        json_close(json);
    }
    json_close_array(json);
}

bool cores_pin(const struct kind *kind, unsigned count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < count && i < kind->count; i++) CPU_SET(kind->cores[i], &set);
    return !sched_setaffinity(0, sizeof set, &set);
}
