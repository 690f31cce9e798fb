// SPDX-License-Identifier: Apache-2.0
// token_mask.h — which tokens of a vocabulary may follow a place in a grammar.
// Two ways lead to a mask. Where few bytes may come, the tree of tokens is walked with the
// grammar. Where almost any may (inside a string), the answer depends on the lexeme alone, so it
// is worked out once: the tokens that stay inside as a bit set, and those that leave it as a
// small tree of what they say behind the end, which is walked with the grammar as it stands.
#ifndef GLINT_SAMPLE_TOKEN_MASK_H
#define GLINT_SAMPLE_TOKEN_MASK_H

#include "sample/lex_table.h"
#include "sample/matcher.h"

// What masks need of a vocabulary; shared by all constraints, used by one thread at a time.
struct glint_mask_space {
    const struct glint_vocab *vocab;
    struct glint_token_trie trie;
    int32_t n_tokens;               // bits of a mask
    size_t n_words;                 // 32-bit words of a mask, an even number
    struct glint_lex_tables tables; // of the lexemes that all grammars share
};
// n_tokens: bits of a mask, at least the vocabulary's.
enum glint_status glint_mask_space_open(struct glint_mask_space **space,
                                        const struct glint_vocab *vocab, int32_t n_tokens,
                                        struct glint_error *err);
void glint_mask_space_close(struct glint_mask_space **space);

// Scratch of one constraint.
struct glint_mask_walk {
    struct glint_mask_space *space;
    struct glint_lex_tables tables; // of its own grammar's lexemes
    size_t *set_begins;             // [2][max_depth + 2]
    uint32_t (*bytes)[8];           // [2][max_depth + 2] bytes that may follow a set
    size_t max_depth;
};
enum glint_status glint_mask_walk_init(struct glint_mask_walk *walk, struct glint_mask_space *space,
                                       struct glint_error *err);
void glint_mask_walk_fini(struct glint_mask_walk *walk);

// Bit sets [n_words] of the tokens that may follow the set [begin, end) of places, which also
// serves as scratch. GLINT_E_NOMEM.
enum glint_status glint_mask_fill(struct glint_mask_walk *walk, struct glint_matcher *matcher,
                                  struct glint_places *places, size_t begin, uint32_t *mask);

#endif
