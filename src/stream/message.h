// SPDX-License-Identifier: Apache-2.0
// message.h — events put together again: the whole message of a turn.
#ifndef GLINT_STREAM_MESSAGE_H
#define GLINT_STREAM_MESSAGE_H

#include "stream/stream.h"

struct glint_message_call {
    struct glint_buffer name;
    struct glint_buffer arguments; // JSON text of an object
};

struct glint_message { // all-zero is a valid empty one
    struct glint_buffer reasoning;
    struct glint_buffer content;
    struct glint_buffer remains;
    struct glint_message_call *calls; // [n_calls], owned
    size_t n_calls;
    bool finished;
    enum glint_turn_reason reason;
    bool failed; // out of memory
};

void glint_message_fini(struct glint_message *message);
// An on_event callback; context is the message.
void glint_message_on_event(void *context, const struct glint_turn_event *event);
// {"reasoning": ..., "content": ..., "tool_calls": [{"name": ..., "arguments": {...}}],
// "finish_reason": ...}
void glint_message_put_json(const struct glint_message *message, struct glint_buffer *out);

#endif
