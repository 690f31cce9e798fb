// SPDX-License-Identifier: Apache-2.0
// unicode.h — what the splitting rule asks of a code point.
// A two-stage table made by tools/make_unicode_tables.py; code points assigned after its version
// count as "none of these".
#ifndef GLINT_TOKEN_UNICODE_H
#define GLINT_TOKEN_UNICODE_H

#include <stdint.h>

enum {
    GLINT_UNICODE_UPPER = 1,    // Lu Lt Lm Lo M*: may stand in the first part of a word
    GLINT_UNICODE_LOWER = 2,    // Ll Lm Lo M*: may stand in the last part of a word
    GLINT_UNICODE_LETTER = 4,   // L*
    GLINT_UNICODE_NUMBER = 8,   // N*
    GLINT_UNICODE_SPACE = 16,   // White_Space
    GLINT_UNICODE_NEWLINE = 32, // CR, LF
};

extern const uint8_t glint_unicode_index[8704];      // block of code >> 7
extern const uint8_t glint_unicode_blocks[223][128]; // [block][code & 127]; block 0 is ASCII

// code <= U+10FFFF
static inline unsigned glint_unicode_flags(uint32_t code) {
    return glint_unicode_blocks[glint_unicode_index[code >> 7]][code & 127];
}

#endif
