// SPDX-License-Identifier: Apache-2.0
// value_test.c — the tests of `is`. An undefined value counts as a sequence, an iterable and a
// callable, because Jinja's does.
#include "prompt/char_case.h"
#include "prompt/render.h"
#include "prompt/template_names.h"

#include "base/utf8.h"

#include <math.h>

typedef bool (*test_fn)(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        bool *out);

// Tests of the kind alone take no argument.
enum kind_set {
    KINDS_STRING = 1 << GLINT_VALUE_STRING,
    KINDS_LIST = 1 << GLINT_VALUE_LIST | 1 << GLINT_VALUE_TUPLE,
    KINDS_DICT = 1 << GLINT_VALUE_DICT,
    KINDS_INT = 1 << GLINT_VALUE_INT | 1 << GLINT_VALUE_BIG_INT,
    KINDS_UNDEFINED = 1 << GLINT_VALUE_UNDEFINED,
    KINDS_CALLABLE = 1 << GLINT_VALUE_MACRO | 1 << GLINT_VALUE_FUNCTION | 1 << GLINT_VALUE_METHOD |
                     1 << GLINT_VALUE_LOOP | 1 << GLINT_VALUE_JOINER | KINDS_UNDEFINED,
};

static bool test_true(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      bool *out) {
    *out = in.kind == GLINT_VALUE_BOOL && in.as.truth;
    return glint_args_end(r, args);
}

static bool test_false(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       bool *out) {
    *out = in.kind == GLINT_VALUE_BOOL && !in.as.truth;
    return glint_args_end(r, args);
}

// The remainder of in by divisor, compared with `expected`.
static bool remainder_is(struct glint_render *r, struct glint_value in, struct glint_value divisor,
                         double expected, bool *out) {
    struct glint_value rest;
    if (!glint_render_binary(r, GLINT_OP_MODULO, in, divisor, &rest))
        return false;
    *out = glint_value_is_number(rest) && glint_value_number(rest) == expected;
    return true;
}

static bool test_even(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      bool *out) {
    return glint_args_end(r, args) && remainder_is(r, in, glint_value_int(2), 0, out);
}

static bool test_odd(struct glint_render *r, struct glint_value in, struct glint_args *args,
                     bool *out) {
    return glint_args_end(r, args) && remainder_is(r, in, glint_value_int(2), 1, out);
}

// The one argument of a comparing test.
static bool take_other(struct glint_render *r, struct glint_args *args, struct glint_value *other) {
    bool given = false;
    glint_args_take(args, "other", other, &given);
    if (!given)
        return glint_render_fail(r, GLINT_E_ARG, "%s: expected an argument", args->callee);
    return glint_args_end(r, args);
}

static bool test_divisibleby(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             bool *out) {
    struct glint_value other;
    return take_other(r, args, &other) && remainder_is(r, in, other, 0, out);
}

static bool compare(struct glint_render *r, enum glint_op op, struct glint_value in,
                    struct glint_args *args, bool *out) {
    struct glint_value other;
    return take_other(r, args, &other) && glint_render_compare(r, op, in, other, out);
}

static bool test_eq(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool *out) {
    return compare(r, GLINT_OP_EQUAL, in, args, out);
}

static bool test_ne(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool *out) {
    return compare(r, GLINT_OP_NOT_EQUAL, in, args, out);
}

static bool test_lt(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool *out) {
    return compare(r, GLINT_OP_LESS, in, args, out);
}

static bool test_le(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool *out) {
    return compare(r, GLINT_OP_LESS_EQUAL, in, args, out);
}

static bool test_gt(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool *out) {
    return compare(r, GLINT_OP_GREATER, in, args, out);
}

static bool test_ge(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool *out) {
    return compare(r, GLINT_OP_GREATER_EQUAL, in, args, out);
}

static bool test_in(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool *out) {
    return compare(r, GLINT_OP_IN, in, args, out);
}

// Identity: the same object, or the same plain scalar.
static bool test_sameas(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        bool *out) {
    struct glint_value other;
    if (!take_other(r, args, &other))
        return false;
    *out = false;
    if (in.kind != other.kind)
        return true;
    if (in.kind == GLINT_VALUE_BOOL || in.kind == GLINT_VALUE_INT || in.kind == GLINT_VALUE_NONE)
        return glint_render_equal(r, in, other, out);
    *out = in.kind == GLINT_VALUE_FLOAT ? in.as.number == other.as.number
                                        : in.as.dict == other.as.dict;
    return true;
}

// All cased characters of that case, and at least one.
static bool is_cased(struct glint_render *r, struct glint_value in, enum glint_case which,
                     bool *out) {
    const struct glint_string *text = NULL;
    if (!glint_render_text(r, in, &text) || !glint_render_charge(r, text->n / 16))
        return false;
    bool some = false;
    bool other = false;
    for (size_t at = 0; at < text->n;) {
        struct glint_utf8_step step = glint_utf8_next(text->data + at, text->n - at);
        bool upper = glint_char_is_upper(step.code);
        bool lower = glint_char_is_lower(step.code);
        some = some || (which == GLINT_CASE_UPPER ? upper : lower);
        other = other || (which == GLINT_CASE_UPPER ? lower : upper);
        at += step.n;
    }
    *out = some && !other;
    return true;
}

static bool test_lower(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       bool *out) {
    return glint_args_end(r, args) && is_cased(r, in, GLINT_CASE_LOWER, out);
}

static bool test_upper(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       bool *out) {
    return glint_args_end(r, args) && is_cased(r, in, GLINT_CASE_UPPER, out);
}

static const struct {
    const char *name;
    test_fn apply;  // NULL: the kind decides
    unsigned kinds; // for which it holds
} tests[] = {
    {"boolean", NULL, 1 << GLINT_VALUE_BOOL},
    {"callable", NULL, KINDS_CALLABLE},
    {"defined", NULL, ~(unsigned)KINDS_UNDEFINED},
    {"divisibleby", test_divisibleby, 0},
    {"eq", test_eq, 0},
    {"equalto", test_eq, 0},
    {"even", test_even, 0},
    {"false", test_false, 0},
    {"float", NULL, 1 << GLINT_VALUE_FLOAT},
    {"ge", test_ge, 0},
    {"greaterthan", test_gt, 0},
    {"gt", test_gt, 0},
    {"in", test_in, 0},
    {"integer", NULL, KINDS_INT},
    {"iterable", NULL, KINDS_STRING | KINDS_LIST | KINDS_DICT | KINDS_UNDEFINED},
    {"le", test_le, 0},
    {"lessthan", test_lt, 0},
    {"lower", test_lower, 0},
    {"lt", test_lt, 0},
    {"mapping", NULL, KINDS_DICT},
    {"ne", test_ne, 0},
    {"none", NULL, 1 << GLINT_VALUE_NONE},
    {"number", NULL, KINDS_INT | 1 << GLINT_VALUE_FLOAT | 1 << GLINT_VALUE_BOOL},
    {"odd", test_odd, 0},
    {"sameas", test_sameas, 0},
    {"sequence", NULL, KINDS_STRING | KINDS_LIST | KINDS_DICT | KINDS_UNDEFINED},
    {"string", NULL, KINDS_STRING},
    {"true", test_true, 0},
    {"undefined", NULL, KINDS_UNDEFINED},
    {"upper", test_upper, 0},
};

int glint_test_find(struct glint_view name) {
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (glint_view_is(name, tests[i].name))
            return (int)i + 1;
    }
    return 0;
}

bool glint_test_apply(struct glint_render *r, int id, struct glint_value operand,
                      struct glint_args *args, bool *out) {
    args->callee = tests[id - 1].name;
    if (tests[id - 1].apply)
        return tests[id - 1].apply(r, operand, args, out);
    *out = (tests[id - 1].kinds & 1u << operand.kind) != 0;
    return glint_args_end(r, args);
}
