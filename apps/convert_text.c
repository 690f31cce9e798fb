// SPDX-License-Identifier: Apache-2.0
// convert_text.c — the text model: keys of model.md B.1, tensors of B.2.
#include "convert_folder.h"

#include "base/alloc.h"

#include <math.h>

struct text_config {
    uint32_t n_layer, n_ctx, n_embd, n_ff, n_head, n_head_kv, head_dim, window;
    double eps, rope_base, softcap, logit_scale, qk_scale;
    bool *sliding; // [n_layer] owned
};

// ---- configuration
// ----------------------------------------------------------------------------------

static enum glint_status read_sizes(const struct glint_convert_scope *text,
                                    struct text_config *config, struct glint_error *err) {
    const struct {
        const char *key;
        uint32_t *value;
    } sizes[] = {
        {"num_hidden_layers", &config->n_layer},
        {"hidden_size", &config->n_embd},
        {"max_position_embeddings", &config->n_ctx},
        {"intermediate_size", &config->n_ff},
        {"num_attention_heads", &config->n_head},
        {"num_key_value_heads", &config->n_head_kv},
        {"head_dim", &config->head_dim},
        {"sliding_window", &config->window},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        GLINT_TRY(glint_convert_u32(text, sizes[i].key, sizes[i].value, err));
    if (config->n_layer > 4096)
        return glint_convert_unfit(text, "num_hidden_layers", "at most 4096", err);
    if (config->n_head % config->n_head_kv != 0)
        return glint_convert_unfit(text, "num_key_value_heads", "a divisor of the query heads",
                                   err);
    if (config->head_dim % 2 != 0)
        return glint_convert_unfit(text, "head_dim", "an even number", err);
    return GLINT_OK;
}

static enum glint_status read_numbers(const struct glint_convert_scope *text,
                                      struct text_config *config, struct glint_error *err) {
    GLINT_TRY(glint_convert_number(text, "rms_norm_eps", &config->eps, err));
    GLINT_TRY(glint_convert_number(text, "final_logit_softcapping", &config->softcap, err));
    GLINT_TRY(glint_convert_number(text, "output_multiplier", &config->logit_scale, err));
    GLINT_TRY(glint_convert_number(text, "qk_scale_factor", &config->qk_scale, err));
    GLINT_TRY(glint_convert_rope(text, "default", &config->rope_base, err));
    GLINT_TRY(glint_convert_only_number(text, "post_norm_eps", 1e-8, err));
    GLINT_TRY(glint_convert_only_text(text, "hidden_activation", "silu", err));
    GLINT_TRY(glint_convert_only_bool(text, "attention_bias", false, err));
    return glint_convert_only_bool(text, "tie_word_embeddings", false, err);
}

// The layers that do not rotate must be those that do not slide: GGUF has one list for both.
static enum glint_status check_rope_list(const struct glint_convert_scope *text,
                                         const struct text_config *config,
                                         struct glint_error *err) {
    const struct glint_json *list;
    GLINT_TRY(glint_convert_list(text, "layer_rope_theta", config->n_layer, &list, err));
    uint32_t i = 0;
    for (const struct glint_json *item = glint_json_first(list); item; item = item->next, i++) {
        double base = 0;
        bool good = glint_json_is(item, GLINT_JSON_NULL) || glint_json_to_double(item, &base);
        double expected = config->sliding[i] ? config->rope_base : 0;
        if (!good || base != expected)
            return glint_fail(err, GLINT_E_UNSUPPORTED,
                              "%s: %slayer_rope_theta[%u]: found %g, expected %g as "
                              "layer_types[%u] is %s (a GGUF file cannot tell the two apart)",
                              text->path, text->prefix, i, base, expected, i,
                              config->sliding[i] ? "sliding_attention" : "full_attention");
    }
    return GLINT_OK;
}

static enum glint_status read_config(const struct glint_convert *convert,
                                     struct text_config *config, struct glint_error *err) {
    struct glint_convert_scope text;
    bool given;
    GLINT_TRY(glint_convert_inner(&convert->top, "text_config", "text_config.", &text, err));
    GLINT_TRY(glint_convert_only_text(&text, "model_type", "muse_glimmer_text", err));
    GLINT_TRY(read_sizes(&text, config, err));
    GLINT_TRY(read_numbers(&text, config, err));
    config->sliding = glint_alloc(config->n_layer, sizeof *config->sliding);
    if (!config->sliding)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", convert->folder);
    // The official default counts from the last layer, which is always full.
    for (uint32_t i = 0; i < config->n_layer; i++)
        config->sliding[i] = (config->n_layer - 1 - i) % 4 != 0;
    GLINT_TRY(glint_convert_layer_types(&text, config->n_layer, "sliding_attention",
                                        config->sliding, &given, err));
    return check_rope_list(&text, config, err);
}

// ---- keys
// -------------------------------------------------------------------------------------------

static void put_keys(const struct text_config *config, struct glint_gguf_writer *writer) {
    glint_gguf_put_u32(writer, "muse-glimmer.block_count", config->n_layer);
    glint_gguf_put_u32(writer, "muse-glimmer.context_length", config->n_ctx);
    glint_gguf_put_u32(writer, "muse-glimmer.embedding_length", config->n_embd);
    glint_gguf_put_u32(writer, "muse-glimmer.feed_forward_length", config->n_ff);
    glint_gguf_put_u32(writer, "muse-glimmer.attention.head_count", config->n_head);
    glint_gguf_put_u32(writer, "muse-glimmer.attention.head_count_kv", config->n_head_kv);
    glint_gguf_put_u32(writer, "muse-glimmer.attention.key_length", config->head_dim);
    glint_gguf_put_u32(writer, "muse-glimmer.attention.value_length", config->head_dim);
    glint_gguf_put_f32(writer, "muse-glimmer.attention.layer_norm_rms_epsilon", (float)config->eps);
    glint_gguf_put_u32(writer, "muse-glimmer.attention.sliding_window", config->window);
    glint_gguf_put_bools(writer, "muse-glimmer.attention.sliding_window_pattern", config->sliding,
                         config->n_layer);
    glint_gguf_put_f32(writer, "muse-glimmer.rope.freq_base", (float)config->rope_base);
    glint_gguf_put_f32(writer, "muse-glimmer.final_logit_softcapping", (float)config->softcap);
    glint_gguf_put_f32(writer, "muse-glimmer.logit_scale", (float)config->logit_scale);
}

// ---- tensors
// ----------------------------------------------------------------------------------------

#define LM    "model.language_model."
#define LAYER LM "layers.#."

static enum glint_status plan_tensors(const struct text_config *config, uint64_t n_vocab,
                                      struct glint_convert_plan *plan, struct glint_error *err) {
    const uint64_t h = config->n_embd, f = config->n_ff, d = config->head_dim;
    const uint64_t q = config->n_head * d, kv = config->n_head_kv * d;
    const uint32_t nq = config->n_head, nkv = config->n_head_kv;
    const float scale = (float)config->qk_scale;
    const struct glint_convert_rule whole[] = {
        {LM "embed_tokens.weight", "token_embd.weight", GLINT_CONVERT_COPY, n_vocab, h, 0, 0, 0},
        {"lm_head.weight", "output.weight", GLINT_CONVERT_COPY, n_vocab, h, 0, 0, 0},
        {LM "norm.weight", "output_norm.weight", GLINT_CONVERT_COPY, 0, h, 0, 0, 0},
    };
    const struct glint_convert_rule layer[] = {
        {LAYER "input_layernorm.weight", "blk.#.attn_norm.weight", GLINT_CONVERT_GAIN, 0, h, 0, 0,
         0},
        {LAYER "self_attn.q_proj.weight", "blk.#.attn_q.weight", GLINT_CONVERT_HEADS, q, h, nq, 0,
         0},
        {LAYER "self_attn.k_proj.weight", "blk.#.attn_k.weight", GLINT_CONVERT_HEADS, kv, h, nkv, 0,
         0},
        {LAYER "self_attn.v_proj.weight", "blk.#.attn_v.weight", GLINT_CONVERT_COPY, kv, h, 0, 0,
         0},
        {LAYER "self_attn.gate_proj.weight", "blk.#.attn_gate.weight", GLINT_CONVERT_COPY, q, h, 0,
         0, 0},
        {LAYER "self_attn.o_proj.weight", "blk.#.attn_output.weight", GLINT_CONVERT_COPY, h, q, 0,
         0, 0},
        {NULL, "blk.#.attn_q_norm.weight", GLINT_CONVERT_CONSTANT, 0, d, 0, scale, 0},
        {NULL, "blk.#.attn_k_norm.weight", GLINT_CONVERT_CONSTANT, 0, d, 0, 1.0f, 0},
        {LAYER "post_attention_layernorm.weight", "blk.#.post_attention_norm.weight",
         GLINT_CONVERT_GAIN, 0, h, 0, 0, 0},
        {LAYER "pre_feedforward_layernorm.weight", "blk.#.ffn_norm.weight", GLINT_CONVERT_GAIN, 0,
         h, 0, 0, 0},
        {LAYER "mlp.gate_proj.weight", "blk.#.ffn_gate.weight", GLINT_CONVERT_COPY, f, h, 0, 0, 0},
        {LAYER "mlp.up_proj.weight", "blk.#.ffn_up.weight", GLINT_CONVERT_COPY, f, h, 0, 0, 0},
        {LAYER "mlp.down_proj.weight", "blk.#.ffn_down.weight", GLINT_CONVERT_COPY, h, f, 0, 0, 0},
        {LAYER "post_feedforward_layernorm.weight", "blk.#.post_ffw_norm.weight",
         GLINT_CONVERT_GAIN, 0, h, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        GLINT_TRY(glint_convert_add(plan, &whole[i], 0, err));
    for (uint32_t l = 0; l < config->n_layer; l++)
        for (size_t i = 0; i < sizeof layer / sizeof *layer; i++)
            GLINT_TRY(glint_convert_add(plan, &layer[i], l, err));
    return GLINT_OK;
}

// ---- the file
// ---------------------------------------------------------------------------------------

static enum glint_status write_text(struct glint_convert *convert, const struct text_config *config,
                                    struct glint_convert_plan *plan, const char *out,
                                    struct glint_error *err) {
    struct glint_convert_ids ids;
    struct glint_convert_vocab *vocab;
    struct glint_gguf_writer *writer;
    GLINT_TRY(glint_convert_text_ids(convert, &ids, err));
    GLINT_TRY(plan_tensors(config, ids.n_tokens, plan, err));
    GLINT_TRY(glint_convert_check_used(convert, "model.vision_", err));
    GLINT_TRY(glint_convert_vocab_open(&vocab, convert->folder, &ids, err));
    enum glint_status status = glint_gguf_writer_open(&writer, err);
    if (status == GLINT_OK) {
        const struct glint_convert_target target = {out, convert->quiet, NULL};
        glint_convert_put_general(convert, plan, writer, "muse-glimmer", "model");
        put_keys(config, writer);
        glint_convert_vocab_put(vocab, writer);
        status = glint_convert_write(plan, &writer, &target, err);
    }
    glint_convert_vocab_close(&vocab);
    return status;
}

enum glint_status glint_convert_text(struct glint_convert *convert, const char *out,
                                     struct glint_error *err) {
    struct text_config config = {.sliding = NULL};
    struct glint_convert_plan plan = glint_convert_plan_of(convert);
    enum glint_status status = read_config(convert, &config, err);
    if (status == GLINT_OK)
        status = write_text(convert, &config, &plan, out, err);
    convert->n_kept_bf16 += plan.n_kept_bf16;
    glint_convert_plan_fini(&plan);
    glint_free(config.sliding);
    return status;
}
