/* SPDX-License-Identifier: MIT */
/*
 * allocations PRELOAD FOLDER MOST NAME TOOL ARGUMENTS...: calls the tool again and again; another of its allocations fails each time.
 *
 * FOLDER is this program's own: `out` in it is where the call writes. MOST: so many allocations, evenly; 0: every one of them.
 * An allocation that fails either ends the call, with status 3 and a message of memory, or makes no difference. Either way each output is
 * the old file or the new one, and nothing lies beside them. Prints a line of figures, and one for each allocation where that is not so.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUTS_MOST = 8, LIMIT_SECONDS = 120, SHOWN_MOST = 10 };

struct output {
    char name[256], *new, *old;
    size_t new_size, old_size;
};

static struct output outputs[OUTPUTS_MOST];
static int output_count;
static const char *preload, *folder;
static char *said; /* on stdout; NULL where each call says something else: times */

static void give_up(const char *what) {
    fprintf(stderr, "allocations: %s: %s\n", what, strerror(errno));
    exit(2);
}

static const char *in_folder(const char *name) {
    static char path[2][4096];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static const char *in_out(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "out/%s", name);
    return in_folder(path);
}

static char *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t got, room = 0;
    *size = 0;
    if (!file) return NULL;
    do {
        text = realloc(text, (room += 1 << 16) + 1);
        if (!text) give_up(path);
        *size += got = fread(text + *size, 1, room - *size, file);
    } while (got && *size == room);
    text[*size] = 0;
    fclose(file);
    return text;
}

static void write_whole(const char *path, const char *text, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, size, file) != size || fclose(file)) give_up(path);
}

/* Nothing is left in `out` but the old files. */
static void restore(void) {
    DIR *dir = opendir(in_folder("out"));
    if (!dir) give_up(in_folder("out"));
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) unlink(in_out(entry->d_name));
    closedir(dir);
    for (int i = 0; i < output_count; i++) write_whole(in_out(outputs[i].name), outputs[i].old, outputs[i].old_size);
}

/* What the call writes; the old file has a line more. */
static void learn_outputs(void) {
    DIR *dir = opendir(in_folder("out"));
    if (!dir) give_up(in_folder("out"));
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        if (output_count == OUTPUTS_MOST) give_up("more files than there is room for");
        struct output *o = &outputs[output_count++];
        snprintf(o->name, sizeof o->name, "%s", entry->d_name);
        o->new = read_whole(in_out(o->name), &o->new_size);
        o->old_size = o->new_size + 4;
        o->old = malloc(o->old_size);
        if (!o->old || !o->new) give_up(o->name);
        memcpy(o->old, o->new, o->new_size);
        memcpy(o->old + o->new_size, "old\n", 4);
    }
    closedir(dir);
}

/* The status as waitpid() has it. */
static int call(char **arguments, unsigned long fail) {
    char fault[64];
    int status;
    pid_t child = fork();
    if (child < 0) give_up("fork");
    if (!child) {
        int out = open(in_folder("said"), O_WRONLY | O_CREAT | O_TRUNC, 0600),
            err = open(in_folder("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (out < 0 || err < 0 || dup2(out, 1) != 1 || dup2(err, 2) != 2) _exit(126);
        snprintf(fault, sizeof fault, "alloc:%lu=e%d", fail, ENOMEM);
        setenv("FAULTS", fault, 1);
        setenv("FAULTS_LOG", in_folder("log"), 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0:exitcode=99:allocator_may_return_null=1", 1);
        setenv("UBSAN_OPTIONS", "exitcode=99", 1);
        setenv("LD_PRELOAD", preload, 1);
        alarm(LIMIT_SECONDS);
        execv(arguments[0], arguments);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child) give_up("waitpid");
    return status;
}

/* What is wrong with the outputs, or NULL. `all_new`: each has to be the new file. */
static const char *wrong_outputs(bool all_new) {
    int count = 0;
    DIR *dir = opendir(in_folder("out"));
    if (!dir) give_up(in_folder("out"));
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
    closedir(dir);
    if (count != output_count) return "files are left beside the outputs";
    for (int i = 0; i < output_count; i++) {
        size_t size;
        char *now = read_whole(in_out(outputs[i].name), &size);
        bool is_new = now && size == outputs[i].new_size && !memcmp(now, outputs[i].new, size);
        bool is_old = now && size == outputs[i].old_size && !memcmp(now, outputs[i].old, size);
        free(now);
        if (!is_new && (all_new || !is_old)) return all_new ? "an output is not what it should be" : "an output is half-written";
    }
    return NULL;
}

static bool said_the_same(void) {
    size_t size;
    char *now = read_whole(in_folder("said"), &size);
    bool same = !said || (now && !strcmp(now, said));
    free(now);
    return same;
}

static bool says_memory(void) {
    size_t size;
    char *text = read_whole(in_folder("err"), &size);
    bool says = text && strstr(text, "morsel: ") && (strcasestr(text, "memory") || strstr(text, strerror(EAGAIN))); /* of threads */
    free(text);
    return says;
}

/* AddressSanitizer allocates where a thread begins, and gives up without: none of the tool's. */
static bool of_the_sanitizer(void) {
    size_t size;
    char *text = read_whole(in_folder("err"), &size);
    bool its_own = text && strstr(text, "AddressSanitizer: CHECK failed");
    free(text);
    return its_own;
}

/* What is wrong after a call, or NULL. */
static const char *judge(int status, unsigned long *errors, unsigned long *went_on, unsigned long *crashed) {
    static char text[100];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 99 && of_the_sanitizer()) return NULL;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) >= 99) {
        ++*crashed;
        snprintf(text, sizeof text, "%s %d", WIFSIGNALED(status) ? "signal" : "exit status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return text;
    }
    const char *wrong = wrong_outputs(WEXITSTATUS(status) == 0);
    *(WEXITSTATUS(status) ? errors : went_on) += 1;
    if (wrong) return wrong;
    if (WEXITSTATUS(status) == 0) return said_the_same() ? NULL : "another text on stdout";
    if (WEXITSTATUS(status) != 3) {
        snprintf(text, sizeof text, "exit status %d, not 3", WEXITSTATUS(status));
        return text;
    }
    return says_memory() ? NULL : "no word of memory";
}

static unsigned long count_allocations(void) {
    size_t size;
    char *log = read_whole(in_folder("log"), &size), *at = log ? strstr(log, "allocations ") : NULL;
    unsigned long count = at ? strtoul(at + strlen("allocations "), NULL, 10) : 0;
    free(log);
    return count;
}

/* The last line on stderr. */
static void show_message(void) {
    size_t size;
    char *text = read_whole(in_folder("err"), &size), *line = text;
    if (size) text[size - 1] = 0;
    for (char *end = line; end && (end = strchr(end, '\n'));) line = ++end;
    if (line) printf("    %s\n", line);
    free(text);
}

int main(int argc, char **argv) {
    if (argc < 6) return 2;
    preload = argv[1];
    folder = argv[2];
    unsigned long most = strtoul(argv[3], NULL, 10), tried = 0, errors = 0, went_on = 0, crashed = 0, bad = 0;
    const char *name = argv[4];
    restore();
    if (call(argv + 5, 0)) {
        printf("FAIL %s: it fails without any fault\n", name);
        show_message();
        return 1;
    }
    size_t size;
    unsigned long count = count_allocations();
    learn_outputs();
    said = read_whole(in_folder("said"), &size);
    call(argv + 5, 0);
    if (!said_the_same() || strstr(said, "ms") || strstr(said, "images/s") || strstr(said, "images_per_s")) said = NULL;
    for (unsigned long i = 0; i < (most && most < count ? most : count); i++) {
        unsigned long n = 1 + (most && most < count ? i * (count - 1) / (most > 1 ? most - 1 : 1) : i);
        restore();
        const char *wrong = judge(call(argv + 5, n), &errors, &went_on, &crashed);
        tried++;
        if (!wrong || bad++ >= SHOWN_MOST) continue;
        printf("    allocation %lu of %lu: %s\n", n, count, wrong);
        show_message();
    }
    printf("%s %s: %lu allocations, %lu tried: %lu ended in an error, %lu made no difference, %lu crashed, %lu wrong\n",
           bad || !errors ? "FAIL" : "ok", name, count, tried, errors, went_on, crashed, bad);
    return bad || !errors;
}
