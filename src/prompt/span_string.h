// SPDX-License-Identifier: Apache-2.0
// span_string.h — strings that remember which of their bytes came from the caller.
// A text is immutable UTF-8. Its ranges name the caller's bytes: ascending, disjoint, inside the
// text, possibly touching. All else was written by the template. Positions are code points, as in
// the language; sizes are bytes. Functions that return a text give NULL when the heap is full.
#ifndef GLINT_PROMPT_SPAN_STRING_H
#define GLINT_PROMPT_SPAN_STRING_H

#include "base/buffer.h"
#include "base/status.h"
#include "prompt/heap.h"

#include <stdint.h>

struct glint_string {
    const char *data; // [n], not terminated
    size_t n;
    const struct glint_byte_range *ranges; // [n_ranges]
    size_t n_ranges;
    size_t n_chars; // code points
};

// Where bytes come from.
enum glint_origin { GLINT_ORIGIN_TEMPLATE, GLINT_ORIGIN_CALLER };

// Copies.
const struct glint_string *glint_string_make(struct glint_heap *heap, struct glint_view bytes,
                                             enum glint_origin origin);
// Borrows: bytes must outlive the heap.
const struct glint_string *glint_string_borrow(struct glint_heap *heap, struct glint_view bytes,
                                               enum glint_origin origin);
const struct glint_string *glint_string_join(struct glint_heap *heap, const struct glint_string *a,
                                             const struct glint_string *b);
// Bytes [begin, end) of a text, which must lie on character borders. Shares the bytes.
const struct glint_string *glint_string_cut(struct glint_heap *heap,
                                            const struct glint_string *text, size_t begin,
                                            size_t end);
// Byte offset of code point i (0 <= i <= n_chars).
size_t glint_string_offset(const struct glint_string *text, size_t i);
// Code points before byte offset `offset`.
size_t glint_string_chars_before(const struct glint_string *text, size_t offset);

struct glint_view glint_string_view(const struct glint_string *text);
bool glint_string_equal(const struct glint_string *a, const struct glint_string *b);
bool glint_string_is(const struct glint_string *text, const char *literal);
int glint_string_compare(const struct glint_string *a,
                         const struct glint_string *b); // by code point
// Byte offset of the first occurrence at or after `from`; SIZE_MAX when there is none.
size_t glint_string_find(const struct glint_string *text, struct glint_view needle, size_t from);
size_t glint_string_find_last(const struct glint_string *text, struct glint_view needle,
                              size_t before);
// Number of code points in valid UTF-8.
size_t glint_count_chars(const char *data, size_t n);

// White space as Python's str.isspace sees it.
bool glint_is_space(uint32_t code);
// Bytes of white space at the start (at the end) of a byte string.
size_t glint_leading_space(struct glint_view view);
size_t glint_trailing_space(struct glint_view view);

#endif
