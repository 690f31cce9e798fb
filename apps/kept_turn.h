// SPDX-License-Identifier: Apache-2.0
// kept_turn.h — the events of a turn put together again: reasoning, answer and calls as texts, for
// JSON results and for a conversation's history.
#ifndef GLINT_APPS_KEPT_TURN_H
#define GLINT_APPS_KEPT_TURN_H

#include <glint/glint.h>
#include <stdio.h>

struct glint_kept_text { // grows; owned, terminated when not NULL
    char *data;
    size_t n;
};
// False when out of memory.
bool glint_kept_append(struct glint_kept_text *text, const char *data, size_t n);

struct glint_kept_call {
    struct glint_kept_text name;
    struct glint_kept_text arguments; // JSON text of an object
};

struct glint_kept_turn { // all-zero is a valid empty one
    struct glint_kept_text reasoning, content;
    struct glint_kept_call *calls; // [n_calls]
    size_t n_calls;
    enum glint_turn_reason reason;
    bool failed; // out of memory
};

void glint_kept_turn_put(struct glint_kept_turn *turn, const struct glint_turn_event *event);
// "reasoning":…,"content":…,"tool_calls":[{"name":…,"arguments":{…}}]
void glint_kept_turn_print(const struct glint_kept_turn *turn, FILE *out);
void glint_kept_turn_fini(struct glint_kept_turn *turn);

#endif
