// SPDX-License-Identifier: Apache-2.0
// server.c — the parts in the order in which they need each other, and back.
#include "server/server.h"

#include "base/alloc.h"
#include "server/call_memory.h"
#include "server/guard.h"
#include "server/http.h"
#include "server/listen.h"
#include "server/response_store.h"
#include "server/tls.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_MEMORY = 32 << 20 }; // bytes of turns that may come back

struct glint_server_params glint_server_params_default(void) {
    struct glint_server_params params = {
        .engine = glint_engine_params_default(),
        .sampling = glint_sampler_defaults(),
        .n_predict = -1,
        .host = "127.0.0.1",
        .port = 8080,
        .ollama_port = -1,
        .inherited_fd = -1,
        .inherited_ollama_fd = -1,
        .n_queue = 64,
        .n_connections = 1024,
        .n_threads = 4,
        .max_body_bytes = 64 << 20,
        .store_bytes = 1 << 30,
        .store_days = 30,
    };
    params.engine.n_session = 4;
    return params;
}

// "models/glimmer-mini.gguf" -> "glimmer-mini"
static void name_model(struct glint_server *server) {
    const struct glint_server_params *params = &server->params;
    const char *path = params->alias ? params->alias : params->engine.model_path;
    const char *slash = params->alias ? NULL : strrchr(path, '/');
    snprintf(server->model, sizeof server->model, "%s", slash ? slash + 1 : path);
    size_t n = strlen(server->model);
    if (!params->alias && n > 5 && strcmp(server->model + n - 5, ".gguf") == 0)
        server->model[n - 5] = 0;
}

static void gone(void *user) {
    struct glint_server *server = user;
    glint_engine_thread_nudge(server->engine);
}

// Listens at the next door. A Unix socket is for the first alone: the second takes this machine's
// own address then.
static enum glint_status open_door(struct glint_server *server, enum glint_protocol protocol,
                                   int port, int inherited, int *fd, struct glint_error *err) {
    struct glint_door *door = &server->doors[server->n_doors];
    const char *host = server->params.host;
    struct glint_listener listener;
    bool tls = server->params.tls_certificate != NULL;
    if (protocol == GLINT_PROTOCOL_OLLAMA && server->doors[0].unix_path[0])
        host = "127.0.0.1";
    if (inherited >= 0) {
        GLINT_TRY(glint_listener_inherit(&listener, inherited, "LISTEN_FDS", tls, err));
        host = ""; // no name but this machine's own
    } else {
        GLINT_TRY(glint_listener_open(&listener, host, port, tls, err));
    }
    *door = (struct glint_door){.server = server,
                                .protocol = protocol,
                                .host = host,
                                .local = listener.local,
                                .inherited = inherited >= 0};
    snprintf(door->url, sizeof door->url, "%s", listener.url);
    if (listener.unix_path)
        snprintf(door->unix_path, sizeof door->unix_path, "%s", listener.unix_path);
    *fd = listener.fd;
    server->n_doors++;
    return GLINT_OK;
}

static void seen(void *user) {
    struct glint_server *server = user;
    glint_engine_thread_nudge(server->engine);
}

static enum glint_status open_viewer(struct glint_server *server, struct glint_error *err) {
    const struct glint_server_params *params = &server->params;
    const struct glint_viewer_params viewer = {.vision = params->vision,
                                               .max_tokens = params->image_max_tokens,
                                               .video = params->video,
                                               .video_summed = params->video_summed,
                                               .fetch = params->remote_images,
                                               .fetch_private = params->private_images,
                                               .n_queue = params->n_queue,
                                               .max_bytes = 4 * params->max_body_bytes,
                                               .max_request_bytes = params->max_body_bytes,
                                               .metrics = server->metrics,
                                               .seen = seen,
                                               .user = server};
    return glint_viewer_open(&server->viewer, &viewer, err);
}

static enum glint_status open_engine(struct glint_server *server, struct glint_error *err) {
    struct glint_engine_thread_params engine = {.engine = server->params.engine,
                                                .n_queue = server->params.n_queue,
                                                .no_reuse = server->params.no_reuse,
                                                .viewer = server->viewer,
                                                .share = server->params.share_cache,
                                                .metrics = server->metrics,
                                                .trace = server->trace};
    GLINT_TRY(glint_watch_open(&server->watch, gone, server, err));
    return glint_engine_thread_open(&server->engine, &engine, err);
}

// A store that nobody asked for by name is opened when it is first needed.
static enum glint_status open_store(struct glint_server *server, struct glint_error *err) {
    const struct glint_server_params *params = &server->params;
    struct glint_response_store_params store = {params->store, params->store_bytes,
                                                params->store_days};
    struct glint_error error = {.status = GLINT_OK};
    if (!params->store)
        return GLINT_OK;
    enum glint_status status = glint_response_store_open(&server->store, &store, &error);
    if (status == GLINT_OK && params->store_asked)
        status = glint_response_store_ready(server->store, &error);
    if (status == GLINT_OK)
        return GLINT_OK;
    if (params->store_asked)
        return glint_fail(err, status, "%s", error.text);
    glint_server_say(server, GLINT_SAY_INFO, "responses are not stored: %s", error.text);
    return GLINT_OK;
}

static enum glint_status open_doors(struct glint_server *server, const struct glint_tls *tls,
                                    struct glint_error *err) {
    const struct glint_server_params *params = &server->params;
    int fds[GLINT_SERVER_DOORS] = {-1, -1};
    enum glint_status status =
        open_door(server, GLINT_PROTOCOL_OPENAI, params->port, params->inherited_fd, &fds[0], err);
    if (status == GLINT_OK && (params->ollama_port >= 0 || params->inherited_ollama_fd >= 0))
        status = open_door(server, GLINT_PROTOCOL_OLLAMA, params->ollama_port,
                           params->inherited_ollama_fd, &fds[1], err);
    if (status == GLINT_OK)
        status = open_viewer(server, err);
    if (status == GLINT_OK)
        status = open_engine(server, err);
    for (int i = 0; i < server->n_doors; i++) {
        if (status == GLINT_OK)
            status = glint_http_start(&server->doors[i], fds[i], tls, err);
        else
            close(fds[i]);
    }
    return status;
}

static enum glint_status start(struct glint_server *server, struct glint_error *err) {
    const struct glint_server_params *params = &server->params;
    struct glint_tls tls = {.key = NULL};
    GLINT_TRY(glint_call_memory_open(&server->memory, MAX_MEMORY, err));
    if (params->trace_path)
        GLINT_TRY(glint_trace_open(&server->trace, params->trace_path, err));
    server->metrics = glint_metrics_open();
    if (!server->metrics)
        return glint_fail(err, GLINT_E_NOMEM, "server: no memory");
    GLINT_TRY(open_store(server, err));
    if (params->tls_certificate || params->tls_key)
        GLINT_TRY(glint_tls_open(&tls, params->tls_certificate, params->tls_key, err));
    enum glint_status status = open_doors(server, &tls, err);
    glint_tls_close(&tls); // the daemons have read it
    return status;
}

enum glint_status glint_server_open(struct glint_server **out,
                                    const struct glint_server_params *params,
                                    struct glint_error *err) {
    *out = NULL;
    struct glint_server *server = glint_alloc(1, sizeof *server);
    if (!server)
        return glint_fail(err, GLINT_E_NOMEM, "server: no memory");
    server->params = *params;
    server->created = (int64_t)time(NULL);
    name_model(server);
    enum glint_status status = start(server, err);
    if (status != GLINT_OK)
        glint_server_close(&server);
    *out = server;
    return status;
}

enum glint_server_state glint_server_state(const struct glint_server *server,
                                           struct glint_error *err) {
    switch (glint_engine_thread_state(server->engine)) {
    case GLINT_ENGINE_READY:
        return GLINT_SERVER_READY;
    case GLINT_ENGINE_FAILED:
        if (err)
            *err = *glint_engine_thread_error(server->engine);
        return GLINT_SERVER_FAILED;
    default:
        return GLINT_SERVER_LOADING;
    }
}

const char *glint_server_url(const struct glint_server *server) {
    return server->doors[0].url;
}

const char *glint_server_ollama_url(const struct glint_server *server) {
    return server->n_doors > 1 ? server->doors[1].url : NULL;
}

const char *glint_server_model(const struct glint_server *server) {
    return server->model;
}

struct glint_engine_info glint_server_engine(const struct glint_server *server) {
    return glint_engine_info(glint_engine_thread_engine(server->engine));
}

bool glint_server_drain(struct glint_server *server) {
    // New requests are refused from here on. New connections are not: the library's way to that
    // (MHD_quiesce_daemon) races with its own threads, and ends the program when it loses.
    atomic_store_explicit(&server->draining, true, memory_order_relaxed);
    return atomic_load_explicit(&server->n_active, memory_order_relaxed) == 0;
}

// Order: the engine thread ends all works and the viewer what waits for pictures, which wakes every
// suspended connection; only then may the HTTP threads be stopped. Those look at the watch until
// their end, and it at the engine.
void glint_server_close(struct glint_server **server_in) {
    struct glint_server *server = *server_in;
    *server_in = NULL;
    if (!server)
        return;
    glint_engine_thread_stop(server->engine);
    glint_viewer_stop(server->viewer);
    for (int i = 0; i < server->n_doors; i++)
        glint_http_stop(&server->doors[i]);
    glint_watch_close(&server->watch);
    glint_engine_thread_close(&server->engine);
    glint_viewer_close(&server->viewer);
    glint_metrics_close(&server->metrics);
    glint_call_memory_close(&server->memory);
    glint_trace_close(&server->trace);
    glint_response_store_close(&server->store);
    for (int i = 0; i < server->n_doors; i++)
        if (server->doors[i].unix_path[0])
            unlink(server->doors[i].unix_path);
    glint_free(server);
}
