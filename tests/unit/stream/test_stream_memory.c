// SPDX-License-Identifier: Apache-2.0
// test_stream_memory.c — a turn with reasoning, an answer and calls, each allocation failing.
#include "fault.h"
#include "stream/message.h"

static enum glint_status put(struct glint_stream *stream, enum glint_stream_input input,
                             const char *text) {
    return glint_stream_put(stream, input, glint_view_of(text));
}

static enum glint_status put_all(struct glint_stream *stream) {
    GLINT_TRY(put(stream, GLINT_INPUT_TEXT, " to=self"));
    GLINT_TRY(put(stream, GLINT_INPUT_MESSAGE, ""));
    GLINT_TRY(put(stream, GLINT_INPUT_TEXT, "thinking about it to=nobody"));
    GLINT_TRY(put(stream, GLINT_INPUT_START, ""));
    GLINT_TRY(put(stream, GLINT_INPUT_TEXT, "assistant to=f"));
    GLINT_TRY(put(stream, GLINT_INPUT_MESSAGE, ""));
    GLINT_TRY(put(stream, GLINT_INPUT_TEXT,
                  "<atem:invoke name=\"f\"><atem:parameter name=\"a\">[1, 2]</atem:parameter>"
                  "</atem:invoke><atem:invoke name=\"g\xff\"></atem:invoke> rest"));
    GLINT_TRY(put(stream, GLINT_INPUT_EOM, ""));
    GLINT_TRY(put(stream, GLINT_INPUT_TEXT, "assistant to=user"));
    GLINT_TRY(put(stream, GLINT_INPUT_MESSAGE, ""));
    GLINT_TRY(put(stream, GLINT_INPUT_TEXT, "the answer STO"));
    return put(stream, GLINT_INPUT_END, "");
}

static enum glint_status whole_life(void *context, struct glint_error *err) {
    struct glint_tool_set tools = {.tools = NULL};
    struct glint_message message = {.calls = NULL};
    struct glint_stream *stream = NULL;
    struct glint_view stops[] = {{.data = "STOP", .n = 4}};
    struct glint_stream_options options = {.tools = &tools,
                                           .stops = stops,
                                           .n_stops = 1,
                                           .on_event = glint_message_on_event,
                                           .context = &message};
    enum glint_status status = glint_tool_set_init(&tools, context, err);
    if (status == GLINT_OK)
        status = glint_stream_open(&stream, &options, err);
    if (status == GLINT_OK && put_all(stream) != GLINT_OK)
        status = glint_fail(err, GLINT_E_NOMEM, "stream");
    bool lost = message.failed || message.reasoning.failed || message.content.failed;
    if (status == GLINT_OK && !lost)
        assert_int_equal(message.n_calls, 2);
    glint_stream_close(&stream);
    glint_message_fini(&message);
    glint_tool_set_fini(&tools);
    return status;
}

static void out_of_memory(void **state) {
    (void)state;
    struct glint_json_doc *doc = NULL;
    const char *tools = "[{\"name\": \"f\", \"parameters\": {\"properties\": {\"a\": {}}}}]";
    assert_int_equal(glint_json_parse(&doc, glint_view_of(tools), NULL, NULL), GLINT_OK);
    uint64_t n = glint_fault_each(whole_life, (void *)(uintptr_t)glint_json_root(doc));
    assert_true(n > 10);
    glint_json_close(&doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
