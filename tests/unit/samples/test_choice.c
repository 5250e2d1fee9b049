/* SPDX-License-Identifier: MIT */
/* Which samples are chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/samples/data/choice.h"

#include <stdlib.h>

/* The same on every machine, none twice, even over classes as far as they go. */
static void choices_repeat_and_are_even(void **unused) {
    (void)unused;
    static const size_t golden[] = {93, 931, 830, 611, 39, 620, 973, 897};
    uint32_t classes[1000];
    size_t *chosen = choice_of(NULL, 1000, 8, 42);
    for (size_t i = 0; i < 8; i++) assert_int_equal(chosen[i], golden[i]);
    free(chosen);
    for (size_t i = 0; i < 1000; i++) /* 500 of class 0, 400 of class 7, 97 of class 3, 3 of class 9 */
        classes[i] = i < 500 ? 0 : i < 900 ? 7 : i < 997 ? 3 : 9;
    for (size_t count = 1; count <= 1200; count += 13) {
        unsigned taken[1000] = {0}, of[10] = {0};
        chosen = choice_of(classes, 1000, count, count);
        for (size_t i = 0; i < count && i < 1000; i++) {
            assert_int_equal(taken[chosen[i]]++, 0);
            of[classes[chosen[i]]]++;
        }
        unsigned most = of[0];
        assert_true(of[9] == 3 || of[9] + 1 >= most);
        assert_true(of[3] == 97 || of[3] + 1 >= most);
        assert_true(of[7] == 400 || (of[7] + 1 >= most && of[7] <= most + 1));
        free(chosen);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices_repeat_and_are_even)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
