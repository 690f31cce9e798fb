// SPDX-License-Identifier: Apache-2.0
// test_guard.c — keys and names of the loopback.
#include "server/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_keys(void **state) {
    static const char *const keys[] = {"alpha", "beta-longer", "b"};
    (void)state;
    assert_int_equal(glint_guard_find_key(keys, 3, "alpha"), 0);
    assert_int_equal(glint_guard_find_key(keys, 3, "beta-longer"), 1);
    assert_int_equal(glint_guard_find_key(keys, 3, "b"), 2);
    static const char *const wrong[] = {"",      "a",  "alph",       "alphaa",       "alphaalpha",
                                        "Alpha", "bb", "beta-longe", "beta-longerb", "alpha ",
                                        " alpha"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(glint_guard_find_key(keys, 3, wrong[i]), -1);
    static const char *const none[] = {""};
    assert_int_equal(glint_guard_find_key(none, 1, ""), -1);
    assert_int_equal(glint_guard_find_key(none, 1, "x"), -1);
    assert_int_equal(glint_guard_find_key(NULL, 0, "x"), -1);
}

static void test_bearer(void **state) {
    (void)state;
    assert_string_equal(glint_guard_bearer("Bearer key"), "key");
    assert_string_equal(glint_guard_bearer("bEARER   key"), "key");
    assert_string_equal(glint_guard_bearer("Bearer "), "");
    assert_null(glint_guard_bearer("Bearer"));
    assert_null(glint_guard_bearer("Basic Zm9v"));
    assert_null(glint_guard_bearer("key"));
    assert_null(glint_guard_bearer(""));
}

static void test_hosts(void **state) {
    static const char *const local[] = {"localhost",    "LocalHost:80", "127.0.0.1", "127.1.2.3:9",
                                        "[::1]",        "[::1]:8080",   "::1",       "a.localhost",
                                        "my.name:8080", "my.name"};
    static const char *const foreign[] = {"",
                                          "evil.example",
                                          "localhost.evil.example",
                                          "127.0.0.1.evil.example",
                                          "1.2.3.4",
                                          "[::2]",
                                          "[::1",
                                          "xlocalhost",
                                          ".localhost",
                                          ":80",
                                          "notmy.name"};
    (void)state;
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        assert_true(glint_guard_host_is_local(local[i], "my.name"));
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        assert_false(glint_guard_host_is_local(foreign[i], "my.name"));
    assert_false(glint_guard_host_is_local(NULL, "my.name"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys), cmocka_unit_test(test_bearer),
                                       cmocka_unit_test(test_hosts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
