/* SPDX-License-Identifier: MIT */
/* Steps whose cycles and lines are known beforehand; test.py has the figures. Laid out as the library is: a run that calls each step. */
    .arch armv8.2-a+dotprod
    .text

    .macro function name
    .globl \name
    .type \name, %function
    .balign 64
\name:
    .endm

    .macro done name
    ret
    .size \name, . - \name
    .endm

    .macro address to, of
    adrp \to, \of
    add \to, \to, :lo12:\of
    .endm

function dots /* 16 dot products a round, 2 a cycle: 8 cycles */
    mov x1, #1000
1:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
    sdot v\n\().4s, v30.16b, v31.4b[0]
    .endr
    subs x1, x1, #1
    b.ne 1b
done dots

function decoded /* 40 instructions a round, 4 a cycle: 10 cycles */
    mov x1, #1000
1:
    .rept 38
    nop
    .endr
    subs x1, x1, #1
    b.ne 1b
done decoded

function chain /* each sum waits 2 cycles for the one before: 8 cycles a round */
    mov x1, #1000
1:
    .rept 4
    fmla v0.4s, v30.4s, v31.s[1]
    .endr
    subs x1, x1, #1
    b.ne 1b
done chain

function joined /* a block that ends in no branch: the page ends between the two fmla, the chain does not */
    mov x1, #1000
    b 1f
    .balign 4096
    .space 4096 - 4
1:
    fmla v0.4s, v30.4s, v31.4s
    fmla v0.4s, v30.4s, v31.4s
    subs x1, x1, #1
    b.ne 1b
done joined

function stores /* 65536 lines, more than all caches together hold: none needs to come, all go back sooner or later */
    address x0, stored
    mov x1, #(4 << 20) / 64
1:
    stp q0, q1, [x0], #32
    stp q2, q3, [x0], #32
    subs x1, x1, #1
    b.ne 1b
done stores

function loads /* as many others */
    address x0, loaded
    mov x1, #(4 << 20) / 64
1:
    ldp q0, q1, [x0], #32
    ldp q2, q3, [x0], #32
    subs x1, x1, #1
    b.ne 1b
done loads

function reloads /* 10 times 256 KB: 4096 lines that are somewhere, then 9 times the same from L2 */
    mov x2, #10
1:
    address x0, loaded
    mov x1, #(256 << 10) / 64
2:
    ldp q0, q1, [x0], #32
    ldp q2, q3, [x0], #32
    subs x1, x1, #1
    b.ne 2b
    subs x2, x2, #1
    b.ne 1b
done reloads

function across /* 500 loads that each lie in two lines, of the 32 KB that were used last */
    address x0, loaded
    add x0, x0, #224 << 10
    add x0, x0, #56
    mov x1, #500
1:
    ldr q0, [x0], #64
    subs x1, x1, #1
    b.ne 1b
done across

function morsel_run_units /* (session, index) */
    address x2, steps
    ldr x2, [x2, x1, lsl #3]
    br x2
done morsel_run_units

function morsel_run
    mov x20, x30
    mov x19, #0
1:
    mov x1, x19
    bl morsel_run_units
    add x19, x19, #1
    cmp x19, #STEPS
    b.ne 1b
    mov x30, x20
done morsel_run

function _start
    bl morsel_run
    bl morsel_run
    mov x0, #0
    mov x8, #93 /* exit */
    svc #0
done _start

    .section .rodata
    .balign 8
steps:
    .quad dots, decoded, chain, joined, stores, loads, loads, reloads, across
    .set STEPS, (. - steps) / 8

    .bss
    .balign 4096
stored:
    .space 4 << 20
loaded:
    .space 4 << 20
