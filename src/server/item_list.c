// SPDX-License-Identifier: Apache-2.0
// item_list.c — items as texts one after the other, and the sealing of reasoning.
#include "server/item_list.h"

#include "base/utf8.h"

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
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void glint_items_seal(struct glint_buffer *out, struct glint_view text) {
    glint_buffer_append_text(out, seal_mark);
    for (size_t i = 0; i < text.n; i += 3) { // base64, RFC 4648
        size_t n = text.n - i < 3 ? text.n - i : 3;
        unsigned word = 0;
        for (size_t j = 0; j < 3; j++)
            word = word << 8 | (j < n ? (unsigned char)text.data[i + j] : 0U);
        for (size_t j = 0; j < 4; j++)
            glint_buffer_append_char(out, j <= n ? digits[word >> (18 - 6 * j) & 63] : '=');
    }
}

bool glint_items_unseal(struct glint_buffer *out, struct glint_view sealed) {
    size_t n_mark = sizeof seal_mark - 1, before = out->n;
    unsigned word = 0;
    int n_bits = 0;
    bool ok = glint_view_starts(sealed, seal_mark);
    for (size_t i = n_mark; ok && i < sealed.n && sealed.data[i] != '='; i++) {
        const char *digit = sealed.data[i] ? strchr(digits, sealed.data[i]) : NULL;
        ok = digit != NULL;
        word = (word << 6 | (unsigned)(ok ? digit - digits : 0)) & 0xffff;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            glint_buffer_append_char(out, (char)(word >> n_bits & 255));
        }
    }
    ok = ok && glint_utf8_is_valid(out->data ? out->data + before : "", out->n - before);
    if (!ok && out->data) {
        out->n = before;
        out->data[before] = 0;
    }
    return ok;
}
