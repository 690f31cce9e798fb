// SPDX-License-Identifier: Apache-2.0
// test_json_out.c — any bytes become a JSON string.
#include "json_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *bytes, size_t n, const char *json) {
    char *text = NULL;
    size_t n_text;
    FILE *out = open_memstream(&text, &n_text);
    assert_non_null(out);
    glint_json_out_string(out, bytes, n);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, json);
    free(text);
}

static void test_strings(void **state) {
    (void)state;
    expect("", 0, "\"\"");
    expect("a\"\\\n\x01\0b", 7, "\"a\\\"\\\\\\n\\u0001\\u0000b\"");
    expect("\xc3\xa4\xf0\x9f\x98\x80", 6, "\"\xc3\xa4\xf0\x9f\x98\x80\"");
    // Not UTF-8: a stray byte, a surrogate, a character cut off at the end.
    expect("a\xff"
           "b",
           3,
           "\"a\xef\xbf\xbd"
           "b\"");
    expect("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    expect("\xe2\x82", 2, "\"\xef\xbf\xbd\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
