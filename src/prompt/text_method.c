// SPDX-License-Identifier: Apache-2.0
// text_method.c — methods of strings, as Python defines them.
#include "prompt/text_method.h"

#include "prompt/char_case.h"
#include "prompt/template_names.h"

#include "base/utf8.h"

#include <string.h>

enum { MAX_PIECES = 1 << 20 };

// A list that grows while a string is taken apart.
struct pieces {
    struct glint_value *items;
    size_t n, capacity;
};

static bool add_piece(struct glint_render *r, struct pieces *pieces,
                      const struct glint_string *text, size_t begin, size_t end) {
    if (pieces->n == MAX_PIECES)
        return glint_render_fail(r, GLINT_E_LIMIT, "a string split into more than %d pieces",
                                 MAX_PIECES);
    if (pieces->n == pieces->capacity) {
        size_t capacity = pieces->capacity ? 2 * pieces->capacity : 8;
        struct glint_value *items =
            glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, capacity, sizeof *items);
        if (!items)
            return glint_render_no_memory(r);
        if (pieces->n != 0)
            memcpy(items, pieces->items, pieces->n * sizeof *items);
        pieces->items = items;
        pieces->capacity = capacity;
    }
    return glint_render_charge(r, 1) &&
           glint_render_string(r, glint_string_cut(r->heap, text, begin, end),
                               &pieces->items[pieces->n++]);
}

static bool finish_pieces(struct glint_render *r, const struct pieces *pieces, bool reverse,
                          struct glint_value *out) {
    struct glint_list *list = glint_list_make(r->heap, pieces->n);
    if (!list)
        return glint_render_no_memory(r);
    for (size_t i = 0; i < pieces->n; i++)
        list->items[reverse ? pieces->n - 1 - i : i] = pieces->items[i];
    *out = glint_list_value(list);
    return true;
}

struct split {
    const struct glint_string *text;
    const struct glint_string *separator; // NULL: runs of white space
    int64_t limit;                        // cuts, negative: no limit
};

static bool take_split(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct split *split) {
    struct glint_value separator = glint_value_none();
    *split = (struct split){.text = in.as.text, .limit = -1};
    glint_args_take(args, "sep", &separator, NULL);
    if (!glint_args_int(r, args, "maxsplit", &split->limit) || !glint_args_end(r, args) ||
        !glint_render_charge(r, in.as.text->n / 32))
        return false;
    if (separator.kind == GLINT_VALUE_NONE)
        return true;
    if (separator.kind != GLINT_VALUE_STRING || separator.as.text->n == 0)
        return glint_render_fail(r, GLINT_E_ARG, "split: the separator must be a non-empty string");
    split->separator = separator.as.text;
    return true;
}

static size_t skip_space(const struct glint_string *text, size_t at) {
    struct glint_view rest = {.data = text->data + at, .n = text->n - at};
    return at + glint_leading_space(rest);
}

// The end of the run of characters that are not white space.
static size_t word_end(const struct glint_string *text, size_t at) {
    while (at < text->n) {
        struct glint_utf8_step step = glint_utf8_next(text->data + at, text->n - at);
        if (glint_is_space(step.code))
            break;
        at += step.n;
    }
    return at;
}

static bool split_space(struct glint_render *r, const struct split *split, struct pieces *pieces) {
    const struct glint_string *text = split->text;
    size_t at = skip_space(text, 0);
    while (at < text->n) {
        size_t end = word_end(text, at);
        if (split->limit >= 0 && (int64_t)pieces->n == split->limit)
            return add_piece(r, pieces, text, at, text->n);
        if (!add_piece(r, pieces, text, at, end))
            return false;
        at = skip_space(text, end);
    }
    return true;
}

bool glint_string_split(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    struct split split;
    struct pieces pieces = {.items = NULL};
    if (!take_split(r, in, args, &split))
        return false;
    if (!split.separator)
        return split_space(r, &split, &pieces) && finish_pieces(r, &pieces, false, out);
    size_t from = 0;
    while (split.limit < 0 || (int64_t)pieces.n < split.limit) {
        size_t at = glint_string_find(split.text, glint_string_view(split.separator), from);
        if (at == SIZE_MAX)
            break;
        if (!add_piece(r, &pieces, split.text, from, at))
            return false;
        from = at + split.separator->n;
    }
    return add_piece(r, &pieces, split.text, from, split.text->n) &&
           finish_pieces(r, &pieces, false, out);
}

static bool rsplit_space(struct glint_render *r, const struct split *split, struct pieces *pieces) {
    const struct glint_string *text = split->text;
    size_t end = text->n;
    for (;;) {
        struct glint_view rest = {.data = text->data, .n = end};
        end -= glint_trailing_space(rest);
        if (end == 0)
            return true;
        size_t begin = end;
        if (split->limit >= 0 && (int64_t)pieces->n == split->limit)
            return add_piece(r, pieces, text, 0, end);
        while (begin > 0) {
            size_t start = begin - 1;
            while (start > 0 && ((unsigned char)text->data[start] & 0xc0u) == 0x80u)
                start--;
            if (glint_is_space(glint_utf8_next(text->data + start, begin - start).code))
                break;
            begin = start;
        }
        if (!add_piece(r, pieces, text, begin, end))
            return false;
        end = begin;
    }
}

bool glint_string_rsplit(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    struct split split;
    struct pieces pieces = {.items = NULL};
    if (!take_split(r, in, args, &split))
        return false;
    if (!split.separator)
        return rsplit_space(r, &split, &pieces) && finish_pieces(r, &pieces, true, out);
    size_t end = split.text->n;
    while (split.limit < 0 || (int64_t)pieces.n < split.limit) {
        size_t at = glint_string_find_last(split.text, glint_string_view(split.separator), end);
        if (at == SIZE_MAX)
            break;
        if (!add_piece(r, &pieces, split.text, at + split.separator->n, end))
            return false;
        end = at;
    }
    return add_piece(r, &pieces, split.text, 0, end) && finish_pieces(r, &pieces, true, out);
}

// Length of the line break at text[at], 0 when there is none.
static size_t line_break(const struct glint_string *text, size_t at) {
    struct glint_utf8_step step = glint_utf8_next(text->data + at, text->n - at);
    uint32_t c = step.code;
    if (c == '\r' && at + 1 < text->n && text->data[at + 1] == '\n')
        return 2;
    bool is_break = (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 ||
                    c == 0x2028 || c == 0x2029;
    return is_break ? step.n : 0;
}

bool glint_string_splitlines(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out) {
    struct pieces pieces = {.items = NULL};
    const struct glint_string *text = in.as.text;
    bool keep = glint_args_bool(args, "keepends", false);
    size_t begin = 0;
    if (!glint_args_end(r, args) || !glint_render_charge(r, text->n / 16))
        return false;
    for (size_t at = 0; at < text->n;) {
        size_t n = line_break(text, at);
        if (n != 0) {
            if (!add_piece(r, &pieces, text, begin, keep ? at + n : at))
                return false;
            begin = at + n;
        }
        at += n != 0 ? n : glint_utf8_next(text->data + at, text->n - at).n;
    }
    return (begin == text->n || add_piece(r, &pieces, text, begin, text->n)) &&
           finish_pieces(r, &pieces, false, out);
}

static bool partition(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      bool last, struct glint_value *out) {
    struct pieces pieces = {.items = NULL};
    const struct glint_string *text = in.as.text;
    const struct glint_string *separator = NULL;
    if (!glint_args_text(r, args, "sep", &separator) || !glint_args_end(r, args) ||
        !glint_render_charge(r, text->n / 32))
        return false;
    if (!separator || separator->n == 0)
        return glint_render_fail(r, GLINT_E_ARG, "partition: expected a non-empty separator");
    size_t at = last ? glint_string_find_last(text, glint_string_view(separator), text->n)
                     : glint_string_find(text, glint_string_view(separator), 0);
    size_t begin = at != SIZE_MAX ? at : last ? 0 : text->n;
    size_t end = at != SIZE_MAX ? at + separator->n : begin;
    if (!add_piece(r, &pieces, text, 0, begin) || !add_piece(r, &pieces, text, begin, end) ||
        !add_piece(r, &pieces, text, end, text->n) || !finish_pieces(r, &pieces, false, out))
        return false;
    out->kind = GLINT_VALUE_TUPLE;
    return true;
}

bool glint_string_partition(struct glint_render *r, struct glint_value in, struct glint_args *args,
                            struct glint_value *out) {
    return partition(r, in, args, false, out);
}

bool glint_string_rpartition(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out) {
    return partition(r, in, args, true, out);
}

static bool strip(struct glint_render *r, struct glint_value in, struct glint_args *args,
                  enum glint_side side, struct glint_value *out) {
    struct glint_value chars = glint_value_none();
    glint_args_take(args, "chars", &chars, NULL);
    if (!glint_args_end(r, args))
        return false;
    if (chars.kind != GLINT_VALUE_NONE && chars.kind != GLINT_VALUE_STRING)
        return glint_render_fail(r, GLINT_E_ARG, "%s: expected a string, found %s", args->callee,
                                 glint_value_kind_name(chars));
    return glint_strip(r, in.as.text, chars.kind == GLINT_VALUE_STRING ? chars.as.text : NULL, side,
                       out);
}

bool glint_string_strip(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    return strip(r, in, args, GLINT_SIDE_BOTH, out);
}

bool glint_string_lstrip(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    return strip(r, in, args, GLINT_SIDE_LEFT, out);
}

bool glint_string_rstrip(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    return strip(r, in, args, GLINT_SIDE_RIGHT, out);
}

static bool has_affix(const struct glint_string *text, const struct glint_string *affix,
                      bool suffix) {
    size_t at = suffix ? text->n - affix->n : 0;
    return affix->n <= text->n &&
           (affix->n == 0 || memcmp(text->data + at, affix->data, affix->n) == 0);
}

// The affix may be a string or a tuple of strings.
static bool affix(struct glint_render *r, struct glint_value in, struct glint_args *args,
                  bool suffix, struct glint_value *out) {
    struct glint_value wanted = glint_value_undefined(NULL);
    bool found = false;
    glint_args_take(args, "prefix", &wanted, NULL);
    if (!glint_args_end(r, args))
        return false;
    if (wanted.kind == GLINT_VALUE_STRING) {
        found = has_affix(in.as.text, wanted.as.text, suffix);
    } else if (wanted.kind == GLINT_VALUE_TUPLE) {
        for (size_t i = 0; i < wanted.as.list->n && !found; i++) {
            struct glint_value item = wanted.as.list->items[i];
            found = item.kind == GLINT_VALUE_STRING && has_affix(in.as.text, item.as.text, suffix);
        }
    } else {
        return glint_render_fail(r, GLINT_E_ARG, "%s: expected a string, found %s", args->callee,
                                 glint_value_kind_name(wanted));
    }
    *out = glint_value_bool(found);
    return true;
}

bool glint_string_startswith(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out) {
    return affix(r, in, args, false, out);
}

bool glint_string_endswith(struct glint_render *r, struct glint_value in, struct glint_args *args,
                           struct glint_value *out) {
    return affix(r, in, args, true, out);
}

static bool remove_affix(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         bool suffix, struct glint_value *out) {
    const struct glint_string *text = in.as.text;
    const struct glint_string *wanted = NULL;
    if (!glint_args_text(r, args, "prefix", &wanted) || !glint_args_end(r, args))
        return false;
    if (!wanted)
        return glint_render_fail(r, GLINT_E_ARG, "%s: expected a string", args->callee);
    bool found = has_affix(text, wanted, suffix);
    size_t begin = found && !suffix ? wanted->n : 0;
    size_t end = found && suffix ? text->n - wanted->n : text->n;
    return glint_render_string(r, glint_string_cut(r->heap, text, begin, end), out);
}

bool glint_string_removeprefix(struct glint_render *r, struct glint_value in,
                               struct glint_args *args, struct glint_value *out) {
    return remove_affix(r, in, args, false, out);
}

bool glint_string_removesuffix(struct glint_render *r, struct glint_value in,
                               struct glint_args *args, struct glint_value *out) {
    return remove_affix(r, in, args, true, out);
}

// Character index of the needle, or -1.
static bool locate(struct glint_render *r, struct glint_value in, struct glint_args *args,
                   bool last, int64_t *index) {
    const struct glint_string *needle = NULL;
    const struct glint_string *text = in.as.text;
    if (!glint_args_text(r, args, "sub", &needle))
        return false;
    if (!needle)
        return glint_render_fail(r, GLINT_E_ARG, "%s: expected a string", args->callee);
    struct glint_value bounds[3] = {glint_value_none(), glint_value_none(), glint_value_none()};
    glint_args_take(args, "start", &bounds[0], NULL);
    glint_args_take(args, "end", &bounds[1], NULL);
    struct glint_value part;
    if (!glint_args_end(r, args) || !glint_render_charge(r, text->n / 32) ||
        !glint_render_slice(r, in, bounds, &part))
        return false;
    size_t at =
        last ? glint_string_find_last(part.as.text, glint_string_view(needle), part.as.text->n)
             : glint_string_find(part.as.text, glint_string_view(needle), 0);
    *index = -1;
    if (at == SIZE_MAX)
        return true;
    size_t skipped = glint_string_chars_before(text, (size_t)(part.as.text->data - text->data));
    *index = (int64_t)(skipped + glint_string_chars_before(part.as.text, at));
    return true;
}

bool glint_string_method_find(struct glint_render *r, struct glint_value in,
                              struct glint_args *args, struct glint_value *out) {
    int64_t index = 0;
    bool ok = locate(r, in, args, false, &index);
    *out = glint_value_int(index);
    return ok;
}

bool glint_string_method_rfind(struct glint_render *r, struct glint_value in,
                               struct glint_args *args, struct glint_value *out) {
    int64_t index = 0;
    bool ok = locate(r, in, args, true, &index);
    *out = glint_value_int(index);
    return ok;
}

bool glint_string_index(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    int64_t index = 0;
    if (!locate(r, in, args, false, &index))
        return false;
    *out = glint_value_int(index);
    return index >= 0 || glint_render_fail(r, GLINT_E_ARG, "index: substring not found");
}

bool glint_string_count(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    const struct glint_string *needle = NULL;
    const struct glint_string *text = in.as.text;
    int64_t count = 0;
    if (!glint_args_text(r, args, "sub", &needle) || !glint_args_end(r, args) ||
        !glint_render_charge(r, text->n / 16))
        return false;
    if (!needle)
        return glint_render_fail(r, GLINT_E_ARG, "count: expected a string");
    size_t at = 0;
    while (needle->n != 0 &&
           (at = glint_string_find(text, glint_string_view(needle), at)) != SIZE_MAX) {
        at += needle->n;
        count++;
    }
    *out = glint_value_int(needle->n == 0 ? (int64_t)text->n_chars + 1 : count);
    return true;
}

bool glint_string_replace(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    return glint_filter_replace(r, in, args, out);
}

bool glint_string_method_join(struct glint_render *r, struct glint_value in,
                              struct glint_args *args, struct glint_value *out) {
    struct glint_value iterable = glint_value_none();
    const struct glint_list *items = NULL;
    glint_args_take(args, "iterable", &iterable, NULL);
    if (!glint_args_end(r, args) || !glint_render_items(r, iterable, &items))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    for (size_t i = 0; i < items->n; i++) {
        if (items->items[i].kind != GLINT_VALUE_STRING)
            return glint_render_fail(r, GLINT_E_ARG, "join: item %zu is %s, expected a string", i,
                                     glint_value_kind_name(items->items[i]));
        if ((i != 0 && !glint_render_put(r, in)) || !glint_render_put(r, items->items[i]))
            return false;
    }
    return glint_render_take(r, mark, out);
}

// Each run of letters: the first in upper case, the rest in lower case.
bool glint_string_title(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    const struct glint_string *text = in.as.text;
    if (!glint_args_end(r, args) || !glint_render_charge(r, text->n / 8))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    bool inside = false;
    for (size_t at = 0; at < text->n;) {
        struct glint_utf8_step step = glint_utf8_next(text->data + at, text->n - at);
        bool cased = glint_char_is_lower(step.code) || glint_char_is_upper(step.code);
        glint_sink_put_case(r->sink, text, at, at + step.n,
                            inside ? GLINT_CASE_LOWER : GLINT_CASE_UPPER);
        inside = cased;
        at += step.n;
    }
    return glint_render_take(r, mark, out);
}

// Whether the string is not empty and `accept` holds for all its characters.
static bool all_chars(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      bool (*accept)(uint32_t code), struct glint_value *out) {
    const struct glint_string *text = in.as.text;
    bool all = text->n != 0;
    if (!glint_args_end(r, args) || !glint_render_charge(r, text->n / 16))
        return false;
    for (size_t at = 0; at < text->n && all;) {
        struct glint_utf8_step step = glint_utf8_next(text->data + at, text->n - at);
        all = accept(step.code);
        at += step.n;
    }
    *out = glint_value_bool(all);
    return true;
}

static bool is_alnum(uint32_t code) {
    return glint_char_is_alpha(code) || glint_char_is_digit(code);
}

bool glint_string_isalpha(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    return all_chars(r, in, args, glint_char_is_alpha, out);
}

bool glint_string_isdigit(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    return all_chars(r, in, args, glint_char_is_digit, out);
}

bool glint_string_isalnum(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    return all_chars(r, in, args, is_alnum, out);
}

bool glint_string_isspace(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    return all_chars(r, in, args, glint_is_space, out);
}

static bool run_test(struct glint_render *r, const char *test, struct glint_value in,
                     struct glint_args *args, struct glint_value *out) {
    bool holds = false;
    if (!glint_test_apply(r, glint_test_find(glint_view_of(test)), in, args, &holds))
        return false;
    *out = glint_value_bool(holds);
    return true;
}

bool glint_string_islower(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    return run_test(r, "lower", in, args, out);
}

bool glint_string_isupper(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    return run_test(r, "upper", in, args, out);
}

// Pads to `width` characters.
static bool pad(struct glint_render *r, struct glint_value in, struct glint_args *args, bool left,
                struct glint_value *out) {
    int64_t width = 0;
    const struct glint_string *fill = NULL;
    const struct glint_string *text = in.as.text;
    if (!glint_args_int(r, args, "width", &width) || !glint_args_text(r, args, "fill", &fill) ||
        !glint_args_end(r, args))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    if (!left)
        glint_sink_put_text(r->sink, text);
    for (int64_t i = (int64_t)text->n_chars; i < width && !r->sink->full; i++) {
        if (!glint_render_charge(r, 1))
            return false;
        if (fill)
            glint_sink_put_text(r->sink, fill);
        else
            glint_sink_put_literal(r->sink, " ");
    }
    if (left)
        glint_sink_put_text(r->sink, text);
    return glint_render_take(r, mark, out);
}

bool glint_string_ljust(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    return pad(r, in, args, false, out);
}

bool glint_string_rjust(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    return pad(r, in, args, true, out);
}

bool glint_string_zfill(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    int64_t width = 0;
    const struct glint_string *text = in.as.text;
    if (!glint_args_int(r, args, "width", &width) || !glint_args_end(r, args))
        return false;
    size_t sign = text->n != 0 && (text->data[0] == '-' || text->data[0] == '+');
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    glint_sink_put_part(r->sink, text, 0, sign);
    for (int64_t i = (int64_t)text->n_chars; i < width && !r->sink->full; i++) {
        if (!glint_render_charge(r, 1))
            return false;
        glint_sink_put_literal(r->sink, "0");
    }
    glint_sink_put_part(r->sink, text, sign, text->n);
    return glint_render_take(r, mark, out);
}
