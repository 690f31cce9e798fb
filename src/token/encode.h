// SPDX-License-Identifier: Apache-2.0
// encode.h — text to token ids.
// Special tokens are cut out first, but only where every byte of the match is trusted; each run
// between them is split by the rule of split.h and each piece is merged. Untrusted ranges switch
// off special tokens and nothing else: they never split a piece. Ill-formed UTF-8 is replaced by
// U+FFFD first, one per maximal subpart. Time is near-linear in the text, the stack is bounded.
#ifndef GLINT_TOKEN_ENCODE_H
#define GLINT_TOKEN_ENCODE_H

#include "token/vocab.h"

// The caller's growing list of ids, with the working memory of the encoder. All-zero is a valid
// empty one; encoding appends to ids and allocates nowhere else. One thread at a time.
struct glint_encoding {
    int32_t *ids; // [n], owned
    size_t n;
    size_t capacity; // ids
    void *scratch;   // owned: linked list and queue of long pieces
    size_t scratch_bytes;
    struct glint_buffer repaired; // the text after UTF-8 repair, when it needed any
};
void glint_encoding_fini(struct glint_encoding *encoding);
void glint_encoding_clear(struct glint_encoding *encoding); // keeps the memory

struct glint_encode_input {
    struct glint_view text;
    const struct glint_byte_range *untrusted; // ascending, disjoint, inside text; NULL when none
    size_t n_untrusted;
    bool all_untrusted; // as if one range covered the text
    bool add_bos;       // put bos first unless the text starts with it as a trusted special token
};

// Appends the ids of the input. On failure (memory, a range out of order) the list is as before.
enum glint_status glint_encode(const struct glint_vocab *vocab,
                               const struct glint_encode_input *input,
                               struct glint_encoding *encoding, struct glint_error *err);

// Largest offset q <= n such that encoding text[0, q) and text[q, ...) one after the other gives
// the ids of the whole, whatever follows text[n); 0 when there is none. For texts read in blocks.
size_t glint_encode_safe_cut(const char *text, size_t n);

#endif
