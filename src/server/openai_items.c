// SPDX-License-Identifier: Apache-2.0
// openai_items.c — items to messages. What the model says in one turn comes back as several items
// (reasoning, a message, calls), which become one message again, as they were one turn.
#include "server/openai_items.h"

#include "server/random_id.h"

#include <stdio.h>
#include <string.h>

void glint_items_skip(struct glint_buffer *skipped, struct glint_view word) {
    enum { MAX_WORDS_BYTES = 200 };
    char clean[40];
    size_t n = 0;
    for (; n < word.n && n + 1 < sizeof clean; n++)
        clean[n] = word.data[n] > ' ' && word.data[n] <= '~' ? word.data[n] : '?';
    clean[n] = 0;
    if (skipped->n > MAX_WORDS_BYTES || (skipped->data && strstr(skipped->data, clean)))
        return;
    if (skipped->n != 0)
        glint_buffer_append_text(skipped, ", ");
    glint_buffer_append_text(skipped, clean);
}

// ---- the conversion ---------------------------------------------------------------------------

struct conversion {
    struct glint_json_writer w; // the array of messages
    const struct glint_items_source *source;
    struct glint_media *media;
    struct glint_items *own;
    struct glint_buffer *skipped;
    char path[60];              // "input[3]", for refusals
    int n_items, n_users;       // read so far, and what users said among them
    bool leading;               // nothing but system items so far
    struct glint_buffer system; // their text
    bool any_system;            // there is one, maybe empty
    bool in_turn;               // of the assistant, whose parts are being gathered:
    bool has_content;           // a message item was among them
    struct glint_buffer reasoning, content, calls;
    struct glint_buffer call_ids; // of all calls, each "id" 0
};

static bool refuse(struct conversion *c, const char *field, const char *what) {
    struct glint_api_error *error = c->source->fields->error;
    char path[100];
    snprintf(path, sizeof path, "%s%s", c->path, field);
    if (error->status == 0)
        glint_api_fail(error, 400, path, "%s: %s", path, what);
    return false;
}

static bool is_type(const struct glint_json *object, const char *type) {
    return glint_json_is_text(glint_json_get(object, "type"), type);
}

static void put_text_member(struct glint_json_writer *w, const char *key,
                            const struct glint_buffer *text) {
    glint_json_key(w, key);
    glint_json_string(w, (struct glint_view){text->data ? text->data : "", text->n});
    w->out->failed = w->out->failed || text->failed;
}

// ---- parts of content -------------------------------------------------------------------------

static bool refuse_part(struct conversion *c, const char *field, int i, const char *what) {
    char path[40];
    snprintf(path, sizeof path, ".%s[%d]", field, i);
    return refuse(c, path, what);
}

// The text of a part of text; false for other parts.
static bool part_text(const struct glint_json *part, struct glint_view *text) {
    static const char *const names[][2] = {{"input_text", "text"},     {"output_text", "text"},
                                           {"text", "text"},           {"summary_text", "text"},
                                           {"reasoning_text", "text"}, {"refusal", "refusal"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_type(part, names[i][0]))
            return glint_json_to_string(glint_json_get(part, names[i][1]), text);
    return false;
}

// A string or parts of text, joined.
static bool add_text(struct conversion *c, const char *field, const struct glint_json *content,
                     struct glint_buffer *out) {
    int i = 0;
    if (glint_json_is(content, GLINT_JSON_STRING)) {
        glint_buffer_append(out, content->text.data, content->text.n);
        return true;
    }
    if (content && !glint_json_is(content, GLINT_JSON_NULL) &&
        !glint_json_is(content, GLINT_JSON_ARRAY))
        return refuse_part(c, field, 0, "expected a string or a list of parts");
    for (const struct glint_json *part = glint_json_first(content); part; part = part->next, i++) {
        struct glint_view text;
        if (!part_text(part, &text))
            return refuse_part(c, field, i, "expected a part of text");
        glint_buffer_append(out, text.data, text.n);
    }
    return true;
}

// The member "content" of a message that has been begun: a string, or parts of text and pictures.
static bool put_content(struct conversion *c, const char *field, const struct glint_json *content) {
    int i = 0;
    glint_json_key(&c->w, "content");
    if (glint_json_is(content, GLINT_JSON_STRING)) {
        glint_json_string(&c->w, content->text);
        return true;
    }
    if (!glint_json_is(content, GLINT_JSON_ARRAY))
        return refuse_part(c, field, 0, "expected a string or a list of parts");
    glint_json_begin_array(&c->w);
    for (const struct glint_json *part = glint_json_first(content); part; part = part->next, i++) {
        struct glint_view text;
        if (glint_media_is_part(part)) {
            char path[GLINT_MEDIA_PATH];
            snprintf(path, sizeof path, "%s.%s[%d]", c->path, field, i);
            if (!glint_media_put_part(c->media, &c->w, part, path, c->source->fields->error))
                return false;
        } else if (part_text(part, &text)) {
            glint_json_begin_object(&c->w);
            glint_json_key(&c->w, "type");
            glint_json_text(&c->w, "text");
            glint_json_key(&c->w, "text");
            glint_json_string(&c->w, text);
            glint_json_end_object(&c->w);
        } else {
            return refuse_part(c, field, i, "expected a part of text or an input_image");
        }
    }
    glint_json_end_array(&c->w);
    return true;
}

// ---- messages ---------------------------------------------------------------------------------

static void flush_system(struct conversion *c) {
    if (c->leading && c->any_system) {
        glint_json_begin_object(&c->w);
        glint_json_key(&c->w, "role");
        glint_json_text(&c->w, "system");
        put_text_member(&c->w, "content", &c->system);
        glint_json_end_object(&c->w);
    }
    c->leading = false;
}

static void flush_turn(struct conversion *c) {
    if (!c->in_turn)
        return;
    c->in_turn = c->has_content = false;
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "role");
    glint_json_text(&c->w, "assistant");
    put_text_member(&c->w, "content", &c->content);
    if (c->reasoning.n != 0)
        put_text_member(&c->w, "reasoning_content", &c->reasoning);
    if (c->calls.n != 0) {
        glint_json_key(&c->w, "tool_calls");
        glint_json_begin_array(&c->w);
        glint_buffer_append(c->w.out, c->calls.data, c->calls.n);
        c->w.out->failed = c->w.out->failed || c->calls.failed;
        glint_json_end_array(&c->w);
    }
    glint_json_end_object(&c->w);
    glint_buffer_clear(&c->content);
    glint_buffer_clear(&c->reasoning);
    glint_buffer_clear(&c->calls);
}

static void begin_turn(struct conversion *c) {
    flush_system(c);
    c->in_turn = true;
}

// Instructions and the system items right after them are one message: the template would repeat
// all tools in each. Later ones stay where they are.
static bool read_system(struct conversion *c, const struct glint_json *content) {
    if (c->leading) {
        if (c->any_system)
            glint_buffer_append_text(&c->system, "\n\n");
        c->any_system = true;
        return add_text(c, "content", content, &c->system);
    }
    struct glint_buffer text = {.data = NULL};
    bool ok = add_text(c, "content", content, &text);
    flush_turn(c);
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "role");
    glint_json_text(&c->w, "system");
    put_text_member(&c->w, "content", &text);
    glint_json_end_object(&c->w);
    glint_buffer_fini(&text);
    return ok;
}

static bool read_message(struct conversion *c, const struct glint_json *item) {
    const struct glint_json *role = glint_json_get(item, "role");
    const struct glint_json *content = glint_json_get(item, "content");
    if (glint_json_is_text(role, "system") || glint_json_is_text(role, "developer"))
        return read_system(c, content);
    if (glint_json_is_text(role, "assistant")) {
        if (c->has_content) // two in a row were two turns
            flush_turn(c);
        begin_turn(c);
        c->has_content = true;
        return add_text(c, "content", content, &c->content);
    }
    if (!glint_json_is_text(role, "user"))
        return refuse(c, ".role", "expected user, assistant, system or developer");
    flush_system(c);
    flush_turn(c);
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "role");
    glint_json_text(&c->w, "user");
    bool ok = put_content(c, "content", content);
    glint_json_end_object(&c->w);
    return ok;
}

// The text itself, else what was sealed, else the summary, which here is the text too.
static bool read_reasoning(struct conversion *c, const struct glint_json *item) {
    const struct glint_json *content = glint_json_get(item, "content");
    struct glint_view sealed;
    begin_turn(c);
    if (glint_json_first(content))
        return add_text(c, "content", content, &c->reasoning);
    if (glint_json_to_string(glint_json_get(item, "encrypted_content"), &sealed) &&
        glint_items_unseal(&c->reasoning, sealed))
        return true;
    return add_text(c, "summary", glint_json_get(item, "summary"), &c->reasoning);
}

// ---- calls ------------------------------------------------------------------------------------

// An object's JSON text, or nothing but blanks.
static bool is_object_text(struct glint_view text) {
    struct glint_json_doc *doc;
    struct glint_json_options options = {.repair_surrogates = true};
    bool blank = true;
    for (size_t i = 0; i < text.n && blank; i++)
        blank = text.data[i] == ' ' || text.data[i] == '\n' || text.data[i] == '\t';
    if (blank)
        return true;
    bool ok = glint_json_parse(&doc, text, &options, NULL) == GLINT_OK &&
              glint_json_is(glint_json_root(doc), GLINT_JSON_OBJECT);
    glint_json_close(&doc);
    return ok;
}

// A call: arguments as JSON text, or for a custom tool its input.
static bool read_call(struct conversion *c, const struct glint_json *item, bool custom) {
    const struct glint_json *input = glint_json_get(item, custom ? "input" : "arguments");
    struct glint_view id, name;
    if (!glint_json_to_string(glint_json_get(item, "call_id"), &id) || strlen(id.data) != id.n ||
        id.n == 0)
        return refuse(c, ".call_id", "expected a string");
    if (!glint_json_to_string(glint_json_get(item, "name"), &name))
        return refuse(c, ".name", "expected a string");
    bool text = glint_json_is(input, GLINT_JSON_STRING);
    if (custom ? !text
               : !glint_json_is(input, GLINT_JSON_OBJECT) && !(text && is_object_text(input->text)))
        return refuse(c, custom ? ".input" : ".arguments",
                      custom ? "expected a string" : "expected the JSON text of an object");
    begin_turn(c);
    struct glint_json_writer w = {
        .out = &c->calls, .style = GLINT_JSON_COMPACT, .follows = c->calls.n != 0};
    glint_json_begin_object(&w);
    glint_json_key(&w, "id");
    glint_json_string(&w, id);
    glint_json_key(&w, "type");
    glint_json_text(&w, "function");
    glint_json_key(&w, "function");
    glint_json_begin_object(&w);
    glint_json_key(&w, "name");
    glint_json_string(&w, name);
    glint_json_key(&w, "arguments");
    if (custom) {
        glint_json_begin_object(&w);
        glint_json_key(&w, "input");
    }
    glint_json_value(&w, input);
    if (custom)
        glint_json_end_object(&w);
    glint_json_end_object(&w);
    glint_json_end_object(&w);
    glint_buffer_append(&c->call_ids, id.data, id.n + 1);
    return true;
}

// Looks from the end, where the call of a result nearly always is.
static bool is_known_call(const struct conversion *c, struct glint_view id) {
    const char *data = c->call_ids.data;
    for (size_t end = c->call_ids.n; end != 0;) {
        size_t at = end - 1;
        while (at != 0 && data[at - 1] != 0)
            at--;
        if (end - 1 - at == id.n && memcmp(data + at, id.data, id.n) == 0)
            return true;
        end = at;
    }
    return false;
}

static bool read_result(struct conversion *c, const struct glint_json *item) {
    struct glint_view id;
    if (!glint_json_to_string(glint_json_get(item, "call_id"), &id) || !is_known_call(c, id))
        return refuse(c, ".call_id", "expected the call_id of a call before it");
    flush_system(c);
    flush_turn(c);
    glint_json_begin_object(&c->w);
    glint_json_key(&c->w, "role");
    glint_json_text(&c->w, "tool");
    glint_json_key(&c->w, "tool_call_id");
    glint_json_string(&c->w, id);
    bool ok = put_content(c, "output", glint_json_get(item, "output"));
    glint_json_end_object(&c->w);
    return ok;
}

// ---- items ------------------------------------------------------------------------------------

static bool is_message(const struct glint_json *item) {
    const struct glint_json *type = glint_json_get(item, "type");
    return glint_json_is_text(type, "message") || (!type && glint_json_get(item, "role"));
}

// Counts the turns, and tells whether the item is of one that is to be dropped.
static bool is_left_out(struct conversion *c, const struct glint_json *item) {
    const struct glint_json *role = is_message(item) ? glint_json_get(item, "role") : NULL;
    c->n_users += glint_json_is_text(role, "user");
    return c->n_users <= c->source->n_drop && c->source->n_drop != 0 &&
           !glint_json_is_text(role, "system") && !glint_json_is_text(role, "developer");
}

static bool read_item(struct conversion *c, const struct glint_json *item) {
    const struct glint_json *type = glint_json_get(item, "type");
    if (!glint_json_is(item, GLINT_JSON_OBJECT))
        return refuse(c, "", "expected an object");
    if (++c->n_items > GLINT_ITEMS_MAX)
        return refuse(c, "", "a conversation has at most 20000 items");
    if (is_left_out(c, item))
        return true;
    if (is_message(item))
        return read_message(c, item);
    if (glint_json_is_text(type, "reasoning"))
        return read_reasoning(c, item);
    if (glint_json_is_text(type, "function_call"))
        return read_call(c, item, false);
    if (glint_json_is_text(type, "custom_tool_call"))
        return read_call(c, item, true);
    if (glint_json_is_text(type, "function_call_output") ||
        glint_json_is_text(type, "custom_tool_call_output"))
        return read_result(c, item);
    if (!glint_json_is(type, GLINT_JSON_STRING))
        return refuse(c, ".type", "expected a type of item");
    glint_items_skip(c->skipped, type->text); // what only OpenAI's own tools leave behind
    return true;
}

// The item as it will be stored and listed: with an id, a type and a status.
static void keep_item(struct conversion *c, const struct glint_json *item) {
    static const char *const prefixes[][2] = {{"message", "msg_"},
                                              {"reasoning", "rs_"},
                                              {"function_call", "fc_"},
                                              {"function_call_output", "fco_"}};
    const struct glint_json *type = glint_json_get(item, "type");
    struct glint_buffer text = {.data = NULL};
    struct glint_json_writer w = {.out = &text, .style = GLINT_JSON_COMPACT};
    struct glint_view id;
    char made[GLINT_RANDOM_ID_BYTES];
    if (!c->own)
        return;
    if (!glint_json_to_string(glint_json_get(item, "id"), &id) || id.n == 0 ||
        strlen(id.data) != id.n) {
        const char *prefix = type ? "item_" : "msg_";
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
            prefix = glint_json_is_text(type, prefixes[i][0]) ? prefixes[i][1] : prefix;
        glint_random_id(made, prefix);
        id = glint_view_of(made);
    }
    glint_json_begin_object(&w);
    glint_json_key(&w, "id");
    glint_json_string(&w, id);
    if (!type) {
        glint_json_key(&w, "type");
        glint_json_text(&w, "message");
    }
    for (const struct glint_json *m = glint_json_first(item); m; m = m->next)
        if (!glint_view_is(m->key, "id") && !glint_view_is(m->key, "status")) {
            glint_json_key_view(&w, m->key);
            glint_json_value(&w, m);
        }
    glint_json_key(&w, "status");
    glint_json_text(&w, "completed");
    glint_json_end_object(&w);
    c->own->data.failed = c->own->data.failed || text.failed;
    glint_items_add(c->own, id, (struct glint_view){text.data, text.n});
    glint_buffer_fini(&text);
}

static bool read_own_item(struct conversion *c, const struct glint_json *item) {
    if (is_type(item, "item_reference") ||
        (glint_json_is(item, GLINT_JSON_OBJECT) && item->n == 1 && glint_json_get(item, "id"))) {
        struct glint_view id;
        if (!glint_json_to_string(glint_json_get(item, "id"), &id))
            return refuse(c, ".id", "expected the id of an item");
        item = glint_json_get_view(c->source->references, id);
        if (!item)
            return refuse(c, ".id",
                          "no stored response has this item (or it has been dropped); send the "
                          "item itself");
    }
    keep_item(c, item);
    return read_item(c, item);
}

// A text alone is what the user says.
static bool read_text_input(struct conversion *c, const struct glint_json *text) {
    struct glint_buffer json = {.data = NULL};
    struct glint_json_writer w = {.out = &json, .style = GLINT_JSON_COMPACT};
    struct glint_json_doc *doc;
    glint_json_begin_object(&w);
    glint_json_key(&w, "type");
    glint_json_text(&w, "message");
    glint_json_key(&w, "role");
    glint_json_text(&w, "user");
    glint_json_key(&w, "content");
    glint_json_begin_array(&w);
    glint_json_begin_object(&w);
    glint_json_key(&w, "type");
    glint_json_text(&w, "input_text");
    glint_json_key(&w, "text");
    glint_json_string(&w, text->text);
    glint_json_end_object(&w);
    glint_json_end_array(&w);
    glint_json_end_object(&w);
    bool ok = !json.failed && glint_json_parse(&doc, (struct glint_view){json.data, json.n}, NULL,
                                               NULL) == GLINT_OK;
    if (ok) {
        ok = read_own_item(c, glint_json_root(doc));
        glint_json_close(&doc);
    } else {
        glint_api_fail(c->source->fields->error, 500, NULL, "no memory for the request");
    }
    glint_buffer_fini(&json);
    return ok;
}

static bool read_input(struct conversion *c) {
    const struct glint_fields *fields = c->source->fields;
    const struct glint_json *input = glint_field(fields, "input");
    bool ok = true;
    int i = 0;
    for (const struct glint_json *m = glint_json_first(c->source->history); m && ok; m = m->next) {
        snprintf(c->path, sizeof c->path, "previous_response_id: item %d", i++);
        ok = read_item(c, m);
    }
    snprintf(c->path, sizeof c->path, "input");
    if (!ok || (!input && c->source->history))
        return ok;
    if (glint_json_is(input, GLINT_JSON_STRING))
        return read_text_input(c, input);
    if (!glint_json_is(input, GLINT_JSON_ARRAY) || (input->n == 0 && !c->source->history))
        return glint_field_refuse(fields, "input", "a text, or a list with an item at least");
    i = 0;
    for (const struct glint_json *m = glint_json_first(input); m && ok; m = m->next) {
        snprintf(c->path, sizeof c->path, "input[%d]", i++);
        ok = read_own_item(c, m);
    }
    return ok;
}

static bool read_all(struct conversion *c) {
    const struct glint_fields *fields = c->source->fields;
    const struct glint_json *instructions = glint_field(fields, "instructions");
    bool ok = true;
    glint_json_begin_array(&c->w);
    if (glint_json_is(instructions, GLINT_JSON_STRING))
        ok = read_system(c, instructions);
    else if (instructions)
        ok = glint_field_refuse(fields, "instructions", "a string");
    ok = ok && read_input(c);
    flush_system(c);
    flush_turn(c);
    glint_json_end_array(&c->w);
    glint_buffer_fini(&c->system);
    glint_buffer_fini(&c->reasoning);
    glint_buffer_fini(&c->content);
    glint_buffer_fini(&c->calls);
    glint_buffer_fini(&c->call_ids);
    return ok;
}

static struct conversion begin(struct glint_chat_job *job, const struct glint_items_source *source,
                               struct glint_buffer *skipped) {
    return (struct conversion){.w = {.out = &job->messages, .style = GLINT_JSON_COMPACT},
                               .source = source,
                               .media = &job->media,
                               .skipped = skipped,
                               .leading = true};
}

bool glint_items_read(struct glint_chat_job *job, const struct glint_items_source *source,
                      struct glint_items *own, struct glint_buffer *skipped) {
    struct conversion c = begin(job, source, skipped);
    c.own = own;
    return read_all(&c);
}

int glint_items_shorten(struct glint_chat_job *job, const struct glint_items_source *source) {
    struct glint_buffer skipped = {.data = NULL}; // told before
    struct conversion c = begin(job, source, &skipped);
    glint_buffer_clear(&job->messages);
    read_all(&c); // it was read before, so it can be read
    glint_buffer_fini(&skipped);
    return c.n_users;
}
