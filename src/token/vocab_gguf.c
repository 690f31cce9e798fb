// SPDX-License-Identifier: Apache-2.0
// vocab_gguf.c — the vocabulary in a GGUF file's metadata (tokenizer.ggml.*).
#include "base/alloc.h"
#include "format/gguf.h"
#include "token/vocab.h"

static enum glint_status expect_text(const struct glint_gguf *gguf, const char *key,
                                     const char *expected, struct glint_error *err) {
    struct glint_view value;
    GLINT_TRY(glint_gguf_get_string(gguf, key, &value, err));
    if (glint_view_is(value, expected))
        return GLINT_OK;
    return glint_fail(err, GLINT_E_UNSUPPORTED, "%s: %s: found \"%.*s\", expected \"%s\"",
                      gguf->path, key, (int)(value.n < 64 ? value.n : 64), value.data, expected);
}

static enum glint_status read_id(const struct glint_gguf *gguf, const char *key, int32_t *id,
                                 struct glint_error *err) {
    uint32_t value = UINT32_MAX;
    *id = -1;
    GLINT_TRY(glint_gguf_opt_u32(gguf, key, &value, err));
    if (value > INT32_MAX && glint_gguf_find(gguf, key))
        return glint_fail(err, GLINT_E_FORMAT, "%s: %s: found %u, expected a token id", gguf->path,
                          key, value);
    if (value <= INT32_MAX)
        *id = (int32_t)value;
    return GLINT_OK;
}

// Views of a string array; *views is the caller's to free.
static enum glint_status read_strings(const struct glint_gguf *gguf, const char *key,
                                      struct glint_view **views, int64_t *n,
                                      struct glint_error *err) {
    const struct glint_gguf_kv *kv;
    GLINT_TRY(glint_gguf_get_array(gguf, key, GLINT_GGUF_STRINGS, &kv, err));
    *views = glint_alloc(kv->n, sizeof **views);
    if (!*views)
        return glint_fail(err, GLINT_E_NOMEM, "%s: %s: no memory for %llu strings", gguf->path, key,
                          (unsigned long long)kv->n);
    for (uint64_t i = 0; i < kv->n; i++)
        glint_gguf_item_string(kv, i, &(*views)[i]);
    *n = (int64_t)kv->n;
    return GLINT_OK;
}

static enum glint_status read_types(const struct glint_gguf *gguf, int64_t n_tokens,
                                    int32_t **types, struct glint_error *err) {
    const char *key = "tokenizer.ggml.token_type";
    const struct glint_gguf_kv *kv;
    GLINT_TRY(glint_gguf_get_array(gguf, key, GLINT_GGUF_INTS, &kv, err));
    if (kv->n != (uint64_t)n_tokens)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: %s: found %llu items, expected one for each of "
                          "%lld tokens",
                          gguf->path, key, (unsigned long long)kv->n, (long long)n_tokens);
    *types = glint_alloc(kv->n, sizeof **types);
    if (!*types)
        return glint_fail(err, GLINT_E_NOMEM, "%s: %s: no memory", gguf->path, key);
    for (uint64_t i = 0; i < kv->n; i++) {
        int64_t type = 0;
        glint_gguf_item_i64(kv, i, &type);
        (*types)[i] = type >= 0 && type <= INT32_MAX ? (int32_t)type : -1;
    }
    return GLINT_OK;
}

// What the source borrows and we own.
struct arrays {
    struct glint_view *tokens, *merges;
    int32_t *types;
};

static enum glint_status read_source(const struct glint_gguf *gguf, struct arrays *arrays,
                                     struct glint_vocab_source *source, struct glint_error *err) {
    GLINT_TRY(expect_text(gguf, "tokenizer.ggml.model", "gpt2", err));
    GLINT_TRY(expect_text(gguf, "tokenizer.ggml.pre", "llama4", err));
    GLINT_TRY(read_strings(gguf, "tokenizer.ggml.tokens", &arrays->tokens, &source->n_tokens, err));
    GLINT_TRY(read_types(gguf, source->n_tokens, &arrays->types, err));
    if (glint_gguf_find(gguf, "tokenizer.ggml.merges"))
        GLINT_TRY(
            read_strings(gguf, "tokenizer.ggml.merges", &arrays->merges, &source->n_merges, err));
    GLINT_TRY(read_id(gguf, "tokenizer.ggml.bos_token_id", &source->bos, err));
    GLINT_TRY(read_id(gguf, "tokenizer.ggml.eos_token_id", &source->eos, err));
    GLINT_TRY(read_id(gguf, "tokenizer.ggml.eot_token_id", &source->eot, err));
    GLINT_TRY(read_id(gguf, "tokenizer.ggml.padding_token_id", &source->pad, err));
    source->add_bos = true;
    GLINT_TRY(glint_gguf_opt_bool(gguf, "tokenizer.ggml.add_bos_token", &source->add_bos, err));
    source->name = gguf->path;
    source->tokens = arrays->tokens;
    source->types = arrays->types;
    source->merges = arrays->merges;
    return GLINT_OK;
}

enum glint_status glint_vocab_open_gguf(struct glint_vocab **vocab, const struct glint_gguf *gguf,
                                        struct glint_error *err) {
    *vocab = NULL;
    if (!glint_gguf_find(gguf, "tokenizer.ggml.tokens"))
        return glint_fail(err, GLINT_E_NOTFOUND,
                          "%s: tokenizer.ggml.tokens: no such key, expected a vocabulary",
                          gguf->path);
    struct arrays arrays = {NULL, NULL, NULL};
    struct glint_vocab_source source = {.name = NULL};
    enum glint_status status = read_source(gguf, &arrays, &source, err);
    if (status == GLINT_OK)
        status = glint_vocab_open(vocab, &source, err);
    glint_free(arrays.tokens);
    glint_free(arrays.merges);
    glint_free(arrays.types);
    return status;
}
