// SPDX-License-Identifier: Apache-2.0
// http.c — what libmicrohttpd calls: connections, request lines, bodies, completed answers.
// Order of checks: Host, path, key, state of the model, size of the body. A refused request's body
// is read to its end, so that the client gets the answer rather than a reset; one that asked first
// (Expect) is answered at once.
#include "server/http.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "server/guard.h"
#include "server/request_log.h"
#include "server/route.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    IDLE_SECONDS = 120,
    MAX_HEAD_BYTES = 48 << 10,    // request line and headers
    MEMORY_BYTES = 128 << 10,     // of a connection: its head, what is known of it, output block
    MAX_IGNORED_BYTES = 64 << 20, // of a refused body that are read
};

// ---- connections ------------------------------------------------------------------------------

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    const struct glint_door *door = user;
    struct glint_server *server = door->server;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = info ? glint_watch_add(server->watch, info->connect_fd) : NULL;
    } else {
        struct glint_peer *peer = *context;
        glint_watch_remove(server->watch, &peer);
        *context = NULL;
    }
}

static struct glint_peer *peer_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// In place of an exchange until the head has been read: the path holds an encoded NUL, behind which
// libmicrohttpd's texts would end.
static const char cut_path = 0;

static void *on_request_line(void *user, const char *uri, struct MHD_Connection *connection) {
    const struct glint_door *door = user;
    struct glint_server *server = door->server;
    glint_watch_stage(server->watch, peer_of(connection), GLINT_PEER_HEAD, NULL);
    size_t n_path = strcspn(uri, "?");
    const char *nul = strstr(uri, "%00");
    return nul && nul < uri + n_path ? (void *)&cut_path : NULL;
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
    const struct glint_door *door = user;
    struct glint_server *server = door->server;
    struct glint_exchange *x = *context;
    (void)code;
    *context = NULL;
    glint_watch_stage(server->watch, peer_of(connection), GLINT_PEER_IDLE, NULL);
    if (!x || (const void *)x == &cut_path)
        return;
    glint_request_log(x);
    glint_metrics_response(server->metrics, x->status);
    glint_exchange_fini(x);
    glint_free(x);
}

// ---- a request --------------------------------------------------------------------------------

static bool is_plain_id(const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"')
            return false;
    return n != 0 && n <= 64;
}

static bool check_key(struct glint_exchange *x) {
    const struct glint_server_params *params = &x->server->params;
    static const char *const names[] = {"x-api-key", "api-key"};
    if (params->n_keys == 0 || (x->route && x->route->open))
        return true;
    const char *given = glint_exchange_header(x, "Authorization");
    int key = -1;
    if (given && (given = glint_guard_bearer(given)))
        key = glint_guard_find_key(params->keys, params->n_keys, given);
    for (int i = 0; i < 2 && key < 0; i++)
        if ((given = glint_exchange_header(x, names[i])))
            key = glint_guard_find_key(params->keys, params->n_keys, given);
    x->tenant = (uint64_t)key + 1;
    return key >= 0;
}

// 503 while the model is not there; 0 when all is well.
static void check_engine(struct glint_exchange *x) {
    enum glint_engine_state state = glint_engine_thread_state(x->server->engine);
    if (atomic_load_explicit(&x->server->draining, memory_order_relaxed))
        glint_api_fail(&x->refusal, 503, NULL, "the server is stopping");
    else if (x->route->needs_engine && state == GLINT_ENGINE_LOADING)
        glint_api_fail(&x->refusal, 503, NULL, "Loading model");
    else if (x->route->needs_engine && state == GLINT_ENGINE_FAILED)
        glint_api_fail(&x->refusal, 503, NULL, "the model could not be loaded");
}

// What the head alone can be refused for; x->refusal.status is 0 when it may go on.
static void check_head(struct glint_exchange *x, const char *method) {
    struct glint_server *server = x->server;
    const char *length = glint_exchange_header(x, "Content-Length");
    const union MHD_ConnectionInfo *head =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct glint_route_found found = glint_route_find(x->door->protocol, method, x->path);
    x->route = found.route;
    x->rest = found.rest;
    if (head && head->header_size > MAX_HEAD_BYTES) {
        glint_api_fail(&x->refusal, 431, NULL,
                       "the request line and headers have %zu bytes, at most %d are read",
                       head->header_size, MAX_HEAD_BYTES);
    } else if (x->door->local &&
               !glint_guard_host_is_local(glint_exchange_header(x, "Host"), x->door->host)) {
        glint_metrics_count(server->metrics, GLINT_COUNT_REJECTED_HOST, 1);
        glint_api_fail(&x->refusal, 403, NULL,
                       "Host: expected localhost or 127.0.0.1: this server answers its own "
                       "machine only (glint serve --host)");
    } else if (!check_key(x)) {
        glint_metrics_count(server->metrics, GLINT_COUNT_REJECTED_KEY, 1);
        glint_api_fail(&x->refusal, 401, NULL,
                       "no valid API key: send it as \"Authorization: Bearer KEY\"");
        x->refusal.code = "invalid_api_key";
    } else if (!x->route) {
        glint_api_fail(&x->refusal, 404, NULL, "no such path: %.300s", x->path);
    } else if (found.wrong_method) {
        glint_api_fail(&x->refusal, 405, NULL, "%s: expected method %s", x->path, x->route->method);
    } else if (length && glint_exchange_header(x, "Transfer-Encoding")) {
        glint_api_fail(&x->refusal, 400, NULL,
                       "both Content-Length and Transfer-Encoding; expected one of them");
    } else {
        check_engine(x);
    }
}

static struct glint_exchange *begin(const struct glint_door *door,
                                    struct MHD_Connection *connection, const char *url,
                                    const char *method) {
    struct glint_server *server = door->server;
    struct glint_exchange *x = glint_alloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->server = server;
    x->door = door;
    x->connection = connection;
    x->peer = peer_of(connection);
    x->began_ms = glint_clock_ms();
    snprintf(x->method, sizeof x->method, "%s", method);
    x->path = glint_strndup(url, strlen(url));
    if (!x->path) {
        glint_free(x);
        return NULL;
    }
    const char *id = glint_exchange_header(x, "x-request-id");
    if (id && is_plain_id(id)) {
        snprintf(x->request_id, sizeof x->request_id, "%s", id);
    } else {
        char made[GLINT_RANDOM_ID_BYTES];
        glint_random_id(made, "req_");
        snprintf(x->request_id, sizeof x->request_id, "%s", made);
    }
    glint_watch_stage(server->watch, x->peer, GLINT_PEER_BODY, NULL);
    check_head(x, method);
    return x;
}

static void refuse_body(struct glint_exchange *x) {
    glint_metrics_count(x->server->metrics, GLINT_COUNT_REJECTED_BODY, 1);
    glint_api_fail(&x->refusal, 413, NULL, "the body is over the limit of %zu bytes (--max-body)",
                   x->server->params.max_body_bytes);
}

// Keeps a piece of the body; false: the connection is to be closed.
static bool take_body(struct glint_exchange *x, const char *data, size_t n) {
    size_t limit = x->server->params.max_body_bytes;
    x->body_bytes += n;
    if (x->refusal.status == 0 && x->body_bytes > limit)
        refuse_body(x);
    if (x->refusal.status == 0)
        glint_buffer_append(&x->body, data, n);
    return x->body_bytes <= limit + MAX_IGNORED_BYTES;
}

static void preflight(struct glint_exchange *x) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    const char *asked = glint_exchange_header(x, "Access-Control-Request-Headers");
    x->answered = true;
    x->status = 204;
    if (!response)
        return;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", x->server->params.cors_origin);
    MHD_add_response_header(response, "Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
    if (asked)
        MHD_add_response_header(response, "Access-Control-Allow-Headers", asked);
    MHD_add_response_header(response, "Access-Control-Max-Age", "86400");
    MHD_add_response_header(response, "Vary", "Origin");
    MHD_queue_response(x->connection, 204, response);
    MHD_destroy_response(response);
}

// The request is complete: answers it, or sees to it that it is answered.
static enum MHD_Result complete(struct glint_exchange *x, const char *method) {
    if (!x->ready) {
        x->ready = true;
        glint_watch_stage(x->server->watch, x->peer, GLINT_PEER_WORK, NULL);
        if (x->server->params.cors_origin && strcmp(method, "OPTIONS") == 0)
            preflight(x);
        else if (x->body.failed)
            return MHD_NO;
        else if (x->refusal.status != 0)
            glint_exchange_refuse(x, &x->refusal);
        else
            x->route->handle(x);
    }
    if (!x->answered)
        glint_exchange_continue(x);
    return MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **context) {
    const struct glint_door *door = user;
    struct glint_exchange *x = *context;
    (void)version;
    if (!x || (const void *)x == &cut_path) {
        bool cut = x != NULL;
        *context = x = begin(door, connection, url, method);
        if (!x)
            return MHD_NO;
        if (cut && x->refusal.status == 0)
            glint_api_fail(&x->refusal, 400, NULL, "the path holds %%00");
        uint64_t length = 0;
        const char *header = glint_exchange_header(x, "Content-Length");
        if (header && sscanf(header, "%20lu", &length) == 1 && x->refusal.status == 0 &&
            length > door->server->params.max_body_bytes)
            refuse_body(x);
        if (x->refusal.status != 0 && glint_exchange_header(x, "Expect"))
            glint_exchange_refuse(x, &x->refusal);
        return MHD_YES;
    }
    if (*n != 0) {
        bool go_on = take_body(x, data, *n);
        *n = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    return complete(x, method);
}

// ---- the daemon -------------------------------------------------------------------------------

enum glint_status glint_http_start(struct glint_door *door, int fd, const struct glint_tls *tls,
                                   struct glint_error *err) {
    const struct glint_server_params *params = &door->server->params;
    unsigned n_threads = (unsigned)params->n_threads;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    char versions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
    struct MHD_OptionItem secure[] = {{MHD_OPTION_HTTPS_PRIORITIES, 0, versions},
                                      {MHD_OPTION_HTTPS_MEM_CERT, 0, tls->certificate},
                                      {MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key},
                                      {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    door->daemon = MHD_start_daemon(
        tls->key ? flags | MHD_USE_TLS : flags, 0, NULL, NULL, on_request, door, MHD_OPTION_ARRAY,
        tls->key ? secure : plain, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
        n_threads > 1 ? n_threads : 0, MHD_OPTION_CONNECTION_LIMIT, (unsigned)params->n_connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, door,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, door, MHD_OPTION_URI_LOG_CALLBACK,
        on_request_line, door, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!door->daemon) {
        close(fd);
        return glint_fail(err, GLINT_E_IO,
                          "server: libmicrohttpd cannot start (too many open "
                          "files or connections asked?)");
    }
    return GLINT_OK;
}

// The library shuts its listening socket down at the end, for every process that has it. Another
// takes its place.
static void spare_listener(const struct glint_door *door) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(door->daemon, MHD_DAEMON_INFO_LISTEN_FD);
    int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (info && other >= 0)
        dup2(other, info->listen_fd);
    if (other >= 0)
        close(other);
}

void glint_http_stop(struct glint_door *door) {
    if (door->daemon && door->inherited)
        spare_listener(door);
    if (door->daemon)
        MHD_stop_daemon(door->daemon);
    door->daemon = NULL;
}
