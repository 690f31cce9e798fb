// SPDX-License-Identifier: Apache-2.0
// test_json.c — what the reader takes and refuses, and how values are looked up.
#include "base/alloc.h"
#include "fault.h"
#include "format/json_write.h"
#include "unit/format/scratch.h"

#include <math.h>

static struct glint_json_doc *parse(const char *text) {
    struct glint_json_doc *doc;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_json_parse(&doc, glint_view_of(text), NULL, &err) != GLINT_OK)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static void assert_refused(const char *text, size_t n, const char *message) {
    struct glint_json_doc *doc;
    struct glint_error err = {.status = GLINT_OK};
    struct glint_view view = {text, n};
    if (glint_json_parse(&doc, view, NULL, &err) != GLINT_E_FORMAT)
        fail_msg("%.*s: was taken", (int)n, text);
    assert_null(doc);
    if (!strstr(err.text, message))
        fail_msg("%.*s: found \"%s\", expected \"%s\"", (int)n, text, err.text, message);
}

static void test_kinds(void **state) {
    (void)state;
    struct glint_json_doc *doc =
        parse(" { \"a\" : [ 1 , -2.5e+3, true,false , null ] , \"\":\"x\\u0000y\" , \"o\":{} }\n");
    const struct glint_json *root = glint_json_root(doc);
    assert_true(glint_json_is(root, GLINT_JSON_OBJECT));
    assert_int_equal(root->n, 3);
    const struct glint_json *a = glint_json_get(root, "a");
    assert_int_equal(a->n, 5);
    int64_t whole;
    double number;
    bool truth;
    assert_true(glint_json_to_i64(glint_json_at(a, 0), &whole) && whole == 1);
    assert_true(glint_json_to_double(glint_json_at(a, 1), &number) && number == -2500);
    assert_true(glint_json_to_i64(glint_json_at(a, 1), &whole) && whole == -2500);
    assert_true(glint_json_to_bool(glint_json_at(a, 2), &truth) && truth);
    assert_true(glint_json_to_bool(glint_json_at(a, 3), &truth) && !truth);
    assert_true(glint_json_is(glint_json_at(a, 4), GLINT_JSON_NULL));
    assert_null(glint_json_at(a, 5));
    const struct glint_json *empty = glint_json_get(root, "");
    assert_int_equal(empty->text.n, 3);
    assert_memory_equal(empty->text.data, "x\0y", 4);
    assert_int_equal(glint_json_get(root, "o")->n, 0);
    // Lookups in nothing give nothing.
    assert_null(glint_json_get(glint_json_get(root, "absent"), "deeper"));
    assert_null(glint_json_get(a, "not an object"));
    assert_null(glint_json_first(NULL));
    assert_false(glint_json_to_i64(NULL, &whole));
    assert_string_equal(glint_json_kind_name(NULL), "nothing");
    glint_json_close(&doc);
    assert_null(doc);
}

static void test_duplicate_keys(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\": 3, \"b\": 2}"},
        {"{\"a\":1,\"a\":[2],\"a\":{\"x\":1,\"x\":2},\"b\":0}", "{\"a\": {\"x\": 2}, \"b\": 0}"},
        {"{\"b\":0,\"a\":1,\"c\":9,\"a\":\"t\"}", "{\"b\": 0, \"a\": \"t\", \"c\": 9}"},
        {"{\"a\":1,\"\\u0061\":2,\"ab\":3,\"\":4,\"\":5}", "{\"a\": 2, \"ab\": 3, \"\": 5}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_json_doc *doc = parse(cases[i][0]);
        struct glint_buffer out = {.data = NULL};
        glint_json_put_value(&out, glint_json_root(doc), GLINT_JSON_PYTHON);
        assert_string_equal(out.data, cases[i][1]);
        glint_buffer_fini(&out);
        glint_json_close(&doc);
    }
    // Many: more than the small array of the reader, each key three times.
    struct glint_buffer text = {.data = NULL};
    for (int i = 0; i < 3000; i++)
        glint_buffer_printf(&text, "%c\"k%d\":%d", i ? ',' : '{', i % 1000, i);
    glint_buffer_append_char(&text, '}');
    struct glint_json_doc *doc = parse(text.data);
    const struct glint_json *root = glint_json_root(doc);
    assert_int_equal(root->n, 1000);
    int n = 0;
    for (const struct glint_json *m = root->child; m; m = m->next, n++) {
        int64_t value;
        assert_true(glint_json_to_i64(m, &value));
        assert_int_equal(value, 2000 + n);
    }
    assert_int_equal(n, 1000);
    glint_json_close(&doc);
    glint_buffer_fini(&text);
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "expected"},
        {" ", "expected"},
        {"[", "expected"},
        {"[1", "expected , or ]"},
        {"[1,", "expected"},
        {"[1,]", "expected a value"},
        {"[,1]", "expected a value"},
        {"[1 2]", "expected , or ]"},
        {"{\"a\"}", "expected a colon"},
        {"{\"a\":}", "expected a value"},
        {"{a:1}", "expected a key"},
        {"{\"a\":1,}", "expected a key"},
        {"{\"a\":1]", "expected , or }"},
        {"1 2", "nothing more"},
        {"[]]", "nothing more"},
        {"nul", "expected a value"},
        {"True", "expected a value"},
        {"NaN", "expected a value"},
        {"Infinity", "expected a value"},
        {"-", "expected a digit"},
        {"+1", "expected a value"},
        {"01", "start with 0"},
        {"-01", "start with 0"},
        {"00", "start with 0"},
        {"1.", "after the decimal point"},
        {".5", "expected a value"},
        {"1e", "in the exponent"},
        {"1e+", "in the exponent"},
        {"0x10", "nothing more"},
        {"'a'", "expected a value"},
        {"\"a", "inside a string"},
        {"\"a\\", "after a backslash"},
        {"\"\\x\"", "after a backslash"},
        {"\"\\u12\"", "four hexadecimal"},
        {"\"\\u12g4\"", "four hexadecimal"},
        {"\"\\ud800\"", "surrogate"},
        {"\"\\ud800x\"", "surrogate"},
        {"\"\\ud800\\u0041\"", "surrogate"},
        {"\"\\udc00\"", "surrogate"},
        {"\"a\nb\"", "control character"},
        {"\"\xff\"", "not valid UTF-8"},
        {"\"\xc0\x80\"", "not valid UTF-8"},
        {"\"\xed\xa0\x80\"", "not valid UTF-8"},
        {"\"\xe2\x82\"", "not valid UTF-8"},
        {"// c\n1", "expected a value"},
        {"\xef\xbb\xbf{}", "expected a value"},
        {"{\n\"a\": [1,\n  x]}", "line 3, byte 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i][0], strlen(cases[i][0]), cases[i][1]);
    assert_refused("1\0", 2, "nothing more");
    assert_refused("[\0]", 3, "expected a value");
}

static void test_strings(void **state) {
    (void)state;
    struct glint_json_doc *doc =
        parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude42\xe2\x82\xac\"");
    const struct glint_json *root = glint_json_root(doc);
    assert_string_equal(root->text.data, "\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x99\x82\xe2\x82\xac");
    assert_true(glint_json_is_text(root, root->text.data));
    glint_json_close(&doc);
    // Lone surrogates, repaired on request: each is one U+FFFD.
    const struct glint_json_options options = {.repair_surrogates = true};
    struct glint_view text = glint_view_of("\"a\\ud800\\ud83d\\ude42\\udc00b\\ud800\\u0041\\ud8\"");
    assert_int_equal(glint_json_parse(&doc, text, &options, NULL), GLINT_E_FORMAT);
    text = glint_view_of("\"a\\ud800\\ud83d\\ude42\\udc00b\\ud800\\u0041\"");
    assert_int_equal(glint_json_parse(&doc, text, &options, NULL), GLINT_OK);
    assert_string_equal(glint_json_root(doc)->text.data, "a\xef\xbf\xbd\xf0\x9f\x99\x82\xef\xbf\xbd"
                                                         "b\xef\xbf\xbd"
                                                         "A");
    glint_json_close(&doc);
}

static void test_integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool i64, u64;
        int64_t i;
        uint64_t u;
    } cases[] = {
        {"0", true, true, 0, 0},
        {"-0", true, true, 0, 0},
        {"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
        {"9223372036854775808", false, true, 0, UINT64_C(1) << 63},
        {"-9223372036854775808", true, false, INT64_MIN, 0},
        {"-9223372036854775809", false, false, 0, 0},
        {"18446744073709551615", false, true, 0, UINT64_MAX},
        {"18446744073709551616", false, false, 0, 0},
        {"123456789012345678901234567890", false, false, 0, 0},
        {"2.0", true, true, 2, 2},
        {"1e3", true, true, 1000, 1000},
        {"-1e0", true, false, -1, 0},
        {"2.5", false, false, 0, 0},
        {"1e300", false, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_json_doc *doc = parse(cases[i].text);
        int64_t whole = 0;
        uint64_t natural = 0;
        assert_int_equal(glint_json_to_i64(glint_json_root(doc), &whole), cases[i].i64);
        assert_int_equal(glint_json_to_u64(glint_json_root(doc), &natural), cases[i].u64);
        if (cases[i].i64)
            assert_true(whole == cases[i].i);
        if (cases[i].u64)
            assert_true(natural == cases[i].u);
        glint_json_close(&doc);
    }
}

static void test_depth(void **state) {
    (void)state;
    char text[2 * GLINT_JSON_MAX_DEPTH + 3];
    struct glint_json_doc *doc;
    struct glint_error err;
    for (int depth = GLINT_JSON_MAX_DEPTH; depth <= GLINT_JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        struct glint_view view = {text, 2 * (size_t)depth};
        bool good = depth == GLINT_JSON_MAX_DEPTH;
        assert_int_equal(glint_json_parse(&doc, view, NULL, &err), good ? GLINT_OK : GLINT_E_LIMIT);
        if (!good)
            continue;
        struct glint_buffer out = {.data = NULL};
        glint_json_put_value(&out, glint_json_root(doc), GLINT_JSON_COMPACT);
        assert_int_equal(out.n, view.n);
        assert_memory_equal(out.data, text, view.n);
        glint_buffer_fini(&out);
        glint_json_close(&doc);
    }
    const struct glint_json_options options = {.max_depth = 2, .name = "request"};
    assert_int_equal(glint_json_parse(&doc, glint_view_of("[[[]]]"), &options, &err),
                     GLINT_E_LIMIT);
    assert_string_equal(err.text, "request: line 1, byte 3: nested too deeply");
    assert_int_equal(glint_json_parse(&doc, glint_view_of("[[],[]]"), &options, &err), GLINT_OK);
    glint_json_close(&doc);
}

static const char sample[] =
    "{\"a\": [1, -0, 2.5e-7, \"t\\u00e9xt \\ud83d\\ude42\", {\"k\": null, \"k\": [true, false]}],"
    " \"\\\"q\": {}, \"long\": 123456789012345678901234567890}";

static void test_every_prefix_is_refused(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof sample - 1; n++) {
        char *exact = malloc(n + 1); // the sanitizer sees reads past the prefix
        assert_non_null(exact);
        memcpy(exact, sample, n);
        struct glint_json_doc *doc;
        assert_int_equal(glint_json_parse(&doc, (struct glint_view){exact, n}, NULL, NULL),
                         GLINT_E_FORMAT);
        free(exact);
    }
}

static void test_mutations(void **state) {
    (void)state;
    uint64_t random = 7;
    int n_good = 0;
    for (int i = 0; i < 10000; i++) {
        uint8_t text[sizeof sample];
        memcpy(text, sample, sizeof sample);
        size_t n = scratch_mutate(text, sizeof sample - 1, &random);
        char *exact = malloc(n + 1);
        assert_non_null(exact);
        memcpy(exact, text, n);
        struct glint_json_doc *doc;
        struct glint_error err = {.status = GLINT_OK};
        struct glint_view view = {exact, n};
        if (glint_json_parse(&doc, view, NULL, &err) == GLINT_OK) {
            n_good++;
            struct glint_buffer out = {.data = NULL};
            glint_json_put_value(&out, glint_json_root(doc), GLINT_JSON_PYTHON);
            assert_false(out.failed);
            glint_buffer_fini(&out);
            glint_json_close(&doc);
        } else {
            assert_true(err.text[0] != 0);
        }
        free(exact);
    }
    assert_in_range(n_good, 100, 9900); // the changes must neither all pass nor all fail
}

static enum glint_status parse_sample(void *context, struct glint_error *err) {
    (void)context;
    struct glint_json_doc *doc;
    GLINT_TRY(glint_json_parse(&doc, glint_view_of(sample), NULL, err));
    glint_json_close(&doc);
    return GLINT_OK;
}

static void test_each_allocation_failing(void **state) {
    (void)state;
    assert_int_equal(glint_fault_each(parse_sample, NULL), 1);
}

static void test_load(void **state) {
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    const char *path = scratch_path(&scratch, "a.json");
    struct glint_json_doc *doc;
    struct glint_error err;
    assert_int_equal(glint_json_load(&doc, path, 100, &err), GLINT_E_NOTFOUND);
    scratch_write(path, "[1]", 3);
    assert_int_equal(glint_json_load(&doc, path, 3, &err), GLINT_OK);
    assert_int_equal(glint_json_root(doc)->n, 1);
    glint_json_close(&doc);
    assert_int_equal(glint_json_load(&doc, path, 2, &err), GLINT_E_LIMIT);
    assert_non_null(strstr(err.text, "a.json: found 3 bytes, expected at most 2"));
    scratch_write(path, "", 0);
    assert_int_equal(glint_json_load(&doc, path, 3, &err), GLINT_E_FORMAT);
    scratch_close(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_duplicate_keys),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_each_allocation_failing),
        cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
