// SPDX-License-Identifier: Apache-2.0
// test_engine_refuses.c — files and prompts that must not run: each gives an error that names
// the file, the field, what was found and what was expected, and leaves nothing behind.
#include "base/alloc.h"
#include "toy_model.h"

#include <glint/glint.h>

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[128];

static struct glint_engine_params toy_params(void) {
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = path;
    params.n_threads = 2;
    return params;
}

// Opening the file with this defect must fail with a text that has all the words.
static void expect_refusal(const struct toy_defect *defect, enum glint_status status,
                           const char *word, const char *word2) {
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine;
    struct glint_error error = {0};
    toy_model_write(path, defect);
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
        "muse-glimmer.block_count",
        "muse-glimmer.context_length",
        "muse-glimmer.embedding_length",
        "muse-glimmer.feed_forward_length",
        "muse-glimmer.attention.head_count",
        "muse-glimmer.attention.head_count_kv",
        "muse-glimmer.attention.key_length",
        "muse-glimmer.attention.value_length",
        "muse-glimmer.attention.sliding_window",
        "muse-glimmer.attention.sliding_window_pattern",
        "muse-glimmer.attention.layer_norm_rms_epsilon",
        "muse-glimmer.rope.freq_base",
        "muse-glimmer.final_logit_softcapping",
        "muse-glimmer.logit_scale",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        expect_refusal(&(struct toy_defect){.drop_key = keys[i]}, GLINT_E_NOTFOUND, keys[i],
                       "expected");
}

static void test_bad_numbers(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
        enum glint_status status;
    } u32s[] = {
        {"muse-glimmer.block_count", 0, GLINT_E_FORMAT},
        {"muse-glimmer.block_count", 1000000, GLINT_E_FORMAT},
        {"muse-glimmer.block_count", 3, GLINT_E_FORMAT}, // the pattern has four items
        {"muse-glimmer.embedding_length", 0, GLINT_E_FORMAT},
        {"muse-glimmer.embedding_length", 96, GLINT_E_FORMAT},
        {"muse-glimmer.feed_forward_length", 4000000000u, GLINT_E_FORMAT},
        {"muse-glimmer.attention.head_count_kv", 3, GLINT_E_FORMAT},
        {"muse-glimmer.attention.key_length", 30, GLINT_E_UNSUPPORTED},
        {"muse-glimmer.attention.sliding_window", 0, GLINT_E_FORMAT},
        {"muse-glimmer.context_length", 0, GLINT_E_FORMAT},
    };
    for (size_t i = 0; i < sizeof u32s / sizeof *u32s; i++)
        expect_refusal(&(struct toy_defect){.u32_key = u32s[i].key, .u32_value = u32s[i].value},
                       u32s[i].status, "found", "expected");
    static const struct {
        const char *key;
        float value;
    } f32s[] = {
        {"muse-glimmer.rope.freq_base", NAN},
        {"muse-glimmer.rope.freq_base", 0},
        {"muse-glimmer.attention.layer_norm_rms_epsilon", -1},
        {"muse-glimmer.attention.layer_norm_rms_epsilon", INFINITY},
        {"muse-glimmer.final_logit_softcapping", 0},
        {"muse-glimmer.logit_scale", NAN},
    };
    for (size_t i = 0; i < sizeof f32s / sizeof *f32s; i++)
        expect_refusal(&(struct toy_defect){.f32_key = f32s[i].key, .f32_value = f32s[i].value},
                       GLINT_E_FORMAT, f32s[i].key, "expected");
    expect_refusal(&(struct toy_defect){.n_pattern = 5}, GLINT_E_FORMAT, "sliding_window_pattern",
                   "found 5 items, expected 4");
    expect_refusal(&(struct toy_defect){.extra_key = "muse-glimmer.rope.scaling.factor"},
                   GLINT_E_UNSUPPORTED, "rope.scaling.factor", "expected");
}

static void test_bad_tensors(void **state) {
    (void)state;
    static const char *const names[] = {"token_embd.weight", "output.weight", "output_norm.weight",
                                        "blk.2.attn_gate.weight", "blk.3.post_ffw_norm.weight"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect_refusal(&(struct toy_defect){.drop_tensor = names[i]}, GLINT_E_NOTFOUND, names[i],
                       "missing");
        expect_refusal(&(struct toy_defect){.wide_tensor = names[i]}, GLINT_E_FORMAT, names[i],
                       "expected [");
    }
    expect_refusal(&(struct toy_defect){.extra_tensor = "blk.0.attn_sinks.weight"},
                   GLINT_E_UNSUPPORTED, "blk.0.attn_sinks.weight", "expected none");
    expect_refusal(&(struct toy_defect){.learned_norm = "blk.1.attn_q_norm.weight"},
                   GLINT_E_UNSUPPORTED, "blk.1.attn_q_norm.weight", "learned");
    expect_refusal(&(struct toy_defect){.learned_norm = "blk.3.attn_k_norm.weight"},
                   GLINT_E_UNSUPPORTED, "blk.3.attn_k_norm.weight", "learned");
    expect_refusal(&(struct toy_defect){.nan_tensor = "blk.0.ffn_norm.weight"}, GLINT_E_FORMAT,
                   "blk.0.ffn_norm.weight", "finite");
}

static enum glint_status run_prompt(struct glint_engine *engine, const int32_t *ids, int n,
                                    struct glint_error *error) {
    struct glint_session *session;
    assert_int_equal(glint_session_open(&session, engine, NULL), GLINT_OK);
    struct glint_eval eval = {.ids = ids, .n = n};
    enum glint_status status = glint_session_eval(session, &eval, error);
    glint_session_close(&session);
    return status;
}

// A NaN in a weight or a scale is found when the step's logits are not finite, and named.
static void test_nan_weights(void **state) {
    (void)state;
    static const char *const names[] = {"blk.0.attn_q.weight",    "blk.0.attn_v.weight",
                                        "blk.1.attn_gate.weight", "blk.2.ffn_down.weight",
                                        "blk.3.ffn_up.weight",    "output.weight"};
    static const enum glint_dtype dtypes[] = {GLINT_DTYPE_F32, GLINT_DTYPE_Q8_0, GLINT_DTYPE_Q4_0};
    static const int32_t ids[] = {290, 65, 66, 67};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            for (int exact = 0; exact < 2; exact++) {
                struct glint_engine_params params = toy_params();
                struct glint_engine *engine;
                struct glint_error error = {0};
                params.exact_activations = exact;
                toy_model_write(path,
                                &(struct toy_defect){.nan_tensor = names[i], .dtype = dtypes[d]});
                assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_OK);
                enum glint_status status = run_prompt(engine, ids, 4, &error);
                if (status != GLINT_E_FORMAT || !strstr(error.text, names[i]))
                    fail_msg("NaN in %s, dtype %d, exact %d: status %d, \"%s\"", names[i],
                             (int)dtypes[d], exact, (int)status, error.text);
                glint_engine_close(&engine);
                remove(path);
            }
}

static void test_bad_prompts(void **state) {
    (void)state;
    static int32_t ids[TOY_CONTEXT + 1];
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine;
    struct glint_error error = {0};
    toy_model_write(path, NULL);
    params.n_context = 100;
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_OK);
    assert_int_equal(run_prompt(engine, ids, 0, &error), GLINT_E_ARG);
    assert_non_null(strstr(error.text, "empty"));
    assert_int_equal(run_prompt(engine, ids, 101, &error), GLINT_E_LIMIT);
    assert_non_null(strstr(error.text, "101"));
    assert_non_null(strstr(error.text, "100"));
    assert_int_equal(run_prompt(engine, ids, 100, &error), GLINT_OK);
    ids[3] = TOY_VOCAB;
    assert_int_equal(run_prompt(engine, ids, 10, &error), GLINT_E_ARG);
    assert_non_null(strstr(error.text, "token 3"));
    ids[3] = -1;
    assert_int_equal(run_prompt(engine, ids, 10, &error), GLINT_E_ARG);
    ids[3] = 0;
    struct glint_session *one, *two;
    assert_int_equal(glint_session_open(&one, engine, &error), GLINT_OK);
    assert_int_equal(glint_session_open(&two, engine, &error), GLINT_E_BUSY);
    glint_session_close(&one);
    glint_engine_close(&engine);
    remove(path);
}

static void test_bad_parameters(void **state) {
    (void)state;
    struct glint_engine *engine;
    struct glint_error error = {0};
    toy_model_write(path, NULL);
    struct glint_engine_params params = toy_params();
    params.cpu_tier = "sse9";
    assert_int_not_equal(glint_engine_open(&engine, &params, &error), GLINT_OK);
    assert_non_null(strstr(error.text, "sse9"));
    params = toy_params();
    params.device = "abacus";
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "abacus"));
    params = toy_params();
    params.cache_type_k = "q3_k";
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_ARG);
    assert_non_null(strstr(error.text, "q3_k"));
    params = toy_params();
    params.n_context = TOY_CONTEXT + 1;
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_LIMIT);
    assert_non_null(strstr(error.text, "512"));
    struct glint_memory_plan plan;
    assert_int_equal(glint_plan_memory(&params, &plan, &error), GLINT_E_LIMIT);
    params = toy_params();
    params.n_session = 1 << 30; // more pages than can be counted
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_LIMIT);
    assert_non_null(strstr(error.text, "sessions"));
    remove(path);
    params = toy_params();
    assert_int_not_equal(glint_engine_open(&engine, &params, &error), GLINT_OK);
    assert_non_null(strstr(error.text, path));
}

// A plan larger than the machine is refused before anything is loaded, with its figures.
static void test_too_large_is_refused(void **state) {
    (void)state;
    struct glint_engine *engine;
    struct glint_error error = {0};
    struct glint_memory_plan plan;
    toy_model_write(
        path, &(struct toy_defect){.u32_key = "muse-glimmer.context_length", .u32_value = 1 << 24});
    struct glint_engine_params params = toy_params();
    params.n_context = 1 << 24;
    params.n_session = 64;
    params.n_cache = 2147483000; // 256 bytes of full-layer cache a token: over 500 GB
    assert_int_equal(glint_plan_memory(&params, &plan, &error), GLINT_OK);
    if (plan.available == 0 || plan.available > plan.total)
        return; // a machine with that much memory
    size_t held = glint_alloc_live_bytes();
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_E_NOMEM);
    assert_non_null(strstr(error.text, "does not fit"));
    assert_non_null(strstr(error.text, "GiB"));
    assert_int_equal(glint_alloc_live_bytes(), held);
    // Without a wish the context is lowered instead.
    params = toy_params();
    assert_int_equal(glint_engine_open(&engine, &params, &error), GLINT_OK);
    glint_engine_close(&engine);
    remove(path);
}

// Both forms of the pattern key give the same logits.
static void test_pattern_forms(void **state) {
    (void)state;
    static const int32_t ids[] = {290, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75,
                                  76,  77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87};
    float *first = NULL;
    for (int scalar = 0; scalar < 2; scalar++) {
        struct glint_engine_params params = toy_params();
        struct glint_engine *engine;
        struct glint_session *session;
        toy_model_write(path, &(struct toy_defect){.scalar_pattern = scalar});
        assert_int_equal(glint_engine_open(&engine, &params, NULL), GLINT_OK);
        assert_int_equal(glint_session_open(&session, engine, NULL), GLINT_OK);
        struct glint_eval eval = {.ids = ids, .n = 24};
        assert_int_equal(glint_session_eval(session, &eval, NULL), GLINT_OK);
        size_t bytes = TOY_VOCAB * sizeof(float);
        if (!first) {
            first = malloc(bytes);
            assert_non_null(first);
            memcpy(first, glint_session_logits(session), bytes);
        } else {
            assert_memory_equal(first, glint_session_logits(session), bytes);
        }
        glint_session_close(&session);
        glint_engine_close(&engine);
        remove(path);
    }
    free(first);
}

int main(void) {
    const char *place = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/glint-toy-%d.gguf", place ? place : "/tmp", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_keys),  cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_bad_tensors),   cmocka_unit_test(test_nan_weights),
        cmocka_unit_test(test_bad_prompts),   cmocka_unit_test(test_bad_parameters),
        cmocka_unit_test(test_pattern_forms), cmocka_unit_test(test_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
