// SPDX-License-Identifier: Apache-2.0
// test_data_url.c — base64 in the spellings that clients send, and what is none.
#include "server/data_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static enum glint_status read_text(const char *text, struct glint_buffer *out) {
    struct glint_error error = {.status = GLINT_OK};
    glint_buffer_clear(out);
    enum glint_status status = glint_base64_read(out, glint_view_of(text), "p", &error);
    if (status != GLINT_OK)
        assert_memory_equal(error.text, "p: ", 3);
    return status;
}

static void test_base64(void **state) {
    (void)state;
    static const char *const good[][2] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
        {"Zg", "f"},
        {"Zm8", "fo"},
        {" Z m\t9\r\nv ", "foo"},
        {"Zm9vYg=\n=\n", "foob"},
        {"Zm9vYg%3D%3d", "foob"},
        {"+/-_", "\xfb\xff\xbf"},
        {"%2B%2f-_", "\xfb\xff\xbf"},
    };
    static const char *const bad[] = {"Z",  "Zm9vY", "Zm9v!",      "Zg==Zg==", "Z=g", "Zm9v%",
                                      "%2", "%zz9v", "Zm\xc3\xa9", "Zm9v.",    "=Zm9"};
    struct glint_buffer out = {.data = NULL};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(read_text(good[i][0], &out), GLINT_OK);
        assert_int_equal(out.n, strlen(good[i][1]));
        assert_memory_equal(out.data, good[i][1], out.n);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(read_text(bad[i], &out), GLINT_E_FORMAT);
    glint_buffer_fini(&out);
}

// All bytes, in every remainder of three, there and back.
static void test_all_bytes(void **state) {
    (void)state;
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct glint_buffer out = {.data = NULL}, text = {.data = NULL};
    for (unsigned n = 254; n <= 256; n++) {
        glint_buffer_clear(&text);
        for (unsigned i = 0; i < n; i += 3) {
            unsigned left = n - i, bits = i << 16 | (left > 1 ? (i + 1) << 8 : 0);
            bits |= left > 2 ? i + 2 : 0;
            for (unsigned k = 0; k < 4 && k <= left; k++)
                glint_buffer_append_char(&text, letters[bits >> (18 - 6 * k) & 63]);
        }
        assert_int_equal(read_text(text.data, &out), GLINT_OK);
        assert_int_equal(out.n, n);
        for (unsigned i = 0; i < n; i++)
            assert_int_equal((uint8_t)out.data[i], i);
    }
    glint_buffer_fini(&text);
    glint_buffer_fini(&out);
}

static void test_urls(void **state) {
    (void)state;
    static const char *const good[][2] = {
        {"data:image/png;base64,Zg==", "Zg=="},
        {"data:;base64,", ""},
        {"DATA:text/plain;charset=a;BASE64,x,y", "x,y"},
        {"data:image/png;base64 ,Zg", "Zg"},
    };
    static const char *const bad[] = {"",
                                      "data:",
                                      "data:,x",
                                      "data:base64,x",
                                      ";base64,",
                                      "data;base64,x",
                                      "data:image/png;base64",
                                      "x"};
    struct glint_view text;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(glint_data_url_split(glint_view_of(good[i][0]), &text));
        assert_true(glint_view_is(text, good[i][1]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(glint_data_url_split(glint_view_of(bad[i]), &text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_all_bytes),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
