// SPDX-License-Identifier: Apache-2.0
// value_print.c — values as text: str(), repr() and json.dumps(), as Python spells them.
// Provenance follows every byte: escapes inside a caller's string are the caller's, the quotes
// around it and the digits of numbers are not.
#include "prompt/render.h"

#include "base/utf8.h"
#include "format/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool sink_ok(struct glint_render *r) {
    return !r->sink->full || glint_render_no_memory(r);
}

static bool put_literal(struct glint_render *r, const char *literal) {
    glint_sink_put_literal(r->sink, literal);
    return sink_ok(r);
}

static bool put_float(struct glint_render *r, double number, bool bare) {
    struct glint_buffer digits = {.data = NULL};
    glint_json_put_double(&digits, number, bare);
    if (!digits.failed)
        glint_sink_put(r->sink, digits.data, digits.n, GLINT_ORIGIN_TEMPLATE);
    bool failed = digits.failed;
    glint_buffer_fini(&digits);
    return failed ? glint_render_no_memory(r) : sink_ok(r);
}

static bool put_int(struct glint_render *r, int64_t integer) {
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, integer);
    return put_literal(r, digits);
}

// A walk over a text that knows where it is among the ranges.
struct escaper {
    const struct glint_string *text;
    size_t i_range;
};

static enum glint_origin origin_at(struct escaper *escaper, size_t at) {
    const struct glint_string *text = escaper->text;
    while (escaper->i_range < text->n_ranges && text->ranges[escaper->i_range].end <= at)
        escaper->i_range++;
    bool inside = escaper->i_range < text->n_ranges && text->ranges[escaper->i_range].begin <= at;
    return inside ? GLINT_ORIGIN_CALLER : GLINT_ORIGIN_TEMPLATE;
}

// Which characters Python's repr shows as escapes, in the ranges where it matters.
static bool is_printable(uint32_t code) {
    if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad)
        return false;
    return !(code == 0x1680 || (code >= 0x2000 && code <= 0x200f) ||
             (code >= 0x2028 && code <= 0x202f) || (code >= 0x205f && code <= 0x206f) ||
             code == 0x3000 || code == 0xfeff || (code >= 0xe000 && code <= 0xf8ff) ||
             (code >= 0xfff0 && code <= 0xfffb) || (code & 0xfffeu) == 0xfffeu || code >= 0xe0000);
}

static void repr_escape(uint32_t code, char quote, char *out, size_t n) {
    if (code == '\n' || code == '\t' || code == '\r')
        snprintf(out, n, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : 'r');
    else if (code == '\\' || code == (uint32_t)(unsigned char)quote)
        snprintf(out, n, "\\%c", (char)code);
    else if (is_printable(code))
        out[0] = 0;
    else
        snprintf(out, n,
                 code < 0x100     ? "\\x%02x"
                 : code < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                 (unsigned)code);
}

static void json_escape(uint32_t code, bool ascii, char *out, size_t n) {
    static const char from[] = "\n\r\t\b\f\"\\";
    static const char to[] = "nrtbf\"\\";
    const char *simple = code != 0 && code < 0x80 ? strchr(from, (int)code) : NULL;
    out[0] = 0;
    if (simple)
        snprintf(out, n, "\\%c", to[simple - from]);
    else if (code < 0x20 || (ascii && code >= 0x7f && code < 0x10000))
        snprintf(out, n, "\\u%04x", (unsigned)code);
    else if (ascii && code >= 0x10000)
        snprintf(out, n, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)),
                 (unsigned)(0xdc00 + ((code - 0x10000) & 0x3ff)));
}

enum escape_form { ESCAPE_JSON, ESCAPE_JSON_ASCII, ESCAPE_REPR };

static bool put_escaped(struct glint_render *r, const struct glint_string *text,
                        enum escape_form form, char quote) {
    struct escaper escaper = {.text = text};
    size_t copied = 0;
    if (!glint_render_charge(r, text->n / 16))
        return false;
    for (size_t at = 0; at < text->n;) {
        struct glint_utf8_step step = glint_utf8_next(text->data + at, text->n - at);
        char escape[24];
        if (form == ESCAPE_REPR)
            repr_escape(step.code, quote, escape, sizeof escape);
        else
            json_escape(step.code, form == ESCAPE_JSON_ASCII, escape, sizeof escape);
        if (escape[0] != 0) {
            glint_sink_put_part(r->sink, text, copied, at);
            glint_sink_put(r->sink, escape, strlen(escape), origin_at(&escaper, at));
            copied = at + step.n;
        }
        at += step.n;
    }
    glint_sink_put_part(r->sink, text, copied, text->n);
    return sink_ok(r);
}

static bool put_repr_string(struct glint_render *r, const struct glint_string *text) {
    bool has_single = text->n != 0 && memchr(text->data, '\'', text->n);
    bool has_double = text->n != 0 && memchr(text->data, '"', text->n);
    char quote = has_single && !has_double ? '"' : '\'';
    const char *mark = quote == '"' ? "\"" : "'";
    return put_literal(r, mark) && put_escaped(r, text, ESCAPE_REPR, quote) && put_literal(r, mark);
}

static bool put_list(struct glint_render *r, struct glint_value value) {
    const struct glint_list *list = value.as.list;
    bool tuple = value.kind == GLINT_VALUE_TUPLE;
    if (!put_literal(r, tuple ? "(" : "["))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        if ((i != 0 && !put_literal(r, ", ")) || !glint_render_repr(r, list->items[i]))
            return false;
    }
    return put_literal(r, tuple ? (list->n == 1 ? ",)" : ")") : "]");
}

static bool put_dict(struct glint_render *r, const struct glint_dict *dict) {
    if (!put_literal(r, "{"))
        return false;
    for (size_t i = 0; i < dict->n; i++) {
        if ((i != 0 && !put_literal(r, ", ")) || !glint_render_repr(r, dict->entries[i].key) ||
            !put_literal(r, ": ") || !glint_render_repr(r, dict->entries[i].value))
            return false;
    }
    return put_literal(r, "}");
}

static bool put_plain(struct glint_render *r, struct glint_value value) {
    switch (value.kind) {
    case GLINT_VALUE_UNDEFINED:
        return true;
    case GLINT_VALUE_NONE:
        return put_literal(r, "None");
    case GLINT_VALUE_BOOL:
        return put_literal(r, value.as.truth ? "True" : "False");
    case GLINT_VALUE_INT:
        return put_int(r, value.as.integer);
    case GLINT_VALUE_FLOAT:
        return put_float(r, value.as.number, true);
    case GLINT_VALUE_BIG_INT:
    case GLINT_VALUE_STRING:
        if (!glint_render_charge(r, value.as.text->n / 64 + value.as.text->n_ranges / 4))
            return false;
        glint_sink_put_text(r->sink, value.as.text);
        return sink_ok(r);
    case GLINT_VALUE_LIST:
    case GLINT_VALUE_TUPLE:
        return put_list(r, value);
    case GLINT_VALUE_DICT:
        return put_dict(r, value.as.dict);
    default:
        return glint_render_fail(r, GLINT_E_ARG, "a %s cannot be printed",
                                 glint_value_kind_name(value));
    }
}

bool glint_render_put(struct glint_render *r, struct glint_value value) {
    if (!glint_render_charge(r, 1) || !glint_render_enter(r))
        return false;
    bool ok = put_plain(r, value);
    glint_render_leave(r);
    return ok;
}

bool glint_render_repr(struct glint_render *r, struct glint_value value) {
    if (value.kind == GLINT_VALUE_STRING)
        return glint_render_charge(r, 1) && put_repr_string(r, value.as.text);
    if (value.kind == GLINT_VALUE_UNDEFINED)
        return put_literal(r, "Undefined");
    return glint_render_put(r, value);
}

bool glint_render_text(struct glint_render *r, struct glint_value value,
                       const struct glint_string **out) {
    if (value.kind == GLINT_VALUE_STRING) {
        *out = value.as.text;
        return true;
    }
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    struct glint_value text;
    if (!glint_render_put(r, value) || !glint_render_take(r, mark, &text))
        return false;
    *out = text.as.text;
    return true;
}

// ---- JSON -----------------------------------------------------------------------------------

static bool json_value(struct glint_render *r, struct glint_value value,
                       const struct glint_json_form *form, unsigned level);

// Before an item (or, at the end, the closing bracket): line break and indent if pretty.
static bool json_line(struct glint_render *r, const struct glint_json_form *form, unsigned level) {
    if (!form->pretty)
        return true;
    glint_sink_put_literal(r->sink, "\n");
    for (unsigned i = 0; i < level; i++)
        glint_sink_put_text(r->sink, form->indent);
    return sink_ok(r);
}

static bool json_separator(struct glint_render *r, const struct glint_string *own,
                           const char *usual) {
    if (!own)
        return put_literal(r, usual);
    glint_sink_put_text(r->sink, own);
    return sink_ok(r);
}

static bool json_string(struct glint_render *r, const struct glint_string *text,
                        const struct glint_json_form *form) {
    enum escape_form escape = form->ensure_ascii ? ESCAPE_JSON_ASCII : ESCAPE_JSON;
    return put_literal(r, "\"") && put_escaped(r, text, escape, 0) && put_literal(r, "\"");
}

static bool json_key(struct glint_render *r, struct glint_value key,
                     const struct glint_json_form *form) {
    if (key.kind == GLINT_VALUE_STRING)
        return json_string(r, key.as.text, form);
    return put_literal(r, "\"") && json_value(r, key, form, 0) && put_literal(r, "\"");
}

static bool json_list(struct glint_render *r, const struct glint_list *list,
                      const struct glint_json_form *form, unsigned level) {
    if (list->n == 0)
        return put_literal(r, "[]");
    if (!put_literal(r, "["))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        if (i != 0 && !json_separator(r, form->item_separator, form->pretty ? "," : ", "))
            return false;
        if (!json_line(r, form, level + 1) || !json_value(r, list->items[i], form, level + 1))
            return false;
    }
    return json_line(r, form, level) && put_literal(r, "]");
}

static int compare_keys(const void *a, const void *b) {
    const struct glint_entry *x = *(const struct glint_entry *const *)a;
    const struct glint_entry *y = *(const struct glint_entry *const *)b;
    return glint_string_compare(x->key.as.text, y->key.as.text);
}

// The entries in the order they are written.
static const struct glint_entry **json_order(struct glint_render *r, const struct glint_dict *dict,
                                             bool sort) {
    const struct glint_entry **order =
        glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, dict->n, sizeof *order);
    bool texts = true;
    for (size_t i = 0; order && i < dict->n; i++) {
        order[i] = &dict->entries[i];
        texts = texts && dict->entries[i].key.kind == GLINT_VALUE_STRING;
    }
    if (!order || !glint_render_charge(r, sort ? 8 * dict->n : 0)) {
        glint_render_no_memory(r);
        return NULL;
    }
    if (sort && !texts) {
        glint_render_fail(r, GLINT_E_ARG, "tojson: keys of several kinds cannot be sorted");
        return NULL;
    }
    if (sort)
        qsort(order, dict->n, sizeof *order, compare_keys);
    return order;
}

static bool json_dict(struct glint_render *r, const struct glint_dict *dict,
                      const struct glint_json_form *form, unsigned level) {
    if (dict->n == 0)
        return put_literal(r, "{}");
    const struct glint_entry **order = json_order(r, dict, form->sort_keys);
    if (!order || !put_literal(r, "{"))
        return false;
    for (size_t i = 0; i < dict->n; i++) {
        if (i != 0 && !json_separator(r, form->item_separator, form->pretty ? "," : ", "))
            return false;
        if (!json_line(r, form, level + 1) || !json_key(r, order[i]->key, form) ||
            !json_separator(r, form->key_separator, ": ") ||
            !json_value(r, order[i]->value, form, level + 1))
            return false;
    }
    return json_line(r, form, level) && put_literal(r, "}");
}

static bool json_refuse(struct glint_render *r, struct glint_value value) {
    if (value.kind == GLINT_VALUE_UNDEFINED && value.as.text)
        return glint_render_fail(r, GLINT_E_ARG, "tojson: '%.*s' is undefined",
                                 (int)value.as.text->n, value.as.text->data);
    return glint_render_fail(r, GLINT_E_ARG, "tojson: %s is not plain data",
                             glint_value_kind_name(value));
}

static bool json_inside(struct glint_render *r, struct glint_value value,
                        const struct glint_json_form *form, unsigned level) {
    switch (value.kind) {
    case GLINT_VALUE_NONE:
        return put_literal(r, "null");
    case GLINT_VALUE_BOOL:
        return put_literal(r, value.as.truth ? "true" : "false");
    case GLINT_VALUE_FLOAT:
        return put_float(r, value.as.number, false);
    case GLINT_VALUE_INT:
    case GLINT_VALUE_BIG_INT:
        return put_plain(r, value);
    case GLINT_VALUE_STRING:
        return json_string(r, value.as.text, form);
    case GLINT_VALUE_LIST:
    case GLINT_VALUE_TUPLE:
        return json_list(r, value.as.list, form, level);
    case GLINT_VALUE_DICT:
        return json_dict(r, value.as.dict, form, level);
    default:
        return json_refuse(r, value);
    }
}

static bool json_value(struct glint_render *r, struct glint_value value,
                       const struct glint_json_form *form, unsigned level) {
    if (!glint_render_charge(r, 1) || !glint_render_enter(r))
        return false;
    bool ok = json_inside(r, value, form, level);
    glint_render_leave(r);
    return ok;
}

bool glint_render_put_json(struct glint_render *r, struct glint_value value,
                           const struct glint_json_form *form) {
    return json_value(r, value, form, 0);
}
