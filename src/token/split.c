// SPDX-License-Identifier: Apache-2.0
// split.c — the scanner behind split.h.
// The regular expression's two word alternatives differ only in what they do when a run of
// upper-case-like characters is not followed by a lower-case-like one, so one look at that run
// answers both. A look that gives characters back leaves only plain upper-case letters behind,
// which the next piece takes whole: no run is read more than a few times.
#include "token/split.h"

#include "token/encode.h"
#include "token/unicode.h"

enum {
    UPPER = GLINT_UNICODE_UPPER,
    LOWER = GLINT_UNICODE_LOWER,
    LETTER = GLINT_UNICODE_LETTER,
    NUMBER = GLINT_UNICODE_NUMBER,
    SPACE = GLINT_UNICODE_SPACE,
    NEWLINE = GLINT_UNICODE_NEWLINE,
};

struct character {
    unsigned flags;
    unsigned n; // bytes, 0 at the end of the text
};

// Code point of a well-formed sequence of 2 to 4 bytes.
static inline uint32_t decode_long(const unsigned char *at, unsigned *n) {
    if (at[0] < 0xe0) {
        *n = 2;
        return (uint32_t)(at[0] & 0x1f) << 6 | (at[1] & 0x3f);
    }
    if (at[0] < 0xf0) {
        *n = 3;
        return (uint32_t)(at[0] & 0x0f) << 12 | (uint32_t)(at[1] & 0x3f) << 6 | (at[2] & 0x3f);
    }
    *n = 4;
    return (uint32_t)(at[0] & 0x07) << 18 | (uint32_t)(at[1] & 0x3f) << 12 |
           (uint32_t)(at[2] & 0x3f) << 6 | (at[3] & 0x3f);
}

static inline struct character character_at(const unsigned char *text, size_t n, size_t at) {
    struct character c = {0, 0};
    if (at >= n)
        return c;
    if (text[at] < 0x80) {
        c.flags = glint_unicode_blocks[0][text[at]];
        c.n = 1;
        return c;
    }
    c.flags = glint_unicode_flags(decode_long(text + at, &c.n));
    return c;
}

// End of the run of characters that have one of `wanted` and are not at the end.
static inline size_t run_with(const unsigned char *text, size_t n, size_t at, unsigned wanted) {
    for (;;) {
        struct character c = character_at(text, n, at);
        if (!(c.flags & wanted))
            return at;
        at += c.n;
    }
}

// End of the run of characters that are no white space, letter or number.
static inline size_t run_other(const unsigned char *text, size_t n, size_t at) {
    for (;;) {
        struct character c = character_at(text, n, at);
        if (c.n == 0 || c.flags & (SPACE | LETTER | NUMBER))
            return at;
        at += c.n;
    }
}

struct word {
    size_t mixed_end; // alternative 1 ends here; 0: it fails
    size_t upper_end; // end of the run of upper-case-like characters: alternative 2
};

static inline struct word look_at_word(const unsigned char *text, size_t n, size_t begin) {
    struct word word = {0, begin};
    struct character c = character_at(text, n, begin);
    while (c.flags & UPPER) {
        word.upper_end += c.n;
        if (c.flags & LOWER)
            word.mixed_end = word.upper_end;
        c = character_at(text, n, word.upper_end);
    }
    if (c.flags & LOWER)
        word.mixed_end = run_with(text, n, word.upper_end + c.n, LOWER);
    return word;
}

static inline unsigned fold(unsigned char c) {
    return c >= 'A' && c <= 'Z' ? c + 32u : c;
}

// End of the contraction that starts at `at`, or `at`. The only character outside ASCII that
// folds into one is U+017F, the long s.
static size_t contraction_end(const unsigned char *text, size_t n, size_t at) {
    if (n - at < 2 || text[at] != '\'')
        return at;
    unsigned a = fold(text[at + 1]);
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return at + 2;
    if (n - at < 3)
        return at;
    if (text[at + 1] == 0xc5 && text[at + 2] == 0xbf)
        return at + 3;
    unsigned b = fold(text[at + 2]);
    if (((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l'))
        return at + 3;
    return at;
}

// End of the word piece at `begin`, or `begin` when there is none.
static inline size_t word_end(const unsigned char *text, size_t n, size_t begin,
                              struct character c) {
    size_t end = begin;
    if (c.flags & LETTER) {
        struct word word = look_at_word(text, n, begin);
        end = word.mixed_end ? word.mixed_end : word.upper_end;
    } else if (!(c.flags & (NUMBER | NEWLINE))) { // c may prefix a word
        struct word word = look_at_word(text, n, begin + c.n);
        if (word.mixed_end)
            end = word.mixed_end;
        else if (c.flags & UPPER) // a combining mark: alternative 1 fits it without a prefix
            end = begin + c.n;
        else if (word.upper_end > begin + c.n)
            end = word.upper_end;
    }
    return end > begin ? contraction_end(text, n, end) : begin;
}

static size_t number_end(const unsigned char *text, size_t n, size_t begin) {
    size_t end = begin;
    for (int i = 0; i < 3; i++) {
        struct character c = character_at(text, n, end);
        if (!(c.flags & NUMBER))
            break;
        end += c.n;
    }
    return end;
}

static size_t space_end(const unsigned char *text, size_t n, size_t begin) {
    size_t end = begin, last_begin = begin, newline_end = 0;
    for (;;) {
        struct character c = character_at(text, n, end);
        if (!(c.flags & SPACE))
            break;
        last_begin = end;
        end += c.n;
        if (c.flags & NEWLINE)
            newline_end = end;
    }
    if (newline_end)
        return newline_end;
    return end < n && last_begin > begin ? last_begin : end;
}

size_t glint_split_next(const char *bytes, size_t n, size_t begin) {
    const unsigned char *text = (const unsigned char *)bytes;
    struct character c = character_at(text, n, begin);
    size_t end = word_end(text, n, begin, c);
    if (end > begin)
        return end;
    if (c.flags & NUMBER)
        return number_end(text, n, begin);
    size_t other_begin = begin + (text[begin] == ' ');
    end = run_other(text, n, other_begin);
    if (end == other_begin)
        return space_end(text, n, begin);
    while (end < n && (text[end] == '\r' || text[end] == '\n' || text[end] == '/'))
        end++;
    return end;
}
