// SPDX-License-Identifier: Apache-2.0
// render.h — what the parts of the evaluator share. Every function that can fail returns false
// after glint_render_fail has set the error; the first failure ends the rendering. Invariant:
// whatever repeats or copies calls glint_render_charge first, so no template runs longer than its
// budget of steps; whatever nests goes through glint_render_enter.
#ifndef GLINT_PROMPT_RENDER_H
#define GLINT_PROMPT_RENDER_H

#include "prompt/template_node.h"

enum { GLINT_RENDER_MAX_DEPTH = 900, GLINT_RENDER_MAX_RANGE = 100000 };

struct glint_binding {
    int32_t symbol;
    struct glint_value value;
};

// Variables of a body; lookups go outward through parents to the input's variables.
struct glint_scope {
    struct glint_scope *parent;
    struct glint_binding *bindings; // [n]
    size_t n;
    size_t capacity;
    bool captured; // a macro defined here or further in keeps it
};

struct glint_macro {
    int32_t node;              // GLINT_NODE_MACRO
    struct glint_scope *scope; // where it was defined
};

struct glint_method {
    struct glint_value object;
    int id;
};

struct glint_loop {
    int32_t node;              // GLINT_NODE_FOR
    struct glint_scope *scope; // around the loop
    const struct glint_list *items;
    size_t index;
    unsigned depth;             // of recursion, from 1
    struct glint_value changed; // arguments of the last loop.changed(), undefined before
};

struct glint_cycler { // also a joiner: texts and whether it was used
    const struct glint_list *items;
    size_t position;
};

struct glint_render {
    const struct glint_template *t;
    const struct glint_template_input *input;
    struct glint_heap *heap;
    struct glint_sink *sink;
    struct glint_scope *scope;
    uint64_t steps_left;
    unsigned depth;
    uint32_t line; // of the node at work, for errors
    enum glint_status status;
    struct glint_error *err;
};

struct glint_keyword {
    const struct glint_string *name;
    struct glint_value value;
    bool used;
};

// Arguments of a call, evaluated.
struct glint_args {
    struct glint_value *plain; // [n_plain]
    size_t n_plain;
    size_t n_used;                  // of plain, by glint_args_take
    struct glint_keyword *keywords; // [n_keywords]
    size_t n_keywords;
    const char *callee; // for messages
};

// render.c
bool glint_render_fail(struct glint_render *r, enum glint_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool glint_render_no_memory(struct glint_render *r); // also: the heap or the sink is at its limit
bool glint_render_charge(struct glint_render *r, size_t steps);
bool glint_render_enter(struct glint_render *r);
void glint_render_leave(struct glint_render *r);
struct glint_scope *glint_scope_make(struct glint_render *r, struct glint_scope *parent);
bool glint_scope_set(struct glint_render *r, struct glint_scope *scope, int32_t symbol,
                     struct glint_value value);
struct glint_value glint_scope_get(struct glint_render *r, int32_t symbol);
// *out = a string of text; fails when text is NULL (no memory).
bool glint_render_string(struct glint_render *r, const struct glint_string *text,
                         struct glint_value *out);
// The part of the sink since mark as a string.
bool glint_render_take(struct glint_render *r, struct glint_sink_mark mark,
                       struct glint_value *out);

// render_statement.c
bool glint_render_body(struct glint_render *r, int32_t first); // no break or continue comes out
bool glint_render_assign(struct glint_render *r, struct glint_scope *scope, int32_t target,
                         struct glint_value value);
bool glint_render_recurse(struct glint_render *r, struct glint_loop *loop,
                          struct glint_value iterable, struct glint_value *out);

// render_expression.c
bool glint_render_expression(struct glint_render *r, int32_t node, struct glint_value *out);
// Filters of a filter tag or set block, applied to operand.
bool glint_render_filters(struct glint_render *r, int32_t node, struct glint_value operand,
                          struct glint_value *out);

// render_call.c
bool glint_render_args(struct glint_render *r, int32_t first, struct glint_args *args);
bool glint_render_call(struct glint_render *r, struct glint_value callee, struct glint_args *args,
                       struct glint_value *out);
// The next argument: by position, else by name; *out is unchanged and *given (may be NULL) false
// when absent. Call in the order of the parameters, then glint_args_end.
void glint_args_take(struct glint_args *args, const char *name, struct glint_value *out,
                     bool *given);
bool glint_args_end(struct glint_render *r, const struct glint_args *args);
// As take, for a string or an integer; fails when it is something else.
bool glint_args_text(struct glint_render *r, struct glint_args *args, const char *name,
                     const struct glint_string **out);
bool glint_args_int(struct glint_render *r, struct glint_args *args, const char *name,
                    int64_t *out);
bool glint_args_bool(struct glint_args *args, const char *name, bool fallback);

// value_operator.c
bool glint_render_binary(struct glint_render *r, enum glint_op op, struct glint_value a,
                         struct glint_value b, struct glint_value *out);
bool glint_render_compare(struct glint_render *r, enum glint_op op, struct glint_value a,
                          struct glint_value b, bool *out);
bool glint_render_equal(struct glint_render *r, struct glint_value a, struct glint_value b,
                        bool *out);
// Order of a and b as -1, 0, 1; fails for kinds that have none.
bool glint_render_order(struct glint_render *r, struct glint_value a, struct glint_value b,
                        int *out);
bool glint_render_index(struct glint_render *r, struct glint_value object,
                        struct glint_value subscript, struct glint_value *out);
bool glint_render_slice(struct glint_render *r, struct glint_value object,
                        const struct glint_value bounds[3], struct glint_value *out);
// Items of a list, keys of a dictionary, characters of a string; fails for what has none.
bool glint_render_items(struct glint_render *r, struct glint_value value,
                        const struct glint_list **out);
bool glint_value_is_number(struct glint_value value); // bool, int, float
double glint_value_number(struct glint_value value);

// value_subscript.c
bool glint_render_attribute(struct glint_render *r, struct glint_value object,
                            const struct glint_string *name, int method, struct glint_value *out);
// A key or an attribute, as `map(attribute=...)` looks it up; dots step inward.
bool glint_render_path(struct glint_render *r, struct glint_value object, struct glint_value path,
                       struct glint_value *out);

// value_print.c
bool glint_render_put(struct glint_render *r, struct glint_value value);  // as str()
bool glint_render_repr(struct glint_render *r, struct glint_value value); // as repr()
struct glint_json_form {
    bool pretty; // with `indent` at each level
    const struct glint_string *indent;
    const struct glint_string *item_separator, *key_separator; // NULL: Python's defaults
    bool sort_keys, ensure_ascii;
};
bool glint_render_put_json(struct glint_render *r, struct glint_value value,
                           const struct glint_json_form *form);
// str() as a text: the value's own when it is a string.
bool glint_render_text(struct glint_render *r, struct glint_value value,
                       const struct glint_string **out);

// filter_*.c, value_test.c, value_method.c: by the ids of template_names.h
bool glint_filter_apply(struct glint_render *r, int id, struct glint_value operand,
                        struct glint_args *args, struct glint_value *out);
bool glint_test_apply(struct glint_render *r, int id, struct glint_value operand,
                      struct glint_args *args, bool *out);
bool glint_method_applies(int id, struct glint_value object);
bool glint_method_call(struct glint_render *r, int id, struct glint_value object,
                       struct glint_args *args, struct glint_value *out);
bool glint_function_call(struct glint_render *r, int id, struct glint_args *args,
                         struct glint_value *out);

#endif
