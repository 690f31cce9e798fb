// SPDX-License-Identifier: Apache-2.0
// test_spelling.c — which name a misspelt word is taken for, and when none is near.
#include "spelling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"m",    "np",   "chat",   "run",    "temp",  "temperature",
                                    "seed", "stop", "system", "effort", "top-k", "top-p"};

static const char *guess(const char *word) {
    struct glint_spelling spelling = {.word = word, .n = strlen(word)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        glint_spelling_offer(&spelling, names[i]);
    return spelling.nearest;
}

static void test_near(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"chatt", "chat"},   {"caht", "chat"},    {"temprature", "temperature"},
        {"seeed", "seed"},   {"efort", "effort"}, {"rum", "run"},
        {"sytem", "system"}, {"top-kk", "top-k"}, {"n", "np"},
        {"stop", "stop"},    {"top", "top-k"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = guess(cases[i][0]);
        if (!found || strcmp(found, cases[i][1]) != 0)
            fail_msg("%s: found %s, expected %s", cases[i][0], found ? found : "none", cases[i][1]);
    }
}

static void test_far(void **state) {
    (void)state;
    static const char *const cases[] = {"", "x", "verbose", "zz",
                                        "a-word-that-is-longer-than-all-names-we-have-here-by-far"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (guess(cases[i]))
            fail_msg("%s: found %s, expected none", cases[i], guess(cases[i]));
}

// Only the first n bytes count: "--tmep=1".
static void test_not_terminated(void **state) {
    (void)state;
    struct glint_spelling spelling = {.word = "tmp=1", .n = 3};
    glint_spelling_offer(&spelling, "temp");
    assert_string_equal(spelling.nearest, "temp");
    assert_int_equal(spelling.n_edit, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_not_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
