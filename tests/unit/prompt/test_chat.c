// SPDX-License-Identifier: Apache-2.0
// test_chat.c — conversations to prompts against the fixtures: bytes and caller's ranges with both
// published templates, continuation, normalisation, and the number spellings.
#include "chat_cases.h"
#include "prompt/chat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct glint_template *open_template(const char *path) {
    struct glint_buffer source = read_file(path);
    struct glint_template *t = NULL;
    struct glint_error err;
    struct glint_view view = {.data = source.data, .n = source.n};
    if (glint_template_open(&t, view, &err) != GLINT_OK)
        fail_msg("%s: %s", path, err.text);
    glint_buffer_fini(&source);
    return t;
}

struct rendering {
    struct glint_heap heap;
    struct glint_prompt prompt;
    struct glint_error err;
    enum glint_status status;
};

static void rendering_fini(struct rendering *r) {
    glint_heap_fini(&r->heap);
    glint_prompt_fini(&r->prompt);
}

static struct glint_value value_of(struct glint_heap *heap, const struct glint_json *json) {
    struct glint_value value = glint_value_undefined(NULL);
    if (json && json->kind != GLINT_JSON_NULL)
        assert_true(glint_value_from_json(heap, json, GLINT_ORIGIN_CALLER, &value));
    return value;
}

// The options of a case that are template variables.
static const struct glint_dict *variables_of(struct glint_heap *heap,
                                             const struct glint_json *options) {
    struct glint_dict *variables = glint_dict_make(heap, 4);
    for (const struct glint_json *m = glint_json_first(options); m; m = m->next) {
        struct glint_value value;
        if (glint_view_is(m->key, "strftime_now")) // what the clock answers
            continue;
        assert_true(glint_value_from_json(heap, m, GLINT_ORIGIN_CALLER, &value));
        assert_true(glint_dict_put_text(heap, variables, m->key.data, value));
    }
    return variables;
}

struct how {
    bool continue_final;
    bool normalise;
};

// Renders a case of a fixture file; `messages` names the member that holds them.
static struct rendering render_case(const struct glint_template *t, const struct glint_json *c,
                                    const char *messages, struct how how) {
    struct rendering r = {.status = GLINT_OK};
    const struct glint_json *options = glint_json_get(c, "options");
    struct glint_chat_input input = {.continue_final = how.continue_final};
    input.chat.messages = value_of(&r.heap, glint_json_get(c, messages));
    input.chat.tools = value_of(&r.heap, glint_json_get(c, "tools"));
    bool generate = true;
    glint_json_to_bool(glint_json_get(options, "add_generation_prompt"), &generate);
    input.no_generation_prompt = !generate;
    input.variables = variables_of(&r.heap, options);
    input.clock.present =
        glint_json_to_string(glint_json_get(options, "strftime_now"), &input.clock.answer);
    if (how.normalise)
        r.status = glint_chat_normalise(&r.heap, &input.chat, &input.chat, &r.err);
    if (r.status == GLINT_OK)
        r.status = glint_chat_render(t, &input, &r.heap, &r.prompt, &r.err);
    return r;
}

static void assert_bytes(const struct glint_json *c, const struct rendering *r,
                         struct glint_view expected) {
    if (r->status != GLINT_OK)
        fail_msg("%s: %s", case_text(c, "id").data, r->err.text);
    struct glint_view found = {.data = r->prompt.text.bytes.data, .n = r->prompt.text.bytes.n};
    if (glint_view_equal(found, expected))
        return;
    size_t at = 0;
    while (at < found.n && at < expected.n && found.data[at] == expected.data[at])
        at++;
    fail_msg("%s: differs at byte %zu: found '%.60s', expected '%.60s'", case_text(c, "id").data,
             at, found.data + at, expected.data + at);
}

static bool in_ranges(const struct glint_json *ranges, size_t at) {
    for (const struct glint_json *m = glint_json_first(ranges); m; m = m->next) {
        uint64_t begin = 0;
        uint64_t end = 0;
        glint_json_to_u64(glint_json_at(m, 0), &begin);
        glint_json_to_u64(glint_json_at(m, 1), &end);
        if (at >= begin && at < end)
            return true;
    }
    return false;
}

// True when a range holds just the `recipient` field of some message.
static bool is_recipient(const struct glint_json *c, const struct glint_sink *sink,
                         struct glint_byte_range range) {
    struct glint_view text = {sink->bytes.data + range.begin, range.end - range.begin};
    const struct glint_json *m = glint_json_first(glint_json_get(c, "messages"));
    while (m && !glint_view_equal(case_text(m, "recipient"), text))
        m = m->next;
    return m != NULL;
}

// The fixture leaves out two things that a caller writes as well: the dot inside a dotted tool
// name, and the template's own field `recipient`. Apart from those every byte must agree.
static void assert_ranges(const struct glint_json *c, const struct rendering *r) {
    const struct glint_json *expected = glint_json_get(c, "caller_text_spans");
    const struct glint_sink *sink = &r->prompt.text;
    size_t i = 0;
    for (size_t at = 0; at < sink->bytes.n; at++) {
        while (i < sink->n_ranges && sink->ranges[i].end <= at)
            i++;
        bool found = i < sink->n_ranges && sink->ranges[i].begin <= at;
        bool wanted = in_ranges(expected, at);
        bool dot = sink->bytes.data[at] == '.' && found && in_ranges(expected, at - 1) &&
                   in_ranges(expected, at + 1);
        if (found != wanted && !dot && !(found && is_recipient(c, sink, sink->ranges[i])))
            fail_msg("%s: byte %zu ('%.20s') is %sthe caller's", case_text(c, "id").data, at,
                     sink->bytes.data + at, found ? "" : "not ");
    }
    for (i = 0; i < sink->n_ranges; i++) {
        assert_true(sink->ranges[i].begin < sink->ranges[i].end);
        assert_true(i == 0 || sink->ranges[i - 1].end < sink->ranges[i].begin);
    }
}

static void golden_revision_a(void **state) {
    (void)state;
    struct glint_template *t = open_template("fixtures/chat/chat_template.jinja");
    struct chat_cases cases = chat_cases_open("fixtures/chat/golden.jsonl");
    int n = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL; n++) {
        struct rendering r = render_case(t, c, "messages", (struct how){.normalise = false});
        assert_bytes(c, &r, case_text(c, "rendered"));
        assert_ranges(c, &r);
        rendering_fini(&r);
    }
    assert_int_equal(n, 101);
    glint_template_close(&t);
}

static void golden_revision_b(void **state) {
    (void)state;
    struct glint_template *t = open_template("fixtures/chat/chat_template.hub-a4e59da.jinja");
    struct chat_cases cases = chat_cases_open("fixtures/chat/golden.jsonl");
    int n_other = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL;) {
        struct rendering r = render_case(t, c, "messages", (struct how){.normalise = false});
        bool other = glint_json_get(c, "rendered_hub") != NULL;
        assert_bytes(c, &r, case_text(c, other ? "rendered_hub" : "rendered"));
        if (!other)
            assert_ranges(c, &r);
        n_other += other;
        rendering_fini(&r);
    }
    assert_int_equal(n_other, 3);
    glint_template_close(&t);
}

static void golden_normalised(void **state) {
    (void)state;
    struct glint_template *t = open_template("fixtures/chat/chat_template.jinja");
    struct chat_cases cases = chat_cases_open("fixtures/chat/golden.jsonl");
    int n = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL;) {
        if (!glint_json_get(c, "api_messages"))
            continue;
        struct rendering r = render_case(t, c, "api_messages", (struct how){.normalise = true});
        assert_bytes(c, &r, case_text(c, "rendered"));
        assert_ranges(c, &r);
        rendering_fini(&r);
        n++;
    }
    assert_int_equal(n, 3);
    glint_template_close(&t);
}

static void captured_prompts(void **state) {
    (void)state;
    struct glint_template *t = open_template("fixtures/chat/chat_template.jinja");
    struct chat_cases cases = chat_cases_open("fixtures/chat/captured_prompts.jsonl");
    int n = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL; n++) {
        for (int normalise = 0; normalise < 2; normalise++) {
            struct how how = {.normalise = normalise != 0};
            struct rendering r = render_case(t, c, "messages", how);
            struct glint_buffer expected = {.data = NULL};
            struct glint_view rest = case_text(c, "prompt_without_bos");
            glint_buffer_append_text(&expected, "<|begin_of_text|>");
            glint_buffer_append(&expected, rest.data, rest.n);
            assert_bytes(c, &r, (struct glint_view){expected.data, expected.n});
            glint_buffer_fini(&expected);
            rendering_fini(&r);
        }
    }
    assert_int_equal(n, 28);
    glint_template_close(&t);
}

static void continuation(void **state) {
    (void)state;
    static const char *const channels[] = {"header", "self", "user"};
    struct glint_template *t = open_template("fixtures/chat/chat_template.jinja");
    struct chat_cases cases = chat_cases_open("fixtures/chat/continuation.jsonl");
    int n = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL; n++) {
        struct rendering r = render_case(t, c, "messages", (struct how){.continue_final = true});
        assert_bytes(c, &r, case_text(c, "rendered"));
        assert_string_equal(channels[r.prompt.start], case_text(c, "parser_initial_channel").data);
        rendering_fini(&r);
    }
    assert_int_equal(n, 6);
    glint_template_close(&t);
}

static void json_scalars(void **state) {
    (void)state;
    struct glint_error err;
    struct glint_template *t = NULL;
    const char *source = "{% if v is mapping or (v is iterable and v is not string) %}"
                         "{{ v | tojson }}{% elif v is boolean %}{{ 'true' if v else 'false' }}"
                         "{% elif v is none %}null{% else %}{{ v }}{% endif %}|{{ v | tojson }}";
    assert_int_equal(glint_template_open(&t, glint_view_of(source), &err), GLINT_OK);
    struct chat_cases cases = chat_cases_open("data/json_scalars.jsonl");
    int n = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL; n++) {
        struct glint_json_doc *doc = NULL;
        assert_int_equal(glint_json_parse(&doc, case_text(c, "json"), NULL, &err), GLINT_OK);
        struct rendering r = {.status = GLINT_OK};
        struct glint_value value;
        struct glint_dict *variables = glint_dict_make(&r.heap, 1);
        assert_true(
            glint_value_from_json(&r.heap, glint_json_root(doc), GLINT_ORIGIN_CALLER, &value));
        assert_true(glint_dict_put_text(&r.heap, variables, "v", value));
        struct glint_template_input input = {.variables = variables};
        r.status = glint_template_render(t, &input, &r.heap, &r.prompt.text, &r.err);
        struct glint_buffer expected = {.data = NULL};
        struct glint_view bare = case_text(c, "bare");
        struct glint_view tojson = case_text(c, "tojson");
        glint_buffer_append(&expected, bare.data, bare.n);
        glint_buffer_append_char(&expected, '|');
        glint_buffer_append(&expected, tojson.data, tojson.n);
        assert_bytes(c, &r, (struct glint_view){expected.data, expected.n});
        glint_buffer_fini(&expected);
        glint_json_close(&doc);
        rendering_fini(&r);
    }
    assert_int_equal(n, 68);
    glint_template_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_revision_a), cmocka_unit_test(golden_revision_b),
        cmocka_unit_test(golden_normalised), cmocka_unit_test(captured_prompts),
        cmocka_unit_test(continuation),      cmocka_unit_test(json_scalars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
