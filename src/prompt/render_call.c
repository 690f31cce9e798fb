// SPDX-License-Identifier: Apache-2.0
// render_call.c — arguments, macros, and dispatch to what is callable.
#include "prompt/render.h"

#include <string.h>

static size_t count_args(const struct glint_render *r, int32_t first, enum glint_arg_form a,
                         enum glint_arg_form b) {
    size_t n = 0;
    for (int32_t at = first; at >= 0; at = r->t->nodes[at].next)
        n += r->t->nodes[at].op == a || r->t->nodes[at].op == b;
    return n;
}

// Room for n plain and keyword arguments more than there are.
static bool grow_args(struct glint_render *r, struct glint_args *args, size_t n_plain,
                      size_t n_keywords) {
    struct glint_value *plain =
        glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, args->n_plain + n_plain, sizeof *plain);
    struct glint_keyword *keywords = glint_heap_take(
        r->heap, GLINT_HEAP_OBJECTS, args->n_keywords + n_keywords, sizeof *keywords);
    if (!plain || !keywords)
        return glint_render_no_memory(r);
    if (args->n_plain != 0)
        memcpy(plain, args->plain, args->n_plain * sizeof *plain);
    if (args->n_keywords != 0)
        memcpy(keywords, args->keywords, args->n_keywords * sizeof *keywords);
    args->plain = plain;
    args->keywords = keywords;
    return true;
}

// `*value`: its items become plain arguments.
static bool spread_list(struct glint_render *r, struct glint_args *args, struct glint_value value,
                        size_t n_later) {
    const struct glint_list *items = NULL;
    if (!glint_render_items(r, value, &items) || !grow_args(r, args, items->n + n_later, n_later))
        return false;
    for (size_t i = 0; i < items->n; i++)
        args->plain[args->n_plain++] = items->items[i];
    return true;
}

// `**value`: its entries become keyword arguments.
static bool spread_dict(struct glint_render *r, struct glint_args *args, struct glint_value value,
                        size_t n_later) {
    if (value.kind != GLINT_VALUE_DICT)
        return glint_render_fail(r, GLINT_E_ARG, "argument after ** must be a dict, found %s",
                                 glint_value_kind_name(value));
    const struct glint_dict *dict = value.as.dict;
    if (!glint_render_charge(r, dict->n) || !grow_args(r, args, n_later, dict->n + n_later))
        return false;
    for (size_t i = 0; i < dict->n; i++) {
        if (dict->entries[i].key.kind != GLINT_VALUE_STRING)
            return glint_render_fail(r, GLINT_E_ARG, "keywords must be strings");
        args->keywords[args->n_keywords++] = (struct glint_keyword){
            .name = dict->entries[i].key.as.text, .value = dict->entries[i].value};
    }
    return true;
}

bool glint_render_args(struct glint_render *r, int32_t first, struct glint_args *args) {
    *args = (struct glint_args){.plain = NULL};
    if (first < 0)
        return true;
    size_t n_plain = count_args(r, first, GLINT_ARG_PLAIN, GLINT_ARG_PLAIN);
    size_t n_keywords = count_args(r, first, GLINT_ARG_KEYWORD, GLINT_ARG_KEYWORD);
    size_t n_args = n_plain + n_keywords + count_args(r, first, GLINT_ARG_LIST, GLINT_ARG_DICT);
    if (!grow_args(r, args, n_plain, n_keywords))
        return false;
    for (int32_t at = first; at >= 0; at = r->t->nodes[at].next) {
        const struct glint_node *arg = &r->t->nodes[at];
        struct glint_value value;
        if (!glint_render_expression(r, arg->a, &value))
            return false;
        bool ok = true;
        if (arg->op == GLINT_ARG_PLAIN)
            args->plain[args->n_plain++] = value;
        else if (arg->op == GLINT_ARG_KEYWORD)
            args->keywords[args->n_keywords++] =
                (struct glint_keyword){.name = arg->value.as.text, .value = value};
        else if (arg->op == GLINT_ARG_LIST)
            ok = spread_list(r, args, value, n_args);
        else
            ok = spread_dict(r, args, value, n_args);
        if (!ok)
            return false;
    }
    return true;
}

void glint_args_take(struct glint_args *args, const char *name, struct glint_value *out,
                     bool *given) {
    bool found = true;
    if (args->n_used < args->n_plain) {
        *out = args->plain[args->n_used++];
    } else {
        found = false;
        for (size_t i = 0; i < args->n_keywords && !found; i++) {
            if (!args->keywords[i].used && glint_string_is(args->keywords[i].name, name)) {
                *out = args->keywords[i].value;
                args->keywords[i].used = true;
                found = true;
            }
        }
    }
    if (given)
        *given = found;
}

bool glint_args_end(struct glint_render *r, const struct glint_args *args) {
    if (args->n_used < args->n_plain)
        return glint_render_fail(r, GLINT_E_ARG, "%s: %zu arguments, expected at most %zu",
                                 args->callee, args->n_plain, args->n_used);
    for (size_t i = 0; i < args->n_keywords; i++) {
        if (!args->keywords[i].used)
            return glint_render_fail(r, GLINT_E_ARG, "%s: unknown keyword argument '%.*s'",
                                     args->callee, (int)args->keywords[i].name->n,
                                     args->keywords[i].name->data);
    }
    return true;
}

bool glint_args_text(struct glint_render *r, struct glint_args *args, const char *name,
                     const struct glint_string **out) {
    bool given = false;
    struct glint_value value;
    glint_args_take(args, name, &value, &given);
    if (!given)
        return true;
    if (value.kind == GLINT_VALUE_UNDEFINED || value.kind != GLINT_VALUE_STRING)
        return glint_render_fail(r, GLINT_E_ARG, "%s: argument '%s' is %s, expected a string",
                                 args->callee, name, glint_value_kind_name(value));
    *out = value.as.text;
    return true;
}

bool glint_args_int(struct glint_render *r, struct glint_args *args, const char *name,
                    int64_t *out) {
    bool given = false;
    struct glint_value value;
    glint_args_take(args, name, &value, &given);
    if (!given)
        return true;
    if (value.kind == GLINT_VALUE_BOOL)
        value = glint_value_int(value.as.truth);
    if (value.kind != GLINT_VALUE_INT)
        return glint_render_fail(r, GLINT_E_ARG, "%s: argument '%s' is %s, expected an integer",
                                 args->callee, name, glint_value_kind_name(value));
    *out = value.as.integer;
    return true;
}

bool glint_args_bool(struct glint_args *args, const char *name, bool fallback) {
    struct glint_value value = glint_value_bool(fallback);
    glint_args_take(args, name, &value, NULL);
    return glint_value_truth(value);
}

// Arguments no parameter took: to varargs and kwargs if the macro uses them, else refused.
static bool bind_rest(struct glint_render *r, const struct glint_node *node,
                      struct glint_scope *scope, struct glint_args *args) {
    if ((node->op & GLINT_MACRO_CALLER) != 0) {
        struct glint_value caller = glint_value_undefined(r->t->symbols[r->t->caller].name);
        for (size_t i = 0; i < args->n_keywords; i++) {
            if (!args->keywords[i].used && glint_string_is(args->keywords[i].name, "caller")) {
                caller = args->keywords[i].value;
                args->keywords[i].used = true;
            }
        }
        if (!glint_scope_set(r, scope, r->t->caller, caller))
            return false;
    }
    if ((node->op & GLINT_MACRO_KWARGS) != 0) {
        struct glint_dict *dict = glint_dict_make(r->heap, args->n_keywords);
        for (size_t i = 0; dict && i < args->n_keywords; i++) {
            if (args->keywords[i].used)
                continue;
            args->keywords[i].used = true;
            if (!glint_dict_put(r->heap, dict, glint_value_string(args->keywords[i].name),
                                args->keywords[i].value))
                dict = NULL;
        }
        struct glint_value kwargs = {.kind = GLINT_VALUE_DICT, .as.dict = dict};
        if (!dict || !glint_scope_set(r, scope, r->t->kwargs, kwargs))
            return glint_render_no_memory(r);
    }
    if ((node->op & GLINT_MACRO_VARARGS) != 0) {
        struct glint_list *list = glint_list_make(r->heap, args->n_plain - args->n_used);
        for (size_t i = 0; list && i < list->n; i++)
            list->items[i] = args->plain[args->n_used++];
        struct glint_value varargs = {.kind = GLINT_VALUE_TUPLE, .as.list = list};
        if (!list || !glint_scope_set(r, scope, r->t->varargs, varargs))
            return glint_render_no_memory(r);
    }
    return glint_args_end(r, args);
}

// Parameters take plain arguments in order, then keywords, then their defaults.
static bool bind_params(struct glint_render *r, const struct glint_node *node,
                        struct glint_scope *scope, struct glint_args *args) {
    for (int32_t at = node->a; at >= 0; at = r->t->nodes[at].next) {
        const struct glint_node *param = &r->t->nodes[at];
        const struct glint_string *name = r->t->symbols[param->symbol].name;
        struct glint_value value = glint_value_undefined(name);
        bool given = args->n_used < args->n_plain;
        if (given)
            value = args->plain[args->n_used++];
        for (size_t i = 0; i < args->n_keywords && !given; i++) {
            if (!args->keywords[i].used && glint_string_equal(args->keywords[i].name, name)) {
                value = args->keywords[i].value;
                given = args->keywords[i].used = true;
            }
        }
        if (!given && param->a >= 0 && !glint_render_expression(r, param->a, &value))
            return false;
        if (!glint_scope_set(r, scope, param->symbol, value))
            return false;
    }
    return bind_rest(r, node, scope, args);
}

static bool call_macro(struct glint_render *r, const struct glint_macro *macro,
                       struct glint_args *args, struct glint_value *out) {
    const struct glint_node *node = &r->t->nodes[macro->node];
    char name[64];
    const struct glint_string *symbol = r->t->symbols[node->symbol].name;
    size_t n = symbol->n < sizeof name - 1 ? symbol->n : sizeof name - 1;
    memcpy(name, symbol->data, n);
    name[n] = 0;
    args->callee = name;
    if (!glint_render_enter(r))
        return false;
    struct glint_scope *outer = r->scope;
    struct glint_scope *inner = glint_scope_make(r, macro->scope);
    bool ok = inner != NULL;
    if (ok) {
        r->scope = inner;
        ok = bind_params(r, node, inner, args);
    }
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    ok = ok && glint_render_body(r, node->b) && glint_render_take(r, mark, out);
    r->scope = outer;
    glint_render_leave(r);
    return ok;
}

static bool call_joiner(struct glint_render *r, struct glint_cycler *joiner,
                        struct glint_value *out) {
    if (joiner->position != 0)
        *out = joiner->items->items[0];
    else if (!glint_value_literal(r->heap, "", out))
        return glint_render_no_memory(r);
    joiner->position = 1;
    return true;
}

bool glint_render_call(struct glint_render *r, struct glint_value callee, struct glint_args *args,
                       struct glint_value *out) {
    struct glint_value iterable = glint_value_undefined(NULL);
    switch (callee.kind) {
    case GLINT_VALUE_MACRO:
        return call_macro(r, callee.as.macro, args, out);
    case GLINT_VALUE_FUNCTION:
        return glint_function_call(r, callee.as.function, args, out);
    case GLINT_VALUE_METHOD:
        return glint_method_call(r, callee.as.method->id, callee.as.method->object, args, out);
    case GLINT_VALUE_LOOP:
        args->callee = "loop";
        glint_args_take(args, "iterable", &iterable, NULL);
        return glint_args_end(r, args) && glint_render_recurse(r, callee.as.loop, iterable, out);
    case GLINT_VALUE_JOINER:
        return call_joiner(r, callee.as.cycler, out);
    case GLINT_VALUE_UNDEFINED:
        if (callee.as.text)
            return glint_render_fail(r, GLINT_E_ARG, "'%.*s' is undefined", (int)callee.as.text->n,
                                     callee.as.text->data);
        return glint_render_fail(r, GLINT_E_ARG, "the value called is undefined");
    default:
        return glint_render_fail(r, GLINT_E_ARG, "%s is not callable",
                                 glint_value_kind_name(callee));
    }
}
