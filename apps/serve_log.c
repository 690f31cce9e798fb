// SPDX-License-Identifier: Apache-2.0
// serve_log.c — each line is written by one call, so that those of several threads stay whole.
#include "serve_log.h"

#include "json_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- JSON -------------------------------------------------------------------------------------

// A line in the making, in memory. NULL: there is none, and the line is left out.
struct line {
    FILE *file;
    char *text;
    size_t n;
};

static bool begin(struct line *line, const char *level, const char *event) {
    struct timespec now;
    struct tm parts;
    char date[32] = "";
    *line = (struct line){.file = NULL};
    line->file = open_memstream(&line->text, &line->n);
    if (!line->file)
        return false;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    fprintf(line->file, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"event\":\"%s\"", date,
            now.tv_nsec / 1000000, level, event);
    return true;
}

static void put_text(struct line *line, const char *key, const char *text) {
    fprintf(line->file, ",\"%s\":", key);
    glint_json_out_string(line->file, text, strlen(text));
}

// more: what follows the members so far.
static void end(struct line *line, const char *more) {
    fprintf(line->file, "%s\n", more);
    if (fclose(line->file) == 0)
        fwrite(line->text, 1, line->n, stderr);
    free(line->text);
}

void glint_serve_log_request(const struct glint_serve_log *log, const char *object) {
    struct line line;
    if (!log->json || !begin(&line, "info", "request"))
        return;
    putc(',', line.file);
    end(&line, object + 1); // members of its own, the brace at the end too
}

static void say_event(const struct glint_serve_log *log, const char *event) {
    struct line line;
    if (log->json && !log->quiet && begin(&line, "info", event))
        end(&line, "}");
}

void glint_serve_log_stopping(const struct glint_serve_log *log) {
    say_event(log, "stopping");
}

void glint_serve_log_stopped(const struct glint_serve_log *log) {
    say_event(log, "stopped");
}

static void ready_json(const struct glint_server *server, const struct glint_server_params *params,
                       const struct glint_engine_info *info) {
    struct line line;
    if (!begin(&line, "info", "ready"))
        return;
    put_text(&line, "model", glint_server_model(server));
    put_text(&line, "url", glint_server_url(server));
    if (glint_server_ollama_url(server))
        put_text(&line, "ollama_url", glint_server_ollama_url(server));
    put_text(&line, "device", info->device);
    put_text(&line, "tier", info->tier);
    fprintf(line.file, ",\"sequences\":%d,\"context\":%d", params->engine.n_session,
            info->n_context);
    end(&line, "}");
}

// ---- both -------------------------------------------------------------------------------------

void glint_serve_log_say(const struct glint_serve_log *log, enum glint_log_kind kind,
                         const char *text) {
    static const char *const word[] = {"error: ", "warning: ", "", ""};
    static const char *const level[] = {"error", "warning", "info", "debug"};
    bool show = kind == GLINT_SAY_ERROR || (kind != GLINT_SAY_DEBUG && !log->quiet) || log->verbose;
    struct line line;
    if (show && !log->json) {
        fprintf(stderr, "%s%s\n", word[kind], text);
    } else if (show && begin(&line, level[kind], "message")) {
        put_text(&line, "message", text);
        end(&line, "}");
    }
}

void glint_serve_log_ready(const struct glint_serve_log *log, const struct glint_server *server,
                           const struct glint_server_params *params) {
    const char *url = glint_server_url(server);
    struct glint_engine_info info = glint_server_engine(server);
    if (log->quiet)
        return;
    if (log->json) {
        ready_json(server, params, &info);
        return;
    }
    fprintf(stderr, "%s is ready at %s: %d answers at once, context %d tokens, %s %s\n",
            glint_server_model(server), url, params->engine.n_session, info.n_context, info.device,
            info.tier);
    if (glint_server_ollama_url(server))
        fprintf(stderr, "  Ollama clients: OLLAMA_HOST=%s\n", glint_server_ollama_url(server));
    if (strncmp(url, "unix:", 5) == 0)
        return;
    if (!params->no_page)
        fprintf(stderr, "  Chat page: %s/\n", url);
    fprintf(stderr,
            "  OpenAI clients: base URL %s/v1, %s\n"
            "  curl %s/v1/chat/completions %s-H 'Content-Type: application/json' \\\n"
            "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Who are you?\"}]}'\n"
            "  Ctrl-C stops when the answers under way are finished; twice at once.\n",
            url, params->n_keys ? "one of your API keys" : "any API key", url,
            params->n_keys ? "-H \"Authorization: Bearer $GLINT_API_KEY\" " : "");
}
