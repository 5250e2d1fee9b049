/* SPDX-License-Identifier: MIT */
/* Proofs of core/check_elements.c: every index that parameters lead to is one of an operand. */
#include "core/check_elements.c"
#include "prove.h"

/* Element i of y, whose digits are i_k < dims[k], leads to an element of the operand. */
void prove_strides(uint32_t elements) {
    struct morsel_blob_binary p;
    uint32_t at[MORSEL_FORMAT_MAX_RANK];
    prove_any(&p);
    prove_any(at);
    prove_assume(p.rank >= 1 & p.rank <= 6 & elements <= MORSEL_SIZE_LIMIT);
    for (uint32_t k = 0; k < p.rank; k++) prove_assume(p.dims[k] >= 1 & p.dims[k] <= MORSEL_SIZE_LIMIT);
    if (!strides_fit(p.dims, p.rank, p.a_stride, 0, elements)) return;
    wide index = 0, last = 0;
    for (uint32_t k = 0; k < p.rank; k++) {
        prove_assume(at[k] < p.dims[k]);
        prove_assert((wide)at[k] * p.a_stride[k] <= (wide)(p.dims[k] - 1) * p.a_stride[k]);
        index += (wide)at[k] * p.a_stride[k];
        last += (wide)(p.dims[k] - 1) * p.a_stride[k];
        prove_assert(index <= last);
    }
    prove_assert(last < elements);
    prove_assert(index < elements);
}

/* Operand a of batch b: its M * K elements are some of the operand. */
void prove_batch(uint32_t batch, uint32_t divide, uint32_t operands, uint32_t rows, uint32_t inner) {
    uint32_t elements = morsel_product3(operands, rows, inner);
    prove_assume(elements >= 1 & divide >= 1);
    uint32_t number = batch / divide % operands;
    prove_assert(number < operands);
    prove_assert((wide)rows * inner <= MORSEL_SIZE_LIMIT);
    uint32_t each = rows * inner;
    prove_assert((wide)operands * each == elements);
    prove_assert(((wide)number + 1) * each <= (wide)operands * each);
}

/* A sum of `count` differences of a byte and a zero point stays in int32. */
void prove_mean(uint32_t count, uint32_t seen, int32_t sum, uint8_t x, uint8_t zero) {
    prove_assume(count <= 0x7fffffffu / 255 & seen < count);
    prove_assume(sum >= -255 * (wide)seen & sum <= 255 * (wide)seen);
    sum += (int32_t)x - zero;
    prove_assert(sum >= -255 * ((wide)seen + 1) & sum <= 255 * ((wide)seen + 1));
}

/* The weights of a product: what is looked for in the blob is as much as the kernels read. */
void prove_fc(uint32_t rows, uint32_t inputs, uint32_t outputs) {
    prove_assume(morsel_product(rows, inputs) >= 1);
    prove_assume(morsel_product(rows, outputs) >= 1);
    prove_assert(inputs <= MORSEL_SIZE_LIMIT & outputs <= MORSEL_SIZE_LIMIT);
    uint64_t channels = ((uint64_t)outputs + 15) / 16 * 16, line = ((uint64_t)inputs + 3) / 4;
    prove_assert(channels <= (uint64_t)1 << 31 & line <= 1 << 29);
    prove_assert((wide)channels * line * 4 == channels * line * 4);
    prove_assert(line * 4 - inputs <= 3);
}

/* Every sum of one entry from each table is an element of x, or fill. Of two tables of two entries: loops treat all alike. */
void prove_entries(_Bool i, _Bool k) {
    struct morsel_blob_gather p;
    struct morsel_blob_tensor x;
    int32_t table[4];
    prove_any(&p);
    prove_any(&x);
    prove_any(table);
    p.rank = p.dims[0] = p.dims[1] = 2;
    prove_assume(x.bytes <= MORSEL_SIZE_LIMIT);
    struct morsel_step_check s = {.x = &x, .parameters = &p};
    if (!entries_fit(&s, table)) return;
    int32_t a = i ? table[1] : table[0], b = k ? table[3] : table[2];
    prove_assert(a >= -1 & b >= -1);
    if (a >= 0 && b >= 0) prove_assert((wide)a + b < morsel_elements(&x));
}

/* Of shapes of up to six dimensions the product is that of all, and no product on the way was cut off. */
void prove_dims(uint32_t rank, uint32_t elements) {
    uint32_t dims[MORSEL_FORMAT_MAX_RANK];
    prove_any(dims);
    prove_assume(elements >= 1);
    if (!dims_fit(dims, rank, elements)) return;
    prove_assert(rank >= 1 & rank <= 6 & elements <= MORSEL_SIZE_LIMIT);
    wide n = 1;
    for (uint32_t k = 0; k < 6; k++) {
        n *= dims[k];
        prove_assert(n >= 1 & n <= MORSEL_SIZE_LIMIT);
        prove_assert(k < rank | dims[k] == 1);
    }
    prove_assert(n == elements);
}
