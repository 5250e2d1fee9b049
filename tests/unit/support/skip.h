/* SPDX-License-Identifier: MIT */
/* skip_because(): ends a cmocka test that cannot run here, and says why; tests/tally.sh brings the line to the end of `make test`. */
#ifndef SKIP_H
#define SKIP_H

#define skip_because(why) \
    do { \
        print_message("skipped: %s\n", why); \
        skip(); \
    } while (0)

#endif
