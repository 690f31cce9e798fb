// SPDX-License-Identifier: Apache-2.0
// chat_page.c — serving the files of the chat page, with headers that keep the browser to them.
#include "server/chat_page.h"

#include "server/page_files.h"

#include <string.h>

// The page loads nothing but its own files, talks to nobody but this server, cannot be framed, and
// no text may become markup (trusted types), whatever the model writes. Pictures are data URLs.
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// If-None-Match is a list of tags, or "*". A tag holds 16 digits of a hash, so finding it anywhere
// in the list is finding it in the list.
static bool is_known(const struct glint_exchange *x, const char *etag) {
    const char *list = glint_exchange_header(x, "If-None-Match");
    return list && (strcmp(list, "*") == 0 || strstr(list, etag));
}

static void answer_file(struct glint_exchange *x, const char *name) {
    const struct glint_page_file *file = NULL;
    for (size_t i = 0; i < glint_page_n_files && !x->server->params.no_page; i++)
        if (strcmp(glint_page_files[i].name, name) == 0)
            file = &glint_page_files[i];
    if (!file) {
        glint_api_fail(&x->refusal, 404, NULL, "no such path: %.300s", x->path);
        glint_exchange_refuse(x, &x->refusal);
        return;
    }
    const char *headers[] = {"Content-Type",
                             file->type,
                             "ETag",
                             file->etag,
                             "Content-Security-Policy",
                             policy,
                             "X-Content-Type-Options",
                             "nosniff",
                             "Referrer-Policy",
                             "no-referrer",
                             "Cross-Origin-Opener-Policy",
                             "same-origin",
                             "Cross-Origin-Resource-Policy",
                             "same-origin",
                             NULL};
    bool known = is_known(x, file->etag);
    struct glint_view body = {(const char *)file->data, known ? 0 : file->n};
    glint_exchange_answer_static(x, known ? 304 : 200, body, headers);
}

void glint_chat_page(struct glint_exchange *x) {
    answer_file(x, "page.html");
}

void glint_chat_page_part(struct glint_exchange *x) {
    answer_file(x, x->rest);
}

void glint_chat_page_icon(struct glint_exchange *x) {
    answer_file(x, "favicon.svg");
}
