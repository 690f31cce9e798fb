// SPDX-License-Identifier: Apache-2.0
// text.c — the public face of the tokenizer: text to ids, ids to text.
#include "engine/engine.h"

#include "base/alloc.h"
#include "stream/stop_match.h"
#include "token/decode.h"
#include "token/encode.h"

enum glint_status glint_tokenize(const struct glint_engine *engine, const struct glint_text *text,
                                 struct glint_ids *ids, struct glint_error *err) {
    *ids = (struct glint_ids){0};
    struct glint_encoding encoding = {0};
    struct glint_encode_input input = {
        .text = {text->data, text->n},
        .untrusted = text->untrusted,
        .n_untrusted = text->n_untrusted,
        .all_untrusted = !text->special,
        .add_bos = text->add_bos && glint_vocab_add_bos(engine->vocab),
    };
    enum glint_status status = glint_encode(engine->vocab, &input, &encoding, err);
    if (status == GLINT_OK) {
        *ids = (struct glint_ids){encoding.ids, encoding.n};
        encoding.ids = NULL; // handed over
    }
    glint_encoding_fini(&encoding);
    return status;
}

size_t glint_tokenize_cut(const char *data, size_t n) {
    return glint_encode_safe_cut(data, n);
}

void glint_ids_free(struct glint_ids *ids) {
    glint_free(ids->data);
    *ids = (struct glint_ids){0};
}

bool glint_is_stop(const struct glint_engine *engine, int32_t id) {
    return glint_vocab_is_stop(engine->vocab, id);
}

const char *glint_token_bytes(const struct glint_engine *engine, int32_t id, size_t *n) {
    struct glint_view bytes = glint_vocab_bytes(engine->vocab, id);
    if (n)
        *n = bytes.n;
    return bytes.data;
}

bool glint_is_special(const struct glint_engine *engine, int32_t id) {
    return glint_vocab_is_special(engine->vocab, id);
}

int32_t glint_special_id(const struct glint_engine *engine, const char *text) {
    return glint_vocab_find_special(engine->vocab, glint_view_of(text));
}

struct glint_detokenizer {
    const struct glint_engine *engine;
    struct glint_decoder decoder;
    struct glint_stop_match stops;
    bool done;
    struct glint_buffer text; // decoded, before the stop strings are looked for
    struct glint_buffer out;
};

enum glint_status glint_detokenizer_open(struct glint_detokenizer **detokenizer,
                                         const struct glint_engine *engine,
                                         struct glint_error *err) {
    *detokenizer = glint_alloc(1, sizeof **detokenizer);
    if (!*detokenizer)
        return glint_fail(err, GLINT_E_NOMEM, "detokenizer: no memory");
    (*detokenizer)->engine = engine;
    return GLINT_OK;
}

void glint_detokenizer_close(struct glint_detokenizer **detokenizer) {
    if (*detokenizer) {
        glint_stop_match_fini(&(*detokenizer)->stops);
        glint_buffer_fini(&(*detokenizer)->text);
        glint_buffer_fini(&(*detokenizer)->out);
    }
    glint_free(*detokenizer);
    *detokenizer = NULL;
}

enum glint_status glint_detokenizer_set_stops(struct glint_detokenizer *detokenizer,
                                              const char *const *stops, size_t n_stops,
                                              struct glint_error *err) {
    struct glint_view *views = glint_alloc(n_stops, sizeof *views);
    if (!views)
        return glint_fail(err, GLINT_E_NOMEM, "detokenizer: no memory");
    for (size_t i = 0; i < n_stops; i++)
        views[i] = glint_view_of(stops[i]);
    glint_stop_match_fini(&detokenizer->stops);
    enum glint_status status = glint_stop_match_init(&detokenizer->stops, views, n_stops, err);
    glint_free(views);
    return status;
}

bool glint_detokenizer_is_done(const struct glint_detokenizer *detokenizer) {
    return detokenizer->done;
}

const char *glint_detokenizer_stop(const struct glint_detokenizer *detokenizer) {
    return detokenizer->done ? detokenizer->stops.held.data : "";
}

// What has been decoded goes past the stop strings into out.
static void look_for_stops(struct glint_detokenizer *d) {
    size_t n_used;
    if (!d->done)
        d->done = glint_stop_match_put(&d->stops, (struct glint_view){d->text.data, d->text.n},
                                       &n_used, &d->out);
    d->out.failed = d->out.failed || d->text.failed;
    glint_buffer_clear(&d->text);
}

static const char *emitted(struct glint_detokenizer *detokenizer, size_t *n) {
    if (detokenizer->out.failed)
        return NULL;
    *n = detokenizer->out.n;
    return detokenizer->out.data ? detokenizer->out.data : "";
}

const char *glint_detokenizer_push(struct glint_detokenizer *detokenizer, int32_t id, size_t *n) {
    glint_buffer_clear(&detokenizer->out);
    glint_decoder_push(&detokenizer->decoder, detokenizer->engine->vocab, id, &detokenizer->text);
    look_for_stops(detokenizer);
    return emitted(detokenizer, n);
}

const char *glint_detokenizer_flush(struct glint_detokenizer *detokenizer, size_t *n) {
    glint_buffer_clear(&detokenizer->out);
    glint_decoder_flush(&detokenizer->decoder, &detokenizer->text);
    look_for_stops(detokenizer);
    if (!detokenizer->done)
        glint_stop_match_flush(&detokenizer->stops, &detokenizer->out);
    return emitted(detokenizer, n);
}
