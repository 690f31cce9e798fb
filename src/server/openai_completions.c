// SPDX-License-Identifier: Apache-2.0
// openai_completions.c — prompts as texts or token ids, one or many; echo and log-probabilities of
// the prompt for those who measure models with it.
#include "server/openai_completions.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "server/openai_voice.h"
#include "server/text_job.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_TOKENS = 16 };

// ---- the request ------------------------------------------------------------------------------

static bool read_fields(struct glint_text_job *c, const struct glint_fields *fields,
                        const struct glint_request_defaults *defaults) {
    static const char *const unsupported[] = {"suffix", "grammar", "json_schema", "guided_json",
                                              "response_format"};
    struct glint_sampler_options *options = &c->sampling.options;
    const struct glint_json *logprobs = glint_field(fields, "logprobs");
    int64_t n_logprobs = 0, best_of = 1;
    bool asked = glint_json_is(logprobs, GLINT_JSON_NUMBER);
    c->n_predict = DEFAULT_TOKENS;
    c->n_each = 1;
    bool ok = glint_sampling_read(&c->sampling, fields, defaults) &&
              glint_field_int(fields, "max_tokens", 0, INT32_MAX, &c->n_predict) &&
              glint_field_int(fields, "n", 1, GLINT_CHAT_MAX_CHOICES, &c->n_each) &&
              glint_field_bool(fields, "echo", &c->echo) &&
              glint_field_int(fields, "logprobs", 0, 20, &n_logprobs) &&
              glint_field_int(fields, "best_of", 1, INT32_MAX, &best_of) &&
              glint_chat_job_read_stops(&c->stops, fields, "stop");
    if (ok && c->echo && c->stops.n_stops != 0)
        ok = glint_field_refuse(fields, "stop", "nothing beside \"echo\"");
    if (ok && best_of != c->n_each && glint_field(fields, "best_of"))
        ok = glint_field_refuse(fields, "best_of", "the same as \"n\"");
    for (size_t i = 0; ok && i < sizeof unsupported / sizeof unsupported[0]; i++)
        ok = glint_field_unsupported(fields, unsupported[i], -1);
    options->logprobs = asked;
    options->n_logprobs = (int32_t)n_logprobs;
    return ok;
}

// ---- the voice --------------------------------------------------------------------------------

struct choice {
    struct glint_buffer text;                            // not streamed: all of it
    struct glint_buffer tokens, logprobs, tops, offsets; // members of lists, commas between
    bool open_top;                                       // the last object of tops
    size_t n_chars;
    const char *finish;
};

struct text_voice {
    struct glint_voice voice;
    char id[GLINT_RANDOM_ID_BYTES];
    char model[200];
    int64_t created;
    bool include_usage, wants_logprobs;
    int n_choices;
    struct choice choices[GLINT_TEXT_MAX_WORKS];
    struct glint_usage usage;
};

static void close_top(struct choice *c) {
    if (c->open_top)
        glint_buffer_append_char(&c->tops, '}');
    c->open_top = false;
}

static struct glint_json_writer list_writer(struct glint_buffer *list) {
    return (struct glint_json_writer){
        .out = list, .style = GLINT_JSON_COMPACT, .follows = list->n != 0};
}

// A token's text; a part of a character as "bytes:\xe4\xbd", so that different ones stay different.
static void spell(struct glint_buffer *out, const struct glint_note *note) {
    if (glint_utf8_is_valid(note->text, note->n)) {
        glint_buffer_append(out, note->text, note->n);
        return;
    }
    glint_buffer_append_text(out, "bytes:");
    for (size_t i = 0; i < note->n; i++)
        glint_buffer_printf(out, "\\x%02x", (unsigned char)note->text[i]);
}

static void add_token(struct choice *c, const struct glint_note *note) {
    struct glint_buffer clean = {.data = NULL};
    spell(&clean, note);
    struct glint_view text = {clean.data ? clean.data : "", clean.n};
    if (note->kind == GLINT_NOTE_TOKEN) {
        struct glint_json_writer w = list_writer(&c->tokens);
        close_top(c);
        glint_json_string(&w, text);
        w = list_writer(&c->logprobs);
        if (note->no_logprob)
            glint_json_null(&w);
        else
            glint_json_double(&w, (double)note->logprob);
        w = list_writer(&c->offsets);
        glint_json_u64(&w, c->n_chars);
        w = list_writer(&c->tops);
        if (note->no_logprob) {
            glint_json_null(&w);
        } else {
            glint_json_begin_object(&w);
            c->open_top = true;
        }
        for (size_t i = 0; i < note->n && !note->special; i++) // bytes that begin a character
            c->n_chars += ((unsigned char)note->text[i] & 0xc0) != 0x80;
    } else if (c->open_top) {
        struct glint_json_writer w = {.out = &c->tops, .style = GLINT_JSON_COMPACT};
        w.follows = c->tops.n != 0 && c->tops.data[c->tops.n - 1] != '{';
        glint_json_key_view(&w, text);
        glint_json_double(&w, (double)note->logprob);
    }
    glint_buffer_fini(&clean);
}

static void put_list(struct glint_json_writer *w, const char *key, struct glint_buffer *members) {
    glint_json_key(w, key);
    glint_json_begin_array(w);
    glint_buffer_append(w->out, members->data, members->n);
    glint_json_end_array(w);
    w->out->failed = w->out->failed || members->failed;
    glint_buffer_clear(members);
}

static void put_choice(struct glint_json_writer *w, struct text_voice *v, int i,
                       struct glint_view text) {
    struct choice *c = &v->choices[i];
    glint_json_begin_object(w);
    glint_json_key(w, "index");
    glint_json_i64(w, i);
    glint_json_key(w, "text");
    glint_json_string(w, text);
    glint_json_key(w, "logprobs");
    if (v->wants_logprobs && (c->tokens.n != 0 || !v->voice.stream)) {
        close_top(c);
        glint_json_begin_object(w);
        put_list(w, "tokens", &c->tokens);
        put_list(w, "token_logprobs", &c->logprobs);
        put_list(w, "top_logprobs", &c->tops);
        put_list(w, "text_offset", &c->offsets);
        glint_json_end_object(w);
    } else {
        glint_json_null(w);
    }
    glint_json_key(w, "finish_reason");
    if (c->finish)
        glint_json_text(w, c->finish);
    else
        glint_json_null(w);
    glint_json_end_object(w);
}

static struct glint_json_writer begin_object(const struct text_voice *v, struct glint_buffer *out) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    glint_json_key(&w, "id");
    glint_json_text(&w, v->id);
    glint_json_key(&w, "object");
    glint_json_text(&w, "text_completion");
    glint_json_key(&w, "created");
    glint_json_i64(&w, v->created);
    glint_json_key(&w, "model");
    glint_json_text(&w, v->model);
    glint_json_key(&w, "system_fingerprint");
    glint_json_text(&w, "glint-" GLINT_VERSION);
    glint_json_key(&w, "choices");
    glint_json_begin_array(&w);
    return w;
}

static void say_chunk(struct text_voice *v, int choice, struct glint_view text,
                      struct glint_buffer *out) {
    glint_buffer_append_text(out, "data: ");
    struct glint_json_writer w = begin_object(v, out);
    put_choice(&w, v, choice, text);
    glint_json_end_array(&w);
    glint_json_end_object(&w);
    glint_buffer_append_text(out, "\n\n");
}

static void note_text(struct glint_voice *voice, const struct glint_note *note,
                      struct glint_buffer *out) {
    struct text_voice *v = (struct text_voice *)voice;
    struct choice *c = &v->choices[note->choice];
    struct glint_view text = {note->text, note->n};
    switch (note->kind) {
    case GLINT_NOTE_CONTENT:
        if (voice->stream)
            say_chunk(v, note->choice, text, out);
        else
            glint_buffer_append(&c->text, text.data, text.n);
        break;
    case GLINT_NOTE_TOKEN:
    case GLINT_NOTE_TOP:
        add_token(c, note);
        break;
    case GLINT_NOTE_FINISH:
        c->finish = glint_turn_reason_name(note->reason);
        glint_openai_add_usage(&v->usage, &note->usage);
        if (voice->stream && !voice->failed)
            say_chunk(v, note->choice, glint_view_of(""), out);
        break;
    case GLINT_NOTE_FAIL:
        if (voice->stream)
            glint_openai_say_error(voice, note, out);
        break;
    default:
        break;
    }
}

static void begin_text(struct glint_voice *voice, struct glint_buffer *out) {
    (void)voice; // the first chunk comes with the first text
    (void)out;
}

static void end_text(struct glint_voice *voice, struct glint_buffer *out) {
    struct text_voice *v = (struct text_voice *)voice;
    v->usage.n_prompt = voice->n_prompt;
    if (voice->stream && !v->include_usage) {
        glint_buffer_append_text(out, "data: [DONE]\n\n");
        return;
    }
    if (voice->stream)
        glint_buffer_append_text(out, "data: ");
    struct glint_json_writer w = begin_object(v, out);
    for (int i = 0; i < v->n_choices && !voice->stream; i++) {
        struct choice *c = &v->choices[i];
        put_choice(&w, v, i, (struct glint_view){c->text.data ? c->text.data : "", c->text.n});
        out->failed = out->failed || c->text.failed;
    }
    glint_json_end_array(&w);
    glint_json_key(&w, "usage");
    glint_openai_put_usage(&w, &v->usage);
    glint_json_end_object(&w);
    if (voice->stream)
        glint_buffer_append_text(out, "\n\ndata: [DONE]\n\n");
}

static void close_voice(struct glint_voice *voice) {
    struct text_voice *v = (struct text_voice *)voice;
    for (int i = 0; i < v->n_choices; i++) {
        struct choice *c = &v->choices[i];
        struct glint_buffer *all[] = {&c->text, &c->tokens, &c->logprobs, &c->tops, &c->offsets};
        for (size_t j = 0; j < sizeof all / sizeof all[0]; j++)
            glint_buffer_fini(all[j]);
    }
    glint_free(v);
}

static bool open_voice(struct text_voice **out, const struct glint_fields *fields,
                       const struct glint_text_job *c, const struct glint_exchange *x) {
    const char *model = x->server->model;
    struct glint_openai_stream stream;
    if (!glint_openai_read_stream(&stream, fields) || !glint_field_text(fields, "model", &model))
        return false;
    struct text_voice *v = glint_alloc(1, sizeof *v);
    if (!v) {
        glint_api_fail(fields->error, 500, NULL, "no memory for the request");
        return false;
    }
    v->voice = (struct glint_voice){.stream = stream.on,
                                    .content_type = "text/event-stream",
                                    .ping = ": ping\n\n",
                                    .n_prompt = c->n_prompt,
                                    .begin = begin_text,
                                    .note = note_text,
                                    .end = end_text,
                                    .close = close_voice};
    glint_random_id(v->id, "cmpl-");
    glint_utf8_copy(v->model, sizeof v->model, model);
    v->created = (int64_t)time(NULL);
    v->include_usage = stream.include_usage;
    v->wants_logprobs = c->sampling.options.logprobs;
    v->n_choices = c->n_works;
    *out = v;
    return true;
}

// ---- the route --------------------------------------------------------------------------------

void glint_openai_completions(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_json_doc *doc;
    struct text_voice *voice = NULL;
    if (!glint_exchange_parse(x, &doc))
        return;
    struct glint_fields fields = {glint_json_root(doc), &x->refusal};
    struct glint_text_job c = {.n_works = 0};
    if (read_fields(&c, &fields, &defaults) &&
        glint_text_job_add_prompts(&c, x, &fields, "prompt") && open_voice(&voice, &fields, &c, x))
        glint_exchange_generate(x, c.works, c.n_works, &voice->voice);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_text_job_fini(&c);
    glint_json_close(&doc);
}
