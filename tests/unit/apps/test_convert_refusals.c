// SPDX-License-Identifier: Apache-2.0
// test_convert_refusals.c — folders that cannot be converted, each with a message that says why and
// no file left behind; folders with a tokenizer and a template; Ctrl-C.
#include "convert_folder.h"
#include "interrupt.h"
#include "unit/format/scratch.h"

#include <limits.h>
#include <signal.h>

// A copy of golden/nano whose weights are a link and whose config.json has `from` replaced by `to`.
struct folder {
    struct scratch scratch; // the folder
    struct scratch out;     // where output goes
};

static void link_file(struct folder *folder, const char *source, const char *name) {
    char *target = realpath(source, NULL);
    assert_non_null(target);
    assert_int_equal(symlink(target, scratch_path(&folder->scratch, name)), 0);
    free(target);
}

static void write_replaced(struct folder *folder, const char *source, const char *from,
                           const char *to) {
    size_t n;
    char *text = (char *)scratch_read(source, &n);
    char *at = from ? strstr(text, from) : text;
    if (!at)
        fail_msg("%s: no %s in it", source, from);
    struct glint_buffer out = {.data = NULL};
    glint_buffer_append(&out, text, (size_t)(at - text));
    if (from) {
        glint_buffer_append_text(&out, to);
        at += strlen(from);
    }
    glint_buffer_append_text(&out, at);
    scratch_write(scratch_path(&folder->scratch, "config.json"), out.data, out.n);
    glint_buffer_fini(&out);
    free(text);
}

static void open_folder(struct folder *folder, const char *from, const char *to) {
    scratch_open(&folder->scratch);
    scratch_open(&folder->out);
    scratch_path(&folder->out, "out.gguf");
    write_replaced(folder, "golden/nano/config.json", from, to);
    link_file(folder, "golden/nano/model.safetensors", "model.safetensors");
}

static void close_folder(struct folder *folder) {
    scratch_close(&folder->scratch);
    scratch_close(&folder->out);
}

static enum glint_status run(const struct folder *folder, const char *mmproj, const char *dtype,
                             struct glint_error *err) {
    const struct glint_convert_request request = {
        folder->scratch.folder, folder->out.path, mmproj, NULL, glint_dtype_by_name(dtype), true};
    size_t n_kept;
    return glint_convert_run(&request, &n_kept, err);
}

static void assert_fails(const struct folder *folder, const char *mmproj, const char *message) {
    struct glint_error err = {.status = GLINT_OK};
    if (run(folder, mmproj, "bf16", &err) == GLINT_OK)
        fail_msg("was converted, expected \"%s\"", message);
    if (!strstr(err.text, message))
        fail_msg("found \"%s\", expected \"%s\"", err.text, message);
    assert_int_equal(scratch_count(&folder->out), 0);
}

// ---- configurations
// ---------------------------------------------------------------------------------

static void test_text_configs(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"\"muse_glimmer\"", "\"llama\"", "config.json: model_type: found llama"},
        {"\"muse_glimmer_text\"", "\"other\"", "text_config.model_type: found other"},
        {"\"num_hidden_layers\": 8", "\"num_hidden_layers\": 0",
         "text_config.num_hidden_layers: found 0, expected a whole number"},
        {"\"num_hidden_layers\": 8", "\"num_hidden_layers\": 9",
         "text_config.layer_types: found 8 items, expected 9"},
        {"\"head_dim\": 32", "\"head_dim\": \"32\"", "text_config.head_dim: found 32"},
        {"\"head_dim\": 32", "\"head_dim\": 64",
         "self_attn.q_proj.weight: shape: found [256, 128], expected [512, 128]"},
        {"\"head_dim\": 32,", "", "text_config.head_dim: found nothing"},
        {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "a divisor"},
        {"\"post_norm_eps\": 1e-08", "\"post_norm_eps\": 1e-5",
         "text_config.post_norm_eps: found 1e-5, expected 1e-08"},
        {"\"silu\"", "\"gelu\"", "text_config.hidden_activation: found gelu, expected silu"},
        {"\"attention_bias\": false", "\"attention_bias\": true", "found true, expected false"},
        {"\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true", "tie_word_embeddings"},
        {"\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", "rope_type: found yarn"},
        {"\"rope_theta\": 500000.0", "\"rope_theta\": \"x\"", "rope_parameters.rope_theta"},
        {"500000.0,", "0,", "layer_rope_theta[0]: found 0, expected 500000"},
        {"500000.0,", "10000.0,", "layer_rope_theta[0]: found 10000, expected 500000"},
        {"\"sliding_attention\"", "\"full_attention\"",
         "layer_rope_theta[0]: found 500000, expected 0"},
        {"\"sliding_attention\"", "\"chunked_attention\"",
         "layer_types[0]: found chunked_attention"},
        {"\"vocab_size\": 512", "\"vocab_size\": 511", "expected [511, 128]"},
        {"\"bos_token_id\": 504", "\"bos_token_id\": 4000", "no place for <|begin_of_text|>"},
        {"\"bos_token_id\": 504", "\"bos_token_id\": 505", "no place for <|end_of_text|>"},
        {"{", "[", "config.json: line"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct folder folder;
        open_folder(&folder, cases[i][0], cases[i][1]);
        assert_fails(&folder, NULL, cases[i][2]);
        close_folder(&folder);
    }
}

static void test_default_patterns(void **state) {
    (void)state;
    // Without the lists the official rule holds: every fourth from the last is full.
    struct folder folder;
    struct glint_error err = {.status = GLINT_OK};
    open_folder(&folder, "\"layer_types\"", "\"unknown_types\"");
    if (run(&folder, NULL, "bf16", &err) != GLINT_OK)
        fail_msg("%s", err.text);
    close_folder(&folder);
    open_folder(&folder, "\"layer_rope_theta\"", "\"unknown_theta\"");
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_OK);
    close_folder(&folder);
}

static void test_vision_configs(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"\"muse_glimmer_vision\"", "\"clip\"", "vision_config.model_type: found clip"},
        {"\"patch_temporal\": 2", "\"patch_temporal\": 1", "patch_temporal: found 1, expected 2"},
        {"\"hidden_act\": \"gelu\"", "\"hidden_act\": \"gelu_tanh\"",
         "hidden_act: found gelu_tanh"},
        {"\"window_attention\"", "\"full_attention\"",
         "vision_config.layer_types[0]: found full_attention, expected window_attention"},
        {"\"rope_theta\": 10000.0", "\"rope_theta\": 1000.0", "rope_theta: found 1000"},
        {"\"pos_emb_width\": 8", "\"pos_emb_width\": 9", "pos_emb_width: found 9"},
        {"\"projector_hidden_size\": 96", "\"projector_hidden_size\": 64", "expected [64, 256]"},
        {"\"out_hidden_size\": 256", "\"out_hidden_size\": 64", "out_hidden_size: found 64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct folder folder;
        char mmproj[600];
        open_folder(&folder, cases[i][0], cases[i][1]);
        snprintf(mmproj, sizeof mmproj, "%s/mmproj.gguf", folder.out.folder);
        assert_fails(&folder, mmproj, cases[i][2]);
        close_folder(&folder);
    }
}

// ---- weights
// ----------------------------------------------------------------------------------------

// Replaces the link by a changed copy of the weights.
static void patch_weights(struct folder *folder, const char *from, const char *to) {
    size_t n;
    uint8_t *data = scratch_read("golden/nano/model.safetensors", &n);
    assert_int_equal(strlen(from), strlen(to)); // the header keeps its length
    uint8_t *at = NULL;
    for (size_t i = 8; i + strlen(from) < 30000 && !at; i++)
        if (memcmp(data + i, from, strlen(from)) == 0)
            at = data + i;
    assert_non_null(at);
    memcpy(at, to, strlen(to));
    unlink(scratch_path(&folder->scratch, "model.safetensors"));
    scratch_write(folder->scratch.path, data, n);
    free(data);
}

static void test_weights(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"layers.7.mlp.up_proj", "layers.8.mlp.up_proj",
         "tensor model.language_model.layers.7.mlp.up_proj.weight: found nothing"},
        {"vision_tower.layers.5.norm1.bias", "visiox_tower.layers.5.norm1.bias",
         "tensor model.visiox_tower.layers.5.norm1.bias: found one that this model does not have"},
        {"\"shape\":[512,128]", "\"shape\":[128,512]", "shape: found [128, 512], expected [512, "},
        {"\"BF16\"", "\"I16\" ", "found dtype I16, expected BF16, F16 or F32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct folder folder;
        open_folder(&folder, NULL, NULL);
        patch_weights(&folder, cases[i][0], cases[i][1]);
        assert_fails(&folder, NULL, cases[i][2]);
        close_folder(&folder);
    }
}

static void set_last_embedding(struct folder *folder, uint16_t bf16) {
    size_t n;
    uint8_t *data = scratch_read("golden/nano/model.safetensors", &n);
    uint64_t n_header = 0;
    memcpy(&n_header, data, 8);
    memcpy(data + 8 + n_header + 262142, &bf16, 2); // the last of embed_tokens
    unlink(scratch_path(&folder->scratch, "model.safetensors"));
    scratch_write(folder->scratch.path, data, n);
    free(data);
}

static void test_values(void **state) {
    (void)state;
    struct folder folder;
    struct glint_error err = {.status = GLINT_OK};
    open_folder(&folder, NULL, NULL);
    set_last_embedding(&folder, 0x7fc0);
    assert_fails(&folder, NULL, "tensor token_embd.weight: value 65535: found nan");
    set_last_embedding(&folder, 0xff80);
    assert_fails(&folder, NULL, "tensor token_embd.weight: value 65535: found -inf");
    set_last_embedding(&folder, 0x4790); // 73728: too large for f16 only
    assert_int_equal(run(&folder, NULL, "f16", &err), GLINT_E_FORMAT);
    assert_non_null(strstr(err.text, "found 73728, expected a finite number that type f16 holds"));
    assert_int_equal(scratch_count(&folder.out), 0);
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_OK);
    close_folder(&folder);
}

static void test_outputs(void **state) {
    (void)state;
    struct folder folder;
    struct glint_error err = {.status = GLINT_OK};
    open_folder(&folder, NULL, NULL);
    // Over the weights, under another name.
    strcpy(folder.out.path, scratch_path(&folder.scratch, "model.safetensors"));
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_E_ARG);
    assert_non_null(strstr(err.text, "is the input file"));
    // Over the configuration, which is read, too.
    strcpy(folder.out.path, scratch_path(&folder.scratch, "generation_config.json"));
    scratch_write(folder.out.path, "{}", 2);
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_E_ARG);
    assert_non_null(strstr(err.text, "is the input file"));
    scratch_path(&folder.out, "out.gguf");
    assert_int_equal(run(&folder, folder.out.path, "bf16", &err), GLINT_E_ARG);
    // The vision file cannot be made: no text file either.
    scratch_path(&folder.out, "no/out.gguf");
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_E_NOTFOUND);
    assert_int_equal(scratch_count(&folder.out), 0);
    close_folder(&folder);
}

static void test_no_checkpoint(void **state) {
    (void)state;
    struct folder folder;
    open_folder(&folder, NULL, NULL);
    unlink(scratch_path(&folder.scratch, "config.json"));
    assert_fails(&folder, NULL, "found no config.json in it, expected the folder");
    struct folder file = folder;
    strcpy(file.scratch.folder, "golden/nano/model.safetensors");
    assert_fails(&file, NULL, "found a file, expected the folder");
    close_folder(&folder);
}

static void test_drafter_needs_a_vocabulary(void **state) {
    (void)state;
    struct folder folder;
    struct glint_error err = {.status = GLINT_OK};
    size_t n_kept;
    scratch_open(&folder.scratch);
    scratch_open(&folder.out);
    scratch_path(&folder.out, "out.gguf");
    write_replaced(&folder, "golden/nano/assistant/config.json", NULL, NULL);
    link_file(&folder, "golden/nano/assistant/model.safetensors", "model.safetensors");
    assert_fails(&folder, NULL, "expected --target");
    struct glint_convert_request request = {folder.scratch.folder,
                                            folder.out.path,
                                            NULL,
                                            "golden/nano",
                                            glint_dtype_by_name("bf16"),
                                            true};
    if (glint_convert_run(&request, &n_kept, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    // From a GGUF file: the same bytes.
    char text[600];
    snprintf(text, sizeof text, "%s/text.gguf", folder.out.folder);
    const struct glint_convert_request text_request = {
        "golden/nano", text, NULL, NULL, glint_dtype_by_name("bf16"), true};
    assert_int_equal(glint_convert_run(&text_request, &n_kept, &err), GLINT_OK);
    size_t n, n_again;
    uint8_t *first = scratch_read(folder.out.path, &n);
    request.target = text;
    assert_int_equal(glint_convert_run(&request, &n_kept, &err), GLINT_OK);
    uint8_t *again = scratch_read(folder.out.path, &n_again);
    assert_int_equal(n, n_again);
    assert_memory_equal(first, again, n);
    free(first);
    free(again);
    close_folder(&folder);
}

// ---- tokenizers
// -------------------------------------------------------------------------------------

// 256 single bytes, their pairs with "!", then the special tokens: 512 in all but one gap.
static void write_tokenizer(struct folder *folder, bool pairs, const char *added) {
    struct glint_buffer text = {.data = NULL};
    glint_buffer_append_text(&text, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"!\":0");
    for (int i = 1; i < 256; i++) // spelled freely: what bytes they are is token/'s business
        glint_buffer_printf(&text, ",\"t%d\":%d", i, i);
    glint_buffer_append_text(&text, ",\"!t1\":256},\"merges\":[");
    glint_buffer_append_text(&text, pairs ? "[\"!\",\"t1\"]" : "\"! t1\"");
    glint_buffer_printf(&text, "]},\"added_tokens\":[%s", added);
    for (int i = 258; i < 512; i++)
        glint_buffer_printf(&text, "%s{\"id\":%d,\"content\":\"<|r%d|>\",\"special\":true}",
                            i > 258 || *added ? "," : "", i, i);
    glint_buffer_append_text(&text, "]}");
    scratch_write(scratch_path(&folder->scratch, "tokenizer.json"), text.data, text.n);
    glint_buffer_fini(&text);
}

static const char four[] = "{\"id\":504,\"content\":\"<|r504|>\",\"special\":true}";

static void replace_in(struct folder *folder, const char *from, const char *to) {
    size_t n;
    char *text = (char *)scratch_read(scratch_path(&folder->scratch, "tokenizer.json"), &n);
    char *at = strstr(text, from);
    assert_non_null(at);
    struct glint_buffer out = {.data = NULL};
    glint_buffer_append(&out, text, (size_t)(at - text));
    glint_buffer_append_text(&out, to);
    glint_buffer_append_text(&out, at + strlen(from));
    scratch_write(folder->scratch.path, out.data, out.n);
    glint_buffer_fini(&out);
    free(text);
}

static void name_specials(struct folder *folder) {
    static const char *const names[][2] = {{"<|r504|>", "<|begin_of_text|>"},
                                           {"<|r400|>", "<|end_of_text|>"},
                                           {"<|r401|>", "<|eot|>"},
                                           {"<|r402|>", "<|finetune_right_pad|>"}};
    for (size_t i = 0; i < 4; i++)
        replace_in(folder, names[i][0], names[i][1]);
}

static void check_tokenizer(const char *path, const char *chat_template) {
    struct glint_gguf *gguf;
    struct glint_error err = {.status = GLINT_OK};
    const struct glint_gguf_kv *tokens, *types, *merges;
    struct glint_view text;
    int64_t type;
    uint32_t id;
    if (glint_gguf_open(&gguf, path, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    glint_gguf_get_array(gguf, "tokenizer.ggml.tokens", GLINT_GGUF_STRINGS, &tokens, &err);
    glint_gguf_get_array(gguf, "tokenizer.ggml.token_type", GLINT_GGUF_INTS, &types, &err);
    glint_gguf_get_array(gguf, "tokenizer.ggml.merges", GLINT_GGUF_STRINGS, &merges, &err);
    assert_int_equal(tokens->n, 512);
    assert_true(glint_gguf_item_string(tokens, 256, &text) && glint_view_is(text, "!t1"));
    assert_true(glint_gguf_item_string(tokens, 257, &text) && glint_view_is(text, "[PAD257]"));
    static const int64_t expected[][2] = {{0, 1}, {255, 1}, {256, 1}, {257, 5}, {258, 3}, {511, 3}};
    for (size_t i = 0; i < 6; i++)
        assert_true(glint_gguf_item_i64(types, (uint64_t)expected[i][0], &type) &&
                    type == expected[i][1]);
    assert_int_equal(merges->n, 1);
    assert_true(glint_gguf_item_string(merges, 0, &text) && glint_view_is(text, "! t1"));
    // By text: config.json says 505 for the end.
    assert_true(glint_gguf_get_u32(gguf, "tokenizer.ggml.eos_token_id", &id, &err) == GLINT_OK &&
                id == 400);
    assert_true(glint_gguf_get_u32(gguf, "tokenizer.ggml.eot_token_id", &id, &err) == GLINT_OK &&
                id == 401);
    assert_int_equal(glint_gguf_find(gguf, "tokenizer.chat_template") != NULL,
                     chat_template != NULL);
    if (chat_template) {
        assert_int_equal(glint_gguf_get_string(gguf, "tokenizer.chat_template", &text, &err),
                         GLINT_OK);
        assert_true(glint_view_is(text, chat_template));
    }
    glint_gguf_close(&gguf);
}

static void test_tokenizer(void **state) {
    (void)state;
    struct folder folder;
    struct glint_error err = {.status = GLINT_OK};
    open_folder(&folder, NULL, NULL);
    for (int pairs = 0; pairs < 2; pairs++) {
        write_tokenizer(&folder, pairs != 0, "");
        name_specials(&folder);
        if (run(&folder, NULL, "bf16", &err) != GLINT_OK)
            fail_msg("%s", err.text);
        check_tokenizer(folder.out.path, NULL);
    }
    const char config[] = "{\"chat_template\":[{\"name\":\"x\",\"template\":\"no\"},"
                          "{\"name\":\"default\",\"template\":\"yes\\n\"}]}";
    scratch_write(scratch_path(&folder.scratch, "tokenizer_config.json"), config,
                  sizeof config - 1);
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_OK);
    check_tokenizer(folder.out.path, "yes\n");
    scratch_write(scratch_path(&folder.scratch, "tokenizer_config.json"),
                  "{\"chat_template\":\"one\"}", 23);
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_OK);
    check_tokenizer(folder.out.path, "one");
    scratch_write(scratch_path(&folder.scratch, "chat_template.jinja"), "{{ x }}", 7);
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_OK);
    check_tokenizer(folder.out.path, "{{ x }}"); // the file wins
    close_folder(&folder);
}

static void test_bad_tokenizers(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"\"BPE\"", "\"WordPiece\"", "tokenizer.json: model.type: found WordPiece"},
        {"\"t7\":7", "\"t7\":512", "token t7: found id 512"},
        {"\"t7\":7", "\"t7\":-1", "token t7: found id -1"},
        {"\"t7\":7", "\"t7\":8", "token t8: found id 8, which token t7 has too"},
        {"\"t7\":7", "\"t7\":null", "token t7: found id nothing"},
        {"\"! t1\"", "\"!t1\"", "model.merges[0]: found a string, expected two tokens"},
        {"\"! t1\"", "[\"!\"]", "model.merges[0]: found an array"},
        {"<|eot|>", "<|eox|>", "found no token <|eot|>"},
        {"\"content\"", "\"text\"", "added_tokens"},
        {"{\"model\"", "{\"modal\"", "tokenizer.json: model: found nothing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct folder folder;
        open_folder(&folder, NULL, NULL);
        write_tokenizer(&folder, false, "");
        name_specials(&folder);
        replace_in(&folder, cases[i][0], cases[i][1]);
        assert_fails(&folder, NULL, cases[i][2]);
        close_folder(&folder);
    }
    // The same id twice with the same text is what added_tokens often does.
    struct folder folder;
    struct glint_error err = {.status = GLINT_OK};
    open_folder(&folder, NULL, NULL);
    write_tokenizer(&folder, false, four);
    replace_in(&folder, "<|r504|>", "<|begin_of_text|>");
    name_specials(&folder);
    if (run(&folder, NULL, "bf16", &err) != GLINT_OK)
        fail_msg("%s", err.text);
    close_folder(&folder);
}

// ---- Ctrl-C
// -----------------------------------------------------------------------------------------

static void test_interrupt(void **state) {
    (void)state;
    struct folder folder;
    struct glint_error err = {.status = GLINT_OK};
    open_folder(&folder, NULL, NULL);
    glint_interrupt_watch();
    raise(SIGINT);
    assert_true(glint_interrupt_seen());
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_E_CANCELLED);
    assert_string_equal(err.text, "interrupted");
    assert_int_equal(scratch_count(&folder.out), 0);
    glint_interrupt_watch();
    assert_false(glint_interrupt_seen());
    assert_int_equal(run(&folder, NULL, "bf16", &err), GLINT_OK);
    close_folder(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_configs),   cmocka_unit_test(test_default_patterns),
        cmocka_unit_test(test_vision_configs), cmocka_unit_test(test_weights),
        cmocka_unit_test(test_values),         cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_no_checkpoint),  cmocka_unit_test(test_drafter_needs_a_vocabulary),
        cmocka_unit_test(test_tokenizer),      cmocka_unit_test(test_bad_tokenizers),
        cmocka_unit_test(test_interrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
