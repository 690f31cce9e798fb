// SPDX-License-Identifier: Apache-2.0
// turn_grammar.c — the dialect around bodies: headers, markers, who may be addressed when.
// A header follows "<|start|>assistant", of which the prompt already ends in the first. Each body
// goes on to what may follow it: another header, or the end of the turn.
#include "engine/turn_grammar.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum choice { CHOICE_AUTO, CHOICE_NONE, CHOICE_REQUIRED, CHOICE_NAMED };

struct builder {
    struct glint_grammar *grammar;
    const struct glint_turn_rules *rules;
    struct glint_json_lexemes lexemes;
    enum choice choice;
    const struct glint_tool *named;
    // The documents whose values are in the grammar: the answer's, then the tools'.
    struct glint_schema_compiler *compilers; // [n_compilers]
    uint32_t *choices;                       // [n_compilers] what they stand for
    char (*names)[64];
    uint32_t *steps;
    uint32_t n_compilers;
    uint32_t answer; // CHOICE of the answer; NONE: it is free
    // nodes
    uint32_t stop, first, later; // later: START and a header
};

static enum glint_status no_memory(struct glint_error *err) {
    return glint_fail(err, GLINT_E_NOMEM, "constraint: no memory");
}

static enum glint_status read_choice(struct builder *b, struct glint_error *err) {
    const char *name = b->rules->tool_choice;
    const struct glint_tool_set *tools = b->rules->tools;
    if (!name || strcmp(name, "auto") == 0) {
        b->choice = tools->n > 0 ? CHOICE_AUTO : CHOICE_NONE;
    } else if (strcmp(name, "none") == 0) {
        b->choice = CHOICE_NONE;
    } else if (strcmp(name, "required") == 0) {
        b->choice = CHOICE_REQUIRED;
        if (tools->n == 0)
            return glint_fail(err, GLINT_E_ARG,
                              "tool_choice: \"required\", but there are no tools");
    } else {
        b->choice = CHOICE_NAMED;
        b->named = glint_tool_set_find(tools, glint_view_of(name));
        if (!b->named)
            return glint_fail(err, GLINT_E_ARG,
                              "tool_choice: found \"%s\", expected auto, none, required or the "
                              "name of one of the %zu tools",
                              name, tools->n);
    }
    return GLINT_OK;
}

static enum glint_status check_name(const struct builder *b, size_t i, struct glint_error *err) {
    struct glint_view name = b->rules->tools->tools[i].name;
    bool ok =
        name.n > 0 && name.n <= 128 && !glint_view_is(name, "self") && !glint_view_is(name, "user");
    for (size_t j = 0; j < name.n; j++)
        ok = ok && (uint8_t)name.data[j] > ' ' && !strchr("\"<>", name.data[j]) &&
             name.data[j] != 0x7f;
    for (size_t j = 0; j < i; j++)
        ok = ok && !glint_view_equal(b->rules->tools->tools[j].name, name);
    if (ok)
        return GLINT_OK;
    return glint_fail(err, GLINT_E_ARG,
                      "tools[%zu].function.name: expected 1 to 128 bytes without white space, \", "
                      "< and >, none of self and user, and no name twice",
                      i);
}

// ---- documents --------------------------------------------------------------------------------

static struct glint_schema_compiler *add_compiler(struct builder *b, const struct glint_json *root,
                                                  const char *name, bool in_call) {
    uint32_t i = b->n_compilers++;
    snprintf(b->names[i], sizeof b->names[i], "%s", name);
    b->compilers[i] = (struct glint_schema_compiler){
        .grammar = b->grammar,
        .lexemes = &b->lexemes,
        .document = {.root = root, .name = b->names[i], .n_steps = &b->steps[i]},
        .in_call = in_call};
    return &b->compilers[i];
}

static enum glint_status compile_answer(struct builder *b, struct glint_error *err) {
    static const struct glint_json word = {.kind = GLINT_JSON_STRING,
                                           .text = {.data = "object", .n = 6},
                                           .key = {.data = "type", .n = 4}};
    static const struct glint_json any_object = {.kind = GLINT_JSON_OBJECT, .n = 1, .child = &word};
    const struct glint_json *schema = b->rules->schema ? b->rules->schema : &any_object;
    struct glint_schema_set set = {.n = 0};
    b->answer = GLINT_NODE_NONE;
    if (!b->rules->schema && !b->rules->json_object)
        return GLINT_OK;
    struct glint_schema_compiler *compiler = add_compiler(b, schema, "schema", false);
    GLINT_TRY(glint_schema_set_add(&compiler->document, &set, schema, err));
    GLINT_TRY(glint_schema_value(compiler, &set, &b->answer, err));
    b->choices[b->n_compilers - 1] = b->answer;
    return glint_schema_compile(compiler, err);
}

// ---- nodes ------------------------------------------------------------------------------------

static uint32_t add_end(struct builder *b) {
    return glint_grammar_symbol(b->grammar, GLINT_SYMBOL_END, b->stop);
}

// One of two nodes.
static uint32_t add_either(struct builder *b, uint32_t one, uint32_t other) {
    struct glint_link links[2] = {
        {.node = one, .object = GLINT_NODE_NONE, .array = GLINT_NODE_NONE},
        {.node = other, .object = GLINT_NODE_NONE, .array = GLINT_NODE_NONE}};
    uint32_t choice = glint_grammar_add(b->grammar, (struct glint_node){.kind = GLINT_NODE_CHOICE});
    glint_grammar_set_choice(b->grammar, choice, links, 2);
    return choice;
}

static uint32_t add_again(struct builder *b) {
    return glint_grammar_symbol(b->grammar, GLINT_SYMBOL_EOM, b->later);
}

static uint32_t add_self_body(struct builder *b) {
    uint32_t node = glint_grammar_lex(b->grammar, b->grammar->any, add_again(b));
    if (node != GLINT_NODE_NONE)
        b->grammar->nodes[node].flags = GLINT_LEX_REASONING;
    return node;
}

static uint32_t add_user_body(struct builder *b) {
    if (b->answer != GLINT_NODE_NONE)
        return glint_grammar_call(b->grammar, b->answer, add_end(b));
    return glint_grammar_lex(b->grammar, b->grammar->any, add_either(b, add_end(b), add_again(b)));
}

// The body of a call: one document a tool.
static enum glint_status add_call_body(struct builder *b, const struct glint_tool *tool,
                                       uint32_t *body, struct glint_error *err) {
    static const struct glint_json none = {.kind = GLINT_JSON_OBJECT};
    char name[64];
    uint32_t choice;
    snprintf(name, sizeof name, "tools[%zu].function.parameters",
             (size_t)(tool - b->rules->tools->tools));
    struct glint_schema_compiler *compiler =
        add_compiler(b, tool->parameters ? tool->parameters : &none, name, true);
    enum glint_status status = glint_call_grammar(compiler, tool, &choice, err);
    if (b->rules->loose_tools && (status == GLINT_E_UNSUPPORTED || status == GLINT_E_LIMIT)) {
        struct glint_tool loose = {.name = tool->name};
        compiler->n_done = compiler->n_values; // what was begun is not used
        status = glint_call_grammar(compiler, &loose, &choice, err);
    }
    GLINT_TRY(status);
    b->choices[b->n_compilers - 1] = choice;
    bool last = b->rules->one_call || b->choice == CHOICE_NAMED;
    uint32_t next = last ? add_end(b) : add_either(b, add_end(b), add_again(b));
    *body = glint_grammar_call(b->grammar, choice, next);
    return GLINT_OK;
}

static enum glint_status add_header(struct builder *b, struct glint_view recipient, uint32_t body,
                                    struct glint_links *links, struct glint_error *err) {
    struct glint_buffer text = {.data = NULL};
    glint_buffer_append_text(&text, " to=");
    glint_buffer_append(&text, recipient.data, recipient.n);
    if (text.failed)
        return no_memory(err);
    uint32_t message = glint_grammar_symbol(b->grammar, GLINT_SYMBOL_MESSAGE, body);
    uint32_t start = glint_dfa_literal(&b->grammar->dfa, (struct glint_view){text.data, text.n});
    glint_buffer_fini(&text);
    uint32_t node = glint_grammar_lex(b->grammar, start, message);
    if (node == GLINT_NODE_NONE || b->grammar->dfa.failed)
        return no_memory(err);
    if (glint_view_is(recipient, "self"))
        b->grammar->nodes[node].flags = GLINT_LEX_TO_SELF;
    struct glint_link link = {.node = node, .object = GLINT_NODE_NONE, .array = GLINT_NODE_NONE};
    return glint_links_add(links, link, err);
}

// Headers of all tools that may be called, their bodies compiled.
static enum glint_status add_tool_headers(struct builder *b, struct glint_links *links,
                                          struct glint_error *err) {
    const struct glint_tool_set *tools = b->rules->tools;
    for (size_t i = 0; b->choice != CHOICE_NONE && i < tools->n; i++) {
        uint32_t body;
        if (b->choice == CHOICE_NAMED && &tools->tools[i] != b->named)
            continue;
        GLINT_TRY(check_name(b, i, err));
        GLINT_TRY(add_call_body(b, &tools->tools[i], &body, err));
        GLINT_TRY(add_header(b, tools->tools[i].name, body, links, err));
    }
    return GLINT_OK;
}

static uint32_t add_choice_of(struct builder *b, const struct glint_links *links, uint32_t n) {
    uint32_t choice = glint_grammar_add(b->grammar, (struct glint_node){.kind = GLINT_NODE_CHOICE});
    glint_grammar_set_choice(b->grammar, choice, links->data, n);
    return choice;
}

// The first header and the later ones. Bodies lead to the later ones, which therefore come first,
// empty, as the node that they will be.
static enum glint_status add_headers(struct builder *b, struct glint_links *links,
                                     struct glint_error *err) {
    struct glint_grammar *grammar = b->grammar;
    bool forced = b->choice == CHOICE_REQUIRED || b->choice == CHOICE_NAMED;
    uint32_t any = glint_grammar_add(grammar, (struct glint_node){.kind = GLINT_NODE_CHOICE});
    uint32_t assistant = glint_grammar_text(grammar, "assistant", any);
    b->later = glint_grammar_symbol(grammar, GLINT_SYMBOL_START, assistant);
    GLINT_TRY(add_tool_headers(b, links, err));
    uint32_t n_tools = links->n;
    GLINT_TRY(add_header(b, glint_view_of("self"), add_self_body(b), links, err));
    if (!forced)
        GLINT_TRY(add_header(b, glint_view_of("user"), add_user_body(b), links, err));
    glint_grammar_set_choice(grammar, any, links->data, forced ? n_tools : links->n);
    b->first = add_choice_of(b, links, links->n);
    return grammar->failed || grammar->dfa.failed ? no_memory(err) : GLINT_OK;
}

// Where the output begins.
static enum glint_status find_root(struct builder *b, const struct glint_links *links,
                                   struct glint_error *err) {
    bool forced = b->choice == CHOICE_REQUIRED || b->choice == CHOICE_NAMED;
    const struct glint_tool_set *tools = b->rules->tools;
    struct glint_grammar *grammar = b->grammar;
    switch (b->rules->start) {
    case GLINT_TURN_HEADER:
        grammar->root = b->first;
        return GLINT_OK;
    case GLINT_TURN_SELF:
        grammar->root = add_self_body(b);
        break;
    case GLINT_TURN_USER:
        if (forced)
            return glint_fail(err, GLINT_E_ARG,
                              "tool_choice: a call is required, but the turn begins in an answer");
        grammar->root = add_user_body(b);
        break;
    case GLINT_TURN_TOOL: {
        const char *name = b->rules->start_tool ? b->rules->start_tool : "";
        const struct glint_tool *tool = glint_tool_set_find(tools, glint_view_of(name));
        if (!tool || b->choice == CHOICE_NONE || (b->named && b->named != tool))
            return glint_fail(err, GLINT_E_ARG,
                              "the turn begins in a call of \"%s\", which is no tool that may be "
                              "called",
                              name);
        // Its header's node goes on to the marker, which goes on to the body.
        size_t i = b->choice == CHOICE_NAMED ? 0 : (size_t)(tool - tools->tools);
        uint32_t message = grammar->nodes[links->data[i].node].next;
        grammar->root = grammar->nodes[message].next;
        break;
    }
    }
    return grammar->failed ? no_memory(err) : GLINT_OK;
}

static enum glint_status build(struct builder *b, struct glint_links *links,
                               struct glint_error *err) {
    struct glint_grammar *grammar = b->grammar;
    size_t n = b->rules->tools->n + 1;
    b->compilers = glint_alloc(n, sizeof *b->compilers);
    b->choices = glint_alloc(n, sizeof *b->choices);
    b->names = glint_alloc(n, sizeof *b->names);
    b->steps = glint_alloc(n, sizeof *b->steps);
    if (!b->compilers || !b->choices || !b->names || !b->steps)
        return no_memory(err);
    GLINT_TRY(read_choice(b, err));
    GLINT_TRY(glint_json_lexemes_init(&b->lexemes, grammar, err));
    b->stop = glint_grammar_add(grammar, (struct glint_node){.kind = GLINT_NODE_STOP});
    GLINT_TRY(compile_answer(b, err));
    GLINT_TRY(add_headers(b, links, err));
    GLINT_TRY(find_root(b, links, err));
    glint_grammar_measure(grammar);
    for (uint32_t i = 0; i < b->n_compilers; i++)
        GLINT_TRY(glint_schema_check(&b->compilers[i], b->choices[i], err));
    return GLINT_OK;
}

enum glint_status glint_turn_grammar(struct glint_grammar *grammar,
                                     const struct glint_turn_rules *rules,
                                     struct glint_error *err) {
    struct builder b = {.grammar = grammar, .rules = rules};
    struct glint_links links = {.n = 0};
    GLINT_TRY(glint_grammar_init(grammar, err));
    enum glint_status status = build(&b, &links, err);
    for (uint32_t i = 0; i < b.n_compilers; i++)
        glint_schema_compiler_fini(&b.compilers[i]);
    glint_free(b.compilers);
    glint_free(b.choices);
    glint_free(b.names);
    glint_free(b.steps);
    glint_free(links.data);
    if (status != GLINT_OK)
        glint_grammar_fini(grammar);
    return status;
}
