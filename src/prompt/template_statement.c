// SPDX-License-Identifier: Apache-2.0
// template_statement.c — tags. A body ends, without taking it, at a tag whose name closes or
// continues the tag around it; the function that opened the body decides whether that fits.
#include "prompt/template_parser.h"

static void expect_block_end(struct glint_parser *p) {
    if (p->status != GLINT_OK)
        return;
    if (glint_parse_peek(p)->kind == GLINT_TOKEN_BLOCK_END)
        p->at++;
    else
        glint_parse_unexpected(p, "'%}'");
}

// At `{% name`? Then takes both.
static bool skip_tag(struct glint_parser *p, const char *name) {
    const struct glint_token *token = glint_parse_peek(p);
    if (p->status != GLINT_OK || token->kind != GLINT_TOKEN_BLOCK_BEGIN ||
        token[1].kind != GLINT_TOKEN_NAME || !glint_view_is(token[1].text, name))
        return false;
    p->at += 2;
    return true;
}

// The closing tag of something opened at `line`.
static void expect_end_tag(struct glint_parser *p, const char *name, uint32_t line) {
    if (p->status != GLINT_OK)
        return;
    if (skip_tag(p, name)) {
        if (glint_parse_peek(p)->kind == GLINT_TOKEN_NAME) // {% endmacro name %}
            p->at++;
        expect_block_end(p);
        return;
    }
    const struct glint_token *token = glint_parse_peek(p);
    if (token->kind == GLINT_TOKEN_END)
        glint_parse_fail(p, GLINT_E_FORMAT, line, "tag is not closed: expected '%s'", name);
    else
        glint_parse_fail(p, GLINT_E_FORMAT, token->line,
                         "expected '%s' for the tag of line %u, found '%.*s'", name, (unsigned)line,
                         (int)token[1].text.n, token[1].text.data);
}

// A body that break and continue cannot leave, because its output is captured.
static int32_t parse_captured(struct glint_parser *p) {
    unsigned n_loops = p->n_loops;
    p->n_loops = 0;
    int32_t body = glint_parse_body(p);
    p->n_loops = n_loops;
    return body;
}

// The chain of if and elif. Each elif stands in the `c` of the one before; running it does not
// nest, so the depth of the first is the largest of all.
static int32_t parse_if(struct glint_parser *p, uint32_t line) {
    int32_t first = GLINT_NO_NODE;
    int32_t last = GLINT_NO_NODE;
    uint16_t depth = 0;
    uint32_t line_here = line;
    do {
        int32_t node = glint_parse_node(p, GLINT_NODE_IF, line_here);
        int32_t condition = glint_parse_expressions(p);
        expect_block_end(p);
        int32_t body = glint_parse_body(p);
        glint_parse_at(p, node)->a = condition;
        glint_parse_at(p, node)->b = body;
        node = glint_parse_done(p, node);
        if (first < 0)
            first = node;
        glint_parse_at(p, last)->c = node;
        glint_parse_at(p, last)->op = 1;
        last = node;
        if (glint_parse_at(p, node)->depth > depth)
            depth = glint_parse_at(p, node)->depth;
        line_here = glint_parse_peek(p)->line;
    } while (skip_tag(p, "elif"));
    if (skip_tag(p, "else")) {
        expect_block_end(p);
        int32_t body = glint_parse_body(p);
        glint_parse_at(p, last)->c = body;
        last = glint_parse_done(p, last);
        if (glint_parse_at(p, last)->depth > depth)
            depth = glint_parse_at(p, last)->depth;
    }
    glint_parse_at(p, first)->depth = depth;
    expect_end_tag(p, "endif", line);
    return first;
}

static int32_t parse_for(struct glint_parser *p, uint32_t line) {
    int32_t node = glint_parse_node(p, GLINT_NODE_FOR, line);
    int32_t target = glint_parse_target(p, false);
    if (p->status == GLINT_OK && !glint_parse_skip_name(p, "in"))
        glint_parse_unexpected(p, "'in'");
    int32_t iterable = glint_parse_iterable(p);
    int32_t filter = glint_parse_skip_name(p, "if") ? glint_parse_expression(p) : GLINT_NO_NODE;
    bool recursive = glint_parse_skip_name(p, "recursive");
    expect_block_end(p);
    p->n_loops++;
    int32_t body = glint_parse_body(p);
    p->n_loops--;
    int32_t other = GLINT_NO_NODE;
    if (skip_tag(p, "else")) {
        expect_block_end(p);
        other = glint_parse_body(p);
    }
    expect_end_tag(p, "endfor", line);
    struct glint_node *made = glint_parse_at(p, node);
    made->a = target;
    made->b = iterable;
    made->c = body;
    made->d = other;
    made->e = filter;
    made->op = recursive;
    return glint_parse_done(p, node);
}

static int32_t parse_set(struct glint_parser *p, uint32_t line) {
    int32_t target = glint_parse_target(p, true);
    if (glint_parse_skip_operator(p, "=")) {
        int32_t value = glint_parse_expressions(p);
        expect_block_end(p);
        int32_t node = glint_parse_node(p, GLINT_NODE_SET, line);
        glint_parse_at(p, node)->a = target;
        glint_parse_at(p, node)->b = value;
        return glint_parse_done(p, node);
    }
    int32_t filters = GLINT_NO_NODE;
    if (glint_parse_skip_operator(p, "|"))
        filters = glint_parse_filters(p, GLINT_NO_NODE);
    expect_block_end(p);
    int32_t body = parse_captured(p);
    expect_end_tag(p, "endset", line);
    int32_t node = glint_parse_node(p, GLINT_NODE_SET_BLOCK, line);
    glint_parse_at(p, node)->a = target;
    glint_parse_at(p, node)->b = body;
    glint_parse_at(p, node)->c = filters;
    return glint_parse_done(p, node);
}

// Which of the special names the nodes made since `before` use.
static unsigned special_names(const struct glint_parser *p, int32_t before) {
    unsigned used = 0;
    for (int32_t i = before; i < p->t->n_nodes; i++) {
        const struct glint_node *node = &p->t->nodes[i];
        if (node->kind != GLINT_NODE_NAME)
            continue;
        used |= node->symbol == p->t->varargs ? GLINT_MACRO_VARARGS : 0u;
        used |= node->symbol == p->t->kwargs ? GLINT_MACRO_KWARGS : 0u;
        used |= node->symbol == p->t->caller ? GLINT_MACRO_CALLER : 0u;
    }
    return used;
}

// Parameters and body, up to the closing tag.
static int32_t parse_macro_from(struct glint_parser *p, uint32_t line, int32_t symbol,
                                int32_t params, const char *end) {
    expect_block_end(p);
    int32_t before = p->t->n_nodes;
    int32_t body = parse_captured(p);
    expect_end_tag(p, end, line);
    int32_t node = glint_parse_node(p, GLINT_NODE_MACRO, line);
    glint_parse_at(p, node)->op = (uint8_t)special_names(p, before);
    glint_parse_at(p, node)->symbol = symbol;
    glint_parse_at(p, node)->a = params;
    glint_parse_at(p, node)->b = body;
    return glint_parse_done(p, node);
}

static int32_t parse_macro(struct glint_parser *p, uint32_t line) {
    int32_t symbol = glint_parse_symbol(p, glint_parse_take_name(p));
    if (symbol >= 0)
        p->t->symbols[symbol].assigned = true;
    int32_t params = glint_parse_params(p);
    return parse_macro_from(p, line, symbol, params, "endmacro");
}

static int32_t parse_call_block(struct glint_parser *p, uint32_t line) {
    int32_t params = GLINT_NO_NODE;
    if (glint_parse_at_operator(p, "("))
        params = glint_parse_params(p);
    int32_t call = glint_parse_expression(p);
    if (p->status == GLINT_OK && glint_parse_at(p, call)->kind != GLINT_NODE_CALL)
        return glint_parse_fail(p, GLINT_E_FORMAT, line, "expected a call in the call tag");
    int32_t caller = parse_macro_from(p, line, p->t->caller, params, "endcall");
    int32_t node = glint_parse_node(p, GLINT_NODE_CALL_BLOCK, line);
    glint_parse_at(p, node)->a = call;
    glint_parse_at(p, node)->b = caller;
    return glint_parse_done(p, node);
}

static int32_t parse_filter_block(struct glint_parser *p, uint32_t line) {
    int32_t filters = glint_parse_filters(p, GLINT_NO_NODE);
    expect_block_end(p);
    int32_t body = parse_captured(p);
    expect_end_tag(p, "endfilter", line);
    int32_t node = glint_parse_node(p, GLINT_NODE_FILTER_BLOCK, line);
    glint_parse_at(p, node)->a = filters;
    glint_parse_at(p, node)->b = body;
    return glint_parse_done(p, node);
}

static int32_t parse_with(struct glint_parser *p, uint32_t line) {
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    while (p->status == GLINT_OK && glint_parse_peek(p)->kind != GLINT_TOKEN_BLOCK_END) {
        int32_t set = glint_parse_node(p, GLINT_NODE_SET, line);
        int32_t target = glint_parse_target(p, false);
        glint_parse_expect_operator(p, "=");
        int32_t value = glint_parse_expression(p);
        glint_parse_at(p, set)->a = target;
        glint_parse_at(p, set)->b = value;
        glint_chain_add(p, &chain, glint_parse_done(p, set));
        if (!glint_parse_skip_operator(p, ","))
            break;
    }
    expect_block_end(p);
    int32_t body = glint_parse_body(p);
    expect_end_tag(p, "endwith", line);
    int32_t node = glint_parse_node(p, GLINT_NODE_WITH, line);
    glint_parse_at(p, node)->a = chain.first;
    glint_parse_at(p, node)->b = body;
    return glint_parse_done(p, node);
}

static int32_t parse_generation(struct glint_parser *p, uint32_t line) {
    expect_block_end(p);
    int32_t body = glint_parse_body(p);
    expect_end_tag(p, "endgeneration", line);
    int32_t node = glint_parse_node(p, GLINT_NODE_GROUP, line);
    glint_parse_at(p, node)->b = body;
    return glint_parse_done(p, node);
}

static int32_t parse_jump(struct glint_parser *p, uint32_t line, enum glint_node_kind kind) {
    if (p->n_loops == 0)
        return glint_parse_fail(p, GLINT_E_FORMAT, line, "'%s' outside a loop",
                                kind == GLINT_NODE_BREAK ? "break" : "continue");
    expect_block_end(p);
    return glint_parse_done(p, glint_parse_node(p, kind, line));
}

static int32_t parse_break(struct glint_parser *p, uint32_t line) {
    return parse_jump(p, line, GLINT_NODE_BREAK);
}

static int32_t parse_continue(struct glint_parser *p, uint32_t line) {
    return parse_jump(p, line, GLINT_NODE_CONTINUE);
}

static const struct {
    const char *name;
    int32_t (*parse)(struct glint_parser *p, uint32_t line);
} tags[] = {
    {"if", parse_if},           {"for", parse_for},
    {"set", parse_set},         {"macro", parse_macro},
    {"call", parse_call_block}, {"filter", parse_filter_block},
    {"with", parse_with},       {"generation", parse_generation},
    {"break", parse_break},     {"continue", parse_continue},
};

// Tags that close or continue the one around them.
static bool ends_body(struct glint_view name) {
    static const char *const enders[] = {"elif",    "else",         "endif",   "endfor",
                                         "endset",  "endmacro",     "endcall", "endfilter",
                                         "endwith", "endgeneration"};
    for (size_t i = 0; i < sizeof enders / sizeof *enders; i++) {
        if (glint_view_is(name, enders[i]))
            return true;
    }
    return false;
}

// At `{% name` where name opens something.
static int32_t parse_tag(struct glint_parser *p) {
    uint32_t line = glint_parse_peek(p)->line;
    p->at++;
    struct glint_view name = glint_parse_take_name(p);
    for (size_t i = 0; p->status == GLINT_OK && i < sizeof tags / sizeof *tags; i++) {
        if (glint_view_is(name, tags[i].name))
            return tags[i].parse(p, line);
    }
    return glint_parse_fail(p, GLINT_E_UNSUPPORTED, line, "tag '%.*s' is not supported",
                            (int)name.n, name.data);
}

static int32_t parse_print(struct glint_parser *p) {
    int32_t node = glint_parse_node(p, GLINT_NODE_PRINT, glint_parse_peek(p)->line);
    p->at++;
    int32_t value = glint_parse_expressions(p);
    if (p->status == GLINT_OK && glint_parse_peek(p)->kind != GLINT_TOKEN_PRINT_END)
        return glint_parse_unexpected(p, "'}}'");
    p->at++;
    glint_parse_at(p, node)->a = value;
    return glint_parse_done(p, node);
}

static int32_t parse_data(struct glint_parser *p) {
    const struct glint_token *token = glint_parse_peek(p);
    int32_t node = glint_parse_node(p, GLINT_NODE_DATA, token->line);
    // The template owns its source, so the text may point into it.
    glint_parse_at(p, node)->value =
        glint_value_string(glint_string_borrow(&p->t->heap, token->text, GLINT_ORIGIN_TEMPLATE));
    p->at++;
    return glint_parse_done(p, node);
}

int32_t glint_parse_body(struct glint_parser *p) {
    if (!glint_parse_enter(p))
        return GLINT_NO_NODE;
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    while (p->status == GLINT_OK) {
        const struct glint_token *token = glint_parse_peek(p);
        if (token->kind == GLINT_TOKEN_DATA)
            glint_chain_add(p, &chain, parse_data(p));
        else if (token->kind == GLINT_TOKEN_PRINT_BEGIN)
            glint_chain_add(p, &chain, parse_print(p));
        else if (token->kind == GLINT_TOKEN_BLOCK_BEGIN && !ends_body(token[1].text))
            glint_chain_add(p, &chain, parse_tag(p));
        else
            break;
    }
    glint_parse_leave(p);
    return chain.first;
}
