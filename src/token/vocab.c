// SPDX-License-Identifier: Apache-2.0
// vocab.c — opens, closes and answers questions about a vocabulary; building is vocab_build.c's.
#include "token/vocab.h"

#include "base/alloc.h"
#include "token/vocab_build.h"

static const struct {
    const char *text;
    size_t offset; // into struct glint_dialect
    bool required; // chat is impossible without it
} dialect_texts[] = {
    {"<|begin_of_text|>", offsetof(struct glint_dialect, begin_of_text), true},
    {"<|end_of_text|>", offsetof(struct glint_dialect, end_of_text), true},
    {"<|eom|>", offsetof(struct glint_dialect, eom), true},
    {"<|eot|>", offsetof(struct glint_dialect, eot), true},
    {"<|start|>", offsetof(struct glint_dialect, start), true},
    {"<|message|>", offsetof(struct glint_dialect, message), true},
    {"<|finetune_right_pad|>", offsetof(struct glint_dialect, pad), false},
    {"<|image_start|>", offsetof(struct glint_dialect, image_start), false},
    {"<|image_end|>", offsetof(struct glint_dialect, image_end), false},
    {"<|vid_start|>", offsetof(struct glint_dialect, vid_start), false},
    {"<|vid_end|>", offsetof(struct glint_dialect, vid_end), false},
    {"<|vid_frame_separator|>", offsetof(struct glint_dialect, vid_frame_separator), false},
    {"<|image|>", offsetof(struct glint_dialect, image), false},
    {"<|video|>", offsetof(struct glint_dialect, video), false},
    {"<|patch|>", offsetof(struct glint_dialect, patch), false},
};

enum { N_DIALECT_TEXTS = sizeof dialect_texts / sizeof dialect_texts[0] };

static int32_t *dialect_slot(struct glint_dialect *dialect, int i) {
    return (int32_t *)(void *)((char *)dialect + dialect_texts[i].offset);
}

// Roles that the file does not name are found by text, except those that stop a turn.
static void find_dialect(struct glint_vocab *vocab) {
    for (int i = 0; i < N_DIALECT_TEXTS; i++)
        *dialect_slot(&vocab->dialect, i) =
            glint_vocab_find_special(vocab, glint_view_of(dialect_texts[i].text));
    if (vocab->bos < 0)
        vocab->bos = vocab->dialect.begin_of_text;
    if (vocab->pad < 0)
        vocab->pad = vocab->dialect.pad;
}

enum glint_status glint_vocab_open(struct glint_vocab **vocab,
                                   const struct glint_vocab_source *source,
                                   struct glint_error *err) {
    *vocab = glint_alloc(1, sizeof **vocab);
    if (!*vocab)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for the vocabulary");
    enum glint_status status = glint_vocab_build(*vocab, source, err);
    if (status != GLINT_OK) {
        glint_vocab_close(vocab);
        return status;
    }
    find_dialect(*vocab);
    return GLINT_OK;
}

void glint_vocab_close(struct glint_vocab **vocab) {
    if (!*vocab)
        return;
    glint_token_table_fini(&(*vocab)->ordinary);
    glint_token_table_fini(&(*vocab)->special);
    glint_pair_table_fini(&(*vocab)->pairs);
    glint_free((*vocab)->types);
    glint_free((*vocab)->begins);
    glint_free((*vocab)->bytes);
    glint_free(*vocab);
    *vocab = NULL;
}

int32_t glint_vocab_n_tokens(const struct glint_vocab *vocab) {
    return vocab->n_tokens;
}

bool glint_vocab_is_token(const struct glint_vocab *vocab, int32_t id) {
    return id >= 0 && id < vocab->n_tokens && vocab->types[id] != GLINT_TOKEN_UNUSED;
}

struct glint_view glint_vocab_bytes(const struct glint_vocab *vocab, int32_t id) {
    if (!glint_vocab_is_token(vocab, id))
        return (struct glint_view){"", 0};
    size_t n = vocab->begins[id + 1] - vocab->begins[id];
    return (struct glint_view){vocab->bytes + vocab->begins[id], n};
}

bool glint_vocab_is_special(const struct glint_vocab *vocab, int32_t id) {
    return glint_vocab_is_token(vocab, id) && vocab->types[id] != GLINT_TOKEN_NORMAL;
}

static int32_t find_in(const struct glint_token_table *table, struct glint_view bytes) {
    if (bytes.n == 0)
        return -1;
    struct glint_token_key key = glint_token_key_of(bytes.data, bytes.n, bytes.n);
    return glint_token_table_find(table, &key);
}

int32_t glint_vocab_find_special(const struct glint_vocab *vocab, struct glint_view text) {
    return find_in(&vocab->special, text);
}

int32_t glint_vocab_find(const struct glint_vocab *vocab, struct glint_view bytes) {
    return find_in(&vocab->ordinary, bytes);
}

const struct glint_dialect *glint_vocab_dialect(const struct glint_vocab *vocab) {
    return &vocab->dialect;
}

enum glint_status glint_vocab_require_dialect(const struct glint_vocab *vocab,
                                              struct glint_error *err) {
    struct glint_dialect dialect = vocab->dialect;
    for (int i = 0; i < N_DIALECT_TEXTS; i++)
        if (dialect_texts[i].required && *dialect_slot(&dialect, i) < 0)
            return glint_fail(err, GLINT_E_FORMAT,
                              "tokenizer.ggml.tokens: no special token \"%s\", expected one "
                              "because chat needs it",
                              dialect_texts[i].text);
    return GLINT_OK;
}

int32_t glint_vocab_bos(const struct glint_vocab *vocab) {
    return vocab->bos;
}

int32_t glint_vocab_eos(const struct glint_vocab *vocab) {
    return vocab->eos;
}

int32_t glint_vocab_eot(const struct glint_vocab *vocab) {
    return vocab->eot;
}

int32_t glint_vocab_pad(const struct glint_vocab *vocab) {
    return vocab->pad;
}

bool glint_vocab_add_bos(const struct glint_vocab *vocab) {
    return vocab->add_bos;
}

bool glint_vocab_is_stop(const struct glint_vocab *vocab, int32_t id) {
    return id >= 0 && id != vocab->dialect.eom && (id == vocab->eos || id == vocab->eot);
}
