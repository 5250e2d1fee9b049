/* SPDX-License-Identifier: MIT */
/* The network as C: an array, or assembly that takes the blob in, a header with its declaration and its numbers, and the kinds of its
 * steps. All serve C11 and C++11. */
#include "core/blob.h"
#include "core/kind.h"
#include "core/morsel.h"
#include "core/plan.h"
#include "core/way.h"
#include "tools/base/text.h"
#include "tools/net/blob/blob.h"

#include <ctype.h>
#include <inttypes.h>
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

/* Whether its macros would be those that every network has: NAME_BYTES beside MODEL_ARENA_BYTES and MODEL_BLOB_BYTES. */
static bool is_taken(const char *capitals) {
    static const char *const taken[] = {"MODEL_ARENA", "MODEL_ARENA_FAST", "MODEL_ARENA_SLOW", "MODEL_BLOB"};
    bool is = false;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) is = is || !strcmp(capitals, taken[i]);
    return is;
}

/* "out/my-net.c" -> "my_net", "MY_NET"; "model_blob.c" -> "model_blob_" */
static struct names names_of(const char *path) {
    struct names names = {0};
    const char *from = file_of(path);
    size_t n = 0;
    if (isdigit((unsigned char)*from)) names.lower[n++] = '_';
    for (; *from && *from != '.' && n + 1 < sizeof names.lower; from++) names.lower[n++] = isalnum((unsigned char)*from) ? *from : '_';
    if (!n) strcpy(names.lower, "model");
    for (size_t i = 0; i < sizeof names.lower; i++) names.capitals[i] = (char)toupper((unsigned char)names.lower[i]);
    if (is_taken(names.capitals)) names.lower[n] = names.capitals[n] = '_';
    return names;
}

bool blob_c_assembly(const char *source) {
    size_t length = strlen(source);
    return length > 2 && !strcmp(source + length - 2, ".S");
}

char *blob_c_path(enum blob_c file, const char *source) {
    static const char *const ends[BLOB_C_COUNT] = {"", ".h", "_use.h", "_use.c"};
    size_t length = strlen(source);
    if (file != BLOB_C_SOURCE && length > 2 && (!strcmp(source + length - 2, ".c") || blob_c_assembly(source))) length -= 2;
    char *path = malloc(length + strlen(ends[file]) + 1);
    if (path) {
        memcpy(path, source, length);
        strcpy(path + length, ends[file]);
    }
    return path;
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

/* Where the plan has fast memory: the sizes of the two blocks. */
static void put_parts(FILE *out, const char *own, const struct morsel_blob_header *header) {
    uint32_t fast = morsel_fast_bytes(header);
    if (!fast) return;
    fprintf(out, "/* Of the arena, in a block for options.fast; and what the other one takes then. With tasks, "
                 "MODEL_ARENA_BYTES_FOR(tasks) less the\n"
                 " * first. */\n");
    fprintf(out, "#define %s_ARENA_FAST_BYTES %uu\n#define %s_ARENA_SLOW_BYTES %uu\n\n", own, fast, own, morsel_fast_from(header));
}

/* The blob as C declares it. Numbers of eight bytes compile three times as fast as bytes do, in a third of the memory. The
 * macro has the symbol's name and stands for the array of its bytes. */
static void put_blob(FILE *out, const char *name, size_t bytes) {
    fprintf(out, "#ifdef __cplusplus\nextern \"C\"\n#else\nextern\n#endif\n");
    fprintf(out, "const union %s_words {\n    uint64_t word[%zu];\n    uint8_t byte[%zu];\n} %s_blob;\n", name, (bytes + 7) / 8, bytes,
            name);
    fprintf(out, "#define %s_blob %s_blob.byte\n\n", name, name);
}

/* What header and array begin with, so that the array's file can do without the header. */
static void put_declarations(FILE *out, const struct names *names, const uint8_t *blob, size_t bytes) {
    const char *own = names->capitals;
    struct morsel_blob_header header = {0};
    memcpy(&header, blob, bytes < sizeof header ? bytes : sizeof header);
    fprintf(out, "#ifndef MORSEL_NETWORK_%s\n#define MORSEL_NETWORK_%s\n\n", own, own);
    fprintf(out, "#include <stdint.h>\n\n#define %s_BYTES %zuu\n#define %s_ARENA_BYTES %uu\n", own, bytes, own, header.arena_bytes);
    put_arena_for(out, own, blob, bytes);
    put_parts(out, own, &header);
    fprintf(out, "#ifndef MODEL_BLOB\n");
    if (strcmp(own, "MODEL") != 0) /* a network of that name has these already */
        fprintf(out, "#define MODEL_ARENA_BYTES %s_ARENA_BYTES\n#define MODEL_ARENA_BYTES_FOR(tasks) %s_ARENA_BYTES_FOR(tasks)\n", own,
                own);
    if (strcmp(own, "MODEL") != 0 && morsel_fast_bytes(&header))
        fprintf(out, "#define MODEL_ARENA_FAST_BYTES %s_ARENA_FAST_BYTES\n#define MODEL_ARENA_SLOW_BYTES %s_ARENA_SLOW_BYTES\n", own, own);
    fprintf(out, "#define MODEL_BLOB %s_blob\n#define MODEL_BLOB_BYTES %s_BYTES\n#endif\n\n", names->lower, own);
    put_blob(out, names->lower, bytes);
    fprintf(out, "#endif\n#if %s_BYTES != %zuu\n#error \"two networks are called %s: --c of another file name renames one\"\n#endif\n", own,
            bytes, names->lower);
}

/* Eight bytes at a time, as a little-endian machine has them: others open no blob. */
static void put_words(FILE *out, const uint8_t *blob, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8 && i + k < bytes; k++) word |= (uint64_t)blob[i + k] << 8 * k;
        fprintf(out, "%s%s%" PRIx64 ",", i % 48 ? "" : "\n", word ? "0x" : "", word);
    }
}

static void put_source(FILE *out, const uint8_t *blob, size_t bytes, const char *path) {
    struct names names = names_of(path);
    fprintf(out,
            "%s Compile this file with the app, whose sources include the .h beside it; or include\n"
            " * it, once, where the network is run. The MODEL_ names stand for the first network that is included. */\n",
            BLOB_C_MARK);
    put_declarations(out, &names, blob, bytes);
    fprintf(out, "\n#undef %s_blob\n#ifdef __cplusplus\nalignas(64)\n#else\n_Alignas(64)\n#endif\n", names.lower);
    fprintf(out, "const union %s_words %s_blob = {{", names.lower, names.lower);
    put_words(out, blob, bytes);
    fprintf(out, "\n}};\n#define %s_blob %s_blob.byte\n", names.lower, names.lower);
}

/* A path as a string of the assembler, and of the preprocessor before it, to which two question marks and a slash would be a backslash. */
static void put_string(FILE *out, const char *path) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        if (*c == '"' || *c == '\\' || *c == '?' || *c < ' ' || *c == 127) fprintf(out, "\\%03o", *c);
        else fputc(*c, out);
    fputc('"', out);
}

/* What differs by the form of objects: the section's line, what a symbol says of itself, what ends the file. */
static const char assembly[] = "#if defined(__APPLE__)\n"
                               "    .section __TEXT,__const\n"
                               "#elif defined(_WIN32)\n"
                               "    .section .rdata,\"dr\"\n"
                               "#elif defined(__wasm__)\n"
                               "    .section .rodata.%1$s_blob,\"\",@\n"
                               "    .type %1$s_blob,@object\n"
                               "    .size %1$s_blob, %2$s\n"
                               "#else\n"
                               "    .section .rodata.%1$s_blob,\"a\",%%progbits\n"
                               "    .type %1$s_blob,%%object\n"
                               "    .size %1$s_blob, %2$s\n"
                               "#endif\n"
                               "    .globl MORSEL_SYMBOL(__USER_LABEL_PREFIX__, %1$s_blob)\n"
                               "    .p2align 6\n"
                               "MORSEL_SYMBOL(__USER_LABEL_PREFIX__, %1$s_blob):\n"
                               "    .incbin %3$s_FILE, 0, %2$s\n"
                               "#if defined(__linux__) && defined(__ELF__)\n"
                               "    .section .note.GNU-stack,\"\",%%progbits\n"
                               "#endif\n";

static void put_assembly(FILE *out, size_t bytes, const char *path, const char *blob_path) {
    struct names names = names_of(path);
    char count[24];
    snprintf(count, sizeof count, "%zu", bytes);
    fprintf(out,
            "%s GNU as and clang take its bytes out of the file of the blob; the .h beside this file declares them. The path\n"
            " * is from where the compiler runs, and -D%s_FILE='\"PATH\"' names another. */\n",
            BLOB_C_MARK, names.capitals);
    fprintf(out, "#ifndef %s_FILE\n#define %s_FILE ", names.capitals, names.capitals);
    put_string(out, blob_path);
    fprintf(
        out,
        "\n#endif\n#define MORSEL_PASTE(prefix, name) prefix##name\n#define MORSEL_SYMBOL(prefix, name) MORSEL_PASTE(prefix, name)\n\n");
    fprintf(out, assembly, names.lower, count, names.capitals);
}

static void put_header(FILE *out, const uint8_t *blob, size_t bytes, const char *path) {
    struct names names = names_of(path);
    fprintf(out, "%s The bytes are in ", BLOB_C_MARK);
    put_name(out, file_of(path));
    fprintf(out, ". The MODEL_ names stand for the first network that is included. */\n");
    put_declarations(out, &names, blob, bytes);
}

/* MORSEL_USE_CONV, of "conv" */
static void put_use(FILE *out, const char *before, const char *name) {
    fprintf(out, "%s MORSEL_USE_", before);
    for (const char *c = name; *c; c++) fputc(toupper((unsigned char)*c), out);
    fputc('\n', out);
}

/* The kinds of the steps of all variants. */
static void put_uses(FILE *out, const uint8_t *blob, size_t bytes) {
    struct morsel_model model, variant;
    bool used[MORSEL_STEP_KIND_COUNT] = {false}, groups = false, rules = false, sums_alone = true,
         open = !morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM);
    for (uint32_t v = 0; open && v < morsel_variant_count(&model); v++) {
        if (morsel_open_variant(&variant, &model, v, MORSEL_SKIP_CHECKSUM)) continue;
        for (uint32_t i = 0; i < morsel_blob_header(&variant)->steps.count; i++) {
            const struct morsel_blob_step *step = morsel_blob_step(&variant, i);
            const struct morsel_blob_binary *p = morsel_blob_at(&variant, step->parameters);
            used[step->kind] = true;
            sums_alone &= step->kind != MORSEL_STEP_BINARY || p->op == MORSEL_BINARY_QADD;
        }
        groups |= morsel_blob_header(&variant)->groups.count > 0;
        rules |= morsel_blob_header(&variant)->picture.count || morsel_has_answer(morsel_blob_header(&variant));
    }
    for (uint32_t kind = 1; kind < MORSEL_STEP_KIND_COUNT; kind++)
        if (used[kind]) put_use(out, "#define", kind == MORSEL_STEP_BINARY && sums_alone ? "qadd" : morsel_kinds[kind]->name);
    if (groups) fprintf(out, "#define MORSEL_USE_GROUPS\n");
    if (rules) fprintf(out, "#define MORSEL_USE_RULES\n");
}

static void put_use_header(FILE *out, const uint8_t *blob, size_t bytes) {
    fprintf(out, "%s The kinds of its steps, as the _use.c beside it has them, for that of another network. */\n", BLOB_C_MARK);
    put_uses(out, blob, bytes);
}

/* Tables as core/kinds_all.c has them; the macros are here, too, so that this file can do without the header. */
static void put_use_source(FILE *out, const uint8_t *blob, size_t bytes) {
    fprintf(out, "%s Where an app that is linked with --gc-sections has this file, it has\n", BLOB_C_MARK);
    fprintf(
        out,
        " * nothing of libmorsel.a that the network does not need, and opens no network with other steps. With several networks a file\n"
        " * includes the _use.h of the others, and then one _use.c. MORSEL_ONE_TASK leaves out what several tasks need, too: then\n"
        " * `tasks` of a session's options counts as 1. MORSEL_ALL_KINDS leaves this file empty, for builds that compile every file. */\n");
    put_uses(out, blob, bytes);
    fprintf(out, "\n#ifdef MORSEL_ALL_KINDS\ntypedef int morsel_all_kinds;\n#else\n");
    fprintf(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\nstruct morsel_kind;\nstruct morsel_way;\n");
    for (uint32_t kind = 1; kind < MORSEL_STEP_KIND_COUNT; kind++)
        fprintf(out, "extern const struct morsel_kind morsel_kind_%s;\n", morsel_kinds[kind]->name);
    fprintf(out, "extern const struct morsel_kind morsel_kind_qadd;\n");
    fprintf(out, "extern const struct morsel_way morsel_way_groups, morsel_way_tasks, morsel_way_rules;\n");
    fprintf(out, "extern const struct morsel_kind *const morsel_kinds[%d];\n", MORSEL_KINDS);
    fprintf(out, "extern const struct morsel_way *const morsel_ways[%d];\n\n", MORSEL_WAYS);
    fprintf(out, "const struct morsel_kind *const morsel_kinds[%d] = {\n    0,\n", MORSEL_KINDS);
    for (uint32_t kind = 1; kind < MORSEL_STEP_KIND_COUNT; kind++) {
        put_use(out, "#ifdef", morsel_kinds[kind]->name);
        fprintf(out, "    &morsel_kind_%s,\n", morsel_kinds[kind]->name);
        if (kind == MORSEL_STEP_BINARY) { /* sums of bytes alone have one that is smaller */
            put_use(out, "#elif defined", "qadd");
            fprintf(out, "    &morsel_kind_qadd,\n");
        }
        fprintf(out, "#else\n    0,\n#endif\n");
    }
    fprintf(out, "};\n\nconst struct morsel_way *const morsel_ways[%d] = {\n    0,\n", MORSEL_WAYS);
    fprintf(out, "#ifdef MORSEL_USE_GROUPS\n    &morsel_way_groups,\n#else\n    0,\n#endif\n");
    fprintf(out, "#ifdef MORSEL_ONE_TASK\n    0,\n#else\n    &morsel_way_tasks,\n#endif\n");
    fprintf(out, "#ifdef MORSEL_USE_RULES\n    &morsel_way_rules,\n#else\n    0,\n#endif\n");
    fprintf(out, "};\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

char *blob_c_text(enum blob_c file, const uint8_t *blob, size_t bytes, const char *source, const char *blob_path, size_t *length) {
    struct text_stream stream;
    FILE *out = text_open(&stream);
    if (!out) return NULL;
    if (file == BLOB_C_SOURCE && blob_c_assembly(source)) put_assembly(out, bytes, source, blob_path);
    else if (file == BLOB_C_SOURCE) put_source(out, blob, bytes, source);
    if (file == BLOB_C_HEADER) put_header(out, blob, bytes, source);
    if (file == BLOB_C_USE_HEADER) put_use_header(out, blob, bytes);
    if (file == BLOB_C_USE_SOURCE) put_use_source(out, blob, bytes);
    text_close(&stream);
    *length = stream.size;
    return stream.text;
}
