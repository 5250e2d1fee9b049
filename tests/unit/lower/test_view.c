/* SPDX-License-Identifier: MIT */
/* Views against real arrays: what a view says of each element after random chains of moves is what moving the elements gives. */
#include "tools/lower/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MOST 20000

static uint64_t seed;
static unsigned permutations; /* beside whole views */

static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* A row-major array of the buffer offsets that its elements came from. */
struct array {
    uint32_t rank, dims[VIEW_MAX_RANK];
    int32_t at[MOST];
};

static uint32_t elements(const struct array *a) {
    uint32_t n = 1;
    for (uint32_t i = 0; i < a->rank; i++) n *= a->dims[i];
    return n;
}

static void split_index(const struct array *a, uint32_t i, uint32_t *index) {
    for (uint32_t k = a->rank; k-- > 0; i /= a->dims[k]) index[k] = i % a->dims[k];
}

static uint32_t join_index(const struct array *a, const uint32_t *index) {
    uint32_t i = 0;
    for (uint32_t k = 0; k < a->rank; k++) i = i * a->dims[k] + index[k];
    return i;
}

/* A step that is said to be known is one, and what is told by steps alone is what the offsets say. */
static void expect_steps(const struct array *a, const struct view *v) {
    static uint8_t seen[MOST];
    bool once = true, fill = false, whole = true, known = true;
    const uint32_t n = elements(a);
    for (uint32_t k = 0; k < v->rank; k++) {
        known = known && v->step[k];
        for (uint32_t i = 0; v->step[k] && i < v->dims[k]; i++) assert_int_equal(v->table[k][i], i * v->step[k]);
    }
    assert_int_equal(view_walk(v) == 0, known);
    memset(seen, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t at = a->at[i];
        fill = fill || at < 0;
        whole = whole && at == (int32_t)i;
        once = once && at >= 0 && (uint32_t)at < n && !seen[at];
        if (at >= 0 && (uint32_t)at < n) seen[at] = 1;
    }
    assert_int_equal(view_has_fill(v), fill);
    assert_int_equal(view_is_whole(v, MORSEL_ROW_MAJOR, n), whole);
    assert_int_equal(view_is_permutation(v, n), once);
    permutations += once && !whole;
}

static void expect_same(const struct array *a, const struct view *v) {
    assert_int_equal(a->rank, v->rank);
    expect_steps(a, v);
    for (uint32_t i = 0; i < elements(a); i++) {
        uint32_t index[VIEW_MAX_RANK] = {0};
        int32_t sum = 0;
        split_index(a, i, index);
        for (uint32_t k = 0; k < a->rank && sum >= 0; k++) sum = v->table[k][index[k]] < 0 ? -1 : sum + v->table[k][index[k]];
        assert_int_equal(sum, a->at[i]);
    }
}

static void move_transpose(struct array *a, struct view *v) {
    static struct array out;
    uint32_t axes[VIEW_MAX_RANK], from[VIEW_MAX_RANK], to[VIEW_MAX_RANK];
    for (uint32_t i = 0; i < a->rank; i++) axes[i] = i;
    for (uint32_t i = a->rank; i-- > 1;) {
        uint32_t k = below(i + 1), keep = axes[i];
        axes[i] = axes[k];
        axes[k] = keep;
    }
    out.rank = a->rank;
    for (uint32_t i = 0; i < a->rank; i++) out.dims[i] = a->dims[axes[i]];
    for (uint32_t i = 0; i < elements(a); i++) {
        split_index(a, i, from);
        for (uint32_t k = 0; k < a->rank; k++) to[k] = from[axes[k]];
        out.at[join_index(&out, to)] = a->at[i];
    }
    *v = view_transpose(v, axes);
    *a = out;
}

/* Slices, repeats and pads one axis. */
static void move_pick(struct net *net, struct array *a, struct view *v) {
    static struct array out;
    uint32_t axis = below(a->rank), count = 1 + below(5), index[VIEW_MAX_RANK];
    int32_t indices[5];
    for (uint32_t k = 0; k < count; k++) indices[k] = below(6) ? (int32_t)below(a->dims[axis]) : -1;
    out.rank = a->rank;
    memcpy(out.dims, a->dims, sizeof out.dims);
    out.dims[axis] = count;
    if (elements(&out) > MOST) return;
    for (uint32_t i = 0; i < elements(&out); i++) {
        split_index(&out, i, index);
        int32_t from = indices[index[axis]];
        index[axis] = (uint32_t)from;
        out.at[i] = from < 0 ? -1 : a->at[join_index(a, index)];
    }
    *v = view_pick(net, v, axis, count, indices);
    *a = out;
}

/* Random dimensions of the same product; how often a view can take them is for the caller to count. */
static bool move_reshape(struct net *net, struct array *a, struct view *v) {
    uint32_t left = elements(a), rank = 0, dims[VIEW_MAX_RANK];
    struct view out;
    while (rank < 5 && (left > 1 || rank == 0)) {
        uint32_t d = 1 + below(left);
        while (left % d) d--;
        dims[rank] = rank == 4 ? left : d;
        left /= dims[rank++];
    }
    if (left != 1) return false;
    if (!view_reshape(net, v, rank, dims, &out)) return false;
    a->rank = rank;
    memcpy(a->dims, dims, rank * sizeof *dims);
    *v = out;
    return true;
}

static void random_chains_match_moved_arrays(void **state) {
    (void)state;
    static struct array a;
    uint32_t reshaped = 0;
    for (seed = 1; seed < 600;) {
        uint64_t round = seed;
        struct net *net = net_new("views");
        a.rank = 1 + below(4);
        for (uint32_t i = 0; i < a.rank; i++) a.dims[i] = 1 + below(6);
        for (uint32_t i = 0; i < elements(&a); i++) a.at[i] = (int32_t)i;
        struct view v = view_whole(net, MORSEL_ROW_MAJOR, a.rank, a.dims);
        for (uint32_t move = 0; move < 6; move++) {
            uint32_t which = below(3);
            if (which == 0) move_transpose(&a, &v);
            else if (which == 1) move_pick(net, &a, &v);
            else reshaped += move_reshape(net, &a, &v);
            expect_same(&a, &v);
        }
        net_free(net);
        seed = round + 1;
    }
    assert_true(reshaped > 300 && permutations > 100); /* or the test would say little of them */
}

static void channels_last_is_recognized(void **state) {
    (void)state;
    struct net *net = net_new("views");
    const uint32_t dims[4] = {2, 3, 4, 5}, other[2] = {2, 60};
    struct view last = view_whole(net, MORSEL_CHANNELS_LAST, 4, dims), flat;
    assert_int_equal(last.table[1][1], 1);
    assert_int_equal(last.table[3][1], 3);
    assert_int_equal(last.table[2][1], 15);
    assert_true(view_is_whole(&last, MORSEL_CHANNELS_LAST, 120));
    assert_false(view_is_whole(&last, MORSEL_ROW_MAJOR, 120));
    assert_true(view_is_permutation(&last, 120));
    assert_true(view_reshape(net, &last, 2, other, &flat));
    assert_true(view_is_permutation(&flat, 120));
    assert_false(view_is_whole(&flat, MORSEL_ROW_MAJOR, 120));
    net_free(net);
}

/* A channel shuffle is a chain of reshape, transpose, reshape: as a view it is still one axis of channels. */
static void a_channel_shuffle_is_a_view(void **state) {
    (void)state;
    struct net *net = net_new("views");
    const uint32_t dims[4] = {1, 6, 2, 2}, split[5] = {1, 2, 3, 2, 2}, swap[5] = {0, 2, 1, 3, 4};
    const int32_t want[6] = {0, 3, 1, 4, 2, 5};
    struct view v = view_whole(net, MORSEL_CHANNELS_LAST, 4, dims);
    assert_true(view_reshape(net, &v, 5, split, &v));
    v = view_transpose(&v, swap);
    assert_true(view_reshape(net, &v, 4, dims, &v));
    assert_memory_equal(v.table[1], want, sizeof want);
    assert_true(view_is_permutation(&v, 24));
    net_free(net);
}

/* Heads of turned tokens [1, heads, numbers, tokens] are lines of tokens; so they are read over and over by what divides lines. */
static void turned_matrices_lie_in_rows(void **state) {
    (void)state;
    struct net *net = net_new("views");
    const uint32_t tokens[4] = {1, 6, 2, 3}, picture[4] = {1, 4, 6, 5}, turn[4] = {0, 2, 3, 1}, swap[4] = {0, 1, 3, 2};
    struct view v = view_whole(net, MORSEL_ROW_MAJOR, 4, tokens);
    assert_int_equal(view_layout(&v), MORSEL_ROW_MAJOR);
    v = view_transpose(&v, turn);
    assert_true(view_side_by_side(&v, 2));
    assert_int_equal(view_layout(&v), MORSEL_ROW_MAJOR);
    v = view_whole(net, MORSEL_CHANNELS_LAST, 4, picture);
    assert_int_equal(view_layout(&v), MORSEL_CHANNELS_LAST);
    v = view_transpose(&v, swap);
    assert_int_equal(view_layout(&v), MORSEL_CHANNELS_LAST);
    net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_chains_match_moved_arrays),
        cmocka_unit_test(channels_last_is_recognized),
        cmocka_unit_test(a_channel_shuffle_is_a_view),
        cmocka_unit_test(turned_matrices_lie_in_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
