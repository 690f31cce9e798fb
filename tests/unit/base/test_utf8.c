// SPDX-License-Identifier: Apache-2.0
// test_utf8.c — every scalar value, every malformed start, the examples of Unicode 15.
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_round_trip(void **state) {
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        char text[GLINT_UTF8_MAX];
        unsigned n = glint_utf8_put(code, text);
        struct glint_utf8_step step = glint_utf8_next(text, n);
        if (!step.valid || step.code != code || step.n != n)
            fail_msg("U+%04X", code);
        // Every proper prefix asks for more.
        for (unsigned cut = 1; cut < n; cut++) {
            step = glint_utf8_next(text, cut);
            if (step.valid || !step.more || step.n != cut)
                fail_msg("U+%04X cut at %u", code, cut);
        }
    }
}

static void test_put_refuses(void **state) {
    (void)state;
    static const uint32_t bad[] = {0xd800, 0xdfff, 0x110000, 0xffffffff};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[GLINT_UTF8_MAX];
        assert_int_equal(glint_utf8_put(bad[i], text), 3);
        assert_memory_equal(text, "\xef\xbf\xbd", 3);
    }
}

// Counts what is well-formed among all strings of two and three bytes: with the definition of
// table 3-7 the numbers follow by hand.
static void test_counts(void **state) {
    (void)state;
    int n_two = 0, n_three = 0;
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            char text[3] = {(char)a, (char)b, 0};
            n_two += glint_utf8_next(text, 2).n == 2 && glint_utf8_next(text, 2).valid;
            for (int c = 0; c < 256; c++) {
                text[2] = (char)c;
                struct glint_utf8_step step = glint_utf8_next(text, 3);
                n_three += step.n == 3 && step.valid;
                assert_true(step.n >= 1 && step.n <= 3);
            }
        }
    }
    assert_int_equal(n_two, 0x800 - 0x80);
    assert_int_equal(n_three, 0x10000 - 0x800 - 0x800); // less the surrogates
}

static void test_end(void **state) {
    (void)state;
    struct glint_utf8_step step = glint_utf8_next(NULL, 0);
    assert_int_equal(step.n, 0);
    assert_false(step.valid);
    assert_false(step.more);
    assert_true(glint_utf8_is_valid(NULL, 0));
    assert_int_equal(glint_utf8_trim(NULL, 0), 0);
}

struct repair_case {
    const char *given, *expected;
};

#define R "\xef\xbf\xbd"
static const struct repair_case repair_cases[] = {
    {"", ""},
    {"plain", "plain"},
    {"caf\xc3\xa9", "caf\xc3\xa9"},
    // Tables 3-8 to 3-11 of the standard.
    {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "A"},
    {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", R R R R R R R R "A"},
    {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "A" R R "B"},
    {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A"},
    {"x\xe4\xb8", "x" R},
    {"\xf8\x88\x80\x80\x80", R R R R R},
};

static void test_repair(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof repair_cases / sizeof *repair_cases; i++) {
        struct glint_buffer out = {.data = NULL};
        const struct repair_case *c = &repair_cases[i];
        glint_utf8_repair(&out, c->given, strlen(c->given));
        assert_string_equal(out.data, c->expected);
        assert_int_equal(glint_utf8_is_valid(c->given, strlen(c->given)),
                         strcmp(c->given, c->expected) == 0);
        glint_buffer_fini(&out);
    }
}

static void test_trim(void **state) {
    (void)state;
    const char *text = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x99\x82";
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (size_t n = 0; n <= 10; n++)
        assert_int_equal(glint_utf8_trim(text, n), expected[n]);
    // What more bytes could not complete is not cut off.
    assert_int_equal(glint_utf8_trim("a\xff", 2), 2);
    assert_int_equal(glint_utf8_trim("\x80\x80\x80\x80", 4), 4);
}

static void test_copy(void **state) {
    (void)state;
    char out[5];
    glint_utf8_copy(out, sizeof out, "");
    assert_string_equal(out, "");
    glint_utf8_copy(out, sizeof out, "abcd");
    assert_string_equal(out, "abcd");
    glint_utf8_copy(out, sizeof out, "abcde");
    assert_string_equal(out, "abcd");
    glint_utf8_copy(out, sizeof out, "abc\xc3\xa9"); // the last character does not fit whole
    assert_string_equal(out, "abc");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_put_refuses),
        cmocka_unit_test(test_counts),     cmocka_unit_test(test_end),
        cmocka_unit_test(test_repair),     cmocka_unit_test(test_trim),
        cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
