// SPDX-License-Identifier: Apache-2.0
// openai_chat.c — a chat completion's fields, and the route.
#include "server/openai_chat.h"

#include "server/openai_voice.h"
#include "server/tool_name.h"

#include <string.h>

// ---- the request ------------------------------------------------------------------------------

// A function by name, or some of the tools: the rest stays in the prompt but cannot be called.
static bool read_choice_object(struct glint_chat_job *job, const struct glint_fields *fields,
                               const struct glint_json *choice) {
    const struct glint_json *type = glint_json_get(choice, "type");
    const struct glint_json *some = glint_json_get(choice, "allowed_tools");
    const struct glint_json *mode = glint_json_get(some, "mode");
    struct glint_fields inner = {glint_json_get(choice, "function"), fields->error};
    if (!glint_json_is_text(type, "allowed_tools"))
        return (glint_json_is_text(type, "function") &&
                glint_field_text(&inner, "name", &job->tool_choice) && job->tool_choice) ||
               glint_field_refuse(fields, "tool_choice",
                                  "{\"type\": \"function\", \"function\": {\"name\": ...}}");
    bool required = glint_json_is_text(mode, "required");
    job->tool_choice = required ? "required" : "auto";
    if ((mode && !required && !glint_json_is_text(mode, "auto")) ||
        !glint_tools_put_allowed(&job->allowed, glint_field(fields, "tools"),
                                 glint_json_get(some, "tools")))
        return glint_field_refuse(fields, "tool_choice",
                                  "allowed_tools with a mode (auto, required) and functions that "
                                  "\"tools\" has");
    return true;
}

static bool read_tool_choice(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *choice = glint_field(fields, "tool_choice");
    if (!choice)
        return true;
    if (glint_json_is(choice, GLINT_JSON_OBJECT))
        return read_choice_object(job, fields, choice);
    if (!glint_json_is_text(choice, "auto") && !glint_json_is_text(choice, "none") &&
        !glint_json_is_text(choice, "required"))
        return glint_field_refuse(fields, "tool_choice",
                                  "\"auto\", \"none\", \"required\" or a function");
    job->tool_choice = choice->text.data;
    return true;
}

static bool read_tools(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *tools = glint_field(fields, "tools");
    bool parallel = true;
    if (!glint_field_bool(fields, "parallel_tool_calls", &parallel) ||
        !read_tool_choice(job, fields))
        return false;
    job->one_call = !parallel;
    bool forced = job->tool_choice && strcmp(job->tool_choice, "auto") != 0 &&
                  strcmp(job->tool_choice, "none") != 0;
    if (forced && (!tools || tools->n == 0))
        return glint_field_refuse(fields, "tool_choice", "\"tools\" beside it");
    if (!tools)
        return true;
    if (!glint_json_is(tools, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "tools", "a list of functions");
    if (tools->n != 0)
        glint_json_put_value(&job->tools, tools, GLINT_JSON_COMPACT);
    return true;
}

// reasoning_effort, or {"reasoning": {"effort": ...}} as some gateways send it.
static bool read_effort(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *reasoning = glint_field(fields, "reasoning");
    if (reasoning && !glint_json_is(reasoning, GLINT_JSON_OBJECT))
        return glint_field_refuse(fields, "reasoning", "an object");
    struct glint_fields inner = {reasoning, fields->error};
    return (!reasoning || glint_field_text(&inner, "effort", &job->effort)) &&
           glint_field_text(fields, "reasoning_effort", &job->effort);
}

// The answer's form: OpenAI's response_format, or a schema alone under llama.cpp's or vLLM's name.
static bool read_format(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *format = glint_field(fields, "response_format");
    const struct glint_json *type = glint_json_get(format, "type");
    const struct glint_json *schema = glint_field(fields, "json_schema");
    if (!schema)
        schema = glint_field(fields, "guided_json");
    if (glint_json_is_text(type, "json_schema"))
        schema = glint_json_get(glint_json_get(format, "json_schema"), "schema");
    if (glint_json_is_text(type, "json_schema") || glint_json_is_text(type, "json_object"))
        schema = schema ? schema : glint_json_get(format, "schema");
    else if (format && !glint_json_is_text(type, "text"))
        return glint_field_refuse(fields, "response_format",
                                  "an object of type text, json_object or json_schema");
    if (glint_json_is_text(type, "json_schema") && !schema)
        return glint_field_refuse(fields, "response_format", "a \"schema\" in \"json_schema\"");
    job->json_object = glint_json_is_text(type, "json_object") && !schema;
    if (schema)
        glint_json_put_value(&job->schema, schema, GLINT_JSON_COMPACT);
    return true;
}

static bool read_budget(struct glint_chat_job *job, const struct glint_fields *fields) {
    int64_t budget = -1;
    bool ok = glint_field_int(fields, "reasoning_budget_tokens", -1, INT32_MAX, &budget) &&
              glint_field_int(fields, "thinking_budget_tokens", -1, INT32_MAX, &budget);
    job->has_budget = budget >= 0;
    job->budget = budget >= 0 ? budget : 0;
    return ok;
}

static bool read_logprobs(struct glint_chat_job *job, const struct glint_fields *fields) {
    struct glint_sampler_options *options = &job->sampling.options;
    int64_t top = 0;
    if (!glint_field_bool(fields, "logprobs", &options->logprobs) ||
        !glint_field_int(fields, "top_logprobs", 0, 20, &top))
        return false;
    if (top > 0 && !options->logprobs)
        return glint_field_refuse(fields, "top_logprobs", "\"logprobs\": true beside it");
    options->n_logprobs = (int32_t)top;
    return true;
}

static bool read_limits(struct glint_chat_job *job, const struct glint_fields *fields) {
    int64_t n_choices = 1;
    bool ok = glint_field_int(fields, "max_tokens", -1, INT32_MAX, &job->n_predict) &&
              glint_field_int(fields, "max_completion_tokens", -1, INT32_MAX, &job->n_predict) &&
              glint_field_int(fields, "n", 1, GLINT_CHAT_MAX_CHOICES, &n_choices) &&
              glint_field_int(fields, "image_max_tokens", 1, 4096, &job->image_max_tokens);
    job->n_choices = (int)n_choices;
    return ok;
}

// Known fields that would change the answer and that nothing here honours.
static bool refuse_rest(const struct glint_fields *fields) {
    static const char *const names[] = {"audio",
                                        "functions",
                                        "function_call",
                                        "grammar",
                                        "guided_regex",
                                        "echo",
                                        "guided_choice",
                                        "guided_grammar",
                                        "structured_outputs",
                                        "web_search_options",
                                        "lora",
                                        "best_of"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!glint_field_unsupported(fields, names[i], -1))
            return false;
    return true;
}

static bool read_template(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *messages = glint_field(fields, "messages");
    const struct glint_json *variables = glint_field(fields, "chat_template_kwargs");
    bool generate = true;
    if (!glint_json_is(messages, GLINT_JSON_ARRAY) || messages->n == 0)
        return glint_field_refuse(fields, "messages", "a list with a message at least");
    if (variables && !glint_json_is(variables, GLINT_JSON_OBJECT))
        return glint_field_refuse(fields, "chat_template_kwargs", "an object");
    struct glint_json_writer w = {.out = &job->messages, .style = GLINT_JSON_COMPACT};
    if (!glint_media_put_messages(&job->media, &w, messages, fields->error))
        return false;
    if (variables)
        glint_json_put_value(&job->variables, variables, GLINT_JSON_COMPACT);
    if (!glint_field_bool(fields, "continue_final_message", &job->continue_final) ||
        !glint_field_bool(fields, "add_generation_prompt", &generate))
        return false;
    if (job->continue_final && glint_field(fields, "add_generation_prompt") && generate)
        return glint_field_refuse(fields, "add_generation_prompt",
                                  "false beside \"continue_final_message\": true");
    job->no_generation_prompt = !generate;
    return true;
}

bool glint_openai_chat_read(struct glint_chat_job *job, const struct glint_json *root,
                            const struct glint_request_defaults *defaults,
                            struct glint_api_error *error) {
    struct glint_fields fields = {root, error};
    job->n_predict = defaults->n_predict;
    return read_template(job, &fields) && read_tools(job, &fields) && read_effort(job, &fields) &&
           read_format(job, &fields) && read_budget(job, &fields) &&
           glint_sampling_read(&job->sampling, &fields, defaults) && read_logprobs(job, &fields) &&
           read_limits(job, &fields) && glint_chat_job_read_stops(job, &fields, "stop") &&
           refuse_rest(&fields);
}

// ---- the route --------------------------------------------------------------------------------

void glint_openai_chat(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_json_doc *doc;
    struct glint_chat_job job = {.messages = {.data = NULL}};
    struct glint_voice *voice = NULL;
    if (!glint_exchange_parse(x, &doc))
        return;
    const struct glint_json *root = glint_json_root(doc);
    if (glint_openai_chat_read(&job, root, &defaults, &x->refusal) &&
        glint_openai_voice_open(&voice, root, x, &job, &x->refusal))
        glint_chat_job_start(&job, x, voice);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_chat_job_fini(&job);
    glint_json_close(&doc);
}
