/* SPDX-License-Identifier: MIT */
/*
 * A program without a C library: its own memcpy family, its own way in and out, and all of Morsel. With -DBLOB="FILE" it holds a
 * network and runs it on a ramp; it prints one line, a mark over the output bytes, which is the same on every machine.
 */
#include "core/morsel.h"

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

/* Volatile, so that no compiler turns these loops into calls of themselves. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, bytes);
    while (bytes--) ((volatile uint8_t *)to)[bytes] = ((const uint8_t *)from)[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((volatile uint8_t *)to)[i] = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes) {
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

#if defined(__x86_64__)
static long system_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
enum { CALL_WRITE = 1, CALL_EXIT = 60 };
/* The stack comes 16-aligned, as it is before a call. */
__asm__(".globl _start\n_start: xor %ebp, %ebp\n call start\n hlt\n");
#elif defined(__i386__)
static long system_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}
enum { CALL_WRITE = 4, CALL_EXIT = 1 };
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %esp\n call start\n hlt\n");
#elif defined(__aarch64__)
static long system_call(long number, long a, long b, long c) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
enum { CALL_WRITE = 64, CALL_EXIT = 93 };
__asm__(".globl _start\n_start: bl start\n brk 0\n");
#else
#error "no way into the system for this machine"
#endif

_Noreturn static void leave(int status) {
    for (;;) system_call(CALL_EXIT, status, 0, 0);
}

static void require(int holds, int status) {
    if (!holds) leave(status);
}

#ifdef BLOB
extern const uint8_t network[], network_end[];
__asm__(".section .rodata\n.balign 64\n.globl network, network_end\nnetwork: .incbin \"" BLOB "\"\nnetwork_end: .byte 0\n.text\n");

static _Alignas(MORSEL_ALIGNMENT) uint8_t arena[48u << 20];

static void print_hex(uint32_t value) {
    char line[9];
    for (int i = 0; i < 8; i++) line[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
    line[8] = '\n';
    system_call(CALL_WRITE, 1, (long)(uintptr_t)line, sizeof line);
}

static void run_network(void) {
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_view view;
    uint32_t mark = 2166136261u;
    require(!morsel_open(&model, network, (size_t)(network_end - network), 0), 10);
    require(!morsel_session_open(&session, &model, arena, sizeof arena, NULL), 11);
    for (uint32_t i = 0; i < morsel_input_count(&model); i++) {
        require(!morsel_input(&session, i, &view), 12);
        for (uint32_t k = 0; k < view.bytes; k++) ((uint8_t *)view.data)[k] = (uint8_t)(view.type == MORSEL_FLOAT32 ? 0 : k * 7);
    }
    require(!morsel_run(&session), 13);
    for (uint32_t i = 0; i < morsel_output_count(&model); i++) {
        require(!morsel_output(&session, i, &view), 14);
        for (uint32_t k = 0; k < view.bytes; k++) mark = (mark ^ ((uint8_t *)view.data)[k]) * 16777619u;
    }
    print_hex(mark);
}
#else
static void run_network(void) {}
#endif

/* Everything of morsel.h, so that the linker has to find everything behind it. */
static void call_everything(void) {
    static _Alignas(MORSEL_ALIGNMENT) uint8_t zeros[1024];
    struct morsel_model model = {0};
    struct morsel_session session = {0};
    struct morsel_view view = {0};
    float value = 0;
    const struct morsel_frame frame = {.size = sizeof frame, .width = 1, .height = 1, .planes = {{zeros, sizeof zeros, 0}}};
    require(morsel_open(&model, zeros, sizeof zeros, 0) == MORSEL_ERR_MAGIC, 1);
    require(morsel_arena_bytes(&model) == 0 && morsel_input_count(&model) == 0 && morsel_output_count(&model) == 0, 2);
    require(!morsel_label(&model, 0) && !morsel_label_count(&model) && !morsel_network_name(&model)[0], 3);
    require(!morsel_metadata(&model, "version") && !morsel_metadata_count(&model) && !morsel_metadata_at(&model, 0, NULL), 3);
    require(morsel_open_part(&model, NULL) == MORSEL_PART_BLOB, 15);
    require(morsel_session_open(&session, &model, zeros, sizeof zeros, NULL) != MORSEL_OK, 4);
    require(morsel_input(&session, 0, &view) && morsel_output(&session, 0, &view) && morsel_input_named(&session, "x", &view) &&
                morsel_output_named(&session, "y", &view) && morsel_run(&session),
            5);
    require(morsel_quantize(&view, &value, 1) && morsel_dequantize(&view, &value, 1) && !morsel_view_elements(&view), 6);
    require(morsel_picture_bytes(&model, 1, 1) == 0, 7);
    require(morsel_picture(&model, zeros, sizeof zeros, 1, 1, 3, zeros, sizeof zeros, &view, 0) != MORSEL_OK, 8);
    require(!morsel_frame_bytes(&model, &frame) && morsel_frame(&model, &frame, zeros, sizeof zeros, &view, 0) != MORSEL_OK, 17);
    require(morsel_frame_points(&model, &frame, &value, 0) == MORSEL_ERR_PICTURE, 18);
    uint32_t count;
    int32_t ids[4];
    require(!morsel_text_length(&model) && !morsel_text_ids(&model) && morsel_text(&model, "a", 1, ids, 4, &count) &&
                morsel_text_put(&session, "a", 1, 0),
            16);
    require(morsel_error_text(MORSEL_ERR_MAGIC)[0] && morsel_version()[0] && morsel_version_number(), 9);
    (void)morsel_cpu_features();
}

__attribute__((used, noreturn)) void start(void);
void start(void) {
    call_everything();
    run_network();
    leave(0);
}
