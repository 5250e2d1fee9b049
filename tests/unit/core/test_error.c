/* SPDX-License-Identifier: MIT */
/* Words for every error, and the version in words and numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "core/morsel.h"

static void every_error_has_its_words(void **state) {
    (void)state;
    for (int i = 0; i < MORSEL_ERR_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(morsel_error_text((enum morsel_error)i), morsel_error_text((enum morsel_error)j));
    assert_non_null(morsel_error_text((enum morsel_error)1000));
    assert_string_equal(morsel_version(), MORSEL_VERSION);
    assert_int_equal(morsel_version_number(), MORSEL_VERSION_NUMBER);
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", MORSEL_VERSION_MAJOR, MORSEL_VERSION_MINOR, MORSEL_VERSION_PATCH);
    assert_string_equal(morsel_version(), text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_error_has_its_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
