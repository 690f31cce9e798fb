// SPDX-License-Identifier: Apache-2.0
// char_set.c — see char_set.h.
#include "sample/char_set.h"

#include "base/utf8.h"

#include <string.h>

enum { LAST_CODE = 0x10ffff };

bool glint_char_set_add(struct glint_char_set *set, uint32_t low, uint32_t high) {
    if (set->n == GLINT_CHAR_SET_MAX)
        return false;
    unsigned at = set->n++;
    for (; at > 0 && set->ranges[at - 1].low > low; at--)
        set->ranges[at] = set->ranges[at - 1];
    set->ranges[at] = (struct glint_char_range){low, high};
    return true;
}

void glint_char_set_close(struct glint_char_set *set) {
    unsigned n = 0;
    for (unsigned i = 0; i < set->n; i++) {
        struct glint_char_range *last = n ? &set->ranges[n - 1] : NULL;
        if (last && set->ranges[i].low <= last->high + 1)
            last->high = set->ranges[i].high > last->high ? set->ranges[i].high : last->high;
        else
            set->ranges[n++] = set->ranges[i];
    }
    set->n = n;
    if (!set->negated)
        return;
    struct glint_char_set rest = {.n = 0};
    uint32_t low = 0;
    for (unsigned i = 0; i < set->n; i++) {
        if (set->ranges[i].low > low)
            glint_char_set_add(&rest, low, set->ranges[i].low - 1);
        low = set->ranges[i].high + 1;
    }
    if (low <= LAST_CODE && rest.n < GLINT_CHAR_SET_MAX)
        glint_char_set_add(&rest, low, LAST_CODE);
    *set = rest;
}

static const struct glint_char_range digits[] = {{'0', '9'}};
static const struct glint_char_range not_digits[] = {{0, '0' - 1}, {'9' + 1, 0x7f}};
static const struct glint_char_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct glint_char_range not_words[] = {
    {0, '0' - 1}, {'9' + 1, 'A' - 1}, {'Z' + 1, '_' - 1}, {'_' + 1, 'a' - 1}, {'z' + 1, 0x7f}};
static const struct glint_char_range spaces[] = {{'\t', '\r'}, {' ', ' '}};
static const struct glint_char_range not_spaces[] = {
    {0x21, 0x7f},     {0xa1, 0x167f},   {0x1681, 0x180d}, {0x180f, 0x1fff}, {0x2010, 0x2027},
    {0x202a, 0x202e}, {0x2030, 0x205e}, {0x2060, 0x2fff}, {0x3001, 0xfefe}, {0xff00, LAST_CODE}};

static const struct {
    char name;
    const struct glint_char_range *ranges;
    unsigned n;
} classes[] = {
    {'d', digits, 1},    {'D', not_digits, 2}, {'w', words, 4},
    {'W', not_words, 5}, {'s', spaces, 2},     {'S', not_spaces, 10},
};

// In a negated set \d stands for everything that is not surely outside it, so that what is left
// is surely outside. \D there would need the reverse.
static bool add_class(struct glint_char_set *set, char name) {
    struct glint_char_set class = {.negated = set->negated};
    bool upper = name >= 'A' && name <= 'Z';
    if (set->negated && upper)
        return false;
    char wanted = set->negated ? (char)(name - 'a' + 'A') : name;
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++)
        for (unsigned j = 0; classes[i].name == wanted && j < classes[i].n; j++)
            glint_char_set_add(&class, classes[i].ranges[j].low, classes[i].ranges[j].high);
    glint_char_set_close(&class);
    bool ok = true;
    for (unsigned i = 0; i < class.n; i++)
        ok = ok && glint_char_set_add(set, class.ranges[i].low, class.ranges[i].high);
    return ok;
}

static bool read_hex(struct glint_view text, size_t at, unsigned n, uint32_t *code) {
    *code = 0;
    for (unsigned i = 0; i < n; i++) {
        char c = at + i < text.n ? text.data[at + i] : 0;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return false;
        *code = *code << 4 | digit;
    }
    return true;
}

static enum glint_status refuse(struct glint_error *err, enum glint_status status, char c,
                                size_t at) {
    return glint_fail(err, status, "\\%c at offset %zu of the pattern", c, at);
}

// \uXXXX, \u{X...} and pairs of surrogates; *at is behind the u.
static enum glint_status read_unicode(struct glint_view text, size_t *at, uint32_t *code,
                                      struct glint_error *err) {
    size_t begin = *at - 2;
    if (*at < text.n && text.data[*at] == '{') {
        size_t end = *at + 1;
        while (end < text.n && end - *at < 8 && text.data[end] != '}')
            end++;
        if (end >= text.n || text.data[end] != '}' || end == *at + 1 ||
            !read_hex(text, *at + 1, (unsigned)(end - *at - 1), code) || *code > LAST_CODE)
            return refuse(err, GLINT_E_FORMAT, 'u', begin);
        *at = end + 1;
        return GLINT_OK;
    }
    if (!read_hex(text, *at, 4, code))
        return refuse(err, GLINT_E_FORMAT, 'u', begin);
    *at += 4;
    if (*code >= 0xd800 && *code <= 0xdfff) {
        uint32_t low;
        bool pair = *code < 0xdc00 && *at + 1 < text.n && text.data[*at] == '\\' &&
                    text.data[*at + 1] == 'u' && read_hex(text, *at + 2, 4, &low) &&
                    low >= 0xdc00 && low <= 0xdfff;
        if (!pair)
            return refuse(err, GLINT_E_UNSUPPORTED, 'u', begin);
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    }
    return GLINT_OK;
}

static enum glint_status read_escape(struct glint_char_set *set, struct glint_view text, size_t *at,
                                     uint32_t *code, struct glint_error *err) {
    static const char names[] = "tnrfv0", codes[] = "\t\n\r\f\v";
    size_t begin = *at;
    if (begin + 1 >= text.n)
        return glint_fail(err, GLINT_E_FORMAT, "a lone backslash ends the pattern");
    char c = text.data[begin + 1];
    *at += 2;
    if (c && strchr("dDwWsS", c)) {
        *code = GLINT_CHAR_CLASS;
        return add_class(set, c) ? GLINT_OK : refuse(err, GLINT_E_UNSUPPORTED, c, begin);
    }
    const char *name = c ? strchr(names, c) : NULL;
    if (c == 'u')
        return read_unicode(text, at, code, err);
    if (c == 'x') {
        if (!read_hex(text, *at, 2, code))
            return refuse(err, GLINT_E_FORMAT, c, begin);
        *at += 2;
        return GLINT_OK;
    }
    if (name) {
        *code = (uint8_t)codes[name - names];
        return GLINT_OK;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return refuse(err, GLINT_E_UNSUPPORTED, c, begin);
    *at = begin + 1; // the character itself
    struct glint_utf8_step step = glint_utf8_next(text.data + *at, text.n - *at);
    *code = step.code;
    *at += step.n;
    return GLINT_OK;
}

enum glint_status glint_char_set_read(struct glint_char_set *set, struct glint_view text,
                                      size_t *at, uint32_t *code, struct glint_error *err) {
    if (text.data[*at] == '\\')
        return read_escape(set, text, at, code, err);
    struct glint_utf8_step step = glint_utf8_next(text.data + *at, text.n - *at);
    *code = step.code;
    *at += step.n;
    return GLINT_OK;
}
