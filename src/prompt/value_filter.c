// SPDX-License-Identifier: Apache-2.0
// value_filter.c — the table of filters, and those that give numbers or pass values through.
#include "prompt/value_filter.h"

#include "prompt/template_names.h"

#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct glint_value glint_list_value(struct glint_list *list) {
    return (struct glint_value){.kind = GLINT_VALUE_LIST, .as.list = list};
}

static bool is_one_of(uint32_t code, const struct glint_string *chars) {
    for (size_t at = 0; at < chars->n;) {
        struct glint_utf8_step step = glint_utf8_next(chars->data + at, chars->n - at);
        if (step.code == code)
            return true;
        at += step.n;
    }
    return false;
}

bool glint_strip(struct glint_render *r, const struct glint_string *text,
                 const struct glint_string *chars, enum glint_side side, struct glint_value *out) {
    size_t begin = 0;
    size_t end = text->n;
    if (!glint_render_charge(r, text->n / 64 + (chars ? chars->n : 0)))
        return false;
    while ((side & GLINT_SIDE_LEFT) != 0 && begin < end) {
        struct glint_utf8_step step = glint_utf8_next(text->data + begin, end - begin);
        if (chars ? !is_one_of(step.code, chars) : !glint_is_space(step.code))
            break;
        begin += step.n;
    }
    while ((side & GLINT_SIDE_RIGHT) != 0 && begin < end) {
        size_t start = end - 1;
        while (start > begin && ((unsigned char)text->data[start] & 0xc0u) == 0x80u)
            start--;
        struct glint_utf8_step step = glint_utf8_next(text->data + start, end - start);
        if (chars ? !is_one_of(step.code, chars) : !glint_is_space(step.code))
            break;
        end = start;
    }
    return glint_render_string(r, glint_string_cut(r->heap, text, begin, end), out);
}

static bool filter_default(struct glint_render *r, struct glint_value in, struct glint_args *args,
                           struct glint_value *out) {
    struct glint_value fallback;
    if (!glint_value_literal(r->heap, "", &fallback))
        return glint_render_no_memory(r);
    glint_args_take(args, "default_value", &fallback, NULL);
    bool boolean = glint_args_bool(args, "boolean", false);
    bool use = in.kind == GLINT_VALUE_UNDEFINED || (boolean && !glint_value_truth(in));
    *out = use ? fallback : in;
    return glint_args_end(r, args);
}

static bool filter_safe(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    *out = in;
    return glint_args_end(r, args);
}

// A string as a number, white space around it allowed; false when it is none.
static bool parse_number(const struct glint_string *text, double *number) {
    char copy[400];
    struct glint_view view = glint_string_view(text);
    size_t leading = glint_leading_space(view);
    view.data += leading;
    view.n -= leading;
    view.n -= glint_trailing_space(view);
    if (view.n == 0 || view.n >= sizeof copy)
        return false;
    memcpy(copy, view.data, view.n);
    copy[view.n] = 0;
    for (size_t i = 0; i < view.n; i++) {
        if (!strchr("0123456789+-.eE", copy[i]))
            return false;
    }
    char *end = NULL;
    *number = strtod(copy, &end);
    return *end == 0 && end != copy;
}

static bool parse_integer(const struct glint_string *text, int64_t *integer) {
    char copy[64];
    double number = 0;
    if (!parse_number(text, &number) || text->n >= sizeof copy)
        return false;
    memcpy(copy, text->data, text->n);
    copy[text->n] = 0;
    char *end = NULL;
    errno = 0;
    *integer = strtoll(copy, &end, 10);
    if (errno != 0)
        return false;
    if (*end == 0 || *end == ' ' || *end == '\n' || *end == '\t' || *end == '\r')
        return true;
    if (!(fabs(number) < 9e18))
        return false;
    *integer = (int64_t)number;
    return true;
}

static bool filter_int(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    struct glint_value fallback = glint_value_int(0);
    int64_t base = 10;
    int64_t integer = 0;
    glint_args_take(args, "default", &fallback, NULL);
    if (!glint_args_int(r, args, "base", &base) || !glint_args_end(r, args))
        return false;
    if (base != 10)
        return glint_render_fail(r, GLINT_E_UNSUPPORTED, "int: base %lld", (long long)base);
    *out = fallback;
    if (in.kind == GLINT_VALUE_BOOL)
        *out = glint_value_int(in.as.truth);
    else if (in.kind == GLINT_VALUE_INT || in.kind == GLINT_VALUE_BIG_INT)
        *out = in;
    else if (in.kind == GLINT_VALUE_FLOAT && fabs(in.as.number) < 9e18)
        *out = glint_value_int((int64_t)in.as.number);
    else if (in.kind == GLINT_VALUE_STRING && parse_integer(in.as.text, &integer))
        *out = glint_value_int(integer);
    return true;
}

static bool filter_float(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    struct glint_value fallback = glint_value_float(0);
    double number = 0;
    glint_args_take(args, "default", &fallback, NULL);
    if (!glint_args_end(r, args))
        return false;
    *out = fallback;
    if (glint_value_is_number(in))
        *out = glint_value_float(glint_value_number(in));
    else if (in.kind == GLINT_VALUE_STRING && parse_number(in.as.text, &number))
        *out = glint_value_float(number);
    return true;
}

static bool require_number(struct glint_render *r, const char *filter, struct glint_value in) {
    return glint_value_is_number(in) || glint_render_fail(r, GLINT_E_ARG, "%s: %s is not a number",
                                                          filter, glint_value_kind_name(in));
}

static bool filter_abs(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    if (!glint_args_end(r, args) || !require_number(r, "abs", in))
        return false;
    if (in.kind == GLINT_VALUE_FLOAT)
        *out = glint_value_float(fabs(in.as.number));
    else if (glint_value_number(in) < 0)
        return glint_render_binary(r, GLINT_OP_SUBTRACT, glint_value_int(0), in, out);
    else
        return glint_render_binary(r, GLINT_OP_ADD, glint_value_int(0), in, out);
    return true;
}

static bool filter_round(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    int64_t precision = 0;
    const struct glint_string *method = NULL;
    if (!glint_args_int(r, args, "precision", &precision) ||
        !glint_args_text(r, args, "method", &method) || !glint_args_end(r, args) ||
        !require_number(r, "round", in))
        return false;
    if (precision < 0 || precision > 300)
        return glint_render_fail(r, GLINT_E_UNSUPPORTED, "round: precision %lld",
                                 (long long)precision);
    double number = glint_value_number(in);
    bool up = method && glint_string_is(method, "ceil");
    bool down = method && glint_string_is(method, "floor");
    if (method && !up && !down && !glint_string_is(method, "common"))
        return glint_render_fail(r, GLINT_E_ARG, "round: method must be common, ceil or floor");
    if (up || down) {
        double scale = pow(10, (double)precision);
        number = (up ? ceil(number * scale) : floor(number * scale)) / scale;
    } else if (in.kind != GLINT_VALUE_FLOAT) {
        return filter_abs(r, in, &(struct glint_args){.callee = "round"}, out) &&
               (number >= 0 ||
                glint_render_binary(r, GLINT_OP_SUBTRACT, glint_value_int(0), *out, out));
    } else if (isfinite(number)) {
        char digits[700]; // the exact value, rounded half to even in decimal as Python does
        snprintf(digits, sizeof digits, "%.*f", (int)precision, number);
        number = strtod(digits, NULL);
    }
    *out = glint_value_float(number);
    return true;
}

static bool filter_sum(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    const struct glint_list *items = NULL;
    struct glint_value attribute = glint_value_none();
    struct glint_value total = glint_value_int(0);
    glint_args_take(args, "attribute", &attribute, NULL);
    glint_args_take(args, "start", &total, NULL);
    if (!glint_args_end(r, args) || !glint_render_items(r, in, &items))
        return false;
    for (size_t i = 0; i < items->n; i++) {
        struct glint_value item = items->items[i];
        if (!glint_render_charge(r, 1) ||
            (attribute.kind != GLINT_VALUE_NONE && !glint_render_path(r, item, attribute, &item)) ||
            !glint_render_binary(r, GLINT_OP_ADD, total, item, &total))
            return false;
    }
    *out = total;
    return true;
}

static const struct {
    const char *name;
    glint_filter_fn apply;
} filters[] = {
    {"abs", filter_abs},
    {"capitalize", glint_filter_capitalize},
    {"center", glint_filter_center},
    {"count", glint_filter_length},
    {"d", filter_default},
    {"default", filter_default},
    {"dictsort", glint_filter_dictsort},
    {"first", glint_filter_first},
    {"float", filter_float},
    {"indent", glint_filter_indent},
    {"int", filter_int},
    {"items", glint_filter_items},
    {"join", glint_filter_join},
    {"last", glint_filter_last},
    {"length", glint_filter_length},
    {"list", glint_filter_list},
    {"lower", glint_filter_lower},
    {"map", glint_filter_map},
    {"max", glint_filter_max},
    {"min", glint_filter_min},
    {"reject", glint_filter_reject},
    {"rejectattr", glint_filter_rejectattr},
    {"replace", glint_filter_replace},
    {"reverse", glint_filter_reverse},
    {"round", filter_round},
    {"safe", filter_safe},
    {"select", glint_filter_select},
    {"selectattr", glint_filter_selectattr},
    {"sort", glint_filter_sort},
    {"string", glint_filter_string},
    {"sum", filter_sum},
    {"title", glint_filter_title},
    {"tojson", glint_filter_tojson},
    {"trim", glint_filter_trim},
    {"truncate", glint_filter_truncate},
    {"unique", glint_filter_unique},
    {"upper", glint_filter_upper},
};

int glint_filter_find(struct glint_view name) {
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        if (glint_view_is(name, filters[i].name))
            return (int)i + 1;
    }
    return 0;
}

bool glint_filter_apply(struct glint_render *r, int id, struct glint_value operand,
                        struct glint_args *args, struct glint_value *out) {
    args->callee = filters[id - 1].name;
    return filters[id - 1].apply(r, operand, args, out);
}
