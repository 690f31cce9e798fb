// SPDX-License-Identifier: Apache-2.0
// test_call_memory.c — turns are found by their calls' ids however the JSON is spelled, and only
// when they say the same; the oldest go first; a conversation keeps its date.
#include "server/call_memory.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const char calls[] =
    "[{\"id\":\"aB3\",\"name\":\"f\",\"arguments\":{\"x\":1.50,\"y\":[true,null,\"z\"]}},"
    "{\"id\":\"cD4\",\"name\":\"g\",\"arguments\":{}}]";
static const int32_t turn_ids[] = {7, 8, 9};

static struct glint_call_memory *open_memory(size_t max_bytes) {
    struct glint_call_memory *memory;
    assert_int_equal(glint_call_memory_open(&memory, max_bytes, NULL), GLINT_OK);
    return memory;
}

static struct glint_json_doc *parse(const char *text) {
    struct glint_json_doc *doc;
    struct glint_error error;
    if (glint_json_parse(&doc, glint_view_of(text), NULL, &error) != GLINT_OK)
        fail_msg("%s", error.text);
    return doc;
}

static bool finds(struct glint_call_memory *memory, uint64_t tenant, const char *message) {
    struct glint_json_doc *doc = parse(message);
    struct glint_ids ids;
    bool found = glint_call_memory_find(memory, tenant, glint_json_root(doc), &ids);
    if (found) {
        assert_int_equal(ids.n, 3);
        assert_memory_equal(ids.data, turn_ids, sizeof turn_ids);
    }
    glint_ids_free(&ids);
    glint_json_close(&doc);
    return found;
}

#define CALLS(FIRST, SECOND)                                                                       \
    "\"tool_calls\":[{\"id\":\"call_aB3\",\"function\":{\"name\":\"f\",\"arguments\":" FIRST "}}," \
    "{\"id\":\"call_cD4\",\"function\":{\"name\":\"g\",\"arguments\":" SECOND "}}]}"

static void test_spellings(void **state) {
    (void)state;
    static const struct {
        const char *message;
        bool found;
    } cases[] = {
        {"{\"content\":\"hello\"," CALLS("{\"x\":1.50,\"y\":[true,null,\"z\"]}", "{}"), true},
        {"{\"content\":null," CALLS("\"{\\\"y\\\": [true, null, \\\"z\\\"],  \\\"x\\\": 1.5}\"",
                                    "\"{}\""),
         true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"hel\"},{\"text\":\"lo\"}]," CALLS(
             "{\"x\":15e-1,\"y\":[true,null,\"z\"]}", "{}"),
         true},
        {"{" CALLS("{\"x\":1.50,\"y\":[true,null,\"z\"]}", "{}"), true},
        {"{\"content\":\"\"," CALLS("{\"x\":1.50,\"y\":[true,null,\"z\"]}", "{}"), true},
        {"{\"content\":\"hello!\"," CALLS("{\"x\":1.50,\"y\":[true,null,\"z\"]}", "{}"), false},
        {"{\"content\":[{\"text\":\"hel\"}]," CALLS("{\"x\":1.50,\"y\":[true,null,\"z\"]}", "{}"),
         false},
        {"{" CALLS("{\"x\":1.51,\"y\":[true,null,\"z\"]}", "{}"), false},
        {"{" CALLS("{\"x\":1.50,\"y\":[true,null]}", "{}"), false},
        {"{" CALLS("{\"x\":1.50,\"y\":[true,null,\"z\"],\"w\":1}", "{}"), false},
        {"{" CALLS("{\"x\":1.50,\"y\":[true,null,\"z\"]}", "\"{\""), false},
        {"{\"tool_calls\":[{\"id\":\"toolu_aB3\",\"function\":{\"name\":\"f\",\"arguments\":"
         "{\"x\":1.5,\"y\":[true,null,\"z\"]}}}]}",
         false},
        {"{\"tool_calls\":[]}", false},
        {"{\"tool_calls\":[{\"id\":7}]}", false},
        {"{\"tool_calls\":{\"id\":\"call_aB3\"}}", false},
        {"{\"content\":\"hello\"}", false},
    };
    struct glint_call_memory *memory = open_memory(4096);
    glint_call_memory_put(memory, 1, glint_view_of(calls), glint_view_of("hello"), turn_ids, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (finds(memory, 1, cases[i].message) != cases[i].found)
            fail_msg("case %zu: %s", i, cases[i].message);
        assert_false(finds(memory, 2, cases[i].message));
    }
    // What is no list of calls is not remembered.
    glint_call_memory_put(memory, 1, glint_view_of("[{\"id\":\"eE5\",\"name\":"), glint_view_of(""),
                          turn_ids, 3);
    assert_false(finds(memory, 1, "{\"tool_calls\":[{\"id\":\"call_eE5\"}]}"));
    glint_call_memory_close(&memory);
}

// Turns are put until the bytes are used up; one that is asked for again and again stays.
static void test_oldest_goes(void **state) {
    (void)state;
    struct glint_call_memory *memory = open_memory(600);
    char text[100], message[200];
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "[{\"id\":\"n%d\",\"name\":\"f\",\"arguments\":{}}]", i);
        glint_call_memory_put(memory, 0, glint_view_of(text), glint_view_of(""), turn_ids, 3);
        int found = 0;
        for (int k = 0; k <= i; k++) {
            snprintf(message, sizeof message,
                     "{\"tool_calls\":[{\"id\":\"call_n%d\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{}\"}}]}",
                     k);
            bool is_there = (k == 0 || k >= i - 3) && finds(memory, 0, message);
            assert_true(is_there || (k > 0 && k < i - 3));
            found += is_there;
        }
        assert_true(found >= (i < 4 ? i : 4));
    }
    assert_false(finds(memory, 0,
                       "{\"tool_calls\":[{\"id\":\"call_n5\",\"function\":{\"name\":"
                       "\"f\",\"arguments\":\"{}\"}}]}"));
    glint_call_memory_close(&memory);
}

static void expect_date(struct glint_call_memory *memory, uint64_t tenant, const char *messages,
                        const char *today, const char *expected) {
    struct glint_json_doc *doc = parse(messages);
    char date[16];
    glint_call_memory_date(memory, tenant, glint_json_root(doc), today, date);
    assert_string_equal(date, expected);
    glint_json_close(&doc);
}

static void test_dates(void **state) {
    (void)state;
    static const char *const begun = "[{\"role\":\"user\",\"content\":\"hi\"}]";
    static const char *const going_on =
        "[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"x\"},"
        "{\"role\":\"user\",\"content\":\"and?\"}]";
    struct glint_call_memory *memory = open_memory(100);
    expect_date(memory, 1, going_on, "2026-01-01", "2026-01-01"); // unknown: from before a restart
    expect_date(memory, 1, begun, "2026-01-02", "2026-01-02");
    expect_date(memory, 1, going_on, "2026-01-03", "2026-01-02");
    expect_date(memory, 2, going_on, "2026-01-03", "2026-01-03");
    expect_date(memory, 1, begun, "2026-01-04", "2026-01-04"); // another one that begins alike
    expect_date(memory, 1, "{}", "2026-01-04", "2026-01-04");
    glint_call_memory_close(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_oldest_goes),
        cmocka_unit_test(test_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
