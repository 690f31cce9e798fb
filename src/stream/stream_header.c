// SPDX-License-Identifier: Apache-2.0
// stream_header.c — headers are at most a few hundred bytes, so each is read anew from its start
// whenever a byte has come.
#include "stream/stream_header.h"

#include <string.h>

enum { MAX_RECIPIENT = 128, MAX_ROLE_TEXT = 200, MAX_HEADER = 1024 };

bool glint_header_is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_recipient(char c) {
    return !glint_header_is_space(c) && c != '<';
}

// Bytes of `word` that text[at...] repeats before one of them ends or they differ.
static size_t common(struct glint_view text, size_t at, const char *word) {
    size_t n = 0;
    while (word[n] && at + n < text.n && text.data[at + n] == word[n])
        n++;
    return n;
}

// Blanks, then perhaps "to=" and a recipient, then blanks.
static struct glint_header read_recipient(struct glint_view text, size_t at) {
    struct glint_header header = {.fit = GLINT_HEADER_WHOLE};
    while (at < text.n && is_blank(text.data[at]))
        at++;
    if (at == text.n)
        return header;
    size_t n = common(text, at, "to=");
    at += n;
    header.fit = at == text.n ? GLINT_HEADER_PREFIX : GLINT_HEADER_BAD;
    if (n != 3 || at == text.n)
        return header;
    size_t begin = at;
    while (at < text.n && is_recipient(text.data[at]))
        at++;
    struct glint_view recipient = {.data = text.data + begin, .n = at - begin};
    while (at < text.n && is_blank(text.data[at]))
        at++;
    if (at == text.n && recipient.n != 0 && recipient.n <= MAX_RECIPIENT) {
        header.fit = GLINT_HEADER_WHOLE;
        header.recipient = recipient;
    }
    return header;
}

static struct glint_header read_role(struct glint_view text) {
    static const char *const roles[] = {"system", "user", "developer", "tool"};
    struct glint_header header = {.fit = GLINT_HEADER_BAD};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        size_t n = common(text, 0, roles[i]);
        if (roles[i][n] != 0) {
            if (n == text.n)
                header.fit = GLINT_HEADER_PREFIX;
            continue;
        }
        bool ends = n == text.n || (is_blank(text.data[n]) && text.n <= MAX_ROLE_TEXT &&
                                    !memchr(text.data, '\n', text.n));
        if (ends)
            return (struct glint_header){.fit = GLINT_HEADER_WHOLE, .other_role = true};
    }
    return header;
}

struct glint_header glint_header_read(struct glint_view text, bool first) {
    static const char assistant[] = "assistant";
    struct glint_header header = {.fit = GLINT_HEADER_BAD};
    if (text.n > MAX_HEADER)
        return header;
    header = read_recipient(text, 0);
    if (first || header.fit == GLINT_HEADER_WHOLE)
        return header;
    size_t n = common(text, 0, assistant);
    struct glint_header other = {.fit = GLINT_HEADER_BAD};
    if (n == sizeof assistant - 1)
        other = read_recipient(text, n);
    else if (n == text.n)
        other.fit = GLINT_HEADER_PREFIX;
    if (other.fit > header.fit)
        header = other;
    other = read_role(text);
    return other.fit > header.fit ? other : header;
}

struct glint_view glint_header_tail(struct glint_view text, size_t *n) {
    struct glint_view none = {.data = "", .n = 0};
    size_t end = text.n;
    while (end != 0 && is_blank(text.data[end - 1]))
        end--;
    size_t begin = end;
    while (begin != 0 && end - begin <= MAX_RECIPIENT + 3 && is_recipient(text.data[begin - 1]))
        begin--;
    struct glint_view word = {.data = text.data + begin, .n = end - begin};
    bool at_border = begin == 0 || (glint_header_is_space(text.data[begin - 1]) &&
                                    text.data[begin - 1] != '\v' && text.data[begin - 1] != '\f');
    if (!at_border || word.n <= 3 || word.n > MAX_RECIPIENT + 3 || memcmp(word.data, "to=", 3) != 0)
        return none;
    *n = text.n - begin + (begin != 0);
    return (struct glint_view){.data = word.data + 3, .n = word.n - 3};
}
