// SPDX-License-Identifier: Apache-2.0
// test_chat_normalise.c — what API clients send: accepted, rewritten, or refused with the path of
// the field.
#include "chat_cases.h"
#include "prompt/chat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct glint_value value_of(struct glint_heap *heap, const char *json) {
    struct glint_json_doc *doc = NULL;
    struct glint_error err;
    struct glint_value value = glint_value_undefined(NULL);
    if (!json)
        return value;
    if (glint_json_parse(&doc, glint_view_of(json), NULL, &err) != GLINT_OK)
        fail_msg("%s: %s", json, err.text);
    assert_true(glint_value_from_json(heap, glint_json_root(doc), GLINT_ORIGIN_CALLER, &value));
    glint_json_close(&doc);
    return value;
}

// Normalises and prints what came out as JSON.
static enum glint_status normalise(const char *messages, const char *tools, struct glint_sink *out,
                                   struct glint_error *err) {
    struct glint_heap heap = {.max_bytes = 0};
    struct glint_template *t = NULL;
    struct glint_chat_messages chat = {.messages = value_of(&heap, messages),
                                       .tools = value_of(&heap, tools)};
    const char *source = "{{ m | tojson }}{% if t %} {{ t | tojson }}{% endif %}";
    enum glint_status status = glint_chat_normalise(&heap, &chat, &chat, err);
    if (status == GLINT_OK) {
        struct glint_dict *variables = glint_dict_make(&heap, 2);
        assert_true(glint_dict_put_text(&heap, variables, "m", chat.messages));
        assert_true(glint_dict_put_text(&heap, variables, "t", chat.tools));
        struct glint_template_input input = {.variables = variables};
        assert_int_equal(glint_template_open(&t, glint_view_of(source), err), GLINT_OK);
        assert_int_equal(glint_template_render(t, &input, &heap, out, err), GLINT_OK);
    }
    glint_template_close(&t);
    glint_heap_fini(&heap);
    return status;
}

static void rewritten(void **state) {
    (void)state;
    static const struct {
        const char *messages, *tools, *out;
    } cases[] = {
        {"[{\"role\": \"developer\", \"content\": \"a\", \"recipient\": \"self\"}]", NULL,
         "[{\"role\": \"system\", \"content\": \"a\"}]"},
        {"[{\"role\": \"user\"}]", NULL, "[{\"role\": \"user\", \"content\": null}]"},
        {"[{\"role\": \"user\", \"content\": [{\"type\": \"input_text\", \"text\": \"t\"},"
         " {\"type\": \"image_url\", \"image_url\": {\"url\": \"u\"}}]}]",
         NULL,
         "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"t\"},"
         " {\"type\": \"image\", \"image_url\": {\"url\": \"u\"}}]}]"},
        {"[{\"role\": \"assistant\", \"content\": \"c\", \"reasoning_content\": \"\","
         " \"reasoning\": \"r\", \"thinking\": \"t\"}]",
         NULL, "[{\"role\": \"assistant\", \"content\": \"c\", \"reasoning_content\": \"r\"}]"},
        {"[{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"1\", \"function\": {\"name\":"
         " \"f\", \"arguments\": \"{\\\"n\\\": 1e2, \\\"big\\\": 12345678901234567890}\"}},"
         " {\"function\": {\"name\": \"g\", \"arguments\": \" \"}}]}]",
         NULL,
         "[{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"1\", \"type\":"
         " \"function\", \"function\": {\"name\": \"f\", \"arguments\": {\"n\": 100.0, \"big\":"
         " 12345678901234567890}}}, {\"type\": \"function\", \"function\": {\"name\": \"g\","
         " \"arguments\": {}}}]}]"},
        {"[{\"role\": \"function\", \"name\": \"f\", \"content\": \"r\"}]",
         "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"strict\": true}},"
         " {\"name\": \"a.b\", \"description\": null, \"parameters\": {\"type\": \"object\"}}]",
         "[{\"role\": \"tool\", \"content\": \"r\", \"name\": \"f\"}]"
         " [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"description\": \"\","
         " \"parameters\": {}}}, {\"type\": \"function\", \"function\": {\"name\": \"a.b\","
         " \"description\": \"\", \"parameters\": {\"type\": \"object\"}}}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_sink out = {.max_bytes = 0};
        struct glint_error err = {.text = ""};
        if (normalise(cases[i].messages, cases[i].tools, &out, &err) != GLINT_OK)
            fail_msg("%s: %s", cases[i].messages, err.text);
        assert_string_equal(out.bytes.data, cases[i].out);
        glint_sink_fini(&out);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *messages, *tools, *path;
    } cases[] = {
        {"{}", NULL, "messages: expected a list"},
        {"[1]", NULL, "messages[0]: expected an object"},
        {"[{\"role\": \"user\"}, {\"role\": \"robot\"}]", NULL, "messages[1].role"},
        {"[{\"content\": \"x\"}]", NULL, "messages[0].role"},
        {"[{\"role\": \"user\", \"content\": 5}]", NULL, "messages[0].content"},
        {"[{\"role\": \"user\", \"content\": [{\"type\": \"input_audio\"}]}]", NULL,
         "messages[0].content[0].type"},
        {"[{\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}]", NULL,
         "messages[0].content[0].text"},
        {"[{\"role\": \"system\", \"content\": [{\"type\": \"image\"}]}]", NULL,
         "messages[0].content[0].type"},
        {"[{\"role\": \"assistant\", \"reasoning\": 1}]", NULL, "messages[0].reasoning"},
        {"[{\"role\": \"assistant\", \"tool_calls\": {}}]", NULL, "messages[0].tool_calls"},
        {"[{\"role\": \"assistant\", \"tool_calls\": [{}]}]", NULL,
         "messages[0].tool_calls[0].function"},
        {"[{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {\"name\": \"f\","
         " \"arguments\": \"[1]\"}}]}]",
         NULL, "messages[0].tool_calls[0].function.arguments: its JSON text is not an object"},
        {"[{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {\"name\": \"f\","
         " \"arguments\": \"{oops\"}}]}]",
         NULL, "messages[0].tool_calls[0].function.arguments"},
        {"[{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {\"name\": \"a b\"}}]}]", NULL,
         "messages[0].tool_calls[0].function.name"},
        {"[{\"role\": \"tool\", \"content\": \"x\"}]", NULL, "messages[0].tool_call_id"},
        {"[{\"role\": \"tool\", \"content\": \"x\", \"tool_call_id\": \"no\"}]", NULL,
         "messages[0].tool_call_id: no message has a tool call with this id"},
        {"[]", "{}", "tools: expected a list"},
        {"[]", "[{\"function\": {\"name\": \"self\"}}]", "tools[0].function.name"},
        {"[]", "[{\"name\": \"\"}]", "tools[0].name"},
        {"[]", "[{\"name\": \"a\"}, {\"name\": \"a\"}]", "tools[1].function.name: another"},
        {"[]", "[{\"name\": \"a<b\"}]", "tools[0].name"},
        {"[]", "[{\"name\": \"a\", \"parameters\": []}]", "tools[0].function.parameters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_sink out = {.max_bytes = 0};
        struct glint_error err = {.text = ""};
        enum glint_status status = normalise(cases[i].messages, cases[i].tools, &out, &err);
        if (status != GLINT_E_ARG || strncmp(err.text, cases[i].path, strlen(cases[i].path)) != 0)
            fail_msg("%s %s: found \"%s\", expected \"%s\"", cases[i].messages,
                     cases[i].tools ? cases[i].tools : "", err.text, cases[i].path);
        glint_sink_fini(&out);
    }
}

static void efforts(void **state) {
    (void)state;
    assert_string_equal(glint_chat_effort(glint_view_of("medium")), "medium");
    assert_string_equal(glint_chat_effort(glint_view_of("none")), "low");
    assert_string_equal(glint_chat_effort(glint_view_of("max")), "xhigh");
    assert_null(glint_chat_effort(glint_view_of("extreme")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewritten),
        cmocka_unit_test(refused),
        cmocka_unit_test(efforts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
