// SPDX-License-Identifier: Apache-2.0
// safe_cut.c — where a text may be cut so that both parts can be encoded on their own.
// After a letter or a number, before white space or a character outside ASCII that is no letter,
// mark or number: no piece holds such a pair, the scanner treats it like the end of the text, and
// no special token holds the second character.
#include "base/utf8.h"
#include "token/encode.h"
#include "token/unicode.h"

static bool may_follow(const char *text, size_t n) {
    struct glint_utf8_step step = glint_utf8_next(text, n);
    if (!step.valid)
        return false;
    unsigned flags = glint_unicode_flags(step.code);
    if (step.n == 1)
        return flags & GLINT_UNICODE_SPACE;
    return !(flags & (GLINT_UNICODE_UPPER | GLINT_UNICODE_LOWER | GLINT_UNICODE_NUMBER));
}

// The character that ends at text[end) is a letter or a number.
static bool may_precede(const char *text, size_t end) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < GLINT_UTF8_MAX && ((unsigned char)text[begin] & 0xc0) == 0x80)
        begin--;
    struct glint_utf8_step step = glint_utf8_next(text + begin, end - begin);
    return step.valid && step.n == end - begin &&
           glint_unicode_flags(step.code) & (GLINT_UNICODE_LETTER | GLINT_UNICODE_NUMBER);
}

size_t glint_encode_safe_cut(const char *text, size_t n) {
    for (size_t at = n; at-- > 1;)
        if (may_follow(text + at, n - at) && may_precede(text, at))
            return at;
    return 0;
}
