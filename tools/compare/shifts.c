/* SPDX-License-Identifier: MIT */
/*
 * Numbers that the model adds to channels. Quantizers shift channels so that one range fits all of them. The biases of the layers that
 * read them make up for it. The model holds factor * (x + shift).
 *
 * They are found twice: forwards, by what a value takes on in both networks, and backwards, by the biases of the layers that read it. Those
 * are mostly far more than channels. Where the two agree, that is the shift. Where they do not, the readers decide. Exceptions: no shift
 * explains their biases, or no channel of the value is seen to be shifted. So a bias that is merely wrong, with no layer behind it that
 * makes up for it, is an error. That holds in a network whose channels were shifted, too.
 */
#include "tools/compare/compare.h"
#include "tools/compare/equations.h"
#include "tools/optimize/notes.h"

#include <math.h>

enum { READERS_MOST = 16 };
static const double too_much = 0.25;     /* of what biases say that no numbers explain: they are wrong */
static const double agreement = 3;       /* so many times the doubts of both may lie between them */
static const double certainty = 5;       /* nothing was added to a value that has no channel beyond so many times its doubt */
static const double bias_noise = 0x1p-8; /* what quantizers correct in biases, as a part of what is read */

static struct compare_value *info_of(const struct onnx_value *value) {
    return value->lowered;
}

float compare_shift(const struct onnx_value *value, size_t channel) {
    const float *shifts = info_of(value)->shifts;
    return shifts && channel < compare_channels(value) ? shifts[channel] : 0;
}

struct guess {
    double shift, doubt; /* a standard error; INFINITY: not known */
};

/* Of each value. */
struct found {
    bool settled;
    struct guess *guesses; /* [channels]; NULL: nothing was added */
};

struct search {
    const struct comparison *c;
    struct onnx_graph *graph;
    struct found *values;
};

static struct found *found_of(const struct search *s, const struct onnx_value *value) {
    return &s->values[info_of(value) - s->c->values];
}

static struct guess guess_at(const struct search *s, const struct onnx_value *value, size_t channel) {
    const struct guess *guesses = found_of(s, value)->guesses;
    return guesses ? guesses[channel] : (struct guess){0, 0};
}

/* --- Ahead --- */

/* The network's errors so far are no noise that many numbers would even out: the doubt is that of one number. */
static struct guess *look_ahead(const struct search *s, const struct onnx_value *value) {
    const struct compare_point *p = info_of(value)->point;
    size_t channels = compare_channels(value);
    struct guess *guesses = onnx_alloc(s->graph, channels * sizeof *guesses);
    for (size_t i = 0; i < channels; i++) {
        guesses[i] = (struct guess){0, INFINITY};
        if (!p || !p->stored || p->inside[i].count < COMPARE_SEEN_LEAST) continue;
        const struct metric_sums sums = metric_restored(&p->inside[i], (double)compare_factor(s->c, value, i), 0);
        const struct metric_sums centred = metric_centred(&sums);
        guesses[i] = (struct guess){(sums.y - sums.x) / sums.count, sqrt(metric_noise(&centred) / sums.count)};
    }
    return guesses;
}

/* --- Behind --- */

static bool any_certain(const struct guess *guesses, size_t channels) {
    for (size_t i = 0; i < channels; i++)
        if (isfinite(guesses[i].doubt) && fabs(guesses[i].shift) > certainty * guesses[i].doubt) return true;
    return false;
}

/* Which of the two is right where they differ. */
enum trust { TRUST_BEHIND, TRUST_AHEAD, TRUST_NEITHER };

/* The mean, by how sure they are, where they do not differ. */
static struct guess agreed(struct guess ahead, struct guess behind, enum trust trust) {
    if (!isfinite(ahead.doubt) || !isfinite(behind.doubt))
        return isfinite(ahead.doubt) ? ahead : isfinite(behind.doubt) ? behind : (struct guess){0, INFINITY};
    if (fabs(ahead.shift - behind.shift) > agreement * (ahead.doubt + behind.doubt))
        return trust == TRUST_BEHIND ? behind : trust == TRUST_AHEAD ? ahead : (struct guess){0, ahead.doubt};
    double a = ahead.doubt * ahead.doubt, b = behind.doubt * behind.doubt, all = a + b;
    return all > 0 ? (struct guess){(ahead.shift * b + behind.shift * a) / all, sqrt(a * b / all)} : behind;
}

static double size_of(const struct onnx_value *value) {
    const struct compare_point *p = info_of(value)->point;
    double squares = 0, count = 0;
    for (size_t i = 0; p && i < p->channels; i++) {
        squares += p->sums[i].xx;
        count += p->sums[i].count;
    }
    return count > 0 ? sqrt(squares / count) : 0;
}

/* What a layer took off its biases, in rows from `first` on. */
static void add_rows(const struct search *s, struct equations *e, size_t first, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_value *y = l->node->outputs[0];
    const double *bias = linear_bias(s->graph, l);
    for (size_t i = 0; i < l->weights->count; i++) {
        int64_t in, out;
        linear_place(l, (int64_t)i, &in, &out);
        e->weights[(first + (size_t)out) * e->unknowns + (size_t)in] += l->gain * onnx_number(l->weights, i);
    }
    for (size_t o = 0; o < (size_t)l->out_channels; o++)
        e->wanted[first + o] = guess_at(s, y, o).shift + bias[o] - (double)(w->bias[o] / compare_factor(s->c, y, o));
}

static void settle(struct search *s, struct onnx_value *value);

/* The first nodes that read the value, in the order of the graph; how many. */
static int first_readers(const struct search *s, struct onnx_value *value, struct onnx_node **list, int most) {
    int count = 0;
    size_t at = 0;
    for (struct onnx_node *node; (node = edit_next_reader(s->graph, value, &at));) {
        int to = count;
        while (to && list[to - 1]->number > node->number) to--;
        if (to == most || (to && list[to - 1] == node)) continue;
        count += count < most;
        for (int i = count - 1; i > to; i--) list[i] = list[i - 1];
        list[to] = node;
    }
    return count;
}

/* NULL: no layer reads the value, or none whose weights are known. */
static struct equations *ask_biases(struct search *s, struct onnx_value *value) {
    struct onnx_node *readers[READERS_MOST];
    const struct compare_weights *weights[READERS_MOST];
    size_t rows = 0, known = 0;
    const int count = first_readers(s, value, readers, READERS_MOST);
    for (int i = 0; i < count; i++) {
        const struct compare_weights *w = compare_weights_of(s->c, readers[i]);
        if (!w) continue;
        settle(s, readers[i]->outputs[0]);
        weights[known++] = w;
        rows += (size_t)w->linear.out_channels;
    }
    if (!known) return NULL;
    struct equations *e = equations_make(s->graph, rows, compare_channels(value), bias_noise * size_of(value));
    for (size_t i = 0, first = 0; i < known; first += (size_t)weights[i++]->linear.out_channels) add_rows(s, e, first, weights[i]);
    return e;
}

/* `guesses` come as what was found ahead. */
static void by_biases(const struct search *s, struct equations *e, struct guess *guesses) {
    double *shifts = graph_doubles(s->graph, (int64_t)e->unknowns), *doubts = graph_doubles(s->graph, (int64_t)e->unknowns);
    for (size_t i = 0; i < e->unknowns; i++) shifts[i] = guesses[i].shift;
    bool still = !any_certain(guesses, e->unknowns);
    if (equations_solve(s->graph, e, shifts, doubts)) {
        enum trust trust = still ? TRUST_NEITHER : e->left > too_much ? TRUST_AHEAD : TRUST_BEHIND;
        for (size_t i = 0; i < e->unknowns; i++) guesses[i] = agreed(guesses[i], (struct guess){shifts[i], doubts[i]}, trust);
        return;
    }
    for (size_t i = 0; i < e->unknowns; i++)
        if (!isfinite(guesses[i].doubt) || !equations_explained(e, shifts, i)) guesses[i] = (struct guess){0, 0};
}

/* By what an operator makes of the value: the same, or the sum with another one. */
static void by_result(struct search *s, struct onnx_value *value, struct guess *guesses) {
    struct onnx_node *node;
    if (!first_readers(s, value, &node, 1)) return;
    struct onnx_value *other = !graph_is(node, "Add") ? NULL : node->inputs[0] == value ? node->inputs[1] : node->inputs[0];
    enum trust trust = any_certain(guesses, compare_channels(value)) ? TRUST_BEHIND : TRUST_NEITHER;
    settle(s, node->outputs[0]);
    if (other) settle(s, other);
    for (size_t i = 0; i < compare_channels(value); i++) {
        struct guess all = guess_at(s, node->outputs[0], i), rest = other ? guess_at(s, other, i) : (struct guess){0, 0};
        guesses[i] = agreed(guesses[i], (struct guess){all.shift - rest.shift, all.doubt + rest.doubt}, trust);
    }
}

/* Values whose readers' biases say nothing follow from those whose readers' do: the way back from them never comes around. */
static void settle(struct search *s, struct onnx_value *value) {
    struct found *found = found_of(s, value);
    if (found->settled || !info_of(value)->movable) return;
    found->settled = true;
    struct guess *guesses = found->guesses = look_ahead(s, value);
    struct equations *e = ask_biases(s, value);
    if (e) by_biases(s, e, guesses);
    else by_result(s, value, guesses);
    if (!any_certain(guesses, compare_channels(value))) found->guesses = NULL;
}

void compare_find_shifts(struct comparison *c) {
    struct search s = {c, c->graph, onnx_alloc(c->graph, c->value_count * sizeof *s.values)};
    for (size_t n = c->graph->node_count; n-- > 0;) {
        struct onnx_value *value = c->graph->nodes[n]->output_count ? c->graph->nodes[n]->outputs[0] : NULL;
        if (!value) continue;
        settle(&s, value);
        const struct guess *guesses = found_of(&s, value)->guesses;
        if (!guesses) continue;
        float *shifts = info_of(value)->shifts = onnx_alloc(c->graph, compare_channels(value) * sizeof *shifts);
        for (size_t i = 0; i < compare_channels(value); i++) shifts[i] = (float)guesses[i].shift;
    }
}
