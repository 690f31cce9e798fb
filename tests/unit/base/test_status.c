// SPDX-License-Identifier: Apache-2.0
// test_status.c — texts, forwarding, cutting.
#include "base/status.h"

#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_names(void **state) {
    (void)state;
    assert_string_equal(glint_status_name(GLINT_OK), "ok");
    assert_string_equal(glint_status_name(GLINT_E_FORMAT), "format");
    for (int a = 0; a <= GLINT_E_INTERNAL; a++) {
        assert_string_not_equal(glint_status_name((enum glint_status)a), "unknown");
        for (int b = 0; b < a; b++)
            assert_string_not_equal(glint_status_name((enum glint_status)a),
                                    glint_status_name((enum glint_status)b));
    }
    assert_string_equal(glint_status_name((enum glint_status)99), "unknown");
}

static void test_fail(void **state) {
    (void)state;
    struct glint_error err = {.status = GLINT_OK};
    assert_int_equal(glint_fail(&err, GLINT_E_IO, "%s: found %d, expected %d", "a.gguf", 1, 2),
                     GLINT_E_IO);
    assert_int_equal(err.status, GLINT_E_IO);
    assert_string_equal(err.text, "a.gguf: found 1, expected 2");
    assert_int_equal(glint_fail(NULL, GLINT_E_IO, "x"), GLINT_E_IO);
}

static void test_fail_with_its_own_text(void **state) {
    (void)state;
    struct glint_error err = {.status = GLINT_OK};
    glint_fail(&err, GLINT_E_IO, "inner");
    glint_fail(&err, GLINT_E_FORMAT, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
    assert_int_equal(err.status, GLINT_E_FORMAT);
}

static void test_fail_in(void **state) {
    (void)state;
    struct glint_error err = {.status = GLINT_OK};
    glint_fail(&err, GLINT_E_NOMEM, "inner");
    assert_int_equal(glint_fail_in(&err, GLINT_E_FORMAT, "file %s", "a"), GLINT_E_NOMEM);
    assert_string_equal(err.text, "file a: inner");
    assert_int_equal(glint_fail_in(NULL, GLINT_E_FORMAT, "file"), GLINT_E_FORMAT);
    struct glint_error empty = {.status = GLINT_OK};
    assert_int_equal(glint_fail_in(&empty, GLINT_E_FORMAT, "file"), GLINT_E_FORMAT);
}

// A name out of a file does not steer the terminal.
static void test_control_characters(void **state) {
    (void)state;
    struct glint_error err = {.status = GLINT_OK};
    glint_fail(&err, GLINT_E_FORMAT, "tensor %s: \xc3\xa4", "\x1b[2J\ta\x7f\r");
    assert_string_equal(err.text, "tensor ?[2J?a??: \xc3\xa4");
}

static void test_long_text(void **state) {
    (void)state;
    // 'x' and then two-byte characters: a plain cut at 999 bytes would halve one for one of the
    // two starts.
    for (int start = 0; start < 2; start++) {
        char text[3000] = "x";
        size_t n = (size_t)start;
        while (n + 2 < sizeof text) {
            text[n++] = (char)0xc3;
            text[n++] = (char)0xa9;
        }
        text[n] = 0;
        struct glint_error err = {.status = GLINT_OK};
        glint_fail(&err, GLINT_E_IO, "%s", text);
        assert_true(strlen(err.text) >= sizeof err.text - 2);
        assert_true(glint_utf8_is_valid(err.text, strlen(err.text)));
        glint_fail_in(&err, GLINT_E_IO, "%s", text);
        assert_true(glint_utf8_is_valid(err.text, strlen(err.text)));
        glint_fail_in(&err, GLINT_E_IO, "short");
        assert_memory_equal(err.text, "short: ", 7);
        assert_true(glint_utf8_is_valid(err.text, strlen(err.text)));
    }
}

static enum glint_status forwards(enum glint_status inner) {
    GLINT_TRY(inner);
    return GLINT_E_BUSY;
}

static void test_try(void **state) {
    (void)state;
    assert_int_equal(forwards(GLINT_OK), GLINT_E_BUSY);
    assert_int_equal(forwards(GLINT_E_IO), GLINT_E_IO);
}

#ifdef NDEBUG
static enum glint_status requires(int n, struct glint_error *err) {
    GLINT_REQUIRE(n > 0, err); return GLINT_OK;
}

static void test_require(void **state) {
    (void)state;
    struct glint_error err = {.status = GLINT_OK};
    assert_int_equal(requires(1, &err), GLINT_OK);
    assert_int_equal(requires(0, &err), GLINT_E_ARG);
    assert_non_null(strstr(err.text, "n > 0"));
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_fail_with_its_own_text),
        cmocka_unit_test(test_fail_in),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_try),
#ifdef NDEBUG
        cmocka_unit_test(test_require),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
