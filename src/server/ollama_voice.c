// SPDX-License-Identifier: Apache-2.0
// ollama_voice.c — a line for each piece of an answer, or all of it in one object.
// Calls are said whole, with their arguments as an object: that is what its clients read.
#include "server/ollama_voice.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "server/ollama_models.h"
#include "server/openai_voice.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct line_voice {
    struct glint_voice voice;
    enum glint_ollama_kind kind;
    char model[200];
    double began_ms;
    struct glint_buffer ping;               // an empty piece of an answer
    struct glint_buffer reasoning, content; // not streamed: all of it
    struct glint_buffer calls;              // JSON objects, comma between; streamed: one at most
    struct glint_buffer tokens;             // JSON objects of "logprobs"
    bool open_call;                         // the last call's arguments are still coming
    bool logprobs;
    const char *done_reason;
    struct glint_usage usage;
};

static struct glint_view view_of(const struct glint_buffer *buffer) {
    return (struct glint_view){buffer->data ? buffer->data : "", buffer->n};
}

static struct glint_json_writer begin_line(const char *model, struct glint_buffer *out) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    glint_json_begin_object(&w);
    glint_json_key(&w, "model");
    glint_json_text(&w, model);
    glint_json_key(&w, "created_at");
    glint_ollama_put_time(&w, now.tv_sec, now.tv_nsec);
    return w;
}

// What is said, in the members of the kind of answer. calls: JSON objects, or empty.
static void put_said(struct glint_json_writer *w, enum glint_ollama_kind kind,
                     struct glint_view content, struct glint_view reasoning,
                     struct glint_view calls) {
    if (kind == GLINT_OLLAMA_CHAT) {
        glint_json_key(w, "message");
        glint_json_begin_object(w);
        glint_json_key(w, "role");
        glint_json_text(w, "assistant");
    }
    glint_json_key(w, kind == GLINT_OLLAMA_CHAT ? "content" : "response");
    glint_json_string(w, content);
    if (reasoning.n != 0) {
        glint_json_key(w, "thinking");
        glint_json_string(w, reasoning);
    }
    if (calls.n != 0) {
        glint_json_key(w, "tool_calls");
        glint_json_begin_array(w);
        glint_buffer_append(w->out, calls.data, calls.n);
        glint_json_end_array(w);
    }
    if (kind == GLINT_OLLAMA_CHAT)
        glint_json_end_object(w);
}

static void put_logprobs(struct glint_json_writer *w, struct line_voice *v) {
    if (!v->logprobs || v->tokens.n == 0)
        return;
    glint_json_key(w, "logprobs");
    glint_json_begin_array(w);
    glint_buffer_append(w->out, v->tokens.data, v->tokens.n);
    glint_json_end_array(w);
    glint_buffer_clear(&v->tokens);
}

static void put_nanoseconds(struct glint_json_writer *w, const char *key, double ms) {
    glint_json_key(w, key);
    glint_json_i64(w, ms > 0 ? (int64_t)(ms * 1e6) : 0);
}

static void put_end(struct glint_json_writer *w, const struct line_voice *v) {
    glint_json_key(w, "done");
    glint_json_bool(w, true);
    glint_json_key(w, "done_reason");
    glint_json_text(w, v->done_reason ? v->done_reason : "stop");
    put_nanoseconds(w, "total_duration", glint_clock_ms() - v->began_ms);
    put_nanoseconds(w, "load_duration", 0);
    glint_json_key(w, "prompt_eval_count");
    glint_json_i64(w, v->usage.n_prompt);
    put_nanoseconds(w, "prompt_eval_duration", v->usage.prefill_ms);
    glint_json_key(w, "eval_count");
    glint_json_i64(w, v->usage.n_generated);
    put_nanoseconds(w, "eval_duration", v->usage.decode_ms);
    glint_json_end_object(w);
}

// ---- calls ------------------------------------------------------------------------------------

static void close_call(struct line_voice *v) {
    if (v->open_call)
        glint_buffer_append_text(&v->calls, "}}");
    v->open_call = false;
}

// A call up to `"arguments":`, where the pieces follow.
static void open_call(struct line_voice *v, const struct glint_note *note) {
    struct glint_json_writer w = {.out = &v->calls, .style = GLINT_JSON_COMPACT};
    char id[GLINT_RANDOM_ID_BYTES];
    glint_note_call_id(id, "call_", note);
    w.follows = v->calls.n != 0;
    glint_json_begin_object(&w);
    glint_json_key(&w, "id");
    glint_json_text(&w, id);
    glint_json_key(&w, "function");
    glint_json_begin_object(&w);
    glint_json_key(&w, "index");
    glint_json_u64(&w, note->index);
    glint_json_key(&w, "name");
    glint_json_string(&w, (struct glint_view){note->text, note->n});
    glint_json_key(&w, "arguments");
    v->open_call = true;
}

// ---- a stream ---------------------------------------------------------------------------------

static void begin_stream(struct glint_voice *voice, struct glint_buffer *out) {
    (void)voice; // the first line comes with the first text
    (void)out;
}

static void say(struct line_voice *v, struct glint_view content, struct glint_view reasoning,
                struct glint_view calls, struct glint_buffer *out) {
    struct glint_json_writer w = begin_line(v->model, out);
    put_said(&w, v->kind, content, reasoning, calls);
    put_logprobs(&w, v);
    glint_json_key(&w, "done");
    glint_json_bool(&w, false);
    glint_json_end_object(&w);
    glint_buffer_append_char(out, '\n');
}

// A call is complete when something else comes.
static void say_call(struct line_voice *v, struct glint_buffer *out) {
    struct glint_view none = {"", 0};
    if (!v->open_call)
        return;
    close_call(v);
    out->failed = out->failed || v->calls.failed;
    say(v, none, none, view_of(&v->calls), out);
    glint_buffer_clear(&v->calls);
}

static void say_error(struct line_voice *v, const struct glint_note *note,
                      struct glint_buffer *out) {
    struct glint_api_error error;
    struct glint_error from = {.status = note->status};
    snprintf(from.text, sizeof from.text, "%s", note->text);
    glint_api_fail_from(&error, &from);
    glint_api_error_put(&error, GLINT_PROTOCOL_OLLAMA, "", out);
    glint_buffer_append_char(out, '\n');
    v->voice.failed = true;
}

static void keep_finish(struct line_voice *v, const struct glint_note *note) {
    v->usage = note->usage;
    v->done_reason = note->reason == GLINT_FINISH_LENGTH ? "length" : "stop";
}

static void note_stream(struct glint_voice *voice, const struct glint_note *note,
                        struct glint_buffer *out) {
    struct line_voice *v = (struct line_voice *)voice;
    struct glint_view text = {note->text, note->n}, none = {"", 0};
    if (v->voice.failed)
        return;
    switch (note->kind) {
    case GLINT_NOTE_REASONING:
        say_call(v, out);
        say(v, none, text, none, out);
        break;
    case GLINT_NOTE_CONTENT:
        say_call(v, out);
        say(v, text, none, none, out);
        break;
    case GLINT_NOTE_CALL:
        say_call(v, out);
        open_call(v, note);
        break;
    case GLINT_NOTE_ARGUMENTS:
        glint_buffer_append(&v->calls, note->text, note->n);
        break;
    case GLINT_NOTE_TOKEN:
    case GLINT_NOTE_TOP:
        glint_openai_keep_token(&v->tokens, note, false);
        break;
    case GLINT_NOTE_FINISH:
        say_call(v, out);
        keep_finish(v, note);
        break;
    case GLINT_NOTE_FAIL:
        say_error(v, note, out);
        break;
    default:
        break;
    }
}

static void end_stream(struct glint_voice *voice, struct glint_buffer *out) {
    struct line_voice *v = (struct line_voice *)voice;
    struct glint_view none = {"", 0};
    struct glint_json_writer w = begin_line(v->model, out);
    put_said(&w, v->kind, none, none, none);
    put_logprobs(&w, v);
    put_end(&w, v);
    glint_buffer_append_char(out, '\n');
}

// ---- the whole answer at once -----------------------------------------------------------------

static void note_whole(struct glint_voice *voice, const struct glint_note *note,
                       struct glint_buffer *out) {
    struct line_voice *v = (struct line_voice *)voice;
    (void)out;
    switch (note->kind) {
    case GLINT_NOTE_REASONING:
        glint_buffer_append(&v->reasoning, note->text, note->n);
        break;
    case GLINT_NOTE_CONTENT:
        glint_buffer_append(&v->content, note->text, note->n);
        break;
    case GLINT_NOTE_CALL:
        close_call(v);
        open_call(v, note);
        break;
    case GLINT_NOTE_ARGUMENTS:
        glint_buffer_append(&v->calls, note->text, note->n);
        break;
    case GLINT_NOTE_TOKEN:
    case GLINT_NOTE_TOP:
        glint_openai_keep_token(&v->tokens, note, false);
        break;
    case GLINT_NOTE_FINISH:
        close_call(v);
        keep_finish(v, note);
        break;
    default:
        break;
    }
}

static void end_whole(struct glint_voice *voice, struct glint_buffer *out) {
    struct line_voice *v = (struct line_voice *)voice;
    struct glint_json_writer w = begin_line(v->model, out);
    put_said(&w, v->kind, view_of(&v->content), view_of(&v->reasoning), view_of(&v->calls));
    out->failed = out->failed || v->content.failed || v->reasoning.failed || v->calls.failed ||
                  v->tokens.failed;
    put_logprobs(&w, v);
    put_end(&w, v);
}

// ---- opening ----------------------------------------------------------------------------------

static void close_voice(struct glint_voice *voice) {
    struct line_voice *v = (struct line_voice *)voice;
    struct glint_buffer *all[] = {&v->ping, &v->reasoning, &v->content, &v->calls, &v->tokens};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        glint_buffer_fini(all[i]);
    glint_free(v);
}

bool glint_ollama_voice_open(struct glint_voice **out, const struct glint_json *root,
                             const struct glint_exchange *x, enum glint_ollama_kind kind,
                             struct glint_api_error *error) {
    struct glint_fields fields = {root, error};
    struct glint_view none = {"", 0};
    const char *model = x->server->model;
    bool stream = true, logprobs = false;
    if (!glint_field_bool(&fields, "stream", &stream) ||
        !glint_field_bool(&fields, "logprobs", &logprobs) ||
        !glint_field_text(&fields, "model", &model))
        return false;
    struct line_voice *v = glint_alloc(1, sizeof *v);
    if (!v) {
        glint_api_fail(error, 500, NULL, "no memory for the request");
        return false;
    }
    v->voice = (struct glint_voice){.stream = stream,
                                    .content_type = "application/x-ndjson",
                                    .begin = begin_stream,
                                    .note = stream ? note_stream : note_whole,
                                    .end = stream ? end_stream : end_whole,
                                    .close = close_voice};
    v->kind = kind;
    v->logprobs = logprobs;
    v->began_ms = x->began_ms;
    glint_utf8_copy(v->model, sizeof v->model, model);
    // The protocol has no comments: a sign of life is a line that says nothing.
    say(v, none, none, none, &v->ping);
    v->voice.ping = v->ping.failed ? NULL : v->ping.data;
    *out = &v->voice;
    return true;
}

void glint_ollama_answer_load(struct glint_exchange *x, const struct glint_json *root,
                              enum glint_ollama_kind kind) {
    struct glint_fields fields = {root, &x->refusal};
    struct glint_view none = {"", 0};
    struct glint_buffer out = {.data = NULL};
    const char *model = x->server->model;
    char name[200];
    if (!glint_field_text(&fields, "model", &model)) {
        glint_exchange_refuse(x, &x->refusal);
        return;
    }
    glint_utf8_copy(name, sizeof name, model);
    struct glint_json_writer w = begin_line(name, &out);
    put_said(&w, kind, none, none, none);
    glint_json_key(&w, "done");
    glint_json_bool(&w, true);
    glint_json_key(&w, "done_reason");
    glint_json_text(&w, "load");
    glint_json_end_object(&w);
    glint_exchange_answer_json(x, &out);
}
