// SPDX-License-Identifier: Apache-2.0
// openai_items.h — the items of a request for a response, as the messages that the template knows.
#ifndef GLINT_SERVER_OPENAI_ITEMS_H
#define GLINT_SERVER_OPENAI_ITEMS_H

#include "server/chat_job.h"
#include "server/item_list.h"

enum { GLINT_ITEMS_MAX = 20000 }; // of a conversation

// Where a request's items come from. All but fields may be NULL.
struct glint_items_source {
    const struct glint_fields *fields;   // input, instructions
    const struct glint_json *history;    // array: the items before those of the request
    const struct glint_json *references; // object: id -> item, for item_reference
    int n_drop; // turns to leave out at the beginning: what a user said and all up to the next one
};
// The conversation as messages, into job->messages; the request's own items, each with an id, into
// own; names of items that nothing here understands into skipped. False after a refusal that names
// the item.
bool glint_items_read(struct glint_chat_job *job, const struct glint_items_source *source,
                      struct glint_items *own, struct glint_buffer *skipped);
// The messages again, with source->n_drop turns left out; system messages stay. For conversations
// without pictures that have been read. Returns how many turns there are in all.
int glint_items_shorten(struct glint_chat_job *job, const struct glint_items_source *source);
// Adds a name to such a list, commas between, each once.
void glint_items_skip(struct glint_buffer *skipped, struct glint_view name);

#endif
