// SPDX-License-Identifier: Apache-2.0
// test_output_file.c — whole or not at all, links, concurrent writers, the input as output.
#include "format/output_file.h"
#include "unit/format/scratch.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_text(const char *path, const char *text) {
    struct glint_output_file *file;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_output_file_open(&file, path, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(glint_output_file_write(file, text, strlen(text), &err), GLINT_OK);
    assert_int_equal(glint_output_file_size(file), strlen(text));
    assert_int_equal(glint_output_file_commit(&file, &err), GLINT_OK);
    assert_null(file);
}

static void assert_content(const char *path, const char *text) {
    size_t n;
    char *data = (char *)scratch_read(path, &n);
    assert_string_equal(data, text);
    free(data);
}

static void test_commit_and_discard(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_output_file *file;
    struct glint_error err;
    scratch_open(&scratch);
    scratch_path(&scratch, "out");
    write_text(scratch.path, "first");
    assert_content(scratch.path, "first");
    assert_int_equal(glint_output_file_open(&file, scratch.path, &err), GLINT_OK);
    assert_int_equal(glint_output_file_write(file, "half", 4, &err), GLINT_OK);
    assert_content(scratch.path, "first");
    glint_output_file_discard(&file);
    assert_content(scratch.path, "first");
    write_text(scratch.path, "second");
    assert_content(scratch.path, "second");
    assert_int_equal(scratch_count(&scratch), 1);
    // A leftover of a killed process is no obstacle.
    char partial[700];
    snprintf(partial, sizeof partial, "%s.part", scratch.path);
    scratch_write(partial, "leftover of some length", 23);
    write_text(scratch.path, "third");
    assert_content(scratch.path, "third");
    assert_int_equal(scratch_count(&scratch), 1);
    scratch_close(&scratch);
}

static void test_two_writers(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_output_file *file, *other;
    struct glint_error err;
    scratch_open(&scratch);
    scratch_path(&scratch, "out");
    assert_int_equal(glint_output_file_open(&file, scratch.path, &err), GLINT_OK);
    assert_int_equal(glint_output_file_write(file, "mine", 4, &err), GLINT_OK);
    assert_int_equal(glint_output_file_open(&other, scratch.path, &err), GLINT_E_BUSY);
    assert_null(other);
    assert_int_equal(glint_output_file_commit(&file, &err), GLINT_OK);
    assert_content(scratch.path, "mine");
    scratch_close(&scratch);
}

enum { N_CHILD = 3, N_ROUND = 1000, N_LETTER = 3000 };

// Writes the file over and over; whoever finishes must have finished it.
static void race(const char *path, char letter) {
    char text[N_LETTER + 1];
    memset(text, letter, N_LETTER);
    text[N_LETTER] = 0;
    for (int i = 0; i < N_ROUND; i++) {
        struct glint_output_file *file;
        struct glint_error err;
        enum glint_status status = glint_output_file_open(&file, path, &err);
        if (status == GLINT_E_BUSY)
            continue;
        if (status != GLINT_OK || glint_output_file_write(file, text, N_LETTER, &err) != GLINT_OK ||
            glint_output_file_commit(&file, &err) != GLINT_OK)
            _exit(1);
    }
    _exit(0);
}

// A writer that opens the partial file just before it is renamed must not empty the result.
static void test_many_writers(void **state) {
    (void)state;
    struct scratch scratch;
    pid_t child[N_CHILD];
    scratch_open(&scratch);
    scratch_path(&scratch, "out");
    write_text(scratch.path, "");
    for (int i = 0; i < N_CHILD; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            race(scratch.path, (char)('a' + i));
    }
    for (int i = 0; i < N_CHILD; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    size_t n;
    char *data = (char *)scratch_read(scratch.path, &n);
    assert_int_equal(n, N_LETTER);
    for (size_t i = 1; i < n; i++)
        assert_int_equal(data[i], data[0]);
    free(data);
    scratch_close(&scratch);
}

static void test_links(void **state) {
    (void)state;
    struct scratch scratch;
    struct stat info;
    char link[600];
    scratch_open(&scratch);
    strcpy(link, scratch_path(&scratch, "link"));
    scratch_write(scratch_path(&scratch, "target"), "old", 3);
    assert_int_equal(symlink("target", link), 0);
    write_text(link, "new");
    assert_content(scratch.path, "new"); // the target changed, the link is still one
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    scratch_close(&scratch);
}

static void test_refusals(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_output_file *file;
    struct glint_error err;
    char name[600];
    scratch_open(&scratch);
    assert_int_equal(glint_output_file_open(&file, scratch.folder, &err), GLINT_E_ARG);
    assert_int_equal(glint_output_file_open(&file, "", &err), GLINT_E_ARG);
    assert_non_null(strstr(err.text, "empty name"));
    assert_int_equal(glint_output_file_open(&file, scratch_path(&scratch, "no/such"), &err),
                     GLINT_E_NOTFOUND);
    assert_non_null(strstr(err.text, "no/such.part: cannot create"));
    scratch_write(scratch_path(&scratch, "in"), "x", 1);
    strcpy(name, scratch.path);
    scratch_path(&scratch, "same");
    assert_int_equal(glint_output_file_refuse_input(scratch.path, name, &err), GLINT_OK);
    assert_int_equal(link(name, scratch.path), 0);
    assert_int_equal(glint_output_file_refuse_input(scratch.path, name, &err), GLINT_E_ARG);
    assert_int_equal(glint_output_file_refuse_input(name, name, &err), GLINT_E_ARG);
    assert_int_equal(glint_output_file_refuse_input(name, "/no/such", &err), GLINT_OK);
    scratch_close(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_and_discard), cmocka_unit_test(test_two_writers),
        cmocka_unit_test(test_many_writers),       cmocka_unit_test(test_links),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
