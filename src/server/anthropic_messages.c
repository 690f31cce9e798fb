// SPDX-License-Identifier: Apache-2.0
// anthropic_messages.c — Anthropic's content blocks to the messages that the template knows.
// A user's tool results become messages of their own, in the order of the blocks.
#include "server/anthropic_messages.h"

#include "server/anthropic_voice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// One message being converted.
struct conversion {
    struct glint_json_writer w; // the array of messages
    const struct glint_fields *fields;
    struct glint_media *media;
    bool keep_noise;
    char path[60]; // "messages[3]", for refusals
};

static bool refuse(struct conversion *c, const char *field, const char *what) {
    char path[100];
    snprintf(path, sizeof path, "%s%s", c->path, field);
    glint_api_fail(c->fields->error, 400, path, "%s: %s", path, what);
    return false;
}

static bool is_type(const struct glint_json *block, const char *type) {
    return glint_json_is_text(glint_json_get(block, "type"), type);
}

static bool is_block(const struct glint_json *block) {
    return glint_json_is(block, GLINT_JSON_OBJECT);
}

// ---- the system text --------------------------------------------------------------------------

// Claude Code begins its system text with "x-anthropic-billing-header: ... cch=a5145;", whose
// digits change with each request: left as they are, no request would find its prefix again.
static void add_system(const struct conversion *c, struct glint_buffer *text,
                       struct glint_view piece) {
    static const char header[] = "x-anthropic-billing-header:";
    size_t before = text->n;
    if (before != 0)
        glint_buffer_append_char(text, '\n');
    glint_buffer_append(text, piece.data, piece.n);
    if (c->keep_noise || before != 0 || text->failed || !glint_view_starts(piece, header))
        return;
    char *line_end = strchr(text->data, '\n');
    char *mark = strstr(text->data, "cch=");
    if (mark && (!line_end || mark < line_end))
        for (char *at = mark + 4; isxdigit((unsigned char)*at); at++)
            *at = 'f';
}

static bool put_system(struct conversion *c) {
    const struct glint_json *system = glint_field(c->fields, "system");
    struct glint_buffer text = {.data = NULL};
    bool ok = true;
    if (!system)
        return true;
    snprintf(c->path, sizeof c->path, "system");
    if (glint_json_is(system, GLINT_JSON_STRING))
        add_system(c, &text, system->text);
    else if (!glint_json_is(system, GLINT_JSON_ARRAY))
        ok = refuse(c, "", "expected a string or a list of text blocks");
    else
        for (const struct glint_json *b = glint_json_first(system); b && ok; b = b->next) {
            struct glint_view piece;
            ok = is_type(b, "text") && glint_json_to_string(glint_json_get(b, "text"), &piece);
            if (ok)
                add_system(c, &text, piece);
            else
                refuse(c, "", "expected text blocks");
        }
    if (ok) {
        glint_json_begin_object(&c->w);
        glint_json_key(&c->w, "role");
        glint_json_text(&c->w, "system");
        glint_json_key(&c->w, "content");
        glint_json_string(&c->w, (struct glint_view){text.data ? text.data : "", text.n});
        glint_json_end_object(&c->w);
        c->w.out->failed = c->w.out->failed || text.failed;
    }
    glint_buffer_fini(&text);
    return ok;
}

// ---- blocks -----------------------------------------------------------------------------------

// Text and pictures as parts of content; other blocks are refused. at: ".content[2]", the block's
// place in its message.
static bool put_part(struct conversion *c, const struct glint_json *block, const char *at) {
    struct glint_view text;
    const struct glint_json *source = glint_json_get(block, "source");
    bool is_document = is_type(block, "document");
    bool is_text =
        is_type(block, "text") && glint_json_to_string(glint_json_get(block, "text"), &text);
    if (is_document && is_type(source, "text"))
        is_text = glint_json_to_string(glint_json_get(source, "data"), &text);
    if (!is_text && is_type(block, "image")) {
        char path[GLINT_MEDIA_PATH];
        snprintf(path, sizeof path, "%s%s", c->path, at);
        return glint_media_put_part(c->media, &c->w, block, path, c->fields->error);
    }
    if (!is_text && is_document)
        return refuse(c, at, "a document must be plain text here; send its pages as images");
    if (!is_text)
        return refuse(c, at, "expected a block of text, image, thinking, tool_use or tool_result");
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "type");
    glint_json_text(&c->w, "text");
    glint_json_key(&c->w, "text");
    glint_json_string(&c->w, text);
    glint_json_end_object(&c->w);
    return true;
}

// A string or a list of blocks as the content of a message that has been begun. at: where the list
// stands in the message.
static bool put_content(struct conversion *c, const struct glint_json *content, const char *at) {
    bool ok = true;
    unsigned i = 0;
    glint_json_key(&c->w, "content");
    if (glint_json_is(content, GLINT_JSON_STRING)) {
        glint_json_string(&c->w, content->text);
        return true;
    }
    glint_json_begin_array(&c->w);
    for (const struct glint_json *b = glint_json_first(content); b && ok; b = b->next, i++) {
        char place[60];
        snprintf(place, sizeof place, "%s[%u]", at, i);
        ok = put_part(c, b, place);
    }
    glint_json_end_array(&c->w);
    return ok;
}

static bool put_result(struct conversion *c, const struct glint_json *block, const char *at) {
    struct glint_view id;
    char inside[60];
    snprintf(inside, sizeof inside, "%s.content", at);
    if (!glint_json_to_string(glint_json_get(block, "tool_use_id"), &id))
        return refuse(c, at, "a tool_result needs a tool_use_id");
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "role");
    glint_json_text(&c->w, "tool");
    glint_json_key(&c->w, "tool_call_id");
    glint_json_string(&c->w, id);
    bool ok = put_content(c, glint_json_get(block, "content"), inside);
    glint_json_end_object(&c->w);
    return ok;
}

// Blocks of a user: results as they come, the rest together in messages between them.
static bool put_user(struct conversion *c, const struct glint_json *content) {
    bool open = false, ok = true;
    unsigned i = 0;
    for (const struct glint_json *b = glint_json_first(content); b && ok; b = b->next, i++) {
        char at[40];
        snprintf(at, sizeof at, ".content[%u]", i);
        bool result = is_type(b, "tool_result");
        if (open && result) {
            glint_json_end_array(&c->w);
            glint_json_end_object(&c->w);
            open = false;
        }
        if (!open && !result) {
            glint_json_begin_object(&c->w);
            glint_json_key(&c->w, "role");
            glint_json_text(&c->w, "user");
            glint_json_key(&c->w, "content");
            glint_json_begin_array(&c->w);
            open = true;
        }
        ok = result ? put_result(c, b, at) : put_part(c, b, at);
    }
    if (open) {
        glint_json_end_array(&c->w);
        glint_json_end_object(&c->w);
    }
    return ok;
}

// The texts of the blocks of one type, joined.
static void put_joined(struct conversion *c, const char *key, const struct glint_json *content,
                       const char *type) {
    struct glint_buffer text = {.data = NULL};
    for (const struct glint_json *b = glint_json_first(content); b; b = b->next) {
        struct glint_view piece;
        if (is_type(b, type) && glint_json_to_string(glint_json_get(b, type), &piece))
            glint_buffer_append(&text, piece.data, piece.n);
    }
    if (text.n != 0) {
        glint_json_key(&c->w, key);
        glint_json_string(&c->w, (struct glint_view){text.data, text.n});
    }
    c->w.out->failed = c->w.out->failed || text.failed;
    glint_buffer_fini(&text);
}

static bool put_calls(struct conversion *c, const struct glint_json *content) {
    bool open = false;
    for (const struct glint_json *b = glint_json_first(content); b; b = b->next) {
        const struct glint_json *input = glint_json_get(b, "input");
        struct glint_view id, name;
        if (!is_type(b, "tool_use"))
            continue;
        if (!glint_json_to_string(glint_json_get(b, "id"), &id) ||
            !glint_json_to_string(glint_json_get(b, "name"), &name) || !is_block(input))
            return refuse(c, ".content", "a tool_use needs an id, a name and an input");
        if (!open) {
            glint_json_key(&c->w, "tool_calls");
            glint_json_begin_array(&c->w);
            open = true;
        }
        glint_json_begin_object(&c->w);
        glint_json_key(&c->w, "id");
        glint_json_string(&c->w, id);
        glint_json_key(&c->w, "type");
        glint_json_text(&c->w, "function");
        glint_json_key(&c->w, "function");
        glint_json_begin_object(&c->w);
        glint_json_key(&c->w, "name");
        glint_json_string(&c->w, name);
        glint_json_key(&c->w, "arguments");
        glint_json_value(&c->w, input);
        glint_json_end_object(&c->w);
        glint_json_end_object(&c->w);
    }
    if (open)
        glint_json_end_array(&c->w);
    return true;
}

// Text, thinking and calls of a turn of the model; what only Anthropic's servers do is left out.
static bool put_assistant(struct conversion *c, const struct glint_json *content) {
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "role");
    glint_json_text(&c->w, "assistant");
    if (glint_json_is(content, GLINT_JSON_STRING)) {
        glint_json_key(&c->w, "content");
        glint_json_string(&c->w, content->text);
        glint_json_end_object(&c->w);
        return true;
    }
    put_joined(c, "content", content, "text");
    put_joined(c, "reasoning_content", content, "thinking");
    bool ok = put_calls(c, content);
    glint_json_end_object(&c->w);
    return ok;
}

static bool put_message(struct conversion *c, const struct glint_json *message) {
    const struct glint_json *role = glint_json_get(message, "role");
    const struct glint_json *content = glint_json_get(message, "content");
    bool text = glint_json_is(content, GLINT_JSON_STRING);
    if (!text && !glint_json_is(content, GLINT_JSON_ARRAY))
        return refuse(c, ".content", "expected a string or a list of blocks");
    for (const struct glint_json *b = text ? NULL : glint_json_first(content); b; b = b->next)
        if (!is_block(b))
            return refuse(c, ".content", "expected blocks that are objects");
    if (glint_json_is_text(role, "assistant"))
        return put_assistant(c, content);
    if (glint_json_is_text(role, "user") && !text)
        return put_user(c, content);
    if (!glint_json_is_text(role, "user") && !glint_json_is_text(role, "system"))
        return refuse(c, ".role", "expected user, assistant or system");
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "role");
    glint_json_string(&c->w, role->text);
    bool ok = put_content(c, content, ".content");
    glint_json_end_object(&c->w);
    return ok;
}

static bool read_messages(struct glint_chat_job *job, const struct glint_fields *fields,
                          bool keep_noise) {
    const struct glint_json *messages = glint_field(fields, "messages");
    struct conversion c = {
        {.out = &job->messages, .style = GLINT_JSON_COMPACT}, fields, &job->media, keep_noise, ""};
    unsigned i = 0;
    if (!glint_json_is(messages, GLINT_JSON_ARRAY) || messages->n == 0)
        return glint_field_refuse(fields, "messages", "a list with a message at least");
    glint_json_begin_array(&c.w);
    bool ok = put_system(&c);
    for (const struct glint_json *m = glint_json_first(messages); m && ok; m = m->next, i++) {
        snprintf(c.path, sizeof c.path, "messages[%u]", i);
        ok = put_message(&c, m);
        // An answer that has been begun is to be gone on with.
        job->continue_final = glint_json_is_text(glint_json_get(m, "role"), "assistant");
    }
    glint_json_end_array(&c.w);
    return ok;
}

// ---- other fields -----------------------------------------------------------------------------

// Tools with a schema; those that run on Anthropic's servers are left out.
static bool read_tools(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *tools = glint_field(fields, "tools");
    struct glint_json_writer w = {.out = &job->tools, .style = GLINT_JSON_COMPACT};
    bool any = false;
    if (tools && !glint_json_is(tools, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "tools", "a list of tools");
    for (const struct glint_json *t = glint_json_first(tools); t; t = t->next) {
        static const char *const names[][2] = {
            {"name", "name"}, {"description", "description"}, {"input_schema", "parameters"}};
        if (!glint_json_get(t, "input_schema"))
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
            const struct glint_json *value = glint_json_get(t, names[i][0]);
            if (value) {
                glint_json_key(&w, names[i][1]);
                glint_json_value(&w, value);
            }
        }
        glint_json_end_object(&w);
        glint_json_end_object(&w);
    }
    if (any)
        glint_json_end_array(&w);
    return true;
}

static bool read_tool_choice(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *choice = glint_field(fields, "tool_choice");
    struct glint_fields inner = {choice, fields->error};
    bool one_call = false;
    if (!choice)
        return true;
    bool known = true;
    if (is_type(choice, "any"))
        job->tool_choice = "required";
    else if (is_type(choice, "none"))
        job->tool_choice = "none";
    else if (is_type(choice, "tool"))
        known = glint_field_text(&inner, "name", &job->tool_choice) && job->tool_choice;
    else
        known = is_type(choice, "auto");
    if (!known)
        return glint_field_refuse(fields, "tool_choice", "a type: auto, any, none, tool with name");
    if (!glint_field_bool(&inner, "disable_parallel_tool_use", &one_call))
        return false;
    job->one_call = one_call;
    if (job->tool_choice && !is_type(choice, "none") && job->tools.n == 0)
        return glint_field_refuse(fields, "tool_choice", "\"tools\" beside it");
    return true;
}

static bool read_thinking(struct glint_chat_job *job, const struct glint_fields *fields) {
    const struct glint_json *thinking = glint_field(fields, "thinking");
    const struct glint_json *output = glint_field(fields, "output_config");
    struct glint_fields inner = {thinking, fields->error}, config = {output, fields->error};
    int64_t budget = -1;
    if (is_type(thinking, "enabled") &&
        !glint_field_int(&inner, "budget_tokens", 0, INT32_MAX, &budget))
        return false;
    job->has_budget = budget >= 0;
    job->budget = budget >= 0 ? budget : 0;
    if (is_type(thinking, "disabled"))
        job->effort = "low"; // the least there is
    if (output && !glint_field_text(&config, "effort", &job->effort))
        return false;
    const struct glint_json *schema = glint_json_get(glint_json_get(output, "format"), "schema");
    if (schema)
        glint_json_put_value(&job->schema, schema, GLINT_JSON_COMPACT);
    return true;
}

// A thread is a conversation that the server holds between turns. Its clients send everything in
// each turn when they are told, by this code, that there are none.
static bool has_no_thread(const struct glint_fields *fields) {
    if (glint_field_unsupported(fields, "thread", -1))
        return true;
    fields->error->code = "thread_unsupported_request";
    return false;
}

bool glint_anthropic_read(struct glint_chat_job *job, const struct glint_json *root,
                          const struct glint_request_defaults *defaults,
                          struct glint_api_error *error) {
    struct glint_fields fields = {root, error};
    job->n_predict = defaults->n_predict;
    return has_no_thread(&fields) && read_messages(job, &fields, defaults->keep_noise) &&
           read_tools(job, &fields) && read_tool_choice(job, &fields) &&
           read_thinking(job, &fields) && glint_sampling_read(&job->sampling, &fields, defaults) &&
           glint_field_int(&fields, "max_tokens", 1, INT32_MAX, &job->n_predict) &&
           glint_field_int(&fields, "image_max_tokens", 1, 4096, &job->image_max_tokens) &&
           glint_chat_job_read_stops(job, &fields, "stop_sequences") &&
           glint_field_unsupported(&fields, "mcp_servers", -1);
}

// ---- the routes -------------------------------------------------------------------------------

void glint_anthropic_messages(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_json_doc *doc;
    struct glint_chat_job job = {.messages = {.data = NULL}};
    struct glint_voice *voice = NULL;
    if (!glint_exchange_parse(x, &doc))
        return;
    const struct glint_json *root = glint_json_root(doc);
    struct glint_fields fields = {root, &x->refusal};
    bool limited = glint_field(&fields, "max_tokens") != NULL;
    if ((limited || glint_field_refuse(&fields, "max_tokens", "a number")) &&
        glint_anthropic_read(&job, root, &defaults, &x->refusal) &&
        glint_anthropic_voice_open(&voice, root, x, &x->refusal))
        glint_chat_job_start(&job, x, voice);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_chat_job_fini(&job);
    glint_json_close(&doc);
}

void glint_anthropic_count(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    struct glint_json_doc *doc;
    struct glint_chat_job job = {.messages = {.data = NULL}};
    struct glint_ids ids = {.data = NULL};
    enum glint_turn_start start;
    if (!glint_exchange_parse(x, &doc))
        return;
    if (glint_anthropic_read(&job, glint_json_root(doc), &defaults, &x->refusal) &&
        glint_chat_job_render(&job, x, &ids, &start, &x->refusal)) {
        struct glint_buffer out = {.data = NULL};
        struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
        glint_json_begin_object(&w);
        glint_json_key(&w, "input_tokens");
        glint_json_u64(&w, ids.n);
        glint_json_end_object(&w);
        glint_exchange_answer_json(x, &out);
    } else {
        glint_exchange_refuse(x, &x->refusal);
    }
    glint_ids_free(&ids);
    glint_chat_job_fini(&job);
    glint_json_close(&doc);
}
