// SPDX-License-Identifier: Apache-2.0
// test_alloc.c — overflow, alignment, counts, ordered failures.
#include "base/alloc.h"

#include "fault.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_zeroed_and_aligned(void **state) {
    (void)state;
    // Small sizes and sizes on the lazy path.
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 262143, 262144, 262145, 5000001};
    size_t blocks = glint_alloc_live_blocks();
    size_t bytes = glint_alloc_live_bytes();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        // Twice, so that the second block may be one given back full of ones.
        for (int round = 0; round < 2; round++) {
            unsigned char *block = glint_alloc(sizes[i], 1);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 64, 0);
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(block[k], 0);
            memset(block, 0xff, sizes[i]);
            assert_int_equal(glint_alloc_live_blocks(), blocks + 1);
            assert_int_equal(glint_alloc_live_bytes(), bytes + sizes[i]);
            glint_free(block);
        }
    }
    glint_free(NULL);
    assert_int_equal(glint_alloc_live_blocks(), blocks);
    assert_int_equal(glint_alloc_live_bytes(), bytes);
}

static void test_overflow(void **state) {
    (void)state;
    assert_null(glint_alloc(SIZE_MAX, 1));
    assert_null(glint_alloc(SIZE_MAX / 2, 3));
    assert_null(glint_alloc((size_t)1 << 33, (size_t)1 << 33));
    assert_null(glint_realloc(NULL, SIZE_MAX / 8, 16));
    assert_null(glint_strndup("x", SIZE_MAX));
    void *none = glint_alloc(SIZE_MAX, 0);
    assert_non_null(none);
    glint_free(none);
}

static void test_grow_and_shrink(void **state) {
    (void)state;
    static const size_t sizes[] = {10, 100000, 300000, 700000, 200, 1};
    size_t bytes = glint_alloc_live_bytes();
    unsigned char *block = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        block = glint_realloc(block, sizes[i], 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        for (size_t k = 0; k < kept && k < sizes[i]; k++)
            assert_int_equal(block[k], k % 251);
        for (size_t k = 0; k < sizes[i]; k++)
            block[k] = (unsigned char)(k % 251);
        kept = sizes[i];
        assert_int_equal(glint_alloc_live_bytes(), bytes + sizes[i]);
    }
    glint_alloc_fail_at(1);
    assert_null(glint_realloc(block, 1000, 1));
    assert_int_equal(block[0], 0); // still there
    glint_free(block);
}

static void test_strndup(void **state) {
    (void)state;
    char *copy = glint_strndup("hello", 4);
    assert_string_equal(copy, "hell");
    glint_free(copy);
    copy = glint_strndup(NULL, 0);
    assert_string_equal(copy, "");
    glint_free(copy);
}

static void test_fail_at(void **state) {
    (void)state;
    assert_int_equal(glint_alloc_fail_at(2), 0);
    void *first = glint_alloc(1, 1);
    assert_non_null(first);
    assert_null(glint_alloc(1, 1));
    void *third = glint_alloc(1, 1);
    assert_non_null(third);
    assert_int_equal(glint_alloc_fail_at(5), 0);
    glint_free(glint_alloc(1, 1));
    assert_int_equal(glint_alloc_fail_at(0), 4);
    glint_free(glint_alloc(1, 1));
    glint_free(first);
    glint_free(third);
}

static enum glint_status takes_three(void *context, struct glint_error *err) {
    void *block[3] = {NULL, NULL, NULL};
    enum glint_status status = GLINT_OK;
    for (int i = 0; i < 3 && status == GLINT_OK; i++) {
        block[i] = glint_alloc(1, *(const size_t *)context);
        if (!block[i])
            status = glint_fail(err, GLINT_E_NOMEM, "block %d", i);
    }
    for (int i = 0; i < 3; i++)
        glint_free(block[i]);
    return status;
}

static void test_fault_each(void **state) {
    (void)state;
    size_t size = 16;
    assert_int_equal(glint_fault_each(takes_three, &size), 3);
}

static void test_forbid(void **state) {
    (void)state;
    void *block = glint_alloc(1, 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        glint_alloc_forbid_begin();
        glint_alloc_forbid_begin();
        glint_alloc_forbid_end();
        glint_free(block); // allowed
        glint_alloc(1, 1);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    glint_alloc_forbid_begin();
    glint_alloc_forbid_end();
    glint_free(glint_alloc(1, 1));
    glint_free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_and_aligned),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_grow_and_shrink),
        cmocka_unit_test(test_strndup),
        cmocka_unit_test(test_fail_at),
        cmocka_unit_test(test_fault_each),
        cmocka_unit_test(test_forbid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
