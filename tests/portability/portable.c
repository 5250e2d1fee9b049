/* SPDX-License-Identifier: MIT */
/*
 * The shipped network, linked in, answers to an input that is the same everywhere: by the best kernels and by plain C. Says the CRC-32 of
 * its scores and how much stack morsel_run() took, on a stack that was painted: "hash XXXXXXXX stack N". Else what was wrong.
 * It knows neither libc nor system: put() is the port's, which calls portable() and ends with what that returns, 0 where all is right.
 */
#include "morsel.h"
#include "net.h"

#include <string.h>

void put(const char *text);
int portable(void);

enum { PAINTED = 160 * 1024, MARGIN = 1024, PATTERN = 0xa5 };

static _Alignas(MORSEL_ALIGNMENT) uint8_t arena[MODEL_ARENA_BYTES];
static struct morsel_model model;
static struct morsel_session session;

/* ---- the stack: both functions have the same frame, which lies where that of morsel_run() and of what it calls will be ---- */

__attribute__((noinline)) static void paint(void) {
    volatile uint8_t frame[PAINTED];
    for (unsigned i = 0; i < PAINTED; i++) frame[i] = PATTERN;
}

/* From its far end on, as stacks grow downwards, but for a margin: the two frames need not begin at the same byte. */
__attribute__((noinline)) static unsigned used(void) {
    volatile uint8_t frame[PAINTED];
    unsigned untouched = MARGIN;
    __asm__ volatile("" : : "r"(frame) : "memory");
    while (untouched < PAINTED && frame[untouched] == PATTERN) untouched++;
    return PAINTED - untouched;
}

/* ---- the answer ---- */

static void fill(void) {
    uint32_t state = 2463534242u;
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_input(&session, i, &view); i++)
        for (uint32_t k = 0; k < view.bytes; k++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            ((uint8_t *)view.data)[k] = (uint8_t)(state >> 24);
        }
}

static uint32_t crc_of_outputs(void) {
    uint32_t sum = ~0u;
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_output(&session, i, &view); i++)
        for (uint32_t k = 0; k < view.bytes; k++) {
            sum ^= ((const uint8_t *)view.data)[k];
            for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
        }
    return ~sum;
}

static enum morsel_error answer(uint32_t mask, uint32_t *crc, unsigned *stack) {
    struct morsel_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.cpu_mask = mask;
    enum morsel_error error = morsel_session_open(&session, &model, arena, sizeof arena, &options);
    if (error) return error;
    fill();
    paint();
    error = morsel_run(&session);
    *stack = used();
    *crc = crc_of_outputs();
    return error;
}

/* ---- the report ---- */

static void put_number(uint32_t value, uint32_t base, int digits) {
    char text[12];
    int at = sizeof text - 1;
    text[at] = 0;
    do text[--at] = "0123456789abcdef"[value % base];
    while ((value /= base) || (int)sizeof text - 1 - at < digits);
    put(text + at);
}

static int says(const char *what) {
    put(what);
    put("\n");
    return 1;
}

int portable(void) {
    uint32_t best = 0, plain = 0;
    unsigned stack = 0, plain_stack;
    enum morsel_error error = morsel_open(&model, MODEL_BLOB, MODEL_BLOB_BYTES, 0);
    if (!error) error = answer(MORSEL_CPU_ALL, &best, &stack);
    if (!error) error = answer(MORSEL_CPU_C, &plain, &plain_stack);
    if (error) return says(morsel_error_text(error));
    const char *wrong = morsel_selftest(0);
    if (wrong) {
        put("the self-test fails: ");
        return says(wrong);
    }
    if (best != plain) return says("plain C answers otherwise");
    put("hash ");
    put_number(best, 16, 8);
    put(" stack ");
    put_number(stack, 10, 1);
    return says("") - 1;
}
