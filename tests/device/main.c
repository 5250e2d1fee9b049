/* SPDX-License-Identifier: MIT */
/* device [options] [BLOB...]: help() below has the options. It is built static by `make device`, and tests/device/run.sh brings it. */
#include "device.h"
#include "tools/base/file.h"
#include "tools/net/nets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { SUBJECTS_MOST = 64, BLOB_MOST = 1 << 30 };

static struct {
    const char *json, *name, *root, *blobs[SUBJECTS_MOST];
    unsigned blob_count, cases;
    double seconds;
    bool quick, emulated, real, cores;
    const char *why; /* times are refused */
} call = {.root = "", .seconds = 3};

static struct kind kinds[KINDS_MOST];
static unsigned kind_count;

/* ---- one network ---- */

static void put_condition(struct json *json, const char *key, const struct condition *condition) {
    json_open_flat(json, key);
    json_number(json, "mhz", condition->mhz);
    json_number(json, "stated_mhz", condition->stated_mhz);
    json_number(json, "celsius", condition->celsius);
    json_close(json);
}

static void put_row(struct json *json, const struct row *row) {
    json_open(json, NULL);
    json_text(json, "cores", kinds[row->kind].name);
    json_integer(json, "kind", row->kind);
    json_integer(json, "threads", row->threads);
    json_integer(json, "runs", row->runs);
    json_number(json, "min_ms", row->min_ms);
    json_number(json, "p50_ms", row->p50_ms);
    json_number(json, "p95_ms", row->p95_ms);
    json_number(json, "p99_ms", row->p99_ms);
    put_condition(json, "before", &row->before);
    put_condition(json, "after", &row->after);
    json_text(json, "throttled", row_throttled(row));
    json_close(json);
}

static bool time_row(struct json *json, const struct subject *subject, unsigned k, unsigned threads) {
    struct row row = {.kind = k};
    if (!subject_time(subject, &kinds[k], threads, call.seconds, &row)) {
        fprintf(stderr, "FAIL %s: not measured on %s\n", subject->name, kinds[k].name);
        return false;
    }
    const char *throttled = row_throttled(&row);
    fprintf(stderr, "%s on %u x %s: p50 %.3f ms, p95 %.3f, p99 %.3f, %.0f MHz%s%s\n", subject->name, threads, kinds[k].name, row.p50_ms,
            row.p95_ms, row.p99_ms, row.after.mhz, throttled ? "; " : "", throttled ? throttled : "");
    put_row(json, &row);
    return true;
}

/* A core of each kind, then all of the strongest. */
static bool time_rows(struct json *json, const struct subject *subject) {
    bool good = true;
    json_open_array(json, "times");
    for (unsigned k = 0; k < kind_count; k++) good &= time_row(json, subject, k, 1);
    if (kind_count && kinds[0].count > 1) good &= time_row(json, subject, 0, kinds[0].count);
    json_close_array(json);
    return good;
}

static bool try_network(struct json *json, const char *name, const void *blob, size_t bytes) {
    unsigned tasks = kind_count && !call.why && kinds[0].count > 3 ? kinds[0].count : 3;
    struct subject subject;
    uint32_t crc = 0;
    char text[16];
    if (!subject_open(&subject, name, blob, bytes, tasks)) return false;
    json_open(json, NULL);
    bool good = subject_same(&subject, &crc);
    json_text(json, "name", name);
    json_integer(json, "blob_bytes", (int64_t)bytes);
    json_integer(json, "arena_bytes", morsel_arena_bytes(&subject.model));
    snprintf(text, sizeof text, "%08x", (unsigned)crc);
    json_text(json, "crc", text);
    json_bool(json, "same", good);
    if (!call.why) good &= time_rows(json, &subject);
    json_close(json);
    subject_close(&subject);
    return good;
}

/* ---- all of them ---- */

static bool try_built_in(struct json *json) {
    bool good = true;
    char names[512], *rest;
    snprintf(names, sizeof names, "%s", nets_names());
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        struct file_bytes blob;
        struct failure failure;
        if ((call.quick || call.why) && strstr(name, "-224")) continue; /* an emulator takes minutes for these */
        if (!nets_blob(name, false, 0, &blob, &failure)) {
            fprintf(stderr, "FAIL %s: %s\n", name, failure.text);
            return false;
        }
        good &= try_network(json, name, blob.data, blob.size);
        file_free(&blob);
    }
    return good;
}

static bool try_given(struct json *json) {
    bool good = true;
    for (unsigned i = 0; i < call.blob_count; i++) {
        struct file_bytes blob;
        struct failure failure;
        const char *slash = strrchr(call.blobs[i], '/');
        if (!file_read(call.blobs[i], BLOB_MOST, &blob, &failure)) {
            fprintf(stderr, "FAIL %s\n", failure.text);
            good = false;
            continue;
        }
        good &= try_network(json, slash ? slash + 1 : call.blobs[i], blob.data, blob.size);
        file_free(&blob);
    }
    return good;
}

static void put_tally(struct json *json, const char *key, struct tally tally) {
    json_open_flat(json, key);
    json_integer(json, "compared", tally.compared);
    json_integer(json, "failed", tally.failed);
    json_close(json);
}

/* Bytes that do not depend on times: kernels, recorded answers. */
static bool try_bytes(struct json *json, const struct subject *shipped) {
    struct tally kernels = kernels_compare(call.cases, call.quick), golden = golden_compare(shipped, call.quick);
    fprintf(stderr, "kernels: %u compared with plain C, %u failed; recorded answers: %u compared, %u failed\n", (unsigned)kernels.compared,
            (unsigned)kernels.failed, (unsigned)golden.compared, (unsigned)golden.failed);
    put_tally(json, "kernels", kernels);
    put_tally(json, "golden", golden);
    return kernels.compared && golden.compared && !kernels.failed && !golden.failed;
}

/* ---- the report ---- */

static void put_sets(struct json *json) {
    const char *set;
    uint32_t mask;
    json_open_array(json, "isas");
    for (unsigned i = 0; (set = kernel_set(i, &mask)); i++) json_text(json, NULL, set);
    json_close_array(json);
}

static void put_machine(struct json *json) {
    struct utsname system;
    char model[128];
    if (uname(&system)) memset(&system, 0, sizeof system);
    read_line("/proc/device-tree/model", model, sizeof model);
    if (!model[0]) read_line("/sys/devices/virtual/dmi/id/product_name", model, sizeof model);
    json_text(json, "morsel", morsel_version());
    json_text(json, "device", call.name ? call.name : model[0] ? model : "unknown");
    json_text(json, "machine", system.machine);
    json_text(json, "kernel", system.release);
    json_bool(json, "emulated", call.why != NULL);
    json_text(json, "emulated_why", call.why);
    put_sets(json);
    cores_json(json, kinds, kind_count);
}

static bool report(FILE *file) {
    struct json json = {.file = file};
    struct subject shipped;
    if (!subject_open(&shipped, "shipped", device_network, (size_t)(device_network_end - device_network), 1)) return false;
    json_open(&json, NULL);
    put_machine(&json);
    bool good = try_bytes(&json, &shipped);
    subject_close(&shipped);
    json_open_array(&json, "networks");
    good &= try_network(&json, "cifar10", device_network, (size_t)(device_network_end - device_network));
    good &= try_built_in(&json) & try_given(&json);
    json_close_array(&json);
    json_bool(&json, "good", good);
    json_close(&json);
    return good;
}

/* ---- the command ---- */

static int help(void) {
    printf("usage: device [options] [BLOB...]\n\n"
           "Compares every kernel with plain C, the shipped network with recorded answers, and each network by all kernel sets.\n"
           "Then it measures networks on a core of each kind, and on all of the strongest. Under emulation it refuses times.\n\n"
           "  --json FILE   the report [stdout]\n"
           "  --seconds S   for each measurement [3]\n"
           "  --cases N     random cases for each kernel [200; 20 with --quick]\n"
           "  --quick       small networks, random cases and three pictures alone; built in are %s\n"
           "  --name TEXT   what the device is called\n"
           "  --emulated    refuse times, whatever this looks like; --real: take them\n"
           "  --cores       only list the cores; --root FOLDER: those of another /sys and /proc\n\n"
           "Exit status: 0 all bytes are right, 1 some are not, 2 the call is at fault, 3 the report cannot be written.\n",
           nets_names());
    return 0;
}

static bool take_flag(const char *name) {
    if (!strcmp(name, "--quick")) call.quick = true;
    else if (!strcmp(name, "--emulated")) call.emulated = true;
    else if (!strcmp(name, "--real")) call.real = true;
    else if (!strcmp(name, "--cores")) call.cores = true;
    else return false;
    return true;
}

static bool take(const char *name, const char *value) {
    if (!value) return false;
    if (!strcmp(name, "--json")) call.json = value;
    else if (!strcmp(name, "--name")) call.name = value;
    else if (!strcmp(name, "--root")) call.root = value;
    else if (!strcmp(name, "--seconds")) call.seconds = strtod(value, NULL);
    else if (!strcmp(name, "--cases")) call.cases = (unsigned)strtoul(value, NULL, 10);
    else return false;
    return true;
}

static int list_cores(void) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    cores_json(&json, kinds, cores_find(call.root, !call.root[0], kinds));
    json_close(&json);
    return 0;
}

static int write_report(void) {
    FILE *file = call.json ? fopen(call.json, "w") : stdout;
    if (!file) {
        perror(call.json);
        return 3;
    }
    bool good = report(file), written = !ferror(file) && !fflush(file);
    if (file != stdout) written &= !fclose(file);
    if (!written) fprintf(stderr, "device: the report cannot be written\n");
    return !written ? 3 : good ? 0 : 1;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) return help();
        if (take_flag(argv[i])) continue;
        if (i + 1 < argc && take(argv[i], argv[i + 1])) i++;
        else if (argv[i][0] != '-' && call.blob_count < SUBJECTS_MOST) call.blobs[call.blob_count++] = argv[i];
        else {
            fprintf(stderr, "device: there is no option %s, or its value is missing; --help lists them\n", argv[i]);
            return 2;
        }
    }
    if (call.cores) return list_cores();
    if (!call.cases) call.cases = call.quick ? 20 : 200;
    call.why = call.emulated ? "--emulated" : call.real ? NULL : emulated_why();
    if (call.why) fprintf(stderr, "times are refused: %s\n", call.why);
    kind_count = cores_find("", true, kinds);
    return write_report();
}
