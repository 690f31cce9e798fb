// SPDX-License-Identifier: Apache-2.0
// test_convert.c — the golden checkpoints become the GGUF files that model.md B describes: every
// key, every tensor, every value recomputed here from the source.
#include "base/half.h"
#include "convert_folder.h"
#include "fault.h"
#include "format/cursor.h"
#include "unit/format/scratch.h"

struct converted {
    struct scratch scratch;
    struct glint_safetensors *source;
    struct glint_gguf *gguf;
};

static void convert(const char *folder, const char *out, const char *mmproj, const char *dtype) {
    struct glint_error err = {.status = GLINT_OK};
    const struct glint_convert_request request = {
        folder, out, mmproj, NULL, glint_dtype_by_name(dtype), true};
    size_t n_kept;
    if (glint_convert_run(&request, &n_kept, &err) != GLINT_OK)
        fail_msg("%s: %s", folder, err.text);
    assert_int_equal(n_kept, 0);
}

// vision: the mmproj file instead of the text model.
static void open_converted(struct converted *converted, const char *folder, bool vision,
                           const char *dtype) {
    struct glint_error err = {.status = GLINT_OK};
    char mmproj[600];
    scratch_open(&converted->scratch);
    strcpy(mmproj, scratch_path(&converted->scratch, "mmproj.gguf"));
    scratch_path(&converted->scratch, "out.gguf");
    convert(folder, converted->scratch.path, vision ? mmproj : NULL, dtype);
    const char *path = vision ? mmproj : converted->scratch.path;
    if (glint_gguf_open(&converted->gguf, path, &err) != GLINT_OK ||
        glint_safetensors_open(&converted->source, folder, &err) != GLINT_OK)
        fail_msg("%s", err.text);
}

static void close_converted(struct converted *converted) {
    glint_gguf_close(&converted->gguf);
    glint_safetensors_close(&converted->source);
    scratch_close(&converted->scratch);
}

// ---- values
// -----------------------------------------------------------------------------------------

static float source_value(const struct glint_safetensors_tensor *tensor, uint64_t i) {
    assert_int_equal(tensor->dtype, GLINT_SAFETENSORS_BF16);
    return glint_bf16_to_float(glint_load_u16(tensor->data + 2 * i));
}

static float written_value(const struct glint_gguf_tensor *tensor, uint64_t i) {
    if (tensor->type_id == GLINT_DTYPE_F32)
        return glint_load_f32(tensor->data + 4 * i);
    assert_int_equal(tensor->type_id, GLINT_DTYPE_BF16);
    return glint_bf16_to_float(glint_load_u16(tensor->data + 2 * i));
}

// GGUF row r = HF row, one value a row for a vector of heads.
static uint64_t reordered(uint64_t r, uint64_t head_dim) {
    uint64_t head = r / head_dim, within = r % head_dim;
    return head * head_dim + within % 2 * (head_dim / 2) + within / 2;
}

// The written tensor equals the source's rows in order (head_dim 0) or reordered, plus `plus`.
static void check_tensor(const struct converted *converted, const char *to, const char *from,
                         uint64_t head_dim, float plus) {
    const struct glint_gguf_tensor *written = glint_gguf_find_tensor(converted->gguf, to);
    const struct glint_safetensors_tensor *source = glint_safetensors_find(converted->source, from);
    if (!written || !source)
        fail_msg("%s or %s: not there", to, from);
    uint64_t n_cols = source->n_dims == 2 ? source->dims[1] : 1;
    if (source->n_dims == 2)
        assert_true(written->dims[0] == source->dims[1] && written->dims[1] == source->dims[0]);
    else
        assert_true(written->n_dims == 1 && written->type_id == GLINT_DTYPE_F32);
    assert_int_equal(written->n_values, source->n_values);
    for (uint64_t i = 0; i < source->n_values; i++) {
        uint64_t r = i / n_cols;
        uint64_t from_row = head_dim ? reordered(r, head_dim) : r;
        float expected = source_value(source, from_row * n_cols + i % n_cols) + plus;
        if (written_value(written, i) != expected)
            fail_msg("%s: value %u: found %g, expected %g", to, (unsigned)i,
                     (double)written_value(written, i), (double)expected);
    }
}

static void check_constant(const struct converted *converted, const char *name, float value) {
    const struct glint_gguf_tensor *tensor = glint_gguf_find_tensor(converted->gguf, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->type_id, GLINT_DTYPE_F32);
    for (uint64_t i = 0; i < tensor->n_values; i++)
        assert_true(written_value(tensor, i) == value);
}

static void check_u32(const struct converted *converted, const char *key, uint32_t expected) {
    uint32_t value;
    struct glint_error err;
    const struct glint_gguf_kv *kv = glint_gguf_find(converted->gguf, key);
    if (glint_gguf_get_u32(converted->gguf, key, &value, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    if (value != expected || kv->type != GLINT_GGUF_U32)
        fail_msg("%s: found %u, expected %u", key, value, expected);
}

static void check_f32(const struct converted *converted, const char *key, float expected) {
    float value;
    struct glint_error err;
    if (glint_gguf_get_f32(converted->gguf, key, &value, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    if (value != expected)
        fail_msg("%s: found %g, expected %g", key, (double)value, (double)expected);
}

static void check_text(const struct converted *converted, const char *key, const char *expected) {
    struct glint_view text;
    assert_int_equal(glint_gguf_get_string(converted->gguf, key, &text, NULL), GLINT_OK);
    if (!glint_view_is(text, expected))
        fail_msg("%s: found %.*s, expected %s", key, (int)text.n, text.data, expected);
}

// ---- text
// -------------------------------------------------------------------------------------------

static void check_text_keys(const struct converted *converted) {
    static const struct {
        const char *key;
        uint32_t value;
    } counts[] = {
        {"general.quantization_version", 2},         {"muse-glimmer.block_count", 8},
        {"muse-glimmer.context_length", 4096},       {"muse-glimmer.embedding_length", 128},
        {"muse-glimmer.feed_forward_length", 384},   {"muse-glimmer.attention.head_count", 8},
        {"muse-glimmer.attention.head_count_kv", 2}, {"muse-glimmer.attention.key_length", 32},
        {"muse-glimmer.attention.value_length", 32}, {"muse-glimmer.attention.sliding_window", 16},
        {"tokenizer.ggml.bos_token_id", 504},        {"tokenizer.ggml.eos_token_id", 505},
        {"tokenizer.ggml.padding_token_id", 506},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        check_u32(converted, counts[i].key, counts[i].value);
    check_text(converted, "general.architecture", "muse-glimmer");
    check_text(converted, "general.type", "model");
    check_text(converted, "general.name", "nano");
    check_text(converted, "general.size_label", "2.2M");
    check_text(converted, "tokenizer.ggml.model", "gpt2");
    check_text(converted, "tokenizer.ggml.pre", "llama4");
    check_f32(converted, "muse-glimmer.attention.layer_norm_rms_epsilon", 1e-5f);
    check_f32(converted, "muse-glimmer.rope.freq_base", 500000.0f);
    check_f32(converted, "muse-glimmer.final_logit_softcapping", 20.0f);
    check_f32(converted, "muse-glimmer.logit_scale", 1.41421356f);
    const struct glint_gguf_kv *pattern;
    assert_int_equal(glint_gguf_get_array(converted->gguf,
                                          "muse-glimmer.attention.sliding_window_pattern",
                                          GLINT_GGUF_BOOLS, &pattern, NULL),
                     GLINT_OK);
    assert_int_equal(pattern->n, 8);
    for (uint64_t i = 0; i < 8; i++) {
        bool sliding;
        assert_true(glint_gguf_item_bool(pattern, i, &sliding) && sliding == (i % 4 != 3));
    }
    assert_int_equal(converted->gguf->n_kvs, 31); // B.1's 32 but for the chat template
}

static void check_text_tensors(const struct converted *converted) {
    static const struct {
        const char *to, *from;
        uint64_t head_dim;
        float plus;
    } layer[] = {
        {"attn_norm", "input_layernorm", 0, 1},
        {"attn_q", "self_attn.q_proj", 32, 0},
        {"attn_k", "self_attn.k_proj", 32, 0},
        {"attn_v", "self_attn.v_proj", 0, 0},
        {"attn_gate", "self_attn.gate_proj", 0, 0},
        {"attn_output", "self_attn.o_proj", 0, 0},
        {"post_attention_norm", "post_attention_layernorm", 0, 1},
        {"ffn_norm", "pre_feedforward_layernorm", 0, 1},
        {"ffn_gate", "mlp.gate_proj", 0, 0},
        {"ffn_up", "mlp.up_proj", 0, 0},
        {"ffn_down", "mlp.down_proj", 0, 0},
        {"post_ffw_norm", "post_feedforward_layernorm", 0, 1},
    };
    char to[100], from[200];
    check_tensor(converted, "token_embd.weight", "model.language_model.embed_tokens.weight", 0, 0);
    check_tensor(converted, "output.weight", "lm_head.weight", 0, 0);
    check_tensor(converted, "output_norm.weight", "model.language_model.norm.weight", 0, 0);
    for (int l = 0; l < 8; l++) {
        for (size_t i = 0; i < sizeof layer / sizeof *layer; i++) {
            snprintf(to, sizeof to, "blk.%d.%s.weight", l, layer[i].to);
            snprintf(from, sizeof from, "model.language_model.layers.%d.%s.weight", l,
                     layer[i].from);
            check_tensor(converted, to, from, layer[i].head_dim, layer[i].plus);
        }
        snprintf(to, sizeof to, "blk.%d.attn_q_norm.weight", l);
        check_constant(converted, to, 3.87f);
        snprintf(to, sizeof to, "blk.%d.attn_k_norm.weight", l);
        check_constant(converted, to, 1.0f);
    }
    assert_int_equal(converted->gguf->n_tensors, 8 * 14 + 3);
}

static void test_text(void **state) {
    (void)state;
    static const char *const dtypes[] = {"bf16", "f32"};
    static const uint32_t file_types[] = {32, 0};
    for (int i = 0; i < 2; i++) {
        struct converted converted;
        open_converted(&converted, "golden/nano", false, dtypes[i]);
        check_text_keys(&converted);
        check_u32(&converted, "general.file_type", file_types[i]);
        check_text_tensors(&converted);
        const struct glint_gguf_tensor *matrix =
            glint_gguf_find_tensor(converted.gguf, "blk.3.ffn_up.weight");
        assert_int_equal(matrix->type_id, i ? GLINT_DTYPE_F32 : GLINT_DTYPE_BF16);
        close_converted(&converted);
    }
}

// The vocabulary made up for a folder without tokenizer.
static void test_made_up_vocabulary(void **state) {
    (void)state;
    struct converted converted;
    const struct glint_gguf_kv *tokens, *types, *merges;
    struct glint_view text;
    int64_t type;
    open_converted(&converted, "golden/nano", false, "bf16");
    const struct glint_gguf *gguf = converted.gguf;
    struct glint_error err;
    assert_int_equal(
        glint_gguf_get_array(gguf, "tokenizer.ggml.tokens", GLINT_GGUF_STRINGS, &tokens, &err),
        GLINT_OK);
    assert_int_equal(
        glint_gguf_get_array(gguf, "tokenizer.ggml.token_type", GLINT_GGUF_INTS, &types, &err),
        GLINT_OK);
    assert_int_equal(
        glint_gguf_get_array(gguf, "tokenizer.ggml.merges", GLINT_GGUF_STRINGS, &merges, &err),
        GLINT_OK);
    assert_int_equal(tokens->n, 512);
    assert_int_equal(types->n, 512);
    assert_int_equal(merges->n, 0);
    static const struct {
        uint64_t id;
        const char *text;
    } some[] = {
        {0, "\xc4\x80"},
        {'A', "A"},
        {' ', "\xc4\xa0"},
        {0xad, "\xc5\x83"},
        {0xff, "\xc3\xbf"},
        {256, "<|eom|>"},
        {257, "<|eot|>"},
        {500, "<|patch|>"},
        {501, "<|video|>"},
        {504, "<|begin_of_text|>"},
        {505, "<|end_of_text|>"},
        {506, "<|finetune_right_pad|>"},
        {511, "<|reserved_special_token_255|>"},
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        assert_true(glint_gguf_item_string(tokens, some[i].id, &text));
        if (!glint_view_is(text, some[i].text))
            fail_msg("%u: found %.*s, expected %s", (unsigned)some[i].id, (int)text.n, text.data,
                     some[i].text);
    }
    for (uint64_t id = 0; id < 512; id++)
        assert_true(glint_gguf_item_i64(types, id, &type) && type == (id < 256 ? 1 : 3));
    check_u32(&converted, "tokenizer.ggml.eot_token_id", 257);
    close_converted(&converted);
}

// ---- vision and drafter
// -----------------------------------------------------------------------------

static void check_patch_kernel(const struct converted *converted) {
    const struct glint_gguf_tensor *written =
        glint_gguf_find_tensor(converted->gguf, "v.patch_embd.weight");
    const struct glint_safetensors_tensor *source = glint_safetensors_find(
        converted->source, "model.vision_tower.patch_embedder.patch_embedding.weight");
    assert_int_equal(written->n_dims, 4);
    assert_true(written->dims[0] == 14 && written->dims[1] == 14 && written->dims[2] == 3 &&
                written->dims[3] == 64);
    for (uint64_t o = 0; o < 64; o++)
        for (uint64_t i = 0; i < 588; i++)
            assert_true(written_value(written, o * 588 + i) ==
                        source_value(source, o * 1176 + i) +
                            source_value(source, o * 1176 + 588 + i));
}

static void test_vision(void **state) {
    (void)state;
    static const struct {
        const char *to, *from;
        uint64_t head_dim;
    } layer[] = {
        {"ln1", "norm1", 0},          {"attn_q", "attn.q_proj", 16}, {"attn_k", "attn.k_proj", 16},
        {"attn_v", "attn.v_proj", 0}, {"attn_out", "attn.proj", 0},  {"ln2", "norm2", 0},
        {"ffn_up", "mlp.fc1", 0},     {"ffn_down", "mlp.fc2", 0},
    };
    struct converted converted;
    open_converted(&converted, "golden/nano", true, "bf16");
    check_text(&converted, "general.architecture", "clip");
    check_text(&converted, "general.type", "mmproj");
    check_text(&converted, "clip.projector_type", "muse-glimmer");
    check_u32(&converted, "clip.vision.projection_dim", 128);
    check_u32(&converted, "clip.vision.image_size", 8 * 14 * 2);
    check_u32(&converted, "clip.vision.patch_size", 14);
    check_u32(&converted, "clip.vision.embedding_length", 64);
    check_u32(&converted, "clip.vision.feed_forward_length", 160);
    check_u32(&converted, "clip.vision.block_count", 6);
    check_u32(&converted, "clip.vision.attention.head_count", 4);
    check_u32(&converted, "clip.vision.spatial_merge_size", 2);
    check_f32(&converted, "clip.vision.attention.layer_norm_epsilon", 1e-5f);
    // Beside what other engines know: the patch kernel before the sum, and its key.
    check_u32(&converted, "glint.vision.patch_frames", 2);
    assert_int_equal(converted.gguf->n_kvs, 19 + 1);
    assert_int_equal(converted.gguf->n_tensors, 6 * 16 + 9 + 1);
    check_patch_kernel(&converted);
    check_tensor(&converted, "v.patch_embd_frames.weight",
                 "model.vision_tower.patch_embedder.patch_embedding.weight", 0, 0);
    check_tensor(&converted, "v.position_embd.weight",
                 "model.vision_tower.patch_embedder.position_embedding_table.weight", 0, 0);
    check_tensor(&converted, "v.pre_ln.bias", "model.vision_tower.ln_pre.bias", 0, 0);
    check_tensor(&converted, "v.post_ln.weight", "model.vision_tower.ln_post.weight", 0, 0);
    check_tensor(&converted, "mm.0.weight", "model.vision_adapter.fc1.weight", 0, 0);
    check_tensor(&converted, "mm.1.weight", "model.vision_adapter.fc2.weight", 0, 0);
    check_tensor(&converted, "mm.2.weight", "model.vision_projection.weight", 0, 0);
    for (int n = 0; n < 6 * 8 * 2; n++) {
        char to[100], from[200];
        const char *end = n % 2 ? "bias" : "weight";
        int i = n / 2 % 8;
        snprintf(to, sizeof to, "v.blk.%d.%s.%s", n / 16, layer[i].to, end);
        snprintf(from, sizeof from, "model.vision_tower.layers.%d.%s.%s", n / 16, layer[i].from,
                 end);
        check_tensor(&converted, to, from, layer[i].head_dim, 0);
    }
    close_converted(&converted);
}

static void check_targets(const struct converted *converted) {
    static const int64_t expected[] = {2, 4, 7};
    const struct glint_gguf_kv *targets;
    assert_int_equal(glint_gguf_get_array(converted->gguf, "dflash.target_layers", GLINT_GGUF_INTS,
                                          &targets, NULL),
                     GLINT_OK);
    assert_int_equal(targets->n, 3);
    assert_int_equal(targets->type, GLINT_GGUF_I32);
    for (uint64_t i = 0; i < 3; i++) {
        int64_t layer;
        assert_true(glint_gguf_item_i64(targets, i, &layer) && layer == expected[i]);
    }
}

static void test_drafter(void **state) {
    (void)state;
    struct converted converted;
    open_converted(&converted, "golden/nano/assistant", false, "bf16");
    check_text(&converted, "general.architecture", "dflash");
    check_u32(&converted, "dflash.block_count", 2);
    check_u32(&converted, "dflash.attention.head_count_kv", 4);
    check_u32(&converted, "dflash.block_size", 16);
    check_u32(&converted, "tokenizer.ggml.mask_token_id", 509);
    check_u32(&converted, "tokenizer.ggml.bos_token_id", 504);
    check_targets(&converted);
    assert_int_equal(glint_gguf_find(converted.gguf, "tokenizer.ggml.tokens")->n, 512);
    assert_int_equal(converted.gguf->n_kvs, 32); // B.4's 33 but for the chat template
    assert_int_equal(converted.gguf->n_tensors, 2 * 11 + 3);
    check_tensor(&converted, "fc.weight", "encoder.fc.weight", 0, 0);
    check_tensor(&converted, "enc.output_norm.weight", "encoder.output_norm_enc.weight", 0, 0);
    check_tensor(&converted, "output_norm.weight", "norm.weight", 0, 0);
    check_tensor(&converted, "blk.1.attn_q.weight", "layers.1.self_attn.q_proj.weight", 0, 0);
    check_tensor(&converted, "blk.1.attn_k.weight", "layers.1.self_attn.k_proj.weight", 0, 0);
    check_tensor(&converted, "blk.0.attn_norm.weight", "layers.0.input_layernorm.weight", 0, 0);
    check_tensor(&converted, "blk.0.ffn_norm.weight", "layers.0.post_attention_layernorm.weight", 0,
                 0);
    check_tensor(&converted, "blk.0.attn_q_norm.weight", "layers.0.self_attn.q_norm.weight", 0, 0);
    check_tensor(&converted, "blk.1.ffn_down.weight", "layers.1.mlp.down_proj.weight", 0, 0);
    close_converted(&converted);
}

// ---- other depths and types
// -------------------------------------------------------------------------

static void test_all_shapes(void **state) {
    (void)state;
    static const char *const folders[] = {"golden/wide", "golden/six", "golden/one", "golden/odd",
                                          "golden/five"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct converted converted;
        if (access(folders[i], F_OK) != 0)
            continue;
        open_converted(&converted, folders[i], false, "f16");
        assert_true(converted.gguf->n_tensors % 14 == 3);
        close_converted(&converted);
    }
}

static void test_block_types(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_error err = {.status = GLINT_OK};
    size_t n_kept;
    scratch_open(&scratch);
    scratch_path(&scratch, "out.gguf");
    struct glint_convert_request request = {
        .folder = "golden/nano", .out = scratch.path, .quiet = true};
    request.dtype = glint_dtype_by_name("q8_0");
    assert_int_equal(glint_convert_run(&request, &n_kept, &err), GLINT_OK);
    assert_int_equal(n_kept, 0);
    struct glint_gguf *gguf;
    assert_int_equal(glint_gguf_open(&gguf, scratch.path, &err), GLINT_OK);
    assert_int_equal(glint_gguf_find_tensor(gguf, "output.weight")->type_id, GLINT_DTYPE_Q8_0);
    assert_int_equal(glint_gguf_find_tensor(gguf, "output_norm.weight")->type_id, GLINT_DTYPE_F32);
    glint_gguf_close(&gguf);
    // Rows of 128 and 384 do not divide into blocks of 256; attn_output's of 256 do.
    request.dtype = glint_dtype_by_name("q4_k");
    assert_int_equal(glint_convert_run(&request, &n_kept, &err), GLINT_OK);
    assert_int_equal(n_kept, 8 * 7 + 2);
    assert_int_equal(glint_gguf_open(&gguf, scratch.path, &err), GLINT_OK);
    assert_int_equal(glint_gguf_find_tensor(gguf, "blk.0.attn_output.weight")->type_id,
                     GLINT_DTYPE_Q4_K);
    assert_int_equal(glint_gguf_find_tensor(gguf, "output.weight")->type_id, GLINT_DTYPE_BF16);
    glint_gguf_close(&gguf);
    scratch_close(&scratch);
}

static enum glint_status convert_nano(void *context, struct glint_error *err) {
    const struct glint_convert_request request = {.folder = "golden/nano/assistant",
                                                  .out = context,
                                                  .dtype = glint_dtype_by_name("bf16"),
                                                  .quiet = true};
    size_t n_kept;
    return glint_convert_run(&request, &n_kept, err);
}

static void test_each_allocation_failing(void **state) {
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    scratch_path(&scratch, "out.gguf");
    assert_true(glint_fault_each(convert_nano, scratch.path) > 50);
    assert_int_equal(scratch_count(&scratch), 1);
    scratch_close(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_made_up_vocabulary),
        cmocka_unit_test(test_vision),
        cmocka_unit_test(test_drafter),
        cmocka_unit_test(test_all_shapes),
        cmocka_unit_test(test_block_types),
        cmocka_unit_test(test_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
