// SPDX-License-Identifier: Apache-2.0
// api_error.c — error bodies of the three families of protocols.
#include "server/api_error.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void glint_api_fail(struct glint_api_error *error, int status, const char *param,
                    const char *format, ...) {
    *error = (struct glint_api_error){.status = status};
    if (param)
        snprintf(error->param, sizeof error->param, "%s", param);
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
}

// Length of a field's path ("tools[0].function.name") that ends in ": " at the start of text.
static size_t path_length(const char *text) {
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_.[]", text[n])))
        n++;
    return n != 0 && strncmp(text + n, ": ", 2) == 0 ? n : 0;
}

void glint_api_fail_from(struct glint_api_error *error, const struct glint_error *from) {
    enum glint_status status = from->status;
    bool client = status == GLINT_E_ARG || status == GLINT_E_FORMAT || status == GLINT_E_LIMIT ||
                  status == GLINT_E_UNSUPPORTED;
    size_t n = client ? path_length(from->text) : 0;
    glint_api_fail(error,
                   client                   ? 400
                   : status == GLINT_E_BUSY ? 429
                                            : 500,
                   NULL, "%s", from->text);
    if (n < sizeof error->param) {
        memcpy(error->param, from->text, n);
        error->param[n] = 0;
    }
}

static const char *openai_type(int status) {
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 429:
        return "rate_limit_error";
    case 501:
        return "not_supported_error";
    case 503:
        return "unavailable_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

static const char *anthropic_type(int status) {
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case 503:
        return "overloaded_error";
    default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

static void put_text(struct glint_json_writer *w, const char *text) {
    struct glint_buffer clean = {.data = NULL}; // messages may quote the request's bytes
    glint_utf8_repair(&clean, text, strlen(text));
    glint_json_string(w, (struct glint_view){clean.data, clean.n});
    glint_buffer_fini(&clean);
}

static void put_openai(const struct glint_api_error *error, struct glint_json_writer *w) {
    glint_json_begin_object(w);
    glint_json_key(w, "error");
    glint_json_begin_object(w);
    glint_json_key(w, "message");
    put_text(w, error->message);
    glint_json_key(w, "type");
    glint_json_text(w, openai_type(error->status));
    glint_json_key(w, "param");
    if (error->param[0])
        put_text(w, error->param);
    else
        glint_json_null(w);
    glint_json_key(w, "code");
    if (error->code)
        glint_json_text(w, error->code);
    else if (error->status == 503)
        glint_json_i64(w, 503);
    else
        glint_json_null(w);
    if (error->n_context != 0) {
        glint_json_key(w, "n_prompt_tokens");
        glint_json_i64(w, error->n_prompt);
        glint_json_key(w, "n_ctx");
        glint_json_i64(w, error->n_context);
    }
    glint_json_end_object(w);
    glint_json_end_object(w);
}

static void put_anthropic(const struct glint_api_error *error, const char *request_id,
                          struct glint_json_writer *w) {
    glint_json_begin_object(w);
    glint_json_key(w, "type");
    glint_json_text(w, "error");
    glint_json_key(w, "error");
    glint_json_begin_object(w);
    glint_json_key(w, "type");
    glint_json_text(w, anthropic_type(error->status));
    glint_json_key(w, "message");
    put_text(w, error->message);
    if (error->code) {
        glint_json_key(w, "details");
        glint_json_begin_object(w);
        glint_json_key(w, "error_code");
        glint_json_text(w, error->code);
        glint_json_end_object(w);
    }
    glint_json_end_object(w);
    glint_json_key(w, "request_id");
    glint_json_text(w, request_id);
    glint_json_end_object(w);
}

void glint_api_error_put(const struct glint_api_error *error, enum glint_protocol protocol,
                         const char *request_id, struct glint_buffer *out) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    switch (protocol) {
    case GLINT_PROTOCOL_ANTHROPIC:
        put_anthropic(error, request_id, &w);
        break;
    case GLINT_PROTOCOL_OLLAMA:
        glint_json_begin_object(&w);
        glint_json_key(&w, "error");
        put_text(&w, error->message);
        glint_json_end_object(&w);
        break;
    default:
        put_openai(error, &w);
    }
}
