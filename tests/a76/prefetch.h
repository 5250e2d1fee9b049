/* SPDX-License-Identifier: MIT */
/* Included before every file of the build that is estimated: QEMU shows no prefetch to its plugins, so there it is a load. */
#ifndef MORSEL_TESTS_A76_PREFETCH_H
#define MORSEL_TESTS_A76_PREFETCH_H

#define MORSEL_PREFETCH(p) __asm__ volatile("ldr wzr, [%0]" : : "r"(p))

#endif
