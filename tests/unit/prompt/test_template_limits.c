// SPDX-License-Identifier: Apache-2.0
// test_template_limits.c — templates that mean harm, names outside the subset, running out of
// memory: always a clear error with the line.
#include "chat_cases.h"
#include "fault.h"
#include "prompt/chat.h"

static enum glint_status run(const char *source, uint64_t max_steps, struct glint_error *err) {
    struct glint_template *t = NULL;
    struct glint_heap heap = {.max_bytes = (size_t)64 << 20};
    struct glint_sink sink = {.max_bytes = (size_t)1 << 20};
    struct glint_template_input input = {.max_steps = max_steps};
    enum glint_status status = glint_template_open(&t, glint_view_of(source), err);
    if (status == GLINT_OK)
        status = glint_template_render(t, &input, &heap, &sink, err);
    glint_template_close(&t);
    glint_heap_fini(&heap);
    glint_sink_fini(&sink);
    return status;
}

struct refusal {
    const char *source;
    enum glint_status status;
    const char *line, *words; // both must stand in the error
};

static void check(const struct refusal *cases, size_t n, uint64_t max_steps) {
    for (size_t i = 0; i < n; i++) {
        struct glint_error err = {.text = ""};
        enum glint_status status = run(cases[i].source, max_steps, &err);
        if (status != cases[i].status || !strstr(err.text, cases[i].line) ||
            !strstr(err.text, cases[i].words))
            fail_msg("%.80s: found %s \"%s\", expected %s with \"%s\" and \"%s\"", cases[i].source,
                     glint_status_name(status), err.text, glint_status_name(cases[i].status),
                     cases[i].line, cases[i].words);
    }
}

static void endless(void **state) {
    (void)state;
    static const struct refusal cases[] = {
        {"\n{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
         GLINT_E_LIMIT, "line 2", "steps"},
        {"{% macro m() %}\n{{ m() }}{% endmacro %}{{ m() }}", GLINT_E_LIMIT, "line 2", "deep"},
        {"{% macro m() %}{% for i in range(9999) %}{{ m() }}{% endfor %}{% endmacro %}{{ m() }}",
         GLINT_E_LIMIT, "line 1", "deep"},
        {"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", GLINT_E_LIMIT, "line 1",
         "deep"},
        {"{{ range(100001) }}", GLINT_E_LIMIT, "line 1", "100001"},
        {"\n\n{{ 'x' * 99999999 }}", GLINT_E_LIMIT, "line 3", ""},
        {"{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(64) %}\n"
         "{% set ns.s = ns.s + ns.s %}{% endfor %}",
         GLINT_E_LIMIT, "line 2", "memory"},
        {"{% for i in range(99999) %}\n{{ 'xxxxxxxxxxxxxxxxxxxxxxxxxxxx' }}{% endfor %}",
         GLINT_E_LIMIT, "line 2", "output"},
        {"{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}"
         "{% endfor %}\n{{ ns.l }}",
         GLINT_E_LIMIT, "line 2", "deep"},
        {"{% set ns = namespace(l=[1]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}"
         "{% endfor %}\n{{ ns.l | tojson }}",
         GLINT_E_LIMIT, "line 2", "deep"},
        {"{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(60) %}"
         "{% set a.l = [a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}\n{{ a.l == b.l }}",
         GLINT_E_LIMIT, "line 2", "steps"},
        {"{{ [1] * 999999999 }}", GLINT_E_LIMIT, "line 1", ""},
        {"{{ 'a'.ljust(999999999) }}", GLINT_E_LIMIT, "line 1", ""},
        {"{{ 'a' | center(999999999) }}", GLINT_E_LIMIT, "line 1", ""},
        {"{{ 'a\nb' | indent(999999999) }}", GLINT_E_LIMIT, "line 2", ""},
        {"{{ 9223372036854775807 + 1 }}", GLINT_E_ARG, "line 1", "64 bits"},
        {"{{ 3 ** 99 }}", GLINT_E_ARG, "line 1", "64 bits"},
    };
    check(cases, sizeof cases / sizeof *cases, 3000000);
}

// n times begin, then middle, then n times end.
static char *nest(const char *begin, const char *middle, const char *end, int n) {
    struct glint_buffer out = {.data = NULL};
    for (int i = 0; i < n; i++)
        glint_buffer_append_text(&out, begin);
    glint_buffer_append_text(&out, middle);
    for (int i = 0; i < n; i++)
        glint_buffer_append_text(&out, end);
    assert_false(out.failed);
    return out.data;
}

static void depth_bombs(void **state) {
    (void)state;
    static const struct {
        const char *begin, *middle, *end;
    } bombs[] = {
        {"{% if 1 %}", "x", "{% endif %}"},
        {"{{ ", "1", " }}"},
        {"(", "1", ")"},
        {"[", "1", "]"},
        {"{'a':", "1", "}"},
        {"not ", "1", ""},
        {"- ", "1", ""},
        {"1 if 1 else ", "1", ""},
        {"1 + ", "1", ""},
        {"1 ** ", "1", ""},
        {"", "a", ".b"},
        {"", "a", "[0]"},
        {"", "a", "|list"},
        {"", "'a'", ".upper()"},
        {"{% for a in b %}", "x", "{% endfor %}"},
        {"{% macro m() %}", "x", "{% endmacro %}"},
        {"{% set x %}", "x", "{% endset %}"},
    };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        struct glint_error err = {.text = ""};
        char *inside = nest(bombs[i].begin, bombs[i].middle, bombs[i].end, 10000);
        bool is_tag = bombs[i].begin[0] == '{' && bombs[i].begin[1] != '\'';
        char *source = is_tag ? NULL : nest("{{ ", inside, " }}", 1);
        enum glint_status status = run(is_tag ? inside : source, 0, &err);
        if (status != GLINT_E_LIMIT && status != GLINT_E_FORMAT)
            fail_msg("%s: found %s \"%s\"", bombs[i].begin, glint_status_name(status), err.text);
        assert_non_null(strstr(err.text, "line 1"));
        glint_free(inside);
        glint_free(source);
    }
    // A chain of elif is flat.
    struct glint_error err = {.text = ""};
    char *chain = nest("{% elif 0 %}x", "{% endif %}", "", 20000);
    char *source = nest("{% if 0 %}a", chain, "", 1);
    assert_int_equal(run(source, 0, &err), GLINT_OK);
    glint_free(chain);
    glint_free(source);
}

static void outside_the_subset(void **state) {
    (void)state;
    static const struct refusal cases[] = {
        {"a\n{% include 'x' %}", GLINT_E_UNSUPPORTED, "line 2", "tag 'include'"},
        {"{% extends 'x' %}", GLINT_E_UNSUPPORTED, "line 1", "tag 'extends'"},
        {"{% import 'x' as y %}", GLINT_E_UNSUPPORTED, "line 1", "tag 'import'"},
        {"\n\n{{ x | urlize }}", GLINT_E_UNSUPPORTED, "line 3", "filter 'urlize'"},
        {"{% if 0 %}{{ x | escape }}{% endif %}", GLINT_E_UNSUPPORTED, "line 1", "filter 'escape'"},
        {"{{ x is filter }}", GLINT_E_UNSUPPORTED, "line 1", "test 'filter'"},
        {"{{ x.append(1) }}", GLINT_E_UNSUPPORTED, "line 1", "method 'append'"},
        {"{{ lipsum() }}", GLINT_E_UNSUPPORTED, "line 1", "function 'lipsum'"},
        {"{{ x.__class__() }}", GLINT_E_UNSUPPORTED, "line 1", "method '__class__'"},
        {"{{ 'a\\N{BULLET}' }}", GLINT_E_UNSUPPORTED, "line 1", "escape"},
        {"{{ strftime_now('%Q') }}", GLINT_E_ARG, "line 1", "'strftime_now' is undefined"},
        {"\xff", GLINT_E_FORMAT, "template", "UTF-8"},
    };
    check(cases, sizeof cases / sizeof *cases, 0);
}

// A conversation through the template, with each allocation failing.
static enum glint_status whole_life(void *context, struct glint_error *err) {
    const struct glint_json *messages = context;
    struct glint_template *t = NULL;
    struct glint_heap heap = {.max_bytes = 0};
    struct glint_prompt prompt = {.start = GLINT_TURN_HEADER};
    struct glint_chat_input input = {.max_steps = 0};
    enum glint_status status =
        glint_template_open(&t, glint_view_of(glint_chat_default_template), err);
    if (status == GLINT_OK &&
        !glint_value_from_json(&heap, messages, GLINT_ORIGIN_CALLER, &input.chat.messages))
        status = glint_fail(err, GLINT_E_NOMEM, "messages");
    if (status == GLINT_OK)
        status = glint_chat_normalise(&heap, &input.chat, &input.chat, err);
    if (status == GLINT_OK)
        status = glint_chat_render(t, &input, &heap, &prompt, err);
    if (status == GLINT_E_LIMIT) // the heap does not tell its two reasons apart
        status = glint_fail(err, GLINT_E_NOMEM, "heap");
    glint_template_close(&t);
    glint_heap_fini(&heap);
    glint_prompt_fini(&prompt);
    return status;
}

static void out_of_memory(void **state) {
    (void)state;
    struct glint_json_doc *doc = NULL;
    const char *text = "[{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\","
                       " \"tool_calls\": [{\"id\": \"1\", \"function\": {\"name\": \"f\","
                       " \"arguments\": \"{\\\"a\\\": [1, 2.5]}\"}}]},"
                       " {\"role\": \"tool\", \"tool_call_id\": \"1\", \"content\": \"ok\"}]";
    assert_int_equal(glint_json_parse(&doc, glint_view_of(text), NULL, NULL), GLINT_OK);
    uint64_t n = glint_fault_each(whole_life, (void *)(uintptr_t)glint_json_root(doc));
    assert_true(n > 10);
    glint_json_close(&doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless),
        cmocka_unit_test(depth_bombs),
        cmocka_unit_test(outside_the_subset),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
