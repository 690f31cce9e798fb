// SPDX-License-Identifier: Apache-2.0
// char_case.h — upper and lower case and classes of characters, as Python's str methods see them
// (without its rule for a final sigma). Appending functions copy ranges of the caller along.
#ifndef GLINT_PROMPT_CHAR_CASE_H
#define GLINT_PROMPT_CHAR_CASE_H

#include "prompt/sink.h"

struct glint_case_pair { // a mapping, or the two ends of a range
    uint32_t from, to;
};
struct glint_case_string {
    uint32_t from;
    uint32_t to[3]; // zeros at the end are not part of it
};

// case_tables.c, all ascending
extern const struct glint_case_pair glint_case_lower[];
extern const size_t glint_n_case_lower;
extern const struct glint_case_string glint_case_lower_long[];
extern const size_t glint_n_case_lower_long;
extern const struct glint_case_pair glint_case_upper[];
extern const size_t glint_n_case_upper;
extern const struct glint_case_string glint_case_upper_long[];
extern const size_t glint_n_case_upper_long;
extern const struct glint_case_pair glint_char_alpha[];
extern const size_t glint_n_char_alpha;
extern const struct glint_case_pair glint_char_digit[];
extern const size_t glint_n_char_digit;

bool glint_char_is_alpha(uint32_t code);
bool glint_char_is_digit(uint32_t code);
bool glint_char_is_upper(uint32_t code); // changes when lowered
bool glint_char_is_lower(uint32_t code); // changes when raised

enum glint_case { GLINT_CASE_LOWER, GLINT_CASE_UPPER };

// Appends bytes [begin, end) of the text with each character mapped.
void glint_sink_put_case(struct glint_sink *sink, const struct glint_string *text, size_t begin,
                         size_t end, enum glint_case to);

#endif
