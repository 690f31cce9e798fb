// SPDX-License-Identifier: Apache-2.0
// convert_vocab.h — the tokenizer.* keys: from tokenizer.json and the chat template beside it,
// or, when a folder has no tokenizer, a vocabulary made up for it.
//
// The made-up vocabulary lets test models run: ids 0..255 are the single bytes in byte order,
// the special tokens of the dialect sit at the ids that config.json names or at the first free
// ones from 256 on, every other id from 256 on is <|reserved_special_token_N|>, N = id - 256.
// There are no merges.
#ifndef GLINT_APPS_CONVERT_VOCAB_H
#define GLINT_APPS_CONVERT_VOCAB_H

#include "format/gguf_write.h"

struct glint_convert_ids {
    uint32_t n_tokens;                   // rows of the embedding
    int64_t bos, eos, pad, image, video; // -1: not told
};

struct glint_convert_vocab;

// On failure *vocab is NULL.
enum glint_status glint_convert_vocab_open(struct glint_convert_vocab **vocab, const char *folder,
                                           const struct glint_convert_ids *ids,
                                           struct glint_error *err);
void glint_convert_vocab_close(struct glint_convert_vocab **vocab);
void glint_convert_vocab_put(const struct glint_convert_vocab *vocab,
                             struct glint_gguf_writer *writer);

#endif
