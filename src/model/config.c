// SPDX-License-Identifier: Apache-2.0
// config.c — reading and range-checking the text model's metadata. Keys whose loss would give
// fluent but wrong text (pattern, rope base, soft cap) are required (model.md A.1).
#include "model/config.h"

#include "model/key_range.h"

#include <math.h>
#include <string.h>

#define ARCHITECTURE "muse-glimmer"

static enum glint_status check_architecture(const struct glint_gguf *gguf,
                                            struct glint_error *err) {
    struct glint_view name;
    GLINT_TRY(glint_gguf_get_string(gguf, "general.architecture", &name, err));
    if (glint_view_is(name, ARCHITECTURE))
        return GLINT_OK;
    const char *hint = glint_view_is(name, "clip")     ? " (a vision file: pass it as --mmproj)"
                       : glint_view_is(name, "dflash") ? " (a drafter: pass it as -md)"
                                                       : "";
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "%s: general.architecture: found \"%.*s\"%s, expected \"" ARCHITECTURE "\"",
                      gguf->path, (int)(name.n < 100 ? name.n : 100), name.data, hint);
}

// Array form: one boolean a layer, true = sliding. Scalar form n: sliding iff n = 0 or
// i mod n < n - 1 (model.md A.7).
static enum glint_status read_pattern(struct glint_config *config, const struct glint_gguf *gguf,
                                      struct glint_error *err) {
    const char *key = ARCHITECTURE ".attention.sliding_window_pattern";
    const struct glint_gguf_kv *kv = glint_gguf_find(gguf, key);
    if (!kv)
        return glint_fail(err, GLINT_E_NOTFOUND,
                          "%s: %s: missing; expected %d booleans or one count", gguf->path, key,
                          config->n_layer);
    int64_t period = 0;
    if (!kv->is_array && (!glint_gguf_item_i64(kv, 0, &period) || period < 0 || period > 1000))
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: %s: found another type or range, expected a count of 0 to 1000",
                          gguf->path, key);
    if (kv->is_array && kv->n != (uint64_t)config->n_layer)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: %s: found %llu items, expected %d (one a layer)", gguf->path, key,
                          (unsigned long long)kv->n, config->n_layer);
    for (int i = 0; i < config->n_layer; i++) {
        bool sliding = period == 0 || i % period < period - 1;
        if (kv->is_array && !glint_gguf_item_bool(kv, (uint64_t)i, &sliding))
            return glint_fail(err, GLINT_E_FORMAT, "%s: %s: item %d is not a boolean", gguf->path,
                              key, i);
        config->sliding[i] = sliding;
        config->i_class[i] = sliding ? config->n_sliding++ : config->n_full++;
    }
    return GLINT_OK;
}

// Keys that would change the equations and that glint does not implement.
static enum glint_status refuse_unknown_math(const struct glint_config *config,
                                             const struct glint_gguf *gguf,
                                             struct glint_error *err) {
    const char *prefix = ARCHITECTURE ".rope.scaling.";
    for (size_t i = 0; i < gguf->n_kvs; i++)
        if (strncmp(gguf->kvs[i].key, prefix, strlen(prefix)) == 0)
            return glint_fail(err, GLINT_E_UNSUPPORTED,
                              "%s: %s: found, expected no rope scaling (glint does not scale)",
                              gguf->path, gguf->kvs[i].key);
    uint32_t rotated = (uint32_t)config->head_dim;
    GLINT_TRY(glint_gguf_opt_u32(gguf, ARCHITECTURE ".rope.dimension_count", &rotated, err));
    if (rotated != (uint32_t)config->head_dim)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: " ARCHITECTURE ".rope.dimension_count: found %u, expected %d (the "
                          "whole head rotates)",
                          gguf->path, rotated, config->head_dim);
    return GLINT_OK;
}

enum glint_status glint_config_read(struct glint_config *config, const struct glint_gguf *gguf,
                                    struct glint_error *err) {
    *config = (struct glint_config){0};
    GLINT_TRY(check_architecture(gguf, err));
    int value_dim = 0;
    const struct glint_key_int ints[] = {
        {ARCHITECTURE ".block_count", &config->n_layer, 1, GLINT_LAYER_MAX},
        {ARCHITECTURE ".embedding_length", &config->width, 1, 1 << 17},
        {ARCHITECTURE ".feed_forward_length", &config->n_ff, 1, 1 << 20},
        {ARCHITECTURE ".attention.head_count", &config->n_head, 1, 1024},
        {ARCHITECTURE ".attention.head_count_kv", &config->n_head_kv, 1, 1024},
        {ARCHITECTURE ".attention.key_length", &config->head_dim, 2, 512},
        {ARCHITECTURE ".attention.value_length", &value_dim, 2, 512},
        {ARCHITECTURE ".context_length", &config->n_context, 1, 1 << 24},
        {ARCHITECTURE ".attention.sliding_window", &config->window, 1, 1 << 24},
    };
    GLINT_TRY(glint_key_ints(gguf, ints, sizeof ints / sizeof *ints, err));
    if (value_dim != config->head_dim || config->head_dim % 2 != 0)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: " ARCHITECTURE ".attention.value_length: found %d, expected the "
                          "same even width as key_length, %d",
                          gguf->path, value_dim, config->head_dim);
    if (config->n_head % config->n_head_kv != 0)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: " ARCHITECTURE ".attention.head_count_kv: found %d, expected a "
                          "divisor of head_count, %d",
                          gguf->path, config->n_head_kv, config->n_head);
    const struct glint_key_float floats[] = {
        {ARCHITECTURE ".attention.layer_norm_rms_epsilon", &config->rms_epsilon, 1e-12f, 0.1f},
        {ARCHITECTURE ".rope.freq_base", &config->rope_base, 1.0f, 1e12f},
        {ARCHITECTURE ".logit_scale", &config->logit_scale, 1e-6f, 1e6f},
        {ARCHITECTURE ".final_logit_softcapping", &config->logit_softcap, 1e-3f, 1e6f},
    };
    GLINT_TRY(glint_key_floats(gguf, floats, sizeof floats / sizeof *floats, err));
    // A base of its own for sliding layers, the only ones that rotate, wins.
    GLINT_TRY(
        glint_gguf_opt_f32(gguf, ARCHITECTURE ".rope.freq_base_swa", &config->rope_base, err));
    if (!(config->rope_base >= 1.0f && config->rope_base <= 1e12f))
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: " ARCHITECTURE ".rope.freq_base_swa: found %g, expected 1 to 1e12",
                          gguf->path, (double)config->rope_base);
    GLINT_TRY(read_pattern(config, gguf, err));
    GLINT_TRY(refuse_unknown_math(config, gguf, err));
    const struct glint_gguf_kv *tokens;
    GLINT_TRY(
        glint_gguf_get_array(gguf, "tokenizer.ggml.tokens", GLINT_GGUF_STRINGS, &tokens, err));
    if (tokens->n < 1 || tokens->n > (1u << 24))
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tokenizer.ggml.tokens: found %llu items, expected 1 to %u",
                          gguf->path, (unsigned long long)tokens->n, 1u << 24);
    config->n_vocab = (int)tokens->n;
    return GLINT_OK;
}
