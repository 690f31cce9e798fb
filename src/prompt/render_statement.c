// SPDX-License-Identifier: Apache-2.0
// render_statement.c — running the tags of a template.
// Scopes as the language has them: bodies of loops, macros, call, set, filter and with tags have
// their own; an if body does not. A loop body starts afresh in each round.
#include "prompt/render.h"

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_FAIL };

static enum flow run_body(struct glint_render *r, int32_t first);

static enum flow flow_of(bool ok) {
    return ok ? FLOW_NEXT : FLOW_FAIL;
}

// A body in a scope of its own.
static enum flow run_scoped(struct glint_render *r, int32_t first) {
    struct glint_scope *outer = r->scope;
    struct glint_scope *inner = glint_scope_make(r, outer);
    if (!inner)
        return FLOW_FAIL;
    r->scope = inner;
    enum flow flow = run_body(r, first);
    r->scope = outer;
    return flow;
}

// A tuple target takes an item of the same length apart.
static bool assign_tuple(struct glint_render *r, struct glint_scope *scope,
                         const struct glint_node *target, struct glint_value value) {
    const struct glint_list *items = NULL;
    if (!glint_render_items(r, value, &items))
        return false;
    size_t n = 0;
    for (int32_t at = target->a; at >= 0; at = r->t->nodes[at].next)
        n++;
    if (n != items->n)
        return glint_render_fail(r, GLINT_E_ARG, "cannot unpack %zu values into %zu names",
                                 items->n, n);
    size_t i = 0;
    for (int32_t at = target->a; at >= 0; at = r->t->nodes[at].next) {
        if (!glint_render_assign(r, scope, at, items->items[i++]))
            return false;
    }
    return true;
}

bool glint_render_assign(struct glint_render *r, struct glint_scope *scope, int32_t target,
                         struct glint_value value) {
    const struct glint_node *node = &r->t->nodes[target];
    if (node->kind == GLINT_NODE_NAME)
        return glint_scope_set(r, scope, node->symbol, value);
    if (node->kind == GLINT_NODE_TUPLE)
        return assign_tuple(r, scope, node, value);
    struct glint_value object;
    if (!glint_render_expression(r, node->a, &object))
        return false;
    r->line = node->line;
    if (object.kind != GLINT_VALUE_NAMESPACE)
        return glint_render_fail(
            r, GLINT_E_ARG, "cannot set attribute '%.*s': expected a namespace, found %s",
            (int)node->value.as.text->n, node->value.as.text->data, glint_value_kind_name(object));
    if (!glint_render_charge(r, 1 + object.as.dict->n / 16))
        return false;
    return glint_dict_put(r->heap, object.as.dict, node->value, value) || glint_render_no_memory(r);
}

// Keeps the items for which the loop's condition holds.
static bool filter_items(struct glint_render *r, const struct glint_node *node,
                         const struct glint_list **items) {
    const struct glint_list *all = *items;
    struct glint_list *kept = glint_list_make(r->heap, all->n);
    struct glint_scope *outer = r->scope;
    struct glint_scope *inner = glint_scope_make(r, outer);
    if (!kept || !inner)
        return glint_render_no_memory(r);
    size_t n = 0;
    bool ok = true;
    r->scope = inner;
    for (size_t i = 0; ok && i < all->n; i++) {
        struct glint_value keep = glint_value_none();
        ok = glint_render_charge(r, 1) && glint_render_assign(r, inner, node->a, all->items[i]) &&
             glint_render_expression(r, node->e, &keep);
        if (ok && glint_value_truth(keep))
            kept->items[n++] = all->items[i];
    }
    r->scope = outer;
    kept->n = n;
    *items = kept;
    return ok;
}

// All rounds of a loop over items that are already there.
static enum flow run_rounds(struct glint_render *r, const struct glint_node *node,
                            struct glint_loop *loop) {
    struct glint_scope *outer = r->scope;
    struct glint_value as_value = {.kind = GLINT_VALUE_LOOP, .as.loop = loop};
    struct glint_scope *inner = NULL;
    enum flow flow = FLOW_NEXT;
    for (; loop->index < loop->items->n; loop->index++) {
        r->scope = outer;
        r->line = node->line;
        if (!inner || inner->captured)
            inner = glint_scope_make(r, outer);
        else
            inner->n = 0; // the next round starts afresh in the same place
        if (!inner || !glint_render_charge(r, 1) ||
            !glint_scope_set(r, inner, r->t->loop, as_value) ||
            !glint_render_assign(r, inner, node->a, loop->items->items[loop->index])) {
            flow = FLOW_FAIL;
            break;
        }
        r->scope = inner;
        flow = run_body(r, node->c);
        if (flow == FLOW_BREAK || flow == FLOW_FAIL)
            break;
    }
    r->scope = outer;
    return flow == FLOW_FAIL ? FLOW_FAIL : FLOW_NEXT;
}

static enum flow run_loop(struct glint_render *r, const struct glint_node *node,
                          struct glint_value iterable, unsigned depth) {
    const struct glint_list *items = NULL;
    r->line = node->line;
    if (!glint_render_items(r, iterable, &items) ||
        (node->e >= 0 && !filter_items(r, node, &items)))
        return FLOW_FAIL;
    if (items->n == 0)
        return node->d >= 0 ? run_scoped(r, node->d) : FLOW_NEXT;
    struct glint_loop *loop = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, 1, sizeof *loop);
    if (!loop)
        return flow_of(glint_render_no_memory(r));
    *loop = (struct glint_loop){.node = (int32_t)(node - r->t->nodes),
                                .scope = r->scope,
                                .items = items,
                                .depth = depth,
                                .changed = glint_value_undefined(NULL)};
    return run_rounds(r, node, loop);
}

static enum flow run_for(struct glint_render *r, const struct glint_node *node) {
    struct glint_value iterable;
    if (!glint_render_expression(r, node->b, &iterable))
        return FLOW_FAIL;
    return run_loop(r, node, iterable, 1);
}

bool glint_render_recurse(struct glint_render *r, struct glint_loop *loop,
                          struct glint_value iterable, struct glint_value *out) {
    const struct glint_node *node = &r->t->nodes[loop->node];
    if (node->op == 0)
        return glint_render_fail(r, GLINT_E_ARG, "the loop of line %u is not recursive",
                                 (unsigned)node->line);
    if (!glint_render_enter(r))
        return false;
    struct glint_scope *outer = r->scope;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    r->scope = loop->scope;
    bool ok = run_loop(r, node, iterable, loop->depth + 1) != FLOW_FAIL;
    r->scope = outer;
    glint_render_leave(r);
    return ok && glint_render_take(r, mark, out);
}

static enum flow run_if(struct glint_render *r, const struct glint_node *node) {
    for (;;) {
        struct glint_value condition;
        if (!glint_render_expression(r, node->a, &condition))
            return FLOW_FAIL;
        if (glint_value_truth(condition))
            return run_body(r, node->b);
        if (node->op == 0)
            return run_body(r, node->c);
        node = &r->t->nodes[node->c];
    }
}

static bool run_set(struct glint_render *r, const struct glint_node *node) {
    struct glint_value value;
    if (!glint_render_expression(r, node->b, &value))
        return false;
    r->line = node->line;
    return glint_render_assign(r, r->scope, node->a, value);
}

// What a body prints, as a string with filters applied.
static bool capture(struct glint_render *r, int32_t body, int32_t filters,
                    struct glint_value *out) {
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    if (run_scoped(r, body) == FLOW_FAIL || !glint_render_take(r, mark, out))
        return false;
    return filters < 0 || glint_render_filters(r, filters, *out, out);
}

static bool run_set_block(struct glint_render *r, const struct glint_node *node) {
    struct glint_value value;
    if (!capture(r, node->b, node->c, &value))
        return false;
    r->line = node->line;
    return glint_render_assign(r, r->scope, node->a, value);
}

static bool run_filter_block(struct glint_render *r, const struct glint_node *node) {
    struct glint_value value;
    return capture(r, node->b, node->a, &value) && glint_render_put(r, value);
}

static bool make_macro(struct glint_render *r, int32_t node, struct glint_value *out) {
    struct glint_macro *macro = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, 1, sizeof *macro);
    if (!macro)
        return glint_render_no_memory(r);
    *macro = (struct glint_macro){.node = node, .scope = r->scope};
    for (struct glint_scope *scope = r->scope; scope && !scope->captured; scope = scope->parent)
        scope->captured = true;
    *out = (struct glint_value){.kind = GLINT_VALUE_MACRO, .as.macro = macro};
    return true;
}

static bool run_macro(struct glint_render *r, const struct glint_node *node) {
    struct glint_value macro;
    return make_macro(r, (int32_t)(node - r->t->nodes), &macro) &&
           glint_scope_set(r, r->scope, node->symbol, macro);
}

static bool run_call_block(struct glint_render *r, const struct glint_node *node) {
    const struct glint_node *call = &r->t->nodes[node->a];
    struct glint_value callee;
    struct glint_value result;
    struct glint_args args;
    struct glint_keyword *keywords;
    if (!glint_render_expression(r, call->a, &callee) || !glint_render_args(r, call->b, &args))
        return false;
    keywords = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, args.n_keywords + 1, sizeof *keywords);
    if (!keywords)
        return glint_render_no_memory(r);
    for (size_t i = 0; i < args.n_keywords; i++)
        keywords[i] = args.keywords[i];
    keywords[args.n_keywords].name = r->t->symbols[r->t->caller].name;
    if (!make_macro(r, node->b, &keywords[args.n_keywords].value))
        return false;
    args.keywords = keywords;
    args.n_keywords++;
    r->line = node->line;
    return glint_render_call(r, callee, &args, &result) && glint_render_put(r, result);
}

// Values see the scope outside; then the body runs with all of them set.
static enum flow run_with(struct glint_render *r, const struct glint_node *node) {
    struct glint_scope *outer = r->scope;
    struct glint_scope *inner = glint_scope_make(r, outer);
    if (!inner)
        return FLOW_FAIL;
    for (int32_t at = node->a; at >= 0; at = r->t->nodes[at].next) {
        struct glint_value value;
        if (!glint_render_expression(r, r->t->nodes[at].b, &value) ||
            !glint_render_assign(r, inner, r->t->nodes[at].a, value))
            return FLOW_FAIL;
    }
    r->scope = inner;
    enum flow flow = run_body(r, node->b);
    r->scope = outer;
    return flow;
}

static bool run_print(struct glint_render *r, const struct glint_node *node) {
    struct glint_value value;
    if (!glint_render_expression(r, node->a, &value))
        return false;
    r->line = node->line;
    return glint_render_put(r, value);
}

static bool run_data(struct glint_render *r, const struct glint_node *node) {
    glint_sink_put_text(r->sink, node->value.as.text);
    return !r->sink->full || glint_render_no_memory(r);
}

static enum flow run_statement(struct glint_render *r, const struct glint_node *node) {
    switch (node->kind) {
    case GLINT_NODE_DATA:
        return flow_of(run_data(r, node));
    case GLINT_NODE_PRINT:
        return flow_of(run_print(r, node));
    case GLINT_NODE_IF:
        return run_if(r, node);
    case GLINT_NODE_FOR:
        return run_for(r, node);
    case GLINT_NODE_SET:
        return flow_of(run_set(r, node));
    case GLINT_NODE_SET_BLOCK:
        return flow_of(run_set_block(r, node));
    case GLINT_NODE_MACRO:
        return flow_of(run_macro(r, node));
    case GLINT_NODE_CALL_BLOCK:
        return flow_of(run_call_block(r, node));
    case GLINT_NODE_FILTER_BLOCK:
        return flow_of(run_filter_block(r, node));
    case GLINT_NODE_WITH:
        return run_with(r, node);
    case GLINT_NODE_GROUP:
        return run_scoped(r, node->b);
    case GLINT_NODE_BREAK:
        return FLOW_BREAK;
    default:
        return FLOW_CONTINUE;
    }
}

static enum flow run_body(struct glint_render *r, int32_t first) {
    if (first < 0)
        return FLOW_NEXT;
    if (!glint_render_enter(r))
        return FLOW_FAIL;
    enum flow flow = FLOW_NEXT;
    for (int32_t at = first; at >= 0 && flow == FLOW_NEXT; at = r->t->nodes[at].next) {
        r->line = r->t->nodes[at].line;
        flow = glint_render_charge(r, 1) ? run_statement(r, &r->t->nodes[at]) : FLOW_FAIL;
    }
    glint_render_leave(r);
    return flow;
}

bool glint_render_body(struct glint_render *r, int32_t first) {
    return run_body(r, first) != FLOW_FAIL;
}
