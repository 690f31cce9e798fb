// SPDX-License-Identifier: Apache-2.0
// test_drafter.c — drafters that must not run: each gives an error that names the file, the field,
// what was found and what was expected, and leaves nothing behind.
#include "drafter_edit.h"
#include "fault.h"

#include <glint/glint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[128];

static struct glint_engine_params demo_params(const char *drafter) {
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = DEMO_MODEL;
    params.draft_path = drafter;
    params.n_threads = 1;
    params.n_context = 1024;
    return params;
}

static void expect_refusal(const struct drafter_edit *edit, enum glint_status status,
                           const char *word, const char *word2) {
    struct glint_engine_params params = demo_params(path);
    struct glint_engine *engine;
    struct glint_error error = {0};
    drafter_edit_write(path, edit);
    size_t held = glint_alloc_live_blocks();
    enum glint_status got = glint_engine_open(&engine, &params, &error);
    if (got != status)
        fail_msg("expected %s, got %s: %s", glint_status_name(status), glint_status_name(got),
                 error.text);
    assert_null(engine);
    if (!strstr(error.text, path) || !strstr(error.text, word) || !strstr(error.text, word2))
        fail_msg("\"%s\" lacks \"%s\", \"%s\" or the file", error.text, word, word2);
    assert_int_equal(glint_alloc_live_blocks(), held);
    remove(path);
}

static void test_missing_keys(void **state) {
    (void)state;
    static const char *const keys[] = {
        "general.architecture",
        "dflash.block_count",
        "dflash.context_length",
        "dflash.embedding_length",
        "dflash.feed_forward_length",
        "dflash.attention.head_count",
        "dflash.attention.head_count_kv",
        "dflash.attention.key_length",
        "dflash.attention.value_length",
        "dflash.attention.sliding_window",
        "dflash.rope.freq_base",
        "dflash.attention.layer_norm_rms_epsilon",
        "dflash.block_size",
        "dflash.target_layers",
        "tokenizer.ggml.tokens",
        "tokenizer.ggml.mask_token_id",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        expect_refusal(&(struct drafter_edit){.drop_key = keys[i]}, GLINT_E_NOTFOUND, keys[i],
                       "expected");
}

static void test_bad_numbers(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
        enum glint_status status;
        const char *word;
    } u32s[] = {
        {"dflash.block_count", 0, GLINT_E_FORMAT, "found 0"},
        {"dflash.block_count", 3, GLINT_E_FORMAT, "expected 3"}, // the pattern has two items
        {"dflash.embedding_length", 128, GLINT_E_UNSUPPORTED, "found 128, expected 256"},
        {"dflash.feed_forward_length", 4000000000u, GLINT_E_FORMAT, "found 4000000000"},
        {"dflash.feed_forward_length", 512, GLINT_E_FORMAT, "found [256, 768]"},
        {"dflash.attention.head_count_kv", 3, GLINT_E_FORMAT, "divisor of head_count, 8"},
        {"dflash.attention.key_length", 32, GLINT_E_UNSUPPORTED, "key_length, 32"},
        {"dflash.attention.sliding_window", 14, GLINT_E_UNSUPPORTED, "found 14, expected at least"},
        {"dflash.block_size", 1, GLINT_E_FORMAT, "found 1"},
        {"dflash.block_size", 33, GLINT_E_FORMAT, "found 33"},
        {"tokenizer.ggml.mask_token_id", 4096, GLINT_E_FORMAT, "found 4096"},
    };
    for (size_t i = 0; i < sizeof u32s / sizeof *u32s; i++)
        expect_refusal(&(struct drafter_edit){.u32_key = u32s[i].key, .u32_value = u32s[i].value},
                       u32s[i].status, u32s[i].word, "expected");
    expect_refusal(&(struct drafter_edit){.f32_key = "dflash.rope.freq_base", .f32_value = NAN},
                   GLINT_E_FORMAT, "dflash.rope.freq_base", "expected");
    expect_refusal(&(struct drafter_edit){.full_layer = true}, GLINT_E_UNSUPPORTED,
                   "sliding_window_pattern", "expected true");
    expect_refusal(&(struct drafter_edit){.extra_key = "dflash.sample_from_anchor"},
                   GLINT_E_UNSUPPORTED, "sample_from_anchor", "expected none");
}

static void test_another_target(void **state) {
    (void)state;
    static const int32_t beyond[] = {2, 6, 12}, falling[] = {6, 2, 11}, zero[] = {0, 6, 11},
                         two[] = {2, 6};
    const char *key = "dflash.target_layers";
    expect_refusal(&(struct drafter_edit){.i32s_key = key, .i32s = beyond, .n_i32s = 3},
                   GLINT_E_UNSUPPORTED, "found 12, expected less than the 12 layers", DEMO_MODEL);
    expect_refusal(&(struct drafter_edit){.i32s_key = key, .i32s = falling, .n_i32s = 3},
                   GLINT_E_FORMAT, key, "rising");
    expect_refusal(&(struct drafter_edit){.i32s_key = key, .i32s = zero, .n_i32s = 3},
                   GLINT_E_FORMAT, key, "from 1");
    expect_refusal(&(struct drafter_edit){.i32s_key = key, .i32s = two, .n_i32s = 2},
                   GLINT_E_FORMAT, "fc.weight", "found [768, 256], expected [512, 256]");
    expect_refusal(&(struct drafter_edit){.n_less_tokens = 1}, GLINT_E_UNSUPPORTED,
                   "found 4095 tokens, expected 4096", DEMO_MODEL);
    expect_refusal(&(struct drafter_edit){.other_token = true}, GLINT_E_UNSUPPORTED,
                   "token 1: found \"other\"", "expected");
}

static void test_bad_tensors(void **state) {
    (void)state;
    static const char *const names[] = {"fc.weight", "enc.output_norm.weight", "output_norm.weight",
                                        "blk.1.attn_k_norm.weight", "blk.0.ffn_down.weight"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_refusal(&(struct drafter_edit){.drop_tensor = names[i]}, GLINT_E_NOTFOUND, names[i],
                       "missing");
    expect_refusal(&(struct drafter_edit){.extra_tensor = "d2t"}, GLINT_E_UNSUPPORTED, "d2t",
                   "plain DFlash drafter of 2 layers");
    expect_refusal(&(struct drafter_edit){.nan_vector = "blk.1.attn_q_norm.weight"}, GLINT_E_FORMAT,
                   "blk.1.attn_q_norm.weight", "finite");
}

// A model where a drafter is expected, and the other way round.
static void test_files_of_another_kind(void **state) {
    (void)state;
    struct glint_engine_params params = demo_params(DEMO_MODEL);
    struct glint_engine *engine;
    struct glint_error error = {0};
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "\"muse-glimmer\", expected \"dflash\""));
    params.model_path = DEMO_DRAFTER;
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "a drafter: pass it as -md"));
    params = demo_params("../models/no-such-file.gguf");
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_NOTFOUND);
    params = demo_params(DEMO_DRAFTER);
    params.n_draft = 16;
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_ARG);
    assert_non_null(strstr(error.text, "found 16, expected -1 to 15"));
}

static enum glint_status live(void *context, struct glint_error *err) {
    const struct glint_engine_params *params = context;
    struct glint_engine *engine = NULL;
    struct glint_session *session = NULL;
    const int32_t prompt[] = {4064, 100, 101, 102};
    enum glint_status status = glint_engine_open(&engine, params, err);
    if (status == GLINT_OK)
        status = glint_session_open(&session, engine, err);
    if (status == GLINT_OK)
        status = glint_session_sync(session, prompt, 4, NULL, err);
    for (int i = 0; i < 4 && status == GLINT_OK; i++)
        status = glint_engine_decode(engine, &session, &prompt[i], 1, err);
    glint_session_close(&session);
    glint_engine_close(&engine);
    return status;
}

static void test_memory_failing(void **state) {
    (void)state;
    struct glint_engine_params params = demo_params(DEMO_DRAFTER);
    params.n_draft = 5;
    assert_true(glint_fault_each(live, &params) > 20);
}

// The plan tells what the drafter takes; without one nothing.
static void test_plan(void **state) {
    (void)state;
    struct glint_memory_plan with, without;
    struct glint_engine_params params = demo_params(DEMO_DRAFTER);
    struct glint_error error = {0};
    assert_int_equal(glint_plan_memory(&params, &with, &error), GLINT_OK);
    params.draft_path = NULL;
    assert_int_equal(glint_plan_memory(&params, &without, &error), GLINT_OK);
    assert_true(with.drafter > 2000000 && without.drafter == 0);
    assert_true(with.total >= without.total + with.drafter);
}

int main(void) {
    const char *place = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/glint-drafter-%d.gguf", place ? place : "/tmp", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_keys),
        cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_another_target),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_files_of_another_kind),
        cmocka_unit_test(test_memory_failing),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
