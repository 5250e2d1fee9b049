/* SPDX-License-Identifier: MIT */
/* The network as C: an array in one file, and a header with its declaration and its numbers. Both serve C11 and C++11. */
#include "core/morsel.h"
#include "core/plan.h"
#include "tools/base/text.h"
#include "tools/net/blob/blob.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct names {
    char lower[64], capitals[64];
};

/* The name in a comment of C, which it must not end. */
static void put_name(FILE *out, const char *path) {
    char name[1024];
    snprintf(name, sizeof name, "%s", path);
    for (char *star = name; (star = strchr(star, '*'));) *star = '_';
    fputs(text_tame(name), out);
}

static const char *file_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "out/my-net.c" -> "my_net", "MY_NET" */
static struct names names_of(const char *path) {
    struct names names = {0};
    const char *from = file_of(path);
    size_t n = 0;
    if (isdigit((unsigned char)*from)) names.lower[n++] = '_';
    for (; *from && *from != '.' && n + 1 < sizeof names.lower; from++) names.lower[n++] = isalnum((unsigned char)*from) ? *from : '_';
    if (!n) strcpy(names.lower, "model");
    for (size_t i = 0; i < sizeof names.lower; i++) names.capitals[i] = (char)toupper((unsigned char)names.lower[i]);
    return names;
}

char *blob_c_header_path(const char *path) {
    size_t length = strlen(path);
    if (length > 2 && !strcmp(path + length - 2, ".c")) length -= 2;
    char *header = malloc(length + 3);
    if (header) {
        memcpy(header, path, length);
        memcpy(header + length, ".h", 3);
    }
    return header;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* The arena of several threads as morsel_arena_bytes_for() has it: so much for two, and so much more for each further one; for whichever
 * variant. */
static void put_arena_for(FILE *out, const char *own, const uint8_t *blob, size_t bytes) {
    struct morsel_model model, variant;
    uint32_t one = 0, more = 0, first = 0;
    bool open = !morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM);
    for (uint32_t i = 0; open && i < morsel_variant_count(&model); i++) {
        if (morsel_open_variant(&variant, &model, i, MORSEL_SKIP_CHECKSUM)) continue;
        uint32_t band = morsel_band_bytes(&variant);
        one = larger(one, morsel_arena_bytes(&variant));
        first = larger(first, band ? morsel_spare_bytes(&variant) : 0);
        more = larger(more, band);
    }
    fprintf(out, "/* For up to so many tasks at once, 1 and more: what morsel_arena_bytes_for() says. */\n");
    fprintf(out, "#define %s_ARENA_BYTES_FOR(tasks) ((tasks) > 1 ? %uu + ((tasks) - 1) * %uu : %uu)\n\n", own, one + first, more, one);
}

/* What header and array begin with, so that the array's file can do without the header. */
static void put_declarations(FILE *out, const struct names *names, const uint8_t *blob, size_t bytes) {
    const char *own = names->capitals;
    struct morsel_blob_header header;
    memcpy(&header, blob, sizeof header);
    fprintf(out, "#include <stdint.h>\n\n#define %s_BYTES %zuu\n#define %s_ARENA_BYTES %uu\n", own, bytes, own, header.arena_bytes);
    put_arena_for(out, own, blob, bytes);
    fprintf(out, "#ifndef MODEL_BLOB\n");
    if (strcmp(own, "MODEL") != 0) /* a network of that name has these already */
        fprintf(out, "#define MODEL_ARENA_BYTES %s_ARENA_BYTES\n#define MODEL_ARENA_BYTES_FOR(tasks) %s_ARENA_BYTES_FOR(tasks)\n", own,
                own);
    fprintf(out, "#define MODEL_BLOB %s_blob\n#define MODEL_BLOB_BYTES %s_BYTES\n#endif\n\n", names->lower, own);
    fprintf(out, "#ifdef __cplusplus\nextern \"C\"\n#else\nextern\n#endif\nconst uint8_t %s_blob[%zu];\n\n", names->lower, bytes);
}

static void put_array(FILE *out, const uint8_t *blob, size_t bytes) {
    static const char digits[] = "0123456789abcdef";
    char line[1 + 24 * 5];
    for (size_t i = 0; i < bytes;) {
        size_t at = 0;
        line[at++] = '\n';
        for (size_t end = bytes - i < 24 ? bytes : i + 24; i < end; i++) {
            memcpy(line + at, "0x..,", 5);
            line[at + 2] = digits[blob[i] >> 4];
            line[at + 3] = digits[blob[i] & 15];
            at += 5;
        }
        fwrite(line, 1, at, out);
    }
}

char *blob_c_source(const uint8_t *blob, size_t bytes, const char *path, size_t *length) {
    struct names names = names_of(path);
    struct text_stream stream;
    FILE *out = text_open(&stream);
    if (!out) return NULL;
    fprintf(out,
            "%s Compile this file with the app, whose sources include the .h beside it; or include\n"
            " * it, once, where the network is run. The MODEL_ names stand for the first network that is included. */\n",
            BLOB_C_MARK);
    put_declarations(out, &names, blob, bytes);
    fprintf(out, "#ifdef __cplusplus\nalignas(64)\n#else\n_Alignas(64)\n#endif\nconst uint8_t %s_blob[%zu] = {", names.lower, bytes);
    put_array(out, blob, bytes);
    fprintf(out, "\n};\n");
    text_close(&stream);
    *length = stream.size;
    return stream.text;
}

char *blob_c_header(const uint8_t *blob, size_t bytes, const char *path, size_t *length) {
    struct names names = names_of(path);
    struct text_stream stream;
    FILE *out = text_open(&stream);
    if (!out) return NULL;
    fprintf(out, "%s The array is in ", BLOB_C_MARK);
    put_name(out, file_of(path));
    fprintf(out, ". The MODEL_ names stand for the first network that is included. */\n");
    fprintf(out, "#ifndef MORSEL_NETWORK_%s\n#define MORSEL_NETWORK_%s\n\n", names.capitals, names.capitals);
    put_declarations(out, &names, blob, bytes);
    fprintf(out, "#endif\n");
    text_close(&stream);
    *length = stream.size;
    return stream.text;
}
