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
    fprintf(line.file, ",\"memory_bytes\":%llu,\"weight_bytes\":%llu,\"cache_bytes\":%llu",
            (unsigned long long)info->plan.total, (unsigned long long)info->plan.weights,
            (unsigned long long)info->plan.cache);
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

static double gib(uint64_t bytes) {
    return (double)bytes / (1 << 30);
}

static void print_memory(const struct glint_memory_plan *plan) {
    char available[40] = "";
    if (plan->available != 0)
        snprintf(available, sizeof available, " of %.2f GiB that were free", gib(plan->available));
    fprintf(stderr, "  Memory: %.2f GiB%s: weights %.2f, cache %.2f, drafter %.2f, work %.2f\n",
            gib(plan->total), available, gib(plan->weights), gib(plan->cache), gib(plan->drafter),
            gib(plan->scratch));
}

static void print_curl(const char *url, bool keys) {
    bool path = strncmp(url, "unix:", 5) == 0;
    fprintf(stderr,
            "  curl %s%s%s%s/v1/chat/completions %s-H 'Content-Type: application/json' \\\n"
            "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Who are you?\"}]}'\n",
            path ? "--unix-socket '" : "", path ? url + 5 : "", path ? "' " : "",
            path ? "http://localhost" : url,
            keys ? "-H \"Authorization: Bearer $GLINT_API_KEY\" " : "");
}

// Lines for a shell. The server answers to any name, so that one which a shell, TOML or JSON would
// read as something else need not be told.
static void print_agents(const char *url, const char *model, int n_context, bool keys) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *name = model[0] && model[strspn(model, plain)] == 0 ? model : "glint";
    const char *key = keys ? "\"$GLINT_API_KEY\"" : "none";
    int n_answer = n_context < 65536 ? n_context / 2 : 32768;
    fprintf(
        stderr,
        "  OpenAI SDK:  export OPENAI_BASE_URL=%s/v1 OPENAI_API_KEY=%s\n"
        "  Claude Code: ANTHROPIC_BASE_URL=%s ANTHROPIC_AUTH_TOKEN=%s ANTHROPIC_MODEL=%s claude\n"
        "  Codex:       codex -c model=%s -c model_provider=glint -c 'model_providers.glint="
        "{name=\"glint\",base_url=\"%s/v1\",wire_api=\"responses\"%s}'\n"
        "  opencode:    OPENCODE_CONFIG_CONTENT='{\"model\":\"glint/%s\",\"provider\":{\"glint\":"
        "{\"npm\":\"@ai-sdk/openai-compatible\",\"options\":{\"baseURL\":\"%s/v1\","
        "\"apiKey\":\"%s\"},\"models\":{\"%s\":{\"tool_call\":true,\"limit\":"
        "{\"context\":%d,\"output\":%d}}}}}}' opencode\n",
        url, key, url, key, name, name, url, keys ? ",env_key=\"GLINT_API_KEY\"" : "", name, url,
        keys ? "{env:GLINT_API_KEY}" : "none", name, n_context, n_answer);
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
    print_memory(&info.plan);
    if (glint_server_ollama_url(server))
        fprintf(stderr, "  Ollama clients: OLLAMA_HOST=%s\n", glint_server_ollama_url(server));
    if (strncmp(url, "unix:", 5) != 0 && !params->no_page)
        fprintf(stderr, "  Chat page: %s/\n", url);
    print_curl(url, params->n_keys > 0);
    if (strncmp(url, "unix:", 5) != 0)
        print_agents(url, glint_server_model(server), info.n_context, params->n_keys > 0);
    fprintf(stderr, "  Ctrl-C stops when the answers under way are finished; twice at once.\n");
}
