// SPDX-License-Identifier: Apache-2.0
// chat_normalise.c — from the messages and tools of API clients to those of the template.
// Each message and tool is built anew from the fields the API has, so nothing unknown gets
// through; strings are shared, never changed.
#include "prompt/chat.h"

#include "base/utf8.h"

#include <string.h>

struct normaliser {
    struct glint_heap *heap;
    struct glint_error *err;
    const struct glint_list *messages; // all, for looking up calls
    size_t i_message;                  // at work
    bool in_tools;                     // i_message counts tools
};

static enum glint_status no_memory(struct normaliser *n) {
    return glint_fail(n->err, GLINT_E_NOMEM, "%s[%zu]: no memory",
                      n->in_tools ? "tools" : "messages", n->i_message);
}

static enum glint_status refuse(struct normaliser *n, const char *field, const char *what) {
    return glint_fail(n->err, GLINT_E_ARG, "%s[%zu]%s%s: %s", n->in_tools ? "tools" : "messages",
                      n->i_message, field[0] ? "." : "", field, what);
}

static enum glint_status refuse_kind(struct normaliser *n, const char *field, const char *expected,
                                     struct glint_value found) {
    return glint_fail(n->err, GLINT_E_ARG, "%s[%zu]%s%s: expected %s, found %s",
                      n->in_tools ? "tools" : "messages", n->i_message, field[0] ? "." : "", field,
                      expected, glint_value_kind_name(found));
}

static struct glint_value field_of(struct glint_value object, const char *name) {
    struct glint_value *found = glint_dict_get_text(object.as.dict, name);
    return found ? *found : glint_value_undefined(NULL);
}

static bool is_absent(struct glint_value value) {
    return value.kind == GLINT_VALUE_UNDEFINED || value.kind == GLINT_VALUE_NONE;
}

static enum glint_status put(struct normaliser *n, struct glint_dict *dict, const char *key,
                             struct glint_value value) {
    return glint_dict_put_text(n->heap, dict, key, value) ? GLINT_OK : no_memory(n);
}

static enum glint_status put_literal(struct normaliser *n, struct glint_dict *dict, const char *key,
                                     const char *literal) {
    struct glint_value value;
    if (!glint_value_literal(n->heap, literal, &value))
        return no_memory(n);
    return put(n, dict, key, value);
}

// ---- tools ------------------------------------------------------------------------------------

static const char *name_fault(const struct glint_string *name) {
    if (name->n == 0 || name->n > 128)
        return "expected a name of 1 to 128 bytes";
    if (glint_string_is(name, "self") || glint_string_is(name, "user"))
        return "'self' and 'user' are not names for tools";
    for (size_t at = 0; at < name->n;) {
        struct glint_utf8_step step = glint_utf8_next(name->data + at, name->n - at);
        uint32_t c = step.code;
        if (!step.valid || glint_is_space(c) || c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '<' ||
            c == '>' || c == '"')
            return "white space, control characters and < > \" are not allowed in a name";
        at += step.n;
    }
    return NULL;
}

static enum glint_status check_name(struct normaliser *n, const char *field,
                                    struct glint_value name) {
    if (name.kind != GLINT_VALUE_STRING)
        return refuse_kind(n, field, "a string", name);
    const char *fault = name_fault(name.as.text);
    return fault ? refuse(n, field, fault) : GLINT_OK;
}

static enum glint_status normalise_tool(struct normaliser *n, struct glint_value tool,
                                        struct glint_value *out) {
    if (tool.kind != GLINT_VALUE_DICT)
        return refuse_kind(n, "", "an object", tool);
    struct glint_value fn = field_of(tool, "function");
    bool wrapped = fn.kind != GLINT_VALUE_UNDEFINED;
    if (!wrapped)
        fn = tool;
    if (fn.kind != GLINT_VALUE_DICT)
        return refuse_kind(n, "function", "an object", fn);
    struct glint_value name = field_of(fn, "name");
    struct glint_value description = field_of(fn, "description");
    struct glint_value parameters = field_of(fn, "parameters");
    GLINT_TRY(check_name(n, wrapped ? "function.name" : "name", name));
    if (!is_absent(description) && description.kind != GLINT_VALUE_STRING)
        return refuse_kind(n, "function.description", "a string", description);
    if (!is_absent(parameters) && parameters.kind != GLINT_VALUE_DICT)
        return refuse_kind(n, "function.parameters", "an object", parameters);
    struct glint_dict *inner = glint_dict_make(n->heap, 3);
    struct glint_dict *outer = glint_dict_make(n->heap, 2);
    struct glint_dict *empty = glint_dict_make(n->heap, 0);
    if (!inner || !outer || !empty)
        return no_memory(n);
    struct glint_value inner_value = {.kind = GLINT_VALUE_DICT, .as.dict = inner};
    struct glint_value empty_value = {.kind = GLINT_VALUE_DICT, .as.dict = empty};
    GLINT_TRY(put(n, inner, "name", name));
    if (is_absent(description))
        GLINT_TRY(put_literal(n, inner, "description", ""));
    else
        GLINT_TRY(put(n, inner, "description", description));
    GLINT_TRY(put(n, inner, "parameters", is_absent(parameters) ? empty_value : parameters));
    GLINT_TRY(put_literal(n, outer, "type", "function"));
    GLINT_TRY(put(n, outer, "function", inner_value));
    *out = (struct glint_value){.kind = GLINT_VALUE_DICT, .as.dict = outer};
    return GLINT_OK;
}

static struct glint_value tool_name(struct glint_value tool) {
    return field_of(field_of(tool, "function"), "name");
}

static enum glint_status normalise_tools(struct normaliser *n, struct glint_value tools,
                                         struct glint_value *out) {
    *out = tools;
    n->in_tools = true;
    if (is_absent(tools))
        return GLINT_OK;
    if (!glint_value_is_list(tools))
        return glint_fail(n->err, GLINT_E_ARG, "tools: expected a list, found %s",
                          glint_value_kind_name(tools));
    struct glint_list *list = glint_list_make(n->heap, tools.as.list->n);
    if (!list)
        return no_memory(n);
    for (size_t i = 0; i < list->n; i++) {
        n->i_message = i;
        GLINT_TRY(normalise_tool(n, tools.as.list->items[i], &list->items[i]));
        for (size_t j = 0; j < i; j++) {
            if (glint_string_equal(tool_name(list->items[j]).as.text,
                                   tool_name(list->items[i]).as.text))
                return refuse(n, "function.name", "another tool has the same name");
        }
    }
    *out = (struct glint_value){.kind = GLINT_VALUE_LIST, .as.list = list};
    return GLINT_OK;
}

// ---- messages ---------------------------------------------------------------------------------

// The template's word for a part type; NULL when there is none.
static const char *part_type(struct glint_value type) {
    static const char *const names[][2] = {
        {"text", "text"},   {"input_text", "text"}, {"output_text", "text"},
        {"image", "image"}, {"image_url", "image"}, {"input_image", "image"},
        {"video", "video"}, {"video_url", "video"}, {"input_video", "video"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (glint_value_is_string(type, names[i][0]))
            return names[i][1];
    }
    return NULL;
}

static enum glint_status refuse_part(struct normaliser *n, size_t i_part, const char *field,
                                     const char *what) {
    return glint_fail(n->err, GLINT_E_ARG, "messages[%zu].content[%zu]%s: %s", n->i_message, i_part,
                      field, what);
}

static enum glint_status normalise_part(struct normaliser *n, size_t i_part, bool media_allowed,
                                        struct glint_value part, struct glint_value *out) {
    if (part.kind != GLINT_VALUE_DICT)
        return refuse_part(n, i_part, "", "expected an object");
    const char *type = part_type(field_of(part, "type"));
    if (!type)
        return refuse_part(n, i_part, ".type", "expected text, image_url or video_url");
    bool is_text = strcmp(type, "text") == 0;
    if (is_text && field_of(part, "text").kind != GLINT_VALUE_STRING)
        return refuse_part(n, i_part, ".text", "expected a string");
    if (!is_text && !media_allowed)
        return refuse_part(n, i_part, ".type", "a system message holds text only");
    // The other fields stay, so that whoever loads the media finds its source here.
    struct glint_dict *dict = glint_dict_make(n->heap, part.as.dict->n);
    for (size_t i = 0; dict && i < part.as.dict->n; i++) {
        if (!glint_dict_put(n->heap, dict, part.as.dict->entries[i].key,
                            part.as.dict->entries[i].value))
            dict = NULL;
    }
    if (!dict)
        return no_memory(n);
    GLINT_TRY(put_literal(n, dict, "type", type));
    *out = (struct glint_value){.kind = GLINT_VALUE_DICT, .as.dict = dict};
    return GLINT_OK;
}

static enum glint_status normalise_content(struct normaliser *n, bool media_allowed,
                                           struct glint_value content, struct glint_value *out) {
    *out = is_absent(content) ? glint_value_none() : content;
    if (is_absent(content) || content.kind == GLINT_VALUE_STRING)
        return GLINT_OK;
    if (!glint_value_is_list(content))
        return refuse_kind(n, "content", "a string, a list of parts or null", content);
    struct glint_list *list = glint_list_make(n->heap, content.as.list->n);
    if (!list)
        return no_memory(n);
    for (size_t i = 0; i < list->n; i++)
        GLINT_TRY(normalise_part(n, i, media_allowed, content.as.list->items[i], &list->items[i]));
    *out = (struct glint_value){.kind = GLINT_VALUE_LIST, .as.list = list};
    return GLINT_OK;
}

static enum glint_status refuse_call(struct normaliser *n, size_t i_call, const char *field,
                                     const char *what) {
    return glint_fail(n->err, GLINT_E_ARG, "messages[%zu].tool_calls[%zu]%s: %s", n->i_message,
                      i_call, field, what);
}

// Arguments as an object: given so, as JSON text, or blank for none.
static enum glint_status normalise_arguments(struct normaliser *n, size_t i_call,
                                             struct glint_value arguments,
                                             struct glint_value *out) {
    const char *field = ".function.arguments";
    *out = arguments;
    if (arguments.kind == GLINT_VALUE_DICT)
        return GLINT_OK;
    bool absent = is_absent(arguments);
    if (!absent && arguments.kind != GLINT_VALUE_STRING)
        return refuse_call(n, i_call, field, "expected an object or its JSON text");
    struct glint_view text = {.data = "", .n = 0};
    if (!absent)
        text = glint_string_view(arguments.as.text);
    if (glint_leading_space(text) == text.n) {
        *out =
            (struct glint_value){.kind = GLINT_VALUE_DICT, .as.dict = glint_dict_make(n->heap, 0)};
        return out->as.dict ? GLINT_OK : no_memory(n);
    }
    struct glint_json_doc *doc = NULL;
    struct glint_json_options options = {.repair_surrogates = true, .name = "arguments"};
    struct glint_error inner = {.status = GLINT_OK};
    enum glint_status status = glint_json_parse(&doc, text, &options, &inner);
    if (status == GLINT_E_NOMEM)
        return no_memory(n);
    if (status != GLINT_OK)
        return refuse_call(n, i_call, field, inner.text);
    const struct glint_json *root = glint_json_root(doc);
    bool is_object = glint_json_is(root, GLINT_JSON_OBJECT);
    bool made = is_object && glint_value_from_json(n->heap, root, GLINT_ORIGIN_CALLER, out);
    glint_json_close(&doc);
    if (!is_object)
        return refuse_call(n, i_call, field, "its JSON text is not an object");
    return made ? GLINT_OK : no_memory(n);
}

static enum glint_status normalise_call(struct normaliser *n, size_t i_call,
                                        struct glint_value call, struct glint_value *out) {
    struct glint_value arguments;
    if (call.kind != GLINT_VALUE_DICT)
        return refuse_call(n, i_call, "", "expected an object");
    struct glint_value fn = field_of(call, "function");
    struct glint_value id = field_of(call, "id");
    if (fn.kind != GLINT_VALUE_DICT)
        return refuse_call(n, i_call, ".function", "expected an object");
    struct glint_value name = field_of(fn, "name");
    if (name.kind != GLINT_VALUE_STRING)
        return refuse_call(n, i_call, ".function.name", "expected a string");
    const char *fault = name_fault(name.as.text);
    if (fault)
        return refuse_call(n, i_call, ".function.name", fault);
    if (!is_absent(id) && id.kind != GLINT_VALUE_STRING)
        return refuse_call(n, i_call, ".id", "expected a string");
    GLINT_TRY(normalise_arguments(n, i_call, field_of(fn, "arguments"), &arguments));
    struct glint_dict *inner = glint_dict_make(n->heap, 2);
    struct glint_dict *outer = glint_dict_make(n->heap, 3);
    if (!inner || !outer)
        return no_memory(n);
    struct glint_value inner_value = {.kind = GLINT_VALUE_DICT, .as.dict = inner};
    GLINT_TRY(put(n, inner, "name", name));
    GLINT_TRY(put(n, inner, "arguments", arguments));
    if (!is_absent(id))
        GLINT_TRY(put(n, outer, "id", id));
    GLINT_TRY(put_literal(n, outer, "type", "function"));
    GLINT_TRY(put(n, outer, "function", inner_value));
    *out = (struct glint_value){.kind = GLINT_VALUE_DICT, .as.dict = outer};
    return GLINT_OK;
}

static enum glint_status normalise_calls(struct normaliser *n, struct glint_value calls,
                                         struct glint_dict *out) {
    if (is_absent(calls))
        return GLINT_OK;
    if (!glint_value_is_list(calls))
        return refuse_kind(n, "tool_calls", "a list", calls);
    struct glint_list *list = glint_list_make(n->heap, calls.as.list->n);
    if (!list)
        return no_memory(n);
    for (size_t i = 0; i < list->n; i++)
        GLINT_TRY(normalise_call(n, i, calls.as.list->items[i], &list->items[i]));
    struct glint_value value = {.kind = GLINT_VALUE_LIST, .as.list = list};
    return put(n, out, "tool_calls", value);
}

// The first of the fields for reasoning that has something in it.
static enum glint_status normalise_reasoning(struct normaliser *n, struct glint_value message,
                                             struct glint_dict *out) {
    static const char *const names[] = {"reasoning_content", "reasoning", "thinking"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct glint_value value = field_of(message, names[i]);
        if (is_absent(value))
            continue;
        if (value.kind != GLINT_VALUE_STRING)
            return refuse_kind(n, names[i], "a string", value);
        if (value.as.text->n != 0)
            return put(n, out, "reasoning_content", value);
    }
    return GLINT_OK;
}

// The name of the last call of a message that has this id; *name is left alone without one.
static void find_call(struct glint_value message, const struct glint_string *id,
                      struct glint_value *name) {
    if (message.kind != GLINT_VALUE_DICT)
        return;
    struct glint_value calls = field_of(message, "tool_calls");
    for (size_t i = 0; glint_value_is_list(calls) && i < calls.as.list->n; i++) {
        struct glint_value call = calls.as.list->items[i];
        if (call.kind != GLINT_VALUE_DICT)
            continue;
        struct glint_value own = field_of(call, "id");
        struct glint_value fn = field_of(call, "function");
        if (own.kind == GLINT_VALUE_STRING && glint_string_equal(own.as.text, id) &&
            fn.kind == GLINT_VALUE_DICT)
            *name = field_of(fn, "name");
    }
}

// A result says which call it answers, by name or by the id of a call there is. It gets the
// name: the call may stand in the prompt as ids, where the template cannot look for it.
static enum glint_status normalise_result(struct normaliser *n, struct glint_value message,
                                          struct glint_dict *out) {
    struct glint_value name = field_of(message, "name");
    struct glint_value id = field_of(message, "tool_call_id");
    bool has_name = name.kind == GLINT_VALUE_STRING && name.as.text->n != 0;
    bool has_id = id.kind == GLINT_VALUE_STRING && id.as.text->n != 0;
    if (!is_absent(name) && name.kind != GLINT_VALUE_STRING)
        return refuse_kind(n, "name", "a string", name);
    if (!is_absent(id) && id.kind != GLINT_VALUE_STRING)
        return refuse_kind(n, "tool_call_id", "a string", id);
    if (!has_name && !has_id)
        return refuse(n, "tool_call_id", "missing, and there is no name either");
    if (has_name)
        GLINT_TRY(check_name(n, "name", name));
    for (size_t i = 0; !has_name && i < n->messages->n; i++)
        find_call(n->messages->items[i], id.as.text, &name);
    if (name.kind != GLINT_VALUE_STRING)
        return refuse(n, "tool_call_id", "no message has a tool call with this id");
    GLINT_TRY(put(n, out, "name", name));
    return has_id ? put(n, out, "tool_call_id", id) : GLINT_OK;
}

static const char *role_of(struct glint_value role) {
    static const char *const names[][2] = {
        {"system", "system"}, {"developer", "system"}, {"user", "user"},
        {"tool", "tool"},     {"function", "tool"},    {"assistant", "assistant"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (glint_value_is_string(role, names[i][0]))
            return names[i][1];
    }
    return NULL;
}

static enum glint_status normalise_message(struct normaliser *n, struct glint_value message,
                                           struct glint_value *out) {
    if (message.kind != GLINT_VALUE_DICT)
        return refuse_kind(n, "", "an object", message);
    const char *role = role_of(field_of(message, "role"));
    if (!role)
        return refuse(n, "role", "expected system, developer, user, assistant, tool or function");
    struct glint_dict *dict = glint_dict_make(n->heap, 4);
    struct glint_value content;
    if (!dict)
        return no_memory(n);
    bool is_system = strcmp(role, "system") == 0;
    GLINT_TRY(normalise_content(n, !is_system, field_of(message, "content"), &content));
    GLINT_TRY(put_literal(n, dict, "role", role));
    GLINT_TRY(put(n, dict, "content", content));
    if (strcmp(role, "assistant") == 0) {
        GLINT_TRY(normalise_reasoning(n, message, dict));
        GLINT_TRY(normalise_calls(n, field_of(message, "tool_calls"), dict));
    }
    if (strcmp(role, "tool") == 0)
        GLINT_TRY(normalise_result(n, message, dict));
    *out = (struct glint_value){.kind = GLINT_VALUE_DICT, .as.dict = dict};
    return GLINT_OK;
}

enum glint_status glint_chat_normalise(struct glint_heap *heap,
                                       const struct glint_chat_messages *in,
                                       struct glint_chat_messages *out, struct glint_error *err) {
    struct normaliser n = {.heap = heap, .err = err};
    if (!glint_value_is_list(in->messages))
        return glint_fail(err, GLINT_E_ARG, "messages: expected a list, found %s",
                          glint_value_kind_name(in->messages));
    n.messages = in->messages.as.list;
    struct glint_list *list = glint_list_make(heap, n.messages->n);
    if (!list)
        return no_memory(&n);
    for (n.i_message = 0; n.i_message < list->n; n.i_message++)
        GLINT_TRY(normalise_message(&n, n.messages->items[n.i_message], &list->items[n.i_message]));
    out->messages = (struct glint_value){.kind = GLINT_VALUE_LIST, .as.list = list};
    return normalise_tools(&n, in->tools, &out->tools);
}

const char *glint_chat_effort(struct glint_view word) {
    static const char *const levels[][2] = {
        {"low", "low"},     {"medium", "medium"}, {"high", "high"}, {"xhigh", "xhigh"},
        {"minimal", "low"}, {"none", "low"},      {"off", "low"},   {"max", "xhigh"},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (glint_view_is(word, levels[i][0]))
            return levels[i][1];
    }
    return NULL;
}
