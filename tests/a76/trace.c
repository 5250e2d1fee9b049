/* SPDX-License-Identifier: MIT */
/* A plugin for QEMU's user emulation: which blocks of instructions ran, and which lines moved between the caches, window by window. It
 * prices nothing; estimate.py does. Arguments:
 *   out=FILE                 what it writes
 *   run=ADDRESS end=ADDRESS  the function that runs all steps: its first byte and the one behind its last
 *   step=ADDRESS             a function that is called for each step, or for some rows of one; there may be several
 *   measure=N                only the N-th call of run is recorded (the first fills the caches), with what lies between it and the one
 *                            before; 0: everything is, as one step
 * A piece lasts from the entry of a `step` to that of the next, or until `run` goes on. A window ends after WINDOW instructions, or with
 * the piece.
 *
 * FILE is uint32 words. Each window: piece, counted from the start of run (NO_STEP outside of them), instructions, the counts of struct
 * traffic, n, and n times a block and how often it was entered. Then END, the number of blocks, and for each its address (low, high),
 * instructions, and the counts of the lines that its own accesses moved. */
#include "tests/a76/caches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/a76/qemu.h"

#define EXPORT __attribute__((visibility("default")))
#define WINDOW 5000u
#define NO_STEP 0xfffffffeu
#define END 0xffffffffu
#define BUCKETS 65536u
#define STEPS 4

EXPORT extern int qemu_plugin_version;
int qemu_plugin_version = QEMU_VERSION;

enum mark { MARK_NONE, MARK_RUN, MARK_LOOP, MARK_STEP };

struct block {
    uint64_t address;
    uint32_t index, instructions;
    enum mark mark;
    uint32_t entered;        /* in this window */
    struct traffic traffic;  /* while recording */
    struct block *same_hash; /* QEMU may translate one again */
    struct block *in_window;
    struct block *before;
};

static struct {
    struct caches caches;
    struct block *hash[BUCKETS], *last, *window;
    uint32_t blocks, in_window, instructions;
    struct traffic traffic; /* of the window */
    uint64_t run, end, step[STEPS];
    uint32_t steps, measure, runs, next_step, now;
    FILE *out;
} trace;

static void write_words(const uint32_t *words, size_t count) {
    if (fwrite(words, sizeof *words, count, trace.out) != count) {
        perror("trace");
        exit(1);
    }
}

static bool recording(void) {
    return !trace.measure || trace.runs == trace.measure || (trace.runs + 1 == trace.measure && trace.now == NO_STEP);
}

static void add_traffic(struct traffic *to, const struct traffic *from) {
    to->strays += from->strays;
    for (int i = 0; i < LEVELS; i++) {
        to->loads[i] += from->loads[i];
        to->stores[i] += from->stores[i];
        to->backs[i] += from->backs[i];
    }
}

static void end_window(void) {
    uint32_t head[] = {trace.now, trace.instructions};
    bool keep = recording() && trace.in_window;
    if (keep) {
        write_words(head, 2);
        write_words((const uint32_t *)&trace.traffic, TRAFFIC_COUNTS);
        write_words(&trace.in_window, 1);
    }
    for (struct block *b = trace.window; b; b = b->in_window) {
        uint32_t pair[] = {b->index, b->entered};
        if (keep) write_words(pair, 2);
        b->entered = 0;
    }
    trace.window = NULL;
    trace.in_window = trace.instructions = 0;
    memset(&trace.traffic, 0, sizeof trace.traffic);
}

static void start_over(void) {
    rewind(trace.out);
    for (struct block *b = trace.last; b; b = b->before) memset(&b->traffic, 0, sizeof b->traffic);
}

static void on_mark(enum mark mark) {
    end_window();
    if (mark == MARK_RUN) {
        trace.runs++;
        trace.next_step = 0;
    }
    if (trace.runs < trace.measure) start_over();
    trace.now = mark == MARK_STEP ? trace.next_step++ : NO_STEP;
}

static void on_block(unsigned vcpu, void *data) {
    struct block *b = data;
    if (vcpu) return;
    if (b->mark) on_mark(b->mark);
    else if (trace.instructions >= WINDOW) end_window();
    if (!b->entered++) {
        b->in_window = trace.window;
        trace.window = b;
        trace.in_window++;
    }
    trace.instructions += b->instructions;
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    struct block *b = data;
    struct traffic moved = {{0}, {0}, {0}, 0};
    if (vcpu) return;
    if (!caches_access(&trace.caches, address, 1u << qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info), &moved)) return;
    add_traffic(&trace.traffic, &moved);
    if (recording()) add_traffic(&b->traffic, &moved);
}

static struct block *block_at(uint64_t address, uint32_t instructions) {
    struct block **place = &trace.hash[(address >> 2) % BUCKETS];
    for (struct block *b = *place; b; b = b->same_hash)
        if (b->address == address && b->instructions == instructions) return b;
    struct block *b = calloc(1, sizeof *b);
    if (!b) abort();
    b->address = address;
    b->instructions = instructions;
    b->index = trace.blocks++;
    b->same_hash = *place;
    b->before = trace.last;
    trace.last = *place = b;
    if (!trace.measure) return b;
    if (address == trace.run) b->mark = MARK_RUN;
    else if (address > trace.run && address < trace.end) b->mark = MARK_LOOP;
    for (uint32_t i = 0; i < trace.steps; i++)
        if (address == trace.step[i]) b->mark = MARK_STEP;
    return b;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct block *b = block_at(qemu_plugin_tb_vaddr(tb), (uint32_t)count);
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, b);
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, b);
}

static void write_block(const struct block *b) {
    uint32_t head[] = {(uint32_t)b->address, (uint32_t)(b->address >> 32), b->instructions};
    write_words(head, 3);
    write_words((const uint32_t *)&b->traffic, TRAFFIC_COUNTS);
}

static void on_exit_of_program(qemu_plugin_id_t id, void *data) {
    uint32_t head[] = {END, trace.blocks};
    (void)id;
    (void)data;
    end_window();
    write_words(head, 2);
    struct block **list = malloc((trace.blocks + (size_t)1) * sizeof *list);
    if (!list) abort();
    for (struct block *b = trace.last; b; b = b->before) list[b->index] = b;
    for (uint32_t i = 0; i < trace.blocks; i++) write_block(list[i]);
    free(list);
    if (fclose(trace.out)) perror("trace");
    caches_close(&trace.caches);
}

static bool take_argument(const char *argument) {
    const char *value = strchr(argument, '=');
    if (!value++) return false;
    size_t name = (size_t)(value - argument);
    if (!strncmp(argument, "out=", name)) return (trace.out = fopen(value, "wb")) != NULL;
    uint64_t number = strtoull(value, NULL, 0);
    if (!strncmp(argument, "run=", name)) trace.run = number;
    else if (!strncmp(argument, "end=", name)) trace.end = number;
    else if (!strncmp(argument, "step=", name) && trace.steps < STEPS) trace.step[trace.steps++] = number;
    else if (!strncmp(argument, "measure=", name)) trace.measure = (uint32_t)number;
    else return false;
    return true;
}

/* `info` says what is emulated: nothing that matters here. */
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
    (void)info;
    trace.now = NO_STEP;
    for (int i = 0; i < argc; i++)
        if (!take_argument(argv[i])) {
            fprintf(stderr, "trace: the argument %s makes no sense\n", argv[i]);
            return 1;
        }
    if (!trace.out || !caches_open(&trace.caches)) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
    return 0;
}
