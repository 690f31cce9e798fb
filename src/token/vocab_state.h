// SPDX-License-Identifier: Apache-2.0
// vocab_state.h — the inside of struct glint_vocab, for the files of token/ only.
#ifndef GLINT_TOKEN_VOCAB_STATE_H
#define GLINT_TOKEN_VOCAB_STATE_H

#include "token/pair_table.h"
#include "token/token_table.h"
#include "token/vocab.h"

// Longest token in bytes; the released vocabulary's longest has 113. Bounds the time that ranking
// pairs by the token list takes.
enum { GLINT_VOCAB_MAX_TOKEN_BYTES = 256 };

struct glint_vocab {
    int32_t n_tokens;
    uint8_t *types;   // [n_tokens] enum glint_token_type
    uint32_t *begins; // [n_tokens + 1] offsets into bytes
    char *bytes;      // raw bytes of ordinary tokens, literal text of special ones
    struct glint_token_table ordinary, special;
    struct glint_pair_table pairs;
    int32_t byte_ids[256];
    size_t max_special_bytes; // of the longest special token
    struct glint_dialect dialect;
    int32_t bos, eos, eot, pad;
    bool add_bos;
};

#endif
