// SPDX-License-Identifier: Apache-2.0
// server.h — an HTTP server around one engine, for the command `glint serve`.
// docs/server.md tells how it works. Nothing here prints; what is worth saying goes to `say`.
#ifndef GLINT_SERVER_SERVER_H
#define GLINT_SERVER_SERVER_H

#include <glint/glint.h>

enum { GLINT_SERVER_MAX_KEYS = 64 };

// What reads videos, which the server cannot do itself.
struct glint_video_reader {
    // Fills the frames' fields of source from the video file in it. cancel is asked meanwhile and
    // while frames are read; true stops.
    enum glint_status (*open)(void **video, struct glint_picture_source *source,
                              bool (*cancel)(void *user), void *user, struct glint_error *err);
    void (*close)(void *video);
};

struct glint_server_params {
    struct glint_engine_params engine;      // n_session: sequences generated at once
    struct glint_sampler_options sampling;  // what a request does not say
    const char *effort;                     // likewise; NULL: the template's
    int64_t n_predict;                      // tokens of an answer without max_tokens; -1: no limit
    const char *host;                       // address or name, or a path that ends in ".sock"
    int port;                               // 0: any free one
    int ollama_port;                        // a second socket that speaks Ollama's protocol; 0: any
                                            // free one; -1: none
    int inherited_fd, inherited_ollama_fd;  // sockets that listen already, in place of the two
                                            // above; taken over; -1: none
    const char *alias;                      // name of the model; NULL: from the file's name
    const char *tls_certificate;            // PEM files for HTTPS, on both sockets; both or
    const char *tls_key;                    // neither, NULL: plain HTTP
    int n_queue;                            // requests that may wait; over it: 429
    int n_connections;                      // open at once
    int n_threads;                          // that serve connections
    size_t max_body_bytes;                  // of a request; over it: 413
    struct glint_vision_params vision;      // path NULL: no pictures
    const struct glint_video_reader *video; // NULL: no videos
    int image_max_tokens;                   // of a picture that sets no limit; 0: the most there is
    bool video_summed;                      // as in glint_picture_source.summed_kernel
    bool remote_images, private_images;     // addresses of pictures are fetched; also private ones
    const char *const *keys;                // [n_keys] API keys; none: everybody may ask
    size_t n_keys;
    const char *cors_origin; // "*", or one origin that pages may ask from; NULL: none
    const char *date;        // of the default system text; NULL: today
    const char *store;       // file of stored responses, in a folder that exists; NULL: none
    bool store_asked;        // it is an error if that file cannot be had; else a warning
    int64_t store_bytes;     // it may grow to
    int store_days;          // a response is kept for without being used
    bool embeddings;         // texts may be asked for as vectors
    bool free_calls;         // calls nobody forces need not fit their tools
    bool no_page;            // no chat page at "/"
    const char *trace_path;  // file for what requests reuse and why not more; NULL: none
    bool keep_noise;         // of agents' system texts: digits that change with each request
    bool metrics_vllm, metrics_llamacpp; // /metrics also under their names
    bool share_cache;                    // keys share what was evaluated
    bool no_reuse;                       // every prompt is evaluated from its first token
    void (*say)(void *user, enum glint_log_kind kind, const char *text); // from any thread
    // In place of the line that say gets for a request: a JSON object of one line.
    void (*say_request)(void *user, const char *json); // from any thread; NULL: say gets words
    void *user;
};
// Loopback, port 8080, 4 sequences, 64 waiting, 1,024 connections, 4 threads, 64 MiB.
struct glint_server_params glint_server_params_default(void);

enum glint_server_state { GLINT_SERVER_LOADING, GLINT_SERVER_READY, GLINT_SERVER_FAILED };

struct glint_server;

// Listens and starts to load the model; requests meanwhile get 503. The strings of params must
// outlive the server.
enum glint_status glint_server_open(struct glint_server **server,
                                    const struct glint_server_params *params,
                                    struct glint_error *err);
// FAILED: err tells why the model could not be loaded.
enum glint_server_state glint_server_state(const struct glint_server *server,
                                           struct glint_error *err);
// What clients put before a path: "http://127.0.0.1:8080", with TLS "https://...".
const char *glint_server_url(const struct glint_server *server);
const char *glint_server_ollama_url(const struct glint_server *server); // NULL: none
const char *glint_server_model(const struct glint_server *server);      // its name for clients
// After READY.
struct glint_engine_info glint_server_engine(const struct glint_server *server);
// Refuses new requests with status 503. True when nothing is running any more.
bool glint_server_drain(struct glint_server *server);
// Cuts off what is still running.
void glint_server_close(struct glint_server **server);

#endif
