// SPDX-License-Identifier: Apache-2.0
// render_expression.c — the value of an expression node.
#include "prompt/render.h"

static bool eval_sequence(struct glint_render *r, const struct glint_node *node,
                          enum glint_value_kind kind, struct glint_value *out) {
    size_t n = 0;
    for (int32_t at = node->a; at >= 0; at = r->t->nodes[at].next)
        n++;
    struct glint_list *list = glint_list_make(r->heap, n);
    if (!list)
        return glint_render_no_memory(r);
    size_t i = 0;
    for (int32_t at = node->a; at >= 0; at = r->t->nodes[at].next) {
        if (!glint_render_expression(r, at, &list->items[i++]))
            return false;
    }
    *out = (struct glint_value){.kind = kind, .as.list = list};
    return true;
}

static bool is_key(struct glint_value value) {
    return value.kind == GLINT_VALUE_STRING || value.kind == GLINT_VALUE_INT ||
           value.kind == GLINT_VALUE_BOOL || value.kind == GLINT_VALUE_NONE;
}

static bool eval_dict(struct glint_render *r, const struct glint_node *node,
                      struct glint_value *out) {
    struct glint_dict *dict = glint_dict_make(r->heap, 4);
    if (!dict)
        return glint_render_no_memory(r);
    for (int32_t at = node->a; at >= 0; at = r->t->nodes[at].next) {
        struct glint_value key;
        struct glint_value value;
        if (!glint_render_expression(r, r->t->nodes[at].a, &key) ||
            !glint_render_expression(r, r->t->nodes[at].b, &value))
            return false;
        r->line = node->line;
        if (!is_key(key))
            return glint_render_fail(r, GLINT_E_ARG, "a dict key cannot be %s",
                                     glint_value_kind_name(key));
        if (!glint_render_charge(r, 1 + dict->n / 16) || !glint_dict_put(r->heap, dict, key, value))
            return glint_render_no_memory(r);
    }
    *out = (struct glint_value){.kind = GLINT_VALUE_DICT, .as.dict = dict};
    return true;
}

static bool eval_slice(struct glint_render *r, const struct glint_node *node,
                       struct glint_value *out) {
    struct glint_value object;
    struct glint_value bounds[3];
    int32_t nodes[3] = {node->b, node->c, node->d};
    if (!glint_render_expression(r, node->a, &object))
        return false;
    for (int i = 0; i < 3; i++) {
        bounds[i] = glint_value_none();
        if (nodes[i] >= 0 && !glint_render_expression(r, nodes[i], &bounds[i]))
            return false;
    }
    r->line = node->line;
    return glint_render_slice(r, object, bounds, out);
}

static bool eval_index(struct glint_render *r, const struct glint_node *node,
                       struct glint_value *out) {
    struct glint_value object;
    struct glint_value subscript;
    if (!glint_render_expression(r, node->a, &object) ||
        !glint_render_expression(r, node->b, &subscript))
        return false;
    r->line = node->line;
    return glint_render_index(r, object, subscript, out);
}

static bool eval_attribute(struct glint_render *r, const struct glint_node *node,
                           struct glint_value *out) {
    struct glint_value object;
    if (!glint_render_expression(r, node->a, &object))
        return false;
    r->line = node->line;
    return glint_render_attribute(r, object, node->value.as.text, node->op, out);
}

static bool eval_call(struct glint_render *r, const struct glint_node *node,
                      struct glint_value *out) {
    struct glint_value callee;
    struct glint_args args;
    if (!glint_render_expression(r, node->a, &callee) || !glint_render_args(r, node->b, &args))
        return false;
    r->line = node->line;
    return glint_render_call(r, callee, &args, out);
}

static bool apply_filter(struct glint_render *r, const struct glint_node *node,
                         struct glint_value operand, struct glint_value *out) {
    struct glint_args args;
    if (!glint_render_args(r, node->b, &args))
        return false;
    r->line = node->line;
    return glint_filter_apply(r, node->op, operand, &args, out);
}

static bool eval_filter(struct glint_render *r, const struct glint_node *node,
                        struct glint_value *out) {
    struct glint_value operand;
    return glint_render_expression(r, node->a, &operand) && apply_filter(r, node, operand, out);
}

bool glint_render_filters(struct glint_render *r, int32_t node, struct glint_value operand,
                          struct glint_value *out) {
    const struct glint_node *filter = &r->t->nodes[node];
    if (!glint_render_enter(r))
        return false;
    bool ok = filter->a < 0 || glint_render_filters(r, filter->a, operand, &operand);
    glint_render_leave(r);
    return ok && apply_filter(r, filter, operand, out);
}

static bool eval_test(struct glint_render *r, const struct glint_node *node,
                      struct glint_value *out) {
    struct glint_value operand;
    struct glint_args args;
    bool truth = false;
    if (!glint_render_expression(r, node->a, &operand) || !glint_render_args(r, node->b, &args))
        return false;
    r->line = node->line;
    if (!glint_test_apply(r, node->op, operand, &args, &truth))
        return false;
    *out = glint_value_bool(truth);
    return true;
}

static bool eval_unary(struct glint_render *r, const struct glint_node *node,
                       struct glint_value *out) {
    struct glint_value value;
    if (!glint_render_expression(r, node->a, &value))
        return false;
    r->line = node->line;
    if (node->op == GLINT_OP_NOT) {
        *out = glint_value_bool(!glint_value_truth(value));
        return true;
    }
    if (value.kind == GLINT_VALUE_FLOAT) { // 0 - x would lose the sign of a zero
        *out =
            glint_value_float(node->op == GLINT_OP_SUBTRACT ? -value.as.number : value.as.number);
        return true;
    }
    return glint_render_binary(r, (enum glint_op)node->op, glint_value_int(0), value, out);
}

static bool eval_binary(struct glint_render *r, const struct glint_node *node,
                        struct glint_value *out) {
    struct glint_value left;
    struct glint_value right;
    if (!glint_render_expression(r, node->a, &left))
        return false;
    if (node->op == GLINT_OP_AND || node->op == GLINT_OP_OR) {
        if (glint_value_truth(left) == (node->op == GLINT_OP_OR)) {
            *out = left;
            return true;
        }
        return glint_render_expression(r, node->b, out);
    }
    if (!glint_render_expression(r, node->b, &right))
        return false;
    r->line = node->line;
    return glint_render_binary(r, (enum glint_op)node->op, left, right, out);
}

// a < b < c holds when each neighbouring pair does; the first pair that does not ends it.
static bool eval_compare(struct glint_render *r, const struct glint_node *node,
                         struct glint_value *out) {
    struct glint_value left;
    bool holds = true;
    if (!glint_render_expression(r, node->a, &left))
        return false;
    for (int32_t at = node->b; at >= 0 && holds; at = r->t->nodes[at].next) {
        struct glint_value right;
        if (!glint_render_expression(r, r->t->nodes[at].a, &right))
            return false;
        r->line = node->line;
        if (!glint_render_compare(r, (enum glint_op)r->t->nodes[at].op, left, right, &holds))
            return false;
        left = right;
    }
    *out = glint_value_bool(holds);
    return true;
}

static bool eval_if_else(struct glint_render *r, const struct glint_node *node,
                         struct glint_value *out) {
    struct glint_value condition;
    if (!glint_render_expression(r, node->a, &condition))
        return false;
    if (glint_value_truth(condition))
        return glint_render_expression(r, node->b, out);
    if (node->c >= 0)
        return glint_render_expression(r, node->c, out);
    *out = glint_value_undefined(NULL);
    return true;
}

static bool eval_node(struct glint_render *r, const struct glint_node *node,
                      struct glint_value *out) {
    switch (node->kind) {
    case GLINT_NODE_CONST:
        *out = node->value;
        return true;
    case GLINT_NODE_NAME:
        *out = glint_scope_get(r, node->symbol);
        return true;
    case GLINT_NODE_LIST:
        return eval_sequence(r, node, GLINT_VALUE_LIST, out);
    case GLINT_NODE_TUPLE:
        return eval_sequence(r, node, GLINT_VALUE_TUPLE, out);
    case GLINT_NODE_DICT:
        return eval_dict(r, node, out);
    case GLINT_NODE_ATTR:
        return eval_attribute(r, node, out);
    case GLINT_NODE_INDEX:
        return eval_index(r, node, out);
    case GLINT_NODE_SLICE:
        return eval_slice(r, node, out);
    case GLINT_NODE_CALL:
        return eval_call(r, node, out);
    case GLINT_NODE_FILTER:
        return eval_filter(r, node, out);
    case GLINT_NODE_TEST:
        return eval_test(r, node, out);
    case GLINT_NODE_UNARY:
        return eval_unary(r, node, out);
    case GLINT_NODE_BINARY:
        return eval_binary(r, node, out);
    case GLINT_NODE_COMPARE:
        return eval_compare(r, node, out);
    default:
        return eval_if_else(r, node, out);
    }
}

bool glint_render_expression(struct glint_render *r, int32_t node, struct glint_value *out) {
    r->line = r->t->nodes[node].line;
    if (!glint_render_charge(r, 1) || !glint_render_enter(r))
        return false;
    bool ok = eval_node(r, &r->t->nodes[node], out);
    glint_render_leave(r);
    return ok;
}
