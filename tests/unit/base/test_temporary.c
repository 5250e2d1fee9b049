/* SPDX-License-Identifier: MIT */
/* Temporary files beside outputs: what a killed process left goes at the next write, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/skip.h"
#include "tools/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/morsel_test_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (unlink(in_folder(entry->d_name))) (void)!rmdir(in_folder(entry->d_name));
    if (dir) closedir(dir);
    return rmdir(folder);
}

static bool is_there(const char *name) {
    struct stat status;
    return !lstat(in_folder(name), &status);
}

static void make(const char *name) {
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void write_out(const char *name) {
    struct failure failure;
    assert_true(file_write(in_folder(name), "new", 3, &failure));
}

/* The number of a process that ended. */
static int dead(void) {
    pid_t child = fork();
    if (!child) _exit(0);
    assert_true(child > 0 && waitpid(child, NULL, 0) == child);
    return child;
}

/* A process that waits until end_living(). Where a name is given it has the lock on that file. */
static int ready[2], stop[2];

static pid_t start_living(const char *name) {
    char byte = 0;
    assert_true(!pipe(ready) && !pipe(stop));
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        close(stop[1]);
        int fd = name ? open(in_folder(name), O_RDWR) : -1;
        if (name && (fd < 0 || fcntl(fd, F_SETLK, &whole))) _exit(1);
        if (write(ready[1], &byte, 1) != 1 || read(stop[0], &byte, 1) < 0) _exit(1);
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    return child;
}

static void end_living(pid_t child) {
    int status;
    close(stop[1]);
    close(stop[0]);
    close(ready[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static const char *left_by(const char *target, int pid) {
    static char name[2][300];
    static int turn;
    turn = !turn;
    snprintf(name[turn], sizeof name[turn], "%s.morsel-%d-Ab3dE9", target, pid);
    return name[turn];
}

static void what_a_killed_process_left_is_removed(void **state) {
    (void)state;
    const char *first = left_by("out", dead()), *second = left_by("out", dead());
    make(first);
    make(second);
    write_out("out");
    assert_false(is_there(first));
    assert_false(is_there(second));
    assert_true(is_there("out"));
}

static void a_living_process_keeps_its_file(void **state) {
    (void)state;
    pid_t child = start_living(NULL);
    const char *name = left_by("out", child);
    make(name);
    write_out("out");
    assert_true(is_there(name));
    end_living(child);
    write_out("out");
    assert_false(is_there(name));
}

/* As of a writer in another container, whose number says nothing here. */
static void a_locked_file_stays_whatever_its_number(void **state) {
    (void)state;
    const char *name = left_by("out", dead());
    make(name);
    pid_t child = start_living(name);
    write_out("out");
    assert_true(is_there(name));
    end_living(child);
    write_out("out");
    assert_false(is_there(name));
}

static void files_with_similar_names_stay(void **state) {
    static const char *const forms[] = {
        "out.morsel-%d-Ab3dE",   "out.morsel-%d-Ab3dE9x", "out.morsel-%d-Ab3d_9", "out.morsel-0%d-Ab3dE9", "out.morsel-+%d-Ab3dE9",
        "out.morsel- %d-Ab3dE9", "out.morsel-%d",         "out.morsel-%d-",       "out.morsel--%d-Ab3dE9", "out.morsel-%d.Ab3dE9",
        "out2.morsel-%d-Ab3dE9", "xout.morsel-%d-Ab3dE9", "out.morsel%d-Ab3dE9",  "Out.morsel-%d-Ab3dE9",  "out.morsel-%d9999999999-Ab3dE9",
        "out.%d.Ab3dE9",         "out.morsel-x%d-Ab3dE9",
    };
    char name[300];
    int pid = dead();
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(name, sizeof name, forms[i], pid);
        make(name);
    }
    write_out("out");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(name, sizeof name, forms[i], pid);
        if (!is_there(name)) fail_msg("removed: %s", name);
    }
}

static void what_is_no_plain_file_stays(void **state) {
    (void)state;
    const char *name = left_by("out", dead());
    make("other");
    assert_int_equal(mkdir(in_folder(name), 0700), 0);
    write_out("out");
    assert_true(is_there(name));
    assert_int_equal(rmdir(in_folder(name)), 0);
    assert_int_equal(symlink(in_folder("other"), in_folder(name)), 0);
    write_out("out");
    assert_true(is_there(name) && is_there("other"));
    assert_int_equal(unlink(in_folder(name)), 0);
    assert_int_equal(link(in_folder("other"), in_folder(name)), 0); /* a file with two names */
    write_out("out");
    assert_true(is_there(name));
    assert_int_equal(unlink(in_folder(name)), 0);
    assert_int_equal(mkfifo(in_folder(name), 0600), 0);
    write_out("out");
    assert_true(is_there(name));
}

static void a_file_of_another_owner_stays(void **state) {
    (void)state;
    const char *name = left_by("out", dead());
    make(name);
    if (geteuid() || chown(in_folder(name), 65534, (gid_t)-1)) skip_because("files are given to others by root alone");
    write_out("out");
    assert_true(is_there(name));
}

/* A name of 255 bytes has no room for more: the temporary file has the beginning of it. */
static void the_longest_name_can_be_written(void **state) {
    (void)state;
    char longest[256], shorter[256];
    memset(longest, 'x', 255);
    longest[255] = 0;
    snprintf(shorter, sizeof shorter, "%.200s", longest);
    const char *name = left_by(shorter, dead());
    make(name);
    write_out(longest);
    assert_true(is_there(longest));
    assert_false(is_there(name));
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_a_killed_process_left_is_removed),
        IN_FOLDER(a_living_process_keeps_its_file),
        IN_FOLDER(a_locked_file_stays_whatever_its_number),
        IN_FOLDER(files_with_similar_names_stay),
        IN_FOLDER(what_is_no_plain_file_stays),
        IN_FOLDER(a_file_of_another_owner_stays),
        IN_FOLDER(the_longest_name_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
