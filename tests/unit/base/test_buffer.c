// SPDX-License-Identifier: Apache-2.0
// test_buffer.c — growth, formatting, failure that sticks, views.
#include "base/buffer.h"

#include "fault.h"

#include <string.h>

static void test_append(void **state) {
    (void)state;
    struct glint_buffer buffer = {.data = NULL};
    glint_buffer_append(&buffer, NULL, 0);
    assert_string_equal(buffer.data, "");
    for (int i = 0; i < 1000; i++) {
        glint_buffer_append_char(&buffer, (char)('a' + i % 26));
        assert_int_equal(buffer.n, i + 1);
        assert_int_equal(buffer.data[buffer.n], 0);
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buffer.data[i], 'a' + i % 26);
    glint_buffer_clear(&buffer);
    assert_int_equal(buffer.n, 0);
    glint_buffer_append_text(&buffer, "text");
    glint_buffer_append(&buffer, "\0x", 2);
    assert_int_equal(buffer.n, 6);
    assert_memory_equal(buffer.data, "text\0x", 7);
    glint_buffer_fini(&buffer);
    assert_null(buffer.data);
    glint_buffer_clear(&buffer);
}

static void test_exact_capacity(void **state) {
    (void)state;
    // Every size around the first capacities, so that the final zero always has its byte.
    for (size_t n = 0; n < 200; n++) {
        struct glint_buffer buffer = {.data = NULL};
        assert_true(glint_buffer_reserve(&buffer, n));
        char text[200];
        memset(text, 'x', sizeof text);
        glint_buffer_append(&buffer, text, n);
        glint_buffer_append(&buffer, text, n);
        assert_int_equal(buffer.n, 2 * n);
        assert_int_equal(buffer.data[2 * n], 0);
        glint_buffer_fini(&buffer);
    }
}

static void test_printf(void **state) {
    (void)state;
    struct glint_buffer buffer = {.data = NULL};
    glint_buffer_printf(&buffer, "%s-%d", "a", 7);
    glint_buffer_printf(&buffer, "%300s", "b");
    assert_int_equal(buffer.n, 303);
    assert_memory_equal(buffer.data, "a-7 ", 4);
    assert_int_equal(buffer.data[302], 'b');
    glint_buffer_fini(&buffer);
}

static void test_failure_sticks(void **state) {
    (void)state;
    struct glint_buffer buffer = {.data = NULL};
    glint_buffer_append_text(&buffer, "kept");
    assert_false(glint_buffer_reserve(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    glint_buffer_append_text(&buffer, "lost");
    glint_buffer_printf(&buffer, "%d", 1);
    assert_string_equal(buffer.data, "kept");
    glint_buffer_clear(&buffer);
    glint_buffer_append_text(&buffer, "new");
    assert_string_equal(buffer.data, "new");
    glint_buffer_fini(&buffer);
}

static enum glint_status life(void *context, struct glint_error *err) {
    (void)context;
    struct glint_buffer buffer = {.data = NULL};
    for (int i = 0; i < 300; i++)
        glint_buffer_append_char(&buffer, 'x');
    glint_buffer_printf(&buffer, "%500d", 1);
    enum glint_status status = GLINT_OK;
    if (buffer.failed)
        status = glint_fail(err, GLINT_E_NOMEM, "buffer");
    glint_buffer_fini(&buffer);
    return status;
}

static void test_fault(void **state) {
    (void)state;
    assert_true(glint_fault_each(life, NULL) >= 4);
}

static void test_view(void **state) {
    (void)state;
    struct glint_view view = glint_view_of("abc");
    assert_true(glint_view_is(view, "abc"));
    assert_false(glint_view_is(view, "abcd"));
    assert_false(glint_view_is(view, "abd"));
    assert_true(glint_view_starts(view, "ab"));
    assert_true(glint_view_starts(view, ""));
    assert_false(glint_view_starts(view, "abcd"));
    struct glint_view none = {.data = NULL, .n = 0};
    assert_true(glint_view_equal(none, glint_view_of("")));
    assert_false(glint_view_equal(none, view));
    assert_true(glint_view_starts(none, ""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append), cmocka_unit_test(test_exact_capacity),
        cmocka_unit_test(test_printf), cmocka_unit_test(test_failure_sticks),
        cmocka_unit_test(test_fault),  cmocka_unit_test(test_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
