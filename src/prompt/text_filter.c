// SPDX-License-Identifier: Apache-2.0
// text_filter.c — filters that give strings. What they add themselves is the template's, what
// they keep or map of a caller's string stays the caller's.
#include "prompt/char_case.h"
#include "prompt/value_filter.h"

#include "base/utf8.h"

#include <string.h>

static bool change_case(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        enum glint_case to, struct glint_value *out) {
    const struct glint_string *text = NULL;
    if (!glint_args_end(r, args) || !glint_render_text(r, in, &text) ||
        !glint_render_charge(r, text->n / 16))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    glint_sink_put_case(r->sink, text, 0, text->n, to);
    return glint_render_take(r, mark, out);
}

bool glint_filter_upper(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    return change_case(r, in, args, GLINT_CASE_UPPER, out);
}

bool glint_filter_lower(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    return change_case(r, in, args, GLINT_CASE_LOWER, out);
}

// One character in upper case, the rest up to `end` in lower case.
static void put_capitalized(struct glint_render *r, const struct glint_string *text, size_t begin,
                            size_t end) {
    if (begin == end)
        return;
    size_t first = glint_utf8_next(text->data + begin, end - begin).n;
    glint_sink_put_case(r->sink, text, begin, begin + first, GLINT_CASE_UPPER);
    glint_sink_put_case(r->sink, text, begin + first, end, GLINT_CASE_LOWER);
}

bool glint_filter_capitalize(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out) {
    const struct glint_string *text = NULL;
    if (!glint_args_end(r, args) || !glint_render_text(r, in, &text) ||
        !glint_render_charge(r, text->n / 16))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    put_capitalized(r, text, 0, text->n);
    return glint_render_take(r, mark, out);
}

// Words begin after white space or one of -({[<.
bool glint_filter_title(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    const struct glint_string *text = NULL;
    if (!glint_args_end(r, args) || !glint_render_text(r, in, &text) ||
        !glint_render_charge(r, text->n / 8))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    size_t word = 0;
    for (size_t at = 0; at < text->n;) {
        struct glint_utf8_step step = glint_utf8_next(text->data + at, text->n - at);
        bool border = glint_is_space(step.code) ||
                      (step.code != 0 && step.code < 0x80 && strchr("-({[<", (int)step.code));
        at += step.n;
        if (border) {
            put_capitalized(r, text, word, at);
            word = at;
        }
    }
    put_capitalized(r, text, word, text->n);
    return glint_render_take(r, mark, out);
}

bool glint_filter_trim(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    const struct glint_string *text = NULL;
    const struct glint_string *chars = NULL;
    return glint_args_text(r, args, "chars", &chars) && glint_args_end(r, args) &&
           glint_render_text(r, in, &text) && glint_strip(r, text, chars, GLINT_SIDE_BOTH, out);
}

// Appends text with up to `count` (negative: all) occurrences of old replaced.
static bool put_replaced(struct glint_render *r, const struct glint_string *text,
                         const struct glint_string *old, const struct glint_string *with,
                         int64_t count) {
    size_t copied = 0;
    size_t from = 0;
    while (count != 0) {
        size_t at = glint_string_find(text, glint_string_view(old), from);
        if (at == SIZE_MAX)
            break;
        if (!glint_render_charge(r, 1 + with->n / 64))
            return false;
        glint_sink_put_part(r->sink, text, copied, at);
        glint_sink_put_text(r->sink, with);
        copied = at + old->n;
        from = copied;
        if (old->n == 0) { // between all characters
            if (at == text->n)
                break;
            from = at + glint_utf8_next(text->data + at, text->n - at).n;
        }
        count -= count > 0;
    }
    if (copied < text->n)
        glint_sink_put_part(r->sink, text, copied, text->n);
    return true;
}

bool glint_filter_replace(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    const struct glint_string *text = NULL;
    struct glint_value old = glint_value_undefined(NULL);
    struct glint_value with = old;
    struct glint_value count = glint_value_none();
    const struct glint_string *old_text = NULL;
    const struct glint_string *with_text = NULL;
    bool given = false;
    glint_args_take(args, "old", &old, NULL);
    glint_args_take(args, "new", &with, &given);
    glint_args_take(args, "count", &count, NULL);
    if (!given)
        return glint_render_fail(r, GLINT_E_ARG, "replace: expected the old and the new text");
    if (!glint_args_end(r, args) || !glint_render_text(r, in, &text) ||
        !glint_render_text(r, old, &old_text) || !glint_render_text(r, with, &with_text) ||
        !glint_render_charge(r, text->n / 32))
        return false;
    int64_t limit = count.kind == GLINT_VALUE_INT ? count.as.integer : -1;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    return put_replaced(r, text, old_text, with_text, limit) && glint_render_take(r, mark, out);
}

bool glint_filter_string(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    const struct glint_string *text = NULL;
    if (!glint_args_end(r, args) || !glint_render_text(r, in, &text))
        return false;
    *out = glint_value_string(text);
    return true;
}

static bool require_string(struct glint_render *r, const char *filter, struct glint_value in) {
    return in.kind == GLINT_VALUE_STRING || in.kind == GLINT_VALUE_UNDEFINED ||
           glint_render_fail(r, GLINT_E_ARG, "%s: expected a string, found %s", filter,
                             glint_value_kind_name(in));
}

// Every line but the first (with `first`, that one too) is indented; empty ones only with `blank`.
bool glint_filter_indent(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    const struct glint_string *text = NULL;
    struct glint_value width = glint_value_int(4);
    glint_args_take(args, "width", &width, NULL);
    bool first = glint_args_bool(args, "first", false);
    bool blank = glint_args_bool(args, "blank", false);
    if (!require_string(r, "indent", in) || !glint_args_end(r, args) ||
        !glint_render_text(r, in, &text) || !glint_render_charge(r, text->n / 8))
        return false;
    bool is_text = width.kind == GLINT_VALUE_STRING;
    int64_t n_spaces = is_text || width.kind != GLINT_VALUE_INT ? 0 : width.as.integer;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    for (size_t line = 0; line <= text->n;) {
        size_t end = glint_string_find(text, (struct glint_view){.data = "\n", .n = 1}, line);
        if (end == SIZE_MAX)
            end = text->n;
        bool indented = line == 0 ? first : end > line || blank;
        if (indented && is_text)
            glint_sink_put_text(r->sink, width.as.text);
        for (int64_t i = 0; indented && i < n_spaces && !r->sink->full; i++)
            glint_sink_put_literal(r->sink, " ");
        if (indented && !glint_render_charge(r, 1 + (size_t)(n_spaces < 0 ? 0 : n_spaces) / 16))
            return false;
        glint_sink_put_part(r->sink, text, line, end < text->n ? end + 1 : end);
        line = end + 1;
    }
    return glint_render_take(r, mark, out);
}

// Cuts at `length` characters, at the last space before unless killwords.
bool glint_filter_truncate(struct glint_render *r, struct glint_value in, struct glint_args *args,
                           struct glint_value *out) {
    const struct glint_string *text = NULL;
    const struct glint_string *end = NULL;
    int64_t length = 255;
    int64_t leeway = 5;
    if (!glint_args_int(r, args, "length", &length))
        return false;
    bool kill = glint_args_bool(args, "killwords", false);
    if (!glint_args_text(r, args, "end", &end) || !glint_args_int(r, args, "leeway", &leeway) ||
        !glint_args_end(r, args) || !require_string(r, "truncate", in) ||
        !glint_render_text(r, in, &text) || !glint_render_charge(r, text->n / 16))
        return false;
    int64_t n_end = end ? (int64_t)end->n_chars : 3;
    if (length < n_end || leeway < 0)
        return glint_render_fail(r, GLINT_E_ARG, "truncate: length %lld, expected at least %lld",
                                 (long long)length, (long long)n_end);
    if ((int64_t)text->n_chars <= length || (int64_t)text->n_chars - length <= leeway) {
        *out = glint_value_string(text);
        return true;
    }
    size_t cut = glint_string_offset(text, (size_t)(length - n_end));
    size_t space =
        kill ? SIZE_MAX
             : glint_string_find_last(text, (struct glint_view){.data = " ", .n = 1}, cut);
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    glint_sink_put_part(r->sink, text, 0, space == SIZE_MAX ? cut : space);
    if (end)
        glint_sink_put_text(r->sink, end);
    else
        glint_sink_put_literal(r->sink, "...");
    return glint_render_take(r, mark, out);
}

bool glint_filter_center(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    const struct glint_string *text = NULL;
    int64_t width = 80;
    if (!glint_args_int(r, args, "width", &width) || !glint_args_end(r, args) ||
        !glint_render_text(r, in, &text))
        return false;
    int64_t pad = width - (int64_t)text->n_chars;
    int64_t left = pad <= 0 ? 0 : pad / 2 + (pad & width & 1);
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    for (int64_t i = 0; i <= pad && !r->sink->full; i++) {
        if (i == left)
            glint_sink_put_text(r->sink, text);
        if (i < pad)
            glint_sink_put_literal(r->sink, " ");
        if (!glint_render_charge(r, 1))
            return false;
    }
    if (pad < 0)
        glint_sink_put_text(r->sink, text);
    return glint_render_take(r, mark, out);
}

bool glint_filter_tojson(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    struct glint_json_form form = {.pretty = false};
    struct glint_value indent = glint_value_none();
    struct glint_value separators = glint_value_none();
    form.ensure_ascii = glint_args_bool(args, "ensure_ascii", false);
    glint_args_take(args, "indent", &indent, NULL);
    glint_args_take(args, "separators", &separators, NULL);
    form.sort_keys = glint_args_bool(args, "sort_keys", false);
    if (!glint_args_end(r, args))
        return false;
    if (indent.kind == GLINT_VALUE_INT) {
        struct glint_value space;
        if (!glint_value_literal(r->heap, " ", &space) ||
            !glint_render_binary(r, GLINT_OP_MULTIPLY, space, indent, &indent))
            return glint_render_no_memory(r);
    }
    if (indent.kind == GLINT_VALUE_STRING) {
        form.pretty = true;
        form.indent = indent.as.text;
    }
    if (glint_value_is_list(separators)) {
        const struct glint_list *pair = separators.as.list;
        if (pair->n != 2 || pair->items[0].kind != GLINT_VALUE_STRING ||
            pair->items[1].kind != GLINT_VALUE_STRING)
            return glint_render_fail(r, GLINT_E_ARG, "tojson: separators must be two strings");
        form.item_separator = pair->items[0].as.text;
        form.key_separator = pair->items[1].as.text;
    }
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    return glint_render_put_json(r, in, &form) && glint_render_take(r, mark, out);
}

bool glint_filter_join(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    struct glint_value separator = glint_value_none();
    struct glint_value attribute = glint_value_none();
    const struct glint_list *items = NULL;
    glint_args_take(args, "d", &separator, NULL);
    glint_args_take(args, "attribute", &attribute, NULL);
    if (!glint_args_end(r, args) || !glint_render_items(r, in, &items))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    for (size_t i = 0; i < items->n; i++) {
        struct glint_value item = items->items[i];
        if (i != 0 && separator.kind != GLINT_VALUE_NONE && !glint_render_put(r, separator))
            return false;
        if (attribute.kind != GLINT_VALUE_NONE && !glint_render_path(r, item, attribute, &item))
            return false;
        if (!glint_render_put(r, item))
            return false;
    }
    return glint_render_take(r, mark, out);
}
