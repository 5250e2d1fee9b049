/* SPDX-License-Identifier: MIT */
/* What the Python package calls beside morsel.h and the tool's main(): rooms of the tool, by names that its shared object exports. */
#include "core/morsel.h"
#include "core/plan.h"
#include "tools/base/options.h"
#include "tools/net/blob/blob.h"
#include "tools/network/network.h"
#include "tools/network/pool.h"
#include "tools/network/scores.h"

#define EXPORTED __attribute__((visibility("default")))

/* Whether output 0 of a model that is open holds probabilities already. */
EXPORTED int morsel_python_probabilities(const struct morsel_model *model);
/* The best `top` classes, best first, to `indices`; then the scores become probabilities in place. Returns how many there are. */
EXPORTED size_t morsel_python_classes(float *scores, size_t count, int are_probabilities, size_t top, uint32_t *indices);
/* "step 12: ", where morsel_open() found a blob at fault; "" where that is no part of it. */
EXPORTED const char *morsel_python_part(const struct morsel_model *model, char *text, size_t size);
/* Whether names and labels of an open variant, of so many, are not told at far more length than the blob has. */
EXPORTED int morsel_python_strings_fit(const struct morsel_model *model, uint32_t variants);
/* Bytes that an arena is longer for so many threads than morsel_arena_bytes_for() says: kernels borrow them. */
EXPORTED size_t morsel_python_lent(uint32_t threads);
/* The mask of kernels that a name of --cpu stands for: 1, or 0 where there is no such name. */
EXPORTED int morsel_python_cpu(const char *name, uint32_t *mask);
/* A pool of threads; NULL: there is none to be had. Its parallel_for is morsel_python_pool_run(). */
EXPORTED struct pool *morsel_python_pool_open(unsigned threads);
EXPORTED void morsel_python_pool_close(struct pool *pool);
EXPORTED void morsel_python_pool_run(void *pool, uint32_t n, morsel_task *task, void *arg);

int morsel_python_probabilities(const struct morsel_model *model) {
    return morsel_output_count(model) && scores_are_probabilities(model, 0);
}

size_t morsel_python_classes(float *scores, size_t count, int are_probabilities, size_t top, uint32_t *indices) {
    size_t have = scores_top(scores, count, top, indices);
    if (!are_probabilities) scores_softmax(scores, count);
    return have;
}

const char *morsel_python_part(const struct morsel_model *model, char *text, size_t size) {
    return network_part_at_fault(model, text, size);
}

int morsel_python_strings_fit(const struct morsel_model *model, uint32_t variants) {
    return blob_strings_fit(model, variants);
}

size_t morsel_python_lent(uint32_t threads) {
    return threads * (size_t)MORSEL_LENT_MOST;
}

int morsel_python_cpu(const char *name, uint32_t *mask) {
    return options_cpu_mask(name, mask);
}

struct pool *morsel_python_pool_open(unsigned threads) {
    return threads && threads <= POOL_THREADS_MOST ? pool_open(threads) : NULL;
}

void morsel_python_pool_close(struct pool *pool) {
    pool_close(pool);
}

void morsel_python_pool_run(void *pool, uint32_t n, morsel_task *task, void *arg) {
    pool_run(pool, n, task, arg);
}
