// SPDX-License-Identifier: Apache-2.0
// toy_model.c — the tiny model: 4 layers, width 64, 4 query and 2 key/value heads of 32.
// Vocabulary: 256 bytes, then fillers, then the special tokens that chat cannot do without.
#include "toy_model.h"

#include "format/gguf_write.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_HEAD = 4, N_HEAD_KV = 2, DIM = 32, FF = 128, ROW_MAX = 256, N_TENSOR_MAX = 80 };

struct plan {
    struct {
        char name[64];
        uint64_t n_col, n_row; // n_row 0: a vector
    } tensor[N_TENSOR_MAX];
    int n;
};

static bool is(const char *name, const char *chosen) {
    return chosen && strcmp(name, chosen) == 0;
}

static void plan_tensor(struct plan *plan, const struct toy_defect *defect, const char *name,
                        uint64_t n_col, uint64_t n_row) {
    if (is(name, defect->drop_tensor))
        return;
    assert_true(plan->n < N_TENSOR_MAX);
    snprintf(plan->tensor[plan->n].name, sizeof plan->tensor[0].name, "%s", name);
    plan->tensor[plan->n].n_col = n_col + (is(name, defect->wide_tensor) ? 32 : 0);
    plan->tensor[plan->n++].n_row = n_row;
}

static void plan_all(struct plan *plan, const struct toy_defect *defect) {
    static const struct {
        const char *name;
        uint64_t n_col, n_row;
    } parts[] = {
        {"attn_q", TOY_WIDTH, N_HEAD * DIM},
        {"attn_k", TOY_WIDTH, N_HEAD_KV * DIM},
        {"attn_v", TOY_WIDTH, N_HEAD_KV * DIM},
        {"attn_gate", TOY_WIDTH, N_HEAD * DIM},
        {"attn_output", N_HEAD * DIM, TOY_WIDTH},
        {"ffn_gate", TOY_WIDTH, FF},
        {"ffn_up", TOY_WIDTH, FF},
        {"ffn_down", FF, TOY_WIDTH},
        {"attn_norm", TOY_WIDTH, 0},
        {"attn_q_norm", DIM, 0},
        {"attn_k_norm", DIM, 0},
        {"post_attention_norm", TOY_WIDTH, 0},
        {"ffn_norm", TOY_WIDTH, 0},
        {"post_ffw_norm", TOY_WIDTH, 0},
    };
    plan_tensor(plan, defect, "token_embd.weight", TOY_WIDTH, TOY_VOCAB);
    plan_tensor(plan, defect, "output.weight", TOY_WIDTH, TOY_VOCAB);
    plan_tensor(plan, defect, "output_norm.weight", TOY_WIDTH, 0);
    for (int l = 0; l < TOY_LAYERS; l++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s.weight", l, parts[i].name);
            plan_tensor(plan, defect, name, parts[i].n_col, parts[i].n_row);
        }
    if (defect->extra_tensor)
        plan_tensor(plan, defect, defect->extra_tensor, TOY_WIDTH, 0);
}

static void put_tokens(struct glint_gguf_writer *writer) {
    static const char *const special[] = {
        "<|begin_of_text|>", "<|end_of_text|>",       "<|eom|>",   "<|eot|>",
        "<|start|>",         "<|message|>",           "<|patch|>", "<|image_start|>",
        "<|image_end|>",     "<|finetune_right_pad|>"};
    enum { N_SPECIAL = sizeof special / sizeof *special };
    int32_t types[TOY_VOCAB];
    glint_gguf_put_strings(writer, "tokenizer.ggml.tokens", TOY_VOCAB);
    int moved = 0; // the 68 bytes that are not spelled as themselves, in ascending order
    for (int id = 0; id < TOY_VOCAB; id++) {
        char text[32];
        types[id] = id >= TOY_VOCAB - N_SPECIAL ? 3 : 1;
        bool plain = (id >= 0x21 && id <= 0x7e) || (id >= 0xa1 && id <= 0xac) || id >= 0xae;
        unsigned code = id < 256 ? (unsigned)(plain ? id : 256 + moved) : 0;
        moved += id < 256 && !plain;
        if (id >= TOY_VOCAB - N_SPECIAL)
            snprintf(text, sizeof text, "%s", special[id - (TOY_VOCAB - N_SPECIAL)]);
        else if (id >= 256)
            snprintf(text, sizeof text, "filler%d", id);
        else if (code < 0x80)
            snprintf(text, sizeof text, "%c", (int)code);
        else
            snprintf(text, sizeof text, "%c%c", (int)(0xc0 | code >> 6), (int)(0x80 | (code & 63)));
        glint_gguf_put_item(writer, glint_view_of(text));
    }
    glint_gguf_put_i32s(writer, "tokenizer.ggml.token_type", types, TOY_VOCAB);
}

static void put_u32(struct glint_gguf_writer *writer, const struct toy_defect *defect,
                    const char *key, uint32_t value) {
    if (!is(key, defect->drop_key))
        glint_gguf_put_u32(writer, key, is(key, defect->u32_key) ? defect->u32_value : value);
}

static void put_f32(struct glint_gguf_writer *writer, const struct toy_defect *defect,
                    const char *key, float value) {
    if (!is(key, defect->drop_key))
        glint_gguf_put_f32(writer, key, is(key, defect->f32_key) ? defect->f32_value : value);
}

static void put_metadata(struct glint_gguf_writer *writer, const struct toy_defect *defect) {
    if (!is("general.architecture", defect->drop_key))
        glint_gguf_put_text(writer, "general.architecture", "muse-glimmer");
    put_u32(writer, defect, "muse-glimmer.block_count", TOY_LAYERS);
    put_u32(writer, defect, "muse-glimmer.context_length", TOY_CONTEXT);
    put_u32(writer, defect, "muse-glimmer.embedding_length", TOY_WIDTH);
    put_u32(writer, defect, "muse-glimmer.feed_forward_length", FF);
    put_u32(writer, defect, "muse-glimmer.attention.head_count", N_HEAD);
    put_u32(writer, defect, "muse-glimmer.attention.head_count_kv", N_HEAD_KV);
    put_u32(writer, defect, "muse-glimmer.attention.key_length", DIM);
    put_u32(writer, defect, "muse-glimmer.attention.value_length", DIM);
    put_u32(writer, defect, "muse-glimmer.attention.sliding_window", 16);
    put_f32(writer, defect, "muse-glimmer.attention.layer_norm_rms_epsilon", 1e-5f);
    put_f32(writer, defect, "muse-glimmer.rope.freq_base", 500000.0f);
    put_f32(writer, defect, "muse-glimmer.final_logit_softcapping", 20.0f);
    put_f32(writer, defect, "muse-glimmer.logit_scale", 1.0f);
    const char *pattern = "muse-glimmer.attention.sliding_window_pattern";
    bool sliding[16];
    for (int i = 0; i < 16; i++)
        sliding[i] = i % 4 != 3;
    if (defect->scalar_pattern)
        glint_gguf_put_u32(writer, pattern, 4);
    else if (!is(pattern, defect->drop_key))
        glint_gguf_put_bools(writer, pattern, sliding,
                             (uint64_t)(defect->n_pattern ? defect->n_pattern : TOY_LAYERS));
    if (defect->extra_key)
        glint_gguf_put_u32(writer, defect->extra_key, 1);
    glint_gguf_put_text(writer, "tokenizer.ggml.model", "gpt2");
    glint_gguf_put_text(writer, "tokenizer.ggml.pre", "llama4");
    put_u32(writer, defect, "tokenizer.ggml.bos_token_id", TOY_VOCAB - 10);
    put_u32(writer, defect, "tokenizer.ggml.eos_token_id", TOY_VOCAB - 9);
    put_u32(writer, defect, "tokenizer.ggml.eot_token_id", TOY_VOCAB - 7);
    put_u32(writer, defect, "tokenizer.ggml.padding_token_id", TOY_VOCAB - 1);
    glint_gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", true);
    put_tokens(writer);
}

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("toy model: %s", error->text);
}

static void fill_row(float *row, uint64_t n, const char *name, uint32_t *seed) {
    bool vector = strstr(name, "norm") != NULL;
    for (uint64_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        float random = (float)(*seed >> 8) / (float)(1 << 24) - 0.5f;
        row[i] = vector ? 1.0f + 0.2f * random : 0.4f * random;
    }
    if (strstr(name, "attn_k_norm"))
        for (uint64_t i = 0; i < n; i++)
            row[i] = 1.0f;
    if (strstr(name, "attn_q_norm"))
        for (uint64_t i = 0; i < n; i++)
            row[i] = 3.87f;
}

// A NaN where the type can hold one: in the values, or in the first scale of the row.
static void spoil(enum glint_dtype dtype, uint8_t *bytes, float *row, uint64_t n) {
    const uint8_t half_nan[2] = {0x00, 0x7e};
    if (dtype == GLINT_DTYPE_F32)
        row[n / 2] = NAN;
    else if (dtype == GLINT_DTYPE_Q8_0 || dtype == GLINT_DTYPE_Q4_0)
        memcpy(bytes, half_nan, 2);
    else
        fail_msg("toy model: no NaN for this type");
}

void toy_model_write(const char *path, const struct toy_defect *given) {
    static const struct toy_defect none;
    const struct toy_defect *defect = given ? given : &none;
    struct glint_error error = {0};
    struct glint_gguf_writer *writer;
    struct plan plan = {.n = 0};
    uint32_t seed = 1;
    plan_all(&plan, defect);
    must(glint_gguf_writer_open(&writer, &error), &error);
    put_metadata(writer, defect);
    for (int i = 0; i < plan.n; i++) {
        uint64_t dims[2] = {plan.tensor[i].n_col, plan.tensor[i].n_row};
        bool matrix = plan.tensor[i].n_row > 0;
        glint_gguf_add_tensor(writer, plan.tensor[i].name, matrix ? (uint32_t)defect->dtype : 0,
                              matrix ? 2 : 1, dims);
    }
    must(glint_gguf_writer_begin(writer, path, &error), &error);
    for (int i = 0; i < plan.n; i++) {
        const char *name = plan.tensor[i].name;
        uint64_t n = plan.tensor[i].n_col, n_row = plan.tensor[i].n_row;
        enum glint_dtype dtype = n_row ? defect->dtype : GLINT_DTYPE_F32;
        float row[ROW_MAX];
        uint8_t bytes[ROW_MAX * 4];
        assert_true(n <= ROW_MAX);
        for (uint64_t r = 0; r < (n_row ? n_row : 1); r++) {
            bool bad = is(name, defect->nan_tensor) && r == n_row / 2;
            fill_row(row, n, name, &seed);
            if (is(name, defect->learned_norm))
                row[1] += 0.5f;
            if (bad && dtype == GLINT_DTYPE_F32)
                spoil(dtype, bytes, row, n);
            glint_dtype_info((uint32_t)dtype)->encode(row, NULL, bytes, (size_t)n);
            if (bad && dtype != GLINT_DTYPE_F32)
                spoil(dtype, bytes, row, n);
            must(glint_gguf_writer_data(writer, bytes, glint_dtype_bytes(dtype, n), &error),
                 &error);
        }
    }
    must(glint_gguf_writer_commit(&writer, &error), &error);
}
