/* SPDX-License-Identifier: MIT */
/* The tool's files: whole reads, writes that leave the old file or the new one, .npy in all its forms, JSON. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/base/file.h"
#include "tools/base/folder.h"
#include "tools/base/json.h"
#include "tools/base/npy.h"
#include "tools/network/tensor.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/morsel_test_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int count_files(void) {
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return count;
}

static int remove_folder(void **state) {
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) unlink(in_folder(entry->d_name));
    if (dir) closedir(dir);
    return rmdir(folder);
}

static void files_read_back_as_written(void **state) {
    (void)state;
    struct failure failure;
    struct file_bytes got;
    static uint8_t data[100000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 31);
    assert_true(file_write(in_folder("a"), data, sizeof data, &failure));
    assert_true(file_read(in_folder("a"), SIZE_MAX / 2, &got, &failure));
    assert_int_equal(got.size, sizeof data);
    assert_memory_equal(got.data, data, sizeof data);
    assert_int_equal(got.data[got.size], 0);
    assert_int_equal((uintptr_t)got.data % 64, 0);
    file_free(&got);
    assert_false(file_read(in_folder("a"), sizeof data - 1, &got, &failure));
    assert_int_equal(failure.status, STATUS_INPUT);
    assert_true(file_write(in_folder("empty"), "", 0, &failure));
    assert_true(file_read(in_folder("empty"), 10, &got, &failure));
    assert_int_equal(got.size, 0);
    file_free(&got);
    assert_int_equal(count_files(), 2);
}

static void a_dash_is_no_name(void **state) {
    (void)state;
    struct failure failure;
    assert_false(file_can_write("-", &failure));
    assert_int_equal(failure.status, STATUS_CALL);
    assert_false(file_write("-", "x", 1, &failure));
    assert_int_equal(failure.status, STATUS_CALL);
    assert_non_null(strstr(failure.text, "/dev/stdout"));
    assert_int_equal(access("-", F_OK), -1);
    assert_true(file_can_write(in_folder("-"), &failure));
}

static void a_written_file_keeps_its_mode_and_link(void **state) {
    (void)state;
    struct failure failure;
    struct stat status;
    char target[512];
    strcpy(target, in_folder("target"));
    assert_true(file_write(target, "old", 3, &failure));
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink(target, in_folder("link")), 0);
    assert_true(file_write(in_folder("link"), "newer", 5, &failure));
    assert_int_equal(lstat(in_folder("link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(target, &status), 0);
    assert_int_equal(status.st_size, 5);
    assert_int_equal(status.st_mode & 0777, 0640);
}

/* Neither the link nor a file in its place: what it was to lead to is not known. */
static void a_link_to_nothing_stays(void **state) {
    (void)state;
    struct failure failure;
    struct stat status;
    assert_int_equal(symlink("nothing", in_folder("link")), 0);
    assert_int_equal(symlink("loop", in_folder("loop")), 0);
    assert_false(file_write(in_folder("link"), "new", 3, &failure));
    assert_non_null(strstr(failure.text, "a link that leads nowhere"));
    assert_int_equal(failure.status, STATUS_CALL);
    assert_false(file_write(in_folder("loop"), "new", 3, &failure));
    assert_int_equal(lstat(in_folder("link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_not_equal(lstat(in_folder("nothing"), &status), 0);
}

/* What no other file or disk would change is the call's or the file's fault. */
static void a_full_disk_is_the_systems(void **state) {
    (void)state;
    static const int of_system[] = {ENOSPC, EDQUOT, EROFS, EIO, ENOMEM, EMFILE, ENFILE}, others[] = {ENOENT, EACCES, EISDIR, ENOTDIR};
    for (size_t i = 0; i < sizeof of_system / sizeof *of_system; i++) assert_int_equal(failure_status(of_system[i]), STATUS_SYSTEM);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_int_equal(failure_status(others[i]), STATUS_INPUT);
}

static void files_that_cannot_be_read_say_why(void **state) {
    (void)state;
    struct failure failure;
    struct file_bytes got;
    assert_false(file_read(in_folder("none"), 10, &got, &failure));
    assert_int_equal(failure.status, STATUS_INPUT);
    assert_non_null(strstr(failure.text, "none"));
    assert_false(file_read(folder, 10, &got, &failure));
    assert_non_null(strstr(failure.text, "folder"));
    assert_false(file_write(in_folder("no/where"), "x", 1, &failure));
    assert_int_equal(failure.status, STATUS_CALL);
    assert_false(file_write(folder, "x", 1, &failure));
    assert_int_equal(failure.status, STATUS_CALL);
    assert_false(file_write("/dev/full", "x", 1, &failure));
    assert_int_equal(failure.status, STATUS_SYSTEM);
    assert_int_equal(count_files(), 0);
}

/* Three files, of which the last cannot be written: the old ones stay as they are, and nothing new is left. */
static void a_file_is_written_whole_or_not_at_all(void **state) {
    (void)state;
    struct failure failure;
    struct file_bytes got;
    char first[512], second[512];
    strcpy(first, in_folder("first"));
    strcpy(second, in_folder("second"));
    const struct file_new bad[] = {{first, "new", 3}, {second, "new", 3}, {in_folder("no/where"), "new", 3}};
    assert_true(file_write(first, "older", 5, &failure));
    assert_false(file_write_all(bad, 3, &failure));
    assert_int_equal(failure.status, STATUS_CALL);
    assert_int_equal(count_files(), 1);
    assert_true(file_read(first, 100, &got, &failure));
    assert_int_equal(got.size, 5);
    file_free(&got);
    assert_true(file_write_all(bad, 2, &failure));
    assert_int_equal(count_files(), 2);
    assert_true(file_read(first, 100, &got, &failure));
    assert_int_equal(got.size, 3);
    file_free(&got);
}

/* A disk that is full after ten bytes: the old file stays, and nothing else. */
static void a_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    struct failure failure;
    struct file_bytes got;
    struct rlimit before, small;
    assert_true(file_write(in_folder("a"), "old", 3, &failure));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool written = file_write(in_folder("a"), "more than ten bytes", 19, &failure);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(written);
    assert_int_equal(failure.status, STATUS_SYSTEM);
    assert_int_equal(count_files(), 1);
    assert_true(file_read(in_folder("a"), 100, &got, &failure));
    assert_int_equal(got.size, 3);
    file_free(&got);
}

static void write_npy(uint8_t version, const char *header, const void *data, size_t bytes) {
    uint8_t file[1024] = "\x93NUMPY";
    struct failure failure;
    size_t length = strlen(header), at = version == 1 ? 10 : 12;
    file[6] = version;
    file[8] = (uint8_t)length;
    memcpy(file + at, header, length);
    memcpy(file + at + length, data, bytes);
    assert_true(file_write(in_folder("x.npy"), file, at + length + bytes, &failure));
}

static void arrays_read_back_as_written(void **state) {
    (void)state;
    static const double values[6] = {0, 1.5, -2, 3, 1e300, -0.0};
    struct failure failure;
    struct npy npy;
    char text[128];
    for (uint32_t rank = 0; rank < 4; rank++) {
        const uint64_t dims[3] = {rank == 1 ? 6 : 2, 3, 1};
        assert_true(npy_write(in_folder("x.npy"), NPY_FLOAT64, dims, rank, values, &failure));
        assert_true(npy_read(in_folder("x.npy"), &npy, &failure));
        assert_int_equal(npy.type, NPY_FLOAT64);
        assert_int_equal(npy.rank, rank);
        size_t count = rank == 0 ? 1 : rank == 1 ? 6 : rank == 2 ? 6 : 6;
        assert_int_equal(npy.count, count);
        assert_memory_equal(npy.data, values, count * 8);
        npy_free(&npy);
    }
    const uint64_t dims[2] = {2, 3};
    assert_true(npy_write(in_folder("x.npy"), NPY_FLOAT64, dims, 2, values, &failure));
    assert_true(npy_read(in_folder("x.npy"), &npy, &failure));
    assert_string_equal(npy_describe(&npy, text, sizeof text), "float64 [2, 3]");
    npy_free(&npy);
}

/* numpy.asfortranarray([[1, 2, 3], [4, 5, 6]]) stores 1 4 2 5 3 6. */
static void fortran_order_is_turned(void **state) {
    (void)state;
    static const int32_t stored[6] = {1, 4, 2, 5, 3, 6}, wanted[6] = {1, 2, 3, 4, 5, 6};
    struct failure failure;
    struct npy npy;
    for (uint8_t version = 1; version <= 3; version++) {
        write_npy(version, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", stored, sizeof stored);
        assert_true(npy_read(in_folder("x.npy"), &npy, &failure));
        assert_memory_equal(npy.data, wanted, sizeof wanted);
        npy_free(&npy);
    }
}

static void arrays_of_other_forms_are_refused(void **state) {
    (void)state;
    static const char *const headers[] = {
        "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647, 2147483647, 2147483647), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2",
        "{'descr': '<f4', 'fortran_order': False, }\n",
        "",
    };
    struct failure failure;
    struct npy npy;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        write_npy(1, headers[i], "12345678", 8);
        if (npy_read(in_folder("x.npy"), &npy, &failure)) fail_msg("taken: %s", headers[i]);
        assert_int_equal(failure.status, STATUS_INPUT);
        assert_non_null(strstr(failure.text, "x.npy: "));
    }
}

/* Every truncation of a sound file is refused. */
static void truncated_arrays_are_refused(void **state) {
    (void)state;
    static const float values[4] = {1, 2, 3, 4};
    struct failure failure;
    struct file_bytes whole;
    struct npy npy;
    const uint64_t dims[1] = {4};
    assert_true(npy_write(in_folder("x.npy"), NPY_FLOAT32, dims, 1, values, &failure));
    assert_true(file_read(in_folder("x.npy"), 10000, &whole, &failure));
    for (size_t size = 0; size < whole.size; size++) {
        assert_true(file_write(in_folder("y.npy"), whole.data, size, &failure));
        assert_false(npy_read(in_folder("y.npy"), &npy, &failure));
    }
    file_free(&whole);
}

static void tensors_convert_between_types(void **state) {
    (void)state;
    struct network_tensor input = {.name = "x", .type = NPY_INT32, .rank = 1, .dims = {3}};
    int64_t values[3] = {-5, INT32_MAX, INT32_MIN};
    struct npy npy = {.type = NPY_INT64, .rank = 1, .dims = {3}, .count = 3, .data = values};
    struct failure failure;
    bool converted;
    assert_true(tensor_convert(&npy, &input, &converted, &failure));
    assert_true(converted);
    assert_int_equal(npy.type, NPY_INT32);
    const int32_t wanted[3] = {-5, INT32_MAX, INT32_MIN};
    assert_memory_equal(values, wanted, sizeof wanted);
    values[1] = (int64_t)INT32_MAX + 1;
    npy.type = NPY_INT64;
    assert_false(tensor_convert(&npy, &input, &converted, &failure));
    assert_non_null(strstr(failure.text, "int64 [3]"));
    input.type = NPY_UINT8;
    npy.type = NPY_FLOAT32;
    assert_false(tensor_convert(&npy, &input, &converted, &failure));
    assert_int_equal(failure.status, STATUS_INPUT);
}

static void json_is_escaped_and_numbers_are_exact(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    struct json json = {.file = open_memstream(&text, &size)};
    const uint32_t dims[] = {1, 3};
    json_open(&json, NULL);
    json_text(&json, "quo\"te", "a\\b\n\x01\x7f\xc3\xa9\xff\xc0\x80\xed\xa0\x80z");
    json_text(&json, "none", NULL);
    json_open_array(&json, "empty");
    json_close_array(&json);
    json_open_array(&json, "list");
    json_open_flat(&json, NULL);
    json_dims(&json, "shape", dims, 2);
    json_bool(&json, "yes", true);
    json_close(&json);
    json_integer(&json, NULL, INT64_MIN);
    json_close_array(&json);
    json_float(&json, "float", 0.1f);
    json_number(&json, "number", 0.1 + 0.2);
    json_number(&json, "infinite", (double)INFINITY);
    json_float(&json, "nan", NAN);
    json_close(&json);
    fclose(json.file);
    assert_string_equal(text, "{\n  \"quo\\\"te\": \"a\\\\b\\u000a\\u0001\\u007f\xc3\xa9\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffdz\",\n"
                              "  \"none\": null,\n  \"empty\": [],\n  \"list\": [\n    {\"shape\": [1, 3], \"yes\": true},\n"
                              "    -9223372036854775808\n  ],\n  \"float\": 0.1,\n  \"number\": 0.30000000000000004,\n"
                              "  \"infinite\": null,\n  \"nan\": null\n}\n");
    free(text);
}

static bool any_name(const char *name) {
    (void)name;
    return true;
}

/* Nothing is sorted then, and no list is there to be pointed into: UBSan sees it. */
static void an_empty_folder_holds_no_files(void **state) {
    (void)state;
    struct folder_files files = {0};
    struct failure failure;
    assert_true(folder_walk(folder, any_name, &files, &failure));
    assert_true(files.count == 0 && files.folders == 0 && !files.list);
    folder_free(&files);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(files_read_back_as_written),
        IN_FOLDER(a_dash_is_no_name),
        IN_FOLDER(a_written_file_keeps_its_mode_and_link),
        IN_FOLDER(a_link_to_nothing_stays),
        cmocka_unit_test(a_full_disk_is_the_systems),
        IN_FOLDER(files_that_cannot_be_read_say_why),
        IN_FOLDER(a_file_is_written_whole_or_not_at_all),
        IN_FOLDER(a_full_disk_leaves_the_old_file),
        IN_FOLDER(arrays_read_back_as_written),
        IN_FOLDER(fortran_order_is_turned),
        IN_FOLDER(arrays_of_other_forms_are_refused),
        IN_FOLDER(truncated_arrays_are_refused),
        IN_FOLDER(an_empty_folder_holds_no_files),
        cmocka_unit_test(tensors_convert_between_types),
        cmocka_unit_test(json_is_escaped_and_numbers_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
