// SPDX-License-Identifier: Apache-2.0
// openai_stored.c — responses that were kept: reading them, listing what went in, deleting them.
#include "server/openai_responses.h"

#include "server/response_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "resp_1/input_items" -> "resp_1" and the part after the slash ("": none). False after refusing
// what cannot be an id.
static bool split(struct glint_exchange *x, char id[100], const char **part) {
    const char *slash = strchr(x->rest, '/');
    size_t n = slash ? (size_t)(slash - x->rest) : strlen(x->rest);
    *part = slash ? slash + 1 : "";
    if (!x->server->store)
        glint_api_fail(&x->refusal, 404, NULL,
                       "this server stores no responses (glint serve --store)");
    else if (n == 0 || n >= 100)
        glint_api_fail(&x->refusal, 404, NULL, "no stored response has this id");
    else
        snprintf(id, 100, "%.*s", (int)n, x->rest);
    if (x->refusal.status != 0)
        glint_exchange_refuse(x, &x->refusal);
    return x->refusal.status == 0;
}

static void refuse_path(struct glint_exchange *x) {
    glint_api_fail(&x->refusal, 404, NULL, "no such path: %.300s", x->path);
    glint_exchange_refuse(x, &x->refusal);
}

bool glint_responses_store_failed(const struct glint_exchange *x, const struct glint_error *error,
                                  const char **reason) {
    bool ours = error->status == GLINT_E_IO || error->status == GLINT_E_NOMEM ||
                error->status == GLINT_E_FORMAT;
    if (ours)
        glint_server_say(x->server, GLINT_SAY_WARN, "%s: the store of responses: %s", x->request_id,
                         error->text);
    *reason = ours ? "the store of responses failed; the server's log says why" : error->text;
    return ours;
}

static void refuse_from(struct glint_exchange *x, const struct glint_error *error) {
    const char *reason;
    bool ours = glint_responses_store_failed(x, error, &reason);
    int status = ours ? 500 : error->status == GLINT_E_NOTFOUND ? 404 : 400;
    glint_api_fail(&x->refusal, status, NULL, "%s", reason);
    glint_exchange_refuse(x, &x->refusal);
}

// ---- the items that went in -------------------------------------------------------------------

struct page {
    int64_t limit;
    bool ascending;
    const char *after; // id of the item before the page; NULL: the list's beginning
};

static bool read_page(struct glint_exchange *x, struct page *page) {
    const char *limit = glint_exchange_argument(x, "limit");
    const char *order = glint_exchange_argument(x, "order");
    char *end;
    *page = (struct page){.limit = 20, .after = glint_exchange_argument(x, "after")};
    if (limit) {
        page->limit = strtoll(limit, &end, 10);
        if (*end != 0 || page->limit < 1 || page->limit > 100)
            glint_api_fail(&x->refusal, 400, "limit", "limit: expected a number from 1 to 100");
    }
    page->ascending = order && strcmp(order, "asc") == 0;
    if (order && !page->ascending && strcmp(order, "desc") != 0)
        glint_api_fail(&x->refusal, 400, "order", "order: expected asc or desc");
    return x->refusal.status == 0;
}

static const char *id_of(const struct glint_item *item) {
    return item->id.data;
}

// Fills list [items->n] in the page's order; returns where the page begins.
static int order_items(const struct glint_items *items, const struct page *page,
                       struct glint_item *list) {
    struct glint_item item;
    int i = 0, first = 0;
    for (size_t at = 0; glint_items_next(items, &at, &item); i++)
        list[page->ascending ? i : items->n - 1 - i] = item;
    for (i = 0; page->after && i < items->n && first == 0; i++)
        if (strcmp(id_of(&list[i]), page->after) == 0)
            first = i + 1;
    return page->after && first == 0 ? items->n : first;
}

static void put_id(struct glint_json_writer *w, const char *key, const struct glint_item *item) {
    glint_json_key(w, key);
    if (item)
        glint_json_string(w, item->id);
    else
        glint_json_null(w);
}

static void answer_page(struct glint_exchange *x, const struct glint_items *items,
                        const struct page *page) {
    struct glint_buffer ordered = {.data = NULL}, out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    if (!glint_buffer_reserve(&ordered, ((size_t)items->n + 1) * sizeof(struct glint_item)))
        out.failed = true;
    struct glint_item *list = (struct glint_item *)(void *)ordered.data;
    int first = out.failed ? 0 : order_items(items, page, list);
    int n = out.failed ? 0 : items->n - first;
    int shown = n < page->limit ? n : (int)page->limit;
    glint_json_begin_object(&w);
    glint_json_key(&w, "object");
    glint_json_text(&w, "list");
    glint_json_key(&w, "data");
    glint_json_begin_array(&w);
    for (int i = 0; i < shown; i++) {
        if (i != 0)
            glint_buffer_append_char(&out, ',');
        glint_buffer_append(&out, list[first + i].json.data, list[first + i].json.n);
    }
    glint_json_end_array(&w);
    put_id(&w, "first_id", shown ? &list[first] : NULL);
    put_id(&w, "last_id", shown ? &list[first + shown - 1] : NULL);
    glint_json_key(&w, "has_more");
    glint_json_bool(&w, shown < n);
    glint_json_end_object(&w);
    glint_buffer_fini(&ordered);
    glint_exchange_answer_json(x, &out);
}

static void answer_items(struct glint_exchange *x, const char *id) {
    struct glint_error error = {.status = GLINT_OK};
    struct glint_items items = {.n = 0};
    struct page page;
    struct glint_response_query query = {.owner = glint_server_key(x->server, x->tenant),
                                         .id = id,
                                         .max_bytes = x->server->params.max_body_bytes};
    if (!read_page(x, &page))
        glint_exchange_refuse(x, &x->refusal);
    else if (glint_response_store_history(x->server->store, &query, &items, &error) == GLINT_OK)
        answer_page(x, &items, &page);
    else
        refuse_from(x, &error);
    glint_items_fini(&items);
}

// ---- the routes -------------------------------------------------------------------------------

void glint_responses_get(struct glint_exchange *x) {
    struct glint_error error = {.status = GLINT_OK};
    struct glint_buffer object = {.data = NULL};
    const char *part, *stream = glint_exchange_argument(x, "stream");
    char id[100];
    if (!split(x, id, &part))
        return;
    if (strcmp(part, "input_items") == 0) {
        answer_items(x, id);
        return;
    }
    if (part[0]) {
        refuse_path(x);
        return;
    }
    if (stream && strcmp(stream, "true") == 0) {
        glint_api_fail(&x->refusal, 400, "stream",
                       "stream: a stored response is not streamed again; leave it out");
        glint_exchange_refuse(x, &x->refusal);
        return;
    }
    if (glint_response_store_get(x->server->store, glint_server_key(x->server, x->tenant), id,
                                 &object, &error) == GLINT_OK) {
        glint_exchange_answer_json(x, &object);
    } else {
        glint_buffer_fini(&object);
        refuse_from(x, &error);
    }
}

void glint_responses_delete(struct glint_exchange *x) {
    struct glint_error error = {.status = GLINT_OK};
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    const char *part;
    char id[100];
    if (!split(x, id, &part))
        return;
    if (part[0]) {
        refuse_path(x);
    } else if (glint_response_store_delete(x->server->store, glint_server_key(x->server, x->tenant),
                                           id, &error) == GLINT_OK) {
        glint_json_begin_object(&w);
        glint_json_key(&w, "id");
        glint_json_text(&w, id);
        glint_json_key(&w, "object");
        glint_json_text(&w, "response");
        glint_json_key(&w, "deleted");
        glint_json_bool(&w, true);
        glint_json_end_object(&w);
        glint_exchange_answer_json(x, &out);
    } else {
        refuse_from(x, &error);
    }
}

// Nothing runs in the background here, so whatever is stored is over.
void glint_responses_cancel(struct glint_exchange *x) {
    struct glint_error error = {.status = GLINT_OK};
    struct glint_buffer object = {.data = NULL};
    const char *part;
    char id[100];
    if (!split(x, id, &part))
        return;
    if (strcmp(part, "cancel") != 0) {
        refuse_path(x);
    } else if (glint_response_store_get(x->server->store, glint_server_key(x->server, x->tenant),
                                        id, &object, &error) != GLINT_OK) {
        refuse_from(x, &error);
    } else {
        glint_api_fail(&x->refusal, 400, NULL,
                       "\"%s\" is over: only responses in the background can be cancelled; close "
                       "the connection to stop one that is being generated",
                       id);
        glint_exchange_refuse(x, &x->refusal);
    }
    glint_buffer_fini(&object);
}
