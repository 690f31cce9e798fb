// SPDX-License-Identifier: Apache-2.0
// test_same_bits.c — the numeric contract on whole models: logits are a function of the token
// prefix alone. Threads, chunks, neighbours in the batch, ring placement and rollback change no
// bit, for float and quantized weights and for every cache type.
#include "golden/golden_fixture.h"
#include "sanitized.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STREAM = 8, N_LONG = 1900 };

struct setting {
    const char *shape, *type, *cache;
    bool exact;
};
// nano's width suits blocks of 32, wide's blocks of 256 too.
static const struct setting settings[] = {
    {"nano", "f32", "f32", true},   {"nano", "q8_0", "f16", false}, {"nano", "bf16", "q8_0", false},
    {"wide", "q4_k", "f16", false}, {"wide", "q6_k", "q8_0", true},
};
enum {
    N_SETTING = sizeof settings / sizeof *settings,
    SETTING_STEP = GLINT_SANITIZED ? 3 : 1,
    FEWEST_THREADS = GLINT_SANITIZED ? 3 : 1
};

static struct glint_engine_params params_of(const struct golden *golden,
                                            const struct setting *setting, int n_threads) {
    struct glint_engine_params params = golden_params(golden, NULL);
    params.cache_type_k = params.cache_type_v = setting->cache;
    params.exact_activations = setting->exact;
    params.n_threads = n_threads;
    params.n_session = N_STREAM;
    params.n_cache = N_STREAM * params.n_context;
    return params;
}

static void fill_ids(int32_t *ids, int n, uint32_t seed) {
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        ids[i] = (int32_t)((seed >> 8) % 480);
    }
}

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

static struct glint_session *start(struct glint_engine *engine, const int32_t *ids, int n,
                                   int n_chunk) {
    struct glint_session *session;
    struct glint_error error = {0};
    struct glint_eval eval = {.ids = ids, .n = n, .n_chunk = n_chunk};
    must(glint_session_open(&session, engine, &error), &error);
    must(glint_session_eval(session, &eval, &error), &error);
    return session;
}

static void expect_same(const float *a, const float *b, int n, const char *what) {
    assert_non_null(a);
    assert_non_null(b);
    if (memcmp(a, b, (size_t)n * sizeof(float)) == 0)
        return;
    for (int i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof(float)) != 0)
            fail_msg("%s: logit %d is %.9g here and %.9g there", what, i, (double)a[i],
                     (double)b[i]);
}

static float *copy_logits(const struct glint_session *session, int n) {
    float *copy = malloc((size_t)n * sizeof(float));
    assert_non_null(copy);
    memcpy(copy, glint_session_logits(session), (size_t)n * sizeof(float));
    return copy;
}

// The last prompt token evaluated as a step alone, beside seven others, and as part of a chunk.
static void check_company(const struct setting *setting) {
    struct golden golden;
    int n;
    golden_open(&golden, setting->shape, setting->type);
    const int32_t *ids = golden_ids(&golden, "text.ids", &n);
    float *expected = NULL;
    for (int n_threads = FEWEST_THREADS; n_threads <= 3; n_threads++) {
        struct glint_engine_params params = params_of(&golden, setting, n_threads);
        struct glint_engine *engine = golden_engine(&params);
        int n_vocab = glint_engine_info(engine).n_vocab;
        struct glint_session *session = start(engine, ids, n, 0);
        if (!expected)
            expected = copy_logits(session, n_vocab);
        expect_same(expected, glint_session_logits(session), n_vocab, "whole prompt");
        glint_session_close(&session);
        struct glint_session *streams[N_STREAM];
        int32_t step[N_STREAM], other[64];
        struct glint_error error = {0};
        for (int s = 0; s < N_STREAM; s++) {
            bool ours = s == 5;
            fill_ids(other, 64, (uint32_t)s);
            streams[s] = ours ? start(engine, ids, n - 1, 7) : start(engine, other, 9 + 5 * s, 4);
            step[s] = ours ? ids[n - 1] : 3 + s;
        }
        must(glint_engine_decode(engine, streams, step, N_STREAM, &error), &error);
        expect_same(expected, glint_session_logits(streams[5]), n_vocab, "beside seven others");
        for (int s = 0; s < N_STREAM; s++)
            glint_session_close(&streams[s]);
        session = start(engine, ids, n - 1, 1);
        must(glint_engine_decode(engine, &session, &ids[n - 1], 1, &error), &error);
        expect_same(expected, glint_session_logits(session), n_vocab, "alone, step by step");
        glint_session_close(&session);
        glint_engine_close(&engine);
    }
    free(expected);
    golden_close(&golden);
}

static void test_company(void **state) {
    (void)state;
    for (int i = 0; i < N_SETTING; i += SETTING_STEP)
        check_company(&settings[i]);
}

// A prefix of three windows, 40 tokens back, another continuation: as a cold run.
static void test_rollback(void **state) {
    (void)state;
    for (int i = 0; i < N_SETTING; i += SETTING_STEP) {
        struct golden golden;
        golden_open(&golden, settings[i].shape, settings[i].type);
        struct glint_engine_params params = params_of(&golden, &settings[i], 2);
        struct glint_engine *engine = golden_engine(&params);
        struct glint_engine_info info = glint_engine_info(engine);
        struct glint_error error = {0};
        int32_t ids[400];
        int n = 3 * info.window, keep = n - 40;
        assert_true(n <= 300);
        fill_ids(ids, n, 11);
        struct glint_session *warm = start(engine, ids, n, 0);
        must(glint_session_truncate(warm, keep, &error), &error);
        assert_null(glint_session_logits(warm));
        fill_ids(ids + keep, 60, 12);
        struct glint_eval eval = {.ids = ids + keep, .n = 60};
        must(glint_session_eval(warm, &eval, &error), &error);
        struct glint_session *cold = start(engine, ids, keep + 60, 0);
        expect_same(glint_session_logits(cold), glint_session_logits(warm), info.n_vocab,
                    "after a rollback");
        glint_session_close(&warm);
        glint_session_close(&cold);
        glint_engine_close(&engine);
        golden_close(&golden);
    }
}

// Far past the ring: small chunks in a small ring against one whose slack holds everything;
// a rollback across a page border after the ring has turned over; one too far is refused.
static void test_ring(void **state) {
    (void)state;
    static const struct setting setting = {"nano", "q8_0", "f16", false};
    struct golden golden;
    struct glint_error error = {0};
    int32_t *ids = malloc(N_LONG * sizeof *ids);
    assert_non_null(ids);
    fill_ids(ids, N_LONG, 21);
    golden_open(&golden, setting.shape, setting.type);
    struct glint_engine_params params = params_of(&golden, &setting, 2);
    params.n_session = 2;
    params.n_chunk = N_LONG; // slack of the same size: nothing is ever overwritten
    struct glint_engine *roomy = golden_engine(&params);
    params.n_chunk = 64;
    struct glint_engine *tight = golden_engine(&params);
    int n_vocab = glint_engine_info(tight).n_vocab;
    struct glint_session *expected = start(roomy, ids, N_LONG, 0);
    struct glint_session *session = start(tight, ids, N_LONG, 0);
    expect_same(glint_session_logits(expected), glint_session_logits(session), n_vocab,
                "a turned ring");
    must(glint_session_truncate(session, N_LONG - 400, &error), &error);
    struct glint_eval eval = {.ids = ids + N_LONG - 400, .n = 400, .n_chunk = 33};
    must(glint_session_eval(session, &eval, &error), &error);
    expect_same(glint_session_logits(expected), glint_session_logits(session), n_vocab,
                "a turned ring after a rollback");
    assert_int_equal(glint_session_truncate(session, 100, &error), GLINT_E_LIMIT);
    assert_int_equal(glint_session_length(session), N_LONG);
    int reused;
    must(glint_session_sync(session, ids, 100, &reused, &error), &error);
    assert_int_equal(reused, 0);
    glint_session_close(&session);
    glint_session_close(&expected);
    glint_engine_close(&tight);
    glint_engine_close(&roomy);
    golden_close(&golden);
    free(ids);
}

// sync keeps the common prefix and nothing else.
static void test_sync(void **state) {
    (void)state;
    struct golden golden;
    struct glint_error error = {0};
    int n, reused;
    golden_open(&golden, "nano", "bf16");
    const int32_t *ids = golden_ids(&golden, "text.ids", &n);
    struct glint_engine_params params = params_of(&golden, &settings[0], 2);
    struct glint_engine *engine = golden_engine(&params);
    int n_vocab = glint_engine_info(engine).n_vocab;
    struct glint_session *cold = start(engine, ids, n, 0);
    struct glint_session *session = start(engine, ids, 20, 0);
    must(glint_session_sync(session, ids, n, &reused, &error), &error);
    assert_int_equal(reused, 20);
    expect_same(glint_session_logits(cold), glint_session_logits(session), n_vocab, "extended");
    must(glint_session_sync(session, ids, n, &reused, &error), &error);
    assert_int_equal(reused, n);
    must(glint_session_sync(session, ids, 10, &reused, &error), &error);
    assert_int_equal(reused, 9); // the last token again, for its logits
    assert_int_equal(glint_session_length(session), 10);
    must(glint_session_sync(session, ids, n, &reused, &error), &error);
    expect_same(glint_session_logits(cold), glint_session_logits(session), n_vocab, "regrown");
    glint_session_close(&session);
    glint_session_close(&cold);
    glint_engine_close(&engine);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_company),
        cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
