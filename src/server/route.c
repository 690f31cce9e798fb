// SPDX-License-Identifier: Apache-2.0
// route.c — the table of paths.
#include "server/route.h"

#include "server/anthropic_messages.h"
#include "server/chat_page.h"
#include "server/embeddings.h"
#include "server/native_completion.h"
#include "server/native_routes.h"
#include "server/ollama_chat.h"
#include "server/ollama_models.h"
#include "server/openai_chat.h"
#include "server/openai_completions.h"
#include "server/openai_models.h"
#include "server/openai_responses.h"

#include <string.h>

static const struct glint_route routes[] = {
    {"POST", "/v1/chat/completions", GLINT_PROTOCOL_OPENAI, false, true, glint_openai_chat},
    {"POST", "/v1/messages", GLINT_PROTOCOL_ANTHROPIC, false, true, glint_anthropic_messages},
    {"POST", "/v1/messages/count_tokens", GLINT_PROTOCOL_ANTHROPIC, false, true,
     glint_anthropic_count},
    {"POST", "/completion", GLINT_PROTOCOL_OPENAI, false, true, glint_native_completion},
    {"POST", "/completions", GLINT_PROTOCOL_OPENAI, false, true, glint_native_completions},
    {"POST", "/v1/completions", GLINT_PROTOCOL_OPENAI, false, true, glint_openai_completions},
    {"POST", "/v1/responses", GLINT_PROTOCOL_OPENAI, false, true, glint_responses},
    {"POST", "/v1/responses/input_tokens", GLINT_PROTOCOL_OPENAI, false, true,
     glint_responses_count},
    {"GET", "/v1/responses/*", GLINT_PROTOCOL_OPENAI, false, false, glint_responses_get},
    {"DELETE", "/v1/responses/*", GLINT_PROTOCOL_OPENAI, false, false, glint_responses_delete},
    {"POST", "/v1/responses/*", GLINT_PROTOCOL_OPENAI, false, false, glint_responses_cancel},
    {"POST", "/v1/embeddings", GLINT_PROTOCOL_OPENAI, false, true, glint_openai_embeddings},
    {"GET", "/v1/models", GLINT_PROTOCOL_OPENAI, false, true, glint_openai_models},
    {"GET", "/v1/models/*", GLINT_PROTOCOL_OPENAI, false, true, glint_openai_model},
    {"GET", "/health", GLINT_PROTOCOL_OPENAI, true, true, glint_native_health},
    {"GET", "/livez", GLINT_PROTOCOL_OPENAI, true, false, glint_native_health},
    {"GET", "/readyz", GLINT_PROTOCOL_OPENAI, true, true, glint_native_health},
    {"GET", "/metrics", GLINT_PROTOCOL_OPENAI, false, false, glint_native_metrics},
    {"GET", "/props", GLINT_PROTOCOL_OPENAI, false, true, glint_native_props},
    {"GET", "/slots", GLINT_PROTOCOL_OPENAI, false, true, glint_native_slots},
    {"POST", "/slots/*", GLINT_PROTOCOL_OPENAI, false, false, glint_native_slot_action},
    {"POST", "/tokenize", GLINT_PROTOCOL_OPENAI, false, true, glint_native_tokenize},
    {"POST", "/detokenize", GLINT_PROTOCOL_OPENAI, false, true, glint_native_detokenize},
    {"GET", "/", GLINT_PROTOCOL_OPENAI, true, false, glint_chat_page},
    {"GET", "/page/*", GLINT_PROTOCOL_OPENAI, true, false, glint_chat_page_part},
    {"GET", "/favicon.svg", GLINT_PROTOCOL_OPENAI, true, false, glint_chat_page_icon},
    {"GET", "/favicon.ico", GLINT_PROTOCOL_OPENAI, true, false, glint_chat_page_icon},
    {"POST", "/apply-template", GLINT_PROTOCOL_OPENAI, false, true, glint_native_template},
};

// Of the second socket, before all of the first's.
static const struct glint_route ollama_routes[] = {
    {"GET", "/", GLINT_PROTOCOL_OLLAMA, true, false, glint_ollama_root},
    {"GET", "/api/version", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_version},
    {"GET", "/api/tags", GLINT_PROTOCOL_OLLAMA, false, true, glint_ollama_tags},
    {"GET", "/api/ps", GLINT_PROTOCOL_OLLAMA, false, true, glint_ollama_ps},
    {"POST", "/api/chat", GLINT_PROTOCOL_OLLAMA, false, true, glint_ollama_chat},
    {"POST", "/api/generate", GLINT_PROTOCOL_OLLAMA, false, true, glint_ollama_generate},
    {"POST", "/api/embed", GLINT_PROTOCOL_OLLAMA, false, true, glint_ollama_embed},
    {"POST", "/api/embeddings", GLINT_PROTOCOL_OLLAMA, false, true, glint_ollama_embeddings},
    {"POST", "/api/show", GLINT_PROTOCOL_OLLAMA, false, true, glint_ollama_show},
    {"POST", "/api/pull", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_store},
    {"POST", "/api/push", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_store},
    {"POST", "/api/create", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_store},
    {"POST", "/api/copy", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_store},
    {"DELETE", "/api/delete", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_store},
    {"POST", "/api/blobs/*", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_store},
    {"GET", "/api/blobs/*", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_store},
    {"POST", "/api/me", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_account},
    {"POST", "/api/signout", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_account},
    {"GET", "/api/status", GLINT_PROTOCOL_OLLAMA, false, false, glint_ollama_account},
};

enum {
    N_ROUTES = sizeof routes / sizeof routes[0],
    N_OLLAMA = sizeof ollama_routes / sizeof ollama_routes[0],
};

// The part after the row's path; NULL when the path is another one.
static const char *match(const char *pattern, const char *path) {
    size_t n = strlen(pattern);
    if (strcmp(pattern, path) == 0)
        return path + n;
    bool open_end = n > 2 && strcmp(pattern + n - 2, "/*") == 0;
    return open_end && strncmp(pattern, path, n - 1) == 0 && path[n - 1] ? path + n - 1 : NULL;
}

static struct glint_route_found find_in(const struct glint_route *table, int n, const char *method,
                                        const char *path) {
    struct glint_route_found found = {.route = NULL};
    for (int i = 0; i < n; i++) {
        const char *rest = match(table[i].path, path);
        if (!rest)
            continue;
        bool right = strcmp(method, table[i].method) == 0 ||
                     (strcmp(method, "HEAD") == 0 && strcmp(table[i].method, "GET") == 0);
        if (right || !found.route)
            found = (struct glint_route_found){&table[i], rest, !right};
        if (right)
            break;
    }
    return found;
}

static struct glint_route_found find(const char *method, const char *path) {
    return find_in(routes, N_ROUTES, method, path);
}

struct glint_route_found glint_route_find(enum glint_protocol door, const char *method,
                                          char *path) {
    static const char prefix[] = "/v1";
    size_t n = strlen(path), n_prefix = sizeof prefix - 1;
    while (n > 1 && path[n - 1] == '/')
        path[--n] = 0;
    struct glint_route_found found = {.route = NULL};
    if (door == GLINT_PROTOCOL_OLLAMA)
        found = find_in(ollama_routes, N_OLLAMA, method, path);
    if (!found.route)
        found = find(method, path);
    if (found.route)
        return found;
    if (strncmp(path, "/v1/", n_prefix + 1) == 0)
        return find(method, path + n_prefix);
    char longer[256];
    if (n + n_prefix >= sizeof longer)
        return found;
    memcpy(longer, prefix, n_prefix);
    memcpy(longer + n_prefix, path, n + 1);
    found = find(method, longer);
    if (found.route) // point into the caller's path
        found.rest = path + n - strlen(found.rest);
    return found;
}
