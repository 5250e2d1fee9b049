/* SPDX-License-Identifier: MIT */
/* Layer normalization is one step, however it is spelled, and gives what the steps gave; what is read elsewhere, too, stays. */
#include "tests/unit/support/graph_words.h"

#include "tests/unit/support/stream_runs.h"
#include "tools/lower/lower.h"

enum { LINES = 6, COUNT = 40, ELEMENTS = LINES * COUNT };

#define WORDS "1,6,40"
#define SPELLED "ReduceMean x > m axes=2; Sub x m > d; Mul d d > s; ReduceMean s > v axes=2; Add v #0.01 > e; Sqrt e > r; Div d r > "

/* Constants stay those of the graph. */
struct lowered {
    struct onnx_graph *graph;
    struct net *net;
};

static struct lowered lower_words(const char *text) {
    struct onnx_report report = {0};
    struct lowered l = {.graph = network(17, WORDS, text)};
    graph_optimize(l.graph, NULL);
    l.net = lower(l.graph, &report);
    if (!l.net) fail_msg("%s: %s", text, report.refusals[0].why);
    onnx_report_free(&report);
    return l;
}

static void free_lowered(struct lowered *l) {
    net_free(l->net);
    onnx_free(l->graph);
}

/* The only normalization there is. */
static const struct net_step *norm_in(const struct net *net) {
    const struct net_step *norm = NULL;
    for (uint32_t i = 0; i < net->step_count; i++) {
        if (net->steps[i]->kind != MORSEL_STEP_LAYER_NORM) continue;
        assert_null(norm);
        norm = net->steps[i];
    }
    return norm;
}

/* In doubles; factor and term are those that the words state. */
static double expected(const float *line, int i, bool centred, double epsilon, bool factor, bool term) {
    double mean = 0, variance = 0;
    for (int k = 0; centred && k < COUNT; k++) mean += (double)line[k] / COUNT;
    for (int k = 0; k < COUNT; k++) variance += ((double)line[k] - mean) * ((double)line[k] - mean) / COUNT;
    double v = ((double)line[i] - mean) / sqrt(variance + epsilon);
    if (factor) v *= (double)some_number(i);
    return term ? v + (double)some_number(i) : v;
}

struct spelling {
    const char *text;
    bool centred, factor, term;
};

static void spellings_become_one_step(void **unused) {
    (void)unused;
    static const struct spelling spellings[] = {
        {"LayerNormalization x %40 %40 > y epsilon~0.01", true, true, true},
        {"LayerNormalization x %40 > y epsilon~0.01", true, true, false},
        {SPELLED "n; Mul n %40 > f; Add f %40 > y", true, true, true},
        {SPELLED "n; Mul %40 n > f; Add %40 f > y", true, true, true},
        {SPELLED "n; Add n %40 > y", true, false, true},
        {SPELLED "y", true, false, false},
        {"Mul x x > s; ReduceMean s > v axes=2; Add #0.01 v > e; Sqrt e > r; Div x r > n; Mul n %40 > y", false, true, false},
    };
    for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++) {
        const struct spelling *s = &spellings[k];
        struct lowered l = lower_words(s->text);
        float x[ELEMENTS];
        uint32_t random = 7;
        for (int i = 0; i < ELEMENTS; i++) x[i] = ((float)builder_between(&random, 0, 6000) - 3000) / 1000 + (float)(i / COUNT);
        const struct net_step *norm = norm_in(l.net);
        if (!norm || l.net->step_count != 1) fail_msg("%s: %u steps", s->text, (unsigned)l.net->step_count);
        assert_int_equal(norm->parameters.layer_norm.centred, s->centred);
        float *y = run_floats(l.net, MORSEL_CPU_ALL, x, ELEMENTS), *plain = run_floats(l.net, MORSEL_CPU_C, x, ELEMENTS);
        assert_memory_equal(y, plain, sizeof x);
        for (int i = 0; i < ELEMENTS; i++) {
            double want = expected(x + i / COUNT * COUNT, i % COUNT, s->centred, 0.01, s->factor, s->term);
            if (fabs((double)y[i] - want) > 4e-6) fail_msg("%s: element %d is %g, not %g", s->text, i, (double)y[i], want);
        }
        free(y);
        free(plain);
        free_lowered(&l);
    }
}

/* Somebody else reads what lies between, or the lines are not those that are divided. */
static void what_others_read_stays(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        SPELLED "n; Mul n r > y",
        SPELLED "n; Mul n e > y",
        "ReduceMean x > m axes=2; Sub x m > d; Mul d d > s; ReduceMean s > v axes=1; Add v #0.01 > e; Sqrt e > r; Div d r > y",
        "ReduceMean x > m axes=2; Sub x m > d; Mul d x > s; ReduceMean s > v axes=2; Add v #0.01 > e; Sqrt e > r; Div d r > y",
        "ReduceMean x > m axes=2; Sub x m > d; Mul d d > s; ReduceMean s > v axes=2; Add v m > e; Sqrt e > r; Div d r > y",
        "ReduceMean x > m axes=2; Sub x m > d; Mul d d > s; ReduceMean s > v axes=2; Add v #-1 > e; Sqrt e > r; Div d r > y",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct lowered l = lower_words(texts[k]);
        if (norm_in(l.net)) fail_msg("%s", texts[k]);
        free_lowered(&l);
    }
}

/* What a part of it is read for stays; the rest is one step. */
static void parts_become_one_step(void **unused) {
    (void)unused;
    static const struct part {
        const char *text;
        uint32_t steps, centred;
    } parts[] = {
        {SPELLED "n; Mul n %6x1 > y", 2, 1}, /* a list by line is no factor of elements */
        {SPELLED "n; Mul n %40 > f; Exp f > g; Sub f g > y", 3, 1},
        {SPELLED "n; Mul n m > y", 4, 0},
        {SPELLED "n; Mul n d > y", 4, 0},
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        struct lowered l = lower_words(parts[k].text);
        const struct net_step *norm = norm_in(l.net);
        if (!norm || l.net->step_count != parts[k].steps) fail_msg("%s: %u steps", parts[k].text, (unsigned)l.net->step_count);
        assert_int_equal(norm->parameters.layer_norm.centred, parts[k].centred);
        free_lowered(&l);
    }
}

/* A record holds numbers alone: a factor or a term that has another stays a step behind it. */
static void no_number_is_no_factor(void **unused) {
    (void)unused;
    static const float odd[] = {NAN, INFINITY};
    for (int k = 0; k < 4; k++) {
        struct onnx_report report = {0};
        struct lowered l = {.graph = network(17, WORDS, "LayerNormalization x %40 %40 > y epsilon~0.01")};
        const struct onnx_tensor *list = onnx_input_constant(l.graph->nodes[0], 1 + k / 2);
        ((float *)(uintptr_t)list->data)[3] = odd[k % 2];
        graph_optimize(l.graph, NULL);
        l.net = lower(l.graph, &report);
        if (!l.net) fail_msg("%s", report.refusals[0].why);
        const struct net_step *norm = norm_in(l.net);
        assert_non_null(norm);
        assert_int_equal(norm->constant_count, k / 2);
        assert_int_equal(l.net->step_count, 3 - k / 2);
        onnx_report_free(&report);
        free_lowered(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings_become_one_step),
        cmocka_unit_test(what_others_read_stays),
        cmocka_unit_test(parts_become_one_step),
        cmocka_unit_test(no_number_is_no_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
