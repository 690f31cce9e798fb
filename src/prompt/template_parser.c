// SPDX-License-Identifier: Apache-2.0
// template_parser.c — reading tokens and making nodes; opening and closing a template.
#include "prompt/template_parser.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "prompt/template_names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int32_t glint_parse_fail(struct glint_parser *p, enum glint_status status, uint32_t line,
                         const char *format, ...) {
    if (p->status != GLINT_OK)
        return GLINT_NO_NODE;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->status = glint_fail(p->err, status, "template line %u: %s", (unsigned)line, text);
    return GLINT_NO_NODE;
}

const struct glint_token *glint_parse_peek(const struct glint_parser *p) {
    return &p->tokens[p->at];
}

static bool at_text(const struct glint_parser *p, enum glint_token_kind kind, const char *text) {
    const struct glint_token *token = glint_parse_peek(p);
    return p->status == GLINT_OK && token->kind == kind && glint_view_is(token->text, text);
}

bool glint_parse_at_name(const struct glint_parser *p, const char *name) {
    return at_text(p, GLINT_TOKEN_NAME, name);
}

bool glint_parse_at_operator(const struct glint_parser *p, const char *op) {
    return at_text(p, GLINT_TOKEN_OPERATOR, op);
}

bool glint_parse_skip_name(struct glint_parser *p, const char *name) {
    bool there = glint_parse_at_name(p, name);
    p->at += there;
    return there;
}

bool glint_parse_skip_operator(struct glint_parser *p, const char *op) {
    bool there = glint_parse_at_operator(p, op);
    p->at += there;
    return there;
}

int32_t glint_parse_unexpected(struct glint_parser *p, const char *what) {
    const struct glint_token *token = glint_parse_peek(p);
    const char *mark = token->kind == GLINT_TOKEN_END    ? "the end of the template"
                       : token->kind == GLINT_TOKEN_DATA ? "text"
                                                         : NULL;
    if (mark)
        return glint_parse_fail(p, GLINT_E_FORMAT, token->line, "expected %s, found %s", what,
                                mark);
    int n = token->text.n < 40 ? (int)token->text.n : 40;
    return glint_parse_fail(p, GLINT_E_FORMAT, token->line, "expected %s, found '%.*s'", what, n,
                            token->text.data);
}

void glint_parse_expect_operator(struct glint_parser *p, const char *op) {
    char what[16];
    if (p->status != GLINT_OK || glint_parse_skip_operator(p, op))
        return;
    snprintf(what, sizeof what, "'%s'", op);
    glint_parse_unexpected(p, what);
}

struct glint_view glint_parse_take_name(struct glint_parser *p) {
    struct glint_view name = {.data = "", .n = 0};
    if (p->status != GLINT_OK)
        return name;
    if (glint_parse_peek(p)->kind == GLINT_TOKEN_NAME)
        name = p->tokens[p->at++].text;
    else
        glint_parse_unexpected(p, "a name");
    return name;
}

bool glint_parse_enter(struct glint_parser *p) {
    if (p->status != GLINT_OK)
        return false;
    if (p->depth == GLINT_PARSE_MAX_DEPTH) {
        glint_parse_fail(p, GLINT_E_LIMIT, glint_parse_peek(p)->line,
                         "nested more than %d levels deep", GLINT_PARSE_MAX_DEPTH);
        return false;
    }
    p->depth++;
    return true;
}

void glint_parse_leave(struct glint_parser *p) {
    p->depth--;
}

int32_t glint_parse_node(struct glint_parser *p, enum glint_node_kind kind, uint32_t line) {
    struct glint_template *t = p->t;
    if (p->status != GLINT_OK)
        return GLINT_NO_NODE;
    if (t->n_nodes == t->node_capacity) {
        int32_t capacity = t->node_capacity ? 2 * t->node_capacity : 256;
        struct glint_node *nodes = glint_realloc(t->nodes, (size_t)capacity, sizeof *nodes);
        if (!nodes)
            return glint_parse_fail(p, GLINT_E_NOMEM, line, "no memory for nodes");
        t->nodes = nodes;
        t->node_capacity = capacity;
    }
    t->nodes[t->n_nodes] = (struct glint_node){.kind = (uint8_t)kind,
                                               .line = line,
                                               .a = GLINT_NO_NODE,
                                               .b = GLINT_NO_NODE,
                                               .c = GLINT_NO_NODE,
                                               .d = GLINT_NO_NODE,
                                               .e = GLINT_NO_NODE,
                                               .next = GLINT_NO_NODE,
                                               .symbol = -1};
    return t->n_nodes++;
}

struct glint_node *glint_parse_at(struct glint_parser *p, int32_t node) {
    return node < 0 ? &p->scratch : &p->t->nodes[node];
}

int32_t glint_parse_done(struct glint_parser *p, int32_t node) {
    if (p->status != GLINT_OK || node < 0)
        return GLINT_NO_NODE;
    struct glint_node *made = &p->t->nodes[node];
    int32_t children[5] = {made->a, made->b, made->c, made->d, made->e};
    unsigned depth = 0;
    for (int i = 0; i < 5; i++) {
        for (int32_t child = children[i]; child >= 0; child = p->t->nodes[child].next) {
            if (p->t->nodes[child].depth > depth)
                depth = p->t->nodes[child].depth;
        }
    }
    // An elif continues its chain; running it does not nest.
    bool elif = made->kind == GLINT_NODE_IF && made->op == 1;
    made->depth = (uint16_t)(depth + (elif ? 0 : 1));
    if (made->depth > GLINT_PARSE_MAX_DEPTH)
        return glint_parse_fail(p, GLINT_E_LIMIT, made->line, "nested more than %d levels deep",
                                GLINT_PARSE_MAX_DEPTH);
    return node;
}

void glint_chain_add(struct glint_parser *p, struct glint_chain *chain, int32_t node) {
    if (node < 0)
        return;
    if (chain->first < 0)
        chain->first = node;
    else
        p->t->nodes[chain->last].next = node;
    chain->last = node;
}

const struct glint_string *glint_parse_text(struct glint_parser *p, struct glint_view bytes) {
    return glint_string_make(&p->t->heap, bytes, GLINT_ORIGIN_TEMPLATE);
}

int32_t glint_parse_symbol(struct glint_parser *p, struct glint_view name) {
    struct glint_template *t = p->t;
    if (p->status != GLINT_OK)
        return -1;
    for (int32_t i = 0; i < t->n_symbols; i++) {
        if (glint_view_equal(glint_string_view(t->symbols[i].name), name))
            return i;
    }
    if (t->n_symbols == GLINT_PARSE_MAX_SYMBOLS)
        return glint_parse_fail(p, GLINT_E_LIMIT, glint_parse_peek(p)->line,
                                "more than %d variable names", GLINT_PARSE_MAX_SYMBOLS);
    if (t->n_symbols == t->symbol_capacity) {
        int32_t capacity = t->symbol_capacity ? 2 * t->symbol_capacity : 64;
        struct glint_symbol *symbols = glint_realloc(t->symbols, (size_t)capacity, sizeof *symbols);
        if (!symbols)
            return glint_parse_fail(p, GLINT_E_NOMEM, 0, "no memory for names");
        t->symbols = symbols;
        t->symbol_capacity = capacity;
    }
    const struct glint_string *text = glint_parse_text(p, name);
    if (!text)
        return glint_parse_fail(p, GLINT_E_NOMEM, 0, "no memory for names");
    t->symbols[t->n_symbols] = (struct glint_symbol){.name = text};
    return t->n_symbols++;
}

// Copies the source as the language reads it: every line end becomes LF, one at the end goes.
static enum glint_status take_source(struct glint_template *t, struct glint_view source,
                                     struct glint_error *err) {
    if (source.n > GLINT_TEMPLATE_MAX_BYTES)
        return glint_fail(err, GLINT_E_LIMIT, "template: %zu bytes, expected at most %d", source.n,
                          GLINT_TEMPLATE_MAX_BYTES);
    if (!glint_utf8_is_valid(source.data, source.n))
        return glint_fail(err, GLINT_E_FORMAT, "template: not valid UTF-8");
    char *copy = glint_alloc(source.n + 1, 1);
    if (!copy)
        return glint_fail(err, GLINT_E_NOMEM, "template: no memory for its source");
    size_t n = 0;
    for (size_t i = 0; i < source.n; i++) {
        char c = source.data[i];
        if (c == '\r') {
            c = '\n';
            i += i + 1 < source.n && source.data[i + 1] == '\n';
        }
        copy[n++] = c;
    }
    if (n != 0 && copy[n - 1] == '\n')
        n--;
    t->source = (struct glint_view){.data = copy, .n = n};
    return GLINT_OK;
}

// Calls by name of what is neither built in nor ever assigned.
static void refuse_unknown_calls(struct glint_parser *p) {
    struct glint_template *t = p->t;
    for (int32_t i = 0; i < t->n_nodes; i++) {
        const struct glint_node *node = &t->nodes[i];
        if (node->kind != GLINT_NODE_CALL || node->a < 0)
            continue;
        const struct glint_node *callee = &t->nodes[node->a];
        if (callee->kind != GLINT_NODE_NAME || callee->symbol < 0)
            continue;
        const struct glint_symbol *symbol = &t->symbols[callee->symbol];
        bool special = callee->symbol == t->caller || callee->symbol == t->loop;
        if (!special && !symbol->assigned &&
            !glint_function_find(glint_string_view(symbol->name))) {
            glint_parse_fail(p, GLINT_E_UNSUPPORTED, node->line, "function '%.*s' is not supported",
                             (int)symbol->name->n, symbol->name->data);
            return;
        }
    }
}

static enum glint_status compile(struct glint_template *t, struct glint_error *err) {
    struct glint_tokens tokens = {.items = NULL};
    enum glint_status status = glint_template_lex(t->source, &tokens, err);
    if (status == GLINT_OK) {
        struct glint_parser p = {.t = t, .tokens = tokens.items, .err = err};
        t->caller = glint_parse_symbol(&p, glint_view_of("caller"));
        t->varargs = glint_parse_symbol(&p, glint_view_of("varargs"));
        t->kwargs = glint_parse_symbol(&p, glint_view_of("kwargs"));
        t->loop = glint_parse_symbol(&p, glint_view_of("loop"));
        t->body = glint_parse_body(&p);
        if (p.status == GLINT_OK && glint_parse_peek(&p)->kind != GLINT_TOKEN_END)
            glint_parse_unexpected(&p, "a tag that begins something");
        refuse_unknown_calls(&p);
        if (p.status == GLINT_OK && t->heap.failed)
            glint_parse_fail(&p, GLINT_E_NOMEM, 0, "no memory for its text");
        status = p.status;
    }
    glint_tokens_fini(&tokens);
    return status;
}

enum glint_status glint_template_open(struct glint_template **t, struct glint_view source,
                                      struct glint_error *err) {
    *t = glint_alloc(1, sizeof **t);
    if (!*t)
        return glint_fail(err, GLINT_E_NOMEM, "template: no memory");
    (*t)->heap.max_bytes = (size_t)64 * GLINT_TEMPLATE_MAX_BYTES;
    enum glint_status status = take_source(*t, source, err);
    if (status == GLINT_OK)
        status = compile(*t, err);
    if (status != GLINT_OK)
        glint_template_close(t);
    return status;
}

void glint_template_close(struct glint_template **t) {
    if (!*t)
        return;
    glint_heap_fini(&(*t)->heap);
    glint_free((void *)(uintptr_t)(*t)->source.data);
    glint_free((*t)->nodes);
    glint_free((*t)->symbols);
    glint_free(*t);
    *t = NULL;
}
