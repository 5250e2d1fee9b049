/* SPDX-License-Identifier: MIT */
/* Where there is a C library. */
#include <stdio.h>

int portable(void);
void put(const char *text);

void put(const char *text) {
    fputs(text, stdout);
}

int main(void) {
    return portable();
}
