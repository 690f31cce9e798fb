// SPDX-License-Identifier: Apache-2.0
// test_bench_drafted.c — what `glint bench -md` measures: the same answers on both sides, rounds
// that the statistics show, and a context that is too small for the question.
#include "bench_drafted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MODEL   "../models/glimmer-mini.gguf"
#define DRAFTER "../models/glimmer-mini-draft.gguf"

enum { N_STREAM = 2, N_NEW = 24, DEPTH = 10 };

static struct glint_bench_side open_side(const char *drafter, int n_context,
                                         struct glint_session **sessions) {
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_bench_side side = {.sessions = sessions};
    params.model_path = MODEL;
    params.draft_path = drafter;
    params.n_draft = drafter ? 4 : -1; // always, not only when it pays
    params.n_threads = 1;
    params.n_context = n_context;
    params.n_session = N_STREAM;
    params.n_cache = N_STREAM * (n_context + 256);
    assert_int_equal(glint_engine_open(&side.engine, &params, NULL), GLINT_OK);
    for (int s = 0; s < N_STREAM; s++)
        assert_int_equal(glint_session_open(&sessions[s], side.engine, NULL), GLINT_OK);
    return side;
}

static void close_side(struct glint_bench_side *side) {
    for (int s = 0; s < N_STREAM; s++)
        glint_session_close(&side->sessions[s]);
    glint_engine_close(&side->engine);
}

static enum glint_status bench(int n_context, struct glint_bench_drafted_result *result) {
    struct glint_session *sessions[2][N_STREAM];
    struct glint_error error = {0};
    struct glint_bench_drafted test = {.plain = open_side(NULL, n_context, sessions[0]),
                                       .drafted = open_side(DRAFTER, n_context, sessions[1]),
                                       .n_streams = N_STREAM,
                                       .n = N_NEW,
                                       .depth = DEPTH,
                                       .n_reps = 1};
    enum glint_status status = glint_bench_drafted(&test, result, &error);
    close_side(&test.plain);
    close_side(&test.drafted);
    return status;
}

static void test_both_sides(void **state) {
    (void)state;
    static struct glint_bench_drafted_result result;
    assert_int_equal(bench(GLINT_BENCH_QUESTION + DEPTH + N_NEW, &result), GLINT_OK);
    assert_true(result.plain[0] > 0 && result.drafted[0] > 0);
    assert_true(result.stats.n_round > 0 && result.stats.n_round <= N_STREAM * N_NEW);
    assert_true(result.stats.n_proposed <= 4 * result.stats.n_round);
    assert_true(result.stats.n_accepted <= result.stats.n_proposed);
}

static void test_small_context(void **state) {
    (void)state;
    static struct glint_bench_drafted_result result;
    assert_int_equal(bench(32, &result), GLINT_E_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_sides),
        cmocka_unit_test(test_small_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
