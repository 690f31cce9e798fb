// SPDX-License-Identifier: Apache-2.0
// template_node.h — the compiled form of a template: nodes in one array, linked by index.
// Lists (bodies, arguments, items) are chains through `next`. An index of GLINT_NO_NODE ends a
// chain or marks what is absent. Private to the template language.
#ifndef GLINT_PROMPT_TEMPLATE_NODE_H
#define GLINT_PROMPT_TEMPLATE_NODE_H

#include "prompt/template.h"
#include "prompt/value.h"

enum { GLINT_NO_NODE = -1 };

enum glint_node_kind {
    // Expressions
    GLINT_NODE_CONST,     // value
    GLINT_NODE_NAME,      // symbol
    GLINT_NODE_LIST,      // a: items
    GLINT_NODE_TUPLE,     // a: items
    GLINT_NODE_DICT,      // a: chain of PAIR
    GLINT_NODE_PAIR,      // a: key, b: value
    GLINT_NODE_ATTR,      // a: object, value: name, op: method id or 0
    GLINT_NODE_INDEX,     // a: object, b: subscript
    GLINT_NODE_SLICE,     // a: object, b: start, c: stop, d: step (each may be absent)
    GLINT_NODE_CALL,      // a: callee, b: chain of ARG
    GLINT_NODE_ARG,       // a: value, op: enum glint_arg_form, value: name of a keyword
    GLINT_NODE_FILTER,    // a: operand (absent: the body of a filter block), b: ARGs, op: filter id
    GLINT_NODE_TEST,      // a: operand, b: ARGs, op: test id
    GLINT_NODE_UNARY,     // a, op: GLINT_OP_NOT, _SUBTRACT (minus), _ADD (plus)
    GLINT_NODE_BINARY,    // a, b, op
    GLINT_NODE_COMPARE,   // a: first operand, b: chain of COMPARAND
    GLINT_NODE_COMPARAND, // a: operand, op
    GLINT_NODE_IF_ELSE,   // a: condition, b: then, c: else (may be absent)
    // Statements
    GLINT_NODE_DATA,         // value
    GLINT_NODE_PRINT,        // a
    GLINT_NODE_IF,           // a: condition, b: body, c: else body, op: 1 when c is an elif
    GLINT_NODE_FOR,          // a: target, b: iterable, c: body, d: else body, e: filter,
                             // op: 1 when recursive
    GLINT_NODE_SET,          // a: target, b: value
    GLINT_NODE_SET_BLOCK,    // a: target, b: body, c: filters (may be absent)
    GLINT_NODE_MACRO,        // symbol, a: chain of PARAM, b: body, op: GLINT_MACRO_* it uses
    GLINT_NODE_PARAM,        // symbol, a: default (may be absent)
    GLINT_NODE_CALL_BLOCK,   // a: CALL, b: the MACRO that `caller` is
    GLINT_NODE_FILTER_BLOCK, // a: filters, b: body
    GLINT_NODE_WITH,         // a: chain of SET, b: body
    GLINT_NODE_GROUP,        // b: body (a block that only marks something for training)
    GLINT_NODE_BREAK,
    GLINT_NODE_CONTINUE,
};

enum glint_arg_form { GLINT_ARG_PLAIN, GLINT_ARG_KEYWORD, GLINT_ARG_LIST, GLINT_ARG_DICT };

// Names that mean something inside a macro; one that is not used there takes no such arguments.
enum { GLINT_MACRO_VARARGS = 1, GLINT_MACRO_KWARGS = 2, GLINT_MACRO_CALLER = 4 };

enum glint_op {
    GLINT_OP_NONE,
    GLINT_OP_NOT,
    GLINT_OP_AND,
    GLINT_OP_OR,
    GLINT_OP_ADD,
    GLINT_OP_SUBTRACT,
    GLINT_OP_MULTIPLY,
    GLINT_OP_DIVIDE,
    GLINT_OP_FLOOR_DIVIDE,
    GLINT_OP_MODULO,
    GLINT_OP_POWER,
    GLINT_OP_CONCAT,
    GLINT_OP_EQUAL,
    GLINT_OP_NOT_EQUAL,
    GLINT_OP_LESS,
    GLINT_OP_LESS_EQUAL,
    GLINT_OP_GREATER,
    GLINT_OP_GREATER_EQUAL,
    GLINT_OP_IN,
    GLINT_OP_NOT_IN,
};

struct glint_node {
    uint8_t kind; // enum glint_node_kind
    uint8_t op;
    uint16_t depth; // of the tree below, counted from 1
    uint32_t line;
    int32_t a, b, c, d, e;
    int32_t next;
    int32_t symbol; // index into glint_template.symbols
    struct glint_value value;
};

struct glint_symbol {
    const struct glint_string *name;
    bool assigned; // by a set, a loop, a macro or a parameter somewhere in the template
};

struct glint_template {
    struct glint_heap heap;   // texts of the nodes
    struct glint_view source; // owned, line ends normalised
    struct glint_node *nodes; // [n_nodes], owned
    int32_t n_nodes;
    int32_t node_capacity;
    struct glint_symbol *symbols; // [n_symbols], owned
    int32_t n_symbols;
    int32_t symbol_capacity;
    int32_t body;                          // first statement
    int32_t caller, varargs, kwargs, loop; // symbols with a meaning of their own
};

#endif
