/* SPDX-License-Identifier: MIT */
/* UTF-8 read with suspicion; the hash of names. */
#include "tools/base/text.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

size_t text_mark(const char *text) {
    return strncmp(text, "\xEF\xBB\xBF", 3) ? 0 : 3;
}

unsigned text_utf8_length(const unsigned char *s) {
    unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : 0;
    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

unsigned text_character(const unsigned char *s, unsigned length) {
    unsigned character = length < 2 ? s[0] : s[0] & (0xFFu >> (length + 1));
    for (unsigned i = 1; i < length; i++) character = character << 6 | (s[i] & 0x3F);
    return character;
}

bool text_steers(unsigned c) {
    bool control = c < 0x20 || (c >= 0x7F && c < 0xA0), line = c == 0x2028 || c == 0x2029;
    bool direction = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    return control || line || direction;
}

char *text_tame(char *text) {
    for (unsigned char *s = (unsigned char *)text; *s;) {
        unsigned n = text_utf8_length(s);
        bool bad = n == 0 || text_steers(text_character(s, n));
        for (n = n ? n : 1; n; n--, s++) *s = bad ? '?' : *s;
    }
    return text;
}

void text_put_xml(FILE *file, const char *text, bool lines) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        unsigned n = text_utf8_length(s), c = n ? text_character(s, n) : 0;
        if (n == 0 || c == 0xFFFE || c == 0xFFFF) putc('?', file);
        else if (*s == '&' || *s == '<' || *s == '>' || *s == '"') fprintf(file, "&#%u;", *s);
        else if (text_steers(c) && !(lines && c == '\n')) putc(' ', file);
        else fwrite(s, 1, n, file);
        s += n ? n : 1;
    }
}

/* As fopencookie() wants it: 0 is an error. */
static ssize_t put(void *cookie, const char *from, size_t size) {
    struct text_stream *stream = cookie;
    if (size >= stream->room - stream->size) {
        size_t room = 2 * (stream->size + size) + 4096;
        char *more = realloc(stream->text, room);
        if (!more) return 0;
        stream->text = more;
        stream->room = room;
    }
    memcpy(stream->text + stream->size, from, size);
    stream->size += size;
    stream->text[stream->size] = 0;
    return (ssize_t)size;
}

FILE *text_open(struct text_stream *stream) {
    *stream = (struct text_stream){0};
    return stream->file = fopencookie(stream, "w", (cookie_io_functions_t){.write = put});
}

char *text_close(struct text_stream *stream) {
    bool bad = ferror(stream->file) != 0;
    if (fclose(stream->file) || bad) {
        free(stream->text);
        stream->text = NULL;
    }
    return stream->text;
}

char *text_take(struct text_stream *stream) {
    if (fflush(stream->file) || ferror(stream->file)) return NULL;
    char *text = malloc(stream->size + 1);
    if (!text) return NULL;
    if (stream->size) memcpy(text, stream->text, stream->size);
    text[stream->size] = 0;
    stream->size = 0;
    return text;
}

/* --- Names --- */

/*
 * SipHash-1-3 with a key of this process: names that all meet in one slot, and cost the square of their number, cannot be chosen ahead.
 * What is made of a file does not depend on it: tables are looked up, never read in their order.
 */
static uint64_t key[2];
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void make_key(void) {
    if (getentropy(key, sizeof key)) key[0] = (uint64_t)(uintptr_t)malloc, key[1] = (uint64_t)(uintptr_t)&key; /* better than none */
}

static uint64_t turned(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4]) {
    v[0] += v[1], v[1] = turned(v[1], 13) ^ v[0], v[0] = turned(v[0], 32);
    v[2] += v[3], v[3] = turned(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = turned(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = turned(v[1], 17) ^ v[2], v[2] = turned(v[2], 32);
}

size_t text_hash(const char *name) {
    pthread_once(&key_once, make_key);
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    size_t left = strlen(name);
    uint64_t word = (uint64_t)left << 56, last = 0;
    for (; left >= 8; left -= 8, name += 8) {
        uint64_t eight;
        memcpy(&eight, name, 8);
        v[3] ^= eight, mix(v), v[0] ^= eight;
    }
    memcpy(&last, name, left);
    word |= last;
    v[3] ^= word, mix(v), v[0] ^= word, v[2] ^= 0xff;
    mix(v), mix(v), mix(v);
    return (size_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}
