// SPDX-License-Identifier: Apache-2.0
// convert_drafter.c — the DFlash drafter: keys and tensors of model.md B.4. Nothing is reordered
// and no gain is changed; target layers are counted by their input, one up from the source.
#include "convert_folder.h"

#include "base/alloc.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TARGETS = 64 };

struct drafter_config {
    uint32_t n_layer, n_ctx, n_embd, n_ff, n_head, n_head_kv, head_dim, window, block;
    uint32_t n_targets;
    int32_t targets[MAX_TARGETS]; // as GGUF counts them
    double eps, rope_base;
    int64_t mask;
    bool *sliding; // [n_layer] owned
};

// ---- configuration
// ----------------------------------------------------------------------------------

static enum glint_status read_targets(const struct glint_convert_scope *top,
                                      struct drafter_config *config, struct glint_error *err) {
    const struct glint_json *list = glint_json_get(top->object, "target_layer_ids");
    if (!glint_json_is(list, GLINT_JSON_ARRAY) || list->n < 1 || list->n > MAX_TARGETS)
        return glint_convert_unfit(top, "target_layer_ids", "a list of 1 to 64 layers", err);
    int64_t previous = -1;
    for (const struct glint_json *item = list->child; item; item = item->next) {
        int64_t layer;
        if (!glint_json_to_i64(item, &layer) || layer <= previous || layer >= 4096)
            return glint_convert_unfit(top, "target_layer_ids", "rising layer numbers", err);
        config->targets[config->n_targets++] = (int32_t)layer + 1;
        previous = layer;
    }
    return GLINT_OK;
}

static enum glint_status read_config(const struct glint_convert_scope *top,
                                     struct drafter_config *config, struct glint_error *err) {
    bool given;
    const struct {
        const char *key;
        uint32_t *value;
    } sizes[] = {
        {"num_hidden_layers", &config->n_layer},  {"max_position_embeddings", &config->n_ctx},
        {"hidden_size", &config->n_embd},         {"intermediate_size", &config->n_ff},
        {"num_attention_heads", &config->n_head}, {"num_key_value_heads", &config->n_head_kv},
        {"head_dim", &config->head_dim},          {"sliding_window", &config->window},
        {"block_size", &config->block},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        GLINT_TRY(glint_convert_u32(top, sizes[i].key, sizes[i].value, err));
    if (config->n_layer > 4096)
        return glint_convert_unfit(top, "num_hidden_layers", "at most 4096", err);
    if (config->n_head % config->n_head_kv != 0)
        return glint_convert_unfit(top, "num_key_value_heads", "a divisor of the query heads", err);
    GLINT_TRY(glint_convert_number(top, "rms_norm_eps", &config->eps, err));
    GLINT_TRY(glint_convert_rope(top, "default", &config->rope_base, err));
    GLINT_TRY(glint_convert_only_text(top, "hidden_act", "silu", err));
    GLINT_TRY(glint_convert_only_bool(top, "attention_bias", false, err));
    config->mask = -1;
    GLINT_TRY(glint_convert_id(top, "mask_token_id", &config->mask, err));
    if (config->mask < 0)
        return glint_convert_unfit(top, "mask_token_id", "a token id", err);
    config->sliding = glint_alloc(config->n_layer, sizeof *config->sliding);
    if (!config->sliding)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", top->path);
    for (uint32_t i = 0; i < config->n_layer; i++)
        config->sliding[i] = true;
    GLINT_TRY(glint_convert_layer_types(top, config->n_layer, "sliding_attention", config->sliding,
                                        &given, err));
    return read_targets(top, config, err);
}

// ---- keys
// -------------------------------------------------------------------------------------------

static void put_keys(const struct drafter_config *config, struct glint_gguf_writer *writer) {
    glint_gguf_put_u32(writer, "dflash.block_count", config->n_layer);
    glint_gguf_put_u32(writer, "dflash.context_length", config->n_ctx);
    glint_gguf_put_u32(writer, "dflash.embedding_length", config->n_embd);
    glint_gguf_put_u32(writer, "dflash.feed_forward_length", config->n_ff);
    glint_gguf_put_u32(writer, "dflash.attention.head_count", config->n_head);
    glint_gguf_put_u32(writer, "dflash.attention.head_count_kv", config->n_head_kv);
    glint_gguf_put_u32(writer, "dflash.attention.key_length", config->head_dim);
    glint_gguf_put_u32(writer, "dflash.attention.value_length", config->head_dim);
    glint_gguf_put_f32(writer, "dflash.attention.layer_norm_rms_epsilon", (float)config->eps);
    glint_gguf_put_u32(writer, "dflash.attention.sliding_window", config->window);
    glint_gguf_put_bools(writer, "dflash.attention.sliding_window_pattern", config->sliding,
                         config->n_layer);
    glint_gguf_put_f32(writer, "dflash.rope.freq_base", (float)config->rope_base);
    glint_gguf_put_u32(writer, "dflash.block_size", config->block);
    glint_gguf_put_i32s(writer, "dflash.target_layers", config->targets, config->n_targets);
}

// ---- the target's vocabulary
// ------------------------------------------------------------------------

static enum glint_status put_vocab_of_gguf(const char *path, int64_t mask,
                                           struct glint_gguf_writer *writer,
                                           struct glint_error *err) {
    struct glint_gguf *gguf;
    const struct glint_gguf_kv *tokens;
    GLINT_TRY(glint_gguf_open(&gguf, path, err));
    enum glint_status status =
        glint_gguf_get_array(gguf, "tokenizer.ggml.tokens", GLINT_GGUF_STRINGS, &tokens, err);
    if (status == GLINT_OK && (uint64_t)mask >= tokens->n)
        status = glint_fail(err, GLINT_E_FORMAT,
                            "%s: tokenizer.ggml.tokens: found %llu tokens, expected more than the "
                            "drafter's mask id %lld",
                            path, (unsigned long long)tokens->n, (long long)mask);
    for (size_t i = 0; i < gguf->n_kvs && status == GLINT_OK; i++)
        if (strncmp(gguf->kvs[i].key, "tokenizer.", 10) == 0 &&
            strcmp(gguf->kvs[i].key, "tokenizer.ggml.mask_token_id") != 0)
            glint_gguf_put_kv(writer, &gguf->kvs[i]);
    glint_gguf_close(&gguf);
    return status;
}

// A text model's folder; its config.json tells the size.
static enum glint_status put_vocab_of_folder(const char *folder, int64_t mask,
                                             struct glint_gguf_writer *writer,
                                             struct glint_error *err) {
    struct glint_convert target = {.folder = folder};
    struct glint_convert_ids ids;
    struct glint_convert_vocab *vocab = NULL;
    target.config_path = glint_convert_path(folder, "config.json");
    enum glint_status status;
    if (target.config_path)
        status = glint_json_load(&target.config, target.config_path, 16 << 20, err);
    else
        status = glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", folder);
    if (status == GLINT_OK) {
        target.top =
            (struct glint_convert_scope){target.config_path, "", glint_json_root(target.config)};
        status = glint_convert_text_ids(&target, &ids, err);
    }
    if (status == GLINT_OK && mask >= ids.n_tokens)
        status = glint_fail(err, GLINT_E_FORMAT,
                            "%s: text_config.vocab_size: found %u, expected more than the "
                            "drafter's mask id %lld",
                            target.config_path, ids.n_tokens, (long long)mask);
    if (status == GLINT_OK)
        status = glint_convert_vocab_open(&vocab, folder, &ids, err);
    if (status == GLINT_OK)
        glint_convert_vocab_put(vocab, writer);
    glint_convert_vocab_close(&vocab);
    glint_convert_close(&target);
    return status;
}

static enum glint_status put_vocab(const struct glint_convert *convert, const char *source,
                                   int64_t mask, struct glint_gguf_writer *writer,
                                   struct glint_error *err) {
    struct stat info;
    if (source && stat(source, &info) == 0 && !S_ISDIR(info.st_mode))
        return put_vocab_of_gguf(source, mask, writer, err);
    if (source)
        return put_vocab_of_folder(source, mask, writer, err);
    char *above = glint_convert_path(convert->folder, "..");
    char *config = glint_convert_path(convert->folder, "../config.json");
    enum glint_status status;
    if (!above || !config)
        status = glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", convert->folder);
    else if (access(config, F_OK) != 0)
        status = glint_fail(err, GLINT_E_NOTFOUND,
                            "%s: the drafter shares its target's vocabulary: found no text model "
                            "in the folder above, expected --target MODEL.gguf or a folder",
                            convert->folder);
    else
        status = put_vocab_of_folder(above, mask, writer, err);
    glint_free(above);
    glint_free(config);
    return status;
}

// ---- tensors
// ----------------------------------------------------------------------------------------

#define LAYER "layers.#."

static enum glint_status plan_tensors(const struct drafter_config *config,
                                      struct glint_convert_plan *plan, struct glint_error *err) {
    const uint64_t h = config->n_embd, f = config->n_ff, d = config->head_dim;
    const uint64_t q = config->n_head * d, kv = config->n_head_kv * d;
    const uint64_t taps = h * config->n_targets;
    const struct {
        const char *from, *to;
        uint64_t n_rows, n_cols;
    } whole[] = {{"encoder.fc.weight", "fc.weight", h, taps},
                 {"encoder.output_norm_enc.weight", "enc.output_norm.weight", 0, h},
                 {"norm.weight", "output_norm.weight", 0, h}},
      layer[] = {{LAYER "input_layernorm.weight", "blk.#.attn_norm.weight", 0, h},
                 {LAYER "self_attn.q_proj.weight", "blk.#.attn_q.weight", q, h},
                 {LAYER "self_attn.k_proj.weight", "blk.#.attn_k.weight", kv, h},
                 {LAYER "self_attn.v_proj.weight", "blk.#.attn_v.weight", kv, h},
                 {LAYER "self_attn.o_proj.weight", "blk.#.attn_output.weight", h, q},
                 {LAYER "self_attn.q_norm.weight", "blk.#.attn_q_norm.weight", 0, d},
                 {LAYER "self_attn.k_norm.weight", "blk.#.attn_k_norm.weight", 0, d},
                 {LAYER "post_attention_layernorm.weight", "blk.#.ffn_norm.weight", 0, h},
                 {LAYER "mlp.gate_proj.weight", "blk.#.ffn_gate.weight", f, h},
                 {LAYER "mlp.up_proj.weight", "blk.#.ffn_up.weight", f, h},
                 {LAYER "mlp.down_proj.weight", "blk.#.ffn_down.weight", h, f}};
    struct glint_convert_rule rule = {.change = GLINT_CONVERT_COPY};
    for (size_t i = 0; i < 3; i++) {
        rule = (struct glint_convert_rule){.from = whole[i].from,
                                           .to = whole[i].to,
                                           .n_rows = whole[i].n_rows,
                                           .n_cols = whole[i].n_cols};
        GLINT_TRY(glint_convert_add(plan, &rule, 0, err));
    }
    for (size_t n = 0; n < 11 * (size_t)config->n_layer; n++) {
        size_t i = n % 11;
        rule = (struct glint_convert_rule){.from = layer[i].from,
                                           .to = layer[i].to,
                                           .n_rows = layer[i].n_rows,
                                           .n_cols = layer[i].n_cols};
        GLINT_TRY(glint_convert_add(plan, &rule, (uint32_t)(n / 11), err));
    }
    return GLINT_OK;
}

// ---- the file
// ---------------------------------------------------------------------------------------

static enum glint_status write_drafter(struct glint_convert *convert,
                                       const struct drafter_config *config,
                                       const struct glint_convert_plan *plan,
                                       const struct glint_convert_target *target,
                                       const char *vocab_source, struct glint_error *err) {
    struct glint_gguf_writer *writer;
    GLINT_TRY(glint_gguf_writer_open(&writer, err));
    glint_convert_put_general(convert, plan, writer, "dflash", "model");
    put_keys(config, writer);
    enum glint_status status = put_vocab(convert, vocab_source, config->mask, writer, err);
    if (status != GLINT_OK) {
        glint_gguf_writer_discard(&writer);
        return status;
    }
    glint_gguf_put_u32(writer, "tokenizer.ggml.mask_token_id", (uint32_t)config->mask);
    return glint_convert_write(plan, &writer, target, err);
}

enum glint_status glint_convert_drafter(struct glint_convert *convert, const char *out,
                                        const char *vocab_source, struct glint_error *err) {
    struct drafter_config config = {.sliding = NULL};
    struct glint_convert_plan plan = glint_convert_plan_of(convert);
    const struct glint_convert_target target = {out, convert->quiet, NULL};
    enum glint_status status = read_config(&convert->top, &config, err);
    if (status == GLINT_OK)
        status = plan_tensors(&config, &plan, err);
    if (status == GLINT_OK)
        status = glint_convert_check_used(convert, NULL, err);
    if (status == GLINT_OK)
        status = write_drafter(convert, &config, &plan, &target, vocab_source, err);
    convert->n_kept_bf16 += plan.n_kept_bf16;
    glint_convert_plan_fini(&plan);
    glint_free(config.sliding);
    return status;
}
