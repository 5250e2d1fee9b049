/* SPDX-License-Identifier: MIT */
#include "tools/blob/blob.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "out/my-net.c" -> "my_net" */
static void identifier(const char *path, char *name, size_t room) {
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    size_t n = 0;
    if (isdigit((unsigned char)*from))
        name[n++] = '_';
    for (; *from && *from != '.' && n + 1 < room; from++)
        name[n++] = isalnum((unsigned char)*from) ? *from : '_';
    name[n] = 0;
    if (!n)
        snprintf(name, room, "model");
}

char *blob_c_source(const uint8_t *blob, size_t bytes, const char *path, size_t *length) {
    static const char digits[] = "0123456789abcdef";
    char name[64], capitals[64];
    struct morsel_blob_header h;
    identifier(path, name, sizeof name);
    for (size_t i = 0; i < sizeof name; i++)
        capitals[i] = (char)toupper((unsigned char)name[i]);
    memcpy(&h, blob, sizeof h);
    /* A network named "model" has the MODEL_ name of the arena already. */
    bool taken = !strcmp(capitals, "MODEL");
    const char *first = taken ? "" : "#define MODEL_ARENA_BYTES ", *own = taken ? "" : capitals, *last = taken ? "" : "_ARENA_BYTES\n";
    size_t room = bytes * 5 + bytes / 16 + 2048;
    char *text = malloc(room);
    if (!text)
        return NULL;
    size_t at = (size_t)snprintf(text, room,
                                 "/* A Morsel network. Include this file where it is run, or compile it and declare\n"
                                 " *     extern const uint8_t %s_blob[%s_BYTES];\n"
                                 " * The MODEL_ names stand for the first network that is included. */\n"
                                 "#include <stdint.h>\n\n"
                                 "#define %s_BYTES %zuu\n#define %s_ARENA_BYTES %uu\n\n"
                                 "#ifndef MODEL_BLOB\n%s%s%s#define MODEL_BLOB %s_blob\n#define MODEL_BLOB_BYTES %s_BYTES\n#endif\n\n"
                                 "extern const uint8_t %s_blob[%zu];\n_Alignas(64) const uint8_t %s_blob[%zu] = {",
                                 name, capitals, capitals, bytes, capitals, h.arena_bytes, first, own, last, name, capitals, name, bytes,
                                 name, bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (i % 24 == 0)
            text[at++] = '\n';
        text[at++] = '0';
        text[at++] = 'x';
        text[at++] = digits[blob[i] >> 4];
        text[at++] = digits[blob[i] & 15];
        text[at++] = ',';
    }
    at += (size_t)snprintf(text + at, room - at, "\n};\n");
    *length = at;
    return text;
}
