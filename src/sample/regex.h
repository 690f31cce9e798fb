// SPDX-License-Identifier: Apache-2.0
// regex.h — patterns of JSON schemas (ECMA-262 regular expressions) to automata over bytes.
// What is regular is taken: alternatives, groups, classes, \d \w \s, quantifiers, ^ and $. Back
// references, look-around and \b are refused by name. A pattern matches anywhere in the text, as
// JSON Schema has it. \d, \w and \s mean ASCII, and their negations leave out what some engines
// count in, so every text made here matches in all of them.
#ifndef GLINT_SAMPLE_REGEX_H
#define GLINT_SAMPLE_REGEX_H

#include "sample/nfa_set.h"

enum glint_spelling {
    GLINT_SPELL_RAW,  // characters as UTF-8
    GLINT_SPELL_JSON, // as inside a JSON string: quotes, backslashes and controls escaped
};

// GLINT_E_UNSUPPORTED or GLINT_E_FORMAT with what is wrong at which offset.
enum glint_status glint_nfa_open(struct glint_nfa *nfa, struct glint_view pattern,
                                 enum glint_spelling spelling, struct glint_error *err);

#endif
