// SPDX-License-Identifier: Apache-2.0
// utf8.h — decoding and repairing UTF-8 (Unicode 15, table 3-7; maximal subparts, section 3.9).
#ifndef GLINT_BASE_UTF8_H
#define GLINT_BASE_UTF8_H

#include "base/buffer.h"

#include <stdint.h>

enum { GLINT_UTF8_MAX = 4 }; // bytes of the longest sequence

// Result of looking at the first character of a byte string.
struct glint_utf8_step {
    uint32_t code; // the code point, or U+FFFD when ill-formed
    unsigned n;    // bytes it takes (the maximal ill-formed subpart when !valid); 0 at the end
    bool valid;
    bool more; // the bytes end inside a sequence that more bytes could complete
};
struct glint_utf8_step glint_utf8_next(const char *data, size_t n);
// Writes 1..4 bytes of a scalar value to out, returns how many.
unsigned glint_utf8_put(uint32_t code, char out[GLINT_UTF8_MAX]);
bool glint_utf8_is_valid(const char *data, size_t n);
// n less the bytes of a character cut off at the end, so that a cut text stays well-formed.
size_t glint_utf8_trim(const char *data, size_t n);
// Copies a zero-terminated text to out [size >= 1], cut between characters where it is too long.
void glint_utf8_copy(char *out, size_t size, const char *text);
// Appends data with each maximal ill-formed subpart replaced by U+FFFD.
void glint_utf8_repair(struct glint_buffer *out, const char *data, size_t n);

#endif
