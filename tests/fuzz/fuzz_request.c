// SPDX-License-Identifier: Apache-2.0
// fuzz_request.c — any bytes as the body of a request: read or refused by each protocol, with a
// field and a text, and what is handed on to the template is JSON.
#include "fuzz/fuzz.h"
#include "server/anthropic_messages.h"
#include "server/ollama_chat.h"
#include "server/openai_chat.h"
#include "server/openai_responses.h"

#include <stdlib.h>

static void check_json(const struct glint_buffer *text) {
    struct glint_json_doc *doc = NULL;
    struct glint_json_options options = {.repair_surrogates = true};
    if (text->n == 0)
        return;
    if (text->failed)
        abort();
    // A number over the range of a double is printed as Infinity, which is refused later.
    struct glint_error error = {.status = GLINT_OK};
    if (glint_json_parse(&doc, (struct glint_view){text->data, text->n}, &options, &error) ==
            GLINT_OK &&
        glint_json_root(doc)->kind == GLINT_JSON_NUMBER)
        abort();
    glint_json_close(&doc);
}

static void check(const struct glint_chat_job *job, bool read,
                  const struct glint_api_error *error) {
    if (read != (error->status == 0))
        abort();
    if (!read && (error->message[0] == 0 || error->status < 400))
        abort();
    struct glint_buffer body = {.data = NULL};
    struct glint_json_doc *doc = NULL;
    for (int protocol = 0; !read && protocol < 3; protocol++) {
        glint_buffer_clear(&body);
        glint_api_error_put(error, (enum glint_protocol)protocol, "id", &body);
        if (glint_json_parse(&doc, (struct glint_view){body.data, body.n}, NULL, NULL) != GLINT_OK)
            abort();
        glint_json_close(&doc);
    }
    glint_buffer_fini(&body);
    if (!read)
        return;
    check_json(&job->messages);
    check_json(&job->tools);
    check_json(&job->variables);
    check_json(&job->schema);
    check_json(&job->allowed);
    if (job->n_stops > GLINT_CHAT_MAX_STOPS || job->n_choices > GLINT_CHAT_MAX_CHOICES)
        abort();
    if (job->sampling.options.n_bias * sizeof(struct glint_logit_bias) != job->sampling.bias.n)
        abort();
}

// A response: the body's "history" and "references" stand for what a store would give.
static void check_response(const struct glint_json *root,
                           const struct glint_request_defaults *defaults) {
    struct glint_responses_request request = {.model = "m"};
    struct glint_api_error error = {.status = 0};
    struct glint_fields fields = {root, &error};
    struct glint_items_source source = {.fields = &fields,
                                        .history = glint_json_get(root, "history"),
                                        .references = glint_json_get(root, "references")};
    bool read = glint_responses_read(&request, &source, defaults);
    check(&request.job, read, &error);
    if (read) {
        struct glint_buffer list = {.data = NULL};
        glint_buffer_append_char(&list, '[');
        glint_items_put(&request.inputs, &list);
        glint_buffer_append_char(&list, ']');
        check_json(&list);
        glint_buffer_fini(&list);
        source.n_drop = 1;
        if (glint_items_shorten(&request.job, &source) < 0)
            abort();
        check_json(&request.job.messages);
    }
    glint_responses_fini(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct glint_request_defaults defaults = {
        .sampling = glint_sampler_defaults(), .n_predict = -1, .n_vocab = 1000, .n_context = 4096};
    struct glint_json_options options = {.repair_surrogates = true};
    struct glint_json_doc *doc = NULL;
    if (glint_json_parse(&doc, (struct glint_view){(const char *)data, n}, &options, NULL) !=
        GLINT_OK)
        return 0;
    const struct glint_json *root = glint_json_root(doc);
    for (int protocol = 0; protocol < 3 && root->kind == GLINT_JSON_OBJECT; protocol++) {
        struct glint_chat_job job = {.messages = {.data = NULL}};
        struct glint_api_error error = {.status = 0};
        bool read = protocol == 0   ? glint_openai_chat_read(&job, root, &defaults, &error)
                    : protocol == 1 ? glint_anthropic_read(&job, root, &defaults, &error)
                                    : glint_ollama_chat_read(&job, root, &defaults, &error);
        check(&job, read, &error);
        glint_chat_job_fini(&job);
    }
    if (root->kind == GLINT_JSON_OBJECT)
        check_response(root, &defaults);
    glint_json_close(&doc);
    return 0;
}
