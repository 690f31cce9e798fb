// SPDX-License-Identifier: Apache-2.0
// call_grammar.c — the body of a tool call: the model's markup around parameters by the tool's
// schema.
// A parameter is text that the parser of stream/ turns back into a value by its schema's types, so
// what may be written follows from what that parser makes of it: a string stands as it is,
// everything else as JSON, and where both are allowed, text that would be read as something else
// and is not right as that is left out.
#include "engine/turn_grammar.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static enum glint_status no_memory(struct glint_error *err) {
    return glint_fail(err, GLINT_E_NOMEM, "tools: no memory");
}

// ---- values -----------------------------------------------------------------------------------

struct parameter {
    struct glint_schema_compiler *compiler;
    const struct glint_shapes *shapes;
    const struct glint_json *schema; // as the parser looks it up; NULL: it finds none
    unsigned types;                  // that the parser goes by; 0: it knows nothing
    char taken[32];                  // first bytes of texts that would be read as something else
};

// Says nothing about values.
static bool is_remark(struct glint_view key) {
    static const char *const remarks[] = {
        "title",    "description", "default", "examples", "deprecated",
        "readOnly", "writeOnly",   "$schema", "$id",      "$comment",
        "$defs",    "definitions", "$anchor", "nullable", "example",
    };
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (glint_view_is(key, remarks[i]))
            return true;
    return false;
}

static bool is_free(const struct glint_shapes *shapes) {
    if (shapes->n != 1 || shapes->data[0].n_nots > 0)
        return false;
    for (uint32_t i = 0; i < shapes->data[0].n_parts; i++)
        for (const struct glint_json *m = glint_json_first(shapes->data[0].parts[i]); m;
             m = m->next)
            if (!is_remark(m->key))
                return false;
    return true;
}

// Any value of this type is right.
static bool takes_all(const struct glint_shape *shape, unsigned type) {
    const unsigned numeric = GLINT_TYPE_NUMBER | GLINT_TYPE_INTEGER;
    if (shape->listed || !(shape->types & type))
        return false;
    if (type & numeric)
        return !shape->number.has_low && !shape->number.has_high && shape->number.multiple == 0;
    if (type == GLINT_TYPE_NULL || type == GLINT_TYPE_BOOLEAN)
        return true;
    for (uint32_t i = 0; i < shape->n_parts; i++)
        for (const struct glint_json *m = glint_json_first(shape->parts[i]); m; m = m->next)
            if (!is_remark(m->key) && !glint_view_is(m->key, "type"))
                return false;
    return true;
}

// Fills in which texts are not to be taken for strings.
static void find_taken(struct parameter *parameter) {
    static const struct {
        unsigned type;
        const char *first;
    } firsts[] = {
        {GLINT_TYPE_BOOLEAN, "tf"},         {GLINT_TYPE_INTEGER, "-0123456789"},
        {GLINT_TYPE_NUMBER, "-0123456789"}, {GLINT_TYPE_ARRAY, "["},
        {GLINT_TYPE_OBJECT, "{"},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        bool all = !(parameter->types & firsts[i].type);
        for (uint32_t j = 0; j < parameter->shapes->n && !all; j++)
            all = takes_all(&parameter->shapes->data[j], firsts[i].type);
        for (const char *c = firsts[i].first; !all && *c; c++)
            if (!memchr(parameter->taken, *c, n))
                parameter->taken[n++] = *c;
    }
    if (n > 0) { // white space may stand before them
        memcpy(parameter->taken + n, " \t\r\n", 4);
        n += 4;
    }
    parameter->taken[n] = 0;
}

// The parser looks at the schema's own list before it looks for JSON.
static bool parser_lists(const struct parameter *parameter, struct glint_view text) {
    const struct glint_json *single = glint_json_get(parameter->schema, "const");
    const struct glint_json *list = glint_json_get(parameter->schema, "enum");
    if (glint_json_is(single, GLINT_JSON_STRING) && glint_view_equal(single->text, text))
        return true;
    for (const struct glint_json *m = glint_json_first(list); m; m = m->next)
        if (m->kind == GLINT_JSON_STRING && glint_view_equal(m->text, text))
            return true;
    return false;
}

static enum glint_status add_leaf(struct parameter *parameter, uint32_t node,
                                  struct glint_links *links, struct glint_error *err) {
    struct glint_link link = {.node = node, .object = GLINT_NODE_NONE, .array = GLINT_NODE_NONE};
    if (parameter->compiler->grammar->failed || parameter->compiler->grammar->dfa.failed)
        return no_memory(err);
    return glint_links_add(links, link, err);
}

static bool has_closer(struct glint_view text) {
    size_t n = strlen(glint_closer_text);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.data + i, glint_closer_text, n) == 0)
            return true;
    return false;
}

// Listed strings as they are.
static enum glint_status add_raw_listed(struct parameter *parameter,
                                        const struct glint_shape *shape, struct glint_links *links,
                                        struct glint_error *err) {
    struct glint_schema_compiler *compiler = parameter->compiler;
    struct glint_view *words = glint_alloc(shape->n_values, sizeof *words);
    uint32_t n = 0, start = GLINT_DFA_NONE;
    if (!words)
        return no_memory(err);
    for (uint32_t i = 0; i < shape->n_values; i++) {
        const struct glint_json *value = shape->values[i];
        bool taken = value->text.n > 0 && parameter->taken[0] && value->text.data[0] &&
                     strchr(parameter->taken, value->text.data[0]);
        if (value->kind != GLINT_JSON_STRING || (taken && !parser_lists(parameter, value->text)))
            continue;
        if (has_closer(value->text)) {
            glint_free(words);
            return glint_schema_fail(&compiler->document, value, err, GLINT_E_UNSUPPORTED,
                                     "a tool call cannot hold a text with </atem:parameter> in it");
        }
        words[n++] = value->text;
    }
    if (n > 0)
        start = glint_dfa_words(&compiler->grammar->dfa, words, n);
    glint_free(words);
    if (n == 0)
        return GLINT_OK;
    uint32_t node = glint_grammar_lex(compiler->grammar, start, compiler->lexemes->leave);
    return add_leaf(parameter, node, links, err);
}

// Strings as they are, but for those that begin like something else.
static enum glint_status add_raw(struct parameter *parameter, const struct glint_shape *shape,
                                 struct glint_links *links, struct glint_error *err) {
    struct glint_schema_compiler *compiler = parameter->compiler;
    struct glint_grammar *grammar = compiler->grammar;
    uint32_t node;
    if (shape->listed)
        return add_raw_listed(parameter, shape, links, err);
    if (!(shape->types & GLINT_TYPE_STRING))
        return GLINT_OK;
    GLINT_TRY(
        glint_schema_text(compiler, shape, GLINT_SPELL_RAW, compiler->lexemes->leave, &node, err));
    if (node == GLINT_NODE_NONE)
        return GLINT_OK;
    if (parameter->taken[0]) {
        uint32_t start =
            glint_dfa_without_first(&grammar->dfa, grammar->nodes[node].target, parameter->taken);
        if (start == GLINT_DFA_NONE)
            return no_memory(err);
        const struct glint_dfa_state *state = &grammar->dfa.states[start];
        if (state->n_edges == 0 && !(state->flags & GLINT_DFA_ACCEPT))
            return GLINT_OK;
        grammar->nodes[node].target = start;
    }
    return add_leaf(parameter, node, links, err);
}

static enum glint_status add_alternatives(struct parameter *parameter, struct glint_links *links,
                                          struct glint_error *err) {
    struct glint_schema_compiler *compiler = parameter->compiler;
    bool text = (parameter->types & GLINT_TYPE_STRING) != 0;
    if (text && parameter->types != GLINT_TYPE_STRING)
        find_taken(parameter);
    for (uint32_t i = 0; i < parameter->shapes->n; i++) {
        struct glint_shape *shape = &parameter->shapes->data[i];
        GLINT_TRY(glint_shape_exclude(shape, err));
        if (text)
            GLINT_TRY(add_raw(parameter, shape, links, err));
        if (parameter->types != GLINT_TYPE_STRING)
            GLINT_TRY(glint_schema_links(compiler, shape, parameter->types != 0, links, err));
    }
    return GLINT_OK;
}

// A parameter's value; *choice is for a CALL.
static enum glint_status add_value(struct glint_schema_compiler *compiler,
                                   const struct glint_tool *tool,
                                   const struct glint_schema_set *set,
                                   const struct glint_json *schema, uint32_t *choice,
                                   struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_shapes shapes;
    struct glint_links links = {.n = 0};
    *choice = glint_grammar_add(grammar, (struct glint_node){.kind = GLINT_NODE_CHOICE});
    if (*choice == GLINT_NODE_NONE)
        return no_memory(err);
    GLINT_TRY(glint_shapes_of(&compiler->document, set, &shapes, err));
    struct parameter parameter = {.compiler = compiler, .shapes = &shapes, .schema = schema};
    if (schema)
        parameter.types = glint_schema_types(schema, tool->parameters);
    enum glint_status status;
    if (parameter.types == 0 && is_free(&shapes)) {
        uint32_t node = glint_grammar_lex(grammar, grammar->raw_text, compiler->lexemes->leave);
        status = add_leaf(&parameter, node, &links, err);
    } else {
        status = add_alternatives(&parameter, &links, err);
    }
    if (status == GLINT_OK)
        glint_grammar_set_choice(grammar, *choice, links.data, links.n);
    glint_free(links.data);
    glint_shapes_fini(&shapes);
    return status;
}

// ---- the block --------------------------------------------------------------------------------

static bool is_plain(struct glint_view name) {
    for (size_t i = 0; i < name.n; i++)
        if ((uint8_t)name.data[i] < 0x20 || strchr("\"<>", name.data[i]))
            return false;
    return name.n > 0;
}

static uint32_t add_text(struct glint_grammar *grammar, const char *before, struct glint_view name,
                         const char *after, uint32_t next) {
    struct glint_buffer text = {.data = NULL};
    glint_buffer_append_text(&text, before);
    glint_buffer_append(&text, name.data, name.n);
    glint_buffer_append_text(&text, after);
    grammar->failed = grammar->failed || text.failed;
    uint32_t start = GLINT_DFA_NONE;
    if (!text.failed)
        start = glint_dfa_literal(&grammar->dfa, (struct glint_view){text.data, text.n});
    glint_buffer_fini(&text);
    return glint_grammar_lex(grammar, start, next);
}

// The value between a parameter's tags, and on to the next parameter.
static uint32_t add_body(struct glint_grammar *grammar, uint32_t value, uint32_t next) {
    uint32_t close = glint_grammar_text(grammar, "</atem:parameter>\n", next);
    return glint_grammar_call(grammar, value, close);
}

static enum glint_status add_parameters(struct glint_schema_compiler *compiler,
                                        const struct glint_tool *tool,
                                        const struct glint_shape *shape,
                                        struct glint_object *object, uint32_t next,
                                        struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_member *members = glint_alloc(shape->n_members, sizeof *members);
    enum glint_status status = members ? GLINT_OK : no_memory(err);
    for (uint32_t i = 0; i < shape->n_members && status == GLINT_OK; i++) {
        const struct glint_shape_member *member = &shape->members[i];
        struct glint_schema_set set;
        const struct glint_json *schema = glint_tool_property(tool, member->name);
        if (!is_plain(member->name))
            status = glint_schema_fail(&compiler->document, schema, err, GLINT_E_UNSUPPORTED,
                                       "a parameter's name cannot be empty or hold \", <, > or "
                                       "control characters");
        if (status == GLINT_OK)
            status = glint_shape_member_set(shape, &member->name, &set, err);
        if (status == GLINT_OK)
            status = add_value(compiler, tool, &set, schema, &members[i].value, err);
        if (status != GLINT_OK)
            break;
        uint32_t body = add_body(grammar, members[i].value, next);
        members[i].key = add_text(grammar, "<atem:parameter name=\"", member->name, "\">", body);
        members[i].required = member->required;
        object->n_required += member->required;
    }
    object->first_member = grammar->n_members;
    for (uint32_t i = 0; i < shape->n_members && status == GLINT_OK; i++, object->n_members++)
        glint_grammar_add_member(grammar, members[i]);
    glint_free(members);
    return status;
}

// Any name, where the tool names no parameters.
static enum glint_status add_other(struct glint_schema_compiler *compiler,
                                   const struct glint_tool *tool, const struct glint_shape *shape,
                                   struct glint_object *object, uint32_t next,
                                   struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_nfa pattern;
    struct glint_schema_set set;
    uint32_t start;
    GLINT_TRY(glint_shape_member_set(shape, NULL, &set, err));
    GLINT_TRY(add_value(compiler, tool, &set, NULL, &object->other_value, err));
    GLINT_TRY(
        glint_nfa_open(&pattern, glint_view_of("^[A-Za-z0-9_.-]{1,64}\">$"), GLINT_SPELL_RAW, err));
    struct glint_text_rule rule = {.patterns = &pattern, .n_patterns = 1, .most = GLINT_NO_LIMIT};
    glint_dfa_pattern(&grammar->dfa, &rule, &start);
    glint_nfa_fini(&pattern);
    uint32_t body = add_body(grammar, object->other_value, next);
    uint32_t name = glint_grammar_lex(grammar, start, body);
    object->other = glint_grammar_text(grammar, "<atem:parameter name=\"", name);
    return grammar->failed || grammar->dfa.failed ? no_memory(err) : GLINT_OK;
}

static enum glint_status add_block(struct glint_schema_compiler *compiler,
                                   const struct glint_tool *tool, struct glint_shape *shape,
                                   struct glint_links *links, struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_object object = {.other = GLINT_NODE_NONE,
                                  .other_value = GLINT_NODE_NONE,
                                  .comma = GLINT_NODE_NONE,
                                  .least = shape->least_members,
                                  .most = shape->most_members};
    GLINT_TRY(glint_shape_exclude(shape, err));
    uint32_t members = glint_grammar_add(
        grammar, (struct glint_node){.kind = GLINT_NODE_MEMBERS, .part = GLINT_PART_FIRST});
    GLINT_TRY(add_parameters(compiler, tool, shape, &object, members, err));
    if (shape->other_members && shape->n_members == 0)
        GLINT_TRY(add_other(compiler, tool, shape, &object, members, err));
    object.close_first = object.close_after = glint_grammar_text(
        grammar, "</atem:invoke>\n</atem:function_calls>", compiler->lexemes->leave);
    struct glint_link link = {.array = GLINT_NODE_NONE};
    link.object = glint_grammar_add_object(grammar, object);
    link.node = add_text(grammar, "<atem:function_calls>\n<atem:invoke name=\"", tool->name,
                         "\">\n", members);
    if (grammar->failed || grammar->dfa.failed)
        return no_memory(err);
    grammar->nodes[members].target = link.object;
    return glint_links_add(links, link, err);
}

enum glint_status glint_call_grammar(struct glint_schema_compiler *compiler,
                                     const struct glint_tool *tool, uint32_t *choice,
                                     struct glint_error *err) {
    struct glint_schema_set set = {.n = 0};
    struct glint_shapes shapes;
    struct glint_links links = {.n = 0};
    if (tool->parameters && tool->parameters->kind != GLINT_JSON_NULL)
        GLINT_TRY(glint_schema_set_add(&compiler->document, &set, tool->parameters, err));
    *choice = glint_grammar_add(compiler->grammar, (struct glint_node){.kind = GLINT_NODE_CHOICE});
    if (*choice == GLINT_NODE_NONE)
        return no_memory(err);
    enum glint_status status = glint_shapes_of(&compiler->document, &set, &shapes, err);
    for (uint32_t i = 0; status == GLINT_OK && i < shapes.n; i++)
        if (shapes.data[i].types & GLINT_TYPE_OBJECT && !shapes.data[i].listed)
            status = add_block(compiler, tool, &shapes.data[i], &links, err);
    if (status == GLINT_OK)
        glint_grammar_set_choice(compiler->grammar, *choice, links.data, links.n);
    glint_free(links.data);
    glint_shapes_fini(&shapes);
    if (status == GLINT_OK)
        status = glint_schema_compile(compiler, err);
    return status;
}
