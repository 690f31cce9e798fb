// SPDX-License-Identifier: Apache-2.0
// ollama_chat.c — Ollama's messages to those that the template knows, its options to ours.
// Options that only say how a model is loaded (num_ctx, num_gpu, num_thread, ...) change no answer
// here and are not looked at; nor is keep_alive: the model stays as long as the server.
#include "server/ollama_chat.h"

#include "server/ollama_voice.h"
#include "server/text_job.h"

#include <stdio.h>
#include <string.h>

// ---- messages ---------------------------------------------------------------------------------

struct conversion {
    struct glint_json_writer w; // the array of messages
    struct glint_media *media;
    struct glint_api_error *error;
    const struct glint_json *call; // of the last assistant: the next that has no result yet
};

static void put_text(struct glint_json_writer *w, const char *key, struct glint_view text) {
    glint_json_key(w, key);
    glint_json_string(w, text);
}

// Pictures stand before the text. path: the message's place in the request.
static bool put_content(struct conversion *c, struct glint_view text,
                        const struct glint_json *images, const char *path) {
    char place[GLINT_MEDIA_PATH];
    unsigned i = 0;
    if (!images || images->n == 0) {
        put_text(&c->w, "content", text);
        return true;
    }
    glint_json_key(&c->w, "content");
    glint_json_begin_array(&c->w);
    for (const struct glint_json *m = glint_json_first(images); m; m = m->next, i++) {
        struct glint_view picture;
        snprintf(place, sizeof place, "%simages[%u]", path, i);
        if (!glint_json_to_string(m, &picture)) {
            glint_api_fail(c->error, 400, place, "%s: found %s, expected base64 text", place,
                           glint_json_kind_name(m));
            return false;
        }
        if (!glint_media_put_base64(c->media, &c->w, picture, place, c->error))
            return false;
    }
    glint_json_begin_object(&c->w);
    put_text(&c->w, "type", glint_view_of("text"));
    put_text(&c->w, "text", text);
    glint_json_end_object(&c->w);
    glint_json_end_array(&c->w);
    return true;
}

// A result is of the call with its id, else of the tool it names, else of the next call there is:
// many clients send neither.
static void put_result(struct conversion *c, const struct glint_json *message) {
    struct glint_view name = {NULL, 0}, id;
    const struct glint_json *next = c->call;
    if (!glint_json_to_string(glint_json_get(message, "tool_name"), &name))
        glint_json_to_string(glint_json_get(message, "name"), &name);
    if (next)
        c->call = next->next;
    if (glint_json_to_string(glint_json_get(message, "tool_call_id"), &id) && id.n != 0)
        put_text(&c->w, "tool_call_id", id);
    else if (name.n == 0)
        glint_json_to_string(glint_json_get(glint_json_get(next, "function"), "name"), &name);
    if (name.n != 0)
        put_text(&c->w, "name", name);
}

static bool put_message(struct conversion *c, const struct glint_json *m, unsigned i) {
    const struct glint_json *content = glint_json_get(m, "content");
    const struct glint_json *role = glint_json_get(m, "role");
    const struct glint_json *thinking = glint_json_get(m, "thinking");
    const struct glint_json *calls = glint_json_get(m, "tool_calls");
    struct glint_view text = {"", 0};
    char path[40];
    snprintf(path, sizeof path, "messages[%u].", i);
    if (content && !glint_json_is(content, GLINT_JSON_NULL) &&
        !glint_json_to_string(content, &text)) {
        glint_api_fail(c->error, 400, path, "%scontent: found %s, expected a string", path,
                       glint_json_kind_name(content));
        return false;
    }
    glint_json_begin_object(&c->w);
    if (role) {
        glint_json_key(&c->w, "role");
        glint_json_value(&c->w, role);
    }
    if (thinking) {
        glint_json_key(&c->w, "thinking");
        glint_json_value(&c->w, thinking);
    }
    if (calls && calls->n != 0) {
        glint_json_key(&c->w, "tool_calls");
        glint_json_value(&c->w, calls);
    }
    if (glint_json_is_text(role, "assistant"))
        c->call = glint_json_first(calls);
    if (glint_json_is_text(role, "tool"))
        put_result(c, m);
    bool ok = put_content(c, text, glint_json_get(m, "images"), path);
    glint_json_end_object(&c->w);
    return ok;
}

static bool read_messages(struct glint_chat_job *job, const struct glint_json *messages,
                          const struct glint_fields *fields) {
    struct conversion c = {.w = {.out = &job->messages, .style = GLINT_JSON_COMPACT},
                           .media = &job->media,
                           .error = fields->error};
    unsigned i = 0;
    bool ok = true;
    if (!glint_json_is(messages, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "messages", "a list of messages");
    glint_json_begin_array(&c.w);
    for (const struct glint_json *m = glint_json_first(messages); m && ok; m = m->next, i++)
        ok = put_message(&c, m, i);
    glint_json_end_array(&c.w);
    return ok;
}

// The messages of /api/generate: a system text, if there is one, and the prompt.
static bool read_prompt(struct glint_chat_job *job, const char *system, struct glint_view prompt,
                        const struct glint_fields *fields) {
    struct conversion c = {.w = {.out = &job->messages, .style = GLINT_JSON_COMPACT},
                           .media = &job->media,
                           .error = fields->error};
    glint_json_begin_array(&c.w);
    if (system && system[0]) {
        glint_json_begin_object(&c.w);
        put_text(&c.w, "role", glint_view_of("system"));
        put_text(&c.w, "content", glint_view_of(system));
        glint_json_end_object(&c.w);
    }
    glint_json_begin_object(&c.w);
    put_text(&c.w, "role", glint_view_of("user"));
    bool ok = put_content(&c, prompt, glint_field(fields, "images"), "");
    glint_json_end_object(&c.w);
    glint_json_end_array(&c.w);
    return ok;
}

// ---- other fields -----------------------------------------------------------------------------

// "think": false leaves no room for reasoning; a word is a level of effort.
static bool read_think(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *think = glint_field(fields, "think");
    bool on = true;
    if (!think || glint_json_to_bool(think, &on)) {
        job->has_budget = !on;
        return true;
    }
    return glint_json_is(think, GLINT_JSON_STRING)
               ? glint_field_text(fields, "think", &job->effort)
               : glint_field_refuse(fields, "think", "true, false or a level");
}

// "json", a schema, or nothing.
static bool read_format(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *format = glint_field(fields, "format");
    if (!format || glint_json_is_text(format, ""))
        return true;
    job->json_object = glint_json_is_text(format, "json");
    if (glint_json_is(format, GLINT_JSON_OBJECT))
        glint_json_put_value(&job->schema, format, GLINT_JSON_COMPACT);
    else if (!job->json_object)
        return glint_field_refuse(fields, "format", "\"json\" or a JSON schema");
    return true;
}

// Sampling, stop strings and the limit, all of them in "options".
static bool read_options(struct glint_chat_job *job, const struct glint_fields *fields,
                         const struct glint_request_defaults *defaults) {
    const struct glint_json *options = glint_field(fields, "options");
    struct glint_fields inner = {options, fields->error};
    struct glint_sampler_options *sampling = &job->sampling.options;
    int64_t top = 0;
    if (options && !glint_json_is(options, GLINT_JSON_OBJECT))
        return glint_field_refuse(fields, "options", "an object");
    job->n_predict = defaults->n_predict;
    bool ok = glint_sampling_read(&job->sampling, &inner, defaults) &&
              glint_field_int(&inner, "num_predict", -2, INT32_MAX, &job->n_predict) &&
              glint_chat_job_read_stops(job, &inner, "stop") &&
              glint_field_bool(fields, "logprobs", &sampling->logprobs) &&
              glint_field_int(fields, "top_logprobs", 0, 20, &top);
    if (job->n_predict < 0)
        job->n_predict = -1; // -2: as much as fits, which is no limit here
    sampling->n_logprobs = (int32_t)top;
    return ok;
}

static bool read_tools(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *tools = glint_field(fields, "tools");
    if (tools && !glint_json_is(tools, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "tools", "a list of functions");
    if (tools && tools->n != 0)
        glint_json_put_value(&job->tools, tools, GLINT_JSON_COMPACT);
    return true;
}

static bool read_rest(struct glint_chat_job *job, const struct glint_fields *fields,
                      const struct glint_request_defaults *defaults) {
    return read_options(job, fields, defaults) && read_think(job, fields) &&
           read_format(job, fields);
}

bool glint_ollama_chat_read(struct glint_chat_job *job, const struct glint_json *root,
                            const struct glint_request_defaults *defaults,
                            struct glint_api_error *error) {
    struct glint_fields fields = {root, error};
    return read_messages(job, glint_field(&fields, "messages"), &fields) &&
           read_tools(job, &fields) && read_rest(job, &fields, defaults);
}

// ---- the routes -------------------------------------------------------------------------------

void glint_ollama_chat(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_json_doc *doc;
    struct glint_chat_job job = {.messages = {.data = NULL}};
    struct glint_voice *voice = NULL;
    if (!glint_exchange_parse(x, &doc))
        return;
    const struct glint_json *root = glint_json_root(doc);
    struct glint_fields fields = {root, &x->refusal};
    const struct glint_json *messages = glint_field(&fields, "messages");
    if (!messages || (glint_json_is(messages, GLINT_JSON_ARRAY) && messages->n == 0))
        glint_ollama_answer_load(x, root, GLINT_OLLAMA_CHAT);
    else if (glint_ollama_chat_read(&job, root, &defaults, &x->refusal) &&
             glint_ollama_voice_open(&voice, root, x, GLINT_OLLAMA_CHAT, &x->refusal))
        glint_chat_job_start(&job, x, voice);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_chat_job_fini(&job);
    glint_json_close(&doc);
}

// Fields of /api/generate that would change the answer and that nothing here honours.
static bool refuse_rest(const struct glint_fields *fields) {
    static const char *const names[] = {"suffix", "template", "context"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!glint_field_unsupported(fields, names[i], -1))
            return false;
    return true;
}

// The prompt as it stands, special tokens and all, without a template.
static void generate_raw(struct glint_exchange *x, const struct glint_fields *fields) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_chat_job job = {.messages = {.data = NULL}};
    struct glint_text_job text = {.n_works = 0};
    struct glint_voice *voice = NULL;
    static const char *const others[] = {"system", "images", "format"};
    bool ok = read_options(&job, fields, &defaults);
    for (size_t i = 0; ok && i < sizeof others / sizeof others[0]; i++)
        ok = glint_field_unsupported(fields, others[i], -1);
    text.sampling = job.sampling; // taken over
    job.sampling = (struct glint_sampling_request){.has_seed = false};
    text.stops = job;
    text.n_predict = job.n_predict;
    ok = ok && glint_text_job_add_prompts(&text, x, fields, "prompt") &&
         glint_ollama_voice_open(&voice, fields->object, x, GLINT_OLLAMA_GENERATE, &x->refusal);
    if (ok) {
        voice->n_prompt = text.n_prompt;
        glint_exchange_generate(x, text.works, text.n_works, voice);
    } else {
        glint_exchange_refuse(x, &x->refusal);
    }
    glint_text_job_fini(&text);
}

void glint_ollama_generate(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_json_doc *doc;
    struct glint_chat_job job = {.messages = {.data = NULL}};
    struct glint_voice *voice = NULL;
    const char *system = NULL;
    bool raw = false;
    if (!glint_exchange_parse(x, &doc))
        return;
    const struct glint_json *root = glint_json_root(doc);
    struct glint_fields fields = {root, &x->refusal};
    const struct glint_json *prompt = glint_field(&fields, "prompt");
    const struct glint_json *images = glint_field(&fields, "images");
    struct glint_view text = {"", 0};
    bool ok = refuse_rest(&fields) && glint_field_bool(&fields, "raw", &raw) &&
              glint_field_text(&fields, "system", &system);
    if (ok && prompt && !glint_json_to_string(prompt, &text))
        ok = glint_field_refuse(&fields, "prompt", "a string");
    if (ok && text.n == 0 && (!images || images->n == 0))
        glint_ollama_answer_load(x, root, GLINT_OLLAMA_GENERATE);
    else if (ok && raw)
        generate_raw(x, &fields);
    else if (ok && read_prompt(&job, system, text, &fields) &&
             read_rest(&job, &fields, &defaults) &&
             glint_ollama_voice_open(&voice, root, x, GLINT_OLLAMA_GENERATE, &x->refusal))
        glint_chat_job_start(&job, x, voice);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_chat_job_fini(&job);
    glint_json_close(&doc);
}
