// SPDX-License-Identifier: Apache-2.0
// test_json_write.c — the spelling of Python's json.dumps, number by number, and the writer.
#include "format/json_write.h"
#include "unit/format/scratch.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static void assert_double(double value, const char *expected) {
    struct glint_buffer out = {.data = NULL};
    glint_json_put_double(&out, value, false);
    assert_string_equal(out.data, expected);
    glint_buffer_fini(&out);
}

// data/json_scalars.jsonl: {"json": text, "bare": ..., "tojson": ...} a line.
static void check_scalar(struct glint_view line) {
    struct glint_json_doc *doc, *inner;
    struct glint_error err;
    if (glint_json_parse(&doc, line, NULL, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    const struct glint_json *root = glint_json_root(doc);
    struct glint_view text = glint_json_get(root, "json")->text;
    if (glint_json_parse(&inner, text, NULL, &err) != GLINT_OK)
        fail_msg("%s: %s", text.data, err.text);
    const struct glint_json *value = glint_json_root(inner);
    struct glint_buffer out = {.data = NULL};
    glint_json_put_value(&out, value, GLINT_JSON_PYTHON);
    assert_string_equal(out.data, glint_json_get(root, "tojson")->text.data);
    if (value->kind == GLINT_JSON_NUMBER) {
        glint_buffer_clear(&out);
        glint_json_put_number(&out, value, true);
        assert_string_equal(out.data, glint_json_get(root, "bare")->text.data);
    }
    glint_buffer_fini(&out);
    glint_json_close(&inner);
    glint_json_close(&doc);
}

static void test_scalars_fixture(void **state) {
    (void)state;
    size_t n, n_lines = 0;
    char *text = (char *)scratch_read("data/json_scalars.jsonl", &n);
    for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1, n_lines++)
        check_scalar((struct glint_view){at, (size_t)(end - at)});
    assert_int_equal(n_lines, 68);
    free(text);
}

static void test_doubles(void **state) {
    (void)state;
    assert_double(0x1p-44, "5.684341886080802e-14"); // nearest 16 digits would not read back
    assert_double(0x1p-1074, "5e-324");
    assert_double(9.5367431640625e-07, "9.5367431640625e-07");
    assert_double(9007199254740993.0, "9007199254740992.0");
    assert_double(1e16, "1e+16");
    assert_double(123456789012345680.0, "1.2345678901234568e+17");
    assert_double(DBL_MAX, "1.7976931348623157e+308");
    assert_double(-HUGE_VAL, "-Infinity");
    assert_double(NAN, "NaN");
}

// Shortest means: reads back, and one digit less does not.
static void test_doubles_read_back(void **state) {
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 60000; i++) {
        uint64_t bits = scratch_random(&random);
        if (i % 3 == 0)
            bits &= UINT64_C(0xfff0000000000000); // powers of two
        if (i % 3 == 1)
            bits &= UINT64_C(0x800fffffffffffff) >> (i % 50); // subnormals
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        struct glint_buffer out = {.data = NULL};
        glint_json_put_double(&out, value, false);
        double again = glint_json_parse_double((struct glint_view){out.data, out.n});
        if (memcmp(&again, &value, sizeof value) != 0)
            fail_msg("%a became %s", value, out.data);
        glint_buffer_fini(&out);
    }
}

static void test_parse_double(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0.0},
        {"0.000", 0.0},
        {"1", 1.0},
        {"0.1", 0.1},
        {"1.5e3", 1500.0},
        {"1E-2", 0.01},
        {"0.00001e5", 1.0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"1e400", HUGE_VAL},
        {"1e-400", 0.0},
        {"1e99999999999999999999", HUGE_VAL},
        {"1e-99999999999999999999", 0.0},
        {"0e99999999999999999999", 0.0},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"1.7976931348623158e308", DBL_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(glint_json_parse_double(glint_view_of(cases[i].text)) == cases[i].value);
    assert_true(signbit(glint_json_parse_double(glint_view_of("-0.0"))));
    // 2^53 + 1 is a tie and goes to even; a digit 2,000 places later breaks the tie.
    char text[2100];
    int n = snprintf(text, sizeof text, "9007199254740993.%02000d", 0);
    assert_true(glint_json_parse_double((struct glint_view){text, (size_t)n}) == 0x1p53);
    text[n - 1] = '1';
    assert_true(glint_json_parse_double((struct glint_view){text, (size_t)n}) == 0x1p53 + 2);
}

// The decimal point of the locale must not matter. Skipped where no such locale is installed.
static void test_locale(void **state) {
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        skip();
    assert_double(1.5, "1.5");
    assert_double(1e-9, "1e-09");
    assert_true(glint_json_parse_double(glint_view_of("2.5e-1")) == 0.25);
    setlocale(LC_NUMERIC, "C");
}

static void build(struct glint_json_writer *writer) {
    glint_json_begin_object(writer);
    glint_json_key(writer, "a");
    glint_json_begin_array(writer);
    glint_json_i64(writer, INT64_MIN);
    glint_json_u64(writer, UINT64_MAX);
    glint_json_double(writer, 0.5);
    glint_json_double(writer, NAN);
    glint_json_begin_object(writer);
    glint_json_end_object(writer);
    glint_json_text(writer, "x\n\x01\x7f/");
    glint_json_end_array(writer);
    glint_json_key(writer, "b");
    glint_json_bool(writer, true);
    glint_json_key(writer, "\"");
    glint_json_null(writer);
    glint_json_end_object(writer);
}

static void test_writer(void **state) {
    (void)state;
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer writer = {.out = &out, .style = GLINT_JSON_PYTHON};
    build(&writer);
    assert_string_equal(out.data, "{\"a\": [-9223372036854775808, 18446744073709551615, 0.5, null, "
                                  "{}, \"x\\n\\u0001\x7f/\"], \"b\": true, \"\\\"\": null}");
    glint_buffer_clear(&out);
    writer = (struct glint_json_writer){.out = &out, .style = GLINT_JSON_COMPACT};
    build(&writer);
    assert_string_equal(out.data, "{\"a\":[-9223372036854775808,18446744073709551615,0.5,null,{},"
                                  "\"x\\n\\u0001\x7f/\"],\"b\":true,\"\\\"\":null}");
    glint_buffer_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_fixture),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_doubles_read_back),
        cmocka_unit_test(test_parse_double),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
