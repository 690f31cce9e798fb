// SPDX-License-Identifier: Apache-2.0
// test_mapped_file.c — contents, empty files, what is no file, hints.
#include "format/mapped_file.h"
#include "unit/format/scratch.h"

#include <sys/stat.h>

static void test_contents(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_mapped_file *file;
    struct glint_error err;
    uint8_t bytes[10000];
    scratch_open(&scratch);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31);
    scratch_write(scratch_path(&scratch, "a"), bytes, sizeof bytes);
    assert_int_equal(glint_mapped_file_open(&file, scratch.path, &err), GLINT_OK);
    assert_int_equal(file->n, sizeof bytes);
    assert_string_equal(file->path, scratch.path);
    static const enum glint_advice all[] = {GLINT_ADVICE_NORMAL, GLINT_ADVICE_SEQUENTIAL,
                                            GLINT_ADVICE_RANDOM, GLINT_ADVICE_SOON,
                                            GLINT_ADVICE_UNUSED};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        glint_mapped_file_advise(file, 0, file->n, all[i]);
        glint_mapped_file_advise(file, 5000, UINT64_MAX, all[i]);
        glint_mapped_file_advise(file, 5000, 1, all[i]);
        glint_mapped_file_advise(file, UINT64_MAX, 1, all[i]);
        assert_memory_equal(file->data, bytes, sizeof bytes);
    }
    unlink(scratch.path); // the mapping outlives the name
    assert_memory_equal(file->data, bytes, sizeof bytes);
    glint_mapped_file_close(&file);
    assert_null(file);
    glint_mapped_file_close(&file);
    scratch_close(&scratch);
}

static void test_odd_files(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_mapped_file *file;
    struct glint_error err;
    scratch_open(&scratch);
    scratch_write(scratch_path(&scratch, "empty"), "", 0);
    assert_int_equal(glint_mapped_file_open(&file, scratch.path, &err), GLINT_OK);
    assert_int_equal(file->n, 0);
    assert_non_null(file->data);
    glint_mapped_file_advise(file, 0, 1, GLINT_ADVICE_UNUSED);
    glint_mapped_file_close(&file);
    assert_int_equal(glint_mapped_file_open(&file, scratch_path(&scratch, "none"), &err),
                     GLINT_E_NOTFOUND);
    assert_null(file);
    assert_int_equal(glint_mapped_file_open(&file, scratch.folder, &err), GLINT_E_ARG);
    assert_non_null(strstr(err.text, "found a folder"));
    assert_int_equal(glint_mapped_file_open(&file, "/dev/null", &err), GLINT_E_ARG);
    assert_int_equal(mkfifo(scratch_path(&scratch, "pipe"), 0600), 0); // must not block
    assert_int_equal(glint_mapped_file_open(&file, scratch.path, &err), GLINT_E_ARG);
    scratch_close(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_odd_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
