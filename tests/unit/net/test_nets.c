/* SPDX-License-Identifier: MIT */
/* The built-in networks: they open, their results differ from each other and from nothing, and every instruction set gives them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/morsel.h"
#include "tools/net/nets.h"

/* Output 0 of a run; gives its bytes. */
static uint32_t run_capped(const struct morsel_model *model, uint32_t mask, uint8_t *to) {
    size_t bytes = morsel_arena_bytes(model);
    struct morsel_options options = {.size = sizeof options, .cpu_mask = mask};
    struct morsel_session s;
    struct morsel_view in, out;
    uint8_t *arena = aligned_alloc(MORSEL_ALIGNMENT, bytes);
    assert_non_null(arena);
    assert_int_equal(morsel_session_open(&s, model, arena, bytes, &options), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &in), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &out), MORSEL_OK);
    for (uint32_t i = 0; i < in.bytes; i++) ((uint8_t *)in.data)[i] = (uint8_t)(i * 2654435761u >> 24);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    assert_true(out.bytes <= 1000);
    memcpy(to, out.data, out.bytes);
    free(arena);
    return out.bytes;
}

/* How many different bytes there are. */
static int variety(const uint8_t *bytes, uint32_t n) {
    uint8_t seen[256] = {0};
    int count = 0;
    for (uint32_t i = 0; i < n; i++) count += !seen[bytes[i]]++;
    return count;
}

static void check_net(const char *name) {
    static const uint32_t rising[] = {MORSEL_CPU_NEON, MORSEL_CPU_DOTPROD, MORSEL_CPU_I8MM,
                                      MORSEL_CPU_AVX2, MORSEL_CPU_AVXVNNI, MORSEL_CPU_AVX512VNNI};
    struct failure failure;
    struct file_bytes blob;
    struct morsel_model model;
    uint8_t want[1000], got[1000];
    assert_true(nets_has(name));
    assert_true(nets_blob(name, false, 0, &blob, &failure));
    assert_int_equal(morsel_open(&model, blob.data, blob.size, 0), MORSEL_OK);
    uint32_t bytes = run_capped(&model, MORSEL_CPU_C, want), mask = 0;
    assert_true(variety(want, bytes) >= 5);
    for (size_t i = 0; i < sizeof rising / sizeof *rising; i++) {
        mask |= rising[i];
        if (!(morsel_cpu_features() & rising[i])) continue;
        assert_int_equal(run_capped(&model, mask, got), bytes);
        assert_memory_equal(got, want, bytes);
    }
    file_free(&blob);
}

static void small_networks_give_the_same_bytes(void **state) {
    (void)state;
    check_net("resnet8-32");
    check_net("ds-cnn-kws");
    check_net("autoencoder-ad");
}

static void mobilenet_gives_the_same_bytes(void **state) {
    (void)state;
    check_net("mobilenetv2-224");
}

static void shufflenet_gives_the_same_bytes(void **state) {
    (void)state;
    check_net("shufflenetv2-224");
}

static void every_listed_network_is_there(void **state) {
    (void)state;
    char names[200];
    int count = 0;
    strcpy(names, nets_names());
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "), count++) {
        struct failure failure;
        struct file_bytes blob;
        struct morsel_model model;
        assert_true(nets_blob(name, false, 0, &blob, &failure));
        assert_int_equal(morsel_open(&model, blob.data, blob.size, 0), MORSEL_OK);
        file_free(&blob);
    }
    assert_int_equal(count, 7);
    assert_false(nets_has("mobilenet"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_networks_give_the_same_bytes),
        cmocka_unit_test(mobilenet_gives_the_same_bytes),
        cmocka_unit_test(shufflenet_gives_the_same_bytes),
        cmocka_unit_test(every_listed_network_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
