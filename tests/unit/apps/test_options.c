// SPDX-License-Identifier: Apache-2.0
// test_options.c — the forms of options that users type, and what is refused.
#include "options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct glint_option table[] = {
    {1, {"m", "model"}, "FILE", "a file"},
    {2, {"md", "model-draft"}, "FILE", "another\nin two lines"},
    {3, {"q", "quiet"}, NULL, "a switch"},
    {4, {"n", "predict"}, "N", "a number"},
    {0},
};
static const struct glint_command command = {"test", "...", "Tests.", table};

enum { MAX_ARGS = 8 };

struct line {
    char *argv[MAX_ARGS + 1];
    int argc;
};

static struct line line_of(const char *first, ...) {
    struct line line = {.argc = 0};
    va_list args;
    line.argv[line.argc++] = (char *)(uintptr_t) "test";
    va_start(args, first);
    for (const char *arg = first; arg && line.argc < MAX_ARGS; arg = va_arg(args, const char *))
        line.argv[line.argc++] = (char *)(uintptr_t)arg;
    va_end(args);
    return line;
}

static void test_forms(void **state) {
    (void)state;
    static const char *const models[][2] = {
        {"-m", "a"}, {"--model", "a"}, {"-model", "a"}, {"--model=a", NULL}, {"-m=a", NULL}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct line line = line_of(models[i][0], models[i][1], NULL);
        struct glint_options options;
        glint_options_init(&options, &command, line.argc, line.argv);
        assert_int_equal(glint_options_next(&options), 1);
        assert_string_equal(options.value, "a");
        assert_int_equal(glint_options_next(&options), GLINT_OPTIONS_END);
        assert_int_equal(options.argc, 0);
    }
}

static void test_mixed_with_operands(void **state) {
    (void)state;
    struct line line = line_of("one", "-md", "d", "-q", "two", "--", "-q", NULL);
    struct glint_options options;
    glint_options_init(&options, &command, line.argc, line.argv);
    options.max_operands = 3;
    assert_int_equal(glint_options_next(&options), 2);
    assert_string_equal(options.value, "d");
    assert_int_equal(glint_options_next(&options), 3);
    assert_int_equal(glint_options_next(&options), GLINT_OPTIONS_END);
    assert_int_equal(options.argc, 3);
    assert_string_equal(options.argv[0], "one");
    assert_string_equal(options.argv[2], "-q");
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const bad[] = {"-x", "--modell", "-m", "-q=1", "--mod-el"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct line line = line_of(bad[i], NULL);
        struct glint_options options;
        glint_options_init(&options, &command, line.argc, line.argv);
        int result = glint_options_next(&options);
        assert_int_equal(result, GLINT_OPTIONS_BAD);
        assert_int_equal(glint_options_exit(result), GLINT_EXIT_USAGE);
    }
    struct line line = line_of("--help", NULL);
    struct glint_options options;
    glint_options_init(&options, &command, line.argc, line.argv);
    int result = glint_options_next(&options);
    assert_int_equal(result, GLINT_OPTIONS_HELP);
    assert_int_equal(glint_options_exit(result), GLINT_EXIT_OK);
}

static void test_too_many_operands(void **state) {
    (void)state;
    struct line line = line_of("one", "two", "-q", "three", "four", NULL);
    struct glint_options options;
    glint_options_init(&options, &command, line.argc, line.argv);
    options.max_operands = 3;
    assert_int_equal(glint_options_next(&options), 3);
    assert_int_equal(glint_options_next(&options), GLINT_OPTIONS_BAD);
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"5", true},   {"-3", true},   {"10", true},
                 {"11", false}, {"-4", false},  {"5x", false},
                 {"", false},   {"1.5", false}, {"99999999999999999999", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct line line = line_of("-n", cases[i].text, NULL);
        struct glint_options options;
        int64_t whole;
        double number;
        glint_options_init(&options, &command, line.argc, line.argv);
        assert_int_equal(glint_options_next(&options), 4);
        assert_int_equal(glint_options_int(&options, -3, 10, &whole), cases[i].good);
        assert_int_equal(glint_options_double(&options, -3, 10, &number),
                         cases[i].good || strcmp(cases[i].text, "1.5") == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),    cmocka_unit_test(test_mixed_with_operands),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_too_many_operands),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
