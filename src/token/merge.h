// SPDX-License-Identifier: Apache-2.0
// merge.h — byte-pair merging of one piece.
// Takes the pair of the lowest rank again and again, the leftmost on a tie, until no two
// neighbours join. Short pieces work in a small array; long ones in a linked list with a queue
// of pairs, so that a megabyte without a break costs O(n log n).
#ifndef GLINT_TOKEN_MERGE_H
#define GLINT_TOKEN_MERGE_H

#include "token/encode.h"
#include "token/vocab_state.h"

// Appends the ids of the piece (n >= 1 bytes), which is not a token as a whole. `encoding` has
// room for n more ids; its scratch grows for long pieces.
enum glint_status glint_merge_piece(const struct glint_vocab *vocab, const char *piece, size_t n,
                                    struct glint_encoding *encoding, struct glint_error *err);

#endif
