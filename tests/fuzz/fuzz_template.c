// SPDX-License-Identifier: Apache-2.0
// fuzz_template.c — any bytes as a template source, rendered on a small conversation: it compiles
// or is refused, and ends within its budget; the caller's ranges stay in order and in the output.
#include "fuzz/fuzz.h"
#include "prompt/chat.h"

#include <stdlib.h>

static const char conversation[] =
    "[{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\", \"content\":"
    " [{\"type\": \"text\", \"text\": \"caf\\u00e9 <|eot|>\"}, {\"type\": \"image\"}]},"
    " {\"role\": \"assistant\", \"reasoning_content\": \"r\", \"content\": null, \"tool_calls\":"
    " [{\"id\": \"c\", \"function\": {\"name\": \"a.b\", \"arguments\": {\"x\": [1, 2.5, "
    "null]}}}]}]";

static struct glint_value read_conversation(struct glint_heap *heap) {
    struct glint_json_doc *doc = NULL;
    struct glint_value value;
    if (glint_json_parse(&doc, glint_view_of(conversation), NULL, NULL) != GLINT_OK ||
        !glint_value_from_json(heap, glint_json_root(doc), GLINT_ORIGIN_CALLER, &value))
        abort();
    glint_json_close(&doc);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct glint_view source = {.data = (const char *)data, .n = n};
    struct glint_template *t = NULL;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_template_open(&t, source, &err) != GLINT_OK) {
        if (t || err.text[0] == 0)
            abort();
        return 0;
    }
    struct glint_heap heap = {.max_bytes = (size_t)16 << 20};
    struct glint_prompt prompt = {.text = {.max_bytes = (size_t)1 << 20}};
    struct glint_chat_input input = {
        .clock = {.present = true, .year = 2026, .month = 8, .day = 10}, .max_steps = 100000};
    input.chat.messages = read_conversation(&heap);
    if (glint_chat_render(t, &input, &heap, &prompt, &err) == GLINT_OK) {
        const struct glint_sink *sink = &prompt.text;
        size_t end = 0;
        for (size_t i = 0; i < sink->n_ranges; i++) {
            if (sink->ranges[i].begin < end || sink->ranges[i].end <= sink->ranges[i].begin)
                abort();
            end = sink->ranges[i].end;
        }
        if (end > sink->bytes.n)
            abort();
    } else if (err.text[0] == 0) {
        abort();
    }
    glint_prompt_fini(&prompt);
    glint_heap_fini(&heap);
    glint_template_close(&t);
    return 0;
}
