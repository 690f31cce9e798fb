// SPDX-License-Identifier: Apache-2.0
// openai_response_voice.c — a response as one object or as events, and its way into the store.
// What the model says becomes items, one open at a time: reasoning, messages, calls. Each is
// gathered, and in a stream said piece by piece with every index that clients look for.
#include "server/openai_response_voice.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "server/openai_voice.h"
#include "server/response_store.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum item_kind { ITEM_NONE, ITEM_REASONING, ITEM_MESSAGE, ITEM_CALL };

struct response_voice {
    struct glint_voice voice;
    struct glint_server *server;
    char id[GLINT_RANDOM_ID_BYTES];
    char request_id[65];
    int64_t created;
    uint64_t tenant;
    bool store, summary, seal;
    char *previous;           // owned; NULL: none
    struct glint_buffer echo; // members of the object that repeat the request
    struct glint_items inputs, outputs;

    // The item being said.
    enum item_kind kind;
    char item_id[GLINT_RANDOM_ID_BYTES], call_id[GLINT_RANDOM_ID_BYTES];
    struct glint_buffer name;
    struct glint_buffer text;       // of reasoning or a message, or arguments
    struct glint_buffer tokens;     // JSON objects of its log-probabilities
    struct glint_buffer new_tokens; // those of the text that comes next

    int64_t sequence; // number of the next event
    const char *status;
    bool cut_off; // by a limit
    struct glint_usage usage;
    char failure[600]; // why it failed; empty: it did not
};

static struct glint_view view_of(const struct glint_buffer *buffer) {
    return (struct glint_view){buffer->data ? buffer->data : "", buffer->n};
}

static void put_member(struct glint_json_writer *w, const char *key, const char *text) {
    glint_json_key(w, key);
    glint_json_text(w, text);
}

static void put_raw(struct glint_json_writer *w, const struct glint_buffer *json) {
    glint_buffer_append(w->out, json->data, json->n);
    w->out->failed = w->out->failed || json->failed;
}

// ---- the object -------------------------------------------------------------------------------

static void put_usage(struct glint_json_writer *w, const struct glint_usage *usage) {
    glint_json_begin_object(w);
    glint_json_key(w, "input_tokens");
    glint_json_i64(w, usage->n_prompt);
    glint_json_key(w, "input_tokens_details");
    glint_json_begin_object(w);
    glint_json_key(w, "cached_tokens");
    glint_json_i64(w, usage->n_cached);
    glint_json_end_object(w);
    glint_json_key(w, "output_tokens");
    glint_json_i64(w, usage->n_generated);
    glint_json_key(w, "output_tokens_details");
    glint_json_begin_object(w);
    glint_json_key(w, "reasoning_tokens");
    glint_json_i64(w, usage->n_reasoning);
    glint_json_end_object(w);
    glint_json_key(w, "total_tokens");
    glint_json_i64(w, (int64_t)usage->n_prompt + usage->n_generated);
    glint_json_end_object(w);
}

// {"key": value} or null where value is NULL.
static void put_reason(struct glint_json_writer *w, const char *key, const char *value) {
    if (!value) {
        glint_json_null(w);
        return;
    }
    glint_json_begin_object(w);
    put_member(w, key, value);
    glint_json_end_object(w);
}

// The object's members up to the list of output, which comes last.
static void put_head(struct glint_json_writer *w, const struct response_voice *v) {
    bool over = strcmp(v->status, "in_progress") != 0;
    put_member(w, "id", v->id);
    put_member(w, "object", "response");
    glint_json_key(w, "created_at");
    glint_json_i64(w, v->created);
    put_member(w, "status", v->status);
    glint_json_key(w, "background");
    glint_json_bool(w, false);
    glint_json_key(w, "error");
    if (v->failure[0]) {
        glint_json_begin_object(w);
        put_member(w, "code", "server_error");
        put_member(w, "message", v->failure);
        glint_json_end_object(w);
    } else {
        glint_json_null(w);
    }
    glint_json_key(w, "incomplete_details");
    put_reason(w, "reason", v->cut_off ? "max_output_tokens" : NULL);
    glint_json_key(w, "store");
    glint_json_bool(w, v->store);
    glint_buffer_append_char(w->out, ',');
    put_raw(w, &v->echo);
    glint_json_key(w, "usage");
    if (over)
        put_usage(w, &v->usage);
    else
        glint_json_null(w);
    if (over) {
        glint_json_key(w, "timings");
        glint_openai_put_timings(w, &v->usage);
    }
    glint_json_key(w, "output");
}

static void put_response(struct glint_json_writer *w, const struct response_voice *v) {
    glint_json_begin_object(w);
    put_head(w, v);
    glint_json_begin_array(w);
    glint_items_put(&v->outputs, w->out);
    glint_json_end_array(w);
    glint_json_end_object(w);
}

// ---- items ------------------------------------------------------------------------------------

static void put_text_part(struct glint_json_writer *w, const struct response_voice *v, bool whole) {
    glint_json_begin_object(w);
    if (v->kind == ITEM_MESSAGE) {
        put_member(w, "type", "output_text");
        glint_json_key(w, "annotations");
        glint_json_begin_array(w);
        glint_json_end_array(w);
        glint_json_key(w, "logprobs");
        glint_json_begin_array(w);
        if (whole)
            put_raw(w, &v->tokens);
        glint_json_end_array(w);
    } else {
        put_member(w, "type", v->summary ? "summary_text" : "reasoning_text");
    }
    glint_json_key(w, "text");
    glint_json_string(w, whole ? view_of(&v->text) : glint_view_of(""));
    glint_json_end_object(w);
}

static void put_reasoning_members(struct glint_json_writer *w, const struct response_voice *v,
                                  bool whole) {
    static const char *const lists[] = {"summary", "content"};
    for (int i = 0; i < 2; i++) {
        glint_json_key(w, lists[i]);
        glint_json_begin_array(w);
        if (whole && v->summary == (i == 0))
            put_text_part(w, v, true);
        glint_json_end_array(w);
    }
    if (v->seal) {
        struct glint_buffer sealed = {.data = NULL};
        glint_items_seal(&sealed, whole ? view_of(&v->text) : glint_view_of(""));
        glint_json_key(w, "encrypted_content");
        glint_json_string(w, view_of(&sealed));
        w->out->failed = w->out->failed || sealed.failed;
        glint_buffer_fini(&sealed);
    }
}

// The open item: as it begins, or whole with its status.
static void put_item(struct glint_json_writer *w, const struct response_voice *v,
                     const char *status, bool whole) {
    static const char *const types[] = {"", "reasoning", "message", "function_call"};
    glint_json_begin_object(w);
    put_member(w, "id", v->item_id);
    put_member(w, "type", types[v->kind]);
    put_member(w, "status", status);
    if (v->kind == ITEM_REASONING) {
        put_reasoning_members(w, v, whole);
    } else if (v->kind == ITEM_MESSAGE) {
        put_member(w, "role", "assistant");
        glint_json_key(w, "content");
        glint_json_begin_array(w);
        if (whole)
            put_text_part(w, v, true);
        glint_json_end_array(w);
    } else {
        put_member(w, "call_id", v->call_id);
        glint_json_key(w, "name");
        glint_json_string(w, view_of(&v->name));
        glint_json_key(w, "arguments");
        glint_json_string(w, whole ? view_of(&v->text) : glint_view_of(""));
    }
    glint_json_end_object(w);
}

// ---- events -----------------------------------------------------------------------------------

static struct glint_json_writer begin_event(struct response_voice *v, const char *type,
                                            struct glint_buffer *out) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    char name[80];
    snprintf(name, sizeof name, "response.%s", type);
    glint_buffer_printf(out, "event: %s\ndata: ", name);
    glint_json_begin_object(&w);
    put_member(&w, "type", name);
    glint_json_key(&w, "sequence_number");
    glint_json_i64(&w, v->sequence++);
    return w;
}

static void end_event(struct glint_json_writer *w) {
    glint_json_end_object(w);
    glint_buffer_append_text(w->out, "\n\n");
}

// An event about the response itself.
static void say_response(struct response_voice *v, const char *type, struct glint_buffer *out) {
    struct glint_json_writer w = begin_event(v, type, out);
    glint_json_key(&w, "response");
    put_response(&w, v);
    end_event(&w);
}

static void put_output_index(struct glint_json_writer *w, const struct response_voice *v) {
    glint_json_key(w, "output_index");
    glint_json_i64(w, v->outputs.n);
}

static void say_item(struct response_voice *v, const char *type, const char *status,
                     struct glint_buffer *out) {
    struct glint_json_writer w = begin_event(v, type, out);
    put_output_index(&w, v);
    glint_json_key(&w, "item");
    put_item(&w, v, status, strcmp(status, "in_progress") != 0);
    end_event(&w);
}

// An event about a part of the open item, up to what is said of it.
static struct glint_json_writer begin_part_event(struct response_voice *v, const char *type,
                                                 struct glint_buffer *out) {
    struct glint_json_writer w = begin_event(v, type, out);
    put_member(&w, "item_id", v->item_id);
    put_output_index(&w, v);
    if (v->kind != ITEM_CALL) { // each item has one part
        bool summary = v->kind == ITEM_REASONING && v->summary;
        glint_json_key(&w, summary ? "summary_index" : "content_index");
        glint_json_i64(&w, 0);
    }
    return w;
}

static void say_part(struct response_voice *v, bool done, struct glint_buffer *out) {
    bool summary = v->kind == ITEM_REASONING && v->summary;
    const char *added = summary ? "reasoning_summary_part.added" : "content_part.added";
    const char *ended = summary ? "reasoning_summary_part.done" : "content_part.done";
    struct glint_json_writer w = begin_part_event(v, done ? ended : added, out);
    glint_json_key(&w, "part");
    put_text_part(&w, v, done);
    end_event(&w);
}

// A piece of the item's text, or all of it when it is done.
static void say_text(struct response_voice *v, bool done, struct glint_view text,
                     struct glint_buffer *out) {
    const char *what = v->kind == ITEM_CALL      ? "function_call_arguments"
                       : v->kind == ITEM_MESSAGE ? "output_text"
                       : v->summary              ? "reasoning_summary_text"
                                                 : "reasoning_text";
    char type[60];
    snprintf(type, sizeof type, "%s.%s", what, done ? "done" : "delta");
    struct glint_json_writer w = begin_part_event(v, type, out);
    if (v->kind == ITEM_CALL && done) {
        glint_json_key(&w, "name");
        glint_json_string(&w, view_of(&v->name));
    }
    glint_json_key(&w, !done ? "delta" : v->kind == ITEM_CALL ? "arguments" : "text");
    glint_json_string(&w, text);
    if (v->kind == ITEM_MESSAGE) {
        glint_json_key(&w, "logprobs");
        glint_json_begin_array(&w);
        put_raw(&w, done ? &v->tokens : &v->new_tokens);
        glint_json_end_array(&w);
    }
    end_event(&w);
}

// ---- notes ------------------------------------------------------------------------------------

static void close_item(struct response_voice *v, const char *status, struct glint_buffer *out) {
    struct glint_buffer json = {.data = NULL};
    struct glint_json_writer w = {.out = &json, .style = GLINT_JSON_COMPACT};
    if (v->kind == ITEM_NONE)
        return;
    if (v->voice.stream) {
        say_text(v, true, view_of(&v->text), out);
        if (v->kind != ITEM_CALL)
            say_part(v, true, out);
        say_item(v, "output_item.done", status, out);
    }
    put_item(&w, v, status, true);
    v->outputs.data.failed = v->outputs.data.failed || json.failed;
    glint_items_add(&v->outputs, glint_view_of(v->item_id), view_of(&json));
    glint_buffer_fini(&json);
    v->kind = ITEM_NONE;
}

static void open_item(struct response_voice *v, enum item_kind kind, const struct glint_note *note,
                      struct glint_buffer *out) {
    static const char *const prefixes[] = {"", "rs_", "msg_", "fc_"};
    close_item(v, "completed", out);
    v->kind = kind;
    glint_random_id(v->item_id, prefixes[kind]);
    glint_buffer_clear(&v->text);
    glint_buffer_clear(&v->tokens);
    if (kind == ITEM_CALL) {
        glint_note_call_id(v->call_id, "call_", note);
        glint_buffer_clear(&v->name);
        glint_buffer_append(&v->name, note->text, note->n);
    }
    if (!v->voice.stream)
        return;
    say_item(v, "output_item.added", "in_progress", out);
    if (kind != ITEM_CALL)
        say_part(v, false, out);
}

static void add_text(struct response_voice *v, const struct glint_note *note,
                     struct glint_buffer *out) {
    struct glint_view text = {note->text, note->n};
    glint_buffer_append(&v->text, text.data, text.n);
    if (v->voice.stream)
        say_text(v, false, text, out);
    if (v->new_tokens.n != 0) {
        if (v->tokens.n != 0)
            glint_buffer_append_char(&v->tokens, ',');
        glint_buffer_append(&v->tokens, v->new_tokens.data, v->new_tokens.n);
        glint_buffer_clear(&v->new_tokens);
    }
}

static void finish(struct response_voice *v, const struct glint_note *note,
                   struct glint_buffer *out) {
    v->cut_off = note->reason == GLINT_FINISH_LENGTH;
    v->status = v->cut_off ? "incomplete" : "completed";
    v->usage = note->usage;
    close_item(v, v->status, out);
}

static void fail(struct response_voice *v, const struct glint_note *note,
                 struct glint_buffer *out) {
    struct glint_buffer clean = {.data = NULL};
    glint_utf8_repair(&clean, note->text, note->n);
    glint_utf8_copy(v->failure, sizeof v->failure,
                    clean.n != 0 && !clean.failed ? clean.data : "the generation failed");
    glint_buffer_fini(&clean);
    v->status = "failed";
    v->store = false;
    if (v->voice.stream) {
        close_item(v, "incomplete", out);
        say_response(v, "failed", out);
        v->voice.failed = true;
    }
}

static void take_note(struct glint_voice *voice, const struct glint_note *note,
                      struct glint_buffer *out) {
    struct response_voice *v = (struct response_voice *)voice;
    if (v->failure[0])
        return;
    switch (note->kind) {
    case GLINT_NOTE_REASONING:
    case GLINT_NOTE_CONTENT: {
        enum item_kind kind = note->kind == GLINT_NOTE_CONTENT ? ITEM_MESSAGE : ITEM_REASONING;
        if (v->kind != kind)
            open_item(v, kind, note, out);
        add_text(v, note, out);
        break;
    }
    case GLINT_NOTE_CALL:
        open_item(v, ITEM_CALL, note, out);
        break;
    case GLINT_NOTE_ARGUMENTS:
        add_text(v, note, out);
        break;
    case GLINT_NOTE_TOKEN:
    case GLINT_NOTE_TOP:
        glint_openai_keep_token(&v->new_tokens, note, false);
        break;
    case GLINT_NOTE_FINISH:
        finish(v, note, out);
        break;
    case GLINT_NOTE_FAIL:
        fail(v, note, out);
        break;
    default:
        break;
    }
    if (v->text.failed || v->name.failed || v->tokens.failed || v->new_tokens.failed ||
        v->outputs.data.failed)
        out->failed = true;
}

// ---- the end ----------------------------------------------------------------------------------

// The answer is given whether it can be stored or not; "store" in it tells which.
static void keep(struct response_voice *v) {
    struct glint_buffer head = {.data = NULL};
    struct glint_json_writer w = {.out = &head, .style = GLINT_JSON_COMPACT};
    struct glint_error error = {.status = GLINT_OK};
    if (!v->store)
        return;
    glint_json_begin_object(&w);
    put_head(&w, v);
    glint_json_begin_array(&w);
    struct glint_response_record record = {.owner = glint_server_key(v->server, v->tenant),
                                           .id = v->id,
                                           .previous = v->previous,
                                           .created = v->created,
                                           .head = view_of(&head),
                                           .inputs = &v->inputs,
                                           .outputs = &v->outputs};
    enum glint_status status = head.failed
                                   ? glint_fail(&error, GLINT_E_NOMEM, "no memory")
                                   : glint_response_store_put(v->server->store, &record, &error);
    v->store = status == GLINT_OK;
    if (status != GLINT_OK)
        glint_server_say(v->server, GLINT_SAY_WARN, "%s: %s was not stored: %s", v->request_id,
                         v->id, error.text);
    glint_buffer_fini(&head);
}

static void begin_stream(struct glint_voice *voice, struct glint_buffer *out) {
    struct response_voice *v = (struct response_voice *)voice;
    say_response(v, "created", out);
    say_response(v, "in_progress", out);
}

static void end_voice(struct glint_voice *voice, struct glint_buffer *out) {
    struct response_voice *v = (struct response_voice *)voice;
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    keep(v);
    if (voice->stream)
        say_response(v, v->status, out);
    else
        put_response(&w, v);
}

static void close_voice(struct glint_voice *voice) {
    struct response_voice *v = (struct response_voice *)voice;
    glint_items_fini(&v->inputs);
    glint_items_fini(&v->outputs);
    glint_buffer_fini(&v->echo);
    glint_buffer_fini(&v->name);
    glint_buffer_fini(&v->text);
    glint_buffer_fini(&v->tokens);
    glint_buffer_fini(&v->new_tokens);
    glint_free(v->previous);
    glint_free(v);
}

// ---- the beginning ----------------------------------------------------------------------------

// A field of the request as it came; `otherwise` is JSON.
static void put_given(struct glint_json_writer *w, const struct glint_json *root, const char *key,
                      const char *otherwise) {
    const struct glint_json *value = glint_json_get(root, key);
    glint_json_key(w, key);
    if (value && !glint_json_is(value, GLINT_JSON_NULL)) {
        glint_json_value(w, value);
    } else {
        glint_buffer_append_text(w->out, otherwise);
        w->after_key = false;
        w->follows = true;
    }
}

// Members that repeat the request, or say what holds where it is silent; without braces.
static void put_echo(struct glint_buffer *out, const struct glint_responses_request *request,
                     const struct glint_json *root) {
    static const char *const given[][2] = {
        {"instructions", "null"},
        {"max_output_tokens", "null"},
        {"max_tool_calls", "null"},
        {"metadata", "{}"},
        {"parallel_tool_calls", "true"},
        {"previous_response_id", "null"},
        {"prompt_cache_key", "null"},
        {"reasoning", "{\"effort\":null,\"summary\":null}"},
        {"safety_identifier", "null"},
        {"text", "{\"format\":{\"type\":\"text\"}}"},
        {"tool_choice", "\"auto\""},
        {"tools", "[]"},
        {"top_logprobs", "0"},
        {"truncation", "\"disabled\""},
        {"user", "null"},
    };
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    struct glint_buffer model = {.data = NULL};
    glint_utf8_repair(&model, request->model, strlen(request->model));
    glint_json_key(&w, "model");
    glint_json_string(&w, view_of(&model));
    glint_buffer_fini(&model);
    glint_json_key(&w, "temperature");
    glint_json_double(&w, (double)request->job.sampling.options.temperature);
    glint_json_key(&w, "top_p");
    glint_json_double(&w, (double)request->job.sampling.options.top_p);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        put_given(&w, root, given[i][0], given[i][1]);
}

bool glint_response_voice_open(struct glint_voice **out, struct glint_responses_request *request,
                               const struct glint_json *root, const struct glint_exchange *x,
                               struct glint_api_error *error) {
    struct response_voice *v = glint_alloc(1, sizeof *v);
    if (v && request->previous)
        v->previous = glint_strndup(request->previous, strlen(request->previous));
    if (!v || (request->previous && !v->previous)) {
        glint_free(v);
        glint_api_fail(error, 500, NULL, "no memory for the request");
        return false;
    }
    v->voice = (struct glint_voice){.stream = request->stream,
                                    .content_type = "text/event-stream",
                                    .ping = ": ping\n\n",
                                    .begin = begin_stream,
                                    .note = take_note,
                                    .end = end_voice,
                                    .close = close_voice};
    v->server = x->server;
    v->tenant = x->tenant;
    snprintf(v->request_id, sizeof v->request_id, "%s", x->request_id);
    glint_random_id(v->id, "resp_");
    v->created = (int64_t)time(NULL);
    v->status = "in_progress";
    v->store = request->store && x->server->store;
    v->summary = request->summary;
    v->seal = request->seal;
    put_echo(&v->echo, request, root);
    v->inputs = request->inputs;
    request->inputs = (struct glint_items){.n = 0};
    *out = &v->voice;
    return true;
}
