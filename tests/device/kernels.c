/* SPDX-License-Identifier: MIT */
/* Every kernel against plain C: tests/check_kernels in a process of its own, whose lines are counted. */
#include "device.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* main() of tests/check_kernels, named so where this program is built. */
int check_kernels(int argc, char **argv);

static _Noreturn void check(int out, unsigned cases, bool random_only) {
    char count[16], *argv[] = {"check_kernels", "--seed", "1", "--cases", count, "--random-only", NULL};
    snprintf(count, sizeof count, "%u", cases);
    dup2(out, STDOUT_FILENO);
    int status = check_kernels(5 + random_only, argv);
    fflush(stdout);
    _exit(status);
}

/* Counts a line for each kernel, and shows those of failures. */
static void count_lines(FILE *lines, struct tally *tally) {
    char line[512];
    while (fgets(line, sizeof line, lines)) {
        bool failed = !strncmp(line, "FAIL ", 5);
        tally->failed += failed;
        tally->compared += failed || !strncmp(line, "ok ", 3);
        if (failed || !strncmp(line, "    ", 4)) fputs(line, stderr);
    }
}

struct tally kernels_compare(unsigned cases, bool random_only) {
    struct tally tally = {0, 0};
    int ends[2], status = 1;
    if (pipe(ends)) return (struct tally){0, 1};
    fflush(NULL);
    pid_t child = fork();
    if (!child) check(ends[1], cases, random_only);
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    if (lines) count_lines(lines, &tally);
    if (lines) fclose(lines);
    if (child < 0 || waitpid(child, &status, 0) < 0 || (status && !tally.failed)) {
        fprintf(stderr, "FAIL the comparison of kernels ended by itself, status %d\n", status);
        tally.failed++;
    }
    return tally;
}
