// SPDX-License-Identifier: Apache-2.0
// exchange.h — one HTTP request and its answer, as protocols see them: a body to read, and three
// ways to answer: a finished body, a refusal in the protocol's shape, or a generation that a voice
// turns into bytes as it goes. Only exchange.c and http.c know the HTTP library.
#ifndef GLINT_SERVER_EXCHANGE_H
#define GLINT_SERVER_EXCHANGE_H

#include "server/api_error.h"
#include "server/engine_thread.h"
#include "server/random_id.h"
#include "server/sampling_request.h"
#include "server/server.h"
#include "server/viewer.h"
#include "server/watch.h"

struct MHD_Connection;
struct MHD_Daemon;
struct glint_exchange;
struct glint_response_store;

// A path of the API. "/v1/x" is found as "/x" too and the reverse, unless both have a row.
struct glint_route {
    const char *method; // "GET" (HEAD too) or "POST"
    const char *path;   // ends in "/*": whatever follows, in exchange->rest
    enum glint_protocol protocol;
    bool open;         // needs no key
    bool needs_engine; // 503 while the model is loading
    // Answers exactly once. Called again from its start when pictures had to be waited for.
    void (*handle)(struct glint_exchange *exchange);
};

// A socket that the server listens on.
struct glint_door {
    struct glint_server *server;
    struct MHD_Daemon *daemon;
    enum glint_protocol protocol; // OPENAI or OLLAMA: whose paths come first
    const char *host;
    bool local;     // only this machine can connect: Host is checked
    bool inherited; // another process has the socket too
    char url[300];
    char unix_path[120]; // removed at the end; empty: none
};

enum { GLINT_SERVER_DOORS = 2 };

struct glint_server {
    struct glint_server_params params;
    struct glint_metrics *metrics;
    struct glint_call_memory *memory;
    struct glint_trace *trace; // NULL: none
    struct glint_viewer *viewer;
    struct glint_engine_thread *engine;
    struct glint_watch *watch;
    struct glint_response_store *store; // NULL: responses are not kept
    struct glint_door doors[GLINT_SERVER_DOORS];
    int n_doors;
    char model[200]; // the name clients see
    uint64_t key_salt;
    int64_t created; // Unix time
    // Exchanges that generate, and whether new ones are refused: they order nothing else.
    _Atomic int n_active;
    _Atomic bool draining;
};

// The API key of a tenant, NULL for that of a server without keys.
const char *glint_server_key(const struct glint_server *server, uint64_t tenant);
// A line for the log.
void glint_server_say(const struct glint_server *server, enum glint_log_kind kind,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

// How a protocol says what a generation says.
struct glint_voice {
    bool stream;              // else one JSON body at the end
    bool failed;              // set by note when a stream has ended with an error
    const char *content_type; // of a stream
    const char *ping;         // a sign of life in it; NULL: none
    int n_prompt;             // tokens of the prompt, set before begin
    void (*begin)(struct glint_voice *voice, struct glint_buffer *out); // of a stream
    void (*note)(struct glint_voice *voice, const struct glint_note *note,
                 struct glint_buffer *out);
    void (*end)(struct glint_voice *voice, struct glint_buffer *out); // all works are over
    void (*close)(struct glint_voice *voice);
};

struct glint_exchange {
    struct glint_server *server;
    const struct glint_door *door;
    const struct glint_route *route; // NULL: none matches
    const char *rest;                // of the path, for routes that end in "/*"
    struct glint_buffer body;
    char request_id[65];
    char method[16]; // cut when it is longer: none of ours is
    uint64_t tenant;
    double began_ms;

    // Of exchange.c and http.c.
    struct MHD_Connection *connection;
    struct glint_peer *peer;
    char *path;
    size_t body_bytes;              // seen, also those not kept
    struct glint_api_error refusal; // found before the body was complete
    bool ready;                     // the body is complete
    bool answered;
    int status;
    struct glint_viewing *viewing; // the request's pictures; NULL: none, or not seen to yet
    struct glint_outbox *loading;  // ends when they are there
    bool later;                    // the route's handler is called again then
    struct glint_outbox *outbox;
    struct glint_voice *voice;
    struct glint_buffer batch, out; // notes taken, bytes to send
    size_t out_at;
    double said_ms; // when the stream last said something
    bool ended;
    struct glint_usage usage; // of the last work that finished, for the log
    const char *finish;
};

// What requests need not say. The engine is ready.
struct glint_request_defaults glint_exchange_defaults(const struct glint_exchange *exchange);
// The request's body as JSON. False after refusing it.
bool glint_exchange_parse(struct glint_exchange *exchange, struct glint_json_doc **doc);
// A header of the request; NULL when absent.
const char *glint_exchange_header(const struct glint_exchange *exchange, const char *name);
// An argument after the path's "?"; NULL when absent, "" without a value.
const char *glint_exchange_argument(const struct glint_exchange *exchange, const char *name);
// Takes over the body, which it frees.
void glint_exchange_answer(struct glint_exchange *exchange, int status, const char *content_type,
                           struct glint_buffer *body);
// A body that outlives the server. headers: name, value, name, ..., NULL; Content-Type among them.
void glint_exchange_answer_static(struct glint_exchange *exchange, int status,
                                  struct glint_view body, const char *const *headers);
void glint_exchange_answer_json(struct glint_exchange *exchange, struct glint_buffer *body);
void glint_exchange_refuse(struct glint_exchange *exchange, const struct glint_api_error *error);
// The request's pictures [media->n], decoded. NULL after filling error; while they are loaded its
// status is GLINT_API_LATER: pass it to glint_exchange_refuse like any other, and the handler is
// called again when they are there. max_tokens: of each picture; 0: the server's.
struct glint_picture *const *glint_exchange_view(struct glint_exchange *exchange,
                                                 const struct glint_media *media, int max_tokens,
                                                 struct glint_api_error *error);
// Hands the works to the engine thread; takes over works and voice, also when it has to refuse.
void glint_exchange_generate(struct glint_exchange *exchange, struct glint_work **works, int n,
                             struct glint_voice *voice);

// http.c: true when an answer has been queued; false: call again when there is more.
bool glint_exchange_continue(struct glint_exchange *exchange);
void glint_exchange_fini(struct glint_exchange *exchange);

#endif
