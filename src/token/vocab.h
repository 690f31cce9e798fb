// SPDX-License-Identifier: Apache-2.0
// vocab.h — the vocabulary: ids to bytes, bytes to ids, the table of merges.
// Built from a GGUF file's metadata or from plain arrays, read-only afterwards and shared by all
// threads. Ordinary tokens are kept as raw bytes (the file spells them in the GPT-2 byte
// alphabet); special tokens as their literal text. Special tokens are found by text, never by a
// fixed id. Invariant: each of the 256 single bytes is an ordinary token, so encoding never fails
// for lack of a token.
#ifndef GLINT_TOKEN_VOCAB_H
#define GLINT_TOKEN_VOCAB_H

#include "base/buffer.h"
#include "base/status.h"

struct glint_vocab;
struct glint_gguf;

// Values of tokenizer.ggml.token_type.
enum glint_token_type {
    GLINT_TOKEN_NORMAL = 1,
    GLINT_TOKEN_UNKNOWN = 2, // treated as special
    GLINT_TOKEN_CONTROL = 3, // special
    GLINT_TOKEN_USER = 4,    // special: never recognised in text that is not trusted
    GLINT_TOKEN_UNUSED = 5,  // a hole: no text, never produced
};

enum { GLINT_VOCAB_MAX_TOKENS = 1 << 24 };

// Borrowed during open only.
struct glint_vocab_source {
    const char *name;                // file name for error texts, NULL: "vocabulary"
    const struct glint_view *tokens; // [n_tokens] spelled as in tokenizer.ggml.tokens
    const int32_t *types;            // [n_tokens] enum glint_token_type
    int64_t n_tokens;
    const struct glint_view *merges; // [n_merges] "LEFT RIGHT"; see n_merges
    int64_t n_merges;                // 0: pairs are ranked by the id of what they join to
    int32_t bos, eos, eot, pad;      // -1: the file names none
    bool add_bos;                    // raw text starts with bos
};

// Ids of the dialect's special tokens, -1 where the vocabulary has no such text.
struct glint_dialect {
    int32_t begin_of_text, end_of_text, eom, eot, start, message, pad;
    int32_t image_start, image_end, vid_start, vid_end, vid_frame_separator;
    int32_t image, video, patch;
};

// On failure *vocab is NULL and err names the file, the field, what was found and expected.
enum glint_status glint_vocab_open(struct glint_vocab **vocab,
                                   const struct glint_vocab_source *source,
                                   struct glint_error *err);
// From tokenizer.ggml.* of an open file; GLINT_E_NOTFOUND when it has no tokenizer at all.
// Nothing of the file is kept.
enum glint_status glint_vocab_open_gguf(struct glint_vocab **vocab, const struct glint_gguf *gguf,
                                        struct glint_error *err);
void glint_vocab_close(struct glint_vocab **vocab);

int32_t glint_vocab_n_tokens(const struct glint_vocab *vocab);
// Raw bytes of an ordinary token, literal text of a special one, empty for a hole or an id
// outside the vocabulary. Valid as long as the vocabulary.
struct glint_view glint_vocab_bytes(const struct glint_vocab *vocab, int32_t id);
bool glint_vocab_is_special(const struct glint_vocab *vocab, int32_t id);
// True for ids a model may produce: inside the vocabulary and not a hole.
bool glint_vocab_is_token(const struct glint_vocab *vocab, int32_t id);
// Id of the special token with this literal text, or -1.
int32_t glint_vocab_find_special(const struct glint_vocab *vocab, struct glint_view text);
// Id of the ordinary token with these raw bytes, or -1.
int32_t glint_vocab_find(const struct glint_vocab *vocab, struct glint_view bytes);
const struct glint_dialect *glint_vocab_dialect(const struct glint_vocab *vocab);
// GLINT_E_FORMAT naming the first text missing of those that chat cannot do without.
enum glint_status glint_vocab_require_dialect(const struct glint_vocab *vocab,
                                              struct glint_error *err);

// Ids as the file gives them, -1 when it does not; bos and pad are then looked up by text.
int32_t glint_vocab_bos(const struct glint_vocab *vocab);
int32_t glint_vocab_eos(const struct glint_vocab *vocab);
int32_t glint_vocab_eot(const struct glint_vocab *vocab);
int32_t glint_vocab_pad(const struct glint_vocab *vocab);
bool glint_vocab_add_bos(const struct glint_vocab *vocab);
// Members of {eos, eot}. Never the end-of-message token, whatever the file says: stopping there
// ends every turn after its reasoning.
bool glint_vocab_is_stop(const struct glint_vocab *vocab, int32_t id);

#endif
