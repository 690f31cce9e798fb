// SPDX-License-Identifier: Apache-2.0
// native_completion.c — llama.cpp's /completion: raw prompts, its names of fields, its stream.
#include "server/native_completion.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "server/openai_completions.h"
#include "server/openai_voice.h"
#include "server/text_job.h"

// ---- the request ------------------------------------------------------------------------------

// What a request asks to see.
struct shown {
    bool stream, tokens, probs;
    int64_t n_probs;
};

// Samplers work in one order here. A list that says so is fine, whatever else is in it: that is off
// by its own field, or refused there.
static bool check_samplers(const struct glint_fields *fields) {
    static const char *const order[] = {"penalties", "top_k", "top_p", "min_p", "temperature"};
    const struct glint_json *samplers = glint_field(fields, "samplers");
    size_t n = sizeof order / sizeof order[0], at = 0;
    bool ok = !samplers || glint_json_is(samplers, GLINT_JSON_ARRAY);
    for (const struct glint_json *m = glint_json_first(samplers); m && ok; m = m->next) {
        size_t i = 0;
        while (i < n && !glint_json_is_text(m, order[i]))
            i++;
        ok = i == n || i == at;
        at += i < n;
    }
    if (ok && (!samplers || samplers->n == 0 || at == n))
        return true;
    return glint_field_refuse(fields, "samplers",
                              "the order penalties, top_k, top_p, min_p, temperature");
}

static bool refuse_rest(const struct glint_fields *fields) {
    static const struct {
        const char *name;
        double off;
    } rows[] = {{"grammar", -1},          {"lora", -1},         {"response_fields", -1},
                {"t_max_predict_ms", -1}, {"n_indent", 0},      {"post_sampling_probs", 0},
                {"input_prefix", -1},     {"input_suffix", -1}, {"image_data", -1}};
    double sigma = -1;
    if (!glint_field_double(fields, "top_n_sigma", -1e9, 1e9, &sigma))
        return false;
    if (sigma > 0)
        return glint_field_refuse(fields, "top_n_sigma", "-1: this server does not do that");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!glint_field_unsupported(fields, rows[i].name, rows[i].off))
            return false;
    return check_samplers(fields);
}

// The schema's text goes to `schema`, which must live as long as the job.
static bool read_fields(struct glint_text_job *job, struct shown *shown,
                        struct glint_buffer *schema, const struct glint_fields *fields,
                        const struct glint_request_defaults *defaults) {
    const struct glint_json *json_schema = glint_field(fields, "json_schema");
    bool cache = true; // answers do not depend on it
    job->n_predict = defaults->n_predict;
    job->n_each = 1;
    bool ok = glint_sampling_read(&job->sampling, fields, defaults) &&
              glint_field_int(fields, "max_tokens", -1, INT32_MAX, &job->n_predict) &&
              glint_field_int(fields, "n_predict", -2, INT32_MAX, &job->n_predict) &&
              glint_field_int(fields, "n", 1, GLINT_CHAT_MAX_CHOICES, &job->n_each) &&
              glint_field_bool(fields, "stream", &shown->stream) &&
              glint_field_bool(fields, "return_tokens", &shown->tokens) &&
              glint_field_bool(fields, "cache_prompt", &cache) &&
              glint_field_int(fields, "n_probs", 0, GLINT_SAMPLER_MAX_TOP, &shown->n_probs) &&
              glint_chat_job_read_stops(&job->stops, fields, "stop") && refuse_rest(fields);
    if (job->n_predict < 0)
        job->n_predict = -1; // -2: until the context is full, which always ends it
    shown->probs = shown->n_probs > 0;
    job->sampling.options.logprobs = shown->probs || shown->tokens;
    job->sampling.options.n_logprobs = (int32_t)shown->n_probs;
    if (ok && json_schema) {
        glint_json_put_value(schema, json_schema, GLINT_JSON_COMPACT);
        job->schema = (struct glint_json_text){schema->data, schema->n};
        if (schema->failed) {
            glint_api_fail(fields->error, 500, NULL, "no memory for the request");
            ok = false;
        }
    }
    return ok;
}

// ---- the voice --------------------------------------------------------------------------------

struct choice {
    struct glint_buffer text;  // not streamed: all of it
    struct glint_buffer ids;   // of the tokens shown, commas between; streamed: of the last piece
    struct glint_buffer probs; // JSON objects, likewise
    struct glint_buffer stop;  // the stop string that came
    struct glint_usage usage;
    const char *stop_type;
};

struct native_voice {
    struct glint_voice voice;
    struct shown shown;
    char model[200];
    struct glint_buffer settings; // JSON object
    int n_choices;
    struct choice choices[GLINT_TEXT_MAX_WORKS];
};

static void put_list(struct glint_json_writer *w, const char *key, struct glint_buffer *members) {
    glint_json_key(w, key);
    glint_json_begin_array(w);
    glint_buffer_append(w->out, members->data, members->n);
    glint_json_end_array(w);
    w->out->failed = w->out->failed || members->failed;
    glint_buffer_clear(members);
}

// Up to what tells the last object from the others.
static struct glint_json_writer begin_object(struct native_voice *v, int i, struct glint_view text,
                                             struct glint_buffer *out) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    glint_json_key(&w, "index");
    glint_json_i64(&w, i);
    glint_json_key(&w, "content");
    glint_json_string(&w, text);
    put_list(&w, "tokens", &v->choices[i].ids);
    if (v->shown.probs)
        put_list(&w, "completion_probabilities", &v->choices[i].probs);
    return w;
}

static void say_piece(struct native_voice *v, int i, struct glint_view text,
                      struct glint_buffer *out) {
    glint_buffer_append_text(out, "data: ");
    struct glint_json_writer w = begin_object(v, i, text, out);
    glint_json_key(&w, "stop");
    glint_json_bool(&w, false);
    glint_json_end_object(&w);
    glint_buffer_append_text(out, "\n\n");
}

static void put_last(struct native_voice *v, int i, struct glint_buffer *out) {
    struct choice *c = &v->choices[i];
    struct glint_view text = {c->text.data ? c->text.data : "", c->text.n};
    struct glint_json_writer w = begin_object(v, i, text, out);
    glint_json_key(&w, "stop");
    glint_json_bool(&w, true);
    glint_json_key(&w, "model");
    glint_json_text(&w, v->model);
    glint_json_key(&w, "tokens_predicted");
    glint_json_i64(&w, c->usage.n_generated);
    glint_json_key(&w, "tokens_evaluated");
    glint_json_i64(&w, c->usage.n_prompt);
    glint_json_key(&w, "tokens_cached");
    glint_json_i64(&w, c->usage.n_cached);
    glint_json_key(&w, "truncated"); // prompts are refused, not cut
    glint_json_bool(&w, false);
    glint_json_key(&w, "stop_type");
    glint_json_text(&w, c->stop_type ? c->stop_type : "none");
    glint_json_key(&w, "stopping_word");
    glint_json_string(&w, (struct glint_view){c->stop.data ? c->stop.data : "", c->stop.n});
    glint_json_key(&w, "generation_settings");
    glint_buffer_append(w.out, v->settings.data, v->settings.n);
    w.after_key = false;
    glint_json_key(&w, "timings");
    glint_openai_put_timings(&w, &c->usage);
    glint_json_end_object(&w);
    out->failed = out->failed || c->text.failed || c->stop.failed || v->settings.failed;
}

static void keep_token(struct native_voice *v, struct choice *c, const struct glint_note *note) {
    if (note->kind == GLINT_NOTE_TOKEN && v->shown.tokens)
        glint_buffer_printf(&c->ids, "%s%d", c->ids.n ? "," : "", (int)note->id);
    if (v->shown.probs)
        glint_openai_keep_token(&c->probs, note, true);
}

static void keep_finish(struct choice *c, const struct glint_note *note) {
    c->usage = note->usage;
    glint_buffer_append(&c->stop, note->text, note->n);
    c->stop_type = note->reason == GLINT_FINISH_LENGTH ? "limit" : note->n != 0 ? "word" : "eos";
}

static void note_native(struct glint_voice *voice, const struct glint_note *note,
                        struct glint_buffer *out) {
    struct native_voice *v = (struct native_voice *)voice;
    struct choice *c = &v->choices[note->choice];
    struct glint_view text = {note->text, note->n};
    if (voice->failed)
        return;
    switch (note->kind) {
    case GLINT_NOTE_CONTENT:
        if (voice->stream)
            say_piece(v, note->choice, text, out);
        else
            glint_buffer_append(&c->text, text.data, text.n);
        break;
    case GLINT_NOTE_TOKEN:
    case GLINT_NOTE_TOP:
        keep_token(v, c, note);
        break;
    case GLINT_NOTE_FINISH:
        keep_finish(c, note);
        if (!voice->stream)
            break;
        glint_buffer_append_text(out, "data: ");
        put_last(v, note->choice, out);
        glint_buffer_append_text(out, "\n\n");
        break;
    case GLINT_NOTE_FAIL:
        if (voice->stream)
            glint_openai_say_error(voice, note, out);
        break;
    default:
        break;
    }
}

static void begin_native(struct glint_voice *voice, struct glint_buffer *out) {
    (void)voice; // the first object comes with the first text
    (void)out;
}

// One object, or a list of them when there are several.
static void end_native(struct glint_voice *voice, struct glint_buffer *out) {
    struct native_voice *v = (struct native_voice *)voice;
    if (voice->stream)
        return; // each choice has said its last
    if (v->n_choices > 1)
        glint_buffer_append_char(out, '[');
    for (int i = 0; i < v->n_choices; i++) {
        if (i > 0)
            glint_buffer_append_char(out, ',');
        put_last(v, i, out);
    }
    if (v->n_choices > 1)
        glint_buffer_append_char(out, ']');
}

static void close_voice(struct glint_voice *voice) {
    struct native_voice *v = (struct native_voice *)voice;
    for (int i = 0; i < v->n_choices; i++) {
        struct choice *c = &v->choices[i];
        glint_buffer_fini(&c->text);
        glint_buffer_fini(&c->ids);
        glint_buffer_fini(&c->probs);
        glint_buffer_fini(&c->stop);
    }
    glint_buffer_fini(&v->settings);
    glint_free(v);
}

static void put_float(struct glint_json_writer *w, const char *key, float value) {
    glint_json_key(w, key);
    glint_json_double(w, (double)value);
}

static void put_int(struct glint_json_writer *w, const char *key, int64_t value) {
    glint_json_key(w, key);
    glint_json_i64(w, value);
}

static void put_settings(struct native_voice *v, const struct glint_text_job *job, int n_context) {
    const struct glint_sampler_options *o = &job->sampling.options;
    struct glint_json_writer w = {.out = &v->settings, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    put_int(&w, "n_ctx", n_context);
    put_int(&w, "n_predict", job->n_predict);
    glint_json_key(&w, "seed");
    glint_json_u64(&w, o->seed);
    put_float(&w, "temperature", o->temperature);
    put_int(&w, "top_k", o->top_k);
    put_float(&w, "top_p", o->top_p);
    put_float(&w, "min_p", o->min_p);
    put_float(&w, "repeat_penalty", o->repeat_penalty);
    put_int(&w, "repeat_last_n", o->repeat_last_n);
    put_float(&w, "presence_penalty", o->presence_penalty);
    put_float(&w, "frequency_penalty", o->frequency_penalty);
    put_int(&w, "n_probs", v->shown.n_probs);
    glint_json_key(&w, "ignore_eos");
    glint_json_bool(&w, job->sampling.ignore_eos);
    glint_json_key(&w, "stream");
    glint_json_bool(&w, v->shown.stream);
    glint_json_key(&w, "stop");
    glint_json_begin_array(&w);
    for (size_t i = 0; i < job->stops.n_stops; i++)
        glint_json_text(&w, job->stops.stops[i]);
    glint_json_end_array(&w);
    glint_json_end_object(&w);
}

static bool open_voice(struct native_voice **out, const struct glint_text_job *job,
                       const struct shown *shown, const struct glint_fields *fields,
                       const struct glint_exchange *x) {
    const char *model = x->server->model;
    if (!glint_field_text(fields, "model", &model))
        return false;
    struct native_voice *v = glint_alloc(1, sizeof *v);
    if (!v) {
        glint_api_fail(fields->error, 500, NULL, "no memory for the request");
        return false;
    }
    v->voice = (struct glint_voice){.stream = shown->stream,
                                    .content_type = "text/event-stream",
                                    .ping = ": ping\n\n",
                                    .n_prompt = job->n_prompt,
                                    .begin = begin_native,
                                    .note = note_native,
                                    .end = end_native,
                                    .close = close_voice};
    v->shown = *shown;
    v->n_choices = job->n_works;
    glint_utf8_copy(v->model, sizeof v->model, model);
    put_settings(v, job, glint_exchange_defaults(x).n_context);
    *out = v;
    return true;
}

// ---- sequences --------------------------------------------------------------------------------

static void put_slot(struct glint_json_writer *w, int i, const struct glint_slot_view *view,
                     int n_context, bool speculative) {
    glint_json_begin_object(w);
    put_int(w, "id", i);
    put_int(w, "n_ctx", n_context);
    glint_json_key(w, "speculative");
    glint_json_bool(w, speculative);
    glint_json_key(w, "is_processing");
    glint_json_bool(w, view->busy);
    put_int(w, "n_past", view->n_held);
    if (view->busy) {
        put_int(w, "n_prompt_tokens", view->n_prompt);
        glint_json_key(w, "next_token");
        glint_json_begin_object(w);
        put_int(w, "n_decoded", view->n_generated);
        put_int(w, "n_remain", view->n_left);
        glint_json_end_object(w);
    }
    glint_json_end_object(w);
}

void glint_native_slots(struct glint_exchange *x) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_engine_info info = glint_engine_info(engine);
    int n = x->server->params.engine.n_session;
    struct glint_slot_view *views = glint_alloc((size_t)n, sizeof *views);
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    bool idle = false;
    if (!views) {
        glint_api_fail(&x->refusal, 500, NULL, "no memory for the request");
        glint_exchange_refuse(x, &x->refusal);
        return;
    }
    glint_engine_thread_slots(x->server->engine, views, n);
    glint_json_begin_array(&w);
    for (int i = 0; i < n; i++) {
        put_slot(&w, i, &views[i], info.n_context, info.n_draft > 0);
        idle = idle || !views[i].busy;
    }
    glint_json_end_array(&w);
    glint_free(views);
    if (idle || !glint_exchange_argument(x, "fail_on_no_slot")) {
        glint_exchange_answer_json(x, &out);
        return;
    }
    glint_buffer_fini(&out);
    glint_api_fail(&x->refusal, 503, NULL, "all %d sequences are at work", n);
    glint_exchange_refuse(x, &x->refusal);
}

void glint_native_slot_action(struct glint_exchange *x) {
    glint_api_fail(&x->refusal, 501, NULL,
                   "sequences are not saved, restored or erased by hand: what may be used again is "
                   "found by itself");
    glint_exchange_refuse(x, &x->refusal);
}

// ---- the routes -------------------------------------------------------------------------------

void glint_native_completion(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_json_doc *doc;
    struct glint_text_job job = {.n_works = 0};
    struct glint_buffer schema = {.data = NULL};
    struct shown shown = {.stream = false};
    struct native_voice *voice = NULL;
    if (!glint_exchange_parse(x, &doc))
        return;
    struct glint_fields fields = {glint_json_root(doc), &x->refusal};
    if (read_fields(&job, &shown, &schema, &fields, &defaults) &&
        glint_text_job_add_prompts(&job, x, &fields, "prompt") &&
        open_voice(&voice, &job, &shown, &fields, x))
        glint_exchange_generate(x, job.works, job.n_works, &voice->voice);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_text_job_fini(&job);
    glint_buffer_fini(&schema);
    glint_json_close(&doc);
}

void glint_native_completions(struct glint_exchange *x) {
    struct glint_json_doc *doc;
    if (!glint_exchange_parse(x, &doc))
        return;
    bool native = glint_json_get(glint_json_root(doc), "n_predict") != NULL;
    glint_json_close(&doc);
    if (native)
        glint_native_completion(x);
    else
        glint_openai_completions(x);
}
