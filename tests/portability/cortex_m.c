/* SPDX-License-Identifier: MIT */
/* A Cortex-M without a system: vectors, memory, and a debugger that prints, which is qemu (semihosting). board.ld says where all lies. */
#include <stdint.h>
#include <string.h>

int portable(void);
void put(const char *text);
void reset(void);

extern uint32_t stack_top[], bss_start[], bss_end[], data_start[], data_end[], data_from[];

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, EXIT_APPLICATION = 0x20026 };

static void ask(uint32_t what, const void *with) {
    register uint32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void put(const char *text) {
    ask(SYS_WRITE0, text);
}

static _Noreturn void end(uint32_t status) {
    const uint32_t block[] = {EXIT_APPLICATION, status};
    for (;;) ask(SYS_EXIT_EXTENDED, block);
}

static void fault(void) {
    put("a fault of the CPU\n");
    end(2);
}

void reset(void) {
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xe000ed88 |= 0xf00000; /* CPACR: coprocessors 10 and 11, which are the FPU */
    __asm__ volatile("dsb\n\tisb");
#endif
    memcpy(data_start, data_from, (size_t)((char *)data_end - (char *)data_start));
    memset(bss_start, 0, (size_t)((char *)bss_end - (char *)bss_start));
    end((uint32_t)portable());
}

/* Stack, reset, and what else may come: only faults do. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {stack_top,           (const void *)reset,
                                                                                   (const void *)fault, (const void *)fault,
                                                                                   (const void *)fault, (const void *)fault,
                                                                                   (const void *)fault};
