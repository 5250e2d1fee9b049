/* SPDX-License-Identifier: MIT */
/* Lists what lives in the arena from a blob's own plan. */
#include "tools/net/memory.h"
#include "tools/base/message.h"
#include "tools/net/plan/traffic.h"
#include <stdlib.h>
#include <string.h>

const char *memory_kind_name(enum memory_kind kind) {
    static const char *const names[] = {"calls", "whole", "ring", "scratch"};
    return names[kind];
}

/* --- Slices and lifetimes --- */

/* The input that tensor y lies over: one of its step, or where it leaves a group, one of the group's. */
static uint32_t over_of(const struct morsel_model *network, const struct morsel_blob_tensor *y) {
    if (y->first_step == MORSEL_STEP_BEFORE || y->ring_rows) return MEMORY_NONE;
    const struct morsel_blob_tensor *x = morsel_covered_input(network, morsel_group_first(network, y->first_step), y->first_step, y, NULL);
    return x ? (uint32_t)(x - morsel_blob_tensor(network, 0)) : MEMORY_NONE;
}

static void add_tensors(const struct morsel_model *network, struct memory *memory) {
    uint32_t steps = morsel_blob_header(network)->steps.count;
    for (uint32_t i = 0; i < morsel_blob_header(network)->tensors.count; i++) {
        const struct morsel_blob_tensor *t = morsel_blob_tensor(network, i);
        if (t->place) continue;
        uint32_t last = morsel_group_last(network, t->last_step), over = over_of(network, t);
        memory->slices[memory->count++] = (struct memory_slice){
            .kind = t->ring_rows ? MEMORY_RING : MEMORY_WHOLE,
            .index = i,
            .offset = t->offset,
            .bytes = morsel_slice_bytes(t),
            .first = t->first_step == MORSEL_STEP_BEFORE ? 0 : morsel_group_first(network, t->first_step),
            .last = last < steps ? last
                    : steps      ? steps - 1
                                 : 0, /* an output stays */
            .over = over,
            .over_last = over == MEMORY_NONE ? 0 : morsel_group_last(network, morsel_blob_tensor(network, over)->last_step),
        };
    }
}

static void add_scratch(const struct morsel_model *network, struct memory *memory) {
    for (uint32_t s = 0; s < morsel_blob_header(network)->steps.count; s++) {
        const struct morsel_blob_step *step = morsel_blob_step(network, s);
        if (step->scratch_bytes)
            memory->slices[memory->count++] = (struct memory_slice){.kind = MEMORY_SCRATCH,
                                                                    .index = s,
                                                                    .offset = step->scratch_offset,
                                                                    .bytes = step->scratch_bytes,
                                                                    .first = morsel_group_first(network, s),
                                                                    .last = morsel_group_last(network, s),
                                                                    .over = MEMORY_NONE};
    }
}

/* --- Bytes in use --- */

static int lower_first(const void *a, const void *b) {
    const struct memory_slice *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Bytes from offset `from` to `end` that slices alive at the step cover together. `sorted` has all by their offsets. */
static uint32_t covered(const struct memory_slice *sorted, uint32_t count, uint32_t step, uint32_t from, uint32_t end) {
    uint32_t bytes = 0, reached = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct memory_slice *slice = &sorted[i];
        if (slice->offset < from || slice->offset >= end || !memory_alive(slice, step)) continue;
        uint32_t first = slice->offset > reached ? slice->offset : reached, last = slice->offset + slice->bytes;
        if (last <= first) continue;
        bytes += last - first;
        reached = last;
    }
    return bytes;
}

/* Copies what is alive at the step, what lies over something else there behind all others; how many. */
static uint32_t find_alive(const struct memory *memory, uint32_t step, struct memory_slice *alive) {
    uint32_t count = 0;
    for (int over = 0; over < 2; over++)
        for (uint32_t i = 0; i < memory->count; i++) {
            const struct memory_slice *slice = &memory->slices[i];
            bool shares = slice->over != MEMORY_NONE && step <= slice->over_last;
            if (!memory_alive(slice, step) || shares != over) continue;
            alive[count] = *slice;
            if (!shares) alive[count].over = MEMORY_NONE;
            count++;
        }
    return count;
}

static void find_peak(struct memory *memory, const struct memory_slice *sorted, uint32_t steps) {
    for (uint32_t s = 0; s < steps; s++) {
        memory->live[s] = covered(sorted, memory->count, s, 0, UINT32_MAX);
        if (memory->live[s] > memory->peak_bytes) {
            memory->peak_bytes = memory->live[s];
            memory->peak_step = s;
        }
    }
}

static int larger_part_first(const void *a, const void *b) {
    const struct memory_slice *x = a, *y = b;
    if (x->own != y->own) return x->own < y->own ? 1 : -1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t place_of(const uint32_t *points, uint32_t count, uint32_t number) {
    const uint32_t *found = bsearch(&number, points, count, sizeof *points, by_number);
    return (uint32_t)(found - points);
}

/* The first piece from k on that nobody holds; halves the way to it. */
static uint32_t free_from(uint32_t *next, uint32_t k) {
    while (next[k] != k) k = next[k] = next[next[k]];
    return k;
}

/* Each counts what those before it leave, of the pieces that begins and ends cut the arena into. `points` and `next` have room for two of
 * each slice and one more. */
static void find_holders(struct memory *memory, uint32_t *points, uint32_t *next) {
    uint32_t count = 0;
    memory->holder_count = find_alive(memory, memory->peak_step, memory->holders);
    for (uint32_t i = 0; i < memory->holder_count; i++) {
        points[count++] = memory->holders[i].offset;
        points[count++] = memory->holders[i].offset + memory->holders[i].bytes;
    }
    qsort(points, count, sizeof *points, by_number);
    for (uint32_t k = 0; k <= count; k++) next[k] = k;
    for (uint32_t i = 0; i < memory->holder_count; i++) {
        struct memory_slice *holder = &memory->holders[i];
        const uint32_t end = place_of(points, count, holder->offset + holder->bytes);
        holder->own = 0;
        for (uint32_t k = free_from(next, place_of(points, count, holder->offset)); k < end; k = free_from(next, k)) {
            holder->own += points[k + 1] - points[k];
            next[k] = k + 1;
        }
    }
    qsort(memory->holders, memory->holder_count, sizeof *memory->holders, larger_part_first);
}

/* --- Two parts --- */

static struct traffic_step traffic_of(const struct morsel_model *network, const struct morsel_blob_step *step) {
    const struct morsel_blob_tensor *y = morsel_blob_output(network, step);
    return (struct traffic_step){.kind = step->kind,
                                 .macs = morsel_step_macs(step),
                                 .record = morsel_blob_at(network, step->parameters),
                                 .y_elements = morsel_elements(y),
                                 .y_rows = y->rank == 4 ? y->dims[0] * y->dims[1] : 0,
                                 .scratch_bytes = step->scratch_bytes};
}

static void add_traffic(struct memory *memory, const struct morsel_model *network, uint32_t offset, uint64_t bytes) {
    struct memory_part *part = offset < morsel_fast_from(morsel_blob_header(network)) ? &memory->slow : &memory->fast;
    part->traffic += bytes;
}

static void count_traffic(struct memory *memory, const struct morsel_model *network) {
    for (uint32_t s = 0; s < morsel_blob_header(network)->steps.count; s++) {
        const struct morsel_blob_step *step = morsel_blob_step(network, s);
        const struct morsel_blob_tensor *y = morsel_blob_output(network, step);
        struct traffic_step t = traffic_of(network, step);
        for (uint32_t n = 0; n < step->input_count; n++) {
            const struct morsel_blob_tensor *x = morsel_blob_input(network, step, n);
            if (!x->place) add_traffic(memory, network, x->offset, traffic_read(&t, n, x->bytes, morsel_type_bytes(x->type)));
        }
        add_traffic(memory, network, y->offset, y->bytes);
        if (!step->scratch_bytes) continue;
        uint32_t element = morsel_type_bytes(morsel_blob_input(network, step, 0)->type);
        add_traffic(memory, network, step->scratch_offset, traffic_scratch(&t, element));
    }
}

/* The step at which slices from offset `from` to `end` hold most, once find_peak() has counted those of all. */
static void find_part(const struct memory *memory, const struct memory_slice *sorted, struct memory_part *part,
                      const struct morsel_blob_header *h, uint32_t from, uint32_t end) {
    const bool is_all = from == 0 && end == h->arena_bytes;
    part->bytes = end - from;
    for (uint32_t s = 0; from < end && s < h->steps.count; s++) {
        uint32_t bytes = is_all ? memory->live[s] : covered(sorted, memory->count, s, from, end);
        if (bytes > part->peak_bytes) *part = (struct memory_part){part->bytes, s, bytes, part->traffic};
    }
}

static void find_parts(struct memory *memory, const struct memory_slice *sorted, const struct morsel_model *network) {
    const struct morsel_blob_header *h = morsel_blob_header(network);
    find_part(memory, sorted, &memory->slow, h, 0, morsel_fast_from(h));
    find_part(memory, sorted, &memory->fast, h, morsel_fast_from(h), h->arena_bytes);
    count_traffic(memory, network);
}

bool memory_read(const struct morsel_model *network, struct memory *memory, struct failure *failure) {
    const struct morsel_blob_header *header = morsel_blob_header(network);
    size_t most = (size_t)header->tensors.count + header->steps.count + 1;
    *memory = (struct memory){.slices = calloc(most, sizeof *memory->slices),
                              .holders = calloc(most, sizeof *memory->holders),
                              .live = calloc(most, sizeof *memory->live)};
    struct memory_slice *sorted = calloc(most, sizeof *sorted);
    uint32_t *points = calloc(2 * most + 1, sizeof *points), *next = calloc(2 * most + 1, sizeof *next);
    bool good = memory->slices && memory->holders && memory->live && sorted && points && next;
    if (good) {
        if (header->steps.count)
            memory->slices[memory->count++] = (struct memory_slice){.kind = MEMORY_CALLS,
                                                                    .bytes = header->steps.count * MORSEL_FORMAT_STEP_SLOT,
                                                                    .last = header->steps.count - 1,
                                                                    .over = MEMORY_NONE};
        add_tensors(network, memory);
        add_scratch(network, memory);
        memcpy(sorted, memory->slices, memory->count * sizeof *sorted);
        qsort(sorted, memory->count, sizeof *sorted, lower_first);
        find_peak(memory, sorted, header->steps.count);
        find_parts(memory, sorted, network);
        if (header->steps.count) find_holders(memory, points, next);
    } else {
        failure_memory(failure, most * sizeof *sorted);
        memory_free(memory);
    }
    free(sorted);
    free(points);
    free(next);
    return good;
}

void memory_free(struct memory *memory) {
    free(memory->slices);
    free(memory->holders);
    free(memory->live);
    *memory = (struct memory){0};
}

/* --- What callers ask for --- */

bool memory_call_fits(long arena, bool no_streaming, struct failure *failure) {
    return !arena || !no_streaming ||
           failure_set(failure, STATUS_CALL,
                       "--arena %ld and --no-streaming exclude each other: without streaming there is nothing to "
                       "choose; leave one of them out",
                       arena);
}

/* One byte is how the least is asked for. */
void memory_notice(long asked, uint32_t bytes) {
    if (asked > 1 && (uint32_t)asked < bytes)
        message_notice("--arena %ld cannot be had: the least for this network are %u bytes, which it takes now", asked, bytes);
}

void memory_notice_fast(long asked, uint32_t bytes) {
    if (asked && !bytes) message_notice("--arena-fast %ld: no tensor of this network fits there, and all of the arena is one block", asked);
}
