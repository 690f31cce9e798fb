// SPDX-License-Identifier: Apache-2.0
// token_trie.h — the ordinary tokens of a vocabulary as one tree of bytes.
// Nodes lie in the order of a walk that goes down first, so that a walk is a pass over an array,
// and leaving a subtree out is one assignment: i = nodes[i].end.
#ifndef GLINT_TOKEN_TOKEN_TRIE_H
#define GLINT_TOKEN_TOKEN_TRIE_H

#include "token/vocab.h"

struct glint_trie_node {
    uint32_t end;      // first node after this one's subtree
    uint32_t first_id; // ids of the tokens that end here: ids[first_id .. next node's first_id)
    uint16_t depth;    // bytes from the root: 1 for its children
    uint8_t byte;
};

struct glint_token_trie {
    struct glint_trie_node *nodes; // [n + 1] nodes[0] is the root, nodes[n] ends the ids
    uint32_t n;
    int32_t *ids;
};

// Holes and special tokens are left out.
enum glint_status glint_token_trie_init(struct glint_token_trie *trie,
                                        const struct glint_vocab *vocab, struct glint_error *err);
void glint_token_trie_fini(struct glint_token_trie *trie); // all-zero is a valid empty one

#endif
