/* SPDX-License-Identifier: MIT */
/* What two versions of a struct have in common. */
#include "sized.h"

#include <stdint.h>
#include <string.h>

#define MOST_BYTES 1024u /* of a struct of any version: what states more was never set, and is not looked at */

int morsel_copy_sized(void *own, size_t own_bytes, const void *given) {
    const uint8_t *bytes = given;
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > MOST_BYTES) return 0;
    for (size_t i = own_bytes; i < size; i++)
        if (bytes[i]) return 0;
    memset(own, 0, own_bytes);
    memcpy(own, given, size < own_bytes ? size : own_bytes);
    return 1;
}
