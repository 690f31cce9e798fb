// SPDX-License-Identifier: Apache-2.0
// item_list.c — items as texts one after the other, and the sealing of reasoning.
#include "server/item_list.h"

#include "base/utf8.h"
#include "server/data_url.h"

#include <string.h>

void glint_items_fini(struct glint_items *items) {
    glint_buffer_fini(&items->data);
    items->n = 0;
}

void glint_items_add(struct glint_items *items, struct glint_view id, struct glint_view json) {
    glint_buffer_append(&items->data, id.data, id.n);
    glint_buffer_append_char(&items->data, 0);
    glint_buffer_append(&items->data, json.data, json.n);
    glint_buffer_append_char(&items->data, 0);
    items->n++;
}

bool glint_items_next(const struct glint_items *items, size_t *at, struct glint_item *item) {
    if (items->data.failed || *at >= items->data.n)
        return false;
    item->id = glint_view_of(items->data.data + *at);
    item->json = glint_view_of(item->id.data + item->id.n + 1);
    *at += item->id.n + item->json.n + 2;
    return true;
}

void glint_items_put(const struct glint_items *items, struct glint_buffer *out) {
    struct glint_item item;
    for (size_t at = 0; glint_items_next(items, &at, &item);) {
        if (at != item.id.n + item.json.n + 2)
            glint_buffer_append_char(out, ',');
        glint_buffer_append(out, item.json.data, item.json.n);
    }
    out->failed = out->failed || items->data.failed;
}

// ---- sealing ----------------------------------------------------------------------------------

static const char seal_mark[] = "glint1:";

void glint_items_seal(struct glint_buffer *out, struct glint_view text) {
    glint_buffer_append_text(out, seal_mark);
    glint_base64_write(out, text.data, text.n);
}

bool glint_items_unseal(struct glint_buffer *out, struct glint_view sealed) {
    size_t n_mark = sizeof seal_mark - 1, before = out->n;
    if (!glint_view_starts(sealed, seal_mark))
        return false;
    struct glint_view text = {sealed.data + n_mark, sealed.n - n_mark};
    bool ok = glint_base64_read(out, text, "encrypted_content", NULL) == GLINT_OK &&
              glint_utf8_is_valid(out->data ? out->data + before : "", out->n - before);
    if (!ok && out->data) {
        out->n = before;
        out->data[before] = 0;
    }
    return ok;
}
