/* SPDX-License-Identifier: MIT */
/* Which nodes go to float, in which order, where the noise of each value is given: without a network that runs. */
#include "tests/unit/support/scheme_graph.h"

#include "tools/quant/float_order.h"
#include "tools/quant/rounding_noise.h"

#include <math.h>

/* Of values by their names. */
struct noise {
    const char *value;
    double noise;
};
static const struct noise *given;
static size_t asked;

/* In the place of what runs the network: it is linked before the library. */
bool rounding_noise(const struct scheme *scheme, const size_t *values, size_t count, const struct reference *reference, unsigned threads,
                    double *noise, struct failure *failure) {
    assert_null(reference);
    assert_int_equal(threads, 3);
    asked = count;
    if (!given) return failure_set(failure, STATUS_INPUT, "no noise");
    for (size_t i = 0; i < count; i++) {
        const char *name = scheme->graph->values[values[i]]->name;
        const struct noise *of = given;
        while (of->value && strcmp(of->value, name) != 0) of++;
        if (!of->value) fail_msg("the noise of '%s' is asked for", name);
        noise[i] = of->noise;
    }
    return true;
}

static float weight(int i) {
    return (float)(i % 5) - 2;
}

/* A layer, a function, what moves, a layer: x, a and b are rounded, t is b's bytes and y stays float. */
static struct onnx_graph *chain(void) {
    struct building b = begin("1,6,8");
    constant(&b, "w", 2, (const int64_t[]){8, 8}, weight);
    constant(&b, "v", 2, (const int64_t[]){6, 4}, weight);
    node(&b, "MatMul", "x w", "a", "");
    node(&b, "Sigmoid", "a", "b", "");
    node(&b, "Transpose", "b", "t", "perm=0,2,1");
    node(&b, "MatMul", "t v", "y", "");
    return built(&b, 13);
}

static void expect(struct onnx_graph *g, const struct noise *noise, const char *names, const struct float_step *steps, size_t count) {
    const struct scheme *s = place(g, &(struct scheme_options){0});
    struct float_order order;
    struct failure failure;
    char said[200] = "";
    given = noise;
    assert_true(float_order_find(&order, s, NULL, 3, &failure));
    assert_int_equal(order.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(order.steps[i].end, steps[i].end);
        assert_true(fabs(order.steps[i].rest - steps[i].rest) < 1e-12);
    }
    for (size_t i = 0; count && i < steps[count - 1].end; i++)
        snprintf(said + strlen(said), sizeof said - strlen(said), " %s", order.names[i]);
    assert_string_equal(said, names);
    float_order_free(&order);
    onnx_free(g);
}

/* Behind what moves stands the layer that reads, in front the function that makes: with them a is spared as well. */
static void a_value_takes_its_readers_and_makers(void **state) {
    (void)state;
    const struct noise noise[] = {{"x", 1}, {"a", 1}, {"b", 100}, {0}};
    const struct float_step steps[] = {{3, 1 / 102.0}, {4, 0}};
    expect(chain(), noise, " node2 node3 node1 node0", steps, 2);
    assert_int_equal(asked, 3);
}

/* The same noise is spared for less by the layer than by the function. What has none is not chosen. */
static void what_spares_most_for_its_time_is_first(void **state) {
    (void)state;
    const struct noise noise[] = {{"x", 10}, {"a", 10}, {"b", 0}, {0}};
    const struct float_step steps[] = {{1, 0.5}, {2, 0}};
    expect(chain(), noise, " node0 node1", steps, 2);
    const struct noise other[] = {{"x", 1}, {"a", 10}, {"b", 0}, {0}};
    const struct float_step turned[] = {{1, 1 / 11.0}, {2, 0}};
    expect(chain(), other, " node1 node0", turned, 2);
}

/* Products of two activations have no float form: what they read keeps its noise. */
static void products_of_activations_stay(void **state) {
    (void)state;
    const struct noise noise[] = {{"x", 1}, {"q", 50}, {"k", 49}, {0}};
    const struct float_step steps[] = {{2, 0.99}};
    expect(queries_and_keys(weight), noise, " node0 node1", steps, 1);
    const struct noise none[] = {{"x", 0}, {"q", 50}, {"k", 49}, {0}};
    expect(queries_and_keys(weight), none, "", NULL, 0);
}

static void failures_are_handed_on(void **state) {
    (void)state;
    struct onnx_graph *g = chain();
    struct float_order order;
    struct failure failure;
    given = NULL;
    assert_false(float_order_find(&order, place(g, &(struct scheme_options){0}), NULL, 3, &failure));
    assert_string_equal(failure.text, "no noise");
    float_order_free(&order);
    onnx_free(g);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_takes_its_readers_and_makers),
        cmocka_unit_test(what_spares_most_for_its_time_is_first),
        cmocka_unit_test(products_of_activations_stay),
        cmocka_unit_test(failures_are_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
