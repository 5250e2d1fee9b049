/* SPDX-License-Identifier: MIT */
/* Convolutions by windows that blobs do not have. tests/parity/optimize.py checks that the results stay the same. */
#include "tests/unit/support/graph_words.h"

#define IN "Reshape Transpose Reshape Conv"
#define OUT " Reshape Transpose Reshape"

static void large_windows_become_channels(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "1,1,1024", "Conv x %2x1x256 > y strides=128", IN},
        {13, "1,1,1000", "Conv x %2x1x256 > y strides=128", "Slice " IN},
        {13, "1,1,1024", "Conv x %2x1x256 > y strides=128 pads=64,64", "Pad " IN},
        {13, "1,1,200", "Conv x %2x1x66 %2 > y", "Pad " IN OUT " Slice"},
        {13, "1,1,1,200", "Conv x %2x1x1x66 > c; BatchNormalization c %2 %2 %2 %2 > y", "Pad " IN OUT " Slice"},
        {13, "1,2,200", "Conv x %2x1x66 > y group:2", "Conv"}, /* channels of a group would lie apart */
        {13, "1,1,200", "Conv x %2x1x66 > y dilations=2", "Conv"},
        {13, "1,1,200", "Conv x %2x1x64 > y", "Conv"},
        {13, "1,1,2000", "Conv x %1x1x946 > y", "Pad " IN OUT " Slice"}, /* 15 outputs of 15 channels of 64: 15.2 times the weights */
        {13, "1,1,2000", "Conv x %1x1x947 > y", "Conv"},                 /* 16 of 16 of 61: 16.5 times */
        {13, "1,1,9000", "Conv x %1x1x3700 > y strides=4", "Pad " IN OUT " Slice"},
        {13, "1,1,9000", "Conv x %1x1x3700 > y strides=3", "Conv"},
        {13, "1,1,100,2000", "Conv x %1x1x1x1000 > y", "Conv"},
        {13, "1,1,99,99", "Conv x %1x1x65x65 > y", "Pad Reshape Transpose Reshape Pad " IN OUT " Slice" OUT " Slice"},
        {13, "1,1,99,199", "Conv x %1x1x65x65 > y dilations=1,2", "Conv"}, /* one dimension alone would be of no use */
        {13, "1,1,300,300", "Conv x %1x1x256x256 > y", "Conv"},            /* 5 times in each dimension */
        {13, "1,1,9,300", "Conv x %1x1x9x256 > y", IN OUT},
        {13, "1,1,300", "Conv x %2x1x66 > y strides=67", "Conv"}, /* what lies between windows */
        /* 60,000 weights that come to 610,000: those of the file do, those of a node that makes any number of them do not. */
        {13, "1,1,90000", "Conv x %1x1x60000 > y strides=100", "Pad " IN OUT " Slice"},
        {13, "1,1,90000", "ConstantOfShape $1,1,60000 > w; Conv x w > y strides=100", "Conv"},
    };
    CHECK(rows);
}

static void large_pools_are_split(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "1,4,508", "GlobalMaxPool x > y", "MaxPool GlobalMaxPool"},
        {13, "1,4,64", "GlobalMaxPool x > y", "GlobalMaxPool"},
        {13, "1,4,70,5000", "GlobalMaxPool x > y", "MaxPool MaxPool GlobalMaxPool"},
    };
    CHECK(rows);
}

/* A window of 66 and a stride of 33: two taps of 33 channels. */
static void weights_follow_their_taps(void **state) {
    (void)state;
    struct onnx_graph *g = network(13, "1,1,165", "Conv x %1x1x66 > y strides=33");
    graph_optimize(g, NULL);
    const struct onnx_node *conv = NULL;
    for (size_t n = 0; n < g->node_count; n++) conv = strcmp(g->nodes[n]->op, "Conv") ? conv : g->nodes[n];
    assert_non_null(conv);
    const struct onnx_tensor *w = onnx_input_constant(conv, 1);
    assert_true(w->shape.rank == 3 && w->shape.dims[0] == 1 && w->shape.dims[1] == 33 && w->shape.dims[2] == 2);
    for (int r = 0; r < 33; r++)
        for (int i = 0; i < 2; i++) assert_true(onnx_number(w, (size_t)(2 * r + i)) == (double)some_number(33 * i + r));
    onnx_free(g);
}

/* Several outputs of a position, each with a bias of its own, are what they were. */
static void outputs_with_biases_are_what_they_were(void **state) {
    (void)state;
    check_numbers(13, "1,1,200", "Conv x %2x1x130 %2 > y", 1, 1);
    check_numbers(13, "1,2,500", "Conv x %3x2x300 %3 > y strides=2 pads=7,20", 1, 1);
    check_numbers(13, "1,2,3,400", "Conv x %3x2x2x200 %3 > y strides=1,3 pads=0,5,1,9", 1, 1);
    check_numbers(13, "1,2,400,3", "Conv x %3x2x200x2 %3 > y auto_pad@SAME_UPPER strides=3,1", 1, 1);
    check_numbers(13, "1,1,90,91", "Conv x %2x1x66x65 %2 > y", 1, 1);
    check_numbers(13, "1,1,1024", "Conv x %2x1x256 %2 > y strides=128 pads=64,64", 1, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_windows_become_channels),
        cmocka_unit_test(large_pools_are_split),
        cmocka_unit_test(weights_follow_their_taps),
        cmocka_unit_test(outputs_with_biases_are_what_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
