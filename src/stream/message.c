// SPDX-License-Identifier: Apache-2.0
// message.c — see message.h.
#include "stream/message.h"

#include "base/alloc.h"
#include "format/json_write.h"

void glint_message_fini(struct glint_message *message) {
    glint_buffer_fini(&message->reasoning);
    glint_buffer_fini(&message->content);
    glint_buffer_fini(&message->remains);
    for (size_t i = 0; i < message->n_calls; i++) {
        glint_buffer_fini(&message->calls[i].name);
        glint_buffer_fini(&message->calls[i].arguments);
    }
    glint_free(message->calls);
    *message = (struct glint_message){.calls = NULL};
}

static void add_call(struct glint_message *message, const struct glint_turn_event *event) {
    struct glint_message_call *calls =
        glint_realloc(message->calls, message->n_calls + 1, sizeof *calls);
    if (!calls) {
        message->failed = true;
        return;
    }
    message->calls = calls;
    calls[message->n_calls] = (struct glint_message_call){.name = {.data = NULL}};
    glint_buffer_append(&calls[message->n_calls++].name, event->text, event->n);
}

void glint_message_on_event(void *context, const struct glint_turn_event *event) {
    struct glint_message *message = context;
    switch (event->kind) {
    case GLINT_TURN_REASONING:
        glint_buffer_append(&message->reasoning, event->text, event->n);
        break;
    case GLINT_TURN_CONTENT:
        glint_buffer_append(&message->content, event->text, event->n);
        break;
    case GLINT_TURN_REMAINS:
        glint_buffer_append(&message->remains, event->text, event->n);
        break;
    case GLINT_TURN_CALL:
        add_call(message, event);
        break;
    case GLINT_TURN_ARGUMENTS:
        if (event->index < message->n_calls)
            glint_buffer_append(&message->calls[event->index].arguments, event->text, event->n);
        break;
    case GLINT_TURN_FINISH:
        message->finished = true;
        message->reason = event->reason;
        break;
    }
}

static void put_text(struct glint_json_writer *writer, const char *key,
                     const struct glint_buffer *text) {
    glint_json_key(writer, key);
    glint_json_string(writer,
                      (struct glint_view){.data = text->data ? text->data : "", .n = text->n});
}

void glint_message_put_json(const struct glint_message *message, struct glint_buffer *out) {
    struct glint_json_writer writer = {.out = out, .style = GLINT_JSON_PYTHON};
    glint_json_begin_object(&writer);
    put_text(&writer, "reasoning", &message->reasoning);
    put_text(&writer, "content", &message->content);
    glint_json_key(&writer, "tool_calls");
    glint_json_begin_array(&writer);
    for (size_t i = 0; i < message->n_calls; i++) {
        const struct glint_message_call *call = &message->calls[i];
        glint_json_begin_object(&writer);
        put_text(&writer, "name", &call->name);
        // The arguments are JSON text already; the writer has put what goes before a value.
        glint_json_key(&writer, "arguments");
        glint_buffer_append(out, call->arguments.data, call->arguments.n);
        writer.after_key = false;
        writer.follows = true;
        glint_json_end_object(&writer);
    }
    glint_json_end_array(&writer);
    glint_json_key(&writer, "finish_reason");
    glint_json_text(&writer, glint_turn_reason_name(message->reason));
    glint_json_end_object(&writer);
    out->failed = out->failed || message->failed;
}
