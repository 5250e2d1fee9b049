/* SPDX-License-Identifier: MIT */
/* Views of buffers through reshapes, transposes and slices, without a byte moved. */
#include "tools/lower/view.h"
#include "tools/base/arena.h"

#include <stdlib.h>
#include <string.h>

uint32_t view_elements(const struct view *view) {
    uint32_t n = 1;
    for (uint32_t a = 0; a < view->rank; a++) n *= view->dims[a];
    return n;
}

uint64_t view_walk(const struct view *view) {
    uint64_t entries = 0;
    for (uint32_t a = 0; a < view->rank; a++) entries += view->step[a] ? 0 : view->dims[a];
    return entries;
}

bool view_has_step(const struct view *view, uint32_t axis, uint32_t step) {
    if (view->step[axis]) return view->dims[axis] < 2 || view->step[axis] == step;
    for (uint32_t k = 0; k < view->dims[axis]; k++)
        if (view->table[axis][k] != (int32_t)(k * step)) return false;
    return true;
}

/* Looks once at an axis that was made anew. */
static void find_step(struct view *view, uint32_t axis) {
    const int32_t step = view->dims[axis] > 1 ? view->table[axis][1] : 1;
    view->step[axis] = 0;
    if (step > 0 && view_has_step(view, axis, (uint32_t)step)) view->step[axis] = (uint32_t)step;
}

void view_memory_order(enum morsel_layout layout, uint32_t rank, uint32_t *order) {
    bool last = layout == MORSEL_CHANNELS_LAST && rank >= 2;
    for (uint32_t i = 0; i < rank; i++) order[i] = !last || i == 0 ? i : i == rank - 1 ? 1 : i + 1;
}

void view_physical(enum morsel_layout layout, const struct view *view, uint32_t *dims) {
    uint32_t order[VIEW_MAX_RANK];
    view_memory_order(layout, view->rank, order);
    for (uint32_t i = 0; i < view->rank; i++) dims[i] = view->dims[order[i]];
}

/* 0, step, 2 * step, ...: nobody writes to tables once they are made, and views of one network are much alike. */
static int32_t *run_of(struct net *net, uint32_t dim, uint32_t step) {
    enum { KEPT = sizeof net->runs.dim / sizeof *net->runs.dim };
    struct net_runs *runs = &net->runs;
    for (uint32_t i = 0; i < KEPT; i++)
        if (runs->table[i] && runs->dim[i] == dim && runs->step[i] == step) return runs->table[i];
    int32_t *table = net_alloc(net, (dim ? dim : 1) * sizeof(int32_t));
    for (uint32_t k = 0; k < dim; k++) table[k] = (int32_t)(k * step);
    uint32_t at = runs->next++ % KEPT;
    runs->dim[at] = dim;
    runs->step[at] = step;
    return runs->table[at] = table;
}

struct view view_whole(struct net *net, enum morsel_layout layout, uint32_t rank, const uint32_t *dims) {
    struct view view = {.rank = rank};
    uint32_t order[VIEW_MAX_RANK];
    view_memory_order(layout, rank, order);
    memcpy(view.dims, dims, rank * sizeof *dims);
    uint32_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        uint32_t axis = order[i];
        view.table[axis] = run_of(net, dims[axis], stride);
        view.step[axis] = stride;
        stride *= dims[axis];
    }
    return view;
}

bool view_side_by_side(const struct view *view, uint32_t axis) {
    if (view->step[axis]) return view->step[axis] == 1 && view->dims[axis] > 1;
    for (uint32_t k = 0; k < view->dims[axis]; k++)
        if (view->table[axis][k] < 0 || view->table[axis][k] != view->table[axis][0] + (int32_t)k) return false;
    return view->dims[axis] > 1;
}

enum morsel_layout view_layout(const struct view *view) {
    /* Where columns lie side by side, matrices were turned: what follows goes along their rows. */
    bool rows = view->rank == 4 && (view_side_by_side(view, 2) || view_side_by_side(view, 3));
    bool pictures = view->rank == 4 && (view->dims[1] == 1 || view_side_by_side(view, 1) || !rows);
    bool lines = view->rank == 3 && view_side_by_side(view, 1) && !view_side_by_side(view, 2);
    return pictures || lines ? MORSEL_CHANNELS_LAST : MORSEL_ROW_MAJOR;
}

bool view_is_whole(const struct view *view, enum morsel_layout layout, uint32_t elements) {
    uint32_t order[VIEW_MAX_RANK], stride = 1;
    view_memory_order(layout, view->rank, order);
    for (uint32_t i = view->rank; i-- > 0;) {
        if (!view_has_step(view, order[i], stride)) return false;
        stride *= view->dims[order[i]];
    }
    return stride == elements;
}

bool view_has_fill(const struct view *view) {
    for (uint32_t a = 0; a < view->rank; a++)
        for (uint32_t k = 0; !view->step[a] && k < view->dims[a]; k++)
            if (view->table[a][k] < 0) return true;
    return false;
}

/* Runs of entries that are one step apart: an axis is their sum. */
struct runs {
    uint32_t count, dim[VIEW_MAX_RANK * 32], step[VIEW_MAX_RANK * 32]; /* each halves an axis, at least */
    int64_t least;                                                     /* offset of all axes together */
};

/* How many entries from 0 on, each the `apart`-th of the table, are one step apart; 0: they are not made of such runs alone. */
static uint32_t run_length(const int32_t *table, uint32_t apart, uint32_t n) {
    const int64_t step = (int64_t)table[apart] - table[0];
    uint32_t m = 2;
    while (m < n && table[apart * m] == table[0] + m * step) m++;
    if (!step || n % m) return 0;
    for (uint32_t i = m; i < n; i++)
        if (table[apart * i] != table[apart * (i / m * m)] + i % m * step) return 0;
    return m;
}

static void add_run(struct runs *runs, uint32_t dim, uint32_t step) {
    runs->dim[runs->count] = dim;
    runs->step[runs->count++] = step;
}

/* The runs of an axis without fill; false where it is no sum of such in its order. */
static bool take_runs(struct runs *runs, const int32_t *table, uint32_t dim) {
    runs->least += table[0];
    for (uint32_t apart = 1, n = dim, m; n > 1; apart *= m, n /= m) {
        m = run_length(table, apart, n);
        if (!m) return false;
        const int64_t step = (int64_t)table[apart] - table[0];
        add_run(runs, m, (uint32_t)(step < 0 ? -step : step));
        runs->least += step < 0 ? (m - 1) * step : 0;
    }
    return true;
}

/* The entries in their order; false where one is there twice, or none of a buffer of so many elements. */
static bool sort_entries(const int32_t *table, uint32_t dim, uint32_t elements, int32_t *sorted) {
    unsigned char *seen = must_calloc(elements / 8 + 1, 1);
    uint32_t good = 0, count = 0;
    for (; good < dim && (uint32_t)table[good] < elements && !(seen[table[good] / 8] >> table[good] % 8 & 1); good++)
        seen[table[good] / 8] |= (unsigned char)(1 << table[good] % 8);
    for (uint32_t at = 0; good == dim && count < dim; at++)
        if (seen[at / 8] >> at % 8 & 1) sorted[count++] = (int32_t)at;
    free(seen);
    return good == dim;
}

/* In whatever order: which offsets there are is all that counts. */
static bool take_any_runs(struct runs *runs, const int32_t *table, uint32_t dim, uint32_t elements) {
    const struct runs before = *runs;
    if (take_runs(runs, table, dim)) return true;
    int32_t *sorted = must_calloc(dim, sizeof *sorted);
    *runs = before;
    const bool good = sort_entries(table, dim, elements, sorted) && take_runs(runs, sorted, dim);
    free(sorted);
    return good;
}

/*
 * Runs see each element once where they can be put in an order in which each step is the product of the dimensions inside: 1 has to be a
 * step, and then the least offset that the runs so far do not reach. Axes of a permutation are sums of runs: each tiles what is left.
 */
bool view_is_permutation(const struct view *view, uint32_t elements) {
    struct runs runs = {.count = 0};
    uint32_t reached = 1;
    if (view_elements(view) != elements || !elements || view_has_fill(view)) return false;
    for (uint32_t a = 0; a < view->rank; a++) {
        if (!view->step[a] && !take_any_runs(&runs, view->table[a], view->dims[a], elements)) return false;
        if (view->step[a] && view->dims[a] > 1) add_run(&runs, view->dims[a], view->step[a]);
    }
    for (uint32_t i = 0; i < runs.count; i++) {
        uint32_t next = i;
        while (next < runs.count && runs.step[next] != reached) next++;
        if (next == runs.count) return false;
        reached *= runs.dim[next];
        runs.dim[next] = runs.dim[i];
        runs.step[next] = runs.step[i];
    }
    return !runs.least && reached == elements;
}

struct view view_transpose(const struct view *view, const uint32_t *axes) {
    struct view out = {.rank = view->rank};
    for (uint32_t i = 0; i < view->rank; i++) {
        out.dims[i] = view->dims[axes[i]];
        out.table[i] = view->table[axes[i]];
        out.step[i] = view->step[axes[i]];
    }
    return out;
}

struct view view_pick(struct net *net, const struct view *view, uint32_t axis, uint32_t count, const int32_t *indices) {
    struct view out = *view;
    out.dims[axis] = count;
    out.table[axis] = net_alloc(net, (count ? count : 1) * sizeof(int32_t));
    for (uint32_t k = 0; k < count; k++) out.table[axis][k] = indices[k] < 0 ? -1 : view->table[axis][indices[k]];
    find_step(&out, axis);
    return out;
}

/* Axes a and b (a outside) as one. */
static int32_t *merged(struct net *net, const int32_t *a, uint32_t a_dim, const int32_t *b, uint32_t b_dim) {
    int32_t *table = net_alloc(net, ((size_t)a_dim * b_dim + 1) * sizeof(int32_t));
    for (uint32_t i = 0; i < a_dim; i++)
        for (uint32_t k = 0; k < b_dim; k++) table[i * b_dim + k] = a[i] < 0 || b[k] < 0 ? -1 : a[i] + b[k];
    return table;
}

/* Splits an axis into an outer one of dim / inner and an inner one; false where its entries are not such a sum. */
static bool split(struct net *net, const int32_t *table, uint32_t dim, uint32_t inner, int32_t **outer_table, int32_t **inner_table) {
    uint32_t outer = dim / inner;
    int32_t *a = net_alloc(net, (outer + 1) * sizeof(int32_t)), *b = net_alloc(net, (inner + 1) * sizeof(int32_t));
    for (uint32_t k = 0; k < inner; k++) b[k] = table[k] - table[0];
    for (uint32_t i = 0; i < outer; i++) {
        a[i] = table[i * inner];
        for (uint32_t k = 0; k < inner; k++)
            if (table[i * inner + k] < 0 || b[k] < 0 || table[i * inner + k] != a[i] + b[k]) return false;
    }
    *outer_table = a;
    *inner_table = b;
    return true;
}

/* Builds the new axes from the innermost out: merges old ones until they hold the new dimension, splits what is left over. */
bool view_reshape(struct net *net, const struct view *view, uint32_t rank, const uint32_t *dims, struct view *out) {
    static const int32_t zero[1] = {0};
    uint32_t old = view->rank, have = 1;
    const int32_t *table = zero; /* what is taken from the old axes and not yet given to a new one */
    struct view made = {.rank = rank};
    for (uint32_t i = rank; i-- > 0;) {
        while (have < dims[i] || have % dims[i]) {
            if (old-- == 0) return false;
            table = merged(net, view->table[old], view->dims[old], table, have);
            have *= view->dims[old];
        }
        made.dims[i] = dims[i];
        int32_t *rest = NULL;
        if (!split(net, table, have, dims[i], &rest, &made.table[i])) {
            if (have != dims[i]) return false;
            made.table[i] = net_alloc(net, (have + 1) * sizeof(int32_t));
            memcpy(made.table[i], table, have * sizeof(int32_t));
            rest = net_alloc(net, sizeof(int32_t));
        }
        table = rest;
        have /= dims[i];
    }
    while (old-- > 0) { /* only axes of one element are left */
        table = merged(net, view->table[old], view->dims[old], table, have);
        have *= view->dims[old];
    }
    if (have != 1) return false;
    if (table[0] != 0) { /* an offset common to all: give it to the first axis, or refuse where there is none */
        if (!rank) return false;
        for (uint32_t k = 0; k < made.dims[0]; k++)
            made.table[0][k] = table[0] < 0 ? -1 : made.table[0][k] < 0 ? -1 : made.table[0][k] + table[0];
    }
    for (uint32_t a = 0; a < rank; a++) find_step(&made, a);
    *out = made;
    return true;
}

bool view_join(struct net *net, const struct view *const *views, uint32_t count, uint32_t axis, struct view *out) {
    struct view made = *views[0];
    made.dims[axis] = 0;
    for (uint32_t v = 0; v < count; v++) {
        struct view other = *views[v];
        other.dims[axis] = made.dims[axis];
        other.table[axis] = made.table[axis];
        for (uint32_t i = 0; i < made.rank; i++)
            if (other.rank != made.rank || other.dims[i] != made.dims[i] ||
                (i != axis && memcmp(other.table[i], made.table[i], made.dims[i] * sizeof(int32_t))))
                return false;
    }
    for (uint32_t v = 0; v < count; v++) made.dims[axis] += views[v]->dims[axis];
    made.table[axis] = net_alloc(net, made.dims[axis] * sizeof(int32_t));
    for (uint32_t v = 0, at = 0; v < count; at += views[v++]->dims[axis])
        memcpy(made.table[axis] + at, views[v]->table[axis], views[v]->dims[axis] * sizeof(int32_t));
    find_step(&made, axis);
    *out = made;
    return true;
}

bool view_same(const struct view *a, const struct view *b) {
    if (a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims)) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->table[i] != b->table[i] && memcmp(a->table[i], b->table[i], a->dims[i] * sizeof(int32_t))) return false;
    return true;
}
