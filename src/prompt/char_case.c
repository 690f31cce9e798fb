// SPDX-License-Identifier: Apache-2.0
// char_case.c — lookups in case_tables.c by bisection; ASCII by arithmetic.
#include "prompt/char_case.h"

#include "base/utf8.h"

// The mapping of code, or 0.
static uint32_t find_pair(const struct glint_case_pair *pairs, size_t n, uint32_t code) {
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (pairs[middle].from == code)
            return pairs[middle].to;
        if (pairs[middle].from < code)
            low = middle + 1;
        else
            n = middle;
    }
    return 0;
}

static bool in_ranges(const struct glint_case_pair *ranges, size_t n, uint32_t code) {
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (code < ranges[middle].from)
            n = middle;
        else if (code > ranges[middle].to)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

bool glint_char_is_alpha(uint32_t code) {
    if (code < 0x80)
        return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
    return in_ranges(glint_char_alpha, glint_n_char_alpha, code);
}

bool glint_char_is_digit(uint32_t code) {
    if (code < 0x80)
        return code >= '0' && code <= '9';
    return in_ranges(glint_char_digit, glint_n_char_digit, code);
}

// Writes the mapping of code to out and returns its length.
static unsigned map_case(uint32_t code, enum glint_case to, uint32_t out[3]) {
    bool lower = to == GLINT_CASE_LOWER;
    out[0] = code;
    if (code < 0x80) {
        if (lower && code >= 'A' && code <= 'Z')
            out[0] = code + 32;
        if (!lower && code >= 'a' && code <= 'z')
            out[0] = code - 32;
        return 1;
    }
    uint32_t found = lower ? find_pair(glint_case_lower, glint_n_case_lower, code)
                           : find_pair(glint_case_upper, glint_n_case_upper, code);
    if (found != 0)
        out[0] = found;
    const struct glint_case_string *longer = lower ? glint_case_lower_long : glint_case_upper_long;
    size_t n = lower ? glint_n_case_lower_long : glint_n_case_upper_long;
    for (size_t i = 0; found == 0 && i < n && longer[i].from <= code; i++) {
        if (longer[i].from != code)
            continue;
        unsigned length = 0;
        while (length < 3 && longer[i].to[length] != 0) {
            out[length] = longer[i].to[length];
            length++;
        }
        return length;
    }
    return 1;
}

bool glint_char_is_upper(uint32_t code) {
    uint32_t out[3];
    return map_case(code, GLINT_CASE_LOWER, out) != 1 || out[0] != code;
}

bool glint_char_is_lower(uint32_t code) {
    uint32_t out[3];
    return map_case(code, GLINT_CASE_UPPER, out) != 1 || out[0] != code;
}

void glint_sink_put_case(struct glint_sink *sink, const struct glint_string *text, size_t begin,
                         size_t end, enum glint_case to) {
    size_t copied = begin;
    size_t i_range = 0;
    for (size_t at = begin; at < end;) {
        struct glint_utf8_step step = glint_utf8_next(text->data + at, end - at);
        uint32_t mapped[3];
        unsigned n = map_case(step.code, to, mapped);
        if (n != 1 || mapped[0] != step.code) {
            while (i_range < text->n_ranges && text->ranges[i_range].end <= at)
                i_range++;
            bool caller = i_range < text->n_ranges && text->ranges[i_range].begin <= at;
            glint_sink_put_part(sink, text, copied, at);
            for (unsigned i = 0; i < n; i++) {
                char bytes[GLINT_UTF8_MAX];
                glint_sink_put(sink, bytes, glint_utf8_put(mapped[i], bytes),
                               caller ? GLINT_ORIGIN_CALLER : GLINT_ORIGIN_TEMPLATE);
            }
            copied = at + step.n;
        }
        at += step.n;
    }
    glint_sink_put_part(sink, text, copied, end);
}
