/* SPDX-License-Identifier: MIT */
/* Text on stdout: what a file says neither steers a terminal nor ends a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tools/base/message.h"

static char got[256];

/* What stdout holds after a call: begin() and end() stand round it. */
static int kept;
static FILE *file;

static void begin(void) {
    fflush(stdout);
    kept = dup(1);
    file = tmpfile();
    assert_true(kept >= 0 && file && dup2(fileno(file), 1) == 1);
}

static const char *end(void) {
    fflush(stdout);
    assert_int_equal(dup2(kept, 1), 1);
    close(kept);
    rewind(file);
    got[fread(got, 1, sizeof got - 1, file)] = 0;
    fclose(file);
    return got;
}

static void names_are_tamed(void **state) {
    (void)state;
    begin();
    int count = message_print("%-6s|%s\nlast\n", "a\033[2J",
                              "\xC2\x9B"
                              "1m \xC3\xA4\r\n\x7f");
    assert_string_equal(end(), "a?[2J |??1m \xC3\xA4???\nlast\n");
    assert_int_equal(count, strlen(got));
}

static void marks_in_names_end_no_line(void **state) {
    (void)state;
    begin();
    message_print("%s\n%s\n", "a\vb", "c");
    assert_string_equal(end(), "a?b?c\n");
    begin();
    message_print("%s", "a\v\n");
    assert_string_equal(end(), "a??");
    begin();
    message_print("\n%%");
    assert_string_equal(end(), "\n%");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_tamed), cmocka_unit_test(marks_in_names_end_no_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
