// SPDX-License-Identifier: Apache-2.0
// text_dfa.h — automata for texts: the inside of a JSON string, raw text, text of a pattern.
// The inside of a JSON string begins behind the opening quote and takes the closing one. Raw text
// ends where it likes. Both are well-formed UTF-8.
#ifndef GLINT_SAMPLE_TEXT_DFA_H
#define GLINT_SAMPLE_TEXT_DFA_H

#include "sample/byte_dfa.h"
#include "sample/nfa_set.h"
#include "sample/regex.h"

// What ends a parameter of a tool call; no text inside one may contain it.
extern const char glint_closer_text[];

struct glint_text_rule {
    enum glint_spelling spelling;
    bool without_closer;        // never contains glint_closer_text
    struct glint_nfa *patterns; // [n_patterns] all of them match
    unsigned n_patterns;        // at most 2
    uint32_t least, most;       // characters; most UINT32_MAX: no limit
};

// Any bytes at all.
uint32_t glint_dfa_any(struct glint_dfa *dfa);
// Any text, without patterns and limits; BOUNDARY states tell characters apart.
uint32_t glint_dfa_text(struct glint_dfa *dfa, enum glint_spelling spelling, bool without_closer);
// The text of a rule, limits included.
enum glint_machine_fit glint_dfa_pattern(struct glint_dfa *dfa, const struct glint_text_rule *rule,
                                         uint32_t *start);
// A JSON string that is none of the words [n] and has no escapes, behind the opening quote. Sorts
// the words.
enum glint_machine_fit glint_dfa_other_word(struct glint_dfa *dfa, struct glint_view *words,
                                            size_t n, uint32_t *start);

#endif
