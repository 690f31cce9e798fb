// SPDX-License-Identifier: Apache-2.0
// item_list.h — the items of OpenAI's responses as texts: what a request brought, what was said.
#ifndef GLINT_SERVER_ITEM_LIST_H
#define GLINT_SERVER_ITEM_LIST_H

#include "base/buffer.h"

// Items one after the other, each "id" 0 "JSON" 0. All-zero is a valid empty list.
struct glint_items {
    struct glint_buffer data;
    int n;
};

struct glint_item {
    struct glint_view id, json; // both terminated
};

void glint_items_fini(struct glint_items *items);
void glint_items_add(struct glint_items *items, struct glint_view id, struct glint_view json);
// The next one; false at the end. *at starts at 0.
bool glint_items_next(const struct glint_items *items, size_t *at, struct glint_item *item);
// The JSON texts with commas between.
void glint_items_put(const struct glint_items *items, struct glint_buffer *out);

// What encrypted_content holds: the text of reasoning, for clients that keep nothing else of it.
// It hides nothing; whoever gets it gets the text too.
void glint_items_seal(struct glint_buffer *out, struct glint_view text);
// Appends the text; false, appending nothing, when it was not sealed here.
bool glint_items_unseal(struct glint_buffer *out, struct glint_view sealed);

#endif
