// SPDX-License-Identifier: Apache-2.0
// openai_voice.c — a chat completion as one object or as chunks.
// Shapes follow what every client tried accepts: the role in the first chunk, a content key in each
// delta, both names of reasoning, indexes and ids in tool calls, a reason before the end.
#include "server/openai_voice.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

// ---- pieces of answers ------------------------------------------------------------------------

void glint_openai_put_usage(struct glint_json_writer *w, const struct glint_usage *usage) {
    glint_json_begin_object(w);
    glint_json_key(w, "prompt_tokens");
    glint_json_i64(w, usage->n_prompt);
    glint_json_key(w, "completion_tokens");
    glint_json_i64(w, usage->n_generated);
    glint_json_key(w, "total_tokens");
    glint_json_i64(w, (int64_t)usage->n_prompt + usage->n_generated);
    glint_json_key(w, "prompt_tokens_details");
    glint_json_begin_object(w);
    glint_json_key(w, "cached_tokens");
    glint_json_i64(w, usage->n_cached);
    glint_json_key(w, "text_tokens");
    glint_json_i64(w, usage->n_prompt - usage->n_image);
    glint_json_key(w, "image_tokens");
    glint_json_i64(w, usage->n_image);
    glint_json_end_object(w);
    glint_json_key(w, "completion_tokens_details");
    glint_json_begin_object(w);
    glint_json_key(w, "reasoning_tokens");
    glint_json_i64(w, usage->n_reasoning);
    glint_json_end_object(w);
    glint_json_end_object(w);
}

static void put_rate(struct glint_json_writer *w, const char *prefix, int n, double ms) {
    static const char *const parts[] = {"_n", "_ms", "_per_token_ms", "_per_second"};
    double values[] = {n, ms, n > 0 ? ms / n : 0, ms > 0 ? n * 1000 / ms : 0};
    char key[40];
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "%s%s", prefix, parts[i]);
        glint_json_key(w, key);
        if (i == 0)
            glint_json_i64(w, n);
        else
            glint_json_double(w, values[i]);
    }
}

void glint_openai_put_timings(struct glint_json_writer *w, const struct glint_usage *usage) {
    glint_json_begin_object(w);
    glint_json_key(w, "cache_n");
    glint_json_i64(w, usage->n_cached);
    put_rate(w, "prompt", usage->n_prompt - usage->n_cached, usage->prefill_ms);
    put_rate(w, "predicted", usage->n_generated, usage->decode_ms);
    if (usage->draft.n_round > 0) {
        glint_json_key(w, "draft_n"); // llama.cpp's names
        glint_json_i64(w, usage->draft.n_proposed);
        glint_json_key(w, "draft_n_accepted");
        glint_json_i64(w, usage->draft.n_accepted);
        glint_json_key(w, "draft");
        glint_json_begin_object(w);
        glint_json_key(w, "proposed");
        glint_json_i64(w, usage->draft.n_proposed);
        glint_json_key(w, "accepted");
        glint_json_i64(w, usage->draft.n_accepted);
        glint_json_key(w, "rounds");
        glint_json_i64(w, usage->draft.n_round);
        glint_json_end_object(w);
    }
    glint_json_end_object(w);
}

static void put_token(struct glint_json_writer *w, const struct glint_note *note, bool id) {
    struct glint_buffer text = {.data = NULL};
    glint_utf8_repair(&text, note->text, note->n);
    glint_json_begin_object(w);
    if (id) {
        glint_json_key(w, "id");
        glint_json_i64(w, note->id);
    }
    glint_json_key(w, "token");
    glint_json_string(w, (struct glint_view){text.data ? text.data : "", text.n});
    glint_json_key(w, "logprob");
    glint_json_double(w, (double)note->logprob);
    glint_json_key(w, "bytes");
    glint_json_begin_array(w);
    for (size_t i = 0; i < note->n; i++)
        glint_json_i64(w, (unsigned char)note->text[i]);
    glint_json_end_array(w);
    glint_buffer_fini(&text);
}

void glint_openai_keep_token(struct glint_buffer *tokens, const struct glint_note *note, bool id) {
    struct glint_json_writer w = {.out = tokens, .style = GLINT_JSON_COMPACT};
    if (note->kind == GLINT_NOTE_TOKEN) {
        w.follows = tokens->n != 0;
        put_token(&w, note, id);
        glint_json_key(&w, "top_logprobs");
        glint_json_begin_array(&w);
    } else if (tokens->n > 2) { // goes before the "]}" of the token's list
        tokens->n -= 2;
        w.follows = tokens->data[tokens->n - 1] == '}';
        put_token(&w, note, id);
        glint_json_end_object(&w);
    }
    glint_buffer_append_text(tokens, "]}");
}

// ---- the voice --------------------------------------------------------------------------------

struct choice {
    struct glint_buffer reasoning, content;
    struct glint_buffer calls;  // JSON objects, comma between
    struct glint_buffer tokens; // JSON objects of "logprobs"
    bool open_call;             // the last call's arguments are still coming
    const char *finish;
};

struct chat_voice {
    struct glint_voice voice;
    char id[GLINT_RANDOM_ID_BYTES];
    char model[200];
    int64_t created;
    bool include_usage, logprobs;
    int n_choices;
    struct choice choices[GLINT_CHAT_MAX_CHOICES];
    struct glint_usage usage; // of all choices together
};

static void put_head(struct glint_json_writer *w, const struct chat_voice *v, const char *object) {
    glint_json_begin_object(w);
    glint_json_key(w, "id");
    glint_json_text(w, v->id);
    glint_json_key(w, "object");
    glint_json_text(w, object);
    glint_json_key(w, "created");
    glint_json_i64(w, v->created);
    glint_json_key(w, "model");
    glint_json_text(w, v->model);
    glint_json_key(w, "system_fingerprint");
    glint_json_text(w, "glint-" GLINT_VERSION);
}

// A chunk up to and with `"delta":{`; the caller writes its members and calls end_delta.
static struct glint_json_writer begin_delta(const struct chat_voice *v, int choice,
                                            struct glint_buffer *out) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    glint_buffer_append_text(out, "data: ");
    put_head(&w, v, "chat.completion.chunk");
    glint_json_key(&w, "choices");
    glint_json_begin_array(&w);
    glint_json_begin_object(&w);
    glint_json_key(&w, "index");
    glint_json_i64(&w, choice);
    glint_json_key(&w, "delta");
    glint_json_begin_object(&w);
    return w;
}

static void put_raw(struct glint_json_writer *w, const struct glint_buffer *json) {
    glint_buffer_append(w->out, json->data, json->n);
}

// "logprobs": {"content": [...]} or null.
static void put_logprobs(struct glint_json_writer *w, bool wanted, struct glint_buffer *tokens) {
    glint_json_key(w, "logprobs");
    if (!wanted) {
        glint_json_null(w);
        return;
    }
    glint_json_begin_object(w);
    glint_json_key(w, "content");
    glint_json_begin_array(w);
    put_raw(w, tokens);
    glint_json_end_array(w);
    glint_json_key(w, "refusal");
    glint_json_null(w);
    glint_json_end_object(w);
    glint_buffer_clear(tokens);
}

static void end_delta(struct glint_json_writer *w, struct chat_voice *v, int choice,
                      const struct glint_note *finish) {
    struct choice *c = &v->choices[choice];
    glint_json_end_object(w);
    put_logprobs(w, v->logprobs && c->tokens.n != 0, &c->tokens);
    glint_json_key(w, "finish_reason");
    if (finish)
        glint_json_text(w, glint_turn_reason_name(finish->reason));
    else
        glint_json_null(w);
    glint_json_end_object(w);
    glint_json_end_array(w);
    if (finish) {
        glint_json_key(w, "timings");
        glint_openai_put_timings(w, &finish->usage);
    }
    glint_json_end_object(w);
    glint_buffer_append_text(w->out, "\n\n");
}

static void begin_stream(struct glint_voice *voice, struct glint_buffer *out) {
    struct chat_voice *v = (struct chat_voice *)voice;
    for (int i = 0; i < v->n_choices; i++) {
        struct glint_json_writer w = begin_delta(v, i, out);
        glint_json_key(&w, "role");
        glint_json_text(&w, "assistant");
        glint_json_key(&w, "content");
        glint_json_text(&w, "");
        end_delta(&w, v, i, NULL);
    }
}

static void say_text(struct chat_voice *v, const struct glint_note *note,
                     struct glint_buffer *out) {
    struct glint_json_writer w = begin_delta(v, note->choice, out);
    struct glint_view text = {note->text, note->n};
    glint_json_key(&w, "content");
    if (note->kind == GLINT_NOTE_CONTENT) {
        glint_json_string(&w, text);
    } else {
        glint_json_null(&w);
        glint_json_key(&w, "reasoning_content");
        glint_json_string(&w, text);
        glint_json_key(&w, "reasoning");
        glint_json_string(&w, text);
    }
    end_delta(&w, v, note->choice, NULL);
}

// {"index", "id", "type", "function": {"name", "arguments": ""}}, or a piece of arguments alone.
static void say_call(struct chat_voice *v, const struct glint_note *note,
                     struct glint_buffer *out) {
    bool first = note->kind == GLINT_NOTE_CALL;
    struct glint_json_writer w = begin_delta(v, note->choice, out);
    glint_json_key(&w, "content");
    glint_json_null(&w);
    glint_json_key(&w, "tool_calls");
    glint_json_begin_array(&w);
    glint_json_begin_object(&w);
    glint_json_key(&w, "index");
    glint_json_u64(&w, note->index);
    if (first) {
        char id[GLINT_RANDOM_ID_BYTES];
        glint_note_call_id(id, "call_", note);
        glint_json_key(&w, "id");
        glint_json_text(&w, id);
        glint_json_key(&w, "type");
        glint_json_text(&w, "function");
    }
    glint_json_key(&w, "function");
    glint_json_begin_object(&w);
    if (first) {
        glint_json_key(&w, "name");
        glint_json_string(&w, (struct glint_view){note->text, note->n});
    }
    glint_json_key(&w, "arguments");
    glint_json_string(&w, first ? glint_view_of("") : (struct glint_view){note->text, note->n});
    glint_json_end_object(&w);
    glint_json_end_object(&w);
    glint_json_end_array(&w);
    end_delta(&w, v, note->choice, NULL);
}

void glint_openai_add_usage(struct glint_usage *all, const struct glint_usage *one) {
    int n_generated = all->n_generated, n_reasoning = all->n_reasoning;
    // The choice that was first to evaluate the prompt found least of it.
    bool least = all->n_prompt != 0 && all->n_cached < one->n_cached;
    int n_cached = least ? all->n_cached : one->n_cached;
    struct glint_draft_stats draft = all->draft;
    *all = *one; // the prompt counts once
    all->n_cached = n_cached;
    all->n_generated += n_generated;
    all->n_reasoning += n_reasoning;
    all->draft.n_round += draft.n_round;
    all->draft.n_proposed += draft.n_proposed;
    all->draft.n_accepted += draft.n_accepted;
}

void glint_openai_say_error(struct glint_voice *voice, const struct glint_note *note,
                            struct glint_buffer *out) {
    struct glint_api_error error;
    struct glint_error from = {.status = note->status};
    snprintf(from.text, sizeof from.text, "%s", note->text);
    glint_api_fail_from(&error, &from);
    glint_buffer_append_text(out, "data: ");
    glint_api_error_put(&error, GLINT_PROTOCOL_OPENAI, "", out);
    glint_buffer_append_text(out, "\n\n");
    voice->failed = true;
}

static void note_stream(struct glint_voice *voice, const struct glint_note *note,
                        struct glint_buffer *out) {
    struct chat_voice *v = (struct chat_voice *)voice;
    if (v->voice.failed)
        return;
    switch (note->kind) {
    case GLINT_NOTE_REASONING:
    case GLINT_NOTE_CONTENT:
        say_text(v, note, out);
        break;
    case GLINT_NOTE_CALL:
    case GLINT_NOTE_ARGUMENTS:
        say_call(v, note, out);
        break;
    case GLINT_NOTE_TOKEN:
    case GLINT_NOTE_TOP:
        glint_openai_keep_token(&v->choices[note->choice].tokens, note, false);
        break;
    case GLINT_NOTE_FINISH: {
        struct glint_json_writer w = begin_delta(v, note->choice, out);
        end_delta(&w, v, note->choice, note);
        glint_openai_add_usage(&v->usage, &note->usage);
        break;
    }
    case GLINT_NOTE_FAIL:
        glint_openai_say_error(voice, note, out);
        break;
    default:
        break;
    }
}

static void end_stream(struct glint_voice *voice, struct glint_buffer *out) {
    struct chat_voice *v = (struct chat_voice *)voice;
    if (v->include_usage) {
        struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
        glint_buffer_append_text(out, "data: ");
        put_head(&w, v, "chat.completion.chunk");
        glint_json_key(&w, "choices");
        glint_json_begin_array(&w);
        glint_json_end_array(&w);
        glint_json_key(&w, "usage");
        glint_openai_put_usage(&w, &v->usage);
        glint_json_end_object(&w);
        glint_buffer_append_text(out, "\n\n");
    }
    glint_buffer_append_text(out, "data: [DONE]\n\n");
}

// ---- the whole answer at once -----------------------------------------------------------------

static void close_call(struct choice *c) {
    if (c->open_call)
        glint_buffer_append_text(&c->calls, "\"}}");
    c->open_call = false;
}

// A call up to `"arguments":"`, where the pieces follow.
static void open_call(struct choice *c, const struct glint_note *note) {
    struct glint_json_writer w = {.out = &c->calls, .style = GLINT_JSON_COMPACT};
    char id[GLINT_RANDOM_ID_BYTES];
    glint_note_call_id(id, "call_", note);
    close_call(c);
    w.follows = c->calls.n != 0;
    glint_json_begin_object(&w);
    glint_json_key(&w, "id");
    glint_json_text(&w, id);
    glint_json_key(&w, "type");
    glint_json_text(&w, "function");
    glint_json_key(&w, "function");
    glint_json_begin_object(&w);
    glint_json_key(&w, "name");
    glint_json_string(&w, (struct glint_view){note->text, note->n});
    glint_buffer_append_text(&c->calls, ",\"arguments\":\"");
    c->open_call = true;
}

// A piece of arguments inside the string that open_call began.
static void add_arguments(struct choice *c, const struct glint_note *note) {
    struct glint_buffer quoted = {.data = NULL};
    glint_json_put_string(&quoted, (struct glint_view){note->text, note->n});
    if (quoted.failed)
        c->calls.failed = true;
    else
        glint_buffer_append(&c->calls, quoted.data + 1, quoted.n - 2);
    glint_buffer_fini(&quoted);
}

static void note_whole(struct glint_voice *voice, const struct glint_note *note,
                       struct glint_buffer *out) {
    struct chat_voice *v = (struct chat_voice *)voice;
    struct choice *c = &v->choices[note->choice];
    (void)out;
    switch (note->kind) {
    case GLINT_NOTE_REASONING:
        glint_buffer_append(&c->reasoning, note->text, note->n);
        break;
    case GLINT_NOTE_CONTENT:
        glint_buffer_append(&c->content, note->text, note->n);
        break;
    case GLINT_NOTE_CALL:
        open_call(c, note);
        break;
    case GLINT_NOTE_ARGUMENTS:
        add_arguments(c, note);
        break;
    case GLINT_NOTE_TOKEN:
    case GLINT_NOTE_TOP:
        glint_openai_keep_token(&c->tokens, note, false);
        break;
    case GLINT_NOTE_FINISH:
        close_call(c);
        c->finish = glint_turn_reason_name(note->reason);
        glint_openai_add_usage(&v->usage, &note->usage);
        break;
    default:
        break;
    }
}

static void put_message(struct glint_json_writer *w, const struct choice *c) {
    struct glint_view content = {c->content.data, c->content.n};
    struct glint_view reasoning = {c->reasoning.data, c->reasoning.n};
    glint_json_begin_object(w);
    glint_json_key(w, "role");
    glint_json_text(w, "assistant");
    glint_json_key(w, "content");
    if (content.n == 0 && c->calls.n != 0)
        glint_json_null(w);
    else
        glint_json_string(w, content.n ? content : glint_view_of(""));
    glint_json_key(w, "refusal");
    glint_json_null(w);
    glint_json_key(w, "annotations");
    glint_json_begin_array(w);
    glint_json_end_array(w);
    if (reasoning.n != 0) {
        glint_json_key(w, "reasoning_content");
        glint_json_string(w, reasoning);
        glint_json_key(w, "reasoning");
        glint_json_string(w, reasoning);
    }
    if (c->calls.n != 0) {
        glint_json_key(w, "tool_calls");
        glint_json_begin_array(w);
        put_raw(w, &c->calls);
        glint_json_end_array(w);
    }
    glint_json_end_object(w);
}

static void end_whole(struct glint_voice *voice, struct glint_buffer *out) {
    struct chat_voice *v = (struct chat_voice *)voice;
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    put_head(&w, v, "chat.completion");
    glint_json_key(&w, "choices");
    glint_json_begin_array(&w);
    for (int i = 0; i < v->n_choices; i++) {
        struct choice *c = &v->choices[i];
        if (c->reasoning.failed || c->content.failed || c->calls.failed || c->tokens.failed)
            out->failed = true;
        glint_json_begin_object(&w);
        glint_json_key(&w, "index");
        glint_json_i64(&w, i);
        glint_json_key(&w, "message");
        put_message(&w, c);
        put_logprobs(&w, v->logprobs, &c->tokens);
        glint_json_key(&w, "finish_reason");
        glint_json_text(&w, c->finish ? c->finish : "stop");
        glint_json_end_object(&w);
    }
    glint_json_end_array(&w);
    glint_json_key(&w, "usage");
    glint_openai_put_usage(&w, &v->usage);
    glint_json_key(&w, "timings");
    glint_openai_put_timings(&w, &v->usage);
    glint_json_end_object(&w);
}

static void close_voice(struct glint_voice *voice) {
    struct chat_voice *v = (struct chat_voice *)voice;
    for (int i = 0; i < GLINT_CHAT_MAX_CHOICES; i++) {
        glint_buffer_fini(&v->choices[i].reasoning);
        glint_buffer_fini(&v->choices[i].content);
        glint_buffer_fini(&v->choices[i].calls);
        glint_buffer_fini(&v->choices[i].tokens);
    }
    glint_free(v);
}

bool glint_openai_read_stream(struct glint_openai_stream *stream,
                              const struct glint_fields *fields) {
    const struct glint_json *options = glint_field(fields, "stream_options");
    struct glint_fields inner = {options, fields->error};
    *stream = (struct glint_openai_stream){.on = false};
    if (options && !glint_json_is(options, GLINT_JSON_OBJECT))
        return glint_field_refuse(fields, "stream_options", "an object");
    return glint_field_bool(fields, "stream", &stream->on) &&
           (!options || glint_field_bool(&inner, "include_usage", &stream->include_usage));
}

bool glint_openai_voice_open(struct glint_voice **out, const struct glint_json *root,
                             const struct glint_exchange *x, const struct glint_chat_job *job,
                             struct glint_api_error *error) {
    struct glint_fields fields = {root, error};
    const char *model = x->server->model;
    struct glint_openai_stream options;
    if (!glint_openai_read_stream(&options, &fields) || !glint_field_text(&fields, "model", &model))
        return false;
    bool stream = options.on;
    struct chat_voice *v = glint_alloc(1, sizeof *v);
    if (!v) {
        glint_api_fail(error, 500, NULL, "no memory for the request");
        return false;
    }
    v->voice = (struct glint_voice){.stream = stream,
                                    .content_type = "text/event-stream",
                                    .ping = ": ping\n\n",
                                    .begin = begin_stream,
                                    .note = stream ? note_stream : note_whole,
                                    .end = stream ? end_stream : end_whole,
                                    .close = close_voice};
    glint_random_id(v->id, "chatcmpl-");
    glint_utf8_copy(v->model, sizeof v->model, model);
    v->created = (int64_t)time(NULL);
    v->include_usage = options.include_usage;
    v->logprobs = job->sampling.options.logprobs;
    v->n_choices = job->n_choices;
    *out = &v->voice;
    return true;
}
