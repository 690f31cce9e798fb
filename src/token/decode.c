// SPDX-License-Identifier: Apache-2.0
// decode.c — the streaming decoder of decode.h.
#include "token/decode.h"

#include "base/utf8.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";

// Feeds one byte to a pending sequence; afterwards the tail is empty or still unfinished.
static void complete_tail(struct glint_decoder *decoder, char byte, struct glint_buffer *out) {
    decoder->tail[decoder->n_tail++] = byte;
    while (decoder->n_tail > 0) {
        struct glint_utf8_step step = glint_utf8_next(decoder->tail, decoder->n_tail);
        if (step.more)
            return;
        if (step.valid)
            glint_buffer_append(out, decoder->tail, step.n);
        else
            glint_buffer_append(out, replacement, 3);
        decoder->n_tail -= step.n;
        memmove(decoder->tail, decoder->tail + step.n, decoder->n_tail);
    }
}

void glint_decoder_push_bytes(struct glint_decoder *decoder, struct glint_view bytes,
                              struct glint_buffer *out) {
    size_t at = 0;
    while (decoder->n_tail > 0 && at < bytes.n)
        complete_tail(decoder, bytes.data[at++], out);
    size_t done = at; // well-formed stretches go over in one piece
    while (at < bytes.n) {
        struct glint_utf8_step step = glint_utf8_next(bytes.data + at, bytes.n - at);
        if (step.valid) {
            at += step.n;
            continue;
        }
        glint_buffer_append(out, bytes.data + done, at - done);
        if (step.more) {
            decoder->n_tail = (unsigned)(bytes.n - at);
            memcpy(decoder->tail, bytes.data + at, decoder->n_tail);
            return;
        }
        glint_buffer_append(out, replacement, 3);
        at += step.n;
        done = at;
    }
    glint_buffer_append(out, bytes.data + done, at - done);
}

void glint_decoder_push(struct glint_decoder *decoder, const struct glint_vocab *vocab, int32_t id,
                        struct glint_buffer *out) {
    if (glint_vocab_is_special(vocab, id))
        glint_decoder_flush(decoder, out);
    else
        glint_decoder_push_bytes(decoder, glint_vocab_bytes(vocab, id), out);
}

void glint_decoder_flush(struct glint_decoder *decoder, struct glint_buffer *out) {
    if (decoder->n_tail > 0)
        glint_buffer_append(out, replacement, 3);
    decoder->n_tail = 0;
}
