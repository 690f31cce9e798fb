// SPDX-License-Identifier: Apache-2.0
// merge.h — byte-pair merging of one piece.
// Takes the pair of the lowest rank again and again, the leftmost on a tie, until no two
// neighbours join. Short pieces work in a small array (merge.c); long ones in windows with a
// queue of pairs (merge_long.c), so that a megabyte without a break costs the same per byte as a
// few hundred.
#ifndef GLINT_TOKEN_MERGE_H
#define GLINT_TOKEN_MERGE_H

#include "token/encode.h"
#include "token/vocab_state.h"

enum { GLINT_MERGE_WINDOW = 2048 }; // bytes; its working memory stays in the nearest caches

// Appends the ids of the piece (n >= 1 bytes), which is not a token as a whole. `encoding` has
// room for n more ids; its scratch grows for long pieces. On failure its n is as before.
enum glint_status glint_merge_piece(const struct glint_vocab *vocab, struct glint_view piece,
                                    struct glint_encoding *encoding, struct glint_error *err);
// The way of long pieces, for any n and any window >= 1.
enum glint_status glint_merge_long(const struct glint_vocab *vocab, struct glint_view piece,
                                   size_t window, struct glint_encoding *encoding,
                                   struct glint_error *err);

#endif
