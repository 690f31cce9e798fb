// SPDX-License-Identifier: Apache-2.0
// test_log.c — messages reach the callback; a missing callback is silence.
#include "base/log.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct heard {
    int n;
    enum glint_log_level level;
    char text[4000];
};

static void hear(void *context, enum glint_log_level level, const char *text) {
    struct heard *heard = context;
    heard->n++;
    heard->level = level;
    snprintf(heard->text, sizeof heard->text, "%s", text);
}

static void test_write(void **state) {
    (void)state;
    struct heard heard = {.n = 0};
    struct glint_log log = {.write = hear, .context = &heard};
    glint_log_printf(&log, GLINT_LOG_WARN, "%s %d", "value", 3);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.level, GLINT_LOG_WARN);
    assert_string_equal(heard.text, "value 3");
}

static void test_silent(void **state) {
    (void)state;
    struct glint_log log = {.write = NULL};
    glint_log_printf(&log, GLINT_LOG_ERROR, "x");
    glint_log_printf(NULL, GLINT_LOG_ERROR, "x");
}

static void test_long(void **state) {
    (void)state;
    struct heard heard = {.n = 0};
    struct glint_log log = {.write = hear, .context = &heard};
    char text[3001];
    for (size_t i = 0; i < 3000; i += 3)
        memcpy(text + i, "\xe4\xb8\xad", 3);
    text[3000] = 0;
    glint_log_printf(&log, GLINT_LOG_INFO, "%s", text);
    size_t n = strlen(heard.text);
    assert_true(n > 2000 && n < 2048);
    assert_true(glint_utf8_is_valid(heard.text, n));
}

static void test_clock(void **state) {
    (void)state;
    double before = glint_clock_ms();
    for (int i = 0; i < 1000; i++) {
        double now = glint_clock_ms();
        assert_true(now >= before);
        before = now;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
