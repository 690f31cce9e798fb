// SPDX-License-Identifier: Apache-2.0
// merge.c — merging of short pieces.
// Everything lives in a few cache lines, where looking at all ranks beats any queue.
#include "token/merge.h"

#include <string.h>

enum { SHORT_PIECE = 64 }; // bytes; above it a queue is faster

static void merge_short(const struct glint_vocab *vocab, const unsigned char *piece, size_t n,
                        struct glint_encoding *encoding) {
    int32_t ids[SHORT_PIECE], joined[SHORT_PIECE];
    uint32_t ranks[SHORT_PIECE]; // of the pair that starts here
    size_t n_ids = n;
    for (size_t i = 0; i < n; i++)
        ids[i] = vocab->byte_ids[piece[i]];
    for (size_t i = 0; i + 1 < n; i++) {
        struct glint_join join = vocab->pairs.bytes[piece[i] * 256 + piece[i + 1]];
        ranks[i] = join.rank;
        joined[i] = join.joined;
    }
    while (n_ids > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n_ids; i++)
            best = ranks[i] < ranks[best] ? i : best;
        if (ranks[best] == GLINT_RANK_NONE)
            break;
        ids[best] = joined[best];
        n_ids--;
        for (size_t i = best + 1; i < n_ids; i++) {
            ids[i] = ids[i + 1];
            ranks[i - 1] = ranks[i];
            joined[i - 1] = joined[i];
        }
        if (best > 0) {
            struct glint_join join = glint_pair_table_find(&vocab->pairs, ids[best - 1], ids[best]);
            ranks[best - 1] = join.rank;
            joined[best - 1] = join.joined;
        }
        if (best + 1 < n_ids) {
            struct glint_join join = glint_pair_table_find(&vocab->pairs, ids[best], ids[best + 1]);
            ranks[best] = join.rank;
            joined[best] = join.joined;
        }
    }
    memcpy(encoding->ids + encoding->n, ids, n_ids * sizeof ids[0]);
    encoding->n += n_ids;
}

enum glint_status glint_merge_piece(const struct glint_vocab *vocab, struct glint_view piece,
                                    struct glint_encoding *encoding, struct glint_error *err) {
    if (piece.n > SHORT_PIECE)
        return glint_merge_long(vocab, piece, GLINT_MERGE_WINDOW, encoding, err);
    merge_short(vocab, (const unsigned char *)piece.data, piece.n, encoding);
    return GLINT_OK;
}
