// SPDX-License-Identifier: Apache-2.0
// fuzz_stream.c — any bytes as a model's output, where 0x01 to 0x05 stand for the markers: every
// byte ends up somewhere, and cutting the text elsewhere changes nothing.
#include "fuzz/fuzz.h"
#include "stream/message.h"

#include <stdlib.h>
#include <string.h>

static const char tools_text[] =
    "[{\"name\": \"read\", \"parameters\": {\"properties\": {\"path\": {\"type\": \"string\"},"
    " \"n\": {\"type\": [\"integer\", \"null\"]}}}}, {\"name\": \"fs.write\"}]";

static void put(struct glint_stream *stream, enum glint_stream_input input, const char *data,
                size_t n) {
    if (glint_stream_put(stream, input, (struct glint_view){.data = data, .n = n}) != GLINT_OK)
        abort();
}

static void run(const struct glint_tool_set *tools, const uint8_t *data, size_t n, size_t step,
                struct glint_message *message) {
    static const char stop[] = "STOP";
    struct glint_view stops[] = {{.data = stop, .n = 4}};
    struct glint_stream *stream = NULL;
    unsigned flags = n ? data[0] : 0;
    struct glint_stream_options options = {.tools = tools,
                                           .no_calls = (flags & 1) != 0,
                                           .one_call = (flags & 2) != 0,
                                           .start = (enum glint_turn_start)(flags >> 2 & 3),
                                           .start_tool = glint_view_of("read"),
                                           .stops = stops,
                                           .n_stops = (flags & 16) != 0,
                                           .on_event = glint_message_on_event,
                                           .context = message};
    if (glint_stream_open(&stream, &options, NULL) != GLINT_OK)
        abort();
    for (size_t at = 1; at < n;) {
        size_t end = at;
        if (data[at] >= 1 && data[at] <= GLINT_INPUT_LIMIT) {
            put(stream, (enum glint_stream_input)data[at], "", 0);
            at++;
            continue;
        }
        while (end < n && end - at < step && !(data[end] >= 1 && data[end] <= GLINT_INPUT_LIMIT))
            end++;
        put(stream, GLINT_INPUT_TEXT, (const char *)data + at, end - at);
        at = end;
    }
    put(stream, (flags & 32) != 0 ? GLINT_INPUT_LIMIT : GLINT_INPUT_END, "", 0);
    struct glint_stream_count c = glint_stream_counts(stream);
    if (c.text_bytes != c.framing + c.reasoning + c.content + c.calls + c.remains)
        abort();
    if (!message->finished || message->failed)
        abort();
    glint_stream_close(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct glint_json_doc *doc = NULL;
    struct glint_tool_set tools;
    struct glint_message whole = {.calls = NULL};
    struct glint_message cut = {.calls = NULL};
    struct glint_buffer a = {.data = NULL};
    struct glint_buffer b = {.data = NULL};
    if (glint_json_parse(&doc, glint_view_of(tools_text), NULL, NULL) != GLINT_OK ||
        glint_tool_set_init(&tools, glint_json_root(doc), NULL) != GLINT_OK)
        abort();
    run(&tools, data, n, SIZE_MAX, &whole);
    run(&tools, data, n, 1, &cut);
    glint_message_put_json(&whole, &a);
    glint_message_put_json(&cut, &b);
    if (a.n != b.n || memcmp(a.data, b.data, a.n) != 0)
        abort();
    struct glint_json_doc *message = NULL; // what is printed is JSON
    if (glint_json_parse(&message, (struct glint_view){.data = a.data, .n = a.n}, NULL, NULL) !=
        GLINT_OK)
        abort();
    glint_json_close(&message);
    glint_buffer_fini(&a);
    glint_buffer_fini(&b);
    glint_message_fini(&whole);
    glint_message_fini(&cut);
    glint_tool_set_fini(&tools);
    glint_json_close(&doc);
    return 0;
}
