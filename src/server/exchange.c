// SPDX-License-Identifier: Apache-2.0
// exchange.c — answering: whole bodies, refusals, and streams that follow a generation.
// A connection whose generation has nothing new to say is suspended; the outbox wakes it.
#include "server/exchange.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 16 << 10 };

const char *glint_server_key(const struct glint_server *server, uint64_t tenant) {
    return tenant == 0 ? NULL : server->params.keys[tenant - 1];
}

void glint_server_say(const struct glint_server *server, enum glint_log_kind kind,
                      const char *format, ...) {
    char line[1200];
    va_list args;
    if (!server->params.say)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    server->params.say(server->params.user, kind, line);
}

struct glint_request_defaults glint_exchange_defaults(const struct glint_exchange *x) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_engine_info info = glint_engine_info(engine);
    return (struct glint_request_defaults){.sampling = x->server->params.sampling,
                                           .n_predict = x->server->params.n_predict,
                                           .n_vocab = info.n_vocab,
                                           .n_context = info.n_context,
                                           .keep_noise = x->server->params.keep_noise};
}

bool glint_exchange_parse(struct glint_exchange *x, struct glint_json_doc **doc) {
    struct glint_error error = {.status = GLINT_OK};
    struct glint_json_options options = {.repair_surrogates = true, .name = "body"};
    struct glint_view text = {x->body.data ? x->body.data : "", x->body.n};
    struct glint_api_error refusal;
    *doc = NULL;
    if (text.n == 0)
        glint_api_fail(&refusal, 400, NULL, "the body is empty; expected a JSON object");
    else if (glint_json_parse(doc, text, &options, &error) != GLINT_OK)
        glint_api_fail(&refusal, error.status == GLINT_E_NOMEM ? 500 : 400, NULL, "%s", error.text);
    else if (!glint_json_is(glint_json_root(*doc), GLINT_JSON_OBJECT))
        glint_api_fail(&refusal, 400, NULL, "the body is %s; expected a JSON object",
                       glint_json_kind_name(glint_json_root(*doc)));
    else
        return true;
    glint_json_close(doc);
    glint_exchange_refuse(x, &refusal);
    return false;
}

const char *glint_exchange_header(const struct glint_exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const char *glint_exchange_argument(const struct glint_exchange *x, const char *name) {
    const char *value = NULL;
    size_t n = 0;
    bool there = MHD_lookup_connection_value_n(x->connection, MHD_GET_ARGUMENT_KIND, name,
                                               strlen(name), &value, &n) == MHD_YES;
    return there ? (value ? value : "") : NULL;
}

// content_type may be NULL: the caller adds it.
static void add_headers(struct glint_exchange *x, struct MHD_Response *response,
                        const char *content_type) {
    const char *origin = x->server->params.cors_origin;
    bool anthropic = x->route && x->route->protocol == GLINT_PROTOCOL_ANTHROPIC;
    if (content_type)
        MHD_add_response_header(response, "Content-Type", content_type);
    MHD_add_response_header(response, "Cache-Control", "no-cache");
    MHD_add_response_header(response, "Server", "glint/" GLINT_VERSION);
    MHD_add_response_header(response, anthropic ? "request-id" : "x-request-id", x->request_id);
    if (origin) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
        MHD_add_response_header(response, "Access-Control-Expose-Headers",
                                "x-request-id, request-id");
        MHD_add_response_header(response, "Vary", "Origin");
    }
}

static void queue(struct glint_exchange *x, int status, struct MHD_Response *response) {
    x->answered = true;
    x->status = status;
    if (response) {
        MHD_queue_response(x->connection, (unsigned)status, response);
        MHD_destroy_response(response);
    }
}

void glint_exchange_answer(struct glint_exchange *x, int status, const char *content_type,
                           struct glint_buffer *body) {
    struct MHD_Response *response = NULL;
    if (!body->failed)
        response = MHD_create_response_from_buffer(body->n, body->data, MHD_RESPMEM_MUST_COPY);
    if (response) {
        add_headers(x, response, content_type);
        if (status == 429 || status == 503)
            MHD_add_response_header(response, "Retry-After", status == 429 ? "1" : "5");
        if (status == 401)
            MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
        if (status == 405)
            MHD_add_response_header(response, "Allow", x->route ? x->route->method : "GET");
    }
    queue(x, status, response);
    glint_buffer_fini(body);
}

void glint_exchange_answer_static(struct glint_exchange *x, int status, struct glint_view body,
                                  const char *const *headers) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body.n, (void *)body.data, MHD_RESPMEM_PERSISTENT);
    if (response) {
        add_headers(x, response, NULL);
        for (; *headers; headers += 2)
            MHD_add_response_header(response, headers[0], headers[1]);
    }
    queue(x, status, response);
}

void glint_exchange_answer_json(struct glint_exchange *x, struct glint_buffer *body) {
    glint_exchange_answer(x, 200, "application/json", body);
}

void glint_exchange_refuse(struct glint_exchange *x, const struct glint_api_error *error) {
    struct glint_buffer body = {.data = NULL};
    if (error->status == GLINT_API_LATER) {
        x->refusal = (struct glint_api_error){.status = 0};
        x->later = true;
        return;
    }
    enum glint_protocol protocol = x->route ? x->route->protocol : x->door->protocol;
    glint_api_error_put(error, protocol, x->request_id, &body);
    glint_exchange_answer(x, error->status, "application/json", &body);
}

// ---- generations ------------------------------------------------------------------------------

static void wake(void *user) {
    struct glint_exchange *x = user;
    MHD_resume_connection(x->connection);
}

static void suspend(void *user) {
    struct glint_exchange *x = user;
    MHD_suspend_connection(x->connection);
}

// Everything that has been said so far, through the voice into out. True at the end.
static bool listen_to(struct glint_exchange *x) {
    bool over = glint_outbox_take(x->outbox, &x->batch);
    struct glint_note note;
    size_t at = 0;
    while (glint_outbox_next(&x->batch, &at, &note)) {
        if (note.kind == GLINT_NOTE_FINISH) {
            x->usage = note.usage;
            x->finish = glint_turn_reason_name(note.reason);
        }
        if (note.kind == GLINT_NOTE_FAIL) {
            struct glint_error error = {.status = note.status};
            snprintf(error.text, sizeof error.text, "%s", note.text);
            glint_api_fail_from(&x->refusal, &error);
            x->finish = "error";
        }
        x->voice->note(x->voice, &note, &x->out);
    }
    return over;
}

static ssize_t read_stream(void *user, uint64_t position, char *out, size_t max) {
    struct glint_exchange *x = user;
    (void)position;
    for (;;) {
        size_t left = x->out.n - x->out_at;
        if (left != 0) {
            size_t n = left < max ? left : max;
            memcpy(out, x->out.data + x->out_at, n);
            x->out_at += n;
            x->said_ms = glint_clock_ms();
            return (ssize_t)n;
        }
        if (x->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (x->out.failed)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        glint_buffer_clear(&x->out);
        x->out_at = 0;
        if (listen_to(x)) {
            if (glint_outbox_is_cancelled(x->outbox))
                return MHD_CONTENT_READER_END_WITH_ERROR;
            if (!x->voice->failed)
                x->voice->end(x->voice, &x->out);
            x->ended = true;
        } else if (x->out.n == 0 && x->voice->ping &&
                   glint_clock_ms() - x->said_ms > GLINT_WATCH_PING_MS / 2) {
            glint_buffer_append_text(&x->out, x->voice->ping);
        } else if (x->out.n == 0 && glint_outbox_wait(x->outbox, suspend)) {
            return 0;
        }
    }
}

static void start_stream(struct glint_exchange *x) {
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, x, NULL);
    if (response) {
        add_headers(x, response, x->voice->content_type);
        MHD_add_response_header(response, "X-Accel-Buffering", "no"); // nginx
    }
    x->said_ms = glint_clock_ms();
    x->voice->begin(x->voice, &x->out);
    queue(x, 200, response);
}

// The pictures are there, or cannot be had: the route starts again.
static void handle_again(struct glint_exchange *x) {
    x->later = false;
    if (glint_outbox_is_cancelled(x->loading)) {
        glint_api_fail(&x->refusal, 499, NULL, "the client has left");
        glint_metrics_count(x->server->metrics, GLINT_COUNT_CANCELLED_PICTURE, 1);
        glint_exchange_refuse(x, &x->refusal);
    } else {
        x->route->handle(x);
    }
}

bool glint_exchange_continue(struct glint_exchange *x) {
    while (!x->answered) {
        if (x->later) {
            if (glint_outbox_wait(x->loading, suspend))
                return false;
            handle_again(x);
        } else if (listen_to(x)) {
            if (x->refusal.status != 0) {
                glint_exchange_refuse(x, &x->refusal);
                break;
            }
            x->voice->end(x->voice, &x->out);
            struct glint_buffer body = x->out;
            x->out = (struct glint_buffer){.data = NULL};
            glint_exchange_answer_json(x, &body);
        } else if (glint_outbox_wait(x->outbox, suspend)) {
            return false;
        }
    }
    return true;
}

static bool begin_view(struct glint_exchange *x, const struct glint_media *media, int max_tokens,
                       struct glint_api_error *error) {
    struct glint_outbox *loading = glint_outbox_open(1, wake, x);
    if (!loading) {
        glint_api_fail(error, 500, NULL, "no memory for the request");
        return false;
    }
    const struct glint_viewing_request request = {
        .media = media, .max_tokens = max_tokens, .tenant = x->tenant, .outbox = loading};
    if (!glint_viewer_begin(x->server->viewer, &request, &x->viewing, error)) {
        if (error->status == 429)
            glint_metrics_count(x->server->metrics, GLINT_COUNT_REJECTED_QUEUE, 1);
        glint_outbox_finish(loading);
        glint_outbox_release(loading);
        return false;
    }
    atomic_fetch_add_explicit(&x->server->n_active, 1, memory_order_relaxed);
    x->loading = loading;
    glint_watch_stage(x->server->watch, x->peer, GLINT_PEER_WORK, loading);
    return true;
}

struct glint_picture *const *glint_exchange_view(struct glint_exchange *x,
                                                 const struct glint_media *media, int max_tokens,
                                                 struct glint_api_error *error) {
    size_t n;
    if (!x->viewing) {
        if (begin_view(x, media, max_tokens, error))
            error->status = GLINT_API_LATER;
        return NULL;
    }
    struct glint_picture *const *pictures = glint_viewing_pictures(x->viewing, &n, error);
    if (pictures && n != media->n) { // the handler is no function of the request
        glint_api_fail(error, 500, NULL, "found %zu pictures, expected %zu", media->n, n);
        return NULL;
    }
    return pictures;
}

static enum glint_status submit(struct glint_exchange *x, struct glint_work **works, int n,
                                struct glint_error *err) {
    x->outbox = glint_outbox_open(n, wake, x);
    if (!x->outbox)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for the request");
    atomic_fetch_add_explicit(&x->server->n_active, 1, memory_order_relaxed);
    for (int i = 0; i < n; i++) {
        works[i]->tenant = x->tenant;
        memcpy(works[i]->request_id, x->request_id, sizeof works[i]->request_id);
        works[i]->outbox = x->outbox;
    }
    glint_watch_stage(x->server->watch, x->peer, GLINT_PEER_WORK, x->outbox);
    GLINT_TRY(glint_engine_thread_submit(x->server->engine, works, n, err));
    if (x->viewing)
        glint_viewing_look(x->viewing, x->outbox);
    return GLINT_OK;
}

void glint_exchange_generate(struct glint_exchange *x, struct glint_work **works, int n,
                             struct glint_voice *voice) {
    struct glint_error error = {.status = GLINT_OK};
    enum glint_status status = submit(x, works, n, &error);
    x->voice = voice;
    if (status == GLINT_OK) {
        if (voice->stream)
            start_stream(x);
        return;
    }
    for (int i = 0; i < n; i++)
        glint_work_close(&works[i]);
    glint_api_fail_from(&x->refusal, &error);
    if (status == GLINT_E_BUSY)
        glint_metrics_count(x->server->metrics, GLINT_COUNT_REJECTED_QUEUE, 1);
    else if (status == GLINT_E_CANCELLED)
        x->refusal.status = 503;
    glint_exchange_refuse(x, &x->refusal);
}

void glint_exchange_fini(struct glint_exchange *x) {
    if (x->loading) {
        glint_outbox_release(x->loading);
        atomic_fetch_sub_explicit(&x->server->n_active, 1, memory_order_relaxed);
    }
    glint_viewing_release(&x->viewing);
    if (x->outbox) {
        glint_outbox_cancel(x->outbox); // of no effect when all is over
        glint_engine_thread_nudge(x->server->engine);
        glint_outbox_release(x->outbox);
        atomic_fetch_sub_explicit(&x->server->n_active, 1, memory_order_relaxed);
    }
    if (x->voice)
        x->voice->close(x->voice);
    glint_buffer_fini(&x->body);
    glint_buffer_fini(&x->batch);
    glint_buffer_fini(&x->out);
    glint_free(x->path);
}
