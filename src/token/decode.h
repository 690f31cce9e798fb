// SPDX-License-Identifier: Apache-2.0
// decode.h — token ids to text, as a stream.
// Never emits part of a character: an unfinished but so far well-formed sequence (at most three
// bytes) waits for the next token. Each maximal ill-formed subpart becomes one U+FFFD as soon as
// it is known to be ill-formed. The concatenation of what is emitted does not depend on how the
// ids were grouped.
#ifndef GLINT_TOKEN_DECODE_H
#define GLINT_TOKEN_DECODE_H

#include "token/vocab.h"

// All-zero is the start state; may be copied.
struct glint_decoder {
    char tail[4];    // bytes of an unfinished character
    unsigned n_tail; // 0..3
};

// Appends what the token completes. A special token contributes no text and flushes the tail; an
// id that is no token contributes nothing. Running out of memory marks `out` failed.
void glint_decoder_push(struct glint_decoder *decoder, const struct glint_vocab *vocab, int32_t id,
                        struct glint_buffer *out);
void glint_decoder_push_bytes(struct glint_decoder *decoder, struct glint_view bytes,
                              struct glint_buffer *out);
// End of the stream or of a channel: a pending tail becomes one U+FFFD.
void glint_decoder_flush(struct glint_decoder *decoder, struct glint_buffer *out);

#endif
