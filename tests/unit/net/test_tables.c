/* SPDX-License-Identifier: MIT */
/* Steps that are functions of the same bytes become one table, which gives the same; what others read, too, stays. */
#include "tools/net/tables.h"

#include "tests/unit/support/stream_runs.h"

enum { BYTES = 500 };

static struct net_buffer *tensor(struct net *net, enum morsel_type type, uint32_t elements, float scale, int32_t zero) {
    struct net_buffer *b = net_add_buffer(net, type, MORSEL_ROW_MAJOR, 1, &elements, "");
    b->scale = scale;
    b->zero = zero;
    b->qualified = true;
    return b;
}

static struct net_buffer *table(struct net *net, struct net_buffer *x, uint32_t factor) {
    struct net_buffer *y = tensor(net, x->type, net_elements(x), 0.25f, x->type == MORSEL_INT8 ? -3 : 7);
    struct net_step *step = net_add_step(net, MORSEL_STEP_LUT, "table", x, NULL, y);
    uint8_t *entries = net_alloc(net, 256);
    for (uint32_t b = 0; b < 256; b++) entries[b] = (uint8_t)(b * factor + 11);
    step->parameters.lut = (struct morsel_blob_lut){net_elements(x), 1, 1, 0};
    net_add_constant(step, entries, 256, offsetof(struct morsel_blob_lut, table));
    return y;
}

static struct net_buffer *arithmetic(struct net *net, uint32_t op, struct net_buffer *a, struct net_buffer *b) {
    uint32_t n = net_elements(a) > net_elements(b) ? net_elements(a) : net_elements(b);
    bool is_signed = a->type == MORSEL_INT8;
    struct net_buffer *y = tensor(net, a->type, n, 0.5f, is_signed ? 5 : 100);
    struct net_step *step = net_add_step(net, MORSEL_STEP_BINARY, "arithmetic", a, b, y);
    step->parameters.binary = (struct morsel_blob_binary){.op = op,
                                                          .rank = 1,
                                                          .dims = {n, 1, 1, 1, 1, 1},
                                                          .a_stride = {net_elements(a) == n},
                                                          .b_stride = {net_elements(b) == n},
                                                          .a_ratio = op == MORSEL_BINARY_QADD ? 0.7f : 0.01f,
                                                          .b_ratio = op == MORSEL_BINARY_QADD ? 0.4f : 1,
                                                          .offset = op == MORSEL_BINARY_QADD ? -3.5f : 0,
                                                          .out_min = is_signed ? -120 : 3,
                                                          .out_max = is_signed ? 127 : 250,
                                                          .float_min = -1000,
                                                          .float_max = 1000};
    return y;
}

/* What a network is made of; `seen`: somebody else reads what lies between. */
struct shape {
    enum morsel_type type;
    uint32_t op;
    bool left, seen;
};

/* x times a table of (x and a constant), through another table: an activation as quantizers spell it. */
static struct net *spelled(const struct shape *s) {
    static const uint8_t three = 33;
    struct net *net = net_new("spelled");
    struct net_buffer *x = tensor(net, s->type, BYTES, 0.125f, 4), *constant = tensor(net, s->type, 1, 0.1f, 3);
    constant->constant = &three;
    net_add_io(net, false, (struct net_io){x, s->type, 1, {BYTES}, "x"});
    struct net_buffer *moved = arithmetic(net, s->op, s->left ? constant : x, s->left ? x : constant), *limited = table(net, moved, 3);
    struct net_buffer *y = table(net, arithmetic(net, MORSEL_BINARY_QMUL, s->left ? limited : x, s->left ? x : limited), 5);
    net_add_io(net, true, (struct net_io){y, s->type, 1, {BYTES}, "y"});
    if (s->seen) net_add_io(net, true, (struct net_io){limited, s->type, 1, {BYTES}, "limited"});
    return net;
}

static void try_shape(const struct shape *s) {
    size_t bytes;
    uint32_t want_bytes;
    struct net *net = spelled(s), *merged = spelled(s);
    uint8_t *blob = blob_of(net, &bytes), *want = run(blob, bytes, 1, MORSEL_CPU_C, &want_bytes);
    free(blob);
    net_merge_tables(merged);
    assert_int_equal(net->step_count, 4);
    assert_int_equal(merged->step_count, s->seen ? 3 : 1); /* seen: a table, x times it, and a table of that */
    for (uint32_t i = 0; !s->seen && i < merged->step_count; i++) assert_int_equal(merged->steps[i]->kind, MORSEL_STEP_LUT);
    blob = blob_of(merged, &bytes);
    compare(blob, bytes, 1, MORSEL_CPU_ALL, want, want_bytes);
    free(blob);
    free(want);
    net_free(net);
    net_free(merged);
}

static void activations_become_one_table(void **unused) {
    (void)unused;
    for (uint32_t op = MORSEL_BINARY_QADD; op < MORSEL_BINARY_OP_COUNT; op++)
        for (uint32_t k = 0; k < 8; k++) {
            const struct shape s = {k & 1 ? MORSEL_INT8 : MORSEL_UINT8, op, k & 2, k & 4};
            try_shape(&s);
        }
}

/* Neither operand is known before the network runs, and they are not of the same bytes. */
static void two_inputs_stay_arithmetic(void **unused) {
    (void)unused;
    struct net *net = net_new("two");
    struct net_buffer *x = tensor(net, MORSEL_UINT8, BYTES, 1, 0), *z = tensor(net, MORSEL_UINT8, BYTES, 1, 0);
    net_add_io(net, false, (struct net_io){x, MORSEL_UINT8, 1, {BYTES}, "x"});
    net_add_io(net, false, (struct net_io){z, MORSEL_UINT8, 1, {BYTES}, "z"});
    net_add_io(net, true, (struct net_io){arithmetic(net, MORSEL_BINARY_QADD, table(net, x, 3), z), MORSEL_UINT8, 1, {BYTES}, "y"});
    net_merge_tables(net);
    assert_int_equal(net->step_count, 2);
    assert_int_equal(net->steps[1]->kind, MORSEL_STEP_BINARY);
    net_free(net);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_become_one_table),
        cmocka_unit_test(two_inputs_stay_arithmetic),
    };
    (void)argc, (void)argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
