// SPDX-License-Identifier: Apache-2.0
// template_parser.h — what the two halves of the parser share: the tokens being read, and nodes
// being made. template_statement.c parses tags, template_expression.c what stands inside them.
// Invariant: after the first failure `status` is set, every parse function returns
// GLINT_NO_NODE and no token is taken any more; so callers check once, at the end.
#ifndef GLINT_PROMPT_TEMPLATE_PARSER_H
#define GLINT_PROMPT_TEMPLATE_PARSER_H

#include "prompt/template_lexer.h"
#include "prompt/template_node.h"

enum {
    GLINT_PARSE_MAX_DEPTH = 200,    // of nested tags and expressions
    GLINT_PARSE_MAX_SYMBOLS = 4096, // distinct variable names
    GLINT_PARSE_MAX_ITEMS = 100000, // in one chain: statements of a body, items of a list
};

struct glint_parser {
    struct glint_template *t;
    const struct glint_token *tokens;
    size_t at;
    unsigned depth;   // of functions now parsing
    unsigned n_loops; // loops around this point within the same macro
    enum glint_status status;
    struct glint_node scratch; // stands in for nodes after a failure
    struct glint_error *err;
};

// A chain under construction.
struct glint_chain {
    int32_t first, last;
};

const struct glint_token *glint_parse_peek(const struct glint_parser *p);
bool glint_parse_at_name(const struct glint_parser *p, const char *name);
bool glint_parse_at_operator(const struct glint_parser *p, const char *op);
// Takes the token if it is there.
bool glint_parse_skip_name(struct glint_parser *p, const char *name);
bool glint_parse_skip_operator(struct glint_parser *p, const char *op);
void glint_parse_expect_operator(struct glint_parser *p, const char *op);
struct glint_view glint_parse_take_name(struct glint_parser *p);

int32_t glint_parse_fail(struct glint_parser *p, enum glint_status status, uint32_t line,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
// "expected WHAT, found ..." at the next token.
int32_t glint_parse_unexpected(struct glint_parser *p, const char *what);
// False, with an error, when too deep; each true is paired with leave.
bool glint_parse_enter(struct glint_parser *p);
void glint_parse_leave(struct glint_parser *p);

// A new node with children absent.
int32_t glint_parse_node(struct glint_parser *p, enum glint_node_kind kind, uint32_t line);
struct glint_node *glint_parse_at(struct glint_parser *p, int32_t node); // for setting fields
// Computes the depth from children that are set; call when a node is complete.
int32_t glint_parse_done(struct glint_parser *p, int32_t node);
void glint_chain_add(struct glint_parser *p, struct glint_chain *chain, int32_t node);
int32_t glint_parse_symbol(struct glint_parser *p, struct glint_view name);
const struct glint_string *glint_parse_text(struct glint_parser *p, struct glint_view bytes);

// template_expression.c
int32_t glint_parse_expression(struct glint_parser *p);
// One expression, or several with commas as a tuple.
int32_t glint_parse_expressions(struct glint_parser *p);
// The iterable of a for tag: no conditional, so that `if` may follow.
int32_t glint_parse_iterable(struct glint_parser *p);
// Names or tuples of names; with `attribute`, also NAME.NAME.
int32_t glint_parse_target(struct glint_parser *p, bool attribute);
// `name(args) | name | ...` applied to operand (which may be absent).
int32_t glint_parse_filters(struct glint_parser *p, int32_t operand);
// Parameters of a macro or call tag, "(" to ")".
int32_t glint_parse_params(struct glint_parser *p);
// What follows an operand: subscripts, attributes and calls.
int32_t glint_parse_postfix(struct glint_parser *p, int32_t node);
int32_t glint_parse_primary(struct glint_parser *p);

// template_statement.c
int32_t glint_parse_body(struct glint_parser *p);

#endif
