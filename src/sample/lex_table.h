// SPDX-License-Identifier: Apache-2.0
// lex_table.h — the tokens of a subtree, seen from inside one lexeme.
// For a state of an automaton and a node of the token tree: which tokens below stay inside the
// lexeme, how many characters they need, and what the others say behind its end.
#ifndef GLINT_SAMPLE_LEX_TABLE_H
#define GLINT_SAMPLE_LEX_TABLE_H

#include "sample/byte_dfa.h"
#include "token/token_trie.h"

enum { GLINT_TABLE_STEPS = 16 }; // of `upto`

// Tails of tokens, merged: like struct glint_token_trie, its root the end of the lexeme.
struct glint_tail_trie {
    struct glint_trie_node *nodes; // [n + 1]
    uint32_t n;
    int32_t *ids;
    uint16_t *counts; // characters of each id before the end of the lexeme
};

struct glint_lex_table {
    uint32_t state, node; // the key
    uint32_t *inside;     // bit set of the tokens that stay inside
    // The rest only where characters are counted.
    int32_t *ids; // the same tokens, by the characters they need
    uint32_t n_ids;
    uint32_t *need_begins; // [max_need + 2] into ids: those that need as many
    uint32_t max_need;
    // With a limit on characters: bit sets of those that need up to 0, 1, ...; NULL when `ids` is
    // short enough.
    uint32_t *upto[GLINT_TABLE_STEPS];
    struct glint_tail_trie tails;
};

struct glint_lex_tables {           // all-zero is a valid empty one
    struct glint_lex_table **slots; // hash table
    size_t n, n_slots;
};
void glint_lex_tables_fini(struct glint_lex_tables *tables);

struct glint_lex_query {
    const struct glint_dfa *dfa;
    const struct glint_token_trie *trie;
    size_t n_words; // of a bit set
    uint32_t state, node;
    bool counted; // characters are
};
// The table, made when it is not there; NULL when out of memory.
const struct glint_lex_table *glint_lex_tables_get(struct glint_lex_tables *tables,
                                                   const struct glint_lex_query *query);

#endif
