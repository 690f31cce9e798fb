// SPDX-License-Identifier: Apache-2.0
// openai_responses.c — a response's fields, and the route.
#include "server/openai_responses.h"

#include "server/openai_response_voice.h"
#include "server/openai_voice.h"
#include "server/response_store.h"
#include "server/tool_name.h"

#include <stdio.h>
#include <string.h>

void glint_responses_fini(struct glint_responses_request *request) {
    glint_chat_job_fini(&request->job);
    glint_items_fini(&request->inputs);
    glint_buffer_fini(&request->skipped);
}

// ---- tools ------------------------------------------------------------------------------------

static bool is_type(const struct glint_json *object, const char *type) {
    return glint_json_is_text(glint_json_get(object, "type"), type);
}

// The functions among the tools, in the template's shape; with `only`, those that it names.
static bool put_tools(struct glint_buffer *out, const struct glint_json *tools,
                      const struct glint_json *only, struct glint_buffer *skipped) {
    static const char *const names[] = {"name", "description", "parameters"};
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    bool any = false;
    for (const struct glint_json *t = glint_json_first(tools); t; t = t->next) {
        const struct glint_json *type = glint_json_get(t, "type");
        if (!is_type(t, "function")) {
            glint_items_skip(skipped, glint_json_is(type, GLINT_JSON_STRING)
                                          ? type->text
                                          : glint_view_of("tool without a type"));
            continue;
        }
        if (only && !glint_tool_is_in(only, glint_tool_name(t)))
            continue;
        if (!any)
            glint_json_begin_array(&w);
        any = true;
        glint_json_begin_object(&w);
        glint_json_key(&w, "type");
        glint_json_text(&w, "function");
        glint_json_key(&w, "function");
        glint_json_begin_object(&w);
        for (int i = 0; i < 3; i++) {
            const struct glint_json *value = glint_json_get(t, names[i]);
            if (value) {
                glint_json_key(&w, names[i]);
                glint_json_value(&w, value);
            }
        }
        glint_json_end_object(&w);
        glint_json_end_object(&w);
    }
    if (any)
        glint_json_end_array(&w);
    return any;
}

static bool read_choice_object(struct glint_responses_request *r, const struct glint_fields *fields,
                               const struct glint_json *choice, const struct glint_json *tools) {
    struct glint_fields inner = {choice, fields->error};
    const struct glint_json *mode = glint_json_get(choice, "mode");
    const struct glint_json *allowed = glint_json_get(choice, "tools");
    if (is_type(choice, "function"))
        return (glint_field_text(&inner, "name", &r->job.tool_choice) && r->job.tool_choice) ||
               glint_field_refuse(fields, "tool_choice", "{\"type\": \"function\", \"name\": ...}");
    bool required = glint_json_is_text(mode, "required");
    if (!is_type(choice, "allowed_tools") || !glint_json_is(allowed, GLINT_JSON_ARRAY) ||
        (!required && mode && !glint_json_is_text(mode, "auto")))
        return glint_field_refuse(fields, "tool_choice",
                                  "a function, or allowed_tools with tools and a mode");
    r->job.tool_choice = required ? "required" : "auto";
    if (!put_tools(&r->job.allowed, tools, allowed, &r->skipped))
        return glint_field_refuse(fields, "tool_choice",
                                  "allowed_tools with a function that \"tools\" has");
    return true;
}

static bool read_tools(struct glint_responses_request *r, const struct glint_fields *fields) {
    const struct glint_json *tools = glint_field(fields, "tools");
    const struct glint_json *choice = glint_field(fields, "tool_choice");
    bool parallel = true;
    if (tools && !glint_json_is(tools, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "tools", "a list of tools");
    bool any = put_tools(&r->job.tools, tools, NULL, &r->skipped);
    if (glint_json_is(choice, GLINT_JSON_OBJECT)) {
        if (!read_choice_object(r, fields, choice, tools))
            return false;
    } else if (glint_json_is_text(choice, "auto") || glint_json_is_text(choice, "none") ||
               glint_json_is_text(choice, "required")) {
        r->job.tool_choice = choice->text.data;
    } else if (choice) {
        return glint_field_refuse(fields, "tool_choice",
                                  "\"auto\", \"none\", \"required\" or an object");
    }
    bool forced = r->job.tool_choice && strcmp(r->job.tool_choice, "auto") != 0 &&
                  strcmp(r->job.tool_choice, "none") != 0;
    if (forced && !any)
        return glint_field_refuse(fields, "tool_choice", "a function in \"tools\" beside it");
    if (!glint_field_bool(fields, "parallel_tool_calls", &parallel))
        return false;
    r->job.one_call = !parallel;
    return true;
}

// ---- other fields -----------------------------------------------------------------------------

static bool is_one_of(const char *word, const char *const *words, size_t n) {
    bool found = !word;
    for (size_t i = 0; i < n && !found; i++)
        found = strcmp(word, words[i]) == 0;
    return found;
}

static bool read_reasoning(struct glint_responses_request *r, const struct glint_fields *fields) {
    static const char *const summaries[] = {"auto", "concise", "detailed"};
    const struct glint_json *reasoning = glint_field(fields, "reasoning");
    struct glint_fields inner = {reasoning, fields->error};
    const char *summary = NULL;
    if (!reasoning)
        return true;
    if (!glint_json_is(reasoning, GLINT_JSON_OBJECT))
        return glint_field_refuse(fields, "reasoning", "an object");
    if (!glint_field_text(&inner, "effort", &r->job.effort) ||
        !glint_field_text(&inner, "generate_summary", &summary) ||
        !glint_field_text(&inner, "summary", &summary))
        return false;
    if (!is_one_of(summary, summaries, 3))
        return glint_field_refuse(&inner, "summary", "auto, concise or detailed");
    r->summary = summary != NULL;
    return true;
}

static bool read_text(struct glint_responses_request *r, const struct glint_fields *fields) {
    const struct glint_json *text = glint_field(fields, "text");
    struct glint_fields inner = {text, fields->error};
    if (text && !glint_json_is(text, GLINT_JSON_OBJECT))
        return glint_field_refuse(fields, "text", "an object");
    const struct glint_json *format = text ? glint_field(&inner, "format") : NULL;
    const struct glint_json *schema = glint_json_get(format, "schema");
    if (!format || is_type(format, "text"))
        return true;
    r->job.json_object = is_type(format, "json_object");
    if (r->job.json_object)
        return true;
    if (!is_type(format, "json_schema") || !schema) {
        glint_api_fail(fields->error, 400, "text.format",
                       "text.format: expected an object of type text, json_object, or json_schema "
                       "with a schema");
        return false;
    }
    glint_json_put_value(&r->job.schema, schema, GLINT_JSON_COMPACT);
    return true;
}

static bool read_logprobs(struct glint_responses_request *r, const struct glint_fields *fields) {
    const struct glint_json *include = glint_field(fields, "include");
    struct glint_sampler_options *options = &r->job.sampling.options;
    int64_t top = 0;
    if (include && !glint_json_is(include, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "include", "a list of names");
    for (const struct glint_json *m = glint_json_first(include); m; m = m->next) {
        options->logprobs =
            options->logprobs || glint_json_is_text(m, "message.output_text.logprobs");
        r->seal = r->seal || glint_json_is_text(m, "reasoning.encrypted_content");
    }
    if (!glint_field_int(fields, "top_logprobs", 0, 20, &top))
        return false;
    options->logprobs = options->logprobs || top > 0;
    options->n_logprobs = (int32_t)top;
    return true;
}

static bool read_rest(struct glint_responses_request *r, const struct glint_fields *fields) {
    static const char *const truncations[] = {"auto", "disabled"};
    static const char *const unsupported[] = {"background", "conversation", "prompt",
                                              "context_management"};
    const struct glint_json *metadata = glint_field(fields, "metadata");
    const char *truncation = NULL;
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++)
        if (!glint_field_unsupported(fields, unsupported[i], -1))
            return false;
    if (metadata && !glint_json_is(metadata, GLINT_JSON_OBJECT))
        return glint_field_refuse(fields, "metadata", "an object");
    if (!glint_field_text(fields, "truncation", &truncation))
        return false;
    if (!is_one_of(truncation, truncations, 2))
        return glint_field_refuse(fields, "truncation", "auto or disabled");
    r->shorten = truncation && strcmp(truncation, "auto") == 0;
    r->store = true;
    return glint_field_text(fields, "model", &r->model) &&
           glint_field_text(fields, "previous_response_id", &r->previous) &&
           glint_field_bool(fields, "stream", &r->stream) &&
           glint_field_bool(fields, "store", &r->store) &&
           glint_field_int(fields, "max_output_tokens", 1, INT32_MAX, &r->job.n_predict);
}

bool glint_responses_read(struct glint_responses_request *r,
                          const struct glint_items_source *source,
                          const struct glint_request_defaults *defaults) {
    const struct glint_fields *fields = source->fields;
    r->job.n_predict = defaults->n_predict;
    r->job.rename = glint_responses_rename;
    return read_rest(r, fields) && glint_items_read(&r->job, source, &r->inputs, &r->skipped) &&
           read_tools(r, fields) && read_reasoning(r, fields) && read_text(r, fields) &&
           glint_sampling_read(&r->job.sampling, fields, defaults) && read_logprobs(r, fields);
}

// "messages[3].content: expected ..." -> "input: expected ...", and the like.
static void rename_field(struct glint_api_error *error, const char *from, const char *to) {
    char text[sizeof error->message];
    size_t n = strlen(from);
    const char *rest = strstr(error->message, ": ");
    if (strncmp(error->param, from, n) != 0)
        return;
    snprintf(error->param, sizeof error->param, "%s", to);
    if (strncmp(error->message, from, n) == 0 && rest) {
        snprintf(text, sizeof text, "%s%s", to, rest);
        memcpy(error->message, text, sizeof text);
    }
}

void glint_responses_rename(struct glint_api_error *error) {
    rename_field(error, "messages", "input");
    rename_field(error, "response_format", "text.format");
    rename_field(error, "reasoning_effort", "reasoning.effort");
}

// ---- the routes -------------------------------------------------------------------------------

// What a request is made of besides its body.
struct past {
    struct glint_json_doc *history, *references;
};

static bool parse_own(struct glint_json_doc **doc, struct glint_buffer *json,
                      struct glint_api_error *refusal) {
    struct glint_json_options options = {.repair_surrogates = true, .name = "stored items"};
    struct glint_error error = {.status = GLINT_E_NOMEM, .text = "no memory for the request"};
    bool ok = !json->failed && glint_json_parse(doc, (struct glint_view){json->data, json->n},
                                                &options, &error) == GLINT_OK;
    if (!ok)
        glint_api_fail(refusal, 500, NULL, "%s", error.text);
    glint_buffer_fini(json);
    return ok;
}

static bool find_history(struct past *past, struct glint_exchange *x, const char *id) {
    struct glint_error error = {.status = GLINT_OK};
    struct glint_items items = {.n = 0};
    struct glint_response_query query = {.owner = glint_server_key(x->server, x->tenant),
                                         .id = id,
                                         .with_output = true,
                                         .max_bytes = x->server->params.max_body_bytes};
    if (!x->server->store) {
        glint_api_fail(&x->refusal, 400, "previous_response_id",
                       "previous_response_id: this server stores no responses (glint serve "
                       "--store); send the whole conversation as input");
        return false;
    }
    enum glint_status status =
        glint_response_store_history(x->server->store, &query, &items, &error);
    if (status != GLINT_OK) {
        const char *reason;
        bool ours = glint_responses_store_failed(x, &error, &reason);
        glint_api_fail(&x->refusal, ours ? 500 : 400, "previous_response_id",
                       "previous_response_id: %s", reason);
        if (status == GLINT_E_NOTFOUND)
            x->refusal.code = "previous_response_not_found";
        glint_items_fini(&items);
        return false;
    }
    struct glint_buffer json = {.data = NULL};
    glint_buffer_append_char(&json, '[');
    glint_items_put(&items, &json);
    glint_buffer_append_char(&json, ']');
    glint_items_fini(&items);
    return parse_own(&past->history, &json, &x->refusal);
}

// The stored items that the input refers to, as an object; what is not there is left out.
static bool find_references(struct past *past, struct glint_exchange *x,
                            const struct glint_json *input) {
    struct glint_buffer json = {.data = NULL};
    const char *owner = glint_server_key(x->server, x->tenant);
    int n_left = GLINT_ITEMS_MAX;
    if (!x->server->store || !glint_json_is(input, GLINT_JSON_ARRAY))
        return true;
    for (const struct glint_json *m = glint_json_first(input); m && n_left; m = m->next) {
        const struct glint_json *id = glint_json_get(m, "id");
        bool reference = is_type(m, "item_reference") || m->n == 1;
        size_t before = json.n;
        if (!reference || !glint_json_is(id, GLINT_JSON_STRING))
            continue;
        n_left--;
        glint_buffer_append_char(&json, before ? ',' : '{');
        glint_json_put_string(&json, id->text);
        glint_buffer_append_char(&json, ':');
        if (glint_response_store_item(x->server->store, owner, id->text.data, &json, NULL) !=
                GLINT_OK &&
            json.data) {
            json.n = before;
            json.data[before] = 0;
        }
    }
    if (json.n == 0 && !json.failed) {
        glint_buffer_fini(&json);
        return true;
    }
    glint_buffer_append_char(&json, '}');
    return parse_own(&past->references, &json, &x->refusal);
}

// Drops turns from the beginning, ever more, until an eighth of the context is left for the answer
// and what comes after it. What cannot be made to fit is refused later, with its length.
static bool shorten(struct glint_responses_request *request, struct glint_items_source *source,
                    struct glint_exchange *x) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    size_t n_context = (size_t)glint_engine_info(engine).n_context;
    int n_turns = GLINT_ITEMS_MAX;
    for (;;) {
        struct glint_ids ids = {.data = NULL};
        enum glint_turn_start start;
        if (!glint_chat_job_render(&request->job, x, &ids, &start, &x->refusal)) {
            glint_responses_rename(&x->refusal);
            return false;
        }
        bool fits = ids.n < (source->n_drop ? n_context - n_context / 8 : n_context);
        glint_ids_free(&ids);
        if (fits || source->n_drop >= n_turns - 1)
            return true;
        source->n_drop += 1 + source->n_drop / 2;
        n_turns = glint_items_shorten(&request->job, source);
        if (source->n_drop >= n_turns) { // the last one stays
            source->n_drop = n_turns > 1 ? n_turns - 1 : 0;
            glint_items_shorten(&request->job, source);
        }
    }
}

// The body and what it refers to. False after filling x->refusal.
static bool read_request(struct glint_responses_request *request, struct past *past,
                         struct glint_exchange *x, const struct glint_json *root) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_fields fields = {root, &x->refusal};
    const char *previous = NULL;
    request->model = x->server->model;
    if (!glint_field_text(&fields, "previous_response_id", &previous) ||
        (previous && !find_history(past, x, previous)) ||
        !find_references(past, x, glint_field(&fields, "input")))
        return false;
    struct glint_items_source source = {
        .fields = &fields,
        .history = past->history ? glint_json_root(past->history) : NULL,
        .references = past->references ? glint_json_root(past->references) : NULL};
    if (!glint_responses_read(request, &source, &defaults) ||
        (request->shorten && request->job.media.n == 0 && !shorten(request, &source, x)))
        return false;
    if (request->skipped.n != 0 && !request->skipped.failed)
        glint_server_say(x->server, GLINT_SAY_INFO, "%s %s left out, unknown here: %s",
                         x->request_id, x->path, request->skipped.data);
    return true;
}

void glint_responses(struct glint_exchange *x) {
    struct glint_responses_request request = {.model = NULL};
    struct past past = {NULL, NULL};
    struct glint_json_doc *doc;
    struct glint_voice *voice = NULL;
    if (!glint_exchange_parse(x, &doc))
        return;
    const struct glint_json *root = glint_json_root(doc);
    if (read_request(&request, &past, x, root) &&
        glint_response_voice_open(&voice, &request, root, x, &x->refusal))
        glint_chat_job_start(&request.job, x, voice);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_responses_fini(&request);
    glint_json_close(&past.history);
    glint_json_close(&past.references);
    glint_json_close(&doc);
}

void glint_responses_count(struct glint_exchange *x) {
    struct glint_responses_request request = {.model = NULL};
    struct past past = {NULL, NULL};
    struct glint_json_doc *doc;
    struct glint_ids ids = {.data = NULL};
    enum glint_turn_start start;
    if (!glint_exchange_parse(x, &doc))
        return;
    if (read_request(&request, &past, x, glint_json_root(doc)) &&
        glint_chat_job_render(&request.job, x, &ids, &start, &x->refusal)) {
        struct glint_buffer out = {.data = NULL};
        struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
        glint_json_begin_object(&w);
        glint_json_key(&w, "object");
        glint_json_text(&w, "response.input_tokens");
        glint_json_key(&w, "input_tokens");
        glint_json_u64(&w, ids.n);
        glint_json_end_object(&w);
        glint_exchange_answer_json(x, &out);
    } else {
        glint_responses_rename(&x->refusal);
        glint_exchange_refuse(x, &x->refusal);
    }
    glint_ids_free(&ids);
    glint_responses_fini(&request);
    glint_json_close(&past.history);
    glint_json_close(&past.references);
    glint_json_close(&doc);
}
