/* SPDX-License-Identifier: MIT */
/* Pairs of --set: in the order of their keys, each key once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tools/verbs/host/metadata.h"

/* What is there after these options: "key=value;" each. */
static const char *after(struct metadata *m, int count, ...) {
    static char text[512];
    struct option_texts set = {.count = count};
    struct failure failure = {0};
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count; i++) set.values[i] = va_arg(list, const char *);
    va_end(list);
    assert_true(metadata_set(m, &set, &failure));
    text[0] = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        size_t end = strlen(text);
        snprintf(text + end, sizeof text - end, "%s=%s;", m->list[i].key, m->list[i].value);
    }
    return text;
}

static void pairs_stand_in_order(void **state) {
    (void)state;
    struct metadata m = {0};
    assert_string_equal(after(&m, 3, "b=2", "c=3", "a=1"), "a=1;b=2;c=3;");
    assert_string_equal(after(&m, 2, "ab=", "aa=x=y"), "a=1;aa=x=y;b=2;c=3;");
    metadata_free(&m);
    assert_string_equal(after(&m, 0), "");
}

static void the_last_value_counts_and_an_empty_one_takes_out(void **state) {
    (void)state;
    struct metadata m = {0};
    assert_string_equal(after(&m, 4, "b=2", "b=3", "a=1", "b=4"), "a=1;b=4;");
    assert_string_equal(after(&m, 2, "a=", "none="), "b=4;");
    assert_string_equal(after(&m, 1, "b="), "");
    metadata_free(&m);
}

static void what_is_no_pair_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "key", "=value", "a\x1b=1", "a\n=1", "\xff=1", "a=\xff", "a=\xc3", "a\xe2\x80\xa8=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct metadata m = {0};
        struct failure failure = {0};
        struct option_texts set = {{"first=1", wrong[i]}, 2};
        assert_false(metadata_set(&m, &set, &failure));
        assert_int_equal(failure.status, STATUS_CALL);
        metadata_free(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_stand_in_order),
                                       cmocka_unit_test(the_last_value_counts_and_an_empty_one_takes_out),
                                       cmocka_unit_test(what_is_no_pair_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
