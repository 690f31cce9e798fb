// SPDX-License-Identifier: Apache-2.0
// cmd_serve.c — `glint serve`: the HTTP server, from its flags to its graceful end.
#include "album.h"
#include "cmd.h"
#include "default_model.h"
#include "engine_args.h"
#include "interrupt.h"
#include "serve_log.h"
#include "serve_service.h"
#include "serve_video.h"
#include "server/server.h"
#include "state_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    OPT_HOST = 1,
    OPT_PORT,
    OPT_OLLAMA,
    OPT_EMBEDDINGS,
    OPT_ALIAS,
    OPT_PARALLEL,
    OPT_CACHE,
    OPT_CHECKPOINTS,
    OPT_SHARE,
    OPT_NOISE,
    OPT_TRACE,
    OPT_NO_REUSE,
    OPT_FREE_CALLS,
    OPT_KEY,
    OPT_KEY_FILE,
    OPT_QUEUE,
    OPT_BODY,
    OPT_HTTP_THREADS,
    OPT_CORS,
    OPT_NO_UI,
    OPT_DATE,
    OPT_PREDICT,
    OPT_EFFORT,
    OPT_STORE,
    OPT_NO_STORE,
    OPT_STORE_SIZE,
    OPT_STORE_DAYS,
    OPT_MMPROJ,
    OPT_IMAGE_TOKENS,
    OPT_IMAGE_CACHE,
    OPT_VIDEO_SUMMED,
    OPT_REMOTE,
    OPT_PRIVATE,
    OPT_TLS_CERTIFICATE,
    OPT_TLS_KEY,
    OPT_LOG_FORMAT,
    OPT_METRICS,
};

static const struct glint_option options[] = {
    {OPT_HOST,
     {"host"},
     "ADDRESS",
     "address to listen on (127.0.0.1: this machine alone;\n0.0.0.0: everybody), or a path.sock"},
    {OPT_PORT, {"port"}, "N", "port (8080); 0 takes any free one"},
    {OPT_OLLAMA,
     {"ollama-port"},
     "N",
     "speak Ollama's protocol too, on this port (its clients\nlook at 11434)"},
    {OPT_ALIAS, {"a", "alias"}, "NAME", "name of the model for clients (default: from the file)"},
    {OPT_PARALLEL, {"np", "parallel"}, "N", "answers generated at the same time (4)"},
    {OPT_CACHE,
     {"cache-size"},
     "N",
     "tokens that all conversations hold in memory together\n(default, and at least: one context)"},
    {OPT_CHECKPOINTS,
     {"checkpoints"},
     "N",
     "windows kept beside those in use, for conversations to go\non from (4 more than -np)"},
    {OPT_SHARE, {"share-cache"}, NULL, "clients with different keys share what was evaluated"},
    {OPT_EMBEDDINGS,
     {"embeddings"},
     NULL,
     "answer requests for embeddings (a chat model's are poor)"},
    {OPT_NOISE,
     {"keep-noise"},
     NULL,
     "leave digits that change with each request in agents' texts"},
    {OPT_TRACE,
     {"trace-file"},
     "FILE",
     "for each request, where its prompt left what was there,\nand why, with a few words of it"},
    {OPT_NO_REUSE, {"no-reuse"}, NULL, "evaluate every prompt from its first token"},
    {OPT_FREE_CALLS, {"free-calls"}, NULL, "do not hold tool calls to their tools' schemas"},
    {OPT_KEY,
     {"api-key"},
     "KEY",
     "a key that clients must send; may be repeated. Also taken\n"
     "from the variable GLINT_API_KEY"},
    {OPT_KEY_FILE, {"api-key-file"}, "FILE", "keys, one a line"},
    {OPT_TLS_CERTIFICATE,
     {"ssl-cert-file"},
     "FILE",
     "speak HTTPS with this certificate (PEM, chain after it)"},
    {OPT_TLS_KEY, {"ssl-key-file"}, "FILE", "the certificate's key (PEM, without a password)"},
    {OPT_QUEUE, {"queue"}, "N", "requests that may wait (64); more get status 429"},
    {OPT_BODY, {"max-body"}, "MIB", "largest request in MiB (64)"},
    {OPT_HTTP_THREADS, {"threads-http"}, "N", "threads that serve connections (4)"},
    {OPT_CORS, {"cors-origin"}, "ORIGIN", "web pages of this origin may ask; * means all"},
    {OPT_LOG_FORMAT, {"log-format"}, "WORD", "text, or json: an object a line, for machines"},
    {OPT_METRICS,
     {"metrics-compat"},
     "NAMES",
     "vllm, llamacpp or vllm,llamacpp: /metrics uses their\nnames too"},
    {OPT_NO_UI, {"no-ui"}, NULL, "no chat page at /"},
    {OPT_DATE, {"current-date"}, "TEXT", "date in the default system message (default: today)"},
    {OPT_PREDICT, {"n", "predict"}, "N", "tokens of an answer that sets no limit (no limit)"},
    {OPT_EFFORT,
     {"effort"},
     "LEVEL",
     "reasoning when a request does not say: low, medium,\n"
     "high or xhigh"},
    {OPT_STORE,
     {"store"},
     "FILE",
     "where responses are stored (glint/responses.db among the\n"
     "user's state files)"},
    {OPT_NO_STORE, {"no-store"}, NULL, "store no responses"},
    {OPT_STORE_SIZE, {"store-size"}, "MIB", "what they may take (1024); the oldest go first"},
    {OPT_STORE_DAYS, {"store-days"}, "N", "how long an unused one is kept (30)"},
    {OPT_MMPROJ, {"mmproj"}, "FILE", "vision file (default: MODEL-mmproj.gguf)"},
    {OPT_IMAGE_TOKENS,
     {"image-max-tokens"},
     "N",
     "tokens of a picture whose request does not say (4096)"},
    {OPT_IMAGE_CACHE, {"image-cache"}, "MIB", "memory for pictures that have been looked at (256)"},
    {OPT_VIDEO_SUMMED,
     {"video-summed"},
     NULL,
     "look at videos with a vision file that cannot tell\ntwo frames apart, less exactly"},
    {OPT_REMOTE,
     {"allow-remote-images"},
     NULL,
     "fetch pictures that are given by address, from public\naddresses"},
    {OPT_PRIVATE,
     {"allow-private-images"},
     NULL,
     "the same, also from this machine and private networks"},
    GLINT_ENGINE_OPTIONS,
    GLINT_DRAFT_OPTIONS,
    GLINT_SAMPLING_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "serve",
    "[-m MODEL] [--host ADDRESS] [--port N] [-np N] [--api-key KEY]",
    "An HTTP server that speaks OpenAI's, Anthropic's and Ollama's protocols.",
    options,
};

enum { MIB = 1 << 20, MAX_KEY_FILE = 1 << 20 };

struct serve {
    struct glint_engine_args args;
    struct glint_server_params params;
    struct glint_service service;
    struct glint_serve_log log;
    const char *keys[GLINT_SERVER_MAX_KEYS];
    const char *key_file;
    char *key_text; // owned, the keys of the file stand in it
    char store_path[GLINT_STATE_PATH];
    char *mmproj; // owned, the vision file beside the model
};

static bool add_key(struct serve *serve, const char *key) {
    if (serve->params.n_keys == GLINT_SERVER_MAX_KEYS || key[0] == 0) {
        glint_options_usage(&command, "--api-key: expected a key, %d of them at most",
                            GLINT_SERVER_MAX_KEYS);
        return false;
    }
    serve->keys[serve->params.n_keys++] = key;
    return true;
}

static bool take_picture(struct glint_server_params *params, const struct glint_options *state,
                         int id) {
    int64_t value;
    switch (id) {
    case OPT_MMPROJ:
        params->vision.path = state->value;
        return true;
    case OPT_IMAGE_TOKENS:
        return glint_options_int32(state, 1, 4096, &params->image_max_tokens);
    case OPT_IMAGE_CACHE:
        if (!glint_options_int(state, 1, 1 << 20, &value))
            return false;
        params->vision.kept_bytes = (size_t)value * MIB;
        return true;
    case OPT_VIDEO_SUMMED:
        params->video_summed = true;
        return true;
    default: // OPT_REMOTE, OPT_PRIVATE
        params->remote_images = true;
        params->private_images = params->private_images || id == OPT_PRIVATE;
        return true;
    }
}

static bool take_metrics(struct glint_server_params *params, const char *names) {
    for (const char *name = names; name; name = strchr(name, ',')) {
        name += name > names; // past the comma
        size_t n = strcspn(name, ",");
        bool vllm = n == 4 && strncmp(name, "vllm", n) == 0;
        bool llamacpp = n == 8 && strncmp(name, "llamacpp", n) == 0;
        if (!vllm && !llamacpp) {
            glint_options_usage(&command,
                                "--metrics-compat: found \"%s\", expected vllm, llamacpp or both "
                                "with a comma",
                                names);
            return false;
        }
        params->metrics_vllm = params->metrics_vllm || vllm;
        params->metrics_llamacpp = params->metrics_llamacpp || llamacpp;
    }
    return true;
}

static bool take(struct serve *serve, const struct glint_options *state, int id) {
    struct glint_server_params *params = &serve->params;
    int64_t value;
    if (id >= OPT_MMPROJ && id <= OPT_PRIVATE)
        return take_picture(params, state, id);
    switch (id) {
    case OPT_HOST:
        params->host = state->value;
        return true;
    case OPT_PORT:
        return glint_options_int32(state, 0, 65535, &params->port);
    case OPT_OLLAMA:
        return glint_options_int32(state, 0, 65535, &params->ollama_port);
    case OPT_ALIAS:
        params->alias = state->value;
        return true;
    case OPT_PARALLEL:
        return glint_options_int32(state, 1, 256, &params->engine.n_session);
    case OPT_CACHE:
        return glint_options_int32(state, 1, 1 << 30, &params->engine.n_cache);
    case OPT_CHECKPOINTS:
        return glint_options_int32(state, 0, 4096, &params->engine.n_checkpoint);
    case OPT_SHARE:
        params->share_cache = true;
        return true;
    case OPT_EMBEDDINGS:
        params->embeddings = true;
        return true;
    case OPT_NOISE:
        params->keep_noise = true;
        return true;
    case OPT_TRACE:
        params->trace_path = state->value;
        return true;
    case OPT_NO_REUSE:
        params->no_reuse = true;
        return true;
    case OPT_FREE_CALLS:
        params->free_calls = true;
        return true;
    case OPT_KEY:
        return add_key(serve, state->value);
    case OPT_KEY_FILE:
        serve->key_file = state->value;
        return true;
    case OPT_LOG_FORMAT:
        serve->log.json = strcmp(state->value, "json") == 0;
        if (!serve->log.json && strcmp(state->value, "text") != 0) {
            glint_options_usage(&command, "--log-format: found \"%s\", expected text or json",
                                state->value);
            return false;
        }
        return true;
    case OPT_METRICS:
        return take_metrics(params, state->value);
    case OPT_TLS_CERTIFICATE:
        params->tls_certificate = state->value;
        return true;
    case OPT_TLS_KEY:
        params->tls_key = state->value;
        return true;
    case OPT_QUEUE:
        return glint_options_int32(state, 0, 1 << 20, &params->n_queue);
    case OPT_BODY:
        if (!glint_options_int(state, 1, 4096, &value))
            return false;
        params->max_body_bytes = (size_t)value * MIB;
        return true;
    case OPT_HTTP_THREADS:
        return glint_options_int32(state, 1, 256, &params->n_threads);
    case OPT_CORS:
        params->cors_origin = state->value;
        return true;
    case OPT_NO_UI:
        params->no_page = true;
        return true;
    case OPT_DATE:
        params->date = state->value;
        return true;
    case OPT_PREDICT:
        return glint_options_int(state, -1, INT32_MAX, &params->n_predict);
    case OPT_EFFORT:
        params->effort = state->value;
        return true;
    case OPT_STORE:
    case OPT_NO_STORE:
        params->store = id == OPT_STORE ? state->value : NULL;
        params->store_asked = id == OPT_STORE;
        return true;
    case OPT_STORE_SIZE:
        if (!glint_options_int(state, 1, 1 << 20, &value))
            return false;
        params->store_bytes = value * MIB;
        return true;
    case OPT_STORE_DAYS:
        return glint_options_int32(state, 1, 36500, &params->store_days);
    default:
        return glint_engine_args_take(&serve->args, state, id);
    }
}

// The file's lines as keys; blank lines and those that start with # do not count.
static bool read_keys(struct serve *serve) {
    size_t n;
    serve->key_text = glint_read_file(&command, serve->key_file, &n);
    if (!serve->key_text)
        return false;
    char *rest = NULL;
    for (char *line = strtok_r(serve->key_text, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest))
        if (line[0] != '#' && !add_key(serve, line))
            return false;
    if (serve->params.n_keys == 0) {
        glint_options_usage(&command, "--api-key-file: %s holds no key", serve->key_file);
        return false;
    }
    return true;
}

static bool parse(struct serve *serve, int argc, char **argv, int *result) {
    static struct glint_options state; // large
    const char *variable = getenv("GLINT_API_KEY");
    glint_options_init(&state, &command, argc, argv);
    int id;
    *result = GLINT_EXIT_USAGE;
    while ((id = glint_options_next(&state)) > 0)
        if (!take(serve, &state, id))
            return false;
    if (id != GLINT_OPTIONS_END) {
        *result = glint_options_exit(id);
        return false;
    }
    if (state.argc != 0) {
        glint_options_usage(&command, "found \"%s\", expected options only", state.argv[0]);
        return false;
    }
    if (variable && variable[0] && !add_key(serve, variable))
        return false;
    return !serve->key_file || read_keys(serve);
}

// The vision file of --mmproj, or the one beside the model if there is one.
static void find_vision(struct serve *serve) {
    const struct glint_engine_params *engine = &serve->params.engine;
    struct glint_vision_params *vision = &serve->params.vision;
    if (!vision->path) {
        serve->mmproj = glint_album_beside(engine->model_path);
        if (serve->mmproj && glint_album_is_file(serve->mmproj))
            vision->path = serve->mmproj;
    }
    serve->params.video = &glint_serve_video;
    vision->device = engine->device;
    vision->cpu_tier = engine->cpu_tier;
    vision->n_threads = engine->n_threads;
    vision->exact_activations = engine->exact_activations;
    vision->no_memory_check = engine->no_memory_check;
}

static void say(void *user, enum glint_log_kind kind, const char *text) {
    const struct serve *serve = user;
    glint_serve_log_say(&serve->log, kind, text);
}

static void say_request(void *user, const char *json) {
    const struct serve *serve = user;
    glint_serve_log_request(&serve->log, json);
}

static int report(const struct serve *serve, const struct glint_error *error) {
    if (!serve->log.json)
        return glint_report(&command, error);
    glint_serve_log_say(&serve->log, GLINT_SAY_ERROR, error->text);
    return GLINT_EXIT_FAILED;
}

static void pause_ms(long ms) {
    struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL); // a signal ends it early
}

// Files for all connections and as many as the rest needs, as far as the system allows; fewer
// connections where it does not, so that answers never fail for want of one.
static void allow_files(struct serve *serve) {
    enum { REST = 128, FEWEST = 16 };
    struct glint_server_params *params = &serve->params;
    struct rlimit files;
    char text[160];
    bool two = params->ollama_port >= 0 || params->inherited_ollama_fd >= 0;
    rlim_t n_doors = two ? 2 : 1, wanted = n_doors * (rlim_t)params->n_connections + REST;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted)
        return;
    files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted)
        return;
    rlim_t left = files.rlim_cur > REST ? (files.rlim_cur - REST) / n_doors : 0;
    params->n_connections = left > FEWEST ? (int)left : FEWEST;
    snprintf(text, sizeof text, "at most %d connections: a process may have %llu files (ulimit -n)",
             params->n_connections, (unsigned long long)files.rlim_cur);
    say(serve, GLINT_SAY_WARN, text);
}

// From loading to the end of the last answer after a signal.
static int run(struct glint_server *server, const struct serve *serve) {
    struct glint_error error = {.status = GLINT_OK};
    bool told = false;
    glint_service_tell(&serve->service, "STATUS=Loading the model");
    while (!glint_interrupt_seen()) {
        enum glint_server_state state = glint_server_state(server, &error);
        if (state == GLINT_SERVER_FAILED)
            return report(serve, &error);
        if (state == GLINT_SERVER_READY && !told) {
            glint_serve_log_ready(&serve->log, server, &serve->params);
            glint_service_tell(&serve->service, "READY=1\nSTATUS=Answers at %s",
                               glint_server_url(server));
            told = true;
        }
        pause_ms(told ? 200 : 20);
    }
    glint_serve_log_stopping(&serve->log);
    glint_service_tell(&serve->service, "STOPPING=1\nSTATUS=Finishing the answers under way");
    while (!glint_server_drain(server))
        pause_ms(20);
    glint_serve_log_stopped(&serve->log);
    return GLINT_EXIT_OK;
}

int glint_cmd_serve(int argc, char **argv) {
    static struct serve serve; // large
    struct glint_error error = {.status = GLINT_OK};
    struct glint_server *server = NULL;
    int result;
    memset(&serve, 0, sizeof serve);
    glint_engine_args_init(&serve.args);
    serve.args.seek_draft = true;
    serve.params = glint_server_params_default();
    if (glint_state_file(serve.store_path, "responses.db"))
        serve.params.store = serve.store_path;
    serve.params.engine.n_checkpoint = -1; // not asked for
    serve.args.params.n_session = serve.params.engine.n_session;
    if (!parse(&serve, argc, argv, &result)) {
        free(serve.key_text);
        return result;
    }
    int n_session = serve.params.engine.n_session, n_cache = serve.params.engine.n_cache;
    serve.log.quiet = serve.args.quiet;
    serve.log.verbose = serve.args.verbose;
    serve.args.quiet = serve.args.quiet || serve.log.json; // its words are not JSON
    int n_checkpoint = serve.params.no_reuse ? 0 : serve.params.engine.n_checkpoint;
    if (!glint_engine_args_model(&serve.args, &command)) {
        free(serve.key_text);
        return GLINT_EXIT_FAILED;
    }
    serve.params.engine = serve.args.params;
    serve.params.engine.n_session = n_session;
    serve.params.engine.n_cache = n_cache;
    serve.params.engine.n_checkpoint = n_checkpoint < 0 ? n_session + 4 : n_checkpoint;
    serve.params.engine.cancel = NULL;
    serve.params.engine.progress = NULL;
    serve.params.engine.say = say;
    serve.params.engine.user = &serve;
    serve.params.sampling = serve.args.sampling;
    find_vision(&serve);
    serve.params.keys = serve.keys;
    serve.params.say = say;
    serve.params.say_request = serve.log.json && !serve.log.quiet ? say_request : NULL;
    serve.params.user = &serve;
    glint_interrupt_watch();
    signal(SIGPIPE, SIG_IGN); // a client that left is an error of the write
    if (glint_service_take(&serve.service, &error) == GLINT_OK) {
        serve.params.inherited_fd = serve.service.fd;
        serve.params.inherited_ollama_fd = serve.service.ollama_fd;
    }
    allow_files(&serve);
    if (error.status == GLINT_OK && glint_server_open(&server, &serve.params, &error) == GLINT_OK)
        result = run(server, &serve);
    else
        result = report(&serve, &error);
    glint_server_close(&server);
    free(serve.mmproj);
    free(serve.key_text);
    return result;
}
