// SPDX-License-Identifier: Apache-2.0
// drafter_config.c — reading and range-checking a drafter's metadata (model.md B.4), and that it
// was made for this target: same width, same vocabulary, layers that the target has.
#include "draft/drafter.h"

#include "model/key_range.h"

#include <string.h>

static enum glint_status check_architecture(const struct glint_gguf *gguf,
                                            struct glint_error *err) {
    struct glint_view name;
    GLINT_TRY(glint_gguf_get_string(gguf, "general.architecture", &name, err));
    if (glint_view_is(name, "dflash"))
        return GLINT_OK;
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "%s: general.architecture: found \"%.*s\", expected \"dflash\" (a drafter)",
                      gguf->path, (int)(name.n < 100 ? name.n : 100), name.data);
}

// Keys of the drafter's relatives that change the equations.
static enum glint_status refuse_relatives(const struct glint_gguf *gguf, struct glint_error *err) {
    static const char *const prefix[] = {"dflash.sample_from_anchor",
                                         "dflash.attention.causal",
                                         "dflash.decoder_arch",
                                         "dflash.conv_",
                                         "dflash.selector_",
                                         "dflash.logit_scale",
                                         "dflash.hyper_connection",
                                         "dflash.rope.scaling.",
                                         "dflash.final_logit_softcapping"};
    for (size_t i = 0; i < gguf->n_kvs; i++)
        for (size_t p = 0; p < sizeof prefix / sizeof *prefix; p++)
            if (strncmp(gguf->kvs[i].key, prefix[p], strlen(prefix[p])) == 0)
                return glint_fail(err, GLINT_E_UNSUPPORTED,
                                  "%s: %s: found, expected none (glint knows the plain DFlash "
                                  "drafter only)",
                                  gguf->path, gguf->kvs[i].key);
    return GLINT_OK;
}

static enum glint_status read_numbers(struct glint_config *config, const struct glint_gguf *gguf,
                                      struct glint_error *err) {
    int value_dim = 0;
    const struct glint_key_int ints[] = {
        {"dflash.block_count", &config->n_layer, 1, GLINT_LAYER_MAX},
        {"dflash.embedding_length", &config->width, 1, 1 << 17},
        {"dflash.feed_forward_length", &config->n_ff, 1, 1 << 20},
        {"dflash.attention.head_count", &config->n_head, 1, 1024},
        {"dflash.attention.head_count_kv", &config->n_head_kv, 1, 1024},
        {"dflash.attention.key_length", &config->head_dim, 2, 512},
        {"dflash.attention.value_length", &value_dim, 2, 512},
        {"dflash.context_length", &config->n_context, 1, 1 << 24},
        {"dflash.attention.sliding_window", &config->window, 1, 1 << 24},
        {"dflash.block_size", &config->block, 2, GLINT_DRAFT_BLOCK_MAX},
    };
    const struct glint_key_float floats[] = {
        {"dflash.attention.layer_norm_rms_epsilon", &config->rms_epsilon, 1e-12f, 0.1f},
        {"dflash.rope.freq_base", &config->rope_base, 1.0f, 1e12f},
    };
    GLINT_TRY(glint_key_ints(gguf, ints, sizeof ints / sizeof *ints, err));
    GLINT_TRY(glint_key_floats(gguf, floats, sizeof floats / sizeof *floats, err));
    if (value_dim != config->head_dim || config->head_dim % 2 != 0)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: dflash.attention.value_length: found %d, expected the same even "
                          "width as key_length, %d",
                          gguf->path, value_dim, config->head_dim);
    if (config->n_head % config->n_head_kv != 0)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: dflash.attention.head_count_kv: found %d, expected a divisor of "
                          "head_count, %d",
                          gguf->path, config->n_head_kv, config->n_head);
    if (config->window < config->block - 1)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: dflash.attention.sliding_window: found %d, expected at least %d: a "
                          "block sees all of itself",
                          gguf->path, config->window, config->block - 1);
    config->window++; // a distance of exactly the window is still seen (model.md D.4)
    return GLINT_OK;
}

// Every layer slides.
static enum glint_status read_pattern(struct glint_config *config, const struct glint_gguf *gguf,
                                      struct glint_error *err) {
    const char *key = "dflash.attention.sliding_window_pattern";
    const struct glint_gguf_kv *kv = glint_gguf_find(gguf, key);
    if (kv && (!kv->is_array || kv->n != (uint64_t)config->n_layer))
        return glint_fail(err, GLINT_E_FORMAT, "%s: %s: found %llu items, expected %d booleans",
                          gguf->path, key, (unsigned long long)kv->n, config->n_layer);
    for (int i = 0; i < config->n_layer; i++) {
        bool sliding = true;
        if (kv && (!glint_gguf_item_bool(kv, (uint64_t)i, &sliding) || !sliding))
            return glint_fail(err, GLINT_E_UNSUPPORTED, "%s: %s: item %d: expected true",
                              gguf->path, key, i);
        config->sliding[i] = true;
        config->i_class[i] = config->n_sliding++;
    }
    return GLINT_OK;
}

static enum glint_status read_taps(struct glint_drafter_config *config,
                                   const struct glint_gguf *gguf, const struct glint_config *target,
                                   const struct glint_gguf *target_gguf, struct glint_error *err) {
    const char *key = "dflash.target_layers";
    const struct glint_gguf_kv *kv = glint_gguf_find(gguf, key);
    if (!kv || !kv->is_array || kv->n < 1 || kv->n > GLINT_DRAFT_TAPS)
        return glint_fail(err, kv ? GLINT_E_FORMAT : GLINT_E_NOTFOUND,
                          "%s: %s: found %llu items, expected 1 to %d layer numbers", gguf->path,
                          key, kv ? (unsigned long long)kv->n : 0, GLINT_DRAFT_TAPS);
    int64_t last = 0;
    for (uint64_t i = 0; i < kv->n; i++) {
        int64_t layer;
        if (!glint_gguf_item_i64(kv, i, &layer) || layer <= last)
            return glint_fail(err, GLINT_E_FORMAT, "%s: %s: expected rising layer numbers from 1",
                              gguf->path, key);
        if (layer >= target->n_layer)
            return glint_fail(err, GLINT_E_UNSUPPORTED,
                              "%s: %s: found %lld, expected less than the %d layers of %s",
                              gguf->path, key, (long long)layer, target->n_layer,
                              target_gguf->path);
        config->tap[config->n_tap++] = (int)layer;
        last = layer;
    }
    return GLINT_OK;
}

static enum glint_status check_vocabulary(const struct glint_gguf *gguf,
                                          const struct glint_gguf *target,
                                          struct glint_error *err) {
    const char *key = "tokenizer.ggml.tokens";
    const struct glint_gguf_kv *ours, *theirs;
    GLINT_TRY(glint_gguf_get_array(gguf, key, GLINT_GGUF_STRINGS, &ours, err));
    GLINT_TRY(glint_gguf_get_array(target, key, GLINT_GGUF_STRINGS, &theirs, err));
    if (ours->n != theirs->n)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: %s: found %llu tokens, expected %llu as in %s", gguf->path, key,
                          (unsigned long long)ours->n, (unsigned long long)theirs->n, target->path);
    for (uint64_t i = 0; i < ours->n; i++) {
        struct glint_view a, b;
        if (!glint_gguf_item_string(ours, i, &a) || !glint_gguf_item_string(theirs, i, &b))
            return glint_fail(err, GLINT_E_FORMAT, "%s: %s: item %llu is no text", gguf->path, key,
                              (unsigned long long)i);
        if (a.n != b.n || memcmp(a.data, b.data, a.n) != 0)
            return glint_fail(err, GLINT_E_UNSUPPORTED,
                              "%s: %s: token %llu: found \"%.*s\", expected \"%.*s\" as in %s",
                              gguf->path, key, (unsigned long long)i, (int)(a.n < 60 ? a.n : 60),
                              a.data, (int)(b.n < 60 ? b.n : 60), b.data, target->path);
    }
    return GLINT_OK;
}

enum glint_status glint_drafter_config_read(struct glint_drafter_config *config,
                                            const struct glint_gguf *gguf,
                                            const struct glint_config *target,
                                            const struct glint_gguf *target_gguf,
                                            struct glint_error *err) {
    *config = (struct glint_drafter_config){.n_tap = 0};
    GLINT_TRY(check_architecture(gguf, err));
    GLINT_TRY(refuse_relatives(gguf, err));
    GLINT_TRY(read_numbers(&config->base, gguf, err));
    if (config->base.width != target->width)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: dflash.embedding_length: found %d, expected %d, the width of %s",
                          gguf->path, config->base.width, target->width, target_gguf->path);
    GLINT_TRY(read_pattern(&config->base, gguf, err));
    GLINT_TRY(read_taps(config, gguf, target, target_gguf, err));
    GLINT_TRY(check_vocabulary(gguf, target_gguf, err));
    config->base.n_vocab = target->n_vocab;
    uint32_t mask;
    GLINT_TRY(glint_gguf_get_u32(gguf, "tokenizer.ggml.mask_token_id", &mask, err));
    if (mask >= (uint32_t)target->n_vocab)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tokenizer.ggml.mask_token_id: found %u, expected less than %d",
                          gguf->path, mask, target->n_vocab);
    config->mask_id = (int32_t)mask;
    return GLINT_OK;
}
