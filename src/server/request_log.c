// SPDX-License-Identifier: Apache-2.0
// request_log.c — what a request was and what it cost. No keys, no prompts, no arguments of a path.
#include "server/request_log.h"

#include "base/clock.h"
#include "format/json_write.h"

#include <stdio.h>
#include <string.h>

// The path as one word of plain characters, cut to what fits: it goes to a log and to terminals.
static void plain_path(char *out, size_t size, const char *path) {
    size_t n = 0;
    for (; *path && n + 4 <= size; path++) {
        bool plain = *path > ' ' && *path < 0x7F;
        n += (size_t)snprintf(out + n, size - n, plain ? "%c" : "%%%02X", (unsigned char)*path);
    }
    out[n] = 0;
}

static void say_words(const struct glint_exchange *x, double ms) {
    const struct glint_server_params *params = &x->server->params;
    const struct glint_usage *u = &x->usage;
    char line[600], path[200];
    plain_path(path, sizeof path, x->path ? x->path : "-");
    int n = snprintf(line, sizeof line, "%s %s %d %.1f ms", x->request_id, path, x->status, ms);
    if (x->finish && n > 0 && (size_t)n < sizeof line) {
        snprintf(
            line + n, sizeof line - (size_t)n,
            ", prompt %d (%d cached), generated %d, queue %.1f prefill %.1f decode %.1f ms, %s",
            u->n_prompt, u->n_cached, u->n_generated, u->queue_ms, u->prefill_ms, u->decode_ms,
            x->finish);
        n = (int)strlen(line);
        if (u->n_image > 0)
            snprintf(line + n, sizeof line - (size_t)n, ", pictures %d tokens %.1f ms", u->n_image,
                     u->image_ms);
    } else if (x->outbox && n > 0 && (size_t)n < sizeof line) {
        snprintf(line + n, sizeof line - (size_t)n, ", the client left");
    }
    params->say(params->user, GLINT_SAY_INFO, line);
}

static void put_text(struct glint_json_writer *json, const char *key, const char *text) {
    char path[200];
    glint_json_key(json, key);
    plain_path(path, sizeof path, text); // not all that clients send is UTF-8
    glint_json_text(json, path);
}

static void put_count(struct glint_json_writer *json, const char *key, int64_t value) {
    glint_json_key(json, key);
    glint_json_i64(json, value);
}

// To microseconds: more digits than a clock has would only be long.
static void put_ms(struct glint_json_writer *json, const char *key, double ms) {
    glint_json_key(json, key);
    glint_json_double(json, (double)(int64_t)(ms * 1000 + 0.5) / 1000);
}

static void put_usage(struct glint_json_writer *json, const struct glint_usage *u) {
    put_count(json, "prompt_tokens", u->n_prompt);
    put_count(json, "cached_tokens", u->n_cached);
    put_count(json, "image_tokens", u->n_image);
    put_count(json, "generated_tokens", u->n_generated);
    put_count(json, "reasoning_tokens", u->n_reasoning);
    put_count(json, "draft_proposed_tokens", u->draft.n_proposed);
    put_count(json, "draft_accepted_tokens", u->draft.n_accepted);
    put_ms(json, "queue_ms", u->queue_ms);
    put_ms(json, "image_ms", u->image_ms);
    put_ms(json, "prefill_ms", u->prefill_ms);
    put_ms(json, "decode_ms", u->decode_ms);
}

static void say_json(const struct glint_exchange *x, double ms) {
    const struct glint_server_params *params = &x->server->params;
    struct glint_buffer line = {.data = NULL};
    struct glint_json_writer json = {.out = &line, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&json);
    put_text(&json, "id", x->request_id);
    put_text(&json, "method", x->method);
    put_text(&json, "path", x->path ? x->path : "-");
    put_count(&json, "status", x->status);
    put_ms(&json, "duration_ms", ms);
    if (params->n_keys > 0)
        put_count(&json, "key", (int64_t)x->tenant); // which of the keys, from 1; 0: none
    if (x->finish) {
        put_usage(&json, &x->usage);
        put_text(&json, "finish", x->finish);
    } else if (x->outbox) {
        put_text(&json, "finish", "client_left");
    }
    glint_json_end_object(&json);
    if (!line.failed) // else there is no memory for a line
        params->say_request(params->user, line.data);
    glint_buffer_fini(&line);
}

void glint_request_log(const struct glint_exchange *x) {
    const struct glint_server_params *params = &x->server->params;
    double ms = glint_clock_ms() - x->began_ms;
    bool quiet =
        x->route && strcmp(x->route->method, "GET") == 0 && (x->status == 200 || x->status == 304);
    if (quiet)
        return;
    if (params->say_request)
        say_json(x, ms);
    else if (params->say)
        say_words(x, ms);
}
