// SPDX-License-Identifier: Apache-2.0
// template_expression.c — expressions, by operator precedence.
// From loose to tight: conditional, or, and, not, comparison, + -, ~, * / // %, **, unary sign,
// then subscripts, calls, filters and tests, which bind tightest (`a + b is none` tests b).
#include "prompt/template_parser.h"

#include "base/utf8.h"
#include "prompt/template_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum level {
    LEVEL_OR = 1,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_ADD,
    LEVEL_CONCAT,
    LEVEL_MULTIPLY,
    LEVEL_POWER,
    LEVEL_NONE
};

struct binary {
    const char *text;
    bool is_name;
    enum glint_op op;
    enum level level;
};

static const struct binary binaries[] = {
    {"or", true, GLINT_OP_OR, LEVEL_OR},
    {"and", true, GLINT_OP_AND, LEVEL_AND},
    {"in", true, GLINT_OP_IN, LEVEL_COMPARE},
    {"==", false, GLINT_OP_EQUAL, LEVEL_COMPARE},
    {"!=", false, GLINT_OP_NOT_EQUAL, LEVEL_COMPARE},
    {"<", false, GLINT_OP_LESS, LEVEL_COMPARE},
    {"<=", false, GLINT_OP_LESS_EQUAL, LEVEL_COMPARE},
    {">", false, GLINT_OP_GREATER, LEVEL_COMPARE},
    {">=", false, GLINT_OP_GREATER_EQUAL, LEVEL_COMPARE},
    {"+", false, GLINT_OP_ADD, LEVEL_ADD},
    {"-", false, GLINT_OP_SUBTRACT, LEVEL_ADD},
    {"~", false, GLINT_OP_CONCAT, LEVEL_CONCAT},
    {"*", false, GLINT_OP_MULTIPLY, LEVEL_MULTIPLY},
    {"/", false, GLINT_OP_DIVIDE, LEVEL_MULTIPLY},
    {"//", false, GLINT_OP_FLOOR_DIVIDE, LEVEL_MULTIPLY},
    {"%", false, GLINT_OP_MODULO, LEVEL_MULTIPLY},
    {"**", false, GLINT_OP_POWER, LEVEL_POWER},
};

// The binary operator at the next token; n_tokens is how many it takes. LEVEL_NONE: none.
static struct binary peek_binary(const struct glint_parser *p, size_t *n_tokens) {
    const struct glint_token *token = glint_parse_peek(p);
    *n_tokens = 1;
    if (glint_parse_at_name(p, "not") && token[1].kind == GLINT_TOKEN_NAME &&
        glint_view_is(token[1].text, "in")) {
        *n_tokens = 2;
        return (struct binary){"not in", true, GLINT_OP_NOT_IN, LEVEL_COMPARE};
    }
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (token->kind == (binaries[i].is_name ? GLINT_TOKEN_NAME : GLINT_TOKEN_OPERATOR) &&
            glint_view_is(token->text, binaries[i].text))
            return binaries[i];
    }
    return (struct binary){.level = LEVEL_NONE};
}

static int32_t parse_unary(struct glint_parser *p, bool with_filters);

static int32_t make_unary(struct glint_parser *p, enum glint_op op, uint32_t line, int32_t a) {
    int32_t node = glint_parse_node(p, GLINT_NODE_UNARY, line);
    glint_parse_at(p, node)->op = (uint8_t)op;
    glint_parse_at(p, node)->a = a;
    return glint_parse_done(p, node);
}

// Operators of at least this level, with their operands.
static int32_t parse_operators(struct glint_parser *p, enum level least) {
    if (!glint_parse_enter(p))
        return GLINT_NO_NODE;
    int32_t left;
    uint32_t line = glint_parse_peek(p)->line;
    if (least <= LEVEL_NOT && glint_parse_skip_name(p, "not"))
        left = make_unary(p, GLINT_OP_NOT, line, parse_operators(p, LEVEL_NOT));
    else
        left = parse_unary(p, true);
    while (p->status == GLINT_OK) {
        size_t n_tokens = 0;
        struct binary found = peek_binary(p, &n_tokens);
        if (found.level < least || found.level == LEVEL_NONE)
            break;
        line = glint_parse_peek(p)->line;
        bool compare = found.level == LEVEL_COMPARE;
        int32_t node = glint_parse_node(p, compare ? GLINT_NODE_COMPARE : GLINT_NODE_BINARY, line);
        glint_parse_at(p, node)->a = left;
        struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
        do {
            p->at += n_tokens;
            int32_t right = parse_operators(p, found.level + 1);
            if (!compare) {
                glint_parse_at(p, node)->op = (uint8_t)found.op;
                glint_parse_at(p, node)->b = right;
                break;
            }
            int32_t comparand = glint_parse_node(p, GLINT_NODE_COMPARAND, line);
            glint_parse_at(p, comparand)->op = (uint8_t)found.op;
            glint_parse_at(p, comparand)->a = right;
            glint_chain_add(p, &chain, glint_parse_done(p, comparand));
            found = peek_binary(p, &n_tokens);
        } while (p->status == GLINT_OK && found.level == LEVEL_COMPARE);
        if (compare)
            glint_parse_at(p, node)->b = chain.first;
        left = glint_parse_done(p, node);
    }
    glint_parse_leave(p);
    return left;
}

int32_t glint_parse_expression(struct glint_parser *p) {
    if (!glint_parse_enter(p))
        return GLINT_NO_NODE;
    int32_t value = parse_operators(p, LEVEL_OR);
    while (p->status == GLINT_OK && glint_parse_at_name(p, "if")) {
        uint32_t line = glint_parse_peek(p)->line;
        p->at++;
        int32_t condition = parse_operators(p, LEVEL_OR);
        int32_t other = GLINT_NO_NODE;
        if (glint_parse_skip_name(p, "else"))
            other = glint_parse_expression(p);
        int32_t node = glint_parse_node(p, GLINT_NODE_IF_ELSE, line);
        glint_parse_at(p, node)->a = condition;
        glint_parse_at(p, node)->b = value;
        glint_parse_at(p, node)->c = other;
        value = glint_parse_done(p, node);
    }
    glint_parse_leave(p);
    return value;
}

int32_t glint_parse_iterable(struct glint_parser *p) {
    return parse_operators(p, LEVEL_OR);
}

static bool at_expression_end(const struct glint_parser *p) {
    const struct glint_token *token = glint_parse_peek(p);
    return token->kind == GLINT_TOKEN_PRINT_END || token->kind == GLINT_TOKEN_BLOCK_END ||
           token->kind == GLINT_TOKEN_END || glint_parse_at_operator(p, ")");
}

// Comma-separated expressions after a first one make a tuple.
static int32_t finish_tuple(struct glint_parser *p, int32_t first, uint32_t line) {
    if (!glint_parse_at_operator(p, ","))
        return first;
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    glint_chain_add(p, &chain, first);
    while (p->status == GLINT_OK && glint_parse_skip_operator(p, ",")) {
        if (at_expression_end(p))
            break;
        glint_chain_add(p, &chain, glint_parse_expression(p));
    }
    int32_t node = glint_parse_node(p, GLINT_NODE_TUPLE, line);
    glint_parse_at(p, node)->a = chain.first;
    return glint_parse_done(p, node);
}

int32_t glint_parse_expressions(struct glint_parser *p) {
    uint32_t line = glint_parse_peek(p)->line;
    int32_t first = glint_parse_expression(p);
    return finish_tuple(p, first, line);
}

static int32_t parse_one_target(struct glint_parser *p, bool attribute) {
    uint32_t line = glint_parse_peek(p)->line;
    if (glint_parse_skip_operator(p, "(")) {
        if (!glint_parse_enter(p))
            return GLINT_NO_NODE;
        int32_t inner = glint_parse_target(p, attribute);
        glint_parse_leave(p);
        glint_parse_expect_operator(p, ")");
        return inner;
    }
    struct glint_view name = glint_parse_take_name(p);
    int32_t node = glint_parse_node(p, GLINT_NODE_NAME, line);
    int32_t symbol = glint_parse_symbol(p, name);
    glint_parse_at(p, node)->symbol = symbol;
    if (attribute && glint_parse_skip_operator(p, ".")) {
        int32_t object = glint_parse_done(p, node);
        node = glint_parse_node(p, GLINT_NODE_ATTR, line);
        glint_parse_at(p, node)->a = object;
        const struct glint_string *text = glint_parse_text(p, glint_parse_take_name(p));
        glint_parse_at(p, node)->value = glint_value_string(text);
    } else if (symbol >= 0) {
        p->t->symbols[symbol].assigned = true;
    }
    return glint_parse_done(p, node);
}

int32_t glint_parse_target(struct glint_parser *p, bool attribute) {
    uint32_t line = glint_parse_peek(p)->line;
    int32_t first = parse_one_target(p, attribute);
    if (!glint_parse_at_operator(p, ","))
        return first;
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    glint_chain_add(p, &chain, first);
    while (p->status == GLINT_OK && glint_parse_skip_operator(p, ",")) {
        if (glint_parse_peek(p)->kind != GLINT_TOKEN_NAME && !glint_parse_at_operator(p, "("))
            break;
        glint_chain_add(p, &chain, parse_one_target(p, false));
    }
    int32_t node = glint_parse_node(p, GLINT_NODE_TUPLE, line);
    glint_parse_at(p, node)->a = chain.first;
    return glint_parse_done(p, node);
}

// Value of n hexadecimal digits; UINT32_MAX when they are not there.
static uint32_t hex_value(struct glint_view text, size_t at, size_t n) {
    uint32_t value = 0;
    if (n > text.n - at)
        return UINT32_MAX;
    for (size_t i = at; i < at + n; i++) {
        char c = text.data[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit == 16 || value > 0xfffffffu)
            return UINT32_MAX;
        value = value * 16 + digit;
    }
    return value;
}

// One escape at text[at] == '\\'; returns its length, 0 when it is not one we know.
static size_t put_escape(struct glint_buffer *out, struct glint_view text, size_t at) {
    static const char from[] = "ntr\\'\"abfv";
    static const char to[] = "\n\t\r\\'\"\a\b\f\v";
    char c = text.data[at + 1]; // a closing quote follows at least
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        glint_buffer_append_char(out, to[simple - from]);
        return 2;
    }
    if (c == '\n')
        return 2;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
        if ((c >= '0' && c <= '7') || c == 'N')
            return 0;
        glint_buffer_append(out, text.data + at, 2); // Python keeps an unknown escape
        return 2;
    }
    uint32_t code = hex_value(text, at + 2, digits);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    char bytes[GLINT_UTF8_MAX];
    glint_buffer_append(out, bytes, glint_utf8_put(code, bytes));
    return 2 + digits;
}

// Adjacent string tokens join.
static int32_t parse_string(struct glint_parser *p) {
    uint32_t line = glint_parse_peek(p)->line;
    struct glint_buffer out = {.data = NULL};
    while (p->status == GLINT_OK && glint_parse_peek(p)->kind == GLINT_TOKEN_STRING) {
        struct glint_view text = glint_parse_peek(p)->text;
        size_t at = 1;
        while (at + 1 < text.n) {
            size_t n = 1;
            if (text.data[at] == '\\')
                n = put_escape(&out, text, at);
            else
                glint_buffer_append_char(&out, text.data[at]);
            if (n == 0) {
                glint_parse_fail(p, GLINT_E_UNSUPPORTED, line,
                                 "escape '\\%c' in a string is not supported or malformed",
                                 text.data[at + 1]);
                break;
            }
            at += n;
        }
        p->at++;
    }
    int32_t node = glint_parse_node(p, GLINT_NODE_CONST, line);
    const struct glint_string *text =
        glint_parse_text(p, (struct glint_view){.data = out.data, .n = out.n});
    if (out.failed || !text)
        glint_parse_fail(p, GLINT_E_NOMEM, line, "no memory for a string");
    glint_parse_at(p, node)->value = glint_value_string(text);
    glint_buffer_fini(&out);
    return glint_parse_done(p, node);
}

static int32_t parse_number(struct glint_parser *p) {
    const struct glint_token *token = glint_parse_peek(p);
    char digits[64];
    size_t n = 0;
    for (size_t i = 0; i < token->text.n && n < sizeof digits - 1; i++) {
        if (token->text.data[i] != '_')
            digits[n++] = token->text.data[i];
    }
    digits[n] = 0;
    int32_t node = glint_parse_node(p, GLINT_NODE_CONST, token->line);
    if (n == sizeof digits - 1)
        return glint_parse_fail(p, GLINT_E_LIMIT, token->line, "number has too many digits");
    if (token->kind == GLINT_TOKEN_FLOAT) {
        double number = glint_json_parse_double((struct glint_view){.data = digits, .n = n});
        glint_parse_at(p, node)->value = glint_value_float(number);
    } else {
        errno = 0;
        long long integer = strtoll(digits, NULL, 10);
        if (errno != 0)
            return glint_parse_fail(p, GLINT_E_LIMIT, token->line, "integer is past 64 bits");
        glint_parse_at(p, node)->value = glint_value_int(integer);
    }
    p->at++;
    return glint_parse_done(p, node);
}

static int32_t parse_list(struct glint_parser *p) {
    int32_t node = glint_parse_node(p, GLINT_NODE_LIST, glint_parse_peek(p)->line);
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    p->at++; // "["
    while (p->status == GLINT_OK && !glint_parse_at_operator(p, "]")) {
        glint_chain_add(p, &chain, glint_parse_expression(p));
        if (!glint_parse_skip_operator(p, ","))
            break;
    }
    glint_parse_expect_operator(p, "]");
    glint_parse_at(p, node)->a = chain.first;
    return glint_parse_done(p, node);
}

static int32_t parse_dict(struct glint_parser *p) {
    int32_t node = glint_parse_node(p, GLINT_NODE_DICT, glint_parse_peek(p)->line);
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    p->at++; // "{"
    while (p->status == GLINT_OK && !glint_parse_at_operator(p, "}")) {
        int32_t pair = glint_parse_node(p, GLINT_NODE_PAIR, glint_parse_peek(p)->line);
        int32_t key = glint_parse_expression(p);
        glint_parse_expect_operator(p, ":");
        int32_t value = glint_parse_expression(p);
        glint_parse_at(p, pair)->a = key;
        glint_parse_at(p, pair)->b = value;
        glint_chain_add(p, &chain, glint_parse_done(p, pair));
        if (!glint_parse_skip_operator(p, ","))
            break;
    }
    glint_parse_expect_operator(p, "}");
    glint_parse_at(p, node)->a = chain.first;
    return glint_parse_done(p, node);
}

static int32_t parse_parentheses(struct glint_parser *p) {
    uint32_t line = glint_parse_peek(p)->line;
    p->at++; // "("
    int32_t node;
    if (glint_parse_at_operator(p, ")"))
        node = glint_parse_done(p, glint_parse_node(p, GLINT_NODE_TUPLE, line));
    else
        node = glint_parse_expressions(p);
    glint_parse_expect_operator(p, ")");
    return node;
}

static int32_t parse_name(struct glint_parser *p) {
    const struct glint_token *token = glint_parse_peek(p);
    struct glint_view text = token->text;
    bool is_true = glint_view_is(text, "true") || glint_view_is(text, "True");
    bool is_false = glint_view_is(text, "false") || glint_view_is(text, "False");
    bool is_none = glint_view_is(text, "none") || glint_view_is(text, "None");
    bool constant = is_true || is_false || is_none;
    int32_t node = glint_parse_node(p, constant ? GLINT_NODE_CONST : GLINT_NODE_NAME, token->line);
    p->at++;
    if (constant)
        glint_parse_at(p, node)->value = is_none ? glint_value_none() : glint_value_bool(is_true);
    else
        glint_parse_at(p, node)->symbol = glint_parse_symbol(p, text);
    return glint_parse_done(p, node);
}

int32_t glint_parse_primary(struct glint_parser *p) {
    switch (glint_parse_peek(p)->kind) {
    case GLINT_TOKEN_NAME:
        return parse_name(p);
    case GLINT_TOKEN_STRING:
        return parse_string(p);
    case GLINT_TOKEN_INTEGER:
    case GLINT_TOKEN_FLOAT:
        return parse_number(p);
    default:
        break;
    }
    if (glint_parse_at_operator(p, "("))
        return parse_parentheses(p);
    if (glint_parse_at_operator(p, "["))
        return parse_list(p);
    if (glint_parse_at_operator(p, "{"))
        return parse_dict(p);
    return glint_parse_unexpected(p, "an expression");
}

// "(" to ")"; the chain of ARG nodes.
static int32_t parse_args(struct glint_parser *p) {
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    glint_parse_expect_operator(p, "(");
    while (p->status == GLINT_OK && !glint_parse_at_operator(p, ")")) {
        const struct glint_token *token = glint_parse_peek(p);
        int32_t arg = glint_parse_node(p, GLINT_NODE_ARG, token->line);
        enum glint_arg_form form = GLINT_ARG_PLAIN;
        if (glint_parse_skip_operator(p, "*")) {
            form = GLINT_ARG_LIST;
        } else if (glint_parse_skip_operator(p, "**")) {
            form = GLINT_ARG_DICT;
        } else if (token->kind == GLINT_TOKEN_NAME && token[1].kind == GLINT_TOKEN_OPERATOR &&
                   glint_view_is(token[1].text, "=")) {
            form = GLINT_ARG_KEYWORD;
            const struct glint_string *name = glint_parse_text(p, token->text);
            glint_parse_at(p, arg)->value = glint_value_string(name);
            p->at += 2;
        }
        int32_t value = glint_parse_expression(p);
        glint_parse_at(p, arg)->op = (uint8_t)form;
        glint_parse_at(p, arg)->a = value;
        glint_chain_add(p, &chain, glint_parse_done(p, arg));
        if (!glint_parse_skip_operator(p, ","))
            break;
    }
    glint_parse_expect_operator(p, ")");
    return chain.first;
}

// A call that can only be of something outside the subset is refused here; a plain name is
// checked when the whole template is known.
static int32_t parse_call(struct glint_parser *p, int32_t callee) {
    uint32_t line = glint_parse_peek(p)->line;
    if (callee < 0)
        return callee;
    struct glint_node *called = glint_parse_at(p, callee);
    if (called->kind == GLINT_NODE_ATTR && called->op == 0)
        return glint_parse_fail(p, GLINT_E_UNSUPPORTED, line, "method '%.*s' is not supported",
                                (int)called->value.as.text->n, called->value.as.text->data);
    int32_t node = glint_parse_node(p, GLINT_NODE_CALL, line);
    int32_t args = parse_args(p);
    glint_parse_at(p, node)->a = callee;
    glint_parse_at(p, node)->b = args;
    return glint_parse_done(p, node);
}

static int32_t parse_attribute(struct glint_parser *p, int32_t object) {
    const struct glint_token *token = glint_parse_peek(p);
    if (token->kind == GLINT_TOKEN_INTEGER) {
        int32_t node = glint_parse_node(p, GLINT_NODE_INDEX, token->line);
        int32_t index = parse_number(p);
        glint_parse_at(p, node)->a = object;
        glint_parse_at(p, node)->b = index;
        return glint_parse_done(p, node);
    }
    struct glint_view name = glint_parse_take_name(p);
    int32_t node = glint_parse_node(p, GLINT_NODE_ATTR, token->line);
    glint_parse_at(p, node)->a = object;
    glint_parse_at(p, node)->op = (uint8_t)glint_method_find(name);
    const struct glint_string *text = glint_parse_text(p, name);
    glint_parse_at(p, node)->value = glint_value_string(text);
    return glint_parse_done(p, node);
}

static bool at_slice_end(const struct glint_parser *p) {
    return glint_parse_at_operator(p, ":") || glint_parse_at_operator(p, "]");
}

static int32_t parse_subscript(struct glint_parser *p, int32_t object) {
    uint32_t line = glint_parse_peek(p)->line;
    int32_t bounds[3] = {GLINT_NO_NODE, GLINT_NO_NODE, GLINT_NO_NODE};
    int n = 0;
    if (!at_slice_end(p))
        bounds[0] = glint_parse_expression(p);
    while (n < 2 && p->status == GLINT_OK && glint_parse_skip_operator(p, ":")) {
        n++;
        if (!at_slice_end(p))
            bounds[n] = glint_parse_expression(p);
    }
    if (glint_parse_at_operator(p, ","))
        return glint_parse_fail(p, GLINT_E_UNSUPPORTED, line, "a subscript of several values");
    if (n == 0 && bounds[0] < 0 && p->status == GLINT_OK)
        return glint_parse_unexpected(p, "a subscript");
    glint_parse_expect_operator(p, "]");
    int32_t node = glint_parse_node(p, n == 0 ? GLINT_NODE_INDEX : GLINT_NODE_SLICE, line);
    glint_parse_at(p, node)->a = object;
    glint_parse_at(p, node)->b = bounds[0];
    glint_parse_at(p, node)->c = bounds[1];
    glint_parse_at(p, node)->d = bounds[2];
    return glint_parse_done(p, node);
}

int32_t glint_parse_postfix(struct glint_parser *p, int32_t node) {
    while (p->status == GLINT_OK) {
        if (glint_parse_skip_operator(p, "."))
            node = parse_attribute(p, node);
        else if (glint_parse_skip_operator(p, "["))
            node = parse_subscript(p, node);
        else if (glint_parse_at_operator(p, "("))
            node = parse_call(p, node);
        else
            break;
    }
    return node;
}

static int32_t parse_filter(struct glint_parser *p, int32_t operand) {
    const struct glint_token *token = glint_parse_peek(p);
    struct glint_view name = glint_parse_take_name(p);
    if (p->status != GLINT_OK)
        return GLINT_NO_NODE;
    int id = glint_filter_find(name);
    if (id == 0)
        return glint_parse_fail(p, GLINT_E_UNSUPPORTED, token->line,
                                "filter '%.*s' is not supported", (int)name.n, name.data);
    int32_t node = glint_parse_node(p, GLINT_NODE_FILTER, token->line);
    int32_t args = glint_parse_at_operator(p, "(") ? parse_args(p) : GLINT_NO_NODE;
    glint_parse_at(p, node)->op = (uint8_t)id;
    glint_parse_at(p, node)->a = operand;
    glint_parse_at(p, node)->b = args;
    return glint_parse_done(p, node);
}

int32_t glint_parse_filters(struct glint_parser *p, int32_t operand) {
    do
        operand = parse_filter(p, operand);
    while (p->status == GLINT_OK && glint_parse_skip_operator(p, "|"));
    return operand;
}

static bool at_test_argument(const struct glint_parser *p) {
    const struct glint_token *token = glint_parse_peek(p);
    if (token->kind == GLINT_TOKEN_STRING || token->kind == GLINT_TOKEN_INTEGER ||
        token->kind == GLINT_TOKEN_FLOAT)
        return true;
    if (token->kind == GLINT_TOKEN_OPERATOR)
        return glint_parse_at_operator(p, "[") || glint_parse_at_operator(p, "{");
    static const char *const followers[] = {"else", "or", "and"};
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++) {
        if (glint_view_is(token->text, followers[i]))
            return false;
    }
    return token->kind == GLINT_TOKEN_NAME;
}

// After `is`.
static int32_t parse_test(struct glint_parser *p, int32_t operand) {
    bool negated = glint_parse_skip_name(p, "not");
    const struct glint_token *token = glint_parse_peek(p);
    struct glint_view name = glint_parse_take_name(p);
    if (p->status != GLINT_OK)
        return GLINT_NO_NODE;
    int id = glint_test_find(name);
    if (id == 0)
        return glint_parse_fail(p, GLINT_E_UNSUPPORTED, token->line, "test '%.*s' is not supported",
                                (int)name.n, name.data);
    int32_t args = GLINT_NO_NODE;
    // Jinja takes these words for the test's argument, which never was meant.
    if (glint_parse_at_name(p, "is") || glint_parse_at_name(p, "if") ||
        glint_parse_at_name(p, "not") || glint_parse_at_name(p, "in"))
        return glint_parse_unexpected(p, "parentheses around the test");
    if (glint_parse_at_operator(p, "(")) {
        args = parse_args(p);
    } else if (at_test_argument(p)) {
        args = glint_parse_node(p, GLINT_NODE_ARG, token->line);
        int32_t value = glint_parse_postfix(p, glint_parse_primary(p));
        glint_parse_at(p, args)->a = value;
        args = glint_parse_done(p, args);
    }
    int32_t node = glint_parse_node(p, GLINT_NODE_TEST, token->line);
    glint_parse_at(p, node)->op = (uint8_t)id;
    glint_parse_at(p, node)->a = operand;
    glint_parse_at(p, node)->b = args;
    node = glint_parse_done(p, node);
    return negated ? make_unary(p, GLINT_OP_NOT, token->line, node) : node;
}

static int32_t parse_unary(struct glint_parser *p, bool with_filters) {
    if (!glint_parse_enter(p))
        return GLINT_NO_NODE;
    uint32_t line = glint_parse_peek(p)->line;
    int32_t node;
    if (glint_parse_skip_operator(p, "-"))
        node = make_unary(p, GLINT_OP_SUBTRACT, line, parse_unary(p, false));
    else if (glint_parse_skip_operator(p, "+"))
        node = make_unary(p, GLINT_OP_ADD, line, parse_unary(p, false));
    else
        node = glint_parse_postfix(p, glint_parse_primary(p));
    while (with_filters && p->status == GLINT_OK) {
        if (glint_parse_skip_operator(p, "|"))
            node = parse_filter(p, node);
        else if (glint_parse_skip_name(p, "is"))
            node = parse_test(p, node);
        else if (glint_parse_at_operator(p, "("))
            node = parse_call(p, node);
        else
            break;
    }
    glint_parse_leave(p);
    return node;
}

int32_t glint_parse_params(struct glint_parser *p) {
    struct glint_chain chain = {GLINT_NO_NODE, GLINT_NO_NODE};
    glint_parse_expect_operator(p, "(");
    while (p->status == GLINT_OK && !glint_parse_at_operator(p, ")")) {
        int32_t param = glint_parse_node(p, GLINT_NODE_PARAM, glint_parse_peek(p)->line);
        int32_t symbol = glint_parse_symbol(p, glint_parse_take_name(p));
        glint_parse_at(p, param)->symbol = symbol;
        if (symbol >= 0)
            p->t->symbols[symbol].assigned = true;
        if (glint_parse_skip_operator(p, "=")) {
            int32_t value = glint_parse_expression(p);
            glint_parse_at(p, param)->a = value;
        }
        glint_chain_add(p, &chain, glint_parse_done(p, param));
        if (!glint_parse_skip_operator(p, ","))
            break;
    }
    glint_parse_expect_operator(p, ")");
    return chain.first;
}
